"""Chapter 03f, graded: wrong answers earn their hints, other right answers all points. And its figures."""

from __future__ import annotations

import json
import re

from graded import COURSE, Exercises, ExerciseTests

from benchmarks import digits
from coursekit import notebooks


class TestExercises(ExerciseTests):
    exercises = Exercises("03f_training")


def recorded():
    return json.loads(digits.RESULTS.read_text())["rows"]


def test_the_recorded_means_are_what_the_course_promises():
    rows = recorded()
    assert digits.mean(rows, "mlp", "random") >= 0.975 and digits.mean(rows, "cnn", "random") >= 0.99
    assert {row["seed"] for row in rows} == set(range(5))


def test_the_chapter_shows_what_was_recorded():
    rows, chapter = recorded(), notebooks.read(COURSE.chapters / "03f_training.ipynb")
    text = "\n".join(cell.source for cell in chapter.cells)
    assert digits.table(rows) in text
    mean = {
        (name, where): digits.mean(rows, name, where) for name in digits.MODELS for where in digits.SPLITS
    }
    bars = dict(re.findall(r'"(MLP|CNN)": \(([\d., ]+)\)', text))
    for name in digits.MODELS:
        assert bars[name.upper()] == ", ".join(f"{100 * mean[name, where]:.1f}" for where in digits.SPLITS)
    opening = chapter.cells[0].source
    assert f"{mean['cnn', 'random']:.1%}" in opening and f"{mean['cnn', 'writers']:.1%}" in opening
