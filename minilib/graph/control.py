"""Choices that a run makes: two programs within one, of which it runs the one that a condition picks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minilib.dag import ancestors
from minilib.dims import symbol, symbols_of
from minilib.engine import Array, Function
from minilib.graph import kinds
from minilib.graph.functions import convert_to_tensor, zeros_like
from minilib.graph.gradients import gradients
from minilib.graph.nodes import BACKWARD, Node, assigned_by, before
from minilib.graph.programs import during
from minilib.graph.session import evaluate, leaves, structured
from minilib.graph.shapes import Shape, agree

__all__ = ["cond"]


class Cond(kinds.Effect):
    """The results of one of two programs. Its inputs: the condition, and what either reads from outside."""

    def __init__(self, branches: Sequence[Sequence[Node]], read: Sequence[Node]) -> None:
        self.branches, self.read = branches, tuple(read)
        inside = _inside([node for branch in branches for node in branch])
        self.writes = {v for node in inside for v in assigned_by(node)}
        lengths = [n for node in (*inside, *read) for n in node.known_shape or ()]
        names = {name for n in lengths for name in symbols_of(n)}
        self.symbols: dict[str, Any] = {name: symbol(name) for name in names}  # in a run: numbers

    def act(self, state: dict[Any, Array], condition: Array, *arrays: Array) -> list[Any]:
        branch = self.branches[0 if condition else 1]
        # A variable that was not fed is read where it stands: a side may assign and read it again.
        given = {x: a for x, a in zip(self.read, arrays) if a is not state.get(x)}
        made = evaluate(branch, given, state, self.symbols)
        return [None if x is None else np.array(x) for x in made]  # our own: what is read has its end here


class Chosen(Function):
    """One of the results of a `Cond`; its inputs are that and all that it reads, to which gradients flow."""

    def __init__(self, branches: Sequence[Node], number: int) -> None:
        self.branches, self.number = branches, number

    def forward(self, results: list[Any], *_: Array) -> Any:
        return results[self.number]


def cond(
    pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any], strict: bool = False,
    name: str | None = None,
) -> Any:  # fmt: skip
    """What true_fn() made where `pred` holds, else what false_fn() made; of the two only one is run.

    Each gives a node, or lists, tuples and dicts of them, both of one structure, shapes and dtypes. A list of
    one is that one, unless `strict`. Raises ValueError where the sides differ.
    """
    condition = convert_to_tensor(pred)
    graph = condition.graph
    if condition.dtype != bool or condition.shape:
        raise TypeError(f"cond: needs one boolean, not {condition.dtype} of shape {condition.shape}")
    sides = []
    for function in (true_fn, false_fn):
        inside: list[Node] = []
        with graph.as_default(), during(graph, writing=inside):
            made = structured(function(), convert_to_tensor)
        alone = not strict and isinstance(made, list | tuple) and len(made) == 1
        sides.append(made[0] if alone else made)
        for node in inside:
            node.inside = True
    first, second = (structured(made, lambda _: ...) for made in sides)
    if first != second:
        told = f"{first} and {second}".replace("Ellipsis", "node")
        raise ValueError(f"cond: both sides give one structure, and not {told}")
    branches = [leaves(made) for made in sides]
    for yes, no in zip(*branches):
        kinds_of = " and ".join(f"{node.dtype} of shape {node.shape}" for node in (yes, no))
        told = f"cond: both sides make the same kind of array, and not {kinds_of}"
        if yes.dtype != no.dtype or (yes.shape is None) != (no.shape is None):
            raise ValueError(told)
        agree(graph.equations, yes.shape, no.shape, told)
    made = [node for branch in branches for node in branch]
    read = dict.fromkeys(x for node in _inside(made) for x in before(node) if not x.inside)
    read |= dict.fromkeys(node for node in made if not node.inside)
    whole = Node(
        graph, Cond(branches, list(read)), (condition, *read), Shape(()), condition.dtype, "cond/run"
    )
    found = (
        Node(graph, Chosen(pair, i), (whole, *whole.inputs), pair[0].shape, pair[0].dtype, name or "cond")
        for i, pair in enumerate(zip(*branches))
    )
    return structured(sides[0], lambda _: next(found))


def _inside(ends: Sequence[Node]) -> list[Node]:
    """The nodes that make these and are no part of the program around them."""
    found = ancestors([b for b in ends if b.inside], lambda node: [x for x in before(node) if x.inside])
    return sorted(found, key=lambda node: node.serial)


def _cond_backward(node: Node, grad: Node, needs: Sequence[bool]) -> tuple[Node | None, ...]:
    """A choice again: between the gradients of the two sides."""
    _, condition, *read = node.inputs
    wanted = [x for x, need in zip(read, needs[2:]) if need]

    def side(branch: Node) -> Callable[[], list[Node]]:
        def gradient() -> list[Node]:
            # What leads from one input to another is outside, and has its turn there.
            made = gradients(branch, wanted, [grad], stop_gradients=read)
            return [zeros_like(x) if one is None else one for x, one in zip(wanted, made)]

        return gradient

    yes, no = map(side, node.f.branches)
    made = iter(cond(condition, yes, no, strict=True))
    return (None, None, *(next(made) if need else None for need in needs[2:]))


BACKWARD[Chosen] = _cond_backward
