"""Arrays that know their gradient.

Taught in chapters/02b_engine.ipynb and solutions/02b_engine.ipynb: what they export is edited there, then
`make promote`.
"""

from __future__ import annotations

import itertools
import math
import weakref
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from minilib.engine import (  # isort: skip
    DEVICES, TENSORS, Array, Function, Node, Number, Origin, Shape, _writes, device_named,
    first_gradient, owner_of, propagate, refuse_write, renew, take_over, wrote,
)  # fmt: skip
from minilib.operations import (  # isort: skip
    Abs, Add, ArgExtreme, Cast, Clone, Compare, Cos, CumSum, Dim, Div, Exp, Expand, Expm1, Extreme,
    Flip, FloorDivide, Invert, Log, Log1p, LongSum, Maximum, Minimum, Mul, Neg, Permute, Pow, ReLU, Remainder,
    Repeat, Reshape, Round, Select, Sigmoid, Sin, Slice, Sqrt, Sub, Sum, TakeAlongDim, Tanh, Transfer,
    Triangle, Truth, Where, Write, axes,
)  # fmt: skip
from minilib.sums import SHORT
from minilib.tensor.applying import _plain, _write, apply, matmul, weak

from minilib.tensor.composed import (  # isort: skip
    best, clipped, flattened, largest_of, length, root, rolled, variance, viewed,
)  # fmt: skip
from minilib.tensor.hooks import RemovableHandle
from minilib.tensor.outside import as_numpy, numpy_operation, shown
from minilib.tensor.random import Generator, _float_type, default_generator

from minilib.tensor.rules import (  # isort: skip
    Best, Index, _axis, _floating, _sizes, all_slices, expanded, filling, flag, full_shape, gather_axis,
    part_sizes, permutation, refuse_dtype, refuse_gradient, refuse_misfit, refuse_requiring, repeats,
    result_type, split_index, target_of,
)  # fmt: skip

__all__ = ["Float", "Tensor", "as_array", "binary"]  # fmt: skip

Float: TypeAlias = float  # inside Tensor, `float` is a method


# The tensor


