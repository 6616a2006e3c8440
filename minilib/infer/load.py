"""ONNX files become graphs: bytes checked, tensors made, and every operator brought into its newest form."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from minilib import dims
from minilib.infer import axes, elementwise, layers, picking  # noqa: F401 (importing them fills the table)
from minilib.infer.facts import DTYPES, Fact, unread
from minilib.infer.model import Graph, ModelError, Node, path_of
from minilib.infer.operators import FAILURES, OPERATORS
from minilib.wire import Message, WireError, read

__all__ = ["load", "tensor"]

OPSETS = range(1, 29)  # before 7, only what had the same attributes: others are refused one by one
# Of which field the numbers of a tensor come, if not of its raw bytes.
DATA = {1: "float_data", 7: "int64_data", 11: "double_data", 12: "uint64_data", 13: "uint64_data"}
ATTRIBUTE = {1: "f", 2: "i", 3: "s", 4: "t", 6: "floats", 7: "ints", 8: "strings"}


def load(path: str | Path) -> Graph:
    """The graph in a file. Raises ModelError, in one line, for everything that is wrong with it."""
    path = path_of(path)
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:  # of a name with a 0 in it
        raise ModelError(f"{path} cannot be read: {getattr(error, 'strerror', error)}") from None
    try:
        return graph_of(read(data), path.parent)
    except (ModelError, WireError) as error:
        hint = "; is it an ONNX file, and whole?" if isinstance(error, WireError) else ""
        raise ModelError(f"{path.name}: {error}{hint}") from None


def graph_of(model: Message, folder: Path) -> Graph:
    """A ModelProto as a graph; `folder` is where data outside of it lies."""
    if model.graph is None:
        raise ModelError("there is no graph in it; is it an ONNX file, and whole?")
    opset = next((one.version for one in model.opset_import if one.domain in ("", "ai.onnx")), 0)
    if opset not in OPSETS:
        raise ModelError(
            f"it is written for opset {opset}, and {OPSETS[0]} to {OPSETS[-1]} are read; convert it"
        )
    check_operators(model.graph.node)
    constants: dict[str, Any] = {}
    for one in model.graph.initializer:
        if one.name in constants:
            raise ModelError(f"two constants are called {one.name!r}")
        constants[one.name] = tensor(one, folder)
    if model.graph.sparse_initializer:
        raise ModelError("it has sparse constants, which are not read; write them as dense ones")
    inputs = {one.name: fact_of(one) for one in model.graph.input if one.name not in constants}
    results = [name for node in model.graph.node for name in node.output if name]
    made = Counter([*inputs, *constants, *results])
    if twice := [name for name, times in made.items() if times > 1]:
        raise ModelError(f"two nodes, inputs or constants make {twice[0]!r}; names must be different")
    nodes = [node for one in model.graph.node if (node := node_of(one, opset, folder, constants))]
    outputs = [one.name for one in model.graph.output]
    if not outputs:
        raise ModelError("its graph has no output")
    properties = {"onnx.ir_version": np.array(model.ir_version)}
    return Graph(inputs, outputs, nodes, constants, {}, properties).sorted()


def check_operators(nodes: Any) -> None:
    """All operators that are not in the table are told at once, and how often they occur."""
    known = {"Constant", *RENAMED, *(name for name, one in OPERATORS.items() if not one.own)}
    names = [n.op_type if n.domain in ("", "ai.onnx") else f"{n.domain}.{n.op_type}" for n in nodes]
    if strange := Counter(name for name in names if name not in known):
        told = ", ".join(f"{name} ({times})" for name, times in sorted(strange.items()))
        raise ModelError(f"operators that are not supported: {told}")


def fact_of(info: Message) -> Fact:
    """What an input's annotation says; one name is one symbol."""
    if info.type is None:
        return Fact()
    if info.type.tensor_type is None:
        raise ModelError(f"the input {info.name!r} is a sequence, map or optional; only arrays are read")
    kind = info.type.tensor_type
    if kind.elem_type and kind.elem_type not in DTYPES:
        raise ModelError(f"the input {info.name!r} is {unread(kind.elem_type)}")
    if kind.shape is None:
        return Fact(DTYPES.get(kind.elem_type), None)
    sizes: list[Any] = []
    for i, one in enumerate(kind.shape.dim):
        if "dim_value" in one:
            if not 0 <= one.dim_value < 2**40:
                raise ModelError(f"the input {info.name!r} has an axis of {one.dim_value} numbers")
            sizes.append(one.dim_value)
        else:
            sizes.append(_symbol(one.dim_param or f"{info.name}.{i}"))
    return Fact(DTYPES.get(kind.elem_type), tuple(sizes))


