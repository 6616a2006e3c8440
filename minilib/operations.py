"""The operations of tensors: each with its forward and its backward.

Taught in chapters/02a_arrays.ipynb and solutions/02a_arrays.ipynb: what they export is edited there, then
`make promote`.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Sequence
from types import EllipsisType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from minilib.engine import DEVICES, Array, Device, Function, Number, Shape, array_module
from minilib.sums import cumulative_sum, float_sum

__all__ = [
    "Abs", "Add", "ArgExtreme", "Cast", "Cat", "Clip", "Clone", "Compare", "Cos", "CumSum", "Dim", "Div",
    "Einsum", "Exp", "Expand", "Expm1", "Extreme", "Flip", "FloorDivide", "Invert", "Log", "Log1p",
    "LongSum", "MatMul", "Maximum", "Minimum", "Mul", "Neg", "Permute", "Pow", "ReLU", "Reduction",
    "Remainder", "Repeat", "Reshape", "Roll", "Round", "Select", "Sigmoid", "Sin", "Slice", "Sqrt", "Sub",
    "Sum", "TakeAlongDim", "Tanh", "TopIndices", "Triangle", "Truth", "Where", "Write", "add_at", "axes",
    "power",
]  # fmt: skip

# Arithmetic


class Add(Function):
    """x + y"""

    def forward(self, x: Array, y: Array) -> Array:
        return x + y

    def backward(self, grad: Array) -> tuple[Array, Array]:
        return grad, grad  # the same array twice: the engine never writes into what it gets


class Sub(Function):
    """x - y"""

    def forward(self, x: Array, y: Array) -> Array:
        return x - y

    def backward(self, grad: Array) -> tuple[Array, Array | None]:
        return grad, -grad if self.needs(1) else None  # y is often a constant: spare a negation


class Mul(Function):
    """x * y"""

    def forward(self, x: Array, y: Array) -> Array:
        self.saved = x if self.needs(1) else None, y if self.needs(0) else None  # only what backward reads
        return x * y

    def backward(self, grad: Array) -> tuple[Array | None, ...]:
        x, y = self.saved
        return None if y is None else grad * y, None if x is None else grad * x


class Div(Function):
    """x / y"""

    def forward(self, x: Array, y: Array) -> Array:
        out = x / y
        self.saved = y, out if self.needs(1) else None  # d(x/y)/dy = -x/y² = -out/y: x itself is not needed
        return out

    def backward(self, grad: Array) -> tuple[Array | None, Array | None]:
        y, out = self.saved
        dx = grad / y
        return dx, None if out is None else -dx * out


class Neg(Function):
    """-x"""

    def forward(self, x: Array) -> Array:
        return -x

    def backward(self, grad: Array) -> Array:
        return -grad


# Powers, exponentials and logarithms


class Pow(Function):
    """x ** y"""

    def forward(self, x: Array, y: Array) -> Array:
        out = power(x, y)
        self.saved = x, y, out if self.needs(1) else None
        return out

    def backward(self, grad: Array) -> tuple[Array | None, Array | None]:
        x, y, out = self.saved
        gx = gy = None
        if self.needs(0):
            # x ** 0 is 1 everywhere; 0 * 0 ** -1 would be nan.
            gx = grad * self.xp.where(y == 0, 0, y * power(x, y - 1)).astype(grad.dtype, copy=False)
        if out is not None:  # 0 ** y does not change with y > 0, though log(0) is minus infinity
            flat = (x == 0) & (y >= 0)
            gy = grad * self.xp.where(flat, 0, out * self.xp.log(self.xp.where(flat, 1, x)))
        return gx, gy


def power(x: Array, y: Array) -> Array:
    """x ** y. Products where the exponent is a small number: NumPy's general power is six times slower."""
    if y.ndim == 0 and x.dtype.kind == "f":
        exponent = y.item()
        if exponent == 1:  # a copy, so that a result never shares memory with its input
            return x.copy()
        if exponent == 2:
            return x * x
        if exponent == 3:
            return x * x * x
    return x**y


