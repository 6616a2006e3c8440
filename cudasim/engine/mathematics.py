"""The math functions of CUDA C, in float32 and float64, over arrays and single numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from cudasim.engine.memory import Value
from cudasim.engine.values import float_to_integer, integer_to_half, to_float

F16, F32, F64 = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)
I32, U32 = np.dtype(np.int32), np.dtype(np.uint32)
I16, U16 = np.dtype(np.int16), np.dtype(np.uint16)
ndarray = np.ndarray

_vector_erf = np.frompyfunc(math.erf, 1, 1)
_vector_erfc = np.frompyfunc(math.erfc, 1, 1)
_vector_gamma = np.frompyfunc(lambda x: math.gamma(x) if x > 0 or x % 1 else math.nan, 1, 1)
_vector_lgamma = np.frompyfunc(lambda x: math.lgamma(x) if x > 0 or x % 1 else math.inf, 1, 1)


def _by_python(f: np.ufunc) -> Callable[[Any], Any]:
    return lambda x: np.asarray(f(np.asarray(x, np.float64)), np.float64)


def _round_half_away(x: Any) -> Any:
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(x.dtype.type(1), x), whole)


def _erfinv(x: Any) -> Any:
    """Newton's method on erf, from Winitzki's approximation."""
    y = np.asarray(x, F64)
    log = np.log1p(-y * y)
    first = 2 / (math.pi * 0.147) + log / 2
    found = np.copysign(np.sqrt(np.sqrt(first * first - log / 0.147) - first), y)
    inside = np.abs(y) < 1
    found = np.where(inside, found, 0.0)
    for _ in range(4):
        slope = 2 / math.sqrt(math.pi) * np.exp(-found * found)
        found = found - (np.asarray(_vector_erf(found), F64) - np.where(inside, y, 0)) / slope
    return np.where(inside, found, np.where(np.abs(y) == 1, np.copysign(math.inf, y), math.nan))


# One argument or more, computed in the dtype that they have.
_PLAIN: dict[str, Callable[..., Any]] = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10,
    "log1p": np.log1p, "sqrt": np.sqrt, "cbrt": np.cbrt, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2, "sinh": np.sinh,
    "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "pow": np.power, "hypot": np.hypot, "fabs": np.abs, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc,
    "rint": np.rint, "nearbyint": np.rint, "fmax": np.fmax, "fmin": np.fmin, "fmod": np.fmod,
    "copysign": np.copysign, "round": _round_half_away, "exp10": lambda x: np.power(x.dtype.type(10), x),
    "rsqrt": lambda x: 1 / np.sqrt(x), "fdim": lambda x, y: np.where(x > y, x - y, x.dtype.type(0) * (x - y)),
    "erf": _by_python(_vector_erf), "erfc": _by_python(_vector_erfc), "tgamma": _by_python(_vector_gamma),
    "lgamma": _by_python(_vector_lgamma),
    "normcdf": lambda x: 0.5 * _by_python(_vector_erfc)(-x / math.sqrt(2)),
    "remainder": lambda x, y: x - y * np.rint(x / y), "sinpi": lambda x: np.sin(x * math.pi),
    "rcbrt": lambda x: 1 / np.cbrt(x), "erfinv": _erfinv,
    "cospi": lambda x: np.cos(x * math.pi),}  # fmt: skip


def _fma32(x: Any, y: Any, z: Any) -> Any:
    """One rounding: the product of two float32 is exact in float64."""
    return (np.asarray(x, F64) * y.astype(F64) + z.astype(F64)).astype(F32)


def _in(dtype: np.dtype[Any], f: Callable[..., Any]) -> Callable[..., Value]:
    """f on numbers of one dtype: a single number stays one."""

    def call(*arguments: Value) -> Value:
        if any([type(a) is ndarray for a in arguments]):
            out = f(*[a if type(a) is ndarray else np.asarray(a, dtype) for a in arguments])
            return out if out.dtype == dtype else out.astype(dtype)
        return dtype.type(f(*[np.asarray(a, dtype) for a in arguments]))

    return call


def _bits(source: np.dtype[Any], target: np.dtype[Any]) -> Callable[[Value], Value]:
    """The same bits as another type."""

    def call(x: Value) -> Value:
        if type(x) is ndarray:
            return x.view(target)
        found = np.asarray(x).astype(source).reshape(1).view(target)[0]
        return found if target.kind == "f" else int(found)

    return call


def _integer(f: Callable[[int], int], bits: int, result: Callable[[Any], Any]) -> Callable[[Value], Value]:
    """A function of the bits of an integer: `f` of one, `result` of an array of unsigned ones."""
    unsigned = np.dtype(f"uint{bits}")

    def call(x: Value) -> Value:
        if type(x) is ndarray:
            return result(x.view(unsigned)).astype(np.int32)
        return f(int(x) & (1 << bits) - 1)

    return call


def _length(x: Any) -> Any:
    """How many bits each unsigned integer needs."""
    low, high = (x & 0xFFFF_FFFF).astype(F64), (x.astype(np.uint64) >> np.uint64(32)).astype(F64)
    return np.where(high > 0, 32 + np.frexp(high)[1], np.frexp(low)[1])


def _first(x: Any) -> Any:
    """The place of the lowest bit that is set, from 1; 0 where there is none."""
    lowest = x & (~x + x.dtype.type(1))
    return _length(lowest)


def _reverse(bits: int) -> Callable[[Value], Value]:
    unsigned = np.dtype(f"uint{bits}")

    def call(x: Value) -> Value:
        if type(x) is not ndarray:
            return int(f"{int(x):0{bits}b}"[::-1], 2)
        out = np.zeros(x.shape, unsigned)
        for i in range(bits):
            out |= ((x >> unsigned.type(i)) & unsigned.type(1)) << unsigned.type(bits - 1 - i)
        return out

    return call


def _high(bits: int, signed: bool) -> Callable[[Value, Value], Value]:
    """The upper half of a product."""
    dtype = np.dtype(f"{'int' if signed else 'uint'}{bits}")

    def call(x: Value, y: Value) -> Value:
        if type(x) is not ndarray and type(y) is not ndarray:
            return (int(x) * int(y)) >> bits
        if bits == 32:
            double = np.dtype(np.int64 if signed else np.uint64)
            product = np.asarray(x).astype(double) * np.asarray(y).astype(double)
            return (product >> double.type(32)).astype(dtype)
        exact = np.asarray(x).astype(object) * np.asarray(y).astype(object) >> bits
        return exact.astype(dtype)

    return call


def _smaller(x: Value, y: Value) -> Value:
    """Of a number and nan the number, as fminf."""
    return min(x, y) if type(x) is int and type(y) is int else np.fmin(x, y)


def _larger(x: Value, y: Value) -> Value:
    return max(x, y) if type(x) is int and type(y) is int else np.fmax(x, y)


def _to_integer(rounding: Callable[[Any], Any], dtype: np.dtype[Any]) -> Callable[[Value], Value]:
    return lambda x: float_to_integer(rounding(x), dtype)


def _to_float32(towards_zero: bool) -> Callable[[Value], Value]:
    def call(x: Value) -> Value:
        near = np.asarray(x).astype(F32)
        if towards_zero:
            far = np.abs(near.astype(F64)) > np.abs(np.asarray(x).astype(F64))
            near = np.where(far, np.nextafter(near, F32.type(0)), near)
        return near if type(x) is ndarray else near[()]

    return call


def _multiply_24(signed: bool) -> Callable[[Value, Value], Value]:
    """The lower 32 bits of the product of the lower 24 bits."""

    def low(x: Any) -> Any:
        x = np.asarray(x).astype(np.int64) & 0xFF_FFFF
        return x - ((x >> 23) << 24) if signed else x

    def call(x: Value, y: Value) -> Value:
        product = (low(x) * low(y)).astype(np.int32 if signed else np.uint32)
        return product if type(x) is ndarray or type(y) is ndarray else int(product)

    return call


def _ldexp(dtype: np.dtype[Any]) -> Callable[[Value, Value], Value]:
    def call(x: Value, power: Value) -> Value:
        found = np.ldexp(np.asarray(x, dtype), np.asarray(power))
        return found if type(x) is ndarray or type(power) is ndarray else dtype.type(found)

    return call


def _test(f: Callable[[Any], Any]) -> Callable[[Value], Value]:
    return lambda x: f(x) if type(x) is ndarray else bool(f(x))


FUNCTIONS: dict[str, Callable[..., Value]] = {
    **{name: _in(F64, f) for name, f in _PLAIN.items()},
    **{name + "f": _in(F32, f) for name, f in _PLAIN.items()},
    "fma": _in(F64, lambda x, y, z: x * y + z),
    "fmaf": _in(F32, _fma32),
    "min": _smaller,
    "max": _larger,
    "abs": lambda x: np.abs(x) if type(x) is ndarray else abs(x),
    "isnan": _test(np.isnan),
    "isinf": _test(np.isinf),
    "isfinite": _test(np.isfinite),
    "signbit": _test(np.signbit),
    "__float_as_int": _bits(F32, np.dtype(np.int32)),
    "__float_as_uint": _bits(F32, np.dtype(np.uint32)),
    "__int_as_float": _bits(np.dtype(np.int32), F32),
    "__uint_as_float": _bits(np.dtype(np.uint32), F32),
    "__double_as_longlong": _bits(F64, np.dtype(np.int64)),
    "__longlong_as_double": _bits(np.dtype(np.int64), F64),
    "__popc": _integer(int.bit_count, 32, np.bitwise_count),
    "__popcll": _integer(int.bit_count, 64, np.bitwise_count),
    "__clz": _integer(lambda x: 32 - x.bit_length(), 32, lambda x: 32 - _length(x)),
    "__clzll": _integer(lambda x: 64 - x.bit_length(), 64, lambda x: 64 - _length(x)),
    "__ffs": _integer(lambda x: (x & -x).bit_length(), 32, _first),
    "__ffsll": _integer(lambda x: (x & -x).bit_length(), 64, _first),
    "__brev": _reverse(32),
    "__brevll": _reverse(64),
    "__umulhi": _high(32, False),
    "__mulhi": _high(32, True),
    "__umul64hi": _high(64, False),
    "__mul64hi": _high(64, True),
}  # fmt: skip

# Faster and less exact on a GPU; here the exact ones.
FUNCTIONS |= {
    "__expf": FUNCTIONS["expf"], "__exp10f": FUNCTIONS["exp10f"], "__logf": FUNCTIONS["logf"],
    "__log2f": FUNCTIONS["log2f"], "__log10f": FUNCTIONS["log10f"], "__sinf": FUNCTIONS["sinf"],
    "__cosf": FUNCTIONS["cosf"], "__tanf": FUNCTIONS["tanf"], "__powf": FUNCTIONS["powf"],
    "__fsqrt_rn": FUNCTIONS["sqrtf"], "__frsqrt_rn": FUNCTIONS["rsqrtf"], "__fmaf_rn": FUNCTIONS["fmaf"],
    "__fdividef": _in(F32, lambda x, y: x / y), "__fadd_rn": _in(F32, lambda x, y: x + y),
    "__fmul_rn": _in(F32, lambda x, y: x * y), "__fdiv_rn": _in(F32, lambda x, y: x / y),
    "__frcp_rn": _in(F32, lambda x: 1 / x), "__saturatef": _in(F32, lambda x: np.fmin(np.fmax(x, 0), 1)),
    "__fsub_rn": _in(F32, lambda x, y: x - y), "ldexp": _ldexp(F64), "ldexpf": _ldexp(F32),
    "__half2float": lambda x: to_float(x, F32), "__float2half": lambda x: to_float(x, F16),
    "__float2half_rn": lambda x: to_float(x, F16), "__double2half": lambda x: to_float(x, F16),
    "__int2half_rn": lambda x: integer_to_half(x, F16),
    "__half_as_ushort": _bits(F16, U16), "__half_as_short": _bits(F16, I16),
    "__ushort_as_half": _bits(U16, F16), "__short_as_half": _bits(I16, F16),
    "__mul24": _multiply_24(True), "__umul24": _multiply_24(False),
    "__int2float_rn": _to_float32(False), "__uint2float_rn": _to_float32(False),
    "__double2float_rn": _to_float32(False), "__int2float_rz": _to_float32(True),
    "__float2int_rn": _to_integer(np.rint, I32), "__float2int_rz": _to_integer(np.trunc, I32),
    "__float2int_rd": _to_integer(np.floor, I32), "__float2int_ru": _to_integer(np.ceil, I32),
    "__double2int_rz": _to_integer(np.trunc, I32), "__float2uint_rn": _to_integer(np.rint, U32),
    "__float2uint_rz": _to_integer(np.trunc, U32),
}  # fmt: skip
