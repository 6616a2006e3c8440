"""Pictures of chapter 10's first half: the bytes of a model file, and the sizes that walk through it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
from matplotlib.patches import Rectangle

from coursekit.pictures.described import Described, described, moving, stepper
from coursekit.pictures.plots import BLUE, GREY, INK, LIGHT, ORANGE, PALE
from minilib.wire import SCHEMA, values, varint


def digits_onnx() -> Path:
    """A convolutional network that reads digits, as ONNX: `make bench ARGS=digits_onnx` makes it again."""
    return Path(__file__).with_name("digits.onnx")


# Bytes


class Span(NamedTuple):
    """A field in a file: where its key, its length and its value begin, and where it ends."""

    path: str
    start: int
    length: int
    value: int
    end: int
    text: str


def spans(
    data: bytes, kind: str = "ModelProto", path: str = "", start: int = 0, end: int = -1
) -> Iterator[Span]:
    """The fields of a message that hold no message, in the order of the file."""
    view, at, seen = memoryview(data), start, dict[str, int]()
    while at < (len(data) if end < 0 else end):
        first = at
        key, at = varint(view, at)
        field, length = SCHEMA[kind][key >> 3], at
        many = f"[{seen.get(field.name, 0)}]" if field.many and not field.packed else ""
        seen[field.name] = seen.get(field.name, 0) + 1
        name = f"{path}{field.name}{many}"
        if key & 7 == 0:
            number, stop = varint(view, at)
            yield Span(name, first, length, length, stop, str(number))
        else:
            size, at = varint(view, at) if key & 7 == 2 else ({1: 8, 5: 4}[key & 7], at)
            stop = at + size
            if field.type in SCHEMA:
                yield from spans(data, field.type, f"{name}.", at, stop)
            else:
                yield Span(name, first, length, at, stop, _told(data[at:stop], field.type))
        at = stop


def _told(value: bytes, of: str) -> str:
    if of == "str":
        return repr(value.decode())
    return f"{len(value)} bytes" if of == "bytes" else str(values(memoryview(value), of, 0))


def draw_bytes(data: bytes, still: int = 3, columns: int = 24) -> Described:
    """A slider that walks through the fields of a short file: its bytes, and above them what they say.

    Where no script runs, field number `still` is shown.
    """
    found = list(spans(data))
    picture = _bytes(data, found[still], columns)
    told = json.dumps([list(data), found, still, columns, [KEY, LENGTH, VALUE]])
    return moving("bytes", _WALK, told, picture.png, picture.alt)


KEY, LENGTH, VALUE = ORANGE, GREY, "#4c97d0"


def _bytes(data: bytes, span: Span, columns: int) -> Described:
    rows = -(-len(data) // columns)
    figure, ax = plt.subplots(figsize=(0.34 * columns, 0.42 * rows + 0.5), layout="constrained")
    for i, byte in enumerate(data):
        x, y = i % columns, i // columns
        if span.start <= i < span.end:
            fill = KEY if i < span.length else LENGTH if i < span.value else VALUE
            ax.add_patch(Rectangle((x - 0.48, y - 0.48), 0.96, 0.96, fc=fill, ec=INK, alpha=0.5))
        letter = chr(byte) if 32 < byte < 127 else " "
        ax.text(x, y, f"{byte:02x}\n{letter}", ha="center", va="center", fontsize=8, family="monospace")
    ax.set_title(f"{span.path} = {span.text}", fontsize=10, color=INK, loc="left", family="monospace")
    ax.set(xlim=(-0.6, columns - 0.4), ylim=(rows - 0.4, -0.6))
    ax.axis("off")
    length = f"a length at byte {span.length}, " if span.value > span.length else ""
    alt = (
        f"The {len(data)} bytes of the file. Of {span.path} = {span.text} the key stands at byte "
        f"{span.start}, {length}its value at byte {span.value}."
    )
    return described(figure, alt, dpi=80)


_WALK = """(id, bytes, fields, first, columns, [keys, lengths, values]) => {
  const place = document.getElementById(id);
  if (!place) return;
  const make = (name, text, style) => {
    const node = document.createElement(name);
    if (text !== undefined) node.textContent = text;
    if (style) node.style.cssText = style;
    return node;
  };
  const tint = (colour) => `color-mix(in srgb, ${colour} 45%, transparent)`;
  const box = make("div", undefined, "font: 13px monospace; overflow-x: auto");
  const label = make("label", "field "), slider = make("input", undefined, "width: 240px");
  Object.assign(slider, { type: "range", min: 0, max: fields.length - 1, step: 1, value: first });
  slider.setAttribute("data-lm-suppress-shortcuts", "");
  slider.setAttribute("aria-label", "which field of the file is read");
  label.append(slider);
  const said = make("p", "", "font-weight: bold; margin: 6px 0");
  said.setAttribute("aria-live", "polite");
  const grid = make("div", undefined,
    `display: grid; grid-template-columns: repeat(${columns}, 28px); text-align: center; line-height: 1.15`);
  const cells = bytes.map((byte) => {
    const letter = byte > 32 && byte < 127 ? String.fromCharCode(byte) : "\\u00a0";
    const cell = make("span", undefined, "padding: 2px 0; border: 1px solid transparent");
    cell.append(byte.toString(16).padStart(2, "0"), make("br"), letter);
    grid.append(cell);
    return cell;
  });
  const legend = make("p", undefined, "margin: 6px 0");
  for (const [name, colour] of [["key", keys], ["length", lengths], ["value", values]]) {
    legend.append(make("span", name, `background: ${tint(colour)}; padding: 1px 8px; margin-right: 8px`));
  }
  const show = () => {
    const [path, start, length, value, end, text] = fields[slider.value];
    said.textContent = `${path} = ${text}`;
    cells.forEach((cell, i) => {
      const inside = i >= start && i < end;
      cell.style.background = !inside ? "" : tint(i < length ? keys : i < value ? lengths : values);
      cell.style.borderColor = inside ? "currentColor" : "transparent";
    });
  };
  slider.oninput = show;
  show();
  box.append(label, said, grid, legend);
  place.replaceChildren(box);
}"""


def draw_shares(parts: Mapping[str, int]) -> Described:
    """How many bytes of a file are what, as one bar and in numbers."""
    total = sum(parts.values())
    figure, ax = plt.subplots(figsize=(7.2, 1.25), layout="constrained")
    at = 0
    for (name, n), colour in zip(parts.items(), (BLUE, ORANGE, GREY, LIGHT)):
        ax.barh([0], [n], left=at, color=colour, label=f"{name}: {n:,}", height=0.5)
        at += n
    ax.set(xlim=(0, total), yticks=[], xlabel=f"{total:,} bytes")
    for side in ("top", "left", "right"):
        ax.spines[side].set_visible(False)
    ax.legend(ncols=len(parts), loc="lower center", bbox_to_anchor=(0.5, 1), frameon=False, fontsize=9)
    told = ", ".join(f"{name} {n:,}, {n / total:.0%}" for name, n in parts.items())
    return described(figure, f"Of {total:,} bytes: {told}")


def draw_network(rows: Any) -> Described:
    """Nodes one below the other: what each reads, its operator, what it makes. `rows` holds such triples."""
    rows = list(rows)
    figure, ax = plt.subplots(figsize=(6.4, 0.36 * len(rows) + 0.3), layout="constrained")
    for y, (reads, op, makes) in enumerate(rows):
        ax.add_patch(Rectangle((0.36, y - 0.36), 0.3, 0.72, fc=PALE, ec=BLUE))
        ax.text(0.51, y, op, ha="center", va="center", fontsize=9, color=INK)
        ax.text(0.34, y, f"{reads} →", ha="right", va="center", fontsize=8, color=INK, family="monospace")
        ax.text(0.68, y, f"→ {makes}", ha="left", va="center", fontsize=8, color=INK, family="monospace")
    ax.set(xlim=(0.16, 0.86), ylim=(len(rows) - 0.4, -0.6))
    ax.axis("off")
    return described(figure, "; ".join(f"{op} reads {reads} and makes {makes}" for reads, op, makes in rows))


# Sizes


def draw_sizes(steps: Any) -> Described:
    """A slider along a network: each step is (operator, the fact that it makes), the first one the input."""
    steps = list(steps)
    frames = [_sizes(steps, i) for i in range(len(steps))]
    return stepper(frames, "node", "how far the sizes have come", play=True)


def _sizes(steps: list[tuple[str, str]], now: int) -> Described:
    figure, ax = plt.subplots(figsize=(5.4, 0.31 * len(steps) + 0.2), layout="constrained")
    for y, (op, fact) in enumerate(steps):
        fill = ORANGE if y == now else PALE if y < now else "white"
        ax.add_patch(Rectangle((0, y - 0.38), 2.4, 0.76, fc=fill, ec=BLUE, alpha=0.6))
        ax.text(1.2, y, op, ha="center", va="center", fontsize=9, color=INK)
        ax.text(2.6, y, fact if y <= now else "?", va="center", fontsize=10, color=INK, family="monospace")
    ax.set(xlim=(-0.1, 5.6), ylim=(len(steps) - 0.4, -0.6))
    ax.axis("off")
    return described(
        figure, f"After {steps[now][0]}: {steps[now][1]}; known so far: {now + 1} of {len(steps)}"
    )


def draw_windows(n: int, kernel: int, stride: int, pads: tuple[int, int], dilation: int = 1) -> Described:
    """Where the windows of a convolution lie on n numbers and their padding."""
    before, after = pads
    span = dilation * (kernel - 1) + 1
    count = (n + before + after - span) // stride + 1
    figure, ax = plt.subplots(figsize=(6.4, 0.27 * count + 0.9), layout="constrained")
    for i in range(-before, n + after):
        inside = 0 <= i < n
        ax.add_patch(Rectangle((i - 0.45, -0.9), 0.9, 0.8, fc=PALE if inside else "white", ec=GREY))
        ax.text(i, -0.5, str(i) if inside else "0", ha="center", va="center", fontsize=8, color=INK)
    for row in range(count):
        taps = [row * stride - before + tap * dilation for tap in range(kernel)]
        ax.plot([taps[0], taps[-1]], [row + 0.4] * 2, color=BLUE, lw=1)
        ax.plot(taps, [row + 0.4] * kernel, "o", color=ORANGE, ms=5)
    ax.set(xlim=(-before - 0.7, n + after - 0.3), ylim=(count + 0.1, -1.1))
    ax.set_title(f"{n} numbers, {count} windows", fontsize=10, color=INK)
    ax.axis("off")
    return described(
        figure,
        f"{n} numbers with padding {pads}: {count} windows of {kernel}, each {stride} after the one before",
    )