class Sqrt(Function):
    def forward(self, x: Array) -> Array:
        y = self.xp.sqrt(x)
        self.saved = (y,)  # the derivative is 1 / (2 y): the result says enough
        return y

    def backward(self, grad: Array) -> Array:
        (y,) = self.saved
        return grad / (2 * y)


class Exp(Function):
    """e ** x"""

    def forward(self, x: Array) -> Array:
        y = self.xp.exp(x)
        self.saved = (y,)  # the derivative of exp is exp
        return y

    def backward(self, grad: Array) -> Array:
        (y,) = self.saved
        return grad * y


class Log(Function):
    """The natural logarithm."""

    def forward(self, x: Array) -> Array:
        self.saved = (x,)
        return self.xp.log(x)

    def backward(self, grad: Array) -> Array:
        (x,) = self.saved
        return grad / x


class Expm1(Function):
    """e ** x - 1, with all digits where x is near 0."""

    def forward(self, x: Array) -> Array:
        y = self.xp.expm1(x)
        self.saved = (y,)
        return y

    def backward(self, grad: Array) -> Array:
        (y,) = self.saved
        return grad * (y + 1)  # e**x = y + 1


class Log1p(Function):
    """log(1 + x), with all digits where x is near 0."""

    def forward(self, x: Array) -> Array:
        self.saved = (x,)
        return self.xp.log1p(x)

    def backward(self, grad: Array) -> Array:
        (x,) = self.saved
        return grad / (x + 1)


# Trigonometric and hyperbolic functions


class Sin(Function):
    def forward(self, x: Array) -> Array:
        self.saved = (x,)
        return self.xp.sin(x)

    def backward(self, grad: Array) -> Array:
        (x,) = self.saved
        return grad * self.xp.cos(x)


class Cos(Function):
    def forward(self, x: Array) -> Array:
        self.saved = (x,)
        return self.xp.cos(x)

    def backward(self, grad: Array) -> Array:
        (x,) = self.saved
        return -grad * self.xp.sin(x)


class Tanh(Function):
    def forward(self, x: Array) -> Array:
        y = self.xp.tanh(x)
        self.saved = (y,)
        return y

    def backward(self, grad: Array) -> Array:
        (y,) = self.saved
        return grad * (1 - y * y)  # by the result: tanh is not worked out again


# Activations


class Sigmoid(Function):
    """1 / (1 + exp(-x))"""

    def forward(self, x: Array) -> Array:
        low = self.xp.exp(self.xp.minimum(x, 0))  # below 0 e**x / (e**x + 1): exp(-x) would overflow
        y = low / (low + self.xp.exp(-self.xp.maximum(x, 0)))  # one of the two exponentials is 1 for each x
        self.saved = (y,)
        return y

    def backward(self, grad: Array) -> Array:
        (y,) = self.saved
        return grad * (y * (1 - y))


class ReLU(Function):
    """max(x, 0); the derivative at 0 is 0, as in PyTorch."""

    def forward(self, x: Array) -> Array:
        y = self.xp.maximum(x, x.dtype.type(0))  # 0 of x's own dtype: the array stays float32
        self.saved = (y,)
        return y

    def backward(self, grad: Array) -> Array:
        (y,) = self.saved
        return grad * ~(y <= 0)  # not y > 0: a nan should not vanish


# Absolute values and bounds


class Abs(Function):
    def forward(self, x: Array) -> Array:
        self.saved = (x,)
        return abs(x)

    def backward(self, grad: Array) -> Array:
        (x,) = self.saved
        return grad * self.xp.where(x == x, self.xp.sign(x), 0)  # 0 at nan too, as in PyTorch


class Clip(Function):
    """x held between two numbers; outside of them the gradient is 0."""

    def __init__(self, low: Number | None, high: Number | None) -> None:
        self.low, self.high = low, high

    def forward(self, x: Array) -> Array:
        self.saved = (x,)
        return self.xp.clip(x, self.low, self.high)

    def backward(self, grad: Array) -> Array:
        (x,) = self.saved
        if self.low is not None:
            grad = grad * (x >= self.low)  # at the bound itself the gradient passes, as in PyTorch
        return grad if self.high is None else grad * (x <= self.high)


