"""What a report says of the cost of a correct kernel: counts by hand, and silence where nothing is gained."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np
import pytest
from agreement import compiled, on_device
from key_words import says
from random_kernels import make
from real_kernels import CASES
from tiers import slow_where

from warplens import RawKernel, RawModule, cp, profile
from warplens.report.report import Report


def run(
    body: str, grid: Any, block: Any, *args: Any, parameters: str = "const float* x, float* y, int n"
) -> Report:
    source = f'extern "C" __global__ void k({parameters}) {{\n{body}\n}}'
    report = profile(RawKernel(source, "k"), grid, block, args)
    assert report.ok, str(report)
    return report


def floats(*shape: int) -> Any:
    return cp.ones(shape, cp.float32)


def dearest(report: Report, kind: str) -> Any:
    assert report.costs and report.costs[0].kind == kind, [cost.short for cost in report.costs]
    first = report.costs[0]
    head = " ".join(str(report).partition("\n\n")[0].split())
    assert (
        says(head, "ok slow")
        and head.endswith(first.short)
        and first.short in report._repr_html_().replace("&#x27;", "'")
    )
    return first


TRANSPOSE = """__shared__ float tile[32][WIDTH];
int t = threadIdx.x, r = threadIdx.y;
int from = blockIdx.y * 32 * n + blockIdx.x * 32, to = blockIdx.x * 32 * n + blockIdx.y * 32;
for (int k = r; k < 32; k += 8) tile[k][t] = x[from + k * n + t];
__syncthreads();
for (int k = r; k < 32; k += 8)
    y[to + k * n + t] = tile[t][k];"""


def transpose(width: int) -> Report:
    return run(TRANSPOSE.replace("WIDTH", str(width)), (2, 2), (32, 8), floats(64, 64), floats(64, 64), 64)


def test_bank_conflicts_and_the_pad_that_ends_them() -> None:
    cost = dearest(transpose(32), "conflicts")
    assert (cost.count, cost.line, cost.array) == (4 * 32 * 31, 8, "tile")
    assert says(cost.short, "3,968 line 8 tile[32][33]")
    assert says(cost.message, "3,968 conflicts 128 `tile`")
    assert transpose(33).costs == []


def test_a_pad_keeps_the_alignment_of_vectors() -> None:
    body = """__shared__ float tile[32][32];
int t = threadIdx.x;
for (int k = 0; k < 32; k++) tile[k][t] = x[k * 32 + t];
__syncthreads();
float sum = 0;
for (int k = 0; k < 8; k++) {
    float4 v = reinterpret_cast<const float4*>(&tile[t][0])[k];
    sum += v.x + v.y + v.z + v.w;
}
y[t] = sum;"""
    cost = dearest(run(body, (1,), (32,), floats(1024), floats(32), 1), "conflicts")
    assert "tile[32][36]" in cost.short
    assert run(body.replace("[32];", "[36];"), (1,), (32,), floats(1024), floats(32), 1).costs == []


def test_columns_of_a_matrix() -> None:
    body = "int c = threadIdx.x;\ny[c * n + blockIdx.x] = x[blockIdx.x * n + c];"
    cost = dearest(run(body, (64,), (64,), floats(64, 64), floats(64, 64), 64), "sectors")
    assert (cost.count, cost.line, cost.array) == (64 * 64 - 64 * 8, 3, "y")
    assert says(cost.short, "4,096 line 3 512 shared")
    assert says(cost.message, "32") and "64 apart" in cost.advice
    assert says(cost.advice, "`x` slow")


def test_what_a_line_reads_and_writes_alike_is_told_once() -> None:
    body = "int i = threadIdx.x;\ny[n * i] = 2 * y[n * i];\ny[n * i] += x[0];"
    report = run(body, (1,), (64,), floats(1), floats(64 * 64), 64)
    cost = dearest(report, "sectors")
    assert len(report.costs) == 1
    assert (cost.lines, cost.array, cost.count) == ((3, 4), "y", 2 * 2 * (64 - 8))
    assert says(cost.short, "256 lines 3, 4 32")
    assert says(cost.message, "`y` 256 sectors 3 4")


def test_what_is_read_otherwise_than_written_is_told_apart() -> None:
    body = "int i = threadIdx.x;\ny[n * i] = y[i];\ny[i] = y[n * i];"
    found = [cost.lines for cost in run(body, (1,), (64,), floats(1), floats(64 * 64), 64).costs]
    assert sorted(found) == [(3,), (4,)]


def test_records_and_rows() -> None:
    records = "int i = threadIdx.x + blockIdx.x * blockDim.x;\ny[i] = x[4 * i] + x[4 * i + 3];"
    cost = dearest(run(records, (8,), (64,), floats(2048), floats(512), 1), "sectors")
    assert cost.array == "x" and "float4" in cost.advice and "4 apart" in cost.advice


def test_a_gather_in_no_order() -> None:
    order = np.random.default_rng(0).permutation(8192).astype(np.int32)
    gather = "int i = threadIdx.x + blockIdx.x * blockDim.x;\ny[i] = x[at[i]];"
    report = run(
        gather, (8,), (64,), floats(8192), floats(512), cp.asarray(order[:512]),
        parameters="const float* x, float* y, const int* at",
    )  # fmt: skip
    assert says(dearest(report, "sectors").short, "order")


def test_a_warp_that_goes_two_ways() -> None:
    body = """int t = threadIdx.x;
