"""What the answer does not need is taken out: rules that each offer a patch, until none has one.

Taught in chapters/10c_declutter.ipynb and solutions/10c_declutter.ipynb: what they export is edited there,
then `make promote`.

A name stands for the same array before a patch and after it. So a patch can make a name anew, from other
names, or have another read in its place, and whatever is needed no more goes by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from minilib.dims import Dim
from minilib.infer.elementwise import NUMBER_BY_NUMBER
from minilib.infer.facts import Fact
from minilib.infer.model import SMALL, Graph, Node, analyse, fold

__all__ = ["RULES", "Patch", "View", "apply", "declutter", "rule", "sweep"]


@dataclass(frozen=True)
class Patch:
    """A change that keeps every answer: nodes that make names anew, and names that are read as others."""

    nodes: list[Node] = field(default_factory=list)
    constants: dict[str, Any] = field(default_factory=dict)
    same: dict[str, str] = field(default_factory=dict)  # old name -> the name that is read in its place

    def names(self) -> set[str]:
        """What it makes anew or replaces."""
        return {name for node in self.nodes for name in node.outputs if name} | self.same.keys()


def instead(node: Node, op: str, inputs: list[str], told: Any = None, constants: Any = None) -> Patch:
    """One node in the place of another."""
    return Patch([Node(op, inputs, node.outputs, told or {}, node.name)], constants or {})


class View:
    """A graph as rules look at it: who makes a name, how often it is read, what is known of it."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.makers, self.facts = graph, graph.makers(), graph.facts or analyse(graph)
        self.reads = Counter(name for node in graph.nodes for name in node.inputs) + Counter(graph.outputs)
        del self.reads[""]  # an absent input reads nothing
        self.readers: dict[str, list[Node]] = {}
        for node in graph.nodes:
            for name in node.inputs:
                self.readers.setdefault(name, []).append(node)
        self.firsts: dict[Any, Node] = {}  # for `common`: the first node that computes what its key says
        seen: dict[Any, str] = {}  # small constants by what they hold, so that two equal ones are one name
        self.twins = {
            name: seen.setdefault((a.dtype.str, a.shape, a.tobytes()), name)
            for name, a in graph.constants.items()
            if a.size <= SMALL
        }

    def maker(self, name: str, *ops: str) -> Node | None:
        """The node that makes a name, if it is one of these operators."""
        node = self.makers.get(name)
        return node if node is not None and node.op in ops else None

    def inner(self, name: str, *ops: str) -> Node | None:
        """The same, if nobody else reads what it makes."""
        return self.maker(name, *ops) if self.reads[name] == 1 else None

    def shape(self, name: str) -> Any:
        return self.facts[name].shape

    def constant(self, name: str) -> Any:
        """The array of a constant; None of everything else."""
        return self.graph.constants.get(name)

    def scalar(self, name: str) -> float | None:
        """The number of a constant that has one; None of everything else."""
        array = self.constant(name)
        return float(array.reshape(-1)[0]) if array is not None and array.size == 1 else None

    def is_float(self, name: str) -> bool:
        dtype = self.facts[name].dtype
        return dtype is not None and dtype.kind == "f"


Rule = Callable[[View, Node], "Patch | None"]
RULES: dict[str, list[Rule]] = {}  # by operator; "" for those of all


def rule(*ops: str) -> Callable[[Rule], Rule]:
    """Adds a rule for nodes of these operators; without any, for all."""

    def added(function: Rule) -> Rule:
        for op in ops or ("",):
            RULES.setdefault(op, []).append(function)
        return function

    return added


def declutter(graph: Graph) -> Graph:
    """The same answers from fewer nodes. A second time it changes nothing."""
    while True:
        graph = fold(graph)
        changed = sweep(graph)
        if changed is None:
            return graph
        graph = changed


def sweep(graph: Graph) -> Graph | None:
    """Asks all rules about all nodes, and applies what they offer at once; None where they offer nothing."""
    view, found, taken = View(graph), Patch(), set[str]()
    for node in graph.nodes:
        for offer in (*RULES.get(node.op, ()), *RULES[""]):
            patch = offer(view, node)
            if patch is None or patch.names() & taken:
                continue
            taken |= patch.names()
            found.nodes.extend(patch.nodes)
            found.constants.update(patch.constants)
            found.same.update(patch.same)
            break
    return apply(graph, found) if taken else None


