"""volatile: a qualifier of types, which is kept, lost and compared as const is."""

from __future__ import annotations

import numpy as np
import pytest
from cuda_snippets import SNIPPETS
from cuda_volatile import ACCEPTED, REFUSED, source

from warplens import CompileError, RawKernel, cp, profile, simulate
from warplens.language.frontend import compile_source


@pytest.mark.parametrize("snippet", ACCEPTED)
def test_what_is_accepted(snippet: str) -> None:
    assert compile_source(source(snippet)).kernels


@pytest.mark.parametrize(("snippet", "words"), REFUSED)
def test_what_is_refused(snippet: str, words: str) -> None:
    with pytest.raises(CompileError) as caught:
        compile_source(source(snippet))
    assert words in str(caught.value)


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


@pytest.mark.parametrize("name", [name for name in SNIPPETS if "volatile" in name or "wait" in name])
def test_a_report_finds_nothing_in_a_snippet_with_volatile(name: str) -> None:
    body, before = SNIPPETS[name]
    head = 'extern "C" __global__ void k(const int* x, int* out, float* f) {\n    int t = threadIdx.x;'
    numbers = cp.asarray(np.arange(64, dtype=np.int32) * 3 % 64)
    args = numbers, cp.zeros(64, dtype=cp.int32), cp.zeros(64, dtype=cp.float32)
    report = profile(RawKernel(f"{before}\n{head}{body}\n}}\n", "k"), (1,), (64,), args)
    assert report.ok and not report.races, str(report)
