"""The order in which one notebook is graded.

Each exercise is run as if the notebook held nothing else: set-up cells, helpers, its answer, its hidden
tests. One kernel serves them all; between exercises it goes back to the state after the set-up cells. A
kernel that was lost, or that cannot go back, is replaced, and what lost it is left out from then on.

All of it together has a budget. One cell gets at most half of what is left, so that what hangs leaves time
for the exercises after it.
"""

from __future__ import annotations

import hashlib
import math
import re
import time
from collections.abc import Callable
from copy import copy
from typing import Any

from nbformat import NotebookNode

from coursekit.grading.client import Kernel, Shown
from coursekit.grading.model import CellRun, NotebookRun

HELPERS = "helpers"
DEFAULT_TIMEOUT = 30.0
QUICK = 10.0  # seconds for the grader's own requests
STUBS_RAISE = ("Unsolved", "NotImplementedError")  # ours, and nbgrader's
STARTS = 3  # tries to get through the set-up cells
PATIENCE = (
    4  # cells that may wait for their full timeout; then one notebook has kept the others waiting enough
)
LEAST = 1.0  # second, without which nothing is begun


class Budget:
    """The seconds that one notebook may take, whatever it spends them on; None: as many as it likes.

    The time spent in `with budget:` counts.
    """

    def __init__(self, seconds: float | None = None) -> None:
        self.seconds = math.inf if seconds is None else seconds
        self._used = 0.0
        self._since: float | None = None

    def __str__(self) -> str:
        return f"{self.seconds:g} seconds"

    def __enter__(self) -> None:
        self._since = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self._used, self._since = self.used, None

    @property
    def used(self) -> float:
        return self._used + (time.monotonic() - self._since if self._since is not None else 0.0)

    @property
    def left(self) -> float:
        return max(0.0, self.seconds - self.used)

    @property
    def over(self) -> bool:
        return self.left < LEAST


