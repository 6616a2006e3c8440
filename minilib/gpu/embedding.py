"""Rows of a table by kernels/embedding.cu. Gradients of one row are added in no fixed order."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from minilib.cuda import cp
from minilib.functional.layers import Embedding
from minilib.gpu.copies import contiguous
from minilib.gpu.device import THREADS, blocks, fits, kernels, launch, pair
from minilib.tensor import Array

FEW = 4  # rows of a warp, as in embedding.cu


@cache
def embedding_kernels() -> Callable[[str], Any]:
    return kernels("embedding")


@pair(Embedding)
class EmbeddingKernels:
    def forward(self, f: Any, weight: Array, index: Array) -> Array:
        shape = (*index.shape, weight.shape[1])
        if not fits(weight) or math.prod(shape) >= 2**31:
            return NotImplemented
        f.saved = (index,) if f.needs(0) else ()
        out = cp.empty(shape, np.float32)
        run("embedding", contiguous(weight), index, out)
        return out

    def backward(self, f: Any, grad: Array) -> Array:
        dw = cp.zeros(f.inputs[0].shape, np.float32)  # atomics add to it, hence no fixed order
        padding = -1 if f.padding_idx is None else f.padding_idx % len(dw)
        run("embedding_backward", contiguous(grad), f.saved[0], dw, padding)
        return dw


def run(name: str, x: Array, index: Array, out: Array, *more: int) -> None:
    """Run a kernel with a warp for FEW rows; where there is none, nothing."""
    if index.size and x.size:
        rows = cp.ascontiguousarray(index.reshape(-1).astype(np.int64))
        grid, numbers = (blocks(index.size, THREADS // 32 * FEW),), (index.size, x.shape[-1], *more)
        args = (x, rows, out, *map(np.int32, numbers))
        launch(embedding_kernels()(name), grid, (THREADS,), args)
