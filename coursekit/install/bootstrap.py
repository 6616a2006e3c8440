"""A Python of its own for the course, in `.venv`. Standard library alone: nothing is installed yet.

A stamp in `.venv` says what was installed from which `pyproject.toml`, so that a second call does nothing
and needs no network, and a half-made `.venv` is seen and mended.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from coursekit.course import Course
from coursekit.errors import CourseError
from coursekit.files import read_record, write_record
from coursekit.machine import OLDEST, dotted

# What each command that may install asks for; all others need a `.venv` that is there already.
EXTRAS = {
    "lab": ("course",),
    "install": ("course",),
    "test": ("course", "test"),
    "edit": ("course", "test"),
    "stamp": ("course",),
}
# What only some of the tests need, and the flag of `test` that runs them. They skip where it cannot be had,
# so a failure to install it stops nothing.
OPTIONAL_EXTRAS = {"parity": "--all", "gpu": "--gpu"}
# Enough to know an extra by, in an environment that somebody else made.
_MODULES = {"course": ("jupyterlab", "nbval", "pygraphviz"), "test": ("hypothesis", "mypy", "selenium")}
# These can run, or at least show their help, in any Python.
NEEDS_NOTHING = ("lab", "install", "test", "edit", "stamp", "doctor", "bench")
BYTES_NEEDED = 1_200_000_000

# Words in the output of venv and pip, and what they mean to a person.
_CAUSES = (
    (
        r"No space left on device|Errno 28|Disk quota exceeded",
        "the disk is full: about {gigabytes:.1f} GB are needed in {root}; make room, then again",
    ),
    (
        r"CERTIFICATE_VERIFY_FAILED|SSLError|SSLCertVerificationError",
        "the package index refused a secure connection (a proxy between?); "
        "point PIP_CERT at your network's certificate, then again",
    ),
    (
        r"NewConnectionError|NameResolutionError|name resolution|ConnectTimeout|ReadTimeout|ProxyError|"
        r"Network is unreachable|ConnectionResetError|Connection refused|Connection broken|Read timed out|"
        r"Failed to establish",
        "the network is down, or the package index cannot be reached: go online, then again "
        "(once installed, the course works offline)",
    ),
    (
        r"Permission denied|PermissionError|Errno 13|Read-only file system|Errno 30",
        "{root} cannot be written to: copy the course to a folder of your own, then again",
    ),
    (
        r"ensurepip is not available|No module named ensurepip|No module named venv",
        "this Python cannot make environments: on Debian and Ubuntu `apt install python3-venv`, then again",
    ),
)


def enter(course: Course, command: str, argv: Sequence[str]) -> None:
    """Make sure that `command` runs in the course's own Python.

    Returns when this process is already a right one; otherwise starts `command` there and does not return.
    Raises CourseError where it cannot, in one line that says what to do.
    """
    if not venv(course).exists() and has(EXTRAS.get(command, ())):
        return
    if command in EXTRAS:
        ensure(course, EXTRAS[command])
    elif not venv_python(course).exists():
        if command not in NEEDS_NOTHING:
            raise CourseError(
                f"the course is not installed here yet: run `make lab` first, or `make install`, "
                f"which opens nothing (in {course.root})"
            )
        return
    if not in_venv(course):
        restart(course, argv)
    for extra in optional_extras(command, argv):
        offer(course, extra)


def optional_extras(command: str, argv: Sequence[str]) -> list[str]:
    """What PyTorch's comparisons need for `test --all`; CuPy beside a GPU for `test --gpu`."""
    if command != "test":
        return []
    wanted = [extra for extra, flag in OPTIONAL_EXTRAS.items() if flag in argv]
    if "gpu" in wanted:
        from warplens.backend import missing_driver  # like this file, on the standard library alone

        if missing_driver() is not None:
            wanted.remove("gpu")
    return wanted


def offer(course: Course, extra: str) -> None:
    """Install `extra`, or say in one line why not and go on."""
    try:
        ensure(course, (extra,))
    except CourseError as error:
        print(f"going on without what the {extra} tests need, so they skip: {error}", flush=True)


def has(extras: Iterable[str]) -> bool:
    """Whether this Python has it all already: Binder's, conda's or an environment of your own."""
    names = ["nbformat", *(name for extra in extras for name in _MODULES[extra])]
    return all(importlib.util.find_spec(name) for name in names)


def venv_python(course: Course) -> Path:
    """The interpreter of `.venv`, whether it exists or not."""
    parts = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
    return venv(course).joinpath(*parts)


def venv(course: Course) -> Path:
    return course.root / ".venv"


def in_venv(course: Course) -> bool:
    return Path(sys.prefix).resolve() == venv(course).resolve()


def restart(course: Course, argv: Sequence[str]) -> None:
    """Replace this process by the same command in `.venv`."""
    become([str(venv_python(course)), "-m", "coursekit", *argv])


def become(command: list[str]) -> None:
    """Replace this process by `command`, so that Ctrl-C is its own."""
    sys.stdout.flush()
    if os.name == "nt":  # execv returns to the shell at once there
        sys.exit(subprocess.call(command))
    os.execv(command[0], command)


