"""Dropout without a mask, and the optimiser's step as one kernel."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from minilib.cuda import cp
from minilib.functional.counted import CountedDropout
from minilib.gpu.copies import contiguous
from minilib.gpu.device import THREADS, blocks, fits, kernels, launch, pair
from minilib.optim import adam, adam_numbers
from minilib.parallel import KERNELS
from minilib.tensor import Array


@cache
def kernel(file: str, name: str) -> Any:
    return kernels(file)(name)


def draws(f: CountedDropout | None) -> tuple[Any, ...]:
    """What kernels know of dropout: the key's halves, the limit, 0 where nothing drops, and the scale."""
    if f is None:
        return np.uint32(0), np.uint32(0), np.uint32(0), np.float32(1)
    return np.uint32(f.key % 2**32), np.uint32(f.key >> 32), np.uint32(f.limit), np.float32(f.scale)


@pair(CountedDropout)
class DropoutKernels:
    def forward(self, f: Any, x: Array) -> Array:
        return self.run(f, x) if fits(x) else NotImplemented

    def backward(self, f: Any, grad: Array) -> Array:
        return self.run(f, grad)

    def run(self, f: Any, x: Array) -> Array:
        y = cp.empty(x.shape, np.float32)
        if x.size:
            args = (contiguous(x), y, *draws(f), np.int32(x.size))
            launch(kernel("dropout", "dropout"), (blocks(x.size, 4 * THREADS),), (THREADS,), args)
        return y


def adam_by_kernel(x: Array, grad: Array, mean: Array, square: Array, **options: Any) -> Any:
    """`minilib.optim.adam` in one kernel: x, mean and square (contiguous) change in place."""
    if not fits(x, grad, mean, square):
        return NotImplemented
    numbers = adam_numbers(**options)
    if x.size:
        args = (x, contiguous(grad), mean, square, *map(np.float32, numbers), np.int32(x.size))
        launch(kernel("adamw", "adamw"), (blocks(x.size),), (THREADS,), args)
    return None


KERNELS[cp.ndarray, adam] = adam_by_kernel  # `parallel.elementwise` asks here before it runs `adam`
