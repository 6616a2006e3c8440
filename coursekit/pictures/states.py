"""Pictures of chapter 07a: what is forgotten, a spring that can be moved, fading memories and their sums."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from coursekit.pictures.described import Described, described, moving
from coursekit.pictures.plots import BLUE, GREY, INK, LIGHT, ORANGE, RED

COLOURS = [BLUE, ORANGE, INK, RED]

# What fades


def draw_forgetting(curves: Mapping[str, Sequence[float]], floor: float = 1e-28) -> Described:
    """How much of a number is left over the steps since it came, on a logarithmic scale."""
    figure, ax = plt.subplots(figsize=(5.8, 2.8))
    told = []
    for (name, values), colour in zip(curves.items(), COLOURS):
        shares = np.asarray(values, float)
        ax.semilogy(np.where(shares < floor, np.nan, shares), label=name, color=colour)
        told.append(f"{name}: {shares[0]:.1e} at once, {shares[-1]:.0e} after {len(shares) - 1} steps")
    ax.set(xlabel="steps ago", ylabel="gradient")
    ax.grid(color=LIGHT)
    ax.legend(frameon=False)
    return described(figure, "Lines over the steps since a number came. " + "; ".join(told))


def draw_responses(responses: Any, names: Sequence[str], mixed: Any = None, mix: str = "") -> Described:
    """Answers to a single 1, (T, N), a line for each; beside them `mixed` (T,), what they add up to."""
    panels = 1 if mixed is None else 2
    figure, axes = plt.subplots(1, panels, figsize=(4.2 * panels, 2.6), layout="constrained", squeeze=False)
    shades = plt.get_cmap("viridis")(np.linspace(0.1, 0.85, len(names)))
    for values, name, shade in zip(np.asarray(responses).T, names, shades):
        axes[0, 0].plot(values, color=shade, label=name)
    axes[0, 0].legend(frameon=False, fontsize=8)
    if mixed is not None:
        axes[0, 1].plot(mixed, color=INK)
        axes[0, 1].axhline(0, color=LIGHT, zorder=0)
        axes[0, 1].set_title(mix)
    for ax in axes[0]:
        ax.set(xlabel="steps ago")
    ends = "; ".join(f"{n}: from {v[0]:.2f} to {v[-1]:.2f}" for n, v in zip(names, np.asarray(responses).T))
    alt = f"Answers to a single 1 that came first. {ends}"
    if mixed is not None:
        crossings = int((np.diff(np.sign(mixed)) != 0).sum())
        alt += f". {mix}: from {mixed[0]:.2f} to {mixed[-1]:.2f}, {crossings} times through 0"
    return described(figure, alt)


def draw_budget(shares: Mapping[str, Any], shown: int = 60) -> Described:
    """How much of the input of k steps ago a state can still tell, from 0 to 1."""
    figure, ax = plt.subplots(figsize=(6.4, 2.8))
    told = []
    for (name, curve), colour in zip(shares.items(), COLOURS):
        values = np.asarray(curve)
        ax.step(
            range(shown),
            values[:shown],
            where="mid",
            color=colour,
            label=f"{name}: {values.sum():.2f} in all",
        )
        ax.fill_between(range(shown), values[:shown], step="mid", color=colour, alpha=0.15, linewidth=0)
        first = ", ".join(f"{value:.2f}" for value in values[:4])
        told.append(
            f"{name}: {first} at first, {values[shown - 1]:.2f} after {shown}, {values.sum():.2f} in all"
        )
    ax.set(ylabel="share recovered", ylim=(0, 1.05), xlabel="steps ago")
    ax.legend(frameon=False, fontsize=9)
    return described(figure, "Curves of how well an input can be recovered. " + "; ".join(told))


def draw_recalled(past: Any, recalled: Any) -> Described:
    """A whole past, and the curve that a few numbers hold of it, both (T,)."""
    past, recalled = np.asarray(past, float), np.asarray(recalled, float)
    figure, ax = plt.subplots(figsize=(6.4, 2.8))
    ax.plot(past, color=GREY, label="what came")
    ax.plot(recalled, color=BLUE, label="what is held")
    ax.set(xlabel="t")
    ax.legend(frameon=False, fontsize=9)
    away = np.sqrt(((past - recalled) ** 2).mean()) / past.std()
    alt = f"A curve of {len(past):,} steps, and a smooth one that follows it, {away:.0%} of its spread away"
    return described(figure, alt)


def draw_unrolled(x: Any, kernel: Any) -> Described:
    """Each input leaves a tail of the kernel's shape; stacked, the tails are the output."""
    x, kernel = np.asarray(x, float), np.asarray(kernel, float)
    time = len(x)
    figure, (above, below) = plt.subplots(
        2, 1, figsize=(6.2, 3.2), sharex=True, height_ratios=[1, 2], layout="constrained"
    )
    given = np.flatnonzero(x).tolist()
    shades = plt.get_cmap("viridis")(np.linspace(0.1, 0.85, max(len(given), 1)))
    stacks = {True: np.zeros(time), False: np.zeros(time)}  # above 0, and below
    for t, shade in zip(given, shades):
        tail = np.concatenate([np.zeros(t), x[t] * kernel[: time - t]])
        above.bar(t, x[t], color=shade, width=0.6)
        below.bar(range(time), tail, bottom=stacks[x[t] > 0], color=shade, width=0.85)
        stacks[x[t] > 0] += tail
    y = stacks[True] + stacks[False]
    below.plot(y, "o-", color=RED, markersize=3, linewidth=1, label="y, the sum")
    below.legend(frameon=False)
    above.axhline(0, color=INK, linewidth=0.6)
    below.axhline(0, color=INK, linewidth=0.6)
    above.set_ylabel("x")
    below.set(ylabel="y", xlabel="t")
    came = ", ".join(f"{x[t]:g} at {t}" for t in given)
    alt = f"Inputs {came}; below, each one's fading tail, stacked. The sum ends at {y[-1]:.2f}"
    return described(figure, alt)


