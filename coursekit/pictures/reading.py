"""Chapter 03f: how a training goes, and a square to draw a digit into, which the reader's network reads."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from coursekit.pictures.described import Described, as_text, drawn
from coursekit.pictures.plots import BLUE, GREY, INK, ORANGE
from coursekit.pictures.transformer import shown

Strokes = Sequence[Sequence[tuple[float, float]]]  # each a line through points (x, y), y downwards

# What stands in the square at first: a 3, of one stroke.
THREE: Strokes = [[(3, 3), (9, 1), (13, 5), (8, 11), (14, 15), (13, 22), (7, 25), (1, 22)]]
CELLS, FINE, PEN = 8, 4, 1.9  # the image is 8 by 8 cells, each of 4 by 4 dots; half the width of a stroke


# How a training goes


def draw_gaps(curves: Mapping[str, tuple[Any, Any]], y: str = "loss") -> Described:
    """For each training the loss on what it learns (blue) and on what it has not seen (orange), by epoch."""
    _, axes = plt.subplots(
        1, len(curves), figsize=(3.1 * len(curves), 2.8), sharey=True, layout="constrained"
    )
    told = []
    for ax, (name, (learned, held)) in zip(np.atleast_1d(axes), curves.items()):
        for values, colour, label in ((learned, BLUE, "learns from"), (held, ORANGE, "has not seen")):
            ax.semilogy(range(1, len(values) + 1), values, color=colour, label=label)
        least = int(np.argmin(held))
        ax.plot(least + 1, held[least], "o", color=ORANGE)
        ax.set(title=name, xlabel="epoch")
        told.append(
            f"{name}: what it learns from ends at {learned[-1]:.1g}, what it has not seen is least, "
            f"{held[least]:.2f}, after {least + 1} epochs and ends at {held[-1]:.2f}"
        )
    np.atleast_1d(axes)[0].set_ylabel(y)
    np.atleast_1d(axes)[0].legend(frameon=False, fontsize=8)
    return shown(f"Two curves a plot. {'; '.join(told)}.")


def draw_resumed(through: Sequence[float], cut: int, resumed: Mapping[str, Sequence[float]]) -> Described:
    """The losses of a training that ran through, and of some that took over after step `cut`."""
    _, ax = plt.subplots(figsize=(7.4, 2.8), layout="constrained")
    ax.semilogy(through, color=GREY, lw=5, alpha=0.6, label="never cut off")
    steps = np.arange(cut, len(through))
    told = []
    for (name, losses), (colour, style) in zip(resumed.items(), ((INK, ":"), (ORANGE, "-"))):
        ax.semilogy(steps, losses, style, color=colour, label=name, lw=1.5)
        off = max(abs(a / b - 1) for a, b in zip(losses, through[cut:]))
        told.append(f"{name}: off by {off:.0%} at most")
    ax.axvline(cut, color=INK, lw=0.8)
    ax.set(xlabel="step", ylabel="loss of the batch")
    ax.legend(frameon=False, fontsize=8)
    return shown(f"The loss by step; a line where it was cut off, at {cut}. {'; '.join(told)}.")


# Draw a digit


def as_image(strokes: Strokes) -> Any:
    """A drawing as the digits were made: as large as fits into 32 x 32 dots, then the dots of 4 x 4 counted.

    (8, 8) from 0 to 1, as `minilib.data.digits` gives them. The page does the same in JavaScript.
    """
    points = np.array([point for stroke in strokes for point in stroke], float)
    low, high = points.min(0), points.max(0)
    side = CELLS * FINE
    scale = (side - 2 * PEN) / max(*(high - low), 1e-9)
    scale = min(scale, (side - 2 * PEN) / max(high[1] - low[1], 8.0))  # a dot does not become a square
    middle = (low + high) / 2
    at = np.arange(side) + 0.5
    x, y = np.meshgrid(at, at)
    ink = np.zeros((side, side), bool)
    for stroke in strokes:
        placed = (np.array(stroke, float) - middle) * scale + side / 2
        for a, b in zip(placed, placed[1:] if len(placed) > 1 else placed):
            along = b - a
            t = ((x - a[0]) * along[0] + (y - a[1]) * along[1]) / max(along @ along, 1e-9)
            t = np.clip(t, 0, 1)
            ink |= (x - a[0] - t * along[0]) ** 2 + (y - a[1] - t * along[1]) ** 2 <= PEN**2
    return (ink.reshape(CELLS, FINE, CELLS, FINE).sum((1, 3)) / FINE**2).astype(np.float32)


def packed(model: Any) -> list[dict[str, Any]]:
    """The layers of a Sequential as JSON can hold them: weights in a byte each, batch norm within them.

    Raises TypeError for a layer that the page does not know.
    """
    made: list[dict[str, Any]] = []
    for layer in model:
        kind = type(layer).__name__
        if kind in ("Conv2d", "Linear"):
            weight, bias = layer.weight.numpy(), layer.bias.numpy()
            made.append({"kind": kind, "weight": weight.copy(), "bias": bias.copy()})
        elif kind == "BatchNorm2d":
            scale = layer.weight.numpy() / np.sqrt(layer.running_var.numpy() + layer.eps)
            made[-1]["weight"] *= scale[:, None, None, None]
            made[-1]["bias"] = (made[-1]["bias"] - layer.running_mean.numpy()) * scale + layer.bias.numpy()
        elif kind in ("ReLU", "MaxPool2d"):
            made.append({"kind": kind})
        elif kind not in ("Flatten", "Dropout"):
            raise TypeError(f"the page knows Conv2d, BatchNorm2d, ReLU, MaxPool2d and Linear, not {kind}")
    return [_bytes(one) for one in made]


def _bytes(one: dict[str, Any]) -> dict[str, Any]:
    if "weight" not in one:
        return one
    rows = one["weight"].reshape(len(one["weight"]), -1)
    scale = np.maximum(np.abs(rows).max(1), 1e-12) / 127  # of each output by itself
    small = np.round(rows / scale[:, None]).astype(np.int8)
    text = base64.b64encode(small.tobytes()).decode("ascii")
    return {
        "kind": one["kind"], "weight": text, "outputs": len(rows),
        "scale": [float(f"{v:.6g}") for v in scale], "bias": [float(f"{v:.6g}") for v in one["bias"]],
    }  # fmt: skip


def draw_reader(model: Any, strokes: Strokes = THREE) -> Described:
    """A square to draw a digit into, what the network sees of it, and what it says, at each stroke.

    The still shows `strokes`. `model` is a Sequential of what `packed` knows.
    """
    from minilib import functional as F
    from minilib.nn import evaluating
    from minilib.tensor import tensor

    image = as_image(strokes)
    with evaluating(model):
        p = F.softmax(model(tensor(image[None, None])), dim=1).numpy()[0]
    figure, (left, middle, right) = plt.subplots(
        1, 3, figsize=(7.4, 2.4), width_ratios=[1, 1, 1.4], layout="constrained"
    )
    for stroke in strokes:
        left.plot(*np.array(stroke, float).T, color=INK, lw=6, solid_capstyle="round")
    points = np.array([point for stroke in strokes for point in stroke], float)
    centre, reach = (points.min(0) + points.max(0)) / 2, 1.4 * np.ptp(points, axis=0).max() / 2
    left.set(title="what was drawn", xticks=[], yticks=[], aspect="equal")
    left.set_xlim(centre[0] - reach, centre[0] + reach)
    left.set_ylim(centre[1] + reach, centre[1] - reach)
    middle.imshow(image, cmap="gray_r", vmin=0, vmax=1)
    middle.set(title="what the network sees", xticks=[], yticks=[])
    right.bar(range(10), p, color=[ORANGE if i == p.argmax() else BLUE for i in range(10)])
    right.set(title="what it says", xticks=range(10), ylim=(0, 1), ylabel="probability")
    what = f"the network says {p.argmax()}, {p.max():.0%}"
    said = f"A drawn digit, the same as 8 by 8 greys, and ten bars: {what}."
    png = drawn(figure, 80)
    still = f'<img alt="{escape(said)}" src="data:image/png;base64,{as_text(png)}">'
    data = json.dumps({"layers": packed(model), "first": strokes, "cells": CELLS, "fine": FINE, "pen": PEN})
    return Described(png, said, PAGE.replace("STILL", still).replace("DATA", data))


PAGE = """<div class="reader" style="max-width: 640px; font: 13px sans-serif">
STILL
<div class="moving" style="display: none">
<div style="display: flex; gap: 18px; align-items: flex-end; flex-wrap: wrap">
<div><div>draw a digit</div>
<canvas class="paper" width="200" height="200" role="img" aria-label="a square to draw a digit into"
 style="border: 1px solid #9aa5b1; background: white; touch-action: none; cursor: crosshair"></canvas></div>
