"""Values and masks of many threads at once, computed by C's rules. Generated code calls these functions.

What is the same for all threads stays a Python int or bool or a NumPy float; what differs is an array. A mask
says which lanes take part: True (all), False (none), or an array of booleans that is neither.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from warplens.engine.memory import Choice, LanePointer, Memory, Value
from warplens.language import bfloat
from warplens.language.types import BFLOAT, BOOL, HALF, NARROW, Scalar

Mask = Any  # True, False, or an array that is neither all True nor all False
ndarray = np.ndarray
INT64 = np.dtype(np.int64)


# --------------------------------------------------------------------------------------------------- masks


def mask_of(condition: Any) -> Mask:
    """A condition as a mask."""
    if type(condition) is not ndarray:
        return bool(condition)
    if condition.all():
        return True
    return condition if condition.any() else False


def split(mask: Mask, condition: Any) -> tuple[Mask, Mask]:
    """The lanes of `mask` where the condition holds, and the others of them."""
    if type(condition) is not ndarray:
        return (mask, False) if condition else (False, mask)
    if mask is True:
        if condition.all():
            return True, False
        return (condition, ~condition) if condition.any() else (False, True)
    if mask is False:
        return False, False
    yes = mask & condition
    if not yes.any():
        return False, mask
    no = mask & ~condition
    return (yes, no) if no.any() else (mask, False)


def join(a: Mask, b: Mask) -> Mask:
    """The lanes of either."""
    if a is False or b is True:
        return b
    if b is False or a is True:
        return a
    both = a | b
    return True if both.all() else both


def some(mask: Mask) -> bool:
    """Whether any lane takes part; for a mask that may not have collapsed."""
    return bool(mask.any()) if type(mask) is ndarray else bool(mask)


# ----------------------------------------------------------------------------------------------- selecting


def select(mask: Mask, new: Value, old: Value, dtype: np.dtype[Any]) -> Value:
    """`new` in the lanes of `mask`, `old` in the others."""
    if mask is True or new is old:
        return new
    if mask is False:
        return old
    if type(new) is not ndarray:
        new = dtype.type(new)
    if type(old) is not ndarray:
        old = dtype.type(old)
    return np.where(mask, new, old)


def select_pointer(mask: Mask, new: LanePointer, old: LanePointer) -> LanePointer:
    if mask is True or new is old:
        return new
    if mask is False:
        return old
    offset = select(mask, new.offset, old.offset, np.dtype(np.int64))
    if type(new) is LanePointer and type(old) is LanePointer and new.memory is old.memory:
        return LanePointer(new.memory, offset)
    memories: list[Memory] = []
    numbers = []
    for pointer in (new, old):
        parts = pointer.memories if isinstance(pointer, Choice) else [pointer.memory]
        for memory in parts:
            if not any(memory is known for known in memories):
                memories.append(memory)
        places = np.array([next(i for i, m in enumerate(memories) if m is part) for part in parts])
        numbers.append(places[pointer.which] if isinstance(pointer, Choice) else int(places[0]))
    which = select(mask, numbers[0], numbers[1], np.dtype(np.int64))
    if type(which) is not ndarray:
        return LanePointer(memories[which], offset)
    return Choice(
        memories, which, np.broadcast_to(offset, np.broadcast_shapes(np.shape(offset), which.shape))
    )


def select_record(
    mask: Mask, new: tuple[Value, ...], old: tuple[Value, ...], selects: tuple[Callable[..., Value], ...]
) -> tuple[Value, ...]:
    return tuple([choose(mask, a, b) for choose, a, b in zip(selects, new, old)])


# ------------------------------------------------------------------------------------------------ wrapping


def i32(x: Value) -> Value:
    """A result of int arithmetic: arrays have wrapped already, Python's ints have not."""
    if type(x) is int and not -0x8000_0000 <= x <= 0x7FFF_FFFF:
        return (x + 0x8000_0000 & 0xFFFF_FFFF) - 0x8000_0000
    return x


def u32(x: Value) -> Value:
    return x & 0xFFFF_FFFF if type(x) is int else x


def i64(x: Value) -> Value:
    if type(x) is int and not -(1 << 63) <= x < 1 << 63:
        return (x + (1 << 63) & (1 << 64) - 1) - (1 << 63)
    return x


