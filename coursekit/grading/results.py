"""From what a notebook showed to points, messages and hints."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from coursekit.grading import wording
from coursekit.grading.assemble import HELPERS, SHARED, Chapter, Exercise, HiddenTest
from coursekit.grading.beside import smallest
from coursekit.grading.borrowed import Loan
from coursekit.grading.compare import Judge, judged, share
from coursekit.grading.diagnosis import diagnosis, pairs_of
from coursekit.grading.errors import endless, explained
from coursekit.grading.graphs import Graph, wrong_graph
from coursekit.grading.habits import habit
from coursekit.grading.hints import Known, blames, helper_hint, hint, library_hint
from coursekit.grading.model import CellRun, NotebookRun, Probe
from coursekit.grading.pair import Inputs, Pair
from coursekit.grading.relations import KEPT_AS_IT_WAS
from coursekit.grading.sharing import argument_written
from coursekit.grading.submissions import Submission
from coursekit.grading.threads import GUARD_THEM, of_kernels, reported, without_advice
from coursekit.grading.unlike import conjugated, dropped
from coursekit.grading.wording import messages_of

UNSOLVED = "not solved yet"
OVERRIDDEN = "set by the instructor"
PLACES = ("Right in", "Only", "Wrong only")  # how a diagnosis begins that names places alone
OURS = ("timeout", "missing")  # how a test ended where its error is the grader's own words


def number(points: float) -> str:
    """Points without needless zeros: 3, 2.5."""
    return f"{points:g}"


@dataclass(frozen=True)
class ExerciseResult:
    """One exercise of one student."""

    exercise: Exercise
    points: float
    messages: tuple[str, ...] = ()  # of the tests that failed
    hint: str | None = None  # of a known mistake
    diagnosis: str = ""  # what the values themselves say, where no mistake is known
    quoted: str = ""  # what the first visible check that fails says
    example: Pair | None = None  # the smallest value that is wrong, for who may see it
    graph: Graph | None = None  # the smallest graph that is wrong, for who may see it
    seconds: float = 0.0
    tested: float | None = None  # what the tests gave, where the instructor gave other points
    comment: str = ""  # the instructor's
    note: str = ""  # with what it ran, and whether its cell came to its end

    @property
    def passed(self) -> bool:
        return not self.messages

    @property
    def explained(self) -> str:
        """The hint, or what the values say by themselves."""
        return self.hint or self.diagnosis

    @property
    def unsolved(self) -> bool:
        return set(self.messages) == {UNSOLVED} and not self.points and self.tested is None

    @property
    def verdict(self) -> str:
        """The tests' messages, and whether the instructor gave other points than they."""
        said = "; ".join(self.messages) or "passed"
        return said if self.tested is None else f"{OVERRIDDEN}; the tests, {number(self.tested)}: {said}"


@dataclass(frozen=True)
class Result:
    """One student. Without exercises where the submission was refused or could not be run."""

    submission: Submission
    exercises: tuple[ExerciseResult, ...] = ()
    refused: str = ""
    comment: str = ""  # the instructor's, on the whole notebook

    @property
    def points(self) -> float:
        return sum(exercise.points for exercise in self.exercises)

    @property
    def seconds(self) -> float:
        return sum(exercise.seconds for exercise in self.exercises)


