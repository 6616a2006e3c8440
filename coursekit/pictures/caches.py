"""Pictures of a processor's memory: how fast it copies, what a cache holds, and the roof over it all."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle

from coursekit.pictures.described import Described, described, stepper
from coursekit.pictures.plots import BLUE, GREY, INK, LIGHT, ORANGE

Place = tuple[str, int]  # an array and one of its rows


def draw_speeds(speeds: Mapping[int, float], marked: int) -> Described:
    """Bytes a second of a copy, over the bytes of an array; a line where the array is `marked` bytes long."""
    figure, ax = plt.subplots(figsize=(6.6, 2.8), layout="constrained")
    ax.semilogx([*speeds], [speed / 1e9 for speed in speeds.values()], "o-", color=BLUE, base=2)
    ax.axvline(marked, color=ORANGE, ls=":", label=f"{marked / 2**20:.0f} MiB: the array of this lesson")
    ax.set_xticks([*speeds][::3], [_size(size) for size in [*speeds][::3]])
    ax.set(xlabel="bytes of the array that is copied", ylabel="GB/s, read and written", ylim=(0, None))
    ax.legend(frameon=False)
    told = ", ".join(f"{_size(size)} {speed / 1e9:.0f}" for size, speed in speeds.items())
    return described(figure, f"GB/s of a copy by the size of the array: {told}")


def _size(size: int) -> str:
    return f"{size / 2**20:.0f} MiB" if size >= 2**20 else f"{size / 2**10:.0f} KiB"


# Arrays that walk through a cache


def loads(accesses: Sequence[Place], room: int) -> list[tuple[list[Place], int]]:
    """After each access: what a cache with `room` for so many rows holds, and how many were loaded."""
    cache: OrderedDict[Place, None] = OrderedDict()
    found, count = [], 0
    for place in accesses:
        count += place not in cache
        cache[place] = None
        cache.move_to_end(place)
        if len(cache) > room:
            cache.popitem(last=False)
        found.append(([*cache], count))
    return found


def step_cache(ways: Mapping[str, Sequence[Place]], room: int, frames: int = 16) -> Described:
    """The accesses of several ways beside each other: move through them and see what is loaded."""
    stories = {name: loads(accesses, room) for name, accesses in ways.items()}
    stills = []
    for k in range(1, frames + 1):
        at = {name: len(story) * k // frames - 1 for name, story in stories.items()}
        now = {name: (ways[name][i], *stories[name][i]) for name, i in at.items()}
        told = "; ".join(f"{name}: {now[name][2]} rows loaded" for name in now)
        stills.append(described(_cache(now, ways), f"{k}/{frames} of the work done. {told}"))
    return stepper(stills, "time", "how much of the work is done", play=True)


def _cache(now: Mapping[str, tuple[Place, list[Place], int]], ways: Mapping[str, Sequence[Place]]) -> Any:
    figure, axes = plt.subplots(1, len(now), figsize=(2.9 * len(now), 2.4), squeeze=False)
    for (name, (place, cached, count)), ax in zip(now.items(), axes[0]):
        arrays = [*dict.fromkeys(array for array, _ in ways[name])]
        rows = 1 + max(row for _, row in ways[name])
        for x, array in enumerate(arrays):
            for row in range(rows):
                colour = ORANGE if (array, row) == place else BLUE if (array, row) in cached else LIGHT
                ax.add_patch(Rectangle((x - 0.45, row - 0.4), 0.9, 0.8, fc=colour, ec="white"))
        ax.set_xticks(range(len(arrays)), arrays)
        ax.set_yticks([])
        ax.set(xlim=(-0.6, len(arrays) - 0.4), ylim=(rows - 0.4, -0.6))
        ax.set_title(f"{name}: {count} rows loaded", fontsize=11, color=INK)
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0)
    figure.tight_layout()
    return figure


# The roof


def draw_ceiling(points: Mapping[str, tuple[float, float]], peak: float, bandwidth: float) -> Described:
    """What this processor allows at most over the flops per byte, and what was measured beneath.

    `peak` in flops a second, `bandwidth` in bytes a second; a point is (flops per byte, flops a second).
    """
    figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
    q = np.geomspace(0.05, 400, 100)
    ax.loglog(q, np.minimum(peak, bandwidth * q) / 1e9, color=INK)
    for (name, (at, speed)), mark in zip(points.items(), cycle("osD^v")):
        ax.loglog(at, speed / 1e9, mark, label=f"{name}: {speed / 1e9:.1f}")
    ax.axvline(peak / bandwidth, color=GREY, ls=":")
    ax.text(peak / bandwidth, 0.12, " ridge", color=GREY)
    ax.set(xlabel="flops for each byte that must be moved", ylabel="Gflop/s, measured", ylim=(0.1, None))
    ax.legend(fontsize=8)
    told = "; ".join(f"{name}: {speed / 1e9:.1f} at {at:.2g}" for name, (at, speed) in points.items())
    roof = f"at most {bandwidth / 1e9:.0f} GB/s and {peak / 1e9:.0f} Gflop/s"
    return described(figure, f"Roofline of this processor, {roof}. Gflop/s by flops per byte: {told}")
