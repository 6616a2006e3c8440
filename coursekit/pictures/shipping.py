"""Pictures of part 8c: seconds of compiling, what a library asks of PyTorch, a wheel's name, streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.patches import Rectangle

from coursekit.pictures.described import Described, described, stepper
from coursekit.pictures.plots import BLUE, GREY, INK, ORANGE, PALE, RED


def draw_compiled(seconds: Mapping[str, float]) -> Described:
    """A bar for each way to compile a kernel, in seconds."""
    figure, ax = plt.subplots(figsize=(6.4, 0.5 * len(seconds) + 0.7), layout="constrained")
    bars = ax.barh([*seconds], [*seconds.values()], color=BLUE)
    ax.bar_label(bars, [f"{value:.1f} s" for value in seconds.values()], padding=4, color=INK)
    ax.invert_yaxis()
    ax.set(xlim=(0, 1.15 * max(seconds.values())), xlabel="seconds")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    told = ", ".join(f"{name} {value:.1f}" for name, value in seconds.items())
    return described(figure, f"Seconds to compile: {told}")


def draw_asked(names: Mapping[str, Sequence[str]]) -> Described:
    """What each library asks of PyTorch: how many names of C++ (they begin with _Z) and of C."""
    figure, ax = plt.subplots(figsize=(7.2, 0.95 * len(names) + 0.8), layout="constrained")
    told = []
    for row, (library, asked) in enumerate(names.items()):
        of_cpp = [name for name in asked if name.startswith("_Z")]
        of_c = [name for name in asked if not name.startswith("_Z")]
        ax.barh(row, len(of_cpp), color=ORANGE, height=0.45)
        ax.barh(row, len(of_c), left=len(of_cpp), color=BLUE, height=0.45)
        shown = (of_cpp or of_c)[0]
        shown = shown if len(shown) < 56 else f"{shown[:53]}..."
        ax.text(0, row + 0.42, f"{library}: {shown}", ha="left", va="center", fontsize=9, color=INK)
        ax.text(len(asked) + 0.5, row, f"{len(of_cpp)} of C++, {len(of_c)} of C", va="center", color=INK)
        told.append(f"{library} asks for {len(of_cpp)} names of C++ and {len(of_c)} of C")
    most = max(len(asked) for asked in names.values())
    ax.set(
        xlim=(0, 1.45 * most),
        ylim=(len(names) - 0.35, -0.5),
        yticks=[],
        xlabel="names that PyTorch must have",
    )
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    return described(figure, "; ".join(told))


def draw_tag(wheel: str, meanings: Sequence[str]) -> Described:
    """The five parts of a wheel's file name, each with what it says."""
    parts = wheel.removesuffix(".whl").split("-")
    figure, ax = plt.subplots(figsize=(7.6, 1.7), layout="constrained")
    at = 0.0
    for part, meaning in zip(parts, meanings):
        wide = max(len(part) * 0.135, max(map(len, meaning.split("\n"))) * 0.1) + 0.3
        ax.add_patch(Rectangle((at, 0.6), wide, 0.5, facecolor=PALE, edgecolor=INK))
        ax.text(
            at + wide / 2, 0.85, part, ha="center", va="center", family="monospace", fontsize=10, color=INK
        )
        ax.text(at + wide / 2, 0.5, meaning, ha="center", va="top", fontsize=9, color=BLUE)
        at += wide + 0.12
    ax.set(xlim=(-0.05, at), ylim=(-0.05, 1.2))
    ax.axis("off")
    said = "; ".join(f"{part}: {meaning}" for part, meaning in zip(parts, meanings)).replace("\n", " ")
    return described(figure, f"The name of the wheel, part by part. {said}")


NUMBERS, WRITTEN, READING = 8, (0.4, 5.0), 3.6  # of x; from when to when they are written; how long to read


def draw_streams() -> Described:
    """A drawing, no measurement: a kernel on another stream than its input's, first without a wait.

    The slider moves the time: which numbers of x are written, and which softmax has read too early.
    """
    return stepper([_at_time(now) for now in range(10)], "time", "time at which both streams are looked at")


def _at_time(now: float) -> Described:
    figure, axes = plt.subplots(2, 1, figsize=(7.6, 4.4), sharex=True, layout="constrained")
    told = []
    cases = (("another stream, no order", 1.2), ("the other stream waits for an event", 5.2))
    for ax, (title, start) in zip(axes, cases):
        waits = start > WRITTEN[1]
        for row, name in enumerate(("PyTorch's current stream", "the default stream")):
            ax.text(-0.1, 1 - row, name, ha="right", va="center", fontsize=9, color=INK)
            ax.plot([0, 10], [1 - row, 1 - row], color=GREY, linewidth=1, zorder=0)
        _box(ax, WRITTEN[0], WRITTEN[1] - WRITTEN[0], 1, "writes x", PALE)
        _box(ax, start, READING, 0, "softmax reads x", BLUE if waits else ORANGE)
        if waits:
            ax.annotate("", (start, 0.25), (WRITTEN[1], 0.75), arrowprops={"arrowstyle": "->", "color": INK})
            ax.text(5.25, 0.5, "record, wait", ha="left", va="center", fontsize=9, color=INK)
        ax.axvline(now, ymin=0.3, color=INK, linewidth=1.5)
        written, read, early = numbers_by(now, start)
        for k in range(NUMBERS):
            colour = RED if k in early else BLUE if k in read else PALE if k in written else "white"
            ax.add_patch(Rectangle((0.4 + 0.5 * k, -1.2), 0.45, 0.36, facecolor=colour, edgecolor=GREY))
        ax.text(-0.1, -1.02, "numbers of x", ha="right", va="center", fontsize=9, color=INK)
        counted = f"{len(written)} written, {len(read)} read, {len(early)} of them too early"
        ax.text(4.7, -1.02, counted, ha="left", va="center", fontsize=9, color=RED if early else INK)
        ax.set(xlim=(-2.9, 10), ylim=(-1.3, 1.5), title=title)
        ax.axis("off")
        told.append(f"{title}: {counted}")
    return described(
        figure,
        "A drawing. Above: on PyTorch's current stream a kernel writes x; on the default stream softmax "
        "reads x meanwhile, a race. Below: the other stream waits for an event recorded after the write. "
        f"At time {now:g}, {'; '.join(told)}",
    )


def numbers_by(now: float, start: float) -> tuple[list[int], list[int], list[int]]:
    """The numbers of x that are written by a time, those read from `start` on, those too early."""
    begin, end = WRITTEN
    written_at = [begin + (end - begin) * (k + 1) / NUMBERS for k in range(NUMBERS)]
    read_at = [start + READING * (k + 0.5) / NUMBERS for k in range(NUMBERS)]
    read = [k for k in range(NUMBERS) if read_at[k] <= now]
    written = [k for k in range(NUMBERS) if written_at[k] <= now]
    return written, read, [k for k in read if read_at[k] < written_at[k]]


def _box(ax: Any, start: float, wide: float, row: int, text: str, colour: str) -> None:
    ax.add_patch(Rectangle((start, row - 0.22), wide, 0.44, facecolor=colour, edgecolor=INK, zorder=2))
    ink = INK if colour == PALE else "white"
    ax.text(start + wide / 2, row, text, ha="center", va="center", fontsize=9, color=ink, zorder=3)
