"""What networks are made of, each as one operation: losses, activations, norms, convolution.

Promoted from chapters/03a_losses.ipynb and solutions/03a_losses.ipynb; edit there, then `make promote`.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from minilib.parallel import CHUNK, chunked, elementwise
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
    ones,
    where,
    zeros,
)

# Scores become probabilities


def row_max(x: Array) -> Array:
    """The largest of each row, (rows, 1): argmax and a look-up are faster than `max` on short rows."""
    return array_module(x).take_along_axis(x, x.argmax(-1, keepdims=True), -1) if x.size else x[:, :1]


def row_sum(x: Array) -> Array:
    """The sum of each row, (rows, 1): einsum is faster than `sum` on short rows."""
    # einsum names the axes: "ij->i" keeps i and adds up over j
    return array_module(x).einsum("ij->i", x)[:, None]


def row_dot(x: Array, y: Array) -> Array:
    """The sum of x * y for each row, (rows, 1), without an array for the product."""
    return array_module(x).einsum("ij,ij->i", x, y)[:, None]


def softmax_rows(x: Array, out: Array) -> None:
    """exp(x) over their sum, for each row; nothing overflows, since the largest exponent is 0."""
    xp = array_module(x)
    xp.subtract(x, row_max(x), out=out)
    xp.exp(out, out=out)
    out *= 1 / row_sum(out)


def as_rows(x: Array) -> Array:
    """x as a matrix: its last axis, and all others in one."""
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1] if x.ndim else 1)


def rowwise(kernel: Callable[..., None], *arrays: Array) -> Array:
    """What `kernel(*rows, out)` writes, a few rows at a time; `out` is like the last of the arrays."""
    out = array_module(arrays[-1]).empty_like(arrays[-1], order="C")
    chunked(kernel, *[as_rows(a) for a in (*arrays, out)])
    return out


class Softmax(Function):
    """Positive numbers that add up to 1 along the last axis."""

    def forward(self, x: Array) -> Array:
        y = rowwise(softmax_rows, x)
        self.saved = (y,)
        return y

    def backward(self, grad: Array) -> Array:
        return rowwise(softmax_slopes, grad, *self.saved)


def softmax(input: Tensor, dim: int = -1) -> Tensor:
    """exp(x) over their sum along `dim`: positive numbers that add up to 1."""
    return along(dim, Softmax(), input)


def along(dim: int, f: Function, input: Tensor) -> Tensor:
    """`f`, which works along the last axis, along `dim`."""
    if dim in (-1, input.ndim - 1):
        return apply(f, input)
    return apply(f, input.transpose(dim, -1)).transpose(dim, -1)


# Their logarithms


def log_softmax_rows(x: Array, out: Array) -> None:
    """x minus its log-sum-exp, for each row."""
    xp = array_module(x)
    xp.subtract(x, row_max(x), out=out)
    out -= xp.log(row_sum(xp.exp(out)))


# Cross-entropy is surprise


class CrossEntropy(Function):
    """share * -log softmax(x) at the target of each row: x (N, C), target and share (N, 1) give (N, 1).

    A row whose share is 0 has the loss 0, whatever it holds.
    """

    def forward(self, x: Array, target: Array, share: Array) -> Array:
        p, losses = self.xp.empty_like(x, order="C"), self.xp.empty_like(share)
        self.saved = p, target, share

        def kernel(x: Array, target: Array, share: Array, p: Array, losses: Array) -> None:
            self.xp.subtract(x, row_max(x), out=p)
            at_target = self.xp.take_along_axis(p, target, 1)
            self.xp.exp(p, out=p)
            sums = row_sum(p)
            p *= 1 / sums
            loss = self.xp.log(sums) - at_target
            losses[:] = share * self.xp.where(share != 0, loss, 0)  # 0 times infinity is nan

        chunked(kernel, x, target, share, p, losses)
        return losses

    def backward(self, grad: Array) -> Array:
        p, target, share = self.saved
        dx = self.xp.empty_like(p)

        def kernel(scale: Array, target: Array, p: Array, dx: Array) -> None:
            self.xp.multiply(p, scale, out=dx)
            dx[self.xp.arange(len(dx)), target[:, 0]] -= scale[:, 0]

        chunked(kernel, grad * share, target, p, dx)
        return dx


# Sums and counts


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """-log softmax(input) at the target classes: input (N, C, d1, ..) or (C,), target (N, d1, ..) or ().

    "mean" divides by the weights of the targets that count. Raises RuntimeError for shapes that do not
    fit and for a label_smoothing outside [0, 1], IndexError for a target that is no class.
    """
    axis = _check_targets(input, target, weight, ignore_index, reduction)
    rows, targets = _class_rows(input, axis), target.data.reshape(-1, 1)
    weights = ones(rows.shape[1], dtype=input.dtype) if weight is None else weight.to(input.dtype)
    counts = targets != ignore_index
    classes = targets * counts  # class 0 for those that do not count
    share = weights.data[classes] * counts
    total = share.sum() if reduction == "mean" else 1
    losses = apply(CrossEntropy(), rows, Tensor(classes), Tensor(share / (total or 1)))
    if label_smoothing:
        losses = _smoothed(losses, rows, weights, Tensor(counts), float(total or 1), label_smoothing)
    if reduction == "none":
        return losses.reshape(target.shape)
    return losses.sum() if total else losses.sum() + math.nan  # the mean of nothing


# A soft relu


# erf(x) = tanh(x q(x²)): the coefficients of q, lowest first (a minimax fit; the first is
# 2 / sqrt(pi)), and the largest x² that they are made for: beyond it erf is 1 to the last bit.
_FLOAT32 = """
1.12837927 0.102769056 -1.91831253e-4 -6.19784296e-4 8.76371992e-5 -5.66845589e-6 1.41851157e-7"""
_FLOAT64 = """
1.1283791670955128e+00 1.0277260330192117e-01 -2.0919463981640261e-04 -5.9012306126089958e-04
6.4518369922657144e-05 3.4886588139399962e-06 -1.6770833722928102e-06 1.1088548209932662e-07
2.5811709451752879e-08 -5.7891120288310724e-09 2.0826426053608706e-10 3.4055548225014134e-11
2.5275163125668482e-11 -1.5333121069684922e-11 4.3235021074711437e-12 -8.3680611466419763e-13
1.2411272931087609e-13 -1.4794365299766490e-14 1.4520721879653468e-15 -1.1889182216752783e-16
8.1752936878846651e-18 -4.7334203474480024e-19 2.3065649843735539e-20 -9.4301249674186577e-22
3.2159996288990880e-23 -9.0684803125573720e-25 2.0878177316406947e-26 -3.8550784819006552e-28
5.5640515109850469e-30 -6.0394877899261968e-32 4.6312950128767652e-34 -2.2342687046213860e-36
5.0941913120471297e-39"""
ERF = {
    "float32": (12.25, [float(c) for c in _FLOAT32.split()]),
    "float64": (32.49, [float(c) for c in _FLOAT64.split()]),
}


def odd_tanh(x: Array, coefficients: Sequence[float], top: float = math.inf) -> Array:
    """tanh(x q(x²)), the polynomial q by Horner's rule; x² above `top` counts as `top`."""
    xp = array_module(x)
    square = x * x
    if top < math.inf:
        xp.minimum(square, top, out=square)
    q = square * coefficients[-1]
    for c in coefficients[-2:0:-1]:
        q += c
        q *= square
    q += coefficients[0]
    q *= x
    return xp.tanh(q, out=q)


