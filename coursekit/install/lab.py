"""Open the course in JupyterLab, in `work/`, with a copy of every lesson and exercise."""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import sys
from pathlib import Path

from coursekit.course import Course
from coursekit.errors import CourseError
from coursekit.files import write_record
from coursekit.install.bootstrap import become

passes_on = True
START = "chapters/00_start_here.ipynb"
# Else a kernel warns that others on the machine could read along.
ENCRYPTED = "--KernelManager.transport_encryption=auto"
# JupyterLab asks at its first start whether it may fetch news. The course starts offline, without a question.
_SETTINGS = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/docmanager-extension:plugin": {"defaultViewers": {"markdown": "Markdown Preview"}},
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dir", metavar="DIR", help="open this folder of the course instead of work/")
    parser.add_argument(
        "--update", metavar="NN", help="bring your answers of chapter NN into its newest version, and stop"
    )
    parser.add_argument("--prepare", action="store_true", help="copy what is missing, and stop")
    parser.epilog = "Other arguments, such as --no-browser or --port=9000, go to JupyterLab."


def run(course: Course, args: argparse.Namespace) -> int:
    from coursekit.install import workspace

    if args.update:
        print("\n".join(workspace.update(course, args.update)))
        return 0
    folder = course.work
    if args.dir:
        folder = opened_folder(course, args.dir)
        workspace.trust(folder.glob("*.ipynb"))
    else:
        first_time = not (course.work / START).exists()
        for line in workspace.prepare(course):
            print(line)
        args.rest = [*start_page(course, args.rest, first_time), *args.rest]
    if not args.prepare:
        open_jupyterlab(folder, [workspaces(course, folder), *args.rest])
    return 0


def opened_folder(course: Course, name: str) -> Path:
    folder = (course.root / name).resolve()
    if not folder.is_dir() or not folder.is_relative_to(course.root):
        raise CourseError(f"DIR={name}: no such folder in {course.root}; contributors want DIR=chapters")
    return folder


def look_first(args: argparse.Namespace) -> None:
    """Refuse what JupyterLab would refuse, before anything is installed or copied."""
    if args.update or args.prepare or "--allow-root" in args.rest:
        return
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        folder = f"DIR={shlex.quote(args.dir)} " if args.dir else ""
        flags = shlex.join([*args.rest, "--allow-root"])
        flags = f'"{flags}"' if args.rest else flags
        raise CourseError(f"JupyterLab runs as root only when told to: make lab {folder}LAB_FLAGS={flags}")


def workspaces(course: Course, folder: Path) -> str:
    """The flag by which another clone, or another folder of this one, does not open the tabs of this one."""
    return f"--LabApp.workspaces_dir={course.work / '.workspaces' / folder.name}"


def start_page(course: Course, flags: list[str], first_time: bool) -> list[str]:
    """The flag that opens chapter 00 when someone comes for the first time."""
    if not first_time or not (course.work / START).exists() or any("default_url" in flag for flag in flags):
        return []
    return [f"--LabApp.default_url=/lab/tree/{START}"]


# What make hands on, but for PYTHON: a `make check` in the terminal would take the arguments of `make lab`.
OF_MAKE = ("MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "MAKELEVEL", "ARGS", "NN", "DIR", "LAB_FLAGS")


def open_jupyterlab(folder: Path, flags: list[str]) -> None:
    """Replace this process by JupyterLab."""
    command = [sys.executable, "-m", "jupyterlab", ENCRYPTED, *flags]
    write_settings(Path(sys.prefix, "share", "jupyter", "lab", "settings", "overrides.json"))
    print(f"opening JupyterLab in {folder} (stop it with Ctrl-C)", flush=True)
    os.chdir(folder)
    # so that `python3 -m coursekit` works in JupyterLab's terminals and cells
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    os.environ.setdefault("PYTHONSTARTUP", str(Path(__file__).parents[1] / "box" / "startup.py"))
    for name in OF_MAKE:
        os.environ.pop(name, None)
    become(command)


def write_settings(path: Path) -> None:
    """Settings of the course's own JupyterLab. Leaves a file alone that is there already."""
    if not path.exists():
        with contextlib.suppress(CourseError):  # a question at the first start is no reason not to start
            write_record(path, _SETTINGS)
