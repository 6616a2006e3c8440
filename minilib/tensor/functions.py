"""Functions of several tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minilib.engine import Number, array_module
from minilib.operations import Cat, Einsum, Maximum, Minimum, Where, axes
from minilib.tensor.applying import apply, matmul
from minilib.tensor.core import Tensor, binary
from minilib.tensor.rules import einsum_terms, result_type

__all__ = [
    "allclose", "bmm", "cat", "concatenate", "einsum", "equal", "maximum", "minimum", "outer", "stack",
    "where",
]  # fmt: skip

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


def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have one shape and the same numbers."""
    return input.shape == other.shape and bool((input == other).all())


def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """Whether all |input - other| <= atol + rtol * |other|; both of one dtype."""
    if input.dtype != other.dtype:
        raise RuntimeError(
            f"allclose: the dtypes differ: {input.dtype} and {other.dtype}; cast with .to(...)"
        )
    xp = array_module(input.data)
    return bool(xp.allclose(input.data, other.data, rtol, atol, equal_nan))


# Products


def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Matrix products in a batch: (B, n, k) and (B, k, m) is (B, n, m)."""
    if input.ndim != 3 or mat2.ndim != 3 or input.shape[0] != mat2.shape[0]:
        raise RuntimeError(
            f"bmm: needs (B, n, k) and (B, k, m), not {input.shape} and {mat2.shape}; see matmul"
        )
    return matmul(input, mat2)


def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """All products of two vectors: (n,) and (m,) is (n, m)."""
    if input.ndim != 1 or vec2.ndim != 1:
        raise RuntimeError(f"outer: needs two vectors, not {input.shape} and {vec2.shape}")
    return input.unsqueeze(1) * vec2


def einsum(equation: str, *operands: Any) -> Tensor:
    """Products, summed over the letters that the output lacks: einsum("bij,bjk->bik", x, y).

    Without "->" the output has the letters that occur once, in order of the alphabet; "..." stands for any
    axes. Unlike PyTorch's, a term cannot name a letter twice (a diagonal).
    """
    given = operands[0] if len(operands) == 1 and isinstance(operands[0], list | tuple) else operands
    dtype = result_type(*given)
    terms, output = einsum_terms(equation, [x.shape for x in given])
    return apply(Einsum(terms, output), *[x.to(dtype) for x in given])


# Joining


def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors one after the other along `dim`; their other axes must agree. Also known as concatenate.

    An empty vector of shape (0,) may stand for a tensor that is not there yet, whatever the other shapes;
    it gets no gradient.
    """
    if not tensors:
        raise RuntimeError("cat: needs at least one tensor")
    dtype = result_type(*tensors)
    if any(t.ndim != 1 for t in tensors):
        tensors = [t for t in tensors if t.shape != (0,)]
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
