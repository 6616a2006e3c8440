"""Several variables of one `auto`, and sincosf: as NVRTC takes and refuses them, and as C++ computes them."""

from __future__ import annotations

import numpy as np
import nvrtc
import pytest
from key_words import says
from oracle import Library, why_not

from warplens import RawKernel, Report, cp, profile
from warplens.errors import CompileError

HEAD = 'extern "C" __global__ void k(const int* x, int* out, float* f) {\n    int t = threadIdx.x;\n'
ACCEPTED = {
    "auto of several numbers and pointers": """
    auto a = x[t], b = a + 1, *p = &a;
    *p += b;
    const auto* first = x, second = 7;
    auto w = f + t, v = f;
    for (auto i = 0, n = t % 5; i < n; i++) b += a * i + second + first[0];
    auto c = 2, &r = out[t];
    r = a + b * c + (int)(w - v);""",
    "sincosf into an array and a variable": """
    float c;
    sincosf(0.1f * x[t], f + t, &c);
    f[t] += 3 * c;""",
    "sincos of doubles, which evaluates its arguments once": """
    double both[2], *at = both;
    int n = 0;
    sincos(0.25 * x[t] + n++, at++, &both[1]);
    f[t] = (float)(2 * both[0] - both[1]) + n + (int)(at - both);""",
    "sincosf in a branch": """
    float s = -1, c = 2;
    if (t % 3) sincosf(t, &s, &c);
    f[t] = s + 10 * c;""",
}
REFUSED = {
    "auto a = 1, b = 2.f;": "'auto' 'float' 'int'",
    "const auto a = 1, b = 2u;":
        "'auto' 'unsigned int' 'int'",
    "auto *p = f, *q = &t;": "'auto' 'int' 'float'",
    "auto a = 1, *p = x;":
        "'auto' 'const int' 'int'",
    "auto a = 1, &r = f[0];":
        "'auto' 'float' 'int'",
    "for (auto i = 0, n = 2.0; i < n; i++) f[i] = 0;":
        "'auto' 'double' 'int'",
    "auto a = 1, b;": "",
    "float s; sincosf(1, &s);": "few arguments",
    "double s, c; sincosf(1, &s, &c);":
        "'double *' incompatible 'float *'",
    "volatile float s, c; sincosf(1, &s, &c);":
        "'volatile float *' incompatible 'float *'",
    "float s, c; int i = sincosf(1, &s, &c);": "",
}  # fmt: skip
X, OUT, F = np.arange(64, dtype=np.int32) % 23 - 9, np.zeros(64, np.int32), np.zeros(64, np.float32)

judged = pytest.mark.skipif(nvrtc.library() is None, reason=nvrtc.WHY_NOT)


def source(body: str) -> str:
    return f"{HEAD}{body}\n}}"


def profiled(body: str, threads: int) -> Report:
    given = tuple(cp.asarray(array) for array in (X, OUT, F))
    return profile(RawKernel(source(body), "k"), (1,), (threads,), given)


@pytest.mark.parity
@judged
@pytest.mark.parametrize("body", [*ACCEPTED.values(), "float s, c; sincos(f[0], &s, &c); f[0] = s + c;"])
def test_nvrtc_accepts_what_we_accept(body: str) -> None:
    assert nvrtc.compile_ptx(source(body)) is None
    assert RawKernel(source(body), "k")


@pytest.mark.parity
@judged
@pytest.mark.parametrize(("body", "words"), REFUSED.items())
def test_nvrtc_refuses_what_we_refuse_in_the_same_words(body: str, words: str) -> None:
    log = nvrtc.compile_ptx(source(body))
    assert log is not None and says(log.replace('"', "'"), words)


@pytest.mark.parametrize(("body", "words"), REFUSED.items())
def test_mistakes_are_refused(body: str, words: str) -> None:
    with pytest.raises(CompileError) as error:
        RawKernel(source(body), "k")
    assert error.value.kind == "error" and says(error.value.message.replace('"', "'"), words)


@pytest.mark.slow
@pytest.mark.oracle
@pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
@pytest.mark.parametrize("body", ACCEPTED.values(), ids=ACCEPTED)
def test_results_are_those_of_the_second_implementation(body: str) -> None:
    _, out, f = Library([(source(body), ["k"])])["k"]((1,), (64,), [X, OUT.copy(), F.copy()])
    report = profiled(body, 64)
    assert report.ok
    np.testing.assert_array_equal(report.outputs[1], out)
    np.testing.assert_allclose(report.outputs[2], f, rtol=1e-5, atol=1e-6)


def test_sincosf_counts_two_operations_and_two_stores() -> None:
    report = profiled("sincosf(f[t], f + t, f + t + 32);", 32)
    assert (report.flops, report.global_store_requests) == (2 * 32, 2)
