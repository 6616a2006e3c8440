"""Facts: what is known of an array before it is there: its kind, its shape, sometimes its numbers.

A fact is written as tract writes it: "B,4,f32" is a float32 array of B rows of 4 numbers. A size that nothing
is known of is None in a rule, and becomes a symbol of its own ("?1") in a model.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, TypeAlias

import numpy as np

from minilib import dims
from minilib.dims import Dim, bounds, larger, smaller

__all__ = [
    "DTYPES", "DatumType", "Fact", "FactError", "Shape", "Unknown", "broadcast_shapes", "ceil_div",
    "flat_axes", "ints", "one_size", "parse_fact", "symbols_told",
    "unread",
]  # fmt: skip

Size: TypeAlias = "int | Dim | None"
Shape: TypeAlias = "tuple[Size, ...] | None"  # None: not even the number of axes is known


class DatumType(IntEnum):
    """A kind of numbers by tract's names, with its numbers: DatumType.F32 is 0x34, a float of 4 bytes."""

    BOOL = 0x01
    U8, U16, U32, U64 = 0x11, 0x12, 0x14, 0x18
    I8, I16, I32, I64 = 0x21, 0x22, 0x24, 0x28
    F16, F32, F64 = 0x32, 0x34, 0x38

    @staticmethod
    def of(dtype: Any) -> DatumType:
        """What tract calls a dtype of NumPy's, or a dtype by its name. Raises FactError for all others."""
        try:
            return next(one for one in DatumType if one.dtype == np.dtype(dtype))
        except (StopIteration, TypeError):
            raise FactError(f"{dtype} is none of the kinds {', '.join(DatumType.__members__)}") from None

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's name for it."""
        return np.dtype(f"{'buif'[self >> 4]}{self & 15}")

    def __str__(self) -> str:
        return self.name

    def is_bool(self) -> bool:
        return self == DatumType.BOOL

    def is_number(self) -> bool:
        return self != DatumType.BOOL

    def is_float(self) -> bool:
        return self >> 4 == 3

    def is_signed(self) -> bool:
        return self >> 4 == 2

    def is_unsigned(self) -> bool:
        return self >> 4 == 1


_NAMES = "1 f32, 2 u8, 3 i8, 4 u16, 5 i16, 6 i32, 7 i64, 9 bool, 11 f64, 12 u32, 13 u64"
# ONNX's number of each kind of numbers that is read, and tract's name for it.
DTYPE_NAMES = {int(number): name for number, name in (pair.split() for pair in _NAMES.split(", "))}
DTYPES = {number: DatumType[name.upper()].dtype for number, name in DTYPE_NAMES.items()}
OTHER_KINDS = {8: "string", 10: "float16", 14: "complex64", 15: "complex128", 16: "bfloat16"}  # not read
_DTYPE_OF = {name: DTYPES[number] for number, name in DTYPE_NAMES.items()}
_NAME_OF = {dtype: name for name, dtype in _DTYPE_OF.items()}


class FactError(ValueError):
    """Facts that contradict each other."""


class Unknown(Exception):
    """A rule asks for more than is known; then nothing is told of the shape of its result."""


@dataclass(frozen=True)
class Fact:
    """What is known of an array. `value` holds its numbers, which for sizes may be symbols (dtype object)."""

    dtype: np.dtype[Any] | None = None
    shape: Shape = None
    value: Any = None

    @staticmethod
    def of(value: Any) -> Fact:
        """All that there is to know of an array."""
        return Fact(np.dtype(np.int64) if value.dtype == object else value.dtype, value.shape, value)

    @property
    def sizes(self) -> tuple[Any, ...]:
        """The shape. Raises Unknown where it is not known."""
        if self.shape is None:
            raise Unknown
        return self.shape

    @property
    def numbers(self) -> list[Any]:
        """The whole numbers, or sizes in symbols, that it holds. Raises Unknown where they are not known."""
        if self.value is None:
            raise Unknown
        return ints(self.value)

    def __str__(self) -> str:
        name = "?" if self.dtype is None else _NAME_OF.get(self.dtype, str(self.dtype))
        shape = ("..",) if self.shape is None else tuple("?" if n is None else str(n) for n in self.shape)
        return ",".join((*shape, name)).replace(" ", "")

    # tract's names

    dump = __str__

    def datum_type(self) -> DatumType | None:
        return None if self.dtype is None else DatumType.of(self.dtype)

    def rank(self) -> int:
        return len(self.dims())

    def dims(self) -> list[Any]:
        if self.shape is None:
            raise FactError(f"the number of axes of {self} is not known")
        return [KnownDim(n) for n in self.shape]

    def dim(self, axis: int) -> Any:
        try:
            return self.dims()[axis]
        except (IndexError, TypeError):
            raise FactError(f"{self} has no axis {axis!r}; they are counted from 0") from None


