"""Run the measurements in benchmarks/ and simulator/benchmarks/, each in a process of its own."""

from __future__ import annotations

import argparse
import subprocess
import sys

from coursekit.course import Course
from coursekit.errors import CourseError

passes_on = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="such as scalar (default: all of them)")
    parser.epilog = "Arguments that this command does not know go to the benchmark."


def run(course: Course, args: argparse.Namespace) -> int:
    folders = course.root / "benchmarks", course.root / "simulator" / "benchmarks"
    known = {
        path.stem: ["-m", f"benchmarks.{path.stem}"] if folder is folders[0] else [str(path)]
        for folder in folders
        for path in sorted(folder.glob("*.py"))
        if '__name__ == "__main__"' in path.read_text(encoding="utf-8")
    }
    unknown = [name for name in args.names if name not in known]
    if unknown:
        raise CourseError(f"no benchmark is called {unknown[0]}; there are: {', '.join(known) or 'none yet'}")
    if not known:
        raise CourseError(f"{folders[0]} holds no benchmark yet")
    failed = 0
    for name in args.names or known:
        command = [sys.executable, *known[name], *args.rest]
        failed |= subprocess.run(command, cwd=course.root).returncode
    return 1 if failed else 0
