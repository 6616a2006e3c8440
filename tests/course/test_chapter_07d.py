"""Chapter 07d, graded: wrong answers earn their hints, other right answers all points. And its figures."""

from __future__ import annotations

import ast
import json
import re

from graded import COURSE, Exercises, ExerciseTests

from benchmarks.mamba_tasks import RUNS
from coursekit import notebooks
from minilib.gpt import MODELS
from minilib.mamba import Mamba, MambaConfig
from minilib.parallel import get_num_threads, set_num_threads

# Right answers by another way than the reference's.
OTHERS = {
    "7.16": """
def keeps(tokens, C, gpt_layers, mamba_layers, N=16, K=4):
    window, state = 2 * C * (K - 1), 2 * C * N
    mamba, length = sum([window + state] * mamba_layers), 0
    while length * 2 * C * gpt_layers <= mamba:
        length += 1
    return 2 * C * gpt_layers * tokens, mamba, length
""",
    "7.17": """
def endings(model, prompt, firsts, new):
    state = model.init_state(1)
    for token in prompt:
        model.step(Tensor([token]), state)
    copies = [[np.repeat(a, len(firsts), axis=0) for a in kept] for kept in (state.windows, state.states)]
    side_by_side, said = MambaState(*copies), [np.array(firsts)]
    for _ in range(new):  # a step for all endings
        said.append(model.step(Tensor(said[-1]), side_by_side).numpy().argmax(-1))
    return np.stack(said, 1).tolist()
""",
    "7.18": """
@add_to(MambaBlock)
def step(self, u, window, state):
    e, r = self.D.shape[0], self.dt_proj.in_features
    both = self.in_proj(u).data
    x, gate = both[:, :e], both[:, e:]
    k = self.conv1d.weight.shape[2]
    columns = [window[:, :, j].copy() for j in range(k - 1)] + [x]
    mixed = sum(self.conv1d.weight.data[:, 0, j] * columns[j] for j in range(k))
    if self.conv1d.bias is not None:
        mixed = mixed + self.conv1d.bias.data
    for j in range(k - 1):
        window[:, :, j] = columns[j + 1]
    x = mixed / (1 + np.exp(-mixed))
    said = self.x_proj(Tensor(x)).data
    B, C = said[:, r : r + state.shape[2]], said[:, r + state.shape[2] :]
    delta = np.logaddexp(0, self.dt_proj(Tensor(said[:, :r].copy())).data)
    A = -np.exp(self.A_log.data)
    for b in range(len(x)):
        fade = np.exp(delta[b][:, None] * A)
        state[b] = fade * state[b] + np.outer(delta[b] * x[b], B[b])
    y = np.einsum("ben,bn->be", state, C) + self.D.data * x
    return self.out_proj(Tensor((y * gate / (1 + np.exp(-gate))).astype(x.dtype)))
""",
    "7.19": """
@add_to(Mamba)
def generate(
    self, idx, max_new_tokens, temperature=1.0, do_sample=False, top_k=None, top_p=None, generator=None
):
    if not max_new_tokens:
        return idx
    state, made = self.init_state(len(idx)), [idx.numpy()]
    for t in range(idx.shape[1]):  # one by one, as the new ones
        logits = self.step(idx[:, t], state)
    while True:
        token = choose(logits, temperature, do_sample, top_k, top_p, generator)
        made.append(token.numpy())
        if len(made) > max_new_tokens:
            return Tensor(np.concatenate(made, 1))
        logits = self.step(token[:, 0], state)
""",
    "7.20": """
@add_to(MambaBlock)
def prefill(self, u, window, state):
    e, r, n = self.D.shape[0], self.dt_proj.in_features, state.shape[2]
    both = self.in_proj(u).data
    x, gate = both[:, :, :e], both[:, :, e:]
    k, length = self.conv1d.weight.shape[2], u.shape[1]
    seen = np.concatenate([window.transpose(0, 2, 1), x], 1)
    mixed = sum(self.conv1d.weight.data[:, 0, j] * seen[:, j : j + length] for j in range(k))
    if self.conv1d.bias is not None:
        mixed = mixed + self.conv1d.bias.data
    if k > 1:
        window[:] = seen[:, 1 - k :].transpose(0, 2, 1)
    x = F.silu(Tensor(mixed))
    said = self.x_proj(x)
    delta = F.softplus(self.dt_proj(said[:, :, :r]))
    y = selective_scan(
        x, delta, -self.A_log.exp(), said[:, :, r : r + n], said[:, :, r + n :], self.D, state=state
    )
    return self.out_proj(y * F.silu(Tensor(gate.copy())))
""",
}


class TestExercises(ExerciseTests):
    exercises = Exercises("07d_memory", OTHERS)


LESSON = notebooks.read(COURSE.chapters / "07d_memory.ipynb")
PROSE = re.sub(r"\s+", " ", "\n".join(cell.source for cell in LESSON.cells if cell.cell_type == "markdown"))


def recorded(name):
    """A run of benchmarks/results/mamba_tasks.json."""
    runs = json.loads((COURSE.root / "benchmarks" / "results" / "mamba_tasks.json").read_text())["runs"]
    return next(run for run in runs if run["run"] == name)


