"""Exercise 10.10: factors that are taken into weights in another order give other last digits."""

from __future__ import annotations

from typing import Any

from coursekit.grading.compare import difference


def judge_batch_norm_hidden(name: str, expected: Any, got: Any) -> str | None:
    """Nodes and answers as the reference has them, to the digits that float32 keeps."""
    return difference(expected, got, 1e-4)
