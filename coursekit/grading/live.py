"""`python3 -m coursekit.grading.live NN`: what `check("1.2")` in a notebook asks, one line of JSON each way.

The verdict is that of `grade`, by the same steps: assemble, run, compare, hints. What takes seconds is done
before anybody asks: a kernel is set up, the reference and known mistakes have run. It ends with its input, or
when nobody has asked for a while: `check` starts another.
"""

from __future__ import annotations

import json
import os
import queue
import re
import secrets
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from markupsafe import Markup
from nbformat import NotebookNode

from coursekit import light  # noqa: F401 (before anything else imports nbformat)
from coursekit.course import Course, find_course
from coursekit.errors import CourseError
from coursekit.grading import progress
from coursekit.grading.assemble import Chapter, Exercise, adopted, assemble, load_for_learners
from coursekit.grading.beside import side_by_side
from coursekit.grading.client import Kernel
from coursekit.grading.control import apart, measured, misconceptions_of, mistaken, noted
from coursekit.grading.flow import Flow, hidden_tests, info
from coursekit.grading.graphs import picture
from coursekit.grading.hints import Known, known
from coursekit.grading.misconceptions import Misconception
from coursekit.grading.model import CellRun, NotebookRun
from coursekit.grading.page import words
from coursekit.grading.pair import Inputs
from coursekit.grading.results import PLACES, ExerciseResult, Measure, number
from coursekit.grading.run import private_folder
from coursekit.grading.sandbox import Box, make_library
from coursekit.grading.submissions import Submission
from coursekit.notebooks import CUDA_STUB

NO_SOLUTIONS = (
    "No hidden test was run, because there are no solutions here: go by what this cell tests, or check in "
    "a clone of the course; whoever grades you has all tests."
)

IDLE_SECONDS = 600  # it holds 100 to 200 MB

UNSOLVED = {"unsolved": True, "goes_on": False}

_EMPTY = re.compile(rf"\{{\s*{re.escape(CUDA_STUB)}\s*\}}")  # the body of a kernel


