"""Chapter 03d: what twenty layers give out, as the standard deviation of their weights is moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from coursekit.pictures.described import Described, drawn, stepper
from coursekit.pictures.plots import BLUE, ORANGE


def draw_layers(signals: Mapping[float, Sequence[Any]], still: int) -> Described:
    """For each standard deviation: a histogram of each layer's numbers, and the size of its gradient."""
    frames = [_layers(std, outputs) for std, outputs in signals.items()]
    return stepper(frames, "standard deviation", "standard deviation of the weights", still=frames[still])


def _layers(std: float, outputs: Sequence[Any]) -> Described:
    figure = Figure(figsize=(7.4, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(3, 2), sharey=True)
    edges = np.linspace(-1, 1, 61)
    for k, output in enumerate(outputs, 1):
        counts, _ = np.histogram(output.detach().numpy(), edges)
        tops = k - 0.95 * counts / counts.max()  # layer 1 on top, each histogram upright
        left.fill_between((edges[1:] + edges[:-1]) / 2, k, tops, color=BLUE, alpha=0.75, lw=0, step="mid")
    grads = [float(abs(output.grad.numpy()).astype(float).mean()) for output in outputs]
    right.semilogx(grads, range(1, len(outputs) + 1), "o-", color=ORANGE, ms=4)
    left.set(xlabel="what tanh gives out", xticks=(-1, 0, 1))
    left.set(ylabel="layer", yticks=(1, 5, 10, 15, 20), ylim=(20.5, -0.3))
    right.set(xlabel="mean size of its gradient", xlim=(1e-17, 1e10))
    figure.suptitle(f"weights of standard deviation {std:.4g}", fontsize=11)
    spread = [float(outputs[k - 1].detach().numpy().std()) for k in (1, 20)]
    said = (
        f"weights of standard deviation {std:.4g}: layer 1 gives out numbers of deviation {spread[0]:.2g}, "
        f"layer 20 of {spread[1]:.2g}; the mean size of the gradient is {grads[-1]:.1e} at layer 20 and "
        f"{grads[0]:.1e} at layer 1"
    )
    return Described(drawn(figure, 76, None), said)
