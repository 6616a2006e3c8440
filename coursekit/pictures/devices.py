"""Pictures of tensors on a device: who ran an operation, where a kernel reads, how many bytes it moves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt

from coursekit.pictures.described import Described, described, stepper
from coursekit.pictures.plots import BLUE, GREY, INK, ORANGE, PALE

# Who ran it


def draw_who(result: Any) -> Described:
    """The operations that lead to a tensor, each with who ran it: a pair of kernels, or the array module."""
    steps: list[tuple[str, str]] = []
    f = result.function
    while hasattr(f, "saved"):
        pair = vars(f).get("pair")
        module = getattr(f.xp, "__name__", "cp").rpartition(".")[2]
        steps.insert(0, (f.name, type(pair).__name__ if pair else module))
        f = next((one for one in f.inputs if hasattr(one, "saved")), None)
    figure, ax = plt.subplots(figsize=(1.75 * len(steps) + 0.4, 1.5), layout="constrained")
    for i, (name, who) in enumerate(steps):
        ours = who[0].isupper()
        box = {"boxstyle": "round,pad=0.5", "facecolor": BLUE if ours else PALE, "edgecolor": INK}
        ax.text(i, 0, name, ha="center", va="center", color="white" if ours else INK, bbox=box)
        ax.text(i, -0.75, who, ha="center", va="center", color=BLUE if ours else INK, fontsize=9)
        if i:
            ax.annotate("", (i - 0.36, 0), (i - 0.64, 0), arrowprops={"arrowstyle": "->", "color": INK})
    ax.set(xlim=(-0.6, len(steps) - 0.4), ylim=(-1.1, 0.6))
    ax.axis("off")
    return described(figure, "Operations in a row: " + ", ".join(f"{name} by {who}" for name, who in steps))


# Where it reads


def draw_places(steps: Mapping[str, Sequence[int]], shape: Sequence[int]) -> Described:
    """From each number of a result of `shape` down to where it is read, for the steps along each axis.

    Move through the numbers: the newest is worked out below.
    """
    count = math.prod(shape)
    told = {name: [place(i, shape, step) for i in range(count)] for name, step in steps.items()}
    frames = [_places_until(i, steps, shape) for i in range(count)]
    alt = f"Places where numbers 0 to {count - 1} are read; " + "; ".join(
        f"{name}: {', '.join(map(str, places))}" for name, places in told.items()
    )
    frames[-1] = replace(frames[-1], alt=alt)
    return stepper(frames, "i", "number of the result")


def _places_until(last: int, steps: Mapping[str, Sequence[int]], shape: Sequence[int]) -> Described:
    figure, axes = plt.subplots(1, len(steps), figsize=(3.2 * len(steps), 2.2), layout="constrained")
    count = math.prod(shape)
    for ax, (name, step) in zip(axes, steps.items()):
        places = [place(i, shape, step) for i in range(count)]
        _row(ax, 1, range(count), BLUE)
        _row(ax, 0, range(max(places) + 1), ORANGE)
        for i, at in enumerate(places[: last + 1]):
            arrow = {"arrowstyle": "->", "color": INK if i == last else GREY, "lw": 2 if i == last else 1}
            ax.annotate("", (at, 0.22), (i, 0.78), arrowprops=arrow)
        ax.text((count - 1) / 2, -0.62, _worked_out(last, shape, step), ha="center", color=INK)
        ax.set(xlim=(-0.6, count - 0.4), ylim=(-0.75, 1.35), title=f"{name}: steps {tuple(step)}")
        ax.axis("off")
    axes[0].text(-0.75, 1, "i", ha="right", va="center", color=BLUE)
    axes[0].text(-0.75, 0, "place", ha="right", va="center", color=INK)
    return described(figure, f"numbers 0 to {last}")


def _row(ax: Any, y: int, marks: Sequence[int], colour: str) -> None:
    for x in marks:
        box = {"boxstyle": "square,pad=0.35", "facecolor": colour, "edgecolor": "none"}
        ax.text(x, y, x, ha="center", va="center", color="white", fontsize=9, bbox=box)


def coordinates(i: int, shape: Sequence[int]) -> list[int]:
    """The coordinates of number i of an array of `shape`: the last runs fastest."""
    found: list[int] = []
    for size in reversed(shape):
        found.insert(0, i % size)
        i //= size
    return found


def place(i: int, shape: Sequence[int], step: Sequence[int]) -> int:
    """Where number i of a result is read: its coordinates times the steps."""
    return sum(at * s for at, s in zip(coordinates(i, shape), step))


def _worked_out(i: int, shape: Sequence[int], step: Sequence[int]) -> str:
    products = " + ".join(f"{at} · {s}" for at, s in zip(coordinates(i, shape), step))
    return f"i = {i}: {products} = {place(i, shape, step)}"


# What it moves


def draw_moved(kernels: Mapping[str, Sequence[Any]]) -> Described:
    """Bytes that launches read and write, by their reports; a bar for each entry, a piece for each launch."""
    figure, ax = plt.subplots(figsize=(6.4, 0.9 + 0.55 * len(kernels)), layout="constrained")
    said = []
    for y, (name, reports) in enumerate(kernels.items()):
        left = 0.0
        for report in reports:
            sectors = report.global_load_sectors, report.global_store_sectors
            for count, colour in zip(sectors, (BLUE, ORANGE)):
                ax.barh(y, count * 32 / 1024, left=left, color=colour, edgecolor="white")
                left += count * 32 / 1024
        said.append(f"{name}: {left:.0f} KiB")
    ax.set_yticks(range(len(kernels)), [*kernels])
    ax.invert_yaxis()
    ax.set_xlabel("KiB moved")
    for colour, label in ((BLUE, "read"), (ORANGE, "written")):
        ax.bar(0, 0, color=colour, label=label)
    ax.legend(loc="lower right")
    return described(figure, "Bytes that kernels move. " + "; ".join(said))
