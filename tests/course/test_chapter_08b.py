"""Chapter 08b, graded; its pictures; and what it says of numbers read at the wrong places."""

from __future__ import annotations

import numpy as np
from figures import tells
from graded import COURSE, Exercises, ExerciseTests

import minilib.library as library
import minilib.tensor as t
from coursekit import notebooks
from coursekit.pictures import draw_strides, draw_told, draw_verdicts
from coursekit.pictures.contracts import places
from minilib.library.check import TESTS
from minilib.tensor import Tensor

TEXT = " ".join(
    " ".join(c.source for c in notebooks.read(COURSE.chapters / "08b_contracts.ipynb").cells).split()
)


class TestExercises(ExerciseTests):
    exercises = Exercises("08b_contracts")


# What the lesson says


def test_the_loss_of_every_tutorial_sends_one_number_back():
    x, seen = t.ones(2, 3, requires_grad=True), []

    @library.custom_op("test8b::copy", mutates_args=())
    def copied(x: Tensor) -> Tensor:
        return x.clone()

    copied.register_autograd(lambda ctx, g: (seen.append(g), g)[1])
    copied(x).sum().backward()
    assert seen[0].stride() == (0, 0)
    assert "five threads of six" in TEXT.lower()
    assert places(seen[0].numpy()) == ([0] * 6, 1)


def test_numbers_near_100_are_as_far_apart_as_the_lesson_says():
    assert tells(TEXT, 7.6)
    assert round(float(np.spacing(np.float32(100))) * 1e6, 1) == 7.6


def test_the_table_of_debts_names_tests_that_there_are():
    named = {word for word in TEXT.split("`") if word.startswith("test_")}
    assert named and named <= {*TESTS}


# Pictures


def test_strides_have_a_slider_and_words():
    whole = np.arange(6, dtype=np.float32).reshape(2, 3)
    layouts = {
        "contiguous": whole,
        "transposed": np.array(whole, order="F"),
        "sliced": np.zeros((2, 6), np.float32)[:, ::2],
        "expanded": np.broadcast_to(np.float32(1), (2, 3)),
    }
    assert [places(array)[1] for array in layouts.values()] == [6, 6, 11, 1]
    made = draw_strides(layouts)
    data, _ = made._repr_mimebundle_()
    assert data["text/html"].count("<img") == 4 and 'type="range"' in data["text/html"]
    assert "1 read their own, 0 another, 5 beyond the end" in made.alt


def test_a_matrix_read_as_it_was_told_is_said_in_words():
    made = draw_told(np.arange(6.0).reshape(2, 3), (1, 2))
    assert "[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]" in made.alt
    assert "[[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]]" in made.alt


def test_verdicts_name_who_is_condemned_by_what():
    found = {
        "a": {"test_x": "SUCCESS", "test_y": ValueError("no")},
        "b": {"test_x": "SUCCESS", "test_y": "SUCCESS"},
    }
    assert draw_verdicts(found).alt.endswith("a: test_y; b: right")
