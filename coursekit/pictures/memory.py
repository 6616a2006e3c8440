"""What a model remembers: what it costs, how long it lasts, and where it ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from coursekit.pictures.described import show_described
from coursekit.pictures.plots import BLUE, GREY, ORANGE

COLOURS = {"GPT": ORANGE, "Mamba": BLUE, "Mamba, live": "#6baed6"}
OTHERS = (ORANGE, BLUE, "#2a9d55")


def draw_price(
    lengths: Sequence[int], kept: Mapping[str, Sequence[int]], taken: Mapping[str, Sequence[float]]
) -> None:
    """Bytes that each model keeps after so many tokens, and its milliseconds for one more."""
    fig, (left, right) = plt.subplots(1, 2, figsize=(7.2, 2.9))
    said = []
    for name, sizes in kept.items():
        left.loglog(lengths, sizes, "o-", color=COLOURS[name], markersize=4, label=name)
        said.append(
            f"{name} keeps {sizes[0]:,} bytes at {lengths[0]} tokens, {sizes[-1]:,} at {lengths[-1]:,}"
        )
    for name, times in taken.items():
        ms = 1000 * np.asarray(times)
        right.semilogx(lengths, ms, "o-", color=COLOURS[name], markersize=4, label=name)
        said.append(f"{name} takes {ms[0]:.2f} ms, then {ms[-1]:.2f} ms")
    for ax in (left, right):
        ax.set_xticks([*lengths][::2], [f"{n:,}" for n in [*lengths][::2]])
        ax.minorticks_off()
        ax.set_xlabel("tokens so far")
    left.set_ylabel("bytes kept")
    right.set_ylabel("ms for one more token")
    right.set_ylim(0)
    left.legend()
    fig.tight_layout()
    show_described("Memory and time against length: " + "; ".join(said))


def draw_echo(echoes: Mapping[str, Any]) -> None:
    """How much of one changed token is left in the state, against the steps since; 1 is the largest."""
    echo_figure(echoes)
    ends = (f"{name}: {echo[-1]:.2g} of it after {len(echo) - 1} steps" for name, echo in echoes.items())
    show_described("What is left of a changed token: " + "; ".join(ends))


def echo_figure(echoes: Mapping[str, Any]) -> None:
    """The figure of `draw_echo`, not shown yet."""
    plt.figure(figsize=(6.4, 2.8))
    for (name, echo), colour in zip(echoes.items(), OTHERS):
        plt.semilogy(np.maximum(echo, 1e-4), color=colour, label=name)
    plt.ylim(3e-3, 2)
    plt.xlabel("tokens since the changed one")
    plt.ylabel("difference of the states\n(share of its peak)")
    plt.legend(loc="lower left")
    plt.tight_layout()


def draw_reach(
    curves: Mapping[str, Mapping[int, float]],
    what: str,
    chance: float | Mapping[int, float],
    trained: int | None = None,
) -> None:
    """Right answers (0 to 1) by size, of each model; `chance` is that of a guess, at all sizes or by size."""
    plt.figure(figsize=(6.4, 2.8))
    said = []
    sizes = sorted({size for curve in curves.values() for size in curve})
    for (name, curve), other in zip(curves.items(), OTHERS):
        colour = COLOURS.get(name, other)
        plt.semilogx([*curve], [100 * r for r in curve.values()], "o-", color=colour, label=name)
        said.append(f"{name} {', '.join(f'{100 * r:.0f} % at {size:,}' for size, r in curve.items())}")
    guess = {size: chance for size in sizes} if isinstance(chance, float) else chance
    plt.semilogx([*guess], [100 * r for r in guess.values()], color=GREY, linestyle=":", label="a guess")
    if trained:
        plt.axvline(trained, color=GREY, linewidth=0.8)
        plt.text(trained, 50, f" trained at {trained}", color="0.35", fontsize=8, ha="left")
    plt.xticks(sizes, [f"{size:,}" for size in sizes])
    plt.minorticks_off()
    plt.ylim(0, 105)
    plt.xlabel(what)
    plt.ylabel("right, in percent")
    plt.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize=8, frameon=False)
    plt.tight_layout()
    show_described(f"Right answers against {what}: " + "; ".join(said))
