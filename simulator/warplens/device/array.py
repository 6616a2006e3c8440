"""`ndarray`: an array on the simulated device, over NumPy, with operators as CuPy has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from warplens.device.allocation import Allocation, MemoryPointer, address_of, owner_of, poison
from warplens.device.runtime import Device

Host = NDArray[Any]
Shape = int | Sequence[int]
Order = Any  # "C", "F", "A", "K"

NUMBERS = (bool, int, float, complex, np.number, np.bool_)
KINDS = "biufc"
IMPLICIT = (
    "Implicit conversion to a NumPy array is not allowed. "
    "Please use `.get()` to construct a NumPy array explicitly."
)


class ndarray:
    """An array on the device. `data` points to its first element; `base` that of which it is a view."""

    __slots__ = ("__weakref__", "_array", "base", "data")
    __array_priority__ = 100

    _array: Host
    data: MemoryPointer
    base: ndarray | None

    def __init__(
        self,
        shape: Shape,
        dtype: Any = float,
        memptr: MemoryPointer | None = None,
        strides: Sequence[int] | None = None,
        order: Order = "C",
    ) -> None:
        """New memory that nobody has written, or what `memptr` points to."""
        kind = dtype_of(dtype)
        self.base = None
        if memptr is None:
            self._array = np.full(shape, poison(kind), kind, order)
            self.data = MemoryPointer(Allocation.of(self._array, written=False), 0)
        else:
            self._array = np.ndarray(shape, kind, memptr.mem.bytes, memptr.offset, strides, order)
            self.data = memptr

    # What it is

    @property
    def shape(self) -> tuple[int, ...]:
        return self._array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._array.dtype

    @property
    def ndim(self) -> int:
        return self._array.ndim

    @property
    def size(self) -> int:
        return self._array.size

    @property
    def itemsize(self) -> int:
        return self._array.itemsize

    @property
    def nbytes(self) -> int:
        return self._array.nbytes

    @property
    def strides(self) -> tuple[int, ...]:
        return self._array.strides

    @property
    def flags(self) -> Flags:
        return Flags(self)

    @property
    def device(self) -> Device:
        return Device(0)

    @property
    def T(self) -> ndarray:
        return wrap(self._array.T, (self,))

    @property
    def real(self) -> ndarray:
        return wrap(self._array.real, (self,))

    @property
    def imag(self) -> ndarray:
        return wrap(self._array.imag, (self,))

    def __len__(self) -> int:
        return len(self._array)

    def __iter__(self) -> Iterator[ndarray]:
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return repr(self._array)

    def __str__(self) -> str:
        return str(self._array)

    def __format__(self, spec: str) -> str:
        return format(self._array, spec)

    # To the host and back

    def get(self, stream: Any = None, order: Order = "C", out: Any = None, blocking: bool = True) -> Host:
        """A copy in NumPy, or `out` with the numbers written into it."""
        if out is None:
            return self._array.copy("K" if order == "A" else order)
        if not isinstance(out, np.ndarray):
            raise TypeError("Only numpy.ndarray can be obtained from cupy.ndarray")
        if (out.dtype, out.shape) != (self.dtype, self.shape):
            raise ValueError(
                f"get: out must be {self.dtype} of shape {self.shape}, not {out.dtype} of {out.shape}"
            )
        out[...] = self._array
        return out

    def set(self, arr: Host, stream: Any = None) -> None:
        """Write the numbers of a NumPy array of the same dtype and shape."""
        if not isinstance(arr, np.ndarray):
            raise TypeError("Only numpy.ndarray can be set to cupy.ndarray")
        if self.dtype != arr.dtype:
            raise TypeError(f"{arr.dtype} array cannot be set to {self.dtype} array")
        if self.shape != arr.shape:
            raise ValueError(f"Shape mismatch. Old shape: {self.shape}, new shape: {arr.shape}")
        self._array[...] = arr
        self._wrote()

    def item(self) -> Any:
        return self._array.item()

    def tolist(self) -> Any:
        return self._array.tolist()

    def tobytes(self, order: Order = "C") -> bytes:
        return self._array.tobytes(order)

    def __bool__(self) -> bool:
        return bool(self._array)

    def __int__(self) -> int:
        return int(self._array.item())

    def __float__(self) -> float:
        return float(self._array.item())

    def __complex__(self) -> complex:
        return complex(self._array.item())

    def __index__(self) -> int:
        return self._array.__index__()

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(IMPLICIT)

    def __reduce__(self) -> tuple[Any, ...]:
        return wrap, (self._array,)

    def __copy__(self) -> ndarray:
        return wrap(self._array.copy())

    def __deepcopy__(self, memo: Any) -> ndarray:
        return self.__copy__()

    # Parts of it

    def __getitem__(self, index: Any) -> ndarray:
        return wrap(self._array[index_of(index)], (self,))

    def __setitem__(self, index: Any, value: Any) -> None:
        place = index_of(index)
        self._array[place] = operand(value)
        self._wrote(place)

    def fill(self, value: Any) -> None:
        """Write one number everywhere."""
        self._array.fill(operand(value))
        self._wrote()

    def sort(self, axis: int = -1, kind: Any = None) -> None:
        """Sort in place."""
        self._array.sort(axis, kind)

    def view(self, dtype: Any = None) -> ndarray:
        """The same memory, as another dtype."""
        return wrap(self._array.view() if dtype is None else self._array.view(dtype_of(dtype)), (self,))

    def _wrote(self, index: Any = ...) -> None:
        self.data.mem.wrote(self._array, index)


class Flags:
    """How an array lies in memory, by attribute or by NumPy's names in capitals."""

    def __init__(self, array: ndarray) -> None:
        self.c_contiguous: bool = array._array.flags.c_contiguous
        self.f_contiguous: bool = array._array.flags.f_contiguous
        self.owndata = array.base is None

    @property
    def forc(self) -> bool:
        return self.c_contiguous or self.f_contiguous

    @property
    def fnc(self) -> bool:
        return self.f_contiguous and not self.c_contiguous

    def __getitem__(self, name: str) -> bool:
        if name not in ("C_CONTIGUOUS", "F_CONTIGUOUS", "OWNDATA"):
            raise KeyError(f"{name!r} is no flag of a device array: C_CONTIGUOUS, F_CONTIGUOUS, OWNDATA")
        value: bool = getattr(self, name.lower())
        return value

    def __repr__(self) -> str:
        names = ("C_CONTIGUOUS", "F_CONTIGUOUS", "OWNDATA")
        return "\n".join(f"  {name} : {self[name]}" for name in names)


