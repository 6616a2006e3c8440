"""Hints: by the values of a known mistake, and where a judge tells mistakes apart by what it says of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from coursekit.box.probe import encode
from coursekit.grading.compare import telling
from coursekit.grading.hints import Known, blames, hint
from coursekit.grading.misconceptions import Misconception
from coursekit.grading.model import CellRun, Probe
from coursekit.grading.plain import Other, numbers, plain


def cell(value: Any, name: str = "order") -> CellRun:
    return CellRun("t-hidden", "1.1", "ok", (Probe(name, encode(value)),))


def judge(name: str, expected: Any, got: Any) -> str | None:
    """Any order will do in which all are there and something has moved."""
    if sorted(plain(got)) != sorted(plain(expected)):
        return "some are missing"
    return "nothing is shuffled" if plain(got) == sorted(plain(got)) else None


RIGHT = {"t-hidden": cell([2, 1, 3, 4])}
KNOWN = [
    Known(Misconception("1.1", "all of them", ""), {"t-hidden": cell([1, 2])}),
    Known(Misconception("1.1", "shuffle", ""), {"t-hidden": cell([1, 2, 3, 4])}),
    Known(Misconception("1.1", "not the last", ""), {"t-hidden": cell([1, 2, 3])}),
]


def earned(value: Any, judges: dict[str, Any]) -> str | None:
    return hint([cell(value)], KNOWN, RIGHT, judges)


def test_the_values_of_a_mistake_earn_its_hint() -> None:
    assert earned([1, 2, 3], {}) == "not the last"
    assert earned([3, 4], {}) is None


def test_a_judge_that_tells_mistakes_apart_finds_the_hint_whatever_was_drawn() -> None:
    judges = {"t-hidden": telling(lambda *shown: judge(*shown))}
    assert earned([3, 4], judges) == "all of them"
    assert earned([1, 2, 3, 4], judges) == "shuffle"
    assert earned([1, 2, 3], judges) == "not the last", "the same values count more than the same words"
    assert earned([4, 3, 2, 1], judges) is None, "the judge has nothing to say of it"


def two(value: Any, cost: Any) -> list[CellRun]:
    return [cell(value), CellRun("t-cost", "1.1", "ok", (Probe("cost", encode(cost)),))]


@pytest.mark.parametrize(
    "value, cost, earns",
    [(0.37, 9, True), (0.37, 8, True), (0.36, 9, False), (2.0, 9, True), (2.0, 8, False)],
)
def test_of_drawn_values_that_agree_another_cost_is_no_other_mistake(
    value: Any, cost: Any, earns: bool
) -> None:
    def dear(name: str, expected: Any, got: Any) -> str | None:
        return "too dear" if plain(got) > plain(expected) else None

    of = {one: Misconception("1.1", f"{one}", "") for one in (0.37, 2.0)}
    knowns = [Known(one, {run.grade_id: run for run in two(value, 9)}) for value, one in of.items()]
    right = {run.grade_id: run for run in two(0.5, 1)}
    assert hint(two(value, cost), knowns, right, {"t-cost": dear}) == (str(value) if earns else None)


def stopped_after(*values: Any) -> CellRun:
    probes = tuple(Probe(f"p{k}", encode(value)) for k, value in enumerate(values))
    return CellRun("t-hidden", "1.1", "error", probes, "ValueError: another mistake")


@pytest.mark.parametrize(
    "values, earns",
    [((0.5, 0.37), True), ((0.5,), False), ((0.5 + 1e-13,), False), ((0.5, 0.36), False), ((), False)],
)
def test_values_up_to_an_error_name_a_mistake_if_they_are_wrong(
    values: tuple[float, ...], earns: bool
) -> None:
    whole = replace(stopped_after(0.5, 0.37, 0.1), status="ok", error="")
    right = replace(stopped_after(0.5, 0.6, 0.7), status="ok", error="")
    knowns = [Known(Misconception("1.1", "known", ""), {"t-hidden": whole})]
    assert hint([stopped_after(*values)], knowns, {"t-hidden": right}, {}) == ("known" if earns else None)


def test_any_other_judge_finds_none() -> None:
    assert earned([3, 4], {"t-hidden": judge}) is None


def test_what_was_shown_comes_back() -> None:
    values = [1, 10**30, 2.5, float("inf"), None, True, "text", [1, (2, 3)], {"a": [1]}]
    assert plain(encode(values)) == values
    array = np.arange(6.0).reshape(2, 3)
    assert np.array_equal(plain(encode(array)), array) and plain(encode(np.int64(3))) == 3
    assert isinstance(plain(encode(object())), Other)
    assert np.array_equal(numbers(plain(encode([1, 2]))), [1, 2])


@pytest.mark.parametrize("forged", [7, {}, {"x": 1}, {"array": [], "shape": [2], "dtype": "x"}])
def test_what_nobody_shows_is_refused(forged: Any) -> None:
    with pytest.raises((TypeError, KeyError, ValueError)):
        plain(forged)


@pytest.mark.parametrize("value", ["text", [True], [[1], [1, 2]], [10**30], object()])
def test_what_is_no_number_is_refused(value: Any) -> None:
    with pytest.raises(ValueError):
        numbers(plain(encode(value)))


def test_a_hint_blames_only_what_the_answer_has() -> None:
    words = "`enumerate` begins at 0 again: use `np.arange`."
    own = Misconception("1.1", words, "for i, x in enumerate(xs): f(i)")
    assert blames(own, "for i, x in enumerate(xs): pass", "for x in xs: pass")
    assert not blames(own, "for x in xs: pass", "for x in xs: pass")
    assert blames(own, "for x in xs: pass", "for x in enumerate(xs): pass")
