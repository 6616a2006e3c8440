"""The exported cells of notebooks, in the order of the course."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from coursekit.course import Course, chapter_number
from coursekit.errors import CourseError
from coursekit.make.definitions import SourceError
from coursekit.notebooks import Cell, cells, read

DIRECTIVES = ("default_exp", "default_doc", "export", "build", "milestone")

_NUMBER = re.compile(r"\d\d")
_MODULE = re.compile(r"[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)*|[a-z0-9_/]+\.cu")
_BURIED = re.compile(rf"(?:#|//)\|\s*({'|'.join(DIRECTIVES)})\b")


@dataclass(frozen=True)
class Export:
    """A cell and the modules that it goes to: each definition to the one in which its name stands.

    `#| build scalar` below `#| export reference` says that in a learner's own library the answer takes
    the place of the fast one in `scalar`.
    """

    cell: Cell
    modules: tuple[str, ...]

    def in_mine(self) -> Export:
        """The same cell, with the modules that `build` puts an answer into."""
        named = self.cell.directive("build")
        return self if named is None else Export(self.cell, _valid(self.cell, named))


@dataclass
class Source:
    """What one notebook exports."""

    path: Path  # relative to the course
    modules: tuple[str, ...] = ()  # of `#| default_exp`
    doc: str | None = None  # of `#| default_doc`
    exports: list[Export] = field(default_factory=list)


def course_notebooks(course: Course) -> list[Path]:
    """Chapters and solutions in the order of the course: a chapter or part of one, then its solutions."""
    found = [
        (path, number)
        for number, folder in enumerate((course.chapters, course.solutions))
        for path in notebooks_in(folder)
    ]
    found.sort(key=lambda item: (chapter_number(item[0]), item[1], item[0].name))
    return [path for path, _ in found]


def notebooks_in(folder: Path) -> list[Path]:
    """The notebooks of `folder`, each named by its chapter's number."""
    paths = sorted(path for path in folder.glob("*.ipynb") if not path.name.startswith("."))
    for path in paths:
        if not _NUMBER.match(path.name):
            raise CourseError(f"{path}: a notebook here is named NN_name.ipynb; rename it or move it away")
    return paths


def read_source(path: Path, course: Course) -> Source:
    """What the notebook at `path` exports."""
    source = Source(shown(path, course))
    found = cells(source.path, read(path))
    _read_defaults(source, found)
    source.exports = [
        Export(cell, _modules(cell, source)) for cell in found if cell.directive("export") is not None
    ]
    return source


def shown(path: Path, course: Course) -> Path:
    """`path` as messages show it: from the course's folder."""
    return path.relative_to(course.root) if path.is_relative_to(course.root) else path


def _read_defaults(source: Source, found: list[Cell]) -> None:
    for cell in found:
        check_directives(cell)
        for name, argument in cell.directives():
            if name == "default_exp":
                if source.modules:
                    raise SourceError(cell, None, "a second `#| default_exp`; a notebook has one")
                source.modules = _valid(cell, argument)
            elif name == "default_doc":
                source.doc = argument


def check_directives(cell: Cell) -> None:
    """Raise for a directive that nobody knows, and for one below code, where it would do nothing."""
    if not cell.is_code:
        return
    top = list(cell.directives())
    for name, _ in top:
        if name not in DIRECTIVES:
            raise SourceError(
                cell, _line(cell, name), f"unknown directive `#| {name}`; there are {', '.join(DIRECTIVES)}"
            )
    lines = [number for number, line in enumerate(cell.source.split("\n"), 1) if _BURIED.match(line)]
    if len(lines) > sum(name in DIRECTIVES for name, _ in top):
        raise SourceError(
            cell, lines[-1], "a directive below code does nothing; move it to the top of the cell"
        )


def _line(cell: Cell, name: str) -> int:
    return next(
        number
        for number, line in enumerate(cell.source.splitlines(), 1)
        if re.match(rf"\s*(#|//)\|\s*{name}\b", line)
    )


def _modules(cell: Cell, source: Source) -> tuple[str, ...]:
    named = cell.directive("export")
    if named:
        return _valid(cell, named)
    if not source.modules:
        raise SourceError(
            cell, _line(cell, "export"), "`#| export`, but the notebook has no `#| default_exp MODULE`"
        )
    return source.modules


def _valid(cell: Cell, names: str) -> tuple[str, ...]:
    found = tuple(names.split())
    for name in found or ("",):
        if not _MODULE.fullmatch(name) or name.rpartition(".")[2] == "__init__":
            raise SourceError(
                cell, None, f"`{name}` is no module name; write one like `scalar`, in small letters"
            )
    return found
