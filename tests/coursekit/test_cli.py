"""Each command from outside: its help, bad input, Ctrl-C, and the one closing line of `test`."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
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


def test_make_alone_lists_every_target_and_each_calls_coursekit() -> None:
    listed = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True).stdout
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert re.findall(r"^  make ([a-z-]+) ", listed, re.MULTILINE) == targets
    called = re.findall(r"\$\(COURSEKIT\) ([a-z]+)", (ROOT / "Makefile").read_text())
    assert len(called) == len(targets) - 1 and {*called} <= {*entry.COMMANDS}  # but `help`


@pytest.mark.parametrize("target", ["lab", "edit", "build", "check", "progress", "doctor", "grade", "test"])
def test_make_adds_nothing_to_an_error_that_is_explained(target: str, tmp_path: Path) -> None:
    """Of those that a person calls. Scripts go by the exit codes of the others."""
    stands_in = tmp_path / "python"

    def made(code: int) -> subprocess.CompletedProcess[str]:
        stands_in.write_text(f"#!/bin/sh\necho 'error: told' >&2\nexit {code}\n")
        stands_in.chmod(0o755)
        command = ["make", target, f"PYTHON={stands_in}"]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)

    interactive = target not in ("grade", "test")
    assert (made(2).returncode == 0) is interactive
    assert (made(2).stderr == "error: told\n") is interactive
    assert (made(1).returncode == 0) is (target in ("check", "grade"))
    assert made(130).returncode and not made(0).returncode


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


def test_whoever_reads_along_may_leave() -> None:
    command = [sys.executable, "-m", "coursekit", "doctor"]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout and program.stderr
        program.stdout.close()
        assert program.stderr.read() == ""
    assert program.returncode == 141


@pytest.mark.slow
def test_a_real_ctrl_c_stops_the_tests(course: Course) -> None:
    started = course.root / "started"
    touch = f"pathlib.Path({str(started)!r}).touch()"
    slow = f"import pathlib, time\ndef test_slow():\n    {touch}\n    time.sleep(600)\n"
    (course.root / "tests" / "test_slow.py").write_text(slow)
    command = [sys.executable, "-m", "coursekit", "--course", str(course.root), "test"]
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
def test_every_test_and_every_cell_of_chapters_and_solutions_is_run_in_one_pytest(course: Course) -> None:
    save(course.chapters / "01_right.ipynb", ("1 + 1", "2"), ("object()", "<object at 0x7f0000000000>"))
    save(course.solutions / "01_wrong.ipynb", ("1 + 1", "3"), ("x = 1", None), ("1 / 3", "0.333333333399"))
    where = course.root / "where"
    (course.root / "tests" / "test_one.py").write_text(
        "import os, tempfile\ndef test_it(tmp_path):\n    assert os.environ['MINILIB_CUDA'] == 'simulate'\n"
        f"    open({str(where)!r}, 'w').write('\\n'.join([tempfile.mkdtemp(), str(tmp_path)]))\n"
    )
    for need in ("parity", "browser", "gpu"):  # not even imported where they are not asked for
        (course.root / "tests" / need).mkdir()
        (course.root / "tests" / need / "test_it.py").write_text("raise SystemExit('imported')\n")
    result = coursekit("--course", course.root, "test")
    assert result.returncode == 1, result.stdout
    assert "Cell outputs differ" in result.stdout
    assert "this cell was stored without being run" in result.stdout
    assert result.stdout.splitlines()[-1].strip("= ").startswith("2 failed, 4 passed in ")
    left = where.read_text().splitlines()
    assert len(left) == 2 and not any(Path(folder).exists() for folder in left)


def called(course: Course, tier: str | None, *words: str) -> tuple[str, list[str]]:
    """The marks that are chosen, and what is run."""
    command = course_test.pytest_command(course, tier, list(words))
    at = command.index("-m", 2)  # the first one is Python's
    return command[at + 1], [word for word in command[at + 2 :] if not word.startswith("--ignore")]


def test_a_tier_leaves_out_what_takes_longer_and_what_it_has_no_need_of(course: Course) -> None:
    for name in ("00_start", "01_scalar", "02a_more", "07d_memory"):
        save(course.chapters / f"{name}.ipynb", ("1 + 1", "2"))
        save(course.solutions / f"{name}.ipynb", ("1 + 1", "2"))
    needs = "not parity and not browser and not gpu"
    notebooks = course_test.notebooks(course)
    assert len(notebooks) == 8
    assert called(course, None) == (f"not thorough and not nightly and {needs}", ["tests", *notebooks])
    fast = ["tests", "chapters/00_start.ipynb", "chapters/02a_more.ipynb"]
    assert called(course, "fast") == (f"not slow and not thorough and not nightly and {needs}", fast)
    long = "chapters/07d_memory.ipynb"
    short = [path for path in notebooks if path != long]
    assert called(course, "all") == ("not nightly and not gpu", ["tests", *short])
    assert called(course, "nightly") == ("(nightly or long) and not gpu", ["tests", long])
    assert called(course, "gpu") == ("gpu and not parity and not browser", ["tests"])


def test_what_somebody_names_runs_though_it_is_slow_and_no_notebook_does(course: Course) -> None:
    save(course.chapters / "01_right.ipynb", ("1 + 1", "2"))
    needs = "not parity and not browser and not gpu"
    assert called(course, None, "-k", "scalar") == (needs, ["-k", "scalar"])
    assert called(course, "all", "tests/parity") == ("not gpu", ["tests/parity"])


def test_a_bundle_without_tests_runs_its_chapters(course: Course) -> None:
    save(course.chapters / "01_right.ipynb", ("1 + 1", "2"))
    (course.root / "tests").rmdir()
    assert called(course, None)[1] == ["chapters/01_right.ipynb"]
    (course.chapters / "01_right.ipynb").unlink()
    with pytest.raises(CourseError, match="holds neither tests nor notebooks"):
        called(course, None)


def test_where_no_test_matches_one_line_says_so(course: Course) -> None:
    result = coursekit("--course", course.root, "test", "-k", "nothing", "-n", "0")
    assert result.returncode == 2 and "error: no test matches" in result.stderr


def test_without_a_gpu_its_tests_end_in_one_line_that_says_so(course: Course) -> None:
    result = coursekit("--course", course.root, "test", "--gpu")
    assert result.returncode == 2 and result.stdout == ""
    assert result.stderr.startswith("error: no kernel can run on a GPU here: ")
    assert result.stderr.count("\n") == 1


def test_with_a_gpu_its_tests_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("warplens.backend"), "missing_for_gpu", lambda: None)
    course_test.require_gpu()


@pytest.mark.slow
def test_a_parity_test_has_its_mark_from_its_folder_and_skips_without_pytorch(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = course.root / "tests" / "parity"
    folder.mkdir()
    for name in ("__init__.py", "conftest.py", "peer.py"):
        (folder / name).write_text((ROOT / "tests" / "parity" / name).read_text())
    (folder / "test_one.py").write_text("from parity.peer import torch\ndef test_it():\n    assert torch\n")
    (folder / "test_two.py").write_text("def test_it():\n    pass\n")
    (course.root / "tests" / "test_one.py").write_text("def test_it():\n    pass\n")
    (course.root / "torch.py").write_text("raise ModuleNotFoundError('torch', name='torch')\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(course.root), str(ROOT)]))
    # this Python has what the tests need, so it is used as it is and nothing is installed
    result = coursekit("--course", course.root, "test", "--all", "-m", "parity", "-n", "0")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "`make test-all` installs it" in result.stdout
    assert "1 passed, 1 skipped" in result.stdout.splitlines()[-1]
