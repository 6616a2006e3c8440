"""The report that counts uniform blocks once is the plain recorder's, with all that is in it."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import pytest
from agreement import compiled, on_device
from kernel_files import Example, examples
from random_kernels import usual
from real_kernels import FILES, Case
from same_reports import assert_same, every_lane
from tiers import check_each, slow_but

import warplens.engine.run
from warplens import CompileError, RawKernel, RawModule, Report, cp, profile
from warplens.detect.shadow import Shadow


def both(run: Callable[[], Report]) -> Report:
    """The report of a run, which must be the same without short cuts."""
    fast = run()
    with every_lane():
        assert_same(fast, run())
    return fast


def launched(launch: Example) -> Callable[[], Report]:
    kernel, args = RawKernel(launch.source, "k"), launch.device_args()
    return lambda: profile(kernel, launch.grid, launch.block, args, shared_mem=launch.shared_mem)


@pytest.mark.parametrize(
    "launch",
    slow_but(5, examples("bug", "correct")),
    ids=lambda one: one.id,
)
def test_of_planted_bugs_and_correct_kernels(launch: Example) -> None:
    both(launched(launch))


@pytest.mark.nightly
@pytest.mark.parametrize("file", FILES)
def test_of_real_kernels(file: str) -> None:
    def check(case: Case) -> None:
        names = (case.kernel,) if "<" in case.kernel else None
        kernel = RawModule(code=case.source, name_expressions=names).get_function(case.kernel)
        args = on_device(case.args)
        both(partial(profile, kernel, case.grid, case.block, args, shared_mem=case.shared_mem))

    check_each(FILES[file], check)


@pytest.mark.nightly
def test_of_snippets() -> None:
    host = [np.arange(256, dtype=np.int32) * 3 % 64, np.zeros(256, np.int32), np.zeros(256, np.float32)]
    args = on_device(host)

    def check(snippet: Example) -> None:
        try:
            kernel = RawKernel(snippet.source, "k")
        except CompileError as error:
            assert error.kind == "unsupported"
            return
        for grid in ((1,), (3,), (2, 2, 2)):
            both(partial(profile, kernel, grid, (64,), args))

    check_each(examples("snippet"), check)


@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(1), id="one"),
        pytest.param(range(1, 10), id="some", marks=pytest.mark.slow),
        *(pytest.param(range(n, n + 10), id=f"{n}-", marks=pytest.mark.nightly) for n in range(10, 300, 10)),
    ],
)
def test_of_random_kernels(seeds: range) -> None:
    def check(seed: int) -> None:
        random = usual(seed)
        args = on_device(random.arguments())
        kernel = compiled(random.source, random.name)
        both(partial(profile, kernel, random.grid, random.block, args, shared_mem=random.shared_mem))

    check_each(seeds, check)


# ------------------------------------------------------------------------------------- what blocks do apart

APART = {
    "all alike": "s[t] = t; __syncthreads(); y[i] = s[(t + 1) % size];",
    "no barrier": "s[t] = t; y[i] = s[(t + 1) % size];",
    "no barrier, the same value": "s[0] = 7; y[i] = s[0];",
    "no barrier, another value in one block": "s[t % 8] = b == 11 ? t : 7; y[i] = s[t % 8];",
    "no barrier, then atomics": "s[t % 8] = 7; atomicAdd(&s[t % 8], 1); s[t % 8] = 8; y[i] = s[t % 8];",
    "a race after blocks parted": "s[t] = t; s[(t + b) % size] = 1; __syncthreads(); s[t % 4] = 2;",
    "one block misses the barrier": "s[t] = t; if (b != 7) __syncthreads(); y[i] = s[size - 1 - t];",
    "one block has one more": "s[t] = t; if (b == 7) __syncthreads(); y[i] = s[size - 1 - t]; s[t] = 1;",
    "some threads miss it": "s[t] = t; if (t < 40) __syncthreads(); y[i] = s[size - 1 - t];",
    "a block leaves": "if (b == 5) return; s[t] = t; __syncthreads(); y[i] = s[size - 1 - t];",
    "half of the last block leaves": "if (i >= n - 30) return; s[t] = t; __syncthreads(); y[i] = s[t];",
    "a guard": "s[t] = i < n - 30 ? x[i] : 0; __syncthreads(); if (i < n - 30) y[i] = s[t / 2];",
    "a tree": "s[t] = x[i]; __syncthreads(); for (int k = 64; k > 0; k /= 2) {"
    " if (t < k && t + k < size) s[t] += s[t + k]; __syncthreads(); } if (t == 0) y[b] = s[0];",
    "a tree without barriers": "s[t] = x[i]; for (int k = 64; k > 0; k /= 2)"
    " if (t < k && t + k < size) s[t] += s[t + k]; if (t == 0) y[b] = s[0];",
    "bytes and words": "char *c = (char *)s; c[t] = t; __syncthreads(); y[i] = s[t / 4]; s[t] = 1;",
    "words and bytes": "s[t] = 1; __syncthreads(); y[i] = ((char *)s)[t + b % 2]; ((char *)s)[t] = b;",
    "vectors": "if (t < 16) ((int4 *)s)[t] = ((const int4 *)x)[t]; __syncthreads(); y[i] = s[t % 64];",
    "misaligned": "int4 v = ((const int4 *)(x + 1))[t % 2]; y[i] = v.x;",
    "not initialised": "if (t < 50) s[t] = 1; __syncthreads(); y[i] = s[t];",
    "not initialised in one block": "if (b != 3) s[t] = 1; __syncthreads(); y[i] = s[t];",
    "out of bounds in one block": "y[i] = x[b == 9 ? n + t : i]; s[t + 50] = 1;",
    "out of bounds in all": "s[t + 70] = 1; y[i] = s[t - 1];",
    "local arrays": "int l[8]; for (int k = 0; k < 8; k++) l[k] = k * t;"
    " y[i] = l[3] + l[x[i] & 7] + l[b % 8];",
    "local arrays, not initialised": "int l[8]; for (int k = 0; k < 7; k++) l[k] = k;"
    " y[i] = l[t & 7] + l[7];",
    "local arrays written apart": "int l[8]; l[t & 7] = 1; y[i] = l[t / 8 & 7];",
    "local arrays under a mask": "int l[4]; if (t > 5) l[0] = 1; l[1] = 2; y[i] = l[0] + l[1];",
    "syncwarp": "s[t] = t; __syncwarp(); y[i] = s[t ^ 1]; __syncwarp(); s[t] = 1; y[i] = s[(t + 32) % 64];",
    "syncwarp in one block": "s[t] = t; if (b == 4) __syncwarp(); y[i] = s[t ^ 1]; __syncthreads();"
    " s[t] = 2;",
    "syncwarp of halves": "s[t] = t; if (t % 32 < 16) __syncwarp(0xffff); y[i] = s[t ^ 1];"
    " y[i] = s[t ^ 16];",
    "columns": "y[i] = x[(t % 8) * 90 + b % 3]; s[t * 8 % 128] = t; __syncthreads();"
    " y[i] = s[(t * 32) % 128];",
    "blocks moved by 36 bytes": "y[b * 9 + t % 9] = x[b * 9 + t % 9] + x[b / 2 * 32 + t % 32];",
    "in place": "y[i] = y[i] + 1; y[i] += y[(i + 1) % n];",
    "written by a cast": "y[i] = x[i] + x[0]; ((int *)x)[i] = 4; y[i] = x[(i + 1) % n];",
    "histogram": "s[t] = 0; __syncthreads(); atomicAdd(&s[x[i] & 31], 1); __syncthreads();"
    " atomicAdd(&y[t], s[t]);",
    "the last block": "__shared__ int last; y[b] = b; __threadfence();"
    " if (t == 0) last = atomicAdd(&y[n - 1], 1);"
    " __syncthreads(); if (last == 29) { __threadfence(); y[100 + t] = y[t % 30]; }",
    "votes and shuffles": "int v = __shfl_xor_sync(0xffffffff, x[i], 1);"
    " y[i] = v + __syncthreads_or(b == 2);",
    "at file scope": "y[i] = table[t % 4] + total; if (t == 0) total = b;",
    "loops": "for (int k = 0; k < b % 4 + t % 3; k++) { s[t] = k; y[i] += s[t]; }",
    "divisions": "y[i] = 5 / (x[i] % 3) + 7 / (b - 3);",
}  # fmt: skip


@pytest.mark.parametrize(
    "block", [pytest.param((64,), id="64"), pytest.param((8, 9), id="8x9", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("what", slow_but(3, APART))
def test_of_blocks_that_differ(what: str, block: tuple[int, ...]) -> None:
    source = f"""
    __device__ int total; __constant__ int table[4] = {{1, 2, 3, 4}};
    extern "C" __global__ void k(const int *x, int *y, int n) {{
        __shared__ int s[128];
        int b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
        int t = threadIdx.x + blockDim.x * threadIdx.y, size = blockDim.x * blockDim.y, i = b * size + t;
        {APART[what]}
    }}"""
    n = 30 * math.prod(block)
    x = cp.asarray(np.random.default_rng(0).integers(0, 40, n).astype(np.int32))
    args = (x, cp.zeros(n, cp.int32), np.int32(n))
    kernel = RawKernel(source, "k")
    for lanes in (65_536, 320):  # all blocks together, and in chunks that end anywhere
        with mock.patch.object(warplens.engine.run, "LANES", lanes):
            both(partial(profile, kernel, (5, 3, 2), block, args))


def test_what_is_only_read_is_followed() -> None:
    source = """
    __device__ void put(float *p, int i, float v) { p[i] = v; }
    __device__ float get(float *p, int i) { return p[i]; }
    struct Two { float *u; float *v; };
    extern "C" __global__ void k(float *a, float *b, float *c, float *d, float *e, int *g, int *h, Two s) {
        int t = threadIdx.x;
        float *q = d + 1;
        q[t] = get(a, t);
        put(b, t, 1.0f);
        c[g[t]] += e[t] + s.u[t];
        atomicAdd(&h[t], 1);
    }"""
    found = RawKernel(source, "k").facts.written_variables
    assert sorted(v.name for v in found if v.storage == "param") == ["b", "c", "d", "h", "p"]


def test_blocks_are_counted_once() -> None:
    """Else the tests above compare the plain recorder with itself."""
    source = """extern "C" __global__ void k(const float *x, float *y, int n) {
        __shared__ float s[64];
        int i = blockIdx.x * 64 + threadIdx.x;
        for (int k = 0; k < n; k++) { s[threadIdx.x] = x[i]; __syncthreads(); y[i] = s[63 - threadIdx.x];
            __syncthreads(); }
    }"""
    args = (cp.zeros(640, cp.float32), cp.zeros(640, cp.float32), np.int32(5))
    looked: list[int] = []
    real = Shadow.access

    def counting(self: Shadow, kind: str, positions: Any, *rest: Any) -> Any:
        looked.append(len(positions))
        return real(self, kind, positions, *rest)

    with mock.patch.object(Shadow, "access", counting):
        profile(RawKernel(source, "k"), (10,), (64,), args)
    assert looked == [64, 64, 640] * 5