def erf_array(x: Array) -> Array:
    """The error function; the error is that of the last bits."""
    top, coefficients = ERF[x.dtype.name]
    return odd_tanh(x, coefficients, top)


class Gated(Function):
    """x times a gate, which opens from 0 to 1 as x grows. Saves the derivative, gate + x * slope."""

    def gate(self, x: Array) -> Array:
        """How far the gate is open at x."""
        raise NotImplementedError

    def slope(self, x: Array, gate: Array) -> Array:
        """How fast it opens there."""
        raise NotImplementedError

    def forward(self, x: Array) -> Array:
        out = self.xp.empty_like(x, order="C")
        derivative = self.xp.empty_like(out) if self.needs(0) else None

        def kernel(x: Array, out: Array, derivative: Array | None) -> None:
            gate = self.gate(x)
            self.xp.multiply(x, gate, out=out)
            if derivative is not None:
                self.xp.multiply(x, self.slope(x, gate), out=derivative)
                derivative += gate

        elementwise(kernel, x, out, derivative)
        self.saved = (derivative,)
        return out

    def backward(self, grad: Array) -> Array:
        return pointwise(self.xp.multiply, grad, *self.saved)


def pointwise(kernel: Callable[..., Any], *arrays: Array) -> Array:
    """What `kernel(*pieces, out)` writes, a piece at a time; `out` is like the last of the arrays."""
    out = array_module(arrays[-1]).empty_like(arrays[-1], order="C")
    elementwise(kernel, *arrays, out)
    return out


