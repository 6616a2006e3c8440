"""Exercises 6.20, 6.23 and 6.24 count: keys that are copied again, positions and passes through the model."""

from __future__ import annotations

from typing import Any

import numpy as np

from coursekit.grading.compare import difference
from coursekit.grading.plain import items, plain


def judge_cache_hidden_2(name: str, expected: Any, got: Any) -> str | None:
    """Keys and values as the reference has them; an array that doubles when full may copy some."""
    if not name.startswith("what the keys and values"):
        return difference(expected, got, 0)
    wanted, found = plain(expected), plain(got)
    if len(found) != len(wanted):
        return "expected two numbers for each call but the first"
    row, held = 2 * 8 * 4, 2 * 8 * 4 * (len(wanted) + 1)
    for part, what in enumerate(("keys", "values")):
        pairs = enumerate(zip(wanted, found, strict=True), 1)
        copied = sum(row * n for n, (want, have) in pairs if want[part] != have[part])
        if copied > 2 * held:
            return f"{copied:,} bytes of old {what} were copied; all of them are {held:,}"
    return None


def judge_generate_hidden(name: str, expected: Any, got: Any) -> str | None:
    """The tokens as the reference has them, without dropout and without a graph."""
    if not name.startswith("in training"):
        return difference(expected, got, 1e-9)
    if not items(got):
        return "the model was not asked"
    quiet = all(modes == {"list": [False, False]} for modes in items(got))
    return None if quiet else "the model is asked in training mode, or while a graph is recorded"


def judge_generate_hidden_2(name: str, expected: Any, got: Any) -> str | None:
    """The tokens as the reference has them, from as many positions."""
    if not name.startswith("positions"):
        return difference(expected, got, 0)
    wanted, asked = (np.concatenate([np.zeros((2, 0)), *plain(shown)], 1) for shown in (expected, got))
    bound, count = wanted.shape[1], asked.shape[1]
    if count < bound:
        return f"the model was asked for fewer than {bound} positions: each has to go through it"
    if count > bound:
        return f"{min(count, 9999)} positions went through the model; {bound} are enough"
    return None if np.array_equal(wanted, asked) else "the model was asked for other tokens than the text's"


def judge_accept_hidden(name: str, expected: Any, got: Any) -> str | None:
    """The tokens as the reference has them, from one pass, and the modes as they were."""
    if name.startswith("modes"):
        wrong = difference(expected, got, 0)
        return "dropout is not as it was: put back the modes of all modules" if wrong else None
    if not name.startswith("passes"):
        return difference(expected, got, 0)
    layers, asked = items(expected), items(got)
    if len(asked) != len(layers):
        passes = max(sum("array" in one for one in asked), len(asked) // len(layers))
        return f"{min(passes, 999)} passes through the model; one is enough, and needed"
    return "the model did not read the text and all guesses" if difference(expected, got, 0) else None