def ensure(course: Course, extras: Iterable[str]) -> None:
    """Make `.venv` and install the package with `extras`, where that has not been done yet."""
    done = read_stamp(course)
    wanted = stamp(course, {*extras, *done.get("extras", [])})
    healthy = is_healthy(course)
    if healthy and done == wanted:
        return
    check_machine(course)
    started = time.monotonic()
    if not healthy:
        make_venv(course)
    install(course, wanted["extras"])
    write_record(_stamp_file(course), wanted)
    print(f"installed into .venv in {time.monotonic() - started:.0f} s", flush=True)


def stamp(course: Course, extras: Iterable[str]) -> dict[str, Any]:
    """What an installation of `extras` depends on: a later one that would be the same can be left out."""
    path = course.root / "pyproject.toml"
    try:
        project = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CourseError(f"{path}: cannot be read ({error}); restore a good copy") from None
    parts = [project.get("build-system"), project.get("project"), project.get("tool", {}).get("hatch")]
    content = json.dumps(parts, sort_keys=True).encode()
    return {
        "project": hashlib.sha256(content).hexdigest(),
        "extras": sorted(extras),
        "root": str(course.root),
    }


def read_stamp(course: Course) -> dict[str, Any]:
    """The stamp of the last installation that came to its end, or {}."""
    return read_record(_stamp_file(course))


def _stamp_file(course: Course) -> Path:
    return venv(course) / "coursekit.json"


def is_healthy(course: Course) -> bool:
    """Whether the interpreter in `.venv` starts, is new enough and has pip."""
    question = (
        "import sys, importlib.util as util; "
        f"sys.exit(sys.version_info < {OLDEST} or util.find_spec('pip') is None)"
    )
    try:
        return (
            subprocess.run([venv_python(course), "-I", "-c", question], capture_output=True).returncode == 0
        )
    except OSError:
        return False


def check_machine(course: Course) -> None:
    """Raise CourseError for what can be known to be missing before anything is made."""
    root = course.root
    if venv(course).exists() and not venv(course).is_dir():
        raise CourseError(
            f"{venv(course)} is a file, and the course needs a folder there: move it away, then again"
        )
    if not os.access(root, os.W_OK):
        raise CourseError(explain("Permission denied", course))
    if shutil.disk_usage(root).free < BYTES_NEEDED and not read_stamp(course):
        raise CourseError(explain("No space left on device", course))


def make_venv(course: Course) -> None:
    if importlib.util.find_spec("ensurepip") is None or importlib.util.find_spec("venv") is None:
        raise CourseError(explain("No module named ensurepip", course))
    print(f"making .venv with Python {dotted(sys.version_info[:3])}", flush=True)
    # --clear: what is left of a half-made one goes
    result = _run([sys.executable, "-m", "venv", "--clear", str(venv(course))], course)
    if result.returncode:
        raise CourseError(explain(result.stdout, course))


def install(course: Course, extras: Iterable[str]) -> None:
    """`pip install -e .[extras]`. Its whole output goes to `.venv/install.log`."""
    more = ", and PyTorch and NVRTC for the parity tests" if "parity" in extras else ""
    more += ", and CuPy" if "gpu" in extras else ""
    print(f"installing JupyterLab, NumPy and what else the course needs{more} (a minute or two)", flush=True)
    package = f".[{','.join(extras)}]"
    options = [
        "--no-input",
        "--no-user",
        "--disable-pip-version-check",
        "--progress-bar",
        "off",
        "--retries",
        "2",
    ]
    result = _run([str(venv_python(course)), "-I", "-m", "pip", "install", *options, "-e", package], course)
    with contextlib.suppress(OSError):  # a full disk must not hide the message below
        (venv(course) / "install.log").write_text(result.stdout, encoding="utf-8")
    if result.returncode:
        raise CourseError(explain(result.stdout, course))


def _run(command: list[str], course: Course) -> subprocess.CompletedProcess[str]:
    """Run `command` in the course's folder; on a terminal, one line shows which package it is at."""
    lines: list[str] = []
    with subprocess.Popen(
        command,
        cwd=course.root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "Retrying" in line and not any("Retrying" in before for before in lines):
                print("the package index does not answer; trying again", flush=True)
            lines.append(line)
            _show_progress(line)
    _show_progress("")
    return subprocess.CompletedProcess(command, process.returncode, "".join(lines))


def _show_progress(line: str) -> None:
    if not sys.stdout.isatty():
        return
    found = re.match(r"Collecting ([\w.-]+)|(Installing) collected packages", line)
    if found:
        print(f"\r  {found[1] or 'unpacking':<40}", end="", flush=True)
    elif not line:
        print("\r" + " " * 42 + "\r", end="", flush=True)


def explain(output: str, course: Course) -> str:
    """One line for a person from what venv or pip printed before it gave up."""
    for pattern, advice in _CAUSES:
        if re.search(pattern, output):
            return advice.format(root=course.root, gigabytes=BYTES_NEEDED / 1e9)
    errors = [line for line in output.splitlines() if line.lstrip().lower().startswith("error")]
    last = (errors or output.strip().splitlines() or ["no output"])[-1].strip()
    return f"installing failed: {last}; the whole output is in {venv(course) / 'install.log'}"
