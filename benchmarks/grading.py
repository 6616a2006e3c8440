"""How many submissions of a chapter are graded in a minute?

    python -m benchmarks.grading                  # 120 submissions of chapter 01
    python -m benchmarks.grading --chapter 04a    # a chapter whose answers are CUDA C
    python -m benchmarks.grading --worst          # seconds and memory that one student can cost
    python -m benchmarks.grading --count 10000 --answers 2 --hostile 30 --cluster local:2
    python -m benchmarks.grading --count 60 --answers 2 --machines 1 2 4

Writes its part of benchmarks/results/grading.json.

Each submission is drawn anew: right answers, known mistakes and exercises not done, in every mixture. The
memory is that of the grader itself, at its highest, once a second.

--machines checks a model of the cost: N hand-ins on w workers take c + s * N / w seconds, where no core is
shared. c and s come from two runs on one worker, of N and of N/4.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil
from nbformat import NotebookNode
from timing import machine

from coursekit import notebooks
from coursekit.course import find_course
from coursekit.errors import CourseError
from coursekit.grading.assemble import Chapter, find_notebook, load_chapter
from coursekit.grading.control import misconceptions_of
from coursekit.grading.misconceptions import Misconception

RESULTS = Path(__file__).parent / "results" / "grading.json"
MACHINES = RESULTS.with_name("grading_machines.json")
GOAL = 60  # submissions a minute on 2 cores
LATE = 28  # seconds: a cell has 30

# What one student writes into each answer cell to cost the most; helpers run before each of them.
WORST = {
    "waits below each limit": f"""
import time
import numpy as np
time.sleep({LATE})
get_ipython().events.register("pre_run_cell", lambda *_: time.sleep({LATE}))
np.random.seed = lambda *_: time.sleep(9)
class Slow:
    def __del__(self): time.sleep(9)
slow = Slow()""",
    "ends its kernel late": f"""
import os, time
time.sleep({LATE})
get_ipython().events.register("pre_run_cell", lambda *_: time.sleep({LATE}) or os._exit(0))""",
    "fills the memory": """
import numpy as np
kept = []
while True: kept.append(np.ones(10**6))""",
    "shows much": """
