"""Calls of functions that are built in: with types of their own, of memory, and those that make vectors."""

from __future__ import annotations

from dataclasses import replace

from warplens.errors import At, Fault
from warplens.language import syntax, tree
from warplens.language.check_context import Context
from warplens.language.check_overloads import misfit, wrong_count
from warplens.language.conversion import Value, implicit, number, rvalue
from warplens.language.intrinsics import SAME_TYPE, Signature
from warplens.language.scope import ParameterType
from warplens.language.types import FLOAT, INT, ULONG, VOID, Pointer, Record, Scalar, Void


def call_intrinsic(context: Context, signature: Signature, arguments: list[Value], at: At) -> tree.Expression:
    """A call of a function that has a signature."""
    context.needs_function(signature.name, at)
    passed: list[tree.Expression] = []
    for value, type_ in zip(arguments, signature.parameters):
        node = context.converted(value, type_, at)
        assert node is not None
        passed.append(number(node, signature.returns) if signature.name in SAME_TYPE else node)
    if signature.name == "sincos":
        return _sincos(context, passed, at)
    for default in signature.defaults[len(signature.defaults) - len(signature.parameters) + len(arguments) :]:
        type_ = signature.parameters[len(passed)]
        passed.append(tree.Literal(at, type_, default))
    return tree.Intrinsic(at, signature.returns, signature.name, passed)


def _sincos(context: Context, arguments: list[tree.Expression], at: At) -> tree.Expression:
    """`*s = sin(x), *c = cos(x)`, with the arguments worked out once and before that."""
    kept = [context.put_aside(Value(argument), at) for argument in arguments]
    steps = [first for first, _ in kept]
    x, *pointers = [tree.Load(at, place.type, place) for _, place in kept]
    for name, pointer in zip(("sin", "cos"), pointers):
        assert isinstance(x.type, Scalar)
        called = tree.Intrinsic(at, x.type, name + ("f" if x.type == FLOAT else ""), [x])
        steps.append(tree.Assign(at, x.type, tree.Deref(at, x.type, pointer), called))
    result = steps[0]
    for step in steps[1:]:
        result = tree.Comma(at, step.type, result, step)
    return tree.Convert(at, VOID, result)


def cached_load(name: str, arguments: list[Value], at: At) -> Value:
    """A read that says which cache it means, which has no effect on its value."""
    _count(name, arguments, 1, "a pointer", at)
    pointer = rvalue(arguments[0])
    place = _cached_place(name, pointer, at)
    if name == "__ldcv":  # which fetches it again each time
        assert isinstance(pointer.type, Pointer)
        again = tree.Reinterpret(at, replace(pointer.type, volatile=True), pointer)
        place = tree.Deref(at, place.type, again)
    return Value(tree.Load(at, place.type, place))


def cached_store(name: str, arguments: list[Value], at: At) -> Value:
    """A write that says which cache it means."""
    _count(name, arguments, 2, "a pointer and a value", at)
    pointer = rvalue(arguments[0])
    place = _cached_place(name, pointer, at)
    value = implicit(arguments[1], place.type)
    if value is None or (isinstance(pointer.type, Pointer) and pointer.type.const):
        message = f"no instance of overloaded function '{name}' matches the argument list"
        raise Fault(at, message, "it takes a pointer to what may be changed, and a value of that type")
    return Value(tree.Convert(at, VOID, tree.Assign(at, place.type, place, value)))


def _cached_place(name: str, pointer: tree.Expression, at: At) -> tree.Place:
    """What a pointer to a number or to a vector points to."""
    hint = "it takes a pointer"
    if isinstance(pointer.type, Pointer) and pointer.type.volatile:
        hint = "it takes a pointer to what is not volatile"
    elif isinstance(pointer.type, Pointer):
        to = pointer.type.to
        if isinstance(to, Scalar) or (isinstance(to, Record) and to.vector):
            return tree.Deref(at, to, pointer)
        hint = "it takes a pointer to a number, or to a vector such as float4"
    message = f"no instance of overloaded function '{name}' matches the argument list"
    raise Fault(at, message, hint)


def _count(name: str, arguments: list[Value], want: int, takes: str, at: At) -> None:
    if len(arguments) != want:
        raise wrong_count(len(arguments), want, at, f"{name} takes {takes}")


def copy_memory(context: Context, name: str, arguments: list[Value], at: At) -> Value:
    """memcpy and memset, byte by byte or in the elements that both sides have."""
    context.needs_function(name, at)
    takes = "two pointers" if name == "memcpy" else "a pointer, a byte"
    _count(name, arguments, 3, f"{takes} and a number of bytes", at)
    passed: list[tree.Expression] = []
    sizes = [8]
    second = Pointer(VOID, True) if name == "memcpy" else INT
    for value, kind in zip(arguments, (Pointer(VOID), second, ULONG)):
        node, source = implicit(value, kind), rvalue(value).type
        if node is None:
            raise misfit(value, ParameterType(kind), at)
        passed.append(node)
        if isinstance(source, Pointer):
            sizes.append(1 if isinstance(source.to, Void) else source.to.align)
    return Value(tree.Intrinsic(at, Pointer(VOID), name, passed, step=min(sizes)))


def make_vector(record: Record, values: list[Value], node: syntax.CallOf) -> Value:
    """make_float4(x, y, z, w) and its like."""
    if len(values) != len(record.fields):
        hint = f"make_{record.name} takes {len(record.fields)} numbers, and here are {len(values)}"
        raise wrong_count(len(values), len(record.fields), node.at, hint)
    parts = []
    for value, field, written in zip(values, record.fields, node.arguments):
        part = implicit(value, field.type)
        if part is None:
            raise misfit(value, ParameterType(field.type), written.at)
        parts.append(part)
    return Value(tree.MakeRecord(node.at, record, parts))
