"""A known mistake that shows guessed words and counts among its own numbers still loses points.

Held against more than constants alone: an answer may get the drawn numbers right, lack what the points are
for, and show "ValueError", True or a count as the reference does at another seed.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest
from graded import COURSE

from coursekit.course import chapter_number
from coursekit.grading.assemble import Chapter, Exercise, assemble, load_chapter
from coursekit.grading.compare import Judge, judged, load_judges
from coursekit.grading.control import judges_of
from coursekit.grading.live import Live
from coursekit.grading.model import CellRun, Probe
from coursekit.grading.run import private_folder

pytestmark = [pytest.mark.slow, pytest.mark.nightly]

SEED, OTHERS = 7, (11, 12, 13)
CHAPTERS = {chapter_number(path): path for path in sorted(COURSE.solutions.glob("*.ipynb"))}


@pytest.mark.parametrize("number", [number for number in CHAPTERS if number in ("01", "02a", "02b")])
def test_a_mistake_that_guesses_words_and_counts_loses_points(number: str) -> None:
    chapter = load_chapter(CHAPTERS[number])
    judges = load_judges(judges_of(chapter))
    with private_folder() as folder, closing(Live(chapter, COURSE, folder, SEED)) as live:
        runs = {one.number: references(live, chapter, one) for one in chapter.exercises}
        earned = [
            f"{one.exercise} {one.hint}"
            for one in live.misconceptions
            if passes(judges, *runs[one.exercise], live.shown(one).cells)
        ]
    assert not earned


Cells = tuple[CellRun, ...]


def references(live: Live, chapter: Chapter, exercise: Exercise) -> tuple[Cells, list[Cells]]:
    """What the reference shows at this seed, and at others."""
    made = assemble(chapter, chapter.reference())
    right, *others = (live.run(exercise, made, seed).cells for seed in (SEED, *OTHERS))
    return right, others


def passes(judges: Mapping[str, Judge], right: Cells, others: list[Cells], shown: Cells) -> bool:
    """Whether all of an exercise's tests accept what a mistake has shown, forged as well as guesses can."""
    return all(
        accepts(judges.get(want.grade_id), want, have, [cells[k] for cells in others])
        for k, (want, have) in enumerate(zip(right, shown, strict=True))
    )


def accepts(judge: Judge | None, right: CellRun, shown: CellRun, others: list[CellRun]) -> bool:
    if shown.status != "ok" or len(shown.probes) != len(right.probes):
        return False
    guesses = zip(*(cell.probes for cell in others), strict=True)
    return all(
        any(judged(judge, want, one) is None for one in forgeries(have, constants))
        for want, have, constants in zip(right.probes, shown.probes, guesses, strict=True)
    )


def forgeries(have: Probe, constants: tuple[Probe, ...]) -> list[Probe]:
    """What was shown, a constant in its place, and the words and counts of a constant among its numbers."""
    values = [one.value for one in constants]
    made = [have.value, *values, *(forged(have.value, value) for value in values)]
    return [replace(have, value=value) for value in made]


def forged(own: Any, constant: Any) -> Any:
    """`own` with the words, counts and types of `constant`."""
    if is_guessable(own) and is_guessable(constant):
        return constant
    for kind in ("list", "tuple"):
        if is_items(own, kind) and is_items(constant, kind) and len(own[kind]) == len(constant[kind]):
            return {kind: [forged(a, b) for a, b in zip(own[kind], constant[kind], strict=True)]}
    return own


def is_items(value: Any, kind: str) -> bool:
    return isinstance(value, dict) and kind in value


def is_guessable(value: Any) -> bool:
    return not isinstance(value, dict) or "int" in value or "object" in value