def _symbol(text: str) -> Any:
    try:
        return dims.parse(text)
    except ValueError:
        return dims.symbol(text)


def tensor(message: Message, folder: Path) -> Any:
    """The array of a TensorProto. Raises ModelError where its bytes and its shape do not fit."""
    name, shape = message.name, tuple(message.dims)
    dtype = DTYPES.get(message.data_type)
    if dtype is None:
        raise ModelError(f"the constant {name!r} is {unread(message.data_type)}")
    if any(n < 0 for n in shape) or math.prod(max(n, 1) for n in shape) >= 2**40:
        raise ModelError(f"the constant {name!r} has the shape {shape}")
    count = math.prod(shape)
    if message.data_location == 1:
        values = np.frombuffer(outside(message, folder), dtype.newbyteorder("<"))
    elif "raw_data" in message:
        if len(message.raw_data) != count * dtype.itemsize:
            raise ModelError(
                f"the constant {name!r} of shape {shape} has {len(message.raw_data)} bytes "
                f"where {count * dtype.itemsize} are needed"
            )
        values = np.frombuffer(message.raw_data, dtype.newbyteorder("<"))
    else:
        numbers = getattr(message, DATA.get(message.data_type, "int32_data"))
        try:
            values = np.array(numbers, dtype)
        except OverflowError:
            raise ModelError(f"the constant {name!r} has numbers that are no {dtype}") from None
    if values.size != count:
        raise ModelError(f"the constant {name!r} of shape {shape} has {values.size} numbers, not {count}")
    return values.astype(dtype, copy=False).reshape(shape)


def outside(message: Message, folder: Path) -> bytes:
    """The bytes of a tensor that lie in another file, which has to be in the model's folder."""
    told = {one.key: one.value for one in message.external_data}
    where = told.get("location", "")
    place = (folder / where).resolve()  # follows links
    if not where or not place.is_relative_to(folder.resolve()):
        raise ModelError(f"the constant {message.name!r} lies in {where!r}, outside of the model's folder")
    wanted = math.prod(message.dims) * DTYPES[message.data_type].itemsize
    try:
        start, length = int(told.get("offset", 0)), int(told.get("length", wanted))
        most = min(wanted, place.stat().st_size)  # what a file says may be more than memory has
        with place.open("rb") as file:
            file.seek(start)
            data = file.read(most)
    except (OSError, ValueError, OverflowError):
        raise ModelError(f"the constant {message.name!r}: {where!r} cannot be read") from None
    if len(data) != wanted or length != wanted:
        raise ModelError(f"the constant {message.name!r} has {len(data)} bytes in {where!r}, not {wanted}")
    return data


def attribute(message: Message, folder: Path) -> Any:
    """An attribute's value, as operators take them."""
    field = ATTRIBUTE.get(message.type)
    if field is None:
        raise ModelError(f"the attribute {message.name!r} is of kind {message.type}; no operator has such")
    value = getattr(message, field)
    try:
        if field == "s":
            return value.decode()
        if field == "strings":
            return [one.decode() for one in value]
    except UnicodeDecodeError:
        raise ModelError(f"the attribute {message.name!r} is not written in UTF-8") from None
    if field == "t":
        if value is None:
            raise ModelError(f"the attribute {message.name!r} is an array, and there is none")
        return tensor(value, folder)
    return list(value) if field in ("ints", "floats") else value


