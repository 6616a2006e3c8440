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
    return _runs(plain(expected), plain(got)) if name == "runs" else difference(expected, got, 1e-5)


def _runs(expected: Any, got: Any) -> str | None:
    (forward, back), (once, again) = expected, got
    if len(once) != len(forward):
        return f"func ran {min(len(once), 1000)} times for {len(forward)} checkpoints forward"
    if len(again) != len(back):
        return (
            f"func ran {min(len(again), 1000)} times backward for {len(back)} checkpoints; once each will do"
        )
    pairs = zip([*forward, *sorted(back)], [*once, *sorted(again)], strict=True)
    close = all(abs(one - other) <= 1e-5 * (1 + abs(other)) for one, other in pairs)
    return None if close else "func did not run on what the checkpoints were given"
