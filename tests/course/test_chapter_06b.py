"""Chapter 06b, graded; the picture that one points at; and the kernel that needs no matrix."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from figures import tells
from graded import COURSE, Exercises, ExerciseTests
from lesson_kernels import lesson_kernels

from coursekit import notebooks
from coursekit.pictures import draw_look, draw_losses, draw_maps, draw_masks
from minilib.cuda import cp, profile, simulate
from minilib.functional.attention import attend


class TestExercises(ExerciseTests):
    exercises = Exercises("06b_attention")


# Attention without its matrix


def launch(heads: int, t: int, s: int, d: int) -> tuple[tuple[int, int], tuple[int, int], tuple, list]:
    rng = np.random.default_rng(heads + t + s + d)
    arrays = [rng.normal(size=(heads, n, d)).astype(np.float32) for n in (t, s, s)]
    args = (*map(cp.asarray, arrays), cp.zeros((heads, t, d), np.float32), *np.int32([t, s, d]))
    return (-(-t // 16), heads), (16, 16), args, arrays


@pytest.mark.thorough
@pytest.mark.parametrize("schedule", ["lockstep", "forward", "reverse"])
@pytest.mark.parametrize("sizes", [(1, 1, 1, 1), (2, 17, 33, 8), (1, 64, 64, 64), (2, 48, 48, 20)], ids=str)
def test_the_kernel_equals_attend_in_every_order_of_its_warps(sizes, schedule):
    kernel = lesson_kernels("06b_attention", "solutions")["attention"]
    grid, block, args, arrays = launch(*sizes)
    simulate(kernel, grid, block, args, schedule=schedule)
    np.testing.assert_allclose(cp.asnumpy(args[3]), attend(*arrays)[0], atol=1e-5)


@pytest.mark.thorough
def test_the_kernel_has_no_finding_and_moves_fewer_bytes_than_three_kernels():
    kernel = lesson_kernels("06b_attention", "solutions")["attention"]
    report = profile(kernel, *launch(1, 64, 64, 64)[:3])
    assert report.ok
    array = 4 * 64 * 64  # q, k, v, out and the matrix are all of this size here
    tiles = 2 * (1 + 2 + 3 + 4) / 4  # of keys and values, for four tiles of queries
    moved, three = report.bytes_read + report.bytes_written, (2 + 1) + (1 + 1) + (2 + 1)
    assert moved == (1 + tiles + 1) * array and three * array == 131_072
    text = "\n".join(cell.source for cell in notebooks.read(COURSE.chapters / "06b_attention.ipynb").cells)
    assert tells(text, f"{moved / 1e3:.0f} kB", "131 kB")


# The reader's sentences


def test_the_500_sentences_are_new_to_the_reader():
    names: dict = {}
    for cell in notebooks.read(COURSE.chapters / "06b_attention.ipynb").cells:
        if cell.source.startswith("#| milestone"):
            exec(cell.source, names)
            if "sentences" in names:
                break
    texts = [" ".join(words) for words, _ in names["sentences"]]
    assert len(texts) == len(set(texts)) == 2500


# Pictures


def weights(heads=2, words=4):
    made = np.tril(np.random.default_rng(0).random((heads, words, words)))
    return made / made.sum(-1, keepdims=True)


def test_a_sentence_to_point_at_has_a_still_picture_and_words_beside_its_script():
    data, metadata = draw_look(["the", "king", "and", "he"], weights())._repr_mimebundle_()
    assert {"text/html", "image/png", "text/plain"} == set(data)
    assert metadata["image/png"]["alt"].startswith("'he' looks back. head 1: he at")
    assert data["image/png"] in data["text/html"]


def test_words_cannot_end_the_script_or_become_markup():
    words = ["</script><b>", "<i>", '"quoted" & more', "\N{GREEK SMALL LETTER ALPHA}"]
    html = draw_look(words, weights()).page
    assert html.count("</script>") == 1 and "<b>" not in html and "<i>" not in html
    listed = re.search(r'", \.\.\.(\[.*\])\)</script>', html)
    assert json.loads(listed[1])[0] == words


def test_weights_that_do_not_fit_the_words_are_told():
    with pytest.raises(ValueError, match=r"weights are \(heads, 3, 3\), not \(2, 4, 4\)"):
        draw_look(["one", "two", "three"], weights())


def test_pictures_say_in_words_what_they_show():
    assert "head 2" in draw_maps(["a", "b", "c", "d"], weights()).alt
    mask = np.triu(np.full((3, 3), -np.inf), 1)
    assert "right: word 1 sees 1, word 2 sees 2, word 3 sees 3" in draw_masks({"right": mask, "b": mask}).alt
    assert "fair, from 2.00 to 2.00" in draw_losses({"fair": [2.0] * 20}, (1.0, "1")).alt
