"""Does a kernel do what the reference's kernel does? On what `box.kernels.probe_kernel` showed of both.

Messages tell a learner where their kernel goes wrong. They may: the text was made in a process in which no
Python of a student has run.
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

UNEVEN = 5.0  # times as unevenly as the reference may a kernel share its work: threads that do four's pass
LONGER = 6.0  # times the steps of the reference's longest thread may one take ...
MORE = 16  # ... and so many more: a launch of few steps says little

Values = NDArray[np.float64]

_ORDERS = {
    "forward": " when one warp runs after the other",
    "reverse": " when the warps run in reverse order",
    "profile": " when it is profiled",
}


def difference(expected: Any, got: Any, tolerance: float) -> str | None:
    """What is wrong with `got`, None where nothing is."""
    wanted, shown = _whole(expected["runs"]), _whole(got["runs"])
    return (
        _fault(wanted, shown)
        or _finding(expected["findings"], got["findings"])
        or _outputs(wanted, shown, got["arrays"], tolerance)
        or _work(expected["work"], got["work"])
        or _counts(expected["counts"], got["counts"])
    )


def _whole(runs: Any) -> Any:
    """Each run with what it shares with another."""
    return {schedule: runs[run["same"]] if "same" in run else run for schedule, run in runs.items()}


def _fault(expected: Any, got: Any) -> str | None:
    """What stopped a run, where it did not stop the reference for the same reason."""
    for schedule, run in got.items():
        if schedule in expected and run.get("fault") != expected[schedule].get("fault"):
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


def _outputs(expected: Any, got: Any, names: Any, tolerance: float) -> str | None:
    for schedule, run in got.items():
        if "fault" in run or schedule not in expected:
            continue
        wanted = expected[schedule]["outputs"]
        for name, want, have in zip(names, wanted, run["outputs"], strict=True):
            message = _array(name, want, have, tolerance)
            if message:
                return f"array {name}{_ORDERS.get(schedule, '')}: {message}"
    return None


def _array(name: str, want: Any, have: Any, tolerance: float) -> str | None:
    """None in place of an array says that the kernel left it as it was."""
    if want is None or have is None:
        if want is have:
            return None
        return "nothing was written to it" if have is None else "was changed, and should not be"
    if (want["shape"], want["dtype"]) != (have["shape"], have["dtype"]):
        return "is not of the expected form"
    return _values(name, _unpacked(want), _unpacked(have), tolerance)


def _unpacked(array: Any) -> Values:
    """An array of numbers as float64, which is exact enough to tell how far two are apart."""
    content = base64.b64decode(array["packed"], validate=True)
    return np.frombuffer(content, array["dtype"]).reshape(array["shape"]).astype(np.float64)


def _values(name: str, want: Values, have: Values, tolerance: float) -> str | None:
    same = (want == have) | (np.isnan(want) & np.isnan(have))
    wanted, finite = np.isfinite(want), np.isfinite(have)
    if (wanted & ~finite).any():
        odd = int((wanted & ~finite).sum())
        return f"{odd:,} of {want.size:,} values are no finite numbers: was each of them written?"
    if (~wanted & ~same).any():
        return "some values should not be finite numbers, or be infinite the other way"
    away = np.abs(np.subtract(want, have, where=~same, out=np.zeros_like(want)))
    wrong = ~same & (away > tolerance * (1.0 + np.abs(want)))
    if not wrong.any():
        return None
    first = "".join(f"[{place}]" for place in np.argwhere(wrong)[0])
    return (
        f"{int(wrong.sum()):,} of {want.size:,} values differ from the expected, by up to "
        f"{away[wrong].max():.2g}; the first is {name}{first}"
    )


def _work(expected: Any, got: Any) -> str | None:
    """What is wrong with how the threads share the work, where a few of them do it."""
    if not expected or not got:  # stopped, as the reference was
        return None
    if "most" not in expected:  # a known mistake, and its run was cut off
        return None if "most" not in got else "takes fewer steps than expected"
    if "most" not in got:
        return _long(expected, got, "more than ")
    if got["most"] * expected["bytes"] > UNEVEN * expected["most"] * got["bytes"]:
        busy, moved = got["busy"]
        one = f"{_thread(*got['busiest'])} does"
        who = one if busy == 1 else f"{busy:,} of {got['threads']:,} threads do"
        part = f"{100 * moved / got['bytes']:.0f} %"
        return f"{who} {part} of the reads and writes; share the work among the threads"
    return _long(expected, got) if got["span"] > LONGER * expected["span"] + MORE else None


def _long(expected: Any, got: Any, than: str = "") -> str:
    return (
        f"{_thread(*got['longest'])} takes {than}{got['span']:,} steps, one after the other (a step is a "
        f"read, a write, a test or a barrier); {expected['span']:,} can do: share the work among the threads"
    )


def _thread(block: int, thread: int) -> str:
    return f"thread {thread:,} of block {block:,}"


def _counts(expected: Any, got: Any) -> str | None:
    for total, (value, which, slack) in expected.items():
        limit, count = _value(value), _value(got[total][0])
        if which == "at most" and count > limit * slack:
            return f"{total} is {_told(count)}; {_told(limit)} can do"
        if which == "at least" and count * slack < limit:
            return f"{total} is {_told(count)}; it can be {_told(limit)}"
    return None


def _told(count: float) -> str:
    return f"{count:,.0f}" if count >= 100 or count == int(count) else f"{count:,.3g}"


def _value(encoded: Any) -> float:
    return float(encoded["int"]) if "int" in encoded else float.fromhex(encoded["float"])
