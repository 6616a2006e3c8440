"""The math functions of CUDA C, in float32 and float64, over arrays and single numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from warplens.engine.memory import Value
from warplens.engine.values import float_to_bfloat, float_to_integer, integer_to_half, to_float
from warplens.language import bfloat, half

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


def _compared(f: Callable[[Any, Any], Any], with_nan: bool) -> Callable[[Value, Value], Value]:
    """A comparison of halves, which says `with_nan` where one of them is none."""

    def call(x: Value, y: Value) -> Value:
        nan = np.isnan(x) | np.isnan(y)
        found = (f(x, y) | nan) if with_nan else (f(x, y) & ~nan)
        return found if type(found) is ndarray else bool(found)

    return call


def _mean(x: Value, y: Value) -> Value:
    """Of two integers, rounded down."""
    if type(x) is not ndarray and type(y) is not ndarray:
        return (int(x) + int(y)) >> 1
    return ((np.asarray(x).astype(np.int64) + y) >> 1).astype(I32)


def _infinite(x: Value) -> Value:
    found = np.where(np.isinf(x), np.sign(x), 0).astype(I32)
    return found if type(x) is ndarray else int(found)


def _larger_half(x: Any, y: Any) -> Any:
    """Of a number and nan the number; +0 is larger than -0."""
    return np.where((x == 0) & (y == 0), x + y, np.fmax(x, y))


def _smaller_half(x: Any, y: Any) -> Any:
    return -_larger_half(-x, -y)


def _half(f: Callable[..., Any]) -> Callable[..., Value]:
    """Computed in float32, whose result is rounded to a half."""
    return _in(F16, lambda *arguments: f(*[a.astype(F32) for a in arguments]))


_ON_HALVES: dict[str, Callable[..., Any]] = {
    "__hadd": np.add, "__hsub": np.subtract, "__hmul": np.multiply, "__hdiv": np.divide,
    "__hmax": _larger_half, "__hmin": _smaller_half, "__hneg": np.negative, "__habs": np.abs,
    "__hadd_rn": np.add, "__hsub_rn": np.subtract, "__hmul_rn": np.multiply,
    # A product of halves is exact in float64, and its sum with a half as far as rounding to a half can tell.
    "__hfma": lambda x, y, z: x.astype(F64) * y.astype(F64) + z.astype(F64),
}  # fmt: skip
_OF_FLOATS = ("exp", "exp2", "exp10", "log", "log2", "log10", "sqrt", "rsqrt", "sin", "cos", "floor", "ceil",
              "trunc", "rint")  # fmt: skip
_ORDER = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
          "ge": np.greater_equal}  # fmt: skip
_ROUNDED = {"rn": np.rint, "rz": np.trunc, "rd": np.floor, "ru": np.ceil}
FUNCTIONS |= {
    **{name: _in(F16, f) for name, f in _ON_HALVES.items()},
    **{f"h{name}": _half(_PLAIN[name]) for name in _OF_FLOATS},
    "hrcp": _half(lambda x: 1 / x),
    **{f"__h{name}": _compared(f, False) for name, f in _ORDER.items()},
    **{f"__h{name}u": _compared(f, True) for name, f in _ORDER.items()},
    "__hadd_int": _mean,
    "__hisnan": _test(np.isnan),
    "__hisinf": _infinite,
    **{f"__half2int_{mode}": _to_integer(f, I32) for mode, f in _ROUNDED.items()},
    **{f"__half2uint_{mode}": _to_integer(f, U32) for mode, f in _ROUNDED.items()},
    **{
        f"__{kind}2half_rn": lambda x: integer_to_half(x, F16)
        for kind in ("uint", "short", "ushort", "ll", "ull")
    },
}


def _both(name: str) -> Callable[..., tuple[Value, Value]]:
    """A function of halves on both parts of a half2."""
    f = FUNCTIONS[name]
    return lambda *pairs: (f(*[pair[0] for pair in pairs]), f(*[pair[1] for pair in pairs]))


def _f16(x: Value) -> Value:
    return to_float(x, F16)


def _f32(x: Value) -> Value:
    return to_float(x, F32)


FUNCTIONS |= {name: _both(one) for name, (one, _) in half.OF_PAIRS.items()} | {
    "make_half2": lambda x, y: (x, y),
    "__halves2half2": lambda x, y: (x, y),
    "__half2half2": lambda x: (x, x),
    "__float2half2_rn": lambda x: (_f16(x), _f16(x)),
    "__floats2half2_rn": lambda x, y: (_f16(x), _f16(y)),
    "__float22half2_rn": lambda pair: (_f16(pair[0]), _f16(pair[1])),
    "__half22float2": lambda pair: (_f32(pair[0]), _f32(pair[1])),
    "__low2half": lambda pair: pair[0],
    "__high2half": lambda pair: pair[1],
    "__low2float": lambda pair: _f32(pair[0]),
    "__high2float": lambda pair: _f32(pair[1]),
    "__low2half2": lambda pair: (pair[0], pair[0]),
    "__high2half2": lambda pair: (pair[1], pair[1]),
    "__lowhigh2highlow": lambda pair: (pair[1], pair[0]),
    "__lows2half2": lambda a, b: (a[0], b[0]),
    "__highs2half2": lambda a, b: (a[1], b[1]),
}


def _fused(x: Any, y: Any, z: Any) -> Any:
    """x * y + z of bfloat16, rounded once: the product is exact in float64, and what is lost of the sum is
    told by its last bit."""
    product, other = x.astype(F64) * y.astype(F64), z.astype(F64)
    with np.errstate(all="ignore"):
        whole = product + other
        back = whole - product
        lost = (product - (whole - back)) + (other - back)
        bits = np.asarray(whole).view(np.int64)
        beside = np.nextafter(whole, np.where(lost > 0, np.inf, -np.inf))
        odd = (lost != 0) & np.isfinite(lost) & (bits & 1 == 0)
    return bfloat.rounded_double(np.where(odd, beside, whole))


def _bf16(name: str) -> Callable[..., Value]:
    """A function of bfloat16, computed in float32 and rounded."""
    if name == "__hfma":
        return _in(F32, _fused)
    plain = _ON_HALVES.get(name) or (FUNCTIONS.get(name) if name.startswith("__") else None)
    if name in _ON_HALVES:
        assert plain is not None
        return _in(F32, lambda *a: bfloat.rounded(np.asarray(plain(*a))))
    if plain is not None:  # a comparison or a test
        return plain
    of: Callable[..., Any] = (lambda x: 1 / x) if name == "hrcp" else _PLAIN[name[1:]]
    return _in(F32, lambda x: bfloat.rounded(np.asarray(of(x), F32)))


def _of_bf16(name: str, count: int) -> Callable[..., tuple[Value, Value]]:
    f = _bf16(name)
    return lambda *pairs: (f(*[pair[0] for pair in pairs]), f(*[pair[1] for pair in pairs]))


def _narrowed(x: Value) -> Value:
    return float_to_bfloat(x if type(x) is ndarray else np.asarray(x)[()], F32)


_BF16: dict[str, Callable[..., Any]] = {
    **{name: _bf16(name) for name in bfloat.ARITHMETIC},
    **{name: _of_bf16(one, count) for name, (one, count) in half.OF_PAIRS.items()},
    **{
        name.replace("half", "bfloat16"): FUNCTIONS[name]  # whatever the pairs hold
        for name in half.PAIRS
        if "2half2_rn" not in name
    },
    "__float2bfloat162_rn": lambda x: (_narrowed(x), _narrowed(x)),
    "__floats2bfloat162_rn": lambda x, y: (_narrowed(x), _narrowed(y)),
    "__float22bfloat162_rn": lambda pair: (_narrowed(pair[0]), _narrowed(pair[1])),
    "__bfloat162float": lambda x: x,
    **{name: _narrowed for name in ("__float2bfloat16", "__float2bfloat16_rn", "__double2bfloat16")},
    **{
        f"__{kind}2bfloat16_rn": bfloat.rounded_integer
        for kind in ("int", "uint", "short", "ushort", "ll", "ull")
    },
    "__bfloat16_as_ushort": bfloat.bits_of,
    "__bfloat16_as_short": lambda x: _bits(U16, I16)(bfloat.bits_of(x)),
    "__ushort_as_bfloat16": bfloat.of_bits,
    "__short_as_bfloat16": lambda x: bfloat.of_bits(x.view(U16) if type(x) is ndarray else int(x) & 0xFFFF),
    **{f"__bfloat162int_{mode}": _to_integer(f, I32) for mode, f in _ROUNDED.items()},
    **{f"__bfloat162uint_{mode}": _to_integer(f, U32) for mode, f in _ROUNDED.items()},
}
FUNCTIONS |= {name + bfloat.MARK: f for name, f in _BF16.items()}
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
