"""A graph as an ONNX file: operations by ONNX's names, fused ones in the small ones that they stand for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from minilib import operations as ops
from minilib.dims import Dim, at, symbols_of
from minilib.graph import kinds
from minilib.graph.nodes import Node
from minilib.graph.passes import optimise, prune
from minilib.wire import Message, write

__all__ = ["save_onnx"]

OPSET, IR = 17, 8
_NUMBERS = "float32 1, uint8 2, int8 3, int32 6, int64 7, bool 9, float16 10, float64 11"
DTYPES = {name: int(number) for name, number in map(str.split, _NUMBERS.split(","))}
_SAME = (
    ops.Add, ops.Sub, ops.Mul, ops.Div, ops.Neg, ops.Pow, ops.Sqrt, ops.Exp, ops.Log, ops.Sin, ops.Cos,
    ops.Tanh, ops.Sigmoid, ops.Abs, ops.Where, ops.MatMul, kinds.Identity,
)  # fmt: skip
SAME: dict[type, str] = {kind: kind.__name__ for kind in _SAME} | {
    ops.ReLU: "Relu", ops.Maximum: "Max", ops.Minimum: "Min", ops.Invert: "Not", ops.Clone: "Identity",
    kinds.Stop: "Identity",
}  # fmt: skip
_SIGNS = "== Equal, < Less, <= LessOrEqual, > Greater, >= GreaterOrEqual, & And, | Or"
COMPARED = dict(map(str.split, _SIGNS.split(",")))


def save_onnx(
    path: str | Path, inputs: Sequence[Node], outputs: Sequence[Node], state: Mapping[Node, Any]
) -> None:
    """Write the program of `outputs` into a file, with the values of its variables.

    Raises ValueError, by its name, for an operation that has no translation: those of training, draws, and
    fused ones that are not in this file's table.
    """
    Path(path).write_bytes(write(Export(inputs, optimise(list(outputs), inputs), state).model()))


class Export:
    """The messages of one model while they are written."""

    def __init__(self, inputs: Sequence[Node], outputs: Sequence[Node], state: Mapping[Node, Any]) -> None:
        self.inputs, self.outputs, self.state = inputs, outputs, state
        self.nodes: list[Message] = []
        self.initializers: list[Message] = []
        self.names: dict[Node, str] = {}

    def model(self) -> Message:
        for i, node in enumerate(self.inputs):
            self.names[node] = f"input_{i}"
        for node in prune(self.outputs, self.inputs):
            if node not in self.names and not isinstance(node.f, kinds.Fused):
                self.names[node] = self.translated(node)
        last = [self.names[node] for node in self.outputs]
        ends = [self.op("Identity", [name], output=f"output_{i}") for i, name in enumerate(last)]
        graph = Message(
            "GraphProto", name="minilib", node=self.nodes, initializer=self.initializers,
            input=[_value(self.names[node], node) for node in self.inputs],
            output=[_value(name, node) for name, node in zip(ends, self.outputs)],
        )  # fmt: skip
        opsets = [Message("OperatorSetIdProto", domain="", version=OPSET)]
        told = {"ir_version": IR, "producer_name": "minilib", "opset_import": opsets}
        return Message("ModelProto", graph=graph, **told)

    # Messages

    def op(self, kind: str, inputs: Sequence[str], output: str | None = None, **attributes: Any) -> str:
        """Add a node with one output, whose name this returns."""
        name = output or f"v{len(self.nodes)}"
        told = [_attribute(key, value) for key, value in attributes.items()]
        ends = {"input": list(inputs), "output": [name], "name": name}
        self.nodes.append(Message("NodeProto", op_type=kind, attribute=told, **ends))
        return name

    def array(self, value: Any, dtype: Any = None) -> str:
        """Add an initializer, whose name this returns."""
        array = np.asarray(value, dtype)
        name = f"c{len(self.initializers)}"
        self.initializers.append(
            Message(
                "TensorProto", name=name, dims=list(array.shape), data_type=DTYPES[array.dtype.name],
                raw_data=np.ascontiguousarray(array).tobytes(),
            )
        )  # fmt: skip
        return name

    def size(self, size: Any) -> str:
        """A length as a vector of one int64: read off an input where it is a symbol."""
        if not isinstance(size, Dim):
            return self.array([size], np.int64)
        for node in self.inputs:
            for axis, n in enumerate(node.shape):
                if {str(n)} == symbols_of(size):
                    start = at(size, {str(n): 0})
                    slope = at(size, {str(n): 1}) - start
                    if size == n * slope + start:
                        shape = self.op("Shape", [self.names[node]])
                        length = self.op("Gather", [shape, self.array([axis], np.int64)], axis=0)
                        scaled = self.op("Mul", [length, self.array([slope], np.int64)])
                        return self.op("Add", [scaled, self.array([start], np.int64)])
        raise ValueError(f"save_onnx: the size {size} is not that of an input, and cannot be read off one")

    def shape(self, shape: Sequence[Any]) -> str:
        if not any(isinstance(n, Dim) for n in shape):
            return self.array(shape, np.int64)
        return self.op("Concat", [self.size(n) for n in shape], axis=0)

    # Operations

    def translated(self, node: Node) -> str:
        """The name of what a node makes."""
        f, inputs = node.f, [self.names.get(x, "") for x in node.inputs]
        match f:
            case _ if type(f) in SAME:
                return self.op(SAME[type(f)], inputs)
            case kinds.Constant(value=value):
                return self.array(value)
            case kinds.Stored():
                return self.array(self.state[node])
            case kinds.Fill(number=number):
                return self.op("Expand", [self.array(number, node.dtype), self.shape(node.shape)])
            case kinds.SizeOf(size=size):
                length = self.op("Cast", [self.size(size)], to=DTYPES[node.dtype.name])
                return self.op("Squeeze", [length, self.array([0], np.int64)])
            case ops.Compare(sign="!="):
                return self.op("Not", [self.op("Equal", inputs)])
            case ops.Compare(sign=sign) if sign in COMPARED:
                return self.op(COMPARED[sign], inputs)
            case ops.Cast():
                return self.op("Cast", inputs, to=DTYPES[node.dtype.name])
            case ops.Reshape():
                return self.op("Reshape", [*inputs, self.reshaped(node.shape)])
            case ops.Expand():
                return self.op("Expand", [*inputs, self.shape(node.shape)])
            case ops.Permute(dims=dims):
                return self.op("Transpose", inputs, perm=list(dims))
            case ops.Cat(dim=dim):
                return self.op("Concat", inputs, axis=dim)
            case ops.Sum(dim=dim, keepdim=keep):
                axes = self.array(ops.axes(dim, node.inputs[0].ndim), np.int64)
                return self.op("ReduceSum", [*inputs, axes], keepdims=int(keep))
            case ops.Extreme(dim=dim, keepdim=keep, largest=largest):
                along = list(ops.axes(dim, node.inputs[0].ndim))
                return self.op(f"Reduce{'Max' if largest else 'Min'}", inputs, axes=along, keepdims=int(keep))
            case ops.ArgExtreme(dim=int(dim), keepdim=keep, largest=largest):
                return self.op("ArgMax" if largest else "ArgMin", inputs, axis=dim, keepdims=int(keep))
            case ops.Slice(index=index):
                return self.sliced(node.inputs[0], inputs[0], index)
            case kinds.Part(key=0) if isinstance(node.inputs[0].f, kinds.Fused):
                return self.whole(node.inputs[0])
        raise ValueError(f"save_onnx: {node.type} has no translation into ONNX: {node.name}")

    def reshaped(self, shape: Sequence[Any]) -> str:
        """A shape for Reshape, which takes -1 for one length that it works out."""
        unknown = [i for i, n in enumerate(shape) if isinstance(n, Dim)]
        if len(unknown) == 1:
            return self.array([-1 if i in unknown else n for i, n in enumerate(shape)], np.int64)
        return self.shape(shape)

    def sliced(self, x: Node, name: str, index: Sequence[Any]) -> str:
        parts = [p for p in index if p is not None]
        cuts, gone = [], []
        for axis, part in enumerate(parts):
            if isinstance(part, int):
                cuts.append((axis, part, part + 1 if part != -1 else 2**62, 1))
                gone.append(axis)
            elif part != slice(None):
                end = 2**62 if part.stop is None else part.stop
                cuts.append((axis, part.start or 0, end, part.step or 1))
        if cuts:
            at, starts, ends, steps = map(self.shape, zip(*cuts))
            name = self.op("Slice", [name, starts, ends, at, steps])
        if gone:
            name = self.op("Squeeze", [name, self.array(gone, np.int64)])
        new = [i for i, p in enumerate(p for p in index if not isinstance(p, int)) if p is None]
        return self.op("Unsqueeze", [name, self.array(new, np.int64)]) if new else name

    def whole(self, node: Node) -> str:
        """A fused operation, by its name."""
        kind = type(node.f.f).__name__
        if kind not in FUSED:
            raise ValueError(f"save_onnx: {kind} has no translation into ONNX; there are: {', '.join(FUSED)}")
        return FUSED[kind](self, node, node.f.f, [self.names[x] for x in node.inputs])


def _attribute(name: str, value: Any) -> Message:
    fields = {int: ("i", 2), float: ("f", 1), list: ("ints", 7)}
    field, kind = fields[type(value)]
    return Message("AttributeProto", name=name, type=kind, **{field: value})


def _value(name: str, node: Node) -> Message:
    dims = [
        Message("Dimension", dim_param=str(n)) if isinstance(n, Dim) else Message("Dimension", dim_value=n)
        for n in node.shape
    ]
    tensor = Message("Tensor", elem_type=DTYPES[node.dtype.name], shape=Message("TensorShapeProto", dim=dims))
    return Message("ValueInfoProto", name=name, type=Message("TypeProto", tensor_type=tensor))


# Fused operations


def linear(e: Export, node: Node, f: Any, names: list[str]) -> str:
    out = e.op("MatMul", [names[0], e.op("Transpose", [names[1]], perm=[1, 0])])
    return e.op("Add", [out, names[2]]) if len(names) == 3 else out


def gelu(e: Export, node: Node, f: Any, names: list[str]) -> str:
    (x,) = names

    def number(value: float) -> str:
        return e.array(value, node.dtype)

    if type(f).__name__ == "GELU":
        inner = e.op("Erf", [e.op("Mul", [x, number(math.sqrt(0.5))])])
    else:
        cube = e.op("Mul", [e.op("Mul", [x, x]), number(f.c1)])
        inner = e.op("Tanh", [e.op("Mul", [x, e.op("Add", [cube, number(f.c0)])])])
    return e.op("Mul", [x, e.op("Mul", [e.op("Add", [inner, number(1)]), number(0.5)])])


def rms_norm(e: Export, node: Node, f: Any, names: list[str]) -> str:
    mean = e.op("ReduceMean", [e.op("Mul", [names[0], names[0]])], axes=[-1], keepdims=1)
    root = e.op("Sqrt", [e.op("Add", [mean, e.array(f.eps, node.dtype)])])
    return e.op("Mul", [e.op("Div", [names[0], root]), names[1]])


def window(f: Any) -> dict[str, Any]:
    return {"strides": list(f.stride), "pads": [*f.padding] * 2, "dilations": list(f.dilation)}


def attention(e: Export, node: Node, f: Any, names: list[str]) -> str:
    """softmax(q kᵀ / sqrt(d) + future) v, in heads; 0 in a shape of Reshape keeps a length."""
    if not f.packed or len(names) > 1:
        raise ValueError("save_onnx: attention is translated with q, k, v in one array, and no dropout")
    t, c = node.shape[1:]
    d = c // f.n_head
    parts = []
    for i in range(3):
        cut = [e.array([n], np.int64) for n in (i * c, (i + 1) * c, 2)]
        heads = e.op("Reshape", [e.op("Slice", [names[0], *cut]), e.array([0, t, f.n_head, d], np.int64)])
        parts.append(e.op("Transpose", [heads], perm=[0, 2, 3, 1] if i == 1 else [0, 2, 1, 3]))
    scores = e.op("Mul", [e.op("MatMul", parts[:2]), e.array(1 / math.sqrt(d), node.dtype)])
    future = np.triu(np.full((t, t), -np.inf, node.dtype), 1)
    weights = e.op("Softmax", [e.op("Add", [scores, e.array(future)])], axis=-1)
    out = e.op("Transpose", [e.op("MatMul", [weights, parts[2]])], perm=[0, 2, 1, 3])
    return e.op("Reshape", [out, e.array([0, t, c], np.int64)])


FUSED: dict[str, Callable[[Export, Node, Any, list[str]], str]] = {
    "Linear": linear, "GELU": gelu, "TanhGELU": gelu, "RMSNorm": rms_norm, "CausalAttention": attention,
    "SiLU": lambda e, node, f, names: e.op("Mul", [names[0], e.op("Sigmoid", names)]),
    "Conv": lambda e, node, f, names: e.op("Conv", names, group=f.groups, **window(f)),
    "MaxPool": lambda e, node, f, names: e.op("MaxPool", names, kernel_shape=list(f.kernel), **window(f)),
    "Embedding": lambda e, node, f, names: e.op("Gather", names, axis=0),
    "Softmax": lambda e, node, f, names: e.op("Softmax", names, axis=-1),
    "LogSoftmax": lambda e, node, f, names: e.op("LogSoftmax", names, axis=-1),
    "Softplus": lambda e, node, f, names: e.op("Softplus", names),
    "LayerNorm": lambda e, node, f, names: e.op("LayerNormalization", names, axis=-1, epsilon=float(f.eps)),
}  # fmt: skip
