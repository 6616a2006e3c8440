"""Pictures of attention: who looks where, as a matrix and as a sentence that one points at."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from coursekit.pictures.described import Described, described, moving
from coursekit.pictures.plots import BLUE, GLOW, GREY, INK
from minilib.draw.shapes import Box, Scene, Text


def draw_scales(sizes: Sequence[int], plain: Sequence[float], scaled: Sequence[float]) -> Described:
    """The largest of a query's weights over the number of dimensions, with and without the root."""
    figure, ax = plt.subplots(figsize=(5.5, 2.6))
    for values, name, style in ((plain, "q · k", "s--"), (scaled, "q · k / √d", "o-")):
        ax.semilogx(sizes, values, style, base=2, label=name)
    ax.set(xlabel="dimensions d", ylabel="largest weight", ylim=(0, 1.05), xticks=sizes)
    ax.set_xticklabels(map(str, sizes))
    ax.legend(frameon=False)
    alt = "The largest weight over the number of dimensions. " + "; ".join(
        f"{d} dimensions: {a:.2f} without the root, {b:.2f} with it" for d, a, b in zip(sizes, plain, scaled)
    )
    return described(figure, alt)


def draw_masks(masks: Mapping[str, Any]) -> Described:
    """Who may look at whom, for several masks (T, T) of 0 and minus infinity."""
    figure, axes = plt.subplots(1, len(masks), figsize=(2.6 * len(masks), 2.6), layout="constrained")
    told = []
    for ax, (name, mask) in zip(axes, masks.items()):
        seen = np.isfinite(mask)
        ax.pcolor(np.where(seen, 1, 0.1), cmap="Blues", vmin=0, vmax=1.5, edgecolors="white")
        ax.set(title=name, xlabel="looks at", xticks=[], yticks=[], aspect="equal")
        ax.invert_yaxis()
        told.append(f"{name}: " + ", ".join(f"word {i} sees {n}" for i, n in enumerate(seen.sum(1), 1)))
    axes[0].set_ylabel("word")
    return described(figure, "Squares of words by words. " + "; ".join(told))


def draw_losses(
    curves: Mapping[str, Sequence[float]], level: tuple[float, str], width: int = 10
) -> Described:
    """Losses as running means over `width` steps, and a dotted line at a level that has a name."""
    figure, ax = plt.subplots(figsize=(5.5, 2.6))
    ends, top = [], level[0]
    for name, losses in curves.items():
        means = np.convolve(losses, np.ones(width) / width, "valid")
        ax.plot(means, label=name)
        ends.append(f"{name}, from {means[0]:.2f} to {means[-1]:.2f}")
        top = max(top, means.max())
    ax.axhline(level[0], color=INK, ls=":", label=level[1])
    ax.set(xlabel="step", ylabel="cross-entropy", ylim=(0, 1.1 * top))  # no curve lies on the frame
    ax.legend(frameon=False)
    return described(figure, "Curves of losses: " + "; ".join(ends))


def draw_maps(words: Sequence[str], weights: Any) -> Described:
    """Attention as a matrix, one for each head: weights (heads, T, T), a row for the word that looks."""
    return described(
        maps_figure(words, weights), "Who looks where, strongest first. " + _said(words, weights)
    )


def maps_figure(words: Sequence[str], weights: Any) -> Any:
    """The figure of `draw_maps`, still open."""
    heads = len(weights)
    figure, axes = plt.subplots(1, heads, figsize=(4.4 * heads, 4), layout="constrained", squeeze=False)
    for number, (ax, head) in enumerate(zip(axes[0], weights), 1):
        ax.imshow(head, cmap="Blues", vmin=0, vmax=1)
        ax.set_title(f"head {number}")
        ax.set_xticks(range(len(words)), words, rotation=90)
        ax.set_yticks(range(len(words)), words)
    return figure


# A sentence that one points at


def draw_look(words: Sequence[str], weights: Any, start: int = -1) -> Described:
    """Where each word looks, per head: point at a word. weights (heads, T, T); `start` is shown at first."""
    table = np.asarray(weights, float).round(3)
    if table.ndim != 3 or table.shape[1:] != (len(words), len(words)):
        raise ValueError(f"draw_look: weights are (heads, {len(words)}, {len(words)}), not {table.shape}")
    start %= len(words)
    alt = f"{words[start]!r} looks back. " + _said(words, table[:, start : start + 1], [start])
    still = _still(words, table[:, start], start)
    data = json.dumps([list(words), table.tolist(), start, [BLUE, GLOW, STRONGEST]])
    data = data.replace("<", "\\u003c")  # no word can end the script
    return moving("look", _SCRIPT, data, still.png(), alt, round(still.width))


