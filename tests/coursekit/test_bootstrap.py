"""The environment is made once, mended when half-made, and every failure is one clear line. pip is a fake."""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

from coursekit import __main__ as entry
from coursekit.course import Course
from coursekit.errors import CourseError
from coursekit.install import bootstrap, install
from coursekit.machine import dotted

ROOT = Path(__file__).parents[2]
PROJECT = '[project]\nname = "x"\ndependencies = []\n[tool.coursekit]\nrepository = ""\n'


class Shell:
    """Stands in for venv and pip: remembers what was run, makes an interpreter, fails when told to."""

    def __init__(self, course: Course) -> None:
        self.course = course
        self.commands: list[list[str]] = []
        self.answers: dict[str, str] = {}  # a word of the command -> the output with which it fails

    def __call__(self, command: list[str], course: Course) -> subprocess.CompletedProcess[str]:
        self.commands.append(command)
        for word, output in self.answers.items():
            if word in command:
                return subprocess.CompletedProcess(command, 1, output)
        python = bootstrap.venv_python(course)
        python.parent.mkdir(parents=True, exist_ok=True)
        python.touch()
        return subprocess.CompletedProcess(command, 0, "Successfully installed everything\n")

    def installed(self) -> list[str]:
        return [command[-1] for command in self.commands if "pip" in command]


@pytest.fixture
def course(tmp_path: Path) -> Course:
    root = tmp_path / "kürs mit leerzeichen"
    root.mkdir()
    (root / "pyproject.toml").write_text(PROJECT)
    return Course(root)


@pytest.fixture
def shell(course: Course, monkeypatch: pytest.MonkeyPatch) -> Shell:
    shell = Shell(course)
    monkeypatch.setattr(bootstrap, "_run", shell)
    monkeypatch.setattr(bootstrap, "is_healthy", lambda course: bootstrap.venv_python(course).exists())
    return shell


def test_installs_the_package_with_the_extras_of_the_command(course: Course, shell: Shell) -> None:
    bootstrap.ensure(course, ("course",))
    assert [command[2] for command in shell.commands] == ["venv", "-m"]
    assert shell.installed() == [".[course]"]


def test_a_second_call_runs_nothing(course: Course, shell: Shell) -> None:
    bootstrap.ensure(course, ("course",))
    shell.commands.clear()
    bootstrap.ensure(course, ("course",))
    assert shell.commands == []


def test_test_adds_its_extra_and_lab_keeps_it(course: Course, shell: Shell) -> None:
    bootstrap.ensure(course, ("course",))
    bootstrap.ensure(course, ("course", "test"))
    bootstrap.ensure(course, ("course",))
    assert shell.installed() == [".[course]", ".[course,test]"]


def test_a_new_dependency_installs_again_and_a_tool_setting_does_not(course: Course, shell: Shell) -> None:
    bootstrap.ensure(course, ("course",))
    project = course.root / "pyproject.toml"
    project.write_text(PROJECT.replace('repository = ""', 'repository = "a/b"'))
    bootstrap.ensure(course, ("course",))
    assert len(shell.installed()) == 1
    project.write_text(PROJECT.replace("[]", '["numpy"]'))
    bootstrap.ensure(course, ("course",))
    assert len(shell.installed()) == 2


def test_an_interrupted_installation_is_finished_by_the_next_call(course: Course, shell: Shell) -> None:
    def stop(command: list[str], course: Course) -> subprocess.CompletedProcess[str]:
        if "pip" in command:
            raise KeyboardInterrupt
        return shell(command, course)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(bootstrap, "_run", stop)
        bootstrap.ensure(course, ("course",))
    assert bootstrap.read_stamp(course) == {}
    bootstrap.ensure(course, ("course",))
    assert shell.installed() == [".[course]"]


def test_a_half_made_environment_is_made_anew(course: Course, shell: Shell) -> None:
    (course.root / ".venv" / "lib").mkdir(parents=True)
    bootstrap.ensure(course, ("course",))
    assert "--clear" in shell.commands[0]


def test_a_moved_clone_is_installed_again(course: Course, shell: Shell) -> None:
    bootstrap.ensure(course, ("course",))
    moved = course.root.with_name("moved")
    course.root.rename(moved)
    bootstrap.ensure(Course(moved), ("course",))
    assert len(shell.installed()) == 2


def test_a_damaged_stamp_counts_as_none(course: Course, shell: Shell) -> None:
    bootstrap.ensure(course, ("course",))
    (course.root / ".venv" / "coursekit.json").write_text("{")
    bootstrap.ensure(course, ("course",))
    assert len(shell.installed()) == 2


