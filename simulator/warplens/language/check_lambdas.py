"""Lambda functions: objects of a class without a name, which hold what they capture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from warplens.errors import At, Fault, unsupported
from warplens.language import syntax, tree
from warplens.language.check_context import Context
from warplens.language.conversion import Value, address, rvalue
from warplens.language.scope import CapturedName, FieldName, Members, Scope, VariableName
from warplens.language.types import Array, Field, Pointer, Record, Type

if TYPE_CHECKING:
    from warplens.language.check_expressions import ExpressionChecker

OWN = ("register", "param", "local")  # where variables lie that a lambda must capture


class LambdaChecker:
    """Makes the class of a lambda, and the object that it is."""

    def __init__(self, context: Context, expressions: ExpressionChecker) -> None:
        self.context, self.expressions = context, expressions
        self.made: dict[syntax.Lambda, Value] = {}  # an expression may be looked at twice: auto f = ...

    def value(self, node: syntax.Lambda) -> Value:
        if node not in self.made:
            self.made[node] = self._made(node)
        return self.made[node]

    def _made(self, node: syntax.Lambda) -> Value:
        if self.context.function is None:
            raise unsupported(node.at, "lambda functions outside of functions")
        members = Members(Scope(self.context.scope))
        record = Record(f"<lambda of line {node.at.line}>", (), 1, 1, complete=False, members=members)
        parts: list[tree.Expression] = []
        fields: list[Field] = []
        offset, align = 0, 1
        for name, by_reference in self._captured(node).items():
            part, kind = self._part(name, by_reference, node.at)
            offset = -(-offset // kind.align) * kind.align
            fields.append(Field(name, kind, offset))
            parts.append(part)
            offset, align = offset + kind.size, max(align, kind.align)
            members.scope.names[name] = FieldName(record, [name])
            meaning = self.context.scope.find(name)
            if not by_reference and isinstance(meaning, VariableName) and meaning.variable.volatile:
                members.volatile.add(name)
            if by_reference:
                assert isinstance(kind, Pointer)
                members.scope.names[name] = CapturedName(record, name, kind.to, kind.const)
        record.define(tuple(fields), max(1, -(-offset // align) * align), align)
        functions = self.context.file.functions
        made = functions.method(record, node.method)
        if made is not None:
            functions.finish(made)
        return Value(tree.MakeRecord(node.at, record, parts))

    def _part(self, name: str, by_reference: bool, at: At) -> tuple[tree.Expression, Type]:
        """What is kept of a variable: its value, or its address."""
        value = self.expressions.value(syntax.Name(at, name))
        assert value.place is not None
        if by_reference:
            pointer = address(value, at)
            return pointer, pointer.type
        if isinstance(value.type, Array):
            return tree.Load(at, value.type, value.place), value.type
        return rvalue(value), value.type

    def _captured(self, node: syntax.Lambda) -> dict[str, bool]:
        """The names of the variables that it holds, and whether it holds their addresses."""
        found: dict[str, bool] = {}
        for at, name, by_reference in node.captures:
            if not self._is_own(name):
                raise Fault(
                    at, f"'{name}' is no variable of the function around, which a lambda could capture"
                )
            found[name] = by_reference
        declared = {name for name in _declared(node.method)}
        if node.default:
            for name in _names(node.method):
                if name not in declared and name not in found and self._is_own(name):
                    found[name] = node.default == "&"
        return found

    def _is_own(self, name: str) -> bool:
        meaning = self.context.scope.find(name)
        if isinstance(meaning, CapturedName | FieldName):
            function = self.context.function
            inside = function is not None and function.owner is meaning.record
            if inside and meaning.record.name.startswith("<lambda"):
                raise unsupported(self.context.function.at, "a lambda within a lambda")  # type: ignore[union-attr]
            return False
        return (
            isinstance(meaning, VariableName)
            and meaning.variable.storage in OWN
            and meaning.owner is not None
            and meaning.constant is None
        )


def _walk(node: Any) -> Iterator[Any]:
    """All that is written below a node."""
    stack = [node]
    while stack:
        top = stack.pop()
        if isinstance(top, list | tuple):
            stack.extend(reversed(top))
        elif hasattr(top, "__dict__") and type(top).__module__ == syntax.__name__:
            yield top
            stack.extend(reversed(vars(top).values()))


def _names(method: syntax.FunctionDefinition) -> list[str]:
    names = [n.name for n in _walk(method.body) if isinstance(n, syntax.Name) and n.of is None]
    return list(dict.fromkeys(names))


def _declared(method: syntax.FunctionDefinition) -> Iterator[str]:
    for node in _walk([method.declarator, method.body]):
        if isinstance(node, syntax.Declarator) and node is not method.declarator:
            yield node.name
