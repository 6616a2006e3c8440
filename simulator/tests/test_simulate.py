"""Kernels run: what C says comes out, under every schedule; what stops a kernel; the traps of lockstep."""

# ruff: noqa: E501 (one kernel, one line)

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from key_words import says

from warplens import CompileError, KernelFault, RawKernel, RawModule, cp, profile, simulate
from warplens.analysis.traversal import BARRIERS
from warplens.engine.run import SCHEDULES, chunks

ROOT = Path(__file__).parents[2]


def kernel(body: str, parameters: str = "int* out", before: str = "", name: str = "k") -> RawKernel:
    """A kernel of a few lines."""
    return RawKernel(f'{before}\nextern "C" __global__ void {name}({parameters}) {{\n{body}\n}}', name)


def results(
    body: str,
    n: int = 8,
    block: tuple[int, ...] = (8,),
    grid: tuple[int, ...] = (1,),
    dtype: Any = np.int32,
    before: str = "",
    parameters: str = "",
) -> list[Any]:
    """What a kernel writes into `out`, the same under every schedule and when watched."""
    name = {
        "int32": "int",
        "uint32": "unsigned",
        "float32": "float",
        "float64": "double",
        "int64": "long long",
    }
    k = kernel(body, parameters or f"{name[np.dtype(dtype).name]}* out", before)
    found = []
    for schedule in SCHEDULES:
        out = cp.zeros(n, dtype)
        simulate(k, grid, block, (out,), schedule=schedule)
        found.append(out.get().tolist())
    report = profile(k, grid, block, (cp.zeros(n, dtype),))
    assert not report.out_of_bounds, report
    found.append(report.outputs[0].tolist())
    assert all(f == found[0] for f in found[1:]), found
    return found[0]


I = "int i = threadIdx.x;"  # noqa: E741


