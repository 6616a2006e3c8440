"""Operators that pick numbers by their places, and put numbers there: gathers, scatters, the largest few."""

from __future__ import annotations

from typing import Any

import numpy as np

from minilib.infer.axes import INT64
from minilib.infer.elementwise import axes_of
from minilib.infer.facts import Fact, Unknown, ints
from minilib.infer.operators import define, operator, same

__all__: list[str] = []  # they are in the table

Array = Any


def _gather_facts(x: Fact, indices: Fact, *, axis: int = 0) -> Fact:
    (axis,) = axes_of([axis], len(x.sizes))
    return Fact(x.dtype, (*x.sizes[:axis], *indices.sizes, *x.sizes[axis + 1 :]))


# Negative indices count from the end; past the end it raises.
define("Gather", lambda x, indices, *, axis=0: np.take(x, indices, axis), _gather_facts)


@operator("GatherElements", lambda x, indices, *, axis=0: Fact(x.dtype, indices.shape))
def gather_elements(x: Array, indices: Array, *, axis: int = 0) -> Array:
    near = [slice(None if i == axis % x.ndim else n) for i, n in enumerate(indices.shape)]
    return np.take_along_axis(x[tuple(near)], indices, axis)


def _gather_nd_facts(x: Fact, indices: Fact, *, batch_dims: int = 0) -> Fact:
    *rows, many = indices.sizes
    if not isinstance(many, int):
        raise Unknown
    return Fact(x.dtype, (*rows, *x.sizes[batch_dims + many :]))


@operator("GatherND", _gather_nd_facts)
def gather_nd(x: Array, indices: Array, *, batch_dims: int = 0) -> Array:
    batch = np.ix_(*(range(n) for n in indices.shape[:batch_dims]))
    over = [one.reshape(one.shape + (1,) * (indices.ndim - 1 - batch_dims)) for one in batch]
    return x[(*over, *np.moveaxis(indices, -1, 0))]


REDUCING: dict[str, Any] = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


def _scatter(x: Array, where: Any, updates: Array, reduction: str) -> Array:
    made = x.copy()
    if reduction == "none":
        made[where] = updates
    else:
        REDUCING[reduction].at(made, where, updates)
    return made


@operator("ScatterElements", same)
def scatter_elements(
    x: Array, indices: Array, updates: Array, *, axis: int = 0, reduction: str = "none"
) -> Array:
    where: list[Any] = list(np.indices(indices.shape, sparse=True))
    where[axis] = indices
    return _scatter(x, tuple(where), updates, reduction)


@operator("ScatterND", same)
def scatter_nd(x: Array, indices: Array, updates: Array, *, reduction: str = "none") -> Array:
    return _scatter(x, tuple(np.moveaxis(indices, -1, 0)), updates, reduction)


def _one_hot_facts(indices: Fact, depth: Fact, values: Fact, *, axis: int = -1) -> Fact:
    if indices.shape is None:
        return Fact(values.dtype, None)
    long = None if depth.value is None else ints(depth.value)[0]
    at = axis % (len(indices.shape) + 1)
    return Fact(values.dtype, (*indices.shape[:at], long, *indices.shape[at:]))


@operator("OneHot", _one_hot_facts)
def one_hot(indices: Array, depth: Array, values: Array, *, axis: int = -1) -> Array:
    n = ints(depth)[0]
    hot = np.where(indices < 0, indices + n, indices)[..., None] == np.arange(n)
    return np.moveaxis(values[hot.astype(int)], -1, axis)


def _nonzero_facts(x: Fact) -> Fact:
    return Fact(
        INT64, (None if x.shape is None else max(len(x.shape), 1), None)
    )  # one number is a row of one


define("NonZero", lambda x: np.array(np.nonzero(np.atleast_1d(x)), np.int64), _nonzero_facts)


def _top_facts(x: Fact, k: Fact, *, axis: int = -1, largest: int = 1, sorted: int = 1) -> tuple[Fact, Fact]:
    if x.shape is None:
        return Fact(x.dtype), Fact(INT64)
    (axis,) = axes_of([axis], len(x.shape))
    found = (*x.shape[:axis], None if k.value is None else ints(k.value)[0], *x.shape[axis + 1 :])
    return Fact(x.dtype, found), Fact(INT64, found)


@operator("TopK", _top_facts)
def top_k(x: Array, k: Array, *, axis: int = -1, largest: int = 1, sorted: int = 1) -> tuple[Array, Array]:
    """Of equal numbers the first is taken first; NaN counts as larger than all."""
    n = x.shape[axis]
    if ints(k)[0] > n:
        raise ValueError(f"TopK of {ints(k)[0]} numbers out of {n}")
    if largest:  # turned round twice, so that the first of equal ones stays in front
        order = np.flip(n - 1 - np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
    else:
        order = np.argsort(x, axis, kind="stable")
    order = np.take(order, range(ints(k)[0]), axis)
    return np.take_along_axis(x, order, axis), order
