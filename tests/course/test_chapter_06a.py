"""Chapter 06a, graded: wrong answers earn their hints, other right answers all points. And its figures."""

from __future__ import annotations

import json

from graded import COURSE, Exercises, ExerciseTests

from benchmarks import bpe
from coursekit import notebooks
from coursekit.pictures import draw_melting


class TestExercises(ExerciseTests):
    exercises = Exercises("06a_tokens")


def lesson():
    return notebooks.read(COURSE.chapters / "06a_tokens.ipynb")


def test_the_lesson_shows_what_was_recorded():
    rows = json.loads(bpe.RESULTS.read_text())["rows"]
    assert bpe.table(rows) in "\n".join(cell.source for cell in lesson().cells)


def test_the_recorded_rows_are_of_the_same_numbers_and_training_takes_seconds():
    recorded = json.loads(bpe.RESULTS.read_text())
    assert recorded["text"]["characters"] == 1_000_000 and len(recorded["text"]["sha256"]) == 64
    seconds = {(row["library"], row["task"]): row["seconds"] for row in recorded["rows"]}
    assert seconds["minilib", "train"] < 5
    assert seconds["minilib", "fresh"] < seconds["mingpt", "fresh"]


def test_the_text_of_the_benchmark_has_a_million_characters_and_words_in_cipher():
    text = bpe.megabyte()
    assert len(text) == 1_000_000
    assert "Assert statements" in text and "Bttfsu tubufnfout" in text and "Cuugtv uvcvgogpvu" in text


def test_the_slider_of_the_lesson_has_every_state_and_a_still_in_one_output():
    picture = draw_melting("abc <abd>", [("a", "b"), ("x", "y"), ("ab", "c")])
    assert [k for k, _ in picture.steps] == [0, 1, 3]
    assert picture.steps[-1][1] == ("abc", " ", "<", "ab", "d", ">")
    data, metadata = picture._repr_mimebundle_()
    assert "<output>3</output>" in data["text/html"] and "&lt;" in data["text/html"]
    assert data["image/png"] and metadata["image/png"]["alt"] == picture.alt
    (shown,) = (o for c in lesson().cells for o in c.get("outputs", []) if "<script>" in str(o.get("data")))
    assert "image/png" in shown.data and shown.metadata["image/png"]["alt"]
