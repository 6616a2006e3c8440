"""The device: arrays on a GPU or its simulator, and the table of operations that run kernels of ours."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from minilib.cuda import RawModule, Report, backend, cp, profile
from minilib.engine import DEVICES, Array, Device, Function, Pair, Shape

T = TypeVar("T")

THREADS = 256  # of a block, where each thread has an element
MOST = 65_535  # blocks along the second or third axis of a grid


# The device


def from_numpy(array: Array) -> Array:
    """An array of NumPy's as one on the device. Says once where that device is simulated."""
    if backend() != "gpu":
        said_once()
    return cp.asarray(array)


@functools.cache
def said_once() -> None:
    warnings.warn('there is no GPU here: "cuda" is the simulator, exact and slow', stacklevel=2)


# setdefault: a reload must not throw away the pairs that are registered.
DEVICE = DEVICES.setdefault(cp.ndarray, Device("cuda", cp, from_numpy, cp.asnumpy))


# Pairs of kernels


def pair(kind: type[Function]) -> Callable[[type[Pair]], type[Pair]]:
    """Register a class with `forward(f, *arrays)` and `backward(f, grad)` as the kernels of `kind`.

    Its forward returns NotImplemented for arrays that do not fit; then the array module takes over.
    """

    def register(kernels: type[Pair]) -> type[Pair]:
        DEVICE.pairs[kind] = kernels()
        return kernels

    return register


@contextmanager
def without(*kinds: type[Function]) -> Iterator[None]:
    """In this block the operations `kinds`, all where none is named, run by the array module."""
    before = dict(DEVICE.pairs)
    for kind in kinds or before:
        DEVICE.pairs.pop(kind, None)
    try:
        yield
    finally:
        DEVICE.pairs.clear()
        DEVICE.pairs.update(before)


def coverage() -> str:
    """A table of all operations: which run our kernels, which are views, which run those of CuPy."""
    kinds = sorted(set(operations(Function)), key=lambda kind: kind.__name__)
    rows = [(kind.__name__, how(kind)) for kind in kinds]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {where}" for name, where in rows)


def how(kind: type[Function]) -> str:
    return "ours" if kind in DEVICE.pairs else "view" if kind.view else "cupy"


def operations(kind: type[Function]) -> Iterator[type[Function]]:
    """The operations of the library that have been imported: subclasses of `kind`.

    Without those that other operations are made from, and those that take the place of one on a processor.
    """
    for one in kind.__subclasses__():
        whole = "forward" in vars(one) or not one.__subclasses__()
        if one.__module__.startswith("minilib.") and whole and "name" not in vars(one):
            yield one
        yield from operations(one)


def fits(*arrays: Array) -> bool:
    """Whether our kernels take them: at least one, float32, and places that an int can count."""
    return bool(arrays) and all(array.dtype == np.float32 and array.size < 2**31 for array in arrays)


def blocks(count: int, size: int = THREADS) -> int:
    """How many blocks of `size` hold `count` threads."""
    return -(-count // size)  # rounded up


# Launches


def launch(kernel: Any, grid: Shape, block: Shape, args: Sequence[Any], shared_mem: int = 0) -> None:
    """Run a kernel; where launches are watched, they are looked at before."""
    for look in _watching:
        look(kernel, grid, block, args, shared_mem)
    kernel(grid, block, tuple(args), shared_mem=shared_mem)


_watching: list[Callable[..., None]] = []


@contextmanager
def watched(look: Callable[..., T]) -> Iterator[list[tuple[str, T]]]:
    """In this block a list of our kernels' names and of what `look` says of their launches."""
    seen: list[tuple[str, T]] = []

    def note(kernel: Any, *launch: Any) -> None:
        seen.append((kernel.name, look(kernel, *launch)))

    _watching.append(note)
    try:
        yield seen
    finally:
        _watching.remove(note)


def reports() -> AbstractContextManager[list[tuple[str, Report]]]:
    """In this block each launch of our kernels is profiled by the simulator: a list of names and reports."""
    return watched(profile)


def memory() -> AbstractContextManager[list[tuple[str, int]]]:
    """In this block the bytes in use at each launch of our kernels: a list of names and bytes."""
    return watched(lambda *_: bytes_in_use())


def bytes_in_use() -> int:
    """What arrays on the device hold, each in pieces of 512 bytes, as CuPy's pool hands them out."""
    return int(cp.get_default_memory_pool().used_bytes())


def kernels(file: str, *names: str) -> Callable[[str], Any]:
    """What finds a kernel of minilib/kernels/`file`.cu by its name; `names` are those with <numbers>."""
    path = Path(__file__).parents[1] / "kernels" / f"{file}.cu"
    module = RawModule(code=path.read_text(encoding="utf-8"), name_expressions=names or None)
    return functools.cache(module.get_function)
