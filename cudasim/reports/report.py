"""What `profile` gives back: findings, counters in all and by source line, as text and as HTML."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from textwrap import wrap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cudasim.reports.counters import Counters
from cudasim.reports.pictures import Picture, Trace, pictures

__all__ = ["Finding", "LineCounters", "Lines", "Race", "Report"]

Triple = tuple[int, int, int]


@dataclass
class Finding:
    """One thing that is wrong: `count` times in all, described by the first example.

    `kind`: "out-of-bounds", "uninitialised", "misaligned", "barrier-divergence", "warp-sync", "arithmetic",
    "assert", "early-return" (a note); of a race "shared", "global", "warp" or "same-value".
    """

    kind: str
    message: str
    line: int
    source: str
    array: str | None = None
    index: int | None = None
    block: Triple | None = None
    thread: Triple | None = None
    count: int = 1

    def __str__(self) -> str:
        times = "" if self.count == 1 else f" ({self.count:,} times)"
        told = wrap(f"line {self.line}: {self.message}{times}", 100, subsequent_indent="  ")
        return "\n".join([*told, f"    {self.source}"])


@dataclass
class Race(Finding):
    """Two accesses in no order: this one, and an earlier or later one on `other_line`."""

    other_line: int = 0
    other_block: Triple = (0, 0, 0)
    other_thread: Triple = (0, 0, 0)


@dataclass(kw_only=True)
class LineCounters(Counters):
    """What one line of the source did. `threads` and `warps` are those that came there."""

    line: int
    source: str


class Lines(dict[int, LineCounters]):
    """Counters by line number; a line that did nothing has zeros."""

    def __missing__(self, line: int) -> LineCounters:
        return LineCounters(line=line, source="")


SECTIONS = (
    ("races", "Races"),
    ("out_of_bounds", "Out of bounds"),
    ("uninitialised", "Read before written"),
    ("misaligned", "Misaligned"),
    ("barrier_divergence", "Barriers that not all threads reach"),
    ("warp_sync", "Warp functions without all their lanes"),
    ("arithmetic", "Arithmetic"),
    ("asserts", "Assertions"),
    ("notes", "Notes"),
)

TOTALS = (
    ("threads", "threads"),
    ("warps", "warps"),
    ("global_load_requests", "global load requests"),
    ("global_load_sectors", "global load sectors"),
    ("global_load_sectors_ideal", "... at best"),
    ("global_load_lines", "global load lines"),
    ("global_store_requests", "global store requests"),
    ("global_store_sectors", "global store sectors"),
    ("global_store_sectors_ideal", "... at best"),
    ("global_store_lines", "global store lines"),
    ("bytes_read", "bytes read"),
    ("bytes_written", "bytes written"),
    ("bytes_moved", "bytes moved (whole sectors)"),
    ("unique_bytes", "different bytes"),
    ("shared_bytes", "shared bytes per block"),
    ("shared_load_requests", "shared load requests"),
    ("shared_store_requests", "shared store requests"),
    ("shared_bytes_read", "shared bytes read"),
    ("shared_bytes_written", "shared bytes written"),
    ("bank_conflicts", "bank conflicts"),
    ("divergent_branches", "divergent branches"),
    ("barriers", "barriers"),
    ("atomics", "atomics"),
    ("flops", "flops"),
    ("int_ops", "integer operations"),
    ("flops_per_byte", "flops per byte"),
)

COLUMNS = (
    ("loads", "requests"),
    ("sectors", "loaded"),
    ("stores", "requests"),
    ("sectors", "stored"),
    ("shared", "loads"),
    ("shared", "stores"),
    ("bank", "conflicts"),
    ("divergent", "branches"),
    ("barriers", ""),
    ("atomics", ""),
    ("flops", ""),
)


def _nobody() -> NDArray[np.int64]:
    return np.zeros((0, 0), dtype=np.int64)


@dataclass(kw_only=True, eq=False)
class Report(Counters):
    """The counters of a whole launch, its findings, and `lines`: the counters of each source line.

    `printed` is what printf said. `steps_by_thread` and `bytes_by_thread`, of shape (blocks, threads of a
    block), x fastest, say who did the work. A step is an access to memory, an atomic, the test of a branch or
    a loop, a barrier or a function of warps; the arithmetic between them is none. Bytes are those of global
    memory that a thread reads, writes, or changes by an atomic.
    """

    program: str
    source: str
    grid: Triple
    block: Triple
    outputs: list[NDArray[Any] | None] = field(default_factory=list)
    races: list[Race] = field(default_factory=list)
    out_of_bounds: list[Finding] = field(default_factory=list)
    uninitialised: list[Finding] = field(default_factory=list)
    misaligned: list[Finding] = field(default_factory=list)
    barrier_divergence: list[Finding] = field(default_factory=list)
    warp_sync: list[Finding] = field(default_factory=list)
    arithmetic: list[Finding] = field(default_factory=list)
    asserts: list[Finding] = field(default_factory=list)
    notes: list[Finding] = field(default_factory=list)
    printed: str = ""
    steps_by_thread: NDArray[np.int64] = field(default_factory=_nobody)
    bytes_by_thread: NDArray[np.int64] = field(default_factory=_nobody)
    lines: Lines = field(default_factory=Lines)
    trace: Trace = field(default_factory=Trace, repr=False)

    @property
    def span(self) -> int:
        """The steps of the thread that takes the most: with threads without end, the launch takes so long."""
        return int(self.steps_by_thread.max(initial=0))

    @property
    def ok(self) -> bool:
        """Whether nothing was found. Notes, and races that write the same value, do no harm."""
        return all(
            finding.kind == "same-value"
            for name, _ in SECTIONS
            if name != "notes"
            for finding in getattr(self, name)
        )

    @property
    def findings(self) -> list[Finding]:
        """All findings, section by section."""
        return [finding for name, _ in SECTIONS for finding in getattr(self, name)]

    def picture(self, of: str, *, line: int | None = None, array: str | None = None) -> Picture:
        """One of the pictures: "access" (threads and addresses of global memory), "banks" (of shared memory;
        the worst warp) or "barriers" (a time line of the first block's warps).

        `line` and `array` choose among several. Raises ValueError where there is none.
        """
        there = pictures(self.trace)
        for one in there:
            if one.of == of and line in (None, one.line) and array in (None, one.array):
                return one
        names = [f'"{one.of}"' + (f" of line {one.line}, {one.array}" if one.line else "") for one in there]
        raise ValueError(f"the report has no such picture; there is: {'; '.join(names) or 'none'}")

    def _headline(self) -> str:
        (gx, gy, gz), (bx, by, bz) = self.grid, self.block
        blocks, threads = gx * gy * gz, bx * by * bz
        shape = f"{_plural(blocks, 'block')} ({gx}, {gy}, {gz})"
        shape += f" of {_plural(threads, 'thread')} ({bx}, {by}, {bz})"
        wrong = sum(f.kind not in ("same-value", "early-return") for f in self.findings)
        verdict = "ok" if self.ok else _plural(wrong, "problem")
        return f"{self.program}: {shape}: {verdict}"

    def _totals(self) -> list[tuple[str, str]]:
        return [(label, _number(getattr(self, name))) for name, label in TOTALS]

    # --------------------------------------------------------------------------------------------------- text

    def __str__(self) -> str:
        parts = [self._headline()]
        for name, title in SECTIONS:
            if found := getattr(self, name):
                parts += ["", title, *(f"  {line}" for f in found for line in str(f).split("\n"))]
        if self.printed:
            parts += ["", "Printed", *(f"  {line}" for line in self.printed.splitlines())]
        parts += ["", *_in_columns(self._totals()), "", *self._line_table()]
        return "\n".join(parts)

    __repr__ = __str__

    def _line_table(self) -> list[str]:
        busy, columns = [self.lines[line] for line in sorted(self.lines)], self._columns()
        rows = [[str(c.line), *(_cell(_row(c)[i]) for i in columns), c.source] for c in busy]
        head = [
            ["line", *(COLUMNS[i][0] for i in columns), ""],
            ["", *(COLUMNS[i][1] for i in columns), "source"],
        ]
        width = [max(len(row[i]) for row in head + rows) for i in range(len(columns) + 1)]
        return [
            "  ".join([*(text.rjust(w) for text, w in zip(row, width)), row[-1]]).rstrip()
            for row in head + rows
        ]

    def _columns(self) -> list[int]:
        """Which columns say anything."""
        return [i for i in range(len(COLUMNS)) if any(_row(c)[i][0] for c in self.lines.values())]

    def __or__(self, other: Report | Beside) -> Beside:
        """Both side by side."""
        return Beside((self,)) | other

    # --------------------------------------------------------------------------------------------------- HTML

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><th>{escape(label)}</th><td>{value}</td></tr>" for label, value in self._totals()
        )
        totals = f"<details><summary>Totals</summary><table>{cells}</table></details>"
        return f'<div class="cuda-report">{_CSS}{self._findings_html()}{totals}{self._pictures_html()}</div>'

    def _findings_html(self) -> str:
        """What was found, and the lines of the source with their counters."""
        verdict, mark = ("ok", "&#10003;") if self.ok else ("wrong", "&#10007;")
        parts = [f'<p class="{verdict}"><b>{mark} {escape(self._headline())}</b></p>']
        for name, title in SECTIONS:
            if found := getattr(self, name):
                parts.append(f"<h4>{title}</h4><ul>{''.join(map(_finding_html, found))}</ul>")
        if self.printed:
            parts.append(f"<h4>Printed</h4><pre>{escape(self.printed)}</pre>")
        return "".join(parts) + self._lines_html()

    def _pictures_html(self) -> str:
        return "".join(
            f"<details open><summary>{escape(one.title)}</summary>{one.svg}</details>"
            for one in pictures(self.trace)
        )

    def _lines_html(self) -> str:
        columns = self._columns()
        head = "".join(f"<th>{COLUMNS[i][0]}<br>{COLUMNS[i][1]}</th>" for i in columns)
        problems = {f.line for f in self.findings if f.kind not in ("same-value", "early-return")}
        problems |= {race.other_line for race in self.races if race.kind != "same-value"}
        rows = ""
        for number, text in enumerate(self.source.splitlines(), 1):
            row = _row(self.lines[number])
            mark = ' class="wrong"' if number in problems else ""
            cells = "".join(f"<td>{_cell_html(row[i])}</td>" for i in columns)
            rows += f"<tr{mark}><th>{number}</th>{cells}<td class=source>{escape(text)}</td></tr>"
        return f"<table><tr><th>line</th>{head}<th class=source>source</th></tr>{rows}</table>"


@dataclass(frozen=True, eq=False, repr=False)
class Beside:
    """Reports side by side, as `first | second` gives them: their totals in one table."""

    reports: tuple[Report, ...]

    def __or__(self, other: Report | Beside) -> Beside:
        return Beside((*self.reports, *(other.reports if isinstance(other, Beside) else (other,))))

    def _totals(self) -> list[tuple[str, ...]]:
        """A label and the number of each report, where any has one."""
        return [
            (label, *(_number(getattr(report, name)) for report in self.reports))
            for name, label in TOTALS
            if any(getattr(report, name) for report in self.reports)
        ]

    def __str__(self) -> str:
        rows = self._totals()
        width = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        table = [
            "  ".join([row[0].ljust(width[0]), *(text.rjust(w) for text, w in zip(row[1:], width[1:]))])
            for row in rows
        ]
        return "\n".join([*(report._headline() for report in self.reports), "", *table])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{escape(label)}</th>{''.join(f'<td>{number}</td>' for number in numbers)}</tr>"
            for label, *numbers in self._totals()
        )
        columns = "".join(f"<div>{report._findings_html()}</div>" for report in self.reports)
        return (
            f'<div class="cuda-report">{_CSS}<div class="beside">{columns}</div><table>{rows}</table></div>'
        )


def _row(c: Counters) -> list[tuple[int, int]]:
    """The numbers of a line, each with what it could be at best (itself where that means nothing)."""
    loaded, stored = c.global_load_sectors, c.global_store_sectors
    return [
        (c.global_load_requests,) * 2,
        (loaded, c.global_load_sectors_ideal),
        (c.global_store_requests,) * 2,
        (stored, c.global_store_sectors_ideal),
        (c.shared_load_requests,) * 2,
        (c.shared_store_requests,) * 2,
        (c.bank_conflicts, 0),
        (c.divergent_branches, 0),
        (c.barriers,) * 2,
        (c.atomics,) * 2,
        (c.flops,) * 2,
    ]


def _cell(cell: tuple[int, int]) -> str:
    value, best = cell
    if value == 0:
        return ""
    return f"{value:,} (best {best:,})" if value > best > 0 else f"{value:,}"


def _cell_html(cell: tuple[int, int]) -> str:
    value, best = cell
    text = _cell(cell)
    return f'<span class="poor">{text}</span>' if value > 1.5 * best else text


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"


def _plural(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def _in_columns(rows: list[tuple[str, str]], columns: int = 2) -> list[str]:
    """Label and number pairs, down one column and then the next."""
    height = -(-len(rows) // columns)
    label = max(len(a) for a, _ in rows)
    number = max(len(b) for _, b in rows)
    cells = [f"{a:<{label}}  {b:>{number}}" for a, b in rows]
    return ["     ".join(cells[i::height]).rstrip() for i in range(height)]


def _finding_html(finding: Finding) -> str:
    times = "" if finding.count == 1 else f" <small>({finding.count:,} times)</small>"
    return (
        f"<li><b>line {finding.line}</b>: {escape(finding.message)}{times}"
        f"<br><code>{escape(finding.source)}</code></li>"
    )


_CSS = """<style>
.cuda-report {font-family: Helvetica, Arial, sans-serif; font-size: 13px; color: #1f2933;
  background: #fff; padding: 8px; overflow-x: auto}
.cuda-report .beside {display: flex; flex-wrap: wrap; gap: 24px; align-items: flex-start}
.cuda-report h4 {margin: 10px 0 2px}
.cuda-report ul {margin: 2px 0 8px}
.cuda-report table {border-collapse: collapse; font-size: 13px; line-height: 1.35; margin: 6px 0;
  background: #fff}
.cuda-report td, .cuda-report th {padding: 1px 8px; text-align: right; border: none; font-weight: normal;
  color: #1f2933; background: none; vertical-align: bottom; white-space: nowrap}
.cuda-report tr {background: #fff} .cuda-report tr:hover td {background: #f1f3f5}
.cuda-report th {color: #56616c}
.cuda-report td.source, .cuda-report th.source {text-align: left; white-space: pre; font-family: monospace}
.cuda-report tr.wrong td.source {background: #fbd5da}
.cuda-report p.ok {color: #1c6b3a} .cuda-report p.wrong {color: #c8102e}
.cuda-report .poor {background: #d98f00; border-radius: 3px; padding: 0 3px}
.cuda-report summary {cursor: pointer; margin-top: 6px; color: #2b6ca3}
</style>"""
