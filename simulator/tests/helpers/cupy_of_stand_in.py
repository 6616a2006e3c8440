"""A CuPy with all the names of the stand-in, for notebooks in other processes: `write` makes its folder.

Its arrays are those of a second copy of `warplens/device`: to the facade they are somebody else's, as
those of CuPy are. Kernels run in the simulator, on the same bytes. In that folder this file is `cupy.py`.
"""

from __future__ import annotations

import shutil
import weakref
from pathlib import Path
from typing import Any

COPY = "device_of_cupy"


def write(folder: Path) -> None:
    """Put `cupy` and the copy of the device's package into `folder`."""
    import warplens.device as device

    shutil.copytree(Path(device.__file__).parent, folder / COPY, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (folder / COPY).glob("*.py"):
        path.write_text(path.read_text(encoding="utf-8").replace("warplens.device", COPY), encoding="utf-8")
    shutil.copy(__file__, folder / "cupy.py")


def become_cupy() -> None:
    """The names of the stand-in are those of this module, and there is a GPU."""
    import device_of_cupy.allocation as memory
    from device_of_cupy.stand_in import cp

    made = memory.Allocation.__init__

    def remember(self: Any, *args: Any, **options: Any) -> None:
        made(self, *args, **options)
        allocations.add(self)

    memory.Allocation.__init__ = remember
    memory.Allocation.device_id = memory.MemoryPointer.device_id = 0
    globals().update(vars(cp))
    cp.cuda.UnownedMemory = UnownedMemory
    cp.cuda.runtime.getDeviceCount = lambda: 1
    globals()["__name__"] = "cupy"


allocations: weakref.WeakSet[Any] = weakref.WeakSet()


class UnownedMemory:
    """A piece of an allocation."""

    def __init__(self, ptr: int, size: int, owner: Any, device_id: int = -1) -> None:
        whole = next(a for a in allocations if a.base <= ptr and ptr + size <= a.base + a.nbytes)
        self.base = self.ptr = ptr
        self.size = self.nbytes = size
        self.device_id, self.kept, self.owner = 0, owner, whole.owner
        self.bytes = whole.bytes[ptr - whole.base : ptr - whole.base + size]
        self.address = self.bytes.__array_interface__["data"][0]
        self.written = None

    def wrote(self, where: Any = None, index: Any = ...) -> None:
        pass


class RawModule:
    def __init__(self, *, code: str, options: Any = (), name_expressions: Any = None) -> None:
        from warplens.unit import Unit

        self.unit = Unit(code, "cupy.cu", options, name_expressions or ())

    def compile(self, log_stream: Any = None) -> None:
        pass

    def get_function(self, name: str) -> Function:
        return Function(self.unit, name)


class Function:
    max_threads_per_block = 1024

    def __init__(self, unit: Any, name: str) -> None:
        from warplens.kernel import Kernel

        self.kernel = Kernel(unit, name)

    def __call__(self, grid: Any, block: Any, args: Any, *, shared_mem: int = 0, stream: Any = None) -> None:
        from warplens import simulate

        simulate(self.kernel, grid, block, [_simulated(value) for value in args], shared_mem)


def _simulated(value: Any) -> Any:
    """An argument over the same bytes, as warplens's own."""
    from warplens.device.allocation import Allocation, MemoryPointer

    pointer = getattr(value, "data", value) if hasattr(value, "flags") else value
    if not hasattr(pointer, "mem"):
        return value
    pointer.mem.wrote()
    return MemoryPointer(Allocation(pointer.mem.bytes, base=pointer.mem.base), pointer.offset)


if __name__ == "cupy":
    become_cupy()
