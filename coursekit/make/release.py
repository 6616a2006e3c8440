"""`python3 -m coursekit release --to DIR`: the bundle for students, which works on its own."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from coursekit.course import Course
from coursekit.errors import CourseError
from coursekit.files import read_bytes, writing
from coursekit.make import drift, exercises, promote
from coursekit.notebooks import HIDDEN, SOLUTION

# Folders and files that students get. No solutions, misconceptions, judges, or tests of answers.
FOLDERS = ("chapters", "exercises", "minilib", "simulator/warplens", "coursekit")
FILES = ("Makefile", "README.md", "pyproject.toml", "LICENSE")
# Where there are any: chapters show recorded results, and a class may open the bundle in Binder.
EXTRAS = (
    *(".gitignore", "environment.yml", "postBuild", "benchmarks/README.md", "benchmarks/results"),
    *("simulator/README.md", "simulator/CHANGELOG.md", "simulator/docs"),
    *(".github/images/graph.png", ".github/images/race.png"),
)

NOT_FOR_STUDENTS = "## For instructors"
_LEFT_OUT = ("__pycache__", ".ipynb_checkpoints")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--to", metavar="DIR", type=Path, required=True, help="a folder that is new or empty")


def run(course: Course, args: argparse.Namespace) -> int:
    target = checked_target(args.to)
    if target.is_relative_to(course.root):
        raise CourseError(f"{args.to}: lies inside the course; give --to a folder beside it")
    check_fresh(course)
    names = list(files(course))
    check_no_answers(course, names)
    copy(course, names, target)
    print(f"{target}: {len(names)} files for students; try it: cd {shlex.quote(str(target))} && make lab")
    return 0


def checked_target(folder: Path) -> Path:
    """Where the bundle goes. Raises where something is already."""
    try:
        target = folder.resolve()
        if target.is_dir() and not any(target.iterdir()):
            return target
        if target.exists():
            raise CourseError(f"{folder}: is there already; give --to a folder that is new or empty")
    except (OSError, RuntimeError, ValueError) as error:
        raise CourseError(f"{folder}: cannot be used ({getattr(error, 'strerror', None) or error})") from None
    return target


def check_fresh(course: Course) -> None:
    """Raise where exercises or modules are not what their sources say."""
    drift.need_solutions(course, "a bundle is made from the full course")
    for name, texts in (("exercises", exercises.made(course)), ("promote", _modules(course))):
        for path, text in texts.items():
            if drift.text_of(path) != text:
                shown = path.relative_to(course.root)
                raise CourseError(f"{shown} is not what its sources say: run `make {name}` before a release")


def _modules(course: Course) -> dict[Path, str]:
    return {course.library / name: text for name, text in promote.promoted(course).items()}


def files(course: Course) -> Iterator[str]:
    """The files of the bundle, relative to the course."""
    for name in (*FOLDERS, *FILES):
        if not (course.root / name).exists():
            raise CourseError(f"{name}: is missing in {course.root}; a bundle needs it")
    for name in (*FOLDERS, *FILES, *EXTRAS):
        top = course.root / name
        for path in [top] if top.is_file() else sorted(top.rglob("*")):
            inside = path.relative_to(course.root)
            if path.is_file() and not _is_left_out(inside):
                yield inside.as_posix()


def _is_left_out(path: Path) -> bool:
    is_hidden = any(part.startswith(".") for part in path.parts) and path.as_posix() not in EXTRAS
    return is_hidden or any(part in _LEFT_OUT for part in path.parts)


def check_no_answers(course: Course, names: list[str]) -> None:
    """Raise for a file with a marker of answers or hidden tests; coursekit's own code names them."""
    markers = [marker.encode() for marker in (*SOLUTION, *HIDDEN)]
    for name in names:
        if not name.startswith("coursekit/"):
            data = read_bytes(course.root / name)
            found = next((marker for marker in markers if marker in data), None)
            if found:
                raise CourseError(f"{name} holds `{found.decode()}`: students would see it; take it out")


def for_students(readme: str) -> str:
    """The README without the sections about what is not in a bundle."""
    sections = re.split(r"(?m)^(?=## )", readme)
    return "".join(part for part in sections if not part.startswith(NOT_FOR_STUDENTS))


def copy(course: Course, names: list[str], target: Path) -> None:
    """Copy to a folder beside `target`, then rename it: a stop in the middle leaves nothing."""
    with writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
        try:
            for name in names:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(course.root / name, folder / name)
            readme = folder / "README.md"
            readme.write_text(for_students(readme.read_text(encoding="utf-8")), encoding="utf-8")
            folder.chmod(0o755)
            with contextlib.suppress(FileNotFoundError):
                target.rmdir()  # it is empty
            os.rename(folder, target)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
