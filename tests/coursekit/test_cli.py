"""Each command from outside: its help, bad input, Ctrl-C, and the one closing line of `test`."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from argparse import Namespace
from collections import Counter
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from coursekit import __main__ as entry
from coursekit.course import Course
from coursekit.errors import CourseError
from coursekit.testing import test as course_test

ROOT = Path(__file__).parents[2]
PROJECT = "[project]\nname = 'x'\n[tool.coursekit]\nrepository = \"\"\n"


def coursekit(*words: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "coursekit", *map(str, words)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, stdin=subprocess.DEVNULL)


@pytest.fixture
def course(tmp_path: Path) -> Course:
    course = Course(tmp_path / "kürs eins")
    for folder in (course.chapters, course.solutions, course.root / "tests"):
        folder.mkdir(parents=True)
    (course.root / "pyproject.toml").write_text(PROJECT)
    return course


@pytest.mark.parametrize("command", entry.COMMANDS)
def test_each_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        entry.main(["--course", str(ROOT), command, "--help"])
    assert stopped.value.code == 0
    assert entry.COMMANDS[command].split()[0] in capsys.readouterr().out


def test_make_alone_lists_every_target_and_each_calls_a_command_that_is_there() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = re.findall(r"^([a-z-]+):", makefile, re.MULTILINE)
    listed = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True).stdout
    assert len(targets) > 9 and all(f"make {target} " in listed for target in targets)
    assert set(re.findall(r"\$\(COURSEKIT\) ([a-z]+)", makefile)) <= set(entry.COMMANDS)


@pytest.mark.parametrize("asked", [["check", "01"], ["build"], ["progress"]], ids=" ".join)
def test_outside_a_course_one_line_says_where_to_go(
    asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert entry.main(asked) == 2
    said = capsys.readouterr().err
    assert (
        said.startswith(f"error: {tmp_path} is not inside a course: no pyproject.toml")
        and said.count("\n") == 1
    )
    assert said.endswith("; change into the course's folder, or clone the course first\n")


def test_a_named_folder_that_is_no_course_is_one_line(tmp_path: Path) -> None:
    result = coursekit("--course", tmp_path, "check")
    assert result.returncode == 2
    assert result.stderr.startswith("error: ") and result.stderr.count("\n") == 1


def test_a_folder_that_does_not_exist_is_one_line() -> None:
    result = coursekit("--course", "/nowhere at all/ü", "doctor")
    assert result.returncode == 2
    assert result.stderr.startswith("error: ") and result.stderr.count("\n") == 1


def test_an_unknown_command_and_an_unknown_flag_are_refused() -> None:
    assert coursekit("sing").returncode == 2
    assert "unrecognized arguments: --loud" in coursekit("doctor", "--loud").stderr


def test_ctrl_c_is_one_line_and_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: object) -> int:
        raise KeyboardInterrupt

    fake = SimpleNamespace(add_arguments=lambda parser: None, run=stop)
    monkeypatch.setattr(entry.importlib, "import_module", lambda name: fake)
    assert entry.main(["--course", str(ROOT), "doctor"]) == 130
    assert capsys.readouterr().err == "\nstopped; nothing was lost\n"


@pytest.mark.slow
def test_a_real_ctrl_c_stops_the_tests(course: Course) -> None:
    started = course.root / "started"
    touch = f"pathlib.Path({str(started)!r}).touch()"
    slow = f"import pathlib, time\ndef test_slow():\n    {touch}\n    time.sleep(600)\n"
    (course.root / "tests" / "test_slow.py").write_text(slow)
    command = [sys.executable, "-m", "coursekit", "--course", str(course.root), "test", "--only", "pytest"]
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 300
    while not started.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    error = process.communicate(timeout=300)[1]
    assert process.returncode == 130
    assert "stopped; nothing was lost" in error and "Traceback" not in error


def save(path: Path, *cells: tuple[str, str | None]) -> None:
    """A notebook of (source, stored text); None: stored without having been run."""
    made = []
    for number, (source, shown) in enumerate(cells, 1):
        outputs = (
            [new_output("execute_result", {"text/plain": shown}, execution_count=number)] if shown else []
        )
        made.append(new_code_cell(source, outputs=outputs, execution_count=None if shown is None else number))
    nbformat.write(new_notebook(cells=made), path)  # type: ignore[no-untyped-call]


@pytest.mark.slow
def test_every_cell_of_chapters_and_solutions_is_run_and_compared(course: Course) -> None:
    save(course.chapters / "01_right.ipynb", ("1 + 1", "2"), ("object()", "<object at 0x7f0000000000>"))
    save(course.solutions / "01_wrong.ipynb", ("1 + 1", "3"), ("x = 1", None), ("1 / 3", "0.333333333399"))
    result = coursekit("--course", course.root, "test", "--only", "nbval")
    assert result.returncode == 1, result.stdout
    assert "Cell outputs differ" in result.stdout
    assert "this cell was stored without being run" in result.stdout
    assert result.stdout.splitlines()[-1].strip("= ").startswith("2 failed, 3 passed in ")


def test_a_cell_that_was_not_run_is_an_error(
    course: Course, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    save(course.chapters / "01_right.ipynb", ("1 + 1", "2"), ("2 + 2", "4"))
    monkeypatch.setattr(course_test, "read_counts", lambda report: Counter({"passed": 1}))
    cells = ("chapters/01_right.ipynb",)
    step = course_test.Step("nbval", "cells", [sys.executable, "-c", ""], is_pytest=True, notebooks=cells)
    assert course_test.run_step(course, step).counts["error"] == 1
    assert "only 1 of 2 cells were run" in capsys.readouterr().out


def test_a_course_without_notebooks_passes(course: Course) -> None:
    result = coursekit("--course", course.root, "test", "--only", "nbval")
    assert result.returncode == 0
    assert "there are no notebooks yet" in result.stdout


def options(**given: object) -> Namespace:
    asked = {"fast": False, "lint": False, "parity": False, "browser": False, "nightly": False, "gpu": False}
    return Namespace(**{"only": None, "rest": [], "list": False, **asked, **given})


def names(steps: list[course_test.Step]) -> list[str]:
    return [step.name for step in steps]


def test_the_browser_parity_and_a_gpu_run_only_when_asked_for(course: Course) -> None:
    steps = course_test.all_steps(course, [])
    everything = names(course_test.chosen(steps, None, asked=[], pytest_only=False))
    assert everything == ["pytest", "nbval"]
    for asked in (["parity"], ["browser"], ["gpu"], ["parity", "browser", "gpu"]):
        assert names(course_test.chosen(steps, None, asked=asked, pytest_only=False)) == [*everything, *asked]
    assert names(course_test.chosen(steps, ["parity"], asked=[], pytest_only=False)) == ["parity"]
    assert names(course_test.chosen(steps, None, asked=["parity"], pytest_only=True)) == [
        "promote", "pytest", "parity",
    ]  # fmt: skip


def test_linters_run_only_when_asked_for_and_the_readers_tests_need_none(course: Course) -> None:
    steps = course_test.all_steps(course, [])
    asked = course_test.chosen(steps, None, asked=course_test.LINTERS, pytest_only=False)
    assert names(asked) == ["ruff", "format", "mypy", "pytest", "nbval"]
    alone = course_test.chosen(steps, [*course_test.LINTERS], asked=[], pytest_only=False)
    assert names(alone) == ["ruff", "format", "mypy"]
    tests = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    assert not [text for text in tests if re.search(r'"-m", "(mypy|ruff)"', text)]


def test_fast_leaves_out_what_is_slow_and_all_but_short_chapters(course: Course) -> None:
    for name in ("00_start", "01_scalar", "02a_more"):
        save(course.chapters / f"{name}.ipynb", ("1 + 1", "2"))
        save(course.solutions / f"{name}.ipynb", ("1 + 1", "2"))
    pytest, nbval = course_test.chosen(
        course_test.all_steps(course, [], fast=True), None, asked=[], pytest_only=False
    )
    assert pytest.command[pytest.command.index("-m", 2) + 1].startswith("not slow and ")
    assert nbval.notebooks == ("chapters/00_start.ipynb", "chapters/02a_more.ipynb")
    assert nbval.command[-2:] == [*nbval.notebooks]


def test_what_takes_minutes_runs_when_it_is_asked_for_or_named(course: Course) -> None:
    def marks(*words: str) -> dict[str, str]:
        steps = course_test.all_steps(course, words)
        return {s.name: s.command[s.command.index("-m", 2) + 1] for s in steps if "-m" in s.command[2:]}

    assert "not nightly" in marks()["pytest"] and marks()["nightly"] == "nightly"
    assert "nightly" not in marks("tests/test_one.py")["pytest"]
    steps = course_test.all_steps(course, [])
    assert "nightly" not in names(course_test.chosen(steps, None, asked=[], pytest_only=False))
    assert "nightly" in names(course_test.chosen(steps, None, asked=["nightly"], pytest_only=False))


@pytest.mark.slow
def test_what_tests_leave_in_the_temporary_folder_goes_with_them(course: Course, tmp_path: Path) -> None:
    (course.root / "tests" / "test_one.py").write_text(
        "import tempfile\ndef test_it(tmp_path):\n"
        f"    open({str(tmp_path / 'where')!r}, 'w').write('\\n'.join([tempfile.mkdtemp(), str(tmp_path)]))\n"
    )
    assert closing_line(coursekit("--course", course.root, "test", "--only", "pytest")) == "1 passed"
    left = (tmp_path / "where").read_text().splitlines()
    assert len(left) == 2 and not any(Path(folder).exists() for folder in left)


def test_parity_runs_over_its_folder_or_over_what_was_named(course: Course) -> None:
    def arguments(*words: str) -> list[str]:
        step = next(step for step in course_test.all_steps(course, words) if step.name == "parity")
        return step.command[step.command.index("-m", 2) :]

    assert arguments() == ["-m", "parity", "tests/parity"]
    assert arguments("-k", "gelu") == ["-m", "parity", "-k", "gelu"]


@pytest.mark.slow
def test_notebooks_and_tests_simulate_kernels_unless_told_otherwise(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    (course.root / "tests" / "test_one.py").write_text(
        "import os\ndef test_it():\n    assert os.environ['MINILIB_CUDA'] == os.environ['EXPECTED']\n"
    )
    for given, expected in ((None, "simulate"), ("gpu", "gpu")):
        monkeypatch.delenv("MINILIB_CUDA") if given is None else monkeypatch.setenv("MINILIB_CUDA", given)
        monkeypatch.setenv("EXPECTED", expected)
        result = coursekit("--course", course.root, "test", "--only", "pytest")
        assert closing_line(result) == "1 passed", result.stdout


@pytest.mark.slow
def test_without_a_gpu_its_tests_end_in_one_line_that_says_so(course: Course) -> None:
    (course.root / "tests" / "gpu").mkdir()
    for words in (["--only", "gpu"], ["--gpu"]):
        result = coursekit("--course", course.root, "test", *words)
        assert result.returncode == 2 and result.stdout == ""
        assert result.stderr.startswith("error: no kernel can run on a GPU here: ")
        assert result.stderr.count("\n") == 1


def test_with_a_gpu_its_tests_run(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("warplens.backend"), "missing_for_gpu", lambda: None)
    course_test.require_gpu()
    step = next(step for step in course_test.all_steps(course, []) if step.name == "gpu")
    assert step.command[step.command.index("-m", 2) :] == ["-m", "gpu", "tests/gpu"]


PARITY_TEST = "from parity.peer import torch\ndef test_it():\n    assert torch\n"


def with_parity_tests(course: Course, source: str) -> None:
    """The helper files of tests/parity and one test."""
    folder = course.root / "tests" / "parity"
    folder.mkdir()
    for name in ("__init__.py", "conftest.py", "peer.py"):
        (folder / name).write_text((ROOT / "tests" / "parity" / name).read_text())
    (folder / "test_one.py").write_text(source)
    (course.root / "tests" / "test_one.py").write_text("def test_it():\n    pass\n")


def closing_line(result: subprocess.CompletedProcess[str]) -> str:
    return result.stdout.splitlines()[-1].strip("= ").partition(" in ")[0]


@pytest.mark.slow
def test_a_parity_test_has_its_marker_from_its_folder(course: Course) -> None:
    with_parity_tests(course, "def test_it():\n    pass\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    for words in (["-m", "parity"], ["-m", "not parity"]):
        done = subprocess.run([*command, *words], cwd=course.root, capture_output=True, text=True)
        assert "1 passed, 1 deselected" in done.stdout, done.stdout


@pytest.mark.slow
def test_without_pytorch_parity_skips_and_names_the_remedy(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_parity_tests(course, PARITY_TEST)
    (course.root / "torch.py").write_text("raise ModuleNotFoundError('torch', name='torch')\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(course.root), str(ROOT)]))
    # this Python has what the tests need, so it is used as it is and nothing is installed
    result = coursekit("--course", course.root, "test", "--only", "parity")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "`make test-parity` installs it" in result.stdout
    assert closing_line(result) == "1 skipped"


@pytest.mark.slow
def test_the_plain_tests_do_not_even_import_what_parity_needs(course: Course) -> None:
    with_parity_tests(course, "raise SystemExit('imported')\n")
    result = coursekit("--course", course.root, "test", "--only", "pytest")
    assert closing_line(result) == "1 passed", result.stdout


def test_arguments_for_pytest_run_the_tests_and_the_drift_check_alone(course: Course) -> None:
    steps = course_test.all_steps(course, ["-k", "scalar"])
    chosen = course_test.chosen(steps, None, asked=[], pytest_only=True)
    assert names(chosen) == ["promote", "pytest"]
    assert chosen[1].command[-2:] == ["-k", "scalar"]


def test_a_bundle_without_solutions_and_tests_runs_what_it_has(course: Course) -> None:
    for folder in (course.solutions, course.root / "tests"):
        folder.rmdir()
    steps = course_test.chosen(course_test.all_steps(course, []), None, asked=[], pytest_only=False)
    here, left_out = course_test.present(course, steps)
    assert names(here) == ["nbval"]
    assert left_out == ["promote", "exercises", "pytest"]


def test_a_step_without_its_files_is_told(course: Course) -> None:
    result = coursekit("--course", course.root, "test", "--only", "browser")
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1 and "nothing to run for: browser" in result.stderr


def test_an_unknown_step_is_told(course: Course) -> None:
    with pytest.raises(CourseError, match="no step is called everything; there are: ruff"):
        course_test.run(course, options(only=["everything"]))


def test_a_failed_check_counts_and_the_rest_still_runs(
    course: Course, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = [
        course_test.Step("one", "one", [sys.executable, "-c", "raise SystemExit(1)"]),
        course_test.Step("two", "two", [sys.executable, "-c", ""]),
    ]
    monkeypatch.setattr(course_test, "all_steps", lambda course, rest, fast: steps)
    assert course_test.run(course, options()) == 1
    assert capsys.readouterr().out.splitlines()[-1].strip("= ").startswith("1 failed, 1 passed in ")


@pytest.mark.parametrize(
    ("counts", "line"),
    [
        ({"passed": 3}, "3 passed in 1.50s"),
        (
            {"passed": 3, "skipped": 2, "failed": 1, "error": 1},
            "1 failed, 3 passed, 2 skipped, 1 error in 1.50s",
        ),
        ({}, "no tests ran in 1.50s"),
    ],
)
def test_the_closing_line_is_like_that_of_pytest(counts: dict[str, int], line: str) -> None:
    assert course_test.closing_line(Counter(counts), 1.5).strip("= ") == line


def test_a_report_that_pytest_could_not_write_counts_as_an_error(tmp_path: Path) -> None:
    assert course_test.read_counts(tmp_path / "none.xml") == {"error": 1}