def apply(graph: Graph, patch: Patch) -> Graph:
    """The graph with the patch, and without what is needed no more."""

    def read(name: str) -> str:
        while name in patch.same:
            name = patch.same[name]
        return name

    anew = {name for node in patch.nodes for name in node.outputs if name}
    kept = [node for node in graph.nodes if not anew.intersection(node.outputs)]
    nodes = [
        Node(node.op, [read(name) for name in node.inputs], node.outputs, node.attributes, node.name)
        for node in (*kept, *patch.nodes)
    ]
    constants = {**graph.constants, **patch.constants}
    changed = Graph(graph.inputs, graph.outputs, nodes, constants, {}, graph.properties).sorted()
    changed.facts = analyse(changed)
    return changed


# Nodes that give what they get


@rule()
def identity(view: View, node: Node) -> Patch | None:
    """A node that changes nothing: whoever reads it reads what it reads."""
    source, result = passed(view, node), node.outputs[0]
    if source is None or any(view.reads[name] for name in node.outputs[1:] if name):
        return None
    if result not in view.graph.outputs:
        return Patch(same={result: source})
    maker = view.makers.get(source)  # an output keeps its name, so the one before takes it
    if maker is None or source in view.graph.outputs:
        return None
    outputs = [result if name == source else name for name in maker.outputs]
    renamed = Node(maker.op, maker.inputs, outputs, maker.attributes, maker.name)
    return Patch([renamed], same={source: result})


NEUTRAL = {"Add": 0.0, "Sub": 0.0, "Mul": 1.0, "Div": 1.0, "Pow": 1.0}


def passed(view: View, node: Node) -> str | None:
    """The input that a node passes on as it is; None where it does something."""
    if not node.inputs or not node.inputs[0]:
        return None
    first, before, after = node.inputs[0], view.facts[node.inputs[0]], view.facts[node.outputs[0]]
    if node.op in ("Identity", "Dropout"):
        return first if node.op == "Identity" or not training(view, node) else None
    if node.op in ("Sum", "Mean", "Max", "Min", "Concat") and len(node.inputs) == 1:
        return first
    if node.op in NEUTRAL:
        for one, other in ((0, 1), (1, 0)) if node.op in ("Add", "Mul") else ((0, 1),):
            if view.scalar(node.inputs[other]) == NEUTRAL[node.op]:
                fact = view.facts[node.inputs[one]]
                return node.inputs[one] if alike(fact, after) else None
        return None
    if not alike(before, after):
        return None
    if node.op in ("Reshape", "Squeeze", "Unsqueeze", "Flatten", "Expand", "Cast", "CastLike"):
        return first
    if node.op == "Transpose":
        return first if list(order_of(view, node)) == list(range(len(before.shape or ()))) else None
    if node.op in ("Slice", "Pad"):  # from 0 on, by 0
        told = view.constant(node.inputs[1])
        return first if told is not None and not told.any() else None
    return None


def training(view: View, node: Node) -> bool:
    """Whether a Dropout may drop something."""
    mode = view.constant(node.reads(2))
    return bool(node.reads(2)) and (mode is None or bool(mode))


def alike(one: Fact, other: Fact) -> bool:
    return one.shape is not None and (one.dtype, one.shape) == (other.dtype, other.shape)


# The same twice


@rule()
def common(view: View, node: Node) -> Patch | None:
    """What another node has computed already is read from there."""
    other = view.firsts.setdefault(key_of(view, node), node)
    if other is node or any(name in view.graph.outputs for name in node.outputs):
        return None
    return Patch(same={name: there for name, there in zip(node.outputs, other.outputs) if name})


def key_of(view: View, node: Node) -> Any:
    """What is equal for nodes that compute the same: sizes by what they are, others by what they read."""
    fact = view.facts[node.outputs[0]]
    if fact.value is not None and fact.value.dtype == object and len(node.outputs) == 1:
        return str(fact.dtype), fact.value.shape, tuple(fact.value.reshape(-1).tolist())
    inputs = [view.twins.get(name, name) for name in node.inputs]
    return node.op, tuple(inputs), str(sorted(node.attributes.items())), len([n for n in node.outputs if n])


