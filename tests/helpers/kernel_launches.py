"""The launches of kernels while something runs on the device, to be profiled and run in other orders."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np

from minilib.cuda import cp, profile, simulate

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
def launches(module: ModuleType) -> Iterator[list[Launch]]:
    """Those that `module` makes by its `kernels(name).get_function(name)` in this block."""
    seen: list[Launch] = []
    original = module.kernels

    class Spy:
        def __init__(self, file: str) -> None:
            self.file = file

        def get_function(self, name: str) -> Any:
            kernel = original(self.file).get_function(name)

            def launch(grid: Any, block: Any, args: Any, *, shared_mem: int = 0) -> None:
                seen.append(Launch(name, kernel, grid, block, copies(args), shared_mem))
                kernel(grid, block, args, shared_mem=shared_mem)

            return launch

    with mock.patch.object(module, "kernels", Spy):
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
