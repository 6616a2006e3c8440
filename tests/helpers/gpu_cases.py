"""Tensors on the device beside those on the CPU, for all tests of minilib.gpu."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import minilib.functional as F
import minilib.gpu as gpu
import minilib.tensor as lib
from minilib.cuda import cp
from minilib.tensor import Tensor, tensor

TOLERANCE = 1e-5  # times the largest number of the reference, at least 1


def near(found: Any, expected: np.ndarray) -> None:
    """The shape of `expected`, and its numbers within the tolerance."""
    found = cp.asnumpy(found)
    assert found.shape == expected.shape
    finite = np.isfinite(expected)
    scale = max(1.0, np.abs(expected[finite]).max(initial=0.0))
    np.testing.assert_array_equal(found[~finite], expected[~finite])
    np.testing.assert_allclose(found[finite], expected[finite], rtol=0, atol=TOLERANCE * scale)


def agree(function: Any, arrays: list[np.ndarray]) -> None:
    """`function` of tensors and its gradients: on the device in float32 as on the CPU in float64."""
    floats = [array.dtype.kind == "f" for array in arrays]
    single = [array.astype(np.float32) if one else array for array, one in zip(arrays, floats, strict=True)]
    double = [array.astype(np.float64) if one else array for array, one in zip(single, floats, strict=True)]
    here = [Tensor(array, requires_grad=one) for array, one in zip(double, floats, strict=True)]
    away = [Tensor(cp.asarray(array), requires_grad=one) for array, one in zip(single, floats, strict=True)]
    outs = [function(*here), function(*away)]
    pairs = list(zip(*[out if isinstance(out, tuple) else (out,) for out in outs], strict=True))
    for a, b in pairs:
        assert b.device == "cuda"
        near(b.data, a.data)
    weights = np.random.default_rng(0)
    for a, b in pairs:
        if a.requires_grad:
            grad = weights.normal(size=a.shape).astype(np.float32)
            a.backward(tensor(grad.astype(np.float64)), retain_graph=True)
            b.backward(tensor(grad).to("cuda"), retain_graph=True)
    for p, q in zip(here, away, strict=True):
        assert (p.grad is None) == (q.grad is None)
        if p.grad is not None and q.grad is not None:
            near(q.grad.data, p.grad.data)


@contextmanager
def reported(start: str) -> Iterator[list[Any]]:
    """At the end of this block the reports of those of our kernels whose names begin so, without findings."""
    made: list[Any] = []
    with gpu.reports() as found:
        yield made
    for name, report in found:
        if name.startswith(start):
            assert report.ok, f"{name}: {report}"
            made.append(report)


# What each pair on elements is, as a function of tensors.
ELEMENTWISE = {
    "Add": lambda x, y: x + y,
    "Sub": lambda x, y: x - y,
    "Mul": lambda x, y: x * y,
    "Div": lambda x, y: x / y,
    "Pow": lambda x, y: x**y,
    "Maximum": lambda x, y: lib.maximum(x, y),
    "Minimum": lambda x, y: lib.minimum(x, y),
    "Where": lambda x, y: lib.where(x > y, x, y),
    "Neg": lambda x: -x,
    "Sqrt": lambda x: x.sqrt(),
    "Exp": lambda x: x.exp(),
    "Log": lambda x: x.log(),
    "Expm1": lambda x: x.expm1(),
    "Log1p": lambda x: x.log1p(),
    "Sin": lambda x: x.sin(),
    "Cos": lambda x: x.cos(),
    "Tanh": lambda x: (x - 1).tanh(),
    "Sigmoid": lambda x: (8 * x - 8).sigmoid(),
    "ReLU": lambda x: (x - 1).relu(),
    "Abs": lambda x: (x - 1).abs(),
    "Erf": lambda x: F.erf(2 * x - 2),
    "GELU": lambda x: F.gelu(4 * x - 4),
    "TanhGELU": lambda x: F.gelu(4 * x - 4, approximate="tanh"),
    "SiLU": lambda x: F.silu(8 * x - 8),
    "Softplus": lambda x: F.softplus(40 * x - 40, threshold=10),
}
