"""The shape and the dtype of a node, told when it is made: before there are numbers.

Taught in chapters/09a_sessions.ipynb and solutions/09a_sessions.ipynb: what they export is edited there, then
`make promote`.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from minilib import operations as ops
from minilib.dims import Dim, Equations, Length, Size, at, broadcast, larger, smaller, symbol
from minilib.engine import Array, Function
from minilib.graph import kinds
from minilib.graph.kinds import Leaf

Sizes = tuple[Any, ...]


class Shape(tuple[Any, ...]):
    """Lengths of axes, of which some may be symbols."""

    def __iter__(self) -> Iterator[Any]:
        return (Length(n) if isinstance(n, int) else n for n in super().__iter__())

    def __getitem__(self, i: Any) -> Any:
        return Shape(tuple(self)[i]) if isinstance(i, slice) else tuple(self)[i]

    def as_list(self) -> list[int | None]:
        """None in the place of what is not known."""
        return [None if isinstance(n, Dim) else n for n in self]

    @property
    def ndims(self) -> int:
        return len(self)

    def num_elements(self) -> int | None:
        """How many numbers; None where that is not known."""
        return None if None in self.as_list() else math.prod(self)

    def __repr__(self) -> str:
        return "(" + ", ".join(map(str, self)) + ("," if len(self) == 1 else "") + ")"


def agree(equations: Equations, one: Sizes | None, other: Sizes | None, told: str) -> None:
    """Two shapes are one from now on; unknown axes fit any. Raises ValueError, with what is told."""
    try:
        if one is not None and other is not None:
            equations.bind(one, other)
    except ValueError as error:
        raise ValueError(f"{told}: {error}") from None


def full_shape(shape: Sequence[Any], old: Sizes) -> Sizes:
    """`shape` with -1 replaced. Raises ValueError where `old` holds another number of elements."""
    total, known = math.prod(old), math.prod(n for n in shape if n != -1)
    full = tuple(total // known if n == -1 else n for n in shape)
    if math.prod(full) != total:
        raise ValueError(f"reshape: {Shape(old)} holds {total} numbers, which do not fit into {Shape(shape)}")
    return full


def reduced(f: Any, x: Sizes) -> Sizes:
    """The shape of a sum over the axes `f.dim` of an array of shape x; they stay as 1 with `f.keepdim`."""
    dims = ops.axes(f.dim, len(x))
    return tuple(1 if i in dims else n for i, n in enumerate(x) if f.keepdim or i not in dims)


def product(x: Sizes, y: Sizes, equations: Equations) -> Sizes:
    """The shape of x @ y, of matrices and stacks of them."""
    if len(x) < 2 or len(y) < 2:
        raise ValueError(f"matmul: needs matrices, not {Shape(x)} @ {Shape(y)}")
    try:
        equations.equate(x[-1], y[-2])
    except ValueError:
        raise ValueError(f"matmul: inner dimensions differ: {Shape(x)} @ {Shape(y)}") from None
    return (*broadcast(x[:-2], y[:-2], equations=equations), x[-2], y[-1])


def sliced(index: Sequence[Any], x: Sizes) -> Sizes:
    """What is left of `x`. Raises ValueError for a place, or an axis, that it does not have."""
    made: list[Any] = []
    if (named := sum(part is not None for part in index)) > len(x):
        raise ValueError(f"an index of {named} axes into {Shape(x)}")
    axes = iter(x)
    for part in index:
        if part is None:
            made.append(1)
        elif isinstance(part, slice):
            made.append(_length(part, next(axes)))
        elif not isinstance(part, int | np.integer | Dim):
            raise TypeError(f"an index holds integers and slices, not {part!r}")
        else:
            n = next(axes)
            if not isinstance(n, Dim) and not -n <= part < n:
                raise ValueError(f"index {part} is out of bounds for an axis of length {n} of {Shape(x)}")
    return (*made, *axes)


def selected(f: Any, x: Sizes, arrays: Sequence[Sizes], equations: Equations) -> Sizes:
    """What arrays of integers pick: their shape stands where the axes were, or first if these lie apart."""
    places = [i for i, taken in enumerate(f.layout) if taken]
    rest = [n for i, n in enumerate(x) if i not in places]
    start = places[0] if places[-1] - places[0] < len(places) else 0
    return (*rest[:start], *broadcast(*arrays, equations=equations), *rest[start:])


def _length(part: slice, n: Size) -> Size:
    if not isinstance(n, Dim) and not any(isinstance(end, Dim) for end in (part.start, part.stop)):
        return len(range(n)[part])
    step = part.step or 1
    low, high = (0, n) if step > 0 else (-1, n - 1)
    ends = [low, high] if step > 0 else [high, low]
    for i, end in enumerate((part.start, part.stop)):
        if end is not None:
            ends[i] = smaller(larger(end + n if not isinstance(end, Dim) and end < 0 else end, low), high)
    taken = (ends[1] - ends[0] + step - (1 if step > 0 else -1)) // step
    return taken if part.start is None or part.stop is None else larger(taken, 0)


def joined(f: Any, shapes: Sequence[Sizes], equations: Equations) -> Sizes:
    """The shape of arrays of these shapes, one behind the other along the axis `f.dim`."""
    made = list(shapes[0])
    for shape in shapes[1:]:
        if len(shape) != len(made):
            raise ValueError(f"concat: {' and '.join(str(Shape(s)) for s in shapes)} differ in their axes")
        made = [n + m if i == f.dim else equations.equate(n, m) for i, (n, m) in enumerate(zip(made, shape))]
    return tuple(made)


def reshaped(shape: Sequence[Any], old: Sizes) -> Sizes:
    """`full_shape`; where unknown sizes may fit, as N numbers into (-1, 2), it is the run that finds out."""
    total, known = math.prod(old), math.prod(n for n in shape if n != -1)
    full = tuple(total // known if n == -1 else n for n in shape)
    apart = total - math.prod(full)
    may_fit = isinstance(apart, Dim) and len({n > 0 for n in apart.terms.values()}) > 1
    return full if may_fit else full_shape(shape, old)


def concatenated(f: Any, shapes: Sequence[Sizes], equations: Equations) -> Sizes:
    try:
        return joined(f, shapes, equations)
    except ValueError as error:
        told = " and ".join(str(Shape(s)) for s in shapes)
        raise ValueError(f"concat: {told} do not fit along axis {f.dim}: {error}") from None


# By operation: (the operation, the shapes of its inputs, equations) -> the shape of its result. What stands
# in no line works on each number apart, and its inputs broadcast.
RULES: dict[type[Function], Callable[[Any, Sequence[Sizes], Equations], Sizes]] = {
    ops.MatMul: lambda f, s, e: product(s[0], s[1], e),
    ops.Reshape: lambda f, s, e: reshaped(f.to, s[0]),
    ops.Expand: lambda f, s, e: broadcast(s[0], f.to, equations=e),
    ops.Permute: lambda f, s, e: tuple(s[0][i] for i in f.dims),
    ops.Slice: lambda f, s, e: sliced(f.index, s[0]),
    ops.Select: lambda f, s, e: selected(f, s[0], s[1:], e),
    ops.Cat: concatenated,
    ops.Repeat: lambda f, s, e: tuple(
        n * k for n, k in zip((1,) * (len(f.sizes) - len(s[0])) + s[0], f.sizes)
    ),
    kinds.ShapeOf: lambda f, s, e: (len(s[0]),),
    kinds.CountOf: lambda f, s, e: (),
    kinds.SumLike: lambda f, s, e: s[1],
    kinds.ExpandLike: lambda f, s, e: s[1],
}
RULES |= dict.fromkeys(
    (ops.Sum, ops.LongSum, ops.Extreme, ops.ArgExtreme, ops.Truth), lambda f, s, e: reduced(f, s[0])
)
RULES |= dict.fromkeys((kinds.SumTo, kinds.Place, kinds.Scatter, kinds.Fill), lambda f, s, e: f.to)
RULES |= dict.fromkeys((ops.Flip, ops.Roll, ops.Triangle), lambda f, s, e: s[0])
KEEP_DTYPE = (
    ops.Reshape, ops.Expand, ops.Permute, ops.Slice, ops.Select, ops.Repeat, ops.Cat, ops.Flip, ops.Roll,
    ops.Triangle, kinds.SumLike, kinds.ExpandLike, kinds.SumTo, kinds.Place, kinds.Scatter, kinds.Identity,
)  # fmt: skip
# Also of inputs whose axes nobody knows.
ANY_RANK = (kinds.SumLike, kinds.ExpandLike, kinds.CountOf, kinds.SumTo)
ELEMENTWISE = (
    ops.Add, ops.Sub, ops.Mul, ops.Div, ops.Neg, ops.Pow, ops.Sqrt, ops.Exp, ops.Log, ops.Expm1, ops.Log1p,
    ops.Sin, ops.Cos, ops.Tanh, ops.Sigmoid, ops.ReLU, ops.Abs, ops.Clip, ops.Maximum, ops.Minimum, ops.Round,
    ops.FloorDivide, ops.Remainder, ops.Compare, ops.Invert, ops.Where, ops.Cast, ops.Clone, kinds.Identity,
    kinds.Stop,
)  # fmt: skip


def is_plain(kind: type[Function]) -> bool:
    """Whether forward and backward of such an operation can be read as nodes; others are taken whole."""
    return kind in RULES or kind in ELEMENTWISE


def shape_of(f: Function, shapes: Sequence[Sizes | None], equations: Equations) -> Shape | None:
    """The shape of the result, None where nobody knows. Raises ValueError where shapes do not fit."""
    if any(shape is None for shape in shapes) and not isinstance(f, ANY_RANK):
        if isinstance(f, ops.Sum) and f.dim is None and not f.keepdim:
            return Shape(())
        if type(f) not in ELEMENTWISE:
            raise ValueError(f"{f.name}: needs axes, and a placeholder came without a shape: give it one")
        return None
    rule = RULES.get(type(f))
    known: Any = shapes
    made = broadcast(*known, equations=equations) if rule is None else rule(f, known, equations)
    return None if made is None else Shape(made)


def dtype_of(f: Function, inputs: Sequence[Any]) -> tuple[Any, tuple[Any, ...]]:
    """The dtype of the result, and what forward would save: numbers of inputs, -1 for the result, or None.

    A stand-in runs it on arrays that hold one number each.
    """
    if isinstance(f, ops.Select) and any(x.dtype == bool for x in inputs[1:]):
        raise TypeError(f"{inputs[0].name}: how many places booleans pick only a run knows: use tf.where")
    if isinstance(f, KEEP_DTYPE):
        return inputs[0].dtype, ()
    ones = [np.ones((1,) * len(x.shape or ()), x.dtype) for x in inputs]
    f = copy.copy(f)
    vars(f).update(inputs=tuple(Leaf(x.shape, x.dtype, True) for x in ones), xp=np)
    if isinstance(f, ops.Reduction) and inputs[0].shape is None:
        ones = [np.ones(1, inputs[0].dtype)]
    with np.errstate(all="ignore"):
        out = f.forward(*ones)
    return out.dtype, tuple(_where(array, out, ones) for array in f.saved)


def _where(array: Array, out: Array, inputs: Sequence[Array]) -> int | None:
    for i, x in enumerate((*inputs, out)):
        if array is x:
            return i if i < len(inputs) else -1
    raise TypeError("a plain operation saves its inputs and its result only")


# Values that are given


def as_array(value: Any, dtype: Any = None) -> Array:
    """`value` as an array of numbers, itself where it fits. Raises TypeError for what is none."""
    array = np.asarray(value)
    if array.dtype.kind not in "bifu":
        raise TypeError(f"a node holds numbers or booleans, not {array.dtype} (from {type(value).__name__})")
    if dtype is None and not isinstance(value, np.ndarray | np.generic):
        short = np.float32 if array.dtype.kind == "f" else np.int32
        return array if array.dtype.kind in "bu" or _overflows(array, short) else array.astype(short)
    if dtype is None:
        return array
    if array.dtype.kind == "f" and np.dtype(dtype).kind in "iub":
        told = f"{array.dtype} of shape {array.shape} is no {np.dtype(dtype)}"
        raise TypeError(f"{told}: cast one of them with tf.cast")
    if _overflows(array, dtype):
        raise TypeError(f"a number in {shown(value)} is out of the bounds of {np.dtype(dtype)}")
    return array.astype(dtype, copy=False)


def _overflows(array: Array, dtype: Any) -> bool:
    """Whether integers are others as integers of this dtype."""
    whole = array.dtype.kind in "iu" and np.dtype(dtype).kind in "iu"
    return whole and not np.can_cast(array.dtype, dtype) and bool((array.astype(dtype) != array).any())


def shown(thing: Any) -> str:
    """What somebody gave, in so few words that a message stays one line."""
    return " ".join(repr(thing).split())[:60]


# Sizes and indices in which nodes may stand


def _is_node(x: Any) -> bool:
    return hasattr(x, "known_shape")  # the file of nodes needs this one, and is not known here


def sizes(shape: Any) -> tuple[Size, ...]:
    """A shape, in which nodes may stand: tf.shape(x), or a number taken out of it."""
    if _is_node(shape):
        shape = _known(shape).reshape(-1)
    return tuple(map(_as_size, shape if isinstance(shape, Sequence | np.ndarray) else (shape,)))


def _as_size(n: Any) -> Size:
    if _is_node(n):
        return _known(n).item()
    if n is None:
        raise TypeError("None is no length: use tf.shape(x)[i] for one that only a run knows")
    return n if isinstance(n, Dim) else n.__index__()


def _known(node: Any) -> Array:
    """The sizes that a node of integers will hold, as an array of Python's objects."""
    if isinstance(node.f, kinds.ShapeOf):
        return np.array([*node.inputs[0].lengths(), None], object)[:-1]
    if isinstance(node.f, kinds.Constant):
        return node.f.value.astype(object)
    if isinstance(node.f, kinds.Identity | ops.Cast):
        return _known(node.inputs[0])
    if isinstance(node.f, ops.Slice | ops.Cat | ops.Reshape | ops.Add | ops.Sub | ops.Mul | ops.FloorDivide):
        return np.array(copy.copy(node.f).forward(*map(_known, node.inputs)), object)
    raise TypeError(f"{node.name} is no size that is known while the program is written: use tf.shape(x)[i]")


