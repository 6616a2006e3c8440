"""What one more token costs, what each layer would predict, and three dials that can be moved."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from coursekit.pictures.described import Described, as_text, drawn, show_described
from coursekit.pictures.plots import BLUE, GREY, ORANGE, RED

# Your turn


def tell(mine: Any, right: Any, otherwise: str) -> None:
    """Print whether `mine` is `right`, to a millionth of it; what is still `...` is not filled in."""
    if mine is ...:
        print("not filled in yet: the lesson goes on without it")
        return
    try:
        same = np.shape(mine) == np.shape(right) and np.allclose(mine, right, rtol=1e-6, atol=1e-7)
    except (TypeError, ValueError):
        same = False
    print("right" if same else f"not yet: {otherwise}")


# What it costs


def fastest(*actions: Callable[[], object], times: int = 3) -> list[float]:
    """The shortest processor time of each action. They take turns, and what other programs do is not counted.

    With one thread, on a machine that has nothing else to do, this is the time that passes.
    """
    best = [float("inf")] * len(actions)
    for _ in range(times):
        for i, action in enumerate(actions):
            start = time.process_time()
            action()
            best[i] = min(best[i], time.process_time() - start)
    return best


def draw_cost(lengths: Sequence[int], curves: Mapping[str, Sequence[float]]) -> None:
    """Milliseconds for one more token against the length of the text; the first curve is the slow one."""
    plt.figure(figsize=(6.4, 2.8))
    said = []
    for (name, values), colour in zip(curves.items(), (ORANGE, BLUE, GREY)):
        ms = 1000 * np.asarray(values)
        plt.plot(lengths, ms, "o-", color=colour, markersize=4, label=name)
        said.append(f"{name} {ms[0]:.1f} ms at {lengths[0]} tokens, {ms[-1]:.1f} ms at {lengths[-1]}")
    plt.ylim(0)
    plt.xlabel("tokens in the text so far")
    plt.ylabel("milliseconds for one more")
    plt.legend()
    plt.tight_layout()
    show_described("Curves of the time for one more token: " + "; ".join(said))


def draw_memory(lengths: Sequence[int], models: Mapping[str, int], limits: Mapping[str, float]) -> None:
    """Bytes of the cache against the length: a line for each model, by its bytes for one token."""
    plt.figure(figsize=(6.4, 3))
    for name, each in models.items():
        kept = [each * n for n in lengths]
        plt.loglog(lengths, kept, "o-", markersize=4, label=f"{name}: {each:,} bytes a token")
    for name, size in limits.items():
        plt.axhline(size, color=GREY, linestyle=":")
        plt.text(lengths[0], size * 1.3, name, color="0.35", fontsize=8)
    plt.ylim(1, 4 * max(limits.values()))
    plt.xticks(lengths, [f"{n:,}" for n in lengths])
    plt.yticks([1e3, 1e6, 1e9], ["1 kB", "1 MB", "1 GB"])
    plt.minorticks_off()
    plt.xlabel("tokens kept, of all texts together")
    plt.ylabel("keys and values")
    plt.legend(loc="lower right")
    plt.tight_layout()
    ends = [f"{name} {each * lengths[-1]:,} bytes" for name, each in models.items()]
    lines = [f"{name} {size:,.0f} bytes" for name, size in limits.items()]
    said = f"Rising lines, at {lengths[-1]:,} tokens: {'; '.join(ends)}. Level: {'; '.join(lines)}"
    show_described(said)


# What each layer would predict


def draw_lens(text: str, says: Sequence[Sequence[str]], sure: Any, rows: Sequence[str]) -> None:
    """A table of layers by positions: what each would say next; the bluer, the surer; red where wrong."""
    sure = np.asarray(sure)
    _, ax = plt.subplots(figsize=(0.27 * len(text) + 1.2, 0.34 * len(rows) + 0.9))
    ax.imshow(sure, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for y, row in enumerate(says):
        for x, said in enumerate(row):
            wrong = x + 1 < len(text) and said != text[x + 1]
            colour = RED if wrong else "white" if sure[y, x] > 0.55 else "black"
            weight = "normal" if wrong else "bold"
            ax.text(x, y, _seen(said), ha="center", va="center", color=colour, weight=weight, fontsize=9)
    ax.set_yticks(range(len(rows)), rows)
    ax.set_xticks(range(len(text)), [_seen(c) for c in text])
    ax.xaxis.tick_top()
    ax.set_xlabel("read so far")
    ax.xaxis.set_label_position("top")
    plt.tight_layout()
    tables = (f"{name} {''.join(map(_seen, row))}" for name, row in zip(rows, says))
    show_described(f"What each layer says behind each character of {text!r}: " + "; ".join(tables))


def _seen(character: str) -> str:
    """A space that one can see."""
    return {" ": "␣", "\n": "⏎"}.get(character, character)


# Three dials


@dataclass(frozen=True, repr=False)
class Dials(Described):
    """The bars at temperature 1 with all tokens, and where the draw 0.6 falls; sliders for all of it."""

    said: str = ""

    def __repr__(self) -> str:
        return f"<dials: {self.said}>"


def draw_dials(tokens: Sequence[str], scores: Any, shown: int = 16) -> Dials:
    """Scores (V,) of the tokens as bars, with sliders for all that decides which one is said."""
    scores = np.asarray(scores, float)
    order = np.argsort(-scores, kind="stable")
    names = [_seen(tokens[i]) for i in order]
    falls = [round(float(scores[i] - scores[order[0]]), 4) for i in order]
    p = np.exp(falls)
    p /= p.sum()
    most = ", ".join(f"{t} {share:.0%}" for t, share in zip(names[:4], p))
    said = f"{len(names)} tokens, {most}, ..."
    alt = f"Bars of probabilities: <dials: {said}>; below, the bars end to end from 0 to 1."
    png = _bars(names[:shown], p)
    still = f'<img width="512" alt="{escape(alt)}" src="data:image/png;base64,{as_text(png)}">'
    data = json.dumps({"tokens": names, "scores": falls, "shown": min(shown, len(names))})
    page = PAGE.replace("STILL", still).replace("DATA", data.replace("</", "<\\/"))
    return Dials(png, alt, page, said=said)


def _bars(names: Sequence[str], p: Any) -> bytes:
    figure, (bars, strip) = plt.subplots(2, 1, figsize=(6.4, 2.8), height_ratios=[5, 1])
    bars.bar(range(len(names)), p[: len(names)], color=BLUE)
    bars.set_xticks(range(len(names)), names)
    bars.set_ylabel("probability")
    strip.barh(0, p, left=np.cumsum(p) - p, color=[BLUE, "#9ecae1"] * len(p), edgecolor="white")
    strip.axvline(0.6, color=RED)
    strip.set(yticks=[], xlim=(0, 1), xlabel="the same bars end to end; the draw 0.6 in red")
    figure.tight_layout()
    return drawn(figure, dpi=80, box=None)


PAGE = """<div class="dials" style="max-width: 560px; font: 13px sans-serif">
STILL
<div class="moving" style="display: none">
<div class="sliders"></div>
<svg viewBox="0 0 560 230" width="100%" role="img" aria-label="probabilities of what comes next"></svg>
<div class="says" aria-live="polite"></div>
</div>
<script>
(() => {
const root = document.currentScript ? document.currentScript.closest(".dials")
  : [...document.querySelectorAll(".dials")].pop();
const { tokens, scores, shown } = DATA;
const at = { temperature: 1, "top-k": tokens.length, "top-p": 1, draw: 0.6 };
const range = {
  temperature: [0.1, 3, 0.05], "top-k": [1, tokens.length, 1],
  "top-p": [0.05, 1, 0.05], draw: [0, 0.999, 0.001],
};
const svg = root.querySelector("svg");
function chosen() {
  let p = scores.map(s => Math.exp(s / at.temperature));
  p = p.map((x, i) => scores[i] >= scores[at["top-k"] - 1] ? x : 0);
  let sum = p.reduce((a, b) => a + b);
  let before = 0;
  p = p.map(x => {
    const keep = before < at["top-p"] - 1e-12;
    before += x / sum;
    return keep ? x / sum : 0;
  });
  sum = p.reduce((a, b) => a + b);
  return p.map(x => x / sum);
}
function add(name, attributes, text) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (text !== undefined) node.textContent = text;
  svg.append(node);
}
function draw() {
  const p = chosen(), step = 560 / shown;
  svg.replaceChildren();
  let left = 0, hit = -1;
  p.forEach((x, i) => {
    const here = x > 0 && at.draw >= left && at.draw < left + x;
    if (here || (x > 0 && hit < 0 && i === p.length - 1)) hit = i;
    const fill = here ? "#c8102e" : i % 2 ? "#6baed6" : "#2f6ea5";
    if (i < shown) {
      add("rect", { x: i * step + 2, y: 160 - 150 * x, width: step - 4, height: 150 * x, fill });
      add("text", { x: (i + 0.5) * step, y: 176, "text-anchor": "middle", "font-size": 13,
        fill: "currentColor", opacity: x > 0 ? 1 : 0.4 }, tokens[i]);
      if (x >= 0.02) add("text", { x: (i + 0.5) * step, y: 155 - 150 * x, "text-anchor": "middle",
        "font-size": 10, fill: "currentColor" }, Math.round(100 * x) + "%");
    }
    add("rect", { x: 560 * left, y: 190, width: Math.max(560 * x - 0.5, 0), height: 20, fill });
    left += x;
  });
  add("path", { d: `M ${560 * at.draw} 186 v 28`, stroke: "#c8102e", "stroke-width": 2 });
  add("text", { x: 560 * Math.min(Math.max(at.draw, 0.06), 0.94), y: 227, "text-anchor": "middle",
    "font-size": 11, fill: "currentColor" }, "draw " + at.draw.toFixed(3));
  const left_over = p.filter(x => x > 0).length;
  root.querySelector(".says").textContent =
    `${left_over} of ${tokens.length} tokens may be said; the draw says “${tokens[Math.max(hit, 0)]}”.`;
}
for (const name in at) {
  const [min, max, by] = range[name], label = document.createElement("label");
  label.style.cssText = "display: grid; grid-template-columns: 90px 1fr 48px; gap: 8px; align-items: center";
  label.innerHTML = `<span>${name}</span>
    <input type="range" min="${min}" max="${max}" step="${by}" data-lm-suppress-shortcuts><output></output>`;
  const [input, value] = [label.querySelector("input"), label.querySelector("output")];
  input.value = at[name];
  value.textContent = at[name];
  input.oninput = () => { at[name] = +input.value; value.textContent = input.value; draw(); };
  root.querySelector(".sliders").append(label);
}
root.querySelector("img").style.display = "none";
root.querySelector(".moving").style.display = "";
draw();
})();
</script>
</div>"""
