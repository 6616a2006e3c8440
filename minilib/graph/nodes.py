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
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, NoReturn

import numpy as np

from minilib import operations as ops
from minilib.dag import ancestors
from minilib.dims import Dim, Equations, Size, at, symbol
from minilib.engine import DEVICES, Array, Device, Function, mode
from minilib.graph import kinds
from minilib.graph.kinds import Leaf
from minilib.graph.shapes import Shape, dtype_of, is_plain, reshaped, shape_of

_serial = itertools.count(1).__next__

# Graphs


class Graph:
    """A program: its nodes in the order in which they were written, and what is known of unknown sizes."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.variables: list[Node] = []
        self.equations = Equations()
        self.finalized = False
        self.seed: int | None = None
        self.scope = ""  # "layer/"
        self.controls: tuple[Node, ...] = ()  # what has to run before each node that is made now
        self.writing: list[Node] | None = None  # where nodes go that are no part of the program itself
        self.stale: set[Node] | None = None  # in a traced program: nodes that were written over
        self.decide: Callable[[Node], bool] | None = None  # in a traced program: what answers bool(node)
        self._taken: dict[str, int] = {}  # how often each name was asked for again

    def as_default(self) -> Any:
        """A block in which nodes are made in this graph."""
        return _default.within(self)

    def finalize(self) -> None:
        """Refuse further nodes."""
        self.finalized = True

    def get_operations(self) -> list[Node]:
        return list(self.nodes)

    def unique_name(self, name: str) -> str:
        """`name` within the current scope; `name_1`, `name_2` where it is taken."""
        if name.endswith("/"):  # what a scope is called: its result may be called the same
            return name.removesuffix("/")
        full = tried = self.scope + name
        while tried in self._taken:
            self._taken[full] += 1
            tried = f"{full}_{self._taken[full]}"
        self._taken[tried] = 0
        return tried

    def rename(self, node: Node, name: str) -> None:
        """Give a new node another name; nobody has heard of its own."""
        self._taken.pop(node.name, None)
        node.name = self.unique_name(name)

    def get_tensor_by_name(self, name: str) -> Node:
        """The node that is called so, with or without TensorFlow's ":0". Raises KeyError where none is."""
        for node in self.nodes:
            if node.name == name.removesuffix(":0"):
                return node
        raise KeyError(f"no node of this graph is called {name!r}")

    get_operation_by_name = get_tensor_by_name

    def keep(self, made_since: int, wanted: Sequence[Node]) -> None:
        """Forget the nodes from number `made_since` on that `wanted` do not need."""
        needed = ancestors(wanted, before)
        self.nodes[made_since:] = [node for node in self.nodes[made_since:] if node in needed]


@contextmanager
def during(graph: Graph, **settings: Any) -> Iterator[None]:
    """A block in which attributes of a graph are others: its scope, its controls, where it writes."""
    outer = {name: getattr(graph, name) for name in settings}
    vars(graph).update(settings)
    try:
        yield
    finally:
        vars(graph).update(outer)


class _Stack(threading.local):
    """The graph, or the session, that stands for all where none is named."""

    def __init__(self) -> None:
        self.entered: list[Any] = []

    @contextmanager
    def within(self, one: Any) -> Iterator[Any]:
        self.entered.append(one)
        try:
            yield one
        finally:
            self.entered.pop()


_default, sessions = _Stack(), _Stack()
_always = [Graph()]


def get_default_graph() -> Graph:
    """The graph of the innermost `as_default` block, or the one that is always there."""
    return _default.entered[-1] if _default.entered else _always[0]


def get_default_session() -> Any:
    """The session of the innermost `with` block, or None."""
    return sessions.entered[-1] if sessions.entered else None


def entered(session: Any, who: str) -> Any:
    """The session, or that of the innermost `with` block. Raises ValueError where there is none."""
    session = session or get_default_session()
    if session is None:
        raise ValueError(f"{who}: no session is open here: use `with Session():`, or session.run")
    return session


def reset_default_graph() -> None:
    """Begin with an empty graph again."""
    _always[:] = [Graph()]


