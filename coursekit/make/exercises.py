"""`python3 -m coursekit exercises`: solutions/ without the answers and hidden tests becomes exercises/."""

from __future__ import annotations

import argparse
import copy
import sys
from pathlib import Path

from nbformat import NotebookNode

from coursekit.course import Course
from coursekit.make.exports import check_directives, notebooks_in
from coursekit.make.given import filled
from coursekit.make.pieces import SourceError
from coursekit.make.promote import difference, need_solutions, read_text
from coursekit.notebooks import (
    HIDDEN,
    Cell,
    as_text,
    cells,
    cut,
    from_text,
    solution_markers,
    stubbed,
    write_text,
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
    changed = {path: text for path, text in texts.items() if read_text(path) != text}
    for path, text in changed.items():
        if args.check:
            sys.stdout.writelines(difference(path, course, read_text(path), text))
        else:
            write_text(path, text)
            print(f"wrote {path.relative_to(course.root)}")
    for path in stale:
        print(f"{path.relative_to(course.root)}: has no solution any more; delete it")
    if args.check and changed:
        print("exercises/ and solutions/ differ: run `make exercises`")
    if not changed:
        print("exercises/ is as solutions/ say")
    return 1 if stale or (args.check and changed) else 0


def made(course: Course) -> dict[Path, str]:
    """The texts that solutions/ (its given cells filled) and exercises/ should have."""
    need_solutions(course, "exercises/ is complete as it is")
    texts: dict[Path, str] = {}
    for path in notebooks_in(course.solutions):
        texts[path] = filled(path, course)
        notebook = from_text(texts[path], path)
        texts[course.exercises / path.name] = as_text(exercise(notebook, path.relative_to(course.root)))
    return texts


def exercise(notebook: NotebookNode, path: Path) -> NotebookNode:
    """The notebook that learners get. `path` is for error messages."""
    result = copy.deepcopy(notebook)
    found = cells(path, result)
    _check(found)
    result.cells = [cell.node for cell in found if _made_exercise(cell)]
    result.metadata.pop("widgets", None)
    return result


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
