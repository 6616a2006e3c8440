"""Chapter 01: the film of a border that moves, the game of who may speak next."""

from __future__ import annotations

import gc
import io
import json
from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from coursekit.pictures.described import Described, described, drawn, moving, stepper
from coursekit.pictures.plots import BLUE, GLOW, INK, MINUS, ORANGE, PLUS
from minilib.draw.palette import BLUE as OF_RESULTS
from minilib.draw.palette import SAND as OF_LEAVES
from minilib.draw.palette import TIMES

Network = Sequence[Sequence[tuple[Sequence[Any], Any]]]  # layers of neurons: (weights, bias)

# The film


class Film:
    """The border of a network while it learns: `look` at it in the loop, and `end` when the loop is done.

    A notebook shows each look at once, in one place; `end` puts there all of them, with a slider.
    """

    def __init__(self, network: Network, points: Any, labels: Any) -> None:
        self.network, self.points, self.labels = network, np.asarray(points), np.asarray(labels)
        self.frames: list[Described] = []
        self.place: Any = None

    def look(self, step: int, loss: float) -> None:
        """Take a picture: after each of the first ten steps, then after each tenth."""
        if step >= 10 and step % 10 != 9:
            return
        self.frames.append(_frame(self.network, self.points, self.labels, step, loss))
        self._show(self.frames[-1])

    def end(self) -> None:
        """Show all pictures that were taken, one after the other."""
        self._show(self.film())

    def film(self) -> Described:
        return stepper(self.frames, "picture", "picture of the film", play=True)

    def _show(self, picture: Described) -> None:
        from IPython import get_ipython
        from IPython.display import display

        if get_ipython() is None:
            return
        if self.place is None:
            self.place = display(picture, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self.place.update(picture)


def draw_film() -> Described:
    """The film of chapter 01, made by the quick engine: one node for each neuron's sum."""
    import random

    from sklearn.datasets import make_moons

    from minilib.scalar import Value, weighted_sum

    state, numpy_state = random.getstate(), np.random.get_state()
    random.seed(1337)
    np.random.seed(1337)
    points, kinds = make_moons(n_samples=100, noise=0.1)
    labels = 2 * kinds - 1
    network = [
        [([Value(random.uniform(-1, 1)) for _ in range(inputs)], Value(0.0)) for _ in range(neurons)]
        for inputs, neurons in ((2, 16), (16, 16), (16, 1))
    ]
    random.setstate(state)
    np.random.set_state(numpy_state)
    parameters = [p for layer in network for weights, bias in layer for p in (*weights, bias)]
    film = Film(network, points, labels)
    film._show = lambda picture: None  # type: ignore[method-assign]
    collects = gc.isenabled()
    gc.disable()  # a graph has no rings to find
    for k in range(100):
        losses = []
        for point, label in zip(points.tolist(), labels.tolist()):
            x: Any = point
            for layer in network:
                sums = [weighted_sum(weights, x, bias) for weights, bias in layer]
                x = [s.relu() for s in sums]
            losses.append((1 + -label * sums[0]).relu())
        loss = sum(losses) * (1.0 / 100) + 1e-4 * sum(p * p for p in parameters)
        for p in parameters:
            p.grad = 0.0
        loss.backward()
        for p in parameters:
            p.data -= (1.0 - 0.9 * k / 100) * p.grad
        film.look(k, loss.data)
    if collects:
        gc.enable()
    return film.film()


def scores_of(network: Network, points: Any) -> Any:
    """The score of each of `points` (N, 2), by NumPy: for the thousand points of a picture."""
    x = np.asarray(points, float)
    for layer in network:
        weights = np.array([[w.data for w in weights] for weights, _ in layer])
        sums = x @ weights.T + np.array([bias.data for _, bias in layer])
        x = np.maximum(sums, 0)
    return sums[:, 0]


def _frame(network: Network, points: Any, labels: Any, step: int, loss: float) -> Described:
    u, v = np.linspace(-1.6, 2.6, 85), np.linspace(-1.2, 1.7, 59)
    grid = np.stack(np.meshgrid(u, v), axis=-1)
    scores = scores_of(network, grid.reshape(-1, 2)).reshape(59, 85)
    right = np.mean((scores_of(network, points) > 0) == (labels > 0))
    figure = Figure(figsize=(5.2, 3.5), layout="constrained")
    ax = figure.subplots()
    colours = ["#9ecae1", "#deebf7", "#fee6ce", "#fdae6b"]
    ax.contourf(u, v, scores, levels=[-1e9, -1, 0, 1, 1e9], colors=colours)
    if scores.min() < 0 < scores.max():
        ax.contour(u, v, scores, levels=[0], colors="black")
    ax.scatter(
        points[:, 0], points[:, 1], c=[PLUS if y > 0 else MINUS for y in labels], edgecolors="white", s=32
    )
    ax.set(xticks=[], yticks=[])
    said = f"step {step}: loss {loss:.3f} before it, {right:.0%} of the points right after it"
    ax.set_title(said, fontsize=10)
    return Described(_few_colours(drawn(figure, 80, None)), said)


def _few_colours(png: bytes) -> bytes:
    """The same picture in 48 colours, a third of its size."""
    from PIL import Image

    file = io.BytesIO()
    Image.open(io.BytesIO(png)).convert("RGB").quantize(48, dither=Image.Dither.NONE).save(
        file, "PNG", optimize=True
    )
    return file.getvalue()


# Who may speak next?

PLACES = {"a": (75, 165), "b": (255, 55), "c": (415, 165), "d": (575, 55)}
NUMBERS = {"a": 2, "b": 4, "c": 8, "d": 32}
ARROWS = (("a", "b", 2), ("a", "b", 2), ("a", "c", 4), ("b", "c", 2), ("b", "d", 8), ("c", "d", 4))


def draw_speakers() -> Described:
    """b = a * a, c = b * a, d = b * c at a = 2: click who passes its gradient on; a.grad keeps score."""
    alt = (
        "The graph of b = a * a, c = b * a, d = b * c. If d, c, b speak in this order, a.grad is 80; "
        "if d, b, c do, it is 48; if b then speaks once more, 112."
    )
    still = _speakers(alt)
    data = json.dumps([PLACES, NUMBERS, ARROWS, [BLUE, ORANGE]])
    return moving("speakers", _SPEAK, data, still.png, alt)


def _speakers(alt: str) -> Described:
    figure, ax = plt.subplots(figsize=(7.2, 3), layout="constrained")
    for k, (tail, head, factor) in enumerate(ARROWS):
        bend = (-0.22, 0.22)[k] if k < 2 else 0
        ends = PLACES[tail], PLACES[head]
        style = {"arrowstyle": "-|>", "color": INK, "connectionstyle": f"arc3,rad={bend}"}
        ax.annotate("", ends[1], ends[0], arrowprops={**style, "shrinkA": 24, "shrinkB": 26})
        x, y = np.mean(ends, axis=0) + ([-12, -20] if k == 0 else [12, 22] if k == 1 else [0, -9])
        ax.text(x, y, f"{TIMES} {factor}", size=9, color=INK, ha="center", va="center")
    for name, (x, y) in PLACES.items():
        fill, line = OF_LEAVES if name == "a" else OF_RESULTS
        box = {"boxstyle": "round,pad=0.5", "fc": fill, "ec": line}
        ax.text(x, y, f"{name} = {NUMBERS[name]}", ha="center", va="center", bbox=box)
    scores = ("d, c, b: a.grad = 80", "d, b, c: a.grad = 48", "d, b, c, b: a.grad = 112")
    for k, said in enumerate(scores):
        ax.text(110 + 215 * k, 235, said, ha="center", size=10, color=GLOW if k else BLUE)
    ax.set(xlim=(10, 640), ylim=(255, 15))
    ax.axis("off")
    return described(figure, alt)


_SPEAK = """(id, places, numbers, arrows, [blue, orange]) => {
  const place = document.getElementById(id);
  if (!place) return;
  const ns = "http://www.w3.org/2000/svg", names = Object.keys(places), found = new Set();
  const meaning = { 48: "b spoke before c had told it", 112: "b spoke twice", 80: "each once, and complete" };
  const box = document.createElement("div");
  box.style.cssText = "max-width: 660px; font: 14px sans-serif";
  const svg = document.createElementNS(ns, "svg");
  svg.setAttribute("viewBox", "0 0 660 225");
  svg.setAttribute("width", "100%");
  const said = document.createElement("p"), score = document.createElement("p");
  const again = document.createElement("button");
  said.setAttribute("aria-live", "polite");
  again.textContent = "start again";
  let grad, spoken;
  const faint = (share) => `color-mix(in srgb, currentColor ${share}%, transparent)`;
  const add = (name, attributes, text, into = svg) => {
    const node = document.createElementNS(ns, name);
    for (const key in attributes) node.setAttribute(key, attributes[key]);
    if (text !== undefined) node.textContent = text;
    into.append(node);
    return node;
  };
  const speak = (name) => {
    const own = arrows.filter(([, head]) => head == name);
    if (!grad[name]) {
      said.textContent = `Nobody has told ${name} anything yet: it has nothing to pass on.`;
      return;
    }
    const early = arrows.filter(([tail, head]) => tail == name && !spoken.includes(head));
    const parts = own.map(([tail, , factor]) => {
      grad[tail] += factor * grad[name];
      return `${factor} \u00d7 ${grad[name]} to ${tail}`;
    });
    let words = `${name} says: ${parts.join(", ")}.`;
    if (spoken.includes(name)) words += ` It has spoken before, and repeats itself.`;
    if (early.length) words += ` ${early[0][1]} had not told it anything yet.`;
    spoken.push(name);
    if (["d", "c", "b"].every((one) => spoken.includes(one))) {
      words += grad.a == 80 ? " a.grad is 80: right." : ` a.grad is ${grad.a}, and should be 80.`;
      if (grad.a in meaning) found.add(grad.a);
    }
    said.textContent = words;
    draw(name);
  };
  function draw(lit) {
    const focus = document.activeElement?.dataset?.name;
    svg.replaceChildren();
    const tip = add("marker", { id: id + "-tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8,
      markerHeight: 8, orient: "auto-start-reverse" });
    add("path", { d: "M0,0 L8,4 L0,8 z", fill: "currentColor" }, undefined, tip);
    arrows.forEach(([tail, head, factor], k) => {
      const [x0, y0] = places[tail], [x1, y1] = places[head];
      const long = Math.hypot(x1 - x0, y1 - y0), ux = (x1 - x0) / long, uy = (y1 - y0) / long;
      const bend = k == 0 ? -26 : k == 1 ? 26 : 0;
      const mx = (x0 + x1) / 2 - uy * bend, my = (y0 + y1) / 2 + ux * bend;
      const colour = head == lit ? orange : "currentColor";
      add("path", { d: `M${x0 + 52 * ux},${y0 + 40 * uy} Q${mx},${my} ${x1 - 60 * ux},${y1 - 44 * uy}`,
        fill: "none", stroke: colour, "stroke-width": head == lit ? 3 : 1.4, opacity: head == lit ? 1 : 0.7,
        "marker-end": `url(#${id}-tip)` });
      const off = k == 0 ? -10 : k == 1 ? 14 : -7;
      const beside = k < 2 ? 0 : uy < 0 ? -14 : 10;
      add("text", { x: mx - uy * off + beside, y: my + ux * off, fill: colour,
        "text-anchor": "middle", "font-size": 13 }, `\u00d7 ${factor}`);
    });
    names.forEach((name) => {
      const [x, y] = places[name], asks = name != "a";
      const group = add("g", asks ? { tabindex: 0, role: "button", "data-name": name,
        "aria-label": `${name} speaks` } : {});
      group.style.cursor = asks ? "pointer" : "default";
      add("rect", { x: x - 52, y: y - 26, width: 104, height: 52, rx: 8, fill: "none", stroke: "none",
        "pointer-events": "all" }, undefined, group);
      const colour = name == lit || !asks ? orange : blue;
      add("rect", { x: x - 52, y: y - 26, width: 104, height: 52, rx: 8, fill: colour, stroke: colour,
        "fill-opacity": name == lit ? 0.3 : 0.12, "stroke-width": name == lit ? 3 : 1.5 }, undefined, group);
      add("text", { x, y: y - 5, fill: "currentColor", "text-anchor": "middle", "font-size": 14 },
        `${name} = ${numbers[name]}`, group);
      add("text", { x, y: y + 15, fill: "currentColor", "text-anchor": "middle", "font-size": 14,
        "font-weight": "bold" }, `grad ${grad[name]}`, group);
      if (!asks) return;
      group.onclick = () => speak(name);
      group.onkeydown = (event) => {
        if (event.key != "Enter" && event.key != " ") return;
        event.preventDefault();
        event.stopPropagation();
        speak(name);
      };
      if (focus == name) group.focus();
    });
    score.textContent = "Ends that you have found: " + [48, 80, 112]
      .map((end) => found.has(end) ? `${end} (${meaning[end]})` : "?").join(" · ");
  }
  const start = () => {
    grad = { a: 0, b: 0, c: 0, d: 1 };
    spoken = [];
    said.textContent = "d starts with 1. Click who speaks next; a.grad keeps the score.";
    draw();
  };
  again.onclick = start;
  box.append(svg, said, score, again);
  place.replaceChildren(box);
  start();
}"""
