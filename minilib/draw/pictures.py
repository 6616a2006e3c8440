"""From a graph to a picture: `draw_graph`, and `draw_boxes` for a map."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from minilib.draw.graph import Graph, Node, _derivatives, _full_names, _inputs, _op, _read, describe, number
from minilib.draw.layout import Card, Layout, _arrange, _label_width, _width
from minilib.draw.palette import (
    BADGE,
    BLUE,
    GLOW,
    GRADIENT,
    GREY,
    INK,
    MUTED,
    PADDING,
    PAGE,
    ROW,
    SAND,
    TEXT,
    TIMES,
)
from minilib.draw.shapes import Box, Curve, Point, Scene, Text

# What is drawn


def draw_graph(
    value: Node, names: Mapping[str, Any] | None = None, *, derivatives: bool = False, max_nodes: int = 200
) -> Picture:
    """Draw the expression that made `value`, from the leaves on the left to `value` on the right.

    Leaves are sand-coloured; a result is blue and carries its operation in the round badge that its inputs
    point to. A tensor's graph goes down, and leaves that want no gradient are grey. `names` maps names to
    nodes; `vars()` names them after the notebook's variables. With `derivatives`, each edge shows the factor
    by which a gradient is multiplied on its way back.

    Raises ValueError for more than `max_nodes` nodes, TypeError for what is no node.
    """
    graph = _read(value, names, max_nodes, "draw_graph")
    cards = _cards(graph, graph.names)
    links = [Link()] * len(graph.edges)
    if derivatives:
        factors = (factor for node in graph.nodes if _inputs(node) for factor in _derivatives(node))
        links = [Link(f"{TIMES} {number(factor)}") for factor in factors]
    widths = [_label_width(link.label) for link in links]
    layout = _arrange([card.size for card in cards], graph.edges, widths, graph.of_arrays)
    summary = f"graph of {_count(len(graph.nodes), 'value')}, {_count(graph.operations, 'operation')}"
    return Picture(_compose(layout, cards, links), f"{summary}: {_in_words(graph)}", summary)


def draw_boxes(boxes: Mapping[str, Sequence[str]], arrows: Sequence[tuple[str, str]]) -> Picture:
    """Draw a map: for each title a box with lines of text, and arrows between titles, from left to right."""
    titles = list(boxes)
    cards = [Card(title, tuple((line, "") for line in lines), "", BLUE) for title, lines in boxes.items()]
    edges = [(titles.index(tail), titles.index(head)) for tail, head in arrows]
    words = "; ".join(f"{tail} leads to {head}" for tail, head in arrows)
    (picture,) = draw_cards([cards], edges, [words])
    return replace(picture, summary=f"map of {_count(len(boxes), 'box')}")


def draw_cards(
    frames: Sequence[Sequence[Card]], edges: Sequence[tuple[int, int]], alts: Sequence[str]
) -> list[Picture]:
    """The same boxes in several states, a picture for each: in all of them a box stands at one place.

    `edges` are pairs of places in a frame; a box is as large as the largest of its states.
    """
    sizes = [
        (max(card.size[0] for card in states), max(card.size[1] for card in states))
        for states in zip(*frames, strict=True)
    ]
    layout = _arrange(sizes, list(edges), [0.0] * len(edges))
    scenes = (_compose(layout, cards, [Link()] * len(edges)) for cards in frames)
    return [Picture(scene, alt, alt) for scene, alt in zip(scenes, alts, strict=True)]


# The picture


@dataclass(frozen=True, repr=False)
class Picture:
    """A drawing that notebooks show: as SVG, as PNG where they refuse SVG, and in words as `alt`."""

    scene: Scene
    alt: str
    summary: str

    def __repr__(self) -> str:
        return f"<{self.summary}>"

    def svg(self) -> str:
        return self.scene.svg(self.alt)

    def png(self) -> bytes:
        return self.scene.png()

    def save(self, path: str | Path) -> None:
        """Write the picture to `path`, as its suffix says: .svg or .png."""
        path = Path(path)
        if path.suffix not in (".svg", ".png"):
            raise ValueError(f"cannot save a picture as {path.name!r}: its name must end in .svg or .png")
        path.write_bytes(self.svg().encode() if path.suffix == ".svg" else self.png())

    def _repr_mimebundle_(
        self, include: Any = None, exclude: Any = None
    ) -> tuple[dict[str, str], dict[str, Any]]:
        size = {"width": round(self.scene.width), "height": round(self.scene.height)}
        free = {"unconfined": True} if self.scene.is_wide else {}
        bundle = {"image/svg+xml": self.svg(), "image/png": _base64(self.png()), "text/plain": repr(self)}
        return bundle, {"image/svg+xml": free, "image/png": size | free}


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


# Cards and links on a layout


@dataclass(frozen=True)
class Link:
    """How one edge looks in one picture."""

    label: str = ""
    lit: bool = False


def _cards(graph: Graph, titles: Sequence[str]) -> list[Card]:
    cards = [_card(node, title, graph.of_arrays) for node, title in zip(graph.nodes, titles, strict=True)]
    cards[-1] = replace(cards[-1], line=2.4)  # the value that was asked for
    return cards


def _card(node: Node, title: str, of_arrays: bool) -> Card:
    op = _op(node)
    colours = BLUE if _inputs(node) else SAND if getattr(node, "requires_grad", True) else GREY
    if of_arrays:
        return Card(" = ".join(filter(None, [title, op])), describe(node), "", colours)
    return Card(title, describe(node), TIMES if op == "*" else op, colours)


def _compose(layout: Layout, cards: Sequence[Card], links: Sequence[Link]) -> Scene:
    # A gradient flows against the arrow.
    curves = [
        Curve(curve, GLOW[1], 2.4, "start") if link.lit else Curve(curve)
        for curve, link in zip(layout.curves, links, strict=True)
    ]
    labels = [shape for spot, link in zip(layout.labels, links, strict=True) for shape in _label(spot, link)]
    nodes = [shape for i, card in enumerate(cards) for shape in _node(layout, i, card)]
    return Scene(layout.width, layout.height, (*curves, *labels, *nodes))


def _label(spot: Point | None, link: Link) -> Iterator[Box | Text]:
    if link.label and spot:
        fill, stroke = GLOW if link.lit else (PAGE, PAGE)
        yield Box(*spot, _width(link.label) + 8, ROW, ROW / 2, fill, stroke, 1)
        yield Text(*spot, link.label, GRADIENT if link.lit else MUTED, TEXT - 1)


def _node(layout: Layout, i: int, card: Card) -> Iterator[Box | Text | Curve]:
    (x, y), (width, height) = layout.centres[i], layout.sizes[i]
    fill, stroke = card.colours
    inset = card.badge_width / 2
    left, right = x - width / 2 + inset, x + width / 2
    yield Box(
        (left + right) / 2, y, right - left, height, 7 if card.badge else height / 4, fill, stroke, card.line
    )
    line = y - height / 2 + 6 + ROW / 2
    if card.title:
        yield Text((left + inset + right) / 2, line, card.title, INK, TEXT, "middle", True)
        line += ROW
    for word, text in card.rows:
        yield Text(left + inset + PADDING - 2 * bool(card.badge), line, word, MUTED, TEXT - 1, "start")
        gradient = word == "grad"
        colour, bold = GRADIENT if gradient else INK, gradient and card.news
        if text:
            yield Text(right - PADDING, line, text, colour, TEXT, "end", bold)
        line += ROW
    if card.badge:
        yield Box(left, y, 2 * inset, BADGE, BADGE / 2, stroke, stroke, 1)
        yield Text(left, y, card.badge, PAGE, TEXT, "middle", True)


# The picture in words


def _in_words(graph: Graph, limit: int = 12) -> str:
    """The last `limit` values of the graph, one phrase each."""
    names = _full_names(graph)
    inputs: list[list[str]] = [[] for _ in graph.nodes]
    for tail, head in graph.edges:
        inputs[head].append(names[tail])
    phrases = []
    for node, name, known in zip(graph.nodes, names, inputs, strict=True):
        origin = f" = {_op(node)}({', '.join(known)})" if known else ""
        phrases.append(f"{name}{origin}, " + ", ".join(f"{word} {text}" for word, text in describe(node)))
    return ("... " if len(phrases) > limit else "") + "; ".join(phrases[-limit:])


def _count(many: int, word: str) -> str:
    return f"{many:,} {word}" + ("" if many == 1 else "es" if word.endswith("x") else "s")
