"""Chapter 02a: memory as a ribbon that can be read by many notes, and what "Your turn" is told."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle

from coursekit.given import parts
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
    cell.onmouseenter = () => light(k);
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
        cell.onmouseenter = () => light(inside ? address : undefined, cell);
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
    score.replaceChildren(make("span", `Make these: `), ...goals.map(([name], k) => {
      const done = found.has(k);
      const text = done ? `\\u2713 ${name}` : name;
      const goal = make("span", text, "margin-right: 14px; display: inline-block");
      if (done) goal.style.color = blue;
      return goal;
    }));
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


# Your turn


def judge_note(mine: Any, memory: Any, right: Any) -> None:
    """Say what `mine`, (shape, strides in bytes), makes of `memory`, beside the table that is asked for."""
    if mine is ...:
        print("not filled in yet: the lesson goes on without it")
        return
    try:
        shape, strides = (tuple(int(n) for n in part) for part in mine)
    except (TypeError, ValueError):
        print("not yet: two tuples, (shape, strides), each with a number for each axis")
        return
    if shape != right.shape or len(strides) != len(shape):
        print(f"not yet: the table has the shape {right.shape}, and a stride for each axis")
        return
    size = memory.itemsize
    if any(stride % size for stride in strides) or max(map(abs, strides), default=0) < size:
        print(f"not yet: strides count bytes, and each number has {size}")
        return
    last = sum((n - 1) * stride for n, stride in zip(shape, strides))
    if min(strides) < 0 or last >= memory.nbytes:
        print("not yet: this walks out of the memory")
        return
    found = np.lib.stride_tricks.as_strided(memory, shape, strides)
    print("right" if np.array_equal(found, right) else f"not yet: this reads {found.tolist()}")


def judge_sum_to(names: dict[str, Any]) -> None:
    """Say which mistake the notebook's `sum_to` makes; one that is not right is replaced."""
    said = _sum_to(names["sum_to"])
    if said is None:
        print("right: column, row, both at once, and a single number")
        return
    print(said)
    for part in parts(["reference"], only=["sum_to"]):
        part.run(names)
    _tell_lent("sum_to of minilib/reference.py")


def _sum_to(sum_to: Callable[..., Any]) -> str | None:
    table = np.array([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]])
    cases: Sequence[tuple[Any, tuple[int, ...], str]] = (
        (table, (2, 1), "a column of 2, repeated to the right"),
        (table, (3,), "a row of 3, repeated downwards"),
        (table, (1, 3), "a row of shape (1, 3), repeated downwards"),
        (np.stack([table, 100 * table]), (2, 1), "a column, repeated to the right and along a new axis"),
        (table, (), "a single number, repeated everywhere"),
        (table, (2, 3), "what was not repeated at all"),
    )
    for grad, shape, what in cases:
        want = _collected(grad, shape)
        found, trouble = _tried(sum_to, grad.copy(), shape)
        if trouble:
            return trouble
        found = np.asarray(found)
        if found.shape != shape:
            return f"not yet: {what}: the shape should be {shape} again, and yours is {found.shape}"
        if not np.allclose(found, want):
            if np.allclose(found * (grad.size / max(want.size, 1)), want):
                return f"not yet: {what}: shares add up, and you took their mean"
            return f"not yet: {what}: it should collect {want.tolist()}, and yours has {found.tolist()}"
    square = np.arange(9.0).reshape(3, 3)
    if not np.allclose(sum_to(square, (3,)), square.sum(axis=0)):
        return "not yet: a row of 3 in a square table: which axis is new? Shapes are compared from the right"
    return None


def _collected(grad: Any, shape: tuple[int, ...]) -> Any:
    """The same by another way: every number says which place it was repeated from."""
    size = int(np.prod(shape, dtype=int))
    places = np.broadcast_to(np.arange(size).reshape(shape), grad.shape)
    return np.bincount(places.ravel(), grad.ravel(), minlength=size).reshape(shape)


def judge_scatter(names: dict[str, Any]) -> None:
    """Say which mistake the notebook's `scatter_add` makes; one that is not right is replaced."""
    said = _scatter(names["scatter_add"])
    if said is None:
        print("right: every share arrived, and what was never picked has 0")
        return
    print(said)

    def scatter_add(shape: Any, index: Any, grad: Any) -> Any:
        from minilib.operations import add_at

        return add_at(shape, lambda x: x[index], grad)

    names["scatter_add"] = scatter_add
    _tell_lent("add_at of minilib/operations.py")


def _scatter(scatter_add: Callable[..., Any]) -> str | None:
    index, grad = np.array([0, 2, 2, 1, 2]), np.arange(1.0, 11).reshape(5, 2)
    want = np.array([[1.0, 2.0], [7.0, 8.0], [17.0, 20.0], [0.0, 0.0]])
    found, trouble = _tried(scatter_add, (4, 2), index, grad.copy())
    if trouble:
        return trouble
    found = np.asarray(found)
    if found.shape != (4, 2):
        return f"not yet: the gradient of a table of shape (4, 2) has that shape, and yours has {found.shape}"
    if np.allclose(found[2], grad[4]):
        return "not yet: row 2 was picked three times, and only its last share arrived"
    if np.allclose(found[2], want[2] / 3):
        return "not yet: shares add up, and you took their mean"
    if not np.allclose(found, want):
        return f"not yet: the four rows should be {want.tolist()}, and yours are {found.tolist()}"
    nothing, _ = _tried(scatter_add, (4, 2), index[:0], grad[:0])
    if nothing is None or not np.array_equal(nothing, np.zeros((4, 2))):
        return "not yet: where nothing was picked, the gradient is 0 everywhere"
    return None


def judge_matmul(names: dict[str, Any]) -> None:
    """Say which mistake the notebook's `MatMul.backward` makes; one that is not right is replaced."""
    said = _matmul(names["MatMul"])
    if said is None:
        print("right: both agree with the nudge, for wide, tall and square matrices")
        return
    print(said)
    names["MatMul"].backward = lambda self, grad: (grad @ self.saved[1].T, self.saved[0].T @ grad)
    _tell_lent("course's own")


def _matmul(MatMul: Callable[[], Any]) -> str | None:
    rng = np.random.default_rng(0)
    for n, k, m in ((2, 3, 4), (1, 4, 2), (3, 3, 3)):
        x, y, grad = rng.normal(size=(n, k)), rng.normal(size=(k, m)), rng.normal(size=(n, m))
        f = MatMul()
        f.forward(x, y)
        found, trouble = _tried(f.backward, grad.copy())
        if trouble:
            return trouble
        if not isinstance(found, tuple) or len(found) != 2:
            return "not yet: two inputs, so two gradients: return that of x, and that of y"
        want = np.einsum("il,jl->ij", grad, y), np.einsum("ij,il->jl", x, grad)
        for name, mine, right in zip("xy", found, want):
            mine = np.asarray(mine)
            if mine.shape != right.shape:
                return f"not yet: {name} has the shape {right.shape}, and its gradient in yours {mine.shape}"
            if not np.allclose(mine, right):
                hint = "; in a square matrix every order fits, so shapes do not help" if n == m else ""
                return f"not yet: the gradient of {name} disagrees with the nudge{hint}"
    return None


def _tried(f: Callable[..., Any], *arguments: Any) -> tuple[Any, str | None]:
    """What `f` returns, or what to say instead."""
    try:
        found = f(*arguments)
    except Exception as error:
        return None, f"not yet: it stops with {type(error).__name__}: {error}"
    return found, "not written yet" if found is None else None


def _tell_lent(name: str) -> None:
    print(f"(the lesson goes on with the {name}; change yours, run both again)")
