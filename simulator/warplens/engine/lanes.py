"""The threads that run together, and what they do to memory and to each other: what generated code calls.

`layouts` has the two kinds of lanes, and `watched` the one that records.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from warplens.detect.recorder import Recorder
from warplens.engine import endless
from warplens.engine.access import Access
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

    # --------------------------------------------------------------------------------------------- memory

    def load(self, p: LanePointer, index: Value, kind: Scalar | Record, mask: Mask, line: int) -> Value:
        """The element `index` from p, counted in elements of `kind`: a scalar, or a vector in one access."""
        if type(p) is not LanePointer:
            return self._each(p, lambda q, m: self.load(q, index, kind, m, line), mask, kind)
        return self.access(Access("load", p, index, kind, mask, line))

    def store(
        self, p: LanePointer, index: Value, value: Value, kind: Scalar | Record, mask: Mask, line: int
    ) -> None:
        """Write `value` into the element `index` from p. Of several lanes the last one wins."""
        if type(p) is not LanePointer:
            self._each(p, lambda q, m: self.store(q, index, value, kind, m, line), mask, None)
            return
        self.access(Access("store", p, index, kind, mask, line, (value,)))

    def atomic(
        self, name: str, p: LanePointer, index: Value, values: tuple[Value, ...], kind: Scalar, mask: Mask,
        wanted: bool, line: int,
    ) -> Value:  # fmt: skip
        """Each lane in turn changes its element; the old ones are returned where they are `wanted`."""
        if type(p) is not LanePointer:
            return self._each(
                p, lambda q, m: self.atomic(name, q, index, values, kind, m, True, line), mask, kind
            )
        return self.access(Access("atomic", p, index, kind, mask, line, values, name, wanted))

    def access(self, access: Access) -> Value:
        """All loads, stores and atomics come through here; gives what was in memory, where somebody asks."""
        element, lanes = self._locate(access)
        if access.action == "load":
            return self._read(access, element, lanes)
        if lanes is False:
            return 0
        if access.action == "atomic":
            return self._update(access, element, lanes)
        self.launch.changes += 1
        self._write(access, element, lanes)
        return None

    def _locate(self, access: Access) -> tuple[Index, Mask]:
        """The number of the element in memory, some valid one in lanes that take no part; and the lanes that
        may go on. Raises where a lane of the mask may not."""
        pointer, mask, size = access.pointer, access.mask, access.kind.size
        index, offset = wide(access.index), pointer.offset
        memory: Any = pointer.memory
        if type(offset) is int and not offset % size:
            if offset:
                index = index + offset // size
        else:
            offset = offset + index * size
            odd = offset & size - 1  # sizes are powers of two
            if self._any(odd != 0, mask):
                self._fault(access, offset)
            index = offset >> size.bit_length() - 1
        low, high = -(-memory.low // size), memory.high // size
        if type(index) is int:
            if not low <= index < high:
                self._fault(access, index * size)
            return index, mask
        if not index.size:
            return index, mask
        if index.min() >= low and index.max() < high:
            return index, mask
        if mask is not True:
            index = np.where(mask, index, low)
            if low < high and index.min() >= low and index.max() < high:
                return index, mask
        self._fault(access, index * size)

    def _read(self, access: Access, element: Index, lanes: Mask) -> Value:
        axes, memory, kind = self.axes, access.pointer.memory, access.kind
        if kind is BFLOAT:
            return of_bits(read(axes, memory, element, USHORT.dtype))
        if isinstance(kind, Scalar):
            return read(axes, memory, element, kind.dtype)
        parts = enumerate(access.parts)
        values = [(part, read(axes, memory, access.part(element, i), part.stored)) for i, part in parts]
        return tuple([of_bits(value) if part is BFLOAT else value for part, value in values])

    def _write(self, access: Access, element: Index, lanes: Mask) -> None:
        memory, reverse = access.pointer.memory, self.launch.reverse
        for i, (value, dtype) in enumerate(access.stored):
            write(self.axes, memory, access.part(element, i), value, dtype, lanes, reverse)

    def _update(self, access: Access, element: Index, lanes: Mask) -> Value:
        """An atomic operation; those of bfloat16 work on its bits."""
        (kind,), name, values = access.parts, access.operation, access.values
        if kind is BFLOAT:
            name, values = f"{name} bf16", tuple([bits_of(value) for value in values])
        old = atomic(
            self.axes, self.launch, name, access.memory, element, values, kind.stored, lanes, access.wanted
        )
        return of_bits(old) if kind is BFLOAT and old is not None else old

    # -------------------------------------------------------------------------------------------- checking

    def _any(self, condition: Any, mask: Mask) -> bool:
        return bool(np.any(condition if mask is True else condition & mask))

    def _fault(self, access: Access, offset: Index) -> NoReturn:
        """Raise for the first access that is out of bounds or misaligned, in the words of the report."""
        launch, recorder, line = self.launch, self._new_recorder(), access.line
        active = self.axes.active(access.mask)
        recorder.access(
            line, access.action, access.memory, self.axes.rows(offset), access.kind.size, active,
            self.warp_numbers(),
        )  # fmt: skip
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
        kind: Scalar | Record | None,
    ) -> Value:
        """`act` for each memory that the lanes point into; it gives values of `kind` (None: nothing)."""
        assert isinstance(p, Choice)
        value: Value = None
        for i, memory in enumerate(p.memories):
            here = p.which == i
            chosen = here if mask is True else mask & here
            if not chosen.any():
                continue
            chosen = True if chosen.all() else chosen
            part = act(LanePointer(memory, p.offset), chosen)
            if kind is not None:
                value = part if value is None else merged(chosen, part, value, kind)
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


def merged(mask: Mask, new: Value, old: Value, kind: Scalar | Record) -> Value:
    """Values of a scalar or of a vector: the new ones in the lanes of a mask."""
    if isinstance(kind, Scalar):
        return select(mask, new, old, kind.dtype)
    kinds: list[Any] = [field.type for field in kind.fields]
    return tuple([select(mask, a, b, part.dtype) for a, b, part in zip(new, old, kinds)])
