"""`python3 -m coursekit install [EXTRA...]`: what `make lab` installs by itself, and no more."""

from __future__ import annotations

import argparse
import tomllib

from coursekit.course import Course
from coursekit.errors import CourseError
from coursekit.install import bootstrap


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "extras", nargs="*", metavar="EXTRA", help="one of pyproject.toml's, such as cluster or fast"
    )


def run(course: Course, args: argparse.Namespace) -> int:
    """Raises CourseError for an extra that the project has not, and where it cannot be installed."""
    project = tomllib.loads((course.root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    known = project["optional-dependencies"]
    if unknown := sorted({*args.extras} - {*known}):
        raise CourseError(f"there is no extra {', '.join(unknown)}; expected some of {', '.join(known)}")
    if bootstrap.venv(course).exists():
        bootstrap.ensure(course, ("course", *args.extras))
        print(f"all of {', '.join(dict.fromkeys(('course', *args.extras)))} is in {bootstrap.venv(course)}")
    elif args.extras:
        wanted = ",".join(args.extras)
        raise CourseError(f"no .venv here: call `python3 -m pip install -e '.[{wanted}]'` in {course.root}")
    else:
        print("this Python has all that the course needs; no .venv was made")
    return 0