# ------------------------------------------------------------------------------- between NumPy and the device


def upper(result: Any, sources: Sequence[ndarray]) -> Any:
    """What NumPy gave, on the device: arrays, numbers (as arrays without axes), tuples and lists of them."""
    if isinstance(result, np.ndarray | np.generic | bool | int | float):
        return wrap(result, sources)
    if isinstance(result, tuple | list):
        parts = [wrap(part, sources) for part in result]
        return parts if isinstance(result, list) else tuple(parts)
    return result


def wrap(result: Any, sources: Sequence[ndarray] = (), written: bool = True) -> ndarray:
    """An array or a number of NumPy's, on the device. A view keeps the memory of its source; what is new gets
    its own, and nothing may write to `result` but through what comes back."""
    array = np.asarray(result)
    owner = owner_of(array)
    for source in sources:
        if array is source._array:
            return source
        memory = source.data.mem
        if owner is memory.owner:
            base = source if source.base is None else source.base
            return _made(array, MemoryPointer(memory, address_of(array) - memory.address), base)
    memory = Allocation.of(array, written)
    return _made(array, MemoryPointer(memory, address_of(array) - memory.address), None)


def _made(host: Host, data: MemoryPointer, base: ndarray | None) -> ndarray:
    made = ndarray.__new__(ndarray)
    made._array, made.data, made.base = host, data, base
    return made


