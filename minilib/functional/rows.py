"""Sums over rows and columns, and kernels that work a few rows at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec

import numpy as np

from minilib.parallel import chunked, elementwise
from minilib.tensor import Array, Function, Tensor, apply, array_module

__all__ = [
    "along", "as_rows", "column_dot", "column_sum", "in_float32", "pointwise", "row_dot", "row_max",
    "row_sum", "rowwise",
]  # fmt: skip

# Sums over rows and columns


def row_max(x: Array) -> Array:
    """The largest of each row, (rows, 1): argmax and a look-up are faster than `max` on short rows."""
    return array_module(x).take_along_axis(x, x.argmax(-1, keepdims=True), -1) if x.size else x[:, :1]


def row_sum(x: Array) -> Array:
    """The sum of each row, (rows, 1): einsum is faster than `sum` on short rows."""
    # einsum names the axes: "ij->i" keeps i and adds up over j
    return array_module(x).einsum("ij->i", x)[:, None]


def row_dot(x: Array, y: Array) -> Array:
    """The sum of x * y for each row, (rows, 1), without an array for the product."""
    return array_module(x).einsum("ij,ij->i", x, y)[:, None]


def column_sum(x: Array) -> Array:
    """The sum of each column, as a product with ones: BLAS is faster at it than `sum`."""
    return array_module(x).ones(len(x), x.dtype) @ x  # (n,) @ (n, C): the obvious x.sum(0)


def column_dot(x: Array, y: Array) -> Array:
    """The sum of x * y for each column."""
    return array_module(x).einsum("ij,ij->j", x, y)


# Half precision


P = ParamSpec("P")


def in_float32(function: Callable[P, Tensor]) -> Callable[P, Tensor]:
    """The function, which works in float32 where tensors are float16: the square of 300 is beyond 65504."""

    def half(argument: Any) -> bool:
        return isinstance(argument, Tensor) and argument.data.dtype == np.float16

    @wraps(function)
    def wide(*args: P.args, **options: P.kwargs) -> Tensor:
        if not any(map(half, args)) and not any(map(half, options.values())):
            return function(*args, **options)
        lifted: Any = [a.float() if half(a) else a for a in args]  # type: ignore[attr-defined]
        named: Any = {name: a.float() if half(a) else a for name, a in options.items()}  # type: ignore[attr-defined]
        return function(*lifted, **named).to(np.float16)

    return wide


# A few rows at a time


def as_rows(x: Array) -> Array:
    """x as a matrix: its last axis, and all others in one."""
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1] if x.ndim else 1)


def rowwise(kernel: Callable[..., None], *arrays: Array) -> Array:
    """What `kernel(*rows, out)` writes, a few rows at a time; `out` is like the last of the arrays."""
    out = array_module(arrays[-1]).empty_like(arrays[-1], order="C")
    chunked(kernel, *[as_rows(a) for a in (*arrays, out)])
    return out


def pointwise(kernel: Callable[..., Any], *arrays: Array) -> Array:
    """What `kernel(*pieces, out)` writes, a piece at a time; `out` is like the last of the arrays."""
    out = array_module(arrays[-1]).empty_like(arrays[-1], order="C")
    elementwise(kernel, *arrays, out)
    return out


def along(dim: int, f: Function, input: Tensor) -> Tensor:
    """`f`, which works along the last axis, along `dim`. Raises RuntimeError for integers."""
    if input.dtype.kind != "f":
        raise RuntimeError(f"{f.name}: needs floating-point numbers, not {input.dtype}: use x.float()")
    if dim in (-1, input.ndim - 1):
        return apply(f, input)
    return apply(f, input.transpose(dim, -1)).transpose(dim, -1)  # views; the kernels copy what is strided
