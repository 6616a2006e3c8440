"""Run all that can fail: tests (drift checks among them), every chapter and solution; linters when asked."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from coursekit.course import Course, chapter_number
from coursekit.errors import CourseError

passes_on = True
CELL_TIMEOUT = 600
FAST_CHAPTERS = ("00", "02a", "04a")  # seconds each: how to start, arrays, kernels
_NO_TESTS = 5  # pytest's exit code where it found none
ASKED = "when asked for"
LINTERS = ("ruff", "format", "mypy")  # what they say depends on the releases of others
ONE_OF_THE_TESTS = "one of the tests"  # in tests/course/test_drift.py


@dataclass(frozen=True)
class Step:
    """One command. Of a pytest its tests are counted, any other counts as one."""

    name: str
    title: str
    command: list[str]
    is_pytest: bool = False
    left_to: str = ""  # why it runs only by its name: ASKED or ONE_OF_THE_TESTS
    notebooks: tuple[str, ...] = ()  # those whose cells it runs, relative to the course


@dataclass
class Outcome:
    step: Step
    counts: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", action="append", metavar="STEP", help="run one step; may be repeated")
    parser.add_argument(
        "--fast", action="store_true", help="leave out what is slow, and all chapters but three short ones"
    )
    parser.add_argument("--lint", action="store_true", help="run ruff and mypy as well")
    parser.add_argument("--parity", action="store_true", help="compare with PyTorch as well")
    parser.add_argument("--browser", action="store_true", help="run the browser test as well")
    parser.add_argument("--nightly", action="store_true", help="run what takes minutes to prove as well")
    parser.add_argument("--gpu", action="store_true", help="run the kernels on a GPU as well")
    parser.add_argument("--list", action="store_true", help="list the steps and stop")
    parser.epilog = (
        "Other arguments, such as -k scalar, a file or --durations=20 (the slowest tests), go to pytest; "
        "then only the tests run."
    )


def run(course: Course, args: argparse.Namespace) -> int:
    asked = [name for name in ("parity", "browser", "nightly", "gpu") if getattr(args, name)]
    asked += LINTERS if args.lint else ()
    every_step = all_steps(course, args.rest, fast=args.fast)
    if args.list:
        for step in every_step:
            print(f"  {step.name:<18}{step.title}{f' ({step.left_to})' if step.left_to else ''}")
        return 0
    steps = chosen(every_step, args.only, asked=asked, pytest_only=bool(args.rest))
    steps, left_out = present(course, steps)
    if not steps:
        raise CourseError(f"{course.root} holds nothing to run for: {', '.join(left_out)}")
    if "gpu" in [step.name for step in steps]:
        require_gpu()
    started = time.monotonic()
    outcomes = [run_step(course, step) for step in steps]
    if left_out:
        print(f"\nleft out, since their files are not here: {', '.join(left_out)}")
    print(table(outcomes))
    total = sum((outcome.counts for outcome in outcomes), Counter[str]())
    print(closing_line(total, time.monotonic() - started))
    return 1 if total["failed"] or total["error"] else 0


def all_steps(course: Course, pytest_args: Iterable[str], *, fast: bool = False) -> list[Step]:
    """Every step there is, in the order in which they run."""
    return [*_checks(course), *_tests(course, list(pytest_args), fast)]


def _checks(course: Course) -> list[Step]:
    """Linters, and the drift checks: steps of their own where there are no tests that hold them."""
    python = [sys.executable, "-m"]
    kit = [*python, "coursekit", "--course", str(course.root)]
    left_to = ONE_OF_THE_TESTS if (course.root / "tests").is_dir() else ""
    return [
        Step(name, title, command, left_to=ASKED if name in LINTERS else left_to)
        for name, title, command in (
            ("ruff", "ruff check", [*python, "ruff", "check", "--quiet", "."]),
            ("format", "ruff format", [*python, "ruff", "format", "--check", "--quiet", "."]),
            ("promote", "minilib/ is what chapters and solutions say", [*kit, "promote", "--check"]),
            ("exercises", "exercises/ is what solutions say", [*kit, "exercises", "--check"]),
            ("mypy", "mypy", [*python, "mypy", "--no-error-summary"]),
        )
    ]


def _tests(course: Course, pytest_args: list[str], fast: bool) -> list[Step]:
    colour = "--color=yes" if sys.stdout.isatty() else "--color=no"
    pytest = [
        *(sys.executable, "-m", "pytest", "-q", "--tb=short", colour),
        *("-p", "coursekit.light", "-p", "no:cacheprovider", f"--rootdir={course.root}"),
    ]
    # one more than cores: some of the slow tests wait
    workers = ["-n", str(min((os.cpu_count() or 1) + (not fast), 4)), "--dist", "loadfile"]
    cells = notebooks(course, fast=fast)
    nbval = [
        *pytest, *workers, "-p", "coursekit.testing.nbval_plugin", "--nbval", "--nbval-current-env",
        f"--nbval-sanitize-with={Path(__file__).with_name('nbval_sanitize.cfg')}",
        f"--nbval-cell-timeout={CELL_TIMEOUT}", *cells,
    ]  # fmt: skip
    # --ignore: nothing that PyTorch or Selenium must be there for, or loaded for, is even imported.
    ignored = ["--ignore=tests/parity", "--ignore=tests/gpu"]
    left = [*(["slow"] if fast else []), *([] if pytest_args else ["nightly"]), "browser", "parity", "gpu"]
    wanted = " and ".join(f"not {mark}" for mark in left)
    plain = [*pytest, *workers, "-m", wanted, *ignored, "--ignore=tests/browser", *pytest_args]
    nightly = [*pytest, *workers, "-m", "nightly", *ignored, *pytest_args]
    # one process: each worker would load PyTorch anew and share the same cores
    parity = [*pytest, "-rs", "-m", "parity", *(pytest_args or ["tests/parity"])]
    two = ["-n", str(min(os.cpu_count() or 1, 2)), "--dist", "load", "--maxschedchunk", "1"]  # browsers
    some = [] if pytest_args else ["-m", "not nightly"]
    browser = [*pytest, "-rs", *two, *some, "tests/browser", *pytest_args]
    gpu = [*pytest, "-rs", "-m", "gpu", *(pytest_args or ["tests/gpu"])]
    which = "three chapters" if fast else "chapters and solutions"
    return [
        Step("pytest", "tests but the slow ones" if fast else "tests", plain, is_pytest=True),
        Step("nbval", f"{which}, cell by cell", nbval, is_pytest=True, notebooks=tuple(cells)),
        Step("parity", "parity", parity, is_pytest=True, left_to=ASKED),
        Step("browser", "browser", browser, is_pytest=True, left_to=ASKED),
        Step("nightly", "what takes minutes to prove", nightly, is_pytest=True, left_to=ASKED),
        Step("gpu", "kernels on a GPU", gpu, is_pytest=True, left_to=ASKED),
    ]


def notebooks(course: Course, *, fast: bool = False) -> list[str]:
    """The notebooks that nbval runs, relative to the course."""
    if fast:
        found = [path for path in course.chapters.glob("*.ipynb") if chapter_number(path) in FAST_CHAPTERS]
    else:
        found = [*course.chapters.glob("*.ipynb"), *course.solutions.glob("*.ipynb")]
    return sorted(path.relative_to(course.root).as_posix() for path in found)


def count_cells(course: Course, names: Iterable[str]) -> int:
    """How many code cells nbval has to run."""
    from coursekit.notebooks import cells, read

    paths = [course.root / name for name in names]
    return sum(cell.is_code for path in paths for cell in cells(path, read(path)))


def chosen(
    steps: list[Step], only: list[str] | None, *, asked: Collection[str], pytest_only: bool
) -> list[Step]:
    """The steps to run, the extra ones only if `asked`. Raises CourseError for a name that is none."""
    unknown = set(only or ()) - {step.name for step in steps}
    if unknown:
        names = ", ".join(step.name for step in steps)
        raise CourseError(f"no step is called {sorted(unknown)[0]}; there are: {names}")
    if only:
        return [step for step in steps if step.name in only]
    if pytest_only:  # and whether the library is what its notebooks say: else failures puzzle
        return [step for step in steps if step.name in ("promote", "pytest", *asked)]
    return [step for step in steps if not step.left_to or step.name in asked]


def present(course: Course, steps: list[Step]) -> tuple[list[Step], list[str]]:
    """The steps whose files are here, and the names of the others: a bundle for students has no solutions."""
    needs = {"promote": course.solutions, "exercises": course.solutions}
    tests = course.root / "tests"
    needs |= {"pytest": tests, "nightly": tests} | {
        name: tests / name for name in ("parity", "browser", "gpu")
    }
    here = [step for step in steps if needs.get(step.name, course.root).is_dir()]
    return here, [step.name for step in steps if step not in here]


def require_gpu() -> None:
    """Raise CourseError where there is no GPU, in one line that says what is missing and what to do."""
    from warplens.backend import missing_for_gpu

    missing = missing_for_gpu()
    if missing is not None:
        raise CourseError(f"no kernel can run on a GPU here: {missing}")


def run_step(course: Course, step: Step) -> Outcome:
    print(f"\n-- {step.title}", flush=True)
    started = time.monotonic()
    counts = _run_pytest(course, step) if step.is_pytest else _run_check(course, step)
    return Outcome(step, counts, time.monotonic() - started)


def _run_check(course: Course, step: Step) -> Counter[str]:
    result = subprocess.run(step.command, cwd=course.root)
    return Counter({"failed" if result.returncode else "passed": 1})


def _run_pytest(course: Course, step: Step) -> Counter[str]:
    if step.name == "nbval" and not step.notebooks:
        print("there are no notebooks yet")
        return Counter()
    with tempfile.TemporaryDirectory(prefix="course-") as folder:
        report = Path(folder, "junit.xml")
        # Short paths for the kernels' sockets, nothing of the user's own IPython settings, and one place for
        # what tests leave behind. CUDA is simulated on every machine: its numbers are those in the notebooks.
        # tests/gpu asks for a GPU itself.
        environment = {
            "MINILIB_CUDA": "simulate",
            **os.environ,
            "TMPDIR": folder,
            "JUPYTER_RUNTIME_DIR": folder,
            "IPYTHONDIR": str(Path(folder, "ipython")),
        }
        command = [*step.command, f"--junitxml={report}"]
        code = subprocess.run(command, cwd=course.root, env=environment).returncode
        counts = read_counts(report)
    if code == _NO_TESTS and not counts:  # a file that skips as a whole is counted, and runs no test either
        if step.name == "pytest":
            raise CourseError(f"no test matches; pytest was called as: {' '.join(command[1:])}")
        print(f"there is no test of this kind yet ({step.name})")
        return counts
    if step.name == "nbval" and sum(counts.values()) < (cells := count_cells(course, step.notebooks)):
        print(f"only {sum(counts.values())} of {cells} cells were run")
        counts["error"] += 1
    if code not in (0, _NO_TESTS) and not counts["failed"] and not counts["error"]:
        counts["error"] += 1  # pytest itself could not run
    return counts


def read_counts(report: Path) -> Counter[str]:
    """How many tests passed, failed, were skipped or broke, from pytest's JUnit file."""
    try:
        suites = list(ElementTree.parse(report).getroot().iter("testsuite"))
    except (OSError, ElementTree.ParseError):
        return Counter({"error": 1})

    def total(name: str) -> int:
        return sum(int(suite.get(name, 0)) for suite in suites)

    counts = {"failed": total("failures"), "error": total("errors"), "skipped": total("skipped")}
    return +Counter({"passed": total("tests") - sum(counts.values()), **counts})


def summary(counts: Counter[str]) -> str:
    """`1 failed, 20 passed, 2 skipped`, as pytest puts it."""
    words = [f"{counts[name]} {name}" for name in ("failed", "passed", "skipped", "error") if counts[name]]
    return ", ".join(words) or "no tests ran"


def table(outcomes: list[Outcome]) -> str:
    width = max(len(outcome.step.title) for outcome in outcomes)
    rows = [
        f"  {outcome.step.title:<{width}}  {summary(outcome.counts):<30}{outcome.seconds:6.1f} s"
        for outcome in outcomes
    ]
    return "\n".join(["", *rows, ""])


def closing_line(total: Counter[str], seconds: float) -> str:
    return f" {summary(total)} in {seconds:.2f}s ".center(80, "=")
