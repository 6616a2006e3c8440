"""Streams: a model that reads a whole recording becomes one that reads it in pulses, and remembers the rest.

A frame of a stream is one step along the axis whose length is the symbol. In a model in pulses every edge
carries so many frames a run, and is late: frame 0 comes out after `delay` frames that are none of the stream's.
A window needs frames that came before, which a buffer keeps, and waits for frames that are still to come, which
is the delay. Both are ordinary nodes: the buffer is an input, and what it is next time is an output.

In tract this is `tract-pulse`, whose Delay has `delay` and `overlap` as here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from minilib.dims import at, parse, symbol, symbols_of
from minilib.infer.elementwise import UNARY, axes_of
from minilib.infer.facts import Fact, ceil_div, product
from minilib.infer.layers import paddings
from minilib.infer.model import Graph, ModelError, Node, analyse
from minilib.infer.state import ENDLESS, Kept, Memory, Stream

__all__ = ["Pulse", "late_window"]

INT64 = np.dtype(np.int64)
FAR = 2**20  # pulses: sizes are compared where all maxima and roundings have settled
NUMBER_BY_NUMBER = {
    *UNARY,
    *"Add And Cast CastLike Clip Div Dropout Elu Equal Erf Gelu Greater GreaterOrEqual HardSigmoid IsInf IsNaN"
    " LeakyRelu Less LessOrEqual Max Mean Min Mish Mod Mul Not Or PRelu Pow Relu Sigmoid Sub Sum Swish Where"
    " Xor".split(),
}


def late_window(delay: int, span: int, stride: int, before: int) -> tuple[int, int]:
    """A window of `span` frames, with `before` frames of padding, over a stream that is `delay` late.

    Returns how late its results are, in frames of theirs, and how many frames a buffer has to keep.
    """
    late = max(ceil_div(delay - before + max(span - stride, 0), stride), 0)
    return late, late * stride + before - delay


@dataclass(frozen=True)
class Edge:
    """A stream in pulses: a pulse's fact, its axis, how late frame 0 is, how many frames there will be."""

    fact: Fact
    axis: int
    delay: int
    length: Any

    @property
    def pulse(self) -> Any:
        """How many frames come in one run."""
        return self.shape[self.axis]

    @property
    def shape(self) -> tuple[Any, ...]:
        return self.fact.shape or ()

    def of(self, frames: int, delay: int) -> Edge:
        """The same with another number of frames, and as late as that."""
        shape = (*self.shape[: self.axis], frames, *self.shape[self.axis + 1 :])
        return replace(self, fact=Fact(self.fact.dtype, shape), delay=delay)


@dataclass(frozen=True)
class Pulse:
    """A transform: the axis whose length is `symbol` is cut into pulses of so many frames.

    The model then runs with a state, `into_runnable().spawn_state()`, pulse by pulse; its property `pulse.delay`
    says for each output how many of its first frames are to be dropped. Raises ModelError where a node needs the
    whole stream at once.
    """

    pulse: int | str
    symbol: str = "S"

    def apply(self, graph: Graph) -> tuple[Graph, Memory]:
        try:
            frames = parse(str(self.pulse))
        except ValueError as error:
            raise ModelError(f"a pulse of {self.pulse!r}: {error}") from None
        if not isinstance(frames, int) or frames < 1:
            raise ModelError(f"a pulse is a number of frames, 1 or more, and not {self.pulse}")
        facts = graph.facts or analyse(graph)
        return Pulsing(Graph(**{**vars(graph), "facts": facts}), self.symbol, frames).pulsed()


