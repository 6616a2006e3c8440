"""Atomic operations of many lanes on one array, as if the lanes came one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cudasim.language.bfloat import bits_of, of_bits, rounded


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
