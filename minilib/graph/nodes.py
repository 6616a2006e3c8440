"""Graphs and their nodes: arrays of a device on which nothing is computed.

Taught in chapters/09b_gradients.ipynb: what it exports is edited there, then `make promote`.

A node stands where an array would: `x * y` makes a node that remembers to multiply. It knows its shape, in
which unknown lengths are symbols, and its dtype. As an array of the device "graph" it may be given to the
`backward` of any operation, which then writes the gradient's program instead of running it.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np

from minilib import operations as ops
from minilib.dims import Dim
from minilib.engine import DEVICES, Function
from minilib.graph import kinds
from minilib.graph.kinds import Leaf
from minilib.graph.programs import Graph, entered, get_default_graph
from minilib.graph.shapes import (
    Shape,
    as_array,
    dtype_of,
    has_sizes,
    parted,
    reshaped,
    shape_of,
    shown,
    sizes,
)

_serial = itertools.count(1).__next__

# By operation: its backward, where it cannot be read off the code for arrays; `device` fills it.
BACKWARD: dict[type[Function], Callable[[Node, Node, Sequence[bool]], Any]] = {}


def two(f: Function) -> Callable[..., Node]:
    return lambda x, y, name=None: binary(f, x, y, name)


def _both_ways(f: Function) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The methods of an operator, for a node on the left and for one on the right; `a > b` is `b < a`."""
    return two(f), lambda self, other: binary(f, other, self)


def one(f: Function) -> Callable[..., Any]:
    return lambda x, name=None: make(f, x, name=name)


def _in_place(f: Function) -> Callable[[Any, Any], Any]:
    """What `x += y` is: x = x + y in a written program; in a traced one the old x may not be read again."""

    def write(self: Node, other: Any) -> Any:
        if self.graph.stale is None:
            return NotImplemented
        made = binary(f, self, other)
        self.graph.stale |= {self, *_views_of(self)}
        return made

    return write


def _along(kind: Callable[..., Function]) -> Callable[..., Any]:
    return lambda self, axis=None, keepdims=False: make(kind(axis, keepdims), self)


