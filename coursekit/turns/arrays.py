"""Chapter 02a: strides, what undoes a change of shape, a walk back through a chain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from coursekit.turns.lending import lend, tell_lent, told, tried


def judge_note(mine: Any, memory: Any, right: Any) -> None:
    """Say what `mine`, (shape, strides in bytes), makes of `memory`, beside the table that is asked for."""
    if mine is ...:
        print("not filled in yet: the lesson goes on without it")
        return
    try:
        shape, strides = (tuple(int(n) for n in part) for part in mine)
    except (TypeError, ValueError):
        print("not yet: two tuples, (shape, strides), each with a number for each axis")
        return
    if shape != right.shape or len(strides) != len(shape):
        print(f"not yet: the shape should be {right.shape}, with a stride for each axis")
        return
    size = memory.itemsize
    if any(stride % size for stride in strides) or max(map(abs, strides), default=0) < size:
        print(f"not yet: strides count bytes, and each number has {size}")
        return
    last = sum((n - 1) * stride for n, stride in zip(shape, strides))
    if min(strides) < 0 or last >= memory.nbytes:
        print("not yet: this walks out of the memory")
        return
    found = np.lib.stride_tricks.as_strided(memory, shape, strides)
    print("right" if np.array_equal(found, right) else f"not yet: this reads {found.tolist()}")


def judge_sum_to(names: dict[str, Any]) -> None:
    """Say which mistake the notebook's `sum_to` makes; one that is not right is replaced."""
    if told(_sum_to(names["sum_to"]), "right: column, row, both at once, and a single number"):
        return
    lend(["sum_to"], "sum_to", names)


def _sum_to(sum_to: Callable[..., Any]) -> str | None:
    table = np.array([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]])
    cases: Sequence[tuple[Any, tuple[int, ...], str]] = (
        (table, (2, 1), "a column of 2, repeated to the right"),
        (table, (3,), "a row of 3, repeated downwards"),
        (table, (1, 3), "a row of shape (1, 3), repeated downwards"),
        (np.stack([table, 100 * table]), (2, 1), "a column, repeated to the right and along a new axis"),
        (table, (), "a single number, repeated everywhere"),
        (table, (2, 3), "what was not repeated at all"),
    )
    for grad, shape, what in cases:
        want = _collected(grad, shape)
        found, trouble = tried(sum_to, grad.copy(), shape)
        if trouble:
            return trouble
        found = np.asarray(found)
        if found.shape != shape:
            return f"not yet: {what}: the shape should be {shape} again, and yours is {found.shape}"
        if not np.allclose(found, want):
            if np.allclose(found * (grad.size / max(want.size, 1)), want):
                return f"not yet: {what}: shares add up, and you took their mean"
            return f"not yet: {what}: it should collect {want.tolist()}, and yours has {found.tolist()}"
    square = np.arange(9.0).reshape(3, 3)
    found, trouble = tried(sum_to, square, (3,))
    if trouble or np.shape(found) != (3,) or not np.allclose(found, square.sum(axis=0)):
        return "not yet: a row of 3 in a square table: which axis is new? Shapes are compared from the right"
    return None


def _collected(grad: Any, shape: tuple[int, ...]) -> Any:
    """The same by another way: every number says which place it was repeated from."""
    size = int(np.prod(shape, dtype=int))
    places = np.broadcast_to(np.arange(size).reshape(shape), grad.shape)
    return np.bincount(places.ravel(), grad.ravel(), minlength=size).reshape(shape)


def judge_scatter(names: dict[str, Any]) -> None:
    """Say which mistake the notebook's `scatter_add` makes; one that is not right is replaced."""
    if told(_scatter(names["scatter_add"]), "right: every share arrived, and what was never picked has 0"):
        return

    def scatter_add(shape: Any, index: Any, grad: Any) -> Any:
        from minilib.operations import add_at

        return add_at(shape, lambda x: x[index], grad)

    names["scatter_add"] = scatter_add
    tell_lent("add_at of minilib/operations.py")


def _scatter(scatter_add: Callable[..., Any]) -> str | None:
    index, grad = np.array([0, 2, 2, 1, 2]), np.arange(1.0, 11).reshape(5, 2)
    want = np.array([[1.0, 2.0], [7.0, 8.0], [17.0, 20.0], [0.0, 0.0]])
    found, trouble = tried(scatter_add, (4, 2), index, grad.copy())
    if trouble:
        return trouble
    found = np.asarray(found)
    if found.shape != (4, 2):
        return f"not yet: the gradient of a table of shape (4, 2) has that shape, and yours has {found.shape}"
    if np.allclose(found[2], grad[4]):
        return "not yet: row 2 was picked three times, and only its last share arrived"
    if np.allclose(found[2], want[2] / 3):
        return "not yet: shares add up, and you took their mean"
    if np.allclose(found[2], 3 * grad[2]):
        return "not yet: row 2 took row 2 of grad three times. Row k of grad is for the place index[k]"
    if not np.allclose(found, want):
        return f"not yet: the four rows should be {want.tolist()}, and yours are {found.tolist()}"
    nothing, _ = tried(scatter_add, (4, 2), index[:0], grad[:0])
    if nothing is None or not np.array_equal(nothing, np.zeros((4, 2))):
        return "not yet: where nothing was picked, the gradient is 0 everywhere"
    return None


def judge_matmul(names: dict[str, Any]) -> None:
    """Say which mistake the notebook's `MatMul.backward` makes; one that is not right is replaced."""
    if told(_matmul(names["MatMul"]), "right: both agree with the nudge, for wide, tall and square matrices"):
        return
    names["MatMul"].backward = lambda self, grad: (grad @ self.saved[1].T, self.saved[0].T @ grad)
    tell_lent("course's own")


