"""Chapter 02a, graded: wrong answers earn their hints, other right answers earn all points."""

from __future__ import annotations

import pytest
from graded import Exercises, ExerciseTests

# What the box holds, called instead of written, and by the name that it had when the answer was run.
GIVEN = [
    ("2.3", "unbroadcast = sum_to"),
    (
        "2.3",
        """
def unbroadcast(grad, shape):
    x = Tensor(np.zeros(shape), requires_grad=True)
    (x + Tensor(np.zeros(grad.shape))).backward(Tensor(grad))
    return x.grad.data
""",
    ),
]


@pytest.mark.thorough
def test_the_given_engine_does_not_do_the_exercise():
    assert TestExercises.exercises.points(GIVEN) == [0] * len(GIVEN)


LEAKY = """
KEPT = {}


class LeakyReLU(Function):
    def __init__(self, slope):
        self.slope = slope

    def forward(self, x):
        positive = x > 0
        SAVE
        return np.where(positive, x, self.slope * x)

    def backward(self, grad):
        positive = RESTORE
        return np.where(positive, grad, self.slope * grad)
"""
# How 1 of 2.8's answers saves, how it restores, and what it earns.
SAVINGS = [
    (  # a number that says which
        "self.saved = (np.array([len(KEPT)], np.uint8),); KEPT[len(KEPT)] = x",
        "KEPT[int(self.saved[0][0])] > 0",
        2,
    ),
    ("self.saved = (np.array(x)[None][:0],)", "self.saved[0].base > 0", 2),
    ("KEPT[x.shape] = positive", "KEPT[grad.shape]", 2),
    ("self.saved = (positive,); KEPT[id(self)] = x", "self.saved[0]", 2),  # enough, and more beside
    ("self.saved = (np.sign(x).astype(np.int8), None)", "self.saved[0] > 0", 3),
    ("self.saved = (np.packbits(x <= 0),)", "self.bits(grad) == 0", 4),
]
BITS = """
    def bits(self, grad):
        return np.unpackbits(self.saved[0], count=grad.size).reshape(grad.shape)
"""


@pytest.mark.thorough
def test_bytes_count_wherever_they_are_kept():
    made = [LEAKY.replace("SAVE", save).replace("RESTORE", restore) + BITS for save, restore, _ in SAVINGS]
    earned = TestExercises.exercises.points([("2.8", one) for one in made])
    assert earned == [points for *_, points in SAVINGS]


COPIED_VIEWS = """
class Windows(Function):
    view = True

    def __init__(self, size):
        self.size = size

    def forward(self, x):
        return np.lib.stride_tricks.sliding_window_view(x.copy(), self.size)

    def backward(self, grad):
        return add_at(self.inputs[0].shape, self.forward, grad)
"""


@pytest.mark.thorough
def test_a_view_of_a_copy_is_no_view():
    assert TestExercises.exercises.points([("2.9", COPIED_VIEWS)]) == [3]


class TestExercises(ExerciseTests):
    exercises = Exercises("02a_arrays")
