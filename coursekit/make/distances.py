"""How far an operation stands from the method that calls it: what a reader has to scroll.

An operation is a class whose bases lead to `Function`; its caller is the method or function that makes one,
`apply(Mul(), ...)`. In one file the distance is that of the two lines. minilib/operations.py and `class
Tensor` of minilib/tensor/core.py are laid side by side: each section begins in one row in both, at the
heading that both have, and is as long as the longer of the two. For a caller under the same heading that is
the difference of their lines below it. The first caller counts; an operation without one in its file, or in
`class Tensor`, is left out and named.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from coursekit.course import Course
from coursekit.files import read_text

PAIR = ("operations.py", "tensor/core.py", "Tensor")  # an operation here, its methods in that class there
BASE = "Function"
_START = ""  # what stands above the first heading


@dataclass(frozen=True)
class Distance:
    """From an operation to its caller, in lines; None for an operation that nothing calls here."""

    operation: str
    caller: str | None = None
    lines: int | None = None


def report(course: Course) -> Iterator[str]:
    """The lines to print: for each module its median, then its operations, the farthest first."""
    for title, found in measured(course.library).items():
        known = [(one.lines, one) for one in found if one.lines is not None]
        known.sort(key=lambda item: -item[0])
        middle = f", median {median(lines for lines, _ in known):g} lines" if known else ""
        yield f"{title}: {len(known)} operations{middle}"
        for lines, one in known:
            yield f"  {lines:4}  {one.operation} from {one.caller}"
        left_out = [one.operation for one in found if one.lines is None]
        if left_out:
            yield f"  called elsewhere: {', '.join(left_out)}"


def measured(library: Path) -> dict[str, list[Distance]]:
    """The distances in each module that has operations."""
    found = {}
    first, second, owner = PAIR
    for path in sorted(library.rglob("*.py")):
        name = path.relative_to(library).as_posix()
        text = read_text(path)
        if name == first and (library / second).is_file():
            found[f"{first} beside {second}"] = side_by_side(text, read_text(library / second), owner)
        else:
            found[name] = in_one_file(text)
    return {name: distances for name, distances in found.items() if distances}


def in_one_file(text: str) -> list[Distance]:
    """Operations and their callers in one file."""
    tree = ast.parse(text)
    made = {node.name: node.lineno for node in operations(tree)}
    return _distances(made, callers(tree, made))


def side_by_side(first: str, second: str, owner: str) -> list[Distance]:
    """Operations in one file and their callers in the class `owner` of another, aligned at headings."""
    above, tree = ast.parse(first), ast.parse(second)
    cls = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == owner)
    left = sections(first, "", (1, len(first.splitlines())))
    right = sections(second, " " * 4, (cls.lineno, cls.end_lineno or cls.lineno))
    rows = _rows(left, right)
    made = {node.name: _row(node.lineno, left, rows) for node in operations(above)}
    called = [(name, caller, _row(line, right, rows)) for name, caller, line in callers(cls, made)]
    return _distances(made, called)


def operations(tree: ast.Module) -> Iterator[ast.ClassDef]:
    """The classes whose bases lead to Function and that no other class builds on."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    bases = {node.name: {base.id for base in node.bases if isinstance(base, ast.Name)} for node in classes}
    known, built_on = {BASE}, {name for names in bases.values() for name in names}
    for node in classes:  # a base stands above what builds on it
        if bases[node.name] & known:
            known.add(node.name)
            if node.name not in built_on:
                yield node


def callers(tree: ast.AST, names: Mapping[str, int]) -> list[tuple[str, str, int]]:
    """Each call of one of `names`, with the function around it and that function's line."""
    found = []
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
                    found.append((node.func.id, function.name, function.lineno))
    return found


def _distances(made: Mapping[str, int], called: list[tuple[str, str, int]]) -> list[Distance]:
    found = []
    for name, row in made.items():
        first = min(((line, caller) for one, caller, line in called if one == name), default=None)
        found.append(Distance(name, first[1], abs(first[0] - row)) if first else Distance(name))
    return found


# Two files, row by row


def sections(text: str, indent: str, lines: tuple[int, int]) -> dict[str, tuple[int, int]]:
    """The first line and the length of each section: a comment alone between two empty lines begins one."""
    found, (start, end) = {_START: lines[0]}, lines
    rows = text.splitlines()
    for number in range(start, end):
        alone = number + 1 >= len(rows) or not rows[number].strip()
        if number > 1 and not rows[number - 2].strip() and alone:
            heading = re.fullmatch(rf"{indent}# (.+)", rows[number - 1])
            if heading:
                found[heading[1]] = number
    starts = [*found.values(), end + 1]
    return {name: (line, starts[at + 1] - line) for at, (name, line) in enumerate(found.items())}


def _rows(left: Mapping[str, tuple[int, int]], right: Mapping[str, tuple[int, int]]) -> dict[str, int]:
    """The row in which each section begins, those of both files in their common order."""
    rows: dict[str, int] = {}
    waiting, row = list(left), 0
    for heading in right:
        ahead = waiting[: waiting.index(heading) + 1] if heading in waiting else []
        waiting = waiting[len(ahead) :]
        for name in [*ahead, *([] if heading in ahead else [heading])]:
            rows[name] = row
            row += max(side[name][1] for side in (left, right) if name in side)
    for name in waiting:
        rows[name] = row
        row += left[name][1]
    return rows


def _row(line: int, of: Mapping[str, tuple[int, int]], rows: Mapping[str, int]) -> int:
    name, (start, _) = next((name, at) for name, at in of.items() if at[0] <= line < sum(at))
    return rows[name] + line - start