# Shapes and orders of axes


@rule("Reshape", "Squeeze", "Unsqueeze", "Flatten")
def known_shape(view: View, node: Node) -> Patch | None:
    """A shape that a program computes is written down, and of two reshapes the last one counts."""
    inner = view.maker(node.inputs[0], "Reshape")
    source = node.inputs[0] if inner is None else inner.inputs[0]
    before, after = view.shape(source), view.shape(node.outputs[0])
    if inner is None and node.op == "Reshape" and view.constant(node.inputs[1]) is not None:
        return None
    ahead = view.readers.get(node.outputs[0], [])
    if inner is None and node.op != "Reshape" and not any(one.op == "Reshape" for one in ahead):
        return None
    to = None if before is None or after is None else written(before, after)
    if to is None:
        return None
    name = f"{node.outputs[0]}.shape"
    return instead(node, "Reshape", [source, name], {}, {name: np.array(to, np.int64)})


def written(before: Any, after: Any) -> list[int] | None:
    """`after` in whole numbers: 0 copies a size of `before`, -1 is what is left; None where one is lost."""
    if any(n == 0 for n in after):
        return None
    to = [0 if i < len(before) and n == before[i] and isinstance(n, Dim) else n for i, n in enumerate(after)]
    left = [i for i, n in enumerate(to) if isinstance(n, Dim)]
    if len(left) > 1 or (left and 0 in to):  # beside a copied size, which may be 0, -1 could not be told
        return None
    return [-1 if i in left else n for i, n in enumerate(to)]


def order_of(view: View, node: Node) -> list[int]:
    """The order in which a Transpose puts the axes."""
    perm = node.attributes.get("perm")
    return list(perm) if perm is not None else list(range(len(view.shape(node.inputs[0]))))[::-1]


@rule("Transpose")
def transpose_twice(view: View, node: Node) -> Patch | None:
    """Two orders of axes are one."""
    inner = view.maker(node.inputs[0], "Transpose")
    if inner is None or view.shape(inner.inputs[0]) is None:
        return None
    first = order_of(view, inner)
    perm = [first[i] for i in order_of(view, node)]
    return Patch([Node("Transpose", inner.inputs, node.outputs, {"perm": perm}, node.name)])


@rule(*NUMBER_BY_NUMBER)
def transpose_later(view: View, node: Node) -> Patch | None:
    """A Transpose before what works number by number goes behind it, if it meets another one there."""
    found = [view.inner(name, "Transpose") for name in node.inputs]
    moved = next((one for one in found if one is not None), None)
    if moved is None or view.shape(moved.inputs[0]) is None or node.outputs[1:] or not meets(view, node):
        return None
    perm, rank = order_of(view, moved), len(view.shape(moved.inputs[0]))
    constants, inputs = dict[str, Any](), []
    for name, other in zip(node.inputs, found):
        array = view.constant(name)
        if other is not None and order_of(view, other) == perm:
            inputs.append(other.inputs[0])
        elif not name or (array is not None and array.size == 1 and array.ndim <= rank):
            inputs.append(name)
        elif array is not None and array.ndim <= rank:
            inputs.append(f"{node.outputs[0]}.{len(inputs)}")
            whole = array.reshape((1,) * (rank - array.ndim) + array.shape)
            constants[inputs[-1]] = np.ascontiguousarray(whole.transpose(np.argsort(perm)))
        else:
            return None
    early = f"{node.outputs[0]}.early"
    made = [
        Node(node.op, inputs, [early], node.attributes, node.name),
        Node("Transpose", [early], node.outputs, {"perm": perm}),
    ]
    return Patch(made, constants)


def meets(view: View, node: Node) -> bool:
    """Whether behind a node, through elementwise ones that nobody else reads, a Transpose comes."""
    while view.reads[node.outputs[0]] == 1 and (ahead := view.readers.get(node.outputs[0])):
        node = ahead[0]
        if node.op == "Transpose":
            return True
        if node.op not in NUMBER_BY_NUMBER:
            return False
    return False
