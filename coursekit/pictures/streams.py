"""Pictures of streams: pulses on a conveyor with their buffer, seams, who waits for whom, what is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle

from coursekit.pictures.described import Described, described, stepper
from coursekit.pictures.plots import BLUE, GREY, INK, LIGHT, ORANGE, PALE, RED

# The conveyor


def draw_conveyor(frames: int, pulse: int, span: int, before: int) -> Described:
    """A window of `span` frames, `before` of them padding, over a stream in pulses: a step for each run."""
    late = max(span - 1 - before, 0)
    runs = range(-(-(frames + late) // pulse))
    stills = [_conveyor(frames, pulse, span, before, late, turn) for turn in runs]
    return stepper(stills, "run", "the run of the model", still=stills[min(1, len(stills) - 1)])


def _conveyor(frames: int, pulse: int, span: int, before: int, late: int, turn: int) -> Described:
    start, kept = turn * pulse, span - 1
    figure, ax = plt.subplots(figsize=(8.6, 2.9), layout="constrained")
    seen = range(start - kept, start)
    now = range(start, start + pulse)
    for i in range(-kept, frames + late):
        colour = BLUE if i in now else PALE if i in seen else "white"
        inside = 0 <= i < frames
        style = "-" if inside else ":"
        ax.add_patch(Rectangle((i - 0.45, 1.6), 0.9, 0.8, fc=colour, ec=GREY, ls=style))
        ax.text(
            i,
            2.0,
            str(i) if inside else "0",
            ha="center",
            va="center",
            fontsize=9,
            color="white" if i in now else INK,
        )
    made = range(start - late, start - late + pulse)
    for i in range(-late, frames):
        colour = ORANGE if i in made and i >= 0 else "white"
        style = "-" if i >= 0 else ":"
        ax.add_patch(Rectangle((i - 0.45, 0), 0.9, 0.8, fc=colour, ec=GREY, ls=style))
        known = i < made.stop
        ax.text(
            i,
            0.4,
            "-" if i < 0 else f"y{i}" if known else "",
            ha="center",
            va="center",
            fontsize=9,
            color=INK,
        )
    for i in made:
        if 0 <= i < frames:
            left, right = i - before, i - before + span - 1
            ax.plot([left - 0.4, right + 0.4], [1.42 - 0.09 * (i % 4)] * 2, color=ORANGE, lw=2)
    ax.text(-kept - 0.8, 2.0, "comes in", ha="right", va="center", color=INK)
    ax.text(-kept - 0.8, 0.4, "goes out", ha="right", va="center", color=INK)
    ax.set_title(f"run {turn}: blue the pulse, pale the buffer, orange what goes out", color=INK, fontsize=11)
    ax.set(xlim=(-kept - 3.6, frames + late), ylim=(-0.2, 2.6))
    ax.axis("off")
    told = [str(i) for i in made if 0 <= i < frames]
    garbage = sum(i < 0 for i in made)
    return described(
        figure,
        f"Run {turn}: frames {start} to {start + pulse - 1} come in, the buffer holds the {kept} before; "
        f"out go {', '.join('y' + one for one in told) or 'none'}"
        + (f", behind {garbage} that are none of the stream's" if garbage else ""),
    )


# Seams


def draw_seams(whole: Any, pieces: Any, pulse: int) -> Described:
    """A result of the whole stream, and that of pieces, each for itself; red where they differ."""
    figure, ax = plt.subplots(figsize=(7.4, 2.6), layout="constrained")
    wrong = np.flatnonzero(~np.isclose(whole, pieces))
    for edge in range(0, len(whole) + 1, pulse):
        ax.axvline(edge - 0.5, color=LIGHT, lw=1)
    ax.plot(whole, color=BLUE, label="whole", lw=1.6)
    ax.plot(pieces, color=GREY, ls="--", label="in pieces", lw=1.2)
    ax.plot(wrong, np.asarray(pieces)[wrong], "o", color=RED, ms=5, label="wrong")
    ax.set(xlabel="frame", ylabel="result")
    ax.legend(frameon=False, ncols=3, loc="lower right", bbox_to_anchor=(1, 1))
    listed = ", ".join(map(str, wrong[:12]))
    return described(
        figure,
        f"{len(wrong)} of {len(whole)} frames are wrong where pieces begin and end: {listed} and so on",
    )


# Who waits


def draw_late(edges: Mapping[str, int], frames: int) -> Described:
    """A row for each edge of a network, with how late it is: which frame passes at which time."""
    rows, latest = list(edges.items()), max(edges.values())
    figure, ax = plt.subplots(figsize=(7.6, 0.6 + 0.55 * len(rows)), layout="constrained")
    for y, (_name, late) in enumerate(rows):
        for time in range(frames + latest):
            i = time - late
            inside = 0 <= i < frames
            ax.add_patch(
                Rectangle(
                    (time - 0.45, -y - 0.4), 0.9, 0.8, fc=PALE if inside else "white",
                    ec=GREY, ls="-" if inside else ":",
                )
            )  # fmt: skip
            ax.text(time, -y, str(i) if inside else "", ha="center", va="center", fontsize=9, color=INK)
    ax.set_yticks([-y for y in range(len(rows))], [name for name, *_ in rows])
    ax.set_xticks(range(frames + latest))
    ax.tick_params(length=0)
    ax.set(
        xlim=(-0.6, frames + latest - 0.4),
        ylim=(-len(rows) + 0.4, 0.6),
        xlabel="time, in frames of the input",
    )
    for side in ax.spines.values():
        side.set_visible(False)
    told = "; ".join(f"{name}: frame 0 at time {late}" for name, late in rows)
    return described(figure, f"Which frame passes when. {told}")


# What is kept


def draw_remembered(kept: Mapping[str, Sequence[int]]) -> Described:
    """Bytes that a state keeps after each run, a line for each model."""
    figure, ax = plt.subplots(figsize=(6.4, 2.7), layout="constrained")
    for (name, sizes), colour in zip(kept.items(), (BLUE, ORANGE, RED)):
        ax.plot(range(1, len(sizes) + 1), [size / 1024 for size in sizes], color=colour, label=name, lw=2)
    ax.set(xlabel="tokens", ylabel="KiB kept", ylim=(0, None))
    ax.legend(frameon=False)
    told = "; ".join(
        f"{name}: {sizes[0]} after the first, {sizes[-1]} after the last" for name, sizes in kept.items()
    )
    return described(figure, f"Bytes that a state keeps after each token. {told}")


def draw_work(pulses: int, costs: Mapping[str, Sequence[int]]) -> Described:
    """Multiplications in each run, a line for each way to run a stream; both axes count."""
    figure, ax = plt.subplots(figsize=(6.4, 2.7), layout="constrained")
    for (name, counts), colour in zip(costs.items(), (RED, BLUE)):
        ax.plot(range(1, pulses + 1), counts, "o-", color=colour, label=name, ms=3)
    ax.set(xlabel="pulse", ylabel="multiplications")
    ax.legend(frameon=False)
    told = "; ".join(
        f"{name}: {counts[0]} for the first, {counts[-1]} for the last" for name, counts in costs.items()
    )
    return described(figure, f"Multiplications for each pulse. {told}")
