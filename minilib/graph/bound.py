"""A planned program for given sizes: where each result lies in memory, and Python that one can read."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from minilib import operations as ops
from minilib.dag import consumers, offsets, peak
from minilib.graph import kinds
from minilib.graph.nodes import Node, assigned_by
from minilib.graph.passes import is_number
from minilib.graph.session import compute, stored
from minilib.graph.shapes import ELEMENTWISE, with_sizes

if TYPE_CHECKING:
    from minilib.graph.plan import Plan

BLOCK = 32_768  # numbers: of a loop over elementwise nodes, all that it touches stays in the cache
SHORT = 1024  # so many numbers NumPy may add one after another: `minilib.sums`
ALIGNED = 64  # bytes: a line of the cache

UFUNCS: dict[Any, str] = {
    ops.Add: "add", ops.Sub: "subtract", ops.Mul: "multiply", ops.Div: "divide", ops.Neg: "negative",
    ops.Sqrt: "sqrt", ops.Exp: "exp", ops.Log: "log", ops.Expm1: "expm1", ops.Log1p: "log1p", ops.Sin: "sin",
    ops.Cos: "cos", ops.Tanh: "tanh", ops.Abs: "absolute", ops.Maximum: "maximum", ops.Minimum: "minimum",
    ops.Invert: "invert", ops.MatMul: "matmul",
}  # fmt: skip
COMPARED = {
    "==": "equal", "!=": "not_equal", "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal",
    "&": "bitwise_and", "|": "bitwise_or", "^": "bitwise_xor",
}  # fmt: skip
VIEWS = (ops.Reshape, ops.Permute, ops.Slice, ops.Expand, kinds.Identity, kinds.Part)


def is_elementwise(node: Node) -> bool:
    return type(node.f) in ELEMENTWISE and not isinstance(node.f, kinds.Identity) and not node.controls


def read_by(node: Node) -> list[Node]:
    """The nodes whose values one needs, also those that a fused operation has kept for its backward."""
    if not isinstance(node.f, kinds.FusedBackward):
        return list(node.inputs)
    whole = node.inputs[0]
    return [*node.inputs, *(whole.inputs[i] for i in whole.f.keeps)]


class Bound:
    """The program for given sizes: its memory, its source, and the function that it compiles to."""

    def __init__(self, plan: Plan, sizes: Mapping[str, int]) -> None:
        self.plan, self.known = plan, sizes
        self.names: dict[Node, str] = {}
        self.root = plan.root
        known = {"np": np, "compute": compute, "stored": stored, "fitting": kinds.fitting, "spare": _spare}
        self.namespace: dict[str, Any] = known
        self.constants: dict[int, str] = {}  # by id
        self.operations: dict[Node, Any] = {}
        self.in_place: set[Node] = set()  # new values that are written into their variables
        self.place()
        self.write()

    def shape(self, node: Node) -> tuple[int, ...]:
        return with_sizes(tuple(node.shape), self.known)

    # Memory: who shares whose

    def place(self) -> None:
        """Give each result that outlives its unit a place in one block of memory, for as long as it lives."""
        units, wanted = self.plan.units, set(self.plan.wanted)
        at = {node: i for i, u in enumerate(units) for node in u}
        own = [n for n in self.plan.program if self.root[n] is n and not isinstance(n.f, kinds.Source)]
        spans = {node: (at[node], at[node]) for node in own}
        reads = [(x, at[node]) for node in self.plan.program for x in read_by(node)]
        for x, when in [*reads, *((node, len(units)) for node in wanted)]:
            root = self.root.get(x, x)
            if root in spans:
                spans[root] = spans[root][0], max(spans[root][1], when)
        self.inner = {n for n in own if spans[n][0] == spans[n][1] and len(units[at[n]]) > 1} - wanted
        results = [n for n in own if not isinstance(n.f, kinds.Effect)]
        self.sizes = {n: self.count(n) for n in results if n not in self.inner}
        self.spans = {n: spans[n] for n in self.sizes}
        self.spare = self._spares(at)
        self.fresh = {n for n in wanted if n in self.sizes and is_elementwise(n) and n not in self.spare}
        heirs = self.heirs(at)
        live = {n: s for n, s in self.spans.items() if n not in self.spare}
        for node, first in heirs.items():
            live[first] = live[first][0], live.pop(node)[1]
        placed = {n: s for n, s in live.items() if self.has_place(n)}
        self.places, length = offsets(placed, {n: self.sizes[n] for n in placed})
        self.places |= {node: self.places[first] for node, first in heirs.items()}
        self.bytes = length + peak({n: s for n, s in live.items() if n not in placed}, self.sizes)
        self.all_bytes = sum(self.count(n) for n in results)
        self.live_bytes = peak(live, self.sizes)
        self.arena = np.empty(length + ALIGNED, np.uint8)
        start = -self.arena.ctypes.data % ALIGNED
        for node, offset in self.places.items():
            self.namespace[self.name(node)] = np.ndarray(
                self.shape(node), node.dtype, self.arena, start + offset
            )

    def heirs(self, at: Mapping[Node, int]) -> dict[Node, Node]:
        """Nodes that are written over an input of theirs, and the array that was there at first.

        Nobody else may read that input then, and a NumPy function reads each number before it writes it.
        """
        reads = consumers(self.plan.program, lambda node: [self.root.get(x, x) for x in read_by(node)])

        def free(x: Node, node: Node) -> bool:
            """Whether an array has the form of a node, and has it as its last and only reader by then."""
            alike = self.is_placed(x) and (x.shape, x.dtype) == (node.shape, node.dtype)
            last = alike and at[x] < at[node] == self.spans[x][1]
            return last and all(other is node for other in reads[x] if at[other] == at[node])

        found: dict[Node, Node] = {}
        for node in (node for unit in self.plan.units for node in unit):
            if type(node.f) in UFUNCS and is_elementwise(node) and self.is_placed(node):
                for x in [x for x in node.inputs if free(x, node)][:1]:
                    found[node] = found.get(x, x)
        return found

    def is_placed(self, node: Node) -> bool:
        return node in self.spans and self.has_place(node)

    def has_place(self, node: Node) -> bool:
        """Whether a result is written where the plan says; others make their own array."""
        own = is_elementwise(node) or isinstance(node.f, ops.MatMul) or self.is_short_sum(node)
        return own and node not in self.spare and node not in self.fresh

    def count(self, node: Node) -> int:
        """The bytes of a result, with those that a fused operation saves."""
        if isinstance(node.f, kinds.FusedBackward):
            shapes = [(self.shape(x), x.dtype) for x in node.inputs[0].inputs if x.requires_grad]
        else:
            shapes = [(self.shape(node), node.dtype)] if node.dtype is not None else []
        total = sum(math.prod(shape) * dtype.itemsize for shape, dtype in shapes)
        total += with_sizes(getattr(node.f, "saved_bytes", 0), self.known)
        return -(-total // ALIGNED) * ALIGNED

    def _spares(self, at: Mapping[Node, int]) -> dict[Node, Node]:
        """New values of variables: written into a second array of the variable, which the step exchanges."""
        found: dict[Node, Node] = {}
        changed = [v for node in self.plan.program for v in assigned_by(node)]
        for node in self.plan.program:
            if isinstance(node.f, kinds.Assign):
                (value,) = node.inputs
                fits = value.shape == node.shape and value.dtype == node.dtype and value in self.sizes
                once = sum(v is node.f.variable for v in changed) == 1
                if fits and value not in found and is_elementwise(value) and once:
                    found[value] = node.f.variable
                    if self.only_here(node.f.variable, value, at):
                        self.in_place.add(value)
        return found

    def only_here(self, variable: Node, value: Node, at: Mapping[Node, int]) -> bool:
        """Whether nobody reads a variable but the loop that makes its new value, and there not behind it."""
        readers = [node for node in self.plan.program if any(x is variable for x in node.inputs)]
        fixed = any(node is variable for node in self.plan.wanted)
        return not fixed and all(at[node] == at[value] and node.serial <= value.serial for node in readers)

    # Source

    def name(self, node: Node) -> str:
        if node not in self.names:
            self.names[node] = f"t{len(self.names)}"
        return self.names[node]

    def write(self) -> None:
        """Write the function and compile it."""
        self.lines = ["def program(feeds, state, spares):"]
        for i, node in enumerate(self.plan.feeds):
            self.lines.append(f"    {self.name(node)} = feeds[{i}]  # {node.name}")
        reads = [x for node in self.plan.program for x in node.inputs] + self.plan.wanted
        for node in dict.fromkeys(x for x in reads if isinstance(x.f, kinds.Stored)):
            self.lines.append(f"    {self.name(node)} = stored({self.given(node)}, state)  # {node.name}")
        for i, u in enumerate(self.plan.units):
            if all(map(is_elementwise, u)):
                self.loop(u)
            else:
                for node in u:
                    self.single(node)
            self.lines += [f"    {name} = None" for name in self.dead(i)]
            gone = [n for n in self.operations if self.spans.get(n, (0, 0))[1] == i]
            self.lines += [f"    {self.operation(n)}.saved = ()" for n in gone]
        results = ", ".join(self.result(node) for node in self.plan.wanted)
        self.lines.append(f"    return [{results}]")
        self.source = "\n".join(self.lines) + "\n"
        exec(self.source, self.namespace)
        self.program = self.namespace["program"]

    def dead(self, i: int) -> list[str]:
        """The names of arrays that nobody reads after unit `i`, but for those that have a place."""
        gone = {n for n, (_, last) in self.spans.items() if last == i and not self.has_place(n)}
        looking = [n for n in self.plan.program if self.root.get(n) in gone and n in self.names]
        return [name for name in dict.fromkeys(map(self.name, looking)) if name not in self.namespace]

    def result(self, node: Node) -> str:
        if isinstance(node.f, kinds.Nothing):
            return "None"
        if node in self.fresh and sum(node is x for x in self.plan.wanted) == 1:
            return self.name(node)
        return f"np.array({self.name(node)})"

    def given(self, thing: Any) -> str:
        """A name in the program for a thing that is there before it runs."""
        name = self.constants.setdefault(id(thing), f"k{len(self.constants)}")
        self.namespace[name] = thing
        return name

    def single(self, node: Node) -> None:
        """The lines for one node."""
        f, name = node.f, self.name(node)
        if isinstance(f, kinds.Stored | kinds.Nothing):
            return
        if node.sized:
            f = copy.copy(f)
            vars(f).update(with_sizes(vars(f), self.known))
        operands = [self.name(x) for x in node.inputs]
        if isinstance(f, kinds.Constant | kinds.Fill | kinds.SizeOf):
            self.namespace[name] = f.forward()
        elif isinstance(f, kinds.Part):
            self.part(node)
        elif isinstance(f, VIEWS) and operands[0] in self.namespace and self.looked_at(node, f, operands[0]):
            pass  # memory that has its place is looked at once for all runs
        elif isinstance(f, kinds.Assign):
            self.assign(node, operands[0])
        elif isinstance(f, ops.MatMul):
            self.lines.append(f"    np.matmul({', '.join(operands)}, out={name})")
        elif self.is_short_sum(node):
            dims, keep = ops.axes(f.dim, node.inputs[0].ndim), bool(f.keepdim)
            self.lines.append(f"    np.add.reduce({operands[0]}, axis={dims}, keepdims={keep}, out={name})")
        else:
            self.lines.append(f"    {name} = {self.made(node, f, operands)}")
        for v in assigned_by(node) & self.names.keys():
            self.lines.append(f"    {self.name(v)} = state[{self.given(v)}]")

    def made(self, node: Node, f: Any, operands: list[str]) -> str:
        """What makes the value of a node that has no place."""
        match f:
            case ops.Reshape():
                return f"{operands[0]}.reshape({f.to})"
            case ops.Permute():
                return f"{operands[0]}.transpose({f.dims})"
            case kinds.Identity():
                return operands[0]
            case kinds.Fused():
                return f"{self.operation(node)}.forward({', '.join(operands)})  # {f.name}"
            case kinds.FusedBackward():
                return f"{self.operation(node.inputs[0])}.backward({operands[1]})  # {f.name}"
            case kinds.Effect() | kinds.Placeholder():
                known = self.given(dict(self.known))
                return f"compute({self.given(node)}, [{', '.join(operands)}], state, {known})"
        return f"{self.given(f)}.forward({', '.join(operands)})  # {f.name}"

    def looked_at(self, node: Node, f: Any, operand: str) -> bool:
        """Whether a view of an array that has its place is one, and no copy; then it is made now."""
        made = f.forward(self.namespace[operand])
        if shared := np.may_share_memory(made, self.namespace[operand]):
            self.namespace[self.name(node)] = made
        return shared

    def operation(self, node: Node) -> str:
        """The name of a fused operation: the same in each run, so that it keeps what it saves itself."""
        if node not in self.operations:
            f = self.operations[node] = copy.copy(node.f.f)
            needs = zip(node.inputs, node.f.needs_grad)
            f.inputs = tuple(kinds.Leaf(self.shape(x), x.dtype, need) for x, need in needs)
        return self.given(self.operations[node])

    def part(self, node: Node) -> None:
        whole, key = node.inputs[0], node.f.key
        taken = f"[{key}]" if isinstance(whole.f, kinds.FusedBackward) and not whole.f.one else ""
        of = f"{self.operation(whole)}.{key}" if isinstance(key, str) else self.name(whole) + taken
        if taken or isinstance(key, str):
            self.lines.append(f"    {self.name(node)} = {of}")
        else:
            self.names[node] = of

    def is_short_sum(self, node: Node) -> bool:
        """Whether NumPy's own sum keeps the digits."""
        if not isinstance(node.f, ops.Sum) or node.dtype.kind != "f" or node.dtype == np.float16:
            return False
        return math.prod(self.shape(node.inputs[0])) <= SHORT

    def assign(self, node: Node, value: str) -> None:
        (x,) = node.inputs
        variable = node.f.variable
        key = self.given(variable)
        if x in self.in_place and self.spare[x] is variable:
            pass  # the loop has written into the variable itself
        elif self.spare.get(x) is variable:
            self.lines.append(f"    state[{key}], spares[{key}] = {value}, state.get({key})")
        else:
            self.lines.append(f"    state[{key}] = fitting({key}, {value})")
        self.names[node] = value

    # Loops

    def loop(self, unit: Sequence[Node]) -> None:
        """Elementwise nodes of one shape, in blocks of rows that stay in the cache."""
        shape = self.shape(unit[0])
        rows = max(1, BLOCK * shape[0] // max(1, math.prod(shape))) if shape else 0
        whole = not shape or shape[0] <= rows
        for node in unit:
            if node in self.fresh:  # the caller gets it as it is: no copy out of memory that has another use
                self.lines.append(f"    {self.name(node)} = np.empty({shape}, {node.dtype.str!r})")
            if node in self.spare:
                key, name = self.given(self.spare[node]), self.name(node)
                if node in self.in_place:
                    self.lines.append(f"    {name} = stored({key}, state)")
                else:
                    told = f"{shape}, {node.dtype.str!r}"
                    self.lines.append(f"    {name} = spare({key}, spares, state, {told})")
        indent, cut = "    ", ""
        if not whole:
            self.lines.append(f"    for i in range(0, {shape[0]}, {rows}):")
            self.lines.append(f"        n = min({rows}, {shape[0]} - i)")
            indent, cut = "        ", "[i:i + n]"
        block = shape if whole else (rows, *shape[1:])
        free: dict[Any, list[str]] = {}
        where: dict[Node, str] = {}
        last = {x: node for node in unit for x in node.inputs}
        taken = 0

        def read(x: Node) -> str:
            if x in where:
                return where[x]
            full = len(x.shape) == len(shape) and bool(shape) and self.shape(x)[0] == shape[0] != 1
            return self.name(x) + (cut if full else "")

        for node in unit:
            operands = [read(x) for x in node.inputs]
            there = [x for x in dict.fromkeys(node.inputs) if x in where and x in self.inner]
            done = [x for x in there if last[x] is node]
            in_place = type(node.f) in UFUNCS
            for x in done if in_place else ():
                free.setdefault(x.dtype, []).append(where[x])
            if node in self.inner:
                pool = free.setdefault(node.dtype, [])
                if pool:
                    name = pool.pop()
                else:
                    base = f"r{taken}_{node.dtype.name}_{'x'.join(map(str, block))}"
                    taken += 1
                    if base not in self.namespace:
                        self.namespace[base] = np.empty(block, node.dtype)
                    name = base if whole else f"{base}[:n]"
                where[node] = name
            else:
                where[node] = self.name(node) + cut
            for x in done if not in_place else ():
                free.setdefault(x.dtype, []).append(where[x])
            self.lines += [indent + line for line in self.elementwise(node, operands, where[node])]

    def elementwise(self, node: Node, operands: list[str], out: str) -> list[str]:
        f, args = node.f, ", ".join(operands)
        if type(f) in UFUNCS:
            return [f"np.{UFUNCS[type(f)]}({args}, out={out})"]
        match f:
            case ops.Compare(sign=sign):
                return [f"np.{COMPARED[sign]}({args}, out={out})"]
            case ops.ReLU():
                return [f"np.maximum({args}, {self.given(node.dtype.type(0))}, out={out})"]
            case ops.Where():
                c, x, y = operands
                return [f"np.copyto({out}, {y})", f"np.copyto({out}, {x}, where={c})"]
            case ops.Cast():
                return [f"np.copyto({out}, {args}, casting='unsafe')"]
            case ops.Pow() if (cube := is_number(node.inputs[1], 3)) or is_number(node.inputs[1], 2):
                x = operands[0]
                square = f"np.multiply({x}, {x}, out={out})"
                return [square, f"np.multiply({out}, {x}, out={out})"] if cube else [square]
        return [f"np.copyto({out}, {self.given(f)}.forward({args}))  # {f.name}"]


def _spare(variable: Node, spares: dict[Any, Any], state: Mapping[Any, Any], shape: Any, dtype: str) -> Any:
    """The second array of a variable: neither its value nor somebody else's."""
    spare = spares.get(variable)
    if spare is None or spare is state.get(variable):
        spare = np.empty(shape, dtype)
    return spare
