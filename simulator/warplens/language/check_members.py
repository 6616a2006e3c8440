"""Members of objects: fields and methods, by . and ->, and by their name alone within a class."""

from __future__ import annotations

from warplens.errors import At, Fault, unsupported
from warplens.language import syntax, tree
from warplens.language.check_context import Context
from warplens.language.check_methods import this_object
from warplens.language.check_user_calls import call_operator
from warplens.language.conversion import Value, address, rvalue, take
from warplens.language.operators import dereferenced
from warplens.language.scope import CapturedName, ConstantName, FieldName, Overloads, Scope
from warplens.language.types import UINT, Array, Pointer, Record


def check_this(context: Context, node: syntax.This) -> Value:
    function = context.function
    if function is None or function.owner is None or function.static:
        raise Fault(node.at, "'this' may only be used inside a nonstatic member function")
    return Value(address(this_object(function, node.at), node.at), name="this")


def object_of(context: Context, meaning: Overloads, at: At) -> Value | None:
    """The object of a method that is called by its name alone, within a method of the same class."""
    function = context.function
    if meaning.owner is None or function is None or function.static or function.owner is not meaning.owner:
        return None
    return this_object(function, at)


def own_field(context: Context, meaning: FieldName, node: syntax.Name) -> Value:
    """A member of the class, within one of its methods."""
    function = context.function
    owner = function.owner if function is not None else None
    if owner is not None and owner.name.startswith("<lambda") and owner is not meaning.record:
        raise unsupported(node.at, "a lambda that captures this, or a lambda within a lambda")
    if function is None or function.static or function.owner is not meaning.record:
        message = "a nonstatic member reference must be relative to a specific object"
        raise Fault(node.at, message, f"as in object.{node.name}")
    value = this_object(function, node.at)
    return _member(context, value, meaning.path, node.at)


def captured(context: Context, meaning: CapturedName, node: syntax.Name) -> Value:
    """A variable of the function around, within a lambda that holds its address."""
    value = own_field(context, FieldName(meaning.record, [meaning.field]), node)
    place = tree.Deref(node.at, meaning.type, rvalue(value))
    return Value(place=place, const=meaning.const, name=node.name)


def _member(context: Context, base: Value, path: list[str], at: At) -> Value:
    """A field of an object, through those without a name."""
    for name in path:
        record = base.type
        assert isinstance(record, Record)
        field = record.field(name)
        assert field is not None
        const = base.const or (record.members is not None and name in record.members.const)
        if base.place is None and (isinstance(field.type, Array) or record.union):
            first, stored = context.put_aside(base, at)
            pointer = tree.AddressOf(at, Pointer(record, True), stored)
            take(stored)
            place: tree.Place = tree.Deref(at, record, tree.Comma(at, pointer.type, first, pointer))
            base = Value(place=place, const=True)
        if base.place is None:
            assert base.expression is not None
            base = Value(tree.Member(at, field.type, base.expression, name), lost=base.lost)
        else:
            place = tree.MemberPlace(at, field.type, base.place, name)
            base = Value(place=place, const=const or base.const, name=name)
    return base


def check_dot(context: Context, node: syntax.Dot) -> Value:
    base = context.operand(node.base)
    if node.arrow:
        if own := call_operator(context, "->", [base], [node.base], node.at):
            base = own
        pointer = rvalue(base)
        if not isinstance(pointer.type, Pointer):
            hint = "write . instead of ->" if isinstance(pointer.type, Record) else ""
            raise Fault(node.at, f"expression must have pointer type, and it has type '{pointer.type}'", hint)
        base = dereferenced(pointer, node.at)
    record = base.type
    if not isinstance(record, Record):
        hint = "write -> instead of ." if isinstance(record, Pointer) else "only structs have members"
        raise Fault(node.at, f"expression must have class type, and it has type '{record}'", hint)
    members = record.members
    if members is not None and node.name in members.private and not _within(context, record):
        raise Fault(node.at, f"member '{record}::{node.name}' is inaccessible", "it is private")
    found = members.scope.member(node.name) if members is not None else None
    if isinstance(found, Overloads):
        return Value(function=found, name=node.name, object=base)
    if isinstance(found, ConstantName):
        return Value(tree.Literal(node.at, found.type, found.value))
    if members is not None and node.name in members.promoted:
        return _member(context, base, members.promoted[node.name], node.at)
    field = record.field(node.name)
    if field is None:
        hint = "its members are " + ", ".join(f.name for f in record.fields)
        raise Fault(node.at, f"'{record}' has no member '{node.name}'", hint)
    if base.special:
        return Value(tree.Special(node.at, UINT, base.special, node.name), name=f"{base.special}.{node.name}")
    value = _member(context, base, [node.name], node.at)
    value.name = base.name
    return value


def _within(context: Context, record: Record) -> bool:
    """Whether this place is in a method of a class, or of one within it."""
    scope: Scope | None = context.scope
    while scope is not None:
        if scope is record.members.scope:
            return True
        scope = scope.outer
    return False
