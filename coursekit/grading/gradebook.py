"""The tables of grades: one row a student for a platform to import, one row an exercise for other programs.

Canvas wants Student, ID and Section first, and asks of each later column to which assignment it belongs.
Moodle's grading worksheet wants Identifier, Grade, and when the grade was changed, which may be empty; its
gradebook takes the columns that one maps.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

from coursekit.grading.assemble import Chapter
from coursekit.grading.results import Result, number

_FORMULA = "=+-@|\uff1d\uff0b\uff0d\uff20\t\r"  # a spreadsheet would run what begins with one of these
MOODLES = ("Identifier", "Last modified (grade)")


def wide(chapter: Chapter, results: Sequence[Result]) -> str:
    """A row for each student. Who was not graded has no points: an import must not make them a zero."""
    numbers = [exercise.number for exercise in chapter.exercises]
    head = ["Student", "ID", "Section", *numbers, "Grade", "Maximum Grade", *MOODLES]
    return table(head, (_row(chapter, result) for result in results))


def _row(chapter: Chapter, result: Result) -> list[str]:
    points = [number(one.points) for one in result.exercises] or [""] * len(chapter.exercises)
    who = result.submission
    total = "" if result.refused else number(result.points)
    identifier = f"Participant {who.id}" if who.id else ""
    return [who.student, who.id, "", *points, total, number(chapter.points), identifier, ""]


def long(chapter: Chapter, results: Sequence[Result]) -> str:
    """A row for each student and exercise, with the verdict in words and the instructor's comment."""
    head = [
        "student", "exercise", "points", "maximum", "verdict", "comment", "hint", "handed in", "late",
    ]  # fmt: skip
    return table(head, (row for result in results for row in _long_rows(chapter, result)))


def _long_rows(chapter: Chapter, result: Result) -> Iterator[list[str]]:
    done = {one.exercise.number: one for one in result.exercises}
    for exercise in chapter.exercises:
        one = done.get(exercise.number)
        verdict = one.verdict if one else f"not graded: {result.refused}"
        points = number(one.points if one else 0)
        comment, hint = (one.comment, one.explained) if one else ("", "")
        who = result.submission
        yield [
            who.student, exercise.number, points, number(exercise.points), verdict, comment, hint,
            who.handed_in, "late" if who.late else "",
        ]  # fmt: skip


def table(head: list[str], rows: Iterable[list[str]]) -> str:
    file = io.StringIO()
    writer = csv.writer(
        file, lineterminator="\n", quoting=csv.QUOTE_ALL
    )  # a `;` ends a cell in some programs
    writer.writerow(head)
    writer.writerows([inert(cell) for cell in row] for row in rows)
    return file.getvalue()


def inert(cell: str) -> str:
    """`cell` so that no spreadsheet takes it for a formula."""
    return f"'{cell}" if cell.lstrip(" \u00a0")[:1] in tuple(_FORMULA) else cell
