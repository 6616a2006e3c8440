"""What groups of lanes work out together: sums and their like, and who belongs to whom.

Generated code calls `FUNCTIONS`. Each gets the lanes, the mask and the line of the call, the lanes that the
group has as bits, and what else it needs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from warplens.engine.axes import BOOLEAN
from warplens.engine.lanes import Lanes
from warplens.engine.memory import Value
from warplens.engine.values import Mask, wide
from warplens.language.bfloat import rounded
from warplens.language.groups import ALL_LANES
from warplens.language.types import BFLOAT, Scalar

Rows = np.ndarray[Any, Any]  # (W, 32)
LANE = np.arange(32)
BELOW = LANE[:, None] > LANE

_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "plus": lambda a, b: a + b if a.dtype != bool else a | b,
    "less": lambda a, b: np.where(b < a, b, a),
    "greater": lambda a, b: np.where(a < b, b, a),
    "bit_and": lambda a, b: a & b, "bit_or": lambda a, b: a | b, "bit_xor": lambda a, b: a ^ b,
}  # fmt: skip


def _bits(masks: Rows) -> Any:
    """(W, 32, 32): whether the group of a lane has another one."""
    return masks[:, :, None] >> LANE & 1 != 0


def _bits_of(L: Lanes, lanes: Value) -> Any:
    return L.axes.rows(wide(lanes)) & 0xFFFF_FFFF


def _ranks(masks: Rows) -> Any:
    """The number of each lane in its group."""
    below = masks & (1 << LANE) - 1
    return _bits(below).sum(2)


def _with_rank(masks: Rows, ranks: Rows, otherwise: Rows) -> Rows:
    """The lane that has a number in the group; `otherwise` where none has."""
    members = _bits(masks)
    found = members & (members.cumsum(2) - 1 == ranks[:, :, None])
    return np.where(found.any(2), found.argmax(2), otherwise)


def _watch(L: Lanes, name: str, masks: Rows, mask: Mask, line: int, reads: Any = False) -> None:
    """A call of all lanes of a group; `reads` says of which lanes (W, 32, 32) each one needs the values."""
    if L.recorder is None:
        return
    active = L.axes.active(mask)
    # Those that could come and do not are told of by the mask.
    lives = L.recorder.lives(L.warp_numbers(), L.axes.active(L.exited))
    absent = _bits(masks) & reads & ~lives[:, None, :]
    source = np.where(absent.any(2), absent.argmax(2), LANE)
    L.recorder.warp_intrinsic(
        line, name, masks.astype(np.uint32), active, L.warp_numbers(), L.axes.active(L.exited), source
    )


def _operation(text: str, kind: Scalar) -> Callable[[Any, Any], Any]:
    """What is done to two values; a sum of bfloat16 is one again."""
    operate = _OPERATIONS[text.partition(":")[0]]
    return (lambda a, b: rounded(operate(a, b))) if kind is BFLOAT else operate


def _scanned(L: Lanes, operate: Callable[[Any, Any], Any], masks: Rows, rows: Rows) -> Rows:
    """Of each lane the values of its group up to its own together, in the order in which CUDA adds them."""
    ranks = _ranks(masks)
    step = 1
    while step < 32:
        source = _with_rank(masks, ranks - step, np.broadcast_to(LANE, masks.shape))
        moved = np.take_along_axis(rows, source, 1)
        rows = np.where(step <= ranks, operate(rows, moved), rows)
        step *= 2
    return rows


def reduce(L: Lanes, mask: Mask, line: int, lanes: Value, value: Value, text: str, kind: Scalar) -> Value:
    masks, rows = _bits_of(L, lanes), L.axes.rows(value, kind.dtype)
    _watch(L, "reduce", masks, mask, line, True)
    operate = _operation(text, kind)
    if tile := int(text.partition(":")[2]):
        return L.axes.spread(_exchanged(operate, rows, tile).astype(kind.dtype))
    whole = _scanned(L, operate, masks, rows)
    last = 31 - (_bits(masks)[:, :, ::-1]).argmax(2)
    found = np.take_along_axis(whole, last, 1)
    full = masks == ALL_LANES  # then CUDA takes them for a tile
    if full.any():
        found = np.where(full, _exchanged(operate, rows, 32), found)
    return L.axes.spread(found.astype(kind.dtype))


def _exchanged(operate: Callable[[Any, Any], Any], rows: Rows, size: int) -> Rows:
    """Of each lane the values of its tile together, in the order in which shuffles exchange them."""
    step = size // 2
    while step:
        rows = operate(rows, rows[:, LANE ^ step])
        step //= 2
    return rows


def inclusive_scan(
    L: Lanes, mask: Mask, line: int, lanes: Value, value: Value, text: str, kind: Scalar
) -> Value:
    masks = _bits_of(L, lanes)
    _watch(L, "inclusive_scan", masks, mask, line, BELOW)
    whole = _scanned(L, _operation(text, kind), masks, L.axes.rows(value, kind.dtype))
    return L.axes.spread(whole.astype(kind.dtype))


def exclusive_scan(
    L: Lanes, mask: Mask, line: int, lanes: Value, value: Value, text: str, kind: Scalar
) -> Value:
    """Of the first lane 0, also where that is not neutral, as in CUDA."""
    masks, rows = _bits_of(L, lanes), L.axes.rows(value, kind.dtype)
    _watch(L, "exclusive_scan", masks, mask, line, BELOW)
    ranks, whole = _ranks(masks), _scanned(L, _operation(text, kind), masks, rows)
    before = _with_rank(masks, ranks - 1, np.broadcast_to(LANE, masks.shape))
    result = np.where(ranks == 0, kind.dtype.type(0), np.take_along_axis(whole, before, 1))
    return L.axes.spread(result.astype(kind.dtype))


def lane(L: Lanes, mask: Mask, line: int, lanes: Value, rank: Value) -> Value:
    """The lane that has that number in the group, its own where none has."""
    masks = _bits_of(L, lanes)
    own = np.broadcast_to(LANE, masks.shape)
    return L.axes.spread(_with_rank(masks, L.axes.rows(wide(rank)), own).astype(np.int32))


def part(L: Lanes, mask: Mask, line: int, lanes: Value, size: Value) -> Value:
    """The lanes of the part of so many to which a lane belongs."""
    masks = _bits_of(L, lanes)
    masks = masks & _joined(_exist(L, masks))
    ranks, size = _ranks(masks), int(size)
    whose = np.take_along_axis(ranks[:, None, :], np.broadcast_to(LANE, (*masks.shape, 32)), 2) // size
    same = _bits(masks) & (whose == ranks[:, :, None] // size)
    return L.axes.spread(_joined(same).astype(np.uint32))


def _exist(L: Lanes, masks: Rows) -> Rows:
    """(W, 32, 32): the lanes of a warp that are threads of the block."""
    return np.broadcast_to(L.axes.rows(True, BOOLEAN)[:, None, :], (*masks.shape, 32))


def _joined(bits: Rows) -> Any:
    """(W, 32, 32) as masks."""
    return (bits * (1 << LANE)).sum(2)


def packed(L: Lanes, mask: Mask, line: int, lanes: Value, ballot: Value) -> Value:
    """The bits of a vote by the numbers of lanes in their group."""
    masks, votes = _bits_of(L, lanes), L.axes.rows(wide(ballot))
    ranks = _bits(masks).cumsum(2) - 1
    chosen = _bits(masks & votes)
    return L.axes.spread((chosen * (1 << np.maximum(ranks, 0))).sum(2).astype(np.uint32))


def _same(L: Lanes, masks: Rows, value: Value) -> Any:
    rows = L.axes.rows(value, np.dtype(np.int64))
    return _joined(_bits(masks) & (rows[:, None, :] == rows[:, :, None]))


def label(L: Lanes, mask: Mask, line: int, lanes: Value, value: Value) -> Value:
    """The lanes of a group that have the same value."""
    masks = _bits_of(L, lanes)
    _watch(L, "labeled_partition", masks, mask, line)
    return L.axes.spread(_same(L, masks, value).astype(np.uint32))


def _leaders(L: Lanes, masks: Rows, value: Value) -> tuple[Rows, Rows]:
    """(W, 32, 32): who is the first of those with its value; and each lane's own first one."""
    first = _bits(_same(L, masks, value)).argmax(2)
    return _bits(masks) & (first == LANE)[:, None, :], first


def label_rank(L: Lanes, mask: Mask, line: int, lanes: Value, value: Value) -> Value:
    """The number of a part among those of a group, by their first lanes."""
    leaders, first = _leaders(L, _bits_of(L, lanes), value)
    return L.axes.spread((leaders & (first[:, :, None] > LANE)).sum(2).astype(np.uint32))


def labels(L: Lanes, mask: Mask, line: int, lanes: Value, value: Value) -> Value:
    """How many parts a group has."""
    leaders, _ = _leaders(L, _bits_of(L, lanes), value)
    return L.axes.spread(leaders.sum(2).astype(np.uint32))


FUNCTIONS: dict[str, Callable[..., Value]] = {
    "group reduce": reduce, "group inclusive_scan": inclusive_scan, "group exclusive_scan": exclusive_scan,
    "group lane": lane, "group part": part, "group packed": packed, "group label": label,
    "group label rank": label_rank, "group labels": labels,
}  # fmt: skip
COMBINED = ("group reduce", "group inclusive_scan", "group exclusive_scan")
