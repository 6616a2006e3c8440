"""Exercise 7.7 counts: operations on arrays, one after the other, and the numbers that go through them."""

from __future__ import annotations

from typing import Any

from coursekit.grading.compare import difference


def judge_tree_steps(name: str, expected: Any, got: Any) -> str | None:
    """The states as the reference has them, in a few operations more or less."""
    if not name.startswith(("operations", "numbers")):
        return difference(expected, got, 1e-9)
    bound, counted = whole(expected), whole(got)
    if bound is None or counted is None:
        return "expected an integer"
    if counted < 1:
        return "nothing was worked out on the arrays"
    more = f"{counted} {name}, and {bound} can do: a few operations on whole slices for each level of it"
    return more if counted > 2 * bound else None


def whole(value: Any) -> int | None:
    """The integer that was shown, if it is one."""
    try:
        return int(value["int"])
    except (TypeError, KeyError, ValueError):
        return None
