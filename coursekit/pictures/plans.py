"""Pictures of programs that are rewritten and planned: what goes, what shares a loop, who lies where."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.patches import Circle, Rectangle

from coursekit.pictures.described import Described, described, drawn, stepper
from coursekit.pictures.plots import BLUE, GREY, INK, LIGHT, ORANGE, PALE, RED
from minilib.draw import palette

SIGNS = {
    "Mul": "×", "Add": "+", "Sub": "−", "Neg": "−", "Div": "÷", "Pow": "^", "Sum": "Σ", "LongSum": "Σ",  # noqa: RUF001
    "SumTo": "Σ", "Sqrt": "√", "Sigmoid": "σ", "Tanh": "tanh", "Exp": "exp", "Log": "log", "MatMul": "@",  # noqa: RUF001
    "Assign": "←", "Expand": "⇢", "Fill": "1", "Placeholder": "x", "Part": "·", "Reshape": "▭",
    "Identity": "W",
}  # fmt: skip


# Passes


def draw_passes(programs: Mapping[str, Sequence[Any]], by_hand: Collection[str]) -> Described:
    """A program after each pass, to step through: what has gone is pale, what goes next is red.

    Nodes keep their names through passes; those whose name is in `by_hand` are blue, the others orange.
    """
    (_, first), *_ = programs.items()
    places = _layers(first)
    frames = []
    names = list(programs)
    for k, (title, program) in enumerate(programs.items()):
        left = {node.name for node in programs[names[k + 1]]} if k + 1 < len(names) else None
        frames.append(_program(title, program, first, places, by_hand, left))
    if len(frames) == 1:  # nothing to step through
        return frames[0]
    return stepper(frames, "pass", "the pass after which the program is shown", still=frames[0])


def _layers(program: Sequence[Any]) -> dict[str, tuple[float, float]]:
    """A place for each node: behind its inputs, and near their rows."""
    depth: dict[str, int] = {}
    for node in program:
        depth[node.name] = 1 + max((depth.get(x.name, 0) for x in node.inputs), default=0)
    readers: dict[str, list[int]] = {}
    for node in program:
        for x in node.inputs:
            readers.setdefault(x.name, []).append(depth[node.name])
    for node in program:  # a constant stands beside its first reader
        if not node.inputs and node.name in readers:
            depth[node.name] = max(1, min(readers[node.name]) - 1)
    places: dict[str, tuple[float, float]] = {}
    taken: set[tuple[int, int]] = set()
    for node in sorted(program, key=lambda node: depth[node.name]):
        rows = [places[x.name][1] for x in node.inputs if x.name in places]
        wish = round(sum(rows) / len(rows)) if rows else 0
        row = min(range(-6, 7), key=lambda r: ((depth[node.name], r) in taken, abs(r - wish), r))
        taken.add((depth[node.name], row))
        places[node.name] = (float(depth[node.name]), float(row))
    return places


def _program(
    title: str, program: Sequence[Any], first: Sequence[Any], places: Mapping[str, tuple[float, float]],
    by_hand: Collection[str], left: Collection[str] | None,
) -> Described:  # fmt: skip
    there = {node.name: node for node in program}
    rows = [y for _, y in places.values()]
    wide, high = max(x for x, _ in places.values()) + 1, max(rows) - min(rows) + 2
    figure, ax = plt.subplots(figsize=(0.42 * wide, 0.42 * high + 0.5))
    for node in program:
        for x in node.inputs:
            if x.name in places:
                ax.plot(*zip(places[x.name], places[node.name]), color=LIGHT, linewidth=1, zorder=1)
    for node in first:
        x, y = places[node.name]
        now = there.get(node.name)
        if now is None:
            ax.add_patch(Circle((x, y), 0.3, fc="white", ec=LIGHT, lw=0.8, zorder=2))
            continue
        going = left is not None and node.name not in left
        fill = PALE if node.name in by_hand else palette.SAND[0]
        edge = RED if going else (BLUE if node.name in by_hand else ORANGE)
        ax.add_patch(Circle((x, y), 0.4, fc=fill, ec=edge, lw=2.4 if going else 1.2, zorder=2))
        sign = _sign(now)
        ax.text(x, y, sign, ha="center", va="center", size=9 if len(sign) < 3 else 7, color=INK, zorder=3)
    ax.set(xlim=(0.2, wide), ylim=(min(rows) - 0.8, max(rows) + 0.8), aspect="equal")
    ax.set_title(f"{title}: {len(program)} nodes", loc="left", fontsize=11, color=INK)
    ax.axis("off")
    gone = [node.name for node in program if left is not None and node.name not in left]
    told = f"; the next pass takes away {', '.join(gone)}" if gone else ""
    return described(figure, f"The program, {title}: {len(program)} nodes{told}.")


def _sign(node: Any) -> str:
    if node.type == "Constant" and node.f.value.size == 1:
        return f"{node.f.value.item():.3g}".replace("1e-05", "ε")
    return SIGNS.get(node.type, str(node.type)[:4])


# Loops


def draw_blocks(rows: Sequence[int], seconds: Sequence[float], whole: float) -> Described:
    """Milliseconds of a chain of operations over the rows of a block, and of one after the other."""
    figure, ax = plt.subplots(figsize=(6.2, 2.9), layout="constrained")
    ax.axhline(1e3 * whole, color=GREY, linestyle="--", label="one operation after the other")
    ax.plot(rows, [1e3 * t for t in seconds], "o-", color=BLUE, label="all operations, block by block")
    ax.set_xscale("log", base=2)
    ax.set_yscale("log", base=2)
    ax.set(xlabel="rows in a block", ylabel="milliseconds")
    ax.set_xticks(rows, [f"{n:,}" for n in rows])
    ax.yaxis.set_major_formatter("{x:g}")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    told = ", ".join(f"{1e3 * t:.3g} at {n}" for n, t in zip(rows, seconds))
    return described(
        figure, f"Milliseconds over the rows in a block: {told}; without blocks {1e3 * whole:.3g}."
    )


# Memory


def draw_addresses(
    spans: Mapping[Any, tuple[int, int]], sizes: Mapping[Any, int], plans: Mapping[str, Mapping[Any, int]]
) -> Described:
    """For each plan, where in memory each array lies and when, to play: the block fills up as time goes on.

    Dark is what is alive at the step that is shown. The dashed line is the peak, below which no plan stays.
    """
    births = sorted({first for first, _ in spans.values()})
    steps = births[:: -(-len(births) // 10)]
    last = max(step for _, step in spans.values())
    frames = [_addresses(spans, sizes, plans, now, last) for now in steps]
    whole = _addresses(spans, sizes, plans, None, last)
    return stepper([*frames, whole], "step", "the step of the program", still=whole, play=True)


def _addresses(
    spans: Mapping[Any, tuple[int, int]], sizes: Mapping[Any, int],
    plans: Mapping[str, Mapping[Any, int]], now: int | None, last: int,
) -> Described:  # fmt: skip
    unit = 2**20 if max(sizes.values()) > 2**19 else 2**10
    ends = {name: max(places[n] + sizes[n] for n in places) for name, places in plans.items()}
    alive = {n for n, (a, b) in spans.items() if now is None or a <= now <= b}
    live = [sum(sizes[n] for n, (a, b) in spans.items() if a <= t <= b) for t in range(last + 1)]
    figure, axes = plt.subplots(
        1, len(plans), figsize=(4.4 * len(plans), 3.1), sharey=True, squeeze=False, layout="constrained"
    )
    for ax, (name, places) in zip(axes[0], plans.items()):
        for node, start in places.items():
            a, b = spans[node]
            if now is not None and a > now:
                continue
            box = Rectangle((a, start / unit), b - a + 1, sizes[node] / unit, lw=0.8)
            box.set(fc=BLUE if node in alive else PALE, ec="white", zorder=2)
            ax.add_patch(box)
        ax.axhline(max(live) / unit, color=ORANGE, linestyle="--", zorder=3)
        if now is not None:
            ax.axvline(now + 0.5, color=INK, linewidth=0.8, zorder=1)
        ax.set(xlim=(0, last + 1), ylim=(0, 1.03 * max(ends.values()) / unit), xlabel="step of the program")
        ax.set_title(
            f"{name}: {ends[name] / unit:.3g} {'MiB' if unit > 1024 else 'KiB'}", loc="left", size=10
        )
        ax.spines[["top", "right"]].set_visible(False)
    axes[0, 0].set_ylabel("address, " + ("MiB" if unit > 1024 else "KiB"))
    told = "; ".join(f"{name} ends at {end / unit:.3g}" for name, end in ends.items())
    when = (
        "All steps"
        if now is None
        else f"Step {now}: {sum(sizes[n] for n in alive) / unit:.3g} of memory are alive"
    )
    return described(figure, f"{when}. {told}; the peak of what is alive is {max(live) / unit:.3g}.")


# Traces


def step_trace(function: Callable[..., Any], arguments: Sequence[Any], nodes: Sequence[Any]) -> Described:
    """A call of a function, line by line, and beside it the nodes that each line has written.

    `nodes` is the list of the graph, which grows while the function runs.
    """
    code, first = inspect.getsourcelines(function)
    seen: list[tuple[int, int]] = []  # lines, and how many nodes there were before each

    def watch(frame: Any, event: str, _: Any) -> Any:
        if frame.f_code is not function.__code__:
            return None
        if event in ("line", "return"):
            seen.append((frame.f_lineno - first, len(nodes)))
        return watch

    outer, start = sys.gettrace(), len(nodes)
    sys.settrace(watch)
    try:
        function(*arguments)
    finally:
        sys.settrace(outer)
    made = nodes[start:]
    given = list(dict.fromkeys(x for node in made for x in node.inputs if x not in set(made)))
    places = _layers([*given, *made])
    frames = [
        _traced(code, line, given, made[: count - start], made[count - start : after - start], places)
        for (line, count), (_, after) in pairwise(seen)
    ]
    return stepper(frames, "line", "how many lines of Python have run", play=True)


def _traced(
    code: Sequence[str], line: int, given: Sequence[Any], old: Sequence[Any], new: Sequence[Any],
    places: Mapping[str, tuple[float, float]],
) -> Described:  # fmt: skip
    """The code with the line that ran; what the function was given, and the nodes, of which some are new."""
    rows = [y for _, y in places.values()]
    wide, high = max(x for x, _ in places.values()) + 1, max(rows) - min(rows) + 2
    left, tall = 0.095 * max(map(len, code)) + 0.3, max(0.28 * len(code), 0.62 * high)
    figure, (text, ax) = plt.subplots(
        1, 2, figsize=(left + 0.62 * wide, tall), width_ratios=(left, 0.62 * wide), layout="constrained"
    )
    for i, words in enumerate(code):
        now = {"facecolor": palette.GLOW[0], "edgecolor": "none", "pad": 2.5} if i == line else None
        text.text(0, -i, words.rstrip(), size=10, family="monospace", va="center", color=INK, bbox=now)
    text.set(xlim=(0, 1), ylim=(0.5 - len(code), 0.5))
    there = {node.name for node in (*given, *old, *new)}
    for look, nodes in ((palette.SAND, given), (palette.BLUE, old), (palette.GLOW, new)):
        for node in nodes:
            for x in (x for x in node.inputs if x.name in there):
                ax.plot(*zip(places[x.name], places[node.name]), color=LIGHT, linewidth=1.4, zorder=1)
            ax.add_patch(Circle(places[node.name], 0.4, fc=look[0], ec=look[1], lw=1.4, zorder=2))
            ax.text(*places[node.name], _sign(node), ha="center", va="center", size=9, color=INK, zorder=3)
    ax.set(xlim=(0.2, wide), ylim=(min(rows) - 0.8, max(rows) + 0.8), aspect="equal")
    for side in (text, ax):
        side.axis("off")
    told = ", ".join(node.type for node in new) or "no node"
    so_far = len(old) + len(new)
    return Described(
        drawn(figure, 72, None), f"{code[line].strip()} has written {told}; so far {so_far} nodes."
    )


def draw_guard(condition: str, branch: str, other: str, taken: bool) -> Described:
    """A function with a choice, and the program of one trace: the branch that was taken, behind a guard."""
    figure, axes = plt.subplots(1, 2, figsize=(8.4, 2.3))
    boxes = {
        "the function": [(0.3, 1.3, f"if {condition}", PALE), (3, 2.2, branch, PALE), (3, 0.4, other, PALE)],
        "the program": [
            (0.3, 1.3, f"guard: {taken}?\n{condition}", palette.SAND[0]),
            (3, 2.2 if taken else 0.4, branch if taken else other, PALE),
            (3, 0.4 if taken else 2.2, "an error", "white"),
        ],
    }
    for ax, (title, cells) in zip(axes, boxes.items()):
        for x, y, text, colour in cells:
            dashed = "--" if colour == "white" else "-"
            ax.add_patch(Rectangle((x, y), 1.9, 0.9, fc=colour, ec=INK, lw=1, linestyle=dashed))
            ax.text(x + 0.95, y + 0.45, text, ha="center", va="center", size=9, color=INK)
        for end in (2.65, 0.85):
            ax.annotate("", (3, end), (2.2, 1.75), arrowprops={"arrowstyle": "-|>", "color": GREY})
        ax.set(xlim=(0, 5.2), ylim=(0, 3.4))
        ax.set_title(title, loc="left", fontsize=10, color=INK)
        ax.axis("off")
    return described(
        figure,
        f"The function leads to {branch} where {condition}, else to {other}. The program has a guard that "
        f"{condition} is {taken}, and behind it {branch if taken else other} alone; otherwise an error.",
    )


def draw_twice(one: Any, other: Any) -> Described:
    """Two traces of one function side by side, node by node; red where they differ."""
    programs = [_program_of(one), _program_of(other)]
    high = max(map(len, programs))
    figure, ax = plt.subplots(figsize=(7.6, 0.42 * high + 0.5))
    told = []
    for x, program in zip((0, 4), programs):
        for i, node in enumerate(program):
            differs = any(i >= len(rows) or _line(rows[i]) != _line(node) for rows in programs)
            ax.add_patch(
                Rectangle((x, -i), 3.5, 0.8, fc=PALE, ec=RED if differs else BLUE, lw=2.2 if differs else 0.9)
            )
            ax.text(x + 0.15, 0.4 - i, _line(node), va="center", size=9, color=INK)
            if differs:
                told.append(_line(node))
    ax.set(xlim=(-0.1, 7.7), ylim=(-high + 0.8, 1))
    ax.axis("off")
    return described(figure, f"Two traces of {high} nodes, side by side. They differ in: {'; '.join(told)}.")


def _program_of(node: Any) -> list[Any]:
    found: dict[Any, None] = {}

    def visit(one: Any) -> None:
        for x in one.inputs:
            visit(x)
        found.setdefault(one)

    visit(node)
    return list(found)


def _line(node: Any) -> str:
    if node.type == "Constant" and node.f.value.size == 1:
        return f"{node.name} = {node.f.value.item():g}"
    return f"{node.name} of {', '.join(x.name for x in node.inputs)}" if node.inputs else node.name


def draw_file(model: Any, length: int) -> Described:
    """What the bytes of an ONNX file are: weights, by their names, and all the rest."""
    sizes = {weight.name: len(weight.raw_data) for weight in model.graph.initializer}
    sizes["the program"] = length - sum(sizes.values())
    figure, ax = plt.subplots(figsize=(8.2, 1.2))
    at = 0
    colours = [BLUE, GREY]
    for i, (name, size) in enumerate(sizes.items()):
        colour = ORANGE if name == "the program" else colours[i % 2]
        ax.barh(0, size, left=at, color=colour, edgecolor="white")
        place = (at + size / 2, 0.5 + 0.28 * (i % 2))
        ax.text(*place, f"{name}: {size}", ha="center", va="bottom", size=8.5, color=INK)
        at += size
    ax.set(xlim=(0, length), ylim=(-0.45, 1.2), yticks=[], xlabel="bytes")
    ax.spines[["top", "right", "left"]].set_visible(False)
    return described(figure, "Bytes of the file. " + "; ".join(f"{k}: {v}" for k, v in sizes.items()))
