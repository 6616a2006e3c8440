"""`python3 -m coursekit progress`: how far a learner is, from their saved notebooks and the last checks.

`work/.progress.json` keeps what each check said of each exercise, when, and of which answer:
`note` writes it, for the command and for `check("1.2")` in a notebook. An answer that was saved otherwise
since then counts as written, not as passed; one that was checked in a notebook and is not saved yet counts.
"""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from html import escape
from typing import Any

from coursekit.course import Course, chapter_number, find_course
from coursekit.errors import CourseError
from coursekit.files import COPIES, read_record, short_hash, write_record
from coursekit.grading.assemble import HELPERS, Chapter, Exercise, load_for_learners
from coursekit.grading.results import UNSOLVED, ExerciseResult, number
from coursekit.grading.submissions import Refused, Submission, answers_of
from coursekit.notebooks import holds_the_same

RECORD = ".progress.json"
NOWHERE = "In a clone of the course, your progress stands here."
READ = "read it"
NO_HELPERS = "# helpers"  # that cell as it is handed out, run or not
HEAD = ("chapter", "", "written", "passed", "points", "next")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "`python3 -m coursekit check` looks at your answers anew."


def run(course: Course, args: argparse.Namespace) -> int:
    print(table(course))
    return 0


# What the last checks said


def note(course: Course, chapter: Chapter, mine: Submission, results: Iterable[ExerciseResult]) -> None:
    """Remember what a check said of these exercises, which may be some of the chapter's."""
    record = read_record(course.work / RECORD)
    known = record.get(chapter.number)
    said = {
        one.exercise.number: {
            "answer": _mark(mine, one.exercise),
            "passed": one.passed,
            "points": one.points,
            "of": one.exercise.points,
            "wrong": not (one.passed or one.unsolved),
            "at": time.time(),
        }
        for one in results
    }
    record[chapter.number] = {**(known if isinstance(known, dict) else {}), **said}
    with contextlib.suppress(CourseError):  # a folder that cannot be written is no reason to tell no result
        write_record(course.work / RECORD, record)


def reasons(course: Course, name: str) -> dict[str, str]:
    """For each exercise of a chapter that did not pass when it was last checked, why, in a few words."""
    known = read_record(course.work / RECORD).get(name)
    said = known.items() if isinstance(known, dict) else ()
    return {key: _reason(one) for key, one in said if isinstance(one, dict) and not one.get("passed")}


def _reason(said: dict[str, Any]) -> str:
    if not said.get("wrong"):
        return UNSOLVED
    points, of = float(said.get("points", 0)), float(said.get("of", 0))
    return f"{number(points)} of {number(of)} points" if of else "its check fails"


def _mark(mine: Submission, exercise: Exercise) -> str:
    """Something that changes when the answer does, or the helpers that it may use."""
    answer, helpers = (mine.answers.get(key, "").strip() for key in (exercise.number, HELPERS))
    answer = "\n".join([answer, "" if helpers == NO_HELPERS else helpers])
    return short_hash(answer)


# The table


@dataclass(frozen=True)
class Row:
    """A chapter, and how far the learner is in it."""

    number: str
    title: str
    lesson: str  # its file
    state: str = ""  # "", "reading", "begun" or "done"
    written: str = ""
    passed: str = ""
    points: str = ""
    step: str = ""

    @property
    def cells(self) -> tuple[str, ...]:
        return self.title, self.state, self.written, self.passed, self.points, self.step


