"""What holds for the exercises of every chapter; `test_chapter_NN.py` names one and answers it otherwise."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet
from nbformat import NotebookNode

from coursekit import notebooks
from coursekit.course import find_course
from coursekit.grading.assemble import Chapter, Exercise, assemble, load_chapter
from coursekit.grading.control import Conditions, control, misconceptions_of, mistaken
from coursekit.grading.flow import info
from coursekit.grading.hints import bundles
from coursekit.grading.live import Live
from coursekit.grading.misconceptions import Misconception
from coursekit.grading.model import CellRun, NotebookRun
from coursekit.grading.results import ExerciseResult
from coursekit.grading.run import private_folder
from coursekit.grading.sandbox import Box
from coursekit.grading.submissions import Submission

COURSE = find_course(Path(__file__).parent)
PATIENT = 180.0  # seconds for a cell: no known answer hangs, and a kernel takes long on a busy machine


# Whose answers `make test` grades, some in CUDA, and CI. The others are graded at night, and by whoever names
# the part's file.
EACH_TIME = ("01", "04a")
BY_DAY = ("03a", "06a", "09b")
NUMBERS = ["none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"]


def second_answers(chapter: Chapter) -> dict[str, str]:
    """The cells of solutions/others/NN_name.py, and of NN_name.cu beside it, by exercise."""
    found: dict[str, str] = {}
    for path in sorted((COURSE.solutions / "others").glob(f"{chapter.path.stem}.*")):
        _, *parts = re.split(r"(?m)^(?:#|//) %% exercise=(.*)\n", path.read_text(encoding="utf-8"))
        found |= zip(parts[::2], parts[1::2])
    return found


def table(lesson: Path) -> list[str]:
    """The numbers of the exercises that the table of a lesson lists."""
    cells = notebooks.cells(lesson, notebooks.read(lesson))
    text = "\n".join(cell.source for cell in cells if not cell.is_code)
    return re.findall(r"(?m)^\| *\[?(\d+\.\d+)\b", text)


@dataclass(frozen=True, kw_only=True)
class Kept(Conditions):
    """Runs notebooks as `check` does, in kernels that stay: starting one takes ten times as long as a test.

    That a kernel goes back to where it was, and that `grade` finds the same, is held by tests/coursekit:
    test_sandbox.py, test_attacks.py and test_live.py.

    An answer runs once, whether as a known mistake or as a student's: nothing but its text and the seed
    decides what it shows. `control` holds that for the reference, which runs twice.
    """

    live: Live
    shown: dict[tuple[str, ...], CellRun] = field(default_factory=dict)  # by answers

    def run(self, made: Mapping[str, NotebookNode], *_: Any) -> dict[str, NotebookRun]:
        return {name: self.kept(name, notebook) for name, notebook in made.items()}

    def kept(self, name: str, notebook: NotebookNode) -> NotebookRun:
        for flow in self.live.flows.values():
            flow.timeout = self.timeout
            flow.take_up(notebook)
        tests = [cell for cell in notebook.cells if info(cell)["role"] == "hidden"]
        return NotebookRun(name, tuple(self.cell(notebook, test) for test in tests))

    def cell(self, notebook: NotebookNode, test: NotebookNode) -> CellRun:
        about = info(test)
        same = [one for one in notebook.cells if info(one)["exercise"] == about["exercise"]]
        key = (about["grade_id"], *(one.source for one in same))
        if key not in self.shown:
            self.shown[key] = self.live.flows[about["room"]].run(test)
        return self.shown[key]


class Exercises:
    """The notebook `solutions/NAME.ipynb`, its known mistakes, and right answers by another way."""

    def __init__(self, name: str) -> None:
        self.chapter: Chapter = load_chapter(COURSE.solutions / f"{name}.ipynb")
        self.mistakes: list[Misconception] = misconceptions_of(self.chapter)
        self.others = second_answers(self.chapter)

    def lacking(self, exercise: Exercise) -> list[str]:
        """What an exercise of the course needs beside its cells, and this one has not, each in words."""
        lesson = next((COURSE.chapters).glob(f"{self.chapter.number}_*.ipynb"))
        known = sum(mistake.exercise == exercise.number for mistake in self.mistakes)
        beside = f"solutions/misconceptions/{self.chapter.path.stem}"
        needs = {
            "points: hidden tests with `points` in their metadata": exercise.points > 0,
            f"a second right answer in solutions/others/{self.chapter.path.stem}.py or .cu": (
                exercise.number in self.others
            ),
            f"its line in the table at the end of chapters/{lesson.name}": exercise.number in table(lesson),
            f"three known mistakes in {beside}.py or .cu: it is core, and has {known}": (
                known >= 3 or exercise.number not in self.core
            ),
        }
        return [f"{exercise.name} lacks {what}" for what, there in needs.items() if not there]

    @property
    def core(self) -> set[str]:
        """The exercises whose heading says that they are core."""
        cells = notebooks.cells(self.chapter.path, self.chapter.notebook)
        text = "\n".join(cell.source for cell in cells if not cell.is_code)
        return set(re.findall(r"(?m)^### (\d+\.\d+) .*\(core", text))

    @cached_property
    def first(self) -> list[Misconception]:
        """The first known mistake of each exercise."""
        return [*bundles(self.mistakes)[0].values()]

    @cached_property
    def graded(self) -> dict[str, dict[str, ExerciseResult]]:
        """Results by name: mistakes-0, others. `control` raises where a stub earns a point."""
        return self._graded(self.first)

    @cached_property
    def all_graded(self) -> dict[str, dict[str, ExerciseResult]]:
        """The same with all mistakes: mistakes-0, mistakes-1, ..."""
        return self._graded(self.mistakes)

    def control(self) -> None:
        """Raise CourseError where the reference loses a point, or an empty notebook earns one."""
        with self._conditions() as conditions:
            control(self.chapter, conditions, [])

    @contextmanager
    def _conditions(self) -> Iterator[Kept]:
        with private_folder() as folder, closing(Live(self.chapter, COURSE, folder, seed=7)) as live:
            yield Kept(COURSE, seed=7, box=Box.off(), workers=1, timeout=PATIENT, live=live)

    def _graded(self, mistakes: Sequence[Misconception]) -> dict[str, dict[str, ExerciseResult]]:
        bundled = {f"mistakes-{k}": bundle for k, bundle in enumerate(bundles(mistakes))}
        made = {name: mistaken(self.chapter, bundle) for name, bundle in bundled.items()}
        answers = {"others": self.others}
        for name, bundle in bundled.items():
            wrong = {key: f"{one.source}\n\nhanded_in = True" for key, one in bundle.items()}  # no stub is
            answers[name] = self.chapter.reference() | wrong
        with self._conditions() as conditions:
            _, measure = control(self.chapter, conditions, mistakes)
            runs = conditions.run(made | {"others": assemble(self.chapter, self.others)})
        return {
            name: {
                one.exercise.number: one
                for one in measure.result(Submission(name, name, name, answers[name], {}), run).exercises
            }
            for name, run in runs.items()
        }

    def points(self, answers: Iterable[tuple[str, str]]) -> list[float]:
        """What each of some answers to exercises earns by itself, as `check` runs it."""
        with private_folder() as folder, closing(Live(self.chapter, COURSE, folder, seed=7)) as live:
            return [self._points(live, number, source) for number, source in answers]

    def _points(self, live: Live, number: str, source: str) -> float:
        run = live.run(live.exercises[number], assemble(self.chapter, {number: source}))
        one = Submission("one", "one", "one", {number: source}, {})
        return live.measure(live.exercises[number]).result(one, run).exercises[0].points


class ExerciseTests:
    """Collected as a class of its own in each chapter's file: `class TestExercises(ExerciseTests)`."""

    exercises: Exercises

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if "other" in metafunc.fixturenames:
            others = [pytest.param(one, marks=self.when) for one in self.exercises.chapter.exercises]
            metafunc.parametrize("other", others, ids=lambda one: one.number)
        if "mistake" in metafunc.fixturenames:
            metafunc.parametrize("mistake", [self.case(mistake) for mistake in self.exercises.mistakes])
        if "exercise" in metafunc.fixturenames:
            metafunc.parametrize("exercise", self.exercises.chapter.exercises, ids=lambda one: one.number)

    @property
    def when(self) -> pytest.MarkDecorator:
        number = self.exercises.chapter.number
        by_day = pytest.mark.thorough if number in BY_DAY else pytest.mark.nightly
        return pytest.mark.slow if number in EACH_TIME else by_day

    def case(self, mistake: Misconception) -> ParameterSet:
        """The first mistake of each exercise is tried by day, the others at night."""
        marks = [self.when, *([] if mistake in self.exercises.first else [pytest.mark.nightly])]
        return pytest.param(mistake, id=f"{mistake.exercise} {mistake.hint[:40]}", marks=marks)

    def test_an_exercise_lacks_nothing(self, exercise):
        assert self.exercises.lacking(exercise) == []

    def test_the_prose_counts_the_exercises(self):
        chapter = self.exercises.chapter
        said = chapter.notebook.cells[0].source
        count, there = re.search(r"(\w+) exercises on", said), len(chapter.exercises)
        assert count and count[1].lower() == NUMBERS[there], f"{chapter.path}: {there} exercises, not: {said}"
        pieces = re.search(r"(\w+) are pieces of the library", said)
        exported = sum("#| export" in one.reference for one in chapter.exercises)
        assert not pieces or pieces[1].lower() == NUMBERS[exported], (
            f"{chapter.path}: {exported} pieces: {said}"
        )

    def test_a_wrong_answer_loses_points_and_earns_its_hint(self, mistake):
        found = enumerate(bundles(self.exercises.mistakes))
        place = next(k for k, bundle in found if mistake in bundle.values())
        graded = self.exercises.graded if mistake in self.exercises.first else self.exercises.all_graded
        result = graded[f"mistakes-{place}"][mistake.exercise]
        assert result.points < result.exercise.points
        assert result.hint == mistake.hint

    def test_another_right_answer_earns_all_points(self, other):
        result = self.exercises.graded["others"][other.number]
        assert (result.points, result.messages) == (other.points, ())

    def test_a_chapter_has_six_exercises_four_of_them_core(self):
        """Later chapters have more parts, with fewer each; two of chapter 03 have fewer."""
        number = self.exercises.chapter.number
        few = {"03b": (2, 3), "03d": (3, 5), "05": (3, 5), "07": (3, 5), "09": (3, 5), "10": (3, 4)}
        core, least = few.get(number, few.get(number[:2], (4, 6)))
        assert len(self.exercises.core) >= core
        assert len(self.exercises.chapter.exercises) >= least
