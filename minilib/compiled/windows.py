"""Windows that slide: convolution, causal convolution and max-pooling.

A convolution is a product, which BLAS does; what took the time was to lay out the windows side by side, and
to add them up again on the way back. Here both are a loop over a few images, whose columns stay in the cache.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minilib.compiled.loops import in_blocks, loop, over, plain
from minilib.compiled.pairs import pair
from minilib.functional.layers import CausalConv, Conv, MaxPool, places
from minilib.parallel import CHUNK, parallel
from minilib.tensor import Array, Shape

ZERO = np.float32(0)
IMAGES = 16  # at a time, where they are small: fewer calls from Python
GROUPS = 8  # of images, each of which has its own sum for the gradient of the weight, whatever the threads
TOKENS = 256  # the same for tokens


# Columns and back: images (n, C, H, W), columns (n, C, kH, kW, H', W'); s, p, d: stride, padding, dilation


@loop
def columns_of(images: Array, columns: Array, s: Any, p: Any, d: Any) -> None:
    many, channels, high, wide, rows, places = columns.shape
    for n in range(many):
        for c in range(channels):
            for a in range(high):
                for b in range(wide):
                    for i in range(rows):
                        y = i * s[0] + a * d[0] - p[0]
                        row = columns[n, c, a, b, i]
                        if y < 0 or y >= images.shape[2]:
                            row[:] = ZERO
                            continue
                        shift = b * d[1] - p[1]
                        for j in range(places):
                            x = j * s[1] + shift
                            row[j] = images[n, c, y, x] if 0 <= x < images.shape[3] else ZERO


@loop
def add_up(columns: Array, images: Array, s: Any, p: Any, d: Any) -> None:
    many, channels, high, wide, rows, places = columns.shape
    images[:] = ZERO
    for n in range(many):
        for c in range(channels):
            for a in range(high):
                for b in range(wide):
                    shift = b * d[1] - p[1]
                    # The places whose x lies within the image: no question in the inner loop.
                    first = max(0, -(shift // s[1]))
                    last = min(places, (images.shape[3] - 1 - shift) // s[1] + 1)
                    for i in range(rows):
                        y = i * s[0] + a * d[0] - p[0]
                        if 0 <= y < images.shape[2] and first < last:
                            to = images[n, c, y, first * s[1] + shift :]
                            row = columns[n, c, a, b, i, first:last]
                            if s[1] == 1:  # side by side: several at a time
                                for j in range(len(row)):
                                    to[j] += row[j]
                            else:
                                for j in range(len(row)):
                                    to[j * s[1]] += row[j]


@pair(Conv)
class ConvLoops:
    def forward(self, f: Any, x: Array, weight: Array, *bias: Array) -> Array:
        if not plain(x, weight, *bias) or x.ndim not in (3, 4):
            return NotImplemented
        shape = places(x.shape[2:], weight.shape[2:], f.stride, f.padding, f.dilation)
        out = np.empty((len(x), len(weight), *shape), np.float32)
        images, w, outs = as_images(x), matrices(weight, f.groups), as_matrices(out, f.groups)
        settings = settings_of(f)

        def work(start: int, stop: int) -> None:
            room = columns_for(x, weight, shape)
            flat = room.reshape(len(room), f.groups, w.shape[2], -1)
            for few in pieces(start, stop, len(room)):
                n = len(outs[few])
                columns_of(images[few], room[:n], *settings)
                np.matmul(w, flat[:n], out=outs[few])
                if bias:
                    outs[few] += bias[0].reshape(f.groups, -1, 1)

        parallel(work, len(x))
        f.saved = x, weight
        return out

    def backward(self, f: Any, grad: Array) -> tuple[Array | None, ...]:
        x, weight = f.saved
        grad = np.ascontiguousarray(grad)
        images, w, grads = as_images(x), matrices(weight, f.groups), as_matrices(grad, f.groups)
        dx = np.empty_like(x) if f.needs(0) else None
        dimages = None if dx is None else as_images(dx)
        settings = settings_of(f)
        size = -(-len(x) // GROUPS)
        parts = np.zeros((-(-len(x) // size), *w.swapaxes(1, 2).shape), np.float32)

        def work(start: int, stop: int) -> None:
            room = columns_for(x, weight, grad.shape[2:])
            flat = room.reshape(len(room), f.groups, w.shape[2], -1)
            for part in range(start, stop):
                for few in pieces(part * size, min((part + 1) * size, len(x)), len(room)):
                    n = len(grads[few])
                    columns_of(images[few], room[:n], *settings)  # anew: kept, they would be taps times x
                    parts[part] += (flat[:n] @ grads[few].swapaxes(2, 3)).sum(0)
                    if dimages is not None:
                        np.matmul(w.swapaxes(1, 2), grads[few], out=flat[:n])
                        add_up(room[:n], dimages[few], *settings)

        parallel(work, len(parts))
        return dx, parts.sum(0).swapaxes(1, 2).reshape(weight.shape), grad.sum(axis=(0, *range(2, grad.ndim)))


def as_images(x: Array) -> Array:
    """(N, C, H, W); a signal (N, C, L) is an image of one row."""
    return x.reshape(*x.shape[:2], *(1,) * (4 - x.ndim), *x.shape[2:])


def as_matrices(out: Array, groups: int) -> Array:
    """Results (N, O, ...) as (N, groups, O / groups, places)."""
    return out.reshape(len(out), groups, out.shape[1] // groups, -1)


def matrices(weight: Array, groups: int) -> Array:
    """The weight as one matrix for each group: (groups, O / groups, channels x taps)."""
    return weight.reshape(groups, len(weight) // groups, -1)


def columns_for(x: Array, weight: Array, shape: Shape) -> Array:
    """Room for the columns of one image, or of a few small ones at once: (images, C, kH, kW, H', W')."""
    ones = (1,) * (4 - x.ndim)
    each = x.shape[1], *ones, *weight.shape[2:], *ones, *shape
    few = next((n for n in (IMAGES, IMAGES // 4, IMAGES // 8) if n * math.prod(each) <= 2 * CHUNK), 1)
    return np.empty((few, *each), np.float32)


def pieces(start: int, stop: int, length: int) -> list[slice]:
    """start to stop in slices that are at most `length` long."""
    return [slice(i, min(i + length, stop)) for i in range(start, stop, length)]


def settings_of(f: Any) -> tuple[Shape, Shape, Shape]:
    """Stride, padding and dilation along rows and columns."""
    missing = 2 - len(f.stride)
    return (1,) * missing + f.stride, (0,) * missing + f.padding, (1,) * missing + f.dilation


# Causal convolution, each channel apart: x (B, T, E), taps (K, E), the one of the same token first


@loop
def causal(start: int, stop: int, x: Array, taps: Array, bias: Array, y: Array) -> None:
    for b in range(start, stop):
        for t in range(x.shape[1]):
            for e in range(x.shape[2]):
                y[b, t, e] = bias[e] + taps[0, e] * x[b, t, e]
            for k in range(1, min(len(taps), t + 1)):
                for e in range(x.shape[2]):
                    y[b, t, e] += taps[k, e] * x[b, t - k, e]


@loop
def causal_backward(
    start: int, stop: int, grad: Array, x: Array, taps: Array, dx: Array, sums: Array
) -> None:
    """`sums` (samples, K + 1, E): of the taps, and of the bias."""
    length = x.shape[1]
    for b in range(start, stop):
        for t in range(length):
            for e in range(x.shape[2]):
                dx[b, t, e] = taps[0, e] * grad[b, t, e]
                sums[b, 0, e] += grad[b, t, e] * x[b, t, e]
                sums[b, len(taps), e] += grad[b, t, e]
            for k in range(1, min(len(taps), length - t)):
                for e in range(x.shape[2]):
                    dx[b, t, e] += taps[k, e] * grad[b, t + k, e]
                    sums[b, k, e] += grad[b, t + k, e] * x[b, t, e]


@pair(CausalConv)
class CausalLoops:
    def forward(self, f: Any, x: Array, weight: Array, *bias: Array) -> Array:
        if not plain(weight, *bias) or x.dtype != np.float32 or not x.size:
            return NotImplemented
        x = np.ascontiguousarray(x)  # half of a projection, in Mamba
        taps, y = np.ascontiguousarray(weight[:, 0, ::-1].T), np.empty_like(x)
        over(causal, len(x), x.size, x, taps, bias[0] if bias else np.zeros(x.shape[2], np.float32), y)
        f.saved = x, taps
        return y

    def backward(self, f: Any, grad: Array) -> tuple[Array, ...]:
        x, taps = f.saved
        dx, sums = np.empty_like(x), (len(taps) + 1, x.shape[2])
        args = np.ascontiguousarray(grad), x, taps, dx
        total = in_blocks(causal_backward, len(x), x.size, sums, *args, block=1)
        dw = total[-2::-1].T[:, None]
        return (dx, dw, total[-1]) if len(f.inputs) == 3 else (dx, dw)


# Max-pooling: the first of the largest


@loop
def max_pool(
    start: int, stop: int, x: Array, kernel: Any, s: Any, p: Any, d: Any, out: Array, winner: Array
) -> None:
    """A job is one channel of one image: x (jobs, H, W); `winner`: where in the image the largest stands."""
    for n in range(start, stop):
        for i in range(out.shape[1]):
            for j in range(out.shape[2]):
                best, place = -np.float32(np.inf), -1
                for a in range(kernel[0]):
                    y = i * s[0] + a * d[0] - p[0]
                    if 0 <= y < x.shape[1]:
                        for b in range(kernel[1]):
                            z = j * s[1] + b * d[1] - p[1]
                            if 0 <= z < x.shape[2]:
                                v = x[n, y, z]
                                if place < 0 or v > best or (v != v and best == best):  # NaN is the largest
                                    best, place = v, y * x.shape[2] + z
                out[n, i, j], winner[n, i, j] = best, place


@loop
def max_pool_backward(start: int, stop: int, grad: Array, winner: Array, dx: Array) -> None:
    for n in range(start, stop):
        dx[n] = ZERO
        for i in range(grad.shape[1]):
            for j in range(grad.shape[2]):
                dx[n, winner[n, i, j]] += grad[n, i, j]


@pair(MaxPool)
class PoolLoops:
    def forward(self, f: Any, x: Array) -> Array:
        if not plain(x) or x.ndim != 4:
            return NotImplemented
        shape = places(x.shape[2:], f.kernel, f.stride, f.padding, f.dilation)
        jobs = len(x) * x.shape[1]
        out, winner = np.empty((jobs, *shape), np.float32), np.empty((jobs, *shape), np.int32)
        settings = f.kernel, f.stride, f.padding, f.dilation
        over(max_pool, jobs, x.size, x.reshape(jobs, *x.shape[2:]), *settings, out, winner)
        f.saved = (winner,)
        return out.reshape(*x.shape[:2], *shape)

    def backward(self, f: Any, grad: Array) -> Array:
        (winner,) = f.saved
        grad = np.ascontiguousarray(grad).reshape(winner.shape)
        dx = np.empty(f.inputs[0].shape, np.float32)
        over(max_pool_backward, len(winner), dx.size, grad, winner, dx.reshape(len(winner), -1))
        return dx
