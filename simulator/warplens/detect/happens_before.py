"""What happens before what: barriers, `__syncwarp`, and fences with atomics.

Each call of `tick` is one instant. A *mark* is an access in one int64: the instant in the upper half, the
lane (warp * 32 + lane, over the whole grid) in the lower; 0 is nobody. An earlier access happens before a
later one

- of the same thread, always;
- of the same block, if a `__syncthreads` came between: its instant lies before the block's *epoch*;
- of the same warp, if `__syncwarp` joined the lanes: its instant lies before what lane l knows of lane k,
  `clocks[warp, l, k]`, and knowledge travels on from lane to lane;
- of any thread, if the writer fenced and then did an atomic, the reader later did an atomic on the same cell
  and then fenced: see `fences`. `__threadfence_block` is a fence between threads of one block.

Atomics of one call are taken in the order of warps and lanes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from warplens.detect.release_acquire import Cell, ReleaseAcquire

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
LANE = 0xFFFFFFFF
_NOBODY = np.zeros(0, np.int64)


def lane_of(marks: Ints) -> Ints:
    return marks & LANE


class HappensBefore:
    def __init__(self, blocks: int, warps_per_block: int) -> None:
        self.blocks, self.warps_per_block = blocks, warps_per_block
        self.lanes_per_block = 32 * warps_per_block
        power = self.lanes_per_block.bit_length() - 1
        self._shift = power if self.lanes_per_block == 1 << power else None  # faster than to divide
        self.now = 1
        self.epoch = np.zeros(blocks, dtype=np.int64)  # a mark: the instant of the last barrier, lane 0
        self._lines = np.zeros(1024, dtype=np.int64)
        self._first_warp, self._chunk_warps = 0, blocks * warps_per_block
        self.clocks: NDArray[np.int32] | None = None  # (warps of the chunk, lane, of lane)
        self._in_grid, self._in_block = [
            ReleaseAcquire(blocks, self.lanes_per_block, within, self._known_by) for within in (False, True)
        ]

    # ------------------------------------------------------------------------------------------------- events

    def chunk(self, first_block: int, blocks: int, clocks: NDArray[np.int32] | None = None) -> None:
        """The blocks that run from now on; `clocks`: theirs, if they have run before."""
        self._first_warp = first_block * self.warps_per_block
        self._chunk_warps = blocks * self.warps_per_block
        self.clocks = clocks

    def tick(self, line: int) -> int:
        """The instant of an access on `line`."""
        now = self.now
        if now == len(self._lines):
            self._lines = np.concatenate([self._lines, np.zeros_like(self._lines)])
        self._lines[now] = line
        self.now += 1
        return now

    def barrier(self, blocks: Ints) -> None:
        """All threads of `blocks` meet."""
        self.epoch[blocks] = self.now << 32
        self._in_grid.barrier(blocks)
        self._in_block.barrier(blocks)

    def syncwarp(self, warps: Ints, joined: Bools) -> None:
        """In each of `warps`, the lanes that are `joined` (warps, 32) meet."""
        if self.clocks is None:
            self.clocks = np.zeros((self._chunk_warps, 32, 32), dtype=np.int32)
        rows, whole = warps - self._first_warp, joined.all(axis=1)
        self.clocks[rows[whole]] = self.now
        if not whole.all():
            rows, part = rows[~whole], joined[~whole]
            known = self.clocks[rows]
            most = np.where(part[:, :, None], known, 0).max(axis=1)  # (warps, of lane)
            most[part] = self.now
            self.clocks[rows] = np.where(part[:, :, None], most[:, None, :], known)
        self._in_grid.syncwarp(warps, joined)
        self._in_block.syncwarp(warps, joined)

    def fence(self, lanes: Ints, within_block: bool = False) -> None:
        """Each of `lanes` (of the grid) executes `__threadfence`, or `__threadfence_block`."""
        now, epoch = self.tick(0), self.epoch[self.block_of(lanes)] >> 32
        for fences in (self._in_block,) if within_block else (self._in_block, self._in_grid):
            fences.fence(lanes, now, epoch)

    def atomic(
        self, instant: int, lanes: Ints, cells: Sequence[Cell], reads: bool = True, writes: bool = True,
        ticket: bool = True,
    ) -> None:  # fmt: skip
        """Each of `lanes` executes an atomic on its cell, one after the other: `ticket`, if its result is
        only compared with a count."""
        self._in_grid.atomic(instant, lanes, cells, reads, writes, ticket)
        self._in_block.atomic(instant, lanes, cells, reads, writes, ticket)

    def _known_by(self, lane: int) -> NDArray[np.int32] | None:
        """What a lane knows of each lane of its warp by `__syncwarp`; None where nobody has met."""
        return None if self.clocks is None else self.clocks[lane // 32 - self._first_warp, lane % 32]

    # -------------------------------------------------------------------------------------------------- asked

    def line(self, marks: Ints) -> Ints:
        """The source lines of accesses."""
        lines: Ints = self._lines[marks >> 32]
        return lines

    def block_of(self, lanes: Ints) -> Ints:
        return lanes >> self._shift if self._shift is not None else lanes // self.lanes_per_block

    @property
    def has_fences(self) -> bool:
        return self._in_block.active

    @property
    def has_clocks(self) -> bool:
        return self.clocks is not None

    def warp_before(self, marks: Ints, lanes: Ints) -> Bools:
        """Whether accesses happened before `lanes` now, as far as one warp or one thread decides it."""
        others = lane_of(marks)
        before: Bools = (others == lanes) & (marks != 0)
        if self.clocks is not None:
            same = (others >> 5 == lanes >> 5) & (marks != 0)
            mine = lanes[same]
            known = self.clocks[(mine >> 5) - self._first_warp, mine & 31, others[same] & 31]
            before[same] |= (marks[same] >> 32) < known
        return before

    def unordered(self, marks: Ints, lanes: Ints, atomics: list[Cell] | None = None) -> Bools:
        """Whether each of `marks` is an access by another thread that did not happen before its lane now.

        `atomics`: the cell of each, where the accesses are atomics.
        """
        others = lane_of(marks)
        blocks = self.block_of(lanes)
        same_block = self.block_of(others) == blocks
        open_: Bools = (marks != 0) & ~self.warp_before(marks, lanes)
        open_ &= ~(same_block & (marks < self.epoch[blocks]))
        if self.has_learnt and open_.any():
            near = np.flatnonzero(open_)
            cells = [atomics[i] for i in near] if atomics is not None else None
            open_[near] = ~self._published(marks[near], lanes[near], cells)
        return open_

    def unfenced(self, marks: Ints, lanes: Ints, cells: list[Cell]) -> Bools:
        """Whether accesses that are unordered would have happened before `lanes` now, had these fenced after
        the tickets by which they know of them. `cells` are those that the lanes access."""
        return self._published(marks, lanes, cells, tickets=True)

    def _published(
        self, marks: Ints, lanes: Ints, atomics: list[Cell] | None, tickets: bool = False
    ) -> Bools:
        """Whether accesses happened before `lanes` now, by fences and atomics; `tickets`: even if a fence of
        their own behind a ticket is missing."""
        result = np.zeros(len(marks), dtype=bool)
        others, instants = lane_of(marks), marks >> 32
        same_block = self.block_of(others) == self.block_of(lanes)
        for fences in (self._in_block, self._in_grid):
            asked = np.flatnonzero(same_block == fences.within_block) if fences.has_learnt else _NOBODY
            if len(asked):
                cells = [atomics[i] for i in asked] if atomics is not None else None
                result[asked] = fences.published(lanes[asked], others[asked], instants[asked], cells, tickets)
        return result

    @property
    def relied_on_merged(self) -> bool:
        """Whether something counts as ordered, maybe only because releases were merged."""
        return self._in_block.relied_on_merged or self._in_grid.relied_on_merged

    @property
    def has_learnt(self) -> bool:
        """Whether any thread knows of another one by an atomic."""
        return self._in_block.has_learnt or self._in_grid.has_learnt
