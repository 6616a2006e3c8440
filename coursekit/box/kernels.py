"""What hidden tests call to show what a CUDA kernel does, in each schedule, and what its report counts.

Runs in the grader's box; `probe_kernel` in a kernel process where no student's Python has run. Knows
`warplens` and NumPy alone.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from coursekit.box.probe import encode, series, show

with suppress(ImportError):  # in a box where the tool would give the answer it is not there
    from warplens import KernelFault, LongThread, cp, profile, simulate

STOPPED = "stopped"  # the fault of a loop that was cut off
FEW = 4  # numbers of an array that a launch may leave as they were and be right
MAX_STEPS = 20_000  # iterations of one loop; no clock decides (`patience`), so that each run says the same
MAX_SPAN = 4_000  # steps of one thread, many times as many as any reference takes: what follows is not run


def probe_kernel(
    name: str,
    kernel: Any,
    grid: tuple[int, ...],
    block: tuple[int, ...],
    args: Sequence[Any],
    *,
    shared_mem: int = 0,
    tolerance: float = 1e-5,
    at_most: Sequence[str] = (),
    at_least: Sequence[str] = (),
    slack: float = 1.0,
) -> None:
    """Run `kernel` in each schedule on copies of `args`, profile it, and show what came of it under `name`.

    A schedule that can make no difference, since there is neither a race nor an atomic, is not run.

    Right is what leaves the reference's arrays (within `tolerance`, absolute and relative) after each run,
    has no finding that the reference has not, and of the report's totals named in `at_most` and `at_least`
    none that is worse than the reference's by more than the factor `slack`. Atomics count along with
    `at_most`, since they are in no other total. The work must be shared among the threads about as evenly as
    the reference shares it, and no thread may take many times the steps (`launches` says how many).
    """
    runs: dict[str, Any] = {}
    at_file_scope = [(one.bytes, one.bytes.copy()) for one in getattr(kernel, "variables", {}).values()]
    shown: dict[str, Any] = {"runs": runs, "arrays": [], "findings": [], "work": {}, "counts": {}}
    shown["launch"] = {"grid": [int(n) for n in grid], "block": [int(n) for n in block]}
    runs["lockstep"] = _run(kernel, grid, block, args, shared_mem, "lockstep")
    _restore(at_file_scope)
    if runs["lockstep"].get("fault") == STOPPED:  # an endless loop is endless in each order
        return show(name, {"kernel": shown}, tolerance, f"{name}: stopped")
    parameters = zip(kernel.function.parameters, args)
    shown["arrays"] = [one.name for one, arg in parameters if isinstance(arg, cp.ndarray)]
    try:
        report = profile(
            kernel, grid, block, _copied(args), shared_mem, max_steps=MAX_STEPS, max_span=MAX_SPAN,
            patience=None,
        )  # fmt: skip
    except LongThread as long:
        shown["work"] = {"span": MAX_SPAN, "longest": [long.block, long.thread]}
        return show(name, {"kernel": shown}, tolerance, f"{name}: one thread does it all")
    _restore(at_file_scope)
    # Without races and atomics, what comes out does not depend on the order, and need not be tried.
    alike = not report.findings and not report.atomics and "fault" not in runs["lockstep"]
    for schedule in ("forward", "reverse"):
        if alike:
            runs[schedule] = {"same": "lockstep"}
            continue
        runs[schedule] = _run(kernel, grid, block, args, shared_mem, schedule)
        _restore(at_file_scope)
        if runs[schedule].get("fault") == STOPPED:
            return show(name, {"kernel": shown}, tolerance, f"{name}: stopped")
        runs[schedule] = _same_or(runs[schedule], runs["lockstep"])
    runs["profile"] = _same_or({"outputs": _outputs(args, report.outputs)}, runs["lockstep"])
    if at_most and "atomics" not in at_most:
        at_most = (*at_most, "atomics")
    limits = [*((total, "at most") for total in at_most), *((total, "at least") for total in at_least)]
    shown |= {
        "findings": list(_findings(report)),
        "touched": _touched(args, report.outputs),
        "work": _work(report),
        "counts": {total: [encode(getattr(report, total)), which, slack] for total, which in limits},
    }
    show(name, {"kernel": shown}, tolerance, f"{name}: {'ok' if report.ok else 'has findings'}")


@contextmanager
def launched(name: str) -> Iterator[None]:
    """Show, as a series under `name`, each launch in the block, whoever asks for it, when it is made.

    Of each: the kernel's name, grid, block, and the whole numbers among its arguments; the arrays of float32
    that it was given and left as they were, packed; the bytes that it moves, the most of one thread, and
    whether it has a finding; and all arrays that it wrote, packed.
    """
    from warplens import kernel, simulation

    layers = kernel, simulation
    ran, recorded = simulation.run, simulation.recorded
    with series(name) as told:

        def tell(kernel: Any, where: str, grid: Any, block: Any, args: Any, *others: Any) -> Any:
            report = recorded(kernel, where, grid, block, args, others[0], MAX_STEPS, None, None)
            numbers = [int(one) for one in args if isinstance(one, int | np.integer)]
            arrays = [one for one in args if isinstance(one, cp.ndarray)]
            after = _outputs(args, report.outputs, few=0)
            written = [one for one in after if one]
            left = [cp.asnumpy(old) for old, new in zip(arrays, after) if not new and old.dtype == np.float32]
            given = [packed(one) for one in left]
            most = int(report.bytes_by_thread.max())
            counts = report.bytes_moved, most, int(not report.ok)
            sizes = [np.atleast_1d(each).tolist() for each in (grid, block)]
            told([kernel.name, *sizes, numbers, given, *counts, written])
            return report

        def run(*launch: Any) -> None:
            tell(*launch)
            ran(*launch)

        for layer in layers:
            layer.run, layer.recorded = run, tell  # type: ignore[attr-defined]
        try:
            yield
        finally:
            for layer in layers:
                layer.run, layer.recorded = ran, recorded  # type: ignore[attr-defined]


def _run(
    kernel: Any,
    grid: tuple[int, ...],
    block: tuple[int, ...],
    args: Sequence[Any],
    shared_mem: int,
    schedule: str,
) -> dict[str, Any]:
    copies = _copied(args)
    try:
        simulate(
            kernel, grid, block, copies, shared_mem, schedule=schedule, max_steps=MAX_STEPS, patience=None
        )
    except KernelFault as fault:
        told = str(fault).partition("\n")[0]
        return {
            "fault": getattr(fault.finding, "kind", STOPPED),
            "told": re.sub(r"^\S+:(\d+):", r"line \1:", told),
        }
    return {"outputs": _outputs(args, [cp.asnumpy(one) for one in copies])}


def _outputs(before: Sequence[Any], after: Sequence[Any], few: int = FEW) -> list[Any]:
    """What each array holds after a run, None where that is what it held before.

    Up to `few` numbers are always told: what is right may be what was there.
    """
    pairs = [(cp.asnumpy(old), new) for old, new in zip(before, after) if isinstance(old, cp.ndarray)]
    same = [old.size > few and old.tobytes() == new.tobytes() for old, new in pairs]
    return [None if left else packed(new) for left, (_, new) in zip(same, pairs)]


def _touched(before: Sequence[Any], after: Sequence[Any]) -> list[list[int]]:
    """Of each array the first place that a launch changed, the one after the last, and how many."""
    pairs = [(cp.asnumpy(old), new) for old, new in zip(before, after) if isinstance(old, cp.ndarray)]
    places = [np.flatnonzero((old != new) & ~((old != old) & (new != new))) for old, new in pairs]
    return [[int(some[0]), int(some[-1]) + 1, some.size] if some.size else [0, 0, 0] for some in places]


def _same_or(run: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """`run`, or that it was like the lockstep one: messages have a limit."""
    return {"same": "lockstep"} if run == other else run


def packed(array: Any) -> dict[str, Any]:
    """An array as data that takes little room: a notebook may keep it."""
    content = base64.b64encode(array.tobytes()).decode()
    return {"packed": content, "shape": list(array.shape), "dtype": str(array.dtype)}


def _restore(variables: Sequence[tuple[Any, Any]]) -> None:
    """What one run leaves in variables at file scope, the next one shall not find."""
    for content, before in variables:
        content[...] = before


def _copied(args: Sequence[Any]) -> tuple[Any, ...]:
    """`args` with each array copied; an array that is given twice stays one array."""
    arrays = {id(one): cp.array(one) for one in args if isinstance(one, cp.ndarray)}
    return tuple(arrays.get(id(one), one) for one in args)


def _work(report: Any) -> dict[str, Any]:
    """How the work is shared: the most steps and bytes of one thread, who it is, and how many are like it."""
    steps, moved = report.steps_by_thread, report.bytes_by_thread
    most = int(moved.max())
    busy = moved >= max(1, most / 2)
    return {
        "threads": moved.size,
        "span": report.span,
        "longest": [int(place) for place in divmod(int(steps.argmax()), steps.shape[1])],
        "bytes": int(moved.sum()),
        "most": most,
        "busiest": [int(place) for place in divmod(int(moved.argmax()), moved.shape[1])],
        "busy": [int(busy.sum()), int(moved[busy].sum())],
    }


def _findings(report: Any) -> Iterator[list[str]]:
    """Kind and text of what is wrong; notes, and races that write the same value, are not."""
    harmless = {id(note) for note in report.notes}
    for finding in report.findings:
        if id(finding) not in harmless and finding.kind != "same-value":
            kind = f"race ({finding.kind})" if finding in report.races else finding.kind
            yield [kind, f"line {finding.line}: {finding.message}"]