class GELU(Gated):
    """x times the probability that a normal number lies below x."""

    def gate(self, x: Array) -> Array:
        return 0.5 + 0.5 * erf_array(x * math.sqrt(0.5))

    def slope(self, x: Array, gate: Array) -> Array:
        return self.xp.exp(-0.5 * x * x) * (1 / math.sqrt(2 * math.pi))


def logistic(x: Array) -> Array:
    """1 / (1 + exp(-x)): where exp overflows, 1 / inf is the 0 that it should be."""
    xp = array_module(x)
    out = xp.negative(x)
    with np.errstate(over="ignore"):
        xp.exp(out, out=out)
    out += 1
    return xp.reciprocal(out, out=out)


class SiLU(Gated):
    """x times the logistic curve, which is PyTorch's sigmoid."""

    def gate(self, x: Array) -> Array:
        return logistic(x)

    def slope(self, x: Array, gate: Array) -> Array:
        return gate * (1 - gate)


# Rows of mean 0 and variance 1


class LayerNorm(Function):
    """Rows of mean 0 and variance 1, times weight plus bias; a row is as many last axes as the weight has."""

    def __init__(self, eps: float = 1e-5) -> None:
        self.eps = eps

    def forward(self, x: Array, weight: Array, bias: Array) -> Array:
        rows, w, b = x.reshape(-1, weight.size), weight.reshape(-1), bias.reshape(-1)
        out, y = self.xp.empty_like(rows, order="C"), self.xp.empty_like(rows, order="C")
        scale = self.xp.empty_like(rows[:, :1])  # 1 / sigma
        self.saved = y, scale, weight

        def kernel(x: Array, out: Array, y: Array, scale: Array) -> None:
            # One number first: large ones that lie close together then keep their digits.
            self.xp.subtract(x, x[:, :1], out=y)
            y -= row_sum(y) / w.size
            scale[:] = 1 / self.xp.sqrt(row_dot(y, y) / w.size + self.eps)
            y *= scale
            self.xp.multiply(y, w, out=out)
            out += b

        chunked(kernel, rows, out, y, scale)
        return out.reshape(x.shape)

    def backward(self, grad: Array) -> tuple[Array, Array, Array]:
        y, scale, weight = self.saved
        dx, w = self.xp.empty_like(y), weight.reshape(-1)

        def kernel(grad: Array, y: Array, scale: Array, dx: Array) -> Array:
            self.xp.multiply(grad, w, out=dx)
            along = y * (row_dot(dx, y) / w.size)
            along += row_sum(dx) / w.size
            dx -= along
            dx *= scale
            return self.xp.stack([column_dot(grad, y), column_sum(grad)])

        dw, db = chunked(kernel, grad.reshape(y.shape), y, scale, dx)
        return dx.reshape(grad.shape), dw.reshape(weight.shape), db.reshape(weight.shape)


def column_sum(x: Array) -> Array:
    """The sum of each column, as a product with ones: BLAS is faster at it than `sum`."""
    return array_module(x).ones(len(x), x.dtype) @ x


