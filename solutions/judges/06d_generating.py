"""Exercises 6.20 and 6.23 count: bytes that are copied again, and positions that go through the blocks."""

from __future__ import annotations

from typing import Any


def judge_cache_hidden_2(name: str, expected: Any, got: Any) -> str | None:
    """The keys as the reference has them; an array that doubles when full may copy some."""
    if name != "bytes of keys copied again":
        return None if got == expected else "differs from the expected"
    copied = whole(got)
    if copied is None:
        return "expected an integer"
    held = 2 * 40 * 8 * 4
    said = f"{copied:,} bytes of old keys were copied; all of them are {held:,}"
    return said if copied > 2 * held else None


def judge_generate_hidden_2(name: str, expected: Any, got: Any) -> str | None:
    """The tokens as the reference has them, from at most as many positions."""
    if not name.startswith("positions"):
        return None if got == expected else "differs from the expected"
    bound, asked = whole(expected), whole(got)
    if bound is None or asked is None:
        return "expected an integer"
    if asked < 1:
        return "the model was not asked at all"
    return f"{asked} positions went through the model; {bound} are enough" if asked > bound else None


def whole(value: Any) -> int | None:
    """The integer that was shown, if it is one."""
    try:
        return int(value["int"])
    except (TypeError, KeyError, ValueError):
        return None
