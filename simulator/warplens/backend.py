"""Where kernels run: on a GPU through CuPy, or simulated on the CPU. A variable forces one of the two.

Nothing here imports CuPy before a driver has been found, and nothing at all before somebody asks.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from functools import cache
from typing import Any

GPU, SIMULATE = "gpu", "simulate"
VARIABLES = ["WARPLENS"]  # of the environment: the first that is set decides


def read_too(variable: str) -> None:
    """Let another variable decide as well: a program that builds on this package may have one of its own."""
    if variable not in VARIABLES:
        VARIABLES.append(variable)


@cache
def backend() -> str:
    """Where kernels run: "gpu" where CuPy finds one, else "simulate"; decided once, at the first question.

    WARPLENS=simulate or gpu in the environment decides it instead. Raises ValueError where that is anything
    else, and RuntimeError where it is gpu and something is missing for that.
    """
    variable = next((name for name in VARIABLES if os.environ.get(name)), VARIABLES[0])
    wanted = os.environ.get(variable, "")
    if wanted not in ("", GPU, SIMULATE):
        raise ValueError(f"{variable} must be {GPU} or {SIMULATE}, not {wanted!r}: change it, or unset it")
    if wanted == SIMULATE:
        return SIMULATE
    missing = missing_for_gpu()
    if missing is None:
        return GPU
    if wanted == GPU:
        raise RuntimeError(f"{variable}={GPU}, but {missing}; or unset {variable}, and kernels are simulated")
    return SIMULATE


def array_module() -> Any:
    """`cp`: CuPy, or its stand-in."""
    if backend() == GPU:
        import cupy

        return cupy
    from warplens.device.stand_in import cp

    return cp


def missing_for_gpu() -> str | None:
    """What is missing here for kernels on a GPU, and what to do; None where nothing is."""
    if "cupy" not in sys.modules:  # its import takes a second
        if importlib.util.find_spec("cupy") is None:
            return "CuPy is not installed: pip install cupy-cuda12x"
        missing = missing_driver()
        if missing is not None:
            return missing
    try:
        import cupy

        count = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:  # a wrong CUDA, an old driver: CuPy says it in its own words
        told = (str(error).strip() or type(error).__name__).splitlines()[0]
        return f"CuPy cannot use a GPU ({told}): install the CuPy that fits your driver, as cupy-cuda12x does"
    return None if count else "CuPy finds no GPU: nvidia-smi lists those that there are"


def missing_driver() -> str | None:
    """What NVIDIA's driver lacks, asked without CuPy."""
    import ctypes

    name = "nvcuda.dll" if os.name == "nt" else "libcuda.so.1"
    try:
        driver = ctypes.CDLL(name)
    except OSError:
        return f"there is no NVIDIA driver ({name} is not found): install it where there is a GPU"
    count = ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
        return "NVIDIA's driver finds no GPU: nvidia-smi lists those that there are"
    return None