__shared__ float part[256];
part[t] = x[t];
__syncthreads();
for (int s = 1; s < 256; s *= 2) {
    if (t % (2 * s) == 0) part[t] += part[t + s];
    __syncthreads();
}
if (t == 0) y[0] = part[0];"""
    cost = dearest(run(body, (1,), (256,), floats(256), floats(1), 1), "divergence")
    assert cost.line == 7 and says(cost.short, "warp")
    halves = body.replace("int s = 1; s < 256; s *= 2", "int s = 128; s > 0; s /= 2").replace(
        "t % (2 * s) == 0", "t < s"
    )
    assert run(halves, (1,), (256,), floats(256), floats(1), 1).costs == []


def test_loops_of_unequal_length() -> None:
    body = """int i = threadIdx.x + blockIdx.x * blockDim.x;
float v = x[i];
for (int k = 0; k < n * (threadIdx.x % 32 == 0); k++) v = v * v + 1;
y[i] = v;"""
    cost = dearest(run(body, (8,), (64,), floats(512), floats(512), 300), "divergence")
    assert cost.line == 4 and says(cost.advice, "length")


def test_a_pad_is_advised_by_what_all_warps_of_a_block_would_gain() -> None:
    body = """__shared__ float tile[32][WIDTH];
int t = threadIdx.x, r = threadIdx.y;
for (int k = r; k < 32; k += 8) tile[k][t ^ (k & MASK)] = x[k * 32 + t];
__syncthreads();
for (int k = r; k < 32; k += 8) y[k * 32 + t] = tile[t][k ^ (t & MASK)];"""

    def swizzled(mask: int, width: int) -> Report:
        source = body.replace("MASK", str(mask)).replace("WIDTH", str(width))
        return run(source, (1,), (32, 8), floats(32, 32), floats(32, 32), 1)

    cost = dearest(swizzled(7, 32), "conflicts")
    assert cost.count == 96 and "tile[32][34]" in cost.short
    assert swizzled(7, 33).bank_conflicts == 112 and swizzled(7, 34).bank_conflicts == 32
    assert swizzled(31, 32).costs == []


@pytest.mark.slow
def test_a_launch_of_one_thread_or_of_one_long_block() -> None:
    body = """for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x)
    y[i] = x[i];"""
    cost = dearest(run(body, (1,), (1,), floats(1024), floats(1024), 1024), "alone")
    assert says(cost.short, "1") and says(cost.short, "128 256")
    long = run(body, (1,), (256,), floats(1 << 17), floats(1 << 17), 1 << 17)
    assert says(dearest(long, "alone").short, "1")
    assert run(body, (64,), (256,), floats(1 << 17), floats(1 << 17), 1 << 17).costs == []


def test_the_same_advice_is_given_in_full_once() -> None:
    report = run("int i = threadIdx.x;\ny[n * i] = 1;\nfloat a = x[n * i];\ny[i] = a;", (8,), (64,),
                 floats(64 * 64), floats(64 * 64), 64)  # fmt: skip
    first, second = report.costs
    assert (
        "threadIdx.x" in first.advice
        and len(second.advice) < len(first.advice) / 2
        and says(second.advice, f"`{first.array}`")
    )


def test_a_vector_is_advised_only_where_it_fits() -> None:
    body = "int i = threadIdx.x + blockIdx.x * blockDim.x;\ny[i] = x[3 * i] + x[3 * i + 1] + x[3 * i + 2];"
    assert "float" not in dearest(run(body, (8,), (64,), floats(1536), floats(512), 1), "sectors").advice


def test_a_wide_block_is_not_told_to_be_wider() -> None:
    body = "int i = threadIdx.x + blockIdx.x * blockDim.x;\ny[i] = x[i / 2 * 16 + i % 2];"
    assert "wider" not in dearest(run(body, (8,), (64,), floats(4096), floats(512), 1), "sectors").short
    assert "wider" in dearest(
        run("int i = threadIdx.x + 16 * threadIdx.y;\ny[i] = x[i];",
            (1,), (2, 32), floats(2048), floats(512), 1), "sectors").short  # fmt: skip


def test_one_thread_does_all_of_it() -> None:
    body = """float sum = 0;
