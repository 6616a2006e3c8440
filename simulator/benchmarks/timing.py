"""What benchmarks share: processes in turn, the clock, the gauge of memory, and how figures are written."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

SECONDS, FEWEST_CALLS = 1.0, 7  # a process goes on until it has both
KERNELS = Path(__file__).parent / "kernels"

Call = Callable[[], Any]
Key = TypeVar("Key")


def source(kernel: str) -> str:
    """The source of a kernel of this folder."""
    return (KERNELS / f"{kernel}.cu").read_text(encoding="utf-8")


def machine() -> dict[str, str | int]:
    """Processor, cores, Python and system, as they stand beside each result."""
    model = ""
    if Path("/proc/cpuinfo").is_file():
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return {
        "processor": model or platform.machine(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        "python": platform.python_version(),
        "system": platform.system(),
    }


def call_times(call: Call) -> list[float]:
    """Seconds of each call, with the garbage collector as Python sets it up."""
    seconds: list[float] = []
    end = time.perf_counter() + SECONDS
    while len(seconds) < FEWEST_CALLS or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return seconds


def resident(field: str) -> int:
    """A line of /proc/self/status, in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(field)).split()[1])


def answer(*words: str, cwd: Path | None = None, environment: Mapping[str, str] | None = None) -> Any:
    """What `python words` prints, as JSON. Its messages go to stderr as they come."""
    variables = {**os.environ, **(environment or {})}
    command = [sys.executable, *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", cwd=cwd, env=variables)
    if done.returncode:
        raise SystemExit(f"error: `{' '.join(words)}` failed; its message stands above")
    return json.loads(done.stdout)


def in_turn(keys: Sequence[Key], rounds: int, measure: Callable[[Key], Any]) -> dict[Key, list[Any]]:
    """One value for each key and round; within a round all keys have their turn."""
    values: dict[Key, list[Any]] = {key: [] for key in keys}
    for _ in range(rounds):
        for key in keys:
            values[key].append(measure(key))
    return values


def rounded(value: float) -> float:
    return float(f"{value:.4g}")


def shown(value: float, unit: str) -> str:
    """Three digits and a unit that a person reads: `1.24 ms`, `253 MB`."""
    if unit == "bytes":
        return f"{value / 1e6:.0f} MB"
    scale, name = next(((s, n) for s, n in ((1, "s"), (1e-3, "ms")) if value >= s), (1e-6, "µs"))
    digits = value / scale
    return f"{digits:.{2 if digits < 10 else 1 if digits < 100 else 0}f} {name}"
