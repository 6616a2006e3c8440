"""What each parameter of a kernel takes; anything else is refused, and told how to be passed.

All this only looks, and needs no more than CuPy's names: it serves real device arrays as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np

from warplens.errors import LaunchTypeError, LaunchValueError
from warplens.language.tree import Function, Variable
from warplens.language.types import (
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


def record_dtype(kind: Record) -> np.dtype[Any]:
    """The structured dtype with the fields, the offsets and the size of a record."""
    parts = [(field.name, dtype_of(field.type), field.offset) for field in kind.fields]
    names, formats, offsets = zip(*parts) if parts else ((), (), ())
    layout = {"names": list(names), "formats": list(formats), "offsets": list(offsets), "itemsize": kind.size}
    made: np.dtype[Any] = np.dtype(layout)  # type: ignore[call-overload]
    return made


def dtype_of(kind: Type) -> Any:
    """The same of any type."""
    if isinstance(kind, Scalar):
        return kind.stored
    if isinstance(kind, Record):
        return record_dtype(kind)
    if isinstance(kind, Pointer):
        return np.dtype(np.uint64)
    if isinstance(kind, Array):
        return np.dtype((dtype_of(kind.of), (kind.length or 0,)))
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
