"""Figures in lessons 02 and 03: where several places give one they agree; what can be is found anew."""

from __future__ import annotations

import ast
import inspect
import json
import re
from pathlib import Path

import numpy as np
import pytest
from figures import tells

from benchmarks import digits, optimisers, scalar
from coursekit import notebooks
from coursekit.pictures import operations
from minilib import functional as F
from minilib import reference
from minilib.tensor import concatenate, record, tensor

CHAPTERS = Path(__file__).parents[2] / "chapters"


class Lesson:
    """What a lesson's cells say, do and have printed."""

    def __init__(self, name: str) -> None:
        cells = notebooks.read(next(CHAPTERS.glob(f"{name}_*.ipynb"))).cells
        self.markdown = "\n".join(c.source for c in cells if c.cell_type == "markdown")
        self.prose = " ".join(self.markdown.split())
        self.code = [c.source for c in cells if c.cell_type == "code"]
        outputs = [output for c in cells for output in c.get("outputs", [])]
        self.printed = "".join(output.get("text", "") for output in outputs)
        self.results = "\n".join(output["data"]["text/plain"] for output in outputs if "data" in output)

    def found(self, pattern: str) -> tuple[str, ...]:
        """The groups of the only place in what was printed that looks so."""
        (match,) = re.finditer(pattern, self.printed)
        return match.groups()

    def cell(self, beginning: str) -> str:
        """The only code cell with a line that begins so."""
        (source,) = [s for s in self.code if re.search(f"(?m)^{re.escape(beginning)}", s)]
        return source


def lines_of_code(source: str) -> int:
    """Without docstrings, comments and what is blank."""
    tree = ast.parse(source)
    strings = [node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)]
    strings = [s for s in strings if isinstance(s, ast.Constant) and isinstance(s.value, str)]
    documentation = {line for s in strings for line in range(s.lineno, (s.end_lineno or 0) + 1)}
    lines = enumerate(source.splitlines(), 1)
    return sum(bool(line.split("#")[0].strip()) and number not in documentation for number, line in lines)


# 02a, 02b: arrays instead of objects


def test_the_moons_of_02b_lose_what_those_of_01_lose():
    pattern = r"step +(\d+): loss ([\d.]+)"
    one, two = (dict(re.findall(pattern, Lesson(name).printed)) for name in ("01", "02b"))
    assert len(two) == 4
    for step, loss in two.items():
        assert abs(float(loss) - float(one[step])) < 1.5e-6
    *first, last = (one[step] for step in two)
    assert tells(Lesson("02b").prose, *first, last)


@pytest.mark.slow
def test_operations_of_a_step_are_counted():
    lesson, names = Lesson("02b"), {}
    for source in [s for s in lesson.code if s.startswith("#| milestone")][:3]:
        exec(source, names)
    parameters = [*names["layer"](2, 16), *names["layer"](16, 16), *names["layer"](16, 1)]
    loss = names["loss_of"](parameters)
    loss.backward()
    with record() as down:
        names["descend"](parameters, [p.grad for p in parameters], 1.0)
    forward = len(operations(loss))
    assert tells(lesson.prose, forward, len(down))


def test_lines_of_the_engine_are_counted():
    assert tells(Lesson("02b").prose, lines_of_code(inspect.getsource(reference.walk)))


def test_how_much_faster_arrays_are_is_said_in_one_way():
    arrays, engine = Lesson("02a"), Lesson("02b")
    slow, fast, ratio = map(float, engine.found(r"numbers (\d+) ms, tensors ([\d.]+) ms a step: (\d+) times"))
    assert ratio == pytest.approx(slow / fast, rel=0.02) and 100 <= ratio < 1000

    recorded = json.loads(scalar.RESULTS.read_text())["rows"]
    (objects,) = [r for r in recorded if (r["library"], r["collector"]) == ("minilib", "as used")]
    assert tells(arrays.prose, f"{objects['milliseconds']:.0f}")
    assert 100 * float(*arrays.found(r"([\d.]+) ms for one loss")) < objects["milliseconds"]