@dataclass(frozen=True)
class KnownDim:
    """A size as tract's Python hands it out: printed, evaluated, turned into a whole number."""

    size: Size

    def __str__(self) -> str:
        return "?" if self.size is None else str(self.size).replace(" ", "")

    def __int__(self) -> int:
        if not isinstance(self.size, int):
            raise FactError(f"{self} is no number yet: give its symbols values with eval")
        return self.size

    to_int64 = __int__

    def eval(self, values: dict[str, int]) -> KnownDim:
        return KnownDim(dims.at(self.size, symbols_told(values)))


def parse_fact(text: str | Fact) -> Fact:
    """The fact that is written as "B,4,f32"; "?" is a size that is not known, ".." any number of axes.

    Raises FactError where it is not written so.
    """
    if isinstance(text, Fact):
        return text
    if not isinstance(text, str):
        raise FactError(f'a fact is text such as "B,4,f32", and not {text!r}')
    *sizes, last = [part.strip() for part in text.split(",")]
    if last != "?" and last not in _DTYPE_OF:
        raise FactError(
            f"the fact {text!r} ends with {last!r}, which is no kind of numbers: write sizes, then one of "
            + ", ".join(DTYPE_NAMES.values())
        )
    dtype = _DTYPE_OF.get(last)
    if "" in sizes:
        raise FactError(f"the fact {text!r} has an empty size; write a number, a name or ?")
    if sizes == [".."]:
        return Fact(dtype, None)
    try:
        shape = tuple(None if one in ("?", "_") else dims.parse(one) for one in sizes)
    except ValueError as error:
        raise FactError(f"the fact {text!r}: {error}") from None
    if wrong := [n for n in shape if isinstance(n, int) and n < 0]:
        raise FactError(f"the fact {text!r} has the size {wrong[0]}; sizes are 0 or more")
    return Fact(dtype, shape)


def symbols_told(values: Any) -> dict[str, int]:
    """The numbers of symbols. Raises FactError for what is none."""
    if not isinstance(values, Mapping) or not all(isinstance(n, int | np.integer) for n in values.values()):
        raise FactError(f"symbols are given as whole numbers by name, such as {{'B': 2}}, and not {values!r}")
    return dict(values)


def unread(kind: int) -> str:
    """What is said of ONNX's kinds of numbers that are none of DTYPES."""
    name = OTHER_KINDS.get(kind, "of ONNX's kind")
    return f"{name} ({kind}), and those that are read are {', '.join(DTYPE_NAMES.values())}; convert it"


def ints(value: Any) -> list[Any]:
    """An array's numbers, as a list of whole numbers or symbols."""
    return [n if isinstance(n, Dim) else int(n) for n in np.reshape(value, -1).tolist()]


# Arithmetic of shapes


def ceil_div(a: Any, b: Any) -> Any:
    """a / b, rounded up, for a b above 0."""
    return (a + b - 1) // b


def broadcast_size(a: Size, b: Size) -> Size:
    """The size of two axes that are read as one: a 1 is stretched, others must be equal."""
    if a == b or b == 1:
        return a
    if a == 1:
        return b
    if isinstance(a, int) and isinstance(b, int):
        raise FactError(f"sizes {a} and {b} do not fit each other")
    if isinstance(a, int):  # the other is a symbol: 1, or this
        return a
    return b if isinstance(b, int) or a is None or b is None else one_size(a, b)


def one_size(a: Dim, b: Dim) -> Size:
    """The size of two axes that are read as one; None where one of them may be 1, and the other more."""
    if larger(a, 0) == larger(b, 0):  # x[2:] and a window of 3, where both are there
        return min(a, b, key=lambda size: len(str(size)))
    for one, other in ((a, b), (b, a)):
        most = bounds(other)[1]
        if 1 <= most < math.inf and smaller(one, int(most)) == other:  # S rows and the first S of a table
            return one
    return None


def broadcast_shapes(*shapes: Shape) -> Shape:
    """The shape of arrays that are combined number by number. Raises FactError where they do not fit."""
    if any(shape is None for shape in shapes):
        return None
    rank = max(len(shape) for shape in shapes if shape is not None)
    made: list[Size] = [1] * rank
    for shape in shapes:
        for i, n in enumerate(reversed(shape or ())):
            try:
                made[-1 - i] = broadcast_size(made[-1 - i], n)
            except FactError as error:
                shown = " and ".join(str(Fact(None, one)).removesuffix(",?") for one in shapes)
                raise FactError(f"shapes {shown}: {error}") from None
    return tuple(made)


def product(sizes: Iterable[Size]) -> Size:
    """How many numbers; None where one of the sizes is not known."""
    sizes = list(sizes)
    return None if any(n is None for n in sizes) else math.prod(sizes)  # type: ignore[arg-type]


def flat_axes(shape: Sequence[Any], axis: int) -> tuple[Any, Any]:
    """The two sizes of an array whose axes before `axis` are one, and those from there on another."""
    if not -len(shape) <= axis <= len(shape):
        raise FactError(f"axis {axis} of an array that has {len(shape)}")
    axis = axis + len(shape) if axis < 0 else axis
    return product(shape[:axis]), product(shape[axis:])
