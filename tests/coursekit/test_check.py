"""`coursekit check` on a learner's saved notebook, half of it unsolved."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import tiny_course as tiny

from coursekit import __main__ as command
from coursekit.course import Course, meant
from coursekit.grading import check
from coursekit.grading.assemble import load_chapter
from coursekit.grading.results import ExerciseResult, Result
from coursekit.grading.submissions import Submission

pytestmark = pytest.mark.slow

WRONG = "# exercise: 1.2\ndef unbroadcast(grad, shape):\n    return grad\n"
MADE = {"1.1": tiny.DOUBLE, "1.2": WRONG}


def tree(folder: Path) -> dict[str, str]:
    kept = [path for path in folder.rglob("*") if path.is_file() and path.name != ".progress.json"]
    return {
        str(path): f"{path.stat().st_mtime_ns} {hashlib.sha256(path.read_bytes()).hexdigest()}"
        for path in kept
    }


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    made = tiny.make_tiny_course(tmp_path_factory.mktemp("a learner's") / "köurse")
    tiny.submit(made.root / "work", "exercises", tiny.submission(MADE))
    os.utime(made.work / "exercises" / "01_tiny.ipynb", (1_700_000_000, 1_700_000_000))
    return made


@pytest.fixture
def bundle(course: Course, tmp_path: Path) -> Course:
    """What a student gets: no solutions."""
    shutil.copytree(course.root, tmp_path / "bundle", ignore=shutil.ignore_patterns("solutions"))
    return Course(tmp_path / "bundle")


def test_a_learner_sees_points_words_and_the_hint(course: Course, capsys: Any) -> None:
    before = tree(course.root)
    assert command.main(["--course", str(course.root), "check", "--seed", "3"]) == 1
    title, _, first, second, *hint, third, total = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"01 tiny +saved 1\d Nov \d\d:\d\d", title)
    assert first == "  1.1 double                  2/2"
    assert second == "  1.2 unbroadcast             1/3   broadcast: expected shape (4,), got (3, 4)"
    quoted = 'Its visible check says: "sum over axis 0"'
    assert " ".join(line.strip() for line in hint) == f"{tiny.HINTS['same']} {quoted}"
    assert third == "  1.3 any order                 -   not solved yet"
    assert total == "                              3/7   next: 1.2, then 1.3"
    assert tree(course.root) == before


def test_without_solutions_the_visible_checks_run_and_it_says_so(bundle: Course, capsys: Any) -> None:
    assert command.main(["--course", str(bundle.root), "check", "01"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[2:6] == [
        "  1.1 double                   ok",
        "  1.2 unbroadcast           wrong   sum over axis 0",
        "  1.3 any order                 -   not solved yet",
        "                           1 of 3   next: 1.2, then 1.3",
    ]
    assert " ".join(lines[7:]) == check.NO_SOLUTIONS


def test_passed_exercises_are_those_with_all_points(course: Course) -> None:
    assert check.passed_exercises(course, "01") == {"1.1"}


def test_chapter_1_is_chapter_01_hidden_tests_included(course: Course) -> None:
    result, chapter = check.examine(course, "1", hints=False)
    assert not chapter.visible
    assert {one.exercise.number for one in result.exercises if one.passed} == {"1.1"}


@pytest.mark.parametrize(
    "content, arguments, message",
    [
        (None, ["01"], "01_tiny.ipynb: does not exist"),
        (None, [], "holds no exercises yet"),
        ("{", ["01"], "01_tiny.ipynb is not a notebook (not JSON)"),
        ("{", [], "01_tiny.ipynb is not a notebook (not JSON)"),
        ("", ["02"], "no notebook of chapter '02'"),
        ("", ["../01"], "no notebook of chapter '../01'"),
    ],
)
def test_what_cannot_be_checked_is_one_line(
    tmp_path: Path, capsys: Any, content: str | None, arguments: list[str], message: str
) -> None:
    course = tiny.make_tiny_course(tmp_path)
    if content is not None:
        course.own("01").parent.mkdir(parents=True)
        course.own("01").write_text(content)
    assert command.main(["--course", str(tmp_path), "check", *arguments]) == 2
    said = capsys.readouterr().err
    assert message in said and said.count("\n") == 1


def test_all_done_points_to_build(course: Course) -> None:
    chapter = load_chapter(course.solutions / "01_tiny.ipynb")
    results = tuple(ExerciseResult(one, one.points) for one in chapter.exercises)
    shown = check.table(Result(Submission("you", "you", "x"), results), chapter, "saved 14:02", 80)
    assert "7/7   all done: `python3 -m coursekit build`" in shown


def test_long_words_are_wrapped_beside_their_exercise(course: Course) -> None:
    chapter = load_chapter(course.solutions / "01_tiny.ipynb")
    results = tuple(
        ExerciseResult(one, 0, ("value: " + "far " * 20,), "a hint " * 15) for one in chapter.exercises
    )
    shown = check.table(Result(Submission("you", "you", "x"), results), chapter, "saved 14:02", 76)
    assert max(len(line) for line in shown.splitlines()) <= 76
    assert all(line.startswith(" " * 36) for line in shown.splitlines()[3:6])


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("1", ["01"]),
        ("01", ["01"]),
        ("2", ["02a", "02b"]),
        ("02", ["02a", "02b"]),
        ("2a", ["02a"]),
        ("02b", ["02b"]),
        ("0", []),
        ("a", []),
        ("", []),
        ("12", ["12"]),
        ("*", []),
    ],
)
def test_a_chapter_may_be_named_short_and_without_its_part(asked, found):
    assert meant(asked, ["01", "02a", "02b", "12"]) == found


def test_only_chapters_that_were_begun_are_looked_at(tmp_path: Path, capsys: Any) -> None:
    course = tiny.make_tiny_course(tmp_path)
    assert tiny.submit(tmp_path / "work", "exercises", tiny.submission()).is_file()
    assert command.main(["--course", str(tmp_path), "check"]) == 0
    assert capsys.readouterr().out.startswith("nothing to check yet: write an answer")
    assert not check.begun(course, "01")
    tiny.submit(tmp_path / "work", "exercises", tiny.submission({"1.1": tiny.DOUBLE}))
    assert check.chapters_begun(course) == ["01"]


def test_a_terminal_sees_what_runs_until_it_has_run(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(check.sys.stderr, "isatty", lambda: True, raising=False)
    with check._progress("chapter 01"):
        assert capsys.readouterr().err == "chapter 01"
    assert capsys.readouterr().err == "\r          \r"
