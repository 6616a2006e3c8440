"""Known wrong answers, each with the hint that it earns: whole programs, or edits of the reference answer.

In an edit, `- ` begins a line that only the reference answer has, `+ ` one that only the wrong answer has,
and two spaces one that both have. Blank lines part hunks. The old lines of a hunk stand together in exactly
one place of the reference answer: an edit that has gone stale is an error, which names it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from coursekit import notebooks
from coursekit.errors import CourseError
from coursekit.grading.assemble import Chapter

_CELL = re.compile(r"(?:#|//)\s*%%")
_HEADER = re.compile(r"(?:#|//)\s*%%\s+exercise=(\d+\.\d+)\s+hint=(.+?)\s*$")
_EDITED = re.compile(r"[-+](?: |$)")


@dataclass(frozen=True)
class Misconception:
    """A plausible wrong answer and the hint that it earns."""

    exercise: str
    hint: str
    source: str


def load_misconceptions(path: Path, chapter: Chapter) -> list[Misconception]:
    """The cells of solutions/misconceptions/NN_name.py, and of NN_name.cu beside it for CUDA C; none where
    there is no such file.

    Raises CourseError for a cell that cannot be read, or that edits what the reference answer does not have.
    """
    cells = [one for part in (path, path.with_suffix(".cu")) if part.is_file() for one in _cells_of(part)]
    references = {one.number: notebooks.cuda_text(one.reference) for one in chapter.exercises}
    for cell in cells:
        if cell.exercise not in references:
            raise CourseError(
                f"{cell.path}: exercise {cell.exercise} is not in {chapter.path.name}; mend its number"
            )
    return [Misconception(one.exercise, one.hint, one.answer(references[one.exercise])) for one in cells]


def _cells_of(path: Path) -> Iterator[_Cell]:
    lines = path.read_text(encoding="utf-8").splitlines()
    starts = [number for number, line in enumerate(lines, 1) if _CELL.match(line)]
    for number, end in zip(starts, [*starts[1:], len(lines) + 1], strict=True):
        if header := _header(lines[number - 1], f"{path}, line {number}"):
            yield _Cell(path, number, *header, lines[number : end - 1])


def _header(line: str, where: str) -> tuple[str, str] | None:
    if "exercise" not in line:
        return None
    found = _HEADER.match(line)
    try:
        hint = ast.literal_eval(found[2]) if found else None
    except (SyntaxError, ValueError):
        hint = None
    if not found or not isinstance(hint, str):
        raise CourseError(f'{where}: expected `# %% exercise=1.4 hint="..."`, got {line!r}')
    return found[1], hint


@dataclass(frozen=True)
class _Hunk:
    number: int  # of its first line in the file
    old: list[str]
    new: list[str]


@dataclass(frozen=True)
class _Cell:
    """A header and the lines below it."""

    path: Path
    number: int  # of the header in the file
    exercise: str
    hint: str
    lines: list[str]

    def answer(self, reference: str) -> str:
        """The wrong answer's text."""
        edited = any(_EDITED.match(line) for line in self.lines)
        lines = self._edit(reference.splitlines()) if edited else self.lines
        return "\n".join(lines).strip() + "\n"

    def _edit(self, reference: list[str]) -> list[str]:
        """The reference answer with all hunks in it."""
        reference = [line.rstrip() for line in reference]
        made = [[line] for line in reference]
        free = [True] * len(reference)
        for hunk in self._hunks():
            start = self._place(hunk, reference)
            end = start + len(hunk.old)
            if not all(free[start:end]):
                raise self._error(
                    hunk.number, "these lines stand in a hunk above as well; make one hunk of both"
                )
            made[start:end] = [hunk.new, *[[]] * (len(hunk.old) - 1)]
            free[start:end] = [False] * len(hunk.old)
        return [line for lines in made for line in lines]

    def _hunks(self) -> Iterator[_Hunk]:
        numbered = [(number, line.rstrip()) for number, line in enumerate(self.lines, self.number + 1)]
        for blank, group in groupby(numbered, key=lambda one: not one[1]):
            if not blank:
                yield self._hunk(list(group))

    def _hunk(self, lines: list[tuple[int, str]]) -> _Hunk:
        for number, line in lines:
            if line not in ("-", "+") and line[:2] not in ("- ", "+ ", "  "):
                raise self._error(
                    number, f"a line of an edit begins with `- `, `+ ` or two spaces, got {line!r}"
                )
        old = [line[2:] for _, line in lines if line[0] != "+"]
        new = [line[2:] for _, line in lines if line[0] != "-"]
        if old == new:
            raise self._error(
                lines[0][0], "these lines change nothing; mark old ones with `- `, new ones with `+ `"
            )
        return _Hunk(lines[0][0], old, new)

    def _place(self, hunk: _Hunk, reference: list[str]) -> int:
        """Where the old lines begin in the reference answer."""
        size = len(hunk.old)
        found = [at for at in range(len(reference) - size + 1) if reference[at : at + size] == hunk.old]
        if len(found) == 1 and hunk.old:
            return found[0]
        raise self._error(hunk.number, _misplaced(hunk.old, len(found), reference))

    def _error(self, number: int, message: str) -> CourseError:
        return CourseError(f"{self.path}, line {number}: exercise {self.exercise}: {message}")


def _misplaced(old: list[str], times: int, reference: list[str]) -> str:
    """Why `old`, found `times` times in the reference answer, does not name one place, and what to do."""
    if not old:
        return "new lines alone do not say where; add a line of the reference answer, after two spaces"
    if times:
        what = f"{old[0]!r} stands {times} times in the reference answer"
        return f"{what}; add a line that stands before or after it, after two spaces"
    missing = next((line for line in old if line not in reference), None)
    if missing is None:
        what = f"{old[0]!r} and the lines below it do not stand together in the reference answer"
        return f"{what}; put a blank line between those that stand apart"
    if missing.strip() in (line.strip() for line in reference):
        return f"{missing!r} has another indentation in the reference answer; copy it from there"
    return f"{missing!r} is not in the reference answer; if that has changed, write this edit anew"
