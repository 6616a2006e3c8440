"""The arguments of a launch: what the simulator or CuPy is given for each parameter."""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from warplens.device.allocation import Allocation, at_address
from warplens.engine.memory import NULL, Global, LanePointer, element_of
from warplens.errors import LaunchValueError
from warplens.language.bfloat import of_bits
from warplens.language.tree import Function, Variable
from warplens.language.types import (
    BFLOAT,
    BOOL,
    Array,
    Pointer,
    Record,
    Scalar,
    Type,
    Void,
    holds_pointer,
)
from warplens.parameters import check_arguments, dtype_of, is_device_array, is_pointer, record_dtype


class Bound(NamedTuple):
    """A pointer argument: where it points to, and the bytes of the allocation that may be touched."""

    allocation: Allocation
    offset: int
    low: int
    high: int


class Arguments:
    """The arguments of one launch, checked and bound to the parameters of their kernel once."""

    def __init__(self, function: Function, given: Any) -> None:
        """Raises LaunchTypeError or LaunchValueError unless the parameters take what is given."""
        check_arguments(function, given)
        self.parameters, self.given = function.parameters, tuple(given)

    def copied(self, given: Sequence[Any]) -> Arguments:
        """The same arguments in other memory, which need no second check."""
        made = Arguments.__new__(Arguments)
        made.parameters, made.given = self.parameters, tuple(given)
        return made

    @cached_property
    def bound(self) -> list[Any]:
        """Integers and bools as int and bool, floats of NumPy, pointers as `Bound` (None: the null pointer),
        records as np.void, or with pointers in them as a tuple of these."""
        return [_converted(parameter.type, value) for parameter, value in zip(self.parameters, self.given)]

    def typed(self) -> tuple[Any, ...]:
        """What CuPy passes rightly: numbers with the dtype of their parameter, records as arrays of one
        element, everything else as it is."""
        return tuple([_typed(parameter.type, value) for parameter, value in zip(self.parameters, self.given)])

    def values(self, copies: dict[int, np.ndarray[Any, Any]] | None = None) -> list[Any]:
        """As generated code takes them; with `copies`, over copies of the allocations, kept there."""
        return [
            _value(parameter.name, parameter.type, given, value, copies)
            for parameter, given, value in zip(self.parameters, self.given, self.bound)
        ]

    def wrote(self) -> None:
        """After a run: what the kernel may have written to counts as written."""
        for parameter, value in zip(self.parameters, self.bound):
            _wrote(parameter.type, value)

    def only_read(self, written: Set[Variable]) -> frozenset[int]:
        """The bases of the allocations to which no parameter in `written` points, but those to const."""
        found: dict[bool, set[int]] = {True: set(), False: set()}
        for parameter, value in zip(self.parameters, self.bound):
            _bases(parameter.type, value, parameter not in written, found)
        return frozenset(found[True] - found[False])

    def outputs(self, copies: dict[int, np.ndarray[Any, Any]]) -> list[Any]:
        """What array arguments hold after a run over copies; None for numbers. Of a record with pointers:
        a tuple of the same."""
        return [_output(given, value, copies) for given, value in zip(self.given, self.bound)]


def _record(kind: Record, value: Any) -> np.ndarray[Any, Any]:
    if not isinstance(value, tuple):
        return np.array(value, record_dtype(kind)).reshape(())
    made = np.zeros((), record_dtype(kind))
    for field, part in zip(kind.fields, value):
        made[field.name] = _stored(field.type, part)
    return made


def _stored(kind: Type, value: Any) -> Any:
    """A part of a record; arrays and pointers as their addresses."""
    if isinstance(kind, Record):
        return _record(kind, value)
    if isinstance(kind, Array):
        return np.array([_stored(kind.of, part) for part in value], dtype_of(kind.element))
    return value.data.ptr if is_device_array(value) else value.ptr if is_pointer(value) else value


def _kinds(kind: Record | Array) -> list[Type]:
    """The types of its parts."""
    if isinstance(kind, Array):
        return [kind.of] * (kind.length or 0)
    return [field.type for field in kind.fields]


def _parts(kind: Record | Array, value: Any) -> list[Any]:
    """The fields of a record, or elements of an array, as they are given."""
    if isinstance(value, tuple) or isinstance(kind, Array):
        return list(value)
    one = value if isinstance(value, np.void) else value.reshape(-1)[0]
    return [one[field.name] for field in kind.fields]


def _converted(kind: Type, value: Any) -> Any:
    if isinstance(kind, Pointer):
        return _bound(value)
    if isinstance(kind, Record | Array) and holds_pointer(kind):
        return tuple([_converted(part, inner) for part, inner in zip(_kinds(kind), _parts(kind, value))])
    if isinstance(kind, Array):
        return np.array([_stored(kind.of, part) for part in value], dtype_of(kind.element))
    if isinstance(kind, Record):
        return _record(kind, value)[()]
    if not isinstance(kind, Scalar):
        raise AssertionError(f"no argument is a {kind}")
    if kind == BOOL:
        return bool(value)
    if kind == BFLOAT:
        return of_bits(value)
    return int(value) if kind.is_integer else kind.dtype.type(value)


