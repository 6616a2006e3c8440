"""Chapter 02b: the memory of a training step, and how checkpoints lower it."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from matplotlib.figure import Figure

from coursekit.pictures.described import Described, drawn, stepper
from coursekit.pictures.plots import BLUE, GREY
from minilib.tensor import Tensor, grad, no_grad


def draw_mountains(weights: Sequence[Any], x: Any, stretches: Sequence[int]) -> Described:
    """Bytes in use over a step through layers relu(x @ w), with a slider: in how many stretches it is run.

    The bytes are measured by tracemalloc: after each layer of each way forward, and after each stretch's way
    back. `weights` (n, n) want gradients, `x` is (N, n).
    """
    curves = [_memory(weights, x, count) for count in stretches]
    top = max(map(max, curves))
    longest = max(map(len, curves))
    frames = []
    for count, curve in zip(stretches, curves):
        figure = Figure(figsize=(6, 3), layout="constrained")
        ax = figure.subplots()
        ax.plot(curve, color=BLUE)
        ax.axhline(max(curve), color=GREY, linestyle=":")
        ax.set(xlim=(0, longest), ylim=(0, 1.1 * top), xlabel="layers passed", ylabel="MB")
        stretch = "stretch" if count == 1 else "stretches"
        said = f"{count} {stretch}: highest {max(curve):.1f} MB"
        ax.set_title(said, fontsize=10)
        frames.append(Described(drawn(figure, 80, None), said))
    return stepper(frames, "picture", "memory of a training step with checkpoints")


def _memory(weights: Sequence[Any], x: Any, count: int) -> list[float]:
    """Megabytes above the start, after each layer and each stretch's way back."""
    marks: list[float] = []
    tracemalloc.start()
    start = tracemalloc.get_traced_memory()[0]

    def forward(h: Any, layers: Sequence[Any]) -> Any:
        for w in layers:
            h = (h @ w).relu()
            marks.append((tracemalloc.get_traced_memory()[0] - start) / 1e6)
        return h

    bounds = [round(len(weights) * k / count) for k in range(count + 1)]
    parts = [weights[low:high] for low, high in pairwise(bounds)]
    inputs = [x]
    try:
        with no_grad():
            for part in parts:
                inputs.append(forward(inputs[-1], part))
        gradient: Any = Tensor(inputs.pop().data * 0 + 1)
        found = []  # the gradients of the weights stay, as they would in a training step
        for part in reversed(parts):
            leaf = inputs.pop().detach().requires_grad_()
            out = forward(leaf, part)
            gradient, *of_weights = grad(out, [leaf, *part], gradient)
            found.append(of_weights)
            del out, leaf
            marks.append((tracemalloc.get_traced_memory()[0] - start) / 1e6)
    finally:
        tracemalloc.stop()
    return marks
