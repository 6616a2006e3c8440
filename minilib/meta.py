"""Arrays without numbers, as a device: `import minilib.meta`, then `x.to("meta")`.

An array of this device knows its shape, dtype and strides, and so does every result. What existing operations
make is told by two sources: its shape by a rule below, its dtype and the order of its axes in memory by
NumPy, asked about a stand-in that is at most 2 long along each axis. Nothing is computed at full size, and
what depends on numbers (`x.item()`, a mask as an index) raises. In PyTorch: `device="meta"`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from types import EllipsisType
from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.lib.stride_tricks import as_strided
from numpy.typing import DTypeLike

from minilib.engine import DEVICES, Array, Device, Shape

__all__ = ["META", "MetaArray", "contiguous_strides"]


# Layouts


def contiguous_strides(shape: Sequence[int], itemsize: int) -> Shape:
    """The strides, in bytes, of an array whose numbers lie in order."""
    steps = itertools.accumulate(reversed(shape[1:]), lambda step, n: step * max(n, 1), initial=itemsize)
    return tuple(reversed(list(steps)))[: len(shape)] if shape else ()


def stand_in(x: Any) -> Any:
    """A real array of ones like `x`, its axes in the same order in memory, but none longer than 2."""
    if not isinstance(x, MetaArray):
        return x
    order = sorted(range(x.ndim), key=lambda i: -abs(x.strides[i]))
    small = [min(n, 2) if step else min(n, 1) for n, step in zip(x.shape, x.strides)]
    ones = np.ones([small[i] for i in order], x.dtype).transpose(np.argsort(order))
    return np.broadcast_to(ones, [min(n, 2) for n in x.shape])  # axes that were expanded stay so


def laid_out(shape: Shape, small: Any) -> MetaArray:
    """A new array of `shape`, with the dtype and the order of axes of what a stand-in gave."""
    order = sorted(range(len(shape)), key=lambda i: -abs(small.strides[i]))
    steps = contiguous_strides([shape[i] for i in order], small.dtype.itemsize)
    return MetaArray(shape, small.dtype, tuple(dict(zip(order, steps))[i] for i in range(len(shape))))


def seen(view: Array) -> MetaArray:
    return MetaArray(view.shape, view.dtype, view.strides)


def reshaped_strides(x: MetaArray, shape: Shape) -> Shape | None:
    """The strides of `x` under another shape; None where only a copy could have it."""
    if not x.size:
        return contiguous_strides(shape, x.dtype.itemsize)
    axes = [(n, step) for n, step in zip(x.shape, x.strides) if n != 1]
    left, step = (
        1,
        x.dtype.itemsize,
    )  # the numbers of the run that new axes are taken from, and their distance
    made = []
    for n in reversed(shape):
        if left == 1 and axes and n != 1:
            left, step = axes.pop()
        while left % n:  # one axis more joins the run, if it goes on where the run ends
            if axes[-1][1] != left * step:
                return None
            left *= axes.pop()[0]
        made.append(step)
        left, step = left // n, step * n
    return tuple(reversed(made))


def reduced(shape: Shape, axis: int | Sequence[int] | None, keepdims: bool) -> Shape:
    """What is left of `shape` after a reduction along `axis`, None for all."""
    chosen = range(len(shape)) if axis is None else (axis,) if isinstance(axis, int) else axis
    gone = {i % len(shape) for i in chosen}
    return tuple(1 if i in gone else n for i, n in enumerate(shape) if keepdims or i not in gone)


def product_shape(x: Any, y: Any) -> Shape:
    """The shape of x @ y, of matrices and stacks of them."""
    if x.shape[-1] != y.shape[-2]:
        raise ValueError(f"matmul: inner dimensions differ: {x.shape} @ {y.shape}")
    return (*np.broadcast_shapes(x.shape[:-2], y.shape[:-2]), x.shape[-2], y.shape[-1])


# The array


def viewing(name: str) -> Callable[..., MetaArray]:
    """A method of arrays that only looks at the same memory in another way."""
    return lambda x, *args: seen(getattr(x.ghost(), name)(*args))


def reducing(name: str) -> Callable[..., MetaArray]:
    """A method of arrays that makes one number of those along some axes."""

    def method(x: MetaArray, axis: Any = None, keepdims: bool = False, **options: Any) -> MetaArray:
        small = getattr(stand_in(x), name)(axis=axis, keepdims=keepdims, **options)
        return laid_out(reduced(x.shape, axis, keepdims), small)

    return method


class MetaArray(NDArrayOperatorsMixin):
    """Shape, dtype and strides (in bytes) of an array that has no numbers."""

    base = None

    def __init__(self, shape: Sequence[int], dtype: DTypeLike, strides: Sequence[int] | None = None) -> None:
        self.shape, self.dtype = tuple(shape), np.dtype(dtype)
        self.strides = (
            contiguous_strides(self.shape, self.dtype.itemsize) if strides is None else tuple(strides)
        )
        self.ndim, self.size = len(self.shape), math.prod(self.shape)
        self.number: Any = None  # of a constant that the program wrote, as the 2 of x ** 2

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def flags(self) -> Any:
        return self.ghost().flags

    def ghost(self) -> Array:
        """A NumPy array with these strides over one number: it may be viewed, but never read."""
        return as_strided(np.empty(1, self.dtype), self.shape, self.strides)

    # What it can tell

    def __array_ufunc__(
        self, ufunc: Any, method: str, *inputs: Any, out: Any = (None,), **options: Any
    ) -> Any:
        if method != "__call__" or ufunc.nout > 1 or any(isinstance(x, np.ndarray) for x in (*inputs, *out)):
            return NotImplemented  # as CuPy's arrays: they do not mix with NumPy's
        shapes = [getattr(x, "shape", ()) for x in inputs]
        shape = product_shape(*inputs) if ufunc is np.matmul else np.broadcast_shapes(*shapes)
        made = laid_out(shape, np.asarray(ufunc(*map(stand_in, inputs), **options)))
        return made if out[0] is None else out[0]

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func not in RULES:
            raise TypeError(f"meta: no rule says which shape np.{func.__name__} makes")
        return RULES[func](func, *args, **kwargs)

    sum, prod, mean, max, min = map(reducing, ("sum", "prod", "mean", "max", "min"))
    all, any, argmax, argmin = map(reducing, ("all", "any", "argmax", "argmin"))
    transpose, swapaxes, squeeze = map(viewing, ("transpose", "swapaxes", "squeeze"))

    @property
    def T(self) -> MetaArray:
        return self.transpose()

    def cumsum(self, axis: int, dtype: DTypeLike | None = None) -> MetaArray:
        return laid_out(self.shape, stand_in(self).cumsum(axis, dtype))

    def reshape(self, *shape: Any) -> MetaArray:
        to = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
        rest = -math.prod(to)  # of the lengths but -1
        to = tuple(self.size // rest if n == -1 else n for n in to)
        if math.prod(to) != self.size:
            raise ValueError(f"cannot reshape array of size {self.size} into shape {to}")
        return MetaArray(to, self.dtype, reshaped_strides(self, to))

    def astype(self, dtype: DTypeLike, order: Any = "K", copy: bool = True) -> MetaArray:
        if not copy and self.dtype == dtype:
            return self
        return laid_out(self.shape, stand_in(self).astype(dtype, order=order))

    def copy(self, order: Any = "C") -> MetaArray:
        return laid_out(self.shape, stand_in(self).copy(order))

    def __getitem__(self, index: Any) -> MetaArray:
        parts = index if isinstance(index, tuple) else (index,)
        if not all(part is None or isinstance(part, int | slice | EllipsisType) for part in parts):
            raise TypeError("meta: an index that holds arrays picks by their numbers, and there are none")
        return seen(self.ghost()[(*parts, *([] if ... in parts else [...]))])

    def __setitem__(self, index: Any, value: Any) -> None:
        place = self[index].shape  # there are no numbers to write, but the shapes have to fit
        if np.broadcast_shapes(place, getattr(value, "shape", ())) != place:
            raise ValueError(f"could not broadcast shape {value.shape} into shape {place}")

    # What it cannot

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(f"an array on meta, here of shape {self.shape}, has no numbers: only their shape")

    def item(self) -> Any:
        return self._refuse() if self.number is None else self.number

    tolist = __array__ = __float__ = __int__ = __bool__ = __iter__ = _refuse


# Functions of NumPy


def look(func: Any, x: MetaArray, *args: Any, **options: Any) -> Any:
    """A view, or several."""
    made = func(x.ghost(), *args, **options)
    return [seen(view) for view in made] if isinstance(made, list) else seen(made)


def each(func: Any, *args: Any, **options: Any) -> MetaArray:
    """One number for each place of the arrays, which broadcast."""
    if any(isinstance(x, np.ndarray) for x in args):
        raise TypeError(f"np.{func.__name__}: arrays on meta and on cpu do not mix")
    shape = np.broadcast_shapes(*[getattr(x, "shape", ()) for x in args])
    return laid_out(shape, func(*map(stand_in, args), **options))


def joined(func: Any, arrays: Sequence[MetaArray], axis: int = 0) -> MetaArray:
    """Arrays one after the other."""
    small = func([stand_in(x) for x in arrays], axis)
    shape = list(arrays[0].shape)
    shape[axis] = sum(x.shape[axis] for x in arrays)
    for x in arrays[1:]:
        if any(n != m for i, (n, m) in enumerate(zip(x.shape, shape)) if i != axis % len(shape)):
            raise ValueError(f"cannot join shapes {', '.join(str(x.shape) for x in arrays)} along {axis}")
    return laid_out(tuple(shape), small)


VIEWS = (
    np.broadcast_to,
    np.expand_dims,
    np.flip,
    np.moveaxis,
    np.split,
    np.squeeze,
    np.swapaxes,
    np.transpose,
)
EACH = (np.clip, np.empty_like, np.full_like, np.ones_like, np.tril, np.triu, np.where, np.zeros_like)
RULES: dict[Any, Callable[..., Any]] = {np.concatenate: joined}
RULES[np.take_along_axis] = lambda func, x, index, axis: MetaArray(index.shape, x.dtype)
RULES |= dict.fromkeys(VIEWS, look) | dict.fromkeys(EACH, each)


# The device


def blank(array: Array) -> MetaArray:
    """Shape, dtype and strides of a NumPy array."""
    return seen(np.asarray(array))


class Module:
    """What Function code finds as `xp`: NumPy's functions, and those that make arrays."""

    ndarray = MetaArray

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)  # they ask the arrays that they are given: see RULES

    def asarray(self, data: Any, dtype: DTypeLike | None = None) -> MetaArray:
        if isinstance(data, MetaArray):
            return data if dtype is None else data.astype(dtype, copy=False)
        array = np.asarray(data, dtype)
        made = blank(array)
        made.number = None if array.ndim else array.item()
        return made

    def empty(self, shape: Any, dtype: DTypeLike = np.float64) -> MetaArray:
        return MetaArray((shape,) if isinstance(shape, int) else shape, dtype)

    zeros = ones = empty


def refuse_numbers(array: MetaArray) -> NoReturn:
    raise TypeError(f"a tensor on meta, here of shape {array.shape}, has no numbers to bring elsewhere")


META = DEVICES.setdefault(MetaArray, Device("meta", Module(), blank, refuse_numbers))
