"""What a cell or a module defines, as nodes of libcst's tree, which keep their comments and their layout."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import libcst as cst
import libcst.matchers as m

from coursekit.errors import CourseError
from coursekit.notebooks import HIDDEN, SOLUTION, Cell

Statement: TypeAlias = cst.SimpleStatementLine | cst.BaseCompoundStatement

_MARKER = re.compile(r"\s*#(\||\s*exercise:|\s*helpers\s*$)")
_LATER = (cst.FunctionDef, cst.Lambda)
_COMPREHENSIONS = (cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp)


class SourceError(CourseError):
    """A CourseError that knows the cell it speaks of."""

    def __init__(self, cell: Cell, line: int | None, message: str) -> None:
        super().__init__(f"{cell.where(line)}: {message}")
        self.cell = cell
        self.line = line


@dataclass(frozen=True, eq=False)
class Definition:
    """One statement of a cell and the names that it gives to a module, members as in `Value.tanh`."""

    cell: Cell
    line: int  # in the cell
    node: Statement
    names: frozenset[str]
    owner: str | None = None  # the class that it is a member of

    @property
    def name(self) -> str:
        """The name that it is known by; empty for a statement that binds none."""
        return min(self.names, default="")

    @property
    def is_import(self) -> bool:
        return is_import(self.node)


def definitions(cell: Cell) -> list[Definition]:
    """The top-level statements of a code cell, in order. Raises SourceError."""
    lines = cell.source.replace("\r\n", "\n").split("\n")
    kept = [number for number, line in enumerate(lines, 1) if not is_marker(line)]
    text = "\n".join(lines[number - 1] for number in kept)
    positions = [kept[line - 1] for line in _first_lines(cell, text, kept)]
    found: list[Definition] = []
    tree = parse(text)
    for node in tree.body:
        if not found:
            above = [cst.EmptyLine(indent=False), *tree.header, *node.leading_lines]
            node = node.with_changes(leading_lines=above)
        parts = list(one_by_one(node))
        found += [_definition(cell, positions[len(found)], part) for part in parts]
    return found


def _first_lines(cell: Cell, text: str, kept: list[int]) -> list[int]:
    """The line of `text` on which each statement begins, decorators included: Python's own tree knows it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they belong to those who run the cell
            body = ast.parse(text).body
    except SyntaxError as error:
        line = kept[min(error.lineno or 1, len(kept)) - 1] if kept else None
        raise SourceError(cell, line, f"syntax error: {error.msg}; exported cells are plain Python") from None
    except ValueError as error:
        raise SourceError(cell, None, f"syntax error: {error}") from None
    return [first_line(node) for node in body]


