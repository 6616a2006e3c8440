"""Tensors to begin with: zeros, ranges, random numbers.

Taught in chapters/02b_engine.ipynb: what it exports is edited there, then `make promote`.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from minilib.engine import Number, array_module
from minilib.tensor.core import Tensor, as_array
from minilib.tensor.random import Generator, _float_type, default_generator
from minilib.tensor.rules import _sizes

# Making tensors


def tensor(data: Any, dtype: DTypeLike | None = None, requires_grad: bool = False) -> Tensor:
    """A leaf with a copy of `data`: a number, nested lists, an array."""
    return Tensor(as_array(data, dtype).copy(), requires_grad=requires_grad)


# Constant numbers


def zeros(*size: Any, dtype: DTypeLike = np.float32, requires_grad: bool = False) -> Tensor:
    return Tensor(np.zeros(_sizes(size), dtype), requires_grad=requires_grad)


def ones(*size: Any, dtype: DTypeLike = np.float32, requires_grad: bool = False) -> Tensor:
    return Tensor(np.ones(_sizes(size), dtype), requires_grad=requires_grad)


def full(
    size: Sequence[int], fill_value: Number, dtype: DTypeLike | None = None, requires_grad: bool = False
) -> Tensor:
    number = np.asarray(fill_value)  # an array wraps around where a Python number would not fit
    array = np.full(tuple(size), number, dtype or as_array(fill_value).dtype)
    return Tensor(array, requires_grad=requires_grad)


def zeros_like(input: Tensor, dtype: DTypeLike | None = None, requires_grad: bool = False) -> Tensor:
    return Tensor(array_module(input.data).zeros_like(input.data, dtype), requires_grad=requires_grad)


def ones_like(input: Tensor, dtype: DTypeLike | None = None, requires_grad: bool = False) -> Tensor:
    return Tensor(array_module(input.data).ones_like(input.data, dtype), requires_grad=requires_grad)


# Ranges and the identity


def arange(
    start: Number,
    end: Number | None = None,
    step: Number = 1,
    dtype: DTypeLike | None = None,
    requires_grad: bool = False,
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
    return Tensor(np.arange(start, end, step).astype(dtype), requires_grad=requires_grad)


def linspace(
    start: Number, end: Number, steps: int, dtype: DTypeLike = np.float32, requires_grad: bool = False
) -> Tensor:
    """`steps` numbers from `start` to `end`, both included, at equal distances.

    Raises RuntimeError for fractional ends in a dtype of whole numbers.
    """
    _check_numbers("linspace", dtype, start, end)
    return Tensor(np.linspace(start, end, steps).astype(dtype), requires_grad=requires_grad)


def _check_numbers(name: str, dtype: DTypeLike, *numbers: Number) -> None:
    """Refuse what is no Python number, and fractions where whole numbers are to be made of them."""
    for number in numbers:
        if not isinstance(number, Real):
            raise TypeError(f"{name}: takes numbers, not a {type(number).__name__}: use x.item()")
        if np.dtype(dtype).kind != "f" and number % 1 != 0:
            raise RuntimeError(f"{name}: {number} is no whole number, as {np.dtype(dtype)} needs: round it")


def eye(n: int, m: int | None = None, dtype: DTypeLike = np.float32, requires_grad: bool = False) -> Tensor:
    return Tensor(np.eye(n, m, dtype=dtype), requires_grad=requires_grad)


# Random numbers


def rand(
    *size: Any, generator: Generator | None = None, dtype: DTypeLike = np.float32, requires_grad: bool = False
) -> Tensor:
    """Numbers drawn evenly from [0, 1)."""
    draw = (generator or default_generator).numbers.random
    return Tensor(draw(_sizes(size), dtype=_float_type(dtype)), requires_grad=requires_grad)


def randn(
    *size: Any, generator: Generator | None = None, dtype: DTypeLike = np.float32, requires_grad: bool = False
) -> Tensor:
    """Numbers drawn from the normal distribution with mean 0 and standard deviation 1."""
    draw = (generator or default_generator).numbers.standard_normal
    return Tensor(draw(_sizes(size), dtype=_float_type(dtype)), requires_grad=requires_grad)


def randint(
    low: int,
    high: int | Sequence[int] | None = None,
    size: Sequence[int] = (),
    generator: Generator | None = None,
) -> Tensor:
    """Integers drawn evenly from `low` (0 where only one is given) up to but not including `high`."""
    if isinstance(high, Sequence):  # PyTorch's other form: randint(high, size)
        size, high = high, None
    if high is None:
        low, high = 0, low
    return Tensor((generator or default_generator).numbers.integers(low, high, tuple(size)))


def randperm(n: int, generator: Generator | None = None) -> Tensor:
    """The integers from 0 to n - 1 in random order."""
    return Tensor((generator or default_generator).numbers.permutation(n))
