"""Lambda functions: objects of a class without a name, which hold what they capture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from warplens.errors import At, Fault, unsupported
from warplens.language import syntax, tree
from warplens.language.check_context import Context
from warplens.language.check_functions import declare_method
from warplens.language.check_instances import finish
from warplens.language.check_names import OWN
from warplens.language.conversion import Value, address, rvalue
from warplens.language.scope import CapturedName, FieldName, Members, Scope, VariableName
from warplens.language.types import Array, Field, Pointer, Record, Type


def check_lambda(context: Context, node: syntax.Lambda) -> Value:
    if node not in context.lambdas:
        context.lambdas[node] = _made(context, node)
    return context.lambdas[node]


def _made(context: Context, node: syntax.Lambda) -> Value:
    if context.function is None:
        raise unsupported(node.at, "lambda functions outside of functions")
    members = Members(Scope(context.scope))
    record = Record(f"<lambda of line {node.at.line}>", (), 1, 1, complete=False, members=members)
    parts: list[tree.Expression] = []
    fields: list[Field] = []
    offset, align = 0, 1
    for name, by_reference in _captured(context, node).items():
        part, kind = _part(context, name, by_reference, node.at)
        offset = -(-offset // kind.align) * kind.align
        fields.append(Field(name, kind, offset))
        parts.append(part)
        offset, align = offset + kind.size, max(align, kind.align)
        members.scope.names[name] = FieldName(record, [name])
        meaning = context.scope.find(name)
        if not by_reference and isinstance(meaning, VariableName) and meaning.variable.volatile:
            members.volatile.add(name)
        if by_reference:
            assert isinstance(kind, Pointer)
            members.scope.names[name] = CapturedName(record, name, kind.to, kind.const)
    record.define(tuple(fields), max(1, -(-offset // align) * align), align)
    made = declare_method(context.file, record, node.method)
    if made is not None:
        finish(context.file, made)
    return Value(tree.MakeRecord(node.at, record, parts))


def _part(context: Context, name: str, by_reference: bool, at: At) -> tuple[tree.Expression, Type]:
    """What is kept of a variable: its value, or its address."""
    value = context.value(syntax.Name(at, name))
    assert value.place is not None
    if by_reference:
        pointer = address(value, at)
        return pointer, pointer.type
    if isinstance(value.type, Array):
        return tree.Load(at, value.type, value.place), value.type
    return rvalue(value), value.type


def _captured(context: Context, node: syntax.Lambda) -> dict[str, bool]:
    """The names of the variables that it holds, and whether it holds their addresses."""
    found: dict[str, bool] = {}
    for at, name, by_reference in node.captures:
        if not _is_own(context, name):
            raise Fault(at, f"'{name}' is no variable of the function around, which a lambda could capture")
        found[name] = by_reference
    declared = {name for name in _declared(node.method)}
    if node.default:
        for name in _names(node.method):
            if name not in declared and name not in found and _is_own(context, name):
                found[name] = node.default == "&"
    return found


def _is_own(context: Context, name: str) -> bool:
    meaning = context.scope.find(name)
    if isinstance(meaning, CapturedName | FieldName):
        function = context.function
        inside = function is not None and function.owner is meaning.record
        if inside and meaning.record.name.startswith("<lambda"):
            raise unsupported(context.function.at, "a lambda within a lambda")  # type: ignore[union-attr]
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
