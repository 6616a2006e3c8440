"""Arrays that know their gradient.

Promoted from chapters/02a_arrays.ipynb, solutions/02a_arrays.ipynb, chapters/02b_engine.ipynb and
solutions/02b_engine.ipynb; edit there, then `make promote`.
"""

from __future__ import annotations

import itertools
import math
import operator
import threading
import weakref
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import ContextDecorator, contextmanager
from dataclasses import dataclass, field
from heapq import heappop, heappush
from types import EllipsisType
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

Array: TypeAlias = Any  # a numpy.ndarray, or the array of another device
Number: TypeAlias = bool | int | float
Float: TypeAlias = float  # inside Tensor, `float` is a method
Shape: TypeAlias = tuple[int, ...]
Index: TypeAlias = Any  # what stands in x[...]


# What was repeated is added up


def sum_to(array: Array, shape: Shape) -> Array:
    """The sum of `array` over the axes that broadcasting from `shape` had added or repeated."""
    extra = array.ndim - len(shape)
    repeated = tuple(extra + i for i, n in enumerate(shape) if n == 1 and array.shape[extra + i] != 1)
    summed = array.sum(axis=(*range(extra), *repeated), keepdims=True)
    return summed.reshape(shape)


# Function and Tensor


_clock = itertools.count(1).__next__  # each operation and each write in place gets the next number


FREED: tuple[Array, ...] = (None,)  # known by identity


class Function:
    """One operation: `forward` makes an array of arrays, `backward` a gradient for each of them.

    Attributes are plain values (axes, shapes, eps); every array is an input. `apply` sets `inputs`: for each
    argument the Function that made it, or the Tensor itself where it is a leaf. `forward` leaves in `saved`
    the arrays that `backward` needs. `backward` may return its argument, views of it, or None where an input
    wants no gradient; the engine sums over broadcast axes and never writes into what it gets.
    """

    inputs: tuple[Function | Tensor, ...] = ()
    saved: tuple[Array, ...] = ()  # FREED once backward has used it
    requires_grad: bool = True  # False: the result has no gradient (a comparison, an argmax)
    view = False  # True: the result may share the memory of the input
    xp: Any = np  # the array module of the inputs
    hooks: list[Callable[[Tensor], Tensor | None]] | None = None
    serial: int
    shape: Shape
    dtype: np.dtype[Any]

    def forward(self, *arrays: Array) -> Array:
        raise NotImplementedError(f"{self.name} has no forward")

    def backward(self, grad: Array) -> Array | tuple[Array | None, ...]:
        raise NotImplementedError(f"{self.name} has no backward: nothing before it can get a gradient")

    def needs(self, i: int) -> bool:
        """Whether input `i` wants a gradient."""
        return self.inputs[i].requires_grad

    @property
    def name(self) -> str:
        return type(self).__name__

    @property
    def op(self) -> str:
        return self.name


