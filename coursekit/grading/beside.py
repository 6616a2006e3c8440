"""What was expected and what was got, side by side: the smallest value that shows a mistake, as small tables.

For who may see it all: a learner's own notebook, and pages of a grading whose hidden tests are public. The
tables are plain HTML, in which nothing runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from markupsafe import Markup, escape

from coursekit.grading.pair import Array, Pair

MOST = 8  # rows and columns of a table
_CELL = "padding:1px 6px;text-align:right;border:1px solid #8886"
_WRONG = f"{_CELL};background:#e5393544"


def smallest(pairs: Iterable[Pair]) -> Pair | None:
    """Of the values that are wrong, the one of the fewest numbers; None where no numbers are compared."""
    wrong = [p for p in pairs if p.numeric and not p.codes and not p.right and p.want.size and p.have.size]
    return min(wrong, key=lambda p: (p.want.size < 2, p.want.size), default=None)


def side_by_side(pair: Pair) -> Markup:
    """Two tables, and above them which value it is."""
    title = Markup("<code>{}</code>").format(pair.probe) + (f", {pair.place}" if pair.place else "")
    same = pair.want.shape == pair.have.shape
    wrong = ~pair.near(pair.want, pair.have) if same else None
    at = _slice(wrong) if wrong is not None else ()
    tables = [
        _table(name, array, None if wrong is None else wrong, at)
        for name, array in (("expected", pair.want), ("got", pair.have))
    ]
    style = "display:flex;gap:2em;flex-wrap:wrap;font-family:monospace"
    return Markup('<div>{}</div><div style="{}">{}</div>').format(title, style, Markup("").join(tables))


def _slice(wrong: Array) -> tuple[int, ...]:
    """The place, in the axes before the last two, of the first wrong value."""
    found = np.argwhere(wrong)
    return tuple(int(n) for n in found[0][:-2]) if wrong.ndim > 2 and len(found) else ()


def _table(name: str, array: Array, wrong: Array | None, at: Sequence[int]) -> Markup:
    whole = array.shape
    if array.ndim > 2:
        at = at or (0,) * (array.ndim - 2)
        array, wrong = array[tuple(at)], None if wrong is None else wrong[tuple(at)]
    rows = np.atleast_2d(array)
    marks = np.zeros(rows.shape, bool) if wrong is None else np.atleast_2d(wrong)
    first = np.argwhere(marks)
    top, left = (max(0, int(n) - MOST // 2) if n >= MOST else 0 for n in (first[0] if len(first) else (0, 0)))
    shown = Markup("").join(
        Markup("<tr>{}</tr>").format(
            Markup("").join(
                Markup('<td style="{}">{}</td>').format(_WRONG if bad else _CELL, _number(x))
                for x, bad in zip(row[left : left + MOST], mark[left : left + MOST])
            )
        )
        for row, mark in zip(rows[top : top + MOST], marks[top : top + MOST])
    )
    cut = rows.shape[0] > MOST or rows.shape[1] > MOST or bool(at)
    where = f", from [{', '.join(map(str, (*at, *((top, left)[2 - min(2, array.ndim) :]))))}]" if cut else ""
    about = f"{name}, shape {whole}{where}" if whole else name
    return Markup('<div>{}<table style="border-collapse:collapse">{}</table></div>').format(
        escape(about), shown
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) < 1e15 and value == round(value) else f"{value:.4g}"  # nan, inf too
