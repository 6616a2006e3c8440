"""Every notebook in an empty folder, as in Colab: does it run from the wheel alone, how long, in what memory?

    python -m benchmarks.roads                    # every notebook, with the oldest and the newest NumPy
    python -m benchmarks.roads 00 01 --numpy 2.0.2

Builds the wheel, makes a new environment for each NumPy from `minilib-course[notebooks]` and nothing else,
and runs each notebook there from top to bottom, in an empty folder, without the clone: chapters, and solved
exercises, but for those that need PyTorch as a whole. Writes benchmarks/results/roads.json. A failed notebook
is named with its error; then exit code 1.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from typing import Any

from timing import machine

from coursekit import needs, notebooks
from coursekit.course import Course, chapter_number, find_course, meant

RESULTS = Path(__file__).parent / "results" / "roads.json"
OLDEST = "2.0.2"
LIMIT = 600  # seconds a notebook
# Runs a notebook's code cells in one process, as a kernel would, and says how far it came.
RUN = r"""
import json, resource, sys, time
from IPython.core.interactiveshell import InteractiveShell

import matplotlib
matplotlib.use("agg")
shell = InteractiveShell.instance()
shell.user_ns["get_ipython"] = lambda: shell
started, error = time.monotonic(), ""
for number, source in enumerate(json.load(open("cells.json", encoding="utf-8")), 1):
    found = shell.run_cell(source, store_history=True)
    if not found.success:
        error = f"cell {number}: {found.error_before_exec or found.error_in_exec!r}"
        break
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
json.dump({"seconds": round(time.monotonic() - started, 1), "megabytes": round(peak), "error": error},
          open("outcome.json", "w"))
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("numbers", nargs="*", metavar="NN", help="chapters (default: all)")
    parser.add_argument("--numpy", action="append", metavar="VERSION", help="such as 2.0.2, or newest")
    args = parser.parse_args()
    course = find_course(Path(__file__).parent)
    found: dict[str, Any] = {"machine": machine(), "load_at_start": load(), "numpy": {}}
    with tempfile.TemporaryDirectory(prefix="roads-") as name:
        wheel = build(course, Path(name))
        for version in args.numpy or [OLDEST, "newest"]:
            python = environment(Path(name, version), wheel, version)
            real = subprocess.check_output(
                [python, "-c", "import numpy; print(numpy.__version__)"], encoding="utf-8"
            )
            rows = {}
            for path in chosen(course, args.numbers):
                rows[path.relative_to(course.root).as_posix()] = row = run(python, path)
                print(f"{real.strip():<8}{path.parent.name}/{path.name:<28}", row, flush=True)
            found["numpy"][real.strip()] = rows
    found["load_at_end"] = load()
    if not args.numbers:
        RESULTS.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print(table(found["numpy"]))
    return int(any(row["error"] for rows in found["numpy"].values() for row in rows.values()))


def load() -> float | None:
    """How many processes want a core: above the number of cores, the seconds say little."""
    return round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None


def chosen(course: Course, numbers: list[str]) -> list[Path]:
    found = sorted([*course.chapters.glob("*.ipynb"), *course.solutions.glob("*.ipynb")])
    paths = [path for path in found if not needs.of_notebook(notebooks.read(path))]
    known = [chapter_number(path) for path in paths]
    wanted = {found for number in numbers for found in meant(number, known)}
    return [path for path in paths if not numbers or chapter_number(path) in wanted]


def build(course: Course, folder: Path) -> Path:
    """The course's wheel, as pip builds it from an address."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--wheel-dir",
        folder,
        course.root,
    ]
    subprocess.run(command, check=True)
    return next(folder.glob("*.whl"))


def environment(folder: Path, wheel: Path, numpy: str) -> Path:
    """The interpreter of a new environment with the wheel, its extra for notebooks and this NumPy."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    pinned = [] if numpy == "newest" else [f"numpy=={numpy}"]
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", f"minilib-course[notebooks] @ {wheel.as_uri()}", *pinned],
        check=True,
    )
    return python


def run(python: Path, path: Path) -> dict[str, Any]:
    """Seconds, peak memory and the error, if any, of the notebook at `path` in an empty folder."""
    with tempfile.TemporaryDirectory(prefix="empty-") as folder:
        code = [cell.source for cell in notebooks.cells(path, notebooks.read(path)) if cell.is_code]
        program = Path(folder, "run.py")
        Path(folder, "cells.json").write_text(json.dumps(code), encoding="utf-8")
        program.write_text(RUN, encoding="utf-8")
        hidden = {"PYTHONPATH", "VIRTUAL_ENV"}
        variables = {name: value for name, value in os.environ.items() if name not in hidden}
        variables |= {"MINILIB_CUDA": "simulate", "IPYTHONDIR": str(Path(folder, "ipython"))}
        started = time.monotonic()
        try:
            done = subprocess.run(
                [python, program],
                cwd=folder,
                env=variables,
                capture_output=True,
                encoding="utf-8",
                timeout=LIMIT,
            )
        except subprocess.TimeoutExpired:
            return {"seconds": LIMIT, "megabytes": 0, "error": f"took longer than {LIMIT} s"}
        outcome = Path(folder, "outcome.json")
        if not outcome.is_file():
            error = (done.stderr.strip().splitlines() or ["no output"])[-1]
            return {"seconds": round(time.monotonic() - started, 1), "megabytes": 0, "error": error}
        found: dict[str, Any] = json.loads(outcome.read_text(encoding="utf-8"))
        return found


def table(found: dict[str, dict[str, Any]]) -> str:
    """In Markdown: a row for each notebook, seconds and megabytes for each NumPy."""
    versions = list(found)
    head = ["notebook", *(f"NumPy {version}: {unit}" for version in versions for unit in ("s", "MB"))]
    lines = [f"| {' | '.join(head)} |", "|" + " --- |" * len(head)]
    for name in found[versions[0]]:
        rows = [found[version][name] for version in versions]
        numbers = [str(row[key]) for row in rows for key in ("seconds", "megabytes")]
        lines.append(
            f"| {name} | {' | '.join(numbers)} |" + ("" if not any(r["error"] for r in rows) else " FAILED")
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
