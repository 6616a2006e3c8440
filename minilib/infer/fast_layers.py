"""Products of matrices, attention and windows as calls of NumPy; the rest is in `fast`.

Importing this module adds them to `plan.EMITTERS`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from minilib.infer.fast import SHIFTED, Maybe, written
from minilib.infer.layers import Windows, windows
from minilib.infer.model import Node
from minilib.infer.plan import Builder, Slot, emitter

__all__ = ["laid", "multiplied", "taps"]

LARGE_EINSUM = 2**35  # sizes of all arrays, multiplied: their root is about the numbers to multiply

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
    """NumPy's own loop, and BLAS where its way to it, which has to be looked for, is worth it."""
    equation = node.attributes["equation"].replace(" ", "")
    if xs[0].dtype.kind != "f" or len(xs) < 2:
        return None
    left, _, right = equation.partition("->")
    out = b.result()
    large = math.prod(x.array.size for x in (*xs, out)) > LARGE_EINSUM
    b.call(np.einsum, equation, *xs, optimize=large and not set(left) <= {",", *right}, out=out)
    return out


# Attention


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


@emitter("ScaledDotProductAttention")
def attended(
    b: Builder, node: Node, q: Slot, k: Slot, v: Slot, more: Maybe = None, drop: Maybe = None,
    out: Maybe = None,
) -> Slot:  # fmt: skip
    """The scale goes to q, and the sum of each row is divided by last: both are smaller than the scores."""
    out = out or b.result()
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
    row = b.piece((*scores_of[:-1], 1), q.dtype)
    written(b, SHIFTED, scores, {"out": scores, "row": row})
    b.call(np.matmul, scores, for_blas(b, v), out=out)
    b.call(np.divide, out, row, out=out)
    return out


LONG = 1000  # places of a window, each a line of the program: more are left to the table

# Windows: channels first and the batch last, so that each tap of a window is one long run of memory


def laid(b: Builder, x: Slot, wide: Sequence[tuple[int, int]], fill: float) -> Slot:
    """(N, C, *sizes) as (C, *sizes, N), with its padding."""
    turned = b.view(x, "transpose", batch_last(x))
    if not any(map(any, wide)):
        return turned
    sizes = [n + before + after for n, (before, after) in zip(x.shape[2:], wide)]
    made = b.piece((x.shape[1], *sizes, x.shape[0]), x.dtype)
    b.call(np.ndarray.fill, made, fill)
    inner = [slice(before, before + n) for n, (before, _) in zip(x.shape[2:], wide)]
    b.call(np.copyto, b.view(made, "__getitem__", (slice(None), *inner)), turned)
    return made


def batch_last(x: Slot) -> tuple[int, ...]:
    return (1, *range(2, x.ndim), 0)


def taps(b: Builder, x: Slot, seen: Windows) -> Iterator[tuple[tuple[int, ...], Slot]]:
    """Each place of the window, and the numbers of (C, *sizes, N) that it meets."""
    for at, index in seen.taps(1):
        yield at, b.view(x, "__getitem__", index)


@emitter("Conv")
def conv(b: Builder, node: Node, x: Slot, w: Slot, bias: Maybe = None) -> Maybe:
    group, m = node.attributes.get("group", 1), w.shape[0]
    if x.dtype.kind != "f" or not w.constant or not x.array.size or x.constant:
        return None
    seen = windows(x.shape[2:], w.shape[2:], **node.attributes)
    if math.prod(seen.kernel) > LONG:
        return None
    out = b.result(order=batch_last(x))
    made, padded = b.view(out, "transpose", batch_last(x)), laid(b, x, seen.wide, 0.0)
    if group == x.shape[1] == m and group > 1:
        by_taps(b, padded, w, made, seen)
    elif not by_columns(b, padded, w, made, seen, group):
        return None
    if bias is not None:
        b.call(np.add, made, b.view(bias, "reshape", (m, *[1] * (x.ndim - 1))), out=made)
    return out


def by_columns(b: Builder, x: Slot, w: Slot, made: Slot, seen: Windows, group: int) -> bool:
    """What the windows meet is laid side by side, and one product a group is taken; False if it cannot be."""
    m, each = w.shape[0], math.prod(w.shape[1:])
    columns = b.piece((x.shape[0], *seen.kernel, *made.shape[1:]), x.dtype)
    for at, numbers in taps(b, x, seen):
        b.call(np.copyto, b.view(columns, "__getitem__", (slice(None), *at)), numbers)
    length = math.prod(made.shape[1:])
    weights = b.number(np.ascontiguousarray(w.array.reshape(group, m // group, each)), w.dtype)
    flat, into = b.reshaped(columns, (group, each, length)), b.reshaped(made, (group, m // group, length))
    if flat is None or into is None:
        return False
    if group == 1:
        weights, flat, into = (b.view(s, "__getitem__", 0) for s in (weights, flat, into))
    b.call(np.matmul, weights, flat, out=into)
    return True


def by_taps(b: Builder, x: Slot, w: Slot, made: Slot, seen: Windows) -> None:
    """A filter a channel: for each place of the window a product with one weight a channel, added up."""
    term = b.piece(made.shape, made.dtype)
    for i, (at, numbers) in enumerate(taps(b, x, seen)):
        weight = b.number(w.array[(slice(None), 0, *at)].reshape(-1, *[1] * (made.ndim - 1)), w.dtype)
        b.call(np.multiply, numbers, weight, out=term if i else made)
        if i:
            b.call(np.add, made, term, out=made)


@emitter("MaxPool", "AveragePool")
def pool(b: Builder, node: Node, x: Slot) -> Maybe:
    told = dict(node.attributes)
    if x.dtype.kind != "f" or told.get("ceil_mode") or any(node.outputs[1:]):
        return None
    seen, largest = windows(x.shape[2:], told.pop("kernel_shape"), **told), node.op == "MaxPool"
    if math.prod(seen.kernel) > LONG:
        return None
    out, padded = b.result(order=batch_last(x)), laid(b, x, seen.wide, -math.inf if largest else 0.0)
    made = b.view(out, "transpose", batch_last(x))
    first, *others = (numbers for _, numbers in taps(b, padded, seen))
    if not others:
        b.call(np.copyto, made, first)
    for numbers in others:
        b.call(np.maximum if largest else np.add, first, numbers, out=made)
        first = made
    if not largest:
        counts = seen.counts(x.array, told.get("count_include_pad", 0))
        b.call(np.divide, made, b.number(counts.reshape(1, *seen.found, 1), x.dtype), out=made)
    return out
