"""`python3 -m coursekit grade NN DIR --out DIR`: grade a folder of notebooks written by strangers."""

from __future__ import annotations

import argparse
import json
import platform
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path

from nbformat import NotebookNode
from tqdm import tqdm

from coursekit.course import Course
from coursekit.errors import CourseError
from coursekit.files import read_text, write_text
from coursekit.grading.assemble import Chapter, assemble, find_notebook, load_chapter, testing
from coursekit.grading.cluster import GIVEN_UP, Spread, opened
from coursekit.grading.compare import save_expected
from coursekit.grading.control import Conditions, budget_of, control, judges_of, unnoticed
from coursekit.grading.earlier import LONG, Earlier
from coursekit.grading.feedback import feedback, write_zip
from coursekit.grading.flow import LEAST
from coursekit.grading.gradebook import long, table, wide
from coursekit.grading.learned import tables
from coursekit.grading.model import NotebookRun, to_json
from coursekit.grading.overrides import Overrides
from coursekit.grading.pointers import hidden_imports, identical, pointers
from coursekit.grading.remote import Job
from coursekit.grading.report import Run, junit, learned_rows, report
from coursekit.grading.results import Measure, Result, number
from coursekit.grading.run import ended_by_signals
from coursekit.grading.sandbox import Box
from coursekit.grading.similar import similar
from coursekit.grading.state import State, answers_key, fingerprint, versions
from coursekit.grading.submissions import Submission, collect
from coursekit.machine import cores, installed

Runner = Callable[[Mapping[str, NotebookNode], Path, Callable[[NotebookRun], None]], object]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("chapter", metavar="NN", help="the chapter, such as 01")
    parser.add_argument(
        "submissions",
        type=Path,
        metavar="DIR",
        help="holds STUDENT/*.ipynb, STUDENT.ipynb or STUDENT.zip; or the zip file that a platform exports",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where the grades go")
    parser.add_argument(
        "--names",
        metavar="REGEX",
        help="picks the student (its first group) out of a file's or a folder's name: '(.+?)_.*'; "
        "a group (?P<id>...) is the platform's number, for its import",
    )
    parser.add_argument(
        "--overrides",
        type=Path,
        metavar="FILE",
        help="your own points and comments: CSV or TOML with student, exercise, points, comment; "
        "later runs into the same --out read it again",
    )
    parser.add_argument(
        "--solutions",
        type=Path,
        metavar="DIR",
        help="your own variants instead of the course's solutions/; pages keep their tests secret",
    )
    parser.add_argument("--seed", type=_seed, help="repeat a run; fresh each time otherwise")
    parser.add_argument(
        "--sandbox",
        choices=["required", "off"],
        default="required",
        help="off: for notebooks that you trust as your own code",
    )
    parser.add_argument("--timeout", type=_positive, metavar="S", help="seconds for a cell")
    parser.add_argument("--workers", type=int, metavar="N", help="notebooks at a time (default: cores)")
    parser.add_argument(
        "--similar",
        action="store_true",
        help="point at answers that are the same but for names and layout",
    )
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="grade on the workers of a Dask scheduler (tls://HOST:8786); local:4 starts one",
    )


def _seed(words: str) -> int:
    if not words.isdecimal() or not words.isascii() or int(words) >= 2**63:
        raise argparse.ArgumentTypeError(f"expected a whole number that is not negative, not {words!r}")
    return int(words)


def _positive(words: str) -> float:
    try:
        seconds = float(words)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e6:
        raise argparse.ArgumentTypeError(f"expected seconds, more than 0, not {words!r}")
    return seconds


def run(course: Course, args: argparse.Namespace) -> int:
    """Grade, write the results, and say what needs attention. 1 where a submission could not be graded."""
    started = time.monotonic()
    chapter = load_chapter(find_notebook(args.solutions or course.solutions, args.chapter))
    if not chapter.points:
        raise CourseError(f"{chapter.path}: has no hidden test with points; see CONTRIBUTING.md")
    _keep_apart(args.submissions, args.out)
    submissions, remarks = collect(args.submissions, chapter, args.names)
    Overrides(chapter, args.overrides)  # a mistake in it is told before anything runs
    box = Box.required() if args.sandbox == "required" else Box.off()
    settings = (args.sandbox, args.timeout)
    key = fingerprint(course, chapter, settings)
    with ended_by_signals(), closing(State(args.out, chapter.number, key, args.seed)) as state:
        return _grade(course, chapter, submissions, remarks, box, state, args, started)


