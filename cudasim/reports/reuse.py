"""How often one block asks for the same bytes of global memory: a recorder of a block that runs alone."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cudasim.reports.counters import LANES, Bools, Ints
from cudasim.reports.marks import set_bytes
from cudasim.reports.memories import MemoryLike
from cudasim.reports.recorder import Recorder

__all__ = ["Reuse", "ReuseRecorder"]

MOST = 1 << 22  # accesses of lanes that are looked at one by one


class Reuse(NamedTuple):
    """Of an array, by loads or by atomics: the bytes that a block asks for, and how many are different.

    Lanes of a warp that load the same bytes in one access ask once; each atomic asks.
    """

    asked: int
    different: int
    by_itself: bool  # a thread mostly asks again for what it has loaded itself


class ReuseRecorder(Recorder):
    """`reuse()` says by "load" or "atomic", and array, what was asked for."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._asked: dict[tuple[str, str], int] = {}
        self._marked: dict[tuple[str, str], NDArray[np.uint8]] = {}
        self._wanted: dict[tuple[str, str], list[Ints]] = {}
        self._room = MOST

    def access(
        self, line: int, kind: str, memory: MemoryLike, offset: Ints, size: int, active: Bools, warps: Ints,
        value: Any = None, reads: bool = True,
    ) -> Bools:  # fmt: skip
        allowed = super().access(line, kind, memory, offset, size, active, warps, value, reads)
        if memory.space != "global" or kind == "store" or not allowed.any():
            return allowed
        at = np.broadcast_to(offset, allowed.shape)
        key = kind, memory.name
        if key not in self._marked:
            self._asked[key] = 0
            self._marked[key] = np.zeros(-(-memory.nbytes // 16) * 16, dtype=np.uint8)
        rows = np.nonzero(allowed)[0]
        asked = len(rows) if kind == "atomic" else len(np.unique(rows * (memory.nbytes + 1) + at[allowed]))
        self._asked[key] += size * asked
        set_bytes(self._marked[key], at[allowed], size)
        if self._room > 0:
            lanes = warps[rows] * LANES + np.nonzero(allowed)[1]
            self._wanted.setdefault(key, []).append(lanes * (memory.nbytes + 1) + at[allowed])
            self._room -= len(rows)
        return allowed

    def reuse(self) -> dict[tuple[str, str], Reuse]:
        return {
            key: Reuse(n, int(np.count_nonzero(self._marked[key])), self._again(key))
            for key, n in self._asked.items()
        }

    def _again(self, key: tuple[str, str]) -> bool:
        wanted = np.concatenate(self._wanted.get(key) or [np.zeros(0, np.int64)])
        return len(wanted) >= 2 * len(np.unique(wanted)) > 0
