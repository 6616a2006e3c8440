"""NNEF's calls as nodes: each operation of its specification that ONNX has, too."""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from minilib import dims
from minilib.dims import Dim
from minilib.infer.facts import DTYPE_NAMES, DTYPES, Fact, FactError
from minilib.infer.layers import paddings
from minilib.infer.model import MOST_BYTES, Graph, ModelError, Node
from minilib.infer.operators import FAILURES, OPERATORS

__all__ = ["ALIKE", "BORDERS", "REDUCE", "TRACT", "Reader", "told_shape"]

KINDS = {"scalar": "float32", "integer": "int64", "logical": "bool"}
# tract's names: those of facts, with a capital letter.
TRACT = {name.capitalize(): DTYPES[number].name for number, name in DTYPE_NAMES.items()}
BORDERS = {"constant": "constant", "replicate": "edge", "reflect": "reflect"}

# Operations that are an operator of ONNX under another name: those of arrays alone, and those along axes.
_PAIRS = """add Add, sub Sub, mul Mul, div Div, pow Pow, exp Exp, log Log, sin Sin, cos Cos, abs Abs,
sign Sign, rcp Reciprocal, neg Neg, copy Identity, lt Less, gt Greater, le LessOrEqual, ge GreaterOrEqual,
eq Equal, and And, or Or, not Not, floor Floor, ceil Ceil, round Round, sqrt Sqrt, min Min,
max Max, select Where, relu Relu, sigmoid Sigmoid, tanh Tanh, softplus Softplus, prelu PRelu"""
ALIKE = dict(pair.split() for pair in _PAIRS.split(","))
REDUCE = {"sum": "ReduceSum", "max": "ReduceMax", "min": "ReduceMin", "mean": "ReduceMean"}


class Name(str):
    """An array, or a symbol, by its name."""


def value_of(node: ast.AST) -> Any:
    """A number, text, name, list or tuple; a size in symbols is a Dim."""
    match node:
        case ast.Constant(int() | float() | str() as value):
            return value
        case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() as value)):
            return -value
        case ast.Name(name):
            return {"_true": True, "_false": False}.get(name, Name(name[1:]))
        case ast.List(many) | ast.Tuple(many):
            found = [value_of(one) for one in many]
            return found if isinstance(node, ast.List) else tuple(found)
        case ast.BinOp():
            return dims.parse(re.sub(r"\b_", "", ast.unparse(node)).replace("/", "//"))
    raise FactError("an argument is a number, a text, a name, or a list of them; calls stand alone")


def operation(node: Any) -> tuple[str, str]:
    """Name and kind of a call, `op<kind>(...)`."""
    match node.func:
        case ast.Name(op):
            return op[1:], ""
        case ast.Attribute(ast.Name(op), kind):
            return op[1:], kind[1:]
    raise ModelError("a call begins with no name")


