"""`python3 -m coursekit edit 02a`: a chapter as text in your editor; each save goes all the way to minilib/.

`edit Tensor.relu` opens what holds that definition: the notebook that exports it, or its file.

Like `lab` and `test` it installs what is missing, so nothing beyond the standard library is imported at once.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
from pathlib import Path

from coursekit.course import Course, chapter_number, meant
from coursekit.errors import CourseError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "chapter", metavar="NN", help="the chapter or its part: 01, 02a; or a name of minilib: Tensor.relu"
    )
    parser.add_argument("-s", "--solution", action="store_true", help="its solutions, not its lesson")
    parser.add_argument(
        "--fresh",
        action="store_true",
        help="take all outputs from the run, those that differ each time (nbval-ignore-output) as well",
    )
    parser.epilog = (
        "Opens the text form (py:percent) in $VISUAL or $EDITOR. Each save is brought into the notebook, "
        "which is run where code changed; then minilib/ and exercises/ follow. Where a step fails, all of "
        "them are as before."
    )


def run(course: Course, args: argparse.Namespace) -> int:
    from coursekit.make.desk import Desk
    from coursekit.make.home import home
    from coursekit.make.session import Session

    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    if args.chapter[:1].isdigit():
        notebook = find(course.solutions if args.solution else course.chapters, args.chapter)
    else:
        found = home(course, args.chapter)
        print(f"{found.name}: {found.where}", flush=True)
        if not found.is_cell:
            return subprocess.run([*shlex.split(editor), found.path]).returncode if editor else 0
        notebook = found.path
    desk = Desk(course, notebook, args.fresh)
    pending = desk.lay_out()
    print(f"{desk.shown(desk.notebook)} is in {desk.shown(desk.text)} as text", flush=True)
    session = Session(desk, editor)
    if pending:
        print("it has changes from last time, which come first", flush=True)
        session.bring()
    session.open()
    session.watch()
    return 1 if session.failed else 0


def find(folder: Path, asked: str) -> Path:
    """The one notebook of `folder` that `asked` means."""
    paths = {chapter_number(path): path for path in sorted(folder.glob("*.ipynb"))}
    found = meant(asked, paths)
    if len(found) == 1:
        return paths[found[0]]
    listed = ", ".join(found or paths) or "no notebook"
    raise CourseError(
        f"{asked}: which one? It may be {listed}"
        if found
        else f"{folder.name}/ has no {asked}; it has {listed}"
    )
