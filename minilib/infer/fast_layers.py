"""Products of matrices, attention and windows as calls of NumPy; the rest is in `fast`.

Importing this module adds them to `plan.EMITTERS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product as grid
from typing import Any

import numpy as np

from minilib.infer.fast import Maybe, shifted
from minilib.infer.layers import pool_windows, windows
from minilib.infer.model import Node
from minilib.infer.plan import Builder, Slot, emitter

__all__ = ["laid", "multiplied", "tap"]

# Products of matrices


def for_blas(b: Builder, x: Slot) -> Slot:
    """The array as BLAS takes it: with one of its last two axes without gaps."""
    if x.ndim < 2 or not x.array.size:
        return x
    size, (row, column) = x.array.itemsize, x.array.strides[-2:]
    fits = (column == size and row >= size * x.shape[-1]) or (row == size and column >= size * x.shape[-2])
    return x if fits or 1 in x.shape[-2:] else b.contiguous(x)


def multiplied(b: Builder, x: Slot, w: Slot) -> Slot:
    """The product, in one call of BLAS where rows of many matrices meet one."""
    out = b.result()
    x, w = for_blas(b, x), for_blas(b, w)
    if x.ndim > 2 and w.ndim == 2:
        rows = math.prod(x.shape[:-1])
        flat, made = b.reshaped(x, (rows, x.shape[-1])), b.reshaped(out, (rows, w.shape[-1]))
        if flat is not None and made is not None:
            b.call(np.matmul, flat, w, out=made)
            return out
    b.call(np.matmul, x, w, out=out)
    return out


@emitter("MatMul")
def matmul(b: Builder, node: Node, x: Slot, y: Slot) -> Maybe:
    return multiplied(b, x, y) if x.dtype.kind == "f" and x.dtype == y.dtype else None


@emitter("Linear")
def linear(b: Builder, node: Node, x: Slot, w: Slot, bias: Slot) -> Slot:
    out = multiplied(b, x, w)
    b.call(np.add, out, bias, out=out)
    return out


@emitter("Einsum")
def einsum(b: Builder, node: Node, *xs: Slot) -> Maybe:
    """Products of two whose letters all stay are products of views; others are NumPy's own."""
    text = node.attributes["equation"].replace(" ", "")
    terms, _, result = text.partition("->")
    parts = terms.split(",")
    if "." in text or "->" not in text or any(len(set(part)) < len(part) for part in parts) or len(xs) < 2:
        return None
    if xs[0].dtype.kind != "f":
        return None
    out = b.result()
    if not all(set(result) >= set(part) for part in parts):
        b.call(np.einsum, text, *xs, out=out)
        return out
    looks = [spread(b, x, part, result) for x, part in zip(xs, parts)]
    looks.sort(key=lambda slot: slot.array.size)
    b.call(np.multiply, looks[0], looks[1], out=out)
    for look in looks[2:]:
        b.call(np.multiply, out, look, out=out)
    return out


def spread(b: Builder, x: Slot, part: str, result: str) -> Slot:
    """Axes in the order of `result`, of size 1 where x has none of that letter."""
    there = [letter for letter in result if letter in part]
    x = b.view(x, "transpose", tuple(part.index(letter) for letter in there))
    return b.view(x, "__getitem__", tuple(slice(None) if c in part else None for c in result))


# Attention


@emitter("ScaledDotProductAttention")
def attention(
    b: Builder, node: Node, q: Slot, k: Slot, v: Slot, more: Maybe = None, drop: Maybe = None
) -> Slot:
    out = b.result()
    attended(b, node, q, k, v, more, drop, out)
    return out