def test_threads_blocks_and_grids_are_numbered_as_in_cuda() -> None:
    body = """
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z, w = gridDim.x * blockDim.x, h = gridDim.y * blockDim.y;
    out[x + w * (y + h * z)] = x + 100 * y + 10000 * z;"""
    expected = [x + 100 * y + 10000 * z for z in range(4) for y in range(6) for x in range(6)]
    assert results(body, 144, (2, 3, 2), (3, 2, 2)) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("out[i] = -7 / (i + 1);", [-7, -3, -2, -1, -1, -1, -1, 0]),
        ("out[i] = -7 % (i + 1);", [0, -1, -1, -3, -2, -1, 0, -7]),
        ("out[i] = 1 << (i * 8);", [1, 256, 65536, 16777216, 0, 0, 0, 0]),
        ("out[i] = -16 >> (i * 6);", [-16, -1, -1, -1, -1, -1, -1, -1]),
        ("out[i] = i - 4u > 100;", [1, 1, 1, 1, 0, 0, 0, 0]),
        ("out[i] = 2147483647 + i;", [2147483647, *range(-2147483648, -2147483641)]),
        ("char c = i * 100; out[i] = c;", [0, 100, -56, 44, -112, -12, 88, -68]),
        ("unsigned char c = -i; out[i] = c;", [0, 255, 254, 253, 252, 251, 250, 249]),
        ("out[i] = (int)((i - 3) * 1e9f);", [-2147483648, -2000000000, -1000000000, 0, 1000000000, 2000000000, *[2147483647] * 2]),
        ("out[i] = i ? 100 / i : -1;", [-1, 100, 50, 33, 25, 20, 16, 14]),
        ("out[i] = (i & 1) && 10 / (i & 1) > 5 || i == 4;", [0, 1, 0, 1, 1, 1, 0, 1]),
        ("int a = i; out[i] = a++ * 10 + a;", [1, 12, 23, 34, 45, 56, 67, 78]),
        ("int a = i; out[i] = ++a * 10 + a--;", [11, 22, 33, 44, 55, 66, 77, 88]),
        ("int a[3] = {i, 2}; a[i % 3] += 5; out[i] = a[0] * 100 + a[1] * 10 + a[2];",
         [520, 170, 225, 820, 470, 525, 1120, 770]),
        ("int s = 0; for (int k = 0; k < i; ++k) s += k; out[i] = s;", [0, 0, 1, 3, 6, 10, 15, 21]),
        ("int s = 0, k = 0; while (true) { if (k == i) break; if (k++ % 2) continue; s += k; } out[i] = s;",
         [0, 1, 1, 4, 4, 9, 9, 16]),
        ("int s = 0, k = i; do { s += k; k -= 2; } while (k > 0); out[i] = s;", [0, 1, 2, 4, 6, 9, 12, 16]),
        ("for (int k = 0; k < 10; ++k) { if (k * k > i) { out[i] = k; return; } } out[i] = -1;",
         [1, 2, 2, 2, 3, 3, 3, 3]),
        ("int s = 0; for (int k = 0; k < 4; ++k) for (int j = 0; j < 4; ++j) { if (j > i) break; if (k == i) continue; s += j; } out[i] = s;",
         [0, 3, 9, 18, 24, 24, 24, 24]),
        ("out[i] = i < 4 ? i < 2 ? 1 : 2 : 3;", [1, 1, 2, 2, 3, 3, 3, 3]),
        ("if (i % 2) return; out[i] = 1; if (i > 3) return; out[i] += 1;", [2, 0, 2, 0, 1, 0, 1, 0]),
        ("int* p = out + i; *p = 5; p[0] += i; out[i] += (p - out);", [5, 7, 9, 11, 13, 15, 17, 19]),
        ("unsigned u = i; u -= 3u; out[i] = u / 1000000000u;", [4, 4, 4, 0, 0, 0, 0, 0]),
        ("long long m = 1; for (int k = 0; k < 5 + i; ++k) m *= 1000; out[i] = m % 1009;",
         [pow(1000, 5 + i) % 1009 if 1000 ** (5 + i) < 2**63 else None for i in range(2)]),
        ("int x = 3; if (i > 2) { int x = i; out[i] = x; } else out[i] = x;", [3, 3, 3, 3, 4, 5, 6, 7]),
        ("out[i] = __popc(i) + 10 * __clz(i | 1) + 1000 * __ffs(i);", [310, 1311, 2301, 1302, 3291, 1292, 2292, 1293]),
        ("switch (i % 4) { case 0: out[i] = 1; break; case 1: case 2: out[i] = 2; default: out[i] += 10; }",
         [1, 12, 12, 10, 1, 12, 12, 10]),
    ],
)  # fmt: skip
def test_what_c_says(body: str, expected: list[Any]) -> None:
    n = len(expected)
    got = results(I + body, 8)[:n]
    assert got == expected


def test_float_arithmetic_is_single_and_a_plain_constant_is_double() -> None:
    third = np.float32(1) / np.float32(3)
    assert results(I + "float x = 1.0f / 3.0f; out[i] = x * 0.1;", 1, (1,), dtype=np.float64) == [
        float(third) * 0.1
    ]
    assert results(I + "float x = 1.0f / 3.0f; out[i] = x * 0.1f;", 1, (1,), dtype=np.float64) == [
        float(third * np.float32(0.1))
    ]


def test_a_float_constant_is_rounded_before_it_meets_a_double() -> None:
    assert results("double d = 3.0; out[0] = d * 0.1f;", 1, (1,), dtype=np.float64) == [
        3.0 * float(np.float32(0.1))
    ]


def test_functions_references_pointers_and_recursion() -> None:
    before = """
    __device__ void swap(int& a, int& b) { int t = a; a = b; b = t; }
    __device__ int larger(const int* p, int n) { int best = p[0]; for (int i = 1; i < n; ++i) if (p[i] > best) best = p[i]; return best; }
    __device__ int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }
    """
    body = (
        I
        + """
    int a = i, b = 10 * i;
    swap(a, b);
    int both[2] = {a, b};
    out[i] = larger(both, 2) * 1000 + b * 100 + factorial(i % 5);"""
    )
    facts = [1, 1, 2, 6, 24]
    assert results(body, before=before) == [10 * i * 1000 + i * 100 + facts[i % 5] for i in range(8)]