@dataclass(frozen=True)
class Measure:
    """What answers of one chapter are held against, at one seed."""

    chapter: Chapter
    decide: Callable[[CellRun], str | None]
    reference: Mapping[str, CellRun]  # by grade_id
    known: Sequence[Known] = ()
    judges: Mapping[str, Judge] = field(default_factory=dict)  # by grade_id
    own: bool = False  # nothing has to be kept from whom it is told: errors are told in full
    inputs: Mapping[str, Inputs] = field(default_factory=dict)  # what the reference drew, by grade_id

    def result(self, submission: Submission, run: NotebookRun) -> Result:
        """The grades of one student. `run` may lack the tests of answers that were left alone."""
        done = self.chapter.attempted(submission.answers)
        if done and all(cell.status == "missing" for cell in run.cells):
            return Result(submission, refused="it could not be run; grade it again")
        cells = {cell.grade_id: cell for cell in run.cells}
        loans = self.chapter.loans(submission.answers, submission.added)
        return Result(
            submission,
            tuple(
                self._exercise(exercise, cells, submission, loans.get(exercise.number, Loan()))
                if exercise.number in done
                else ExerciseResult(exercise, 0, (UNSOLVED,))
                for exercise in self.chapter.exercises
            ),
        )

    def _exercise(
        self,
        exercise: Exercise,
        cells: Mapping[str, CellRun],
        submission: Submission,
        borrowed: Loan,
    ) -> ExerciseResult:
        shown = [
            cells.get(test.grade_id) or CellRun(test.grade_id, exercise.number, "missing")
            for test in exercise.tests
        ]
        sources = [submission.answers.get(key, "") for key in (exercise.number, HELPERS)]
        answer = "\n".join([*sources, borrowed.code])
        # A stub of ours raises `Unsolved`: of an answer, NotImplementedError is an error as others are.
        ours = "NotImplementedError" not in exercise.stub
        shown = [_erred(cell) if ours else cell for cell in shown]
        safe = self.own or exercise.cuda  # of CUDA C, errors come from a process without a student's Python
        public = [cell if safe or cell.status in OURS else _told(cell, answer) for cell in shown]
        messages = [self.decide(cell) for cell in public]
        failed = [cell for cell, message in zip(shown, messages, strict=True) if message]
        told = [cell.error for cell, message in zip(public, messages, strict=True) if message]
        points = sum(map(self._points, exercise.tests, shown, messages))
        told_once = tuple(dict.fromkeys(message for message in messages if message))
        seconds = sum(cell.seconds for cell in shown)
        stopped = next((cell.error for cell in public if cell.status == "ok" and cell.error), "")
        notes = [
            borrowed.words,
            f"Its cell stopped with {stopped}, after what was graded." if stopped else "",
        ]
        hint = self._hint(exercise, failed, told, submission.added, answer)
        said = next((cell.quoted for cell in failed if cell.quoted), "")
        said = "" if f"stopped with {said}" in told_once else said  # once is enough
        pairs = self._pairs(shown) if failed else []
        named = self._named(failed)
        why = self._diagnosis(exercise, pairs, shown, public, answer, said) if failed and not hint else ""
        shown_of_check = said if self.own or said in self.said(exercise) else ""
        if exercise.cuda and why and not why.startswith(PLACES) and GUARD_THEM not in why:
            told_once, shown_of_check = tuple(map(without_advice, told_once)), without_advice(shown_of_check)
        return ExerciseResult(
            exercise,
            points,
            told_once,
            hint,
            why,
            shown_of_check,
            smallest(pair for pair in pairs if pair.place or pair.probe not in named) if self.own else None,
            self._graph(failed) if self.own else None,
            seconds,
            note=" ".join(filter(None, notes)),
        )

    def _named(self, failed: Iterable[CellRun]) -> set[str]:
        """The probes that name their cases: of these the message tells expected and got."""
        right = [self.reference[cell.grade_id] for cell in failed if cell.grade_id in self.reference]
        return {probe.name for cell in right for probe in cell.probes if probe.of}

    def _pairs(self, shown: Sequence[CellRun], *, free: bool = False) -> list[Pair]:
        """The values of an exercise beside the reference's, where these are the only right ones.

        `free`: those that a judge refuses, of tests in which other values may be right too.
        """
        return [
            pair
            for cell in shown
            if cell.grade_id in self.reference and (cell.grade_id in self.judges) == free
            if cell.status in ("ok", "error")
            for pair in pairs_of(self.reference[cell.grade_id], cell, self.inputs.get(cell.grade_id, ()))
            if cell.status == "ok" or not pair.cut
            if not free or (not pair.codes and pair.probe in self._refused(cell))
        ]

    def _refused(self, cell: CellRun) -> set[str]:
        """The probes of a judged test whose values the judge refuses."""
        return {have.name for _, have in self._wrong([cell])}

    def _wrong(self, cells: Iterable[CellRun]) -> Iterator[tuple[Probe, Probe]]:
        """What was expected and what was got, of all values that are wrong."""
        for cell in cells:
            right = self.reference.get(cell.grade_id)
            judge = self.judges.get(cell.grade_id)
            for want, have in zip(right.probes if right else (), cell.probes, strict=False):
                if want.name == have.name and judged(judge, want, have):
                    yield want, have

    def _graph(self, failed: Sequence[CellRun]) -> Graph | None:
        """The smallest graph that is wrong."""
        one, other = ([cell for cell in failed if (cell.grade_id in self.judges) == free] for free in (0, 1))
        return wrong_graph(self._wrong(one)) or wrong_graph(self._wrong(other), free=True)

    def _diagnosis(
        self,
        exercise: Exercise,
        pairs: Sequence[Pair],
        shown: Sequence[CellRun],
        public: Sequence[CellRun],
        answer: str,
        quoted: str,
    ) -> str:
        """A line that is hardly meant, what values say beside the reference's, else what an error says."""
        said = None
        if exercise.cuda:
            both = [(self.reference[one.grade_id], one) for one in shown if one.grade_id in self.reference]
            said = of_kernels(both, answer, exercise.reference, own=self.own)
        why = habit(answer)
        why = why or dropped(answer, exercise.reference)
        if not why and len({pair.right for pair in pairs}) == 2:  # right in some cases, as real numbers are
            why = conjugated(answer, exercise.reference)
        of_values = [] if exercise.cuda and reported(both) else pairs
        said = said or diagnosis(of_values, own=self.own, lost=not why)
        said = (
            said or diagnosis(self._pairs(shown, free=True), own=self.own, places=False, lost=not why) or ""
        )
        stopped = next((cell for cell in public if cell.status == "error" and cell.error), None)
        if KEPT_AS_IT_WAS in said:
            why = why or argument_written(answer)
        if not why and (not said or said.startswith(PLACES)):  # why it stopped tells more than where
            late = any(cell.status == "timeout" for cell in shown)
            why = (stopped and self._of_error(stopped, answer)) or (
                "" if any(map(_reshaped, pairs)) else explained(quoted, answer)
            )
            why = why or (endless(answer) if late else "")
        return " ".join(filter(None, (why, said)))

    def _of_error(self, stopped: CellRun, answer: str) -> str:
        """What an error means, and in which case it came, where cases before it went well."""
        said = explained(stopped.error, answer)
        right = self.reference.get(stopped.grade_id)
        names = [probe.name for probe in right.probes] if right else []
        case = names[len(stopped.probes)] if 0 < len(stopped.probes) < len(names) else ""
        return f"In `{case}`: {said}" if said and case and self.own else said

    def said(self, exercise: Exercise) -> set[str]:
        """What the visible checks of an exercise may say, word by word."""
        sources = self.chapter.checks.get(exercise.number, ())
        return {text.removeprefix("AssertionError: ") for one in sources for text in messages_of(one)}

    def _points(self, test: HiddenTest, cell: CellRun, message: str | None) -> float:
        """All points of a test that passed; of one that goes by probe otherwise a part, in halves."""
        if not message or not test.by_probe or message == UNSOLVED:
            return 0 if message else test.points
        return math.floor(2 * test.points * share(self.reference[test.grade_id], cell)) / 2

    def _hint(
        self,
        exercise: Exercise,
        failed: Sequence[CellRun],
        errors: Sequence[str],
        added: Iterable[str],
        answer: str,
    ) -> str | None:
        """The hint of the misconception, or what an answer lacks, by the `errors` that may be told."""
        if not failed:
            return None
        helpers = (helper_hint(error, added) for error in errors)
        known = hint(
            failed,
            self.known,
            self.reference,
            self.judges,
            lambda one: blames(one, answer, exercise.reference),
        )
        without = (
            library_hint(error, self.chapter.set_up) for error in errors if exercise.room not in SHARED
        )
        return next(filter(None, helpers), None) or known or next(filter(None, without), None)


def _reshaped(pair: Pair) -> bool:
    """Whether a shape is wrong: of an error that a visible check ends with it may be why."""
    return pair.numeric and not pair.codes and pair.want.shape != pair.have.shape


def _erred(cell: CellRun) -> CellRun:
    unsolved = cell.status == "unsolved" and cell.error.startswith("NotImplementedError")
    return replace(cell, status="error") if unsolved else cell


def _told(cell: CellRun, answer: str) -> CellRun:
    return replace(cell, error=cell.error and wording.error(cell.error, answer))
