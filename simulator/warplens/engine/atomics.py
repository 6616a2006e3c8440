"""Atomic operations of many lanes on one memory, as if the lanes came one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from warplens.engine.axes import BOOLEAN, INT64, Axes
from warplens.engine.elements import write
from warplens.engine.launch import Launch
from warplens.engine.memory import Index, Value
from warplens.engine.values import Mask
from warplens.language.bfloat import bits_of, of_bits, rounded

ndarray = np.ndarray


def _subtract_at(view: Any, places: Any, values: Any) -> None:
    np.subtract.at(view, places, values)


def _add_at(view: Any, places: Any, values: Any) -> None:
    if places.size and values.dtype.kind in "iu" and not values.strides[0]:  # the same number from all
        counts = np.bincount(places - (low := int(places.min())))
        view[low : low + len(counts)] += counts.astype(view.dtype) * values[0]
    else:
        np.add.at(view, places, values)


# In no order that anybody could see: nothing is returned.
AT: dict[str, Callable[[Any, Any, Any], None]] = {
    "atomicAdd": _add_at,
    "atomicSub": _subtract_at,
    "atomicMax": np.maximum.at,
    "atomicMin": np.minimum.at,
    "atomicAnd": np.bitwise_and.at,
    "atomicOr": np.bitwise_or.at,
    "atomicXor": np.bitwise_xor.at,
}
# The new value of an old one.
CHANGES: dict[str, Callable[..., Any]] = {
    "atomicAdd": np.add,
    "atomicAdd bf16": lambda old, new: bits_of(rounded(of_bits(old) + of_bits(new))),
    "atomicSub": np.subtract,
    "atomicMax": np.maximum,
    "atomicMin": np.minimum,
    "atomicAnd": np.bitwise_and,
    "atomicOr": np.bitwise_or,
    "atomicXor": np.bitwise_xor,
    "atomicExch": lambda old, new: new,
    "atomicCAS": lambda old, expected, new: np.where(old == expected, new, old),
    "atomicInc": lambda old, top: np.where(old >= top, 0, old + 1).astype(old.dtype),
    "atomicDec": lambda old, top: np.where((old == 0) | (old > top), top, old - 1).astype(old.dtype),
}


def one_by_one(name: str, view: Any, places: Any, values: list[Any]) -> np.ndarray[Any, Any]:
    """The lanes in order, each seeing what those before it have left; returns what each has seen."""
    order = np.argsort(places, kind="stable")
    sorted_places = places[order]
    starts = np.flatnonzero(np.r_[True, sorted_places[1:] != sorted_places[:-1]])
    lengths = np.diff(np.r_[starts, len(order)])
    old = np.empty(len(order), view.dtype)
    if not len(order):
        return old
    if name in ("atomicAdd", "atomicSub") and view.dtype.kind in "iu":
        change = values[0][order] if name == "atomicAdd" else -values[0][order]
        with np.errstate(over="ignore"):
            sums = np.cumsum(change, dtype=view.dtype)
            before = sums - change
            before -= np.repeat(before[starts], lengths)
            old[order] = np.repeat(view[sorted_places[starts]], lengths) + before
            ends = starts + lengths - 1
            view[sorted_places[starts]] = old[order][ends] + change[ends]
        return old
    rank = np.arange(len(order)) - np.repeat(starts, lengths)
    by_rank = order[np.argsort(rank, kind="stable")]
    at = 0
    for count in np.bincount(rank).tolist():
        now = by_rank[at : at + count]
        at += count
        seen = view[places[now]]
        old[now] = seen
        view[places[now]] = CHANGES[name](seen, *[v[now] for v in values])
    return old


def atomic(
    axes: Axes, launch: Launch, name: str, memory: Any, index: Index, values: tuple[Value, ...],
    dtype: np.dtype[Any], mask: Mask, wanted: bool,
) -> Value:  # fmt: skip
    """Each lane of `mask` in turn changes its element; gives the old ones, where they are `wanted`."""
    view = memory.view(dtype)
    if memory.space == "local":
        old = np.take_along_axis(view, np.broadcast_to(index, axes.shape)[None], 0)[0]
        new = CHANGES[name](old, *[np.asarray(v, dtype) for v in values])
        write(axes, memory, index, new, dtype, mask, launch.reverse)
        return old
    if memory.space == "shared":
        index = index * axes.blocks + axes.slots
        view = view.reshape(-1)
    places = axes.linear(index, INT64)
    given = [
        axes.linear(v, dtype) if type(v) is ndarray else np.broadcast_to(dtype.type(v), places.shape)
        for v in values
    ]
    chosen = None
    if mask is not True:
        chosen = axes.linear(mask, BOOLEAN)
        places = places[chosen]
        given = [v[chosen] if v.strides[0] else v[: len(places)] for v in given]
    if launch.reverse:
        places, given = places[::-1], [v[::-1] for v in given]
    before = view[places] if launch.waits or name in ("atomicCAS", "atomicExch") else None
    if wanted or name not in AT:
        old = one_by_one(name, view, places, given)
    else:
        AT[name](view, places, given[0])
        old = None
    if before is None or not np.array_equal(before, view[places]):
        launch.changes += 1
    if not wanted or old is None:
        return None
    if launch.reverse:
        old = old[::-1]
    if chosen is not None:
        out = np.zeros(len(chosen), dtype)
        out[chosen] = old
        old = out
    return axes.unlinear(old)
