"""An answer's text, and what Python sees in it."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator

from coursekit import notebooks

LONGEST = 90  # characters of a piece of code that is shown


def named(node: ast.AST) -> str:
    """The code of `node` as a sentence shows it. It may be an attacker's: long, or nested very deep."""
    try:
        text = ast.unparse(node)
    except RecursionError:
        text = "..."
    return f"`{text if len(text) <= LONGEST else f'{text[:LONGEST]} ...'}`"


class Answer:
    """An answer's text, and what Python sees in it."""

    def __init__(self, source: str) -> None:
        self.cuda = bool(notebooks.cuda_line(source)) or ("__global__" in source and not _is_python(source))
        self.source = notebooks.cuda_text(source) if self.cuda else source
        self.lines = [""] * self.cuda + self.source.splitlines()  # `%%cuda NAME` is the compiler's line 1
        try:
            plain = "\n".join(line for line in self.lines if not line.lstrip().startswith(("%", "!")))
            self.tree: ast.AST = ast.parse(textwrap.dedent(plain)) if not self.cuda else ast.Module([], [])
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            self.tree = ast.Module([], [])
        self.nodes = list(ast.walk(self.tree))

    @property
    def functions(self) -> Iterator[ast.FunctionDef]:
        return (node for node in self.nodes if isinstance(node, ast.FunctionDef))

    def silent(self) -> ast.FunctionDef | None:
        """The last function that gives nothing back, of those that should."""
        found = [
            one for one in self.functions if one.name not in ("__init__", *self.handed_on) and not _gives(one)
        ]
        return (
            found[-1]
            if found and not any(_gives(one) and one.name == found[-1].name for one in self.functions)
            else None
        )

    @property
    def handed_on(self) -> set[str]:
        """Names that are used otherwise than by a call: of a function, somebody else's to call."""
        called = {id(node.func) for node in self.nodes if isinstance(node, ast.Call)}
        return {node.id for node in self.nodes if isinstance(node, ast.Name) and id(node) not in called}

    def line_with(self, pattern: str) -> str:
        code = (line.partition("#")[0].strip() for line in self.lines)
        found = (line for line in code if re.search(pattern, line))
        return next((line for line in found if len(line) < 90), "")

    def code(self, number: int) -> str:
        return self.lines[number - 1].strip() if 0 < number <= len(self.lines) else ""


def _is_python(source: str) -> bool:
    """Whether it can be read as Python, as a cell with a kernel in a string can."""
    try:
        ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _gives(function: ast.FunctionDef) -> bool:
    """Whether a function returns or yields something, or raises always, or is a stub of a protocol."""
    gives = any(
        isinstance(node, ast.Return | ast.Yield | ast.YieldFrom) and node.value for node in _own(function)
    )
    return gives or isinstance(function.body[-1], ast.Raise | ast.Pass)


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """What stands in a function, without the functions inside of it."""
    for inner in ast.iter_child_nodes(node):
        if not isinstance(inner, ast.FunctionDef | ast.Lambda):
            yield inner
            yield from _own(inner)
