"""A wrong answer that nothing explains becomes a known mistake, and earns its hint from then on."""

from __future__ import annotations

from pathlib import Path

import pytest
import tiny_course as tiny

from coursekit.course import Course
from coursekit.errors import CourseError
from coursekit.grading.assemble import load_chapter
from coursekit.grading.learn import learn
from coursekit.grading.live import Live

HINT = 'You add "two". Twice x is x + x.'
TWO_MORE = "# exercise: 1.1\ndef double(x):\n    if x is None:\n        return x\n    return x + 2 * x**2\n"


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    return tiny.make_tiny_course(tmp_path_factory.mktemp("learn"))


def handed_in(tmp_path: Path, answer: str) -> Path:
    """Where a notebook with this answer is; with the stub, where it is empty."""
    return tiny.submit(tmp_path, "anna", tiny.submission({"1.1": answer} if answer else {}))


def hint(course: Course, answer: str) -> str | None:
    with Live.opened(load_chapter(course.solutions / f"{tiny.NAME}.ipynb"), course, 3) as live:
        return live.examine(live.exercises["1.1"], {"1.1": answer}, []).hint


def test_an_answer_that_nothing_explains_becomes_a_known_mistake(course: Course, tmp_path: Path) -> None:
    path = handed_in(tmp_path, TWO_MORE)
    assert hint(course, TWO_MORE) is None
    target = learn(course, "1.1", path, HINT)
    assert target == course.solutions / "misconceptions" / f"{tiny.NAME}.py"
    assert hint(course, TWO_MORE.replace("x + 2 * x**2", "x * (1 + 2 * x)")) == HINT
    with pytest.raises(CourseError, match="earns a hint already"):
        learn(course, "1.1", path, "another")


@pytest.mark.parametrize(
    "answer, why",
    [
        (tiny.ALTERNATIVES["1.1"], "earns all points"),
        ("", "has no answer"),
        ("# exercise: 1.1\ndef double(x):\n    return 7 * x\n# %% another cell\n", "could not be read back"),
    ],
)
def test_what_is_no_such_mistake_leaves_the_file_as_it_was(
    course: Course, tmp_path: Path, answer: str, why: str
) -> None:
    file = course.solutions / "misconceptions" / f"{tiny.NAME}.py"
    before = file.read_text(encoding="utf-8")
    with pytest.raises(CourseError, match=why):
        learn(course, "1.1", handed_in(tmp_path, answer), "a hint")
    assert file.read_text(encoding="utf-8") == before


def test_an_exercise_that_is_nowhere_is_one_line(course: Course, tmp_path: Path) -> None:
    with pytest.raises(CourseError, match=r"has no exercise 9\.1"):
        learn(course, "9.1", handed_in(tmp_path, TWO_MORE), "a hint")
