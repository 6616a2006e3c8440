"""benchmarks/launches.py: its kernels are right, and its table says what was extrapolated and missed."""

from __future__ import annotations

import dataclasses
import re

import launches
import pytest
import reports
from launches import CASES, Case

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_kernels_compute_what_numpy_says(case: Case) -> None:
    launch = case.launch(case.small)
    ready = launches.warplens(case, launch)
    ready.call()
    launches.check(case, "warplens", ready.result(), launch.expected)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_fewer_blocks_do_the_same_work_each(case: Case) -> None:
    whole, part = case.launch(case.size), case.launch(case.small)
    assert whole.block == part.block and whole.blocks % part.blocks == 0
    assert len(whole.args) == len(part.args)


def test_a_wrong_result_stops_the_benchmark() -> None:
    launch = CASES["add"].launch(32)
    with pytest.raises(SystemExit, match=r"add of pocl is wrong by"):
        launches.check(CASES["add"], "pocl", launch.args[-1], launch.expected)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_opencl_has_no_words_of_cuda(case: Case) -> None:
    text = launches.opencl(case.source)
    assert re.findall(r"threadIdx|blockIdx|blockDim|__shared__|__syncthreads|atomicAdd|extern", text) == []
    (head,) = re.findall(r"__kernel void \w+\((.*?)\)", text)
    assert head.count("__global") == head.count("*") == case.source.count("*") - text.count(" * ")


def test_the_table_says_what_was_extrapolated_and_what_was_missed() -> None:
    rows = [
        {"case": "tiled", "warplens": 0.06, "pocl": 0.02, "numba": 300.0, "numba_factor": 256.0}
        | {"by_pocl": 3.0, "by_numba": 0.0002},
        {"case": "launch", "warplens": 1e-4, "pocl": 2e-4, "numba": 0.05, "numba_factor": 1.0}
        | {"by_pocl": 0.5, "by_numba": 0.002},
    ]
    tiled, launch = (line.split(" | ") for line in launches.table(rows).splitlines()[2:])
    assert tiled[1:] == ["60.0 ms", "20.0 ms", "300 s (x 256)", "3.0 (target 2: missed)", "1 / 5,000 |"]
    assert launch[1:] == ["100 µs", "200 µs", "50.0 ms", "1 / 2.0", "1 / 500 |"]


def test_a_part_of_the_libraries_has_a_table_too() -> None:
    assert launches.table([{"case": "add", "warplens": 0.01}]).splitlines() == [
        "| kernel | `warplens` |",
        "| --- | --- |",
        "| vector add, 1M | 10.0 ms |",
    ]


# ------------------------------------------------------------------------------------ benchmarks/reports


@pytest.mark.parametrize("way", reports.WAYS)
def test_the_time_to_a_report_is_measured(way: str) -> None:
    found = reports.measure_here(reports.CASES["matmul 128"], way)
    assert 0 < found["seconds"] < 60 and found["megabytes"] > 10


def test_softmax_of_the_benchmark_is_right() -> None:
    few = dataclasses.replace(reports.CASES["softmax 1024 x 1000"], launch=lambda: reports.softmax(3))
    assert reports.measure_here(few, "profile")["seconds"] > 0


def test_the_table_of_reports_says_how_many_times() -> None:
    row = {"case": "matmul 128", "of": "profile", "now": 0.5, "now_megabytes": 60}
    earlier = {"before": 4.0, "before_megabytes": 61}
    old, new = (reports.table([each]).splitlines()[2].split(" | ") for each in (row | earlier, row))
    assert old[2:] == ["4.00 s", "500 ms", "8.0", "61", "60 |"]
    assert new[2:] == ["", "500 ms", "", "", "60 |"]
