"""The launches of kernels while something runs on the device, to be profiled."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

from minilib.cuda import cp, profile
from minilib.gpu import device


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


def check(launch: Launch) -> Any:
    """The launch's report, which has no findings."""
    report = launch.report()
    assert report.ok, f"{launch.name}: {report}"
    return report
