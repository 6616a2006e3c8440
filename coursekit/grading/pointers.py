"""Answers that an instructor should look at: each line points at something, and none is a verdict."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from coursekit.course import Course
from coursekit.grading.assemble import HELPERS, Chapter, Exercise
from coursekit.grading.sandbox import closed_under_imports, installed_parts
from coursekit.grading.submissions import Submission
from coursekit.notebooks import cuda_line, exercise_of

TELLING = (  # names by which an answer reaches what shows its values, or who called it
    "probe",
    "get_ipython",
    "settrace",
    "setprofile",
    "gc",
    "ctypes",
    "addaudithook",
    "monitoring",
    "_getframe",
)
LONGEST = 20_000  # characters of an answer of which a syntax tree is made

_WORD = re.compile(r"\b(?:" + "|".join(TELLING) + r")\b")
_DEFINED = re.compile(r"(?m)^(?:(?:async[ \t]+)?def|class)[ \t]+(\w+)")
_KERNEL = re.compile(r"__(?:global|device)__[^(){};]{0,200}?\b(\w+)[ \t]*\(")


def pointers(chapter: Chapter, submissions: Iterable[Submission]) -> list[str]:
    """A line for each student with an answer that names what few need, or one that stands in another cell."""
    given = {key: set(_telling(source)) for key, source in chapter.reference().items()}
    remarks: list[str] = []
    for one in submissions:
        for key, source in (*one.answers.items(), *(("a cell that was added", each) for each in one.added)):
            names = [f"`{name}`" for name in _telling(source) if name not in given.get(key, ())]
            if names:
                where = "the helpers" if key == HELPERS else key
                said = f"{one.student}: {where} names {', '.join(names)}; read the answer"
                remarks += [said] if said not in remarks[-1:] else []
        remarks += (f"{one.student}: {words}" for words in _elsewhere(chapter, one))
    return remarks


def identical(chapter: Chapter, submissions: Iterable[Submission]) -> list[str]:
    """A line for each notebook that several students handed in, byte by byte; not for the untouched one."""
    groups: dict[str, list[str]] = {}
    for one in submissions:
        done = (not each.left_alone(one.answers.get(each.number)) for each in chapter.exercises)
        if one.digest and any(done):
            groups.setdefault(one.digest, []).append(one.student)
    return [
        f"{len(names)} handed in the same file, byte by byte; ask how it came about: {', '.join(names)}"
        for names in groups.values()
        if len(names) > 1
    ]


def _telling(source: str) -> list[str]:
    """Which of the names stand in the code of an answer, in their order."""
    found = set()
    if not cuda_line(source) and _WORD.search(source):
        found = set(_names(source))
    return [name for name in TELLING if name in found]


def _names(source: str) -> Iterator[str]:
    """The names, attributes, modules and one-word texts of an answer; of one that is no Python all words."""
    if len(source) <= LONGEST:
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            yield from (name for node in ast.walk(ast.parse(source)) for name in _of(node))
            return
    yield from _WORD.findall(source)


def _of(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from (part for alias in node.names for part in alias.name.split("."))
        if isinstance(node, ast.ImportFrom):
            yield from (node.module or "").split(".")


def _elsewhere(chapter: Chapter, one: Submission) -> Iterator[str]:
    """Exercises that are not done where they belong, and that a cell that was added seems to do."""
    for exercise in chapter.exercises:
        if exercise.left_alone(one.answers.get(exercise.number)):
            found = (_sign(source, exercise) for source in one.added if len(source) <= LONGEST)
            sign = next(filter(None, found), None)
            if sign:
                yield (
                    f"{exercise.number} is not done in its answer cell, but another cell {sign}; only answer "
                    "cells are graded, so look"
                )


def _sign(source: str, exercise: Exercise) -> str | None:
    """By what an added cell looks like the answer to an exercise."""
    line = next((line.strip() for line in source.split("\n") if exercise_of(line) == exercise.number), None)
    if line:
        return f"has the line `{line}`"
    defines = _KERNEL if exercise.cuda else _DEFINED
    names = set(defines.findall(source))
    name = next((name for name in defines.findall(exercise.reference) if name in names), None)
    return f"defines `{name}`" if name else None


# Answers that import what the grader hides

_START = r"(?m)(?:^|[;:])[ \t]*"
_NAME = r"[\w.]+(?:[ \t]+as[ \t]+\w+)?"
_IMPORT = re.compile(_START + rf"import[ \t]+({_NAME}(?:[ \t]*,[ \t]*{_NAME})*)[ \t]*(?=[;#]|$)")
_FROM = re.compile(_START + r"from[ \t]+([\w.]+)[ \t]+import[ \t]+([\w, \t]+|\([\w, \t\n]+)")
_OURS = ("minilib", "coursekit")  # packages of which a part is hidden
_CALLED = re.compile(r"(?:__import__|import_module)\(\s*[\"']([\w.]+)[\"']")


def hidden_imports(course: Course, chapter: Chapter, submissions: Iterable[Submission]) -> list[str]:
    """A line for each student whose answers import what is not there when they are graded."""
    rooms = {room: _Visible(course, modules) for room, modules in chapter.libraries.items()}
    of = {one.number: rooms[one.room] for one in chapter.exercises}
    remarks: list[str] = []
    for one in submissions:
        found = []
        loans = chapter.loans(one.answers, one.added)
        beside = [(key, f"what {key} runs with", loan.code) for key, loan in loans.items()]
        for number, key, source in [*((key, key, text) for key, text in one.answers.items()), *beside]:
            visible = of.get(number, rooms["python"])
            names = {} if cuda_line(source) else dict.fromkeys(imported(source))
            hidden = [f"`{name[:40]}`" for name in names if name not in visible]
            if hidden:
                found.append(f"{key} imports {' and '.join(hidden[:3])}")
        if found:
            remarks.append(f"{one.student}: {', '.join(found)}, which the grader hides; read the answer")
    return remarks


class _Visible:
    """Which modules an answer can import where `modules` of minilib are."""

    def __init__(self, course: Course, modules: Sequence[str]) -> None:
        chosen = closed_under_imports(course.library, modules)
        self._minilib = {"", *(name.partition(".")[0] for name in chosen)}
        packages = {name.partition(".")[0] for name in installed_parts()}
        self._tops = {*sys.stdlib_module_names, *packages, "warplens"}

    def __contains__(self, name: str) -> bool:
        top, _, rest = name.partition(".")
        below = rest.partition(".")[0]
        if top == "minilib":
            return below in self._minilib
        return below in ("", "box", "add_to") if top == "coursekit" else top in self._tops


def imported(source: str) -> Iterator[str]:
    """The modules that a stranger's code imports, by its lines: a syntax tree may be too deep to build."""
    for found in _IMPORT.finditer(source):
        yield from (name.split()[0] for name in found[1].split(",") if name.strip(" .\t"))
    for found in _FROM.finditer(source):
        names = [name.split()[0] for name in found[2].strip("(").split(",") if name.strip()]
        yield from (f"{found[1]}.{name}" for name in names) if found[1] in _OURS else (found[1],)
    yield from (found[1] for found in _CALLED.finditer(source))
