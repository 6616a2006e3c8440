"""Members of objects: fields and methods, by . and ->, and by their name alone within a class."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warplens.errors import At, Fault, unsupported
from warplens.language import check_pointers, syntax, tree
from warplens.language.check_context import Context
from warplens.language.conversion import Value, address, rvalue, take
from warplens.language.operators import dereferenced
from warplens.language.scope import CapturedName, ConstantName, FieldName, Overloads, Scope
from warplens.language.templates import explicit_only
from warplens.language.types import UINT, Array, Pointer, Record

if TYPE_CHECKING:
    from warplens.language.check_expressions import ExpressionChecker


class MemberChecker:
    """Needs expressions for what stands before the dot."""

    def __init__(self, context: Context, expressions: ExpressionChecker) -> None:
        self.context, self.expressions = context, expressions

    def this(self, node: syntax.This) -> Value:
        function = self.context.function
        if function is None or function.owner is None or function.static:
            raise Fault(node.at, "'this' may only be used inside a nonstatic member function")
        return Value(address(self.context.file.methods.this(function, node.at), node.at), name="this")

    def object_of(self, meaning: Overloads, at: At) -> Value | None:
        """The object of a method that is called by its name alone, within a method of the same class."""
        function = self.context.function
        if (
            meaning.owner is None
            or function is None
            or function.static
            or function.owner is not meaning.owner
        ):
            return None
        return self.context.file.methods.this(function, at)

    def own_field(self, meaning: FieldName, node: syntax.Name) -> Value:
        """A member of the class, within one of its methods."""
        function = self.context.function
        owner = function.owner if function is not None else None
        if owner is not None and owner.name.startswith("<lambda") and owner is not meaning.record:
            raise unsupported(node.at, "a lambda that captures this, or a lambda within a lambda")
        if function is None or function.static or function.owner is not meaning.record:
            message = "a nonstatic member reference must be relative to a specific object"
            raise Fault(node.at, message, f"as in object.{node.name}")
        value = self.context.file.methods.this(function, node.at)
        return self.member(value, meaning.path, node.at)

    def captured(self, meaning: CapturedName, node: syntax.Name) -> Value:
        """A variable of the function around, within a lambda that holds its address."""
        value = self.own_field(FieldName(meaning.record, [meaning.field]), node)
        place = tree.Deref(node.at, meaning.type, rvalue(value))
        return Value(place=place, const=meaning.const, name=node.name)

    def member(self, base: Value, path: list[str], at: At) -> Value:
        """A field of an object, through those without a name."""
        for name in path:
            record = base.type
            assert isinstance(record, Record)
            field = record.field(name)
            assert field is not None
            const = base.const or (record.members is not None and name in record.members.const)
            if base.place is None and (isinstance(field.type, Array) or record.union):
                first, stored = self.expressions.objects.stored(base, at)
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

    def dot(self, node: syntax.Dot) -> Value:
        base = self.expressions.operand(node.base)
        if node.arrow:
            if own := self.expressions.calls.operator("->", [base], [node.base], node.at):
                base = own
            pointer = rvalue(base)
            if not isinstance(pointer.type, Pointer):
                hint = "write . instead of ->" if isinstance(pointer.type, Record) else ""
                raise Fault(
                    node.at, f"expression must have pointer type, and it has type '{pointer.type}'", hint
                )
            base = dereferenced(pointer, node.at)
        record = base.type
        if not isinstance(record, Record):
            hint = "write -> instead of ." if isinstance(record, Pointer) else "only structs have members"
            raise Fault(node.at, f"expression must have class type, and it has type '{record}'", hint)
        members = record.members
        if members is not None and node.name in members.private and not self._within(record):
            raise Fault(node.at, f"member '{record}::{node.name}' is inaccessible", "it is private")
        found = members.scope.member(node.name) if members is not None else None
        if isinstance(found, Overloads):
            return Value(function=found, name=node.name, object=base)
        if isinstance(found, ConstantName):
            return Value(tree.Literal(node.at, found.type, found.value))
        if members is not None and node.name in members.promoted:
            return self.member(base, members.promoted[node.name], node.at)
        field = record.field(node.name)
        if field is None:
            hint = "its members are " + ", ".join(f.name for f in record.fields)
            raise Fault(node.at, f"'{record}' has no member '{node.name}'", hint)
        if base.special:
            return Value(
                tree.Special(node.at, UINT, base.special, node.name), name=f"{base.special}.{node.name}"
            )
        value = self.member(base, [node.name], node.at)
        value.name = base.name
        return value

    def _within(self, record: Record) -> bool:
        """Whether this place is in a method of a class, or of one within it."""
        scope: Scope | None = self.context.scope
        while scope is not None:
            if scope is record.members.scope:
                return True
            scope = scope.outer
        return False

    def pointer_to(self, value: Value, node: syntax.Node) -> Value:
        """A function that is not called: a pointer to it."""
        assert value.function is not None
        found = value.function
        explicit = node.arguments if isinstance(node, syntax.Name) else None
        if explicit is not None and len(found.templates) == 1:
            template = found.templates[0]
            bindings = explicit_only(self.expressions, template.definition, explicit, template.scope)
            if bindings is not None:
                made = self.context.file.functions.instance(template, bindings, node.at)
                return check_pointers.pointer_to(made, node.at)
        if len(found.functions) != 1 or found.templates or found.owner is not None or explicit is not None:
            self.expressions.no_function(value, node.at)
        return check_pointers.pointer_to(found.functions[0], node.at)
