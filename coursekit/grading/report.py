"""What the instructor reads: grades.csv, junit.xml and report.html."""

from __future__ import annotations

import csv
import html
import io
import re
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote
from xml.etree import ElementTree

from coursekit.grading.assemble import Chapter, Exercise
from coursekit.grading.feedback import state
from coursekit.grading.page import number, page, text
from coursekit.grading.results import ExerciseResult, Result

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_FORMULA = "=+-@|\uff1d\uff0b\uff0d\uff20\t\r"  # a spreadsheet would run what begins with one of these

CSS = """
body { max-width: 62rem; }
.facts { display: flex; flex-wrap: wrap; gap: 1rem 3rem; margin: 1.5rem 0; }
.facts div { font-size: 1.5rem; font-weight: 650; font-variant-numeric: tabular-nums; }
.facts small { display: block; font-size: .8125rem; font-weight: 400; color: var(--soft); }
.bar { display: flex; gap: 2px; height: 1rem; min-width: 12rem; margin-top: .3rem; }
.bar i { display: block; border-radius: 2px; }
.key { display: inline-block; width: .75rem; height: .75rem; border-radius: 2px; margin: 0 .35rem 0 1rem; }
.key:first-child { margin-left: 0; }
i.good, .key.good { background: var(--good); } i.part, .key.part { background: var(--part); }
i.bad, .key.bad { background: var(--bad); } i.none, .key.none { background: var(--line); }
svg { display: block; width: 100%; height: auto; } svg rect { fill: var(--hint-line); }
svg text { fill: var(--soft); font-size: 11px; } svg line { stroke: var(--line); }
.scroll { overflow-x: auto; }
.attention li { margin: .25rem 0; }
"""


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

    @property
    def graded(self) -> list[Result]:
        return [result for result in self.results if not result.refused]

    @property
    def refused(self) -> list[Result]:
        return [result for result in self.results if result.refused]


# grades.csv


def grades(run: Run) -> str:
    """A row for each student and exercise."""
    file = io.StringIO()
    rows = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)  # a `;` ends a cell in some programs
    rows.writerow(["student", "exercise", "points", "maximum", "verdict"])
    for result in run.results:
        done = {one.exercise.number: one for one in result.exercises}
        for exercise in run.chapter.exercises:
            one = done.get(exercise.number)
            verdict = one.verdict if one else f"not graded: {result.refused}"
            points = number(one.points if one else 0)
            name = inert(result.submission.student)
            rows.writerow([name, exercise.number, points, number(exercise.points), inert(verdict)])
    return file.getvalue()


def inert(cell: str) -> str:
    """`cell` so that no spreadsheet takes it for a formula."""
    return f"'{cell}" if cell.lstrip(" \u00a0")[:1] in tuple(_FORMULA) else cell


# junit.xml


def junit(run: Run) -> str:
    """The same for tools that read JUnit's format: a suite for each student, a case for each exercise."""
    suites = ElementTree.Element("testsuites", name=f"chapter {run.chapter.number}")
    for result in run.results:
        suites.append(_suite(run.chapter, result))
    ElementTree.indent(suites)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"
    )


def _suite(chapter: Chapter, result: Result) -> ElementTree.Element:
    failed = [one for one in result.exercises if not one.passed]
    suite = ElementTree.Element(
        "testsuite",
        name=_xml(result.submission.student),
        tests=str(len(chapter.exercises)),
        failures=str(len(failed)),
        errors=str(len(chapter.exercises) if result.refused else 0),
        time=f"{sum(one.seconds for one in result.exercises):.3f}",
    )
    done = {one.exercise.number: one for one in result.exercises}
    for exercise in chapter.exercises:
        suite.append(_case(chapter, exercise, done.get(exercise.number), result.refused))
    return suite


def _case(
    chapter: Chapter, exercise: Exercise, one: ExerciseResult | None, refused: str
) -> ElementTree.Element:
    name = _xml(f"{exercise.number} {exercise.title}")
    case = ElementTree.Element("testcase", classname=chapter.path.stem, name=name)
    if one is None:
        ElementTree.SubElement(case, "error", message=_xml(refused))
        return case
    case.set("time", f"{one.seconds:.3f}")
    if not one.passed:
        failure = ElementTree.SubElement(case, "failure", message=_xml(one.verdict))
        failure.text = _xml(one.hint or "")
    return case


def _xml(words: str) -> str:
    return _NOT_XML.sub("\ufffd", words)


# report.html


def report(run: Run) -> str:
    """The page for the instructor. It names hints and students: not for the class."""
    title = f"{run.chapter.number} {run.chapter.title}".strip()
    parts = [
        f"<h1>{html.escape(title)}</h1>",
        f'<div class="soft">{html.escape(run.when)} &middot; seed {run.seed}</div>',
        _facts(run),
        _attention(run),
        _histogram(run),
        _exercises(run),
        _misconceptions(run),
        _students(run),
        f'<p class="soft">{html.escape(run.machine)}. <code>--seed {run.seed}</code> repeats this run.</p>',
    ]
    return page(f"{title}: report", "\n".join(parts), CSS)


def _facts(run: Run) -> str:
    points = [result.points for result in run.graded]
    facts = [(str(len(run.graded)), "graded"), (str(len(run.refused)), "not graded")]
    if points:
        facts += [
            (f"{statistics.mean(points):.1f} / {number(run.chapter.points)}", "mean points"),
            (number(statistics.median(points)), "median points"),
        ]
    facts.append((f"{run.seconds:.0f} s", "time of the run"))
    cells = "".join(f"<div>{value}<small>{word}</small></div>" for value, word in facts)
    return f'<div class="facts">{cells}</div>'