class Maximum(Function):
    """The larger of x and y; where they are equal each gets half of the gradient."""

    def forward(self, x: Array, y: Array) -> Array:
        self.saved = x, y
        return self.xp.maximum(x, y)

    def backward(self, grad: Array) -> tuple[Array, Array]:
        return _share(grad, *self.saved)


class Minimum(Function):
    """The smaller of x and y; where they are equal each gets half of the gradient."""

    def forward(self, x: Array, y: Array) -> Array:
        self.saved = x, y
        return self.xp.minimum(x, y)

    def backward(self, grad: Array) -> tuple[Array, Array]:
        x, y = self.saved
        return _share(grad, y, x)


def _share(grad: Array, x: Array, y: Array) -> tuple[Array, Array]:
    """The gradients where x > y goes to the first; of nan and a number both get it, as in PyTorch."""
    xp, zero = array_module(grad), grad.dtype.type(0)
    grad = xp.where(x == y, grad * grad.dtype.type(0.5), grad)  # half each where they are equal
    return xp.where(x < y, zero, grad), xp.where(x > y, zero, grad)


# Rounding and remainders


class Round(Function):
    """The next whole number above or below; its gradient is 0."""

    def __init__(self, up: bool) -> None:
        self.up = up

    def forward(self, x: Array) -> Array:
        if x.dtype.kind != "f":
            return x.copy()  # integers are whole already
        return self.xp.ceil(x) if self.up else self.xp.floor(x)

    def backward(self, grad: Array) -> Array:
        return self.xp.zeros_like(grad)  # a staircase is flat wherever it has a derivative


class FloorDivide(Function):
    """x / y rounded down. As in PyTorch it has no backward."""

    def forward(self, x: Array, y: Array) -> Array:
        _refuse_zero(y)
        return x // y


class Remainder(Function):
    """x - (x // y) * y: what is left of x, with the sign of y."""

    def forward(self, x: Array, y: Array) -> Array:
        _refuse_zero(y)
        self.saved = (x, y) if self.needs(1) else ()
        return x % y

    def backward(self, grad: Array) -> tuple[Array, Array | None]:
        if not self.saved:
            return grad, None
        x, y = self.saved
        return grad, -grad * (x // y)  # x % y = x - (x // y) y, with x // y constant between steps


def _refuse_zero(y: Array) -> None:
    """Raise where integers would be divided by 0; floats give inf or nan."""
    if y.dtype.kind != "f" and not y.all():
        raise RuntimeError("integers cannot be divided by 0: use floats, where the result is inf or nan")


# Comparisons and logic


_COMPARE = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge, "&": operator.and_, "|": operator.or_, "^": operator.xor,
}  # fmt: skip


class Compare(Function):
    """A comparison of two tensors, or a logical operation on them; its result has no gradient."""

    requires_grad = False

    def __init__(self, sign: str) -> None:
        self.sign = sign

    def forward(self, x: Array, y: Array) -> Array:
        return _COMPARE[self.sign](x, y)


class Invert(Function):
    """~x of booleans or integers."""

    requires_grad = False

    def forward(self, x: Array) -> Array:
        return ~x


# Choices by a mask


class Where(Function):
    """x where the condition holds, y elsewhere."""

    def forward(self, condition: Array, x: Array, y: Array) -> Array:
        self.saved = (condition,)
        return self.xp.where(condition, x, y)

    def backward(self, grad: Array) -> tuple[None, Array, Array]:
        (condition,) = self.saved
        zero = grad.dtype.type(0)
        return None, self.xp.where(condition, grad, zero), self.xp.where(condition, zero, grad)


# Sums and means


Dim: TypeAlias = int | tuple[int, ...] | None


