"""What an answer needs of the reader's other cells, and nothing else, runs before it."""

from __future__ import annotations

from typing import Any

import pytest

from coursekit.grading.borrowed import ADDED, Loan, loan, names_of, without_magics

SET_UP = (
    "import math\nimport numpy as np\nfrom coursekit import add_to\nclass Value:\n    def relu(self): pass"
)
OTHERS = [
    (
        "1.1",
        "import functools as ft\n\ndef half(x):\n    return x / TWO\n\nprint('loud')\nTWO = 2\nspare = 1",
    ),
    ("1.4", "@add_to(Value)\ndef tanh(self):\n    return half(self)\n\n@add_to(Value)\ndef relu(self): pass"),
    (ADDED, "def newest(): return 1\nwhile True: pass"),
    (ADDED, "def newest(): return 2\ndef half(x): return 'another'"),
]


def lent(answer: str, *tests: str) -> Loan:
    return loan([answer], [SET_UP], OTHERS, tests)


@pytest.mark.parametrize(
    "answer, code",
    [
        ("def f(x):\n    return math.exp(x) + np.pi + len(x)", ""),
        ("def f(x):\n    return half(x)", "TWO = 2\ndef half(x):\n    return x / TWO"),
        ("def half(x):\n    return x\nhalf(1)", ""),
        ("f = ft.partial", "import functools as ft"),
        ("f = newest()", "def newest():\n    return 1"),
        ("def f(x):\n    return unknown(x)", ""),
        ("def f(newest):\n    return [newest for half in newest]", ""),
        ("class A:\n    def f(self):\n        return newest", "def newest():\n    return 1"),
        ("def f(x):\n    return x.relu()", ""),
        ("def f(x):\n    return np.tanh(x) + math.tanh(x)", ""),
        ("f = newest(", ""),
        ("!pip install x\n%time f = newest()", "def newest():\n    return 1"),
    ],
)
def test_what_is_needed_and_absent_is_lent(answer: str, code: str) -> None:
    assert lent(answer).code == code


def test_a_member_is_lent_with_what_it_needs() -> None:
    found = lent("def f(x):\n    return x.tanh()")
    assert found.code == (
        "TWO = 2\ndef half(x):\n    return x / TWO\n@add_to(Value)\ndef tanh(self):\n    return half(self)"
    )
    assert found.words == (
        "It ran together with `tanh` of your answer to 1.4, and `half` and `TWO` of your answer to 1.1."
    )


def test_what_a_hidden_test_calls_is_lent_too() -> None:
    assert lent("pass", "x = 1\nprobe('value', half(x))").code.endswith("return x / TWO")
    assert lent("def half(x):\n    return x", "half(1)").code == ""


@pytest.mark.parametrize(
    "nested", ["-" * 9000 + "1", "a" + "()" * 90_000, "[" * 9000, "1+" * 90_000, "\0", "def"]
)
def test_cells_that_cannot_be_read_lend_nothing(nested: str) -> None:
    assert not names_of(f"def half(x): return {nested}").bound
    assert loan([f"half({nested})"], [], [("1.2", nested)]) == Loan()


def test_functions_that_call_each_other_are_lent_once() -> None:
    both = "def even(n): return n == 0 or odd(n - 1)\ndef odd(n): return n > 0 and even(n - 1)"
    found = loan(["even(2)"], [], [("1.2", both)])
    assert found.code.count("def even") == found.code.count("def odd") == 1
    names: dict[str, Any] = {}
    exec(found.code, names)
    assert names["even"](4) and not names["even"](5)


def test_magics_that_install_or_time_are_dropped_and_no_line_moves() -> None:
    source = "%%time\n!ls\nif x:\n    !ls\n    %time y = 1\n%matplotlib inline\nz = (5\n     % 3)\n%quickref"
    assert without_magics(source) == "\n\nif x:\n    pass\n    y = 1\n\nz = (5\n     % 3)\n%quickref"


def test_an_operator_that_another_answer_gives_is_lent() -> None:
    cells = [("1.2", "@add_to(Value)\ndef __add__(self, other):\n    return Value()"), ("1.3", "spare = 1")]
    assert loan(["def f(x):\n    return x + x"], [SET_UP], cells).code.startswith("@add_to(Value)")
    assert loan(["def f(x):\n    return x * x"], [SET_UP], cells).code == ""
    given = SET_UP + "\n    def __add__(self, other): pass"
    assert loan(["def f(x):\n    return x + x"], [given], cells).code == ""
