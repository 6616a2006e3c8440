"""Gradients as further nodes: there is no tape, since the program itself is there to be read.

Taught in chapters/09b_gradients.ipynb: what it exports is edited there, then `make promote`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minilib.dag import ancestors
from minilib.graph import kinds
from minilib.graph.device import XP
from minilib.graph.nodes import Node, before, by_age, constant, graph_of, make
from minilib.graph.shapes import agree, as_array


def gradients(
    ys: Any, xs: Any, grad_ys: Any = None, name: str = "gradients", stop_gradients: Any = None
) -> list[Any]:
    """The derivatives of the sum of all `ys` with respect to each of `xs`: nodes, or None where none depends.

    `grad_ys` are the gradients of the ys, 1 where there is none; `stop_gradients` count as constants.
    """
    ys, xs, stops = listed(ys), listed(xs), set(listed(() if stop_gradients is None else stop_gradients))
    graph = graph_of("gradients", [*ys, *xs, *stops])
    with graph.as_default():
        start, pending = len(graph.nodes), dict[Node, Node]()
        way = between(ys, xs, stops)
        starts = [None] * len(ys) if grad_ys is None else listed(grad_ys)
        for y, grad in zip(ys, starts, strict=True):
            if y in way:
                accumulate(pending, y, seed(y, grad))
        # Newest first: all that use a node's result are newer, so its gradient is complete by then.
        for node in sorted(way, key=by_age, reverse=True):
            needs = [x in way for x in node.inputs]
            if node in pending and any(needs) and node not in stops:
                for x, need, grad in zip(node.inputs, needs, node.backward(pending[node], needs)):
                    if need and grad is not None:
                        accumulate(pending, x, grad)
        found = [pending.get(x) for x in xs]
        graph.keep(start, [grad for grad in found if grad is not None])
    return found


def between(ys: Sequence[Node], xs: Sequence[Node], stops: set[Node]) -> set[Node]:
    """The nodes on a way from one of xs to one of ys on which gradients flow."""
    if not ys:
        raise ValueError("gradients: there is no node whose gradient it could be")
    leading: set[Node] = {x for x in xs if x.dtype is not None and x.dtype.kind == "f"}
    for node in sorted(ancestors(ys, before), key=by_age):
        if node.requires_grad and node not in stops and any(x in leading for x in node.inputs):
            leading.add(node)
    return leading & ancestors(ys, before)


def accumulate(pending: dict[Node, Node], node: Node, grad: Node) -> None:
    """Add to the gradient of a node, summed over what forward has broadcast."""
    if node.shape is None:
        grad = make(kinds.SumLike(), grad, node)
    elif grad.shape is None or grad.shape != node.shape:
        grad = make(kinds.SumTo(node.shape), grad)
    grad = grad.astype(node.dtype)
    pending[node] = pending[node] + grad if node in pending else grad


def seed(y: Node, grad: Any) -> Node:
    """The gradient of y that the way back begins with."""
    if grad is None:
        return XP.ones_like(y)
    grad = grad if isinstance(grad, Node) else constant(as_array(grad, y.dtype))
    told = f"gradients: grad_ys of shape {grad.shape} for {y.name} of shape {y.shape}"
    agree(y.graph.equations, grad.shape, y.shape, told)
    return grad


def listed(nodes: Any) -> list[Any]:
    """One node, or several, as a list."""
    return list(nodes) if isinstance(nodes, list | tuple) else [nodes]
