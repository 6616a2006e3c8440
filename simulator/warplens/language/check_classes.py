"""Structs, classes and unions: their layout, and what else stands in them."""

from __future__ import annotations

from warplens.errors import At, Fault, unsupported
from warplens.language import syntax
from warplens.language.check_context import Context
from warplens.language.check_declarations import check_typedef
from warplens.language.check_functions import declare_method
from warplens.language.check_initializers import initial_value
from warplens.language.check_instances import try_body
from warplens.language.check_types import (
    constant_integer,
    explicit_only,
    identity_of,
    spelled,
    written_type,
)
from warplens.language.constant import fold
from warplens.language.function_pointers import no_functions
from warplens.language.scope import ClassTemplate, ConstantName, FieldName, Members, Scope, TypeMeaning
from warplens.language.tree import Expression
from warplens.language.types import Array, Field, Record, Scalar, Type, Void

MOST_STRUCT = 1 << 24  # bytes


def check_class(context: Context, node: syntax.StructDefinition) -> None:
    """A class, or a template of classes, where it is written; its name becomes a type."""
    scope = context.scope
    if node.arguments is not None:
        _special(context, node)
        return
    old = scope.names.get(node.name)
    if node.template is not None:
        if isinstance(old, ClassTemplate) and isinstance(old.definition, syntax.StructDefinition):
            if old.definition.members is None:
                old.definition = node
                return
            if node.members is None:
                return
        context.declare(node.name, ClassTemplate(node, scope), node.at)
        return
    if isinstance(old, TypeMeaning) and isinstance(old.type, Record) and old.type.members:
        if node.members is None:
            return
        if not old.type.complete:
            complete(context, old.type, node)
            return
    record = Record(node.name, (), 1, 1, union=node.union, complete=False, members=Members(Scope(scope)))
    context.declare(node.name, TypeMeaning(record), node.at)
    if node.members is not None:
        complete(context, record, node)


def _special(context: Context, node: syntax.StructDefinition) -> None:
    """template <> struct Name<int> { ... };"""
    template = context.scope.find(node.name)
    if not isinstance(template, ClassTemplate):
        raise Fault(node.at, f"'{node.name}' is not a class template that is declared before")
    bindings = explicit_only(context, template.definition, node.arguments or [], template.scope)
    if bindings is None:
        raise Fault(node.at, f"these are no arguments for the class template '{node.name}'")
    identity = identity_of(bindings)
    if identity in template.instances:
        message = f"'{spelled(node.name, bindings)}' has already been instantiated"
        raise Fault(node.at, message, "write it before its first use")
    template.special[identity] = node


def complete(context: Context, record: Record, node: syntax.StructDefinition) -> None:
    """What stands between the braces; methods of a class that is no template are checked at once."""
    members: Members = record.members
    members.scope.names[node.name] = TypeMeaning(record)
    members.private = node.private
    layout = Layout(record)
    if node.align is not None:
        layout.align = constant_integer(context, node.align, "an alignment is a power of two")
        if layout.align <= 0 or layout.align & (layout.align - 1):
            raise Fault(node.align.at, "an alignment is a power of two")
    methods: list[syntax.FunctionDefinition] = []
    with context.inside(members.scope):
        written = node.members or []
        for i, part in enumerate(written):
            if isinstance(part, syntax.FunctionDefinition):
                methods.append(part)
            else:
                _member(context, layout, part, written[i + 1 : i + 2])
    if layout.size > MOST_STRUCT:
        raise unsupported(node.at, f"structs of more than {MOST_STRUCT:,} bytes")
    layout.finish()
    made = [declare_method(context.file, record, method) for method in methods]
    if members.template is None:
        for function in made:
            if function is not None:
                try_body(context.file, function)


