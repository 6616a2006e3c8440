"""Where a name of the library is edited: in a cell that exports it, or where it stands in minilib/."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from coursekit.course import Course
from coursekit.errors import CourseError
from coursekit.make.definitions import FUNCTION, as_members, definitions
from coursekit.make.module import Module
from coursekit.notebooks import Cell, cells, cuda_line, read


@dataclass(frozen=True)
class Home:
    """A definition: `Tensor.relu`, the notebook or file that holds it, and where in there, in words."""

    name: str
    path: Path
    where: str
    line: int = 0  # in a file

    @property
    def is_cell(self) -> bool:
        return self.path.suffix == ".ipynb"


def home(course: Course, asked: str) -> Home:
    """The one place in which `asked` (`Tensor.relu`, or `relu`) is edited. Raises CourseError."""
    homes = list(_homes(course))
    found = [one for one in homes if one.name == asked]
    found = found or [one for one in homes if one.name.rpartition(".")[2] == asked]
    if not found:
        raise CourseError(f"{asked} is no notebook, and minilib has no definition of that name")
    cells_of = {one.name for one in found if one.is_cell}
    # What a cell exports stands in minilib as well, as its copy.
    found = [one for one in found if one.is_cell or one.name not in cells_of]
    if len(found) > 1:
        listed = ", ".join(f"{one.name} ({one.where})" for one in found)
        raise CourseError(f"{asked}: which one? There are {listed}")
    return found[0]


def _homes(course: Course) -> Iterator[Home]:
    for path in sorted([*course.chapters.glob("*.ipynb"), *course.solutions.glob("*.ipynb")]):
        for cell in cells(path.relative_to(course.root), read(path)):
            if cell.directive("export") is not None and not cuda_line(cell.source):
                yield from (Home(name, path, cell.where()) for name in sorted(names(cell)))
    for path in sorted(course.library.rglob("*.py")):
        shown, text = path.relative_to(course.root), path.read_text(encoding="utf-8")
        found = dict[str, int]()
        for name, item in Module(path.stem, text).members():
            if isinstance(item.node, (*FUNCTION, ast.ClassDef)):
                found.setdefault(name, item.node.lineno)  # a property and its setter are one
        yield from (Home(name, path, f"{shown}, line {line}", line) for name, line in found.items())


def names(cell: Cell) -> set[str]:
    """The names that a cell defines, members as in `Value.tanh`."""
    found = [one for one in definitions(cell) if not one.is_import]
    parts = [part for one in found if isinstance(one.node, ast.ClassDef) for part in as_members(one)]
    return {name for one in (*found, *parts) for name in one.names}
