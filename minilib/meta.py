"""Arrays without numbers, as a device: `import minilib.meta`, then `x.to("meta")`.

An array of this device knows its shape, dtype and strides, and so does every result. What existing operations
make is told by two sources: its shape by a rule below, its dtype and the order of its axes in memory by
NumPy, asked about a stand-in that is at most 2 long along each axis. Nothing is computed at full size, and
what depends on numbers (`x.item()`, a mask as an index) raises; whether an index is in range is not asked.
In PyTorch: `device="meta"`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from types import EllipsisType
from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.lib.stride_tricks import as_strided
from numpy.typing import DTypeLike

from minilib.engine import DEVICES, Array, Device, Shape, owner_of

__all__ = ["META", "MetaArray", "contiguous_strides"]


# Layouts


def contiguous_strides(shape: Sequence[int], itemsize: int) -> Shape:
    """The strides, in bytes, of an array whose numbers lie in order."""
    steps = itertools.accumulate(reversed(shape[1:]), lambda step, n: step * max(n, 1), initial=itemsize)
    return tuple(reversed(list(steps)))[: len(shape)] if shape else ()


def stand_in(x: Any) -> Any:
    """A real array like `x`, its axes in the same order in memory, but none longer than 2."""
    if not isinstance(x, MetaArray):
        return x
    order = sorted(range(x.ndim), key=lambda i: -abs(x.strides[i]))
    small = [min(n, 2) if step else min(n, 1) for n, step in zip(x.shape, x.strides)]
    fill = np.zeros if x.dtype.kind in "iu" else np.ones  # an index must be one
    ones = fill([small[i] for i in order], x.dtype).transpose(np.argsort(order))
    return np.broadcast_to(ones, [min(n, 2) for n in x.shape])  # axes that were expanded stay so


def laid_out(shape: Shape, small: Any) -> MetaArray:
    """A new array of `shape`, with the dtype and the order of axes of what a stand-in gave."""
    order = sorted(range(len(shape)), key=lambda i: -abs(small.strides[i]))
    steps = contiguous_strides([shape[i] for i in order], small.dtype.itemsize)
    return MetaArray(shape, small.dtype, tuple(dict(zip(order, steps))[i] for i in range(len(shape))))


def seen(x: MetaArray, view: Array) -> MetaArray:
    """A view of x, laid out as `view` is."""
    made = MetaArray(view.shape, view.dtype, view.strides)
    made.base = x if x.base is None else x.base
    return made


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


def picked(x: MetaArray, parts: Sequence[Any]) -> MetaArray:
    """What an index of slices and arrays of integers picks: the arrays' axes stand where they pick."""
    at = [i for i, part in enumerate(parts) if not isinstance(part, slice)]
    around = at == [*range(at[0], at[-1] + 1)]  # else they come first
    start = at[0] if around else 0
    view = seen(x, x.ghost()[tuple(part if isinstance(part, slice) else slice(None) for part in parts)])
    rest = [n for i, n in enumerate(view.shape) if i not in at]
    shape = (*rest[:start], *np.broadcast_shapes(*(parts[i].shape for i in at)), *rest[start:])
    small = stand_in(view)
    if small.size:
        small = small[
            tuple(part if isinstance(part, slice) else stand_in(part) for part in map(whole, parts))
        ]
        return laid_out(shape, small)
    return MetaArray(shape, x.dtype)


def whole(part: Any) -> Any:
    return slice(None) if isinstance(part, slice) else part


def summed_shape(subscripts: str, *arrays: Any) -> Shape:
    """The shape of np.einsum(subscripts, *arrays). An axis of "..." is known by its place from the right."""
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    sizes: dict[Any, int] = {}
    widest = 0

    def labels(term: str, wide: int) -> list[Any]:
        before, dots, after = term.partition("...")
        return [*before, *(range(-wide, 0) if dots else ()), *after]

    for term, x in zip(inputs.split(","), arrays):
        wide = x.ndim - len(term.replace("...", ""))
        widest = max(widest, wide)
        for label, n in zip(labels(term, wide), x.shape, strict=True):
            if 1 != sizes.get(label, 1) != n != 1:
                raise ValueError(f"einsum: {label!r} is {sizes[label]} long, and {n}, in {subscripts}")
            sizes[label] = n if sizes.get(label, 1) == 1 else sizes[label]
    if not arrow:
        letters = inputs.replace(",", "").replace(".", "")
        output = "..." * ("..." in inputs) + "".join(sorted(c for c in letters if letters.count(c) == 1))
    return tuple(sizes[label] for label in labels(output, widest))


