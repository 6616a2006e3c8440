"""Chapter 08c, graded; its pictures; and what it says of the recorded seconds."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import subprocess
import sys
import zipfile
from typing import Any

import pytest
from figures import tells
from graded import COURSE, Exercises, ExerciseTests

from coursekit import notebooks
from coursekit.pictures import draw_asked, draw_compiled, draw_streams, draw_tag
from coursekit.pictures.shipping import numbers_by


class TestExercises(ExerciseTests):
    exercises = Exercises("08c_shipping")


@pytest.mark.slow
def test_pip_installs_a_wheel_that_was_written_by_hand(tmp_path):
    cells = notebooks.read(COURSE.solutions / "08c_shipping.ipynb").cells
    there: dict[str, Any] = {"base64": base64, "hashlib": hashlib, "io": io, "zipfile": zipfile}
    for cell in cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") in ("wheel-given", "wheel"):
            exec(cell.source, there)
    wheel = tmp_path / "byhand-0.1-py3-none-any.whl"
    wheel.write_bytes(there["wheel"]("byhand", "0.1", "py3-none-any", {"byhand.py": b"two = 2"}))
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target"]
    subprocess.run([*command, str(tmp_path / "site"), str(wheel)], check=True)
    asked = [sys.executable, "-c", "import byhand; print(byhand.two)"]
    assert subprocess.check_output(asked, cwd=tmp_path / "site", text=True).strip() == "2"


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
    streams = draw_streams()
    assert (
        streams.alt.startswith("A drawing.")
        and "no order: 8 written, 8 read, 4 of them too early" in streams.alt
    )
    assert streams.page.count("<img") == 10 and 'type="range"' in streams.page


@pytest.mark.parametrize("now", range(10))
def test_who_waits_for_an_event_reads_nothing_too_early(now):
    written, read, early = numbers_by(now, start=5.2)
    assert not early and set(read) <= set(written)
