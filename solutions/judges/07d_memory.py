"""Exercise 7.19 counts: tokens that go through the model."""

from __future__ import annotations

from typing import Any


def judge_generate_hidden_2(name: str, expected: Any, got: Any) -> str | None:
    """The tokens as the reference has them, from a model that read each of them once at most."""
    if not name.startswith("went through"):
        return None if got == expected else "differs from the expected"
    bound, read = whole(expected), whole(got)
    if bound is None or read is None:
        return "expected an integer"
    if read < 1:
        return "the model was not asked at all"
    return f"{read} tokens went through the model; {bound} are enough" if read > bound else None


def whole(value: Any) -> int | None:
    """The integer that was shown, if it is one."""
    try:
        return int(value["int"])
    except (TypeError, KeyError, ValueError):
        return None