class Flow:
    """Runs hidden tests of one notebook, one after the other.

    Those of one room: its set-up cells alone run in the flow's kernel. Answers in CUDA C (the room "cuda")
    have one in which no Python of a student ever runs, helpers included: what their tests show can be
    trusted, and the next notebook can use it. So it is with `trusted` answers, the course's own.
    """

    def __init__(
        self,
        notebook: NotebookNode,
        start: Callable[[], Kernel],
        *,
        seed: int,
        timeout: float | None = None,
        budget: Budget | None = None,
        room: str = "python",
        spare: list[Kernel] | None = None,
        trusted: bool = False,
    ) -> None:
        self.start = start
        self.room = room
        self.spare = spare  # kernels after their set-up cells, from notebooks graded before
        self.trusted = trusted
        self.seed = seed
        self.timeout = timeout
        self.budget = budget or Budget()
        self.notebook_timeout = info(notebook).get("timeout")
        self.cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
        self.kernel: Kernel | None = None
        self.loaded: str | None = None  # the exercise whose answer the kernel has run
        self.verdicts: dict[str, Shown] = {}  # answers that lost the kernel, or are stubs
        self.stopped: Shown | None = None  # the loaded answer, where an error ended its cell
        self.setup_error = ""
        self.starts_left = STARTS
        self.timeouts = 0
        self.used = False  # whether the kernel has run the answer of another exercise
        self.tested = False  # ... or a hidden test
        self.trouble = False  # whether an answer failed otherwise than by showing wrong values

    def take_up(self, notebook: NotebookNode) -> None:
        """Go on with other answers to the same chapter; the kernel stays."""
        self.cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
        self.loaded, self.timeouts, self.starts_left, self.setup_error = None, 0, STARTS, ""
        self.verdicts.clear()

    def run(self, cell: NotebookNode) -> CellRun:
        """Run one hidden test. Its seconds are all that passed: those of set-up, restarts, retries too."""
        exercise, grade_id = str(info(cell).get("exercise")), str(info(cell).get("grade_id"))
        before = self.budget.used
        with self.budget:
            shown = self.tried(cell, exercise, grade_id)
        seconds = round(self.budget.used - before, 3)
        return CellRun(grade_id, exercise, status(shown), tuple(shown.probes), self.error(shown), seconds)

    def tried(self, cell: NotebookNode, exercise: str, grade_id: str) -> Shown:
        """What one hidden test shows; where its kernel was lost, perhaps by another answer, in a new one."""
        if self.budget.over and exercise not in self.verdicts:
            return Shown("missing", error=f"not run: the notebook had used up its {self.budget}")
        shown = self.attempt(cell, exercise, grade_id)
        lost = shown.status in ("died", "flood") or shown.error_type == "MemoryError"
        if lost and self.used and not self.budget.over:
            self.close()
            self.verdicts.pop(exercise, None)
            shown = self.attempt(cell, exercise, grade_id)
        return shown

    def attempt(self, cell: NotebookNode, exercise: str, grade_id: str) -> Shown:
        shown = self.load(exercise, alone=info(cell).get("measures", False))
        if shown.status == "ok" and self.kernel:
            about = [name for one in self.of("answer", exercise) for name in info(one).get("about", ())]
            asked = "hidden", entropy(self.seed, grade_id), about, info(cell).get("binds", ())
            shown = after(self.stopped, self.execute(cell, *asked))
            self.tested = True
            if shown.status == "timeout":  # the exercise's further tests would wait as long
                self.verdicts[exercise] = shown
        return shown

    def quote(self, cell: NotebookNode) -> str:
        """What the first visible check that fails says of the answer that `cell` has just tested, or ""."""
        exercise, trouble = str(info(cell).get("exercise")), self.trouble
        if self.loaded != exercise or self.kernel is None or self.budget.over:
            return ""
        about = [name for one in self.of("answer", exercise) for name in info(one).get("about", ())]
        said = ""
        with self.budget:
            for source in info(cell).get("visible", ()):
                check = copy(cell)
                check.source = source
                shown = self.execute(check, "hidden", entropy(self.seed, exercise), about)
                if shown.status == "error" and not self.lacks_set_up(shown.error):
                    # another error than the test's own says something, too
                    said = shown.error.removeprefix("AssertionError").lstrip(": ")
                if shown.status != "ok":
                    break
        self.trouble = trouble
        return said

    def lacks_set_up(self, error: str) -> bool:
        """Whether a visible check misses what only other rooms have: no fault of the answer."""
        found = re.match(r"NameError: name '(\w+)' is not defined", error)
        if found is None:
            return False
        cells = [info(cell) for cell in self.cells if "rooms" in info(cell)]
        having = [cell["rooms"] for cell in cells if found[1] in cell.get("gives", ())]
        return bool(having) and not any(self.room in rooms for rooms in having)

    def load(self, exercise: str, alone: bool = False) -> Shown:
        """Bring the kernel into the state in which the hidden tests of `exercise` run.

        A test of memory is `alone`: what answers have put by while they were tested, wherever it is, would
        not be measured. So it has a kernel in which nothing has been tested.
        """
        if exercise in self.verdicts:
            return self.verdicts[exercise]
        if alone and (self.used or self.tested) and not self.trusted:
            self.close()
        if self.loaded == exercise and self.kernel:
            return Shown()
        shown = self.set_up()
        if shown.status != "ok":
            return shown
        shown = self.answer(exercise)
        self.loaded = exercise
        return shown

    def answer(self, exercise: str) -> Shown:
        """Run what the answer borrows, the helpers and the answer.

        Helpers that lose the kernel are left out afterwards. An error in the answer's cell is no verdict: the
        hidden tests decide on what it defined before.
        """
        answers = self.of("answer", exercise)
        if not answers:
            return Shown("missing")
        self.stopped = None
        measured = any(info(cell).get("measures") for cell in self.of("hidden", exercise))
        for number, cell in enumerate([*self.of("borrowed", exercise), *self.helpers(), *answers]):
            shown = self.execute(cell, *([] if number else ["answer", measured]), loud=True)
            owner = HELPERS if is_helper(cell) else exercise
            if shown.lost or (status(shown) == "unsolved" and cell in answers):
                self.verdicts[owner] = shown
                return shown if owner == exercise else self.load(exercise)
            if shown.status == "error" and cell in answers:
                self.stopped = shown
        return Shown()

    def helpers(self) -> list[NotebookNode]:
        left_out = HELPERS in self.verdicts or self.room == "cuda"
        return [] if left_out else [cell for cell in self.cells if is_helper(cell)]

    def of(self, role: str, exercise: str) -> list[NotebookNode]:
        wanted = [cell for cell in self.cells if info(cell).get("role") == role and not is_helper(cell)]
        return [cell for cell in wanted if info(cell).get("exercise") == exercise]

    def set_up(self) -> Shown:
        """A kernel in the state after the set-up cells: the present one brought back, or a new one."""
        if self.kernel is None and self.spare:
            self.kernel = self.spare.pop()
        self.loaded, self.used, self.tested = None, self.kernel is not None, False
        if self.kernel:
            if self.ask("restore").status == "ok":
                return Shown()
            self.close()
        self.used, why = False, ""
        while self.starts_left:
            self.kernel = self.start()
            shown = self.kernel.wait_until_ready()
            if shown.status == "ok":
                shown = self.run_set_up()
            if shown.status == "ok":
                self.starts_left = STARTS
                return shown
            why = f" ({shown.error or shown.status})"
            self.starts_left -= 1
            self.close()
        return Shown("died", error=f"the grader's kernel did not get through the set-up cells{why}")

    def run_set_up(self) -> Shown:
        cells = [cell for cell in self.cells if self.room in info(cell).get("rooms", ())]
        for cell in cells:
            shown = self.execute(cell, "set up", minimum=DEFAULT_TIMEOUT)
            if self.kernel is None:
                return shown
            if shown.status == "error":
                self.setup_error = self.setup_error or shown.error
        return self.ask("mark", [name for cell in cells for name in info(cell).get("binds", ())])

    def ask(self, *request: Any) -> Shown:
        """A request of the grader's own."""
        assert self.kernel is not None
        return self.kernel.execute("", min(QUICK, self.budget.left), first=request)

    def execute(self, cell: NotebookNode, *first: Any, minimum: float = 0.0, loud: bool = False) -> Shown:
        """Run `cell`, after the request `first` to the kernel."""
        if self.kernel is None:
            return Shown("died")
        timeout = self.timeout or info(cell).get("timeout") or self.notebook_timeout or DEFAULT_TIMEOUT
        if self.timeouts >= PATIENCE:
            timeout = min(float(timeout), QUICK / 2)
        timeout = max(float(timeout), minimum)
        granted = max(minimum, min(timeout, self.budget.left / 2))
        shown = self.kernel.execute(cell.source, granted, first=first, loud=loud)
        if shown.status == "timeout":  # what the student's process said before is no reason
            early = f"stopped early: the notebook had used up most of its {self.budget}"
            shown.error = early if granted < timeout else ""
        self.timeouts += shown.status == "timeout"
        self.trouble |= shown.status != "ok"
        if shown.lost:
            self.close()
        return shown

    def error(self, shown: Shown) -> str:
        """Why a test stopped: a name may be missing since a set-up cell failed; all else is the answer's."""
        if shown.status == "error" and self.setup_error and shown.error.startswith("NameError"):
            return f"a set-up cell failed: {self.setup_error}"
        return shown.error

    def end(self) -> None:
        """After the last test: leave the kernel to the next notebook, unless a stranger's failed in it."""
        if self.kernel and self.spare is not None and (self.trusted or not self.trouble):
            self.spare.append(self.kernel)
            self.kernel = None
        self.close()

    def close(self) -> None:
        if self.kernel:
            self.kernel.close()
        self.kernel = None


