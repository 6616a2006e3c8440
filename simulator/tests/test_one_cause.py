"""One cause is one problem, and the words say where it lies: rounds of a loop, updates in place, blocks."""

from __future__ import annotations

import re
from typing import Any

import pytest
from key_words import says

from warplens import RawKernel, cp, profile
from warplens.report.report import Report


def run(body: str, grid: Any = (1,), block: Any = (64,), n: int = 4, parameters: str = "float* y") -> Report:
    source = f'extern "C" __global__ void k({parameters}, int n) {{\n{body}\n}}'
    return profile(RawKernel(source, "k"), grid, block, (cp.zeros(1024, cp.float32), n))


TILE = """__shared__ float a[64], b[64];
int t = threadIdx.x;
for (int k = 0; k < n; k++) {
    a[t] = k;
    b[t] = k;
    __syncthreads();
    y[t] += a[63 - t] + b[63 - t];
    LAST
}"""


def test_a_barrier_missing_at_the_end_of_a_loop_is_one_problem_and_says_so() -> None:
    report = run(TILE.replace("LAST", ""))
    assert len(report.races) == 2
    (one,) = report.problems
    assert says(one.message, "round loop 4 end")
    assert says(one.message, "5 8") or says(one.message, "6 8")
    assert one.count == sum(race.count for race in report.races)
    assert says(str(report).splitlines()[0], "k.cu 1 (1, 1, 1) 64 (64, 1, 1) 1")
    assert run(TILE.replace("LAST", "__syncthreads();")).ok


def test_two_missing_barriers_are_two_problems() -> None:
    report = run(TILE.replace("LAST", "").replace("    __syncthreads();\n", ""))
    told = sorted(says(one.message, "round") for one in report.problems)
    assert told == [False, True]


def test_what_is_not_in_a_loop_comes_in_no_round() -> None:
    (one,) = run(
        "__shared__ float a[64];\na[threadIdx.x] = 1;\ny[threadIdx.x] = a[63 - threadIdx.x];"
    ).problems
    assert "round" not in one.message


@pytest.mark.parametrize(
    ("update", "atomic"),
    [
        ("y[t % 7] += 2;", "atomicAdd"),
        ("y[t % 7]++;", "atomicAdd"),
        ("((unsigned int*)y)[t % 7] |= 1u << t;", "atomicOr"),
        ("y[t % 7] *= 2;", None),
    ],
)
def test_an_update_by_several_threads_names_its_atomic(update: str, atomic: str | None) -> None:
    report = run(f"int t = threadIdx.x;\n{update}", grid=(2,))
    (one,) = report.problems
    assert set(re.findall(r"atomic[A-Z]\w+", one.message)) == ({atomic} if atomic else set())


def test_a_step_of_a_scan_in_place_must_be_read_before_it_is_written() -> None:
    body = """__shared__ float a[64];
int t = threadIdx.x;
a[t] = t;
__syncthreads();
if (t > 0) STEP
y[t] = a[t];"""
    for step in ("a[t] += a[t - 1];", "a[t] = a[t] + a[t - 1];"):
        found = run(body.replace("STEP", step)).problems
        assert any(says(one.message, "variable") for one in found), step


def test_races_that_do_no_harm_are_shown_as_notes() -> None:
    report = run("y[0] = 1;\ny[2000] = 1;")
    assert report.races and [one.kind for one in report.shown("notes")] == ["same-value"]
    text = str(report)
    assert text.index("y[2000]") < text.index("Notes") < text.index("y[0]") and "Races" not in text


def test_a_shuffle_without_its_lanes_is_one_problem() -> None:
    body = (
        "float v = 1;\nif (threadIdx.x < 20) v += __shfl_down_sync(0xffffffff, v, 16);\ny[threadIdx.x] = v;"
    )
    report = run(body, block=(32,))
    assert len(report.warp_sync) == 2 and len(report.problems) == 1


def test_the_picture_of_barriers_shows_the_block_that_misses_one() -> None:
    report = run("if (blockIdx.x < 2 || threadIdx.x < 40) __syncthreads();\ny[threadIdx.x] = 0;", grid=(3,))
    assert report.barrier_divergence[0].block == (2, 0, 0)
    picture = report.picture("barriers")
    assert says(picture.title, "(2,0,0)")
    assert [event.lanes.tolist() for event in report.seen.events if event.kind == "barrier"] == [[32, 8]]


def test_a_report_says_where_to_look() -> None:
    report = run("y[threadIdx.x + 1000 * blockIdx.x] = 1;", grid=(2,))
    assert "report.trace((1, 0, 0), (24, 0, 0))" in str(report)
    assert "report.trace((1, 0, 0), (24, 0, 0))</code>" in report._repr_html_()
    assert "y[1024]" in str(report.trace((1, 0, 0), (24, 0, 0)))
