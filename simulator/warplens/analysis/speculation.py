"""Speculative reads: the first guess of a loop that tries atomicCAS until it succeeds, a plain read that a
race with atomics does not harm.

int old = *address, assumed;                                  // the guess, as in NVIDIA's programming guide
do { assumed = old; old = atomicCAS(address, assumed, ...); } while (assumed != old);
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from warplens.analysis.traversal import reachable, walk
from warplens.language.tree import (
    Assign,
    Convert,
    Declare,
    Deref,
    Expression,
    Function,
    Increment,
    Intrinsic,
    Literal,
    Load,
    Loop,
    Reinterpret,
    Variable,
    VariablePlace,
)

__all__ = ["speculative_reads"]


def speculative_reads(kernel: Function) -> frozenset[tuple[int, int]]:
    """The lines of each speculative read and of the atomicCAS that checks it.

    A line that reads or writes other memory as well is left out: a finding there may be about that.
    """
    found: dict[int, tuple[int, int]] = {}  # by the node of the read
    busy: list[tuple[int, int]] = []  # the node and the line of all that touches memory
    for function in reachable(kernel):
        nodes = list(walk(function.body))
        for load, line in _read_for_cas(nodes):
            found[id(load)] = load.at.line, line
        for node in nodes:
            if isinstance(node, Load | Assign | Increment) and isinstance(node.place, Deref):
                busy.append((id(node), node.at.line))
    others = {line for node, line in busy if node not in found}
    return frozenset(lines for lines in found.values() if lines[0] not in others)


def _read_for_cas(nodes: list[Any]) -> Iterator[tuple[Load, int]]:
    """Reads whose value an atomicCAS compares with, and its line."""
    given = list(_given(nodes))
    for loop in nodes:
        if not isinstance(loop, Loop) or _ends_at_once(loop):
            continue
        for call in walk(loop):
            if isinstance(call, Intrinsic) and call.name == "atomicCAS":
                for load in _behind(call.arguments[1], given, set()):
                    yield load, call.at.line


def _given(nodes: list[Any]) -> Iterator[tuple[Variable, Expression]]:
    """All that variables are set to."""
    for node in nodes:
        if isinstance(node, Declare) and isinstance(node.initial, Expression):
            yield node.variable, node.initial
        elif isinstance(node, Assign) and isinstance(node.place, VariablePlace) and not node.op:
            yield node.place.variable, node.value


def _behind(
    value: Expression, given: list[tuple[Variable, Expression]], seen: set[Variable]
) -> Iterator[Load]:
    """The reads of memory that a value is, itself or through variables and other views of its bits."""
    while isinstance(value, Convert | Reinterpret | Intrinsic):
        if isinstance(value, Intrinsic):
            if "_as_" not in value.name or len(value.arguments) != 1:
                return
            value = value.arguments[0]  # of __float_as_int and its like
        else:
            value = value.operand
    if not isinstance(value, Load):
        return
    if isinstance(value.place, Deref):
        yield value
    elif isinstance(value.place, VariablePlace) and value.place.variable not in seen:
        seen.add(value.place.variable)
        for variable, what in given:
            if variable is value.place.variable:
                yield from _behind(what, given, seen)


def _ends_at_once(loop: Loop) -> bool:
    return isinstance(loop.test, Literal) and not loop.test.value
