"""What the addresses of a warp look like, and what would be better: read off the requests of pictures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cudasim.reports.counters import Ints, alignment, bank_conflicts
from cudasim.reports.pictures import Request

__all__ = ["padded", "sector_hint", "stride_of"]


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


def sector_hint(request: Request) -> tuple[str, str]:
    """What to do about sectors of which a warp uses little: in few words, and in a sentence."""
    name, stride = request.array, stride_of(request)
    if stride is not None and abs(stride) * request.item > request.size:
        told = f"Neighbouring threads touch elements of {name} that are {abs(stride):,} apart. "
        if abs(stride) * request.item <= 64:
            told += (
                "Let them take neighbouring elements; of records, keep each field in an array of its own, or "
                "take a whole record with one access to a vector such as float4."
            )
        else:
            told += (
                "Let threadIdx.x be the part of the index that is not multiplied, so that a warp goes along "
                "a row; or bring a tile to shared memory along the rows, and take it from there along the "
                "columns."
            )
        return f"let neighbouring threads touch neighbouring elements of {name}", told
    runs = 1 + int(np.count_nonzero(np.diff(np.sort(_lanes(request))) > request.size))
    if runs * 2 <= len(_lanes(request)):
        return (
            f"make the block wider along x, so that a warp touches fewer rows of {name}",
            f"A warp touches {runs} short pieces of {name}, and each begins or ends within a sector: with 32 "
            "or more threads along x it is one piece.",
        )
    return (
        f"bring the accesses to {name} into order",
        f"The threads of a warp touch elements of {name} that lie in {runs} places. If the order is yours to "
        "choose, let neighbours touch neighbours; otherwise sort the indices, or keep in shared memory what "
        "is touched often.",
    )


def padded(requests: Sequence[Request]) -> int | None:
    """How many elements longer the rows of a shared array should be, for the fewest conflicts in the requests
    of one array; None where it has no rows, or that does not help."""
    shape = next((r.shape for r in requests if len(r.shape) >= 2), None)
    if shape is None:
        return None
    item = requests[0].item
    if any(r.item != item for r in requests):
        return None
    found: list[tuple[int, int]] = []
    for more in (0, 1, 2, 4):
        if any(more * item % alignment(r.size) for r in requests):
            continue
        found.append((_conflicts(requests, shape[-1], more, item), more))
    best, more = min(found)
    return more if more and best * 2 <= found[0][0] else None


def _conflicts(requests: Sequence[Request], row: int, more: int, item: int) -> int:
    total = 0
    for r in requests:
        moved = r.offsets + r.offsets // (row * item) * more * item
        total += int(bank_conflicts(moved, r.size, r.active).max())
    return total
