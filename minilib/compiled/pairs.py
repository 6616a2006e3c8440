"""The table of operations that run compiled loops on NumPy's arrays, and the switch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np

from minilib.compiled.loops import over_pieces, plain
from minilib.engine import DEVICES, Array, Function, Pair
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

    def decorate(kernels: P) -> P:
        register(kernels(), *kinds)
        return kernels

    return decorate


def register(pair: Pair, *kinds: type[Function]) -> None:
    for kind in kinds:
        PAIRS[kind] = DEVICES[np.ndarray].pairs[kind] = pair


@dataclass(frozen=True)
class Unary:
    """A pair of loops for one array: into its result y, and from the gradient and what was kept into dx.

    `seen`: how the loops see an array, as rows or as one long row. What is kept for backward is y or x, or
    the derivative, then a second result of the forward loop. `numbers`: what both loops are told of f.
    """

    to: Callable[..., None]
    back: Callable[..., None]
    seen: Callable[[Array], Array]
    keeps: Literal["y", "x", "derivative"] = "y"
    numbers: Callable[[Any], tuple[float, ...]] = lambda f: ()

    def forward(self, f: Function, x: Array) -> Array:
        if not plain(x) or x.ndim == 0:
            return NotImplemented
        made = [np.empty_like(x) for _ in range(1 + (self.keeps == "derivative"))]
        over_pieces(self.to, map(self.seen, (x, *made)), *map(np.float32, self.numbers(f)))
        f.saved = (x if self.keeps == "x" else made[-1],)
        return made[0]

    def backward(self, f: Function, grad: Array) -> Array:
        (kept,) = f.saved
        dx = np.empty_like(kept)
        arrays = map(self.seen, (np.ascontiguousarray(grad), kept, dx))
        over_pieces(self.back, arrays, *map(np.float32, self.numbers(f)))
        return dx


def flat(x: Array) -> Array:
    return x.reshape(-1)


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
