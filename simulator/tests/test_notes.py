"""What a report notes, and `ok` does not mind: rows that are left within an array, shifts by too many bits,
and the last block that reads what the others left, without a fence of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from key_words import says

from warplens import KernelFault, RawKernel, cp, profile
from warplens.report.findings import Finding
from warplens.report.report import Report


def run(body: str, *args: Any, before: str = "", threads: Any = (32,), grid: int = 1) -> Report:
    source = f'{before}\nextern "C" __global__ void k(int* p, int n) {{\n{body}\n}}'
    return profile(RawKernel(source, "k"), (grid,), threads, args or (cp.zeros(64, cp.int32), 3))


def notes(report: Report, kind: str) -> list[Finding]:
    return [one for one in report.notes if one.kind == kind]


# ------------------------------------------------------------------------------------------------------- rows

ROW = (
    "__shared__ int tile[4][8];\nint x = threadIdx.x, y = threadIdx.y;\n"
    "tile[y][x] = x;\n__syncthreads();\nint v = {};\np[y * 8 + x] = v;"
)


def test_an_index_past_its_row_but_inside_the_array_is_a_note() -> None:
    report = run(ROW.format("y < 3 ? tile[y][x + 1] : 0"), threads=(8, 4))
    (one,) = notes(report, "row")
    assert (one.line, one.array, one.index, one.count) == (7, "tile", 8, 3)
    assert one.thread == (7, 0, 0)
    assert says(one.message, "thread (7,0,0) index 8 row tile 7")
    assert report.ok and not report.out_of_bounds
    assert str(report).splitlines()[0].endswith(": ok")


def test_an_index_before_its_row_is_one_too() -> None:
    (one,) = notes(run(ROW.format("y > 0 ? tile[y][x - 1] : 0"), threads=(8, 4)), "row")
    assert (one.index, one.count, one.thread) == (-1, 3, (0, 1, 0))


def test_a_write_and_an_atomic_past_the_row_are_noted_as_well() -> None:
    report = run(
        "__shared__ int t[2][4];\nif (threadIdx.x == 0) t[0][n + 2] = 1;\natomicAdd(&t[0][n + 1], 1);"
    )
    assert [(one.line, one.index) for one in notes(report, "row")] == [(4, 5), (5, 4)]


def test_a_row_behind_a_pointer_has_a_length_too() -> None:
    report = run("int (*q)[4] = (int (*)[4])p;\np[0] = q[0][n + 2];", threads=(1,))
    assert [(one.array, one.index) for one in notes(report, "row")] == [("p", 5)]


@pytest.mark.parametrize(
    "value",
    [
        "tile[y][x]",
        "tile[y][(x + 1) % 8]",
        "tile[0][y * 8 + x - 8 * y]",
        "(&tile[0][0])[y * 8 + x]",
        "*tile[y]",
    ],
)
def test_what_stays_in_its_row_or_says_that_it_walks_through_all_is_no_note(value: str) -> None:
    report = run(ROW.format(value), threads=(8, 4))
    assert report.ok and not report.notes


def test_an_address_past_the_row_that_nobody_uses_is_no_note() -> None:
    report = run("int t[2][4] = {};\nint* end = &t[0][n + 1];\nfor (int* q = t[0]; q < end; ++q) p[0] += *q;",
                 threads=(1,))  # fmt: skip
    assert not report.notes


def test_what_is_beyond_the_array_is_out_of_bounds_alone() -> None:
    report = run("__shared__ int t[2][4];\nt[0][0] = 1;\np[0] = t[1][n + 4];", threads=(1,))
    assert not notes(report, "row") and [one.line for one in report.out_of_bounds] == [5]


# ----------------------------------------------------------------------------------------------------- shifts


@pytest.mark.parametrize(
    ("value", "by", "bits", "count"),
    [
        ("1 << (n + 29)", 32, 32, 32),
        ("n >> (threadIdx.x + 2)", 32, 32, 2),
        ("1u << (n - 4)", -1, 32, 32),
        ("(int)(1ll << (n * 21 + 1))", 64, 64, 32),
        ("n << 40", 40, 32, 32),
        ("(char)1 << (n * 12)", 36, 32, 32),
    ],
)
def test_a_shift_beyond_the_bits_of_a_type_is_a_note(value: str, by: int, bits: int, count: int) -> None:
    report = run(f"p[threadIdx.x] = {value};")
    (one,) = notes(report, "shift")
    assert (one.line, one.index, one.count) == (3, by, count) and report.ok
    assert says(one.message, f"{by} {bits}")


def test_a_shift_that_is_assigned_is_looked_at_too() -> None:
    (one,) = notes(run("int v = 1;\nv <<= n + 40;\np[threadIdx.x] = v;"), "shift")
    assert (one.line, one.index) == (4, 43)


@pytest.mark.parametrize(
    "value", ["1 << 31", "n >> (threadIdx.x & 31)", "1ull << 63", "n > 5 ? 1 << (n + 40) : 0"]
)
def test_other_shifts_are_no_note(value: str) -> None:
    assert not run(f"p[threadIdx.x] = (int)({value});").notes


def test_notes_say_so_in_the_report_and_in_its_table() -> None:
    report = run("p[threadIdx.x] = 1 << (n + 29);")
    text = str(report)
    assert ": ok\n" in text and says(text, "Notes 3: (0,0,0) 32")
    np.testing.assert_array_equal(report.outputs[0][:32], 0)


# --------------------------------------------------------------------------------------------- the last block

# As in NVIDIA's programming guide and its sample threadFenceReduction: each block leaves a sum and counts
# itself, and the block that counts last adds up what all have left.
LAST = """
__device__ unsigned int count = 0;
extern "C" __global__ void total(const float* x, volatile float* partial, float* out, int n) {
    __shared__ float s[64];
    __shared__ bool last;
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = i < n ? x[i] : 0;
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (t < half) s[t] += s[t + half];
    }
    if (t == 0) {
        partial[blockIdx.x] = s[0];
        RELEASE
        unsigned int ticket = COUNT;
        last = ticket == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        ACQUIRE
        float sum = 0;
        for (int j = t; j < gridDim.x; j += blockDim.x) sum += partial[j];
        __syncthreads();
        s[t] = sum;
        __syncthreads();
        if (t == 0) {
            for (int j = 1; j < 64; ++j) sum += s[j];
            out[0] = sum;
            RESET
        }
    }
}"""
READ = 1 + LAST[: LAST.index("sum += partial[j]")].count("\n")
RESET = 1 + LAST[: LAST.index("RESET")].count("\n")
FENCE = "__threadfence();"
INC = "atomicInc(&count, gridDim.x)"


def total(release: str, acquire: str = "", reset: str = "count = 0;", count: str = INC) -> Report:
    source = LAST.replace("RELEASE", release).replace("ACQUIRE", acquire)
    source = source.replace("RESET", reset).replace("COUNT", count)
    x = cp.arange(64 * 20, dtype=cp.float32)
    report = profile(
        RawKernel(source, "total"),
        (20,),
        (64,),
        (x, cp.zeros(20, cp.float32), cp.zeros(1, cp.float32), 64 * 20),
    )
    return report


@pytest.mark.parametrize("reset", ["", "count = 0;"])
@pytest.mark.parametrize("count", [INC, "atomicAdd(&count, 1)"])
def test_the_last_block_without_a_fence_of_its_own_is_a_note(reset: str, count: str) -> None:
    report = total(FENCE, reset=reset, count=count)
    assert report.outputs[2][0] == np.arange(64 * 20).sum()
    assert report.ok and not report.races
    found = {(one.line, one.array) for one in notes(report, "last-block")}
    assert found == {(READ, "partial")}
    message = notes(report, "last-block")[0].message
    assert says(message, f"(19,0,0) partial[0] {READ}") and "__threadfence()" in message


def test_with_a_fence_before_it_reads_nothing_is_said() -> None:
    report = total(FENCE, FENCE, reset="")
    assert report.ok and not report.notes


def test_a_counter_that_is_reset_behind_both_fences_is_no_race() -> None:
    report = total(FENCE, FENCE)
    assert report.ok and not report.races


@pytest.mark.parametrize("acquire", ["", FENCE])
def test_without_the_first_fence_it_stays_a_race(acquire: str) -> None:
    report = total("", acquire)
    assert not report.ok and (READ, "partial") in {(one.line, one.array) for one in report.races}


def test_a_fence_behind_the_atomic_is_a_race_too() -> None:
    report = total("", count=f"{INC}; {FENCE}")
    assert not report.ok


def test_without_an_atomic_fences_order_nothing() -> None:
    report = total(FENCE, FENCE, count="count; count = ticket + 1")
    assert not report.ok


def test_what_was_not_written_before_the_fence_stays_a_race() -> None:
    late = LAST.replace("last = ticket", "partial[blockIdx.x] = s[0]; last = ticket")
    source = late.replace("RELEASE", FENCE).replace("ACQUIRE", "").replace("COUNT", INC).replace("RESET", "")
    args = (cp.zeros(640, cp.float32), cp.zeros(10, cp.float32), cp.zeros(1, cp.float32), 640)
    report = profile(RawKernel(source, "total"), (10,), (64,), args)
    assert not report.ok and (READ, "partial") in {(one.line, one.array) for one in report.races}


# ---------------------------------------------------------------------------------- shared by the launch

SCAN = """
extern "C" __global__ void scan(const float* x, float* y, int n) {
    extern __shared__ float buf[];
    int t = threadIdx.x, out = 0, in = 1;
    buf[t] = t > 0 ? x[t - 1] : 0.f;
    __syncthreads();
    for (int o = 1; o < n; o *= 2) {
        out = 1 - out; in = 1 - out;
        if (t >= o) buf[out * n + t] = buf[in * n + t] + buf[in * n + t - o];
        else buf[out * n + t] = buf[in * n + t];
        __syncthreads();
    }
    y[t] = buf[out * n + t];
}"""


def scan(shared_mem: int) -> Report:
    args = cp.ones(256, cp.float32), cp.zeros(256, cp.float32), 256
    return profile(RawKernel(SCAN, "scan"), (1,), (256,), args, shared_mem=shared_mem)


def test_where_the_launch_gives_too_little_shared_memory_no_condition_is_blamed() -> None:
    assert scan(2048).ok
    found = scan(1024).problems
    assert [(one.kind, one.line, one.array) for one in found] == [
        ("out-of-bounds", 9, "buf"), ("out-of-bounds", 10, "buf"),
    ]  # fmt: skip
    for one in found:
        assert says(one.message, "256 255 shared_mem=1024")


def test_a_condition_with_an_else_is_no_guard() -> None:
    body = "if (i >= 4) { a[i] = 1.f; a[i + n] = 1.f; } else { a[i - 1] = 2.f; a[i + n] = 3.f; }"
    source = f'extern "C" __global__ void k(float* a, int n) {{ int i = threadIdx.x;\n{body}\n}}'
    report = profile(RawKernel(source, "k"), (1,), (8,), (cp.zeros(8, cp.float32), 8))
    assert report.problems and all(one.kind == "out-of-bounds" and not one.guards for one in report.problems)


CARVE = """
extern "C" __global__ void carve(double* y, int n) {
    extern __shared__ char pool[];
    float* a = (float*)pool;
    double* b = (double*)(a + n);
    int t = threadIdx.x;
    a[t] = t;
    b[t] = 2.0 * a[t];
    y[t] = b[t];
}"""


def test_an_array_that_is_carved_at_an_odd_place_is_told_how_to_be_carved() -> None:
    args = cp.zeros(31, cp.float64), 31
    report = profile(RawKernel(CARVE, "carve"), (1,), (31,), args, shared_mem=31 * 12)
    first = report.misaligned[0]
    assert first.line == 8 and says(first.message, "8 bytes multiple")
    assert says(first.message, "larger round")
    assert "vector" not in first.message
    with pytest.raises(KernelFault, match="round"):
        RawKernel(CARVE, "carve")((1,), (31,), args, shared_mem=31 * 12)


def test_a_misaligned_vector_of_a_global_array_is_not_told_of_carving() -> None:
    source = 'extern "C" __global__ void k(float* a) { *(float4*)(a + 1) = make_float4(0.f, 0.f, 0.f, 0.f); }'
    message = profile(RawKernel(source, "k"), (1,), (1,), (cp.zeros(8, cp.float32),)).misaligned[0].message
    assert says(message, "16 bytes multiple") and not says(message, "larger")


# ---------------------------------------------------------------------------------- locks and lost fences

LOCK = """
__device__ int lock = 0;
extern "C" __global__ void top(const float* x, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool done = false;
    while (!done) {
        if (atomicCAS(&lock, 0, 1) == 0) {
            ACQUIRE
            *out += x[i];
            RELEASE
            atomicExch(&lock, 0); done = true;
        }
    }
}"""


def locked(acquire: str, release: str, grid: int, block: int, kernel: str = LOCK) -> Report:
    source = kernel.replace("ACQUIRE", acquire).replace("RELEASE", release)
    out = cp.zeros(1, cp.float32)
    report = profile(RawKernel(source, "top"), (grid,), (block,), (cp.ones(grid * block, cp.float32), out))
    assert report.outputs[1][0] == grid * block
    return report


@pytest.mark.parametrize(
    ("grid", "block"),
    [
        (1, 32),
        pytest.param(1, 128, marks=pytest.mark.slow),
        pytest.param(3, 64, marks=pytest.mark.slow),
        (4, 1),
    ],
)
def test_a_lock_between_two_fences_has_no_finding(grid: int, block: int) -> None:
    report = locked(FENCE, FENCE, grid, block)
    assert report.ok and not report.notes


@pytest.mark.parametrize(("grid", "block"), [(1, 8), pytest.param(1, 96, marks=pytest.mark.slow), (4, 1)])
@pytest.mark.parametrize(("acquire", "release"), [("", FENCE), (FENCE, ""), ("", "")])
def test_a_lock_that_lacks_a_fence_races(acquire: str, release: str, grid: int, block: int) -> None:
    report = locked(acquire, release, grid, block)
    assert report.races and not report.notes and {race.line for race in report.races} == {9}
    message = report.races[0].message
    assert says(message, "__threadfence_block()" if grid == 1 else "__threadfence()")
    assert (says(message, "9 11"), says(message, "7")) == (not release, not acquire)


def test_the_fence_of_a_block_orders_its_threads_and_no_others() -> None:
    block = "__threadfence_block();"
    assert locked(block, block, 1, 64).ok
    report = locked(block, block, 4, 1)
    assert not report.ok and says(report.races[0].message, "__threadfence()")


@pytest.mark.slow
def test_a_lock_of_a_block_in_shared_memory() -> None:
    inside = LOCK.replace("__device__ int lock = 0;", "").replace("bool done", INIT)
    block = "__threadfence_block();"
    assert locked(block, block, 1, 64, inside).ok
    assert not locked("", block, 1, 64, inside).ok


INIT = "__shared__ int lock; if (threadIdx.x == 0) lock = 0; __syncthreads(); bool done"


@pytest.mark.parametrize("acquire", ["", FENCE])
def test_the_last_block_is_told_where_the_first_fence_is_missing(acquire: str) -> None:
    (race,) = total("", acquire).races
    written = 1 + LAST[: LAST.index("partial[blockIdx.x]")].count("\n")
    told = 1 + LAST[: LAST.index("COUNT")].count("\n")
    assert race.line == READ
    assert says(race.message, f"__threadfence() {written} {told}")
    assert race.message.count(f"line {told}") == (1 if acquire else 2)


def test_a_counter_that_is_read_or_reset_by_another_than_the_last_races() -> None:
    for then in ("if (t == 3) n[0] = 0;", "if (t + 1 == 32) n[1] = n[0];", "n[0] = 0;"):
        source = f'extern "C" __global__ void k(int* n) {{ int t = atomicAdd(n, 1);\n{then}\n}}'
        report = profile(RawKernel(source, "k"), (1,), (32,), (cp.zeros(2, cp.int32),))
        assert report.races and report.races[0].line == 2, then
