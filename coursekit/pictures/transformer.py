"""Tokens and their targets, the road of gradients, a training that can be moved, and who looks at whom."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle

from coursekit.pictures.described import Described, described
from coursekit.pictures.plots import BLUE, GREY, INK, ORANGE, RED

SAMPLES = ("#2f6ea5", "#d98f00", "#5b8c5a", "#8d5a97", "#9aa5b1")  # lines of a plot, in order


def shown(alt: str, page: str = "") -> Described:
    """The plot that is open, closed."""
    return described(plt.gcf(), alt, page, dpi=80)


# Targets


def draw_targets(tokens: Sequence[int], targets: Sequence[int]) -> Described:
    """Tokens in a row, below each its target; -1 is grey and crossed out."""
    _, ax = plt.subplots(figsize=(7.4, 1.7))
    for i, (token, target) in enumerate(zip(tokens, targets)):
        counts = target >= 0
        for y, text, fill in ((1, token, "#e8f1fb"), (0, target, "#fbeee0" if counts else "#eeeeee")):
            ax.add_patch(Rectangle((i - 0.36, y - 0.28), 0.72, 0.56, facecolor=fill, edgecolor=GREY))
            ax.text(
                i, y, str(text), ha="center", va="center", color=INK if y or counts else GREY, fontsize=12
            )
        if counts:
            ax.annotate("", (i, 0.32), (i, 0.68), arrowprops={"arrowstyle": "->", "color": INK})
    ax.text(-0.7, 1, "reads", ha="right", va="center")
    ax.text(-0.7, 0, "should say", ha="right", va="center")
    ax.set(xlim=(-2, len(tokens) - 0.5), ylim=(-0.4, 1.4))
    ax.axis("off")
    told = ", ".join(map(str, targets))
    return shown(
        f"A row of boxes with the tokens {', '.join(map(str, tokens))}; below, their targets: {told}."
    )


# The road


def draw_road(gradients: Mapping[str, Sequence[float]], sizes: Mapping[str, Sequence[float]]) -> Described:
    """By layer: the length of the gradient that arrives there, and how large the numbers are."""
    _, axes = plt.subplots(1, 2, figsize=(9, 3.1), layout="constrained")
    titles = "length of the gradient that arrives", "spread (std) of what flows"
    for ax, curves, title in zip(axes, (gradients, sizes), titles):
        for (name, values), colour in zip(curves.items(), SAMPLES):
            ax.semilogy(range(len(values)), values, "o-", color=colour, label=name, markersize=3)
        ax.set(xlabel="layer", title=title)
    axes[0].legend(frameon=False, fontsize=8)
    said = "; ".join(f"{name} {values[-1]:.0e} at the top, {values[0]:.0e} at the bottom"
                     for name, values in gradients.items())  # fmt: skip
    return shown(f"Left, gradients by layer on a logarithmic axis: {said}. Right, the spread of the stream.")


def draw_spread(spreads: Mapping[str, Any], law: Callable[[Any], Any]) -> Described:
    """Std of the stream (n_layer, ...) after each block, and histograms of it after the last."""
    _, axes = plt.subplots(1, 1 + len(spreads), figsize=(9, 2.8), layout="constrained")
    for ax, (name, stream), colour in zip(axes[1:], spreads.items(), SAMPLES[1::-1]):
        stds = [values.std() for values in stream]
        blocks = np.arange(1, len(stds) + 1)
        axes[0].plot(blocks, stds, "o", color=colour, markersize=4, label=name)
        ax.hist(np.ravel(stream[-1]), 61, range=(-1.2, 1.2), density=True, color=colour)
        ax.hist(np.ravel(stream[0]), 61, range=(-1.2, 1.2), density=True, histtype="step", color=INK)
        ax.set(title=f"{name}:\nfirst block (line), last (filled)", yticks=[])
        ax.title.set_fontsize(9)
    axes[0].plot(blocks, law(blocks), ":", color=INK, label="square root of the depth")
    axes[0].set(xlabel="block", ylabel="std of the stream", ylim=0)
    axes[0].set_ylim(top=1.7 * max(stds[-1] for stds in ([v.std() for v in s] for s in spreads.values())))
    axes[0].legend(frameon=False, fontsize=8, loc="upper left")
    ends = "; ".join(f"{name}: from {s[0].std():.2f} to {s[-1].std():.2f}" for name, s in spreads.items())
    return shown(f"Spread of the stream from the first block to the last. {ends}.")


# A training, and what it said on the way


def draw_training(losses: Sequence[float], said: Mapping[int, Sequence[str]], texts: Any) -> Described:
    """The curve of losses, and what the network answered after some of the steps: `said[step]`, one a row.

    `texts` (N, 2 L) are the lists with their true answers. A slider goes through the steps.
    """
    rows = ["".join(map(str, text)) for text in texts]
    asked, right = (
        [row[part] for row in rows] for part in (slice(len(rows[0]) // 2), slice(len(rows[0]) // 2, None))
    )
    _, (ax, table) = plt.subplots(1, 2, figsize=(9, 3), width_ratios=[3, 2], layout="constrained")
    ax.plot(losses, color=GREY, linewidth=0.8)
    at = [min(step, len(losses) - 1) for step in said]
    ax.plot(at, [losses[i] for i in at], "o", color=BLUE)
    ax.set(xlabel="step", ylabel="loss", ylim=0)
    table.axis("off")
    for row, (step, answers) in enumerate(said.items()):
        table.text(0, 1 - row / len(said), f"step {step}", va="top", color=BLUE)
        colour = INK if answers[0] == right[0] else RED
        answer = f"{asked[0]} → {answers[0]}"
        table.text(0.25, 1 - row / len(said), answer, va="top", color=colour, family="monospace")
    steps = "; ".join(f"step {step}: {answers[0]}" for step, answers in said.items())
    alt = f"A falling curve of losses. What it answers where {right[0]} is right: {steps}."
    data = {"losses": [round(float(loss), 4) for loss in losses], "steps": [*said], "said": [*said.values()]}
    return shown(alt, PAGE.replace("DATA", json.dumps({**data, "right": right, "asked": asked})))


PAGE = """<div class="told" style="max-width: 640px; font: 13px sans-serif">
STILL
<div class="moving" style="display: none">
<label>training, step <output></output>
<input type="range" min="0" value="0" style="width: 60%" data-lm-suppress-shortcuts></label>
<svg viewBox="0 0 640 190" width="100%" role="img" aria-label="the loss, step by step"></svg>
<pre aria-live="polite" style="font: 15px/1.5 monospace"></pre>
</div>
<script>
(() => {
const root = document.currentScript ? document.currentScript.closest(".told")
  : [...document.querySelectorAll(".told")].pop();
const { losses, steps, said, right, asked } = DATA;
const svg = root.querySelector("svg"), range = root.querySelector("input");
const wrong = "color-mix(in srgb, #c8102e 60%, currentColor)";  // which a light and a dark page can show
const top = Math.max(...losses), last = losses.length - 1;
const x = i => 10 + 620 * Math.min(i, last) / last, y = i => 180 - 170 * losses[Math.min(i, last)] / top;
const path = losses.map((_, i) => `${i ? "L" : "M"} ${x(i).toFixed(1)} ${y(i).toFixed(1)}`).join(" ");
svg.innerHTML = `<path d="${path}" fill="none" stroke="#9aa5b1"/>
  <path d="M 10 180 H 630" stroke="#9aa5b1"/><circle r="6" fill="#2f6ea5"/>`;
range.max = steps.length - 1;
function draw() {
  const k = +range.value, at = steps[k], dot = svg.querySelector("circle");
  dot.setAttribute("cx", x(at));
  dot.setAttribute("cy", y(at));
  root.querySelector("output").textContent = `${at}, loss ${losses[Math.min(at, last)].toFixed(3)}`;
  root.querySelector("pre").innerHTML = said[k].map((line, i) => `${asked[i]} → ` + [...line].map((c, j) =>
    c === right[i][j] ? c : `<b style="color: ${wrong}">${c}</b>`).join("")).join("\\n");
}
range.oninput = draw;
root.querySelector("img").style.display = "none";
root.querySelector(".moving").style.display = "";
draw();
})();
</script>
</div>"""


def draw_traps(curves: Mapping[str, Sequence[float]], floors: Mapping[str, float]) -> Described:
    """Curves of losses, and lines at the height of the `floors`."""
    plt.figure(figsize=(7, 2.8))
    for (name, losses), colour in zip(curves.items(), (BLUE, RED, ORANGE)):
        plt.plot(losses, color=colour, label=name)
    for name, height in floors.items():
        plt.axhline(height, color=GREY, linestyle=":")
        plt.text(len(losses), height, f" {name}", va="center", color="0.35", fontsize=8)
    plt.ylim(0)
    plt.xlim(0, len(losses) - 1)
    plt.xlabel("step")
    plt.ylabel("loss")
    plt.legend(frameon=False, fontsize=8, loc="upper right", bbox_to_anchor=(1, 0.88))
    ends = ", ".join(f"{name} ends at {np.mean(losses[-10:]):.2f}" for name, losses in curves.items())
    return shown(f"Loss by step: {ends}.")


# Glances


def glances(model: Any, idx: Any) -> list[Any]:
    """The attention weights of each layer, (B, n_head, T, T), while `model` reads idx (B, T)."""
    from minilib.functional.attention import CausalAttention, attend

    found: list[Any] = []

    def note(module: Any, inputs: Any, qkv: Any) -> None:
        heads = CausalAttention(model.config.n_head, packed=True).heads([qkv.detach().numpy()])
        found.append(attend(*heads)[1])

    undo = [block.attn.c_attn.register_forward_hook(note) for block in model.transformer.h]
    model(idx)
    for remove in undo:
        remove()
    return found


def draw_glances(weights: Sequence[Any], tokens: Sequence[int], first: int) -> Described:
    """For each layer, the heads' mean weights (T, T) from row `first` on: who looks at whom."""
    _, axes = plt.subplots(1, len(weights), figsize=(9, 2.5), layout="constrained")
    for number, (ax, each) in enumerate(zip(axes, weights), 1):
        ax.imshow(each[first:], cmap="Blues", vmin=0, vmax=1, aspect="auto")
        ax.set_xticks(range(len(tokens)), tokens)
        ax.set_yticks(range(len(tokens) - first), tokens[first:])
        ax.axvline(first + 0.5, color=ORANGE, linewidth=1)
        ax.set(title=f"block {number}", xlabel="looks at")
    axes[0].set_ylabel("at this token, it")
    words = []
    for number, each in enumerate(weights, 1):
        share = each[first:, : first + 1].sum(1).mean()
        words.append(f"in block {number} {share:.0%} of the glances go to the list that was asked about")
    return shown(f"Three tables, darker is more weight: {'; '.join(words)}.")