def axes(dim: Dim, ndim: int, name: str = "dim") -> tuple[int, ...]:
    """`dim` as a tuple of axes from 0 to ndim - 1; None and () are all of them, as in PyTorch's sums."""
    if dim is None or (isinstance(dim, tuple | list) and not dim):
        return tuple(range(ndim))
    listed = dim if isinstance(dim, tuple | list) else (dim,)
    dims = listed if type(dim) is int else [_whole(d, name) for d in listed]  # an int is the common case
    low, high = (-ndim, ndim - 1) if ndim else (-1, 0)  # a tensor without axes takes 0 and -1, as in PyTorch
    for d in dims:
        if not low <= d <= high:
            raise IndexError(f"{name}={d} is out of range: a tensor of {ndim} axes has {low} to {high}")
    found = tuple(d % ndim for d in dims) if ndim else ()
    if len(set(found)) < len(found):
        raise RuntimeError(f"{name}={dim} names an axis twice")
    return found


def _whole(number: Any, name: str) -> int:
    """An axis as an int. Raises TypeError for anything but an integer, booleans too."""
    if isinstance(number, bool | np.bool_):
        raise TypeError(f"{name} is an axis, not {number}: did you mean keepdim={number}?")
    return operator.index(number)


class Reduction(Function):
    """One number for all numbers along some axes."""

    def __init__(self, dim: Dim = None, keepdim: bool = False) -> None:
        self.dim, self.keepdim = dim, keepdim

    def keep(self, array: Array) -> Array:
        """A result of the reduction with its lost axes back, of length 1: it broadcasts against the input."""
        shape = self.inputs[0].shape
        dims = axes(self.dim, len(shape))
        return array.reshape([1 if i in dims else n for i, n in enumerate(shape)])


class Sum(Reduction):
    """The sum along some axes; of integers and booleans in int64."""

    def forward(self, x: Array) -> Array:
        dtype = x.dtype if x.dtype.kind == "f" else np.int64  # on Windows NumPy's own choice may be 32 bits
        return x.sum(axis=axes(self.dim, x.ndim), dtype=dtype, keepdims=self.keepdim)

    def backward(self, grad: Array) -> Array:
        return self.xp.broadcast_to(self.keep(grad), self.inputs[0].shape)  # a view: each input counts once


class LongSum(Sum):
    """The same of many floats, or of float16: added up so that the last digits stay."""

    name = "Sum"

    def forward(self, x: Array) -> Array:
        return float_sum(x, axes(self.dim, x.ndim), self.keepdim)


class CumSum(Function):
    """Running sums along one axis."""

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def forward(self, x: Array) -> Array:
        (dim,) = axes(self.dim, x.ndim) or (None,)  # no axes: one number, its own sum
        return cumulative_sum(x, dim).reshape(x.shape)

    def backward(self, grad: Array) -> Array:
        if not grad.ndim:
            return grad
        # x[i] is in all sums from i on, so its gradient is a running sum from the end.
        return self.xp.flip(cumulative_sum(self.xp.flip(grad, self.dim), self.dim), self.dim)


# Extremes, all and any


class Extreme(Reduction):
    """The largest (or smallest) number along some axes; equal ones share the gradient."""

    def __init__(self, largest: bool, dim: Dim = None, keepdim: bool = False) -> None:
        super().__init__(dim, keepdim)
        self.largest = largest

    def forward(self, x: Array) -> Array:
        reduce = x.max if self.largest else x.min
        y = reduce(axis=axes(self.dim, x.ndim), keepdims=self.keepdim)
        self.saved = x, y
        return y

    def backward(self, grad: Array) -> Array:
        x, y = self.saved
        winners = x == self.keep(y)  # all that are as large as the largest
        count = winners.sum(axis=axes(self.dim, x.ndim), dtype=grad.dtype, keepdims=True)
        return winners * (self.keep(grad) / count)  # shared evenly, as in PyTorch's amax


class ArgExtreme(Reduction):
    """The index of the first largest (or smallest) number along one axis, or among all numbers."""

    requires_grad = False

    def __init__(self, largest: bool, dim: int | None = None, keepdim: bool = False) -> None:
        super().__init__(dim, keepdim)
        self.largest = largest

    def forward(self, x: Array) -> Array:
        find = x.argmax if self.largest else x.argmin
        (dim,) = (axes(self.dim, x.ndim) or (None,)) if self.dim is not None else (None,)
        index = find(axis=dim, keepdims=self.keepdim)
        return self.xp.asarray(index, np.int64)


