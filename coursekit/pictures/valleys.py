"""Chapter 03e: which learning rates and momenta arrive in a valley, as a map to drag a point over."""

from __future__ import annotations

import base64
import io
import json
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from coursekit.pictures.described import Described, described, moving
from coursekit.pictures.plots import BLUE, GREY, INK, ORANGE

LONGEST, STEPS = 0.17, 30  # the largest rate of the map; steps of the walk
CURVATURES, START = (1.0, 25.0), (-4.0, 0.6)


def draw_rates(lr: float = 0.075, momentum: float = 0.0) -> Described:
    """What a step leaves of the distance, over rate and momentum, and the walk from one point of that map.

    The valley has the curvatures 1 and 25. The point can be dragged.
    """
    left, walk = worst(lr, momentum), _walked(lr, momentum)
    far = float(np.hypot(*walk[-1]))
    figure, axes = plt.subplots(1, 2, figsize=(7.6, 3.0), width_ratios=[4, 5], layout="constrained")
    rates, momenta = np.linspace(0, LONGEST, 120), np.linspace(0, 1, 80)
    axes[0].imshow(_coloured(rates, momenta), extent=(0, LONGEST, 0, 1), origin="lower", aspect="auto")
    axes[0].plot(2 * (1 + momenta) / CURVATURES[1], momenta, color=INK, lw=1)
    axes[0].plot(lr, momentum, "o", color=ORANGE, ms=9, mec="white")
    axes[0].set(xlim=(0, LONGEST), xlabel="learning rate", ylabel="momentum")
    u, v = np.meshgrid(np.linspace(-4.6, 4.6, 120), np.linspace(-1.6, 1.6, 80))
    axes[1].contour(u, v, u**2 + 25 * v**2, levels=[1, 4, 9, 16, 25], colors=GREY, linewidths=0.7)
    axes[1].plot(*walk.T, ".-", color=BLUE, lw=1)
    axes[1].plot(*walk[-1], "o", color=ORANGE)
    axes[1].set(xlim=(-4.6, 4.6), ylim=(-1.6, 1.6), xticks=[], yticks=[])
    alt = (
        f"Rate {lr:g}, momentum {momentum:g}: a step leaves {left:.0%} of the distance, and after {STEPS} "
        f"steps the walk is {far:.2f} from the bottom. On the map a dark valley leads from rate 0.077, no "
        "momentum, to 0.11 with momentum 0.44; right of a line, 2 (1 + momentum) / 25, no walk arrives"
    )
    still = described(figure, alt)
    file = io.BytesIO()
    plt.imsave(file, _coloured(rates, momenta)[::-1], format="png")
    image = base64.b64encode(file.getvalue()).decode("ascii")
    colours = [BLUE, ORANGE, GREY]
    data = json.dumps([image, [lr, momentum], LONGEST, STEPS, CURVATURES, START, colours])
    return moving("rates", _SCRIPT, data, still.png, still.alt)


def worst(lr: Any, momentum: Any) -> Any:
    """What a step of the heavy ball leaves, in the end, of the distance along its slower direction."""
    found = []
    for h in CURVATURES:
        trace = 1 + momentum - lr * h
        inside = trace**2 - 4 * momentum  # of the roots of z**2 - trace z + momentum
        real = (np.abs(trace) + np.sqrt(np.maximum(inside, 0))) / 2
        found.append(np.where(inside < 0, np.sqrt(momentum), real))
    return np.maximum(*found)


def _walked(lr: float, momentum: float) -> Any:
    x, v, h = np.array(START), np.zeros(2), np.array(CURVATURES)
    path = [x]
    for _ in range(STEPS):
        v = momentum * v + h * x
        x = x - lr * v
        path.append(x)
    return np.array(path)


def _coloured(rates: Any, momenta: Any) -> Any:
    """The map as colours (momenta, rates, 3): dark where a step leaves little, grey where it leaves all."""
    left = worst(rates[None, :], momenta[:, None])
    shades = plt.get_cmap("viridis_r")(np.clip((1 - left) / 0.35, 0, 1))[..., :3]
    return np.where((left < 1)[..., None], shades, 0.88)


