"""half of cuda_fp16.h: stored in two bytes, converted as C++ does there, computed with two by two."""

# ruff: noqa: E501 (one kernel, one line)

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from key_words import says

from warplens import CompileError, LaunchError, RawKernel, RawModule, cp, profile, simulate
from warplens.language.frontend import compile_source

pytestmark = pytest.mark.slow

HEADER = "#include <cuda_fp16.h>\n"
f16, f32 = np.float16, np.float32
SCHEDULES = ("lockstep", "forward", "reverse")
# All that a half can be, nan but once.
ALL = np.arange(2**16, dtype=np.uint16).view(f16)
NUMBERS = np.concatenate([
    ALL[np.isfinite(ALL)].astype(np.float64), ALL[:2000].astype(np.float64) * (1 + 2.0**-11),
    [65519.999, 65520.0, 65536.0, 1e5, -1e5, 1e300, -1e300, 2.0**-25, 2.0**-25 * 1.0001, 3e-8, 1e-300, -0.0,
     np.inf, -np.inf, np.nan, 1 + 2.0**-11, 1 + 3 * 2.0**-11, 1 + 2.0**-11 + 2.0**-40, 2049, 2051, 0.1],
])  # fmt: skip


def kernel(body: str, parameters: str, before: str = "") -> RawKernel:
    source = f'{HEADER}{before}extern "C" __global__ void k({parameters}) {{\n'
    source += f"int i = blockIdx.x * blockDim.x + threadIdx.x;\n{body}\n}}\n"
    return RawKernel(source, "k")


