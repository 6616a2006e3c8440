"""No point rests on a value that one can guess: what the reference shows at one seed, held against others."""

from __future__ import annotations

import pytest
from graded import COURSE

from coursekit.grading.assemble import chapter_number, load_chapter
from coursekit.grading.guessable import guesses

pytestmark = [pytest.mark.slow, pytest.mark.nightly]

CHAPTERS = {chapter_number(path): path for path in sorted(COURSE.solutions.glob("*.ipynb"))}


@pytest.mark.parametrize("number", CHAPTERS)
def test_constants_earn_no_point(number: str) -> None:
    found = guesses(load_chapter(CHAPTERS[number]), COURSE)
    assert not [f"{one.exercise} {one.grade_id}" for one in found if one.given_away]
