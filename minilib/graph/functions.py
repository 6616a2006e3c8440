"""The functions of TensorFlow 1 that make nodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from minilib import operations as ops
from minilib.dims import Dim
from minilib.engine import Function
from minilib.graph import kinds
from minilib.graph.nodes import (
    XP,
    Node,
    binary,
    constant,
    divide,
    get_default_graph,
    make,
    sizes,
    source,
    unknown,
)  # fmt: skip
from minilib.graph.shapes import Shape

__all__ = [
    "abs", "add", "argmax", "argmin", "bool", "cast", "clip_by_value", "concat", "convert_to_tensor",
    "cos", "div", "divide", "equal", "exp", "expand_dims", "fill", "float32", "float64", "greater",
    "greater_equal", "identity", "int32", "int64", "less", "less_equal", "log", "logical_and",
    "logical_not", "logical_or", "matmul", "maximum", "minimum", "multiply", "negative", "not_equal",
    "one_hot", "ones", "ones_like", "placeholder", "pow", "random_normal", "random_uniform",
    "reduce_max", "reduce_mean", "reduce_min", "reduce_sum", "reshape", "set_random_seed", "shape",
    "sigmoid", "sin", "slice", "split", "sqrt", "square", "squeeze", "stack", "stop_gradient",
    "subtract", "tanh", "transpose", "truncated_normal", "where", "while_loop", "zeros", "zeros_like",
]  # fmt: skip

float32, float64 = np.dtype("float32"), np.dtype("float64")
int32, int64, bool = np.dtype("int32"), np.dtype("int64"), np.dtype("bool")
_SHORT = {"float": float32, "double": float64, "int": int32}


def _dtype(name: Any) -> Any:
    short: Any = _SHORT.get(name, name) if isinstance(name, str) else name
    return np.dtype(short)


# Sources


def placeholder(dtype: Any, shape: Any = None, name: str = "Placeholder") -> Node:
    """A node that each run gives a value to. None for an axis takes any length, None for all any axes."""
    node = source(kinds.Placeholder(), None, _dtype(dtype), name)
    if shape is not None:
        node.known_shape = Shape(unknown(node.name, (shape,) if isinstance(shape, int) else shape))
    return node


def fill(dims: Any, value: Any, dtype: Any = None, name: str | None = None) -> Node:
    number = constant(value, dtype).f.value
    return source(kinds.Fill(sizes(dims), number.item(), number.dtype), dims, number.dtype, name or "Fill")


def zeros(shape: Any, dtype: Any = float32, name: str | None = None) -> Node:
    return source(kinds.Fill(sizes(shape), 0, _dtype(dtype)), shape, _dtype(dtype), name or "zeros")


def ones(shape: Any, dtype: Any = float32, name: str | None = None) -> Node:
    return source(kinds.Fill(sizes(shape), 1, _dtype(dtype)), shape, _dtype(dtype), name or "ones")


def zeros_like(tensor: Any, name: str | None = None) -> Node:
    return XP.zeros_like(convert_to_tensor(tensor))


def ones_like(tensor: Any, name: str | None = None) -> Node:
    return XP.ones_like(convert_to_tensor(tensor))


def convert_to_tensor(value: Any, dtype: Any = None, name: str = "Const") -> Node:
    return value if isinstance(value, Node) else constant(value, dtype, name=name)


def set_random_seed(seed: int | None) -> None:
    """What draws of this graph made from now on begin with, each with another number."""
    get_default_graph().seed = seed


def _draw(method: str, shape: Any, dtype: Any, seed: int | None, **options: Any) -> Node:
    graph = get_default_graph()
    if seed is None and graph.seed is not None:
        seed = graph.seed + len(graph.nodes)
    return source(
        kinds.Draw(method, sizes(shape), _dtype(dtype), seed, options), shape, _dtype(dtype), method
    )


def random_normal(
    shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = float32, seed: int | None = None,
    name: str | None = None,
) -> Node:  # fmt: skip
    """Numbers from N(mean, stddev²), new ones in each run."""
    return _draw("normal", shape, dtype, seed, loc=mean, scale=stddev)


def truncated_normal(
    shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = float32, seed: int | None = None,
    name: str | None = None,
) -> Node:  # fmt: skip
    """The same held within two standard deviations: what lies further out is moved there."""
    drawn = _draw("normal", shape, dtype, seed, loc=0.0, scale=1.0)
    return clip_by_value(drawn, -2.0, 2.0) * stddev + mean


def random_uniform(
    shape: Any, minval: float = 0.0, maxval: float = 1.0, dtype: Any = float32, seed: int | None = None,
    name: str | None = None,
) -> Node:  # fmt: skip
    """Numbers from U[minval, maxval), new ones in each run."""
    return _draw("uniform", shape, dtype, seed, low=minval, high=maxval)


# One number at a time


def _one(kind: type[Function]) -> Callable[..., Node]:
    def function(x: Any, name: str | None = None) -> Node:
        return make(kind(), x, name=name)

    return function


def _two(kind: Callable[..., Function], *options: Any) -> Callable[..., Node]:
    def function(x: Any, y: Any, name: str | None = None) -> Node:
        return binary(kind(*options), x, y, name=name)

    return function


tanh, sigmoid, exp, log, sin, cos, sqrt, negative, abs, logical_not = map(
    _one,
    (
        ops.Tanh, ops.Sigmoid, ops.Exp, ops.Log, ops.Sin, ops.Cos, ops.Sqrt, ops.Neg, ops.Abs, ops.Invert,
    ),
)  # fmt: skip
add, subtract, multiply, pow, maximum, minimum = map(
    _two, (ops.Add, ops.Sub, ops.Mul, ops.Pow, ops.Maximum, ops.Minimum)
)
equal, not_equal, less, less_equal, greater, greater_equal, logical_and, logical_or = (
    _two(ops.Compare, sign) for sign in ("==", "!=", "<", "<=", ">", ">=", "&", "|")
)
div = divide


def square(x: Any, name: str | None = None) -> Node:
    return make(ops.Mul(), x, x, name=name)


def clip_by_value(t: Any, clip_value_min: float, clip_value_max: float, name: str | None = None) -> Node:
    return make(ops.Clip(clip_value_min, clip_value_max), t, name=name)


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Node:
    """x where the condition holds, y elsewhere. Raises ValueError without them: places are not done here."""
    if x is None or y is None:
        raise ValueError(
            "where: give x and y too; the places where a condition holds have no shape before a run"
        )
    return XP.where(convert_to_tensor(condition), x, y)


def cast(x: Any, dtype: Any, name: str | None = None) -> Node:
    return convert_to_tensor(x).astype(_dtype(dtype))


def identity(input: Any, name: str | None = None) -> Node:
    return make(kinds.Identity(), input, name=name)


def stop_gradient(input: Any, name: str | None = None) -> Node:
    """x itself, which counts as a constant."""
    return make(kinds.Stop(), input, name=name)


# Along axes


def _along(kind: Callable[..., Function]) -> Callable[..., Node]:
    def reduce(
        input_tensor: Any, axis: Any = None, keepdims: Any = False, name: str | None = None,
        reduction_indices: Any = None, keep_dims: Any = False,
    ) -> Node:  # fmt: skip
        axis = reduction_indices if axis is None else axis
        axis = tuple(axis) if isinstance(axis, list) else axis
        return make(kind(axis, keepdims or keep_dims), input_tensor, name=name)

    return reduce


reduce_sum = _along(ops.LongSum)
reduce_max = _along(lambda axis, keep: ops.Extreme(True, axis, keep))
reduce_min = _along(lambda axis, keep: ops.Extreme(False, axis, keep))


def reduce_mean(
    input_tensor: Any, axis: Any = None, keepdims: Any = False, name: str | None = None,
    reduction_indices: Any = None, keep_dims: Any = False,
) -> Node:  # fmt: skip
    """The mean along `axis`, None for all. Of an unknown length the divisor is a symbol."""
    x = convert_to_tensor(input_tensor)
    axis = reduction_indices if axis is None else axis
    axis = tuple(axis) if isinstance(axis, list) else axis
    total = reduce_sum(x, axis, keepdims or keep_dims)
    if x.shape is None:
        return divide(total, make(kinds.CountOf(), x), name=name)
    n = math.prod(x.shape[i] for i in ops.axes(axis, x.ndim))
    count = source(kinds.SizeOf(n, x.dtype), (), x.dtype) if isinstance(n, Dim) else n
    return divide(total, count, name=name)


def argmax(
    input: Any, axis: int | None = None, name: str | None = None, dimension: int | None = None
) -> Node:
    """The index of the largest along `axis` (0 if none is given)."""
    return make(ops.ArgExtreme(True, axis if axis is not None else dimension or 0), input, name=name)


def argmin(input: Any, axis: int | None = None, name: str | None = None) -> Node:
    return make(ops.ArgExtreme(False, axis or 0), input, name=name)


def matmul(
    a: Any, b: Any, transpose_a: Any = False, transpose_b: Any = False, name: str | None = None
) -> Node:  # fmt: skip
    """The matrix product. Raises ValueError, here and not in a run, where the inner dimensions differ."""
    a, b = convert_to_tensor(a), convert_to_tensor(b)
    if a.dtype != b.dtype:
        raise TypeError(f"matmul: {a.name} is {a.dtype}, {b.name} is {b.dtype}: cast one with tf.cast")
    a = a.swapaxes(-1, -2) if transpose_a else a
    return make(ops.MatMul(), a, b.swapaxes(-1, -2) if transpose_b else b, name=name)


# Shapes


def reshape(tensor: Any, shape: Any, name: str | None = None) -> Node:
    """The same numbers under another shape; one length may be -1, and others numbers out of tf.shape."""
    return convert_to_tensor(tensor).reshape(sizes(shape))


def transpose(a: Any, perm: Any = None, name: str | None = None) -> Node:
    return convert_to_tensor(a).transpose(*(perm or ()))


def expand_dims(input: Any, axis: int, name: str | None = None) -> Node:
    x = convert_to_tensor(input)
    axis %= x.ndim + 1
    return x.reshape((*x.shape[:axis], 1, *x.shape[axis:]))


def squeeze(input: Any, axis: Any = None, name: str | None = None) -> Node:
    return convert_to_tensor(input).squeeze(tuple(axis) if isinstance(axis, list) else axis)


def concat(values: Sequence[Any], axis: int, name: str | None = None) -> Node:
    nodes = [convert_to_tensor(value) for value in values]
    return make(ops.Cat(axis % nodes[0].ndim), *nodes, name=name)


def stack(values: Sequence[Any], axis: int = 0, name: str | None = None) -> Node:
    return concat([expand_dims(value, axis) for value in values], axis, name)


def split(value: Any, num_or_size_splits: Any, axis: int = 0, name: str | None = None) -> list[Node]:
    """Parts along an axis: so many of one length, or of given lengths."""
    x = convert_to_tensor(value)
    n, parts = x.shape[axis], num_or_size_splits
    lengths = [n // parts] * parts if isinstance(parts, int) else list(parts)
    return XP.split(x, list(np.cumsum(lengths)[:-1].tolist()), axis % x.ndim)


def slice(input_: Any, begin: Sequence[int], size: Sequence[int], name: str | None = None) -> Node:
    """`size` numbers from `begin` on along each axis; -1 is all that are left."""
    cut = __builtins__["slice"] if isinstance(__builtins__, dict) else __builtins__.slice
    return convert_to_tensor(input_)[tuple(cut(b, None if n == -1 else b + n) for b, n in zip(begin, size))]


def shape(input: Any, name: str | None = None, out_type: Any = int32) -> Node:
    """The shape as a node of integers: known now where all lengths are, else in the run."""
    x = convert_to_tensor(input)
    if x.shape is not None and not any(isinstance(n, Dim) for n in x.shape):
        return constant(np.asarray(x.shape, out_type))
    return make(kinds.ShapeOf(out_type), x, name=name)


def one_hot(indices: Any, depth: int, on_value: Any = 1, off_value: Any = 0, dtype: Any = float32) -> Node:
    """Each integer as a row with `on_value` in its place."""
    x = convert_to_tensor(indices)
    found = equal(expand_dims(x, -1), constant(np.arange(depth, dtype=x.dtype)))
    return XP.where(found, constant(on_value, dtype), constant(off_value, dtype))


def while_loop(*_: Any, **__: Any) -> NoReturn:
    """Not here: a loop stands in Python, around `run`."""
    raise NotImplementedError(
        "while_loop: a graph here has no loops: write the loop in Python around session.run"
    )
