"""Zero-order hold against PyTorch's matrix exponential, and the long convolution against conv1d."""

from __future__ import annotations

import numpy as np
import pytest

from minilib.functional.scan import discretize, fft_convolve, fft_convolve_backward
from parity.peer import torch

rng = np.random.default_rng(0)


@pytest.mark.parametrize("step", [0.01, 0.5, 3.0])
def test_a_spring_steps_as_its_matrix_exponential(step):
    """exp of [[A, B], [0, 0]] times step holds both a and b."""
    A, B = np.array([[0, 1], [-2, -0.5]]), np.array([0.0, 1.0])
    joint = np.zeros((3, 3))
    joint[:2, :2], joint[:2, 2] = A, B
    both = torch.linalg.matrix_exp(torch.tensor(step * joint)).numpy()
    rates, directions = np.linalg.eig(A)
    a, b = discretize(step, rates, np.linalg.solve(directions, B))
    np.testing.assert_allclose((directions * a @ np.linalg.inv(directions)).real, both[:2, :2], atol=1e-12)
    np.testing.assert_allclose((directions @ b).real, both[:2, 2], atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_long_convolution_and_its_gradients_are_conv1ds(dtype):
    x, kernel, grad = (rng.normal(size=s).astype(dtype) for s in ((2, 30, 3), (30, 3), (2, 30, 3)))
    tx, tk = (torch.tensor(one, requires_grad=True) for one in (x, kernel))
    padded = torch.nn.functional.pad(tx.transpose(1, 2), (29, 0))
    y = torch.nn.functional.conv1d(padded, tk.flip(0).T[:, None], groups=3).transpose(1, 2)
    y.backward(torch.tensor(grad))
    tolerance = {"rtol": 6e-4, "atol": 1e-5} if dtype == np.float32 else {"atol": 1e-11}
    np.testing.assert_allclose(fft_convolve(x, kernel), y.detach().numpy(), **tolerance)
    for got, expected in zip(fft_convolve_backward(grad, x, kernel), (tx.grad, tk.grad)):
        np.testing.assert_allclose(got, expected.numpy(), **tolerance)
