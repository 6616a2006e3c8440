"""What is built in: the functions that a kernel may call without defining them.

`INTRINSICS` maps the name in the source to its overloads; `Signature.name` is the one name under which the
checked program lists the call. Warp functions and `__syncwarp` always have all their arguments there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from warplens.language import bfloat, half
from warplens.language.types import (
    BFLOAT,
    BFLOAT2,
    BOOL,
    DOUBLE,
    FLOAT,
    HALF,
    HALF2,
    INT,
    LLONG,
    LONG,
    UINT,
    ULLONG,
    ULONG,
    USHORT,
    VOID,
    Pointer,
    Scalar,
    Type,
)


@dataclass(frozen=True)
class Signature:
    """`defaults` stand for arguments that are left out at the end."""

    name: str
    returns: Type
    parameters: tuple[Type, ...]
    defaults: tuple[int, ...] = ()

    @property
    def of_bfloat(self) -> bool:
        """Whether there is such a function with cuda_bf16.h alone."""
        kinds = (self.returns, *self.parameters, *(getattr(kind, "to", None) for kind in self.parameters))
        return BFLOAT in kinds or BFLOAT2 in kinds


INTRINSICS: dict[str, tuple[Signature, ...]] = {}
# Overloads on two types compute in the type that they return.
SAME_TYPE = {"min", "max", "pow", "powf", "copysign"}

_UNARY = [
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "exp",
    "exp2",
    "exp10",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "rsqrt",
    "cbrt",
    "rcbrt",
    "ceil",
    "floor",
    "trunc",
    "round",
    "rint",
    "nearbyint",
    "fabs",
    "erf",
    "erfc",
    "erfinv",
    "tgamma",
    "lgamma",
    "sinpi",
    "cospi",
    "normcdf",
]
_BINARY = ["pow", "fmod", "atan2", "fmin", "fmax", "hypot", "copysign", "fdim", "remainder"]


def _add(source: str, *signatures: Signature) -> None:
    INTRINSICS[source] = INTRINSICS.get(source, ()) + signatures


def _math(name: str, count: int) -> None:
    single = Signature(name + "f", FLOAT, (FLOAT,) * count)
    double = Signature(name, DOUBLE, (DOUBLE,) * count)
    _add(name, single, double)
    _add(name + "f", single)


for _name in _UNARY:
    _math(_name, 1)
for _name in _BINARY:
    _math(_name, 2)
_math("fma", 3)
_add("pow", Signature("powf", FLOAT, (FLOAT, INT)), Signature("pow", DOUBLE, (DOUBLE, INT)))
_add("copysign", *(Signature("copysign", DOUBLE, pair) for pair in ((FLOAT, DOUBLE), (DOUBLE, FLOAT))))

for _name in [
    "__expf",
    "__exp10f",
    "__logf",
    "__log2f",
    "__log10f",
    "__sinf",
    "__cosf",
    "__tanf",
    "__saturatef",
]:
    _add(_name, Signature(_name, FLOAT, (FLOAT,)))
for _name in ["__fsqrt_rn", "__frcp_rn", "__frsqrt_rn"]:
    _add(_name, Signature(_name, FLOAT, (FLOAT,)))
for _name in ["__powf", "__fdividef", "__fadd_rn", "__fsub_rn", "__fmul_rn", "__fdiv_rn"]:
    _add(_name, Signature(_name, FLOAT, (FLOAT, FLOAT)))
_add("__fmaf_rn", Signature("__fmaf_rn", FLOAT, (FLOAT, FLOAT, FLOAT)))
for _name in ("isnan", "isinf", "isfinite", "signbit"):
    _add(_name, *(Signature(_name, BOOL, (_type,)) for _type in (FLOAT, DOUBLE)))
_SINCOS = [Signature("sincos", VOID, (_type, Pointer(_type), Pointer(_type))) for _type in (FLOAT, DOUBLE)]
_add("sincosf", _SINCOS[0])
_add("sincos", *_SINCOS)
_add("ldexpf", Signature("ldexpf", FLOAT, (FLOAT, INT)))
_add("ldexp", Signature("ldexpf", FLOAT, (FLOAT, INT)), Signature("ldexp", DOUBLE, (DOUBLE, INT)))

# ---------------------------------------------------------------------------------------- smaller and larger

_PAIRS: tuple[tuple[Scalar, Scalar, Scalar], ...] = (
    *(
        (a, b, signed if a == b == signed else unsigned)
        for signed, unsigned in ((INT, UINT), (LONG, ULONG), (LLONG, ULLONG))
        for a in (signed, unsigned)
        for b in (signed, unsigned)
    ),
    *((a, b, a if a == b else DOUBLE) for a in (FLOAT, DOUBLE) for b in (FLOAT, DOUBLE)),
)
for _name in ("min", "max"):
    _add(_name, *(Signature(_name, _result, (_a, _b)) for _a, _b, _result in _PAIRS))
_add("abs", *(Signature("abs", _t, (_t,)) for _t in (INT, LONG, LLONG)))
_add("abs", *(Signature("abs", _t, (_t,)) for _t in (FLOAT, DOUBLE)))
_add("labs", Signature("abs", LONG, (LONG,)))
_add("llabs", Signature("abs", LLONG, (LLONG,)))
_add("umin", Signature("min", UINT, (UINT, UINT)))
_add("umax", Signature("max", UINT, (UINT, UINT)))

# ------------------------------------------------------------------------------------------------------- bits

for _name, _returns, *_parameters in (
    ("__popc", INT, UINT),
    ("__popcll", INT, ULLONG),
    ("__ffs", INT, INT),
    ("__ffsll", INT, LLONG),
    ("__clz", INT, INT),
    ("__clzll", INT, LLONG),
    ("__brev", UINT, UINT),
    ("__brevll", ULLONG, ULLONG),
    ("__mulhi", INT, INT, INT),
    ("__umulhi", UINT, UINT, UINT),
    ("__mul24", INT, INT, INT),
    ("__umul24", UINT, UINT, UINT),
    ("__float_as_int", INT, FLOAT),
    ("__int_as_float", FLOAT, INT),
    ("__float_as_uint", UINT, FLOAT),
    ("__uint_as_float", FLOAT, UINT),
    ("__double_as_longlong", LLONG, DOUBLE),
    ("__longlong_as_double", DOUBLE, LLONG),
    ("__float2int_rn", INT, FLOAT),
    ("__float2int_rz", INT, FLOAT),
    ("__float2int_ru", INT, FLOAT),
    ("__float2int_rd", INT, FLOAT),
    ("__float2uint_rn", UINT, FLOAT),
    ("__float2uint_rz", UINT, FLOAT),
    ("__int2float_rn", FLOAT, INT),
    ("__int2float_rz", FLOAT, INT),
    ("__uint2float_rn", FLOAT, UINT),
    ("__double2float_rn", FLOAT, DOUBLE),
    ("__double2int_rz", INT, DOUBLE),
):
    _add(_name, Signature(_name, _returns, tuple(_parameters)))

for _name, (_result, _parameter) in half.FUNCTIONS.items():
    _add(_name, Signature(_name, _result, (_parameter,)))
for _name, (_result, _count) in half.ARITHMETIC.items():
    _add(_name, Signature(_name, _result, (HALF,) * _count))
for _name, (_, _count) in half.OF_PAIRS.items():
    _add(_name, Signature(_name, HALF2, (HALF2,) * _count))
for _name, (_made, _takes) in half.PAIRS.items():
    _add(_name, Signature(_name, _made, _takes))
for _name, (_result, _parameter) in bfloat.FUNCTIONS.items():
    _add(_name, Signature(_name + bfloat.MARK, _result, (_parameter,)))
for _name, (_result, _count) in bfloat.ARITHMETIC.items():
    _add(_name, Signature(_name + bfloat.MARK, _result, (BFLOAT,) * _count))
for _name, (_, _count) in half.OF_PAIRS.items():
    _add(_name, Signature(_name + bfloat.MARK, BFLOAT2, (BFLOAT2,) * _count))
for _name, (_made, _takes) in bfloat.PAIRS.items():
    _add(_name, Signature(_name + bfloat.MARK, _made, _takes))
_add("__hadd", Signature("__hadd_int", INT, (INT, INT)))  # without the header: the mean of two integers

# --------------------------------------------------------------------------------------------- atomics, warps


def _atomic(name: str, types: tuple[Type, ...], values: int = 1) -> None:
    _add(
        name,
        *(Signature(name, of, (Pointer(of), *(of,) * values)) for of in types),
    )


_atomic("atomicAdd", (INT, UINT, ULLONG, FLOAT, DOUBLE, HALF, BFLOAT))
_atomic("atomicSub", (INT, UINT))
_atomic("atomicExch", (INT, UINT, ULLONG, FLOAT))
_atomic("atomicMin", (INT, UINT, LLONG, ULLONG))
_atomic("atomicMax", (INT, UINT, LLONG, ULLONG))
_atomic("atomicAnd", (INT, UINT, ULLONG))
_atomic("atomicOr", (INT, UINT, ULLONG))
_atomic("atomicXor", (INT, UINT, ULLONG))
_atomic("atomicInc", (UINT,))
_atomic("atomicDec", (UINT,))
_atomic("atomicCAS", (INT, UINT, ULLONG, USHORT), 2)

for _name in ("Add", "Sub", "Exch", "Min", "Max", "And", "Or", "Xor", "Inc", "Dec", "CAS"):
    INTRINSICS[f"atomic{_name}_system"] = INTRINSICS[f"atomic{_name}"]  # the host takes no part here

_EXCHANGED = (INT, UINT, LONG, ULONG, LLONG, ULLONG, FLOAT, DOUBLE, HALF, BFLOAT)
for _name, _lane in (
    ("__shfl_sync", INT),
    ("__shfl_up_sync", UINT),
    ("__shfl_down_sync", UINT),
    ("__shfl_xor_sync", INT),
):
    _add(_name, *(Signature(_name, _of, (UINT, _of, _lane, INT), (32,)) for _of in _EXCHANGED))
_add("__ballot_sync", Signature("__ballot_sync", UINT, (UINT, INT)))
_add("__any_sync", Signature("__any_sync", INT, (UINT, INT)))
_add("__all_sync", Signature("__all_sync", INT, (UINT, INT)))
_add("__activemask", Signature("__activemask", UINT, ()))
_add("__syncthreads", Signature("__syncthreads", VOID, ()))
for _name in ("__syncthreads_count", "__syncthreads_and", "__syncthreads_or"):
    _add(_name, Signature(_name, INT, (INT,)))
_add("__syncwarp", Signature("__syncwarp", VOID, (UINT,), (0xFFFFFFFF,)))
_add("__threadfence", Signature("__threadfence", VOID, ()))
_add("__threadfence_system", Signature("__threadfence_system", VOID, ()))
_add("__threadfence_block", Signature("__threadfence_block", VOID, ()))
_add("__nanosleep", Signature("__nanosleep", VOID, (UINT,)))

# What checks its arguments by itself, for pointers to all numbers and vectors.
CACHED_LOADS = ("__ldg", "__ldca", "__ldcg", "__ldcs", "__ldcv", "__ldlu")
CACHED_STORES = ("__stwb", "__stcg", "__stcs", "__stwt")
COPIES = ("memcpy", "memset")

# --------------------------------------------------------------------------------------------- known, not had

UNSUPPORTED = set(
    [
        "malloc",
        "free",
        "memcmp",
        "clock",
        "clock64",
        "__trap",
        "__brkpt",
        "__assertfail",
        "__prof_trigger",
        "alloca",
        "sincospi",
        "sincospif",
        "__sincosf",
        "frexp",
        "frexpf",
        "modf",
        "modff",
        "remquo",
        "remquof",
        "logb",
        "logbf",
        "ilogb",
        "ilogbf",
        "lrint",
        "lrintf",
        "lround",
        "lroundf",
        "llrint",
        "llrintf",
        "llround",
        "llroundf",
        "scalbn",
        "scalbnf",
        "scalbln",
        "scalblnf",
        "nextafter",
        "nextafterf",
        "nan",
        "nanf",
        "erfcinv",
        "erfcinvf",
        "erfcx",
        "erfcxf",
        "normcdfinv",
        "normcdfinvf",
        "j0",
        "j0f",
        "j1",
        "j1f",
        "jn",
        "jnf",
        "y0",
        "y0f",
        "y1",
        "y1f",
        "yn",
        "ynf",
        "cyl_bessel_i0",
        "cyl_bessel_i0f",
        "cyl_bessel_i1",
        "cyl_bessel_i1f",
        "norm",
        "normf",
        "norm3d",
        "norm3df",
        "norm4d",
        "norm4df",
        "rnorm",
        "rnormf",
        "rnorm3d",
        "rnorm3df",
        "rnorm4d",
        "rnorm4df",
        "rhypot",
        "rhypotf",
        "tanpi",
        "tanpif",
        "ullmax",
        "ullmin",
        "llmax",
        "llmin",
        "__match_any_sync",
        "__match_all_sync",
        "__reduce_add_sync",
        "__reduce_min_sync",
        "__reduce_max_sync",
        "__reduce_and_sync",
        "__reduce_or_sync",
        "__reduce_xor_sync",
        "__shfl",
        "__shfl_up",
        "__shfl_down",
        "__shfl_xor",
        "__any",
        "__all",
        "__ballot",
        "__mul64hi",
        "__umul64hi",
        "__sad",
        "__usad",
        "__rhadd",
        "__uhadd",
        "__urhadd",
        "__byte_perm",
        "__funnelshift_l",
        "__funnelshift_r",
        "__funnelshift_lc",
        "__funnelshift_rc",
        "__dp4a",
        "__dp2a_lo",
        "__dp2a_hi",
        "__isGlobal",
        "__isShared",
        "__isConstant",
        "__isLocal",
        "__cvta_generic_to_shared",
        "__pipeline_memcpy_async",
        "atomicAdd_block",
        "atomicAdd_system",
        "atomicCAS_block",
        "atomicCAS_system",
        "atomicExch_block",
        "atomicExch_system",
        "atomicMin_block",
        "atomicMax_block",
        "atomicSub_block",
        "atomicAnd_block",
        "atomicOr_block",
        "atomicXor_block",
        "atomicMin_system",
        "atomicMax_system",
        "atomicSub_system",
        "atomicAnd_system",
        "atomicOr_system",
        "atomicXor_system",
        "tex1D",
        "tex2D",
        "tex3D",
        "tex1Dfetch",
        "surf2Dread",
        "surf2Dwrite",
        "__dadd_rn",
        "__dmul_rn",
        "__ddiv_rn",
        "__dsqrt_rn",
        "__drcp_rn",
        "__fma_rn",
        "__isnan",
        "__isinf",
        "__isnanf",
        "__isinff",
        "__finite",
        "__finitef",
        "__signbit",
        "__signbitf",
    ]
)
for _name in ["fadd", "fsub", "fmul", "fdiv", "fsqrt", "frcp"]:
    UNSUPPORTED |= {f"__{_name}_{mode}" for mode in ("rn", "rz", "ru", "rd")}
_KINDS = ("float", "double", "int", "uint", "ll", "ull")
UNSUPPORTED |= {
    f"__{source}2{to}_{mode}" for source in _KINDS for to in _KINDS for mode in ("rn", "rz", "ru", "rd")
}
UNSUPPORTED -= set(INTRINSICS)
# Families of functions whose names begin alike.
_FAMILIES = re.compile(
    r"__v(?:abs|add|avg|cmp|h|max|min|neg|sad|set|sub|i)\w*|__nv_\w+|__builtin_\w+|__cvta_\w+|__pipeline_\w+"
    r"|__cluster_\w+|__mbarrier_\w+|(?:tex|surf)(?:1D|2D|3D|Cubemap)\w*"
)


def is_unsupported(name: str) -> bool:
    """Whether CUDA has a function of that name, which is missing here."""
    return name in UNSUPPORTED or (name not in INTRINSICS and _FAMILIES.fullmatch(name) is not None)


HOST_ONLY = {
    "cout": 'a kernel cannot print to a stream; write printf("%d\\n", n)',
    "endl": "a kernel cannot print to a stream",
    "cudaMalloc": "memory is allocated on the host, with cp.empty or cp.zeros",
    "cudaMemcpy": "memory is copied on the host, with cp.asarray and .get()",
    "cudaFree": "memory belongs to the host",
    "cudaDeviceSynchronize": "inside a kernel, __syncthreads() waits for the threads of the block",
    "rand": "there are no random numbers in a kernel; make them on the host",
    "new": "memory is allocated on the host",
}
