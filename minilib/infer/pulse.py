"""Streams: a model that reads a whole recording becomes one that reads it in pulses, and remembers the rest.

A window needs frames that came before, which a buffer keeps, and it waits for frames that are still to come,
which makes it late. Where streams meet, the earlier one waits. Each rule says so for one kind of node; what
needs all frames at once, such as a mean over them, is refused. In tract this is `tract-pulse`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from minilib.dims import at, parse, symbol, symbols_of
from minilib.infer.buffers import Edge, Pulses, late_window
from minilib.infer.elementwise import NUMBER_BY_NUMBER, axes_of
from minilib.infer.facts import Fact, FactError, one_size, product
from minilib.infer.layers import windows
from minilib.infer.model import Graph, ModelError, Node, analyse
from minilib.infer.state import Memory, Stream

__all__ = ["Pulse"]

MOST = 2**20  # frames of a pulse
FAR = 2**20  # pulses: sizes are compared where all maxima and roundings have settled


class Pulse:
    """A transform: the axis whose length is `symbol` is cut into pulses of so many frames.

    The model then runs with a state, `into_runnable().spawn_state()`, pulse by pulse; its property
    `pulse.delay` says for each output how many of its first frames are to be dropped. Raises ModelError where
    a node needs the whole stream at once.
    """

    def __init__(self, pulse: int | str, symbol: str = "S") -> None:
        self.pulse, self.along = pulse, symbol

    def symbol(self, name: str) -> Pulse:
        """The same transform, along another symbol."""
        return Pulse(self.pulse, name)

    def apply(self, graph: Graph) -> tuple[Graph, Memory]:
        try:
            frames = parse(str(self.pulse))
        except ValueError as error:
            raise ModelError(f"a pulse of {self.pulse!r}: {error}") from None
        if not isinstance(frames, int) or not 1 <= frames <= MOST:
            raise ModelError(f"a pulse is a number of frames, from 1 to {MOST}, and not {self.pulse}")
        facts = graph.facts or analyse(graph)
        pulsing = Pulsing(Graph(**{**vars(graph), "facts": facts}), self.along, frames)
        try:
            return pulsing.pulsed()
        except FactError as error:
            raise ModelError(f"{pulsing.at}: {error}") from None


class Pulsing:
    """A graph while it is cut into pulses, its nodes one by one."""

    def __init__(self, graph: Graph, symbol_name: str, pulse: int) -> None:
        self.graph, self.facts, self.symbol, self.pulse = graph, graph.facts, symbol_name, pulse
        self.at: object = "its inputs"  # what is cut now
        self.new = Pulses(dict(graph.constants))
        self.now: dict[str, str] = {}  # what a name of the graph is called in the new one, where otherwise
        self.sizes: set[str] = set()  # names that are known before the run, in symbols

    def called(self, name: str) -> str:
        return self.now.get(name, name)

    def pulsed(self) -> tuple[Graph, Memory]:
        self.graph.check_symbol(self.symbol)
        for name, fact in self.graph.inputs.items():
            edge = self.edge(name, self.pulse, 0)
            self.new.inputs[name] = fact if edge is None else edge.fact
            if edge is not None:
                if edge.length != symbol(self.symbol):
                    raise FactError(f"{name!r} is {fact}: its axis {edge.axis} should be {self.symbol}")
                self.new.edges[name] = edge
        for node in self.graph.nodes:
            self.at = node
            self.translate(node)
        for name in self.graph.outputs:
            if self.called(name) != name:
                self.new.emit("Identity", [self.now[name]], output=name)
        for name in self.graph.outputs:
            if name not in self.new.edges:
                raise ModelError(
                    f"the output {name!r} does not depend on the stream; take it out of the model"
                )
        edges = [self.new.edges[name] for name in self.graph.outputs]
        stream = Stream(
            self.symbol,
            self.pulse,
            {name: self.new.edges[name].axis for name in self.graph.inputs if name in self.new.edges},
            {n: (e.axis, e.pulse, e.delay, e.length) for n, e in zip(self.graph.outputs, edges)},
        )
        properties = {
            **self.graph.properties,
            "pulse.delay": np.array([edge.delay for edge in edges]),
            "pulse.input_axes": np.array(list(stream.inputs.values())),
            "pulse.output_axes": np.array([edge.axis for edge in edges]),
        }
        outputs = [*self.graph.outputs, *self.new.outputs]
        made = Graph(self.new.inputs, outputs, self.new.nodes, self.new.constants, {}, properties).sorted()
        made.facts = analyse(made)
        return made, Memory(self.new.kept, stream)

    # What is known of a name

    def axis_of(self, name: str) -> int | None:
        """Which axis of it the stream runs along; None where it is none of the stream's."""
        fact = self.facts.get(name, Fact())
        if fact.shape is None:
            raise FactError(f"nothing is known of the shape of {name!r}, so it cannot run in pulses")
        axes = [i for i, n in enumerate(fact.shape) if n is not None and self.symbol in symbols_of(n)]
        if len(axes) > 1:
            grow = f"{name!r} is {fact}, where {len(axes)} axes grow with {self.symbol}"
            raise FactError(f"{grow}: each frame looks at each other one, and no buffer holds that")
        return axes[0] if axes else None

    def edge(self, name: str, pulse: int, delay: int) -> Edge | None:
        """A name as a stream, with so many frames in a pulse and so late; None where it is no stream."""
        fact, axis = self.facts[name], self.axis_of(name)
        return None if axis is None else Edge(fact, axis, 0, fact.sizes[axis]).of(pulse, delay)

    def numbers(self, node: Node, i: int) -> list[Any] | None:
        """The numbers of input `i`, which are known before the run; None where there is no such input."""
        if not node.reads(i):
            return None
        value = self.facts[node.inputs[i]].value
        if value is None:
            raise FactError(f"{node.inputs[i]!r} is not known before the run, so nothing is cut")
        return list(np.asarray(value).reshape(-1).tolist())

    # One node of the old graph

    def translate(self, node: Node) -> None:
        made = [name for name in node.outputs if name]
        if all(self.facts[name].value is not None for name in made):
            for name in made:
                value = self.facts[name].value
                if value.dtype == object:
                    self.sizes.add(name)
                else:
                    self.new.constants[name] = value
            return
        streams = [name for name in node.inputs if self.called(name) in self.new.edges]
        axis = self.axis_of(streams[0]) if streams else None
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

    def result(self, node: Node, name: str) -> None:
        """`name` is what the node's first result is called from now on."""
        old, edge = node.outputs[0], self.new.edges[name]
        found = self.edge(old, edge.pulse, edge.delay)
        if found is None:
            raise FactError(
                f"its result {self.facts[old]} is without {self.symbol}: it needs the whole stream"
            )
        self.now[old], self.new.edges[name] = name, found

    def aligned(self, streams: list[str]) -> dict[str, str]:
        """The node's streams, all as late as the latest of them."""
        edges = {name: self.new.edges[self.called(name)] for name in streams}
        if len({edge.pulse for edge in edges.values()}) > 1:
            rates = ", ".join(str(edge.fact) for edge in edges.values())
            raise FactError(f"its inputs have different rates, {rates}")
        latest = max((edge.delay for edge in edges.values()), default=0)
        return {
            name: self.new.delayed(self.called(name), latest - edge.delay) for name, edge in edges.items()
        }

    def per_frame(self, node: Node, streams: list[str]) -> None:
        """A node that treats each frame by itself stays as it is; frames that meet have the same number."""
        for i, name in enumerate(node.inputs):
            if name in self.sizes:
                raise FactError(f"{name!r} is {self.facts[name]}, which no pulse knows")
            if name in streams:
                fact, axis = self.facts[name], self.axis_of(name)
                mixed = mixed_axes(node, i, len(fact.shape or ()), lambda at: self.numbers(node, at))
                if mixed is None:
                    raise FactError(f"{node.op} cannot be cut into pulses")
                if axis in mixed:
                    raise ModelError(f"{node} needs the whole stream: it works along axis {axis} of {fact}")
        names = self.aligned(streams)
        edge = self.new.edges[names[streams[0]]] if streams else None
        inputs = [names.get(name, self.called(name)) for name in node.inputs]
        if node.op == "Squeeze" and len(inputs) == 1:  # of a pulse of 1 frame the stream's axis would go too
            shape = self.facts[node.inputs[0]].shape or ()
            inputs.append(self.new.constant([i for i, n in enumerate(shape) if n == 1]))
        self.new.nodes.append(Node(node.op, inputs, list(node.outputs), node.attributes, node.name))
        for name in filter(None, node.outputs):
            found = self.edge(name, edge.pulse if edge else 0, edge.delay if edge else 0)
            if (found is None) != (edge is None):
                raise FactError(f"its result {self.facts[name]} cannot be made pulse by pulse")
            if found is not None and edge is not None:
                if found.length != edge.length and one_size(found.length, edge.length) is None:
                    raise FactError(f"{edge.length} frames become {found.length}")
                self.new.edges[name] = found

    def reshape(self, node: Node, axis: int) -> None:
        """The stream's axis stays one, with as many numbers before it; the new shape is of a pulse."""
        old, new = self.facts[node.inputs[0]].shape or (), self.facts[node.outputs[0]].shape or ()
        there = self.axis_of(node.outputs[0])
        if there is None or new[there] != old[axis] or product(old[:axis]) != product(new[:there]):
            became = f"{self.facts[node.inputs[0]]} becomes {self.facts[node.outputs[0]]}"
            raise FactError(f"{became}; the stream's frames have to stay one axis")
        name = self.called(node.inputs[0])
        edge = self.new.edges[name]
        wanted = [edge.pulse if i == there else n if isinstance(n, int) else -1 for i, n in enumerate(new)]
        if wanted.count(-1) > 1:
            raise FactError(f"{self.facts[node.outputs[0]]} has two sizes that are not known")
        inputs = [name, self.new.constant(wanted)]
        made = self.new.emit("Reshape", inputs, node.outputs[0], edge, allowzero=int(0 in wanted))
        self.result(node, made)

    def window(self, node: Node, axis: int) -> None:
        """A window over the stream: the frames before come out of a buffer, for those behind it waits."""
        told, sizes = dict(node.attributes), list(self.facts[node.inputs[0]].shape or ())[2:]
        weights = self.facts[node.inputs[1]].shape if node.op == "Conv" else None
        found = windows(sizes, told["kernel_shape"] if weights is None else weights[2:], **told)
        (before, after), along = found.wide[axis - 2], axis - 2
        stride, span = found.strides[along], found.dilations[along] * (found.kernel[along] - 1) + 1
        if not all(isinstance(n, int) for pair in found.wide for n in pair):
            raise FactError("its padding depends on the length of the stream; write it as a number")
        if any(node.outputs[1:]):
            raise FactError("places of maxima would be counted from the start of the stream")
        open_end = bool(told.get("ceil_mode") and stride > 1)
        padded = before or after or open_end
        uncounted = node.op == "AveragePool" and not told.get("count_include_pad") and padded
        if open_end and node.op == "AveragePool" and not uncounted:
            raise FactError("with ceil_mode and count_include_pad its last window cannot be told")
        wide = [(0, 0) if i == along else pair for i, pair in enumerate(found.wide)]
        told |= {"kernel_shape": found.kernel, "strides": found.strides, "dilations": found.dilations}
        told |= {"pads": [a for a, _ in wide] + [b for _, b in wide], "auto_pad": "NOTSET"}

        name = self.called(node.inputs[0])
        dtype = self.new.edges[name].fact.dtype
        fill: Any = 0
        if node.op == "MaxPool" and dtype is not None:
            fill = -np.inf if dtype.kind == "f" else np.iinfo(dtype).min

        def windowed(name: str, told: dict[str, Any], more: list[str], output: str) -> str:
            edge = self.new.edges[name]
            if edge.pulse % stride:
                least = self.pulse * stride // math.gcd(edge.pulse, stride)
                none = f"a pulse of {edge.pulse} frames is no multiple of its stride {stride}"
                raise FactError(f"{none}; take a multiple of {least}")
            if after or open_end or (before and edge.delay):
                name = self.new.within(name, fill)
            late, back = late_window(edge.delay, span, stride, before)
            overlap = max(span - stride, 0)
            seen = self.new.delayed(name, back - overlap, overlap, fill)
            return self.new.emit(node.op, [seen, *more], output, edge.of(edge.pulse // stride, late), **told)

        more = [self.called(one) for one in node.inputs[1:]]
        if not uncounted:
            self.result(node, windowed(name, told, more, node.outputs[0]))
            return
        # The mean of windows over ones and zeros says which part of a window lies within the stream.
        edge = self.new.edges[name]
        shape = [edge.pulse if i == axis else 1 for i in range(len(edge.shape))]
        there = self.new.constant(np.ones(shape), dtype)
        self.new.edges[there] = replace(edge, fact=Fact(dtype, tuple(shape)))
        alone: dict[str, Any] = {
            key: [n if i == along else 1 for i, n in enumerate(told[key])]
            for key in ("kernel_shape", "strides", "dilations")
        }
        part = windowed(there, alone, [], "")
        mean = windowed(name, told, more, "")
        self.result(node, self.new.emit("Div", [mean, part], node.outputs[0]))

    def pad(self, node: Node, axis: int) -> None:
        """Frames before the first make it less late; they and those behind the last are filled."""
        rank = len(self.facts[node.inputs[0]].shape or ())
        pads, axes = self.numbers(node, 1) or [], self.numbers(node, 3)
        along = axes_of(range(rank) if axes is None else axes, rank)
        widths = dict(zip(along, zip(pads[: len(along)], pads[len(along) :])))
        before, after = widths.pop(axis, (0, 0))
        mode = node.attributes.get("mode", "constant")
        if min(before, after) < 0 or ((before or after) and mode != "constant"):
            raise FactError("a stream is only padded with constants, and not cut")
        name = self.called(node.inputs[0])
        value = self.numbers(node, 2)
        if before or after:
            name = self.new.within(name, value[0] if value else 0)
            edge = self.new.edges[name]
            name = self.new.delayed(name, max(before - edge.delay, 0), 0, value[0] if value else 0)
            edge = self.new.edges[name]
            self.new.edges[name] = replace(edge, delay=edge.delay - before)
        if widths:
            others = self.new.constant([widths[i][j] for j in (0, 1) for i in widths])
            rest = [others, node.reads(2), self.new.constant(list(widths))]
            name = self.new.emit("Pad", [name, *rest], edge=self.new.edges[name], **node.attributes)
        self.result(node, self.new.emit("Identity", [name], node.outputs[0]))

    def slice(self, node: Node, axis: int) -> None:
        """Frames that are cut off in front make it later; so do those at the end, which is not known yet."""
        rank = len(self.facts[node.inputs[0]].shape or ())
        starts, ends = self.numbers(node, 1) or [], self.numbers(node, 2) or []
        steps = self.numbers(node, 4) or [1] * len(starts)
        along = axes_of(range(len(starts)) if (axes := self.numbers(node, 3)) is None else axes, rank)
        name = self.called(node.inputs[0])
        cuts = {i: one for i, *one in zip(along, starts, ends, steps)}
        start, _, step = cuts.pop(axis, (0, 0, 1))
        if not isinstance(start, int) or start < 0 or step != 1:
            raise FactError("of a stream only a beginning and an end can be cut off, without steps")
        if cuts:
            if any(not isinstance(n, int) for one in cuts.values() for n in one):
                raise FactError("it cuts at sizes that are not known")
            columns = [self.new.constant(list(one)) for one in zip(*cuts.values())]
            name = self.new.emit(
                "Slice",
                [name, *columns[:2], self.new.constant(list(cuts)), columns[2]],
                edge=self.new.edges[name],
            )
        name = self.new.emit("Identity", [name])
        edge = self.new.edges[name]
        edge = self.new.edges[name] = replace(edge, delay=edge.delay + start)
        found = self.axis_of(node.outputs[0])
        if found is not None:
            size: Any = (self.facts[node.outputs[0]].shape or ())[found]
            length = at(size, {self.symbol: self.pulse * FAR})
            unknown = edge.pulse * FAR - length - edge.delay if isinstance(length, int) else 0
            name = self.new.delayed(name, max(unknown, 0))
        self.result(node, name)


def mixed_axes(node: Node, i: int, rank: int, numbers: Callable[[int], list[Any] | None]) -> set[int] | None:
    """Along which axes of its input `i` a node looks at more than one number; None where it is not known."""
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
    if op in ("MatMul", "Linear") and i < 2:
        return {rank - 1} if i == 0 or rank == 1 else {rank - 2}
    if op == "Gemm":
        return [{0 if told.get("transA") else 1}, {1 if told.get("transB") else 0}, set[int]()][i]
    if op in ("BatchNormalization", "Conv") and i == 0:
        return {1, *(range(2, rank) if op == "Conv" else ())}
    if op in ("MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "InstanceNormalization"):
        return set(range(2, rank))
    return set(range(1, rank)) if op in ("GroupNormalization", "ConvTranspose") and i == 0 else None
