"""Part 3c, graded: wrong answers earn their hints, other right answers earn all points."""

from __future__ import annotations

from graded import Exercises, ExerciseTests


class TestExercises(ExerciseTests):
    exercises = Exercises("03c_modules")
