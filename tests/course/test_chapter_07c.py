"""Chapter 07c, graded: wrong answers earn their hints, other right answers all points. And its figures."""

from __future__ import annotations

import itertools
import json
import math
import re

import numpy as np
import pytest
from graded import COURSE, Exercises, ExerciseTests

from benchmarks import mamba_rates
from coursekit import notebooks
from minilib.mamba import Mamba, MambaConfig


class TestExercises(ExerciseTests):
    exercises = Exercises("07c_mamba")


@pytest.fixture(scope="module")
def lesson():
    return notebooks.read(COURSE.chapters / "07c_mamba.ipynb").cells


def output_of(lesson, beginning):
    """The text of all outputs of the only code cell with a line that begins so."""
    (cell,) = [
        c for c in lesson
        if c.cell_type == "code" and re.search(f"(?m)^ *{re.escape(beginning)}", c.source)
    ]  # fmt: skip
    return "\n".join(o.get("text") or o.get("data", {}).get("text/plain", "") for o in cell.outputs)


def prose(lesson):
    return " ".join("\n".join(c.source for c in lesson if c.cell_type == "markdown").split())


# The figures of the lesson


def test_the_opening_shows_the_networks_that_the_lesson_trains(lesson):
    rows = re.findall(r"(?m)^\| `([a-h· ]+)` \| `([a-h ]+)` \| `([a-h ]+)` \|$", lesson[0].source)
    assert len(rows) == 3
    printed = output_of(lesson, "for row, *said in")
    for row in rows:
        assert "    ".join(row) in printed
    told = re.search(r"letters right, of [\d,]+ texts \| (\d+) % \| (\d+) %", lesson[0].source).groups()
    ends = re.findall(r"ends at (\d+\.\d)%", output_of(lesson, "sizes, models, scores ="))
    assert [int(part) for part in told] == [round(float(end)) for end in ends]
    assert float(ends[0]) > 95 and float(ends[1]) < 65


def test_the_best_filter_explains_a_ninth(lesson):
    """Of the mark at p: the sum of p²(1-p)^2j is p / (2 - p)."""
    explained = int(output_of(lesson, "long, marks =").strip("%'\n")) / 100
    assert abs(explained - 0.2 / 1.8) < 0.015


def test_a_steep_gate_holds_what_was_marked(lesson):
    off = dict(re.findall(r"steepness ([\d.]+): (\d+\.\d+)", output_of(lesson, "draw_standstill(")))
    assert float(off["0"]) > 0.3 and float(off["8"]) < 0.01


def test_the_last_places_of_the_convolution_see_the_future(lesson):
    assert "the first twelve: [6, 7, 8, 9]\nthe last twelve: [3, 4, 5, 6]" in output_of(lesson, "other = x")


def test_parameters_are_those_of_the_published_model(lesson):
    layers, width, vocabulary, n, r = 24, 768, 50_280, 16, 48
    e = 2 * width
    block = 2 * e * width + 5 * e + e * (r + 2 * n) + r * e + e + n * e + e + e * width
    count = vocabulary * width + layers * (block + width) + width
    assert f"{block + width:,} a layer, {count:,} in all" in output_of(lesson, "one = sum(")
    small = Mamba(MambaConfig(64, 2, 50_280 // 64))
    assert small.num_parameters() == sum(
        p.size for p in {id(p): p.numpy() for p in small.parameters()}.values()
    )


def test_a_large_embedding_starts_in_the_hundreds(lesson):
    told = output_of(lesson, "begun = ")
    large, small = (
        [float(part) for part in re.search(rf"std {spread}: ([\d., ]+\d)", told)[1].split(", ")]
        for spread in ("1", "0.02")
    )
    assert large[-1] > 300 and max(small) < math.log(256) + 0.6
    ratios = np.array(large) / [64, 128, 256, 512]
    assert ((ratios > 0.8) & (ratios < 1.2)).all()  # about C


def test_the_milestone_copies_nearly_all_letters(lesson):
    said = output_of(lesson, "said = model(asked)")
    assert float(re.search(r"([\d.]+)% of the letters copied", said)[1]) > 95


def test_no_rate_and_no_seed_turns_the_race_round(lesson):
    rows = json.loads(mamba_rates.RESULTS.read_text(encoding="utf-8"))["rows"]
    asked = itertools.product(mamba_rates.KINDS, mamba_rates.RATES, mamba_rates.SEEDS)
    assert {(row["kind"], row["rate"], row["seed"]) for row in rows} == {*asked}
    told = re.search(
        r"rates \w+ ([\d., ]+) \w+ ([\d.]+),[^.]*?(\d+) percent[^.]*?(\d+) \w+ (\d+)",
        prose(lesson),
    )
    rates = {float(rate) for rate in [*told[1].split(", "), told[2]]}
    ends = {
        kind: [100 * row["right"] for row in rows if row["kind"] == kind and row["rate"] in rates]
        for kind in mamba_rates.KINDS
    }
    assert max(ends["fixed"]) <= int(told[3]) < max(ends["fixed"]) + 1
    assert [round(f(ends["selective"])) for f in (min, max)] == [int(told[4]), int(told[5])]
    live = re.findall(r"ends at (\d+\.\d)%", output_of(lesson, "sizes, models, scores ="))
    for kind, end in zip(mamba_rates.KINDS, live, strict=True):
        (row,) = [r for r in rows if (r["kind"], r["rate"], r["seed"]) == (kind, 0.01, 0)]
        assert abs(100 * row["right"] - float(end)) < 3  # one training, on another day
    assert len({row["behind"] for row in rows if "behind" in row and row["rate"] in rates}) > 1


@pytest.mark.thorough
def test_a_row_of_that_record_is_made_by_the_program():
    row = mamba_rates.run("selective", 0.01, 0, steps=1)
    assert 0 <= row["right"] <= 1 and row["behind"] in range(6)
