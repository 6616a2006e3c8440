"""`python3 -m coursekit exercises`: solutions/ without the answers and hidden tests becomes exercises/."""

from __future__ import annotations

import argparse
import ast
import copy
from collections.abc import Iterator
from pathlib import Path

from nbformat import NotebookNode

from coursekit import given
from coursekit.course import Course, chapter_number
from coursekit.make.definitions import SourceError, definitions
from coursekit.make.drift import need_solutions, settle
from coursekit.make.exports import check_directives, notebooks_in, read_source
from coursekit.notebooks import (
    HIDDEN,
    Cell,
    as_text,
    cells,
    cut,
    locked_cell,
    read,
    solution_markers,
    stubbed,
)

# What JupyterLab writes beside an executed cell; it differs from run to run.
_OF_A_RUN = ("execution", "ExecuteTime", "trusted", "collapsed", "scrolled")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; show what differs from solutions/, and exit with 1",
    )


def run(course: Course, args: argparse.Namespace) -> int:
    texts = made(course)
    stale = [path for path in notebooks_in(course.exercises) if path not in texts]
    for path in stale:
        print(f"{path.relative_to(course.root)}: has no solution any more; delete it")
    code = settle(
        course,
        texts,
        check=args.check,
        differ="exercises/ and solutions/ differ: run `make exercises`",
        same="exercises/ is as solutions/ say",
    )
    return 1 if stale else code


def made(course: Course) -> dict[Path, str]:
    """The texts that the notebooks of exercises/ should have."""
    need_solutions(course, "exercises/ is complete as it is")
    texts: dict[Path, str] = {}
    for path in notebooks_in(course.solutions):
        _check_given(path, course)
        made = exercise(read(path), path.relative_to(course.root))
        texts[course.exercise(chapter_number(path))] = as_text(made)
    return texts


def _check_given(path: Path, course: Course) -> None:
    """Raise where a notebook is given what it asks for."""
    for cell in cells(path.relative_to(course.root), read(path)):
        for call in _calls(cell):
            try:
                names = sorted(given.given_names(call, course.library) & _exported(path, course))
            except ValueError as error:
                raise SourceError(cell, None, str(error)) from None
            if names:
                listed = ", ".join(f'"{name}"' for name in names)
                raise SourceError(
                    cell, None, f"gives what this notebook asks for; leave it out: without=[{listed}]"
                )


def _exported(path: Path, course: Course) -> set[str]:
    """The names that a notebook's answers define."""
    exports = [one for one in read_source(path, course).exports if not one.modules[0].endswith(".cu")]
    found = [definition for export in exports for definition in definitions(export.cell)]
    return {name for definition in found if not definition.is_import for name in definition.names}


def _calls(cell: Cell) -> Iterator[given.Call]:
    if not cell.is_code or "given(" not in cell.source or cell.is_answer:
        return
    try:
        for node in ast.parse(cell.source).body:
            call = given.call_in(node)
            if call is not None:
                yield call
    except ValueError as error:  # a SyntaxError too
        raise SourceError(cell, None, str(error)) from None


def exercise(notebook: NotebookNode, path: Path) -> NotebookNode:
    """The notebook that learners get. `path` is for error messages."""
    result = copy.deepcopy(notebook)
    found = cells(path, result)
    _check(found)
    _add_checks(found)
    kept = [cell for cell in found if _made_exercise(cell)]
    first = next((place for place, cell in enumerate(kept) if cell.is_answer), None)
    result.cells = [cell.node for cell in kept]
    if first is not None:
        result.cells.insert(first, _start_of_checks(chapter_number(path)))
    result.metadata.pop("widgets", None)
    return result


def _start_of_checks(chapter: str) -> NotebookNode:
    """The cell above the first answer."""
    source = f'from coursekit.box.check import Unsolved, checks\n\ncheck = checks("{chapter}")'
    made = locked_cell(source, "coursekit-check")
    made.metadata.update(deletable=False, editable=False)
    return made


def _add_checks(found: list[Cell]) -> None:
    """Let the visible check below an answer begin with the hidden tests: `check("1.2")`."""
    exercise = None
    for cell in found:
        if cell.is_answer:
            exercise = cell.exercise
        elif exercise and cell.is_code and cell.nbgrader.get("grade") and not cell.is_hidden_test:
            gap = "\n\n\n" if cell.source.startswith(("def ", "class ", "@")) else "\n"
            cell.node.source = f'check("{exercise}"){gap}{cell.source}'
            exercise = None


def _made_exercise(cell: Cell) -> bool:
    """Change one cell into the learner's; whether there is anything left of it."""
    node = cell.node
    if cell.is_code:
        had_tests = cell.is_hidden_test
        node.source = cut(stubbed(cell.source), HIDDEN)
        node.outputs = []
        node.execution_count = None
        if had_tests:
            node.source = node.source.strip("\n")
            if not node.source.strip():
                return False
    for name in _OF_A_RUN:
        node.metadata.pop(name, None)
    if cell.nbgrader.get("locked"):
        node.metadata.update(deletable=False, editable=False)
    return True


def _check(found: list[Cell]) -> None:
    """Raise for what would show an answer to learners, or confuse the grader."""
    known: dict[str, Cell] = {}
    for cell in found:
        check_directives(cell)
        solution = solution_markers(cell.source)
        _check_regions(cell, solution)
        _check_regions(cell, HIDDEN)
        if cell.exercise and cell.is_answer and solution[0] not in cell.source:
            raise SourceError(cell, None, f"an answer cell without `{solution[0]}` would show its answer")
        if cell.grade_id and cell.grade_id in known:
            other = known[cell.grade_id].number
            raise SourceError(
                cell, None, f'grade_id "{cell.grade_id}" is that of cell {other} too; give it another'
            )
        known[cell.grade_id or ""] = cell


def _check_regions(cell: Cell, markers: tuple[str, str]) -> None:
    begin, end = markers
    opened = 0
    for number, line in enumerate(cell.source.split("\n"), 1):
        text = line.strip()
        if text not in markers:
            if text.upper().replace(" ", "").startswith((begin.replace(" ", ""), end.replace(" ", ""))):
                raise SourceError(cell, number, f"write the marker exactly so: `{begin}` or `{end}`")
            continue
        if not cell.is_code:
            raise SourceError(
                cell, number, f"`{text}` stands in a cell that is not code; make it a code cell"
            )
        if markers != HIDDEN and not cell.is_answer:
            raise SourceError(
                cell, number, f'`{text}`, but the cell\'s metadata does not say "solution": true'
            )
        if (text == begin) == bool(opened):
            raise SourceError(cell, number, f"`{text}` where there should be `{end if opened else begin}`")
        opened = 0 if opened else number
    if opened:
        raise SourceError(cell, opened, f"`{begin}` without `{end}`")