def test_02a_trains_to_the_losses_of_01_where_add_sums_and_to_others_where_it_does_not():
    pattern = r"step +(\d+): loss ([\d.]+)"
    one = dict(re.findall(pattern, Lesson("01").printed))
    found = re.findall(pattern, Lesson("02a").printed)
    hasty, summed = dict(found[:4]), dict(found[4:])
    assert hasty.keys() == summed.keys() == {"0", "1", "9", "99"}
    assert {step: f"{float(loss):.6f}" for step, loss in summed.items()} == {
        step: one[step] for step in summed
    }
    assert tells(Lesson("02a").prose, *(one[step] for step in summed))
    assert float(hasty["99"]) < float(summed["99"]) and hasty["0"] == summed["0"]
    right = re.findall(r"(\d+)% right", Lesson("02a").results)
    assert [right[0], *right[2:]] == ["100"] * 3 and int(right[1]) < 95


# 03e: momentum, and the race


def across(rate: float, momentum: float) -> float:
    """The largest factor of a step of (place, velocity) where the curvature is 25."""
    step = np.array([[1 - rate * 25, -rate * momentum], [25, momentum]])
    return max(abs(np.linalg.eigvals(step)))


def test_the_longest_step_with_momentum():
    lesson = Lesson("03e")
    rows = re.findall(r"momentum ([\d.]+): limit ([\d.]+), below it (\S+), above it (\S+)", lesson.printed)
    assert len(rows) == 3
    for momentum, limit, below, above in ((float(number) for number in row) for row in rows):
        assert limit == pytest.approx(2 * (1 + momentum) / 25, abs=5e-4)
        exact = 2 * (1 + momentum) / 25
        assert across(0.999 * exact, momentum) < 1 < across(1.001 * exact, momentum)
        assert below < 0.1 and above > 10


def test_the_race_is_fair():
    rows = json.loads(optimisers.RESULTS.read_text())["rows"]
    assert len(rows) == len(optimisers.KINDS) * len(optimisers.SCHEDULES)
    for row in rows:
        assert len(row["grid"]) == len(optimisers.RATES) and len(row["losses"]) == len(optimisers.STARTS)
        assert 0 < row["grid"].index(min(loss for loss in row["grid"] if loss)) < len(row["grid"]) - 1
        assert row["rate"] == optimisers.RATES[row["grid"].index(min(loss for loss in row["grid"] if loss))]
    assert not {*optimisers.TUNED_ON} & {*optimisers.STARTS}


def test_the_longer_race_of_03e_is_the_recorded_one():
    rows, lesson = json.loads(optimisers.RESULTS.read_text())["rows"], Lesson("03e")
    assert " ".join(optimisers.table(rows).split()) in lesson.prose
    best = {
        kind: min((optimisers.mean(rows, kind, schedule), schedule) for schedule in optimisers.SCHEDULES)
        for kind in optimisers.KINDS
    }
    assert best["AdamW"][1] != "constant"
    winner = {
        schedule: min(optimisers.KINDS, key=lambda kind: optimisers.mean(rows, kind, schedule))
        for schedule in optimisers.SCHEDULES
    }
    assert [*winner.values()] == ["momentum 0.9", "AdamW", "AdamW"]
    spread = {kind: {False: [], True: []} for kind in optimisers.KINDS}  # by whether the rate falls
    for row in rows:
        spread[row["optimiser"]][row["schedule"] != "constant"] += row["losses"]
    adamw, sgd, momentum = spread["AdamW"], spread["SGD"], spread["momentum 0.9"]
    assert max(adamw[True]) < min(adamw[False])
    assert tells(lesson.prose, *(f"{f(adamw[falls]):.4f}" for falls in (False, True) for f in (min, max)))
    assert tells(lesson.prose, *(f"{f(sgd[True]):.3f}" for f in (min, max)))
    assert tells(lesson.prose, *(f"{f(momentum[False] + momentum[True]):.3f}" for f in (min, max)))


def test_plain_descent_took_its_rate_at_a_cliff_and_one_step_lower_it_is_steady():
    recorded, lesson = json.loads(optimisers.RESULTS.read_text()), Lesson("03e")
    cliff = {(row["schedule"], row["rate"]): row["losses"] for row in recorded["cliff"]["rows"]}
    assert [*cliff] == optimisers.CLIFF and {len(losses) for losses in cliff.values()} == {12}
    assert not {*optimisers.TUNED_ON} & {*optimisers.TWELVE}
    for row in recorded["rows"]:
        if row["optimiser"] == "SGD" and row["schedule"] != "constant":
            at = row["grid"].index(min(loss for loss in row["grid"] if loss))
            below, above = row["grid"][at - 1], row["grid"][at + 1]
            assert below < 0.04 and above == pytest.approx(np.log(10), abs=0.01)  # nothing is learned
            assert optimisers.RATES[at - 1] == 0.46 and row["losses"] == cliff[row["schedule"], 1.0][:4]
    for schedule in ("cosine", "warm-up and cosine"):
        ends = [
            f"{min(cliff[schedule, rate]):.3f} to {max(cliff[schedule, rate]):.3f}" for rate in (0.46, 1.0)
        ]
        assert f"| {schedule} | {' | '.join(ends)} |" in lesson.prose


