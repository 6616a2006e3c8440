"""Rules for dtypes, shapes, axes and indices, and what is refused."""

from __future__ import annotations

import math
import string
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from minilib.engine import TENSORS, Number, Shape, array_module, leaf_of
from minilib.operations import axes

if TYPE_CHECKING:
    from minilib.tensor.core import Tensor

__all__ = [
    "Best", "Index", "all_slices", "full_shape", "result_type", "split_index",
]  # fmt: skip

# Dtypes


_CATEGORY = {"b": 0, "u": 1, "i": 1, "f": 2}


def result_type(*operands: Tensor | Number) -> np.dtype[Any]:
    """The dtype of a result, by PyTorch's rules. int64 and float32 give float32.

    The highest kind (bool, integer, float) among the operands wins; within it arrays decide, then 0-d
    tensors, then Python numbers.
    """
    best: tuple[int, int, np.dtype[Any]] | None = None  # kind, strength, dtype
    for operand in operands:
        if isinstance(operand, TENSORS[0]):
            dtype, strength = operand.data.dtype, 2 if operand.data.ndim else 1
        else:
            dtype, strength = leaf_of(operand).dtype, 0
        kind = _CATEGORY[dtype.kind]
        if best is None or (kind, strength) > best[:2]:
            best = kind, strength, dtype
        elif (kind, strength) == best[:2]:
            best = kind, strength, np.promote_types(best[2], dtype)
    if best is None:
        raise TypeError("result_type needs at least one operand")
    return best[2]


def _floating(x: Tensor) -> Tensor:
    """`x`, or x in float32 where it holds integers or booleans: their quotients and roots are no integers."""
    return x if x.data.dtype.kind == "f" else x.to(np.float32)


def refuse_misfit(x: Tensor, made: Tensor) -> None:
    """Raise where the numbers of `made` cannot be written into `x`."""
    if made.dtype != x.dtype and _CATEGORY[made.dtype.kind] > _CATEGORY[x.dtype.kind]:
        raise RuntimeError(
            f"{made.dtype} does not fit in place into {x.dtype}: use x = x + ... or cast first"
        )
    if made.shape != x.shape:
        raise RuntimeError(f"shape {made.shape} does not fit in place into {x.shape}")


def filling(value: Any, x: Tensor) -> Tensor:
    """`value` as it is written into `x`: in its dtype and on its device. Integers drop a fraction.

    Raises RuntimeError for numbers that the integers of `x` cannot hold: PyTorch makes 255 of -1 in uint8.
    """
    if isinstance(value, TENSORS[0]):
        return value.to(x.dtype)
    array = leaf_of(value).data
    if x.dtype.kind in "iu" and array.size:
        limits = np.iinfo(x.dtype)
        if not limits.min <= array.min() <= array.max() <= limits.max:
            raise RuntimeError(f"{value} does not fit into {x.dtype}: it holds {limits.min} to {limits.max}")
    return leaf_of(array_module(x.data).asarray(array, x.dtype))


def refuse_dtype(x: Tensor, value: Any, arrays: list[Tensor]) -> None:
    """Raise where `value` is a tensor in another dtype than `x`, and `arrays` stand in the index in x."""
    if not arrays or not isinstance(value, TENSORS[0]) or value.dtype == x.dtype:
        return
    if not (len(arrays) == 1 and arrays[0].dtype == bool and value.data.size == 1):
        raise RuntimeError(
            f"x[index] = value: with arrays in the index, the value must be {x.dtype} too, not "
            f"{value.dtype}: cast it with .to(dtype)"
        )


def refuse_requiring(x: Tensor, requires_grad: bool) -> None:
    """Raise where `x` cannot be asked for a gradient, or not be released from it."""
    if requires_grad and x.data.dtype.kind != "f":
        raise RuntimeError(
            f"only floating-point tensors can require gradients, not {x.dtype}: use x.float() first"
        )
    if not requires_grad and x.function is not None:
        raise RuntimeError("requires_grad can be turned off for leaves only: use x.detach()")


