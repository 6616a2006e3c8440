"""Answers that an instructor should look at: each line points at something, and none is a verdict."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress

from coursekit.grading.assemble import HELPERS, Chapter, Exercise
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
    remarks = []
    for one in submissions:
        for key, source in (*one.answers.items(), *(("a cell that was added", each) for each in one.added)):
            names = [f"`{name}`" for name in _telling(source) if name not in given.get(key, ())]
            if names:
                where = "the helpers" if key == HELPERS else key
                remarks.append(f"{one.student}: {where} names {', '.join(names)}; read the answer")
        remarks += (f"{one.student}: {words}" for words in _elsewhere(chapter, one))
    return remarks


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