class TopIndices(Function):
    """The indices of the k largest (or smallest) numbers along an axis, the first of all first."""

    requires_grad = False

    def __init__(self, k: int, largest: bool, dim: int) -> None:
        self.k, self.largest, self.dim = k, largest, dim

    def forward(self, x: Array) -> Array:
        # Partition is faster, but not ordered and not stable.
        order = self.xp.argsort(x, axis=self.dim, kind="stable")
        if self.largest:
            order = self.xp.flip(order, self.dim)  # the last is the largest
        return order[(*(slice(None),) * self.dim, slice(self.k))].astype(np.int64)


class Truth(Reduction):
    """Whether all (or any) numbers along some axes are true."""

    requires_grad = False

    def __init__(self, every: bool, dim: Dim = None, keepdim: bool = False) -> None:
        super().__init__(dim, keepdim)
        self.every = every

    def forward(self, x: Array) -> Array:
        reduce = x.all if self.every else x.any
        return reduce(axis=axes(self.dim, x.ndim), keepdims=self.keepdim)


# Shapes


class Reshape(Function):
    """The same numbers in the same order under another shape."""

    view = True

    def __init__(self, shape: Shape) -> None:
        self.to = shape

    def forward(self, x: Array) -> Array:
        return x.reshape(self.to)

    def backward(self, grad: Array) -> Array:
        return grad.reshape(self.inputs[0].shape)


class Expand(Function):
    """Axes of length 1 repeated, without a copy: their stride is 0."""

    view = True

    def __init__(self, shape: Shape) -> None:
        self.to = shape

    def forward(self, x: Array) -> Array:
        return self.xp.broadcast_to(x, self.to)

    def backward(self, grad: Array) -> Array:
        return grad  # the engine sums it back to the shape of the input


# Order of axes


class Permute(Function):
    """The axes in another order."""

    view = True

    def __init__(self, dims: tuple[int, ...]) -> None:
        self.dims = dims

    def forward(self, x: Array) -> Array:
        return x.transpose(self.dims)

    def backward(self, grad: Array) -> Array:
        inverse = sorted(range(len(self.dims)), key=self.dims.__getitem__)  # an argsort undoes a permutation
        return grad.transpose(inverse)


class Flip(Function):
    """The numbers along some axes in reverse order."""

    def __init__(self, dims: tuple[int, ...]) -> None:
        self.dims = dims

    def forward(self, x: Array) -> Array:
        # PyTorch's flip copies as well; a view would have negative strides.
        return self.xp.flip(x, self.dims).copy()

    def backward(self, grad: Array) -> Array:
        return self.xp.flip(grad, self.dims)


class Roll(Function):
    """The numbers moved along some axes; what falls off at the end comes in at the front."""

    def __init__(self, shifts: tuple[int, ...], dims: tuple[int, ...]) -> None:
        self.shifts, self.dims = shifts, dims

    def forward(self, x: Array) -> Array:
        return self.xp.roll(x, self.shifts, self.dims)

    def backward(self, grad: Array) -> Array:
        return self.xp.roll(grad, tuple(-n for n in self.shifts), self.dims)  # back by as much


# Triangles and copies


class Triangle(Function):
    """The lower (or upper) triangle of matrices, zeros elsewhere."""

    def __init__(self, lower: bool, diagonal: int) -> None:
        self.lower, self.diagonal = lower, diagonal

    def forward(self, x: Array) -> Array:
        if x.ndim < 2:
            raise RuntimeError(f"tril and triu need matrices, not shape {x.shape}")
        cut = self.xp.tril if self.lower else self.xp.triu
        return cut(x, self.diagonal)

    def backward(self, grad: Array) -> Array:
        return self.forward(grad)  # what was cut off gets no gradient


class Clone(Function):
    """A copy."""

    def forward(self, x: Array) -> Array:
        return x.copy()

    def backward(self, grad: Array) -> Array:
        return grad  # the engine writes into no gradient that it has not made, so no copy


