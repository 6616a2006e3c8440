"""Making tensors: constants, ranges, random numbers."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from minilib.engine import Array, Number, array_module, device_named
from minilib.tensor.core import Tensor, as_array
from minilib.tensor.random import Generator, _float_type, default_generator
from minilib.tensor.rules import _sizes

__all__ = [
    "arange", "empty", "empty_like", "eye", "from_numpy", "full", "linspace", "multinomial", "ones",
    "ones_like", "rand", "randint", "randn", "randperm", "tensor", "zeros", "zeros_like",
]  # fmt: skip

# Making tensors


def tensor(
    data: Any, dtype: DTypeLike | None = None, requires_grad: bool = False, device: str | None = None
) -> Tensor:
    """A leaf with a copy of `data`: a number, nested lists, an array."""
    return _leaf(as_array(data, dtype).copy(), requires_grad, device)


def _leaf(array: Array, requires_grad: bool, device: str | None) -> Tensor:
    """A leaf on `device`; None is where the array lies."""
    return Tensor(array).to(device=device).requires_grad_(requires_grad)


def from_numpy(ndarray: Array) -> Tensor:
    """A leaf that shares the memory of a NumPy array. Raises TypeError for anything else."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"from_numpy: needs a NumPy array, not {type(ndarray).__name__}: use tensor(...)")
    return Tensor(ndarray)


# Constant numbers


def empty(
    *size: Any, dtype: DTypeLike = np.float32, requires_grad: bool = False, device: str | None = None
) -> Tensor:
    """Uninitialised numbers, to be overwritten."""
    xp = np if device is None else device_named(device).xp  # made where it will lie: on meta it takes no room
    return _leaf(xp.empty(_sizes(size), dtype), requires_grad, device)


def zeros(
    *size: Any, dtype: DTypeLike = np.float32, requires_grad: bool = False, device: str | None = None
) -> Tensor:
    return _leaf(np.zeros(_sizes(size), dtype), requires_grad, device)


def ones(
    *size: Any, dtype: DTypeLike = np.float32, requires_grad: bool = False, device: str | None = None
) -> Tensor:
    return _leaf(np.ones(_sizes(size), dtype), requires_grad, device)


def full(
    size: Sequence[int],
    fill_value: Number,
    dtype: DTypeLike | None = None,
    requires_grad: bool = False,
    device: str | None = None,
) -> Tensor:
    number = np.asarray(fill_value)  # an array wraps around where a Python number would not fit
    array = np.full(tuple(size), number, dtype or as_array(fill_value).dtype)
    return _leaf(array, requires_grad, device)


def empty_like(
    input: Tensor, dtype: DTypeLike | None = None, requires_grad: bool = False, device: str | None = None
) -> Tensor:
    """Uninitialised numbers of the shape of `input`, its axes in the same order in memory."""
    return _leaf(array_module(input.data).empty_like(input.data, dtype), requires_grad, device)


def zeros_like(
    input: Tensor, dtype: DTypeLike | None = None, requires_grad: bool = False, device: str | None = None
) -> Tensor:
    return _leaf(array_module(input.data).zeros_like(input.data, dtype), requires_grad, device)


def ones_like(
    input: Tensor, dtype: DTypeLike | None = None, requires_grad: bool = False, device: str | None = None
) -> Tensor:
    return _leaf(array_module(input.data).ones_like(input.data, dtype), requires_grad, device)


# Ranges and the identity


def arange(
    start: Number,
    end: Number | None = None,
    step: Number = 1,
    dtype: DTypeLike | None = None,
    requires_grad: bool = False,
    device: str | None = None,
) -> Tensor:
    """Numbers from `start` (0 where only one is given) up to but not including `end`.

    Raises RuntimeError where `step` leads away from `end`, and for fractions in a dtype of whole numbers.
    """
    if end is None:
        start, end = 0, start
    if step == 0 or (end - start) / step < 0:
        raise RuntimeError(f"arange: steps of {step} never get from {start} to {end}")
    if dtype is None:
        dtype = np.int64 if all(isinstance(n, int) for n in (start, end, step)) else np.float32
    _check_numbers("arange", dtype, start, end, step)
    return _leaf(np.arange(start, end, step).astype(dtype), requires_grad, device)


