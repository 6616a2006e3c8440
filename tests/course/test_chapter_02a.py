"""Chapter 02a, graded: wrong answers earn their hints, other right answers earn all points."""

from __future__ import annotations

import pytest
from graded import Exercises, ExerciseTests

# Right answers by another way than the reference's.
OTHERS = {
    "2.1": """
def strides(n, m, itemsize, step):
    def of(down, right):
        return np.int64(down) * itemsize, np.int64(right) * itemsize

    return [of(m, 1), of(1, m), of(m, step), of(-m, 1), of(0, 1)]
""",
    "2.2": """
class Div(Function):
    def forward(self, x, y):
        self.saved = x, y
        return np.divide(x, y)

    def backward(self, grad):
        x, y = self.saved
        reciprocal = 1 / y
        return grad * reciprocal, -grad * x * reciprocal * reciprocal
""",
    "2.3": """
def unbroadcast(grad, shape):
    padded = (1,) * (grad.ndim - len(shape)) + tuple(shape)
    summed = tuple(axis for axis, n in enumerate(padded) if n == 1)
    return grad.sum(axis=summed, keepdims=True).reshape(shape)
""",
    "2.4": """
class Where(Function):
    def forward(self, condition, x, y):
        self.saved = (condition,)
        out = np.array(np.broadcast_arrays(x, condition, y)[2])
        np.copyto(out, x, where=condition)
        return out

    def backward(self, grad):
        (condition,) = self.saved
        return None, grad * condition, grad * ~condition
""",
    "2.5": """
class Extreme(Reduction):
    def __init__(self, largest, dim=None, keepdim=False):
        super().__init__(dim, keepdim)
        self.largest = largest

    def forward(self, x):
        dims = axes(self.dim, x.ndim)
        y = (np.max if self.largest else np.min)(x, axis=dims, keepdims=True)
        winners = x == y
        self.saved = (winners / winners.sum(axis=dims, keepdims=True),)
        return y if self.keepdim else y.squeeze(dims)

    def backward(self, grad):
        return self.saved[0] * self.keep(grad)
""",
    "2.6": """
class Permute(Function):
    view = True

    def __init__(self, dims):
        self.dims = dims

    def forward(self, x):
        return np.moveaxis(x, self.dims, range(x.ndim))

    def backward(self, grad):
        return np.moveaxis(grad, range(grad.ndim), self.dims)
""",
    "2.7": """
class Cat(Function):
    def __init__(self, dim):
        self.dim = dim

    def forward(self, *arrays):
        return np.concatenate(arrays, axis=self.dim)

    def backward(self, grad):
        pieces, start = [], 0
        for node in self.inputs:
            end = start + node.shape[self.dim]
            pieces.append(grad.take(range(start, end), self.dim))
            start = end
        return tuple(pieces)
""",
    "2.8": """
class LeakyReLU(Function):
    def __init__(self, slope):
        self.slope = slope

    def forward(self, x):
        self.saved = (np.frombuffer(np.packbits(x > 0).tobytes(), np.int8),)
        return np.maximum(x, 0) + self.slope * np.minimum(x, 0)

    def backward(self, grad):
        bits = np.unpackbits(self.saved[0].view(np.uint8))[: grad.size].reshape(grad.shape)
        return grad * bits + self.slope * grad * (1 - bits)
""",
    "2.9": """
class Windows(Function):
    view = True

    def __init__(self, size):
        self.size = size

    def forward(self, x):
        return np.lib.stride_tricks.sliding_window_view(x, self.size)

    def backward(self, grad):
        out = np.zeros(self.inputs[0].shape, grad.dtype)
        for k in range(self.size):
            out[k : k + len(grad)] += grad[:, k]
        return out
""",
}


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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_view_of_a_copy_is_no_view():
    assert TestExercises.exercises.points([("2.9", COPIED_VIEWS)]) == [3]


class TestExercises(ExerciseTests):
    exercises = Exercises("02a_arrays", OTHERS)
