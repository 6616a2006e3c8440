"""Layers with weights, pooling and dropout, each as one operation.

Taught in solutions/03b_convolution.ipynb, chapters/06a_tokens.ipynb, solutions/06a_tokens.ipynb and
solutions/07c_mamba.ipynb: what they export is edited there, then `make promote`.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from minilib.functional.rows import as_rows, column_sum
from minilib.parallel import CHUNK, chunked
from minilib.tensor import (
    Array,
    Function,
    Generator,
    Shape,
    Tensor,
    apply,
    arange,
    array_module,
    default_generator,
)

if TYPE_CHECKING:
    from minilib.functional.counted import CountedDropout

__all__ = [
    "CausalConv", "Conv", "Dropout", "Embedding", "Linear", "MaxPool", "Pad", "causal_conv1d", "conv1d",
    "conv2d", "dropout", "dropout_mask", "embedding", "inside", "keyed_dropout", "linear", "max_pool2d",
    "max_pool_backward", "one_hot", "pad", "padded", "per_axis", "places", "tap_slices", "turns",
]  # fmt: skip

# Linear


class Linear(Function):
    """x @ weight.T + bias: x of any leading shape as one matrix."""

    def forward(self, x: Array, weight: Array, bias: Array | None = None) -> Array:
        self.saved = x, weight
        out = as_rows(x) @ weight.T  # (rows, in) @ (in, out): one large product
        if bias is not None:
            out += bias
        return out.reshape(*x.shape[:-1], len(weight))

    def backward(self, grad: Array) -> tuple[Array | None, ...]:
        x, weight = self.saved
        grad = as_rows(grad)
        dx = (grad @ weight).reshape(x.shape) if self.needs(0) else None
        dw = grad.T @ as_rows(x)  # (out, rows) @ (rows, in)
        return (dx, dw, column_sum(grad)) if len(self.inputs) == 3 else (dx, dw)


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias: (..., in) with weight (out, in) and bias (out,) is (..., out)."""
    if weight.ndim != 2 or input.shape[-1:] != weight.shape[1:]:
        raise RuntimeError(
            f"linear: input {input.shape} must end in as many features as weight {weight.shape} has columns"
        )
    _check_dtypes("linear", input, weight, bias)
    return apply(Linear(), input, weight, *_given(bias))


def _check_dtypes(name: str, *tensors: Tensor | None) -> None:
    """Raise where not all have one dtype."""
    if len({t.data.dtype for t in tensors if t is not None}) > 1:
        names = ", ".join(t.dtype.name for t in tensors if t is not None)
        raise RuntimeError(f"{name}: the dtypes differ: {names}; cast with .to(...)")


def _given(*tensors: Tensor | None) -> list[Tensor]:
    """Those that are not None."""
    return [t for t in tensors if t is not None]


# Embedding


class Embedding(Function):
    """The rows `index` of the weight. Backward adds up the gradients of each row."""

    def __init__(self, padding_idx: int | None = None) -> None:
        self.padding_idx = padding_idx

    def forward(self, weight: Array, index: Array) -> Array:
        self.saved = (index,)
        return self.xp.take(weight, index, axis=0)

    def backward(self, grad: Array) -> Array:
        index = self.saved[0].reshape(-1)
        dw = self.xp.zeros(self.inputs[0].shape, grad.dtype)
        grad = grad.reshape(index.size, dw.shape[1])  # (tokens, d)
        for turn in turns(index, len(dw)):  # the obvious np.add.at(dw, index, grad) is slower
            dw[index[turn]] += grad[turn]  # no index twice in a turn, so += loses nothing
        if self.padding_idx is not None:
            dw[self.padding_idx] = 0
        return dw


def turns(index: Array, size: int) -> Iterator[Array]:
    """Where each value (below `size`) occurs for the first time, then for the second time, and so on."""
    xp = array_module(index)
    small = np.uint16 if max(size, len(index)) < 65_536 else index.dtype  # NumPy sorts 16 bits faster
    order = xp.argsort(index.astype(small), kind="stable")  # equal values side by side
    ordered = index[order]
    start = xp.searchsorted(ordered, ordered)  # where its run of equal values starts
    times = xp.arange(len(index)) - start  # how often it was there before
    order = order[xp.argsort(times.astype(small), kind="stable")]  # all first times, all second ones, ...
    done = 0
    for n in xp.bincount(times).tolist():
        yield order[done : done + n]
        done += n


