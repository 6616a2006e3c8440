"""The learner's own answers in work/, as cells that can be merged into modules."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nbformat.v4 import new_code_cell

from coursekit.course import Course, chapter_number
from coursekit.grading.check import passed_exercises
from coursekit.make.exports import Export, Source, read_source
from coursekit.make.pieces import Piece, assigned_class, member_decorator, pieces
from coursekit.notebooks import Cell, cells, read

HELPERS = "helpers"


@dataclass(frozen=True)
class Answer:
    """What a learner wrote for one exercise that is a part of a module."""

    exercise: str  # "1.4", or "helpers"
    export: Export

    @property
    def cell(self) -> Cell:
        return self.export.cell


@dataclass(frozen=True)
class Task:
    """An exercise of the course whose answer is a part of a module."""

    exercise: str
    export: Export


def originals(course: Course) -> list[Path]:
    """The exercise notebooks of the course: solutions, or in a student bundle the exercises."""
    folder = course.solutions if course.solutions.is_dir() else course.exercises
    return sorted(folder.glob("[0-9]*.ipynb"))


def tasks(course: Course) -> Iterator[tuple[Path, list[Task]]]:
    """Each exercise notebook with its exercises that are exported."""
    for path in originals(course):
        exports = read_source(path, course).exports
        yield path, [Task(item.cell.exercise, item) for item in exports if item.cell.exercise]


def passing_answers(course: Course) -> Iterator[Answer]:
    """The answers in work/ that pass their tests, each notebook's helpers before them."""
    for path, found in tasks(course):
        mine = course.work / path.name
        if not found or not mine.exists():
            continue
        written = _written(mine, path, course)
        stubs = _written(course.exercises / path.name, path, course)
        solved = {
            task.exercise for task in found if written.get(task.exercise) and _differs(task, written, stubs)
        }
        passed = passed_exercises(course, chapter_number(path)) & solved if solved else set()
        if passed:
            yield from _helpers(written, read_source(path, course))
        for task in found:
            if task.exercise in passed:
                yield Answer(task.exercise, Export(written[task.exercise], task.export.module))


def definitions(answer: Answer) -> list[Piece]:
    """The statements of an answer that belong into a module; what only tries or shows things stays out."""
    found = list(pieces(answer.cell))
    read_by = {
        name.id
        for piece in found
        if isinstance(piece.node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        for name in ast.walk(piece.node)
        if isinstance(name, ast.Name)
    }
    return [
        piece for piece in found if answer.exercise == HELPERS or _defines(piece.node, piece.names & read_by)
    ]


def _defines(node: ast.stmt, is_read: frozenset[str]) -> bool:
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return bool(is_read) or assigned_class(node) is not None
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom | ast.Try
    return isinstance(node, kinds) or member_decorator(node) is not None


def _differs(task: Task, written: dict[str, Cell], stubs: dict[str, Cell]) -> bool:
    stub = stubs.get(task.exercise)
    return stub is None or stub.source != written[task.exercise].source


def _helpers(written: dict[str, Cell], original: Source) -> Iterator[Answer]:
    if HELPERS in written and original.module and _has_code(written[HELPERS]):
        yield Answer(HELPERS, Export(written[HELPERS], original.module))


def _has_code(cell: Cell) -> bool:
    return any(line.strip() and not line.lstrip().startswith("#") for line in cell.source.split("\n"))


def _written(path: Path, original: Path, course: Course) -> dict[str, Cell]:
    """The answer cells of a notebook by exercise; the cells that a split made of one are joined."""
    if not path.exists():
        return {}
    keys = {cell.grade_id: _key(cell) for cell in cells(original, read(original)) if cell.is_answer}
    parts: dict[str, list[Cell]] = {}
    for cell in cells(path.relative_to(course.root), read(path)):
        key = keys.get(cell.grade_id) or (cell.exercise if not cell.grade_id else None)
        if cell.is_code and key:
            parts.setdefault(key, []).append(cell)
    return {key: _joined(found) for key, found in parts.items()}


def _key(cell: Cell) -> str:
    return cell.exercise or (HELPERS if cell.source.lstrip().startswith("# helpers") else "")


def _joined(found: list[Cell]) -> Cell:
    if len(found) == 1:
        return found[0]
    source = "\n\n".join(cell.source for cell in found)
    node = new_code_cell(source)  # type: ignore[no-untyped-call]
    return Cell(found[0].notebook, found[0].number, node)
