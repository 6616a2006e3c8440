"""Compile CUDA C on any machine: python -m warplens file.cu"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

from warplens.errors import CompileError


def main(argv: Sequence[str] | None = None) -> int:
    """The command; its exit status is 0 where all compiles, 1 where it does not, 2 where there is no file."""
    parser = argparse.ArgumentParser(
        prog="python -m warplens",
        description="Compile a file of CUDA C and list its kernels with their parameters, or say at which "
        "line and column it is wrong. Nothing is run, and no GPU is needed.",
        epilog="Exit status: 0 where all of it compiles, 1 where it does not, 2 where there is no such file.",
    )
    parser.add_argument("file", type=Path, help="the source; its host code is left aside")
    parser.add_argument(
        "-D", dest="macros", metavar="NAME=VALUE", action="append", default=[], help="a macro"
    )
    parser.add_argument(
        "-i", dest="instances", metavar="NAME", action="append", default=[],
        help='an instance of a template, as "scale<float>"',
    )  # fmt: skip
    asked = parser.parse_args(argv)
    try:
        code = asked.file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text in UTF-8"
        print(f"{asked.file}: {why}", file=sys.stderr)
        return 2
    return _compiled(code, asked.file.name, [f"-D{macro}" for macro in asked.macros], asked.instances)


def _compiled(code: str, name: str, options: Sequence[str], instances: Sequence[str]) -> int:
    os.environ["WARPLENS"] = "simulate"  # NVRTC is not asked: it says nothing of what the simulator lacks
    from warplens.module import RawModule  # NumPy and the compiler: --help need not wait for them

    def module(*more: str) -> RawModule:
        return RawModule(code=code, name=name, options=tuple(options), name_expressions=(*instances, *more))

    status = 0
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            made = module()
            plain = [one for one in made.program.kernels if one not in (*made.names, *instances)]
            made = module(*plain) if plain else made  # those that are not extern "C" are asked for by name
    except CompileError as error:
        print(error, file=sys.stderr)
        return 1
    for line in dict.fromkeys(str(warning.message) for warning in told):
        print(line, file=sys.stderr)
    for kernel in made.program.kernels:
        try:
            print(made.get_function(kernel).declaration)
        except CompileError as error:
            print(error, file=sys.stderr)
            status = 1
    if not made.program.kernels:
        print(f"{name}: there is no kernel in it; of a template ask for an instance: -i 'scale<float>'")
    return status


if __name__ == "__main__":
    sys.exit(main())
