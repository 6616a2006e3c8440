"""A program as Python that one can read: who shares whose memory, and what runs in one loop.

Taught in solutions/09c_passes.ipynb: what it exports is edited there, then `make promote`.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from minilib import operations as ops
from minilib.dag import consumers, offsets, order, peak
from minilib.graph import kinds
from minilib.graph.device import XP
from minilib.graph.nodes import Node, assigned_by, before
from minilib.graph.passes import instead, is_number, opaque, optimise, prune, rewrite
from minilib.graph.programs import during, get_default_graph
from minilib.graph.session import Session, compute, handed_out, leaves, stored, structured
from minilib.graph.shapes import ELEMENTWISE, Every, with_sizes

__all__ = ["Plan", "compile"]

N = TypeVar("N", bound=Hashable)

BLOCK = 32_768  # numbers: of a loop over elementwise nodes, all that it touches stays in the cache
UNKNOWN = 32  # what stands for an unknown size until the plan has run
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


def compile(fetches: Any, feeds: Sequence[Node] = ()) -> Plan:
    """A plan for these fetches, given values for `feeds` in this order."""
    return Plan(fetches, feeds)


class Plan:
    """`run(*arrays, session=...)` gives the values of the fetches.

    `source` is the program, `nodes` how many it was made of, `bytes` the memory of its intermediate results,
    `live_bytes` the largest sum of those that are alive at one time, below which no plan can stay, and
    `all_bytes` the sum of all, which a session keeps. They are of the sizes of the last run; before the first
    an unknown size counts as 32.
    """

    def __init__(self, fetches: Any, feeds: Sequence[Node]) -> None:
        nodes = [node for node in (*leaves(fetches), *feeds) if isinstance(node, Node)]
        self.graph = nodes[0].graph if nodes else get_default_graph()
        checked = Session(graph=self.graph).checked
        self.fetches = structured(fetches, lambda node: checked(node, "fetch"))
        feeds = [checked(node, "feed") for node in feeds]
        others = opaque(leaves(self.fetches), feeds)
        self.feeds = [others[node] for node in feeds]
        self.fed = set(self.feeds)  # a set: `in` a list asks ==
        better = optimise(instead(leaves(self.fetches), others), self.feeds)
        became = rewrite(program := prune(better, self.fed), opened)
        self.nodes = len(program)
        self.wanted = [became.get(node, node) for node in better]
        self.program = prune(self.wanted, self.fed)
        loops = {node: node.known_shape if is_elementwise(node) else None for node in self.program}
        needs = follows(self.program)
        self.root = roots(self.program)
        self.units = freed_early(fuse(self.program, needs, loops), needs, self.root)
        self.bound: dict[tuple[tuple[str, int], ...], Bound] = {}
        self.last: Bound | None = None
        for node in self.program:
            if node.dtype is not None and node.shape is None:
                raise ValueError(f"compile: {node.name} has unknown axes: give its placeholder a shape")
        self.unfed = [x for x in self.program if isinstance(x.f, kinds.Placeholder) and x not in self.fed]
        self.quick: dict[Any, Bound] = {}  # by shapes and dtypes of arrays that were checked before

    def run(self, *arrays: Any, session: Session | None = None) -> Any:
        """The values of the fetches in their structure. Raises what `Session.run` raises."""
        session = session or Session(graph=self.graph)
        session.refuse_closed()
        if session.graph is not self.graph:
            raise ValueError("run: the session is of another graph than the plan: open one on plan.graph")
        if len(arrays) != len(self.feeds):
            raise ValueError(f"run: {len(arrays)} values for {len(self.feeds)} feeds")
        for node in self.unfed:
            compute(node, (), {}, {})  # which raises
        key = tuple([(x.shape, x.dtype) if type(x) is np.ndarray else None for x in arrays])
        bound, values = self.quick.get(key), arrays
        if bound is None:
            fed, sizes = session.fed(dict(zip(self.feeds, arrays)))
            bound, values = self.at(sizes), tuple(fed[node] for node in self.feeds)
            if all(x is y for x, y in zip(arrays, values)):  # nothing had to be cast
                self.quick[key] = bound
        self.last = bound
        found = iter(bound.program(values, session.state, session.spares))
        return structured(self.fetches, lambda _: handed_out(next(found)))

    def at(self, sizes: Mapping[str, int]) -> Bound:
        """The plan for these sizes."""
        key = tuple(sorted(sizes.items()))
        if key not in self.bound:
            self.bound[key] = Bound(self, sizes)
        return self.bound[key]

    @cached_property
    def guess(self) -> Bound:
        return Bound(self, Every(UNKNOWN))

    @property
    def loops(self) -> list[Node]:
        """Each loop over several nodes as one node, `kinds.Loop`, for which a device may have a kernel."""
        units = [u for u in self.units if len(u) > 1 and all(map(is_elementwise, u))]
        readers, wanted = consumers(self.program, read_by), set(self.wanted)
        return [looped(u, {x for x in u if x in wanted or set(readers[x]) - set(u)}) for u in units]

    source: Any = property(lambda self: (self.last or self.guess).source)
    bytes: Any = property(lambda self: (self.last or self.guess).bytes)
    live_bytes: Any = property(lambda self: (self.last or self.guess).live_bytes)
    all_bytes: Any = property(lambda self: (self.last or self.guess).all_bytes)


# Layers in small operations


def opened(node: Node) -> Node:
    """Of a linear layer, forward or backward: the matrix product, which writes where the plan says."""
    if not isinstance(node.f, kinds.Part):
        return node
    whole = node.inputs[0]
    forward = isinstance(whole.f, kinds.Fused)
    layer = whole if forward else whole.inputs[0]
    if layer.type != "Linear":
        return node
    made: list[Node] = []
    with node.graph.as_default(), during(node.graph, writing=made, controls=whole.controls):
        x, weight, *bias = layer.inputs
        rows = as_rows(x)
        if forward:
            new = rows @ weight.T
            new = (new + bias[0] if bias else new).reshape(node.shape)
        else:
            grad = as_rows(whole.inputs[1])
            ones = XP.ones((1, grad.shape[0]), grad.dtype)  # a product with ones adds faster than a sum
            left, right = ((grad, weight), (grad.T, rows), (ones, grad))[int(node.f.key)]
            new = (left @ right).reshape(node.shape)
    turn = 0 if forward else int(node.f.key)
    for i, one in enumerate(made):  # as old as what they stand for, in their order, no two alike
        one.serial = whole.serial + (turn + (i + 1) / (len(made) + 1)) / 3  # type: ignore[assignment]
    return new


def as_rows(x: Node) -> Node:
    return x if x.ndim == 2 else x.reshape((math.prod(x.shape[:-1]), x.shape[-1]))


# Fusion: which nodes run in one loop


def follows(program: Sequence[Node]) -> dict[Node, list[Node]]:
    """What has to run before each node: inputs, controls, and reads of a variable before it changes."""
    found = {node: list(before(node)) for node in program}
    readers: dict[Node, list[Node]] = {}
    for node in program:  # oldest first: as the program was written
        for x in node.inputs:
            if isinstance(x.f, kinds.Stored):
                readers.setdefault(x, []).append(node)
        for v in assigned_by(node):
            found[node] += [one for one in readers.pop(v, []) if one is not node]
            readers[v] = [node]
        for x in node.inputs:
            first = readers.get(x, [node])[0]
            if x in assigned_by(first) and first is not node:
                found[node].append(first)  # the assignment that came before
    return found


def fuse(program: Sequence[N], needs: Mapping[N, Sequence[N]], kind: Mapping[N, Hashable]) -> list[list[N]]:
    """The nodes of a program in units, in an order in which these can run, each in one loop.

    `needs` are the nodes that have to run before each. Two nodes may share a loop where their `kind` is the
    same, and not None; a node joins the unit of one that it needs, unless a way leads from that unit to it
    through a third: then each would have to wait for the other.
    """
    at = {node: i for i, node in enumerate(program)}
    unit = {node: at[node] for node in program}  # the number of the unit that each node is in
    members: dict[int, list[N]] = {}

    def detour(start: int, end: int) -> bool:
        """Whether a way leads from one unit to another through a third."""
        oldest, seen, todo = at[members[start][0]], {end}, [end]
        while todo:
            number = todo.pop()
            for one in (unit[x] for node in members[number] for x in needs[node] if x in unit):
                if one == start and number != end:
                    return True
                # What is older than all of a unit cannot come from it.
                if one not in seen and one != start and at[members[one][-1]] > oldest:
                    seen.add(one)
                    todo.append(one)
        return False

    for node in program:
        members[unit[node]] = [node]
        for x in needs[node]:
            there, here = unit.get(x), unit[node]
            alike = there is not None and kind[node] is not None and kind[x] == kind[node]
            if there is not None and alike and there != here and not detour(there, here):
                unit.update(dict.fromkeys(members[here], there))
                members[there] = sorted(members[there] + members.pop(here), key=at.__getitem__)
    ready = sorted(members, key=lambda number: at[members[number][-1]])
    before = {i: {unit[x] for n in members[i] for x in needs[n] if x in unit} - {i} for i in ready}
    return [members[i] for i in order(ready, before.__getitem__)]


def looped(unit: Sequence[Node], results: Collection[Node]) -> Node:
    """The nodes of a loop as one; its results are numbered in their order."""
    inside = set(unit)
    outside = dict.fromkeys(x for node in unit for x in node.inputs if x not in inside and not is_scalar(x))
    number = {node: i for i, node in enumerate([*outside, *unit])}
    steps = [(node.f, tuple(x.f.value if is_scalar(x) else number[x] for x in node.inputs)) for node in unit]
    made = [node for node in unit if node in results]
    f = kinds.Loop(steps, [node.dtype for node in unit], [number[node] for node in made])
    with during(unit[0].graph, writing=[]):
        return Node(unit[0].graph, f, tuple(outside), made[0].known_shape, made[0].dtype, f.name)


def is_scalar(node: Node) -> bool:
    return isinstance(node.f, kinds.Constant) and node.f.value.ndim == 0


def roots(program: Sequence[Node]) -> dict[Node, Node]:
    """Whose memory each node looks at: its own, unless it is a view."""
    found: dict[Node, Node] = {}
    for node in program:
        is_view = isinstance(node.f, (*VIEWS, kinds.Assign)) and node.inputs
        found[node] = found.get(node.inputs[0], node.inputs[0]) if is_view else node
    return found


def freed_early(
    units: Sequence[list[Node]], needs: Mapping[Node, Sequence[Node]], root: Mapping[Node, Node]
) -> list[list[Node]]:
    """The units, of which one that frees as much as it takes comes as soon as what it needs is there.

    So a variable changes when its gradient is complete, and not when all are.
    """
    unit = {node: i for i, u in enumerate(units) for node in u}
    waits = [{unit[x] for node in u for x in needs[node] if x in unit} - {i} for i, u in enumerate(units)]
    waiting: list[list[int]] = [[] for _ in units]
    for i, others in enumerate(waits):
        for one in others:
            waiting[one].append(i)
    readers: dict[Node, set[int]] = {}  # units that have yet to read an array
    for node in unit:
        for x in read_by(node):
            readers.setdefault(root.get(x, x), set()).add(unit[node])

    def frees(i: int) -> bool:
        """Whether more is read here for the last time than is made for others; a variable has its array."""
        made = [n for n in units[i] if root[n] is n and readers.get(n, {i}) != {i}]
        new = [n for n in made if n.dtype is not None and not isinstance(n.f, kinds.Effect)]
        kept = {x for n in units[i] if isinstance(n.f, kinds.Assign) for x in n.inputs}
        read = {root.get(x, x) for n in units[i] for x in read_by(n)}
        gone = [x for x in read if x in unit and readers.get(x) == {i} and not isinstance(x.f, kinds.Source)]
        return sum(map(guessed, gone)) >= sum(guessed(n) for n in new if n not in kept)

    done: dict[int, None] = {}

    def take(i: int) -> None:
        todo = [i]
        while todo:
            now = todo.pop()
            if now in done:
                continue
            done[now] = None
            for x in {root.get(x, x) for n in units[now] for x in read_by(n)}:
                readers[x].discard(now)
            todo += [j for j in reversed(waiting[now]) if waits[j] <= done.keys() and frees(j)]

    there = [isinstance(u[0].f, kinds.Source) and not isinstance(u[0].f, kinds.Draw) for u in units]
    for i in sorted(range(len(units)), key=lambda i: bool(waits[i]) or not there[i]):
        take(i)
    return [units[i] for i in done]


def guessed(node: Node) -> int:
    """The bytes of a node, unknown sizes as 32."""
    return math.prod(with_sizes(tuple(node.shape), Every(UNKNOWN))) * node.dtype.itemsize


def is_elementwise(node: Node) -> bool:
    return type(node.f) in ELEMENTWISE and not isinstance(node.f, kinds.Identity) and not node.controls


def read_by(node: Node) -> list[Node]:
    """The nodes whose values one needs, also those that a fused operation has kept for its backward."""
    if not isinstance(node.f, kinds.FusedBackward):
        return list(node.inputs)
    whole = node.inputs[0]
    return [*node.inputs, *(whole.inputs[i] for i in whole.f.keeps)]


# A plan for given sizes


class Bound:
    """The program for given sizes: its memory, its source, and the function that it compiles to."""

    def __init__(self, plan: Plan, sizes: Mapping[str, int]) -> None:
        self.plan, self.known = plan, sizes
        self.names: dict[Node, str] = {}
        self.root = plan.root
        self.namespace: dict[str, Any] = {
            "np": np,
            "compute": compute,
            "stored": stored,
            "fitting": kinds.fitting,
        }
        self.lines: list[str] = []
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
        head = ["def program(feeds, state, spares):"]
        for i, node in enumerate(self.plan.feeds):
            head.append(f"    {self.name(node)} = feeds[{i}]  # {node.name}")
        reads = [x for node in self.plan.program for x in node.inputs] + self.plan.wanted
        for node in dict.fromkeys(x for x in reads if isinstance(x.f, kinds.Stored)):
            head.append(f"    {self.name(node)} = stored({self.given(node)}, state)  # {node.name}")
        for i, u in enumerate(self.plan.units):
            loop = [node for node in u if is_elementwise(node)]
            if len(loop) == len(u) and loop:
                self.loop(u)
            else:
                for node in u:
                    self.single(node)
            self.lines += [f"    {name} = None" for name in self.dead(i)]
            gone = [n for n in self.operations if self.spans.get(n, (0, 0))[1] == i]
            self.lines += [f"    {self.operation(n)}.saved = ()" for n in gone]
        results = ", ".join(self.result(node) for node in self.plan.wanted)
        self.lines.append(f"    return [{results}]")
        self.source = "\n".join([*head, *self.lines]) + "\n"
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
        if np.may_share_memory(made, self.namespace[operand]):
            self.namespace[self.name(node)] = made
            return True
        return False

    def operation(self, node: Node) -> str:
        """The name of a fused operation: the same in each run, so that it keeps what it saves itself."""
        if node not in self.operations:
            f = copy.copy(node.f.f)
            needs = node.f.needs_grad
            f.inputs = tuple(kinds.Leaf(self.shape(x), x.dtype, need) for x, need in zip(node.inputs, needs))
            self.operations[node] = f
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
                    self.namespace["spare"] = _spare
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
            case ops.Pow() if is_number(node.inputs[1], 2):
                return [f"np.multiply({operands[0]}, {operands[0]}, out={out})"]
            case ops.Pow() if is_number(node.inputs[1], 3):
                x = operands[0]
                return [f"np.multiply({x}, {x}, out={out})", f"np.multiply({out}, {x}, out={out})"]
        return [f"np.copyto({out}, {self.given(f)}.forward({args}))  # {f.name}"]


def _spare(variable: Node, spares: dict[Any, Any], state: Mapping[Any, Any], shape: Any, dtype: str) -> Any:
    """The second array of a variable: neither its value nor somebody else's."""
    spare = spares.get(variable)
    if spare is None or spare is state.get(variable):
        spare = np.empty(shape, dtype)
    return spare
