"""Hidden tests are decided on plain data, forged data too."""

from __future__ import annotations

import collections
import enum
import math
import random
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from coursekit.box.probe import encode, raised
from coursekit.errors import CourseError
from coursekit.grading import compare, wording
from coursekit.grading.model import CellRun, NotebookRun, Probe


def differs(expected: Any, got: Any, tolerance: float = 1e-9, **how: bool) -> str | None:
    return compare.difference(encode(expected), encode(got), tolerance, **how)


def cell(*probes: tuple[str, Any], status: str = "ok", error: str = "") -> CellRun:
    shown = tuple(Probe(name, encode(value)) for name, value in probes)
    return CellRun("t-hidden", "1.1", status, shown, error)


class Pair(NamedTuple):
    a: int
    b: int


class Number(enum.IntEnum):
    three = 3


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
    ({1: "x", (2, "a"): [1]}, {np.int64(1): np.str_("x"), (np.int32(2), np.str_("a")): (np.uint8(1),)}),
    ([[1, 2], [3.0]], ((np.int64(1), np.float32(2)), [np.float64(3)])),
    ([True, [False]], [np.True_, (np.False_,)]),
    (0.5, np.array(0.5)),
    (np.float64(2), 2),
    ("text", np.str_("text")),
    (np.array([1, 2]), np.array([1.0, 2.0])),
    (np.zeros(2, "float32"), np.zeros(2)),
    ([1, 2], Pair(1, 2)),
    ({"a": 1}, collections.Counter("a")),
    ({"a": [1]}, collections.defaultdict(list, a=[1])),
    ({"a": 1}, collections.OrderedDict(a=1)),
    (3, Number.three),
    (np.zeros((0, 3)), np.zeros((0, 3))),
    (np.array([1.0, math.nan, -math.inf]), np.array([1.0, math.nan, -math.inf])),
    (np.array([True, False]), np.array([True, False])),
    (10**400, 10**400),
]


@pytest.mark.parametrize("expected, got", SAME, ids=[str(i) for i in range(len(SAME))])
def test_equal_values_are_equal(expected: Any, got: Any) -> None:
    assert differs(expected, got) is None


DIFFERENT = [  # the third is what `check` tells, the fourth what a grade tells, where that is less
    (1.0, 1.31, "differs from the expected by 0.31", "differs from the expected by about 0.1"),
    (
        [1.0, 2.0],
        [1.0, 6.0],
        "differ from the expected by up to 4",
        "differ from the expected by up to about 10",
    ),
    (1.0, None, "expected a float, got None"),
    (None, 1, "expected None, got an int"),
    (True, 1, "expected a bool, got an int"),
    (1, True, "expected an int, got a bool"),
    (np.array([1, 0]), np.array([True, False]), "value 1 of 2: expected an int, got a bool"),
    (True, False, "should not be False"),
    ("a", "b", "is 'b', and should be 'a'", "is another text than expected"),
    (
        "x" * 30 + "=abc" + "y" * 20,
        "x" * 30 + "=def" + "y" * 20,
        f"from character 32 on is '... xxxxxxx=def{'y' * 20}', and should be '... xxxxxxx=abc{'y' * 20}'",
        "is another text than expected",
    ),
    ("float32", "float64", "expected dtype float32, got float64"),
    ("a", 1.0, "expected a str, got a float"),
    (1.0, math.nan, "expected a finite number, got nan"),
    (math.inf, 1.0, "expected plus infinity, got a finite number"),
    (math.inf, -math.inf, "expected plus infinity, got minus infinity"),
    (np.zeros(4), np.zeros((3, 4)), "expected shape (4,), got (3, 4)"),
    (np.zeros((3, 4)), np.zeros((4, 3)), "expected shape (3, 4), got (4, 3)"),
    (np.zeros((2, 3)), np.zeros(6), "expected shape (2, 3), got (6,)"),
    (
        np.zeros(3),
        np.zeros((72, 101)),
        "expected shape (3,), got (72, 101)",
        "expected shape (3,), got another one, of 2 axes",
    ),
    (np.zeros(4), [0.0] * 4, "expected an array of shape (4,), got a list"),
    (1.0, np.zeros((1,)), "expected a float, got an array of shape (1,)", "expected a float, got an array"),
    ([1, 2, 3], [1, 2], "expected 3 items, got 2", "expected 3 items, got one fewer"),
    ([1, 2, 3], [1] * 50, "expected 3 items, got 50", "expected 3 items, got more"),
    (
        [[1], "a"],
        [[2], "a"],
        "value 1 of 2: differs from the expected by 1",
        "value 1 of 2: differs from the expected by about 1",
    ),
    (
        ["a"] * 9,
        ["a"] * 8 + ["b"],
        "value 9 of 9: is 'b', and should be 'a'",
        "one of 9 values: is another text than expected",
    ),
    (
        [["a"] * 2] * 2,
        [["a"] * 2, ["a", "b"]],
        "value 2 of 2: value 2 of 2: is 'b', and should be 'a'",
        "value 2 of 2: is another text than expected",
    ),
    ({"a": 1}, {"b": 1}, "has other keys than expected"),
    (
        {"a": 1},
        {"a": 2},
        "a value differs from the expected by 1",
        "a value differs from the expected by about 1",
    ),
    (1.0, object(), "expected a float, got an object of another type"),
    (1.0, len, "expected a float, got an object of another type"),
    (1.0, map(str, ()), "expected a float, got a map"),
    (1.0, "none ran", "expected a float, got the text 'none ran'", "expected a float, got a str"),
    (
        10**400,
        0,
        "differs from the expected by more than 1e100",
        "differs from the expected by more than 1,000",
    ),
]


