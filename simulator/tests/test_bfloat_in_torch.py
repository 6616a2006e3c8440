"""bfloat16 of warplens against torch.bfloat16: each result is rounded to nearest even."""

from __future__ import annotations

import numpy as np
import pytest

from warplens import RawKernel, cp, simulate

pytestmark = pytest.mark.parity
torch = pytest.importorskip("torch")

KERNEL = RawKernel(
    r"""
#include <cuda_bf16.h>
typedef __nv_bfloat16 T;
extern "C" __global__ void k(const T* a, const T* b, const float* f, T* out, float* back, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    T x = a[i], y = b[i], sum = x;
    sum += y;
    __nv_bfloat162 pair = __halves2bfloat162(x, y);
    pair = pair * pair + pair;
    out[i] = x + y;
    out[n + i] = x - y;
    out[2 * n + i] = x * y;
    out[3 * n + i] = x / y;
    out[4 * n + i] = f[i];
    out[5 * n + i] = (float)x * (float)y + 1.0f;
    out[6 * n + i] = sum * y;
    out[7 * n + i] = pair.y;
    out[8 * n + i] = -x;
    out[9 * n + i] = hsqrt(x);
    back[i] = x;
}""",
    "k",
)


def numbers(rng: np.random.Generator, n: int) -> np.ndarray:
    """The bits of any bfloat16, and of those that are near each other."""
    near = (rng.normal(size=n).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return np.concatenate([rng.integers(0, 1 << 16, n).astype(np.uint16), near])


@pytest.mark.parametrize("schedule", ["lockstep", "reverse"])
def test_arithmetic_equals_torch(schedule: str) -> None:
    rng = np.random.default_rng(0)
    a, b = numbers(rng, 20_000), numbers(rng, 20_000)
    n = len(a)
    floats = rng.integers(0, 1 << 32, n, dtype=np.uint32).view(np.float32)
    floats[:2] = [1 + 2.0**-8, 1 + 2.0**-8 + 2.0**-23]
    out, back = cp.zeros(10 * n, cp.uint16), cp.zeros(n, cp.float32)
    args = (cp.asarray(a), cp.asarray(b), cp.asarray(floats), out, back, n)
    simulate(KERNEL, (-(-n // 256),), (256,), args, schedule=schedule)

    def of_bits(bits: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(bits.view(np.int16).copy()).view(torch.bfloat16)

    x, y, f = of_bits(a), of_bits(b), torch.from_numpy(floats)
    want = [
        x + y, x - y, x * y, x / y, f.bfloat16(), (x.float() * y.float() + 1).bfloat16(), (x + y) * y,
        y * y + y, -x, x.float().sqrt().bfloat16(),
    ]  # fmt: skip
    got = of_bits(out.get()).reshape(10, n)
    for i, expected in enumerate(want):
        torch.testing.assert_close(got[i], expected, rtol=0, atol=0, equal_nan=True, msg=f"result {i}")
    np.testing.assert_array_equal(back.get(), x.float().numpy())
