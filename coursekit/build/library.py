"""The learner's library in memory: the reference, with the learner's answers in place of its own."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from nbformat.v4 import new_code_cell

from coursekit.build.answers import Answer, definitions
from coursekit.course import Course
from coursekit.errors import CourseError
from coursekit.make.exports import notebooks_in, read_source
from coursekit.make.modules import Module, docstring, qualified
from coursekit.make.pieces import SourceError, parse, pieces
from coursekit.make.promote import is_promoted, module_text, promoted, read_text
from coursekit.notebooks import Cell

ORIGIN = "Built from {notebooks}; `make build` builds it again."
IMPORT_SECONDS = 60

_SECTION = re.compile(r"# (.+)\n\s*\n")
_FRAME = re.compile(r'File ".*[/\\]minilib[/\\](\w+)\.py", line (\d+)')


@dataclass
class Library:
    """The learner's library: its modules, their texts, and what did not fit."""

    modules: dict[str, Module]
    texts: dict[str, str]
    answers: list[Answer]
    left_out: list[tuple[str, str]] = field(default_factory=list)  # passes but does not fit, and why


def reference(course: Course) -> dict[str, str]:
    """The text of each promoted module: from chapters and solutions, or as it came with a student bundle."""
    if course.solutions.is_dir():
        return promoted(course)
    texts = {path.stem: read_text(path) or "" for path in sorted(course.library.glob("*.py"))}
    return {name: text for name, text in texts.items() if is_promoted(text)}


def chapter_names(course: Course) -> dict[str, set[str]]:
    """What the chapters themselves define in each module, as in `Value.__mul__`."""
    names: dict[str, set[str]] = {}
    for path in notebooks_in(course.chapters):
        for export in read_source(path, course).exports:
            for piece in pieces(export.cell):
                names.setdefault(export.module, set()).update(name for name, _ in qualified(piece.node))
    return names


def module_of(name: str, text: str, own: set[str]) -> Module:
    """A promoted module taken apart again; an answer may replace all of it but what the chapters define."""
    lines = text.split("\n")
    first = parse(text).body[0]
    if ast.get_docstring(parse(text)) is not None:
        lines[: first.end_lineno] = [""] * (first.end_lineno or 0)
    node = new_code_cell("\n".join(lines))  # type: ignore[no-untyped-call]
    module = Module(name)
    for piece in pieces(Cell(Path(f"minilib/{name}.py"), 1, node)):
        section = _SECTION.match(piece.text)
        if section:
            piece.heading, piece.text = section[1], piece.text[section.end() :].lstrip("\n")
        module.place(piece)
    for known, piece in module.members():
        piece.replaceable = known not in own
    return module


def built(course: Course, bases: dict[str, str], own: dict[str, set[str]], answers: list[Answer]) -> Library:
    """The reference with the answers in it; one that does not fit is left out, with a line that says why."""
    fitting, left_out = list(answers), []
    while True:
        try:
            library = _merged(course, bases, own, fitting)
            _try_import(course, library, bases)
        except SourceError as error:
            guilty = next((answer for answer in fitting if answer.cell is error.cell), None)
            if guilty is None:
                raise
            fitting.remove(guilty)
            left_out.append((guilty.exercise, str(error)))
        else:
            library.left_out = left_out
            return library


def _merged(
    course: Course, bases: dict[str, str], own: dict[str, set[str]], answers: list[Answer]
) -> Library:
    modules = {name: module_of(name, text, own.get(name, set())) for name, text in bases.items()}
    for answer in answers:
        if answer.export.module not in modules:
            raise CourseError(
                f"there is no minilib/{answer.export.module}.py to build on; get the course again"
            )
        for piece in definitions(answer):
            modules[answer.export.module].place(piece)
    texts = {}
    for name, module in modules.items():
        module.finish()
        texts[name] = module_text(module, course, _docstring(name, bases[name], answers))
    return Library(modules, texts, answers)


def _docstring(name: str, base: str, answers: list[Answer]) -> str:
    sentence = (ast.get_docstring(parse(base)) or "").partition("\n")[0]
    used = [answer.cell.notebook for answer in answers if answer.export.module == name]
    return docstring(sentence, [Path(f"minilib/{name}.py"), *used], ORIGIN)


def _try_import(course: Course, library: Library, bases: dict[str, str]) -> None:
    """Import each module in a process of its own. Raises SourceError for an answer that breaks it."""
    with tempfile.TemporaryDirectory(prefix="build-") as folder:
        for name, text in {**ordinary_files(course, bases), **in_package(library.texts)}.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        code = "\n".join(f"import minilib.{name}" for name in library.texts)
        try:
            done = subprocess.run(
                [sys.executable, "-c", code],
                cwd=folder,
                env=environment(course, Path(folder)),
                capture_output=True,
                text=True,
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
    for name, line in reversed(_FRAME.findall(traceback)):
        piece = (
            library.modules[name].piece_at(library.texts[name], int(line))
            if name in library.modules
            else None
        )
        if piece and any(answer.cell is piece.cell for answer in library.answers):
            raise SourceError(piece.cell, piece.line, f"importing the module fails: {message}")
    raise CourseError(f"your library cannot be imported: {message}")


def ordinary_files(course: Course, bases: dict[str, str]) -> dict[str, str]:
    """The files of minilib that are written by hand, by their names in mine/."""
    paths = [
        path for path in sorted(course.library.rglob("*")) if path.suffix in (".py", ".cu", ".cuh", ".typed")
    ]
    names = {path: path.relative_to(course.library).as_posix() for path in paths}
    return {
        f"minilib/{name}": read_text(path) or ""
        for path, name in names.items()
        if name.removesuffix(".py") not in bases
    }


def in_package(texts: dict[str, str]) -> dict[str, str]:
    return {f"minilib/{name}.py": text for name, text in texts.items()}


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