def draw_answers(answers: Mapping[str, tuple[Any, Any]]) -> Described:
    """What each memory says over what it was told, from pairs of both; the diagonal is right."""
    words = []
    for name, (told, said) in answers.items():
        low, high = said[told < -0.5].mean(), said[told > 0.5].mean()
        words.append(f"{name}: {low:.2f} on average for numbers below -0.5, {high:.2f} for those above 0.5")
    return described(answers_figure(answers), "Points, what was said over what was told. " + "; ".join(words))


def answers_figure(answers: Mapping[str, tuple[Any, Any]]) -> Any:
    """The figure of `draw_answers`, still open."""
    panels = len(answers)
    figure, axes = plt.subplots(
        1, panels, figsize=(2.9 * panels, 2.8), sharey=True, layout="constrained", squeeze=False
    )
    for ax, (name, (told, said)) in zip(axes[0], answers.items()):
        ax.plot([-1, 1], [-1, 1], color=GREY, linewidth=1)
        ax.plot(told, said, ".", color=BLUE, markersize=3)
        ax.set(title=name, xlabel="told", ylim=(-1.3, 1.3))
    axes[0, 0].set_ylabel("said")
    return figure


def draw_selection(marks: Any, x: Any, lines: Mapping[str, Any]) -> Described:
    """A stream of numbers, of which the marked ones count, and what several memories made of it."""
    marks, x = np.asarray(marks, bool), np.asarray(x)
    figure, ax = plt.subplots(figsize=(7.2, 3), layout="constrained")
    ax.plot(np.flatnonzero(~marks), x[~marks], ".", color=GREY, markersize=4, label="noise")
    ax.plot(np.flatnonzero(marks), x[marks], "o", color=RED, markersize=6, label="marked")
    told = []
    for (name, values), colour in zip(lines.items(), (ORANGE, BLUE)):
        ax.step(range(len(values)), values, where="post", color=colour, label=name)
        told.append(f"{name} ends at {values[-1]:.2f}")
    ax.set(xlabel="t")
    ax.legend(frameon=False, ncols=4, loc="upper center", bbox_to_anchor=(0.5, 1.17), fontsize=9)
    last = float(x[np.flatnonzero(marks)[-1]])
    alt = f"{int(marks.sum())} marked numbers among {len(x)}, the last {last:.2f}. " + "; ".join(told)
    return described(figure, alt)


# A spring that can be moved

SECONDS = 16.0


def draw_spring(friction: float = 0.3, step: float | None = None) -> Described:
    """A pulled spring of stiffness 1 and its path in the plane of position and speed.

    Without `step` the sliders are time and friction. With it they are the step's length and friction, and
    beside the exact path stand the steps of Euler and exact ones.
    """
    still = _still(friction, step)
    data = json.dumps([friction, step, SECONDS, [BLUE, ORANGE, GREY]])
    return moving("spring", _SCRIPT, data, still.png, still.alt)


