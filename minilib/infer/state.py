"""Models with a memory: what one run puts out is what the next one reads.

A graph has no memory, so a state keeps it beside the graph: some outputs come back as inputs. The step of a
Mamba is such a model, a GPT with its cache, and every model that `Pulse` has cut into pulses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from minilib.dims import Dim, at
from minilib.infer.facts import Fact, symbols_told
from minilib.infer.model import Graph, ModelError

__all__ = ["Kept", "Memory", "State", "Stream", "carried"]

Array = Any
MOST = 2**30  # numbers that a state keeps under one name
ENDLESS = 2**62  # the length of a stream of which the end is not known yet


@dataclass(frozen=True)
class Kept:
    """An input that the state fills: at first with `fill`, then with what `output` was in the run before.

    Without an output it is the `length` of a stream, which is known when the stream has ended.
    """

    fact: Fact
    output: str | None = None
    fill: Any = 0
    length: Any = None


@dataclass(frozen=True)
class Stream:
    """Inputs that come in pulses along their axis, and outputs that leave so, some frames late."""

    symbol: str
    pulse: int
    inputs: Mapping[str, int]  # name -> axis
    outputs: Mapping[str, tuple[int, int, int, Any]]  # name -> axis, frames a run, delay, length in symbols


@dataclass(frozen=True)
class Memory:
    """What a state has to keep for a graph."""

    kept: Mapping[str, Kept] = field(default_factory=dict)
    stream: Stream | None = None

    def seen(self, graph: Graph) -> Graph:
        """The graph as its caller sees it: without the inputs and outputs that are the state's own."""
        gone = {one.output for one in self.kept.values()}
        inputs = {name: fact for name, fact in graph.inputs.items() if name not in self.kept}
        outputs = [name for name in graph.outputs if name not in gone]
        return Graph(inputs, outputs, graph.nodes, graph.constants, graph.facts, graph.properties)


def carried(graph: Graph, pairs: Mapping[str, str], symbols: Mapping[str, int]) -> dict[str, Kept]:
    """Inputs that are outputs of the run before, zeros in the first. Raises ModelError for wrong names."""
    if not isinstance(pairs, Mapping):
        raise ModelError(f"carry names outputs by inputs, such as {{'cache': 'new'}}, and not {pairs!r}")
    kept, symbols = {}, symbols_told(symbols)
    for name, output in pairs.items():
        if name not in graph.inputs:
            raise ModelError(f"no input is called {name!r}, only {', '.join(graph.inputs)}")
        if output not in graph.outputs:
            raise ModelError(f"no output is called {output!r}, only {', '.join(graph.outputs)}")
        fact, made = graph.inputs[name], graph.facts.get(output, Fact())
        if None not in (fact.dtype, made.dtype) and fact.dtype != made.dtype:
            raise ModelError(f"{output!r} is {made}, and cannot come back as {name!r}, which is {fact}")
        shape = None if fact.shape is None else tuple(at(n, symbols) for n in fact.shape)
        kept[name] = Kept(Fact(fact.dtype, shape), output)
    return kept


