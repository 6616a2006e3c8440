"""What `profile` gives back: `ReportData`, which shows itself, is compared and can be asked for more."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from warplens.report.advice import Cost, costs
from warplens.report.data import ReportData, plain
from warplens.report.findings import Limit
from warplens.report.messages import triple
from warplens.report.occupancy import Occupancy, occupancy
from warplens.report.page import CSS, lines, page, said
from warplens.report.pictures import Picture, sketches
from warplens.report.tables import TOTALS, headline, number
from warplens.report.text import text
from warplens.report.theme import save
from warplens.report.trace import Steps, place_of_block, threads_of

_ELSEWHERE = ("met", "seen", "rerun")  # of the fields, what `to_dict` leaves out


class Report(ReportData):
    """What a launch did; printed, it is text, and in a notebook a page. `first | second` compares two."""

    @cached_property
    def costs(self) -> list[Cost]:
        """What could be cheaper, the most expensive first: see `report.advice`."""
        return costs(self)

    @property
    def _told_costs(self) -> list[Cost]:
        """Those that are worth a word: none where something is wrong."""
        return self.costs if self.ok else []

    @property
    def limits(self) -> list[Limit]:
        """Where this launch went beyond what is recorded in full: what the report may lack for it."""
        _ = self._told_costs  # to look for them may take another run of a block, which has limits of its own
        return [*self.met, *(self.rerun.limits if self.rerun else ())]

    def occupancy(self, architecture: str = "sm_90") -> Occupancy:
        """How many of a multiprocessor's warps the launch can keep there, by threads and shared memory."""
        return occupancy(math.prod(self.block), self.shared_bytes, architecture)

    def picture(self, of: str, *, line: int | None = None, array: str | None = None) -> Picture:
        """One of the pictures: "access" (threads and addresses of global memory), "banks" (of shared memory;
        the worst warp) or "barriers" (a time line of the first block's warps).

        `line` and `array` choose among several. Raises ValueError where there is none.
        """
        there = sketches(self.seen)
        for one in there:
            if one.of == of and line in (None, one.line) and array in (None, one.array):
                return one.drawn(self.seen)
        names = [f'"{one.of}"' + (f" of line {one.line}, {one.array}" if one.line else "") for one in there]
        raise ValueError(f"the report has no such picture; there is: {'; '.join(names) or 'none'}")

    def trace(
        self, block: Any = 0, thread: Any = None, *, warp: int | None = None, steps: int = 200
    ) -> Steps:
        """What one thread did, or with `warp=` one warp: its first `steps` steps, with all values.

        `block` and `thread` are numbers or tuples. The block runs again, alone and in lockstep, with the
        arguments as they were before the launch, so that what it would read of other blocks is not there.
        """
        number, at = place_of_block(block, self.grid)
        threads, name = threads_of(self.block, thread, warp)
        if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
            raise ValueError(f"trace: steps must be an integer from 1 on, not {steps!r}")
        if self.rerun is None:
            raise ValueError("trace: only a report that `profile` has made can run a block again")
        found, more = self.rerun(number, threads, steps)
        return Steps(f"{self.program}: {name} of block {triple(at)}", found, more)

    def to_dict(self) -> dict[str, Any]:
        """All that the report says, as dicts, lists, numbers and text, which json.dumps takes: each attribute
        by its name, `lines` as a list, `occupancy` that of the default architecture. Pictures and traces are
        left out."""
        names = [one.name for one in fields(self) if one.name not in _ELSEWHERE]
        names += ["bytes_moved", "flops_per_byte", "flops_per_shared_byte", "span", "ok", "costs", "limits"]
        return {**{name: plain(getattr(self, name)) for name in names}, "occupancy": plain(self.occupancy())}

    def save(self, path: str | Path) -> None:
        """Write what a notebook shows to `path`, as a page in HTML with its pictures."""
        save(path, headline(self, self._told_costs), self._repr_html_())

    def __str__(self) -> str:
        return text(self, self._told_costs, self.limits)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return page(self, self._told_costs, self.limits)

    def __or__(self, other: Report | Comparison) -> Comparison:
        """Both side by side."""
        return Comparison((self,)) | other


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Reports side by side, as `first | second` gives them: their totals in one table."""

    reports: tuple[Report, ...]

    def __or__(self, other: Report | Comparison) -> Comparison:
        return Comparison((*self.reports, *(other.reports if isinstance(other, Comparison) else (other,))))

    def save(self, path: str | Path) -> None:
        """Write what a notebook shows to `path`, as a page in HTML."""
        save(path, " | ".join(report.program for report in self.reports), self._repr_html_())

    def _totals(self) -> list[tuple[str, ...]]:
        """A label and the number of each report, where any has one."""
        return [
            (label, *(number(getattr(report, name)) for report in self.reports))
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
        return "\n".join([*(headline(report, report._told_costs) for report in self.reports), "", *table])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{escape(label)}</th>{''.join(f'<td>{number}</td>' for number in numbers)}</tr>"
            for label, *numbers in self._totals()
        )
        columns = "".join(
            f"<div>{said(report, report._told_costs, report.limits)}{lines(report, report._told_costs)}</div>"
            for report in self.reports
        )
        return f'<div class="cuda-report">{CSS}<div class="beside">{columns}</div><table>{rows}</table></div>'
