"""Units of any grouping, plans of any order: what 9.14 and 9.15 ask for, and how good it is."""

from __future__ import annotations

from typing import Any

from coursekit.grading.compare import telling
from coursekit.grading.plain import plain


@telling
def judge_fuse_hidden(name: str, expected: Any, got: Any) -> str | None:
    """Units that can run one after the other, of one kind each, and no more than the reference's."""
    program, needs, kind, wanted = plain(expected)
    units = plain(got)[3]
    flat = [node for unit in units for node in unit]
    if sorted(flat) != sorted(program):
        return "not every node is in one unit, and in one only"
    kinds = dict(zip(program, kind))
    if any(len(unit) > 1 and len({kinds[node] for node in unit}) > 1 for unit in units):
        return "a unit has nodes of several kinds"
    if any(len(unit) > 1 and kinds[unit[0]] is None for unit in units):
        return "nodes without a kind share a loop"
    at = {node: i for i, node in enumerate(program)}
    if any([*unit] != sorted(unit, key=at.__getitem__) for unit in units):
        return "within a unit the nodes are not in the order of the program"
    place = {node: i for i, unit in enumerate(units) for node in unit}
    if any(place.get(one, 0) > place[node] for node, before in zip(program, needs) for one in before):
        return "a unit runs before one that it needs"
    return "there are more units than need be" if len(units) > len(wanted) else None


@telling
def judge_offsets_hidden(name: str, expected: Any, got: Any) -> str | None:
    """Places that do not overlap while both are alive, in a block as long as told, and not far too long."""
    want, have = plain(expected), plain(got)
    shared = have[1] <= 2 * _peak(want[0])  # first come, first served takes 1.8 times the peak at most
    return _sound(want, have) or (None if shared else "the plan is more than twice as long as the peak")


@telling
def judge_offsets_hidden_2(name: str, expected: Any, got: Any) -> str | None:
    """The same of many plans, whose lengths are together at most 7% above the peaks."""
    total = least = 0
    for want, have in zip(plain(expected), plain(got), strict=True):
        wrong = _sound(want, have)
        if wrong:
            return wrong
        least += _peak(want[0])
        total += have[1]
    return "the plans are more than 7% longer than the peaks" if total > 1.07 * least else None


def _peak(rows: Any) -> Any:
    """The most bytes that are alive at a step."""
    steps = {first for first, *_ in rows}
    return max(sum(size for a, b, size, _ in rows if a <= step <= b) for step in steps)


def _sound(want: Any, have: Any) -> str | None:
    rows = [(a, b, size, place) for (a, b, size, _), (*_, place) in zip(want[0], have[0], strict=True)]
    if any(place < 0 for *_, place in rows):
        return "an array lies before the block"
    if max(place + size for _, _, size, place in rows) != have[1]:
        return "the length is not where the last array ends"
    for i, (a, b, size, place) in enumerate(rows):
        for c, d, other, there in rows[:i]:
            if a <= d and c <= b and place < there + other and there < place + size:
                return "two arrays that are alive together overlap"
    return None
