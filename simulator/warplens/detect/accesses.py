"""Accesses against the memory that they touch: in bounds, aligned, written before, in order with others."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from warplens.detect.byte_sets import all_set, set_bytes
from warplens.detect.collector import Collector
from warplens.detect.geometry import Geometry, numbers
from warplens.detect.happens_before import HappensBefore, lane_of
from warplens.detect.missing_fences import MissingFences
from warplens.detect.shadow import KINDS, Conflicts, Shadow, bits
from warplens.report import messages
from warplens.report.findings import Finding, Race
from warplens.report.transactions import Bools, Ints, alignment

Array = NDArray[Any]
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
class State:
    """What is kept of one memory: who touched it, and which bytes have been written."""

    memory: MemoryLike  # kept so that no other one gets its id
    shadow: Shadow | None
    stride: int
    written: NDArray[np.uint8] | None
    key: Hashable  # its name to those who tell cells apart
    size: int  # of all copies
    uniform: bool = False  # one copy stands for all blocks: see `uniform_blocks`
    flags: Bools | None = None  # where somebody polls, or updates by an atomic

    def flag(self, position: Ints) -> None:
        if self.flags is None:
            self.flags = np.zeros(self.size, dtype=bool)
        self.flags[position] = True


States = dict[tuple[str, int], State]


class Accesses:
    """The states of all memories, and what is found by them."""

    def __init__(
        self, geometry: Geometry, order: HappensBefore, found: Collector,
        tickets: frozenset[int] | None = None,
    ) -> None:  # fmt: skip
        """`tickets`: the lines of atomics whose result is compared with a count (None: all of them)."""
        self._geometry, self._order, self._found = geometry, order, found
        self._tickets = tickets
        self._volatile: set[int] = set()  # the instants of volatile accesses
        self.signals = MissingFences(order)
        self._made = 0  # how many states
        self._states: States = {}
        self._early: dict[tuple[int, str], tuple[Finding, State, int, int]] = {}  # read before written

    def never_written(self) -> None:
        """Say so, at the end of a launch, where what was read too early was not written later either."""
        for finding, state, position, size in self._early.values():
            assert state.written is not None
            block = position // state.stride * state.stride
            if all_set(state.written, np.array([position]), size)[0]:
                continue
            one, name = _element(state.memory, finding.index or 0), state.memory.name
            some = state.written[block : block + state.stride].any()
            why = messages.UNWRITTEN.format(one) if some else messages.ALL_UNWRITTEN.format(name)
            finding.message = finding.message.replace(messages.GARBAGE["shared"], why)

    def chunk(self, states: States) -> None:
        """Other blocks run, with the shared and local memory of `states`."""
        self._states = {key: state for key, state in self._states.items() if key[0] == "global"} | states

    def of_chunk(self) -> States:
        """The shared and local memory of the blocks that run."""
        return {key: state for key, state in self._states.items() if key[0] != "global"}

    # ----------------------------------------------------------------------------------- where an access goes

    def allowed(
        self, line: int, kind: str, memory: MemoryLike, offset: Ints, size: int, active: Bools, warps: Ints
    ) -> Bools:
        """The active lanes that stay within bounds and are aligned; the others are reported."""
        allowed = active
        bad = active & ((offset < memory.low) | (offset > memory.high - size))
        if bad.any():
            i, who = self._found.example(bad, warps)
            item = memory.dtype.itemsize
            index = _index(memory, int(offset.flat[i]))
            if memory.space == "null":
                text = messages.null(who, kind)
            else:
                text = messages.bounds(
                    _element(memory, index), memory.name, who, kind, index, max(1, size // item),
                    (memory.high - memory.low) // item, memory.nbytes if _by_launch(memory) else None,
                )  # fmt: skip
            self._found.find("out_of_bounds", "out-of-bounds", line, text, who, bad, memory.name, index)
            allowed = allowed & ~bad
        align = alignment(size)
        if align > 1:
            bad = allowed & (((offset + memory.base) & (align - 1)) != 0)
            if bad.any():
                i, who = self._found.example(bad, warps)
                index = _index(memory, int(offset.flat[i]))
                address = int(offset.flat[i]) + memory.base
                text = messages.misaligned(
                    _element(memory, index), who, kind, size, align, address, _by_launch(memory)
                )
                self._found.find("misaligned", "misaligned", line, text, who, bad, memory.name, index)
                allowed = allowed & ~bad
        return allowed

    # ------------------------------------------------------------------------------------------ what it meets

    def remember(
        self, line: int, kind: str, memory: MemoryLike, offset: Ints, size: int, allowed: Bools, warps: Ints,
        value: Value, reads: bool, instant: int, polls: bool | None = None,
    ) -> None:  # fmt: skip
        """What an access does to the state of its memory: what has been written, and what races."""
        if memory.space == "constant":
            return
        lanes, at = numbers(warps), offset.ravel()
        chosen = None if allowed.all() else np.flatnonzero(allowed.ravel())
        if chosen is not None:
            lanes, at = lanes[chosen], at[chosen]
        state = self.state(memory)
        position = at + self._copy(memory, state, lanes)
        if state.written is not None:
            asks = kind if reads else "store"
            self._check_written(line, asks, memory, state, state.written, position, size, lanes, at)
        if state.shadow is not None:
            if isinstance(value, int | float):
                value = np.asarray(value).astype(memory.dtype)
            data = bits(value, chosen, allowed.shape, size) if kind == "store" else None
            if polls is not None:
                self._volatile.add(instant)
            if polls or kind == "atomic":
                state.flag(position)
            if polls is not None or kind == "atomic":
                self._tell(line, kind, state.key, position, lanes, instant)
            found = state.shadow.access(kind, position, size, lanes, instant, data, state.key)
            if found is not None:
                self._without_flags(kind, instant, state, position, found)
                self._without_own(kind, state.key, position, lanes, found)
                flags = None if state.flags is None else state.flags[position]
                self.races(line, kind, memory, at, lanes, instant, found, flags=flags)

    def _tell(self, line: int, kind: str, key: Hashable, position: Ints, lanes: Ints, instant: int) -> None:
        """An atomic or a volatile store may tell others of what was done before, and a volatile load learn
        of it."""
        reads, writes, atomic = kind != "store", kind != "load", kind == "atomic"
        ticket = atomic and line in (self._tickets or ())
        self.signals.flag(instant, key, lanes, position, reads, writes, ticket)
        if self._order.has_fences:
            ticket = atomic and (self._tickets is None or line in self._tickets)
            cells = [(key, cell) for cell in position.tolist()]
            self._order.atomic(instant, lanes, cells, reads, writes, ticket)

    def _without_flags(self, kind: str, instant: int, state: State, position: Ints, found: Conflicts) -> None:
        """What is volatile may meet atomics, and where anybody polls or updates a cell by atomics, also what
        else is volatile: it is a flag. Else it may be data, of which nobody knows who comes first."""
        if not self._volatile or state.flags is None:
            return
        for i in np.flatnonzero(found.marks).tolist():
            both = (kind, instant), (KINDS[found.kinds[i]], int(found.marks[i]) >> 32)
            strong = all(name == "atomic" or when in self._volatile for name, when in both)
            if strong and state.flags[position[i]]:
                found.marks[i] = 0

    def _without_own(self, kind: str, key: Hashable, position: Ints, lanes: Ints, found: Conflicts) -> None:
        """The last block may reset its counter: each cell is updated in one order, which all agree about."""
        old = np.flatnonzero((found.marks != 0) & (found.kinds == KINDS.index("atomic")))
        if kind == "store" and len(old) and self._tickets:
            found.marks[old[self.signals.took_the_last(key, lanes[old], position[old])]] = 0

    def _check_written(
        self, line: int, kind: str, memory: MemoryLike, state: State, written: NDArray[np.uint8],
        position: Ints, size: int, lanes: Ints, at: Ints,
    ) -> None:  # fmt: skip
        if kind != "store":
            bad = ~all_set(written, position, size)
            if bad.any():
                i = int(bad.argmax())
                who = self._found.actor(int(lanes[i]))
                index = _index(memory, int(at[i]))
                text = (
                    f"{who} {messages.DOES[kind]} {_element(memory, index)} before anything was written "
                    f"there. {messages.GARBAGE[memory.space]}."
                )
                finding = self._found.find(
                    "uninitialised", "uninitialised", line, text, who, bad, memory.name, index
                )
                if memory.space == "shared":
                    early = finding, state, int(position[i]), size
                    self._early.setdefault((line, memory.name), early)
        if kind != "load":
            set_bytes(written, position, size)

    def races(
        self, line: int, kind: str, memory: MemoryLike, offset: Ints, lanes: Ints, instant: int,
        found: Conflicts, times: int = 1, flags: Bools | None = None,
    ) -> None:  # fmt: skip
        """Report what races with an access that `times` blocks make in the same way; `flags`: which are to
        flags."""
        racing = np.flatnonzero(found.marks)
        marks, mine, same_value = found.marks[racing], lanes[racing], found.same_value[racing]
        others = lane_of(marks)
        other_lines = self._order.line(marks)
        if not len(racing):
            return
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
            index = _index(memory, int(offset[i]))
            text = messages.race(
                _element(memory, index), kind, line, KINDS[found.kinds[i]], other_line, me, other,
                code & 3 == 2, int(marks[first]) >> 32 == instant,
                self.signals.told(
                    int(mine[first]), int(others[first]), int(marks[first]) >> 32, self._order.now
                ),
            )  # fmt: skip
            volatile = [when in self._volatile for when in (instant, int(marks[first]) >> 32)]
            if flags is not None and flags[i] and volatile[0] != volatile[1]:
                text += messages.HALF_VOLATILE
            if name == "last-block":
                text += messages.LAST_BLOCK
            race = Race(
                name, text, line, self._found.source_line(line), memory.name, index, me.block, me.thread,
                len(members) * times, other_line, other.block, other.thread, kind,
            )  # fmt: skip
            self._found.add("notes" if name == "last-block" else "races", race, other_line)

    # ------------------------------------------------------------------------------------------------- states

    def state(self, memory: MemoryLike) -> State:
        """With a copy of shared memory for each block, of local memory for each lane."""
        key = ("global", memory.base) if memory.space == "global" else (memory.space, id(memory))
        if key not in self._states:
            self._states[key] = self._new(memory, self._copies(memory))
        state = self._states[key]
        if state.uniform:
            self._copy_out(memory, state)
        return state

    def state_for_all(self, memory: MemoryLike) -> State:
        """That of a shared or local memory, where a new one has one copy, which stands for all."""
        key = (memory.space, id(memory))
        if key not in self._states:
            state = self._states[key] = self._new(memory, 1)
            state.uniform = True
            if state.shadow is not None:
                state.shadow.stands_for_all = True
        return self._states[key]

    def _copy_out(self, memory: MemoryLike, state: State) -> None:
        state.uniform = False
        copies = self._copies(memory)
        state.size = state.stride * copies
        if state.written is not None:
            state.written = np.tile(state.written, copies)
        if state.shadow is not None:
            before: Any = memory  # shared memory as it is before this access
            state.shadow.copied_out(copies, self._geometry.lanes, before.contents())

    def _copies(self, memory: MemoryLike) -> int:
        blocks = self._geometry.count
        return {"shared": blocks, "local": blocks * self._geometry.lanes}.get(memory.space, 1)

    def _new(self, memory: MemoryLike, copies: int) -> State:
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
        self._made += 1
        key = ("global", memory.base) if memory.space == "global" else (memory.space, self._made)
        return State(memory, shadow, stride, written, key, stride * copies)

    def _copy(self, memory: MemoryLike, state: State, lanes: Ints) -> Ints | int:
        """Where each lane's copy of the memory begins in its state."""
        first, of_block = self._geometry.first, self._geometry.lanes
        if memory.space == "shared":
            return (lanes // of_block - first) * state.stride
        if memory.space == "local":
            return (lanes - first * of_block) * state.stride
        return 0


def _index(memory: MemoryLike, offset: int) -> int:
    return (offset - memory.low) // memory.dtype.itemsize


def _by_launch(memory: MemoryLike) -> bool:
    """Whether the launch says how long it is: extern __shared__."""
    return bool(getattr(memory, "by_launch", False))


def _element(memory: MemoryLike, index: int) -> str:
    if getattr(memory, "single", False) and index == 0:
        return memory.name
    return messages.element(memory.name, index, getattr(memory, "shape", None))
