"""Chapter 10d, graded; its pictures; and what it says of streams."""

from __future__ import annotations

import numpy as np
from graded import COURSE, Exercises, ExerciseTests

from coursekit import notebooks
from coursekit.pictures import draw_conveyor, draw_late, draw_remembered, draw_seams, draw_work
from minilib.infer.buffers import late_window

TEXT = " ".join(
    " ".join(c.source for c in notebooks.read(COURSE.chapters / "10d_streams.ipynb").cells).split()
)


class TestExercises(ExerciseTests):
    exercises = Exercises("10d_streams")


# What the lesson says


def test_the_rule_gives_the_first_delay_with_which_every_window_ends_in_time():
    for delay in range(4):
        for span in range(1, 7):
            for stride in range(1, span + 1):
                for before in range(span + 3):
                    late, kept = late_window(delay, span, stride, before)
                    runs = [late for late in range(30) if ends_in_time(late, delay, span, stride, before)]
                    assert late == runs[0], (delay, span, stride, before)
                    assert kept == late * stride + before - delay >= span - stride


def ends_in_time(late: int, delay: int, span: int, stride: int, before: int) -> bool:
    """When n frames have passed, result n / stride - late - 1 ends at frame n - delay - 1 or earlier."""
    n = 60 * stride
    newest = n // stride - late - 1
    return newest * stride - before + span - 1 <= n - delay - 1


def test_the_five_questions_are_answered_rightly():
    assert late_window(0, span=9, stride=1, before=8) == (0, 8)
    assert "Eight, and not at all" in TEXT


# Pictures


def test_the_conveyor_has_a_step_for_each_run_and_words():
    made = draw_conveyor(frames=12, pulse=4, span=3, before=1)
    data, _ = made._repr_mimebundle_()
    assert data["text/html"].count("<img") == 4 and 'type="range"' in data["text/html"]
    assert "the buffer holds the 2 before; out go y3, y4, y5, y6" in made.alt


def test_pictures_say_in_words_what_they_show():
    whole = np.zeros(8)
    assert "1 of 8 frames are wrong" in draw_seams(whole, np.eye(8)[3], 4).alt
    assert "conv: frame 0 at time 2" in draw_late({"x": 0, "conv": 2}, 6).alt
    assert "cache: 8 after the first, 24 after the last" in draw_remembered({"cache": [8, 16, 24]}).alt
    assert "again: 1 for the first, 3 for the last" in draw_work(3, {"again": [1, 2, 3]}).alt
