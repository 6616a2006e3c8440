"""Pictures of chapter 03: modules and their signals, digits and what a network makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from coursekit.pictures.plots import BLUE
from minilib.draw import Picture, draw_boxes


def draw_norms() -> None:
    """Which numbers of a table share a mean: a sample's in layer norm, a feature's in batch norm."""
    _, axes = plt.subplots(1, 2, figsize=(6, 2.2))
    row, column = np.indices((6, 8))
    for ax, name, together in zip(axes, ("layer norm", "batch norm"), (row == 2, column == 2)):
        ax.pcolor(np.where(together, 1, 0.15), cmap="Blues", vmin=0, vmax=1.4, edgecolors="white")
        ax.set(title=name, xlabel="features", ylabel="samples", xticks=[], yticks=[])
        ax.invert_yaxis()
    plt.show()


def draw_modules(model: Any) -> Picture:
    """A module and all below it: path, class, and the shapes of its own tensors."""
    titles = {path: f"{path or 'model'}: {type(module).__name__}" for path, module in model.named_modules()}
    boxes: dict[str, list[str]] = {title: [] for title in titles.values()}
    for path, numbers in model.state_dict().items():
        owner, _, name = path.rpartition(".")
        boxes[titles[owner]].append(f"{name} {numbers.shape}")
    boxes = {title: rows or ["no tensors of its own"] for title, rows in boxes.items()}
    arrows = [(titles[path.rpartition(".")[0]], title) for path, title in titles.items() if path]
    return draw_boxes(boxes, arrows)


def draw_outputs(signals: Mapping[str, Sequence[Any]], at: Sequence[int]) -> None:
    """Histograms of what the layers `at` give out: a row for each initialisation."""
    _, axes = plt.subplots(len(signals), len(at), figsize=(9, 4), sharey="row", layout="constrained")
    for row, (name, outputs) in zip(axes, signals.items()):
        for ax, layer in zip(row, at):
            values = outputs[layer - 1].detach().numpy().ravel()
            ax.hist(values, 41, range=(-1, 1), density=True, color=BLUE)
            ax.set(yticks=[], xticks=(-1, 0, 1))
            ax.set_title(f"layer {layer}, std {values.std():.1e}", fontsize=8)
        row[0].set_ylabel(f"weights of\nstd {name}")
    plt.show()


def draw_gradients(signals: Mapping[str, Sequence[Any]], at: Sequence[int]) -> None:
    """How large the gradients of the layers `at` are: histograms of their logarithms."""
    _, axes = plt.subplots(1, len(signals), figsize=(9, 2.6), sharey=True, layout="constrained")
    for ax, (name, outputs) in zip(axes, signals.items()):
        for layer, colour in zip(at, ("#08306b", "#2b8cbe", "#7bccc4", "#e08214")):
            sizes = np.log10(np.abs(outputs[layer - 1].grad.numpy().ravel()) + 1e-30)
            style: dict[str, Any] = {"histtype": "step", "linewidth": 1.5, "color": colour}
            ax.hist(sizes, 80, density=True, label=f"layer {layer}", **style)
        ax.set(
            title=f"weights of std {name}", xlabel="log10 of the gradient's size", yticks=[], xlim=(-20, 14)
        )
    axes[0].legend(frameon=False, fontsize=8)
    plt.show()


def draw_signals(signals: Mapping[str, Sequence[Any]]) -> None:
    """The standard deviation of what each layer gives out, and of its gradient."""
    _, (left, right) = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
    for (name, outputs), style in zip(signals.items(), ("s-", "v-", "--", "o-")):
        layers = range(1, len(outputs) + 1)
        sizes = [output.detach().numpy().std(dtype=float) for output in outputs]
        left.semilogy(layers, sizes, style, label=name, markersize=4)
        sizes = [output.grad.numpy().std(dtype=float) for output in outputs]
        right.semilogy(layers, sizes, style, markersize=4)
    left.set(xlabel="layer", ylabel="std of what relu gives out", xticks=(1, 5, 10, 15, 20))
    right.set(xlabel="layer", ylabel="std of its gradient", xticks=(1, 5, 10, 15, 20))
    left.legend(frameon=False, fontsize=8)
    plt.show()


def draw_fields(fields: Mapping[str, Any]) -> None:
    """Which pixels one number depends on, and how many: `fields` are arrays of bool, by layer."""
    _, axes = plt.subplots(1, len(fields), figsize=(7, 2.6), layout="constrained")
    for ax, (name, field) in zip(axes, fields.items()):
        ax.imshow(field, cmap="Blues", vmax=1.5)
        size = f"{field.any(0).sum()} by {field.any(1).sum()} pixels"
        ax.set(title=f"{name}\n{size}", xticks=[], yticks=[])
    plt.show()


def draw_digits(images: Sequence[Any], titles: Sequence[object] | None = None, columns: int = 12) -> None:
    """Images of 8 x 8 pixels, `columns` in a row."""
    rows, height = len(images) // columns, 2.6 / 3 if titles else 1.2
    _, axes = plt.subplots(rows, columns, figsize=(8, rows * height))
    for ax, image, title in zip(axes.flat, images, titles or [""] * len(images)):
        _show_digit(ax, image, title)
    plt.show()


def _show_digit(ax: Any, image: Any, title: object) -> None:
    ax.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
    ax.set_title(title, fontsize=9)
    ax.axis("off")


def draw_confusion(confusion: Any) -> None:
    """A row for what was meant, a column for what the network says; errors in orange."""
    _, ax = plt.subplots(figsize=(3.6, 3.6))
    ax.imshow(np.where(np.eye(10), 0, confusion), cmap="Oranges", vmax=6)
    for (i, j), n in np.ndenumerate(confusion):
        ax.text(j, i, str(n or ""), ha="center", va="center", fontsize=8)
    ax.set(xlabel="network says", ylabel="writer meant", xticks=range(10), yticks=range(10))
    plt.show()


def draw_reasons(digits: Mapping[str, Any], heat: Any) -> None:
    """Two digits with titles, and `heat`: which pixels speak for the answer, and which against it."""
    _, axes = plt.subplots(1, 3, figsize=(7, 2.4))
    for ax, (title, image) in zip(axes, digits.items()):
        _show_digit(ax, image, title)
    axes[2].imshow(heat, cmap="RdBu_r", vmin=-abs(heat).max(), vmax=abs(heat).max())
    axes[2].set_title("ink for (red), against (blue)", fontsize=9)
    axes[2].axis("off")
    plt.show()


def draw_errors(right: Mapping[str, tuple[float, float]]) -> None:
    """Errors in percent, on a random fifth and on other writers, from `right` in percent."""
    _, ax = plt.subplots(figsize=(5, 2.4))
    for i, shares in enumerate(right.values()):
        for at, share, colour in zip((i - 0.2, i + 0.2), shares, ("#8fb3d1", "#c45a1f")):
            ax.bar(at, 100 - share, 0.38, color=colour)
            ax.text(at, 100 - share + 0.1, f"{100 - share:.1f} %", ha="center")
    ax.set(xticks=range(len(right)), xticklabels=right, ylabel="errors in %", ylim=(0, 8))
    ax.legend(["a random fifth", "other writers"], frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    plt.show()
