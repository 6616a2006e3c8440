"""Run all that can fail, in one pytest: the tests of a tier, every chapter and every solution cell by cell.

A tier is what its command has time for. A test without a mark is fast; `slow` ones wait for `make test`,
`thorough` ones for `make test-all`, `nightly` ones for the night. Other marks say what a test needs.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from coursekit.course import Course, chapter_number
from coursekit.errors import CourseError

passes_on = True
CELL_TIMEOUT = 600
FAST_CHAPTERS = ("00", "02a", "04a")  # seconds each: how to start, arrays, kernels
LONG_CHAPTERS = ("03d", "03e", "03f", "06d", "07c", "07d")  # they train for half a minute or more: at night
NEEDS = ("parity", "browser", "gpu")  # each a mark, and a folder in tests/, not even imported without it
_NO_TESTS = 5  # pytest's exit code where it found none


@dataclass(frozen=True)
class Tier:
    """What a command runs: marks that it leaves out, and whether notebooks are among it."""

    left: tuple[str, ...] = ("thorough", "nightly", *NEEDS)
    only: str = ""  # the mark that a test must have
    notebooks: str = "every"  # or "few", "short", "long", ""


TIERS = {
    "fast": Tier(("slow", "thorough", "nightly", *NEEDS), notebooks="few"),
    "all": Tier(("nightly", "gpu"), notebooks="short"),
    "nightly": Tier(("gpu",), only="(nightly or long)", notebooks="long"),
    "gpu": Tier(("parity", "browser"), only="gpu", notebooks=""),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    tier = parser.add_mutually_exclusive_group()
    helps = {
        "fast": "leave out what is slow, and all chapters but three short ones",
        "all": "as CI does: with the linters, what needs a browser, and the comparison with PyTorch",
        "nightly": "run what takes minutes to prove, and nothing else",
        "gpu": "run the kernels on a GPU, through CuPy, and nothing else",
    }
    for name, told in helps.items():
        tier.add_argument(f"--{name}", dest="tier", action="store_const", const=name, help=told)
    parser.epilog = (
        "Other arguments, such as -k scalar, a file or --durations=20 (the slowest tests), go to pytest; "
        "then no notebook runs, and no test is left out for its slowness."
    )


def run(course: Course, args: argparse.Namespace) -> int:
    if args.tier == "gpu":
        require_gpu()
    command = pytest_command(course, args.tier, args.rest)
    # Short paths for the kernels' sockets, nothing of the user's own IPython settings, and one place for
    # what tests leave behind. CUDA is simulated on every machine: its numbers are those in the notebooks.
    # tests/gpu asks for a GPU itself.
    # A thread for each worker: matrix products on all cores by all workers at once wait for one another.
    with tempfile.TemporaryDirectory(prefix="course-") as folder:
        environment = {
            "MINILIB_CUDA": "simulate",
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
            **os.environ,
            "TMPDIR": folder,
            "JUPYTER_RUNTIME_DIR": folder,
            "IPYTHONDIR": str(Path(folder, "ipython")),
        }
        # Workers and kernels by the dozen would each compile the same files anew.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        code = subprocess.run(command, cwd=course.root, env=environment).returncode
    if code == _NO_TESTS:
        raise CourseError(f"no test matches; pytest was called as: {' '.join(command[1:])}")
    return 1 if code else 0


def pytest_command(course: Course, name: str | None, words: list[str]) -> list[str]:
    """How pytest is called for a tier, None for that of `make test`; `words` are arguments of its user's."""
    tier = TIERS.get(name or "", Tier())
    # Where somebody says what to run, only needs leave a test out, and `fast` does.
    left = [mark for mark in tier.left if mark in NEEDS or name == "fast" or not words]
    wanted = " and ".join([*filter(None, [tier.only]), *(f"not {mark}" for mark in left)])
    cells = notebooks(course, tier.notebooks) if not words else []
    folders = [one for one in ("tests", "simulator/tests") if (course.root / one).is_dir()]
    if not folders and not cells:
        raise CourseError(f"{course.root} holds neither tests nor notebooks to run")
    return [
        *(sys.executable, "-m", "pytest", "--tb=short", f"--rootdir={course.root}"),
        *(["-rs"] if name in ("all", "gpu") else []),  # what skips for want of a program, and which
        *("--color=yes" if sys.stdout.isatty() else "--color=no", "-p", "no:cacheprovider"),
        # one more than cores: some tests wait, but for fast ones; and each worker collects them all
        *("-n", str(min((os.cpu_count() or 1) + (name != "fast"), 4)), "--dist", "loadfile"),
        *("-p", "coursekit.light", "-p", "coursekit.testing.nbval_plugin", "--nbval", "--nbval-current-env"),
        f"--nbval-sanitize-with={Path(__file__).with_name('nbval_sanitize.cfg')}",
        f"--nbval-cell-timeout={CELL_TIMEOUT}",
        *("-m", wanted, *(f"--ignore=tests/{need}" for need in NEEDS if need in left)),
        *(words or [*folders, *cells]),
    ]  # fmt: skip


def notebooks(course: Course, which: str = "every") -> list[str]:
    """The notebooks that nbval runs, relative to the course."""
    lessons = {path: chapter_number(path) for path in course.chapters.glob("*.ipynb")}
    chosen = {
        "every": [*lessons],
        "few": [path for path, number in lessons.items() if number in FAST_CHAPTERS],
        "short": [path for path, number in lessons.items() if number not in LONG_CHAPTERS],
        "long": [path for path, number in lessons.items() if number in LONG_CHAPTERS],
        "": [],
    }[which]
    solutions = course.solutions.glob("*.ipynb") if which in ("every", "short") else ()
    return sorted(path.relative_to(course.root).as_posix() for path in (*chosen, *solutions))


def require_gpu() -> None:
    """Raise CourseError where there is no GPU, in one line that says what is missing and what to do."""
    from warplens.backend import missing_for_gpu

    missing = missing_for_gpu()
    if missing is not None:
        raise CourseError(f"no kernel can run on a GPU here: {missing}")
