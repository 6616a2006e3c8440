"""What a class's points say about the exercises: which tell strong from weak, and which go wrong together.

It works on the rows of grades_long.csv, so that several hand-ins, or other programs, can count the same.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

LEAST = 10  # students, below which a correlation says nothing
PAIRS = 8  # exercises that go wrong together, at most so many pairs
MISTAKES = 20


@dataclass(frozen=True)
class Row:
    """One exercise of one student who was graded."""

    student: str
    exercise: str
    points: float
    maximum: float
    hint: str = ""
    seconds: float = 0.0
    answer: str = ""

    @property
    def share(self) -> float:
        return self.points / self.maximum if self.maximum else 0.0

    @property
    def wrong(self) -> bool:
        return self.points < self.maximum


@dataclass(frozen=True)
class About:
    """One exercise: `discrimination` is the correlation of its points with the rest of the student's."""

    exercise: str
    students: int
    mean: float
    maximum: float
    seconds: float
    discrimination: float | None

    @property
    def words(self) -> str:
        if self.discrimination is None:
            return ""
        if self.discrimination < 0.1:
            return "does not tell strong from weak"
        return "tells little" if self.discrimination < 0.3 else "tells strong from weak"


@dataclass(frozen=True)
class Mistake:
    """A known mistake, or what the values said: how many of the students made it, and one who did."""

    exercise: str
    hint: str
    count: int
    share: float
    student: str
    answer: str


@dataclass(frozen=True)
class Together:
    """Two exercises that the same students get wrong, more than by chance."""

    first: str
    second: str
    both: int
    either: int
    phi: float


def exercises(rows: Sequence[Row]) -> list[About]:
    totals: dict[str, float] = {}
    for row in rows:
        totals[row.student] = totals.get(row.student, 0.0) + row.points
    found = []
    for name, some in by_exercise(rows).items():
        rest = [totals[row.student] - row.points for row in some]
        found.append(
            About(
                name,
                len(some),
                statistics.mean(row.points for row in some),
                some[0].maximum,
                statistics.mean(row.seconds for row in some),
                correlation([row.points for row in some], rest),
            )
        )
    return found


def mistakes(rows: Sequence[Row]) -> list[Mistake]:
    """The most common ones first, each with the shortest answer that makes it."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row.hint:
            groups.setdefault((row.exercise, row.hint), []).append(row)
    sizes = {name: len(some) for name, some in by_exercise(rows).items()}
    made = []
    for (name, hint), some in groups.items():
        example = min(some, key=lambda row: (len(row.answer), row.student))
        share = len(some) / sizes[name]
        made.append(Mistake(name, hint, len(some), share, example.student, example.answer[:2000]))
    return sorted(made, key=lambda one: (-one.count, one.exercise, one.hint))


def together(rows: Sequence[Row]) -> list[Together]:
    """Pairs of exercises by how much more often than by chance both are wrong."""
    wrong = {name: {row.student: row.wrong for row in some} for name, some in by_exercise(rows).items()}
    found = []
    for first, second in combinations(wrong, 2):
        students = sorted(wrong[first].keys() & wrong[second].keys())
        pairs = [(wrong[first][one], wrong[second][one]) for one in students]
        phi = correlation([float(a) for a, _ in pairs], [float(b) for _, b in pairs])
        if phi is not None and phi >= 0.2:
            both, either = sum(a and b for a, b in pairs), sum(a or b for a, b in pairs)
            found.append(Together(first, second, both, either, phi))
    return sorted(found, key=lambda one: (-one.phi, one.first, one.second))[:PAIRS]


def by_exercise(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.exercise, []).append(row)
    return found


def correlation(some: Sequence[float], others: Sequence[float]) -> float | None:
    """Pearson's, None for too few students, or where all of one side are equal."""
    if len(some) < LEAST or len({*some}) < 2 or len({*others}) < 2:
        return None
    found = statistics.correlation(some, others)
    return None if math.isnan(found) else round(found, 3) + 0.0  # no -0.0


def told(rows: Sequence[Row]) -> dict[str, Any]:
    """What learned.html shows."""
    return {
        "exercises": [one for one in exercises(rows) if one.discrimination is not None],
        "mistakes": mistakes(rows)[:MISTAKES],
        "together": together(rows),
    }


# The same as tables: the CSV behind each picture

Table = tuple[list[str], list[list[str]]]


def tables(rows: Sequence[Row]) -> Mapping[str, Table]:
    return {
        "exercises.csv": (
            ["exercise", "students", "mean", "maximum", "seconds", "discrimination"],
            [
                [one.exercise, str(one.students), f"{one.mean:.3f}", f"{one.maximum:g}", f"{one.seconds:.2f}",
                 "" if one.discrimination is None else f"{one.discrimination:.2f}"]
                for one in exercises(rows)
            ],
        ),
        "mistakes.csv": (
            ["exercise", "hint", "students", "share"],
            [[one.exercise, one.hint, str(one.count), f"{one.share:.3f}"] for one in mistakes(rows)],
        ),
        "together.csv": (
            ["exercise", "other", "both wrong", "either wrong", "correlation"],
            [
                [one.first, one.second, str(one.both), str(one.either), f"{one.phi:.2f}"]
                for one in together(rows)
            ],
        ),
    }  # fmt: skip


def of_table(rows: Iterable[Mapping[str, str]]) -> Iterator[Row]:
    """The rows of a grades_long.csv; of students who were not graded none."""
    for row in rows:
        if not row["verdict"].startswith("not graded"):
            yield Row(
                row["student"],
                row["exercise"],
                float(row["points"]),
                float(row["maximum"]),
                row.get("hint", ""),
                float(row.get("seconds") or 0.0),
            )
