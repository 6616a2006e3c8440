"""Pictures of what operators owe: numbers read at the wrong places, and who is condemned by which test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle

from coursekit.pictures.described import Described, described, stepper
from coursekit.pictures.plots import BLUE, GREY, INK, LIGHT, PALE, RED

# Numbers at wrong places


def draw_strides(layouts: Mapping[str, Any]) -> Described:
    """A gradient in several layouts, under a kernel whose thread i reads number i of memory: a frame each."""
    return stepper(
        [_frame(name, array) for name, array in layouts.items()], "layout", "layout of the gradient"
    )


def places(array: Any) -> tuple[list[int], int]:
    """Where in memory each number of a view lies, row by row, and how many numbers that memory holds."""
    steps = [step // array.itemsize for step in array.strides]
    found = [sum(i * step for i, step in zip(index, steps)) for index in np.ndindex(array.shape)]
    return found, max(found) + 1


def _frame(name: str, array: Any) -> Described:
    found, room = places(array)
    threads = len(found)
    figure, ax = plt.subplots(figsize=(0.72 * max(room, threads) + 1.6, 2.7), layout="constrained")
    wide, tall = 0.9, 0.8
    owners = {
        place: ",".join(map(str, index)) for index, place in reversed([*zip(np.ndindex(array.shape), found)])
    }
    for place in range(max(room, threads)):
        inside = place < room
        ax.add_patch(
            Rectangle(
                (place - wide / 2, 0), wide, tall, fc=PALE if place in owners else "white",
                ec=GREY if inside else RED, ls="-" if inside else ":",
            )
        )  # fmt: skip
        label = owners.get(place, "" if inside else "not ours")
        ax.text(place, tall / 2, label, ha="center", va="center", fontsize=9, color=INK if inside else RED)
    right = 0
    for thread, place in enumerate(found):
        fits = thread == place
        right += fits
        colour = BLUE if fits else RED
        ax.annotate("", (thread, 0.86), (thread, 1.6), arrowprops={"arrowstyle": "->", "color": colour})
        ax.text(thread, 1.75, f"{thread}", ha="center", va="center", color=colour, fontsize=10)
    ax.text(-0.75, 1.75, "thread", ha="right", va="center", color=INK)
    ax.text(-0.75, tall / 2, "memory", ha="right", va="center", color=INK)
    steps = tuple(step // array.itemsize for step in array.strides)
    ax.set_title(f"{name}: strides {steps}, {right} of {threads} threads read their number", color=INK)
    ax.set(xlim=(-2.1, max(room, threads) - 0.3), ylim=(-0.15, 2.05))
    ax.axis("off")
    outside = sum(i >= room for i in range(threads))
    return described(
        figure,
        f"{name}, strides {steps}: {threads} threads read the first places of a memory of {room} numbers; "
        f"{right} read their own, {threads - right - outside} another, {outside} beyond the end",
    )


# Two ways to read one memory


def draw_told(array: Any, told: Sequence[int]) -> Described:
    """A matrix as it is, and as one sees it who reads its memory with the strides that were `told`."""
    memory = np.lib.stride_tricks.as_strided(array, (array.size,), (array.itemsize,))
    wrong = np.lib.stride_tricks.as_strided(memory, array.shape, [step * array.itemsize for step in told])
    figure, axes = plt.subplots(1, 2, figsize=(6.4, 2.1), layout="constrained")
    for ax, (title, matrix) in zip(axes, {"the result": array, "as the fake tells it": wrong}.items()):
        for (i, j), value in np.ndenumerate(matrix):
            same = value == array[i, j]
            ax.add_patch(Rectangle((j, -i), 1, -1, fc="white", ec=LIGHT))
            ax.text(j + 0.5, -i - 0.5, f"{value:g}", ha="center", va="center", color=INK if same else RED)
        ax.set(title=title, xlim=(-0.05, matrix.shape[1] + 0.05), ylim=(-matrix.shape[0] - 0.05, 0.05))
        ax.set_aspect("equal")
        ax.axis("off")
    alt = f"Two matrices. The result: {array.tolist()}; as the fake tells it: {wrong.tolist()}"
    return described(figure, alt)


# Verdicts


def draw_verdicts(found: Mapping[str, Mapping[str, Any]]) -> Described:
    """Operators by tests, as `opcheck` returns them: a cross where a test condemns."""
    tests = list(next(iter(found.values())))
    figure, ax = plt.subplots(figsize=(7.4, 0.6 + 0.42 * len(found)), layout="constrained")
    told = []
    for y, (name, verdicts) in enumerate(found.items()):
        failed = [test for test in tests if verdicts[test] != "SUCCESS"]
        told.append(f"{name}: {', '.join(failed) or 'right'}")
        for x, test in enumerate(tests):
            bad = test in failed
            ax.text(
                x, y, "✗" if bad else "✓", ha="center", va="center", fontsize=15, color=RED if bad else BLUE
            )
    ax.set(xlim=(-0.5, len(tests) - 0.5), ylim=(len(found) - 0.5, -0.5))
    ax.set_xticks(range(len(tests)), [test.removeprefix("test_").replace("_", "\n") for test in tests])
    ax.set_yticks(range(len(found)), list(found))
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    for side in ax.spines.values():
        side.set_visible(False)
    return described(figure, "Which test condemns which operator. " + "; ".join(told))
