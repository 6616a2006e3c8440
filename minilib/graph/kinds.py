"""What a node of a graph can be, beside the operations that tensors have.

`Source` has no inputs, `Effect` reads or changes what a session keeps, `Fused` is an operation of
`minilib.functional`, whose forward and backward are taken as they are, and `Loop` is several operations on
each element as one.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from minilib.dims import Size
from minilib.engine import Array, Function, sum_to
from minilib.operations import add_at, fill

# Sources


class Source(Function):
    """What is there before the program runs."""


class Placeholder(Source):
    """A number or an array that each run is given."""


class Constant(Source):
    """An array that never changes."""

    def __init__(self, value: Array) -> None:
        self.value = value

    def forward(self) -> Array:
        return self.value


class Fill(Source):
    """One number at each place of a shape that may hold symbols."""

    def __init__(self, shape: tuple[Size, ...], number: Any, dtype: Any) -> None:
        self.to, self.number, self.dtype = shape, number, np.dtype(dtype)

    def forward(self) -> Array:
        shape: Any = self.to
        return np.full(shape, self.number, self.dtype)


class SizeOf(Source):
    """A size as a number: a mean over an unknown batch divides by a symbol, and not by a number."""

    def __init__(self, size: Size, dtype: Any) -> None:
        self.size, self.dtype = size, np.dtype(dtype)

    def forward(self) -> Array:
        return np.asarray(self.size, self.dtype)


# Effects


class Effect(Function):
    """What reads or changes the state of a session, so that no two of them are one."""

    requires_grad = False
    writes: Any = ()  # the variables that it may give other values

    def act(self, state: dict[Any, Array], *arrays: Array) -> Any:
        raise NotImplementedError


class Stored(Effect, Source):
    """The value of a variable, in the session that runs."""

    requires_grad = True


class Assign(Effect):
    """Gives a variable a new value, which is also the result."""

    def __init__(self, variable: Any) -> None:
        self.variable = variable

    writes = property(lambda self: (self.variable,))

    def act(self, state: dict[Any, Array], value: Array) -> Array:
        state[self.variable] = fitting(self.variable, value)
        return value


def fitting(variable: Any, value: Any) -> Array:
    """A new array for a variable: a view of the earlier value may still have to be read.

    Raises ValueError for another shape than the variable's.
    """
    array, shape = np.array(value, variable.dtype), variable.shape
    if shape is not None and array.shape != shape and all(isinstance(n, int) for n in shape):
        raise ValueError(misfit(variable, array.shape))
    return array


def misfit(variable: Any, shape: Any) -> str:
    told = f"assign: shape {shape} into {variable.name} of shape {variable.shape}"
    return f"{told}: only what tf.Variable(..., validate_shape=False) made takes any"


class Draw(Effect, Source):
    """Random numbers, new ones in each run."""

    def __init__(
        self, method: str, shape: tuple[Size, ...], dtype: Any, seed: int | None, options: Any
    ) -> None:
        self.method, self.to, self.dtype, self.options = method, shape, np.dtype(dtype), options
        self.generator = np.random.default_rng(seed)

    def act(self, state: dict[Any, Array]) -> Array:
        return getattr(self.generator, self.method)(size=self.to, **self.options).astype(self.dtype)


class Truncated(Draw):
    """Normal numbers, drawn again where they lie further out than two standard deviations."""

    def act(self, state: dict[Any, Array]) -> Array:
        made = np.asarray(super().act(state))
        while (far := np.abs(made) > 2).any():
            made[far] = self.generator.normal(size=far.sum())
        return made


class Nothing(Effect):
    """No value: it is run for what has to come before it."""

    def act(self, state: dict[Any, Array]) -> None:
        return None


class Guard(Effect):
    """Raises where a condition is not what it was when a program was traced."""

    def __init__(self, was: bool, of: str) -> None:
        self.was, self.of = was, of

    def act(self, state: dict[Any, Array], condition: Array) -> None:
        if bool(condition) != self.was:
            raise ValueError(
                f"this program was traced where {self.of} was {self.was}, and now it is {not self.was}: the "
                "other branch is not in it; trace again with such an example"
            )


# Shapes that only the run knows


class Identity(Function):
    """x itself."""

    view = True

    def forward(self, x: Array) -> Array:
        return x

    def backward(self, grad: Array) -> Array:
        return grad


class Stop(Identity):
    """x itself, which counts as a constant."""

    requires_grad = False


class ShapeOf(Function):
    """The lengths of the axes, as integers."""

    requires_grad = False

    def __init__(self, dtype: Any) -> None:
        self.dtype = np.dtype(dtype)

    def forward(self, x: Array) -> Array:
        return np.asarray(x.shape, self.dtype)


class CountOf(Function):
    """How many numbers x has, in its dtype."""

    requires_grad = False

    def forward(self, x: Array) -> Array:
        return np.asarray(x.size, x.dtype)


class SumTo(Function):
    """The sum over the axes that broadcasting from a shape has added or repeated."""

    def __init__(self, shape: tuple[Size, ...]) -> None:
        self.to = shape

    def forward(self, x: Array) -> Array:
        shape: Any = self.to
        return sum_to(x, shape)

    def backward(self, grad: Array) -> Array:
        return self.xp.broadcast_to(grad, self.inputs[0].shape)


class SumLike(Function):
    """`SumTo` the shape of y, which is known when the program runs."""

    def forward(self, x: Array, y: Array) -> Array:
        return sum_to(x, y.shape)


class ExpandLike(Function):
    """x repeated to the shape of y, which is known when the program runs."""

    def forward(self, x: Array, y: Array) -> Array:
        return np.broadcast_to(x, y.shape)

    def backward(self, grad: Array) -> tuple[Array, None]:
        return grad, None  # summed to the shape of x, as after any broadcasting


class Place(Function):
    """Zeros of a shape, with x in the place of [index]: what undoes a slice."""

    def __init__(self, index: tuple[Any, ...], shape: tuple[Size, ...]) -> None:
        self.index, self.to = index, shape

    def forward(self, x: Array) -> Array:
        shape: Any = self.to
        out = np.zeros(shape, x.dtype)
        out[self.index] = x
        return out

    def backward(self, grad: Array) -> Array:
        return grad[self.index]


class Scatter(Function):
    """Zeros of a shape, to which x is added at places that arrays name: what undoes a `Select`."""

    def __init__(self, layout: tuple[bool, ...], shape: tuple[Size, ...]) -> None:
        self.layout, self.to = layout, shape

    def forward(self, x: Array, *arrays: Array) -> Array:
        key, shape = fill(self.layout, arrays), self.to
        return add_at(shape, lambda zeros: zeros[key], x)  # type: ignore[arg-type]


# Operations that are taken whole


class Leaf:
    """What an operation asks of its inputs, where these are no tensors."""

    __slots__ = ("dtype", "requires_grad", "shape")

    def __init__(self, shape: Any, dtype: Any, requires_grad: bool) -> None:
        self.shape, self.dtype, self.requires_grad = shape, dtype, requires_grad


NO_GRADIENT = Leaf((), None, False)  # an input of an operation that runs: forward need not save anything


class Fused(Function):
    """An operation whose forward works on arrays only. The result: its own, and itself with what it saved."""

    def __init__(self, f: Function, needs: Sequence[bool]) -> None:
        self.f, self.needs_grad = copy.copy(f), tuple(needs)
        self.saved_bytes = 0
        self.keeps: tuple[int, ...] = ()  # which inputs it has saved as they are
        self.f.inputs, self.f.saved, self.f.xp = (), (), np
        vars(self.f).pop("pair", None)

    @property
    def name(self) -> str:
        return self.f.name

    def forward(self, *arrays: Array) -> tuple[Array, Function]:
        f: Any = copy.copy(self.f)
        f.inputs = tuple(Leaf(x.shape, x.dtype, need) for x, need in zip(arrays, self.needs_grad))
        return np.asarray(f.forward(*arrays)), f


class FusedBackward(Function):
    """The gradients of a `Fused` operation, from what its forward has saved; they have no gradient again."""

    def __init__(self, of: str) -> None:
        self.of = of
        self.one = False  # whether it is one gradient, and no tuple

    @property
    def name(self) -> str:
        return f"{self.of}Backward"

    def forward(self, ran: tuple[Array, Function], grad: Array) -> tuple[Array | None, ...]:
        made = ran[1].backward(grad)
        self.one = not isinstance(made, tuple)
        return made if isinstance(made, tuple) else (made,)


class Part(Function):
    """One of several results: by its number, or an attribute of the operation by its name."""

    view = True

    def __init__(self, key: int | str) -> None:
        self.key = key

    def forward(self, results: Any) -> Array:
        return vars(results[1])[self.key] if isinstance(self.key, str) else results[self.key]


# Operations that run as one


class Loop(Function):
    """Operations on each element alone, as one: each input is read once, and each result written once.

    A step is an operation with its operands: a number, of an input or, behind these, of an earlier step's
    result, or else a constant; `dtypes` are those of their results. `results` are the numbers of what is
    handed out. It has no gradient: one that was taken before is in the loop.
    """

    requires_grad = False

    def __init__(
        self, steps: Sequence[tuple[Function, tuple[int | Array, ...]]], dtypes: Sequence[Any],
        results: Sequence[int],
    ) -> None:  # fmt: skip
        self.steps, self.dtypes, self.results = tuple(steps), tuple(dtypes), tuple(results)

    def forward(self, *arrays: Array) -> tuple[Array, ...]:
        values = list(arrays)
        for f, operands in self.steps:
            values.append(np.asarray(f.forward(*(values[x] if isinstance(x, int) else x for x in operands))))
        return tuple(values[i] for i in self.results)
