"""A model as data: nodes in order, constants, names of inputs and outputs, and the facts of all of them.

Taught in solutions/10a_file.ipynb and solutions/10b_facts.ipynb: what they export is edited there, then `make
promote`.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from minilib import dag
from minilib.dims import Dim, at, symbol, symbols_of
from minilib.infer.facts import Fact, FactError, product
from minilib.infer.operators import FAILURES, OPERATORS

__all__ = ["Graph", "ModelError", "Node", "analyse", "evaluate", "fold"]

MOST_BYTES = 2**30  # of results that are alive at one time, unless whoever runs it says otherwise
SMALL = 1024  # numbers that are carried along as values by the analysis; sizes are few


class ModelError(ValueError):
    """A model that cannot be what it says, told in one line, whatever names its file has."""

    def __init__(self, message: str) -> None:
        super().__init__("".join(c if c.isprintable() else repr(c)[1:-1] for c in message))


def path_of(path: Any) -> Path:
    """Where a file is. Raises ModelError for what is no path."""
    if not isinstance(path, str | os.PathLike):
        raise ModelError(f"a file is given by its path, such as 'model.onnx', and not {type(path).__name__}")
    return Path(path)


@dataclass(eq=False)
class Node:
    """One operator at work: names of what it reads ("" where an input is absent) and of what it makes."""

    op: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Any] = field(default_factory=dict)
    name: str = ""

    def reads(self, i: int) -> str:
        """The name of input `i`; "" where there is none."""
        return self.inputs[i] if i < len(self.inputs) else ""

    def __str__(self) -> str:
        return f"{self.op} {self.name!r}" if self.name else f"{self.op} that makes {self.outputs[0]!r}"


@dataclass
class Graph:
    """Nodes, each behind those whose results it reads."""

    inputs: dict[str, Fact]
    outputs: list[str]
    nodes: list[Node]
    constants: dict[str, Any]  # name -> array
    facts: dict[str, Fact] = field(default_factory=dict)
    properties: dict[str, Any] = field(default_factory=dict)

    def makers(self) -> dict[str, Node]:
        """Who makes each name."""
        return {name: node for node in self.nodes for name in node.outputs if name}

    def count(self) -> Counter[str]:
        return Counter(node.op for node in self.nodes)

    def sorted(self) -> Graph:
        """Only what the outputs need, in order. Raises ModelError for what nobody makes, and for circles."""
        makers = self.makers()

        def before(node: Node) -> Iterable[Node]:
            for name in node.inputs:
                if name in makers:
                    yield makers[name]
                elif name and name not in self.inputs and name not in self.constants:
                    raise ModelError(f"{node} reads {name!r}, which no node, input or constant is called")

        for name in self.outputs:
            if name not in makers and name not in self.inputs and name not in self.constants:
                raise ModelError(f"the output {name!r} is made by no node")
        try:
            nodes = dag.order([makers[name] for name in self.outputs if name in makers], before)
        except ValueError as error:
            if isinstance(error, ModelError):
                raise
            raise ModelError("the nodes form a circle: one of them needs its own result") from None
        read = {name for node in nodes for name in node.inputs} | set(self.outputs)
        constants = {name: value for name, value in self.constants.items() if name in read}
        return Graph(self.inputs, self.outputs, nodes, constants, {}, self.properties)

    def check_symbol(self, name: str) -> None:
        """Raises ModelError where no input's size has that symbol."""
        sizes = [n for fact in self.inputs.values() for n in fact.shape or () if n is not None]
        known = set().union(*map(symbols_of, sizes))
        if name not in known:
            there = ", ".join(sorted(known)) or "none"
            raise ModelError(f"no input has the symbol {name!r}; there are {there}")

    def bind(self, arrays: list[Any]) -> dict[str, int]:
        """What the symbols are for these inputs. Raises ModelError where number, kind or shape are wrong."""
        if len(arrays) != len(self.inputs):
            names = ", ".join(self.inputs)
            raise ModelError(
                f"{len(arrays)} inputs were given, and the model has {len(self.inputs)}: {names}"
            )
        known: dict[str, int] = {}
        for (name, fact), array in zip(self.inputs.items(), arrays):
            given = ",".join([*map(str, array.shape), str(Fact(array.dtype, ()))])
            if fact.dtype is not None and array.dtype != fact.dtype:
                raise ModelError(f"the input {name!r} is {given}, and should be {fact}; see astype")
            if fact.shape is None:
                continue
            if len(fact.shape) != array.ndim:
                raise ModelError(f"the input {name!r} is {given}, and should be {fact}")
            for n, length in zip(fact.shape, array.shape):
                if isinstance(n, Dim) and str(n) in symbols_of(n):
                    if known.setdefault(str(n), length) != length:
                        raise ModelError(
                            f"the symbol {n} is {known[str(n)]}, and in the input {name!r} {length}"
                        )
                elif isinstance(n := at(n, known), int) and n != length:
                    raise ModelError(f"the input {name!r} is {given}, and should be {fact}")
        return known


