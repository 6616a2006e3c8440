"""Chapter 10a, graded; its file beside ONNX's own checker, and its pictures."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from graded import COURSE, Exercises, ExerciseTests

from coursekit import notebooks
from coursekit.pictures import digits_onnx, draw_bytes, draw_network, draw_shares
from coursekit.pictures.files import spans
from minilib.wire import read, write

CELLS = notebooks.read(COURSE.chapters / "10a_file.ipynb").cells


class TestExercises(ExerciseTests):
    exercises = Exercises("10a_file")


@pytest.fixture(scope="module")
def line() -> bytes:
    """The file of the lesson."""
    (source,) = (cell.source for cell in CELLS if cell.source.startswith("line = bytes.fromhex"))
    names: dict[str, Any] = {}
    exec(source, names)
    return names["line"]


def test_the_short_file_is_read_and_written_to_the_same_bytes(line):
    assert write(read(line)) == line


@pytest.mark.parity
def test_the_short_file_is_onnx_and_computes_what_the_lesson_says(line):
    onnx = pytest.importorskip("onnx", reason="onnx is missing: `make test-all` installs it")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is missing: `make test-all` installs it")
    onnx.checker.check_model(onnx.load_from_string(line), full_check=True)
    (y,) = runtime.InferenceSession(line).run(None, {"x": np.float32([3, 0, -1])})
    assert y.tolist() == [7, 1, -1]


def test_each_byte_of_a_file_is_in_one_field_or_above_one(line):
    found = list(spans(line))
    assert [line[one.value : one.end] for one in found if one.path.endswith("op_type")] == [b"Mul", b"Add"]
    assert all(one.start < one.length <= one.value <= one.end for one in found)
    assert all(before.end <= after.start for before, after in itertools.pairwise(found))


def test_pictures_say_in_words_what_they_show(line):
    picture = draw_bytes(line, still=4)
    assert "op_type = 'Mul'" in picture.alt and "118 bytes" in picture.alt
    assert picture.page.count("<script>") == 1 and picture.page.count("<img") == 1
    assert "weights 3, 75%" in draw_shares({"weights": 3, "names": 1}).alt
    assert draw_network([("x", "Mul", "y")]).alt == "Mul reads x and makes y"


def test_the_model_file_is_small_enough_to_travel_with_the_lessons():
    assert 20_000 < digits_onnx().stat().st_size < 40_000
