"""Templates: which types and numbers stand for the parameters of a function template in one call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warplens.errors import At, Fault
from warplens.language import syntax, tree
from warplens.language.check_pointers import is_kind, no_lambda, target_of, wants_function
from warplens.language.constant import in_type
from warplens.language.conversion import Value, known, rvalue
from warplens.language.scope import (
    ConstantName,
    FunctionName,
    Meaning,
    ParameterType,
    Scope,
    TypeMeaning,
)
from warplens.language.types import INT, UINT, VOID, Array, Group, Pointer, Record, Scalar, Type

if TYPE_CHECKING:
    from warplens.language.check_expressions import ExpressionChecker

Bindings = dict[str, TypeMeaning | ConstantName]


def deduced(
    checker: ExpressionChecker,
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
        if not _bind_explicit(checker, parameter, node, bindings, home):
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
            checker, parameter.function, parameter.name, bindings, home
        ):
            return None
    return _with_defaults(checker, template, bindings, home)


def _fits(
    checker: ExpressionChecker, wanted: syntax.TypeName, name: str, bindings: Bindings, home: Scope
) -> bool:
    """Whether a function is given where a pointer to one of this kind is taken."""
    with checker.context.inside(_inner(home, bindings)):
        kind = wants_function(checker.types.type_name(wanted).type)
    meaning = bindings.get(name)
    if meaning is not None:
        no_lambda(meaning.type, wanted.at)
    target = target_of(meaning.type) if meaning is not None else None
    return kind is not None and target is not None and is_kind(target, kind)


def bindings_of(
    checker: ExpressionChecker,
    definition: syntax.FunctionDefinition,
    explicit: list[syntax.Node],
    instance: FunctionName,
    home: Scope,
) -> Bindings | None:
    """What each parameter of the template stands for in one of its instances; None where it is none."""
    values = [_of_parameter(parameter) for parameter in instance.parameters]
    return deduced(checker, definition, explicit, values, home)


def _of_parameter(parameter: ParameterType) -> Value:
    """Something that a parameter takes exactly."""
    at = At(1, 1)
    volatile = parameter.volatile and bool(parameter.reference)
    pointer = tree.Literal(at, Pointer(parameter.type, parameter.const, volatile), 0)
    const = parameter.const and bool(parameter.reference)
    return Value(place=tree.Deref(at, parameter.type, pointer), const=const)


def explicit_only(
    checker: ExpressionChecker,
    definition: syntax.FunctionDefinition | syntax.StructDefinition | syntax.Alias,
    explicit: list[syntax.Node],
    home: Scope,
) -> Bindings | None:
    """Where all arguments are written, as in `scale<float, 4>`."""
    template = definition.template or []
    bindings: Bindings = {}
    if len(explicit) > len(template):
        return None
    for parameter, node in zip(template, explicit):
        if not _bind_explicit(checker, parameter, node, bindings, home):
            return None
    return _with_defaults(checker, template, bindings, home)


def _inner(home: Scope, bindings: Bindings) -> Scope:
    scope = Scope(home)
    scope.names.update(bindings)
    return scope


def _with_defaults(
    checker: ExpressionChecker, template: list[syntax.TemplateParameter], bindings: Bindings, home: Scope
) -> Bindings | None:
    for parameter in template:
        if parameter.name in bindings:
            continue
        if parameter.default is None:
            return None
        with checker.context.inside(_inner(home, bindings)):
            fits = _bind_explicit(checker, parameter, parameter.default, bindings, home)
        if not fits:
            return None
    return {parameter.name: bindings[parameter.name] for parameter in template}


def _bind_explicit(
    checker: ExpressionChecker,
    parameter: syntax.TemplateParameter,
    node: syntax.Node,
    bindings: Bindings,
    home: Scope,
) -> bool:
    if parameter.type is None:
        if not isinstance(node, syntax.TypeName):
            return False
        written = checker.types.type_name(node)
        bindings[parameter.name] = TypeMeaning(written.type, written.const, written.volatile)
        return not written.reference
    if isinstance(node, syntax.TypeName):
        return False
    return _bind_number(checker, parameter, checker.operand(node), node, bindings, home)


def _bind_number(
    checker: ExpressionChecker,
    parameter: syntax.TemplateParameter,
    value: Value,
    node: syntax.Node,
    bindings: Bindings,
    home: Scope,
) -> bool:
    assert parameter.type is not None
    with checker.context.inside(_inner(home, bindings)):
        type_ = checker.types.type_name(parameter.type).type
    if (wanted := wants_function(type_)) is not None:
        target = target_of(value.type) if value.function is None else None
        if target is None or not is_kind(target, wanted):
            return False
        bindings[parameter.name] = ConstantName(0, value.type)
        return True
    found = known(value)
    if found is None:
        hint = "an argument of a template is a number that is known when compiling"
        raise Fault(node.at, "expression must have a constant value", hint)
    if isinstance(found, float) or not isinstance(type_, Scalar) or not type_.is_integer:
        return False
    converted = in_type(found, type_)
    if converted is None or converted != found:
        return False
    bindings[parameter.name] = ConstantName(
        int(converted) if type_.name != "bool" else bool(converted), type_
    )
    return True


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


def key(meaning: Meaning) -> tuple[object, ...]:
    if isinstance(meaning, ConstantName):
        return ("value", meaning.type if isinstance(meaning.type, Record) else meaning.value)
    assert isinstance(meaning, TypeMeaning)
    return ("type", meaning.type, meaning.const, meaning.volatile)


def spelled(name: str, bindings: Bindings) -> str:
    """ "scale<float, 4>" """
    texts = []
    for meaning in bindings.values():
        if (target := target_of(meaning.type)) is not None:
            texts.append(target.name)
        elif isinstance(meaning, ConstantName):
            texts.append(str(meaning.value).lower())
        else:
            texts.append(f"{'const ' * meaning.const}{'volatile ' * meaning.volatile}{meaning.type}")
    return f"{name}<{', '.join(texts)}>"
