"""Sums and extremes along any axes, in pieces that blocks can share."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from minilib.cuda import cp
from minilib.gpu.copies import contiguous
from minilib.gpu.device import MOST, THREADS, blocks, fits, kernels, launch, pair
from minilib.gpu.elements import run_elementwise
from minilib.operations import Extreme, LongSum, Sum, axes
from minilib.tensor import Array, Function

PIECE = 4096  # numbers of a row, or of a column, that a block takes
SHORT = 1024  # numbers of a row at most that a warp takes
WARPS = THREADS // 32
ADD, LARGEST, SMALLEST = 0, 1, -1


@cache
def reduction(name: str, kind: int) -> Any:
    return kernels("reductions", f"{name}<{kind}>")(f"{name}<{kind}>")


def reduce_rows(x: Array, kind: int = ADD) -> Array:
    """What each row of x (rows, columns), contiguous, gives: (rows,)."""
    rows, columns = x.shape
    if rows and columns <= SHORT:
        y = cp.empty(rows, np.float32)
        args = (x, y, np.int32(rows), np.int32(columns))
        launch(reduction("reduce_short_rows", kind), (blocks(rows, WARPS),), (THREADS,), args)
        return y
    pieces = max(1, blocks(columns, PIECE))
    y = cp.empty((rows, pieces), np.float32)
    if rows:
        sizes = np.int32(rows), np.int32(columns), np.int32(PIECE)
        launch(reduction("reduce_rows", kind), (pieces, min(rows, MOST)), (THREADS,), (x, y, *sizes))
    return y.reshape(rows) if pieces == 1 else reduce_rows(y, kind)  # the pieces' results are rows again


def reduce_columns(x: Array, kind: int = ADD) -> Array:
    """What each column of x (rows, columns), contiguous, gives: (columns,)."""
    rows, columns = x.shape
    length = max(PIECE // 8, blocks(rows, MOST))
    pieces = max(1, blocks(rows, length))
    y = cp.empty((pieces, columns), np.float32)
    if columns:
        sizes = np.int32(rows), np.int32(columns), np.int32(length)
        launch(reduction("reduce_columns", kind), (blocks(columns, 32), pieces), (32, 8), (x, y, *sizes))
    return y.reshape(columns) if pieces == 1 else reduce_columns(y, kind)


def reduce(x: Array, dims: tuple[int, ...], kind: int = ADD) -> Array:
    """What the numbers along `dims` give, these axes gone. Copies x where they are neither first nor last."""
    kept = [axis for axis in range(x.ndim) if axis not in dims]
    shape, count = [x.shape[axis] for axis in kept], math.prod(x.shape[axis] for axis in dims)
    size, across = math.prod(shape), x.transpose(*dims, *kept)
    if kept and across.flags.c_contiguous:  # the axes to go come first: columns, read as they lie
        return reduce_columns(across.reshape(count, size), kind).reshape(shape)
    along = contiguous(x.transpose(*kept, *dims)).reshape(size, count)
    return reduce_rows(along, kind).reshape(shape)


def reduced(f: Any, x: Array, kind: int = ADD) -> Array:
    """The result of the reduction `f`, with its axes kept where it keeps them."""
    out = reduce(x, axes(f.dim, x.ndim), kind)
    return f.keep(out) if f.keepdim else out


class SumKernels:
    """Forward by kernels; backward is a view that repeats the gradient."""

    def forward(self, f: Any, x: Array) -> Array:
        return reduced(f, x) if fits(x) else NotImplemented

    def backward(self, f: Function, grad: Array) -> Any:
        return f.backward(grad)


pair(Sum)(SumKernels)
pair(LongSum)(SumKernels)


@pair(Extreme)
class ExtremeKernels:
    def forward(self, f: Any, x: Array) -> Array:
        if not fits(x) or not x.size:
            return NotImplemented
        out = reduced(f, x, LARGEST if f.largest else SMALLEST)
        f.saved = x, out
        return out

    def backward(self, f: Any, grad: Array) -> Array:
        """Equal ones share the gradient."""
        x, y = f.saved
        best = {"x": x, "y": f.keep(y)}
        won, dx = (cp.empty(x.shape, np.float32) for _ in range(2))
        run_elementwise(best, {"won": won}, ["won = x == y ? 1.0f : 0.0f"])
        shares = {"won": won, "grad": f.keep(grad), "count": f.keep(reduce(won, axes(f.dim, x.ndim)))}
        run_elementwise(shares, {"dx": dx}, ["dx = won * grad / count"])
        return dx
