"""The kernels of minilib/interop/extension/softmax.cu on the simulator, beside NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import minilib
from minilib.cuda import RawKernel, cp

SOURCE = (Path(minilib.__file__).parent / "interop" / "extension" / "softmax.cu").read_text(encoding="utf-8")
THREADS = 256
SHAPES = [(3, 5), (1, 1), (2, 256), pytest.param((2, 16_384), marks=pytest.mark.slow)]


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_rows_of_any_length_have_numpys_softmax_and_gradient(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    x, grad = (rng.normal(scale=8, size=shape).astype(np.float32) for _ in range(2))
    y, dx = cp.empty(shape, np.float32), cp.empty(shape, np.float32)
    columns = np.int64(shape[1])
    RawKernel(SOURCE, "softmax_forward")((shape[0],), (THREADS,), (cp.asarray(x), y, columns))
    RawKernel(SOURCE, "softmax_backward")((shape[0],), (THREADS,), (cp.asarray(grad), y, dx, columns))
    want = softmax(x.astype(np.float64))
    np.testing.assert_allclose(cp.asnumpy(y), want, rtol=1e-5, atol=1e-7)
    along = want * (grad - (grad * want).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(cp.asnumpy(dx), along, rtol=1e-4, atol=1e-5)
