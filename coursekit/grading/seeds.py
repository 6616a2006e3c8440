"""`python3 -m coursekit.grading.seeds NN ... --seeds 50`: do the hidden tests hold at every seed?

A class is graded at one seed, and `grade` tries the tests at that one before it begins. Here they are tried
at many, without a box: the reference must pass beside itself, the empty answer must pass nowhere, and each
known mistake must be noticed. A line for each that is not so; the exit code is 1 where there is one.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from coursekit import light  # noqa: F401 (before anything else imports nbformat)
from coursekit.course import Course, find_course
from coursekit.grading.assemble import Chapter, assemble, find_notebook, load_chapter
from coursekit.grading.compare import Judge, load_judges, verdict
from coursekit.grading.control import judges_of, mistaken
from coursekit.grading.live import Live
from coursekit.grading.model import CellRun, NotebookRun

FIRST = 1000  # seed


def failures(live: Live, seeds: Sequence[int], mistakes: bool = True) -> Iterator[tuple[str, str, int]]:
    """What does not hold: the exercise or hidden test, in words what, and at which seed."""
    chapter, judges = live.chapter, load_judges(judges_of(live.chapter))
    reference, empty = assemble(chapter, chapter.reference()), assemble(chapter, {})
    for exercise in chapter.exercises:
        known = [one for one in live.misconceptions if mistakes and one.exercise == exercise.number]
        wrong = {f'a known mistake, "{one.hint}"': mistaken(chapter, {exercise.number: one}) for one in known}
        for seed in seeds:
            right = live.run(exercise, reference, seed).cells
            again = _verdicts(right, live.run(exercise, reference, seed), judges)
            for test, cell, why in zip(exercise.tests, right, again, strict=True):
                why = (cell.error or cell.status) if cell.status != "ok" else why
                if why:
                    yield test.grade_id, f"the reference does not pass beside itself: {why}", seed
            passed = _verdicts(right, live.run(exercise, empty, seed), judges)
            for test, why in zip(exercise.tests, passed, strict=True):
                if test.points and why is None:
                    yield test.grade_id, "the empty answer passes", seed
            for what, notebook in wrong.items():
                if not any(_verdicts(right, live.run(exercise, notebook, seed), judges)):
                    yield exercise.number, f"{what}, earns full points", seed


def _verdicts(right: Sequence[CellRun], shown: NotebookRun, judges: Mapping[str, Judge]) -> list[str | None]:
    """What is wrong with each hidden test, None where nothing is."""
    pairs = zip(right, shown.cells, strict=True)
    return [verdict(want, have, judges.get(want.grade_id)) for want, have in pairs]


def report(chapter: Chapter, course: Course, seeds: Sequence[int], mistakes: bool = True) -> list[str]:
    """A line for each kind of failure, with its seeds. Without `mistakes`, known ones are not tried."""
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    with Live.opened(chapter, course, seeds[0]) as live:
        for place, what, seed in failures(live, seeds, mistakes):
            found[place, what].append(seed)
    return [
        f"{chapter.number} {place}: {what} ({len(at)} of {len(seeds)} seeds: {', '.join(map(str, at[:5]))})"
        for (place, what), at in found.items()
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python3 -m coursekit.grading.seeds", description=__doc__)
    parser.add_argument("chapters", nargs="+", metavar="NN", help="such as 01")
    parser.add_argument("--seeds", type=int, default=20, help="how many (default: 20)")
    parser.add_argument("--first", type=int, default=FIRST, help=f"the first of them (default: {FIRST})")
    parser.add_argument(
        "--without-mistakes", action="store_true", help="known mistakes are not tried: faster"
    )
    args = parser.parse_args()
    course, anything = find_course(), False
    for number in args.chapters:
        started = time.monotonic()
        chapter = load_chapter(find_notebook(course.solutions, number))
        at = range(args.first, args.first + args.seeds)
        lines = report(chapter, course, at, not args.without_mistakes)
        anything |= bool(lines)
        summary = f"{number}: {len(lines)} findings at {args.seeds} seeds, {time.monotonic() - started:.0f} s"
        print("\n".join([*lines, summary]), flush=True)
    return int(anything)


if __name__ == "__main__":
    sys.exit(main())
