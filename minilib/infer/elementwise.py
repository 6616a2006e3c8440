"""Operators that work number by number, or along one axis at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np

from minilib.infer.facts import DTYPES, Fact, FactError, broadcast_shapes, flat_axes, unread
from minilib.infer.operators import boolean, broadcast, define, floats, operator, same

Array = Any

# One input

UNARY: dict[str, Callable[..., Any]] = {
    "Abs": np.abs,
    "Ceil": np.ceil,
    "Cos": np.cos,
    "Exp": np.exp,
    "Floor": np.floor,
    "Identity": lambda x: x,
    "Log": np.log,
    "Neg": np.negative,
    "Reciprocal": np.reciprocal,
    "Round": np.rint,  # halves go to the even neighbour
    "Sign": np.sign,
    "Sin": np.sin,
    "Softplus": lambda x: np.logaddexp(x, 0).astype(x.dtype),
    "Softsign": lambda x: x / (1 + np.abs(x)),
    "Sqrt": np.sqrt,
    "Tanh": np.tanh,
    "HardSwish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
}
for _name, _run in UNARY.items():
    define(_name, _run, same if _name in ("Abs", "Identity", "Neg", "Sign") else floats)
define("Not", np.logical_not, boolean)
define("IsNaN", np.isnan, boolean)
define("Relu", lambda x: np.maximum(x, 0), same)  # NaN stays NaN

# erf(x) = tanh(x q(x²)): the coefficients of q, lowest first, of a minimax fit up to x = 3.5
ERF = (1.12837927, 0.102769056, -1.91831253e-4, -6.19784296e-4, 8.76371992e-5, -5.66845589e-6, 1.41851157e-7)


@operator("Erf", floats)
def erf(x: Array) -> Array:
    """The error function; NumPy has none. float64 is computed number by number."""
    if x.dtype != np.float32:
        return np.asarray(np.frompyfunc(math.erf, 1, 1)(x), x.dtype)
    square = np.minimum(x * x, np.float32(12.25))
    q = np.full_like(x, ERF[-1])
    for coefficient in ERF[-2::-1]:
        q *= square
        q += coefficient
    q *= x
    return np.tanh(q, out=q) if q.ndim else np.tanh(q)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))  # where exp overflows, 1 / inf is the 0 that it should be


define("Sigmoid", sigmoid, floats)
define("HardSigmoid", lambda x, *, alpha=0.2, beta=0.5: np.clip(alpha * x + beta, 0, 1), floats)
define("Elu", lambda x, *, alpha=1.0: np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x), floats)
define("LeakyRelu", lambda x, *, alpha=0.01: np.where(x < 0, alpha * x, x), floats)
define("PRelu", lambda x, slope: np.where(x < 0, slope * x, x), same)
define("Mish", lambda x: x * np.tanh(np.logaddexp(x, 0).astype(x.dtype)), floats)
define("Swish", lambda x, *, alpha=1.0: x * sigmoid(alpha * x), floats)


@operator("Gelu", floats)
def gelu(x: Array, *, approximate: str = "none") -> Array:
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))))
    return 0.5 * x * (1 + erf(x * math.sqrt(0.5)))


@operator("IsInf", boolean)
def is_inf(x: Array, *, detect_negative: int = 1, detect_positive: int = 1) -> Array:
    return np.isinf(x) & ((x < 0) & bool(detect_negative) | (x > 0) & bool(detect_positive))


@operator("Clip", same)
def clip(x: Array, low: Array | None = None, high: Array | None = None) -> Array:
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)  # where low > high, high wins


def _cast_facts(x: Fact, *, to: int, **_: Any) -> Fact:
    if to not in DTYPES:
        raise FactError(f"Cast to what is {unread(to)}")
    return Fact(DTYPES[to], x.shape)


ROUNDED = ("saturate", "round_mode")  # of kinds of numbers that are not read


@operator("Cast", _cast_facts, ROUNDED)
def cast(x: Array, *, to: int, **_: Any) -> Array:
    return x if x.dtype == object else x.astype(DTYPES[to], copy=False)  # symbols stay symbols


define(
    "CastLike",
    lambda x, like, **_: x.astype(like.dtype, copy=False),
    lambda x, like, **_: Fact(like.dtype, x.shape),
    ROUNDED,
)


def _dropout_facts(x: Fact, *others: Fact | None, seed: int = 0) -> tuple[Fact, Fact]:
    return Fact(x.dtype, x.shape), Fact(np.dtype(bool), x.shape)


@operator("Dropout", _dropout_facts)
def dropout(x: Array, ratio: Any = None, training: Any = None, *, seed: int = 0) -> tuple[Array, Array]:
    """In inference nothing is dropped. Training mode is refused, unless its ratio is 0."""
    if training is not None and training and (ratio is None or ratio):
        raise ValueError("Dropout in training mode draws numbers; export the model for inference")
    return x, np.ones(x.shape, bool)


# Two inputs and more

COMPARED: dict[str, Any] = {
    "Equal": np.equal, "Greater": np.greater, "GreaterOrEqual": np.greater_equal, "Less": np.less,
    "LessOrEqual": np.less_equal, "And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor,
}  # fmt: skip
COMBINED: dict[str, Any] = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply}
OF_ALL: dict[str, Any] = {"Max": np.maximum, "Min": np.minimum, "Sum": np.add}  # of any number of inputs
for _name, _run in COMPARED.items():
    define(_name, _run, boolean)
for _name, _run in COMBINED.items():
    define(_name, _run, broadcast)


def _of_all(f: Callable[..., Any], *xs: Array) -> Array:
    return reduce(f, xs)


for _name, _run in OF_ALL.items():
    define(_name, partial(_of_all, _run), broadcast)
define("Mean", lambda *xs: reduce(np.add, xs) / np.asarray(len(xs), xs[0].dtype), broadcast)


@operator("Div", broadcast)
def div(x: Array, y: Array) -> Array:
    """Whole numbers: towards zero, as in C; NumPy's `//` goes down."""
    if object in (x.dtype, y.dtype):
        return x // y  # sizes, which are not negative
    if x.dtype.kind not in "iu":
        return np.divide(x, y)
    quotient = x // y
    return quotient + ((quotient < 0) & (quotient * y != x)).astype(x.dtype)


