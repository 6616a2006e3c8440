"""Pictures of products of matrices: what a thread keeps in registers, who owns what, which limit holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.patches import Rectangle

from coursekit.pictures.described import Described, described, stepper
from coursekit.pictures.plots import BLUE, GREY, INK, LIGHT, ORANGE, PALE

# What a thread reads and makes


def draw_registers(sides: Sequence[int] = (1, 2, 4, 8)) -> Described:
    """For a step along k: what a thread reads, and its results, for several sides of its tile."""
    frames = [_registers([side], max(sides)) for side in sides]
    about = "side of the register tile: " + ", ".join(map(str, sides))
    return stepper(frames, "larger register tile", about, _registers(sides, max(sides)))


def _registers(sides: Sequence[int], most: int) -> Described:
    figure, axes = plt.subplots(
        1, len(sides), figsize=(2.9 * len(sides), 3.3), squeeze=False, layout="constrained"
    )
    told = []
    for ax, side in zip(axes[0], sides):
        for i in range(side):
            _box(ax, -1.5, i, ORANGE)
            _box(ax, i, -1.5, BLUE)
            for j in range(side):
                _box(ax, j, i, PALE)
        words, products = 2 * side, side * side
        ax.text(-1.04, -0.15, "a", color=ORANGE, ha="center", va="bottom")
        ax.text(-0.2, -1.04, "b", color=BLUE, ha="right", va="center")
        ax.set(xlim=(-1.7, most + 0.2), ylim=(most + 0.2, -1.7), aspect="equal")
        ax.set_title(
            f"{words} words, {products} FMA:\n{words / products:g} words each", fontsize=11, color=INK
        )
        ax.axis("off")
        told.append(f"{side} of a and {side} of b make {products} products, {words / products:g} words each")
    return described(figure, "What a thread reads in a step along k, and what it makes: " + "; ".join(told))


def _box(ax: Any, x: float, y: float, colour: str) -> None:
    ax.add_patch(Rectangle((x, y), 0.92, 0.92, facecolor=colour, edgecolor=GREY, lw=0.6))


# Who owns which columns


def draw_columns(owners: Mapping[str, Sequence[int]], shown: Sequence[int] = (0, 1)) -> Described:
    """Which thread owns each column of a tile, for several ways: the columns of `shown` are coloured."""
    figure, axes = plt.subplots(
        len(owners), 1, figsize=(8.5, 0.95 * len(owners)), squeeze=False, layout="constrained"
    )
    told = []
    for ax, (name, owner) in zip(axes[:, 0], owners.items()):
        for column, thread in enumerate(owner):
            colour = dict(zip(shown, (BLUE, ORANGE))).get(thread, LIGHT)
            ax.add_patch(Rectangle((column, 0), 0.9, 1, facecolor=colour))
        ax.set(
            xlim=(-0.5, len(owner)),
            ylim=(0, 1),
            yticks=[],
            xticks=[i + 0.45 for i in range(0, len(owner), 16)],
        )
        ax.set_xticklabels(range(0, len(owner), 16))
        ax.set_title(name, fontsize=10, loc="left")
        ax.tick_params(length=0)
        for side in ax.spines.values():
            side.set_visible(False)
        places = {thread: [c for c, one in enumerate(owner) if one == thread] for thread in shown}
        told.append(f"{name}: " + ", ".join(f"thread {t} has {p}" for t, p in places.items()))
    return described(figure, "Columns of a tile by their thread. " + "; ".join(told))


# Which limit holds


def draw_limits(shares: Mapping[str, Sequence[float]]) -> Described:
    """The share of the arithmetic that device memory feeds, and that shared memory feeds, for each step."""
    figure, ax = plt.subplots(figsize=(7.2, 0.7 + 0.6 * len(shares)), layout="constrained")
    for y, pair in enumerate(shares.values()):
        for share, colour, shift in zip(pair, (BLUE, ORANGE), (-0.19, 0.19)):
            ax.barh(y + shift, min(share, 1.25), height=0.36, color=colour)
            told = f"{100 * share:.3g}%" + (" →" if share > 1.25 else "")
            ax.text(min(share, 1.25) + 0.01, y + shift, told, va="center", fontsize=9)
    for colour, label in ((BLUE, "device memory"), (ORANGE, "shared memory")):
        ax.bar(0, 0, color=colour, label=f"fed by {label}")
    ax.axvline(1, color=INK, ls=":")
    ax.set(yticks=range(len(shares)), yticklabels=[*shares], xlim=(0, 1.45), xticks=[0, 0.25, 0.5, 0.75, 1])
    ax.set_xticklabels(["0", "25%", "50%", "75%", "all of the arithmetic"])
    ax.invert_yaxis()
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False)
    alt = "; ".join(
        f"{name}: {100 * a:.3g}% by device memory, {100 * b:.3g}% by shared memory"
        for name, (a, b) in shares.items()
    )
    return described(figure, f"How much of the arithmetic is fed. {alt}")
