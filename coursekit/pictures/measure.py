"""How long something takes, how much memory, and how many operations lie below a result."""

from __future__ import annotations

import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np


def seconds(
    action: Callable[[], object], times: int = 20, clock: Callable[[], float] = time.perf_counter
) -> float:
    """The shortest time that `action()` takes; by `time.process_time` without what other programs take."""
    ticks = []
    for _ in range(times):
        start = clock()
        action()
        ticks.append(clock() - start)
    return min(ticks)


def apart(program: str) -> float:
    """The number that a program of Python prints, in a process of its own.

    Two libraries with threads of their own slow each other down in one.
    """
    return float(subprocess.check_output([sys.executable, "-c", program], encoding="utf-8").split()[-1])


def peak_bytes(action: Callable[[], object]) -> int:
    """The most memory that `action()` takes beyond what is there."""
    tracemalloc.start()
    action()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def operations(result: Any) -> set[Any]:
    """The operations below the tensor `result`, each once."""
    found: set[Any] = set()
    todo = [result.function]
    while todo:
        f = todo.pop()
        if hasattr(f, "forward") and f not in found:  # a leaf is a tensor
            found.add(f)
            todo += f.inputs
    return found


def saved_bytes(result: Any) -> int:
    """What the operations below `result` keep for backward; an array that two of them share counts once."""
    saved = (array for f in operations(result) for array in getattr(f, "saved", ()))
    arrays = {id(array): array for array in saved if array is not None}
    return sum(array.nbytes for array in arrays.values())


class _Counted(np.ndarray[Any, Any]):
    """An array that counts how many arrays its operations read and write."""

    passes = arrays = 0

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        _Counted.passes += 1
        _Counted.arrays += 1 + len({id(i) for i in inputs if isinstance(i, _Counted)})
        plain = [i.view(np.ndarray) if isinstance(i, _Counted) else i for i in inputs]
        return getattr(ufunc, method)(*plain, **kwargs).view(_Counted)


def count_passes(f: Callable[[Any], object], x: Any) -> tuple[int, int]:
    """How many operations of NumPy `f(x)` makes, and how many arrays they read and write."""
    _Counted.passes = _Counted.arrays = 0
    f(x.view(_Counted))
    return _Counted.passes, _Counted.arrays