def first_line(node: ast.stmt) -> int:
    """Where a statement begins, its decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(item.lineno for item in decorators)])


def parse(text: str) -> cst.Module:
    return cst.parse_module(text.rstrip("\n") + "\n")


def is_marker(line: str) -> bool:
    """Whether a line is a directive, an `# exercise:` line or a marker of solutions, and so no code."""
    return bool(_MARKER.match(line)) or line.strip() in (*SOLUTION, *HIDDEN)


def one_by_one(node: Statement) -> Iterator[Statement]:
    """The statements of a line such as `a = 1; b = 2  # both`, each on a line of its own."""
    if not isinstance(node, cst.SimpleStatementLine) or len(node.body) == 1:
        yield node
        return
    for number, part in enumerate(node.body):
        plain = part.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)
        is_last = number == len(node.body) - 1
        yield cst.SimpleStatementLine(
            [plain],
            leading_lines=node.leading_lines if number == 0 else (),
            trailing_whitespace=node.trailing_whitespace if is_last else cst.TrailingWhitespace(),
        )


def _definition(cell: Cell, line: int, node: Statement) -> Definition:
    decorator = member_decorator(node)
    if decorator is not None:
        assert isinstance(node, cst.FunctionDef)
        owner = ", ".join(code(argument.value) for argument in decorator.args)
        return Definition(cell, line, node, frozenset({f"{owner}.{node.name.value}"}), owner)
    owner_of = assigned_class(node)
    if owner_of is not None:
        return Definition(cell, line, node, frozenset(assigned_attributes(node)), owner_of)
    return Definition(cell, line, node, frozenset(bound_names(node)) - {"_"})


def as_members(definition: Definition) -> list[Definition]:
    """A class taken apart: each of its members as a definition of its own."""
    node = definition.node
    assert isinstance(node, cst.ClassDef)
    return [
        replace(
            definition,
            node=part,
            names=frozenset(f"{node.name.value}.{name}" for name in bound_names(part)),
            owner=node.name.value,
        )
        for member in body_of(node)
        for part in one_by_one(member)
    ]


def body_of(node: cst.ClassDef) -> Sequence[Any]:
    """The statements of a class, also of one on one line: `class Error(Exception): ...`."""
    if isinstance(node.body, cst.IndentedBlock):
        return node.body.body
    plain: Any = cst.MaybeSentinel.DEFAULT
    return [cst.SimpleStatementLine([part.with_changes(semicolon=plain)]) for part in node.body.body]  # type: ignore[list-item]


# Names


def bound_names(node: cst.CSTNode) -> Iterator[str]:
    """The names that running `node` binds in its own scope."""
    if isinstance(node, cst.FunctionDef | cst.ClassDef):
        yield node.name.value
    elif isinstance(node, cst.ImportAlias):
        yield node.evaluated_alias or node.evaluated_name.partition(".")[0]
    elif isinstance(node, cst.AssignTarget | cst.AnnAssign | cst.AugAssign | cst.For | cst.NamedExpr):
        yield from _target_names(node.target)
        yield from _within(node)
    elif isinstance(node, cst.AsName):
        yield from _target_names(node.name)
    elif not isinstance(node, (*_LATER, *_COMPREHENSIONS)):
        yield from _within(node)


def _within(node: cst.CSTNode) -> Iterator[str]:
    for child in node.children:
        yield from bound_names(child)


def _target_names(target: cst.CSTNode) -> Iterator[str]:
    if isinstance(target, cst.Name):
        yield target.value
    elif isinstance(target, cst.Tuple | cst.List):
        for element in target.elements:
            yield from _target_names(element.value)


def names_read_now(node: cst.CSTNode) -> Iterator[str]:
    """The names that are looked up when `node` is run, not when a function in it is called."""
    if isinstance(node, cst.FunctionDef):
        for decorator in node.decorators:
            yield from names_read_now(decorator)
        yield from _defaults(node.params)
    elif isinstance(node, cst.Lambda):
        yield from _defaults(node.params)
    elif isinstance(node, cst.Attribute | cst.Arg):
        yield from names_read_now(node.value)
    elif isinstance(node, cst.AssignTarget):
        if not isinstance(node.target, cst.Name):
            yield from names_read_now(node.target)
    elif isinstance(node, cst.AnnAssign):  # annotations are not looked up
        yield from names_read_now(node.value) if node.value else ()
    elif isinstance(node, cst.Name):
        yield node.value
    else:
        for child in node.children:
            yield from names_read_now(child)


def _defaults(parameters: cst.Parameters) -> Iterator[str]:
    for parameter in m.findall(parameters, m.Param()):
        if isinstance(parameter, cst.Param) and parameter.default is not None:
            yield from names_read_now(parameter.default)


# Kinds of statements


def is_import(node: cst.CSTNode) -> bool:
    """Whether a statement only imports: `import`, `from`, or those below `if TYPE_CHECKING:`."""
    if isinstance(node, cst.SimpleStatementLine):
        return all(isinstance(part, cst.Import | cst.ImportFrom) for part in node.body)
    return is_typing_block(node)


def is_typing_block(node: cst.CSTNode) -> bool:
    return (
        isinstance(node, cst.If)
        and code(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
        and node.orelse is None
        and all(is_import(line) for line in node.body.body)
    )


def is_docstring(node: cst.CSTNode) -> bool:
    return m.matches(
        node,
        m.SimpleStatementLine(body=[m.Expr(m.SimpleString() | m.ConcatenatedString())]),
    )


def does_nothing(node: cst.CSTNode) -> bool:
    return m.matches(node, m.SimpleStatementLine(body=[m.Pass() | m.Expr(m.Ellipsis())]))


def member_decorator(node: cst.CSTNode) -> cst.Call | None:
    """The `add_to(...)` among the decorators of `node`."""
    for decorator in node.decorators if isinstance(node, cst.FunctionDef) else ():
        call = decorator.decorator
        if isinstance(call, cst.Call) and code(call.func) in ("add_to", "coursekit.add_to"):
            return call
    return None


def assigned_class(node: cst.CSTNode) -> str | None:
    """`"Value"` for `Value.__radd__ = ...`, where every target is an attribute of that one name."""
    owners = {
        code(target.value)
        if isinstance(target, cst.Attribute) and isinstance(target.value, cst.Name)
        else None
        for target in _targets(node)
    }
    return owners.pop() if len(owners) == 1 else None


def assigned_attributes(node: cst.CSTNode) -> Iterator[str]:
    return (code(target) for target in _targets(node))


def _targets(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    if m.matches(node, m.SimpleStatementLine(body=[m.Assign()])):
        assert isinstance(node, cst.SimpleStatementLine) and isinstance(node.body[0], cst.Assign)
        yield from (target.target for target in node.body[0].targets)


def repeats_on_purpose(node: cst.CSTNode, earlier: cst.CSTNode) -> bool:
    """Whether `node` may bind its name again: a property's setter, or what follows an `@overload`."""
    if not isinstance(node, cst.FunctionDef) or not isinstance(earlier, cst.FunctionDef):
        return False
    after = {f"{node.name.value}.{word}" for word in ("setter", "getter", "deleter")}
    return bool(after & _decorators(node)) or bool({"overload", "typing.overload"} & _decorators(earlier))


def _decorators(node: cst.FunctionDef) -> set[str]:
    return {code(decorator.decorator) for decorator in node.decorators}


def code(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)


# Members in the body of their class


def as_class_body(definition: Definition) -> Statement:
    """A member as it stands in the body of its class: without `@add_to`, without `Value.` before names."""
    node = definition.node
    if isinstance(node, cst.FunctionDef):
        call = member_decorator(node)
        return node.with_changes(decorators=[item for item in node.decorators if item.decorator is not call])
    changed = node.visit(_OwnNames(definition.owner or ""))
    assert isinstance(changed, cst.SimpleStatementLine)
    return changed


class _OwnNames(cst.CSTTransformer):
    """`Value.x` reads `x` where the class's body is run; functions in it are called later and keep it."""

    def __init__(self, owner: str) -> None:
        super().__init__()
        self.owner = owner

    def visit_Lambda(self, node: cst.Lambda) -> bool:
        return False

    def visit_ListComp(self, node: cst.ListComp) -> bool:
        return False

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp  # type: ignore[assignment]

    def leave_Attribute(
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        return updated_node.attr if code(updated_node.value) == self.owner else updated_node


# Comments above


def attached(lines: Iterable[cst.EmptyLine]) -> tuple[list[cst.EmptyLine], list[cst.EmptyLine]]:
    """The lines above a statement: what stands apart from it (a section's heading), and its own comment."""
    found = list(lines)
    start = max((number for number, line in enumerate(found, 1) if line.comment is None), default=0)
    return found[:start], found[start:]
