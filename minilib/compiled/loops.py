"""Loops that are compiled, on the threads that all of the library shares.

numba compiles a function at its first call for the types that it is called with, and keeps the result on
the disk beside this file, or in the user's cache where that cannot be written. The threads are those of
`minilib.parallel`: numba's own are not safe where two Python threads call at once, nor after a fork.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np
from numba import njit

from minilib.parallel import parallel

__all__ = ["BLOCK", "exp", "in_blocks", "loop", "over", "over_pieces", "plain"]

F = TypeVar("F", bound=Callable[..., Any])

SMALL = 2**18  # numbers: below, waking a thread costs more than it saves
BLOCK = 64  # rows whose sums are added up by one thread: results do not depend on how many threads there are
SLOW = 2.0  # seconds of compiling, from which on a line says so

# What the compiler may do with floating-point numbers: reorder sums, so that it can keep several at once, and
# join a product and a sum. It may not take for granted that there are no NaN and no infinities.
ALLOWED = {"reassoc", "contract", "nsz"}
OPTIONS: Any = {"nogil": True, "error_model": "numpy"}


def compiled(function: Callable[..., Any], fastmath: set[str]) -> Any:
    """`function`, compiled when it is first called; kept on the disk where there is a place for it."""
    try:
        return njit(function, cache=True, **OPTIONS, fastmath=fastmath)
    except RuntimeError:  # no folder that can be written to: compiled again in each process
        return njit(function, **OPTIONS, fastmath=fastmath)


def loop(function: F) -> F:
    """A compiled loop. Python's lock is free while it runs. Says so where compiling takes a while."""
    run = compiled(function, ALLOWED)

    def first(*args: Any) -> Any:
        nonlocal run
        if ready:
            return run(*args)
        start = time.perf_counter()
        try:
            made = run(*args)
        except Exception:
            if run.signatures:  # it is compiled: the error is the loop's own
                raise
            run = first.compiled = njit(function, **OPTIONS, fastmath=ALLOWED)  # type: ignore[attr-defined]
            made = run(*args)  # without the disk: what lay there was damaged, or not to be written
        seconds = time.perf_counter() - start
        if seconds > SLOW and run.stats.cache_misses:
            warnings.warn(
                f"minilib.compiled: {function.__name__} took {seconds:.0f} s to compile: once a machine",
                stacklevel=2,
            )
        ready.append(True)
        return made

    ready: list[bool] = []  # after the first call: `run.signatures` takes longer than a small loop
    first.compiled = run  # type: ignore[attr-defined]
    return first  # type: ignore[return-value]


# The exponential

_LOG2E, _HALF = np.float32(1 / math.log(2)), np.float32(0.5)
# ln 2 in two parts: the first has few bits, so that k times it is exact.
_LN2, _LN2_REST = np.float32(0.693359375), np.float32(math.log(2) - 0.693359375)
_LOWEST, _HIGHEST = np.float32(-104.0), np.float32(89.0)  # beyond, 0 and infinity
# A minimax fit of (e^r - 1 - r) / r^2 on |r| <= ln 2 / 2, lowest power first: off by 3e-9 of e^r.
_C2, _C3, _C4, _C5, _C6 = (
    np.float32(c) for c in (0.49999993412, 0.16666520108, 0.04166839422, 0.00836878043, 0.00138144667)
)
_ONE = np.float32(1)


def _exp(x: Any) -> Any:
    """e to the x in float32, as NumPy's to 2e-7 of it: a polynomial, since loops with calls stay scalar.

    x = k ln 2 + r with a whole k, so e^x = 2^k e^r, and 2^k is a matter of the exponent's bits.
    """
    x = _HIGHEST if x > _HIGHEST else x  # comparisons with NaN are false: it goes through
    x = _LOWEST if x < _LOWEST else x
    k = np.floor(x * _LOG2E + _HALF)
    r = (x - k * _LN2) - k * _LN2_REST  # |r| <= ln 2 / 2
    p = ((((_C6 * r + _C5) * r + _C4) * r + _C3) * r + _C2) * r * r + r + _ONE
    whole = np.int32(k)
    half = whole >> np.int32(1)  # twice: 2^128 and 2^-149 have no float32 of their own
    low = np.int32((half + np.int32(127)) << np.int32(23)).view(np.float32)
    high = np.int32((whole - half + np.int32(127)) << np.int32(23)).view(np.float32)
    return p * low * high


exp = compiled(_exp, {"contract"})  # not reordered: the two parts of ln 2 must be taken off one by one


# Rows on threads


def over(kernel: Callable[..., Any], n: int, numbers: int, *args: Any) -> None:
    """kernel(start, stop, *args) on the rows start to stop, all n of them; `numbers`: how much work it is."""
    if numbers < SMALL:
        kernel(0, n, *args)
    else:
        parallel(lambda start, stop: kernel(start, stop, *args), n)


def over_pieces(kernel: Callable[..., Any], arrays: Iterable[Any], *numbers: Any) -> None:
    """kernel(*arrays, *numbers) on pieces of the arrays along axis 0, one for each thread.

    Pieces, and not start and stop: an index that might be negative, for all the compiler knows, and would
    count from the end, keeps it from working on eight numbers at once.
    """
    first, *others = arrays

    def work(start: int, stop: int) -> None:
        kernel(first[start:stop], *[each[start:stop] for each in others], *numbers)

    over(work, len(first), first.size)


def in_blocks(
    kernel: Callable[..., Any], n: int, numbers: int, sums: tuple[int, ...], *args: Any, block: int = BLOCK
) -> Any:
    """kernel(start, stop, *args, sums) over blocks of `block` rows; `sums` has a slot of that shape for each.

    Returns their sum, added in float64 and in order: the same whatever the number of threads.
    """
    blocks = -(-n // block)
    parts = np.zeros((blocks, *sums), np.float32)
    over(kernel, blocks, numbers, *args, parts)
    if blocks == 1:
        return parts[0]
    return parts.sum(0, dtype=np.float64).astype(np.float32)


def plain(*arrays: Any) -> bool:
    """Whether loops take them: at least one number, float32, one row after the other in memory."""
    return all(a.dtype == np.float32 and a.flags.c_contiguous and a.size for a in arrays)