@emitter("MultiHeadAttention")
def heads(b: Builder, node: Node, q: Slot, k: Slot, v: Slot, more: Maybe = None, drop: Maybe = None) -> Maybe:
    n, out = node.attributes["heads"], b.result()
    parts = [b.reshaped(x, (*x.shape[:2], n, x.shape[2] // n)) for x in (q, k, v, out)]
    if any(part is None for part in parts):
        return None
    q, k, v, made = (
        b.view(part, "transpose", order)  # type: ignore[arg-type]
        for part, order in zip(parts, ((0, 2, 1, 3), (0, 2, 3, 1), (0, 2, 1, 3), (0, 2, 1, 3)))
    )
    attended(b, node, q, k, v, more, drop, made)
    return out


def attended(b: Builder, node: Node, q: Slot, k: Slot, v: Slot, more: Maybe, drop: Maybe, out: Slot) -> None:
    """The scale goes to q, and the sum of each row is divided by last: both are smaller than the scores."""
    scores_of = (*np.broadcast_shapes(q.shape[:-2], k.shape[:-2]), q.shape[-2], k.shape[-1])
    for mask in (more, drop):
        scores_of = np.broadcast_shapes(scores_of, mask.shape) if mask is not None else scores_of
    asked, scores = b.piece(q.shape, q.dtype), b.piece(scores_of, q.dtype)
    b.call(np.multiply, q, b.number(node.attributes.get("scale", 1.0), q.dtype), out=asked)
    b.call(np.matmul, asked, for_blas(b, k), out=scores)
    if more is not None:
        b.call(np.add, scores, more, out=scores)
    if drop is not None:
        b.call(np.copyto, scores, b.number(node.attributes.get("fill", -math.inf), q.dtype), where=drop)
    some = b.piece((*scores_of[:-1], 1), q.dtype)
    shifted(b, scores, some, scores, -1)
    b.call(np.matmul, scores, for_blas(b, v), out=out)
    b.call(np.divide, out, some, out=out)


# Windows: channels first and the batch last, so that each tap of a window is one long run of memory


def laid(b: Builder, x: Slot, wide: Sequence[tuple[int, int]], fill: float) -> Slot:
    """(N, C, *sizes) as (C, *sizes, N), with its padding."""
    n_axes = x.ndim - 2
    turned = b.view(x, "transpose", (1, *range(2, x.ndim), 0))
    if not any(map(any, wide)):
        return turned
    sizes = [n + before + after for n, (before, after) in zip(x.shape[2:], wide)]
    made = b.piece((x.shape[1], *sizes, x.shape[0]), x.dtype)
    b.call(np.ndarray.fill, made, fill)
    inner = tuple(slice(before, before + n) for n, (before, _) in zip(x.shape[2:], wide))
    b.call(np.copyto, b.view(made, "__getitem__", (slice(None), *inner[:n_axes])), turned)
    return made


def tap(x: Slot, at: Sequence[int], strides: Any, dilations: Any, found: Any) -> tuple[Any, ...]:
    """Where in (C, *sizes, N) the numbers lie that one place of the window meets."""
    return (
        slice(None),
        *(slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, s, n in zip(at, dilations, strides, found)),
    )


@emitter("Conv")
def conv(b: Builder, node: Node, x: Slot, w: Slot, bias: Maybe = None) -> Maybe:
    told, group, n_axes = node.attributes, node.attributes.get("group", 1), x.ndim - 2
    if x.dtype.kind != "f" or not w.constant or not x.array.size or x.constant:
        return None
    kernel, m = w.shape[2:], w.shape[0]
    strides, dilations, wide, found = windows(
        n_axes, x.shape[2:], kernel, told.get("strides"), told.get("dilations"), told.get("pads"),
        told.get("auto_pad", "NOTSET"),
    )  # fmt: skip
    out = b.result(order=(1, *range(2, x.ndim), 0))
    made = b.view(out, "transpose", (1, *range(2, x.ndim), 0))
    padded = laid(b, x, wide, 0.0)
    if group == x.shape[1] == m and group > 1:
        by_taps(b, padded, w, made, strides, dilations, found)
    else:
        each, columns_of = w.shape[1] * math.prod(kernel), (x.shape[1], *kernel, *found, x.shape[0])
        columns = b.piece(columns_of, x.dtype)
        for at in grid(*map(range, kernel)):
            part = b.view(columns, "__getitem__", (slice(None), *at))
            b.call(np.copyto, part, b.view(padded, "__getitem__", tap(padded, at, strides, dilations, found)))
        length = math.prod(found) * x.shape[0]
        weights = b.number(np.ascontiguousarray(w.array.reshape(group, m // group, each)), w.dtype)
        flat, into = b.reshaped(columns, (group, each, length)), b.reshaped(made, (group, m // group, length))
        if flat is None or into is None:
            return None
        if group == 1:
            weights, flat, into = (b.view(s, "__getitem__", 0) for s in (weights, flat, into))
        b.call(np.matmul, weights, flat, out=into)
    if bias is not None:
        b.call(np.add, made, b.view(bias, "reshape", (m, *[1] * (n_axes + 1))), out=made)
    return out


def by_taps(b: Builder, x: Slot, w: Slot, made: Slot, strides: Any, dilations: Any, found: Any) -> None:
    """A filter a channel: for each place of the window a product with one weight a channel, added up."""
    kernel, term = w.shape[2:], b.piece(made.shape, made.dtype)
    for i, at in enumerate(grid(*map(range, kernel))):
        weight = b.number(w.array[(slice(None), 0, *at)].reshape(-1, *[1] * (made.ndim - 1)), w.dtype)
        seen = b.view(x, "__getitem__", tap(x, at, strides, dilations, found))
        b.call(np.multiply, seen, weight, out=term if i else made)
        if i:
            b.call(np.add, made, term, out=made)


@emitter("MaxPool", "AveragePool")
def pool(b: Builder, node: Node, x: Slot) -> Maybe:
    told, n_axes = node.attributes, x.ndim - 2
    if x.dtype.kind != "f" or told.get("ceil_mode") or any(node.outputs[1:]):
        return None
    kernel = told["kernel_shape"]
    strides, dilations, wide, found = windows(
        n_axes, x.shape[2:], kernel, told.get("strides"), told.get("dilations"), told.get("pads"),
        told.get("auto_pad", "NOTSET"),
    )  # fmt: skip
    largest, order = node.op == "MaxPool", (1, *range(2, x.ndim), 0)
    out = b.result(order=order)
    made, padded = b.view(out, "transpose", order), laid(b, x, wide, -math.inf if largest else 0.0)
    taps = [
        b.view(padded, "__getitem__", tap(padded, at, strides, dilations, found))
        for at in grid(*map(range, kernel))
    ]
    function: Callable[..., Any] = np.maximum if largest else np.add
    if len(taps) == 1:
        b.call(np.copyto, made, taps[0])
    for i, one in enumerate(taps[1:]):
        b.call(function, made if i else taps[0], one, out=made)
    if not largest:
        ones = np.ones((1, 1, *x.shape[2:]), x.dtype)
        wide_ones = wide
        if told.get("count_include_pad"):
            ones, wide_ones = np.pad(ones, [(0, 0), (0, 0), *wide], constant_values=1), [(0, 0)] * n_axes
        counts = pool_windows(ones, 0, kernel, strides, dilations, wide_ones, found).sum(
            tuple(range(-n_axes, 0))
        )
        b.call(np.divide, made, b.number(counts.reshape(1, *found, 1), x.dtype), out=made)
    return out


@emitter("GlobalAveragePool")
def global_average(b: Builder, node: Node, x: Slot) -> Maybe:
    if x.dtype.kind != "f" or not x.array.size:
        return None
    out = b.result()
    b.call(np.add.reduce, x, axis=tuple(range(2, x.ndim)), keepdims=True, out=out)
    b.call(np.divide, out, b.number(math.prod(x.shape[2:]), x.dtype), out=out)
    return out
