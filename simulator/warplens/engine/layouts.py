"""Which threads run together: whole blocks in lockstep, or one warp."""

from __future__ import annotations

from typing import Any

import numpy as np

from warplens.engine.lanes import Lanes
from warplens.engine.launch import Launch, Triple
from warplens.engine.memory import LanePointer, Value
from warplens.engine.values import Mask
from warplens.engine.warp_functions import outcome

ndarray = np.ndarray

# The axes of lanes, as places in (bz, by, bx, tz, ty, tx). Where there is shared memory, the copies of one
# element lie side by side, so the blocks come last; elsewhere neighbours along x do, as in global arrays.
SHARING = (3, 4, 5, 0, 1, 2)
INTERLEAVED = (0, 3, 1, 4, 2, 5)


class Blocks(Lanes):
    """All threads of neighbouring blocks, in lockstep."""

    def __init__(self, launch: Launch, first: Triple, count: Triple, sharing: bool) -> None:
        """`first` and `count` along x, y, z: a run of blocks that lie one after the other."""
        gx, gy, _ = launch.grid
        number = first[0] + gx * (first[1] + gy * first[2])
        lengths = (*count[::-1], *launch.block[::-1])
        layout = SHARING if sharing else INTERLEAVED
        shape = tuple([lengths[i] for i in layout])
        block_shape = tuple([lengths[i] if i < 3 else 1 for i in layout])
        super().__init__(launch, number, shape, block_shape, np.argsort(layout))

        def along(axis: int, start: int) -> Value:
            length = lengths[axis]
            sizes = [1] * 6
            sizes[layout.index(axis)] = length
            return start if length == 1 else np.arange(start, start + length, dtype=np.uint32).reshape(sizes)

        self.tid_x, self.tid_y, self.tid_z = along(5, 0), along(4, 0), along(3, 0)
        self.bid_x, self.bid_y, self.bid_z = along(2, first[0]), along(1, first[1]), along(0, first[2])


class Warp(Lanes):
    """One warp of one block; the warps of a block share `memories` and `ballots`."""

    def __init__(
        self,
        launch: Launch,
        block: Triple,
        number: int,
        memories: dict[int, LanePointer],
        ballots: list[list[int]],
    ) -> None:
        first = 32 * number
        threads = np.arange(first, min(first + 32, launch.threads))
        gx, gy, _ = launch.grid
        number_of_block = block[0] + gx * (block[1] + gy * block[2])
        super().__init__(launch, number_of_block, threads.shape, (1,), np.zeros(1, int))
        self.number = number
        self.memories, self.ballots = memories, ballots
        self.voted = 0  # how often this warp has put its votes into `ballots`
        bx, by, _ = launch.block

        def of(values: Any) -> Value:
            return int(values[0]) if (values == values[0]).all() else values.astype(np.uint32)

        self.tid_x, self.tid_y, self.tid_z = (
            of(threads % bx),
            of(threads // bx % by),
            of(threads // (bx * by)),
        )
        self.bid_x, self.bid_y, self.bid_z = block

    def vote_in_block(self, value: Value, mask: Mask) -> int:
        """Put the votes of this warp to those of the others; the number of this ballot."""
        number = self.voted
        self.voted += 1
        if number == len(self.ballots):
            self.ballots.append([0, 0])
        yes, no = self.votes(value, mask)
        self.ballots[number][0] += int(yes[0])
        self.ballots[number][1] += int(no[0])
        return number

    def outcome(self, name: str, number: int) -> int:
        """What came of a ballot, once all warps have passed the barrier."""
        return int(outcome(name, *self.ballots[number]))

    def warp_numbers(self) -> np.ndarray[Any, Any]:
        return np.array([self.first_block * self.launch.warps + self.number])
