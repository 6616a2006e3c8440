"""Reports side by side, as `first | second` gives them."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from warplens.reports.page import CSS, lines, said
from warplens.reports.tables import TOTALS, headline, number

if TYPE_CHECKING:
    from warplens.reports.report import Report


@dataclass(frozen=True, eq=False, repr=False)
class Beside:
    """Reports side by side: their totals in one table."""

    reports: tuple[Report, ...]

    def __or__(self, other: Report | Beside) -> Beside:
        return Beside((*self.reports, *(other.reports if isinstance(other, Beside) else (other,))))

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
        return "\n".join([*(headline(report) for report in self.reports), "", *table])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{escape(label)}</th>{''.join(f'<td>{number}</td>' for number in numbers)}</tr>"
            for label, *numbers in self._totals()
        )
        columns = "".join(f"<div>{said(report)}{lines(report)}</div>" for report in self.reports)
        return f'<div class="cuda-report">{CSS}<div class="beside">{columns}</div><table>{rows}</table></div>'
