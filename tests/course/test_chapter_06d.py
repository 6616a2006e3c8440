"""Chapter 06d, graded: wrong answers earn their hints, other right answers all points. And its figures."""

from __future__ import annotations

import json
import re

import numpy as np
from graded import COURSE, Exercises, ExerciseTests

from coursekit import notebooks
from coursekit.pictures.generating import Dials
from minilib.gpt import GPT, MODELS, GPTConfig
from minilib.sampling import probabilities
from minilib.tensor import Tensor, no_grad

# Right answers by another way than the reference's.
OTHERS = {
    "6.19": """
def text_cost(prompt, new, n_layer, C):
    anew = cached = 0
    for k in range(new):
        s = prompt + k
        anew += n_layer * s * (12 * C**2 + 2 * C * s)
        cached += n_layer * (12 * C**2 + 2 * C * s) * (prompt if k == 0 else 1)
    return anew, cached
""",
    "6.20": """
class LayerCache:
    def __init__(self, block_size):
        self.length, self.both = 0, None

    def extend(self, k, v):
        b, t, c = k.shape
        if self.both is None:
            self.both = np.zeros((2, b, t, c), k.dtype)
        if self.length + t > self.both.shape[2]:  # twice the room
            wider = np.zeros((2, b, 2 * self.both.shape[2] + t, c), k.dtype)
            wider[:, :, : self.length] = self.both[:, :, : self.length]
            self.both = wider
        for row, new in zip(self.both, (k, v)):
            row[:, self.length : self.length + t] = new.data
        self.length += t
        return tuple(Tensor(row[:, : self.length]) for row in self.both)
""",
    "6.21": """
def attend_new(q, k, v):
    rows = []
    for i, query in enumerate(q):
        last = len(k) - len(q) + i + 1
        scores = k[:last] @ query / math.sqrt(len(query))
        weights = np.exp(scores - scores.max())
        rows.append(weights @ v[:last] / weights.sum())
    return np.array(rows)
""",
    "6.22": """
def probabilities(scores, top_k=None, top_p=None):
    made = []
    for row in np.array(scores, np.float64):
        least = sorted(row)[-top_k] if top_k is not None else -math.inf
        p = {i: math.exp(s - row.max()) for i, s in enumerate(row) if s >= least}
        total = sum(p.values())
        p = {i: x / total for i, x in p.items()}
        if top_p is not None:
            kept, reached = {}, 0.0
            for i in sorted(p, key=lambda i: -p[i]):
                if reached >= top_p:
                    break
                kept[i] = p[i]
                reached += p[i]
            p = {i: x / sum(kept.values()) for i, x in kept.items()}
        made.append([p.get(i, 0.0) for i in range(len(row))])
    return np.array(made)
""",
    "6.23": """
@add_to(GPT)
def generate(
    self, idx, max_new_tokens, temperature=1.0, do_sample=False, top_k=None, top_p=None, generator=None
):
    self.check_choice(idx, max_new_tokens, temperature, top_k, top_p)
    caches, new, made = self.new_caches(), idx, [idx.numpy()]
    length = idx.shape[1]
    with evaluating(self):
        while length < idx.shape[1] + max_new_tokens:
            if length > self.block_size:
                new, caches = Tensor(np.concatenate(made, 1)[:, -self.block_size :]), None
            logits, _ = self(new, caches=caches)
            new = choose(logits[:, -1], temperature, do_sample, top_k, top_p, generator)
            made.append(new.numpy())
            length += 1
    return Tensor(np.concatenate(made, 1))
""",
    "6.24": """
def accept(model, idx, draft):
    with evaluating(model):
        scores = model(cat([idx, draft], 1))[0].numpy()[0]
    text, start = idx.numpy()[0].tolist(), idx.shape[1]
    for guess, row in zip([*draft.numpy()[0].tolist(), None], scores[start - 1 :]):
        text.append(int(row.argmax()))
        if text[-1] != guess:
            break
    return Tensor([text])
""",
}


