"""Pictures of a run, as SVG: who touches which address, which banks collide, and who meets at barriers."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

import numpy as np

from warplens.report.messages import plural, triple
from warplens.report.samples import Instant, Request, Seen
from warplens.report.transactions import bank_conflicts, requests

INK, MUTED, GRID = "#1f2933", "#56616c", "#d5dade"
WRONG, POOR = "#c8102e", "#d98f00"  # red: a mistake; orange: right, and slower than need be
WARPS = ("#2b6ca3", "#d98f00", "#3a8f5c", "#9b4f96")
EVENTS = {"load": "#2b6ca3", "store": "#d98f00", "atomic": "#9b4f96"}
FONT = "font-family='Helvetica, Arial, sans-serif' font-size='11'"
LANE = 1.8  # the height of a lane in an access map
SECTORS = 160  # more have no room for lines between them


@dataclass(frozen=True)
class Picture:
    """One drawing; a notebook shows it. `of` is "access", "banks" or "barriers"; the last has no line."""

    of: str
    title: str
    svg: str = field(repr=False)
    line: int | None = None
    array: str | None = None

    def _repr_svg_(self) -> str:
        return self.svg


@dataclass(frozen=True)
class Sketch:
    """A picture that can be drawn: `request` is None for the time line."""

    of: str
    request: Request | None = None

    @property
    def line(self) -> int | None:
        return None if self.request is None else self.request.line

    @property
    def array(self) -> str | None:
        return None if self.request is None else self.request.array

    def drawn(self, seen: Seen) -> Picture:
        r = self.request
        if r is None:
            which = "the first block" if not any(seen.block) else f"block {triple(seen.block)}"
            title = f"Barriers: the warps of {which}, step by step"
            return Picture(self.of, title, timeline(seen.events))
        if self.of == "access":
            return Picture(self.of, access_title(r), access_map(r), r.line, r.array)
        return Picture(self.of, bank_title(r), bank_map(r), r.line, r.array)


def sketches(seen: Seen) -> list[Sketch]:
    """All pictures, by their sort and line."""
    requests = sorted(seen.requests.values(), key=lambda r: (r.line, r.kind, r.array))
    requests = [r for r in requests if r.kind != "atomic"]
    made = [Sketch("access", r) for r in requests if r.space == "global"]
    made += [Sketch("banks", r) for r in requests if r.space == "shared"]
    if any(event.kind == "barrier" for event in seen.events):
        made.append(Sketch("barriers"))
    return made


# ------------------------------------------------------------------------------------------------- access map


def access_title(request: Request) -> str:
    by_warp = [
        requests(request.offsets[row : row + 1], request.size, request.active[row : row + 1])
        for row in np.flatnonzero(request.active.any(axis=1))
    ]
    _, sectors, _, ideal = max(by_warp, key=lambda counts: (counts[1] - counts[3], counts[1]))
    verb = "reads" if request.kind == "load" else "writes"
    best = "which is the least possible" if sectors == ideal else f"{ideal} would do"
    touched = plural(sectors, "sector")
    return f"Line {request.line} {verb} {request.array}: a warp touches {touched} of 32 bytes, {best}"


def access_map(request: Request) -> str:
    """Threads downwards, addresses to the right, a colour for each warp; grey lines part sectors."""
    offsets, active, size = request.offsets, request.active, request.size
    low = int(offsets[active].min()) // 32 * 32
    high = -(-(int(offsets[active].max()) + size) // 32) * 32
    left, top, width = 100.0, 18.0, 640.0
    height = LANE * 32
    scale = width / (high - low)
    bar = max(3.0, size * scale - 0.6)
    rows = len(offsets)
    first, last = (
        (at - request.low) // request.item for at in (int(offsets[active].min()), int(offsets[active].max()))
    )
    ends = f"{request.array}[{first}] to {request.array}[{last + size // request.item - 1}]"
    sectors = (high - low) // 32
    out = [_text(left, 12, ends if sectors <= SECTORS else f"{ends}, over {sectors:,} sectors", MUTED)]
    if sectors <= SECTORS:
        for sector in range(sectors + 1):
            x = left + sector * 32 * scale
            dark = (low // 32 + sector) % 4 == 0
            out.append(_line(x, top, x, top + rows * (height + 6) - 6, MUTED if dark else GRID))
    for row in range(rows):
        y0, colour = top + row * (height + 6), WARPS[row % len(WARPS)]
        out.append(_text(4, y0 + 12, f"warp {int(request.warps[row])}", INK))
        out.append(_text(left - 5, y0 + 9, "lane 0", MUTED, "end"))
        out.append(_text(left - 5, y0 + height - 1, "31", MUTED, "end"))
        marks = "".join(
            f"M{left + (int(offsets[row, lane]) - low) * scale:.1f},{y0 + LANE * lane:.1f}h{bar:.1f}"
            f"v1.6h-{bar:.1f}z"
            for lane in np.flatnonzero(active[row])
        )
        out.append(f"<path d='{marks}' fill='{colour}'/>")
    return _svg(left + width + 10, top + rows * (height + 6), out)


# --------------------------------------------------------------------------------------------------- bank map


def bank_title(request: Request) -> str:
    verb = "reads" if request.kind == "load" else "writes"
    told = (
        "no bank conflicts"
        if request.conflicts == 0
        else plural(request.conflicts, "bank conflict") + " in a warp"
    )
    return f"Line {request.line} {verb} {request.array}: {told}"


def bank_map(request: Request) -> str:
    """The 32 banks side by side; each box is a word that the warp touches, with the lane that does (or how
    many lanes); words of one bank stand on each other and are fetched one after the other."""
    worst = int(np.argmax(bank_conflicts(request.offsets, request.size, request.active)))
    if not request.active[worst].any():
        worst = int(np.argmax(request.active.any(axis=1)))
    groups = {4: 1, 8: 2, 16: 4}.get(max(4, request.size), 1)
    stacks: dict[tuple[int, int], dict[int, list[int]]] = {}
    for lane in np.flatnonzero(request.active[worst]).tolist():
        start = int(request.offsets[worst, lane])
        for word in range(start // 4, (start + request.size - 1) // 4 + 1):
            stacks.setdefault((lane * groups // 32, word % 32), {}).setdefault(word, []).append(lane)
    out, cell, y = [], 20.0, 26.0
    for bank in range(32):
        out.append(_text(72 + bank * cell + 9, 12, str(bank), MUTED, "middle"))
    out.append(_text(4, 12, "bank", MUTED))
    for group in range(groups):
        deepest = max((len(words) for (g, _), words in stacks.items() if g == group), default=0)
        label = f"warp {int(request.warps[worst])}" if groups == 1 else f"part {group + 1} of {groups}"
        out.append(_text(4, y + 9, label, MUTED))
        for (_, bank), words in (item for item in stacks.items() if item[0][0] == group):
            for level, lanes in enumerate(words.values()):
                colour, ink = (WARPS[0], "#ffffff") if level == 0 else (POOR, INK)
                x, top = 72 + bank * cell, y - 4 + level * 14
                text = str(lanes[0]) if len(lanes) == 1 else f"{len(lanes)}x"
                out.append(f"<rect x='{x:.0f}' y='{top:.0f}' width='18' height='13' rx='2' fill='{colour}'/>")
                size = 11 if len(text) < 3 else 9
                out.append(_text(x + 9, top + 10, text, ink, "middle", size))
        y += 14 * max(deepest, 1) + 8
    out.append(_text(72, y + 4, "In a box: the lane that wants the word, or how many do (32x).", MUTED))
    return _svg(72 + 32 * cell + 8, y + 12, out)


# -------------------------------------------------------------------------------------------------- time line


def timeline(events: list[Instant]) -> str:
    """Warps downwards, steps to the right: accesses are ticks, barriers bars, red where one is missing."""
    warps = min(32, len(events[0].lanes))
    left, top, row = 60.0, 22.0, 14.0
    step = max(3.0, min(14.0, 640 / max(1, len(events))))
    out = []
    for warp in range(warps):
        y = top + warp * row
        out.append(_text(4, y + 9, f"warp {warp}", MUTED))
        out.append(_line(left, y + 6, left + step * len(events), y + 6, GRID))
    last_label = 0.0
    for i, event in enumerate(events):
        x = left + i * step
        if event.kind == "barrier":
            whole = bool((event.lanes == event.live).all())
            if x > last_label:
                out.append(_text(x, 12, f"line {event.line}", INK if whole else WRONG))
                last_label = x + 46
        for warp in range(warps):
            if event.kind != "barrier" and not event.lanes[warp]:
                continue
            y = top + warp * row
            if event.kind == "barrier":
                colour = INK if event.lanes[warp] == event.live[warp] else WRONG
                fill = colour if event.lanes[warp] or not event.live[warp] else "#ffffff"
                out.append(
                    f"<rect x='{x:.1f}' y='{y:.0f}' width='{max(2.0, step - 2):.1f}' height='13' "
                    f"fill='{fill}' stroke='{colour}' stroke-width='.8'/>"
                )
            else:
                colour = EVENTS[event.kind]
                out.append(
                    f"<rect x='{x:.1f}' y='{y + 3:.0f}' width='{max(1.5, step - 1.5):.1f}' height='6' "
                    f"fill='{colour}'/>"
                )
    y = top + warps * row + 14
    legend = [("loads", EVENTS["load"]), ("stores", EVENTS["store"]), ("atomics", EVENTS["atomic"]),
              ("__syncthreads()", INK), ("... that threads miss", WRONG)]  # fmt: skip
    x = left
    for text, colour in legend:
        out.append(f"<rect x='{x:.0f}' y='{y - 8:.0f}' width='9' height='9' fill='{colour}'/>")
        out.append(_text(x + 13, y, text, MUTED))
        x += 24 + 6.2 * len(text)
    return _svg(max(left + step * len(events), x, last_label) + 8, y + 6, out)


# -------------------------------------------------------------------------------------------------------- SVG


def _svg(width: float, height: float, parts: list[str]) -> str:
    body = "".join(parts)
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width:.0f}' height='{height:.0f}' "
        f"viewBox='0 0 {width:.0f} {height:.0f}' style='background:#fff;max-width:none' {FONT}>{body}</svg>"
    )


def _text(x: float, y: float, text: str, colour: str, anchor: str = "start", size: int = 11) -> str:
    place = f"x='{x:.1f}' y='{y:.1f}' fill='{colour}' text-anchor='{anchor}' font-size='{size}'"
    return f"<text {place}>{escape(text)}</text>"


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f"<path d='M{x1:.1f},{y1:.1f}L{x2:.1f},{y2:.1f}' stroke='{colour}' stroke-width='.7'/>"
