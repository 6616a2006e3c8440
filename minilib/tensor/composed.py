"""Methods that are made of several operations: bounds, variances, lengths, the k largest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from minilib.engine import TENSORS, array_module
from minilib.operations import Clip, Compare, Dim, Roll, TakeAlongDim, TopIndices, Where, axes
from minilib.tensor.applying import apply, weak
from minilib.tensor.rules import Best, flag, result_type

if TYPE_CHECKING:
    from minilib.tensor.core import Tensor

# Absolute values and bounds


def clipped(x: Tensor, min: Any, max: Any) -> Tensor:
    """`Tensor.clip`, whose bounds are numbers, tensors or None."""
    if min is None and max is None:
        raise ValueError("clip: give min, max or both")
    if isinstance(min, TENSORS[0]) or isinstance(max, TENSORS[0]):
        bounded = x if min is None else _bounded(x, min, "<")
        return bounded if max is None else _bounded(bounded, max, ">")
    if x.dtype.kind != "f" and (isinstance(min, float) or isinstance(max, float)):
        return x.float().clip(min, max)
    return apply(Clip(min, max), x)


def _bounded(x: Tensor, bound: Any, sign: str) -> Tensor:
    """The bound where a number is < (or >) it, which then gets the gradient; a bound of nan gives nan."""
    if not isinstance(bound, TENSORS[0]):
        bound = weak(bound, x)
    dtype = result_type(x, bound)
    x, bound = x.to(dtype), bound.to(dtype)
    return apply(Where(), apply(Compare(sign), x, bound) | (bound != bound), bound, x)


# Sums and means


def variance(x: Tensor, dim: Dim, unbiased: bool, keepdim: bool, correction: float | None = None) -> Tensor:
    """`Tensor.var`."""
    if isinstance(dim, bool):
        return x.var(None, dim, keepdim, correction)
    if not isinstance(unbiased, bool):
        raise TypeError(f"var: unbiased is True or False, not {unbiased!r}; give correction by its name")
    correction = int(unbiased) if correction is None else correction
    if x.dtype == np.float16:
        return x.float().var(dim, unbiased, keepdim, correction).to(np.float16)
    n = math.prod(x.shape[d] for d in axes(dim, x.ndim))
    distance = x - x.mean(dim, keepdim=True)  # two passes: E[x²] - E[x]² would cancel most digits
    return (distance * distance).sum(dim, keepdim) / max(n - correction, 0)


def root(x: Tensor) -> Tensor:
    """The square root, whose gradient at 0 is 0 and not infinite."""
    flat = x == 0  # there 1 / (2 sqrt(0)) is infinite, and inf * 0 is nan
    return x.masked_fill(flat, 1.0).sqrt().masked_fill(flat, 0.0)


def length(x: Tensor, p: float | str, dim: Dim, keepdim: bool) -> Tensor:
    """`Tensor.norm`."""
    if x.dtype.kind != "f" or p == 0 or (isinstance(p, str) and p != "fro"):
        raise RuntimeError(
            f"norm: needs floating-point numbers and a number p above 0 or 'fro', not {x.dtype}, {p!r}"
        )
    if x.dtype == np.float16:
        return x.float().norm(p, dim, keepdim).to(np.float16)
    if p in ("fro", 2):
        # Not ** 0.5 of a general power: products are faster.
        return root((x * x).sum(dim, keepdim))
    if p in (math.inf, -math.inf):
        return x.abs().amax(dim, keepdim) if p == math.inf else x.abs().amin(dim, keepdim)
    return x.abs().sum(dim, keepdim) if p == 1 else (x.abs() ** p).sum(dim, keepdim) ** (1 / p)  # type: ignore[operator]


# Extremes, all and any


def best(x: Tensor, indices: Tensor, dim: int, keepdim: bool) -> Best:
    """The numbers at `indices`, whose axis `dim` is 1 long, for `max(dim)` and `min(dim)`."""
    if not x.ndim:
        return Best(x.clone(), indices)
    values = apply(TakeAlongDim(dim), x, indices)
    return Best(values, indices) if flag(keepdim) else Best(values.squeeze(dim), indices.squeeze(dim))


def largest_of(x: Tensor, k: int, dim: int, largest: bool) -> Best:
    """`Tensor.topk`."""
    (at,) = axes(dim, x.ndim) or (0,)
    if not 0 <= k <= (x.shape[at] if x.ndim else 1):
        raise RuntimeError(f"topk: k={k} is out of range for dim {dim} of shape {x.shape}")
    if not x.ndim:
        best = x.reshape(1).topk(k, 0, largest)
        return best if k == 0 else Best(best.values.reshape(()), best.indices.reshape(()))
    indices = apply(TopIndices(k, largest, at), x)
    return Best(apply(TakeAlongDim(at), x, indices), indices)


# Shapes


def viewed(x: Tensor, out: Tensor) -> Tensor:
    """`out`, which `x.reshape` made. Raises RuntimeError where it is a copy."""
    xp = array_module(x.data)
    if not xp.may_share_memory(x.data, out.data) and x.data.size:
        raise RuntimeError(f"view: {x.shape} cannot be seen as {out.shape} without a copy: use reshape")
    return out


def flattened(x: Tensor, start_dim: int, end_dim: int) -> Tensor:
    """`Tensor.flatten`."""
    if not x.ndim:
        return x.reshape(1)
    (start,), (end,) = axes(start_dim, x.ndim), axes(end_dim, x.ndim)
    if start > end:
        raise RuntimeError(f"flatten: start_dim {start_dim} comes after end_dim {end_dim}")
    middle = math.prod(x.shape[start : end + 1])  # not -1, which an empty tensor leaves open
    return x.reshape(*x.shape[:start], middle, *x.shape[end + 1 :])


# Order of axes


def rolled(x: Tensor, shifts: int | Sequence[int], dims: int | Sequence[int] | None) -> Tensor:
    """`Tensor.roll`."""
    steps = (shifts,) if isinstance(shifts, int) else tuple(shifts)
    if dims is None:
        return x.flatten().roll(shifts, 0).reshape(x.shape)
    order = (dims,) if isinstance(dims, int) else tuple(dims)
    if len(steps) != len(order):
        raise RuntimeError(f"roll: needs one shift for each axis, not {shifts} for {dims}")
    return apply(Roll(steps, axes(order, x.ndim)), x)
