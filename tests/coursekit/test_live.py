"""`check("1.2")` below an answer, in a real kernel, and stubs that Run All passes over."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tiny_course as tiny
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_notebook

from coursekit import notebooks
from coursekit.box import check as client
from coursekit.box.check import IN_BOX, Unsolved
from coursekit.course import Course, find_course
from coursekit.grading import check, live, progress
from coursekit.grading.assemble import assemble, find_notebook, load_chapter
from coursekit.grading.flow import Flow
from coursekit.grading.run import private_folder
from coursekit.install import lab
from coursekit.make.exercises import exercise

ROOT = Path(__file__).parents[2]
SQUARED = "# exercise: 1.1\ndef double(x):\n    return x**2\n"
SAME = "# exercise: 1.2\ndef unbroadcast(grad, shape):\n    return grad\n"
ENDLESS = "# exercise: 1.3\ndef order(graph):\n    while True:\n        pass\n"
STUBS = [f"1.{number} is not solved yet" for number in (1, 2, 3)]


def made_course(root: Path) -> Course:
    course = tiny.make_tiny_course(root)
    made = tiny.solution_notebook()
    made.metadata.coursekit.timeout = 5
    notebooks.write(course.solutions / f"{tiny.NAME}.ipynb", made)
    notebooks.write(course.exercises / f"{tiny.NAME}.ipynb", exercise(made, Path(f"{tiny.NAME}.ipynb")))
    course.work.mkdir()
    return course


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    return made_course(tmp_path_factory.mktemp("live") / "köurse")


def ran(course: Course, answers: Mapping[str, str], *more: str) -> tuple[list[str], NotebookNode]:
    """What the cells with `check` showed in a notebook that was never saved, `more` cells at its end."""
    made = notebooks.read(course.exercises / f"{tiny.NAME}.ipynb")
    for cell in notebooks.cells(Path("x.ipynb"), made):
        if cell.is_answer and cell.exercise in answers:
            cell.node.source = answers[cell.exercise]
    made.cells += [tiny.code(source) for source in more]
    path = {"metadata": {"path": str(course.work)}}
    NotebookClient(made, timeout=300, resources=path, allow_errors=True).execute()
    return [shown(cell) for cell in made.cells if cell.source.startswith("check(")], made


def shown(cell: NotebookNode) -> str:
    return "\n".join(one.data["text/plain"] for one in cell.outputs if one.output_type == "display_data")


@pytest.fixture(autouse=True)
def imports_this_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


@pytest.mark.slow
def test_run_all_passes_over_stubs(course: Course) -> None:
    found, made = ran(course, {}, "double(2)", "'reached'")
    assert found == STUBS
    assert shown(made.cells[-2]) == STUBS[0]
    assert made.cells[-1].outputs[0].data["text/plain"] == "'reached'"
    assert not [one for cell in made.cells for one in cell.get("outputs", []) if one.output_type == "error"]


@pytest.mark.slow
def test_wrong_is_told_with_its_hint_and_mended_passes_in_the_same_kernel(course: Course) -> None:
    names = "before = {*dir()}\ncheck('1.1')\nprint({*dir()} - before, double(3))"
    found, made = ran(
        course, {"1.1": tiny.DOUBLE, "1.2": SAME}, tiny.UNBROADCAST, 'check("1.2")', names, 'check("1.7")'
    )
    assert found[0] == "1.1 passed: 2 of 2 points"
    assert found[1].splitlines() == [
        "1.2 is right in part: 1 of 3 points",
        f"Hint: {tiny.HINTS['same']}",
        "This cell says: sum over axis 0",
        "broadcast: expected shape (4,), got (3, 4)",
    ]
    assert found[2] == STUBS[2]
    assert found[3] == "1.2 passed: 3 of 3 points"
    assert [one.text for one in made.cells[-2].outputs if one.output_type == "stream"] == ["{'before'} 6\n"]
    assert found[4].startswith("Run the cell that begins with `# exercise: 1.7` first")
    assert not [*course.work.iterdir()]
    assert [
        one.ename for cell in made.cells for one in cell.get("outputs", []) if one.output_type == "error"
    ] == []


@pytest.mark.slow
def test_an_answer_that_python_cannot_read_did_not_run_and_nothing_else_is_said(course: Course) -> None:
    torn = "# exercise: 1.1\ndef double(x):\n    return x +* x\n"
    found, made = ran(
        course, {}, tiny.DOUBLE, torn, 'check("1.1")\nassert False', tiny.DOUBLE, 'check("1.1")'
    )
    assert found[-2] == (
        "1.1 did not run: SyntaxError in line 3: invalid syntax\nMend its cell and run it, then this one."
    )
    assert [one.output_type for one in made.cells[-3].outputs] == ["display_data"]
    assert found[-1] == "1.1 passed: 2 of 2 points"


@pytest.mark.slow
def test_progress_counts_what_check_saw_in_a_notebook_saved_or_not(tmp_path: Path) -> None:
    course = made_course(tmp_path)
    notebooks.write(course.chapters / f"{tiny.NAME}.ipynb", tiny.exercise_notebook())
    notebooks.write(course.exercise("01"), tiny.exercise_notebook())
    notebooks.write(course.own("01"), tiny.exercise_notebook())
    answers = {"1.1": tiny.DOUBLE, "1.2": SAME}
    ran(course, answers)

    def row() -> tuple[str, ...]:
        return progress.table(course).rows[0].cells[2:]

    assert row() == ("2 of 3", "1 of 3", "3 of 7", "save the notebook: 1.1, 1.2")
    notebooks.write(course.own("01"), tiny.submission(answers))
    assert row() == ("2 of 3", "1 of 3", "3 of 7", "mend 1.2")
    notebooks.write(course.own("01"), tiny.submission({"1.1": SQUARED}))
    assert row() == ("1 of 3", "0 of 3", "0 of 7", "check 1.1: `make check NN=01`")


@pytest.mark.slow
def test_in_a_new_kernel_an_exercise_says_that_the_cells_above_it_have_not_run(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab, "become", lambda command: None)
    monkeypatch.setattr(lab, "write_settings", lambda path: None)
    monkeypatch.setenv("PATH", os.environ["PATH"])
    monkeypatch.chdir(course.work)
    lab.open_jupyterlab(course.work, [])
    made = new_notebook()
    needs = "# exercise: 1.1\ndef double(x: Callable):\n    return x"
    before = "[name for name in dir() if not name.startswith('_') and name not in ('In', 'Out')]"
    sources = [before, needs, 'check("1.1")', "undefined", "check = print", needs]
    made.cells = [tiny.code(source) for source in sources]
    NotebookClient(made, timeout=300, allow_errors=True).execute()
    assert made.cells[0].outputs[0].data["text/plain"] == "['exit', 'get_ipython', 'open', 'quit']"
    said = [shown(cell) for cell in made.cells[1:]]
    assert said == [client.NOTHING_RAN, client.NOTHING_RAN, "", "", ""]


def test_while_check_waits_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    class Shown:
        def update(self, data: dict[str, str], raw: bool) -> None:
            said.append(data["text/plain"])

    def show(text: str) -> Shown:
        said.append(text)
        return Shown()

    shell = SimpleNamespace(history_manager=SimpleNamespace(input_hist_raw=[tiny.DOUBLE]))
    made = client.Check("01")
    monkeypatch.setattr(client, "_shell", lambda: shell)
    monkeypatch.setattr(client, "show", show)
    replies = iter([{"text": "1.1 passed", "goes_on": True}, {"unsolved": True, "goes_on": False}])
    monkeypatch.setattr(made, "_ask", lambda request: next(replies))
    made("1.1")
    with pytest.raises(client.Explained):
        made("1.1")
    assert said == ["checking 1.1 ...", "1.1 passed", "checking 1.1 ...", "1.1 is not solved yet"]


def test_a_checker_that_nobody_asks_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "IDLE_SECONDS", 0.1)
    monkeypatch.setattr(live, "here", lambda: Course(tmp_path))
    live.serve("01", queue.SimpleQueue(), lambda reply: None)  # returns


def test_a_checker_that_has_ended_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it ends at the moment in which it is asked."""
    program = "import sys; sys.stdin.readline()"
    answers = 'import sys; sys.stdin.readline(); print(\'{"id": 0, "text": "yes"}\')'
    programs = iter([program, answers])
    real = subprocess.Popen

    def start(command: list[str], **options: Any) -> Any:
        return real([sys.executable, "-c", next(programs)], **options)

    monkeypatch.setattr(subprocess, "Popen", start)
    made = client.Check("01")
    assert made._ask({})["text"] == "yes"
    made._end()


