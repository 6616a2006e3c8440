"""What a notebook of exercises calls: `check("1.2")` below an answer, and stubs that a run passes over.

    from coursekit.box.check import Unsolved, checks

    check = checks("01")

starts, in a process of its own, what runs the hidden tests (`coursekit.grading.live`). The grader's box has
this module too, and nothing is started there. It imports nothing of the course and nothing heavy.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

IN_BOX = "COURSEKIT_BOX"  # in the environment of kernels that grade

NOTHING_RAN = "The cells above have not run yet: menu Run, Run All Above Selected Cell, then this cell again."

_ANSWER = re.compile(
    r"(?:\s*(?:[%!#]|//)[^\n]*\n)*?\s*(?:#|//)\s*(?:exercise:\s*(\d+\.\d+)|(helpers))\s*(?:\n|$)"
)


class Unsolved(BaseException):
    """What a stub raises. No `except Exception` of an answer or of a test takes it for an error.

    In a notebook that called `checks` it is one line below the cell, and no error: Run All goes on.
    """

    def __init__(self, exercise: str = "this exercise") -> None:
        super().__init__(f"{exercise} is not solved yet")


class Explained(BaseException):
    """Ends a cell below an answer that `check` has just explained: what follows would only say it again.

    In a notebook that called `checks` nothing more is shown, and it is no error: Run All goes on.
    """


class Check:
    """Calls say whether an answer passes its hidden tests, or which mistake it seems to be."""

    def __init__(self, chapter: str) -> None:
        self._chapter = chapter
        self._process: subprocess.Popen[str] | None = None
        self._numbers = itertools.count()
        self._not_run: dict[str, str] = {}  # newest answers that Python could not read, and why

    def __call__(self, exercise: str) -> None:
        """Show the verdict on the last answer to `exercise` that was run. Below a wrong one the cell ends."""
        shell = _shell()
        if shell is None:
            return
        answers, added = _answers(shell.history_manager.input_hist_raw)
        if exercise not in answers:
            show(f"Run the cell that begins with `# exercise: {exercise}` first, then this one.")
            return
        if why := self._not_run.get(exercise):
            show(f"{exercise} did not run: {why}\nMend its cell and run it, then this one.")
            raise Explained
        shown = show(f"checking {exercise} ...")
        reply = self._ask({"exercise": exercise, "answers": answers, "added": added})
        text = str(Unsolved(exercise)) if reply.get("unsolved") else reply["text"]
        html = {"text/html": reply["html"]} if "html" in reply else {}
        shown.update({"text/plain": text, **html}, raw=True)
        if not reply.get("goes_on", True):
            raise Explained

    def hear(self, source: str, error: BaseException | None) -> None:
        """A cell came to its end, or to an `error` before it began."""
        if found := _ANSWER.match(source):
            self._not_run.pop(found[1], None)
            if error:
                line = f" in line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
                self._not_run[found[1]] = f"{type(error).__name__}{line}: {getattr(error, 'msg', error)}"

    def start(self) -> None:
        """Start what runs the tests, where it does not run: it takes seconds, in the background."""
        if self._process and self._process.poll() is None:
            return
        source = str(Path(__file__).parents[2])
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "coursekit.grading.live", self._chapter],
            stdin=subprocess.PIPE,  # its end is the end of that process too
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            start_new_session=True,  # Ctrl-C is for the cell
            env={**kept, "PYTHONPATH": source, "PYTHONUTF8": "1"},
        )

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        request["id"] = next(self._numbers)
        for _ in range(2):  # the process may end just now, since it had nothing to do
            with suppress(OSError, ValueError):
                self.start()
                assert self._process and self._process.stdin and self._process.stdout
                self._process.stdin.write(json.dumps(request) + "\n")
                self._process.stdin.flush()
                for line in self._process.stdout:
                    reply: dict[str, Any] = json.loads(line)
                    if reply["id"] == request["id"]:  # not one that nobody waited for
                        return reply
            self._end()
        return {
            "text": "The hidden tests do not run here; what this cell tests is all. `make doctor` says more."
        }

    def _end(self) -> None:
        if self._process and self._process.stdin:
            with suppress(OSError):
                self._process.stdin.close()
            self._process.wait()


def checks(chapter: str) -> Check:
    """The `check` of a notebook; starts what runs its tests, and lets Run All pass over stubs."""
    check = Check(chapter)
    shell = _shell()
    if shell is not None:
        _attend(shell, check)
        with suppress(OSError):
            check.start()
    return check


def remind() -> None:
    """In a new kernel: say below an exercise that fails that the cells above it have not run."""
    shell = _shell()
    if shell is None:
        return

    def hear(result: Any) -> None:
        source = result.info.raw_cell
        if (
            result.error_in_exec
            and "check" not in shell.user_ns
            and (_ANSWER.match(source) or "check(" in source)
        ):
            show(NOTHING_RAN)

    shell.events.register("post_run_cell", hear)


def _shell() -> Any:
    """IPython's shell in a reader's notebook; None elsewhere, and where answers are graded."""
    interactive = sys.modules.get("IPython")
    return interactive.get_ipython() if interactive and IN_BOX not in os.environ else None


def _answers(sources: list[str]) -> tuple[dict[str, str], list[str]]:
    """The newest cell of each exercise ("1.2") and of the helpers among cells that ran, and other cells."""
    answers, added = {}, []
    for source in sources:
        found = _ANSWER.match(source)
        if found:
            answers[found[1] or found[2]] = source
        else:
            added.append(source)
    return answers, added


def _attend(shell: Any, check: Check) -> None:
    """Let a cell that meets a stub, or what was explained, end there without being an error."""

    def say(shell: Any, kind: type[BaseException], error: BaseException, trace: Any, **options: Any) -> None:
        if kind is Unsolved:
            show(str(error))

    def hear(result: Any) -> None:
        check.hear(result.info.raw_cell, result.error_before_exec)
        if type(result.error_in_exec) in (Unsolved, Explained):
            result.error_in_exec = None

    shell.set_custom_exc((Unsolved, Explained), say)
    shell.events.register("post_run_cell", hear)


def show(text: str) -> Any:
    """Show `text` below the cell. Returns the handle by which it can be replaced."""
    from IPython.display import display

    return display({"text/plain": text}, raw=True, display_id=True)  # type: ignore[no-untyped-call]
