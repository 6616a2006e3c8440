"""Loops that wait for another thread: for a flag that it sets, a lock that it gives back, a count that grows.

while (*(volatile int*)flag == 0);                  // a volatile load decides when it ends
while (atomicCAS(lock, 0, 1) != 0);                 // an atomic that would do the same each time

A loop that tries to change a cell from what it has just read, or that takes the next piece of work by adding
to a counter, waits for nobody: each iteration brings one thread forward.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from warplens.analysis.data_flow import backward_slice, sets_variable, termination_slice
from warplens.analysis.traversal import BARRIERS, reachable, walk
from warplens.language.tree import (
    Assign,
    Call,
    Decay,
    Deref,
    Expression,
    Function,
    Increment,
    Intrinsic,
    Literal,
    Load,
    Loop,
    MemberPlace,
    Place,
    PointerAdd,
    VariablePlace,
)

__all__ = ["SpinWaits", "hoistable_loads", "spin_waits", "unmarked_waits"]

ADDS = ("atomicAdd", "atomicSub", "atomicInc", "atomicDec")


@dataclass(frozen=True)
class SpinWaits:
    """`loops` (by `id`) in which a thread may wait, `functions` with such a loop in them or in what they
    call: none where no loop waits. `polls`: the places (by `id`) whose volatile loads decide about the end of
    a loop."""

    loops: frozenset[int]
    functions: frozenset[Function]
    polls: frozenset[int]

    def __bool__(self) -> bool:
        return bool(self.loops)


def spin_waits(kernel: Function) -> SpinWaits:
    """The loops of a kernel, and of all that it calls, in which a thread waits for another one."""
    loops: set[int] = set()
    holders: set[Function] = set()
    polls: set[int] = set()
    found = False
    for function in reachable(kernel):
        for loop in walk(function.body):
            if not isinstance(loop, Loop):
                continue
            inside, asked = list(_with_calls(walk(loop))), list(_with_calls(termination_slice(loop)))
            polls |= {id(n.place) for n in asked if _is_volatile(n)}
            found |= _is_wait(asked, inside)
            if any(_is_volatile(n) or _is_atomic(n) for n in inside):
                loops.add(id(loop))
                holders.add(function)
    if not found:
        return SpinWaits(frozenset(), frozenset(), frozenset(polls))
    callers = [f for f in reachable(kernel) if not holders.isdisjoint(reachable(f))]
    return SpinWaits(frozenset(loops), frozenset(callers), frozenset(polls))


def hoistable_loads(loop: Loop) -> list[Load]:
    """What the end of a loop hangs on in memory, and a compiler may read before it, once."""
    loads = [n for n in _with_calls(termination_slice(loop)) if isinstance(n, Load) and not n.place.volatile]
    return [n for n in loads if _is_memory(_root(n.place))]


def unmarked_waits(kernel: Function) -> dict[int, int]:
    """The lines of loads on which the end of a loop hangs, with its line, where it neither changes memory,
    nor polls, nor reads elsewhere in the next iteration: a wait that no atomic or volatile marks."""
    found: dict[int, int] = {}
    for function in reachable(kernel):
        for loop in walk(function.body):
            if isinstance(loop, Loop) and (loads := hoistable_loads(loop)):
                inside = list(_with_calls(walk(loop)))
                if any(_is_volatile(n) or _is_atomic(n) for n in inside):
                    continue
                changed = {n.place.variable for n in inside if sets_variable(n)}
                if any(_stores(n) or (isinstance(n, Intrinsic) and n.name in BARRIERS) for n in inside):
                    continue
                for load in loads:
                    if changed.isdisjoint(n.variable for n in walk(load) if isinstance(n, VariablePlace)):
                        found[load.at.line] = loop.at.line
    return found


def _is_wait(asked: list[Any], inside: list[Any]) -> bool:
    """Whether the end of a loop hangs on what others do: `asked` is what decides about it."""
    if any(_is_volatile(n) for n in asked):
        return True
    if any(_stores(n) for n in inside):
        return False
    return any(_is_atomic(n) and _same_each_time(n, inside) for n in asked)


def _same_each_time(node: Intrinsic, inside: list[Any]) -> bool:
    """Whether an atomic of a loop does the same in each round, and not what would bring it forward."""
    values = node.arguments[1:]
    if node.name in ADDS and not (isinstance(values[0], Literal) and values[0].value == 0):
        return any(_undoes(n, node) for n in inside)
    changed = {n.place.variable for n in inside if sets_variable(n)}
    for n in backward_slice(list(values), inside):
        if isinstance(n, Load) and not isinstance(_root(n.place), VariablePlace):
            return False
        if isinstance(n, Intrinsic | Call) or (isinstance(n, VariablePlace) and n.variable in changed):
            return False
    return True


def _undoes(node: Any, other: Intrinsic) -> bool:
    """Whether an atomic may take back what another one does, as where a semaphore is tried."""
    if not (isinstance(node, Intrinsic) and node.name in ADDS and node is not other):
        return False
    return _names(node.arguments[0]) == _names(other.arguments[0])


def _names(pointer: Expression) -> list[Any]:
    kinds = {VariablePlace: "variable", Literal: "value", MemberPlace: "field"}
    return [getattr(n, kinds[type(n)]) for n in walk(pointer) if type(n) in kinds]


def _stores(node: Any) -> bool:
    return isinstance(node, Assign | Increment) and not isinstance(_root(node.place), VariablePlace)


def _root(place: Place) -> Place:
    while isinstance(place, MemberPlace):
        place = place.record
    return place


def _is_volatile(node: Any) -> bool:
    """Whether it is a load that others may meet."""
    return isinstance(node, Load) and node.place.volatile and _is_memory(_root(node.place))


def _is_memory(place: Place) -> bool:
    """Whether other threads may touch a place."""
    while isinstance(place, Deref) and isinstance(place.pointer, PointerAdd | Decay):
        pointer: Expression = place.pointer
        while isinstance(pointer, PointerAdd):
            pointer = pointer.pointer
        if not isinstance(pointer, Decay):
            return True
        place = _root(pointer.place)
    if isinstance(place, VariablePlace):
        return place.variable.storage in ("shared", "dynamic", "device")
    return isinstance(place, Deref)


def _is_atomic(node: Any) -> bool:
    return isinstance(node, Intrinsic) and node.name.startswith("atomic")


def _with_calls(nodes: Iterable[Any]) -> Iterator[Any]:
    """Some nodes, and those of the functions that are called there."""
    seen: set[Function] = set()
    for n in nodes:
        yield n
        if isinstance(n, Call):
            for function in reachable(n.function):
                if function not in seen:
                    seen.add(function)
                    yield from walk(function.body)
