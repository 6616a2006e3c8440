"""Figures in prose are those that a command of the project has recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import grading, scalar, sidebyside, tensor
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


@pytest.mark.parametrize("suite", [tensor.SUITE], ids=lambda suite: suite.name)
def test_readme_shows_what_a_side_by_side_benchmark_has_recorded(suite: sidebyside.Suite):
    recorded = sidebyside.recorded(suite) if suite.results.exists() else None
    assert sidebyside.marked(suite, (ROOT / "README.md").read_text()) == recorded
