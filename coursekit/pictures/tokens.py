"""Pictures of chapter 06a: texts cut into coloured tokens, what a vocabulary saves, and rows of a table."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from coursekit.pictures.described import OWN_KEYS, as_text, show_described
from coursekit.pictures.plots import BLUE, INK, ORANGE
from minilib.bpe import bytes_of, merged, pieces, visible
from minilib.draw import Picture
from minilib.draw.palette import EDGE, MUTED, PAGE
from minilib.draw.shapes import Box, Scene, Text

COLOURS = ["#cfe3f5", "#ffe2b8", "#d5ecd0", "#f6d2d9", "#e2d8f0"]
LETTER, HEIGHT, GAP = 8.2, 24.0, 8.0  # of one character and of one row, in pixels


def draw_tokens(rows: Mapping[str, Sequence[str]] | Sequence[Sequence[str]]) -> Picture:
    """Texts as tokens, a row each, with how many there are; the keys of a mapping stand before the rows."""
    named = list(rows.items() if isinstance(rows, Mapping) else (("", row) for row in rows))
    left = max(len(name) for name, _ in named) * LETTER + 18
    shapes: list[Any] = []
    for i, (name, tokens) in enumerate(named):
        y = (i + 0.5) * (HEIGHT + GAP)
        if name:
            shapes.append(Text(left - 10, y, name, MUTED, anchor="end"))
        shapes += _row(tokens, left, y)
    width = left + max(_width(tokens) for _, tokens in named) + 36
    scene = Scene(int(width), int(len(named) * (HEIGHT + GAP)), tuple(shapes))
    words = "; ".join(f"{name} {len(tokens)} tokens: {'|'.join(tokens)}".strip() for name, tokens in named)
    return Picture(scene, words, f"{len(named)} texts, cut into tokens")


def _width(tokens: Sequence[str]) -> float:
    return sum(len(token) * LETTER + 8 for token in tokens)


def _row(tokens: Sequence[str], x: float, y: float) -> list[Any]:
    """Boxes side by side, and their number behind them."""
    shapes: list[Any] = []
    for i, token in enumerate(tokens):
        width = len(token) * LETTER + 8
        shapes.append(Box(x + width / 2, y, width - 1.5, HEIGHT, 4, COLOURS[i % len(COLOURS)], EDGE, 0.6))
        shapes.append(Text(x + width / 2, y, token.replace(" ", "\u00b7"), INK))
        x += width
    return [*shapes, Text(x + 6, y, str(len(tokens)), MUTED, anchor="start", bold=True)]


# A picture that one moves


@dataclass(frozen=True, repr=False)
class Melting(Picture):
    """Tokens with a slider for the number of merges, finer where they are few; as an image, five states.

    Without JavaScript the tokens of the last state stand beside the slider.
    """

    steps: tuple[tuple[int, tuple[str, ...]], ...]
    merges: int

    def html(self) -> str:
        """The slider, its script, and the last state for where no script runs."""
        spans = "".join(
            f'<span style="background:{COLOURS[i % len(COLOURS)]};{SPAN}">{escape(_dotted(token))}</span>'
            for i, token in enumerate(self.steps[-1][1])
        )
        data = json.dumps([[k, [_dotted(token) for token in tokens]] for k, tokens in self.steps])
        return TEMPLATE.format(
            merges=self.merges, spans=spans, count=len(self.steps[-1][1]),
            data=data.replace("</", "<\\/"), colours=json.dumps(COLOURS), span=SPAN,
            ink=INK, page=PAGE, keys=OWN_KEYS, label=escape(self.summary),
        )  # fmt: skip

    def _repr_mimebundle_(
        self, include: Any = None, exclude: Any = None
    ) -> tuple[dict[str, str], dict[str, Any]]:
        still = {"image/png": as_text(self.png()), "text/plain": repr(self)}
        return still | {"text/html": self.html()}, {"image/png": {"alt": self.alt}}


SPAN = "display:inline-block;padding:2px 3px;margin:1px;border-radius:4px;white-space:pre"
TEMPLATE = """<div data-picture style="color:{ink};background:{page};padding:8px;max-width:760px">
<label>merges: <input type="range" min="0" max="1000" value="1000" {keys} aria-label="{label}"
 style="width:60%;vertical-align:middle"> <output>{merges}</output></label>
