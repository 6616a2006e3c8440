"""Device memory that is simulated: allocations at virtual addresses, and pointers into them.

Addresses are never used twice, and between two allocations there is a gap, so that a pointer one past the end
of an array is never the start of another one.
"""

from __future__ import annotations

import math
import threading
import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

ALIGNMENT = 512
FIRST = 0x7000_0000_0000

Bytes = NDArray[np.uint8]

POISON_INT = -0x7452_0FF3  # what is in memory that nobody wrote to: looks wrong, and is no index


def poison(dtype: np.dtype[Any]) -> Any:
    """What an element holds that was never written: nan, or a large negative (unsigned: large) number."""
    if dtype.kind == "f":
        return dtype.type(math.nan)
    if dtype.kind == "b":
        return np.True_
    return np.array([POISON_INT], np.int64).astype(dtype)[0]


_living: weakref.WeakValueDictionary[int, Allocation] = weakref.WeakValueDictionary()  # by their base
_next = FIRST
_lock = threading.Lock()


def _reserve(nbytes: int) -> int:
    """The base of a new range of addresses, a multiple of ALIGNMENT."""
    global _next
    with _lock:
        base = _next
        _next += (nbytes // ALIGNMENT + 2) * ALIGNMENT
    return base


class Allocation:
    """One piece of memory: `bytes` (uint8) stands at the virtual address `base`.

    `written` says which bytes have been written (bool), and is None once all of them have. A copy of memory
    that is elsewhere keeps its `base` from there, a multiple of ALIGNMENT.
    """

    __slots__ = ("__weakref__", "address", "base", "bytes", "nbytes", "owner", "written")

    def __init__(self, content: Bytes, written: bool = True, base: int | None = None) -> None:
        self.bytes = content
        self.nbytes = content.size
        self.owner = owner_of(content)  # `bytes` is a view of it
        self.address = address_of(content)  # NumPy's, to find the offsets of views
        self.base = _reserve(content.size) if base is None else base
        _living[self.base] = self
        done = written or content.size == 0
        self.written: NDArray[np.bool_] | None = None if done else np.zeros(content.size, np.bool_)

    @classmethod
    def of(cls, array: NDArray[Any], written: bool = True) -> Allocation:
        """The memory that `array` is in, all of it: array.base too. No two may be made of one memory."""
        made = cls(owner_of(array).ravel(order="K").view(np.uint8), written)
        _alive.add(made)
        return made

    @property
    def poisoned(self) -> bool:
        """Whether there are bytes that nobody has written: those of `cp.empty`, at first."""
        return self.written is not None

    @property
    def ptr(self) -> int:
        return self.base

    @property
    def size(self) -> int:
        return self.nbytes

    def wrote(self, where: NDArray[Any] | None = None, index: Any = ...) -> None:
        """All bytes are written now; or those of `where`, a view of this memory, at `index`."""
        if self.written is None:
            return
        if where is None:
            self.written = None
            return
        chosen = np.zeros(where.shape, np.bool_)
        chosen[index] = True
        if where.size:
            shape, strides = (*where.shape, where.itemsize), (*where.strides, 1)
            mark = np.ndarray(shape, np.bool_, self.written.data, address_of(where) - self.address, strides)
            mark[chosen] = True
        if self.written.all():
            self.written = None

    def __repr__(self) -> str:
        return f"<{self.nbytes} bytes at {self.base:#x}>"


_alive: weakref.WeakSet[Allocation] = weakref.WeakSet()  # those of arrays


class MemoryPool:
    """What arrays hold, counted as CuPy's pool does: in pieces of 512 bytes. Nothing is kept for later."""

    def used_bytes(self) -> int:
        return sum(-(-one.nbytes // ALIGNMENT) * ALIGNMENT for one in _alive)

    def free_bytes(self) -> int:
        return 0

    def total_bytes(self) -> int:
        return self.used_bytes()

    def free_all_blocks(self, stream: Any = None) -> None:
        pass


class MemoryPointer:
    """A pointer `offset` bytes into an allocation. A kernel that gets it may touch the whole allocation."""

    __slots__ = ("mem", "offset")

    def __init__(self, mem: Allocation, offset: int) -> None:
        self.mem = mem
        self.offset = offset

    @property
    def ptr(self) -> int:
        return self.mem.base + self.offset

    def __int__(self) -> int:
        return self.ptr

    def __add__(self, nbytes: int) -> MemoryPointer:
        return MemoryPointer(self.mem, self.offset + int(nbytes))

    __radd__ = __add__

    def __sub__(self, nbytes: int) -> MemoryPointer:
        return self + -nbytes

    def __repr__(self) -> str:
        return f"<MemoryPointer {self.ptr:#x}>"


def at_address(address: int) -> MemoryPointer | None:
    """A pointer to a virtual address, where there is memory."""
    for allocation in list(_living.values()):
        if 0 <= address - allocation.base < max(1, allocation.nbytes):
            return MemoryPointer(allocation, address - allocation.base)
    return None


def owner_of(array: NDArray[Any]) -> NDArray[Any]:
    """The array whose memory `array` is a view of, at last."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def address_of(array: NDArray[Any]) -> int:
    """NumPy's own address of the first element; good for differences only."""
    address: int = array.__array_interface__["data"][0]
    return address
