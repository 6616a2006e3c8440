"""The graph of a computation, read off its nodes, and what each node says about itself.

A node is any object with `data`, `grad`, `op` and `inputs` (or micrograd's `_op` and `_prev`); `derivatives`,
one number per input, is needed only where local derivatives are shown. What has a `shape` is a node of
arrays: it says shape, dtype and bytes, and how many it has `saved` for backward. A tensor stands for its
`function`, the operation that made it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

from minilib.draw.palette import MINUS, TIMES

Node = Any


# The graph


@dataclass(frozen=True)
class Graph:
    """The nodes by number, the edges between their numbers, and what to call them."""

    nodes: list[Node]
    edges: list[tuple[int, int]]
    names: list[str]

    @property
    def operations(self) -> int:
        return len({result for _, result in self.edges})

    @property
    def of_arrays(self) -> bool:
        return hasattr(self.nodes[-1], "shape")


def _read(root: Node, names: Mapping[str, Any] | None, max_nodes: int, caller: str) -> Graph:
    nodes = _in_order(_maker(root))
    if len(nodes) > max_nodes:
        raise ValueError(
            f"{caller}: this graph has {len(nodes):,} nodes and more than {max_nodes:,} are hard to read; "
            f"draw a smaller expression, or pass max_nodes={len(nodes)}"
        )
    numbers = {id(node): i for i, node in enumerate(nodes)}
    edges = [(numbers[id(child)], i) for i, node in enumerate(nodes) for child in _inputs(node)]
    return Graph(nodes, edges, _names(nodes, numbers, names or {}))


def _in_order(root: Node) -> list[Node]:
    """The nodes that `root` was made of, each once, inputs before results. A loop: graphs can be deep."""
    order: list[Node] = []
    seen = {id(root)}
    stack = [(root, iter(_inputs(root)))]
    while stack:
        following = next((child for child in stack[-1][1] if id(child) not in seen), None)
        if following is None:
            order.append(stack.pop()[0])
        else:
            seen.add(id(following))
            stack.append((following, iter(_inputs(following))))
    return order


def _names(nodes: Sequence[Node], numbers: Mapping[int, int], names: Mapping[str, Any]) -> list[str]:
    found: list[list[str]] = [[] for _ in nodes]
    for name, thing in names.items():
        if not name.startswith("_") and id(_maker(thing)) in numbers:
            found[numbers[id(_maker(thing))]].append(name)
    return [
        _short(", ".join(known) or str(getattr(node, "label", "")))
        for known, node in zip(found, nodes, strict=True)
    ]


def _full_names(graph: Graph) -> list[str]:
    """A name for every node: v1, v2, ... where there is none."""
    fresh = (name for i in range(1, 2 * len(graph.nodes) + 1) if (name := f"v{i}") not in graph.names)
    return [name or next(fresh) for name in graph.names]


def _short(text: str, limit: int = 24) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "\N{HORIZONTAL ELLIPSIS}"


# What a node is made of


def _maker(thing: Any) -> Node:
    """What stands in the graph for `thing`: for a tensor, the operation that made it."""
    function = getattr(thing, "function", None)
    return thing if function is None else function


def _inputs(node: Node) -> tuple[Node, ...]:
    inputs = getattr(node, "inputs", None)
    if inputs is None:
        inputs = getattr(node, "_prev", None)
        if inputs is None:
            raise TypeError(
                f"cannot draw {node!r:.60} ({type(node).__name__}): "
                "a node needs `inputs` and `op`, as Value has"
            )
        if isinstance(inputs, set | frozenset):  # micrograd's: its order differs from run to run
            inputs = sorted(inputs, key=lambda node: (node.data, node._op))
    return tuple(inputs)


def _op(node: Node) -> str:
    op = getattr(node, "op", None)
    return str(getattr(node, "_op", "") if op is None else op or "")


def _derivatives(node: Node) -> tuple[float, ...]:
    derivatives = getattr(node, "derivatives", None)
    if derivatives is None:
        raise TypeError(
            f"{type(node).__name__} has no `derivatives`, one number per input; they are needed here"
        )
    if len(derivatives) != len(_inputs(node)):
        raise ValueError(
            f"a node {_op(node)!r} has {len(_inputs(node))} inputs but {len(derivatives)} derivatives; "
            "`derivatives` needs one number per input"
        )
    return tuple(derivatives)


# What a node says about itself


def describe(node: Node) -> tuple[tuple[str, str], ...]:
    """The rows of text on a node, as (word, text): all that a picture knows of scalars and of arrays."""
    data = getattr(node, "data", None)
    shape = getattr(node, "shape", getattr(data, "shape", None))
    if shape is None or isinstance(data, Real):
        return ("data", number(node.data)), ("grad", number(node.grad))
    if data is not None and not shape:
        return (("data", number(data)),)
    dtype = getattr(node, "dtype", getattr(data, "dtype", None))
    rows = [(str(dtype), f" {TIMES} ".join(map(str, shape)) or "()")]
    rows.append(("bytes", f"{math.prod(shape) * getattr(dtype, 'itemsize', 0):,}"))
    if kept := getattr(node, "saved", ()):  # freed once backward has been there: nothing is left in it
        arrays = [array.nbytes for array in kept if array is not None]
        rows.append(("saved", f"{sum(arrays):,}" if arrays else "freed"))
    return tuple(rows)


def number(value: float) -> str:
    """`value` in at most four significant digits: exact where they suffice (`0.5`), else padded (`24.70`)."""
    value = float(value)
    if value == 0 or not math.isfinite(value):
        text = str(abs(value)) if math.isinf(value) else "nan" if value else "0"
    elif 1e4 <= abs(value) < 1e6:
        text = f"{abs(value):.0f}"
    else:
        text = f"{abs(value):.4g}"
        if float(text) != abs(value):
            text = f"{abs(value):#.4g}".removesuffix(".")
        digits, _, exponent = text.partition("e")
        text = f"{digits}e{int(exponent)}" if exponent else text
    return MINUS + text if value < 0 else text
