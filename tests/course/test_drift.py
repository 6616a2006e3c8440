"""What is made is what its sources say, file by file."""

from __future__ import annotations

from pathlib import Path

import pytest

from coursekit.course import find_course
from coursekit.make import drift, exercises, promote
from coursekit.make.book import is_taught
from coursekit.notebooks import cells, read

COURSE = find_course(Path(__file__).parent)


def with_lessons() -> list[str]:
    """The files of minilib that say that notebooks teach them, such as "functional/losses.py"."""
    texts = promote.library_texts(COURSE)
    return sorted(name for name, text in texts.items() if is_taught(text))


def made_by_exercises() -> list[str]:
    return sorted(path.relative_to(COURSE.root).as_posix() for path in COURSE.exercises.glob("*.ipynb"))


@pytest.fixture(scope="module")
def modules() -> dict[str, str]:
    return promote.promoted(COURSE)


@pytest.fixture(scope="module")
def notebooks() -> dict[str, str]:
    return {path.relative_to(COURSE.root).as_posix(): text for path, text in exercises.made(COURSE).items()}


def check(path: Path, text: str, command: str) -> None:
    """Fail with the difference between the file at `path` and what it should be."""
    now = drift.text_of(path)
    if now != text:
        shown = "".join(drift.difference(path, COURSE, now, text))
        pytest.fail(f"{shown}\nrun `make {command}`", pytrace=False)


@pytest.mark.parametrize("name", with_lessons())
def test_a_file_holds_what_its_notebooks_say(name: str, modules: dict[str, str]) -> None:
    check(COURSE.library / name, modules[name], "promote")


def test_every_file_that_notebooks_export_to_says_so(modules: dict[str, str]) -> None:
    assert sorted(modules) == with_lessons()


@pytest.mark.slow
@pytest.mark.parametrize("name", made_by_exercises())
def test_a_notebook_is_what_solutions_say(name: str, notebooks: dict[str, str]) -> None:
    assert name in notebooks, f"{name} has no solution any more; delete it"
    check(COURSE.root / name, notebooks[name], "exercises")


@pytest.mark.slow
def test_every_solution_has_its_exercises(notebooks: dict[str, str]) -> None:
    assert sorted(notebooks) == made_by_exercises()


def test_solutions_store_nothing_that_hidden_tests_show() -> None:
    found = [cell for path in COURSE.solutions.glob("*.ipynb") for cell in cells(path, read(path))]
    hidden = [cell for cell in found if cell.is_hidden_test]
    assert hidden and not [cell.where() for cell in hidden if cell.node.outputs or cell.node.execution_count]
