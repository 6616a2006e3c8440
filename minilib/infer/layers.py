"""Operators with weights or windows: products of matrices, convolutions, pools, norms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product as grid
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from minilib.infer.axes import unknown
from minilib.infer.facts import Fact, FactError, broadcast_shapes, ceil_div
from minilib.infer.operators import operator, same

Array = Any
Pairs = list[tuple[Any, Any]]

# Products


def _matmul_facts(x: Fact, y: Fact) -> Fact:
    if x.shape is None or y.shape is None:
        return unknown(x)
    if not x.shape or not y.shape:
        raise FactError(f"MatMul of {x} and {y}: a scalar is no matrix")
    a, b = x.shape if len(x.shape) > 1 else (1, *x.shape), y.shape if len(y.shape) > 1 else (*y.shape, 1)
    if isinstance(a[-1], int) and isinstance(b[-2], int) and a[-1] != b[-2]:
        raise FactError(
            f"MatMul of {x} and {y}: inner sizes {a[-1]} and {b[-2]} differ; is one to be transposed?"
        )
    rows, columns = a[-2:-1] if len(x.shape) > 1 else (), b[-1:] if len(y.shape) > 1 else ()
    return Fact(x.dtype, (*(broadcast_shapes(a[:-2], b[:-2]) or ()), *rows, *columns))


@operator("MatMul", _matmul_facts)
def matmul(x: Array, y: Array) -> Array:
    if x.ndim > 2 and y.ndim == 2 and x.flags.c_contiguous:  # one product of all rows, not one a matrix
        return (x.reshape(math.prod(x.shape[:-1]), x.shape[-1]) @ y).reshape(*x.shape[:-1], y.shape[1])
    return np.matmul(x, y)


def _gemm_facts(
    a: Fact, b: Fact, c: Fact | None = None, *, transA: int = 0, transB: int = 0, **_: Any
) -> Fact:
    if a.shape is None or b.shape is None:
        return unknown(a, 2)
    if len(a.shape) != 2 or len(b.shape) != 2:
        raise FactError(f"Gemm of {a} and {b}: both have to be matrices")
    (m, k), (inner, n) = a.shape[:: -1 if transA else 1], b.shape[:: -1 if transB else 1]
    if isinstance(k, int) and isinstance(inner, int) and k != inner:
        raise FactError(f"Gemm of {a} and {b}: inner sizes {k} and {inner} differ; see transA and transB")
    if c is not None:
        broadcast_shapes((m, n), c.shape)
    return Fact(a.dtype, (m, n))


@operator("Gemm", _gemm_facts)
def gemm(
    a: Array, b: Array, c: Array | None = None, *, alpha: float = 1.0, beta: float = 1.0,
    transA: int = 0, transB: int = 0,
) -> Array:  # fmt: skip
    made = (a.T if transA else a) @ (b.T if transB else b)
    made = made if alpha == 1 else (made * alpha).astype(a.dtype)
    return made if c is None else made + (c if beta == 1 else (c * beta).astype(a.dtype))


def _equation(text: str, ranks: Sequence[int]) -> tuple[list[str], str]:
    """An einsum's terms and result, without blanks, the result written out; `...` becomes capital letters."""
    terms, _, result = text.replace(" ", "").partition("->")
    parts = terms.split(",")
    more = [rank - len(part.replace("...", "")) for part, rank in zip(parts, ranks)]
    dots = [chr(ord("z") + 1 + i) for i in range(max(more, default=0))]  # letters that nobody writes
    parts = [part.replace("...", "".join(dots[len(dots) - n :])) for part, n in zip(parts, more)]
    if "->" not in text:
        letters = sorted(set("".join(parts)) - set(dots))
        result = "..." + "".join(c for c in letters if "".join(parts).count(c) == 1)
    return parts, result.replace("...", "".join(dots))


def _einsum_facts(*xs: Fact, equation: str) -> Fact:
    if any(x.shape is None for x in xs):
        return unknown(xs[0])
    parts, result = _equation(equation, [len(x.shape or ()) for x in xs])
    sizes: dict[str, Any] = {}
    for part, x in zip(parts, xs):
        for letter, n in zip(part, x.shape or ()):
            try:
                (sizes[letter],) = broadcast_shapes((sizes.get(letter, 1),), (n,)) or (None,)
            except FactError as error:
                raise FactError(f"Einsum {equation!r}, letter {letter}: {error}") from None
    return Fact(xs[0].dtype, tuple(sizes[letter] for letter in result))


