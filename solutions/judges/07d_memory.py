"""Exercises 7.17 and 7.19 count: tokens that go through the model."""

from __future__ import annotations

from typing import Any

from coursekit.grading.compare import difference
from coursekit.grading.plain import items


def judge_endings_hidden(name: str, expected: Any, got: Any) -> str | None:
    """The endings as the reference has them, from a model that read no token more than it has to."""
    if not name.startswith("tokens read"):
        return difference(expected, got, 0)
    try:
        bound, read = (len(_numbers(shown)) for shown in (expected, got))
    except (TypeError, KeyError, ValueError):
        return "expected the tokens that the model read"
    return (
        f"{min(read, 9999)} tokens were read; {bound} are enough: the prompt once" if read > bound else None
    )


def judge_generate_hidden_2(name: str, expected: Any, got: Any) -> str | None:
    """The tokens as the reference has them, from a model that read each of them once."""
    if not name.startswith("went through"):
        return difference(expected, got, 0)
    try:
        bound, read = (sum(_numbers(shown)) for shown in (expected, got))
    except (TypeError, KeyError, ValueError):
        return "expected how many tokens went through each time"
    if read < bound:
        return f"the model read fewer than {bound} tokens: each but the last has to go through it"
    return f"{min(read, 9999)} tokens went through the model; {bound} are enough" if read > bound else None


def _numbers(shown: Any) -> list[int]:
    return [int(n["int"]) for n in items(shown)]