def node_of(message: Message, opset: int, folder: Path, constants: dict[str, Any]) -> Node | None:
    """A NodeProto as a node; None for a Constant, which joins the others."""
    told = {one.name: attribute(one, folder) for one in message.attribute}
    node = Node(
        RENAMED.get(message.op_type, message.op_type),
        list(message.input),
        list(message.output),
        told,
        message.name,
    )
    if not any(node.outputs):
        raise ModelError(f"the node {message.op_type} {message.name!r} makes nothing")
    try:
        if node.op == "Constant":
            constants[node.outputs[0]] = constant(node)
            return None
        upgrade(node, opset, constants)
    except FAILURES as error:
        raise error if isinstance(error, ModelError) else ModelError(f"{node}: {error}") from None
    check_inputs(node)
    if strange := node.attributes.keys() - OPERATORS[node.op].attributes:
        raise ModelError(f"{node} has the attribute {min(strange)!r}, which opset {opset} does not know")
    return node


def check_inputs(node: Node) -> None:
    """Raises ModelError where an input that the operator needs is absent, or there are too many."""
    one = OPERATORS[node.op]
    while node.inputs and not node.inputs[-1]:
        node.inputs.pop()
    needed = one.least if one.most < math.inf else max(len(node.inputs), 1)
    if len(node.inputs) > one.most or "" in node.inputs[:needed] or len(node.inputs) < needed:
        most = "" if one.most == math.inf else f", and there may be {one.most}"
        raise ModelError(f"{node} reads {node.inputs}; {node.op} needs {needed} inputs{most}")


def constant(node: Node) -> Any:
    for name, value in node.attributes.items():
        if name == "value":
            return value
        if name.rstrip("s") in ("value_float", "value_int"):
            return np.array(value, np.float32 if "float" in name else np.int64)
    raise ModelError(f"{node} has no value that is an array of numbers")


RENAMED = {"Scatter": "ScatterElements"}  # up to opset 10

_REDUCED = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "SumSquare")

# Attributes that became inputs: operator -> the first opset with inputs, names in the order of the inputs.
MOVED = {
    "Clip": (11, ["min", "max"]), "Dropout": (12, ["ratio"]), "Pad": (11, ["pads", "value"]),
    "Slice": (10, ["starts", "ends", "axes"]), "Split": (13, ["split"]), "Squeeze": (13, ["axes"]),
    "TopK": (10, ["k"]), "Unsqueeze": (13, ["axes"]), "ReduceSum": (13, ["axes"]),
    **{f"Reduce{one}": (18, ["axes"]) for one in _REDUCED},
}  # fmt: skip


def upgrade(node: Node, opset: int, constants: dict[str, Any]) -> None:
    """Brings a node into the form of the newest opset."""
    told = node.attributes
    first, names = MOVED.get(node.op, (0, []))
    if opset < first:
        for name in names:
            key = f"{node.outputs[0]}.{name}" if name in told else ""
            if key:
                kind = np.float32 if name in ("min", "max", "ratio", "value") else np.int64
                constants[key] = np.array(told.pop(name), kind)
            node.inputs.append(key)
    if node.op in ("Softmax", "LogSoftmax", "Hardmax") and opset < 13:
        told.setdefault("axis", 1)
        told["flat"] = 1  # all axes from there on are one row
    if node.op == "Split" and told.setdefault("num_outputs", len(node.outputs)) != len(node.outputs):
        raise ModelError(f"{node} has {len(node.outputs)} outputs, and num_outputs {told['num_outputs']}")
    if node.op == "BatchNormalization":
        told.pop("spatial", None)
        if opset < 14 and len(node.outputs) > 1:
            raise ModelError(f"{node} is written for training; export the model for inference")
