"""What PyTorch makes of unusual arguments, of nan and of half precision; refusals too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minilib.functional as lib_functional
import minilib.tensor as lib
from parity.peer import torch
from parity.test_tensor import INF, NAN, named, plain, ramp, refused_alike, slope, slopes, t


def functional(library: Any) -> Any:
    return lib_functional if library is lib else torch.nn.functional


SAME = {
    # arguments of reductions
    "var and std read unbiased": lambda L: [
        (ramp(L, 2, 3).var(u), ramp(L, 2, 3).std(u), ramp(L, 2, 3).var(0, u), ramp(L, 2, 3).std(1, u, True))
        for u in (True, False)
    ],
    "correction by name": lambda L: [
        (ramp(L, 2, 3).var(dim=1, correction=c), ramp(L, 2, 3).std(0, correction=c, keepdim=True))
        for c in (0, 1, 0.5)
    ],
    "axes as NumPy's integers": lambda L: (
        ramp(L, 2, 3).sum(np.int64(1)),
        ramp(L, 2, 3).mean((np.int64(0), 1)),
        ramp(L, 2, 3).argmax(np.int32(0)),
        ramp(L, 2, 3).cumsum(np.int64(0)),
    ),
    "max of no axes": lambda L: [
        (slope(L, 3.0, lambda x, d=d: x.max(d)[0]), t(L, 3.0).max(d)[1], t(L, 3.0).argmin(d)) for d in (0, -1)
    ],
    "max of two tensors": lambda L: slopes(L, [1.0, 5.0], [3.0, 5.0], lambda x, y: x.max(y) + x.min(y)),
    # gradients at nan
    "abs at nan": lambda L: slope(L, [NAN, 1.0, 0.0, -2.0], lambda x: x.abs()),
    "maximum at nan": lambda L: slopes(L, [NAN, 1.0, NAN, 3.0, 3.0], [1.0, NAN, NAN, 3.0, 2.0], L.maximum),
    "minimum at nan": lambda L: slopes(L, [NAN, 1.0, NAN, 3.0, 3.0], [1.0, NAN, NAN, 3.0, 2.0], L.minimum),
    "maximum of infinite gradients": lambda L: slopes(
        L, [1.0, 3.0], [2.0, 2.0], lambda x, y: L.maximum(x, y) * INF
    ),
    # numbers that do not fit
    "a number too large for uint8 wraps around": lambda L: [
        (x == 300, x == 44, x < 300, x + 300, x - 1, x == -1, x * 257)
        for x in [t(L, [1, 44, 255], dtype="uint8")]
    ],
    # joining
    "cat leaves out an empty vector": lambda L: [
        (L.cat([t(L, np.zeros(0), dtype=d), ramp(L, 2, 3)], 1), L.cat([ramp(L, 2, 3), t(L, np.zeros(0))]))
        for d in ("float32", "float64", "int64")
    ],
    "cat of empty vectors": lambda L: L.cat([t(L, np.zeros(0)), t(L, np.zeros(0))]),
    # bounds that are tensors
    "clamp by a tensor": lambda L: [
        slopes(L, [1.0, 2.0, 3.0], [2.0, 2.0, 2.0], lambda x, y: x.clamp(min=y)),
        slopes(L, [1.0, 2.0, 3.0], [2.0, 2.0, 2.0], lambda x, y: x.clamp(max=y)),
        t(L, [1.0, NAN, 3.0]).clip(t(L, [NAN, 2.0, 2.0])),
        slopes(L, [1.0, 5.0, 9.0], 4.0, lambda x, y: x.clamp(y, y + 2)),
        slopes(L, [1.0, 5.0, 9.0], 4.0, lambda x, y: x.clamp(y - 2, y)),
        slopes(L, [1.0, 5.0, 9.0], [6.0, 6.0, 6.0], lambda x, y: x.clamp(y, y - 3)),
    ],
    "clamp of integers": lambda L: (
        [t(L, [5, -5, 3]).clamp(*bounds) for bounds in [(1, 3), (1.5,), (1, 2.5), (1.5, 3), (None, 2.5)]]
        + [t(L, [5, -5, 3]).clamp(t(L, 1.5)), t(L, [5, -5, 3]).clamp(max=t(L, [1, 1, 1]))]
    ),
    # as text
    "formatted": lambda L: (f"{t(L, 3.14159):.2f}", f"{t(L, 3.0, grad=True):8.1f}", f"{t(L, 3):03d}"),
    # casts
    "to by name": lambda L: (
        t(L, [1, 2]).to(dtype=ramp(L, 1).dtype),
        t(L, [1, 2]).to(device="cpu", dtype=ramp(L, 1).dtype),
        t(L, [1, 2]).to("cpu", ramp(L, 1).dtype),
        t(L, [1, 2]).to(ramp(L, 1)),
        t(L, [1, 2]).to(device="cpu", non_blocking=True),
    ),
    # half precision
    "mean of float16": lambda L: (
        slope(L, [60000.0] * 4, lambda x: x.to(t(L, 1, dtype="float16").dtype).mean().float()),
        t(L, np.full((2, 3), 300), dtype="float16").var(),
        t(L, np.full((2048, 2), 1.0), dtype="float16").sum(0),
        t(L, np.full((4096, 2), 0.1), dtype="float16").mean(0),
    ),
    # pooling
    "max-pool of integers, padded": lambda L: [
        functional(L).max_pool2d(t(L, np.arange(-16, 0).reshape(1, 1, 4, 4), dtype=d), 3, 2, 1)
        for d in ("int64", "int32", "float32")
    ],
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@named(SAME)
def test_the_same_comes_out(name: str) -> None:
    assert plain(SAME[name](lib)) == plain(SAME[name](torch))


def half(library: Any, *shape: int, scale: float = 300.0) -> Any:
    """A float16 leaf of numbers near +-`scale`."""
    numbers = np.random.default_rng(0).uniform(0.9, 1.1, shape) * scale
    signs = np.where(np.arange(shape[-1]) % 2, -1, 1)
    return t(library, numbers * signs, grad=True, dtype="float16")


HALF = {
    "layer_norm": lambda F, x, w: F.layer_norm(x, (6,), w, w),
    "layer_norm of one row": lambda F, x, w: F.layer_norm(x[:1], (6,), w, w),
    "rms_norm": lambda F, x, w: F.rms_norm(x, (6,), w, 1e-5),
    "batch_norm": lambda F, x, w: F.batch_norm(x, None, None, w, w, training=True),
    "gelu": lambda F, x, w: F.gelu(x / 300),
    "gelu by tanh": lambda F, x, w: F.gelu(x / 300, approximate="tanh"),
    "silu": lambda F, x, w: F.silu(x / 300),
    "softplus": lambda F, x, w: F.softplus(x / 300),
    "softmax": lambda F, x, w: F.softmax(x / 300, 0),
    "log_softmax": lambda F, x, w: F.log_softmax(x / 300, dim=1),
    "mse_loss": lambda F, x, w: F.mse_loss(x / 100, x * 0 + 1),
}


@named(HALF)
def test_half_precision_is_worked_out_in_single(name: str) -> None:
    results = []
    for library in (lib, torch):
        x, w = half(library, 4, 6), half(library, 6, scale=1.0)
        lifted = (x, w) if library is lib else (x.float(), w.float())  # PyTorch's batch_norm is 1e-2 off
        y = HALF[name](functional(library), *lifted)
        y.sum().backward()
        grads = [z.grad for z in (x, w) if z.grad is not None]
        results.append([y.detach(), *grads])
    for ours, theirs in zip(*results, strict=True):
        assert ours.dtype == np.float16
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=4e-3, atol=4e-3)


def test_running_averages_of_half_precision_are_kept() -> None:
    averages = []
    for library in (lib, torch):
        mean, var = (t(library, np.ones(6), dtype="float16") for _ in range(2))
        functional(library).batch_norm(half(library, 4, 6, scale=10.0), mean, var, training=True)
        averages.append([mean.numpy(), var.numpy()])
    np.testing.assert_allclose(*averages, rtol=2e-3)


REFUSED = {
    "sum(True)": lambda L: ramp(L, 2, 3).sum(True),
    "sum(False)": lambda L: ramp(L, 2, 3).sum(False),
    "sum(0, 1)": lambda L: ramp(L, 2, 3).sum(0, 1),
    "sum(keepdim=1)": lambda L: ramp(L, 2, 3).sum(keepdim=1),
    "sum(1.0)": lambda L: ramp(L, 2, 3).sum(1.0),
    "mean(True)": lambda L: ramp(L, 2, 3).mean(True),
    "mean(0, 1)": lambda L: ramp(L, 2, 3).mean(0, 1),
    "amax(True)": lambda L: ramp(L, 2, 3).amax(True),
    "amin(0, 1)": lambda L: ramp(L, 2, 3).amin(0, 1),
    "max(True)": lambda L: ramp(L, 2, 3).max(True),
    "max(0, 1)": lambda L: ramp(L, 2, 3).max(0, 1),
    "argmax(True)": lambda L: ramp(L, 2, 3).argmax(True),
    "argmax(0, 1)": lambda L: ramp(L, 2, 3).argmax(0, 1),
    "cumsum(True)": lambda L: ramp(L, 2, 3).cumsum(True),
    "all(True)": lambda L: ramp(L, 2, 3).all(True),
    "any(0, 1)": lambda L: ramp(L, 2, 3).any(0, 1),
    "var(0, 1)": lambda L: ramp(L, 2, 3).var(0, 1),
    "var(0, 0)": lambda L: ramp(L, 2, 3).var(0, 0),
    "var(0, True, 1)": lambda L: ramp(L, 2, 3).var(0, True, 1),
    "max(1) of no axes": lambda L: t(L, 3.0).max(1),
    "argmax(1) of no axes": lambda L: t(L, 3.0).argmax(1),
    "cat of a vector of one and a matrix": lambda L: L.cat([ramp(L, 1), ramp(L, 2, 3)], 1),
    "cat out of range": lambda L: L.cat([t(L, np.zeros(0)), ramp(L, 2, 3)], 2),
    "a format of several numbers": lambda L: f"{ramp(L, 3):.2f}",
    "to with nonsense": lambda L: ramp(L, 2).to("nowhere"),
}


@named(REFUSED)
def test_the_same_is_refused(name: str) -> None:
    refused_alike(REFUSED[name])


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_asks_along_which_axis(name: str) -> None:
    """PyTorch guesses one, and warns."""
    with pytest.raises(TypeError, match="dim"):
        getattr(lib_functional, name)(lib.ones(2, 3))