def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None) -> Tensor:
    """Row input[i] of `weight` for each integer: (...) with weight (n, d) is (..., d).

    Row `padding_idx` gets no gradient. Raises IndexError for an integer that has no row.
    """
    if input.dtype.kind not in "iu":
        raise RuntimeError(f"embedding: needs integers, not {input.dtype}")
    seen = input.numel() and input.device != "meta"  # where there are no numbers
    if seen and (input.data.min() < 0 or input.data.max() >= weight.shape[0]):
        raise IndexError(f"embedding: the weight has rows 0 to {weight.shape[0] - 1}, and no others")
    if padding_idx is not None and not -weight.shape[0] <= padding_idx < weight.shape[0]:
        raise IndexError(f"embedding: padding_idx {padding_idx} is not one of {weight.shape[0]} rows")
    return apply(Embedding(padding_idx), weight, input)


def one_hot(input: Tensor, num_classes: int = -1) -> Tensor:
    """Integers (...) as rows (..., num_classes) with a single 1."""
    if input.dtype.kind not in "iu":
        raise RuntimeError(f"one_hot: needs integers, not {input.dtype}")
    classes = int(input.max().item()) + 1 if num_classes == -1 else num_classes
    seen = input.numel() and input.device != "meta"  # where there are no numbers
    if seen and (input.data.min() < 0 or input.data.max() >= classes):
        raise RuntimeError(f"one_hot: integers must be from 0 to {classes - 1}")
    return (input.unsqueeze(-1) == arange(classes, device=input.device)).long()


# Windows


def places(shape: Shape, kernel: Shape, stride: Shape, padding: Shape, dilation: Shape) -> Shape:
    """How many windows there are along each axis."""
    settings = zip(shape, kernel, stride, padding, dilation)
    return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in settings)


def tap_slices(kernel: Shape, stride: Shape, dilation: Shape, places: Shape) -> Iterator[tuple[Any, ...]]:
    """For each tap of the kernel, in order: where in the padded input all windows have it."""
    for tap in product(*map(range, kernel)):
        settings = zip(tap, stride, dilation, places)
        yield (..., *[slice(t * d, t * d + s * (p - 1) + 1, s) for t, s, d, p in settings])


def padded(x: Array, padding: Shape, value: float = 0) -> Array:
    """x with `value` around its last axes; x itself where there is no padding. -inf is the least integer."""
    if not any(padding):
        return x
    if value == -math.inf and x.dtype.kind in "iu":
        value = np.iinfo(x.dtype).min
    lead = x.ndim - len(padding)
    shape = x.shape[:lead] + tuple(n + 2 * p for n, p in zip(x.shape[lead:], padding))
    out = array_module(x).full(shape, value, x.dtype)
    out[inside(x.shape[lead:], padding)] = x
    return out


def inside(shape: Shape, padding: Shape) -> tuple[Any, ...]:
    """Where an input of this shape lies in its padded one."""
    return (..., *[slice(p, p + n) for n, p in zip(shape, padding)])


def per_axis(value: int | Sequence[int], n: int, least: int = 0) -> tuple[int, ...]:
    """One number for each of n axes, none of them below `least`: `3` is `(3, 3)` for two."""
    values = tuple(value) if isinstance(value, Sequence) else (value,) * n
    if len(values) != n or not all(isinstance(one, int | np.integer) for one in values):
        raise ValueError(f"kernels, strides, dilations and paddings are one whole number or {n}, not {value}")
    if min(values) < least:
        raise RuntimeError(f"kernels, strides and dilations start at 1, paddings at 0, but here is {values}")
    return values


# Padding


