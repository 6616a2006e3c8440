"""What the cell below a "Your turn" says of right answers and of wrong ones, and what it lends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from coursekit import turns

GRAD = np.arange(24.0).reshape(2, 3, 4)


def sum_in_one_go(grad: Any, shape: Any) -> Any:
    padded = (1,) * (grad.ndim - len(shape)) + tuple(shape)
    axes = tuple(axis for axis, n in enumerate(padded) if n == 1)
    return grad.sum(axis=axes, keepdims=True).reshape(shape)


def sum_from_the_right(grad: Any, shape: Any) -> Any:
    while grad.ndim > len(shape):
        grad = grad.sum(axis=-1)
    return sum_in_one_go(grad, shape)


def mean_in_one_go(grad: Any, shape: Any) -> Any:
    return sum_in_one_go(grad, shape) / (grad.size / max(1, np.prod(shape)))


def lose_every_axis(grad: Any, shape: Any) -> Any:
    padded = (1,) * (grad.ndim - len(shape)) + tuple(shape)
    return grad.sum(axis=tuple(axis for axis, n in enumerate(padded) if n == 1))


def row_by_row(shape: Any, index: Any, grad: Any) -> Any:
    found = np.zeros(shape)
    for row, share in zip(index, grad):
        found[row] += share
    return found


def last_one_wins(shape: Any, index: Any, grad: Any) -> Any:
    found = np.zeros(shape)
    found[index] = grad
    return found


def all_at_once(shape: Any, index: Any, grad: Any) -> Any:
    found = np.zeros(shape)
    found[index] += grad
    return found


def by_the_rows_number(shape: Any, index: Any, grad: Any) -> Any:
    found = np.zeros(shape)
    for row in index:
        found[row] += grad[row]
    return found


def in_order_of_picking(shape: Any, index: Any, grad: Any) -> Any:
    return grad


def matmul(backward: Any) -> dict[str, Any]:
    def forward(self: Any, x: Any, y: Any) -> Any:
        self.saved = x, y
        return x @ y

    return {"MatMul": type("MatMul", (), {"forward": forward, "backward": backward})}


def nothing(*arguments: Any) -> None: ...


def swapped(self: Any, grad: Any) -> Any:
    return self.saved[0].T @ grad, grad @ self.saved[1].T


def other_product(self: Any, grad: Any) -> Any:
    return self.saved[1].T @ grad, self.saved[0] @ grad


def right_shapes_only(self: Any, grad: Any) -> Any:
    x, y = self.saved
    return np.ones_like(x), np.ones_like(y)


def one_gradient(self: Any, grad: Any) -> Any:
    return grad @ self.saved[1].T


def both_gradients(self: Any, grad: Any) -> Any:
    x, y = self.saved
    return np.einsum("il,jl->ij", grad, y), np.einsum("ij,il->jl", x, grad)


@pytest.mark.parametrize(
    ("judge", "names"),
    [
        (turns.judge_sum_to, {"sum_to": sum_in_one_go}),
        (turns.judge_scatter, {"scatter_add": row_by_row}),
        (turns.judge_matmul, matmul(both_gradients)),
    ],
)
def test_a_right_answer_stays(judge: Any, names: dict[str, Any], capsys: Any) -> None:
    before = dict(names)
    judge(names)
    assert capsys.readouterr().out.startswith("right")
    assert names == before
    if "MatMul" in names:
        assert names["MatMul"].backward is both_gradients


def said(judge: Any, names: dict[str, Any], capsys: Any) -> str:
    judge(names)
    out: str = capsys.readouterr().out
    assert out.startswith("not ")
    return out


def test_each_wrong_sum_is_named_and_replaced(capsys: Any) -> None:
    found = set()
    for wrong in (nothing, sum_from_the_right, mean_in_one_go, lose_every_axis):
        names: dict[str, Any] = {"sum_to": wrong}
        found.add(said(turns.judge_sum_to, names, capsys))
        for shape in ((4,), (3, 1), (2, 1, 4), ()):
            np.testing.assert_array_equal(names["sum_to"](GRAD, shape), sum_in_one_go(GRAD, shape))
    assert len(found) == 4


def test_each_wrong_scatter_is_named_and_replaced(capsys: Any) -> None:
    index, grad = np.array([1, 1, 0]), np.arange(6.0).reshape(3, 2)
    found = []
    for wrong in (nothing, last_one_wins, all_at_once, in_order_of_picking):
        names: dict[str, Any] = {"scatter_add": wrong}
        found.append(said(turns.judge_scatter, names, capsys))
        assert names["scatter_add"]((3, 2), index, grad).tolist() == [[4, 5], [2, 4], [0, 0]]
    assert len(set(found)) == 3 and found[1] == found[2]  # `=` and `+=` lose the same shares


def test_a_row_that_is_looked_up_by_its_number_is_told_so(capsys: Any) -> None:
    names: dict[str, Any] = {"scatter_add": by_the_rows_number}
    assert "three times" in said(turns.judge_scatter, names, capsys)


def test_each_wrong_pair_of_gradients_is_named_and_replaced(capsys: Any) -> None:
    found = set()
    for wrong in (nothing, swapped, other_product, right_shapes_only, one_gradient):
        names = matmul(wrong)
        found.add(said(turns.judge_matmul, names, capsys))
        f, x, y = names["MatMul"](), np.ones((2, 3)), np.arange(6.0).reshape(3, 2)
        f.forward(x, y)
        for got, want in zip(f.backward(np.eye(2)), both_gradients(f, np.eye(2)), strict=True):
            np.testing.assert_array_equal(got, want)
    assert len(found) == 5
    assert any("in the other order" in one for one in found)
    assert any("(2, 4), (2, 3) and (3, 4), and want (2, 3)" in one for one in found)


@pytest.mark.parametrize(
    ("note", "right"),
    [
        (((3,), (20,)), True),
        ([[3], [20]], True),
        (((3,), (5,)), False),  # numbers instead of bytes
        (((3,), (16,)), False),  # a column
        (((3,), (400,)), False),  # outside of the memory
        (((3,), (-20,)), False),
        (((3, 1), (20, 4)), False),
        (20, False),
        (..., False),
    ],
)
def test_a_note_is_read_where_it_stays_inside(note: Any, right: bool, capsys: Any) -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    turns.judge_note(note, x, x.diagonal())
    assert capsys.readouterr().out.startswith("right") == right


def walk(steps: Any, grad: Any) -> Any:
    if not steps:
        return []
    grad, *others = steps[-1].backward(grad)
    return [*walk(steps[:-1], grad), *others]


def forwards(steps: Any, grad: Any) -> Any:
    for f in steps:
        grad, *_ = f.backward(grad)
    return []


def same_for_all(steps: Any, grad: Any) -> Any:
    return [one for f in reversed(steps) for one in f.backward(grad)[1:]]


def last_first(steps: Any, grad: Any) -> Any:
    return walk(steps, grad)[::-1]


def first_gradient(steps: Any, grad: Any) -> Any:
    walk(steps, grad)
    return [grad]


def as_lists(steps: Any, grad: Any) -> Any:
    return [list(one) for one in [walk(steps, grad)]]


def no_list(steps: Any, grad: Any) -> Any:
    walk(steps, grad)
    return grad


def test_a_walk_is_right_in_any_form_and_each_mistake_is_named(capsys: Any) -> None:
    names: dict[str, Any] = {"backward": walk}
    turns.judge_walk(names)
    assert capsys.readouterr().out.startswith("right") and names["backward"] is walk
    found = set()
    for wrong in (nothing, forwards, same_for_all, last_first, first_gradient, as_lists, no_list):
        names = {"backward": wrong}
        found.add(said(turns.judge_walk, names, capsys))
        turns.judge_walk(names)
        assert capsys.readouterr().out.startswith("right")
    assert len(found) == 7


class HastyAdd:
    def forward(self, x: Any, y: Any) -> Any:
        return x + y

    def backward(self, grad: Any) -> Any:
        return grad, grad


class MeanAdd(HastyAdd):
    def forward(self, x: Any, y: Any) -> Any:
        self.shapes = x.shape, y.shape
        return x + y

    def backward(self, grad: Any) -> Any:
        return tuple(mean_in_one_go(grad, shape) for shape in self.shapes)


class OneAdd(MeanAdd):
    def backward(self, grad: Any) -> Any:
        return sum_in_one_go(grad, self.shapes[1])


class TooFewAdd(MeanAdd):
    def backward(self, grad: Any) -> Any:
        return (sum_in_one_go(grad, self.shapes[0]),)


class ArrayAdd(MeanAdd):
    def backward(self, grad: Any) -> Any:
        return tuple(right_sum_to(grad, np.ones(shape)) for shape in self.shapes)


def right_sum_to(grad: Any, shape: Any) -> Any:
    while grad.ndim > len(shape):
        grad = grad.sum(axis=0)
    for axis, n in enumerate(shape):
        if n == 1:
            grad = grad.sum(axis=axis, keepdims=True)
    return grad


class SumAdd(MeanAdd):
    def backward(self, grad: Any) -> Any:
        return tuple(sum_in_one_go(grad, shape) for shape in self.shapes)


def test_an_add_that_reads_names_of_the_notebook_hears_so(capsys: Any) -> None:
    names: dict[str, Any] = {"sum_to": right_sum_to, "y": np.ones((2, 3))}
    exec(
        """class Add:
    def forward(self, x, y):
        return x + y

    def backward(self, grad):
        return grad, sum_to(grad, y.shape)
""",
        names,
    )
    assert "y of its own" in said(turns.judge_add, names, capsys)


def test_an_add_that_does_not_sum_is_replaced(capsys: Any) -> None:
    found = set()
    for wrong in (HastyAdd, MeanAdd, OneAdd, TooFewAdd, ArrayAdd):
        names: dict[str, Any] = {"Add": wrong, "sum_to": sum_in_one_go}
        found.add(said(turns.judge_add, names, capsys))
        turns.judge_add(names)
        assert capsys.readouterr().out.startswith("right")
    assert len(found) == 4
    names = {"Add": SumAdd}
    turns.judge_add(names)
    assert capsys.readouterr().out.startswith("right") and names["Add"] is SumAdd
