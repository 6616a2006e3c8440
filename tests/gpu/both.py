"""One launch on both machines, and where they differ.

NVRTC makes one rounding of a product and a sum, CuPy has it flush tiny numbers to zero, and atomics come in
any order: floats are compared within a tolerance, integers exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

import numpy as np

from minilib.cuda import profile, simulate
from warplens.arguments import Arguments
from warplens.backend import GPU
from warplens.kernel import Kernel
from warplens.launch_limits import machine
from warplens.parameters import is_device_array
from warplens.simulation import simulated

RTOL, ATOL = 1e-4, 1e-5


def to_gpu(args: Sequence[Any]) -> list[Any]:
    """NumPy arrays as CuPy's."""
    import cupy

    return [cupy.asarray(a) if isinstance(a, np.ndarray) else a for a in args]


def held(args: Sequence[Any]) -> list[np.ndarray[Any, Any] | None]:
    """What device arrays hold; None for all else."""
    return [a.get() if is_device_array(a) else None for a in args]


def difference(
    got: Sequence[Any], want: Sequence[Any], rtol: float = RTOL, atol: float = ATOL, any_order: bool = False
) -> str | None:
    """Where two runs differ, in words; None: nowhere. `atol` counts in units of the largest number there."""
    for i, (a, b) in enumerate(zip(got, want, strict=True)):
        if a is None or b is None:
            continue
        if a.dtype.kind in "fc":
            finite = np.abs(b[np.isfinite(b)])
            scale = float(finite.max()) if finite.size else 1.0
            close = np.isclose(a, b, rtol, atol * max(scale, 1e-30), equal_nan=True)
        else:
            close = a == b
        if close.all():
            continue
        if any_order and difference([np.sort(a, None)], [np.sort(b, None)], rtol, atol) is None:
            continue
        at = tuple(int(k) for k in np.argwhere(~close)[0])
        return (
            f"argument {i} at {at}: the GPU has {a[at]!r}, the simulator {b[at]!r} "
            f"({(~close).sum()} of {a.size} differ)"
        )
    return None


def launch_on_both(
    kernel: Kernel, grid: Any, block: Any, args: Any, *, shared_mem: int = 0, stream: Any = None
) -> None:
    """As a launch on the GPU; raises AssertionError where the simulator gets something else."""
    where = machine(kernel.name, args)
    if where != GPU or kernel.refusal is not None:
        _call(kernel, grid, block, args, shared_mem=shared_mem, stream=stream)
        return
    arguments = Arguments(kernel.function, args)
    with simulated(kernel, arguments, where, keep=False) as copies, redirect_stdout(StringIO()):
        simulate(kernel, grid, block, copies.given, shared_mem)
    _call(kernel, grid, block, args, shared_mem=shared_mem, stream=stream)
    told = difference(held(args), held(copies.given), any_order=True)
    assert told is None, f"{kernel.name}: {told}"
    launched.append(kernel.name)


_call = Kernel.__call__
launched: list[str] = []


def install() -> None:
    """From now on every launch is one on both machines."""
    Kernel.__call__ = launch_on_both  # type: ignore[method-assign]


__all__ = ["difference", "held", "install", "launch_on_both", "launched", "profile", "to_gpu"]
