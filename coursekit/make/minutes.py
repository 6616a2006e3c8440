"""How long a part takes, by one rule: a minute for 180 words or 8 lines of code; exercises say their own.

A lesson tells its minutes at its **Time**: those to read and run, those of the exercises, those of the
stretch. Each is the rule's, rounded up to five.
"""

from __future__ import annotations

import argparse
import math
import re
from dataclasses import dataclass
from pathlib import Path

from coursekit import notebooks
from coursekit.course import Course, chapter_number

WORDS, LINES, ROUNDED = 180, 8, 5  # words and lines of code a minute; told in steps of so many minutes
NOT_PROSE = [
    r"\$\$.*?\$\$",  # formulas
    r"<details>.*?</details>",
    r"```.*?```",
    r"<!-- badges -->.*?<!-- /badges -->",
    r"\*The picture.*?\.\*",  # what a picture shows, in words for those who cannot see it
    r"(?m)^[|#].*?$",  # tables, headings
    r"\$[^$]*\$",
    r"<[^>]*>",
]
_TOLD = re.compile(
    r"\*\*Time\*\*: (\d+) minutes to read and run"
    r"(?:; the exercises take (\d+) more(?:, (?:a|the) stretch (\d+))?)?"
)
_EXERCISE = re.compile(r"(?m)^### \d+\.\d+ .*\((warm-up|core|stretch), (\d+) minutes")


@dataclass(frozen=True)
class Minutes:
    """Of a part: to read and run its lesson, for its exercises, and for those that are a stretch."""

    lesson: int
    exercises: int = 0
    stretch: int = 0

    def __str__(self) -> str:
        return f"{self.lesson} + {self.exercises} + {self.stretch}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "To read and run + exercises + stretch; a part that tells other numbers is marked."


def run(course: Course, args: argparse.Namespace) -> int:
    print("part          words  lines  minutes        told")
    for path in sorted(course.chapters.glob("*.ipynb")):
        cells = notebooks.cells(path, notebooks.read(path))
        found, said = minutes(course, path), told(cells)
        mark = "" if said == found else "  <- differs"
        print(
            f"{path.stem:<16}{words(cells):>4}{lines(cells):>7}  {found!s:<13}  {said or 'nothing'!s}{mark}"
        )
    return 0


def minutes(course: Course, lesson: Path) -> Minutes:
    """What the rule says of a lesson and its exercises."""
    cells = notebooks.cells(lesson, notebooks.read(lesson))
    own = {"warm-up": 0, "core": 0, "stretch": 0}
    for path in course.solutions.glob(f"{chapter_number(lesson)}_*.ipynb"):
        prose = "\n\n".join(c.source for c in notebooks.cells(path, notebooks.read(path)) if not c.is_code)
        for tier, count in _EXERCISE.findall(prose):
            own[tier] += int(count)
    reading = words(cells) / WORDS + lines(cells) / LINES
    return Minutes(rounded(reading), rounded(own["warm-up"] + own["core"]), rounded(own["stretch"]))


def told(cells: list[notebooks.Cell]) -> Minutes | None:
    """What a lesson says itself."""
    for cell in cells:
        found = None if cell.is_code else _TOLD.search(" ".join(cell.source.split()))
        if found:
            return Minutes(*(int(number or 0) for number in found.groups()))
    return None


def rounded(count: float) -> int:
    return ROUNDED * math.ceil(count / ROUNDED)


def words(cells: list[notebooks.Cell]) -> int:
    """Words of prose: without formulas, tables, headings, closed answers and the links at the end."""
    prose = "\n\n".join(cell.source for cell in cells if not cell.is_code and cell.node.id != "next")
    for pattern in NOT_PROSE:
        prose = re.sub(pattern, " ", prose, flags=re.DOTALL)
    return len(re.findall(r"[A-Za-z][\w'-]*", prose))


def lines(cells: list[notebooks.Cell]) -> int:
    """Lines of code, without comments and empty ones."""
    return sum(len(lines_of_code(cell)) for cell in cells if cell.is_code)


def lines_of_code(cell: notebooks.Cell) -> list[str]:
    return [line for line in cell.source.splitlines() if line.strip() and not line.lstrip().startswith("#")]
