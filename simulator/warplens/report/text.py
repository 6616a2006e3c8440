"""A report as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap

from warplens.report.advice import Cost
from warplens.report.counters import Counters
from warplens.report.data import SECTIONS, ReportData
from warplens.report.findings import Limit
from warplens.report.tables import COLUMNS, arrays, columns, headline, room, row, totals, where_to_look

MOST_COSTS = 3  # told in full
WIDTH = 100


def text(report: ReportData, costs: Sequence[Cost], limits: Sequence[Limit]) -> str:
    """`costs` are those to be told, `limits` those that the launch has met."""
    parts = wrap(headline(report, costs), WIDTH + 20, subsequent_indent="  ")
    for name, title in SECTIONS:
        if found := report.shown(name):
            parts += ["", title, *(f"  {line}" for f in found for line in str(f).split("\n"))]
    if where := where_to_look(report):
        parts += ["", f"Step by step: {where}"]
    if limits:
        parts += ["", *(f"Limit met: {limit.message}" for limit in limits)]
    if costs:
        parts += ["", "What costs most", *(f"  {line}" for line in _costs(costs))]
    if report.printed:
        parts += ["", "Printed", *(f"  {line}" for line in report.printed.splitlines())]
    parts += ["", *_lines(report)]
    if report.arrays:
        parts += ["", *_arrays(report)]
    parts += ["", *in_columns(totals(report)), *wrap(room(report), WIDTH)]
    return "\n".join(parts)


def _costs(costs: Sequence[Cost]) -> Iterable[str]:
    for cost in costs[:MOST_COSTS]:
        where = f"line {cost.line}: " if cost.line else ""
        yield from wrap(f"{where}{cost.message} {cost.advice}", WIDTH, subsequent_indent="  ")
        if cost.source:
            yield f"    {cost.source}"
    if len(costs) > MOST_COSTS:
        yield f"and {len(costs) - MOST_COSTS} more, in report.costs"


def _lines(report: ReportData) -> list[str]:
    busy = [(str(line), report.lines[line], report.lines[line].source) for line in sorted(report.lines)]
    return _table("line", "source", busy)


def _arrays(report: ReportData) -> list[str]:
    return _table("array", "", [(a.array, a, what) for what, a in arrays(report)])


def _table(first: str, last: str, entries: Sequence[tuple[str, Counters, str]]) -> list[str]:
    shown = columns(counters for _, counters, _ in entries)
    rows = [[name, *(str(row(counters)[i]) for i in shown), end] for name, counters, end in entries]
    head = [[first, *(COLUMNS[i][0] for i in shown), ""], ["", *(COLUMNS[i][1] for i in shown), last]]
    width = [max(len(cells[i]) for cells in head + rows) for i in range(len(shown) + 1)]
    return [
        "  ".join([*(cell.rjust(w) for cell, w in zip(cells, width)), cells[-1]]).rstrip()
        for cells in head + rows
    ]


def in_columns(rows: list[tuple[str, str]], count: int = 2) -> list[str]:
    """Label and number pairs, down one column and then the next."""
    height = -(-len(rows) // count)
    label = max(len(a) for a, _ in rows)
    number = max(len(b) for _, b in rows)
    cells = [f"{a:<{label}}  {b:>{number}}" for a, b in rows]
    return ["     ".join(cells[i::height]).rstrip() for i in range(height)]
