"""Every planted bug is reported where it stands, and correct kernels are not accused."""

from __future__ import annotations

from functools import cache
from itertools import chain
from typing import Any

import numpy as np
import pytest
from kernel_files import Example, examples
from oracle import SCHEDULES, Library, OracleError, why_not

from warplens import KernelFault, RawKernel, profile, simulate

BUGS, ENDLESS, CORRECT = examples("bug"), examples("endless"), examples("correct")
SECTIONS = (
    "races",
    "out_of_bounds",
    "uninitialised",
    "misaligned",
    "barrier_divergence",
    "warp_sync",
    "arithmetic",
    "asserts",
)
# What a launch refuses without being asked for a report.
ALWAYS_ON = ("out_of_bounds", "asserts")
each_bug = pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.id)
each_correct = pytest.mark.parametrize("correct", CORRECT, ids=lambda c: c.id)
oracle = [pytest.mark.oracle, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]


@cache
def report_of(launch: Example) -> Any:
    kernel = RawKernel(launch.source, "k")
    return profile(kernel, launch.grid, launch.block, launch.device_args(), shared_mem=launch.shared_mem)


# --------------------------------------------------------------------------------------------- bugs


@each_bug
def test_a_planted_bug_is_found_on_its_line_and_nothing_else(bug: Example) -> None:
    report = report_of(bug)
    assert not report.ok, str(report)
    found = {name: getattr(report, name) for name in SECTIONS if getattr(report, name)}
    assert found.keys() <= {bug.section, *bug.also}, str(report)
    for finding in chain(*found.values()):
        assert finding.source.strip() == bug.source.splitlines()[finding.line - 1].strip()
    findings = [f for f in getattr(report, bug.section) if f.kind == bug.finding and bug.line in lines_of(f)]
    assert findings, str(report)
    if bug.section == "races":
        findings = [f for f in findings if lines_of(f) == {bug.line, bug.other_line}]
        assert findings, str(report)
    if bug.array is not None:
        findings = [f for f in findings if f.array == bug.array]
        assert findings, str(report)
    if bug.index is not None:
        assert bug.index in {f.index for f in findings}, str(report)
    if bug.at is not None:
        assert bug.at in {(f.block, f.thread) for f in findings}, str(report)
    if bug.count is not None:
        assert bug.count in {f.count for f in findings}, str(report)


def lines_of(finding: Any) -> set[int]:
    return {finding.line, getattr(finding, "other_line", finding.line)}


@pytest.mark.parametrize("bug", [b for b in BUGS if b.section in ALWAYS_ON], ids=lambda bug: bug.id)
def test_a_launch_stops_at_what_is_always_checked(bug: Example) -> None:
    kernel = RawKernel(bug.source, "k")
    with pytest.raises(KernelFault) as caught:
        simulate(kernel, bug.grid, bug.block, bug.device_args(), shared_mem=bug.shared_mem)
    assert getattr(caught.value.finding, "line", None) == bug.line


@pytest.mark.parametrize("bug", ENDLESS, ids=lambda bug: bug.id)
@pytest.mark.parametrize("schedule", ["lockstep", "forward"])
def test_a_kernel_without_end_is_stopped_on_its_line(bug: Example, schedule: str) -> None:
    kernel = RawKernel(bug.source, "k")
    with pytest.raises(RuntimeError, match=rf"\b{bug.line}\b"):
        simulate(kernel, bug.grid, bug.block, bug.device_args(), schedule=schedule, max_steps=500)


def test_the_tables_are_large_enough() -> None:
    assert len(BUGS) >= 28 and len(CORRECT) >= 28
    names = [launch.name for launch in (*BUGS, *ENDLESS, *CORRECT)]
    assert len(set(names)) == len(names)
    assert all(bug.line for bug in (*BUGS, *ENDLESS))


# ---------------------------------------------------------------------------------- correct kernels


@each_correct
def test_a_correct_kernel_is_ok(correct: Example) -> None:
    report = report_of(correct)
    assert report.ok, str(report)
    assert not [name for name in SECTIONS if name != "races" and getattr(report, name)], str(report)
    assert all(race.kind == "same-value" for race in report.races), str(report)
    assert bool(report.races) == correct.same_value, str(report)
    assert {one.kind for one in report.notes} == ({correct.note} if correct.note else set()), str(report)


# ---------------------------------------------- the tables themselves, by the second implementation


@pytest.fixture(scope="module")
def compiled() -> Library:
    """The bugs, then the correct kernels."""
    return Library([(launch.source, ["k"]) for launch in (*BUGS, *CORRECT)])


@pytest.mark.parametrize("number", [pytest.param(i, marks=oracle, id=c.id) for i, c in enumerate(CORRECT)])
def test_a_correct_kernel_gives_the_same_in_every_order(number: int, compiled: Library) -> None:
    correct = CORRECT[number]
    kernel = compiled.kernels[len(BUGS) + number]["k"]
    runs = [
        kernel(correct.grid, correct.block, correct.host_args(), correct.shared_mem, schedule)
        for schedule in SCHEDULES
    ]
    for run in runs[1:]:
        for a, b in zip(run, runs[0], strict=True):
            if "compaction" in correct.name and a is not None and b is not None:
                a, b = np.sort(a), np.sort(b)
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(i, marks=oracle, id=bug.id)
        for i, bug in enumerate(BUGS)
        if bug.section == "barrier_divergence" or (bug.section == "warp_sync" and "shuffle" in bug.name)
    ],
)
def test_threads_that_part_cannot_go_on_in_the_oracle_either(number: int, compiled: Library) -> None:
    bug = BUGS[number]
    with pytest.raises(OracleError, match=r"barrier|takes no part|while others|deadlock"):
        kernel = compiled.kernels[number]["k"]
        kernel(bug.grid, bug.block, bug.host_args(), bug.shared_mem)
