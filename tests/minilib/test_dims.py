"""Sizes as algebra: held against Python's own arithmetic on numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minilib.dims import Dim, Equations, at, bounds, broadcast, larger, parse, smaller, symbol, symbols_of

S, P = symbol("S"), symbol("P")

WRITTEN = st.recursive(
    st.sampled_from(["S", "P"]) | st.integers(-4, 6).map(str),
    lambda inner: (
        st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})")
        | st.tuples(inner, st.sampled_from(["//", "%"]), st.integers(1, 6)).map(
            lambda t: f"({t[0]} {t[1]} {t[2]})"
        )
        | st.tuples(inner, inner).map(lambda t: f"min({t[0]}, {t[1]})")
    ),
    max_leaves=8,
)


@given(WRITTEN, st.integers(0, 9), st.integers(0, 9))
def test_a_size_is_what_python_computes(text: str, s: int, p: int) -> None:
    size, number = parse(text), eval(text, {"S": s, "P": p})
    assert at(size, {"S": s, "P": p}) == number
    assert at(parse(str(size)), {"S": s, "P": p}) == number  # what is printed can be read again
    low, high = bounds(size)
    assert low <= number <= high


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("(S - 1) // 2 + 1", "(S + 1) // 2"), ("2 * S // 2", "S"), ("(S // 2) // 3", "S // 6"),
        ("S + P", "P + S"),
        ("(4 * S + 3) // 6", "(2 * S + 1) // 3"), ("(S + P) * (S - P)", "S * S - P * P"), ("S - S", "0"),
        ("(S * S + 2 * S + 1) // (S + 1)", "S + 1"), ("6 * S * P // (2 * S)", "3 * P"), ("(S + 7) % 1", "0"),
        ("(S // 2 + P) // 3", "(S + 2 * P) // 6"), ("4 * S % 2", "0"), ("S * (P // 2) // S", "P // 2"),
    ],
)  # fmt: skip
def test_equal_expressions_compare_equal(left: str, right: str) -> None:
    assert parse(left) == parse(right)
    assert hash(parse(left)) == hash(parse(right))


def test_sizes_that_differ_are_not_equal() -> None:
    assert parse("S") != parse("P")
    assert parse("S // 2 * 2") != parse("S")
    assert S != 3 and S != "S"


def test_a_result_without_symbols_is_an_int() -> None:
    assert type(S - S) is int and type((S * 6) // S) is int and type(at(S + P, {"S": 1, "P": 2})) is int
    assert isinstance(at(S + P, {"S": 1}), Dim)


def test_comparisons_are_told_where_they_hold_for_all_sizes() -> None:
    assert S + 1 > 0 and S >= 0 and S - 2 < S and not S < 0 and 3 * S + 1 > S
    assert bool(S + 1)
    for unknown in (lambda: S < 5, lambda: S > P, lambda: bool(S), lambda: S - 1 >= 0):
        with pytest.raises(TypeError, match="cannot be told"):
            unknown()


def test_what_is_left_beside_a_smaller_size_is_no_less_than_0() -> None:
    left = larger(S - 2, 0)
    assert left >= 0 and larger(left, 0) == left and smaller(left, S) == left
    assert smaller(S, smaller(S, P)) == smaller(S, P) <= P


def test_a_size_with_symbols_is_no_number() -> None:
    with pytest.raises(TypeError, match="before P, S is known"):
        int(S * P)
    with pytest.raises(TypeError, match="before S is known"):
        range(S)
    with pytest.raises(ZeroDivisionError):
        S // 0


def test_symbols_of_finds_those_within_quotients() -> None:
    assert symbols_of(parse("(S - 1) // T + 2 * P")) == {"S", "T", "P"}
    assert symbols_of(5) == set()


@pytest.mark.parametrize("text", ["S +", "2.5", "S ** 2", "f(S)", "S / 2", "a b + 1"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no size"):
        parse(text)


def test_a_name_with_blanks_is_one_symbol() -> None:
    assert parse("batch size") == symbol("batch size")


# Equations


def test_equations_solve_for_a_symbol() -> None:
    equations = Equations()
    assert equations.equate(S, P + 1) == equations.resolve(S) == P + 1 or equations.resolve(P) == S - 1
    equations.equate(P, 4)
    assert (equations.resolve(S), equations.resolve(P)) == (5, 4)


def test_what_cannot_be_solved_waits_until_more_is_known() -> None:
    equations = Equations()
    equations.equate(S * P, 12)
    assert equations.open
    equations.equate(S, 3)
    assert equations.resolve(P) == 4 and not equations.open
    equations = Equations()
    equations.equate((S - 1) // 2 + 1, 4)
    equations.equate(S, 7)
    with pytest.raises(ValueError, match="cannot be equal"):
        Equations().equate(at((S - 1) // 2 + 1, {"S": 9}), 4)


@pytest.mark.parametrize(
    ("left", "right"),
    [("S", "S + 1"), ("2 * S", "5"), ("S + 1", "0"), ("6 * S + 4 * P", "7"), ("3", "4"), ("S * P", "-1")],
)
def test_contradictions_are_found(left: str, right: str) -> None:
    with pytest.raises(ValueError, match="cannot be equal"):
        Equations().equate(parse(left), parse(right))


def test_a_contradiction_through_another_equation_is_found() -> None:
    equations = Equations()
    equations.equate(S * P, 12)
    with pytest.raises(ValueError, match="cannot be equal"):
        equations.equate(S, 5)
    equations = Equations()
    equations.bind((S, 2 * S), (3, 6))
    with pytest.raises(ValueError, match="cannot be equal"):
        equations.bind((S,), (4,))
    with pytest.raises(ValueError, match="2 axes and 1"):
        equations.bind((S, P), (3,))


# Broadcasting


def test_broadcasting_makes_two_unknown_sizes_one() -> None:
    equations = Equations()
    assert broadcast((S, 1, 3), (P, 4, 1), equations=equations) == (equations.resolve(S), 4, 3)
    assert equations.resolve(S) == equations.resolve(P)
    assert broadcast((S,), (), (1,)) == (S,)
    assert broadcast((S, 3), (5, 1)) == (5, 3)


def test_shapes_that_do_not_broadcast_are_told() -> None:
    with pytest.raises(ValueError, match=r"\(S, 2\) and \(3,\) do not broadcast"):
        broadcast((S, 2), (3,))