def column_dot(x: Array, y: Array) -> Array:
    """The sum of x * y for each column."""
    return array_module(x).einsum("ij,ij->j", x, y)


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Mean 0 and variance 1 over the last axes (`normalized_shape`), times weight plus bias of that shape."""
    shape = _last_axes("layer_norm", input, normalized_shape, weight, bias)
    weight = ones(shape, dtype=input.dtype) if weight is None else weight
    bias = zeros(shape, dtype=input.dtype) if bias is None else bias
    return apply(LayerNorm(eps), input, weight, bias)


def _last_axes(name: str, input: Tensor, shape: Sequence[int], *parameters: Tensor | None) -> Shape:
    """`shape` as a tuple. Raises RuntimeError where the last axes of an input or parameter differ."""
    shape = tuple(shape)
    if not shape or input.shape[-len(shape) :] != shape:
        raise RuntimeError(f"{name}: the last axes of {input.shape} are not {shape}")
    for parameter in parameters:
        if parameter is not None and parameter.shape != shape:
            raise RuntimeError(f"{name}: weight and bias must have the shape {shape}, not {parameter.shape}")
    return shape


# Dropout


class Dropout(Function):
    """x times a mask of 0 and 1 / (1 - p)."""

    def forward(self, x: Array, mask: Array) -> Array:
        self.saved = (mask,)
        return x * mask

    def backward(self, grad: Array) -> Array:
        (mask,) = self.saved
        return grad * mask


# Rows of a table


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
        grad = grad.reshape(index.size, dw.shape[1])
        for turn in turns(index, len(dw)):
            dw[index[turn]] += grad[turn]
        if self.padding_idx is not None:
            dw[self.padding_idx] = 0
        return dw


def turns(index: Array, size: int) -> Iterator[Array]:
    """Where each value (below `size`) occurs for the first time, then for the second time, and so on."""
    xp = array_module(index)
    small = np.uint16 if max(size, len(index)) < 65_536 else index.dtype  # 16 bits are sorted by radix
    order = xp.argsort(index.astype(small), kind="stable")
    ordered = index[order]
    start = xp.searchsorted(ordered, ordered)  # where its run of equal values starts
    times = xp.arange(len(index)) - start  # how often it was there before
    order = order[xp.argsort(times.astype(small), kind="stable")]
    done = 0
    for n in xp.bincount(times).tolist():
        yield order[done : done + n]
        done += n


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
    """x with `value` around its last axes; x itself where there is no padding."""
    if not any(padding):
        return x
    lead = x.ndim - len(padding)
    shape = x.shape[:lead] + tuple(n + 2 * p for n, p in zip(x.shape[lead:], padding))
    out = array_module(x).full(shape, value, x.dtype)
    out[inside(x.shape[lead:], padding)] = x
    return out


def inside(shape: Shape, padding: Shape) -> tuple[Any, ...]:
    """Where an input of this shape lies in its padded one."""
    return (..., *[slice(p, p + n) for n, p in zip(shape, padding)])


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
            self.xp.matmul(w, self.columns(x), out=out)
            if bias is not None:
                out += bias.reshape(self.groups, -1, 1)

        chunked(kernel, x, out, rows=self.images_in_cache(x))
        return out.reshape(len(x), len(weight), *self.places)

    def columns(self, x: Array) -> Array:
        """The windows of a few images: (n, groups, channels x taps, places)."""
        x = padded(x, self.padding)
        columns = self.xp.stack([x[tap] for tap in self.taps], axis=2)
        height = x.shape[1] // self.groups * len(self.taps)
        return columns.reshape(len(x), self.groups, height, math.prod(self.places))

    def matrices(self, weight: Array) -> Array:
        """The weight as one matrix for each group: (groups, output channels, channels x taps)."""
        return weight.reshape(self.groups, len(weight) // self.groups, -1)

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
                dx[:] = self.add_up(w.swapaxes(1, 2) @ grad, x)
            return (grad @ self.columns(x).swapaxes(2, 3)).sum(0)

        dw = chunked(kernel, x, out, dx, rows=self.images_in_cache(x))
        return dx, dw.reshape(weight.shape), grad.sum(axis=(0, *range(2, grad.ndim)))

    def add_up(self, columns: Array, x: Array) -> Array:
        """The reverse of `columns`: each number of a column is added to the place that it came from."""
        dx = padded(self.xp.zeros_like(x), self.padding)
        columns = columns.reshape(*x.shape[:2], len(self.taps), *self.places)
        for i, tap in enumerate(self.taps):
            dx[tap] += columns[:, :, i]
        return dx[inside(x.shape[2:], self.padding)]


class MaxPool(Function):
    """The largest of each window, along any number of axes; the first of them where several are."""

    def __init__(self, kernel: Shape, stride: Shape, padding: Shape, dilation: Shape) -> None:
        self.kernel, self.stride, self.padding, self.dilation = kernel, stride, padding, dilation

    def forward(self, x: Array) -> Array:
        shape = places(x.shape[2:], self.kernel, self.stride, self.padding, self.dilation)
        self.taps = list(tap_slices(self.kernel, self.stride, self.dilation, shape))
        out = self.xp.empty((*x.shape[:2], *shape), x.dtype)
        winner = self.xp.zeros(out.shape, np.int16)
        self.saved = (winner,)

        def kernel(x: Array, out: Array, winner: Array) -> None:
            x = padded(x, self.padding, -math.inf)
            out[:] = x[self.taps[0]]
            for i, tap in enumerate(self.taps[1:], 1):
                self.xp.copyto(winner, i, where=x[tap] > out)
                self.xp.maximum(out, x[tap], out=out)

        chunked(kernel, x, out, winner)
        return out

    def backward(self, grad: Array) -> Array:
        (winner,) = self.saved
        dx = self.xp.empty(self.inputs[0].shape, grad.dtype)

        def kernel(grad: Array, winner: Array, dx: Array) -> None:
            whole = padded(self.xp.zeros_like(dx), self.padding)
            max_pool_slopes(grad, winner, self.taps, whole)
            dx[:] = whole[inside(dx.shape[2:], self.padding)]

        chunked(kernel, grad, winner, dx)
        return dx


# Activations


class TanhGELU(Gated):
    """GELU by two coefficients: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x³))), as GPT-2 has it."""

    c0, c1 = math.sqrt(2 / math.pi), math.sqrt(2 / math.pi) * 0.044715

    def gate(self, x: Array) -> Array:
        return 0.5 + 0.5 * odd_tanh(x, (self.c0, self.c1))

    def slope(self, x: Array, gate: Array) -> Array:
        return (2 * self.c0 + 6 * self.c1 * x * x) * gate * (1 - gate)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x times the normal distribution's cdf at x; "tanh" is a near formula."""
    if approximate not in ("none", "tanh"):
        raise RuntimeError(f"gelu: approximate is 'none' or 'tanh', not {approximate!r}")
    return apply(TanhGELU() if approximate == "tanh" else GELU(), input)