def parted(index: Any, x: Any) -> tuple[tuple[Any, ...], tuple[bool, ...], list[Any]]:
    """x[index] as cuts, and then arrays, with a layout that says for each axis whether it has one."""
    parts = index if isinstance(index, tuple) else (index,)
    for i in [i for i, part in enumerate(parts) if part is Ellipsis][:1]:  # all axes that are not named
        named = sum(part is not None for part in parts) - 1
        parts = (*parts[:i], *[slice(None)] * (x.ndim - named), *parts[i + 1 :])
    if not any(isinstance(part, np.ndarray | list) or _is_node(part) for part in parts):
        return parts, (), []
    if any(part is None for part in parts):
        raise TypeError(f"{x.name}: an index of arrays holds integers and slices besides, and not None")
    layout = tuple(not isinstance(part, slice) for part in parts)
    cuts = tuple(slice(None) if taken else part for part, taken in zip(parts, layout))
    return cuts, layout, [part for part, taken in zip(parts, layout) if taken]


# Symbols among the attributes of operations


def unknown(name: str, shape: Sequence[Any]) -> tuple[Size, ...]:
    """A shape with a symbol in the place of each None. Raises ValueError for a length below 0."""
    if any(n is not None and n < 0 for n in shape):
        raise ValueError(f"{name}: no axis has the length of {list(shape)}: None takes any")
    return tuple(symbol(f"{name}_{i}") if n is None else n for i, n in enumerate(shape))


def has_sizes(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(has_sizes, value.values()))
    if isinstance(value, slice):
        return has_sizes((value.start, value.stop, value.step))
    return isinstance(value, Dim) or (isinstance(value, tuple | list) and any(map(has_sizes, value)))


def with_sizes(value: Any, known: Mapping[str, Any]) -> Any:
    """An attribute of an operation, with numbers in the place of its symbols."""
    if isinstance(value, dict):
        return {name: with_sizes(part, known) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return tuple(with_sizes(part, known) for part in value)
    if isinstance(value, slice):
        return slice(*(with_sizes(end, known) for end in (value.start, value.stop, value.step)))
    return at(value, known)


class Every(dict[Any, Any]):
    """One value for whatever is asked for."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def get(self, name: Any, default: Any = None) -> Any:
        return self.value