if (threadIdx.x == 0)
    for (int k = 0; k < n; k++) sum += x[blockIdx.x * n + k];
if (threadIdx.x == 0) y[blockIdx.x] = sum;"""
    cost = dearest(run(body, (4,), (64,), floats(4, 256), floats(4), 256), "alone")
    assert says(cost.short, "thread 0")


def test_blocks_that_are_no_whole_warps() -> None:
    body = """int i = threadIdx.x + blockIdx.x * blockDim.x;
float v = x[i];
for (int k = 0; k < 16; k++) v = v * v + 1;
y[i] = v;"""
    cost = dearest(run(body, (64,), (16,), floats(1024), floats(1024), 1), "partial")
    assert says(cost.short, "blocks 16 of 32 lanes")


def test_neighbours_that_load_the_same() -> None:
    body = """int i = threadIdx.x + blockIdx.x * blockDim.x;
float sum = 0;
for (int k = 0; k < 8; k++) sum += x[i + k];
y[i] = sum;"""
    cost = dearest(run(body, (8,), (128,), floats(1032), floats(1024), 1), "again")
    assert cost.array == "x" and cost.line == 4
    assert says(cost.message, "156 sectors `x` 17 9.18")
    assert "block (4,0,0)" in cost.message and says(cost.short, "shared")


def test_a_thread_that_loads_the_same_again() -> None:
    body = """int i = threadIdx.x + blockIdx.x * blockDim.x;
float most = x[i], sum = 0;
for (int k = 0; k < 4; k++) most = fmaxf(most, x[i + k * 1024]);
for (int k = 0; k < 4; k++) sum += expf(x[i + k * 1024] - most);
for (int k = 0; k < 4; k++) y[i] += expf(x[i + k * 1024] - most) / sum;"""
    cost = dearest(run(body, (8,), (128,), floats(4096), floats(1024), 1), "again")
    assert says(cost.short, "3.25 registers")


def test_the_same_cost_on_several_lines_is_told_once() -> None:
    body = """const float* row = x + (threadIdx.x + blockIdx.x * blockDim.x) * n;
float sum = 0, squares = 0;
for (int k = 0; k < n; k++)
    sum += row[k];
for (int k = 0; k < n; k++)
    squares += row[k] * row[k];
