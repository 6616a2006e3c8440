"""Nodes as NNEF's calls: the other way of `nnef_read`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import numpy as np

from minilib.dims import symbols_of
from minilib.infer.facts import Fact, FactError
from minilib.infer.layers import windows
from minilib.infer.model import Graph, ModelError, Node, analyse
from minilib.infer.nnef_read import ALIKE, BORDERS, KINDS, REDUCE, TRACT, told_shape

__all__ = ["written"]


class Code(str):
    """Text that stands as it is: a name, or a call."""


def text(value: Any) -> str:
    if isinstance(value, Code):
        return value
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(map(text, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(text, value))})"
    return f'"{value}"' if isinstance(value, str) else repr(value)


def written(graph: Graph, symbols: bool) -> tuple[str, dict[str, Any]]:
    """graph.nnef, and the arrays of its variables. Raises ModelError with all that NNEF has no words for."""
    if strange := Counter(node.op for node in graph.nodes if node.op not in CODES):
        told = ", ".join(f"{op} ({times})" for op, times in sorted(strange.items()))
        raise ModelError(f"operators that NNEF does not have: {told}")
    return Writer(graph, symbols).whole()


class Writer:
    """A graph as lines of text."""

    def __init__(self, graph: Graph, symbols: bool) -> None:
        self.graph, self.facts, self.strict = graph, dict(graph.facts or analyse(graph)), not symbols
        self.tract, self.symbols, self.taken = False, set[str](), set[str]()
        self.names: dict[str, Code] = {}
        self.lines: list[str] = []
        self.arrays: dict[str, Any] = {}

    def whole(self) -> tuple[str, dict[str, Any]]:
        for name, fact in self.graph.inputs.items():
            self.external(name, fact)
        for node in self.graph.nodes:
            try:
                code = CODES[node.op](self, node, *node.inputs, **node.attributes)
            except (FactError, KeyError, TypeError, ValueError) as error:
                raise ModelError(f"{node}: NNEF has no words for it: {error}") from None
            self.lines.append(f"{', '.join(self.fresh(name) for name in node.outputs if name)} = {code};")
        ends: list[Code] = []
        for name in self.graph.outputs:
            own = name not in self.graph.inputs and name not in self.graph.constants
            one = self.name(name)
            ends.append(one if own and one not in ends else self.let(self.say("copy", one), name))
        lines = ["version 1.0;"]
        if self.tract:
            lines += ["extension tract_registry tract_core;"]
            lines += [f"extension tract_symbol {name};" for name in sorted(self.symbols)]
        head = f"graph network({', '.join(map(self.name, self.graph.inputs))}) -> ({', '.join(ends)}) {{"
        return "\n".join([*lines, "", head, *(f"    {line}" for line in self.lines), "}", ""]), self.arrays

    def external(self, name: str, fact: Fact) -> None:
        if fact.shape is None or fact.dtype is None or any(n is None for n in fact.shape):
            raise ModelError(
                f"the input {name!r} is {fact}; NNEF needs its kind and its sizes: set_input_fact"
            )
        kinds = {kind: name for name, kind in KINDS.items()}
        shape = [n if isinstance(n, int) else Code(str(n).replace(" ", "")) for n in fact.shape]
        found = {one for n in fact.shape if n is not None for one in symbols_of(n)}
        if not found and (kind := kinds.get(fact.dtype.name)):
            self.let(self.say(f"external<{kind}>", shape=shape), name)
            return
        if self.strict:
            raise ModelError(f"the input {name!r} is {fact}, which is said with tract_core alone")
        if wrong := [one for one in found if not one.isidentifier()]:
            raise ModelError(f"the symbol {wrong[0]!r} of the input {name!r} is no name; see set_input_fact")
        self.tract, self.symbols = True, self.symbols | found
        kind = {kind: name for name, kind in TRACT.items()}[fact.dtype.name]
        self.let(self.say("tract_core_external", shape=shape, datum_type=kind), name)

    def fresh(self, name: str) -> Code:
        """A name as NNEF may have it, which none has yet; it stands for this one from now on."""
        plain = re.sub(r"\W", "_", name, flags=re.ASCII) or "_"
        plain = f"_{plain}" if plain[0].isdigit() or plain in KEYWORDS else plain
        names = (Code(f"{plain}_{n}" if n else plain) for n in count())
        made = next(one for one in names if one not in self.taken)
        self.taken.add(made)
        self.names[name] = made
        return made

    def let(self, code: Code, name: str) -> Code:
        made = self.fresh(name)
        self.lines.append(f"{made} = {code};")
        return made

    def name(self, name: str) -> Code:
        """What a name is called; a constant becomes a variable when it is first read."""
        if name not in self.names:
            self.names[name] = self.number(self.graph.constants[name], name)
        return self.names[name]

    def number(self, array: Any, name: str) -> Code:
        kind = next((name for name, kind in KINDS.items() if kind == array.dtype.name), None)
        if kind is None and self.strict:
            raise ModelError(
                f"the constant {name!r} is {Fact.of(array)}, which is said with tract_core alone"
            )
        if array.ndim == 0 and array.dtype == np.float32 and np.isfinite(array):
            return Code(repr(float(array)))
        made = self.fresh(f"{name}_")
        self.arrays[made] = array
        line = self.say(f"variable<{kind or 'scalar'}>", shape=list(array.shape), label=str(made))
        self.lines.append(f"{made} = {line};")
        return made

    def say(self, op: str, *given: Any, **named: Any) -> Code:
        """A call: first arrays, by their names in the graph, then numbers and texts."""
        told = [
            text([self.code(n) for n in one]) if isinstance(one, list) else self.code(one) for one in given
        ]
        return Code(f"{op}({', '.join([*told, *(f'{key} = {text(one)}' for key, one in named.items())])})")

    def code(self, name: str) -> Code:
        return name if isinstance(name, Code) else self.name(name)

    def fixed(self, name: str) -> list[Any]:
        """The numbers of a constant. Raises FactError for another array."""
        if (array := self.graph.constants.get(name)) is None:
            raise FactError(f"{name!r} is no constant")
        return [int(n) for n in np.reshape(array, -1)]

    def shape(self, name: str) -> tuple[Any, ...]:
        shape = self.facts[name].shape
        if shape is None:
            raise FactError(f"how many axes {name!r} has is not known")
        return shape

    def rank(self, name: str) -> int:
        return len(self.shape(name))

    def aligned(self, names: Sequence[str]) -> list[Code]:
        """Arrays with as many axes, the new ones at the front, as ONNX has them."""
        most = max(map(self.rank, names))
        more = [most - self.rank(name) if self.rank(name) else 0 for name in names]
        return [self.lifted(name, list(range(n))) for name, n in zip(names, more)]

    def lifted(self, name: str, axes: list[int]) -> Code:
        """An array with new axes; a row (C,) is (1, C) with axis 0."""
        array = self.graph.constants.get(name)
        if not axes:
            return self.name(name)
        if array is not None:
            return self.number(np.expand_dims(array, tuple(axes)), name)
        return self.let(self.say("unsqueeze", name, axes=axes), f"{name}_")


# How each operator is said


CODES: dict[str, Callable[..., Code]] = {}
KEYWORDS = {"version", "graph", "fragment", "extension", "true", "false", *ALIKE}


def code(*ops: str) -> Callable[[Callable[..., Code]], Callable[..., Code]]:
    def added(function: Callable[..., Code]) -> Callable[..., Code]:
        CODES.update(dict.fromkeys(ops, function))
        return function

    return added


def alike(op: str) -> Callable[..., Code]:
    def said(w: Writer, node: Node, *given: str) -> Code:
        first, *others = w.aligned(node.inputs)
        if op not in ("min", "max"):
            return w.say(op, first, *others)
        for one in others[:-1]:
            first = w.let(w.say(op, first, one), f"{node.outputs[0]}_")
        return w.say(op, first, others[-1]) if others else w.say("copy", first)

    return said


CODES |= {op: alike(name) for name, op in ALIKE.items()}
CODES |= {
    "Concat": lambda w, node, *xs, axis: w.say("concat", list(xs), axis=axis % w.rank(xs[0])),
    "LeakyRelu": lambda w, node, x, alpha=0.01: w.say("leaky_relu", x, alpha=float(alpha)),
    "GlobalAveragePool": lambda w, node, x: w.say("mean_reduce", x, axes=list(range(2, w.rank(x)))),
    "GlobalMaxPool": lambda w, node, x: w.say("max_reduce", x, axes=list(range(2, w.rank(x)))),
}


@code("Transpose")
def transpose(w: Writer, node: Node, x: str, perm: Any = None) -> Code:
    return w.say("transpose", x, axes=list(perm or reversed(range(w.rank(x)))))


@code("MatMul", "Linear", "Gemm")
def matmul(
    w: Writer, node: Node, a: str, b: str, bias: str = "", alpha: float = 1.0, beta: float = 1.0,
    transA: int = 0, transB: int = 0,
) -> Code:  # fmt: skip
    if min(len(w.shape(a)), len(w.shape(b))) < 2 or alpha != 1 or beta != 1:
        raise FactError("one side is a vector, or alpha or beta is not 1")
    made = w.say("matmul", *w.aligned([a, b]), transposeA=bool(transA), transposeB=bool(transB))
    if not bias:
        return made
    w.facts[product := f"{node.outputs[0]}_product"] = Fact(None, w.shape(node.outputs[0]))
    w.let(made, product)
    return w.say("add", *w.aligned([product, bias]))


def window(w: Writer, node: Node, kernel: Sequence[int], lead: int, told: dict[str, Any]) -> dict[str, Any]:
    """Padding, stride and dilation, for `lead` axes more than the window has."""
    if told.get("ceil_mode") or told.get("storage_order"):
        raise FactError("it rounds up, or counts by columns")
    seen, front = windows(w.shape(node.inputs[0])[2:], kernel, **told), [1] * lead
    padding = [(0, 0)] * lead + [tuple(pair) for pair in seen.wide]
    if not all(isinstance(n, int) for pair in padding for n in pair):
        if told["auto_pad"] != "SAME_UPPER":
            raise FactError("its padding depends on symbols")
        padding, front = [], []
    return {"padding": padding, "stride": [*front, *seen.strides], "dilation": [*front, *seen.dilations]}


@code("Conv")
def conv(w: Writer, node: Node, x: str, filter: str, bias: Any = None, group: int = 1, **told: Any) -> Code:
    more = [] if bias is None else [w.lifted(bias, [0])]
    where = window(w, node, w.shape(node.inputs[1])[2:], 0, told)
    return w.say("conv", x, filter, *more, border="constant", **where, groups=group)


@code("MaxPool", "AveragePool")
def pool(w: Writer, node: Node, x: str, kernel_shape: Any, count_include_pad: int = 0, **told: Any) -> Code:
    if len(node.outputs) > 1 and node.outputs[1]:
        raise FactError("its indices are asked for")
    where = window(w, node, kernel_shape, 2, told)
    border = "constant" if count_include_pad else "ignore"
    name = "max_pool" if node.op == "MaxPool" else "avg_pool"
    return w.say(name, x, size=[1, 1, *kernel_shape], border=border, **where)


@code("Softmax")
def softmax(w: Writer, node: Node, x: str, axis: int = -1, flat: int = 0) -> Code:
    rank = w.rank(node.inputs[0])
    if flat and axis % rank != rank - 1:
        raise FactError("it goes along several axes")
    return w.say("softmax", x, axes=[axis % rank])


@code("Reshape", "Flatten")
def reshape(w: Writer, node: Node, x: str, *others: str, **told: Any) -> Code:
    return w.say("reshape", x, shape=told_shape(w.shape(node.outputs[0]), w.shape(node.inputs[0])))


@code("Squeeze", "Unsqueeze")
def squeeze(w: Writer, node: Node, x: str, axes: Any = None) -> Code:
    old, new = w.shape(node.inputs[0]), w.shape(node.outputs[0])
    if axes is None:
        raise FactError("it does not say which axes")
    found = [n % max(len(old), len(new)) for n in w.fixed(node.inputs[1])]
    return w.say(node.op.lower(), x, axes=sorted(found))


@code("Slice")
def sliced(w: Writer, node: Node, x: str, *others: str) -> Code:
    starts, ends, *more = [w.fixed(name) for name in node.inputs[1:] if name]
    axes = more[0] if node.reads(3) else list(range(len(starts)))
    if (node.reads(4) and set(more[-1]) != {1}) or 0 in ends:
        raise FactError("it has steps, or takes nothing")
    shape = w.shape(node.inputs[0])
    known = [shape[axis] for axis in axes]
    last = [0 if e >= (n if isinstance(n, int) else 2**31 - 1) else e for e, n in zip(ends, known)]
    return w.say("slice", x, axes=[n % len(shape) for n in axes], begin=starts, end=last)


@code("Split")
def split(w: Writer, node: Node, x: str, sizes: str = "", axis: int = 0, num_outputs: int = 0) -> Code:
    ratios = [w.shape(name)[axis] for name in node.outputs]
    if not all(isinstance(n, int) and n for n in ratios):
        raise FactError(f"its parts have sizes {ratios}")
    return w.say("split", x, axis=axis % w.rank(x), ratios=ratios)


@code("Pad")
def pad(
    w: Writer, node: Node, x: str, pads: Any, value: Any = None, axes: Any = None, mode: str = "constant"
) -> Code:
    borders = {theirs: ours for ours, theirs in BORDERS.items()}
    wide = w.fixed(node.inputs[1])
    half = len(wide) // 2
    if axes is not None or min(wide, default=0) < 0:
        raise FactError("it names axes, or cuts")
    number = w.graph.constants[node.inputs[2]].item() if value is not None else 0.0
    return w.say("pad", x, padding=list(zip(wide[:half], wide[half:])), border=borders[mode], value=number)


@code(*REDUCE.values())
def reduced(
    w: Writer, node: Node, x: str, axes: Any = None, keepdims: int = 1, noop_with_empty_axes: int = 0
) -> Code:
    rank = w.rank(node.inputs[0])
    found = w.fixed(node.inputs[1]) if axes is not None else [] if noop_with_empty_axes else list(range(rank))
    found = sorted(n % rank for n in found)
    names = {op: name for name, op in REDUCE.items()}
    made = w.say(f"{names[node.op]}_reduce", x, axes=found)
    return made if keepdims else w.say("squeeze", w.let(made, f"{node.outputs[0]}_"), axes=found)


@code("BatchNormalization")
def batch_norm(w: Writer, node: Node, x: str, *told: str, epsilon: float = 1e-5, **more: Any) -> Code:
    if more.get("training_mode") or len(node.outputs) > 1:
        raise FactError("it trains")
    scale, offset, mean, variance = (w.lifted(name, [0]) for name in node.inputs[1:])
    return w.say("batch_normalization", x, mean, variance, offset, scale, epsilon=float(epsilon))


@code("Clip")
def clip(w: Writer, node: Node, x: str, low: Any = None, high: Any = None) -> Code:
    if node.reads(1):
        x = w.let(w.say("max", x, low), f"{node.outputs[0]}_")
    return w.say("min", x, high) if node.reads(2) else w.say("copy", x)
