"""Cells marked `#| given chapters/NN_name.ipynb`: what a chapter exports, for exercises to start from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from coursekit.course import Course
from coursekit.exports import read_source
from coursekit.modules import Module
from coursekit.notebooks import Cell, cells, read
from coursekit.pieces import SourceError
from coursekit.tidy import tidy

_SPACE = " \t\r\n"


def filled(path: Path, course: Course) -> str:
    """The JSON text of the notebook at `path` with its given cells filled, everything else byte for byte."""
    notebook = read(path)
    text = path.read_bytes().decode("utf-8")
    for cell in cells(path.relative_to(course.root), notebook):
        chapter = cell.directive("given")
        if chapter is None:
            continue
        source = cell.source.partition("\n")[0] + "\n" + given_code(chapter, cell, course)
        if source != cell.source:
            text = with_source(text, cell.number - 1, source)
    return text


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


def with_source(text: str, number: int, source: str) -> str:
    """The notebook `text` with the source of one cell (from 0) replaced, written as the old one was."""
    start, end = _span(text, ["cells", number, "source"])
    lines = source.splitlines(keepends=True) if text[start] == "[" else source
    data = json.loads(text)
    data["cells"][number]["source"] = lines
    margin = text[text.rfind("\n", 0, start) + 1 : start]
    margin = margin[: len(margin) - len(margin.lstrip())]
    pretty = text[start] == "[" and "\n" in text[start:end]
    unit = margin[: len(margin) // 3] or " "  # a source lies three levels deep
    new = json.dumps(lines, ensure_ascii=False, indent=unit if pretty else None)
    newline = "\r\n" if "\r\n" in text else "\n"
    result = text[:start] + new.replace("\n", newline + margin) + text[end:]
    assert json.loads(result) == data
    return result


def _span(text: str, path: list[str | int]) -> tuple[int, int]:
    """Where the value at `path` stands in the JSON `text`."""
    decoder = json.JSONDecoder()
    start = _skip(text, 0)
    for key in path:
        start = _child(text, start, key, decoder)
    return start, decoder.raw_decode(text, start)[1]


def _child(text: str, start: int, key: str | int, decoder: json.JSONDecoder) -> int:
    """Where the value of `key` begins in the object or list that begins at `start`."""
    position, index, name = start + 1, 0, None
    found: dict[Any, int] = {}
    while text[position := _skip(text, position)] not in "]}":
        if text[start] == "{":
            name, position = decoder.raw_decode(text, position)
            position = _skip(text, _skip(text, position) + 1)
        found[index if name is None else name] = position
        position = _skip(text, decoder.raw_decode(text, position)[1])
        position += text[position] == ","
        index += 1
    return found[key]  # the last one of its name, as json.loads takes it


def _skip(text: str, position: int) -> int:
    while text[position] in _SPACE:
        position += 1
    return position