show = probe
def probe(name, value, **more): show(name, [[]] * 50_000)""",
}


# What every so-many-th student of a large course writes into one cell.
HOSTILE = ["while True: pass", "import os\nos._exit(0)", "x = [0]\nwhile True: x = x + x"]


def draw(
    chapter: Chapter, mistakes: Sequence[Misconception], rng: random.Random, most: int
) -> dict[str, str]:
    """The answers of one student. How much is done, and how much of it is right, differs between students."""
    diligence, skill = rng.choice([0.0, 0.5, 0.8, 1.0]), rng.choice([0.3, 0.7, 1.0])
    answers = {}
    handed_in = set(rng.sample([one.number for one in chapter.exercises], min(most, len(chapter.exercises))))
    for exercise in (one for one in chapter.exercises if one.number in handed_in):
        wrong = [one.source for one in mistakes if one.exercise == exercise.number]
        if rng.random() < diligence:
            right = rng.random() < skill or not wrong
            answers[exercise.number] = exercise.reference if right else rng.choice(wrong)
    return answers


def submission(exercises: NotebookNode, chapter: Chapter, answers: dict[str, str]) -> NotebookNode:
    """The exercise notebook with `answers` in its answer cells."""
    made: NotebookNode = json.loads(json.dumps(exercises), object_hook=NotebookNode)
    for cell in notebooks.cells(chapter.path, made):
        if cell.is_answer and cell.exercise in answers:
            cell.node.source = answers[cell.exercise]
    return made


def worst(chapter: Chapter, exercises: NotebookNode, root: Path, options: Sequence[str]) -> None:
    """Print what each of the worst students costs: seconds, and the memory of the largest process of ours."""
    for what, body in WORST.items():
        wait = f"import time\ntime.sleep({LATE})" if "time" in body else ""
        answers = {one.number: f"# exercise: {one.number}{body}" for one in chapter.exercises}
        made = submission(exercises, chapter, answers)
        for cell in notebooks.cells(chapter.path, made):
            if cell.grade_id == "helpers":
                cell.node.source = f"# helpers\n{wait}"
        place = root / what.replace(" ", "-")
        notebooks.write(place / "submissions" / "one.ipynb", made)
        _print_cost(what, chapter, place, options)
    place = root / "large"
    empty = '{"nbformat": 4, "cells": [], "metadata": {"x": [%s 0]}}' % ('"ab",' * 1_970_000)
    for number in range(19):
        notebooks.write_text(place / "submissions" / "one" / f"{number}.ipynb", empty)
    _print_cost("hands in 19 notebooks of 9.9 MB", chapter, place, options)


def _print_cost(what: str, chapter: Chapter, place: Path, options: Sequence[str]) -> None:
    command = [sys.executable, "-m", "coursekit", "grade", chapter.number, str(place / "submissions")]
    measured = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:]); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    command = [sys.executable, "-c", measured, *command, "--out", str(place / "grades"), *options]
    started = time.monotonic()
    peak = int(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.split()[-1])
    print(f"one who {what}: {time.monotonic() - started:.0f} s, {peak / 1000:.0f} MB", flush=True)


def grade(chapter: str, folder: Path, out: Path, options: Sequence[str]) -> tuple[float, float]:
    """Seconds that `coursekit grade` takes, start, control and all outputs included, and its memory in MB."""
    command = [
        sys.executable,
        "-m",
        "coursekit",
        "grade",
        chapter,
        str(folder),
        "--out",
        str(out),
        "--seed",
        "1",
    ]
    started, most = time.monotonic(), 0
    with subprocess.Popen([*command, *options]) as grader:
        watched = psutil.Process(grader.pid)
        while grader.poll() is None:
            with contextlib.suppress(psutil.Error):
                most = max(most, watched.memory_info().rss)
            time.sleep(min(1.0, 0.1 + (time.monotonic() - started) / 10))
    if grader.returncode:
        raise CourseError(f"grading ended with exit code {grader.returncode}; its message stands above")
    return time.monotonic() - started, most / 1e6


def machines(chapter: str, root: Path, count: int, workers: Sequence[int], options: Sequence[str]) -> None:
    """Fit the model on one worker, print its table for `workers` beside what they take, and record both."""
    folders = sorted((root / "submissions").iterdir())
    few = root / "few"
    for folder in folders[: count // 4]:
        shutil.copytree(folder, few / folder.name)

    def took(place: Path, number: int) -> float:
        out = root / f"{place.name}-{number}"
        return grade(chapter, place, out, [*options, "--cluster", f"local:{number}"])[0]

    short, whole, left = took(few, 1), took(root / "submissions", 1), count - count // 4
    each = (whole - short) / left
    check = whole - each * count
    cores = os.cpu_count() or 1
    rows = [
        {
            "workers": number,
            "predicted": round(check + each * count / min(number, cores), 1),
            "seconds": round(whole if number == 1 else took(root / "submissions", number), 1),
        }
        for number in workers
    ]
    found = {
        "submissions": count,
        "cores": cores,
        "check_s": round(check, 2),
        "each_s": round(each, 3),
        "rows": rows,
        "machine": machine(),
        "command": " ".join(["python", "-m", "benchmarks.grading", *sys.argv[1:]]),
    }
    notebooks.write_text(MACHINES, json.dumps(found, indent=2) + "\n")
    print(machines_table(found))


def machines_table(found: Mapping[str, Any]) -> str:
    """What docs/instructors.md shows of the model."""
    head = f"| {found['submissions']} hand-ins on {found['cores']} cores, workers | the model | measured |\n"
    return f"{head}|---|---|---|\n" + "".join(
        f"| {row['workers']} | {row['predicted']:.0f} s | {row['seconds']:.0f} s |\n" for row in found["rows"]
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--chapter", default="01", help="its number (default: 01)")
    parser.add_argument("--count", type=int, default=120, help="submissions (default: 120)")
    parser.add_argument("--answers", type=int, default=99, help="exercises that each hands in (default: all)")
    parser.add_argument(
        "--hostile", type=int, default=0, help="how many loop, die or fill the memory (default: 0)"
    )
    parser.add_argument("--cluster", metavar="ADDRESS", help="as for `coursekit grade`")
    parser.add_argument("--machines", type=int, nargs="+", metavar="W", help="check the model of the cost")
    parser.add_argument("--sandbox", choices=["required", "off"], default="required")
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="write submissions and grades here, and keep them"
    )
    parser.add_argument("--worst", action="store_true", help="what one student can cost, at worst")
    args = parser.parse_args()
    course = find_course(Path(__file__).parent)
    chapter = load_chapter(find_notebook(course.solutions, args.chapter))
    exercises = notebooks.read(course.exercise(chapter.number))
    mistakes, rng = misconceptions_of(chapter), random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        root = args.keep or Path(folder)
        if args.worst:
            worst(chapter, exercises, root, ["--sandbox", args.sandbox])
            return 0
        hostile = set(rng.sample(range(args.count), args.hostile))
        for number in range(args.count):
            answers = draw(chapter, mistakes, rng, args.answers)
            if number in hostile:
                one = rng.choice(chapter.exercises).number
                answers[one] = f"# exercise: {one}\n{HOSTILE[number % len(HOSTILE)]}"
            made = submission(exercises, chapter, answers)
            notebooks.write(root / "submissions" / f"student-{number:03}" / chapter.path.name, made)
        if args.machines:
            machines(chapter.number, root, args.count, args.machines, ["--sandbox", args.sandbox])
            return 0
        options = ["--sandbox", args.sandbox, *(["--cluster", args.cluster] if args.cluster else [])]
        seconds, megabytes = grade(chapter.number, root / "submissions", root / "grades", options)
        files = [path.stat().st_size for path in (root / "grades").rglob("*") if path.is_file()]
    per_minute = 60 * args.count / seconds
    print(f"{args.count} submissions in {seconds:.1f} s: {per_minute:.0f} a minute (goal: {GOAL} on 2 cores)")
    print(f"the grader took {megabytes:.0f} MB of memory, its output {sum(files) / 1e6:.0f} MB of disk")
    found = {
        "submissions": args.count,
        "exercises": len(chapter.exercises),
        "sandbox": args.sandbox,
        "seconds": round(seconds, 1),
        "per_minute": round(per_minute, 1),
        "memory_of_the_grader_MB": round(megabytes),
        "disk_MB": round(sum(files) / 1e6, 1),
        **({"answers_each": args.answers} if args.answers < len(chapter.exercises) else {}),
        **({"hostile": args.hostile} if args.hostile else {}),
        **({"cluster": args.cluster} if args.cluster else {}),
        "goal_per_minute_on_2_cores": GOAL,
        "machine": {
            **machine(),
            **{name: version(name) for name in ("numpy", "nbval", "pytest", "ipykernel")},
        },
        "command": " ".join(["python", "-m", "benchmarks.grading", *sys.argv[1:]]),
    }
    name = " ".join([chapter.number, *([args.cluster] if args.cluster else [])])
    recorded = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    notebooks.write_text(RESULTS, json.dumps(recorded | {name: found}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CourseError as error:
        sys.exit(f"error: {error}")
