"""The threads that run together, and what they do to memory and to each other: what generated code calls.

`layouts` has the two kinds of lanes, and `watched` the one that records.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from warplens.detect.recorder import Recorder
from warplens.engine import endless
from warplens.engine.atomics import atomic
from warplens.engine.axes import BOOLEAN, Axes
from warplens.engine.elements import read, write
from warplens.engine.launch import Launch
from warplens.engine.memory import Choice, Index, LanePointer, Local, Shared, Value
from warplens.engine.printing import Format
from warplens.engine.scheduler import Wait
from warplens.engine.values import Mask, lnot, select, wide
from warplens.engine.warp_functions import outcome, source_of, voted
from warplens.errors import EndlessLoop, KernelFault
from warplens.language.bfloat import bits_of, of_bits
from warplens.language.tree import Variable
from warplens.language.types import BFLOAT, USHORT, Record, Scalar
from warplens.report.findings import Finding

ndarray = np.ndarray


class Lanes:
    """Threads that run together; `axes` say how a value lies over them."""

    def __init__(
        self,
        launch: Launch,
        first_block: int,
        shape: tuple[int, ...],
        block_shape: tuple[int, ...],
        order: Any,
    ) -> None:
        self.launch, self.first_block = launch, first_block
        self.axes = Axes(shape, block_shape, order)
        self.recorder = launch.recorder
        self.memories: dict[int, LanePointer] = {}
        self.exited: Mask = False
        self.first_look = min(endless.FIRST, launch.max_steps)  # at a loop, in iterations
        self.bdim_x, self.bdim_y, self.bdim_z = launch.block
        self.gdim_x, self.gdim_y, self.gdim_z = launch.grid
        self.tid_x: Value
        self.tid_y: Value
        self.tid_z: Value
        self.bid_x: Value
        self.bid_y: Value
        self.bid_z: Value

    @property
    def rank(self) -> Value:
        """The number of each thread in its block."""
        return self.tid_x + self.bdim_x * (self.tid_y + self.bdim_y * self.tid_z)

    # -------------------------------------------------------------------------------------------- declared

    def shared(self, variable: Variable, nbytes: int, dtype: np.dtype[Any]) -> LanePointer:
        """The block's array of that declaration; all threads get the same."""
        found = self.memories.get(id(variable))
        if found is None:
            found = self.memories[id(variable)] = LanePointer(
                Shared(variable.name, variable.type, nbytes, dtype, (self.axes.blocks,))
            )
        return found

    def dynamic(self, variable: Variable, dtype: np.dtype[Any]) -> LanePointer:
        """extern __shared__: one memory under all names."""
        found = self.memories.get(0)
        if found is None:
            memory = Shared(
                variable.name, variable.type, self.launch.shared_bytes, dtype, (self.axes.blocks,)
            )
            memory.by_launch = True
            found = self.memories[0] = LanePointer(memory)
        return found

    def local(self, variable: Variable, nbytes: int, dtype: np.dtype[Any]) -> LanePointer:
        return LanePointer(Local(variable.name, variable.type, nbytes, dtype, self.axes.shape))

    def exit(self, mask: Mask) -> None:
        """The lanes of `mask` leave the kernel."""
        self.exited = True if mask is True else mask if self.exited is False else self.exited | mask

    # --------------------------------------------------------------------------------------------- reading

    def load(self, p: LanePointer, index: Value, kind: Scalar, mask: Mask, line: int) -> Value:
        """The element `index` from p, counted in elements of `kind`."""
        if kind is BFLOAT:
            return of_bits(Lanes.load(self, p, index, USHORT, mask, line))
        if type(p) is not LanePointer:
            return self._each(p, lambda q, m: self.load(q, index, kind, m, line), mask, kind.dtype)
        index = self._element(p, index, kind.size, mask, line, "load")
        return read(self.axes, p.memory, index, kind.dtype)

    def load_vector(
        self, p: LanePointer, index: Value, record: Record, mask: Mask, line: int
    ) -> tuple[Value, ...]:
        """All fields of a vector such as float4, in one access."""
        if type(p) is not LanePointer:
            kind: Any = record.fields[0].type

            def part(i: int) -> Callable[[LanePointer, Mask], Value]:
                return lambda q, m: self.load_vector(q, index, record, m, line)[i]

            return tuple([self._each(p, part(i), mask, kind.dtype) for i in range(len(record.fields))])
        self._element(p, index, record.size, mask, line, "load", record.align)
        return tuple([self._part(p, index, record, i, mask, line) for i in range(len(record.fields))])

    def _part(self, p: LanePointer, index: Value, record: Record, i: int, mask: Mask, line: int) -> Value:
        """One field of a vector whose bounds have been checked."""
        kind: Any = record.fields[i].type
        count = record.size // kind.size
        step = wide(index) * count + i
        return Lanes.load(self, p, step, kind, mask, line)

    # --------------------------------------------------------------------------------------------- writing

    def store(self, p: LanePointer, index: Value, value: Value, kind: Scalar, mask: Mask, line: int) -> None:
        """Write `value` into the element `index` from p. Of several lanes the last one wins."""
        if kind is BFLOAT:
            Lanes.store(self, p, index, bits_of(value), USHORT, mask, line)
            return
        if type(p) is not LanePointer:
            self._each(p, lambda q, m: self.store(q, index, value, kind, m, line), mask, None)
            return
        index = self._element(p, index, kind.size, mask, line, "store")
        self.launch.changes += 1
        self._write(p.memory, index, value, kind.dtype, mask)

    def _write(self, memory: Any, index: Index, value: Value, dtype: np.dtype[Any], mask: Mask) -> None:
        write(self.axes, memory, index, value, dtype, mask, self.launch.reverse)

    def store_vector(
        self, p: LanePointer, index: Value, value: tuple[Value, ...], record: Record, mask: Mask, line: int
    ) -> None:
        if type(p) is not LanePointer:
            self._each(p, lambda q, m: self.store_vector(q, index, value, record, m, line), mask, None)
            return
        self._element(p, index, record.size, mask, line, "store", record.align)
        self._store_parts(p, index, value, record, mask, line)

    def _store_parts(
        self, p: LanePointer, index: Value, value: tuple[Value, ...], record: Record, mask: Mask, line: int
    ) -> None:
        for i, field in enumerate(record.fields):
            kind: Any = field.type
            Lanes.store(self, p, wide(index) * (record.size // kind.size) + i, value[i], kind, mask, line)

    # -------------------------------------------------------------------------------------------- checking

    def _element(
        self, p: LanePointer, index: Value, size: int, mask: Mask, line: int, kind: str, align: int = 0
    ) -> Index:
        """The number of an element in memory: checked in the lanes of `mask`, some valid one elsewhere."""
        memory: Any = p.memory
        index = wide(index)
        offset = p.offset
        if type(offset) is int and not offset % size:
            if offset:
                index = index + offset // size
        else:
            offset = offset + index * size
            odd = offset & (align or size) - 1  # sizes are powers of two
            if self._any(odd != 0, mask):
                self._fault(p, offset, size, mask, line, kind)
            index = offset >> size.bit_length() - 1
        low, high = -(-memory.low // size), memory.high // size
        if type(index) is int:
            if not low <= index < high:
                self._fault(p, index * size, size, mask, line, kind)
            return index
        if not index.size:
            return index
        if index.min() >= low and index.max() < high:
            return index
        if mask is not True:
            index = np.where(mask, index, low)
            if low < high and index.min() >= low and index.max() < high:
                return index
        self._fault(p, index * size, size, mask, line, kind)

    def _any(self, condition: Any, mask: Mask) -> bool:
        return bool(np.any(condition if mask is True else condition & mask))

    def _fault(self, p: LanePointer, offset: Index, size: int, mask: Mask, line: int, kind: str) -> Any:
        """Raise for the first access that is out of bounds or misaligned, in the words of the report."""
        launch, recorder = self.launch, self._new_recorder()
        recorder.access(
            line, kind, p.memory, self.axes.rows(offset), size, self.axes.active(mask), self.warp_numbers()
        )
        found = recorder.report([])
        for finding in [*found.out_of_bounds, *found.misaligned]:
            raise KernelFault(f"{launch.name}:{line}: {finding.message}", finding)
        raise AssertionError(f"line {line}: an access was refused that is in bounds")

    def _new_recorder(self) -> Recorder:
        """One that finds the words for what went wrong in a run that is not recorded."""
        launch = self.launch
        recorder = Recorder(launch.name, launch.source, launch.grid, launch.block)
        recorder.chunk(self.first_block, self.axes.blocks)
        return recorder

    def _each(
        self,
        p: LanePointer,
        act: Callable[[LanePointer, Mask], Value],
        mask: Mask,
        dtype: np.dtype[Any] | None,
    ) -> Value:
        """`act` for each memory that the lanes point into."""
        assert isinstance(p, Choice)
        value: Value = None
        for i, memory in enumerate(p.memories):
            here = p.which == i
            chosen = here if mask is True else mask & here
            if not chosen.any():
                continue
            chosen = True if chosen.all() else chosen
            part = act(LanePointer(memory, p.offset), chosen)
            if dtype is not None:
                value = part if value is None else select(chosen, part, value, dtype)
        return value

    # -------------------------------------------------------------------------------- lanes as warps of 32

    def warp_numbers(self) -> np.ndarray[Any, Any]:
        """The number of each warp, counted through the whole grid."""
        return self.first_block * self.launch.warps + np.arange(self.axes.blocks * self.launch.warps)

    # --------------------------------------------------------------------------------------- within a warp

    def shuffle(
        self,
        name: str,
        lanes: Value,
        value: Value,
        by: Value,
        width: Value,
        kind: Scalar,
        mask: Mask,
        line: int,
    ) -> Value:
        """What another lane of the warp holds; its own where there is no such lane."""
        source = source_of(name, self.axes.rows(wide(by)) & 31, self.axes.rows(wide(width)))
        if self.recorder:
            self._watch_warp(name, lanes, mask, line, source)
        return self.axes.spread(np.take_along_axis(self.axes.rows(value, kind.dtype), source, 1))

    def vote(self, name: str, lanes: Value, value: Value, mask: Mask, line: int) -> Value:
        """__ballot_sync, __any_sync, __all_sync over the lanes that take part; __activemask."""
        if self.recorder and name != "__activemask":
            self._watch_warp(name, lanes, mask, line, None)
        active = self.axes.active(mask)
        masks = self.axes.rows(wide(lanes)) & 0xFFFF_FFFF
        chosen = active if name == "__activemask" else (masks >> np.arange(32) & 1).astype(bool) & active
        holds = self.axes.rows(name == "__activemask" or value, BOOLEAN)
        found = voted(name, masks, chosen, holds)
        return self.axes.spread(found)

    def _watch_warp(self, name: str, lanes: Value, mask: Mask, line: int, source: Any) -> None:
        assert self.recorder
        asked = self.axes.rows(wide(lanes)).astype(np.uint32)
        self.recorder.warp_intrinsic(
            line,
            name,
            asked,
            self.axes.active(mask),
            self.warp_numbers(),
            self.axes.active(self.exited),
            source,
        )

    # -------------------------------------------------------------------------------------- within a block

    def votes(self, value: Value, mask: Mask) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Of each block, in how many lanes of `mask` something holds, and in how many it does not."""
        holds = self.axes.linear(value != 0 if type(value) is ndarray else bool(value), BOOLEAN)
        active = self.axes.linear(mask, BOOLEAN)
        yes, no = [(part & active).reshape(self.axes.blocks, -1).sum(1) for part in (holds, ~holds)]
        return yes, no

    def block_vote(self, name: str, value: Value, mask: Mask) -> Value:
        """__syncthreads_count and its like, of all threads of a block at once."""
        found = outcome(name, *self.votes(value, mask))
        return (
            int(found[0]) if self.axes.blocks == 1 else found.astype(np.int32).reshape(self.axes.block_shape)
        )

    # ------------------------------------------------------------------------------------- said on the way

    def printf(self, text: Format, values: tuple[Value, ...], mask: Mask) -> None:
        """One text for each lane of `mask`, in the order of their numbers."""
        printed = self.launch.printed
        lanes = np.flatnonzero(self.axes.linear(mask, BOOLEAN))
        if self.launch.reverse:
            lanes = lanes[::-1]
        rows = [self.axes.linear(v, v.dtype) if type(v) is ndarray else v for v in values]
        for lane in lanes.tolist():
            if printed.room < 0:
                return
            printed.add(text.fill(tuple([v[lane] if type(v) is ndarray else v for v in rows])))

    def assertion(self, value: Value, told: tuple[str, str], mask: Mask, line: int) -> None:
        """Raise where a condition does not hold."""
        if found := self.failed(value, told, mask, line):
            launch = self.launch
            x, y = (",".join(map(str, place or ())) for place in (found.block, found.thread))
            text = f"{told[0]}: block: [{x}], thread: [{y}] Assertion `{told[1]}` failed."
            raise KernelFault(f"{launch.name}:{line}: {text}", found)

    def failed(self, value: Value, told: tuple[str, str], mask: Mask, line: int) -> Finding | None:
        """The finding of an assert, where its condition does not hold in a lane of `mask`."""
        wrong = lnot(value)
        if not self._any(wrong, mask) if type(wrong) is ndarray else not wrong:
            return None
        recorder = self.recorder or self._new_recorder()
        bad = self.axes.rows(wrong, BOOLEAN) & self.axes.active(mask)
        return recorder.assertion(line, told[1], bad, self.warp_numbers())

    # --------------------------------------------------------------------------------------------- atomics

    def atomic(
        self,
        name: str,
        p: LanePointer,
        index: Value,
        values: tuple[Value, ...],
        kind: Scalar,
        mask: Mask,
        wanted: bool,
        line: int,
    ) -> Value:
        """Each lane in turn changes its element; the old ones are returned where they are `wanted`."""
        if kind is BFLOAT:
            given = tuple([bits_of(value) for value in values])
            old = self.atomic(f"{name} bf16", p, index, given, USHORT, mask, wanted, line)
            return None if old is None else of_bits(old)
        if type(p) is not LanePointer:
            return self._each(
                p, lambda q, m: self.atomic(name, q, index, values, kind, m, True, line), mask, kind.dtype
            )
        index = self._element(p, index, kind.size, mask, line, "atomic")
        return self._atomic(name, p.memory, index, values, kind.dtype, mask, wanted)

    def _atomic(
        self,
        name: str,
        memory: Any,
        index: Index,
        values: Any,
        dtype: np.dtype[Any],
        mask: Mask,
        wanted: bool,
    ) -> Value:
        return atomic(self.axes, self.launch, name, memory, index, values, dtype, mask, wanted)

    # ----------------------------------------------------------------------------------------------- loops

    def look(
        self, line: int, steps: int, seen: Any, live: Mask, state: Any, changes: int, test: Any
    ) -> tuple[int, Any]:
        """A look at a loop that has run `steps` times (`endless.look`): when the next one is due, and what is
        kept for it. Raises where the loop has to be stopped."""
        launch = self.launch
        most, patience = launch.max_steps, launch.patience
        seen, stop = endless.look(seen, steps, live, state, test, changes, most, patience)
        if stop:
            self.stop_loop(line, live, stop.why, limit=stop.limit)
        return endless.next_look(steps, most), seen

    def waits(self, line: int, live: Mask, still: bool) -> Wait:
        """What a loop gives to others that it has gone round in for nothing."""
        return Wait(self, line, live, still, self.launch.changes)

    def stop_loop(
        self,
        line: int,
        live: Mask,
        why: str = "an iteration changes nothing, so it never ends",
        error: type[EndlessLoop] = EndlessLoop,
        limit: str = "",
    ) -> None:
        """Raise for a loop that never ends, in which the lanes `live` are."""
        launch = self.launch
        text = launch.source.splitlines()[line - 1].strip() if launch.source else ""
        told = f"{launch.name}:{line}: this loop was stopped, {why}: {text}"
        raise error(told, line, why, self.axes.active(live), self.warp_numbers(), limit)


def _scalar(dtype: np.dtype[Any]) -> Scalar:
    return Scalar(dtype.name, dtype, 0)
