"""What is wrong with a kernel, said of what its threads touched and of what was counted.

Pure functions on what `box.kernels.probe_kernel` shows of it and of the reference; each returns a sentence
where it is sure, else None. One on threads holds in each launch that shows it, and none may show another.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from coursekit.grading import launches
from coursekit.grading.answer import Answer
from coursekit.grading.model import CellRun

BLOCK = "all blocks work on the numbers of the first: `blockIdx.x * blockDim.x` is missing from the index"
WIDTH = "blocks overlap: `blockIdx.x` counts blocks, so it is multiplied by `blockDim.x` in the index"
THREAD = "all threads of a block work on its first number: `threadIdx.x` is missing from the index"
STRIDE = (
    "only as many numbers as there are threads are worked on: a loop goes on by `gridDim.x * blockDim.x` "
    "as long as its index is below the number of numbers, in an incomplete last turn too"
)
GUARD_THEM = "guard them"
UNGUARDED = (
    f"there are more threads than numbers, and those without one touch what is behind the end: {GUARD_THEM}"
)
MISGUARDED = (
    "it touches what is behind the end{} although it asks before: what is tested is not what is touched"
)
UNASKED = (
    "it touches what is behind the end{}: no condition asks about {}, so is the condition about something "
    "else, or the index not worked out right?"
)


BEFORE = "it touches what is before the first element{}: an index falls below 0, and nothing lies there"


# What a report advises for the usual mistake, whichever it is.
_ADVICE = re.compile(
    r" Guard the access with an if that keeps it inside\."
    r"|: give each thread an element of its own(, let one thread write)?, or use an atomic"
    r"|: give[^.]*…$"  # as a visible check's words are cut
)


def without_advice(text: str) -> str:
    """What happened alone, where the cause is told beside it and is another one."""
    return _ADVICE.sub("", text)


def of_kernels(
    pairs: Sequence[tuple[CellRun, CellRun]], answer: str, reference: str, *, own: bool = True
) -> str | None:
    """The sentence on a kernel, of its launches beside the reference's (right, shown)."""
    try:
        said = _of_launches(pairs, answer, reference, own)
    except (KeyError, IndexError, TypeError, ValueError):  # a run that was stopped shows less
        return None
    return f"{said[0].upper()}{said[1:]}{'' if said.endswith('?') else '.'}" if said else None


def _of_launches(
    pairs: Sequence[tuple[CellRun, CellRun]], answer: str, reference: str, own: bool
) -> str | None:
    shown = [both for right, cell in pairs for both in _launches(right, cell)]
    wrong = [(want, have) for want, have in shown if _is_wrong(want, have)]
    if not wrong:
        return next((said for want, have in shown if (said := counted(want, have, own=own))), None)
    told = {words for want, have in wrong if (words := touched(want, have, reference))}
    if len(told) == 1:
        return told.pop()
    return None if told else behind(wrong, answer, own=own) or absent(answer, reference)


def _launches(right: CellRun, cell: CellRun) -> Iterator[tuple[Any, Any]]:
    for want, have in zip(right.probes, cell.probes, strict=False):
        both = (want.value, have.value)
        if want.name == have.name and all(isinstance(one, dict) and "kernel" in one for one in both):
            yield want.value["kernel"], have.value["kernel"]


def _is_wrong(want: Any, have: Any) -> bool:
    """Whether values, findings or faults are wrong, counts aside."""
    bare: dict[str, Any] = {"work": {}, "counts": {}}
    return launches.difference({**want, **bare}, {**have, **bare}, 1e-4, own=True) is not None


def reported(pairs: Sequence[tuple[CellRun, CellRun]]) -> bool:
    """Whether a report names a cause, a race or what was never written, beside which numbers say nothing."""
    with suppress(KeyError, TypeError):  # a run that was stopped shows less
        return any(have["findings"] for right, cell in pairs for _, have in _launches(right, cell))
    return False


# What threads touched


def touched(want: Any, have: Any, reference: str) -> str | None:
    """Which part of the index is missing, of the places that were changed beside those that should be.

    That a loop does not go on is said where the `reference` has one over the grid: elsewhere there are enough
    threads, and as many places as threads are a coincidence.
    """
    if "launch" not in have or "touched" not in want or "touched" not in have:
        return None
    grid, block = (math.prod(have["launch"][part]) for part in ("grid", "block"))
    flat = all(n == 1 for part in ("grid", "block") for n in have["launch"][part][1:])
    for wanted, found in zip(want["touched"], have["touched"]):
        said = _index(wanted, found, grid, block) if flat else None
        if said and (said != STRIDE or "gridDim" in reference):
            return said
    return None


def _index(wanted: Any, found: Any, grid: int, block: int) -> str | None:
    """`wanted` and `found` are the first place that was changed, the one after the last, and how many."""
    start, end, count = found
    if wanted[0] != 0 or start != 0 or wanted[2] < wanted[1] or wanted[1] <= end:
        return None
    if grid > 1 and block > 1:
        if end == count == block and wanted[1] > block:
            return BLOCK
        if end == count == block + grid - 1 < wanted[1]:
            return WIDTH
        if count == grid and end == (grid - 1) * block + 1:
            return THREAD
    if end == count == grid * block < wanted[1]:
        return STRIDE
    return None


