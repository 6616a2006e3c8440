"""Writes in place through views, aliases and buffers: values, gradients and refusals are PyTorch's."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from minilib import tensor as lib
from parity.peer import torch

Program = Callable[[Any, Any, Any], Any]


def t(library: Any, data: Any, grad: bool = False) -> Any:
    dtype = torch.float64 if library is torch else np.float64
    return library.tensor(data, dtype=dtype, requires_grad=grad)


def run(library: Any, program: Program) -> Any:
    """What the program makes, and the gradients of its two leaves; "refused" where it raises."""
    x = t(library, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], grad=True)
    w = t(library, [0.5, -1.0, 2.0], grad=True)
    try:
        out = program(library, x, w)
        weights = t(library, np.arange(1.0, 1 + out.shape.numel() if library is torch else 1 + out.numel()))
        (out * out * weights.reshape(tuple(out.shape))).sum().backward()
    except RuntimeError:
        return "refused"
    return [None if a is None else a.detach().numpy().tolist() for a in (out, x.grad, w.grad)]


def put(x: Any, index: Any, value: Any) -> Any:
    x[index] = value
    return x


def view_of_a_buffer(L: Any, x: Any, w: Any) -> Any:
    buffer = t(L, [[0.0] * 3] * 2)
    view = buffer.view(3, 2)
    buffer[0] = w
    return view


def views_of_one_buffer(L: Any, x: Any, w: Any) -> Any:
    buffer = t(L, [[0.0] * 3] * 2)
    first, second = buffer[0], buffer.T
    first += w
    return L.cat([buffer, second.T * 3])


def written_through_a_view_of_a_view(L: Any, x: Any, w: Any) -> Any:
    y = x * 2
    view = y.T[1:].reshape(2, 2)
    view[1] = w[:2]
    return y


def every_row(L: Any, x: Any, w: Any) -> Any:
    y = x * 1
    for i in range(2):
        y[i] *= w
    return y


def older_view(L: Any, x: Any, w: Any) -> Any:
    y = x * 1
    view = y[1]
    y[1] = w * w
    return view * 2


def older_view_changed_too(L: Any, x: Any, w: Any) -> Any:
    y = x * 1
    first, all = y[0], y.view(6)
    all *= 2
    first += w
    return L.cat([all, first])


def columns_first(L: Any, x: Any, w: Any) -> Any:
    y = (x * 1).T.contiguous().T  # its memory lies column by column
    flat = y.T.view(6)
    flat[1:5] *= w[0]
    return y


def by_mask_in_a_view(L: Any, x: Any, w: Any) -> Any:
    y = x * 1
    y[1][L.tensor([True, False, True])] = w[:2]
    return y


def by_index_in_a_view(L: Any, x: Any, w: Any) -> Any:
    y = x * 1
    y.T[L.tensor([2, 0])] = w[:2]
    return y


def retained(L: Any, x: Any, w: Any) -> Any:
    y = x * 2
    y.retain_grad()
    y *= w
    (y * y).sum().backward(retain_graph=True)
    return y.grad + y


def retained_view(L: Any, x: Any, w: Any) -> Any:
    y = x * 2
    view = y[1]
    view.retain_grad()
    y *= 3
    (view * view).sum().backward(retain_graph=True)
    return view.grad + view


def linear(L: Any, x: Any, w: Any) -> Any:
    y = x.reshape(1, 2, 3) @ w.reshape(3, 1).expand(3, 3)
    y += x
    return y


def detached(L: Any, x: Any, w: Any) -> Any:
    y = x * 1
    copy = y.detach()
    copy[0] = w
    return y


def without_gradients(change: Callable[[Any, Any], Any], made: bool, changed: bool) -> Program:
    """A view that is made, or changed, within no_grad."""

    def program(L: Any, x: Any, w: Any) -> Any:
        y = x * 1
        with L.set_grad_enabled(not made):
            view = y[0]
        with L.set_grad_enabled(not changed):
            change(view, w)
        return y

    return program


def used_later(L: Any, x: Any, w: Any) -> Any:
    y = x * 1
    with L.no_grad():
        view = y[0]
    y *= 2
    return view + w


PROGRAMS: dict[str, Program] = {
    "a view of a buffer": view_of_a_buffer,
    "views of one buffer": views_of_one_buffer,
    "through a view of a view": written_through_a_view_of_a_view,
    "row by row": every_row,
    "an older view": older_view,
    "an older view, changed": older_view_changed_too,
    "column by column": columns_first,
    "a mask in a view": by_mask_in_a_view,
    "an index in a view": by_index_in_a_view,
    "retained": retained,
    "retained view": retained_view,
    "a result in another shape": linear,
    "detached": detached,
    "y[0] += 1": lambda L, x, w: put(y := x * 1, 0, operator.iadd(y[0], 1)) * w,
    "y[0, 1] *= w[0]": lambda L, x, w: put(y := x * 1, (0, 1), operator.imul(y[0, 1], w[0])) * w,
    "a view of a leaf": lambda L, x, w: operator.iadd(x[0], w),
    "an expanded view": lambda L, x, w: operator.iadd((w * 1).expand(2, 3), x),
    "made without": without_gradients(operator.imul, made=True, changed=False),
    "changed without": without_gradients(lambda v, w: v.fill_(3), made=False, changed=True),
    "both without": without_gradients(lambda v, w: v.fill_(3), made=True, changed=True),
    "made without, used later": used_later,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_views_and_their_base_share_one_history(name: str) -> None:
    assert run(lib, PROGRAMS[name]) == run(torch, PROGRAMS[name])
