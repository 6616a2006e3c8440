"""A layout of boxes and edges from left to right that needs no Graphviz: plainer, and good enough to read.

Boxes stand in columns, each just left of the first that it leads to. An edge over several columns gets a free
place in each of them. A column is ordered by the mean height of its boxes' neighbours, after Sugiyama, Tagawa
and Toda, "Methods for visual understanding of hierarchical system structures" (1981).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from minilib.draw.palette import ROW
from minilib.draw.shapes import Point, Size

_APART, _BETWEEN = 18.0, 25.0  # of two boxes in a column, and of two columns
_SWEEPS = 8

Edge = tuple[int, int]


def arrange(
    sizes: Sequence[Size], edges: Sequence[Edge], rooms: Sequence[float]
) -> tuple[list[Point], list[tuple[Point, ...]], list[Point]]:
    """The boxes' centres, a curve for each edge, and on it the middle of a label of the width in `rooms`.

    All places are positive and begin near 0; the edges must not go in a circle.
    """
    columns = _columns(len(sizes), edges)
    boxes, lanes = list(sizes), []  # behind the boxes: the places of long edges
    column = [*columns]
    for (tail, head), room in zip(edges, rooms, strict=True):
        between = range(columns[tail] + 1, columns[head])
        lanes.append([tail, *range(len(boxes), len(boxes) + len(between)), head])
        boxes += [(0.0, ROW if room else ROW / 2)] * len(between)
        column += between
    members = [[i for i, at in enumerate(column) if at == k] for k in range(max(column) + 1)]
    neighbours: list[list[int]] = [[] for _ in boxes]
    for lane in lanes:
        for one, other in pairwise(lane):
            neighbours[one].append(other)
            neighbours[other].append(one)
    heights = _heights([height for _, height in boxes], members, neighbours)
    left, right = _sides(boxes, members, lanes, column, rooms)
    centres = [((left[at] + right[at]) / 2, heights[i]) for i, at in enumerate(columns)]
    curves: list[tuple[Point, ...]] = []
    spots: list[Point] = []
    for (tail, head), lane in zip(edges, lanes, strict=True):
        start = centres[tail][0] + sizes[tail][0] / 2, heights[tail]
        end = centres[head][0] - sizes[head][0] / 2, heights[head]
        stops = [
            start,
            *((x, heights[i]) for i in lane[1:-1] for x in (left[column[i]], right[column[i]])),
            end,
        ]
        curves.append(_through(stops))
        (x, y), (z, w) = stops[-2:] if len(stops) > 2 else (start, end)
        spots.append(((x + z) / 2, (y + w) / 2))
    return centres, curves, spots


def _columns(count: int, edges: Sequence[Edge]) -> list[int]:
    """Each box's column: the last ones end, the others stand just left of the first that they lead to."""
    heads: list[list[int]] = [[] for _ in range(count)]
    waits = [0] * count
    for tail, head in edges:
        heads[tail].append(head)
        waits[head] += 1
    order = [i for i in range(count) if not waits[i]]
    for i in order:  # grows while it is read
        for head in heads[i]:
            waits[head] -= 1
            if not waits[head]:
                order.append(head)
    to_end = [0] * count
    for i in reversed(order):
        to_end[i] = max((to_end[head] + 1 for head in heads[i]), default=0)
    return [max(to_end, default=0) - steps for steps in to_end]


def _heights(
    sizes: Sequence[float], members: Sequence[Sequence[int]], neighbours: Sequence[Sequence[int]]
) -> list[float]:
    """Each box's height: near the mean of its neighbours', and apart from the others in its column."""
    heights = [0.0] * len(sizes)
    for column in members:
        for place, i in enumerate(column):
            heights[i] = place * (ROW + _APART)

    def wanted(i: int, among: set[int]) -> float:
        near = [heights[k] for k in neighbours[i] if k in among]
        return sum(near) / len(near) if near else heights[i]

    for sweep in range(_SWEEPS):  # to the right and to the left in turn, at last by both sides
        columns = list(members) if sweep % 2 == 0 else list(members)[::-1]
        for k, column in enumerate(columns):
            last = sweep >= _SWEEPS - 2
            among = {i for one in columns[max(k - 1, 0) : k + 1 + last] for i in one}
            wishes = {i: wanted(i, among) for i in column}
            order = sorted(column, key=wishes.__getitem__)
            for i, height in zip(
                order, _apart([wishes[i] for i in order], [sizes[i] for i in order]), strict=True
            ):
                heights[i] = height
    top = min((heights[i] - size / 2 for i, size in enumerate(sizes)), default=0.0)
    return [height - top for height in heights]


def _apart(wishes: Sequence[float], sizes: Sequence[float]) -> list[float]:
    """Places near the wishes, in their order, that do not touch: the mean of pushing down and pushing up."""

    def pushed(wishes: Sequence[float], sizes: Sequence[float]) -> list[float]:
        found: list[float] = []
        for k, (wish, size) in enumerate(zip(wishes, sizes, strict=True)):
            free = found[-1] + (sizes[k - 1] + size) / 2 + _APART if found else wish
            found.append(max(wish, free))
        return found

    down = pushed(wishes, sizes)
    up = [-place for place in pushed([-wish for wish in wishes[::-1]], sizes[::-1])][::-1]
    return [(one + other) / 2 for one, other in zip(down, up, strict=True)]


def _sides(
    boxes: Sequence[Size],
    members: Sequence[Sequence[int]],
    lanes: Sequence[Sequence[int]],
    column: Sequence[int],
    rooms: Sequence[float],
) -> tuple[list[float], list[float]]:
    """The left and the right side of each column, with room for labels in front of it."""
    labels = [0.0] * len(members)
    for lane, room in zip(lanes, rooms, strict=True):
        labels[column[lane[-1]]] = max(labels[column[lane[-1]]], room)
    left, right, x = [], [], 0.0
    for k, column_members in enumerate(members):
        x += (_BETWEEN + labels[k]) if k else 0.0
        left.append(x)
        x += max(boxes[i][0] for i in column_members)
        right.append(x)
    return left, right


def _through(stops: Sequence[Point]) -> tuple[Point, ...]:
    """One Bezier curve after another through the stops, level at each."""
    points = [stops[0]]
    for (x, y), (z, w) in pairwise(stops):
        third = (z - x) * 0.45
        points += [(x + third, y), (z - third, w), (z, w)]
    return tuple(points)