class Pad(Function):
    """`value` around x: as many as `before` and `after` say for each axis."""

    def __init__(self, before: Shape, after: Shape, value: float) -> None:
        self.before, self.after, self.value = before, after, value

    def forward(self, x: Array) -> Array:
        lengths = [b + n + a for b, n, a in zip(self.before, x.shape, self.after)]
        out = self.xp.full(lengths, self.value, x.dtype)
        out[self.inside(x.shape)] = x
        return out

    def backward(self, grad: Array) -> Array:
        return grad[self.inside(self.inputs[0].shape)]

    def inside(self, shape: Shape) -> tuple[slice, ...]:
        return tuple(slice(b, b + n) for b, n in zip(self.before, shape))


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """`value` (0) around the last axes: pad=(left, right) for the last, (left, right, top, bottom) for two.

    Numbers below 0 cut off. Raises RuntimeError for another mode: reflect, replicate and circular are not
    here.
    """
    if mode != "constant":
        raise RuntimeError(f"pad: the one mode here is 'constant', not {mode!r}")
    axes = len(pad) // 2
    if len(pad) % 2 or axes > input.ndim:
        raise RuntimeError(f"pad: needs a pair for each of the last axes of {input.shape}, not {tuple(pad)}")
    pairs = [(0, 0)] * (input.ndim - axes) + [(pad[2 * i], pad[2 * i + 1]) for i in reversed(range(axes))]
    if any(n + b + a < 0 or min(n + b, n + a) < 0 for n, (b, a) in zip(input.shape, pairs)):
        raise RuntimeError(f"pad: {tuple(pad)} cuts off more than a tensor of shape {input.shape} has")
    kept = input[tuple(slice(max(0, -b), n - max(0, -a)) for n, (b, a) in zip(input.shape, pairs))]
    before, after = ([max(0, pair[i]) for pair in pairs] for i in (0, 1))
    return apply(Pad(tuple(before), tuple(after), value or 0), kept)


# Convolution


