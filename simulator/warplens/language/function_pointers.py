"""Pointers to functions: each is a type of its own, which knows the one function that it points to.

So what is called is known when compiling, and a function that is given a pointer is a template.
"""

from __future__ import annotations

from warplens.errors import At, Fault, unsupported
from warplens.language import tree
from warplens.language.conversion import Value
from warplens.language.scope import FunctionName, Members, Scope
from warplens.language.types import Array, FunctionType, Pointer, Record, Type


def _pointer_type(target: FunctionName) -> Record:
    """The type of a pointer to this function."""
    if target.pointer is None:
        kinds = ", ".join(str(parameter.type) for parameter in target.parameters)
        name = f"{target.returns} (*)({kinds})"
        target.pointer = Record(name, (), 8, 8, members=Members(Scope(), target=target))
    return target.pointer


def pointer_to(target: FunctionName, at: At) -> Value:
    """A pointer to a function, as a value."""
    if target.kernel:
        raise unsupported(at, f"a pointer to the __global__ function '{target.name}'")
    return Value(tree.MakeRecord(at, _pointer_type(target), []), name=target.name)


def target_of(type_: Type) -> FunctionName | None:
    """The function that pointers of this type point to."""
    members = type_.members if isinstance(type_, Record) else None
    return members.target if isinstance(members, Members) else None


def wants_function(type_: Type) -> FunctionType | None:
    """What a pointer to a function, as it is written, points to."""
    return type_.to if isinstance(type_, Pointer) and isinstance(type_.to, FunctionType) else None


def is_kind(target: FunctionName, wanted: FunctionType) -> bool:
    """Whether a function is of the kind that a pointer wants."""
    kinds = tuple(parameter.type for parameter in target.parameters)
    plain = not any(parameter.reference for parameter in target.parameters)
    return plain and (target.returns, kinds) == (wanted.returns, wanted.parameters)


def fitted(value: Value, wanted: FunctionType, at: At) -> Type:
    """The type of a variable that is declared as a pointer to a function."""
    target = target_of(value.type)
    no_lambda(value.type, at)
    if target is None or not is_kind(target, wanted):
        message = f"a value of type '{value.type}' cannot be used to initialize an entity of type"
        raise Fault(at, f"{message} '{wanted.returns} (*)'", "the types of the function must be the same")
    return value.type


def no_lambda(type_: Type, at: At) -> None:
    """Raise where a lambda becomes a pointer to a function."""
    if isinstance(type_, Record) and type_.name.startswith("<lambda"):
        raise unsupported(at, "a pointer to a lambda", "take auto, or a template")


def no_functions(type_: Type, at: At) -> None:
    """Raise where pointers to functions are stored, which may change."""
    while isinstance(type_, Array):
        type_ = type_.of
    if wants_function(type_) is not None:
        hint = "choose with if, and call each function by its name"
        raise unsupported(at, "pointers to functions that are stored", hint)
