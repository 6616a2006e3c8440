"""Chapter 02b, graded: wrong answers earn their hints, other right answers earn all points."""

from __future__ import annotations

import re

import pytest
from graded import Exercises, ExerciseTests

from coursekit.pictures import draw_mountains
from minilib.tensor import randn

# What the box holds, called instead of written, and by the name that it had when the answer was run.
GIVEN = [
    (number, answer.format(name))
    for number, name in (("2.11", "walk"), ("2.16", "walk_owned"))
    for answer in (
        """
way_back = propagate


def {}(root, seed):
    return {{node: array for node, (array, _) in way_back(root, seed.copy()).items()}}
""",
        """
def {}(root, seed):
    grads, owned, queue = {{root: seed}}, set(), [(-root.serial, root)]
    while queue:
        f = heappop(queue)[1]
        accumulate(f, f.backward(grads.pop(f)), grads, owned, queue)
        f.saved = FREED
    return grads
""",
    )
]


@pytest.mark.thorough
def test_the_given_engine_does_not_do_the_exercise():
    assert TestExercises.exercises.points(GIVEN) == [0] * len(GIVEN)


KEPT_OUTSIDE_OF_THE_GRAPH = """
KEPT = []


class Checkpoint(Function):
    def __init__(self, func):
        self.func = func

    def forward(self, *arrays):
        self.saved = arrays
        with enable_grad():
            KEPT.append(self.func(*(Tensor(array, requires_grad=True) for array in arrays)))
        return KEPT[-1].data.copy()

    def backward(self, grad):
        leaves = [Tensor(array, requires_grad=self.needs(i)) for i, array in enumerate(self.saved)]
        self.func(*leaves).backward(Tensor(grad))
        return tuple(None if leaf.grad is None else leaf.grad.data for leaf in leaves)


def checkpoint(func, *inputs):
    return apply(Checkpoint(func), *inputs)
"""


@pytest.mark.thorough
def test_memory_counts_wherever_it_is_kept():
    assert TestExercises.exercises.points([("2.18", KEPT_OUTSIDE_OF_THE_GRAPH)]) == [2]


def test_the_mountain_is_lowest_with_about_as_many_stretches_as_layers_in_each():
    weights = [randn(64, 64, requires_grad=True) for _ in range(25)]
    alts = [draw_mountains(weights, randn(512, 64), [count]).alt for count in (1, 5, 25)]
    one, five, each = (float(*re.findall(r"highest ([\d.]+) MB", alt)) for alt in alts)
    assert five < 0.6 * min(one, each)


class TestExercises(ExerciseTests):
    exercises = Exercises("02b_engine")
