"""Pictures of chapter 02: what broadcasting repeats, where gradients go, and who waits in the heap."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from heapq import heappop, heappush
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle

from coursekit.pictures.plots import BLUE, GLOW, GREY, INK, PALE, SAND

DARK = "#56616c"
ARROW = {"arrowstyle": "->", "color": GLOW}
LENGTHS = {1.2: "n", 2.0: "k", 3.0: "m"}  # of the sides of matrices


def draw_broadcast(column: Any, row: Any) -> None:
    """A column times a row; the numbers that exist nowhere in memory are pale."""
    places = list(np.ndindex(len(column), len(row)))
    _, ax = plt.subplots(figsize=(8, 2))
    table = column * row
    _draw_table(ax, np.broadcast_to(column, table.shape), (0, 0), SAND, {p for p in places if p[1]})
    _draw_table(ax, np.broadcast_to(row, table.shape), (5, 0), BLUE, {p for p in places if p[0]})
    _draw_table(ax, table, (10, 0), DARK)
    for sign, at in (("*", 4.5), ("=", 9.5)):
        ax.text(at, 1.5, sign, ha="center", va="center", fontsize=14)
    _blank(ax, 14.2, 3.1)
    plt.show()


def draw_sums(row_bar: Any, column_bar: Any) -> None:
    """Tables (3, 4) of shares: the row's, added up downwards, and the column's, added up to the right."""
    _, ax = plt.subplots(figsize=(5, 3))
    _draw_table(ax, row_bar, (0, 0), DARK)
    _draw_table(ax, row_bar.sum(axis=0, keepdims=True), (0, 4), BLUE)
    for j in range(4):
        ax.annotate("", (j + 0.5, 3.95), (j + 0.5, 3.05), arrowprops=ARROW)
    _draw_table(ax, column_bar, (6, 0), DARK, size=7)
    _draw_table(ax, column_bar.sum(axis=1, keepdims=True), (11, 0), SAND, size=7)
    for i in range(3):
        ax.annotate("", (10.95, i + 0.5), (10.05, i + 0.5), arrowprops=ARROW)
    for text, at in (("grad * column", 2), ("grad * row", 8), ("sum", 11.5)):
        ax.text(at, -0.3, text, ha="center", fontsize=8)
    ax.text(-0.3, 4.5, "sum", ha="right", va="center", fontsize=8)
    _blank(ax, 12.2, 5.2)
    plt.show()


def _draw_table(
    ax: Any, table: Any, at: tuple[int, int], colour: str, faded: Collection[object] = (), size: int = 9
) -> None:
    """A table of numbers with its upper left corner at `at`; `faded` cells are pale."""
    for i, j in np.ndindex(table.shape):
        pale = (i, j) in faded
        alpha = 0.08 if pale else 0.25
        ax.add_patch(Rectangle((at[0] + j, at[1] + i), 1, 1, fc=colour, ec="white", alpha=alpha))
        place = at[0] + j + 0.5, at[1] + i + 0.5
        colour_of_text = GREY if pale else INK
        ax.text(*place, f"{table[i, j]:g}", ha="center", va="center", fontsize=size, color=colour_of_text)


def _blank(ax: Any, width: float, height: float) -> None:
    ax.set(xlim=(-0.2, width), ylim=(height, -0.6), aspect="equal")
    ax.axis("off")


def draw_products() -> None:
    """The product of two matrices and its two gradients, as rectangles to scale."""
    n, k, m = LENGTHS
    _, panels = plt.subplots(1, 3, figsize=(11, 1.8))
    products = (
        (("$X$", (n, k), SAND), ("$Y$", (k, m), BLUE), ("$C$", (n, m), GREY)),
        ((r"$\bar C$", (n, m), GREY), ("$Y^T$", (m, k), BLUE), (r"$\bar X$", (n, k), SAND)),
        (("$X^T$", (k, n), SAND), (r"$\bar C$", (n, m), GREY), (r"$\bar Y$", (k, m), BLUE)),
    )
    for ax, product in zip(panels, products):
        _draw_product(ax, product)
    plt.show()


def _draw_product(ax: Any, matrices: Sequence[tuple[str, tuple[float, float], str]]) -> None:
    left = 0.0
    for (name, (height, width), colour), sign in zip(matrices, ("", "", "=")):
        left += 1.6 if sign else 0.9
        ax.text(left - 1.05, 2, sign, ha="center", va="center", fontsize=12)
        ax.add_patch(Rectangle((left, 2 - height / 2), width, height, fc=colour, ec=INK, alpha=0.35))
        ax.text(left + width / 2, 2, name, ha="center", va="center", fontsize=10)
        ax.text(left + width / 2, 2 - height / 2 - 0.15, LENGTHS[width], ha="center", fontsize=9)
        ax.text(left - 0.12, 2, LENGTHS[height], ha="right", va="center", fontsize=9)
        left += width
    _blank(ax, 11.5, 4)


def draw_scattered(index: Any, shares: Any) -> None:
    """From each row that was picked an arrow to the row of the table that its gradient goes to."""
    _, ax = plt.subplots(figsize=(5, 2.6))
    for place, source in enumerate(index):
        ax.annotate("", (0.55, source), (3.05, place * 0.75), arrowprops=ARROW)
    for row, share in enumerate(shares):
        box = {"boxstyle": "round,pad=0.35", "fc": "#fff6e0", "ec": SAND}
        ax.text(0.1, row, f"table[{row}]\ngets {share:g}", ha="center", va="center", fontsize=8, bbox=box)
    for place, source in enumerate(index):
        text, box = (
            f"picked[{place}] = table[{source}]",
            {"boxstyle": "round,pad=0.3", "fc": PALE, "ec": BLUE},
        )
        ax.text(3.9, place * 0.75, text, ha="center", va="center", fontsize=8, bbox=box)
    ax.set(xlim=(-0.6, 5), ylim=(3.5, -0.5))
    ax.axis("off")
    plt.show()


def draw_heap(root: Any, names: Sequence[str]) -> None:
    """Backward from the operation `root`, step by step: who speaks, and who waits in the heap then.

    `names` are those of the operations, the oldest first.
    """
    order = list(_steps(root))
    start = min(f.serial for f, _ in order)
    plt.figure(figsize=(5, 3))
    for step, (f, waiting) in enumerate(order):
        columns = [g.serial - start for g in waiting]
        plt.scatter(columns, [step] * len(columns), 500, PALE, edgecolors=BLUE)
        plt.scatter(f.serial - start, step, 500, GLOW)
    plt.xticks(range(len(names)), names)
    plt.yticks(range(len(order)), [f"step {k}" for k in range(len(order))])
    plt.axis((-0.5, len(names) - 0.5, len(order) - 0.5, -0.5))
    plt.title("Orange speaks, blue waits in the heap")
    plt.show()


def _steps(root: Any) -> Iterator[tuple[Any, list[Any]]]:
    queue = [(-root.serial, root)]
    met = {root}
    while queue:
        waiting = [f for _, f in queue]
        f = heappop(queue)[1]
        yield f, waiting
        for node in f.inputs:
            if hasattr(node, "forward") and node not in met:  # an operation, not a leaf
                met.add(node)
                heappush(queue, (-node.serial, node))
