"""Where many answers are right: bytes that a graph keeps, in whatever order it is run again."""

from __future__ import annotations

from typing import Any

from coursekit.grading.compare import difference
from coursekit.grading.plain import plain

BESIDE = 4096  # bytes that live besides, such as those of names

# 2.18: bytes kept, and runs of the function


def judge_checkpoint_hidden_2(name: str, expected: Any, got: Any) -> str | None:
    """Fewer bytes than the reference's are welcome; the runs are as many, in any order backward."""
    if name == "operations":
        right, answer = plain(expected), plain(got)
        return (
            None if answer == right else f"are {min(answer, 10**6)} for {right} checkpoints; one each, please"
        )
    if name == "kept":
        right, answer = plain(expected), plain(got)
        if answer > right + BESIDE:
            answer = min(answer, 10**12)
            return f"{answer:,} bytes live after forward; the inputs of the blocks alone are {right:,}"
        return None
    if name in ("runs forward", "runs backward"):
        return _runs(name, plain(expected), plain(got))
    return difference(expected, got, 1e-5)


def _runs(name: str, expected: Any, got: Any) -> str | None:
    if len(got) != len(expected):
        runs, each = min(len(got), 1000), f"{len(expected)} checkpoints"
        if name == "runs forward":
            return f"func ran {runs} times for {each} forward"
        return f"func ran {runs} times backward for {each}; once each will do"
    if name == "runs backward":
        expected, got = sorted(expected), sorted(got)
    close = all(abs(one - other) <= 1e-5 * (1 + abs(other)) for one, other in zip(expected, got))
    return None if close else "func did not run on what the checkpoints were given"
