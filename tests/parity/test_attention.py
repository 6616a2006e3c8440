"""Causal attention and PyTorch's scaled_dot_product_attention; what dropout drops is given to both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minilib.functional.attention import CausalAttention, attend, attend_backward
from minilib.tensor import Tensor, apply
from parity.peer import torch


def theirs(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
    """PyTorch's, with a lower-right causal mask; where weights are dropped, the steps of its manual."""
    t, s = q.shape[-2], k.shape[-2]
    seen = torch.ones(t, s, dtype=torch.bool).tril(s - t)
    if mask is None:
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=seen)
    scores = (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).masked_fill(~seen, -torch.inf)
    return (scores.softmax(-1) * mask) @ v


CASES = [(1, 1, 4), (7, 7, 4), (3, 9, 8), (64, 64, 16), (1, 33, 32)]


@pytest.mark.parametrize("dropped", [False, True], ids=["", "dropped"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("t", "s", "d"), CASES)
def test_values_and_gradients_equal(t: int, s: int, d: int, dtype: str, dropped: bool) -> None:
    rng = np.random.default_rng(t + s)
    arrays = [rng.normal(size=(2, 3, n, d)).astype(dtype) for n in (t, s, s, t)]
    mask = ((rng.random((2, 3, t, s)) < 0.8) / 0.8).astype(dtype) if dropped else None
    *qkv, grad = [torch.tensor(array, requires_grad=i < 3) for i, array in enumerate(arrays)]
    expected = theirs(*qkv, None if mask is None else torch.tensor(mask))
    expected.backward(grad)
    out, weights = attend(*arrays[:3], mask)
    found = [out, *attend_backward(arrays[3], *arrays[:3], out, weights, mask)]
    for a, b in zip(found, [expected.detach(), *[x.grad for x in qkv]]):
        np.testing.assert_allclose(a, b.numpy(), atol=1e-12 if dtype == "float64" else 2e-5)


@pytest.mark.parametrize("n_head", [1, 2, 4])
@pytest.mark.parametrize("packed", [False, True], ids=["apart", "packed"])
def test_the_operation_with_a_given_mask_equals(n_head: int, packed: bool) -> None:
    rng = np.random.default_rng(n_head)
    x, grad = rng.normal(size=(2, 6, 24)), rng.normal(size=(2, 6, 8))
    mask = (rng.random((2, n_head, 6, 6)) < 0.5) / 0.5
    whole = torch.tensor(x, requires_grad=True)
    heads = [part.reshape(2, 6, n_head, -1).transpose(1, 2) for part in whole.split(8, dim=2)]
    expected = theirs(*heads, torch.tensor(mask)).transpose(1, 2).flatten(2)
    expected.backward(torch.tensor(grad))
    arrays = [x] if packed else np.split(x, 3, 2)
    inputs = [Tensor(array.copy(), requires_grad=True) for array in arrays]
    out = apply(CausalAttention(n_head, packed), *inputs, Tensor(mask))
    (out * Tensor(grad)).sum().backward()
    np.testing.assert_allclose(out.data, expected.detach().numpy(), atol=1e-12)
    found = np.concatenate([i.grad.data for i in inputs], 2)
    np.testing.assert_allclose(found, whole.grad.numpy(), atol=1e-12)
