"""Pictures of a computation: the graph of an expression, and its backward pass step by step.

    draw_graph(loss, vars())        # names the nodes after the notebook's variables
    step_backward(loss, vars())     # the same graph once per step, to page through

Graphviz decides where things stand: the program `dot` where it is installed, else the copy that the wheels
of pygraphviz bring along. This module draws: once as SVG, and once as PNG, because JupyterLab drops the SVG
of a notebook that is not trusted. The PNG uses the font that matplotlib ships, so that it looks the same
on a machine without fonts.

Nothing here knows `Value`. A node is any object with `data`, `grad`, `op` and `inputs` (or micrograd's `_op`
and `_prev`); `derivatives`, one number per input, is needed only where local derivatives are shown. What has
a `shape` is a node of arrays: it says shape, dtype and bytes, and how many it has `saved` for backward. A
tensor stands for its `function`, the operation that made it. Graphs of arrays go down.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import math
import shutil
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from numbers import Real
from pathlib import Path
from typing import Any, Literal

__all__ = ["Picture", "Playback", "describe", "draw_graph", "number", "step_backward"]

Node = Any
Point = tuple[float, float]
Size = tuple[float, float]

TIMES, MINUS, NOTHING = "\N{MULTIPLICATION SIGN}", "\N{MINUS SIGN}", "\N{EN DASH}"

# Colours that stay apart for colour-blind readers: sand for leaves, grey for those that want no gradient,
# blue for results, and one warm red that means "gradient" wherever it stands. Text has a contrast of at
# least 4.5 on each ground it is written on.
INK, MUTED, EDGE = "#1f2933", "#56616c", "#7b8794"
GRADIENT = "#b03a06"
SAND, BLUE, GLOW = ("#fff6e0", "#b07d10"), ("#e9f2fb", "#2b6ca3"), ("#ffe6d8", "#c2480c")
GREY = ("#f1f3f5", EDGE)
PAGE = "#ffffff"

FONT = "Helvetica, Arial, 'DejaVu Sans', sans-serif"
TEXT, ROW, BADGE, PADDING, MARGIN = 13.0, 19.0, 26.0, 9.0, 12.0
WIDE = 1100  # wider pictures keep their size and get a scroll bar, instead of shrinking to the notebook


# What a node says about itself


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


def _names(nodes: Sequence[Node], numbers: Mapping[int, int], names: Mapping[str, Any]) -> list[str]:
    found: list[list[str]] = [[] for _ in nodes]
    for name, thing in names.items():
        if not name.startswith("_") and id(_maker(thing)) in numbers:
            found[numbers[id(_maker(thing))]].append(name)
    return [
        _short(", ".join(known) or str(getattr(node, "label", "")))
        for known, node in zip(found, nodes, strict=True)
    ]


def _short(text: str, limit: int = 24) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "\N{HORIZONTAL ELLIPSIS}"


# Shapes: each draws itself as SVG and as PNG


@dataclass(frozen=True)
class Box:
    """A rectangle with round corners around the point (x, y)."""

    x: float
    y: float
    width: float
    height: float
    radius: float
    fill: str
    stroke: str
    line: float

    def svg(self) -> str:
        x, y = self.x - self.width / 2, self.y - self.height / 2
        return (
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{self.width:.1f}" height="{self.height:.1f}" '
            f'rx="{self.radius:.1f}" fill="{self.fill}" stroke="{self.stroke}" stroke-width="{self.line:g}"/>'
        )

    def paint(self, brush: Brush) -> None:
        from matplotlib.path import Path as Outline

        w, h, r = self.width / 2, self.height / 2, self.radius
        points: list[Point] = []
        for sx, sy, turn in ((1, -1, False), (1, 1, True), (-1, 1, False), (-1, -1, True)):  # clockwise
            bend = 0.448 * r  # how far a control point lies from the corner for a quarter of a circle
            corner = [(w - r, h), (w - bend, h), (w, h - bend), (w, h - r)]
            points += [(self.x + sx * x, self.y + sy * y) for x, y in (corner[::-1] if turn else corner)]
        codes = [1, 4, 4, 4] + [2, 4, 4, 4] * 3 + [79]
        brush.path(Outline([*points, points[0]], codes), self.stroke, self.line, self.fill)


@dataclass(frozen=True)
class Text:
    """One line of text, centred on the height y."""

    x: float
    y: float
    text: str
    colour: str = INK
    size: float = TEXT
    anchor: Literal["start", "middle", "end"] = "middle"
    bold: bool = False

    @property
    def baseline(self) -> float:
        return self.y + 0.36 * self.size

    def svg(self) -> str:
        weight = ' font-weight="bold"' if self.bold else ""
        return (
            f'<text x="{self.x:.1f}" y="{self.baseline:.1f}" font-size="{self.size:g}" fill="{self.colour}" '
            f'text-anchor="{self.anchor}"{weight}>{escape(self.text)}</text>'
        )

    def paint(self, brush: Brush) -> None:
        from matplotlib.font_manager import FontProperties
        from matplotlib.textpath import TextPath, text_to_path
        from matplotlib.transforms import Affine2D

        font = FontProperties(family="DejaVu Sans", weight="bold" if self.bold else "normal", size=self.size)
        width = text_to_path.get_text_width_height_descent(self.text, font, ismath=False)[0]
        left = self.x - width * {"start": 0.0, "middle": 0.5, "end": 1.0}[self.anchor]
        letters = TextPath((0, 0), self.text, prop=font, usetex=False)
        upright = Affine2D().scale(1, -1).translate(left, self.baseline)
        brush.path(letters.transformed(upright), self.colour, 0, self.colour)


@dataclass(frozen=True)
class Curve:
    """Cubic Bezier curves with an arrowhead: a start, then two control points and an end for each curve."""

    points: tuple[Point, ...]
    colour: str = EDGE
    line: float = 1.3
    arrow: Literal["start", "end"] = "end"

    def _aimed(self) -> tuple[Point, ...]:
        return self.points if self.arrow == "end" else self.points[::-1]

    def _head(self) -> tuple[Point, ...]:
        """The arrow's triangle. Its axis points back along the curve, over the triangle's own length."""
        length, half = 5.5 + 2 * self.line, 2.2 + 1.1 * self.line
        *_, bend, (x, y) = self._aimed()
        dx, dy = x - bend[0], y - bend[1]
        norm = math.hypot(dx, dy) or 1.0
        dx, dy = dx / norm, dy / norm
        back = (x - length * dx, y - length * dy)
        return (x, y), (back[0] - half * dy, back[1] + half * dx), (back[0] + half * dy, back[1] - half * dx)

    def _shaft(self) -> tuple[Point, ...]:
        """The curve, ended inside the triangle so that a thick line does not blunt the tip."""
        tip, left, right = self._head()
        return *self._aimed()[:-1], (
            (2 * tip[0] + left[0] + right[0]) / 4,
            (2 * tip[1] + left[1] + right[1]) / 4,
        )

    def svg(self) -> str:
        start, *rest = (f"{x:.1f},{y:.1f}" for x, y in self._shaft())
        head = " ".join(f"{x:.1f},{y:.1f}" for x, y in self._head())
        return (
            f'<path d="M{start} C{" ".join(rest)}" fill="none" '
            f'stroke="{self.colour}" stroke-width="{self.line:g}"/>'
            f'<polygon points="{head}" fill="{self.colour}"/>'
        )

    def paint(self, brush: Brush) -> None:
        from matplotlib.path import Path as Outline

        shaft = self._shaft()
        brush.path(Outline(shaft, [1] + [4] * (len(shaft) - 1)), self.colour, self.line, None)
        brush.path(Outline([*self._head(), self._head()[0]], [1, 2, 2, 79]), self.colour, 0, self.colour)


class Brush:
    """Fills and strokes paths on a canvas of pixels, whatever the reader has set in matplotlib's rcParams."""

    def __init__(self, renderer: Any, scale: float) -> None:
        self.renderer, self.scale = renderer, scale

    def path(self, outline: Any, stroke: str, line: float, fill: str | None) -> None:
        from matplotlib.colors import to_rgba
        from matplotlib.transforms import Affine2D

        pen = self.renderer.new_gc()
        pen.set_linewidth(line)
        pen.set_foreground(stroke)
        pen.set_antialiased(True)
        pixels = Affine2D().scale(self.scale, -self.scale).translate(0, self.renderer.height)
        self.renderer.draw_path(pen, outline, pixels, None if fill is None else to_rgba(fill))


