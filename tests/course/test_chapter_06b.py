"""Chapter 06b, graded; the picture that one points at; and the kernel that needs no matrix."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from figures import tells
from graded import COURSE, Exercises, ExerciseTests
from lesson_kernels import lesson_kernels

from benchmarks import reader
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


def test_at_many_words_traffic_falls_with_the_tile_and_memory_always():
    words, d = 1024, 64
    array, matrix = 4 * words * d, 4 * words * words

    def flash(tile):  # queries and outputs once; keys and values up to each tile's last query
        return 2 * array + sum(2 * 4 * d * seen for seen in range(tile, words + 1, tile))

    three = 4 * array + 4 * matrix
    assert flash(64) < flash(16) < three and flash(16) / three > 0.98
    text = "\n".join(cell.source for cell in notebooks.read(COURSE.chapters / "06b_attention.ipynb").cells)
    assert tells(text, *(f"{moved / 1e6:.1f} MB" for moved in (flash(16), three, flash(128), matrix)))


# The reader


def lesson():
    return notebooks.read(COURSE.chapters / "06b_attention.ipynb").cells


def test_all_nine_starts_are_told():
    rows = json.loads(reader.RESULTS.read_text(encoding="utf-8"))["rows"]
    assert [(row["seed"], row["heads"]) for row in rows] == [
        (s, h) for s in reader.SEEDS for h in reader.HEADS
    ]
    text = "\n".join(cell.source for cell in lesson())
    for heads in reader.HEADS:
        for key, digits in (("loss", 2), ("right", 1)):
            shown = [100 * row[key] if key == "right" else row[key] for row in rows if row["heads"] == heads]
            assert " | ".join(f"{one:.{digits}f}" for one in shown) in text
    (live,) = [row["right"] for row in rows if (row["seed"], row["heads"]) == (6, 2)]
    (cell,) = [cell for cell in lesson() if cell.source.startswith("#| milestone reward")]
    assert abs(100 * live - float(re.search(r"([\d.]+)% of the", cell.outputs[0].text)[1])) < 1


def test_the_places_at_which_head_2_looks_one_word_back_are_counted():
    (cell,) = [c for c in lesson() if c.cell_type == "code" and "draw_maps(line, maps)" in c.source]
    told = cell.outputs[0]["data"]["text/plain"].split("head 2: ")[1]
    pairs = re.findall(r"(\w+) at (\w+) \(", told)
    back = sum(pairs[i][1] == pairs[i - 1][0] for i in range(1, len(pairs)))
    prose = "\n".join(c.source for c in lesson() if c.cell_type == "markdown")
    assert tells(prose, f"{back} of the {len(pairs) - 1}")


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