@contextmanager
def name_scope(name: str | None, default_name: str | None = None, values: Any = None) -> Iterator[str]:
    """A block whose nodes are called "name/..."; entered twice, the second is "name_1/...".

    A name that ends in "/" is that of a block, which is entered again; without any, all scopes are left.
    """
    graph = get_default_graph()
    name = name or default_name
    with during(graph, scope=graph.unique_name(name) + "/" if name else ""):
        yield graph.scope


def control_dependencies(inputs: Sequence[Node] | None) -> AbstractContextManager[None]:
    """A block whose nodes run behind all of `inputs`, also where they do not need their values.

    With None they wait for nothing, also not for what a block around it names.
    """
    graph = get_default_graph()
    graph_of("control_dependencies", inputs or (), graph)
    return during(graph, controls=() if inputs is None else (*graph.controls, *inputs))


# Nodes


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
        vars(made)["replaces"] = self
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
        self.sized = self.check_sizes()
        self.inside = False  # whether it is part of one side of a `cond` only
        (graph.nodes if graph.writing is None else graph.writing).append(self)

    def check_sizes(self) -> bool:
        """Whether the operation has symbols among its attributes, for which a run needs numbers."""
        return _has_sizes(vars(self.f))

    # What is known without numbers

    @property
    def shape(self) -> Any:
        """The length of each axis, an int or a symbol; None where not even the axes are known."""
        shape, resolve = self.known_shape, self.graph.equations.resolve
        return shape if shape is None else Shape(map(resolve, shape))

    def get_shape(self) -> Any:
        return self.lengths()

    @property
    def ndim(self) -> int:
        return len(self.lengths())

    def lengths(self) -> Any:
        """The shape. Raises ValueError where not even the axes are known."""
        if self.known_shape is None:
            raise ValueError(f"{self.name} has unknown axes: give its placeholder a shape")
        return self.shape

    @property
    def size(self) -> Any:
        """How many numbers; infinity where only a run knows, so that what is made for many is chosen."""
        size = math.prod(self.shape) if self.shape is not None else math.inf
        return math.inf if isinstance(size, Dim) else size

    @property
    def requires_grad(self) -> bool:
        return self.f.requires_grad and self.dtype is not None and self.dtype.kind == "f"

    @property
    def type(self) -> str:
        """The name of the operation."""
        return self.f.name

    @property
    def op(self) -> Node:
        return self

    @property
    def outputs(self) -> list[Node]:
        return [self]

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

    __float__ = __int__ = __index__ = __iter__ = tolist = __array__ = _refuse

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
                f.saved, f.xp = tuple(map(self._saved, self.saved)), XP
                made = f.backward(grad)
        return made if isinstance(made, tuple) else (made,)

    def _saved(self, i: int | None) -> Node | None:
        return None if i is None else self if i == -1 else self.inputs[i]

    # Arithmetic

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """NumPy asks the node in `array * node`, and in np.sin(node), which has no numbers to work on."""
        reflected = REFLECTED.get(ufunc)
        if reflected is None or method != "__call__" or options or isinstance(inputs[0], Node):
            raise TypeError(
                f"np.{ufunc.__name__}: {self.name}, of shape {self.shape}, has no numbers before a run: use "
                "the function of minilib.graph"
            )
        return getattr(self, reflected)(inputs[0])

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
        parts = index if isinstance(index, tuple) else (index,)
        for i in [i for i, part in enumerate(parts) if part is Ellipsis]:  # all axes that are not named
            named = sum(part is not None for part in parts) - 1
            parts = (*parts[:i], *[slice(None)] * (self.ndim - named), *parts[i + 1 :])
        if not any(isinstance(part, Node | np.ndarray | list) for part in parts):
            return make(ops.Slice(parts), self)
        if any(part is None for part in parts):
            raise TypeError(
                f"{self.name}: an index of arrays holds integers and slices besides, and not None"
            )
        cuts = tuple(part if isinstance(part, slice) else slice(None) for part in parts)
        whole = all(cut == slice(None) for cut in cuts)
        arrays = [part for part in parts if not isinstance(part, slice)]
        layout = tuple(not isinstance(part, slice) for part in parts)
        return make(ops.Select(layout), self if whole else self[cuts], *arrays)