class State:
    """One stream through a model. States of one model know nothing of each other."""

    def __init__(self, graph: Graph, call: Callable[[list[Array]], list[Array]], memory: Memory) -> None:
        self.graph, self.call, self.kept, self.stream = graph, call, memory.kept, memory.stream
        self.seen = memory.seen(graph)
        self.arrays: dict[str, Array] = {}  # what is kept, once the first run has told how large it is
        self.last: list[Array] = []  # the inputs of the last run
        self.turns = 0
        self.over = False

    def run(self, inputs: Sequence[Any]) -> list[Array]:
        """The outputs for the next inputs of the stream; of a pulsed model the first `pulse.delay` frames are
        none of the stream's. Raises ModelError where the inputs do not fit."""
        if self.over:
            raise ModelError("this stream has ended; spawn another state for another stream")
        self.last = list(inputs)
        known = self.seen.bind(self.last)
        if not self.arrays:
            self._begin(known)
        given = {**self.arrays, **dict(zip(self.seen.inputs, self.last))}
        made = dict(zip(self.graph.outputs, self.call([given[name] for name in self.graph.inputs])))
        for name, one in self.kept.items():
            if one.output is not None:  # a copy: the caller may write into a view of it
                self.arrays[name] = np.array(made[one.output])
        self.turns += 1
        return [made[name] for name in self.seen.outputs]

    def copy(self) -> State:
        """The same stream, to be gone on with apart."""
        other = copy(self)
        other.arrays = dict(self.arrays)  # a run puts new arrays in their places, and writes into none
        return other

    def finish(self, inputs: Sequence[Any] | None = None) -> list[Array]:
        """The stream ends with these frames, at most a pulse; all that is still to come of each output.

        Now it is known where the end is, so what lies behind it is padded as the model asks for.
        """
        if self.stream is None:
            raise ModelError("only a model in pulses has an end; see Pulse")
        stream, turns = self.stream, self.turns
        frames, count = self._last_frames(stream, inputs)
        whole = {stream.symbol: turns * stream.pulse + count}
        if not self.arrays:
            self._begin(self.seen.bind(frames))
        for name, one in self.kept.items():
            if one.length is not None:
                self.arrays[name] = np.full_like(self.arrays[name], at(one.length, whole))
        lengths = [at(size, whole) for *_, size in stream.outputs.values()]
        parts: list[list[Array]] = []
        while not parts or any(
            self.turns * p - d < n for (_, p, d, _), n in zip(stream.outputs.values(), lengths)
        ):
            parts.append(self.run(frames))
            frames = [np.zeros_like(one) for one in frames]
        self.over = True
        made = []
        for i, ((axis, p, d, _), n) in enumerate(zip(stream.outputs.values(), lengths)):
            first = turns * p - d  # the number in the stream of the first frame of these parts
            piece = slice(max(0, -first), max(0, n - first))
            made.append(np.concatenate([part[i] for part in parts], axis)[(slice(None),) * axis + (piece,)])
        return made

    def _last_frames(self, stream: Stream, inputs: Sequence[Any] | None) -> tuple[list[Array], int]:
        """The last inputs, made as long as a pulse by zeros, and how many frames they really have."""
        if inputs is None and not self.turns:
            raise ModelError("nothing has run yet: finish needs the frames of this short stream")
        rest = self.last if inputs is None else list(inputs)
        if len(rest) != len(stream.inputs):
            raise ModelError(f"{len(rest)} inputs were given, and the model has {len(stream.inputs)}")
        if wrong := [name for one, (name, axis) in zip(rest, stream.inputs.items()) if one.ndim <= axis]:
            fact = self.graph.inputs[wrong[0]]
            raise ModelError(f"the input {wrong[0]!r} has too few axes: it should be {fact}")
        counts = {0 if inputs is None else one.shape[axis] for one, axis in zip(rest, stream.inputs.values())}
        if len(counts) != 1 or max(counts) > stream.pulse:
            raise ModelError(f"finish takes at most a pulse, {stream.pulse} frames, of each input alike")
        frames = []
        for one, axis in zip(rest, stream.inputs.values()):
            shape = (*one.shape[:axis], stream.pulse, *one.shape[axis + 1 :])
            padded = np.zeros(shape, one.dtype)
            piece = (slice(None),) * axis + (slice(max(counts)),)
            padded[piece] = one[piece]
            frames.append(padded)
        return frames, max(counts)

    def _begin(self, known: Mapping[str, int]) -> None:
        """What is kept, as it is before the first run, now that the caller's inputs have told their sizes."""
        for name, one in self.kept.items():
            shape: list[Any] = [at(n, known) for n in one.fact.shape or ()]
            if one.fact.shape is None or one.fact.dtype is None or any(isinstance(n, Dim) for n in shape):
                raise ModelError(
                    f"the state {name!r} is {one.fact}: it needs a size to begin with; set its symbols"
                )
            if math.prod(shape) > MOST:
                raise ModelError(f"the state {name!r} would keep {math.prod(shape)} numbers")
            self.arrays[name] = np.full(shape, one.fill, one.fact.dtype)
