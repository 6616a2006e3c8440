"""What a compiler sees: nodes that nobody needs, that are known, that do nothing, that are there twice.

Taught in chapters/09c_passes.ipynb and solutions/09c_passes.ipynb: what they export is edited there, then
`make promote`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from minilib import operations as ops
from minilib.dag import ancestors
from minilib.dims import broadcast
from minilib.engine import Function
from minilib.graph import kinds
from minilib.graph.nodes import Node, assigned_by, before, by_age, graph_of
from minilib.graph.programs import during
from minilib.graph.session import leaves, structured
from minilib.graph.shapes import ELEMENTWISE

__all__ = ["common", "fold", "optimise", "prune", "rewrite", "simplify"]

SMALL = 4096  # bytes: folding may make constants of that size, or as large as what they are made of


def optimise(fetches: Any, feeds: Sequence[Node] = ()) -> Any:
    """Nodes with the same values as `fetches`, in the same structure, which need fewer others.

    `feeds` are the nodes that runs will give values to: what is above them is not looked at, and they stay.
    Passes run until none changes anything.
    """
    others = opaque(leaves(fetches), feeds)  # a constant that is fed is none
    wanted, fed = instead(leaves(fetches), others), set(others.values())
    program: list[Node] = []
    while set(prune(wanted, fed)) != set(program):  # sets: == of lists would ask the nodes
        program = prune(wanted, fed)
        for one in (partial(rewrite, rule=fold), partial(rewrite, rule=simplify), common):
            became = one(prune(wanted, fed))
            wanted = [became.get(node, node) for node in wanted]
    found = iter(instead(wanted, {other: node for node, other in others.items()}))
    return structured(fetches, lambda _: next(found))


def prune(wanted: Sequence[Node], fed: Collection[Node] = ()) -> list[Node]:
    """The program of all that `wanted` need, in order; what has to run before them belongs to it."""
    return sorted(ancestors(wanted, before, fed), key=by_age)


# Programs are not changed: nodes are made anew


def instead(wanted: Sequence[Node], others: Mapping[Node, Node]) -> list[Node]:
    """`wanted`, made with `others` in the place of nodes."""
    became = dict(others)
    for node in prune(wanted, others):
        became[node] = changed(node, became)
    return [became.get(node, node) for node in wanted]


def opaque(wanted: Sequence[Node], feeds: Sequence[Node]) -> dict[Node, Node]:
    """For each node that is fed a placeholder: no rule may look at what it would be otherwise."""
    graph_of("optimise", wanted, graph_of("optimise", feeds))
    made = (
        x if isinstance(x.f, kinds.Placeholder) else replaced(x, kinds.Placeholder(), (), ()) for x in feeds
    )
    return dict(zip(feeds, made))


def changed(node: Node, became: dict[Node, Node]) -> Node:
    """The node, over what its inputs became."""
    inputs = tuple(became.get(x, x) for x in node.inputs)
    controls = tuple(became.get(x, x) for x in node.controls)
    if _ids(inputs + controls) == _ids(node.inputs + node.controls):
        return node
    return replaced(node, node.f, inputs, controls)


def replaced(node: Node, f: Any, inputs: tuple[Node, ...], controls: tuple[Node, ...]) -> Node:
    """A node in the place of another; it keeps its age, so that it runs before the same assignments."""
    with during(node.graph, writing=[]):
        new = Node(node.graph, f, inputs, node.known_shape, node.dtype, node.name)
    new.controls, new.saved, new.serial = controls, node.saved, node.serial
    return new


def rewrite(program: Sequence[Node], rule: Callable[[Node], Node]) -> dict[Node, Node]:
    """What each node of a program becomes where `rule` says it of one, whose inputs have had their turn."""
    became: dict[Node, Node] = {}
    for node in program:
        became[node] = rule(changed(node, became))
    return became


# Rules


def fold(node: Node) -> Node:
    """A constant for what is made of constants alone, where that takes little memory or no more."""
    arrays = [x.f.value for x in node.inputs if isinstance(x.f, kinds.Constant)]
    known = len(arrays) == len(node.inputs) and (arrays or isinstance(node.f, kinds.Fill))
    if not known or not is_pure(node) or node.sized or node.controls or node.shape is None:
        return node
    if math.prod(node.shape) * node.dtype.itemsize > max(SMALL, sum(a.nbytes for a in arrays)):
        return node
    with np.errstate(all="ignore"):
        value = np.asarray(node.f.forward(*arrays))
    return replaced(node, kinds.Constant(value), (), ())


def simplify(node: Node) -> Node:
    """x for x * 1, x / 1, x ** 1, x - 0 (not for x + 0: -0 + 0 is 0), for what repeats a shape or dtype."""
    node = _unexpanded(node)
    same = handed_on(node)
    # A variable is read where it stands: its identity may be of before an assignment.
    if same is None or node.controls or isinstance(same.f, kinds.Stored):
        return node
    return same if (same.shape, same.dtype) == (node.shape, node.dtype) else node


def handed_on(node: Node) -> Node | None:
    """The input whose numbers a node hands on, if it does."""
    match node.f, node.inputs:
        case ops.Mul(), (x, y):
            return x if is_number(y, 1) else y if is_number(x, 1) else None
        case ops.Div() | ops.Pow(), (x, y):
            return x if is_number(y, 1) else None
        case ops.Sub(), (x, y):
            return x if is_number(y, 0) else None
        case ops.Neg(), (x,) if isinstance(x.f, ops.Neg):
            return x.inputs[0]
        case kinds.Identity() | kinds.SumTo() | ops.Cast() | ops.Expand() | ops.Reshape() | ops.Clone(), (x,):
            return x
        case ops.Permute(dims=dims), (x,) if list(dims) == sorted(dims):
            return x
        case ops.Permute(dims=dims), (x,) if isinstance(x.f, ops.Permute):
            return x.inputs[0] if all(x.f.dims[d] == i for i, d in enumerate(dims)) else None
    return None


def is_number(node: Node, number: int) -> bool:
    """Whether a node is this number at each place."""
    known = node.f.value if isinstance(node.f, kinds.Constant) else getattr(node.f, "number", [])
    value = np.asarray(known)
    return bool(value.size and (value == number).all() and not np.signbit(value).any())


def _unexpanded(node: Node) -> Node:
    """An elementwise node over what was expanded for it, which it broadcasts by itself."""
    if type(node.f) not in ELEMENTWISE or not any(type(x.f) is ops.Expand for x in node.inputs):
        return node
    inputs = tuple(x.inputs[0] if type(x.f) is ops.Expand else x for x in node.inputs)
    shapes = [x.shape for x in inputs]
    if any(shape is None for shape in shapes) or broadcast(*shapes) != node.shape:
        return node
    return replaced(node, node.f, inputs, node.controls)


# Common subexpressions


def common(program: Sequence[Node]) -> dict[Node, Node]:
    """What each node becomes where one serves for all that do the same with the same inputs."""
    first: dict[Any, Node] = {}
    became: dict[Node, Node] = {}
    versions: dict[Node, int] = {}  # of variables: between two reads somebody may have assigned
    for node in program:
        new = became[node] = changed(node, became)
        for v in assigned_by(node):
            versions[v] = versions.get(v, 0) + 1
        if is_pure(node):
            reads = tuple((id(x), versions.get(x, 0)) for x in new.inputs)
            key = type(node.f), frozen(vars(node.f)), reads, _ids(new.controls)
            became[node] = first.setdefault(key, new)
    return became


def is_pure(node: Node) -> bool:
    """Whether a node may run once for many, or never: no assignment, no draw, nothing that is fed."""
    return not isinstance(node.f, kinds.Effect | kinds.Placeholder)


def _ids(nodes: Sequence[Node]) -> tuple[int, ...]:
    return tuple(map(id, nodes))


def frozen(value: Any) -> Any:
    """Attributes of an operation as something that can be a key: arrays by their bytes."""
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str, value.tobytes() if value.nbytes <= SMALL else id(value)
    if isinstance(value, dict):
        told = value.keys() - {"inputs", "hooks", "xp", "serial"}
        return tuple((name, frozen(value[name])) for name in sorted(told))
    if isinstance(value, list | tuple):
        return tuple(map(frozen, value))
    if isinstance(value, slice):
        return "slice", value.start, value.stop, value.step
    if isinstance(value, Function):
        return type(value), frozen(vars(value))
    if isinstance(value, float):
        return value.hex()  # -0.0 == 0.0
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)  # a length of a shape is one
    return value if isinstance(value, str | bytes) or value is None else (type(value).__name__, value)
