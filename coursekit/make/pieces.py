"""Source text in pieces: one statement each with its comments, kept as its author wrote it."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest

from coursekit.errors import CourseError
from coursekit.notebooks import HIDDEN, SOLUTION, Cell

_MARKER = re.compile(r"\s*#(\||\s*exercise:|\s*helpers\s*$)")
_NOT_NOW = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class SourceError(CourseError):
    """A CourseError that knows the cell it speaks of."""

    def __init__(self, cell: Cell, line: int | None, message: str) -> None:
        super().__init__(f"{cell.where(line)}: {message}")
        self.cell = cell


@dataclass(eq=False)
class Piece:
    """One statement of a cell: its text with the comments above it, and the names that it binds."""

    cell: Cell
    line: int  # of the statement, in the cell
    node: ast.stmt
    text: str
    heading: str | None = None
    replaceable: bool = False  # a learner's answer may take its place
    apart: bool = True  # a blank line stood above it, or it came first
    names: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.names = frozenset(bound_names(self.node)) - {"_"}


def parse(text: str) -> ast.Module:
    """The syntax tree of `text`; Python's warnings about it belong to those who run it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def pieces(cell: Cell) -> Iterator[Piece]:
    """The top-level statements of a code cell, in order."""
    text = cell.source.replace("\r\n", "\n")
    try:
        tree = parse(text)
    except SyntaxError as error:
        raise SourceError(
            cell, error.lineno, f"syntax error: {error.msg}; exported cells are plain Python"
        ) from None
    except ValueError as error:
        raise SourceError(cell, None, f"syntax error: {error}") from None
    yield from split(text, tree.body, cell=cell)


def split(text: str, body: list[ast.stmt], *, cell: Cell, skip: int = 0, offset: int = 0) -> Iterator[Piece]:
    """The statements `body` of `text` below its first `skip` lines; line n is the cell's n + `offset`."""
    lines = text.split("\n")
    for group, first, last in _ranges(lines, body, skip):
        apart = first == skip + 1 or not lines[first - 1].strip()
        for node, part in _parts(lines, group, first, last):
            line = first_line(node) + offset
            yield Piece(cell, line, node, part, apart=apart)
            apart = False


def first_line(node: ast.stmt) -> int:
    """Where `node` begins, its decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(item.lineno for item in decorators)])


def last_line(node: ast.AST) -> int:
    end = getattr(node, "end_lineno", None)
    assert isinstance(end, int)  # ast.parse always gives it
    return end


def _ranges(lines: list[str], body: list[ast.stmt], skip: int) -> Iterator[tuple[list[ast.stmt], int, int]]:
    """Statements that share a line, with the first and last line (from 1) of their text."""
    groups: list[list[ast.stmt]] = []
    for node in body:
        if groups and first_line(node) <= last_line(groups[-1][-1]):
            groups[-1].append(node)
        else:
            groups.append([node])
    begin = skip + 1
    for group, following in zip_longest(groups, groups[1:]):
        limit = first_line(following[0]) - 1 if following else len(lines)
        end = _with_comments(lines, last_line(group[-1]), limit, group[0].col_offset) if following else limit
        yield group, begin, end
        begin = end + 1


def _with_comments(lines: list[str], end: int, limit: int, column: int) -> int:
    """The last line up to `limit` that is a deeper comment: it belongs to the statement above."""
    for number in range(end + 1, limit + 1):
        line = lines[number - 1]
        if line.strip() and len(line) - len(line.lstrip()) <= column:
            break
        if line.strip():
            end = number
    return end


def _parts(lines: list[str], group: list[ast.stmt], first: int, last: int) -> Iterator[tuple[ast.stmt, str]]:
    """Each statement of `group` with its own text: `a = 1; b = 2` is two."""
    if len(group) == 1:
        yield group[0], _trimmed(lines[first - 1 : last])
        return
    above = lines[first - 1 : group[0].lineno - 1]
    for node in group:
        inside = lines[node.lineno - 1 : last_line(node)]
        inside[-1] = inside[-1].encode()[: node.end_col_offset].decode()
        inside[0] = inside[0].encode()[node.col_offset :].decode()
        below = lines[last_line(node) - 1].encode()[node.end_col_offset :].decode().lstrip("; ")
        if node is group[-1] and below:
            inside[-1] += "  " + below
        inside[0] = " " * group[0].col_offset + inside[0]
        yield node, _trimmed([*above, *inside])
        above = []


def _trimmed(lines: list[str]) -> str:
    return "\n".join(lines).strip("\n").rstrip()


def without_markers(text: str) -> str:
    """`text` without directives, `# exercise:` lines, solution markers, and blank lines around it."""
    lines = [line for line in text.split("\n") if not _is_marker(line)]
    return _trimmed(lines)


def _is_marker(line: str) -> bool:
    return bool(_MARKER.match(line)) or line.strip() in (*SOLUTION, *HIDDEN)


def bound_names(node: ast.AST) -> Iterator[str]:
    """The names that running `node` binds in its own scope."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.alias):
        yield node.asname or node.name.partition(".")[0]
    elif not isinstance(node, (*_NOT_NOW, *_COMPREHENSIONS)):
        for child in ast.iter_child_nodes(node):
            yield from bound_names(child)


