"""Cells marked `#| given chapters/NN_name.ipynb`: what a chapter exports, for exercises to start from."""

from __future__ import annotations

from pathlib import Path

from coursekit.course import Course
from coursekit.exports import read_source
from coursekit.modules import Module
from coursekit.notebooks import Cell, as_text, cells, read
from coursekit.pieces import SourceError
from coursekit.tidy import tidy


def filled(path: Path, course: Course) -> str:
    """The text of the notebook at `path` with its given cells filled; as it stands where nothing changes."""
    notebook = read(path)
    changed = False
    for cell in cells(path.relative_to(course.root), notebook):
        chapter = cell.directive("given")
        if chapter is None:
            continue
        source = cell.source.partition("\n")[0] + "\n" + given_code(chapter, cell, course)
        if source != cell.source:
            cell.node.source, changed = source, True
    return as_text(notebook) if changed else path.read_bytes().decode("utf-8")


def given_code(chapter: str, cell: Cell, course: Course) -> str:
    """What `chapter` exports, merged as in a module: each class with its methods."""
    if not cell.source.startswith("#| given"):
        raise SourceError(
            cell, 1, "`#| given` stands on the first line of its cell; what follows is filled in"
        )
    path = course.root / chapter
    if not path.is_file() or path.parent != course.chapters:
        raise SourceError(
            cell, 1, f"given: there is no chapter `{chapter}`; write `#| given chapters/NN_name.ipynb`"
        )
    module = Module(path.stem)
    source = read_source(path, course)
    for export in source.exports:
        if export.module == source.module:  # not what the chapter sends to other modules
            module.add(export)
    module.finish()
    return tidy(module.text(), course).rstrip("\n")
