"""What shapes, axes and dtypes fit together."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from minilib.engine import Shape
from minilib.operations import axes

if TYPE_CHECKING:
    from minilib.tensor.core import Tensor

# Dtypes


_CATEGORY = {"b": 0, "u": 1, "i": 1, "f": 2}


def _floating(x: Tensor) -> Tensor:
    """`x`, or x in float32 where it holds integers or booleans: their quotients and roots are no integers."""
    return x if x.data.dtype.kind == "f" else x.to(np.float32)


# Shapes and axes


def _sizes(sizes: tuple[Any, ...]) -> tuple[int, ...]:
    """Sizes given one by one or as one tuple, as PyTorch takes them."""
    if len(sizes) == 1 and isinstance(sizes[0], tuple | list):
        sizes = tuple(sizes[0])
    return tuple(size.__index__() for size in sizes)


def full_shape(shape: Shape, old: Shape) -> Shape:
    """`shape` with -1 replaced. Raises RuntimeError where `old` holds another number of elements."""
    total, known = math.prod(old), math.prod(n for n in shape if n != -1)
    if shape.count(-1) == 1 and known and total % known == 0:
        shape = tuple(total // known if n == -1 else n for n in shape)
    if min(shape, default=0) < 0 or math.prod(shape) != total:
        raise RuntimeError(f"reshape: {old} holds {total} numbers, which do not fit into {shape}")
    return shape


def _axis(dim: int, x: Tensor, name: str) -> int:
    """The axis `dim` of `x`, from 0 to ndim - 1."""
    if not x.ndim:
        raise RuntimeError(f"{name}: a tensor without axes has no parts")
    return axes(dim, x.ndim)[0]


# The matrix product


def _check_matmul(a: Tensor, b: Tensor) -> None:
    shapes = f"{a.shape} @ {b.shape}"
    if not a.ndim or not b.ndim:
        raise RuntimeError(f"matmul: both operands need at least one axis: {shapes}; use * for numbers")
    if a.dtype != b.dtype:
        raise RuntimeError(f"matmul: the dtypes differ: {a.dtype} @ {b.dtype}; cast one with .to(dtype)")
    if a.shape[-1] != b.shape[max(b.ndim - 2, 0)]:
        hint = ""
        if b.ndim > 1 and a.shape[-1] == b.shape[-1]:
            hint = "; did you mean to transpose the second operand?"
        elif a.ndim > 1 and b.ndim > 1 and a.shape[-2] == b.shape[-2]:
            hint = "; did you mean to transpose the first operand?"
        raise RuntimeError(f"matmul: inner dimensions differ: {shapes}{hint}")
