"""What fences and atomics publish: who may rely on what, within one block or in the whole grid.

A thread *releases* what it knows by a fence and then an atomic; another one *acquires* it by an atomic on the
same cell and then a fence. `__syncthreads` and `__syncwarp` pass on both inside a block. An atomic sees all
releases on its cell that came before it, as a chain of atomics does in CUDA's memory model, and what somebody
has acquired is released with the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Cell = Hashable
Key = TypeVar("Key")
Known = dict[Cell, int]  # of each cell, how many of its releases are known


@dataclass
class _Release:
    """An atomic by a thread that had fenced: of the lanes from `first` on, all accesses before `until`."""

    first: int
    until: Ints
    atomics: dict[int, int]  # by lane: when
    number: int = 0  # among those of its cell


@dataclass
class _Releases:
    """The atomics on one cell by threads that had fenced before: which accesses each of them publishes, of
    `lanes` lanes from `first` on."""

    first: int
    lanes: int
    entries: list[_Release] = field(default_factory=list)
    by_block: dict[int, list[_Release]] = field(default_factory=dict)
    known: Known = field(default_factory=dict)  # what those who released knew of other cells
    seen: tuple[int, Ints, Ints] | None = None  # how many have been put together, and what `until` gives
    learners: dict[int, int] = field(default_factory=dict)  # who has learnt of how many of them
    merged: bool = False  # somebody has learnt of a release, and a later one was counted to it
    EACH = 4  # releases of one block that are told apart; more count as one, so that a race may be missed

    def full(self, block: int) -> bool:
        return len(self.by_block.get(block, ())) == self.EACH

    def add(self, block: int, release: _Release) -> None:
        release.number = len(self.entries)
        self.entries.append(release)
        self.by_block.setdefault(block, []).append(release)

    def until(self, count: int) -> tuple[Ints, Ints]:
        """By lane, before which instant the first `count` releases publish all its accesses, and all its
        atomics on this cell."""
        if self.seen is None or self.seen[0] > count:
            self.seen = 0, np.zeros(self.lanes, np.int64), np.zeros(self.lanes, np.int64)
        known, accesses, atomics = self.seen
        self.seen = count, accesses, atomics
        for release in self.entries[known:count]:
            self.grown(release)
        return accesses, atomics

    def grown(self, release: _Release) -> None:
        """A release is new, or publishes more than before."""
        if self.seen is not None and release.number < self.seen[0]:
            _, accesses, atomics = self.seen
            start = release.first - self.first
            mine = accesses[start : start + len(release.until)]
            np.maximum(mine, release.until, out=mine)
            for lane, instant in release.atomics.items():
                atomics[lane - self.first] = instant + 1


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

    def knows(self, lane: int) -> Known:
        known: Known = {}
        for key in (lane, -1):
            _add(known, self.certain.get(key, {}))
        return known


def _add(known: dict[Key, int], more: dict[Key, int]) -> None:
    for key, count in more.items():
        known[key] = max(count, known.get(key, 0))


class ReleaseAcquire:
    """Of one scope: `within_block`, only threads of one block see what is published."""

    def __init__(
        self,
        blocks: int,
        lanes_per_block: int,
        within_block: bool,
        known_by: Callable[[int], NDArray[np.int32] | None],
    ) -> None:
        """`known_by` gives what a lane knows of each lane of its warp by `__syncwarp`, or None."""
        self.lanes, self.lanes_per_block = blocks * lanes_per_block, lanes_per_block
        self.within_block, self._known_by = within_block, known_by
        self._fenced: Ints | None = None  # by lane of the grid: the instant of its last fence
        self._settled = self._fence_epoch = np.zeros(0, np.int64)
        self._fence_clocks: dict[int, Ints] = {}
        self._releases: dict[Cell, _Releases] = {}
        self._acquired: dict[int, _Acquired] = {}
        self._taken: set[Cell] = set()  # cells that somebody reads for another reason than a ticket
        self.relied_on_merged = False  # accesses count as ordered, maybe only because releases were merged

    # ------------------------------------------------------------------------------------------------- events

    def barrier(self, blocks: Ints) -> None:
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
        for warp, lanes in zip(warps.tolist(), joined) if self._acquired else ():
            if (acquired := self._acquired.get(warp * 32 // self.lanes_per_block)) is not None:
                together = (warp * 32 + np.flatnonzero(lanes)).tolist()
                acquired.share(together, together)

    def fence(self, lanes: Ints, now: int, epoch: Ints) -> None:
        """Each of `lanes` executes a fence; `epoch`: the instant of its block's last barrier."""
        if self._fenced is None:
            self._fenced, self._settled, self._fence_epoch = np.zeros((3, self.lanes), dtype=np.int64)
        self._fenced[lanes] = now
        self._fence_epoch[lanes] = epoch
        for lane in lanes.tolist():
            if (known := self._known_by(lane)) is None:
                break
            self._fence_clocks[lane] = known.astype(np.int64)
        for lane in lanes.tolist() if self._acquired else ():
            if (acquired := self._acquired.get(lane // self.lanes_per_block)) is not None:
                acquired.fence(lane)

    def atomic(
        self, instant: int, lanes: Ints, cells: Sequence[Cell], reads: bool, writes: bool, ticket: bool
    ) -> None:
        """Each of `lanes` executes an atomic on its cell, one after the other."""
        if self._fenced is None:
            return
        for lane, cell in zip(lanes.tolist(), cells):
            block = lane // self.lanes_per_block
            cell = self._key(lane, cell)
            releases = self._releases.get(cell)
            if releases is not None and releases.entries and reads:
                pending = self._acquired.setdefault(block, _Acquired()).pending.setdefault(lane, {})
                news = {**releases.known, cell: len(releases.entries)}
                _add(pending, news)
                for about in news:
                    _add(self._releases[about].learners, {self._who(lane): news[about]})
                if not ticket:
                    self._taken.add(cell)
            if writes:
                self._release(cell, lane, block, instant)

    def _who(self, lane: int) -> int:
        """Who learns: a thread, or in the grid its block, whose own accesses are ordered by other means."""
        return lane if self.within_block else lane // self.lanes_per_block

    def _key(self, lane: int, cell: Cell) -> Cell:
        """Within a block, its own threads' atomics alone count."""
        return (lane // self.lanes_per_block, cell) if self.within_block else cell

    def _release(self, cell: Cell, lane: int, block: int, instant: int) -> None:
        """What `lane` publishes: what came before its own fence, and before fences that a barrier settled."""
        assert self._fenced is not None
        first = block * self.lanes_per_block
        if cell not in self._releases:
            whole = (first, self.lanes_per_block) if self.within_block else (0, self.lanes)
            self._releases[cell] = _Releases(*whole)
        releases = self._releases[cell]
        settled = self._settled[first : first + self.lanes_per_block]
        full = releases.full(block)
        release = releases.by_block[block][-1] if full else _Release(first, settled.copy(), {})
        until = release.until
        warp = slice(lane // 32 * 32 - first, lane // 32 * 32 - first + 32)
        if full:
            np.maximum(until, settled, out=until)
            others = (n for who, n in releases.learners.items() if who != self._who(lane))
            releases.merged |= max(others, default=0) > release.number
        release.atomics[lane] = instant
        for other in self._fences_before(lane):
            np.maximum(until, self._fence_epoch[other], out=until)
            until[other - first] = max(int(until[other - first]), int(self._fenced[other]))
            if other in self._fence_clocks:
                until[warp] = np.maximum(until[warp], self._fence_clocks[other])
        if full:
            releases.grown(release)
        elif until.any():
            releases.add(block, release)
        if until.any() and block in self._acquired:
            _add(releases.known, self._acquired[block].knows(lane))

    def _fences_before(self, lane: int) -> list[int]:
        """Which lanes of the warp have fenced before `lane` now: itself, or joined by `__syncwarp` since."""
        assert self._fenced is not None
        known = self._known_by(lane)
        if known is None:
            return [lane]
        start = lane // 32 * 32
        fenced = self._fenced[start : start + 32]
        return sorted({lane, *(start + np.flatnonzero((fenced > 0) & (fenced < known))).tolist()})

    # -------------------------------------------------------------------------------------------------- asked

    @property
    def active(self) -> bool:
        """Whether anybody has fenced."""
        return self._fenced is not None

    @property
    def has_learnt(self) -> bool:
        """Whether any block knows of another thread by an atomic."""
        return bool(self._acquired)

    def published(
        self, lanes: Ints, others: Ints, instants: Ints, atomics: Sequence[Cell] | None, tickets: bool = False
    ) -> Bools:
        """Whether accesses of `others` at `instants` happened before `lanes` now. `atomics`: the cells, where
        they are atomics. `tickets`: also what is known by tickets alone, with no fence behind them."""
        result = np.zeros(len(lanes), dtype=bool)
        for who, known in self._by_knowledge(np.unique(lanes).tolist(), tickets):
            mine = lanes == who[0] if len(who) == 1 else np.isin(lanes, who)
            for cell, count in known.items():
                releases = self._releases[cell]
                accesses, own = releases.until(count)
                there = others[mine] - releases.first
                before = instants[mine] < accesses[there]
                self.relied_on_merged |= releases.merged and bool(before.any())
                result[mine] |= before
                if atomics is not None:
                    same = (self._key(who[0], at) == cell for at in atomics)
                    here = mine & np.fromiter(same, dtype=bool, count=len(mine))
                    result[here] |= instants[here] < own[others[here] - releases.first]
        return result

    def _by_knowledge(self, lanes: list[int], tickets: bool) -> list[tuple[list[int], Known]]:
        """Lanes one after the other that know the same, as they do behind a barrier, and what that is."""
        found: list[tuple[list[int], Known]] = []
        for lane in lanes:
            known = self._learnt(lane, tickets)
            if found and found[-1][1] == known:
                found[-1][0].append(lane)
            else:
                found.append(([lane], known))
        return found

    def _learnt(self, lane: int, tickets: bool) -> Known:
        known: Known = {}
        if (acquired := self._acquired.get(lane // self.lanes_per_block)) is not None:
            known = acquired.knows(lane)
            for key in (lane, -1) if tickets else ():
                pending = acquired.pending.get(key, {})
                _add(known, {cell: count for cell, count in pending.items() if cell not in self._taken})
        return known
