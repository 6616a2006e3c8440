"""Exercise 2.8 counts bytes: what was saved may have any form, as long as it is small and was enough.

Beside each gradient, worked out from what was saved alone, the saved arrays arrive as data.
"""

from __future__ import annotations

import math
from typing import Any

from coursekit.grading.compare import difference

SIZES = {"bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "float16": 2, "int32": 4, "uint32": 4}


def judge_leaky_hidden_2(name: str, expected: Any, got: Any) -> str | None:
    """At most a byte for each number."""
    return _judged(name, expected, got, bits=8)


def judge_leaky_hidden_3(name: str, expected: Any, got: Any) -> str | None:
    """At most a bit for each number, in whole bytes."""
    return _judged(name, expected, got, bits=1)


def _judged(name: str, expected: Any, got: Any, bits: int) -> str | None:
    if got == "kept elsewhere":
        return "backward needs something that is not in self.saved"
    if name.startswith("gradient"):
        return difference(expected, got, 1e-9)
    numbers = math.prod(int(n) for n in name.removeprefix("saved (").removesuffix(")").split(","))
    saved = sum(_bytes(array) for array in got["list"])
    return None if saved <= -(-numbers * bits // 8) else f"{saved} bytes for {numbers} numbers; fewer will do"


def _bytes(array: Any) -> int:
    return math.prod(array["shape"]) * SIZES.get(array["dtype"], 8)