def evaluate(graph: Graph, arrays: list[Any], run: Callable[..., Any] | None = None) -> list[Any]:
    """The outputs for these inputs, node by node; what is read no more is let go of.

    `run` takes a node and its arrays, None for one that is absent, and gives its results in a tuple.
    """
    run = run or run_node
    values: dict[str, Any] = {"": None, **graph.constants, **dict(zip(graph.inputs, arrays))}
    last = {name: i for i, node in enumerate(graph.nodes) for name in node.inputs}
    for i, node in enumerate(graph.nodes):
        values.update(zip(node.outputs, run(node, [values[name] for name in node.inputs])))
        for name in {*node.inputs, *node.outputs} - {*graph.outputs}:
            if last.get(name, i) == i:
                values.pop(name, None)
        values[""] = None  # an input that is absent; results that nobody asked for have no name either
    return [values[name] for name in graph.outputs]


def run_node(node: Node, arrays: list[Any]) -> tuple[Any, ...]:
    """The results of a node. Raises ModelError, with the facts of its inputs, where it fails."""
    try:
        return OPERATORS[node.op](*arrays, **node.attributes)
    except FAILURES as error:
        shapes = ", ".join("-" if a is None else str(Fact(a.dtype, a.shape)) for a in arrays)
        raise ModelError(f"{node} of {shapes}: {error}") from None


# What would take too much memory is refused before


def sized(graph: Graph, arrays: list[Any], most_bytes: int) -> tuple[Graph, Callable[..., Any]]:
    """The graph for inputs of these sizes, and what runs its nodes: it asks before those of unknown results.

    Raises ModelError for inputs that do not fit, and for results that would take more than `most_bytes`.
    """
    graph.bind(arrays)
    inputs = {name: Fact(one.dtype, one.shape) for name, one in zip(graph.inputs, arrays)}
    graph = Graph(inputs, graph.outputs, graph.nodes, graph.constants, {}, graph.properties)
    graph.facts = analyse(graph)
    last = {name: i for i, node in enumerate(graph.nodes) for name in node.inputs}
    alive: dict[str, int] = {}
    unsure = set()
    for i, node in enumerate(graph.nodes):
        for name in filter(None, node.outputs):
            size = bytes_of(graph.facts[name])
            unsure |= {node} if size is None else set()
            alive[name] = size or 0
        refuse_more(node, sum(alive.values()), most_bytes)
        for name in {*node.inputs, *node.outputs} - {*graph.outputs}:
            if last.get(name, i) == i:
                alive.pop(name, None)

    def run(node: Node, arrays: list[Any]) -> tuple[Any, ...]:
        if node in unsure:
            known = [None if a is None else fact_of(a) for a in arrays]
            try:
                made = OPERATORS[node.op].infer(*known, **node.attributes)
            except FactError:
                made = ()  # running it says what is wrong
            refuse_more(node, sum(bytes_of(fact) or 0 for fact in made), most_bytes)
        return run_node(node, arrays)

    return graph, run


def fact_of(array: Any) -> Fact:
    """What is carried along of an array: its numbers too, if they are few."""
    return Fact(array.dtype, array.shape, array if array.size <= SMALL else None)


def bytes_of(fact: Fact) -> int | None:
    """How long the array of a fact is; None where that depends on symbols."""
    count = count_of(fact)
    return None if count is None else count * (1 if fact.dtype is None else fact.dtype.itemsize)