def lower(value: Any, sources: list[ndarray]) -> Any:
    """An argument for NumPy: device arrays become what is in them and go to `sources`."""
    if isinstance(value, ndarray):
        sources.append(value)
        return value._array
    if isinstance(value, tuple | list):
        return type(value)([lower(item, sources) for item in value])
    if isinstance(value, np.ndarray):
        raise unsupported(value)
    return value


def unsupported(value: Any) -> TypeError:
    text = f"Unsupported type {type(value)}"
    if isinstance(value, np.ndarray):
        text += ": it is on the host; move it to the device with cp.asarray(...)"
    return TypeError(text)


def operand(value: Any) -> Any:
    """A device array or a number, for NumPy."""
    if isinstance(value, ndarray):
        return value._array
    if isinstance(value, NUMBERS):
        return value
    raise unsupported(value)


def required(function: str, parameter: str, value: Any) -> Host:
    if isinstance(value, ndarray):
        return value._array
    if isinstance(value, np.ndarray):
        raise unsupported(value)
    raise TypeError(
        f"{function}: {parameter} must be a device array, not {type(value).__name__}: use cp.asarray"
    )


def host(value: Any) -> Any:
    """Lists may hold arrays of either side."""
    if isinstance(value, list | tuple):
        return [host(item) for item in value]
    return value._array if isinstance(value, ndarray) else value


def index_of(index: Any) -> Any:
    """An index for NumPy that gives a view of an element, too: the Ellipsis at the end sees to that."""
    parts = list(index) if isinstance(index, tuple) else [index]
    for i, part in enumerate(parts):
        if isinstance(part, ndarray):
            parts[i] = part._array
        elif isinstance(part, list | tuple):
            parts[i] = np.asarray(host(part)) if part else np.empty(0, np.int64)
    if not any(part is Ellipsis for part in parts):
        parts.append(Ellipsis)
    return tuple(parts)


def dtype_of(dtype: Any) -> np.dtype[Any]:
    found: np.dtype[Any] = np.dtype(dtype)
    if found.kind not in KINDS:
        raise ValueError(f"Unsupported dtype {found}")
    return found


# -------------------------------------------------------------------------------------------------- operators

_BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder, "pow": np.power, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "lshift": np.left_shift, "rshift": np.right_shift, "divmod": np.divmod, "matmul": np.matmul,
}  # fmt: skip
_COMPARISONS = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal,
}  # fmt: skip
_UNARY = {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}


def _other(value: Any) -> Any:
    """The other operand for NumPy; NotImplemented for what may know better what to do with a device array."""
    if isinstance(value, ndarray):
        return value._array
    if isinstance(value, NUMBERS):
        return value
    if isinstance(value, np.ndarray):
        raise unsupported(value)
    return NotImplemented


def _binary(function: Any, reflected: bool = False) -> Callable[[ndarray, Any], Any]:
    def operate(self: ndarray, other: Any) -> Any:
        value = _other(other)
        if value is NotImplemented:
            return NotImplemented
        pair = (value, self._array) if reflected else (self._array, value)
        return upper(function(*pair), ())

    return operate


def _in_place(function: Any) -> Callable[[ndarray, Any], Any]:
    def operate(self: ndarray, other: Any) -> Any:
        value = _other(other)
        if value is NotImplemented:
            return NotImplemented
        function(self._array, value, out=self._array)
        self._wrote()
        return self

    return operate


def _unary(function: Any) -> Callable[[ndarray], Any]:
    def operate(self: ndarray) -> Any:
        return upper(function(self._array), ())

    return operate


def _add_operators() -> None:
    for name, function in _BINARY.items():
        setattr(ndarray, f"__{name}__", _binary(function))
        setattr(ndarray, f"__r{name}__", _binary(function, reflected=True))
        if name not in ("divmod", "matmul"):
            setattr(ndarray, f"__i{name}__", _in_place(function))
    for name, function in _COMPARISONS.items():
        setattr(ndarray, f"__{name}__", _binary(function))
    for name, function in _UNARY.items():
        setattr(ndarray, f"__{name}__", _unary(function))
    ndarray.__hash__ = None  # type: ignore[assignment]


_add_operators()
