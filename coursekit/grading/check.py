"""`python3 -m coursekit check [NN]`: grade your own saved exercises."""

from __future__ import annotations

import argparse
import secrets
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from coursekit.course import Course, chapter_number, meant
from coursekit.errors import CourseError
from coursekit.grading import progress
from coursekit.grading.assemble import Chapter, assemble, load_for_learners
from coursekit.grading.control import Conditions
from coursekit.grading.live import Live
from coursekit.grading.model import CellRun
from coursekit.grading.results import UNSOLVED, ExerciseResult, Measure, Result, number
from coursekit.grading.sandbox import Box
from coursekit.grading.submissions import Refused, Submission, answers_of

MINE = "yours"
NO_SOLUTIONS = (
    "There are no solutions here, so these are the visible checks alone; the hidden tests run where your "
    "notebook is graded."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("chapter", nargs="?", metavar="NN", help="the chapter, such as 01 (default: all)")
    parser.add_argument("--seed", type=int, help="repeat a check; fresh each time otherwise")


def run(course: Course, args: argparse.Namespace) -> int:
    """Print a table for each chapter. 1 where an answer is wrong; what is not solved yet is not wrong."""
    numbers = chapters(course, args.chapter) if args.chapter else chapters_begun(course)
    if not numbers:
        print("nothing to check yet: write an answer in place of a stub, save, then again")
    wrong = False
    for place, chapter in enumerate(numbers):
        with _progress(f"chapter {chapter}, {place + 1} of {len(numbers)}: running your answers ..."):
            result, notebook = examine(course, chapter, args.seed)
        if place:
            print()
        print(table(result, notebook, _saved(course.own(notebook.number))))
        wrong = wrong or any(not (one.passed or one.unsolved) for one in result.exercises)
    return int(wrong)


def chapters(course: Course, asked: str) -> list[str]:
    """The chapter, or the parts of it, that `asked` means; `asked` itself where it means nothing here."""
    folder = course.solutions if course.solutions.is_dir() else course.exercises
    return meant(asked, map(chapter_number, folder.glob("*.ipynb"))) or [asked]


def passed_exercises(course: Course, chapter: str) -> set[str]:
    """The exercises ("1.4") of the learner's saved notebook that pass all their tests."""
    result, _ = examine(course, chapter, hints=False)
    return {one.exercise.number for one in result.exercises if one.passed}


def chapters_at_work(course: Course) -> list[str]:
    """The chapters of which the learner has a notebook."""
    folder = course.solutions if course.solutions.is_dir() else course.exercises
    numbers = sorted({chapter_number(path) for path in folder.glob("*.ipynb")})
    found = [number for number in numbers if course.own(number).is_file()]
    if not found:
        raise CourseError(
            f"{course.work}: holds no exercises yet; `python3 -m coursekit lab` puts them there"
        )
    return found


def chapters_begun(course: Course) -> list[str]:
    """Those in which an answer is not the stub any more."""
    return [number for number in chapters_at_work(course) if begun(course, number)]


def begun(course: Course, number: str) -> bool:
    """Whether the learner's notebook of a chapter holds anything to check."""
    chapter = load_for_learners(course, number)
    answers = _own(course.own(chapter.number), chapter).answers
    return any(not one.left_alone(answers.get(one.number)) for one in chapter.exercises)


@contextmanager
def _progress(text: str) -> Iterator[None]:
    """Show `text` in a terminal until this is done."""
    shown = sys.stderr.isatty()
    if shown:
        print(text, end="", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        if shown:
            print("\r" + " " * len(text) + "\r", end="", file=sys.stderr, flush=True)


def examine(
    course: Course, number: str, seed: int | None = None, *, hints: bool = True
) -> tuple[Result, Chapter]:
    """Run the learner's saved answers. Hidden tests where solutions are, else the visible checks."""
    chapter = load_for_learners(course, number)
    mine = _own(course.own(chapter.number), chapter)
    seed = secrets.randbelow(2**32) if seed is None else seed
    if chapter.visible:
        result = _visible(chapter, mine, Conditions(course, seed, Box.off(), workers=1))
    else:
        with Live.opened(chapter, course, seed) as live:
            found = [live.examine(one, mine.answers, mine.added, hints=hints) for one in chapter.exercises]
        result = Result(mine, tuple(found))
    progress.note(course, chapter, mine, result.exercises)
    return result, chapter


def _own(path: Path, chapter: Chapter) -> Submission:
    if not path.is_file():
        raise CourseError(
            f"{path}: does not exist; `python3 -m coursekit lab` puts a copy of the exercises there"
        )
    try:
        answers, added = answers_of(path, chapter)
    except Refused as reason:
        raise CourseError(f"{path.parent}: {reason}") from None
    return Submission("you", "you", path.name, answers, added)


def _visible(chapter: Chapter, mine: Submission, conditions: Conditions) -> Result:
    """Each visible check passes or says what it is about."""
    found = conditions.run({MINE: assemble(chapter, mine.answers, mine.added)})[MINE]

    def decide(cell: CellRun) -> str | None:
        if cell.status == "ok":
            return None
        unsolved = cell.status == "unsolved"
        said = cell.error.removeprefix("AssertionError").lstrip(": ")
        return UNSOLVED if unsolved else said or "a visible check fails"

    result = Measure(chapter, decide, {}, own=True).result(mine, found)
    if result.refused:
        raise CourseError(f"{mine.source}: could not be run; see `python3 -m coursekit doctor`")
    return result


# The table


def _saved(path: Path) -> str:
    when = datetime.fromtimestamp(path.stat().st_mtime)
    today = when.date() == datetime.now().date()
    return f"saved {when:%H:%M}" if today else f"saved {when.day} {when:%b %H:%M}"


def table(result: Result, chapter: Chapter, saved: str, width: int | None = None) -> str:
    """Points, message and hint for each exercise, and what comes next."""
    width = width or max(60, min(100, shutil.get_terminal_size((80, 24)).columns))
    label = max([26, *(len(one.exercise.name) + 2 for one in result.exercises)])
    score = max([7, *(len(_score(one, chapter.visible)) + 2 for one in result.exercises)])
    lines = [f"{chapter.name:<{label + score}}   {saved:>12}", ""]
    for one in result.exercises:
        start = f"  {one.exercise.name:<{label - 2}}{_score(one, chapter.visible):>{score}}"
        lines += _beside(start, _words(one), label + score + 3, width)
    lines += _beside(f"{_total(result, chapter):>{label + score}}", [_next(result)], label + score + 3, width)
    if chapter.visible:
        lines += ["", *textwrap.wrap(NO_SOLUTIONS, width)]
    return "\n".join(line.rstrip() for line in lines)


def _score(one: ExerciseResult, visible: bool) -> str:
    if one.unsolved:
        return "-"
    if visible:
        return "ok" if one.passed else "wrong"
    return f"{number(one.points)}/{number(one.exercise.points)}"


def _words(one: ExerciseResult) -> Iterator[str]:
    yield from one.messages
    if one.unsolved:
        return
    if one.explained:
        yield one.explained
    if one.quoted:
        yield f'Its visible check says: "{one.quoted}"'
    if one.note:
        yield one.note


def _beside(start: str, paragraphs: Iterable[str], column: int, width: int) -> list[str]:
    """`start`, and beside it the paragraphs, wrapped."""
    wrapped = [line for words in paragraphs for line in textwrap.wrap(words, max(28, width - column))]
    first, *rest = wrapped or [""]
    return [f"{start:<{column}}{first}", *(" " * column + line for line in rest)]


def _total(result: Result, chapter: Chapter) -> str:
    if not chapter.visible:
        return f"{number(result.points)}/{number(chapter.points)}"
    return f"{sum(one.passed for one in result.exercises)} of {len(result.exercises)}"


def _next(result: Result) -> str:
    left = [one.exercise.number for one in result.exercises if not one.passed]
    if not left:
        return "all done: `python3 -m coursekit build` makes your library of them"
    return f"next: {', then '.join(left[:2])}"
