"""Chapter 01, graded: wrong answers earn their hints, other right answers earn all points."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from graded import COURSE, Exercises, ExerciseTests

from coursekit.grading.assemble import assemble
from coursekit.grading.control import Conditions, measured
from coursekit.grading.sandbox import Box
from coursekit.grading.submissions import Submission
from minilib.scalar import Value

TANH_THAT_OVERFLOWS = """
@add_to(Value)
def tanh(self):
    up, down = math.exp(25 * self.data), math.exp(-25 * self.data)  # up to 28
    t = math.tanh(self.data + 0 * up * down)
    return node(t, "tanh", self, 1 - t * t)
"""


@pytest.mark.thorough
def test_values_that_are_right_earn_their_part_where_another_overflows():
    exercises = TestExercises.exercises
    conditions = Conditions(COURSE, seed=7, box=Box.off(), workers=1)
    made = {"reference": exercises.chapter.reference()}
    made["wrong"] = made["reference"] | {"1.4": TANH_THAT_OVERFLOWS}
    runs = conditions.run({name: assemble(exercises.chapter, answers) for name, answers in made.items()})
    result = measured(exercises.chapter, runs["reference"], own=True).result(
        Submission("x", "x", "x", made["wrong"], {}), runs["wrong"]
    )
    tanh = next(one for one in result.exercises if one.exercise.number == "1.4")
    assert (tanh.points, tanh.exercise.points) == (2, 3)
    assert tanh.messages == ("stopped with OverflowError: math range error",)


@pytest.mark.slow
def test_the_old_answers_of_those_who_began_before_still_earn_all_points():
    answers = [
        (
            "1.2",
            """
@add_to(Value)
def __add__(self, other):
    if not isinstance(other, Value):
        other = Value(other)
    return node(self.data + other.data, "+", self, 1.0, other, 1.0)
""",
        ),
        (
            "1.10",
            """
def weighted_sum(weights, inputs, bias):
    x = [v.data if isinstance(v, Value) else number(v) for v in inputs]
    total = bias.data
    for weight, value in zip(weights, x):
        total += weight.data * value
    made_of, derivatives = [bias, *weights], [1.0, *x]
    for weight, v in zip(weights, inputs):
        if isinstance(v, Value):
            made_of.append(v)
            derivatives.append(weight.data)
    return wide_node(total, "weighted_sum", made_of, derivatives)
""",
        ),
    ]
    assert TestExercises.exercises.points(answers) == [3, 4]


FOUR_CALLS = """
def derivative(f, x, h=1e-5):
    return 0.5 * (f(x + h) - f(x - h)) / h + 0 * f(x) * f(h)
"""

NO_FORMAT_IN_THE_MESSAGE = """
@add_to(Value)
def exp(self):
    return node(math.exp(self.data), "exp", self, math.exp(self.data))


@add_to(Value)
def log(self):
    if self.data <= 0:
        raise ValueError(MESSAGE)
    return node(math.log(self.data), "log", self, 1 / self.data)
"""


@pytest.mark.slow
def test_a_message_may_have_any_words_and_names_its_number():
    said = {
        'f"the logarithm of {self.data:.2f} is not defined; it wants more than 0"': 3,
        'f"Log: {self.data!r} <= 0"': 3,
        '"log: expected a positive number, got -1"': 0,
        'f"log: expected a positive number, got {abs(self.data)}"': 0,
        'f"expected a positive number, got {self.data}"': 0,
    }
    answers = [("1.5", NO_FORMAT_IN_THE_MESSAGE.replace("MESSAGE", message)) for message in said]
    assert TestExercises.exercises.points([*answers, ("1.1", FOUR_CALLS)]) == [*said.values(), 0]


class TestExercises(ExerciseTests):
    exercises = Exercises("01_scalar")


def test_the_planted_bug_of_1_7_fails_the_check_that_its_reader_sees():
    cells = json.loads((Path(__file__).parents[2] / "exercises/01_exercises.ipynb").read_text())["cells"]
    texts = ["".join(cell["source"]) for cell in cells]
    names: dict[str, Any] = {"Counter": Counter, "Value": Value, "check": lambda number: None}
    exec(next(text for text in texts if text.startswith("# exercise: 1.7")), names)
    with pytest.raises(AssertionError, match="a\\*\\*7"):
        exec(next(text for text in texts if text.startswith('check("1.7")')), names)