<div><div>what the network sees</div>
<canvas class="seen" width="160" height="160" role="img" aria-label="eight by eight greys"
 style="border: 1px solid #9aa5b1; background: white"></canvas></div>
<svg viewBox="0 0 220 170" width="220" role="img" aria-label="the probability of each digit"></svg>
</div>
<button style="margin-top: 6px">wipe</button> <span class="says" aria-live="polite"></span>
</div>
<script>
(() => {
const root = document.currentScript ? document.currentScript.closest(".reader")
  : [...document.querySelectorAll(".reader")].pop();
const { layers, first, cells, fine, pen } = DATA;
for (const layer of layers) if (layer.weight) {
  const text = atob(layer.weight);
  layer.weight = Int8Array.from(text, c => c.charCodeAt(0));
}
const paper = root.querySelector(".paper"), seen = root.querySelector(".seen");
const svg = root.querySelector("svg");
let strokes = [], open = null;
// The drawing as 8 x 8 counts: as large as fits into 32 x 32 dots, then dots of 4 x 4 counted.
function image() {
  const all = strokes.flat(), side = cells * fine;
  const low = [0, 1].map(k => Math.min(...all.map(p => p[k])));
  const high = [0, 1].map(k => Math.max(...all.map(p => p[k])));
  const tall = high[1] - low[1], most = Math.max(high[0] - low[0], tall, 1e-9);
  const scale = Math.min((side - 2 * pen) / most, (side - 2 * pen) / Math.max(tall, 8));
  const out = new Float32Array(cells * cells);
  const put = p => [0, 1].map(k => (p[k] - (low[k] + high[k]) / 2) * scale + side / 2);
  const placed = strokes.map(stroke => stroke.map(put));
  for (let r = 0; r < side; r++) for (let c = 0; c < side; c++) {
    const x = c + 0.5, y = r + 0.5;
    const inked = placed.some(stroke => stroke.some((a, i) => {
      const b = stroke[i + 1] || (stroke.length > 1 ? null : a);
      if (!b) return false;
      const u = b[0] - a[0], v = b[1] - a[1];
      let t = ((x - a[0]) * u + (y - a[1]) * v) / Math.max(u * u + v * v, 1e-9);
      t = Math.min(Math.max(t, 0), 1);
      return (x - a[0] - t * u) ** 2 + (y - a[1] - t * v) ** 2 <= pen * pen;
    }));
    if (inked) out[Math.floor(r / fine) * cells + Math.floor(c / fine)] += 1 / (fine * fine);
  }
  return out;
}
// The network: windows of 3 x 3, the largest of 2 x 2, and products.
function scores(x) {
  let side = cells;
  for (const { kind, weight, outputs, scale, bias } of layers) {
    if (kind === "ReLU") { x = x.map(v => Math.max(v, 0)); continue; }
    if (kind === "MaxPool2d") {
      const half = side / 2, y = new Float32Array(x.length / 4);
      for (let i = 0; i < y.length; i++) {
        const ch = Math.floor(i / (half * half)), r = Math.floor(i / half) % half, c = i % half;
        const at = ch * side * side + 2 * r * side + 2 * c;
        y[i] = Math.max(x[at], x[at + 1], x[at + side], x[at + side + 1]);
      }
      x = y; side = half; continue;
    }
    const area = kind === "Linear" ? 1 : side * side, row = weight.length / outputs;
    const y = new Float32Array(outputs * area);
    for (let o = 0; o < outputs; o++) for (let i = 0; i < area; i++) {
      let sum = 0;
      if (kind === "Linear") for (let k = 0; k < row; k++) sum += weight[o * row + k] * x[k];
      else for (let k = 0; k < row; k++) {
        const r = Math.floor(i / side) + Math.floor(k % 9 / 3) - 1, c = i % side + k % 3 - 1;
        if (r >= 0 && c >= 0 && r < side && c < side)
          sum += weight[o * row + k] * x[Math.floor(k / 9) * area + r * side + c];
      }
      y[o * area + i] = sum * scale[o] + bias[o];
    }
    x = y;
  }
  return x;
}
function probabilities() {
  const x = scores(image()), most = Math.max(...x), e = Array.from(x, v => Math.exp(v - most));
  const sum = e.reduce((a, b) => a + b);
  return e.map(v => v / sum);
}
function show() {
  const pencil = paper.getContext("2d");
  pencil.clearRect(0, 0, 200, 200);
  Object.assign(pencil, { lineWidth: 16, lineCap: "round", lineJoin: "round", strokeStyle: "#1d3557" });
  for (const stroke of strokes) {
    pencil.beginPath();
    stroke.forEach(([x, y], i) => i ? pencil.lineTo(x, y) : pencil.moveTo(x, y));
    if (stroke.length === 1) pencil.lineTo(stroke[0][0], stroke[0][1]);
    pencil.stroke();
  }
  const greys = seen.getContext("2d"), step = 160 / cells;
  greys.clearRect(0, 0, 160, 160);
  const bars = [], says = root.querySelector(".says");
  says.textContent = "Draw with the mouse or a finger.";
  const p = strokes.length ? probabilities() : new Array(10).fill(0), best = p.indexOf(Math.max(...p));
  if (strokes.length) {
    image().forEach((v, i) => {
      greys.fillStyle = `rgba(0, 0, 0, ${v})`;
      greys.fillRect(i % cells * step, Math.floor(i / cells) * step, step, step);
    });
    says.textContent = `It says ${best}, and is ${Math.round(100 * p[best])}% sure.`;
  }
  p.forEach((v, i) => bars.push(`<rect x="${22 * i + 3}" y="${145 - 130 * v}" width="16" height="${130 * v}"
    fill="${i === best ? "#d98f00" : "#2f6ea5"}"/><text x="${22 * i + 11}" y="162" font-size="13"
    text-anchor="middle" fill="currentColor">${i}</text>`));
  svg.innerHTML = bars.join("");
}
const place = event => {
  const box = paper.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top].map((v, k) =>
    v * 200 / (k ? box.height : box.width));
};
let untouched = true;
paper.onpointerdown = event => {
  if (untouched) strokes = [];
  untouched = false;
  paper.setPointerCapture(event.pointerId);
  open = [place(event)];
  strokes.push(open);
  show();
};
paper.onpointermove = event => { if (open) { open.push(place(event)); show(); } };
paper.onpointerup = paper.onpointercancel = () => { open = null; };
root.querySelector("button").onclick = () => { strokes = []; untouched = false; show(); };
strokes = first.map(stroke => stroke.map(([x, y]) => [100 + 6 * (x - 7.5), 100 + 6 * (y - 13)]));
root.read = drawing => { strokes = drawing; return probabilities(); };
root.querySelector("img").style.display = "none";
root.querySelector(".moving").style.display = "";
show();
})();
</script>
</div>"""
