"""How many submissions of a chapter are graded in a minute?

    python -m benchmarks.grading                  # 120 submissions of chapter 01
    python -m benchmarks.grading --chapter 04a    # a chapter whose answers are CUDA C

Writes its part of benchmarks/results/grading.json.

Each submission is drawn anew: right answers, known mistakes and exercises not done, in every mixture.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from nbformat import NotebookNode

from benchmarks.machine import machine
from coursekit import notebooks
from coursekit.course import find_course
from coursekit.errors import CourseError
from coursekit.grading.assemble import Chapter, find_notebook, load_chapter
from coursekit.grading.control import misconceptions_of
from coursekit.grading.misconceptions import Misconception

RESULTS = Path(__file__).parent / "results" / "grading.json"
GOAL = 60  # submissions a minute on 2 cores


def draw(chapter: Chapter, mistakes: Sequence[Misconception], rng: random.Random) -> dict[str, str]:
    """The answers of one student. How much is done, and how much of it is right, differs between students."""
    diligence, skill = rng.choice([0.0, 0.5, 0.8, 1.0]), rng.choice([0.3, 0.7, 1.0])
    answers = {}
    for exercise in chapter.exercises:
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


def grade(chapter: str, folder: Path, out: Path, options: Sequence[str]) -> float:
    """Seconds that `coursekit grade` takes, start, control and all outputs included."""
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
    started = time.monotonic()
    done = subprocess.run([*command, *options], check=False)
    if done.returncode:
        raise CourseError(f"grading ended with exit code {done.returncode}; its message stands above")
    return time.monotonic() - started


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--chapter", default="01", help="its number (default: 01)")
    parser.add_argument("--count", type=int, default=120, help="submissions (default: 120)")
    parser.add_argument("--sandbox", choices=["required", "off"], default="required")
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="write submissions and grades here, and keep them"
    )
    args = parser.parse_args()
    course = find_course(Path(__file__).parent)
    chapter = load_chapter(find_notebook(course.solutions, args.chapter))
    exercises = notebooks.read(course.exercise(chapter.number))
    mistakes, rng = misconceptions_of(chapter), random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        root = args.keep or Path(folder)
        for number in range(args.count):
            made = submission(exercises, chapter, draw(chapter, mistakes, rng))
            notebooks.write(root / "submissions" / f"student-{number:03}" / chapter.path.name, made)
        seconds = grade(chapter.number, root / "submissions", root / "grades", ["--sandbox", args.sandbox])
    per_minute = 60 * args.count / seconds
    print(f"{args.count} submissions in {seconds:.1f} s: {per_minute:.0f} a minute (goal: {GOAL} on 2 cores)")
    found = {
        "submissions": args.count,
        "exercises": len(chapter.exercises),
        "sandbox": args.sandbox,
        "seconds": round(seconds, 1),
        "per_minute": round(per_minute, 1),
        "goal_per_minute_on_2_cores": GOAL,
        "machine": {
            **machine(),
            **{name: version(name) for name in ("numpy", "nbval", "pytest", "ipykernel")},
        },
        "command": f"python -m benchmarks.grading --chapter {chapter.number}",
    }
    recorded = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    notebooks.write_text(RESULTS, json.dumps(recorded | {chapter.number: found}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CourseError as error:
        sys.exit(f"error: {error}")
