"""What a learner waits for: `profile` and the schedules of warps, now and in an earlier checkout.

    python benchmarks/reports.py                       # writes "reports" of results/cuda.json
    python benchmarks/reports.py --before CHECKOUT     # measures that one too, in turn
    python benchmarks/reports.py --case "matmul 256" --of profile     # a part is only printed

Each run is one process: seconds of one call, its kernel compiled before, and the peak of its memory. What it
computed is checked against NumPy's. `launches.py` measures launches.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import launches
import numpy as np
from launches import Launch
from timing import in_turn, machine, resident, rounded, shown, source

ROOT = Path(__file__).parents[1]  # with the package in it
ROUNDS = 3
WAYS = ("profile", "forward", "reverse")


def softmax(rows: int) -> Launch:
    """1,000 columns: a row that does not begin where a line of 128 bytes does."""
    x = launches.floats(rows, 1000)
    e = np.exp(x - x.max(1, keepdims=True))
    args = (x.ravel(), np.int32(1000), np.zeros(x.size, np.float32))
    return Launch((rows,), (256,), args, (e / e.sum(1, keepdims=True)).ravel())


@dataclass(frozen=True)
class Waited:
    """A launch of the kernel `name`, in the ways that are measured."""

    title: str
    name: str
    source: str
    launch: Callable[[], Launch]
    ways: tuple[str, ...] = ("profile",)


CASES = {
    case.title: case
    for case in (
        *(
            Waited(f"matmul {n}", "tiled", source("tiled"), lambda n=n: launches.product((n, n)), WAYS)  # type: ignore[misc]
            for n in (128, 256, 512)
        ),
        Waited("naive matmul 256", "naive", source("naive"), lambda: launches.product((256, 256))),
        Waited("add 1M", "add", source("add"), lambda: launches.adding(launches.MEGA)),
        Waited("block reduction 1M", "reduce", source("reduce"), lambda: launches.reducing(launches.MEGA)),
        Waited("histogram 1M", "histogram", source("histogram"), lambda: launches.counting(launches.MEGA)),
        Waited("transpose 1024", "transpose", source("transpose"), lambda: launches.turning(1024)),
        Waited("softmax 1024 x 1000", "softmax", source("softmax"), lambda: softmax(1024)),
    )
}


def measure_here(case: Waited, way: str) -> dict[str, float]:
    """Seconds of one call in this process, and the peak of its memory in MB."""
    from warplens import RawKernel, profile, simulate
    from warplens.device.stand_in import cp

    kernel, launch = RawKernel(case.source, case.name), case.launch()
    args = tuple(cp.asarray(arg) if isinstance(arg, np.ndarray) else arg for arg in launch.args)
    start = time.perf_counter()
    if way == "profile":
        report = profile(kernel, launch.grid, launch.block, args)
        seconds, result = time.perf_counter() - start, report.outputs[-1]
        assert report.ok, str(report)
    else:
        simulate(kernel, launch.grid, launch.block, args, schedule=way)
        seconds, result = time.perf_counter() - start, cp.asnumpy(args[-1])
    size = float(np.abs(launch.expected).max())
    if not np.allclose(result, launch.expected, rtol=launches.TOLERANCE, atol=launches.TOLERANCE * size):
        raise SystemExit(f"error: {case.title}, {way}: wrong by {np.abs(result - launch.expected).max()}")
    return {"seconds": seconds, "megabytes": resident("VmHWM") / 1e6}


def measure(keys: Sequence[tuple[str, str]], before: Path | None, rounds: int) -> list[dict[str, Any]]:
    """A row for each case and way: medians over the rounds, of this checkout and the earlier one."""
    folders = {"now": ROOT} | ({"before": before} if before else {})

    def one(key: tuple[str, str, str]) -> dict[str, float]:
        title, way, when = key
        print(".", end="", file=sys.stderr, flush=True)
        # This very file, so that an earlier checkout need not have it.
        command = [sys.executable, __file__, "--child", title, way]
        variables = {**os.environ, "PYTHONPATH": str(folders[when]), "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", cwd=ROOT, env=variables)
        if done.returncode:
            raise SystemExit(f"error: {title}, {way}, {when} failed; its message stands above")
        found: dict[str, float] = json.loads(done.stdout)
        return found

    found = in_turn([(*key, when) for key in keys for when in folders], rounds, one)
    print(file=sys.stderr)
    rows = []
    for title, way in keys:
        row: dict[str, Any] = {"case": title, "of": way}
        for when in folders:
            values = found[title, way, when]
            row[when] = rounded(statistics.median(value["seconds"] for value in values))
            row[f"{when}_megabytes"] = round(max(value["megabytes"] for value in values))
        rows.append(row)
    return rows


def table(rows: Sequence[dict[str, Any]]) -> str:
    """The rows as Markdown."""
    lines = [["kernel", "of", "before", "now", "times", "MB before", "MB now"], ["---"] * 7]
    for row in rows:
        was = row.get("before")
        lines.append(
            [
                row["case"],
                row["of"],
                shown(was, "seconds") if was else "",
                shown(row["now"], "seconds"),
                f"{was / row['now']:.1f}" if was else "",
                str(row.get("before_megabytes", "")),
                str(row["now_megabytes"]),
            ]
        )
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python benchmarks/reports.py", description="Time to a report")
    parser.add_argument("--before", type=Path, help="the folder of an earlier warplens, measured in turn")
    parser.add_argument("--case", action="append", choices=CASES, help="only this one; may be repeated")
    parser.add_argument("--of", action="append", choices=WAYS, help="only this one; may be repeated")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"(default: {ROUNDS})")
    parser.add_argument("--table", action="store_true", help="measure nothing: show the recorded figures")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.child:
        print(json.dumps(measure_here(CASES[args.child[0]], args.child[1])))
        return
    recorded = json.loads(launches.RESULTS.read_text(encoding="utf-8")) if launches.RESULTS.exists() else {}
    if args.table:
        print(table(recorded["reports"]["rows"]))
        return
    keys = [
        (title, way) for title in args.case or CASES for way in CASES[title].ways if way in (args.of or WAYS)
    ]
    rows = measure(keys, args.before.resolve() if args.before else None, args.rounds)
    print(table(rows))
    if args.case or args.of or not args.before:
        print("not recorded: only a run of every case, with --before, is")
        return
    recorded["reports"] = {
        "machine": machine(),
        "version": f"NumPy {np.__version__}",
        "rounds": args.rounds,
        "seconds": "median over the rounds of one call in a process of its own; megabytes: its highest peak",
        "rows": rows,
    }
    launches.RESULTS.write_text(json.dumps(recorded, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
