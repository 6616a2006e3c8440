"""Chapter 10b, graded; and its pictures."""

from __future__ import annotations

from graded import Exercises, ExerciseTests

from coursekit.pictures import draw_sizes, draw_windows


class TestExercises(ExerciseTests):
    exercises = Exercises("10b_facts")


def test_pictures_say_in_words_what_they_show():
    assert "8 numbers with padding (0, 0): 3 windows of 3" in draw_windows(8, 3, 2, (0, 0)).alt
    picture = draw_sizes([("image", "B,3,f32"), ("Relu", "B,3,f32"), ("Gemm", "B,4,f32")])
    assert picture.page.count("<img") == 3 and "After Gemm: B,4,f32" in picture.alt
