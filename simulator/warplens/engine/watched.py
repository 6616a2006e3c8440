"""Lanes that record what they do, for a report."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from warplens.detect.recorder import Recorder
from warplens.detect.uniform_blocks import Rows, UniformRecorder
from warplens.engine.access import Access
from warplens.engine.axes import BOOLEAN, INT64, Axes
from warplens.engine.lanes import Lanes, merged
from warplens.engine.layouts import Blocks, Warp
from warplens.engine.memory import Index, LanePointer, Value
from warplens.engine.scheduler import Arrival
from warplens.engine.values import Mask, some, wide
from warplens.language.types import Record
from warplens.report.transactions import alignment

ndarray = np.ndarray


class Recording(Lanes):
    """Lanes every access of which is recorded; a bad one reads 0 or is dropped."""

    recorder: Recorder

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._volatile: bool | None = None  # whether a volatile access polls
        self._inside: dict[int, Any] = {}  # of each end, the value last seen to lie before it
        self._uniform = self.recorder if isinstance(self.recorder, UniformRecorder) else None
        self._boxes: dict[tuple[bool, ...], _Box] = {}
        self._masked: tuple[Any, tuple[bool, ...], Rows | None] = (None, (), None)

    # ----------------------------------------------------------------------------- blocks that stand for all

    def _box(self, *values: Value) -> _Box:
        """Of the blocks, those that stand for all where these values are used: along each axis of blocks
        one, or all if the values differ along it."""
        kept = [False] * 3
        for value in values:
            if type(value) is ndarray and value.size > 1:
                ones = len(self.axes.shape) - value.ndim
                for i, axis in enumerate(self.axes.order[:3]):
                    kept[i] |= axis >= ones and value.shape[axis - ones] > 1
        key = tuple(kept)
        if key not in self._boxes:
            self._boxes[key] = _Box(self, key)
        return self._boxes[key]

    def _rows_uniform(self, mask: Mask, *values: Value) -> tuple[_Box, Rows]:
        box = self._box(mask, *values)
        if mask is True:
            return box, box.everybody
        if self._masked[0] is not mask or self._masked[1] != box.kept:  # a mask mostly comes several times
            active = box.axes.active(mask)
            rows = Rows(active, box.everybody.warps, box.everybody.box, box.everybody.whole_box, False)
            self._masked = (mask, box.kept, rows)
        found = self._masked[2]
        assert found is not None
        return box, found

    def _record_uniform(self, access: Access, offset: Index, size: int) -> bool:
        """Record an access all of which is in bounds and aligned; False where it must be seen closely."""
        memory, mask = access.memory, access.mask
        if self._uniform is None or memory.space == "null":
            return False
        given = offset
        if not _fine(memory, offset, size):
            if mask is True:
                return False
            offset = np.where(mask, offset, memory.low)  # nobody looks at the other lanes
            if not _fine(memory, offset, size):
                return False
        if memory.space in ("shared", "local") and not self._box(mask, offset).one:
            return False
        box, rows = self._rows_uniform(mask, offset)

        def all_rows() -> tuple[Any, Any, Any]:
            return self.axes.rows(given), self.axes.active(mask), self.warp_numbers()

        at = box.axes.rows(offset, INT64)
        return self._uniform.access_uniform(
            access.line, access.action, memory, at, size, rows, all_rows, lambda: self._stored(access)
        )

    def _stored(self, access: Access) -> Any:
        """What a store writes, as rows: a list of them for a vector."""
        if access.action != "store":
            return None
        rows = [self.axes.rows(value, dtype) for value, dtype in access.stored]
        return rows if isinstance(access.kind, Record) else rows[0]

    def _locate(self, access: Access) -> tuple[Index, Mask]:
        """Record an access; gives the element's number (a valid one everywhere) and who may go on."""
        memory, mask, size = access.memory, access.mask, access.kind.size
        if mask is False:
            return 0, False
        offset, volatile, low = access.offset, self._volatile, -(-memory.low // size)
        good: Mask
        if access.action != "atomic" and volatile is None and self._record_uniform(access, offset, size):
            element, good = offset // size, mask
        else:
            reads = access.wanted or access.operation != "atomicExch"
            rows, active, warps = self.axes.rows(offset), self.axes.active(mask), self.warp_numbers()
            fine = self.recorder.access(
                access.line, access.action, memory, rows, size, active, warps, self._stored(access), reads,
                volatile,
            )  # fmt: skip
            element, good = offset // size, self.axes.spread(fine)
            if mask is True and good.all():
                good = True
        if memory.high - memory.low < size or (access.action != "load" and not some(good)):
            return 0, False
        return element if good is True else np.where(good, element, low), good

    def _read(self, access: Access, element: Index, lanes: Mask) -> Value:
        if lanes is False:
            return access.zero
        value = super()._read(access, element, lanes)
        return value if lanes is True else merged(lanes, value, access.zero, access.kind)

    @contextmanager
    def volatile(self, polls: bool) -> Iterator[None]:
        """What is loaded and stored meanwhile is volatile."""
        self._volatile = polls
        yield
        self._volatile = None

    def barrier(self, name: str, mask: Mask, line: int) -> Any:
        if self._uniform and mask is True and self.exited is False:
            self._uniform.barrier_uniform(line, self._rows_uniform(True)[1])
            return None
        active, exited = self.axes.active(mask), self.axes.active(self.exited)
        self.recorder.barrier(line, active, self.warp_numbers(), exited, name)
        return None

    def assertion(self, value: Value, told: tuple[str, str], mask: Mask, line: int) -> None:
        """Recorded; the thread goes on, and what comes of it is seen too."""
        self.failed(value, told, mask, line)

    def syncwarp(self, lanes: Value, mask: Mask, line: int) -> None:
        asked = self.axes.rows(wide(lanes)).astype(np.uint32)
        self.recorder.syncwarp(
            line, asked, self.axes.active(mask), self.warp_numbers(), self.axes.active(self.exited)
        )

    def fence(self, mask: Mask, line: int, within_block: bool) -> None:
        self.recorder.fence(line, self.axes.active(mask), self.warp_numbers(), within_block)

    def branch(self, condition: Value, mask: Mask, line: int) -> None:
        if self._uniform and mask is not False:
            box, rows = self._rows_uniform(mask, condition)
            if type(condition) is ndarray:
                self._uniform.branch_uniform(line, box.axes.active(condition), rows)
            else:
                self._uniform.come_uniform(line, rows)
            return
        self.recorder.branch(
            line, self.axes.rows(condition, BOOLEAN), self.axes.active(mask), self.warp_numbers()
        )

    def count(self, line: int, flops: int, int_ops: int, mask: Mask) -> None:
        if mask is True:
            lanes = math.prod(self.axes.shape)
        else:
            lanes = int(np.count_nonzero(mask)) * (math.prod(self.axes.shape) // mask.size)
        self.recorder.count(line, flops, int_ops, lanes)

    def unset(self, name: str, given: Mask, mask: Mask, line: int) -> None:
        """A variable is read; `given` are the lanes that wrote to it."""
        if given is True:
            return
        bad = self.axes.active(mask) & ~self.axes.active(given)
        if bad.any():
            self.recorder.uninitialised(line, name, bad, self.warp_numbers())

    def divisor(self, value: Value, mask: Mask, line: int) -> None:
        """An integer divisor, about to be divided by."""
        zero = value == 0
        if (zero.any() if type(zero) is ndarray else zero) and self._any(zero, mask):
            bad = self.axes.rows(zero, BOOLEAN) & self.axes.active(mask)
            self.recorder.arithmetic(line, "an integer is divided by 0", bad, self.warp_numbers())

    def row(self, p: LanePointer, index: Value, length: int, mask: Mask, line: int) -> None:
        """An index within a row of `length` elements, which is part of something larger."""
        if (bad := self._outside(index, length, mask)) is not None:
            name = p.memory.name if type(p) is LanePointer else "the array"
            self.recorder.row(line, name, length, self.axes.rows(index), bad, self.warp_numbers())

    def shift(self, by: Value, bits: int, mask: Mask, line: int) -> None:
        """By how much a value of so many bits is shifted."""
        if (bad := self._outside(by, bits, mask)) is not None:
            self.recorder.shift(line, bits, self.axes.rows(by), bad, self.warp_numbers())

    def _outside(self, value: Value, end: int, mask: Mask) -> Any:
        """The lanes of `mask`, (W, 32), in which a value is not 0 to end - 1; None where there are none."""
        if type(value) is not ndarray:
            if 0 <= value < end:
                return None
        elif value is self._inside.get(end):  # threadIdx.x and its like come again and again
            return None
        elif not value.size or (value.min() >= 0 and value.max() < end):
            self._inside[end] = value
            return None
        value = wide(value)
        bad = self.axes.rows((value < 0) | (value >= end), BOOLEAN) & self.axes.active(mask)
        return bad if bad.any() else None


class Watched(Recording, Blocks):
    """Blocks in lockstep.

    What does not depend on a block's number along an axis is recorded once for the blocks along it: see
    `detect.uniform_blocks`.
    """


class WatchedWarp(Recording, Warp):
    """One warp, which comes to a barrier by itself."""

    def barrier(self, name: str, mask: Mask, line: int) -> Arrival:
        return Arrival(line, name, self.axes.active(mask), self.axes.active(self.exited))


class _Box:
    """Some blocks of a chunk: along the axes z, y, x all that there are, or the first one."""

    def __init__(self, lanes: Recording, kept: tuple[bool, ...]) -> None:
        self.kept, axes = kept, lanes.axes
        whole = tuple([axes.shape[axis] for axis in axes.order[:3]])
        z, y, x = [n if keep else 1 for n, keep in zip(whole, kept)]
        self.one = z * y * x == 1
        shape, block_shape = list(axes.shape), list(axes.block_shape)
        for axis, keep in zip(axes.order[:3], kept):
            if not keep:
                shape[axis] = block_shape[axis] = 1
        self.axes = Axes(shape, block_shape, axes.order)
        numbers = np.arange(axes.blocks).reshape(whole)[:z, :y, :x].reshape(-1, 1)
        warps = (lanes.first_block + numbers) * lanes.launch.warps + np.arange(lanes.launch.warps)
        self.everybody = Rows(self.axes.active(True), warps.reshape(-1), (z, y, x), whole, True)


def _fine(memory: Any, offset: Index, size: int) -> bool:
    """Whether all lanes stay in bounds and are aligned, those too that do not take part."""
    odd = (offset + memory.base) & alignment(size) - 1
    if type(offset) is not ndarray:
        return bool(memory.low <= offset <= memory.high - size and not odd)
    return bool(
        offset.size and offset.min() >= memory.low and offset.max() <= memory.high - size and not odd.any()
    )
