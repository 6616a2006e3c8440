"""`exercises`: what learners get holds no answer and no hidden test, and is the same each time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from made_course import GIVEN, HIDDEN, TANH, answer, graded, new_course, save, scalar_course
from nbformat import NotebookNode
from nbformat.v4 import new_output

from coursekit import notebooks
from coursekit.__main__ import main
from coursekit.course import Course
from coursekit.errors import CourseError
from coursekit.make.exercises import made


def make(course: Course, *options: str) -> int:
    return main(["--course", str(course.root), "exercises", *options])


def made_exercise(course: Course, *cells: NotebookNode | str) -> NotebookNode:
    """The exercise of a solution of these cells."""
    save(course.solutions / "01_m.ipynb", *cells)
    assert make(course) == 0
    return notebooks.read(course.exercises / "01_exercises.ipynb")


def error(course: Course, *cells: NotebookNode | str) -> str:
    save(course.solutions / "01_m.ipynb", *cells)
    with pytest.raises(CourseError) as caught:
        made(course)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_solution_becomes_a_stub_with_its_signature_and_docstring(tmp_path: Path) -> None:
    notebook = made_exercise(new_course(tmp_path), answer(TANH, "tanh"))
    assert notebook.cells[1].source == (
        "# exercise: 1.1\n#| export\n@add_to(Value)\ndef tanh(self) -> Value:\n"
        '    """Hyperbolic tangent."""\n    raise Unsolved("1.1")'
    )
    assert notebook.cells[1].metadata.nbgrader.grade_id == "tanh"


def test_a_solution_may_say_what_stands_in_its_place(tmp_path: Path) -> None:
    source = "# exercise: 1.1\ndef f():\n"
    source += "    ### BEGIN SOLUTION\n    a = 1\n"
    source += "    ### STUB: if 1:\n    ### STUB:     a = 2\n    ### END SOLUTION\n"
    source += "    ### BEGIN SOLUTION\n    b = 1\n    ### STUB:\n    ### END SOLUTION\n    return a"
    assert made_exercise(new_course(tmp_path), answer(source, "f")).cells[1].source == (
        "# exercise: 1.1\ndef f():\n    if 1:\n        a = 2\n    return a"
    )
    assert notebooks.strip_markers(source, notebooks.SOLUTION) == (
        "# exercise: 1.1\ndef f():\n    a = 1\n    b = 1\n    return a"
    )


def test_checks_start_above_the_first_answer_and_stand_in_each_visible_check(tmp_path: Path) -> None:
    tests = [
        graded(text, name, grade=True, locked=True) for name, text in (("a", "assert 1"), ("b", "assert 2"))
    ]
    notebook = made_exercise(new_course(tmp_path), "import math", answer(TANH, "tanh"), *tests)
    _, start, _, first, second = (cell.source for cell in notebook.cells)
    assert start == 'from coursekit.box.check import Unsolved, checks\n\ncheck = checks("01")'
    assert (first, second) == ('check("1.1")\nassert 1', "assert 2")


def test_hidden_tests_go_and_leave_no_empty_cell(tmp_path: Path) -> None:
    visible = graded("assert 1\n" + HIDDEN, "a-hidden", grade=True, points=1)
    notebook = made_exercise(new_course(tmp_path), graded(HIDDEN, "b-hidden", grade=True, points=1), visible)
    assert [cell.source for cell in notebook.cells] == ["assert 1"]


def test_outputs_go_and_ids_and_tags_stay(tmp_path: Path) -> None:
    cell = graded("1 + 1", "sum")
    cell.outputs = [new_output("stream", text="2")]  # type: ignore[no-untyped-call]
    cell.execution_count = 7
    cell.metadata.update(tags=["nbval-skip"], execution={"iopub.status.busy": "now"}, collapsed=True)
    kept = made_exercise(new_course(tmp_path), cell).cells[0]
    assert kept.outputs == [] and kept.execution_count is None
    assert kept.id == "solutions-0"
    assert set(kept.metadata) == {"nbgrader", "tags"}


def test_locked_cells_can_be_neither_edited_nor_deleted(tmp_path: Path) -> None:
    locked = graded("x = 1", "set-up", locked=True)
    first, _, second = made_exercise(new_course(tmp_path), locked, answer(TANH, "tanh")).cells
    assert first.metadata.deletable is False and first.metadata.editable is False
    assert "editable" not in second.metadata


def test_a_line_of_given_stays_as_it_is(tmp_path: Path) -> None:
    course = scalar_course(tmp_path)
    make(course)
    notebook = notebooks.read(course.exercises / "01_exercises.ipynb")
    assert GIVEN in [cell.source for cell in notebook.cells]


def test_what_a_notebook_asks_for_cannot_be_given_there(tmp_path: Path) -> None:
    course = scalar_course(tmp_path)
    path = course.solutions / "01_scalar.ipynb"
    path.write_text(path.read_text().replace(', \\"Value.exp\\"', ""))
    with pytest.raises(CourseError) as caught:
        made(course)
    assert str(caught.value) == (
        "solutions/01_scalar.ipynb, cell 3: gives what this notebook asks for; "
        'leave it out: without=["Value.exp"]'
    )


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    course = scalar_course(tmp_path)
    make(course)
    path = course.exercises / "01_exercises.ipynb"
    first = path.read_bytes()
    path.unlink()
    make(course)
    assert path.read_bytes() == first


def test_cells_without_an_id_get_the_same_one_each_time(tmp_path: Path) -> None:
    course = new_course(tmp_path)
    cell = {"cell_type": "markdown", "metadata": {}, "source": "text"}
    notebook = {"cells": [cell, cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (course.solutions / "01_m.ipynb").write_text(json.dumps(notebook))
    make(course)
    ids = [cell.id for cell in notebooks.read(course.exercises / "01_exercises.ipynb").cells]
    assert ids == ["cell-1", "cell-2"]


def test_check_shows_drift_and_work_is_never_touched(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    course = scalar_course(tmp_path / "Übung eins")
    mine = course.work / "exercises" / "01_exercises.ipynb"
    mine.parent.mkdir(parents=True)
    mine.write_text("my answers")
    assert make(course) == 0
    path = course.exercises / "01_exercises.ipynb"
    path.write_text(path.read_text().replace("Hyperbolic tangent", "Hyperbolic Tangens"))
    capsys.readouterr()
    assert make(course, "--check") == 1
    assert "Hyperbolic Tangens" in capsys.readouterr().out
    assert "Hyperbolic Tangens" in path.read_text()
    assert make(course) == 0 and make(course, "--check") == 0
    assert mine.read_text() == "my answers"


def test_an_exercise_without_a_solution_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    course = new_course(tmp_path)
    save(course.exercises / "01_old.ipynb", "1")
    assert make(course) == 1
    assert "exercises/01_old.ipynb: has no solution any more" in capsys.readouterr().out
    assert (course.exercises / "01_old.ipynb").exists()


BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (answer(f"x = 1\n{BEGIN}\n1", "x"), "line 2: `### BEGIN SOLUTION` without `### END SOLUTION`"),
        (answer(f"{END}\n1", "x"), "line 1: `### END SOLUTION` where there should be `### BEGIN SOLUTION`"),
        (
            answer(f"{BEGIN}\n{BEGIN}\n{END}", "x"),
            "line 2: `### BEGIN SOLUTION` where there should be `### END",
        ),
        (
            answer(f"## begin solution\n{BEGIN}\n{END}".replace("## b", "### b"), "x"),
            "line 1: write the marker exactly",
        ),
        (
            answer("# exercise: 1.1\nx = 1", "x"),
            "an answer cell without `### BEGIN SOLUTION` would show its answer",
        ),
        (graded(f"{BEGIN}\n1\n{END}", "x"), 'the cell\'s metadata does not say "solution": true'),
        (graded("1", "first"), 'grade_id "first" is that of cell 1 too'),
        (graded("given('nowhere')", "x"), "given: there is no minilib.nowhere"),
        (graded("given('m', without=names)", "x"), "write the arguments of `given('m', without=names)` out"),
        (graded("#| exprot", "x"), "unknown directive `#| exprot`"),
    ],
)
def test_a_mistake_of_the_author_is_one_line(tmp_path: Path, cell: NotebookNode, message: str) -> None:
    found = error(new_course(tmp_path), graded("0", "first"), cell)
    assert found.startswith("solutions/01_m.ipynb, cell 2") and message in found


def test_a_bundle_without_solutions_is_told_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    course = new_course(tmp_path)
    course.solutions.rmdir()
    assert make(course, "--check") == 2
    assert "a bundle for students has no solutions, and exercises/ is complete" in capsys.readouterr().err


def test_a_damaged_solution_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    course = scalar_course(tmp_path)
    (course.solutions / "02_bad.ipynb").write_text("{")
    assert make(course) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "02_bad.ipynb: is not a notebook" in err
    assert not list(course.exercises.iterdir())


def test_a_stop_in_the_middle_leaves_the_old_exercise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    course = scalar_course(tmp_path)
    make(course)
    before = {path: path.read_bytes() for path in course.root.rglob("*.ipynb")}
    save(course.solutions / "01_scalar.ipynb", answer(TANH, "tanh"))
    changed = (course.solutions / "01_scalar.ipynb").read_bytes()

    def stop(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", stop)
    assert make(course) == 130
    after = {path: path.read_bytes() for path in course.root.rglob("*.ipynb")}
    assert after == before | {course.solutions / "01_scalar.ipynb": changed}


def test_a_method_named_like_a_builtin_leaves_the_builtin_alone():
    names: dict[str, object] = {}
    exec("from coursekit import add_to\nclass A: pass\n@add_to(A)\ndef sum(self): return 3\n", names)
    assert names["A"]().sum() == 3
    assert names["sum"] is sum