def product_shape(x: Any, y: Any) -> Shape:
    """The shape of x @ y, of vectors, matrices and stacks of them."""
    rows, columns = x.shape[-2:-1], y.shape[y.ndim - 1 :] if y.ndim > 1 else ()
    if x.shape[-1] != y.shape[max(y.ndim - 2, 0)]:
        raise ValueError(f"matmul: inner dimensions differ: {x.shape} @ {y.shape}")
    return (*np.broadcast_shapes(x.shape[:-2], y.shape[:-2]), *rows, *columns)


# The array


def viewing(name: str) -> Callable[..., MetaArray]:
    """A method of arrays that only looks at the same memory in another way."""
    return lambda x, *args: seen(x, getattr(x.ghost(), name)(*args))


def reducing(name: str) -> Callable[..., MetaArray]:
    """A method of arrays that makes one number of those along some axes."""

    def method(x: MetaArray, axis: Any = None, keepdims: bool = False, **options: Any) -> MetaArray:
        small = getattr(stand_in(x), name)(axis=axis, keepdims=keepdims, **options)
        made = laid_out(reduced(x.shape, axis, keepdims), small)
        if x.number is not None:
            made.number = getattr(np.asarray(x.number), name)().item()
        return made

    return method


class MetaArray(NDArrayOperatorsMixin):
    """Shape, dtype and strides (in bytes) of an array that has no numbers."""

    base: MetaArray | None = None  # whose memory a view would look at

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
        known = [getattr(x, "number", x) for x in inputs]
        if not shape and None not in known:
            made.number = ufunc(*known, **options)
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
        strides = reshaped_strides(self, to)
        made = MetaArray(to, self.dtype, strides)
        made.base = None if strides is None else self if self.base is None else self.base
        return made

    def astype(self, dtype: DTypeLike, order: Any = "K", copy: bool = True) -> MetaArray:
        if not copy and self.dtype == dtype:
            return self
        made = laid_out(self.shape, stand_in(self).astype(dtype, order=order))
        made.number = self.number
        return made

    def copy(self, order: Any = "C") -> MetaArray:
        return laid_out(self.shape, stand_in(self).copy(order))

    def __getitem__(self, index: Any) -> MetaArray:
        parts = index if isinstance(index, tuple) else (index,)
        arrays = [part for part in parts if isinstance(part, MetaArray)]
        if any(x.dtype.kind == "b" for x in arrays):
            raise TypeError("meta: a mask as an index picks by its numbers, and there are none")
        if not all(
            part is None or isinstance(part, int | slice | EllipsisType | MetaArray) for part in parts
        ):
            raise TypeError(
                "meta: an index holds numbers, slices, None, ... and arrays on meta, nothing else"
            )
        if arrays:
            gap = self.ndim - sum(part is not None and part is not ... for part in parts)
            at = next((i for i, part in enumerate(parts) if part is ...), len(parts))
            parts = (*parts[:at], *[slice(None)] * gap, *parts[at + 1 :])
            as_arrays = [MetaArray((), np.int64) if isinstance(part, int) else part for part in parts]
            axes = tuple(i for i, part in enumerate(parts) if part is None)
            view = seen(self, np.expand_dims(self.ghost(), axes)) if axes else self
            return picked(view, [slice(None) if part is None else part for part in as_arrays])
        return seen(self, self.ghost()[(*parts, *([] if ... in parts else [...]))])

    def __setitem__(self, index: Any, value: Any) -> None:
        place = self[index].shape  # there are no numbers to write, but the shapes have to fit
        if np.broadcast_shapes(place, getattr(value, "shape", ())) != place:
            raise ValueError(f"could not broadcast shape {value.shape} into shape {place}")

    def __iter__(self) -> Iterator[MetaArray]:
        return (self[i] for i in range(len(self)))

    # What it cannot, but for a constant

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(f"an array on meta, here of shape {self.shape}, has no numbers: only their shape")

    def item(self) -> Any:
        return self._refuse() if self.number is None else self.number

    tolist = __array__ = __float__ = __int__ = _refuse

    def __bool__(self) -> bool:
        return bool(self.item())