class Live:
    """One chapter, ready to check answers to its exercises. `folder` is private: sockets, libraries."""

    def __init__(self, chapter: Chapter, course: Course, folder: Path, seed: int) -> None:
        self.chapter = chapter
        self.course = course
        self.exercises = {exercise.number: exercise for exercise in chapter.exercises}
        self.launch = Box.off().prepare(folder, hide=[course.root])
        self.libraries = {
            room: make_library(folder / "library" / room, course.library, sorted(modules))
            for room, modules in chapter.libraries.items()
        }
        self.folder = folder
        self.seed = seed
        self.measures: dict[str, Measure] = {}
        self.misconceptions = [] if chapter.visible else misconceptions_of(chapter)
        self.mistakes: dict[Misconception, NotebookRun] = {}
        self.drawn: dict[str, Mapping[str, Inputs]] = {}

    @classmethod
    @contextmanager
    def opened(cls, chapter: Chapter, course: Course, seed: int) -> Iterator[Live]:
        """One with a folder of its own; both are gone afterwards."""
        with private_folder() as folder, closing(cls(chapter, course, folder, seed)) as live:
            yield live

    @cached_property
    def flows(self) -> dict[str, Flow]:
        """A flow for each room that has exercises here; its kernel stays from answer to answer."""
        empty = assemble(self.chapter, {})
        return {
            room: Flow(empty, partial(self._start, room), seed=self.seed, room=room, trusted=True)
            for room in sorted({exercise.room for exercise in self.chapter.exercises})
        }

    def _start(self, room: str) -> Kernel:
        return Kernel(self.launch, self.libraries[room], self.folder / "k")

    def close(self) -> None:
        for flow in self.flows.values():
            flow.close()

    def prepare(self) -> Iterator[None]:
        """Do in pieces what would make the first answers wait."""
        if not self.chapter.visible:
            for exercise in self.chapter.exercises:
                self.measure(exercise)
                yield
                self.inputs(exercise)
                yield
            for one in self.misconceptions:
                self.shown(one)
                yield

    def answer(self, asked: str, answers: Mapping[str, str], added: list[str]) -> dict[str, Any]:
        """What `check` is told."""
        exercise = self.exercises.get(asked)
        if exercise is None:
            return {"text": f"There is no exercise {asked} in this chapter: {', '.join(self.exercises)}."}
        answers, added = adopted(self.chapter, answers, self.own(added))
        if exercise.left_alone(answers.get(asked)):
            return UNSOLVED
        if self.chapter.visible:
            return {"text": NO_SOLUTIONS}
        result = self.examine(exercise, answers, added)
        if self.course.own(self.chapter.number).is_file():
            mine = Submission("you", "you", "", dict(answers), ())
            progress.note(self.course, self.chapter, mine, [result])
        if result.unsolved:
            return UNSOLVED
        told = {"text": in_words(result), "goes_on": result.passed}
        return told if result.passed else {**told, "html": in_html(result)}

    def examine(
        self, exercise: Exercise, answers: Mapping[str, str], added: Sequence[str], *, hints: bool = True
    ) -> ExerciseResult:
        """The verdict on one answer; where it is wrong, `hints` runs the known mistakes too."""
        measure = self.measure(exercise)
        own = self.own(added)
        mine = Submission("you", "you", self.chapter.path.name, dict(answers), tuple(own))
        run = self.run(exercise, assemble(self.chapter, answers, own), measure=measure)
        result = measure.result(mine, run).exercises[0]
        if result.passed or result.unsolved or result.hint or not hints:
            return result
        more = replace(measure, known=self.known(exercise), inputs=self.inputs(exercise))
        return more.result(mine, run).exercises[0]

    def inputs(self, exercise: Exercise) -> Mapping[str, Inputs]:
        """What the tests of an exercise drew."""
        if exercise.number not in self.drawn:
            notebook = noted(assemble(self.chapter, self.chapter.reference()))
            _, self.drawn[exercise.number] = apart(self.run(exercise, notebook))
        return self.drawn[exercise.number]

    def own(self, added: Sequence[str]) -> list[str]:
        """The reader's among the cells that are no answers."""
        cells = {cell.source.strip() for cell in self.chapter.notebook.cells}
        return [source for source in added if _without_call(source) not in cells]

    def measure(self, exercise: Exercise) -> Measure:
        if exercise.number not in self.measures:
            run = self.run(exercise, assemble(self.chapter, self.chapter.reference()))
            self.measures[exercise.number] = measured(
                replace(self.chapter, exercises=(exercise,)), run, own=True
            )
        return self.measures[exercise.number]

    def known(self, exercise: Exercise) -> list[Known]:
        """What the known mistakes of an exercise show."""
        made = [one for one in self.misconceptions if one.exercise == exercise.number]
        return known([{one.exercise: one} for one in made], [self.shown(one) for one in made])

    def shown(self, one: Misconception) -> NotebookRun:
        """What one known mistake shows."""
        if one not in self.mistakes:
            notebook = mistaken(self.chapter, {one.exercise: one})
            self.mistakes[one] = self.run(self.exercises[one.exercise], notebook)
        return self.mistakes[one]

    def run(
        self,
        exercise: Exercise,
        notebook: NotebookNode,
        seed: int | None = None,
        *,
        measure: Measure | None = None,
    ) -> NotebookRun:
        """Run the hidden tests of one exercise, at `seed` where that is not the one of all.

        Where `measure` finds one wrong, the visible check that fails is quoted.
        """
        flow = self.flows[exercise.room]
        flow.take_up(notebook)
        flow.seed = self.seed if seed is None else seed
        tests = [cell for cell in hidden_tests(notebook) if info(cell)["exercise"] == exercise.number]
        return NotebookRun("", tuple(self._quoted(flow, cell, flow.run(cell), measure) for cell in tests))

    def _quoted(self, flow: Flow, cell: NotebookNode, run: CellRun, measure: Measure | None) -> CellRun:
        wrong = measure and run.status in ("ok", "error") and measure.decide(run)
        return replace(run, quoted=flow.quote(cell)) if wrong else run