@operator("Einsum", _einsum_facts)
def einsum(*xs: Array, equation: str) -> Array:
    return np.einsum(equation.replace(" ", ""), *xs, optimize=len(xs) > 1)


# Windows

MOST_PADDING = 2**20  # on one side: more is a mistake, or wants our memory


def window_size(
    n: Any, kernel: Any, stride: int, dilation: int, before: Any, after: Any, ceil: int = 0
) -> Any:
    """How many windows there are along an axis of `n` numbers and its padding."""
    span = dilation * (kernel - 1) + 1
    free = n + before + after - span
    if isinstance(free, int) and free < 0:
        raise FactError(f"a window of {kernel} (dilated by {dilation}) does not fit into {n} numbers")
    if not ceil:
        return free // stride + 1
    more = after - span + stride  # above 0, a window could begin in the padding, and is left out
    return ceil_div(n + before + (min(more, 0) if isinstance(more, int) else more), stride)


def paddings(
    sizes: Sequence[Any], kernel: Sequence[Any], strides: Any, dilations: Any, pads: Any, auto_pad: str
) -> Pairs:
    """What is added before and after each axis."""
    if auto_pad in ("NOTSET", "VALID"):
        pads = list(pads) if pads is not None and auto_pad == "NOTSET" else [0] * (2 * len(kernel))
        return list(zip(pads[: len(kernel)], pads[len(kernel) :]))
    made = []
    for n, k, stride, dilation in zip(
        sizes, kernel, strides, dilations
    ):  # SAME: as many windows as n / stride
        span = dilation * (k - 1) + 1
        total = span - stride if n is None or stride == 1 else (ceil_div(n, stride) - 1) * stride + span - n
        total = max(total, 0) if isinstance(total, int) else total
        less = total // 2
        made.append((less, total - less) if auto_pad == "SAME_UPPER" else (total - less, less))
    return made


def _ones(value: Any, n: int) -> list[int]:
    return [1] * n if value is None else list(value)


def windows(
    n_axes: int,
    sizes: Any,
    kernel: Any,
    strides: Any,
    dilations: Any,
    pads: Any,
    auto_pad: str,
    ceil: int = 0,
) -> tuple[list[int], list[int], Pairs, list[Any]]:
    strides, dilations = _ones(strides, n_axes), _ones(dilations, n_axes)
    wide = paddings(sizes, kernel, strides, dilations, pads, auto_pad)
    if far := [n for pair in wide for n in pair if isinstance(n, int) and n > MOST_PADDING]:
        raise FactError(f"a padding of {far[0]} numbers; up to {MOST_PADDING} are added")
    found = [
        None if n is None or k is None else window_size(n, k, s, d, before, after, ceil)
        for n, k, s, d, (before, after) in zip(sizes, kernel, strides, dilations, wide)
    ]
    return strides, dilations, wide, found


def view_of_windows(x: Array, kernel: Any, strides: Any, dilations: Any) -> Array:
    """(N, C, *sizes) -> (N, C, *windows, *kernel), a view."""
    spans = [d * (k - 1) + 1 for k, d in zip(kernel, dilations)]
    axes = tuple(range(2, x.ndim))
    seen = sliding_window_view(x, spans, axes)
    steps = [slice(None, None, s) for s in strides] + [slice(None, None, d) for d in dilations]
    return seen[(slice(None), slice(None), *steps)]


def conv_facts(
    x: Fact, w: Fact, b: Fact | None = None, *, auto_pad: str = "NOTSET", dilations: Any = None,
    group: int = 1,
    kernel_shape: Any = None, pads: Any = None, strides: Any = None,
) -> Fact:  # fmt: skip
    """(N, C, *sizes) with weights (M, C/group, *kernel) -> (N, M, *windows)"""
    if x.shape is None or w.shape is None:
        return unknown(x)
    if len(x.shape) != len(w.shape):
        raise FactError(f"Conv of {x} with weights {w}: numbers of axes differ")
    channels, inner = x.shape[1], w.shape[1]
    if isinstance(channels, int) and isinstance(inner, int) and channels != inner * group:
        raise FactError(f"Conv of {channels} channels with weights for {inner} times {group} groups")
    *_, found = windows(len(w.shape) - 2, x.shape[2:], w.shape[2:], strides, dilations, pads, auto_pad)
    return Fact(x.dtype, (x.shape[0], w.shape[0], *found))


