"""One notebook on the desk: its text form in `.edit/`, and what a save of it brings about."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from coursekit.course import Course
from coursekit.errors import CourseError
from coursekit.files import read_text, write_text
from coursekit.make import exercises, promote
from coursekit.make.definitions import SourceError
from coursekit.make.drift import text_of
from coursekit.make.execute import at_cell, executed, keep_outputs
from coursekit.make.textform import Merged, as_percent, merged
from coursekit.notebooks import as_text, from_text

FOLDER = ".edit"


@dataclass
class Desk:
    """A notebook, its text form, and a copy of the notebook that the text form belongs to."""

    course: Course
    notebook: Path
    fresh: bool = False  # take all outputs from the run

    @property
    def text(self) -> Path:
        inside = self.notebook.relative_to(self.course.root)
        return self.course.root / FOLDER / inside.with_suffix(".py")

    @property
    def before(self) -> Path:
        return self.text.with_suffix(".ipynb")

    def shown(self, path: Path) -> str:
        return path.relative_to(self.course.root).as_posix()

    def lay_out(self) -> bool:
        """Make the text form; whether there is one already with changes that no notebook has.

        Raises CourseError where that one belongs to another state of the notebook.
        """
        now = read_text(self.notebook)
        if self._is_pending():
            if text_of(self.before) == now:
                return True
            raise CourseError(
                f"{self.shown(self.text)} has changes to an older {self.shown(self.notebook)}: "
                "move it away, run this again, and bring them over"
            )
        self._remember(now)
        write_text(self.text, as_percent(from_text(now, self.notebook)))
        return False

    def _is_pending(self) -> bool:
        before = text_of(self.before)
        if before is None or not self.text.exists():
            return self.text.exists()
        try:
            return not self._merged(before).is_same
        except CourseError:
            return True

    def _merged(self, before: str) -> Merged:
        notebook = from_text(before, self.notebook)
        return merged(read_text(self.text), notebook, self.text.relative_to(self.course.root))

    def _remember(self, now: str) -> None:
        write_text(self.before, now)

    def bring(self) -> list[str]:
        """Bring the text form into the notebook, run it, promote, make the exercises; what to say of it.

        Raises CourseError, and then the notebook and all that is made from it are as they were.
        """
        started = time.monotonic()
        before = read_text(self.notebook)
        if before != text_of(self.before):
            raise CourseError(
                f"{self.shown(self.notebook)} was changed by something else meanwhile; nothing was "
                f"written, and your text is in {self.shown(self.text)}"
            )
        try:
            found = self._merged(before)
            if found.is_same and not self.fresh:
                return ["nothing changed"]
            said = [f"{found.summary()}; {self._run(found)}"]
            written = self._write(as_text(found.notebook))
        except SourceError as error:
            raise self._placed(error) from None
        said.append(f"wrote {', '.join(self.shown(path) for path in written)}")
        return [*said, f"right after {time.monotonic() - started:.1f} s"]

    def _run(self, found: Merged) -> str:
        """Execute where code changed, or all outputs are wanted anew; what to say of it."""
        if not (found.code_changed or self.fresh):
            return "no code changed, so nothing was run"
        started = time.monotonic()
        ran = executed(found.notebook, self.notebook, self.course)
        if not self.fresh:
            keep_outputs(ran, found.kept)
        found.notebook = ran
        number = sum(cell.cell_type == "code" for cell in ran.cells)
        return f"ran {number} code cells in {time.monotonic() - started:.1f} s"

    def _write(self, notebook: str) -> list[Path]:
        """Write the notebook and what is made from it: all or nothing."""
        course, undo = self.course, dict[Path, str | None]()
        steps: tuple[Callable[[], dict[Path, str]], ...] = (
            lambda: {self.notebook: notebook},
            lambda: {course.library / name: text for name, text in promote.promoted(course).items()},
            lambda: exercises.made(course),
        )
        try:
            for step in steps:
                for path, text in step().items():
                    old = text_of(path)
                    if old != text:
                        undo[path] = old
                        write_text(path, text)
            self._remember(notebook)
        except BaseException:
            for path, old in undo.items():
                path.unlink() if old is None else write_text(path, old)
            raise
        return list(undo)

    def _placed(self, error: SourceError) -> CourseError:
        """The error with its line in the text form, where it is of this notebook."""
        if error.cell.notebook != self.notebook.relative_to(self.course.root):
            return error
        line = at_cell(read_text(self.text), error.cell, error.line)
        return CourseError(f"{self.shown(self.text)}:{line}: {error}") if line else error
