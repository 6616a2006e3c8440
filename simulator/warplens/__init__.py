"""CUDA C on any machine: through CuPy where there is a GPU, and otherwise on a simulator that explains it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from warplens.backend import array_module
from warplens.backend import backend as backend  # the function: at once, before a module of that name

if TYPE_CHECKING:
    from warplens.device.stand_in import cp as cp
    from warplens.errors import CompileError as CompileError
    from warplens.errors import KernelFault as KernelFault
    from warplens.errors import LaunchError as LaunchError
    from warplens.errors import LongThread as LongThread
    from warplens.kernel import RawKernel as RawKernel
    from warplens.kernel import profile as profile
    from warplens.kernel import simulate as simulate
    from warplens.module import RawModule as RawModule
    from warplens.report.findings import Finding as Finding
    from warplens.report.report import Report as Report

# Imported when they are asked for: who needs arrays only shall not wait for a compiler.
_PLACES = {
    **dict.fromkeys(("CompileError", "KernelFault", "LaunchError", "LongThread"), "errors"),
    **dict.fromkeys(("RawKernel", "profile", "simulate"), "kernel"),
    "RawModule": "module",
    "Finding": "report.findings",
    "Report": "report.report",
}
__all__ = sorted((*_PLACES, "backend", "cp"))


def __getattr__(name: str) -> Any:
    if name == "cp":  # CuPy where kernels run on a GPU, else its stand-in
        value = array_module()
    elif name in _PLACES:
        value = getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext warplens` calls: the cell magic %%cuda."""
    from warplens.magic import CudaMagics

    shell.register_magics(CudaMagics)