class Repeat(Function):
    """The whole tensor several times along each axis; new axes come first."""

    def __init__(self, sizes: tuple[int, ...]) -> None:
        self.sizes = sizes

    def forward(self, x: Array) -> Array:
        return self.xp.tile(x, self.sizes)

    def backward(self, grad: Array) -> Array:
        shape = self.inputs[0].shape
        own = (1,) * (len(self.sizes) - len(shape)) + shape
        # (times, length) for each axis.
        pairs = grad.reshape([n for pair in zip(self.sizes, own) for n in pair])
        return pairs.sum(axis=tuple(range(0, pairs.ndim, 2))).reshape(shape)  # over all the times


# Indexing


class Slice(Function):
    """x[index] where the index holds integers, slices, None and `...` only: a view."""

    view = True

    def __init__(self, index: tuple[int | slice | EllipsisType | None, ...]) -> None:
        self.index = index

    def forward(self, x: Array) -> Array:
        return x[(*self.index, ...)]  # `...`: of an integer for each axis NumPy would make a copy

    def backward(self, grad: Array) -> Array:
        out = self.xp.zeros(self.inputs[0].shape, grad.dtype)
        out[self.index] = grad  # = and not +=: a slice takes no place twice
        return out


class Select(Function):
    """x[index] where the index holds arrays of integers or booleans: a copy.

    `layout` says for each part of the index whether it is the next array or a whole axis.
    """

    def __init__(self, layout: tuple[bool, ...]) -> None:
        self.layout = layout

    def forward(self, x: Array, *arrays: Array) -> Array:
        self.saved = arrays
        return x[fill(self.layout, arrays)]

    def backward(self, grad: Array) -> Array:
        key = fill(self.layout, self.saved)
        return add_at(self.inputs[0].shape, lambda x: x[key], grad)


def fill(layout: tuple[bool, ...], arrays: Sequence[Array]) -> tuple[Any, ...]:
    """An index: the next array where `layout` is true, a whole axis elsewhere."""
    left = iter(arrays)
    return tuple(next(left) if taken else slice(None) for taken in layout)


class TakeAlongDim(Function):
    """x's numbers at the indices along one axis; the other axes go in step."""

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def forward(self, x: Array, index: Array) -> Array:
        self.saved = (index,)
        return self.xp.take_along_axis(x, index, self.dim)

    def backward(self, grad: Array) -> Array:
        (index,) = self.saved
        return add_at(self.inputs[0].shape, lambda x: self.xp.take_along_axis(x, index, self.dim), grad)


def add_at(shape: Shape, pick: Callable[[Array], Array], grad: Array) -> Array:
    """Zeros of `shape`, to which each number of `grad` is added where `pick` would have taken it from.

    Where `pick` takes a number twice, both shares add up. `np.add.at` does this too, several times slower.
    """
    xp = array_module(grad)
    size = math.prod(shape)
    where = pick(xp.arange(size).reshape(shape))  # pick from the places instead of the numbers
    total = xp.bincount(where.reshape(-1), grad.reshape(-1), minlength=size)  # in float64, cast back below
    return total.astype(grad.dtype).reshape(shape)


# Joining and splitting


class Cat(Function):
    """Arrays one after the other along an axis."""

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def forward(self, *arrays: Array) -> Array:
        return self.xp.concatenate(arrays, self.dim)

    def backward(self, grad: Array) -> tuple[Array, ...]:
        ends = list(itertools.accumulate(node.shape[self.dim] for node in self.inputs))
        return tuple(self.xp.split(grad, ends[:-1], self.dim))


# The matrix product


class MatMul(Function):
    """x @ y of matrices, the leading axes broadcast: (..., n, k) @ (..., k, m) is (..., n, m)."""

    def forward(self, x: Array, y: Array) -> Array:
        self.saved = x if self.needs(1) else None, y if self.needs(0) else None
        return x @ y  # the gradients below have the shapes of x and y by the rule of shapes alone

    def backward(self, grad: Array) -> tuple[Array | None, Array | None]:
        x, y = self.saved
        gx = None if y is None else grad @ y.swapaxes(-1, -2)  # (..., n, m) @ (..., m, k) is (..., n, k)
        gy = None if x is None else x.swapaxes(-1, -2) @ grad  # (..., k, n) @ (..., n, m) is (..., k, m)
        return gx, gy


