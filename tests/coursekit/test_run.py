"""What one student, a signal or a second grader may cost a run: a line, seconds, and nobody else's points."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
import tiny_course as tiny

from coursekit import __main__ as command
from coursekit import notebooks
from coursekit.course import Course
from coursekit.errors import CourseError
from coursekit.grading import seeds, submissions
from coursekit.grading.assemble import Chapter, assemble, find_notebook, load_chapter
from coursekit.grading.compare import verdict
from coursekit.grading.control import budget_of
from coursekit.grading.feedback import feedback
from coursekit.grading.flow import Budget, Flow, hidden_tests
from coursekit.grading.handins import Refused, read_file
from coursekit.grading.model import CellRun, NotebookRun
from coursekit.grading.pointers import hidden_imports, pointers
from coursekit.grading.results import ExerciseResult, Result
from coursekit.grading.run import run_notebooks
from coursekit.grading.sandbox import Box
from coursekit.grading.state import State
from coursekit.grading.submissions import Submission

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
REFERENCE = tiny.reference_answers()


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    return tiny.make_tiny_course(tmp_path_factory.mktemp("run") / "course")


@pytest.fixture(scope="module")
def chapter(course: Course) -> Chapter:
    return load_chapter(find_notebook(course.solutions, "01"))


def box() -> Box:
    try:
        return Box.required()
    except CourseError:
        return Box.off()


# Things that are no notebooks


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(os.path.relpath(path))


def _unreadable(path: Path) -> None:
    path.write_text("{}")
    path.chmod(0)


THINGS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "folder": (Path.mkdir, "x.ipynb is a folder; expected the notebook itself"),
    "pipe": (os.mkfifo, "x.ipynb is not a file; expected the notebook itself"),
    "socket": (_socket, "x.ipynb is not a file; expected the notebook itself"),
    "link": (
        lambda path: path.symlink_to("/dev/zero"),
        "x.ipynb is a symbolic link; expected the notebook itself",
    ),
    "closed": (_unreadable, "x.ipynb cannot be read (Permission denied)"),
    "nothing": (lambda path: None, "x.ipynb cannot be read (No such file or directory)"),
}


@pytest.mark.parametrize("kind", THINGS)
def test_what_is_no_file_is_refused_in_one_line(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "closed" and os.geteuid() == 0:
        pytest.skip("root reads everything")
    monkeypatch.chdir(tmp_path)
    make, words = THINGS[kind]
    make(tmp_path / "x.ipynb")
    with pytest.raises(Refused) as refused:
        read_file(tmp_path / "x.ipynb")
    assert str(refused.value) == words


@pytest.mark.parametrize("kind", ["folder", "pipe", "socket", "link"])
@pytest.mark.parametrize("place", ["x.ipynb", "ada/x.ipynb"])
def test_the_class_goes_on_beside_what_is_no_notebook(
    kind: str, place: str, tmp_path: Path, chapter: Chapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / place).parent.mkdir(exist_ok=True)
    THINGS[kind][0](tmp_path / place)
    tiny.submit(tmp_path, "right", tiny.submission(REFERENCE))
    found, _ = submissions.collect(tmp_path, chapter)
    assert [bool(one.refused) for one in found] == [one.student != "right" for one in found]
    assert len(found) == 2 and all(one.refused.count("\n") == 0 for one in found)


# Memory

MEASURE = r"""
import re, sys
from pathlib import Path
from coursekit.grading.assemble import load_chapter
from coursekit.grading.submissions import collect
(one,), _ = collect(Path(sys.argv[1]), load_chapter(Path(sys.argv[2])))
assert one.refused
status = Path("/proc/self/status").read_text()  # ru_maxrss would count what its parent has
print(int(re.search(r"VmHWM:\s*(\d+) kB", status)[1]) // 1024)
"""


AT_NIGHT = [pytest.param(item, marks=pytest.mark.nightly) for item in ("1.5,", "[],", "{},")]


@pytest.mark.thorough
@pytest.mark.parametrize("item", ['"ab",', *AT_NIGHT])
def test_many_large_notebooks_take_the_memory_of_one(item: str, tmp_path: Path, chapter: Chapter) -> None:
    content = f'{{"nbformat": 4, "cells": [], "metadata": {{"x": [{item * (9_900_000 // len(item))} 0]}}}}'
    (tmp_path / "in" / "ada").mkdir(parents=True)
    for number in range(19):
        (tmp_path / "in" / "ada" / f"{number}.ipynb").write_text(content)
    asked = [sys.executable, "-c", MEASURE, str(tmp_path / "in"), str(chapter.path)]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 400  # MB


def test_brackets_in_texts_are_no_parts(chapter: Chapter) -> None:
    made = tiny.submission(REFERENCE)
    made.cells.append(tiny.code("print(pairs)"))
    made.cells[-1].outputs = [{"output_type": "stream", "name": "stdout", "text": '[1, "2\\"], ' * 300_000}]
    content = json.dumps(made).encode()
    assert content.count(b"[") > submissions.MOST_PARTS
    assert submissions.parse("ada.ipynb", content, chapter)


def test_a_result_is_handed_on_and_not_kept(course: Course, chapter: Chapter) -> None:
    made = {name: assemble(chapter, REFERENCE) for name in ("a", "b")}
    taken: list[str] = []
    kept = run_notebooks(
        made, course=course, seed=1, box=box(), workers=1, on_done=lambda run: taken.append(run.name)
    )
    assert sorted(taken) == ["a", "b"] and kept == {}


# Awkward sources

AWKWARD = [
    "\f",
    "\x0b",
    "\x1c",
    "\u2028",
    "\r",
    " ",
    "\t",
    "#",
    "(",
    "[",
    '"',
    "a\n",
    "\f\n",
    " \n",
    "\ud800",
    "import a,",
]


@pytest.mark.thorough
@pytest.mark.parametrize("piece", AWKWARD, ids=repr)
@pytest.mark.parametrize("size", [980_000, 9_800_000])
def test_an_awkward_source_costs_little_time(piece: str, size: int, course: Course, chapter: Chapter) -> None:
    """The smaller one is below all limits; of the larger one, characters may be escapes of six bytes."""
    source = "# exercise: 1.1\n" + piece * (size // len(piece if size < 10**6 else json.dumps(piece)[1:-1]))
    made = tiny.submission(REFERENCE | {"1.1": source})
    made.cells.append(tiny.code(source[20:]) if size < 10**6 else tiny.code(""))
    content = json.dumps(made).encode()
    start = time.process_time()
    try:
        answers, added = submissions._split(submissions.parse("ada.ipynb", content, chapter), chapter)
    except Refused as reason:
        assert size > 10**6 and "keep code alone" in str(reason)
    else:
        one = Submission("ada", "ada", "ada.ipynb", answers, added)
        json.dumps(assemble(chapter, answers))
        hidden_imports(course, chapter, [one])
        pointers(chapter, [one])
        feedback(chapter, Result(one, (ExerciseResult(chapter.exercises[0], 0, ("wrong",)),)))
    assert time.process_time() - start < 4


# The budget


class Napping:
    """A kernel whose answers take as long as they say."""

    def __init__(self, clock: list[float]) -> None:
        self.clock = clock

    def wait_until_ready(self) -> Any:
        return self.execute("0", 100)

    def execute(self, code: str, timeout: float, **how: Any) -> Any:
        wanted = float(code) if code.replace(".", "").isdecimal() else 0.0
        self.clock[0] += min(wanted, timeout)
        late = wanted > timeout
        return SimpleNamespace(
            status="timeout" if late else "ok", error="", error_type="", probes=[], lost=late, seconds=0.0
        )

    def close(self) -> None:
        pass


def nap(chapter: Chapter, monkeypatch: pytest.MonkeyPatch, seconds: float, **answers: float) -> list[CellRun]:
    """What a notebook shows whose answers take so long (e1, e2, e3: seconds), on a clock of its own."""
    clock = [0.0]
    monkeypatch.setattr("coursekit.grading.flow.time", SimpleNamespace(monotonic=lambda: clock[0]))
    made = assemble(chapter, {f"1.{name[1:]}": str(each) for name, each in answers.items()})
    flow = Flow(made, lambda: Napping(clock), seed=1, budget=Budget(seconds))  # type: ignore[arg-type,return-value]
    hidden = [cell for cell in made.cells if cell.metadata.coursekit.role == "hidden"]
    return [flow.run(cell) for cell in hidden]


@pytest.mark.parametrize(("trusted", "kernels"), [(False, 2), (True, 1)])
def test_who_measures_memory_finds_no_kernel_that_an_answer_was_tested_in(
    chapter: Chapter, trusted: bool, kernels: int
) -> None:
    started = []

    def start() -> Napping:
        started.append(Napping([0.0]))
        return started[-1]

    made = assemble(chapter, {})
    first, *_, last = tests = hidden_tests(made)
    first.metadata.coursekit.measures = last.metadata.coursekit.measures = True
    flow = Flow(made, start, seed=1, trusted=trusted)  # type: ignore[arg-type]
    for cell in tests:
        flow.run(cell)
    assert len(started) == kernels


def test_who_measures_memory_runs_first_and_exercises_stay_whole(chapter: Chapter) -> None:
    made = assemble(chapter, {})
    before = [cell.metadata.coursekit.exercise for cell in hidden_tests(made)]
    assert before == sorted(before)
    made.cells += hidden_tests(made)
    made.cells[-2].metadata = {"coursekit": {**made.cells[-2].metadata.coursekit, "measures": True}}
    wanted, after = made.cells[-2], hidden_tests(made)
    exercise = wanted.metadata["coursekit"]["exercise"]
    assert after[0] is wanted
    others = [cell.metadata["coursekit"]["exercise"] for cell in after[1:]]
    own = others.count(exercise)
    assert own and others[:own] == [exercise] * own and others[own:] == sorted(others[own:])


def test_what_hangs_gets_half_of_what_is_left(chapter: Chapter, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = nap(chapter, monkeypatch, 24, e1=99, e2=99, e3=1)
    assert [cell.status for cell in cells] == ["timeout", "timeout", "timeout", "ok"]
    assert [cell.seconds for cell in cells] == [12, 6, 0, 1]
    early = "stopped early: the notebook had used up most of its 24 seconds"
    assert [cell.error for cell in cells] == [early, early, early, ""]


def test_within_its_own_limit_a_cell_is_told_of_that(
    chapter: Chapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, *_ = nap(chapter, monkeypatch, 240, e1=99)
    assert (first.status, first.seconds, first.error) == ("timeout", 20, "")


def test_after_its_end_nothing_is_run(chapter: Chapter, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = nap(chapter, monkeypatch, 4, e1=1.9, e2=1.0, e3=0.5)
    assert [cell.status for cell in cells] == ["ok", "ok", "ok", "ok"]
    cells = nap(chapter, monkeypatch, 4, e1=1.9, e2=1.04, e3=0.5)
    assert [cell.status for cell in cells] == ["ok", "ok", "ok", "ok"]
    cells = nap(chapter, monkeypatch, 3, e1=99, e2=99, e3=0)
    assert [cell.status for cell in cells] == ["timeout", "timeout", "timeout", "missing"]
    reference = CellRun("order-hidden", "1.3", "ok")
    assert verdict(reference, cells[-1]) == "not run: the notebook had used up its 3 seconds"


def test_a_check_of_ones_own_has_no_budget() -> None:
    assert Budget().left == float("inf") and not Budget().over


def test_a_budget_is_three_times_the_reference_and_a_minute(chapter: Chapter) -> None:
    run = NotebookRun(
        "reference", (CellRun("a", "1.1", "ok", seconds=2.0), CellRun("b", "1.2", "ok", seconds=3.0))
    )
    assert budget_of(chapter, run, None) == 80  # 3 * 5 + 60, rounded up
    assert budget_of(chapter, run, 100.0) == 220  # two cells may take what was asked for


@pytest.mark.nightly
def test_a_slow_submission_costs_its_budget_and_nobody_elses_points(course: Course, chapter: Chapter) -> None:
    nap = "import time\ntime.sleep(19)"
    slow = {number: f"# exercise: {number}\n{nap}\n{source}" for number, source in REFERENCE.items()}
    made = {"honest": REFERENCE, "slow": {"helpers": nap} | slow, "other": REFERENCE}
    runs = run_notebooks(
        {name: assemble(chapter, answers) for name, answers in made.items()},
        course=course, seed=1, box=box(), workers=1, budget=24,
    )  # fmt: skip
    assert sum(cell.seconds for cell in runs["slow"].cells) < 60  # without one: 9 cells of 19 s
    assert {cell.status for cell in runs["slow"].cells} <= {"timeout", "died", "missing"}
    for name in ("honest", "other"):
        assert [cell.status for cell in runs[name].cells] == ["ok"] * 4


# Signals, and a second grader


class Running:
    """`coursekit grade` as a process of its own, on a class of one honest student and one who waits."""

    def __init__(self, course: Course, root: Path) -> None:
        self.temporary = Path(tempfile.mkdtemp(prefix="run-"))  # of a short path: sockets lie in it
        self.out = root / "out"
        tiny.submit(root / "in", "ada", tiny.submission(REFERENCE))
        waits = "# exercise: 1.1\nimport time\ntime.sleep(15)\ndef double(x): return 2 * x"
        tiny.submit(root / "in", "bob", tiny.submission({"1.1": waits}))
        sandbox = "required" if box().bubblewrap else "off"
        words = ["--course", course.root, "grade", "01", root / "in", "--out", self.out, "--sandbox", sandbox]
        self.command = [sys.executable, "-m", "coursekit", *map(str, words), "--workers", "1"]
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            self.command,
            cwd=ROOT,
            env={**os.environ, "TMPDIR": str(self.temporary)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def until(self, condition: Callable[[], object]) -> bool:
        """Whether `condition` comes to hold within minutes."""
        deadline = time.monotonic() + 180
        while not condition() and time.monotonic() < deadline:
            time.sleep(0.1)
        return bool(condition())

    def until_one_is_graded(self) -> None:
        assert self.until(lambda: list(self.out.glob(".coursekit/runs/*.json")))

    def left(self) -> list[str]:
        """Processes and folders of the run that are still there."""
        named = (one for one in psutil.process_iter(["cmdline"]) if one.pid != self.process.pid)
        lines = [" ".join(one.info["cmdline"] or ()) for one in named]
        return [*(line for line in lines if str(self.temporary) in line), *map(str, self.temporary.iterdir())]


@pytest.fixture
def running(course: Course, tmp_path: Path) -> Iterator[Running]:
    one = Running(course, tmp_path)
    yield one
    if one.process.poll() is None:
        one.process.kill()
    one.process.communicate()
    shutil.rmtree(one.temporary)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_run_as_ctrl_c_does(running: Running, kind: signal.Signals) -> None:
    running.until_one_is_graded()
    assert len(running.left()) > 1
    running.process.send_signal(kind)
    said = running.process.communicate(timeout=300)[1]
    assert running.process.returncode == 130 and "Traceback" not in said
    assert said.endswith("the same command goes on from here\n\nstopped; nothing was lost\n")
    assert running.until(lambda: not running.left()), running.left()
    if kind == signal.SIGTERM:
        running.start()
        said = running.process.communicate(timeout=300)[1]
        assert running.process.returncode == 0 and "continuing the run with seed" in said
        assert not running.left()


@pytest.mark.thorough
def test_after_a_grader_that_was_killed_nothing_stays(running: Running) -> None:
    running.until_one_is_graded()
    assert len(running.left()) > 1
    running.process.kill()
    assert running.until(lambda: not running.left()), running.left()


def test_a_second_grader_is_one_line_and_changes_nothing(
    course: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny.submit(tmp_path / "in", "ada", tiny.submission(REFERENCE))
    words = [
        "--course",
        str(course.root),
        "grade",
        "01",
        str(tmp_path / "in"),
        "--out",
        str(tmp_path / "out"),
    ]
    with closing(State(tmp_path / "out", "01", "key", 5)) as first:
        first.save("x", NotebookRun("x"))
        assert command.main([*words, "--sandbox", "off"]) == 2
        said = capsys.readouterr().err
        assert said.startswith("error: ") and "another grading (process" in said and said.count("\n") == 1
        assert first.load("x") == NotebookRun("x")


# What an instructor is pointed at


def _pointed_at(chapter: Chapter, answers: dict[str, str], *added: str) -> list[str]:
    return pointers(chapter, [Submission("ada", "ada", "ada.ipynb", answers, added)])


@pytest.mark.parametrize(
    "source, names",
    [
        ("import gc\ngc.get_objects()", "`gc`"),
        ("import ctypes.util as c", "`ctypes`"),
        ("from sys import settrace as s", "`settrace`"),
        ("import sys\nsys.monitoring.use_tool_id(1, 'x'); sys._getframe()", "`monitoring`, `_getframe`"),
        ("getattr(__import__('sys'), 'addaudithook')", "`addaudithook`"),
        ("def probe(*a): pass", "`probe`"),
        ("probe = print", "`probe`"),
        ("get_ipython().user_ns", "`get_ipython`"),
        ("gc = (", "`gc`"),  # no Python: by its words
        ("# I did not use gc\nx = 'the gc of ctypes'\nprobes = 1", None),
        ("x = 1", None),
    ],
)
def test_an_answer_that_names_what_few_need_is_pointed_at(
    chapter: Chapter, source: str, names: str | None
) -> None:
    expected = [f"ada: 1.1 names {names}; read the answer"] if names else []
    assert _pointed_at(chapter, REFERENCE | {"1.1": f"# exercise: 1.1\n{source}"}) == expected


def test_a_cell_that_was_added_is_read_as_well(chapter: Chapter) -> None:
    assert _pointed_at(chapter, REFERENCE, "x = 1", "import gc") == [
        "ada: a cell that was added names `gc`; read the answer"
    ]


def test_an_answer_in_another_cell_is_pointed_at(chapter: Chapter) -> None:
    others = {number: source for number, source in REFERENCE.items() if number != "1.1"}
    told = (
        "ada: 1.1 is not done in its answer cell, but another cell {}; only answer cells are graded, so look"
    )
    below = "# my answer\n# exercise: 1.1\ntwice = lambda x: 2 * x"
    assert _pointed_at(chapter, others, below) == [told.format("has the line `# exercise: 1.1`")]
    assert _pointed_at(chapter, others, tiny.ALTERNATIVES["1.1"][16:]) == [told.format("defines `double`")]
    assert _pointed_at(chapter, others, "y = double(2)", "def other(): pass") == []
    assert _pointed_at(chapter, REFERENCE, below) == []


# Many seeds


SQUARES = 'probe("value", double(float(rng.integers(4))))'  # of 0 and 2 twice the number is its square


@pytest.mark.thorough
def test_hidden_tests_that_hold_at_some_seeds_alone_are_found(tmp_path: Path) -> None:
    course = tiny.make_tiny_course(tmp_path)
    path = find_notebook(course.solutions, "01")
    assert seeds.report(load_chapter(path), course, range(3)) == []
    made = tiny.solution_notebook()
    for cell in notebooks.cells(path, made):
        if cell.grade_id == "double-hidden":
            cell.node.source = cell.source.replace(tiny.HIDDEN["double-hidden"], SQUARES)
        if cell.grade_id == "order":
            cell.node.source = cell.source.replace(
                "return done", "import time\n    return [*done, str(time.time_ns())]"
            )
    notebooks.write(path, made)
    judges = course.solutions / "judges" / f"{tiny.NAME}.py"
    shutil.rmtree(judges.parent)
    found = seeds.report(load_chapter(path), course, range(6))
    assert any("order-hidden: the reference does not pass beside itself" in line for line in found)
    assert any("1.1: a known mistake" in line and "earns full points" in line for line in found)