class Node:
    """One operation of a program, and what it makes: a shape, a dtype, a name, and no numbers.

    Arithmetic makes further nodes; so do `==` and `<`, whose truth only a run knows. Nodes are told apart by
    what they are: in a dict or set they are keys, but `in` a list asks `==`.
    """

    def __init__(
        self, graph: Graph, f: Function, inputs: tuple[Node, ...], shape: Shape | None, dtype: Any, name: str
    ) -> None:
        if graph.finalized and graph.writing is None:
            raise RuntimeError(f"{f.name}: the graph is finalised, and takes no more nodes: make them before")
        self.graph, self.inputs, self.dtype = graph, inputs, dtype
        self.f: Any = f  # the operation
        self.known_shape = shape
        self.saved: tuple[int | None, ...] = ()  # what backward reads: numbers of inputs, -1 for the result
        self.controls = graph.controls
        graph_of(f.name, self.inputs + self.controls, graph)
        self.serial = _serial()  # inputs are older: the order of serials is one in which a program can run
        self.name = graph.unique_name(name) if graph.writing is None else name
        self.sized = has_sizes(vars(f))  # whether a run needs numbers for symbols of the operation
        self.inside = False  # whether it is part of one side of a `cond` only
        (graph.nodes if graph.writing is None else graph.writing).append(self)

    # What is known without numbers

    @property
    def shape(self) -> Any:
        """The length of each axis, an int or a symbol; None where not even the axes are known."""
        shape, resolve = self.known_shape, self.graph.equations.resolve
        return shape if shape is None else Shape(map(resolve, shape))

    @property
    def ndim(self) -> int:
        return len(self.lengths())

    def lengths(self) -> Any:
        """The shape. Raises ValueError where not even the axes are known."""
        if self.known_shape is None:
            raise ValueError(f"{self.name} has unknown axes: give its placeholder a shape")
        return self.shape

    get_shape = lengths

    @property
    def size(self) -> Any:
        """How many numbers; infinity where only a run knows, so that what is made for many is chosen."""
        size = math.prod(self.shape) if self.shape is not None else math.inf
        return math.inf if isinstance(size, Dim) else size

    @property
    def requires_grad(self) -> bool:
        return self.f.requires_grad and self.dtype is not None and self.dtype.kind == "f"

    type = property(lambda self: self.f.name)  # the name of the operation
    op, outputs = property(lambda self: self), property(lambda self: [self])

    def consumers(self) -> list[Node]:
        """The nodes of the graph that read this one."""
        return [node for node in self.graph.nodes if any(x is self for x in node.inputs)]

    def __repr__(self) -> str:
        return f"<{self.name}: {self.type} of shape {self.shape}, {self.dtype}>"

    def __len__(self) -> int:
        return self.shape[0].__index__()

    # What is not known

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(
            f"{self.name}, of shape {self.shape}, has no value while the program is written: only a run "
            "gives it one (use tf.where or tf.cond where the program should choose)"
        )

    def __bool__(self) -> bool:
        return self._refuse() if self.graph.decide is None else self.graph.decide(self)

    __float__ = __int__ = __index__ = __iter__ = tolist = _refuse

    def item(self) -> Any:
        """The number of a constant; in a traced program also the truth of a condition."""
        if self.graph.decide is not None and self.dtype == bool:
            return self.graph.decide(self)
        return self.f.value.item() if isinstance(self.f, kinds.Constant) else self._refuse()

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """The value, in the session of the innermost `with` block if none is given."""
        return entered(session, self.name).run(self, feed_dict)

    run = eval

    # Gradients

    def backward(self, grad: Node, needs: Sequence[bool]) -> tuple[Node | None, ...]:
        """The gradients of the inputs that `needs` asks for: the operation's own backward, given nodes."""
        with self.graph.as_default():
            special = BACKWARD.get(type(self.f))
            made = NotImplemented if special is None else special(self, grad, needs)
            if made is NotImplemented:
                f: Any = copy.copy(self.f)
                f.inputs = tuple(Leaf(x.shape, x.dtype, need) for x, need in zip(self.inputs, needs))
                f.saved, f.xp = tuple(map(self._saved, self.saved)), DEVICES[Node].xp
                made = f.backward(grad)
        return made if isinstance(made, tuple) else (made,)

    def _saved(self, i: int | None) -> Node | None:
        return None if i is None else self if i == -1 else self.inputs[i]

    # Arithmetic

    __array_priority__ = 1  # NumPy leaves `array * node` to the node

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        told = f"{self.name}, of shape {self.shape}, has no numbers before a run"
        raise TypeError(f"{told}: use the function of minilib.graph")

    __add__, __radd__ = _both_ways(ops.Add())
    __sub__, __rsub__ = _both_ways(ops.Sub())
    __mul__, __rmul__ = _both_ways(ops.Mul())
    __pow__, __rpow__ = _both_ways(ops.Pow())
    __mod__, __rmod__ = _both_ways(ops.Remainder())
    __floordiv__, __rfloordiv__ = _both_ways(ops.FloorDivide())
    __matmul__, __rmatmul__ = _both_ways(ops.MatMul())
    __lt__, __gt__ = _both_ways(ops.Compare("<"))
    __le__, __ge__ = _both_ways(ops.Compare("<="))
    __and__, __rand__ = _both_ways(ops.Compare("&"))
    __or__, __ror__ = _both_ways(ops.Compare("|"))
    __neg__, __abs__, __invert__ = map(one, (ops.Neg(), ops.Abs(), ops.Invert()))
    __iadd__, __isub__, __imul__ = map(_in_place, (ops.Add(), ops.Sub(), ops.Mul()))

    def __truediv__(self, y: Any) -> Node:
        return divide(self, y)

    def __rtruediv__(self, y: Any) -> Node:
        return divide(y, self)

    def __eq__(self, y: object) -> Any:
        return NotImplemented if y is None else binary(ops.Compare("=="), self, y)

    def __ne__(self, y: object) -> Any:
        return NotImplemented if y is None else binary(ops.Compare("!="), self, y)

    __hash__ = object.__hash__

    # Methods of arrays

    base, strides, flags = None, (), np.empty(1).flags

    @property
    def T(self) -> Node:
        return self.transpose()

    def reshape(self, *shape: Any) -> Node:
        to = shape[0] if len(shape) == 1 and not isinstance(shape[0], int | Dim) else shape
        return make(ops.Reshape(reshaped(sizes(to), self.lengths())), self)

    def transpose(self, *dims: Any) -> Node:
        order = dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims
        return make(ops.Permute(tuple(order or reversed(range(self.ndim)))), self)

    def swapaxes(self, a: int, b: int) -> Node:
        order = list(range(self.ndim))
        order[a], order[b] = order[b], order[a]
        return self.transpose(order)

    def squeeze(self, axis: Any = None) -> Node:
        dims = ops.axes(axis, self.ndim) if axis is not None else range(self.ndim)
        return self.reshape([n for i, n in enumerate(self.shape) if not (i in dims and n == 1)])

    def sum(self, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Node:
        return make(ops.LongSum(axis, keepdims), self if dtype is None else self.astype(dtype))

    max, min = _along(partial(ops.Extreme, True)), _along(partial(ops.Extreme, False))
    any, all = _along(partial(ops.Truth, False)), _along(partial(ops.Truth, True))

    def astype(self, dtype: Any, order: Any = "K", copy: bool = True) -> Node:
        return self if self.dtype == dtype else make(ops.Cast(dtype), self)

    def copy(self) -> Node:
        return self  # nobody writes into a node

    def __getitem__(self, index: Any) -> Node:
        cuts, layout, arrays = parted(index, self)
        cut = make(ops.Slice(cuts), self) if not layout or any(part != slice(None) for part in cuts) else self
        return make(ops.Select(layout), cut, *arrays) if layout else cut


def before(node: Node) -> tuple[Node, ...]:
    """All nodes that have to run before this one."""
    return node.inputs + node.controls


def assigned_by(node: Node) -> set[Node]:
    """The variables that a node may give other values."""
    return set(node.f.writes) if isinstance(node.f, kinds.Effect) else set()


def by_age(node: Node) -> int:
    return node.serial


def _views_of(node: Node) -> list[Node]:
    views = [v for v in node.graph.nodes if v.f.view and v.inputs and v.inputs[0] is node]
    return views + [inner for v in views for inner in _views_of(v)]


# Making nodes


def make(f: Function, *operands: Any, name: str | None = None) -> Any:
    """A node for `f` of these nodes; what is none becomes a constant.

    Raises ValueError for shapes that do not fit, and for nodes of several graphs.
    """
    graph = graph_of(f.name, [x for x in operands if isinstance(x, Node)])
    with graph.as_default():
        inputs = tuple(map(as_node, operands))
    f = copy.copy(f)
    vars(f).update(inputs=(kinds.NO_GRADIENT,) * len(inputs), saved=(), hooks=None, xp=np)
    vars(f).pop("pair", None)
    shape = shape_of(f, [x.shape for x in inputs], graph.equations)
    dtype, saved = dtype_of(f, inputs)
    node = Node(graph, f, inputs, shape, dtype, name or f.name)
    node.saved = saved
    return node


def source(f: Function, shape: Any, dtype: Any, name: str | None = None) -> Node:
    """A node without inputs."""
    shape = None if shape is None else Shape(sizes(shape))
    if any(isinstance(n, int) and n < 0 for n in shape or ()):
        raise ValueError(f"{f.name}: no axis has the length of {shape}")
    return Node(get_default_graph(), f, (), shape, np.dtype(dtype), name or f.name)


def graph_of(who: str, nodes: Sequence[Any], graph: Graph | None = None) -> Graph:
    """The graph that all these nodes are of: `graph`, if it is given, or the default one where none are.

    Raises TypeError for what is no node, ValueError where there are two graphs, RuntimeError for a node that
    was written over.
    """
    for x in nodes:
        if not isinstance(x, Node):
            hint = "; tf.gradients gives None where nothing depends on it" if x is None else ""
            raise TypeError(f"{who}: needs nodes, not {shown(x)}{hint}")
        graph = graph or x.graph
        if x.graph is not graph:
            raise ValueError(
                f"{who}: {x.name} is a node of another graph: a program, and its session, are of one"
            )
        if graph.stale and x in graph.stale:
            raise RuntimeError(
                f"{who}: {x.name}, of shape {x.shape}, was changed in place: read what it became"
            )
    return graph or get_default_graph()


def as_node(value: Any, dtype: Any = None, name: str = "Const") -> Node:
    """A node as it is, a list that holds nodes as one array of them, and else a constant."""
    if isinstance(value, Node):
        return value
    if _holds_nodes(value):
        parts = alike(*value)
        same_dtype("a list of nodes", *parts)
        return make(ops.Cat(0), *[part.reshape((1, *part.lengths())) for part in parts])
    return constant(value, dtype, name=name)


def _holds_nodes(value: Any) -> bool:
    return isinstance(value, Node) or (isinstance(value, list | tuple) and any(map(_holds_nodes, value)))


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str = "Const") -> Node:
    """A node that always has this value. Python's floats are float32, its integers int32 if they fit.

    Of a tensor in a traced function it is the node that the tensor holds.
    """
    if isinstance(getattr(value, "data", None), Node):
        return value.data
    array = np.array(as_array(value, dtype))  # the caller may change theirs
    if shape is not None:
        left = math.prod(sizes(shape)) - array.size
        if left < 0 or not array.size:
            raise ValueError(f"constant: {array.size} numbers do not fill {Shape(shape)}")
        array = np.pad(array.reshape(-1), (0, left), "edge").reshape(shape)  # the last is repeated
    return source(kinds.Constant(array), array.shape, array.dtype, name)


