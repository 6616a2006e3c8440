"""The threads that run together, and what they do to memory and to each other.

A value that differs between threads is an array with an axis for each coordinate: threads along x, y, z,
blocks along x, y, z; what does not depend on a coordinate has length 1 there. Generated code calls the
methods. `layouts` has the two kinds of lanes, and `watched` the one that records.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from cudasim.engine import endless
from cudasim.engine.atomics import AT, CHANGES, one_by_one
from cudasim.engine.memory import Choice, Index, LanePointer, Local, Shared, Value
from cudasim.engine.printing import Format, Printed
from cudasim.engine.values import Mask, lnot, select, split, wide
from cudasim.errors import EndlessLoop, KernelFault
from cudasim.language.bfloat import bits_of, of_bits
from cudasim.language.tree import Variable
from cudasim.language.types import BFLOAT, UCHAR, USHORT, Record, Scalar
from cudasim.reports.recorder import Recorder
from cudasim.reports.report import Finding

ndarray = np.ndarray
Triple = tuple[int, int, int]
INT64, BOOLEAN = np.dtype(np.int64), np.dtype(np.bool_)


class Launch:
    """What all lanes of a run share."""

    def __init__(
        self,
        name: str,
        source: str,
        grid: Triple,
        block: Triple,
        shared_bytes: int = 0,
        max_steps: int = 1_000_000,
        reverse: bool = False,
        patience: float | None = None,
    ) -> None:
        self.name, self.source = name, source
        self.grid, self.block = grid, block
        self.shared_bytes, self.max_steps, self.reverse = shared_bytes, max_steps, reverse
        self.patience = patience  # seconds, for a loop that does not seem to end
        self.threads = math.prod(block)
        self.warps = -(-self.threads // 32)  # of a block
        self.recorder: Recorder | None = None
        self.changes = 0  # how often memory was changed: a loop that changes nothing never ends
        self.waits = False  # whether a loop of atomics asks for that
        self.printed = Printed()


class Lanes:
    """Threads that run together.

    `shape` is that of a value that differs in all of them, `block_shape` of one that differs between blocks
    only. `order` puts the axes into (bz, by, bx, tz, ty, tx), in which threads are numbered.
    """

    def __init__(
        self,
        launch: Launch,
        first_block: int,
        shape: tuple[int, ...],
        block_shape: tuple[int, ...],
        order: Any,
    ) -> None:
        self.launch, self.first_block = launch, first_block
        self._lay_out(shape, block_shape, order)
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

    def _lay_out(self, shape: tuple[int, ...], block_shape: tuple[int, ...], order: Any) -> None:
        self.shape, self.block_shape, self.order = shape, block_shape, order
        self.back = np.argsort(order)
        self.blocks = math.prod(block_shape)
        self.slots = np.arange(self.blocks).reshape(block_shape)

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
                Shared(variable.name, variable.type, nbytes, dtype, (self.blocks,))
            )
        return found

    def dynamic(self, variable: Variable, dtype: np.dtype[Any]) -> LanePointer:
        """extern __shared__: one memory under all names."""
        found = self.memories.get(0)
        if found is None:
            memory = Shared(variable.name, variable.type, self.launch.shared_bytes, dtype, (self.blocks,))
            memory.by_launch = True
            found = self.memories[0] = LanePointer(memory)
        return found

    def local(self, variable: Variable, nbytes: int, dtype: np.dtype[Any]) -> LanePointer:
        return LanePointer(Local(variable.name, variable.type, nbytes, dtype, self.shape))

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
        memory: Any = p.memory
        dtype = kind.dtype
        index = self._element(p, index, kind.size, mask, line, "load")
        if type(index) is int:
            return self._load_one(memory, index, dtype)
        view = memory.view(dtype)
        if memory.space == "local":
            return np.take_along_axis(view, np.broadcast_to(index, self.shape)[None], 0)[0]
        if memory.space == "shared":
            if self.same_in_blocks(index):
                shape = np.broadcast_shapes(index.shape, self.block_shape)
                return view.take(index.reshape(-1), axis=0).reshape(shape)
            return view[index, self.slots]
        first = run_of(index)
        if first is None:
            return view.take(index)
        return view[first : first + index.size].copy().reshape(index.shape)

    def same_in_blocks(self, value: Value) -> bool:
        """Whether a value is the same in all blocks."""
        if self.blocks == 1 or type(value) is not ndarray:
            return True
        return all([m == 1 for m, n in zip(value.shape, self.block_shape) if n > 1])

    def _load_one(self, memory: Any, index: int, dtype: np.dtype[Any]) -> Value:
        view = memory.view(dtype)
        found = view[index]
        if memory.space == "local":
            return found.copy()
        if memory.space == "shared":
            if self.blocks > 1:
                return found.copy().reshape(self.block_shape)
            found = found[0]
        return found if dtype.kind == "f" else found.item()

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
        view = memory.view(dtype)
        if memory.space == "local":
            if type(index) is int:
                if mask is True:
                    view[index] = value
                else:
                    np.copyto(view[index], value, where=np.broadcast_to(mask, self.shape))
                return
            places = np.broadcast_to(index, self.shape)[None]
            if mask is not True:
                value = select(mask, value, np.take_along_axis(view, places, 0)[0], dtype)
            np.put_along_axis(view, places, np.broadcast_to(value, self.shape)[None], 0)
            return
        if memory.space == "shared":
            if type(index) is ndarray and self.same_in_blocks(index) and self.same_in_blocks(mask):
                self._write_rows(view, index, value, mask)
                return
            if self.blocks > 1:
                self._scatter(view, (index, self.slots), value, mask)
                return
            view = view.reshape(-1)
        if mask is True and type(index) is ndarray and (first := run_of(index)) is not None:
            shape = np.broadcast_shapes(index.shape, np.shape(value))
            if shape == index.shape:
                view[first : first + index.size].reshape(shape)[...] = value
                return
        self._scatter(view, (index,), value, mask)

    def _write_rows(self, view: Any, index: Any, value: Value, mask: Mask) -> None:
        """The same elements of each block's copy: here blocks are the last axes."""
        shapes = [index.shape, np.shape(value), np.shape(mask)]
        threads = [tuple([1 if n > 1 else m for m, n in zip(shape, self.block_shape)]) for shape in shapes]
        inner = np.broadcast_shapes(*threads)
        index = np.broadcast_to(index, inner).reshape(-1)
        if self.same_in_blocks(value):
            value = np.broadcast_to(value, inner).reshape(-1, 1) if type(value) is ndarray else value
        else:
            shape = np.broadcast_shapes(inner, self.block_shape)
            value = np.broadcast_to(value, shape).reshape(index.size, self.blocks)
        if mask is not True:
            chosen = np.broadcast_to(mask, inner).reshape(-1)
            index = index[chosen]
            value = value[chosen] if type(value) is ndarray else value
        if self.launch.reverse:
            index = index[::-1]
            value = value[::-1] if type(value) is ndarray else value
        first = run_of(index)
        if first is None:
            view[index] = value
        else:
            view[first : first + index.size] = value

    def _scatter(self, view: Any, places: tuple[Any, ...], value: Value, mask: Mask) -> None:
        arrays = [*places, value] if mask is True else [*places, value, mask]
        if not any([type(a) is ndarray for a in arrays]):
            view[places] = value
            return
        spread = list(np.broadcast_arrays(*arrays))
        if mask is not True:
            spread = [a[spread[-1]] for a in spread[:-1]]
        if self.launch.reverse:
            spread = [a.reshape(-1)[::-1] for a in spread]
        view[tuple(spread[:-1])] = spread[-1]

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

    # -------------------------------------------------------------------------------------------- copying

    def memcpy(
        self, to: LanePointer, source: LanePointer, nbytes: Value, kind: Scalar, mask: Mask, line: int
    ) -> None:
        """As loads and stores of elements of `kind`; bytes that are left over go one by one."""
        for element, index, lanes in self._pieces(nbytes, kind, mask):
            value = self.load(source, index, element, lanes, line)
            self.store(to, index, value, element, lanes, line)

    def memset(
        self, to: LanePointer, byte: Value, nbytes: Value, kind: Scalar, mask: Mask, line: int
    ) -> None:
        for element, index, lanes in self._pieces(nbytes, kind, mask):
            pattern = sum(1 << 8 * i for i in range(element.size))
            whole = byte.astype(np.uint8).astype(element.dtype) if type(byte) is ndarray else byte & 255
            self.store(to, index, whole * element.dtype.type(pattern), element, lanes, line)

    def _pieces(self, nbytes: Value, kind: Scalar, mask: Mask) -> Iterator[tuple[Scalar, int, Mask]]:
        """The elements of so many bytes: the type and the number of each, and the lanes that have it."""
        most = int(np.max(np.where(mask, nbytes, 0))) if type(nbytes) is ndarray else int(nbytes)
        for i in range(-(-most // kind.size)):
            end = (i + 1) * kind.size
            whole, partly = split(mask, nbytes >= end)
            if whole is not False:
                yield kind, i, whole
            for j in range(i * kind.size, min(most, end - 1)):
                left, _ = split(partly, nbytes > j)
                if left is not False:
                    yield UCHAR, j, left

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
        launch = self.launch
        recorder = Recorder(launch.name, launch.source, launch.grid, launch.block)
        recorder.chunk(self.first_block, self.blocks)
        recorder.access(line, kind, p.memory, self.rows(offset), size, self.active(mask), self.warp_numbers())
        found = recorder.report([])
        for finding in [*found.out_of_bounds, *found.misaligned]:
            raise KernelFault(f"{launch.name}:{line}: {finding.message}", finding)
        raise AssertionError(f"line {line}: an access was refused that is in bounds")

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

    def rows(self, value: Value, dtype: np.dtype[Any] = INT64) -> np.ndarray[Any, Any]:
        """A value as a matrix of warps and lanes, (W, 32); what is beyond the last thread is 0."""
        whole = self.linear(value, dtype).reshape(self.blocks, -1)
        threads = whole.shape[1]
        if threads % 32:
            out = np.zeros((self.blocks, -(-threads // 32) * 32), dtype)
            out[:, :threads] = whole
            whole = out
        return whole.reshape(-1, 32)

    def linear(self, value: Value, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """A value for each thread, in the order of their numbers."""
        return np.broadcast_to(np.asarray(value, dtype), self.shape).transpose(self.order).reshape(-1)

    def spread(self, rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The other way round: (W, 32) as a value over lanes."""
        threads = math.prod(self.shape) // self.blocks
        return self.unlinear(rows.reshape(self.blocks, -1)[:, :threads])

    def unlinear(self, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """What `linear` gives, over lanes again."""
        return values.reshape([self.shape[i] for i in self.order]).transpose(self.back)

    def active(self, mask: Mask) -> np.ndarray[Any, Any]:
        """A mask as (W, 32)."""
        return self.rows(mask, BOOLEAN)

    def warp_numbers(self) -> np.ndarray[Any, Any]:
        """The number of each warp, counted through the whole grid."""
        return self.first_block * self.launch.warps + np.arange(self.blocks * self.launch.warps)

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
        own = np.arange(32)
        by, width = self.rows(wide(by)) & 31, self.rows(wide(width))
        start = own & ~(width - 1)
        if name == "__shfl_sync":
            source = start | by & width - 1
        elif name == "__shfl_up_sync":
            source = own - by
            source = np.where(source < start, own, source)
        elif name == "__shfl_down_sync":
            source = own + by
            source = np.where(source >= start + width, own, source)
        else:
            source = own ^ by
            source = np.where(source >= start + width, own, source)
        if self.recorder:
            self._watch_warp(name, lanes, mask, line, source)
        return self.spread(np.take_along_axis(self.rows(value, kind.dtype), source, 1))

    def vote(self, name: str, lanes: Value, value: Value, mask: Mask, line: int) -> Value:
        """__ballot_sync, __any_sync, __all_sync over the lanes that take part; __activemask."""
        if self.recorder and name != "__activemask":
            self._watch_warp(name, lanes, mask, line, None)
        active = self.active(mask)
        masks = self.rows(wide(lanes)) & 0xFFFF_FFFF
        chosen = active if name == "__activemask" else (masks >> np.arange(32) & 1).astype(bool) & active
        holds, bits = self.rows(name == "__activemask" or value, BOOLEAN), 1 << np.arange(32)
        yes, no = [(part * bits).sum(1, keepdims=True) & masks for part in (holds & chosen, ~holds & chosen)]
        if name in ("__ballot_sync", "__activemask"):
            found = yes.astype(np.uint32)
        else:
            found = (yes != 0 if name == "__any_sync" else no == 0).astype(np.int32)
        return self.spread(found)

    def _watch_warp(self, name: str, lanes: Value, mask: Mask, line: int, source: Any) -> None:
        assert self.recorder
        asked = self.rows(wide(lanes)).astype(np.uint32)
        self.recorder.warp_intrinsic(
            line, name, asked, self.active(mask), self.warp_numbers(), self.active(self.exited), source
        )

    # -------------------------------------------------------------------------------------- within a block

    def votes(self, value: Value, mask: Mask) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Of each block, in how many lanes of `mask` something holds, and in how many it does not."""
        holds = self.linear(value != 0 if type(value) is ndarray else bool(value), BOOLEAN)
        active = self.linear(mask, BOOLEAN)
        yes, no = [(part & active).reshape(self.blocks, -1).sum(1) for part in (holds, ~holds)]
        return yes, no

    def block_vote(self, name: str, value: Value, mask: Mask) -> Value:
        """__syncthreads_count and its like, of all threads of a block at once."""
        found = outcome(name, *self.votes(value, mask))
        return int(found[0]) if self.blocks == 1 else found.astype(np.int32).reshape(self.block_shape)

    # ------------------------------------------------------------------------------------- said on the way

    def printf(self, text: Format, values: tuple[Value, ...], mask: Mask) -> None:
        """One text for each lane of `mask`, in the order of their numbers."""
        printed = self.launch.printed
        lanes = np.flatnonzero(self.linear(mask, BOOLEAN))
        if self.launch.reverse:
            lanes = lanes[::-1]
        rows = [self.linear(v, v.dtype) if type(v) is ndarray else v for v in values]
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
        launch = self.launch
        recorder = self.recorder
        if recorder is None:
            recorder = Recorder(launch.name, launch.source, launch.grid, launch.block)
            recorder.chunk(self.first_block, self.blocks)
        bad = self.rows(wrong, BOOLEAN) & self.active(mask)
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
        view = memory.view(dtype)
        if memory.space == "local":
            old = np.take_along_axis(view, np.broadcast_to(index, self.shape)[None], 0)[0]
            new = CHANGES[name](old, *[np.asarray(v, dtype) for v in values])
            self._write(memory, index, new, dtype, mask)
            return old
        if memory.space == "shared":
            index = index * self.blocks + self.slots
            view = view.reshape(-1)
        places = self.linear(index, INT64)
        given = [
            self.linear(v, dtype) if type(v) is ndarray else np.broadcast_to(dtype.type(v), places.shape)
            for v in values
        ]
        chosen = None
        if mask is not True:
            chosen = self.linear(mask, BOOLEAN)
            places = places[chosen]
            given = [v[chosen] if v.strides[0] else v[: len(places)] for v in given]
        if self.launch.reverse:
            places, given = places[::-1], [v[::-1] for v in given]
        before = view[places] if self.launch.waits else None
        if wanted or name not in AT:
            old = one_by_one(name, view, places, given)
        else:
            AT[name](view, places, given[0])
            old = None
        if before is None or not np.array_equal(before, view[places]):
            self.launch.changes += 1
        if not wanted or old is None:
            return None
        if self.launch.reverse:
            old = old[::-1]
        if chosen is not None:
            out = np.zeros(len(chosen), dtype)
            out[chosen] = old
            old = out
        return self.unlinear(old)

    # ----------------------------------------------------------------------------------------------- loops

    def look(
        self, line: int, steps: int, seen: Any, live: Mask, state: Any, changes: int, test: Any
    ) -> tuple[int, Any]:
        """A look at a loop that has run `steps` times (`endless.look`): when the next one is due, and what is
        kept for it. Raises where the loop has to be stopped."""
        launch = self.launch
        seen, repeats, hope = endless.look(seen, steps, live, state, test, changes, launch.max_steps)
        if repeats:
            why = "nothing that its end depends on changes any more: it seems never to end"
        elif steps >= launch.max_steps:
            why = f"it has run {launch.max_steps:,} times (max_steps): it seems never to end"
        elif (
            launch.patience is None
            or hope
            or steps < endless.UNHURRIED
            or time.perf_counter() - seen.begun < launch.patience
        ):
            return endless.next_look(steps, launch.max_steps), seen
        else:
            told = f"it has run {steps:,} times in more than {launch.patience:g} s (patience)"
            why = f"{told}: it seems never to end"
        self.endless(line, live, why)
        raise AssertionError("unreachable")

    def endless(
        self,
        line: int,
        live: Mask,
        why: str = "an iteration changes nothing, so it never ends (no other thread runs while it waits)",
    ) -> None:
        """Raise for a loop that never ends, in which the lanes `live` are."""
        launch = self.launch
        text = launch.source.splitlines()[line - 1].strip() if launch.source else ""
        told = f"{launch.name}:{line}: this loop was stopped, {why}: {text}"
        raise EndlessLoop(told, line, why, self.active(live), self.warp_numbers())


def _scalar(dtype: np.dtype[Any]) -> Scalar:
    return Scalar(dtype.name, dtype, 0)


def outcome(name: str, yes: Any, no: Any) -> Any:
    """What a barrier that counts gives, of the numbers of threads for which something holds and does not."""
    return yes if name == "__syncthreads_count" else yes > 0 if name == "__syncthreads_or" else no == 0


def run_of(index: Any) -> int | None:
    """Where a run of neighbours begins (first, first + 1, ... in memory); None for anything else."""
    n = index.size
    if n < 2:
        return None
    flat = index.reshape(-1)
    first = int(flat[0])
    if int(flat[-1]) - first != n - 1 or first < 0 or int(flat[1]) != first + 1:
        return None
    return first if bool((flat[1:] - flat[:-1] == 1).all()) else None
