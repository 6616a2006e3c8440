"""Runs the reference, the empty notebook and the misconceptions: a broken set-up must not fail a class."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from nbformat import NotebookNode

from coursekit.box.probe import DRAWN
from coursekit.course import Course
from coursekit.errors import CourseError
from coursekit.grading.assemble import Chapter, assemble, testing
from coursekit.grading.compare import against, load_judges
from coursekit.grading.flow import DEFAULT_TIMEOUT, info
from coursekit.grading.hints import bundles, known
from coursekit.grading.misconceptions import Misconception, load_misconceptions
from coursekit.grading.model import CellRun, NotebookRun
from coursekit.grading.pair import Inputs
from coursekit.grading.plain import plain
from coursekit.grading.results import Measure
from coursekit.grading.run import run_notebooks
from coursekit.grading.sandbox import Box

REFERENCE, AGAIN, EMPTY = "reference", "reference-again", "empty"
WORTH_A_WORKER = 6  # notebooks
AT_A_TIME = 400  # notebooks
SLOWER = 3  # how many times the reference's time a notebook may take, and a minute
STEP = 10  # seconds to which a budget is rounded up, so that it seldom differs from run to run


@dataclass(frozen=True)
class Conditions:
    """How notebooks are run."""

    course: Course
    seed: int
    box: Box
    workers: int
    timeout: float | None = None  # seconds for a cell
    budget: float | None = None  # seconds for a notebook
    public: bool = True  # the hidden tests are, so that everything may be told

    def run(
        self,
        made: Mapping[str, NotebookNode],
        expected: Path | None = None,
        on_done: Callable[[NotebookRun], None] | None = None,
    ) -> dict[str, NotebookRun]:
        """Run the notebooks `made`, by name. Starting a second worker costs as much as some notebooks.

        Pytest holds all that it is given in memory, so that it gets a part at a time.
        """
        runs: dict[str, NotebookRun] = {}
        names = list(made)
        for start in range(0, len(names), AT_A_TIME):
            part = {name: made[name] for name in names[start : start + AT_A_TIME]}
            runs |= run_notebooks(
                part,
                course=self.course,
                seed=self.seed,
                box=self.box,
                workers=max(1, min(self.workers, len(part) // WORTH_A_WORKER)),
                timeout=self.timeout,
                budget=self.budget,
                expected=expected,
                on_done=on_done,
            )
        return runs


def misconceptions_of(chapter: Chapter) -> list[Misconception]:
    return load_misconceptions(_beside(chapter, "misconceptions"), chapter)


def judges_of(chapter: Chapter) -> Path:
    return _beside(chapter, "judges")


def _beside(chapter: Chapter, folder: str) -> Path:
    return chapter.path.parent / folder / f"{chapter.path.stem}.py"


def mistaken(chapter: Chapter, bundle: Mapping[str, Misconception]) -> NotebookNode:
    """The reference's notebook with the wrong answers of `bundle` and their hidden tests alone."""
    answers = chapter.reference() | {key: one.source for key, one in bundle.items()}
    return trusted(testing(assemble(chapter, answers), bundle))


def trusted(notebook: NotebookNode) -> NotebookNode:
    """The same, said to hold no stranger's answer: nothing in it puts by what a later test wants."""
    notebook.metadata["coursekit"]["trusted"] = True
    return notebook


def control(
    chapter: Chapter,
    conditions: Conditions,
    mistakes: Iterable[Misconception] | None = None,
    ran: Callable[[Mapping[str, NotebookNode]], dict[str, NotebookRun]] | None = None,
) -> tuple[NotebookRun, Measure]:
    """The reference's run and what answers are measured by. Raises CourseError where it is no measure.

    `mistakes`: those to be known by what they show; None is all of the chapter's. `ran` runs the notebooks in
    place of `conditions`: it may show how far it is, and know the runs already.
    """
    made = bundles(misconceptions_of(chapter) if mistakes is None else mistakes)
    reference = trusted(assemble(chapter, chapter.reference()))
    runs = (ran or conditions.run)(
        {REFERENCE: reference, AGAIN: noted(reference), EMPTY: trusted(assemble(chapter, {}))}
        | {f"mistakes-{number}": mistaken(chapter, bundle) for number, bundle in enumerate(made, 1)}
    )
    again, inputs = apart(runs[AGAIN])
    measure = measured(chapter, runs[REFERENCE], own=conditions.public)
    _check_repeats(measure, again)
    _check_empty(measure, runs[EMPTY])
    shown = known(made, [runs[f"mistakes-{number}"] for number in range(1, len(made) + 1)])
    return runs[REFERENCE], replace(measure, known=shown, inputs=inputs)


