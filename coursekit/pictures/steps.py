"""Pictures of a training step on a device: its launches, who waits for whom, what stays in memory."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle

from coursekit.pictures.described import Described, described, stepper
from coursekit.pictures.plots import BLUE, GREY, INK, LIGHT, ORANGE, RED
from minilib.cuda import cp

Span = tuple[str, str, float, float]  # host or device, what it does, from when, until when
READS = "get", "item", "tolist", "__bool__", "__int__", "__float__", "__index__"

# Who asks for a number


@contextmanager
def looks() -> Iterator[list[str]]:
    """In this block each look at a number on the device is written down, with who asked for it."""
    seen: list[str] = []
    kept = {name: getattr(cp.ndarray, name) for name in READS}
    own = {name for name in READS if name in vars(cp.ndarray)}  # CuPy's are inherited

    def watched(name: str) -> Any:
        def read(self: Any, *args: Any, **options: Any) -> Any:
            caller = sys._getframe(1)
            place = caller.f_code.co_qualname.partition(".<locals>")[0]
            seen.append(f"{name.strip('_')} in {place.replace('<module>', 'this notebook')}")
            return kept[name](self, *args, **options)

        return read

    for name in kept:
        setattr(cp.ndarray, name, watched(name))
    try:
        yield seen
    finally:
        for name, method in kept.items():
            if name in own:
                setattr(cp.ndarray, name, method)
            else:
                delattr(cp.ndarray, name)


# Launches


def draw_launches(parts: Mapping[str, Sequence[tuple[str, Any]]]) -> Described:
    """The launches of a step in their order: a bar for each, as long as the bytes that it moves.

    `parts` has names of kernels and reports, in groups: forward, backward, update.
    """
    rows = [
        (part, name, report.bytes_moved / 1024) for part, found in parts.items() for name, report in found
    ]
    figure, ax = plt.subplots(figsize=(6.6, 0.6 + 0.24 * len(rows)), layout="constrained")
    colours = dict(zip(parts, (BLUE, ORANGE, GREY)))
    for y, (part, _, size) in enumerate(rows):
        ax.barh(y, size, color=colours[part], height=0.8)
    for part, colour in colours.items():
        ax.barh(0, 0, color=colour, label=part)
    ax.set_yticks(range(len(rows)), [name.partition("<")[0] for _, name, _ in rows], fontsize=10)
    ax.invert_yaxis()
    ax.set_xlabel("KiB moved")
    ax.legend(loc="lower right", frameon=False)
    told = "; ".join(
        f"{part}: " + ", ".join(f"{name.partition('<')[0]} {size:.0f}" for p, name, size in rows if p == part)
        for part in parts
    )
    return described(figure, f"Launches of one step in their order, with KiB moved. {told}")


# Two clocks


def draw_clocks(plans: Mapping[str, Sequence[Span]]) -> Described:
    """What host and device do over time, for each plan."""
    end = max(span[3] for spans in plans.values() for span in spans)
    return described(_clocks(plans, end), "Host and device over time. " + "; ".join(_told(plans)))


def step_clocks(name: str, spans: Sequence[Span]) -> Described:
    """The same for one plan, as a slider over what the host does, one thing after the other."""
    end = max(span[3] for span in spans)
    turns = [i for i, span in enumerate(spans) if span[0] == "host"]
    cuts = [*turns[1:], len(spans)]
    stills = [
        described(_clocks({name: spans[:cut]}, end), f"after {i} of {len(cuts)} lines of the program")
        for i, cut in enumerate(cuts, 1)
    ]
    alt = "Host and device over time, step by step. " + "; ".join(_told({name: spans}))
    stills[-1] = replace(stills[-1], alt=alt)
    return stepper(stills, "line", "line of the program")


def _told(plans: Mapping[str, Sequence[Span]]) -> list[str]:
    return [
        f"{name}: " + ", ".join(f"{who} {what} {start:g} to {stop:g}" for who, what, start, stop in spans)
        for name, spans in plans.items()
    ]


def _clocks(plans: Mapping[str, Sequence[Span]], end: float) -> Any:
    rows = {
        name: list(dict.fromkeys(["host", *(span[0] for span in spans)])) for name, spans in plans.items()
    }
    heights = [len(each) for each in rows.values()]
    size = (7.4, 0.75 + 0.55 * sum(heights) + 0.35 * len(plans))
    figure, axes = plt.subplots(
        len(plans), 1, figsize=size, sharex=True, squeeze=False, height_ratios=heights, layout="constrained"
    )
    for (name, spans), ax in zip(plans.items(), axes[:, 0]):
        for who, what, start, stop in spans:
            y, waits = rows[name].index(who), what == "wait"
            colour = RED if waits else GREY if who == "host" else BLUE if y == 1 else ORANGE
            ax.barh(
                y, stop - start, left=start, height=0.72, color="white" if waits else colour,
                edgecolor=colour if waits else "white", linestyle="--" if waits else "-",
            )  # fmt: skip
            if stop - start >= 0.0114 * len(what) * end:
                ink = RED if waits else "white"
                said = "waits" if waits else what
                points = 9 if stop - start >= 0.014 * len(said) * end else 7.5  # a small box, a small word
                ax.text((start + stop) / 2, y, said, ha="center", va="center", color=ink, size=points)
        ax.set_yticks(range(len(rows[name])), rows[name])
        ax.set(xlim=(0, end * 1.02), ylim=(len(rows[name]) - 0.5, -0.5))
        ax.set_title(name, loc="left", fontsize=11, color=INK)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(length=0)
    axes[-1, 0].set_xlabel("time (drawn, not measured)")
    return figure


# Dropout


def draw_dropped(arrays: Mapping[str, Any]) -> Described:
    """Arrays as pictures beside each other: what is 0 stays pale."""
    figure, axes = plt.subplots(
        1, len(arrays), figsize=(2.3 * len(arrays), 1.7), squeeze=False, layout="constrained"
    )
    told = []
    for ax, (name, array) in zip(axes[0], arrays.items()):
        array = np.asarray(array)
        ax.imshow(array != 0, cmap="Blues", vmin=0, vmax=1.4)
        ax.set(title=name, xticks=[], yticks=[])
        rows = [" ".join(str(x) for x in np.flatnonzero(row == 0)) for row in array]
        told.append(f"{name}: dropped columns of each row " + ", ".join(rows))
    return described(figure, "Dark is what stays. " + "; ".join(told))


# Convolution


def draw_gathered(image: int = 6, pixel: tuple[int, int] = (2, 3)) -> Described:
    """A pixel of y and the 3 x 3 of x that it reads; a pixel of x and the 3 x 3 of y that have read it.

    Each place of a window has the number of the weight that it meets.
    """
    figure, axes = plt.subplots(1, 2, figsize=(7.6, 2.3), layout="constrained")
    for ax, title, names in zip(axes, ("forward", "backward"), (("x", "y"), ("dy", "dx"))):
        for k, name in enumerate(names):
            for r in range(image):
                for c in range(image):
                    near = max(abs(r - pixel[0]), abs(c - pixel[1]))
                    fill = (ORANGE if near < 2 else LIGHT) if k == 0 else (BLUE if near == 0 else LIGHT)
                    ax.add_patch(Rectangle((c + k * (image + 3), r), 1, 1, fc=fill, ec="white", lw=1.5))
                    if k == 0 and near < 2:
                        weight = 3 * (r - pixel[0] + 1) + c - pixel[1] + 1
                        said = weight if title == "forward" else 8 - weight
                        ax.text(c + 0.5, r + 0.5, str(said), ha="center", va="center", color=INK, size=9)
            ax.text(k * (image + 3) + image / 2, image + 0.9, name, ha="center", color=INK)
        start, stop = (pixel[1] + 2.2, pixel[0] + 0.5), (pixel[1] + image + 2.9, pixel[0] + 0.5)
        ax.annotate("", stop, start, arrowprops={"arrowstyle": "->", "color": INK})
        ax.set(xlim=(-0.3, 2 * image + 3.2), ylim=(image + 1.2, -0.3), title=title, aspect="equal")
        ax.axis("off")
    return described(
        figure,
        "Two pairs of pictures. Forward: one number of y is made of the 3 x 3 numbers of x around its place, "
        "with the weights 0 to 8 row by row. Backward: one number of dx is made of the 3 x 3 numbers of dy "
        "around its place, with the weights 8 to 0.",
    )


# Both devices


def draw_both(curves: Mapping[str, Sequence[float]]) -> Described:
    """Losses over steps: the first curve as a line, the second as circles on it."""
    figure, ax = plt.subplots(figsize=(5.6, 2.6), layout="constrained")
    for (name, values), style, colour in zip(curves.items(), ("-", "o"), (GREY, BLUE)):
        ax.plot(range(1, len(values) + 1), values, style, color=colour, label=name, mfc="none", ms=8)
    top = 1.1 * max(max(values) for values in curves.values())
    ax.set(xlabel="step", ylabel="loss", ylim=(0, top), xticks=range(0, len(values) + 1, 5))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    told = "; ".join(f"{name}: " + ", ".join(f"{v:.2f}" for v in values) for name, values in curves.items())
    return described(figure, f"Losses over steps. {told}")


def draw_in_use(plans: Mapping[str, Mapping[str, Sequence[tuple[str, int]]]]) -> Described:
    """Bytes in use at each launch: for each plan its parts, each with names of kernels and bytes."""
    figure, axes = plt.subplots(
        1, len(plans), figsize=(3.7 * len(plans), 2.6), sharey=True, squeeze=False, layout="constrained"
    )
    told = []
    for (name, parts), ax in zip(plans.items(), axes[0]):
        first = 0
        for (part, seen), colour in zip(parts.items(), (BLUE, ORANGE, GREY)):
            ax.bar(
                range(first, first + len(seen)),
                [size / 1024 for _, size in seen],
                1,
                color=colour,
                label=part,
            )
            first += len(seen)
        ax.set(title=name, xlabel="launch", xticks=range(0, first, 10))
        most = {part: max((size for _, size in seen), default=0) // 1024 for part, seen in parts.items()}
        told.append(f"{name}: " + ", ".join(f"{part} up to {size} KiB" for part, size in most.items()))
    axes[0, 0].set_ylabel("KiB in use")
    axes[0, 0].legend(frameon=False, loc="upper left")
    return described(figure, f"Bytes in use at each launch of a step. {'; '.join(told)}")