def _bound(value: Any) -> Bound | None:
    if isinstance(value, np.integer):
        return _bound_address(int(value))
    if is_device_array(value):
        offset = value.data.offset
        return Bound(value.data.mem, offset, offset, offset + value.nbytes)
    return Bound(value.mem, value.offset, 0, value.mem.nbytes)


def _bound_address(address: int) -> Bound | None:
    """A pointer that is an address within a record."""
    if address == 0:
        return None
    place = at_address(address)
    if place is None:
        raise LaunchValueError(
            f"a record holds the address {address:#x}, where no array of the simulator is: "
            "pass a tuple of the record's fields, with the array itself in it"
        )
    return Bound(place.mem, place.offset, 0, place.mem.nbytes)


def _typed(kind: Type, value: Any) -> Any:
    if isinstance(kind, Scalar):
        return kind.stored.type(value)
    return _record(kind, value).reshape(1) if isinstance(kind, Record) else value


def _value(
    name: str, kind: Type, given: Any, value: Any, copies: dict[int, np.ndarray[Any, Any]] | None
) -> Any:
    """A parameter, or a field of one, for generated code."""
    if isinstance(kind, Pointer):
        return NULL if value is None else _pointer(name, kind.to, given, value, copies)
    if isinstance(kind, Record | Array) and isinstance(value, tuple):
        names = [f.name for f in kind.fields] if isinstance(kind, Record) else map(str, range(len(value)))
        return tuple(
            [
                _value(f"{name}.{inside}", part_kind, part, inner, copies)
                for inside, part_kind, part, inner in zip(names, _kinds(kind), _parts(kind, given), value)
            ]
        )
    return _plain(kind, value)


def _wrote(kind: Type, value: Any) -> None:
    if isinstance(kind, Record | Array) and isinstance(value, tuple):
        for part, inner in zip(_kinds(kind), value):
            _wrote(part, inner)
    elif isinstance(value, Bound) and isinstance(kind, Pointer) and not kind.const:
        value.allocation.wrote()


def _bases(kind: Type, value: Any, only_read: bool, found: dict[bool, set[int]]) -> None:
    """Add the bases of allocations to those that are only read and those that are not."""
    if isinstance(kind, Record) and isinstance(value, tuple):
        for field, inner in zip(kind.fields, value):
            _bases(field.type, inner, only_read, found)
    elif isinstance(value, Bound) and isinstance(kind, Pointer):
        found[only_read or kind.const].add(value.allocation.base)


def _pointer(
    name: str, to: Type, given: Any, value: Bound, copies: dict[int, np.ndarray[Any, Any]] | None
) -> LanePointer:
    """A pointer for generated code."""
    allocation = value.allocation
    content = allocation.bytes
    if copies is not None:
        content = copies.setdefault(id(allocation), content.copy())
    dtype = _elements(to, given)
    memory = Global(name, content, dtype, allocation.base, value.low, value.high)
    memory.initialised = True if allocation.written is None else allocation.written
    return LanePointer(memory, value.offset)


def _elements(to: Type, value: Any) -> np.dtype[Any]:
    """In what elements a report counts through a pointer."""
    given = getattr(value, "dtype", np.uint8) if is_device_array(value) else np.uint8
    return np.dtype(given) if isinstance(to, Void) else element_of(to)


def _plain(kind: Type, value: Any) -> Any:
    """Numbers, records and arrays of them, as generated code has them; of a union, its words."""
    if isinstance(kind, Record) and kind.union:
        words = np.frombuffer(np.asarray(value).tobytes(), dtype_of(kind.pieces[0][0]))
        return tuple([word.item() for word in words])
    if isinstance(kind, Record):
        return tuple([_plain(field.type, value[field.name]) for field in kind.fields])
    if isinstance(kind, Array):
        return tuple([_plain(kind.of, part) for part in value])
    return value.item() if isinstance(value, np.generic) and value.dtype.kind != "f" else value


def _output(given: Any, value: Any, copies: dict[int, np.ndarray[Any, Any]]) -> Any:
    """What an array argument holds after the run."""
    if isinstance(value, tuple) and not isinstance(value, Bound):
        parts = given if isinstance(given, tuple) else [None] * len(value)
        return tuple([_output(part, inner, copies) for part, inner in zip(parts, value)])
    if not isinstance(value, Bound):
        return None
    content = copies[id(value.allocation)]
    if is_device_array(given):
        part: np.ndarray[Any, Any] = content[value.low : value.high].view(given.dtype)
        return part.reshape(given.shape).copy()
    whole: np.ndarray[Any, Any] = content.copy()
    return whole