def test_a_pointer_chosen_by_the_thread() -> None:
    k = kernel(
        "int i = threadIdx.x; const int* p = i % 2 ? a : b; out[i] = p[i]; *(i < 4 ? out : other) = 7;",
        "const int* a, const int* b, int* out, int* other",
    )
    a, b = cp.arange(8, dtype=cp.int32), cp.arange(8, dtype=cp.int32) * 10
    for schedule in SCHEDULES:
        out, other = cp.zeros(8, cp.int32), cp.zeros(1, cp.int32)
        simulate(k, (1,), (8,), (a, b, out, other), schedule=schedule)
        assert out.get().tolist()[1:] == [1, 20, 3, 40, 5, 60, 7] and other.get().tolist() == [7]


def test_vectors() -> None:
    k = kernel(
        """int i = threadIdx.x;
        float4 v = reinterpret_cast<const float4*>(x)[i];
        v.x += v.w; v.y *= 2.0f;
        ((float4*)y)[i] = v;
        float2 h = make_float2(v.z, 1.0f);
        z[i] = h.x + h.y;""",
        "const float* x, float* y, float* z",
    )
    x = np.arange(32, dtype=np.float32)
    for schedule in SCHEDULES:
        y, z = cp.zeros(32, cp.float32), cp.zeros(8, cp.float32)
        simulate(k, (1,), (8,), (cp.asarray(x), y, z), schedule=schedule)
        rows = x.reshape(8, 4).copy()
        rows[:, 0] += rows[:, 3]
        rows[:, 1] *= 2
        assert (y.get() == rows.ravel()).all() and (z.get() == rows[:, 2] + 1).all()


