"""Loops by the lines that they repeat, and updates in place: what a race on a line may come from."""

from __future__ import annotations

from warplens.analysis.traversal import reachable, walk
from warplens.analysis.writes import roots
from warplens.language.tree import Assign, Deref, Function, Increment, Load, Loop
from warplens.language.types import Scalar

__all__ = ["repeated_lines", "updates_in_place"]

ATOMICS = {"+": "atomicAdd", "&": "atomicAnd", "|": "atomicOr", "^": "atomicXor"}


def repeated_lines(kernel: Function) -> tuple[tuple[int, range], ...]:
    """The line of each loop with the lines that it repeats, the smallest loop first."""
    loops: list[tuple[int, range]] = []
    for function in reachable(kernel):
        for node in walk(function.body):
            if isinstance(node, Loop):
                lines = [n.at.line for n in walk(node.body) if hasattr(n, "at")]
                loops.append((node.at.line, range(min(lines), max(lines) + 1)))
    return tuple(sorted(loops, key=lambda loop: len(loop[1])))


def updates_in_place(kernel: Function) -> dict[int, str]:
    """The lines that do `a[i] += v` and nothing more, with the atomic that does the same, or "" where v is
    made of elements of a."""
    updates: dict[int, list[str | None]] = {}
    for function in reachable(kernel):
        for node in walk(function.body):
            if isinstance(node, Assign | Increment) and isinstance(node.place, Deref):
                updates.setdefault(node.at.line, []).append(_update(node))
    alone = {line: found[0] for line, found in updates.items() if len(found) == 1}
    return {line: update for line, update in alone.items() if update is not None}


def _update(node: Assign | Increment) -> str | None:
    """The atomic for an update in place, "" where there is none; None where nothing is updated."""
    if isinstance(node, Increment):
        op = "+"
    else:
        mine = roots(node.place)
        read = [n.place for n in walk(node.value) if isinstance(n, Load) and isinstance(n.place, Deref)]
        if any(roots(place) & mine for place in read):
            return ""
        op = node.op
    kind = node.place.type
    fits = isinstance(kind, Scalar) and (op == "+" or kind.is_integer)
    return ATOMICS.get(op, "") if op and fits else None
