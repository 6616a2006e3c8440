"""Memory as a kernel sees it: global arrays, shared memory of a block, local arrays of a thread.

Addresses are virtual. A pointer is a memory and an offset in bytes, one number or one for each lane. How
lanes are laid out, `axes` says.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from warplens.device.allocation import poison
from warplens.language.types import Array, Record, Scalar, Type

Value: TypeAlias = (
    Any  # a bool, an int, a NumPy scalar (floats), an array over lanes, a LanePointer, a tuple (record)
)
Index: TypeAlias = Any  # an int, or an int64 array over lanes


def element_of(kind: Type) -> np.dtype[Any]:
    """The dtype in which a type is filled and shown: that of its scalars, or bytes where they differ."""
    if isinstance(kind, Array):
        return element_of(kind.element)
    if isinstance(kind, Record):
        found = {element_of(field.type) for field in kind.fields}
        return found.pop() if len(found) == 1 else np.dtype(np.uint8)
    return kind.stored if isinstance(kind, Scalar) else np.dtype(np.uint64)


class Memory:
    """`nbytes` of one copy; `low` and `high` are the bytes that may be touched; `base` is virtual.

    `initialised` says whether it has been written, as a whole or byte by byte; `shape` is that of a declared
    array.
    """

    space = "global"
    shape: tuple[int, ...] = ()
    single = False  # a variable, and no array
    by_launch = False  # as long as the launch says: extern __shared__
    initialised: bool | np.ndarray[Any, Any]

    def __init__(self, name: str, nbytes: int, dtype: np.dtype[Any], base: int = 0) -> None:
        self.name, self.nbytes, self.dtype, self.base = name, nbytes, dtype, base
        self.low, self.high = 0, nbytes
        self.initialised = False


class Global(Memory):
    """The part of an allocation that a pointer argument may touch; or a variable at file scope."""

    def __init__(
        self, name: str, data: np.ndarray[Any, Any], dtype: np.dtype[Any], base: int, low: int, high: int
    ) -> None:
        super().__init__(name, data.nbytes, dtype, base)
        self.low, self.high = low, high
        self.bytes = data  # uint8, one axis
        self.views: dict[np.dtype[Any], np.ndarray[Any, Any]] = {}
        self.initialised = True

    def view(self, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """All of it as elements of `dtype` (what is left over at the end is no element)."""
        found = self.views.get(dtype)
        if found is None:
            whole = self.nbytes // dtype.itemsize * dtype.itemsize
            found = self.views[dtype] = self.bytes[:whole].view(dtype)
        return found


class Constant(Global):
    space = "constant"


def lengths_of(kind: Type) -> tuple[int, ...]:
    """The lengths of an array of arrays."""
    return ((kind.length or 0), *lengths_of(kind.of)) if isinstance(kind, Array) else ()


class Copies(Memory):
    """Memory of which there are several copies: `rows` has the shape (elements, *copies).

    So the same element of all copies lies side by side, and is read and written in one go.
    """

    def __init__(
        self, name: str, kind: Type, nbytes: int, dtype: np.dtype[Any], copies: tuple[int, ...]
    ) -> None:
        super().__init__(name, nbytes, dtype)
        self.shape, self.single = lengths_of(kind), not isinstance(kind, Array)
        length = -(-nbytes // 16) * 16 // dtype.itemsize
        self.rows = np.full((max(1, length), *copies), poison(dtype), dtype)

    def view(self, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """`rows` in elements of another dtype, over the same memory."""
        if dtype is self.dtype:
            return self.rows
        if dtype.itemsize == self.dtype.itemsize:
            return self.rows.view(dtype)
        # Now the bytes of one copy must lie side by side: from here on they do.
        inner = np.ascontiguousarray(np.moveaxis(self.rows, 0, -1))
        self.rows = np.moveaxis(inner, -1, 0)
        return np.moveaxis(inner.view(dtype), -1, 0)

    def contents(self) -> np.ndarray[Any, Any]:
        """The bytes of all copies now, one copy after the other."""
        return np.moveaxis(self.rows, 0, -1).copy(order="C").reshape(-1).view(np.uint8)


class Shared(Copies):
    """A copy for each block."""

    space = "shared"


class Local(Copies):
    """An array, or a variable whose address is taken: a copy for each thread."""

    space = "local"

    def __init__(
        self, name: str, kind: Type, nbytes: int, dtype: np.dtype[Any], copies: tuple[int, ...]
    ) -> None:
        super().__init__(name, kind, nbytes, dtype, copies)
        self.pointers: dict[int, LanePointer] = {}  # those that lie in it, by their places


class Nowhere(Memory):
    """What the null pointer points to: nothing may be touched."""

    space = "null"


class LanePointer:
    """A memory and an offset in bytes."""

    __slots__ = ("memory", "offset")

    def __init__(self, memory: Memory, offset: Index = 0) -> None:
        self.memory, self.offset = memory, offset

    @property
    def address(self) -> Index:
        return self.memory.base + self.offset


class Choice(LanePointer):
    """A pointer into different memories in different lanes: `which` says into which of `memories`."""

    __slots__ = ("memories", "which")

    def __init__(
        self, memories: list[Memory], which: np.ndarray[Any, Any], offset: np.ndarray[Any, Any]
    ) -> None:
        super().__init__(memories[0], offset)
        self.memories, self.which = memories, which

    @property
    def address(self) -> Index:
        bases = np.array([memory.base for memory in self.memories], np.int64)
        return bases[self.which] + self.offset


NULL = LanePointer(Nowhere("nullptr", 0, np.dtype(np.uint8)))
