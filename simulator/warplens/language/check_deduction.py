"""Deduction: which types and numbers stand for the parameters of a function template in one call."""

from __future__ import annotations

from warplens.errors import At
from warplens.language import syntax, tree
from warplens.language.check_context import Context
from warplens.language.check_types import Bindings, bind_argument, key, named_type, scope_with, with_defaults
from warplens.language.conversion import Value, rvalue
from warplens.language.function_pointers import is_kind, no_lambda, target_of, wants_function
from warplens.language.scope import ConstantName, FunctionName, ParameterType, Scope, TypeMeaning
from warplens.language.types import INT, UINT, VOID, Array, Group, Pointer, Record, Type


def deduced(
    context: Context,
    definition: syntax.FunctionDefinition,
    explicit: list[syntax.Node],
    arguments: list[Value],
    home: Scope,
) -> Bindings | None:
    """What each parameter of the template stands for; None where the arguments do not fit it.

    `home`: where the template is written.
    """
    template = definition.template or []
    if len(explicit) > len(template):
        return None
    bindings: Bindings = {}
    for parameter, node in zip(template, explicit):
        if not bind_argument(context, parameter, node, bindings, home):
            return None
    part = definition.declarator.parts[0]
    assert isinstance(part, syntax.FunctionPart)
    needed = sum(parameter.default is None for parameter in part.parameters)
    if not needed <= len(arguments) <= len(part.parameters):
        return None
    fixed = set(bindings)
    names = {parameter.name: parameter for parameter in template}
    for written, value in zip(part.parameters, arguments):
        if not _deduce(written, value, names, bindings, fixed):
            return None
    for parameter in template:
        if parameter.function is not None and not _fits(
            context, parameter.function, parameter.name, bindings, home
        ):
            return None
    return with_defaults(context, template, bindings, home)


def _fits(context: Context, wanted: syntax.TypeName, name: str, bindings: Bindings, home: Scope) -> bool:
    """Whether a function is given where a pointer to one of this kind is taken."""
    with context.inside(scope_with(home, bindings)):
        kind = wants_function(named_type(context, wanted).type)
    meaning = bindings.get(name)
    if meaning is not None:
        no_lambda(meaning.type, wanted.at)
    target = target_of(meaning.type) if meaning is not None else None
    return kind is not None and target is not None and is_kind(target, kind)


def bindings_of(
    context: Context,
    definition: syntax.FunctionDefinition,
    explicit: list[syntax.Node],
    instance: FunctionName,
    home: Scope,
) -> Bindings | None:
    """What each parameter of the template stands for in one of its instances; None where it is none."""
    values = [_of_parameter(parameter) for parameter in instance.parameters]
    return deduced(context, definition, explicit, values, home)


def _of_parameter(parameter: ParameterType) -> Value:
    """Something that a parameter takes exactly."""
    at = At(1, 1)
    volatile = parameter.volatile and bool(parameter.reference)
    pointer = tree.Literal(at, Pointer(parameter.type, parameter.const, volatile), 0)
    const = parameter.const and bool(parameter.reference)
    return Value(place=tree.Deref(at, parameter.type, pointer), const=const)


def _deduce(
    written: syntax.Parameter,
    value: Value,
    names: dict[str, syntax.TemplateParameter],
    bindings: Bindings,
    fixed: set[str],
) -> bool:
    if value.function is not None:
        return True
    parts = list(written.declarator.parts)
    outer = parts[0] if parts else None
    type_: Type
    if isinstance(outer, syntax.ReferencePart):
        type_, const, volatile, parts = value.type, value.const, value.volatile, parts[1:]
    else:
        type_, const, volatile = rvalue(value).type, False, False
    base = written.specifiers.base
    if isinstance(base, syntax.Name) and base.arguments and isinstance(type_, Group):
        return _deduce_tile(base.arguments, type_, names, bindings, fixed)
    generic = isinstance(base, syntax.Name) and base.name in names and base.name not in fixed
    for part in parts:
        if isinstance(part, syntax.ArrayPart) and part is not outer:
            if not isinstance(type_, Array):
                return not generic
            if isinstance(part.length, syntax.Name) and not _same(
                bindings, part.length.name, ConstantName(type_.length or 0, INT), names, fixed
            ):
                return False
            type_ = type_.of
        else:
            if not isinstance(type_, Pointer):
                return not generic
            const, volatile, type_ = type_.const, type_.volatile, type_.to
    if isinstance(base, syntax.Name) and base.arguments is not None:
        return _deduce_class(base, type_, names, bindings, fixed)
    if not generic:
        return True
    assert isinstance(base, syntax.Name)
    said = written.specifiers
    meaning = TypeMeaning(type_, const and not said.const, volatile and not said.volatile)
    return _same(bindings, base.name, meaning, names, fixed)


def _deduce_tile(
    arguments: list[syntax.Node],
    kind: Group,
    names: dict[str, syntax.TemplateParameter],
    bindings: Bindings,
    fixed: set[str],
) -> bool:
    """Of thread_block_tile<N, P>, where N is an unsigned int, as C++ wants it."""
    found: list[TypeMeaning | ConstantName] = [
        ConstantName(kind.tile, UINT),
        TypeMeaning(kind.parent or VOID),
    ]
    for node, meaning in zip(arguments, found):
        base = node.specifiers.base if isinstance(node, syntax.TypeName) else node
        name = base.name if isinstance(base, syntax.Name) else ""
        if name not in names or name in fixed:
            continue
        of = names[name].type
        if isinstance(meaning, ConstantName) and (of is None or of.specifiers.base != UINT):
            return False
        if len(arguments) == 1 and kind.parent is not None:
            return False
        if not _same(bindings, name, meaning, names, fixed):
            return False
    return True


def _deduce_class(
    written: syntax.Name,
    type_: Type,
    names: dict[str, syntax.TemplateParameter],
    bindings: Bindings,
    fixed: set[str],
) -> bool:
    """`Pair<T, N>` as the type of a parameter: what stands for T and N."""
    if not any(name in names and name not in fixed for name in _mentioned(written)):
        return True
    members = type_.members if isinstance(type_, Record) else None
    if members is None or members.template is None or members.template.definition.name != written.name:
        return False
    for argument, meaning in zip(written.arguments or [], members.arguments):
        base = argument.specifiers.base if isinstance(argument, syntax.TypeName) else argument
        if isinstance(base, syntax.Name) and not _same(bindings, base.name, meaning, names, fixed):
            return False
    return True


def _mentioned(written: syntax.Name) -> list[str]:
    found: list[str] = []
    for argument in written.arguments or []:
        base = argument.specifiers.base if isinstance(argument, syntax.TypeName) else argument
        if isinstance(base, syntax.Name):
            found.append(base.name)
    return found


def _same(
    bindings: Bindings,
    name: str,
    meaning: TypeMeaning | ConstantName,
    names: dict[str, syntax.TemplateParameter],
    fixed: set[str],
) -> bool:
    if name not in names or name in fixed:
        return True
    old = bindings.setdefault(name, meaning)
    return key(old) == key(meaning)