def u64(x: Value) -> Value:
    return x & (1 << 64) - 1 if type(x) is int else x


def wide(x: Value) -> Value:
    """An integer of any type as an index of 64 bits: unsigned ones of 32 bits are extended by zeros."""
    if type(x) is ndarray:
        return x if x.dtype is INT64 else x.astype(INT64)
    return int(x)


# --------------------------------------------------------------------------------------------- conversions


def to_integer(x: Value, dtype: np.dtype[Any]) -> Value:
    """An integer or bool in another integer type: the lower bits."""
    if type(x) is ndarray:
        if x.dtype.itemsize == dtype.itemsize and x.dtype.kind in "iu":
            return x.view(dtype)
        return x.astype(dtype)
    bits = 8 * dtype.itemsize
    x = int(x) & (1 << bits) - 1
    return x - (1 << bits) if dtype.kind == "i" and x >> bits - 1 else x


def float_to_integer(x: Value, dtype: np.dtype[Any]) -> Value:
    """Towards zero; beyond the ends of the type the ends, and 0 for nan. Small types go by way of 32 bits."""
    step = dtype if dtype.itemsize >= 4 else np.dtype(np.int32 if dtype.kind == "i" else np.uint32)
    whole = half_to_integer(x, step)
    return whole if step == dtype else to_integer(whole, dtype)


def half_to_integer(x: Value, dtype: np.dtype[Any]) -> Value:
    """Towards zero; beyond the ends of the type the ends, of small types too, and 0 for nan."""
    info = np.iinfo(dtype)
    limits = int(info.min), int(info.max)
    if type(x) is not ndarray:
        if x != x:
            return 0
        return max(limits[0], min(limits[1], int(x))) if abs(x) < 1e30 else limits[int(x > 0)]
    with np.errstate(invalid="ignore"):
        cut = np.trunc(x.astype(np.float64))
        high, low = cut >= float(limits[1] + 1), cut < float(limits[0])
        whole = np.where(high | low | (cut != cut), 0, cut).astype(dtype)
    if high.any():
        whole = np.where(high, dtype.type(info.max), whole)
    if low.any():
        whole = np.where(low, dtype.type(info.min), whole)
    return whole


def to_float(x: Value, dtype: np.dtype[Any]) -> Value:
    return x.astype(dtype) if type(x) is ndarray else dtype.type(x)


def integer_to_half(x: Value, dtype: np.dtype[Any]) -> Value:
    """Rounded once: what a half can hold is exact in float64."""
    return x.astype(np.float64).astype(dtype) if type(x) is ndarray else dtype.type(np.float64(x))


def integer_to_bfloat(x: Value, dtype: np.dtype[Any]) -> Value:
    return bfloat.rounded_integer(x)


def float_to_bfloat(x: Value, dtype: np.dtype[Any]) -> Value:
    return rounded_bfloat(x) if x.dtype.itemsize <= 4 else bfloat.rounded_double(x)


def rounded_bfloat(x: Value) -> Value:
    """A float32, or a half, as a bfloat16."""
    return bfloat.rounded(
        x if x.dtype.itemsize == 4 else np.float32(x) if type(x) is not ndarray else x.astype(np.float32)
    )


def to_bool(x: Value) -> Value:
    return x != 0 if type(x) is ndarray else bool(x != 0)


def pointer_to_bool(p: LanePointer) -> Value:
    if isinstance(p, Choice):
        return np.array([memory.space != "null" for memory in p.memories])[p.which]
    return p.memory.space != "null"


def conversion(source: Scalar, target: Scalar) -> Callable[..., Value]:
    """The function (x, dtype), of bool (x), that makes a number of one type one of another, by C's rules."""
    if target == BOOL:
        return to_bool
    if target == BFLOAT:
        return integer_to_bfloat if source.is_integer else float_to_bfloat
    if target == HALF and source.is_integer:
        return integer_to_half
    if target.is_float:
        return to_float
    if source in NARROW:
        return half_to_integer
    return float_to_integer if source.is_float else to_integer


# ---------------------------------------------------------------------------------------------- arithmetic