def motion(friction: float, time: Any) -> Any:
    """Position and speed (..., 2) at `time`, pulled by 1 and let go: stiffness 1, friction below 2."""
    time = np.asarray(time, float)
    w = np.sqrt(1 - friction**2 / 4)
    fade, c, s = np.exp(-friction * time / 2), np.cos(w * time), np.sin(w * time) / w
    return np.stack([fade * (c + friction / 2 * s), -fade * s], axis=-1)


def euler_steps(friction: float, step: float, seconds: float = SECONDS) -> Any:
    """The same by Euler's steps: (steps + 1, 2)."""
    path = [np.array([1.0, 0.0])]
    for _ in range(round(seconds / step)):
        position, speed = path[-1]
        path.append(path[-1] + step * np.array([speed, -position - friction * speed]))
    return np.array(path)


def _still(friction: float, step: float | None) -> Described:
    figure, axes = plt.subplots(1, 2, figsize=(7.6, 3.3), width_ratios=[5, 4], layout="constrained")
    time = np.linspace(0, SECONDS, 400)
    path = motion(friction, time)
    exact = {"color": GREY, "label": "exact"} if step else {"color": BLUE}
    axes[0].plot(time, path[:, 0], **exact)
    axes[1].plot(*path.T, **exact)
    alt = (
        f"A spring with friction {friction:g}: its position swings and fades; in the plane, a spiral inwards"
    )
    if step:
        steps, wrong = np.arange(round(SECONDS / step) + 1) * step, euler_steps(friction, step)
        held = motion(friction, steps)
        axes[0].plot(steps, wrong[:, 0], ".-", color=ORANGE, label="Euler")
        axes[0].plot(steps, held[:, 0], "o", color=BLUE, markersize=4, label="exact steps")
        axes[1].plot(*wrong.T, ".-", color=ORANGE)
        axes[1].plot(*held.T, "o", color=BLUE, markersize=4)
        axes[0].legend(frameon=False, fontsize=8, loc="upper left")
        sizes = [np.linalg.norm(p[-1]) for p in (wrong, held)]
        alt += f". In steps of {step:g} Euler ends {sizes[0]:.2f} from rest"
        alt += f"; exact steps stay on the spiral and end at {sizes[1]:.2f}"
    else:
        axes[1].plot(*path[0], "o", color=INK)
    axes[0].set(xlabel="time", ylabel="position")
    axes[1].set(xlabel="position", ylabel="speed", aspect="equal", box_aspect=1)
    axes[1].set_aspect("equal", adjustable="datalim")
    return described(figure, alt)


