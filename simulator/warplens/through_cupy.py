"""The side of a GPU: kernels that CuPy compiles and launches, and copies of GPU memory to be simulated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from warplens.device.allocation import ALIGNMENT, Allocation, MemoryPointer
from warplens.device.array import ndarray
from warplens.errors import LaunchValueError
from warplens.language import headers
from warplens.launch_limits import Dim3
from warplens.parameters import is_device_array, is_pointer

STANDARD = "--std=c++17"  # what the front end reads; CuPy's own default is older

# What CuPy knows of a compiled kernel, and nobody without a GPU.
ATTRIBUTES = (
    "binary_version",
    "cache_mode_ca",
    "local_size_bytes",
    "num_regs",
    "ptx_version",
)


def module(code: str, options: Sequence[str], expressions: Sequence[str], settings: dict[str, Any]) -> Any:
    """A cupy.RawModule of the source. Nothing is compiled before one of its kernels is asked for."""
    import cupy

    chosen = any(option.lstrip("-").startswith("std") for option in options)
    return cupy.RawModule(
        code=code,
        options=(*options, *(() if chosen else (STANDARD,)), *_places_of_headers(code)),
        name_expressions=tuple(expressions) or None,
        **settings,
    )


def _places_of_headers(code: str) -> tuple[str, ...]:
    """Where NVRTC finds the headers of C: it has none itself."""
    return (f"-I{headers.FOLDER}",) if "#include" in code else ()


def launch(
    name: str,
    function: Any,
    most_threads: int,
    grid: Dim3,
    block: Dim3,
    args: tuple[Any, ...],
    shared_mem: int,
    stream: Any,
) -> None:
    """Start a kernel of a module; `args` have been checked and made by `Arguments.typed`."""
    threads = block[0] * block[1] * block[2]
    if threads > most_threads:
        raise LaunchValueError(
            f"{name}: a block has {threads:,} threads, and the GPU has registers for {most_threads:,}: use a "
            f"smaller block, or write __launch_bounds__({threads}), which spares registers"
        )
    function(grid, block, args, shared_mem=int(shared_mem), stream=stream)


def variable(module: Any, name: str, nbytes: int) -> Any:
    """A pointer to a variable at file scope that knows how much memory it has, which CuPy's does not."""
    import cupy

    found = module.get_global(name)
    memory = cupy.cuda.UnownedMemory(found.ptr, nbytes, found, found.device_id)
    return cupy.cuda.MemoryPointer(memory, 0)


# ---------------------------------------------------------------------------------------------------- copies


class GpuCopies:
    """Arguments in GPU memory, copied to memory that is simulated; `back` writes what that holds to the GPU.

    What the arguments reach is copied, and no more: of an array its own bytes, of a pointer its allocation.
    Arguments that share memory share a copy. Addresses stay as they are, and with them alignment.
    """

    def __init__(self, args: Sequence[Any]) -> None:
        reached = [(*_reach(value), value) for value in _leaves(args) if _is_there(value)]
        self._pieces: list[tuple[Any, np.ndarray[Any, Any]]] = []  # GPU memory, and the bytes of its copy
        self._allocations: list[Allocation] = []
        if reached:
            _device_is_done()
        pieces = merged(((low, high) for low, high, _ in reached if low < high), 1)
        for start, end in merged(pieces, ALIGNMENT):
            base = start // ALIGNMENT * ALIGNMENT
            self._allocations.append(Allocation(np.zeros(end - base, np.uint8), base=base))
        for low, high in pieces:
            owner = next(_pointer(value) for a, b, value in reached if a < high and low < b)
            allocation = self._around(low)
            part = allocation.bytes[low - allocation.base : high - allocation.base]
            self._take(_bytes_of(low, high, owner), part)
        self.args = tuple([self._copied(value) for value in args])

    def add(self, pointer: Any, allocation: Allocation) -> None:
        """What the GPU has at `pointer` is simulated in `allocation`."""
        self._take(_bytes_of(pointer.ptr, pointer.ptr + allocation.nbytes, pointer), allocation.bytes)

    def back(self) -> None:
        """Write what the copies hold now to the GPU."""
        for there, here in self._pieces:
            there.set(here)

    def _take(self, there: Any, here: np.ndarray[Any, Any]) -> None:
        here[...] = there.get()
        self._pieces.append((there, here))

    def _around(self, address: int) -> Allocation:
        return next(a for a in self._allocations if a.base <= address < a.base + a.nbytes)

    def _copied(self, value: Any) -> Any:
        """The same argument over the copies."""
        if isinstance(value, tuple):
            return tuple([self._copied(part) for part in value])
        if not _is_there(value):
            return value
        low, high = _reach(value)
        start = _pointer(value).ptr
        if low == high:
            place = MemoryPointer(Allocation(np.zeros(0, np.uint8)), 0)
        else:
            allocation = self._around(low)
            place = MemoryPointer(allocation, start - allocation.base)
        return ndarray(value.shape, value.dtype, place, value.strides) if is_device_array(value) else place


def merged(ranges: Iterable[tuple[int, int]], unit: int) -> list[tuple[int, int]]:
    """Ranges of addresses in order, those as one that have a byte in the same `unit` bytes."""
    made: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if made and low // unit <= (made[-1][1] - 1) // unit:
            made[-1] = made[-1][0], max(made[-1][1], high)
        else:
            made.append((low, high))
    return made


def _leaves(args: Sequence[Any]) -> Iterator[Any]:
    """The arguments, and the parts of those that are tuples."""
    for value in args:
        if isinstance(value, tuple):
            yield from _leaves(value)
        else:
            yield value


def _is_there(value: Any) -> bool:
    """An array or a pointer of CuPy."""
    return is_device_array(value) or is_pointer(value)


def _pointer(value: Any) -> Any:
    return value.data if is_device_array(value) else value


def _reach(value: Any) -> tuple[int, int]:
    """The addresses that a kernel may touch through an argument."""
    if is_device_array(value):
        return value.data.ptr, value.data.ptr + value.nbytes
    start, size = value.mem.ptr, value.mem.size
    if size == 0 and value.ptr != 0:
        raise LaunchValueError(
            "CuPy does not know how much memory is behind this pointer, so that it cannot be copied: "
            "pass an array, cp.ndarray(shape, dtype, pointer)"
        )
    return start, start + size


def _bytes_of(low: int, high: int, owner: Any) -> Any:
    """GPU memory as an array of bytes, which keeps `owner`, a pointer into it, alive."""
    import cupy

    memory = cupy.cuda.UnownedMemory(low, high - low, owner, owner.device_id)
    return cupy.ndarray((high - low,), np.uint8, cupy.cuda.MemoryPointer(memory, 0))


def _device_is_done() -> None:
    """Wait for kernels that still write, in whatever stream."""
    import cupy

    cupy.cuda.runtime.deviceSynchronize()
