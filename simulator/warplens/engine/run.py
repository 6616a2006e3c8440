"""Running a kernel: in lockstep, or warp by warp, forward or in reverse; or watched, for a report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from warplens.detect.recorder import Recorder
from warplens.engine.batched_blocks import FirstWarp, boxes, most_blocks, run_box
from warplens.engine.generate import Code
from warplens.engine.lanes import Lanes
from warplens.engine.launch import Launch, Triple
from warplens.engine.layouts import Blocks, Warp
from warplens.engine.memory import LanePointer
from warplens.engine.scheduler import ResidentBlock, run_cooperatively
from warplens.engine.watched import Watched, WatchedWarp

LANES = 65_536  # how many threads run together in lockstep, at least one block
LOCAL_BYTES = 1 << 29  # how much memory the local arrays of these may take
SCHEDULES = ("lockstep", "forward", "reverse")


def chunks(grid: Triple, threads: int, lanes: int = LANES) -> Iterator[tuple[Triple, Triple]]:
    """The grid in boxes of blocks (first, count) that are runs in CUDA's order, x fastest."""
    gx, gy, gz = grid
    most = max(1, lanes // threads)
    if gx > most:
        for z in range(gz):
            for y in range(gy):
                for x in range(0, gx, most):
                    yield (x, y, z), (min(most, gx - x), 1, 1)
    elif gx * gy > most:
        rows = most // gx
        for z in range(gz):
            for y in range(0, gy, rows):
                yield (0, y, z), (gx, min(rows, gy - y), 1)
    else:
        planes = most // (gx * gy)
        for z in range(0, gz, planes):
            yield (0, 0, z), (gx, gy, min(planes, gz - z))


def lanes_of(code: Code) -> int:
    """How many threads run together."""
    return min(LANES, max(1, LOCAL_BYTES // max(1, code.local_bytes)))


def run_lockstep(code: Code, launch: Launch, arguments: Sequence[Any]) -> None:
    """All threads of many blocks together."""
    with np.errstate(all="ignore"):
        for first, count in chunks(launch.grid, launch.threads, lanes_of(code)):
            code.run(Blocks(launch, first, count, code.facts.shares), True, *arguments)


def run_watched(code: Code, launch: Launch, arguments: Sequence[Any], recorder: Recorder) -> None:
    """The same, with every access recorded."""
    launch.recorder = recorder
    if code.facts.spin_waits:
        run_spinning_blocks(code, launch, arguments)
        return
    with np.errstate(all="ignore"):
        for first, count in chunks(launch.grid, launch.threads, lanes_of(code)):
            lanes = Watched(launch, first, count, code.facts.shares)
            recorder.chunk(lanes.first_block, lanes.axes.blocks)
            code.run(lanes, True, *arguments)


def run_alone(code: Code, launch: Launch, arguments: Sequence[Any], at: Triple) -> None:
    """One block, watched by a recorder of a grid of one block."""
    assert launch.recorder is not None
    if code.facts.spin_waits:
        with np.errstate(all="ignore"):
            run_cooperatively(launch, [_resident_block(code, launch, at, arguments, alone=True)])
        return
    launch.recorder.chunk(0, 1)
    lanes = Watched(launch, at, (1, 1, 1), code.facts.shares)
    lanes.first_block = 0
    with np.errstate(all="ignore"):
        code.run(lanes, True, *arguments)


def run_warps(code: Code, launch: Launch, arguments: Sequence[Any]) -> None:
    """One block after the other; in each, one warp after the other from barrier to barrier.

    Blocks that do not touch each other's global memory run side by side: see `batched_blocks`.
    """
    if code.facts.spin_waits:
        run_spinning_blocks(code, launch, arguments)
        return
    together = not code.facts.prints
    most = (
        most_blocks(code.facts.static_shared_bytes + launch.shared_bytes, code.local_bytes) if together else 1
    )
    written: set[int] = set()
    with np.errstate(all="ignore"):
        for number, box in enumerate(boxes(launch.grid, most, launch.reverse)):
            if together and number and math.prod(box[1]) > 1:
                together = run_box(code, launch, box, arguments, written)
                if together:
                    continue
            for block in blocks_of(box, launch.reverse):
                run_block(code, launch, block, arguments, None if number else written)


def run_spinning_blocks(code: Code, launch: Launch, arguments: Sequence[Any]) -> None:
    """Where threads wait for others: who waits lets all others go on."""
    blocks = (
        block for box in boxes(launch.grid, 1, launch.reverse) for block in blocks_of(box, launch.reverse)
    )
    with np.errstate(all="ignore"):
        run_cooperatively(launch, (_resident_block(code, launch, block, arguments) for block in blocks))


def _resident_block(
    code: Code, launch: Launch, at: Triple, arguments: Sequence[Any], alone: bool = False
) -> ResidentBlock:
    """A block that has not begun; `alone`: its recorder knows of one block."""
    memories: dict[int, LanePointer] = {}
    ballots: list[Any] = []
    parts: list[Lanes]
    if code.by_warp:
        make = Warp if launch.recorder is None else WatchedWarp
        numbers = range(launch.warps)[:: -1 if launch.reverse else 1]
        parts = [make(launch, at, number, memories, ballots) for number in numbers]
    else:
        parts = [Watched(launch, at, (1, 1, 1), code.facts.shares)]
    for part in parts if alone else ():
        part.first_block = 0
    return ResidentBlock(launch, [(part, code.run(part, True, *arguments)) for part in parts])


def blocks_of(box: tuple[Triple, Triple], reverse: bool) -> list[Triple]:
    """The blocks of a box, in the order of the schedule."""
    (x0, y0, z0), (nx, ny, nz) = box
    blocks = [(x, y, z) for z in range(z0, z0 + nz) for y in range(y0, y0 + ny) for x in range(x0, x0 + nx)]
    return blocks[::-1] if reverse else blocks


def run_block(
    code: Code, launch: Launch, block: Triple, arguments: Sequence[Any], written: set[int] | None
) -> None:
    """One block by itself. `written` gets the bases of the arrays that it writes."""
    memories: dict[int, LanePointer] = {}
    ballots: list[Any] = []
    numbers = range(launch.warps)[:: -1 if launch.reverse else 1]
    make = Warp if written is None else partial(FirstWarp, written=written)
    warps = [make(launch, block, number, memories, ballots) for number in numbers]
    if not code.suspends:
        for warp in warps:
            code.run(warp, True, *arguments)
        return
    waiting = [code.run(warp, True, *arguments) for warp in warps]
    while waiting:
        waiting = [warp for warp in waiting if next(warp, StopIteration) is not StopIteration]


__all__ = ["SCHEDULES", "chunks", "run_alone", "run_lockstep", "run_warps", "run_watched"]