def _palette() -> bytes:
    """Every ink on every ground it is used on, with three shades between for smooth edges."""
    grounds = [PAGE, SAND[0], BLUE[0], GLOW[0], GREY[0]]
    pairs = [(ground, ink) for ground in grounds for ink in (INK, MUTED, GRADIENT, SAND[1], BLUE[1], GLOW[1])]
    pairs += [(PAGE, EDGE), (SAND[1], EDGE), (BLUE[1], EDGE)]
    shades: dict[bytes, None] = {}
    for one, other in pairs:
        ends = list(zip(bytes.fromhex(one[1:]), bytes.fromhex(other[1:]), strict=True))
        for part in (0, 1, 2, 3, 4):
            shades[bytes((a * (4 - part) + b * part) // 4 for a, b in ends)] = None
    return b"".join(shades)


@dataclass(frozen=True)
class Scene:
    """Shapes on a white page, so that a dark theme does not swallow the edges."""

    width: float
    height: float
    shapes: tuple[Box | Text | Curve, ...]

    def svg(self, alt: str) -> str:
        page = Box(self.width / 2, self.height / 2, self.width, self.height, 8, PAGE, "none", 0)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width:.0f}" height="{self.height:.0f}" '
            f'viewBox="0 0 {self.width:.0f} {self.height:.0f}" role="img" font-family="{FONT}">\n'
            f"<title>{escape(alt)}</title>\n"
            + "\n".join(shape.svg() for shape in (page, *self.shapes))
            + "\n</svg>\n"
        )

    @property
    def is_wide(self) -> bool:
        return self.width > WIDE

    @property
    def scale(self) -> float:
        """Pixels of the PNG per unit of length: sharper than 1 where that costs few bytes."""
        return 1.0 if self.is_wide else 1.5

    def png(self) -> bytes:
        """The scene as a PNG with a palette: a third of the bytes, and nobody sees the difference."""
        try:
            from matplotlib.backends import backend_agg
            from PIL import Image
        except ImportError:
            raise ImportError("the PNG of a picture needs matplotlib: pip install matplotlib") from None

        agg: Any = backend_agg
        width, height = round(self.width * self.scale), round(self.height * self.scale)
        renderer = agg.RendererAgg(width, height, 72 * self.scale)
        brush = Brush(renderer, self.scale)
        for shape in self.shapes:
            shape.paint(brush)
        drawn = Image.frombuffer("RGBA", (width, height), renderer.buffer_rgba(), "raw", "RGBA", 0, 1)
        page = Image.new("RGB", drawn.size, PAGE)
        page.paste(drawn, mask=drawn.getchannel("A"))
        palette = Image.new("P", (1, 1))
        palette.putpalette(_palette())
        file = io.BytesIO()
        page.quantize(palette=palette, dither=Image.Dither.NONE).save(file, "PNG", optimize=True)
        return file.getvalue()


