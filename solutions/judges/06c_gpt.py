"""Exercise 6.18 counts matrix products: at most as many as the reference makes, and fewer are welcome."""

from __future__ import annotations

from typing import Any

from coursekit.grading.compare import difference


def judge_hand_hidden_2(name: str, expected: Any, got: Any) -> str | None:
    """The gradients as the reference has them; at most as many products."""
    if name != "matrix products":
        return difference(expected, got, 1e-6)
    try:
        bound, products = int(expected["int"]), int(got["int"])
    except (TypeError, KeyError, ValueError):
        return "expected an integer"
    if not 0 <= products < 10**9:
        return "expected a count"
    return f"{products} products; {bound} are enough" if products > bound else None
