"""Loops without an end: stopped within seconds on their line, and `profile` reports what ran until then."""

from __future__ import annotations

import re
import time
from typing import Any

import numpy as np
import pytest
from key_words import says
from tiers import slow_where

from warplens import KernelFault, RawKernel, cp, profile, simulate
from warplens.kernel import Kernel

SECONDS = 10  # of this process, for a loop that is proved to be endless: a hundredth of that is usual


def kernel(body: str, parameters: str = "int* out, int n", before: str = "") -> Kernel:
    return RawKernel(f'{before}\nextern "C" __global__ void k({parameters}) {{\n{body}\n}}', "k")


def given(n: int = 1000) -> tuple[Any, ...]:
    return cp.zeros(2048, cp.int32), n


# The loop begins at line 4, but where a number says otherwise.
ENDLESS: dict[str, tuple[str, int]] = {
    "nothing leaves it": ("int x = 0;\nwhile (true) { x += 17; out[threadIdx.x] = x; }", 4),
    "the step is forgotten": ("int i = threadIdx.x;\nwhile (i < n) { out[i] += 1; }", 4),
    "the step is 0": ("int d = n - 1000;\nfor (int i = 0; i < n; i += d) out[threadIdx.x] += 1;", 4),
    "halves stay at 0": ("int v = 0;\nfor (int s = blockDim.x / 2; s >= 0; s /= 2) v += s;\nout[0] = v;", 4),
    "barriers in it": (
        "__shared__ int t[64]; t[threadIdx.x % 64] = 0;\n"
        "for (int s = blockDim.x; s >= 0; s >>= 1) { __syncthreads(); t[threadIdx.x % 64] += s; }",
        4,
    ),
    "the wrong variable counts": ("int i = 0, j = 0;\nwhile (i < n) { out[j % 64] = j; ++j; }", 4),
    "one thread of many": ("int i = 0;\nwhile (i < 10) { if (threadIdx.x != 5) ++i; else out[0] += 1; }", 4),
    "a search that stays": (
        "int lo = 0, hi = n;\n"
        "while (lo < hi) { int mid = (lo + hi) / 2; out[0] += 1; if (mid < 700) lo = mid; else hi = mid; }",
        4,
    ),
    "a continue before the step": (
        "int i = 0;\nwhile (i < n) { out[0] += 1; if (i == 3) continue; ++i; }",
        4,
    ),
    "the inner one of two": ("for (int a = 0; a < 9; ++a)\nfor (int b = 0; b < 9; ) out[a] += b;", 4),
    "the outer one of two": ("int a = 0;\ndo { for (int b = 0; b < 3; ++b) out[b] += a; } while (a < 9);", 4),
    "a lock of a warp": ("\nwhile (atomicCAS(out, 0, 1) != 0) { }\nout[0] = 0;", 4),
    "a flag that nobody sets": ("\nwhile (out[5] == 0) { int x = out[6]; }", 4),
    "a function called in it": ("int i = 0;\nwhile (f(i, n)) { i = f(i, 5) + 0; }", 4),
    "an unsigned that is never negative": (
        "int v = 0;\nfor (unsigned i = threadIdx.x; i >= 0; --i) v += i;\nout[0] = v;",
        4,
    ),
}
BEFORE = "__device__ bool f(int i, int n) { return i < n; }"


@pytest.mark.parametrize("what", ENDLESS)
@pytest.mark.parametrize("schedule", ["lockstep", "forward", "reverse"])
def test_a_launch_is_stopped_in_seconds_on_its_line(what: str, schedule: str) -> None:
    body, line = ENDLESS[what]
    begun = time.process_time()
    with pytest.raises(KernelFault, match=rf"^k\.cu:{line}: this loop was stopped, .*never") as error:
        simulate(kernel(body, before=BEFORE), (3,), (64,), given(), schedule=schedule)
    assert time.process_time() - begun < SECONDS
    assert "max_steps" not in str(error.value)


@pytest.mark.parametrize("what", slow_where(ENDLESS, "the outer one of two".__eq__))
def test_a_report_of_what_ran_names_the_line(what: str) -> None:
    body, line = ENDLESS[what]
    begun = time.process_time()
    report = profile(kernel(body, before=BEFORE), (3,), (64,), given())
    assert time.process_time() - begun < SECONDS
    (one,) = report.endless
    assert (one.kind, one.line) == ("endless", line) and one.source == report.source.splitlines()[line - 1]
    assert not report.ok and one in report.findings and says(str(report), f"line {one.line}:")
    assert says(report._repr_html_(), f"line {one.line}")
    assert report.lines[line].threads and report.span


def test_the_threads_that_are_caught_in_it_are_counted_and_one_is_named() -> None:
    report = profile(kernel(ENDLESS["one thread of many"][0]), (2,), (64,), given())
    (one,) = report.endless
    assert (one.thread, one.block, one.count) == ((5, 0, 0), (0, 0, 0), 2)
    assert says(one.message, "(5,0,0) (0,0,0) loop")


def test_what_was_done_before_is_in_the_report() -> None:
    report = profile(
        kernel('out[threadIdx.x] = 7;\nprintf("here");\nwhile (n > 0) { }'), (1,), (32,), given()
    )
    assert report.outputs[0][:32].tolist() == [7] * 32 and report.printed == "here" * 32
    assert report.lines[3].global_store_requests == 1
    again = profile(kernel('out[threadIdx.x] = 7;\nprintf("here");\nwhile (n > 0) { }'), (1,), (32,), given())
    assert str(again) == str(report)


# ----------------------------------------------------------------------------------------- loops that do end

