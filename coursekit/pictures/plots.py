"""Plots that several chapters share, and their colours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from minilib.draw import palette

INK, GREY, LIGHT = palette.INK, "#9aa5b1", "#d5dade"
ORANGE, RED = "#d98f00", "#c8102e"  # colour-blind readers can tell them apart; red is a mistake
(PALE, BLUE), (_, SAND), (_, GLOW) = palette.BLUE, palette.SAND, palette.GLOW
MINUS, PLUS = "#0072B2", "#D55E00"  # the two classes of the moons, and a path with its end
Ends = tuple[float, float]  # of an axis


def show_plot(x: str = "", y: str = "", legend: Any = "best") -> None:
    """End a plot: names for its axes, a legend at `legend` where there are labels."""
    plt.xlabel(x)
    plt.ylabel(y)
    if plt.gca().get_legend_handles_labels()[1]:
        plt.legend(loc=legend)
    plt.tight_layout()
    plt.show()


def _scatter(points: Iterable[Sequence[float]], labels: Iterable[float]) -> None:
    colours = [PLUS if label > 0 else MINUS for label in labels]
    x, y = zip(*points)
    plt.scatter(x, y, c=colours, edgecolors="white", s=40)


def draw_points(points: Iterable[Sequence[float]], labels: Iterable[float], title: str) -> None:
    """Points of a plane; orange where the label is positive, blue elsewhere."""
    plt.figure(figsize=(5, 3.2))
    _scatter(points, labels)
    plt.title(title)
    plt.show()


def draw_border(
    u: Any, v: Any, scores: Any, points: Iterable[Sequence[float]], labels: Iterable[float], title: str
) -> None:
    """The points, on a map of `scores`: pale within the margin of 1, a black line where they are 0."""
    plt.figure(figsize=(6, 4))
    colours = ["#9ecae1", "#deebf7", "#fee6ce", "#fdae6b"]
    plt.contourf(u, v, scores, levels=[-99, -1, 0, 1, 99], colors=colours)
    plt.contour(u, v, scores, levels=[0], colors="black")
    _scatter(points, labels)
    plt.title(title)
    plt.show()


def draw_walks(loss: Callable[[Any], Any], walks: Mapping[str, Any], x: Ends, y: Ends, levels: Any) -> None:
    """Each walk, (steps + 1, 2), on the contours of `loss`; `x` and `y` are the ends of the axes."""
    plt.figure(figsize=(7.5, 2.4))
    u, v = np.meshgrid(np.linspace(*x, 120), np.linspace(*y, 80))
    for place, (name, points) in enumerate(walks.items(), 1):
        plt.subplot(1, 3, place, title=name)
        plt.contour(u, v, loss((u, v)), levels=levels, colors="0.75", linewidths=0.7)
        plt.plot(*points.T, ".-", color=MINUS, markersize=3, linewidth=0.8)
        plt.plot(*points[-1], "o", color=PLUS, markersize=5)
        plt.axis((*x, *y))
    show_plot()


def draw_curves(curves: Mapping[str, Any], width: int = 20) -> None:
    """Each curve of losses as a running mean over `width` steps."""
    plt.figure(figsize=(6, 2.8))
    for name, losses in curves.items():
        plt.semilogy(np.convolve(losses, np.ones(width) / width, "valid"), label=name)
    show_plot("step", "loss")