@pytest.mark.parametrize("case", DIFFERENT, ids=[str(i) for i in range(len(DIFFERENT))])
def test_a_difference_is_told_in_words(case: tuple[Any, ...]) -> None:
    expected, got, message, *less = case
    assert differs(expected, got, own=True) == message
    assert differs(expected, got) == (less or [message])[0]


def test_dtypes_count_where_the_name_of_the_probe_says_so() -> None:
    single, double = np.zeros(2, "float32"), np.zeros(2)
    assert differs(single, double) is None
    assert differs(single, double, dtypes=True) == "expected dtype float32, got float64"
    assert differs(double, np.array(["a", "b"]), dtypes=True) == "expected dtype float64, got another"
    for name in ("float32", "of uint8", "dtypes", "the dtype of a mean"):
        assert compare.verdict(cell((name, single)), cell((name, double)))
    for name in ("value", "floats", "gradient (3, 4)"):
        assert compare.verdict(cell((name, single)), cell((name, double))) is None


def test_an_exception_of_ones_own_counts_as_what_it_extends() -> None:
    own = type("NotPositive", (ValueError,), {"__module__": "__main__"})

    def refuse(kind: type[Exception]) -> None:
        raise kind("no")

    assert [raised(lambda kind=kind: refuse(kind)) for kind in (own, KeyError)] == ["ValueError", "KeyError"]
    assert raised(lambda: None) is None


def test_tolerance_is_absolute_plus_relative() -> None:
    assert differs(1000.0, 1000.9, 1e-3) is None
    assert differs(1000.0, 1002.0, 1e-3)
    assert differs(0.0, 5e-4, 1e-3) is None


def test_the_tolerance_of_a_submission_is_ignored() -> None:
    got = CellRun("t-hidden", "1.1", "ok", (Probe("value", encode(5.0), tolerance=1e9),))
    assert compare.verdict(cell(("value", 1.0)), got, own=True) == "value: differs from the expected by 4"


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


@pytest.mark.slow
def test_deeply_nested_data_breaks_nothing() -> None:
    deep: Any = {"list": []}
    for _ in range(100_000):
        deep = {"list": [deep]}
    assert differs([1.0], 1.0)
    assert compare.difference(encode([1.0]), deep, 1e-9)
    while deep["list"]:  # a deep structure is taken apart by hand: its destructor would recurse
        deep = deep["list"][0]


# What an answer can make a grade say: each text among which it chooses carries a part of the hidden test out

MOST = 128  # different texts for one value, whatever a process shows for it: 7 bits