def silu(input: Tensor) -> Tensor:
    """x * sigmoid(x); also known as swish."""
    return apply(SiLU(), input)


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta x)) / beta, a smooth relu; x itself where beta x > threshold."""
    if beta == 1:
        return apply(Softplus(threshold), input)
    return apply(Softplus(threshold), input * beta) / beta


def relu(input: Tensor) -> Tensor:
    """max(x, 0)"""
    return input.relu()


def tanh(input: Tensor) -> Tensor:
    return input.tanh()


def sigmoid(input: Tensor) -> Tensor:
    return input.sigmoid()


class Erf(Function):
    """The error function."""

    def forward(self, x: Array) -> Array:
        self.saved = (x,)
        return pointwise(lambda x, out: self.xp.copyto(out, erf_array(x)), x)

    def backward(self, grad: Array) -> Array:
        (x,) = self.saved
        return grad * (2 / math.sqrt(math.pi)) * self.xp.exp(-x * x)


def erf(input: Tensor) -> Tensor:
    """The error function: the normal distribution's cdf is (1 + erf(x / sqrt(2))) / 2."""
    return apply(Erf(), input)


# Losses


class LogSoftmax(Function):
    """The logarithm of softmax along the last axis."""

    def forward(self, x: Array) -> Array:
        y = rowwise(log_softmax_rows, x)
        self.saved = (y,)
        return y

    def backward(self, grad: Array) -> Array:
        return rowwise(log_softmax_slopes, grad, *self.saved)


def log_softmax_slopes(grad: Array, y: Array, out: Array) -> None:
    """The gradient of the scores: grad - softmax * (the row's sum of grad), with softmax = exp(y)."""
    xp = array_module(y)
    xp.exp(y, out=out)
    out *= row_sum(grad)
    xp.subtract(grad, out, out=out)


def log_softmax(input: Tensor, dim: int = -1) -> Tensor:
    """log(softmax(x)), without the overflow and the log of 0."""
    return along(dim, LogSoftmax(), input)


def _smoothed(
    losses: Tensor, rows: Tensor, weights: Tensor, counts: Tensor, total: float, smoothing: float
) -> Tensor:
    """The losses if the part `smoothing` of each target that counts went to all classes alike."""
    if not 0 <= smoothing <= 1:
        raise RuntimeError(f"cross_entropy: label_smoothing is between 0 and 1, not {smoothing}")
    even = -(log_softmax(rows) * weights).mean(1, keepdim=True)
    return losses * (1 - smoothing) + where(counts, even, 0.0) * (smoothing / total)


def _check_targets(
    input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str
) -> int:
    """The axis of the classes. Raises where a loss over them cannot be worked out."""
    _check_reduction(reduction)
    axis = min(1, input.ndim - 1)
    expected = input.shape[:axis] + input.shape[axis + 1 :]
    if target.shape != expected or target.dtype.kind not in "iu":
        raise RuntimeError(
            f"cross_entropy: scores {input.shape} need integer targets of shape {expected}, "
            f"not {target.dtype} of {target.shape}"
        )
    classes = input.shape[axis]
    if weight is not None and weight.shape != (classes,):
        raise RuntimeError(f"cross_entropy: weight must have the shape ({classes},), not {weight.shape}")
    wrong = (target.data != ignore_index) & ((target.data < 0) | (target.data >= classes))
    if wrong.any():
        first = int(target.data[wrong][0])
        raise IndexError(f"cross_entropy: target {first} is no class; there are {classes}, from 0")
    return axis


def _class_rows(input: Tensor, axis: int) -> Tensor:
    """The classes, which lie along `axis`, in rows: (N d1 .., C)."""
    if input.ndim == 2:
        return input
    others = [i for i in range(input.ndim) if i != axis]
    return input.permute(*others, axis).reshape(-1, input.shape[axis])


