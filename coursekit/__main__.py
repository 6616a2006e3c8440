"""`python3 -m coursekit COMMAND`: the commands of the course."""

# An old Python must be able to read this file and say that it is too old: nothing newer than 3.8 stands
# here, and the rest of coursekit is imported below that check.
from __future__ import annotations

import argparse
import importlib
import io
import os
import shutil
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "simulator"))  # where it lies, until it is installed

from coursekit import light  # noqa: F401 (before anything else imports nbformat)
from coursekit.errors import CourseError
from coursekit.machine import NEWEST_KNOWN, OLDEST, dotted

# Each command is a module with `add_arguments(parser)` and `run(course, args) -> exit code`,
# imported only when it is asked for: the bootstrap must work before anything is installed.
# A module with `passes_on = True` gets arguments that it does not know as the list `args.rest`, and one with
# `look_first(args)` may refuse before anything is installed or written.
COMMANDS = {
    "lab": "open the course in JupyterLab (installs what is missing)",
    "test": "run the tests, every chapter and every solution (installs what is missing)",
    "check": "grade your own saved exercises",
    "progress": "show how far you are in each chapter",
    "build": "build your own library from your answers",
    "install": "install what the course needs, and open nothing",
    "doctor": "show what this machine has and what is missing",
    "edit": "edit a chapter as text; each save is run and promoted (installs what is missing)",
    "promote": "bring what chapters and solutions export to its place in minilib/",
    "exercises": "make exercises/ from solutions",
    "grade": "grade a folder of submitted notebooks",
    "report": "one gradebook and one page over the hand-ins of a term",
    "release": "make the bundle for students",
    "stamp": "write the repository's address and links into all notebooks (installs what is missing)",
    "bench": "measure against peers, into benchmarks/",
}
_ROOMS = {
    "install": ("lab", "install", "doctor"),
    "make": ("edit", "promote", "exercises", "release", "stamp"),
    "mine": ("build",),
    "grading": ("check", "grade", "progress"),
    "testing": ("test", "bench"),
}
_MODULES = {name: f"coursekit.{room}.{name}" for room, names in _ROOMS.items() for name in names}
_MODULES["report"] = "coursekit.grading.term"


def main(argv: list[str] | None = None, *, as_program: bool = False) -> int:
    """Run one command. Only `as_program` may it go on in another Python, in place of this process."""
    if as_program:
        for stream in (sys.stdout, sys.stderr):  # a console that lacks a letter shows a question mark
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")
    argv = sys.argv[1:] if argv is None else argv
    args = _parser().parse_args(argv)
    try:
        if sys.version_info[:2] < OLDEST:
            if as_program:
                restart_with_newer(argv)
            raise too_old()
        code = _run(args, argv, as_program)
        sys.stdout.flush()
        return code
    except CourseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nstopped; nothing was lost", file=sys.stderr)
        return 130
    except BrokenPipeError:  # whoever read along, such as `head`, has left
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 141


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python3 -m coursekit",
        description=__doc__,
        epilog="\n".join(f"  {name:<10} {text}" for name, text in COMMANDS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--course", type=Path, metavar="DIR", help="the course's folder (default: the one you are in)"
    )
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND", help="one of the list below")
    parser.add_argument("rest", nargs=argparse.REMAINDER, metavar="...", help=argparse.SUPPRESS)
    return parser


def _run(args: argparse.Namespace, argv: list[str], as_program: bool) -> int:
    from coursekit.course import find_course
    from coursekit.install import bootstrap

    course = find_course(args.course)
    if as_program and args.command not in bootstrap.NEEDS_NOTHING:
        bootstrap.enter(course, args.command, argv)
    module = importlib.import_module(_MODULES[args.command])
    command = argparse.ArgumentParser(
        prog=f"python3 -m coursekit {args.command}", description=COMMANDS[args.command]
    )
    module.add_arguments(command)
    known, rest = command.parse_known_args(args.rest)
    known.rest = rest
    if rest and not getattr(module, "passes_on", False):
        command.error(f"unrecognized arguments: {' '.join(rest)}")
    if hasattr(module, "look_first"):
        module.look_first(known)
    if as_program and args.command in bootstrap.NEEDS_NOTHING:
        bootstrap.enter(course, args.command, argv)
    return int(module.run(course, known))


def restart_with_newer(argv: list[str]) -> None:
    """Go on with a newer Python of this machine; returns where there is none."""
    for minor in range(NEWEST_KNOWN, OLDEST[1] - 1, -1):
        newer = shutil.which(f"python3.{minor}")
        if newer:
            os.execv(newer, [newer, "-m", "coursekit", *argv])


def too_old() -> CourseError:
    return CourseError(
        f"this is Python {dotted(sys.version_info[:2])}, and the course needs {dotted(OLDEST)} or newer: "
        "install one from https://www.python.org/downloads, then again"
    )


if __name__ == "__main__":
    sys.exit(main(as_program=True))
