"""Chapter 06c, graded: wrong answers earn their hints, other right answers all points. And its figures."""

from __future__ import annotations

import json
import math
import re

import pytest
from figures import tells
from graded import COURSE, Exercises, ExerciseTests

from coursekit import notebooks
from minilib.gpt import GPT, Block, GPTConfig
from minilib.tensor import Tensor


class TestExercises(ExerciseTests):
    exercises = Exercises("06c_gpt")


@pytest.fixture(scope="module")
def lesson():
    return notebooks.read(COURSE.chapters / "06c_gpt.ipynb").cells


def output_of(lesson, beginning):
    """The text of all outputs of the only code cell with a line that begins so."""
    (cell,) = [
        c for c in lesson
        if c.cell_type == "code" and re.search(f"(?m)^{re.escape(beginning)}", c.source)
    ]  # fmt: skip
    return "\n".join(o.get("text") or o.get("data", {}).get("text/plain", "") for o in cell.outputs)


def prose(lesson):
    return " ".join("\n".join(c.source for c in lesson if c.cell_type == "markdown").split())


# The figures of the lesson


def test_the_opening_shows_the_network_that_the_lesson_trains(lesson):
    right = dict(re.findall(r"(\d+): (\d+)", re.search(r"\{.*\}", output_of(lesson, "ask = Ask("))[0]))
    said = dict(re.findall(r"step (\d+): (\d{6})", output_of(lesson, "draw_training(")))
    rows = re.findall(r"(?m)^\| (\d+) steps \| `([\d ]+)` \| (\d+) \|", lesson[0].source)
    assert [step for step, _, _ in rows] == [*right] == [*said]
    for step, answer, sorted_lists in rows:
        assert (answer.replace(" ", ""), sorted_lists) == (said[step], right[step])
    assert rows[-1][2] == "146"
    assert re.search(r"asked `([\d ]+)`", lesson[0].source)[1] == "2 0 2 2 1 1"


def test_the_first_loss_is_that_of_ignorance(lesson):
    first, ln_3 = map(float, re.findall(r"\d\.\d+", output_of(lesson, "logits, loss = model")))
    assert ln_3 == round(math.log(3), 3) and abs(first - ln_3) < 0.03
    nothing, perfect = output_of(lesson, "perfect = ").split()
    assert (nothing, perfect) == (f"{math.log(3):.3f}", f"{5 / 11 * math.log(3):.3f}")
    assert f"= {nothing}$" in prose(lesson) and f"= {perfect}$" in prose(lesson)


def test_parameters_are_counted_by_hand_as_minGPT_has_them(lesson):
    names = {"gpt-nano": 85_680, "gpt-micro": 795_392, "gpt-mini": 2_672_640}
    printed = dict(re.findall(r"(gpt-\w+) +([\d,]+)", output_of(lesson, 'for name in ("gpt-nano"')))
    for name, count in names.items():
        assert GPT(GPTConfig(10, 6, name)).num_parameters() == count
        assert printed[name] == f"{count:,}"
    rows = re.findall(r"(?m)^\| [^|]+\| \$[^|]+\$ \| ([\d,]+) \|", "\n".join(c.source for c in lesson))
    assert sum(int(row.replace(",", "")) for row in rows) == 85_680 and len(rows) == 4
    block = sum(p.numel() for p in Block(GPTConfig(3, 6, n_layer=1, n_head=12, n_embd=768)).parameters())
    assert f"{(50_257 + 1024 + 2) * 768 + 12 * block:,}" in output_of(lesson, "V, T, C, blocks")


def test_the_gradient_vanishes_without_the_road(lesson):
    top, bottom = map(float, re.findall(r"\d+e[-+]\d+", output_of(lesson, "gradients, _ = through")))
    assert bottom < 1e-12 * top
    ends = re.findall(r"(\w[\w, ]*) (\d\S+) at the top, (\S+) at the bottom", output_of(lesson, "draw_road("))
    _, *roads = [(float(top), float(bottom)) for _, top, bottom in ends]
    assert len(roads) == 2 and all(0.3 < bottom / top < 3 for top, bottom in roads)


