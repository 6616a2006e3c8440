"""What `#include <cuda_fp16.h>` brings: the type half and its functions.

Two halves are added, multiplied and compared, each result rounded to a half. A half with a number of another
type is ambiguous in C++: both may become the other.
"""

from __future__ import annotations

import re

from warplens.errors import At, Fault, unsupported
from warplens.language.types import (
    BOOL,
    DOUBLE,
    FLOAT,
    HALF,
    HALF2,
    INT,
    LLONG,
    SHORT,
    UINT,
    ULLONG,
    USHORT,
    VECTORS,
    Scalar,
    Type,
)

HEADER = "cuda_fp16.h"
TYPES = {"half": HALF, "__half": HALF, "half2": HALF2, "__half2": HALF2}
OTHER_TYPES = ("__half_raw", "__half2_raw", "nv_half", "nv_half2")
# Its conversions: name, result, parameter.
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
for _kind, _name in ((UINT, "uint"), (SHORT, "short"), (USHORT, "ushort"), (LLONG, "ll"), (ULLONG, "ull")):
    FUNCTIONS[f"__{_name}2half_rn"] = (HALF, _kind)
for _kind, _name in ((INT, "int"), (UINT, "uint")):
    for _mode in ("rn", "rz", "rd", "ru"):
        FUNCTIONS[f"__half2{_name}_{_mode}"] = (_kind, HALF)
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
# Its functions of halves: name, result, how many they take.
ARITHMETIC: dict[str, tuple[Scalar, int]] = {
    **{f"__h{_op}": (HALF, 2) for _op in ("add", "sub", "mul", "div", "max", "min")},
    **{f"__h{_op}_rn": (HALF, 2) for _op in ("add", "sub", "mul")},
    **{f"__h{_op}{_u}": (BOOL, 2) for _op in COMPARISONS for _u in ("", "u")},
    "__hfma": (HALF, 3),
    **{name: (HALF, 1) for name in ("__hneg", "__habs")},
    **{f"h{_op}": (HALF, 1) for _op in (
        "exp", "exp2", "exp10", "log", "log2", "log10", "sqrt", "rsqrt", "rcp", "sin", "cos", "floor", "ceil",
        "trunc", "rint",
    )},
    "__hisnan": (BOOL, 1),
    "__hisinf": (INT, 1),
}  # fmt: skip
# The same of two halves in one half2, each for itself.
OF_PAIRS = {
    **{f"__h{_op}2{_rn}": (f"__h{_op}", 2) for _op in ("add", "sub", "mul") for _rn in ("", "_rn")},
    "__h2div": ("__hdiv", 2), "__hmax2": ("__hmax", 2), "__hmin2": ("__hmin", 2), "__hfma2": ("__hfma", 3),
    "__hneg2": ("__hneg", 1), "__habs2": ("__habs", 1),
    **{f"h2{name[1:]}": (name, 1) for name, (_, _count) in ARITHMETIC.items() if name[0] == "h"},
}  # fmt: skip
_FLOAT2 = VECTORS["float2"]
# What makes a half2, and takes it apart: result, parameters.
PAIRS: dict[str, tuple[Type, tuple[Type, ...]]] = {
    "make_half2": (HALF2, (HALF, HALF)),
    "__halves2half2": (HALF2, (HALF, HALF)),
    "__half2half2": (HALF2, (HALF,)),
    "__float2half2_rn": (HALF2, (FLOAT,)),
    "__floats2half2_rn": (HALF2, (FLOAT, FLOAT)),
    "__float22half2_rn": (HALF2, (_FLOAT2,)),
    "__half22float2": (_FLOAT2, (HALF2,)),
    "__low2half": (HALF, (HALF2,)),
    "__high2half": (HALF, (HALF2,)),
    "__low2float": (FLOAT, (HALF2,)),
    "__high2float": (FLOAT, (HALF2,)),
    "__low2half2": (HALF2, (HALF2,)),
    "__high2half2": (HALF2, (HALF2,)),
    "__lowhigh2highlow": (HALF2, (HALF2,)),
    "__lows2half2": (HALF2, (HALF2, HALF2)),
    "__highs2half2": (HALF2, (HALF2, HALF2)),
}
OPERATORS = {"+": "__hadd2", "-": "__hsub2", "*": "__hmul2", "/": "__h2div"}  # of two half2
CONVERSIONS = {*FUNCTIONS, *PAIRS}  # which are no flops
NAMES = {*FUNCTIONS, *ARITHMETIC, *OF_PAIRS, *PAIRS} - {"__hadd"}  # which there is of integers as well
# Like these are called all others that the header has.
_OTHERS = re.compile(
    r"__h\w+|__v?half\w*|__\w+half\w*|__(?:lows?|highs?)(?:2\w+)|make_half2|__halves2half2"
    r"|h2?(?:a?cosh?|a?sinh?|a?tanh?|exp(?:2|10)?|log(?:2|10)?|r?sqrt|rcp|ceil|floor|trunc|rint)(?:_approx)?"
)

INCLUDE_IT = f"write #include <{HEADER}> in the first line"


def is_other_function(name: str) -> bool:
    """Whether the header has a function of that name, as far as names tell, which is missing here."""
    return name not in NAMES and name != "__hadd" and _OTHERS.fullmatch(name) is not None


def arithmetic(at: At) -> Fault:
    hint = "convert one of them: __half2float(x), or (half)y"
    return unsupported(at, "arithmetic with a half and another type, or on its bits", hint)