class Conv(Function):
    """Convolution along any number of axes: x (N, C, ..), weight (O, C / groups, ..), bias (O,).

    The settings are tuples with one number for each axis.
    """

    def __init__(self, stride: Shape, padding: Shape, dilation: Shape, groups: int = 1) -> None:
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups

    def forward(self, x: Array, weight: Array, bias: Array | None = None) -> Array:
        self.places = places(x.shape[2:], weight.shape[2:], self.stride, self.padding, self.dilation)
        self.taps = list(tap_slices(weight.shape[2:], self.stride, self.dilation, self.places))
        self.saved = x, weight
        w = self.matrices(weight)
        out = self.xp.empty((len(x), *w.shape[:2], math.prod(self.places)), x.dtype)

        def kernel(x: Array, out: Array) -> None:
            self.xp.matmul(w, self.columns(x), out=out)  # a convolution as a product, which BLAS is good at
            if bias is not None:
                out += bias.reshape(self.groups, -1, 1)

        chunked(kernel, x, out, rows=self.images_in_cache(x))
        return out.reshape(len(x), len(weight), *self.places)

    def columns(self, x: Array) -> Array:
        """The windows of a few images: (n, groups, channels x taps, places)."""
        x = padded(x, self.padding)
        columns = self.xp.stack([x[tap] for tap in self.taps], axis=2)  # (n, C, taps, *places): im2col
        height = x.shape[1] // self.groups * len(self.taps)
        return columns.reshape(len(x), self.groups, height, math.prod(self.places))

    def matrices(self, weight: Array) -> Array:
        """The weight as one matrix for each group: (groups, output channels, channels x taps)."""
        return weight.reshape(self.groups, len(weight) // self.groups, -1)  # a view

    def images_in_cache(self, x: Array) -> int:
        """How many images' columns fit the cache."""
        numbers: int = x.shape[1] * len(self.taps) * math.prod(self.places)
        return max(1, 2 * CHUNK // max(1, numbers))

    def backward(self, grad: Array) -> tuple[Array | None, Array, Array]:
        x, weight = self.saved
        w = self.matrices(weight)
        dx = self.xp.empty(x.shape, x.dtype) if self.needs(0) else None
        out = grad.reshape(len(x), *w.shape[:2], math.prod(self.places))

        def kernel(x: Array, grad: Array, dx: Array | None) -> Array:
            if dx is not None:
                dx[:] = self.add_up(w.swapaxes(1, 2) @ grad, x)  # (groups, C x taps, places)
            # Columns once more: kept, they would be taps x's.
            return (grad @ self.columns(x).swapaxes(2, 3)).sum(0)

        dw = chunked(kernel, x, out, dx, rows=self.images_in_cache(x))
        return dx, dw.reshape(weight.shape), grad.sum(axis=(0, *range(2, grad.ndim)))

    def add_up(self, columns: Array, x: Array) -> Array:
        """The reverse of `columns`: each number of a column is added to the place that it came from."""
        dx = padded(self.xp.zeros_like(x), self.padding)
        columns = columns.reshape(*x.shape[:2], len(self.taps), *self.places)
        for i, tap in enumerate(self.taps):
            dx[tap] += columns[:, :, i]  # a tap takes each place once, so += is safe
        return dx[inside(x.shape[2:], self.padding)]


# Convolution along two axes, and along one


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] | str = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:
    """(N, C, H, W) with weight (O, C / groups, kH, kW) and bias (O,) is (N, O, H', W').

    H' = (H + 2 padding - dilation (kH - 1) - 1) / stride + 1, rounded down; `padding` may be "valid" (0)
    or "same".
    """
    return _conv("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] | str = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:
    """(N, C, L) with weight (O, C / groups, k) and bias (O,) is (N, O, L')."""
    return _conv("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


def _conv(
    name: str,
    n: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: int | Sequence[int],
    padding: int | Sequence[int] | str,
    dilation: int | Sequence[int],
    groups: int,
) -> Tensor:
    if input.ndim != n + 2 or weight.ndim != n + 2:
        raise RuntimeError(f"{name}: {input.shape} and {weight.shape} do not have {n + 2} axes each")
    if input.shape[1] != weight.shape[1] * groups or weight.shape[0] % groups:
        raise RuntimeError(
            f"{name}: input {input.shape} has {input.shape[1]} channels, "
            f"weight {weight.shape} with groups={groups} takes {weight.shape[1] * groups}"
        )
    if bias is not None and bias.shape != weight.shape[:1]:
        raise RuntimeError(f"{name}: bias {bias.shape} needs one number for each row of {weight.shape}")
    _check_dtypes(name, input, weight, bias)
    kernel, stride, dilation = weight.shape[2:], per_axis(stride, n, 1), per_axis(dilation, n, 1)
    padding = _padding(name, padding, kernel, stride, dilation)
    if min(places(input.shape[2:], kernel, stride, padding, dilation)) < 1:
        raise RuntimeError(f"{name}: the kernel {kernel} is larger than the padded input {input.shape[2:]}")
    return apply(Conv(stride, padding, dilation, groups), input, weight, *_given(bias))


def _padding(
    name: str, padding: int | Sequence[int] | str, kernel: Shape, stride: Shape, dilation: Shape
) -> Shape:
    """`padding` as one number for each axis. "same" needs stride 1 and odd kernels."""
    if not isinstance(padding, str):
        return per_axis(padding, len(kernel))
    if padding == "valid":
        return (0,) * len(kernel)
    total = [d * (k - 1) for d, k in zip(dilation, kernel)]
    if padding != "same" or max(stride) > 1 or any(t % 2 for t in total):
        raise RuntimeError(
            f"{name}: padding is a number, 'valid', or 'same' with stride 1 and odd kernels, not {padding!r} "
            f"with stride {stride} and kernel {kernel}"
        )
    return tuple(t // 2 for t in total)


# Causal convolution, each channel apart


class CausalConv(Function):
    """y[t] = weight[K-1] x[t] + weight[K-2] x[t-1] + ... + bias for each channel, with zeros before x.

    x (B, T, E), weight (E, 1, K), bias (E,). What a depthwise Conv with padding does, without its columns.
    """

    def forward(self, x: Array, weight: Array, bias: Array | None = None) -> Array:
        self.saved = x, weight
        taps = weight[:, 0, ::-1].T  # (K, E): taps[i] is for the token that is i steps back
        y = self.xp.empty(x.shape, x.dtype)

        def kernel(x: Array, y: Array) -> None:
            self.xp.multiply(x, taps[0], out=y)
            if bias is not None:
                y += bias
            for i in range(1, min(len(taps), x.shape[1])):
                y[:, i:] += taps[i] * x[:, :-i]  # token t sees token t - i

        chunked(kernel, x, y)
        return y

    def backward(self, grad: Array) -> tuple[Array, ...]:
        x, weight = self.saved
        taps = weight[:, 0, ::-1].T
        dx = self.xp.empty(x.shape, x.dtype)

        def kernel(grad: Array, x: Array, dx: Array) -> Array:
            self.xp.multiply(grad, taps[0], out=dx)
            dtaps = self.xp.zeros_like(taps)
            dtaps[0] = self.xp.einsum("bte,bte->e", grad, x)
            for i in range(1, min(len(taps), x.shape[1])):
                dx[:, :-i] += taps[i] * grad[:, i:]
                dtaps[i] = self.xp.einsum("bte,bte->e", grad[:, i:], x[:, :-i])
            return dtaps

        dw = chunked(kernel, grad, x, dx).T[:, None, ::-1]
        return (dx, dw, column_sum(as_rows(grad))) if len(self.inputs) == 3 else (dx, dw)


def causal_conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """(B, T, E) with weight (E, 1, K) and bias (E,): each channel apart, from the last K tokens, (B, T, E).

    Weights lie as in a Conv1d of E groups. Raises RuntimeError for shapes and dtypes that do not fit.
    """
    if input.ndim != 3 or weight.ndim != 3 or weight.shape[:2] != (input.shape[2], 1):
        raise RuntimeError(
            f"causal_conv1d: input {input.shape} must be (B, T, E), and weight {weight.shape} (E, 1, K)"
        )
    if bias is not None and bias.shape != weight.shape[:1]:
        raise RuntimeError(f"causal_conv1d: bias {bias.shape} needs one number for each of {input.shape[2]}")
    _check_dtypes("causal_conv1d", input, weight, bias)
    return apply(CausalConv(), input, weight, *_given(bias))


# Max-pooling


class MaxPool(Function):
    """The largest of each window, along any number of axes; the first of them where several are."""

    def __init__(self, kernel: Shape, stride: Shape, padding: Shape, dilation: Shape) -> None:
        self.kernel, self.stride, self.padding, self.dilation = kernel, stride, padding, dilation

    def forward(self, x: Array) -> Array:
        shape = places(x.shape[2:], self.kernel, self.stride, self.padding, self.dilation)
        self.taps = list(tap_slices(self.kernel, self.stride, self.dilation, shape))
        out = self.xp.empty((*x.shape[:2], *shape), x.dtype)
        winner = self.xp.zeros(out.shape, np.int16)  # which tap won: backward needs no values
        self.saved = (winner,)

        def kernel(x: Array, out: Array, winner: Array) -> None:
            x = padded(x, self.padding, -math.inf)
            out[:] = x[self.taps[0]]
            for i, tap in enumerate(self.taps[1:], 1):
                # > and not >=: the first of equals wins, as in PyTorch.
                self.xp.copyto(winner, i, where=x[tap] > out)
                self.xp.maximum(out, x[tap], out=out)

        chunked(kernel, x, out, winner)
        return out

    def backward(self, grad: Array) -> Array:
        (winner,) = self.saved
        dx = self.xp.empty(self.inputs[0].shape, grad.dtype)

        def kernel(grad: Array, winner: Array, dx: Array) -> None:
            whole = padded(self.xp.zeros_like(dx), self.padding)
            max_pool_backward(grad, winner, self.taps, whole)
            dx[:] = whole[inside(dx.shape[2:], self.padding)]

        chunked(kernel, grad, winner, dx)
        return dx


def max_pool_backward(grad: Array, winner: Array, taps: list[Any], out: Array) -> None:
    """Add each of `grad` to the place in `out`, the padded image, whose tap won that window."""
    for i, tap in enumerate(taps):
        out[tap] += grad * (winner == i)


def max_pool2d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
) -> Tensor:
    """The largest number of each window: (N, C, H, W) is (N, C, H', W'). `stride` None: the kernel's size.

    The gradient goes to the first of the largest.
    """
    if input.ndim != 4:
        raise RuntimeError(f"max_pool2d: the input must have 4 axes (N, C, H, W), not {input.shape}")
    kernel, padding, dilation = per_axis(kernel_size, 2, 1), per_axis(padding, 2), per_axis(dilation, 2, 1)
    stride = kernel if stride is None else per_axis(stride, 2, 1)
    if any(2 * p > k for p, k in zip(padding, kernel)):
        raise RuntimeError(f"max_pool2d: padding {padding} is more than half of the kernel {kernel}")
    if min(places(input.shape[2:], kernel, stride, padding, dilation)) < 1:
        raise RuntimeError(f"max_pool2d: kernel {kernel} is larger than the padded {input.shape[2:]}")
    return apply(MaxPool(kernel, stride, padding, dilation), input)


# Dropout


class Dropout(Function):
    """x times a mask of 0 and 1 / (1 - p)."""

    def forward(self, x: Array, mask: Array) -> Array:
        self.saved = (mask,)
        return x * mask

    def backward(self, grad: Array) -> Array:
        (mask,) = self.saved
        return grad * mask


def dropout(
    input: Tensor, p: float = 0.5, training: bool = True, generator: Generator | None = None
) -> Tensor:
    """Each number becomes 0 with probability p, the others are divided by 1 - p; itself out of training.

    Off the CPU the draws are made by counting on the device: one seed drops other numbers there than here.
    """
    if not 0 <= p <= 1:
        raise ValueError(f"dropout: p is a probability between 0 and 1, not {p}")
    if not training or p == 0:
        return input
    counted = counted_dropout(input, p, generator)
    if counted is not None:
        return apply(counted, input)
    mask = dropout_mask(input.shape, p, input.dtype, generator)
    return apply(Dropout(), input, Tensor(array_module(input.data).asarray(mask)))


def counted_dropout(input: Tensor, p: float, generator: Generator | None = None) -> CountedDropout | None:
    """A dropout with a new key that counts on the device of `input`; None where NumPy draws a mask."""
    if type(input.data) is np.ndarray or (_keyed.key is not None and generator is None):
        return None
    from minilib.functional.counted import CountedDropout

    return CountedDropout(p, int((generator or default_generator).numbers.integers(2**64, dtype=np.uint64)))


def dropout_mask(shape: Shape, p: float, dtype: DTypeLike, generator: Generator | None = None) -> Array:
    """0 with probability p, 1 / (1 - p) otherwise."""
    if _keyed.key is not None and generator is None:
        kept = _keyed_draw(*_keyed.key, shape) >= math.ceil(float(np.float32(p)) * 2**24) << 8
    else:
        kept = (generator or default_generator).numbers.random(shape, dtype=np.float32) >= p
    # Scaled now, so evaluation needs no change.
    return np.multiply(kept, 1 / (1 - p) if p < 1 else 0, dtype=dtype)


class _Keyed(threading.local):
    """By what the dropout of this thread is drawn: nothing, or seed, step and number of the first sample."""

    key: tuple[int, int, int] | None = None
    layer = 0


_keyed = _Keyed()


@contextmanager
def keyed_dropout(seed: int, step: int, first: int) -> Iterator[None]:
    """In this block dropout draws by (seed, step, layer, sample); samples are counted from `first`.

    So a sample gets the same mask whether its batch comes whole or in shards. Layers are counted by their
    calls.
    """
    before = _keyed.key, _keyed.layer
    _keyed.key, _keyed.layer = (seed, step, first), 0
    try:
        yield
    finally:
        _keyed.key, _keyed.layer = before


def _keyed_draw(seed: int, step: int, first: int, shape: Shape) -> Array:
    """uint32 numbers for samples `first`, `first` + 1, ... of a layer, in whichever shard they are.

    Philox makes its n-th block of 32 bytes from key and n alone, so each sample can have its own. The upper
    24 bits are the float32 that NumPy would make; comparing them as they are spares making it.
    """
    key = np.random.SeedSequence((seed, step, _keyed.layer)).generate_state(2, np.uint64)
    _keyed.layer += 1
    size = math.prod(shape[1:])
    blocks = -(-size // 8)
    raw = np.random.Philox(key=key, counter=first * blocks).random_raw(shape[0] * blocks * 4)
    return raw.astype("<u8", copy=False).view("<u4").reshape(shape[0], -1)[:, :size].reshape(shape)
