"""What a cell or a module defines: Python's own tree, with the lines of text that hold each statement."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from coursekit.errors import CourseError
from coursekit.notebooks import HIDDEN, SOLUTION, Cell

FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)

_MARKER = re.compile(r"\s*#(\||\s*exercise:|\s*helpers\s*$)")
_OWN_SCOPE = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class SourceError(CourseError):
    """A CourseError that knows the cell it speaks of."""

    def __init__(self, cell: Cell, line: int | None, message: str) -> None:
        super().__init__(f"{cell.where(line)}: {message}")
        self.cell = cell
        self.line = line


@dataclass(frozen=True, eq=False)
class Statement:
    """A statement and its text: the lines from its first to its last, with the comments beside and in it."""

    node: ast.stmt
    above: tuple[str, ...]  # comments and empty lines, without their indentation
    lines: tuple[str, ...]
    column: int = 0  # how far the lines are indented

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def indented(self, column: int) -> list[str]:
        """The lines as they stand at `column`, those above them included."""
        more = column - self.column
        lines = [" " * column + line if line else "" for line in self.above]
        fixed = {*_inside_strings(self.node)} if more else set()  # indentation would change the strings
        for number, line in enumerate(self.lines, first_line(self.node)):
            if number not in fixed and line.strip():
                space = len(line) - len(line.lstrip(" "))
                line = " " * max(space + more, 0) + line[space:]
            lines.append(line)
        return lines


@dataclass(frozen=True, eq=False)
class Definition:
    """One statement of a cell and the names that it gives to a module, members as in `Value.tanh`."""

    cell: Cell
    line: int  # in the cell
    statement: Statement
    names: frozenset[str]
    owner: str | None = None  # the class that it is a member of

    @property
    def node(self) -> ast.stmt:
        return self.statement.node

    @property
    def name(self) -> str:
        """The name that it is known by; empty for a statement that binds none."""
        return min(self.names, default="")

    @property
    def is_import(self) -> bool:
        return is_import(self.node)

    def error(self, message: str) -> SourceError:
        """What is wrong with it, and where."""
        return SourceError(self.cell, self.line, message)


def definitions(cell: Cell) -> list[Definition]:
    """The top-level statements of a code cell, in order. Raises SourceError."""
    lines = cell.source.replace("\r\n", "\n").split("\n")
    kept = [number for number, line in enumerate(lines, 1) if not is_marker(line)]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they belong to those who run the cell
            found, _ = statements("\n".join(lines[number - 1] for number in kept))
    except SyntaxError as error:
        line = kept[min(error.lineno or 1, len(kept)) - 1] if kept else None
        raise SourceError(cell, line, f"syntax error: {error.msg}; exported cells are plain Python") from None
    except ValueError as error:
        raise SourceError(cell, None, f"syntax error: {error}") from None
    found[:1] = [replace(one, above=("", *one.above)) for one in found[:1]]
    return [_definition(cell, kept[first_line(one.node) - 1], one) for one in found]


def is_marker(line: str) -> bool:
    """Whether a line is a directive, an `# exercise:` line or a marker of solutions, and so no code."""
    return bool(_MARKER.match(line)) or line.strip() in (*SOLUTION, *HIDDEN)


def _definition(cell: Cell, line: int, statement: Statement) -> Definition:
    node = statement.node
    decorator = member_decorator(node)
    if decorator is not None:
        assert isinstance(node, FUNCTION)
        owner = ", ".join(ast.unparse(argument) for argument in decorator.args)
        return Definition(cell, line, statement, frozenset({f"{owner}.{node.name}"}), owner)
    owner_of = assigned_class(node)
    if owner_of is not None:
        names = frozenset(ast.unparse(target) for target in _targets(node))
        return Definition(cell, line, statement, names, owner_of)
    return Definition(cell, line, statement, frozenset(bound_names(node)) - {"_"})


def as_members(definition: Definition) -> list[Definition]:
    """A class taken apart: each of its members as a definition of its own."""
    assert isinstance(definition.node, ast.ClassDef)
    owner = definition.node.name
    return [
        replace(
            definition,
            statement=member,
            names=frozenset(f"{owner}.{name}" for name in bound_names(member.node)),
            owner=owner,
        )
        for member in class_parts(definition.statement)[1]
    ]


# Text


def statements(text: str) -> tuple[list[Statement], list[str]]:
    """The statements of `text`, those of a line `a = 1; b = 2` apart, and the lines below the last one."""
    lines = text.rstrip("\n").split("\n")
    return _taken(ast.parse(text).body, lines, 1)


def class_parts(statement: Statement) -> tuple[Statement, list[Statement], list[str]]:
    """The header of a class, its members, and the comments below the last one."""
    node, lines = statement.node, list(statement.lines)
    assert isinstance(node, ast.ClassDef)
    begin = first_line(node)
    start = place = first_line(node.body[0]) - begin
    while not _before(lines[place], node.body[0], place + begin) and _is_empty(lines[start - 1]):
        start -= 1
    header = [*lines[:start], *filter(None, [_before(lines[place], node.body[0], place + begin)])]
    members, below = _taken(node.body, lines, begin, start + begin)
    return replace(statement, lines=tuple(header)), members, below


def _taken(
    body: Sequence[ast.stmt], lines: Sequence[str], offset: int, start: int | None = None
) -> tuple[list[Statement], list[str]]:
    """The statements of `body`; the first of `lines` has the number `offset`, and `start` is not yet read."""
    found: list[Statement] = []
    read = start or offset  # the first line that no statement has
    for node, after in zip(body, [*body[1:], None]):
        begin, end = first_line(node), node.end_lineno or 0
        next_one = first_line(after) if after else len(lines) + offset
        above = [line.strip() for line in lines[read - offset : begin - offset]]
        before, own = (
            _before(lines[begin - offset], node, begin),
            list(lines[begin - offset : end - offset + 1]),
        )
        if next_one == end:
            own[-1] = own[-1].encode()[: node.end_col_offset].decode()
        else:  # comments that are indented below it are its own
            inside = [n for n in range(end + 1, next_one) if _is_inside(lines[n - offset], node.col_offset)]
            end = max(inside, default=end)
            own += lines[(node.end_lineno or 0) - offset + 1 : end - offset + 1]
        if before:
            own[0] = own[0].encode()[node.col_offset :].decode()
        found.append(Statement(node, tuple(above), tuple(own), 0 if before else node.col_offset))
        read = end + 1
    return found, [line.strip() for line in lines[read - offset :]]


def _before(line: str, node: ast.stmt, number: int) -> str:
    """What stands on the line of a statement before it: another one, or the class that it is a member of."""
    return line.encode()[: node.col_offset].decode().rstrip() if number == node.lineno else ""


def _is_empty(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _is_inside(line: str, column: int) -> bool:
    return line.lstrip().startswith("#") and len(line) - len(line.lstrip()) > column


def _inside_strings(node: ast.stmt) -> Iterator[int]:
    """The lines that begin in the middle of a string."""
    for one in ast.walk(node):
        if isinstance(one, ast.Constant | ast.JoinedStr) and one.end_lineno != one.lineno:
            yield from range(one.lineno + 1, (one.end_lineno or 0) + 1)


def first_line(node: ast.stmt) -> int:
    """Where a statement begins, its decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(item.lineno for item in decorators)])