class Tensor:
    """An array that remembers the operation that made it.

    `data` is the array, shared and not copied (`tensor(...)` copies). `grad` is a Tensor or None.
    `function` is the operation, None for a leaf.
    """

    __slots__ = ("__weakref__", "data", "function", "grad", "hooks", "requires_grad")
    __array_ufunc__ = None  # NumPy, leave `array * tensor` to us

    data: Array
    grad: Tensor | None
    function: Function | None
    hooks: list[Callable[[Tensor], Tensor | None]] | None
    requires_grad: bool

    def __init__(self, data: Any, dtype: DTypeLike | None = None, requires_grad: bool = False) -> None:
        self.data = as_array(data, dtype)
        self.grad = self.function = self.hooks = None
        self.requires_grad = False
        if requires_grad:
            self.requires_grad_()

    @property
    def shape(self) -> Shape:
        shape: Shape = self.data.shape
        return shape

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self.data.dtype
        return dtype

    @property
    def ndim(self) -> int:
        return len(self.data.shape)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Ask for a gradient, or no longer. Only floating-point leaves can have one."""
        if requires_grad and self.data.dtype.kind != "f":
            raise RuntimeError(
                f"only floating-point tensors can require gradients, not {self.dtype}: use x.float() first"
            )
        if not requires_grad and self.function is not None:
            raise RuntimeError("requires_grad can be turned off for leaves only: use x.detach()")
        self.requires_grad = requires_grad
        return self

    def numpy(self) -> Array:
        """The array itself, shared: what is written to it, no check of `backward` sees."""
        if self.device != "cpu":
            raise TypeError(f"the tensor is on {self.device}: use .cpu().numpy()")
        return self.data

    def __repr__(self) -> str:
        array = self.data if self.device == "cpu" else np.asarray(self.tolist(), self.dtype)
        numbers = np.array2string(array, separator=", ", prefix="tensor(", precision=4)
        extra = "" if self.dtype.name in ("float32", "int64", "bool") else f", dtype={self.dtype.name}"
        if self.function is not None:
            extra += f", function={self.function.name}"
        elif self.requires_grad:
            extra += ", requires_grad=True"
        if self.device != "cpu":
            extra += f", device={self.device!r}"
        return f"tensor({numbers}{extra})"

    def to(self, target: DTypeLike | str) -> Tensor:
        """In another dtype ("float64", np.int64, ...) or on another device ("cpu", "cuda")."""
        if isinstance(target, str) and target.partition(":")[0] in ("cpu", "cuda"):
            return self._to_device(target)
        dtype = np.dtype(target)
        return self if self.data.dtype == dtype else apply(Cast(dtype), self)

    def __mul__(self, other: Tensor | Number) -> Tensor:
        return binary(Mul(), self, other)

    def __rmul__(self, other: Number) -> Tensor:
        return binary(Mul(), self, other, reflected=True)

    def __add__(self, other: Tensor | Number) -> Tensor:
        return binary(Add(), self, other)

    def __radd__(self, other: Number) -> Tensor:
        return binary(Add(), self, other, reflected=True)

    def reshape(self, *shape: Any) -> Tensor:
        """The same numbers under another shape, a view where possible. One length may be -1."""
        return apply(Reshape(full_shape(_sizes(shape), self.shape)), self)

    def unsqueeze(self, dim: int) -> Tensor:
        """With one more axis of length 1 at place `dim`."""
        (at,) = axes(dim, self.ndim + 1)
        return self.reshape(*self.shape[:at], 1, *self.shape[at:])

    def squeeze(self, dim: Dim = None) -> Tensor:
        """Without the axes of length 1 (only those in `dim`, if given)."""
        dims = axes(dim, self.ndim)
        return self.reshape([n for i, n in enumerate(self.shape) if n != 1 or i not in dims])

    def expand(self, *sizes: Any) -> Tensor:
        """Axes of length 1 repeated to `sizes` without a copy; -1 keeps a length; new axes come first."""
        wanted = _sizes(sizes)
        own = (1,) * (len(wanted) - self.ndim) + self.shape
        old = range(len(wanted) - self.ndim, len(wanted))
        shape = tuple(own[i] if n == -1 and i in old else n for i, n in enumerate(wanted))
        fits = all(n == m or (m == 1 and n >= 0) for n, m in zip(shape, own))
        if len(wanted) < self.ndim or not fits:
            raise RuntimeError(
                f"expand: {self.shape} does not fit {wanted}: only axes of length 1 are repeated"
            )
        return apply(Expand(shape), self)

    def matmul(self, other: Tensor) -> Tensor:
        return self @ other

    def __matmul__(self, other: Tensor) -> Tensor:
        return matmul(self, other) if isinstance(other, Tensor) else NotImplemented

    def __sub__(self, other: Tensor | Number) -> Tensor:
        return binary(Sub(), self, other)

    def __rsub__(self, other: Number) -> Tensor:
        return binary(Sub(), self, other, reflected=True)

    def __truediv__(self, other: Tensor | Number) -> Tensor:
        keeps = isinstance(other, Tensor) and other.dtype.kind == "f"  # then promotion makes us a float
        return binary(Div(), self if keeps else _floating(self), other)

    def __rtruediv__(self, other: Number) -> Tensor:
        return binary(Div(), _floating(self), other, reflected=True)

    def __pow__(self, other: Tensor | Number) -> Tensor:
        return binary(Pow(), self, other)

    def __rpow__(self, other: Number) -> Tensor:
        return binary(Pow(), self, other, reflected=True)

    def __neg__(self) -> Tensor:
        return apply(Neg(), self)

    def exp(self) -> Tensor:
        return apply(Exp(), _floating(self))

    def log(self) -> Tensor:
        return apply(Log(), _floating(self))

    def sqrt(self) -> Tensor:
        return apply(Sqrt(), _floating(self))

    def rsqrt(self) -> Tensor:
        return 1 / self.sqrt()

    def tanh(self) -> Tensor:
        return apply(Tanh(), _floating(self))

    def sigmoid(self) -> Tensor:
        return apply(Sigmoid(), _floating(self))

    def sin(self) -> Tensor:
        return apply(Sin(), _floating(self))

    def cos(self) -> Tensor:
        return apply(Cos(), _floating(self))

    def relu(self) -> Tensor:
        return apply(ReLU(), self)

    def abs(self) -> Tensor:
        return apply(Abs(), self)

    def __abs__(self) -> Tensor:
        return self.abs()

    def pow(self, exponent: Tensor | Number) -> Tensor:
        return self**exponent

    def square(self) -> Tensor:
        return self**2

    def clip(self, min: Number | None = None, max: Number | None = None) -> Tensor:
        """Numbers below `min` become `min`, above `max` they become `max`; PyTorch's clamp."""
        if min is None and max is None:
            raise ValueError("clip: give min, max or both")
        if self.dtype.kind != "f" and isinstance(min if max is None else max, float):
            return self.float().clip(min, max)
        return apply(Clip(min, max), self)

    def clamp(self, min: Number | None = None, max: Number | None = None) -> Tensor:
        return self.clip(min, max)

    def masked_fill(self, mask: Tensor, value: Number) -> Tensor:
        """A copy with `value`, in the dtype of the tensor, where `mask` (booleans, broadcast) is true."""
        if mask.dtype != bool:
            raise RuntimeError(f"masked_fill: the mask must hold booleans, not {mask.dtype}")
        return where(mask, Tensor(array_module(self.data).asarray(value, self.dtype)), self)

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

    def sum(self, dim: Dim = None, keepdim: bool = False) -> Tensor:
        """The sum along `dim` (None: all axes), which become 1 long with `keepdim` and vanish without."""
        return apply(Sum(dim, keepdim), self)

    def mean(self, dim: Dim = None, keepdim: bool = False) -> Tensor:
        """The mean along `dim`. Raises RuntimeError for integers: `.float()` first."""
        if self.dtype.kind != "f":
            raise RuntimeError(f"mean: needs floating-point numbers, not {self.dtype}: use x.float().mean()")
        n = math.prod(self.shape[d] for d in axes(dim, self.ndim))
        return self.sum(dim, keepdim) / n

    def var(self, dim: Dim = None, correction: int = 1, keepdim: bool = False) -> Tensor:
        """The variance: squared distances from the mean, divided by n - `correction`."""
        n = math.prod(self.shape[d] for d in axes(dim, self.ndim))
        distance = self - self.mean(dim, keepdim=True)
        return (distance * distance).sum(dim, keepdim) / max(n - correction, 0)

    def std(self, dim: Dim = None, correction: int = 1, keepdim: bool = False) -> Tensor:
        """The standard deviation, the root of `var`; where all numbers are equal its gradient is 0."""
        variance = self.var(dim, correction, keepdim)
        flat = variance == 0
        return where(flat, 0.0, where(flat, 1.0, variance).sqrt())

    def amax(self, dim: Dim = None, keepdim: bool = False) -> Tensor:
        """The largest number along `dim`; where several are equal they share the gradient."""
        return apply(Extreme(True, dim, keepdim), self)

    def amin(self, dim: Dim = None, keepdim: bool = False) -> Tensor:
        """The smallest number along `dim`; where several are equal they share the gradient."""
        return apply(Extreme(False, dim, keepdim), self)

    def argmax(self, dim: int | None = None, keepdim: bool = False) -> Tensor:
        """The index of the first largest number along `dim`; without `dim`, in the flattened tensor."""
        return apply(ArgExtreme(True, dim, keepdim), self)

    def argmin(self, dim: int | None = None, keepdim: bool = False) -> Tensor:
        """The index of the first smallest number along `dim`; without `dim`, in the flattened tensor."""
        return apply(ArgExtreme(False, dim, keepdim), self)

    def max(self, dim: int | None = None, keepdim: bool = False) -> Any:
        """The largest number of all, or with `dim` the values and indices along it.

        Of all: equal ones share the gradient. Along `dim`: it goes to the index.
        """
        return self.amax() if dim is None else self._best(self.argmax(dim, keepdim=True), dim, keepdim)

    def min(self, dim: int | None = None, keepdim: bool = False) -> Any:
        """The smallest number of all, or with `dim` its values and indices along it. See `max`."""
        return self.amin() if dim is None else self._best(self.argmin(dim, keepdim=True), dim, keepdim)

    def _best(self, indices: Tensor, dim: int, keepdim: bool) -> Best:
        if not self.ndim:
            return Best(self.clone(), indices)
        values = apply(TakeAlongDim(dim), self, indices)
        return Best(values, indices) if keepdim else Best(values.squeeze(dim), indices.squeeze(dim))

    def all(self, dim: Dim = None, keepdim: bool = False) -> Tensor:
        """Whether all numbers along `dim` are true (not 0)."""
        return apply(Truth(True, dim, keepdim), self)

    def any(self, dim: Dim = None, keepdim: bool = False) -> Tensor:
        """Whether any number along `dim` is true (not 0)."""
        return apply(Truth(False, dim, keepdim), self)

    def cumsum(self, dim: int) -> Tensor:
        """Running sums along `dim`."""
        return apply(CumSum(dim), self)

    def view(self, *shape: Any) -> Tensor:
        """As `reshape`, but never a copy. Raises RuntimeError where only a copy could have that shape."""
        out = self.reshape(*shape)
        xp = array_module(self.data)
        if not xp.may_share_memory(self.data, out.data) and self.data.size:
            raise RuntimeError(
                f"view: {self.shape} cannot be seen as {out.shape} without a copy: use reshape"
            )
        return out

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> Tensor:
        """The axes from `start_dim` to `end_dim` as one."""
        if not self.ndim:
            return self.reshape(1)
        (start,), (end,) = axes(start_dim, self.ndim), axes(end_dim, self.ndim)
        if start > end:
            raise RuntimeError(f"flatten: start_dim {start_dim} comes after end_dim {end_dim}")
        middle = math.prod(self.shape[start : end + 1])
        return self.reshape(*self.shape[:start], middle, *self.shape[end + 1 :])

    def permute(self, *dims: Any) -> Tensor:
        """The axes in the order `dims`."""
        order = axes(_sizes(dims), self.ndim)
        if len(order) != self.ndim:
            raise RuntimeError(
                f"permute: {order} does not name each axis of a tensor of shape {self.shape} once"
            )
        return apply(Permute(order), self)

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

    def flip(self, *dims: Any) -> Tensor:
        """A copy with the order along `dims` reversed."""
        order = _sizes(dims)
        return apply(Flip(axes(order, self.ndim)), self) if order else self.clone()

    def tril(self, diagonal: int = 0) -> Tensor:
        """Matrices with zeros above the diagonal."""
        return apply(Triangle(True, diagonal), self)

    def triu(self, diagonal: int = 0) -> Tensor:
        """Matrices with zeros below the diagonal."""
        return apply(Triangle(False, diagonal), self)

    def contiguous(self) -> Tensor:
        """The tensor itself where its numbers lie in order in memory, else a copy where they do."""
        return self if self.data.flags.c_contiguous else self.clone()

    def clone(self) -> Tensor:
        """A copy, through which gradients flow."""
        return apply(Clone(), self)

    def __getitem__(self, index: Index) -> Tensor:
        """As in PyTorch: integers, slices, None and `...` give a view, integer or boolean arrays a copy."""
        basic, layout, arrays = split_index(index, self)
        whole = all_slices(basic)
        part = self if layout and whole else apply(Slice(basic), self)
        return apply(Select(layout), part, *arrays) if layout else part

    def gather(self, dim: int, index: Tensor) -> Tensor:
        """The numbers at `index` along `dim`: for dim 0, out[i][j] = x[index[i][j]][j].

        The other axes of `index` may be shorter than those of x.
        """
        if index.dtype.kind not in "iu" or index.ndim != self.ndim:
            raise RuntimeError(
                f"gather: the index needs integers and {self.ndim} axes, not {index.dtype} and {index.shape}"
            )
        (at,) = axes(dim, self.ndim) or (0,)
        length = self.shape[at] if self.ndim else 1
        if index.data.size and not 0 <= index.data.min() <= index.data.max() < length:
            raise RuntimeError(f"gather: an index is out of bounds for dim {dim} of length {length}")
        if not self.ndim:
            return self.clone()
        if any(m > n for i, (m, n) in enumerate(zip(index.shape, self.shape)) if i != at):
            raise RuntimeError(
                f"gather: index {index.shape} is larger than {self.shape} outside of dim {dim}"
            )
        part = tuple(slice(None) if i == at else slice(n) for i, n in enumerate(index.shape))
        return apply(TakeAlongDim(at), self[part], index)

    def split(self, split_size: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
        """Views of the parts along `dim`: `split_size` long (the last: the rest), or of given sizes."""
        at = _axis(dim, self, "split")
        n = self.shape[at]
        if isinstance(split_size, int):
            if split_size < 1 and n:
                raise RuntimeError(f"split: a part needs at least one element, not {split_size}")
            sizes = [min(split_size, n - i) for i in range(0, n, max(split_size, 1))] or [0]
        else:
            sizes = list(split_size)
        if sum(sizes) != n or min(sizes, default=0) < 0:
            raise RuntimeError(f"split: the sizes {sizes} do not add up to {n}, the length of dim {dim}")
        ends = list(itertools.accumulate(sizes))
        before = (slice(None),) * at
        return tuple(self[(*before, slice(end - size, end))] for size, end in zip(sizes, ends))

    def chunk(self, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
        """At most `chunks` parts along `dim`, all of one length but the last."""
        if chunks < 1:
            raise RuntimeError(f"chunk: the number of chunks must be at least 1, not {chunks}")
        n = self.shape[_axis(dim, self, "chunk")]
        return self.split(-(-n // chunks) if n else [0] * chunks, dim)

    def unbind(self, dim: int = 0) -> tuple[Tensor, ...]:
        """The slices along `dim`, without that axis."""
        at = _axis(dim, self, "unbind")
        return tuple(self[(*(slice(None),) * at, i)] for i in range(self.shape[at]))

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("a tensor without axes has no length")
        return int(self.shape[0])

    def __iter__(self) -> Iterator[Tensor]:
        if not self.ndim:
            raise TypeError("a tensor without axes cannot be looped over")
        return iter(self.unbind())

    def item(self) -> Number:
        """The one number of a tensor with one element, as a Python number."""
        if self.data.size != 1:
            raise RuntimeError(f"item: a tensor of shape {self.shape} has {self.data.size} numbers, not one")
        number: Number = self.data.item()
        return number

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

    def __contains__(self, number: Number) -> bool:
        return bool((self == number).any())

    def tolist(self) -> Any:
        """The numbers as nested lists of Python numbers."""
        return self.data.tolist()

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the length of one axis."""
        return self.shape if dim is None else self.shape[dim]

    def dim(self) -> int:
        return self.ndim

    def numel(self) -> int:
        """The number of elements."""
        return int(self.data.size)

    def float(self) -> Tensor:
        return self.to(np.float32)

    def double(self) -> Tensor:
        return self.to(np.float64)

    def long(self) -> Tensor:
        return self.to(np.int64)

    def backward(self, gradient: Tensor | None = None, retain_graph: bool = False) -> None:
        """Add to the `grad` of each leaf the derivative of this tensor with respect to it.

        Without `gradient` (of this tensor's shape) the tensor must hold one number. Frees what the operations
        saved, unless `retain_graph`.
        """
        found = propagate(self.function or self, first_gradient(self, gradient), retain_graph)
        for leaf, (array, owned) in found.items():
            assert isinstance(leaf, Tensor)
            if leaf.grad is None:
                leaf.grad = Tensor(array if owned else array.copy())
            else:
                leaf.grad.data += array

    def zero_grad(self) -> None:
        """Forget the gradient."""
        self.grad = None

    def detach(self) -> Tensor:
        """The same numbers (and memory) without a history."""
        return Tensor(self.data)

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> Callable[[], None]:
        """Call `hook(gradient)` whenever backward has this tensor's gradient; what it returns replaces it.

        Returns a function that takes the hook away again.
        """
        if not self.requires_grad:
            raise RuntimeError("register_hook: this tensor gets no gradient (requires_grad is False)")
        owner = self.function or self
        if owner.hooks is None:
            owner.hooks = []
        hooks = owner.hooks
        hooks.append(hook)
        return lambda: hooks.remove(hook)

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

    def _may_write(self, *others: Tensor) -> None:
        """Raise where a write in place would break gradients."""
        if not mode.grad_enabled:
            return
        if self.requires_grad and self.function is None:
            raise RuntimeError(
                "a leaf that wants a gradient cannot be changed in place: use no_grad(), or x = x + ..."
            )
        recorded = self.requires_grad or any(t.requires_grad for t in others)
        if recorded and self.data.base is not None:
            raise RuntimeError(
                "a view cannot be changed in place where gradients flow: use x[index] = value, or clone it"
            )

    @property
    def _version(self) -> int:
        """How often the memory of this tensor was written to in place; views share the number."""
        log = _writes.get(id(owner_of(self.data)))
        return log.count if log else 0

    def _become(self, made: Tensor) -> Tensor:
        """Take over the numbers, in place, and the history of `made`."""
        if made.dtype != self.dtype and _CATEGORY[made.dtype.kind] > _CATEGORY[self.dtype.kind]:
            raise RuntimeError(
                f"{made.dtype} does not fit in place into {self.dtype}: use x = x + ... or cast first"
            )
        if made.shape != self.shape:
            raise RuntimeError(f"shape {made.shape} does not fit in place into {self.shape}")
        if made.data is not self.data:
            self.data[...] = made.data
        wrote(self.data, recorded=made.function is not None)
        if made.function is not None:
            self.function, self.requires_grad = made.function, True
        return self

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
        """Write into the tensor's memory; `value` broadcasts. Gradients flow to `value` and to what stays."""
        basic, layout, arrays = split_index(index, self)
        if not isinstance(value, Tensor):
            value = Tensor(array_module(self.data).asarray(as_array(value)))
        self._may_write(value)
        x = self if self.function else self.detach()
        self._become(apply(Write(basic, layout), x, value.to(self.dtype), *arrays))

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
        """Fill in place with normally distributed numbers."""
        draw = randn(self.shape, generator=generator, dtype=self.dtype)
        return self.copy_(draw * std + mean)

    def uniform_(self, low: Number = 0, high: Number = 1, generator: Generator | None = None) -> Tensor:
        """Fill in place with numbers drawn evenly from [low, high)."""
        draw = rand(self.shape, generator=generator, dtype=self.dtype)
        return self.copy_(draw * (high - low) + low)

    @property
    def device(self) -> str:
        """The place of the numbers: "cpu", or what a device module has registered."""
        return DEVICES[type(self.data)].name

    def _to_device(self, name: str) -> Tensor:
        if name == self.device:
            return self
        names = ", ".join(d.name for d in DEVICES.values())
        raise RuntimeError(f"there is no device {name!r} here; there is: {names}")

    def cpu(self) -> Tensor:
        return self.to("cpu")

    def retain_grad(self) -> None:
        """Keep `grad` also where this tensor is no leaf, as the hooks registered before have left it."""
        if not self.requires_grad:
            raise RuntimeError("retain_grad: this tensor gets no gradient (requires_grad is False)")
        if self.function is None or "retained" in vars(self.function):
            return
        vars(self.function)["retained"] = True
        me = weakref.ref(self)

        def keep(gradient: Tensor) -> None:
            tensor = me()
            if tensor is not None:
                tensor.grad = gradient if tensor.grad is None else tensor.grad + gradient

        self.register_hook(keep)


def as_array(data: Any, dtype: DTypeLike | None = None) -> Array:
    """`data` as an array: numbers and lists become float32, int64 or bool, an array stays as it is.

    Raises TypeError for what is neither numbers nor booleans.
    """
    if isinstance(data, Tensor):
        data = data.data
    if type(data) in DEVICES:
        return data if dtype is None else data.astype(dtype, copy=False)
    array = np.asarray(_plain(data), dtype)
    if dtype is None and array.dtype == np.float64 and not isinstance(data, np.ndarray | np.generic):
        array = array.astype(np.float32)
    if array.dtype.kind not in "bifu":
        raise TypeError(f"a tensor holds numbers or booleans, not {array.dtype} (from {type(data).__name__})")
    return array


def _plain(data: Any) -> Any:
    """Lists may hold tensors: `tensor([x.sum(), y.sum()])`."""
    if isinstance(data, list | tuple):
        return [_plain(item) for item in data]
    return data.data if isinstance(data, Tensor) else data


def tensor(data: Any, dtype: DTypeLike | None = None, requires_grad: bool = False) -> Tensor:
    """A leaf with a copy of `data`: a number, nested lists, an array."""
    return Tensor(as_array(data, dtype).copy(), requires_grad=requires_grad)


class Mul(Function):
    """x * y"""

    def forward(self, x: Array, y: Array) -> Array:
        self.saved = x if self.needs(1) else None, y if self.needs(0) else None
        return x * y

    def backward(self, grad: Array) -> tuple[Array | None, ...]:
        x, y = self.saved
        return None if y is None else grad * y, None if x is None else grad * x


# What backward needs, and no more


class Add(Function):
    """x + y"""

    def forward(self, x: Array, y: Array) -> Array:
        return x + y

    def backward(self, grad: Array) -> tuple[Array, Array]:
        return grad, grad


class Exp(Function):
    """e ** x"""

    def forward(self, x: Array) -> Array:
        y = self.xp.exp(x)
        self.saved = (y,)
        return y

    def backward(self, grad: Array) -> Array:
        (y,) = self.saved
        return grad * y


class Sigmoid(Function):
    """1 / (1 + exp(-x))"""

    def forward(self, x: Array) -> Array:
        low = self.xp.exp(self.xp.minimum(x, 0))  # below 0 e**x / (e**x + 1): exp(-x) would overflow
        y = low / (low + self.xp.exp(-self.xp.maximum(x, 0)))
        self.saved = (y,)
        return y

    def backward(self, grad: Array) -> Array:
        (y,) = self.saved
        return grad * (y * (1 - y))


# From functions to tensors


_new = object.__new__


def apply(f: Function, *tensors: Tensor) -> Tensor:
    """Run `f` on the arrays of `tensors`, and remember it where somebody wants a gradient."""
    f.inputs = tuple([t.function or t for t in tensors])
    arrays = [t.data for t in tensors]
    try:
        if type(arrays[0]) is np.ndarray:
            data = f.forward(*arrays)
            if type(data) is not np.ndarray:  # NumPy makes scalars of 0-d results
                data = np.asarray(data)
        else:
            data = _on_device(f, arrays)
    except ValueError as error:
        raise RuntimeError(f"{f.name}: {error}") from None
    if _rewritten:
        _refuse_stale_views(tensors)
    out = _new(Tensor)
    out.data = data
    out.grad = out.hooks = out.function = None
    out.requires_grad = False
    if f.requires_grad and mode.grad_enabled:
        for t in tensors:
            if t.requires_grad:
                out.requires_grad = True
                out.function = f
                f.serial = _clock()
                f.shape, f.dtype = data.shape, data.dtype
                break
    if mode.tracer is not None:
        mode.tracer(f, tensors, out)
    return out


# Two dtypes, one result


_CATEGORY = {"b": 0, "u": 1, "i": 1, "f": 2}


def result_type(*operands: Tensor | Number) -> np.dtype[Any]:
    """The dtype of a result, by PyTorch's rules. int64 and float32 give float32.

    The highest kind (bool, integer, float) among the operands wins; within it arrays decide, then 0-d
    tensors, then Python numbers.
    """
    best: tuple[int, int, np.dtype[Any]] | None = None  # kind, strength, dtype
    for operand in operands:
        if isinstance(operand, Tensor):
            dtype, strength = operand.data.dtype, 2 if operand.data.ndim else 1
        else:
            dtype, strength = as_array(operand).dtype, 0
        kind = _CATEGORY[dtype.kind]
        if best is None or (kind, strength) > best[:2]:
            best = kind, strength, dtype
        elif (kind, strength) == best[:2]:
            best = kind, strength, np.promote_types(best[2], dtype)
    if best is None:
        raise TypeError("result_type needs at least one operand")
    return best[2]


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


def binary(f: Function, a: Tensor, b: Tensor | Number, reflected: bool = False) -> Tensor:
    """Apply an operation of two operands, brought to one dtype first."""
    if not isinstance(b, Tensor):
        if isinstance(b, np.generic):
            b = b.item()
        if not isinstance(b, bool | int | float):
            if isinstance(b, np.ndarray):
                raise TypeError(f"{f.name}: one operand is a NumPy array: wrap it in tensor(...) first")
            return NotImplemented  # type: ignore[no-any-return]
        b = weak(b, a)
    if a.data.dtype is not b.data.dtype:
        dtype = result_type(a, b)
        a, b = a.to(dtype), b.to(dtype)
    return apply(f, b, a) if reflected else apply(f, a, b)


def weak(number: Number, like: Tensor) -> Tensor:
    """A Python number as a 0-d tensor: of the dtype of `like`, unless its kind is higher (integers * 0.5)."""
    xp = array_module(like.data)
    kind = like.data.dtype.kind
    if kind == "f" or (isinstance(number, int) and (kind != "b" or isinstance(number, bool))):
        return Tensor(xp.asarray(number, like.data.dtype))
    return Tensor(xp.asarray(number, np.float32 if isinstance(number, float) else np.int64))


# Reductions


Dim: TypeAlias = int | tuple[int, ...] | None


def axes(dim: Dim, ndim: int, name: str = "dim") -> tuple[int, ...]:
    """`dim` as a tuple of axes from 0 to ndim - 1; None and () are all of them."""
    dims = range(ndim) if dim is None or dim == () else (dim,) if isinstance(dim, int) else tuple(dim)
    low, high = (-ndim, ndim - 1) if ndim else (-1, 0)
    for d in dims:
        if not low <= d <= high:
            raise IndexError(f"{name}={d} is out of range: a tensor of {ndim} axes has {low} to {high}")
    found = tuple(d % ndim for d in dims) if ndim else ()
    if len(set(found)) < len(found):
        raise RuntimeError(f"{name}={dim} names an axis twice")
    return found


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
        dtype = x.dtype if x.dtype.kind == "f" else np.int64
        return x.sum(axis=axes(self.dim, x.ndim), dtype=dtype, keepdims=self.keepdim)

    def backward(self, grad: Array) -> Array:
        return self.xp.broadcast_to(self.keep(grad), self.inputs[0].shape)


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


def _sizes(sizes: tuple[Any, ...]) -> tuple[int, ...]:
    """Sizes given one by one or as one tuple, as PyTorch takes them."""
    if len(sizes) == 1 and isinstance(sizes[0], tuple | list):
        sizes = tuple(sizes[0])
    return tuple(size.__index__() for size in sizes)


def full_shape(shape: Shape, old: Shape) -> Shape:
    """`shape` with -1 replaced. Raises RuntimeError where `old` holds another number of elements."""
    total, known = math.prod(old), math.prod(n for n in shape if n != -1)
    if shape.count(-1) == 1 and known and total % known == 0:
        shape = tuple(total // known if n == -1 else n for n in shape)
    if min(shape, default=0) < 0 or math.prod(shape) != total:
        raise RuntimeError(f"reshape: {old} holds {total} numbers, which do not fit into {shape}")
    return shape


# The matrix product


class MatMul(Function):
    """x @ y of matrices, the leading axes broadcast: (..., n, k) @ (..., k, m) is (..., n, m)."""

    def forward(self, x: Array, y: Array) -> Array:
        self.saved = x if self.needs(1) else None, y if self.needs(0) else None
        return x @ y

    def backward(self, grad: Array) -> tuple[Array | None, Array | None]:
        x, y = self.saved
        gx = None if y is None else grad @ y.swapaxes(-1, -2)
        gy = None if x is None else x.swapaxes(-1, -2) @ grad
        return gx, gy


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
        flat = apply(MatMul(), input.reshape(rows, input.shape[-1]), other)
        return flat.reshape(*input.shape[:-1], other.shape[-1])
    return apply(MatMul(), input, other)


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


# Picking


class Slice(Function):
    """x[index] where the index holds integers, slices, None and `...` only: a view."""

    view = True

    def __init__(self, index: tuple[int | slice | EllipsisType | None, ...]) -> None:
        self.index = index

    def forward(self, x: Array) -> Array:
        return x[(*self.index, ...)]  # `...`: of an integer for each axis NumPy would make a copy

    def backward(self, grad: Array) -> Array:
        out = self.xp.zeros(self.inputs[0].shape, grad.dtype)
        out[self.index] = grad
        return out


def add_at(shape: Shape, pick: Callable[[Array], Array], grad: Array) -> Array:
    """Zeros of `shape`, to which each number of `grad` is added where `pick` would have taken it from.

    Where `pick` takes a number twice, both shares add up. `np.add.at` does this too, several times slower.
    """
    xp = array_module(grad)
    size = math.prod(shape)
    where = pick(xp.arange(size).reshape(shape))
    total = xp.bincount(where.reshape(-1), grad.reshape(-1), minlength=size)
    return total.astype(grad.dtype).reshape(shape)


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


# Elementwise


class Sub(Function):
    """x - y"""

    def forward(self, x: Array, y: Array) -> Array:
        return x - y

    def backward(self, grad: Array) -> tuple[Array, Array | None]:
        return grad, -grad if self.needs(1) else None


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
            gx = grad * self.xp.where(y == 0, 0, y * power(x, y - 1)).astype(grad.dtype, copy=False)
        if out is not None:  # 0 ** y does not change with y > 0, though log(0) is minus infinity
            flat = (x == 0) & (y >= 0)
            gy = grad * self.xp.where(flat, 0, out * self.xp.log(self.xp.where(flat, 1, x)))
        return gx, gy


def power(x: Array, y: Array) -> Array:
    """x ** y. Products where the exponent is a small number: NumPy's general power is six times slower."""
    if y.ndim == 0 and x.dtype.kind == "f":
        exponent = y.item()
        if exponent == 1:
            return x.copy()
        if exponent == 2:
            return x * x
        if exponent == 3:
            return x * x * x
    return x**y


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
    """The gradients where x > y goes to the first."""
    tie = (x == y) * (grad * grad.dtype.type(0.5))
    return (x > y) * grad + tie, (x < y) * grad + tie


class Neg(Function):
    """-x"""

    def forward(self, x: Array) -> Array:
        return -x

    def backward(self, grad: Array) -> Array:
        return -grad


class Log(Function):
    """The natural logarithm."""

    def forward(self, x: Array) -> Array:
        self.saved = (x,)
        return self.xp.log(x)

    def backward(self, grad: Array) -> Array:
        (x,) = self.saved
        return grad / x


class Sqrt(Function):
    def forward(self, x: Array) -> Array:
        y = self.xp.sqrt(x)
        self.saved = (y,)
        return y

    def backward(self, grad: Array) -> Array:
        (y,) = self.saved
        return grad / (2 * y)


class Tanh(Function):
    def forward(self, x: Array) -> Array:
        y = self.xp.tanh(x)
        self.saved = (y,)
        return y

    def backward(self, grad: Array) -> Array:
        (y,) = self.saved
        return grad * (1 - y * y)


class ReLU(Function):
    """max(x, 0); the derivative at 0 is 0, as in PyTorch."""

    def forward(self, x: Array) -> Array:
        y = self.xp.maximum(x, x.dtype.type(0))
        self.saved = (y,)
        return y

    def backward(self, grad: Array) -> Array:
        (y,) = self.saved
        return grad * ~(y <= 0)  # not y > 0: a nan should not vanish


class Abs(Function):
    def forward(self, x: Array) -> Array:
        self.saved = (x,)
        return abs(x)

    def backward(self, grad: Array) -> Array:
        (x,) = self.saved
        return grad * self.xp.sign(x)


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
            grad = grad * (x >= self.low)
        return grad if self.high is None else grad * (x <= self.high)


def _floating(x: Tensor) -> Tensor:
    """`x`, or x in float32 where it holds integers or booleans: their quotients and roots are no integers."""
    return x if x.data.dtype.kind == "f" else x.to(np.float32)


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
    """The smaller of each pair; equal ones share the gradient."""
    return binary(Minimum(), input, other)


# Comparisons


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


# Along axes


class ArgExtreme(Reduction):
    """The index of the first largest (or smallest) number along one axis, or among all numbers."""

    requires_grad = False

    def __init__(self, largest: bool, dim: int | None = None, keepdim: bool = False) -> None:
        super().__init__(dim, keepdim)
        self.largest = largest

    def forward(self, x: Array) -> Array:
        find = x.argmax if self.largest else x.argmin
        (dim,) = axes(self.dim, x.ndim) if self.dim is not None and x.ndim else (None,)
        index = find(axis=dim, keepdims=self.keepdim)
        return self.xp.asarray(index, np.int64)


class Truth(Reduction):
    """Whether all (or any) numbers along some axes are true."""

    requires_grad = False

    def __init__(self, every: bool, dim: Dim = None, keepdim: bool = False) -> None:
        super().__init__(dim, keepdim)
        self.every = every

    def forward(self, x: Array) -> Array:
        reduce = x.all if self.every else x.any
        return reduce(axis=axes(self.dim, x.ndim), keepdims=self.keepdim)


class CumSum(Function):
    """Running sums along one axis."""

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def forward(self, x: Array) -> Array:
        (dim,) = axes(self.dim, x.ndim) or (None,)
        return x.cumsum(axis=dim, dtype=x.dtype if x.dtype.kind == "f" else np.int64).reshape(x.shape)

    def backward(self, grad: Array) -> Array:
        if not grad.ndim:
            return grad
        return self.xp.flip(self.xp.flip(grad, self.dim).cumsum(axis=self.dim), self.dim)


class Best(NamedTuple):
    """What `max(dim)` and `min(dim)` return."""

    values: Tensor
    indices: Tensor


# Other shapes


class Flip(Function):
    """The numbers along some axes in reverse order."""

    def __init__(self, dims: tuple[int, ...]) -> None:
        self.dims = dims

    def forward(self, x: Array) -> Array:
        return self.xp.flip(x, self.dims).copy()

    def backward(self, grad: Array) -> Array:
        return self.xp.flip(grad, self.dims)


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
        return self.forward(grad)


class Clone(Function):
    """A copy."""

    def forward(self, x: Array) -> Array:
        return x.copy()

    def backward(self, grad: Array) -> Array:
        return grad


# Other indices, and joining


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


class Write(Function):
    """x with `value` in the place of x[index]; `x[index] = value` writes it into x itself."""

    def __init__(self, basic: tuple[Any, ...], layout: tuple[bool, ...]) -> None:
        self.basic, self.layout = basic, layout

    def place(self, x: Array, arrays: Sequence[Array]) -> tuple[Array, Any]:
        """The array and the index in it to write to; with arrays in the index, a view of x comes first."""
        return (x[self.basic], fill(self.layout, arrays)) if self.layout else (x, self.basic)

    def forward(self, x: Array, value: Array, *arrays: Array) -> Array:
        self.saved = arrays
        target, key = self.place(x, arrays)
        target[key] = value
        return x

    def backward(self, grad: Array) -> tuple[Array, Array]:
        rest = grad.copy()
        target, key = self.place(rest, self.saved)
        share = target[key].copy()
        target[key] = 0
        return rest, share


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
    parts[at : at + 1] = [slice(None)] * (x.ndim - taken)
    basic: list[Any] = []
    layout: list[bool] = []
    arrays: list[Tensor] = []
    for part in parts:
        if isinstance(part, Tensor):
            basic += [slice(None)] * _axes_taken(part)
            layout.append(True)
            arrays.append(part)
        else:
            basic.append(part)
            layout += [False] * (not isinstance(part, int))
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
    if not isinstance(part, Tensor):
        part = np.zeros(0, np.int64) if isinstance(part, list) and not part else as_array(part)
        part = Tensor(array_module(x.data).asarray(part))
    if part.data.dtype.kind not in "iub":
        raise IndexError(f"tensors used as indices must hold integers or booleans, not {part.dtype}")
    return part


def _axes_taken(part: Any) -> int:
    if isinstance(part, Tensor):
        return part.ndim if part.data.dtype == bool else 1
    return int(part is not None and part is not Ellipsis)


def all_slices(index: tuple[Any, ...]) -> bool:
    return all(isinstance(part, slice) and part == slice(None) for part in index)


def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors one after the other along `dim`; their other axes must agree. Also known as concatenate."""
    if not tensors:
        raise RuntimeError("cat: needs at least one tensor")
    dtype = result_type(*tensors)
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


def _axis(dim: int, x: Tensor, name: str) -> int:
    """The axis `dim` of `x`, from 0 to ndim - 1."""
    if not x.ndim:
        raise RuntimeError(f"{name}: a tensor without axes has no parts")
    return axes(dim, x.ndim)[0]


# Division


class Div(Function):
    """x / y"""

    def forward(self, x: Array, y: Array) -> Array:
        out = x / y
        self.saved = y, out if self.needs(1) else None
        return out

    def backward(self, grad: Array) -> tuple[Array | None, Array | None]:
        y, out = self.saved
        share = grad / y
        return share, None if out is None else -share * out


# Where


class Where(Function):
    """x where the condition holds, y elsewhere."""

    def forward(self, condition: Array, x: Array, y: Array) -> Array:
        self.saved = (condition,)
        return self.xp.where(condition, x, y)

    def backward(self, grad: Array) -> tuple[None, Array, Array]:
        (condition,) = self.saved
        zero = grad.dtype.type(0)
        return None, self.xp.where(condition, grad, zero), self.xp.where(condition, zero, grad)


# The largest, and ties


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
        winners = x == self.keep(y)
        count = winners.sum(axis=axes(self.dim, x.ndim), dtype=grad.dtype, keepdims=True)
        return winners * (self.keep(grad) / count)


# Permute


class Permute(Function):
    """The axes in another order."""

    view = True

    def __init__(self, dims: tuple[int, ...]) -> None:
        self.dims = dims

    def forward(self, x: Array) -> Array:
        return x.transpose(self.dims)

    def backward(self, grad: Array) -> Array:
        inverse = sorted(range(len(self.dims)), key=self.dims.__getitem__)
        return grad.transpose(inverse)


# Cat


class Cat(Function):
    """Arrays one after the other along an axis."""

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def forward(self, *arrays: Array) -> Array:
        return self.xp.concatenate(arrays, self.dim)

    def backward(self, grad: Array) -> tuple[Array, ...]:
        ends = list(itertools.accumulate(node.shape[self.dim] for node in self.inputs))
        return tuple(self.xp.split(grad, ends[:-1], self.dim))


# The engine: newest first


Node: TypeAlias = Function | Tensor  # an operation, or a leaf


def hand_out(
    f: Function, shares: Any, pending: dict[Node, Array], owned: set[Node], queue: list[tuple[int, Function]]
) -> None:
    """Add what `f` tells its inputs to what is pending for them; operations new to this go into the queue.

    `owned` holds the nodes whose pending array was made here: writing into it changes nobody else's.
    """
    for node, share in zip(f.inputs, shares if isinstance(shares, tuple) else (shares,)):
        if share is None or not node.requires_grad:
            continue
        if share.shape != node.shape:
            share = sum_to(share, node.shape)
        if share.dtype is not node.dtype:
            share = share.astype(node.dtype)
        if node not in pending:
            pending[node] = share
            if isinstance(node, Function):
                heappush(queue, (-node.serial, node))
        elif node in owned:
            pending[node] += share
        else:
            pending[node] = pending[node] + share
            owned.add(node)


def propagate(
    root: Node, seed: Array, retain_graph: bool = False, wanted: Container[Node] = ()
) -> dict[Node, tuple[Array, bool]]:
    """Send `seed`, the gradient of what `root` stands for, back through the operations that made it.

    Returns for each leaf, and for each operation in `wanted`, its gradient, and whether the array is nobody
    else's. The newest operation goes first: all that use its result are newer, so its gradient is complete.
    """
    pending: dict[Node, Array] = {root: seed}
    owned: set[Node] = set()
    found: dict[Node, tuple[Array, bool]] = {}
    queue = [] if isinstance(root, Tensor) else [(-root.serial, root)]
    while queue:
        f = heappop(queue)[1]
        gradient = pending.pop(f)
        if f.hooks is not None:
            gradient = run_hooks(f.hooks, gradient)
        if f in wanted:
            found[f] = gradient, False
        if f.saved is FREED or f.serial < _writes.last:
            refuse_unusable(f)
        on_cpu = type(gradient) is np.ndarray
        shares = f.backward(gradient) if on_cpu else _backward_on_device(f, gradient)
        if f.saved and not retain_graph:
            f.saved = FREED
        hand_out(f, shares, pending, owned, queue)
    for leaf, gradient in pending.items():
        array = run_hooks(leaf.hooks, gradient) if leaf.hooks else gradient
        found[leaf] = array, leaf in owned and array is gradient
    return found


def refuse_unusable(f: Function) -> None:
    """Raise where `f` has no longer what its backward needs."""
    if f.saved is FREED:
        raise RuntimeError(
            f"{f.name}: what backward needs was freed by an earlier backward; "
            "give that one retain_graph=True to go through the graph twice"
        )
    refuse_overwritten(f)


# What a user calls


def first_gradient(x: Tensor, gradient: Tensor | None) -> Array:
    """What backward from `x` starts with: `gradient`, or 1 where `x` is one number."""
    if not x.requires_grad:
        raise RuntimeError(
            "backward: nothing that this tensor was made of wants a gradient (requires_grad=True)"
        )
    _refuse_stale_views((x,))
    if gradient is None:
        if x.data.size != 1:
            raise RuntimeError(
                f"backward: a tensor of shape {x.shape} has many numbers; reduce it to one (.sum(), .mean()) "
                "or give their gradient"
            )
        return array_module(x.data).ones_like(x.data)
    if gradient.shape != x.shape:
        raise RuntimeError(f"backward: gradient has shape {gradient.shape}, the tensor {x.shape}")
    return gradient.data.astype(x.dtype, copy=False)


# Remember nothing


class Mode(threading.local):
    """What holds for the operations of this thread: whether they are remembered, and who else is told."""

    grad_enabled = True
    tracer: Callable[[Function, tuple[Tensor, ...], Tensor], None] | None = None


mode = Mode()


class no_grad(ContextDecorator):
    """In this block or function nothing is remembered: results have no gradient and need less memory."""

    enabled = False

    def __init__(self) -> None:
        self.before: list[bool] = []

    def __enter__(self) -> None:
        self.before.append(mode.grad_enabled)
        mode.grad_enabled = self.enabled

    def __exit__(self, *error: object) -> None:
        mode.grad_enabled = self.before.pop()


# Hooks: somebody looks on


def run_hooks(hooks: list[Callable[[Tensor], Tensor | None]], grad: Array) -> Array:
    """Show `grad` to each hook; what a hook returns takes its place."""
    for hook in list(hooks):
        changed = hook(Tensor(grad.copy()))
        if changed is not None:
            if (changed.shape, changed.dtype) != (grad.shape, grad.dtype):
                gave, had = (f"{x.dtype} of shape {x.shape}" for x in (changed, grad))
                raise RuntimeError(f"hook: gave a gradient in {gave} for one in {had}")
            grad = changed.data
    return grad


# Writing in place


@dataclass
class Writes:
    """How often and when the memory of an array was written to."""

    owner: weakref.ref[Array]
    count: int = 0
    last: int = 0  # on the clock of the operations
    last_recorded: int = 0  # the last write that operations were remembered for


class WriteLog(dict[int, Writes]):
    """All writes, by the id of the array that owns the memory."""

    last = 0  # the newest of them all


_writes = WriteLog()
_rewritten = False  # whether a write was ever remembered


def owner_of(array: Array) -> Array:
    """The array whose memory `array` looks at; views share it."""
    while isinstance(array.base, type(array)):
        array = array.base
    return array


def wrote(array: Array, recorded: bool = False) -> None:
    """Note that the memory of `array` was written to: who saved it for backward must not use it any more."""
    global _rewritten
    owner = owner_of(array)
    key = id(owner)
    if key not in _writes:
        _writes[key] = Writes(weakref.ref(owner, lambda _: _writes.pop(key, None)))
    log = _writes[key]
    log.count += 1
    log.last = _writes.last = _clock()
    if recorded:
        log.last_recorded, _rewritten = log.last, True


# Do we believe it?


class GradcheckError(RuntimeError):
    """A derivative that differs from the difference quotient."""


def gradcheck(
    func: Callable[..., Tensor],
    inputs: Tensor | Sequence[Tensor],
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
) -> bool:
    """Whether backward gives for `func` what the quotient (f(x + eps) - f(x - eps)) / (2 eps) gives.

    Inputs that want gradients must be float64: float32 has too few digits for a difference quotient. Raises
    GradcheckError with argument, index, got and expected at the first difference.
    """
    inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    asked = {i: x.function or x for i, x in enumerate(inputs) if x.requires_grad}
    if not asked or any(node.dtype != np.float64 for node in asked.values()):
        raise ValueError("gradcheck: needs at least one input with requires_grad=True, all of them float64")
    out = func(*inputs)
    weights = np.random.default_rng(0).uniform(0.5, 1.5, out.shape)  # so that each output counts differently
    found = propagate(out.function or out, weights, wanted={*asked.values()}) if out.requires_grad else {}

    def total() -> float:
        return float((func(*inputs).data * weights).sum())

    for argument, node in asked.items():
        for index in np.ndindex(node.shape):
            got = float(found[node][0][index]) if node in found else 0.0
            expected = quotient(total, inputs[argument].data, index, eps)
            if not abs(got - expected) <= atol + rtol * abs(expected):
                raise GradcheckError(
                    f"argument {argument}, index {index}: got {got:.6g} from backward, "
                    f"expected {expected:.6g} from the difference quotient"
                )
    return True


# Everyone listens: tracing


Record: TypeAlias = tuple[Function, tuple[Tensor, ...], Tensor]


@contextmanager
def record() -> Iterator[list[Record]]:
    """Collect every operation of this thread in order, also under `no_grad`: (function, inputs, output)."""
    records: list[Record] = []
    before = mode.tracer
    mode.tracer = lambda f, inputs, output: records.append((f, inputs, output))
    try:
        yield records
    finally:
        mode.tracer = before


# Random numbers


class Generator:
    """A source of random numbers: the same seed, the same numbers (not PyTorch's)."""

    def __init__(self, seed: int | None = None) -> None:
        self.numbers = np.random.default_rng(seed)

    def manual_seed(self, seed: int) -> Generator:
        """Start again from `seed`."""
        self.numbers = np.random.default_rng(seed)
        return self

    def get_state(self) -> dict[str, Any]:
        """Where it stands, as plain Python values that JSON can hold."""
        return dict(self.numbers.bit_generator.state)

    def set_state(self, state: dict[str, Any]) -> None:
        """Go back to where `get_state` was called."""
        self.numbers.bit_generator.state = state


default_generator = Generator()


def manual_seed(seed: int) -> Generator:
    """Start the default generator from `seed`."""
    return default_generator.manual_seed(seed)


def randn(
    *size: Any, generator: Generator | None = None, dtype: DTypeLike = np.float32, requires_grad: bool = False
) -> Tensor:
    """Numbers drawn from the normal distribution with mean 0 and standard deviation 1."""
    draw = (generator or default_generator).numbers.standard_normal
    return Tensor(draw(_sizes(size), dtype=_float_type(dtype)), requires_grad=requires_grad)


def _float_type(dtype: DTypeLike) -> Any:
    """float32 or float64, which is what NumPy's generators can draw."""
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise TypeError(
            f"random numbers are drawn in float32 or float64, not {np.dtype(dtype)}: cast with .to"
        )
    return np.dtype(dtype).type


# The rest of the family


class enable_grad(no_grad):
    """Remember again, within `no_grad`."""

    enabled = True


class set_grad_enabled(ContextDecorator):
    """Turn the remembering of operations on or off: from now on, for a `with` block, or for a function."""

    def __init__(self, enabled: bool) -> None:
        self.before = mode.grad_enabled
        self.enabled = mode.grad_enabled = enabled

    def __enter__(self) -> None:
        mode.grad_enabled = self.enabled

    def __exit__(self, *error: object) -> None:
        mode.grad_enabled = self.before

    def __call__(self, func: Any) -> Any:
        mode.grad_enabled = self.before  # a decorator waits until the function is called
        return super().__call__(func)

    def _recreate_cm(self) -> set_grad_enabled:
        return type(self)(self.enabled)


def is_grad_enabled() -> bool:
    return mode.grad_enabled


# In place


def _in_place(f: Function, x: Tensor, other: Tensor | Number) -> Tensor:
    """x = f(x, other), into the memory of x."""
    x._may_write(*([other] if isinstance(other, Tensor) else []))
    made = binary(f, x if x.function else x.detach(), other)
    if made is not NotImplemented:  # f may have saved the numbers that are about to go
        f.saved = tuple([array.copy() if array is x.data else array for array in f.saved])
        made = x._become(made)
    return made


def _refuse_stale_views(tensors: tuple[Tensor, ...]) -> None:
    """Raise where a view was taken before its base was written to with a history, which the view lacks."""
    for t in tensors:
        if t.function is not None and t.function.view:
            log = _writes.get(id(owner_of(t.data)))
            if log and log.last_recorded > t.function.serial:
                raise RuntimeError(
                    f"{t.function.name}: this view was taken before its base changed in place: take it again"
                )


# Tensors to begin with


def zeros(*size: Any, dtype: DTypeLike = np.float32, requires_grad: bool = False) -> Tensor:
    return Tensor(np.zeros(_sizes(size), dtype), requires_grad=requires_grad)


def ones(*size: Any, dtype: DTypeLike = np.float32, requires_grad: bool = False) -> Tensor:
    return Tensor(np.ones(_sizes(size), dtype), requires_grad=requires_grad)


def full(
    size: Sequence[int], fill_value: Number, dtype: DTypeLike | None = None, requires_grad: bool = False
) -> Tensor:
    array = np.full(tuple(size), fill_value, dtype or as_array(fill_value).dtype)
    return Tensor(array, requires_grad=requires_grad)


def zeros_like(input: Tensor, dtype: DTypeLike | None = None, requires_grad: bool = False) -> Tensor:
    return Tensor(array_module(input.data).zeros_like(input.data, dtype), requires_grad=requires_grad)


def ones_like(input: Tensor, dtype: DTypeLike | None = None, requires_grad: bool = False) -> Tensor:
    return Tensor(array_module(input.data).ones_like(input.data, dtype), requires_grad=requires_grad)


def arange(
    start: Number,
    end: Number | None = None,
    step: Number = 1,
    dtype: DTypeLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers from `start` (0 where only one is given) up to but not including `end`."""
    if end is None:
        start, end = 0, start
    if step == 0:
        raise RuntimeError(f"arange: steps of 0 never get from {start} to {end}")
    if dtype is None:
        dtype = np.int64 if all(isinstance(n, int) for n in (start, end, step)) else np.float32
    return Tensor(np.arange(start, end, step).astype(dtype), requires_grad=requires_grad)


def linspace(
    start: Number, end: Number, steps: int, dtype: DTypeLike = np.float32, requires_grad: bool = False
) -> Tensor:
    """`steps` numbers from `start` to `end`, both included, at equal distances."""
    return Tensor(np.linspace(start, end, steps).astype(dtype), requires_grad=requires_grad)


def eye(n: int, m: int | None = None, dtype: DTypeLike = np.float32, requires_grad: bool = False) -> Tensor:
    return Tensor(np.eye(n, m, dtype=dtype), requires_grad=requires_grad)


def rand(
    *size: Any, generator: Generator | None = None, dtype: DTypeLike = np.float32, requires_grad: bool = False
) -> Tensor:
    """Numbers drawn evenly from [0, 1)."""
    draw = (generator or default_generator).numbers.random
    return Tensor(draw(_sizes(size), dtype=_float_type(dtype)), requires_grad=requires_grad)


def randint(
    low: int,
    high: int | Sequence[int] | None = None,
    size: Sequence[int] = (),
    generator: Generator | None = None,
) -> Tensor:
    """Integers drawn evenly from `low` (0 where only one is given) up to but not including `high`."""
    if isinstance(high, Sequence):  # PyTorch's other form: randint(high, size)
        size, high = high, None
    if high is None:
        low, high = 0, low
    return Tensor((generator or default_generator).numbers.integers(low, high, tuple(size)))


def randperm(n: int, generator: Generator | None = None) -> Tensor:
    """The integers from 0 to n - 1 in random order."""
    return Tensor((generator or default_generator).numbers.permutation(n))


# Devices


@dataclass
class Device:
    """Where arrays of one type live: its name, the module that works on them, and kernels of our own.

    Kernels are found by Function and direction, "forward" or "backward".
    """

    name: str
    xp: Any
    kernels: dict[tuple[type[Function], str], Callable[..., Array]] = field(default_factory=dict)


DEVICES: dict[type, Device] = {np.ndarray: Device("cpu", np)}


def array_module(array: Array) -> Any:
    """NumPy, or the module of another device, that `array` belongs to."""
    return np if type(array) is np.ndarray else DEVICES[type(array)].xp


def _on_device(f: Function, arrays: list[Array]) -> Array:
    """Run `f` where its arrays are: by the kernel registered there, or else by its own forward."""
    kinds = {type(array) for array in arrays}
    if len(kinds) > 1:
        names = " and ".join(sorted(DEVICES[kind].name for kind in kinds))
        raise TypeError(f"{f.name}: its inputs are on {names}: move them to one device with .to(device)")
    device = DEVICES[kinds.pop()]
    f.xp = device.xp
    kernel = device.kernels.get((type(f), "forward"))
    return device.xp.asarray(kernel(f, *arrays) if kernel else f.forward(*arrays))


def _backward_on_device(f: Function, gradient: Array) -> Any:
    """Run the backward of `f` where `gradient` is: by the kernel registered there, or else by its own."""
    device = DEVICES.get(type(gradient))
    kernel = device and device.kernels.get((type(f), "backward"))
    return kernel(f, gradient) if kernel else f.backward(gradient)


# The quotient of gradcheck


def quotient(f: Callable[[], float], array: Array, index: tuple[int, ...], eps: float) -> float:
    """The central difference quotient of f by array[index]; the array is left as it was."""
    before = array[index]
    try:
        array[index] = before + eps
        above = f()
        array[index] = before - eps
        return (above - f()) / (2 * eps)
    finally:  # also where f raises
        array[index] = before


# grad


def grad(
    outputs: Tensor,
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | None = None,
    retain_graph: bool = False,
    allow_unused: bool = False,
) -> tuple[Tensor | None, ...]:
    """The derivatives of `outputs` with respect to each of `inputs`, which keep their own `grad` as it is.

    Raises RuntimeError for an input that plays no part, unless `allow_unused`: then its place holds None.
    """
    inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    nodes = [x.function or x for x in inputs]
    start = first_gradient(outputs, grad_outputs)
    found = propagate(outputs.function or outputs, start, retain_graph, wanted={*nodes})
    for i, node in enumerate(nodes):
        if node not in found and not allow_unused:
            raise RuntimeError(
                f"grad: input {i} plays no part in the output; give allow_unused=True to get None for it"
            )
    return tuple(Tensor(found[node][0].copy()) if node in found else None for node in nodes)


# Who wrote here?


def refuse_overwritten(f: Function) -> None:
    """Raise RuntimeError where an array that `f` saved was written to since."""
    for array in f.saved:
        log = _writes.get(id(owner_of(array))) if array is not None else None
        if log and log.last > f.serial:
            raise RuntimeError(
                f"{f.name}: an array of shape {array.shape} that backward needs was changed in place since; "
                "change a copy (x = x + 1 instead of x += 1, or x.clone())"
            )
