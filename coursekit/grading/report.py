"""What the instructor reads: junit.xml and report.html."""

from __future__ import annotations

import functools
import re
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote
from xml.etree import ElementTree

from coursekit.grading.assemble import Chapter, Exercise
from coursekit.grading.earlier import Change
from coursekit.grading.learned import Row, told
from coursekit.grading.page import page, state
from coursekit.grading.results import ExerciseResult, Result, number

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NUMBERS = re.compile(r"-?\d[\d.,]*(?:e[-+]?\d+)?")


@dataclass(frozen=True)
class Run:
    """One grading, whole."""

    chapter: Chapter
    results: Sequence[Result]
    seed: int
    when: str
    machine: str
    seconds: float
    remarks: Sequence[str] = ()
    before: str = ""  # when the run before was, "" where there was none
    changes: Sequence[Change] = ()
    budget: float = 0.0  # the seconds that each notebook had

    @property
    def graded(self) -> list[Result]:
        return [result for result in self.results if not result.refused]

    @property
    def refused(self) -> list[Result]:
        return [result for result in self.results if result.refused]


# junit.xml


def junit(run: Run) -> str:
    """The same for tools that read JUnit's format: a suite for each student, a case for each exercise."""
    head = ElementTree.tostring(
        ElementTree.Element("testsuites", name=f"chapter {run.chapter.number}"), "unicode"
    )
    lines = ['<?xml version="1.0" encoding="utf-8"?>', head.replace(" />", ">")]
    for result in run.results:  # one at a time: the elements of ten thousand would take 100 MB
        suite = _suite(run.chapter, result)
        ElementTree.indent(suite, level=1)
        lines.append("  " + ElementTree.tostring(suite, "unicode"))
    return "\n".join([*lines, "</testsuites>\n"])


def _suite(chapter: Chapter, result: Result) -> ElementTree.Element:
    failed = [one for one in result.exercises if not one.passed]
    suite = ElementTree.Element(
        "testsuite",
        name=_xml(result.submission.student),
        tests=str(len(chapter.exercises)),
        failures=str(len(failed)),
        errors=str(len(chapter.exercises) if result.refused else 0),
        time=f"{result.seconds:.3f}",
    )
    done = {one.exercise.number: one for one in result.exercises}
    for exercise in chapter.exercises:
        suite.append(_case(chapter, exercise, done.get(exercise.number), result.refused))
    return suite


def _case(
    chapter: Chapter, exercise: Exercise, one: ExerciseResult | None, refused: str
) -> ElementTree.Element:
    name = _xml(exercise.name)
    case = ElementTree.Element("testcase", classname=chapter.path.stem, name=name)
    if one is None:
        ElementTree.SubElement(case, "error", message=_xml(refused))
        return case
    case.set("time", f"{one.seconds:.3f}")
    if not one.passed:
        failure = ElementTree.SubElement(case, "failure", message=_xml(one.verdict))
        failure.text = _xml(one.explained)
    return case


def _xml(words: str) -> str:
    return _NOT_XML.sub("\ufffd", words)


# report.html


def report(run: Run) -> str:
    """The page for the instructor. It names hints and students: not for the class."""
    return page(
        "report.html",
        run=run,
        facts=_facts(run),
        columns=_columns(run),
        exercises=_exercises(run),
        told=told(learned_rows(run)),
        candidates=candidates(run),
        address=functools.partial(quote, safe=""),
    )


def _facts(run: Run) -> list[tuple[str, str]]:
    points = [result.points for result in run.graded]
    facts = [(str(len(run.graded)), "graded"), (str(len(run.refused)), "not graded")]
    if points:
        facts += [
            (f"{statistics.mean(points):.1f} / {number(run.chapter.points)}", "mean points"),
            (number(statistics.median(points)), "median points"),
        ]
    return [*facts, (f"{run.seconds:.0f} s", "time of the run")]


def _columns(run: Run) -> list[int]:
    """How many students have 0%, 10%, ..., all of the points."""
    whole = run.chapter.points
    counts = Counter(min(10, int(10 * one.points / whole)) if whole else 0 for one in run.graded)
    return [counts[tenth] for tenth in range(11)] if counts else []


def _exercises(run: Run) -> Iterator[tuple[Exercise, Counter[str], list[str]]]:
    """Each exercise, how often each state, and the numbers of its row."""
    for index, exercise in enumerate(run.chapter.exercises if run.graded else ()):
        all_of = [result.exercises[index] for result in run.graded]
        counts = Counter(state(one)[0] for one in all_of)
        seconds = [one.seconds for one in all_of]
        cells = [
            f"{counts['good']}",
            f"{statistics.mean(one.points for one in all_of):.2f}",
            number(exercise.points),
            f"{statistics.mean(seconds):.2f}",
            f"{max(seconds):.2f}",
        ]
        yield exercise, counts, cells


def learned_rows(run: Run) -> list[Row]:
    """What `learned` counts."""
    return [
        Row(
            result.submission.student,
            one.exercise.number,
            one.points,
            one.exercise.points,
            one.explained if not one.passed else "",
            one.seconds,
            result.submission.answers.get(one.exercise.number) or "",
        )
        for result in run.graded
        for one in result.exercises
    ]


@dataclass(frozen=True)
class Candidate:
    """Wrong answers that nothing explains, and what they have in common: perhaps a mistake to be known."""

    exercise: str
    said: str  # what the tests say of all of them, numbers aside
    students: Sequence[str]
    example: str  # the shortest of their answers


def candidates(run: Run) -> list[Candidate]:
    """Those that most answers share first."""
    groups: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for result in run.graded:
        for one in result.exercises:
            if one.passed or one.unsolved or one.explained:
                continue
            common = _NUMBERS.sub("…", "; ".join((*one.messages, one.quoted)).strip("; "))
            answer = result.submission.answers.get(one.exercise.number) or ""
            groups.setdefault((one.exercise.number, common), []).append((result.submission.student, answer))
    made = [
        Candidate(number, said, [name for name, _ in some], min((text for _, text in some), key=len)[:2000])
        for (number, said), some in groups.items()
    ]
    return sorted(made, key=lambda one: (-len(one.students), one.exercise, one.said))[:12]
