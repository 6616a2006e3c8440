"""Sums of many floats, against exact ones: math.fsum and float64."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from minilib import reference
from minilib.engine import sum_to
from minilib.sums import cumulative_sum, float_sum
from minilib.tensor import Tensor, zeros

LONG = [(300_000, 2), (30_001, 17), (2049, 300), (300_000,), (40, 5000, 3), (7, 20_000, 1), (20_000, 2, 3)]
LAYOUTS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "reversed": lambda x: x[::-1],
    "every other": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "repeated": lambda x: np.broadcast_to(x[:1], x.shape),
}


def drawn(*shape: int) -> Any:
    return np.random.default_rng(0).random(shape, dtype=np.float32)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", LONG)
def test_float32_sums_along_all_axes_are_right_to_one_millionth(shape: tuple[int, ...], layout: str) -> None:
    x = LAYOUTS[layout](drawn(*shape))
    for count in range(x.ndim + 1):
        for axis in itertools.combinations(range(x.ndim), count):
            for keepdims in (False, True):
                exact = x.sum(axis=axis, dtype=np.float64, keepdims=keepdims)
                ours = float_sum(x, axis, keepdims)
                assert ours.dtype == np.float32
                assert ours.shape == exact.shape
                np.testing.assert_allclose(ours, exact, rtol=1e-6)


@pytest.mark.slow
def test_two_million_rows_keep_their_digits() -> None:
    x = drawn(2_000_000, 2)
    exact = [math.fsum(column.tolist()) for column in x.T]
    np.testing.assert_allclose(Tensor(x).sum(0).numpy(), exact, rtol=3e-7)
    np.testing.assert_allclose(Tensor(x).mean(0).numpy(), np.divide(exact, len(x)), rtol=3e-7)
    np.testing.assert_allclose(Tensor(x).var(0).numpy(), x.var(0, dtype=np.float64, ddof=1), rtol=1e-6)


def test_a_gradient_that_is_summed_over_many_rows_keeps_its_digits() -> None:
    x, bias = drawn(2_000_000, 2), zeros(2, requires_grad=True)
    (bias + Tensor(x)).backward(Tensor(x))
    np.testing.assert_allclose(bias.grad.numpy(), x.sum(0, dtype=np.float64), rtol=3e-7)  # type: ignore[union-attr]


@pytest.mark.parametrize("axis", [0, 1])
def test_running_sums_keep_their_digits_both_ways(axis: int) -> None:
    x = drawn(100_000, 2) if axis == 0 else drawn(2, 100_000)
    t = Tensor(x, requires_grad=True)
    y = t.cumsum(axis)
    y.backward(Tensor(x))
    np.testing.assert_allclose(y.numpy(), x.cumsum(axis, dtype=np.float64), rtol=1e-6)
    back = np.flip(np.flip(x, axis).cumsum(axis, dtype=np.float64), axis)
    np.testing.assert_allclose(t.grad.numpy(), back, rtol=1e-6)  # type: ignore[union-attr]


def test_float16_is_added_up_in_float32() -> None:
    ones = np.ones((4096, 2), np.float16)
    assert float_sum(ones, (0,)).tolist() == [4096, 4096]
    assert float_sum(ones, (0,)).dtype == np.float16
    assert cumulative_sum(ones, 0)[-1].tolist() == [4096, 4096]


def test_nothing_and_one_axis_of_none() -> None:
    assert float_sum(np.zeros((0, 2000), np.float32), (0,)).shape == (2000,)
    assert float_sum(np.zeros((2000, 0), np.float32), (0,)).shape == (0,)
    assert float_sum(drawn(2000), ()).shape == (2000,)


def test_infinite_numbers_stay_infinite() -> None:
    x = drawn(5000, 2)
    x[3000] = np.inf, np.nan
    assert np.array_equal(float_sum(x, (0,)), [np.inf, np.nan], equal_nan=True)


@pytest.mark.parametrize(
    ("shape", "to"), [((3, 4), (4,)), ((5, 3, 4), (1, 4)), ((2, 3), ()), ((2, 3), (2, 1)), ((2, 3), (2, 3))]
)
def test_sum_to_gives_what_the_simple_one_gives(shape: tuple[int, ...], to: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).random(shape)
    np.testing.assert_allclose(sum_to(x, to), reference.sum_to(x, to))