# What `array + node` is, by the function of NumPy that Python calls for it.
REFLECTED = {
    np.add: "__radd__", np.subtract: "__rsub__", np.multiply: "__rmul__", np.true_divide: "__rtruediv__",
    np.power: "__rpow__", np.remainder: "__rmod__", np.floor_divide: "__rfloordiv__",
    np.matmul: "__rmatmul__", np.less: "__gt__", np.less_equal: "__ge__", np.greater: "__lt__",
    np.greater_equal: "__le__", np.equal: "__eq__", np.not_equal: "__ne__", np.bitwise_and: "__rand__",
    np.bitwise_or: "__ror__",
}  # fmt: skip


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
    if not is_plain(type(f)):
        return fused(f, inputs)
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


def shown(thing: Any) -> str:
    """What somebody gave, in so few words that a message stays one line."""
    return " ".join(repr(thing).split())[:60]


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


def as_array(value: Any, dtype: Any = None) -> Array:
    """`value` as an array of numbers, itself where it fits. Raises TypeError for what is none."""
    if isinstance(value, Node):
        raise TypeError(f"{value.name} is a node, and here numbers are needed")
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
        return [as_node(v, _weak(v, like.dtype)) for v in values]


def _weak(value: Any, dtype: Any) -> Any:
    return None if dtype.kind == "b" and not isinstance(value, bool) else dtype


def divide(x: Any, y: Any, name: str | None = None) -> Node:
    """x / y; whole numbers are divided as float64."""
    x, y = alike(x, y)
    if x.dtype.kind != "f" and y.dtype.kind != "f":
        x, y = x.astype(np.float64), y.astype(np.float64)
    return binary(ops.Div(), x, y, name=name)


# Sizes that are nodes


def sizes(shape: Any) -> tuple[Size, ...]:
    """A shape, in which nodes may stand: tf.shape(x), or a number taken out of it."""
    if isinstance(shape, Node):
        shape = _known(shape).reshape(-1)
    return tuple(map(_as_size, shape if isinstance(shape, Sequence | np.ndarray) else (shape,)))


def _as_size(n: Any) -> Size:
    if isinstance(n, Node):
        return _known(n).item()
    if n is None:
        raise TypeError("None is no length: use tf.shape(x)[i] for one that only a run knows")
    return n if isinstance(n, Dim) else n.__index__()


def _known(node: Node) -> Array:
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


def unknown(name: str, shape: Sequence[Any]) -> tuple[Size, ...]:
    """A shape with a symbol in the place of each None. Raises ValueError for a length below 0."""
    if any(n is not None and n < 0 for n in shape):
        raise ValueError(f"{name}: no axis has the length of {list(shape)}: None takes any")
    return tuple(symbol(f"{name}_{i}") if n is None else n for i, n in enumerate(shape))


def _has_sizes(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_sizes, value.values()))
    if isinstance(value, slice):
        return _has_sizes((value.start, value.stop, value.step))
    return isinstance(value, Dim) or (isinstance(value, tuple | list) and any(map(_has_sizes, value)))


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


# Operations that are taken whole


def fused(f: Function, inputs: tuple[Node, ...], needs: Sequence[bool] | None = None) -> Node:
    """A node for an operation of `functional`: what it makes is told by running it on ones."""
    whole = kinds.Fused(f, [x.requires_grad for x in inputs] if needs is None else needs)
    ones = list(map(_ones, inputs))
    out, ran = whole.forward(*ones)
    kept = [x for x in ran.saved if isinstance(x, np.ndarray) and not any(x is one for one in ones)]
    whole.saved_bytes = sum(x.nbytes for x in kept)
    saved = [x for x in ran.saved if type(x) is np.ndarray]
    shares = [any(np.may_share_memory(x, one) for x in saved) for one in ones]
    whole.keeps = tuple(i for i, it_does in enumerate(shares) if it_does)
    node = Node(inputs[0].graph, whole, inputs, Shape(out.shape), out.dtype, whole.name)
    for name, array in vars(ran).items():  # what it tells besides, as the mean of a batch norm
        if type(array) is np.ndarray:
            vars(f)[name] = _part(node, name, out=array)
    return _part(node, 0, out=out)


