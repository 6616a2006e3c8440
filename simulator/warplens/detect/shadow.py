"""Shadow memory: who touched each cell of an allocation last, and which accesses of it race.

Two accesses race where their bytes overlap, the threads differ, at least one writes, not both are atomic and
neither happens before the other (`HappensBefore`). A cell is as wide as the accesses that the allocation
has seen, and narrower from the first narrower access on. Of each cell the last plain write is kept, and two
readers and two atomics: from two blocks, else two warps, else two lanes, so that whoever writes next is not
ordered after one of them, if there is one that races with it: a barrier orders all at once.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warplens.detect.happens_before import Bools, HappensBefore, Ints, lane_of
from warplens.report.transactions import alignment

Bytes = NDArray[np.uint8]
Array = NDArray[Any]
KINDS = ("load", "store", "atomic")


@dataclass
class Conflicts:
    """Of each access (n,): the mark of one earlier access that it races with (0: none), what that was (an
    index of `KINDS`), whether both write the same value, and whether nothing but a fence is missing between
    an atomic and this access (`HappensBefore.unfenced`)."""

    marks: Ints
    kinds: NDArray[np.int8]
    same_value: Bools
    unfenced: Bools

    @classmethod
    def none(cls, count: int) -> Conflicts:
        return cls(np.zeros(count, np.int64), np.zeros(count, np.int8), *np.zeros((2, count), bool))

    def add(self, access: Ints, marks: Ints, kind: str, same: Bools | None, unfenced: Bools | None) -> None:
        """Take what races into account: one for each access, and a true race before a harmless one."""
        nothing = np.zeros(len(marks), bool)
        same, unfenced = [nothing if one is None else one for one in (same, unfenced)]
        for harmless in (False, True):
            chosen = (same | unfenced) == harmless
            lesser = (self.same_value | self.unfenced)[access] & (not harmless)
            free = chosen & ((self.marks[access] == 0) | lesser)
            self.marks[access[free]] = marks[free]
            self.kinds[access[free]] = KINDS.index(kind)
            self.same_value[access[free]] = same[free]
            self.unfenced[access[free]] = unfenced[free]


class Shadow:
    """The shadow of `copies` copies of `nbytes` bytes: one of global memory, one per block of shared."""

    def __init__(self, nbytes: int, copies: int, order: HappensBefore, within_block: bool) -> None:
        self.order = order
        self.within_block = within_block
        self.stride = -(-nbytes // 16) * 16
        self.nbytes = self.stride * copies
        self._unit = 0
        self._tables: dict[str, Ints] = {}
        self._values: Bytes | None = None
        self._values_known = True
        self.stands_for_all = False  # one copy, in place of those of all blocks: see `uniform_blocks`

    def copied_out(self, copies: int, lanes: int, values: Bytes) -> None:
        """The one copy that stood for all becomes `copies`; each block has `lanes` more than the one before.
        `values`: what is in them now, where all plain writes were stores."""
        later = np.arange(copies, dtype=np.int64)[:, None] * lanes
        self._tables = {name: (table + later * (table != 0)).ravel() for name, table in self._tables.items()}
        self._values, self.stands_for_all = values, False
        self.nbytes *= copies

    def needs_values(self, positions: Ints, size: int, lanes: Ints, instant: int) -> bool:
        """Whether a store meets another one with which it may race, so that what both write counts."""
        cells, parts = self._cells(positions, size)
        access = np.arange(len(positions))
        if parts > 1:
            access, lanes = np.repeat(access, parts), np.repeat(lanes, parts)
        marks = lanes | (instant << 32)
        step = _Step("store", cells, access, lanes, marks, self.order.epoch[self.order.block_of(lanes)], 0)
        table = self._table("store")
        before = table[cells]
        if len(self._racing(step, before)):
            return True
        table[cells] = marks
        alone = bool((table[cells] == marks).all())
        table[cells] = before
        return not alone

    # ----------------------------------------------------------------------------------------------- accesses

    def access(
        self,
        kind: str,
        positions: Ints,
        size: int,
        lanes: Ints,
        instant: int,
        value: Array | None,
        key: Hashable,
    ) -> Conflicts | None:
        """Record one instruction: `positions` (n,) are bytes in this shadow, `lanes` (n,) lanes of the grid,
        `value` (n, size) the bytes that a store writes. Returns what races, None where nothing does."""
        cells, parts = self._cells(positions, size)
        access = np.arange(len(positions))
        if parts > 1:
            access, lanes = np.repeat(access, parts), np.repeat(lanes, parts)
        marks = lanes | (instant << 32)
        step = _Step(kind, cells, access, lanes, marks, self.order.epoch[self.order.block_of(lanes)], key)
        found = Conflicts.none(len(positions))
        if kind != "load":
            self._meet(step, "load", found)
        if kind != "atomic":
            self._meet(step, "atomic", found)
        self._meet_write(step, found, value, parts)
        if kind != "store":
            self._remember(kind, step)
        return found if found.marks.any() else None

    def _cells(self, positions: Ints, size: int) -> tuple[Ints, int]:
        """The numbers of the cells of each access, one after the other, and how many they are."""
        unit = alignment(size)
        if self._unit == 0:
            self._unit = unit
        if unit < self._unit:
            self._tables = {name: np.repeat(t, self._unit // unit) for name, t in self._tables.items()}
            self._unit = unit
        parts = size // self._unit
        cells = positions // self._unit
        return (cells if parts == 1 else (cells[:, None] + np.arange(parts)).ravel()), parts

    def _table(self, name: str) -> Ints:
        if name not in self._tables:
            self._tables[name] = np.zeros(self.nbytes // self._unit, dtype=np.int64)
        return self._tables[name]

    # ---------------------------------------------------------------------------------------- who came before

    def _racing(self, step: _Step, marks: Ints, atomic: bool = False) -> Ints:
        """Which of the earlier accesses `marks`, one for each cell, race with the step."""
        # Most are ordered by a barrier or are the thread's own; only the rest is looked at closely.
        maybe = marks >= np.maximum(step.epoch, 1) if self.within_block else marks != 0
        if not maybe.any():
            return _NONE
        maybe &= lane_of(marks) != step.lanes
        near = np.flatnonzero(maybe)
        if len(near) == 0:
            return _NONE
        cells = self._keys(step, near) if atomic and self.order.has_fences else None
        return near[self.order.unordered(marks[near], step.lanes[near], cells)]

    def _keys(self, step: _Step, chosen: Ints) -> list[Hashable]:
        """The cells of the step as `HappensBefore` knows them."""
        return [(step.key, cell * self._unit) for cell in step.cells[chosen].tolist()]

    def _unfenced(self, step: _Step, marks: Ints, racing: Ints) -> Bools | None:
        """Which of those that race want nothing but a fence; None where none does."""
        if not self.order.has_learnt:
            return None
        return self.order.unfenced(marks[racing], step.lanes[racing], self._keys(step, racing))

    def _meet(self, step: _Step, kind: str, found: Conflicts) -> None:
        """The step against the readers or the atomics of its cells."""
        for name in (kind, kind + " 2"):
            if name in self._tables:
                marks = self._tables[name][step.cells]
                racing = self._racing(step, marks, kind == "atomic")
                if len(racing):
                    unfenced = self._unfenced(step, marks, racing)
                    found.add(step.access[racing], marks[racing], kind, None, unfenced)

    def _meet_write(self, step: _Step, found: Conflicts, value: Array | None, parts: int) -> None:
        """The step against the last writes of its cells; a store then becomes the last one."""
        writes = step.kind == "store"
        if not writes and "store" not in self._tables:
            return
        table = self._table("store")
        marks = table[step.cells]
        racing = self._racing(step, marks)
        if writes and not self.stands_for_all:
            self._values_known &= value is not None
        if len(racing):
            same = self._same(step, racing, value, parts) if writes else None
            unfenced = self._unfenced(step, marks, racing)
            found.add(step.access[racing], marks[racing], "store", same, unfenced)
        if writes:
            table[step.cells] = step.marks
            if value is not None:
                self._write(step, value, parts)
            winners = table[step.cells]
            others = np.flatnonzero(winners != step.marks)
            if len(others):  # several lanes of this very instruction
                same = self._same(step, others, value, parts)
                found.add(step.access[others], winners[others], "store", same, None)

    def _image(self) -> Bytes:
        if self._values is None:
            self._values = np.zeros(self.nbytes, dtype=np.uint8)
        return self._values

    def _write(self, step: _Step, value: Array, parts: int) -> None:
        pieces = np.ascontiguousarray(value).reshape(len(step.cells), -1)
        if self._unit in _WORDS:
            word = _WORDS[self._unit]
            self._image().view(word)[step.cells] = pieces.view(word)[:, 0]
        else:
            self._image().reshape(-1, self._unit)[step.cells] = pieces

    def _same(self, step: _Step, chosen: Ints, value: Array | None, parts: int) -> Bools:
        """Whether the chosen cells hold just what the step writes there."""
        if value is None or not self._values_known:
            return np.zeros(len(chosen), dtype=bool)
        pieces = np.ascontiguousarray(value).reshape(len(step.cells), -1)[chosen]
        equal: Bools = (self._image().reshape(-1, self._unit)[step.cells[chosen]] == pieces).all(axis=1)
        return equal

    # ---------------------------------------------------------------------------------- two of those who came

    def _remember(self, kind: str, step: _Step) -> None:
        """Keep this load or atomic, if the two that are kept of its cell do not stand for it."""
        first = self._table(kind)
        kept = first[step.cells]
        old = self._old(kept, step)
        if old.all():
            first[step.cells] = step.marks
        else:
            first[step.cells[old]] = step.marks[old]
        kept = first[step.cells]
        others = np.flatnonzero(lane_of(kept ^ step.marks))
        if len(others):
            self._remember_second(kind, step.pick(others), kept[others])

    def _remember_second(self, kind: str, step: _Step, first: Ints) -> None:
        second = self._table(kind + " 2")
        kept = second[step.cells]
        fresh = np.where(self._old(kept, step, first), 0, self._distance(first, kept))
        mine = self._distance(first, step.marks)
        better = mine > fresh
        if better.any():
            for distance in (1, 2, 3):  # the farthest is written last
                chosen = np.flatnonzero(better & (mine == distance))[::-1]  # and of these the lowest lane
                if len(chosen):
                    second[step.cells[chosen]] = step.marks[chosen]

    def _old(self, kept: Ints, step: _Step, first: Ints | None = None) -> Bools:
        """Whether what is kept of a cell can be forgotten: all that it races with, the step races with too
        (or, for the second of a cell, the first one)."""
        if self.within_block:
            old = kept < np.maximum(step.epoch, 1)
        else:
            block = self.order.block_of(lane_of(kept))
            near = self.order.block_of(lane_of(step.marks if first is None else first))
            old = (kept == 0) | ((block == near) & (kept < self.order.epoch[block]))
        if self.order.has_clocks:
            old |= self.order.warp_before(kept, step.lanes)
        return old

    def _distance(self, a: Ints, b: Ints) -> Ints:
        """3: two blocks, 2: two warps, 1: one warp, 0: nobody."""
        apart = lane_of(a ^ b) >> 5 != 0
        distance = 1 + apart
        if not self.within_block and apart.any():
            distance = distance + (self.order.block_of(lane_of(a)) != self.order.block_of(lane_of(b)))
        return np.where(b == 0, 0, distance)


@dataclass
class _Step:
    """One instruction, cell by cell; `access` says which access a cell belongs to."""

    kind: str
    cells: Ints
    access: Ints
    lanes: Ints
    marks: Ints
    epoch: Ints
    key: Hashable

    def pick(self, chosen: Ints) -> _Step:
        return _Step(
            self.kind, self.cells[chosen], self.access[chosen], self.lanes[chosen], self.marks[chosen],
            self.epoch[chosen], self.key,
        )  # fmt: skip


_NONE = np.zeros(0, dtype=np.int64)
_WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def bits(
    value: Array | Sequence[Array] | None, chosen: Array | None, shape: tuple[int, int], size: int
) -> Bytes | None:
    """What the chosen lanes write, as bytes (n, size); None where that is not known."""
    if value is None:
        return None
    parts = [
        np.broadcast_to(np.asarray(part), shape)
        for part in (value if isinstance(value, list | tuple) else [value])
    ]
    if sum(part.dtype.itemsize for part in parts) != size:
        return None
    flat = [part.ravel() if chosen is None else part.ravel()[chosen] for part in parts]
    columns = [np.ascontiguousarray(part).view(np.uint8).reshape(len(part), -1) for part in flat]
    return columns[0] if len(columns) == 1 else np.concatenate(columns, axis=1)