@pytest.mark.parametrize("threads", [32, 40, 96])
def test_shuffles_and_votes(threads: int) -> None:
    body = """
    int i = threadIdx.x, lane = i % 32;
    unsigned all = __activemask();
    int v = i * 3;
    out[i] = __shfl_down_sync(all, v, 1) + 1000 * __shfl_up_sync(all, lane, 2) + 100000 * __shfl_xor_sync(all, lane, 1);
    out[i] += __any_sync(all, lane == 3) + __popc(__ballot_sync(all, lane % 2)) * 10000000;
    """
    expected = []
    for i in range(threads):
        lane, width = i % 32, min(32, threads - i // 32 * 32)
        down = (i + 1) * 3 if lane + 1 < width else (i * 3 if lane == 31 else None)
        up = lane - 2 if lane >= 2 else lane
        expected.append((down, up, lane ^ 1, width // 2))
    got = results(body, threads, (threads,))
    for g, (down, up, other, odd) in zip(got, expected):
        if down is not None:
            assert g == down + 1000 * up + 100000 * other + 1 + odd * 10000000


def test_atomics_give_each_thread_what_was_there_before() -> None:
    k = kernel(
        "int i = blockIdx.x * blockDim.x + threadIdx.x; int t = atomicAdd(count, i % 3 + 1); if (i < n) old[i] = t;"
        "atomicMax(best, i * 7 % 1000); atomicExch(last, i); atomicCAS(won, 0, i + 1); atomicXor(bits, i);",
        "int* count, int* old, int* best, int* last, int* won, int* bits, int n",
    )
    n = 1000
    orders = {"lockstep": range(1024), "forward": range(1024), "reverse": range(1023, -1, -1)}
    for schedule, order in orders.items():
        count, best, last, won, bits = (cp.zeros(1, cp.int32) for _ in range(5))
        old = cp.zeros(n, cp.int32)
        simulate(k, (4,), (256,), (count, old, best, last, won, bits, n), schedule=schedule)
        total, seen = 0, np.zeros(1024, int)
        for i in order:
            seen[i] = total
            total += i % 3 + 1
        assert count.item() == total and best.item() == 999
        assert old.get().tolist() == seen[:n].tolist()
        assert (last.item(), won.item()) == (order[-1], order[0] + 1) and bits.item() == 0


def test_histogram_in_shared_memory() -> None:
    k = kernel(
        """__shared__ int bins[16];
        if (threadIdx.x < 16) bins[threadIdx.x] = 0;
        __syncthreads();
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[x[i]], 1);
        __syncthreads();
        if (threadIdx.x < 16) atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);""",
        "const int* x, int* out, int n",
    )
    x = np.random.default_rng(0).integers(0, 16, 5000).astype(np.int32)
    for schedule in SCHEDULES:
        out = cp.zeros(16, cp.int32)
        simulate(k, (5,), (96,), (cp.asarray(x), out, 5000), schedule=schedule)
        assert (out.get() == np.bincount(x, minlength=16)).all()


REVERSE = """
    __shared__ int tile[64];
    int i = threadIdx.x;
    tile[i] = i * i;
    BARRIER
    out[i] = tile[63 - i];"""


def test_a_missing_barrier_shows_in_the_schedules_of_warps() -> None:
    right = [(63 - i) ** 2 for i in range(64)]
    assert results(REVERSE.replace("BARRIER", "__syncthreads();"), 64, (64,)) == right
    bad = kernel(REVERSE.replace("BARRIER", ""))
    found = {}
    for schedule in SCHEDULES:
        out = cp.zeros(64, cp.int32)
        simulate(bad, (1,), (64,), (out,), schedule=schedule)
        found[schedule] = out.get().tolist()
    assert found["lockstep"] == right and found["forward"] != right and found["reverse"] != right
    report = profile(bad, (1,), (64,), (cp.zeros(64, cp.int32),))
    assert not report.ok and {race.kind for race in report.races} <= {"shared", "warp"}


def test_a_barrier_in_a_loop_and_in_a_function() -> None:
    before = """
    __device__ int total(int* s, int v) {
        int i = threadIdx.x;
        s[i] = v;
        __syncthreads();
        for (int step = blockDim.x / 2; step > 0; step /= 2) {
            if (i < step) s[i] += s[i + step];
            __syncthreads();
        }
        int sum = s[0];
        __syncthreads();
        return sum;
    }"""
    body = """extern __shared__ int s[];
    out[threadIdx.x] = total(s, threadIdx.x) + total(s, 1);"""
    k = kernel(body, before=before)
    for schedule in SCHEDULES:
        out = cp.zeros(128, cp.int32)
        simulate(k, (1,), (128,), (out,), 128 * 4, schedule=schedule)
        assert set(out.get().tolist()) == {128 * 127 // 2 + 128}
    assert profile(k, (1,), (128,), (cp.zeros(128, cp.int32),), 512).ok


def test_a_uniform_read_of_shared_memory_keeps_its_value() -> None:
    body = """
    __shared__ int s[2];
    s[0] = 1;
    __syncthreads();
    int before = s[0];
    __syncthreads();
    s[0] = 2;
    out[blockIdx.x] = before;"""
    assert results(body, 4, (32,), (4,)) == [1] * 4


def test_blocks_in_chunks() -> None:
    for grid in ((1000, 1, 1), (3, 500, 1), (2, 3, 100), (70_000, 2, 1)):
        seen = []
        for (x, y, z), (a, b, c) in chunks(grid, 256, 65_536):
            assert a * b * c * 256 <= 65_536
            seen.append((x + grid[0] * (y + grid[1] * z), a * b * c))
        at = 0
        for first, count in seen:
            assert first == at
            at += count
        assert at == np.prod(grid)


def test_grids_larger_than_a_chunk() -> None:
    k = kernel(
        "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = 2 * x[i] + blockIdx.x;",
        "const int* x, int* y, int n",
    )
    n = 200_001
    x, y = cp.arange(n, dtype=cp.int32), cp.zeros(n, cp.int32)
    k((-(-n // 128),), (128,), (x, y, n))
    assert (y.get() == 2 * np.arange(n) + np.arange(n) // 128).all()


def test_templates_of_a_module() -> None:
    module = RawModule(
        code="template <typename T, int N> __global__ void times(T* x) { x[threadIdx.x] *= N; }",
        name_expressions=("times<float, 3>", "times<int, 5>"),
    )
    x, y = cp.arange(4, dtype=cp.float32), cp.arange(4, dtype=cp.int32)
    module.get_function("times<float, 3>")((1,), (4,), (x,))
    module.get_function("times<int, 5>")((1,), (4,), (y,))
    assert x.tolist() == [0.0, 3.0, 6.0, 9.0] and y.tolist() == [0, 5, 10, 15]


# --------------------------------------------------------------------------------------------------- what stops it


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_out_of_bounds_stops_with_thread_array_and_index(schedule: str) -> None:
    k = kernel("int i = blockIdx.x * blockDim.x + threadIdx.x;\nout[i + 1] = i;")
    with pytest.raises(KernelFault, match=r"out\[10\]") as caught:
        simulate(k, (2,), (5,), (cp.zeros(10, cp.int32),), schedule=schedule)
    finding: Any = caught.value.finding
    assert finding.kind == "out_of_bounds" or "out" in finding.array
    assert (finding.line, finding.block, finding.thread) == (4, (1, 0, 0), (4, 0, 0))


def test_a_guard_in_the_wrong_order_is_out_of_bounds() -> None:
    for test, fine in (("out[i] == 0 && i < n", False), ("i < n && out[i] == 0", True)):
        k = kernel(f"int i = threadIdx.x; if ({test}) out[i] = 1;", "int* out, int n")
        if fine:
            k((1,), (16,), (cp.zeros(10, cp.int32), 10))
        else:
            with pytest.raises(KernelFault, match=r"out\[10\]"):
                k((1,), (16,), (cp.zeros(10, cp.int32), 10))


def test_a_view_is_bounded_by_itself_and_its_pointer_by_the_allocation() -> None:
    k = kernel("out[threadIdx.x] = 1;")
    x = cp.zeros(10, cp.int32)
    with pytest.raises(KernelFault):
        k((1,), (6,), (x[2:7],))
    k((1,), (6,), (x[2:7].data,))
    assert x.tolist() == [0, 0, 1, 1, 1, 1, 1, 1, 0, 0]


def test_a_misaligned_vector_stops() -> None:
    k = kernel("((float4*)(x + 1))[0].x = 1.0f; float4 v = *(float4*)(x + 1); x[0] = v.x;", "float* x")
    with pytest.raises(KernelFault, match="16"):
        k((1,), (1,), (cp.zeros(16, cp.float32),))


def test_a_loop_without_end_is_stopped_at_its_line() -> None:
    still = kernel("int i = threadIdx.x;\nwhile (out[0] == 0) { }\nout[i] = 1;")
    start = time.process_time()
    with pytest.raises(KernelFault, match=r"k.cu:4:.*never"):
        still((1,), (32,), (cp.zeros(32, cp.int32),))
    assert time.process_time() - start < 1
    lock = kernel("while (atomicCAS(out, 0, 1) != 0) { }\natomicExch(out, 0);")
    with pytest.raises(KernelFault, match=r"k.cu:3:.*never"):
        lock((1,), (32,), (cp.zeros(1, cp.int32),))
    counts = kernel("for (int i = 0; i != 1; i += 2) out[0] += 1;")
    with pytest.raises(KernelFault, match="1,000 times"):
        simulate(counts, (1,), (1,), (cp.zeros(1, cp.int32),), max_steps=1000)


@pytest.mark.slow
def test_ctrl_c_works_within_a_second() -> None:
    program = """
        import _thread, threading, time
        from warplens import cp, RawKernel
        k = RawKernel('extern "C" __global__ void k(float* x) { for (int i = 0; i < 900000; ++i) x[threadIdx.x] += 1.0f; }', "k")
        x = cp.zeros(1024, cp.float32)
        threading.Timer(0.5, _thread.interrupt_main).start()
        start = time.process_time()
        try:
            k((64,), (1024,), (x,))
        except KeyboardInterrupt:
            print("stopped", time.process_time() - start < 1.5)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=300,
    )
    assert done.stdout.strip() == "stopped True", done.stderr


def test_the_package_is_light_and_knows_no_tensor() -> None:
    program = """
        import sys
        import warplens
        heavy = {"matplotlib", "cupy", "torch", "scipy", "sklearn", "IPython", "minilib"} & {*sys.modules}
        print(sorted(heavy), "numpy.random" in sys.modules)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout.strip() == "[] False"


def test_first_values_at_file_scope_may_be_computed() -> None:
    before = "__constant__ short a[4] = {-5, 3 * 4, 'a'}; __device__ float b = -1 / 2.0f; __constant__ bool c = !0;"
    assert (
        results("out[threadIdx.x] = a[threadIdx.x % 4] + 100 * c + 2 * b;", before=before)
        == [94, 111, 196, 99] * 2
    )


# ------------------------------------------------------------------------------------- barriers that count


def test_a_barrier_counts_the_threads_of_its_block() -> None:
    body = "int t = threadIdx.x, g = blockIdx.x * blockDim.x + t; out[g] = __syncthreads_count(t % 3 == blockIdx.x);"
    for threads in (1, 8, 32, 33, 70):
        want = [[sum(t % 3 == b for t in range(threads))] * threads for b in range(4)]
        assert results(body, 4 * threads, (threads,), (4,)) == [n for block in want for n in block]


def test_and_or_look_at_the_whole_block() -> None:
    body = """int b = blockIdx.x, t = threadIdx.x, *o = out + (b * 40 + t) * 2;
    o[0] = __syncthreads_and(t != 39 || b != 1); o[1] = __syncthreads_or(t == 39 && b == 2);"""
    want = [[1, 0] * 40, [0, 0] * 40, [1, 1] * 40]
    assert results(body, 240, (40,), (3,)) == [n for block in want for n in block]


def test_any_number_that_is_not_zero_counts_as_one_thread() -> None:
    assert results("out[threadIdx.x] = __syncthreads_count(threadIdx.x * 7);") == [7] * 8
    assert results("out[threadIdx.x] = __syncthreads_and(2) + 10 * __syncthreads_or(-4);") == [11] * 8
    assert results("out[threadIdx.x] = __syncthreads_count(0.5f);") == [0] * 8  # the parameter is an int


def test_threads_that_have_returned_are_not_counted() -> None:
    body = "int t = threadIdx.x; if (t >= 40) return; out[t] = __syncthreads_count(1) + 100 * __syncthreads_and(t < 40);"
    assert results(body, 70, (70,)) == [140] * 40 + [0] * 30
    body = "int t = threadIdx.x; if (t < 64) return; out[t - 64] = __syncthreads_count(t & 1);"
    assert results(body, 32, (96,)) == [16] * 32


def test_a_block_goes_on_until_all_of_its_threads_are_done() -> None:
    body = """int left = threadIdx.x % 40 + blockIdx.x, rounds = 0;
    while (__syncthreads_or(left > 0)) { --left; ++rounds; }
    out[blockIdx.x * blockDim.x + threadIdx.x] = rounds;"""
    assert results(body, 140, (70,), (2,)) == [39] * 70 + [40] * 70


def test_a_barrier_that_counts_orders_shared_memory() -> None:
    body = """__shared__ int s[96]; int t = threadIdx.x; s[t] = t;
    int n = __syncthreads_count(s[t] > 10); out[t] = s[95 - t] + n;
    if (__syncthreads_and(1)) s[t] = 1;"""
    assert results(body, 96, (96,)) == [95 - t + 85 for t in range(96)]


def test_a_barrier_that_counts_within_a_device_function() -> None:
    before = "__device__ int many(int x, int y) { int n = __syncthreads_count(x > y); return n * 2; }"
    body = "int t = threadIdx.x; out[t] = many(t, 3) + many(t, 40);"
    assert results(body, 50, (50,), before=before) == [2 * 46 + 2 * 9] * 50


def test_barriers_that_count_are_barriers_in_a_report() -> None:
    run = kernel("out[threadIdx.x] = __syncthreads_count(1);\n__syncthreads_or(__syncthreads_and(0));")
    report = profile(run, (3,), (64,), (cp.zeros(64, np.int32),))
    assert (report.barriers, report.lines[3].barriers, report.lines[4].barriers) == (9, 3, 6)
    assert len([e for e in report.seen.events if e.kind == "barrier"]) == 3


def test_a_barrier_that_counts_is_named_where_threads_miss_it() -> None:
    run = kernel("if (threadIdx.x < 5) out[0] = __syncthreads_or(1);")
    (found,) = profile(run, (1,), (8,), (cp.zeros(8, np.int32),)).barrier_divergence
    assert says(found.message, "5 8 (0,0,0) __syncthreads_or()")


# ------------------------------------------------------------------------------------------------------ more traps


def test_every_intrinsic_has_an_implementation() -> None:
    from warplens.engine import intrinsic_calls, mathematics
    from warplens.engine.atomics import CHANGES
    from warplens.language.intrinsics import INTRINSICS

    there = {
        *mathematics.FUNCTIONS,
        *CHANGES,
        *intrinsic_calls.SHUFFLES,
        *intrinsic_calls.VOTES,
        *intrinsic_calls.FENCES,
    }
    # the front end makes two calls of sincos
    there |= {*BARRIERS, *intrinsic_calls.NO_EFFECT, "__syncwarp", "sincos"}
    assert {signature.name for overloads in INTRINSICS.values() for signature in overloads} <= there


def test_effects_in_an_arm_stay_with_its_threads() -> None:
    body = (
        I + "int c = i; int r = (i & 1) ? c++ : 7; bool b = i > 5 && (c += 10) > 0; out[i] = r * 100 + c + b;"
    )
    assert results(body) == [(i if i & 1 else 7) * 100 + i + (i & 1) + (11 if i > 5 else 0) for i in range(8)]


def test_shuffles_take_the_distance_modulo_32() -> None:
    body = "int i = threadIdx.x; out[i] = __shfl_down_sync(0xffffffffu, i * 3, 40);"
    assert results(body, 32, (32,)) == [3 * (i + 8) if i < 24 else 3 * i for i in range(32)]


def test_a_lock_between_blocks() -> None:
    body = """
    if (threadIdx.x == 0) {
        while (atomicCAS(&out[0], 0, 1) != 0) { }
        out[1] += 5;
        __threadfence();
        atomicExch(&out[0], 0);
    }"""
    assert results(body, 2, (48,), (6,)) == [0, 30]


def test_nothing_follows_a_statement_that_some_leave() -> None:
    body = I + "for (int k = 0; k < 3; ++k) { if (i == 5) continue; __syncthreads; } out[i] = 1;"
    body = body.replace("__syncthreads;", "__syncwarp();")
    assert results(body, before="") == [1] * 8


def test_a_record_that_was_written_in_part() -> None:
    k = kernel(
        "Pair p; p.a = threadIdx.x;\nout[threadIdx.x] = p.a;\nout[threadIdx.x] = p.b;",
        before="struct Pair { int a; int b; };",
    )
    report = profile(k, (1,), (8,), (cp.zeros(8, cp.int32),))
    assert [(f.line, f.array) for f in report.uninitialised] == [(5, "p.b")]


def test_a_null_pointer() -> None:
    k = kernel("const int* p = nullptr;\nif (threadIdx.x == 3) out[0] = *p;")
    with pytest.raises(KernelFault, match=r"k.cu:4:.*\(3,0,0\).*null.*pointer"):
        k((1,), (8,), (cp.zeros(8, cp.int32),))
    report = profile(k, (1,), (8,), (cp.zeros(8, cp.int32),))
    assert not report.ok and [f.line for f in report.out_of_bounds] == [4]


def test_floats_to_integers_by_name_saturate() -> None:
    body = "float v = threadIdx.x == 0 ? 3e9f : threadIdx.x == 1 ? 0.0f / 0.0f : -2.5f; out[threadIdx.x] = __float2int_rn(v);"
    assert results(body, 3, (3,)) == [2**31 - 1, 0, -2]


def test_variables_at_file_scope() -> None:
    module = RawModule(
        code="""
        __constant__ int table[4] = {1, 2, 3};
        __device__ int calls;
        __device__ const float half = 0.5f;
        extern "C" __global__ void k(int* out) { out[threadIdx.x] = table[threadIdx.x] + 2 * half; atomicAdd(&calls, 1); }"""
    )
    k = module.get_function("k")
    for _ in range(2):
        out = cp.zeros(4, cp.int32)
        k((1,), (4,), (out,))
        assert out.tolist() == [2, 3, 4, 1]
    assert profile(k, (1,), (4,), (out,)).ok
    assert cp.ndarray((1,), cp.int32, module.get_global("calls")).tolist() == [8]
    cp.ndarray((4,), cp.int32, module.get_global("table"))[:] = 5
    k((1,), (4,), (out,))
    assert out.tolist() == [6] * 4


def test_what_a_gpu_would_not_find_is_refused() -> None:
    plain = "__global__ void k(float* x) { x[0] = 1; }"
    with pytest.raises(ValueError, match='"C"'):
        RawKernel(plain, "k")
    with pytest.raises(ValueError, match='"C"'):
        RawModule(code=plain).get_function("k")
    RawModule(code=plain, name_expressions=("k",)).get_function("k")
    with pytest.raises(ValueError, match="name_expressions"):
        RawKernel("template <typename T> __global__ void k(T* x) { }", "k<float>")
    with pytest.raises(ValueError, match="__device__"):
        RawKernel(
            '__device__ int k(int x) { return x; } extern "C" __global__ void g(int* x) { *x = k(1); }', "k"
        )
    with pytest.raises(ValueError, match=r"'h'.*:"):
        RawKernel('extern "C" ' + plain, "h")
    with pytest.raises(TypeError, match="string"):
        RawKernel(None, "k")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="option"):
        RawKernel('extern "C" ' + plain, "k", option=("-DN=1",))  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="get_function"):
        profile(RawModule(code=plain), (1,), (1,), ())  # type: ignore[arg-type]


def test_what_is_not_compiled_may_be_anything() -> None:
    before = "#if 0\ndon't @ compile this\n#endif"
    assert results(I + "out[i] = i;", before=before) == list(range(8))


def test_the_absolute_value_of_the_smallest_number_wraps() -> None:
    assert results("int m = 0x80000000; out[threadIdx.x] = abs(m);") == [-(2**31)] * 8


def test_recursion_without_an_end_is_a_fault() -> None:
    k = kernel("out[0] = f(1);", before="__device__ int f(int n) { return f(n + 1) + 1; }")
    with pytest.raises(KernelFault, match=r"itself.*often.*:.*f\."):
        k((1,), (1,), (cp.zeros(1, cp.int32),))
    with pytest.raises(KernelFault, match="itself"):
        profile(k, (1,), (1,), (cp.zeros(1, cp.int32),))


def test_a_variable_made_of_itself_is_uninitialised() -> None:
    k = kernel("int q = q + 1; out[threadIdx.x] = q;")
    k((1,), (8,), (cp.zeros(8, cp.int32),))
    report = profile(k, (1,), (8,), (cp.zeros(8, cp.int32),))
    assert [f.array for f in report.uninitialised] == ["q"]


def test_an_exchange_that_wants_nothing_is_the_first_write() -> None:
    k = kernel(
        "__shared__ int s; if (threadIdx.x == 0) atomicExch(&s, 3); __syncthreads(); out[threadIdx.x] = s;"
    )
    assert profile(k, (1,), (8,), (cp.zeros(8, cp.int32),)).ok
    k = kernel(
        "__shared__ int s; if (threadIdx.x == 0) atomicAdd(&s, 3); __syncthreads(); out[threadIdx.x] = s;"
    )
    assert [f.array for f in profile(k, (1,), (8,), (cp.zeros(8, cp.int32),)).uninitialised] == ["s"]


def test_the_larger_of_a_number_and_nan_is_the_number() -> None:
    body = (
        "float n = 0.0f / 0.0f, v = threadIdx.x; out[threadIdx.x] = max(n, v) + min(v, n) + fmaxf(n, 2.0f);"
    )
    assert results(body, 4, (4,), dtype=np.float32) == [2.0, 4.0, 6.0, 8.0]


def test_long_sums_and_deep_nests() -> None:
    total = " + ".join(f"(i + {k})" for k in range(150))
    assert results(I + f"out[i] = {total};") == [150 * i + 11_175 for i in range(8)]
    loops = "".join(f"for (int a{k} = 0; a{k} < 1; ++a{k}) " for k in range(30))
    with pytest.raises(CompileError, match="deeply"):
        kernel(loops + "out[0] += 1;")


@pytest.mark.slow
@pytest.mark.parametrize("millions", [10, pytest.param(50, marks=pytest.mark.thorough)])
def test_fifty_million_elements_stay_under_one_and_a_half_gigabytes(millions: int) -> None:
    program = f"""
        import re
        from warplens import cp, RawKernel
        k = RawKernel('extern "C" __global__ void k(const float* x, const float* y, float* z, int n) {{'
                      "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) z[i] = x[i] + y[i]; }}", "k")
        n = {millions}_000_000
        x, y, z = (cp.ones(n, cp.float32) for _ in range(3))
        k((-(-n // 256),), (256,), (x, y, z, n))
        assert float(z[0]) == float(z[-1]) == 2
        print(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1])
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert int(done.stdout) < 30_000 * millions  # kB of this process; ru_maxrss has that of its parent, too
