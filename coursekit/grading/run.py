"""Run many notebooks: one pytest over a private folder, one JSON for each notebook as it ends.

Whatever ends this process, nothing of a run stays: where it can still act (Ctrl-C, SIGTERM, SIGHUP) it cleans
up itself, else pytest does (see `plugin`).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

from nbformat import NotebookNode

from coursekit.course import Course
from coursekit.errors import CourseError
from coursekit.grading import sandbox
from coursekit.grading.flow import info, nothing
from coursekit.grading.model import NotebookRun, load_run
from coursekit.grading.sandbox import Box, make_library

TICK = 0.05


def run_notebooks(
    notebooks: Mapping[str, NotebookNode],
    *,
    course: Course,
    seed: int,
    box: Box,
    workers: int,
    timeout: float | None = None,
    budget: float | None = None,
    expected: Path | None = None,
    on_done: Callable[[NotebookRun], None] | None = None,
    junit: Path | None = None,
) -> dict[str, NotebookRun]:
    """Run the hidden tests of all `notebooks` (name -> as `assemble` built it); one result for each name.

    With `on_done`, each result goes there as its notebook ends, and none is kept: strangers may show much.
    `timeout` (seconds for a cell) overrides what notebooks say; `budget` is the seconds for a whole notebook.
    """
    if not notebooks:
        return {}
    runs: dict[str, NotebookRun] = {}
    done: set[str] = set()

    def take(run: NotebookRun) -> None:
        done.add(run.name)
        if on_done:
            on_done(run)
        else:
            runs[run.name] = run

    with private_folder() as folder:
        files = write_notebooks(folder, notebooks)
        settings = {
            "launch": box.prepare(folder, hide=[course.root]).to_json(),
            "seed": seed,
            "timeout": timeout,
            "budget": budget,
            "grader": os.getpid(),
            "expected": str(expected.resolve()) if expected else None,
            "notebooks": libraries(folder, files, notebooks, course),
        }
        (folder / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
        follow(pytest(folder, min(workers, len(notebooks)), junit), folder, files, take)
    for name in notebooks.keys() - done:
        take(nothing(name, notebooks[name]))
    return runs


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP end the body as Ctrl-C does, and once: what cleans up is not disturbed."""
    kinds = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():
        kinds = []  # Python leaves signals to the main thread
    mine = [kind for kind in kinds if signal.getsignal(kind) is signal.SIG_DFL]  # nohup ignores SIGHUP

    def stop(*_: object) -> NoReturn:
        for kind in mine:
            signal.signal(kind, signal.SIG_IGN)
        raise KeyboardInterrupt

    for kind in mine:
        signal.signal(kind, stop)
    try:
        yield
    finally:
        for kind in mine:
            signal.signal(kind, signal.SIG_DFL)


@contextmanager
def private_folder() -> Iterator[Path]:
    """A new folder that only this user can enter, gone afterwards. Its path is short: sockets need that."""
    with ended_by_signals():
        yield from _private_folder()


def _private_folder() -> Iterator[Path]:
    base = tempfile.gettempdir()
    folder = Path(tempfile.mkdtemp(prefix="coursekit-", dir="/tmp" if len(base) > 60 else base)).resolve()
    for name in ("notebooks", "results", "library", "k"):
        (folder / name).mkdir(mode=0o755)
    try:
        yield folder
    finally:
        for _ in range(20):  # a process on its way out may still write
            shutil.rmtree(folder, ignore_errors=True)
            if not folder.exists():
                break
            time.sleep(TICK)


def write_notebooks(folder: Path, notebooks: Mapping[str, NotebookNode]) -> dict[str, str]:
    """Write each notebook; return file name -> name. A name that is not plain is replaced by a number."""
    files: dict[str, str] = {}
    for number, (name, notebook) in enumerate(notebooks.items(), 1):
        plain = re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,80}", name)
        file = f"{number:05}-{name if plain else 'notebook'}.ipynb"
        (folder / "notebooks" / file).write_text(json.dumps(notebook), encoding="utf-8")
        files[file] = name
    return files


def libraries(
    folder: Path, files: Mapping[str, str], notebooks: Mapping[str, NotebookNode], course: Course
) -> dict[str, dict[str, Any]]:
    """What each notebook may import in each of its rooms, written once for each different list."""
    made: dict[tuple[str, ...], Path] = {}
    entries = {}
    for file, name in files.items():
        rooms = {room: tuple(sorted(some)) for room, some in info(notebooks[name])["libraries"].items()}
        for modules in rooms.values():
            if modules not in made:
                made[modules] = make_library(folder / "library" / str(len(made)), course.library, modules)
        entries[file] = {
            "name": name,
            "libraries": {room: str(made[modules]) for room, modules in rooms.items()},
        }
    return entries


@contextmanager
def pytest(folder: Path, workers: int, junit: Path | None) -> Iterator[subprocess.Popen[bytes]]:
    """The one pytest, which sees nothing but the private folder and the plugins named here."""
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-c", "pytest.ini", "--rootdir", str(folder), "--noconftest"]
    command += [
        "--basetemp",
        str(folder / "tmp"),
        "-p",
        "coursekit.light",
        "-p",
        "no:cacheprovider",
        "-p",
        "nbval.plugin",
        "-p",
        "coursekit.grading.plugin",
    ]
    command += ["--coursekit-settings", str(folder / "settings.json"), "-q", "--color=no", "--tb=short"]
    if workers > 1:
        command += ["-p", "xdist.plugin", "-n", str(workers), "--dist", "loadfile"]
    if junit:
        command += ["--junit-xml", str(junit.resolve()), "-o", "junit_family=xunit2"]
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(
            [*command, "notebooks"],
            cwd=folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        stop(process)


def environment() -> dict[str, str]:
    """This process's environment without what would change pytest or Python; coursekit can be imported."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHON"))}
    source = str(Path(__file__).parents[2])
    return {**kept, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": source, "PYTHONSAFEPATH": "1"}


def stop(process: subprocess.Popen[bytes]) -> None:
    """End pytest, its workers and their kernels."""
    if process.poll() is None:
        end_group(process.pid)
        process.wait()
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # workers that outlived it


def end_group(leader: int) -> None:
    """End a group of processes, and what its leader has below itself in other groups.

    They are stopped first: a kernel that was just being started would not know yet with whom to die.
    """
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGSTOP)
    below = [pid for pid in sandbox.family(leader) if pid != os.getpid()]
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)
    for pid in below:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def follow(running: Any, folder: Path, files: Mapping[str, str], take: Callable[[NotebookRun], None]) -> None:
    """Wait for pytest to end; `take` each result as it comes."""
    with running as process:
        ended = False
        while not ended:
            ended = process.poll() is not None
            for run in new_results(folder, files):
                take(run)
            if not ended:
                time.sleep(TICK)
        if process.returncode not in (0, 1):
            tail = " ".join((folder / "log").read_text(encoding="utf-8", errors="replace").split())[-300:]
            raise CourseError(f"grading stopped: pytest ended with code {process.returncode}: {tail}")


def new_results(folder: Path, files: Mapping[str, str]) -> Iterator[NotebookRun]:
    """The results that have come, each once."""
    for path in sorted((folder / "results").glob("*.json")):
        if f"{path.stem}.ipynb" in files:
            yield load_run(path)
            path.unlink()
