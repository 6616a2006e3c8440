"""`progress`: what a learner has begun and passed, from saved notebooks and the last checks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers import tiny_course as tiny
from nbformat.v4 import new_markdown_cell, new_notebook

from coursekit import __main__ as command
from coursekit import notebooks
from coursekit.course import Course
from coursekit.grading import progress
from coursekit.grading.assemble import load_for_learners
from coursekit.grading.results import UNSOLVED, ExerciseResult
from coursekit.grading.submissions import Submission, answers_of
from coursekit.install import workspace

WRONG = tiny.DOUBLE.replace("2 *", "3 *")


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A course of an opening and the tiny chapter, which nobody has begun."""
    made = tiny.make_tiny_course(tmp_path / "kürs")
    for name in ("00_start_here", tiny.NAME):
        lesson = new_notebook(cells=[new_markdown_cell("# A lesson", id="a")])
        notebooks.write(made.chapters / f"{name}.ipynb", lesson)
    (made.exercises / f"{tiny.NAME}.ipynb").rename(made.exercise("01"))
    return made


def write(course: Course, answers: dict[str, str]) -> None:
    """The learner saves these answers and stubs for the rest."""
    path = course.own("01")
    path.parent.mkdir(parents=True, exist_ok=True)
    notebooks.write(path, tiny.submission(answers))


def check(course: Course, **said: str) -> None:
    """A check says what is wrong with an answer, by its grade_id; "" is nothing, others are not solved."""
    chapter = load_for_learners(course, "01")
    answers, added = answers_of(course.own("01"), chapter)
    results = []
    for one in chapter.exercises:
        wrong = said.get(one.grade_id, UNSOLVED)
        results.append(ExerciseResult(one, 0, (wrong,)) if wrong else ExerciseResult(one, one.points))
    progress.note(course, chapter, Submission("you", "you", "", answers, added), results)


def row(course: Course) -> tuple[str, ...]:
    return progress.table(course).rows[1].cells[1:]


def test_a_stub_that_the_course_has_changed_is_not_the_learners(course: Course) -> None:
    workspace.prepare(course)
    path = course.exercise("01")
    notebook = notebooks.read(path)
    for cell in notebooks.cells(path, notebook):
        if cell.exercise == "1.1":
            cell.node.source += "\n# told otherwise"
    notebooks.write(path, notebook)
    assert row(course)[1] == ""
    mine = notebooks.read(course.own("01"))
    for cell in notebooks.cells(course.own("01"), mine):
        if cell.exercise == "1.1":
            cell.node.source += "\n1"
    notebooks.write(course.own("01"), mine)
    assert row(course)[1] == "1 of 3"


def test_what_nobody_has_begun_says_so(course: Course, capsys: Any) -> None:
    assert command.main(["--course", str(course.root), "progress"]) == 0
    head, first, second = capsys.readouterr().out.splitlines()
    assert head.split() == ["chapter", "written", "passed", "points", "next"]
    assert first == "00 start here"
    assert second.split() == ["01", "tiny", "read", "it"]


def test_of_the_lessons_that_are_not_opened_the_first_says_so(course: Course) -> None:
    for number in ("02", "03"):
        lesson = new_notebook(cells=[new_markdown_cell("# A lesson", id="a")])
        notebooks.write(course.chapters / f"{number}_tiny.ipynb", lesson)
        notebooks.write(course.exercise(number), notebooks.read(course.exercise("01")))
    assert [one.step for one in progress.table(course).rows] == ["", "read it", "", ""]
    write(course, {"1.1": tiny.DOUBLE})
    assert [one.step for one in progress.table(course).rows][1:] == [
        "check 1.1: `make check NN=01`",
        "read it",
        "",
    ]


def test_a_lesson_that_was_saved_is_being_read(course: Course) -> None:
    lesson = new_notebook(cells=[new_markdown_cell("# A lesson, and a note", id="a")])
    notebooks.write(course.work / "chapters" / f"{tiny.NAME}.ipynb", lesson)
    write(course, {})
    assert row(course) == ("reading", "", "", "", "solve the first exercise")


def test_an_answer_is_written_then_checked_then_mended(course: Course) -> None:
    write(course, {"1.1": WRONG})
    assert row(course) == ("begun", "1 of 3", "0 of 3", "0 of 7", "check 1.1: `make check NN=01`")
    check(course, double="is not the double")
    assert row(course) == ("begun", "1 of 3", "0 of 3", "0 of 7", "mend 1.1")
    write(course, {"1.1": tiny.DOUBLE})
    assert row(course)[-1] == "check 1.1: `make check NN=01`"
    check(course, double="")
    assert row(course) == ("begun", "1 of 3", "1 of 3", "2 of 7", "solve 1.2, 1.3")


def test_when_all_pass_the_next_step_is_to_build(course: Course) -> None:
    write(course, {"1.1": tiny.DOUBLE, "1.2": tiny.UNBROADCAST, "1.3": tiny.ORDER})
    check(course, **{one.grade_id: "" for one in load_for_learners(course, "01").exercises})
    assert row(course) == ("done", "3 of 3", "3 of 3", "7 of 7", "`make build`: your own library")


def test_a_check_of_one_exercise_keeps_what_is_known_of_the_others(course: Course) -> None:
    write(course, {"1.1": tiny.DOUBLE, "1.2": tiny.UNBROADCAST})
    check(course, double="", unbroadcast="")
    chapter = load_for_learners(course, "01")
    answers, added = answers_of(course.own("01"), chapter)
    mine, first = Submission("you", "you", "", answers, added), chapter.exercises[0]
    progress.note(course, chapter, mine, [ExerciseResult(first, 0, ("now it is wrong",))])
    assert row(course)[2] == "1 of 3"


@pytest.mark.parametrize("text", ["damaged", '{"01": 3}', '{"01": {"1.1": 3}}'])
def test_a_damaged_record_costs_no_more_than_what_was_known(course: Course, text: str) -> None:
    write(course, {"1.1": tiny.DOUBLE})
    (course.work / progress.RECORD).write_text(text)
    assert row(course)[1:3] == ("1 of 3", "0 of 3")
    check(course, double="")
    assert row(course)[2] == "1 of 3"


def test_a_notebook_that_cannot_be_read_is_named(course: Course) -> None:
    write(course, {})
    course.own("01").write_text("{")
    assert "01_exercises.ipynb is not a notebook" in row(course)[-1]


def test_in_a_notebook_each_chapter_is_a_link(course: Course) -> None:
    assert "<a href='01_tiny.ipynb'>01 tiny</a>" in progress.table(course)._repr_html_()


def test_outside_of_a_course_the_table_says_where_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert str(progress.table()) == progress.NOWHERE and progress.NOWHERE in progress.table()._repr_html_()