class Pulsing:
    """A graph while it is cut into pulses. `now` says what each name of the graph is called in the new one."""

    def __init__(self, graph: Graph, symbol_name: str, pulse: int) -> None:
        self.graph, self.facts, self.symbol, self.pulse = graph, graph.facts, symbol_name, pulse
        self.inputs: dict[str, Fact] = {}
        self.outputs: list[str] = []
        self.nodes: list[Node] = []
        self.constants = dict(graph.constants)
        self.kept: dict[str, Kept] = {}
        self.now: dict[str, str] = {}  # where it is called otherwise
        self.sizes: set[str] = set()  # names that are known before the run, in symbols
        self.edges: dict[str, Edge] = {}  # by the new names

    def pulsed(self) -> tuple[Graph, Memory]:
        for name, fact in self.graph.inputs.items():
            axis = self.axis_of(name, "the input")
            shape = fact.shape
            if axis is not None and shape is not None:
                if shape[axis] != symbol(self.symbol):
                    raise ModelError(f"the input {name!r} is {fact}: its axis {axis} should be {self.symbol}")
                self.edges[name] = Edge(fact, axis, 0, shape[axis]).of(self.pulse, 0)
            self.inputs[name] = self.edges[name].fact if name in self.edges else fact
        if not self.edges:
            known = set().union(*(symbols_of(n) for f in self.graph.inputs.values() for n in f.shape or () if n))
            raise ModelError(
                f"no input has the symbol {self.symbol!r}; there are {', '.join(sorted(known)) or 'none'}"
            )
        for node in self.graph.nodes:
            self.translate(node)
        for name in self.graph.outputs:
            if self.now.get(name, name) != name:
                self.emit("Identity", [self.now[name]], output=name)
        for name in self.graph.outputs:
            if name not in self.edges:
                raise ModelError(f"the output {name!r} does not depend on the stream; take it out of the model")
        edges = [self.edges[name] for name in self.graph.outputs]
        stream = Stream(
            self.symbol,
            self.pulse,
            {name: self.edges[name].axis for name in self.graph.inputs if name in self.edges},
            {n: (e.axis, e.pulse, e.delay, e.length) for n, e in zip(self.graph.outputs, edges)},
        )
        properties = {
            **self.graph.properties,
            "pulse.delay": np.array([edge.delay for edge in edges]),
            "pulse.input_axes": np.array(list(stream.inputs.values())),
            "pulse.output_axes": np.array([edge.axis for edge in edges]),
        }
        outputs = [*self.graph.outputs, *self.outputs]
        made = Graph(self.inputs, outputs, self.nodes, self.constants, {}, properties).sorted()
        made.facts = analyse(made)
        return made, Memory(self.kept, stream)

    # What is known of a name

    def axis_of(self, name: str, what: object) -> int | None:
        """Which axis of it the stream runs along; None where it is none of the stream's."""
        fact = self.facts.get(name, Fact())
        if fact.shape is None:
            raise ModelError(f"{what}: nothing is known of the shape of {name!r}, so it cannot run in pulses")
        axes = [i for i, n in enumerate(fact.shape) if n is not None and self.symbol in symbols_of(n)]
        if len(axes) > 1:
            raise ModelError(
                f"{what}: {name!r} is {fact}, where {len(axes)} axes grow with {self.symbol}: every frame looks"
                " at every other, which no buffer holds"
            )
        return axes[0] if axes else None

    def numbers(self, node: Node, i: int) -> list[Any] | None:
        """The numbers of input `i`, which are known before the run; None where there is no such input."""
        if len(node.inputs) <= i or not node.inputs[i]:
            return None
        value = self.facts[node.inputs[i]].value
        if value is None:
            raise ModelError(f"{node}: {node.inputs[i]!r} is not known before the run, so no pulses can be cut")
        return list(np.asarray(value).reshape(-1).tolist())

    # Nodes of the new graph

    def emit(self, op: str, inputs: list[str], output: str = "", edge: Edge | None = None, **told: Any) -> str:
        name = output or f"pulse.{len(self.nodes)}"
        self.nodes.append(Node(op, inputs, [name], told))
        edge = edge or next((self.edges[one] for one in inputs if one in self.edges), None)
        if edge is not None:
            self.edges[name] = edge
        return name

    def constant(self, value: Any, dtype: Any = np.int64) -> str:
        name = f"pulse.c{len(self.constants)}"
        self.constants[name] = np.asarray(value, dtype)
        return name

    def keep(self, name: str, fact: Fact, output: str | None, fill: Any = 0, length: Any = None) -> str:
        self.inputs[name], self.kept[name] = fact, Kept(fact, output, fill, length)
        if output is not None and output not in self.outputs:
            self.outputs.append(output)
        return name

    def delayed(self, name: str, delay: int, overlap: int = 0, fill: Any = 0) -> str:
        """The stream `delay` frames later, each time with the `overlap` frames before it: a buffer keeps both."""
        edge, back = self.edges[name], delay + overlap
        if not back:
            return name
        old, new = f"{name}.past{len(self.kept)}", f"{name}.kept{len(self.kept)}"
        self.keep(old, edge.of(back, 0).fact, new, fill)
        seen = self.emit("Concat", [old, name], edge=edge.of(back + edge.pulse, edge.delay), axis=edge.axis)
        self.cut(seen, edge.pulse, edge.pulse + back, edge.of(back, 0), output=new)
        late = edge.of(edge.pulse + overlap, edge.delay + delay)
        return self.cut(seen, 0, edge.pulse + overlap, late) if delay else seen

    def cut(self, name: str, start: int, stop: int, edge: Edge, output: str = "") -> str:
        inputs = [name, *(self.constant([n]) for n in (start, stop, edge.axis))]
        return self.emit("Slice", inputs, output, edge)

    def within(self, name: str, fill: Any) -> str:
        """The stream with `fill` in the place of all frames before its first and behind its last."""
        edge = self.edges[name]
        if "pulse.turn" not in self.inputs:
            self.keep("pulse.turn", Fact(INT64, ()), "pulse.turns")
            self.emit("Add", ["pulse.turn", self.constant(1)], "pulse.turns")
        end = self.keep(f"{name}.end{len(self.kept)}", Fact(INT64, ()), None, ENDLESS, edge.length)
        first = self.emit("Mul", ["pulse.turn", self.constant(edge.pulse)])
        numbers = np.arange(edge.pulse).reshape(-1, *[1] * (len(edge.shape) - edge.axis - 1)) - edge.delay
        frame = self.emit("Add", [first, self.constant(numbers)])
        begun = self.emit("GreaterOrEqual", [frame, self.constant(0)])
        mask = self.emit("And", [begun, self.emit("Less", [frame, end])])
        return self.emit("Where", [mask, name, self.constant(fill, edge.fact.dtype)], edge=edge)

    # One node of the old graph

    def translate(self, node: Node) -> None:
        made = [name for name in node.outputs if name]
        if all(self.facts[name].value is not None for name in made):
            for name in made:
                value = self.facts[name].value
                if value.dtype == object:
                    self.sizes.add(name)
                else:
                    self.constants[name] = value
            return
        streams = [name for name in node.inputs if self.now.get(name, name) in self.edges]
        axis = self.axis_of(streams[0], node) if streams else None
        if axis is None:
            self.per_frame(node, [])
        elif node.op in ("Conv", "MaxPool", "AveragePool") and axis >= 2 and streams[0] == node.inputs[0]:
            self.window(node, axis)
        elif node.op == "Pad" and streams[0] == node.inputs[0]:
            self.pad(node, axis)
        elif node.op == "Slice" and streams[0] == node.inputs[0]:
            self.slice(node, axis)
        elif node.op in ("Reshape", "Flatten"):
            self.reshape(node, axis)
        else:
            self.per_frame(node, streams)

    def result(self, node: Node, name: str, axis: int | None = None) -> None:
        """`name` is what the node's first result is called from now on."""
        old = node.outputs[0]
        fact = self.facts[old]
        found = self.axis_of(old, node)
        if found is None or fact.shape is None:
            raise ModelError(f"{node}: its result is {fact}, without {self.symbol}, so it needs the whole stream")
        self.now[old] = name
        edge = self.edges[name]
        shape = (*fact.shape[:found], edge.pulse, *fact.shape[found + 1 :])
        self.edges[name] = Edge(Fact(fact.dtype, shape), found, edge.delay, fact.shape[found])

    def aligned(self, node: Node, streams: list[str]) -> dict[str, str]:
        """The node's streams, all as late as the latest of them."""
        edges = {name: self.edges[self.now.get(name, name)] for name in streams}
        if len({edge.pulse for edge in edges.values()}) > 1:
            raise ModelError(f"{node}: its inputs have different rates, {', '.join(str(e.fact) for e in edges.values())}")
        latest = max((edge.delay for edge in edges.values()), default=0)
        return {
            name: self.delayed(self.now.get(name, name), latest - edge.delay) for name, edge in edges.items()
        }

    def per_frame(self, node: Node, streams: list[str]) -> None:
        """A node that treats each frame by itself stays as it is; frames that meet have the same number."""
        for i, name in enumerate(node.inputs):
            if name in self.sizes:
                raise ModelError(f"{node}: {name!r} is {self.facts[name]}, which no pulse knows")
            if name in streams:
                fact, axis = self.facts[name], self.axis_of(name, node)
                mixed = mixed_axes(node, i, len(fact.shape or ()), lambda at: self.numbers(node, at))
                if mixed is None:
                    raise ModelError(f"{node}: {node.op} cannot be cut into pulses")
                if axis in mixed:
                    raise ModelError(
                        f"{node} needs the whole stream: it works along axis {axis} of {fact}; no buffer holds that"
                    )
        names = self.aligned(node, streams)
        edge = self.edges[names[streams[0]]] if streams else None
        inputs = [names.get(name, self.now.get(name, name)) for name in node.inputs]
        if node.op == "Squeeze" and len(inputs) == 1:  # of a pulse of 1 frame the stream's axis would go too
            shape = self.facts[node.inputs[0]].shape or ()
            inputs.append(self.constant([i for i, n in enumerate(shape) if isinstance(n, int) and n == 1]))
        self.nodes.append(Node(node.op, inputs, list(node.outputs), node.attributes, node.name))
        for name in filter(None, node.outputs):
            fact, axis = self.facts[name], self.axis_of(name, node)
            if (axis is None) != (edge is None):
                raise ModelError(f"{node}: its result {name!r} is {fact}, which cannot be made pulse by pulse")
            if axis is not None and edge is not None and fact.shape is not None:
                if fact.shape[axis] != edge.length:
                    raise ModelError(f"{node}: {edge.length} frames become {fact.shape[axis]}")
                shape = (*fact.shape[:axis], edge.pulse, *fact.shape[axis + 1 :])
                self.edges[name] = Edge(Fact(fact.dtype, shape), axis, edge.delay, edge.length)

    def reshape(self, node: Node, axis: int) -> None:
        """The stream's axis stays one, with as many numbers before it; the new shape is of a pulse."""
        old, new = self.facts[node.inputs[0]].shape or (), self.facts[node.outputs[0]].shape or ()
        there = self.axis_of(node.outputs[0], node)
        if there is None or new[there] != old[axis] or product(old[:axis]) != product(new[:there]):
            raise ModelError(
                f"{node}: {self.facts[node.inputs[0]]} becomes {self.facts[node.outputs[0]]}; the frames of the"
                " stream have to stay one axis"
            )
        name = self.now.get(node.inputs[0], node.inputs[0])
        edge = self.edges[name]
        wanted = [edge.pulse if i == there else n if isinstance(n, int) else -1 for i, n in enumerate(new)]
        if wanted.count(-1) > 1:
            raise ModelError(f"{node}: {self.facts[node.outputs[0]]} has two sizes that are not known")
        inputs = [name, self.constant(wanted)]
        self.result(node, self.emit("Reshape", inputs, node.outputs[0], edge, allowzero=1 if 0 in wanted else 0))

    def window(self, node: Node, axis: int) -> None:
        """A window over the stream: the frames before it come out of a buffer, and it waits for those behind."""
        told, sizes = dict(node.attributes), (self.facts[node.inputs[0]].shape or ())[2:]
        weights = self.facts[node.inputs[1]].shape if node.op == "Conv" else None
        kernel = list(weights[2:]) if weights is not None else list(told["kernel_shape"])
        ones = [1] * len(kernel)
        strides, dilations = told.get("strides") or ones, told.get("dilations") or ones
        wide = paddings(sizes, kernel, strides, dilations, told.get("pads"), told.get("auto_pad", "NOTSET"))
        (before, after), along = wide[axis - 2], axis - 2
        stride, span = strides[along], dilations[along] * (kernel[along] - 1) + 1
        if not all(isinstance(n, int) for pair in wide for n in pair):
            raise ModelError(f"{node}: its padding depends on the length of the stream; write it as a number")
        if any(node.outputs[1:]):
            raise ModelError(f"{node}: the places of the maxima would be counted from the start of the stream")
        open_end = bool(told.get("ceil_mode") and stride > 1)
        uncounted = node.op == "AveragePool" and not told.get("count_include_pad") and (before or after or open_end)
        if open_end and node.op == "AveragePool" and not uncounted:
            raise ModelError(f"{node}: with ceil_mode and count_include_pad its last window cannot be told")
        wide[along] = (0, 0)
        told |= {"pads": [a for a, _ in wide] + [b for _, b in wide], "auto_pad": "NOTSET"}

        name = self.now.get(node.inputs[0], node.inputs[0])
        dtype = self.edges[name].fact.dtype
        fill: Any = 0
        if node.op == "MaxPool" and dtype is not None:
            fill = -np.inf if dtype.kind == "f" else np.iinfo(dtype).min

        def windowed(name: str, told: dict[str, Any], more: list[str], output: str) -> str:
            edge = self.edges[name]
            if edge.pulse % stride:
                raise ModelError(
                    f"{node}: a pulse of {edge.pulse} frames is no multiple of its stride {stride};"
                    f" take a multiple of {self.pulse * stride // math.gcd(edge.pulse, stride)}"
                )
            if after or open_end or (before and edge.delay):
                name = self.within(name, fill)
            late, back = late_window(edge.delay, span, stride, before)
            overlap = max(span - stride, 0)
            seen = self.delayed(name, back - overlap, overlap, fill)
            return self.emit(node.op, [seen, *more], output, edge.of(edge.pulse // stride, late), **told)

        more = [self.now.get(one, one) for one in node.inputs[1:]]
        if not uncounted:
            self.result(node, windowed(name, told, more, node.outputs[0]))
            return
        # The mean of windows over ones and zeros says which part of a window lies within the stream.
        edge = self.edges[name]
        shape = [edge.pulse if i == axis else 1 for i in range(len(edge.shape))]
        there = self.constant(np.ones(shape), dtype)
        self.edges[there] = replace(edge, fact=Fact(dtype, tuple(shape)))
        alone: dict[str, Any] = {
            key: [n if i == along else 1 for i, n in enumerate(value)]
            for key, value in (("kernel_shape", kernel), ("strides", strides), ("dilations", dilations))
        }
        part = windowed(there, alone, [], "")
        mean = windowed(name, told, more, "")
        self.result(node, self.emit("Div", [mean, part], node.outputs[0]))

    def pad(self, node: Node, axis: int) -> None:
        """Frames before the first make it less late; they and those behind the last are filled."""
        rank = len(self.facts[node.inputs[0]].shape or ())
        pads, axes = self.numbers(node, 1) or [], self.numbers(node, 3)
        along = axes_of(range(rank) if axes is None else axes, rank)
        widths = dict(zip(along, zip(pads[: len(along)], pads[len(along) :])))
        before, after = widths.pop(axis, (0, 0))
        if before < 0 or after < 0 or ((before or after) and node.attributes.get("mode", "constant") != "constant"):
            raise ModelError(f"{node}: a stream is only padded with constants, and not cut")
        name = self.now.get(node.inputs[0], node.inputs[0])
        value = self.numbers(node, 2)
        if before or after:
            name = self.within(name, value[0] if value else 0)
            edge = self.edges[name]
            name = self.delayed(name, max(before - edge.delay, 0), 0, value[0] if value else 0)
            edge = self.edges[name]
            self.edges[name] = replace(edge, delay=edge.delay - before)
        if widths:
            others = self.constant([widths[i][j] for j in (0, 1) for i in widths])
            rest = [others, node.inputs[2] if len(node.inputs) > 2 else "", self.constant(list(widths))]
            name = self.emit("Pad", [name, *rest], edge=self.edges[name], **node.attributes)
        self.result(node, self.emit("Identity", [name], node.outputs[0]))

    def slice(self, node: Node, axis: int) -> None:
        """Frames that are cut off in front make it later; so do those at the end, which nobody knows before."""
        rank = len(self.facts[node.inputs[0]].shape or ())
        starts, ends = self.numbers(node, 1) or [], self.numbers(node, 2) or []
        steps = self.numbers(node, 4) or [1] * len(starts)
        along = axes_of(range(len(starts)) if (axes := self.numbers(node, 3)) is None else axes, rank)
        name = self.now.get(node.inputs[0], node.inputs[0])
        cuts = {i: one for i, *one in zip(along, starts, ends, steps)}
        start, _, step = cuts.pop(axis, (0, 0, 1))
        if not isinstance(start, int) or start < 0 or step != 1:
            raise ModelError(f"{node}: of a stream only a beginning and an end can be cut off, without steps")
        if cuts:
            if any(not isinstance(n, int) for one in cuts.values() for n in one):
                raise ModelError(f"{node}: it cuts at sizes that are not known")
            columns = [self.constant(list(one)) for one in zip(*cuts.values())]
            name = self.emit("Slice", [name, *columns[:2], self.constant(list(cuts)), columns[2]], edge=self.edges[name])
        name = self.emit("Identity", [name])
        edge = self.edges[name]
        edge = self.edges[name] = replace(edge, delay=edge.delay + start)
        found = self.axis_of(node.outputs[0], node)
        if found is not None:
            length = at((self.facts[node.outputs[0]].shape or ())[found], {self.symbol: self.pulse * FAR})
            unknown = edge.pulse * FAR - length - edge.delay if isinstance(length, int) else 0
            name = self.delayed(name, max(unknown, 0))
        self.result(node, name)


def mixed_axes(
    node: Node, i: int, rank: int, numbers: Callable[[int], list[Any] | None]
) -> set[int] | None:
    """Along which axes of its input `i` a node looks at more than one number; None where that is not known."""
    op, told = node.op, node.attributes
    if op in NUMBER_BY_NUMBER or op in ("Transpose", "Squeeze", "Unsqueeze"):
        return set()
    if op.startswith("Reduce"):
        axes = numbers(1)
        return set(axes_of(range(rank) if axes is None else axes, rank))
    if op in ("LayerNormalization", "RMSNormalization") or (told.get("flat") and "axis" in told):
        return set(range(told.get("axis", -1) % rank, rank))
    if op in ("Softmax", "LogSoftmax", "Hardmax"):
        return {told.get("axis", -1) % rank}
    if op in ("Concat", "Split", "ArgMax", "ArgMin"):
        return {told.get("axis", 0) % rank}
    if op == "Gather":
        return {told.get("axis", 0) % rank} if i == 0 else set()
    if op == "MatMul":
        return {rank - 1} if i == 0 or rank == 1 else {rank - 2}
    if op == "Gemm":
        return [{0 if told.get("transA") else 1}, {1 if told.get("transB") else 0}, set[int]()][i]
    if op in ("BatchNormalization", "Conv") and i == 0:
        return {1, *(range(2, rank) if op == "Conv" else ())}
    if op in ("MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "InstanceNormalization"):
        return set(range(2, rank))
    return set(range(1, rank)) if op in ("GroupNormalization", "ConvTranspose") and i == 0 else None
