"""The road: lessons, exercises and the next lesson lead to each other, here and in `work/`."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from coursekit.course import Course, chapter_number
from coursekit.install import workspace
from coursekit.make import drift, stamp
from coursekit.notebooks import read

ROOT = Path(__file__).parents[2]
COURSE = Course(ROOT)
CHAPTERS = sorted(COURSE.chapters.glob("*.ipynb"))
EXERCISES = sorted(COURSE.exercises.glob("*.ipynb"))
_LINK = re.compile(r"\]\(([^()\s]+)\)")


def linked(path: Path, cell: str | None = None) -> list[str]:
    """Where the notebook (or one cell of it) leads, other than to addresses on the web and headings."""
    sources = [
        one.source for one in read(path).cells if one.cell_type == "markdown" and cell in (None, one.id)
    ]
    found = [link for source in sources for link in _LINK.findall(source)]
    return [link.partition("#")[0] for link in found if not re.match(r"https?:|mailto:|#|attachment:", link)]


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A learner's work/ of this course."""
    root = tmp_path_factory.mktemp("clone")
    for name in ("chapters", "exercises"):
        (root / name).symlink_to(ROOT / name, target_is_directory=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_DATA_DIR", str(root / "jupyter"))
        workspace.prepare(Course(root))
    return root / "work"


@pytest.mark.parametrize("path", [*CHAPTERS, *EXERCISES], ids=lambda path: path.stem)
def test_every_link_leads_to_a_file_here_and_in_work(path: Path, work: Path) -> None:
    for link in linked(path):
        assert (path.parent / link).is_file(), link
        assert (work / path.parent.name / link).is_file(), link


def test_each_chapter_leads_to_its_exercises_and_to_the_next(work: Path) -> None:
    for lesson, after in pairwise(CHAPTERS):
        found = linked(lesson, "next")
        assert found[-1] == after.name
        exercises = COURSE.exercise(chapter_number(lesson))
        assert (f"../exercises/{exercises.name}" in found) == exercises.is_file()
    assert linked(CHAPTERS[-1], "next") == [f"../exercises/{EXERCISES[-1].name}"]


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_lesson_leads_on_once(path: Path) -> None:
    assert (
        sum("**Now yours**" in cell.source or "**Next chapter**" in cell.source for cell in read(path).cells)
        == 1
    )


def test_exercises_lead_back_above_and_on_below() -> None:
    for path in EXERCISES:
        cells = read(path).cells
        lesson = next(one for one in CHAPTERS if chapter_number(one) == chapter_number(path))
        assert cells[1].id == "back" and linked(path, "back") == [f"../chapters/{lesson.name}"]
        onward = [f"../chapters/{one.name}" for one in CHAPTERS[CHAPTERS.index(lesson) + 1 :][:1]]
        assert cells[-1].id == "next" and linked(path, "next")[1:] == onward


def test_no_two_notebooks_of_a_learner_have_one_name(work: Path) -> None:
    names = [path.name for path in work.rglob("*.ipynb")]
    assert len(names) == len(set(names))


@pytest.mark.slow
@pytest.mark.skipif(not COURSE.solutions.is_dir(), reason="notebooks are stamped where solutions are")
def test_every_notebook_and_the_readme_are_stamped() -> None:
    wrong = {path.name for path, text in stamp.made(COURSE).items() if drift.text_of(path) != text}
    assert not wrong, "run `python3 -m coursekit stamp`"