def hidden_tests(notebook: NotebookNode) -> list[NotebookNode]:
    """In the order in which they run: those that measure memory first, which need a kernel for themselves.

    The other tests of their exercise are next to them, and so on with the other exercises.
    """
    cells = [cell for cell in notebook.cells if info(cell).get("role") == "hidden"]
    measuring = {info(cell)["exercise"] for cell in cells if info(cell).get("measures")}
    first: dict[str, int] = {}
    for number, cell in enumerate(cells):
        first.setdefault(info(cell)["exercise"], number)

    def place(cell: NotebookNode) -> tuple[bool, int, bool]:
        exercise = info(cell)["exercise"]
        return exercise not in measuring, first[exercise], not info(cell).get("measures")

    return sorted(cells, key=place)


def info(thing: NotebookNode) -> dict[str, Any]:
    """What `assemble` wrote into the metadata of a cell or notebook."""
    return dict(thing.metadata.get("coursekit", {}))


def is_helper(cell: NotebookNode) -> bool:
    return info(cell).get("role") == "answer" and info(cell).get("exercise") in (None, HELPERS)


def after(stopped: Shown | None, shown: Shown) -> Shown:
    """What a hidden test showed after an answer that an error had `stopped`, if one had."""
    if stopped and shown.status in ("ok", "error"):  # the first error is the one to mend
        shown.error, shown.error_type = stopped.error, stopped.error_type
    return shown


def status(shown: Shown) -> str:
    return "unsolved" if shown.error_type in STUBS_RAISE else shown.status


def entropy(seed: int, grade_id: str) -> int:
    """The seed of one hidden test's `rng`."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{grade_id}".encode()).digest()[:16])


def nothing(name: str, notebook: NotebookNode) -> NotebookRun:
    """The result of a notebook none of whose hidden tests ran."""
    hidden = [info(cell) for cell in notebook.cells if info(cell).get("role") == "hidden"]
    return NotebookRun(
        name, tuple(CellRun(str(cell["grade_id"]), str(cell.get("exercise")), "missing") for cell in hidden)
    )
