"""Operations run on tensors, and remembered."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from minilib.engine import (
    DEVICES,
    TENSORS,
    Function,
    Number,
    _clock,
    _on_device,
    array_module,
    leaf_of,
    mode,
    note_view,
    refuse_mix,
    renew,
    take_over,
    wrote,
)
from minilib.operations import MatMul, Write
from minilib.tensor.rules import _check_matmul

if TYPE_CHECKING:
    from minilib.tensor.core import Tensor

__all__ = ["apply", "matmul", "weak"]

# Applying operations


# `Tensor(data)` would check what an operation has made, again at each operation.
_new = object.__new__

_compiled = DEVICES[np.ndarray].pairs  # empty, unless minilib.compiled was imported


def apply(f: Function, *tensors: Tensor) -> Tensor:
    """Run `f` on the arrays of `tensors`, and remember it where somebody wants a gradient."""
    for t in tensors:
        if t.origin is not None:
            renew(t, t.origin)
    # The operation, not the tensor: results may be freed.
    f.inputs = tuple([t._function or t for t in tensors])
    arrays = [t.data for t in tensors]
    try:
        if type(arrays[0]) is np.ndarray and type(f) not in _compiled:
            data = f.forward(*arrays)
            if type(data) not in DEVICES:  # NumPy makes scalars of 0-d results
                data = np.asarray(data)
        else:
            data = _on_device(f, arrays)
    except ValueError as error:  # NumPy's, of shapes that do not broadcast; PyTorch raises RuntimeError
        raise RuntimeError(f"{f.name}: {error}") from None
    except TypeError:
        refuse_mix(f, arrays)  # a TypeError of two devices has a better message
        raise
    out = _new(TENSORS[0])
    out.data = data
    out._grad = out.hooks = out._function = out.origin = None
    out._requires_grad = False
    if f.view:
        note_view(out, tensors[0], f)
    if f.requires_grad and mode.grad_enabled:
        for t in tensors:
            if t._requires_grad:
                out._requires_grad = True
                out._function = f
                f.serial = _clock()
                f.shape, f.dtype = data.shape, data.dtype
                break  # one input that wants a gradient is enough to be remembered
    if mode.tracer is not None:
        mode.tracer(f, tensors, out)
    return out


def weak(number: Number, like: Tensor) -> Tensor:
    """A Python number as a 0-d tensor: of the dtype of `like`, unless its kind is higher (integers * 0.5).

    As in PyTorch an integer wraps around where it does not fit: 300 is 44 in uint8.
    """
    xp = array_module(like.data)
    kind = like.data.dtype.kind
    if kind in "iu" and isinstance(number, int):
        return leaf_of(xp.asarray(number, np.int64).astype(like.data.dtype, copy=False))
    if kind == "f" or isinstance(number, bool):
        return leaf_of(xp.asarray(number, like.data.dtype))
    return leaf_of(xp.asarray(number, np.float32 if isinstance(number, float) else np.int64))


# The matrix product


def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Matrix product: (..., n, k) @ (..., k, m) is (..., n, m), leading axes broadcast.

    A vector on the left is a row, on the right a column, and loses that axis again. Raises RuntimeError where
    the inner dimensions or the dtypes differ.
    """
    _check_matmul(input, other)
    if input.ndim == 1:
        return matmul(input.unsqueeze(0), other).squeeze(-2 if other.ndim > 1 else 0)
    if other.ndim == 1:
        return matmul(input, other.unsqueeze(1)).squeeze(-1)
    if input.ndim > 2 and other.ndim == 2:  # one large product instead of a loop over small ones
        rows = math.prod(input.shape[:-1])
        flat = apply(MatMul(), input.reshape(rows, input.shape[-1]), other)  # (rows, k) @ (k, m)
        return flat.reshape(*input.shape[:-1], other.shape[-1])
    return apply(MatMul(), input, other)


# Writing in place


def _write(x: Tensor, f: Write, value: Tensor, *arrays: Tensor) -> None:
    """Let `f` write `value` into x; a view's base keeps the history, and the view takes it from there."""
    base = x
    if x.origin is not None:
        base, f.path = x.origin.base, x.origin.path
    made = apply(f, base if base.function else base.detach(), value, *arrays)
    wrote(base.data)
    if made.function is not None:
        take_over(base, made.function)


# Making tensors


def _plain(data: Any) -> Any:
    """Lists may hold tensors: `tensor([x.sum(), y.sum()])`."""
    if isinstance(data, list | tuple):
        return [_plain(item) for item in data]
    return data.data if isinstance(data, TENSORS[0]) else data
