"""Exercise 5.2 may cut its axes otherwise: places are walked here. 5.4 counts what its launches move."""

from __future__ import annotations

import math
from itertools import chain
from typing import Any

import numpy as np

from coursekit.grading.compare import difference, telling
from coursekit.grading.plain import among, plain, written

LAUNCHES = "forward, ", "backward, ", "both ways, "  # how the names of what launches did begin
LEAST = 0.55  # of the bytes that the reference moves: who keeps x and y alone moves 12 of its 20 in forward
SLACK = 1.15  # sectors at the ends of arrays
MANY = 5  # times as many numbers as in the reference may a thread take: as of other kernels
EACH = 4  # integer operations of an axis: a remainder, a product, a sum and a quotient


@telling
def judge_collapsed_hidden(name: str, expected: Any, got: Any) -> str | None:
    """The same places in the same order, over axes of any number, none of them of length 1."""
    return _axes(expected, got)[0]


@telling
def judge_collapsed_hidden_2(name: str, expected: Any, got: Any) -> str | None:
    """The same places, in as few integer operations as the reference needs."""
    message, best, count = _axes(expected, got)
    if message or count <= best:
        return message
    return f"the places are right, but there are more than the {EACH * best} integer operations that can do"


def _axes(expected: Any, got: Any) -> tuple[str | None, int, int]:
    """What is wrong with collapsed axes, and how many the reference and the answer walk in all arrays."""
    shape, strides, best = plain(expected)
    bound = sum(map(len, best[1]))
    try:
        sizes, *steps = [[_whole(n) for n in each] for each in (plain(got)[2][0], *plain(got)[2][1])]
        if not all(type(n) is int and abs(n) < 10**6 for each in (sizes, *steps) for n in each):
            return "sizes and steps are whole numbers", bound, 0
    except (TypeError, KeyError, ValueError, IndexError):
        return "expected two lists: sizes, and the steps of each array", bound, 0
    if len(steps) != len(strides) or any(len(step) != len(sizes) for step in steps):
        return "each array has one step for each axis that is left", bound, 0
    if any(size < 1 for size in sizes) or math.prod(sizes) != math.prod(shape):
        return "the sizes do not give as many numbers as the shape", bound, 0
    if any(_places(sizes, step) != _places(shape, stride) for step, stride in zip(steps, strides)):
        return "an array is read in other places, or in another order", bound, 0
    if 1 in sizes:
        return "the places are right, but an axis of length 1 is still there", bound, 0
    if not all(isinstance(each, list) for each in (plain(got)[2][0], *plain(got)[2][1])):
        return "the numbers are right, and sizes and steps are asked for in lists", bound, 0
    return None, bound, sum(map(len, steps))


def _whole(n: Any) -> Any:
    """A number of NumPy's, such as np.prod gives, as one of Python's; all else as it is."""
    return int(n) if isinstance(n, np.ndarray) and n.shape == () and n.dtype.kind == "i" else n


def _places(sizes: Any, steps: Any) -> list[int]:
    """Where each number is read, the last axis fastest."""
    places = [0]
    for size, step in zip(sizes, steps, strict=True):
        places = [at + i * step for at in places for i in range(size)]
    return places


@telling
def judge_pair_hidden(name: str, expected: Any, got: Any) -> str | None:
    """Values as the reference has them, from kernels whose threads share the work."""
    if not name.startswith(LAUNCHES):
        return difference(expected, got, 1e-5)
    return _launches(expected, got)[0]


judge_pair_hidden_3 = judge_pair_hidden


@telling
def judge_pair_hidden_2(name: str, expected: Any, got: Any) -> str | None:
    """As few bytes moved, and saved, as can do."""
    if name == "saved":
        _, most = plain(expected)
        _, saved = plain(got)
        if type(saved) is not int or saved <= 0:
            return "nothing is in f.saved: what backward needs belongs there, for the engine to free"
        return None if saved <= most else "more than three arrays are kept, in f.saved or elsewhere"
    if not name.startswith(LAUNCHES):
        return difference(expected, got, 1e-5)
    message, moved, best = _launches(expected, got)
    if message or moved <= SLACK * best:
        return message
    way = name.partition(",")[0]
    return f"{way} moves more than the {best} bytes that can do: read each number once, in one launch"


def _launches(expected: Any, got: Any) -> tuple[str | None, int, int]:
    """What is wrong with launches, and the bytes that they move, and those of the reference."""
    wanted, shown = plain(expected), plain(got)
    best = sum(moved for *_, moved, _, _, _ in wanted)
    try:
        counts = [(int(moved), int(most), int(found)) for *_, moved, most, found, _ in shown]
        made = [written(arrays) for *_, arrays in shown]
        given = [written(arrays) for *_, arrays, _, _, _, _ in shown]
    except (TypeError, KeyError, ValueError):
        return "expected what launches move", 0, best
    moved = sum(each for each, _, _ in counts)
    if moved < LEAST * best:
        return "no kernel of yours did the work: is the pair in the table?", moved, best
    if any(found for _, _, found in counts):
        return "a launch has findings: does each thread ask whether its number exists?", moved, best
    most = max((right for *_, right, _, _ in wanted), default=0)
    if any(each > MANY * most for _, each, _ in counts):
        return "one thread does much of the work: share it among the threads", moved, best
    if not among([each for *_, arrays in wanted for each in written(arrays)], chain(*made)):
        return "the right numbers are not among those that your kernels wrote", moved, best
    known = [each for *_, arrays, _, _, _, _ in wanted for each in written(arrays)]
    for arrays, results in zip(given, made):
        if not among(arrays, known):
            return "a kernel was given what is no input: it should work that out itself", moved, best
        known += results
    return None, moved, best
