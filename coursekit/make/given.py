"""Cells marked `#| given MODULE`: a module of minilib without the answers of the notebook they stand in."""

from __future__ import annotations

from pathlib import Path

from coursekit.course import Course
from coursekit.make.exports import course_notebooks, read_source
from coursekit.make.modules import Module
from coursekit.make.pieces import SourceError
from coursekit.make.tidy import tidy
from coursekit.notebooks import Cell, as_text, cells, read


def filled(path: Path, course: Course) -> str:
    """The text of the notebook at `path` with its given cells filled; as it stands where nothing changes."""
    notebook = read(path)
    changed = False
    for cell in cells(path.relative_to(course.root), notebook):
        module = cell.directive("given")
        if module is None:
            continue
        source = cell.source.partition("\n")[0] + "\n" + given_code(module, cell, course)
        if source != cell.source:
            cell.node.source, changed = source, True
    return as_text(notebook) if changed else path.read_bytes().decode("utf-8")


def given_code(name: str, cell: Cell, course: Course) -> str:
    """What all notebooks but the cell's own export to the module: each class with its methods."""
    if not cell.source.startswith("#| given"):
        raise SourceError(
            cell, 1, "`#| given` stands on the first line of its cell; what follows is filled in"
        )
    module = Module(name)
    for path in course_notebooks(course):
        source = read_source(path, course)
        for export in source.exports:
            if export.module == name and source.path != cell.notebook:
                module.add(export)
    if not module.items:
        raise SourceError(
            cell, 1, f"given: nothing else exports to a module `{name}`; write one like `scalar`"
        )
    module.finish()
    return tidy(module.text(), course).rstrip("\n")
