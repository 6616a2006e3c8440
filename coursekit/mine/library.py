"""The learner's library in memory: the reference, with the learner's answers in place of its own."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from coursekit.course import Course
from coursekit.errors import CourseError
from coursekit.make.book import Book, file_name, is_taught, module_name
from coursekit.make.definitions import SourceError, as_members, is_import
from coursekit.make.definitions import definitions as definitions_of
from coursekit.make.exports import Export
from coursekit.make.module import Module
from coursekit.mine.answers import Answer, definitions

ORIGIN = "Built from {file} and {notebooks}; `make build` builds it again."
IMPORT_SECONDS = 60

_FRAME = re.compile(r'File ".*[/\\]minilib[/\\]([\w/\\]+)\.py", line (\d+)')


@dataclass
class Library:
    """The learner's library: its modules, the texts of its files, and what did not fit."""

    modules: dict[str, Module]
    texts: dict[str, str]  # by file, below mine/minilib
    answers: list[Answer]
    left_out: list[tuple[str, str]] = field(default_factory=list)  # passes but does not fit, and why


def homes(book: Book, exports: Iterable[Export]) -> dict[str, str]:
    """Every name that cells export, as in `tensor.core:Tensor.relu`, with its exercise's number.

    What an exercise exports to a file of kernels goes by the file's name and that number.
    """
    found: dict[str, str] = {}
    for export in exports:
        if export.modules[0].endswith(".cu"):
            if export.cell.exercise:
                found[f"{export.modules[0]}:{export.cell.exercise}"] = export.cell.exercise
            continue
        for definition in definitions_of(export.cell):
            if definition.is_import or not definition.names:
                continue
            module = book.home(definition, export.modules)
            parts = as_members(definition) if isinstance(definition.node, ast.ClassDef) else []
            for one in (definition, *parts):
                found.update({f"{module}:{name}": export.cell.exercise or "" for name in one.names})
    return found


def locked(book: Book, exports: Iterable[Export], asked: Collection[str]) -> set[str]:
    """The names that no answer may replace: all that the modules have but what exercises ask for."""
    names = {name for export in exports for target in export.modules for name in book.files_of(target)}
    found = {
        f"{name}:{own}"
        for name in names
        for own, item in book.modules[name].members()
        if not is_import(item.node)
    }
    return found - set(asked)


def built(course: Course, bases: dict[str, str], own: set[str], answers: list[Answer]) -> Library:
    """The reference with the answers in it; one that does not fit is left out, with a line that says why."""
    fitting, left_out = list(answers), []
    while True:
        try:
            library = _merged(course, bases, own, fitting)
            _try_import(course, library)
        except SourceError as error:
            guilty = next((answer for answer in fitting if answer.cell is error.cell), None)
            if guilty is None:
                raise
            fitting.remove(guilty)
            left_out.append((guilty.exercise, str(error)))
        else:
            library.left_out = left_out
            return library


def _merged(course: Course, bases: dict[str, str], own: set[str], answers: list[Answer]) -> Library:
    book = Book.of(course, bases, own)
    for answer in answers:
        if answer.export.modules[0].endswith(".cu"):
            book.place_cuda(answer.export)
        else:
            book.place(answer.export, definitions(answer))
    origins = {
        name: ORIGIN.format(
            file=f"minilib/{file_name(name)}", notebooks=" and ".join(path.as_posix() for path in notebooks)
        )
        for name, notebooks in book.touched.items()
    }
    return Library(book.modules, {**bases, **book.texts(origins)}, answers)


def _try_import(course: Course, library: Library) -> None:
    """Import what the course teaches in a process of its own. Raises SourceError for a wrong answer."""
    with tempfile.TemporaryDirectory(prefix="build-") as folder:
        for name, text in in_package(library.texts).items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        modules = {file: text for file, text in library.texts.items() if file.endswith(".py")}
        taught = [module_name(file) for file, text in modules.items() if is_taught(text)]
        code = "\n".join(f"import minilib.{name}" for name in taught)
        try:
            done = subprocess.run(
                [sys.executable, "-c", code],
                cwd=folder,
                env=environment(course, Path(folder)),
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=IMPORT_SECONDS,
            )
        except subprocess.TimeoutExpired:
            raise CourseError(
                f"importing your library takes longer than {IMPORT_SECONDS} s; is a loop outside a function?"
            ) from None
    if done.returncode:
        _blame(library, done.stderr)


def _blame(library: Library, traceback: str) -> None:
    """Raise with the answer in which an import failed."""
    message = (traceback.strip().split("\n") or ["no message"])[-1]
    for file, line in reversed(_FRAME.findall(traceback)):
        name = module_name(file.replace("\\", "/"))
        module = library.modules.get(name)
        source = module.source_at(library.texts[file_name(name)], int(line)) if module else None
        if source and any(answer.cell is source.cell for answer in library.answers):
            raise SourceError(source.cell, source.line, f"importing the module fails: {message}")
    raise CourseError(f"your library cannot be imported: {message}")


def in_package(texts: Mapping[str, str]) -> dict[str, str]:
    return {f"minilib/{name}": text for name, text in texts.items()}


def environment(course: Course, folder: Path) -> dict[str, str]:
    """An environment in which `minilib` is the one in `folder`; the course's own comes after it."""
    path = os.pathsep.join([str(folder), str(course.root)])
    settings = {
        "PYTHONPATH": path,
        "MPLBACKEND": "Agg",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
    }
    return {**os.environ, **settings, "PYTHONIOENCODING": "utf-8"}
