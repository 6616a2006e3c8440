"""A linear state space: steps as exact as time itself, and three ways to the same output."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from minilib.functional.scan import (
    discretize,
    fft_convolve,
    fft_convolve_backward,
    long_convolution,
    ssm_kernel,
    ssm_recurrence,
)
from minilib.tensor import gradcheck, tensor

rng = np.random.default_rng(0)


def drawn_layer(channels: int, n: int, dtype: Any = np.float64) -> tuple[Any, ...]:
    """A and B of rates that fade, C, and step lengths."""
    A = -rng.uniform(0.1, 5, (channels, n))
    B, C = rng.normal(size=(2, channels, n))
    return tuple(array.astype(dtype) for array in (A, B, C, rng.uniform(0.01, 0.5, channels)))


# Steps


def runge_kutta(A: Any, B: Any, x: float, h: Any, time: float, steps: int = 2000) -> Any:
    """h' = A h + B x over `time`, in steps of fourth order; A a matrix or a diagonal."""
    slope = (lambda h: A @ h + B * x) if np.ndim(A) == 2 else (lambda h: A * h + B * x)
    d = time / steps
    for _ in range(steps):
        k1 = slope(h)
        k2 = slope(h + d / 2 * k1)
        k3 = slope(h + d / 2 * k2)
        h = h + d / 6 * (k1 + 2 * k2 + 2 * k3 + slope(h + d * k3))
    return h


def test_a_step_goes_where_runge_kutta_goes() -> None:
    A, B, _, _ = drawn_layer(1, 6)
    h = rng.normal(size=6)
    a, b = discretize(0.7, A[0], B[0])
    np.testing.assert_allclose(a * h + b * 1.3, runge_kutta(A[0], B[0], 1.3, h, 0.7), rtol=1e-9)


def test_a_spring_is_diagonal_in_its_own_directions() -> None:
    A, B = np.array([[0, 1], [-4, -0.3]]), np.array([0.0, 1.0])
    rates, directions = np.linalg.eig(A)
    a, b = discretize(0.4, rates, np.linalg.solve(directions, B))
    h = np.array([1.0, -0.5])
    stepped = directions @ (a * np.linalg.solve(directions, h) + b * 0.8)
    assert np.abs(stepped.imag).max() < 1e-12
    np.testing.assert_allclose(stepped.real, runge_kutta(A, B, 0.8, h, 0.4), rtol=1e-9)


def test_two_steps_are_one_of_twice_the_length() -> None:
    A, B, _, _ = drawn_layer(3, 4)
    (a, b), (twice, both) = discretize(0.2, A, B), discretize(0.4, A, B)
    np.testing.assert_allclose(a * a, twice, rtol=1e-12)
    np.testing.assert_allclose(a * b + b, both, rtol=1e-12)


@pytest.mark.parametrize("delta", [1e-3, 1.0, 1e3, 1e6])
def test_what_fades_never_grows_and_settles_at_minus_b_over_a(delta: float) -> None:
    A, B, _, _ = drawn_layer(2, 3)
    a, b = discretize(delta, A, B)
    assert (np.abs(a) < 1).all()
    np.testing.assert_allclose(b / -np.expm1(delta * A), -B / A, rtol=1e-12)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-14), (np.float32, 3e-7)])
def test_b_keeps_its_digits_where_rates_are_nearly_0(dtype: Any, tolerance: float) -> None:
    """The series, in more digits than a float has: (exp(z) - 1) / z = 1 + z / 2 + z² / 6 + ..."""
    A = -np.array([0, 1e-30, 1e-16, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2], dtype)
    with np.errstate(all="raise", under="ignore"):
        a, b = discretize(1, A, np.full(8, 3, dtype))
    z = A.astype(np.float64)
    np.testing.assert_allclose(b, 3 * sum(z**k / math.factorial(k + 1) for k in range(8)), rtol=tolerance)
    assert (a.dtype, b.dtype) == (dtype, dtype)
    assert b[0] == 3 and a[0] == 1


def test_b_by_euler_leaves_a_as_it_is() -> None:
    A, B, _, delta = drawn_layer(3, 4)
    (a, held), (same, line) = discretize(delta, A, B), discretize(delta, A, B, euler=True)
    assert (a == same).all()
    np.testing.assert_allclose(line, delta[:, None] * B)
    np.testing.assert_allclose(line / held, (delta[:, None] * A) / np.expm1(delta[:, None] * A))