_SCRIPT = """(id, friction0, step0, seconds, [blue, orange, grey]) => {
  const place = document.getElementById(id);
  if (!place) return;
  const ink = "currentColor", light = "color-mix(in srgb, currentColor 25%, transparent)";
  const ns = "http://www.w3.org/2000/svg", unit = 120;
  const box = document.createElement("div");
  box.style.cssText = "max-width: 640px; font: 13px sans-serif";
  const at = step0 ? { step: step0, friction: friction0 } : { time: 2, friction: friction0 };
  const ranges = { time: [0, seconds, 0.1], step: [0.05, 2.5, 0.05], friction: [0, 1.5, 0.05] };
  const svg = document.createElementNS(ns, "svg");
  svg.setAttribute("viewBox", "0 0 640 330");
  svg.setAttribute("width", "100%");
  svg.setAttribute("role", "img");
  const said = document.createElement("div");
  said.setAttribute("aria-live", "polite");
  const motion = (t) => {
    const f = at.friction, w = Math.sqrt(1 - f * f / 4);
    const fade = Math.exp(-f * t / 2), c = Math.cos(w * t), s = Math.sin(w * t) / w;
    return [fade * (c + f / 2 * s), -fade * s];
  };
  let panel = svg;
  const add = (name, attributes, text, into = panel) => {
    const node = document.createElementNS(ns, name);
    for (const key in attributes) node.setAttribute(key, attributes[key]);
    if (text !== undefined) node.textContent = text;
    into.append(node);
    return node;
  };
  const open = (x, width) => {  // what is drawn next stays within these borders
    panel = add("svg", { x, y: 0, width, height: 330, viewBox: `${x} 0 ${width} 330` }, undefined, svg);
    panel.style.overflow = "hidden";
  };
  const line = (points, colour, width = 1.6) =>
    add("polyline", { points: points.map((p) => p.join(",")).join(" "), fill: "none", stroke: colour,
      "stroke-width": width, "stroke-linejoin": "round" });
  const clip = (v) => Math.max(-3000, Math.min(3000, v));
  let zoom = 1;
  const plane = ([p, v]) => [clip(480 + zoom * unit * p), clip(160 - zoom * unit * v)];
  const past = (t) => Array.from({ length: 401 }, (_, i) => motion(t * i / 400));
  function axes() {
    line([[340, 160], [620, 160]], light);
    line([[480, 20], [480, 300]], light);
    add("text", { x: 620, y: 152, "text-anchor": "end", "font-size": 12, fill: "currentColor" }, "position");
    add("text", { x: 486, y: 28, "font-size": 12, fill: "currentColor" }, "speed");
  }
  function spring(p) {
    const x = 160 + unit * p * 0.9, n = 14, zigzag = [[12, 160], [24, 160]];
    for (let i = 0; i < n; i++) zigzag.push([24 + (x - 62) * (i + 0.5) / n, 160 + (i % 2 ? 14 : -14)]);
    zigzag.push([x - 38, 160], [x - 24, 160]);
    line([[12, 110], [12, 210]], ink, 4);
    line(zigzag, grey, 2);
    add("rect", { x: x - 24, y: 136, width: 48, height: 48, rx: 6, fill: blue });
    line([[160, 196], [160, 206]], ink);
    const words = { x: 160, y: 222, "text-anchor": "middle", "font-size": 12, fill: "currentColor" };
    add("text", words, "at rest");
  }
  function draw() {
    svg.replaceChildren();
    panel = svg;
    if (!step0) {
      axes();
      const now = motion(at.time), [x, y] = plane(now);
      spring(now[0]);
      line(past(seconds).map(plane), light);
      line(past(at.time).map(plane), blue, 2);
      add("circle", { cx: x, cy: y, r: 7, fill: ink });
      said.textContent = `after ${at.time.toFixed(1)} s: position ${now[0].toFixed(2)}, speed ` +
        `${now[1].toFixed(2)}. These two numbers are the state.`;
      return;
    }
    const steps = Math.round(seconds / at.step), euler = [[1, 0]];
    for (let i = 0; i < steps; i++) {
      const [p, v] = euler[i];
      euler.push([p + at.step * v, v + at.step * (-p - at.friction * v)]);
    }
    const held = euler.map((_, i) => motion(i * at.step));
    const widest = Math.min(4, Math.max(1, ...euler.flat().map(Math.abs)));
    zoom = 1.15 / Math.max(1.15, widest);
    const track = ([p, v], i) => [20 + 290 * i * at.step / seconds, clip(160 - zoom * unit * p)];
    const smooth = past(seconds).map(([p], i) => [20 + 290 * i / 400, 160 - zoom * unit * p]);
    const show = (exact, rough, dots) => {
      line(exact, grey, 1.2);
      line(rough, orange);
      for (const [x, y] of rough) add("circle", { cx: x, cy: y, r: 2.2, fill: orange });
      for (const [x, y] of dots) add("circle", { cx: x, cy: y, r: 3.2, fill: blue });
    };
    open(0, 318);
    line([[20, 160], [310, 160]], light);
    add("text", { x: 165, y: 322, "text-anchor": "middle", "font-size": 12, fill: "currentColor" }, "time");
    add("text", { x: 20, y: 12, "font-size": 12, fill: "currentColor" }, "position");
    show(smooth, euler.map(track), held.map(track));
    open(330, 310);
    axes();
    show(past(seconds).map(plane), euler.map(plane), held.map(plane));
    const far = (p) => Math.hypot(...p), [a, b] = [far(euler[steps]), far(held[steps])];
    const tell = (d) => d > 9999 ? d.toExponential(1) : d.toFixed(2);
    said.textContent = `after ${(steps * at.step).toFixed(1)} s, in ${steps} steps: Euler (orange) is ` +
      `${tell(a)} from rest, exact steps (blue) ${tell(b)}.`;
  }
  for (const name in at) {
    const label = document.createElement("label"), [min, max, by] = ranges[name];
    label.style.cssText = "display: grid; grid-template-columns: 70px 1fr 48px; gap: 8px";
    label.innerHTML = `<span>${name}</span><input type="range" min="${min}" max="${max}" step="${by}"` +
      " data-lm-suppress-shortcuts><output></output>";
    const [input, value] = [label.querySelector("input"), label.querySelector("output")];
    input.value = at[name];
    value.textContent = at[name].toFixed(2);
    input.oninput = () => { at[name] = +input.value; value.textContent = at[name].toFixed(2); draw(); };
    box.append(label);
  }
  box.append(svg, said);
  svg.style.overflow = "hidden";
  draw();
  place.replaceChildren(box);
}"""