@pytest.mark.slow
def test_without_solutions_it_says_so_and_the_visible_checks_run(tmp_path: Path) -> None:
    course = made_course(tmp_path)
    for path in sorted(course.solutions.rglob("*.ipynb")):
        path.unlink()
    found, made = ran(course, {"1.1": tiny.DOUBLE, "1.2": SAME})
    assert found == [live.NO_SOLUTIONS, live.NO_SOLUTIONS, STUBS[2]]
    errors = [
        one.evalue for cell in made.cells for one in cell.get("outputs", []) if one.output_type == "error"
    ]
    assert errors == ["sum over axis 0"]


@pytest.mark.slow
def test_outside_of_any_course_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: live.Requests = queue.SimpleQueue()
    for line in ('{"exercise": "1.1", "answers": {"1.1": "x"}, "added": [], "id": 5}', ""):
        asked.put(line)
    monkeypatch.setattr(live, "here", lambda: Course(tmp_path))
    replies: list[str] = []
    live.serve("01", asked, replies.append)
    assert replies == [f'{{"text": "{live.NO_SOLUTIONS}", "id": 5}}']


@pytest.mark.thorough
@pytest.mark.parametrize(
    "answers",
    [
        {},
        tiny.reference_answers(),
        tiny.ALTERNATIVES,
        {"1.1": SQUARED, "1.2": SAME, "1.3": ENDLESS},
        {
            "1.1": "# exercise: 1.1\nraise RuntimeError",
            "1.2": "# exercise: 1.2\n!",
            "1.3": "# exercise: 1.3\n",
        },
    ],
    ids=["stubs", "reference", "others", "wrong", "broken"],
)
def test_the_verdict_is_that_of_check_and_grade(course: Course, answers: Mapping[str, str]) -> None:
    chapter = load_chapter(course.solutions / f"{tiny.NAME}.ipynb")
    mine = tiny.submit(course.root / "work", "exercises", tiny.submission(answers))
    saved, _ = check.examine(course, "01", seed=3)
    mine.unlink()
    with private_folder() as folder, closing(live.Live(chapter, course, folder, seed=3)) as asked:
        for one in saved.exercises:
            got = asked.examine(one.exercise, answers, [])
            assert (got.points, got.messages) == (one.points, one.messages)
            assert one.unsolved or got.hint == one.hint
        assert asked.examine(chapter.exercises[0], {"1.1": tiny.DOUBLE}, []).passed  # also after what hung


