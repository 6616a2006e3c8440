"""Exercise 3.7 counts bytes: what lives after forward may lie anywhere, if it is small and was enough."""

from __future__ import annotations

from typing import Any

from coursekit.grading.compare import difference
from coursekit.grading.plain import plain

SPARE = 4096  # bytes for the weight and what any object has; an x is of 800,000 or more


def judge_rms_norm_hidden_2(name: str, expected: Any, got: Any) -> str | None:
    """The gradients, from what lives after forward; and no more of it than an x and its rows."""
    if name != "kept beside the result":
        return difference(expected, got, 1e-9)
    pairs = zip(plain(expected), plain(got), strict=True)
    more = any(found[0] > right[0] + SPARE for right, found in pairs)
    return "more lives after forward than an array as large as x and a number for each row" if more else None
