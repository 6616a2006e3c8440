"""A report as HTML, for a notebook: what is wrong or dear first, with its picture; then the tables."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from html import escape as escaped

from warplens.report.advice import Cost
from warplens.report.data import SECTIONS, ReportData
from warplens.report.findings import Finding, Limit
from warplens.report.messages import plural
from warplens.report.pictures import INK, POOR, Picture, Sketch, sketches
from warplens.report.tables import (
    COLUMNS,
    Figure,
    arrays,
    columns,
    headline,
    room,
    row,
    totals,
    where_to_look,
)
from warplens.report.text import MOST_COSTS
from warplens.report.theme import COLOURS

MOST_PICTURES = 8
TABLES = 3  # of totals, side by side
KINDS = {"shared": "conflicts", "global": "sectors"}  # of costs that a picture shows, by space
LEGEND = (
    '<p class="small">A request is one access of one warp; a sector is the 32 bytes that memory moves at '
    "once; best: what the same bytes would need side by side, orange where it is much more. Banks, of which "
    "shared memory has 32, each serve one word at a time; the words that a warp wants of one bank, less one, "
    "are conflicts. Bytes read and written are those that each thread asks for; what is moved is sectors.</p>"
)


def page(report: ReportData, costs: Sequence[Cost], limits: Sequence[Limit]) -> str:
    """`costs` are those to be told, `limits` those that the launch has met."""
    worst, others = _pictures(report, costs)
    parts = [
        said(report, costs, limits),
        worst,
        lines(report, costs),
        LEGEND,
        _arrays(report),
        _totals(report),
        others,
    ]
    return f'<div class="cuda-report">{CSS}{"".join(parts)}</div>'


def said(report: ReportData, costs: Sequence[Cost], limits: Sequence[Limit]) -> str:
    """What was found, what costs most, and what was printed."""
    verdict, mark = (
        ("slow", "&#9888;") if costs else ("ok", "&#10003;") if report.ok else ("wrong", "&#10007;")
    )
    parts = [f'<p class="{verdict}"><b>{mark} {escape(headline(report, costs))}</b></p>']
    for name, title in SECTIONS:
        if found := report.shown(name):
            parts.append(f"<h4>{title}</h4><ul>{''.join(map(_finding, found))}</ul>")
    if where := where_to_look(report):
        parts.append(f"<p>Step by step: <code>{escaped(where)}</code></p>")
    parts += [f'<p class="small">Limit met: {escape(limit.message)}</p>' for limit in limits]
    if costs:
        first, more = costs[:MOST_COSTS], costs[MOST_COSTS:]
        parts.append(f"<h4>What costs most</h4><ul>{''.join(map(_cost, first))}</ul>")
        if more:
            parts.append(_folded(f"{len(more)} more", f"<ul>{''.join(map(_cost, more))}</ul>"))
    if report.printed:
        parts.append(f"<h4>Printed</h4><pre>{escaped(report.printed)}</pre>")
    return "".join(parts)


def lines(report: ReportData, costs: Sequence[Cost]) -> str:
    """All lines of the source, with their counters."""
    wrong = {f.line for f in report.problems}
    wrong |= {race.other_line for race in report.races if race.is_harmful}
    dear = {n for cost in costs[:MOST_COSTS] for n in (cost.line, *cost.lines)}
    shown = columns(report.lines.values())
    rows = ""
    for number, text in enumerate(report.source.splitlines(), 1):
        mark = ' class="wrong"' if number in wrong else ' class="slow"' if number in dear else ""
        cells = _cells(row(report.lines[number]), shown)
        rows += f"<tr{mark}><th>{number}</th><td class=source>{escaped(text)}</td>{cells}</tr>"
    return f"<table><tr><th>line</th><th class=source>source</th>{_head(shown)}</tr>{rows}</table>"


def _arrays(report: ReportData) -> str:
    if not report.arrays:
        return ""
    entries = arrays(report)
    shown = columns(a for _, a in entries)
    rows = "".join(
        f"<tr><th class=name>{escape(a.array)}</th>{_cells(row(a), shown)}<td class=what>{what}</td></tr>"
        for what, a in entries
    )
    return f"<table><tr><th>array</th>{_head(shown)}<th></th></tr>{rows}</table>"


def escape(text: str) -> str:
    """With `code` as such."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escaped(text))


