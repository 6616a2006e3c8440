"""Sums of many floats that keep their digits.

NumPy adds in pairs along the last axes of the memory; along others it adds one number after another, and of a
million float32 numbers the last digits go.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

__all__ = ["SHORT", "cumulative_sum", "float_sum"]

SHORT = 1024  # so many numbers may be added one after another: about 5e-7 off, as far as PyTorch's sums
RUN = 64  # numbers of a run, whose sum is one number of the next round
SIDE_BY_SIDE = 4096  # numbers that NumPy adds to as many others in one go: one by one it would take longer


def float_sum(array: Any, axis: tuple[int, ...], keepdims: bool = False) -> Any:
    """The sum of floats along `axis`, in their dtype; float16 is added up in float32."""
    if array.dtype == np.float16:
        return float_sum(array.astype(np.float32), axis, keepdims).astype(np.float16)
    if type(array) is not np.ndarray or array.size <= SHORT or not axis:
        return array.sum(axis=axis, keepdims=keepdims)
    again = {i for i in axis if array.strides[i] == 0}  # the same numbers all along: broadcast
    times = math.prod(array.shape[i] for i in again)
    once = array[tuple(slice(1) if i in again else slice(None) for i in range(array.ndim))]
    order = sorted(range(array.ndim), key=lambda i: -abs(array.strides[i]))  # as the numbers lie in memory
    groups = [(goes, list(dims)) for goes, dims in itertools.groupby(order, key=lambda i: i in axis)]
    total = once.transpose(order).reshape([math.prod(once.shape[i] for i in dims) for _, dims in groups])
    for i in reversed(range(len(groups))):
        if groups[i][0]:
            before, after = math.prod(total.shape[:i]), math.prod(total.shape[i + 1 :])
            summed = _in_runs(total.reshape(before, total.shape[i], after))
            total = summed.reshape(*total.shape[:i], 1, *total.shape[i + 1 :])
    total = total.reshape([1 if i in axis else array.shape[i] for i in order]).transpose(np.argsort(order))
    total = total * array.dtype.type(times) if times > 1 else total
    return total if keepdims else total.squeeze(axis)


def _in_runs(x: Any) -> Any:
    """(A, n, B) -> (A, 1, B): the sums of runs, then of their sums, and so on."""
    a, n, b = x.shape
    if b == 1 or n <= 2 * RUN:
        return x.sum(1, keepdims=True)
    rows = max(1, min(SIDE_BY_SIDE // b, n // RUN))  # a run is every rows-th row
    whole = n // (RUN * rows) * RUN * rows
    sums = x[:, :whole].reshape(a, -1, RUN, rows * b).sum(2).reshape(a, whole // RUN, b)
    return _in_runs(sums) + _in_runs(x[:, whole:]) if whole < n else _in_runs(sums)


def cumulative_sum(x: Any, axis: int | None) -> Any:
    """Running sums along `axis`: of integers in int64, of many floats added up in float64, in their dtype.

    `axis` None is for arrays without axes.
    """
    if x.dtype.kind != "f":
        return x.cumsum(axis=axis, dtype=np.int64)
    if axis is None or (x.dtype != np.float16 and x.shape[axis] <= SHORT):
        return x.cumsum(axis=axis)
    rows = x.swapaxes(axis, -1).astype(np.float64, order="C")  # down columns: five times as long
    rows.cumsum(axis=-1, out=rows)
    return rows.swapaxes(axis, -1).astype(x.dtype, order="C")