<div data-tokens style="font:15px monospace;line-height:1.9;min-height:6em">{spans}</div>
<div><b data-count>{count}</b> tokens</div>
<script>(function (root) {{
  var steps = {data}, colours = {colours};
  var slider = root.querySelector("input"), row = root.querySelector("[data-tokens]");
  slider.oninput = function () {{
    var now = steps[0], merges = Math.round({merges} * Math.pow(slider.value / 1000, 3));
    steps.forEach(function (step) {{ if (step[0] <= merges) now = step; }});
    root.querySelector("output").textContent = merges;
    slider.setAttribute("aria-valuetext", merges + " merges, " + now[1].length + " tokens");
    root.querySelector("[data-count]").textContent = now[1].length;
    row.textContent = "";
    now[1].forEach(function (token, i) {{
      var span = document.createElement("span");
      span.style.cssText = "{span};background:" + colours[i % colours.length];
      span.textContent = token;
      row.appendChild(span);
    }});
  }};
}})(document.currentScript.parentElement);</script></div>"""


def _dotted(token: str) -> str:
    """A token with its spaces as middle dots."""
    return token.replace(" ", "\u00b7")


def draw_melting(text: str, merges: Sequence[tuple[str, str]]) -> Melting:
    """A text after more and more of these merges, with a slider."""
    steps = tuple(_steps(text, merges))
    chosen = [steps[len(steps) * i // 4] for i in range(4)] + [steps[-1]]
    still = draw_tokens({f"{k} merges": tokens for k, tokens in chosen})
    summary = f"a text of {len(steps[0][1])} tokens without merges and {len(steps[-1][1])} with {len(merges)}"
    return Melting(still.scene, f"{summary}. {still.alt}", summary, steps, len(merges))


def _steps(text: str, merges: Sequence[tuple[str, str]]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The number of merges and the tokens after them, wherever something changes."""
    words: list[list[str]] = [list(visible(piece.encode("utf-8"))) for piece in pieces(text)]
    yield 0, _readable(words)
    for k, (a, b) in enumerate(merges, 1):
        after = [merged(word, (a, b), a + b) for word in words]
        if after != words:
            words = after
            yield k, _readable(words)


def _readable(words: Sequence[Sequence[str]]) -> tuple[str, ...]:
    return tuple(bytes_of(token).decode("utf-8", errors="replace") for word in words for token in word)


# Plots


def draw_savings(merges: Sequence[int], lengths: Sequence[int]) -> None:
    """The tokens of a text over the number of merges."""
    plt.figure(figsize=(6, 2.6))
    plt.plot(merges, lengths, "o-", color=BLUE)
    for k, length in list(zip(merges, lengths))[-5:]:
        plt.annotate(f"{length:,}", (k, length), (4, 5), textcoords="offset points", fontsize=8)
    plt.xlabel("merges")
    plt.ylabel("tokens of the manual")
    plt.ylim(0)
    plt.xlim(-40, max(merges) * 1.18)
    plt.gca().yaxis.set_major_formatter("{x:,.0f}")
    plt.grid(alpha=0.3)
    said = ", ".join(f"{length:,} with {k}" for k, length in zip(merges, lengths))
    show_described(f"A curve that falls ever more slowly, the tokens of the manual: {said} merges.")


def draw_prices(prices: Mapping[str, float]) -> None:
    """Bars: what each language pays."""
    plt.figure(figsize=(6, 0.36 * len(prices) + 0.8))
    names = list(prices)[::-1]
    bars = plt.barh(names, [prices[name] for name in names], color=BLUE)
    bars[-1].set_color(ORANGE)
    plt.bar_label(bars, fmt="%.0f", padding=3)
    plt.xlabel("tokens for the same sentence")
    plt.margins(x=0.1)
    said = ", ".join(f"{name} {price:.0f}" for name, price in prices.items())
    show_described(f"Bars of different lengths, tokens for the same sentence: {said}.")


def draw_lookup(one_hot: Any, table: Any) -> None:
    """A matrix with a single 1 in each row, times a table, is the rows that the ones stand for."""
    parts = (one_hot, table, one_hot @ table)
    widths, most = [part.shape[1] for part in parts], np.abs(table).max()
    _, axes = plt.subplots(1, 3, figsize=(7.5, 2.2), width_ratios=widths, layout="constrained")
    rows, width = table.shape
    titles = (
        f"one-hot ({len(one_hot)}, {rows})",
        f"@ table ({rows}, {width})",
        f"= ({len(one_hot)}, {width})",
    )
    for ax, part, title in zip(axes, parts, titles):
        colours = {"cmap": "Blues"} if part is one_hot else {"cmap": "RdBu", "vmin": -most, "vmax": most}
        ax.pcolor(part, edgecolors="white", **colours)
        ax.set(xticks=[], yticks=np.arange(len(part)) + 0.5, yticklabels=range(len(part)))
        ax.set_title(title, fontsize=9)
        ax.invert_yaxis()
    axes[0].set(xticks=np.arange(rows) + 0.5, xticklabels=range(rows))
    ids = np.argmax(one_hot, axis=1).tolist()
    show_described(
        f"Three coloured matrices: ones at the columns {ids}, a table of {rows} rows, and their product, "
        f"whose rows are the rows {ids} of the table; rows of the same id look the same."
    )
