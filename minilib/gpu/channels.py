"""Batch norm: sums of channels, and what is worked out of them for each element."""

from __future__ import annotations

from typing import Any

import numpy as np

from minilib.cuda import cp
from minilib.functional.norms import BatchNorm
from minilib.gpu.copies import contiguous
from minilib.gpu.device import fits, pair
from minilib.gpu.elements import run_elementwise
from minilib.gpu.reductions import reduce_columns, reduce_rows
from minilib.tensor import Array


@pair(BatchNorm)
class BatchNormKernels:
    def forward(self, f: Any, x: Array, weight: Array, bias: Array, *given: Array) -> Array:
        if not fits(x, weight, bias, *given) or not x.size:
            return NotImplemented
        x3 = contiguous(x).reshape(*x.shape[:2], -1)
        f.by_batch, size = not given, x.size / x.shape[1]
        if f.by_batch:
            mean = made("y = s / size", {"s": channel_sum(x3)}, size=size)
            square = made("y = (x - m) * (x - m)", {"x": x3, "m": mean[:, None]})  # two passes, as on the CPU
            given = mean, made("y = s / size", {"s": channel_sum(square)}, size=size)
        f.mean, f.var = given
        scale = made("y = 1.0f / sqrtf(v + eps)", {"v": f.var}, eps=f.eps)
        f.saved = x3, f.mean, scale, weight
        values = {"m": f.mean, "s": scale, "w": weight, "b": bias}
        across = {name: value[:, None] for name, value in values.items()}
        return made("y = (x - m) * s * w + b", {"x": x3} | across).reshape(x.shape)

    def backward(self, f: Any, grad: Array) -> tuple[Array, Array, Array]:
        x3, mean, scale, weight = f.saved
        g = contiguous(grad).reshape(x3.shape)
        dots = made("y = g * (x - m)", {"g": g, "x": x3, "m": mean[:, None]})
        db, dw = channel_sum(g), made("y = d * s", {"d": channel_sum(dots), "s": scale})
        values = {"s": scale, "w": weight}
        line = "y = g * w * s"
        if f.by_batch:  # as in layer norm: without the mean, and without the part along y
            values |= {"m": mean, "d": dw, "b": db}
            line = "y = w * s * (g - (b + (x - m) * s * d) / size)"
        across = {name: value[:, None] for name, value in values.items()}
        full = {"g": g, "x": x3} if f.by_batch else {"g": g}
        dx = made(line, full | across, size=x3.size / x3.shape[1])
        return dx.reshape(grad.shape), dw, db


def channel_sum(x: Array) -> Array:
    """The sums of the channels of x (N, C, L), contiguous: (C,)."""
    return reduce_columns(reduce_rows(x.reshape(-1, x.shape[2])).reshape(x.shape[:2]))


def made(line: str, reads: dict[str, Array], **numbers: float) -> Array:
    """y, of the shape that `reads` broadcast to, by a line of C."""
    y = cp.empty(np.broadcast_shapes(*[array.shape for array in reads.values()]), np.float32)
    run_elementwise(reads, {"y": y}, [line], numbers)
    return y