# Where things stand


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
        rows = max(_width(word) + _width(text, self.news) + 8 for word, text in self.rows)
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


@dataclass(frozen=True)
class Layout:
    """Where Graphviz put the nodes, the edges and the edges' labels."""

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
    drawn = json.loads(_run_dot(_dot_source(sizes, edges, rooms)))
    *_, right, top = map(float, drawn["bb"].split(","))

    def place(text: str) -> Point:  # Graphviz's y axis points up
        x, y = text.split(",")
        return float(x) + MARGIN, top - float(y) + MARGIN

    where = {item["name"]: place(item["pos"]) for item in drawn["objects"]}
    centres = [where[f"n{i}"] for i in range(len(sizes))]
    found = {item["id"]: item for item in drawn.get("edges", [])}
    curves: list[tuple[Point, ...]] = []
    spots: list[Point | None] = []
    for i, edge in enumerate(edges):
        line = found[f"e{i}"]
        smooth = _smooth(sizes, centres, edge, _bulge(edges, i))
        curves.append(smooth or tuple(place(point) for point in line["pos"].split()))
        spots.append(place(line["lp"]) if labels[i] else None)
    spots = _spread(curves, spots, labels)
    return Layout(math.ceil(right + 2 * MARGIN), math.ceil(top + 2 * MARGIN), sizes, centres, curves, spots)