class Adversary:
    """Shows what an answer could show that wants to be told apart: each kind, size, place and distance."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def number(self) -> Any:
        numbers = [0, 1, -1, 5, 0.5, math.nan, math.inf, -math.inf, 10 ** self.rng.randrange(30)]
        drawn = [self.rng.randrange(2**16), self.rng.gauss(0, 10 ** self.rng.randrange(-8, 9))]
        return encode(self.rng.choice(numbers + drawn))

    def shape(self, size: int) -> list[int]:
        divisors = [n for n in range(1, size + 1) if size % n == 0]
        axes = [self.rng.choice(divisors) for _ in range(self.rng.randrange(5))]
        return axes if self.rng.random() < 0.3 else [*axes, size // max(1, math.prod(axes))]

    def text(self) -> str:
        return self.rng.choice(
            ["nan", "float32", "int8", "".join(self.rng.choices("the quick brown 123 !?", k=9))]
        )

    def value(self, like: Any, depth: int = 0) -> Any:
        """Data near what is expected, at each place perhaps something else."""
        if self.rng.random() < 0.15 / (1 + depth) or not isinstance(like, dict):
            return self.anything(depth)
        for kind in ("list", "tuple"):
            if kind in like:
                items = [self.value(one, depth + 1) if self.rng.random() < 0.4 else one for one in like[kind]]
                more = self.rng.choice([items] * 6 + [items[:-1], items + items[:1], items * 9, []])
                return {self.rng.choice(["list", "tuple"]): more}
        if "dict" in like:
            return {"dict": [[key, self.value(one, depth + 1)] for key, one in like["dict"]]}
        if "array" in like:
            size = self.rng.choice([len(like["array"]), 2 * len(like["array"]), self.rng.randrange(1, 500)])
            same = size == len(like["array"]) and self.rng.random() < 0.5
            shape = like["shape"] if same else self.shape(size)
            values = (
                [self.number() for _ in range(size)] if self.rng.random() < 0.5 else [self.number()] * size
            )
            return {
                "array": values,
                "shape": shape,
                "dtype": self.rng.choice(["float32", "x", like["dtype"]]),
            }
        return self.number()

    def anything(self, depth: int) -> Any:
        made = [
            None,
            True,
            False,
            self.text(),
            self.number(),
            {"object": self.text()},
            {"object": "map"},
            {"dict": []},
        ]
        made += [
            encode(np.zeros(self.shape(6)[:4])),
            {"list": [self.number()] * self.rng.randrange(9)},
            {"odd": 1},
        ]
        return self.rng.choice(made)


SHOWN = {
    "number": 1.5,
    "text": "ab",
    "array": np.arange(24.0).reshape(2, 3, 4),
    "row": np.arange(5.0),
    "gradients": [np.ones((3, 4)), np.ones(4), None],
    "many": [np.ones(3), "a", 2.0, True, [1, ["x", 2]], {"k": np.ones(2)}, (1, 2), "float32"],
    "dictionary": {"a": np.ones((2, 2)), "b": [1, "c"]},
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", SHOWN)
def test_whatever_is_shown_a_grade_chooses_among_few_texts(name: str) -> None:
    adversary, want = Adversary(1), Probe(name, encode(SHOWN[name]))
    texts = {compare.judged(None, want, Probe(name, adversary.value(want.value))) for _ in range(5000)}
    assert 3 < len(texts) < MOST


def judges() -> list[tuple[str, Path]]:
    folder = Path(__file__).parents[2] / "solutions" / "judges"
    return [(name, path) for path in sorted(folder.glob("*.py")) for name in compare.load_judges(path)]


@pytest.mark.thorough
@pytest.mark.parametrize("name, path", judges(), ids=lambda one: str(getattr(one, "stem", one)))
def test_whatever_is_shown_a_judge_chooses_among_few_texts(name: str, path: Path) -> None:
    judge, adversary = compare.load_judges(path)[name], Adversary(2)
    texts = set()
    for shown in ("saved (4, 5)", "gradient", "graph n = 7", "kept", "runs", *SHOWN):
        want = Probe(shown, encode(SHOWN.get(shown, [[3, "ab"], 7, [1, 2]])))
        texts |= {compare.judged(judge, want, Probe(shown, adversary.value(want.value))) for _ in range(200)}
        assert len({text for text in texts if text and text.startswith(shown)}) < MOST


def spoken(path: Path, returns: str) -> compare.Judge:
    path.write_text(f"def judge_x(name, expected, got):\n    return {returns}\n")
    return compare.load_judges(path)["x"]


@pytest.mark.parametrize(
    "returns, got, told",
    [
        ('f"has {got} multiplications"', 7, "has 7 multiplications"),
        ('f"has {got} multiplications"', 8312, "has about 7,000 multiplications"),
        ('f"has {got} multiplications"', 10**40, "has more than 1,000,000 multiplications"),
        ('f"has {got}; {expected} would do"', 105, "has more than 100; 100 would do"),
        ('f"has {got}; {expected} would do"', 95, "has fewer than 100; 100 would do"),
        ('f"from {got} to {got}"', 77, "from about 70 to …"),
        ('f"you wrote {got}"', "rng normal (2, 3)", "you wrote … … (2, …)"),
        ('"4,096 bytes are kept"', 0, "4,096 bytes are kept"),
    ],
)
def test_a_judge_quotes_its_own_words_and_numbers(tmp_path: Path, returns: str, got: Any, told: str) -> None:
    judge = spoken(tmp_path / "01_x.py", returns.replace("{expected}", "{expected['int']}"))
    want = Probe("p", encode(100))
    assert compare.judged(judge, want, Probe("p", got)) == f"p: {told}"
    raw = compare.judged(judge, want, Probe("p", got), own=True)
    assert raw and (str(got) in raw or "got" not in returns)


def test_an_error_chooses_among_few_sentences() -> None:
    words = [f"w{n}" for n in range(300)]
    honest = "def f(x):\n    if x: raise ValueError('no')\n    return x.data.shape + helper(x).size"
    dictionary = f"def f(x):\n    x.{'.'.join(words)}\n    return [{', '.join(words)}]"
    forms = ["name '{}' is not defined", "No module named '{}'", "'NoneType' object has no attribute '{}'"]
    forms += ["'V' object has no attribute '{}'", "{}() missing 1 required", "{}"]
    for answer, least in ((honest, 4), (dictionary, 4)):
        said = {
            wording.error(f"{kind}: {form.format(word)}", answer)
            for kind in (*wording.KINDS, "Secret")
            for form in forms
            for word in (*words, "data", "shape", "helper", "f", "no", "secret")
        }
        assert least < len(said) < 100
        assert not any("secret" in one for one in said)


def test_names_made_up_by_a_submission_are_not_told() -> None:
    secret = type("return_2_times_x", (), {})()
    assert "return" not in str(differs(1.0, secret))
    forged = {"array": [], "shape": [123456789, 0], "dtype": "secret"}
    assert "123456789" not in str(compare.difference(encode(np.zeros(4)), forged, 1e-9))
    forged = {"array": [encode(0.0)] * 4, "shape": [4], "dtype": "secret"}
    assert "secret" not in str(compare.difference(encode(np.zeros(4)), forged, 1e-9, dtypes=True))


# Verdicts on cells


def test_a_message_begins_with_the_name_of_the_probe() -> None:
    expected = cell(("value", 1.0), ("broadcast", np.zeros(4)))
    got = cell(("value", 1.0), ("broadcast", np.zeros((3, 4))))
    assert compare.verdict(expected, got) == "broadcast: expected shape (4,), got (3, 4)"


def cases(results: list[Any], *of: str) -> CellRun:
    return CellRun("t-hidden", "1.1", "ok", (Probe("sums", encode(results), of=of),))


@pytest.mark.parametrize(
    ("expected", "got", "told"),
    [
        ([1, 2, 3], [1, 4, 3], "sums, of 5, 7: expected 2, got 4"),
        ([1, 2, 3], [0, 4, 0], "sums, of 10: expected 3, got 0; 3 of 3 are wrong"),
        ([1, 2, 3], [1, None, 3], "sums, of 5, 7: expected 2, got None"),
        ([1, [2, 3], "a"], [1, [2], "b"], "sums, of 10: expected 'a', got 'b'; 2 of 3 are wrong"),
        ([0.5, 0.1 + 1e-8, 3], [0.5, 0.1, 3], "sums, of 5, 7: differs from the expected by 1e-08"),
        ([1, np.zeros(90), 3], [1, np.ones(90), 3], "sums, of 5, 7: differ from the expected by up to 1"),
        ([1, {"a": 2}, 3], [1, {"a": 4}, 3], "sums, of 5, 7: a value differs from the expected by 2"),
        ([1, 2, 3], [1, 2], "sums: expected 3 items, got 2"),
        ([1, 2, 3], 5, "sums: expected a list, got an int"),
    ],
)
def test_of_cases_that_are_named_the_shortest_that_is_wrong_is_told(
    expected: Any, got: Any, told: str
) -> None:
    names = "1, 2, 3", "5, 7", "10"
    assert compare.verdict(cases(expected, *names), cases(got), own=True) == told
    assert compare.verdict(cases(expected, *names), cases(expected)) is None


def test_what_a_submission_calls_its_cases_is_not_looked_at() -> None:
    assert (
        compare.verdict(cases([1], "one"), cases([2], "secret"), own=True)
        == "sums, of one: expected 1, got 2"
    )
    assert "one" not in str(compare.verdict(cases([1], "one"), cases([2], "secret")))


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


def with_what_came_in(*values: float) -> CellRun:
    names = ("x", "y", "what came in")
    probes = (Probe(name, {"int": str(v)}) for name, v in zip(names, values))
    return CellRun("a", "1.1", "ok", tuple(probes))


@pytest.mark.parametrize(
    ("got", "share"),
    [((1, 2, 3), 1), ((9, 2, 3), 1 / 2), ((9, 9, 3), 0), ((1, 2, 9), 1 / 2), ((9, 2, 9), 0), ((9, 9, 9), 0)],
)
def test_what_nobody_changed_earns_nothing_by_itself(got: tuple[float, ...], share: float) -> None:
    assert compare.share(with_what_came_in(1, 2, 3), with_what_came_in(*got)) == pytest.approx(share)


def test_what_cannot_be_read_is_never_right_even_where_the_reference_shows_no_better() -> None:
    long = Probe("(malformed)", None)
    run = CellRun("t-hidden", "1.1", "ok", (long,))
    assert "over 200 characters" in (compare.verdict(run, run) or "")
    assert compare.share(run, run) == 0