def _attention(run: Run) -> str:
    lines = [f"<b>{html.escape(r.submission.student)}</b>: {text(r.refused)}" for r in run.refused]
    lines += [text(remark) for remark in run.remarks]
    items = "".join(f"<li>{line}</li>" for line in lines)
    return f'<h2>Needs your attention</h2><ul class="attention">{items}</ul>' if items else ""


def _histogram(run: Run) -> str:
    """How many students have how many points, as columns."""
    if not run.graded:
        return ""
    bins = 11
    counts = Counter(
        min(bins - 1, int(10 * r.points / run.chapter.points)) if run.chapter.points else 0
        for r in run.graded
    )
    most, wide, high = max(counts.values()), 60, 110
    columns = []
    for slot in range(bins):
        tall, left = round(high * counts[slot] / most), slot * wide
        label = "all" if slot == bins - 1 else f"{slot * 10}%"
        columns.append(
            f'<rect x="{left + 3}" y="{20 + high - tall}" width="{wide - 6}" height="{tall}" rx="3"/>'
            f'<text x="{left + wide / 2}" y="{high + 36}" text-anchor="middle">{label}</text>'
        )
        if counts[slot]:
            place = f'x="{left + wide / 2}" y="{15 + high - tall}" text-anchor="middle"'
            columns.append(f"<text {place}>{counts[slot]}</text>")
    body = "".join(columns)
    box = f'viewBox="0 0 {bins * wide} {high + 42}"'
    return (
        "<h2>Points</h2>"
        f'<svg {box} role="img" aria-label="students by share of all points">'
        f'<line x1="0" y1="{high + 20}" x2="{bins * wide}" y2="{high + 20}"/>{body}</svg>'
        '<p class="soft">Students by share of all points, from each mark up to the next.</p>'
    )


def _exercises(run: Run) -> str:
    key = "".join(
        f'<span class="key {style}"></span>{word}'
        for style, word in (
            ("good", "right"),
            ("part", "partly"),
            ("bad", "not right"),
            ("none", "not solved yet"),
        )
    )
    rows = "".join(_exercise(run, index, exercise) for index, exercise in enumerate(run.chapter.exercises))
    return (
        f'<h2>Exercises</h2><p class="soft">{key}</p><div class="scroll"><table><tr><th>exercise</th>'
        '<th></th><th class="number">right</th><th class="number">mean</th><th class="number">of</th>'
        f'<th class="number">mean s</th><th class="number">most s</th></tr>{rows}</table></div>'
    )


def _exercise(run: Run, index: int, exercise: Exercise) -> str:
    all_of = [result.exercises[index] for result in run.graded]
    if not all_of:
        return ""
    counts = Counter(state(one)[0] for one in all_of)
    bar = "".join(
        f'<i class="{style}" style="flex:{counts[style]}" title="{counts[style]}"></i>'
        for style in ("good", "part", "bad", "none")
        if counts[style]
    )
    seconds = [one.seconds for one in all_of]
    cells = [
        f"{counts['good']}",
        f"{statistics.mean(one.points for one in all_of):.2f}",
        number(exercise.points),
        f"{statistics.mean(seconds):.2f}",
        f"{max(seconds):.2f}",
    ]
    numbers = "".join(f'<td class="number">{cell}</td>' for cell in cells)
    name = html.escape(f"{exercise.number} {exercise.title}")
    return f'<tr><td>{name}</td><td><div class="bar">{bar}</div></td>{numbers}</tr>'


def _misconceptions(run: Run) -> str:
    """Hints by how many students earned them, then the most common messages without a hint."""
    hints: Counter[tuple[str, str]] = Counter()
    others: Counter[tuple[str, str]] = Counter()
    for one in (one for result in run.graded for one in result.exercises if not one.passed):
        if one.hint:
            hints[one.exercise.number, one.hint] += 1
        elif not one.unsolved:
            others[one.exercise.number, one.verdict] += 1
    return _ranking("Most common misconceptions", hints) + _ranking("Wrong, and no hint fits", others)


def _ranking(title: str, counts: Counter[tuple[str, str]]) -> str:
    if not counts:
        return ""
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:12]
    rows = "".join(
        f'<tr><td class="number">{count}</td><td class="number">{exercise}</td><td>{text(words)}</td></tr>'
        for (exercise, words), count in ranked
    )
    head = '<tr><th class="number">students</th><th class="number">exercise</th><th></th></tr>'
    return f"<h2>{title}</h2><table>{head}{rows}</table>"


def _students(run: Run) -> str:
    heads = "".join(f'<th class="number">{one.number}</th>' for one in run.chapter.exercises)
    rows = "".join(_student(run, result) for result in run.results)
    first = '<th>student</th><th class="number">points</th>'
    return (
        f'<h2>Students</h2><div class="scroll"><table><tr>{first}{heads}<th class="number">s</th></tr>'
        f"{rows}</table></div>"
    )


def _student(run: Run, result: Result) -> str:
    link = html.escape(f"feedback/{_address(result.submission.slug)}/{run.chapter.number}.html", quote=True)
    name = f'<td><a href="{link}">{html.escape(result.submission.student)}</a></td>'
    if result.refused:
        empty = '<td class="number none">&ndash;</td>' * (len(run.chapter.exercises) + 1)
        return f'<tr>{name}<td class="number bad">0</td>{empty}</tr>'
    cells = "".join(
        f'<td class="number {state(one)[0]}">{number(one.points)}</td>' for one in result.exercises
    )
    seconds = sum(one.seconds for one in result.exercises)
    return (
        f'<tr>{name}<td class="number"><b>{number(result.points)}</b></td>{cells}'
        f'<td class="number soft">{seconds:.1f}</td></tr>'
    )


def _address(name: str) -> str:
    return quote(name, safe="")
