"""What happens before what: barriers, `__syncwarp`, and fences with atomics between blocks.

Each call of `tick` is one instant. A *mark* is an access in one int64: the instant in the upper half, the
lane (warp * 32 + lane, over the whole grid) in the lower; 0 is nobody. An earlier access happens before a
later one

- of the same thread, always;
- of the same block, if a `__syncthreads` came between: its instant lies before the block's *epoch*;
- of the same warp, if `__syncwarp` joined the lanes: its instant lies before what lane l knows of lane k,
  `clocks[warp, l, k]`, and knowledge travels on from lane to lane;
- of another block, if the writer fenced and then did an atomic, the reader later did an atomic on the same
  cell and then fenced. `__syncthreads` and `__syncwarp` pass all this on inside a block.

Atomics of one call are taken in the order of warps and lanes.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["Order", "lane_of"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
LANE = 0xFFFFFFFF
Cell = Hashable
Known = dict[Cell, int]  # of each cell, how many of its releases are known


def lane_of(marks: Ints) -> Ints:
    return marks & LANE


@dataclass
class _Release:
    """An atomic by a thread that had fenced: of the lanes from `first` on, all accesses before `until`."""

    first: int
    until: Ints
    atomics: dict[int, int]  # by lane: when


@dataclass
class _Releases:
    """The atomics on one cell by threads that had fenced before: which accesses each of them publishes."""

    entries: list[_Release] = field(default_factory=list)
    by_block: dict[int, list[_Release]] = field(default_factory=dict)
    seen: dict[int, tuple[Ints, Ints]] = field(default_factory=dict)
    EACH = 4  # releases of one block that are told apart; more count as one, so that a race may be missed

    def full(self, block: int) -> bool:
        return len(self.by_block.get(block, ())) == self.EACH

    def add(self, block: int, release: _Release) -> None:
        self.entries.append(release)
        self.by_block.setdefault(block, []).append(release)

    def until(self, count: int, lanes: int) -> tuple[Ints, Ints]:
        """By lane of the grid, before which instant the first `count` releases publish all its accesses, and
        all its atomics on this cell."""
        if count not in self.seen:
            accesses, atomics = np.zeros(lanes, np.int64), np.zeros(lanes, np.int64)
            for release in self.entries[:count]:
                mine = slice(release.first, release.first + len(release.until))
                accesses[mine] = np.maximum(accesses[mine], release.until)
                for lane, instant in release.atomics.items():
                    atomics[lane] = instant + 1
            self.seen = {count: (accesses, atomics)}
        return self.seen[count]


@dataclass
class _Acquired:
    """What one block has learnt from others, by its threads' atomics (-1: by every thread, after a barrier).
    It counts once the thread has fenced."""

    pending: dict[int, Known] = field(default_factory=dict)
    certain: dict[int, Known] = field(default_factory=dict)

    def share(self, lanes: list[int], to: list[int]) -> None:
        """What any of `lanes` knows, each of `to` knows as well."""
        for table in (self.pending, self.certain):
            known: Known = {}
            for lane in lanes:
                _add(known, table.get(lane, {}))
            if known:
                for lane in to:
                    _add(table.setdefault(lane, {}), known)

    def fence(self, lane: int) -> None:
        for key in (lane, -1):
            if key in self.pending:
                _add(self.certain.setdefault(lane, {}), self.pending[key])


def _add(known: Known, more: Known) -> None:
    for cell, count in more.items():
        known[cell] = max(count, known.get(cell, 0))


class Order:
    def __init__(self, blocks: int, warps_per_block: int) -> None:
        self.blocks, self.warps_per_block = blocks, warps_per_block
        self.lanes_per_block = 32 * warps_per_block
        power = self.lanes_per_block.bit_length() - 1
        self._shift = power if self.lanes_per_block == 1 << power else None  # faster than to divide
        self.now = 1
        self.epoch = np.zeros(blocks, dtype=np.int64)  # a mark: the instant of the last barrier, lane 0
        self._lines = np.zeros(1024, dtype=np.int64)
        self._first_warp, self._chunk_warps = 0, blocks * warps_per_block
        self._clocks: NDArray[np.int32] | None = None  # (warps of the chunk, lane, of lane)
        self._fenced: Ints | None = None  # by lane of the grid: the instant of its last fence
        self._settled = self._fence_epoch = np.zeros(0, np.int64)
        self._fence_clocks: dict[int, Ints] = {}
        self._releases: dict[Cell, _Releases] = {}
        self._acquired: dict[int, _Acquired] = {}

    # ------------------------------------------------------------------------------------------------- events

    def chunk(self, first_block: int, blocks: int) -> None:
        """The blocks that run from now on; those before have ended."""
        self._first_warp = first_block * self.warps_per_block
        self._chunk_warps = blocks * self.warps_per_block
        self._clocks = None

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
        if self._fenced is not None:
            lanes = blocks[:, None] * self.lanes_per_block + np.arange(self.lanes_per_block)
            before = self._fence_epoch[lanes].max(axis=1, keepdims=True)
            self._settled[lanes] = np.maximum(self._settled[lanes], np.maximum(self._fenced[lanes], before))
            meeting = set(blocks.tolist()) if self._fence_clocks else set()
            for lane in [lane for lane in self._fence_clocks if lane // self.lanes_per_block in meeting]:
                warp = slice(lane // 32 * 32, lane // 32 * 32 + 32)
                self._settled[warp] = np.maximum(self._settled[warp], self._fence_clocks.pop(lane))
        for block in blocks.tolist() if self._acquired else ():
            if block in self._acquired:
                acquired = self._acquired[block]
                acquired.share([*{*acquired.pending, *acquired.certain}], [-1])

    def syncwarp(self, warps: Ints, joined: Bools) -> None:
        """In each of `warps`, the lanes that are `joined` (warps, 32) meet."""
        if self._clocks is None:
            self._clocks = np.zeros((self._chunk_warps, 32, 32), dtype=np.int32)
        rows, whole = warps - self._first_warp, joined.all(axis=1)
        self._clocks[rows[whole]] = self.now
        if not whole.all():
            rows, part = rows[~whole], joined[~whole]
            known = self._clocks[rows]
            most = np.where(part[:, :, None], known, 0).max(axis=1)  # (warps, of lane)
            most[part] = self.now
            self._clocks[rows] = np.where(part[:, :, None], most[:, None, :], known)
        for warp, lanes in zip(warps.tolist(), joined) if self._acquired else ():
            if (acquired := self._acquired.get(warp // self.warps_per_block)) is not None:
                together = (warp * 32 + np.flatnonzero(lanes)).tolist()
                acquired.share(together, together)

    def fence(self, lanes: Ints) -> None:
        """Each of `lanes` (of the grid) executes `__threadfence`."""
        if self._fenced is None:
            self._fenced, self._settled, self._fence_epoch = np.zeros(
                (3, self.blocks * self.lanes_per_block), dtype=np.int64
            )
        self._fenced[lanes] = self.tick(0)
        self._fence_epoch[lanes] = self.epoch[lanes // self.lanes_per_block] >> 32
        if self._clocks is not None:
            for lane in lanes.tolist():
                self._fence_clocks[lane] = self._clocks[lane // 32 - self._first_warp, lane % 32].astype(
                    np.int64
                )
        for lane in lanes.tolist() if self._acquired else ():
            if (acquired := self._acquired.get(lane // self.lanes_per_block)) is not None:
                acquired.fence(lane)

    def atomic(self, instant: int, lanes: Ints, cells: list[Cell]) -> None:
        """Each of `lanes` executes an atomic on its cell of global memory, one after the other."""
        if self._fenced is None:
            return
        for lane, cell in zip(lanes.tolist(), cells):
            block = lane // self.lanes_per_block
            releases = self._releases.setdefault(cell, _Releases())
            if releases.entries:
                pending = self._acquired.setdefault(block, _Acquired()).pending
                _add(pending.setdefault(lane, {}), {cell: len(releases.entries)})
            self._release(releases, lane, block, instant)

    def _release(self, releases: _Releases, lane: int, block: int, instant: int) -> None:
        """What `lane` publishes: what came before its own fence, and before fences that a barrier settled."""
        assert self._fenced is not None
        first = block * self.lanes_per_block
        settled = self._settled[first : first + self.lanes_per_block]
        full = releases.full(block)
        release = releases.by_block[block][-1] if full else _Release(first, settled.copy(), {})
        until = release.until
        warp = slice(lane // 32 * 32 - first, lane // 32 * 32 - first + 32)
        if full:
            np.maximum(until, settled, out=until)
            releases.seen = {}
        release.atomics[lane] = instant
        for other in self._fences_before(lane):
            np.maximum(until, self._fence_epoch[other], out=until)
            until[other - first] = max(int(until[other - first]), int(self._fenced[other]))
            if other in self._fence_clocks:
                until[warp] = np.maximum(until[warp], self._fence_clocks[other])
        if not full and until.any():
            releases.add(block, release)

    def _fences_before(self, lane: int) -> list[int]:
        """Which lanes of the warp have fenced before `lane` now: itself, or joined by `__syncwarp` since."""
        assert self._fenced is not None
        if self._clocks is None:
            return [lane]
        start = lane // 32 * 32
        known = self._clocks[lane // 32 - self._first_warp, lane % 32]
        fenced = self._fenced[start : start + 32]
        return sorted({lane, *(start + np.flatnonzero((fenced > 0) & (fenced < known))).tolist()})

    # -------------------------------------------------------------------------------------------------- asked

    def line(self, marks: Ints) -> Ints:
        """The source lines of accesses."""
        lines: Ints = self._lines[marks >> 32]
        return lines

    def block_of(self, lanes: Ints) -> Ints:
        return lanes >> self._shift if self._shift is not None else lanes // self.lanes_per_block

    @property
    def has_fences(self) -> bool:
        return self._fenced is not None

    @property
    def has_clocks(self) -> bool:
        return self._clocks is not None

    def warp_before(self, marks: Ints, lanes: Ints) -> Bools:
        """Whether accesses happened before `lanes` now, as far as one warp or one thread decides it."""
        others = lane_of(marks)
        before: Bools = (others == lanes) & (marks != 0)
        if self._clocks is not None:
            same = (others >> 5 == lanes >> 5) & (marks != 0)
            mine = lanes[same]
            known = self._clocks[(mine >> 5) - self._first_warp, mine & 31, others[same] & 31]
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
        if self._acquired and (open_ & ~same_block).any():
            across = np.flatnonzero(open_ & ~same_block)
            cells = [atomics[i] for i in across] if atomics is not None else None
            open_[across] = ~self._published(marks[across], lanes[across], cells)
        return open_

    def unfenced(self, marks: Ints, lanes: Ints, cells: list[Cell]) -> Bools:
        """Whether accesses that are unordered would have happened before `lanes` now, had these fenced after
        the atomics by which they know of them. `cells` are those that the lanes access."""
        return self._published(marks, lanes, cells, pending=True)

    def _published(
        self, marks: Ints, lanes: Ints, atomics: list[Cell] | None, pending: bool = False
    ) -> Bools:
        """Whether accesses of other blocks happened before `lanes` now, by fences and atomics; `pending`:
        even if a fence of their own is missing."""
        result = np.zeros(len(marks), dtype=bool)
        others, instants = lane_of(marks), marks >> 32
        for lane in np.unique(lanes).tolist():
            mine = lanes == lane
            for cell, count in self._learnt(lane, pending).items():
                accesses, own = self._releases[cell].until(count, self.blocks * self.lanes_per_block)
                result[mine] |= instants[mine] < accesses[others[mine]]
                if atomics is not None:
                    here = mine & np.fromiter((at == cell for at in atomics), dtype=bool, count=len(mine))
                    result[here] |= instants[here] < own[others[here]]
        return result

    def _learnt(self, lane: int, pending: bool) -> Known:
        known: Known = {}
        if (acquired := self._acquired.get(lane // self.lanes_per_block)) is not None:
            for table in (acquired.certain, acquired.pending) if pending else (acquired.certain,):
                _add(known, table.get(lane, {}))
                _add(known, table.get(-1, {}))
        return known

    @property
    def has_learnt(self) -> bool:
        """Whether any block knows of another one by an atomic."""
        return bool(self._acquired)

    def waits_for_fence(self, lane: int) -> bool:
        """Whether `lane` has read another block's release, and its own fence is missing."""
        acquired = self._acquired.get(lane // self.lanes_per_block)
        return acquired is not None and bool(acquired.pending.get(lane) or acquired.pending.get(-1))
