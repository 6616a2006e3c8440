"""The reader's graph as a picture, where a test shows that it is wrong.

A graph arrives as data, inputs first: of each value its number, its operation, its inputs' places. Only what
was got is drawn: the expected graph would be the answer. Marked is what is not in the expected one.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from coursekit.grading.model import Probe
from coursekit.grading.plain import plain

LARGEST = 30  # nodes that are drawn
WIDEST = 640  # pixels below a cell

Node = tuple[float, str, list[int]]


@dataclass(frozen=True)
class Graph:
    """A graph that is wrong: what it was shown as, its nodes, and those that should be others."""

    probe: str
    nodes: list[Node]
    marked: frozenset[int]


def wrong_graph(both: Iterable[tuple[Probe, Probe]], *, free: bool = False) -> Graph | None:
    """The smallest graph among values that are wrong, (expected, got); None where there is none.

    `free`: other graphs than the expected one are right too, so nothing is marked.
    """
    found = []
    for want, have in both:
        nodes, right = nodes_of(have.value), nodes_of(want.value)
        if nodes and right:
            known = {_told(one) for one in (nodes if free else right)}
            marked = frozenset(i for i, one in enumerate(nodes) if _told(one) not in known)
            found.append(Graph(want.name, nodes, marked))
    return min(found, key=lambda one: len(one.nodes), default=None)


def nodes_of(value: Any) -> list[Node]:
    """The nodes of a graph that was shown; none where it is no graph, or too large to be looked at."""
    try:
        nodes = plain(value)
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError, RecursionError):
        return []  # forged
    if not isinstance(nodes, list) or not 1 < len(nodes) <= LARGEST:
        return []
    return nodes if all(_is_node(i, one) for i, one in enumerate(nodes)) else []


def _is_node(place: int, one: Any) -> bool:
    if not (isinstance(one, list | tuple) and len(one) == 3 and isinstance(one[1], str)):
        return False
    inputs = one[2]
    return (
        isinstance(one[0], int | float)
        and isinstance(inputs, list | tuple)
        and all(type(i) is int and 0 <= i < place for i in inputs)
    )


def _told(node: Node) -> tuple[str, str]:
    return f"{node[0]:.6g}", node[1]


def picture(graph: Graph) -> Markup:
    """The graph as an image, which every notebook shows, trusted or not."""
    from minilib.draw import draw_cards  # here, since few answers need it
    from minilib.draw.layout import Card

    cards = [
        Card(node[1][:24] or "input", ((f"{node[0]:.4g}", ""),), "", _colours(i, node, graph))
        for i, node in enumerate(graph.nodes)
    ]
    edges = [(tail, head) for head, (_, _, inputs) in enumerate(graph.nodes) for tail in inputs]
    words = f"your graph of {len(cards)} nodes, {len(graph.marked)} of them not as expected"
    (drawn,) = draw_cards([cards], edges, [words])
    data = base64.b64encode(drawn.png()).decode("ascii")
    width = min(WIDEST, round(drawn.scene.width))
    title = "your graph" + (", in orange what should not be in it so" if graph.marked else "")
    return Markup(
        '<div><code>{}</code>, {}</div><img width="{}" alt="{}" src="data:image/png;base64,{}">'
    ).format(graph.probe, title, width, words, data)


def _colours(place: int, node: Node, graph: Graph) -> tuple[str, str]:
    from minilib.draw import palette

    return palette.GLOW if place in graph.marked else palette.BLUE if node[2] else palette.SAND
