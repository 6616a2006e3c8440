"""Does a kernel do what the reference's kernel does? On what `coursekit.kernels.probe_kernel` showed of both.

Messages tell a learner where their kernel goes wrong. They may: the text was made in a process in which no
Python of a student has run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Arrays = Callable[[Any, Any, float], str | None]

_ORDERS = {
    "forward": " when one warp runs after the other",
    "reverse": " when the warps run in reverse order",
}


def difference(expected: Any, got: Any, tolerance: float, arrays: Arrays) -> str | None:
    """What is wrong with `got`, None where nothing is. `arrays` compares two arrays."""
    wanted, shown = _whole(expected["runs"]), _whole(got["runs"])
    return (
        _fault(wanted, shown)
        or _finding(expected["findings"], got["findings"])
        or _outputs(wanted, shown, tolerance, arrays)
        or _counts(expected["counts"], got["counts"])
    )


def _whole(runs: Any) -> Any:
    """Each run with what it shares with another."""
    return {schedule: runs[run["same"]] if "same" in run else run for schedule, run in runs.items()}


def _fault(expected: Any, got: Any) -> str | None:
    """What stopped a run, where it did not stop the reference for the same reason."""
    for schedule, run in got.items():
        if run.get("fault") != expected[schedule].get("fault"):
            return str(run["told"]) if "fault" in run else "was expected to be stopped"
    return None


def _finding(expected: Any, got: Any) -> str | None:
    known = {kind for kind, _ in expected}
    found = {kind for kind, _ in got}
    if known == found:
        return None
    return next(
        (f"{kind}: {text}" for kind, text in got if kind not in known), "has fewer findings than expected"
    )


def _outputs(expected: Any, got: Any, tolerance: float, arrays: Arrays) -> str | None:
    for schedule, run in got.items():
        if "fault" in run:
            continue
        wanted = expected[schedule]["outputs"]
        if len(wanted) != len(run["outputs"]):
            return "is not of the expected form"
        for place, (want, have) in enumerate(zip(wanted, run["outputs"], strict=True), 1):
            message = _array(want, have, tolerance, arrays)
            if message:
                which = f"array {place} of {len(wanted)}" if len(wanted) > 1 else "the array"
                return f"{which}{_ORDERS.get(schedule, '')}: {message}"
    return None


def _array(want: Any, have: Any, tolerance: float, arrays: Arrays) -> str | None:
    """None in place of an array says that the kernel left it as it was."""
    if want is None or have is None:
        if want is have:
            return None
        return "nothing was written to it" if have is None else "was changed, and should not be"
    message = arrays(want, have, tolerance)
    return f"values {message}" if message else None


def _counts(expected: Any, got: Any) -> str | None:
    for total, (value, which, slack) in expected.items():
        limit, count = _value(value), _value(got[total][0])
        if which == "at most" and count > limit * slack:
            return f"{total} is {_told(count)}; {_told(limit * slack)} can do"
        if which == "at least" and count * slack < limit:
            return f"{total} is {_told(count)}; it can be {_told(limit / slack)}"
    return None


def _told(count: float) -> str:
    return f"{count:,.0f}" if count == int(count) else f"{count:,.3g}"


def _value(encoded: Any) -> float:
    return float(encoded["int"]) if "int" in encoded else float.fromhex(encoded["float"])
