"""Exercise 9.10 counts: how often gradients are asked for."""

from __future__ import annotations

from typing import Any

from coursekit.grading.compare import difference
from coursekit.grading.plain import items

MOST = 3  # calls for one direction: two are enough
WAYS = 2  # of which one begins at y


def judge_forward_hidden(name: str, expected: Any, got: Any) -> str | None:
    """The product, from a few calls, whatever the number of outputs."""
    if name.startswith("ways back"):
        ways = len(items(got))
        return f"y is gone back from {min(ways, 999)} times; once is enough" if ways > WAYS else None
    if not name.startswith("calls"):
        return difference(expected, got, 1e-9)
    calls = len(items(got))
    if not calls:
        return "tf.gradients was not called: the graph of the gradient is what this is made of"
    if calls > MOST:
        return f"{min(calls, 999)} calls of tf.gradients for one direction; two are enough"
    return None
