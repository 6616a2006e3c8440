"""The arguments of a launch: what each parameter takes, and what the simulator or CuPy is given for it.

`check_arguments` only looks, and needs no more than CuPy's names: it serves real device arrays as well.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from enum import Enum
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from cudasim.device.allocation import Allocation, at_address
from cudasim.engine.memory import NULL, Global, LanePointer, element_of
from cudasim.errors import LaunchTypeError, LaunchValueError
from cudasim.language.bfloat import of_bits
from cudasim.language.tree import Function, Variable
from cudasim.language.types import (
    BFLOAT,
    BOOL,
    DOUBLE,
    Array,
    Pointer,
    Record,
    Scalar,
    Type,
    Void,
    holds_pointer,
)


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


def check_arguments(function: Function, args: Any) -> None:
    """Raise LaunchTypeError or LaunchValueError unless the parameters of `function` take `args`."""
    name, parameters = function.name, function.parameters
    if not isinstance(args, tuple | list):
        raise LaunchTypeError(
            f"{name}: the arguments must be one tuple, not {kind_of(args)}: kernel(grid, block, (x, y, n)); "
            "a tuple of one has a comma: (x,)"
        )
    if len(args) != len(parameters):
        takes = f"{len(parameters)} argument{'' if len(parameters) == 1 else 's'}"
        raise LaunchTypeError(f"{name} takes {takes} ({_signature(parameters)}), got {len(args)}")
    for number, (parameter, value) in enumerate(zip(parameters, args), 1):
        where = f"{name}: argument {number} ({declared(parameter.type, parameter.name)})"
        kind = parameter.type
        if isinstance(kind, Pointer):
            _check_pointer(where, kind, value)
        elif isinstance(kind, Record):
            _check_record(where, kind, value)
        elif isinstance(kind, Scalar):
            _check_scalar(where, kind, value)
        else:
            raise LaunchTypeError(f"{where} cannot be passed to a kernel")


def declared(kind: Type, name: str) -> str:
    """A parameter as it stands in the source: `const float *x`."""
    text = str(kind)
    return f"{text}{name}" if text.endswith("*") else f"{text} {name}"


def _signature(parameters: Sequence[Variable]) -> str:
    return ", ".join(declared(parameter.type, parameter.name) for parameter in parameters) or "none"


# Numbers


def _check_scalar(where: str, kind: Scalar, value: Any) -> None:
    if isinstance(value, np.generic):
        if value.dtype != kind.stored:
            raise LaunchTypeError(f"{where}: got {kind_of(value)}: pass {_example(kind, value)}")
    elif isinstance(value, bool | int):
        _check_int(where, kind, int(value))
    elif isinstance(value, float):
        if kind != DOUBLE:
            why = "a Python float is a double" if kind.is_float else "it is no integer"
            raise LaunchTypeError(
                f"{where}: got the Python float {value!r}, {why}: pass {_example(kind, value)}"
            )
    elif isinstance(value, np.ndarray) or is_device_array(value):
        raise LaunchTypeError(
            f"{where}: got {kind_of(value)}, and the parameter is a number: pass {_call(kind)}(x.item()), "
            "or make the parameter a pointer"
        )
    elif isinstance(value, Enum):
        raise LaunchTypeError(f"{where}: got {value}, which is no integer: pass {value}.value, or an IntEnum")
    else:
        raise LaunchTypeError(f"{where}: got {kind_of(value)}: pass {_call(kind)}(...)")


def _check_int(where: str, kind: Scalar, value: int) -> None:
    if kind.is_float:
        raise LaunchTypeError(
            f"{where}: got the Python int {value}, whose bits are no {kind}: pass {_example(kind, value)}"
        )
    low, high = limits(kind)
    if not low <= value <= high:
        raise LaunchValueError(f"{where}: {value} does not fit: {kind} holds {low} to {high}")


def limits(kind: Scalar) -> tuple[int, int]:
    """The smallest and the largest number of an integer type."""
    if kind == BOOL:
        return 0, 1
    info = np.iinfo(kind.dtype)
    return int(info.min), int(info.max)


def _call(kind: Scalar) -> str:
    """How NumPy makes a number of this type: `np.float32`."""
    return f"np.{kind.dtype.name}{'_' if kind == BOOL else ''}"


def _example(kind: Scalar, value: Any) -> str:
    shown = value.item() if isinstance(value, np.generic) else value
    if isinstance(shown, complex):
        return f"{_call(kind)}(...)"
    return f"{_call(kind)}({shown!r})"


# Pointers


def is_device_array(value: Any) -> bool:
    """A device array, of the stand-in or of CuPy."""
    return is_pointer(getattr(value, "data", None)) and hasattr(value, "dtype") and hasattr(value, "flags")


def is_pointer(value: Any) -> bool:
    """A MemoryPointer, of the stand-in or of CuPy."""
    return hasattr(value, "ptr") and hasattr(value, "mem")


def _check_pointer(where: str, kind: Pointer, value: Any) -> None:
    if is_pointer(value):
        return
    if isinstance(value, np.ndarray):
        raise LaunchTypeError(
            f"{where}: got a NumPy array, which is on the host: move it with cp.asarray(...)"
        )
    if not is_device_array(value):
        hint = (
            "x.data, not its address" if isinstance(value, int | np.integer) else "a device array, or x.data"
        )
        raise LaunchTypeError(f"{where}: got {kind_of(value)}, and the parameter is a pointer: pass {hint}")
    accepted = accepted_dtypes(kind.to)
    if accepted is not None and value.dtype not in accepted:
        wanted = " or ".join(dtype.name for dtype in accepted)
        raise LaunchTypeError(
            f"{where}: got an array of {value.dtype}, and the parameter points to {wanted}: "
            f"pass x.astype(cp.{accepted[0].name}), or change the parameter"
        )
    if not value.flags.c_contiguous:
        raise LaunchValueError(
            f"{where}: the array of shape {value.shape} is not C-contiguous (strides {value.strides}), and a "
            "kernel gets its pointer without strides: pass cp.ascontiguousarray(x); or x.data, and "
            "the strides as numbers"
        )


def accepted_dtypes(to: Type) -> list[np.dtype[Any]] | None:
    """The dtypes of arrays that a pointer to this type may be given; None: all of them."""
    if isinstance(to, Void):
        return None
    if isinstance(to, Scalar):
        return [to.stored]
    if isinstance(to, Pointer):
        return [np.dtype(np.uint64)]
    if isinstance(to, Record):
        parts = {dtype for field in to.fields for dtype in accepted_dtypes(field.type) or ()}
        bytewise = np.dtype(np.uint8)
        return sorted(parts, key=str) if len(parts) == 1 else [bytewise]
    element = getattr(to, "element", None)
    return accepted_dtypes(element) if isinstance(element, Type) else None


# Records


def record_dtype(kind: Record) -> np.dtype[Any]:
    """The structured dtype with the fields, the offsets and the size of a record."""
    parts = [(field.name, _dtype(field.type), field.offset) for field in kind.fields]
    names, formats, offsets = zip(*parts) if parts else ((), (), ())
    layout = {"names": list(names), "formats": list(formats), "offsets": list(offsets), "itemsize": kind.size}
    made: np.dtype[Any] = np.dtype(layout)  # type: ignore[call-overload]
    return made


def _dtype(kind: Type) -> Any:
    if isinstance(kind, Scalar):
        return kind.stored
    if isinstance(kind, Record):
        return record_dtype(kind)
    if isinstance(kind, Pointer):
        return np.dtype(np.uint64)
    if isinstance(kind, Array):
        return np.dtype((_dtype(kind.of), (kind.length or 0,)))
    return np.dtype((np.void, kind.size))


def _check_record(where: str, kind: Record, value: Any) -> None:
    fields = ", ".join(declared(field.type, field.name) for field in kind.fields)
    if isinstance(value, tuple):
        if kind.union and holds_pointer(kind):
            raise LaunchTypeError(f"{where}: a union with pointers in it cannot be passed")
        wanted = 1 if kind.union else len(kind.fields)
        if len(value) != wanted:
            has = f"{kind} has {wanted} field{'s' * (wanted != 1)}"
            if kind.union:
                has = f"of the union {kind} the first field is given"
            raise LaunchTypeError(f"{where}: {has} ({fields}), got {len(value)}")
        for field, part in zip(kind.fields, value):
            _check_part(f"{where}, field {field.name} ({field.type})", field.type, part)
    elif isinstance(value, np.void) or (isinstance(value, np.ndarray) and value.size == 1):
        if value.dtype != record_dtype(kind):
            raise LaunchTypeError(
                f"{where}: got {value.dtype}, and {kind} is {record_dtype(kind)}: both must be the same"
            )
    else:
        raise LaunchTypeError(f"{where}: got {kind_of(value)}: pass a tuple of {kind}'s fields ({fields})")


def _check_part(where: str, kind: Type, value: Any) -> None:
    """A field of a record, or an element of an array in it."""
    if isinstance(kind, Record):
        _check_record(where, kind, value)
    elif isinstance(kind, Scalar):
        _check_scalar(where, kind, value)
    elif isinstance(kind, Pointer):
        _check_pointer(where, kind, value)
    elif isinstance(kind, Array):
        if not isinstance(value, tuple | list | np.ndarray) or len(value) != kind.length:
            raise LaunchTypeError(
                f"{where}: got {kind_of(value)}: pass a tuple or NumPy array of {kind.length}"
            )
        for part in value:
            _check_part(where, kind.of, part)
    else:
        raise LaunchTypeError(f"{where} cannot be passed in a tuple: pass a pointer of its own")


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
        return np.array([_stored(kind.of, part) for part in value], _dtype(kind.element))
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


# All together


def _converted(kind: Type, value: Any) -> Any:
    if isinstance(kind, Pointer):
        return _bound(value)
    if isinstance(kind, Record | Array) and holds_pointer(kind):
        return tuple([_converted(part, inner) for part, inner in zip(_kinds(kind), _parts(kind, value))])
    if isinstance(kind, Array):
        return np.array([_stored(kind.of, part) for part in value], _dtype(kind.element))
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
        words = np.frombuffer(np.asarray(value).tobytes(), _dtype(kind.pieces[0][0]))
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


def kind_of(value: Any) -> str:
    """How a message calls what was given."""
    if isinstance(value, np.generic):
        return f"np.{type(value).__name__}"
    if is_device_array(value):
        return f"a device array of {value.dtype}"
    if isinstance(value, np.ndarray):
        return f"a NumPy array of {value.dtype}"
    if value is None:
        return "None"
    return (
        f"a Python {type(value).__name__}"
        if type(value).__module__ == "builtins"
        else f"a {type(value).__name__}"
    )
