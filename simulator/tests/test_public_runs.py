"""The machinery that runs public kernels, on right, wrong and racing ones of our own; the written figures."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import public_runs
import pytest
from public_runs import Run, arguments, differs, one, outcomes, rows
from public_tables import TABLE

FILE = """
#include <stdio.h>
#define N 4096
__constant__ float weight[2];
__global__ void scaled(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = weight[0] * x[i] + weight[1];
}
template <typename T> __global__ void reversed(T* x) {
    __shared__ T tile[N];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}
__global__ void reversed_too_early(float* x) {
    __shared__ float tile[N];
    tile[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}
__global__ void beyond(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i];
}
__global__ void copied(cudaTextureObject_t x, float* y) {
    y[threadIdx.x] = tex1Dfetch<float>(x, threadIdx.x);
}
int main() { scaled<<<1, 1>>>(nullptr, nullptr, 1); }
"""
SCALED = Run(
    "scaled", "", "x =y 1000 %weight[2]", lambda x, weight: weight[0] * x + weight[1], grid=8, block=128
)
REVERSED = Run("reversed<int>", "", "~x[96]:i", lambda x: x[::-1], block=96, sizes={"N": "96"})
EARLY = Run(
    "reversed_too_early", "", "~x[96]", lambda x: x[::-1], block=96, sizes={"N": "96"}, found="races", why="!"
)
BEYOND = Run("beyond", "", "x =y 1000", lambda x: x, grid=8, block=128, found="out_of_bounds", why="no guard")
COPIED = Run("copied", "", "0 =y[32]", lambda: np.zeros(32), block=32)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "one+two").mkdir()
    (tmp_path / "one+two" / "file.cu").write_text(FILE)
    return tmp_path


def outcome(folder: Path, run: Run) -> public_runs.Outcome:
    """Of the run with the digest that its kernel has."""
    (line,) = public_runs.digests(folder, [("one/two", "file.cu", run)])
    return one(folder, "one/two", "file.cu", replace(run, digest=line.split()[-1]))


@pytest.mark.parametrize("run", [SCALED, REVERSED])
def test_a_right_kernel_is_right_in_three_schedules(folder: Path, run: Run) -> None:
    found = outcome(folder, run)
    assert (found.verdict, found.findings, found.said) == ("right", {}, [])
    assert found.schedules == {"lockstep": "right", "forward": "right", "reverse": "right"}


@pytest.mark.parametrize(("run", "section"), [(EARLY, "races"), (BEYOND, "out_of_bounds")])
def test_what_is_wrong_in_a_source_must_be_in_the_report(folder: Path, run: Run, section: str) -> None:
    found = outcome(folder, run)
    assert found.verdict == "found" and list(found.findings) == [section]
    assert outcome(folder, replace(run, found="asserts")).verdict == "silent"


def test_a_finding_that_nobody_has_explained_is_an_alarm(folder: Path) -> None:
    assert outcome(folder, replace(EARLY, found="", why="")).verdict == "alarm"


def test_a_reference_that_differs_is_wrong_and_says_where(folder: Path) -> None:
    found = outcome(folder, replace(REVERSED, expected=lambda x: np.where(np.arange(96) == 7, 99, x[::-1])))
    assert found.verdict == "wrong"
    assert found.schedules["reverse"].startswith("x: 1 of 96 differ, at 7 first")
    assert outcome(folder, replace(REVERSED, expected=lambda x: x, why="it reverses")).verdict == "logic"
    assert outcome(folder, replace(REVERSED, why="nothing")).verdict == "silent"


def test_a_mistake_in_the_table_is_no_verdict_about_the_kernel(folder: Path) -> None:
    found = outcome(folder, replace(SCALED, arguments="x =y ?"))
    assert found.verdict == "wrong" and "cannot read the argument '?'" in found.said[-1]


def test_another_text_and_what_is_not_our_language_are_refused(folder: Path) -> None:
    assert one(folder, "one/two", "file.cu", replace(SCALED, digest="01234567")).verdict == "refused"
    refused = outcome(folder, COPIED)
    assert refused.verdict == "refused" and "unsupported" in refused.said[0]


def test_several_processes_keep_the_order(folder: Path) -> None:
    names = [run.name for run in (SCALED, REVERSED, EARLY, SCALED)]
    todo = [("one/two", "file.cu", run) for run in (SCALED, REVERSED, EARLY, SCALED)]
    assert [found.name for found in outcomes(folder, todo)] == names


def test_arguments_are_made_as_written() -> None:
    run = Run(
        "f",
        "",
        "x[2,3] m[5]:i<3 =y[4]:d +z:h n=7 a=0.5 b=0.5d %c[2]:u given",
        lambda n, a: (np.zeros(4), n + a),
    )
    made = arguments(replace(run, given=lambda g: {"given": np.arange(3)}))
    values = [value for _, value in made.parameters]
    assert values[0].shape == (2, 3) and values[0].dtype == np.float32
    assert values[1].dtype == np.int32 and set(values[1]) <= {0, 1, 2}
    assert (values[2].shape, values[2].dtype) == ((4,), np.float64)
    assert values[3].dtype == np.float16 and not values[3].any() and values[3].size == public_runs.SIZE
    assert values[4:7] == [7, np.float32(0.5), 0.5] and isinstance(values[6], float)
    assert made.variables["c"].dtype == np.uint32 and made.outputs == ["y", "z"]
    assert made.expected["z"] == 7.5 and list(values[7]) == [0, 1, 2]


def test_what_differs_is_seen_and_what_does_not_matter_is_not() -> None:
    got = np.array([1, 2, np.nan], np.float32)
    assert differs(got, np.array([1, 2.0001, np.nan])) == ""
    assert "at 1 first" in differs(got, np.array([1, 2.1, np.nan]))
    assert "at 2 first" in differs(got, np.array([1, 2, 3]))
    assert differs(np.array([-np.inf], np.float32), np.array([-np.inf])) == ""
    assert "3 elements" in differs(got, np.zeros(2))
    assert "1 of 2" in differs(np.array([2, 3]), np.array([2, 4]))


def test_the_written_figures_are_of_this_table_and_add_up() -> None:
    found = json.loads(public_runs.RESULTS.read_text())
    written = [(row["repository"], row["path"], row["name"], row["digest"]) for row in found["kernel_rows"]]
    assert written == [(repository, path, run.name, run.digest) for repository, path, run in rows(TABLE)]
    assert found["verdicts"] == Counter(row["verdict"] for row in found["kernel_rows"])
    assert found["kernels"] == len(written) >= 150
    for row in found["kernel_rows"]:
        explained = row["verdict"] in ("found", "logic", "alarm")
        assert bool(row["why"]) == explained, row
    assert not {"wrong", "silent", "refused"} & set(found["verdicts"])
