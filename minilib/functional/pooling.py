"""Means of windows: a chain of a few operations each, for networks that end in one or shrink by them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from minilib.functional.layers import inside, padded, per_axis, places, tap_slices
from minilib.tensor import Array, Function, Shape, Tensor, apply, array_module

__all__ = [
    "WindowSum", "adaptive_avg_pool2d", "averaging_matrix", "avg_pool2d", "check_avg_pool2d",
]  # fmt: skip


class WindowSum(Function):
    """The sum of each window, along any number of axes: x (N, C, ..)."""

    def __init__(self, kernel: Shape, stride: Shape, padding: Shape) -> None:
        self.kernel, self.stride, self.padding = kernel, stride, padding

    def forward(self, x: Array) -> Array:
        dilation = (1,) * len(self.kernel)
        shape = places(x.shape[2:], self.kernel, self.stride, self.padding, dilation)
        self.taps = list(tap_slices(self.kernel, self.stride, dilation, shape))
        whole = padded(x, self.padding)
        out = whole[self.taps[0]].copy()
        for tap in self.taps[1:]:
            out += whole[tap]
        return out

    def backward(self, grad: Array) -> Array:
        shape = self.inputs[0].shape
        whole = padded(self.xp.zeros(shape, grad.dtype), self.padding)
        for tap in self.taps:
            whole[tap] += grad
        return whole[inside(shape[2:], self.padding)]


def avg_pool2d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window: (N, C, H, W) is (N, C, H', W'). `stride` None: the kernel's size.

    The zeros of `padding` count as numbers unless `count_include_pad` is False. Raises RuntimeError for
    shapes that do not fit, ValueError for `ceil_mode` and `divisor_override`, which are not done here.
    """
    check_avg_pool2d(ceil_mode, divisor_override)
    _check_images("avg_pool2d", input)
    kernel, padding = per_axis(kernel_size, 2, 1), per_axis(padding, 2)
    stride = kernel if stride is None else per_axis(stride, 2, 1)
    if any(2 * p > k for p, k in zip(padding, kernel)):
        raise RuntimeError(f"avg_pool2d: padding {padding} is more than half of the kernel {kernel}")
    if min(places(input.shape[2:], kernel, stride, padding, (1, 1))) < 1:
        raise RuntimeError(f"avg_pool2d: kernel {kernel} is larger than the padded {input.shape[2:]}")
    sums = apply(WindowSum(kernel, stride, padding), input)
    if count_include_pad or not any(padding):
        return sums / math.prod(kernel)
    ones = array_module(input.data).ones((1, 1, *input.shape[2:]), input.dtype)
    return sums / apply(WindowSum(kernel, stride, padding), Tensor(ones))


def check_avg_pool2d(ceil_mode: bool, divisor_override: int | None) -> None:
    """Raise ValueError for the options of PyTorch's avg_pool2d that are not done here."""
    if ceil_mode or divisor_override is not None:
        raise ValueError(
            "avg_pool2d: ceil_mode and divisor_override are not done here: pad the input, scale the result"
        )


# Of any size


def adaptive_avg_pool2d(input: Tensor, output_size: int | Sequence[int | None] | None) -> Tensor:
    """Means over windows that share the input evenly: (N, C, H, W) is (N, C, *output_size).

    Row i is the mean of rows floor(i H / H') to ceil((i + 1) H / H'), columns alike: windows may overlap by
    one. None keeps the length of a side. Raises RuntimeError for other than four axes.
    """
    _check_images("adaptive_avg_pool2d", input)
    sizes = (output_size,) * 2 if output_size is None or isinstance(output_size, int) else tuple(output_size)
    if len(sizes) != 2 or any(size is not None and size < 0 for size in sizes):
        raise RuntimeError(f"adaptive_avg_pool2d: the size is one or two lengths or None, not {output_size}")
    xp = array_module(input.data)
    matrices = (averaging_matrix(n, n if size is None else size) for n, size in zip(input.shape[2:], sizes))
    rows, columns = (Tensor(xp.asarray(matrix.astype(input.dtype))) for matrix in matrices)
    return rows @ input @ columns.mT


def averaging_matrix(n: int, parts: int) -> Array:
    """A matrix (parts, n) whose product with n numbers is the means of `parts` windows that share them."""
    means = np.zeros((parts, n))
    for i in range(parts):
        start, stop = i * n // parts, -(-(i + 1) * n // parts)
        means[i, start:stop] = 1 / (stop - start)
    return means


def _check_images(name: str, input: Tensor) -> None:
    if input.ndim != 4 or input.dtype.kind != "f":
        raise RuntimeError(
            f"{name}: the input must hold floating-point numbers on 4 axes (N, C, H, W), not {input.dtype} "
            f"of shape {input.shape}"
        )