def _check_reduction(reduction: str) -> None:
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"reduction is 'mean', 'sum' or 'none', not {reduction!r}")


def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Squared differences of two tensors of one shape."""
    if input.shape != target.shape:
        raise RuntimeError(f"mse_loss: the shapes differ: {input.shape} and {target.shape}")
    _check_reduction(reduction)
    losses = (input - target).square()
    return losses if reduction == "none" else losses.mean() if reduction == "mean" else losses.sum()


def one_hot(input: Tensor, num_classes: int = -1) -> Tensor:
    """Integers (...) as rows (..., num_classes) with a single 1."""
    if input.dtype.kind not in "iu":
        raise RuntimeError(f"one_hot: needs integers, not {input.dtype}")
    classes = int(input.max().item()) + 1 if num_classes == -1 else num_classes
    if input.numel() and (input.data.min() < 0 or input.data.max() >= classes):
        raise RuntimeError(f"one_hot: integers must be from 0 to {classes - 1}")
    return (input.unsqueeze(-1) == arange(classes)).long()


# Normalisation


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Root mean square 1 over the last axes (`normalized_shape`), times weight. `eps` None: the dtype's."""
    shape = _last_axes("rms_norm", input, normalized_shape, weight)
    weight = ones(shape, dtype=input.dtype) if weight is None else weight
    norm = RMSNorm(float(np.finfo(input.dtype).eps) if eps is None else eps)
    if len(input.shape) == 2 and len(shape) == 1:
        return apply(norm, input, weight)
    rows = input.reshape(math.prod(input.shape[: input.ndim - len(shape)]), math.prod(shape))
    return apply(norm, rows, weight.reshape(-1)).reshape(input.shape)


def channel_sum(x: Array) -> Array:
    """(N, C, P) -> (C, 1): over the batch and the places."""
    return array_module(x).einsum("ncp->c", x)[:, None]


def channel_dot(x: Array, y: Array) -> Array:
    """The sum of x * y for each channel, (C, 1)."""
    return array_module(x).einsum("ncp,ncp->c", x, y)[:, None]


def channel_moments(x: Array) -> tuple[Array, Array]:
    """Mean and variance (with n) of each channel of (N, C, P), both (C, 1)."""
    count = x.size // max(1, x.shape[1])
    mean = chunked(channel_sum, x) / count

    def squares(x: Array) -> Array:
        centred = x - mean
        return channel_dot(centred, centred)

    return mean, chunked(squares, x) / count


class BatchNorm(Function):
    """Channels (axis 1) of mean 0 and variance 1, times weight plus bias.

    Without a given mean and variance it takes the batch's, and keeps them as attributes, (C,) both.
    """

    def __init__(self, eps: float = 1e-5) -> None:
        self.eps = eps

    def forward(self, x: Array, weight: Array, bias: Array, *given: Array) -> Array:
        x3 = x.reshape(*x.shape[:2], math.prod(x.shape[2:]))
        self.by_batch = not given
        mean, var = (m[:, None] for m in given) if given else channel_moments(x3)
        self.mean, self.var = mean[:, 0], var[:, 0]
        scale = 1 / self.xp.sqrt(var + x.dtype.type(self.eps))
        self.saved = x3, mean, scale, weight[:, None]
        out, factor = self.xp.empty_like(x3, order="C"), weight[:, None] * scale

        def kernel(x: Array, out: Array) -> None:
            self.xp.subtract(x, mean, out=out)
            out *= factor
            out += bias[:, None]

        chunked(kernel, x3, out)
        return out.reshape(x.shape)

    def backward(self, grad: Array) -> tuple[Array, Array, Array]:
        x, mean, scale, weight = self.saved
        grad3, dx = grad.reshape(x.shape), self.xp.empty_like(x, order="C")
        count = x.size // max(1, x.shape[1])

        def sums(grad: Array, x: Array) -> Array:
            return self.xp.stack([channel_sum(grad), channel_dot(grad, x - mean)])

        db, dot = chunked(sums, grad3, x)
        dw = dot * scale

        def kernel(grad: Array, x: Array, dx: Array) -> None:
            if self.by_batch:  # as in layer norm: without the mean, and without the part along y
                self.xp.subtract(x, mean, out=dx)
                dx *= -scale * dw / count
                dx += grad
                dx -= db / count
                dx *= weight * scale
            else:
                self.xp.multiply(grad, weight * scale, out=dx)

        chunked(kernel, grad3, x, dx)
        return dx.reshape(grad.shape), dw[:, 0], db[:, 0]


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Mean 0 and variance 1 for each channel (axis 1), times weight plus bias.

    In training by the batch's mean and variance, which the running ones (changed in place) then lean
    towards by `momentum`, the variance with n - 1; else by the running ones.
    """
    channels = input.shape[1]
    count = math.prod(input.shape) // max(channels, 1)
    weight = ones(channels, dtype=input.dtype) if weight is None else weight
    bias = zeros(channels, dtype=input.dtype) if bias is None else bias
    f = BatchNorm(eps)
    if not training:
        if running_mean is None or running_var is None:
            raise ValueError("batch_norm: out of training it needs running_mean and running_var")
        return apply(f, input, weight, bias, running_mean, running_var)
    if count <= 1:
        raise ValueError(f"batch_norm: training needs more than one number a channel, not {input.shape}")
    out = apply(f, input, weight, bias)
    _lean(running_mean, f.mean, momentum)
    _lean(running_var, f.var * (count / (count - 1)), momentum)
    return out


def _lean(running: Tensor | None, batch: Array, momentum: float) -> None:
    """Change a running average in place, a step of `momentum` towards the batch's."""
    if running is not None:
        running.data *= 1 - momentum
        running.data += momentum * batch