def _without_call(source: str) -> str:
    """A visible check as it stands in solutions/."""
    return re.sub(r'^check\("[^"]*"\)\n', "", source).strip()


def in_words(result: ExerciseResult) -> str:
    """The lines below an answer."""
    points = f"{number(result.points)} of {number(result.exercise.points)} points"
    part = "is right in part" if result.points else "is not right yet"
    verdict = "passed" if result.passed else part
    said = "" if result.passed else result.explained
    if said and not said.startswith(PLACES):
        said = f"Hint: {said}"
    quoted = f"This cell says: {result.quoted}" if result.quoted else ""
    lines = [f"{result.exercise.number} {verdict}: {points}", said, quoted, *result.messages, result.note]
    return "\n".join(filter(None, lines))


def in_html(result: ExerciseResult) -> str:
    """The same for a notebook: three lines, and the rest folded, with the smallest value that is wrong."""
    first, *more = in_words(result).splitlines()
    lines = [Markup("<b>{}</b>").format(first), *(words(line) for line in more)]
    folded = [Markup("<div>{}</div>").format(line) for line in lines[3:]]
    if result.example is not None:
        folded.append(side_by_side(result.example))
    if result.graph is not None:
        folded.append(picture(result.graph))
    shown = Markup("").join(Markup("<div>{}</div>").format(line) for line in lines[:3])
    if folded:
        label = (
            "expected and got, side by side" if result.example else "your graph" if result.graph else "more"
        )
        shown += Markup("<details><summary>{}</summary>{}</details>").format(label, Markup("").join(folded))
    return str(shown)


def here() -> Course:
    """The course that the notebook lies in, or that this file lies in."""
    try:
        return find_course()
    except CourseError:
        return find_course(Path(__file__).parent)


Requests = queue.SimpleQueue[str]
Answer = Callable[[str, Mapping[str, str], list[str]], dict[str, Any]]


def main() -> None:
    requests: Requests = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()
    serve(sys.argv[1], requests, lambda reply: print(reply, flush=True))


def _listen(requests: Requests) -> None:
    for line in sys.stdin:
        requests.put(line)
    requests.put("")


def serve(asked: str, requests: Requests, send: Callable[[str], None]) -> None:
    """Answer requests on one chapter until an empty line comes, or none for long; meanwhile, prepare."""
    try:
        course = here()
        chapter = load_for_learners(course, asked)
    except CourseError:
        return _serve(requests, send, _alone, iter(()))
    seed = secrets.randbelow(2**32)
    with Live.opened(chapter, course, seed) as live:
        _serve(requests, send, live.answer, live.prepare())


def _alone(asked: str, answers: Mapping[str, str], added: list[str]) -> dict[str, Any]:
    """Where the packages are alone nothing is known of an answer but that it does nothing at all."""
    return UNSOLVED if _EMPTY.search(answers[asked]) else {"text": NO_SOLUTIONS}


def _serve(requests: Requests, send: Callable[[str], None], answer: Answer, work: Iterator[None]) -> None:
    working = True
    while True:
        try:
            line = requests.get(block=not working, timeout=IDLE_SECONDS)
        except queue.Empty:
            if not working:
                return
            working = _go_on(work)
            continue
        if not line:
            return
        request = json.loads(line)
        try:
            reply = answer(request["exercise"], request["answers"], request["added"])
        except CourseError as error:
            reply = {"text": str(error)}
        send(json.dumps({**reply, "id": request["id"]}))


def _go_on(work: Iterator[None]) -> bool:
    try:
        next(work)
    except (StopIteration, CourseError):  # what is wrong is told to who asks
        return False
    return True


if __name__ == "__main__":
    main()
    os._exit(0)  # `_listen` may be reading still
