"""What holds for the exercises of every chapter; `test_chapter_NN.py` names one and answers it otherwise."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path

import pytest

from coursekit import notebooks
from coursekit.course import find_course
from coursekit.grading.assemble import Chapter, assemble, load_chapter
from coursekit.grading.control import Conditions, control, misconceptions_of, mistaken
from coursekit.grading.hints import bundles
from coursekit.grading.misconceptions import Misconception
from coursekit.grading.results import ExerciseResult
from coursekit.grading.sandbox import Box
from coursekit.grading.submissions import Submission

COURSE = find_course(Path(__file__).parent)


class Exercises:
    """The notebook `solutions/NAME.ipynb`, its known mistakes, and right answers by another way."""

    def __init__(self, name: str, others: dict[str, str]) -> None:
        self.chapter: Chapter = load_chapter(COURSE.solutions / f"{name}.ipynb")
        self.mistakes: list[Misconception] = misconceptions_of(self.chapter)
        self.others = others

    @property
    def core(self) -> set[str]:
        """The exercises whose heading says that they are core."""
        cells = notebooks.cells(self.chapter.path, self.chapter.notebook)
        text = "\n".join(cell.source for cell in cells if not cell.is_code)
        return set(re.findall(r"(?m)^### (\d+\.\d+) .*\(core", text))

    @cached_property
    def graded(self) -> dict[str, dict[str, ExerciseResult]]:
        """Results by name: mistakes-0, ..., others. `control` raises where a stub earns a point."""
        conditions = Conditions(COURSE, seed=7, box=Box.off(), workers=1)
        _, measure = control(self.chapter, conditions)
        made = {
            f"mistakes-{k}": mistaken(self.chapter, bundle) for k, bundle in enumerate(bundles(self.mistakes))
        }
        runs = conditions.run(made | {"others": assemble(self.chapter, self.others)})
        return {
            name: {
                one.exercise.number: one
                for one in measure.result(Submission(name, name, name, self.others, {}), run).exercises
            }
            for name, run in runs.items()
        }


@pytest.mark.slow
class ExerciseTests:
    """Collected as a class of its own in each chapter's file: `class TestExercises(ExerciseTests)`."""

    exercises: Exercises

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if "mistake" in metafunc.fixturenames:
            mistakes = self.exercises.mistakes
            metafunc.parametrize("mistake", mistakes, ids=lambda one: f"{one.exercise} {one.hint[:40]}")
        if "exercise" in metafunc.fixturenames:
            metafunc.parametrize("exercise", self.exercises.chapter.exercises, ids=lambda one: one.number)

    def test_a_wrong_answer_loses_points_and_earns_its_hint(self, mistake):
        found = enumerate(bundles(self.exercises.mistakes))
        place = next(k for k, bundle in found if mistake in bundle.values())
        result = self.exercises.graded[f"mistakes-{place}"][mistake.exercise]
        assert result.points < result.exercise.points
        assert result.hint == mistake.hint

    def test_another_right_answer_earns_all_points(self, exercise):
        result = self.exercises.graded["others"][exercise.number]
        assert (result.points, result.messages) == (exercise.points, ())

    def test_each_core_exercise_knows_three_mistakes_and_each_exercise_has_points(self):
        known = [mistake.exercise for mistake in self.exercises.mistakes]
        assert len(self.exercises.core) >= 4
        assert all(known.count(number) >= 3 for number in self.exercises.core)
        all_of_them = self.exercises.chapter.exercises
        assert len(all_of_them) >= 6 and all(one.points for one in all_of_them)
