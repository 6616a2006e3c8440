"""Rows: softmax, cross-entropy and the norms. A row is read while it is in the cache, and never again.

Each loop is the definition of its operation for one row after the other, and beside it stands its way back.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minilib.compiled.loops import ALLOWED, BLOCK, compiled, exp, in_blocks, loop, over, plain
from minilib.compiled.pairs import Unary, pair, register
from minilib.functional.activations import LogSoftmax, Softmax
from minilib.functional.losses import CrossEntropy
from minilib.functional.norms import LayerNorm, RMSNorm
from minilib.functional.rows import as_rows
from minilib.tensor import Array, Function

ZERO, ONE = np.float32(0), np.float32(1)
REST = np.int32(0x7FFFFFFF)  # all bits but the sign


def _in_order(bits: Any) -> Any:
    """The bits of a float32 as a whole number in the order of the floats: what is negative turned round."""
    return np.int32(bits ^ (bits >> np.int32(31) & REST))


in_order = compiled(_in_order, set())


def _largest(row: Array) -> Any:
    """Of whole numbers: unlike those of floats their order has no NaN, and eight are compared at once."""
    bits = row.view(np.int32)
    top = in_order(bits[0])
    for j in range(len(bits)):
        place = in_order(bits[j])
        top = place if place > top else top
    return np.int32(in_order(top)).view(np.float32)


largest = compiled(_largest, ALLOWED)


# Softmax: exp(x) over their sum


@loop
def softmax(x: Array, y: Array) -> None:
    for i in range(len(x)):
        top = largest(x[i])
        total = ZERO
        for j in range(x.shape[1]):
            y[i, j] = exp(x[i, j] - top)  # at most 1: nothing overflows
            total += y[i, j]
        share = ONE / total
        for j in range(x.shape[1]):
            y[i, j] *= share


@loop
def softmax_backward(grad: Array, y: Array, dx: Array) -> None:
    for i in range(len(grad)):
        dot = ZERO
        for j in range(y.shape[1]):
            dot += grad[i, j] * y[i, j]
        for j in range(y.shape[1]):
            dx[i, j] = y[i, j] * (grad[i, j] - dot)


@loop
def log_softmax(x: Array, y: Array) -> None:
    for i in range(len(x)):
        top = largest(x[i])
        total = ZERO
        for j in range(x.shape[1]):
            total += exp(x[i, j] - top)
        logarithm = np.log(total)
        for j in range(x.shape[1]):
            y[i, j] = (x[i, j] - top) - logarithm


@loop
def log_softmax_backward(grad: Array, y: Array, dx: Array) -> None:
    for i in range(len(grad)):
        total = ZERO
        for j in range(y.shape[1]):
            total += grad[i, j]
        for j in range(y.shape[1]):
            dx[i, j] = grad[i, j] - exp(y[i, j]) * total


register(Unary(softmax, softmax_backward, as_rows), Softmax)
register(Unary(log_softmax, log_softmax_backward, as_rows), LogSoftmax)


# Cross-entropy: share * -log softmax(x) at the target


@loop
def cross_entropy(
    start: int, stop: int, x: Array, target: Array, share: Array, p: Array, losses: Array
) -> None:
    for i in range(start, stop):
        top = largest(x[i])
        total = ZERO
        for j in range(x.shape[1]):
            p[i, j] = exp(x[i, j] - top)
            total += p[i, j]
        scale = ONE / total
        for j in range(x.shape[1]):
            p[i, j] *= scale
        loss = np.log(total) - (x[i, target[i, 0]] - top)  # without the log of a probability that may be 0
        losses[i, 0] = share[i, 0] * loss if share[i, 0] != 0 else ZERO  # 0 times infinity is NaN


@loop
def cross_entropy_backward(
    start: int, stop: int, grad: Array, target: Array, share: Array, p: Array, dx: Array
) -> None:
    for i in range(start, stop):
        scale = grad[i, 0] * share[i, 0]
        for j in range(p.shape[1]):
            dx[i, j] = scale * p[i, j]
        dx[i, target[i, 0]] -= scale  # share (softmax - one hot)


@pair(CrossEntropy)
class CrossEntropyLoops:
    def forward(self, f: Function, x: Array, target: Array, share: Array) -> Array:
        if not plain(x, share) or target.dtype != np.int64 or not target.flags.c_contiguous:
            return NotImplemented
        p, losses = np.empty_like(x), np.empty_like(share)
        over(cross_entropy, len(x), x.size, x, target, share, p, losses)
        f.saved = p, target, share
        return losses

    def backward(self, f: Function, grad: Array) -> Array:
        p, target, share = f.saved
        dx = np.empty_like(p)
        over(cross_entropy_backward, len(p), p.size, np.ascontiguousarray(grad), target, share, p, dx)
        return dx


# Layer norm: (x - mean) / sigma * weight + bias


@loop
def layer_norm(
    start: int, stop: int, x: Array, w: Array, b: Array, eps: float, out: Array, mean: Array, scale: Array
) -> None:
    n = np.float32(x.shape[1])
    for i in range(start, stop):
        first = x[i, 0]  # taken off first: large numbers that lie close together keep their digits
        total = ZERO
        for j in range(x.shape[1]):
            total += x[i, j] - first
        m = first + total / n
        square = ZERO
        for j in range(x.shape[1]):
            square += (x[i, j] - m) * (x[i, j] - m)
        s = ONE / np.sqrt(square / n + eps)
        for j in range(x.shape[1]):
            out[i, j] = (x[i, j] - m) * s * w[j] + b[j]
        mean[i], scale[i] = m, s


@loop
def layer_norm_backward(
    start: int, stop: int, grad: Array, x: Array, w: Array, mean: Array, scale: Array, dx: Array, sums: Array
) -> None:
    n = np.float32(x.shape[1])
    for block in range(start, stop):
        for i in range(block * BLOCK, min((block + 1) * BLOCK, len(x))):
            m, s = mean[i], scale[i]
            along, middle = ZERO, ZERO  # the gradient's part along y, and its mean: both change nothing
            for j in range(x.shape[1]):
                g, y = grad[i, j] * w[j], (x[i, j] - m) * s
                along += g * y
                middle += g
                sums[block, 0, j] += grad[i, j] * y
                sums[block, 1, j] += grad[i, j]
            along, middle = along / n, middle / n
            for j in range(x.shape[1]):
                y = (x[i, j] - m) * s
                dx[i, j] = (grad[i, j] * w[j] - middle - y * along) * s


@pair(LayerNorm)
class LayerNormLoops:
    def forward(self, f: Any, x: Array, weight: Array, bias: Array) -> Array:
        if not plain(x, weight, bias):
            return NotImplemented
        rows, out = x.reshape(-1, weight.size), np.empty_like(x)
        mean, scale = (np.empty(len(rows), np.float32) for _ in range(2))
        w, b, eps = weight.reshape(-1), bias.reshape(-1), np.float32(f.eps)
        over(layer_norm, len(rows), x.size, rows, w, b, eps, out.reshape(rows.shape), mean, scale)
        f.saved = rows, weight, mean, scale
        return out

    def backward(self, f: Any, grad: Array) -> tuple[Array, Array, Array]:
        rows, weight, mean, scale = f.saved
        dx, grads = np.empty(grad.shape, np.float32), np.ascontiguousarray(grad).reshape(rows.shape)
        args = grads, rows, weight.reshape(-1), mean, scale, dx.reshape(rows.shape)
        dw, db = in_blocks(layer_norm_backward, len(rows), rows.size, (2, weight.size), *args)
        return dx, dw.reshape(weight.shape), db.reshape(weight.shape)


# RMS norm: x / rms * weight


@loop
def rms_norm(start: int, stop: int, x: Array, w: Array, eps: float, out: Array, scale: Array) -> None:
    n = np.float32(x.shape[1])
    for i in range(start, stop):
        square = ZERO
        for j in range(x.shape[1]):
            square += x[i, j] * x[i, j]
        s = ONE / np.sqrt(square / n + eps)
        for j in range(x.shape[1]):
            out[i, j] = x[i, j] * s * w[j]
        scale[i] = s


@loop
def rms_norm_backward(
    start: int, stop: int, grad: Array, x: Array, w: Array, scale: Array, dx: Array, sums: Array
) -> None:
    n = np.float32(x.shape[1])
    for block in range(start, stop):
        for i in range(block * BLOCK, min((block + 1) * BLOCK, len(x))):
            s = scale[i]
            along = ZERO
            for j in range(x.shape[1]):
                y = x[i, j] * s
                along += grad[i, j] * w[j] * y
                sums[block, j] += grad[i, j] * y
            along /= n
            for j in range(x.shape[1]):
                dx[i, j] = (grad[i, j] * w[j] - x[i, j] * s * along) * s


@pair(RMSNorm)
class RMSNormLoops:
    def forward(self, f: Any, x: Array, weight: Array) -> Array:
        if not plain(x, weight):
            return NotImplemented
        out, scale = np.empty_like(x), np.empty(len(x), np.float32)
        over(rms_norm, len(x), x.size, x, weight, np.float32(f.eps), out, scale)
        f.saved = x, weight, scale
        return out

    def backward(self, f: Any, grad: Array) -> tuple[Array, Array]:
        x, weight, scale = f.saved
        dx = np.empty_like(x)
        args = np.ascontiguousarray(grad), x, weight, scale, dx
        return dx, in_blocks(rms_norm_backward, len(x), x.size, weight.shape, *args)
