"""Norms: rows or channels of mean 0 and variance 1, or of root mean square 1.

Taught in chapters/03a_losses.ipynb and solutions/03a_losses.ipynb: what they export is edited there, then
`make promote`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from minilib.functional.rows import column_dot, column_sum, in_float32, row_dot, row_sum
from minilib.parallel import chunked
from minilib.tensor import Array, Function, Shape, Tensor, apply, array_module, ones, zeros

__all__ = [
    "BatchNorm", "LayerNorm", "RMSNorm", "batch_norm", "channel_dot", "channel_moments", "channel_sum",
    "layer_norm", "rms_norm",
]  # fmt: skip

# Layer norm


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
            y -= row_sum(y) / w.size  # (n, C) - (n, 1)
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
            self.xp.multiply(grad, w, out=dx)  # the gradient of y, the normed rows
            along = y * (row_dot(dx, y) / w.size)  # its part along y: scaling a row changes nothing
            along += row_sum(dx) / w.size  # its mean: shifting a row changes nothing
            dx -= along
            dx *= scale
            return self.xp.stack([column_dot(grad, y), column_sum(grad)])

        dw, db = chunked(kernel, grad.reshape(y.shape), y, scale, dx)
        return dx.reshape(grad.shape), dw.reshape(weight.shape), db.reshape(weight.shape)


@in_float32
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Mean 0 and variance 1 over the last axes (`normalized_shape`), times weight plus bias of that shape."""
    shape = _last_axes("layer_norm", input, normalized_shape, weight, bias)
    weight = ones(shape, dtype=input.dtype, device=input.device) if weight is None else weight
    bias = zeros(shape, dtype=input.dtype, device=input.device) if bias is None else bias
    one_row = type(input.data) is np.ndarray and 0 < input.data.size == weight.data.size
    return apply(LayerNormOfOneRow(eps) if one_row else LayerNorm(eps), input, weight, bias)


class LayerNormOfOneRow(LayerNorm):
    """The same with the mean as a plain number: half the time where a model says one word at a time."""

    name = "LayerNorm"

    def forward(self, x: Array, weight: Array, bias: Array) -> Array:
        row, n = x.reshape(-1), weight.size
        y = row - row[0]
        y -= y.dtype.type(float(np.add.reduce(y)) / n)
        scale = y.dtype.type(float(y @ y) / n + self.eps) ** -0.5  # 1 / sigma
        y *= scale
        self.saved = y[None], np.full((1, 1), scale, y.dtype), weight
        out = y * weight.reshape(-1)
        out += bias.reshape(-1)
        return out.reshape(x.shape)


# RMS norm


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
            dx -= y * (row_dot(dx, y) / weight.size)  # the part along y; no mean, since none was taken
            dx *= scale
            return column_dot(grad, y)

        dw = chunked(kernel, grad, y, scale, dx)
        return dx, dw


@in_float32
def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Root mean square 1 over the last axes (`normalized_shape`), times weight. `eps` None: the dtype's."""
    shape = _last_axes("rms_norm", input, normalized_shape, weight)
    weight = ones(shape, dtype=input.dtype, device=input.device) if weight is None else weight
    norm = RMSNorm(float(np.finfo(input.dtype).eps) if eps is None else eps)
    if len(input.shape) == 2 and len(shape) == 1:
        return apply(norm, input, weight)
    rows = input.reshape(math.prod(input.shape[: input.ndim - len(shape)]), math.prod(shape))
    return apply(norm, rows, weight.reshape(-1)).reshape(input.shape)


def _last_axes(name: str, input: Tensor, shape: Sequence[int], *parameters: Tensor | None) -> Shape:
    """`shape` as a tuple. Raises RuntimeError where the last axes of an input or parameter differ."""
    shape = tuple(shape)
    if not shape or input.shape[-len(shape) :] != shape:
        raise RuntimeError(f"{name}: the last axes of {input.shape} are not {shape}")
    for parameter in parameters:
        if parameter is not None and parameter.shape != shape:
            raise RuntimeError(f"{name}: weight and bias must have the shape {shape}, not {parameter.shape}")
    return shape


# Batch norm


class BatchNorm(Function):
    """Channels (axis 1) of mean 0 and variance 1, times weight plus bias.

    Without a given mean and variance it takes the batch's, and keeps them as attributes, (C,) both.
    """

    def __init__(self, eps: float = 1e-5) -> None:
        self.eps = eps

    def forward(self, x: Array, weight: Array, bias: Array, *given: Array) -> Array:
        x3 = x.reshape(*x.shape[:2], math.prod(x.shape[2:]))  # (N, C, P)
        self.by_batch = not given
        mean, var = (m[:, None] for m in given) if given else channel_moments(x3)
        self.mean, self.var = mean[:, 0], var[:, 0]
        scale = 1 / self.xp.sqrt(var + x.dtype.type(self.eps))  # (C, 1)
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
    towards by `momentum`, the variance with n - 1; else by the running ones. Raises ValueError for an `eps`
    that cannot keep the root away from 0. `momentum` is a number: None, PyTorch's mean over all batches, is
    refused.
    """
    if eps < 0 or (training and eps == 0):
        raise ValueError(f"batch_norm: eps must be positive in training, else not negative, and is {eps}")
    if input.ndim < 2:
        raise ValueError(
            f"batch_norm: the input needs an axis of channels after the batch's, not {input.shape}"
        )
    if momentum is None:
        raise TypeError(
            "batch_norm: momentum is a number, not None: choose how far to lean towards each batch, as 0.1"
        )
    channels = input.shape[1]
    count = math.prod(input.shape) // max(channels, 1)
    weight = ones(channels, dtype=input.dtype, device=input.device) if weight is None else weight
    bias = zeros(channels, dtype=input.dtype, device=input.device) if bias is None else bias
    f = BatchNorm(eps)
    if not training:
        if running_mean is None or running_var is None:
            raise ValueError("batch_norm: out of training it needs running_mean and running_var")
        return _normed(f, input, weight, bias, running_mean, running_var)
    if count <= 1:
        raise ValueError(f"batch_norm: training needs more than one number a channel, not {input.shape}")
    out = _normed(f, input, weight, bias)
    _lean(running_mean, f.mean, momentum)
    # N - 1, while the batch is normed by n: PyTorch's.
    _lean(running_var, f.var * count / (count - 1), momentum)
    return out


@in_float32
def _normed(f: BatchNorm, *tensors: Tensor) -> Tensor:
    return apply(f, *tensors)


def _lean(running: Tensor | None, batch: Array, momentum: float) -> None:
    """Change a running average in place, a step of `momentum` towards the batch's."""
    if running is not None:
        running.data *= 1 - momentum
        running.data += momentum * batch


# Sums over channels


def channel_moments(x: Array) -> tuple[Array, Array]:
    """Mean and variance (with n) of each channel of (N, C, P), both (C, 1)."""
    count = x.size // max(1, x.shape[1])
    mean = chunked(channel_sum, x) / count

    def squares(x: Array) -> Array:
        centred = x - mean  # a second pass over x: E[x²] - E[x]² would cancel digits
        return channel_dot(centred, centred)

    return mean, chunked(squares, x) / count


def channel_sum(x: Array) -> Array:
    """(N, C, P) -> (C, 1): over the batch and the places."""
    return array_module(x).einsum("ncp->c", x)[:, None]


def channel_dot(x: Array, y: Array) -> Array:
    """The sum of x * y for each channel, (C, 1)."""
    return array_module(x).einsum("ncp,ncp->c", x, y)[:, None]
