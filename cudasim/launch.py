"""What a launch may look like: the limits of grid, block and shared memory, and what each parameter takes.

`machine` says where it runs. `check_arguments` only looks, and needs no more than CuPy's names, so that it
serves real device arrays as well. `bind` makes what the simulator runs on, `typed` what CuPy can be given.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from cudasim.backend import GPU, SIMULATE, backend
from cudasim.device.allocation import Allocation, MemoryPointer
from cudasim.device.array import ndarray
from cudasim.errors import LaunchTypeError, LaunchValueError
from cudasim.language.tree import Function, Variable
from cudasim.language.types import BOOL, DOUBLE, Pointer, Record, Scalar, Type, Void

Dim3: TypeAlias = tuple[int, int, int]

MAX_THREADS = 1024  # of a block
MAX_BLOCK: Dim3 = (1024, 1024, 64)
MAX_GRID: Dim3 = (2**31 - 1, 65_535, 65_535)
MAX_SHARED = 48 * 1024  # bytes of a block


class Bound(NamedTuple):
    """A pointer argument: where it points to, and the bytes of the allocation that may be touched."""

    allocation: Allocation
    offset: int
    low: int
    high: int


# --------------------------------------------------------------------------------------------------- machine


def machine(name: str, args: Any) -> str:
    """Where a launch runs, "gpu" or "simulate": where its arrays are; without any, where `backend()` says."""
    found = set()
    for value in args if isinstance(args, tuple | list) else ():
        if isinstance(value, ndarray | MemoryPointer):
            found.add(SIMULATE)
        elif not isinstance(value, int | float | np.generic) and (
            is_device_array(value) or is_pointer(value)
        ):
            found.add(GPU)
    if len(found) == 2:
        raise LaunchTypeError(
            f"{name}: some arguments are CuPy's, on the GPU, and some are simulated: make all of them with "
            "the cp of minilib.cuda, or all of them with CuPy"
        )
    return found.pop() if found else backend()


# ---------------------------------------------------------------------------------------------------- limits


def check_limits(
    grid: Any,
    block: Any,
    shared_mem: Any = 0,
    static_shared: int = 0,
    *,
    dynamic: str | None = None,
    max_threads: int | None = None,
    name: str = "kernel",
) -> tuple[Dim3, Dim3]:
    """The grid and the block along x, y, z.

    `static_shared` are the bytes of __shared__ arrays, `dynamic` is the name of the `extern __shared__` array
    where there is one, `max_threads` what __launch_bounds__ says. Raises LaunchTypeError or LaunchValueError.
    """
    grid3 = _lengths(name, "grid", "blocks", grid, MAX_GRID)
    block3 = _lengths(name, "block", "threads", block, MAX_BLOCK)
    threads = math.prod(block3)
    if threads > MAX_THREADS:
        raise LaunchValueError(
            f"{name}: a block of {_times(block3)} has {threads:,} threads, and at most {MAX_THREADS:,} are "
            "possible: use a smaller block and more of them"
        )
    if max_threads is not None and threads > max_threads:
        raise LaunchValueError(
            f"{name}: a block of {_times(block3)} has {threads:,} threads, but the kernel says "
            f"__launch_bounds__({max_threads}): use a smaller block"
        )
    _check_shared(name, shared_mem, static_shared, dynamic)
    return grid3, block3


def _lengths(name: str, what: str, of: str, given: Any, limits: Dim3) -> Dim3:
    if not isinstance(given, tuple):
        raise LaunchTypeError(
            f"{name}: {what} must be a tuple of 1 to 3 integers, not {_kind(given)}: "
            + (
                f"write ({given},)"
                if isinstance(given, int | np.integer)
                else "write (x,), (x, y) or (x, y, z)"
            )
        )
    if not 1 <= len(given) <= 3:
        raise LaunchValueError(f"{name}: {what} must have 1 to 3 lengths, not {len(given)}: {given}")
    lengths = [_length(name, what, given, length) for length in given]
    for axis, length, limit in zip("xyz", lengths, limits):
        if length > limit:
            raise LaunchValueError(
                f"{name}: {what} {_times(lengths)} has {length:,} {of} along {axis}, and at most {limit:,} "
                "are possible there"
            )
    lengths += [1] * (3 - len(lengths))
    return lengths[0], lengths[1], lengths[2]


def _length(name: str, what: str, given: Any, length: Any) -> int:
    if isinstance(length, bool | np.bool_) or not isinstance(length, int | np.integer):
        hint = ": divide with // to get integers" if isinstance(length, float | np.floating) else ""
        raise LaunchTypeError(f"{name}: {what} {given} must hold integers, not {_kind(length)}{hint}")
    if length < 1:
        hint = (
            "; for n threads in blocks of b launch (n + b - 1) // b blocks, and none where n is 0"
            if what == "grid"
            else ""
        )
        raise LaunchValueError(f"{name}: {what} {given} must be at least 1 along each axis{hint}")
    return operator.index(length)


def _check_shared(name: str, shared_mem: Any, static_shared: int, dynamic: str | None) -> None:
    if isinstance(shared_mem, bool) or not isinstance(shared_mem, int | np.integer):
        raise LaunchTypeError(f"{name}: shared_mem must be a number of bytes, not {_kind(shared_mem)}")
    if shared_mem < 0:
        raise LaunchValueError(f"{name}: shared_mem must be a number of bytes, not {shared_mem}")
    if dynamic is not None and shared_mem == 0:
        raise LaunchValueError(
            f"{name}: it declares extern __shared__ {dynamic}[], but the launch gives no bytes for it: "
            "pass shared_mem=the number of bytes"
        )
    total = static_shared + int(shared_mem)
    if total > MAX_SHARED:
        parts = (
            f" ({static_shared:,} static and {shared_mem:,} dynamic)" if static_shared and shared_mem else ""
        )
        raise LaunchValueError(
            f"{name}: {total:,} bytes of shared memory a block{parts}, and at most {MAX_SHARED:,} are "
            "possible: use smaller tiles"
        )


def _times(lengths: Sequence[int]) -> str:
    return " x ".join(f"{length:,}" for length in lengths)


# ------------------------------------------------------------------------------------------------- arguments


def check_arguments(function: Function, args: Any) -> None:
    """Raise LaunchTypeError or LaunchValueError unless the parameters of `function` take `args`."""
    name, parameters = function.name, function.parameters
    if not isinstance(args, tuple | list):
        raise LaunchTypeError(
            f"{name}: the arguments must be one tuple, not {_kind(args)}: kernel(grid, block, (x, y, n)); "
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


def bind(function: Function, args: Any) -> list[Any]:
    """What the simulator gets for each argument, after `check_arguments`.

    Integers and bools become int and bool, floats NumPy scalars, records np.void, pointers `Bound`.
    """
    check_arguments(function, args)
    return [_converted(parameter.type, value) for parameter, value in zip(function.parameters, args)]


def typed(function: Function, args: Any) -> tuple[Any, ...]:
    """What CuPy passes rightly, after `check_arguments`: numbers with the dtype of their parameter, records
    as arrays of one element, everything else as it is."""
    check_arguments(function, args)
    made: list[Any] = []
    for parameter, value in zip(function.parameters, args):
        if isinstance(parameter.type, Scalar):
            value = parameter.type.dtype.type(value)
        elif isinstance(parameter.type, Record):
            value = _record(parameter.type, value).reshape(1)
        made.append(value)
    return tuple(made)


def declared(kind: Type, name: str) -> str:
    """A parameter as it stands in the source: `const float *x`."""
    text = str(kind)
    return f"{text}{name}" if text.endswith("*") else f"{text} {name}"


def _signature(parameters: Sequence[Variable]) -> str:
    return ", ".join(declared(parameter.type, parameter.name) for parameter in parameters) or "none"


# Numbers


def _check_scalar(where: str, kind: Scalar, value: Any) -> None:
    if isinstance(value, np.generic):
        if value.dtype != kind.dtype:
            raise LaunchTypeError(f"{where}: got {_kind(value)}: pass {_example(kind, value)}")
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
            f"{where}: got {_kind(value)}, and the parameter is a number: pass {_call(kind)}(x.item()), "
            "or make the parameter a pointer"
        )
    else:
        raise LaunchTypeError(f"{where}: got {_kind(value)}: pass {_call(kind)}(...)")


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
        raise LaunchTypeError(f"{where}: got {_kind(value)}, and the parameter is a pointer: pass {hint}")
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
        return [to.dtype]
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
    layout = {
        "names": list(names),
        "formats": list(formats),
        "offsets": list(offsets),
        "itemsize": kind.size,
    }
    made: np.dtype[Any] = np.dtype(layout)  # type: ignore[call-overload]
    return made


def _dtype(kind: Type) -> Any:
    if isinstance(kind, Scalar):
        return kind.dtype
    if isinstance(kind, Record):
        return record_dtype(kind)
    if isinstance(kind, Pointer):
        return np.dtype(np.uint64)
    return np.dtype((np.void, kind.size))


def _check_record(where: str, kind: Record, value: Any) -> None:
    fields = ", ".join(declared(field.type, field.name) for field in kind.fields)
    if isinstance(value, tuple):
        if len(value) != len(kind.fields):
            raise LaunchTypeError(
                f"{where}: {kind} has {len(kind.fields)} fields ({fields}), got {len(value)}"
            )
        for field, part in zip(kind.fields, value):
            inside = f"{where}, field {field.name} ({field.type})"
            if isinstance(field.type, Record):
                _check_record(inside, field.type, part)
            elif isinstance(field.type, Scalar):
                _check_scalar(inside, field.type, part)
            else:
                raise LaunchTypeError(f"{inside} cannot be passed in a tuple: pass a pointer of its own")
    elif isinstance(value, np.void) or (isinstance(value, np.ndarray) and value.size == 1):
        if value.dtype != record_dtype(kind):
            raise LaunchTypeError(
                f"{where}: got {value.dtype}, and {kind} is {record_dtype(kind)}: both must be the same"
            )
    else:
        raise LaunchTypeError(f"{where}: got {_kind(value)}: pass a tuple of {kind}'s fields ({fields})")


def _record(kind: Record, value: Any) -> np.ndarray[Any, Any]:
    return np.array(value, record_dtype(kind)).reshape(())


# All together


def _converted(kind: Type, value: Any) -> Any:
    if isinstance(kind, Pointer):
        return _bound(value)
    if isinstance(kind, Record):
        return _record(kind, value)[()]
    if not isinstance(kind, Scalar):
        raise AssertionError(f"no argument is a {kind}")
    if kind == BOOL:
        return bool(value)
    return int(value) if kind.is_integer else kind.dtype.type(value)


def _bound(value: Any) -> Bound:
    if is_device_array(value):
        offset = value.data.offset
        return Bound(value.data.mem, offset, offset, offset + value.nbytes)
    return Bound(value.mem, value.offset, 0, value.mem.nbytes)


def _kind(value: Any) -> str:
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