def test_the_newest_cell_that_ran_is_the_answer() -> None:
    cuda = "%%cuda scale\n// exercise: 4.12\nint x;"
    sources = ["import math", SQUARED, "# helpers\nf = 1", tiny.DOUBLE, cuda, "# exercise: 1.1 is hard", ""]
    answers, added = client._answers(sources)
    assert answers == {"1.1": tiny.DOUBLE, "helpers": "# helpers\nf = 1", "4.12": cuda}
    assert added == ["import math", "# exercise: 1.1 is hard", ""]


def test_where_answers_are_graded_nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(IN_BOX, "1")
    made = client.checks("01")
    made("1.1")
    assert made._process is None


def test_no_test_takes_a_stub_for_an_error() -> None:
    with pytest.raises(Unsolved, match=r"^2\.15 is not solved yet$"):
        try:
            raise Unsolved("2.15")
        except Exception:
            raise AssertionError from None


def test_a_stub_is_left_alone(course: Course) -> None:
    first = load_chapter(course.solutions / f"{tiny.NAME}.ipynb").exercises[0]
    assert 'raise Unsolved("1.1")' in first.stub
    assert first.left_alone(f"{first.stub}\n") and not first.left_alone(tiny.DOUBLE)


@pytest.mark.thorough
def test_a_stub_that_a_hidden_test_would_catch_is_unsolved(tmp_path: Path) -> None:
    course = made_course(tmp_path)
    path = course.solutions / f"{tiny.NAME}.ipynb"
    made = notebooks.read(path)
    wanted = next(cell for cell in made.cells if "double-hidden" in str(cell.metadata))
    wanted.source = wanted.source.replace("x = float", 'probe("error", raised(lambda: double()))\nx = float')
    notebooks.write(path, made)
    tiny.submit(course.root / "work", "exercises", tiny.exercise_notebook())
    start = time.monotonic()
    result, _ = check.examine(course, "01")
    assert [one.unsolved for one in result.exercises] == [True] * 3
    assert time.monotonic() - start < 300


@pytest.mark.parametrize(
    ("part", "room", "missing", "there"),
    [
        ("03d", "kaiming-hidden-setup", ["settle"], ["track_mended", "np"]),  # 3.39's; `settle` is for 3.6
        ("04a", "predict-hidden-setup", ["cp", "profile", "strided"], ["np", "sectors"]),  # 4.2's: no tool
    ],
)
def test_a_check_that_misses_another_rooms_set_up_says_nothing_of_the_answer(
    part: str, room: str, missing: list[str], there: list[str]
) -> None:
    flow = Flow.__new__(Flow)
    flow.room = room
    solutions = find_course(Path(__file__).parent).solutions
    flow.cells = assemble(load_chapter(find_notebook(solutions, part)), {}).cells
    for name in (*missing, *there):
        assert flow.lacks_set_up(f"NameError: name '{name}' is not defined") == (name in missing), name