def _member(context: Context, layout: Layout, part: syntax.Node, following: list[syntax.Node]) -> None:
    if isinstance(part, syntax.Declaration):
        _fields(context, layout, part)
    elif isinstance(part, syntax.StructDefinition):
        check_class(context, part)
        next_one = following[0] if following else None
        base = next_one.specifiers.base if isinstance(next_one, syntax.Declaration) else None
        used = isinstance(base, syntax.Name) and base.name == part.name
        if part.name.startswith("<unnamed") and not used:
            _unnamed(context, layout, part)
    elif isinstance(part, syntax.Alias | syntax.EnumDefinition | syntax.StaticAssert):
        context.statement(part)
    else:
        raise unsupported(part.at, "this in a struct")


def _unnamed(context: Context, layout: Layout, part: syntax.StructDefinition) -> None:
    """A union or struct without a name: its members are those of the class as well."""
    meaning = context.scope.names[part.name]
    assert isinstance(meaning, TypeMeaning) and isinstance(meaning.type, Record)
    inner = meaning.type
    layout.add(part.name, inner, part.at)
    members: Members = layout.record.members
    for name, path in [
        *((field.name, [field.name]) for field in inner.fields if not field.name.startswith("<")),
        *inner.members.promoted.items(),
    ]:
        members.promoted[name] = [part.name, *path]
        context.declare(name, FieldName(layout.record, [part.name, *path]), part.at)


def _fields(context: Context, layout: Layout, node: syntax.Declaration) -> None:
    words = node.specifiers.words
    if "typedef" in words:
        check_typedef(context, node)
        return
    for word, at in words.items():
        if word not in ("static", "constexpr", "__device__", "inline"):
            raise unsupported(at, f"'{word}' in a struct")
    for one in node.ones:
        if "static" in words:
            _static(context, node, one)
            continue
        for word, at in words.items():
            raise Fault(at, f"'{word}' is not allowed on a member that is not static")
        written = written_type(context, node.specifiers, one.declarator)
        at, name = one.declarator.at, one.declarator.name
        if written.reference or written.auto:
            raise unsupported(at, "members of a struct that are auto or references", "take a pointer")
        if isinstance(written.type, Void):
            raise Fault(at, "incomplete type is not allowed")
        no_functions(written.type, at)
        if isinstance(written.type, Array) and written.type.length is None:
            raise Fault(at, "incomplete type is not allowed", "write the length of the array")
        layout.add(name, written.type, at)
        members: Members = layout.record.members
        if written.const:
            members.const.add(name)
        if written.volatile:
            members.volatile.add(name)
        if one.style:
            members.defaults[name] = one
        context.declare(name, FieldName(layout.record, [name]), at)


def _static(context: Context, node: syntax.Declaration, one: syntax.One) -> None:
    """A number that all objects share, known when compiling."""
    at = one.declarator.at
    written = written_type(context, node.specifiers, one.declarator)
    const = written.const or "constexpr" in node.specifiers.words
    if not const or not isinstance(written.type, Scalar) or not one.style:
        hint = "write static constexpr int n = 4;"
        raise unsupported(at, "static members other than numbers that are known when compiling", hint)
    initial = initial_value(context, written.type, one)
    value = fold(initial) if isinstance(initial, Expression) else None
    if value is None:
        raise Fault(at, "expression must have a constant value", "a static member is known when compiling")
    assert not isinstance(value, float) or written.type.is_float
    context.declare(one.declarator.name, ConstantName(value, written.type), at)


class Layout:
    """Where the fields of a class lie."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.fields: list[Field] = []
        self.size, self.align = 0, 1

    def add(self, name: str, type_: Type, at: At) -> None:
        if isinstance(type_, Record) and not type_.complete:
            raise Fault(at, f"incomplete type '{type_}' is not allowed", "a struct cannot be part of itself")
        offset = 0 if self.record.union else -(-self.size // type_.align) * type_.align
        self.fields.append(Field(name, type_, offset))
        self.size, self.align = max(self.size, offset + type_.size), max(self.align, type_.align)

    def finish(self) -> None:
        """A class without fields has a byte."""
        size = max(1, -(-self.size // self.align) * self.align)
        self.record.define(tuple(self.fields), size, self.align)
