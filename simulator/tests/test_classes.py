"""Classes, unions, namespaces, functions as values: what is refused, and what launches and reports say."""

from __future__ import annotations

import numpy as np
import pytest

from warplens import CompileError, RawKernel, RawModule, cp, profile
from warplens.errors import LaunchTypeError
from warplens.language.frontend import compile_source

HEAD = 'extern "C" __global__ void k(float* x) { int t = threadIdx.x;'


def totals(before: str, body: str) -> dict[str, int]:
    """What a report counts."""
    x = cp.arange(64, dtype=cp.float32)
    report = profile(RawKernel(f"{before}\n{HEAD} {body} }}", "k"), (1,), (64,), (x,))
    assert report.ok, str(report)
    names = ("global_load_requests", "global_store_requests", "flops", "shared_load_requests", "bytes_read")
    return {name: getattr(report, name) for name in names}


def test_a_method_counts_what_its_statements_count() -> None:
    pair = "struct P { float a, b; __device__ float dot(float x) const { return a * x + b; } };"
    by_method = totals(pair, "P p{x[t], 2.0f}; x[t] = p.dot(3.0f);")
    assert by_method == totals(pair, "P p{x[t], 2.0f}; x[t] = p.a * 3.0f + p.b;")
    assert by_method["flops"] == 128 and by_method["global_load_requests"] == 2


def test_a_method_of_an_object_in_memory_reads_only_what_it_names() -> None:
    cell = "struct Cell { float v, w; __device__ float get() const { return v; } };"
    found = totals(
        cell, "Cell* c = (Cell*)x; float a = c[t / 2].get(); __syncthreads(); if (t == 64) x[t] = a;"
    )
    assert found["bytes_read"] == 4 * 64 and found["global_load_requests"] == 2


def test_a_kernel_in_a_namespace_is_found_by_its_whole_name() -> None:
    source = "namespace a { namespace b { __global__ void fill(int* x, int v) { x[threadIdx.x] = v; } } }"
    kernel = RawModule(code=source, name_expressions=["a::b::fill"]).get_function("a::b::fill")
    x = cp.zeros(4, dtype=cp.int32)
    kernel((1,), (4,), (x, 7))
    assert x.get().tolist() == [7] * 4


def test_a_kernel_template_of_a_functor_is_found_by_its_type() -> None:
    source = """
    namespace ops { struct Add { __device__ int operator()(int a, int b) const { return a + b; } }; }
    template <class F, int N> __global__ void map(int* x) { F f; x[threadIdx.x] = f(x[threadIdx.x], N); }"""
    name = "map<ops::Add, 3>"
    kernel = RawModule(code=source, name_expressions=[name]).get_function(name)
    x = cp.arange(4, dtype=cp.int32)
    kernel((1,), (4,), (x,))
    assert x.get().tolist() == [3, 4, 5, 6]


STRUCTS = """
union Word { float f; unsigned u; };
struct Mix { int n; float w[3]; float2 d[2]; Word word; const float* in; };
extern "C" __global__ void k(Mix m, float* out) {
    int i = threadIdx.x;
    out[i] = m.n + m.w[i % 3] * m.in[i] + m.d[1].y + (m.word.u == 0x3f800000u);
}"""


def mix(x: object, weights: object) -> tuple[object, ...]:
    pairs = ((np.float32(1), np.float32(2)), (np.float32(3), np.float32(4)))
    return (2, weights, pairs, (np.float32(1),), x)


def test_a_struct_with_arrays_a_union_and_a_pointer_is_an_argument() -> None:
    x, out = cp.arange(6, dtype=cp.float32), cp.zeros(6, dtype=cp.float32)
    weights = np.array([1, 2, 3], np.float32)
    args = (mix(x, weights), out)
    RawKernel(STRUCTS, "k")((1,), (6,), args)
    expected = 2 + weights[np.arange(6) % 3] * np.arange(6) + 4 + 1
    np.testing.assert_array_equal(out.get(), expected)
    report = profile(RawKernel(STRUCTS, "k"), (1,), (6,), args)
    np.testing.assert_array_equal(report.outputs[1], expected)


def test_an_array_of_another_length_is_refused() -> None:
    x = cp.zeros(6, dtype=cp.float32)
    with pytest.raises(LaunchTypeError, match=r"tuple.*NumPy.*array.*3"):
        RawKernel(STRUCTS, "k")((1,), (6,), (mix(x, np.ones(2, np.float32)), x))


def test_a_function_that_nobody_calls_may_need_what_is_missing() -> None:
    source = """
    __device__ unsigned odd(unsigned a) { return __vadd4(a, a); }
    extern "C" __global__ void k(unsigned* x) { x[0] = %s; }"""
    assert compile_source(source % "1").kernels
    with pytest.raises(CompileError, match="__vadd4"):
        compile_source(source % "odd(1)")


def test_a_pointer_in_an_object_in_global_memory_is_refused_by_name() -> None:
    source = 'struct P { float* p; };\nextern "C" __global__ void k(P* q, float* x) { x[0] = q[0].p[1]; }'
    with pytest.raises(CompileError, match="pointer"):
        RawKernel(source, "k").code("lockstep")


def test_objects_at_file_scope_begin_with_what_is_written() -> None:
    source = """
    struct Cell {
        int n; float w[2];
        __device__ int get() const { return n; }
        __device__ void set(int k) { n = k; }
    };
    __device__ Cell count;
    __constant__ Cell fixed = {4, {1.5f, 2.5f}};
    extern "C" __global__ void k(float* x) {
        if (threadIdx.x == 0) count.set(5);
        __syncthreads();
        x[threadIdx.x] = fixed.get() + fixed.w[threadIdx.x & 1] + count.get() * 10;
    }"""
    x = cp.zeros(2, dtype=cp.float32)
    RawKernel(source, "k")((1,), (2,), (x,))
    assert x.get().tolist() == [55.5, 56.5]
    with pytest.raises(CompileError, match=r"class.*'Made'"):
        compile_source("struct Made { int n; __device__ Made() : n(3) {} }; __device__ Made made;")