class Reader:
    """Calls become nodes, one by one; the fact of each result is known at once."""

    def __init__(self, fetch: Callable[[str], Any]) -> None:
        self.fetch, self.facts = fetch, dict[str, Fact]()
        self.inputs, self.constants, self.nodes = dict[str, Fact](), dict[str, Any](), list[Node]()
        self.names: dict[str, str] = {}  # NNEF's names -> ours: a name may only be another one for an array

    def graph(self, inputs: list[str], outputs: list[str], body: Iterator[tuple[int, ast.Assign]]) -> Graph:
        inputs, outputs = [one.strip() for one in inputs if one.strip()], [one.strip() for one in outputs]
        lines = list(body)
        calls = Counter(operation(one.value)[0] for _, one in lines if isinstance(one.value, ast.Call))
        if strange := [f"{op} ({times})" for op, times in sorted(calls.items()) if op not in CALLS]:
            raise ModelError(f"operators that are not supported: {', '.join(strange)}")
        for line, one in lines:
            try:
                self.assign(value_of(one.targets[0]), self.made(one.value))
            except ModelError:
                raise
            except FAILURES as error:
                raise ModelError(f"line {line}: {error}") from None
        if missing := [name for name in outputs if name not in self.names]:
            raise ModelError(f"the output {missing[0]!r} is made by no node")
        if set(inputs) != self.inputs.keys():
            raise ModelError(
                f"its inputs are {', '.join(inputs)}, and external makes {', '.join(self.inputs)}"
            )
        own = {made: name for name, made in reversed(self.names.items())}  # as the file has it, where it does
        own.update((self.names[name], name) for name in outputs if self.names[name] not in self.inputs)
        for node in self.nodes:
            node.inputs = [own.get(name, name) for name in node.inputs]
            node.outputs = [own.get(name, name) for name in node.outputs]
        copies = [Node("Identity", [own[self.names[n]]], [n]) for n in outputs if own[self.names[n]] != n]
        constants = {own.get(name, name): array for name, array in self.constants.items()}
        found = Graph({n: self.inputs[n] for n in inputs}, outputs, [*self.nodes, *copies], constants)
        return found.sorted()

    def made(self, node: ast.AST) -> list[str]:
        """The names of what a call makes, or of what is no call."""
        if not isinstance(node, ast.Call):
            return [self.array(value_of(node))]
        op, kind = operation(node)
        told = {str(one.arg)[1:]: value_of(one.value) for one in node.keywords}
        if op in TYPED:
            told["kind"] = KINDS[kind or "scalar"]
        made = CALLS[op](self, *(value_of(one) for one in node.args), **told)
        return made if isinstance(made, list) else [made]

    def assign(self, target: Any, made: list[str]) -> None:
        names = [target] if isinstance(target, str) else list(target)
        if len(made) != len(names):
            raise FactError(f"{len(made)} results are made for {len(names)} names")
        for name, one in zip(names, made):
            if not isinstance(name, Name) or name in self.names:
                raise FactError(f"{name!r} is made twice, or no name")
            self.names[name] = one
            if one in self.inputs:
                self.inputs[name] = self.inputs.pop(one)
                self.names[name], self.facts[name] = name, self.facts[one]

    def fresh(self) -> str:
        return f"nnef.{len(self.facts)}"  # no name of a file has a point

    def add(self, op: str, inputs: Sequence[Any], many: int = 1, **told: Any) -> Any:
        """The name of what a node makes of arrays, a list where it makes `many`; NumPy's become constants."""
        names = [self.array(one) for one in inputs]
        if not OPERATORS[op].least <= len(names) <= OPERATORS[op].most:
            raise FactError(f"{len(names)} arrays are given; {op} takes {OPERATORS[op].least}")
        made = OPERATORS[op].infer(*(self.facts[name] for name in names), **told)
        node = Node(op, names, [], told)
        for fact in made[:many]:
            node.outputs.append(self.fresh())
            self.facts[node.outputs[-1]] = fact
        self.nodes.append(node)
        return node.outputs if many > 1 else node.outputs[0]

    def array(self, value: Any, kind: Any = np.float32) -> str:
        """The name of an array; numbers become constants."""
        if isinstance(value, Name):
            if value not in self.names:
                raise FactError(f"{value!r} is read, and nothing before makes it")
            return self.names[value]
        if isinstance(value, str) and value in self.facts:
            return value
        if not isinstance(value, np.ndarray):
            value = np.array(value, bool if isinstance(value, bool) else kind)
        name = self.fresh()
        self.constants[name], self.facts[name] = value, Fact.of(value)
        return name

    def shape(self, value: Any) -> tuple[Any, ...]:
        shape = self.facts[self.array(value)].shape
        if shape is None:
            raise FactError(f"how many axes {value!r} has is not known")
        return shape

    def aligned(self, values: Sequence[Any]) -> list[str]:
        """Arrays with as many axes: new ones stand at the end, where ONNX has them at the front."""
        kinds = [self.facts[self.array(one)].dtype for one in values if isinstance(one, str)]
        names = [self.array(one, kinds[-1] if kinds else np.float32) for one in values]
        ranks = [len(self.shape(name)) for name in names]
        return [
            self.add("Unsqueeze", [name, np.arange(n, max(ranks))]) if 0 < n < max(ranks) else name
            for name, n in zip(names, ranks)
        ]

    def vector(self, value: Any, length: Any) -> str:
        """(1, length), or a number, as (length,)"""
        return (
            self.add("Reshape", [value, np.array([-1])])
            if isinstance(value, str)
            else self.array(np.full(length, value, np.float32))
        )

    def slid(
        self, x: Any, size: Sequence[int], border: str, padding: Any, stride: Any, dilation: Any, free: str
    ) -> tuple[str, dict[str, Any]]:
        """What a window slides over, and ONNX's attributes; a border that is not `free` is added."""
        strides, dilations = list(stride) or [1] * len(size), list(dilation) or [1] * len(size)
        told = {"kernel_shape": list(size), "strides": strides, "dilations": dilations}
        x = self.array(x)
        if not padding and border in free:
            return x, {**told, "auto_pad": "SAME_UPPER"}
        pads = padding or paddings(self.shape(x)[2:], size, strides, dilations, None, "SAME_UPPER")
        before, after = [a for a, _ in pads], [b for _, b in pads]
        if border in free or not any([*before, *after]):
            return x, {**told, "pads": [*before, *after]}
        wide = np.array([0, 0, *before, 0, 0, *after], np.int64)
        return self.add("Pad", [x, wide], mode=BORDERS[border]), {**told, "pads": [0] * len(wide[4:])}


