"""What is made is what its sources say, file by file, and the linters and mypy have nothing to say."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from coursekit.course import find_course
from coursekit.make import exercises, promote
from coursekit.testing import test as course_test

COURSE = find_course(Path(__file__).parent)


def made_by_promote() -> list[str]:
    """The modules that say so, such as "functional.losses"."""
    found = [path for path in COURSE.library.rglob("*.py") if promote.is_promoted(path.read_text())]
    return sorted(".".join(path.relative_to(COURSE.library).with_suffix("").parts) for path in found)


def made_by_exercises() -> list[str]:
    """Both sides: `given` cells of solutions are made as well."""
    found = [*COURSE.solutions.glob("*.ipynb"), *COURSE.exercises.glob("*.ipynb")]
    return sorted(path.relative_to(COURSE.root).as_posix() for path in found)


@pytest.fixture(scope="module")
def modules() -> dict[str, str]:
    return promote.promoted(COURSE)


@pytest.fixture(scope="module")
def notebooks() -> dict[str, str]:
    return {path.relative_to(COURSE.root).as_posix(): text for path, text in exercises.made(COURSE).items()}


def check(path: Path, text: str, command: str) -> None:
    """Fail with the difference between the file at `path` and what it should be."""
    now = promote.read_text(path)
    if now != text:
        shown = "".join(promote.difference(path, COURSE, now, text))
        pytest.fail(f"{shown}\nrun `make {command}`", pytrace=False)


@pytest.mark.parametrize("name", made_by_promote())
def test_a_module_is_what_its_notebooks_say(name: str, modules: dict[str, str]) -> None:
    path = COURSE.library.joinpath(*name.split(".")).with_suffix(".py")
    assert name in modules, f"no notebook exports to {path} any more; delete it"
    check(path, modules[name], "promote")


def test_every_module_that_notebooks_export_to_is_there(modules: dict[str, str]) -> None:
    assert sorted(modules) == made_by_promote()


@pytest.mark.parametrize("name", made_by_exercises())
def test_a_notebook_is_what_solutions_say(name: str, notebooks: dict[str, str]) -> None:
    assert name in notebooks, f"{name} has no solution any more; delete it"
    check(COURSE.root / name, notebooks[name], "exercises")


def test_every_solution_has_its_exercises(notebooks: dict[str, str]) -> None:
    assert sorted(notebooks) == made_by_exercises()


@pytest.mark.parametrize("name", ["ruff", "format", pytest.param("mypy", marks=pytest.mark.slow)])
def test_a_linter_has_nothing_to_say(name: str) -> None:
    command = next(step.command for step in course_test.all_steps(COURSE, []) if step.name == name)
    done = subprocess.run(command, cwd=COURSE.root, capture_output=True, text=True)
    if done.returncode:
        pytest.fail(done.stdout + done.stderr, pytrace=False)
