"""Chapter 08c, graded; its pictures; and what it says of the recorded seconds."""

from __future__ import annotations

import json

from figures import tells
from graded import COURSE, Exercises, ExerciseTests

from coursekit import notebooks
from coursekit.pictures import draw_asked, draw_compiled, draw_streams, draw_tag


class TestExercises(ExerciseTests):
    exercises = Exercises("08c_shipping")


def test_the_seconds_of_the_lesson_are_the_recorded_ones():
    text = " ".join(c.source for c in notebooks.read(COURSE.chapters / "08c_shipping.ipynb").cells)
    record = COURSE.root / "benchmarks" / "results" / "extension.json"
    found = json.loads(record.read_text(encoding="utf-8"))
    seconds = [*found["inline"].values(), found["compiled"]["seconds"]]
    assert tells(text, *(f"{one:.1f}" for one in seconds))
    assert found["inline"]["torch/library.h"] < 0.5 * found["inline"]["torch/extension.h"]
    assert found["wheel"]["seconds"] < 30 and found["wheel"]["bytes"] < 40_000


def test_pictures_say_in_words_what_they_show():
    assert "a 2.0, b 1.0" in draw_compiled({"a": 2.0, "b": 1.0}).alt
    asked = draw_asked({"old": ["_ZN2at5emptyE", "torch_one"], "new": ["torch_two"]}).alt
    assert asked == "old asks for 1 names of C++ and 1 of C; new asks for 0 names of C++ and 1 of C"
    assert "cp310: from 3.10" in draw_tag("a-1-cp310-abi3-any.whl", ["a", "b", "from\n3.10", "c", "d"]).alt
    assert draw_streams().alt.startswith("A drawing.")