def linspace(
    start: Number,
    end: Number,
    steps: int,
    dtype: DTypeLike = np.float32,
    requires_grad: bool = False,
    device: str | None = None,
) -> Tensor:
    """`steps` numbers from `start` to `end`, both included, at equal distances.

    Raises RuntimeError for fractional ends in a dtype of whole numbers.
    """
    _check_numbers("linspace", dtype, start, end)
    return _leaf(np.linspace(start, end, steps).astype(dtype), requires_grad, device)


def _check_numbers(name: str, dtype: DTypeLike, *numbers: Number) -> None:
    """Refuse what is no Python number, and fractions where whole numbers are to be made of them."""
    for number in numbers:
        if not isinstance(number, Real):
            raise TypeError(f"{name}: takes numbers, not a {type(number).__name__}: use x.item()")
        if np.dtype(dtype).kind != "f" and number % 1 != 0:
            raise RuntimeError(f"{name}: {number} is no whole number, as {np.dtype(dtype)} needs: round it")


def eye(
    n: int,
    m: int | None = None,
    dtype: DTypeLike = np.float32,
    requires_grad: bool = False,
    device: str | None = None,
) -> Tensor:
    return _leaf(np.eye(n, m, dtype=dtype), requires_grad, device)


# Random numbers


def rand(
    *size: Any,
    generator: Generator | None = None,
    dtype: DTypeLike = np.float32,
    requires_grad: bool = False,
    device: str | None = None,
) -> Tensor:
    """Numbers drawn from the uniform distribution on [0, 1)."""
    draw = (generator or default_generator).numbers.random
    return _leaf(draw(_sizes(size), dtype=_float_type(dtype)), requires_grad, device)


def randn(
    *size: Any,
    generator: Generator | None = None,
    dtype: DTypeLike = np.float32,
    requires_grad: bool = False,
    device: str | None = None,
) -> Tensor:
    """Numbers drawn from the normal distribution with mean 0 and standard deviation 1."""
    draw = (generator or default_generator).numbers.standard_normal
    made = Tensor(draw(_sizes(size), dtype=_float_type(dtype))).to(device=device)
    return made.requires_grad_(requires_grad)


def randint(
    low: int,
    high: int | Sequence[int] | None = None,
    size: Sequence[int] = (),
    generator: Generator | None = None,
    device: str | None = None,
) -> Tensor:
    """Integers drawn uniformly from `low` (0 where only one is given) up to but not including `high`."""
    if isinstance(high, Sequence):  # PyTorch's other form: randint(high, size)
        size, high = high, None
    if high is None:
        low, high = 0, low
    return Tensor((generator or default_generator).numbers.integers(low, high, tuple(size))).to(device=device)


def randperm(n: int, generator: Generator | None = None, device: str | None = None) -> Tensor:
    """The integers from 0 to n - 1 in random order."""
    return Tensor((generator or default_generator).numbers.permutation(n)).to(device=device)


def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, generator: Generator | None = None
) -> Tensor:
    """Indices drawn with the weights `input`, (classes,) or (rows, classes), as (num_samples,) for each row.

    The weights need not add up to 1. Without `replacement` none is drawn twice. Raises RuntimeError for
    weights that are no weights, and where there are fewer above 0 than samples.
    """
    weights = np.atleast_2d(input.cpu().numpy()).astype(np.float64)  # running sums need the digits
    positive = (weights > 0).sum(-1).min(initial=weights.shape[-1])
    if input.dtype.kind != "f" or input.ndim not in (1, 2):
        raise RuntimeError(
            f"multinomial: needs one or two axes of floats, not {input.dtype} of {input.shape}"
        )
    if not np.isfinite(weights).all() or (weights < 0).any() or positive < 1:
        raise RuntimeError("multinomial: weights are finite, not below 0, and in each row at least one above")
    if num_samples < 1 or (not replacement and num_samples > positive):
        raise RuntimeError(
            f"multinomial: {num_samples} samples cannot be drawn from {positive} possible ones"
        )
    draw = (generator or default_generator).numbers
    if replacement:
        sums = weights.cumsum(-1)
        # (rows, samples), up to the row's sum.
        drawn = draw.random((len(weights), num_samples)) * sums[:, -1:]
        found = np.stack([np.searchsorted(row, at, side="right") for row, at in zip(sums, drawn)])
    else:  # who waits for an exponential time, shorter for larger weights, comes in this order
        with np.errstate(divide="ignore"):
            found = np.argsort(draw.standard_exponential(weights.shape) / weights, axis=-1)[:, :num_samples]
    return Tensor(found.reshape(*input.shape[:-1], num_samples)).to(device=input.device)
