"""Does a kernel do what the reference's kernel does? On what `box.kernels.probe_kernel` showed of both.

Messages tell a learner where their kernel goes wrong, in texts of the simulator: they were made in a process
in which no Python of a student has run. But which thread does what to which element may hang on the hidden
input. So a grade names the line, the array and what is wrong there; a learner's own machine (`own`) tells
everything.
"""

from __future__ import annotations

import base64
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coursekit.grading import wording

UNEVEN = 5.0  # times as unevenly as the reference may a kernel share its work: threads that do four's pass
LONGER = 6.0  # times the steps of the reference's longest thread may one take ...
MORE = 16  # ... and so many more: a launch of few steps says little

UNCHANGED = "is as it was before the launch"  # not written to, or with what stood there: nan over nan

Values = NDArray[np.float64]

_ORDERS = {
    "forward": " when one warp runs after the other",
    "reverse": " when the warps run in reverse order",
    "profile": " when it is profiled",
}


_THREAD = re.compile(r"thread (\(\d+,\d+,\d+\))(?: of block \(\d+,\d+,\d+\))?")
_PLACE = re.compile(r"(\w+)((?:\[-?\d+\])+)")
_LENGTH = re.compile(r"(\w+) has (\d+) elements?(?: \(0 to \d+\))?")
_NEAR = ("[-1]", "[0]")
_KEPT = (_PLACE.pattern, _LENGTH.pattern, r"\blines? \d+(?: and \d+)?", r"[\d,]+ times \(max_steps\)")
_SOURCE = r"(?:never to end|while it waits\)): .*"  # a line of the answer
_DATA = re.compile("|".join([*_KEPT, _SOURCE, r"(?P<data>0x[0-9a-f]+|-?\b\d[\d,]*\b)"]))


def difference(expected: Any, got: Any, tolerance: float, *, own: bool = False) -> str | None:
    """What is wrong with `got`, None where nothing is."""
    wanted, shown = _whole(expected["runs"]), _whole(got["runs"])
    found = _fault(wanted, shown) or _finding(expected["findings"], got["findings"])
    if found:
        return found if own else without_data(found)
    return (
        _outputs(wanted, shown, got, tolerance, own)
        or _work(expected["work"], got["work"], own)
        or _counts(expected["counts"], got["counts"], own)
    )


def without_data(text: str) -> str:
    """A finding without the numbers of threads and elements, all but the nearest outside of an array."""
    ends = {f"{name}[{length}]" for name, length in _LENGTH.findall(text)}
    text = _THREAD.sub("a thread", text)
    text = _PLACE.sub(lambda at: at[0] if at[0] in ends or at[2] in _NEAR else f"{at[1]}[…]", text)
    return _DATA.sub(lambda found: "…" if found["data"] else found[0], text)


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


def _outputs(expected: Any, got: Any, about: Any, tolerance: float, own: bool) -> str | None:
    names = about["arrays"]
    touched = about.get("touched") or [None] * len(names)
    for schedule, run in got.items():
        if "fault" in run or schedule not in expected:
            continue
        wanted = expected[schedule]["outputs"]
        for name, places, want, have in zip(names, touched, wanted, run["outputs"], strict=True):
            message = _array(name, want, have, tolerance, own)
            if message:
                message = UNCHANGED if places and not places[2] else message
                return f"array {name}{_ORDERS.get(schedule, '')}: {message}"
    return None


def _array(name: str, want: Any, have: Any, tolerance: float, own: bool) -> str | None:
    """None in place of an array says that the kernel left it as it was."""
    if want is None or have is None:
        if want is have:
            return None
        return UNCHANGED if have is None else "was changed, and should not be"
    if (want["shape"], want["dtype"]) != (have["shape"], have["dtype"]):
        return "is not of the expected form"
    return _values(name, unpacked(want), unpacked(have), tolerance, own)


def unpacked(array: Any) -> Values:
    """An array of numbers as float64, which is exact enough to tell how far two are apart."""
    content = base64.b64decode(array["packed"], validate=True)
    return np.frombuffer(content, array["dtype"]).reshape(array["shape"]).astype(np.float64)


def _values(name: str, want: Values, have: Values, tolerance: float, own: bool) -> str | None:
    same = (want == have) | (np.isnan(want) & np.isnan(have))
    wanted, finite = np.isfinite(want), np.isfinite(have)
    if (wanted & ~finite).any():
        odd = _told(int((wanted & ~finite).sum()), own, want.size)
        return f"{odd} of {want.size:,} values are no finite numbers"
    if (~wanted & ~same).any():
        return "some values should not be finite numbers, or be infinite the other way"
    away = np.abs(np.subtract(want, have, where=~same, out=np.zeros_like(want)))
    wrong = ~same & (away > tolerance * (1.0 + np.abs(want)))
    if not wrong.any():
        return None
    far = wording.distance(away[wrong].max(), own)
    if not own:  # how many, and which, could carry a hidden input out
        return f"values differ from the expected by up to {far}"
    first = "".join(f"[{place}]" for place in np.argwhere(wrong)[0])
    count = f"{int(wrong.sum()):,} of {want.size:,}"
    return f"{count} values differ from the expected, by up to {far}; the first is {name}{first}"


def _work(expected: Any, got: Any, own: bool) -> str | None:
    """What is wrong with how the threads share the work, where a few of them do it."""
    if not expected or not got:  # stopped, as the reference was
        return None
    if "most" not in expected:  # a known mistake, and its run was cut off
        return None if "most" not in got else "takes fewer steps than expected"
    if "most" not in got:
        return _long(expected, got, own, "more than ")
    if got["most"] * expected["bytes"] > UNEVEN * expected["most"] * got["bytes"]:
        busy, moved = got["busy"]
        one = f"{_thread(*got['busiest'], own=own)} does"
        some = f"{busy:,} of {got['threads']:,} threads do" if own else "a few threads do"
        part = f"{100 * moved / got['bytes']:.0f} %" if own else "most"
        return (
            f"{one if busy == 1 else some} {part} of the reads and writes; share the work among the threads"
        )
    return _long(expected, got, own) if got["span"] > LONGER * expected["span"] + MORE else None


def _long(expected: Any, got: Any, own: bool, than: str = "") -> str:
    told = f"{than}{got['span']:,}" if own else _told(got["span"], own, expected["span"])
    return (
        f"{_thread(*got['longest'], own=own)} takes {told} steps, one after the other (a step is a "
        f"read, a write, a test or a barrier); {expected['span']:,} can do: share the work among the threads"
    )


def _thread(block: int, thread: int, *, own: bool) -> str:
    """Which thread: the first by its number; another's number could carry a hidden input out."""
    return f"thread {thread:,} of block {block:,}" if own or block == thread == 0 else "one thread"


def _counts(expected: Any, got: Any, own: bool) -> str | None:
    for total, (value, which, slack) in expected.items():
        limit, count = value_of(value), value_of(got[total][0])
        told, best = _told(count, own, limit), _told(limit, True)
        if which == "at most" and count > limit * slack:
            return f"{total} is {told}; {best} can do"
        if which == "at least" and count * slack < limit:
            return f"{total} is {told}; it can be {best}"
    return None


def _told(count: float, own: bool, beside: float = 0.0) -> str:
    """A count: as it is, or rounded, beside another that it is not equal to."""
    whole = f"{count:,.0f}" if count >= 100 or count == int(count) else f"{count:,.3g}"
    return whole if own or count == beside else wording.beside(count, {beside})


def value_of(encoded: Any) -> float:
    return float(encoded["int"]) if "int" in encoded else float.fromhex(encoded["float"])
