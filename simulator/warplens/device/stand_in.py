"""A stand-in for CuPy on machines without a GPU: `cp` has the names that programs with kernels use, on NumPy.

What CuPy refuses is refused: NumPy arrays beside device arrays, arguments that only NumPy has, a device array
where NumPy wants its own. Numbers that come out of reductions stay on the device, as arrays without axes.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from warplens.device.allocation import MemoryPool, poison
from warplens.device.array import Host, Order, Shape, dtype_of, host, ndarray, required, wrap
from warplens.device.functions import function, method, ufunc
from warplens.device.names import FFT, FUNCTIONS, METHODS, SAME, UFUNCS
from warplens.device.random import make_random
from warplens.device.runtime import make_cuda

__all__ = ["cp", "ndarray"]


def array(
    obj: Any,
    dtype: Any = None,
    copy: bool | None = True,
    order: Order = "K",
    subok: bool = False,
    ndmin: int = 0,
    *,
    blocking: bool = False,
) -> ndarray:
    """A device array of numbers, lists, or an array of either side."""
    wanted = None if dtype is None else dtype_of(dtype)
    if isinstance(obj, ndarray):
        made = np.array(obj._array, wanted, copy=copy or None, order=order, ndmin=ndmin)
        return wrap(made, (obj,))
    made = np.array(host(obj), wanted, order=order, ndmin=ndmin)
    dtype_of(made.dtype)
    return wrap(made)


def asarray(a: Any, dtype: Any = None, order: Order = None, *, blocking: bool = False) -> ndarray:
    """`a` itself where it is on the device in this dtype and order, else a copy there."""
    return array(a, dtype, copy=None, order=order)


def ascontiguousarray(a: ndarray, dtype: Any = None) -> ndarray:
    required("ascontiguousarray", "a", a)
    return array(a, dtype, copy=None, order="C")


def asfortranarray(a: ndarray, dtype: Any = None) -> ndarray:
    required("asfortranarray", "a", a)
    return array(a, dtype, copy=None, order="F")


def asnumpy(
    a: Any, stream: Any = None, order: Order = "C", out: Any = None, *, blocking: bool = True
) -> Host:
    """A copy in NumPy of a device array; anything else as NumPy's array."""
    if isinstance(a, ndarray):
        return a.get(stream, order, out)
    made = np.asarray(a, order=order)
    if out is None:
        return made
    out[...] = made
    return out  # type: ignore[no-any-return]


def empty(shape: Shape, dtype: Any = float, order: Order = "C") -> ndarray:
    """Memory that nobody has written: a kernel that reads it gets a finding, NumPy's functions get nan."""
    return ndarray(shape, dtype, order=order)


def empty_like(
    prototype: ndarray, dtype: Any = None, order: Order = "K", subok: Any = None, shape: Any = None
) -> ndarray:
    """Like `empty`, with the shape and the dtype of `prototype` unless others are given."""
    like = np.empty_like(required("empty_like", "prototype", prototype), dtype, order, True, shape)
    like.fill(poison(dtype_of(like.dtype)))
    return wrap(like, written=False)


def get_array_module(*args: Any) -> Any:
    """`cp` where one of `args` is a device array, else NumPy."""
    return cp if any(isinstance(arg, ndarray) for arg in args) else np


_pool = MemoryPool()


def get_default_memory_pool() -> MemoryPool:
    """Where arrays have their memory from: it says how much they hold."""
    return _pool


def _array_ufunc(self: ndarray, function: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any:
    """`np.exp(x)` and `number * x`: NumPy's elementwise functions of device arrays are ours, as with CuPy."""
    ours = getattr(cp, function.__name__, None)
    if method != "__call__" or ours is None:
        return NotImplemented
    if "out" in keywords and len(keywords["out"]) == 1:
        (keywords["out"],) = keywords["out"]
    return ours(*inputs, **keywords)


for _name, _words in METHODS.items():
    setattr(ndarray, _name, method(_name, _words))
ndarray.__array_ufunc__ = _array_ufunc  # type: ignore[attr-defined]


class Module:
    """`cp`: the names of CuPy that there are here."""

    def __init__(self) -> None:
        names: dict[str, Any] = {name: getattr(np, name) for name in SAME}
        names |= {name: ufunc(getattr(np, name), name) for name in UFUNCS}
        names |= {name: function(name, words, getattr(np, name)) for name, words in FUNCTIONS.items()}
        for own in (
            array,
            asarray,
            ascontiguousarray,
            asfortranarray,
            asnumpy,
            empty,
            empty_like,
            ndarray,
            ufunc,
        ):
            names[own.__name__] = own
        for other in (get_array_module, get_default_memory_pool):
            names[other.__name__] = other
        names["asanyarray"] = asarray
        fft = {name: function(name, words, getattr(np.fft, name)) for name, words in FFT.items()}
        names |= {"cuda": make_cuda(), "random": make_random(array), "fft": SimpleNamespace(**fft)}
        self.__dict__.update(names)
        self.__name__ = "cp"

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"cp.{name}: CuPy is not here, and its stand-in has no {name!r}; "
            "compute it with what dir(cp) lists, or on the host: cp.asnumpy(x)"
        )

    def __dir__(self) -> list[str]:
        return sorted(name for name in self.__dict__ if not name.startswith("_"))

    def __repr__(self) -> str:
        return "<stand-in for CuPy on NumPy>"


cp: Any = Module()