def _grade(
    course: Course,
    chapter: Chapter,
    submissions: Sequence[Submission],
    remarks: list[str],
    box: Box,
    state: State,
    args: argparse.Namespace,
    started: float,
) -> int:
    overrides = Overrides(chapter, _kept(state.overrides(args.overrides)))
    if state.continued:
        _say(f"continuing the run with seed {state.seed} that was interrupted")
    workers = max(1, args.workers or cores())
    conditions = Conditions(course, state.seed, box, workers, args.timeout, public=args.solutions is None)
    with ExitStack() as stack:
        # before the control, which takes a while: an address that does not answer is told at once
        cluster = stack.enter_context(opened(args.cluster)) if args.cluster else None
        reference, measure = control(chapter, conditions, ran=partial(_controlled, conditions, state))
        conditions = replace(conditions, budget=budget_of(chapter, reference, args.timeout))
        remarks += [
            f"{one.exercise}: a known mistake earns full points at this seed; "
            f'mend the hidden test ("{one.hint}")'
            for one in unnoticed(measure)
        ]
        try:
            if cluster:
                spread = Spread(cluster, _job(chapter, reference, conditions))
                tested = _run_all(submissions, reference, measure, spread.run, state)
                remarks += [*spread.remarks, *_costly(submissions, spread)]
            else:
                tested = _run_all(submissions, reference, measure, conditions.run, state)
        except KeyboardInterrupt:
            _say("\nthe same command goes on from here")
            raise
    results = [overrides.applied(tested[one.slug]) for one in submissions]
    remarks += [
        *_slow(results, conditions.budget),
        *hidden_imports(course, chapter, submissions),
        *pointers(chapter, submissions),
        *identical(chapter, submissions),
        *(similar(chapter, submissions) if args.similar else ()),
        *overrides.unused(results),
    ]
    earlier, answers = Earlier(args.out, state.answers), _keys(submissions, lambda one: one.student)
    graded = Run(
        chapter,
        results,
        state.seed,
        datetime.now().astimezone().strftime("%d %B %Y, %H:%M %Z"),
        f"Python {platform.python_version()}, NumPy {installed('numpy')}, nbval {installed('nbval')}",
        time.monotonic() - started,
        remarks,
        earlier.when if earlier else "",
        earlier.changes(long(chapter, results), answers),
        conditions.budget or 0.0,
    )
    _write(args.out, graded, earlier)
    state.finish(answers)
    return _summary(graded, args.out)


def _kept(overrides: Path | None) -> Path | None:
    if overrides and not overrides.is_file():
        raise CourseError(
            f"{overrides}: is gone, and held your points and comments in the run before; give another with "
            "--overrides (one with nothing but its first line takes them back)"
        )
    return overrides


def _keys(submissions: Sequence[Submission], name: Callable[[Submission], str]) -> dict[str, str]:
    return {
        name(one): answers_key({**one.answers, "added": "\n".join(one.added)})
        for one in submissions
        if not one.refused
    }


def _say(words: str) -> None:
    print(words, file=sys.stderr)


def _keep_apart(submissions: Path, out: Path) -> None:
    """Nothing is ever written into the submissions."""
    inside, folder = out.resolve(), submissions.resolve()
    if inside == folder or folder in inside.parents:
        raise CourseError(f"{out}: lies in the submissions' folder {submissions}; choose a folder beside it")


def _run_all(
    submissions: Sequence[Submission],
    reference: NotebookRun,
    measure: Measure,
    run_notebooks: Runner,
    state: State,
) -> dict[str, Result]:
    """The results by student's slug; what an interrupted run has finished is read back.

    A run is dropped as soon as it is measured: what strangers show is large.
    """
    chapter = measure.chapter
    keys = _keys(submissions, lambda one: one.slug)
    results = {one.slug: Result(one, refused=one.refused) for one in submissions if one.refused}
    for one in submissions:
        if one.slug in keys and not chapter.attempted(one.answers):  # there is nothing to run
            results[one.slug] = measure.result(one, NotebookRun(one.slug))
        elif one.slug in keys and (run := state.load(f"{one.slug}-{keys[one.slug]}")):
            results[one.slug] = measure.result(one, run)
    # what the box sees of a name is a number
    left = {f"n{i:05}": one for i, one in enumerate(submissions) if one.slug not in results}
    with tqdm(
        total=len(keys), initial=len(keys) - len(left), unit="notebook", desc="grading", disable=None
    ) as bar:

        def done(run: NotebookRun) -> None:
            one = left[run.name]
            if any(cell.status != "missing" for cell in run.cells):  # else it is tried again
                state.save(f"{one.slug}-{keys[one.slug]}", run)
            results[one.slug] = measure.result(one, run)
            bar.update()

        expected = state.folder / "expected.json"
        save_expected(expected, reference, judges_of(chapter).resolve())
        run_notebooks(_Assembled(chapter, left), expected, done)
    return results