def refuse_gradient(x: Tensor, grad: Any) -> None:
    """Raise where `grad` cannot be the gradient of `x`."""
    if not isinstance(grad, TENSORS[0]):
        raise TypeError(f"grad: needs a tensor or None, not {type(grad).__name__}")
    if grad is x:
        raise RuntimeError("grad: a tensor cannot be its own gradient")
    if (grad.shape, grad.dtype, grad.device) != (x.shape, x.dtype, x.device):
        gave, needs = (f"{t.dtype} of shape {t.shape} on {t.device}" for t in (grad, x))
        raise RuntimeError(f"grad: needs {needs}, not {gave}")


# Shapes


def _sizes(sizes: tuple[Any, ...]) -> tuple[int, ...]:
    """Sizes given one by one or as one tuple, as PyTorch takes them."""
    if len(sizes) == 1 and isinstance(sizes[0], tuple | list):
        sizes = tuple(sizes[0])
    return tuple(size.__index__() for size in sizes)


def full_shape(shape: Shape, old: Shape) -> Shape:
    """`shape` with -1 replaced. Raises RuntimeError where `old` holds another number of elements."""
    total, known = math.prod(old), math.prod(n for n in shape if n != -1)
    if shape.count(-1) == 1 and known and total % known == 0:  # one unknown, and a whole number for it
        shape = tuple(total // known if n == -1 else n for n in shape)
    if min(shape, default=0) < 0 or math.prod(shape) != total:
        raise RuntimeError(f"reshape: {old} holds {total} numbers, which do not fit into {shape}")
    return shape


def expanded(shape: Shape, sizes: Shape) -> Shape:
    """`sizes`, with a length of `shape` for each -1. Raises RuntimeError where no repetition gives them."""
    own = (1,) * (len(sizes) - len(shape)) + shape  # new axes come first, of length 1
    old = range(len(sizes) - len(shape), len(sizes))
    wanted = tuple(own[i] if n == -1 and i in old else n for i, n in enumerate(sizes))
    fits = all(n == m or (m == 1 and n >= 0) for n, m in zip(wanted, own))
    if len(sizes) < len(shape) or not fits:
        raise RuntimeError(f"expand: {shape} does not fit {sizes}: only axes of length 1 are repeated")
    return wanted


# Order of axes


def permutation(x: Tensor, dims: Shape) -> Shape:
    """`dims`, counted from 0. Raises RuntimeError where they do not name each axis of `x` once."""
    order = axes(dims, x.ndim)
    if len(order) != x.ndim:
        raise RuntimeError(f"permute: {order} does not name each axis of a tensor of shape {x.shape} once")
    return order


# Triangles and copies


def repeats(x: Tensor, times: Shape) -> Shape:
    """`times`. Raises RuntimeError where it is not a count for each axis of `x`, or more."""
    if len(times) < x.ndim or min(times, default=0) < 0:
        raise RuntimeError(f"repeat: needs a count for each axis of {x.shape}, not {times}")
    return times


# Extremes, all and any


class Best(NamedTuple):
    """What `max(dim)` and `min(dim)` return."""

    values: Tensor
    indices: Tensor


def flag(keepdim: bool) -> bool:
    """`keepdim` itself. Raises TypeError for a number, which was meant to be a second axis."""
    if not isinstance(keepdim, bool | np.bool_):
        raise TypeError(f"keepdim is True or False, not {keepdim!r}: several axes are given as a tuple")
    return bool(keepdim)


# Parts along an axis


def _axis(dim: int, x: Tensor, name: str) -> int:
    """The axis `dim` of `x`, from 0 to ndim - 1."""
    if not x.ndim:
        raise RuntimeError(f"{name}: a tensor without axes has no parts")
    return axes(dim, x.ndim)[0]


def part_sizes(split_size: int | Sequence[int], n: int, dim: int) -> list[int]:
    """The lengths of the parts of an axis of length n. Raises RuntimeError where they do not add up to it."""
    if isinstance(split_size, int):
        if split_size < 1 and n:
            raise RuntimeError(f"split: a part needs at least one element, not {split_size}")
        # The last has the rest.
        sizes = [min(split_size, n - i) for i in range(0, n, max(split_size, 1))] or [0]
    else:
        sizes = list(split_size)
    if sum(sizes) != n or min(sizes, default=0) < 0:
        raise RuntimeError(f"split: the sizes {sizes} do not add up to {n}, the length of dim {dim}")
    return sizes


# Indices


Index: TypeAlias = Any  # what stands in x[...]


def split_index(index: Index, x: Tensor) -> tuple[tuple[Any, ...], tuple[bool, ...], list[Tensor]]:
    """`index` in two steps, as PyTorch takes it: integers, slices and None first, then arrays.

    Returns the first as a tuple, the layout of the second (see `fill`; empty where there is no array), and
    the arrays. A mask takes as many axes as it has.
    """
    parts = list(index) if isinstance(index, tuple) else [index]
    parts = [_index_part(part, x) for part in parts]
    taken = sum(_axes_taken(part) for part in parts)
    if taken > x.ndim:
        raise IndexError(f"{taken} indices for a tensor of {x.ndim} axes (shape {x.shape})")
    dots = [i for i, part in enumerate(parts) if part is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can hold one `...` only")
    at = dots[0] if dots else len(parts)
    parts[at : at + 1] = [slice(None)] * (x.ndim - taken)  # `...`, or the end, stands for all axes not named
    basic: list[Any] = []
    layout: list[bool] = []
    arrays: list[Tensor] = []
    for part in parts:
        if isinstance(part, TENSORS[0]):
            basic += [slice(None)] * _axes_taken(part)
            layout.append(True)
            arrays.append(part)
        else:
            basic.append(part)
            layout += [False] * (not isinstance(part, int))  # an int takes its axis away
    return tuple(basic), tuple(layout) if arrays else (), arrays


def _index_part(part: Any, x: Tensor) -> Any:
    """One part of an index: an int, a slice, None, `...`, or a Tensor of integers or booleans."""
    if part is None or part is Ellipsis:
        return part
    if isinstance(part, slice):
        if part.step is not None and part.step <= 0:
            raise ValueError(f"a slice of a tensor needs a positive step, not {part.step}: use x.flip(dim)")
        return part
    if isinstance(part, int | np.integer) and not isinstance(part, bool):
        return int(part)
    if not isinstance(part, TENSORS[0]):
        part = np.zeros(0, np.int64) if isinstance(part, list) and not part else leaf_of(part).data
        part = leaf_of(array_module(x.data).asarray(part))  # on x's device
    if part.data.dtype == np.uint8:
        part = part.to(bool)  # a mask, in PyTorch too
    if part.data.dtype.kind not in "iub":
        raise IndexError(f"tensors used as indices must hold integers or booleans, not {part.dtype}")
    return part


def _axes_taken(part: Any) -> int:
    if isinstance(part, TENSORS[0]):
        return part.ndim if part.data.dtype == bool else 1  # a mask covers as many axes as it has
    return int(part is not None and part is not Ellipsis)


def all_slices(index: tuple[Any, ...]) -> bool:
    return all(isinstance(part, slice) and part == slice(None) for part in index)


def gather_axis(x: Tensor, dim: int, index: Tensor) -> int:
    """The axis `dim` of x. Raises RuntimeError where `index` cannot take numbers of x along it."""
    if index.dtype.kind not in "iu" or index.ndim != x.ndim:
        raise RuntimeError(
            f"gather: the index needs integers and {x.ndim} axes, not {index.dtype} and {index.shape}"
        )
    (at,) = axes(dim, x.ndim) or (0,)
    length = x.shape[at] if x.ndim else 1
    # On meta there are no numbers to look at.
    if index.device != "meta" and index.data.size and not 0 <= index.data.min() <= index.data.max() < length:
        raise RuntimeError(f"gather: an index is out of bounds for dim {dim} of length {length}")
    if any(m > n for i, (m, n) in enumerate(zip(index.shape, x.shape)) if i != at):
        raise RuntimeError(f"gather: index {index.shape} is larger than {x.shape} outside of dim {dim}")
    return at


# The matrix product


def _check_matmul(a: Tensor, b: Tensor) -> None:
    shapes = f"{a.shape} @ {b.shape}"
    if not a.ndim or not b.ndim:
        raise RuntimeError(f"matmul: both operands need at least one axis: {shapes}; use * for numbers")
    if a.dtype != b.dtype:
        raise RuntimeError(f"matmul: the dtypes differ: {a.dtype} @ {b.dtype}; cast one with .to(dtype)")
    if a.shape[-1] != b.shape[max(b.ndim - 2, 0)]:
        hint = ""
        if b.ndim > 1 and a.shape[-1] == b.shape[-1]:
            hint = "; did you mean to transpose the second operand?"
        elif a.ndim > 1 and b.ndim > 1 and a.shape[-2] == b.shape[-2]:
            hint = "; did you mean to transpose the first operand?"
        raise RuntimeError(f"matmul: inner dimensions differ: {shapes}{hint}")
    before = zip(reversed(a.shape[:-2]), reversed(b.shape[:-2]))
    if any(n != m and 1 not in (n, m) for n, m in before):
        raise RuntimeError(
            f"matmul: the axes before the last two must be equal, or 1, to be broadcast: {shapes}"
        )


def einsum_terms(equation: str, shapes: Sequence[Shape]) -> tuple[list[str], str]:
    """The letters of each operand and of the output, "..." spelled out. Raises RuntimeError for misfits."""
    left, arrow, output = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(shapes):
        raise RuntimeError(f"einsum: {equation!r} is for {len(terms)} operands, not {len(shapes)}")
    spare = [c for c in string.ascii_letters if c not in equation]
    dots = [len(shape) - len(term.replace("...", "")) for term, shape in zip(terms, shapes) if "..." in term]
    ends = spare[: max(dots, default=0)]

    def spelled(term: str, axes: int) -> str:
        return term.replace("...", "".join(ends[len(ends) - axes :]))

    named = [spelled(t, max(0, len(s) - len(t.replace("...", "")))) for t, s in zip(terms, shapes)]
    if not arrow:
        letters = sorted(c for c in set("".join(named)) if "".join(named).count(c) == 1 and c not in ends)
        output = "..." * ("..." in left) + "".join(letters)
    output = spelled(output, len(ends))
    for term, shape in zip([*named, output], [*shapes, None]):
        if not set(term) <= {*string.ascii_letters} or len(set(term)) < len(term):
            raise RuntimeError(f"einsum: a term of {equation!r} is no row of different letters: {term!r}")
        if shape is not None and len(term) != len(shape):
            raise RuntimeError(f"einsum: {term!r} does not name the axes of a tensor of shape {shape}")
    if not set(output) <= set("".join(named)):
        raise RuntimeError(f"einsum: the output of {equation!r} has a letter that no operand has")
    return named, output


# Casts


def target_of(
    target: Sequence[Any], device: str | None, dtype: DTypeLike | None
) -> tuple[str | None, DTypeLike | None]:
    """Device and dtype that `Tensor.to` is asked for, by position or by name; None stays as it is."""
    for one in target:
        if isinstance(one, TENSORS[0]):
            device, dtype = one.device, one.dtype
        elif isinstance(one, str) and one.partition(":")[0] in ("cpu", "cuda", "meta"):
            device = one
        else:
            dtype = _dtype_of(one)
    return device, dtype


def _dtype_of(name: Any) -> DTypeLike:
    """What `to` was given that is no device. Raises TypeError for what is no dtype either."""
    try:
        return np.dtype(name)
    except TypeError:
        raise TypeError(
            f"to: {name!r} is neither a device, 'cpu' or 'cuda', nor a dtype such as 'float64'"
        ) from None
