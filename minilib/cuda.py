"""CUDA C on any machine: through CuPy where there is a GPU, and otherwise on a simulator that explains it.

All of it is in the package `warplens`; this is the name that lessons and the library import it by.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import warplens
from warplens import load_ipython_extension as load_ipython_extension  # for `%load_ext minilib.cuda`
from warplens.backend import read_too

if TYPE_CHECKING:
    from warplens import CompileError as CompileError
    from warplens import Finding as Finding
    from warplens import KernelFault as KernelFault
    from warplens import LaunchError as LaunchError
    from warplens import RawKernel as RawKernel
    from warplens import RawModule as RawModule
    from warplens import Report as Report
    from warplens import backend as backend
    from warplens import cp as cp
    from warplens import profile as profile
    from warplens import simulate as simulate

__all__ = warplens.__all__
read_too("MINILIB_CUDA")  # simulate or gpu


def __getattr__(name: str) -> Any:
    """A name of `warplens`, imported there when it is asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(warplens, name)
