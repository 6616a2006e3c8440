"""How the threads of a launch lie in matrices (warps, 32): warps are numbered over the grid, x fastest."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from warplens.report.messages import Triple
from warplens.report.transactions import LANES, Bools, Ints


class Geometry:
    """`exists` (warps of a block, 32): lanes of the last warp beyond the block's last thread do not.

    `first` and `count`: the blocks of the chunk that runs now, all in the beginning.
    """

    def __init__(self, grid: Triple, block: Triple) -> None:
        self.blocks, self.threads = math.prod(grid), math.prod(block)
        self.per_block = -(-self.threads // LANES)  # warps
        self.lanes = self.per_block * LANES  # of a block
        self.exists = np.arange(self.lanes).reshape(-1, LANES) < self.threads
        self.first, self.count = 0, self.blocks

    @property
    def chunk(self) -> slice:
        """The warps that run now, in a table of all."""
        return slice(self.first * self.per_block, (self.first + self.count) * self.per_block)

    def table(self, dtype: Any) -> Ints:
        """A zero for each lane of the grid."""
        return np.zeros((self.blocks * self.per_block, LANES), dtype=dtype)

    def by_thread(self, lanes: Ints) -> Ints:
        """(blocks, threads of a block) of such a table."""
        return lanes.reshape(self.blocks, -1)[:, : self.threads]

    def live(self, warps: Ints, exited: Bools) -> Bools:
        """The lanes that are threads of the block and have not returned."""
        live: Bools = self.exists[warps % self.per_block] & ~exited
        return live


def matrix(active: Bools, warps: Ints) -> Bools:
    """Lanes as (warps, 32), whatever they are given as."""
    if isinstance(active, np.ndarray) and active.shape == (len(warps), LANES):
        return active
    return np.broadcast_to(np.asarray(active, dtype=bool), (len(warps), LANES))


def numbers(warps: Ints) -> Ints:
    """The numbers of all lanes of some warps, one after the other."""
    lanes: Ints = (warps[:, None] * LANES + np.arange(LANES)).ravel()
    return lanes
