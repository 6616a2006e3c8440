"""The exercises as a learner gets them: Run All goes through, and says of each that it is not solved yet."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from nbclient import NotebookClient

from coursekit import notebooks
from coursekit.course import find_course
from coursekit.grading.assemble import load_chapter

COURSE = find_course(Path(__file__).parent)
EACH_TIME = "01_exercises", "02b_exercises"  # the others at night
EXERCISES = [
    pytest.param(path, id=path.stem, marks=[] if path.stem in EACH_TIME else pytest.mark.nightly)
    for path in sorted(COURSE.exercises.glob("*.ipynb"))
]


@pytest.mark.thorough
@pytest.mark.parametrize("path", EXERCISES)
def test_run_all_goes_through_untouched_exercises(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(COURSE.root))
    made = notebooks.read(path)
    NotebookClient(made, timeout=600, resources={"metadata": {"path": str(COURSE.exercises)}}).execute()
    said = {
        cell.source.partition("\n")[0]: [one.data["text/plain"] for one in cell.outputs]
        for cell in made.cells
        if cell.source.startswith("check(")
    }
    numbers = [one.number for one in load_chapter(path, visible=True).exercises]
    assert said == {f'check("{number}")': [f"{number} is not solved yet"] for number in numbers}


@pytest.mark.slow
def test_run_all_goes_through_where_the_course_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in Colab: the packages alone, no solutions, no exercises."""
    for path in ("coursekit", "minilib", "simulator/warplens"):
        made = tmp_path / "site" / Path(path).name
        shutil.copytree(COURSE.root / path, made, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    made = notebooks.read(COURSE.exercise("04a"))
    NotebookClient(made, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    said = [str(cell.outputs) for cell in made.cells if cell.source.startswith("check(")]
    assert all(re.search(r"\d is not solved yet", one) for one in said)
