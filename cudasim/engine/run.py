"""Running a kernel: in lockstep, or warp by warp, forward or in reverse; or watched, for a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from cudasim.engine.generate import Code
from cudasim.engine.lanes import Launch, Triple
from cudasim.engine.layouts import Blocks, Warp
from cudasim.engine.memory import LanePointer
from cudasim.engine.watched import Watched
from cudasim.reports.recorder import Recorder

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
    """How many threads run together. Where one block waits for another, blocks must come one by one."""
    return 1 if code.waits else min(LANES, max(1, LOCAL_BYTES // max(1, code.local_bytes)))


def run_lockstep(code: Code, launch: Launch, arguments: Sequence[Any]) -> None:
    """All threads of many blocks together."""
    with np.errstate(all="ignore"):
        for first, count in chunks(launch.grid, launch.threads, lanes_of(code)):
            code.run(Blocks(launch, first, count, code.sharing), True, *arguments)


def run_watched(code: Code, launch: Launch, arguments: Sequence[Any], recorder: Recorder) -> None:
    """The same, with every access recorded."""
    launch.recorder = recorder
    with np.errstate(all="ignore"):
        for first, count in chunks(launch.grid, launch.threads, lanes_of(code)):
            lanes = Watched(launch, first, count, code.sharing)
            recorder.chunk(lanes.first_block, lanes.blocks)
            code.run(lanes, True, *arguments)


def run_warps(code: Code, launch: Launch, arguments: Sequence[Any]) -> None:
    """One block after the other; in each, one warp after the other from barrier to barrier."""
    gx, gy, gz = launch.grid
    blocks = [(x, y, z) for z in range(gz) for y in range(gy) for x in range(gx)]
    numbers = list(range(launch.warps))
    if launch.reverse:
        blocks.reverse()
        numbers.reverse()
    with np.errstate(all="ignore"):
        for block in blocks:
            memories: dict[int, LanePointer] = {}
            ballots: list[list[int]] = []
            warps = [Warp(launch, block, number, memories, ballots) for number in numbers]
            if not code.suspends:
                for warp in warps:
                    code.run(warp, True, *arguments)
                continue
            waiting = [code.run(warp, True, *arguments) for warp in warps]
            while waiting:
                waiting = [warp for warp in waiting if next(warp, StopIteration) is not StopIteration]


__all__ = ["SCHEDULES", "chunks", "run_lockstep", "run_warps", "run_watched"]
