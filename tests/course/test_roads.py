"""`make bench ARGS=roads` sees a notebook that fails in an empty folder, and says where."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_notebook

from benchmarks import roads
from coursekit import notebooks
from coursekit.course import find_course


def saved(path: Path, *sources: str) -> Path:
    cells = [new_code_cell(source, id=f"cell-{number}") for number, source in enumerate(sources)]
    notebooks.write(path, new_notebook(cells=cells))
    return path


@pytest.mark.slow
def test_a_notebook_runs_in_an_empty_folder(tmp_path: Path) -> None:
    path = saved(tmp_path / "01.ipynb", "import os\nassert 'chapters' not in os.listdir()", "%time 1 + 1")
    outcome = roads.run(Path(sys.executable), path)
    assert outcome["error"] == "" and outcome["megabytes"] > 20


@pytest.mark.slow
@pytest.mark.parametrize("wrong", ["import no_such_module", "1 +", "raise SystemExit"])
def test_the_first_cell_that_fails_is_named(tmp_path: Path, wrong: str) -> None:
    outcome = roads.run(Path(sys.executable), saved(tmp_path / "01.ipynb", "1", wrong, "2"))
    assert outcome["error"].startswith("cell 2: ")


@pytest.mark.slow
def test_a_notebook_that_ends_its_process_is_told(tmp_path: Path) -> None:
    assert roads.run(Path(sys.executable), saved(tmp_path / "01.ipynb", "import os; os._exit(3)"))["error"]


def test_chapters_are_chosen_by_number_with_their_exercises() -> None:
    course = find_course(Path(__file__).parent)
    chosen = [path.relative_to(course.root).as_posix() for path in roads.chosen(course, ["2"])]
    assert [name.partition("_")[0] for name in chosen] == [
        "chapters/02a", "chapters/02b", "solutions/02a", "solutions/02b",
    ]  # fmt: skip
    assert len(roads.chosen(course, [])) > len(chosen)


def test_the_table_marks_what_failed() -> None:
    row = {"seconds": 1.5, "megabytes": 80, "error": ""}
    table = roads.table({"2.0.2": {"a": row, "b": row}, "2.5": {"a": row, "b": {**row, "error": "cell 2"}}})
    assert table.splitlines()[2:] == ["| a | 1.5 | 80 | 1.5 | 80 |", "| b | 1.5 | 80 | 1.5 | 80 | FAILED"]
