"""The shape and the dtype of a node, told when it is made: before there are numbers.

Taught in chapters/09a_sessions.ipynb and solutions/09a_sessions.ipynb: what they export is edited there, then
`make promote`.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from minilib import operations as ops
from minilib.dims import Dim, Equations, Size, broadcast, larger, smaller
from minilib.engine import Array, Function
from minilib.graph import kinds
from minilib.graph.kinds import Leaf

Sizes = tuple[Any, ...]


class Length(int):
    """A length that is known. `x.shape[1].value` is how TensorFlow 1 asks for the number."""

    value = property(int)


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
    if (named := sum(part is not None and part is not Ellipsis for part in index)) > len(x):
        raise ValueError(f"an index of {named} axes into {Shape(x)}")
    axes = iter(x)
    for part in index:
        if part is None:
            made.append(1)
        elif part is Ellipsis:
            made += itertools.islice(axes, len(x) - named)
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
