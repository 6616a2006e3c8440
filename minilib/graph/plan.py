"""Planned programs: which nodes run in one loop, and in which order.

Taught in solutions/09c_passes.ipynb: what it exports is edited there, then `make promote`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from minilib.dag import consumers, order
from minilib.graph import kinds
from minilib.graph.bound import VIEWS, Bound, is_elementwise, read_by
from minilib.graph.device import XP
from minilib.graph.nodes import Node, assigned_by, before
from minilib.graph.passes import instead, opaque, optimise, prune, rewrite
from minilib.graph.programs import during, get_default_graph
from minilib.graph.session import Session, compute, handed_out, leaves, structured
from minilib.graph.shapes import Every, with_sizes

__all__ = ["Plan", "compile"]

N = TypeVar("N", bound=Hashable)

UNKNOWN = 32  # what stands for an unknown size until the plan has run


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