_SCRIPT = """(id, image, [lr0, mu0], longest, steps, h, start, [blue, orange, grey]) => {
  const place = document.getElementById(id);
  if (!place) return;
  const ns = "http://www.w3.org/2000/svg", at = { rate: lr0, momentum: mu0 };
  const ranges = { rate: [0.001, longest, 0.001], momentum: [0, 0.99, 0.01] }, inputs = {};
  const X = 46, Y = 12, W = 230, H = 190, CX = 470, CY = 107, U = 34;
  const box = document.createElement("div"), svg = document.createElementNS(ns, "svg");
  box.style.cssText = "max-width: 660px; font: 13px sans-serif";
  svg.setAttribute("viewBox", "0 0 640 240");
  svg.setAttribute("width", "100%");
  svg.setAttribute("role", "img");
  const said = document.createElement("div");
  said.setAttribute("aria-live", "polite");
  const add = (name, attributes, text, into = svg) => {
    const node = document.createElementNS(ns, name);
    for (const key in attributes) node.setAttribute(key, attributes[key]);
    if (text !== undefined) node.textContent = text;
    into.append(node);
    return node;
  };
  const word = (x, y, text, anchor = "middle", more = {}) =>
    add("text", { x, y, "font-size": 12, "text-anchor": anchor, fill: "currentColor", ...more }, text);
  add("image", { x: X, y: Y, width: W, height: H, preserveAspectRatio: "none",
    href: `data:image/png;base64,${image}` });
  const px = (rate) => X + W * rate / longest, py = (mu) => Y + H * (1 - mu);
  add("line", { x1: px(2 / h[1]), y1: py(0), x2: px(4 / h[1]), y2: py(1), stroke: "#1f2933" });
  for (const rate of [0, 0.05, 0.1, 0.15]) word(px(rate), Y + H + 16, rate);
  for (const mu of [0, 0.5, 1]) word(X - 6, py(mu) + 4, mu, "end");
  word(X + W / 2, Y + H + 33, "learning rate");
  word(14, Y + H / 2, "momentum", "middle", { transform: `rotate(-90 14 ${Y + H / 2})` });
  const panel = add("svg", { x: 310, y: Y, width: 320, height: H, viewBox: `310 ${Y} 320 ${H}` });
  panel.style.overflow = "hidden";
  for (const r of [1, 2, 3, 4, 5]) {
    const ry = 2 * U * r / Math.sqrt(h[1]);
    add("ellipse", { cx: CX, cy: CY, rx: U * r, ry, fill: "none", stroke: grey }, undefined, panel);
  }
  const path = add("polyline", { fill: "none", stroke: blue, "stroke-width": 1.4 }, undefined, panel);
  const dots = add("g", { fill: blue }, undefined, panel);
  const end = add("circle", { r: 5.5, fill: orange }, undefined, panel);
  const knob = add("circle", { r: 8, fill: orange, stroke: "white", "stroke-width": 2 });
  const clip = (v) => Math.max(-5000, Math.min(5000, v));
  function draw() {
    const { rate, momentum } = at, walk = [start.slice()], v = [0, 0];
    for (let i = 0; i < steps; i++) {
      const x = walk[i].slice();
      for (const k of [0, 1]) { v[k] = momentum * v[k] + h[k] * x[k]; x[k] -= rate * v[k]; }
      walk.push(x);
    }
    const left = Math.max(...h.map((one) => {
      const trace = 1 + momentum - rate * one, inside = trace * trace - 4 * momentum;
      return inside < 0 ? Math.sqrt(momentum) : (Math.abs(trace) + Math.sqrt(inside)) / 2;
    }));
    const points = walk.map(([x, y]) => [clip(CX + U * x), clip(CY - 2 * U * y)]);
    path.setAttribute("points", points.map((p) => p.join(",")).join(" "));
    dots.replaceChildren();
    for (const [cx, cy] of points) add("circle", { cx, cy, r: 2.4 }, undefined, dots);
    end.setAttribute("cx", points[steps][0]);
    end.setAttribute("cy", points[steps][1]);
    knob.setAttribute("cx", px(rate));
    knob.setAttribute("cy", py(momentum));
    const far = Math.hypot(...walk[steps]), told = far > 99 ? far.toExponential(1) : far.toFixed(3);
    said.textContent = `rate ${rate.toFixed(3)}, momentum ${momentum.toFixed(2)}: a step leaves ` +
      `${(100 * left).toFixed(0)}% of the distance` + (left >= 1 ? ", so no walk arrives" : "") +
      `; after ${steps} steps the ball is ${told} from the bottom.`;
    for (const name in inputs) {
      inputs[name][0].value = at[name];
      inputs[name][1].textContent = at[name].toFixed(3 - (name == "momentum"));
    }
  }
  function follow(event) {
    const matrix = svg.getScreenCTM();
    if (!matrix) return;
    const p = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
    at.rate = Math.max(0.001, Math.min(longest, longest * (p.x - X) / W));
    at.momentum = Math.max(0, Math.min(0.99, 1 - (p.y - Y) / H));
    draw();
  }
  const sheet = add("rect", { x: X, y: Y, width: W, height: H, fill: "transparent" });
  sheet.style.cssText = "cursor: grab; touch-action: none";
  knob.style.pointerEvents = "none";
  sheet.onpointerdown = (event) => { sheet.setPointerCapture(event.pointerId); follow(event); };
  sheet.onpointermove = (event) => { if (event.buttons) follow(event); };
  for (const name in at) {
    const label = document.createElement("label"), [min, max, by] = ranges[name];
    label.style.cssText = "display: grid; grid-template-columns: 80px 1fr 48px; gap: 8px";
    label.innerHTML = `<span>${name}</span><input type="range" min="${min}" max="${max}" step="${by}"` +
      " data-lm-suppress-shortcuts><output></output>";
    inputs[name] = [label.querySelector("input"), label.querySelector("output")];
    inputs[name][0].oninput = () => { at[name] = +inputs[name][0].value; draw(); };
    box.append(label);
  }
  box.append(svg, said);
  draw();
  place.replaceChildren(box);
}"""
