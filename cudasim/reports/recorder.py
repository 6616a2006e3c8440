"""The recorder of a profiled launch: checks every access, counts what it costs, and finds races.

All that happens comes as matrices (warps, 32). Warps and blocks are numbered over the whole grid, x fastest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cudasim.errors import LongThread
from cudasim.reports import messages
from cudasim.reports.counters import (
    LANES,
    ArrayCounters,
    Bools,
    Counters,
    Ints,
    alignment,
    bank_conflicts,
    requests,
)
from cudasim.reports.findings import Findings
from cudasim.reports.marks import all_set, set_bytes
from cudasim.reports.messages import Triple
from cudasim.reports.order import Order, lane_of
from cudasim.reports.pictures import Instant, Request, Seen
from cudasim.reports.races import KINDS, Conflicts, Shadow, bits
from cudasim.reports.report import Finding, LineCounters, Lines, Race, Report

__all__ = ["MemoryLike", "Recorder"]

Array = NDArray[Any]
_Touched = dict[int, NDArray[np.uint8]]  # a mark for each byte, by the base of the allocation
Value = Array | Sequence[Array] | int | float | None


class MemoryLike(Protocol):
    """What the recorder asks of a memory; with a `shape` as well, elements are named tile[2][1].

    Shared and local memory is told apart by the object: one for each array and chunk of blocks.
    """

    name: str
    space: str  # "global", "shared" (one copy per block), "local" (one per thread), "constant"
    nbytes: int  # of one copy
    dtype: np.dtype[Any]
    base: int
    low: int
    high: int

    @property
    def initialised(self) -> bool | Bools:
        """Whether its bytes were written before the launch; of global memory also byte by byte."""


@dataclass
class _Line:
    """What is kept of one source line, or of one array on it, beside the counters."""

    counters: Counters
    visits: Ints  # (warps, 32): how often each lane came
    together: int = 0  # how often all lanes of the chunk came, which is not in `visits` yet
    masked: object = None  # rows that came, so many times, and are not in `visits` yet either
    masked_times: int = 0
    shared: dict[str, int] = field(default_factory=dict)
    touched: _Touched = field(default_factory=dict)


@dataclass
class _State:
    """What is kept of one memory: who touched it, and which bytes have been written."""

    memory: MemoryLike
    shadow: Shadow | None
    stride: int
    written: NDArray[np.uint8] | None
    alike: bool = False  # one copy stands for all: see `alike`


class Recorder:
    def __init__(
        self, program_name: str, source: str, grid: Triple, block: Triple, max_span: int | None = None
    ) -> None:
        self.program, self.source, self.grid, self.block = program_name, source, grid, block
        self._blocks, self._threads = math.prod(grid), math.prod(block)
        self._per_block = -(-self._threads // LANES)  # warps
        self._order = Order(self._blocks, self._per_block)
        # Lanes of the last warp beyond the block's last thread do not exist.
        self._exists = np.arange(self._per_block * LANES).reshape(-1, LANES) < self._threads
        self._first, self._count = 0, self._blocks  # blocks of the chunk
        self._lines: dict[tuple[int, str, str], _Line] = {}  # by line, space and array
        self._found = Findings(source, grid, block)
        self._states: dict[tuple[str, int], _State] = {}
        self._shared: dict[int, int] = {}
        self._shared_bytes = 0
        self._seen = Seen()
        self._bytes = self._by_lane(np.int64)  # of global memory that each lane touches
        self._max_span, self._until_checked = max_span, max_span

    # ----------------------------------------------------------------------------------------------- accesses

    def access(
        self, line: int, kind: str, memory: MemoryLike, offset: Ints, size: int, active: Bools, warps: Ints,
        value: Value = None, reads: bool = True,
    ) -> Bools:  # fmt: skip
        """One instruction: `kind` is "load", "store" or "atomic"; each active lane touches `size` bytes from
        `offset` on, counted from the base of `memory`. `value` is what a store writes, a list for a
        vector (None: unknown). Not `reads`: an atomic that wants nothing of what was there.
        Returns the active lanes that may go on: in bounds and aligned."""
        active = self._matrix(active, warps)
        if offset.shape != active.shape:
            offset = np.broadcast_to(offset, active.shape)
        here = self._line(line, memory)
        self._come(here, active, warps)
        allowed = self._allowed(line, kind, memory, offset, size, active, warps)
        instant = self._order.tick(line)
        flat = allowed.ravel()
        if not flat.any():
            return allowed
        at = offset.ravel() if flat.all() else offset.ravel()[flat]
        if memory.space == "global":
            self._bytes[warps] += size * allowed
        conflicts = self._count_access(here, kind, memory, offset, size, allowed, at)
        self._touch(here, kind, memory, at, size)
        self._draw(line, kind, memory, offset, size, allowed, warps, conflicts)
        self._remember(line, kind, memory, offset, size, allowed, warps, value, reads, instant)
        return allowed

    def _remember(
        self, line: int, kind: str, memory: MemoryLike, offset: Ints, size: int, allowed: Bools, warps: Ints,
        value: Value, reads: bool, instant: int,
    ) -> None:  # fmt: skip
        """What an access does to the state of its memory: what has been written, and what races."""
        if memory.space == "constant":
            return
        chosen = None if allowed.all() else np.flatnonzero(allowed.ravel())
        lanes = (warps[:, None] * LANES + np.arange(LANES)).ravel()
        at = offset.ravel()
        if chosen is not None:
            lanes, at = lanes[chosen], at[chosen]
        state = self._state(memory)
        at = at + self._copy(memory, state, lanes)
        if state.written is not None:
            asks = kind if reads else "store"
            self._check_written(line, asks, memory, state, at, size, lanes, offset.ravel(), chosen)
        if state.shadow is not None:
            if isinstance(value, int | float):
                value = np.asarray(value).astype(memory.dtype)
            data = bits(value, chosen, allowed.shape, size) if kind == "store" else None
            key = (memory.space, memory.base)
            if kind == "atomic" and memory.space == "global" and self._order.has_fences:
                self._order.atomic(instant, lanes, [(key, position) for position in at.tolist()])
            found = state.shadow.access(kind, at, size, lanes, instant, data, key)
            if found is not None:
                flat_offset = offset.ravel() if chosen is None else offset.ravel()[chosen]
                self._report_races(line, kind, memory, flat_offset, lanes, instant, found)

    def _allowed(
        self, line: int, kind: str, memory: MemoryLike, offset: Ints, size: int, active: Bools, warps: Ints
    ) -> Bools:
        """The active lanes that stay within bounds and are aligned; the others are reported."""
        allowed = active
        bad = active & ((offset < memory.low) | (offset > memory.high - size))
        if bad.any():
            i, who = self._found.example(bad, warps)
            item = memory.dtype.itemsize
            index = (int(offset.flat[i]) - memory.low) // item
            if memory.space == "null":
                text = messages.null(who, kind)
            else:
                text = messages.bounds(
                    self._element(memory, index), memory.name, who, kind, index, max(1, size // item),
                    (memory.high - memory.low) // item,
                )  # fmt: skip
            self._found.find("out_of_bounds", "out-of-bounds", line, text, who, bad, memory.name, index)
            allowed = allowed & ~bad
        align = alignment(size)
        if align > 1:
            bad = allowed & (((offset + memory.base) & (align - 1)) != 0)
            if bad.any():
                i, who = self._found.example(bad, warps)
                index = self._index(memory, int(offset.flat[i]))
                address = int(offset.flat[i]) + memory.base
                text = messages.misaligned(self._element(memory, index), who, kind, size, align, address)
                self._found.find("misaligned", "misaligned", line, text, who, bad, memory.name, index)
                allowed = allowed & ~bad
        return allowed

    def _count_access(
        self, here: _Line, kind: str, memory: MemoryLike, offset: Ints, size: int, active: Bools, at: Ints
    ) -> Ints | None:
        """Count one access; gives the bank conflicts of each warp, of shared memory."""
        counters = here.counters
        self._use(here, memory)
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

    def _use(self, here: _Line, memory: MemoryLike) -> None:
        """Note that a line uses a memory."""
        if memory.space == "shared":
            here.shared[memory.name] = memory.nbytes
            self._shared[id(memory)] = memory.nbytes

    def _touch(self, here: _Line, kind: str, memory: MemoryLike, at: Ints, size: int) -> None:
        """Keep which bytes of global memory a line loads and stores."""
        if memory.space != "global" or kind == "atomic":
            return
        if memory.base not in here.touched:
            here.touched[memory.base] = np.zeros(-(-memory.nbytes // 16) * 16, dtype=np.uint8)
        set_bytes(here.touched[memory.base], at, size)

    def _bank_conflicts(self, offset: Ints, size: int, active: Bools) -> Ints:
        # Mostly all blocks do the same, and one is enough.
        rows, block = len(offset), self._per_block
        if rows > block and rows % block == 0 and active.all():
            blocks = offset.reshape(-1, block, LANES)
            if (blocks == blocks[0]).all():
                return np.tile(bank_conflicts(blocks[0], size, active[:block]), rows // block)
        return bank_conflicts(offset, size, active)

    def _draw(
        self, line: int, kind: str, memory: MemoryLike, offset: Ints, size: int, active: Bools, warps: Ints,
        conflicts: Ints | None,
    ) -> None:  # fmt: skip
        """Keep what the pictures need: few rows, few times."""
        self._event(kind, line, active, warps)
        if memory.space not in ("global", "shared"):
            return
        worst = 0 if conflicts is None else int(conflicts.max())
        if self._seen.wants(line, kind, memory.name, worst):
            rows = np.flatnonzero(active.any(axis=1))[: Seen.MAX_WARPS]
            if conflicts is not None and worst:
                rows = np.array([int(conflicts.argmax())])
            self._seen.request(
                Request(
                    line,
                    kind,
                    memory.name,
                    memory.space,
                    size,
                    memory.dtype.itemsize,
                    memory.low,
                    offset[rows],
                    active[rows],
                    warps[rows],
                    worst,
                    getattr(memory, "shape", ()),
                )
            )

    def _event(self, kind: str, line: int, active: Bools, warps: Ints, live: Bools | None = None) -> None:
        if len(self._seen.events) < Seen.MAX_EVENTS and self._first == 0:
            rows = np.flatnonzero(warps < self._per_block)
            lanes = np.zeros(self._per_block, dtype=np.int64)
            lanes[warps[rows]] = active[rows].sum(axis=1)
            alive = lanes
            if live is not None:
                alive = self._exists.sum(axis=1)
                alive[warps[rows]] = live[rows].sum(axis=1)
            if lanes.any():
                self._seen.event(Instant(kind, line, lanes, alive))

    # -------------------------------------------------------------------------------------- state of memories

    def _state(self, memory: MemoryLike) -> _State:
        key = ("global", memory.base) if memory.space == "global" else (memory.space, id(memory))
        if key not in self._states:
            copies = {"shared": self._count, "local": self._count * self._per_block * LANES}.get(
                memory.space, 1
            )
            self._states[key] = self._new_state(memory, copies)
        return self._states[key]

    def _new_state(self, memory: MemoryLike, copies: int) -> _State:
        shadow = None
        if memory.space != "local":
            shadow = Shadow(memory.nbytes, copies, self._order, memory.space == "shared")
        stride = -(-memory.nbytes // 16) * 16
        written = None
        if isinstance(memory.initialised, np.ndarray):
            written = np.zeros(stride, dtype=np.uint8)
            written[: memory.nbytes] = memory.initialised
        elif not memory.initialised:
            written = np.zeros(stride * copies, dtype=np.uint8)
        return _State(memory, shadow, stride, written)

    def _copy(self, memory: MemoryLike, state: _State, lanes: Ints) -> Ints | int:
        """Where each lane's copy of the memory begins in its state."""
        if memory.space == "shared":
            return (lanes // (self._per_block * LANES) - self._first) * state.stride
        if memory.space == "local":
            return (lanes - self._first * self._per_block * LANES) * state.stride
        return 0

    def _check_written(
        self, line: int, kind: str, memory: MemoryLike, state: _State, at: Ints, size: int, lanes: Ints,
        offset: Ints, chosen: Array | None,
    ) -> None:  # fmt: skip
        assert state.written is not None
        if kind != "store":
            bad = ~all_set(state.written, at, size)
            if bad.any():
                i = int(bad.argmax())
                who = self._found.actor(int(lanes[i]))
                index = self._index(memory, int(offset[i if chosen is None else chosen[i]]))
                text = (
                    f"{who} {messages.DOES[kind]} {self._element(memory, index)} before anything was written "
                    f"there. {messages.GARBAGE[memory.space]}."
                )
                self._found.find("uninitialised", "uninitialised", line, text, who, bad, memory.name, index)
        if kind != "load":
            set_bytes(state.written, at, size)

    def chunk(self, first_block: int, blocks: int) -> None:
        """`blocks` blocks from `first_block` on begin; their shared and local memory is fresh."""
        self._first, self._count = first_block, blocks
        self._order.chunk(first_block, blocks)
        self._states = {key: state for key, state in self._states.items() if key[0] == "global"}
        self._end_shared()

    def _end_shared(self) -> None:
        self._shared_bytes = max(self._shared_bytes, sum(self._shared.values()))
        self._shared = {}

    # -------------------------------------------------------------------------------------------------- races

    def _report_races(
        self,
        line: int,
        kind: str,
        memory: MemoryLike,
        offset: Ints,
        lanes: Ints,
        instant: int,
        found: Conflicts,
        times: int = 1,
    ) -> None:
        racing = np.flatnonzero(found.marks)
        marks, mine, same_value = found.marks[racing], lanes[racing], found.same_value[racing]
        others = lane_of(marks)
        other_lines = self._order.line(marks)
        one_warp = others >> 5 == mine >> 5
        # One finding for each (line, kind): all accesses of a finding have one code.
        codes = other_lines * 4 + np.where(same_value, 2, np.where(found.unfenced[racing], 3, one_warp))
        for code in np.unique(codes).tolist():
            members = np.flatnonzero(codes == code)
            first = int(members[0])
            i = int(racing[first])
            name = (memory.space, "warp", "same-value", "last-block")[code & 3]
            other_line = code >> 2
            me, other = self._found.actor(int(mine[first])), self._found.actor(int(others[first]))
            index = self._index(memory, int(offset[i]))
            text = messages.race(
                self._element(memory, index), kind, line, KINDS[found.kinds[i]], other_line, me, other,
                code & 3 == 2, int(marks[first]) >> 32 == instant,
                self._order.waits_for_fence(int(mine[first])),
            )  # fmt: skip
            if name == "last-block":
                text += messages.LAST_BLOCK
            race = Race(
                name, text, line, self._found.source_line(line), memory.name, index, me.block, me.thread,
                len(members) * times, other_line, other.block, other.thread,
            )  # fmt: skip
            self._found.add("notes" if name == "last-block" else "races", race, other_line)

    # --------------------------------------------------------------------------- barriers, warps and branches

    def barrier(
        self, line: int, active: Bools, warps: Ints, exited: Bools, name: str = "__syncthreads"
    ) -> None:
        """`__syncthreads()` and its like: `active` lanes arrive, `exited` ones have returned before."""
        active = self._matrix(active, warps)
        here = self._line(line)
        self._come(here, active, warps)
        exists = self._exists[warps % self._per_block]
        live = exists & ~np.broadcast_to(exited, active.shape)
        self._event("barrier", line, active, warps, live)
        at_barrier = np.zeros(self._blocks, dtype=bool)
        at_barrier[warps[active.any(axis=1)] // self._per_block] = True
        blocks = np.flatnonzero(at_barrier)
        if len(blocks) == 0:
            return
        here.counters.barriers += len(blocks)
        self._order.barrier(blocks)
        meeting = at_barrier[warps // self._per_block][:, None]
        self._check_barrier(line, name, active, live & meeting, warps, blocks)
        returned = exists & ~live & meeting
        if returned.any():
            _, who = self._found.example(returned, warps)
            mine = warps // self._per_block == self._found.number(who.block)
            text = messages.early_return(who, name, int(returned[mine].sum()))
            self._found.find("notes", "early-return", line, text, who, returned)

    def _check_barrier(
        self, line: int, name: str, active: Bools, live: Bools, warps: Ints, blocks: Ints
    ) -> None:
        """Every live thread of a block that has threads at a barrier must be there."""
        missing = live & ~active
        absent = 0
        if len(warps) < len(blocks) * self._per_block:  # warps that did not even come
            there = np.zeros((self._blocks, self._per_block), dtype=bool)
            there.flat[warps] = True
            gone = (blocks[:, None] * self._per_block + np.arange(self._per_block))[~there[blocks]]
            if len(gone):
                warps = np.concatenate([warps, gone])
                exists = self._exists[gone % self._per_block]
                missing, live = np.concatenate([missing, exists]), np.concatenate([live, exists])
                absent = len(gone)
        if not missing.any():
            return
        _, who = self._found.example(missing, warps)
        mine = warps // self._per_block == self._found.number(who.block)
        arrived = int(active[mine[: len(mine) - absent]].sum())
        text = messages.barrier_divergence(who, name, arrived, int(live[mine].sum()))
        bad = np.zeros(self._blocks, dtype=bool)
        bad[warps[missing.any(axis=1)] // self._per_block] = True
        self._found.find("barrier_divergence", "barrier-divergence", line, text, who, bad)

    def syncwarp(self, line: int, mask: Array, active: Bools, warps: Ints, exited: Bools) -> None:
        """`__syncwarp(mask)`: orders the lanes of the mask that execute it."""
        active = self._matrix(active, warps)
        self.warp_intrinsic(line, "__syncwarp", mask, active, warps, exited)
        masks = np.broadcast_to(np.asarray(mask, dtype=np.uint32), active.shape)
        waiting = active & _lane_bits(masks, np.arange(LANES))
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
        active = self._matrix(active, warps)
        self._come(self._line(line), active, warps)
        live = self._exists[warps % self._per_block] & ~np.broadcast_to(exited, active.shape)
        masks = np.broadcast_to(np.asarray(mask, dtype=np.uint32), active.shape)
        named = np.bitwise_or.reduce(np.where(active, masks, np.uint32(0)), axis=1)
        missing = _lane_bits(named[:, None], np.arange(LANES)) & live & ~active
        if missing.any():
            i, who = self._found.example(missing, warps)
            lanes = messages.lanes_text(np.flatnonzero(missing[i // LANES]).tolist())
            text = (
                f"the mask {int(named[i // LANES]):#010x} of {name} names lanes of warp "
                f"{who.warp % self._per_block} that do not execute it: {lanes}. {who} is one of them. "
                "Call it where all lanes of the mask pass, or name only those that do."
            )
            self._found.find("warp_sync", "warp-sync", line, text, who, missing)
        outside = active & ~_lane_bits(masks, np.arange(LANES))
        if outside.any():
            i, who = self._found.example(outside, warps)
            text = (
                f"{who} calls {name} with the mask {int(masks.flat[i]):#010x}, which lacks its own lane "
                f"{i % LANES}. The mask must name every lane that calls."
            )
            self._found.find("warp_sync", "warp-sync", line, text, who, outside, other=1)
        if source_lane is not None:
            self._check_source(line, name, np.broadcast_to(source_lane, active.shape), active, warps)

    def lives(self, warps: Ints, exited: Bools) -> Bools:
        """The lanes that are threads of the block and have not returned."""
        lives: Bools = self._exists[warps % self._per_block] & ~exited
        return lives

    def _check_source(self, line: int, name: str, source: Array, active: Bools, warps: Ints) -> None:
        reads = active & (source >= 0)
        answers = np.take_along_axis(active, np.where(reads, source, 0) % LANES, axis=1)
        bad = reads & ~answers
        if bad.any():
            i, who = self._found.example(bad, warps)
            text = (
                f"{who} (lane {i % LANES}) reads lane {int(source.flat[i])} with {name}, but that lane does "
                "not execute it, so the value is undefined. Let the whole warp call it."
            )
            self._found.find("warp_sync", "warp-sync", line, text, who, bad, other=2)

    def fence(self, line: int, active: Bools, warps: Ints) -> None:
        """`__threadfence()`."""
        active = self._matrix(active, warps)
        self._come(self._line(line), active, warps)
        lanes = (warps[:, None] * LANES + np.arange(LANES))[active]
        if len(lanes):
            self._order.fence(lanes)

    def branch(self, line: int, taken: Bools, active: Bools, warps: Ints) -> None:
        """An if, a loop's test or a switch: divergent in each warp whose active lanes disagree."""
        active = self._matrix(active, warps)
        here = self._line(line)
        self._come(here, active, warps)
        taken = np.broadcast_to(taken, active.shape)
        divergent = (active & taken).any(axis=1) & (active & ~taken).any(axis=1)
        here.counters.divergent_branches += int(divergent.sum())

    def count(self, line: int, flops: int, int_ops: int, lanes: int) -> None:
        """`lanes` lanes each do so many operations."""
        counters = self._line(line).counters
        counters.flops += int(flops) * int(lanes)
        counters.int_ops += int(int_ops) * int(lanes)

    def uninitialised(self, line: int, name: str, bad: Bools, warps: Ints) -> None:
        """A variable is read before it was written, in the lanes `bad`."""
        bad = self._matrix(bad, warps)
        if bad.any():
            _, who = self._found.example(bad, warps)
            text = f"{who} reads the variable {name} before it has a value. Give it one where it is declared."
            self._found.find("uninitialised", "uninitialised", line, text, who, bad, name)

    def arithmetic(self, line: int, message: str, bad: Bools, warps: Ints) -> None:
        """Division by zero, in the lanes `bad`."""
        bad = self._matrix(bad, warps)
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

    def endless(self, line: int, why: str, live: Bools, warps: Ints) -> None:
        """A loop in which the lanes `live` are caught was stopped; nothing comes after that."""
        _, who = self._found.example(live, warps)
        text = f"{who} does not come out of this loop: {why}. The report shows what ran until then."
        self._found.find("endless", "endless", line, text, who, live)

    def assertion(self, line: int, condition: str, bad: Bools, warps: Ints) -> Finding:
        """An assert whose condition does not hold in the lanes `bad`; its finding."""
        _, who = self._found.example(bad, warps)
        text = f"{who}: the assertion `{condition}` failed."
        return self._found.find("asserts", "assert", line, text, who, bad, other=condition)

    # ------------------------------------------------------------------------------------------------ helpers

    def _matrix(self, active: Bools, warps: Ints) -> Bools:
        if isinstance(active, np.ndarray) and active.shape == (len(warps), LANES):
            return active
        return np.broadcast_to(np.asarray(active, dtype=bool), (len(warps), LANES))

    def _line(self, line: int, memory: MemoryLike | None = None) -> _Line:
        key = (line, memory.space, memory.name) if memory is not None else (line, "", "")
        if key not in self._lines:
            counters = Counters()
            if memory is not None:
                shape, item = getattr(memory, "shape", ()), memory.dtype.itemsize
                counters = ArrayCounters(array=memory.name, space=memory.space, shape=shape, item=item)
            self._lines[key] = _Line(counters, self._by_lane(np.int32))
        return self._lines[key]

    def _come(self, here: _Line, active: Bools, warps: Ints) -> None:
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
        steps = self._steps()
        span = int(steps.max())
        if span > self._max_span:
            block, thread = divmod(int(steps.argmax()), self._per_block * LANES)
            raise LongThread(self.program, block, thread, self._max_span)
        self._until_checked = self._max_span - span

    def _steps(self) -> Ints:
        """(warps, 32)."""
        steps = self._by_lane(np.int64)
        for kept in self._lines.values():
            steps += kept.visits
        return steps

    def _by_lane(self, dtype: Any) -> Ints:
        return np.zeros((self._blocks * self._per_block, LANES), dtype=dtype)

    def _by_thread(self, lanes: Ints) -> Ints:
        """(blocks, threads of a block) of (warps, 32)."""
        return lanes.reshape(self._blocks, -1)[:, : self._threads]

    def _index(self, memory: MemoryLike, offset: int) -> int:
        return (offset - memory.low) // memory.dtype.itemsize

    def _element(self, memory: MemoryLike, index: int) -> str:
        if getattr(memory, "single", False) and index == 0:
            return memory.name
        return messages.element(memory.name, index, getattr(memory, "shape", None))

    # ------------------------------------------------------------------------------------------------- report

    def report(self, outputs: list[Array | None]) -> Report:
        """All that was found and counted. `outputs`: the array arguments after the run."""
        self._end_shared()
        lines = Lines()
        total = Counters()
        arrays: dict[str, ArrayCounters] = {}
        everything: _Touched = {}
        by_array: dict[str, _Touched] = {}
        exists = np.tile(self._exists.sum(axis=1), self._blocks)
        for number in sorted({line for line, _, _ in self._lines}):
            counters = lines[number] = LineCounters(line=number, source=self._found.source_line(number))
            visits, touched, shared = self._by_lane(np.int32), _Touched(), dict[str, int]()
            for kept in [kept for key, kept in self._lines.items() if key[0] == number]:
                one = kept.counters
                if isinstance(one, ArrayCounters) and one.space in ("global", "shared"):
                    self._finish(one, kept.visits, kept.touched, kept.shared)
                    counters.arrays[one.array] = one
                    whole = ArrayCounters(array=one.array, space=one.space, shape=one.shape, item=one.item)
                    arrays.setdefault(one.array, whole).add(one)
                    _join(by_array.setdefault(one.array, _Touched()), kept.touched)
                counters.add(one)
                visits += kept.visits
                _join(touched, kept.touched)
                shared |= kept.shared
            self._finish(counters, visits, touched, shared)
            most = visits.max(axis=1)
            counters.warp_steps = int(most.sum())
            counters.idle_steps = int((exists * most).sum()) - int(visits.sum())
            _join(everything, touched)
            total.add(counters)
        total.threads, total.warps = self._blocks * self._threads, self._blocks * self._per_block
        total.shared_bytes = self._shared_bytes
        total.unique_bytes = _bytes_of(everything)
        for name, one in arrays.items():
            one.unique_bytes, one.threads, one.warps = _bytes_of(by_array[name]), 0, 0
            one.shared_bytes = max(
                line.arrays[name].shared_bytes for line in lines.values() if name in line.arrays
            )
        findings: dict[str, Any] = {
            name: sorted(found, key=lambda f: (f.kind == "same-value", f.line, f.kind == "warp"))
            for name, found in self._found.sections.items()
        }
        beyond = {(f.line, f.array) for f in findings.get("out_of_bounds", ())}
        if "notes" in findings:  # what leaves the whole array is said there
            findings["notes"] = [
                f for f in findings["notes"] if f.kind != "row" or (f.line, f.array) not in beyond
            ]
        return Report(
            program=self.program, source=self.source, grid=self.grid, block=self.block, outputs=outputs,
            steps_by_thread=self._by_thread(self._steps()), bytes_by_thread=self._by_thread(self._bytes),
            lines=lines, arrays=arrays, seen=self._seen, **findings, **total.totals(),
        )  # fmt: skip

    @staticmethod
    def _finish(counters: Counters, visits: Ints, touched: _Touched, shared: dict[str, int]) -> None:
        """The counters that follow from what is kept beside them."""
        counters.threads = int(np.count_nonzero(visits))
        counters.warps = int(visits.any(axis=1).sum())
        counters.shared_bytes = sum(shared.values())
        counters.unique_bytes = _bytes_of(touched)


def _join(all_bytes: _Touched, more: _Touched) -> None:
    for base, touched in more.items():
        all_bytes[base] = all_bytes[base] | touched if base in all_bytes else touched


def _bytes_of(touched: _Touched) -> int:
    return sum(int(np.count_nonzero(one)) for one in touched.values())


def _lane_bits(masks: Array, lanes: Array) -> Bools:
    bit: Bools = (masks >> lanes.astype(np.uint32)) & np.uint32(1) != 0
    return bit
