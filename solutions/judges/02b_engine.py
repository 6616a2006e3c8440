"""Exercise 2.18 is scored by bytes kept and by runs of the function."""

from __future__ import annotations

from typing import Any


def judge_checkpoint_hidden_2(name: str, expected: Any, got: Any) -> str | None:
    """Fewer bytes than the reference's are welcome; the runs are as many, and the gradient is close to it."""
    if name == "kept":
        return _more(expected, got)
    if name == "runs":
        return None if got == expected else _runs(expected, got)
    return _far(expected, got)


def _more(expected: Any, got: Any) -> str | None:
    right, answer = _count(expected), _count(got)
    if answer is None or right is None:
        return "expected a count"
    if answer > right:
        return f"{answer:,} bytes are kept; the inputs of the blocks alone are {right:,}"
    return None


def _runs(expected: Any, got: Any) -> str:
    try:
        (once, both), (one, all_of_them) = (map(_count, item["list"]) for item in (expected, got))
    except (TypeError, KeyError, ValueError):
        return "expected two counts"
    if one != once:
        return f"func ran {one} times for {once} checkpoints forward"
    return f"func ran {all_of_them} times for {once} checkpoints; once forward and once backward is {both}"


def _count(value: Any) -> int | None:
    try:
        return int(value["int"])
    except (TypeError, KeyError, ValueError):
        return None


def _far(expected: Any, got: Any) -> str | None:
    try:
        if got["shape"] != expected["shape"]:
            return "has another shape than the input"
        pairs = zip(expected["array"], got["array"], strict=True)
        numbers = [(float.fromhex(one["float"]), float.fromhex(other["float"])) for one, other in pairs]
    except (TypeError, KeyError, ValueError):
        return "expected an array of floats"
    return (
        None if all(abs(a - b) <= 1e-9 * (1 + abs(a)) for a, b in numbers) else "is not the gradient of func"
    )
