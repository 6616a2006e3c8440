"""Functions of several tensors."""

from __future__ import annotations

from collections.abc import Sequence

from minilib.engine import Number, array_module
from minilib.operations import Cat, Maximum, Minimum, Where, axes
from minilib.tensor.core import Tensor, apply, binary
from minilib.tensor.rules import result_type

# Of pairs of numbers


def where(condition: Tensor, input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """`input` where `condition` (booleans) holds, `other` elsewhere; all three broadcast."""
    if condition.dtype != bool:
        raise RuntimeError(f"where: the condition must hold booleans, not {condition.dtype}")
    dtype = result_type(input, other)
    xp = array_module(condition.data)
    x, y = (
        item.to(dtype) if isinstance(item, Tensor) else Tensor(xp.asarray(item, dtype))
        for item in (input, other)
    )
    return apply(Where(), condition, x, y)


def maximum(input: Tensor, other: Tensor | Number) -> Tensor:
    """The larger of each pair; equal ones share the gradient. Unlike PyTorch's, it takes a number as well."""
    return binary(Maximum(), input, other)


def minimum(input: Tensor, other: Tensor | Number) -> Tensor:
    """The smaller of each pair; equal ones share the gradient. Unlike PyTorch's, it takes numbers too."""
    return binary(Minimum(), input, other)


# Joining


def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors one after the other along `dim`; their other axes must agree. Also known as concatenate.

    An empty vector of shape (0,) may stand for a tensor that is not there yet, whatever the other shapes;
    it gets no gradient.
    """
    if not tensors:
        raise RuntimeError("cat: needs at least one tensor")
    dtype = result_type(*tensors)
    tensors = [t for t in tensors if t.shape != (0,)] or tensors[:1]
    (at,) = axes(dim, tensors[0].ndim) or (None,)
    if at is None:
        raise RuntimeError("cat: tensors without axes cannot be joined: use stack")
    for t in tensors:
        if t.ndim != tensors[0].ndim or any(
            m != n for i, (m, n) in enumerate(zip(t.shape, tensors[0].shape)) if i != at
        ):
            raise RuntimeError(f"cat: shapes {tensors[0].shape} and {t.shape} differ outside of dim {dim}")
    return apply(Cat(at), *[t.to(dtype) for t in tensors])


concatenate = cat


def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors of one shape side by side along a new axis."""
    for t in tensors:
        if t.shape != tensors[0].shape:
            raise RuntimeError(f"stack: all shapes must be equal, not {tensors[0].shape} and {t.shape}")
    return cat([t.unsqueeze(dim) for t in tensors], dim)
