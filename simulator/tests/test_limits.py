"""A limit that a launch meets is named by its report, and where it meets none there is no word of it."""

from __future__ import annotations

import json
from dataclasses import fields
from html import escape
from typing import Any
from unittest import mock

import numpy as np
import pytest

from warplens import RawKernel, Report, cp, profile

# Block 1 publishes `before` and then `after` elements; block 0 learns of the first ones, and reads the last
# one with no fence behind the wait for it.
TOLD = """extern "C" __global__ void told(int* data, int* flag, int before, int after, int* out) {
    if (blockIdx.x == 0) {
        while (atomicAdd(&flag[0], 0) < before);
        __threadfence();
        atomicExch(&flag[1], 1);
        while (atomicAdd(&flag[2], 0) == 0);
        out[0] = data[before + after - 1];
    } else {
        for (int i = 0; i < before; i++) { data[i] = i; __threadfence(); atomicExch(&flag[0], i + 1); }
        while (atomicAdd(&flag[1], 0) == 0);
        for (int i = before; i < before + after; i++) {
            data[i] = i; __threadfence(); atomicExch(&flag[0], i + 1);
        }
        atomicExch(&flag[2], 1);
    }
}"""
COUNTS = """extern "C" __global__ void counts(int* x, int* y, int n) {
    for (int k = 0; k < n; k++) atomicAdd(&x[threadIdx.x], 1);
    if (threadIdx.x % 64 == 0) y[0] = threadIdx.x;
}"""
ROUND = """extern "C" __global__ void circle(int* x, int n) {
    int i = 1;
    while (i != n) i = i * 3 % 101;
    x[0] = i;
}"""
SAYS = """extern "C" __global__ void says(int n) {
    for (int i = 0; i < n; i++) printf("%100d", i);
}"""
FILL = """extern "C" __global__ void fill(float* x) { x[threadIdx.x] = 1; }"""
WAIT = """extern "C" __global__ void await(int* flag, int* out) {
    if (blockIdx.x == 0) {
        atomicExch(flag, 1);
    } else if (gridDim.x == 2) {
        while (atomicAdd(flag, 0) == 0);
    }
    for (int i = 0; i < 10; i++) atomicAdd(out, 1);
}"""
AGAIN = """extern "C" __global__ void again(const float* x, float* y, int n) {
    float sum = 0;
    for (int i = 0; i < n; i++) sum += x[i];
    y[threadIdx.x] = sum;
}"""


def ints(n: int) -> Any:
    return cp.zeros(n, dtype=cp.int32)


def report_of(source: str, grid: int, block: int, *args: Any, **more: Any) -> Report:
    name = source.partition("void ")[2].partition("(")[0]
    return profile(RawKernel(source, name), (grid,), (block,), args, **more)


def publishing(before: int, after: int) -> Report:
    return report_of(TOLD, 2, 1, ints(16), ints(3), before, after, ints(1))


MET = {
    "releases": lambda: publishing(4, 4),
    "fences": lambda: report_of(COUNTS, 1, 1024, ints(1024), ints(1), 257),
    "max_steps": lambda: report_of(ROUND, 1, 1, ints(1), 0, max_steps=1000),
    "patience": lambda: report_of(ROUND, 1, 1, ints(1), 0, patience=0),
    "printed": lambda: report_of(SAYS, 1, 32, 16),
    "arguments": lambda: report_of(FILL, 1, 32, cp.zeros((64 << 18) + 1, dtype=cp.float32)),
    "waiting": lambda: report_of(WAIT, 2, 1, ints(1), ints(1)),
}
NOT_MET = {
    "releases": lambda: publishing(2, 2),
    "fences": lambda: report_of(COUNTS, 1, 1024, ints(1024), ints(1), 7),
    "max_steps": lambda: report_of(ROUND, 1, 1, ints(1), 81),
    "printed": lambda: report_of(SAYS, 1, 31, 16),
    "arguments": lambda: report_of(FILL, 1, 32, cp.zeros(64 << 18, dtype=cp.float32)),
    "waiting": lambda: report_of(WAIT, 1, 1, ints(1), ints(1)),
    "reuse": lambda: report_of(
        AGAIN, 1, 64, cp.zeros(64, dtype=cp.float32), cp.zeros(64, dtype=cp.float32), 64
    ),
}


def assert_told(report: Report, kind: str) -> None:
    kinds = [limit.kind for limit in report.limits]
    assert kinds == ([kind, "waiting"] if kind == "releases" else [kind])
    for limit in report.limits:
        assert str(report).count(limit.message) == 1
        assert report._repr_html_().count(escape(limit.message)) == 1


@pytest.mark.parametrize("kind", MET)
def test_a_limit_that_is_met_is_named_in_a_line(kind: str) -> None:
    assert_told(MET[kind](), kind)


def test_a_block_of_very_many_accesses_is_not_looked_at_to_the_end() -> None:
    with mock.patch("warplens.detect.reuse.MOST", 1000):
        assert_told(NOT_MET["reuse"](), "reuse")


@pytest.mark.parametrize("kind", NOT_MET)
def test_a_launch_that_meets_none_has_no_word_of_it(kind: str) -> None:
    report = NOT_MET[kind]()
    assert report.limits == []
    assert "Limit met" not in str(report) and "Limit met" not in report._repr_html_()


def test_the_race_that_a_limit_hides_is_found_below_it() -> None:
    assert [race.array for race in publishing(2, 2).races] == ["data"]
    assert publishing(4, 4).races == []  # the limit says so: see MERGED


# -------------------------------------------------------------------------------------------------- as data


@pytest.mark.parametrize("kind", sorted(MET.keys() - {"arguments"}))  # which are 64 MB, and more as text
def test_a_report_as_a_dict_says_what_its_attributes_say(kind: str) -> None:
    report = MET[kind]()
    told = json.loads(json.dumps(report.to_dict()))
    left_out = {"met", "seen", "rerun"}
    numbers = {"bytes_moved", "flops_per_byte", "flops_per_shared_byte", "span", "ok"}
    assert set(told) == {f.name for f in fields(report)} - left_out | numbers | {
        "costs",
        "limits",
        "occupancy",
    }
    for name in set(told) - {"outputs", "lines", "arrays", "costs", "limits", "occupancy"}:
        wanted = getattr(report, name)
        if isinstance(wanted, np.ndarray):
            assert told[name] == wanted.tolist()
        elif isinstance(wanted, list):
            assert [(one["line"], one["message"], one["count"]) for one in told[name]] == [
                (one.line, one.message, one.count) for one in wanted
            ]
        else:
            assert told[name] == (list(wanted) if isinstance(wanted, tuple) else wanted)
    assert told["outputs"] == [None if one is None else one.tolist() for one in report.outputs]
    assert [(one["line"], one["warp_steps"], one["bytes_moved"]) for one in told["lines"]] == [
        (number, line.warp_steps, line.bytes_moved) for number, line in report.lines.items()
    ]
    assert {name: one["atomics"] for name, one in told["arrays"].items()} == {
        name: one.atomics for name, one in report.arrays.items()
    }
    assert [one["message"] for one in told["costs"]] == [cost.message for cost in report.costs]
    assert [one["kind"] for one in told["limits"]] == [limit.kind for limit in report.limits]
    assert told["occupancy"]["warps"] == report.occupancy().warps
