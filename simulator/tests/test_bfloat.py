"""__nv_bfloat16 of cuda_bf16.h: what is no arithmetic, and what is rounded otherwise than elsewhere."""

# ruff: noqa: E501 (one kernel, one line)

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from warplens import CompileError, LaunchError, RawKernel, cp, profile, simulate
from warplens.language.frontend import compile_source

HEADER = "#include <cuda_bf16.h>\n"
SCHEDULES = ("lockstep", "forward", "reverse")


def run(body: str, parameters: str, *args: Any, block: int = 32) -> None:
    """The kernel in place, alike under every schedule."""
    source = f'{HEADER}extern "C" __global__ void k({parameters}) {{ int i = threadIdx.x; {body} }}'
    before = [a.copy() if isinstance(a, cp.ndarray) else a for a in args]
    for schedule in SCHEDULES:
        fresh = [a.copy() if isinstance(a, cp.ndarray) else a for a in before]
        simulate(RawKernel(source, "k"), (1,), (block,), tuple(fresh), schedule=schedule)
        for given, made in zip(args, fresh):
            if isinstance(given, cp.ndarray):
                given[...] = made if schedule == "lockstep" else given
                np.testing.assert_array_equal(given.get(), made.get())


def value(bits: Any) -> np.ndarray:
    return (np.asarray(bits).astype(np.uint32) << 16).view(np.float32)


def nearest(x: Fraction) -> set[float]:
    """The bfloat16 next to a number that is not far from 1: one, or of a tie the even one."""
    near = int(np.float32(float(x)).view(np.uint32)) >> 16
    around = {bits: abs(Fraction(float(value([bits])[0])) - x) for bits in (near - 1, near, near + 1)}
    best = [bits for bits, far in around.items() if far == min(around.values())]
    return {float(value([bits])[0]) for bits in best if len(best) == 1 or bits % 2 == 0}


def test_numbers_are_rounded_once() -> None:
    doubles = [1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-8, 1 + 3 * 2.0**-8 - 2.0**-40, -(1 + 2.0**-8 + 2.0**-50)]
    longs = [2**62 + 2**54 + 1, 2**62 + 2**54, -(2**62) - 2**54 - 1, 257]
    out = cp.zeros(8, cp.uint16)
    body = "if (i < 4) { out[i] = __double2bfloat16(d[i]); out[4 + i] = __ll2bfloat16_rn(l[i]); }"
    parameters = "const double* d, const long long* l, __nv_bfloat16* out"
    run(body, parameters, cp.asarray(np.array(doubles)), cp.asarray(np.array(longs)), out)
    for got, x in zip(value(out.get()), [*doubles, *longs]):
        assert {float(got)} == nearest(Fraction(x))


def test_fma_is_rounded_once() -> None:
    rng = np.random.default_rng(1)
    a, b = [(rng.normal(size=512).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16) for _ in "ab"]
    c = (rng.normal(size=512) * 2.0 ** rng.integers(-70, 0, 512)).astype(np.float32)
    c = (c.view(np.uint32) >> 16).astype(np.uint16)
    a[0], b[0], c[0] = 0x3F81, 0x3F81, 0x1000  # a tie but for the last summand
    out = cp.zeros(512, cp.uint16)
    parameters = "const __nv_bfloat16* a, const __nv_bfloat16* b, const __nv_bfloat16* c, __nv_bfloat16* out"
    run("out[i] = __hfma(a[i], b[i], c[i]);", parameters, *map(cp.asarray, (a, b, c)), out, block=512)
    x, y, z = ([Fraction(float(v)) for v in value(bits)] for bits in (a, b, c))
    for got, exact in zip(value(out.get()), [p * q + r for p, q, r in zip(x, y, z)]):
        assert float(got) in nearest(exact)


def test_shared_memory_pairs_shuffles_and_atomics() -> None:
    pairs = cp.asarray(np.arange(64, dtype=np.uint16))
    total = cp.asarray(np.array([0x3F80, 0], np.uint16))
    run(
        "__shared__ __nv_bfloat162 s[32]; s[i] = pairs[i]; __syncthreads(); pairs[i] = s[31 - i];"
        "__nv_bfloat16 mine = (float)i, other = __shfl_xor_sync(~0u, mine, 1); atomicAdd(total, 2);"
        "if (i == 6) total[1] = other;",
        "__nv_bfloat162* pairs, __nv_bfloat16* total",
        pairs,
        total,
    )
    np.testing.assert_array_equal(pairs.get().reshape(32, 2), np.arange(64).reshape(32, 2)[::-1])
    assert value(total.get()).tolist() == [65.0, 7.0]


def test_arrays_hold_its_bits_as_uint16() -> None:
    run_on = RawKernel(
        f'{HEADER}extern "C" __global__ void k(__nv_bfloat16* x, __nv_bfloat16 v) {{ x[0] = v; }}', "k"
    )
    out = cp.zeros(1, cp.uint16)
    run_on((1,), (1,), (out, np.uint16(0x4049)))
    assert out.get().tolist() == [0x4049]
    with pytest.raises(LaunchError, match="uint16"):
        run_on((1,), (1,), (cp.zeros(1, cp.float16), np.uint16(0)))
    report = profile(run_on, (1,), (1,), (out, np.uint16(0)))
    assert report.ok
    assert report.bytes_written == 2


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("out[0] = x[0] + 1;", "unsupported"),
        ("out[0] = x[0] + h[0];", "unsupported"),
        ("out[0] = h[0];", "error"),
        ("out[0] = n % x[0];", "unsupported"),
        ("out[0] = __float2bfloat16_rz(1.0f);", "unsupported"),
        ("out[0] = (__nv_bfloat16)n;", ""),
        ("out[0] = (__nv_bfloat16)h[0];", ""),
    ],
)
def test_what_is_refused(statement: str, kind: str) -> None:
    source = f"{HEADER}__global__ void k(__nv_bfloat16* out, const __nv_bfloat16* x, half* h, int n) {{ {statement} }}"
    if not kind:
        compile_source(source)
        return
    with pytest.raises(CompileError) as refused:
        compile_source(source)
    assert refused.value.kind == kind


def test_without_its_header_there_is_none() -> None:
    with pytest.raises(CompileError, match=r"undefined(.|\n)*cuda_bf16\.h"):
        compile_source("__global__ void k(float* out) { out[0] = __bfloat162float(out[1]); }")
    with pytest.raises(CompileError, match=r"undefined(.|\n)*cuda_bf16\.h"):
        compile_source("__global__ void k(__nv_bfloat16* out) { }")
