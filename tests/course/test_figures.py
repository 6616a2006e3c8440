"""Figures in prose are those that a command of the project has recorded."""

from __future__ import annotations

import json
import re
from pathlib import Path

import launches
import pytest
from figures import tells

from benchmarks import busy, extension, gpt, grading, mamba, operators, scalar, scan, sidebyside, tensor
from coursekit import notebooks

ROOT = Path(__file__).parents[2]
TABLES = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")


def test_the_tables_and_chapter_01_show_what_was_recorded_of_scalars():
    rows = json.loads(scalar.RESULTS.read_text())["rows"]
    assert scalar.table(rows) in TABLES
    chapter = notebooks.read(ROOT / "chapters" / "01_scalar.ipynb")
    prose = " ".join(cell.source for cell in chapter.cells if cell.cell_type == "markdown")
    assert tells(prose, *(f"{row['milliseconds']:.0f} ms" for row in rows[:2]))


def test_instructors_are_told_the_recorded_speed_of_grading():
    page = (ROOT / "docs" / "instructors.md").read_text(encoding="utf-8")
    for name, found in json.loads(grading.RESULTS.read_text()).items():
        count = [f"{found['submissions']:,}"] if "cluster" in found else []
        assert tells(page, f"{found['per_minute']:.0f}", name.split()[0], *count)


def test_instructors_are_shown_how_far_the_model_of_the_cost_holds():
    page = (ROOT / "docs" / "instructors.md").read_text(encoding="utf-8")
    assert grading.machines_table(json.loads(grading.MACHINES.read_text())) in page


def test_the_tables_show_the_recorded_speed_of_simulated_kernels():
    table = launches.table(json.loads(launches.RESULTS.read_text())["rows"])
    assert table in TABLES


def test_the_line_of_figures_in_the_readme_is_what_was_recorded():
    micrograd, ours = json.loads(scalar.RESULTS.read_text())["rows"][:2]
    step = json.loads(gpt.SUITE.results.read_text())["rows"][0]
    figures = [ours["milliseconds"], micrograd["milliseconds"], 1000 * step["minilib"], 1000 * step["torch"]]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [f"{one:.0f} ms" for one in figures] == re.findall(r"[\d.]+ ms", readme)


def test_the_tables_show_what_was_recorded_beside_busy_neighbours():
    rows = json.loads(busy.SUITE.results.read_text())["rows"]
    assert [row["case"] for row in rows] == list(busy.CASES)
    assert sidebyside.marked(busy.SUITE.name, TABLES) == busy.table(rows)


@pytest.mark.parametrize(
    "suite",
    [tensor.SUITE, gpt.SUITE, scan.SUITE, operators.SUITE, mamba.SUITE],
    ids=lambda suite: suite.name,
)
def test_the_tables_show_what_a_side_by_side_benchmark_has_recorded(suite: sidebyside.Suite):
    recorded = sidebyside.recorded(suite) if suite.results.exists() else None
    assert (sidebyside.marked(suite.name, TABLES) or None) == recorded


def test_the_table_shows_what_it_took_to_bring_a_kernel_out_of_a_notebook():
    found = json.loads(extension.RESULTS.read_text(encoding="utf-8"))
    assert sidebyside.marked("extension", TABLES) == extension.table(found)
