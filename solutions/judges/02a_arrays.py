"""Exercise 2.8 counts bytes: what was saved may have any form, as long as it is small and was enough.

Beside gradients, worked out from what was saved alone, the saved arrays arrive as data, and the bytes that
were alive after forward, wherever the answer keeps them.
"""

from __future__ import annotations

import math
import re
from typing import Any

from coursekit.grading.compare import difference

SIZES = {"bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "float16": 2, "int32": 4, "uint32": 4}
A_SHAPE = 24  # bytes: the shape that packed bits unfold into
BESIDE = 4096  # bytes that live besides, such as those of names


def judge_leaky_hidden_2(name: str, expected: Any, got: Any) -> str | None:
    """At most a byte for each number."""
    return _judged(name, expected, got, bits=8)


def judge_leaky_hidden_3(name: str, expected: Any, got: Any) -> str | None:
    """At most a bit for each number, in whole bytes."""
    return _judged(name, expected, got, bits=1)


def _judged(name: str, expected: Any, got: Any, bits: int) -> str | None:
    if name.startswith("gradient"):
        if "kept elsewhere" in got["list"]:
            return "backward needs something that is not in self.saved"
        return difference(expected, got, 1e-9)
    numbers = math.prod(int(n) for n in re.findall(r"\d+", name))
    most = -(-numbers * bits // 8)
    if name.startswith("kept"):
        kept = int(got["int"])
        return None if kept <= most + BESIDE else _too_many(kept, numbers, "live after forward")
    return _saved(expected["list"], got["list"], numbers, most)


def _saved(expected: list[Any], got: list[Any], numbers: int, most: int) -> str | None:
    """Small each time, and the same for arrays of the same signs."""
    saved = max(sum(map(_bytes, arrays["list"])) for arrays in got)
    if saved > most + A_SHAPE:
        return _too_many(saved, numbers, "are saved")
    if [got.index(arrays) for arrays in got] != [expected.index(arrays) for arrays in expected]:
        return "is not what tells the numbers above 0 from the others"
    return None


def _too_many(found: int, numbers: int, where: str) -> str:
    return f"{min(found, 10**9):,} bytes {where} for {numbers:,} numbers; fewer will do"


def _bytes(array: Any) -> int:
    return math.prod(array["shape"]) * SIZES.get(array["dtype"], 8)
