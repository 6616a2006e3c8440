"""The run before: what it gave each student, and a folder in which its results are kept."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from coursekit.files import writing
from coursekit.grading.results import OVERRIDDEN

LONG = "grades_long.csv"
TABLES = ("exercises.csv", "mistakes.csv", "together.csv")
RESULTS = ("grades.csv", LONG, "junit.xml", "report.html", "feedback", "feedback.zip", *TABLES)
FOLDER = "earlier"


@dataclass(frozen=True)
class Change:
    """Points of one exercise that another run gave otherwise; "" where a student was not in it."""

    student: str
    exercise: str
    before: str
    after: str
    why: str


class Earlier:
    """The results of the run before in the folder `out`, if there are any."""

    def __init__(self, out: Path, answers: Mapping[str, str]) -> None:
        self._out, self._answers = out, answers  # the keys of the answers that were graded, by student
        try:
            text = (out / LONG).read_text(encoding="utf-8")
            self._when = datetime.fromtimestamp((out / LONG).stat().st_mtime)
        except (OSError, UnicodeDecodeError):
            text, self._when = "", datetime.now()
        self._before = _points(text)

    def __bool__(self) -> bool:
        return bool(self._before)

    @property
    def when(self) -> str:
        return f"{self._when:%d %B %Y, %H:%M:%S}"

    def changes(self, now: str, answers: Mapping[str, str]) -> list[Change]:
        """What the table `now` gives otherwise, where there was a run before."""
        if not self:
            return []
        after = _points(now)
        keys = sorted(set(self._before) | set(after))
        return list(self._changed(keys, after, answers))

    def _changed(
        self,
        keys: Sequence[tuple[str, str]],
        after: Mapping[tuple[str, str], tuple[str, str]],
        answers: Mapping[str, str],
    ) -> Iterator[Change]:
        for student, exercise in keys:
            old, old_verdict = self._before.get((student, exercise), ("", ""))
            new, new_verdict = after.get((student, exercise), ("", ""))
            if old == new:
                continue
            if new_verdict.startswith(OVERRIDDEN):
                why = "your points"
            elif old_verdict.startswith(OVERRIDDEN):
                why = "your points are taken back"
            elif not new or not old:
                why = "no submission any more" if not new else "no submission before"
            elif self._answers.get(student) != answers.get(student):
                why = "another submission"
            else:
                why = "the same answers: the tests, the seed or the machine differ"
            yield Change(student, exercise, old, new, why)

    def keep(self) -> Path | None:
        """Move the results of the run before into a folder of their own, named after their time."""
        if not self:
            return None
        name = f"{self._when:%Y-%m-%d_%H%M%S}"
        folder, tries = self._out / FOLDER / name, 1
        while folder.exists():
            tries += 1
            folder = self._out / FOLDER / f"{name}_{tries}"
        with writing(folder):
            folder.mkdir(parents=True)
            for old in (self._out / result for result in RESULTS):
                if old.exists():
                    old.rename(folder / old.name)
        return folder


def _points(table: str) -> dict[tuple[str, str], tuple[str, str]]:
    """Points and verdict by student and exercise, from the text of the long table."""
    rows = csv.DictReader(io.StringIO(table), restval="")
    if not {"student", "exercise", "points", "verdict"} <= set(rows.fieldnames or ()):
        return {}
    return {(row["student"], row["exercise"]): (row["points"], row["verdict"]) for row in rows}