def test_traps_are_told_as_they_were(lesson):
    loss, lists = re.search(r"loss ([\d.]+), (\d+) of 146", output_of(lesson, "copier = GPT")).groups()
    assert float(loss) < 0.05 and int(lists) <= 5
    unmasked = output_of(lesson, "unmasked = GPT")
    assert 5 / 11 * math.log(3) < float(re.search(r"nothing ignored ends at (\d\.\d+)", unmasked)[1]) < 0.65
    assert int(re.search(r"(\d+) of 146 lists sorted", unmasked)[1]) >= 130
    without, there = re.findall(r"(\d+) lists sorted", output_of(lesson, "six = GPTConfig"))
    assert int(without) <= 5 and int(there) >= 130


def test_recorded_trainings_are_shown_as_they_were(lesson):
    (cell,) = [c.source for c in lesson if c.source.startswith("recorded = {")]
    shown = eval(cell.removeprefix("recorded = ").partition("\ndraw_runs")[0])  # numbers and a range
    path = COURSE.root / "benchmarks" / "results" / "gpt_tasks.json"
    if not path.exists():
        pytest.skip("no recorded trainings")
    runs = {run["task"]: run for run in json.loads(path.read_text())["runs"]}
    for task, run in shown.items():
        assert {name: runs[task][name] for name in run} == run
    adder = runs["adder"]
    figures = adder["figures"]
    assert figures["right"] == figures["asked"]
    assert tells(prose(lesson), figures["asked"], f"{figures['parameters']:,}")
    said = {sample["step"]: re.findall(r"\+ \d+ = (\d+)", sample["text"]) for sample in adder["samples"]}
    rows = re.findall(r"\| ([\d,]+) steps? \| (\d+) \| (\d+) \|", prose(lesson))
    assert len(rows) == 3
    for step, *sums in rows:
        assert said[int(step.replace(",", ""))][:2] == sums
    char = runs["char"]
    said = {sample["step"]: " ".join(sample["text"].split()) for sample in char["samples"]}
    rows = re.findall(r"\| ([\d,]+) steps? \| `([^|`]+)` \|", prose(lesson))[-3:]
    for step, written in rows:
        assert written in said[int(step.replace(",", ""))]
    figures = char["figures"]
    assert tells(
        prose(lesson), f"{figures['nats']:.2f}", f"{figures['nats_in_context']:.2f}", figures["context"]
    )
    assert 9.5 < figures["parameters"] / adder["figures"]["parameters"] < 10.5


@pytest.mark.thorough
def test_a_block_is_pytorch_s_with_the_norm_first():
    torch = pytest.importorskip("torch")
    config = GPTConfig(3, 11, "gpt-nano", embd_pdrop=0.0, resid_pdrop=0.0, attn_pdrop=0.0)
    ours = Block(config)
    gelu = torch.nn.GELU(approximate="tanh")
    block = torch.nn.TransformerEncoderLayer(48, 3, 192, 0.0, gelu, batch_first=True, norm_first=True)
    names = {
        "ln_1": block.norm1, "ln_2": block.norm2, "attn.c_proj": block.self_attn.out_proj,
        "mlp.c_fc": block.linear1, "mlp.c_proj": block.linear2,
    }  # fmt: skip
    state = {
        f"{name}.{kind}": getattr(there, kind) for name, there in names.items() for kind in ("weight", "bias")
    }
    state |= {
        "attn.c_attn.weight": block.self_attn.in_proj_weight,
        "attn.c_attn.bias": block.self_attn.in_proj_bias,
    }
    ours.load_state_dict({name: Tensor(t.detach().numpy()) for name, t in state.items()})
    x = torch.randn(2, 11, 48)
    mask = torch.nn.Transformer.generate_square_subsequent_mask(11)
    expected = block(x, src_mask=mask, is_causal=True).detach().numpy()
    assert abs(ours(Tensor(x.numpy())).detach().numpy() - expected).max() < 1e-5