def binary(f: Function, x: Any, y: Any, name: str | None = None) -> Node:
    """`f` of two operands; one that is no node becomes a constant in the dtype of the other.

    Raises TypeError where integers meet floats: neither is cast unasked. Booleans count as 0 and 1.
    """
    x, y = alike(x, y)
    if "b" not in (x.dtype.kind, y.dtype.kind):
        same_dtype(f.name, x, y)
    return make(f, x, y, name=name)


def same_dtype(who: str, x: Node, *others: Node) -> None:
    for y in others:
        if x.dtype != y.dtype:
            raise TypeError(f"{who}: {x.name} is {x.dtype}, {y.name} is {y.dtype}: cast one with tf.cast")


def alike(*values: Any) -> list[Node]:
    """All as nodes of one graph; what is none is a constant in the dtype of the first that is."""
    like = next((v for v in values if isinstance(v, Node)), None)
    if like is None:
        return list(map(as_node, values))
    with like.graph.as_default():
        truths = like.dtype.kind == "b"
        return [as_node(v, None if truths and not isinstance(v, bool) else like.dtype) for v in values]


def divide(x: Any, y: Any, name: str | None = None) -> Node:
    """x / y; whole numbers are divided as float64."""
    x, y = alike(x, y)
    if x.dtype.kind != "f" and y.dtype.kind != "f":
        x, y = x.astype(np.float64), y.astype(np.float64)
    return binary(ops.Div(), x, y, name=name)
