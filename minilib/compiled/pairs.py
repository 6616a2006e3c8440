"""The table of operations that run compiled loops on NumPy's arrays, and the switch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from minilib.engine import DEVICES, Function, Pair
from minilib.parallel import KERNELS

P = TypeVar("P", bound=type)
F = TypeVar("F", bound=Callable[..., Any])

PAIRS: dict[type[Function], Pair] = {}
RULES: dict[Any, Callable[..., Any]] = {}  # steps of optimisers: `parallel.elementwise` asks there
_lock = threading.Lock()
_off = 0


def pair(*kinds: type[Function]) -> Callable[[P], P]:
    """Register a class with `forward(f, *arrays)` and `backward(f, grad)` as the loops of `kinds`.

    Its forward returns NotImplemented for arrays that do not fit; then NumPy takes over.
    """

    def register(kernels: P) -> P:
        for kind in kinds:
            PAIRS[kind] = DEVICES[np.ndarray].pairs[kind] = kernels()
        return kernels

    return register


def rule(step: Callable[..., None]) -> Callable[[F], F]:
    """Register a compiled step of an optimiser in the place of `step` of minilib.optim."""

    def register(compiled: F) -> F:
        RULES[np.ndarray, step] = KERNELS[np.ndarray, step] = compiled
        return compiled

    return register


@contextmanager
def off() -> Iterator[None]:
    """In this block NumPy does all the work again, in every thread: to compare."""
    global _off
    with _lock:
        _off += 1
        for table, ours in _tables():
            for key in ours:
                table.pop(key, None)
    try:
        yield
    finally:
        with _lock:
            _off -= 1
            if not _off:
                for table, ours in _tables():
                    table.update(ours)


def _tables() -> tuple[tuple[Any, Any], ...]:
    return (DEVICES[np.ndarray].pairs, PAIRS), (KERNELS, RULES)


def coverage() -> str:
    """A table of what is compiled: operations, both ways, and the steps of optimisers."""
    steps = [f"optim.{step.__name__}" for _, step in RULES]
    return "\n".join(sorted(kind.__name__ for kind in PAIRS) + sorted(steps))
