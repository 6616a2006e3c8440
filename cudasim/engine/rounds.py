"""What the source says of lines whose accesses race: the loops around them, and updates in place."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from cudasim.engine.survey import reachable, walk
from cudasim.language.tree import Assign, Deref, Expression, Function, Increment, Load, Loop, Place

__all__ = ["Rounds", "rounds"]

ATOMICS = {"+": "atomicAdd", "-": "atomicSub", "&": "atomicAnd", "|": "atomicOr", "^": "atomicXor"}
_OF_WHOLE_NUMBERS = "-&|^"


@dataclass(frozen=True)
class Rounds:
    """`loops`: the line of each loop with the lines that it repeats, the smallest first. `updates`: by line,
    the atomic that does what `a[i] += v` does there; "" where the new value is made of other elements too."""

    loops: tuple[tuple[int, range], ...]
    updates: dict[int, str]

    def loop(self, *lines: int) -> int | None:
        """The innermost loop that repeats all of the lines."""
        return next((at for at, inside in self.loops if all(line in inside for line in lines)), None)


@lru_cache(maxsize=256)
def rounds(kernel: Function) -> Rounds:
    loops: list[tuple[int, range]] = []
    updates: dict[int, list[str]] = {}
    for function in reachable(kernel):
        for node in walk(function.body):
            if isinstance(node, Loop):
                lines = [n.at.line for n in walk(node.body) if hasattr(n, "at")]
                loops.append((node.at.line, range(min(lines), max(lines) + 1)))
            elif isinstance(node, Assign | Increment) and isinstance(node.place, Deref):
                updates.setdefault(node.at.line, []).append(_update(node))
    loops.sort(key=lambda loop: len(loop[1]))
    return Rounds(tuple(loops), {line: found[0] for line, found in updates.items() if len(found) == 1})


def _update(node: Assign | Increment) -> str:
    if isinstance(node, Increment):
        op: str = "+"
    else:
        op = "" if any(isinstance(n, Load) and isinstance(n.place, Deref) for n in _reads(node)) else node.op
    whole = node.place.type.is_integer
    return ATOMICS.get(op, "") if whole or op not in _OF_WHOLE_NUMBERS else ""