# Outputs as pip 24 and venv print them.
OFFLINE = """WARNING: Retrying (Retry(total=0, connect=None, read=None, redirect=None, status=None)) after
connection broken by 'NewConnectionError('<pip._vendor.urllib3.connection.HTTPSConnection object at 0x7f>:
Failed to establish a new connection: [Errno -3] Temporary failure in name resolution')': /simple/hatchling/
ERROR: Could not find a version that satisfies the requirement hatchling>=1.27 (from versions: none)
"""
FULL = "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n"
DENIED = "Error: [Errno 13] Permission denied: '/opt/course/.venv'\n"
NO_ENSUREPIP = """The virtual environment was not created successfully because ensurepip is not available.  On
Debian/Ubuntu systems, you need to install the python3-venv package"""
OTHER = "Collecting numpy\nERROR: No matching distribution found for numpy>=99\n"


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (OFFLINE, "the network is down"),
        (FULL, "the disk is full"),
        (DENIED, "cannot be written to"),
        (NO_ENSUREPIP, "apt install python3-venv"),
        (OTHER, "No matching distribution found for numpy>=99"),
        ("", "no output"),
    ],
)
def test_a_failed_installation_is_explained_in_one_line(
    course: Course, shell: Shell, output: str, said: str
) -> None:
    shell.answers["pip"] = output
    with pytest.raises(CourseError, match=said) as raised:
        bootstrap.ensure(course, ("course",))
    assert "\n" not in str(raised.value)
    assert bootstrap.read_stamp(course) == {}


def test_a_failed_update_keeps_the_environment(course: Course, shell: Shell) -> None:
    bootstrap.ensure(course, ("course",))
    (course.root / "pyproject.toml").write_text(PROJECT.replace("[]", '["numpy"]'))
    shell.answers["pip"] = OFFLINE
    with pytest.raises(CourseError, match="the network is down"):
        bootstrap.ensure(course, ("course",))
    assert bootstrap.venv_python(course).exists()


def test_python_without_ensurepip_is_told_before_anything_is_made(
    course: Course, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(CourseError, match="apt install python3-venv"):
        bootstrap.ensure(course, ("course",))
    assert shell.commands == []


def test_a_full_disk_is_told_before_anything_is_made(
    course: Course, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 10**6})())
    with pytest.raises(CourseError, match="the disk is full"):
        bootstrap.ensure(course, ("course",))
    assert shell.commands == []


def test_a_file_named_venv_is_told(course: Course, shell: Shell) -> None:
    (course.root / ".venv").write_text("mine")
    with pytest.raises(CourseError, match="is a file"):
        bootstrap.ensure(course, ("course",))
    assert (course.root / ".venv").read_text() == "mine"


def test_a_damaged_pyproject_is_told(course: Course, shell: Shell) -> None:
    (course.root / "pyproject.toml").write_text("[tool.coursekit]\n[")
    with pytest.raises(CourseError, match="restore a good copy"):
        bootstrap.ensure(course, ("course",))


def test_the_real_health_check_sees_a_broken_interpreter(course: Course) -> None:
    assert not bootstrap.is_healthy(course)
    python = bootstrap.venv_python(course)
    python.parent.mkdir(parents=True)
    python.symlink_to("/nowhere/python")
    assert not bootstrap.is_healthy(course)
    python.unlink()
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')  # a link would look for pip beside itself
    python.chmod(0o755)
    assert bootstrap.is_healthy(course)


def test_the_stamp_says_what_was_installed(course: Course, shell: Shell) -> None:
    bootstrap.ensure(course, ("course",))
    stamp = json.loads((course.root / ".venv" / "coursekit.json").read_text())
    assert stamp["extras"] == ["course"]
    assert stamp["root"] == str(course.root)


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[list[str]]]:
    """A Python that has nothing installed; restarts are remembered, not made."""
    restarted: list[list[str]] = []
    monkeypatch.setattr(bootstrap, "has", lambda extras: False)
    monkeypatch.setattr(bootstrap, "restart", lambda course, argv: restarted.append(list(argv)))
    return lambda: restarted


@pytest.mark.parametrize(
    ("words", "extras"),
    [
        (["test"], []),
        (["test", "-k", "parity"], []),
        (["test", "--fast"], []),
        (["--course", "x", "test", "--all"], ["parity"]),
        (["test", "--gpu"], ["gpu"]),
        (["lab", "--all"], []),
    ],
)
def test_only_a_wish_for_its_tests_asks_for_an_extra(
    words: list[str], extras: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("warplens.backend"), "missing_driver", lambda: None)
    command = next(word for word in words if word in ("test", "lab"))
    assert bootstrap.optional_extras(command, words) == extras


def test_cupy_is_not_installed_where_there_is_no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("warplens.backend"), "missing_driver", lambda: "there is none")
    assert bootstrap.optional_extras("test", ["test", "--gpu"]) == []


