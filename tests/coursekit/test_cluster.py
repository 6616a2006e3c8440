"""`grade --cluster`: real schedulers and workers, which are killed, stopped and restarted."""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import tiny_course as tiny

from coursekit import __main__ as command
from coursekit.errors import CourseError
from coursekit.grading import cluster
from coursekit.grading import grade as grading
from coursekit.grading.cluster import Cluster, Sent, Spread
from coursekit.grading.model import CellRun, NotebookRun, to_json
from coursekit.grading.remote import Job

pytest.importorskip("distributed")
pytestmark = pytest.mark.thorough

HELPERS = Path(__file__).parents[1] / "helpers"
EXPECTED = to_json(NotebookRun("reference", (CellRun("double-hidden", "1.1", "ok"),)))
JOB = Job("/", {"NumPy": "1"}, 7, False, None, 60.0, "{}", json.dumps(EXPECTED), "")


class Field:
    """A scheduler and workers, each a process of its own."""

    def __init__(self, folder: Path, toy: bool = True) -> None:
        self.folder, self.toy = folder, toy
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.log = folder / "log"
        self.log.touch()
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.start_scheduler()

    def start_scheduler(self) -> None:
        options = ["--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard", "--no-show"]
        self._start("scheduler", "scheduler", *options)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.1)
        raise TimeoutError("the scheduler does not come up")

    def worker(self, name: str, version: str = "1") -> None:
        preload = ["--preload", str(HELPERS / "toy_worker.py")] if self.toy else []
        options = ["--no-nanny", "--no-dashboard", "--nthreads", "1", "--memory-limit", "0", "--name", name]
        place = ["--local-directory", str(self.folder)]
        self._start(name, "worker", self.address, *options, *place, *preload, TOY_VERSION=version)

    def _start(self, name: str, *command: str, **environment: str) -> None:
        root = str(Path(__file__).parents[2])
        self.processes[name] = subprocess.Popen(
            [sys.executable, "-m", "dask", *command],
            env={**os.environ, "PYTHONPATH": root, "TOY_LOG": str(self.log), **environment},
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=open(self.folder / f"{name}.txt", "ab"),  # noqa: SIM115 (the child has it)
            start_new_session=True,
        )

    def kill(self, name: str) -> None:
        process = self.processes.pop(name)
        process.kill()
        process.wait()

    def signal(self, name: str, kind: int) -> None:
        self.processes[name].send_signal(kind)

    def begun(self) -> list[str]:
        """The notebooks that a worker began, one that died over it included."""
        names = (line.split()[1] for line in self.log.read_text().splitlines())
        return [name for name in names if name != "reference"]

    def close(self) -> None:
        for name in list(self.processes):
            self.kill(name)


@pytest.fixture
def field(tmp_path: Path) -> Iterator[Field]:
    made = Field(tmp_path)
    yield made
    made.close()


class Grading:
    """One run on a field, in a thread, beside which a test can do harm."""

    def __init__(self, field: Field, notebooks: dict[str, dict[str, Any]]) -> None:
        self.taken: list[NotebookRun] = []
        self.said: list[str] = []
        self.error: BaseException | None = None
        self.cluster = Cluster(field.address)
        self.spread = Spread(self.cluster, JOB, self.said.append)
        self.thread = threading.Thread(target=self._run, args=(notebooks,), daemon=True)
        self.thread.start()

    def _run(self, notebooks: Any) -> None:
        try:
            self.spread.run(notebooks, None, self.taken.append)
        except BaseException as error:
            self.error = error

    def until(self, true: Callable[[], bool], seconds: float = 90) -> None:
        deadline = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < deadline, (self.said, len(self.taken), self.error)
            time.sleep(0.05)

    def states(self) -> list[str]:
        return [one.state for one in list(self.spread._workers.values())]

    def end(self, seconds: float = 120) -> dict[str, int]:
        """How often each notebook was taken, in the end."""
        self.thread.join(seconds)
        self.cluster.close()
        assert not self.thread.is_alive(), (self.said, len(self.taken))
        if self.error:
            raise self.error
        return Counter(run.name for run in self.taken)


