"""The instructor's own points and comments, from a file that lives longer than a run.

CSV with the columns student, exercise, points and comment, or TOML with a table `[[override]]` for each.
Without points, the tests' stay; without an exercise, the comment is on the whole notebook.
"""

from __future__ import annotations

import csv
import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from coursekit.errors import CourseError
from coursekit.files import read_text
from coursekit.grading.assemble import Chapter
from coursekit.grading.gradebook import inert
from coursekit.grading.results import ExerciseResult, Result, number

COLUMNS = ("student", "exercise", "points", "comment")


@dataclass(frozen=True)
class Override:
    """What the instructor says of one exercise, or with exercise "" of the whole notebook."""

    student: str
    exercise: str
    points: float | None
    comment: str
    where: str  # file and line, for messages


class Overrides:
    """All that a file says about one chapter."""

    def __init__(self, chapter: Chapter, path: Path | None) -> None:
        self._by: dict[tuple[str, str], Override] = {}
        self._maxima = {exercise.number: exercise.points for exercise in chapter.exercises}
        wrong = []
        for where, row in _rows(path) if path else ():
            try:
                self._add(self._override(where, row))
            except CourseError as error:
                wrong.append(str(error))
        if wrong:  # all of them, so that one go mends the file
            raise CourseError("\n".join(wrong))

    def _add(self, one: Override | None) -> None:
        if one and (one.student, one.exercise) in self._by:
            raise CourseError(
                f"{one.where}: a second line for {one.student}, {one.exercise or 'the notebook'}"
            )
        if one:
            self._by[one.student, one.exercise] = one

    def _override(self, where: str, row: Mapping[str, str]) -> Override | None:
        student, exercise, points, comment = (row[column].strip() for column in COLUMNS)
        if not any(row.values()):
            return None
        if not student or not (points or comment):
            raise CourseError(f"{where}: needs a student, and points or a comment")
        if exercise and exercise not in self._maxima:
            known = ", ".join(self._maxima)
            raise CourseError(f"{where}: no exercise {exercise!r} in this chapter; there are: {known}")
        given = self._points(where, exercise, points) if points else None
        return Override(student, exercise, given, comment, where)

    def _points(self, where: str, exercise: str, points: str) -> float:
        if not exercise:
            raise CourseError(f"{where}: points need an exercise; without one there is a comment alone")
        try:
            given = float(points.replace(",", "."))
        except ValueError:
            given = math.nan
        most = self._maxima[exercise]
        if not 0 <= given <= most:
            raise CourseError(f"{where}: {exercise} has from 0 to {number(most)} points, not {points!r}")
        return given

    def applied(self, result: Result) -> Result:
        """`result` with the instructor's points and comments."""
        student = result.submission.student
        whole = self._of(student, "")
        exercises = tuple(
            self._exercise(one, self._of(student, one.exercise.number)) for one in result.exercises
        )
        return replace(result, exercises=exercises, comment=whole.comment if whole else "")

    def _of(self, student: str, exercise: str) -> Override | None:
        """A name may be spelled as in grades.csv, where a quote disarms a formula."""
        return self._by.get((student, exercise)) or self._by.get((inert(student), exercise))

    def _exercise(self, one: ExerciseResult, override: Override | None) -> ExerciseResult:
        if override is None:
            return one
        if override.points is None:
            return replace(one, comment=override.comment)
        return replace(one, points=override.points, tested=one.points, comment=override.comment)

    def unused(self, results: list[Result]) -> Iterator[str]:
        """A remark on each line that changes nothing."""
        names = {
            name: one for one in results for name in (one.submission.student, inert(one.submission.student))
        }
        for one in self._by.values():
            if one.student not in names:
                yield f"{one.where}: no submission of {one.student}; spell the name as in grades.csv"
            elif names[one.student].refused and one.exercise:
                yield f"{one.where}: {one.student} was not graded, so this changes nothing"


def _rows(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    text = read_text(path, "is not UTF-8 text; save it as CSV UTF-8, or as TOML")
    yield from _of_toml(path, text) if path.suffix == ".toml" else _of_csv(path, text)


def _of_toml(path: Path, text: str) -> Iterator[tuple[str, dict[str, str]]]:
    try:
        tables: Any = tomllib.loads(text).get("override", [])
    except tomllib.TOMLDecodeError as error:
        raise CourseError(f"{path}: is not TOML ({error})") from None
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise CourseError(f"{path}: expected tables that begin with [[override]]")
    for place, table in enumerate(tables, 1):
        where = f"{path}, override {place}"
        _check_columns(where, set(table))
        yield where, {column: str(table.get(column, "")) for column in COLUMNS}


def _of_csv(path: Path, text: str) -> Iterator[tuple[str, dict[str, str]]]:
    text = text.removeprefix("\ufeff")
    head = text.partition("\n")[0]
    rows = csv.DictReader(text.splitlines(keepends=True), delimiter=";" if ";" in head else ",", restval="")
    _check_columns(f"{path}, line 1", {name.strip() for name in rows.fieldnames or ()}, {"student"})
    for row in rows:
        named = {str(name).strip(): value for name, value in row.items() if isinstance(value, str)}
        yield f"{path}, line {rows.line_num}", {column: named.get(column, "") for column in COLUMNS}


def _check_columns(where: str, found: set[str], needed: set[str] | None = None) -> None:
    wrong = sorted(found - set(COLUMNS)) or sorted((needed or set()) - found)
    if wrong:
        raise CourseError(f"{where}: expected the columns {', '.join(COLUMNS)}; see {wrong[0]!r}")
