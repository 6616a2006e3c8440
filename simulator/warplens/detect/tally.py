"""What each line of the source did, and each array on it: who came, what it cost, which bytes it touched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warplens.detect.accesses import MemoryLike
from warplens.detect.byte_sets import set_bytes
from warplens.detect.geometry import Geometry
from warplens.report.counters import ArrayCounters, Counters, LineCounters, Lines
from warplens.report.transactions import LANES, Bools, Ints, bank_conflicts, requests

_Touched = dict[int, NDArray[np.uint8]]  # a mark for each byte, by the base of the allocation


@dataclass
class Tallied:
    """What is kept of one source line, or of one array on it, beside the counters."""

    counters: Counters
    visits: Ints  # (warps, 32): how often each lane came
    together: int = 0  # how often all lanes of the chunk came, which is not in `visits` yet
    masked: object = None  # rows that came, so many times, and are not in `visits` yet either
    masked_times: int = 0
    shared: dict[str, int] = field(default_factory=dict)
    touched: _Touched = field(default_factory=dict)

    def add(self, other: Tallied) -> None:
        self.counters.add(other.counters)
        self.visits += other.visits
        self.shared |= other.shared
        _join(self.touched, other.touched)

    def finish(self, counters: Counters) -> None:
        """Into `counters`, those that follow from what is kept here."""
        counters.threads = int(np.count_nonzero(self.visits))
        counters.warps = int(self.visits.any(axis=1).sum())
        counters.shared_bytes = sum(self.shared.values())
        counters.unique_bytes = _bytes_of(self.touched)


class Tally:
    """`bytes` (warps, 32): of global memory that each lane touches."""

    def __init__(self, geometry: Geometry) -> None:
        self._geometry = geometry
        self._lines: dict[tuple[int, str, str], Tallied] = {}  # by line, space and array
        self.bytes = geometry.table(np.int64)
        self.shared: dict[int, int] = {}  # the bytes of each array of this chunk
        self._most_shared = 0

    def chunk(self, shared: dict[int, int] | None = None) -> None:
        """Other blocks run, or there are no more: those before have had so much shared memory. `shared`: what
        those that go on have."""
        self._most_shared = max(self._most_shared, sum(self.shared.values()))
        self.shared = shared or {}

    def line(self, line: int, memory: MemoryLike | None = None) -> Tallied:
        key = (line, memory.space, memory.name) if memory is not None else (line, "", "")
        if key not in self._lines:
            counters = Counters()
            if memory is not None:
                shape, item = getattr(memory, "shape", ()), memory.dtype.itemsize
                counters = ArrayCounters(array=memory.name, space=memory.space, shape=shape, item=item)
            self._lines[key] = Tallied(counters, self._geometry.table(np.int32))
        return self._lines[key]

    @property
    def all(self) -> list[Tallied]:
        return list(self._lines.values())

    def steps(self) -> Ints:
        """(warps, 32): how many steps each lane has taken."""
        steps = self._geometry.table(np.int64)
        for kept in self._lines.values():
            steps += kept.visits
        return steps

    # ---------------------------------------------------------------------------------------------- an access

    def count(
        self, here: Tallied, kind: str, memory: MemoryLike, offset: Ints, size: int, active: Bools, at: Ints
    ) -> Ints | None:
        """Count one access; gives the bank conflicts of each warp, of shared memory."""
        counters = here.counters
        self.use(here, memory)
        if kind == "atomic" or memory.space not in ("global", "shared"):
            counters.atomics += len(at) if kind == "atomic" else 0
            return None
        if memory.space == "shared":
            rows = len(active) if len(at) == active.size else int(np.count_nonzero(active.any(axis=1)))
            if kind == "load":
                counters.shared_load_requests += rows
                counters.shared_bytes_read += size * len(at)
            else:
                counters.shared_store_requests += rows
                counters.shared_bytes_written += size * len(at)
            conflicts = self._bank_conflicts(offset, size, active)
            counters.bank_conflicts += int(conflicts.sum())
            return conflicts
        counts = requests(offset, size, active)
        for name, count in zip(("requests", "sectors", "lines", "sectors_ideal"), counts):
            name = f"global_{kind}_{name}"
            setattr(counters, name, getattr(counters, name) + count)
        if kind == "load":
            counters.bytes_read += size * len(at)
        else:
            counters.bytes_written += size * len(at)
        return None

    def use(self, here: Tallied, memory: MemoryLike) -> None:
        """Note that a line uses a memory."""
        if memory.space == "shared":
            here.shared[memory.name] = memory.nbytes
            self.shared[id(memory)] = memory.nbytes

    def touch(self, here: Tallied, kind: str, memory: MemoryLike, at: Ints, size: int) -> None:
        """Keep which bytes of global memory a line loads and stores."""
        if memory.space != "global" or kind == "atomic":
            return
        if memory.base not in here.touched:
            here.touched[memory.base] = np.zeros(-(-memory.nbytes // 16) * 16, dtype=np.uint8)
        set_bytes(here.touched[memory.base], at, size)

    def _bank_conflicts(self, offset: Ints, size: int, active: Bools) -> Ints:
        # Mostly all blocks do the same, and one is enough.
        rows, block = len(offset), self._geometry.per_block
        if rows > block and rows % block == 0 and active.all():
            blocks = offset.reshape(-1, block, LANES)
            if (blocks == blocks[0]).all():
                return np.tile(bank_conflicts(blocks[0], size, active[:block]), rows // block)
        return bank_conflicts(offset, size, active)

    # ------------------------------------------------------------------------------------------- all together

    def sums(self, source_line: Callable[[int], str]) -> dict[str, Any]:
        """Every counter of the launch by its name, its `lines` and its `arrays`, and who did the work."""
        self.chunk()
        lines, arrays, total = Lines(), dict[str, ArrayCounters](), Counters()
        everything, by_array = _Touched(), dict[str, _Touched]()
        for number, group in groupby(sorted(self._lines.items(), key=_number), _number):
            counters = lines[number] = LineCounters(line=number, source=source_line(number))
            whole = Tallied(counters, self._geometry.table(np.int32))
            for _, kept in group:
                one = kept.counters
                if isinstance(one, ArrayCounters) and one.space in ("global", "shared"):
                    kept.finish(one)
                    counters.arrays[one.array] = one
                    empty = ArrayCounters(array=one.array, space=one.space, shape=one.shape, item=one.item)
                    arrays.setdefault(one.array, empty).add(one)
                    _join(by_array.setdefault(one.array, _Touched()), kept.touched)
                whole.add(kept)
            whole.finish(counters)
            self._count_warps(counters, whole.visits)
            _join(everything, whole.touched)
            total.add(counters)
        geometry = self._geometry
        total.threads = geometry.blocks * geometry.threads
        total.warps = geometry.blocks * geometry.per_block
        total.shared_bytes, total.unique_bytes = self._most_shared, _bytes_of(everything)
        for name, one in arrays.items():
            one.unique_bytes, one.threads, one.warps = _bytes_of(by_array[name]), 0, 0
            one.shared_bytes = max(
                line.arrays[name].shared_bytes for line in lines.values() if name in line.arrays
            )
        return {
            **total.totals(), "lines": lines, "arrays": arrays,
            "steps_by_thread": geometry.by_thread(self.steps()),
            "bytes_by_thread": geometry.by_thread(self.bytes),
        }  # fmt: skip

    def _count_warps(self, counters: LineCounters, visits: Ints) -> None:
        """A warp takes as many steps as the lane that comes most often; the other lanes wait meanwhile."""
        most = visits.max(axis=1)
        exists = np.tile(self._geometry.exists.sum(axis=1), self._geometry.blocks)
        counters.warp_steps = int(most.sum())
        counters.idle_steps = int((exists * most).sum()) - int(visits.sum())


def _number(item: tuple[tuple[int, str, str], Tallied]) -> int:
    return item[0][0]


def _join(all_bytes: _Touched, more: _Touched) -> None:
    for base, touched in more.items():
        all_bytes[base] = all_bytes[base] | touched if base in all_bytes else touched


def _bytes_of(touched: _Touched) -> int:
    return sum(int(np.count_nonzero(one)) for one in touched.values())