def behind(wrong: Iterable[tuple[Any, Any]], answer: str, *, own: bool = True) -> str | None:
    """Where threads touch what is behind an array's end: whether a guard is there."""
    faults = [run for _, have in wrong for run in have["runs"].values() if "fault" in run]
    if not faults or not all(re.search(r"has [\d,]+ elements?", str(run["told"])) for run in faults):
        return None
    names = {
        found[1] for run in faults if (found := re.search(r"(\w+) has [\d,]+ elements?", str(run["told"])))
    }
    which = f" of `{names.pop()}`" if len(names) == 1 else ""
    early = ["before the first element" in str(run["told"]) for run in faults]
    if any(early):
        return BEFORE.format(which) if all(early) else None
    if not re.search(r"\b(if|for|while)\s*\(|\?", answer):
        return UNGUARDED
    unasked = [_unasked(str(run["told"]), answer) for run in faults]
    if not any(unasked):
        return MISGUARDED.format(which)
    lone = [f"`{name}`" for name in sorted(set.intersection(*unasked))]
    said = f"{' or '.join(lone)}, which its index is made of" if own and 0 < len(lone) < 3 else "this index"
    return UNASKED.format(which, said)


def _unasked(told: str, answer: str) -> set[str]:
    """What stands in the index of the line that failed, and in no condition of an answer."""
    at = re.search(r"line (\d+): .*?(\w+)\[", told)
    parts = re.split(rf"\b{at[2]}\b[^\[\]]*(?=\[)", Answer(answer).code(int(at[1])), maxsplit=1) if at else []
    asked = re.findall(r"\b(?:if|while)\s*\((.*)|([^=;]*)\?|\bfor\s*\([^;]*;([^;]*);", answer)
    return _names(_index_of(parts[1])) - _names(" ".join(map(" ".join, asked))) if len(parts) > 1 else set()


def _index_of(code: str) -> str:
    """What stands in the brackets with which `code` begins."""
    depth = 0
    for place, sign in enumerate(code):
        depth += (sign == "[") - (sign == "]")
        if not depth:
            return code[:place]
    return code


def _names(code: str) -> set[str]:
    return set(re.findall(r"\b[A-Za-z_][\w.]*\b(?!\s*\()", code))


def absent(answer: str, reference: str) -> str | None:
    """What tells threads apart, in the reference and not in the answer."""
    for name in ("blockIdx.x", "blockIdx.y", "threadIdx.x", "threadIdx.y"):
        if name in reference and name not in answer:
            what = "blocks" if name.startswith("block") else "threads of a block"
            return f"`{name}` is nowhere in it: all {what} along that axis do the same"
    return None


# Counts


def counted(want: Any, have: Any, *, own: bool) -> str | None:
    """The first count that is too high or too low, in words."""
    for total, (value, which, slack) in want["counts"].items():
        if total not in have["counts"]:
            continue
        limit, count = launches.value_of(value), launches.value_of(have["counts"][total][0])
        if which == "at most" and count > limit * slack and total in COUNTS:
            words = COUNTS[total]
            if "sectors" in total and limit:
                again = OFTEN if "_load_" in total else WRITTEN
                words = again if count > MOST_BY_LAYOUT * limit else f"{words}{_apart(count / limit)}"
            return (
                f"{count:,.0f} {NAMES.get(total, total)} where {limit:,.0f} would do: {words}"
                if own
                else words
            )
        if which == "at least" and count * slack < limit and total in COUNTS:
            return COUNTS[total]
    return None


def _apart(ratio: float) -> str:
    """How far apart neighbours must lie to need so many more sectors of 32 bytes."""
    if ratio >= 6:
        return "; they lie 32 bytes apart or more, as down a column"
    return f"; they lie about {4 * round(ratio)} bytes apart" if ratio >= 1.8 else ""


MOST_BY_LAYOUT = 9  # times as many sectors: 8, of 4 bytes used of 32, and something for what hangs over
OFTEN = "the same numbers are read again and again: keep them in variables, or in shared memory"
AGAIN = "the same number is read again: keep it in a variable"
WRITTEN = "a place is written more than once: work in a variable, and write at the end"
SPREAD = "neighbours of a warp {} places that do not lie side by side, or a place is {} more than once"
NAMES = {
    "global_load_sectors": "sectors read",
    "global_store_sectors": "sectors written",
    "global_load_requests": "reads of a warp",
    "global_store_requests": "writes of a warp",
    "shared_load_requests": "reads of a warp from shared memory",
    "bank_conflicts": "bank conflicts",
    "bytes_read": "bytes read",
    "bytes_moved": "bytes moved",
    "divergent_branches": "divergent branches",
}
COUNTS = {
    "global_load_sectors": SPREAD.format("read", "read"),
    "global_store_sectors": SPREAD.format("write", "written"),
    "global_load_requests": AGAIN,
    "global_store_requests": WRITTEN,
    "shared_load_requests": (
        "shared memory is read oftener than need be: keep numbers in variables, or read four at a time"
    ),
    "shared_bytes": "numbers pass through shared memory that could stay in registers, or go by shuffles",
    "shared_bytes_read": (
        "shared memory is read oftener than need be: let each number that is read serve more sums"
    ),
    "bank_conflicts": "threads of a warp ask one bank for different words: pad the rows, or read along them",
    "bytes_read": "numbers are read from global memory more than once: share them through shared memory",
    "bytes_moved": (
        "more is read or written than the task needs: read each number once, write each result once"
    ),
    "barriers": "there are more barriers than need be: which `__syncthreads()` separates nothing?",
    "atomics": "one atomic for each block is enough: add up inside of the block first",
    "divergent_branches": "threads of one warp go different ways: let whole warps take a branch",
    "flops": "more is worked out than need be: let each result serve others too, as in a tree or a scan",
    "flops_per_byte": "too much is read for what is worked out: let each number that is read serve more sums",
}