def said(name):
    """The numbers that a cell of the lesson gives to this name."""
    cells = [ast.parse(cell.source) for cell in LESSON.cells if cell.cell_type == "code"]
    nodes = [node for cell in cells for node in cell.body if isinstance(node, ast.Assign)]
    (found,) = [node.value for node in nodes if ast.unparse(node.targets[0]) == name]
    return ast.literal_eval(found)


def as_sizes(right):
    """Shares by size, to a tenth of a percent, as the lesson gives them."""
    return {int(size): round(share, 3) for size, share in right.items()}


def test_what_was_recorded_of_induction_heads_is_told():
    for name, curve in said("recorded").items():
        assert curve == as_sizes(recorded(f"induction-{name.lower()}")["figures"]["right"]), name


def test_what_was_recorded_of_selective_copying_is_told():
    for name, run in (("Mamba", "copying-mamba"), ("without selection", "copying-fixed")):
        row = recorded(run)
        assert said("copied")[name] == round(row["figures"]["right"]["64"], 3)
        assert f"{row['options']['steps']:,} steps of {row['options']['batch']} sequences" in PROSE


def test_what_was_recorded_of_recall_is_told():
    for name, curve in said("found").items():
        row = recorded(f"recall-{name.lower()}")
        assert curve == as_sizes(row["figures"]["right"]), name
        assert f"{row['options']['steps']:,} steps" in PROSE
    row = recorded("recall-gpt")
    right = dict(zip(row["steps"], row["right"], strict=True))
    assert f"right in {right[750]:.0%}".replace("%", " %") in PROSE
    assert f"right in {right[1000]:.1%}".replace("%", " %") in PROSE


def test_what_was_recorded_of_a_token_is_told():
    rows = json.loads((COURSE.root / "benchmarks" / "results" / "mamba_tokens.json").read_text())["rows"]
    last = rows[-1]
    gpt, mamba = last["seconds"]
    cache, state = last["bytes"]
    assert f"behind {last['tokens']:,} tokens one more takes the GPT {1e3 * gpt:.2f} ms" in PROSE
    assert f"{cache / 1e6:.1f} MB of cache, the Mamba {1e3 * mamba:.2f} ms and {state / 1e3:.0f} kB" in PROSE
    assert {row["bytes"][1] for row in rows} == {state} and [r["bytes"][0] for r in rows] == [
        2048 * row["tokens"] for row in rows
    ]


def test_the_recorded_runs_reach_what_selection_promises():
    induction = recorded("induction-mamba")["figures"]["right"]
    assert min(induction[size] for size in ("64", "128", "256")) >= 0.99
    assert recorded("copying-mamba")["figures"]["right"]["64"] >= 0.98
    assert recorded("copying-fixed")["figures"]["right"]["64"] < 0.65
    for run in ("induction-mamba", "induction-gpt", "copying-mamba", "copying-fixed"):
        row = recorded(run)
        assert row["cpu_seconds"] < 20 * 60 and "--seed 0" in row["command"]
        assert row["command"] == f"python -m minilib.projects.remember {RUNS[run]} --seed 0"


def test_the_recorded_time_of_a_training_step_grows_no_faster_than_its_text():
    rows = json.loads((COURSE.root / "benchmarks" / "results" / "mamba.json").read_text())["rows"]
    a_token = {row["case"]: row["minilib"] for row in rows}
    assert 2 * a_token["length-2048"] / a_token["length-1024"] <= 2.2


def test_a_gpt_2_keeps_more_after_39_tokens():
    layers, _, width = MODELS["gpt2"]
    state = 24 * 2 * width * (16 + 3)
    assert state / (2 * layers * width) == 38 and "After 39 tokens" in PROSE


def test_the_bytes_that_are_told_are_those_that_are_kept():
    state = Mamba(MambaConfig(128, 4, 16)).init_state(1)
    assert state.nbytes == 38 * 2048 and "2{,}048" in PROSE and "After 38 tokens" in PROSE
    numbers = Mamba(MambaConfig(64, 2, 16)).init_state(1).nbytes // 4
    assert f"a Mamba of that width has {numbers:,}" in PROSE and "131,072" in PROSE


def test_the_two_that_were_compared_were_trained_as_the_lesson_says():
    for name in ("mamba", "gpt"):
        options = recorded(f"induction-{name}")["options"]
        assert f"{options['steps']:,} steps" in PROSE, name


FILLED = {
    "kept = ...": "kept = 4 * 256 * (3 + 16) * 4",
    "return ...": "return np.exp(delta * A) * h + delta * B * x",
    "cached = ...": "cached = 2 * 2 * 64 * 512",
}


def test_who_fills_in_the_lesson_rightly_is_told_so(capsys):
    cells = [cell for cell in LESSON.cells if cell.cell_type == "code"]
    first = next(k for k, cell in enumerate(cells) if "#| milestone" in cell.source)
    ours = [cell for cell in cells[:first] if "nbval-ignore-output" not in cell.metadata.get("tags", [])]
    cached = next(k for k, cell in enumerate(cells) if "cached = ..." in cell.source)
    names: dict[str, object] = {}
    threads = get_num_threads()
    try:
        for cell in (*ours, *cells[cached : cached + 2]):
            source = cell.source
            for blank, answer in FILLED.items():
                source = source.replace(blank, answer)
            exec(compile(source, "a cell of 07d", "exec"), names)
    finally:
        set_num_threads(threads)
    said = capsys.readouterr().out
    assert said.splitlines().count("right") == len(FILLED), said
