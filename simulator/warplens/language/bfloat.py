"""What `#include <cuda_bf16.h>` brings beside half: the type __nv_bfloat16 and its functions.

It is the upper half of a float. A register holds it as a float32 that has no lower half, memory as 16 bits;
NumPy has no such dtype, so that arrays hold the bits as uint16, as CuPy's do.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from warplens.language import half
from warplens.language.types import BFLOAT, BFLOAT2, HALF, HALF2, Scalar, Type

HEADER = "cuda_bf16.h"
TYPES = {
    "__nv_bfloat16": BFLOAT, "nv_bfloat16": BFLOAT, "__nv_bfloat162": BFLOAT2, "nv_bfloat162": BFLOAT2,
}  # fmt: skip
OTHER_TYPES = ("__nv_bfloat16_raw", "__nv_bfloat162_raw")
MARK = "_bf16"  # behind the names under which the checked program lists its functions
_OF_HALF: dict[Type, Type] = {HALF: BFLOAT, HALF2: BFLOAT2}


def _renamed(name: str) -> str:
    return name.replace("half", "bfloat16")


def _own(kind: Any) -> Any:
    return _OF_HALF.get(kind, kind)


FUNCTIONS: dict[str, tuple[Scalar, Scalar]] = {
    _renamed(name): (_own(result), _own(takes)) for name, (result, takes) in half.FUNCTIONS.items()
}
ARITHMETIC: dict[str, tuple[Scalar, int]] = {
    name: (_own(result), count) for name, (result, count) in half.ARITHMETIC.items()
}
PAIRS: dict[str, tuple[Type, tuple[Type, ...]]] = {
    _renamed(name): (_own(result), tuple(_own(kind) for kind in takes))
    for name, (result, takes) in half.PAIRS.items()
}
CONVERSIONS = {name + MARK for name in (*FUNCTIONS, *PAIRS)}  # which are no flops
NAMES = {*FUNCTIONS, *PAIRS} - half.NAMES
_OTHERS = re.compile(r"__\w*bfloat16\w*|make_bfloat162")

INCLUDE_IT = f"write #include <{HEADER}> in the first line"


def is_other_function(name: str) -> bool:
    """Whether the header has a function of that name, as far as names tell, which is missing here."""
    return name not in NAMES and _OTHERS.fullmatch(name) is not None


# ------------------------------------------------------------------------------------------------ the numbers


def rounded(x: Any) -> Any:
    """A float32 rounded to the nearest bfloat16, to the even one of two."""
    bits = np.asarray(x, np.float32).view(np.uint32)
    near = (bits + (np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1)))) & np.uint32(0xFFFF0000)
    found = np.where(np.isnan(x), np.uint32(0x7FFF0000), near).astype(np.uint32).view(np.float32)
    return found if isinstance(x, np.ndarray) else found[()]


def rounded_double(x: Any) -> Any:
    """A float64 rounded once: on the way to float32 it keeps, in the last bit, that there was more."""
    wide = np.asarray(x, np.float64)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        near = wide.astype(np.float32)
        back = near.astype(np.float64)
        inexact = (back != wide) & np.isfinite(wide)
        bits = near.view(np.uint32)
        bits = np.where(inexact & (np.abs(back) > np.abs(wide)), bits - np.uint32(1), bits)
        bits = np.where(inexact, bits | np.uint32(1), bits).astype(np.uint32)
    found = rounded(bits.view(np.float32))
    return found if isinstance(x, np.ndarray) else np.float32(found)


def rounded_integer(x: Any) -> Any:
    """An integer rounded once: bits that a float64 has no room for are joined in its last one."""
    if not isinstance(x, np.ndarray):
        low = max(0, abs(int(x)).bit_length() - 50)
        cut = abs(int(x)) >> low
        cut |= int(cut << low != abs(int(x)))
        return rounded_double(float((-1 if x < 0 else 1) * (cut << low)))
    if x.dtype.itemsize < 8:
        return rounded_double(x.astype(np.float64))
    size = np.where(x < 0, np.uint64(0) - x.astype(np.uint64), x.astype(np.uint64))
    sticky = (size >> np.uint64(11) | (size & np.uint64(2047) != 0).astype(np.uint64)) << np.uint64(11)
    value = np.where(size >= np.uint64(1 << 53), sticky, size).astype(np.float64)
    return rounded_double(np.where(x < 0, -value, value))


def bits_of(x: Any) -> Any:
    """The 16 bits of a bfloat16 in a register."""
    found = (np.asarray(x, np.float32).view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    return found if isinstance(x, np.ndarray) else int(found)


def of_bits(x: Any) -> Any:
    found = (np.asarray(x).astype(np.uint32) << np.uint32(16)).view(np.float32)
    return found if isinstance(x, np.ndarray) else found[()]
