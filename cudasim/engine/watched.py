"""Lanes that record what they do, for a report."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cudasim.engine.lanes import BOOLEAN
from cudasim.engine.layouts import Blocks
from cudasim.engine.memory import Index, LanePointer, Value
from cudasim.engine.values import Mask, select, some, wide
from cudasim.language.types import Record, Scalar
from cudasim.reports.recorder import Recorder

ndarray = np.ndarray


class Watched(Blocks):
    """Blocks in lockstep, every access of which is recorded; a bad one reads 0 or is dropped."""

    recorder: Recorder

    def _record(
        self,
        p: LanePointer,
        index: Value,
        size: int,
        mask: Mask,
        line: int,
        kind: str,
        value: Any = None,
        reads: bool = True,
    ) -> tuple[Index, Mask]:
        """Record an access; gives the element's number (a valid one everywhere) and who may go on."""
        memory: Any = p.memory
        index = wide(index)
        offset = index * size + p.offset
        if mask is False:
            return 0, False
        rows = self.rows(offset)
        fine = self.recorder.access(
            line, kind, memory, rows, size, self.active(mask), self.warp_numbers(), value, reads
        )
        good = self.spread(fine)
        if mask is True and good.all():
            return offset // size, True
        low = -(-memory.low // size)
        return np.where(good, offset // size, low), good

    def load(self, p: LanePointer, index: Value, kind: Scalar, mask: Mask, line: int) -> Value:
        if type(p) is not LanePointer:
            return self._each(p, lambda q, m: self.load(q, index, kind, m, line), mask, kind.dtype)
        memory: Any = p.memory
        element, good = self._record(p, index, kind.size, mask, line, "load")
        if memory.high - memory.low < kind.size or good is False:
            return kind.dtype.type(0) if kind.is_float else 0
        value = super().load(LanePointer(memory), element, kind, True, line)
        return value if good is True else select(good, value, kind.dtype.type(0), kind.dtype)

    def load_vector(
        self, p: LanePointer, index: Value, record: Record, mask: Mask, line: int
    ) -> tuple[Value, ...]:
        if type(p) is not LanePointer:
            return super().load_vector(p, index, record, mask, line)
        memory: Any = p.memory
        element, good = self._record(p, index, record.size, mask, line, "load")
        parts = []
        for i, field in enumerate(record.fields):
            kind: Any = field.type
            if memory.high - memory.low < record.size or good is False:
                parts.append(kind.dtype.type(0) if kind.is_float else 0)
                continue
            value = self._part(LanePointer(memory), element, record, i, True, line)
            parts.append(value if good is True else select(good, value, kind.dtype.type(0), kind.dtype))
        return tuple(parts)

    def store(self, p: LanePointer, index: Value, value: Value, kind: Scalar, mask: Mask, line: int) -> None:
        if type(p) is not LanePointer:
            self._each(p, lambda q, m: self.store(q, index, value, kind, m, line), mask, None)
            return
        memory: Any = p.memory
        seen = self.rows(value, kind.dtype)
        element, good = self._record(p, index, kind.size, mask, line, "store", seen)
        if some(good):
            self.launch.changes += 1
            self._write(memory, element, value, kind.dtype, good)

    def store_vector(
        self, p: LanePointer, index: Value, value: tuple[Value, ...], record: Record, mask: Mask, line: int
    ) -> None:
        if type(p) is not LanePointer:
            super().store_vector(p, index, value, record, mask, line)
            return
        kinds: list[Any] = [field.type for field in record.fields]
        seen = [self.rows(part, kind.dtype) for part, kind in zip(value, kinds)]
        element, good = self._record(p, index, record.size, mask, line, "store", seen)
        if some(good):
            self._store_parts(LanePointer(p.memory), element, value, record, good, line)

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
        if type(p) is not LanePointer:
            return super().atomic(name, p, index, values, kind, mask, wanted, line)
        reads = wanted or name != "atomicExch"
        element, good = self._record(p, index, kind.size, mask, line, "atomic", reads=reads)
        if not some(good):
            return 0
        return self._atomic(name, p.memory, element, values, kind.dtype, good, wanted)

    def barrier(self, name: str, mask: Mask, line: int) -> None:
        active, exited = self.active(mask), self.active(self.exited)
        self.recorder.barrier(line, active, self.warp_numbers(), exited, name)

    def assertion(self, value: Value, told: tuple[str, str], mask: Mask, line: int) -> None:
        """Recorded; the thread goes on, and what comes of it is seen too."""
        self.failed(value, told, mask, line)

    def syncwarp(self, lanes: Value, mask: Mask, line: int) -> None:
        asked = self.rows(wide(lanes)).astype(np.uint32)
        self.recorder.syncwarp(line, asked, self.active(mask), self.warp_numbers(), self.active(self.exited))

    def fence(self, mask: Mask, line: int) -> None:
        self.recorder.fence(line, self.active(mask), self.warp_numbers())

    def branch(self, condition: Value, mask: Mask, line: int) -> None:
        self.recorder.branch(line, self.rows(condition, BOOLEAN), self.active(mask), self.warp_numbers())

    def count(self, line: int, flops: int, int_ops: int, mask: Mask) -> None:
        if mask is True:
            lanes = self.blocks * self.launch.threads
        else:
            lanes = int(np.count_nonzero(mask)) * (math.prod(self.shape) // mask.size)
        self.recorder.count(line, flops, int_ops, lanes)

    def unset(self, name: str, given: Mask, mask: Mask, line: int) -> None:
        """A variable is read; `given` are the lanes that wrote to it."""
        if given is True:
            return
        bad = self.active(mask) & ~self.active(given)
        if bad.any():
            self.recorder.uninitialised(line, name, bad, self.warp_numbers())

    def divisor(self, value: Value, mask: Mask, line: int) -> None:
        """An integer divisor, about to be divided by."""
        zero = value == 0
        if (zero.any() if type(zero) is ndarray else zero) and self._any(zero, mask):
            bad = self.rows(zero, BOOLEAN) & self.active(mask)
            self.recorder.arithmetic(line, "an integer is divided by 0", bad, self.warp_numbers())
