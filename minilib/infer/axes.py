"""Operators that move numbers as they are: shapes, orders of axes, slices, pads.

Most give NumPy views, and run on sizes with symbols in them too (arrays of dtype object).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minilib.dims import Dim, bounds, larger, smaller
from minilib.infer.elementwise import axes_of
from minilib.infer.facts import Fact, FactError, Shape, broadcast_shapes, ceil_div, flat_axes, ints, product
from minilib.infer.operators import define, one_kind, operator

__all__ = ["INT64"]

Array = Any
INT64 = np.dtype(np.int64)


def with_sizes(x: Fact, sizes: Callable[..., Any], *told: Fact | None) -> Fact:
    """Of the kind of x, as large as `sizes` says of the numbers told; without them of as many axes."""
    if any(one is not None and one.value is None for one in told):
        return Fact(x.dtype, (None,) * len(x.sizes))
    return Fact(x.dtype, tuple(sizes(x.sizes, *(one and one.value for one in told))))


# Shapes


def _shape_facts(x: Fact, *, start: int = 0, end: int | None = None) -> Fact:
    return Fact(INT64, None if x.shape is None else (len(x.shape[start:end]),))


define("Shape", lambda x, *, start=0, end=None: np.array(x.shape[start:end], np.int64), _shape_facts)
define("Size", lambda x: np.array(x.size, np.int64), lambda x: Fact(INT64, ()))


def _reshape_facts(x: Fact, shape: Fact, *, allowzero: int = 0) -> Fact:
    if shape.value is None:
        rank = shape.shape[0] if shape.shape else None
        return Fact(x.dtype, (None,) * rank if isinstance(rank, int) else None)
    return Fact(x.dtype, reshaped(x.shape, ints(shape.value), allowzero))


def reshaped(old: Shape, new: list[Any], allowzero: int = 0) -> tuple[Any, ...]:
    """The shape that `new` asks for: 0 copies the old size, -1 takes what is left."""
    if new.count(-1) > 1 or (allowzero and -1 in new and 0 in new):
        raise FactError(f"Reshape to {new}: only one size can be worked out")
    if not allowzero:
        if old is not None and any(n == 0 and i >= len(old) for i, n in enumerate(new)):
            raise FactError(f"Reshape to {new}: 0 copies a size that an array of {len(old)} axes has not")
        new = [(None if old is None else old[i]) if n == 0 else n for i, n in enumerate(new)]
    unsure = [n for n in new if isinstance(n, Dim) and bounds(n)[0] < 0]  # of a short input it may be -1
    left = -1 if len(unsure) == 1 and -1 not in new else None
    new = [left if n in unsure else n for n in new]
    total = None if old is None else product(old)
    rest = product([n for n in new if n != -1])
    if -1 not in new:
        if isinstance(total, int) and isinstance(rest, int) and total != rest:
            raise FactError(f"Reshape of {total} numbers to {new}, which has {rest}")
        return tuple(new)
    if total is None or rest is None:
        return tuple(None if n == -1 else n for n in new)
    if isinstance(total, int) and isinstance(rest, int) and (total % rest if rest else total):
        raise FactError(f"Reshape of {total} numbers to {new}: {rest} does not divide them")
    left = total // rest if rest != 0 else 0
    return tuple(left if n == -1 else n for n in new)


@operator("Reshape", _reshape_facts)
def reshape(x: Array, shape: Array, *, allowzero: int = 0) -> Array:
    return x.reshape(reshaped(x.shape, ints(shape), allowzero))


define(
    "Flatten",
    lambda x, *, axis=1: x.reshape(flat_axes(x.shape, axis)),
    lambda x, *, axis=1: Fact(x.dtype, flat_axes(x.sizes, axis)),
)


def _squeezed(shape: Any, axes: Any) -> list[int]:
    """The axes that stay."""
    if axes is None:
        return [i for i, n in enumerate(shape) if n != 1]
    gone = axes_of(axes, len(shape))
    if long := [i for i in gone if isinstance(shape[i], int) and shape[i] != 1]:
        raise FactError(f"Squeeze of axis {long[0]}, which is {shape[long[0]]} long, not 1")
    return [i for i in range(len(shape)) if i not in gone]


def _squeeze_facts(x: Fact, axes: Fact | None = None) -> Fact:
    if axes is None and any(not isinstance(n, int) for n in x.sizes):
        return Fact(x.dtype)  # which axes are 1 long shows in a run
    return Fact(x.dtype, tuple(x.sizes[i] for i in _squeezed(x.sizes, axes and axes.numbers)))


@operator("Squeeze", _squeeze_facts)
def squeeze(x: Array, axes: Array | None = None) -> Array:
    return x.reshape([x.shape[i] for i in _squeezed(x.shape, axes)])


def _unsqueezed(shape: Any, axes: Any) -> list[Any]:
    new = axes_of(axes, len(shape) + np.size(axes))
    if len(set(new)) < len(new):
        raise FactError(f"Unsqueeze of the same axis twice: {list(new)}")
    old = iter(shape)
    return [1 if i in new else next(old) for i in range(len(shape) + len(new))]


define(
    "Unsqueeze",
    lambda x, axes: x.reshape(_unsqueezed(x.shape, axes)),
    lambda x, axes: Fact(x.dtype, tuple(_unsqueezed(x.sizes, axes.numbers))),
)


def _transpose_facts(x: Fact, *, perm: Any = None) -> Fact:
    order = list(range(len(x.sizes)))[::-1] if perm is None else list(perm)
    if sorted(order) != list(range(len(x.sizes))):
        raise FactError(f"Transpose by {order} of an array of {len(x.sizes)} axes")
    return Fact(x.dtype, tuple(x.sizes[i] for i in order))


define("Transpose", lambda x, *, perm=None: x.transpose(perm), _transpose_facts)


@operator("Expand", lambda x, shape: Fact(x.dtype, broadcast_shapes(x.shape, tuple(shape.numbers))))
def expand(x: Array, shape: Array) -> Array:
    return np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(ints(shape))))


def _tiled(shape: Any, repeats: Any) -> list[Any]:
    return [None if n is None else n * k for n, k in zip(shape, ints(repeats))]


define("Tile", lambda x, repeats: np.tile(x, ints(repeats)), lambda x, n: with_sizes(x, _tiled, n))


def _filled_facts(shape: Fact, *, value: Any = None) -> Fact:
    dtype = np.dtype(np.float32) if value is None else value.dtype
    return Fact(dtype, None if shape.value is None else tuple(ints(shape.value)))


@operator("ConstantOfShape", _filled_facts)
def constant_of_shape(shape: Array, *, value: Any = None) -> Array:
    return np.full(ints(shape), np.float32(0) if value is None else value.reshape(-1)[0])


def _range_facts(start: Fact, limit: Fact, delta: Fact) -> Fact:
    if any(one.value is None for one in (start, limit, delta)):
        return Fact(start.dtype, (None,))
    first, last, step = (one.value.reshape(-1)[0] for one in (start, limit, delta))
    if isinstance(step, Dim):
        return Fact(start.dtype, (None,))
    if isinstance(first, Dim) or isinstance(last, Dim):
        way = 1 if step > 0 else -1
        return Fact(start.dtype, (larger(ceil_div(way * (last - first), way * int(step)), 0),))
    return Fact(start.dtype, (max(math.ceil((last - first) / step), 0),))


@operator("Range", _range_facts)
def arange(start: Array, limit: Array, delta: Array) -> Array:
    first, last, step = start.reshape(-1)[0], limit.reshape(-1)[0], delta.reshape(-1)[0]
    count = max(math.ceil((last - first) / step), 0)
    return np.arange(count).astype(start.dtype) * step + first


# Pieces


def concat_facts(*xs: Fact, axis: int) -> Fact:
    shapes = [x.sizes for x in xs]
    if len({len(one) for one in shapes}) > 1:
        raise FactError(f"Concat of arrays with different numbers of axes: {' and '.join(map(str, xs))}")
    (axis,) = axes_of([axis], len(shapes[0]))
    made = list(shapes[0])
    for one in shapes[1:]:
        for i, n in enumerate(one):
            if i == axis:
                made[i] = None if made[i] is None or n is None else made[i] + n
            elif isinstance(made[i], int) and isinstance(n, int) and made[i] != n:
                raise FactError(f"Concat along axis {axis} of {' and '.join(map(str, xs))}: axis {i} differs")
            else:
                made[i] = n if isinstance(n, int) or made[i] is None else made[i]
    return Fact(one_kind(*xs), tuple(made))


define("Concat", lambda *xs, axis: np.concatenate(xs, axis), concat_facts)


def _split_sizes(n: Any, split: Any, num_outputs: int | None) -> list[Any]:
    if split is not None:
        return ints(split)
    if num_outputs is None:
        raise FactError("Split: neither the sizes nor the number of the parts are given")
    part = ceil_div(n, num_outputs)
    return [part] * (num_outputs - 1) + [n - part * (num_outputs - 1)]


def _split_facts(x: Fact, split: Fact | None = None, *, axis: int = 0, num_outputs: int | None = None) -> Any:
    if x.shape is None or (split is not None and split.value is None):
        return (Fact(x.dtype),) * (num_outputs or 1)
    (axis,) = axes_of([axis], len(x.shape))
    sizes = _split_sizes(x.shape[axis], split and split.value, num_outputs)
    if isinstance(total := x.shape[axis], int) and isinstance(sum(sizes), int) and sum(sizes) != total:
        raise FactError(f"Split of {total} into {sizes}, which are {sum(sizes)}")
    return tuple(Fact(x.dtype, (*x.shape[:axis], n, *x.shape[axis + 1 :])) for n in sizes)


@operator("Split", _split_facts)
def split(x: Array, split: Array | None = None, *, axis: int = 0, num_outputs: int | None = None) -> Any:
    ends = np.cumsum(_split_sizes(x.shape[axis], split, num_outputs))
    return tuple(np.split(x, ends[:-1], axis))


def _slices(shape: Any, starts: Any, ends: Any, axes: Any, steps: Any) -> dict[int, slice]:
    starts, ends = ints(starts), ints(ends)
    along = axes_of(range(len(starts)) if axes is None else axes, len(shape))
    widths = [1] * len(starts) if steps is None else ints(steps)
    cuts = zip(along, starts, ends, widths)
    return {axis: slice(_first(shape[axis], start, step), end, step) for axis, start, end, step in cuts}


def _first(n: Any, start: Any, step: int) -> Any:
    """Backwards, a start before the first number is the first; for NumPy it is nothing."""
    return -n if step < 0 and all(isinstance(one, int) for one in (n, start)) and start < -n else start


def _sliced(n: Any, one: slice) -> Any:
    """How many numbers of `n` are left; None where that depends on symbols."""
    start, end, step = one.start, one.stop, one.step
    if all(isinstance(each, int) for each in (n, start, end)):
        return len(range(*one.indices(n)))
    if n is None or step < 0:
        whole = step == -1 and start in (-1, 2**63 - 1) and isinstance(end, int) and end <= -(2**31)
        return n if whole else None
    try:
        start, end = (at if at >= 0 else n + at for at in (start, end))
    except TypeError:
        return None  # whether it counts from the end depends on symbols
    end = n if isinstance(end, int) and end >= 2**31 - 1 else smaller(end, n)
    return larger(ceil_div(end - larger(start, 0), step), 0)


def _left(shape: Any, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> list[Any]:
    cuts = _slices(shape, starts, ends, axes, steps)
    return [_sliced(n, cuts[i]) if i in cuts else n for i, n in enumerate(shape)]


@operator("Slice", lambda x, *told: with_sizes(x, _left, *told))
def slice_(
    x: Array, starts: Array, ends: Array, axes: Array | None = None, steps: Array | None = None
) -> Array:
    cuts = _slices(x.shape, starts, ends, axes, steps)
    return x[tuple(cuts.get(i, slice(None)) for i in range(x.ndim))]


def _pad_widths(rank: int, pads: Any, axes: Any) -> list[tuple[Any, Any]]:
    along = axes_of(range(rank) if axes is None else axes, rank)
    wide = ints(pads)
    widths = dict(zip(along, zip(wide[: len(along)], wide[len(along) :])))
    return [widths.get(i, (0, 0)) for i in range(rank)]


def _padded(shape: Any, pads: Any, axes: Any = None) -> list[Any]:
    widths = _pad_widths(len(shape), pads, axes)
    return [None if n is None else n + a + b for n, (a, b) in zip(shape, widths)]


@operator("Pad", lambda x, pads, value=None, axes=None, *, mode="": with_sizes(x, _padded, pads, axes))
def pad(x: Array, pads: Array, value: Any = None, axes: Any = None, *, mode: str = "constant") -> Array:
    widths = _pad_widths(x.ndim, pads, axes)
    x = x[tuple(slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(x.shape, widths))]  # negative: cut
    widths = [(max(a, 0), max(b, 0)) for a, b in widths]
    if mode != "constant":
        return np.pad(x, widths, mode)  # type: ignore[call-overload]
    return np.pad(x, widths, constant_values=0 if value is None else value.reshape(-1)[0])


@operator("Trilu", lambda x, k=None, **_: Fact(x.dtype, x.shape))
def trilu(x: Array, k: Array | None = None, *, upper: int = 1) -> Array:
    return (np.triu if upper else np.tril)(x, 0 if k is None else int(k.reshape(-1)[0]))


def _blocks(x: Fact, wider: bool, blocksize: int) -> Fact:
    (n, c, h, w), square = x.sizes, blocksize * blocksize
    if wider:
        return Fact(x.dtype, (n, c // square, h * blocksize, w * blocksize))
    return Fact(x.dtype, (n, c * square, h // blocksize, w // blocksize))


@operator("DepthToSpace", lambda x, *, blocksize, mode="DCR": _blocks(x, True, blocksize))
def depth_to_space(x: Array, *, blocksize: int, mode: str = "DCR") -> Array:
    (n, c, h, w), b = x.shape, blocksize
    if mode == "DCR":
        x = x.reshape(n, b, b, c // b**2, h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        x = x.reshape(n, c // b**2, b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
    return x.reshape(n, c // b**2, h * b, w * b)


@operator("SpaceToDepth", lambda x, *, blocksize, mode="DCR": _blocks(x, False, blocksize))
def space_to_depth(x: Array, *, blocksize: int, mode: str = "DCR") -> Array:
    (n, c, h, w), b = x.shape, blocksize
    order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    return x.reshape(n, c, h // b, b, w // b, b).transpose(order).reshape(n, c * b * b, h // b, w // b)
