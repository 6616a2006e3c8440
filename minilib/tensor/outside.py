"""Tensors as others see them: as text, and beside NumPy's arrays."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from minilib.engine import TENSORS, Array, wrote

if TYPE_CHECKING:
    from minilib.tensor.core import Tensor

# What it holds


_OPERATORS = {
    "subtract": "sub", "multiply": "mul", "divide": "truediv", "power": "pow", "floor_divide": "floordiv",
    "remainder": "mod", "equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt",
    "greater_equal": "ge", "bitwise_and": "and_", "bitwise_or": "or_", "bitwise_xor": "xor",
}  # fmt: skip


def as_numpy(x: Tensor, dtype: DTypeLike | None, copy: bool | None) -> Array:
    """What `Tensor.__array__` returns: the tensor's own array where dtype and copy allow it."""
    array = np.asarray(x.numpy(), dtype)
    if copy is False and array is not x.data:
        raise ValueError(f"an array of {array.dtype} cannot be had of {x.dtype} without a copy")
    return array.copy() if copy else array


def numpy_operation(ufunc: Any, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """What `Tensor.__array_ufunc__` returns: one of NumPy's functions has met a tensor."""
    (out,) = options.get("out", (None,))
    # `array -= tensor` arrives here as subtract(..., out=array).
    if type(out) is np.ndarray and method == "__call__":
        ufunc(*[x.data if isinstance(x, TENSORS[0]) else x for x in inputs], **options)
        wrote(out)  # so that backward refuses what it has saved of it
        return out
    operation = getattr(operator, _OPERATORS.get(ufunc.__name__, ufunc.__name__), None)
    # Left: `np.float32(2) * tensor`.
    if operation is None or isinstance(inputs[0], TENSORS[0]) or inputs[0].ndim:
        raise TypeError(
            f"{ufunc.__name__}: NumPy takes no tensors: wrap arrays in tensor(...), or use x.numpy()"
        )
    return operation(inputs[0].item(), *inputs[1:])


def shown(x: Tensor) -> str:
    """The numbers, and what is not usual about them: the dtype, the history, the device."""
    if x.device == "meta":
        numbers = f"..., size={x.shape}"
    else:
        array = x.data if x.device == "cpu" else np.asarray(x.tolist(), x.dtype)
        numbers = np.array2string(array, separator=", ", prefix="tensor(", precision=4)
    extra = "" if x.dtype.name in ("float32", "int64", "bool") else f", dtype={x.dtype.name}"
    if x.function is not None:
        extra += f", function={x.function.name}"
    elif x.requires_grad:
        extra += ", requires_grad=True"
    if x.device != "cpu":
        extra += f", device={x.device!r}"
    return f"tensor({numbers}{extra})"
