"""What the source says of lines whose accesses race: the loops around them, and updates in place."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from warplens.engine.survey import reachable, walk
from warplens.engine.waits import plain_waits
from warplens.engine.writes import roots
from warplens.language.tree import Assign, Deref, Function, Increment, Load, Loop
from warplens.language.types import Scalar

__all__ = ["Rounds", "rounds"]

ATOMICS = {"+": "atomicAdd", "&": "atomicAnd", "|": "atomicOr", "^": "atomicXor"}


@dataclass(frozen=True)
class Rounds:
    """`loops`: the line of each loop with the lines that it repeats, the smallest first. `updates`: lines
    that do `a[i] += v`, with the atomic that does the same, or "" where v is made of elements of a. `waits`:
    lines that read what a loop may wait for, with its line."""

    loops: tuple[tuple[int, range], ...]
    updates: dict[int, str]
    waits: dict[int, int]

    def loop(self, *lines: int) -> int | None:
        """The innermost loop that repeats all of the lines."""
        return next((at for at, inside in self.loops if all(line in inside for line in lines)), None)


@lru_cache(maxsize=256)
def rounds(kernel: Function) -> Rounds:
    loops: list[tuple[int, range]] = []
    updates: dict[int, list[str | None]] = {}
    for function in reachable(kernel):
        for node in walk(function.body):
            if isinstance(node, Loop):
                lines = [n.at.line for n in walk(node.body) if hasattr(n, "at")]
                loops.append((node.at.line, range(min(lines), max(lines) + 1)))
            elif isinstance(node, Assign | Increment) and isinstance(node.place, Deref):
                updates.setdefault(node.at.line, []).append(_update(node))
    loops.sort(key=lambda loop: len(loop[1]))
    alone = {line: found[0] for line, found in updates.items() if len(found) == 1}
    told = {line: update for line, update in alone.items() if update is not None}
    return Rounds(tuple(loops), told, plain_waits(kernel))


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
