"""Pictures of chapter 03: modules and their signals, digits and what a network makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from minilib.draw import Picture, draw_boxes


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
    for ax in (left, right):
        low, high = ax.get_ylim()
        if high < 100 * low:  # level lines look level
            ax.set_ylim(1e-3, 1e3)
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
    rows, height = len(images) // columns, max(2.6 / 3, 6.9 / columns) if titles else 1.2
    _, axes = plt.subplots(rows, columns, figsize=(8, rows * height), layout="constrained")
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
