"""What is raised when a source does not compile, and when a kernel cannot be launched; places in a source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class At:
    """A place in the source, both counted from 1."""

    line: int
    column: int


class Fault(Exception):
    """A mistake at a place, raised inside the front end; `compile_source` makes a CompileError of it."""

    def __init__(self, at: At, message: str, hint: str = "", unsupported: bool = False) -> None:
        super().__init__(message)
        self.at, self.message, self.hint, self.unsupported = at, message, hint, unsupported


def unsupported(at: At, what: str, hint: str = "") -> Fault:
    """CUDA C has it, but the simulator does not."""
    return Fault(at, f"unsupported: {what}", hint, unsupported=True)


class CompileError(Exception):
    """A source that does not compile.

    `kind` is "error", or "unsupported" where CUDA C allows it and the simulator does not. str() shows the
    message, the line, a caret under the place and, where there is one, a hint.
    """

    def __init__(self, kind: str, message: str, at: At, name: str, source: str, hint: str = "") -> None:
        self.kind, self.message, self.at, self.name, self.source, self.hint = (
            kind,
            message,
            at,
            name,
            source,
            hint,
        )
        super().__init__(self._text())

    @property
    def line(self) -> int:
        return self.at.line

    @property
    def column(self) -> int:
        return self.at.column

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: the mistake, without the compiler's own calls."""
        return [f"CompileError: {self}"]

    def _text(self) -> str:
        lines = self.source.splitlines()
        shown = lines[self.at.line - 1].rstrip() if 0 < self.at.line <= len(lines) else ""
        before = shown[: self.at.column - 1]
        blank = "".join("\t" if c == "\t" else " " for c in before) + " " * (self.at.column - 1 - len(before))
        text = f"{self.name}:{self.at.line}:{self.at.column}: error: {self.message}"
        if shown:
            text += f"\n    {shown}\n    {blank}^"
        return text + (f"\n    hint: {self.hint}" if self.hint else "")


class LaunchError(RuntimeError):
    """A kernel that cannot be launched as asked, or that had to be stopped."""


class LaunchTypeError(LaunchError, TypeError):
    """An argument of the wrong type."""


class LaunchValueError(LaunchError, ValueError):
    """An argument or a size that is out of its range."""


class KernelFault(LaunchError):
    """What a kernel did that stops it: an access out of bounds, a loop without an end. See `finding`."""

    def __init__(self, message: str, finding: object = None) -> None:
        self.finding = finding
        super().__init__(message)


class EndlessLoop(KernelFault):
    """A loop that was stopped, for the reason `why`; `live` (warps, 32) are the lanes in it, of `warps`.

    `limit` names the setting of the launch that stopped it, "max_steps" or "patience"; it is "" where the
    loop surely never ends.
    """

    def __init__(self, message: str, line: int, why: str, live: Any, warps: Any, limit: str = "") -> None:
        self.line, self.why, self.live, self.warps, self.limit = line, why, live, warps, limit
        super().__init__(message)


class Deadlock(EndlessLoop):
    """A loop that waits for what no thread does any more."""


class LongThread(LaunchError):
    """A thread took more steps than `profile` was asked to wait for (`max_span`); see `Report.span`."""

    def __init__(self, name: str, block: int, thread: int, max_span: int) -> None:
        self.block, self.thread = block, thread
        super().__init__(
            f"{name}: thread {thread:,} of block {block:,} has taken more than {max_span:,} steps "
            "(max_span), one after the other: share its work among the threads, or allow more"
        )
