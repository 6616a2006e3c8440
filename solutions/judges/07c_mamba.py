"""Exercise 7.15 counts states: at most as many as the reference has, and fewer are welcome."""

from __future__ import annotations

from typing import Any

from coursekit.grading.compare import difference


def judge_bank_hidden_2(name: str, expected: Any, got: Any) -> str | None:
    """The balance as the reference has it; at most as many states."""
    if name != "states":
        return difference(expected, got, 1e-6)
    try:
        bound, states = int(expected["int"]), int(got["int"])
    except (TypeError, KeyError, ValueError):
        return "expected an integer"
    if not 0 <= states < 10**9:
        return "expected a count"
    return f"{states} states; {bound} are enough" if states > bound else None
