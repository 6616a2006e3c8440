"""Choices that a run makes: two programs within one, of which it runs the one that a condition picks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minilib.dag import ancestors
from minilib.dims import symbol, symbols_of
from minilib.engine import Array
from minilib.graph import kinds
from minilib.graph.functions import convert_to_tensor, zeros_like
from minilib.graph.gradients import gradients
from minilib.graph.nodes import BACKWARD, Node, assigned_by, before, during
from minilib.graph.session import evaluate

__all__ = ["cond"]


class Cond(kinds.Effect):
    """The result of one of two programs. Its inputs: the condition, and what either reads from outside."""

    requires_grad = True

    def __init__(self, branches: tuple[Node, Node], read: Sequence[Node]) -> None:
        self.branches, self.read = branches, tuple(read)
        inside = _inside(branches)
        self.writes = {v for node in inside for v in assigned_by(node)}
        shapes = [node.known_shape or () for node in (*inside, *read)]
        names = {name for shape in shapes for n in shape for name in symbols_of(n)}
        self.symbols: dict[str, Any] = {name: symbol(name) for name in names}  # in a run: numbers

    def act(self, state: dict[Any, Array], condition: Array, *arrays: Array) -> Array:
        branch = self.branches[0 if condition else 1]
        # A variable that was not fed is read where it stands: a side may assign and read it again.
        given = {x: a for x, a in zip(self.read, arrays) if a is not state.get(x)}
        made = evaluate([branch], given, state, self.symbols)[0]
        return None if made is None else np.array(made)  # our own: memory of what is read has its end here


def cond(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any], name: str = "cond") -> Node:
    """What true_fn() made where `pred` holds, else what false_fn() made; of the two only one is run.

    Each gives one node, both of one shape and dtype. Raises ValueError where they differ.
    """
    condition = convert_to_tensor(pred)
    graph = condition.graph
    if condition.dtype != bool or condition.shape:
        raise TypeError(f"cond: needs one boolean, not {condition.dtype} of shape {condition.shape}")
    made = []
    for function in (true_fn, false_fn):
        inside: list[Node] = []
        with graph.as_default(), during(graph, writing=inside):
            made.append(convert_to_tensor(function()))
        for node in inside:
            node.inside = True
    yes, no = made
    try:
        if yes.dtype != no.dtype or (yes.shape is None) != (no.shape is None):
            raise ValueError
        if yes.shape is not None:
            graph.equations.bind(yes.shape, no.shape)
    except ValueError:
        told = " and ".join(f"{node.dtype} of shape {node.shape}" for node in made)
        raise ValueError(f"cond: both sides make the same kind of array, and not {told}") from None
    read = list(dict.fromkeys(x for node in _inside(made) for x in before(node) if not x.inside))
    read += [node for node in made if not node.inside and all(node is not x for x in read)]
    return Node(graph, Cond((yes, no), read), (condition, *read), yes.shape, yes.dtype, name)


def _inside(branches: Sequence[Node]) -> list[Node]:
    """The nodes of the branches that are no part of the program around them."""
    found = ancestors([b for b in branches if b.inside], lambda node: [x for x in before(node) if x.inside])
    return sorted(found, key=lambda node: node.serial)


def _cond_backward(node: Node, grad: Node, needs: Sequence[bool]) -> tuple[Node | None, ...]:
    """A choice again, for each input: between the gradients of the two sides."""
    condition, *read = node.inputs

    def side(branch: Node, x: Node) -> Callable[[], Node]:
        def gradient() -> Node:
            # What leads from one input to another is outside, and has its turn there.
            (made,) = gradients([branch], [x], [grad], stop_gradients=[one for one in read if one is not x])
            return zeros_like(x) if made is None else made

        return gradient

    yes, no = node.f.branches
    found = [cond(condition, side(yes, x), side(no, x)) if need else None for x, need in zip(read, needs[1:])]
    return (None, *found)


BACKWARD[Cond] = _cond_backward
