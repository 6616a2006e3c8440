"""The recorder of a profiled launch: what happens is counted, checked and drawn, by those who each do one.

All that happens comes as matrices (warps, 32). Warps and blocks are numbered over the whole grid, x fastest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from warplens.detect.accesses import Accesses, MemoryLike, Value
from warplens.detect.collector import Collector
from warplens.detect.convergence import Convergence, lane_bits
from warplens.detect.geometry import Geometry, matrix, numbers
from warplens.detect.happens_before import HappensBefore
from warplens.detect.tally import Tallied, Tally
from warplens.errors import LongThread
from warplens.report import messages
from warplens.report.findings import Finding, Limit
from warplens.report.messages import Triple
from warplens.report.report import Report
from warplens.report.samples import Instant, Request, Seen
from warplens.report.transactions import Bools, Ints

Array = NDArray[Any]


class Recorder:
    """Raises LongThread once a thread has taken more than `max_span` steps (None: never)."""

    def __init__(
        self, program_name: str, source: str, grid: Triple, block: Triple, max_span: int | None = None,
        tickets: frozenset[int] | None = None,
    ) -> None:  # fmt: skip
        """`tickets`: see `Accesses`."""
        self.program, self.source, self.grid, self.block = program_name, source, grid, block
        self._geometry = Geometry(grid, block)
        self._order = HappensBefore(self._geometry.blocks, self._geometry.per_block)
        self._found = Collector(source, grid, block)
        self._tally = Tally(self._geometry)
        self._memories = Accesses(self._geometry, self._order, self._found, tickets)
        self._meetings = Convergence(self._geometry, self._found)
        self.seen = Seen()
        self._max_span, self._until_checked = max_span, max_span
        self._met: list[Limit] = []

    def chunk(self, first_block: int, blocks: int, kept: Any = None) -> None:
        """`blocks` blocks from `first_block` on begin, with fresh shared and local memory; or they go on, and
        `kept` is what `leave` has given for them."""
        clocks, states, shared = kept or (None, {}, {})
        self._geometry.first, self._geometry.count = first_block, blocks
        self._order.chunk(first_block, blocks, clocks)
        self._memories.chunk(states)
        self._tally.chunk(shared)

    def leave(self) -> Any:
        """Other blocks run for a while: what `chunk` needs to let these go on."""
        return self._order.clocks, self._memories.of_chunk(), self._tally.shared

    # ----------------------------------------------------------------------------------------------- accesses

    def access(
        self, line: int, kind: str, memory: MemoryLike, offset: Ints, size: int, active: Bools, warps: Ints,
        value: Value = None, reads: bool = True, polls: bool | None = None,
    ) -> Bools:  # fmt: skip
        """One instruction: `kind` is "load", "store" or "atomic"; each active lane touches `size` bytes from
        `offset` on, counted from the base of `memory`. `value` is what a store writes, a list for a
        vector (None: unknown). Not `reads`: an atomic that wants nothing of what was there.
        `polls`: of what is volatile, whether it is repeated until it gives what is waited for.
        Returns the active lanes that may go on: in bounds and aligned."""
        active = matrix(active, warps)
        if offset.shape != active.shape:
            offset = np.broadcast_to(offset, active.shape)
        here = self._tally.line(line, memory)
        self._come(here, active, warps)
        allowed = self._memories.allowed(line, kind, memory, offset, size, active, warps)
        instant = self._order.tick(line)
        flat = allowed.ravel()
        if not flat.any():
            return allowed
        at = offset.ravel() if flat.all() else offset.ravel()[flat]
        if memory.space == "global":
            self._tally.bytes[warps] += size * allowed
        conflicts = self._tally.count(here, kind, memory, offset, size, allowed, at)
        self._tally.touch(here, kind, memory, at, size)
        self._draw(line, kind, memory, offset, size, allowed, warps, conflicts)
        self._memories.remember(
            line, kind, memory, offset, size, allowed, warps, value, reads, instant, polls
        )
        return allowed

    def _draw(
        self, line: int, kind: str, memory: MemoryLike, offset: Ints, size: int, active: Bools, warps: Ints,
        conflicts: Ints | None,
    ) -> None:  # fmt: skip
        """Keep what the pictures need: few rows, few times."""
        self._event(kind, line, active, warps)
        if memory.space not in ("global", "shared"):
            return
        worst = 0 if conflicts is None else int(conflicts.max())
        if self.seen.wants(line, kind, memory.name, worst):
            rows = np.flatnonzero(active.any(axis=1))[: Seen.MAX_WARPS]
            if conflicts is not None and worst:
                rows = np.array([int(conflicts.argmax())])
            request = Request(
                line, kind, memory.name, memory.space, size, memory.dtype.itemsize, memory.low, offset[rows],
                active[rows], warps[rows], worst, getattr(memory, "shape", ()),
            )  # fmt: skip
            self.seen.request(request)

    def _event(self, kind: str, line: int, active: Bools, warps: Ints, live: Bools | None = None) -> None:
        if len(self.seen.events) < Seen.MAX_EVENTS and self._geometry.first == 0:
            rows = np.flatnonzero(warps < self._geometry.per_block)
            lanes = np.zeros(self._geometry.per_block, dtype=np.int64)
            lanes[warps[rows]] = active[rows].sum(axis=1)
            alive = lanes
            if live is not None:
                alive = self._geometry.exists.sum(axis=1)
                alive[warps[rows]] = live[rows].sum(axis=1)
            if lanes.any():
                self.seen.event(Instant(kind, line, lanes, alive))

    # --------------------------------------------------------------------------- barriers, warps and branches

    def barrier(
        self, line: int, active: Bools, warps: Ints, exited: Bools, name: str = "__syncthreads"
    ) -> None:
        """`__syncthreads()` and its like: `active` lanes arrive, `exited` ones have returned before."""
        active = matrix(active, warps)
        here = self._tally.line(line)
        self._come(here, active, warps)
        self._event("barrier", line, active, warps, self._geometry.live(warps, exited))
        blocks = self._meetings.barrier(line, name, active, warps, exited)
        if len(blocks):
            here.counters.barriers += len(blocks)
            self._order.barrier(blocks)

    def syncwarp(self, line: int, mask: Array, active: Bools, warps: Ints, exited: Bools) -> None:
        """`__syncwarp(mask)`: orders the lanes of the mask that execute it."""
        active = matrix(active, warps)
        self.warp_intrinsic(line, "__syncwarp", mask, active, warps, exited)
        masks = np.broadcast_to(np.asarray(mask, dtype=np.uint32), active.shape)
        waiting = active & lane_bits(masks)
        while waiting.any():  # once, if all lanes of a warp have one mask
            rows = np.flatnonzero(waiting.any(axis=1))
            first = waiting[rows].argmax(axis=1)
            group = waiting[rows] & (masks[rows] == masks[rows, first][:, None])
            self._order.syncwarp(warps[rows], group)
            waiting = waiting.copy()
            waiting[rows] &= ~group

    def warp_intrinsic(
        self, line: int, name: str, mask: Array, active: Bools, warps: Ints, exited: Bools,
        source_lane: Array | None = None,
    ) -> None:  # fmt: skip
        """A shuffle, vote or `__syncwarp`: all live lanes of the mask must execute it. `source_lane` (W, 32):
        the lane that a shuffle reads, -1 for the lane itself."""
        active = matrix(active, warps)
        self._come(self._tally.line(line), active, warps)
        masks = np.broadcast_to(np.asarray(mask, dtype=np.uint32), active.shape)
        self._meetings.warp(line, name, masks, active, warps, exited)
        if source_lane is not None:
            source = np.broadcast_to(source_lane, active.shape)
            self._meetings.shuffle(line, name, source, active, warps)

    def lives(self, warps: Ints, exited: Bools) -> Bools:
        """The lanes that are threads of the block and have not returned."""
        return self._geometry.live(warps, exited)

    def fence(self, line: int, active: Bools, warps: Ints, within_block: bool = False) -> None:
        """`__threadfence()`, or `__threadfence_block()`."""
        active = matrix(active, warps)
        self._come(self._tally.line(line), active, warps)
        lanes = numbers(warps)[active.ravel()]
        if len(lanes):
            self._order.fence(lanes, within_block)
            self._memories.signals.fence(self._order.now - 1, lanes, within_block)

    def branch(self, line: int, taken: Bools, active: Bools, warps: Ints) -> None:
        """An if, a loop's test or a switch: divergent in each warp whose active lanes disagree."""
        active = matrix(active, warps)
        here = self._tally.line(line)
        self._come(here, active, warps)
        taken = np.broadcast_to(taken, active.shape)
        divergent = (active & taken).any(axis=1) & (active & ~taken).any(axis=1)
        here.counters.divergent_branches += int(divergent.sum())

    def count(self, line: int, flops: int, int_ops: int, lanes: int) -> None:
        """`lanes` lanes each do so many operations."""
        counters = self._tally.line(line).counters
        counters.flops += int(flops) * int(lanes)
        counters.int_ops += int(int_ops) * int(lanes)

    # ---------------------------------------------------------------------------- what else is said of a line

    def uninitialised(self, line: int, name: str, bad: Bools, warps: Ints) -> None:
        """A variable is read before it was written, in the lanes `bad`."""
        bad = matrix(bad, warps)
        if bad.any():
            _, who = self._found.example(bad, warps)
            text = f"{who} reads the variable {name} before it has a value. Give it one where it is declared."
            self._found.find("uninitialised", "uninitialised", line, text, who, bad, name)

    def arithmetic(self, line: int, message: str, bad: Bools, warps: Ints) -> None:
        """Division by zero, in the lanes `bad`."""
        bad = matrix(bad, warps)
        if bad.any():
            _, who = self._found.example(bad, warps)
            self._found.find("arithmetic", "arithmetic", line, f"{who}: {message}", who, bad, other=message)

    def row(self, line: int, array: str, length: int, index: Ints, bad: Bools, warps: Ints) -> None:
        """An index leaves the row of an array that it counts in, in the lanes `bad`; a note."""
        i, who = self._found.example(bad, warps)
        at = int(index.flat[i])
        self._found.find(
            "notes", "row", line, messages.row(who, array, at, length), who, bad, array, at, length
        )

    def shift(self, line: int, bits: int, by: Ints, bad: Bools, warps: Ints) -> None:
        """A value of `bits` bits is shifted by as many or more, or by less than none, in the lanes `bad`."""
        i, who = self._found.example(bad, warps)
        at = int(by.flat[i])
        self._found.find("notes", "shift", line, messages.shift(who, at, bits), who, bad, index=at)

    def endless(self, line: int, why: str, live: Bools, warps: Ints, limit: str = "") -> None:
        """A loop in which the lanes `live` are caught was stopped, by `limit` where there is no proof that it
        never ends; nothing comes after that."""
        _, who = self._found.example(live, warps)
        text = f"{who} does not come out of this loop: {why}. The report shows what ran until then."
        self._found.find("endless", "endless", line, text, who, live)
        if limit:
            self._met.append(Limit(limit, messages.STOPPED[limit].format(line)))

    def assertion(self, line: int, condition: str, bad: Bools, warps: Ints) -> Finding:
        """An assert whose condition does not hold in the lanes `bad`; its finding."""
        _, who = self._found.example(bad, warps)
        text = f"{who}: the assertion `{condition}` failed."
        return self._found.find("asserts", "assert", line, text, who, bad, other=condition)

    def waits_for_later(self, line: int, active: Bools, warps: Ints) -> None:
        """Threads have waited on `line` for blocks that began after them."""
        if self._geometry.blocks > 1:
            _, who = self._found.example(active, warps)
            text = messages.waits_for_later(who, self._geometry.blocks)
            self._found.find("notes", "resident", line, text, who, active)

    # -------------------------------------------------------------------------------------------------- steps

    def _come(self, here: Tallied, active: Bools, warps: Ints) -> None:
        here.visits[warps] += active
        self._step()

    def _step(self) -> None:
        if self._until_checked is not None:
            self._until_checked -= 1
            if self._until_checked < 0:  # only now can a thread have taken so many steps
                self._check_span()

    def _check_span(self) -> None:
        """Raise where a thread has taken too many steps; else work out when it could have."""
        assert self._max_span is not None
        steps = self._tally.steps()
        span = int(steps.max())
        if span > self._max_span:
            block, thread = divmod(int(steps.argmax()), self._geometry.lanes)
            raise LongThread(self.program, block, thread, self._max_span)
        self._until_checked = self._max_span - span

    def report(self, outputs: list[Array | None]) -> Report:
        """All that was found and counted. `outputs`: the array arguments after the run."""
        self._memories.never_written()
        met = [*self._met]
        if self._order.relied_on_merged:
            met.append(Limit("releases", messages.MERGED))
        if self._memories.signals.asked_in_vain:
            met.append(Limit("fences", messages.FORGOTTEN))
        return Report(
            program=self.program, source=self.source, grid=self.grid, block=self.block, outputs=outputs,
            met=met, seen=self.seen, **self._found.by_section(), **self._tally.sums(self._found.source_line),
        )  # fmt: skip
