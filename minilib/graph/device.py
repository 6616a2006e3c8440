"""The device "graph": what operations find in the place of NumPy, and a few exceptions to their backward."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from minilib import operations as ops
from minilib.dims import Dim, Size
from minilib.engine import DEVICES, Array, Device, Function, mode
from minilib.graph import kinds
from minilib.graph.nodes import BACKWARD, Node, as_node, constant, make, one, source, two
from minilib.graph.shapes import Every, Shape, is_plain, sizes, with_sizes

# Operations that are taken whole


def fused(f: Function, inputs: tuple[Node, ...], needs: Sequence[bool]) -> Node:
    """A node for an operation of `functional`: what it makes is told by running it on ones."""
    for x in inputs:
        if any(isinstance(n, Dim) for n in x.lengths()):
            raise ValueError(f"{x.name} has unknown lengths, {x.shape}: tf.trace makes such programs")
    whole = kinds.Fused(f, needs)
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
    """Of x[arrays] and of what undoes it: each is the other's."""
    (x, *arrays), layout = node.inputs, node.f.layout
    undone = isinstance(node.f, kinds.Scatter)
    f = ops.Select(layout) if undone else kinds.Scatter(layout, x.shape)
    return (make(f, grad, *arrays), *[None] * len(arrays))


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


BACKWARD |= {
    kinds.Fused: _fused_backward, kinds.Part: _part_backward, ops.Slice: _slice_backward,
    ops.Select: _select_backward, kinds.Scatter: _select_backward, ops.Pow: _pow_backward,
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
