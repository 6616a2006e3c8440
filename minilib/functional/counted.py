"""Dropout by counting: what stays follows from a key and a place, so that no mask is kept for backward."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minilib.tensor import Array, Function, array_module


class CountedDropout(Function):
    """x times 0 with probability p, else 1 / (1 - p), by the numbers that `key` gives to the places of x."""

    def __init__(self, p: float, key: int) -> None:
        self.p, self.key = p, key

    @property
    def limit(self) -> int:
        """Of 2**32 numbers those below it drop what they are drawn for."""
        return min(2**32 - 1, round(self.p * 2**32))

    @property
    def scale(self) -> float:
        """0 where nothing stays."""
        return 1 / (1 - self.p) if self.p < 1 else 0.0

    def forward(self, x: Array) -> Array:
        return x * self.mask(x)

    def backward(self, grad: Array) -> Array:
        return grad * self.mask(grad)

    def mask(self, x: Array) -> Array:
        """0 or the scale, in the shape and dtype of x."""
        drawn = counted(self.key, x.size, array_module(x)).reshape(x.shape)
        return (drawn >= np.uint32(self.limit)).astype(x.dtype) * x.dtype.type(self.scale)


def counted(key: int, count: int, xp: Any = np) -> Array:
    """`count` numbers of 32 bits, four to a counter: Philox4x32-10, the key's lower half first.

    Salmon, Moraes, Dror and Shaw 2011, "Parallel Random Numbers: As Easy as 1, 2, 3".
    """
    low, x0 = np.uint64(2**32 - 1), xp.arange(math.ceil(count / 4), dtype=np.uint64)
    x1, x2, x3 = (xp.zeros_like(x0) for _ in range(3))
    key0, key1 = key % 2**32, key >> 32
    for _ in range(10):  # rounds: ten pass all tests of randomness, as the paper says
        first, second = x0 * np.uint64(0xD2511F53), x2 * np.uint64(0xCD9E8D57)
        x0, x1, x2, x3 = (
            (second >> np.uint64(32)) ^ x1 ^ np.uint64(key0),
            second & low,
            (first >> np.uint64(32)) ^ x3 ^ np.uint64(key1),
            first & low,
        )
        key0, key1 = (key0 + 0x9E3779B9) % 2**32, (key1 + 0xBB67AE85) % 2**32  # golden ratio, and sqrt(3) - 1
    words = xp.stack([x0, x1, x2, x3], axis=1).astype(np.uint32)
    return words.reshape(-1)[:count]