# Functions of NumPy


def look(func: Any, x: MetaArray, *args: Any, **options: Any) -> Any:
    """A view, or several."""
    made = func(x.ghost(), *args, **options)
    return [seen(x, view) for view in made] if isinstance(made, list) else seen(x, made)


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


def stacked(func: Any, arrays: Sequence[MetaArray], axis: int = 0) -> MetaArray:
    """Arrays of one shape along a new axis."""
    return joined(np.concatenate, [look(np.expand_dims, x, axis) for x in arrays], axis)


def taken(func: Any, x: MetaArray, index: MetaArray, axis: int) -> MetaArray:
    """The parts of x that an array of integers names, along one axis."""
    return x[(*(slice(None),) * (axis % x.ndim), index)]


def summed(func: Any, subscripts: str, *arrays: Any, optimize: Any = False) -> MetaArray:
    """Einstein's sum."""
    return laid_out(summed_shape(subscripts, *arrays), func(subscripts, *map(stand_in, arrays)))


def counted(func: Any, x: MetaArray, weights: Any = None, minlength: int | None = None) -> MetaArray:
    """As many numbers as are asked for, though there could be a larger one in x."""
    if minlength is None:
        raise TypeError("meta: how many np.bincount makes depends on the numbers: give it minlength=")
    return MetaArray((minlength,), np.int64 if weights is None else np.float64)


def repeated(func: Any, x: MetaArray, reps: Any) -> MetaArray:
    """x several times along each axis."""
    times = [reps] if isinstance(reps, int) else [*reps]
    lead = [1] * (len(times) - x.ndim)
    pairs = zip([*lead, *x.shape], [*[1] * (x.ndim - len(times)), *times])
    return MetaArray([n * many for n, many in pairs], x.dtype)


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
RULES: dict[Any, Callable[..., Any]] = {
    np.bincount: counted,
    np.concatenate: joined,
    np.einsum: summed,
    np.stack: stacked,
    np.take: taken,
    np.tile: repeated,
    np.argsort: lambda func, x, **options: MetaArray(x.shape, np.int64),
    np.ascontiguousarray: lambda func, x: (
        x.copy("C") if x.strides != MetaArray(x.shape, x.dtype).strides else x
    ),
    np.copyto: lambda func, x, value, where=True: None,
    np.may_share_memory: lambda func, x, y: owner_of(x) is owner_of(y),
    np.roll: lambda func, x, *args, **options: np.empty_like(x),
    np.take_along_axis: lambda func, x, index, axis: MetaArray(index.shape, x.dtype),
}
RULES |= dict.fromkeys(VIEWS, look) | dict.fromkeys(EACH, each)


# The device


def blank(array: Array) -> MetaArray:
    """Shape, dtype and strides of a NumPy array."""
    array = np.asarray(array)
    return MetaArray(array.shape, array.dtype, array.strides)


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

    def full(self, shape: Any, fill_value: Any, dtype: DTypeLike | None = None) -> MetaArray:
        return self.empty(shape, np.asarray(fill_value).dtype if dtype is None else dtype)

    def arange(self, *args: Any, dtype: DTypeLike | None = None) -> MetaArray:
        return self.empty(len(range(*args)), np.int64 if dtype is None else dtype)


def refuse_numbers(array: MetaArray) -> NoReturn:
    raise TypeError(f"a tensor on meta, here of shape {array.shape}, has no numbers to bring elsewhere")


META = DEVICES.setdefault(MetaArray, Device("meta", Module(), blank, refuse_numbers))