def mapped(statement: str, into: str, of: str, x: Any, dtype: Any) -> np.ndarray:
    """A kernel that turns each element of x into one of `dtype`, the same under every schedule."""
    run = kernel(f"if (i < n) {{ {statement} }}", f"{into}* out, const {of}* x, int n")
    found = []
    for schedule in SCHEDULES:
        out = cp.zeros(len(x), dtype)
        simulate(run, (-(-len(x) // 256),), (256,), (out, cp.asarray(x), len(x)), schedule=schedule)
        found.append(out.get())
        np.testing.assert_array_equal(found[0], found[-1])
    return found[0]


def half_of(x: Any) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.asarray(x).astype(f16)


# ------------------------------------------------------------------------------------------------ conversions


@pytest.mark.parametrize(
    "how", ["x[i]", "(half)x[i]", "half(x[i])", "__double2half(x[i])", "static_cast<__half>(x[i])"]
)
def test_double_to_half_is_rounded_once(how: str) -> None:
    got = mapped(f"out[i] = {how};", "half", "double", NUMBERS, f16)
    np.testing.assert_array_equal(got, half_of(NUMBERS))


@pytest.mark.parametrize("how", ["x[i]", "__float2half(x[i])", "__float2half_rn(x[i])", "half{x[i]}"])
def test_float_to_half(how: str) -> None:
    with np.errstate(all="ignore"):
        x = NUMBERS.astype(f32)
    np.testing.assert_array_equal(mapped(f"out[i] = {how};", "half", "float", x, f16), half_of(x))


@pytest.mark.parametrize("how", ["x[i]", "__half2float(x[i])", "(float)x[i]", "float(x[i])", "+(float)x[i]"])
def test_half_to_float_is_exact(how: str) -> None:
    got = mapped(f"out[i] = {how};", "float", "half", ALL, f32)
    np.testing.assert_array_equal(got, ALL.astype(f32))
    np.testing.assert_array_equal(
        mapped(f"out[i] = {how};", "double", "half", ALL, np.float64), ALL.astype(f32)
    )


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("int", np.int32), ("unsigned int", np.uint32), ("long long", np.int64), ("unsigned long long", np.uint64),
     ("short", np.int16), ("unsigned short", np.uint16), ("signed char", np.int8), ("unsigned char", np.uint8)],
)  # fmt: skip
def test_half_to_integers_saturates_and_back(name: str, dtype: Any) -> None:
    """Towards zero, to the ends of each type, 0 for nan: as cvt.rzi of PTX."""
    info = np.iinfo(dtype)
    want = [
        0 if np.isnan(h) else int(info.max) if h == np.inf else int(info.min) if h == -np.inf
        else max(int(info.min), min(int(info.max), int(h)))
        for h in ALL
    ]  # fmt: skip
    got = mapped(f"out[i] = ({name})x[i];", name, "half", ALL, dtype)
    assert got.tolist() == want
    numbers = np.unique(
        np.clip(np.linspace(-70000, 70000, 3001).astype(np.int64), info.min, info.max)
    ).astype(dtype)
    got = mapped("out[i] = x[i];", "half", name, numbers, f16)
    np.testing.assert_array_equal(got, half_of(numbers.astype(np.float64)))


def test_an_integer_is_rounded_once() -> None:
    """2049 * 2**? by way of float32 would be rounded twice."""
    x = np.array([2049, 4098 + 1, 2**24 + 1, 65519, 65520, -65521, 2**31 - 1], np.int32)
    got = mapped("out[i] = x[i];", "half", "int", x, f16)
    np.testing.assert_array_equal(got, half_of(x.astype(np.float64)))


def test_bits_of_a_half() -> None:
    bits = mapped("out[i] = __half_as_ushort(x[i]);", "unsigned short", "half", ALL, np.uint16)
    np.testing.assert_array_equal(bits, ALL.view(np.uint16))
    got = mapped("out[i] = __ushort_as_half(x[i]);", "half", "unsigned short", ALL.view(np.uint16), f16)
    np.testing.assert_array_equal(got.view(np.uint16), ALL.view(np.uint16))


def test_a_half_as_a_condition() -> None:
    got = mapped(
        "out[i] = x[i] ? 1 : 0; if (!x[i]) out[i] = 2; if (x[i] && i) out[i] |= 4;",
        "int",
        "half",
        ALL,
        np.int32,
    )
    want = np.where(ALL == 0, 2, 1) | np.where((ALL != 0) & (np.arange(len(ALL)) > 0), 4, 0)
    np.testing.assert_array_equal(got, want)


def test_constants_are_rounded_when_compiling() -> None:
    got = mapped("const half a = 0.1; half b = 2049; half c = {}; half d[3] = {0.1f, 1e9}; out[i] = i == 0 ? a : "
                 "i == 1 ? b : i == 2 ? c : d[i - 3];", "half", "float", np.zeros(6, f32), f16)  # fmt: skip
    np.testing.assert_array_equal(got, half_of([0.1, 2049, 0, 0.1, 1e9, 0]))
    got = mapped("half a = 0.1; out[i] = a;", "float", "float", np.zeros(1, f32), f32)
    assert got[0] == f32(f16(0.1))


# ----------------------------------------------------------------------------------------------- where it lies


def test_half_in_shared_and_local_memory_structs_and_references() -> None:
    before = """struct Pair { half a; float b; };
    __device__ void set(half& to, half value) { to = value; }
    __device__ half biggest(const half* x, int n) { float m = x[0]; for (int j = 1; j < n; ++j) m = fmaxf(m, x[j]); return m; }
    template <typename T> __device__ T twice(T x) { return T(2.0f * float(x)); }
    """
    body = """__shared__ half s[64]; half local[4]; half* p = s + threadIdx.x;
    *p = x[i];
    __syncthreads();
    for (int j = 0; j < 4; ++j) local[j] = s[(threadIdx.x + j) % 64];
    Pair pair = {local[1], 3.0f}; pair.a = twice(pair.a);
    set(local[0], biggest(local, 4));
    const half& r = local[0];
    out[2 * i] = r; out[2 * i + 1] = pair.a;"""
    x = np.random.default_rng(1).normal(0, 5, 128).astype(f16)
    rows = x.reshape(2, 64)
    most = np.max([np.roll(rows, -j, 1) for j in range(4)], axis=0)
    want = np.stack([most, half_of(2 * np.roll(rows, -1, 1).astype(f32))], -1).reshape(-1)
    for schedule in SCHEDULES:
        out = cp.zeros(256, f16)
        simulate(
            kernel(body, "half* out, const half* x", before),
            (2,),
            (64,),
            (out, cp.asarray(x)),
            schedule=schedule,
        )
        np.testing.assert_array_equal(out.get(), want)
    report = profile(
        kernel(body, "half* out, const half* x", before), (2,), (64,), (cp.zeros(256, f16), cp.asarray(x))
    )
    assert report.ok, str(report)
    np.testing.assert_array_equal(report.outputs[0], want)


def test_half_by_value_and_as_dynamic_shared_memory() -> None:
    run = kernel("extern __shared__ half s[]; s[i] = h; out[i] = s[i];", "half* out, __half h")
    out = cp.zeros(8, f16)
    run((1,), (8,), (out, f16(0.1)), shared_mem=16)
    assert (out.get() == f16(0.1)).all()
    with pytest.raises(LaunchError, match="half h"):
        run((1,), (8,), (out, 0.1), shared_mem=16)
    with pytest.raises(LaunchError, match="float16"):
        run((1,), (8,), (cp.zeros(8, f32), f16(0.1)), shared_mem=16)


def test_eight_halves_in_one_access() -> None:
    run = kernel("((float4*)out)[i] = ((const float4*)x)[i];", "half* out, const half* x")
    x = cp.arange(256).astype(f16)
    report = profile(run, (1,), (32,), (cp.zeros(256, f16), x))
    assert report.ok and (report.global_load_requests, report.global_load_sectors) == (1, 16)
    np.testing.assert_array_equal(report.outputs[0], x.get())


def test_half_at_file_scope_and_in_instances() -> None:
    source = (
        HEADER
        + """__constant__ half table[4]; __device__ half last;
    template <typename T> __global__ void copy(T* out, const T* x) { out[threadIdx.x] = x[threadIdx.x]; }
    extern "C" __global__ void look(float* out) { out[threadIdx.x] = table[threadIdx.x]; last = table[1]; }"""
    )
    module = RawModule(code=source, name_expressions=("copy<half>", "copy<__half>"))
    cp.ndarray((4,), f16, module.get_global("table"))[:] = cp.asarray(np.array([1, 2.5, 3, 4], f16))
    out = cp.zeros(4, f32)
    module.get_function("look")((1,), (4,), (out,))
    assert out.get().tolist() == [1, 2.5, 3, 4]
    assert float(cp.ndarray((1,), f16, module.get_global("last")).get()[0]) == 2.5
    for name in ("copy<half>", "copy<__half>"):
        y = cp.zeros(4, f16)
        module.get_function(name)((1,), (4,), (y, cp.asarray(np.array([1, 2.5, 3, 4], f16))))
        assert y.get().tolist() == [1, 2.5, 3, 4]


def test_a_shuffle_of_half() -> None:
    got = mapped("out[i] = __shfl_xor_sync(0xffffffff, x[i], 1);", "half", "half", ALL[:256], f16)
    np.testing.assert_array_equal(got, ALL[:256].reshape(-1, 2)[:, ::-1].reshape(-1))


# ------------------------------------------------------------------------------------------ what a report says


def test_sectors_and_bytes_count_two_bytes_each() -> None:
    run = kernel("out[i] = x[i];", "half* out, const half* x")
    report = profile(run, (1,), (64,), (cp.zeros(64, f16), cp.zeros(64, f16)))
    assert (report.global_load_requests, report.global_load_sectors, report.global_load_lines) == (2, 4, 2)
    assert (report.bytes_read, report.bytes_written, report.unique_bytes, report.flops) == (128, 128, 256, 0)
    strided = kernel("out[i] = x[16 * i];", "half* out, const half* x")
    report = profile(strided, (1,), (32,), (cp.zeros(32, f16), cp.zeros(512, f16)))
    assert (report.global_load_sectors, report.global_load_sectors_ideal) == (32, 2)


@pytest.mark.parametrize(("step", "conflicts"), [(1, 0), (2, 0), (4, 1), (64, 31), (0, 0)])
def test_two_halves_share_a_word_of_a_bank(step: int, conflicts: int) -> None:
    run = kernel(f"__shared__ half s[2048]; for (int j = i; j < 2048; j += 32) s[j] = 0.0f;\nout[i] = s[i * {step}];",
                 "half* out")  # fmt: skip
    report = profile(run, (1,), (32,), (cp.zeros(32, f16),))
    assert report.lines[5].bank_conflicts == conflicts


def test_conversions_cost_nothing() -> None:
    run = kernel("out[i] = __float2half(__half2float(x[i]) * 2.0f);", "half* out, const half* x")
    assert profile(run, (1,), (32,), (cp.zeros(32, f16), cp.zeros(32, f16))).flops == 32


def test_bugs_with_half_are_found() -> None:
    out, x = cp.zeros(32, f16), cp.zeros(32, f16)
    report = profile(kernel("out[i] = x[i + 1];", "half* out, const half* x"), (1,), (32,), (out, x))
    assert report.out_of_bounds[0].index == 32
    report = profile(kernel("__shared__ half s[64]; out[i] = s[i];", "half* out"), (1,), (32,), (out,))
    assert report.uninitialised[0].array == "s"
    report = profile(kernel("half h; out[i] = h;", "half* out"), (1,), (32,), (out,))
    assert report.uninitialised[0].array == "h"
    report = profile(kernel("__shared__ half s[64]; s[i] = x[i]; out[i] = s[63 - i];", "half* out, const half* x"),
                     (1,), (64,), (cp.zeros(64, f16), cp.zeros(64, f16)))  # fmt: skip
    assert report.races[0].array == "s"
    report = profile(kernel("out[i] = *(const float*)(x + 2 * i + 1);", "float* out, const half* x"), (1,), (8,),
                     (cp.zeros(8, f32), x))  # fmt: skip
    assert report.misaligned


# ------------------------------------------------------------------------------------------------- arithmetic


@pytest.mark.parametrize("op", ["+", "-", "*", "/"])
def test_two_halves_are_computed_with_and_rounded_once(op: str) -> None:
    """Against float64, in which sums and products of halves are exact and a quotient is close enough."""
    x, y = ALL[::7], np.roll(ALL[::7], 1234)
    run = kernel(f"if (i < n) out[i] = x[i] {op} y[i];", "half* out, const half* x, const half* y, int n")
    out = cp.zeros(len(x), f16)
    run((-(-len(x) // 256),), (256,), (out, cp.asarray(x), cp.asarray(y), len(x)))
    with np.errstate(all="ignore"):
        wide = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}[op](
            x.astype(np.float64), y.astype(np.float64)
        )
    np.testing.assert_array_equal(out.get(), half_of(wide))


def test_an_operation_of_halves_is_a_flop() -> None:
    run = kernel("out[i] = __hfma(x[i], x[i], -x[i]) + hexp(x[i]);", "half* out, const half* x")
    assert profile(run, (1,), (32,), (cp.zeros(32, f16), cp.zeros(32, f16))).flops == 32 * 4


@pytest.mark.parametrize("call", ["__hmax2(x[i], x[i])", "__hmin2(x[i], x[i])"])
def test_the_larger_of_two_halves_is_no_flop(call: str) -> None:
    run = kernel(f"out[i] = {call};", "half2* out, const half2* x")
    assert profile(run, (1,), (32,), (cp.zeros(64, f16), cp.zeros(64, f16))).flops == 0
    single = call.replace("2(", "(")
    run = kernel(f"if ({single} > x[i] || __hisnan(x[i])) out[i] = x[i];", "half* out, const half* x")
    assert profile(run, (1,), (32,), (cp.zeros(32, f16), cp.zeros(32, f16))).flops == 0


def test_a_pair_of_halves_is_moved_in_one_access_and_computed_with_in_two_flops() -> None:
    run = kernel("out[i] = __hfma2(x[i], x[i], x[i]) - x[i];", "half2* out, const half2* x")
    x = cp.arange(64).astype(f16)
    report = profile(run, (1,), (32,), (cp.zeros(64, f16), x))
    assert (report.flops, report.global_load_requests, report.global_store_requests) == (32 * 6, 4, 1)
    assert report.bytes_read == 4 * 128
    want = half_of(half_of(x.get().astype(f32) ** 2 + x.get()) - x.get())
    np.testing.assert_array_equal(report.outputs[0], want)


def test_halves_are_added_atomically() -> None:
    run = kernel("atomicAdd(out + (i & 1), x[i]);", "half* out, const half* x")
    out = cp.zeros(2, f16)
    run((1,), (64,), (out, cp.ones(64, dtype=f16)))
    assert out.get().tolist() == [32, 32]


# --------------------------------------------------------------------------------------------------- not had

ARITHMETIC = [
    "h = h * n;", "f = f + h;", "f += h;", "f = 2.0f * h;", "b = h != 0;", "n = n << h;", "n = h % h;", "n = h & 1;",
    "h = h + 1.0f;", "b = h < f;", "n = ~h;", "h = 1 - h;",
]  # fmt: skip
OTHERS = {
    "b = h ? h : f;": "'half' 'float'",
    "f = exp(h);": "'exp' overloaded half",
    "h = max(h, h);": "'max' overloaded half",
    "h = __hadd(h, 1.0f);": "'__hadd' overloaded half",
    "f = x[h];": "half",
    "half2 z, y; b = z == y;": "half2",
    "half2 z; z = __shfl_xor_sync(~0u, z, 1);": "'__shfl_xor_sync' overloaded half2",
    "half2* z; z[n++] += z[0];": "'+=' half2",
    "__half2_raw z;": "__half2_raw",
    "h = __hadd_sat(h, h);": "__hadd_sat",
    "h = htanh(h);": "htanh",
    "__float2half(f) = h;": "stored",
    'printf("%f", h);': "unsupported '%f' 1 'half'",
}
PARAMETERS = "float* x, half* p, const half* q, int n, float f, half h, bool b, size_t l"


def refused(body: str, before: str = HEADER) -> CompileError:
    with pytest.raises(CompileError) as caught:
        compile_source(f"{before}__global__ void k({PARAMETERS}) {{\n{body}\n}}")
    return caught.value


@pytest.mark.parametrize("body", ARITHMETIC)
def test_arithmetic_of_a_half_with_another_type_is_refused(body: str) -> None:
    error = refused(body)
    assert (error.kind, error.line) == ("unsupported", 3)
    assert says(error.message, "half") and says(error.hint, "__half2float")


@pytest.mark.parametrize("body", OTHERS)
def test_what_else_there_is_not(body: str) -> None:
    error = refused(body)
    assert error.kind == "unsupported" and says(error.message, OTHERS[body])


@pytest.mark.parametrize(
    "body",
    ["h = l;", "constexpr half z = 1.0f;", "switch (h) { }", "half* r = q;", "h = p;", "h = nullptr;", "return h;",
     "q[0] = h;", "typedef int T; h.x = 1;"],
)  # fmt: skip
def test_mistakes_with_half(body: str) -> None:
    assert refused(body).kind == "error"


def test_without_the_header_there_is_no_half() -> None:
    for source in ("__global__ void k(half* x) { }", "__global__ void k(const __half x) { }",
                   "__global__ void k(float* x) { half h; }", "__global__ void k(float* x) { x[0] = __half2float(1); }"):  # fmt: skip
        with pytest.raises(CompileError) as caught:
            compile_source(source)
        assert caught.value.kind == "error" and says(caught.value.message, "undefined")
        assert says(caught.value.hint, "<cuda_fp16.h>")
    compile_source(
        "__device__ int half(int x) { return x / 2; } __global__ void k(int* p) { p[0] = half(4); }"
    )
    compile_source("typedef unsigned short half; __global__ void k(half* p) { p[0] = 3; }")


def test_with_the_header_the_name_can_be_hidden_but_not_taken() -> None:
    compile_source(HEADER + "__global__ void k(int* p) { int half = 3; p[0] = half * 2; }")
    compile_source(HEADER + '#include "cuda_fp16.h"\n__global__ void k(half* p) { p[0] = 3; }')
    for taken in ("typedef unsigned short half;", "struct half { int a; };", "constexpr int half = 3;",
                  "__device__ int half(int a) { return a; }"):  # fmt: skip
        with pytest.raises(CompileError):
            compile_source(HEADER + taken + "__global__ void k(int* p) { }")
    compile_source("#include <cuda_bf16.h>\n__global__ void k(half* p) { p[0] = 3; }")


def test_a_first_value_at_file_scope_is_refused() -> None:
    for text in (
        "__device__ half c = 1.0f;",
        "const half c = 1.0f;",
        "__constant__ half c[2] = {1.0f, 2.0f};",
    ):
        with pytest.raises(CompileError, match=r"dynamic.*initialization"):
            compile_source(HEADER + text)


def test_overflow_to_infinity_warns_nobody() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = mapped(
            "half a = 1e10f; out[i] = x[i]; if (i == 1) out[i] = a;",
            "half",
            "float",
            np.array([1e6, 0], f32),
            f16,
        )
    assert got.tolist() == [np.inf, np.inf]
