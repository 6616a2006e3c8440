"""Conversions by the source's own operators and constructors, where the rules of the language do not do."""

from __future__ import annotations

from warplens.errors import At, unsupported
from warplens.language import syntax, tree
from warplens.language.check_context import Context
from warplens.language.check_user_calls import call_method, construct_from
from warplens.language.class_members import conversion_operators, members_of, takes
from warplens.language.conversion import Value, as_bool, implicit, rvalue
from warplens.language.function_pointers import target_of
from warplens.language.syntax import first_at
from warplens.language.types import BOOL, Record, Type


def converted(context: Context, value: Value, to: Type, at: At) -> tree.Expression | None:
    """By a rule of the language, an operator of the value's class, or a constructor of the other."""
    if value.function is not None:
        return None
    result = implicit(value, to)
    if result is not None:
        return result
    if target_of(value.type) is not None and target_of(to) is not None:
        raise unsupported(
            at, "a pointer to a function that changes", "choose with if, and call each by its name"
        )
    found = _conversion(context, value, to, at)
    if found is not None:
        return implicit(found, to)
    members = members_of(to)
    if members is None or not takes(members.constructors, value):
        return None
    place = context.temporary(to, at)
    function = Value(function=members.constructors, name=str(to), object=Value(place=place))
    call = rvalue(construct_from(context, function, value, at))
    return tree.Comma(at, to, call, tree.Load(at, to, place))


def truth_of(context: Context, value: Value, at: At) -> Value:
    """A condition: operators that are explicit count too."""
    if value.function is not None or not isinstance(value.type, Record):
        return value
    found = conversion_operators(value, BOOL, explicit=True)
    return call_method(context, found[0], value, at) if len(found) == 1 else value


def condition_of(context: Context, node: syntax.Node) -> tree.Expression:
    """An expression as a bool."""
    if isinstance(node, syntax.Text):  # assert(i < n && "a message")
        return tree.Literal(node.at, BOOL, True)
    return as_bool(truth_of(context, context.value(node), node.at), first_at(node))


def plain_operand(context: Context, value: Value, at: At) -> Value:
    """An operand of a built-in operator: of a class with one conversion, what that gives."""
    if value.function is not None or not isinstance(value.type, Record):
        return value
    return _conversion(context, value, None, at) or value


def _conversion(context: Context, value: Value, to: Type | None, at: At) -> Value | None:
    found = conversion_operators(value, to)
    if len(found) != 1:
        return None
    return call_method(context, found[0], value, at)
