"""A recorder that counts once what is uniform, the same in many blocks.

Its report is the plain recorder's, bit for bit.

The blocks of a chunk run in lockstep. Where neither the addresses nor the mask of an access depend on a
block's number along x, y or z, the blocks along that axis touch the same bytes (of shared memory: the same
bytes of their own copies), so that one of them stands for all and its counts are multiplied. Three things
follow, and each is looked at, never guessed:

- `Rows` has the blocks that stand for the others. It is made of arrays that have length 1 along an axis.
- As long as all blocks of the chunk met at the same barriers and accessed a shared array in the same way, one
  copy of what was written and who came stands for all. At the first access that differs, or where a race
  depends on the values, it is copied out: the lanes of the next block are so many lanes on.
- What a kernel only reads cannot race. Which arrays those are is presumed, from the parameters; a write to
  one of them raises `WrittenError`, and who began the run begins it anew without.

What is out of bounds, misaligned or not initialised goes to the plain recorder as a whole.

Memory: the counts of at most PATTERNS patterns are kept, in at most 20 MB; the rest is less than what the
plain recorder has, whose tables have an entry for each block's copy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warplens.detect.accesses import MemoryLike, State, Value
from warplens.detect.byte_sets import all_set, set_bytes
from warplens.detect.geometry import matrix, numbers
from warplens.detect.recorder import Recorder
from warplens.detect.tally import Tallied
from warplens.report.counters import Counters
from warplens.report.messages import Triple
from warplens.report.report import Report
from warplens.report.transactions import LANES, Bools, Ints

PATTERNS = 2048
BANK_LINE = 128  # bytes: addresses that differ by a multiple of it have the same sectors, lines and banks


class WrittenError(Exception):
    """The kernel writes to the array at `base`, of which it was presumed that it only reads it."""

    def __init__(self, base: int) -> None:
        super().__init__(base)
        self.base = base


@dataclass
class Rows:
    """Some blocks of a chunk, which stand for all: a row is a warp.

    `active` is (warps, 32), `box` the numbers of these blocks along z, y, x, and `whole_box` those of the
    chunk; `every`: all threads take part.
    """

    active: Bools
    warps: Ints
    box: Triple
    whole_box: Triple
    every: bool

    @property
    def times(self) -> int:
        """How many blocks each of these stands for."""
        a, b, c = self.box
        x, y, z = self.whole_box
        return x * y * z // (a * b * c)


class UniformRecorder(Recorder):
    """`only_read`: the bases of allocations that the kernel is presumed never to write to."""

    def __init__(self, *args: Any, only_read: frozenset[int] = frozenset(), **more: Any) -> None:
        super().__init__(*args, **more)
        self._only_read = only_read
        self._in_step = True  # all blocks of the chunk have met at the same barriers
        self._bytes_together = 0  # of global memory, by each lane of the chunk; not in the tally yet
        self._patterns: dict[tuple[Any, ...], tuple[list[tuple[str, int]], Ints | None]] = {}

    # ----------------------------------------------------------------------------------------------- accesses

    def access_uniform(
        self, line: int, kind: str, memory: MemoryLike, offset: Ints, size: int, rows: Rows,
        all_rows: Callable[[], tuple[Ints, Bools, Ints]], value: Callable[[], Value],
    ) -> bool:  # fmt: skip
        """A load or store of the blocks in `rows`, whose `offset` is (warps, 32), and of those that they
        stand for. All that it touches must be in bounds and aligned. `all_rows` gives offset, active and
        warps of the whole chunk, `value` what a store writes, of all of it. Returns False where it was not
        taken."""
        alone = memory.space in ("shared", "local")
        if alone and not (self._in_step and rows.box == (1, 1, 1)):
            return False
        if alone and self._order.has_learnt:  # which one block may have done, and another one not
            return False
        if memory.space == "local" and not (rows.every and (offset == offset[0, 0]).all()):
            return False
        chosen = None if rows.active.all() else rows.active.ravel()
        at = offset.ravel() if chosen is None else offset.ravel()[chosen]
        state = None
        if memory.space != "constant":
            state = self._memories.state_for_all(memory) if alone else self._memories.state(memory)
            if alone and not state.uniform:
                return False
            if kind == "load" and state.written is not None and not all_set(state.written, at, size).all():
                return False
        here = self._tally.line(line, memory)
        self._come_uniform(here, rows)
        instant = self._order.tick(line)
        if not len(at):
            return True
        if memory.space == "global":
            if rows.every:
                self._bytes_together += size
            else:
                _add_boxed(self._of_chunk(self._tally.bytes, rows), self._boxed(rows), size)
        conflicts = self._count_uniform(here, kind, memory, offset, size, rows)
        self._tally.touch(here, kind, memory, at, size)
        self._draw_uniform(line, kind, memory, size, rows, conflicts, all_rows)
        if state is None:
            return True
        if memory.space == "global" and memory.base in self._only_read:
            if kind == "store":
                raise WrittenError(memory.base)
            return True
        if alone and self._remember_uniform(
            line, kind, memory, state, offset, at, size, rows, chosen, instant
        ):
            return True
        offset, active, warps = all_rows()
        given = value() if kind == "store" else None
        self._memories.remember(line, kind, memory, offset, size, active, warps, given, True, instant)
        return True

    def _remember_uniform(
        self, line: int, kind: str, memory: MemoryLike, state: State, offset: Ints, at: Ints, size: int,
        rows: Rows, chosen: Bools | None, instant: int,
    ) -> bool:  # fmt: skip
        """`Accesses.remember`, in the copy that stands for all. False where the values of all are needed."""
        if state.shadow is not None:
            lanes = numbers(rows.warps)
            lanes = lanes if chosen is None else lanes[chosen]
            if kind == "store" and state.shadow.needs_values(at, size, lanes, instant):
                return False
            found = state.shadow.access(kind, at, size, lanes, instant, None, state.key)
            if found is not None:
                self._memories.races(line, kind, memory, at, lanes, instant, found, rows.times)
        if kind == "store" and state.written is not None:
            set_bytes(state.written, at, size)
        return True

    def _count_uniform(
        self, here: Tallied, kind: str, memory: MemoryLike, offset: Ints, size: int, rows: Rows
    ) -> Ints | None:
        """`Tally.count` of these rows, so many times. Blocks that are moved by whole lines of 128 bytes
        count the same; what was counted once is looked up."""
        self._tally.use(here, memory)
        if memory.space not in ("global", "shared"):
            return None
        per_block, times = self._geometry.per_block, rows.times
        blocks = len(offset) // per_block
        if blocks == 1:
            return self._count_block(here, kind, memory, offset, size, rows.active, times)
        by_block, active = offset.reshape(blocks, -1), rows.active.reshape(blocks, -1)
        whole = active.all(axis=1)
        if whole.any():
            starts = by_block[whole, :1]
            pattern = by_block[whole] - starts
            if (pattern == pattern[0]).all():
                everybody = np.ones((per_block, LANES), dtype=bool)
                moved, counts = np.unique(starts % BANK_LINE, return_counts=True)
                for start, count in zip(moved.tolist(), counts.tolist()):
                    one = pattern[0].reshape(per_block, LANES) + start
                    self._count_block(here, kind, memory, one, size, everybody, times * count)
                if whole.all():
                    return None
                by_block, active = by_block[~whole], active[~whole]
        found, _ = self._counted(kind, memory, by_block.reshape(-1, LANES), size, active.reshape(-1, LANES))
        self._add(here, found, times)
        return None

    def _count_block(
        self, here: Tallied, kind: str, memory: MemoryLike, offset: Ints, size: int, active: Bools, times: int
    ) -> Ints | None:
        key = (kind, memory.space, size, offset.tobytes(), active.tobytes())
        found = self._patterns.get(key)
        if found is None:
            if len(self._patterns) == PATTERNS:
                self._patterns.clear()
            found = self._patterns[key] = self._counted(kind, memory, offset, size, active)
        self._add(here, found[0], times)
        return found[1]

    def _counted(
        self, kind: str, memory: MemoryLike, offset: Ints, size: int, active: Bools
    ) -> tuple[list[tuple[str, int]], Ints | None]:
        """The counters of an access that are not 0, and its bank conflicts."""
        scratch = Tallied(Counters(), np.zeros((0, LANES), np.int32))
        conflicts = self._tally.count(scratch, kind, memory, offset, size, active, offset[active])
        return [(name, count) for name, count in scratch.counters.totals().items() if count], conflicts

    def _add(self, here: Tallied, counted: list[tuple[str, int]], times: int) -> None:
        for name, count in counted:
            setattr(here.counters, name, getattr(here.counters, name) + count * times)

    def _draw_uniform(
        self, line: int, kind: str, memory: MemoryLike, size: int, rows: Rows, conflicts: Ints | None,
        all_rows: Callable[[], tuple[Ints, Bools, Ints]],
    ) -> None:  # fmt: skip
        worst = 0 if conflicts is None else int(conflicts.max())
        drawn = memory.space in ("global", "shared")
        if drawn and self.seen.wants(line, kind, memory.name, worst):
            offset, active, warps = all_rows()
            if conflicts is not None:
                conflicts = np.tile(conflicts, len(warps) // len(conflicts))
            self._draw(line, kind, memory, offset, size, active, warps, conflicts)
        else:
            self._event(kind, line, rows.active, rows.warps)

    # ------------------------------------------------------------------------------------------------- chunks

    def chunk(self, first_block: int, blocks: int, kept: Any = None) -> None:
        self._add_together()
        super().chunk(first_block, blocks, kept)
        self._in_step = True

    # --------------------------------------------------------------------------- barriers, warps and branches

    def come_uniform(self, line: int, rows: Rows) -> None:
        """The threads of `rows` come to a line, and nothing there is to be counted."""
        self._come_uniform(self._tally.line(line), rows)

    def branch_uniform(self, line: int, taken: Bools, rows: Rows) -> None:
        here = self._tally.line(line)
        self._come_uniform(here, rows)
        divergent = (rows.active & taken).any(axis=1) & (rows.active & ~taken).any(axis=1)
        here.counters.divergent_branches += rows.times * int(np.count_nonzero(divergent))

    def barrier_uniform(self, line: int, rows: Rows) -> None:
        """All threads of the chunk meet."""
        here = self._tally.line(line)
        self._come_uniform(here, rows)
        self._event("barrier", line, rows.active, rows.warps, rows.active)
        here.counters.barriers += self._geometry.count
        self._order.barrier(self._geometry.first + np.arange(self._geometry.count))

    def barrier(
        self, line: int, active: Bools, warps: Ints, exited: Bools, name: str = "__syncthreads"
    ) -> None:
        super().barrier(line, active, warps, exited, name)
        met = np.unique(warps[matrix(active, warps).any(axis=1)] // self._geometry.per_block)
        self._in_step &= len(met) in (0, self._geometry.count)

    def syncwarp(self, line: int, mask: NDArray[Any], active: Bools, warps: Ints, exited: Bools) -> None:
        super().syncwarp(line, mask, active, warps, exited)
        active = matrix(active, warps)
        joined = np.where(active, np.broadcast_to(mask, active.shape), 0).reshape(self._geometry.count, -1)
        self._in_step &= bool((joined == joined[0]).all())

    # -------------------------------------------------------------------------------------- who came, in sums

    def _come_uniform(self, here: Tallied, rows: Rows) -> None:
        if rows.every:
            here.together += 1
        else:
            if here.masked is not rows:
                self._add_masked(here)
                here.masked = rows
            here.masked_times += 1
        self._step()

    def _add_masked(self, here: Tallied) -> None:
        if here.masked_times:
            rows: Any = here.masked
            _add_boxed(self._of_chunk(here.visits, rows), self._boxed(rows), here.masked_times)
        here.masked, here.masked_times = None, 0

    def _of_chunk(self, by_warp: Ints, rows: Rows) -> Ints:
        """The part of a table (warps, 32) that is this chunk's, as (z, y, x, warps of a block, 32)."""
        return by_warp[self._geometry.chunk].reshape(*rows.whole_box, self._geometry.per_block, LANES)

    def _boxed(self, rows: Rows) -> Bools:
        return rows.active.reshape(*rows.box, self._geometry.per_block, LANES)

    def _add_together(self) -> None:
        chunk = self._geometry.chunk
        exists = np.tile(self._geometry.exists, (self._geometry.count, 1))
        for kept in self._tally.all:
            self._add_masked(kept)
            if kept.together:
                kept.visits[chunk] += kept.together * exists
                kept.together = 0
        if self._bytes_together:
            self._tally.bytes[chunk] += self._bytes_together * exists
            self._bytes_together = 0

    def _check_span(self) -> None:
        self._add_together()
        super()._check_span()

    def report(self, outputs: list[Any]) -> Report:
        self._add_together()
        return super().report(outputs)


def _add_boxed(table: Ints, active: Bools, amount: int) -> None:
    table += active * table.dtype.type(amount)
