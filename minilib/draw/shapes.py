"""Shapes that draw themselves as SVG and as PNG, and the scene that they stand in."""

from __future__ import annotations

import io
import math
from dataclasses import dataclass
from html import escape
from typing import Any, Literal

from minilib.draw.palette import BLUE, EDGE, FONT, GLOW, GRADIENT, GREY, INK, MUTED, PAGE, SAND, TEXT, WIDE

Point = tuple[float, float]
Size = tuple[float, float]


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


# The page


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


# The PNG


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
