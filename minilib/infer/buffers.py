"""Streams in a graph: what is kept of one from pulse to pulse, and how late it is.

Taught in chapters/10d_streams.ipynb: what it exports is edited there, then `make promote`.

A frame is one step along the axis of the stream. Each edge carries so many frames in a run, and is late: its
frame 0 comes behind `delay` frames that are none of the stream's. Buffers are ordinary nodes: an input holds
what was seen, and an output what is held the next time. tract's Delay has `delay` and `overlap` as here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from minilib.infer.facts import Fact, ceil_div
from minilib.infer.model import Node
from minilib.infer.state import ENDLESS, Kept

__all__ = ["Edge", "Pulses", "late_window"]

INT64 = np.dtype(np.int64)


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


class Pulses:
    """A graph in pulses while it is made."""

    def __init__(self, constants: dict[str, Any]) -> None:
        self.inputs: dict[str, Fact] = {}
        self.outputs: list[str] = []  # those that states keep
        self.nodes: list[Node] = []
        self.constants = constants
        self.kept: dict[str, Kept] = {}
        self.edges: dict[str, Edge] = {}  # by name; what is none of the stream's has none

    def emit(
        self, op: str, inputs: list[str], output: str = "", edge: Edge | None = None, **told: Any
    ) -> str:
        """A node; without an edge, of the stream of its first streamed input. Returns the result's name."""
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
        """The stream `delay` frames later, with the `overlap` frames before it: a buffer keeps both."""
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
