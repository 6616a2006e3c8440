"""Chapter 02a: memory as a ribbon that can be read by many notes, and what a change of shape does."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle

from coursekit.pictures.described import Described, described, moving
from coursekit.pictures.plots import BLUE, GLOW, GREY, INK, ORANGE, PALE, SAND

# The ribbon

CELLS = 12
NOTES = {  # start, shape, strides, all counted in numbers
    "x": (0, (3, 4), (4, 1)),
    "x.T": (0, (4, 3), (1, 4)),
    "x[1] repeated": (4, (3, 4), (0, 1)),
}


def draw_ribbon() -> Described:
    """Twelve numbers in memory, and the table that a note of start, shape and strides makes of them.

    Where scripts run the note can be edited, and each half lights up in the other what belongs to it.
    """
    alt = (
        "A ribbon of twelve cells of memory, and below it three tables that are read from it: x of shape "
        "(3, 4) with strides (4, 1), x.T of shape (4, 3) with strides (1, 4), and x[1] repeated, with (0, 1)."
    )
    figure, ax = plt.subplots(figsize=(7.6, 3.1), layout="constrained")
    for cell in range(CELLS):
        _cell(ax, cell, 0, cell, PALE, BLUE)
    ax.text(-0.2, 0.5, "memory", ha="right", va="center", color=INK, size=9)
    left = 0.0
    for name, (start, shape, strides) in NOTES.items():
        for i, j in np.ndindex(shape):
            at = start + i * strides[0] + j * strides[1]
            _cell(ax, left + j, 3 + i, at, "white" if strides[0] == 0 and i else "#fff6e0", SAND)
        said = f"{name}\nshape {shape}\nstrides {strides}"
        ax.text(left + shape[1] / 2, 2.85, said, ha="center", size=8, color=INK)
        left += shape[1] + 0.6
    ax.set(xlim=(-1.8, 12.6), ylim=(7.1, -0.1), aspect="equal")
    ax.axis("off")
    still = described(figure, alt)
    data = json.dumps([CELLS, [[name, *note] for name, note in NOTES.items()], [BLUE, ORANGE]])
    return moving("ribbon", _RIBBON, data, still.png, alt)


def _cell(ax: Any, x: float, y: float, number: object, fill: str, line: str) -> None:
    ax.add_patch(Rectangle((x, y), 1, 1, fc=fill, ec=line))
    ax.text(x + 0.5, y + 0.5, number, ha="center", va="center", size=9, color=INK)


_RIBBON = """(id, cells, notes, [blue, orange]) => {
  const place = document.getElementById(id);
  if (!place) return;
  const goals = [
    ["columns side by side, as in x.T", [4, 3], (i, j) => i + 4 * j],
    ["row 1, three times", [3, 4], (i, j) => 4 + j],
    ["every other number, 0 2 4 / 6 8 10", [2, 3], (i, j) => 6 * i + 2 * j],
    ["backwards, from 11 down to 0", [3, 4], (i, j) => 11 - 4 * i - j],
    ["windows that overlap, 0 1 2 / 1 2 3 / ...", [10, 3], (i, j) => i + j],
  ];
  const found = new Set(), note = { start: 0, rows: 3, columns: 4, down: 4, right: 1 };
  const make = (name, text, style) => {
    const node = document.createElement(name);
    if (text !== undefined) node.textContent = text;
    if (style) node.style.cssText = style;
    return node;
  };
  const box = make("div", undefined, "max-width: 700px; font: 14px sans-serif");
  const cellStyle = "display: inline-block; width: 38px; height: 30px; line-height: 30px; margin: 1px; "
    + "text-align: center; border-radius: 3px; box-sizing: border-box; border: 1px solid ";
  const tint = (colour, share) => `color-mix(in srgb, ${colour} ${share}%, transparent)`;
  const ribbon = make("div"), fields = make("p"), table = make("div"), said = make("p"), score = make("p");
  said.setAttribute("aria-live", "polite");
  let tableCells = [];
  const ribbonCells = [...Array(cells).keys()].map((k) => {
    const cell = make("span", k, cellStyle + blue + `; background: ${tint(blue, 10)}`);
    cell.onmouseenter = cell.onclick = () => light(k);
    cell.onmouseleave = () => light();
    ribbon.append(cell);
    return cell;
  });
  const light = (at, one) => {
    ribbonCells.forEach((cell, k) => {
      cell.style.background = tint(k == at ? orange : blue, k == at ? 60 : 10);
    });
    tableCells.forEach(({ cell, address }) => {
      const lit = address == at && at !== undefined;
      cell.style.background = tint(orange, lit ? 60 : 10);
      cell.style.fontWeight = cell == one ? "bold" : "";
    });
    if (at === undefined) return;
    const uses = tableCells.filter(({ address }) => address == at);
    const { i, j } = one ? one.dataset : {}, many = uses.length;
    said.textContent = one
      ? `[${i}, ${j}] is at ${note.start} + ${i} \\u00d7 ${note.down} + ${j} \\u00d7 ${note.right} = ${at}`
      : `cell ${at} is read ${many > 1 ? many + " times" : many ? "once" : "nowhere"}`;
  };
  const inputs = {};
  const field = (key, label, low, high) => {
    const outer = make("label", label + " ", "margin-right: 12px; white-space: nowrap");
    const input = make("input", undefined, "width: 52px");
    Object.assign(input, { type: "number", min: low, max: high, step: 1, value: note[key] });
    input.setAttribute("data-lm-suppress-shortcuts", "");
    input.oninput = () => {
      const value = Number(input.value);
      if (input.value === "" || !Number.isInteger(value) || value < low || value > high) return;
      note[key] = value;
      draw();
    };
    inputs[key] = input;
    outer.append(input);
    fields.append(outer);
  };
  field("start", "start", 0, cells - 1);
  field("rows", "shape", 1, 10);
  field("columns", ",", 1, 6);
  field("down", "strides", -11, 11);
  field("right", ",", -11, 11);
  notes.forEach(([name, start, [rows, columns], [down, right]]) => {
    const button = make("button", name, "margin-right: 6px");
    button.onclick = () => {
      Object.assign(note, { start, rows, columns, down, right });
      Object.keys(inputs).forEach((key) => { inputs[key].value = note[key]; });
      draw(false);
    };
    fields.append(button);
  });
  function draw(own = true) {
    table.replaceChildren();
    tableCells = [];
    let outside = 0;
    for (let i = 0; i < note.rows; i++) {
      const line = make("div");
      for (let j = 0; j < note.columns; j++) {
        const address = note.start + i * note.down + j * note.right, inside = address >= 0 && address < cells;
        outside += !inside;
        const cell = make("span", inside ? address : "!", cellStyle + orange);
        Object.assign(cell.dataset, { i, j });
        cell.onmouseenter = cell.onclick = () => light(inside ? address : undefined, cell);
        cell.onmouseleave = () => light();
        line.append(cell);
        tableCells.push({ cell, address });
      }
      table.append(line);
    }
    light();
    said.textContent = outside
      ? `${outside} of these addresses lie outside of the memory: whatever stands there would be read.`
      : "Point at a cell, above or below, to see where it is on the other side.";
    if (own && !outside) goals.forEach(([, [rows, columns], rule], k) => {
      const fits = rows == note.rows && columns == note.columns
        && tableCells.every(({ cell, address }) => address == rule(+cell.dataset.i, +cell.dataset.j));
      if (fits) found.add(k);
    });
    score.replaceChildren("Five tables to make, by the numbers above:", ...goals.map(([name], k) =>
      make("div", `${found.has(k) ? "\\u2713" : "\\u25cb"} ${name}`, found.has(k) ? `color: ${blue}` : "")));
  }
  box.append(ribbon, fields, table, said, score);
  place.replaceChildren(box);
  draw(false);
}"""

# There and back


def draw_round_trip() -> Described:
    """What happens to the weights of a layer on the way forward, and to their gradient on the way back."""
    there = ["W\n(16, 2)", "W transposed\n(2, 16)", "products\n(100, 16)", "scores\n(100, 16)"]
    forward = ["permute", "matmul with\nx (100, 2)", "add bias (16),\nrepeated"]
    backward = ["permute back", "another matmul\nwith x", "and the bias:\nsum over 100"]
    alt = (
        "Forward, from left to right: W of shape (16, 2) is permuted to (2, 16), multiplied with x to "
        "(100, 16), and the bias is repeated and added. Backward, from right to left, each step is undone: a "
        "sum for the repetition, a product for the product, the inverse permutation."
    )
    figure, ax = plt.subplots(figsize=(9.2, 2.5), layout="constrained")
    for k, name in enumerate(there):
        for y, fill, line in ((0, PALE, BLUE), (1, "#ffe6d8", GLOW)):
            box = {"boxstyle": "round,pad=0.45", "fc": fill, "ec": line}
            text = name if y == 0 else f"gradient\n{name[name.index('(') :]}"
            ax.text(k * 3, y, text, ha="center", va="center", size=9, color=INK, bbox=box)
        if k == 3:
            continue
        style: dict[str, Any] = {"arrowstyle": "-|>", "lw": 1.4}
        ax.annotate("", (k * 3 + 2.1, 0), (k * 3 + 0.9, 0), arrowprops={**style, "color": BLUE})
        ax.annotate("", (k * 3 + 0.9, 1), (k * 3 + 2.1, 1), arrowprops={**style, "color": GLOW})
        ax.text(k * 3 + 1.5, -0.12, forward[k], ha="center", va="bottom", size=8, color=BLUE)
        ax.text(k * 3 + 1.5, 1.12, backward[k], ha="center", va="top", size=8, color=GLOW)
    ax.set(xlim=(-1, 10), ylim=(1.55, -0.55))
    ax.axis("off")
    return described(figure, alt, dpi=80)


def jacobian(change: Callable[[Any], Any], shape: tuple[int, ...]) -> Any:
    """The derivatives of `change`, which only copies: a row for each result, a column for each input."""
    size = math.prod(shape)
    ones = np.eye(size).reshape(size, *shape)  # one input at a time is 1
    return np.stack([change(one).ravel() for one in ones], axis=1)


def draw_tables(tables: Mapping[str, Any]) -> Described:
    """Tables of derivatives, a row for each result and a column for each input; what is not 0 is dark."""
    figure, axes = plt.subplots(1, len(tables), figsize=(2.1 * len(tables), 2.7), layout="constrained")
    for ax, (name, table) in zip(axes, tables.items()):
        ax.imshow(np.asarray(table) != 0, cmap="Blues", vmin=0, vmax=1.4, aspect="equal")
        ax.set_title(name, fontsize=9)
        ax.set_xlabel("inputs", fontsize=8)
        ax.set_xticks(np.arange(-0.5, table.shape[1]), [], minor=False)
        ax.set_yticks(np.arange(-0.5, table.shape[0]), [], minor=False)
        ax.grid(color=GREY, lw=0.5)
        ax.tick_params(length=0)
    axes[0].set_ylabel("results", fontsize=8)
    shapes = ", ".join(f"{name} {table.shape[0]} by {table.shape[1]}" for name, table in tables.items())
    return described(figure, f"Tables of ones and zeros: {shapes}.", dpi=80)