@pytest.mark.slow
def test_the_winner_wins_again():
    again = [
        optimisers.run("AdamW", "warm-up and cosine", 0.046, 3),
        optimisers.run("SGD", "constant", 0.46, 3),
    ]
    assert again[0] < 0.004 < 0.008 < again[1]


def test_the_table_of_03e_is_what_its_race_has_printed():
    lesson = Lesson("03e")
    rows = re.findall(r"(SGD|momentum 0\.9|AdamW) +rate ([\d.]+) +([\d.]+%)", lesson.printed)
    assert len(rows) == 12
    told = [line for line in lesson.markdown.splitlines() if line.startswith("| 3e |")]
    for line, kind in zip(told, ("SGD", "momentum 0.9", "AdamW"), strict=True):
        _, rate, share = max((row for row in rows if row[0] == kind), key=lambda row: float(row[2][:-1]))
        assert tells(line, rate, share)


# 03a, 03c, 03f: digits


def test_each_share_of_digits_has_its_network_and_its_split():
    rows_read, asked = Lesson("03a").found(r"([\d.]+%) of (\d+) new digits right")
    right, asked_too = Lesson("03b").found(r"([\d.]+%) of (\d+) new digits right")
    (teacher,) = Lesson("03c").found(r"teacher ([\d.]+%)")
    assert asked == asked_too == "288" and digits.OTHERS == 1415
    assert "(1149, 288, 360)" in Lesson("03a").results + Lesson("03f").results
    assert tells(Lesson("03c").prose, teacher)
    assert tells(Lesson("03a").prose, rows_read)
    assert tells(Lesson("03b").prose, f"{float(right[:-1]):.0f}")


def test_the_network_that_is_trained_live_keeps_the_promise_of_the_opening():
    share, error = map(float, Lesson("03f").found(r"test set: ([\d.]+)%, standard error ([\d.]+)%"))
    assert share >= 98.5 and error < 1


def test_the_test_set_is_looked_at_once():
    code = "\n".join(s for s in Lesson("03f").code if not s.startswith("#| milestone"))
    assert len(re.findall(r"\bput_away\b", code)) == 3  # made, counted, asked about once


def test_what_is_said_of_moved_digits_is_what_four_networks_read():
    lesson = Lesson("03f")
    shares = re.findall(r"([\d.]+%) of the moved digits", lesson.printed)
    assert len(shares) == 4 and tells(lesson.prose, *shares)
    assert tells(lesson.prose, *re.findall(r"'([\d,]+)'", lesson.results))  # parameters


def test_a_leak_shows_as_a_gap_between_two_figures_of_one_network():
    lesson = Lesson("03f")
    (own,), (honest,) = lesson.found(r"its own validation: ([\d.]+)%"), lesson.found(r"of the 288: ([\d.]+)%")
    assert float(own) - float(honest) > 1


# Shards


def test_synchronised_batch_norm_makes_shards_equal_the_whole():
    rng = np.random.default_rng(0)
    whole, parted = (tensor(values, requires_grad=True) for values in [rng.normal(size=(8, 3))] * 2)
    weights = tensor(rng.normal(size=(8, 3)))
    (F.batch_norm(whole, None, None, training=True) * weights).sum().backward()

    halves = parted[:4], parted[4:]
    mean = (halves[0].sum(0) + halves[1].sum(0)) / 8
    variance = (((halves[0] - mean) ** 2).sum(0) + ((halves[1] - mean) ** 2).sum(0)) / 8
    together = concatenate([(half - mean) / (variance + 1e-5).sqrt() for half in halves])
    (together * weights).sum().backward()
    assert np.allclose(whole.grad.data, parted.grad.data, atol=1e-12)