@operator("Conv", conv_facts)
def conv(
    x: Array, w: Array, b: Array | None = None, *, auto_pad: str = "NOTSET", dilations: Any = None,
    group: int = 1,
    kernel_shape: Any = None, pads: Any = None, strides: Any = None,
) -> Array:  # fmt: skip
    n_axes = x.ndim - 2
    strides, dilations, wide, found = windows(
        n_axes, x.shape[2:], w.shape[2:], strides, dilations, pads, auto_pad
    )
    x = np.pad(x, [(0, 0), (0, 0), *wide]) if any(map(any, wide)) else x
    seen = view_of_windows(x, w.shape[2:], strides, dilations)
    n, m, each = len(x), len(w), math.prod(w.shape[1:])
    # (N, C, *windows, *kernel) -> (N, groups, C/groups * kernel, windows): columns that the weights multiply
    axes = (0, 1, *range(2 + n_axes, 2 + 2 * n_axes), *range(2, 2 + n_axes))
    columns = seen.transpose(axes).reshape(n, group, each, math.prod(found))
    made = np.matmul(w.reshape(group, m // group, each), columns).reshape(n, m, *found)
    return made if b is None else made + b.reshape(-1, *[1] * n_axes)


def _transposed_sizes(
    sizes: Any, kernel: Any, strides: Any, dilations: Any, pads: Any, auto_pad: str, more: Any, shape: Any
) -> tuple[list[int], list[int], Pairs, list[Any]]:
    """Strides, dilations, what is cut off before and after each axis, and what is left of it."""
    n_axes = len(kernel)
    strides, dilations = _ones(strides, n_axes), _ones(dilations, n_axes)
    more = [0] * n_axes if more is None else list(more)
    whole = [
        None if n is None else s * (n - 1) + extra + (k - 1) * d + 1
        for n, k, s, d, extra in zip(sizes, kernel, strides, dilations, more)
    ]
    if shape is None and auto_pad not in ("SAME_UPPER", "SAME_LOWER"):
        wide = paddings(sizes, kernel, strides, dilations, pads, auto_pad)
        return strides, dilations, wide, [None if n is None else n - a - b for n, (a, b) in zip(whole, wide)]
    found = list(shape) if shape is not None else [n * s for n, s in zip(sizes, strides)]
    cut = [n - want for n, want in zip(whole, found)]
    cut = [max(n, 0) if isinstance(n, int) else n for n in cut]
    wide = [(n // 2, n - n // 2) if auto_pad == "SAME_UPPER" else (n - n // 2, n // 2) for n in cut]
    return strides, dilations, wide, found


def _conv_transpose_facts(
    x: Fact, w: Fact, b: Fact | None = None, *, auto_pad: str = "NOTSET", dilations: Any = None,
    group: int = 1,
    kernel_shape: Any = None, output_padding: Any = None, output_shape: Any = None, pads: Any = None,
    strides: Any = None,
) -> Fact:  # fmt: skip
    if x.shape is None or w.shape is None:
        return unknown(x)
    *_, found = _transposed_sizes(
        x.shape[2:], w.shape[2:], strides, dilations, pads, auto_pad, output_padding, output_shape
    )
    return Fact(x.dtype, (x.shape[0], None if w.shape[1] is None else w.shape[1] * group, *found))


@operator("ConvTranspose", _conv_transpose_facts)
def conv_transpose(
    x: Array, w: Array, b: Array | None = None, *, auto_pad: str = "NOTSET", dilations: Any = None,
    group: int = 1,
    kernel_shape: Any = None, output_padding: Any = None, output_shape: Any = None, pads: Any = None,
    strides: Any = None,
) -> Array:  # fmt: skip
    """Each number of x adds a window of weights, at its place times the stride."""
    kernel, n, m = w.shape[2:], len(x), w.shape[1] * group
    strides, dilations, wide, found = _transposed_sizes(
        x.shape[2:], kernel, strides, dilations, pads, auto_pad, output_padding, output_shape
    )
    inner = x.reshape(n, group, x.shape[1] // group, math.prod(x.shape[2:]))
    weights = w.reshape(group, x.shape[1] // group, -1).swapaxes(1, 2)
    pieces = np.matmul(weights, inner).reshape(n, group, w.shape[1], *kernel, *x.shape[2:])
    reach = [
        (k - 1) * d + s * (size - 1) + 1 for k, d, s, size in zip(kernel, dilations, strides, x.shape[2:])
    ]
    room = [max(a + size, r) for (a, _), size, r in zip(wide, found, reach)]
    made: Array = np.zeros((n, group, w.shape[1], *room), x.dtype)
    for tap in grid(*map(range, kernel)):
        where = [
            slice(t * d, t * d + s * size, s) for t, d, s, size in zip(tap, dilations, strides, x.shape[2:])
        ]
        made[(..., *where)] += pieces[(slice(None), slice(None), slice(None), *tap)]
    made = made[(..., *[slice(a, a + size) for (a, _), size in zip(wide, found)])].reshape(n, m, *found)
    return made if b is None else made + b.reshape(-1, *[1] * len(kernel))


def _pool_facts(
    x: Fact, *, kernel_shape: Any, auto_pad: str = "NOTSET", ceil_mode: int = 0, dilations: Any = None,
    pads: Any = None, strides: Any = None, **_: Any,
) -> Any:  # fmt: skip
    if x.shape is None:
        return unknown(x)
    if len(x.shape) != len(kernel_shape) + 2:
        raise FactError(
            f"a window of {len(kernel_shape)} axes over {x}, which has {len(x.shape) - 2} and two"
        )
    *_rest, found = windows(
        len(kernel_shape), x.shape[2:], kernel_shape, strides, dilations, pads, auto_pad, ceil_mode
    )
    return Fact(x.dtype, (*x.shape[:2], *found))


def pool_windows(
    x: Array, fill: Any, kernel: Any, strides: Any, dilations: Any, wide: Pairs, found: Any
) -> Array:
    """The windows of x, padded by `fill` as far as they reach."""
    reach = [(n - 1) * s + (k - 1) * d + 1 for n, s, k, d in zip(found, strides, kernel, dilations)]
    more = [(a, max(b, r - a - n)) for (a, b), r, n in zip(wide, reach, x.shape[2:])]
    x = np.pad(x, [(0, 0), (0, 0), *more], constant_values=fill) if any(map(any, more)) else x
    seen = view_of_windows(x, kernel, strides, dilations)
    return seen[(slice(None), slice(None), *[slice(n) for n in found])]


def _max_pool_facts(x: Fact, *, storage_order: int = 0, **attributes: Any) -> tuple[Fact, Fact]:
    found = _pool_facts(x, **attributes)
    return found, Fact(np.dtype(np.int64), found.shape)


@operator("MaxPool", _max_pool_facts)
def max_pool(
    x: Array, *, kernel_shape: Any, auto_pad: str = "NOTSET", ceil_mode: int = 0, dilations: Any = None,
    pads: Any = None, storage_order: int = 0, strides: Any = None,
) -> tuple[Array, Array]:  # fmt: skip
    """The largest number of each window, and its place in the whole input."""
    n_axes = len(kernel_shape)
    strides, dilations, wide, found = windows(
        n_axes, x.shape[2:], kernel_shape, strides, dilations, pads, auto_pad, ceil_mode
    )
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    layout = (kernel_shape, strides, dilations, wide, found)
    flat = pool_windows(x, lowest, *layout).reshape(*x.shape[:2], *found, math.prod(kernel_shape))
    inner = np.arange(math.prod(x.shape[2:])).reshape(x.shape[2:], order="F" if storage_order else "C")
    places = np.arange(x.shape[0] * x.shape[1]).reshape(*x.shape[:2], *[1] * n_axes) * inner.size + inner
    chosen = pool_windows(places, -1, *layout).reshape(flat.shape)
    best = np.argmax(flat, -1, keepdims=True)
    return np.take_along_axis(flat, best, -1)[..., 0], np.take_along_axis(chosen, best, -1)[..., 0]


@operator("AveragePool", _pool_facts)
def average_pool(
    x: Array, *, kernel_shape: Any, auto_pad: str = "NOTSET", ceil_mode: int = 0, count_include_pad: int = 0,
    dilations: Any = None, pads: Any = None, strides: Any = None,
) -> Array:  # fmt: skip
    """Sums over counts; the padding counts with `count_include_pad`, what `ceil_mode` adds never."""
    n_axes = len(kernel_shape)
    strides, dilations, wide, found = windows(
        n_axes, x.shape[2:], kernel_shape, strides, dilations, pads, auto_pad, ceil_mode
    )
    layout = (kernel_shape, strides, dilations)
    axes = tuple(range(-n_axes, 0))
    total = pool_windows(x, 0, *layout, wide, found).sum(axes, dtype=x.dtype)
    ones = np.ones((1, 1, *x.shape[2:]), x.dtype)
    if count_include_pad:
        ones, wide = np.pad(ones, [(0, 0), (0, 0), *wide], constant_values=1), [(0, 0)] * n_axes
    return total / pool_windows(ones, 0, *layout, wide, found).sum(axes)


def _global_facts(x: Fact) -> Fact:
    return Fact(x.dtype, None if x.shape is None else (*x.shape[:2], *[1] * (len(x.shape) - 2)))


@operator("GlobalAveragePool", _global_facts)
def global_average_pool(x: Array) -> Array:
    return x.mean(tuple(range(2, x.ndim)), keepdims=True)


@operator("GlobalMaxPool", _global_facts)
def global_max_pool(x: Array) -> Array:
    return x.max(tuple(range(2, x.ndim)), keepdims=True)


# Norms


def _channels(v: Array, rank: int) -> Array:
    return v.reshape(-1, *[1] * (rank - 2))


def _batch_norm_facts(x: Fact, scale: Fact, b: Fact, mean: Fact, var: Fact, **_: Any) -> tuple[Fact, ...]:
    return Fact(x.dtype, x.shape), Fact(mean.dtype, mean.shape), Fact(var.dtype, var.shape)


@operator("BatchNormalization", _batch_norm_facts)
def batch_norm(
    x: Array, scale: Array, b: Array, mean: Array, var: Array, *, epsilon: float = 1e-5,
    momentum: float = 0.9, training_mode: int = 0,
) -> tuple[Array, ...]:  # fmt: skip
    axes = (0, *range(2, x.ndim))
    if training_mode:
        now, spread = x.mean(axes), x.var(axes)
        mean, var = mean * momentum + now * (1 - momentum), var * momentum + spread * (1 - momentum)
    else:
        now, spread = mean, var
    factor = scale / np.sqrt(spread + epsilon)
    made = x * _channels(factor, x.ndim) + _channels(b - now * factor, x.ndim)
    return made.astype(x.dtype), mean.astype(scale.dtype), var.astype(scale.dtype)


def _layer_norm_facts(
    x: Fact, scale: Fact, b: Fact | None = None, *, axis: int = -1, **_: Any
) -> tuple[Fact, ...]:
    kept = None if x.shape is None else (*x.shape[:axis], *[1] * len(x.shape[axis:]))
    return Fact(x.dtype, x.shape), Fact(np.dtype(np.float32), kept), Fact(np.dtype(np.float32), kept)


@operator("LayerNormalization", _layer_norm_facts)
def layer_norm(
    x: Array,
    scale: Array,
    b: Array | None = None,
    *,
    axis: int = -1,
    epsilon: float = 1e-5,
    stash_type: int = 1,
) -> tuple[Array, ...]:
    axes = tuple(range(axis % x.ndim, x.ndim))
    mean = x.mean(axes, keepdims=True)
    away = x - mean
    inverse = 1 / np.sqrt((away * away).mean(axes, keepdims=True) + epsilon)
    made = away * inverse * scale
    return (made if b is None else made + b), mean, inverse


@operator("RMSNormalization", same)
def rms_norm(x: Array, scale: Array, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1) -> Array:
    axes = tuple(range(axis % x.ndim, x.ndim))
    return (x / np.sqrt((x * x).mean(axes, keepdims=True) + epsilon) * scale).astype(x.dtype)


@operator("InstanceNormalization", same)
def instance_norm(x: Array, scale: Array, b: Array, *, epsilon: float = 1e-5) -> Array:
    axes = tuple(range(2, x.ndim))
    away = x - x.mean(axes, keepdims=True)
    made = away / np.sqrt((away * away).mean(axes, keepdims=True) + epsilon)
    return made * _channels(scale, x.ndim) + _channels(b, x.ndim)


@operator("GroupNormalization", same)
def group_norm(
    x: Array, scale: Array, b: Array, *, num_groups: int, epsilon: float = 1e-5, stash_type: int = 1
) -> Array:
    """Scale and b are one a channel; before opset 21 they were one a group."""
    parts = x.reshape(x.shape[0], num_groups, math.prod(x.shape[1:]) // num_groups)
    away = parts - parts.mean(-1, keepdims=True)
    made = (away / np.sqrt((away * away).mean(-1, keepdims=True) + epsilon)).reshape(x.shape)
    each = x.shape[1] // len(scale)
    return made * _channels(np.repeat(scale, each), x.ndim) + _channels(np.repeat(b, each), x.ndim)
