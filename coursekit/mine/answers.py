"""The learner's own answers in work/, as cells that can be merged into modules."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from nbformat.v4 import new_code_cell

from coursekit.course import Course, chapter_number
from coursekit.grading import progress
from coursekit.grading.check import passed_exercises
from coursekit.grading.results import UNSOLVED
from coursekit.make.definitions import FUNCTION, Definition, assigned_class
from coursekit.make.definitions import definitions as all_definitions
from coursekit.make.exports import Export, Source, read_source
from coursekit.notebooks import Cell, cells, read

HELPERS = "helpers"


@dataclass(frozen=True)
class Answer:
    """An answer, the course's or a learner's, that is a part of a module."""

    exercise: str  # "1.4", or "helpers"
    export: Export

    @property
    def cell(self) -> Cell:
        return self.export.cell


def originals(course: Course) -> list[Path]:
    """The exercise notebooks of the course: solutions, or in a student bundle the exercises."""
    folder = course.solutions if course.solutions.is_dir() else course.exercises
    return sorted(folder.glob("[0-9]*.ipynb"))


def tasks(course: Course) -> Iterator[tuple[Path, list[Answer]]]:
    """Each exercise notebook with the answers that it asks for and exports."""
    for path in originals(course):
        exports = read_source(path, course).exports
        yield path, [Answer(item.cell.exercise, item.in_mine()) for item in exports if item.cell.exercise]


@dataclass
class Standing:
    """What the learner has: answers that pass, and why others are not theirs."""

    answers: list[Answer] = field(default_factory=list)  # each notebook's helpers before its others
    why: dict[str, str] = field(default_factory=dict)  # of exercises in the notebooks that were begun


def standing(course: Course, wanted: Collection[str] = ()) -> Standing:
    """Check what is in work/. The chapters `wanted` count as begun in any case."""
    result = Standing()
    for path, found in tasks(course):
        number = chapter_number(path)
        mine = course.own(number)
        if not found or not mine.exists():
            continue
        written = _written(mine, path, course)
        stubs = _written(course.exercise(number), path, course)
        solved = {
            task.exercise for task in found if written.get(task.exercise) and _differs(task, written, stubs)
        }
        passed = passed_exercises(course, number) & solved if solved else set()
        if passed:
            result.answers += _helpers(written, read_source(path, course))
        reasons = progress.reasons(course, number) if solved else {}
        for task in found:
            if task.exercise in passed:
                export = Export(written[task.exercise], task.export.modules)
                result.answers.append(Answer(task.exercise, export))
            elif solved or number in wanted:
                unsolved = task.exercise not in solved
                reason = UNSOLVED if unsolved else reasons.get(task.exercise, "does not pass its tests")
                result.why[task.exercise] = reason
    return result


def definitions(answer: Answer) -> list[Definition]:
    """The statements of an answer that belong into a module; what only tries or shows things stays out."""
    found = all_definitions(answer.cell)
    read_by = {
        name.id
        for one in found
        if isinstance(one.node, (*FUNCTION, ast.ClassDef))
        for name in ast.walk(one.node)
        if isinstance(name, ast.Name)
    }
    return [one for one in found if answer.exercise == HELPERS or _defines(one, read_by)]


def _defines(definition: Definition, read_by: set[str]) -> bool:
    node = definition.node
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return bool(definition.names & read_by) or assigned_class(node) is not None
    return isinstance(node, (*FUNCTION, ast.ClassDef, ast.Try)) or definition.is_import


def _differs(task: Answer, written: dict[str, Cell], stubs: dict[str, Cell]) -> bool:
    stub = stubs.get(task.exercise)
    return stub is None or stub.source != written[task.exercise].source


def _helpers(written: dict[str, Cell], original: Source) -> Iterator[Answer]:
    if HELPERS in written and original.modules and _has_code(written[HELPERS]):
        yield Answer(HELPERS, Export(written[HELPERS], original.modules))


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
