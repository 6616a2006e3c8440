"""Operators with weights or windows: products of matrices, convolutions, pools, norms."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product as grid
from typing import Any

import numpy as np

from minilib.infer.axes import with_sizes  # noqa: F401 (who has layers has axes in the table, too)
from minilib.infer.facts import Fact, FactError, broadcast_shapes, ceil_div
from minilib.infer.operators import define, floats, one_kind, operator, same

Array = Any
Pairs = list[tuple[Any, Any]]

# Products


def _matmul_facts(x: Fact, y: Fact) -> Fact:
    if not x.sizes or not y.sizes:
        raise FactError(f"MatMul of {x} and {y}: a scalar is no matrix")
    a, b = x.sizes if len(x.sizes) > 1 else (1, *x.sizes), y.sizes if len(y.sizes) > 1 else (*y.sizes, 1)
    if isinstance(a[-1], int) and isinstance(b[-2], int) and a[-1] != b[-2]:
        raise FactError(f"MatMul of {x} and {y}: inner sizes {a[-1]} and {b[-2]} differ; transpose one?")
    rows, columns = a[-2:-1] if len(x.sizes) > 1 else (), b[-1:] if len(y.sizes) > 1 else ()
    return Fact(one_kind(x, y), (*(broadcast_shapes(a[:-2], b[:-2]) or ()), *rows, *columns))


define("MatMul", np.matmul, _matmul_facts)


def _gemm_facts(
    a: Fact, b: Fact, c: Fact | None = None, *, transA: int = 0, transB: int = 0, **_: Any
) -> Fact:
    if len(a.sizes) != 2 or len(b.sizes) != 2:
        raise FactError(f"Gemm of {a} and {b}: both have to be matrices")
    (m, k), (inner, n) = a.sizes[:: -1 if transA else 1], b.sizes[:: -1 if transB else 1]
    if isinstance(k, int) and isinstance(inner, int) and k != inner:
        raise FactError(f"Gemm of {a} and {b}: inner sizes {k} and {inner} differ; see transA and transB")
    if c is not None:
        broadcast_shapes((m, n), c.shape)
    return Fact(one_kind(a, b, c), (m, n))


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
    parts, result = _equation(equation, [len(x.sizes) for x in xs])
    sizes: dict[str, Any] = {}
    for part, x in zip(parts, xs):
        for letter, n in zip(part, x.sizes):
            try:
                (sizes[letter],) = broadcast_shapes((sizes.get(letter, 1),), (n,)) or (None,)
            except FactError as error:
                raise FactError(f"Einsum {equation!r}, letter {letter}: {error}") from None
    return Fact(one_kind(*xs), tuple(sizes[letter] for letter in result))


@operator("Einsum", _einsum_facts)
def einsum(*xs: Array, equation: str) -> Array:
    return np.einsum(equation.replace(" ", ""), *xs, optimize=len(xs) > 1)


# Windows

MOST_PADDING = 2**20  # on one side: more is a mistake, or wants our memory
MOST_PADDED = 2**28  # numbers with their padding, which is more than most_bytes can see
MOST_TAPS = 2**22  # numbers of a window, which are met one after the other
WINDOW = ("auto_pad", "dilations", "kernel_shape", "pads", "strides")  # what Conv and the pools are told


@dataclass(frozen=True)
class Windows:
    """Windows over the axes behind the first two: for each axis a number, or None where it is not known."""

    kernel: Sequence[Any]
    strides: Sequence[int]
    dilations: Sequence[int]
    wide: Pairs  # what is added before and after
    found: Sequence[Any]  # how many windows there are

    def padded(self, x: Array, fill: Any = 0) -> Array:
        """(N, C, *sizes), with `fill` around it as far as the windows reach."""
        spans = [d * (k - 1) + 1 for k, d in zip(self.kernel, self.dilations)]
        reach = [(n - 1) * s + span for n, s, span in zip(self.found, self.strides, spans)]
        more = [(a, max(b, r - a - n)) for (a, b), r, n in zip(self.wide, reach, x.shape[2:])]
        size = math.prod([*x.shape[:2], *(n + a + b for n, (a, b) in zip(x.shape[2:], more))])
        if size > max(MOST_PADDED, x.size):
            raise MemoryError(f"with its padding it has {size:,} numbers; up to {MOST_PADDED:,} are made")
        return np.pad(x, [(0, 0), (0, 0), *more], constant_values=fill) if any(map(any, more)) else x

    def taps(self, first: int = 2) -> Iterator[tuple[tuple[int, ...], Any]]:
        """Each place of the kernel, and the index of what it meets in a padded array, whose axes from `first`
        on are those of the windows."""
        if math.prod(self.kernel) > MOST_TAPS:
            raise ValueError(f"a window of {math.prod(self.kernel):,} numbers; up to {MOST_TAPS:,} are read")
        axes = list(zip(self.strides, self.dilations, self.found))
        for at in grid(*map(range, self.kernel)):
            cuts = [slice(t * d, t * d + (n - 1) * s + 1 if n else 0, s) for t, (s, d, n) in zip(at, axes)]
            yield at, (*[slice(None)] * first, *cuts)

    def summed(self, x: Array) -> Array:
        """(N, C, *windows): the sum of the numbers in each."""
        made, x = np.zeros((*x.shape[:2], *self.found), x.dtype), self.padded(x)
        for _, index in self.taps():
            made += x[index]
        return made

    def counts(self, x: Array, padding: int) -> Array:
        """(1, 1, *windows): how many numbers a mean is over; with `padding` those of the padding, too."""
        ones = np.ones((1, 1, *x.shape[2:]), x.dtype)
        if padding:
            ones = np.pad(ones, [(0, 0), (0, 0), *self.wide], constant_values=1)
        return (replace(self, wide=[(0, 0)] * len(self.kernel)) if padding else self).summed(ones)


def windows(
    sizes: Sequence[Any], kernel: Sequence[Any], *, strides: Any = None, dilations: Any = None,
    pads: Any = None, auto_pad: str = "NOTSET", ceil_mode: int = 0, **_: Any,
) -> Windows:  # fmt: skip
    """The windows of a node with these attributes. Raises FactError where none fits."""
    strides, dilations = strides or [1] * len(kernel), dilations or [1] * len(kernel)
    for name, told, n in (("strides", strides, 1), ("dilations", dilations, 1), ("pads", pads or [], 2)):
        if min(told, default=1) < (name != "pads") or len(told) not in (n * len(kernel), 0):
            raise FactError(f"{name} {list(told)} for a window of {len(kernel)} axes")
    if auto_pad not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"):
        raise FactError(f"auto_pad is {auto_pad!r}: expected NOTSET, VALID, SAME_UPPER or SAME_LOWER")
    wide = paddings(sizes, kernel, strides, dilations, pads, auto_pad)
    if far := [n for pair in wide for n in pair if isinstance(n, int) and n > MOST_PADDING]:
        raise FactError(f"a padding of {far[0]} numbers; up to {MOST_PADDING} are added")
    found = [
        None if n is None or k is None else window_size(n, k, s, d, before, after, ceil_mode)
        for n, k, s, d, (before, after) in zip(sizes, kernel, strides, dilations, wide)
    ]
    return Windows(kernel, strides, dilations, wide, found)


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
    totals = []  # SAME: as many windows as n / stride
    for n, k, stride, dilation in zip(sizes, kernel, strides, dilations):
        span = dilation * (k - 1) + 1
        totals.append(
            span - stride if n is None or stride == 1 else (ceil_div(n, stride) - 1) * stride + span - n
        )
    return halved(totals, auto_pad == "SAME_UPPER")


def halved(totals: Sequence[Any], upper: bool) -> Pairs:
    """What stands before and after, so many together; the odd one stands after with `upper`."""
    known = [max(n, 0) if isinstance(n, int) else n for n in totals]
    return [(n // 2, n - n // 2) if upper else (n - n // 2, n // 2) for n in known]


def conv_facts(x: Fact, w: Fact, b: Fact | None = None, *, group: int = 1, **told: Any) -> Fact:
    """(N, C, *sizes) with weights (M, C/group, *kernel) -> (N, M, *windows)"""
    (n, channels, *sizes), (many, inner, *kernel) = x.sizes, w.sizes
    if len(sizes) != len(kernel):
        raise FactError(f"Conv of {x} with weights {w}: numbers of axes differ")
    if list(told.get("kernel_shape") or kernel) != list(kernel):
        raise FactError(f"Conv: kernel_shape {list(told['kernel_shape'])}, and weights {w}")
    if isinstance(channels, int) and isinstance(inner, int) and channels != inner * group:
        raise FactError(f"Conv of {channels} channels with weights for {inner} times {group} groups")
    return Fact(one_kind(x, w, b), (n, many, *windows(sizes, kernel, **told).found))


@operator("Conv", conv_facts, WINDOW)
def conv(x: Array, w: Array, b: Array | None = None, *, group: int = 1, **told: Any) -> Array:
    seen = windows(x.shape[2:], w.shape[2:], **told)
    weights, x = w.reshape(group, len(w) // group, *w.shape[1:]), seen.padded(x)
    made: Array = np.zeros((len(x), group, weights.shape[1], math.prod(seen.found)), x.dtype)
    for at, index in seen.taps():
        met = x[index].reshape(len(x), group, w.shape[1], made.shape[-1])
        made += np.matmul(weights[(..., *at)], met)
    made = made.reshape(len(x), len(w), *seen.found)
    return made if b is None else made + channels_of(b, x.ndim)


def _unpooled(
    sizes: Any, kernel: Any, *, strides: Any = None, dilations: Any = None, pads: Any = None,
    auto_pad: str = "NOTSET", output_padding: Any = None, output_shape: Any = None, **_: Any,
) -> Windows:  # fmt: skip
    """Those of a ConvTranspose: `wide` is what is cut off, and `found` what is left of each axis."""
    strides, dilations = strides or [1] * len(kernel), dilations or [1] * len(kernel)
    whole: list[Any] = [
        None if n is None else s * (n - 1) + extra + (k - 1) * d + 1
        for n, k, s, d, extra in zip(sizes, kernel, strides, dilations, output_padding or [0] * len(kernel))
    ]
    if output_shape is None and auto_pad not in ("SAME_UPPER", "SAME_LOWER"):
        wide = paddings(sizes, kernel, strides, dilations, pads, auto_pad)
        found = [None if n is None else n - a - b for n, (a, b) in zip(whole, wide)]
    else:
        found = [n * s for n, s in zip(sizes, strides)] if output_shape is None else list(output_shape)
        wide = halved([n - want for n, want in zip(whole, found)], auto_pad == "SAME_UPPER")
    return Windows(kernel, strides, dilations, wide, found)


def _conv_transpose_facts(x: Fact, w: Fact, b: Fact | None = None, *, group: int = 1, **told: Any) -> Fact:
    (n, _, *sizes), (_, each, *kernel) = x.sizes, w.sizes
    found = _unpooled(sizes, kernel, **told).found
    return Fact(one_kind(x, w, b), (n, None if each is None else each * group, *found))


@operator("ConvTranspose", _conv_transpose_facts, (*WINDOW, "output_padding", "output_shape"))
def conv_transpose(x: Array, w: Array, b: Array | None = None, *, group: int = 1, **told: Any) -> Array:
    """Each number of x adds a window of weights, at its place times the stride."""
    sizes, kernel, n, each = x.shape[2:], w.shape[2:], len(x), x.shape[1] // group
    at = _unpooled(sizes, kernel, **told)
    weights = w.reshape(group, each, *w.shape[1:]).swapaxes(1, 2)
    numbers = x.reshape(n, group, each, math.prod(sizes))
    axes = list(zip(kernel, at.dilations, at.strides, sizes, at.wide, at.found))
    room = [max(a + left, (k - 1) * d + s * (size - 1) + 1) for k, d, s, size, (a, _), left in axes]
    made: Array = np.zeros((n, group, w.shape[1], *room), x.dtype)
    for tap in grid(*map(range, kernel)):
        where = [slice(t * d, t * d + s * size, s) for t, (_, d, s, size, *_rest) in zip(tap, axes)]
        made[(..., *where)] += np.matmul(weights[(..., *tap)], numbers).reshape(*made.shape[:3], *sizes)
    left: Array = made[(..., *[slice(a, a + size) for (a, _), size in zip(at.wide, at.found)])]
    left = left.reshape(n, group * w.shape[1], *at.found)
    return left if b is None else left + channels_of(b, x.ndim)


def _pool_facts(x: Fact, *, kernel_shape: Any, **told: Any) -> Any:
    n, channels, *sizes = x.sizes
    if len(sizes) != len(kernel_shape):
        raise FactError(f"a window of {len(kernel_shape)} axes over {x}, which has {len(sizes)} and two")
    seen = windows(sizes, kernel_shape, **told)
    for pair, k, d in zip(seen.wide, kernel_shape, seen.dilations):
        if empty := [n for n in pair if isinstance(n, int) and n > d * (k - 1)]:
            raise FactError(f"a padding of {empty[0]} numbers, where a window of {k} would lie in it alone")
    return Fact(x.dtype, (n, channels, *seen.found))


def _max_pool_facts(x: Fact, **told: Any) -> tuple[Fact, Fact]:
    found = Fact(x.dtype) if x.shape is None else _pool_facts(x, **told)
    return found, Fact(np.dtype(np.int64), found.shape)


@operator("MaxPool", _max_pool_facts, (*WINDOW, "ceil_mode"))
def max_pool(x: Array, *, kernel_shape: Any, storage_order: int = 0, **told: Any) -> tuple[Array, Array]:
    """The largest number of each window, and its place in the whole input."""
    seen = windows(x.shape[2:], kernel_shape, **told)
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    inner = np.arange(math.prod(x.shape[2:])).reshape(1, 1, *x.shape[2:], order="F" if storage_order else "C")
    channels = np.arange(x.shape[0] * x.shape[1]).reshape(*x.shape[:2], *[1] * len(kernel_shape))
    x, places, (first, *others) = seen.padded(x, lowest), seen.padded(inner, -1), (i for _, i in seen.taps())
    best, at = x[first], places[first]
    for index in others:
        stays = (x[index] <= best) | (best != best)  # NaN is larger than all
        best, at = np.where(stays, best, x[index]), np.where(stays, at, places[index])
    return np.array(best), channels * inner.size + at


@operator("AveragePool", _pool_facts, (*WINDOW, "ceil_mode"))
def average_pool(x: Array, *, kernel_shape: Any, count_include_pad: int = 0, **told: Any) -> Array:
    """Sums over counts; the padding counts with `count_include_pad`, what `ceil_mode` adds never."""
    seen = windows(x.shape[2:], kernel_shape, **told)
    return seen.summed(x) / seen.counts(x, count_include_pad)


def _global_facts(x: Fact) -> Fact:
    return Fact(x.dtype, (*x.sizes[:2], *[1] * len(x.sizes[2:])))


define("GlobalAveragePool", lambda x: x.mean(tuple(range(2, x.ndim)), keepdims=True), _global_facts)
define("GlobalMaxPool", lambda x: x.max(tuple(range(2, x.ndim)), keepdims=True), _global_facts)


# Norms


def channels_of(v: Array, rank: int) -> Array:
    """One number a channel, as it meets an array of `rank` axes."""
    return v.reshape(-1, *[1] * (rank - 2))


def normed(x: Array, axes: Any, epsilon: float) -> tuple[Array, Array, Array]:
    """x less its mean over its spread along these axes; that mean, and 1 over that spread."""
    mean = x.mean(axes, keepdims=True)
    away = x - mean
    inverse = 1 / np.sqrt((away * away).mean(axes, keepdims=True) + epsilon)
    return away * inverse, mean, inverse


def _batch_norm_facts(x: Fact, scale: Fact, b: Fact, mean: Fact, var: Fact, **_: Any) -> tuple[Fact, ...]:
    return Fact(x.dtype, x.shape), Fact(mean.dtype, mean.shape), Fact(var.dtype, var.shape)


@operator("BatchNormalization", _batch_norm_facts)
def batch_norm(
    x: Array, scale: Array, b: Array, mean: Array, var: Array, *, epsilon: float = 1e-5,
    momentum: float = 0.9, training_mode: int = 0,
) -> tuple[Array, ...]:  # fmt: skip
    now, spread = mean, var
    if training_mode:
        axes = (0, *range(2, x.ndim))
        now, spread = x.mean(axes), x.var(axes)
        mean, var = mean * momentum + now * (1 - momentum), var * momentum + spread * (1 - momentum)
    factor = scale / np.sqrt(spread + epsilon)
    made = x * channels_of(factor, x.ndim) + channels_of(b - now * factor, x.ndim)
    return made.astype(x.dtype), mean.astype(scale.dtype), var.astype(scale.dtype)


def _layer_norm_facts(x: Fact, *_: Fact | None, axis: int = -1, **__: Any) -> tuple[Fact, ...]:
    same(x, axis=axis)
    kept = None if x.shape is None else (*x.shape[:axis], *[1] * len(x.shape[axis:]))
    return Fact(x.dtype, x.shape), Fact(np.dtype(np.float32), kept), Fact(np.dtype(np.float32), kept)


@operator("LayerNormalization", _layer_norm_facts, ("stash_type",))
def layer_norm(
    x: Array, scale: Array, b: Array | None = None, *, axis: int = -1, epsilon: float = 1e-5, **_: Any
) -> tuple[Array, ...]:
    made, mean, inverse = normed(x, tuple(range(axis % x.ndim, x.ndim)), epsilon)
    made = made * scale
    return (made if b is None else made + b), mean, inverse


@operator("RMSNormalization", same, ("stash_type",))
def rms_norm(x: Array, scale: Array, *, axis: int = -1, epsilon: float = 1e-5, **_: Any) -> Array:
    axes = tuple(range(axis % x.ndim, x.ndim))
    return (x / np.sqrt((x * x).mean(axes, keepdims=True) + epsilon) * scale).astype(x.dtype)


@operator("GroupNormalization", floats, ("stash_type",))
def group_norm(
    x: Array, scale: Array, b: Array, *, num_groups: int, epsilon: float = 1e-5, **_: Any
) -> Array:
    """Scale and b are one a channel; before opset 21 they were one a group."""
    parts = x.reshape(x.shape[0], num_groups, math.prod(x.shape[1:]) // num_groups)
    parts = normed(parts, -1, epsilon)[0]
    each = x.shape[1] // len(scale)
    scale, b = (channels_of(np.repeat(one, each), x.ndim) for one in (scale, b))
    return parts.reshape(x.shape) * scale + b


@operator("InstanceNormalization", floats)
def instance_norm(x: Array, scale: Array, b: Array, *, epsilon: float = 1e-5) -> Array:
    return group_norm(x, scale, b, num_groups=x.shape[1], epsilon=epsilon)