def names_read_now(node: ast.AST) -> Iterator[str]:
    """The names that are looked up at the moment when `node` is run, not when a function in it is called."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, _NOT_NOW):
        defaults = [*node.args.defaults, *(item for item in node.args.kw_defaults if item is not None)]
        for child in [*defaults, *getattr(node, "decorator_list", [])]:
            yield from names_read_now(child)
    else:
        for child in ast.iter_child_nodes(node):
            yield from names_read_now(child)


def repeats_on_purpose(node: ast.stmt, earlier: ast.stmt, name: str) -> bool:
    """Whether `node` may bind `name` again: a property's setter, or what follows an `@overload`."""
    for decorator in getattr(node, "decorator_list", []):
        if ast.unparse(decorator) in (f"{name}.setter", f"{name}.getter", f"{name}.deleter"):
            return True
    return any(
        ast.unparse(decorator) in ("overload", "typing.overload")
        for decorator in getattr(earlier, "decorator_list", [])
    )


def indented(text: str, indent: str) -> str:
    """`text` moved to the right, but for lines inside strings, which would change their value."""
    fixed: set[int] = set()
    for node in ast.walk(parse(text)):
        if isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
        ):
            fixed.update(range(node.lineno + 1, last_line(node) + 1))
    lines = enumerate(text.split("\n"), 1)
    return "\n".join(line if number in fixed or not line.strip() else indent + line for number, line in lines)


def member_decorator(node: ast.stmt) -> ast.Call | None:
    """The `add_to(...)` among the decorators of `node`."""
    for decorator in getattr(node, "decorator_list", []):
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) in ("add_to", "coursekit.add_to"):
            return decorator
    return None


def without_member_decorator(text: str) -> str:
    """The text of one function without its `@add_to(...)` lines."""
    node = parse(text).body[0]
    decorator = member_decorator(node)
    assert decorator is not None
    lines = text.split("\n")
    return "\n".join(lines[: decorator.lineno - 1] + lines[last_line(decorator) :])


def assigned_class(node: ast.stmt) -> str | None:
    """`"Value"` for `Value.__radd__ = ...`, where every target is an attribute of that one name."""
    if not isinstance(node, ast.Assign):
        return None
    owners = {
        target.value.id if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) else None
        for target in node.targets
    }
    return owners.pop() if len(owners) == 1 else None


def as_class_body(text: str, owner: str) -> str:
    """`Value.__radd__ = Value.__add__` as it stands in the body of Value: `__radd__ = __add__`."""
    lines = [line.encode() for line in text.split("\n")]
    found = [
        node
        for node in _attributes_read_now(parse(text))
        if ast.unparse(node.value) == owner and node.lineno == node.end_lineno
    ]
    for node in sorted(found, key=lambda item: (item.lineno, item.col_offset), reverse=True):
        line, end = lines[node.lineno - 1], node.end_col_offset
        lines[node.lineno - 1] = line[: node.col_offset] + node.attr.encode() + line[end:]
    return b"\n".join(lines).decode()


def _attributes_read_now(node: ast.AST) -> Iterator[ast.Attribute]:
    if isinstance(node, (*_NOT_NOW, *_COMPREHENSIONS)):
        return
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from _attributes_read_now(child)