def notebooks(count: int, door: Path | None = None, **what: Any) -> dict[str, dict[str, Any]]:
    """As many notebooks; with a `door`, one that waits for such a file: no run ends before."""
    waiting = {"n99999": {"wait": str(door)}} if door else {}
    return {f"n{number:05}": dict(what) for number in range(count)} | waiting


def once(made: dict[str, Any]) -> dict[str, int]:
    return dict.fromkeys(made, 1)


def test_a_worker_that_is_killed_costs_nobody_anything(field: Field) -> None:
    made = notebooks(60, door := field.folder / "door", sleep=0.2)
    field.worker("one")
    field.worker("two")
    grading = Grading(field, made)
    grading.until(lambda: grading.states() == ["usable"] * 2)
    field.kill("one")
    grading.until(lambda: grading.states() == ["usable"])
    door.touch()
    assert grading.end() == once(made)
    assert all(run.cells for run in grading.taken)
    assert [line for line in grading.said if "went away" in line]
    assert not grading.spread.costly
    assert len(field.begun()) <= 61 + cluster.MOST  # what it had was begun again, and nothing else


@pytest.mark.nightly
def test_a_worker_that_hangs_is_left_alone_until_it_is_back(field: Field, monkeypatch: Any) -> None:
    monkeypatch.setattr(cluster, "SILENT", 8.0)
    made = notebooks(40, door := field.folder / "door", sleep=0.2)
    field.worker("one")
    field.worker("two")
    grading = Grading(field, made)
    grading.until(lambda: grading.states() == ["usable"] * 2)
    field.signal("one", signal.SIGSTOP)
    grading.until(lambda: any("gave no sign" in line for line in grading.said))
    field.signal("one", signal.SIGCONT)
    grading.until(lambda: grading.states() == ["usable"] * 2)
    door.touch()
    assert grading.end() == once(made)


def test_what_was_handed_out_is_not_kept() -> None:
    """Dask remembers a thousand messages, and each may hold the notebooks of a batch."""
    cluster, seen = Cluster("local:1"), []
    try:
        (address,) = cluster.workers()
        for _ in range(60):
            texts = np.zeros(10_000)
            seen.append(weakref.ref(texts))
            sent = Sent(cluster.ask(address, len, texts), None, 0)
            assert sent.future.result(timeout=60) == 10_000
            cluster.forget(sent)
            del texts, sent
        gc.collect()
        assert sum(one() is not None for one in seen) < 25
    finally:
        cluster.close()


@pytest.mark.nightly  # it waits for time limits of Dask, which a busy machine stretches
def test_a_restarted_scheduler_loses_nothing(field: Field) -> None:
    made = notebooks(60, door := field.folder / "door", sleep=0.05)
    field.worker("one")
    grading = Grading(field, made)
    grading.until(lambda: len(grading.taken) > 4)
    field.kill("scheduler")
    field.kill("one")
    time.sleep(1)
    field.start_scheduler()
    field.worker("one")
    grading.until(lambda: any("scheduler" in line and "lost" in line for line in grading.said))
    door.touch()
    assert grading.end() == once(made)
    assert not grading.spread.costly  # nobody's fault


@pytest.mark.nightly
def test_a_notebook_that_kills_workers_goes_last_and_alone_and_is_given_up(field: Field) -> None:
    made = notebooks(30, sleep=0.02) | {"n00003": {"die": True}}
    for number in range(3):
        field.worker(f"w{number}")
    grading = Grading(field, made)
    grading.until(lambda: field.begun().count("n00003") == 2)
    field.worker("fresh")
    grading.until(lambda: field.begun().count("n00003") == 3)
    assert len(grading.taken) == 29  # all others were done before its third try
    field.worker("fresher")
    assert grading.end() == once(made)
    poison = [run.name for run in grading.taken if not run.cells]
    assert poison == ["n00003"] and grading.taken[-1].name == "n00003"
    assert grading.spread.costly == {"n00003": 3}
    assert field.begun().count("n00003") == 3