class Tensor:
    """An array that remembers the operation that made it.

    `data` is the array, shared and not copied (`tensor(...)` copies). `grad` is a Tensor or None.
    `function` is the operation, None for a leaf.
    """

    __slots__ = ("__weakref__", "_function", "_grad", "_requires_grad", "data", "hooks", "origin")

    data: Array
    hooks: list[Callable[[Tensor], Tensor | None]] | None
    origin: Origin | None  # of a view
    _function: Function | None
    _grad: Tensor | None
    _requires_grad: bool

    # What it holds

    def __init__(self, data: Any, dtype: DTypeLike | None = None, requires_grad: bool = False) -> None:
        self.data = as_array(data, dtype)
        self._grad = self._function = self.hooks = self.origin = None  # a leaf: nothing has made it
        self._requires_grad = False
        if requires_grad:
            self.requires_grad_()

    @property
    def function(self) -> Function | None:
        """The operation that made it; None for a leaf."""
        if self.origin is not None:
            renew(self, self.origin)
        return self._function

    @function.setter
    def function(self, function: Function | None) -> None:
        self._function = function

    @property
    def requires_grad(self) -> bool:
        """Whether backward computes its gradient. It can be set on leaves of floating-point numbers."""
        if self.origin is not None:
            renew(self, self.origin)
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, requires_grad: bool) -> None:
        if not isinstance(requires_grad, bool):
            raise RuntimeError(f"requires_grad: needs True or False, not {requires_grad!r}")
        self.requires_grad_(requires_grad)

    @property
    def grad(self) -> Tensor | None:
        """The gradient accumulated by `backward` so far."""
        return self._grad

    @grad.setter
    def grad(self, grad: Tensor | None) -> None:
        if grad is not None:
            refuse_gradient(self, grad)
        self._grad = grad

    @property
    def shape(self) -> Shape:
        return self.data.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.data.dtype

    @property
    def ndim(self) -> int:
        return len(self.data.shape)

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the length of one axis."""
        return self.shape if dim is None else self.shape[dim]

    def dim(self) -> int:
        return self.ndim

    def numel(self) -> int:
        """The number of elements."""
        return int(self.data.size)

    def stride(self) -> Shape:
        """How many numbers further in memory the next one along each axis is; 0 where an axis is expanded."""
        return tuple(step // self.data.dtype.itemsize for step in self.data.strides)

    def is_contiguous(self) -> bool:
        """Whether the numbers lie in memory one after the other, in the order of the axes."""
        return bool(self.data.flags.c_contiguous)

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("a tensor without axes has no length")
        return int(self.shape[0])

    def numpy(self) -> Array:
        """The array itself, shared: what is written to it, no check of `backward` sees."""
        if self.device != "cpu":
            raise TypeError(f"the tensor is on {self.device}: use .cpu().numpy()")
        return self.data

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        """For `np.asarray(x)`: as `numpy()`, also where PyTorch wants a `detach()` first."""
        return as_numpy(self, dtype, copy)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """`array -= tensor` changes the array, past any history: `x.data -= 0.1 * x.grad`.

        `array - tensor` is refused, since either kind could be meant; NumPy's numbers count as Python's.
        """
        return numpy_operation(ufunc, method, inputs, options)

    def __repr__(self) -> str:
        return shown(self)

    # As Python numbers

    def item(self) -> Number:
        """The one number of a tensor with one element, as a Python number."""
        if self.data.size != 1:
            raise RuntimeError(f"item: a tensor of shape {self.shape} has {self.data.size} numbers, not one")
        return self.data.item()

    def tolist(self) -> Any:
        """The numbers as nested lists of Python numbers."""
        return self.data.tolist()

    def __format__(self, spec: str) -> str:
        """A tensor without axes as its number: f"{loss:.3f}"."""
        return object.__format__(self, spec) if self.ndim else format(self.item(), spec)

    def __bool__(self) -> bool:
        if self.data.size != 1:
            raise RuntimeError(
                f"the truth of a tensor of shape {self.shape} is not clear: use .all() or .any()"
            )
        return bool(self.item())

    def __float__(self) -> Float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if self.dtype.kind not in "iub" or self.data.size != 1:
            raise TypeError(f"only one integer can be an index, not {self.dtype} of shape {self.shape}")
        return int(self.item())

    # Arithmetic

    def __add__(self, other: Tensor | Number) -> Tensor:
        return binary(Add(), self, other)

    def __radd__(self, other: Number) -> Tensor:
        return binary(Add(), self, other, reflected=True)

    def __sub__(self, other: Tensor | Number) -> Tensor:
        return binary(Sub(), self, other)

    def __rsub__(self, other: Number) -> Tensor:
        return binary(Sub(), self, other, reflected=True)

    def __mul__(self, other: Tensor | Number) -> Tensor:
        return binary(Mul(), self, other)

    def __rmul__(self, other: Number) -> Tensor:
        return binary(Mul(), self, other, reflected=True)

    def __truediv__(self, other: Tensor | Number) -> Tensor:
        keeps = isinstance(other, Tensor) and other.dtype.kind == "f"  # then promotion makes us a float
        return binary(Div(), self if keeps else _floating(self), other)

    def __rtruediv__(self, other: Number) -> Tensor:
        return binary(Div(), _floating(self), other, reflected=True)

    def __neg__(self) -> Tensor:
        return apply(Neg(), self)

    # Powers, exponentials and logarithms

    def __pow__(self, other: Tensor | Number) -> Tensor:
        return binary(Pow(), self, other)

    def __rpow__(self, other: Number) -> Tensor:
        return binary(Pow(), self, other, reflected=True)

    def pow(self, exponent: Tensor | Number) -> Tensor:
        """x ** exponent. Raises RuntimeError for whole numbers to a negative power: cast first."""
        return self**exponent

    def square(self) -> Tensor:
        return self**2

    def sqrt(self) -> Tensor:
        return apply(Sqrt(), _floating(self))

    def rsqrt(self) -> Tensor:
        return 1 / self.sqrt()

    def exp(self) -> Tensor:
        return apply(Exp(), _floating(self))

    def log(self) -> Tensor:
        return apply(Log(), _floating(self))

    def expm1(self) -> Tensor:
        """e ** x - 1, with all digits where x is near 0."""
        return apply(Expm1(), _floating(self))

    def log1p(self) -> Tensor:
        """log(1 + x), with all digits where x is near 0."""
        return apply(Log1p(), _floating(self))

    # Trigonometric and hyperbolic functions

    def sin(self) -> Tensor:
        return apply(Sin(), _floating(self))

    def cos(self) -> Tensor:
        return apply(Cos(), _floating(self))

    def tanh(self) -> Tensor:
        return apply(Tanh(), _floating(self))

    # Activations

    def sigmoid(self) -> Tensor:
        return apply(Sigmoid(), _floating(self))

    def relu(self) -> Tensor:
        return apply(ReLU(), self)

    def softmax(self, dim: int) -> Tensor:
        """exp(x) over their sum along `dim`: positive numbers that add up to 1. As `functional.softmax`."""
        # By name: it imports this file, and a learner's box that asks for it leaves it out.
        return import_module("minilib.functional.activations").softmax(self, dim)

    def log_softmax(self, dim: int) -> Tensor:
        """log(softmax(x)) along `dim`, without the overflow and the log of 0. As `functional.log_softmax`."""
        return import_module("minilib.functional.activations").log_softmax(self, dim)

    # Absolute values and bounds

    def abs(self) -> Tensor:
        return apply(Abs(), self)

    def __abs__(self) -> Tensor:
        return self.abs()

    def clip(self, min: Tensor | Number | None = None, max: Tensor | Number | None = None) -> Tensor:
        """Numbers below `min` become `min`, above `max` they become `max`; PyTorch's clamp."""
        return clipped(self, min, max)

    def clamp(self, min: Tensor | Number | None = None, max: Tensor | Number | None = None) -> Tensor:
        return self.clip(min, max)

    # Rounding and remainders

    def floor(self) -> Tensor:
        """The next whole number below; its gradient is 0."""
        return apply(Round(up=False), self)

    def ceil(self) -> Tensor:
        """The next whole number above; its gradient is 0."""
        return apply(Round(up=True), self)

    def __floordiv__(self, other: Tensor | Number) -> Tensor:
        return binary(FloorDivide(), self, other)

    def __rfloordiv__(self, other: Number) -> Tensor:
        return binary(FloorDivide(), self, other, reflected=True)

    def __mod__(self, other: Tensor | Number) -> Tensor:
        return binary(Remainder(), self, other)

    def __rmod__(self, other: Number) -> Tensor:
        return binary(Remainder(), self, other, reflected=True)

    # Comparisons and logic

    def __eq__(self, other: object) -> Tensor:  # type: ignore[override]
        return binary(Compare("=="), self, other)  # type: ignore[arg-type]

    def __ne__(self, other: object) -> Tensor:  # type: ignore[override]
        return binary(Compare("!="), self, other)  # type: ignore[arg-type]

    def __lt__(self, other: Tensor | Number) -> Tensor:
        return binary(Compare("<"), self, other)

    def __le__(self, other: Tensor | Number) -> Tensor:
        return binary(Compare("<="), self, other)

    def __gt__(self, other: Tensor | Number) -> Tensor:
        return binary(Compare(">"), self, other)

    def __ge__(self, other: Tensor | Number) -> Tensor:
        return binary(Compare(">="), self, other)

    def eq(self, other: Tensor | Number) -> Tensor:
        return self == other

    def ne(self, other: Tensor | Number) -> Tensor:
        return self != other

    def lt(self, other: Tensor | Number) -> Tensor:
        return self < other

    def le(self, other: Tensor | Number) -> Tensor:
        return self <= other

    def gt(self, other: Tensor | Number) -> Tensor:
        return self > other

    def ge(self, other: Tensor | Number) -> Tensor:
        return self >= other

    def __and__(self, other: Tensor | Number) -> Tensor:
        return binary(Compare("&"), self, other)

    def __rand__(self, other: Number) -> Tensor:
        return binary(Compare("&"), self, other, reflected=True)

    def __or__(self, other: Tensor | Number) -> Tensor:
        return binary(Compare("|"), self, other)

    def __ror__(self, other: Number) -> Tensor:
        return binary(Compare("|"), self, other, reflected=True)

    def __xor__(self, other: Tensor | Number) -> Tensor:
        return binary(Compare("^"), self, other)

    def __rxor__(self, other: Number) -> Tensor:
        return binary(Compare("^"), self, other, reflected=True)

    def __invert__(self) -> Tensor:
        return apply(Invert(), self)

    def __hash__(self) -> int:
        return id(self)  # `==` compares numbers; a tensor in a set or dict is found by what it is

    def __contains__(self, number: Number) -> bool:
        return bool((self == number).any())

    # Choices by a mask

    def masked_fill(self, mask: Tensor, value: Tensor | Number) -> Tensor:
        """A copy with `value`, in the dtype of the tensor, where `mask` (booleans, broadcast) is true.

        The value is a number, or a tensor without axes, to which its gradient flows.
        """
        if mask.dtype != bool:
            raise RuntimeError(f"masked_fill: the mask must hold booleans, not {mask.dtype}")
        if isinstance(value, Tensor) and value.ndim:
            raise RuntimeError(f"masked_fill: the value must be one number without axes, not {value.shape}")
        return apply(Where(), mask, filling(value, self), self)

    # Sums and means

    def sum(self, dim: Dim = None, keepdim: bool = False) -> Tensor:
        """The sum along `dim` (None: all axes), which become 1 long with `keepdim` and vanish without."""
        many = self.dtype.kind == "f" and (self.data.size > SHORT or self.dtype == np.float16)
        return apply((LongSum if many else Sum)(dim, flag(keepdim)), self)

    def mean(self, dim: Dim = None, keepdim: bool = False) -> Tensor:
        """The mean along `dim`. Raises RuntimeError for integers: `.float()` first."""
        if self.dtype.kind != "f":
            raise RuntimeError(f"mean: needs floating-point numbers, not {self.dtype}: use x.float().mean()")
        if self.dtype == np.float16:  # whose sums go beyond 65504
            return self.float().mean(dim, keepdim).to(np.float16)
        n = math.prod(self.shape[d] for d in axes(dim, self.ndim))
        return self.sum(dim, keepdim) / n

    def var(
        self, dim: Dim = None, unbiased: bool = True, keepdim: bool = False, correction: Float | None = None
    ) -> Tensor:
        """The variance: squared distances from the mean, divided by n - 1, or by n if not `unbiased`.

        `correction` is divided by n - `correction`. As in PyTorch, x.var(False) says `unbiased` too.
        """
        return variance(self, dim, unbiased, keepdim, correction)

    def std(
        self, dim: Dim = None, unbiased: bool = True, keepdim: bool = False, correction: Float | None = None
    ) -> Tensor:
        """The standard deviation, the root of `var`; where all numbers are equal its gradient is 0."""
        return root(self.var(dim, unbiased, keepdim, correction))

    def norm(self, p: Float | str = "fro", dim: Dim = None, keepdim: bool = False) -> Tensor:
        """The length along `dim`: (sum of |x| ** p) ** (1 / p); "fro" is 2, math.inf the largest |x|.

        Raises RuntimeError for integers, for other names, and for p = 0, which is no length;
        float16 is computed in float32.
        """
        return length(self, p, dim, keepdim)

    def cumsum(self, dim: int) -> Tensor:
        """Running sums along `dim`."""
        return apply(CumSum(dim), self)

    # Extremes, all and any

    def amax(self, dim: Dim = None, keepdim: bool = False) -> Tensor:
        """The largest number along `dim`; where several are equal they share the gradient."""
        return apply(Extreme(True, dim, flag(keepdim)), self)

    def amin(self, dim: Dim = None, keepdim: bool = False) -> Tensor:
        """The smallest number along `dim`; where several are equal they share the gradient."""
        return apply(Extreme(False, dim, flag(keepdim)), self)

    def argmax(self, dim: int | None = None, keepdim: bool = False) -> Tensor:
        """The index of the first largest number along `dim`; without `dim`, in the flattened tensor."""
        return apply(ArgExtreme(True, dim, flag(keepdim)), self)

    def argmin(self, dim: int | None = None, keepdim: bool = False) -> Tensor:
        """The index of the first smallest number along `dim`; without `dim`, in the flattened tensor."""
        return apply(ArgExtreme(False, dim, flag(keepdim)), self)

    def max(self, dim: int | Tensor | None = None, keepdim: bool = False) -> Any:
        """The largest number of all, or with `dim` the values and indices along it; of two tensors `maximum`.

        Of all: equal ones share the gradient. Along `dim`: it goes to the index.
        """
        if isinstance(dim, Tensor):
            return binary(Maximum(), self, dim)
        return self.amax() if dim is None else best(self, self.argmax(dim, keepdim=True), dim, keepdim)

    def min(self, dim: int | Tensor | None = None, keepdim: bool = False) -> Any:
        """The smallest number of all, or with `dim` its values and indices along it. See `max`."""
        if isinstance(dim, Tensor):
            return binary(Minimum(), self, dim)
        return self.amin() if dim is None else best(self, self.argmin(dim, keepdim=True), dim, keepdim)

    def topk(self, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Best:
        """The k largest (or smallest) numbers along `dim` and their indices, always sorted."""
        return largest_of(self, k, dim, largest)

    def all(self, dim: Dim = None, keepdim: bool = False) -> Tensor:
        """Whether all numbers along `dim` are true (not 0): a bool, of uint8 too, unlike PyTorch's."""
        return apply(Truth(True, dim, flag(keepdim)), self)

    def any(self, dim: Dim = None, keepdim: bool = False) -> Tensor:
        """Whether any number along `dim` is true (not 0): a bool, of uint8 too, unlike PyTorch's."""
        return apply(Truth(False, dim, flag(keepdim)), self)

    # Shapes

    def reshape(self, *shape: Any) -> Tensor:
        """The same numbers under another shape, a view where possible. One length may be -1."""
        return apply(Reshape(full_shape(_sizes(shape), self.shape)), self)

    def view(self, *shape: Any) -> Tensor:
        """As `reshape`, but never a copy. Raises RuntimeError where only a copy could have that shape."""
        return viewed(self, self.reshape(*shape))

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> Tensor:
        """The axes from `start_dim` to `end_dim` as one."""
        return flattened(self, start_dim, end_dim)

    def unsqueeze(self, dim: int) -> Tensor:
        """With one more axis of length 1 at place `dim`."""
        (at,) = axes(dim, self.ndim + 1)
        return self.reshape(*self.shape[:at], 1, *self.shape[at:])

    def squeeze(self, dim: Dim = None) -> Tensor:
        """Without the axes of length 1 (only those in `dim`, if given; () names none)."""
        dims = () if isinstance(dim, tuple | list) and not dim else axes(dim, self.ndim)
        return self.reshape([n for i, n in enumerate(self.shape) if n != 1 or i not in dims])

    def expand(self, *sizes: Any) -> Tensor:
        """Axes of length 1 repeated to `sizes` without a copy; -1 keeps a length; new axes come first."""
        return apply(Expand(expanded(self.shape, _sizes(sizes))), self)

    # Order of axes

    def permute(self, *dims: Any) -> Tensor:
        """The axes in the order `dims`."""
        return apply(Permute(permutation(self, _sizes(dims))), self)

    def transpose(self, dim0: int, dim1: int) -> Tensor:
        """Two axes exchanged."""
        (a,), (b,) = axes(dim0, self.ndim) or (0,), axes(dim1, self.ndim) or (0,)
        order = list(range(self.ndim))
        if order:
            order[a], order[b] = order[b], order[a]
        return self.permute(order)

    @property
    def T(self) -> Tensor:
        """A matrix with rows and columns exchanged; use `mT` for a batch of matrices."""
        if self.ndim > 2:
            raise RuntimeError(f".T is for matrices; of shape {self.shape}, use .mT or .permute(...)")
        return self.permute(*reversed(range(self.ndim)))

    @property
    def mT(self) -> Tensor:
        """The last two axes exchanged."""
        return self.transpose(-2, -1)

    def flip(self, dims: int | Sequence[int], *more: int) -> Tensor:
        """A copy with the order along `dims` reversed: flip(0, 1) or flip((0, 1))."""
        order = _sizes((dims, *more))
        return apply(Flip(axes(order, self.ndim)), self) if order else self.clone()

    def roll(self, shifts: int | Sequence[int], dims: int | Sequence[int] | None = None) -> Tensor:
        """The numbers moved by `shifts` along `dims` (None: as one row); what falls off comes in again."""
        return rolled(self, shifts, dims)

    # Triangles and copies

    def tril(self, diagonal: int = 0) -> Tensor:
        """Matrices with zeros above the diagonal."""
        return apply(Triangle(True, diagonal), self)

    def triu(self, diagonal: int = 0) -> Tensor:
        """Matrices with zeros below the diagonal."""
        return apply(Triangle(False, diagonal), self)

    def clone(self) -> Tensor:
        """A copy, through which gradients flow."""
        return apply(Clone(), self)

    def new_empty(
        self,
        *size: Any,
        dtype: DTypeLike | None = None,
        device: str | None = None,
        requires_grad: bool = False,
    ) -> Tensor:
        """Uninitialised numbers of this shape, by default on this tensor's device and in its dtype."""
        xp = device_named(device or self.device).xp  # made where it will lie: on meta it takes no room
        return Tensor(xp.empty(_sizes(size), dtype or self.dtype)).requires_grad_(requires_grad)

    def contiguous(self) -> Tensor:
        """The tensor itself where its numbers lie in order in memory, else a copy where they do."""
        return self if self.data.flags.c_contiguous else self.clone()

    def repeat(self, *sizes: Any) -> Tensor:
        """A copy of the whole tensor, `sizes` times along each axis; new axes come first."""
        return apply(Repeat(repeats(self, _sizes(sizes))), self)

    # Indexing

    def __getitem__(self, index: Index) -> Tensor:
        """As in PyTorch: integers, slices, None and `...` give a view, integer or boolean arrays a copy.

        Arrays of uint8 are masks, as if of booleans.
        """
        basic, layout, arrays = split_index(index, self)
        whole = all_slices(basic)  # then a view first would be the tensor itself
        part = self if layout and whole else apply(Slice(basic), self)
        return apply(Select(layout), part, *arrays) if layout else part

    def gather(self, dim: int, index: Tensor) -> Tensor:
        """The numbers at `index` along `dim`: for dim 0, out[i][j] = x[index[i][j]][j].

        `index` holds integers on as many axes as x; those but `dim` may be shorter.
        """
        at = gather_axis(self, dim, index)
        if not self.ndim:
            return self.clone()
        # Index may be shorter.
        part = tuple(slice(None) if i == at else slice(n) for i, n in enumerate(index.shape))
        return apply(TakeAlongDim(at), self[part], index)

    # Joining and splitting

    def split(self, split_size: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
        """Views of the parts along `dim`: `split_size` long (the last: the rest), or of given sizes."""
        at = _axis(dim, self, "split")
        sizes = part_sizes(split_size, self.shape[at], dim)
        ends = list(itertools.accumulate(sizes))  # where each part ends
        before = (slice(None),) * at
        return tuple(apply(Slice((*before, slice(end - size, end))), self) for size, end in zip(sizes, ends))

    def chunk(self, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
        """At most `chunks` parts along `dim`, all of one length but the last."""
        if chunks < 1:
            raise RuntimeError(f"chunk: the number of chunks must be at least 1, not {chunks}")
        n = self.shape[_axis(dim, self, "chunk")]
        return self.split(-(-n // chunks) if n else [0] * chunks, dim)  # -(-n // k) rounds up

    def unbind(self, dim: int = 0) -> tuple[Tensor, ...]:
        """The slices along `dim`, without that axis."""
        at = _axis(dim, self, "unbind")
        return tuple(self[(*(slice(None),) * at, i)] for i in range(self.shape[at]))

    def __iter__(self) -> Iterator[Tensor]:
        if not self.ndim:
            raise TypeError("a tensor without axes cannot be looped over")
        return iter(self.unbind())

    # The matrix product

    def __matmul__(self, other: Tensor) -> Tensor:
        return matmul(self, other) if isinstance(other, Tensor) else NotImplemented

    def matmul(self, other: Tensor) -> Tensor:
        return self @ other

    # Casts

    def to(
        self,
        *target: DTypeLike | str | Tensor,
        device: str | None = None,
        dtype: DTypeLike | None = None,
        non_blocking: bool = False,
    ) -> Tensor:
        """In another dtype ("float64", np.int64, ...), on another device ("cpu", "cuda"), or both.

        By position or by name; a tensor stands for its own device and dtype. `non_blocking` changes nothing.
        """
        device, dtype = target_of(target, device, dtype)
        x = self if device is None else self._to_device(device)
        return x if dtype is None or x.data.dtype == dtype else apply(Cast(dtype), x)

    def float(self) -> Tensor:
        return self.to(np.float32)

    def double(self) -> Tensor:
        return self.to(np.float64)

    def long(self) -> Tensor:
        return self.to(np.int64)

    # Devices

    @property
    def device(self) -> str:
        """The name of the device that holds the numbers: "cpu", or what a device module has registered."""
        return DEVICES[type(self.data)].name

    def _to_device(self, name: str) -> Tensor:
        if name.removesuffix(":0") == self.device:
            return self
        return apply(Transfer(device_named(name)), self)

    def cuda(self) -> Tensor:
        return self.to("cuda")

    def cpu(self) -> Tensor:
        return self.to("cpu")

    # Writing in place

    @property
    def _version(self) -> int:
        """How often this tensor's memory was written to in place; views share the count."""
        log = _writes.get(id(owner_of(self.data)))
        return log.count if log else 0

    def __iadd__(self, other: Tensor | Number) -> Tensor:
        return _in_place(Add(), self, other)

    def __isub__(self, other: Tensor | Number) -> Tensor:
        return _in_place(Sub(), self, other)

    def __imul__(self, other: Tensor | Number) -> Tensor:
        return _in_place(Mul(), self, other)

    def __itruediv__(self, other: Tensor | Number) -> Tensor:
        return _in_place(Div(), self, other)

    def __ipow__(self, other: Tensor | Number) -> Tensor:
        return _in_place(Pow(), self, other)

    def __setitem__(self, index: Index, value: Tensor | Number) -> None:
        """Write into the tensor's memory; `value` broadcasts. Gradients flow to `value` and to what stays.

        A tensor in another dtype is cast; with arrays in the index it is refused, as in PyTorch, but for one
        number at a mask. So is a number that the integers of this tensor cannot hold.
        """
        basic, layout, arrays = split_index(index, self)
        refuse_dtype(self, value, arrays)
        value = filling(value, self)
        refuse_write(self, value)  # before anything is written
        _write(self, Write(basic, layout), value, *arrays)

    def copy_(self, source: Tensor) -> Tensor:
        """Write the numbers of `source` (broadcast, cast) into this tensor's memory."""
        self[...] = source
        return self

    def fill_(self, value: Number) -> Tensor:
        self[...] = value
        return self

    def zero_(self) -> Tensor:
        return self.fill_(0)

    def normal_(self, mean: Number = 0, std: Number = 1, generator: Generator | None = None) -> Tensor:
        """Fill in place with normally distributed numbers. Unlike PyTorch's, takes tensors as well.

        Raises RuntimeError for a negative `std`.
        """
        if not isinstance(std, Tensor) and std < 0:
            raise RuntimeError(f"normal_: std must not be negative, and is {std}")
        # Drawn on the CPU, whatever the device.
        draw = (generator or default_generator).numbers.standard_normal
        return self.copy_(Tensor(draw(self.shape, dtype=_float_type(self.dtype))) * std + mean)

    def uniform_(self, low: Number = 0, high: Number = 1, generator: Generator | None = None) -> Tensor:
        """Fill in place with numbers from U[low, high). Raises RuntimeError where high < low."""
        if high < low:
            raise RuntimeError(f"uniform_: from {low} to {high} there is nothing: exchange them")
        draw = (generator or default_generator).numbers.random
        return self.copy_(Tensor(draw(self.shape, dtype=_float_type(self.dtype))) * (high - low) + low)

    # Gradients

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Ask for a gradient, or no longer. Only floating-point leaves can have one.

        Ask before `self` is used: whether a leaf wants a gradient is looked up in backward, so operations of
        before may give it one too (those of PyTorch do not; they took it for a constant).
        """
        refuse_requiring(self, requires_grad)
        self._requires_grad = requires_grad
        return self

    def backward(self, gradient: Tensor | None = None, retain_graph: bool = False) -> None:
        """Add to the `grad` of each leaf the derivative of this tensor with respect to it.

        Without `gradient` (of this tensor's shape) the tensor must hold one number. Frees what the operations
        saved, unless `retain_graph`.
        """
        found = propagate(self.function or self, first_gradient(self, gradient), retain_graph)
        for leaf, (array, owned) in found.items():
            assert isinstance(leaf, Tensor)
            if leaf.function is not None:
                continue  # data without a gradient when it was used, written to since
            if leaf.grad is None:
                # What is not ours may be somebody's input or gradient.
                leaf.grad = Tensor(array if owned else array.copy())
            else:
                leaf.grad.data += array  # gradients add up over calls, as in PyTorch

    def zero_grad(self) -> None:
        """Reset the gradient to None."""
        self.grad = None

    def detach(self) -> Tensor:
        """The same numbers, in the same memory, without a history: cut from the graph."""
        return Tensor(self.data)

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Call `hook(gradient)` whenever backward has this tensor's gradient; what it returns replaces it.

        Returns a handle that takes the hook away again.
        """
        if not self.requires_grad:
            raise RuntimeError("register_hook: this tensor gets no gradient (requires_grad is False)")
        owner = self.function or self  # backward knows operations and leaves, not the tensors between
        if owner.hooks is None:
            owner.hooks = []
        hooks = owner.hooks
        hooks.append(hook)
        return RemovableHandle(lambda: hooks.remove(hook))

    def retain_grad(self) -> None:
        """Keep `grad` also where this tensor is no leaf, as the hooks registered before have left it."""
        if not self.requires_grad:
            raise RuntimeError("retain_grad: this tensor gets no gradient (requires_grad is False)")
        if self.function is None or "retained" in vars(self.function):
            return
        me = weakref.ref(self)  # the operation must not keep its result alive: that would be a circle

        def keep(gradient: Tensor) -> None:
            tensor = me()
            if tensor is not None:
                tensor.grad = gradient if tensor.grad is None else tensor.grad + gradient

        vars(self.function)["retained"] = keep
        self.register_hook(keep)

    # History

    @property
    def is_leaf(self) -> bool:
        return self.function is None

    @property
    def op(self) -> str:
        """The name of the operation that made this tensor; "" for a leaf."""
        return self.function.name if self.function is not None else ""

    @property
    def inputs(self) -> tuple[Node, ...]:
        """What this tensor was made of: operations and leaves."""
        return self.function.inputs if self.function is not None else ()

    def __getstate__(self) -> object:
        """For copies and pickles. A result would bring copies of all its leaves along: refused."""
        if self.function is not None:
            raise RuntimeError("only leaves can be copied or pickled, no result with a history: x.detach()")
        return object.__getstate__(self)


TENSORS.append(Tensor)  # so that the engine can show tensors to hooks


# Making tensors


def as_array(data: Any, dtype: DTypeLike | None = None) -> Array:
    """`data` as an array: numbers and lists become float32, int64 or bool, an array stays as it is.

    Raises TypeError for what is neither numbers nor booleans.
    """
    if isinstance(data, Tensor):
        data = data.data
    if type(data) in DEVICES:
        return data if dtype is None else data.astype(dtype, copy=False)
    try:
        array = np.asarray(_plain(data), dtype)
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
        raise ValueError("tensor: lists in it differ in length: all rows must be equally long") from None
    # Python's floats become float32, as in PyTorch; an array has chosen its dtype.
    if dtype is None and array.dtype == np.float64 and not isinstance(data, np.ndarray | np.generic):
        array = array.astype(np.float32)
    if array.dtype.kind not in "bifu":
        raise TypeError(f"a tensor holds numbers or booleans, not {array.dtype} (from {type(data).__name__})")
    return array


# Applying operations


def binary(f: Function, a: Tensor, b: Tensor | Number, reflected: bool = False) -> Tensor:
    """Apply an operation of two operands, brought to one dtype first."""
    if not isinstance(b, Tensor):
        if isinstance(b, np.generic):  # NumPy's scalar counts as Python's: it must not decide the dtype
            b = b.item()
        if not isinstance(b, bool | int | float):
            if isinstance(b, np.ndarray):
                raise TypeError(f"{f.name}: one operand is a NumPy array: wrap it in tensor(...) first")
            return NotImplemented
        b = weak(b, a)
    if a.data.dtype is not b.data.dtype:  # `is` first: the usual case costs no promotion
        dtype = result_type(a, b)
        a, b = a.to(dtype), b.to(dtype)
    return apply(f, b, a) if reflected else apply(f, a, b)


# Writing in place


def _in_place(f: Function, x: Tensor, other: Tensor | Number) -> Tensor:
    """x = f(x, other), into the memory of x.

    PyTorch refuses more: that x and `other` overlap (here all is read before something is written), `x *= x`
    (here what `f` saved of x is copied), a part that `split` or `unbind` made, and a view of a buffer which
    changed since (here all views are equal).
    """
    refuse_write(x, *([other] if isinstance(other, Tensor) else []))
    made = binary(f, x if x.function else x.detach(), other)
    if made is NotImplemented:
        return NotImplemented
    refuse_misfit(x, made)
    # What f saved of x is overwritten below.
    f.saved = tuple([array.copy() if array is x.data else array for array in f.saved])
    if x.origin is not None:
        _write(x, Write((...,)), made.to(x.dtype))
        return x
    x.data[...] = made.data
    wrote(x.data)
    if made.function is not None:
        take_over(x, made.function)
    return x