def attached(lines: Iterable[str]) -> tuple[list[str], list[str]]:
    """The lines above a statement: what stands apart from it (a section's heading), and its own comment."""
    found = list(lines)
    start = max((number for number, line in enumerate(found, 1) if not line), default=0)
    return found[:start], found[start:]


# Names


def bound_names(node: ast.AST) -> Iterator[str]:
    """The names that running `node` binds in its own scope."""
    if isinstance(node, (*FUNCTION, ast.ClassDef)):
        yield node.name
    elif isinstance(node, ast.alias):
        if node.name != "*":
            yield node.asname or node.name.partition(".")[0]
    elif isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Store):
            yield node.id
    elif not isinstance(node, _OWN_SCOPE):
        if isinstance(node, ast.ExceptHandler) and node.name:
            yield node.name
        for child in ast.iter_child_nodes(node):
            yield from bound_names(child)


def names_read_now(node: ast.AST) -> Iterator[str]:
    """The names that are looked up when `node` is run, not when a function in it is called."""
    parts: Iterable[ast.AST | None] = ast.iter_child_nodes(node)
    if isinstance(node, (*FUNCTION, ast.Lambda)):
        parts = [*getattr(node, "decorator_list", []), *node.args.defaults, *node.args.kw_defaults]
    elif isinstance(node, ast.AnnAssign):  # annotations are not looked up
        parts = [node.value]
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        yield node.target.id
    for part in filter(None, parts):
        yield from names_read_now(part)