def _room(label: float, has_twin: bool) -> float:
    """The width to keep free for an edge, so that labels can evade each other and twins can bend apart."""
    return label + 16 if label else 32.0 if has_twin else 0.0


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


def _bulge(edges: list[tuple[int, int]], i: int) -> float:
    """How far edge i bends aside, so that the edges of `x * x` do not hide one another."""
    twins = [k for k, edge in enumerate(edges) if edge == edges[i]]
    return 30.0 * (twins.index(i) - (len(twins) - 1) / 2)


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


def _on(curve: tuple[Point, ...], part: float) -> Point:
    """The point of a single Bezier curve at the parameter `part`, from 0 to 1."""
    weights = (1 - part) ** 3, 3 * part * (1 - part) ** 2, 3 * part**2 * (1 - part), part**3
    x, y = (sum(w * p[axis] for w, p in zip(weights, curve, strict=True)) for axis in (0, 1))
    return x, y


def _dot_source(sizes: list[Size], edges: list[tuple[int, int]], rooms: list[float]) -> str:
    """The graph for Graphviz: boxes without text, so that its result depends on no font."""
    try:
        import graphviz
    except ImportError:
        raise ImportError("pictures of graphs need the package graphviz: pip install graphviz") from None
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


def _run_dot(source: str) -> str:
    """The layout of `source` as Graphviz's JSON: by the program `dot`, else by pygraphviz's own copy."""
    if shutil.which("dot"):
        import graphviz

        try:
            return str(graphviz.Source(source).pipe("json0", encoding="utf-8", quiet=True))
        except graphviz.CalledProcessError:
            pass  # an installation without its plug-ins; the other way may work
    try:
        import pygraphviz

        return bytes(pygraphviz.AGraph(string=source).draw(format="json0", prog="dot")).decode()
    except (ImportError, ValueError, OSError) as error:
        raise ImportError(
            "pictures of graphs need a layout engine: pip install 'pygraphviz>=2.0', or install Graphviz "
            f"(https://graphviz.org/download) so that `dot` is on the PATH ({error})"
        ) from error


# From a graph to a picture


@dataclass(frozen=True)
class Link:
    """How one edge looks in one picture."""

    label: str = ""
    lit: bool = False


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


def _count(many: int, word: str) -> str:
    return f"{many:,} {word}" + ("" if many == 1 else "es" if word.endswith("x") else "s")


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
    layout = _arrange([card.size for card in cards], edges, [0.0] * len(edges))
    words = "; ".join(f"{tail} leads to {head}" for tail, head in arrows)
    scene = _compose(layout, cards, [Link()] * len(edges))
    return Picture(scene, words, f"map of {_count(len(boxes), 'box')}")


def _label_width(*labels: str) -> float:
    widest = max(map(_width, labels))
    return widest + 8 if widest else 0.0


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


def _full_names(graph: Graph) -> list[str]:
    """A name for every node: v1, v2, ... where there is none."""
    fresh = (name for i in range(1, 2 * len(graph.nodes) + 1) if (name := f"v{i}") not in graph.names)
    return [name or next(fresh) for name in graph.names]


# The backward pass, step by step


@dataclass(frozen=True)
class Share:
    """What one node tells one input: its own gradient times a local derivative."""

    edge: int
    receiver: int
    factor: float
    gradient: float

    @property
    def amount(self) -> float:
        return self.factor * self.gradient

    @property
    def product(self) -> str:
        return f"{number(self.factor)} {TIMES} {number(self.gradient)}"

    def __str__(self) -> str:
        return f"{self.product} = {number(self.amount)}"


@dataclass(frozen=True)
class Moment:
    """One step: its caption, the gradients after it as text, and who tells whom what."""

    caption: str
    gradients: tuple[str, ...]
    speaker: int | None = None
    shares: tuple[Share, ...] = ()