# Dropout and its masks


def dropout(
    input: Tensor, p: float = 0.5, training: bool = True, generator: Generator | None = None
) -> Tensor:
    """Each number becomes 0 with probability p, the others are divided by 1 - p; itself out of training."""
    if not 0 <= p <= 1:
        raise ValueError(f"dropout: p is a probability between 0 and 1, not {p}")
    if not training or p == 0:
        return input
    mask = dropout_mask(input.shape, p, input.dtype, generator)
    return apply(Dropout(), input, Tensor(array_module(input.data).asarray(mask)))


def dropout_mask(shape: Shape, p: float, dtype: DTypeLike, generator: Generator | None = None) -> Array:
    """0 with probability p, 1 / (1 - p) otherwise."""
    if _keyed.key is not None and generator is None:
        mask = _keyed_draw(*_keyed.key, shape)
    else:
        mask = (generator or default_generator).numbers.random(shape, dtype=np.float32)
    np.greater_equal(mask, p, out=mask)
    mask *= 1 / (1 - p) if p < 1 else 0
    return mask.astype(dtype, copy=False)


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
    """Numbers from [0, 1) for samples `first`, `first` + 1, ... of a layer, in whichever shard they are.

    Philox makes its n-th block of eight float32 from key and n alone, so each sample can have its own.
    """
    key = np.random.SeedSequence((seed, step, _keyed.layer)).generate_state(2, np.uint64)
    _keyed.layer += 1
    size = math.prod(shape[1:])
    blocks = -(-size // 8)
    source = np.random.Generator(np.random.Philox(key=key, counter=first * blocks))
    return source.random((shape[0], 8 * blocks), dtype=np.float32)[:, :size].reshape(shape)


# Layers


class Linear(Function):
    """x @ weight.T + bias: x of any leading shape as one matrix."""

    def forward(self, x: Array, weight: Array, bias: Array | None = None) -> Array:
        self.saved = x, weight
        out = as_rows(x) @ weight.T
        if bias is not None:
            out += bias
        return out.reshape(*x.shape[:-1], len(weight))

    def backward(self, grad: Array) -> tuple[Array | None, Array, Array]:
        x, weight = self.saved
        grad = as_rows(grad)
        dx = (grad @ weight).reshape(x.shape) if self.needs(0) else None
        return dx, grad.T @ as_rows(x), column_sum(grad)


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
    dtypes = [t.dtype.name for t in _given(*tensors)]
    if len(set(dtypes)) > 1:
        raise RuntimeError(f"{name}: the dtypes differ: {', '.join(dtypes)}; cast with .to(...)")


def _given(*tensors: Tensor | None) -> list[Tensor]:
    """Those that are not None."""
    return [t for t in tensors if t is not None]


def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None) -> Tensor:
    """Row input[i] of `weight` for each integer: (...) with weight (n, d) is (..., d).

    Row `padding_idx` gets no gradient. Raises IndexError for an integer that has no row.
    """
    if input.dtype.kind not in "iu":
        raise RuntimeError(f"embedding: needs integers, not {input.dtype}")
    if input.numel() and (input.data.min() < 0 or input.data.max() >= weight.shape[0]):
        raise IndexError(f"embedding: the weight has rows 0 to {weight.shape[0] - 1}, and no others")
    if padding_idx is not None and not -weight.shape[0] <= padding_idx < weight.shape[0]:
        raise IndexError(f"embedding: padding_idx {padding_idx} is not one of {weight.shape[0]} rows")
    return apply(Embedding(padding_idx), weight, input)


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
    """`padding` as one number for each axis."""
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


