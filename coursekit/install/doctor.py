"""What this machine has and what is missing, with the remedy. Standard library alone: runs anywhere.

In a notebook: `from coursekit.install import doctor; doctor.table()`.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path

from coursekit import machine
from coursekit.course import Course, find_course
from coursekit.errors import CourseError

OK, OPTIONAL, MISSING = "ok", "-", "missing"
ENOUGH_DISK = 1.0  # GB that work and an update of the packages may take
ENOUGH_MEMORY = 1.2  # GB, the limit that each chapter keeps


@dataclass(frozen=True)
class Row:
    """One thing: its name, what was found, whether that is enough, and what to do where it is not."""

    name: str
    found: str
    state: str = OK
    remedy: str = ""


@dataclass(frozen=True)
class Report:
    """The table; a notebook shows it as HTML, everything else as text."""

    rows: tuple[Row, ...]

    @property
    def complete(self) -> bool:
        """Whether nothing is missing that the course needs."""
        return all(row.state != MISSING for row in self.rows)

    def __repr__(self) -> str:
        width = max(len(row.name) for row in self.rows)
        lines = []
        for row in self.rows:
            lines.append(f"  {row.state:<8} {row.name:<{width}}  {row.found}")
            if row.remedy:
                lines.append(f"{'':{width + 13}}{row.remedy}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = "".join(f"<th style='text-align:left'>{name}</th>" for name in ("", "", "found", "remedy"))
        body = "".join(
            "<tr>"
            + "".join(
                f"<td style='text-align:left'>{escape(text)}</td>"
                for text in (row.state, row.name, row.found, row.remedy)
            )
            + "</tr>"
            for row in self.rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "Exit code 1 where something is missing that the course needs."


def run(course: Course, args: argparse.Namespace) -> int:
    report = table(course)
    print(report)
    return 0 if report.complete else 1


def table(course: Course | None = None) -> Report:
    """What this machine has. Without `course`, as in a notebook that others will read: not in which clone."""
    here = course
    if course is None:
        with contextlib.suppress(CourseError):
            here = find_course()
    looks: list[Callable[[], Row]] = [
        system, cores, memory, numpy, blas, jupyterlab, pictures, gpu, sandbox, browser, git,
    ]  # fmt: skip
    rows = [python(here), *(look() for look in looks)]
    if here is not None:
        rows.append(disk(here))
    if course is not None:
        rows.append(repository(course))
    return Report(tuple(rows))


def python(course: Course | None = None) -> Row:
    place = Path(sys.prefix)
    if course is not None and place.is_relative_to(course.root):
        place = place.relative_to(course.root)
    found = f"{platform.python_version()} in {place}"
    if sys.version_info[:2] < machine.OLDEST:
        oldest = machine.dotted(machine.OLDEST)
        return Row(
            "Python", found, MISSING, f"install {oldest} or newer from https://www.python.org/downloads"
        )
    return Row("Python", found)


def system() -> Row:
    return Row("system", f"{platform.system()} {platform.release()}, {platform.machine()}")


def cores() -> Row:
    count = machine.cores()
    limit = _cgroup("cpu.max").split()
    if len(limit) == 2 and limit[0].isdigit() and int(limit[0]) < count * int(limit[1]):
        return Row("cores", f"{count}, of which {int(limit[0]) / int(limit[1]):g} may be used")
    return Row("cores", str(count))


def memory() -> Row:
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return Row("memory", "unknown on this system", OPTIONAL)
    limit = _cgroup("memory.max")
    gigabytes = min(total, int(limit) if limit.isdigit() else total) / 1e9
    if gigabytes < ENOUGH_MEMORY:
        return Row("memory", f"{gigabytes:.1f} GB", MISSING, f"a chapter may need {ENOUGH_MEMORY} GB")
    return Row("memory", f"{gigabytes:.1f} GB")


def _cgroup(name: str) -> str:
    """A limit that a container sets (Linux, cgroup v2), or an empty text."""
    try:
        return Path("/sys/fs/cgroup", name).read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def numpy() -> Row:
    return _package("NumPy", "numpy")


def blas() -> Row:
    try:
        importlib.import_module("numpy")
        pools = importlib.import_module("threadpoolctl").threadpool_info()
    except ImportError:
        return Row("BLAS", "unknown", MISSING, "`make lab` installs NumPy and threadpoolctl")
    found = [
        f"{pool['internal_api']} {pool['version']}, {pool['num_threads']} threads"
        for pool in pools
        if pool.get("user_api") == "blas"
    ]
    told = "; ".join(found) or "none that threadpoolctl knows"
    if any(pool["num_threads"] > 1 for pool in pools if pool.get("user_api") == "blas"):
        told += " (on a server that others share: OPENBLAS_NUM_THREADS=1)"
    return Row("BLAS", told, OK if found else OPTIONAL)


def jupyterlab() -> Row:
    return _package("JupyterLab", "jupyterlab")


def _package(title: str, name: str) -> Row:
    version = machine.installed(name)
    return Row(title, version) if version else Row(title, "not installed", MISSING, "`make lab` installs it")


def pictures() -> Row:
    dot = shutil.which("dot")
    if dot:
        return Row("graph pictures", f"graphviz at {dot}")
    try:
        importlib.import_module("pygraphviz")  # a wheel may be there and miss a library of the system
    except (ImportError, OSError) as error:
        found = f"in a plain layout, since neither `dot` nor pygraphviz works ({error})"
        return Row(
            "graph pictures", found, OPTIONAL, "Graphviz makes nicer ones: https://graphviz.org/download"
        )
    version = machine.installed("pygraphviz")
    return Row("graph pictures", f"pygraphviz {version} (no `dot` program needed)")


def gpu() -> Row:
    card = _output("nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader")
    if not card:
        return Row("GPU", "none found; kernels are simulated on the CPU", OPTIONAL)
    from warplens.backend import SIMULATE, missing_for_gpu  # standard library alone, too

    if os.environ.get("MINILIB_CUDA") == SIMULATE:
        return Row("GPU", f"{card}; MINILIB_CUDA={SIMULATE}, so kernels are simulated", OPTIONAL)
    missing = missing_for_gpu()
    if missing is not None:
        return Row("GPU", f"{card}; kernels are simulated", OPTIONAL, f"to use it: {missing}")
    return Row("GPU", f"{card}; kernels run on it")


def sandbox() -> Row:
    remedy = "only `grade` needs it: `apt install bubblewrap` (Linux)"
    if not shutil.which("bwrap"):
        return Row("bubblewrap", "not found", OPTIONAL, remedy)
    version = _output("bwrap", "--version") or "found"
    if not _succeeds("bwrap", "--ro-bind", "/", "/", "--unshare-all", "--", "true"):
        remedy = "only `grade` needs it: allow unprivileged user namespaces, or run it on another machine"
        return Row("bubblewrap", f"{version}, but it cannot make a box here", OPTIONAL, remedy)
    return Row("bubblewrap", version)


def browser() -> Row:
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if shutil.which(name):
            driver = "" if shutil.which("chromedriver") else ", but no chromedriver"
            return Row("Chromium", f"{name}{driver}", OPTIONAL if driver else OK)
    remedy = "only `make test-all` needs it: `apt install chromium chromium-driver`"
    return Row("Chromium", "not found", OPTIONAL, remedy)


def git() -> Row:
    version = _output("git", "--version")
    if not version:
        return Row("git", "not found", OPTIONAL, "needed to fetch newer versions of the course")
    return Row("git", version.replace("git version ", ""))


def disk(course: Course) -> Row:
    free = shutil.disk_usage(course.root).free / 1e9
    if free < ENOUGH_DISK:
        return Row("disk", f"{free:.1f} GB free", MISSING, f"make room: {ENOUGH_DISK:g} GB or more")
    return Row("disk", f"{free:.1f} GB free")


def repository(course: Course) -> Row:
    commit = _output("git", "-C", str(course.root), "log", "-1", "--format=%h of %cs")
    if not commit:
        return Row("course", f"{course.root}, not a git clone", OPTIONAL)
    changed = len(_output("git", "-C", str(course.root), "status", "--porcelain").splitlines())
    state = f"{changed} files changed" if changed else "nothing changed"
    return Row("course", f"{course.root} at {commit}, {state}")


def _output(*command: str) -> str:
    """What `command` prints, or an empty text where it is missing or fails."""
    try:
        result = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", timeout=10)
    except (OSError, subprocess.SubprocessError):
        return ""
    return result.stdout.strip() if result.returncode == 0 else ""


def _succeeds(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True, timeout=10).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False
