"""The tables of a report, for text and for HTML: their rows and columns, and how a number is written."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from warplens.report.advice import Cost
from warplens.report.counters import ArrayCounters, Counters
from warplens.report.data import ReportData
from warplens.report.messages import plural
from warplens.report.occupancy import occupancy

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


@dataclass(frozen=True)
class Figure:
    """A number, and what it could be at best (None: that means nothing)."""

    value: float
    best: float | None = None

    def __str__(self) -> str:
        if not self.value:
            return ""
        best = self.best if isinstance(self.best, int) else 0
        text = number(self.value)
        return f"{text} (best {number(best)})" if self.value > best > 0 else text

    @property
    def poor(self) -> bool:
        return self.best is not None and self.value > 1.5 * self.best


# What `row` has, each under two words.
COLUMNS = (
    ("loads", "requests"),
    ("sectors", "loaded"),
    ("stores", "requests"),
    ("sectors", "stored"),
    ("sectors", "a request"),
    ("shared", "loads"),
    ("shared", "stores"),
    ("bank", "conflicts"),
    ("divergent", "branches"),
    ("barriers", ""),
    ("atomics", ""),
    ("flops", ""),
    ("integer", "operations"),
)


def row(c: Counters) -> list[Figure]:
    """The numbers of a line or an array, in the order of COLUMNS."""
    return [
        Figure(c.global_load_requests),
        Figure(c.global_load_sectors, c.global_load_sectors_ideal),
        Figure(c.global_store_requests),
        Figure(c.global_store_sectors, c.global_store_sectors_ideal),
        Figure(_sectors_a_request(c)),
        Figure(c.shared_load_requests),
        Figure(c.shared_store_requests),
        Figure(c.bank_conflicts, 0),
        Figure(c.divergent_branches, c.warps / 3),  # one in most warps is a guard at the end of an array
        Figure(c.barriers),
        Figure(c.atomics),
        Figure(c.flops),
        Figure(c.int_ops),
    ]


def _sectors_a_request(c: Counters) -> float:
    """Of the worst access: of several arrays on a line, or of loads and stores."""
    parts = [a for a in getattr(c, "arrays", {}).values()] or [c]
    pairs = [(p.global_load_sectors, p.global_load_requests) for p in parts]
    pairs += [(p.global_store_sectors, p.global_store_requests) for p in parts]
    return max((sectors / requests for sectors, requests in pairs if requests), default=0)


def columns(counters: Iterable[Counters]) -> list[int]:
    """Which columns say anything."""
    rows = [row(c) for c in counters]
    return [i for i in range(len(COLUMNS)) if any(cells[i].value for cells in rows)]


def arrays(report: ReportData) -> list[tuple[str, ArrayCounters]]:
    """The arrays, each with what it is: the shared ones with their size."""
    found = sorted(report.arrays.values(), key=lambda a: (a.space != "shared", a.array))
    return [(f"shared, {a.shared_bytes:,} bytes" if a.space == "shared" else "global", a) for a in found]


def totals(report: ReportData) -> list[tuple[str, str]]:
    """What was counted, without what there was none of."""
    counted = [(label, getattr(report, name)) for name, label in TOTALS]
    return [(label, number(value)) for label, value in counted if value]


def room(report: ReportData) -> str:
    """How much of a multiprocessor the launch can fill."""
    found = occupancy(math.prod(report.block), report.shared_bytes)
    few = f"; the launch has {plural(report.warps, 'warp')} in all" if report.warps < found.warps else ""
    return f"occupancy: {found}{few}"


def number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"


def headline(report: ReportData, costs: Sequence[Cost]) -> str:
    """The launch, and in a word what is to be said of it."""
    (gx, gy, gz), (bx, by, bz) = report.grid, report.block
    shape = f"{plural(gx * gy * gz, 'block')} ({gx}, {gy}, {gz})"
    shape += f" of {plural(bx * by * bz, 'thread')} ({bx}, {by}, {bz})"
    return f"{report.program}: {shape}: {verdict(report, costs)}"


def where_to_look(report: ReportData) -> str | None:
    """How to see what the thread of the first problem did."""
    there = (f for f in report.problems if f.thread is not None and f.block is not None)
    first = next(there, None)
    return None if first is None else f"report.trace({first.block}, {first.thread})"


def verdict(report: ReportData, costs: Sequence[Cost]) -> str:
    if not report.ok:
        return plural(len(report.problems), "problem")
    return f"ok, but slow: {costs[0].short}" if costs else "ok"