def _matmul(MatMul: Callable[[], Any]) -> str | None:
    rng = np.random.default_rng(0)
    for n, k, m in ((2, 3, 4), (1, 4, 2), (3, 3, 3)):
        x, y, grad = rng.normal(size=(n, k)), rng.normal(size=(k, m)), rng.normal(size=(n, m))
        f = MatMul()
        f.forward(x, y)
        found, trouble = tried(f.backward, grad.copy())
        if trouble and "matmul" in trouble:
            shapes = f"you have {grad.shape}, {x.shape} and {y.shape}, and want {x.shape} and {y.shape}"
            return f"not yet: a product whose shapes do not fit: {shapes}. Which has to be turned?"
        if trouble:
            return trouble
        if not isinstance(found, tuple | list) or len(found) != 2:
            return "not yet: two inputs, so two gradients: return that of x, and that of y"
        if np.shape(found[0]) == y.shape and np.shape(found[1]) == x.shape and n != k != m:
            return "not yet: you return the two in the other order: first the gradient of x, then that of y"
        want = np.einsum("il,jl->ij", grad, y), np.einsum("ij,il->jl", x, grad)
        for name, mine, right in zip("xy", found, want):
            mine = np.asarray(mine)
            if mine.shape != right.shape:
                return f"not yet: {name} has the shape {right.shape}, and its gradient in yours {mine.shape}"
            if not np.allclose(mine, right):
                hint = "; in a square matrix every order fits, so shapes do not help" if n == m else ""
                return f"not yet: the gradient of {name} disagrees with the nudge{hint}"
    return None


def judge_walk(names: dict[str, Any]) -> None:
    """Say which mistake the notebook's `backward` of a chain makes; one that is not right is replaced."""
    if told(
        _walk(names["backward"]),
        "right: each operation was called once, the last one first, and nothing was lost",
    ):
        return

    def backward(steps: Any, grad: Any) -> list[Any]:
        found: list[Any] = []
        for f in reversed(steps):
            grad, *others = f.backward(grad)
            found = others + found
        return found

    names["backward"] = backward
    tell_lent("course's own")


class _Step:
    """An operation that notes what it is told, and answers with numbers that say whose they are."""

    def __init__(self, number: int, others: int, heard: list[tuple[int, Any]]) -> None:
        self.number, self.others, self.heard = number, others, heard

    def backward(self, grad: Any) -> tuple[float, ...]:
        self.heard.append((self.number, grad))
        return (10.0 * self.number, *(10.0 * self.number + k for k in range(1, self.others + 1)))


def _walk(backward: Callable[..., Any]) -> str | None:
    heard: list[tuple[int, Any]] = []
    steps = [_Step(number, others, heard) for number, others in ((1, 1), (2, 1), (3, 0), (4, 2))]
    found, trouble = tried(backward, list(steps), 7.0)
    if trouble:
        return trouble
    called = [number for number, _ in heard]
    if called != [4, 3, 2, 1]:
        return f"not yet: of four operations you called, in this order, {called}; the last one comes first"
    if heard != [(4, 7.0), (3, 40.0), (2, 30.0), (1, 20.0)]:
        return "not yet: each operation is given the first gradient that the one after it returned"
    if not isinstance(found, tuple | list):
        return "not yet: return a list of the others, and not the last gradient"
    if not all(isinstance(one, float) for one in found):
        return f"not yet: one flat list, please, and yours holds lists: {found}. `+` joins two lists"
    if list(found) != [11.0, 21.0, 41.0, 42.0]:
        mixed = sorted(found) == [11.0, 21.0, 41.0, 42.0]
        wanted = "in order, those of the first operation first" if mixed else "all the others, nothing else"
        return f"not yet: {wanted}"
    return None


def judge_add(names: dict[str, Any]) -> None:
    """Say whether the notebook's `Add` sums what it has repeated; one that does not is replaced."""
    if told(_add(names["Add"]), "right: whoever was repeated gets a sum, and has its own shape again"):
        return

    class Add:
        def forward(self, x: Any, y: Any) -> Any:
            self.shapes = x.shape, y.shape
            return x + y

        def backward(self, grad: Any) -> Any:
            return tuple(names["sum_to"](grad, shape) for shape in self.shapes)

    names["Add"] = Add
    tell_lent("course's own")


def _add(Add: Any) -> str | None:
    foreign = {"x", "y"}.intersection(getattr(getattr(Add.backward, "__code__", None), "co_names", ()))
    if foreign:
        name = min(foreign)
        return (
            f"not yet: `backward` has no {name} of its own, and takes the one of a cell above. "
            "What it needs, `forward` puts into `self`"
        )
    for one, two in (((5, 3), (3,)), ((4, 1), (3,)), ((2, 2), (2, 2))):
        f = Add()
        result, trouble = tried(f.forward, np.ones(one), np.ones(two))
        if trouble:
            return trouble
        grad = np.arange(float(result.size)).reshape(result.shape)
        found, trouble = tried(f.backward, grad)
        if trouble and "truth value" in trouble:
            return "not yet: sum_to(grad, shape) wants a shape, such as x.shape, and not an array"
        if trouble:
            return trouble
        if not isinstance(found, tuple | list) or len(found) != 2:
            return "not yet: two inputs, so two gradients: return that of x, and that of y"
        for shape, mine in zip((one, two), found):
            if np.shape(mine) != shape:
                return f"not yet: {one} + {two}: the gradient for {shape} has the shape {np.shape(mine)}"
            if not np.allclose(mine, _collected(grad, shape)):
                return f"not yet: {one} + {two}: the gradient for {shape} is not the sum of its shares"
    return None