@pytest.fixture
def inside(course: Course, bare: Callable[[], list[list[str]]], monkeypatch: pytest.MonkeyPatch) -> None:
    """As if this process were already the Python of `.venv`."""
    monkeypatch.setattr(bootstrap, "in_venv", lambda course: True)


@pytest.mark.usefixtures("inside")
def test_parity_is_installed_after_what_the_tests_need_and_kept(course: Course, shell: Shell) -> None:
    bootstrap.enter(course, "test", ["test", "--all"])
    bootstrap.enter(course, "test", ["test", "--all", "-k", "gelu"])
    bootstrap.enter(course, "test", ["test"])
    assert shell.installed() == [".[course,test]", ".[course,parity,test]"]


@pytest.mark.usefixtures("inside")
def test_plain_tests_install_no_pytorch(course: Course, shell: Shell) -> None:
    bootstrap.enter(course, "test", ["test"])
    assert shell.installed() == [".[course,test]"]


@pytest.mark.usefixtures("inside")
def test_where_pytorch_cannot_be_had_the_tests_run_without_it(
    course: Course, shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    bootstrap.enter(course, "test", ["test"])
    shell.answers[".[course,parity,test]"] = OFFLINE
    bootstrap.enter(course, "test", ["test", "--all"])
    said = capsys.readouterr().out.splitlines()[-1]
    assert said.startswith("going on without what the parity tests need, so they skip: the network is down")
    assert bootstrap.read_stamp(course)["extras"] == ["course", "test"]


@pytest.mark.usefixtures("inside")
def test_install_opens_nothing_and_adds_what_is_named(
    course: Course, shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    (course.root / "pyproject.toml").write_text(PROJECT + "[project.optional-dependencies]\ncluster = []\n")
    bootstrap.enter(course, "install", ["install"])
    for _ in range(2):
        assert install.run(course, argparse.Namespace(extras=["cluster"])) == 0
    assert shell.installed() == [".[course]", ".[cluster,course]"]
    assert "course, cluster is in" in capsys.readouterr().out
    with pytest.raises(CourseError, match="no extra clutser; expected some of cluster"):
        install.run(course, argparse.Namespace(extras=["clutser"]))


def test_other_commands_ask_for_make_lab_first(course: Course, bare: Callable[[], list[list[str]]]) -> None:
    with pytest.raises(CourseError, match="run `make lab` first"):
        bootstrap.enter(course, "check", ["check", "01"])
    bootstrap.enter(course, "doctor", ["doctor"])  # says what is missing, so it needs nothing
    assert bare() == []


def test_other_commands_restart_in_the_environment(
    course: Course, shell: Shell, bare: Callable[[], list[list[str]]]
) -> None:
    bootstrap.ensure(course, ("course",))
    bootstrap.enter(course, "check", ["check", "01"])
    assert bare() == [["check", "01"]]


def test_an_environment_that_has_it_all_is_used_as_it_is(
    course: Course, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap, "has", lambda extras: True)
    bootstrap.enter(course, "lab", ["lab"])
    assert shell.commands == []


def test_called_from_python_a_command_stays_in_its_process(
    course: Course, shell: Shell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bootstrap.ensure(course, ("course",))
    monkeypatch.setattr(os, "execv", lambda path, command: pytest.fail("this process would be gone"))
    with pytest.raises(SystemExit) as stopped:
        entry.main(["--course", str(course.root), "check", "--help"])
    assert stopped.value.code == 0
    assert "NN" in capsys.readouterr().out


def test_the_entry_can_be_read_by_python_3_8() -> None:
    for name in ("__init__", "__main__", "errors", "light", "machine"):
        source = (ROOT / "coursekit" / f"{name}.py").read_text(encoding="utf-8")
        ast.parse(source, feature_version=(3, 8))


def test_an_old_python_hands_over_to_a_newer_one(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []
    found = {"python3.12": "/opt/python3.12"}
    monkeypatch.setattr(entry.shutil, "which", found.get)
    monkeypatch.setattr(entry.os, "execv", lambda path, command: started.append(command))
    entry.restart_with_newer(["lab"])  # the fake exec comes back
    assert started == [["/opt/python3.12", "-m", "coursekit", "lab"]]


def test_an_old_python_alone_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(entry, "OLDEST", (3, 99))
    assert entry.main(["lab"], as_program=True) == 2
    error = capsys.readouterr().err
    assert "the course needs 3.99 or newer" in error
    assert error.count("\n") == 1


def test_the_oldest_python_is_the_one_of_pyproject() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["requires-python"] == ">=" + dotted(entry.OLDEST)


def test_the_bootstrap_imports_the_standard_library_alone() -> None:
    """`-S` leaves out site-packages: what a fresh machine's Python sees."""
    code = "import coursekit.__main__; from coursekit.install import bootstrap, doctor, lab"
    result = subprocess.run([sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
