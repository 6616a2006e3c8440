"""Calls of the source's own functions, among them operators, constructors and conversions."""

from __future__ import annotations

from warplens.errors import At, Fault, unsupported
from warplens.language import syntax, tree
from warplens.language.check_context import Context, File
from warplens.language.check_instances import finish
from warplens.language.check_overloads import Candidate, candidates_of, choose, ranked
from warplens.language.class_members import members_of
from warplens.language.conversion import Value, address, rvalue
from warplens.language.scope import FunctionName, Overloads, ParameterType, Scope
from warplens.language.types import Enum, Record


def call_operator(
    context: Context, op: str, values: list[Value], operands: list[syntax.Node], at: At
) -> Value | None:
    """A call of an operator of the source's own; None where there is none that takes these operands."""
    name = f"operator{op}"
    if not any(value.function is None and isinstance(value.type, Record | Enum) for value in values):
        return None
    members = members_of(values[0].type) if values[0].function is None else None
    own = members.scope.member(name) if members else None
    if isinstance(own, Overloads):
        method = Value(function=own, name=name, object=values[0])
        candidates = candidates_of(context, method, syntax.Name(at, name), values[1:])
        if any(ranked(one, values[1:]) is not None for one in candidates):
            node = syntax.CallOf(at, syntax.Name(at, name), operands[1:])
            chosen = choose(context, name, candidates, values[1:], node)
            return call_function(context, chosen, values[1:], at, values[0])
    node = syntax.CallOf(at, syntax.Name(at, name), operands)
    candidates = []
    for scope in _scopes(context, values):
        meaning = scope.find(name)
        if isinstance(meaning, Overloads) and meaning.owner is None:
            candidates = candidates_of(context, Value(function=meaning, name=name), node.function, values)
            candidates = [one for one in candidates if ranked(one, values) is not None]
        if candidates:
            break
    if not candidates:
        return None
    return call_function(context, choose(context, name, candidates, values, node), values, at)


def _scopes(context: Context, values: list[Value]) -> list[Scope]:
    """Where an operator is looked for: here, and around the classes of its operands."""
    found = [context.scope]
    for value in values:
        members = members_of(value.type) if value.function is None else None
        if members is not None:
            found.append(members.scope)
    return found


def call_member_operator(
    context: Context, op: str, value: Value, arguments: list[Value], node: syntax.CallOf
) -> Value | None:
    """A call of an operator that is a method; None where the class has none of that name."""
    members = members_of(value.type) if value.function is None else None
    meaning = members.scope.member(f"operator{op}") if members else None
    if not isinstance(meaning, Overloads):
        return None
    callee = Value(function=meaning, name=f"operator{op}", object=value)
    candidates = candidates_of(context, callee, syntax.Name(node.at, callee.name), arguments)
    chosen = choose(context, callee.name, candidates, arguments, node)
    return call_function(context, chosen, arguments, node.at, value)


def call_method(context: Context, method: FunctionName, value: Value, at: At) -> Value:
    """A call without arguments."""
    return call_function(context, Candidate([], 0, method), [], at, value)


def call_constructor(context: Context, callee: Value, node: syntax.CallOf, explicit: bool) -> Value:
    """A call of the constructor that fits."""
    arguments = [call_argument(context, part) for part in node.arguments]
    candidates = candidates_of(context, callee, node.function, arguments)
    if not any(ranked(one, arguments) is not None for one in candidates):
        given = ", ".join(f"'{_shown(value)}'" for value in arguments)
        message = f"no instance of constructor '{callee.name}' matches the argument list"
        raise Fault(node.at, message, f"the argument types are ({given})")
    chosen = choose(context, callee.name, candidates, arguments, node)
    target = chosen.target
    if not explicit and isinstance(target, FunctionName) and target.explicit:
        raise Fault(node.at, f"the constructor '{callee.name}' is explicit", "leave out the =")
    return call_function(context, chosen, arguments, node.at, callee.object)


def construct_from(context: Context, callee: Value, value: Value, at: At) -> Value:
    """A call of a constructor that is no explicit one, with one value."""
    node = syntax.CallOf(at, syntax.Name(at, callee.name), [syntax.Null(at)])
    candidates = [
        one
        for one in candidates_of(context, callee, node.function, [value])
        if isinstance(one.target, FunctionName) and not one.target.explicit
    ]
    return call_function(
        context, choose(context, callee.name, candidates, [value], node), [value], at, callee.object
    )


def _shown(value: Value) -> str:
    return value.name if value.function is not None else str(rvalue(value).type)


def call_argument(context: Context, node: syntax.Node) -> Value:
    """An argument, before it is known what the parameter is."""
    if isinstance(node, syntax.Braces):
        raise unsupported(node.at, "braces as an argument", "name the type: float4{...}")
    return context.operand(node)


def call_function(
    context: Context, chosen: Candidate, arguments: list[Value], at: At, of: Value | None = None
) -> Value:
    """A call of a function that has been chosen; `of`: the object of a method."""
    target = chosen.target
    assert isinstance(target, FunctionName) and target.function is not None
    finish(context.file, target)
    method = target.owner is not None and not target.static
    if not method or context.function is None:
        context.file.may_call(context.function, target, at)
    passed = [_passed(context, value, parameter) for value, parameter in zip(arguments, target.parameters)]
    for parameter in target.definition_parameters()[len(arguments) :]:
        assert parameter.default is not None
        passed.append(_default_argument(context.file, target, parameter))
    call = tree.Call(at, target.function.returns, target.function, passed)
    result: tree.Expression = call
    if method:
        result = _with_object(context, call, target, of, at)
    if target.reference:
        return Value(place=tree.Deref(at, target.returns, result), const=target.returns_const)
    return Value(result)


def _with_object(
    context: Context, call: tree.Call, target: FunctionName, of: Value | None, at: At
) -> tree.Expression:
    """A call of a method; a value that lies nowhere is put somewhere first."""
    assert context.function is not None
    if of is None:
        message = "a nonstatic member reference must be relative to a specific object"
        raise Fault(at, message, f"as in object.{target.definition.declarator.name}(...)")
    first, place = (None, of.place) if of.place is not None else context.put_aside(of, at)
    context.function.waiting.append((call, place, target))
    return call if first is None else tree.Comma(at, call.type, first, call)


def _passed(context: Context, value: Value, parameter: ParameterType) -> tree.Expression:
    """An argument as the function gets it."""
    at = (value.place or value.expression).at  # type: ignore[union-attr]
    if parameter.by_address:
        assert value.place is not None
        const = value.const or parameter.reference == "const"
        return address(Value(place=value.place, const=const), at)
    result = context.converted(value, parameter.type, at)
    assert result is not None
    return result


def _default_argument(file: File, target: FunctionName, parameter: syntax.Parameter) -> tree.Expression:
    """The value of a parameter for which a call gives none."""
    assert parameter.default is not None and target.scope is not None
    context = Context(file, target.scope)
    kind = target.parameters[target.definition_parameters().index(parameter)]
    return _passed(context, context.operand(parameter.default), kind)
