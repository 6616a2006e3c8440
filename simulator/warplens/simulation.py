"""Launches on the CPU: in place, or on copies of the arguments, with all that happens recorded."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from warplens import through_cupy
from warplens.analysis.explain import explain
from warplens.arguments import Arguments
from warplens.backend import SIMULATE
from warplens.detect.recorder import Recorder
from warplens.detect.uniform_blocks import UniformRecorder, WrittenError
from warplens.engine.file_scope import pointers
from warplens.engine.printing import MOST_PRINTED
from warplens.engine.run import run_lockstep, run_warps, run_watched
from warplens.errors import Deadlock, EndlessLoop, KernelFault
from warplens.replay import Replay
from warplens.report import messages
from warplens.report.findings import Limit
from warplens.report.report import Report

if TYPE_CHECKING:
    from warplens.kernel import Kernel

MAX_STEPS = 1_000_000
PATIENCE = 10.0  # seconds


@contextmanager
def simulated(kernel: Kernel, arguments: Arguments, where: str, keep: bool) -> Iterator[Arguments]:
    """The arguments in simulated memory: as they are, or copied from a GPU, with the variables at file scope.

    With `keep`, what is in the copies at the end goes back, whatever stopped the kernel.
    """
    if where == SIMULATE:
        yield arguments
        return
    copies = through_cupy.GpuCopies(arguments.given)
    for variable, allocation in kernel.variables.items():
        try:
            there = kernel.unit.variable_on_gpu(variable)
        except RuntimeError:
            continue  # NVRTC has left it out, or it is static: nobody outside of the source can see it
        copies.add(there, allocation)
    try:
        yield arguments.copied(copies.args)
    finally:
        if keep:
            copies.back()


@contextmanager
def _recursion_named(kernel: Kernel) -> Iterator[None]:
    """Say in words of our own that functions call each other too often."""
    try:
        yield
    except RecursionError:
        names = ", ".join(f.name for f in kernel.facts.functions[1:])
        raise KernelFault(
            f"{kernel.program.name}: a function called itself too often: {names}. "
            "Does every call come closer to the end?"
        ) from None


def run(
    kernel: Kernel,
    where: str,
    grid: Any,
    block: Any,
    args: Any,
    shared_mem: int,
    schedule: str = "lockstep",
    max_steps: int = MAX_STEPS,
    patience: float | None = PATIENCE,
) -> None:
    """A simulation of arguments that are there where `machine` has found them."""
    launch = kernel.prepare(grid, block, shared_mem, max_steps, schedule == "reverse", patience)
    with simulated(kernel, Arguments(kernel.function, args), where, keep=True) as arguments:
        together = schedule == "lockstep" and not kernel.facts.spin_waits
        code = kernel.code("lockstep" if together else "warps")
        code.variables.update(pointers(kernel.variables))
        in_order = run_lockstep if together else run_warps
        try:
            with _recursion_named(kernel):
                in_order(code, launch, arguments.values())
        finally:
            sys.stdout.write(launch.printed.text)
        arguments.wrote()


def recorded(
    kernel: Kernel, where: str, grid: Any, block: Any, args: Any, shared_mem: int, max_steps: int,
    max_span: int | None, patience: float | None,
) -> Report:  # fmt: skip
    """The report of a run on copies, of arguments that are there where `machine` has found them."""
    launch = kernel.prepare(grid, block, shared_mem, max_steps, patience=patience)
    with simulated(kernel, Arguments(kernel.function, args), where, keep=False) as arguments:
        only_read = arguments.only_read(kernel.facts.written_variables)
    code = kernel.code("watched")
    while True:
        copies: dict[int, np.ndarray[Any, Any]] = {}
        values = arguments.values(copies)
        code.variables.update(pointers(kernel.variables, copies))
        known = launch.name, launch.source, launch.grid, launch.block, max_span
        tickets = kernel.facts.ticket_lines
        recorder = (
            Recorder(*known, tickets)
            if launch.waits
            else UniformRecorder(*known, tickets, only_read=only_read)
        )
        replay = Replay(
            kernel.code,
            lambda: kernel.prepare(grid, block, shared_mem, max_steps),
            arguments,
            kernel.variables,
            copies,
        )
        try:
            with _recursion_named(kernel):
                run_watched(code, launch, values, recorder)
            break
        except EndlessLoop as loop:
            if code.by_warp or not isinstance(loop, Deadlock):
                recorder.endless(loop.line, loop.why, loop.live, loop.warps, loop.limit)
                break
            code = kernel.code("watched warps")  # threads of one block may wait for each other
        except WrittenError as error:  # a pointer has come there by another way
            only_read -= {error.base}
        launch = kernel.prepare(grid, block, shared_mem, max_steps, patience=patience)
    report = recorder.report(arguments.outputs(copies))
    report.printed = launch.printed.text
    if launch.printed.room < 0:
        report.met.append(Limit("printed", messages.PRINTED.format(MOST_PRINTED)))
    report.shared_bytes = kernel.shared_size_bytes + int(shared_mem)
    report.rerun = replay
    if report.barrier_divergence:
        _show_block(report, replay)
    explain(report, kernel.facts)
    return report


def _show_block(report: Report, replay: Replay) -> None:
    """Keep what happened in the block whose threads miss a barrier, in place of the first block's."""
    x, y, z = block = report.barrier_divergence[0].block or (0, 0, 0)
    events = replay.events(x + report.grid[0] * (y + report.grid[1] * z)) if any(block) else []
    if events:
        report.seen.events, report.seen.block = events, block