class TestExercises(ExerciseTests):
    exercises = Exercises("06d_generating", OTHERS)


LESSON = notebooks.read(COURSE.chapters / "06d_generating.ipynb")
PROSE = re.sub(r"\s+", " ", "\n".join(cell.source for cell in LESSON.cells if cell.cell_type == "markdown"))


def bytes_a_token(name):
    layers, _, width = MODELS[name]
    return 2 * layers * width * 4


def weights(name):
    """All numbers of a GPT-2 of that name, its head being its table of tokens."""
    layers, _, c = MODELS[name]
    return (50257 + 1024) * c + layers * (12 * c**2 + 13 * c) + 2 * c


def test_the_bytes_of_gpt2_xl_are_those_that_the_lesson_says():
    assert f"{bytes_a_token('gpt2-xl'):,}" in PROSE
    assert f"{weights('gpt2-xl'):_}" in "".join(cell.source for cell in LESSON.cells)
    texts = 4 * weights("gpt2-xl") / bytes_a_token("gpt2-xl") / 1024
    assert 9.5 < texts < 10.5 and "Ten full texts of 1,024 tokens" in PROSE
    assert f"{10_240 * bytes_a_token('gpt2-xl') / 1e9:.1f} GB" in PROSE


def test_the_formula_of_the_cache_is_what_a_cache_holds():
    model = GPT(GPTConfig(5, 6, n_layer=3, n_head=2, n_embd=8))
    caches = model.new_caches()
    with no_grad():
        model(Tensor(np.zeros((1, 4), int)), caches=caches)
    assert sum(c.k[:, : c.length].nbytes + c.v[:, : c.length].nbytes for c in caches) == 2 * 3 * 8 * 4 * 4


def test_looking_back_catches_up_where_the_lesson_says():
    for width, said in ((128, "768 tokens"), (1600, "9,600 in GPT-2 XL")):
        assert 2 * width * 6 * width == 12 * width**2 and said in PROSE
        assert said.split()[0] == f"{6 * width:,}"


def test_all_positions_cost_512_times_one():
    def cost(t, s):
        return t * (12 * 128**2 + 2 * 128 * s)

    assert cost(512, 512) == 512 * cost(1, 512) and "512 times the arithmetic" in PROSE


def test_the_dials_stand_still_where_no_script_runs():
    dials = Dials(list("ab<c"), [0.0, 2.0, 1.0, -1.0])
    shown, metadata = dials._repr_mimebundle_()
    assert "probabilities" in metadata["image/png"]["alt"]
    assert {*shown} == {"text/html", "image/png", "text/plain"}
    before, script = shown["text/html"].split("<script>")
    assert "<img" in before and "data:image/png;base64," in before and 'alt="' in before
    assert "src=" not in script and "http" not in script.replace("http://www.w3.org/2000/svg", "")
    np.testing.assert_allclose(dials.p, -np.sort(-probabilities(np.array([[0.0, 2.0, 1.0, -1.0]]))[0]))


def test_your_turn_says_nothing_of_what_is_not_filled_in(capsys):
    from coursekit.pictures import tell

    tell(..., 3.0, "a hint")
    tell(3.0, 3.0, "a hint")
    tell(np.array([1.0, 2.0]), 3.0, "a hint")
    tell("three", 3.0, "a hint")
    said = capsys.readouterr().out.splitlines()
    assert [line[:7] for line in said] == ["not fil", "right", "not yet", "not yet"]


def test_the_recorded_cost_of_a_token_is_told():
    rows = json.loads((COURSE.root / "benchmarks" / "results" / "gpt.json").read_text())["rows"]
    token = next(row for row in rows if row["case"] == "token")
    ours, theirs = (f"{1000 * token[name]:.2f} ms" for name in ("minilib", "torch"))
    path = COURSE.root / "chapters" / "06d_generating.ipynb"
    told = " ".join(cell.source for cell in notebooks.cells(path, notebooks.read(path)) if not cell.is_code)
    assert f"takes {ours} for a token, and the same model in PyTorch {theirs}" in told
