"""volatile: a qualifier of types, which is kept, lost and compared as const is."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_files import Example, examples

from warplens import RawKernel, cp, profile, simulate


@pytest.mark.parametrize("kind", ["volatile int&", "const volatile int&", "volatile int*"])
@pytest.mark.parametrize("schedule", ["lockstep", "forward", "reverse"])
def test_a_function_waits_for_what_its_parameter_refers_to(kind: str, schedule: str) -> None:
    mark = "*" if kind.endswith("*") else ""
    text = f"""
    __device__ void wait({kind} flag) {{ while ({mark}flag == 0) {{}} }}
    extern "C" __global__ void k(int* flag, int* x, int* out) {{
        if (threadIdx.x == 0 && blockIdx.x == 0) {{
            wait({"&" * (mark == "*")}*flag);
            __threadfence();
            out[0] = x[0];
        }}
        if (threadIdx.x == 0 && blockIdx.x == 1) {{
            x[0] = 7;
            __threadfence();
            *(volatile int*)flag = 1;
        }}
    }}"""
    flag, x, out = (cp.zeros(1, dtype=cp.int32) for _ in range(3))
    report = profile(RawKernel(text, "k"), (2,), (32,), (flag, x, out))
    assert report.ok, str(report)
    simulate(RawKernel(text, "k"), (2,), (32,), (flag, x, out), schedule=schedule)
    assert out.get().tolist() == [7]


@pytest.mark.parametrize(
    "snippet",
    [one for one in examples("snippet") if "volatile" in one.name or "wait" in one.name],
    ids=lambda one: one.id,
)
def test_a_report_finds_nothing_in_a_snippet_with_volatile(snippet: Example) -> None:
    numbers = cp.asarray(np.arange(64, dtype=np.int32) * 3 % 64)
    args = numbers, cp.zeros(64, dtype=cp.int32), cp.zeros(64, dtype=cp.float32)
    report = profile(RawKernel(snippet.source, "k"), (1,), (64,), args)
    assert report.ok and not report.races, str(report)
