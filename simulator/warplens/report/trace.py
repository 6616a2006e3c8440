"""What one thread or one warp did, step by step: the base of `Report.trace`."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import Any

from warplens.report.messages import lanes_text, triple
from warplens.report.theme import COLOURS

Triple = tuple[int, int, int]


MORE = "and more: these are the first {:,} steps (steps=...)"
WAITS = (
    "and from here on it waits for another block, or for the other side of a branch: a trace shows neither"
)


WORDS = {"read": "reads {} = {}", "write": "writes {} = {}", "set": "{} = {}", "call": "{} gives {}"}
SOURCE = 56  # characters of a line, in a trace as text
VALUES = {"return": "returns", "switch": "switch on"}
KINDS = {"read": "blue", "write": "orange", "atomic": "purple", "barrier": "red", "test": "muted"}


@dataclass(frozen=True)
class Happening:
    """One thing that happened within a step.

    `kind`: "set" (the variable `name` gets `value`), "return" and "switch" (on a value), "read" and "write"
    (of the array `name`), "atomic" (`name` is the function, `value` its operand, `old` what was there, if
    that is used), "test" (True or False), "barrier", "call" (a function of warps gives `value`), "print",
    "enter" (a function `name`), "leave" (by break or continue).
    `where` is the element as the source would write it. `wrong` says why there is none: "out of bounds",
    "misaligned" or "a null pointer"; it is "" where all is well, and then the event is `ok`.
    In the trace of a warp, `index`, `value`, `old`, `where` and `wrong` are dicts by lane.
    """

    kind: str
    name: str = ""
    index: Any = None
    value: Any = None
    old: Any = None
    where: Any = ""
    wrong: Any = ""

    @property
    def ok(self) -> bool:
        return not any(self.wrong.values()) if isinstance(self.wrong, dict) else not self.wrong

    def __str__(self) -> str:
        where, value = _told(self.where), _told(self.value)
        if self.kind in WORDS:
            text = WORDS[self.kind].format(where or self.name, value)
        elif self.kind == "atomic":
            old = "" if self.old is None else f" (was {_told(self.old)})"
            text = f"{self.name} {where}, {value}{old}"
        elif self.kind == "test":
            text = f"condition: {value.lower()}"
        elif self.kind in VALUES:
            text = f"{VALUES[self.kind]} {value}"
        elif self.kind == "print":
            text = f"prints {value!r}"
        elif self.kind == "barrier":
            text = f"waits at {self.name}()"
        else:
            text = f"calls {self.name}" if self.kind == "enter" else self.name
        return text if self.ok else f"{text} (not there: {_reasons(self.wrong)})"


@dataclass
class Step:
    """One statement, or the test or the step of a loop. `lanes`: which threads took part."""

    number: int
    line: int
    source: str
    function: str
    lanes: tuple[int, ...]
    events: list[Happening] = field(default_factory=list)


@dataclass(frozen=True, eq=False, repr=False)
class Steps:
    """The steps of one thread, or of one warp, in order; `missing`: why there are not all of them, or "".

    The block runs alone, with the arguments as they were before the launch: it sees nothing of other blocks.
    """

    title: str
    steps: list[Step]
    missing: str = ""

    @property
    def complete(self) -> bool:
        return not self.missing

    def __len__(self) -> int:
        return len(self.steps)

    def variables(self, number: int) -> dict[str, Any]:
        """The variables of the function that step `number` is in, each with the value it was given last."""
        done = self.steps[:number]
        here = [step for step in done if step.function == done[-1].function]
        return {e.name: e.value for step in here for e in step.events if e.kind == "set"}

    def _sources(self) -> list[str]:
        """The source of each step, where it is not that of the step before."""
        before = [0, *(step.line for step in self.steps)]
        return [step.source.strip() if step.line != last else "" for step, last in zip(self.steps, before)]

    @property
    def _end(self) -> str:
        return self.missing.format(len(self.steps))

    def __str__(self) -> str:
        head = ("step", "line", "source", "what happens")
        rows = [
            (str(s.number), str(s.line), _cut(source), "; ".join(map(str, s.events)))
            for s, source in zip(self.steps, self._sources())
        ]
        wide = max(len(row[2]) for row in [head, *rows])
        lines = [f"{a:>4}  {b:>4}  {c:<{wide}}  {d}".rstrip() for a, b, c, d in [head, *rows]]
        return "\n".join([self.title, "", *lines, *([self._end] if self._end else [])])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{s.number}</th><th>{s.line}</th><td class=source>{escape(source)}</td>"
            f"<td class=events>{'<br>'.join(map(_event_html, s.events))}</td></tr>"
            for s, source in zip(self.steps, self._sources())
        )
        words = "<th class=source>source</th><th class=source>what happens</th>"
        head = f"<tr><th>step</th><th>line</th>{words}</tr>"
        return (
            f'<div class="cuda-trace">{_CSS}<p><b>{escape(self.title)}</b></p>'
            f"<table>{head}{rows}</table><p>{escape(self._end)}</p></div>"
        )


def _cut(source: str) -> str:
    return source if len(source) <= SOURCE else source[: SOURCE - 4] + " ..."


def _event_html(event: Happening) -> str:
    colour = KINDS.get(event.kind, "ink") if event.ok else "red"
    return f'<span style="color:var(--{colour})">{escape(str(event))}</span>'


def _told(value: Any) -> str:
    """A value, or those of the lanes of a warp in few words."""
    if not isinstance(value, _ByLane):
        return _shown(value)
    shown = [_shown(each) for each in value.values()]
    if len(set(shown)) == 1:
        return shown[0]
    return ", ".join(shown if len(shown) <= 4 else [*shown[:3], "...", shown[-1]])


def _reasons(wrong: Any) -> str:
    """Why there is nothing; of which lanes, where not of all of them."""
    if not isinstance(wrong, _ByLane):
        return str(wrong)
    by_reason: dict[str, list[int]] = {}
    for lane, reason in wrong.items():
        by_reason.setdefault(reason, []).append(lane)
    if len(by_reason) == 1:
        return next(iter(by_reason))
    told = [
        f"lane{'s' if len(lanes) > 1 else ''} {lanes_text(lanes)} {reason}"
        for reason, lanes in by_reason.items()
        if reason
    ]
    return ", ".join(told)


class _ByLane(dict[int, Any]):
    """Values of several lanes, and not the fields of a record."""


by_lane = _ByLane


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} {_shown(part)}" for name, part in value.items()) + "}"
    return str(value)


# ---------------------------------------------------------------------------------------------- which threads


def place_of_block(block: Any, grid: Triple) -> tuple[int, Triple]:
    """The number and the coordinates of a block, given as one or the other."""
    return _place("block", "grid", "blocks", block, grid)


def threads_of(block: Triple, thread: Any, warp: Any) -> tuple[list[int], str]:
    """The numbers of the threads to follow, and what they are called."""
    if (thread is None) == (warp is None):
        raise TypeError("trace: give either a thread or warp=, as in trace(0, 5) or trace(0, warp=1)")
    if warp is None:
        number, at = _place("thread", "block", "threads", thread, block)
        return [number], f"thread {triple(at)}"
    threads = block[0] * block[1] * block[2]
    warps = -(-threads // 32)
    if isinstance(warp, bool) or not isinstance(warp, int):
        raise TypeError(f"trace: warp must be an integer, not {type(warp).__name__}")
    if not 0 <= warp < warps:
        raise ValueError(f"trace: there is no warp {warp}: a block has the warps 0 to {warps - 1}")
    return list(range(32 * warp, min(threads, 32 * warp + 32))), f"warp {warp}"


def _place(what: str, of: str, many: str, given: Any, shape: Triple) -> tuple[int, Triple]:
    x, y, z = shape
    if isinstance(given, int) and not isinstance(given, bool):
        if not 0 <= given < x * y * z:
            raise ValueError(
                f"trace: there is no {what} {given}: the {of} has the {many} 0 to {x * y * z - 1}"
            )
        return given, (given % x, given // x % y, given // (x * y))
    if not isinstance(given, tuple) or not all(isinstance(c, int) and not isinstance(c, bool) for c in given):
        raise TypeError(f"trace: {what} must be an integer or a tuple of up to three, not {given!r}")
    if not 1 <= len(given) <= 3:
        raise ValueError(f"trace: {what} must have 1 to 3 coordinates, not {len(given)}: {given}")
    at = (*given, *(0,) * (3 - len(given)))
    if not all(0 <= c < length for c, length in zip(at, shape)):
        raise ValueError(f"trace: there is no {what} {triple(at)}: the {of} is {triple(shape)}")
    return at[0] + x * (at[1] + y * at[2]), at


_CSS = f"""<style>
.cuda-trace {{{COLOURS}
  font-family: Helvetica, Arial, sans-serif; font-size: 13px; color: var(--ink); background: var(--paper);
  padding: 8px; overflow-x: auto}}
.cuda-trace table {{border-collapse: collapse; font-size: 12px; line-height: 1.4}}
.cuda-trace tr {{border-bottom: 1px solid var(--line)}}
.cuda-trace td, .cuda-trace th {{padding: 1px 8px; text-align: right; border: none; font-weight: normal;
  color: var(--ink); background: var(--paper); vertical-align: top; white-space: nowrap}}
.cuda-trace th {{color: var(--muted)}}
.cuda-trace td.source, .cuda-trace th.source, .cuda-trace td.events {{text-align: left}}
.cuda-trace td.source, .cuda-trace td.events {{font-family: monospace; white-space: pre-wrap;
  min-width: 24em}}
.cuda-trace td.source {{padding-left: 32px; text-indent: -24px}}
</style>"""