def _part(of: Node, key: int | str, out: Array, shape: Any = None) -> Node:
    to = Shape(out.shape if shape is None else shape)
    return Node(of.graph, kinds.Part(key), (of,), to, out.dtype, f"{of.name}_{key}")


def _ones(x: Node) -> Array:
    """What stands for a value; an unknown length is 2."""
    return (np.ones if x.dtype.kind == "f" else np.zeros)(with_sizes(x.shape, Every(2)), x.dtype)


def _fused_backward(node: Node, grad: Node, needs: Sequence[bool]) -> tuple[Node | None, ...]:
    for x, need, asked in zip(node.inputs, node.f.needs_grad, needs):
        if asked and not need:
            raise RuntimeError(f"{node.type}: traced without a gradient for {x.name}: use requires_grad_()")
    out, ran = node.f.forward(*map(_ones, node.inputs))
    f = kinds.FusedBackward(node.type)
    made = f.forward((out, ran), _ones(grad))
    whole = Node(node.graph, f, (node, grad), Shape(()), grad.dtype, f.name)  # a tuple of gradients
    return tuple(
        None if dx is None else _part(whole, i, dx, x.shape if dx.shape == _ones(x).shape else None)
        for i, (x, dx) in enumerate(zip(node.inputs, made))
    )


def _part_backward(node: Node, grad: Node, needs: Sequence[bool]) -> tuple[Node | None, ...]:
    (whole,) = node.inputs
    if isinstance(whole.f, kinds.FusedBackward):
        raise RuntimeError(f"{whole.type}: a fused operation has no second derivative: use small ones")
    return (grad if node.f.key == 0 else None,)


# Backward where it cannot be read off the code for arrays


def _slice_backward(node: Node, grad: Node, needs: Sequence[bool]) -> Node:
    return make(kinds.Place(node.f.index, node.inputs[0].shape), grad)


def _select_backward(node: Node, grad: Node, needs: Sequence[bool]) -> Any:
    x, *arrays = node.inputs
    return (make(kinds.Scatter(node.f.layout, x.shape), grad, *arrays), *[None] * len(arrays))


def _scatter_backward(node: Node, grad: Node, needs: Sequence[bool]) -> Any:
    arrays = node.inputs[1:]
    return (make(ops.Select(node.f.layout), grad, *arrays), *[None] * len(arrays))


def _pow_backward(node: Node, grad: Node, needs: Sequence[bool]) -> Any:
    x, y = node.inputs
    if y.shape != ():
        return NotImplemented
    if needs[1] or not isinstance(y.f, kinds.Constant) or y.f.value == 0:  # 0 * x ** -1 is nan at 0
        return make(ops.Pow(), x, y.reshape(1)).backward(grad, needs)
    return grad * (y * make(ops.Pow(), x, y - 1)), None  # a run may feed y


def _sum_backward(node: Node, grad: Node, needs: Sequence[bool]) -> Any:
    (x,) = node.inputs
    return NotImplemented if x.shape is not None else XP.expand_like(grad, x)


BACKWARD: dict[type[Function], Callable[[Node, Node, Sequence[bool]], Any]] = {
    kinds.Fused: _fused_backward, kinds.Part: _part_backward, ops.Slice: _slice_backward,
    ops.Select: _select_backward, kinds.Scatter: _scatter_backward, ops.Pow: _pow_backward,
    ops.Sum: _sum_backward, ops.LongSum: _sum_backward, kinds.SumTo: _sum_backward,
    kinds.SumLike: lambda node, grad, needs: (XP.expand_like(grad, node.inputs[0]), None),
}  # fmt: skip


