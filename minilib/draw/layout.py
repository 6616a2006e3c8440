"""Where the boxes and edges of a graph stand.

Graphviz decides: the program `dot` where it is installed, else the copy that the wheels of pygraphviz bring
along. Where there is neither, a plainer layout stands in (`plain`).
"""

from __future__ import annotations

import contextlib
import json
import math
import shutil
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from minilib.draw import plain
from minilib.draw.palette import BADGE, MARGIN, MINUS, PADDING, ROW, TEXT, TIMES
from minilib.draw.shapes import Point, Size

# Boxes and their sizes


@dataclass(frozen=True)
class Card:
    """What stands on one node in one picture."""

    title: str
    rows: tuple[tuple[str, str], ...]
    badge: str
    colours: tuple[str, str]
    line: float = 1.3
    news: bool = False  # its gradient has changed in this step

    @property
    def size(self) -> Size:
        rows = max((_width(word) + _width(text, self.news) + 8 for word, text in self.rows), default=0.0)
        width = max(rows, _width(self.title, bold=True)) + 2 * PADDING + self.badge_width
        return width, ROW * (len(self.rows) + bool(self.title)) + 12

    @property
    def badge_width(self) -> float:
        return max(BADGE, _width(self.badge, bold=True) + 12) if self.badge else 0.0


def _width(text: str, bold: bool = False) -> float:
    """A generous guess at the width of `text`: no reader's font may need more."""
    wide = sum(
        1.0 if unicodedata.east_asian_width(letter) in "WF" or letter in f"mwMW@%{TIMES}{MINUS}+=" else 0.64
        for letter in text
    )
    narrow = sum(0.3 for letter in text if letter in " .,:;'|ijlI()")
    return TEXT * (wide - narrow) * (1.08 if bold else 1.0)


def _label_width(*labels: str) -> float:
    widest = max(map(_width, labels))
    return widest + 8 if widest else 0.0


# The layout


@dataclass(frozen=True)
class Layout:
    """Where the nodes, the edges and the edges' labels stand."""

    width: float
    height: float
    sizes: list[Size]
    centres: list[Point]
    curves: list[tuple[Point, ...]]
    labels: list[Point | None]


def _arrange(
    sizes: list[Size], edges: list[tuple[int, int]], labels: list[float], down: bool = False
) -> Layout:
    """Lay out boxes of these sizes, and room for a label of the given width (0: none) on each edge."""
    if down:  # the layout to the right of boxes that lie on their side, turned
        lying = _arrange([(height, width) for width, height in sizes], edges, labels)
        turned = [tuple((x, y) for y, x in curve) for curve in lying.curves]
        centres = [(x, y) for y, x in lying.centres]
        return Layout(
            lying.height, lying.width, sizes, centres, turned, [s and s[::-1] for s in lying.labels]
        )
    rooms = [_room(width, edges.count(edge) > 1) for edge, width in zip(edges, labels, strict=True)]
    drawn = _run_dot(sizes, edges, rooms)
    right, bottom, centres, lines, kept = (
        _read(json.loads(drawn), len(edges)) if drawn else _plain(sizes, edges, rooms)
    )
    smooth = [_smooth(sizes, centres, edge, _bulge(edges, i)) for i, edge in enumerate(edges)]
    curves = [curve or line for curve, line in zip(smooth, lines, strict=True)]
    kept = [spot if width else None for spot, width in zip(kept, labels, strict=True)]
    spots = _spread(curves, kept, labels)
    return Layout(math.ceil(right + MARGIN), math.ceil(bottom + MARGIN), sizes, centres, curves, spots)


# Right and bottom side, the boxes' centres, a curve for each edge, and the spot of its label.
_Places = tuple[float, float, list[Point], list[tuple[Point, ...]], list[Point | None]]


def _read(drawn: Any, edges: int) -> _Places:
    """The places in Graphviz's JSON."""
    *_, right, top = map(float, drawn["bb"].split(","))

    def place(text: str) -> Point:  # Graphviz's y axis points up
        x, y = text.split(",")
        return float(x) + MARGIN, top - float(y) + MARGIN

    boxes = {item["name"]: place(item["pos"]) for item in drawn["objects"]}
    found = {item["id"]: item for item in drawn.get("edges", [])}
    lines = [found[f"e{i}"] for i in range(edges)]
    curves = [tuple(place(point) for point in line["pos"].split()) for line in lines]
    spots = [place(line["lp"]) if "lp" in line else None for line in lines]
    return right + MARGIN, top + MARGIN, [boxes[f"n{i}"] for i in range(len(boxes))], curves, spots


def _plain(sizes: list[Size], edges: list[tuple[int, int]], rooms: list[float]) -> _Places:
    """The places of the layout that needs no Graphviz."""

    def moved(points: Iterable[Point]) -> tuple[Point, ...]:
        return tuple((x + MARGIN, y + MARGIN) for x, y in points)

    found, curves, spots = plain.arrange(sizes, edges, rooms)
    centres = moved(found)
    corners = [(x + w / 2, y + h / 2) for (x, y), (w, h) in zip(centres, sizes, strict=True)]
    bottom = max([y for _, y in corners] + [y + MARGIN + ROW / 2 for curve in curves for _, y in curve])
    return max(x for x, _ in corners), bottom, [*centres], [moved(curve) for curve in curves], [*moved(spots)]


