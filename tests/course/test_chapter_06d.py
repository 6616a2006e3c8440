"""Chapter 06d, graded: wrong answers earn their hints, other right answers all points. And its figures."""

from __future__ import annotations

import json
import re

import numpy as np
from figures import tells
from graded import COURSE, Exercises, ExerciseTests

from coursekit import notebooks
from coursekit.pictures import draw_dials
from minilib.gpt import GPT, MODELS, GPTConfig
from minilib.sampling import probabilities
from minilib.tensor import Tensor, no_grad


class TestExercises(ExerciseTests):
    exercises = Exercises("06d_generating")


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
    assert 9.5 < texts < 10.5 and tells(PROSE, "1,024")
    assert f"{10_240 * bytes_a_token('gpt2-xl') / 1e9:.1f} GB" in PROSE


def test_the_formula_of_the_cache_is_what_a_cache_holds():
    model = GPT(GPTConfig(5, 6, n_layer=3, n_head=2, n_embd=8))
    caches = model.new_caches()
    with no_grad():
        model(Tensor(np.zeros((1, 4), int)), caches=caches)
    assert sum(c.k[:, : c.length].nbytes + c.v[:, : c.length].nbytes for c in caches) == 2 * 3 * 8 * 4 * 4


def test_looking_back_catches_up_where_the_lesson_says():
    for width in (128, 1600):
        assert 2 * width * 6 * width == 12 * width**2 and tells(PROSE, f"{6 * width:,}")


def test_all_positions_cost_512_times_one():
    def cost(t, s):
        return t * (12 * 128**2 + 2 * 128 * s)

    assert cost(512, 512) == 512 * cost(1, 512) and tells(PROSE, 512)


def test_the_dials_stand_still_where_no_script_runs():
    dials = draw_dials(list("ab<c"), [0.0, 2.0, 1.0, -1.0])
    shown, metadata = dials._repr_mimebundle_()
    assert "probabilities" in metadata["image/png"]["alt"]
    assert {*shown} == {"text/html", "image/png", "text/plain"}
    before, script = shown["text/html"].split("<script>")
    assert "<img" in before and "data:image/png;base64," in before and 'alt="' in before
    assert "src=" not in script and "http" not in script.replace("http://www.w3.org/2000/svg", "")
    scores = json.loads(re.search(r'"scores": (\[.*?\])', script)[1])
    np.testing.assert_allclose(
        probabilities(np.array([scores])), -np.sort(-probabilities(np.array([[0.0, 2.0, 1.0, -1.0]])))
    )


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
    assert tells(told, ours, theirs)


def test_what_the_lens_shows_is_told():
    (cell,) = [c for c in LESSON.cells if c.cell_type == "code" and c.source.startswith("draw_lens(")]
    line = "the target of the assignment"
    *_, before, last = re.findall(r"block \d (\S+?)(?:;|$)", cell.outputs[0]["data"]["text/plain"])
    begins = [i for i, character in enumerate(line) if character == " "]
    assert [last[i] == line[i + 1] for i in begins] == [False, False, True, False]
    assert [before[i] == line[i + 1] for i in begins] == [False, True, False, True]  # given up again
    inside = [i for i in range(len(line) - 1) if i not in begins]
    assert sum(last[i].replace("␣", " ") == line[i + 1] for i in inside) > 0.8 * len(inside)
