"""Honest notebooks that look unlike the reference keep full points, through the command, in the box."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import honest
import pytest

from coursekit import __main__ as command
from coursekit.errors import CourseError
from coursekit.grading.sandbox import Box

pytestmark = [pytest.mark.slow, pytest.mark.nightly]


def sandbox() -> str:
    try:
        Box.required()
        return "required"
    except CourseError:
        return "off"


class Graded:
    """One class of one chapter."""

    def __init__(self, root: Path, chapter: str) -> None:
        self.out, students = root / "out", root / "students"
        for name, made in honest.CLASSES[chapter].items():
            (students / name).mkdir(parents=True)
            form = honest.FORMS.get(name, honest.as_written)
            (students / name / "work.ipynb").write_bytes(form(made))
        where = ["--course", str(honest.COURSE.root), "grade", chapter, str(students), "--out", str(self.out)]
        assert command.main([*where, "--sandbox", sandbox(), "--seed", "16"]) == 0
        self.chapter = chapter
        rows = csv.DictReader(io.StringIO((self.out / "grades_long.csv").read_text(encoding="utf-8")))
        self.lost: dict[str, list[str]] = {}
        for row in rows:
            if row["points"] != row["maximum"]:
                self.lost.setdefault(row["student"], []).append(f"{row['exercise']}: {row['verdict']}")

    def page(self, student: str) -> str:
        return (self.out / "feedback" / student / f"{self.chapter}.html").read_text(encoding="utf-8")


CLASSES: dict[str, Graded] = {}


@pytest.fixture
def graded(chapter: str, tmp_path_factory: pytest.TempPathFactory) -> Graded:
    if chapter not in CLASSES:
        CLASSES[chapter] = Graded(tmp_path_factory.mktemp(chapter), chapter)
    return CLASSES[chapter]


EACH = [(chapter, name) for chapter, made in honest.CLASSES.items() for name in made]


@pytest.mark.parametrize("chapter, name", EACH, ids=[f"{chapter} {name}" for chapter, name in EACH])
def test_it_keeps_full_points(graded: Graded, name: str) -> None:
    assert graded.lost.get(name, []) == []


def test_there_are_forty_of_them() -> None:
    assert len(EACH) >= 40
