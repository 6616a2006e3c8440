"""Elements of a memory, which many lanes read or write at once; that they are there has been checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from warplens.engine.axes import Axes
from warplens.engine.memory import Index, Value
from warplens.engine.values import Mask, select

ndarray = np.ndarray


def read(axes: Axes, memory: Any, index: Index, dtype: np.dtype[Any]) -> Value:
    """The elements `index`, of each block's or thread's own copy where there are copies."""
    if type(index) is int:
        return _read_one(axes, memory, index, dtype)
    view = memory.view(dtype)
    if memory.space == "local":
        return np.take_along_axis(view, np.broadcast_to(index, axes.shape)[None], 0)[0]
    if memory.space == "shared":
        if axes.same_in_blocks(index):
            shape = np.broadcast_shapes(index.shape, axes.block_shape)
            return view.take(index.reshape(-1), axis=0).reshape(shape)
        return view[index, axes.slots]
    first = run_of(index)
    if first is None:
        return view.take(index)
    return view[first : first + index.size].copy().reshape(index.shape)


def _read_one(axes: Axes, memory: Any, index: int, dtype: np.dtype[Any]) -> Value:
    view = memory.view(dtype)
    found = view[index]
    if memory.space == "local":
        return found.copy()
    if memory.space == "shared":
        if axes.blocks > 1:
            return found.copy().reshape(axes.block_shape)
        found = found[0]
    return found if dtype.kind == "f" else found.item()


def write(
    axes: Axes, memory: Any, index: Index, value: Value, dtype: np.dtype[Any], mask: Mask, reverse: bool
) -> None:
    """`value` into the elements `index`, in the lanes of `mask`. Of several lanes the last one wins, where
    they come in `reverse` the first one."""
    view = memory.view(dtype)
    if memory.space == "local":
        if type(index) is int:
            if mask is True:
                view[index] = value
            else:
                np.copyto(view[index], value, where=np.broadcast_to(mask, axes.shape))
            return
        places = np.broadcast_to(index, axes.shape)[None]
        if mask is not True:
            value = select(mask, value, np.take_along_axis(view, places, 0)[0], dtype)
        np.put_along_axis(view, places, np.broadcast_to(value, axes.shape)[None], 0)
        return
    if memory.space == "shared":
        if type(index) is ndarray and axes.same_in_blocks(index) and axes.same_in_blocks(mask):
            _write_rows(axes, view, index, value, mask, reverse)
            return
        if axes.blocks > 1:
            _scatter(view, (index, axes.slots), value, mask, reverse)
            return
        view = view.reshape(-1)
    if mask is True and type(index) is ndarray and (first := run_of(index)) is not None:
        shape = np.broadcast_shapes(index.shape, np.shape(value))
        if shape == index.shape:
            view[first : first + index.size].reshape(shape)[...] = value
            return
    _scatter(view, (index,), value, mask, reverse)


def _write_rows(axes: Axes, view: Any, index: Any, value: Value, mask: Mask, reverse: bool) -> None:
    """The same elements of each block's copy: here blocks are the last axes."""
    shapes = [index.shape, np.shape(value), np.shape(mask)]
    threads = [tuple([1 if n > 1 else m for m, n in zip(shape, axes.block_shape)]) for shape in shapes]
    inner = np.broadcast_shapes(*threads)
    index = np.broadcast_to(index, inner).reshape(-1)
    if axes.same_in_blocks(value):
        value = np.broadcast_to(value, inner).reshape(-1, 1) if type(value) is ndarray else value
    else:
        shape = np.broadcast_shapes(inner, axes.block_shape)
        value = np.broadcast_to(value, shape).reshape(index.size, axes.blocks)
    if mask is not True:
        chosen = np.broadcast_to(mask, inner).reshape(-1)
        index = index[chosen]
        value = value[chosen] if type(value) is ndarray else value
    if reverse:
        index = index[::-1]
        value = value[::-1] if type(value) is ndarray else value
    first = run_of(index)
    if first is None:
        view[index] = value
    else:
        view[first : first + index.size] = value


def _scatter(view: Any, places: tuple[Any, ...], value: Value, mask: Mask, reverse: bool) -> None:
    arrays = [*places, value] if mask is True else [*places, value, mask]
    if not any([type(a) is ndarray for a in arrays]):
        view[places] = value
        return
    spread = list(np.broadcast_arrays(*arrays))
    if mask is not True:
        spread = [a[spread[-1]] for a in spread[:-1]]
    if reverse:
        spread = [a.reshape(-1)[::-1] for a in spread]
    view[tuple(spread[:-1])] = spread[-1]


def run_of(index: Any) -> int | None:
    """Where a run of neighbours begins (first, first + 1, ... in memory); None for anything else."""
    n = index.size
    if n < 2:
        return None
    flat = index.reshape(-1)
    first = int(flat[0])
    if int(flat[-1]) - first != n - 1 or first < 0 or int(flat[1]) != first + 1:
        return None
    return first if bool((flat[1:] - flat[:-1] == 1).all()) else None