def lnot(x: Value) -> Value:
    return ~x if type(x) is ndarray else not x


def land(a: Value, b: Value) -> Value:
    if type(a) is ndarray or type(b) is ndarray:
        return a & b
    return bool(a and b)


def lor(a: Value, b: Value) -> Value:
    if type(a) is ndarray or type(b) is ndarray:
        return a | b
    return bool(a or b)


def quotient(a: Value, b: Value, dtype: np.dtype[Any]) -> Value:
    """a / b of integers, towards zero. Where b is 0: all bits set, as on today's GPUs."""
    if type(a) is not ndarray and type(b) is not ndarray:
        if not b:
            return to_integer(-1, dtype)
        return to_integer(abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1), dtype)
    zero = b == 0
    if type(zero) is ndarray and zero.any():
        ones = dtype.type(to_integer(-1, dtype))
        return np.where(zero, ones, quotient(a, np.where(zero, dtype.type(1), b), dtype))
    if type(zero) is not ndarray and zero:
        return to_integer(np.full(np.shape(a), -1), dtype)
    if dtype.kind == "u" or (type(b) is int and b > 0 and type(a) is ndarray and a.size and a.min() >= 0):
        return np.floor_divide(a, b, dtype=dtype)
    rest = np.fmod(a, b, dtype=dtype)
    return np.floor_divide(np.subtract(a, rest, dtype=dtype), b, dtype=dtype)


def remainder(a: Value, b: Value, dtype: np.dtype[Any]) -> Value:
    """a % b of integers, with the sign of a. Where b is 0: a."""
    if type(a) is not ndarray and type(b) is not ndarray:
        return a if not b else abs(a) % abs(b) * (-1 if a < 0 else 1)
    zero = b == 0
    if type(zero) is ndarray and zero.any():
        return np.where(zero, a, remainder(a, np.where(zero, dtype.type(1), b), dtype))
    if type(zero) is not ndarray and zero:
        return a
    return np.fmod(a, b, dtype=dtype)


def shift_left(a: Value, b: Value, dtype: np.dtype[Any]) -> Value:
    """a << b; by as many bits as there are, or more, it is 0."""
    bits = 8 * dtype.itemsize
    if type(b) is not ndarray:
        if not 0 <= b < bits:
            return a * 0
        return to_integer(a << b, dtype) if type(a) is not ndarray else np.left_shift(a, dtype.type(b))
    far = (b < 0) | (b >= bits)
    a = a if type(a) is ndarray else dtype.type(a)
    moved = np.left_shift(a, np.where(far, 0, b).astype(dtype))
    return np.where(far, dtype.type(0), moved)


def shift_right(a: Value, b: Value, dtype: np.dtype[Any]) -> Value:
    """a >> b; signed numbers are filled with their sign."""
    bits = 8 * dtype.itemsize
    if type(b) is not ndarray:
        if not 0 <= b < bits:
            return (a >> bits - 1) if dtype.kind == "i" else a * 0
        return a >> b if type(a) is not ndarray else np.right_shift(a, dtype.type(b))
    far = (b < 0) | (b >= bits)
    a = a if type(a) is ndarray else dtype.type(a)
    moved = np.right_shift(a, np.where(far, bits - 1, b).astype(dtype))
    return moved if dtype.kind == "i" else np.where(far, dtype.type(0), moved)


def advance(p: LanePointer, nbytes: Value) -> LanePointer:
    """A pointer, so many bytes on."""
    if isinstance(p, Choice):
        return Choice(p.memories, p.which, p.offset + nbytes)
    return LanePointer(p.memory, p.offset + nbytes)


# Where addresses of these lie that printf shows: as on a GPU, nothing in them looks like the null pointer.
WINDOWS = {"shared": 1 << 40, "local": 2 << 40}


def shown_address(p: LanePointer) -> Value:
    """The address that %p shows."""
    if isinstance(p, Choice):
        return p.address + np.array([WINDOWS.get(memory.space, 0) for memory in p.memories])[p.which]
    return p.address + WINDOWS.get(p.memory.space, 0)


def distance(a: LanePointer, b: LanePointer) -> Value:
    """The distance in bytes of two pointers."""
    return wide(a.address - b.address)
