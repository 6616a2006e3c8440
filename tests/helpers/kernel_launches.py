"""The launches of kernels while something runs on the device, to be profiled and run in other orders."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np

from minilib.cuda import cp, profile, simulate
from minilib.gpu import device

SCHEDULES = ("lockstep", "forward", "reverse")


@dataclass(frozen=True)
class Launch:
    """One launch: `args` as they were before it."""

    name: str
    kernel: Any
    grid: tuple[int, ...]
    block: tuple[int, ...]
    args: tuple[Any, ...]
    shared_mem: int

    def report(self) -> Any:
        return profile(self.kernel, self.grid, self.block, self.args, shared_mem=self.shared_mem)

    def outputs(self, schedule: str) -> list[np.ndarray]:
        """The arrays that it may write to, after a run in this order."""
        args = copies(self.args)
        simulate(self.kernel, self.grid, self.block, args, shared_mem=self.shared_mem, schedule=schedule)
        return [arg.get() for arg in args if isinstance(arg, cp.ndarray)]


def copies(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(arg.copy() if isinstance(arg, cp.ndarray) else arg for arg in args)


@contextmanager
def launches(start: str = "") -> Iterator[list[Launch]]:
    """Those of our kernels in this block whose names begin with `start`."""
    seen: list[Launch] = []

    def note(kernel: Any, grid: Any, block: Any, args: Any, shared_mem: int = 0) -> None:
        if kernel.name.startswith(start):
            seen.append(Launch(kernel.name, kernel, grid, block, copies(tuple(args)), shared_mem))

    with mock.patch.object(device, "profile", note), device.reports():
        yield seen


def check(launch: Launch, tolerance: float = 0.0) -> Any:
    """The launch's report, without findings; every order gives the same, within `tolerance` of atomics."""
    report = launch.report()
    assert report.ok, f"{launch.name}: {report}"
    first, *others = [launch.outputs(schedule) for schedule in SCHEDULES]
    for other in others:
        for a, b in zip(first, other, strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=tolerance)
    return report
