"""What the numbers themselves say: relations that hold speak, and chance never does."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from coursekit.box.probe import encode
from coursekit.grading.diagnosis import diagnosis, pairs_of
from coursekit.grading.errors import endless, explained
from coursekit.grading.model import CellRun, Probe
from coursekit.grading.results import PLACES

Values = list[tuple[str, Any]]


def cell(values: Values) -> CellRun:
    return CellRun("t-hidden", "1.1", "ok", tuple(Probe(name, encode(value)) for name, value in values))


def said(want: Values, have: Values, inputs: Any = (), *, own: bool = True) -> str:
    return diagnosis(pairs_of(cell(want), cell(have), inputs), own=own) or ""


def drawn(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).normal(size=shape)


X, Y = drawn(1, 4, 5), drawn(2, 4, 5)
SQUARE = drawn(3, 4, 4)
MISTAKES: list[tuple[Any, Any, str]] = [
    (X, -X, "wrong sign"),
    ([1284, 88], [107, 88 / 12], "a whole factor"),
    (9320093220751060617, -9126650852958490999, "whole numbers of 64 bits"),
    ([5_000_000_000, 7], [705_032_704, 7], "whole numbers of 32 bits"),
    (-5_000_000_001, 2**64 - 5_000_000_001, "read as a number without a sign"),
    (X, 2 * X, "twice what it should be"),
    (float(X[0, 0]), float(X[0, 0]) / 2, "half of what"),
    (X, X * 5, "too large by the length of an axis"),
    (X, X / 20, "too small by the length of an axis"),
    (X, X + 1, "larger by 1"),
    (X, X.T, "transposed"),
    (X, X.T.reshape(X.shape), "`reshape` exchanges no axes"),
    (np.stack([X[0], 0 * X[0], X[1]]), X[:2], "the rows of 0 are missing"),
    ([float(X[0, 0]), float(X[0, 1])], [float(X[0, 0]), -np.inf], "a minus infinity"),
    (SQUARE, SQUARE.T, "transposed"),
    (X, X[::-1], "reverse order along axis 0"),
    (X, np.roll(X, 1, 0), "shifted by one place towards the end"),
    (X, X[:-1], "the last one is missing"),
    (X, X[1:], "the first one is missing"),
    (X[:-1], X, "one too many at the end"),
    (X.sum(0), X, "the sum over an axis is missing"),
    (X.sum(1, keepdims=True), X.sum(1), "keepdims"),
    (X, X.sum(1), "summed over an axis that should stay"),
    (np.sqrt(abs(X)), abs(X), "a root missing"),
    (np.log(abs(X)), abs(X), "a logarithm missing"),
    (X, np.floor(X), "cut down to whole numbers"),
    (X, abs(X), "without its sign"),
    (X, np.zeros((4, 5)), "0 everywhere"),
    ([X, X[0, :2]], [np.zeros((4, 5)), np.zeros(2)], "0 everywhere"),
    (X, X.astype(np.float32), "float32"),
    (X[0], X[0][::-1].copy(), "reverse order"),
    (X / X.sum(1, keepdims=True), X / X.max(1, keepdims=True), "each row is off by a factor"),
    ([X, Y], [Y, X], "another one of the expected results"),
    (float(X[0, 0]), None, "None: is a `return` missing"),
    (np.where(X > 0, X, 0), X, "wrong only where 0 is expected"),
    (np.tril(SQUARE), SQUARE, "above the diagonal"),
    (["a", "bc", "d", "e"], ["e", "d", "bc", "a"], "reverse order"),
    ([31, 140, 250, 961, 77], [31, 140, 250, 961], "the last one is missing"),
]


@pytest.mark.parametrize("want, have, words", MISTAKES, ids=[one[2] for one in MISTAKES])
def test_a_relation_is_told(want: Any, have: Any, words: str) -> None:
    assert words.lower() in said([("a", want)], [("a", have)]).lower()


def test_it_names_the_input_that_was_given_back_or_left_out() -> None:
    inputs = [("x", X), ("rate", np.array(0.037)), ("", Y)]
    assert "equal to the input `x`" in said([("a", Y * X + 1)], [("a", X)], inputs).lower()
    assert "`rate`" in said([("a", 0.037 * X)], [("a", X)], inputs[1:])
    assert "an input" in said([("a", X + Y)], [("a", X)], inputs[2:])


def test_beside_a_large_offset_differences_still_count() -> None:
    assert "same amount" in said([("a", X)], [("a", X + 0.37)])
    assert "same amount" not in said([("a", X)], [("a", 1e6 + 300 * Y)])


def test_it_says_where_it_is_right() -> None:
    want = [("one", X[0]), ("two", [X, Y]), ("three", Y)]
    have = [("one", X[0]), ("two", [X, 3 * Y**2]), ("three", Y)]
    assert said(want, have) == "Right in `one`, `three`, wrong in `two`; only value 2 of 2 is wrong."
    last = X.copy()
    last[-1] = 7
    more = Y.copy()
    more[-1] = 8
    assert "Only the last row is wrong" in said([("a", X), ("b", Y)], [("a", last), ("b", more)])


def test_a_relation_that_holds_for_some_values_alone_names_their_probe() -> None:
    words = said([("one", X), ("two", Y)], [("one", -X), ("two", Y**2)])
    assert words.startswith("In `one`: the right numbers with the wrong sign")


def test_of_several_values_that_are_wrong_the_first_may_say_why() -> None:
    want, have = [X, Y, X * Y], [np.floor(X), Y, np.sin(Y)]
    words = said([("one", want), ("two", want)], [("one", have), ("two", have)])
    assert words.startswith("In value 1 of 3: cut down to whole numbers")
    words = said([("one", want), ("two", want)], [("one", [-X, Y, Y**2]), ("two", [X**3, Y, Y**2])])
    assert words.startswith("In `one`, value 1 of 3: the right numbers with the wrong sign")


def test_truths_that_are_wrong_in_one_way_alone() -> None:
    want = [True, False, False, True, False]
    assert "True where False is expected" in said([("a", want)], [("a", [True, True, False, True, True])])
    assert "False where True is expected" in said([("a", want)], [("a", [True, False, False, False, False])])
    assert said([("a", want)], [("a", [False, True, False, True, False])]) == ""
    numbers = [X, Y, want], [X**2, Y**3, [True, True, True, True, True]]
    assert "True where" not in said([("a", numbers[0])], [("a", numbers[1])])


def test_one_none_among_values_is_no_missing_return() -> None:
    want, have = [("told", [0.73, True, 5])] * 2, [("told", [0.73, True, None])] * 2
    assert "not handed on" in said(want, have) and "`return`" not in said(want, have)


def test_what_should_have_stayed_as_it_was() -> None:
    inputs = [("x", X), ("y", Y)]
    want, have = [("dx", X * Y), ("x afterwards", X)], [("dx", X * Y), ("x afterwards", Y)]
    assert "as it was before" in said(want, have, inputs)
    want, have = [("a", X), ("left alone", [X, None])], [("a", 3.7 * X), ("left alone", [Y, X])]
    assert said(want, have).startswith("In `left alone`: it should be as it was before")
    assert "nothing was done" not in said(want, have, inputs)
    assert said([("x", X)], [("x", Y)], [("y", X * X)]) == ""


def test_two_rows_are_enough_to_see_what_is_missing_in_each() -> None:
    two, bias = drawn(4, 2, 9), drawn(5, 2, 1)
    assert "each row is off by an amount" in said([("a", two + bias)], [("a", two)]).lower()


def test_of_numbers_that_are_none_and_of_whole_multiples_nothing_is_made_up() -> None:
    lost = X.copy()
    lost[1] = np.nan
    assert "off by" not in said([("a", X)], [("a", lost)])
    some = [("", np.zeros(33))]
    words = said([("a", [33 * 128741, 33 * 9634])], [("a", [128741, 9634])], some)
    assert "axis" not in words and "a whole factor" in words


def test_a_single_number_is_off_by_another_that_was_drawn() -> None:
    inputs = [("", np.array(0.7312345)), ("", np.array(3.0))]
    assert "by exactly an input" in said([("a", 1.23456)], [("a", 1.23456 - 0.7312345)], inputs)
    assert said([("a", 1.23456)], [("a", 1.23456 - 3.0)], inputs) == ""


SHARES = np.abs(X) / np.abs(X).sum(1, keepdims=True)
CALLS = [drawn(k, 3) for k in range(10, 14)]


def in_turn(values: Any) -> Values:
    return [(f"call {k}", value) for k, value in enumerate(values)]


def test_what_is_left_of_the_calls_before() -> None:
    assert "not cleared" in said(in_turn(CALLS), in_turn(np.cumsum(CALLS, 0)))
    assert "that of the case before" in said(in_turn(CALLS), in_turn([Y[0, :3], *CALLS[:-1]]))
    assert "the first case" in said(in_turn(CALLS), in_turn([CALLS[0]] * 4))
    numbers = [float(x[0]) for x in CALLS]
    assert "not cleared" in said(in_turn(numbers), in_turn(np.cumsum(numbers).tolist()))
    few = [1.0, 0.0, 1.0, 0.0]
    assert said(in_turn(few), in_turn([1.0, 1.0, 1.0, 1.0])) in (
        "",
        "Right in `call 0`, `call 2`, wrong in `call 1`, `call 3`.",
    )


def test_a_broken_invariant_is_told() -> None:
    assert "add up to 1" in said([("p", SHARES)], [("p", SHARES + 0.01 * Y)])
    slopes = X - X.mean(1, keepdims=True)
    assert "add up to 0" in said([("dx", slopes)], [("dx", slopes + 0.1 * Y)])
    words = said([("dx", slopes), ("dw", Y[0])], [("dx", slopes + 0.1 * Y), ("dw", np.sin(9 * Y[0]))])
    assert words.startswith("In `dx`: its rows should add up to 0")
    assert "add up" not in said([("p", SHARES)], [("p", SHARES[:, ::-1].copy() * 1.0)])
    lost = X.copy()
    lost[1:, 2] = 0
    assert "Where it is wrong it is 0" in said([("a", X)], [("a", lost)])
    lost[1, 2] = np.nan
    assert "There is a nan" in said([("a", X)], [("a", lost)])


def test_wrong_only_where_numbers_are_equal() -> None:
    x = np.array([[3.0, 1.0, 3.0, 2.0], [5.0, 4.0, 0.5, 4.0]])
    ties = np.array([[True, False, True, False], [False, True, False, True]])
    want, have = drawn(7, 2, 4), drawn(8, 2, 4)
    words = said([("dx", want)], [("dx", np.where(ties, have, want))], [("x", x)])
    assert "Wrong only where numbers of `x` are equal" in words


def test_where_tests_are_private_no_name_no_place_and_no_number_is_told() -> None:
    inputs = [("secret", np.array(0.037))]
    told = {said([("hush", want)], [("hush", have)], inputs, own=False) for want, have, _ in MISTAKES}
    told.add(said([("hush", 0.037 * X)], [("hush", X)], inputs, own=False))
    assert len(told) < 40 and not any(re.search(r"hush|secret|value \d|0\.037", words) for words in told)


def wrong(rng: np.random.Generator, like: Any) -> Any:
    """A wrong answer without a reason: other numbers, of another scale, whole ones, in part right."""
    made: list[Callable[[], Any]] = [
        lambda: rng.normal(size=like.shape),
        lambda: rng.normal(size=like.shape) * 10.0 ** rng.integers(-3, 4),
        lambda: rng.integers(-9, 10, like.shape).astype(float),
        lambda: np.where(rng.random(like.shape) < 0.5, like, rng.normal(size=like.shape)),
        lambda: like + rng.normal(size=like.shape) * 10.0 ** rng.integers(-5, 1),
        lambda: rng.random(tuple(rng.integers(1, 6, rng.integers(1, 3)))),
    ]
    return made[rng.integers(len(made))]()


@pytest.mark.filterwarnings("error")
def test_infinities_warn_nobody_in_a_terminal() -> None:
    assert "infinity" in said([("p", X)], [("p", np.full_like(X, np.inf))])
    assert said([("p", X)], [("p", np.full_like(X, np.nan))])


@pytest.mark.parametrize("answers", [1_000, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_of_random_wrong_answers_none_is_told_a_reason(answers: int) -> None:
    rng, told = np.random.default_rng(5), []
    for _ in range(answers):
        shape = tuple(rng.integers(1, 5, rng.integers(0, 3)))
        want = rng.normal(size=shape) if rng.random() < 0.7 else rng.integers(0, 20, shape).astype(float)
        inputs = [("x", rng.normal(size=shape)), ("n", np.array(rng.uniform(0, 2)))]
        wants = [want, *(rng.permutation(want) if want.ndim else want + 1 for _ in range(rng.integers(0, 4)))]
        told.append(said(in_turn(wants), in_turn([wrong(rng, one) for one in wants]), inputs))
    assert [words for words in told if words and not words.startswith(PLACES)] == []
    within = [words for words in told if "nly " in words]
    assert len(within) < answers / 50, "places within a value are told seldom"


@pytest.mark.parametrize(
    "forged",
    [
        7,
        {"odd": 1},
        {"array": [], "shape": [2], "dtype": "x"},
        {"list": [{"float": "x"}]},
        {"int": "1" * 400},
    ],
)
def test_forged_data_says_nothing_and_breaks_nothing(forged: Any) -> None:
    for want in (X, [X, 1.5], 2.5, "text", np.zeros((1,) * 9)):
        have = CellRun("t-hidden", "1.1", "ok", (Probe("a", forged),))
        assert isinstance(diagnosis(pairs_of(cell([("a", want)]), have)) or "", str)


SIZES = "Input operand 1 has a mismatch in its core dimension 0, with gufunc signature (n?,k),(k,m?)->(n?,m?)"
ERRORS = [
    (
        "ModuleNotFoundError: No module named 'scipy'",
        "import scipy.fft as fft\ndef f(x):\n    return fft.rfft(x)",
        "`scipy`, and it is not there while answers are graded",
    ),
    (
        "ValueError: operands could not be broadcast together with shapes (2,3,3,3) (2,) (2,3,3,3)",
        "for i, tap in enumerate(taps):\n    out[tap] += grad[winner == i]",
        "`np.where(mask, numbers, 0)`",
    ),
    (
        "ValueError: operands could not be broadcast together with shapes (2,3) (2,)",
        "def f(x, w):\n    return x * w",
        "axes are compared from the last",
    ),
    (
        "TypeError: unsupported operand type(s) for ** or pow(): 'tuple' and 'int'",
        "def f(ctx):\n    x = ctx.saved_tensors\n    return x**2",
        "A tuple holds values",
    ),
    (
        "AttributeError: 'NoneType' object has no attribute 'shape'",
        "def made(f, D):\n    def keep(ctx):\n        ctx.done = 1\n\n    f(keep)\n    return D.shape",
        "an input that may be missing",
    ),
    (
        "ValueError: operands could not be broadcast together with shapes (3,) (4,4) (3,)",
        "def f(out, winner, grad):\n    out[winner == 2] += grad",
        "`grad[winner == 2]`",
    ),
    ("TypeError: object of type 'Value' has no len()", "def f(x):\n    return (x)", "`(x,)`"),
    (
        "TypeError: 'NoneType' object is not callable",
        "def clip_to(limit):\n    def hook(g):\n        return g * limit\n\n    hook",
        "`clip_to` has no `return`",
    ),
    (
        "TypeError: unsupported operand type(s) for ^: 'float' and 'int'",
        "def f(t):\n    return t ^ 2",
        "`**`",
    ),
    (
        "AttributeError: 'NoneType' object has no attribute 'data'",
        "def f(x):\n    x + 1",
        "`f` has no `return`",
    ),
    ("TypeError: 'NoneType' object is not iterable", "def f(x):\n    print(x + 1)", "`f` prints"),
    (
        "RecursionError: maximum recursion depth exceeded",
        "def __add__(self, other):\n    return Value(self + other)",
        "`self + other`",
    ),
    (
        "AttributeError: 'Value' object has no attribute 'tanh'",
        "def tanh(self):\n    return Value(1)",
        "@add_to(...)",
    ),
    ("NameError: name 'true' is not defined", "x = true", "`True`"),
    ("NameError: name 'resutl' is not defined", "result = 1\nprint(resutl)", "`result`"),
    (
        "ValueError: operands could not be broadcast together with shapes (3,4) (3,)",
        "x / x.sum(1)",
        "keepdims",
    ),
    (
        "AttributeError: 'float' object has no attribute 'grad'",
        "def step(ps, rate):\n    for p in ps:\n        p = p.data - rate * p.grad\n        p.grad = 0",
        "`p.data = ...`",
    ),
    (
        "TypeError: merged() missing 1 required positional argument: 'token'",
        "words = merged(word, best)",
        "`help(merged)`",
    ),
    (
        "ValueError: not enough values to unpack (expected 2, got 1)",
        "def f(shape):\n    n, m = shape",
        "`n, m = ...`",
    ),
    ("ValueError: math domain error", "loss = -math.log(p[t])", "`loss = -math.log(p[t])`"),
    ("OverflowError: math range error", "e = math.exp(x[i])", "`e = math.exp(x[i])`"),
    (
        "IndexError: index -100 is out of bounds for axis 1 with size 4",
        "p[rows, target]",
        "counts from the end",
    ),
    (
        "TypeError: Compare, of shape (2, 2), has no value while the program is written: only a run ...",
        "for node in program:\n    if node in inputs:\n        continue",
        "`if node in inputs:`",
    ),
    ("AttributeError: property 'op' of 'Call' object has no setter", "self.op = op", "`op` is a property"),
    (
        "AttributeError: 'NoneType' object has no attribute 'data'",
        "def f(ps):\n    for p in ps:\n        p.grad.data /= 2\n    return 1",
        "`p.grad.data /= 2`",
    ),
    ("KeyError: 'Sin'", "kind = KINDS[node.type]", "no `'Sin'`"),
    ("FloatingPointError: overflow encountered in exp", "y = np.exp(x)", "`y = np.exp(x)`"),
    ("FloatingPointError: invalid value encountered in divide", "y = x / x", "0 / 0"),
    ("NameError: name 'np' is not defined", "y = np.exp(x)", "import numpy"),
    (f"ValueError: matmul: {SIZES}", "def f(a, b):\n    return a @ b", "rows by columns"),
    (f"ValueError: {SIZES}", "def f(layer, out):\n    return layer.backward(out)", "Below your lines"),
    ("SyntaxError: invalid syntax", "def f(x)\n    return x", "`:` is missing"),
    ("SyntaxError: invalid syntax", "while n => 128:\n    n -= 1", "At least is `>=`"),
    ("TypeError: unsupported operand type(s) for &: 'a' and 'b'", "x = a == b & c == d", "write `and`"),
    (
        "CompileError: k.cu:2:7: error: expected a '('",
        "%%cuda k\nfor i in range(n) {",
        "for (int i = 0; i < n; i++)",
    ),
    ("KeyError: 'b'", "def f(xs):\n    for x in xs:\n        return xs['b']", "in its first turn"),
    (
        "ValueError: output array is read-only",
        "def f(x, g):\n    y = x\n    g *= x\n    return g",
        "`g *= x`",
    ),
    ("ValueError: assignment destination is read-only", "def f(x):\n    x[x < 0] = 0", "`x[x < 0] = 0`"),
    (
        "ValueError: cannot reshape array of size 2 into shape (4,2)",
        "def f(x, n):\n    return x[:n].reshape(4, 2)",
        "(4,2), which has 8",
    ),
    (
        "ValueError: operands could not be broadcast together with shapes (8,7) (8,8)",
        "def f(g, y):\n    return g - y * (g @ y.T)",
        "takes each row with each",
    ),
    ("KernelFault: module.cu:79: thread reads x[3]", "def f(x):\n    kernel((1,), (32,), (x,))", "is given"),
    ("ZeroDivisionError: float division by zero", "def f(m):\n    return 1 / m", "`return 1 / m`"),
    (
        "IndexError: index 5 is out of bounds for axis 0 with size 5",
        "for i in range(grad.size):\n    v[i] = grad[i]",
        "Axis 0 has 5 places, 0 to 4, and the index 5 is none of them. `grad.size` counts the numbers of all",
    ),
    (
        "IndexError: index 5 is out of bounds for axis 0 with size 5",
        "y = x[i + 1]",
        "is none of them, by one: look at `y = x[i + 1]`.",
    ),
    (
        "IndexError: index 9 is out of bounds for axis 1 with size 5",
        "y = x[i + 1]",
        "Axis 1 has 5 places, 0 to 4, and the index 9 is none of them.",
    ),
    (
        "IndexError: too many indices for array: array is 1-dimensional, but 2 were indexed",
        "def f(c, x, y):\n    out = y.copy()\n    out[c] = x[c]\n    return out",
        "`out[c] = x[c]` wants arrays with the axes of `c`",
    ),
    (
        "IndexError: too many indices for array: array is 1-dimensional, but 2 were indexed",
        "y = x[0, 1]",
        "2 indices stand in the brackets of an array with 1 axis",
    ),
    (
        "AttributeError: 'NoneType' object has no attribute 'dtype'",
        "d = ps[0].grad.dtype\nfor p in ps:\n    if p.grad is not None:\n        p.grad.data *= 2",
        "not used: `d = ps[0].grad.dtype`",
    ),
    (
        "TypeError: can't multiply sequence by non-int of type 'list'",
        "for n in g.tolist():\n    s = s + n * n",
        "then `n` is a list",
    ),
    (
        "RuntimeError: backward: nothing that this tensor was made of wants a gradient (requires_grad=True)",
        "def forward(self, x):\n    y = x.data + 1\n    return Tensor(y)",
        "`Tensor(y)` and `.data` keep numbers without",
    ),
    (
        "TypeError: tuple indices must be integers or slices, not tuple",
        "def f(self, idx):\n    y = self(idx)\n    idx = cat([idx[:, 1:], y[:, -1]])",
        "`y = self(idx)` gives a tuple of several results",
    ),
    (
        "ModelError: Conv of 2 channels; new_weight (given) is 3,3",
        "p = Patch([new], {'new_weight': w})",
        "`new_weight` is one name in the whole graph",
    ),
    ("CompileError: k.cu:2:3: error: identifier 'v' is undefined", "%%cuda k\nv = x[i];", "not declared"),
]


@pytest.mark.parametrize("error, answer, words", ERRORS, ids=[one[0] for one in ERRORS])
def test_an_error_is_told_in_words(error: str, answer: str, words: str) -> None:
    assert words in explained(error, answer)


def test_of_two_lines_that_may_have_failed_none_is_named() -> None:
    error = "AttributeError: 'NoneType' object has no attribute 'data'"
    assert explained(error, "p.grad.data *= 2\nq.grad.data *= 2").endswith("frozen or not used")
    asked = "def f(p):\n    if p.grad is not None:\n        p.grad.data *= 2\n    return p"
    assert "`.grad`" not in explained(error, asked)
    assert "without `return`" not in explained(error, asked)


def test_off_by_one_is_said_only_where_the_numbers_say_so() -> None:
    assert "by one" not in explained(
        "IndexError: index 9 is out of bounds for axis 0 with size 5", "x[i + 1]"
    )
    assert "by one" not in explained("IndexError: list index out of range", "x[i]")


def test_the_first_that_fits_may_be_returned_from_a_loop() -> None:
    first = "def f(xs):\n    for x in xs:\n        if x < 0:\n            continue\n        return xs['b']"
    assert "ask with `in`" in explained("KeyError: 'b'", first)
    always = "def f(xs):\n    for x in xs:\n        return xz"
    assert "in its first turn" not in explained(
        "NameError: name 'xz' is not defined. Did you mean: 'xs'?", always
    )


def test_of_an_answer_that_took_too_long_its_loops_are_named() -> None:
    assert "`while` `n in known`" in endless("def f(n, known):\n    while n in known:\n        n = known[n]")
    assert endless("for i in range(9):\n    pass") == endless("while") == ""
    counting = "def f(n, k):\n    at = 0\n    while at + k <= n:\n        at += 1\n    return at"
    assert "how many turns" in endless(counting), "it ends, and after how long?"


DEEP = f"def f(x):\n    while {'-' * 900}x:\n        x[{'-' * 900}x] += x.f().g()"
SUM = f"def f(x):\n    while x{' + x' * 2500}:\n        x[x{' + x' * 2500}] += 1"


@pytest.mark.parametrize("answer", ["", "def f(:", "\0", "x" * 30_000, "(" * 500, DEEP, SUM])
def test_no_answer_breaks_the_words(answer: str) -> None:
    for error, _, _ in ERRORS:
        assert len(explained(error, answer)) < 2000
    assert len(endless(answer)) < 500