# Lists


def draw_sorted(asked: Any, said: Any) -> None:
    """Lists (N, L) as coloured tiles, and beside each what was answered; a wrong answer has a red frame."""
    columns, many = 6, len(asked) // 6 * 6
    _, axes = plt.subplots(many // columns, columns, figsize=(10, many / columns * 0.42))
    for ax, question, answer in zip(axes.flat, asked, said):
        gap = np.full(1, np.nan)
        row = np.concatenate([question, gap, answer])
        ax.imshow([row], cmap="Blues", vmin=0, vmax=1.5 * np.nanmax(asked), aspect="auto")
        for place, digit in enumerate(row):
            ax.text(place, 0, "" if np.isnan(digit) else f"{digit:.0f}", ha="center", va="center", fontsize=8)
        wrong = list(answer) != sorted(question)
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set(color=RED, linewidth=3, visible=wrong)
    plt.show()


# Recorded trainings


def draw_runs(runs: Mapping[str, Mapping[str, Sequence[float]]]) -> Described:
    """Held-out loss of recorded trainings, by name, over their steps: a plot for each."""
    _, axes = plt.subplots(1, len(runs), figsize=(4.6 * len(runs), 2.6), layout="constrained", squeeze=False)
    for ax, (name, run) in zip(axes[0], runs.items()):
        ax.plot(run["steps"], run["held_out"], "o-", color=BLUE, markersize=4)
        ax.set(title=name, xlabel="step", ylim=0)
    axes[0, 0].set_ylabel("held-out loss")
    ends = "; ".join(
        f"{name}, from {run['held_out'][0]} to {run['held_out'][-1]}" for name, run in runs.items()
    )
    return shown(f"Recorded curves of held-out losses: {ends}.")