# The sign of y, as in Python; with `fmod` that of x, as in C.
define("Mod", lambda x, y, *, fmod=0: np.fmod(x, y) if fmod else np.mod(x, y), broadcast)


@operator("Pow", lambda x, y: Fact(x.dtype, broadcast_shapes(x.shape, y.shape)))
def power(x: Array, y: Array) -> Array:
    """Of the kind of x, whatever y is."""
    if y.size == 1 and y.ndim <= x.ndim and float(y.reshape(-1)[0]) == 2:
        return x * x  # np.power is 20 times as slow
    return np.power(x, y if x.dtype.kind == "f" else y.astype(np.float64)).astype(x.dtype)


def _where_facts(condition: Fact, x: Fact, y: Fact) -> Fact:
    return Fact(broadcast(x, y).dtype, broadcast_shapes(condition.shape, x.shape, y.shape))


define("Where", lambda condition, x, y: np.where(condition, x, y), _where_facts)


# All that works so
NUMBER_BY_NUMBER = {
    *UNARY, *COMPARED, *COMBINED, *OF_ALL, "Cast", "CastLike", "Clip", "Div", "Dropout", "Elu", "Erf", "Gelu",
    "HardSigmoid", "IsInf", "IsNaN", "LeakyRelu", "Mean", "Mish", "Mod", "Not", "PRelu", "Pow", "Relu",
    "Sigmoid", "Swish", "Where",
}  # fmt: skip

# Along axes


def axes_of(axes: Any, rank: int) -> tuple[int, ...]:
    """Axes as numbers from 0. Raises FactError where there is none of that number."""
    found = tuple(int(axis) for axis in np.asarray(axes).reshape(-1))
    if wrong := [axis for axis in found if not -rank <= axis < rank]:
        raise FactError(f"axis {wrong[0]} of an array of {rank} axes")
    return tuple(axis % rank for axis in found)


def reduce_axes(axes: Any, rank: int, noop: int) -> tuple[int, ...]:
    if axes is None or not np.size(axes):
        return () if noop else tuple(range(rank))
    return axes_of(axes, rank)


def reduce_facts(
    x: Fact, axes: Fact | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0, **_: Any
) -> Fact:
    if x.shape is None or (axes is not None and axes.value is None):
        return Fact(x.dtype, x.shape and ((None,) * len(x.shape) if keepdims else None))
    gone = reduce_axes(axes and axes.value, len(x.shape), noop_with_empty_axes)
    left = [1 if i in gone else n for i, n in enumerate(x.shape) if keepdims or i not in gone]
    return Fact(x.dtype, tuple(left))


