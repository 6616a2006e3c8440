"""Figures in prose are those that a command of the project has recorded."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks import grading, scalar
from coursekit import notebooks

ROOT = Path(__file__).parents[1]


def test_readme_and_chapter_01_show_the_recorded_table():
    table = scalar.table(json.loads(scalar.RESULTS.read_text())["rows"])
    assert table in (ROOT / "README.md").read_text()
    chapter = notebooks.read(ROOT / "chapters" / "01_scalar.ipynb")
    assert any(table in cell.source for cell in chapter.cells)


def test_readme_shows_the_recorded_speed_of_grading():
    speed = json.loads(grading.RESULTS.read_text())["per_minute"]
    assert f"{speed:.0f} submissions of chapter 01 a minute" in (ROOT / "README.md").read_text()
