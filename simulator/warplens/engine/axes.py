"""How a value lies over the threads that run together: with an axis for each coordinate, or as rows of warps.

A value that differs between threads is an array with an axis for each coordinate: threads along x, y, z,
blocks along x, y, z; what does not depend on a coordinate has length 1 there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from warplens.engine.memory import Value
from warplens.engine.values import Mask

ndarray = np.ndarray
Array = np.ndarray[Any, Any]
INT64, BOOLEAN = np.dtype(np.int64), np.dtype(np.bool_)


class Axes:
    """`shape` is that of a value that differs in all threads, `block_shape` of one that differs between
    blocks only. `order` puts the axes into (bz, by, bx, tz, ty, tx), in which threads are numbered.
    """

    def __init__(self, shape: Sequence[int], block_shape: Sequence[int], order: Any) -> None:
        self.shape, self.block_shape, self.order = tuple(shape), tuple(block_shape), order
        self._back = np.argsort(order)
        self.blocks = math.prod(block_shape)
        self.slots = np.arange(self.blocks).reshape(block_shape)

    def place(self, coordinates: tuple[int, ...]) -> tuple[int, ...]:
        """Where a thread lies, of its coordinates in the order in which threads are numbered."""
        return tuple([coordinates[axis] for axis in self._back])

    def linear(self, value: Value, dtype: np.dtype[Any]) -> Array:
        """A value for each thread, in the order of their numbers."""
        return np.broadcast_to(np.asarray(value, dtype), self.shape).transpose(self.order).reshape(-1)

    def unlinear(self, values: Array) -> Array:
        """What `linear` gives, over lanes again."""
        return values.reshape([self.shape[i] for i in self.order]).transpose(self._back)

    def rows(self, value: Value, dtype: np.dtype[Any] = INT64) -> Array:
        """A value as a matrix of warps and lanes, (W, 32); what is beyond the last thread is 0."""
        whole = self.linear(value, dtype).reshape(self.blocks, -1)
        threads = whole.shape[1]
        if threads % 32:
            out = np.zeros((self.blocks, -(-threads // 32) * 32), dtype)
            out[:, :threads] = whole
            whole = out
        return whole.reshape(-1, 32)

    def active(self, mask: Mask) -> Array:
        """A mask as (W, 32)."""
        return self.rows(mask, BOOLEAN)

    def spread(self, rows: Array) -> Array:
        """The other way round: (W, 32) as a value over lanes."""
        threads = math.prod(self.shape) // self.blocks
        return self.unlinear(rows.reshape(self.blocks, -1)[:, :threads])

    def same_in_blocks(self, value: Value) -> bool:
        """Whether a value is the same in all blocks."""
        if self.blocks == 1 or type(value) is not ndarray:
            return True
        return all([m == 1 for m, n in zip(value.shape, self.block_shape) if n > 1])
