"""Matrix products by kernels/matmul.cu: `MatMul`, and `Linear` with its bias added in the same kernel."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from minilib.cuda import cp
from minilib.functional.layers import Linear
from minilib.functional.rows import as_rows
from minilib.gpu.copies import contiguous
from minilib.gpu.device import MOST, blocks, fits, kernels, launch, pair
from minilib.gpu.elements import collapsed
from minilib.gpu.reductions import reduce_columns
from minilib.operations import MatMul
from minilib.tensor import Array, Function, Shape

DEEP, WIDE = 1, 2  # as in matmul.cu
MANY = 128  # large tiles move half the bytes; where there are fewer of them, processors would stand idle


@cache
def matmul_kernels() -> Callable[[str], Any]:
    return kernels("matmul")


@pair(MatMul)
class MatMulKernels:
    def forward(self, f: Function, x: Array, y: Array) -> Array:
        if not fits(x, y) or largest(x.shape, y.shape) >= 2**31:  # the kernel counts places in 32-bit ints
            return NotImplemented
        f.saved = x if f.needs(1) else None, y if f.needs(0) else None
        return product(x, y)

    def backward(self, f: Function, grad: Array) -> tuple[Array | None, ...]:
        x, y = f.saved
        dx = None if y is None else product(grad, y.swapaxes(-1, -2))  # strides, not copies: (n, m) @ (m, k)
        dy = None if x is None else product(x.swapaxes(-1, -2), grad)
        return dx, dy


@pair(Linear)
class LinearKernels:
    def forward(self, f: Function, x: Array, weight: Array, bias: Array | None = None) -> Array:
        given = (x, weight) if bias is None else (x, weight, bias)
        if not fits(*given) or largest(as_rows(x).shape, weight.T.shape) >= 2**31:
            return NotImplemented
        f.saved = x if f.needs(1) else None, weight if f.needs(0) else None
        return product(as_rows(x), weight.T, bias).reshape(*x.shape[:-1], len(weight))

    def backward(self, f: Function, grad: Array) -> tuple[Array | None, ...]:
        x, weight = f.saved
        dy = as_rows(grad)
        dx = None if weight is None else product(dy, weight).reshape(*grad.shape[:-1], weight.shape[1])
        dw = None if x is None else product(dy.T, as_rows(x))
        if len(f.inputs) == 2:
            return dx, dw
        return dx, dw, reduce_columns(contiguous(dy)) if f.needs(2) else None


def largest(x: Shape, y: Shape) -> int:
    """How many numbers the largest array has that x @ y and the way back make."""
    products = math.prod(np.broadcast_shapes(x[:-2], y[:-2]))
    return products * max(x[-2] * y[-1], x[-2] * x[-1], y[-2] * y[-1])


# Products


@dataclass(frozen=True)
class Operand:
    """How a kernel reads an operand: see the top of matmul.cu. `lead` are steps between products."""

    array: Array
    way: int
    step: int
    lead: tuple[int, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.way, self.step, *self.lead


def product(a: Array, b: Array, bias: Array | None = None, tile: int | None = None) -> Array:
    """a @ b of matrices, the leading axes broadcast, with a bias (m,) added to each row; any strides.

    `tile` is the side of the tiles of the result, 16, 64 or 128; None chooses.
    """
    (n, depth), m = a.shape[-2:], b.shape[-1]
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    out = cp.empty((*lead, n, m), np.float32)
    if not out.size:
        return out
    a, b = (readable(cp.broadcast_to(x, (*lead, *x.shape[-2:]))) for x in (a, b))
    sizes, steps = collapsed(lead, [steps_of(x)[:-2] for x in (a, b)])
    if len(sizes) > 2:  # matmul.cu walks two leading axes
        a, b = contiguous(a), contiguous(b)
        sizes, steps = collapsed(lead, [steps_of(x)[:-2] for x in (a, b)])
    a_lead, b_lead = ((0, 0, *step)[-2:] for step in steps)
    products, inner = math.prod(sizes), sizes[-1] if sizes else 1
    x, y = operand(a, -2, -1, a_lead), operand(b, -1, -2, b_lead)
    tile = tile or tile_for(n, m, products)
    numbers = (n, m, depth, products, inner, *x.sizes, *y.sizes, int(bias is not None))
    added = out if bias is None else contiguous(bias)
    kernel = matmul_kernels()("matmul_simple" if tile == 16 else f"matmul_{tile}")
    grid, block = (blocks(n, tile) * blocks(m, tile), min(products, MOST)), (16, 8 if tile == 64 else 16)
    launch(kernel, grid, block, (x.array.data, y.array.data, added, out, *map(np.int32, numbers)))
    return out


def tile_for(n: int, m: int, products: int) -> int:
    """The side of tiles for `products` results of (n, m)."""
    if min(n, m) <= 16:
        return 16  # three quarters of a larger tile and more would be zeros
    return 128 if blocks(n, 128) * blocks(m, 128) * products >= MANY else 64


def operand(array: Array, across: int, along: int, lead: tuple[int, ...]) -> Operand:
    """`array` with its axis `along` the sum, and `across` it."""
    count, depth = array.shape[across], array.shape[along]
    deep = neighbours(array, along) and not (depth == 1 and neighbours(array, across))
    run, (rows, step) = (depth, (count, across)) if deep else (count, (depth, along))
    step = steps_of(array)[step] if rows > 1 else 0
    # For loads of four floats.
    aligned = array.data.ptr % 16 == 0 and not any(s % 4 for s in (run, step, *lead))
    return Operand(array, DEEP * deep + WIDE * aligned, step, lead)


def readable(array: Array) -> Array:
    """`array`, or a copy where its matrices have neighbours along neither axis, or reach too far."""
    reach = sum(abs(step) * (count - 1) for step, count in zip(steps_of(array), array.shape, strict=True))
    near = neighbours(array, -1) or neighbours(array, -2)
    return array if near and reach < 2**31 else contiguous(array)


def neighbours(array: Array, axis: int) -> bool:
    """Whether numbers along `axis` lie side by side."""
    return bool(array.shape[axis] == 1 or array.strides[axis] == array.itemsize)


def steps_of(array: Array) -> list[int]:
    """The strides in numbers."""
    return [stride // array.itemsize for stride in array.strides]