def _totals(report: ReportData) -> str:
    rows = [f"<tr><th>{escape(label)}</th><td>{value}</td></tr>" for label, value in totals(report)]
    height = -(-len(rows) // TABLES)
    tables = "".join(f"<table>{''.join(rows[i : i + height])}</table>" for i in range(0, len(rows), height))
    return f'<div class="beside">{tables}</div><p class="small">{escape(room(report))}</p>'


def _head(shown: Iterable[int]) -> str:
    return "".join(f"<th>{COLUMNS[i][0]}<br>{COLUMNS[i][1]}</th>" for i in shown)


def _cells(cells: list[Figure], shown: Iterable[int]) -> str:
    return "".join(
        f'<td><span class="poor">{cells[i]}</span></td>' if cells[i].poor else f"<td>{cells[i]}</td>"
        for i in shown
    )


def _finding(finding: Finding) -> str:
    times = "" if finding.count == 1 else f" <small>({finding.count:,} times)</small>"
    return (
        f"<li><b>line {finding.line}</b>: {escape(finding.message)}{times}"
        f"<br><code>{escaped(finding.source)}</code></li>"
    )


def _cost(cost: Cost) -> str:
    where = f"<b>line {cost.line}</b>: " if cost.line else ""
    source = f"<br><code>{escaped(cost.source)}</code>" if cost.source else ""
    return f"<li>{where}{escape(cost.message)} {escape(cost.advice)}{source}</li>"


def _folded(title: str, inside: str, is_open: bool = False) -> str:
    return f"<details{' open' if is_open else ''}><summary>{escape(title)}</summary>{inside}</details>"


# ------------------------------------------------------------------------------------------------ pictures


def _pictures(report: ReportData, costs: Sequence[Cost]) -> tuple[str, str]:
    """The worst picture, open, if there is something to see on it; and the others, folded."""
    chosen = sorted(sketches(report.seen), key=lambda one: _badness(report, costs, one), reverse=True)
    drawn: list[Picture] = [sketch.drawn(report.seen) for sketch in chosen[:MOST_PICTURES]]
    is_open = bool(chosen) and _badness(report, costs, chosen[0])[0] > 0
    folded = [_folded(one.title, one.svg, is_open and one is drawn[0]) for one in drawn]
    left = len(chosen) - len(drawn)
    more = f'<p class="small">and {plural(left, "more picture")}: report.picture(of, line=...)</p>' * (
        left > 0
    )
    return "".join(folded[:is_open]), "".join(folded[is_open:]) + more


def _badness(report: ReportData, costs: Sequence[Cost], sketch: Sketch) -> tuple[float, float]:
    """How bad it is what a picture shows: what the report says of it; and what it costs beyond the best."""
    seen = sketch.request
    if seen is None:
        return (math.inf if report.barrier_divergence else 0), -1
    told = [
        cost.turns
        for cost in costs
        if cost.array == seen.array and seen.line in cost.lines and cost.kind == KINDS[seen.space]
    ]
    array = report.lines[seen.line].arrays.get(seen.array)
    if array is None:
        return 0, 0
    if seen.space == "shared":
        return max(told, default=0), array.bank_conflicts if seen.conflicts else 0
    sectors, ideal = [getattr(array, f"global_{seen.kind}_sectors{end}") for end in ("", "_ideal")]
    return (max(told, default=0) if sectors > ideal else 0), sectors - ideal


CSS = f"""<style>
.cuda-report {{{COLOURS}
  font-family: Helvetica, Arial, sans-serif; font-size: 13px; color: var(--ink); background: var(--paper);
  padding: 8px; overflow-x: auto}}
.cuda-report .beside {{display: flex; flex-wrap: wrap; gap: 24px; align-items: flex-start}}
.cuda-report h4 {{margin: 10px 0 2px; color: inherit}}
.cuda-report ul {{margin: 2px 0 8px}}
.cuda-report li {{max-width: 60em}}
.cuda-report code, .cuda-report pre {{color: inherit; background: none}}
.cuda-report table {{border-collapse: collapse; font-size: 12px; line-height: 1.4; margin: 6px 0}}
.cuda-report td, .cuda-report th {{padding: 1px 5px; text-align: right; border: none; font-weight: normal;
  color: var(--ink); background: var(--paper); vertical-align: top; white-space: nowrap}}
.cuda-report tr:hover td {{background: var(--line)}}
.cuda-report th {{color: var(--muted)}}
.cuda-report td.source, .cuda-report th.source, .cuda-report th.name {{text-align: left;
  font-family: monospace}}
.cuda-report td.source {{white-space: pre-wrap; min-width: 32em; padding-left: 32px; text-indent: -24px}}
.cuda-report td.what {{text-align: left; color: var(--muted)}}
.cuda-report tr.wrong td.source {{background: var(--red-ground)}}
.cuda-report tr.slow td.source {{background: var(--orange-ground)}}
.cuda-report p.ok {{color: var(--green)}} .cuda-report p.wrong {{color: var(--red)}}
.cuda-report p.slow {{color: var(--orange)}}
.cuda-report p.small {{color: var(--muted); margin: 2px 0 8px}}
.cuda-report .poor {{background: {POOR}; color: {INK}; border-radius: 3px; padding: 0 3px}}
.cuda-report summary {{cursor: pointer; margin-top: 6px; color: var(--blue)}}
</style>"""