y[threadIdx.x + blockIdx.x * blockDim.x] = sum / squares;"""
    report = run(body, (2,), (64,), floats(128, 64), floats(128), 64)
    cost = dearest(report, "sectors")
    assert [one.kind for one in report.costs] == ["sectors"] and cost.lines == (5, 7)
    assert says(cost.short, "24,576 lines 5, 7 3,072")
    assert cost.line == 7 and says(cost.message, "5 7")
    assert report._repr_html_().count('<tr class="slow">') == 2


def test_atomics_on_one_element() -> None:
    body = "atomicAdd(y, x[threadIdx.x + blockIdx.x * blockDim.x]);"
    cost = dearest(run(body, (8,), (128,), floats(1024), floats(1), 1), "atomics")
    assert cost.count == 1024 and says(cost.message, "128 atomics 1 `y`")
    spread = "atomicAdd(y + threadIdx.x, x[threadIdx.x + blockIdx.x * blockDim.x]);"
    assert run(spread, (8,), (128,), floats(1024), floats(128), 1).costs == []


def test_a_report_with_problems_says_nothing_of_costs() -> None:
    source = 'extern "C" __global__ void k(float* x) { x[32 * threadIdx.x] = 1; }'
    report = profile(RawKernel(source, "k"), (1,), (64,), (floats(1000),))
    assert (
        not report.ok and report.costs and "slow" not in str(report) and "What costs most" not in str(report)
    )


def test_nothing_ran() -> None:
    report = profile(RawKernel('extern "C" __global__ void k() {}', "k"), (1,), (32,), ())
    assert report.costs == [] and str(report).splitlines()[0].endswith(": ok")


# Of the kernels that are tested everywhere, the good ones: nobody should be told to change them.
GOOD = [
    "vector_add",
    "fill_2d",
    "gelu",
    "adamw",
    "horner",
    "transpose_tiled",
    "matmul_tiled",
    "matmul_registers",
    "matvec_warp",
    "reduce_tree",
    "reduce_shuffle",
    "reduce_last_block",
    "dot",
    "scan_hillis_steele",
    "histogram",
    "argmax",
    "compact",
    "bitonic_sort",
    "softmax",
    "stencil",
    "softmax_half",
    "half_layout",
    "embedding",
    "layer_norm",
]
BAD = {
    "copy_strided": "sectors",
    "transpose_naive": "sectors",
    "cross_entropy": "sectors",
    "scan_blelloch": "conflicts",
    "conv1d_causal": "again",
    "saxpy": "partial",  # blocks of 33 threads
}


@pytest.mark.parametrize("name", slow_where([*GOOD, *BAD], "matmul_registers".__eq__))
def test_good_kernels_are_left_alone_and_bad_ones_are_not(name: str) -> None:
    case = [case for case in CASES if case.file == f"{name}.cu"][-1]
    kernel: Any = (
        RawModule(code=case.source, name_expressions=(case.kernel,)).get_function(case.kernel)
        if "<" in case.kernel
        else RawKernel(case.source, case.kernel)
    )
    report = profile(kernel, case.grid, case.block, on_device(case.args), shared_mem=case.shared_mem)
    assert [cost.kind for cost in report.costs[:1]] == ([BAD[name]] if name in BAD else [])
    assert re.match(
        rf"\S+: .*: ok{'.*slow' if name in BAD else '$'}",
        " ".join(str(report).partition("\n\n")[0].split()),
    )


@pytest.mark.parametrize("seed", slow_where(range(0, 24, 3), lambda seed: seed > 0))
def test_every_report_can_be_shown(seed: int) -> None:
    random = make(seed, *(["classes"] if seed % 2 == 0 else []))
    kernel, args = compiled(random.source, random.name), on_device(random.arguments())
    report = profile(kernel, random.grid, random.block, args, shared_mem=random.shared_mem)
    assert report.ok and str(report).startswith(f"{report.program}: ")
    for svg in re.findall(r"<svg.*?</svg>", report._repr_html_(), re.DOTALL):
        ElementTree.fromstring(svg)
    for cost in report.costs:
        assert cost.count > 0 and cost.turns > 0 and cost.short and cost.message
