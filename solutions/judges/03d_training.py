"""Exercise 3.34 counts forward passes: one for each batch is the bound, and fewer are welcome."""

from __future__ import annotations

from typing import Any


def judge_report_hidden_2(name: str, expected: Any, got: Any) -> str | None:
    """The matrix as the reference has it; at most as many passes."""
    if name != "forward passes":
        return None if got == expected else "differs from the expected"
    try:
        bound, passes = int(expected["int"]), int(got["int"])
    except (TypeError, KeyError, ValueError):
        return "expected an integer"
    if passes < 1:
        return "the model was not asked at all"
    return f"{passes} passes; {bound} are enough" if passes > bound else None