def test_a_step_length_serves_all_numbers_of_its_channel() -> None:
    A, B, _, _ = drawn_layer(3, 4)
    delta = rng.uniform(0.1, 1, (5, 3))
    a, b = discretize(delta, A, B)
    assert a.shape == b.shape == (5, 3, 4)
    for t, e in np.ndindex(5, 3):
        alone = discretize(delta[t, e], A[e], B[e])
        np.testing.assert_array_equal((a[t, e], b[t, e]), alone)


# One by one, side by side


@pytest.mark.parametrize("time", [1, 2, 7, 64, 1000])
@pytest.mark.parametrize(("dtype", "rtol", "atol"), [(np.float64, 1e-10, 1e-10), (np.float32, 6e-4, 1e-4)])
def test_recurrence_and_convolution_are_equal(time: int, dtype: Any, rtol: float, atol: float) -> None:
    A, B, C, delta = drawn_layer(3, 4, dtype)
    a, b = discretize(delta, A, B)
    x = rng.normal(size=(time, 3)).astype(dtype)
    y, side = ssm_recurrence(x, a, b, C), fft_convolve(x, ssm_kernel(a, b, C, time))
    assert y.dtype == side.dtype == dtype
    np.testing.assert_allclose(side, y, rtol=rtol, atol=atol)


def test_waves_in_conjugate_pairs_give_real_outputs_both_ways() -> None:
    half = -rng.uniform(0.1, 1, (2, 3)) + 1j * rng.normal(size=(2, 3))
    mix = rng.normal(size=(2, 3)) + 1j * rng.normal(size=(2, 3))
    A, C = (np.concatenate([one, one.conj()], 1) for one in (half, mix))
    a, b = discretize(np.array([0.1, 0.3]), A, np.ones_like(A))
    x = rng.normal(size=(50, 2))
    y = ssm_recurrence(x, a, b, C)
    np.testing.assert_allclose(fft_convolve(x, ssm_kernel(a, b, C, 50)), y, atol=1e-10)


def test_a_state_that_is_handed_on_continues_where_it_was() -> None:
    A, B, C, delta = drawn_layer(2, 3)
    a, b = discretize(delta, A, B)
    x, state = rng.normal(size=(9, 2)), np.zeros((2, 3))
    parts = [ssm_recurrence(x[:4], a, b, C, state), ssm_recurrence(x[4:], a, b, C, state)]
    np.testing.assert_array_equal(np.concatenate(parts), ssm_recurrence(x, a, b, C))


@pytest.mark.parametrize(("time", "length"), [(1, 1), (5, 5), (6, 2), (3, 9), (33, 64)])
def test_fft_equals_numpys_convolution(time: int, length: int) -> None:
    x, kernel = rng.normal(size=(2, time, 3)), rng.normal(size=(length, 3))
    y = fft_convolve(x, kernel)
    for sample, channel in np.ndindex(2, 3):
        plain = np.convolve(x[sample, :, channel], kernel[:, channel])[:time]
        np.testing.assert_allclose(y[sample, :, channel], plain, atol=1e-12)


def test_nothing_that_comes_later_is_heard() -> None:
    x, kernel = rng.normal(size=(8, 2)), rng.normal(size=(8, 2))
    later = x.copy()
    later[5:] += 1
    np.testing.assert_allclose(fft_convolve(later, kernel)[:5], fft_convolve(x, kernel)[:5], atol=1e-12)


# With gradients


@pytest.mark.parametrize(("lead", "time", "length"), [((), 4, 4), ((2,), 5, 5), ((2, 2), 3, 2), ((), 2, 5)])
def test_gradients_are_those_of_difference_quotients(lead: Any, time: int, length: int) -> None:
    x, kernel = rng.normal(size=(*lead, time, 2)), rng.normal(size=(length, 2))
    assert gradcheck(long_convolution, (tensor(x, requires_grad=True), tensor(kernel, requires_grad=True)))


def test_gradients_keep_the_dtypes() -> None:
    grad, x, kernel = (rng.normal(size=(6, 2)).astype(np.float32) for _ in range(3))
    assert [one.dtype for one in fft_convolve_backward(grad, x, kernel)] == [np.float32] * 2


def test_sizes_that_do_not_fit_are_told() -> None:
    with pytest.raises(ValueError, match=r"kernel \(L, E\), with the same E; got \(2, 4, 3\) and \(4, 2\)"):
        long_convolution(tensor(np.ones((2, 4, 3))), tensor(np.ones((4, 2))))