STRONGEST = 0.5  # of blue behind a word that is looked at alone: words keep the page's colour, light or dark

_SCRIPT = """(id, words, weights, start, [blue, glow, strongest]) => {
  const place = document.getElementById(id);
  if (!place) return;
  const edge = "color-mix(in srgb, currentColor 25%, transparent)";
  const make = (kind, style, text, into) => {
    const node = document.createElement(kind);
    node.style.cssText = style;
    node.textContent = text;
    into.append(node);
    return node;
  };
  const box = document.createElement("div");
  const heads = weights.map((_, h) => {
    const row = make("div", "display: flex; flex-wrap: wrap; align-items: center; margin: 6px 0", "", box);
    make("b", "width: 4.5em", "head " + (h + 1), row);
    return words.map((word, j) => {
      const style = "padding: 4px 7px; margin: 2px; border-radius: 5px; text-align: center; cursor: pointer";
      const cell = make("span", style, word, row);
      cell.tabIndex = 0;
      cell.onmouseenter = cell.onfocus = cell.onclick = () => show(j);
      return [cell, make("div", "font-size: 70%; height: 1.2em", "", cell)];
    });
  });
  const said = make("div", "margin-top: 4px", "", box);
  said.setAttribute("aria-live", "polite");
  const show = (i) => {
    heads.forEach((cells, h) => cells.forEach(([cell, share], j) => {
      const w = j > i ? 0 : weights[h][i][j];
      cell.style.background = blue + Math.round(255 * strongest * w).toString(16).padStart(2, "0");
      cell.style.boxShadow = "inset 0 " + -4 * w + "px " + blue;
      cell.style.opacity = j > i ? 0.5 : 1;
      cell.style.outline = j === i ? "2px solid " + glow : "1px solid " + edge;
      share.textContent = w < 0.05 ? "" : Math.round(100 * w) + "%";
    }));
    const top = weights.map((head) => head[i].indexOf(Math.max(...head[i])));
    said.textContent = "\\u201c" + words[i] + "\\u201d looks most at " +
      top.map((j, h) => "\\u201c" + words[j] + "\\u201d (head " + (h + 1) + ")").join(", ");
  };
  show(start);
  place.replaceChildren(box);
}"""


def _still(words: Sequence[str], rows: Any, start: int) -> Scene:
    """Boxes of words, a row for each head: the deeper the blue, the more is looked at."""
    wide = [9.0 * len(word) + 20 for word in words]
    lefts = 70 + np.cumsum([0, *wide[:-1]])
    shapes: list[Box | Text] = []
    for number, row in enumerate(rows):
        y = 30.0 + 52 * number
        shapes.append(Text(12, y, f"head {number + 1}", INK, anchor="start", bold=True))
        for j, (word, share, left, width) in enumerate(zip(words, row, lefts, wide)):
            x, ahead = left + width / 2, j > start
            edge, line = (GLOW, 2.4) if j == start else (GREY, 0.8)
            shapes.append(Box(x, y, width - 6, 26, 5, _shade(share), edge, line))
            shapes.append(Text(x, y, word, "#ffffff" if share > 0.55 else GREY if ahead else INK))
            if share >= 0.05:
                shapes.append(Text(x, y + 22, f"{100 * share:.0f}%", INK, 10))
    return Scene(round(lefts[-1] + wide[-1] + 10), 8 + 52 * len(rows), tuple(shapes))


def _shade(share: float) -> str:
    """White for 0, the blue of the pictures for 1."""
    blue = [int(BLUE[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(255 + (b - 255) * share):02x}" for b in blue)


def _said(words: Sequence[str], weights: Any, places: Sequence[int] | None = None) -> str:
    """The word that each of `places` looks at most, head by head."""
    heads = []
    for number, head in enumerate(weights, 1):
        pairs = zip(places or range(len(words)), head)
        heads.append(
            f"head {number}: "
            + ", ".join(f"{words[i]} at {words[int(row.argmax())]} ({row.max():.0%})" for i, row in pairs)
        )
    return "; ".join(heads)
