"""Exercises 7.7 to 7.9 count: operations on arrays, tokens of a chunk, and the bytes that live at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from coursekit.grading.compare import difference
from coursekit.grading.plain import items, plain

EACH = 8  # bytes of a number


def judge_tree_steps(name: str, expected: Any, got: Any) -> str | None:
    """The states as the reference has them, each made of all before it, in a few operations more or less."""
    if name == "made of":
        return _made_of(plain(expected), plain(got))
    if name != "operations":
        return difference(expected, got, 1e-9)
    try:
        bound, sizes = ([int(n["int"]) for n in items(shown)] for shown in (expected, got))
    except (TypeError, KeyError, ValueError):
        return "expected a list of sizes"
    if sum(sizes) < sum(bound) / 2:
        return "hardly anything was worked out on the arrays that came in"
    for what, most, counted in (("operations", len(bound), len(sizes)), ("numbers", sum(bound), sum(sizes))):
        if counted > 2 * most:
            can = f"{most} {what} can do: a few operations on whole slices for each level"
            return f"more than twice as many {what} as are needed; {can}"
    return None


def _made_of(expected: list[list[int]], got: list[list[int]]) -> str | None:
    """What each state is made of, as the bits of a number, and the steps one after the other."""
    pairs = list(zip(expected, got, strict=True))
    if any(wanted & made != wanted for (wanted, _), (made, _) in pairs):
        return "a state is not made of all that the pairs up to it hold"
    longest = max(steps for _, steps in expected)
    if max(steps for _, steps in got) > 2 * longest + 4:
        return f"a state takes many more steps, one after the other, than the {longest} that a tree has"
    return None


def judge_forward_hidden_2(name: str, expected: Any, got: Any) -> str | None:
    """Values as the reference has them, from the states of one chunk after the other."""
    if name == "bytes at a time":
        return _bytes(expected, got, lambda t, e, n, size: t * e + (t // size + 2) * n * e)
    if name != "a chunk at a time":
        return difference(expected, got, 1e-9)
    try:
        longest, tokens = max(_lengths(expected)), _lengths(got)
    except (TypeError, KeyError, ValueError, IndexError):
        return "expected what chunk_states was asked for"
    if any(length > longest for length in tokens):
        return f"chunk_states was asked for more than {longest} tokens at a time, which a chunk has"
    return None


def judge_backward_hidden_2(name: str, expected: Any, got: Any) -> str | None:
    """Values as the reference has them, from the states of one chunk after the other."""
    if name == "bytes at a time":
        return _bytes(expected, got, lambda t, e, n, size: 2 * t * (e + n) + n * e)
    return difference(expected, got, 1e-9)


def _bytes(expected: Any, got: Any, returned: Callable[[int, int, int, int], int]) -> str | None:
    """Whether room for twice what is `returned`, and for half of all states, was enough."""
    try:
        t, e, n, size = (int(number["int"]) for number in items(items(expected)[1]))
        peak = int(items(got)[0]["int"])
    except (TypeError, KeyError, ValueError):
        return "expected a number of bytes"
    back, states = EACH * returned(t, e, n, size), EACH * t * n * e
    if peak < EACH * t * e:
        return "fewer bytes than what is returned takes"
    if peak > 2 * back + states / 2:
        chunk = EACH * size * n * e
        return f"too much lives at a time: the states of a chunk are {chunk:,} bytes, all states {states:,}"
    return None


def _lengths(shown: Any) -> list[int]:
    return [int(array["shape"][0]) for array in items(shown)]
