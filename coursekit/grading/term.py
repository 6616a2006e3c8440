"""`python3 -m coursekit report DIR...`: one gradebook and one page over the hand-ins of a term.

Each DIR is the output folder of `grade`. A small TOML file has the rules, all of them optional:

    drop = 1                  # so many of a student's weakest hand-ins do not count
    free_days = 3             # days late over the whole term that cost nothing
    per_day = 0.1             # what each further day costs, as a share of the points earned

    [weights]                 # 1 where a chapter is not named
    04a = 2

    [due]                     # the platform's clock; without a time, the end of that day
    01 = 2026-11-02
    04a = 2026-11-30T18:00:00

    [handed_in]               # the platform's list of times, beside this file: see times.py
    01 = "worksheet.csv"

    [days_late.01]            # what you say comes before either
    "Ada Lovelace" = 0
"""

from __future__ import annotations

import argparse
import csv
import io
import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from datetime import time as clock
from pathlib import Path
from typing import Any

from coursekit.course import Course
from coursekit.errors import CourseError
from coursekit.files import read_record, read_text, write_text
from coursekit.grading.earlier import LONG
from coursekit.grading.gradebook import table
from coursekit.grading.learned import Row, of_table, tables, told
from coursekit.grading.page import page
from coursekit.grading.state import FOLDER
from coursekit.grading.times import ids, read_times

KEYS = {"drop", "free_days", "per_day", "weights", "due", "handed_in", "days_late"}


@dataclass(frozen=True)
class Rules:
    """How hand-ins make a grade."""

    drop: int = 0
    free_days: int = 0
    per_day: float = 0.0
    weights: Mapping[str, float] = field(default_factory=dict)
    due: Mapping[str, datetime] = field(default_factory=dict)
    handed_in: Mapping[str, Path] = field(default_factory=dict)
    days_late: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class HandedIn:
    """One student's hand-in of one chapter."""

    points: float
    maximum: float
    when: datetime | None = None
    late: bool = False  # says the platform

    @property
    def share(self) -> float:
        return self.points / self.maximum if self.maximum else 0.0


@dataclass(frozen=True)
class Line:
    """One student: by chapter the share that counts, days late, and the grade in percent."""

    student: str
    shares: Mapping[str, float]  # after what lateness costs; without those who did not hand in
    days: Mapping[str, int]
    dropped: Sequence[str]
    percent: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR", help="where `grade --out` wrote to")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="for the page and the tables")
    parser.add_argument("--rules", type=Path, metavar="FILE", help="a TOML file: late days, weights, drops")


def run(course: Course, args: argparse.Namespace) -> int:
    rules = read_rules(args.rules)
    hand_ins: dict[str, dict[str, HandedIn]] = {}
    rows: list[Row] = []
    for folder in args.folders:
        number, told_of = read_folder(folder)
        if number in hand_ins:
            raise CourseError(f"{folder}: chapter {number} a second time; give each chapter's newest folder")
        hand_ins[number] = of_students(told_of)
        if number in rules.handed_in:
            hand_ins[number] = timed(folder, hand_ins[number], rules.handed_in[number])
        rows += of_table(told_of)
    _check_chapters(rules, hand_ins, args.rules)
    _check_times(rules, hand_ins, args.rules)
    lines = gradebook(hand_ins, rules)
    chapters = list(hand_ins)
    texts = {name: table(*each) for name, each in tables(rows).items()}
    texts["gradebook.csv"] = table(*as_table(chapters, lines))
    texts["term.html"] = page("term.html", chapters=chapters, lines=lines, told=told(rows), rules=rules)
    for name, text in texts.items():
        write_text(args.out / name, text)
    print(f"{len(lines)} students, {len(chapters)} hand-ins\n{args.out / 'term.html'}")
    return 0


def read_folder(folder: Path) -> tuple[str, list[dict[str, str]]]:
    """The chapter that was graded into `folder`, and the rows of its long table."""
    number = read_record(folder / FOLDER / "run.json").get("chapter")
    if not isinstance(number, str):
        raise CourseError(f"{folder}: holds no grades; expected a folder that `grade --out` wrote")
    rows = list(csv.DictReader(io.StringIO(read_text(folder / LONG)), restval=""))
    if not rows or not {"student", "exercise", "points", "maximum", "verdict"} <= rows[0].keys():
        raise CourseError(f"{folder / LONG}: is not the table that `grade` writes; grade again")
    return number, rows


def of_students(rows: Iterable[Mapping[str, str]]) -> dict[str, HandedIn]:
    """What each student handed in; nothing of who could not be graded: that must not become a zero."""
    found: dict[str, HandedIn] = {}
    for row in rows:
        if row["verdict"].startswith("not graded"):
            continue
        before = found.get(row["student"], HandedIn(0.0, 0.0))
        when = datetime.fromisoformat(row["handed in"]) if row.get("handed in") else None
        points, most = before.points + float(row["points"]), before.maximum + float(row["maximum"])
        found[row["student"]] = HandedIn(points, most, when, bool(row.get("late")))
    return found


def timed(folder: Path, hand_ins: Mapping[str, HandedIn], path: Path) -> dict[str, HandedIn]:
    """`hand_ins` with the times of the platform's list at `path`; who is not in it keeps that of the file."""
    times, numbers = read_times(path), ids(read_text(folder / "grades.csv"))
    return {
        student: replace(one, when=times.get(numbers.get(student, ""), times.get(student, one.when)))
        for student, one in hand_ins.items()
    }


def gradebook(hand_ins: Mapping[str, Mapping[str, HandedIn]], rules: Rules) -> list[Line]:
    """A line for each student, by name. A chapter without a hand-in counts as nothing, and can be dropped."""
    students = sorted({student for of in hand_ins.values() for student in of})
    return [_line(student, {n: of[student] for n, of in hand_ins.items() if student in of}, hand_ins, rules)
            for student in students]  # fmt: skip


