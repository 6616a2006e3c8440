"""Pictures of operators: who answers a call, what a network learns without a gradient, what a call costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import FancyBboxPatch

from coursekit.pictures.described import Described, chooser, described
from coursekit.pictures.plots import BLUE, GREY, INK, LIGHT, ORANGE, PALE
from minilib.draw import palette
from minilib.tensor import no_grad, ones

STYLES = ("--", BLUE), ("-", ORANGE), (":", GREY)


# A call


def draw_dispatch(op: Any, devices: Sequence[str]) -> Described:
    """A call of `op` on a tensor that wants a gradient, for each device and grad mode: a picture to click.

    Each picture is of a call that is made: its kernel, where its result lives, whether it was remembered.
    """
    frames: dict[tuple[str, ...], Described] = {}
    for device in devices:
        for mode in ("on", "no_grad()"):
            with no_grad() if mode != "on" else nullcontext():
                y = op(ones(3, requires_grad=True).to(device))
            frames[device, mode] = _walk(op, devices, device, mode, y)
    choices = {"x lives on": devices, "grad mode": ("on", "no_grad()")}
    return chooser(frames, choices, still=frames[devices[-2], "on"])


def _walk(op: Any, devices: Sequence[str], device: str, mode: str, y: Any) -> Described:
    remembered = y.function is not None
    figure, ax = plt.subplots(figsize=(8.2, 3.5), layout="constrained")
    ax.set(xlim=(0, 11.6), ylim=(0, 5))
    ax.axis("off")
    short = op.name.partition("::")[2]
    _box(ax, 0.1, 2.15, 2.5, 1.3, f"{short}(x)\nx on {device}\nwants a gradient", PALE)
    ax.text(5.65, 4.72, "the table of kernels", ha="center", color=INK, fontsize=10)
    for row, name in enumerate(devices):
        taken, kernel = name == device, op.kernel_for(name).__name__
        _box(ax, 4.1, 3.8 - 0.78 * row, 3.1, 0.62, f"{name}:  {kernel}", PALE if taken else "white", taken)
    place = 4.11 - 0.78 * list(devices).index(device)
    numbers = "shape, no numbers" if not hasattr(y.data, "tobytes") else "numbers"
    _box(ax, 8.9, 2.15, 2.5, 1.3, f"y on {y.device}\n{numbers}\n" + _history(remembered), PALE)
    told = "keeps what backward needs" if remembered else "is never made: nothing is kept"
    _box(
        ax,
        4.1,
        0.35,
        3.1,
        1.0,
        f"OperatorCall\n{told}",
        palette.SAND[0] if remembered else "white",
        remembered,
    )
    _arrow(ax, (2.6, 2.95), (4.05, place), "1  its device", BLUE)
    _arrow(ax, (7.25, place), (8.85, 2.95), "2  runs, unseen", BLUE)
    if remembered:
        _arrow(ax, (8.85, 2.5), (7.25, 0.95), "3  made by", ORANGE)
        _arrow(ax, (4.05, 0.95), (2.6, 2.5), "4  its inputs", ORANGE)
    alt = (
        f"x on {device}, grad mode {mode}: the table leads to {op.kernel_for(device).__name__}; "
        f"y is on {y.device} with {numbers}; the call is {'remembered' if remembered else 'not remembered'}"
    )
    return described(figure, alt)


def _history(remembered: bool) -> str:
    return "knows its call" if remembered else "knows nobody"


def _box(
    ax: Any, x: float, y: float, width: float, height: float, text: str, colour: str, taken: bool = True
) -> None:
    edge, style = (INK, "-") if taken else (GREY, "--")
    ax.add_patch(
        FancyBboxPatch(
            (x, y), width, height, boxstyle="round,pad=0,rounding_size=0.12",
            facecolor=colour, edgecolor=edge, linestyle=style, linewidth=1.2 if taken else 0.9,
        )
    )  # fmt: skip
    ink = INK if taken else "#6b7580"
    ax.text(x + width / 2, y + height / 2, text, ha="center", va="center", fontsize=10, color=ink)


def _arrow(ax: Any, start: tuple[float, float], end: tuple[float, float], text: str, colour: str) -> None:
    ax.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": 1.8})
    x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
    if colour == ORANGE:  # on the way back: beside the arrow, outwards
        side = "left" if x > 5.65 else "right"
        ax.text(x + (0.3 if side == "left" else -0.3), y - 0.2, text, ha=side, va="center", size=9, color=INK)
    else:
        ax.text(x, y + 0.3, text, ha="center", va="bottom", size=9, color=INK)


# What is learned


def draw_fits(x: Any, target: Any, fits: Mapping[str, Any]) -> Described:
    """The curve that a network was to learn, and what each one has learned, with its mean squared error."""
    x, target = np.ravel(x), np.ravel(target)
    figure, ax = plt.subplots(figsize=(6.6, 3.0), layout="constrained")
    ax.plot(x, target, color=LIGHT, linewidth=7, label="to be learned", solid_capstyle="round")
    told = []
    for (name, y), (style, colour) in zip(fits.items(), STYLES):
        loss = float(np.mean((np.ravel(y) - target) ** 2))
        ax.plot(x, np.ravel(y), style, color=colour, linewidth=2.2, label=f"{name}: loss {loss:.2g}")
        told.append(f"{name}, loss {loss:.2g}")
    ax.set(xlabel="input", ylabel="output")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 1.18), ncols=3, frameon=False)
    return described(figure, "A curve to be learned, and what was learned. " + "; ".join(told))


# What a call costs


def draw_calls(sizes: Sequence[int], calls: Mapping[str, Sequence[float]]) -> Described:
    """Microseconds of a call over the numbers in its tensor, for each way to call."""
    figure, ax = plt.subplots(figsize=(6.6, 3.0), layout="constrained")
    for (name, times), (style, colour) in zip(calls.items(), STYLES):
        ax.loglog(sizes, [1e6 * time for time in times], style, marker="o", color=colour, label=name)
    ax.set(xlabel="numbers in the tensor", ylabel="microseconds for a call")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    told = "; ".join(
        f"{name}: " + ", ".join(f"{1e6 * time:.3g} at {size}" for size, time in zip(sizes, times))
        for name, times in calls.items()
    )
    return described(figure, f"Microseconds for a call. {told}")


def time_calls(call: Callable[[Any], Any], inputs: Sequence[Any], budget: float = 0.02) -> list[float]:
    """The shortest of five mean times of `call(x)` in seconds, for each x."""
    from time import perf_counter

    def mean(x: Any, times: int) -> float:
        start = perf_counter()
        for _ in range(times):
            call(x)
        return (perf_counter() - start) / times

    return [min(mean(x, max(1, int(budget / max(mean(x, 3), 1e-7)))) for _ in range(5)) for x in inputs]
