"""Pictures of chapter 04: threads, warps, sectors, banks, and the steps in which threads work together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.patches import Rectangle

from coursekit.pictures.described import Described, described
from coursekit.pictures.plots import BLUE, GREY, INK, LIGHT, ORANGE, PALE, RED

Steps = Sequence[Sequence[tuple[int, int]]]  # in each step the pairs (source, to)


def table_of(reports: Mapping[str, Any], *counts: str) -> str:
    """A line for each report, a column for each count."""
    lines = [[" " * 16, *(f"{count:>12}" for count in counts)]]
    for name, report in reports.items():
        numbers = [round(getattr(report, count), 2) for count in counts]
        cells = (f"{number:{max(12, len(count))},}" for number, count in zip(numbers, counts))
        lines.append([f"{name:16}", *cells])
    return "\n".join(map(" ".join, lines))


def draw_warps(warp_of: Any) -> None:
    """A row for each block: its threads, coloured by warp. `warp_of` is (blocks, threads)."""
    blocks, threads = warp_of.shape
    _, axes = plt.subplots(blocks, 1, figsize=(8, 2))
    for b, ax in enumerate(axes):
        ax.pcolormesh(warp_of[b : b + 1] + 1, edgecolors="white", lw=0.3, cmap="Blues", vmin=0, vmax=4)
        for w in range(3):
            ax.text(32 * w + 1, 0.35, f"warp {w}", bbox={"color": "white", "pad": 1.5})
        ax.set(yticks=[], xlim=(0, 96), xticks=[0, 32, 64, threads, 96] if b == blocks - 1 else [])
        ax.set_ylabel(f"block {b}", rotation=0, ha="right", va="center")
    axes[-1].set_xlabel("threadIdx.x")
    plt.show()


def draw_memories(memories: Mapping[str, tuple[float, float]]) -> Described:
    """The memories of a GPU, nearest first: bytes as areas of one scale, and cycles until a number comes.

    The last one holds all others many times, so these stand beside it once more, enlarged.
    """
    *near, far = memories
    side = {name: float(size) ** 0.5 for name, (size, _) in memories.items()}
    widths = [1, 1.5, 1.5]
    figure, (all_, zoom, bars) = plt.subplots(
        1, 3, figsize=(9, 3.1), width_ratios=widths, layout="constrained"
    )
    colours = dict(zip(memories, (ORANGE, BLUE, PALE, LIGHT)))
    for ax, names, edge in (
        (all_, [far, *near], side[far]),
        (zoom, near, 1.12 * sum(side[one] for one in near)),
    ):
        x = 0.0
        for name in names:
            ax.add_patch(
                Rectangle((x, 0), side[name], side[name], facecolor=colours[name], edgecolor=INK, lw=0.6)
            )
            if ax is zoom:
                text = f"{name}\n{_bytes(memories[name][0])}"
                ax.text(x + side[name] / 2, -0.05 * edge, text, ha="center", va="top", fontsize=9, color=INK)
            x += side[name] * 1.12 if name != far else 0
        ax.set(xlim=(-0.02 * edge, 1.02 * edge), ylim=(-0.02 * edge, 1.02 * edge), aspect="equal")
        ax.axis("off")
    all_.text(side[far] / 2, side[far] / 2, f"{far}\n{_bytes(memories[far][0])}", ha="center", color=INK)
    zoom.set(
        ylim=(-0.3 * zoom.get_xlim()[1], 0.5 * zoom.get_xlim()[1]), title="the three in the corner, enlarged"
    )
    for y, (name, (_, cycles)) in enumerate(memories.items()):
        bars.barh(y, cycles, color=colours[name], edgecolor=INK, lw=0.6)
        bars.text(cycles, y, f" {cycles:,.0f}", va="center", fontsize=9, color=INK)
    bars.set(
        yticks=range(len(memories)), yticklabels=[*memories], xticks=[], title="cycles until a number comes"
    )
    bars.set_xlim(0, 1.2 * max(cycles for _, cycles in memories.values()))
    bars.invert_yaxis()
    bars.spines[["top", "right", "bottom"]].set_visible(False)
    for ax in (zoom, bars):
        ax.title.set_fontsize(10)
    said = "; ".join(
        f"{name}: {_bytes(size)}, {cycles:,.0f} cycles" for name, (size, cycles) in memories.items()
    )
    return described(figure, f"The memories of a GPU, as areas to scale, and how long each takes. {said}")


def _bytes(count: float) -> str:
    unit = next(unit for unit in ("GB", "MB", "KB") if count >= _UNITS[unit])
    return f"{count / _UNITS[unit]:.0f} {unit}"


_UNITS = {"KB": 1e3, "MB": 1e6, "GB": 1e9}


def draw_owners(owners: Mapping[str, Any]) -> None:
    """For each kernel a row of boxes: which thread took which number."""
    _, axes = plt.subplots(len(owners), 1, figsize=(8, 1.7), layout="constrained")
    for ax, (name, owner) in zip(axes, owners.items()):
        ax.pcolormesh(owner[None], cmap="tab10", vmax=9, edgecolors="white")
        for i, me in enumerate(owner):
            ax.text(i + 0.5, 0.5, me, ha="center", va="center", color="white")
        ax.set(title=name, yticks=[], xticks=[])
    plt.show()


def draw_sectors(wanted: Mapping[str, Any]) -> None:
    """What a warp wants of a matrix of 32 x 32, dark, and what comes with it in sectors of 8, pale."""
    _, axes = plt.subplots(1, len(wanted), figsize=(7, 3.4), layout="constrained")
    for ax, (name, numbers) in zip(axes, wanted.items()):
        delivered = np.repeat(numbers.reshape(-1, 8).any(1), 8).reshape(32, 32)
        ax.pcolormesh(numbers + delivered, cmap="Blues", vmax=2.4, edgecolors="white", lw=0.3)
        ax.vlines(range(0, 33, 8), 0, 32, color="#555555", lw=0.7)
        ax.set(title=name, xlabel="column", ylabel="row", xticks=range(0, 33, 8), ylim=(32, 0))
    plt.show()


def draw_orders(held: Mapping[str, Any], right: Any) -> None:
    """A row of boxes for each order of running: the numbers in blue, red where they are not `right`."""
    plt.figure(figsize=(7, 1.5))
    for row, values in enumerate(held.values()):
        for t, value in enumerate(values):
            shade = plt.get_cmap("Blues")(0.25 + 0.6 * right[t] / 63) if value == right[t] else RED
            plt.barh(row, 1, left=t, color=shade, edgecolor="white", lw=0.4)
    plt.yticks(range(3), [*held])
    plt.xticks([0, 16, 32, 48, 64])
    plt.xlim(0, 64)
    plt.gca().invert_yaxis()
    plt.gca().spines[:].set_visible(False)
    plt.xlabel("element of y")
    plt.show()


def draw_halo() -> None:
    """Three blocks of 8 numbers, and the shared array of the middle one with a halo of 3 on both sides."""
    plt.figure(figsize=(7, 1.9))
    for i in range(24):
        mine, halo = 8 <= i < 16, 5 <= i < 8 or 16 <= i < 19
        plt.barh(0, 0.9, left=i, color=BLUE if mine else ORANGE if halo else LIGHT, height=0.5)
    for k in range(14):
        plt.barh(1.4, 0.9, left=5 + k, color=BLUE if 3 <= k < 11 else ORANGE, height=0.5)
        plt.text(5.45 + k, 1.4, str(k), ha="center", va="center", color="white", fontsize=8)
    for edge in (5, 19):
        plt.plot([edge, edge], [0.3, 1.1], color="#56616c", lw=0.8)
    for edge in (0, 8, 16, 24):
        plt.plot([edge - 0.05] * 2, [-0.4, 0.4], color="black", lw=1)
    plt.yticks([0, 1.4], ["x, blocks of 8", "part[14] of block 1"])
    plt.xticks([])
    plt.gca().invert_yaxis()
    plt.gca().spines[:].set_visible(False)
    plt.show()


def draw_banks() -> None:
    """The bank of each word of a tile, in rows of 32 and of 33; column 0 in a frame."""
    figure, axes = plt.subplots(1, 2, figsize=(7, 2.9), layout="constrained")
    for ax, width in zip(axes, (32, 33)):
        banks = (np.arange(32 * width) % 32).reshape(32, width)
        empty = np.indices(banks.shape)[1] >= 32
        shown = ax.imshow(np.ma.masked_array(banks, empty), cmap="viridis")
        ax.add_patch(Rectangle((-0.7, -0.7), 1.4, 32.4, fill=False, lw=1.5, ec=RED, clip_on=False))
        ax.set(title=f"tile[32][{width}]", xlabel="threadIdx.y", xticks=[0, 31], yticks=[0, 31])
        ax.spines[:].set_visible(False)
    axes[1].add_patch(Rectangle((31.5, -0.5), 1, 32, fc="white", lw=0.8, ec="#56616c", clip_on=False))
    axes[1].text(33, 15.5, "empty", rotation=90, va="center", fontsize=9)
    axes[0].set_ylabel("threadIdx.x")
    figure.colorbar(shown, ax=axes, label="bank", ticks=[0, 31], shrink=0.9)
    plt.show()


def draw_time(sines: Mapping[str, Any]) -> None:
    """What 64 threads do over time, where those of `sines` compute sines and the others cosines."""
    lane = np.arange(64)
    _, axes = plt.subplots(1, len(sines), figsize=(7, 2.6), sharey=True)
    for ax, (title, sine) in zip(axes, sines.items()):
        done = np.zeros((64, 2))  # by thread and time: nothing, sine or cosine
        for warp in (lane < 32, lane >= 32):
            arms = [arm for arm in (sine & warp, ~sine & warp) if arm.any()]
            for time, arm in enumerate(arms):
                done[arm, time] = 1 + (arm & ~sine).any()
        ax.imshow(done, aspect="auto", cmap=ListedColormap(["#fff", BLUE, ORANGE]))
        ax.set(title=title, xlabel="time", xticks=[0.5], xticklabels=[""], yticks=[0, 31, 63])
    axes[0].set_ylabel("thread")
    plt.show()


def draw_steps(plans: Mapping[str, Steps]) -> None:
    """Eight numbers, and for each plan the additions of its steps, from top to bottom."""
    height = 1.4 + 1.3 * max(map(len, plans.values())) / 3
    _, axes = plt.subplots(1, len(plans), figsize=(9, height))
    for ax, (title, steps) in zip(axes, plans.items()):
        _draw_plan(ax, steps)
        ax.set(title=title, yticks=[], xticks=range(8), xlabel="thread")
        ax.spines[:].set_visible(False)
    plt.show()


def _draw_plan(ax: Any, steps: Steps) -> None:
    """A grey arrow: the place keeps its own, and adds."""
    ax.plot(range(8), [0] * 8, "o", color=GREY)
    for row, pairs in enumerate(steps, 1):
        busy = {to for _, to in pairs}
        for source, to in {*pairs, *((t, t) for t in busy)}:
            arrow = {"arrowstyle": "->", "color": GREY if source == to else BLUE}
            ax.annotate("", (to, 0.12 - row), (source, 0.88 - row), arrowprops=arrow)
        for t in range(8):
            ax.plot(t, -row, "o", color=ORANGE if t in busy else LIGHT)


def draw_shuffle(seen: Any, needed: Any) -> None:
    """What each lane holds after each step of a sum by shuffles; shaded where it is still `needed`."""
    plt.figure(figsize=(12, 2.7))
    plt.imshow(needed, cmap="Blues", vmax=2, aspect="auto")
    for (step, lane), v in np.ndenumerate(seen):
        plt.text(lane, step, f"{v:.0f}", ha="center", va="center", size=8)
    plt.yticks(range(6), ["start", *(f"offset {16 >> k}" for k in range(5))])
    plt.xlabel("lane")
    plt.show()


def draw_tiles(steps: Mapping[str, Mapping[tuple[int, int], int]]) -> None:
    """Matrices of 4 x 4 tiles, and in which step which tile is fetched; 0 is the tile that is made."""
    _, axes = plt.subplots(1, len(steps), figsize=(7.5, 2.5))
    for ax, (title, numbers) in zip(axes, steps.items()):
        shown = np.zeros((4, 4))
        for (row, col), step in numbers.items():
            shown[row, col] = 0.4 + step / 8
            ax.text(col, row, step or "", ha="center", va="center")
        ax.imshow(shown, cmap="Oranges" if 0 in numbers.values() else "Blues", vmin=0, vmax=1.4)
        edges = np.arange(-0.5, 4)
        ax.set(title=title, xticks=edges, yticks=edges, xticklabels=[], yticklabels=[])
        ax.grid(color=GREY)
    plt.show()


def draw_roofline(
    points: Mapping[str, float],
    peak: float,
    bandwidth: float,
    shared: float | None = None,
    shared_points: Mapping[str, float] | None = None,
) -> None:
    """What a GPU of `peak` Tflop/s and `bandwidth` TB/s allows at most, over the flops per byte.

    The height of a point is not measured: it is what the roof allows at its flops per byte. Where shared
    memory gives `shared` TB/s, a second roof stands over the first, and `shared_points` are the flops per
    byte of shared memory: a kernel has one height, the lower of its two limits, and a hollow mark for the
    second.
    """
    plt.figure(figsize=(7, 3.4))
    q = np.geomspace(0.1, 64, 100)
    device = None if shared is None else "roof of device memory"
    plt.loglog(q, np.minimum(peak, bandwidth * q), color=INK, label=device)
    second = shared_points or {}
    if shared is not None:
        plt.loglog(q, np.minimum(peak, shared * q), color=ORANGE, label="roof of shared memory")
    for (name, at), mark in zip(points.items(), cycle("osD^v")):
        limits = [peak, bandwidth * at]
        if shared is not None and name in second:
            limits.append(shared * second[name])
        most = min(limits)
        plt.loglog(at, most, mark, ms=11 if name == "sum" else 6, label=f"{name}: {at:.2f}")
        if name in second:
            colour = plt.gca().lines[-1].get_color()
            plt.loglog([at, second[name]], [most, most], ":", color=colour, lw=0.8)
            plt.loglog(second[name], most, mark, mfc="none", color=colour, ms=9)
    if shared is None:
        plt.loglog(32, peak, "o", mfc="none", color=INK, label="tiles of 128, many results per thread: 32")
    plt.axvline(peak / bandwidth, color=GREY, ls=":")
    plt.xlabel("flops per byte, as `profile` counts them")
    plt.ylabel("Tflop/s at most")
    plt.title("What the roof allows; nothing here was timed", fontsize=10)
    plt.legend(fontsize=8)
    plt.show()


def draw_probabilities(images: Iterable[Any], titles: Iterable[object], probabilities: Iterable[Any]) -> None:
    """Six images of digits with titles, and below each its ten probabilities."""
    _, axes = plt.subplots(2, 6, figsize=(9, 3), height_ratios=[2, 1])
    for (top, bottom), image, title, p in zip(axes.T, images, titles, probabilities):
        top.imshow(image.reshape(8, 8), cmap="gray_r")
        top.set_title(title)
        top.axis("off")
        bottom.bar(range(10), p, color=BLUE)
        bottom.set(ylim=(0, 1), yticks=[], xticks=range(10))
        bottom.tick_params(labelsize=7)
    plt.show()
