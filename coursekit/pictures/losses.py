"""Chapter 03a: how hard a loss pulls at each score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from coursekit.pictures.described import Described, drawn, stepper
from coursekit.pictures.plots import BLUE, GREY, ORANGE


def draw_pulls(scores: Sequence[float], target: int, steps: Sequence[float]) -> Described:
    """Probabilities of `scores` as bars, a step down cross-entropy as arrows; the target's score is moved."""
    frames = [_pulled(scores, target, value) for value in steps]
    return stepper(frames, "step", "score of the right class", still=frames[len(frames) // 3])


def _pulled(scores: Sequence[float], target: int, value: float) -> Described:
    x: Any = np.array(scores, float)
    x[target] = value
    p: Any = np.exp(x - x.max())
    p /= p.sum()
    pull = -p.copy()
    pull[target] += 1
    figure = Figure(figsize=(6, 2.8), layout="constrained")
    ax = figure.subplots()
    colours = [ORANGE if i == target else BLUE for i in range(len(x))]
    ax.bar(range(len(x)), p, color=colours, alpha=0.35, width=0.5)
    for i, (height, change) in enumerate(zip(p, pull)):
        ax.annotate(
            "",
            (i, height + change),
            (i, height),
            arrowprops={"arrowstyle": "-|>", "color": colours[i], "lw": 2.2, "shrinkA": 0, "shrinkB": 0},
        )
        ax.text(i + 0.3, height, f"{change:+.2f}", fontsize=9, va="center", color=colours[i])
    ax.axhline(0, color=GREY, lw=0.8)
    names = [f"score {v:g}" + ("\nright class" if i == target else "") for i, v in enumerate(x)]
    ax.set(xticks=range(len(x)), xlim=(-0.5, len(x) - 0.2), ylim=(-0.1, 1.15), ylabel="probability")
    ax.set_xticklabels(names, fontsize=9)
    loss = -np.log(p[target])
    said = f"loss {loss:.2f}: the right class has {p[target]:.0%}, and is pulled by {pull[target]:.2f}"
    ax.set_title(said, fontsize=10)
    return Described(drawn(figure, 80, None), said)
