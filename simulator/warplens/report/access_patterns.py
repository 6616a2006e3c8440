"""What the addresses of a warp look like, and what would be better: read off the requests of pictures."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from warplens.report.samples import Request
from warplens.report.transactions import LANES, Ints

VECTORS = (2, 4)  # numbers of 4 bytes in one access


def _lanes(request: Request) -> Ints:
    """The offsets of the fullest warp that was kept."""
    row = int(np.argmax(request.active.sum(axis=1)))
    found: Ints = request.offsets[row][request.active[row]]
    return found


def stride_of(request: Request) -> int | None:
    """How many elements lie between neighbouring lanes, where that is mostly the same."""
    row = int(np.argmax(request.active.sum(axis=1)))
    lanes = np.flatnonzero(request.active[row])
    steps, times = np.unique(np.diff(request.offsets[row][lanes]) / np.diff(lanes), return_counts=True)
    if not len(steps) or 4 * times.max() < 3 * times.sum():
        return None
    step = float(steps[times.argmax()])
    return None if step % request.item else int(step) // request.item


def sector_hint(request: Request, beside: Iterable[Request], wide: int) -> tuple[str, str]:
    """What to do about sectors of which a warp uses little: in few words, and in a sentence.

    `beside` are the requests of other arrays on the same line; a block is `wide` threads wide along x.
    """
    name, stride = request.array, stride_of(request)
    if stride is not None and abs(stride) * request.item > request.size:
        return _strided(
            name, abs(stride), request.item, [r.array for r in beside if abs(stride_of(r) or 0) == 1]
        )
    runs = 1 + int(np.count_nonzero(np.diff(np.sort(_lanes(request))) > request.size))
    if wide < LANES and runs * 2 <= len(_lanes(request)):
        return (
            f"make the block wider along x, so that a warp touches fewer rows of {name}",
            f"A warp touches {runs} short pieces of `{name}`, and each begins or ends within a sector: with "
            "32 or more threads along x it is one piece.",
        )
    return (
        f"bring the accesses to {name} into order",
        f"The threads of a warp touch elements of `{name}` that lie in {runs} places. If the order is yours "
        "to choose, let neighbours touch neighbours; otherwise sort the indices, or keep in shared memory "
        "what is touched often.",
    )


def _strided(name: str, stride: int, item: int, in_rows: list[str]) -> tuple[str, str]:
    """Of lanes that are `stride` elements apart; `in_rows` are arrays along whose rows the same warp goes."""
    short = f"let neighbouring threads touch neighbouring elements of {name}"
    told = f"Neighbouring threads touch elements of `{name}` that are {stride:,} apart."
    if stride * item <= 64:
        width = stride * item // 4
        vector = f", or take a whole record with one access, as to a float{width}" if width in VECTORS else ""
        return short, (
            f"{told} Let them take neighbouring elements: where each walks through a piece of its own, let "
            "all go through the array side by side; of records, keep each field in an array of its "
            f"own{vector}."
        )
    if in_rows:
        return f"bring a tile to shared memory, so that a warp goes along the rows of {name} too", (
            f"{told} To swap the indices would only make `{in_rows[0]}` the slow one: read a tile along the "
            "rows of one array into shared memory, wait at __syncthreads(), and write it along the rows of "
            "the other."
        )
    return short, (
        f"{told} Let threadIdx.x be the part of the index that is not multiplied, so that a warp goes along "
        "a row. Where a loop counts that part, let the threads of a warp share the loop and add up what they "
        "have found; or bring a tile to shared memory along the rows, and take it from there along the "
        "columns."
    )
