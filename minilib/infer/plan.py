"""A model as straight-line programs: for each set of input shapes one, with its memory placed beforehand.

Sizes are numbers now, so all that depends on them is computed once: shapes, masks, views. What is left is a
list of calls of NumPy that write into one block of memory. `Plan.source` is that list, as Python.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np

from minilib.dag import offsets, peak
from minilib.infer.facts import Fact
from minilib.infer.model import MOST_BYTES, Graph, ModelError, Node, evaluate, fold, refuse_more, sized
from minilib.infer.operators import FAILURES

__all__ = ["EMITTERS", "Builder", "Plan", "Program", "Slot", "emitter"]

ALIGNED = 64  # bytes: a line of the cache
PROGRAMS = 16  # so many sets of shapes are kept

Array = Any


class Plan:
    """`run(arrays)` gives the outputs; `program` is what has run last."""

    def __init__(self, graph: Graph, most_bytes: int = MOST_BYTES) -> None:
        self.graph, self.most_bytes = graph, most_bytes
        self.programs: dict[Any, Program] = {}
        self.last: Program | None = None

    def run(self, arrays: Sequence[Array]) -> list[Array]:
        """The outputs for these inputs, new arrays. Raises ModelError where they do not fit."""
        program = self.last = self.at(arrays)
        if not program.lock.acquire(blocking=False):  # its memory is in use by another thread
            return evaluate(self.graph, list(arrays), program.run)
        try:
            with np.errstate(all="ignore"):
                return program.function(*arrays)
        except FAILURES:
            return evaluate(self.graph, list(arrays), program.run)  # says which node it was
        finally:
            program.lock.release()

    def at(self, arrays: Sequence[Array]) -> Program:
        """The program for inputs of these shapes. Raises ModelError where they do not fit."""
        key = tuple([(one.shape, one.dtype) for one in arrays])
        if key not in self.programs:
            made = Builder(self, list(arrays)).program()
            while len(self.programs) >= PROGRAMS:
                del self.programs[next(iter(self.programs))]
            self.programs[key] = made
        return self.programs[key]

    @property
    def program(self) -> Program:
        """That of the last run. Raises ModelError before a first."""
        if self.last is None:
            raise ModelError("there is no program before a first run: its sizes are not known")
        return self.last


@dataclass
class Program:
    """A program for given sizes, as function and as Python; what it takes between inputs and outputs."""

    run: Callable[..., Any]  # of one node
    function: Callable[..., list[Array]]
    source: str
    bytes: int  # of the block; what the table's own calls make is new memory beside it
    live_bytes: int  # the most that is alive at one time: no plan needs less
    all_bytes: int  # what a program that never uses memory again would take
    places: list[tuple[int, int, int, int, str]]  # of each piece: offset, bytes, first and last call, whose
    lock: Any = field(default_factory=Lock)


@dataclass(eq=False)
class Piece:
    """A piece of the block: which calls it lives through, and where it lies."""

    base: Array  # bytes, never touched: views on it tell strides and offsets
    owner: str
    first: int = -1
    last: int = -1
    pending: int = 0  # inputs of nodes to come that look at it


@dataclass(eq=False)
class Slot:
    """An array of the program while it is written: its shape and strides are known, its numbers are not."""

    array: Array  # on a piece, a constant, or like what a variable will hold; None: its shape is not known
    pieces: frozenset[Piece] = frozenset()
    name: str = ""  # of a variable of the program
    constant: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def dtype(self) -> Any:
        return self.array.dtype

    @property
    def ndim(self) -> int:
        return self.array.ndim


Emitter = Callable[..., Any]
EMITTERS: dict[str, Emitter] = {}


def emitter(*ops: str) -> Callable[[Emitter], Emitter]:
    """Adds a way to write calls for nodes of these operators; it returns None where it knows none."""

    def added(function: Emitter) -> Emitter:
        EMITTERS.update(dict.fromkeys(ops, function))
        return function

    return added


class Builder:
    """Writes the program of a graph for given sizes."""

    def __init__(self, plan: Plan, arrays: list[Array]) -> None:
        self.most_bytes = plan.most_bytes
        fixed, self.run = sized(plan.graph, arrays, plan.most_bytes)
        self.graph = fold(fixed)
        self.facts = self.graph.facts
        self.node = Node("", [], [""])
        self.lines: list[tuple[str, list[Slot]]] = []
        self.namespace: dict[str, Any] = {"empty": np.empty, "inf": np.inf, "run": self.run}
        self.texts: dict[int, tuple[Slot, str]] = {}  # by id: slots that stand in the namespace
        self.all: list[Piece] = []
        self.reads = Counter(name for node in self.graph.nodes for name in node.inputs)
        self.reads.update(self.graph.outputs)
        self.values: dict[str, Slot] = {}
        self.fresh: list[Slot] = []  # new arrays, which go out to the caller: each once, then as a copy
        self.variables = 0

    # What emitters call

    def fact(self, i: int = 0) -> Fact:
        """What the node makes that is written now."""
        return self.facts[self.node.outputs[i]]

    def piece(self, shape: Sequence[int], dtype: Any) -> Slot:
        """Memory in the block, for as long as calls touch it."""
        size = max(1, math.prod(shape)) * np.dtype(dtype).itemsize
        refuse_more(self.node, size, self.most_bytes)
        one = Piece(np.empty(size, np.uint8), self.node.outputs[0])
        self.all.append(one)
        return Slot(np.ndarray(tuple(shape), dtype, one.base), frozenset([one]))

    def result(self, like: Slot | None = None, over: Sequence[Slot] = (), order: Any = None) -> Slot:
        """Where the node's result goes: over an input that nobody else reads, into new memory, or out.

        `order`: in which order the axes lie in memory; else that of `like`, if it has the same shape.
        """
        fact = self.fact()
        shape: Any = fact.shape
        if self.node.outputs[0] in self.graph.outputs and order is None:
            made = Slot(blank(fact), name=self.variable())
            self.lines.append((f"{made.name} = empty({shape}, {made.dtype.str!r})", []))
            self.fresh.append(made)
            return made
        for one in over:
            if self.can_go(one) and (one.shape, one.dtype) == (shape, fact.dtype):
                return one
        if order is None and like is not None and like.shape == tuple(shape):
            order = sorted(range(len(shape)), key=lambda i: (-abs(like.array.strides[i]), i))
        if order is None:
            return self.piece(shape, fact.dtype)
        turned = self.piece([shape[i] for i in order], fact.dtype)
        return self.view(turned, "transpose", tuple(int(i) for i in np.argsort(order)))

    def can_go(self, slot: Slot) -> bool:
        """Whether nobody reads an array after this node, so that its memory can take the result."""
        spread = all(stride for stride, n in zip(slot.array.strides, slot.shape) if n > 1)
        return len(slot.pieces) == 1 and not slot.name and spread and not any(p.pending for p in slot.pieces)

    def view(self, slot: Slot, method: str, *args: Any) -> Slot:
        """The array that a method of an array gives. On memory that is known it costs nothing at run time."""
        array = getattr(slot.array, method)(*args)
        if not slot.name:
            return Slot(array, slot.pieces, constant=slot.constant)
        told = f".{method}({', '.join(map(repr, args))})"
        if method == "__getitem__":
            told = f"[{index_text(args[0])}]"
        made = Slot(array, slot.pieces, self.variable())
        self.lines.append((f"{made.name} = {{0}}{told}", [slot, made]))
        return made

    def reshaped(self, slot: Slot, shape: Sequence[int]) -> Slot | None:
        """A view of another shape; None where only a copy has it."""
        shares = np.may_share_memory(slot.array.reshape(shape), slot.array)
        return self.view(slot, "reshape", tuple(shape)) if shares or not slot.array.size else None

    def contiguous(self, slot: Slot) -> Slot:
        """The array, copied into memory in order where it is not."""
        if slot.constant:
            return Slot(np.ascontiguousarray(slot.array), constant=True)
        if slot.array.flags.c_contiguous and not slot.name:
            return slot
        made = self.piece(slot.shape, slot.dtype)
        self.call(np.copyto, made, slot)
        return made

    def number(self, value: Any, dtype: Any) -> Slot:
        """A constant."""
        return Slot(np.asarray(value, dtype), constant=True)

    def call(self, function: Any, *args: Any, **named: Any) -> None:
        """One line of the program."""
        slots, texts = list[Slot](), []
        for key, one in [*((None, a) for a in args), *named.items()]:
            found = one if isinstance(one, list) else [one] * isinstance(one, Slot)
            holes = ", ".join(f"{{{len(slots) + i}}}" for i in range(len(found)))
            text = f"({holes},)" if isinstance(one, list) else holes or repr(one)
            slots += found
            texts.append(text if key is None else f"{key}={text}")
        name = name_of(function)
        self.namespace[name] = function
        self.lines.append((f"{name}({', '.join(texts)})", slots))

    def variable(self) -> str:
        self.variables += 1
        return f"t{self.variables}"

    # The program

    def program(self) -> Program:
        for name, fact in self.graph.inputs.items():
            self.name(name, Slot(blank(fact), name=f"x{len(self.values)}"))
        arguments = ", ".join(slot.name for slot in self.values.values())
        for name, array in self.graph.constants.items():
            self.name(name, Slot(array, constant=True))
        for node in self.graph.nodes:
            self.write(node)
        returned = [self.returned(name) for name in self.graph.outputs]
        return self.compiled(arguments, returned)

    def name(self, name: str, slot: Slot) -> None:
        self.values[name] = slot
        for piece in slot.pieces:
            piece.pending += self.reads[name]

    def write(self, node: Node) -> None:
        """The lines of one node."""
        self.node = node
        slots = [self.values[name] if name else None for name in node.inputs]
        for slot in slots:
            for piece in slot.pieces if slot is not None else ():
                piece.pending -= 1
        known = all(slot is None or slot.array is not None for slot in slots)
        found: Any = None
        before = len(self.lines)
        if known and blank(self.fact()) is not None:
            try:
                found = EMITTERS[node.op](self, node, *slots) if node.op in EMITTERS else None
            except FAILURES as error:
                if isinstance(error, ModelError):
                    raise
            if found is None:
                del self.lines[before:]
        made = found if isinstance(found, tuple) else (found,)
        if found is None or len(made) < len([n for n in node.outputs if n and self.reads[n]]):
            made = self.general(node, slots)
        for name, slot in zip(node.outputs, made):
            if name:
                self.name(name, slot)

    def general(self, node: Node, slots: Sequence[Slot | None]) -> tuple[Slot, ...]:
        """A call of the operator as the table has it. Its results may be views of all that it reads."""
        pieces = frozenset(piece for slot in slots if slot is not None for piece in slot.pieces)
        made = []
        for name in node.outputs:
            made.append(Slot(blank(self.facts.get(name, Fact())), pieces, self.variable()))
        key = f"node{len(self.lines)}"
        self.namespace[key] = node
        there = [slot for slot in slots if slot is not None]
        texts = iter(range(len(there)))
        arguments = ", ".join("None" if slot is None else f"{{{next(texts)}}}" for slot in slots)
        targets = ", ".join(slot.name for slot in made)
        self.lines.append((f"{targets}, *_ = run({key}, [{arguments}])", [*there, *made]))
        return tuple(made)

    def returned(self, name: str) -> Slot:
        """An output as an array of the caller's own, which no other output shares."""
        slot = self.values[name]
        if slot in self.fresh:
            self.fresh.remove(slot)
            return slot
        made = Slot(slot.array, name=f"y{len(self.lines)}")
        self.lines.append((f"{made.name} = {{0}}.copy()", [slot]))
        return made

    def compiled(self, arguments: str, returned: Sequence[Slot]) -> Program:
        """Places the pieces, puts arrays into the namespace, and compiles the lines."""
        ends: dict[str, int] = {}  # of variables: the last line that reads them
        for step, (_, slots) in enumerate(self.lines):
            for slot in slots:
                if slot.name:
                    ends[slot.name] = step
                for piece in slot.pieces:
                    piece.first = step if piece.first < 0 else piece.first
                    piece.last = step
        pieces = [piece for piece in self.all if piece.first >= 0]
        spans = {piece: (piece.first, piece.last) for piece in pieces}
        sizes = {piece: -(-piece.base.nbytes // ALIGNED) * ALIGNED for piece in pieces}
        where, length = offsets(spans, sizes)
        if length - ALIGNED * len(pieces) > self.most_bytes:
            raise ModelError(f"the program takes {length:,} bytes, and {self.most_bytes:,} may be in use")
        block = np.empty(length + ALIGNED, np.uint8)
        start = -block.ctypes.data % ALIGNED
        kept = {slot.name for slot in returned} | set(arguments.split(", "))
        over: dict[int, list[str]] = {}
        for name, last in ends.items():
            over.setdefault(last, []).append(name)
        texts = [f"def program({arguments}):"]
        for step, (line, slots) in enumerate(self.lines):
            texts.append("    " + line.format(*[self.text(slot, where, block, start) for slot in slots]))
            if gone := [name for name in over.get(step, ()) if name not in kept]:
                texts[-1] += f"; del {', '.join(gone)}"
        texts.append(f"    return [{', '.join(slot.name for slot in returned)}]")
        source = "\n".join(texts)
        exec(compile(source, "<program>", "exec"), self.namespace)
        places = [(where[p], sizes[p], p.first, p.last, p.owner) for p in pieces]
        live = peak(spans, sizes)
        return Program(self.run, self.namespace["program"], source, length, live, sum(sizes.values()), places)

    def text(self, slot: Slot, where: dict[Piece, int], block: Array, start: int) -> str:
        """How a line calls an array: variables by name, others by a name of the namespace."""
        if slot.name:
            return slot.name
        if id(slot) not in self.texts:
            name = f"{'c' if slot.constant else 'v'}{len(self.texts)}"
            array = slot.array
            if not slot.constant:
                (piece,) = slot.pieces
                inner = array.ctypes.data - piece.base.ctypes.data if array.size else 0
                at = start + where[piece] + inner
                array = np.ndarray(array.shape, array.dtype, block, at, array.strides)
            self.texts[id(slot)] = slot, name
            self.namespace[name] = array
        return self.texts[id(slot)][1]


def blank(fact: Fact) -> Array:
    """An array of that kind and shape, whose numbers are not touched; None where they are not known."""
    if fact.dtype is None or fact.shape is None or not all(isinstance(n, int) for n in fact.shape):
        return None
    shape: Any = fact.shape
    return np.empty(shape, fact.dtype)


def name_of(function: Any) -> str:
    """How a program calls a function of NumPy: `add`, `maximum_reduce`."""
    owner = getattr(function, "__self__", None)
    name = getattr(function, "__name__", "call")
    return f"{owner.__name__}_{name}" if isinstance(owner, np.ufunc) else name


def index_text(index: Any) -> str:
    def told(one: Any) -> str:
        cuts = (one.start, one.stop, one.step) if isinstance(one, slice) else ()
        return ":".join("" if n is None else str(n) for n in cuts) if cuts else repr(one)

    return ", ".join(map(told, index if isinstance(index, tuple) else (index,)))
