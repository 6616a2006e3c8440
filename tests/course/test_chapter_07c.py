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


def prose_lines(lesson):
    return "\n".join(c.source for c in lesson if c.cell_type == "markdown")


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


@pytest.fixture(scope="module")
def rows():
    """The recorded race: kind, rate, seed, right."""
    rows = json.loads(mamba_rates.RESULTS.read_text(encoding="utf-8"))["rows"]
    asked = itertools.product(mamba_rates.KINDS, mamba_rates.RATES, mamba_rates.SEEDS)
    assert {(row["kind"], row["rate"], row["seed"]) for row in rows} == {*asked}
    return rows


def ends(rows, kind, rate):
    """What this kind got right at this rate, in the order of the seeds."""
    chosen = sorted((row["seed"], row["right"]) for row in rows if (row["kind"], row["rate"]) == (kind, rate))
    return [right for _, right in chosen]


def test_every_recorded_run_of_the_race_is_told(lesson, rows):
    told = re.findall(r"(?m)^\| (0\.\d+) \| ([\d., ]+) \| ([\d., ]+) \|$", prose_lines(lesson))
    assert [float(rate) for rate, *_ in told] == mamba_rates.RATES
    for rate, *cells in told:
        for kind, cell in zip(mamba_rates.KINDS, cells, strict=True):
            recorded = ends(rows, kind, float(rate))
            assert [float(one) for one in cell.split(", ")] == pytest.approx(
                [100 * right for right in recorded], abs=0.051
            )


def test_selection_wins_at_all_recorded_rates_but_the_largest_where_it_loses(rows):
    *small, large = mamba_rates.RATES
    for rate in small:
        assert min(ends(rows, "selective", rate)) > max(ends(rows, "fixed", rate))
    assert all(s < f for s, f in zip(ends(rows, "selective", large), ends(rows, "fixed", large)))


def test_the_lesson_trains_again_what_was_recorded(lesson, rows):
    live = re.findall(r"ends at (\d+\.\d)%", output_of(lesson, "sizes, models, scores ="))
    for kind, end in zip(mamba_rates.KINDS, live, strict=True):
        assert abs(100 * ends(rows, kind, 0.01)[0] - float(end)) < 3  # one training, on another day
    chosen = [row for row in rows if "behind" in row and row["rate"] < mamba_rates.RATES[-1]]
    assert len({row["behind"] for row in chosen}) > 1


@pytest.mark.thorough
def test_a_row_of_that_record_is_made_by_the_program():
    row = mamba_rates.run("selective", 0.01, 0, steps=1)
    assert 0 <= row["right"] <= 1 and row["behind"] in range(6)
