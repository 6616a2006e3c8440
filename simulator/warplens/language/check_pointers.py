"""Pointers to functions: each is a type of its own, which knows the one function that it points to.

So what is called is known when compiling, and a function that is given a pointer is a template.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from warplens.errors import At, Fault, unsupported
from warplens.language import syntax, tree
from warplens.language.conversion import Value
from warplens.language.scope import FunctionName, Members, Scope, TypeMeaning
from warplens.language.types import Array, FunctionType, Pointer, Record, Type

if TYPE_CHECKING:
    from warplens.language.check_types import TypeChecker


def pointer_type(target: FunctionName) -> Record:
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
    return Value(tree.MakeRecord(at, pointer_type(target), []), name=target.name)


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


def as_template(types: TypeChecker, node: syntax.FunctionDefinition) -> syntax.FunctionDefinition:
    """A function that takes pointers to functions, as a template of their types."""
    part = node.declarator.parts[0]
    assert isinstance(part, syntax.FunctionPart)
    found: list[syntax.TemplateParameter] = []
    parameters: list[syntax.Parameter] = []
    for parameter in part.parameters:
        if not _is_pointer(types, parameter):
            parameters.append(parameter)
            continue
        if "__global__" in node.specifiers.words:
            raise unsupported(parameter.at, "pointers to functions as parameters of a kernel")
        at, name = parameter.declarator.at, f"<{parameter.declarator.name or len(found)}>"
        wanted = syntax.TypeName(at, parameter.specifiers, replace(parameter.declarator, name=""))
        found.append(syntax.TemplateParameter(at, name, None, None, wanted))
        base = syntax.Specifiers(at, syntax.Name(at, name))
        declarator = syntax.Declarator(at, parameter.declarator.name, [])
        parameters.append(syntax.Parameter(at, base, declarator, parameter.default))
    if not found:
        return node
    parts = [syntax.FunctionPart(part.at, parameters), *node.declarator.parts[1:]]
    declarator = replace(node.declarator, parts=parts)
    return replace(node, declarator=declarator, template=[*(node.template or []), *found])


def _is_pointer(types: TypeChecker, parameter: syntax.Parameter) -> bool:
    parts = parameter.declarator.parts
    if len(parts) > 1 and isinstance(parts[0], syntax.PointerPart):
        return isinstance(parts[1], syntax.FunctionPart)
    base = parameter.specifiers.base
    if parts or not isinstance(base, syntax.Name) or base.arguments or base.of:
        return False
    meaning = types.find(base)
    return isinstance(meaning, TypeMeaning) and wants_function(meaning.type) is not None


def no_functions(type_: Type, at: At) -> None:
    """Raise where pointers to functions are stored, which may change."""
    while isinstance(type_, Array):
        type_ = type_.of
    if wants_function(type_) is not None:
        hint = "choose with if, and call each function by its name"
        raise unsupported(at, "pointers to functions that are stored", hint)
