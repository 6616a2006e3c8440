"""Exercises 6.20, 6.23 and 6.24 count: keys that are copied again, positions and passes through the model."""

from __future__ import annotations

from typing import Any

from coursekit.grading.compare import difference
from coursekit.grading.plain import items


def judge_cache_hidden_2(name: str, expected: Any, got: Any) -> str | None:
    """The keys as the reference has them; an array that doubles when full may copy some."""
    if name == "the last keys":
        return difference(expected, got, 0)
    try:
        wanted, found = expected["array"], got["array"]
    except (TypeError, KeyError):
        return "expected an array"
    if len(found) != len(wanted):
        return "expected a number for each call but the first"
    row = 2 * 8 * 4
    copied = sum(row * n for n, (want, have) in enumerate(zip(wanted, found, strict=True), 1) if want != have)
    held = row * (len(wanted) + 1)
    said = f"{copied:,} bytes of old keys were copied; all of them are {held:,}"
    return said if copied > 2 * held else None


def judge_generate_hidden_2(name: str, expected: Any, got: Any) -> str | None:
    """The tokens as the reference has them, from as many positions."""
    if not name.startswith("positions"):
        return difference(expected, got, 0)
    try:
        bound, asked = (sum(int(n["int"]) for n in items(shown)) for shown in (expected, got))
    except (TypeError, KeyError, ValueError):
        return "expected a list of numbers of positions"
    if asked < bound:
        return f"the model was asked for fewer than {bound} positions: each has to go through it"
    return (
        f"{min(asked, 9999)} positions went through the model; {bound} are enough" if asked > bound else None
    )


def judge_accept_hidden(name: str, expected: Any, got: Any) -> str | None:
    """The tokens as the reference has them, from one pass, and the modes as they were."""
    if not name.startswith("passes"):
        return difference(expected, got, 0)
    try:
        passes, modes = items(got)
        count, one = len(items(passes)), items(items(expected)[0])
        if difference(items(expected)[1], modes, 0):
            return "dropout is not as it was: put back the modes of all modules"
    except (TypeError, KeyError, ValueError):
        return "expected the passes, and the modes afterwards"
    if count != len(one):
        return f"{min(count, 999)} passes through the model; one is enough, and needed"
    return "the model did not read the text and all guesses" if difference({"list": one}, passes, 0) else None