def _line(student: str, mine: Mapping[str, HandedIn], chapters: Iterable[str], rules: Rules) -> Line:
    days = {
        number: rules.days_late.get(number, {}).get(student, late_days(one, rules.due.get(number)))
        for number, one in mine.items()
    }
    free, shares = rules.free_days, {}
    for number, one in mine.items():  # the free days go to the hand-ins in the order of the command
        used = min(free, days[number])
        free -= used
        shares[number] = one.share * max(0.0, 1 - rules.per_day * (days[number] - used))
    weights = {number: rules.weights.get(number, 1.0) for number in chapters}
    order = sorted(weights, key=lambda number: shares.get(number, 0.0))  # the first of equal ones goes
    dropped = order[: min(rules.drop, len(order) - 1)]
    counted = {number: weight for number, weight in weights.items() if number not in dropped}
    whole = sum(counted.values())
    percent = 100 * sum(weight * shares.get(number, 0.0) for number, weight in counted.items()) / whole
    return Line(student, shares, days, dropped, percent)


def late_days(one: HandedIn, due: datetime | None) -> int:
    """Whole days that were begun; one where only the platform says that it is late."""
    if due and one.when:
        return max(0, math.ceil((one.when - due) / timedelta(days=1)))
    return int(one.late)


def as_table(chapters: Sequence[str], lines: Sequence[Line]) -> tuple[list[str], list[list[str]]]:
    head = ["Student", *chapters, "Days late", "Dropped", "Grade"]
    return head, [
        [
            line.student,
            *(f"{100 * line.shares[one]:.1f}" if one in line.shares else "" for one in chapters),
            str(sum(line.days.values())),
            " ".join(line.dropped),
            f"{line.percent:.1f}",
        ]
        for line in lines
    ]


# The rules' file


def read_rules(path: Path | None) -> Rules:
    if path is None:
        return Rules()
    try:
        data: dict[str, Any] = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise CourseError(f"{path}: is not TOML ({error})") from None
    wrong = sorted(data.keys() - KEYS)
    if wrong:
        raise CourseError(f"{path}: does not know {wrong[0]!r}; there are: {', '.join(sorted(KEYS))}")
    numbers = {
        **{key: data.get(key, 0) for key in ("drop", "free_days", "per_day")},
        **{f"weights.{key}": value for key, value in _table_of(path, data, "weights").items()},
    }
    for key, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            raise CourseError(f"{path}: {key} is a number from 0, not {value!r}")
        if key in ("drop", "free_days") and not isinstance(value, int):
            raise CourseError(f"{path}: {key} is a whole number, not {value!r}")
    if numbers["per_day"] > 1:
        raise CourseError(f"{path}: per_day is a share, from 0 to 1, not {numbers['per_day']!r}")
    due = {key: _due(path, key, value) for key, value in _table_of(path, data, "due").items()}
    weights, times = data.get("weights", {}), _table_of(path, data, "handed_in")
    for key, value in times.items():
        if not isinstance(value, str):
            raise CourseError(f"{path}: handed_in.{key} is the name of a file in quotes, not {value!r}")
    lists = {key: path.parent / value for key, value in times.items()}
    days = {key: _days(path, key, value) for key, value in _table_of(path, data, "days_late").items()}
    return Rules(numbers["drop"], numbers["free_days"], numbers["per_day"], weights, due, lists, days)


def _days(path: Path, chapter: str, found: object) -> dict[str, int]:
    if not isinstance(found, dict):
        raise CourseError(f"{path}: expected a table [days_late.{chapter}] with a line for each student")
    for student, days in found.items():
        if isinstance(days, bool) or not isinstance(days, int) or days < 0:
            raise CourseError(f"{path}: days_late.{chapter}.{student} is a whole number from 0, not {days!r}")
    return found


def _table_of(path: Path, data: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = data.get(name, {})
    if not isinstance(found, dict):
        raise CourseError(f"{path}: expected a table [{name}] with a line for each chapter")
    return found


def _due(path: Path, key: str, value: object) -> datetime:
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, date):
        return datetime.combine(value, clock(23, 59, 59))
    raise CourseError(
        f"{path}: due.{key} is a date such as 2026-11-02T18:00:00 without quotes, not {value!r}"
    )


def _check_chapters(rules: Rules, found: Mapping[str, object], path: Path | None) -> None:
    named = {*rules.weights, *rules.due, *rules.handed_in, *rules.days_late}
    unknown = sorted(named - found.keys())
    if unknown:
        raise CourseError(
            f"{path}: names chapter {unknown[0]}, of which there is no folder; there are: {', '.join(found)}"
        )
    if not sum(rules.weights.get(number, 1.0) for number in found):
        raise CourseError(f"{path}: all weights are 0; give one chapter more")


def _check_times(rules: Rules, found: Mapping[str, Mapping[str, HandedIn]], path: Path | None) -> None:
    """Two things that would cost honest students points: a name that is nobody's, and times of a download."""
    for number, days in rules.days_late.items():
        unknown = sorted(days.keys() - found[number].keys())
        if unknown:
            raise CourseError(f"{path}: names {unknown[0]}, who handed in nothing of chapter {number}")
    for number, due in rules.due.items():
        said = rules.days_late.get(number, {})
        times = [one.when for student, one in found[number].items() if one.when and student not in said]
        if number not in rules.handed_in and len(times) > 1 and min(times) > due:
            raise CourseError(
                f"{path}: every file of chapter {number} is newer than due.{number}: is it "
                f"the time of the download? Name the platform's list in [handed_in], "
                f"or leave {number} out of [due]"
            )