# What each operation of NNEF is, under its specification's names and defaults

CALLS: dict[str, Callable[..., Any]] = {}
TYPED = ("external", "variable", "constant")  # with the kind of their numbers in <>


def call(function: Callable[..., Any]) -> Callable[..., Any]:
    CALLS[function.__name__] = function
    return function


def alike(op: str) -> Callable[..., str]:
    return lambda g, *values, **named: g.add(op, g.aligned([*values, *named.values()]))


def reduced(op: str) -> Callable[..., str]:
    return lambda g, input, axes: g.add(op, [input, np.array(axes, np.int64)], keepdims=1)


def best(op: str) -> Callable[..., str]:
    return lambda g, input, axes: g.add(op, [input], axis=one_of(axes), keepdims=1)


def one_of(axes: Sequence[int]) -> int:
    if len(axes) != 1:
        raise FactError(f"it goes along the axes {axes}; one is read")
    return axes[0]


CALLS |= {name: alike(op) for name, op in ALIKE.items()}
CALLS |= {f"{name}_reduce": reduced(op) for name, op in REDUCE.items()}
CALLS |= {"argmax_reduce": best("ArgMax"), "argmin_reduce": best("ArgMin")}
CALLS |= {
    "ne": lambda g, x, y: g.add("Not", [CALLS["eq"](g, x, y)]),
    "sqr": lambda g, x: g.add("Mul", [x, x]),
    "rsqrt": lambda g, x: g.add("Reciprocal", [g.add("Sqrt", [x])]),
    "clamp": lambda g, x, a, b: CALLS["min"](g, CALLS["max"](g, x, a), b),
    "leaky_relu": lambda g, x, alpha: g.add("LeakyRelu", [x], alpha=float(alpha)),
    "elu": lambda g, x, alpha=1.0: g.add("Elu", [x], alpha=float(alpha)),
    "softmax": lambda g, x, axes=(1,): g.add("Softmax", [x], axis=one_of(axes)),
    "concat": lambda g, values, axis: g.add("Concat", values, axis=axis),
    "squeeze": lambda g, input, axes: g.add("Squeeze", [input, np.array(axes, np.int64)]),
    "unsqueeze": lambda g, input, axes: g.add("Unsqueeze", [input, np.array(axes, np.int64)]),
}


def external(g: Reader, shape: Any, kind: str) -> str:
    sizes = tuple(dims.symbol(n) if isinstance(n, Name) else n for n in shape)
    if wrong := [n for n in sizes if not isinstance(n, Dim) and not (isinstance(n, int) and 0 < n < 2**40)]:
        raise FactError(f"an axis of {wrong[0]} numbers")
    name = g.fresh()
    g.inputs[name] = g.facts[name] = Fact(np.dtype(kind), sizes)
    return name


CALLS["external"] = external
CALLS["tract_core_external"] = lambda g, shape, datum_type: external(g, shape, TRACT[datum_type])


@call
def variable(g: Reader, shape: Any, label: str, kind: str) -> str:
    array = g.fetch(label)
    if list(array.shape) != shape:
        raise FactError(f"the variable {label!r} is {shape} here, and {list(array.shape)} in its file")
    return g.array(array)


@call
def constant(g: Reader, shape: Any, value: Any, kind: str) -> str:
    count = math.prod(shape)
    if not 0 <= count * 8 <= MOST_BYTES or len(value) not in (1, count):
        raise FactError(f"a constant of the shape {shape} from {len(value)} numbers")
    return g.array(np.resize(np.array(value, kind), shape))


@call
def matmul(g: Reader, A: Any, B: Any, transposeA: bool = False, transposeB: bool = False) -> str:
    names = []
    for one, turned in ((A, transposeA), (B, transposeB)):
        axes = list(range(len(g.shape(one))))
        names.append(g.add("Transpose", [one], perm=[*axes[:-2], axes[-1], axes[-2]]) if turned else one)
    return g.add("MatMul", names)


