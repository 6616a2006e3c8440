"""`python -m coursekit COMMAND`: the commands of the course."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from coursekit.course import find_course
from coursekit.errors import CourseError

# Each command is a module with `add_arguments(parser)` and `run(course, args) -> exit code`,
# imported only when it is asked for: the bootstrap must work before anything is installed.
COMMANDS = {
    "lab": "open the course in JupyterLab (installs what is missing)",
    "test": "run the tests, every chapter and every solution",
    "check": "grade your own saved exercises",
    "build": "build your own library from your answers",
    "doctor": "show what this machine has and what is missing",
    "promote": "make minilib/ from chapters and solutions",
    "exercises": "make exercises/ from solutions",
    "grade": "grade a folder of submitted notebooks",
    "release": "make the bundle for students",
    "badges": "write the repository's address into the notebooks and the README",
}


def main(argv: list[str] | None = None) -> int:
    argv = sys.argv[1:] if argv is None else argv
    parser = argparse.ArgumentParser(prog="python -m coursekit", description=__doc__)
    parser.add_argument(
        "--course", type=Path, metavar="DIR", help="the course's folder (default: the one you are in)"
    )
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND", help="one of: " + ", ".join(COMMANDS))
    parser.epilog = "\n".join(f"  {name:<10} {text}" for name, text in COMMANDS.items())
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    try:
        course = find_course(args.course)
        module = importlib.import_module(f"coursekit.{args.command}")
        command = argparse.ArgumentParser(
            prog=f"python -m coursekit {args.command}", description=COMMANDS[args.command]
        )
        module.add_arguments(command)
        return int(module.run(course, command.parse_args(args.rest)))
    except CourseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nstopped; nothing was lost", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
