"""Hidden tests are decided on plain data, forged data too."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coursekit.box.probe import encode
from coursekit.errors import CourseError
from coursekit.grading import compare
from coursekit.grading.model import CellRun, NotebookRun, Probe


def differs(expected: Any, got: Any, tolerance: float = 1e-9) -> str | None:
    return compare.difference(encode(expected), encode(got), tolerance)


def cell(*probes: tuple[str, Any], status: str = "ok", error: str = "") -> CellRun:
    shown = tuple(Probe(name, encode(value)) for name, value in probes)
    return CellRun("t-hidden", "1.1", status, shown, error)


SAME = [
    (2, 2.0),
    (2.0, np.float32(2)),
    (np.int64(3), 3),
    (0.1 + 0.2, 0.3),
    (math.nan, float("nan")),
    (math.inf, math.inf),
    ([1, 2.0], (1.0, 2)),
    ([], ()),
    (True, np.True_),
    ("text", "text"),
    (None, None),
    ({"a": 1, "b": [2]}, {"b": [2.0], "a": 1.0}),
    ({1: "x"}, {1.0: "x"}),
    (np.zeros((0, 3)), np.zeros((0, 3))),
    (np.array([1.0, math.nan, -math.inf]), np.array([1.0, math.nan, -math.inf])),
    (np.array([True, False]), np.array([True, False])),
    (10**400, 10**400),
]


@pytest.mark.parametrize("expected, got", SAME, ids=[str(i) for i in range(len(SAME))])
def test_equal_values_are_equal(expected: Any, got: Any) -> None:
    assert differs(expected, got) is None


DIFFERENT = [
    (1.0, 1.31, "differs from the expected by 0.31"),
    ([1.0, 2.0], [1.0, 2.5], "differ from the expected by up to 0.5"),
    (1.0, None, "expected a float, got None"),
    (None, 1, "expected None, got an int"),
    (True, 1, "expected a bool, got an int"),
    (1, True, "expected an int, got a bool"),
    (True, False, "should not be False"),
    ("a", "b", "is another text than expected"),
    ("a", 1.0, "expected a str, got a float"),
    (1.0, math.nan, "expected a finite number, got nan"),
    (math.inf, 1.0, "expected plus infinity, got a finite number"),
    (math.inf, -math.inf, "expected plus infinity, got minus infinity"),
    (np.zeros(4), np.zeros((3, 4)), "expected shape (4,), got (3, 4)"),
    (np.zeros(4), [0.0] * 4, "expected an array of shape (4,), got a list"),
    (1.0, np.zeros((1,)), "expected a float, got an array of shape (1,)"),
    (np.zeros(2, "float32"), np.zeros(2), "expected dtype float32, got float64"),
    (np.zeros(2), np.array(["a", "b"]), "expected dtype float64, got another"),
    ([1, 2, 3], [1, 2], "expected 3 items, got 2"),
    ([[1], "a"], [[2], "a"], "value 1 of 2: differs from the expected by 1"),
    ({"a": 1}, {"b": 1}, "has other keys than expected"),
    ({"a": 1}, {"a": 2}, "a value differs from the expected by 1"),
    (1.0, object(), "expected a float, got an object of another type"),
    (1.0, len, "expected a float, got an object of another type"),
    (1.0, map(str, ()), "expected a float, got a map"),
    (10**400, 0, "differs from the expected by more than 1e100"),
]


@pytest.mark.parametrize("expected, got, message", DIFFERENT, ids=[str(i) for i in range(len(DIFFERENT))])
def test_a_difference_is_told_in_words(expected: Any, got: Any, message: str) -> None:
    assert differs(expected, got) == message


def test_tolerance_is_absolute_plus_relative() -> None:
    assert differs(1000.0, 1000.9, 1e-3) is None
    assert differs(1000.0, 1002.0, 1e-3)
    assert differs(0.0, 5e-4, 1e-3) is None


def test_the_tolerance_of_a_submission_is_ignored() -> None:
    got = CellRun("t-hidden", "1.1", "ok", (Probe("value", encode(5.0), tolerance=1e9),))
    assert compare.verdict(cell(("value", 1.0)), got) == "value: differs from the expected by 4"


FORGED = [
    [],
    {},
    [[[]]],
    3,
    1.5,
    {"int": "9" * 5000},
    {"int": None},
    {"float": "0x1p99999999"},
    {"float": 7},
    {"float": []},
    {"array": 3, "shape": [], "dtype": "float64"},
    {"array": [1.0], "shape": None, "dtype": 4},
    {"array": [{"float": "0x1p0"}] * 3, "shape": [1], "dtype": "float64"},
    {"array": [None], "shape": [1], "dtype": "float64"},
    {"list": 3},
    {"list": {"0": 1}},
    {"tuple": None},
    {"dict": [1]},
    {"dict": [[{"list": []}]]},
    {"object": ["float"]},
]


@pytest.mark.parametrize("forged", FORGED, ids=[str(i) for i in range(len(FORGED))])
@pytest.mark.parametrize("expected", [1.0, [1.0], np.ones(1), {"a": 1}, "a", None, True], ids=repr)
def test_forged_data_is_wrong_and_breaks_nothing(expected: Any, forged: Any) -> None:
    assert compare.difference(encode(expected), forged, 1e-9)


def test_deeply_nested_data_breaks_nothing() -> None:
    deep: Any = {"list": []}
    for _ in range(100_000):
        deep = {"list": [deep]}
    assert differs([1.0], 1.0)
    assert compare.difference(encode([1.0]), deep, 1e-9)
    while deep["list"]:  # a deep structure is taken apart by hand: its destructor would recurse
        deep = deep["list"][0]


def test_names_made_up_by_a_submission_are_not_told() -> None:
    secret = type("return_2_times_x", (), {})()
    assert "return" not in str(differs(1.0, secret))
    forged = {"array": [], "shape": [123456789, 0], "dtype": "secret"}
    assert "123456789" not in str(compare.difference(encode(np.zeros(4)), forged, 1e-9))
    forged = {"array": [encode(0.0)] * 4, "shape": [4], "dtype": "secret"}
    assert "secret" not in str(compare.difference(encode(np.zeros(4)), forged, 1e-9))


# Verdicts on cells


def test_a_message_begins_with_the_name_of_the_probe() -> None:
    expected = cell(("value", 1.0), ("broadcast", np.zeros(4)))
    got = cell(("value", 1.0), ("broadcast", np.zeros((3, 4))))
    assert compare.verdict(expected, got) == "broadcast: expected shape (4,), got (3, 4)"


def test_the_probes_of_the_reference_once_each_and_in_order() -> None:
    expected = cell(("a", 1), ("b", 2))
    assert compare.verdict(expected, cell(("a", 1), ("b", 2))) is None
    assert compare.verdict(expected, cell(("a", 1))) == "b: was not shown"
    assert compare.verdict(expected, cell()) == "a: was not shown"
    more = "more was shown than the test shows, or in another order"
    for shown in [(("b", 2), ("a", 1)), (("a", 1), ("a", 1), ("b", 2)), (("a", 1), ("b", 2), ("c", 3))]:
        assert compare.verdict(expected, cell(*shown)) == more


def test_right_values_do_not_excuse_an_error() -> None:
    got = cell(("value", 1.0), status="error", error="ValueError: no")
    assert compare.verdict(cell(("value", 1.0)), got) == "stopped with ValueError: no"


@pytest.mark.parametrize("status", ["timeout", "died", "flood", "missing", "xpassed", "skipped", ""])
def test_any_other_status_than_ok_is_wrong(status: str) -> None:
    assert compare.verdict(cell(("value", 1.0)), cell(("value", 1.0), status=status))


def test_a_stub_is_not_solved_yet() -> None:
    assert compare.verdict(cell(), cell(status="unsolved")) == "not solved yet"


def test_a_judge_decides_on_data_and_its_crash_is_the_submissions_fault(tmp_path: Path) -> None:
    judges = tmp_path / "01_x.py"
    judges.write_text(
        "from __future__ import annotations\n"
        "def judge_t_hidden(name, expected, got):\n"
        "    return None if sorted(got['list']) == sorted(expected['list']) else 'other items'\n"
    )
    reference = NotebookRun("reference", (cell(("order", ["a", "b"])),))
    compare.save_expected(tmp_path / "expected.json", reference, judges)
    decide = compare.load_expected(tmp_path / "expected.json")
    assert decide(cell(("order", ["b", "a"]))) is None
    assert decide(cell(("order", ["b"]))) == "order: other items"
    assert decide(cell(("order", 3))) == "order: is not of the expected form"
    assert decide(CellRun("strange", "1.1", "ok")) == "is no test of this chapter"
    assert list(tmp_path.glob("__pycache__")) == []


def test_judges_that_cannot_be_loaded_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "01_x.py").write_text("def judge_x(:\n")
    with pytest.raises(CourseError, match=r"01_x\.py: cannot be loaded: SyntaxError"):
        compare.load_judges(tmp_path / "01_x.py")
    assert compare.load_judges(tmp_path / "absent.py") == {}


def test_what_a_judge_says_is_short() -> None:
    told = compare.verdict(cell(("a", 1)), cell(("a", 2)), lambda name, want, have: "x" * 10_000)
    assert told is not None and len(told) < 250


def of_three(status: str, *values: float) -> CellRun:
    return CellRun("a", "1.1", status, tuple(Probe(f"p{k}", {"int": str(v)}) for k, v in enumerate(values)))


@pytest.mark.parametrize(
    ("got", "share"),
    [
        (of_three("ok", 1, 2, 3), 1),
        (of_three("error", 1, 2), 2 / 3),
        (of_three("ok", 9, 2, 9), 1 / 3),
        (of_three("unsolved"), 0),
        (of_three("ok", 1, 2, 3, 4), 0),
        (CellRun("a", "1.1", "ok", (Probe("p1", {"int": "2"}),)), 0),
    ],
)
def test_the_share_of_values_that_are_right(got: CellRun, share: float) -> None:
    assert compare.share(of_three("ok", 1, 2, 3), got) == pytest.approx(share)
