"""Where a name of the library is edited: in a cell that exports it, or where it stands in minilib/."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from coursekit.course import Course
from coursekit.errors import CourseError
from coursekit.notebooks import cells, read


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
        shown = path.relative_to(course.root)
        for cell in cells(shown, read(path)):
            if cell.directive("export") is not None and not cell.source.startswith("%"):
                yield from (Home(name, path, cell.where()) for name, _ in _defined(cell.source))
    for path in sorted(course.library.rglob("*.py")):
        for name, line in _defined(path.read_text(encoding="utf-8")):
            yield Home(name, path, f"{path.relative_to(course.root)}, line {line}", line)


def _defined(text: str) -> Iterator[tuple[str, int]]:
    """The functions and classes of a text, with those of classes as `Class.name`, and their lines."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            owners = [
                f"{call.args[0].id}."
                for call in node.decorator_list
                if isinstance(call, ast.Call) and ast.unparse(call.func) == "add_to"
                if call.args and isinstance(call.args[0], ast.Name)
            ]
            yield f"{''.join(owners)}{node.name}", node.lineno
        elif isinstance(node, ast.ClassDef):
            yield node.name, node.lineno
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef):
                    yield f"{node.name}.{inner.name}", inner.lineno
