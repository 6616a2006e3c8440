"""What `Report.trace` tells, against the counters of the report, memory, and values worked out by hand."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Any

import numpy as np
import pytest
from agreement import compiled, on_device
from key_words import says
from random_kernels import make
from real_kernels import CASES
from tiers import slow_where

from warplens import RawKernel, cp, profile
from warplens.report.report import Report
from warplens.report.trace import Happening, Steps

ALL = 100_000  # steps
# A vote at a barrier counts as the barrier.
UNCOUNTED = ("__activemask", "__syncthreads_count", "__syncthreads_and", "__syncthreads_or")
COUNTED = ("read", "write", "atomic", "test", "barrier", "call")


def events(trace: Steps) -> list[Happening]:
    return [event for step in trace.steps for event in step.events]


def told(trace: Steps) -> list[tuple[int, str]]:
    return [(step.line, "; ".join(map(str, step.events))) for step in trace.steps]


SUMS = r"""
struct Pair { float a; int b; };
__device__ float twice(float v, int k) {
    float w = v * k;
    return w + v;
}
extern "C" __global__ void sums(const float* x, float* y, int n, Pair p) {
    __shared__ float tile[2][32];
    int t = threadIdx.x;
    tile[t / 32][t % 32] = x[t];
    __syncthreads();
    float sum = 0.1f;
    for (int k = 0; k < 2; k++)
        sum += tile[0][(t + k) % 32];
    if (t < 40 && n > 0)
        p.b += t;
    else
        p.b = -1;
    y[t] = twice(sum, p.b);
    unsigned s = __shfl_down_sync(0xffffffff, t, 1);
    switch (s) {
        case 4: atomicAdd(&y[0], 1.0f); break;
        default: printf("t %d\n", t);
    }
    const float* end = x + n;
    y[t + 62] = end - x;
}"""
BY_HAND = [
    (7, "n = 64; p = {a 2.0, b 1}"),
    (9, "t = 3"),
    (10, "reads x[3] = 3.0; writes tile[0][3] = 3.0"),
    (11, "waits at __syncthreads()"),
    (12, "sum = 0.1"),
    (13, "k = 0"),
    (13, "condition: true"),
    (14, "reads tile[0][3] = 3.0; sum = 3.1"),
    (13, "k = 1"),
    (13, "condition: true"),
    (14, "reads tile[0][4] = 4.0; sum = 7.1"),
    (13, "k = 2"),
    (13, "condition: false"),
    (15, "condition: true"),
    (16, "p.b = 4"),
    (19, "calls twice"),
    (3, "v = 7.1; k = 4"),
    (4, "w = 28.4"),
    (5, "returns 35.5"),
    (19, "writes y[3] = 35.5"),
    (20, "__shfl_down_sync gives 4; s = 4"),
    (21, "switch on 4"),
    (22, "atomicAdd y[0], 1.0"),
    (22, "break"),
    (25, "end = &x[64]"),
    (26, "writes y[65] = 64.0 (not there: out of bounds)"),
]


@pytest.fixture(scope="module")
def report() -> Report:
    x, y = cp.arange(64, dtype=cp.float32), cp.zeros(64, dtype=cp.float32)
    return profile(RawKernel(SUMS, "sums"), (1,), (64,), (x, y, 64, (np.float32(2), 1)))


def test_a_thread_step_by_step(report: Report) -> None:
    trace = report.trace(0, 3)
    assert told(trace) == BY_HAND
    assert trace.complete and len(trace) == len(BY_HAND)
    assert [step.number for step in trace.steps] == list(range(1, len(trace) + 1))
    assert {step.lanes for step in trace.steps} == {(3,)}
    assert trace.steps[2].source.strip() == "tile[t / 32][t % 32] = x[t];"


def test_events_are_plain_values(report: Report) -> None:
    read, write = report.trace(0, 3).steps[2].events
    assert (read.kind, read.name, read.index, read.value, read.ok) == ("read", "x", 3, 3.0, True)
    assert (write.kind, write.name, write.index, write.where) == ("write", "tile", 3, "tile[0][3]")
    last = report.trace(0, 3).steps[-1].events[0]
    assert (last.index, last.ok, last.wrong) == (65, False, "out of bounds")
    printed = [e.value for e in events(report.trace(0, 5)) if e.kind == "print"]
    assert printed == ["t 5\n"]


ASTRAY = """extern "C" __global__ void k(float* x) {
    int t = threadIdx.x;
    float2 v = *(float2*)(x + t);
    x[t] = v.x;
    float* none = nullptr;
    none[t] = 1;
}"""


def test_an_access_says_why_there_is_nothing() -> None:
    """float2 at x + t is aligned where t is even; of x[5] and what comes behind it there is no whole one."""
    report = profile(RawKernel(ASTRAY, "k"), (1,), (8,), (cp.zeros(6, cp.float32),))
    wrong = {
        t: [e.wrong for e in events(report.trace(0, t)) if e.kind in ("read", "write")] for t in range(8)
    }
    null = "a null pointer"
    assert wrong == {
        **{t: ["", "", null] for t in (0, 2, 4)},
        **{t: ["misaligned", "", null] for t in (1, 3)},
        5: ["out of bounds", "", null],
        **{t: ["out of bounds", "out of bounds", null] for t in (6, 7)},
    }
    read, write, nowhere = [e for e in events(report.trace(0, warp=0)) if e.kind in ("read", "write")]
    assert str(read).endswith("lanes 1, 3 misaligned, lanes 5-7 out of bounds)")
    assert str(write).endswith("lanes 6-7 out of bounds)")
    assert str(nowhere).endswith(f"{null})")
    assert read.wrong == {t: wrong[t][0] for t in range(8)} and not (read.ok or write.ok or nowhere.ok)


def test_the_variables_after_a_step(report: Report) -> None:
    trace = report.trace(0, 3)
    record = {"a": np.float32(2), "b": 1}
    assert trace.variables(8) == {"n": 64, "p": record, "t": 3, "sum": np.float32(3.1), "k": 0}
    assert trace.variables(18) == {"v": np.float32(7.1), "k": 4, "w": np.float32(7.1) * np.float32(4)}
    assert trace.variables(0) == {}


def test_a_warp_has_the_values_of_all_its_lanes(report: Report) -> None:
    trace = report.trace(0, warp=1)
    assert trace.steps[1].lanes == tuple(range(32, 64))
    assert trace.steps[1].events[0].value == {lane: 32 + lane for lane in range(32)}
    lines = told(trace)
    assert lines[1] == (9, "t = 32, 33, 34, ..., 63")
    assert "reads x[32], x[33], x[34], ..., x[63] = 32.0, 33.0, 34.0, ..., 63.0" in lines[2][1]
    then = next(step for step in trace.steps if step.line == 16)
    other = next(step for step in trace.steps if step.line == 18)
    assert then.lanes == tuple(range(32, 40)) and other.lanes == tuple(range(40, 64))
    by_one = [told(report.trace(0, thread)) for thread in (32, 63)]
    assert [len(one) < len(lines) for one in by_one] == [True, True]


def test_it_is_bounded_and_says_so(report: Report) -> None:
    trace = report.trace(0, 3, steps=5)
    assert told(trace) == BY_HAND[:5] and not trace.complete
    assert says(str(trace), "5") and says(trace._repr_html_(), "5")
    assert "and more" not in str(report.trace(0, 3, steps=len(BY_HAND)))


@pytest.mark.slow
def test_it_stops_an_endless_kernel_after_its_steps() -> None:
    source = """extern "C" __global__ void k(int* x, int n) {
        for (int i = 0; i < n; i++) x[threadIdx.x] += i;
    }"""
    report = profile(RawKernel(source, "k"), (1,), (32,), (cp.zeros(32, np.int32), 2000))
    assert len(report.trace(0, 1, steps=30)) == 30


def test_text_and_html(report: Report) -> None:
    text = str(report.trace(0, 3))
    assert text.startswith("sums.cu: thread (3,0,0) of block (0,0,0)\n")
    assert re.search(
        r"^   3    10  .*\[.* +reads x\[3\] = 3.0; writes tile\[0\]\[3\] = 3.0$", text, re.MULTILINE
    )
    assert repr(report.trace(0, 3)) == text
    html = report.trace(0, 3)._repr_html_()
    assert html.count("<tr>") == len(BY_HAND) + 1 and says(html, "&lt 40 &amp;&amp &gt 0")
    assert says(str(report.trace(warp=0)), "sums.cu warp 0 (0,0,0)")


def test_it_shows_the_launch_as_it_was_and_changes_nothing() -> None:
    source = 'extern "C" __global__ void k(int* x) { x[threadIdx.x + 2 * blockIdx.x] += 5; }'
    x = cp.arange(4, dtype=np.int32)
    kernel = RawKernel(source, "k")
    report = profile(kernel, (2,), (2,), (x,))
    x[:] = 100
    assert told(report.trace((1,), (1, 0, 0)))[1:] == [(1, "reads x[3] = 3; writes x[3] = 8")]
    assert told(report.trace(1, 1)) == told(report.trace((1, 0), (1,)))
    assert x.get().tolist() == [100] * 4
    kernel((2,), (2,), (x,))  # the code of a launch is another
    assert x.get().tolist() == [105] * 4


def test_an_access_is_told_once() -> None:
    """Of bfloat16, whose bits lie in memory, and of a vector behind a pointer into two arrays."""
    source = """#include <cuda_bf16.h>
