"""Tickets: atomics that number those who come, as in NVIDIA's reduction by the last block.

unsigned int ticket = atomicInc(&count, gridDim.x);      // its result is compared with a count
if (ticket == gridDim.x - 1) ...

An atomic that decides how long a loop runs is none: there somebody tries for a lock, or waits for a flag.
"""

from __future__ import annotations

from typing import Any

from warplens.analysis.data_flow import backward_slice, termination_slice
from warplens.analysis.traversal import reachable, walk
from warplens.language.tree import (
    Binary,
    Function,
    Intrinsic,
    Loop,
)

__all__ = ["ticket_lines"]

COMPARES = {"==", "!=", "<", "<=", ">", ">="}
COUNTS = {"atomicAdd", "atomicSub", "atomicInc", "atomicDec"}


def ticket_lines(kernel: Function) -> frozenset[int]:
    """The lines of all tickets, where nothing else is updated atomically."""
    lines: set[int] = set()
    others: set[int] = set()
    for function in reachable(kernel):
        nodes = list(walk(function.body))
        waiting = {id(node) for loop in nodes if isinstance(loop, Loop) for node in termination_slice(loop)}
        compared = {id(node) for node in _compared(nodes)}
        for node in nodes:
            if isinstance(node, Intrinsic) and node.name.startswith("atomic"):
                is_ticket = node.name in COUNTS and id(node) in compared - waiting
                (lines if is_ticket else others).add(node.at.line)
    return frozenset(lines - others)


def _compared(nodes: list[Any]) -> list[Any]:
    """What is compared for being equal, or for which is larger."""
    return backward_slice([n for n in nodes if isinstance(n, Binary) and n.op in COMPARES], nodes)