ENDS = {
    "many iterations of one thread": "for (int i = 0; i < 3000; ++i) out[0] += 1;",
    "a loop that waits and then goes on": (
        "int i = 0, w = 0;\nwhile (i < 5) { if (++w > 700) { ++i; out[0] = w; } }"
    ),
    "a countdown in memory": "out[threadIdx.x] = 300;\nwhile (out[threadIdx.x] > 0) out[threadIdx.x] -= 1;",
    "a countdown that a function does": "out[0] = 0;\nwhile (g(out, n)) { }",
    "a period of two": "int i = 0, a = 0;\nwhile (i < 300) { a = 1 - a; if (a) ++i; }\nout[0] = i;",
    "a flag among the threads": (
        "__shared__ int go;\nif (threadIdx.x == 0) go = 0;\n__syncthreads();\n"
        "for (int k = 0; go == 0; ++k) {\n"
        "__syncthreads(); if (threadIdx.x == 40 && k == 100) go = 1; __syncthreads(); }"
    ),
    "a shuffle decides": (
        "int v = threadIdx.x;\nwhile (__any_sync(0xffffffff, v < 200)) v += 1;\nout[threadIdx.x] = v;"
    ),
    "a counter of an atomic": "while (atomicAdd(out, 1) < 20000) { }",
    "a pointer that walks": "int v = 0;\nfor (int* p = out; p != out + 500; ++p) v += *p;\nout[0] = v;",
    "a field that counts": "int2 p = make_int2(0, 400);\nwhile (p.x < p.y) ++p.x;\nout[0] = p.x;",
    "an object whose method counts": "C c;\nc.i = 0;\nwhile (c.more()) { }\nout[0] = c.i;",
    "a local array that counts": "int a[2] = {0, 400};\nwhile (a[0] < a[1]) ++a[0];\nout[0] = a[0];",
}


@pytest.mark.parametrize(
    "what", slow_where(ENDS, ["many iterations of one thread", "a countdown in memory"].__contains__)
)
def test_a_loop_that_ends_is_left_alone(what: str) -> None:
    counts = "struct C { int i; __device__ bool more() { return ++i < 400; } };"
    adds = "__device__ bool g(int* p, int n) { return atomicAdd(p, 1) < n; }"
    made = kernel(ENDS[what], before=f"{counts} {adds}")
    for schedule in ("lockstep", "forward", "reverse"):
        simulate(made, (2,), (64,), given(), schedule=schedule)
    assert not profile(made, (2,), (64,), given()).endless


# ------------------------------------------------------------------------ what cannot be told from the source

GROWS = (
    "unsigned i = 1;\nwhile (i != 0) { i += 2; out[threadIdx.x] = i; }"  # odd numbers wrap around for ever
)


@pytest.mark.slow
def test_a_loop_without_hope_is_stopped_by_the_clock() -> None:
    begun = time.process_time()
    report = profile(kernel(GROWS), (1,), (64,), given(), patience=0.5)
    assert time.process_time() - begun < SECONDS
    (one,) = report.endless
    assert one.line == 4 and re.search(
        r"it has run [\d,]+ times in more than 0\.5 s \(patience\)", one.message
    )
    with pytest.raises(KernelFault, match=r"k.cu:4:.*in.*0\.5.*\(patience\):.*end"):
        simulate(kernel(GROWS), (1,), (64,), given(), patience=0.5)


@pytest.mark.slow
def test_without_a_clock_a_number_of_steps_decides_and_the_report_is_the_same_each_time() -> None:
    reports = [profile(kernel(GROWS), (1,), (64,), given(), patience=None, max_steps=3000) for _ in range(2)]
    assert says(reports[0].endless[0].message, "3,000 (max_steps)")
    assert str(reports[0]) == str(reports[1]) and reports[0].lines[4].global_store_requests == 2 * 3000


@pytest.mark.slow
def test_a_loop_that_comes_nearer_to_its_end_is_not_stopped_by_the_clock() -> None:
    nearer = kernel("for (int i = threadIdx.x; i < n; i += 2) out[threadIdx.x] += 1;")
    assert not profile(nearer, (1,), (64,), given(3000), patience=0.0).endless
    simulate(nearer, (1,), (64,), given(3000), patience=0.0)
    down = kernel("for (int i = n; i > 0; --i) out[threadIdx.x] += 1;")
    assert not profile(down, (1,), (64,), given(1500), patience=0.0).endless


@pytest.mark.slow
def test_a_loop_that_goes_the_wrong_way_is_stopped_by_the_clock() -> None:
    away = kernel("for (int i = n; i < 2000; --i) out[threadIdx.x] += 1;")
    assert profile(away, (1,), (64,), given(1500), patience=0.2).endless
    slowly = kernel("for (long long i = n; i < 4000000000ll; ++i) out[threadIdx.x] += 1;")
    assert profile(slowly, (1,), (64,), given(1500), patience=0.2).endless


@pytest.mark.parametrize("patience", [-1, "10", True])
def test_patience_is_a_number_of_seconds(patience: Any) -> None:
    for call in (profile, simulate):
        with pytest.raises((TypeError, ValueError), match=r"patience.*None"):
            call(kernel("out[0] = 1;"), (1,), (1,), given(), patience=patience)


@pytest.mark.slow
def test_a_thread_alone_may_take_many_steps() -> None:
    counts = kernel("for (int i = 0; i < n; ++i) out[0] += 1;")
    x = cp.zeros(1, cp.int32)
    simulate(counts, (1,), (1,), (x, 200_000))
    assert x.get().tolist() == [200_000]
    with pytest.raises(KernelFault, match=r"1,000.*\(max_steps\)"):
        simulate(counts, (1,), (1,), (x, 2000), max_steps=1000)
    np.testing.assert_array_equal(x.get(), [201_000])
