"""The schedules of warps, for many blocks at once: warp 0 of all to its barrier, then warp 1, and so on.

A schedule says in which order the warps of a block run, and that its blocks come one after the other. Blocks
that do not touch each other's global memory give the same bits side by side, and far sooner. Whether they do
is watched, never guessed: `ConflictDetector` knows of each cell that is written which block touched it. Where
blocks meet (or one of them fails, or they part at a barrier), memory is rolled back, and the blocks run one
by one, those after them as well. Only these meetings are harmless:

- integer atomics whose old value nobody wants, all of one sort, commute;
- atomics of one instruction come in the order of the blocks, as they do one by one.

Memory: a copy of the arrays that are written, and 2 bytes for each of their elements (4 more where atomics
are), of at most MOST_BYTES = 128 MB, and at most 64 MB of shared memory; a launch that needs more runs one by
one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from warplens.engine.access import Access
from warplens.engine.axes import INT64, Axes
from warplens.engine.generate import Code
from warplens.engine.lanes import Lanes
from warplens.engine.launch import Launch, Triple
from warplens.engine.layouts import Warp
from warplens.engine.memory import Global, Index, LanePointer, Value
from warplens.engine.values import Mask
from warplens.engine.warp_functions import outcome
from warplens.report.transactions import alignment

MOST_BLOCKS = 2048  # of a box; a block's number fits 16 bits
MOST_SHARED = MOST_LOCAL = 1 << 26  # bytes of all blocks of a box
MOST_BYTES = 1 << 27
SEVERAL, ATOMIC = (
    -32768,
    32767,
)  # what `ConflictDetector` says of a cell: several blocks read it; only atomics came
COMMUTE = {"atomicAdd": 1, "atomicSub": 1, "atomicMax": 2, "atomicMin": 3, "atomicAnd": 4, "atomicOr": 5,
           "atomicXor": 6}  # fmt: skip
ndarray = np.ndarray


class ConflictError(Exception):
    """Blocks cannot run side by side; `retry`: they may, now that it is known what is written."""

    def __init__(self, retry: bool = False) -> None:
        super().__init__()
        self.retry = retry


class ConflictDetector:
    """Who touches which global memory in one box of blocks. `written`: the bases of what any box writes."""

    def __init__(self, written: set[int]) -> None:
        self.written = written
        self._loaded: set[int] = set()
        self._before: dict[int, tuple[Any, Any]] = {}  # by base: the bytes, and a copy of them
        self._tables: dict[int, np.ndarray[Any, Any]] = {}
        self._tags: dict[int, np.ndarray[Any, Any]] = {}
        self._units: dict[int, int] = {}
        self._bytes = self._instructions = 0

    def roll_back(self) -> None:
        """Memory as it was before the box."""
        for memory, before in self._before.values():
            memory[...] = before

    # ----------------------------------------------------------------------------------------------- accesses

    def access(self, access: Access, lanes: Lanes) -> None:
        """Raises where blocks meet in an access."""
        if access.action == "load":
            self._load(access, lanes)
        elif access.action == "store":
            self._store(access, lanes)
        else:
            self._atomic(access, lanes)

    def _load(self, access: Access, lanes: Lanes) -> None:
        memory = access.memory
        if memory.base not in self.written:
            self._loaded.add(memory.base)
            return
        table, cells, block = self._cells(access, lanes)
        kept = table[cells]
        others = (kept != block) & (kept != -block)
        if not others.any():
            return
        if (kept[others] > 0).any():
            raise ConflictError()
        table[cells[others & (kept != 0)]] = SEVERAL
        fresh = kept == 0
        cells, block = cells[fresh], block[fresh]
        table[cells] = -block
        table[cells[table[cells] != -block]] = SEVERAL

    def _store(self, access: Access, lanes: Lanes) -> None:
        self._writes(access.memory)
        table, cells, block = self._cells(access, lanes)
        kept = table[cells]
        if not ((kept == 0) | (kept == block) | (kept == -block)).all():
            raise ConflictError()
        table[cells] = block
        if (table[cells] != block).any():  # two blocks in this very instruction
            raise ConflictError()

    def _atomic(self, access: Access, lanes: Lanes) -> None:
        (kind,), base = access.parts, access.memory.base
        self._writes(access.memory)
        table, cells, block = self._cells(access, lanes)
        kept = table[cells]
        tag = 0 if access.wanted or kind.is_float else COMMUTE.get(access.operation, 0)
        if tag:
            tags = self._tags_of(base)
            if not ((kept == 0) | (kept == ATOMIC) & (tags[cells] == tag)).all():
                raise ConflictError()
            table[cells], tags[cells] = ATOMIC, tag
            return
        if not ((kept == 0) | (kept == block) | (kept == -block)).all():
            raise ConflictError()
        table[cells] = block
        met = table[cells] != block
        if met.any():
            self._instructions += 1
            table[cells[met]] = ATOMIC
            self._tags_of(base)[cells[met]] = -self._instructions  # equal to no other instruction's

    # --------------------------------------------------------------------------------------------- the tables

    def _writes(self, memory: Global) -> None:
        base = memory.base
        if base not in self.written:
            self.written.add(base)
            if base in self._loaded:  # by whom, nobody has watched
                raise ConflictError(retry=True)
        if base not in self._before:
            self._take(memory.bytes.nbytes)
            self._before[base] = memory.bytes, memory.bytes.copy()

    def _take(self, nbytes: int) -> None:
        self._bytes += nbytes
        if self._bytes > MOST_BYTES:
            raise ConflictError()

    def _cells(
        self, access: Access, lanes: Lanes
    ) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """The table of a memory, and each cell that is touched with the number of the block, from 1 on."""
        memory, size, mask = access.memory, access.kind.size, access.mask
        spread = np.broadcast_arrays(np.asarray(access.offset, INT64), lanes.axes.slots, np.asarray(mask))
        at, slots = spread[0].reshape(-1), spread[1].reshape(-1)
        if mask is not True:
            chosen = spread[2].reshape(-1)
            at, slots = at[chosen], slots[chosen]
        if not at.size or at.min() < memory.low or at.max() > memory.high - size:
            raise ConflictError()  # one by one it is seen who is first
        unit = alignment(size)
        if ((at + memory.base) & (unit - 1)).any():
            raise ConflictError()
        base = memory.base
        table = self._tables.get(base)
        if table is None:
            self._units[base] = unit
            length = -(-memory.nbytes // unit)
            self._take(2 * length)
            table = self._tables[base] = np.zeros(length, np.int16)
        elif unit < self._units[base]:
            times = self._units[base] // unit
            for tables in (self._tables, self._tags):
                if base in tables:
                    self._take((times - 1) * tables[base].nbytes)
                    tables[base] = np.repeat(tables[base], times)
            self._units[base], table = unit, self._tables[base]
        parts = size // self._units[base]
        cells = at // self._units[base]
        block = (slots + 1).astype(np.int16)
        if parts > 1:
            cells = (cells[:, None] + np.arange(parts)).reshape(-1)
            block = np.repeat(block, parts)
        return table, cells, block

    def _tags_of(self, base: int) -> np.ndarray[Any, Any]:
        if base not in self._tags:
            self._take(4 * len(self._tables[base]))
            self._tags[base] = np.zeros(len(self._tables[base]), np.int32)
        return self._tags[base]


# ------------------------------------------------------------------------------------------------ the warps


class BatchedWarp(Warp):
    """The same warp of each block of a box; the axes are the threads of a warp, and blocks along z, y, x."""

    def __init__(
        self,
        launch: Launch,
        first: Triple,
        count: Triple,
        number: int,
        memories: dict[int, LanePointer],
        ballots: list[Any],
        touched: ConflictDetector,
    ) -> None:
        super().__init__(launch, first, number, memories, ballots)
        self.touched = touched
        lengths = count[::-1]
        self.axes = Axes((*self.axes.shape, *lengths), (1, *lengths), np.array([1, 2, 3, 0]))

        def across(value: Value) -> Value:
            return value.reshape(-1, 1, 1, 1) if type(value) is ndarray else value

        def along(axis: int) -> Value:
            sizes = [1, 1, 1, 1]
            sizes[3 - axis] = count[axis]
            numbers = np.arange(first[axis], first[axis] + count[axis], dtype=np.uint32)
            return first[axis] if count[axis] == 1 else numbers.reshape(sizes)

        self.tid_x, self.tid_y, self.tid_z = across(self.tid_x), across(self.tid_y), across(self.tid_z)
        self.bid_x, self.bid_y, self.bid_z = along(0), along(1), along(2)

    def all_here(self, mask: Mask) -> bool:
        """Whether each block has a lane in a mask."""
        if type(mask) is not ndarray:
            return bool(mask)
        return bool(np.broadcast_to(mask, self.axes.shape).any(0).all())

    def vote_in_block(self, value: Value, mask: Mask) -> int:
        number = self.voted
        self.voted += 1
        if number == len(self.ballots):
            self.ballots.append([0, 0])
        both: Any = zip(self.ballots[number], self.votes(value, mask))
        self.ballots[number] = [before + more for before, more in both]
        return number

    def outcome(self, name: str, number: int) -> Any:
        return outcome(name, *self.ballots[number]).astype(np.int32).reshape(self.axes.block_shape)

    # ----------------------------------------------------------------------------------- who touches what

    def _locate(self, access: Access) -> tuple[Index, Mask]:
        if access.memory.space == "global":
            self.touched.access(access, self)
        return super()._locate(access)


class FirstWarp(Warp):
    """A warp of the block that comes first, by itself: it shows what the kernel writes."""

    def __init__(self, *args: Any, written: set[int]) -> None:
        super().__init__(*args)
        self._written = written

    def _locate(self, access: Access) -> tuple[Index, Mask]:
        if access.action != "load" and access.memory.space == "global":
            self._written.add(access.memory.base)
        return super()._locate(access)


# ------------------------------------------------------------------------------------------------- the boxes


def boxes(grid: Triple, most: int, reverse: bool) -> Iterator[tuple[Triple, Triple]]:
    """The grid in boxes (first, count) of at most so many blocks, in the order of the schedule; the first box
    is the block that comes first."""
    gx, gy, gz = grid
    parts = [
        ((0, 0, 0), (1, 1, 1)), ((1, 0, 0), (gx - 1, 1, 1)), ((0, 1, 0), (gx, gy - 1, 1)),
        ((0, 0, 1), (gx, gy, gz - 1)),
    ]  # fmt: skip
    for (x0, y0, z0), (nx, ny, nz) in parts:
        if not nx * ny * nz:
            continue
        dx = min(nx, most)
        dy = min(ny, most // dx) if dx == nx else 1
        dz = min(nz, most // (dx * dy)) if dx * dy == nx * ny else 1
        for z in range(0, nz, dz):
            for y in range(0, ny, dy):
                for x in range(0, nx, dx):
                    first = (x0 + x, y0 + y, z0 + z)
                    count = (min(dx, nx - x), min(dy, ny - y), min(dz, nz - z))
                    if reverse:
                        first = tuple([g - f - c for g, f, c in zip(grid, first, count)])  # type: ignore[assignment]
                    yield first, count


def most_blocks(shared_bytes: int, local_bytes: int) -> int:
    """How many blocks a box may have."""
    fits = [MOST_SHARED // max(1, shared_bytes), MOST_LOCAL // max(1, 32 * local_bytes)]
    return max(1, min(MOST_BLOCKS, *fits))


def run_box(
    code: Code, launch: Launch, box: tuple[Triple, Triple], arguments: Sequence[Any], written: set[int]
) -> bool:
    """Run the blocks of a box side by side. False: memory is as it was, and they must run one by one."""
    while True:
        touched = ConflictDetector(written)
        try:
            _run(code, launch, box, arguments, touched)
            return True
        except ConflictError as error:
            touched.roll_back()
            if not error.retry:
                return False
        except Exception:  # which one it is that fails first, one by one will show
            touched.roll_back()
            return False


def _run(
    code: Code,
    launch: Launch,
    box: tuple[Triple, Triple],
    arguments: Sequence[Any],
    touched: ConflictDetector,
) -> None:
    memories: dict[int, LanePointer] = {}
    ballots: list[Any] = []
    numbers = range(launch.warps)[:: -1 if launch.reverse else 1]
    warps = [BatchedWarp(launch, *box, number, memories, ballots, touched) for number in numbers]
    if not code.suspends:
        for warp in warps:
            code.run(warp, True, *arguments)
        return
    waiting = [(warp, code.run(warp, True, *arguments)) for warp in warps]
    while waiting:
        going = []
        for warp, steps in waiting:
            mask = next(steps, StopIteration)
            if mask is not StopIteration:
                if not warp.all_here(mask):  # blocks that go different ways
                    raise ConflictError()
                going.append((warp, steps))
        waiting = going
