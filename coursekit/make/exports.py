"""The exported cells of notebooks, in the order of the course."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from coursekit.course import Course, chapter_number
from coursekit.errors import CourseError
from coursekit.make.pieces import SourceError
from coursekit.notebooks import Cell, cells, read

DIRECTIVES = ("default_exp", "default_doc", "export", "given", "milestone")

_NUMBER = re.compile(r"\d\d")
_MODULE = re.compile(r"[a-z_][a-z0-9_]*")
_BURIED = re.compile(rf"#\|\s*({'|'.join(DIRECTIVES)})\b")
_HEADING = re.compile(r"#{2,6}\s+(.+?)\s*#*$")


@dataclass(frozen=True)
class Export:
    """A cell, the module that it goes to, and the heading above it."""

    cell: Cell
    module: str
    heading: str | None = None


@dataclass
class Source:
    """What one notebook exports."""

    path: Path  # relative to the course
    module: str | None = None  # of `#| default_exp`
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
    heading = None
    for cell in found:
        heading = _heading(cell, heading)
        if cell.directive("export") is not None:
            source.exports.append(Export(cell, _module(cell, source), heading))
    return source


def shown(path: Path, course: Course) -> Path:
    """`path` as messages show it: from the course's folder."""
    return path.relative_to(course.root) if path.is_relative_to(course.root) else path


def _read_defaults(source: Source, found: list[Cell]) -> None:
    for cell in found:
        check_directives(cell)
        for name, argument in cell.directives():
            if name == "default_exp":
                if source.module is not None:
                    raise SourceError(cell, None, "a second `#| default_exp`; a notebook has one")
                source.module = _valid(cell, argument)
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
        if re.match(rf"\s*#\|\s*{name}\b", line)
    )


def _module(cell: Cell, source: Source) -> str:
    named = cell.directive("export")
    if named:
        return _valid(cell, named)
    if source.module is None:
        raise SourceError(
            cell, _line(cell, "export"), "`#| export`, but the notebook has no `#| default_exp MODULE`"
        )
    return source.module


def _valid(cell: Cell, name: str) -> str:
    if not _MODULE.fullmatch(name) or name == "__init__":
        raise SourceError(
            cell, None, f"`{name}` is no module name; write one like `scalar`, in small letters"
        )
    return name


def _heading(cell: Cell, current: str | None) -> str | None:
    """The last heading of a Markdown cell as a section comment, or the one that held so far."""
    if cell.node.cell_type != "markdown":
        return current
    for line in _outside_fences(cell.source):
        found = _HEADING.match(line)
        if found:
            current = _as_comment(found[1])
    return current


def _outside_fences(text: str) -> Iterator[str]:
    fenced = False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield line


def _as_comment(heading: str) -> str:
    """`1.9 **A fused neuron** (stretch, 20 minutes)` reads `A fused neuron` in a module."""
    heading = re.sub(r"^\d+(\.\d+)*[.:]?\s+", "", heading)
    heading = re.sub(r"\s*\([^()]*\bminutes?\)$", "", heading)
    heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"<[^>]*>|\*\*", "", heading).strip()