def per_axis(value: int | Sequence[int], n: int, least: int = 0) -> tuple[int, ...]:
    """One number for each of n axes, none of them below `least`: `3` is `(3, 3)` for two."""
    values = (value,) * n if isinstance(value, int) else tuple(value)
    if len(values) != n:
        raise ValueError(f"one number or {n} are needed, not {values}")
    if min(values) < least:
        raise RuntimeError(f"kernels, strides and dilations start at 1, paddings at 0, but here is {values}")
    return values


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


# Log-sum-exp


def logsumexp(input: Tensor, dim: int | tuple[int, ...], keepdim: bool = False) -> Tensor:
    """log(sum(exp(x))) along `dim`; the largest number is taken out first, so nothing overflows."""
    top = input.amax(dim, keepdim=True).detach()
    top = where(abs(top) < math.inf, top, 0.0)
    with np.errstate(divide="ignore"):  # of nothing but -inf the sum is 0, whose logarithm is -inf
        out = (input - top).exp().sum(dim, keepdim=True).log() + top
    return out if keepdim else out.squeeze(dim)


# Softmax, backward


def softmax_slopes(grad: Array, y: Array, out: Array) -> None:
    """The gradient of the scores: y (grad - the row's sum of grad * y). Rows (n, C); writes into `out`."""
    array_module(y).subtract(grad, row_dot(grad, y), out=out)
    out *= y


# Softplus


class Softplus(Function):
    """log(1 + exp(x)), and x itself above `threshold`."""

    def __init__(self, threshold: float = 20.0) -> None:
        self.threshold = threshold

    def forward(self, x: Array) -> Array:
        self.saved = (x,)

        def kernel(x: Array, out: Array) -> None:
            self.xp.abs(x, out=out)
            self.xp.negative(out, out=out)
            self.xp.exp(out, out=out)
            self.xp.log1p(out, out=out)
            out *= x <= self.threshold
            out += self.xp.maximum(x, 0)

        return pointwise(kernel, x)

    def backward(self, grad: Array) -> Array:
        def kernel(grad: Array, x: Array, out: Array) -> None:
            self.xp.multiply(grad, self.xp.where(x > self.threshold, 1, logistic(x)), out=out)

        return pointwise(kernel, grad, *self.saved)


# Sums and counts


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """-input (N, C, d1, ..) at the targets (N, d1, ..): the cross_entropy of what is log_softmax already."""
    _check_targets(input, target, weight, ignore_index, reduction)
    kept = target != ignore_index
    at = where(kept, target, 0)
    share = kept.to(input.dtype) if weight is None else where(kept, weight[at], 0.0)
    losses = where(kept, -input.gather(1, at.unsqueeze(1)).squeeze(1), 0.0) * share
    if reduction == "none":
        return losses
    return losses.sum() / share.sum() if reduction == "mean" else losses.sum()


# RMS norm, and what it keeps


class RMSNorm(Function):
    """Rows of root mean square 1, times weight: x (n, C), weight (C,)."""

    def __init__(self, eps: float = 1e-5) -> None:
        self.eps = eps

    def forward(self, x: Array, weight: Array) -> Array:
        out, y = self.xp.empty_like(x, order="C"), self.xp.empty_like(x, order="C")
        scale = self.xp.empty_like(x[:, :1])
        self.saved = y, scale, weight

        def kernel(x: Array, out: Array, y: Array, scale: Array) -> None:
            scale[:] = 1 / self.xp.sqrt(row_dot(x, x) / weight.size + self.eps)
            self.xp.multiply(x, scale, out=y)
            self.xp.multiply(y, weight, out=out)

        chunked(kernel, x, out, y, scale)
        return out

    def backward(self, grad: Array) -> tuple[Array, Array]:
        y, scale, weight = self.saved
        dx = self.xp.empty_like(y)

        def kernel(grad: Array, y: Array, scale: Array, dx: Array) -> Array:
            self.xp.multiply(grad, weight, out=dx)
            dx -= y * (row_dot(dx, y) / weight.size)
            dx *= scale
            return column_dot(grad, y)

        dw = chunked(kernel, grad, y, scale, dx)
        return dx, dw


# Max-pooling, backward


def max_pool_slopes(grad: Array, winner: Array, taps: list[Any], out: Array) -> None:
    """Add each of `grad` to the place in `out`, the padded image, whose tap won that window."""
    for i, tap in enumerate(taps):
        out[tap] += grad * (winner == i)
