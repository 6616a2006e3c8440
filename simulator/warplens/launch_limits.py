"""What a launch may look like, the limits of grid, block and shared memory, and where it runs (`machine`)."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from warplens.backend import GPU, SIMULATE, backend
from warplens.device.allocation import MemoryPointer
from warplens.device.array import ndarray
from warplens.errors import LaunchTypeError, LaunchValueError
from warplens.parameters import is_device_array, is_pointer, kind_of

Dim3: TypeAlias = tuple[int, int, int]

MAX_THREADS = 1024  # of a block
MAX_BLOCK: Dim3 = (1024, 1024, 64)
MAX_GRID: Dim3 = (2**31 - 1, 65_535, 65_535)
MAX_SHARED = 48 * 1024  # bytes of a block
# What a block may have where a kernel asks for it by max_dynamic_shared_size_bytes: 163 KB at compute
# capability 8.0 (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
MOST_SHARED = 163 * 1024


# --------------------------------------------------------------------------------------------------- machine


def machine(name: str, args: Any) -> str:
    """Where a launch runs, "gpu" or "simulate": where its arrays are; without any, where `backend()` says."""
    found = set()
    for value in args if isinstance(args, tuple | list) else ():
        if isinstance(value, ndarray | MemoryPointer):
            found.add(SIMULATE)
        elif not isinstance(value, int | float | np.generic) and (
            is_device_array(value) or is_pointer(value)
        ):
            found.add(GPU)
    if len(found) == 2:
        raise LaunchTypeError(
            f"{name}: some arguments are CuPy's, on the GPU, and some are simulated: make all of them with "
            "the simulator's cp, or all of them with CuPy"
        )
    return found.pop() if found else backend()


# ---------------------------------------------------------------------------------------------------- limits


def check_limits(
    grid: Any,
    block: Any,
    shared_mem: Any = 0,
    static_shared: int = 0,
    *,
    dynamic: str | None = None,
    max_threads: int | None = None,
    allowed: int | None = None,
    name: str = "kernel",
) -> tuple[Dim3, Dim3]:
    """The grid and the block along x, y, z.

    `static_shared` are the bytes of __shared__ arrays, `dynamic` is the name of the `extern __shared__` array
    where there is one, `max_threads` what __launch_bounds__ says, `allowed` the most dynamic shared memory
    where it has been set. Raises LaunchTypeError or LaunchValueError.
    """
    grid3 = _lengths(name, "grid", "blocks", grid, MAX_GRID)
    block3 = _lengths(name, "block", "threads", block, MAX_BLOCK)
    threads = math.prod(block3)
    if threads > MAX_THREADS:
        raise LaunchValueError(
            f"{name}: a block of {_times(block3)} has {threads:,} threads, and at most {MAX_THREADS:,} are "
            "possible: use a smaller block and more of them"
        )
    if max_threads is not None and threads > max_threads:
        raise LaunchValueError(
            f"{name}: a block of {_times(block3)} has {threads:,} threads, but the kernel says "
            f"__launch_bounds__({max_threads}): use a smaller block"
        )
    _check_shared(name, shared_mem, static_shared, dynamic, allowed)
    return grid3, block3


def checked_patience(seconds: Any) -> None:
    """Raise where the `patience` of a launch is none."""
    if seconds is None:
        return
    told = f"patience must be a number of seconds, or None, not {seconds!r}"
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise TypeError(told)
    if not seconds >= 0:
        raise ValueError(told)


def _lengths(name: str, what: str, of: str, given: Any, limits: Dim3) -> Dim3:
    if not isinstance(given, tuple):
        raise LaunchTypeError(
            f"{name}: {what} must be a tuple of 1 to 3 integers, not {kind_of(given)}: "
            + (
                f"write ({given},)"
                if isinstance(given, int | np.integer)
                else "write (x,), (x, y) or (x, y, z)"
            )
        )
    if not 1 <= len(given) <= 3:
        raise LaunchValueError(f"{name}: {what} must have 1 to 3 lengths, not {len(given)}: {given}")
    lengths = [_length(name, what, given, length) for length in given]
    for axis, length, limit in zip("xyz", lengths, limits):
        if length > limit:
            raise LaunchValueError(
                f"{name}: {what} {_times(lengths)} has {length:,} {of} along {axis}, and at most {limit:,} "
                "are possible there"
            )
    lengths += [1] * (3 - len(lengths))
    return lengths[0], lengths[1], lengths[2]


def _length(name: str, what: str, given: Any, length: Any) -> int:
    if isinstance(length, bool | np.bool_) or not isinstance(length, int | np.integer):
        hint = ": divide with // to get integers" if isinstance(length, float | np.floating) else ""
        raise LaunchTypeError(f"{name}: {what} {given} must hold integers, not {kind_of(length)}{hint}")
    if length < 1:
        hint = (
            "; for n threads in blocks of b launch (n + b - 1) // b blocks, and none where n is 0"
            if what == "grid"
            else ""
        )
        raise LaunchValueError(f"{name}: {what} {given} must be at least 1 along each axis{hint}")
    return operator.index(length)


def allowed_shared(name: str, nbytes: Any, static_shared: int) -> int:
    """What `max_dynamic_shared_size_bytes` may be set to, as an int."""
    what = f"{name}: max_dynamic_shared_size_bytes"
    if isinstance(nbytes, bool) or not isinstance(nbytes, int | np.integer):
        raise LaunchTypeError(f"{what} must be a number of bytes, not {kind_of(nbytes)}")
    most = MOST_SHARED - static_shared
    if not 0 <= nbytes <= most:
        raise LaunchValueError(
            f"{what} must be 0 to {most:,} bytes, not {nbytes:,}: a block has at most {MOST_SHARED:,} bytes "
            "of shared memory, as on a GPU of compute capability 8.0"
        )
    return int(nbytes)


def _check_shared(
    name: str, shared_mem: Any, static_shared: int, dynamic: str | None, allowed: int | None
) -> None:
    if isinstance(shared_mem, bool) or not isinstance(shared_mem, int | np.integer):
        raise LaunchTypeError(f"{name}: shared_mem must be a number of bytes, not {kind_of(shared_mem)}")
    if shared_mem < 0:
        raise LaunchValueError(f"{name}: shared_mem must be a number of bytes, not {shared_mem}")
    if dynamic is not None and shared_mem == 0:
        raise LaunchValueError(
            f"{name}: it declares extern __shared__ {dynamic}[], but the launch gives no bytes for it: "
            "pass shared_mem=the number of bytes"
        )
    if allowed is not None:
        if shared_mem > allowed:
            raise LaunchValueError(
                f"{name}: {shared_mem:,} bytes of dynamic shared memory, and "
                f"max_dynamic_shared_size_bytes is {allowed:,}: set it to more, or use smaller tiles"
            )
        return
    total = static_shared + int(shared_mem)
    if total > MAX_SHARED:
        parts = (
            f" ({static_shared:,} static and {shared_mem:,} dynamic)" if static_shared and shared_mem else ""
        )
        raise LaunchValueError(
            f"{name}: {total:,} bytes of shared memory a block{parts}, and at most {MAX_SHARED:,} are "
            "possible: use smaller tiles"
            + (
                f", or ask for more before the launch: kernel.max_dynamic_shared_size_bytes = {shared_mem}"
                if static_shared <= MAX_SHARED and total <= MOST_SHARED and shared_mem
                else ""
            )
        )


def _times(lengths: Sequence[int]) -> str:
    return " x ".join(f"{length:,}" for length in lengths)
