"""CUDA C on any machine: through CuPy where there is a GPU, and otherwise on a simulator that explains it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from minilib.cuda.backend import array_module
from minilib.cuda.backend import backend as backend  # the function: at once, before a module of that name

if TYPE_CHECKING:
    from minilib.cuda.device.stand_in import cp as cp
    from minilib.cuda.errors import CompileError as CompileError
    from minilib.cuda.errors import KernelFault as KernelFault
    from minilib.cuda.errors import LaunchError as LaunchError
    from minilib.cuda.kernel import RawKernel as RawKernel
    from minilib.cuda.kernel import RawModule as RawModule
    from minilib.cuda.kernel import profile as profile
    from minilib.cuda.kernel import simulate as simulate
    from minilib.cuda.reports.report import Finding as Finding
    from minilib.cuda.reports.report import Report as Report

# Imported when they are asked for: who needs arrays only shall not wait for a compiler.
_PLACES = {
    **dict.fromkeys(("CompileError", "KernelFault", "LaunchError"), "errors"),
    **dict.fromkeys(("RawKernel", "RawModule", "profile", "simulate"), "kernel"),
    **dict.fromkeys(("Finding", "Report"), "reports.report"),
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
    """What `%load_ext minilib.cuda` calls: the cell magic %%cuda."""
    from minilib.cuda.magic import CudaMagics

    shell.register_magics(CudaMagics)
