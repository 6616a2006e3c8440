"""Pictures of rows on a device: what each way moves, a block with its row, how many threads it takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle

from coursekit.pictures.described import Described, described, stepper
from coursekit.pictures.plots import BLUE, GREY, INK, LIGHT, ORANGE, PALE

# How many arrays are moved


def draw_moves(ways: Mapping[str, Sequence[Any]], array: int, least: float) -> Described:
    """Arrays of so many bytes that the kernels of each way read and write, by their reports.

    A bar for each way, and a line at the `least` that any must move.
    """
    figure, ax = plt.subplots(figsize=(6.6, 0.9 + 0.45 * len(ways)), layout="constrained")
    said, most = [], 0.0
    for y, (name, reports) in enumerate(ways.items()):
        read, written = (
            sum(32 * getattr(report, f"global_{way}_sectors") for report in reports) / array
            for way in ("load", "store")
        )
        ax.barh(y, read, color=BLUE, edgecolor="white", label="" if y else "read")
        ax.barh(y, written, left=read, color=ORANGE, edgecolor="white", label="" if y else "written")
        ax.text(read + written + 0.1, y, f"{read + written:.2g}", va="center", color=INK)
        said.append(f"{name}: {read:.3g} read, {written:.3g} written")
        most = max(most, read + written)
    ax.axvline(least, color=INK, ls=":", lw=1.2, label="must be moved")
    ax.set_yticks(range(len(ways)), [*ways])
    ax.invert_yaxis()
    ax.set(xlabel="arrays moved", xlim=(0, 1.1 * most))
    ax.legend(loc="lower right", fontsize=8)
    return described(figure, f"Arrays moved, of which {least:.3g} must be. {'; '.join(said)}")


# A row on the chip, step by step

LANES, THREADS = 4, 8  # of the picture's warps and block


def draw_block(row: Sequence[float]) -> Described:
    """Softmax of a row by a block of two warps of four lanes: move through what its registers hold."""
    if not THREADS < len(row) <= 2 * THREADS:
        raise ValueError(f"draw_block: a row of {THREADS + 1} to {2 * THREADS} numbers, not {len(row)}")
    frames = _block_frames(row)
    stills = [_block_still(*frame) for frame in frames]
    told = "; ".join(f"{name}: {', '.join(f'{x:.3g}' for x in agreed)}" for name, _, agreed in frames[1:7])
    alt = (
        f"A row of {len(row)} numbers in the registers of {THREADS} threads, in {len(frames)} steps. "
        f"Number for all, thread by thread: {told}"
    )
    stills[-1] = replace(stills[-1], alt=alt)
    return stepper(stills, "step", "step of the block")


Frame = tuple[str, Any, Any]  # name, mine (2, threads), the number that is agreed on (threads,)


def _block_frames(row: Sequence[float]) -> list[Frame]:
    mine: Any = np.full(2 * THREADS, -np.inf)
    mine[: len(row)] = row
    mine = mine.reshape(2, THREADS)
    frames: list[Frame] = [("load", mine, np.full(THREADS, np.nan))]
    for what, join in (("largest", np.max), ("sum", np.sum)):
        if what == "sum":
            mine = np.exp(mine - frames[-1][2])
        own = join(mine, axis=0)
        warps = np.repeat(join(own.reshape(2, LANES), axis=1), LANES)
        frames.append((f"each thread's {what}", mine, own))
        frames.append((f"each warp's {what}: shuffles", mine, warps))
        frames.append((f"the block's {what}: shared memory", mine, np.full(THREADS, join(own))))
    frames.append(("divide and store", mine / frames[-1][2], frames[-1][2]))
    return frames


def _block_still(name: str, mine: Any, agreed: Any) -> Described:
    figure, ax = plt.subplots(figsize=(7.6, 2.5))
    for t in range(THREADS):
        x = t + (t >= LANES) * 0.4
        for y, value in ((2, mine[0, t]), (1, mine[1, t]), (0, agreed[t])):
            empty = np.isnan(value)
            colour = "white" if empty else PALE if y else ORANGE
            colour = LIGHT if y and not np.isfinite(value) else colour
            ax.add_patch(Rectangle((x - 0.45, y - 0.36), 0.9, 0.72, fc=colour, ec=GREY, lw=0.8))
            text = "" if empty else "-∞" if value == -np.inf else f"{round(value, 3):g}"
            ax.text(x, y, text, ha="center", va="center", fontsize=10, color=INK)
        ax.text(x, 2.6, f"{t}", ha="center", va="center", fontsize=9, color=GREY)
    for height, label in ((2.6, "thread"), (2, "mine[0]"), (1, "mine[1]"), (0, "top or sum")):
        ax.text(-0.7, height, label, ha="right", va="center", color=INK)
    ax.text(1.5, 3.1, "warp 0", ha="center", color=BLUE)
    ax.text(5.9, 3.1, "warp 1", ha="center", color=BLUE)
    ax.text(3.7, -0.85, name, ha="center", color=BLUE, fontsize=12)
    ax.set(xlim=(-2.2, 8.0), ylim=(-1.1, 3.5))
    ax.axis("off")
    return described(figure, name)


# How many threads


def draw_threads(
    counts: Mapping[str, Mapping[int, float]], least: Mapping[str, float] | None = None
) -> Described:
    """For blocks of each size: bars for each count, with a line at its `least`."""
    figure, axes = plt.subplots(1, len(counts), figsize=(7.4, 2.4), layout="constrained")
    for ax, (label, values), colour in zip(axes, counts.items(), (BLUE, ORANGE)):
        places, lowest = range(len(values)), (least or {}).get(label)
        ax.bar(places, values.values(), color=colour, width=0.65)
        for x, value in zip(places, values.values()):
            ax.text(x, value, f"{value:.3g}", ha="center", va="bottom", fontsize=9, color=INK)
        if lowest is not None:
            ax.axhline(lowest, color=INK, ls=":", lw=1.2)
        ax.set_xticks(places, map(str, values))
        ax.set(title=label, ylim=(0, 1.15 * max(values.values())), yticks=[], xlabel="threads of the block")
        ax.title.set_fontsize(10)
    told = "; ".join(
        f"{label}: " + ", ".join(f"{value:.3g} with {threads} threads" for threads, value in values.items())
        for label, values in counts.items()
    )
    lines = "".join(f"; at least {value:.3g} {label}" for label, value in (least or {}).items())
    return described(figure, f"For blocks of each size. {told}{lines}")
