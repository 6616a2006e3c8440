"""`python3 -m coursekit.grading.guessable NN ...`: what an answer could show without working it out.

An answer runs in one process with its hidden tests and can, in the end, show what it likes in their place. So
no point may rest on values that one can guess: True, "ValueError", a size, a dtype. Which ones these are is
found by trying: what the reference shows at one seed is held against the reference at the others.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, zip_longest
from typing import Any

from coursekit import light  # noqa: F401 (before anything else imports nbformat)
from coursekit.course import Course, find_course
from coursekit.errors import CourseError
from coursekit.grading.assemble import Chapter, assemble, find_notebook, load_chapter
from coursekit.grading.compare import Judge, judged, load_judges
from coursekit.grading.control import judges_of
from coursekit.grading.live import Live
from coursekit.grading.model import CellRun, Probe
from coursekit.grading.pair import AS_IT_WAS

SEEDS = (11, 12, 13, 14)
OFTEN = 0.5  # of the other seeds: a constant that passes so often earns points by luck
FEW = 4  # whole numbers: fewer that change from seed to seed are a size or a count, which the inputs tell


@dataclass(frozen=True)
class Guesses:
    """One hidden test, and for each of its probes how often the best constant passes, from 0 to 1."""

    exercise: str
    grade_id: str
    points: float
    by_probe: bool
    chances: Mapping[str, float]

    @property
    def constants(self) -> list[str]:
        """The probes that a constant passes at each seed."""
        return [name for name, chance in self.chances.items() if chance == 1]

    @property
    def given_away(self) -> bool:
        """Whether points follow from constants alone."""
        counts = {name: chance >= OFTEN for name, chance in self.chances.items()}
        earning = [sure for name, sure in counts.items() if not AS_IT_WAS.search(name)]
        return bool(self.points) and (any(earning) if self.by_probe else all(counts.values()))


def guesses(chapter: Chapter, course: Course, seeds: Sequence[int] = SEEDS) -> list[Guesses]:
    """Each hidden test of `chapter`, in order. Runs the reference at each of the `seeds`, without a box.

    Answers in CUDA C are left out: no Python of theirs runs beside the test, so they show nothing themselves.
    """
    judges = load_judges(judges_of(chapter))
    with Live.opened(chapter, course, seeds[0]) as live:
        reference = assemble(chapter, chapter.reference())
        found = []
        for exercise in (one for one in chapter.exercises if not one.cuda):
            runs = [live.run(exercise, reference, seed).cells for seed in seeds]
            for number, test in enumerate(exercise.tests):
                cells = [cells[number] for cells in runs]
                chances = _chances(cells, judges.get(test.grade_id))
                found.append(Guesses(exercise.number, test.grade_id, test.points, test.by_probe, chances))
    return found


def _chances(cells: Sequence[CellRun], judge: Judge | None) -> dict[str, float]:
    """For each probe, how many of the other seeds accept the best of the values that it has shown."""
    if any(cell.status != "ok" for cell in cells):
        one = next(cell for cell in cells if cell.status != "ok")
        raise CourseError(
            f"{one.grade_id}: the reference does not pass at every seed: {one.error or one.status}"
        )
    shown = [cell.probes for cell in cells]
    names = [probe.name for probe in shown[0]]  # some hold drawn numbers: they go by their place
    return {
        name: 1.0
        if _thin([probes[k].value for probes in shown if k < len(probes)])
        else max(_share(i, k, shown, judge) for i in range(len(shown)))
        for k, name in enumerate(names)
    }


def _thin(values: Sequence[Any]) -> bool:
    """Whether two of the values differ in a few whole numbers or words at most."""
    leaves = [list(_leaves(value)) for value in values]
    changed = [
        [pair for pair in zip_longest(one, other) if pair[0] != pair[1]]
        for one, other in combinations(leaves, 2)
    ]
    rich = [[leaf for pair in pairs for leaf in pair if _long(leaf)] for pairs in changed]
    return any(len(pairs) < FEW and not long for pairs, long in zip(changed, rich, strict=True))


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _leaves(item)
    else:
        yield value


def _long(leaf: Any) -> bool:
    """Whether it is a number with digits after the point, or data as one text."""
    return isinstance(leaf, str) and len(leaf) > 12


def _share(i: int, k: int, shown: Sequence[Sequence[Probe]], judge: Judge | None) -> float:
    """The part of the other seeds that accepts what seed number `i` has shown in place `k`."""
    others = [probes for j, probes in enumerate(shown) if j != i]
    both = [(probes[k], shown[i][k]) for probes in others if k < min(len(probes), len(shown[i]))]
    return sum(judged(judge, want, replace(have, name=want.name)) is None for want, have in both) / len(
        others
    )


def report(found: Sequence[Guesses]) -> str:
    """A line for each hidden test of which a constant passes a part."""
    lines = []
    for one in found:
        if one.constants or one.given_away:
            mark = "POINTS FOLLOW" if one.given_away else f"{len(one.constants)} of {len(one.chances)}"
            lines.append(f"{one.exercise:<5} {one.grade_id:<24} {mark:<14} {'; '.join(one.constants)}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python3 -m coursekit.grading.guessable", description=__doc__)
    parser.add_argument("chapters", nargs="+", metavar="NN", help="such as 01")
    course, given_away = find_course(), False
    for number in parser.parse_args().chapters:
        found = guesses(load_chapter(find_notebook(course.solutions, number)), course)
        given_away |= any(one.given_away for one in found)
        print(report(found))
    return int(given_away)


if __name__ == "__main__":
    sys.exit(main())
