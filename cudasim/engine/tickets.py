"""Tickets: atomics that number those who come, as in NVIDIA's reduction by the last block.

unsigned int ticket = atomicInc(&count, gridDim.x);      // its result is compared with a count
if (ticket == gridDim.x - 1) ...

An atomic that decides how long a loop runs is none: there somebody tries for a lock, or waits for a flag.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from cudasim.engine.survey import leaves, reachable, walk
from cudasim.language.tree import (
    Assign,
    Binary,
    Declare,
    Expression,
    Function,
    If,
    Intrinsic,
    Loop,
    Variable,
    VariablePlace,
)

__all__ = ["tickets"]

COMPARES = {"==", "!=", "<", "<=", ">", ">="}
COUNTS = {"atomicAdd", "atomicSub", "atomicInc", "atomicDec"}


@lru_cache(maxsize=256)
def tickets(kernel: Function) -> frozenset[int]:
    """The lines of all tickets, where nothing else is updated atomically."""
    lines: set[int] = set()
    others: set[int] = set()
    for function in reachable(kernel):
        nodes = list(walk(function.body))
        waiting = {id(node) for loop in nodes if isinstance(loop, Loop) for node in _deciding(loop)}
        compared = {id(node) for node in _compared(nodes)}
        for node in nodes:
            if isinstance(node, Intrinsic) and node.name.startswith("atomic"):
                is_ticket = node.name in COUNTS and id(node) in compared - waiting
                (lines if is_ticket else others).add(node.at.line)
    return frozenset(lines - others)


def _deciding(loop: Loop) -> list[Any]:
    """What a loop's tests are made of, and what the variables in them are set to within it."""
    inside = list(walk(loop.body))
    tests = [loop.test] if loop.test is not None else []
    tests += [node.test for node in inside if isinstance(node, If) and leaves(node)]
    return _behind(tests, inside)


def _compared(nodes: list[Any]) -> list[Any]:
    """What is compared for being equal, or for which is larger."""
    return _behind([n for n in nodes if isinstance(n, Binary) and n.op in COMPARES], nodes)


def _behind(todo: list[Any], nodes: list[Any]) -> list[Any]:
    """What some expressions are made of, and what `nodes` set the variables in them to."""
    given: dict[Variable, list[Expression]] = {}
    for node in nodes:
        if isinstance(node, Declare) and isinstance(node.initial, Expression):
            given.setdefault(node.variable, []).append(node.initial)
        elif isinstance(node, Assign) and isinstance(node.place, VariablePlace):
            given.setdefault(node.place.variable, []).append(node.value)
    found: list[Any] = []
    while todo:
        for node in walk(todo.pop()):
            found.append(node)
            if isinstance(node, VariablePlace):
                todo += given.pop(node.variable, [])
    return found