def _room(label: float, has_twin: bool) -> float:
    """The width to keep free for an edge, so that labels can evade each other and twins can bend apart."""
    return label + 16 if label else 32.0 if has_twin else 0.0


# Edges as smooth curves


def _smooth(
    sizes: list[Size], centres: list[Point], edge: tuple[int, int], bulge: float
) -> tuple[Point, ...] | None:
    """One smooth S from node to node where no other node is in its way, else None (Graphviz goes around)."""
    tail, head = edge
    x, y = centres[tail][0] + sizes[tail][0] / 2, centres[tail][1]
    end, below = centres[head][0] - sizes[head][0] / 2, centres[head][1]
    for i, ((width, height), (left, top)) in enumerate(zip(sizes, centres, strict=True)):
        across = abs(left - (x + end) / 2) < (width + end - x) / 2 - 12  # it sets out level
        beside = abs(top - (y + below) / 2) < (height + abs(below - y)) / 2 + abs(bulge)
        if across and beside and i not in edge:
            return None
    third = max(20.0, (end - x) * 0.45)
    return (x, y), (x + third, y + bulge * 4 / 3), (end - third, below + bulge * 4 / 3), (end, below)


def _bulge(edges: list[tuple[int, int]], i: int) -> float:
    """How far edge i bends aside, so that the edges of `x * x` do not hide one another."""
    twins = [k for k, edge in enumerate(edges) if edge == edges[i]]
    return 30.0 * (twins.index(i) - (len(twins) - 1) / 2)


# Labels that cover no other


def _spread(
    curves: list[tuple[Point, ...]], kept: list[Point | None], widths: list[float]
) -> list[Point | None]:
    """Spots for the labels: where Graphviz kept one beside a long curve, else on the curve, near its middle.

    Of the spots on a curve (and the kept one) the first that covers no other label is taken, else the freest.
    """
    spots = [spot if len(curve) > 4 else None for curve, spot in zip(curves, kept, strict=True)]

    def covered(spot: Point, width: float) -> float:
        x, y = spot
        taken = ((at, other) for at, other in zip(spots, widths, strict=True) if at)
        overlaps = (((width + other) / 2 - abs(x - a), ROW - abs(y - b)) for (a, b), other in taken)
        return sum(dx * dy for dx, dy in overlaps if dx > 0 and dy > 0)

    for i, (curve, reserve, width) in enumerate(zip(curves, kept, widths, strict=True)):
        if reserve and spots[i] is None:
            parts = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.2, 0.8)
            choices = [*(_on(curve, part) for part in parts), reserve]
            spots[i] = min(choices, key=partial(covered, width=width))
    return spots


def _on(curve: tuple[Point, ...], part: float) -> Point:
    """The point of a single Bezier curve at the parameter `part`, from 0 to 1."""
    weights = (1 - part) ** 3, 3 * part * (1 - part) ** 2, 3 * part**2 * (1 - part), part**3
    x, y = (sum(w * p[axis] for w, p in zip(weights, curve, strict=True)) for axis in (0, 1))
    return x, y


# Graphviz


def _dot_source(sizes: list[Size], edges: list[tuple[int, int]], rooms: list[float]) -> str:
    """The graph for Graphviz: boxes without text, so that its result depends on no font."""
    import graphviz

    dot = graphviz.Digraph(
        graph_attr={"rankdir": "LR", "nodesep": "0.25", "ranksep": "0.35"},
        node_attr={"shape": "box", "fixedsize": "true", "label": ""},
        edge_attr={"dir": "none", "headport": "w", "tailport": "e"},
    )
    for i, (width, height) in enumerate(sizes):
        dot.node(f"n{i}", width=f"{width / 72:.4f}", height=f"{height / 72:.4f}")
    for i, ((tail, head), width) in enumerate(zip(edges, rooms, strict=True)):
        size = f'fixedsize="true" width="{width:.0f}" height="{ROW:.0f}"'
        room = {"label": f'<<table border="0" {size}><tr><td></td></tr></table>>'} if width else {}
        dot.edge(f"n{tail}", f"n{head}", id=f"e{i}", **room)
    return str(dot.source)


def _run_dot(sizes: list[Size], edges: list[tuple[int, int]], rooms: list[float]) -> str | None:
    """Graphviz's JSON, by the program `dot`, else by pygraphviz's own copy; None where neither works."""
    try:
        import graphviz

        source = _dot_source(sizes, edges, rooms)
        if shutil.which("dot"):
            with contextlib.suppress(graphviz.CalledProcessError):  # its plug-ins are missing: the other way
                return str(graphviz.Source(source).pipe("json0", encoding="utf-8", quiet=True))
        import pygraphviz

        return bytes(pygraphviz.AGraph(string=source).draw(format="json0", prog="dot")).decode()
    except (
        ImportError,
        ValueError,
        OSError,
    ):  # not installed, or a wheel that misses a library of the system
        return None
