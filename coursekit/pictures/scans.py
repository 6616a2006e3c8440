"""Pictures of scans: who waits for whom, a tree that one steps through, a shortcut that overflows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from coursekit.pictures.described import Described, described, stepper
from coursekit.pictures.plots import BLUE, GLOW, GREY, INK, ORANGE, PALE

# Who waits for whom


def draw_waits(tokens: int = 32, size: int = 8) -> Described:
    """After how many steps each token's state is there: by a loop, in chunks side by side, and by a tree.

    A step is one join, or many at the same time. The first token's state is there from the start.
    """
    times = np.arange(tokens)
    ways = {
        "loop": list(range(tokens)),
        f"chunks of {size}": _chunk_steps(tokens, size),
        "tree": _tree_steps(tokens),
    }
    figure, axes = plt.subplots(1, 3, figsize=(9, 2.9), sharey=True, layout="constrained")
    for ax, (name, done), colour in zip(axes, ways.items(), (GREY, ORANGE, BLUE)):
        ax.bar(times, done, color=colour, width=0.8)
        ax.axhline(max(done), color=INK, ls=":", lw=1)
        ax.set(
            title=f"{name}: {max(done)} steps",
            xlabel="token",
            xticks=times[:: max(tokens // 4, 1)],
            yticks=range(0, tokens + 1, max(tokens // 4, 1)),
            ylim=(0, tokens + 1),
        )
    axes[0].set_ylabel("step in which its state is done")
    alt = "Bars over tokens: the step in which a token's state is done. " + "; ".join(
        f"{name}: {', '.join(map(str, done))}" for name, done in ways.items()
    )
    return described(figure, alt)


def _chunk_steps(tokens: int, size: int) -> list[int]:
    """All chunks at once, then one carry after the other; those of a chunk take theirs together."""
    return [t if t < size else size - 1 + t // size for t in range(tokens)]


def _tree_steps(tokens: int) -> list[int]:
    """Up the tree, then down."""
    done, stride, step = [0] * tokens, 1, 0
    while 2 * stride <= tokens:
        step += 1
        done[2 * stride - 1] = step
        stride *= 2
    stride //= 2
    while stride > 1:
        stride //= 2
        step += 1
        for i in range(3 * stride - 1, tokens, 2 * stride):
            done[i] = step
    return done


# The tree, step by step


def draw_tree(a: Sequence[float], b: Sequence[float]) -> Described:
    """A tree of pairs over a power of two of tokens, a row for each step: move through the steps."""
    rows = tree_rows(a, b)
    stills = [_tree_still(rows[: i + 1]) for i in range(len(rows))]
    last = [pair[1] for pair in rows[-1][1]]
    alt = (
        f"A tree of pairs over {len(b)} tokens in {len(rows) - 1} steps: "
        + "; ".join(
            f"{name}: " + ", ".join(f"({p:.3g}, {q:.3g})" for p, q in pairs) for name, pairs, _ in rows
        )
        + ". At the end the second numbers are the states: "
        + ", ".join(f"{each:.3g}" for each in last)
    )
    stills[-1] = replace(stills[-1], alt=alt)
    return stepper(stills, "step", "step of the tree")


Row = tuple[str, Sequence[tuple[float, ...]], list[tuple[int, int]]]  # name, pairs, (from, to) of this step


def tree_rows(a: Sequence[float], b: Sequence[float]) -> list[Row]:
    """The pairs at the start and after each step, and who took in whom."""
    n = len(b)
    if n < 2 or n & (n - 1) or len(a) != n:
        raise ValueError(f"draw_tree: as many a as b, a power of two of them, not {len(a)} and {n}")
    pairs = [(float(p), float(q)) for p, q in zip(a, b)]
    rows: list[Row] = [("start", list(pairs), [])]

    def step(name: str, moves: list[tuple[int, int]]) -> None:
        for left, right in moves:
            (p, q), (r, s) = pairs[left], pairs[right]
            pairs[right] = (r * p, r * q + s)
        rows.append((name, list(pairs), moves))

    stride = 1
    while 2 * stride <= n:
        step("up", [(i - stride, i) for i in range(2 * stride - 1, n, 2 * stride)])
        stride *= 2
    stride //= 2
    while stride > 1:
        stride //= 2
        step("down", [(i - stride, i) for i in range(3 * stride - 1, n, 2 * stride)])
    return rows


def _tree_still(rows: Sequence[Row], height: int = 6, inches: float = 0.85) -> Described:
    """An arrow to the right is added to what stands there; one to the left, in blue, takes its place."""
    n = len(rows[0][1])
    figure, ax = plt.subplots(figsize=(0.9 * n, inches * height))
    for y, (name, values, moves) in enumerate(rows):
        ax.text(-0.75, -y, name, ha="right", va="center", color=INK)
        changed = {to for _, to in moves}
        for source, to in (move for move in moves if move[0] != move[1]):
            colour = GLOW if source < to else BLUE
            arrow = {"arrowstyle": "->", "color": colour}
            ax.annotate("", (to, -y + 0.32), (source, -y + 0.68), arrowprops=arrow)
            if source < to:
                ax.plot([to, to], [-y + 0.32, -y + 0.68], color=colour, lw=1)
        for x, each in enumerate(values):
            edge, width = (GLOW, 2.0) if x in changed else (GREY, 0.8)
            box = {
                "boxstyle": "round,pad=0.32",
                "fc": PALE if x in changed else "white",
                "ec": edge,
                "lw": width,
            }
            text = "\n".join(f"{number:.3g}" for number in each)
            ax.text(x, -y, text, ha="center", va="center", fontsize=10, bbox=box, color=INK)
    ax.set(xlim=(-1.5, n - 0.4), ylim=(-height + 0.5, 0.5))
    ax.axis("off")
    return described(figure, f"{len(rows) - 1} steps")


# A scan of plain sums, step by step


def draw_scan(numbers: Sequence[float], steps: Mapping[str, Sequence[tuple[int, int]]]) -> Described:
    """A scan of sums, a row for each step: move through the steps. Each has a name and pairs (source, to)."""
    rows = scan_rows(numbers, steps)
    stills = [_tree_still(rows[: i + 1], len(rows), 0.62) for i in range(len(rows))]
    alt = f"A scan of {len(numbers)} numbers in {len(steps)} steps, a row after each: " + "; ".join(
        f"{name}: {', '.join(f'{each:.3g}' for (each,) in values)}" for name, values, _ in rows
    )
    stills[-1] = replace(stills[-1], alt=alt)
    return stepper(stills, "step", "step of the scan")


def scan_rows(numbers: Sequence[float], steps: Mapping[str, Sequence[tuple[int, int]]]) -> list[Row]:
    """The numbers at the start and after each step.

    A source to the left is added to what stands there; one to the right takes its place. A source that is the
    place itself sets it to 0.
    """
    row = [float(each) for each in numbers]
    rows: list[Row] = [("start", [(each,) for each in row], [])]
    for name, moves in steps.items():
        before = list(row)
        for source, to in moves:
            row[to] = before[source] + before[to] if source < to else before[source] if source > to else 0.0
        rows.append((name, [(each,) for each in row], list(moves)))
    return rows


# A carry from chunk to chunk, step by step


def draw_carry(a: Sequence[float], b: Sequence[float], lanes: int) -> Described:
    """A warp of so many lanes that scans one chunk after the other: move through the chunks.

    Two steps for each: its pairs are scanned as if nothing had come before, then take the carry in.
    """
    if len(a) != len(b) or len(b) % lanes:
        raise ValueError(f"draw_carry: as many a as b, a multiple of {lanes}, not {len(a)} and {len(b)}")
    rows = carry_rows(a, b, lanes)
    count = len(b) // lanes
    stills = [_carry_still(list(zip(a, b)), rows, lanes, done) for done in range(2 * count + 1)]
    told = (
        f"chunk {i}: scanned {', '.join(f'({p:g}, {q:g})' for p, q in pairs)}, carry {carry:g}, "
        f"states {', '.join(f'{h:g}' for h in states)}"
        for i, (pairs, carry, states) in enumerate(rows)
    )
    alt = f"A warp of {lanes} lanes scans {len(b)} tokens in {count} chunks. {'; '.join(told)}"
    stills[-1] = replace(stills[-1], alt=alt)
    return stepper(stills, "step", "step of the warp")


Chunk = tuple[list[tuple[float, float]], float, list[float]]  # scanned pairs, the carry that comes in, states


def carry_rows(a: Sequence[float], b: Sequence[float], lanes: int) -> list[Chunk]:
    """What a warp makes of each chunk."""
    rows: list[Chunk] = []
    carry = 0.0
    for start in range(0, len(b), lanes):
        pairs, joined = [], (1.0, 0.0)
        for p, q in zip(a[start : start + lanes], b[start : start + lanes]):
            joined = (float(p * joined[0]), float(p * joined[1] + q))
            pairs.append(joined)
        states = [p * carry + q for p, q in pairs]
        rows.append((pairs, carry, states))
        carry = states[-1]
    return rows


def _carry_still(
    tokens: Sequence[tuple[float, float]], rows: Sequence[Chunk], lanes: int, done: int
) -> Described:
    """The first `done` steps of the warp."""
    wide = lanes + 1.3  # of a chunk, with the place of its carry
    figure, ax = plt.subplots(figsize=(0.52 * wide * len(rows), 3.2))

    def box(x: float, y: float, text: str, now: bool, colour: str = GLOW) -> None:
        style = {"boxstyle": "round,pad=0.3", "fc": PALE if now else "white", "ec": colour if now else GREY}
        ax.text(x, y, text, ha="center", va="center", fontsize=10, color=INK, bbox=style)

    for i, (pairs, carry, states) in enumerate(rows):
        ax.text(wide * i + (lanes - 1) / 2, 0.75, f"chunk {i}", ha="center", color=BLUE)
        for lane in range(lanes):
            x = wide * i + lane
            p, q = tokens[lanes * i + lane]
            box(x, 0, f"{p:g}\n{q:g}", False)
            if done > 2 * i:
                box(x, -1.2, f"{pairs[lane][0]:g}\n{pairs[lane][1]:g}", done == 2 * i + 1)
            if done > 2 * i + 1:
                box(x, -2.3, f"{states[lane]:g}", done == 2 * i + 2)
        if done > 2 * i + 1:
            box(wide * i - 1.05, -2.3, f"{carry:g}", True, BLUE)
        if done > 2 * i + 1 and i + 1 < len(rows):
            arrow = {"arrowstyle": "->", "color": BLUE, "connectionstyle": "arc3,rad=0.4"}
            ax.annotate("", (wide * (i + 1) - 1.05, -2.6), (wide * i + lanes - 1, -2.6), arrowprops=arrow)
    for y, label in ((0, "a\nb"), (-1.2, "scanned"), (-2.3, "state")):
        ax.text(-1.7, y, label, ha="right", va="center", color=INK)
    ax.set(xlim=(-3.2, wide * len(rows) - 0.6), ylim=(-3.1, 1.1))
    ax.axis("off")
    return described(figure, f"{done} steps")


# The shortcut


def draw_overflow(
    shortcut: Callable[[Any, Any], Any], steps: Sequence[float], rate: float = -16.0, tokens: int = 80
) -> Described:
    """How far off `shortcut(a, b)` is at each token, for several constant steps, in float32."""
    figure, ax = plt.subplots(figsize=(7, 2.8))
    told = []
    for delta, colour in zip(steps, (ORANGE, BLUE, GREY, INK)):
        a = np.full(tokens, np.exp(delta * rate), np.float32)
        with np.errstate(all="ignore"):
            found = shortcut(a, np.ones(tokens, np.float32)).astype(float)
        right, h = [], 0.0
        for each in a.astype(float):
            h = each * h + 1
            right.append(h)
        off = np.abs(found - right) / np.abs(right)
        good = np.isfinite(off)
        end = int(good.argmin()) if not good.all() else tokens
        ax.semilogy(np.arange(end), off[:end].clip(1e-9), color=colour, label=f"Δ = {delta:g}")
        if end < tokens:
            ax.plot(end, 1e-1, "X", color=colour, ms=9)
        told.append(
            f"delta {delta:g}: " + (f"not a number from token {end} on" if end < tokens else "finite")
        )
    ax.set(xlabel="token", ylabel="relative error", ylim=(1e-9, 1))
    ax.legend(frameon=False, loc="upper right")
    return described(
        figure, "Error of the shortcut over tokens, with a cross where it ends. " + "; ".join(told)
    )


# Measured


def draw_ways(times: Mapping[str, Sequence[float]], lengths: Sequence[int]) -> Described:
    """Microseconds a token, of each way, over the length of the sequence; `times` are seconds in all."""
    figure, ax = plt.subplots(figsize=(6, 2.8))
    for (name, each), style in zip(times.items(), ("s--", "o-", "^:", "v-.")):
        ax.semilogx(lengths, [1e6 * t / n for t, n in zip(each, lengths)], style, label=name)
    ax.set(xlabel="tokens", ylabel="microseconds a token")
    ax.set_ylim(bottom=0)
    ax.set_xticks(lengths, map(str, lengths))
    ax.minorticks_off()
    ax.legend(frameon=False)
    alt = "Microseconds a token, over tokens. " + "; ".join(
        f"{name}: " + ", ".join(f"{1e6 * t / n:.0f} at {n}" for n, t in zip(lengths, each))
        for name, each in times.items()
    )
    return described(figure, alt)