def _largest(x: Array, axis: tuple[int, ...], sign: int) -> Array:
    """max (sign 1) or min (-1); of nothing it is the lowest (highest) number of the kind."""
    if x.dtype == bool:
        return (np.any if sign > 0 else np.all)(x, axis, keepdims=True)
    if x.size:
        return (np.max if sign > 0 else np.min)(x, axis, keepdims=True)
    info = np.finfo(x.dtype) if x.dtype.kind == "f" else np.iinfo(x.dtype)
    nothing = -sign * np.inf if x.dtype.kind == "f" else info.min if sign > 0 else info.max
    return (np.max if sign > 0 else np.min)(x, axis, keepdims=True, initial=nothing)


def _log_sum_exp(x: Array, axis: tuple[int, ...]) -> Array:
    top = _largest(x, axis, 1)
    top = np.where(np.isfinite(top), top, 0).astype(x.dtype)  # or inf - inf would be NaN
    return np.log(np.sum(np.exp(x - top), axis, keepdims=True)) + top


def _sum(x: Array, axis: tuple[int, ...]) -> Array:
    return np.sum(x, axis, keepdims=True, dtype=x.dtype)


REDUCTIONS: dict[str, Callable[..., Any]] = {
    "ReduceSum": _sum,
    "ReduceMean": lambda x, axis: np.mean(x, axis, keepdims=True),
    "ReduceProd": lambda x, axis: np.prod(x, axis, keepdims=True),
    "ReduceMax": lambda x, axis: _largest(x, axis, 1),
    "ReduceMin": lambda x, axis: _largest(x, axis, -1),
    "ReduceL1": lambda x, axis: _sum(np.abs(x), axis),
    "ReduceL2": lambda x, axis: np.sqrt(_sum(x * x, axis)),
    "ReduceLogSum": lambda x, axis: np.log(_sum(x, axis)),
    "ReduceLogSumExp": _log_sum_exp,
    "ReduceSumSquare": lambda x, axis: _sum(x * x, axis),
}


def _reduction(
    f: Callable[..., Any], x: Array, axes: Any = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0
) -> Array:
    axis = reduce_axes(axes, x.ndim, noop_with_empty_axes)
    made = np.asarray(f(x, axis)).astype(x.dtype, copy=False)
    return made if keepdims else made.reshape([n for i, n in enumerate(x.shape) if i not in axis])


for _name, _run in REDUCTIONS.items():
    define(_name, partial(_reduction, _run), reduce_facts)


def _arg_facts(x: Fact, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Fact:
    if x.shape is None:
        return Fact(np.dtype(np.int64), None)
    reduced = reduce_facts(x, Fact.of(np.array([axis])), keepdims=keepdims)
    return Fact(np.dtype(np.int64), reduced.shape)


def _arg(f: Any, x: Array, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Array:
    (axis,) = axes_of([axis], x.ndim)
    found = f(np.flip(x, axis) if select_last_index else x, axis, keepdims=bool(keepdims))
    return x.shape[axis] - 1 - found if select_last_index else found


define("ArgMax", partial(_arg, np.argmax), _arg_facts)
define("ArgMin", partial(_arg, np.argmin), _arg_facts)


def _rows(run: Callable[[Array], Array]) -> Callable[..., Array]:
    """An operator of rows along `axis`; up to opset 12 (`flat`) all axes from there on were one row."""

    def along(x: Array, *, axis: int = -1, flat: int = 0) -> Array:
        if flat:
            return run(x.reshape(flat_axes(x.shape, axis))).reshape(x.shape)
        return np.moveaxis(run(np.moveaxis(x, axis, -1)), -1, axis)

    return along


def softmax_rows(x: Array) -> Array:
    e = np.exp(x - _largest(x, (-1,), 1))
    return e / e.sum(-1, keepdims=True)


def _log_softmax_rows(x: Array) -> Array:
    x = x - _largest(x, (-1,), 1)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def _hardmax_rows(x: Array) -> Array:
    return (np.arange(x.shape[-1]) == x.argmax(-1, keepdims=True)).astype(x.dtype)


define("Softmax", _rows(softmax_rows), floats)
define("LogSoftmax", _rows(_log_softmax_rows), floats)
define("Hardmax", _rows(_hardmax_rows), floats)


@operator("CumSum", same)
def cumsum(x: Array, axis: Array, *, exclusive: int = 0, reverse: int = 0) -> Array:
    (along,) = axes_of(axis, x.ndim)
    x = np.flip(x, along) if reverse else x
    total = np.cumsum(x, along, dtype=x.dtype)
    total = total - x if exclusive else total
    return np.flip(total, along) if reverse else total