def test_a_worker_that_fails_the_check_is_named_and_not_used(field: Field) -> None:
    made = notebooks(12, door := field.folder / "door")
    field.worker("old", version="0.9")
    field.worker("good")
    grading = Grading(field, made)
    grading.until(lambda: any("old" in line for line in grading.said))
    door.touch()
    assert grading.end() == once(made)
    (line,) = [line for line in grading.said if "old" in line]
    assert "its NumPy is 0.9, the grader's 1" in line
    used = {line.split()[0] for line in field.log.read_text().splitlines()}
    assert used == {str(field.processes["good"].pid)}


def test_where_no_worker_passes_the_run_stops_with_its_reason(field: Field, monkeypatch: Any) -> None:
    monkeypatch.setattr(cluster, "LAST_CALL", 1.0)
    field.worker("old", version="0.9")
    with pytest.raises(CourseError, match="no worker can be used"):
        Grading(field, notebooks(2)).end()


def test_no_scheduler_is_one_line() -> None:
    with pytest.raises(CourseError, match="no scheduler answers there"):
        Cluster("tcp://127.0.0.1:9")
    with pytest.raises(CourseError, match="expected local:N"):
        Cluster("local:many")


# The whole command, on a class


def test_an_address_that_does_not_answer_is_told_before_the_control_runs(
    tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    course = tiny.make_tiny_course(tmp_path / "course")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "ada.ipynb").write_text(json.dumps(tiny.submission(tiny.reference_answers())))
    monkeypatch.setattr(grading, "control", lambda *_, **__: pytest.fail("the control ran"))
    monkeypatch.setattr(cluster, "Cluster", refuses)
    where = [
        "--course",
        str(course.root),
        "grade",
        "01",
        str(tmp_path / "in"),
        "--out",
        str(tmp_path / "out"),
    ]
    assert command.main([*where, "--sandbox", "off", "--cluster", "tcp://127.0.0.1:9"]) == 2
    assert capsys.readouterr().err == "error: no scheduler answers there\n"


def refuses(address: str) -> Cluster:
    raise CourseError("no scheduler answers there")


def grade(course: Path, submitted: Path, out: Path, *more: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "coursekit", "--course", str(course), "grade", "01", str(submitted)]
    root = Path(__file__).parents[2]
    return subprocess.Popen(
        [*command, "--out", str(out), "--seed", "7", "--sandbox", "off", *more],
        cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def kept(out: Path) -> dict[str, bytes]:
    files = [out / "grades.csv", out / "grades_long.csv", *out.glob("feedback/*/*.html")]
    return {str(path.relative_to(out)): path.read_bytes() for path in files}


@pytest.mark.nightly
def test_a_grader_and_a_worker_are_killed_and_the_bytes_are_those_of_one_machine(tmp_path: Path) -> None:
    course, submitted = tmp_path / "course", tmp_path / "hand in"
    tiny.make_tiny_course(course)
    for number in range(20):
        answers = tiny.reference_answers() if number % 3 else {"1.1": "# exercise: 1.1\ndouble = str"}
        tiny.submit(submitted, f"student{number:02}", tiny.submission(answers))
    assert grade(course, submitted, tmp_path / "here").wait(300) == 0
    out, field = tmp_path / "there", Field(tmp_path, toy=False)
    try:
        field.worker("one")
        field.worker("two")
        first = grade(course, submitted, out, "--cluster", field.address)
        runs = out / ".coursekit" / "runs"
        wait_for(lambda: len(list(runs.glob("*.json"))) >= 4)
        first.kill()
        first.wait()
        done = {path.name: path.stat().st_mtime_ns for path in runs.glob("*.json")}
        second = grade(course, submitted, out, "--cluster", field.address)
        wait_for(lambda: len(list(runs.glob("*.json"))) > len(done) or second.poll() is not None)
        again = {path.name: path.stat().st_mtime_ns for path in runs.glob("*.json")}
        assert second.poll() is not None or {name: again[name] for name in done} == done  # not graded twice
        field.kill("one")
        assert second.wait(300) == 0
    finally:
        field.close()
    assert kept(out) == kept(tmp_path / "here")
    wait_for(lambda: not [one for one in psutil.process_iter(["cmdline"]) if of_pytest(one, tmp_path)])


def of_pytest(process: psutil.Process, folder: Path) -> bool:
    return str(folder) in " ".join(process.info["cmdline"] or ())


def wait_for(true: Callable[[], bool], seconds: float = 240) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)