def refuse_more(node: Node, size: int, most_bytes: int) -> None:
    if size > most_bytes:
        raise ModelError(
            f"{node}: with its result {size:,} bytes would be in use at one time, and {most_bytes:,} may be; "
            "give it less, or set most_bytes of into_runnable"
        )


# What can be known before a number arrives


def value_of(node: Node, known: list[Fact | None], made: tuple[Fact, ...]) -> tuple[Any, ...] | None:
    """The numbers of small results whose inputs are known, sizes with symbols among them; None where not."""
    sizes = known[0].shape if known and known[0] is not None else None
    if node.op in ("Shape", "Size") and sizes is not None and None not in sizes:
        told = sizes[node.attributes.get("start", 0) : node.attributes.get("end")]
        in_symbols = any(isinstance(n, Dim) for n in told)
        found: Any = told if node.op == "Shape" else math.prod(told)
        return (np.array(found, object if in_symbols else np.int64),)
    if any(fact is not None and fact.value is None for fact in known):
        return None
    for fact in made:
        if (count := count_of(fact)) is None or count > SMALL:
            return None
    try:
        made_now = OPERATORS[node.op](*(fact and fact.value for fact in known), **node.attributes)
        return tuple(np.asarray(one) for one in made_now)  # of objects NumPy gives the object, no 0-d array
    except FAILURES:
        return None  # it depends on symbols


def count_of(fact: Fact) -> int | None:
    """How many numbers an array of that fact has; None where that depends on symbols."""
    total = product(fact.shape) if fact.shape is not None else None
    return total if isinstance(total, int) else None


def analyse(graph: Graph) -> dict[str, Fact]:
    """The facts of all names, from the inputs on. Raises ModelError with both sides of a contradiction."""
    facts: dict[str, Fact] = dict(graph.inputs)
    for name, array in graph.constants.items():
        facts[name] = Fact(array.dtype, array.shape, array if array.size <= SMALL else None)
    unknown = 0
    makers = graph.makers()
    for node in graph.nodes:
        known = [facts[name] if name else None for name in node.inputs]
        try:
            made = OPERATORS[node.op].infer(*known, **node.attributes)
            values = value_of(node, known, made)
        except (FactError, TypeError, IndexError, ValueError, ZeroDivisionError) as error:
            sources = ", ".join(
                f"{name!r} ({f'made by {makers[name]}' if name in makers else 'given'}) is {facts[name]}"
                for name in node.inputs
                if name
            )
            raise ModelError(f"{node}: {error}; {sources}") from None
        for i, (name, fact) in enumerate(zip(node.outputs, made)):
            if values is not None:
                kind = fact.dtype or values[i].dtype
                facts[name] = Fact(kind, values[i].shape, values[i])
                continue
            shape = fact.shape
            if shape is not None and None in shape:
                fresh: list[Any] = []
                for n in shape:
                    unknown += n is None
                    fresh.append(symbol(f"?{unknown}") if n is None else n)
                shape = tuple(fresh)
            if shape is not None and (bad := [n for n in shape if isinstance(n, int) and not 0 <= n < 2**40]):
                raise ModelError(
                    f"{node}: its result {Fact(fact.dtype, shape)} has an axis of {bad[0]} numbers"
                )
            facts[name] = Fact(fact.dtype, shape)
    return facts


def fold(graph: Graph, most: int = 2**24) -> Graph:
    """Nodes that read only constants run now, as long as all of their results have up to `most` numbers."""
    constants, nodes, spent = dict(graph.constants), [], 0
    facts = graph.facts or analyse(graph)
    for node in graph.nodes:
        made = [facts[name] for name in node.outputs if name in facts]
        counts = [count_of(fact) for fact in made]
        small = all(n is not None and spent + n <= most for n in counts)
        known = [f.value for f in made if f.value is not None and f.value.dtype != object]
        if made and len(known) == len(node.outputs):
            constants.update(zip(node.outputs, known))
        elif small and all(not name or name in constants for name in node.inputs):
            results = run_node(node, [constants[name] if name else None for name in node.inputs])
            constants.update(
                (name, np.ascontiguousarray(v)) for name, v in zip(node.outputs, results) if name
            )
            spent += sum(v.size for v in results)
        else:
            nodes.append(node)
    folded = Graph(graph.inputs, graph.outputs, nodes, constants, {}, graph.properties).sorted()
    folded.facts = analyse(folded)
    return folded
