"""Exercise 3.7 counts numbers: what was saved may have any form, as long as it is small and was enough."""

from __future__ import annotations

import math
from typing import Any

from coursekit.grading.compare import difference


def judge_rms_norm_hidden_2(name: str, expected: Any, got: Any) -> str | None:
    """The gradient, worked out from what was saved alone; and no more numbers than the reference saves."""
    if name != "saved":
        return difference(expected, got, 1e-9)
    kept, enough = _numbers(got), _numbers(expected)
    return None if kept <= enough else f"{kept} numbers, and {enough} would do"


def _numbers(shapes: Any) -> int:
    """How many numbers arrays of these shapes hold; the data is that of `encode` in box/probe.py."""
    return sum(math.prod(int(n["int"]) for n in shape["list"]) for shape in shapes["list"])
