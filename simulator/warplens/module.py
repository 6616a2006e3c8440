"""RawModule, as in CuPy: all kernels and variables of one source."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from warplens.backend import GPU, backend
from warplens.device.allocation import MemoryPointer
from warplens.kernel import Kernel
from warplens.language.tree import Program
from warplens.unit import Unit, settings_of

# A kernel's name, where no front end tells it.
_DECLARED = r'extern\s*"C"\s+__global__\s+(?:\w+\s+|__launch_bounds__\s*\([^)]*\)\s*)*?(?!__)(\w+)\s*\('


class RawModule:
    """All kernels of CUDA C source, as cupy.RawModule. `name` (ours) is what messages call the source."""

    def __init__(
        self,
        *,
        code: str | None = None,
        path: str | None = None,
        options: Sequence[str] = (),
        backend: str = "nvrtc",
        translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False,
        name_expressions: Sequence[str] | None = None,
        jitify: bool = False,
        name: str | None = None,
    ) -> None:
        if (code is None) == (path is None):
            raise TypeError("RawModule: give either code= or path=")
        if path is not None:
            with open(path, encoding="utf-8") as file:
                code = file.read()
        name = name or (path.replace("\\", "/").rsplit("/", 1)[-1] if path else "module.cu")
        if not isinstance(code, str):
            raise TypeError(f"RawModule: code must be a string, not {type(code).__name__}")
        settings = settings_of(backend, translate_cucomplex, enable_cooperative_groups, jitify)
        self.unit = Unit(code, name, options, tuple(name_expressions or ()), **settings)
        self.file_path = path

    def __reduce__(self) -> Any:
        return _unpickled_module, (self.unit, self.file_path)

    @property
    def program(self) -> Program:
        return self.unit.program

    @property
    def source(self) -> str:
        """The CUDA C that it was made of."""
        return self.unit.source

    @property
    def code(self) -> str:
        """The same, by CuPy's name."""
        return self.unit.source

    @property
    def options(self) -> tuple[str, ...]:
        """What it was compiled with."""
        return self.unit.options

    @property
    def name_expressions(self) -> tuple[str, ...]:
        """The instances of templates that were asked for."""
        return self.unit.expressions

    def compile(self, log_stream: Any = None) -> None:
        """On a GPU, have NVRTC compile it now; our own compiler has done so already."""
        if backend() == GPU:
            self.unit.on_gpu.compile(log_stream=log_stream)

    @property
    def names(self) -> list[str]:
        """The extern "C" kernels, in the order of the source; of a whole .cu file all but templates."""
        unit = self.unit
        if unit.refusal is not None:
            return [*re.findall(_DECLARED, unit.text), *unit.unmarked]
        kernels = self.program.kernels.items()
        return [name for name, function in kernels if function.external_c or name in unit.unmarked]

    def get_function(self, name: str) -> Kernel:
        return Kernel(self.unit, name)

    def get_global(self, name: str) -> Any:
        """A pointer to a __constant__ or __device__ variable: cp.ndarray(shape, dtype, pointer) shows it."""
        if self.unit.refusal is not None:
            return self.unit.on_gpu.get_global(name)
        for variable, allocation in self.unit.variables.items():
            if variable.name == name:
                there = backend() == GPU
                return self.unit.variable_on_gpu(variable) if there else MemoryPointer(allocation, 0)
        known = ", ".join(variable.name for variable in self.unit.variables) or "none"
        raise ValueError(f"{self.program.name} has no variable {name!r} at file scope; there is: {known}")


def _unpickled_module(unit: Unit, path: str | None) -> RawModule:
    made = RawModule.__new__(RawModule)
    made.unit, made.file_path = unit, path
    return made
