"""Answers that get around what an exercise asks for earn no point that is for it, in the grader's box."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

import pytest
import tricks
from graded import COURSE

from coursekit.grading.assemble import Chapter, assemble, load_chapter
from coursekit.grading.compare import against, load_judges
from coursekit.grading.control import judges_of
from coursekit.grading.flow import info
from coursekit.grading.run import run_notebooks
from coursekit.grading.sandbox import Box

pytestmark = pytest.mark.slow

EACH_TIME = {  # the others are tried at night
    "what is counted is mended",
    "decoys of the right number",
    "forward beside the hook",
    "the peak is reset",
    "balances are remembered",
    "zeros are written",
    "4.2 by the tool, imported again",
    "6.9, popped and imported",
}


@functools.cache
def parts() -> dict[str, Chapter]:
    """The part of the course that an exercise is in."""
    chapters = map(load_chapter, sorted(COURSE.solutions.glob("*.ipynb")))
    return {exercise.number: chapter for chapter in chapters for exercise in chapter.exercises}


@functools.cache
def points(part: str, names: tuple[str, ...]) -> dict[str, float]:
    """What each of some tricks earns: one notebook holds a trick for each exercise."""
    chapter = next(one for one in parts().values() if one.number == part)
    bundles: list[dict[str, str]] = []
    for name in names:
        number = tricks.TRICKS[name][0]
        place = next((one for one in bundles if number not in one), None)
        if place is None:
            bundles.append(place := {})
        place[number] = name
    numbers = {tricks.TRICKS[name][0] for name in names}
    made = {"reference": assemble(chapter, chapter.reference())}
    for k, bundle in enumerate(bundles):
        answers = {
            number: f"# exercise: {number}\n{tricks.TRICKS[name][2]}" for number, name in bundle.items()
        }
        made[f"tricks-{k}"] = assemble(chapter, answers)
    for name, notebook in made.items():
        there = numbers if name == "reference" else bundles[int(name.partition("-")[2])]
        notebook.cells = [
            cell
            for cell in notebook.cells
            if info(cell)["role"] != "hidden" or info(cell)["exercise"] in there
        ]
    runs = run_notebooks(made, course=COURSE, seed=7, box=Box.required(), workers=1, timeout=20)
    assert {cell.status for cell in runs["reference"].cells} == {"ok"}
    decide = against(runs["reference"], load_judges(judges_of(chapter)))
    worth = {test.grade_id: test.points for one in chapter.exercises for test in one.tests}
    earned: dict[str, float] = {}
    for k, bundle in enumerate(bundles):
        for cell in runs[f"tricks-{k}"].cells:
            name = bundle[cell.exercise]
            earned[name] = earned.get(name, 0.0) + (worth[cell.grade_id] if decide(cell) is None else 0.0)
    return earned


def part_of(name: str) -> str:
    return parts()[tricks.TRICKS[name][0]].number


def together(names: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    """Tricks by the part whose exercises they are for."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(part_of(name), []).append(name)
    return {part: tuple(some) for part, some in found.items()}


@pytest.mark.parametrize("name", sorted(EACH_TIME))
def test_a_trick_earns_nothing_that_is_for_the_exercise(name: str) -> None:
    by_day = together(dict.fromkeys(sorted(EACH_TIME)))
    assert points(part_of(name), by_day[part_of(name)])[name] <= tricks.TRICKS[name][1]


@pytest.mark.nightly
@pytest.mark.parametrize("name", [name for name in tricks.TRICKS if name not in EACH_TIME])
def test_no_other_trick_does_either(name: str) -> None:
    at_night = together({name: 0 for name in tricks.TRICKS if name not in EACH_TIME})
    assert points(part_of(name), at_night[part_of(name)])[name] <= tricks.TRICKS[name][1]


def test_each_class_of_tricks_has_ten_of_them() -> None:
    classes = {
        "the library is woken": len(tricks.BY_THE_LIBRARY) * len(tricks.SEARCHES),
        "the tool is asked": len(tricks.PROFILED) * len(tricks.TOOLS),
        "the peak is reset": len(tricks.RESETS),
        "counters": sum(
            bool(re.match(r"6\.2|7\.(7|17|19|20)|5\.11", one[0])) for one in tricks.TRICKS.values()
        ),
    }
    assert {name for name, count in classes.items() if count < 10} == set()