NOTING = "from coursekit.box.probe import noting as _noting, shown_of as _shown_of\nrng = _noting(rng)\n"


def noted(reference: NotebookNode) -> NotebookNode:
    """The reference's notebook, each hidden test of which also shows what it drew. No student's code."""
    made = deepcopy(reference)
    for cell in made.cells:
        if info(cell)["role"] == "hidden":
            cell.source = f"{NOTING}{cell.source}\n_shown_of(rng, globals())"
    return made


def apart(run: NotebookRun) -> tuple[NotebookRun, dict[str, Inputs]]:
    """Of a `noted` reference: the run as if nothing had been noted, and what each test drew, by grade_id."""
    cells: list[CellRun] = []
    found: dict[str, Inputs] = {}
    for cell in run.cells:
        if cell.probes and cell.probes[-1].name == DRAWN:
            pairs = plain(cell.probes[-1].value)
            found[cell.grade_id] = [(str(name), np.asarray(array, np.float64)) for name, array in pairs]
            cell = replace(cell, probes=cell.probes[:-1])
        cells.append(cell)
    return replace(run, cells=tuple(cells)), found


def budget_of(chapter: Chapter, reference: NotebookRun, timeout: float | None) -> float:
    """The seconds that a notebook may take in all. A minute, or two cells that take as long as they may."""
    cell = timeout or chapter.notebook.metadata.get("coursekit", {}).get("timeout") or DEFAULT_TIMEOUT
    seconds = SLOWER * sum(one.seconds for one in reference.cells) + max(60.0, 2 * float(cell))
    return float(STEP * math.ceil(seconds / STEP))


def measured(chapter: Chapter, run: NotebookRun, *, own: bool = False) -> Measure:
    """What answers are measured by, without misconceptions. `own`: who is told may know everything."""
    cells, judges = {cell.grade_id: cell for cell in run.cells}, load_judges(judges_of(chapter))
    for test in (test for exercise in chapter.exercises for test in exercise.tests):
        cell = cells.get(test.grade_id) or CellRun(test.grade_id, test.exercise, "missing")
        if cell.status != "ok" or not cell.probes:
            raise CourseError(
                f"{chapter.path}: the reference does not pass {test.grade_id} ({_why(cell)}), so nothing is "
                "graded; mend the solution, or see `python3 -m coursekit doctor`"
            )
        if test.by_probe and test.grade_id in judges:
            raise CourseError(
                f'{chapter.path}: {test.grade_id} has a judge and "by_probe" in its metadata, but points '
                "that go value by value are counted without a judge, so nothing is graded; drop one of them"
            )
    return Measure(chapter, against(run, judges, own=own), cells, judges=judges, own=own)


def _why(cell: CellRun) -> str:
    if cell.status == "ok":
        return "it shows no value: call probe"
    return f"{cell.status}: {cell.error}" if cell.error else cell.status


def _check_repeats(measure: Measure, again: NotebookRun) -> None:
    for test, message in _decided(measure, again.cells):
        if message:
            raise CourseError(
                f"{measure.chapter.path}: the reference fails {test.grade_id} when it runs twice at one seed "
                f"({message}), so nothing is graded; draw from `rng`, or write a judge"
            )


def _check_empty(measure: Measure, empty: NotebookRun) -> None:
    points = {test.grade_id: test.points for one in measure.chapter.exercises for test in one.tests}
    for test, message in _decided(measure, empty.cells):
        if message is None and points.get(test.grade_id):
            raise CourseError(
                f"{measure.chapter.path}: the empty notebook passes {test.grade_id}, so nothing is graded; "
                "probe a value that the answer must work out"
            )


def unnoticed(measure: Measure) -> list[Misconception]:
    """Known mistakes that pass every hidden test at this seed: the tests are too weak for them."""
    return [
        one.misconception
        for one in measure.known
        if not any(message for _, message in _decided(measure, one.cells.values()))
    ]


def _decided(measure: Measure, cells: Iterable[CellRun]) -> list[tuple[CellRun, str | None]]:
    return [(cell, measure.decide(cell)) for cell in cells]
