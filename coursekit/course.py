"""Where the parts of a course lie. Standard library alone: the bootstrap imports this."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coursekit.errors import CourseError


@dataclass(frozen=True)
class Course:
    """The folders of one course, all below `root`."""

    root: Path

    @property
    def chapters(self) -> Path:
        return self.root / "chapters"

    @property
    def exercises(self) -> Path:
        return self.root / "exercises"

    @property
    def solutions(self) -> Path:
        return self.root / "solutions"

    @property
    def library(self) -> Path:
        return self.root / "minilib"

    @property
    def work(self) -> Path:
        """The learner's own copies."""
        return self.root / "work"

    def exercise(self, number: str) -> Path:
        """The notebook with the exercises of chapter `number`."""
        return self.exercises / f"{number}_exercises.ipynb"

    def own(self, number: str) -> Path:
        """The learner's copy of the exercises of chapter `number`."""
        found = sorted(path.name for path in self.exercises.glob(f"{number}_*.ipynb"))
        return self.work / "exercises" / (found[0] if found else self.exercise(number).name)

    @property
    def mine(self) -> Path:
        """The library built from the learner's own answers."""
        return self.root / "mine"

    def settings(self) -> dict[str, Any]:
        """The table `[tool.coursekit]` of pyproject.toml."""
        with open(self.root / "pyproject.toml", "rb") as file:
            return dict(tomllib.load(file).get("tool", {}).get("coursekit", {}))


def chapter_number(path: Path) -> str:
    """`"01"` of `01_scalar.ipynb`, wherever it lies."""
    return path.name.partition("_")[0]


def meant(asked: str, numbers: Iterable[str]) -> list[str]:
    """Those of `numbers` that `asked` means: "2" and "02" are 02, or its parts 02a and 02b; "2a" is 02a."""
    words = re.fullmatch(r"(\d{1,2})([a-z]?)", asked)
    if not words:
        return []
    name = words[1].zfill(2) + words[2]
    return sorted({number for number in numbers if name in (number, number[:-1])})


def find_course(start: Path | None = None) -> Course:
    """The course that `start` (default: the current folder) lies in."""
    start = (start or Path.cwd()).resolve()
    for folder in (start, *start.parents):
        project = folder / "pyproject.toml"
        if project.is_file() and b"[tool.coursekit]" in project.read_bytes():
            return Course(folder)
    raise CourseError(
        f"{start} is not inside a course: no pyproject.toml with [tool.coursekit] here or above; "
        "change into the course's folder, or clone the course first"
    )
