"""What `#include <cuda_fp16.h>` brings: the type half, which is stored and converted, and its functions."""

from __future__ import annotations

import re

from cudasim.errors import At, Fault, unsupported
from cudasim.language.types import DOUBLE, FLOAT, HALF, INT, SHORT, USHORT, Scalar

HEADER = "cuda_fp16.h"
TYPES = ("half", "__half")
OTHER_TYPES = ("half2", "__half2", "__half_raw", "__half2_raw", "nv_half", "nv_half2")
# Its functions: name, result, parameter.
FUNCTIONS: dict[str, tuple[Scalar, Scalar]] = {
    "__half2float": (FLOAT, HALF),
    "__float2half": (HALF, FLOAT),
    "__float2half_rn": (HALF, FLOAT),
    "__double2half": (HALF, DOUBLE),
    "__int2half_rn": (HALF, INT),
    "__half_as_ushort": (USHORT, HALF),
    "__half_as_short": (SHORT, HALF),
    "__ushort_as_half": (HALF, USHORT),
    "__short_as_half": (HALF, SHORT),
}
# Like these are called all others that the header has.
_OTHERS = re.compile(
    r"__h\w+|__v?half\w*|__\w+half\w*|__(?:lows?|highs?)(?:2\w+)|make_half2|__halves2half2"
    r"|h2?(?:a?cosh?|a?sinh?|a?tanh?|exp(?:2|10)?|log(?:2|10)?|r?sqrt|rcp|ceil|floor|trunc|rint)(?:_approx)?"
)

INCLUDE_IT = f"write #include <{HEADER}> in the first line"


def is_other_function(name: str) -> bool:
    """Whether the header has a function of that name, as far as names tell, which is missing here."""
    return name not in FUNCTIONS and _OTHERS.fullmatch(name) is not None


def arithmetic(at: At) -> Fault:
    return unsupported(at, "arithmetic in half", "convert first: __half2float(x) gives a float")
