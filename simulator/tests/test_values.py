"""C's rules for numbers: what is defined against Python's integers, what C++ leaves open against PTX.

PTX ISA 8.5: `cvt` saturates from float to integer and gives 0 for nan; `shl` and `shr` clamp a shift to the
width, and fill with the sign where the type has one. Division by zero gives all ones on today's GPUs (PTX:
unspecified).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from warplens.engine import mathematics
from warplens.engine.memory import NULL, Choice, LanePointer, Memory
from warplens.engine.values import (
    conversion,
    i32,
    i64,
    join,
    mask_of,
    quotient,
    remainder,
    select,
    select_pointer,
    shift_left,
    shift_right,
    split,
    u32,
    u64,
    wide,
)
from warplens.language.types import CHAR, DOUBLE, FLOAT, INT, LLONG, UCHAR, UINT, ULLONG, Scalar

INTEGERS = {"int": INT, "unsigned int": UINT, "long long": LLONG, "unsigned long long": ULLONG}


def edges(kind: Scalar) -> list[int]:
    info = np.iinfo(kind.dtype)
    near = [info.min, info.min + 1, info.max - 1, info.max, 0, 1, 2, 3, 7, 100, info.max // 3]
    return sorted({*near, *([-1, -2, -3, -7, -100] if info.min < 0 else [])})


def wrapped(x: int, kind: Scalar) -> int:
    bits = 8 * kind.size
    x &= (1 << bits) - 1
    return x - (1 << bits) if kind.kind == "i" and x >> (bits - 1) else x


def both(f: Any, a: int, b: int, kind: Scalar) -> list[int]:
    """f of two numbers, of two arrays, and of one of each."""
    x, y = (np.array([v], kind.dtype) for v in (a, b))
    with np.errstate(all="ignore"):
        results = [f(a, b), f(x, y), f(x, b), f(a, y)]
    for result in results[1:]:
        assert result.dtype == kind.dtype
    return [int(np.asarray(result).reshape(())) for result in results]


@pytest.mark.parametrize("name", INTEGERS)
def test_quotients_are_cut_towards_zero_and_remainders_keep_the_sign(name: str) -> None:
    kind = INTEGERS[name]
    for a in edges(kind):
        for b in edges(kind):
            if b == 0:
                continue
            cut = abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1)
            if wrapped(cut, kind) != cut:
                continue  # the smallest number by -1
            assert both(lambda x, y: quotient(x, y, kind.dtype), a, b, kind) == [cut] * 4, (a, b)
            assert both(lambda x, y: remainder(x, y, kind.dtype), a, b, kind) == [a - cut * b] * 4, (a, b)


@pytest.mark.parametrize("name", INTEGERS)
def test_division_by_zero_gives_all_ones(name: str) -> None:
    kind = INTEGERS[name]
    ones = wrapped(-1, kind)
    assert both(lambda x, y: quotient(x, y, kind.dtype), 5, 0, kind) == [ones] * 4
    assert both(lambda x, y: remainder(x, y, kind.dtype), 5, 0, kind) == [5] * 4


@pytest.mark.parametrize("name", INTEGERS)
def test_shifts_beyond_the_width(name: str) -> None:
    kind = INTEGERS[name]
    bits = 8 * kind.size
    for a in edges(kind):
        for by in (0, 1, 5, bits - 1, bits, bits + 3, 1000):
            left = wrapped(a << by, kind) if by < bits else 0
            right = a >> min(by, bits - 1) if kind.kind == "i" else a >> by
            results = both(lambda x, y: shift_left(x, y, kind.dtype), a, by, kind)
            assert results == [left] * 4, (a, by)
            results = both(lambda x, y: shift_right(x, y, kind.dtype), a, by, kind)
            assert results == [right] * 4, (a, by)


@pytest.mark.parametrize(("wrap", "kind"), [(i32, INT), (u32, UINT), (i64, LLONG), (u64, ULLONG)])
def test_arithmetic_wraps(wrap: Any, kind: Scalar) -> None:
    for a in edges(kind):
        for b in edges(kind):
            assert wrap(a + b) == wrapped(a + b, kind)
            assert wrap(a * b) == wrapped(a * b, kind)
            assert wrap(a - b) == wrapped(a - b, kind)


PTX: list[tuple[float, Scalar, int]] = [
    (1e10, INT, 2**31 - 1), (-1e10, INT, -(2**31)), (math.nan, INT, 0), (math.inf, INT, 2**31 - 1),
    (-math.inf, INT, -(2**31)), (2.9, INT, 2), (-2.9, INT, -2), (-1.0, UINT, 0), (5e9, UINT, 2**32 - 1),
    (math.nan, UINT, 0), (1e20, LLONG, 2**63 - 1), (-1e20, LLONG, -(2**63)), (1e20, ULLONG, 2**64 - 1),
    (-3.0, ULLONG, 0), (300.0, CHAR, 44), (-129.0, CHAR, 127), (1e10, CHAR, -1), (300.0, UCHAR, 44),
    (-1.0, UCHAR, 0), (2.0**31, INT, 2**31 - 1), (2.0**31, UINT, 2**31), (2.0**63, LLONG, 2**63 - 1),
    (2.0**63, ULLONG, 2**63), (-0.99, INT, 0),
]  # fmt: skip


@pytest.mark.parametrize("source", [FLOAT, DOUBLE], ids=str)
@pytest.mark.parametrize(("x", "target", "expected"), PTX)
def test_floats_to_integers_saturate(x: float, source: Scalar, target: Scalar, expected: int) -> None:
    convert = conversion(source, target)
    assert convert(source.dtype.type(x), target.dtype) == expected
    array = convert(np.array([x, 1.0], source.dtype), target.dtype)
    assert array.dtype == target.dtype and array.tolist() == [expected, 1]


def test_integers_keep_the_lower_bits() -> None:
    for a in (*edges(LLONG), 255, 256, 65_535):
        for target in (CHAR, UCHAR, INT, UINT, ULLONG):
            expected = wrapped(a, target)
            assert conversion(LLONG, target)(a, target.dtype) == expected
            assert conversion(LLONG, target)(np.array([a]), target.dtype).tolist() == [expected]


def test_an_unsigned_index_is_extended_by_zeros() -> None:
    assert wide(np.array([-1], np.int32)).tolist() == [-1]
    assert wide(np.array([2**32 - 1], np.uint32)).tolist() == [2**32 - 1]


# --------------------------------------------------------------------------------------------------- masks


def test_masks_collapse_as_soon_as_all_lanes_agree() -> None:
    yes = np.array([True, False])
    assert mask_of(np.array([True, True])) is True and mask_of(np.array([False])) is False
    a, b = split(True, yes)
    assert a.tolist() == [True, False] and b.tolist() == [False, True]
    assert split(a, yes) == (a, False) or split(a, yes)[1] is False
    assert split(a, ~yes)[0] is False
    assert join(a, b) is True and join(False, a) is a
    assert split(True, False) == (False, True) and split(False, yes) == (False, False)


def test_selecting_keeps_the_type() -> None:
    mask = np.array([True, False, True])
    for dtype, a, b in (
        (np.int32, 1, 2),
        (np.uint32, 2**32 - 1, 0),
        (np.float32, np.float32(1), np.float32(2)),
    ):
        out = select(mask, a, b, np.dtype(dtype))
        assert out.dtype == dtype and out.tolist() == [a, b, a]
    assert select(True, 1, 2, np.dtype(np.int32)) == 1 and select(False, 1, 2, np.dtype(np.int32)) == 2


def test_pointers_of_two_memories() -> None:
    mask = np.array([True, False])
    one, two = (Memory(name, 8, np.dtype(np.float32), base) for name, base in (("a", 512), ("b", 1024)))
    choice = select_pointer(mask, LanePointer(one, 4), LanePointer(two, 0))
    assert isinstance(choice, Choice) and choice.address.tolist() == [516, 1024]
    again = select_pointer(~mask, LanePointer(two, 4), choice)
    assert isinstance(again, Choice) and again.address.tolist() == [516, 1028]
    same = select_pointer(mask, LanePointer(one, 4), LanePointer(one, 0))
    assert type(same) is LanePointer and same.memory is one and same.offset.tolist() == [4, 0]
    assert select_pointer(mask, NULL, NULL) is NULL


# --------------------------------------------------------------------------------------------- mathematics


@pytest.mark.parametrize(
    "name",
    [
        n
        for n in mathematics.FUNCTIONS
        if n.endswith("f") and n[:-1] in mathematics.FUNCTIONS and n != "ldexpf"
    ],
)
def test_float_functions_stay_float_and_agree_with_double(name: str) -> None:
    single, double = mathematics.FUNCTIONS[name], mathematics.FUNCTIONS[name[:-1]]
    for count in (1, 2, 3):
        x = [np.linspace(0.1, 0.9, 7) + i for i in range(count)]
        try:
            with np.errstate(all="ignore"):
                expected = double(*x)
        except (TypeError, ValueError):
            continue
        with np.errstate(all="ignore"):
            got = single(*[v.astype(np.float32) for v in x])
            one = single(*[np.float32(v[0]) for v in x])
        assert got.dtype == np.float32 and type(one) is np.float32
        np.testing.assert_allclose(got, expected, rtol=3e-6, atol=1e-6)
        return
    raise AssertionError(f"{name} takes neither one nor two nor three numbers")


@pytest.mark.parametrize(
    ("name", "numbers", "expected"),
    [
        ("__popc", [0, -1, 5], [0, 32, 2]),
        ("__clz", [0, 1, -1, 255], [32, 31, 0, 24]),
        ("__ffs", [0, 1, -8, 255], [0, 1, 4, 1]),
        ("__float_as_int", [1.0, -0.0], [0x3F80_0000, -(2**31)]),
        ("roundf", [0.5, -0.5, 1.5, 0.49999997], [1.0, -1.0, 2.0, 0.0]),
        ("rintf", [0.5, 1.5, -2.5], [0.0, 2.0, -2.0]),
    ],
)
def test_bits_and_rounding(name: str, numbers: list[Any], expected: list[Any]) -> None:
    dtype = np.float32 if isinstance(numbers[0], float) else np.int32
    f = mathematics.FUNCTIONS[name]
    assert f(np.array(numbers, dtype)).tolist() == expected
    assert [f(np.float32(x) if dtype == np.float32 else x) for x in numbers] == expected


def test_upper_halves_of_products() -> None:
    umulhi, mulhi = mathematics.FUNCTIONS["__umulhi"], mathematics.FUNCTIONS["__mulhi"]
    a, b = 0xDEAD_BEEF, 0xFFFF_FFFF
    assert umulhi(a, b) == a * b >> 32
    assert umulhi(np.array([a], np.uint32), b).tolist() == [a * b >> 32]
    assert mulhi(np.array([-5], np.int32), 7).tolist() == [-1]


def test_fma_rounds_once() -> None:
    fma = mathematics.FUNCTIONS["fmaf"]
    x = np.float32(1 + 2**-12)
    assert float(fma(x, x, np.float32(-1 - 2**-11))) == 2.0**-24
    assert np.float32(x * x) + np.float32(-1 - 2**-11) == 0