@call
def linear(g: Reader, input: Any, filter: Any, bias: Any = 0.0) -> str:
    made = matmul(g, input, filter, transposeB=True)
    return made if bias == 0.0 else CALLS["add"](g, made, bias)


@call
def conv(
    g: Reader, input: Any, filter: Any, bias: Any = 0.0, border: str = "constant", padding: Any = (),
    stride: Any = (), dilation: Any = (), groups: int = 1,
) -> str:  # fmt: skip
    many, _, *size = g.shape(filter)
    x, told = g.slid(input, size, border, padding, stride, dilation, "constant ignore")
    more = [] if bias == 0.0 else [g.vector(bias, many)]
    return g.add("Conv", [x, filter, *more], group=groups or g.shape(x)[1], **told)


def pooled(op: str, mean: bool = True) -> Callable[..., str]:
    def pool(
        g: Reader, input: Any, size: Any, border: str = "constant", padding: Any = (), stride: Any = (),
        dilation: Any = (), normalize: bool = mean,
    ) -> str:  # fmt: skip
        if any(n != 1 for n in (*size[:2], *stride[:2])) or any(n for pair in padding[:2] for n in pair):
            raise FactError(f"a window of {size} steps over samples or channels, which is not read")
        free = "ignore" if op == "MaxPool" else "constant ignore"
        x, told = g.slid(input, size[2:], border, padding[2:], stride[2:], dilation[2:], free)
        if op == "AveragePool":
            told["count_include_pad"] = int(border != "ignore" or not normalize)
        made = g.add(op, [x], **told)
        return made if normalize else g.add("Mul", [made, np.float32(math.prod(size))])

    return pool


CALLS |= {"max_pool": pooled("MaxPool"), "avg_pool": pooled("AveragePool")}
CALLS["box"] = pooled("AveragePool", mean=False)


def told_shape(new: Sequence[Any], old: Sequence[Any]) -> list[int]:
    """A shape as Reshape takes it: a symbol is an axis that stays (0), or what is left (-1)."""
    made = [n if isinstance(n, int) else 0 if i < len(old) and n == old[i] else -1 for i, n in enumerate(new)]
    if made.count(-1) > 1:
        raise FactError(f"a reshape to {Fact(None, tuple(new))} has more than one symbol in a new place")
    return made


@call
def reshape(g: Reader, input: Any, shape: Any, axis_start: int = 0, axis_count: int = -1) -> str:
    old = g.shape(input)
    end = len(old) if axis_count == -1 else axis_start + axis_count
    named = [dims.symbol(n) if isinstance(n, Name) else n for n in shape]
    inner = [old[axis_start + i] if n == 0 else n for i, n in enumerate(named)]
    new = told_shape([*old[:axis_start], *inner, *old[end:]], old)
    return g.add("Reshape", [input, np.array(new, np.int64)])


@call
def transpose(g: Reader, input: Any, axes: Any) -> str:
    return g.add("Transpose", [input], perm=[*axes, *range(len(axes), len(g.shape(input)))])


@call
def split(g: Reader, value: Any, axis: int, ratios: Any) -> list[str]:
    n = g.shape(value)[axis]
    if not isinstance(n, int) or n % sum(ratios):
        raise FactError(f"an axis of {n} is split by {ratios}")
    sizes = np.array(ratios, np.int64) * (n // sum(ratios))
    made = g.add("Split", [value, sizes], many=len(ratios), axis=axis)
    return made if len(ratios) > 1 else [made]


@call
def slice(g: Reader, input: Any, axes: Any, begin: Any, end: Any, stride: Any = ()) -> str:
    ends = [2**62 if n == 0 else n for n in end]  # 0 is the end
    given = [np.array(one, np.int64) for one in (begin, ends, axes, stride or [1] * len(axes))]
    return g.add("Slice", [input, *given])


@call
def pad(g: Reader, input: Any, padding: Any, border: str = "constant", value: float = 0.0) -> str:
    wide = np.array([a for a, _ in padding] + [b for _, b in padding], np.int64)
    kind = g.facts[g.array(input)].dtype
    return g.add("Pad", [input, wide, np.array(value, kind)], mode=BORDERS[border])


@call
def batch_normalization(
    g: Reader, input: Any, mean: Any, variance: Any, offset: Any, scale: Any, epsilon: float
) -> str:
    told = [g.vector(one, g.shape(input)[1]) for one in (scale, offset, mean, variance)]
    return g.add("BatchNormalization", [input, *told], epsilon=float(epsilon))