def _moments(graph: Graph, names: Sequence[str]) -> Iterator[Moment]:
    """Every step of the pass. The gradients are worked out here: the graph's own stay as they are."""
    gradients: list[float | None] = [None] * len(graph.nodes)
    root = len(graph.nodes) - 1
    yield Moment("Before: no value knows its gradient yet.", _texts(gradients, {}))
    gradients[root] = 1.0
    start = f"{names[root]} starts with 1: its derivative with respect to itself."
    yield Moment(start, _texts(gradients, {}))
    for speaker in range(root, -1, -1):
        shares = _shares(graph, speaker, gradients[speaker] or 0.0)
        if shares:
            news = _receive(gradients, shares)
            caption = _caption(names, speaker, shares, news, gradients)
            yield Moment(caption, _texts(gradients, news), speaker, shares)
    leaves = [i for i, node in enumerate(graph.nodes) if not _inputs(node)]
    known = ", ".join(f"{names[i]}.grad = {number(gradients[i] or 0.0)}" for i in leaves)
    yield Moment(f"Done: every value has spoken. {known}.", _texts(gradients, {}))


def _texts(gradients: Sequence[float | None], news: Mapping[int, str]) -> tuple[str, ...]:
    known = [NOTHING if gradient is None else number(gradient) for gradient in gradients]
    return tuple(news.get(i, text) for i, text in enumerate(known))


def _shares(graph: Graph, speaker: int, gradient: float) -> tuple[Share, ...]:
    edges = [i for i, (_, head) in enumerate(graph.edges) if head == speaker]
    factors = _derivatives(graph.nodes[speaker]) if edges else ()
    return tuple(
        Share(i, graph.edges[i][0], factor, gradient) for i, factor in zip(edges, factors, strict=True)
    )


def _receive(gradients: list[float | None], shares: Sequence[Share]) -> dict[int, str]:
    """Add the shares to the receivers' gradients. Returns the sums as they are written: `0.5 + 1.5`."""
    news: dict[int, str] = {}
    for share in shares:
        before = gradients[share.receiver]
        told = news.get(share.receiver, "" if before is None else number(before))
        amount = number(share.amount)
        sign = f" {MINUS} " if amount.startswith(MINUS) else " + "
        news[share.receiver] = told + sign + amount.removeprefix(MINUS) if told else amount
        gradients[share.receiver] = (before or 0.0) + share.amount
    return news


def _caption(
    names: Sequence[str],
    speaker: int,
    shares: Sequence[Share],
    news: Mapping[int, str],
    gradients: Sequence[float | None],
) -> str:
    """`b tells a: 3 x 2 = 6, so a.grad = 6.`"""
    parts = []
    for i, told in news.items():
        said = " and ".join(str(share) for share in shares if share.receiver == i)
        total = number(gradients[i] or 0.0)
        parts.append(
            f"{names[i]}: {said}, so {names[i]}.grad = {told if told == total else f'{told} = {total}'}"
        )
    return f"{names[speaker]} tells " + "; and ".join(parts) + "."


@dataclass(frozen=True, repr=False)
class Playback(Picture):
    """The backward pass as pictures. A notebook shows one fold per step; `frames[i]` is one of them alone.

    Folds (`<details>`) need no JavaScript, which notebooks that are not trusted lose. Where the frontend
    keeps the attribute `name`, opening one closes the others. In a file, all steps stand below one another.
    """

    captions: tuple[str, ...]
    frames: tuple[Picture, ...]

    def __repr__(self) -> str:
        return "\n".join(
            [f"<{self.summary}>", *(f"{i}. {caption}" for i, caption in enumerate(self.captions))]
        )

    def html(self) -> str:
        key = hashlib.sha256("".join(frame.svg() for frame in self.frames).encode()).hexdigest()[:8]
        folds = (self._fold(i, key) for i in range(len(self.frames)))
        return "<div>\n" + "\n".join(folds) + "\n</div>"

    def _fold(self, i: int, key: str) -> str:
        frame = self.frames[i]
        opened = " open" if i == 0 else ""
        free = ' style="max-width: none"' if frame.scene.is_wide else ""
        return (
            f'<details name="steps-{key}"{opened}><summary>{i}. {escape(self.captions[i])}</summary>'
            f'<div style="overflow-x: auto"><img src="data:image/png;base64,{_base64(frame.png())}" '
            f'width="{frame.scene.width:.0f}" alt="{escape(frame.alt)}"{free}></div></details>'
        )

    def _repr_mimebundle_(
        self, include: Any = None, exclude: Any = None
    ) -> tuple[dict[str, str], dict[str, Any]]:
        return {"text/html": self.html(), "text/plain": repr(self)}, {}


