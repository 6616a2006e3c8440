"""The functions of TensorFlow 1 that make nodes, with `name` for what they make."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from minilib import operations as ops
from minilib.dims import Dim
from minilib.graph import kinds, nodes
from minilib.graph.device import XP
from minilib.graph.names import dtype_called, named
from minilib.graph.nodes import Node, constant, make, one, source, two
from minilib.graph.programs import get_default_graph
from minilib.graph.shapes import Shape, shown, sizes, unknown

__all__ = [
    "abs", "add", "add_n", "argmax", "argmin", "bool", "cast", "clip_by_value", "concat",
    "convert_to_tensor", "cos", "div", "divide", "equal", "exp", "expand_dims", "fill", "float16",
    "float32", "float64", "gather", "greater", "greater_equal", "identity", "int32", "int64", "less",
    "less_equal", "log", "logical_and", "logical_not", "logical_or", "matmul", "maximum", "minimum",
    "multiply", "negative", "newaxis", "not_equal", "one_hot", "ones", "ones_like", "placeholder", "pow",
    "random_normal", "random_uniform", "reduce_all", "reduce_any", "reduce_max", "reduce_mean",
    "reduce_min", "reduce_sum", "reshape", "set_random_seed", "shape", "sigmoid", "sin", "slice", "split",
    "sqrt", "square", "squared_difference", "squeeze", "stack", "stop_gradient", "subtract", "tanh", "tile",
    "transpose", "truncated_normal", "uint8", "unstack", "where", "while_loop", "zeros", "zeros_like",
]  # fmt: skip

float16, float32, float64, uint8, int32, int64, bool = map(
    np.dtype, ("float16", "float32", "float64", "uint8", "int32", "int64", "bool")
)
newaxis = None


# Sources


def placeholder(dtype: Any, shape: Any = None, name: str = "Placeholder") -> Node:
    """A node that each run gives a value to. None for an axis takes any length, None for all any axes."""
    node = source(kinds.Placeholder(), None, dtype_called(dtype), name)
    if shape is not None:
        node.known_shape = Shape(unknown(node.name, (shape,) if isinstance(shape, int) else shape))
    return node


@named
def fill(dims: Any, value: Any, name: str | None = None) -> Node:
    number = constant(value).f.value
    return XP.full(dims, number.item(), number.dtype)


def _filled(number: int, name: str) -> tuple[Callable[..., Node], Callable[..., Node]]:
    full = named(lambda shape, dtype=float32, name=name: XP.full(shape, number, dtype_called(dtype)))
    like = named(
        lambda tensor, dtype=None, name=None: _like(XP.full_like(convert_to_tensor(tensor), number), dtype)
    )
    return full, like


def _like(made: Node, dtype: Any) -> Node:
    return made if dtype is None else made.astype(dtype_called(dtype))


(zeros, zeros_like), (ones, ones_like) = _filled(0, "zeros"), _filled(1, "ones")


convert_to_tensor = nodes.as_node


def set_random_seed(seed: int | None) -> None:
    """What draws of this graph made from now on begin with, each with another number."""
    get_default_graph().seed = seed


def _draw(
    method: str, shape: Any, dtype: Any, seed: Any, kind: type[kinds.Draw] = kinds.Draw, **options: Any
) -> Node:
    graph = get_default_graph()
    if seed is None and graph.seed is not None:
        seed = graph.seed + len(graph.nodes)
        seed = seed if graph.writing is None else [seed, len(graph.writing)]  # within a side of a cond
    f = kind(method, sizes(shape), dtype_called(dtype), seed, options)
    return source(f, shape, dtype_called(dtype), method)


@named
def random_normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, seed: Any = None,
    name: str | None = None,
) -> Node:  # fmt: skip
    """Numbers from N(mean, stddev²), new ones in each run."""
    return _draw("normal", shape, dtype, seed, loc=mean, scale=stddev)


@named
def truncated_normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, seed: Any = None,
    name: str | None = None,
) -> Node:  # fmt: skip
    """The same within two standard deviations: what lies further out is drawn again."""
    return _draw("normal", shape, dtype, seed, kinds.Truncated) * stddev + mean


@named
def random_uniform(
    shape: Any, minval: Any = 0.0, maxval: Any = 1.0, dtype: Any = float32, seed: Any = None,
    name: str | None = None,
) -> Node:  # fmt: skip
    """Numbers from U[minval, maxval), new ones in each run."""
    return _draw("uniform", shape, dtype, seed, low=minval, high=maxval)


# One number at a time


tanh, sigmoid, exp, log, sin, cos, sqrt, negative, abs, logical_not, identity, stop_gradient = map(
    one,
    (
        ops.Tanh(), ops.Sigmoid(), ops.Exp(), ops.Log(), ops.Sin(), ops.Cos(), ops.Sqrt(), ops.Neg(),
        ops.Abs(), ops.Invert(), kinds.Identity(), kinds.Stop(),
    ),
)  # fmt: skip
add, subtract, multiply, pow, maximum, minimum = map(
    two, (ops.Add(), ops.Sub(), ops.Mul(), ops.Pow(), ops.Maximum(), ops.Minimum())
)
equal, not_equal, less, less_equal, greater, greater_equal, logical_and, logical_or = (
    two(ops.Compare(sign)) for sign in ("==", "!=", "<", "<=", ">", ">=", "&", "|")
)
divide = nodes.divide


def div(x: Any, y: Any, name: str | None = None) -> Node:
    """x / y; of integers the whole number below it."""
    x, y = nodes.alike(x, y)
    return divide(x, y, name) if "f" in (x.dtype.kind, y.dtype.kind) else two(ops.FloorDivide())(x, y, name)


def square(x: Any, name: str | None = None) -> Node:
    return make(ops.Mul(), x, x, name=name)


def squared_difference(x: Any, y: Any, name: str | None = None) -> Node:
    return square(subtract(x, y), name)


def add_n(inputs: Sequence[Any], name: str | None = None) -> Node:
    first, *others = inputs
    return add(add_n(others), first, name) if others else identity(first, name)


@named
def clip_by_value(t: Any, clip_value_min: float, clip_value_max: float, name: str | None = None) -> Node:
    return make(ops.Clip(clip_value_min, clip_value_max), t)


@named
def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Node:
    """x where the condition holds, y elsewhere; of matrices a vector picks rows.

    Raises ValueError without x and y: places are not done here.
    """
    if x is None or y is None:
        raise ValueError("where: give x and y too: how many places there are is not known before a run")
    condition, (x, y) = convert_to_tensor(condition), nodes.alike(x, y)
    nodes.same_dtype("where", x, y)
    if condition.shape is not None and x.shape is not None and condition.ndim == 1 < x.ndim:
        condition = condition.reshape((*condition.shape, *[1] * (x.ndim - 1)))
    return XP.where(condition, x, y)


@named
def cast(x: Any, dtype: Any, name: str | None = None) -> Node:
    return convert_to_tensor(x).astype(dtype_called(dtype))


# Along axes


def _reduction(made: Callable[[Node, Any, Any], Node]) -> Callable[..., Node]:
    """A function along an axis, or several, None for all, whose result has the dtype of what it is given."""

    @named
    def reduce(
        input_tensor: Any, axis: Any = None, keepdims: Any = False, name: str | None = None,
        reduction_indices: Any = None, keep_dims: Any = False,
    ) -> Node:  # fmt: skip
        x, dims = convert_to_tensor(input_tensor), _dims(axis, reduction_indices)
        found = make(kinds.Identity(), x) if dims == () else made(x, dims, keepdims or keep_dims)
        return found if x.dtype.kind == "b" else found.astype(x.dtype)  # booleans are counted

    return reduce


def _dims(axis: Any, older: Any) -> Any:
    """The axes of a reduction: () is none, and None all."""
    axis = either(axis, older)
    return None if axis is None else sizes(axis)


def either(axis: Any, older: Any, default: Any = None) -> Any:
    """An axis, which older programs give by another name. Raises ValueError for both."""
    if axis is not None and older is not None:
        raise ValueError(f"the axis is given twice, as {axis} and, by its older name, as {older}")
    return axis if axis is not None else older if older is not None else default


def _mean(x: Node, dims: Any, keep: Any) -> Node:
    """The sum, divided by how many there are: of an unknown length by a symbol."""
    total = make(ops.LongSum(dims, keep), x)
    if x.shape is None:
        return divide(total.astype(x.dtype), make(kinds.CountOf(), x))
    n = math.prod(x.shape[i] for i in ops.axes(dims, x.ndim))
    count = source(kinds.SizeOf(n, x.dtype), (), x.dtype) if isinstance(n, Dim) else n
    return divide(total.astype(x.dtype), count)


reduce_sum, reduce_mean, reduce_max, reduce_min, reduce_all, reduce_any = map(
    _reduction,
    (
        lambda x, dims, keep: make(ops.LongSum(dims, keep), x), _mean,
        lambda x, dims, keep: x.max(dims, keep), lambda x, dims, keep: x.min(dims, keep),
        lambda x, dims, keep: x.all(dims, keep), lambda x, dims, keep: x.any(dims, keep),
    ),
)  # fmt: skip


def _arg(largest: Any) -> Callable[..., Node]:
    @named
    def arg(
        input: Any, axis: Any = None, name: str | None = None, dimension: Any = None, output_type: Any = int64
    ) -> Node:
        """The index of the largest, or smallest, along `axis` (0 if none is given)."""
        return cast(make(ops.ArgExtreme(largest, either(axis, dimension, 0)), input), output_type)

    return arg


argmax, argmin = _arg(True), _arg(False)


@named
def matmul(
    a: Any, b: Any, transpose_a: Any = False, transpose_b: Any = False, *, name: str | None = None
) -> Node:
    """The matrix product. Raises ValueError, here and not in a run, where the inner dimensions differ."""
    a, b = convert_to_tensor(a), convert_to_tensor(b)
    a = a.swapaxes(-1, -2) if transpose_a else a
    return nodes.binary(ops.MatMul(), a, b.swapaxes(-1, -2) if transpose_b else b)


# Shapes


@named
def reshape(tensor: Any, shape: Any, name: str | None = None) -> Node:
    """The same numbers under another shape; one length may be -1, and others numbers out of tf.shape."""
    return convert_to_tensor(tensor).reshape(sizes(shape))


@named
def transpose(a: Any, perm: Any = None, name: str | None = None) -> Node:
    x = convert_to_tensor(a)
    order = sizes(perm) if perm is not None else tuple(range(x.ndim)[::-1])
    if sorted(order) != list(range(x.ndim)):
        raise ValueError(f"transpose: {list(order)} is no order of the axes of {x.name}, of shape {x.shape}")
    return x.transpose(order)


@named
def expand_dims(input: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Node:
    x, (axis,) = convert_to_tensor(input), sizes(either(axis, dim))
    if not -x.ndim - 1 <= axis <= x.ndim:
        raise ValueError(f"expand_dims: {x.name}, of shape {x.shape}, has no place {axis} for an axis")
    axis %= x.ndim + 1
    return x.reshape((*x.shape[:axis], 1, *x.shape[axis:]))


@named
def squeeze(input: Any, axis: Any = None, name: str | None = None, squeeze_dims: Any = None) -> Node:
    """Without the axes of length 1, or those that `axis` names. Raises ValueError for a longer one."""
    x, dims = convert_to_tensor(input), _dims(axis, squeeze_dims)
    if dims and any(x.shape[i] != 1 for i in ops.axes(dims, x.ndim, "axis")):
        raise ValueError(f"squeeze: not all axes {list(dims)} of {x.name}, of shape {x.shape}, have length 1")
    return x.squeeze(dims or None)


@named
def concat(values: Sequence[Any], axis: int, name: str | None = None) -> Node:
    if not isinstance(values, list | tuple | np.ndarray) or not len(values):
        raise ValueError(f"concat: needs a list of nodes, and then an axis, not {shown(values)}")
    parts = nodes.alike(*values)
    nodes.same_dtype("concat", *parts)
    return make(ops.Cat(*ops.axes(axis, parts[0].ndim, "axis")), *parts)


@named
def tile(input: Any, multiples: Any, name: str | None = None) -> Node:
    """x so many times along each axis."""
    x, times = convert_to_tensor(input), list(sizes(multiples))
    if len(times) != x.ndim:
        raise ValueError(f"tile: {times} name not each axis of {x.name}, of shape {x.shape}")
    return make(ops.Repeat(tuple(times)), x)  # type: ignore[arg-type]


@named
def gather(
    params: Any, indices: Any, validate_indices: Any = None, name: str | None = None, axis: int = 0
) -> Node:
    """What integers pick along an axis, in their shape."""
    whole = (builtins.slice(None),) * axis
    return convert_to_tensor(params)[(*whole, convert_to_tensor(indices))]


@named
def stack(values: Sequence[Any], axis: int = 0, name: str | None = None) -> Node:
    return concat([expand_dims(value, axis) for value in nodes.alike(*values)], axis)


def unstack(value: Any, num: int | None = None, axis: int = 0, name: str | None = None) -> list[Node]:
    """The parts along an axis, without it. Raises ValueError for another number than `num` of them."""
    x = convert_to_tensor(value)
    if isinstance(n := x.shape[axis] if num is None else num, Dim):
        raise ValueError(
            f"unstack: axis {axis} of {x.name}, of shape {x.shape}, has no known length: give it as num"
        )
    return [squeeze(part, axis, name) for part in split(x, n, axis)]


@named
def split(
    value: Any, num_or_size_splits: Any, axis: int = 0, num: Any = None, name: str | None = None
) -> list[Node]:
    """Parts along an axis: so many of one length, or of given lengths."""
    x = convert_to_tensor(value)
    if isinstance(axis, Node) or not x.ndim:
        raise ValueError("split: needs a node, and then how many parts, and then an axis")
    n, parts = x.shape[axis], num_or_size_splits
    lengths = [n // parts] * parts if isinstance(parts, int) else list(parts)
    if isinstance(n, int) and sum(lengths) != n:
        raise ValueError(f"split: axis {axis} of {x.name}, of shape {x.shape}, cannot be cut into {parts}")
    return XP.split(x, list(np.cumsum(lengths)[:-1].tolist()), axis % x.ndim)


@named
def slice(input_: Any, begin: Any, size: Any, name: str | None = None) -> Node:
    """`size` numbers from `begin` on along each axis; -1 is all that are left."""
    x, begin, size = convert_to_tensor(input_), list(sizes(begin)), list(sizes(size))
    if not len(begin) == len(size) == x.ndim:
        raise ValueError(f"slice: {begin} and {size} name not each axis of {x.name}, of shape {x.shape}")
    for b, n, m in zip(begin, size, x.shape):
        known = not any(isinstance(one, Dim) for one in (b, n, m))
        if known and not 0 <= b <= b + max(n, 0) <= m:
            raise ValueError(f"slice: {x.name}, of shape {x.shape}, has no {size} from {begin} on")
    cuts = [builtins.slice(b, None if n == -1 else b + n) for b, n in zip(begin, size)]
    return x[tuple(cuts)]


@named
def shape(input: Any, name: str | None = None, out_type: Any = int32) -> Node:
    """The shape as a node of integers: known now where all lengths are, else in the run."""
    x = convert_to_tensor(input)
    if x.shape is not None and not any(isinstance(n, Dim) for n in x.shape):
        return constant(np.asarray(x.shape, out_type))
    return make(kinds.ShapeOf(out_type), x)


@named
def one_hot(
    indices: Any, depth: int, on_value: Any = 1, off_value: Any = 0, axis: Any = None, dtype: Any = float32,
    name: str | None = None,
) -> Node:  # fmt: skip
    """Each integer as a row, along `axis` or the last, with `on_value` in its place."""
    x, axis = convert_to_tensor(indices), -1 if axis is None else axis
    behind = -axis - 1 if axis < 0 else x.ndim - axis  # axes that come after the new one
    classes = np.arange(depth, dtype=x.dtype).reshape(-1, *[1] * behind)
    on, off = (constant(1 if value is None else value, dtype) for value in (on_value, off_value or 0))
    return XP.where(equal(expand_dims(x, axis), constant(classes)), on, off)


def while_loop(*_: Any, **__: Any) -> NoReturn:
    """Not here: a loop stands in Python, around `run`."""
    raise NotImplementedError("while_loop: graphs have no loops here: write it in Python around session.run")