@dataclass(frozen=True)
class Table:
    """All chapters: text in a terminal, a table with links in a notebook of `chapters/`."""

    rows: tuple[Row, ...]

    def __str__(self) -> str:
        if not self.rows:
            return NOWHERE
        lines = [HEAD, *(row.cells for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        texts = (
            "  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)) for line in lines
        )
        return "\n".join(text.rstrip() for text in texts)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        if not self.rows:
            return f"<p>{NOWHERE}</p>"
        lines = [_html("th", map(escape, HEAD))]
        for row in self.rows:
            link = f"<a href='{escape(row.lesson)}'>{escape(row.title)}</a>"
            lines.append(_html("td", [link, *map(escape, row.cells[1:])]))
        return f"<table>{''.join(lines)}</table>"


def _html(kind: str, texts: Iterable[str]) -> str:
    cells = (f"<{kind} style='text-align:left'>{text}</{kind}>" for text in texts)
    return f"<tr>{''.join(cells)}</tr>"


def table(course: Course | None = None) -> Table:
    """How far the learner is. Without `course`: in the one that the current folder lies in, if any."""
    if course is None:
        try:
            course = find_course()
        except CourseError:
            return Table(())
    record = read_record(course.work / RECORD)
    rows = [_row(course, path.name, record) for path in sorted(course.chapters.glob("[0-9]*.ipynb"))]
    return Table(tuple(_one_to_read(rows)))


def _one_to_read(rows: list[Row]) -> Iterator[Row]:
    """Of the lessons that nobody has opened, the first alone is what to do next."""
    first = next((row for row in rows if row.step == READ), None)
    for row in rows:
        yield replace(row, step="") if row.step == READ and row is not first else row


def _row(course: Course, lesson: str, record: dict[str, Any]) -> Row:
    name = chapter_number(course.chapters / lesson)
    title = " ".join([name, *lesson.removesuffix(".ipynb").split("_")[1:]])
    state = "reading" if _was_opened(course, lesson) else ""
    if not course.exercise(name).is_file():
        return Row(name, title, lesson, state)
    chapter = load_for_learners(course, name)
    row = Row(name, f"{name} {chapter.title}", lesson, state, step="" if state else READ)
    if not course.own(name).is_file():
        return row
    try:
        answers, added = answers_of(course.own(name), chapter)
    except Refused as reason:
        return replace(row, state="begun", step=str(reason))
    copied = _copied(course, chapter)
    answers = {key: text for key, text in answers.items() if copied.get(key) != short_hash(text)}
    known = record.get(name)
    known = known.items() if isinstance(known, dict) else ()
    told = {number: said for number, said in known if isinstance(said, dict)}
    saved = course.own(name).stat().st_mtime
    return _counted(row, chapter, Submission("you", "you", "", answers, added), told, saved)


def _counted(
    row: Row, chapter: Chapter, mine: Submission, told: dict[str, dict[str, Any]], saved: float
) -> Row:
    """The row of a chapter whose exercises the learner has, `saved` at that time."""
    same = {
        one.number for one in chapter.exercises if told.get(one.number, {}).get("answer") == _mark(mine, one)
    }
    newer = {name for name, said in told.items() if float(said.get("at", 0)) > saved} - same
    unsaved = {name for name in newer if told[name].get("passed") or told[name].get("wrong")}
    written = [one for one in chapter.exercises if is_written(one, mine) or one.number in unsaved]
    fresh = {one.number for one in written} & (same | unsaved)
    passed = {name for name in fresh if told[name].get("passed")}
    if not written:
        return replace(row, step="solve the first exercise") if row.state else row
    every, points = len(chapter.exercises), sum(float(told[name].get("points", 0)) for name in fresh)
    return replace(
        row,
        state="done" if len(passed) == every else "begun",
        written=f"{len(written)} of {every}",
        passed=f"{len(passed)} of {every}",
        points=f"{number(points)} of {number(chapter.points)}" if chapter.points else "",
        step=_step(chapter, {one.number for one in written}, unsaved, fresh, passed),
    )


def _step(chapter: Chapter, written: set[str], unsaved: set[str], fresh: set[str], passed: set[str]) -> str:
    """What to do next in a chapter that was begun."""
    in_order = [one.number for one in chapter.exercises]
    ways = (
        ("save the notebook: {}", unsaved),
        ("check {}: `make check NN=" + chapter.number + "`", written - fresh),
        ("mend {}", fresh - passed),
        ("solve {}", {*in_order} - written),
    )
    for words, names in ways:
        if names:
            return words.format(", ".join([name for name in in_order if name in names][:3]))
    return "`make build`: your own library"


def _copied(course: Course, chapter: Chapter) -> dict[str, str]:
    """Of each answer, the stub with which its notebook was copied: the course may have another by now."""
    record = read_record(course.work / COPIES).get(f"exercises/{course.own(chapter.number).name}")
    stubs = record.get("stubs") if isinstance(record, dict) else None
    known = stubs if isinstance(stubs, dict) else {}
    return {key: known.get(grade_id, "") for grade_id, key in chapter.answer_ids.items()}


def is_written(exercise: Exercise, mine: Submission) -> bool:
    """Whether the learner has written something in the place of the stub."""
    return not exercise.left_alone(mine.answers.get(exercise.number))


def _was_opened(course: Course, lesson: str) -> bool:
    """Whether the learner has saved something in their copy of a lesson."""
    mine, original = course.work / "chapters" / lesson, course.chapters / lesson
    return mine.is_file() and not holds_the_same(original, mine)