class Einsum(Function):
    """Products, summed over the letters that the output lacks: "ij,jk->ik" is the matrix product."""

    def __init__(self, terms: Sequence[str], output: str) -> None:
        self.terms, self.output = terms, output

    def forward(self, *arrays: Array) -> Array:
        self.saved = arrays
        return self.xp.einsum(f"{','.join(self.terms)}->{self.output}", *arrays, optimize=True)

    def backward(self, grad: Array) -> tuple[Array | None, ...]:
        return tuple(self.grad_input(i, grad) if self.needs(i) else None for i in range(len(self.terms)))

    def grad_input(self, i: int, grad: Array) -> Array:
        """The gradient of operand i: what comes back, times the others; a letter of its own is repeated."""
        others = [term for j, term in enumerate(self.terms) if j != i]
        arrays = [array for j, array in enumerate(self.saved) if j != i]
        known = "".join(c for c in self.terms[i] if c in self.output or any(c in term for term in others))
        equation = f"{','.join([self.output, *others])}->{known}"
        dx = self.xp.einsum(equation, grad, *arrays, optimize=True)
        sizes = dict(zip(known, dx.shape))
        dx = dx.reshape([sizes.get(c, 1) for c in self.terms[i]])
        whole = [sizes.get(c, n) for c, n in zip(self.terms[i], self.saved[i].shape)]
        return self.xp.broadcast_to(dx, whole)


# Casts


class Cast(Function):
    """The same numbers in another dtype."""

    def __init__(self, dtype: DTypeLike) -> None:
        self.to = np.dtype(dtype)
        if self.to.kind != "f":
            self.requires_grad = False

    def forward(self, x: Array) -> Array:
        return x.astype(self.to)

    def backward(self, grad: Array) -> Array:
        return grad  # the engine casts it back


class Transfer(Function):
    """The same numbers on another device; the gradient comes back to where they were."""

    def __init__(self, device: Device) -> None:
        self.here = self.there = device

    def forward(self, x: Array) -> Array:
        self.here = DEVICES[type(x)]
        return self.there.from_numpy(self.here.to_numpy(x))

    def backward(self, grad: Array) -> Array:
        return self.here.from_numpy(self.there.to_numpy(grad))


# Writing in place


class Write(Function):
    """x with `value` in the place of x[index]; `x[index] = value` writes it into x itself.

    With a `path` of views, in the place of [index] in the view of x that they make.
    """

    def __init__(
        self, basic: tuple[Any, ...], layout: tuple[bool, ...] = (), path: tuple[Function, ...] = ()
    ) -> None:
        self.basic, self.layout, self.path = basic, layout, path

    def place(self, x: Array, arrays: Sequence[Array]) -> tuple[Array, Any]:
        """The array and the index in it to write to; with arrays in the index, a view of x comes first."""
        for f in self.path:
            x = f.forward(x)
        return (x[(*self.basic, ...)], fill(self.layout, arrays)) if self.layout else (x, self.basic)

    def forward(self, x: Array, value: Array, *arrays: Array) -> Array:
        self.saved = arrays
        self.order = sorted(range(x.ndim), key=lambda i: -abs(x.strides[i]))  # of the axes, in memory
        target, key = self.place(x, arrays)
        target[key] = value
        return x

    def backward(self, grad: Array) -> tuple[Array, Array]:
        back = sorted(range(grad.ndim), key=self.order.__getitem__)  # a copy, laid out as x: views are views
        rest = self.xp.asarray(grad).transpose(self.order).copy().transpose(back)
        target, key = self.place(rest, self.saved)
        dvalue = target[key].copy()
        target[key] = 0  # what was overwritten has no influence any more
        return rest, dvalue
