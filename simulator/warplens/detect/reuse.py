"""What one block asks of memory, looked at more closely than in a whole launch: it runs alone, once more."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warplens.detect.accesses import MemoryLike
from warplens.detect.recorder import Recorder
from warplens.report import messages
from warplens.report.data import Reuse
from warplens.report.findings import Limit
from warplens.report.transactions import LANES, SECTOR, Bools, Ints, alignment, bank_conflicts

MOST = 1 << 22  # accesses of lanes that are looked at one by one
PADS = (0, 1, 2, 4)  # elements more in each row of a shared array


class ReuseRecorder(Recorder):
    """`reuse()` says by "load" or "atomic", and array, what was asked for; `padded` whether longer rows of a
    shared array would have fewer bank conflicts."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._asked: dict[tuple[str, str], int] = {}
        self._marked: dict[tuple[str, str], NDArray[np.bool_]] = {}
        self._wanted: dict[tuple[str, str], list[Ints]] = {}
        self._room = MOST
        self._conflicts: dict[str, dict[int, int]] = {}

    def access(
        self, line: int, kind: str, memory: MemoryLike, offset: Ints, size: int, active: Bools, warps: Ints,
        value: Any = None, reads: bool = True, polls: bool | None = None,
    ) -> Bools:  # fmt: skip
        allowed = super().access(line, kind, memory, offset, size, active, warps, value, reads, polls)
        if allowed.any():
            at = np.broadcast_to(offset, allowed.shape)
            if memory.space == "global" and kind != "store":
                self._ask(kind, memory, at, size, allowed, warps)
            elif memory.space == "shared" and kind != "atomic":
                self._pad(memory, at, size, allowed)
        return allowed

    def _ask(self, kind: str, memory: MemoryLike, at: Ints, size: int, allowed: Bools, warps: Ints) -> None:
        key = kind, memory.name
        unit = SECTOR if kind == "load" else size
        places, rows = at[allowed] // unit, np.nonzero(allowed)[0]
        if key not in self._marked:
            self._asked[key] = 0
            self._marked[key] = np.zeros(memory.nbytes // unit + 1, dtype=bool)
        once = len(rows) if kind == "atomic" else len(np.unique(rows * (memory.nbytes + 1) + places))
        self._asked[key] += once
        self._marked[key][places] = True
        if self._room > 0:
            lanes = warps[rows] * LANES + np.nonzero(allowed)[1]
            self._wanted.setdefault(key, []).append(lanes * (memory.nbytes + 1) + at[allowed])
            self._room -= len(rows)

    def _pad(self, memory: MemoryLike, at: Ints, size: int, allowed: Bools) -> None:
        shape: tuple[int, ...] = getattr(memory, "shape", None) or ()
        item = memory.dtype.itemsize
        if (
            len(shape) < 2 or math.prod(shape) * item != memory.high - memory.low
        ):  # no rows, or elements of many parts
            return
        row = shape[-1] * item
        counts = self._conflicts.setdefault(memory.name, dict.fromkeys(PADS, 0))
        for more in list(counts):
            if more * item % alignment(size):
                del counts[more]
            else:
                moved = at + (at - memory.low) // row * more * item
                counts[more] += int(bank_conflicts(moved, size, allowed).sum())

    @property
    def limits(self) -> list[Limit]:
        """Whether there were more accesses than are looked at one by one."""
        return [Limit("reuse", messages.REUSE.format(MOST))] if self._room <= 0 else []

    def reuse(self) -> dict[tuple[str, str], Reuse]:
        return {
            key: Reuse(n, int(np.count_nonzero(self._marked[key])), self._again(key))
            for key, n in self._asked.items()
        }

    def padded(self, array: str) -> int:
        """How many elements longer the rows of a shared array should be; 0 where that does not help much."""
        counts = self._conflicts.get(array, {0: 0})
        more = min(counts, key=lambda more: (counts[more], more))
        return more if counts[more] * 2 <= counts[0] else 0

    def _again(self, key: tuple[str, str]) -> float:
        wanted = np.concatenate(self._wanted.get(key) or [np.zeros(0, np.int64)])
        return len(wanted) / max(1, len(np.unique(wanted)))
