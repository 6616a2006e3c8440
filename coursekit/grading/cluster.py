"""`grade --cluster ADDRESS`: hands notebooks to the workers of a Dask scheduler, and loses none of them.

The queue is here, not there: each worker holds the few notebooks that it is grading, pinned to it. So this
side sees which worker had what when it died, and Dask repeats nothing by itself. Whatever happens to workers,
scheduler or network, a notebook is either taken once or still in the queue:

- a worker is used after `remote.check` has passed on it, and again only after it passed again;
- what a worker had when it died, failed or fell silent goes back to the front, each notebook by itself;
- what has cost two workers waits until all else is graded, then goes alone; after the third it is given up;
- where the scheduler is lost, all that was handed out goes back, and counts against nobody.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from nbformat import NotebookNode
from tqdm import tqdm

from coursekit.errors import CourseError
from coursekit.grading import remote
from coursekit.grading.model import NotebookRun, from_json
from coursekit.grading.remote import Job

LEAST, MOST = 4, 16  # notebooks that a worker gets at a time: starting to grade takes as long as some of them
GRACE = 60.0  # seconds beside its notebooks' that a batch may take
SILENT = 60.0  # seconds without a heartbeat, after which a worker is taken for hung
LAST_CALL = 10.0  # seconds in which another worker may come where none passes the check
PATIENCE = 600.0  # seconds without a scheduler, or without a worker that can be used
TICK = 0.1
FEW = 10  # messages that each end of a connection remembers, notebooks and all; Dask's 1,000 are a gigabyte
SUSPECT, GIVEN_UP = 2, 3  # workers that a notebook has cost

Run = Callable[[NotebookRun], None]


@dataclass(frozen=True)
class Batch:
    """Notebooks that travel together, and how many workers they have cost."""

    names: tuple[str, ...]
    cost: int = 0


@dataclass
class Sent:
    """What a worker was asked: to grade a batch, or without one to be checked."""

    future: Any
    batch: Batch | None
    until: float


@dataclass
class Worker:
    """One worker, as this side knows it."""

    name: str
    slots: int
    heartbeat: float = 0.0
    heard: float = 0.0  # when it was new, by this machine's clock
    state: Literal["new", "usable", "silent", "refused"] = "new"
    sent: list[Sent] = field(default_factory=list)


class Lost(Exception):
    """The scheduler does not answer."""


def _advice(address: str, error: str) -> str:
    if address.startswith("tls:") and "ssl_context" in error:
        return "name your certificates in Dask's settings, as docs/instructors.md says"
    return "start one with `dask scheduler`"


class Cluster:
    """The connection to a scheduler at `address`; `local:N` starts one here, with N workers."""

    def __init__(self, address: str) -> None:
        try:
            import dask
            import distributed
        except ImportError:
            raise CourseError(
                "--cluster needs Dask: `.venv/bin/python -m pip install distributed`, here and on each worker"
            ) from None
        self._distributed, self.address = distributed, address
        dask.config.set({"distributed.admin.low-level-log-length": FEW})
        self._local: Any = None
        self._client: Any = None
        if address.startswith("local:"):
            number = re.fullmatch(r"local:([1-9]\d{0,2})", address)
            if not number:
                raise CourseError(f"--cluster {address}: expected local:N, with a number of workers")
            self._local = distributed.LocalCluster(
                n_workers=int(number[1]),
                threads_per_worker=1,
                memory_limit=0,
                dashboard_address=None,
                silence_logs="CRITICAL",
            )
        try:
            self._open(10)
        except Lost as error:
            self.close()
            raise CourseError(
                f"--cluster {address}: no scheduler answers there ({error}); {_advice(address, str(error))}"
            ) from None

    def _open(self, seconds: float) -> None:
        target = self._local or self.address
        try:
            self._client = self._distributed.Client(target, timeout=seconds, set_as_default=False)
            self._scheduler = ""
        except (OSError, ValueError, TypeError, RuntimeError) as error:
            raise Lost(" ".join(str(error).split())[:200] or type(error).__name__) from None

    def reopen(self, seconds: float) -> None:
        """Connect anew, as soon as a scheduler is there. Raises Lost."""
        self._shut()
        deadline = time.monotonic() + seconds
        while True:
            try:
                return self._open(5)
            except Lost:
                if time.monotonic() > deadline:
                    raise
                time.sleep(1)

    def close(self) -> None:
        self._shut()
        if self._local is not None:
            with contextlib.suppress(Exception):
                self._local.close(timeout=5)

    def _shut(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            with contextlib.suppress(Exception):
                client.close(timeout=2)

    def workers(self) -> dict[str, dict[str, Any]]:
        """What the scheduler says of each of its workers, by address. Raises Lost."""
        try:
            found = self._client.sync(self._client.scheduler.identity, callback_timeout=30)
        except Exception as error:  # of the network, of the event loop, of a client that closed itself
            raise Lost(str(error)) from None
        self._scheduler = self._scheduler or found["id"]
        if found["id"] != self._scheduler:  # Dask's client connects to its successor by itself
            raise Lost("it was restarted")
        return {address: one for address, one in found["workers"].items() if one["status"] == "running"}

    def ask(self, address: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """A future for `function(*arguments)` on one worker and no other. Raises Lost."""
        try:
            return self._client.submit(function, *arguments, workers=[address], pure=False, retries=0)
        except Exception as error:
            raise Lost(str(error)) from None

    @staticmethod
    def forget(sent: Sent) -> None:
        with contextlib.suppress(Exception):
            sent.future.cancel(force=True)


class Spread:
    """Runs notebooks on the workers of a cluster, as `Conditions` runs them here."""

    def __init__(self, cluster: Cluster, job: Job, say: Callable[[str], None] | None = None) -> None:
        self.cluster, self.job = cluster, job
        self.remarks: list[str] = []  # on workers, for the instructor
        self.costly: dict[str, int] = {}  # notebooks that cost two workers or more
        self._say = say or (lambda words: tqdm.write(words, file=sys.stderr))
        self._workers: dict[str, Worker] = {}

    def run(self, made: Mapping[str, NotebookNode], expected: object, done: Run) -> None:
        """Grade the notebooks `made` by name; `done` gets the run of each, once."""
        self._made, self._done = made, done
        self._queue, self._last = deque(Batch((name,)) for name in made), deque[Batch]()
        self._left = set(made)
        self._useful = time.monotonic()
        looked = 0.0
        try:
            while self._left:
                try:
                    if time.monotonic() > looked + 1:
                        self._look()
                        looked = time.monotonic()
                    if not (self._collect() + self._hand_out()):
                        time.sleep(TICK)
                except Lost as error:
                    self._reconnect(error)
        finally:
            for worker in self._workers.values():
                for sent in worker.sent:
                    self.cluster.forget(sent)

    # Workers that come, go and fall silent

    def _look(self) -> None:
        present = self.cluster.workers()
        for address in self._workers.keys() - present.keys():
            worker = self._workers.pop(address)
            if worker.state != "refused":
                self._remark(f"{worker.name} went away; what it had is graded elsewhere")
            self._take_back(worker)
        for address, about in present.items():
            if address not in self._workers:
                name = address if str(about["name"]) == address else f"{about['name']} at {address}"
                self._workers[address] = Worker(f"worker {name}", max(1, about["nthreads"]))
            self._listen(self._workers[address], about["last_seen"])
            self._ask_to_check(address, self._workers[address])
        self._check_progress()

    def _listen(self, worker: Worker, heartbeat: float) -> None:
        """Take a worker without a heartbeat for hung, and for new where it has one again."""
        now = time.monotonic()
        if worker.heartbeat != heartbeat:
            worker.heartbeat, worker.heard = heartbeat, now
            if worker.state == "silent":
                worker.state = "new"
        elif now > worker.heard + SILENT and worker.state in ("new", "usable"):
            self._refuse(worker, "silent", f"gave no sign for {SILENT:.0f} seconds; not used until it does")

    def _ask_to_check(self, address: str, worker: Worker) -> None:
        if worker.state == "new" and not worker.sent:
            until = time.monotonic() + self._seconds(1)
            worker.sent.append(Sent(self.cluster.ask(address, remote.check, self.job), None, until))

    def _check_progress(self) -> None:
        """Stop where nothing can be expected any more."""
        states, now = {worker.state for worker in self._workers.values()}, time.monotonic()
        if states & {"new", "usable"}:
            self._useful = now
        elif states == {"refused"} and now > self._useful + LAST_CALL:
            self._stop("no worker can be used")
        elif now > self._useful + PATIENCE:
            self._stop(f"no worker for {PATIENCE / 60:.0f} minutes")

    def _stop(self, why: str) -> None:
        raise CourseError(
            f"--cluster {self.cluster.address}: {why}; mend them, and the same command goes on from here"
        )

    def _refuse(self, worker: Worker, state: Literal["silent", "refused"], why: str) -> None:
        self._remark(f"{worker.name}: {why}")
        worker.state = state
        self._take_back(worker)

    def _take_back(self, worker: Worker) -> None:
        """What the worker had goes back into the queue, and counts against it."""
        for sent in worker.sent:
            self.cluster.forget(sent)
            if sent.batch:
                self._again(sent.batch, 1)
        worker.sent.clear()

    def _again(self, batch: Batch, cost: int) -> None:
        for name in batch.names:
            total = batch.cost + cost
            if name not in self._left:
                continue
            if total >= SUSPECT:
                self.costly[name] = total
            if total >= GIVEN_UP:
                self._take(NotebookRun(name))
            elif total >= SUSPECT:
                self._last.append(Batch((name,), total))
            else:
                self._queue.appendleft(Batch((name,), total))

    def _reconnect(self, error: Lost) -> None:
        self._remark(f"the scheduler {self.cluster.address} was lost; what was handed out is graded again")
        for worker in self._workers.values():
            for sent in worker.sent:
                if sent.batch:
                    self._again(sent.batch, 0)
        self._workers.clear()
        try:
            self.cluster.reopen(PATIENCE)
        except Lost:
            self._stop(f"no scheduler answered for {PATIENCE / 60:.0f} minutes ({error})")
        self._useful = time.monotonic()

    # Batches

    def _hand_out(self) -> int:
        """Give each worker what it has room for; what cost two goes last, alone."""
        handed = 0
        for address, worker in self._workers.items():
            while worker.state == "usable" and len(worker.sent) < worker.slots and (batch := self._next()):
                texts = {name: json.dumps(self._made[name]) for name in batch.names}
                worker.sent.append(Sent(None, batch, time.monotonic() + self._seconds(len(texts))))
                worker.sent[-1].future = self.cluster.ask(address, remote.grade, self.job.key, texts)
                handed += 1
        return handed

    def _next(self) -> Batch | None:
        if not self._queue:
            busy = any(sent.batch for worker in self._workers.values() for sent in worker.sent)
            return self._last.popleft() if self._last and not busy else None
        slots = sum(worker.slots for worker in self._workers.values())
        most = max(LEAST, min(MOST, len(self._queue) // (2 * slots)))  # the last ones end together
        first = self._queue.popleft()
        names = list(first.names)
        while not first.cost and len(names) < most and self._queue and not self._queue[0].cost:
            names += self._queue.popleft().names
        return Batch(tuple(names), first.cost)

    def _seconds(self, notebooks: int) -> float:
        return GRACE + notebooks * (self.job.budget or 600.0)

    def _collect(self) -> int:
        """Take what workers have done, and back what they will not do."""
        ended = [
            (worker, sent) for worker in self._workers.values() for sent in worker.sent if self._ended(sent)
        ]
        for worker, sent in ended:
            if sent not in worker.sent:  # taken back with the worker just now
                continue
            worker.sent.remove(sent)
            if sent.batch is None:
                self._checked(worker, sent)
            else:
                self._graded(worker, sent, sent.batch)
            self.cluster.forget(sent)
        return len(ended)

    @staticmethod
    def _ended(sent: Sent) -> bool:
        return sent.future.status != "pending" or time.monotonic() > sent.until

    def _checked(self, worker: Worker, sent: Sent) -> None:
        why = self._answer(sent)
        if isinstance(why, TimeoutError) and time.monotonic() < sent.until:
            return  # the answer was lost on its way; it is asked again, if it is still there
        if isinstance(why, Exception):
            self._refuse(
                worker, "refused", f"not used: it cannot be checked ({type(why).__name__}: {str(why)[:200]})"
            )
        elif why:
            self._refuse(worker, "refused", f"not used: {why}")
        else:
            worker.state = "usable"

    def _graded(self, worker: Worker, sent: Sent, batch: Batch) -> None:
        found = self._answer(sent)
        if not isinstance(found, list):
            worker.state = "new"  # to be checked again
            costs = {
                "NotChecked": 0,
                "CancelledError": 0,
                "KilledWorker": SUSPECT if len(batch.names) == 1 else 1,
            }
            return self._again(batch, costs.get(type(found).__name__, 1))
        for run in map(from_json, found):
            if any(cell.status != "missing" for cell in run.cells):
                self._take(run)
        rest = tuple(name for name in batch.names if name in self._left)
        if rest:  # nothing of them ran
            worker.state = "new"
            self._again(Batch(rest, batch.cost), 1)

    @staticmethod
    def _answer(sent: Sent) -> Any:
        """What came back, an exception included."""
        if sent.future.status == "pending":
            return TimeoutError("it took longer than it may")
        try:
            return sent.future.result(timeout=10)
        except Exception as error:
            return error

    def _take(self, run: NotebookRun) -> None:
        """The only place where a notebook leaves the queue."""
        if run.name in self._left:
            self._left.discard(run.name)
            self._done(run)

    def _remark(self, words: str) -> None:
        self.remarks.append(words)
        self._say(words)


@contextlib.contextmanager
def opened(address: str) -> Iterator[Cluster]:
    cluster = Cluster(address)
    try:
        yield cluster
    finally:
        cluster.close()
