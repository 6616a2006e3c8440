"""Answers that are alike but for names and layout: pointed at where `--similar` asks, and never judged.

An answer is compared by its syntax tree, with its own names numbered in the order in which they come and
without comments and docstrings. What the stub gave is in all of them, so that an answer has to go beyond it
by `LEAST` nodes: short answers are alike by themselves.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable

from coursekit.grading.assemble import Chapter
from coursekit.grading.submissions import Submission
from coursekit.notebooks import cuda_line

LEAST = 30  # nodes of the syntax tree beyond the stub's
LONGEST = 20_000  # characters of an answer of which a syntax tree is made
COMMON = 0.1  # of the class: what more write is how one writes it


def similar(chapter: Chapter, submissions: Iterable[Submission]) -> list[str]:
    """A line for each form of an answer that few students share, the reference's left out."""
    graded = [one for one in submissions if not one.refused]
    remarks = []
    for exercise in chapter.exercises:
        stub, reference = nodes(exercise.stub), form(exercise.reference)
        groups: dict[str, list[str]] = {}
        for one in graded:
            source = one.answers.get(exercise.number, "")
            if nodes(source) >= stub + LEAST and (found := form(source)) and found != reference:
                groups.setdefault(found, []).append(one.student)
        remarks += [
            f"{', '.join(names)}: {exercise.number} is the same but for names and layout; read both"
            for names in groups.values()
            if 1 < len(names) <= max(2, COMMON * len(graded))
        ]
    return remarks


def nodes(source: str) -> int:
    tree = parsed(source)
    return sum(1 for _ in ast.walk(tree)) if tree else 0


def form(source: str) -> str:
    """What is left of an answer without its names, comments, docstrings and layout; "" of no Python."""
    tree = parsed(source)
    if tree is None:
        return ""
    numbers: dict[str, str] = {}

    def numbered(name: str) -> str:
        return name if hasattr(builtins, name) else numbers.setdefault(name, f"n{len(numbers)}")

    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = numbered(node.id)
        elif isinstance(node, ast.arg):
            node.arg, node.annotation = numbered(node.arg), None
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if ast.get_docstring(node, clean=False) is not None:
                node.body = node.body[1:] or [ast.Pass()]
            if not isinstance(node, ast.ClassDef):
                node.returns = None
    return ast.dump(tree)


def parsed(source: str) -> ast.Module | None:
    if len(source) > LONGEST or cuda_line(source):
        return None
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
