"""What hidden tests count is out of an answer's reach: shown at each call, and measured from a floor."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from graded import COURSE

from coursekit.grading.assemble import Chapter, load_chapter
from coursekit.notebooks import cuda_line

CHAPTERS = sorted(COURSE.solutions.glob("*.ipynb"))
GROWS = {"append", "extend", "add", "update", "insert", "setdefault", "clear", "pop"}

# What is filled, and is no count: what a module or a function has, outputs that an answer's own hooks saw.
ALLOWED: dict[str, set[str]] = {
    "2.11": {"saved"},
    "2.15": {"data"},
    "3.13": {"state"},
    "3.18": {"noted"},
    "3.44": {"parts", "state"},
    "9.18": {"data"},
}


def parsed(chapter: Chapter) -> Iterator[tuple[str, ast.Module]]:
    """The hidden tests of each exercise, each a tree."""
    for number, cells in chapter.tests.items():
        for source in cells:
            if not cuda_line(source):
                yield number, ast.parse(source)


def collected(tree: ast.Module) -> set[str]:
    """Names outside of a function that it fills when it is called, and that are shown afterwards."""
    shown = {
        name.id
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "probe"
        for name in ast.walk(call)
        if isinstance(name, ast.Name | ast.Attribute) and isinstance(name, ast.Name)
    }
    shown |= {
        one.attr
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "probe"
        for one in ast.walk(call)
        if isinstance(one, ast.Attribute)
    }
    functions = (one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.Lambda))
    return {name for function in functions for name in filled(function)} & shown


def filled(function: ast.FunctionDef | ast.Lambda) -> Iterator[str]:
    """The names, not its own, to which a function adds something."""
    own = {
        name.id
        for name in ast.walk(function)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    }
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in GROWS:
            target: ast.expr = node.func.value
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Attribute):
            target = node.target
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute | ast.Subscript):
            target = node.targets[0]
            target = target.value if isinstance(target, ast.Subscript) else target
        else:
            continue
        if isinstance(target, ast.Attribute):
            yield target.attr
        elif isinstance(target, ast.Name) and target.id not in own:
            yield target.id


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_nothing_that_is_counted_lies_where_an_answer_can_mend_it(path: Path) -> None:
    found: dict[str, set[str]] = {}
    for number, tree in parsed(load_chapter(path)):
        names = collected(tree) - ALLOWED.get(number, set())
        if names:
            found.setdefault(number, set()).update(names)
    assert found == {}


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_the_most_bytes_at_a_time_are_measured_from_a_floor(path: Path) -> None:
    for number, tree in parsed(load_chapter(path)):
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "most":
                assert "floor" in {one.arg for one in call.keywords}, number
