"""CUDA C on any machine: through CuPy where there is a GPU, and otherwise on a simulator that explains it.

All of it is in the package `cudasim`; this is the name that lessons and the library import it by.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cudasim
from cudasim import load_ipython_extension as load_ipython_extension  # for `%load_ext minilib.cuda`

if TYPE_CHECKING:
    from cudasim import CompileError as CompileError
    from cudasim import Finding as Finding
    from cudasim import KernelFault as KernelFault
    from cudasim import LaunchError as LaunchError
    from cudasim import RawKernel as RawKernel
    from cudasim import RawModule as RawModule
    from cudasim import Report as Report
    from cudasim import backend as backend
    from cudasim import cp as cp
    from cudasim import profile as profile
    from cudasim import simulate as simulate

__all__ = cudasim.__all__


def __getattr__(name: str) -> Any:
    """A name of `cudasim`, imported there when it is asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(cudasim, name)
