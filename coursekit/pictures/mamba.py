"""Selection: what a state keeps and lets in, how long it remembers, and where it opens in a sequence."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from coursekit.pictures.described import Described
from coursekit.pictures.plots import BLUE, GREY, INK, ORANGE, RED
from coursekit.pictures.transformer import shown

LETTERS = "·abcdefghijklmnopqrstuvwxyz"  # of selective copying: noise, then the tokens
LINES = (BLUE, ORANGE, "#5b8c5a", "#8d5a97")

# What was recorded by `python -m benchmarks.mamba_tasks`: shares of right answers, to a tenth of a percent
RECORDED: dict[str, dict[str, Any]] = {
    "copying": {"Mamba": 0.996, "without selection": 0.621},
    "recall": {
        "GPT": {2: 1.0, 4: 1.0, 8: 1.0, 16: 1.0},
        "Mamba": {2: 0.998, 4: 0.995, 8: 0.971, 16: 0.847},
    },
}


def recorded_shares(task: str) -> dict[str, Any]:
    """The recorded shares of right answers of each network at a task, of recall by the number of pairs.

    They stand here, and not in the lesson, which asks its reader to predict them.
    """
    return RECORDED[task]


# A number to keep


def draw_kept(values: Any, marked: Any, wanted: Any, states: Mapping[str, Any]) -> Described:
    """Numbers by step, the marked ones filled; the last marked one as a staircase; and curves of states."""
    _, ax = plt.subplots(figsize=(8.4, 3))
    _numbers(ax, values, marked, wanted)
    for (name, state), colour in zip(states.items(), LINES):
        ax.plot(state, color=colour, drawstyle="steps-post", label=name)
    ax.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
    off = {name: np.abs(wanted - state).mean() for name, state in states.items()}
    told = "; ".join(f"{name} is off by {error:.2f}" for name, error in off.items())
    return shown(f"Numbers by step, some marked, and the last marked one as a staircase. On average {told}.")


def _numbers(ax: Any, values: Any, marked: Any, wanted: Any) -> None:
    steps = np.arange(len(values))
    ax.step(steps, wanted, where="post", color=INK, linestyle=":", label="wanted")
    ax.plot(steps[~marked], values[~marked], "o", mfc="white", mec=GREY, label="noise")
    ax.plot(steps[marked], values[marked], "o", color=RED, label="marked")
    ax.set(ylim=(-1.15, 1.15), ylabel="number", xlabel="step")


def draw_standstill(
    values: Any, marked: Any, wanted: Any, runs: Mapping[float, tuple[Any, Any]]
) -> Described:
    """By steepness, lengths of steps and states: a slider goes through them; the still shows two."""
    first, *_, last = runs
    _, (top, bottom) = plt.subplots(
        2, 1, figsize=(8.4, 4), sharex=True, height_ratios=[1, 2], layout="constrained"
    )
    top.bar(range(len(values)), runs[last][0], color=[RED if mark else GREY for mark in marked])
    top.set(ylabel="Δ", title=f"steepness {last:g}", ylim=0)
    _numbers(bottom, values, marked, wanted)
    for steepness, colour in ((first, ORANGE), (last, BLUE)):
        state = runs[steepness][1]
        bottom.plot(state, color=colour, drawstyle="steps-post", label=f"state, steepness {steepness:g}")
    bottom.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
    off = {steepness: np.abs(wanted - state).mean() for steepness, (_, state) in runs.items()}
    told = "; ".join(f"steepness {steepness:g}: {error:.2f}" for steepness, error in off.items())
    data = {
        "values": np.round(values, 3).tolist(), "marked": [bool(mark) for mark in marked],
        "wanted": np.round(wanted, 3).tolist(),
        "steepness": [*runs], "off": [round(float(error), 3) for error in off.values()],
        "delta": [np.round(delta, 4).tolist() for delta, _ in runs.values()],
        "states": [np.round(state, 3).tolist() for _, state in runs.values()],
    }  # fmt: skip
    alt = f"Above, the lengths of steps; below, the state beside the wanted number. Mean error at {told}."
    return shown(alt, TIME.replace("DATA", json.dumps(data)))


TIME = """<div class="kept" style="max-width: 700px; font: 13px sans-serif">
STILL
<div class="moving" style="display: none">
<label>steepness <output></output>
<input type="range" min="0" value="0" style="width: 50%" data-lm-suppress-shortcuts></label>
<svg viewBox="0 0 700 280" width="100%" role="img" aria-label="lengths of steps, and the state"></svg>
</div>
<script>
(() => {
const root = document.currentScript ? document.currentScript.closest(".kept")
  : [...document.querySelectorAll(".kept")].pop();
const { values, marked, wanted, steepness, off, delta, states } = DATA;
const svg = root.querySelector("svg"), range = root.querySelector("input");
const x = t => 20 + 660 * t / (values.length - 1), y = v => 185 - 85 * v;
const highest = Math.max(...delta.flat());
range.max = steepness.length - 1;
function draw() {
  const k = +range.value, out = [];
  delta[k].forEach((d, t) => out.push(`<rect x="${x(t) - 6}" width="12" y="${70 - 60 * d / highest}"
    height="${60 * d / highest}" fill="${marked[t] ? "#c8102e" : "#9aa5b1"}"/>`));
  out.push(`<path d="M 10 70 H 690" stroke="#9aa5b1"/><text y="12" font-size="12"
    fill="currentColor">Δ</text>`);
  values.forEach((v, t) => out.push(`<circle cx="${x(t)}" cy="${y(v)}" r="5" stroke="#9aa5b1"
    fill="${marked[t] ? "#c8102e" : "white"}"/>`));
  const line = numbers => numbers.map((v, t) => t ? `H ${x(t)} V ${y(v)}` : `M ${x(t)} ${y(v)}`).join(" ");
  out.push(`<path d="${line(wanted)}" fill="none" stroke="currentColor" stroke-dasharray="2 3"/>`);
  out.push(`<path d="${line(states[k])}" fill="none" stroke="#2f6ea5" stroke-width="2.5"/>`);
  svg.innerHTML = out.join("");
  root.querySelector("output").textContent = `${steepness[k]}, off by ${off[k].toFixed(2)}`;
}
range.oninput = draw;
root.querySelector("img").style.display = "none";
root.querySelector(".moving").style.display = "";
draw();
})();
</script>
</div>"""


def draw_gate(z: Any, curves: Mapping[str, Any]) -> Described:
    """What is kept and let in, over z."""
    plt.figure(figsize=(6.4, 2.8))
    for (name, values), (colour, style) in zip(curves.items(), ((INK, "-"), (BLUE, "-"), (ORANGE, "--"))):
        plt.plot(z, values, style, color=colour, label=name)
    plt.axhline(1, color=GREY, linewidth=0.6)
    plt.xlabel("z")
    plt.legend(frameon=False)
    ends = "; ".join(f"{name} from {values[0]:.2f} to {values[-1]:.2f}" for name, values in curves.items())
    return shown(f"Curves over z from {z[0]:g} to {z[-1]:g}: {ends}.")


# At the start


def draw_lifetimes(delta: Any, A: Any) -> Described:
    """For each channel (sorted) and number of its state: after how many tokens of noise a half is left."""
    half = np.log(2) / (np.sort(delta)[:, None] * -A)  # (E, N)
    _, ax = plt.subplots(figsize=(7.4, 2.8), layout="constrained")
    levels = np.log10(half.T)
    image = ax.imshow(levels, aspect="auto", cmap="viridis", origin="lower")
    ax.set(xlabel="channel, by the length of its steps", ylabel="number of its state")
    ax.set_yticks([0, len(levels) - 1], ["1", str(len(levels))])
    bar = plt.colorbar(image, ax=ax, label="tokens until half is left")
    bar.set_ticks([0, 1, 2], labels=["1", "10", "100"])
    return shown(
        f"A table of channels and state numbers, coloured by half-life: from {half.min():.1f} to "
        f"{half.max():.0f} tokens, {np.median(half):.0f} in the middle."
    )


def draw_first_losses(
    widths: Sequence[int], losses: Mapping[str, Sequence[float]], guess: float
) -> Described:
    """First loss by width, for each way to begin; the loss of a guess as a line."""
    plt.figure(figsize=(6.4, 2.8))
    for (name, values), colour in zip(losses.items(), (RED, BLUE)):
        plt.loglog(widths, values, "o-", color=colour, label=name)
    plt.axhline(guess, color=GREY, linestyle=":")
    plt.text(widths[0], guess * 0.7, f"a guess: {guess:.1f}", color="0.35", fontsize=8, va="top")
    plt.xticks(widths, [str(width) for width in widths])
    plt.minorticks_off()
    plt.ylim(bottom=guess / 3)
    plt.xlabel("d_model")
    plt.ylabel("first loss")
    plt.legend(frameon=False)
    told = "; ".join(f"{name}: {', '.join(f'{v:.1f}' for v in values)}" for name, values in losses.items())
    return shown(f"First losses at widths {', '.join(map(str, widths))}. {told}; a guess costs {guess:.1f}.")


# Training


def letters_of(ids: Any, tokens: int) -> list[str]:
    """Selective copying as text: a dot for noise, letters, and ? where it is asked."""
    return ["?" if int(i) > tokens else LETTERS[int(i)] for i in ids]


def draw_race(steps: Sequence[int], right: Mapping[str, Sequence[float]], guess: float) -> Described:
    """What fraction of the letters is said rightly, while each model trains."""
    plt.figure(figsize=(6.8, 2.8))
    for (name, values), colour in zip(right.items(), (BLUE, ORANGE)):
        plt.plot(steps, values, "o-", color=colour, label=name, markersize=4)
    plt.axhline(guess, color=GREY, linestyle=":")
    plt.text(steps[-1], guess + 0.02, "a guess", ha="right", color="0.35", fontsize=8)
    plt.ylim(0, 1.02)
    plt.xlabel("step")
    plt.ylabel("letters right")
    plt.legend(frameon=False, loc="upper left")
    ends = "; ".join(f"{name} ends at {values[-1]:.1%}" for name, values in right.items())
    return shown(f"Letters right by step: {ends}.")


def steps_of(model: Any, ids: Any, most: int = 16) -> Any:
    """The lengths of steps, delta (B, T, most), in the channels of the first layer that say most at the end.

    What a channel says: how large its number is, times the column of out_proj that it is multiplied by.
    """
    mixer, found = model.layers[0].mixer, {}

    def note_z(module: Any, inputs: Any, z: Any) -> None:
        found["delta"] = np.logaddexp(0, z.detach().numpy())

    def note_y(module: Any, inputs: Any, out: Any) -> None:
        found["said"] = np.abs(inputs[0].detach().numpy()[:, -1])

    undo = [mixer.dt_proj.register_forward_hook(note_z), mixer.out_proj.register_forward_hook(note_y)]
    model(ids)
    for remove in undo:
        remove()
    share = found["said"].mean(0) * np.linalg.norm(mixer.out_proj.weight.numpy(), axis=0)
    return found["delta"][:, :, np.argsort(-share)[:most]]


def draw_opening(letters: Sequence[str], delta: Any) -> Described:
    """delta (T, channels) over a sequence: its geometric mean as bars, and each channel as a row."""
    _, (top, ax) = plt.subplots(
        2, 1, figsize=(8.4, 3.8), sharex=True, height_ratios=[2, 3], layout="constrained"
    )
    mean = np.exp(np.log(delta).mean(1))
    kinds = {"·": GREY, "?": BLUE}
    top.bar(range(len(letters)), mean, color=[kinds.get(letter, RED) for letter in letters])
    top.set(ylabel="Δ, geometric mean", ylim=0)
    image = ax.imshow(np.log10(delta.T), aspect="auto", cmap="magma", vmin=-3.5, vmax=0)
    ax.set(ylabel="channel", yticks=[])
    ax.set_xticks(range(len(letters)), letters)
    bar = plt.colorbar(image, ax=[top, ax], label="Δ")
    bar.set_ticks([-3, -2, -1, 0], labels=["0.001", "0.01", "0.1", "1"])
    told = [place for place, letter in enumerate(letters) if letter not in kinds]
    behind = max(range(4), key=lambda lag: mean[[place + lag for place in told]].mean())
    longest = mean[[place + behind for place in told]].mean()
    means = f"{longest:.3f} on average {behind} tokens behind a letter, {mean.min():.4f} at the least"
    return shown(f"Lengths of steps over the sequence {' '.join(letters)}: {means}.")


# What it costs


def draw_lengths(lengths: Sequence[int], times: Mapping[str, Sequence[float]]) -> Described:
    """Microseconds a token by length, for each model."""
    plt.figure(figsize=(6.4, 2.8))
    for (name, values), colour in zip(times.items(), (BLUE, ORANGE)):
        each = [1e6 * v / n for v, n in zip(values, lengths)]
        plt.plot(lengths, each, "o-", color=colour, label=name)
    plt.ylim(0)
    plt.xticks(lengths, [str(n) for n in lengths])
    plt.xlabel("tokens in a sequence")
    plt.ylabel("µs a token")
    plt.legend(frameon=False)
    told = "; ".join(
        f"{name} {1e6 * v[0] / lengths[0]:.0f} to {1e6 * v[-1] / lengths[-1]:.0f}"
        for name, v in times.items()
    )
    return shown(f"Microseconds a token at lengths {lengths[0]} to {lengths[-1]}: {told}.")


def draw_copied(letters: Sequence[Sequence[str]], said: Sequence[Sequence[str]], delta: Any) -> None:
    """Sequences as tiles, darker the larger the logarithm of their steps, (B, T); wrong answers are red."""
    _, axes = plt.subplots(len(letters), 1, figsize=(9, 0.42 * len(letters)))
    for ax, row, answer, opened in zip(np.atleast_1d(axes), letters, said, delta):
        asked = row.index("?")
        right = [letter for letter in row[:asked] if letter != "·"]
        shade = np.concatenate([opened[:asked], np.full(len(answer) + 1, np.nan)])
        low, high = delta[:, :asked].min(), delta[:, :asked].max()  # logarithms
        ax.imshow([shade], cmap="Blues", vmin=low, vmax=high + 0.4 * (high - low), aspect="auto")
        for place, letter in enumerate(row[:asked]):
            ax.text(place, 0, letter, ha="center", va="center", fontsize=9)
        for place, (letter, wanted) in enumerate(zip(answer, right), asked + 1):
            ax.text(
                place,
                0,
                letter,
                ha="center",
                va="center",
                color=INK if letter == wanted else RED,
                weight="bold",
            )
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
    plt.show()