class _Assembled(Mapping[str, NotebookNode]):
    """Notebooks that are built when they are asked for: of ten thousand, few at a time."""

    def __init__(self, chapter: Chapter, submissions: Mapping[str, Submission]) -> None:
        self._chapter, self._submissions = chapter, submissions

    def __getitem__(self, name: str) -> NotebookNode:
        one = self._submissions[name]
        made = assemble(self._chapter, one.answers, one.added)
        return testing(made, self._chapter.attempted(one.answers))

    def __iter__(self) -> Iterator[str]:
        return iter(self._submissions)

    def __len__(self) -> int:
        return len(self._submissions)


def _controlled(
    conditions: Conditions, state: State, made: Mapping[str, NotebookNode]
) -> dict[str, NotebookRun]:
    """The runs of the control, read back where the same ones were saved."""
    runs = state.control()
    if runs.keys() != made.keys():
        runs = {}
        with tqdm(total=len(made), unit="notebook", desc="control", disable=None) as bar:

            def done(run: NotebookRun) -> None:
                runs[run.name] = run
                bar.update()

            conditions.run(made, None, done)
        state.save_control(runs)
    return runs


def _job(chapter: Chapter, reference: NotebookRun, conditions: Conditions) -> Job:
    """What the workers of a cluster need to know."""
    judges = judges_of(chapter)
    return Job(
        str(conditions.course.root),
        versions(conditions.course),
        conditions.seed,
        conditions.box.bubblewrap is not None,
        conditions.timeout,
        conditions.budget,
        json.dumps(assemble(chapter, chapter.reference())),
        json.dumps(to_json(reference)),
        read_text(judges) if judges.is_file() else "",
    )


def _costly(submissions: Sequence[Submission], spread: Spread) -> Iterator[str]:
    """A remark on each student whose notebook was on two workers that failed."""
    for name, count in spread.costly.items():
        how = "given up, grade it again on another machine" if count >= GIVEN_UP else "graded last, alone"
        yield f"{submissions[int(name[1:])].student}: {count} workers failed with this notebook; {how}"


def _slow(results: Sequence[Result], budget: float | None) -> list[str]:
    """A remark on each student whose notebook took what it may take."""
    return [
        f"{one.submission.student}: took {one.seconds:.0f} of the {budget:g} s a notebook has (three times "
        "the reference's and a minute); what was left of it was not run"
        for one in results
        if budget and one.seconds > budget - LEAST
    ]


def _write(out: Path, graded: Run, earlier: Earlier) -> None:
    """All outputs, after the ones of the run before have gone into their own folder."""
    chapter, results = graded.chapter, graded.results
    kept = earlier.keep()
    # One by one: what is written of ten thousand is more than the grader may hold.
    write_text(out / "grades.csv", wide(chapter, results))
    write_text(out / LONG, long(chapter, results))
    write_text(out / "junit.xml", junit(graded))
    write_text(out / "report.html", report(graded))
    for name, each in tables(learned_rows(graded)).items():
        write_text(out / name, table(*each))
    for one in results:
        write_text(out / "feedback" / one.submission.slug / f"{chapter.number}.html", feedback(chapter, one))
    write_zip(out / "feedback.zip", chapter, results)
    if kept:
        changed = f"{len(graded.changes)} changed" if graded.changes else "none changed"
        _say(f"points of exercises against the last run: {changed}; its results are in {kept}")


def _summary(graded: Run, out: Path) -> int:
    for line in graded.remarks:
        _say(textwrap.shorten(line, 400, placeholder=" ... (whole in report.html)"))
    for one in graded.refused:
        _say(f"{one.submission.student}: not graded: {one.refused}")
    print(
        f"{len(graded.graded)} of {len(graded.results)} submissions graded in {graded.seconds:.0f} s", end=""
    )
    if graded.graded:
        mean = sum(one.points for one in graded.graded) / len(graded.graded)
        print(f", mean {mean:.1f} of {number(graded.chapter.points)} points", end="")
    print(f"; seed {graded.seed}\n{out / 'report.html'}")
    return 1 if graded.refused else 0
