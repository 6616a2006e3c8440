"""The anatomy that CONTRIBUTING.md promises of a chapter, for every chapter that there is."""

from __future__ import annotations

import re
import statistics
from pathlib import Path

import pytest

from coursekit import notebooks
from coursekit.course import find_course
from coursekit.grading import progress
from coursekit.make import stamp

ROOT = Path(__file__).parents[2]
CHAPTERS = sorted((ROOT / "chapters").glob("*.ipynb"))
PICTURES = {"image/png", "image/svg+xml"}
# Lessons that are longer than new ones may be: at most 25 lines in a cell, 60 cells of code.
LONGEST = {"02b_engine": 35, "03f_training": 26}
CELLS = {
    "01_scalar": 36,
    "02a_arrays": 48,
    "03f_training": 89,
}  # fmt: skip


@pytest.fixture(params=CHAPTERS, ids=lambda path: path.stem)
def chapter(request):
    return notebooks.cells(request.param, notebooks.read(request.param))


def test_one_idea_per_cell(chapter):
    lengths = [len(stamp.lines_of_code(cell)) for cell in chapter if cell.is_code]
    assert max(lengths) <= LONGEST.get(chapter[0].notebook.stem, 25)
    assert statistics.median(lengths) <= 6


def test_a_lesson_holds_what_it_teaches_and_no_more(chapter):
    code = [cell for cell in chapter if cell.is_code]
    assert len(code) <= CELLS.get(chapter[0].notebook.stem, 60)
    folded = [cell for cell in code if cell.node.metadata.get("jupyter", {}).get("source_hidden")]
    assert [cell.where() for cell in folded] == []


@pytest.mark.parametrize("path", sorted((ROOT / "solutions").glob("*.ipynb")), ids=lambda path: path.stem)
def test_nothing_is_folded_in_exercises(path):
    cells = notebooks.cells(path, notebooks.read(path))
    folded = [cell for cell in cells if cell.node.metadata.get("jupyter", {}).get("source_hidden")]
    assert [cell.where() for cell in folded] == []


def test_a_part_has_words_enough(chapter):
    words = stamp.words(chapter)
    assert words >= 800 or chapter[0].notebook.stem == "00_start_here"


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_lesson_tells_honest_minutes(path):
    told = " ".join(stamp.prose(notebooks.cells(path, notebooks.read(path))).split())
    assert str(stamp.minutes(find_course(ROOT), path)) in told


def test_cells_were_run_in_order_without_an_error(chapter):
    code = [cell.node for cell in chapter if cell.is_code]
    assert [node.execution_count for node in code] == [*range(1, len(code) + 1)]
    assert not [output for node in code for output in node.outputs if output.output_type == "error"]


def test_pictures_are_many_and_said_in_words(chapter):
    shown = [cell for cell in chapter if cell.is_code and has_picture(cell)]
    if chapter[0].notebook.stem != "00_start_here":
        assert len(shown) >= 3
    for cell in shown:
        data = next(output.data for output in cell.node.outputs if PICTURES & {*output.get("data", {})})
        after = next((c.source for c in chapter[cell.number :] if not c.is_code), "")
        graph = not data["text/plain"].startswith("<Figure")  # graphs carry their own words
        title = re.search(r"plt\.title\(|\bdraw_\w+\(.*\btitle=", cell.source)
        assert graph or "*The picture" in after or title


def has_picture(cell):
    return any(PICTURES & {*output.get("data", {})} for output in cell.node.outputs)


def test_nothing_of_a_draft_is_left(chapter):
    for cell in chapter:
        assert not re.search(r"TODO|FIXME|RECORDED|FIGURES|XXX", cell.source), cell.where()


def test_chapter_00_shows_a_table_of_all_chapters_and_no_place_of_another_machine():
    course = find_course(Path(__file__).parent)
    first = notebooks.read(course.chapters / "00_start_here.ipynb")
    tables = {
        cell.source.splitlines()[-1]: cell.outputs[0].data
        for cell in first.cells
        if cell.cell_type == "code" and cell.source.endswith("table()")
    }
    assert set(tables) == {"doctor.table()", "progress.table()"}
    shown = "".join(text for table in tables.values() for text in table.values())
    assert not re.search(r"(?<![\w<.])/\w+/", shown) and "files changed" not in shown
    missing = [row.title for row in progress.table(course).rows if row.title not in shown]
    assert not missing, "run it anew: make edit NN=00 ARGS=--fresh"
