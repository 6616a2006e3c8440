"""A plugin for pytest, on nbval's classes: an item for each hidden test of a notebook that `assemble` built.

nbval collects and runs; the verdict is `compare`'s alone. nbval's comparison of outputs, its markers in
comments and tags, and its way of running cells are not used.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbval.plugin import IPyNbCell, IPyNbFile

from coursekit.grading.client import Kernel
from coursekit.grading.flow import Budget, Flow, hidden_tests, info, nothing
from coursekit.grading.model import CellRun, NotebookRun, save_run
from coursekit.grading.run import end_group
from coursekit.grading.sandbox import Launch

SETTINGS = "--coursekit-settings"
OWN_MEMORY = 3 * 2**30


class Settings:
    """What run.py wrote for this process."""

    def __init__(self, path: Path) -> None:
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        self.folder = path.parent
        self.launch = Launch.from_json(data["launch"])
        self.seed: int = data["seed"]
        self.timeout: float | None = data["timeout"]
        self.budget: float | None = data["budget"]
        self.grader: int = data["grader"]
        self.notebooks: dict[str, Any] = data["notebooks"]  # file name -> its name, and libraries by room
        self.expected: str | None = data["expected"]

    @cached_property
    def verdict(self) -> Callable[[CellRun], str | None]:
        if self.expected is None:
            return lambda cell: None if cell.status == "ok" else cell.error or cell.status
        from coursekit.grading.compare import load_expected

        return load_expected(Path(self.expected))


settings_key = pytest.StashKey[Settings]()
spare_key = pytest.StashKey[dict[str, list[Kernel]]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(SETTINGS, help="what coursekit.grading.run wrote for this run")


def pytest_configure(config: pytest.Config) -> None:
    settings = Settings(Path(config.getoption(SETTINGS)))
    config.stash[settings_key] = settings
    config.stash[spare_key] = {}
    if not hasattr(config, "workerinput"):
        threading.Thread(target=end_with, args=(settings.grader, settings.folder), daemon=True).start()
    if settings.launch.wrapper:  # whatever a box sends, this process does not eat the machine
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (OWN_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))


def end_with(grader: int, folder: Path) -> None:
    """Clean up and end when the process `grader`, our parent, was killed: it could do neither."""
    pytest_itself = os.getpid()
    while os.getppid() == grader:
        time.sleep(1)
    if not os.fork():  # one outside ends us all
        os.setsid()
        end_group(pytest_itself)
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)


def pytest_unconfigure(config: pytest.Config) -> None:
    for kernels in config.stash[spare_key].values():
        for kernel in kernels:
            kernel.close()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix != ".ipynb":
        return None
    file: pytest.Collector = GradedFile.from_parent(parent, path=file_path)
    return file


class Failed(Exception):
    """A hidden test that did not pass, in words."""


class GradedFile(IPyNbFile):  # type: ignore[misc]
    """One notebook: starts kernels when hidden tests run, writes one JSON after the last."""

    def collect(self) -> Iterator[GradedCell]:
        notebook = nbformat.read(self.path, as_version=4)  # type: ignore[no-untyped-call]
        self.settings = self.config.stash[settings_key]
        self.entry = self.settings.notebooks[self.path.name]
        about: dict[str, Any] = {
            "seed": self.settings.seed,
            "timeout": self.settings.timeout,
            "budget": Budget(self.settings.budget),  # of all together
        }
        trusted = info(notebook).get("trusted", False)
        self.flows = {
            room: Flow(notebook, partial(self.start, library), **about, room=room, trusted=trusted)
            for room, library in self.entry["libraries"].items()
        }
        for room in self.flows if trusted else ["cuda"]:
            self.flows[room].spare = self.spare(notebook, room, trusted)
        self.runs = {cell.grade_id: cell for cell in nothing(self.entry["name"], notebook).cells}
        numbers = {id(cell): number for number, cell in enumerate(notebook.cells)}
        for cell in hidden_tests(notebook):
            name = str(info(cell)["grade_id"])
            yield GradedCell.from_parent(self, name=name, cell_num=numbers[id(cell)], cell=cell, options={})

    def spare(self, notebook: nbformat.NotebookNode, room: str, trusted: bool) -> list[Kernel]:
        """Kernels that ran the set-up cells of a room of this notebook, and no student's Python."""
        set_up = [cell.source for cell in notebook.cells if room in info(cell).get("rooms", ())]
        spares: dict[str, list[Kernel]] = self.config.stash[spare_key]
        return spares.setdefault(json.dumps([self.entry["libraries"][room], set_up, trusted]), [])

    def start(self, library: str) -> Kernel:
        folder = self.settings.folder / "k" / self.path.stem[:8]
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return Kernel(self.settings.launch, Path(library), folder)

    def setup(self) -> None:
        """nbval would start a kernel outside the box."""

    def teardown(self) -> None:
        for flow in self.flows.values():
            flow.end()
        run = NotebookRun(self.entry["name"], tuple(self.runs.values()))
        save_run(self.settings.folder / "results" / f"{self.path.stem}.json", run)
        self.runs.clear()  # pytest keeps this object to the end


class GradedCell(IPyNbCell):  # type: ignore[misc]
    """One hidden test."""

    def setup(self) -> None:
        """nbval would expect all cells after a timeout to fail."""

    def runtest(self) -> None:
        flow, settings = self.parent.flows[info(self.cell)["room"]], self.config.stash[settings_key]
        run = flow.run(self.cell)
        message = settings.verdict(run)
        if message is not None and settings.expected is not None and run.status in ("ok", "error"):
            run = replace(run, quoted=flow.quote(self.cell))
        self.parent.runs[self.name] = run
        if message is not None:
            raise Failed(message)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> str:
        if isinstance(excinfo.value, Failed):
            return str(excinfo.value)
        return str(excinfo.getrepr(style="short"))

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.cell_num, f"{self.path.stem}: {self.name}"
