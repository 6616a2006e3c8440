"""No point rests on a value that one can guess: what the reference shows at one seed, held against others."""

from __future__ import annotations

import ast

import pytest
from graded import COURSE

from coursekit.grading.assemble import chapter_number, load_chapter
from coursekit.grading.guessable import SEEDS, guesses
from coursekit.grading.live import Live

pytestmark = [pytest.mark.slow, pytest.mark.nightly]

CHAPTERS = {chapter_number(path): path for path in sorted(COURSE.solutions.glob("*.ipynb"))}


@pytest.mark.parametrize("number", CHAPTERS)
def test_constants_earn_no_point(number: str) -> None:
    found = guesses(load_chapter(CHAPTERS[number]), COURSE)
    assert not [f"{one.exercise} {one.grade_id}" for one in found if one.given_away]


def idle(stub: str, first: bool) -> str:
    """The stub, each of whose functions gives back None, or the `first` of its arguments."""
    tree = ast.parse(stub)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name != "__init__":
            names = [one.arg for one in node.args.args if one.arg != "self"]
            node.body = [ast.Return(ast.Name(names[0], ast.Load()) if first and names else None)]
    comments = [line for line in stub.splitlines() if line.startswith("#")]
    return "\n".join([*comments, ast.unparse(ast.fix_missing_locations(tree))])


@pytest.mark.parametrize("number", CHAPTERS)
def test_who_does_nothing_earns_nothing_value_by_value(number: str) -> None:
    chapter = load_chapter(CHAPTERS[number])
    some = [
        one for one in chapter.exercises if not one.cuda and any(test.by_probe for test in one.tests)
    ]  # fmt: skip
    with Live.opened(chapter, COURSE, SEEDS[0]) as live:
        for exercise in some:
            if "def " in exercise.stub and "Unsolved" in exercise.stub:  # others begin from an empty cell
                for first in (False, True):
                    answer = {exercise.number: idle(exercise.stub, first)}
                    earned = live.examine(exercise, answer, [], hints=False).points
                    assert earned == 0, f"{exercise.number}: {earned} points for {answer}"