# Arrays of this device


class Arrays:
    """What the code of operations finds as `xp`: functions of NumPy that make nodes."""

    ndarray = Node
    exp, log, sqrt, sin, cos, tanh, expm1, log1p, abs = (
        staticmethod(one(kind()))
        for kind in (
            ops.Exp, ops.Log, ops.Sqrt, ops.Sin, ops.Cos, ops.Tanh, ops.Expm1, ops.Log1p, ops.Abs,
        )
    )  # fmt: skip
    maximum, minimum = (staticmethod(two(kind())) for kind in (ops.Maximum, ops.Minimum))

    def __getattr__(self, name: str) -> NoReturn:
        raise TypeError(f"graph: there is no node for np.{name}")

    def asarray(self, data: Any, dtype: Any = None) -> Node:
        return data if isinstance(data, Node) else constant(np.asarray(data, dtype))

    def full(self, shape: Any, number: Any, dtype: Any) -> Node:
        shape = sizes(shape)
        return source(kinds.Fill(shape, number, dtype), shape, dtype)

    def zeros(self, shape: Any, dtype: Any = np.float64) -> Node:
        return self.full(shape, 0, dtype)

    empty = zeros

    def ones(self, shape: Any, dtype: Any = np.float64) -> Node:
        return self.full(shape, 1, dtype)

    def zeros_like(self, x: Node) -> Node:
        return self.full_like(x, 0)

    def ones_like(self, x: Node) -> Node:
        return self.full_like(x, 1)

    def full_like(self, x: Node, number: Any) -> Node:
        if x.shape is None:
            return self.expand_like(constant(number, x.dtype), x)
        with x.graph.as_default():
            return self.full(x.shape, number, x.dtype)

    def expand_like(self, x: Node, y: Node) -> Node:
        return make(kinds.ExpandLike(), x, y)

    def sign(self, x: Node) -> Node:
        return (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype)

    def where(self, condition: Node, x: Any, y: Any) -> Node:
        like = x if isinstance(x, Node) else y
        dtype = like.dtype if isinstance(like, Node) else np.result_type(x, y)
        x, y = (as_node(v, dtype) for v in (x, y))
        return make(ops.Where(), condition, x, y)

    def broadcast_to(self, x: Node, shape: Any) -> Node:
        to: Any = sizes(shape)
        return make(ops.Expand(to), x)

    def split(self, x: Node, ends: Sequence[Size], axis: int) -> list[Node]:
        whole = (slice(None),) * axis
        cuts = [0, *ends, x.shape[axis]]
        return [x[(*whole, slice(start, stop))] for start, stop in itertools.pairwise(cuts)]

    def flip(self, x: Node, dims: Any) -> Node:
        return make(ops.Flip(ops.axes(dims, x.ndim)), x)

    def roll(self, x: Node, shifts: Any, dims: Any) -> Node:
        return make(ops.Roll(tuple(shifts), tuple(dims)), x)

    def tril(self, x: Node, diagonal: int = 0) -> Node:
        return make(ops.Triangle(True, diagonal), x)

    def triu(self, x: Node, diagonal: int = 0) -> Node:
        return make(ops.Triangle(False, diagonal), x)


XP: Any = Arrays()


class Written:
    """How an operation of tensors comes into a graph: as a node, and its backward as further ones."""

    def forward(self, f: Function, *nodes: Node) -> Node:
        if is_plain(type(f)):
            node = make(f, *nodes)
        else:
            node = fused(f, nodes, [f.needs(i) for i in range(len(nodes))])
        node = node if mode.grad_enabled else make(kinds.Stop(), node)
        f.saved = (node,)
        return node

    def backward(self, f: Function, grad: Node) -> tuple[Node | None, ...]:
        (node,) = f.saved
        node = node.inputs[0] if isinstance(node.f, kinds.Part) else node
        return node.backward(grad, [f.needs(i) for i in range(len(node.inputs))])


DEVICES[Node] = Device("graph", XP, constant, Node._refuse, Every(Written()))
