"""What the cell below a "Your turn" says of right answers and of wrong ones, and what it lends."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any

import numpy as np
import pytest

from coursekit import turns
from minilib.tensor import Function, Tensor

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


def test_each_wrong_pair_of_gradients_is_named_and_replaced(capsys: Any) -> None:
    found = set()
    for wrong in (nothing, swapped, right_shapes_only, one_gradient):
        names = matmul(wrong)
        found.add(said(turns.judge_matmul, names, capsys))
        f, x, y = names["MatMul"](), np.ones((2, 3)), np.arange(6.0).reshape(3, 2)
        f.forward(x, y)
        for got, want in zip(f.backward(np.eye(2)), both_gradients(f, np.eye(2)), strict=True):
            np.testing.assert_array_equal(got, want)
    assert len(found) == 4


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


def test_a_walk_is_right_in_any_form_and_each_mistake_is_named(capsys: Any) -> None:
    names: dict[str, Any] = {"backward": walk}
    turns.judge_walk(names)
    assert capsys.readouterr().out.startswith("right") and names["backward"] is walk
    found = set()
    for wrong in (nothing, forwards, same_for_all, last_first, first_gradient):
        names = {"backward": wrong}
        found.add(said(turns.judge_walk, names, capsys))
        turns.judge_walk(names)
        assert capsys.readouterr().out.startswith("right")
    assert len(found) == 5


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


class SumAdd(MeanAdd):
    def backward(self, grad: Any) -> Any:
        return tuple(sum_in_one_go(grad, shape) for shape in self.shapes)


def test_an_add_that_does_not_sum_is_replaced(capsys: Any) -> None:
    found = set()
    for wrong in (HastyAdd, MeanAdd):
        names: dict[str, Any] = {"Add": wrong, "sum_to": sum_in_one_go}
        found.add(said(turns.judge_add, names, capsys))
        turns.judge_add(names)
        assert capsys.readouterr().out.startswith("right")
    assert len(found) == 2
    names = {"Add": SumAdd}
    turns.judge_add(names)
    assert capsys.readouterr().out.startswith("right") and names["Add"] is SumAdd


def engine(
    add: str = "grads[node] + dx", to: str = "sum_to(dx, node.shape)", more: str = "f.saved = ()"
) -> Any:
    """An engine, as source with holes: how it adds, how it brings to the shape, what it does besides."""
    source = f"""
def propagate(root, seed):
    grads, queue = {{root: seed}}, [(-root.serial, root)]
    while queue:
        f = heappop(queue)[1]
        dxs = f.backward(grads.pop(f))
        {more}
        for node, dx in zip(f.inputs, dxs if isinstance(dxs, tuple) else (dxs,)):
            if dx is None or not node.requires_grad:
                continue
            dx = {to}
            if node not in grads and isinstance(node, Function):
                heappush(queue, (-node.serial, node))
            grads[node] = {add} if node in grads else dx
    return grads
"""
    names = {
        "heappop": heappop,
        "heappush": heappush,
        "Function": Function,
        "sum_to": sum_in_one_go,
        "np": np,
    }
    exec(source, names)
    return names["propagate"]


def calls_itself(root: Any, seed: Any) -> Any:
    """Right numbers, path by path."""
    found: dict[Any, Any] = {}
    dxs = root.backward(seed)
    for node, dx in zip(root.inputs, dxs if isinstance(dxs, tuple) else (dxs,)):
        if dx is not None and node.requires_grad:
            dx = sum_in_one_go(dx, node.shape)
            below = calls_itself(node, dx) if isinstance(node, Function) else {node: dx}
            for leaf, share in below.items():
                found[leaf] = found[leaf] + share if leaf in found else share
    return found


def test_an_engine_is_judged_by_what_it_does(capsys: Any) -> None:
    mine = engine()
    names: dict[str, Any] = {"propagate": mine}
    turns.judge_engine(names)
    assert capsys.readouterr().out.startswith("right") and names["propagate"] is mine
    wrong = (
        nothing,
        engine(
            add="np.add(grads[node], dx, out=grads[node])",
            to="dx if dx.shape == node.shape else sum_to(dx, node.shape)",
        ),
        engine(add="dx"),
        engine(to="dx"),
        engine(more="pass"),
        calls_itself,
    )
    found = {said(turns.judge_engine, {"propagate": one, "sum_to": sum_in_one_go}, capsys) for one in wrong}
    assert len(found) == len(wrong)


def filling(sentence: str) -> Any:
    names: dict[str, Any] = {"propagate": engine(), "Tensor": Tensor, "np": np}
    exec(
        "def backward(loss):\n"
        "    for leaf, array in propagate(loss.function, np.ones_like(loss.data)).items():\n"
        f"        {sentence}\n",
        names,
    )
    return names


def test_leaves_add_up_in_arrays_of_their_own(capsys: Any) -> None:
    right = "leaf.grad = Tensor(array if leaf.grad is None else leaf.grad.data + array)"
    names = filling(right)
    mine = names["backward"]
    turns.judge_backward_of_leaves(names)
    assert capsys.readouterr().out.startswith("right") and names["backward"] is mine
    shared = "if leaf.grad is None: leaf.grad = Tensor(array)\n        else: leaf.grad.data += array"
    found = set()
    for wrong in ("pass", "leaf.grad = array", "leaf.grad = Tensor(array)", shared):
        names = filling(wrong)
        found.add(said(turns.judge_backward_of_leaves, names, capsys))
        turns.judge_backward_of_leaves(names)
        assert capsys.readouterr().out.startswith("right")
    assert len(found) == 4


@pytest.mark.parametrize(
    ("order", "right"),
    [
        (["e", "tanh", "d", "c", "b"], True),
        (["e", "tanh", "d", "b", "c"], False),
        (["e", "d", "tanh", "c", "b"], False),
        (["e", "tanh", "d", "c"], False),
        (["e", "tanh", "d", "c", "b", "a"], False),
        (..., False),
    ],
)
def test_the_order_is_checked_by_who_has_heard_from_whom(order: Any, right: bool, capsys: Any) -> None:
    turns.judge_order(order)
    assert capsys.readouterr().out.startswith("right") == right
