"""What answers try in order to earn points unearned, or to break the grader; each attack is one test.

All of them are graded together with honest submissions, in one run.
"""

from __future__ import annotations

import socket
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import attacks
import psutil
import pytest
import tiny_course

from coursekit.course import Course
from coursekit.errors import CourseError
from coursekit.grading.assemble import assemble, load_chapter
from coursekit.grading.compare import verdict
from coursekit.grading.model import CellRun, NotebookRun
from coursekit.grading.run import run_notebooks
from coursekit.grading.sandbox import Box

pytestmark = pytest.mark.thorough

SEED = 20
ABSTRACT = "coursekit-attack"
HONEST = {
    "reference": tiny_course.reference_answers(),
    "alternative": tiny_course.ALTERNATIVES,
    "empty": {},
    "half": {"1.2": tiny_course.UNBROADCAST},
}
UNBROADCAST = {"unbroadcast-hidden", "unbroadcast-hidden-2"}


@dataclass
class Outcome:
    """Everything the tests look at."""

    runs: dict[str, NotebookRun]
    alone: dict[str, NotebookRun]  # the honest ones, graded without the others
    connections: int
    processes: list[str]
    new_files: set[str]

    def cell(self, name: str, grade_id: str = "double-hidden") -> CellRun:
        return next(cell for cell in self.runs[name].cells if cell.grade_id == grade_id)

    def passed(self, name: str) -> set[str]:
        """The hidden tests that the submission `name` passes."""
        pairs = zip(self.alone["reference"].cells, self.runs[name].cells, strict=True)
        return {got.grade_id for expected, got in pairs if verdict(expected, got, judge) is None}


def judge(name: str, expected: Any, got: Any) -> str | None:
    return None if got == expected else "other"


def submissions(course: Course, port: int) -> dict[str, dict[str, str]]:
    """All attacks by name, each as answers."""
    looks = {
        name: attacks.FOUND.format(body=body.format(course=str(course.root), port=port, abstract=ABSTRACT))
        for name, body in attacks.LOOKS.items()
    }
    breaks = {name: source for name, (_, source) in attacks.BREAKS.items()}
    firsts = {**attacks.CHEATS, **breaks, **looks, "detached": attacks.DETACHED}
    made = {name: {"1.1": source, "1.2": tiny_course.UNBROADCAST} for name, source in firsts.items()}
    made["start_files"] = {
        "1.1": attacks.START_FILES,
        "1.2": tiny_course.UNBROADCAST,
        "1.3": attacks.SHOW_POISON,
    }
    made["helpers_exit"] = {"helpers": "import os\nos._exit(0)", "1.2": tiny_course.UNBROADCAST}
    return made


@pytest.fixture(scope="session")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcome]:
    try:
        box = replace(Box.required(), sealed=False)  # else nothing would get as far as the walls
    except CourseError as error:
        pytest.skip(str(error))
    root = tmp_path_factory.mktemp("attacks")
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setattr(tempfile, "tempdir", str(root))
    course = tiny_course.make_tiny_course(root / "course")
    chapter = load_chapter(course.solutions / f"{tiny_course.NAME}.ipynb")
    before, start = files_below(root), time.time()
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as abstract:
        abstract.bind(f"\0{ABSTRACT}")
        abstract.listen()
        evil = submissions(course, server.getsockname()[1])
        notebooks = {name: assemble(chapter, answers) for name, answers in {**HONEST, **evil}.items()}
        honest = {name: notebooks[name] for name in HONEST}
        alone = run_notebooks(honest, course=course, seed=SEED, box=box, workers=1)
        # the attackers first, so that the honest come after and between them
        order = sorted(notebooks, key=lambda name: (name == "reference", name))
        mixed = {name: notebooks[name] for name in order}
        runs = run_notebooks(mixed, course=course, seed=SEED, box=box, workers=2, timeout=12)
        connections = pending(server) + pending(abstract)
    monkeypatch.undo()
    yield Outcome(runs, alone, connections, left_over(root, start), files_below(root) ^ before)


def files_below(root: Path) -> set[str]:
    """The course and the folders of runs, with sizes."""
    return {f"{path} {path.stat().st_size}" for path in root.rglob("*")}


def pending(server: socket.socket) -> int:
    server.setblocking(False)
    try:
        server.accept()
    except BlockingIOError:
        return 0
    return 1


def left_over(root: Path, start: float) -> list[str]:
    """Processes of our boxes that are still there; the end of a namespace may take a moment."""
    for _ in range(600):  # half a minute
        young = [one for one in psutil.process_iter(["create_time"]) if one.info["create_time"] > start - 1]
        found = [line for line in map(lineage, young) if is_ours(line, root)]
        if not found:
            return []
        time.sleep(0.05)
    return found


def lineage(process: psutil.Process) -> str:
    """The command lines of a process and its ancestors."""
    try:
        return "\n".join(" ".join(one.cmdline()) for one in (process, *process.parents()))
    except psutil.Error:
        return ""


def is_ours(line: str, root: Path) -> bool:
    """Another grader may run on this machine: its boxes name a private folder of its own."""
    ours = str(root) in line or "/coursekit-" not in line
    return attacks.MARK in line or ("/box/kernel.py" in line and ours)


def timeless(run: NotebookRun) -> tuple[CellRun, ...]:
    return tuple(replace(cell, seconds=0.0) for cell in run.cells)


def test_the_reference_passes_everything(outcome: Outcome) -> None:
    assert len(outcome.passed("reference")) == 4


def test_the_empty_notebook_passes_nothing_and_is_unsolved(outcome: Outcome) -> None:
    assert outcome.passed("empty") == set()
    assert {cell.status for cell in outcome.runs["empty"].cells} == {"unsolved"}


@pytest.mark.parametrize("name", HONEST)
def test_honest_results_are_the_same_beside_attackers(outcome: Outcome, name: str) -> None:
    assert timeless(outcome.runs[name]) == timeless(outcome.alone[name])


@pytest.mark.parametrize("name", attacks.CHEATS)
def test_cheating_earns_only_what_the_honest_answer_earns(outcome: Outcome, name: str) -> None:
    assert outcome.passed(name) == UNBROADCAST


@pytest.mark.parametrize("name", attacks.BREAKS)
def test_breaking_the_kernel_costs_that_exercise_alone(outcome: Outcome, name: str) -> None:
    assert outcome.cell(name).status in attacks.BREAKS[name][0]
    assert outcome.passed(name) == UNBROADCAST


@pytest.mark.parametrize("name", attacks.LOOKS)
def test_looking_around_finds_nothing(outcome: Outcome, name: str) -> None:
    assert [probe.value for probe in outcome.cell(name).probes] == [{"list": []}] * 2
    assert outcome.passed(name) == UNBROADCAST


def test_start_files_do_not_outlive_their_kernel(outcome: Outcome) -> None:
    assert outcome.cell("start_files").status == "died"
    assert outcome.passed("start_files") == UNBROADCAST
    (probe,) = outcome.cell("start_files", "order-hidden").probes
    assert probe.value["list"][1] == {"list": [False, {"list": [".ipython"]}]}


def test_helpers_that_exit_are_left_out(outcome: Outcome) -> None:
    assert outcome.passed("helpers_exit") == UNBROADCAST


def test_nothing_reached_the_network(outcome: Outcome) -> None:
    assert outcome.connections == 0


def test_no_process_is_left(outcome: Outcome) -> None:
    assert outcome.processes == []


def test_no_file_is_left(outcome: Outcome) -> None:
    assert outcome.new_files == set()