extern "C" __global__ void k(__nv_bfloat16* b, float4* x, float4* y) {
    b[1] = b[0];
    atomicAdd(&b[1], b[0]);
    float4 v = (threadIdx.x ? y : x)[0];
}"""
    args = (cp.asarray(np.array([0x3F80, 0], np.uint16)), cp.ones(4, np.float32), cp.ones(4, np.float32))
    report = profile(RawKernel(source, "k"), (1,), (2,), args)
    done = [what for _, what in told(report.trace(0, 1))]
    assert done[1:3] == ["reads b[0] = 1.0; writes b[1] = 1.0", "reads b[0] = 1.0; atomicAdd b[1], 1.0"]
    assert done[3].startswith("reads y[0] = {") and done[3].count("reads") == 1
    assert (report.lines[5].global_load_requests, report.lines[5].global_load_sectors) == (2, 2)


def test_device_variables_are_as_they_were() -> None:
    source = """__device__ int total = 7;
extern "C" __global__ void k(int* x) { x[0] = total; total = 1; }"""
    report = profile(RawKernel(source, "k"), (1,), (1,), (cp.zeros(1, np.int32),))
    for _ in range(2):
        assert told(report.trace(0, 0))[1:] == [
            (2, "reads total[0] = 7; writes x[0] = 7"),
            (2, "writes total[0] = 1"),
        ]


def test_coordinates_of_three_axes() -> None:
    source = """extern "C" __global__ void k(int* x) {
        int at = threadIdx.x + 10 * threadIdx.y + 100 * threadIdx.z + 1000 * blockIdx.x + 10000 * blockIdx.z;
        x[0] = at;
    }"""
    report = profile(RawKernel(source, "k"), (2, 1, 3), (3, 2, 2), (cp.zeros(1, np.int32),))
    assert report.trace((1, 0, 2), (2, 1, 1)).variables(2)["at"] == 21112
    assert report.trace(5, 11).variables(2)["at"] == 21112
    assert report.trace(4, 7).variables(2)["at"] == 20101


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"block": 1, "thread": 0}, ValueError, "block 1 0 0"),
        ({"thread": 64}, ValueError, "thread 64 0 63"),
        ({"thread": -1}, ValueError, "thread -1"),
        ({"thread": (3, 1)}, ValueError, "(3,1,0) (64,1,1)"),
        ({"thread": (0, 0, 0, 0)}, ValueError, "1 3 4"),
        ({"thread": 1.5}, TypeError, "integer tuple 1.5"),
        ({"thread": True}, TypeError, "integer tuple"),
        ({}, TypeError, "warp="),
        ({"thread": 1, "warp": 0}, TypeError, "warp="),
        ({"warp": 2}, ValueError, "warp 2 0 1"),
        ({"warp": "a"}, TypeError, "warp integer str"),
        ({"thread": 1, "steps": 0}, ValueError, "steps integer 1 0"),
    ],
)
def test_errors_in_one_line(report: Report, given: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as raised:
        report.trace(**given)
    assert says(str(raised.value), words) and "\n" not in str(raised.value)


def test_without_a_launch_and_with_too_much_memory(report: Report, monkeypatch: Any) -> None:
    bare = Report(program="k.cu", source="", grid=(1, 1, 1), block=(1, 1, 1))
    with pytest.raises(ValueError, match="`profile`"):
        bare.trace(0, 0)
    monkeypatch.setattr("warplens.replay.KEPT_BYTES", 100)
    big = profile(
        RawKernel('extern "C" __global__ void k(char* x) { x[0] = 1; }', "k"),
        (1,),
        (1,),
        (cp.zeros(101, np.int8),),
    )
    with pytest.raises(ValueError, match=r"arguments.*101.*100"):
        big.trace(0, 0)


def check_counts(report: Report, threads: list[int]) -> list[Steps]:
    """Each thread of block 0 does as many accesses, tests and barriers as the report has counted of it."""
    traces = [report.trace(0, thread, steps=ALL) for thread in threads]
    for thread, trace in zip(threads, traces):
        kinds = Counter(
            event.kind for event in events(trace) if event.name not in UNCOUNTED or event.kind != "call"
        )
        fences = sum("__threadfence()" in step.source for step in trace.steps)
        counted = sum(kinds[kind] for kind in COUNTED) + fences
        assert counted == report.steps_by_thread[0, thread], (thread, str(trace))
    return traces


QUICK = {"vector_add.cu", "dot.cu", "histogram.cu", "transpose_tiled.cu", "argmax.cu", "softmax_half.cu"}
ONCE = [case for case in {case.file: case for case in CASES}.values() if case.file != "reduce_last_block.cu"]


@pytest.mark.parametrize(
    "case", slow_where(ONCE, lambda case: case.file not in QUICK), ids=lambda case: case.file
)
def test_every_kernel_is_traced_as_it_was_counted(case: Any) -> None:
    kernel = compiled_case(case)
    report = profile(kernel, case.grid, case.block, on_device(case.args), shared_mem=case.shared_mem)
    most = math.prod(case.block)
    check_counts(report, sorted({0, 1, min(33, most - 1), most - 1}))


def compiled_case(case: Any) -> Any:
    from warplens import RawModule

    if "<" in case.kernel:
        return RawModule(code=case.source, name_expressions=(case.kernel,)).get_function(case.kernel)
    return RawKernel(case.source, case.kernel)


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed", [2, 4, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in (1, 7))]
)  # none of which reads memory as another type
def test_random_kernels_read_what_they_have_written(seed: int) -> None:
    """Every thread of the first block is followed; an element that one alone writes holds what it wrote."""
    random = make(seed)
    kernel, args = compiled(random.source, random.name), on_device(random.arguments())
    report = profile(kernel, random.grid, random.block, args, shared_mem=random.shared_mem)
    given = zip(kernel.function.parameters, random.arguments(), report.outputs)
    unchanged = {
        p.name: np.ravel(a)
        for p, a, out in given
        if out is not None and np.array_equal(a, out, equal_nan=True)
    }
    traces = check_counts(report, list(range(math.prod(random.block))))
    writers: dict[tuple[str, int], set[int]] = {}
    for thread, trace in enumerate(traces):
        for event in events(trace):
            if event.kind in ("write", "atomic"):
                writers.setdefault((event.where.partition("[")[0], event.index), set()).add(thread)
    looked = 0
    for trace in traces:
        mine: dict[tuple[str, int], Any] = {}
        for event in events(trace):
            key = event.name, event.index
            if isinstance(event.value, dict) or len(writers.get(key, ())) > 1:
                continue
            if event.kind == "write":
                mine[key] = event.value
            elif event.kind == "read" and (key in mine or event.name in unchanged):
                expected = mine[key] if key in mine else unchanged[event.name][event.index]
                np.testing.assert_equal(np.asarray(event.value), np.asarray(expected))
                looked += 1
    assert looked > 0