def step_backward(value: Node, names: Mapping[str, Any] | None = None, *, max_nodes: int = 20) -> Playback:
    """Play the backward pass from `value`, one picture per node that passes its gradient on.

    In each step one node tells its inputs their share: the local derivative times its own gradient. Nodes
    without a name are called v1, v2, ... The gradients start empty and are worked out here; those of the
    graph are neither read nor changed. `names` and `max_nodes` are as for `draw_graph`.
    """
    graph = _read(value, names, max_nodes, "step_backward")
    titles = _full_names(graph)
    moments = list(_moments(graph, titles))
    plain = _cards(graph, titles)
    cards = [_at(moment, plain) for moment in moments]
    links = [_links(moment, len(graph.edges)) for moment in moments]
    # One layout for all steps, with room for the widest text that will ever stand there: nothing moves.
    sizes = [
        (max(width for width, _ in sizes), sizes[0][1])
        for sizes in _columns([[c.size for c in cs] for cs in cards])
    ]
    widths = [_label_width(*(link.label for link in column)) for column in _columns(links)]
    layout = _arrange(sizes, graph.edges, widths)
    scenes = [_compose(layout, *looks) for looks in zip(cards, links, strict=True)]
    return _playback(scenes, [moment.caption for moment in moments])


def _columns(rows: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    return list(zip(*rows, strict=True))


def _at(moment: Moment, plain: Sequence[Card]) -> list[Card]:
    """The cards at this moment: its gradients on them, and the speaker lit."""
    cards = [
        replace(card, rows=tuple((word, text if word == "grad" else old) for word, old in card.rows))
        for card, text in zip(plain, moment.gradients, strict=True)
    ]
    for share in moment.shares:
        cards[share.receiver] = replace(cards[share.receiver], news=True)
    if moment.speaker is not None:
        cards[moment.speaker] = replace(cards[moment.speaker], colours=GLOW, line=2.4)
    return cards


def _links(moment: Moment, edges: int) -> list[Link]:
    said = {share.edge: Link(share.product, lit=True) for share in moment.shares}
    return [said.get(i, Link()) for i in range(edges)]


def _playback(scenes: Sequence[Scene], captions: Sequence[str]) -> Playback:
    frames = [
        Picture(scene, f"step {i} of {len(scenes) - 1}: {caption}", f"step {i}: {caption}")
        for i, (scene, caption) in enumerate(zip(scenes, captions, strict=True))
    ]
    summary = f"backward pass in {_count(len(scenes) - 1, 'step')}"
    alt = f"{summary}. " + " ".join(f"{i}. {caption}" for i, caption in enumerate(captions))
    return Playback(_strip(scenes, captions), alt, summary, tuple(captions), tuple(frames))


def _strip(scenes: Sequence[Scene], captions: Sequence[str]) -> Scene:
    """All steps below one another, each under its caption."""
    shapes: list[Box | Text | Curve] = []
    width = max(scenes[0].width, *(_width(caption) + 4 * MARGIN for caption in captions))
    top = MARGIN
    for i, (scene, caption) in enumerate(zip(scenes, captions, strict=True)):
        shapes.append(Text(MARGIN, top + ROW / 2, f"{i}. {caption}", anchor="start"))
        shapes += [_lowered(shape, top + ROW) for shape in scene.shapes]
        top += ROW + scene.height
    return Scene(math.ceil(width), math.ceil(top), tuple(shapes))


def _lowered(shape: Box | Text | Curve, dy: float) -> Box | Text | Curve:
    if isinstance(shape, Curve):
        return replace(shape, points=tuple((x, y + dy) for x, y in shape.points))
    return replace(shape, y=shape.y + dy)
