"""The types of CUDA C: what is stored in how many bytes, and what is converted to what.

Sizes are those of a 64-bit machine: `long` has 8 bytes, `char` is signed. `dtype` is what NumPy calls it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Type:
    """Any type. `size` and `align` are in bytes."""

    @property
    def size(self) -> int:
        raise TypeError(f"{self} has no size")

    @property
    def align(self) -> int:
        return self.size


@dataclass(frozen=True)
class Void(Type):
    def __str__(self) -> str:
        return "void"


@dataclass(frozen=True)
class Scalar(Type):
    """A number: `kind` is "b" (bool), "i" (signed), "u" (unsigned) or "f"; `rank` orders integers."""

    name: str
    dtype: np.dtype[Any]
    rank: int

    @property
    def stored(self) -> np.dtype[Any]:
        """What NumPy calls it in memory."""
        return self.dtype

    @property
    def size(self) -> int:
        return self.stored.itemsize

    @property
    def kind(self) -> str:
        return self.dtype.kind

    @property
    def is_integer(self) -> bool:
        """Whether it is an integer; bool counts."""
        return self.dtype.kind in "biu"

    @property
    def is_float(self) -> bool:
        return self.dtype.kind == "f"

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Narrow(Scalar):
    """__nv_bfloat16: a float32 in registers, and its upper 16 bits in memory."""

    @property
    def stored(self) -> np.dtype[Any]:
        return np.dtype(np.uint16)


@dataclass(frozen=True)
class Enum(Scalar):
    """An enum, as wide as `base`. Of a `scoped` one (enum class) nothing is computed without a cast."""

    base: Scalar
    scoped: bool
    place: tuple[int, int]  # where it is defined: two of one name are two types
    constants: dict[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class Pointer(Type):
    """`const` says that what it points to must not be written, `volatile` that each access must happen. A
    reference is a pointer in the tree."""

    to: Type
    const: bool = False
    volatile: bool = False

    @property
    def size(self) -> int:
        return 8

    def __str__(self) -> str:
        return f"{'const ' * self.const}{'volatile ' * self.volatile}{self.to} *"


@dataclass(frozen=True)
class Array(Type):
    """`length` None: as long as the launch says (`extern __shared__`)."""

    of: Type
    length: int | None

    @property
    def size(self) -> int:
        return self.of.size * (self.length or 0)

    @property
    def align(self) -> int:
        return self.of.align

    @property
    def element(self) -> Type:
        """What the innermost array holds."""
        return self.of.element if isinstance(self.of, Array) else self.of

    def __str__(self) -> str:
        lengths, inner = "", self
        while isinstance(inner, Array):
            lengths += f"[{'' if inner.length is None else inner.length}]"
            inner = inner.of  # type: ignore[assignment]
        return f"{inner} {lengths}"


@dataclass(frozen=True)
class FunctionType(Type):
    """What a pointer to a function points to, as it is written."""

    returns: Type
    parameters: tuple[Type, ...]

    def __str__(self) -> str:
        return f"{self.returns} ({', '.join(str(kind) for kind in self.parameters)})"


@dataclass(frozen=True)
class Field:
    name: str
    type: Type
    offset: int


@dataclass(frozen=True, eq=False)
class Record(Type):
    """A struct, and float4 and its like, which are structs with a larger alignment. Each is its own type.

    `members`: what else stands in the source's own ones, a `Members` of `scope`.
    """

    name: str
    fields: tuple[Field, ...]
    bytes: int
    alignment: int
    vector: bool = False  # a vector of CUDA's: read and written in one access
    union: bool = False  # all members lie at the beginning
    complete: bool = True  # its members are known
    members: Any = field(default=None, repr=False)

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def define(self, fields: tuple[Field, ...], size: int, alignment: int) -> None:
        """What a struct that has been declared is made of."""
        for name, value in (
            ("fields", fields),
            ("bytes", size),
            ("alignment", alignment),
            ("complete", True),
        ):
            object.__setattr__(self, name, value)

    @property
    def pieces(self) -> list[tuple[Type, int]]:
        """What a value of it consists of, and where: its fields; of a union, words that hold all of it."""
        if not self.union:
            return [(field.type, field.offset) for field in self.fields]
        word = {1: UCHAR, 2: USHORT, 4: UINT}.get(self.alignment, ULLONG)
        return [(word, offset) for offset in range(0, self.bytes, word.size)]

    @property
    def in_memory(self) -> bool:
        """Whether it must lie in memory: what it holds is found by an index, or seen as several types."""
        return self.union or any(
            isinstance(field.type, Array) or (isinstance(field.type, Record) and field.type.in_memory)
            for field in self.fields
        )

    @property
    def size(self) -> int:
        return self.bytes

    @property
    def align(self) -> int:
        return self.alignment

    def field(self, name: str) -> Field | None:
        return next((field for field in self.fields if field.name == name), None)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Group(Record):
    """A group of threads, of cooperative groups. `kind`: "block", "tile" (of `tile` threads), "coalesced",
    "any" (thread_group) or "grid"; `parent`: what a tile is a part of, where its type says so."""

    kind: str = ""
    tile: int = 0
    parent: Group | None = None


def _scalar(name: str, dtype: str, rank: int) -> Scalar:
    return Scalar(name, np.dtype(dtype), rank)


VOID = Void()
BOOL = _scalar("bool", "bool", 0)
CHAR = _scalar("char", "int8", 1)
SCHAR = _scalar("signed char", "int8", 1)
UCHAR = _scalar("unsigned char", "uint8", 1)
SHORT = _scalar("short", "int16", 2)
USHORT = _scalar("unsigned short", "uint16", 2)
INT = _scalar("int", "int32", 3)
UINT = _scalar("unsigned int", "uint32", 3)
LONG = _scalar("long", "int64", 4)
ULONG = _scalar("unsigned long", "uint64", 4)
LLONG = _scalar("long long", "int64", 5)
ULLONG = _scalar("unsigned long long", "uint64", 5)
HALF = _scalar("half", "float16", 6)  # of cuda_fp16.h
BFLOAT = Narrow("__nv_bfloat16", np.dtype(np.float32), 6)  # of cuda_bf16.h
FLOAT = _scalar("float", "float32", 7)
DOUBLE = _scalar("double", "float64", 8)

SCALARS = (
    BOOL, CHAR, SCHAR, UCHAR, SHORT, USHORT, INT, UINT, LONG, ULONG, LLONG, ULLONG, HALF, FLOAT, DOUBLE
)  # fmt: skip


def vector(name: str, of: Scalar, count: int) -> Record:
    """float4 and its like: aligned to its size, but those of three, which are aligned as their parts."""
    fields = tuple(Field("xyzw"[i], of, i * of.size) for i in range(count))
    align = of.size if count == 3 else min(16, count * of.size)
    return Record(name, fields, count * of.size, align, vector=True)


_PREFIX = {
    "char": CHAR, "uchar": UCHAR, "short": SHORT, "ushort": USHORT, "int": INT, "uint": UINT, "long": LONG,
    "ulong": ULONG, "longlong": LLONG, "ulonglong": ULLONG, "float": FLOAT, "double": DOUBLE,
}  # fmt: skip
VECTORS = {
    f"{prefix}{count}": vector(f"{prefix}{count}", of, count)
    for prefix, of in _PREFIX.items()
    for count in (1, 2, 3, 4)
}
HALF2 = vector("half2", HALF, 2)  # of cuda_fp16.h too
BFLOAT2 = vector("__nv_bfloat162", BFLOAT, 2)  # of cuda_bf16.h
NARROW = (HALF, BFLOAT)  # classes in C++, which any number may become
PAIRS = (HALF2, BFLOAT2)
DIM3 = Record("dim3", VECTORS["uint3"].fields, 12, 4)


def holds_array(kind: Type) -> bool:
    """Whether a value of this type lies in memory wherever it is."""
    return isinstance(kind, Array) or (isinstance(kind, Record) and kind.in_memory)


def holds_pointer(kind: Type) -> bool:
    """Whether it is a pointer, or has parts that are."""
    if isinstance(kind, Array):
        return holds_pointer(kind.of)
    return isinstance(kind, Pointer) or (
        isinstance(kind, Record) and any(holds_pointer(field.type) for field in kind.fields)
    )


def is_scoped(kind: Type) -> bool:
    """Whether it is an enum class."""
    return isinstance(kind, Enum) and kind.scoped


def promoted(kind: Scalar) -> Scalar:
    """Integers smaller than int become int before anything is computed, and an enum what it is made of."""
    if isinstance(kind, Enum):
        return kind if kind.scoped else promoted(kind.base)
    return INT if kind.is_integer and kind.rank < INT.rank else kind


def common(a: Scalar, b: Scalar) -> Scalar:
    """The type in which two operands are computed: C's usual arithmetic conversions."""
    a, b = promoted(a), promoted(b)
    if a == b:
        return a
    if a.is_float or b.is_float:
        return max(a, b, key=lambda t: (t.is_float, t.rank))
    if a.kind == b.kind:
        return max(a, b, key=lambda t: t.rank)
    unsigned, signed = (a, b) if a.kind == "u" else (b, a)
    if unsigned.rank >= signed.rank:
        return unsigned
    if signed.size > unsigned.size:
        return signed
    return {LONG: ULONG, LLONG: ULLONG}[signed]
