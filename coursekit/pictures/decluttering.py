"""Pictures of part 10c: nodes that go, a program's memory, and where its time goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.patches import Rectangle

from coursekit.pictures.described import Described, described, stepper
from coursekit.pictures.plots import BLUE, GREY, INK, LIGHT, ORANGE, PALE

HEAVY = {"MatMul", "Gemm", "Linear", "Conv", "MultiHeadAttention", "ScaledDotProductAttention"}
MOVES = {"Transpose", "Reshape", "Slice", "Split", "Flatten", "Squeeze", "Unsqueeze", "Concat", "Shape"}
SHORT = {
    "LayerNormalization": "LayerNorm", "BatchNormalization": "BatchNorm", "MultiHeadAttention": "Heads",
    "ScaledDotProductAttention": "Attention", "GlobalAveragePool": "GlobalAvg", "AveragePool": "AvgPool",
}  # fmt: skip


def _short(op: str) -> str:
    return SHORT.get(op, op)


def _colour(op: str) -> str:
    return BLUE if op in HEAVY else ORANGE if op in MOVES else "white" if op == "Identity" else PALE


def draw_chains(graphs: Mapping[str, Any]) -> Described:
    """The nodes of small graphs, in order, a row for each; what comes out of a node stands below it."""
    most = max(len(graph.nodes) for graph in graphs.values())
    figure, ax = plt.subplots(figsize=(1.06 * most + 0.4, 1.25 * len(graphs)), layout="constrained")
    told = []
    for row, (title, graph) in enumerate(graphs.items()):
        top = -1.6 * row
        ax.text(0, top + 0.72, f"{title}: {len(graph.nodes)} nodes", ha="left", va="bottom", color=INK)
        for i, node in enumerate(graph.nodes):
            _box(ax, 1.2 * i, top, 1.1, 0.6, node.op)
            fact = graph.facts.get(node.outputs[0])
            ax.text(1.2 * i + 0.55, top - 0.08, "" if fact is None else str(fact).removesuffix(",f32"),
                    ha="center", va="top", fontsize=8, color=GREY)  # fmt: skip
        told.append(f"{title}: {' '.join(node.op for node in graph.nodes)}")
    ax.set(xlim=(-0.1, 1.2 * most), ylim=(-1.6 * (len(graphs) - 1) - 0.4, 1.15))
    ax.axis("off")
    return described(figure, ". ".join(told))


def _box(ax: Any, x: float, y: float, wide: float, high: float, op: str) -> None:
    colour = _colour(op)
    ax.add_patch(Rectangle((x, y), wide, high, facecolor=colour, edgecolor=INK, linewidth=0.8))
    ink = "white" if colour in (BLUE, ORANGE) else INK
    text = _short(op)
    ax.text(x + wide / 2, y + high / 2, text, ha="center", va="center", color=ink,
            fontsize=9 if len(text) < 9 else 7.5)  # fmt: skip


def draw_sweeps(stages: Sequence[tuple[str, Any]]) -> Described:
    """A slider over the stages of declutter: a tile for each node; what has gone leaves its space."""
    most = max(len(graph.nodes) for _, graph in stages)
    return stepper(
        [_tiles(title, graph, most) for title, graph in stages],
        "sweep",
        "how many sweeps of all rules have been made",
    )


def _tiles(title: str, graph: Any, most: int, columns: int = 10) -> Described:
    rows = -(-most // columns)
    figure, ax = plt.subplots(figsize=(7.6, 0.33 * rows + 0.5), layout="constrained")
    for i in range(most):
        row, column = divmod(i, columns)
        if i < len(graph.nodes):
            _box(ax, column, -row, 0.94, 0.86, graph.nodes[i].op)
        else:
            ax.add_patch(Rectangle((column, -row), 0.94, 0.86, facecolor="none", edgecolor=LIGHT))
    ax.set(xlim=(-0.1, columns + 0.1), ylim=(-rows + 0.9, 1.0), title=f"{title}: {len(graph.nodes)} nodes")
    ax.axis("off")
    counted = ", ".join(f"{times} {op}" for op, times in graph.count().most_common())
    return described(figure, f"{title}: {len(graph.nodes)} nodes: {counted}")


def draw_laid_out(program: Any, title: str = "") -> Described:
    """Where each piece of a program's memory lies while it lives: addresses over lines of the program."""
    figure, ax = plt.subplots(figsize=(7.4, 3.0), layout="constrained")
    for i, (start, size, first, last, owner) in enumerate(program.places):
        colour = (BLUE, ORANGE, PALE, GREY)[i % 4]
        ax.add_patch(Rectangle((first, start / 1024), last - first + 1, size / 1024, facecolor=colour,
                               edgecolor="white", linewidth=0.6))  # fmt: skip
        if size > 0.08 * program.bytes:
            ax.text((first + last + 1) / 2, (start + size / 2) / 1024, owner, ha="center", va="center",
                    fontsize=8, color="white" if colour in (BLUE, ORANGE) else INK)  # fmt: skip
    end = max((last for *_, last, _ in program.places), default=0) + 1
    ax.axhline(program.live_bytes / 1024, color=INK, linewidth=1, linestyle="--")
    ax.set(xlim=(0, end), ylim=(0, 1.12 * program.bytes / 1024), xlabel="line of the program", ylabel="KiB")
    ax.set_title(title or f"{len(program.places)} pieces in {program.bytes:,} bytes", fontsize=10)
    return described(
        figure,
        f"{len(program.places)} pieces of memory over {end} lines. Together they would take "
        f"{program.all_bytes:,} bytes; laid over each other they take {program.bytes:,}, and "
        f"{program.live_bytes:,} are alive at one time (dashed)",
    )