# Kinds of statements


def is_import(node: ast.stmt) -> bool:
    """Whether a statement only imports: `import`, `from`, or those below `if TYPE_CHECKING:`."""
    return isinstance(node, ast.Import | ast.ImportFrom) or is_typing_block(node)


def is_typing_block(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.If)
        and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
        and not node.orelse
        and all(is_import(line) for line in node.body)
    )


def is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def does_nothing(node: ast.stmt) -> bool:
    return isinstance(node, ast.Pass) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and node.value.value is ...
    )


def member_decorator(node: ast.stmt) -> ast.Call | None:
    """The `add_to(...)` among the decorators of `node`."""
    for call in node.decorator_list if isinstance(node, FUNCTION) else ():
        if isinstance(call, ast.Call) and ast.unparse(call.func) in ("add_to", "coursekit.add_to"):
            return call
    return None


def assigned_class(node: ast.stmt) -> str | None:
    """`"Value"` for `Value.__radd__ = ...`, where every target is an attribute of that one name."""
    owners = {
        one.value.id if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name) else None
        for one in _targets(node)
    }
    return owners.pop() if len(owners) == 1 else None


def _targets(node: ast.stmt) -> Sequence[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else ()


def repeats_on_purpose(node: ast.stmt, earlier: ast.stmt) -> bool:
    """Whether `node` may bind its name again: a property's setter, or what follows an `@overload`."""
    if not isinstance(node, FUNCTION) or not isinstance(earlier, FUNCTION):
        return False
    after = {f"{node.name}.{word}" for word in ("setter", "getter", "deleter")}
    return bool(after & _decorators(node)) or bool({"overload", "typing.overload"} & _decorators(earlier))


def _decorators(node: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    return {ast.unparse(decorator) for decorator in node.decorator_list}


# Members in the body of their class


def as_class_body(definition: Definition) -> Statement:
    """A member as it stands in the body of its class: without `@add_to`, without `Value.` before names."""
    node, lines = definition.node, list(definition.statement.lines)
    call, begin = member_decorator(node), first_line(definition.node)
    if call is not None:
        del lines[call.lineno - begin : (call.end_lineno or 0) - begin + 1]
    cut = node.col_offset - definition.statement.column  # what stood before it on its first line
    for one in sorted(_own_names(node, definition.owner), key=lambda one: (-one.lineno, -one.col_offset)):
        first, last = one.lineno - begin, (one.end_lineno or 0) - begin
        head = lines[first].encode()[: one.col_offset - (0 if first else cut)].decode()
        tail = lines[last].encode()[(one.end_col_offset or 0) - (0 if last else cut) :].decode()
        lines[first : last + 1] = [head + one.attr + tail]
    (made,), _ = statements("\n".join(lines))
    return replace(made, above=(*definition.statement.above, *made.above))


def _own_names(node: ast.AST, owner: str | None) -> Iterator[ast.Attribute]:
    """Each `Value.x` that is read while the class's body is run; functions in it are called later."""
    if isinstance(node, FUNCTION):
        return
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == owner:
        yield node
    elif not isinstance(node, _OWN_SCOPE):
        for child in ast.iter_child_nodes(node):
            yield from _own_names(child, owner)
