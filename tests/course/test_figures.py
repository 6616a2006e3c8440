"""Figures in prose are those that a command of the project has recorded."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from figures import tells

from benchmarks import cuda, gpt, grading, scalar, sidebyside, tensor
from coursekit import notebooks

ROOT = Path(__file__).parents[2]
PAGES = "\n".join(
    path.read_text(encoding="utf-8")
    for path in map(ROOT.joinpath, ("README.md", "benchmarks/README.md", "docs/instructors.md"))
    if path.is_file()
)


def test_the_pages_and_chapter_01_show_the_recorded_table():
    table = scalar.table(json.loads(scalar.RESULTS.read_text())["rows"])
    assert table in PAGES
    chapter = notebooks.read(ROOT / "chapters" / "01_scalar.ipynb")
    assert any(table in cell.source for cell in chapter.cells)


def test_the_pages_show_the_recorded_speed_of_grading():
    for chapter, found in json.loads(grading.RESULTS.read_text()).items():
        assert tells(PAGES, f"{found['per_minute']:.0f}", chapter)


def test_the_pages_show_the_recorded_speed_of_simulated_kernels():
    table = cuda.table(json.loads(cuda.RESULTS.read_text())["rows"])
    assert table in PAGES


def test_readme_quotes_what_the_report_says(capsys: pytest.CaptureFixture[str]):
    readme = (ROOT / "README.md").read_text()
    (code,) = [
        part for part in re.findall(r"```python\n(.*?)```", readme, re.DOTALL) if "minilib.cuda" in part
    ]
    exec(code, {})
    assert f"# {capsys.readouterr().out.strip()}" in code


@pytest.mark.parametrize("suite", [tensor.SUITE, gpt.SUITE], ids=lambda suite: suite.name)
def test_readme_shows_what_a_side_by_side_benchmark_has_recorded(suite: sidebyside.Suite):
    recorded = sidebyside.recorded(suite) if suite.results.exists() else None
    assert sidebyside.marked(suite, (ROOT / "README.md").read_text()) == recorded
