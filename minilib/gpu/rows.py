"""Operations on rows: softmax, cross-entropy and the norms; a row stays in the registers of its block.

Taught in chapters/05b_rows.ipynb: what it exports is edited there, then `make promote`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from minilib.cuda import cp
from minilib.functional.activations import LogSoftmax, Softmax
from minilib.functional.losses import CrossEntropy
from minilib.functional.norms import LayerNorm, RMSNorm
from minilib.gpu.copies import contiguous
from minilib.gpu.device import blocks, fits, kernels, launch, pair
from minilib.gpu.reductions import reduce_columns
from minilib.tensor import Array, Function

MOST_THREADS = 1024  # of a block, as rows.cu promises the compiler
EACH = (1, 2, 4, 8)  # numbers of a row in the registers of a thread
WIDEST = MOST_THREADS * EACH[-1]  # columns that a block keeps
BLOCKS = 1024  # at most: each reads weight and bias once


@cache
def row_kernel(name: str) -> Any:
    return kernels("rows", name)(name)


def run(name: str, shape: tuple[int, int], *args: Any) -> None:
    """Run a kernel of rows.cu on arrays of `shape`, rows and columns."""
    count, columns = shape
    threads = min(MOST_THREADS, 32 * blocks(columns, 4 * 32))  # four numbers each, while threads are left
    # A template's number: registers need a fixed count.
    each = next((n for n in EACH if n * threads >= columns), None)
    sizes = np.int32(count), np.int32(columns)
    kernel = row_kernel(f"{name}<{each}>" if each else f"{name}_long")
    launch(kernel, (min(count, BLOCKS),), (threads,), (*args, *sizes))


def rows_of(*arrays: Array) -> list[Array]:
    """Each as contiguous rows (n, C); a strided one is copied."""
    return [contiguous(array).reshape(-1, array.shape[-1]) for array in arrays]


def fit(x: Array, *others: Array) -> bool:
    """Whether rows along the last axis of `x` are for these kernels."""
    return fits(x, *others) and bool(x.ndim and x.size)


class OneRowInOneOut:
    """A pair whose backward needs the result y alone."""

    name: str

    def forward(self, f: Function, x: Array) -> Array:
        if not fit(x):
            return NotImplemented
        (rows,) = rows_of(x)
        y = cp.empty(x.shape, np.float32)
        run(self.name, rows.shape, rows, y)
        f.saved = (y,)
        return y

    def backward(self, f: Function, grad: Array) -> Array:
        (y,) = f.saved
        (rows,) = rows_of(grad)
        dx = cp.empty(y.shape, np.float32)
        run(f"{self.name}_backward", rows.shape, rows, y, dx)
        return dx


@pair(Softmax)
class SoftmaxKernels(OneRowInOneOut):
    name = "softmax"


@pair(LogSoftmax)
class LogSoftmaxKernels(OneRowInOneOut):
    name = "log_softmax"


@pair(CrossEntropy)
class CrossEntropyKernels:
    def forward(self, f: Function, x: Array, target: Array, share: Array) -> Array:
        if not fit(x, share) or target.dtype != np.int64:
            return NotImplemented
        rows, targets, shares = rows_of(x, target, share)
        p, losses = cp.empty(x.shape, np.float32), cp.empty(share.shape, np.float32)
        run("cross_entropy", x.shape, rows, targets, shares, p, losses)
        f.saved = p, targets, shares
        return losses

    def backward(self, f: Function, grad: Array) -> Array:
        p, targets, shares = f.saved
        dx = cp.empty(p.shape, np.float32)
        run("cross_entropy_backward", p.shape, *rows_of(grad), targets, shares, p, dx)
        return dx


@pair(LayerNorm)
class LayerNormKernels:
    def forward(self, f: Any, x: Array, weight: Array, bias: Array) -> Array:
        flat = x.reshape(-1, weight.size) if weight.size else x
        if not fit(flat, weight, bias) or weight.size > WIDEST:
            return NotImplemented
        rows, w, b = rows_of(flat, weight.reshape(1, -1), bias.reshape(1, -1))
        out = cp.empty(x.shape, np.float32)
        mean, scale = (cp.empty(len(rows), np.float32) for _ in range(2))
        run("layer_norm", rows.shape, rows, w, b, out, mean, scale, np.float32(f.eps))
        f.saved = rows, weight, mean, scale
        return out

    def backward(self, f: Any, grad: Array) -> tuple[Array, Array, Array]:
        rows, weight, mean, scale = f.saved
        grads, w = rows_of(grad.reshape(rows.shape), weight.reshape(1, -1))
        dx = cp.empty(grad.shape, np.float32)
        # A row for each block.
        dw, db = (cp.empty((min(len(rows), BLOCKS), rows.shape[1]), np.float32) for _ in range(2))
        run("layer_norm_backward", rows.shape, grads, rows, w, mean, scale, dx, dw, db)
        dw, db = (reduce_columns(part).reshape(weight.shape) for part in (dw, db))
        return dx, dw, db


@pair(RMSNorm)
class RMSNormKernels:
    def forward(self, f: Any, x: Array, weight: Array) -> Array:
        if not fit(x, weight) or weight.size > WIDEST:
            return NotImplemented
        rows, w = rows_of(x, weight)
        out, scale = cp.empty(x.shape, np.float32), cp.empty(len(rows), np.float32)
        run("rms_norm", rows.shape, rows, w, out, scale, np.float32(f.eps))
        f.saved = rows, w, scale
        return out

    def backward(self, f: Any, grad: Array) -> tuple[Array, Array]:
        rows, w, scale = f.saved
        (grads,) = rows_of(grad)
        dx = cp.empty(grad.shape, np.float32)
        dw = cp.empty((min(len(rows), BLOCKS), rows.shape[1]), np.float32)
        run("rms_norm_backward", rows.shape, grads, rows, w, scale, dx, dw)
        return dx, reduce_columns(dw)