def draw_flame(
    rows: Sequence[Mapping[str, Any]], title: str = "a run, node by node", most: int = 12
) -> Described:
    """A profile as a flame: below the whole run, its operators; above each, its nodes; wide is slow.

    A slider goes through the run, node by node (the `most` slowest), and ends with the whole.
    """
    slowest = sorted(range(len(rows)), key=lambda i: -rows[i]["seconds"])[:most]
    frames = [_flame(rows, title, rows[i]) for i in sorted(slowest)]
    return stepper([*frames, _flame(rows, title, None)], "node", "which node of the run is looked at")


def _flame(rows: Sequence[Mapping[str, Any]], title: str, seen: Mapping[str, Any] | None) -> Described:
    whole = sum(row["seconds"] for row in rows)
    by_op: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        by_op.setdefault(row["op"], []).append(row)
    ordered = sorted(by_op.items(), key=lambda one: -sum(row["seconds"] for row in one[1]))
    figure, ax = plt.subplots(figsize=(8.2, 2.6), layout="constrained")
    _span(ax, 0, whole, 0, f"{title}: {1e6 * whole:,.0f} µs", PALE, whole)
    at, told = 0.0, []
    for op, some in ordered:
        spent = sum(row["seconds"] for row in some)
        _span(ax, at, spent, 1, _short(op), _colour(op), whole, faint=seen is not None and seen["op"] != op)
        inner = at
        for row in sorted(some, key=lambda row: -row["seconds"]):
            faint = seen is not None and row is not seen
            _span(ax, inner, row["seconds"], 2, row["name"].split("/")[-1], _colour(op), whole, faint)
            inner += row["seconds"]
        at += spent
        told.append(f"{op} {spent / whole:.0%} in {len(some)}")
    about = f"Shares of {title}: {', '.join(told)}"
    if seen is not None:
        share, size = f"{seen['seconds'] / whole:.0%} of the time", seen["result"]
        about = f"{seen['op']}: {share}, {str(seen['cost']).replace(' ', '')} FMA; its result is {size}"
    ax.set(xlim=(0, whole), ylim=(0, 3))
    ax.set_title("the whole run" if seen is None else about, fontsize=10, loc="left")
    ax.axis("off")
    return described(figure, about)


def _span(
    ax: Any, start: float, wide: float, level: int, text: str, colour: str, whole: float, faint: bool = False
) -> None:
    clear = 0.3 if faint else 1.0
    ax.add_patch(Rectangle((start, level), wide, 0.94, facecolor=colour, edgecolor="white", linewidth=0.8,
                           alpha=clear))  # fmt: skip
    room = int(wide / whole * 105)
    if len(text) > room:
        text = "" if room < 4 else text[: room - 1] + "…"
    ink = "white" if colour in (BLUE, ORANGE) else INK
    ax.text(start + wide / 2, level + 0.47, text, ha="center", va="center", color=ink, fontsize=8)
