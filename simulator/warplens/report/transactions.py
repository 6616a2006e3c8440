"""What an access costs the memory system: sectors, cache lines and bank conflicts of the requests of warps.

One row is one warp's request. `offsets` are bytes from an address that is a multiple of 512 (the first byte
of an allocation, or of a block's shared memory), so that sectors, lines and banks follow from them alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LANES = 32
SECTOR, LINE, BANKS, WORD = 32, 128, 32, 4

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def alignment(size: int) -> int:
    """What the address of `size` bytes must be a multiple of: 16 for a float4, 4 for a float3."""
    return min(16, size & -size)


def requests(offsets: Ints, size: int, active: Bools) -> tuple[int, int, int, int]:
    """Requests, sectors, lines and ideal sectors of one access by rows of 32 lanes, all rows together."""
    offsets, rows = _filled(offsets, active)
    if rows == 0:
        return 0, 0, 0, 0
    unit = alignment(size)
    if unit < size:  # a float3 is three floats, a double4 two halves
        offsets = (offsets[:, :, None] + np.arange(0, size, unit)).reshape(rows, -1)
    offsets = _ordered(offsets)
    changes = offsets[:, 1:] != offsets[:, :-1]
    distinct = 1 + np.count_nonzero(changes, axis=1)
    ideal = int((-(-distinct * unit // SECTOR)).sum())
    return rows, rows + _steps(offsets >> 5), rows + _steps(offsets >> 7), ideal


def bank_conflicts(offsets: Ints, size: int, active: Bools) -> Ints:
    """Conflicts of each row: over its groups of lanes, the most distinct words in one bank, less one."""
    unit = alignment(size)
    parts = [_conflicts(offsets + start, unit, active) for start in range(0, size, unit)]
    total: Ints = np.sum(parts, axis=0, dtype=np.int64)
    return total


def _conflicts(offsets: Ints, size: int, active: Bools) -> Ints:
    """`bank_conflicts` of an access whose size is its alignment: one vector covers whole banks."""
    width = max(size, WORD)
    groups, sets = width // WORD, BANKS * WORD // width
    # (rows, 32) -> (rows * groups, lanes of a group)
    vectors = (offsets // width).reshape(-1, LANES // groups)
    taking_part = active.reshape(vectors.shape)
    some: Bools = np.any(taking_part, axis=1)
    vectors, rows = _filled(vectors, taking_part)
    worst = np.zeros(len(some), dtype=np.int64)
    if rows:
        vectors = _ordered(vectors)
        first = np.ones(vectors.shape, dtype=bool)
        first[:, 1:] = vectors[:, 1:] != vectors[:, :-1]
        where = np.arange(0, rows * sets, sets)[:, None] + vectors % sets
        worst[some] = np.bincount(where[first], minlength=rows * sets).reshape(rows, sets).max(axis=1) - 1
    conflicts: Ints = worst.reshape(-1, groups).sum(axis=1)
    return conflicts


def _filled(values: Ints, active: Bools) -> tuple[Ints, int]:
    """The rows in which anyone is active; lanes that are not repeat one that is, which adds nothing."""
    if active.all():
        return values, len(values)
    some = active.any(axis=1)
    values, active = values[some], active[some]
    stand_in = np.take_along_axis(values, active.argmax(axis=1)[:, None], axis=1) if len(values) else values
    return np.where(active, values, stand_in), len(values)


def _ordered(values: Ints) -> Ints:
    """Each row sorted; most come sorted already, and to see that is cheaper than to sort."""
    sorted_: Ints = values if (values[:, 1:] >= values[:, :-1]).all() else np.sort(values, axis=1)
    return sorted_


def _steps(values: Ints) -> int:
    return int(np.count_nonzero(values[:, 1:] != values[:, :-1]))
