"""Chapter 03b: a filter that moves over an image, and the filters that a network has found."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from coursekit.pictures.described import Described, described, drawn, stepper
from coursekit.pictures.plots import GREY, INK, PLUS


def draw_window(image: Any, weights: Any, still: int = 9) -> Described:
    """A filter at each place of an image: its window, nine products, the map of their sums."""
    sums = np.lib.stride_tricks.sliding_window_view(image, weights.shape)
    sums = (sums * weights).sum((2, 3))
    frames = [_look(image, weights, sums, place) for place in np.ndindex(*sums.shape)]
    return stepper(frames, "place", "place of the window", still=frames[still], play=True)


def _look(image: Any, weights: Any, sums: Any, place: tuple[int, ...]) -> Described:
    (r, c), (h, w) = place, weights.shape
    seen = image[r : r + h, c : c + w]
    figure = Figure(figsize=(7.6, 2.75))  # placed by hand: 36 layouts would take seconds
    margins = {"left": 0.01, "right": 0.99, "bottom": 0.02, "top": 0.9, "wspace": 0.06}
    left, middle, right = figure.subplots(1, 3, gridspec_kw=margins)
    left.imshow(image, cmap="Greys", vmin=0, vmax=1)
    for i, j in np.ndindex(h, w):
        left.add_patch(Rectangle((c + j - 0.5, r + i - 0.5), 1, 1, fill=False, ec=PLUS, lw=0.8))
        said = f"{seen[i, j]:.1f} · {weights[i, j]:g}"
        middle.text(j, i, said, ha="center", va="center", fontsize=9, color=INK)
    left.add_patch(Rectangle((c - 0.5, r - 0.5), w, h, fill=False, ec=PLUS, lw=2.5))
    middle.imshow(seen * weights, cmap="PuOr", vmin=-4, vmax=4)
    shown = np.where(np.arange(sums.size).reshape(sums.shape) <= r * sums.shape[1] + c, sums, np.nan)
    right.imshow(shown, cmap="PuOr", vmin=-4, vmax=4)
    right.add_patch(Rectangle((c - 0.5, r - 0.5), 1, 1, fill=False, ec=PLUS, lw=2.5))
    names = "the image", f"nine products, sum {sums[place]:+.2f}", "the map so far"
    for ax, name in zip((left, middle, right), names):
        ax.set_title(name, fontsize=10)
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_color(GREY)
    said = f"the window at row {r}, column {c}: nine products, whose sum {sums[place]:+.2f} goes into the map"
    return Described(drawn(figure, 84, None), said)


def draw_learned(weights: Any, image: Any, maps: Any) -> Described:
    """Filters (n, 3, 3) that were learned, above the maps (n, H, W) that they make of an image."""
    n = len(weights)
    figure = Figure(figsize=(8, 2.6), layout="constrained")
    axes = figure.subplots(2, n + 1)
    axes[0, 0].axis("off")
    axes[1, 0].imshow(image, cmap="Greys")
    axes[1, 0].set_title("image", fontsize=9)
    for k in range(n):
        axes[0, k + 1].imshow(weights[k], cmap="PuOr", vmin=-abs(weights).max(), vmax=abs(weights).max())
        axes[1, k + 1].imshow(maps[k], cmap="PuOr", vmin=-abs(maps).max(), vmax=abs(maps).max())
    for ax in axes.flat:
        ax.set(xticks=[], yticks=[])
    said = f"Above, {n} filters of 3 x 3 weights that a network found. Below, an image and the map of each."
    return described(figure, said, dpi=80)
