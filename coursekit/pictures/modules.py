"""Chapter 03c: the tree of a network's modules, whose names light up as they are found."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from coursekit.pictures.described import Described, drawn, stepper
from coursekit.pictures.plots import BLUE, GREY, INK, LIGHT, ORANGE


def step_names(model: Any) -> Described:
    """The modules below `model` as a tree, with their parameters; a slider goes from one to the next."""
    frames = [_lit(model, path) for path, _ in model.named_parameters()]
    return stepper(frames, "parameter", "which parameter is found", play=True)


def _lit(model: Any, target: str) -> Described:
    """The tree, with the way to the parameter at the path `target`."""
    modules = dict(model.named_modules())
    rows = _rows(modules)
    figure = Figure(figsize=(6.2, 0.4 * len(rows) + 0.6), layout="constrained")
    ax = figure.subplots()
    parts = target.split(".")
    on_the_way = {".".join(parts[:k]) for k in range(len(parts) + 1)}
    height = {path: y for y, (path, _) in enumerate(rows)}
    for y, (path, said) in enumerate(rows):
        depth, lit = path.count(".") + bool(path), path in on_the_way
        is_module = path in modules
        colour = ORANGE if path == target else BLUE if lit else LIGHT
        if path:
            above = height[path.rpartition(".")[0]]
            x = 0.9 * (depth - 1) + 0.25
            ax.plot([x, x, x + 0.6], [above + 0.4, y, y], color=BLUE if lit else GREY, lw=2 if lit else 0.8)
        if is_module:
            box = FancyBboxPatch(
                (0.9 * depth, y - 0.3), 2.3, 0.6, boxstyle="round,pad=0.02", fc=colour, ec="none"
            )
            ax.add_patch(box)
        name = path.rpartition(".")[2] or "model"
        ink = "white" if is_module and lit else INK if is_module or path != target else ORANGE
        ax.text(
            0.9 * depth + 0.08,
            y,
            name,
            va="center",
            color=ink,
            fontsize=10,
            weight="bold" if lit else "normal",
        )
        ax.text(0.9 * depth + (2.2 if is_module else 0.9), y, said, va="center", fontsize=9,
                ha="right" if is_module else "left", color=ink)  # fmt: skip
    ax.set(xlim=(-0.1, 6.2), ylim=(len(rows) - 0.4, -0.6))
    ax.axis("off")
    ax.set_title(f"found: {target}", fontsize=11, loc="left", color=INK)
    lines = ", then ".join(repr(part) for part in parts)
    return Described(
        drawn(figure, 80, None), f"A tree of modules. The way to {target}: from the model to {lines}"
    )


def _rows(modules: dict[str, Any]) -> list[tuple[str, str]]:
    """Each module, and below it its own parameters, by path, with a class or a shape."""
    rows = []
    for path, module in modules.items():
        rows.append((path, type(module).__name__))
        for name, value in vars(module).items():
            if hasattr(value, "requires_grad"):
                rows.append((f"{path}.{name}" if path else name, str(value.shape)))
    return rows
