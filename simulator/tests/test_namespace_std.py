"""`std::exp` and the like: without a header NVRTC's namespace std is empty, so the simulator's is as well."""

from __future__ import annotations

import nvrtc
import pytest
from key_words import says

from warplens import RawKernel
from warplens.errors import CompileError

HEAD = 'extern "C" __global__ void k(float* f, double d, int n) {\n'
ACCEPTED = [
    "using namespace std; f[0] = expf(f[1]) + max(f[2], 0.f) + exp(d);",
    "f[0] = ::expf(f[1]);",
    "int std = 3; f[0] = std;",
]
REFUSED = {  # and what the hint says to write instead
    "f[0] = std::exp(f[1]);": "'expf' 'exp'",
    "f[0] = 1 / (1 + std::expf(-f[1]));": "'expf'",
    "f[0] = ::std::sqrt(f[1]);": "'sqrtf' 'sqrt'",
    "f[0] = std::fmaxf(f[1], 0.f);": "'fmaxf'",
    "f[0] = std::max(f[1], 0.f);": "'max'",
    "f[0] = std::max<float>(f[1], 0.f);": "'max'",
    "f[0] = std::abs(f[1]);": "'abs'",
    "std::exp(d);": "'expf' 'exp'",
    "using std::pow;": "'powf' 'pow'",
    "using namespace std; f[0] = std::exp(f[1]);": "'expf' 'exp'",
    "std::size_t i = 0;": "'size_t'",
    "const std::size_t i = 0;": "'size_t'",
    "n = (std::size_t)d;": "'size_t'",
    "n = static_cast<std::size_t>(d);": "'size_t'",
    "for (std::size_t i = 0; i < n; i++) f[i] = 0;": "'size_t'",
    "std::int32_t i = 0;": "'int32_t' #include <stdint.h>",
    "std::vector<int> v;": "pointers",
    "f[0] = std::epx(f[1]);": "pointers",
}
SIGNATURES = {
    "__device__ int g(float* f, std::size_t n) { return 1; }": "'size_t'",
    "template <typename T, std::size_t N> __device__ T g() { return N; }": "'size_t'",
    "__device__ std::size_t g() { return 1; }": "'size_t'",
}
CASES = {
    **{f"{HEAD}    {body}\n}}": hint for body, hint in REFUSED.items()},
    **{f"{source}\n{HEAD}}}": hint for source, hint in SIGNATURES.items()},
}
judged = pytest.mark.skipif(nvrtc.library() is None, reason=nvrtc.WHY_NOT)


@pytest.mark.parametrize("body", ACCEPTED)
def test_what_is_built_in_needs_no_std(body: str) -> None:
    assert RawKernel(f"{HEAD}{body}\n}}", "k")


@pytest.mark.parametrize(("source", "hint"), CASES.items())
def test_std_is_refused_with_what_to_write(source: str, hint: str) -> None:
    with pytest.raises(CompileError) as error:
        RawKernel(source, "k")
    assert error.value.kind == "error" and says(error.value.message, "'std' no member")
    assert says(error.value.hint, hint)


@pytest.mark.parity
@judged
@pytest.mark.parametrize("body", ACCEPTED)
def test_nvrtc_takes_what_we_take(body: str) -> None:
    assert nvrtc.compile_ptx(f"{HEAD}{body}\n}}") is None


@pytest.mark.parity
@judged
@pytest.mark.parametrize("source", CASES)
def test_nvrtc_refuses_it_at_the_same_place(source: str) -> None:
    refusal = nvrtc.compile_ptx(source)
    with pytest.raises(CompileError) as error:
        RawKernel(source, "k")
    first, _, caret = (refusal or "").splitlines()[:3]
    assert says(first, '"std" no member') and f"({error.value.line})" in first
    assert caret.index("^") - 2 == error.value.column - 1
