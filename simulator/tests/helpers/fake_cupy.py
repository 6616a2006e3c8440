"""A CuPy without a GPU: within `installed`, `import cupy` finds it, and `backend()` says "gpu".

Its memory is one heap with the alignment and the rounding of CuPy's pool; what is not allocated cannot be
read. Its kernels run in our simulator, on the bytes of the heap, and every launch is kept in `launches`. It
has the names of CuPy that the side of a GPU uses, and refuses as CuPy does.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import warplens
from warplens.device.allocation import Allocation, address_of
from warplens.device.allocation import MemoryPointer as SimulatedPointer
from warplens.engine.file_scope import allocate
from warplens.errors import CompileError
from warplens.kernel import Kernel, simulate
from warplens.unit import Unit, compiled

START = 0x7F40_0000_0200
ROUND = 512
CHUNK = 2 * 1024 * 1024  # of CuPy's pool; a piece of it is an allocation


class CUDARuntimeError(RuntimeError):
    """As in cupy_backends.cuda.api.runtime."""


class CUDADriverError(RuntimeError):
    """As in cupy_backends.cuda.api.driver."""


class CompileException(Exception):
    """As in cupy.cuda.compiler: NVRTC's refusal."""


class Heap:
    """Bytes at the addresses from START on; 0xEE where nobody allocated."""

    def __init__(self) -> None:
        self.bytes = np.full(CHUNK, 0xEE, np.uint8)
        self.used: list[tuple[int, int]] = []
        self.next = 0
        self.read: list[tuple[int, int]] = []  # what `get` and `set` moved, as addresses
        self.written: list[tuple[int, int]] = []

    def new(self, nbytes: int) -> MemoryPointer:
        """A pointer to new memory, whose size is rounded up."""
        size = -(-nbytes // ROUND) * ROUND
        if size == 0:
            return MemoryPointer(Memory(0, 0), 0)
        start = START + self.next
        self.next += size
        assert self.next <= CHUNK, "the heap of the fake CuPy is full"
        self.used.append((start, start + size))
        return MemoryPointer(Memory(start, size), 0)

    def check(self, low: int, high: int) -> None:
        """Only an allocation, or a piece of one, can be read or written."""
        if not any(a <= low and high <= b for a, b in self.used):
            raise CUDARuntimeError(f"cudaErrorIllegalAddress: {low:#x} to {high:#x}")


class Memory:
    def __init__(self, ptr: int, size: int) -> None:
        self.ptr, self.size, self.device_id = ptr, size, 0


class UnownedMemory(Memory):
    def __init__(self, ptr: int, size: int, owner: Any, device_id: int = -1) -> None:
        super().__init__(ptr, size)
        self.owner = owner


class MemoryPointer:
    def __init__(self, mem: Memory, offset: int) -> None:
        self.mem, self.ptr, self.device_id = mem, mem.ptr + offset, mem.device_id

    def __add__(self, nbytes: int) -> MemoryPointer:
        return MemoryPointer(self.mem, self.ptr - self.mem.ptr + nbytes)

    def __sub__(self, nbytes: int) -> MemoryPointer:
        return self + -nbytes


class Array:
    """cupy.ndarray; each `Fake` has a class of its own."""

    fake: ClassVar[Fake]

    def __init__(self, shape: Any, dtype: Any = float, memptr: Any = None, strides: Any = None) -> None:
        self.shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self.dtype = np.dtype(dtype)
        self.size = int(np.prod(self.shape))
        self.nbytes = self.size * self.dtype.itemsize
        self.data = self.fake.heap.new(self.nbytes) if memptr is None else memptr
        self.strides = np.empty(self.shape, self.dtype).strides if strides is None else tuple(strides)
        here = as_strided(np.empty(1, self.dtype), self.shape, self.strides)
        self.flags = SimpleNamespace(c_contiguous=here.flags.c_contiguous)

    def host(self) -> np.ndarray[Any, Any]:
        """The memory itself."""
        if self.nbytes == 0:
            return np.empty(self.shape, self.dtype)
        start, heap = self.data.ptr, self.fake.heap
        for base, content in self.fake.parts:
            if base <= start < base + content.size:
                return np.ndarray(self.shape, self.dtype, content, start - base, self.strides)
        if self.flags.c_contiguous:
            heap.check(start, start + self.nbytes)
        return np.ndarray(self.shape, self.dtype, heap.bytes, start - START, self.strides)

    def get(self) -> np.ndarray[Any, Any]:
        self.fake.heap.read.append((self.data.ptr, self.data.ptr + self.nbytes))
        return np.array(self.host(), order="C")

    def set(self, arr: Any) -> None:
        assert isinstance(arr, np.ndarray) and (arr.dtype, arr.shape) == (self.dtype, self.shape)
        self.fake.heap.written.append((self.data.ptr, self.data.ptr + self.nbytes))
        self.host()[...] = arr

    def __getitem__(self, index: Any) -> Array:
        part = self.host()[index]
        offset = address_of(part) - address_of(self.host())
        return type(self)(part.shape, self.dtype, self.data + offset, part.strides)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.host()[index] = value.host() if isinstance(value, Array) else value

    @property
    def T(self) -> Array:
        return type(self)(self.shape[::-1], self.dtype, self.data, self.strides[::-1])

    def view(self, dtype: Any) -> Array:
        return type(self)(self.host().view(dtype).shape, dtype, self.data)


class Fake(ModuleType):
    """The module `cupy`. `launches` are tuples (name, grid, block, args, shared_mem, stream)."""

    def __init__(self, devices: int = 1) -> None:
        super().__init__("cupy")
        self.heap = Heap()
        self.launches: list[tuple[Any, ...]] = []
        self.modules: list[Any] = []
        self.devices = devices
        self.most_threads = 1024
        self.takes = ""  # NVRTC takes a source with this text in it, whatever our front end says
        self.parts: list[tuple[int, np.ndarray[Any, Any]]] = []  # variables at file scope
        self.hidden: set[str] = set()  # variables that get_global does not find
        self.ndarray = type("ndarray", (Array,), {"fake": self})
        self.float32, self.float64, self.int32, self.uint8 = np.float32, np.float64, np.int32, np.uint8
        self.RawModule = lambda **given: self._module(**given)
        self.cuda = SimpleNamespace(
            MemoryPointer=MemoryPointer,
            UnownedMemory=UnownedMemory,
            runtime=SimpleNamespace(getDeviceCount=self._count, deviceSynchronize=lambda: None),
        )

    def _count(self) -> int:
        if self.devices < 0:
            raise CUDARuntimeError(
                "cudaErrorInsufficientDriver: CUDA driver version is insufficient for CUDA runtime version"
            )
        return self.devices

    def asarray(self, a: Any, dtype: Any = None) -> Any:
        host = np.asarray(a, dtype)
        made = self.ndarray(host.shape, host.dtype)
        made.host()[...] = host
        return made

    def empty(self, shape: Any, dtype: Any = float) -> Any:
        return self.ndarray(shape, dtype)

    def zeros(self, shape: Any, dtype: Any = float) -> Any:
        return self.asarray(np.zeros(shape, dtype))

    def asnumpy(self, a: Any) -> np.ndarray[Any, Any]:
        return a.get() if isinstance(a, self.ndarray) else np.asarray(a)

    def _module(self, **given: Any) -> Module:
        made = Module(self, **given)
        self.modules.append(made)
        return made


class Module:
    """A cupy.RawModule. What our front end cannot compile "runs" without doing anything."""

    def __init__(
        self, fake: Fake, *, code: str, options: Any = (), name_expressions: Any = None, **settings: Any
    ) -> None:
        assert isinstance(code, str) and isinstance(options, tuple)
        assert name_expressions is None or isinstance(name_expressions, tuple)
        self.fake, self.code, self.options, self.settings = fake, code, options, settings
        self.expressions = name_expressions or ()
        self.compiled = False
        self.mistake = ""
        try:
            self.program: Any = compiled(code, "fake.cu", options, self.expressions)
        except CompileError as error:
            taken = error.kind == "unsupported" or (fake.takes and fake.takes in code)
            self.program, self.mistake = None, "" if taken else str(error)
        self.variables = allocate(self.program) if self.program else {}
        fake.parts += [(a.base, a.bytes) for a in self.variables.values()]

    def compile(self, log_stream: Any = None) -> None:
        self.compiled = True
        if self.mistake:
            raise CompileException(self.mistake)

    def get_function(self, name: str) -> Function:
        self.compile()
        if self.program is not None and name not in self.program.kernels:
            raise CUDADriverError("CUDA_ERROR_NOT_FOUND: named symbol not found")
        return Function(self, name)

    def get_global(self, name: str) -> MemoryPointer:
        for variable, allocation in self.variables.items():
            if variable.name == name and "static " + str(variable.type) not in self.code:
                return MemoryPointer(
                    UnownedMemory(allocation.base, 0, self), 0
                )  # CuPy does not tell its size
        raise CUDADriverError("CUDA_ERROR_NOT_FOUND: named symbol not found")


class Function:
    """A cupy.RawKernel of a module."""

    num_regs = 32
    local_size_bytes = 0
    const_size_bytes = 0
    max_dynamic_shared_size_bytes = 48 * 1024
    preferred_shared_memory_carveout = -1

    def __init__(self, module: Module, name: str) -> None:
        self.module, self.name = module, name
        self.attributes = {"num_regs": self.num_regs, "local_size_bytes": self.local_size_bytes}

    @property
    def max_threads_per_block(self) -> int:
        return self.module.fake.most_threads

    def __call__(self, grid: Any, block: Any, args: Any, *, shared_mem: int = 0, stream: Any = None) -> None:
        assert type(grid) is type(block) is tuple  # CuPy's launch is typed so
        self.module.fake.launches.append((self.name, grid, block, tuple(args), shared_mem, stream))
        lowered = [self._lowered(value) for value in args]
        if self.module.program is not None:
            unit = Unit(self.module.code, "fake.cu", self.module.options, self.module.expressions)
            unit.variables = self.module.variables
            kernel = Kernel(unit, self.name)
            if self.max_dynamic_shared_size_bytes != Function.max_dynamic_shared_size_bytes:
                kernel._allowed_shared = self.max_dynamic_shared_size_bytes
            simulate(kernel, grid, block, lowered, shared_mem)

    def _lowered(self, value: Any) -> Any:
        """What CuPy makes of an argument, or its TypeError. Pointers may touch the whole heap."""
        fake = self.module.fake
        if isinstance(value, fake.ndarray):
            value = value.data
        if isinstance(value, MemoryPointer):
            return SimulatedPointer(Allocation(fake.heap.bytes, base=START), value.ptr - START)
        if isinstance(value, np.ndarray) and value.size != 1:
            raise TypeError("You are trying to pass a numpy.ndarray as a kernel parameter")
        if isinstance(value, np.ndarray | np.generic | int | float | complex) or value is None:
            return value
        raise TypeError(f"Unsupported type {type(value)}")


@contextmanager
def asked_anew(wanted: str = "") -> Iterator[None]:
    """Within it nobody has asked for a backend yet, and the environment says `wanted`."""
    module = importlib.import_module("warplens.backend")
    backend = module.backend
    before = vars(warplens).pop("cp", None)
    backend.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        for variable in module.VARIABLES:
            patch.delenv(variable, raising=False)
        patch.setenv("WARPLENS", wanted)
        try:
            yield
        finally:
            vars(warplens).pop("cp", None)
            if before is not None:
                warplens.cp = before  # type: ignore[attr-defined]
            backend.cache_clear()


@contextmanager
def installed(devices: int = 1, wanted: str = "") -> Iterator[Fake]:
    """A fake CuPy with so many GPUs; with -1 its runtime raises, as CuPy's without a driver."""
    fake = Fake(devices)
    with asked_anew(wanted), pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "cupy", fake)
        yield fake
