"""Templates: which types and numbers stand for the parameters of a function template in one call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim.errors import Fault
from cudasim.language import syntax
from cudasim.language.constant import in_type
from cudasim.language.conversion import Value, known, rvalue
from cudasim.language.scope import ConstantName, Meaning, Scope, TypeMeaning
from cudasim.language.types import INT, Array, Pointer, Scalar, Type

if TYPE_CHECKING:
    from cudasim.language.check_expressions import ExpressionChecker

Bindings = dict[str, TypeMeaning | ConstantName]


def deduced(
    checker: ExpressionChecker,
    definition: syntax.FunctionDefinition,
    explicit: list[syntax.Node],
    arguments: list[Value],
) -> Bindings | None:
    """What each parameter of the template stands for; None where the arguments do not fit it."""
    template = definition.template or []
    if len(explicit) > len(template):
        return None
    bindings: Bindings = {}
    for parameter, node in zip(template, explicit):
        if not _bind_explicit(checker, parameter, node, bindings):
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
    return _with_defaults(checker, template, bindings)


def explicit_only(
    checker: ExpressionChecker, definition: syntax.FunctionDefinition, explicit: list[syntax.Node]
) -> Bindings | None:
    """For a name expression such as `scale<float, 4>`."""
    template = definition.template or []
    bindings: Bindings = {}
    if len(explicit) > len(template):
        return None
    for parameter, node in zip(template, explicit):
        if not _bind_explicit(checker, parameter, node, bindings):
            return None
    return _with_defaults(checker, template, bindings)


def _inner(checker: ExpressionChecker, bindings: Bindings) -> Scope:
    scope = Scope(checker.context.file.scope)
    scope.names.update(bindings)
    return scope


def _with_defaults(
    checker: ExpressionChecker, template: list[syntax.TemplateParameter], bindings: Bindings
) -> Bindings | None:
    for parameter in template:
        if parameter.name in bindings:
            continue
        if parameter.default is None:
            return None
        before, checker.context.scope = checker.context.scope, _inner(checker, bindings)
        fits = _bind_explicit(checker, parameter, parameter.default, bindings)
        checker.context.scope = before
        if not fits:
            return None
    return {parameter.name: bindings[parameter.name] for parameter in template}


def _bind_explicit(
    checker: ExpressionChecker, parameter: syntax.TemplateParameter, node: syntax.Node, bindings: Bindings
) -> bool:
    if parameter.type is None:
        if not isinstance(node, syntax.TypeName):
            return False
        written = checker.types.type_name(node)
        bindings[parameter.name] = TypeMeaning(written.type, written.const)
        return not written.reference
    if isinstance(node, syntax.TypeName):
        return False
    return _bind_number(checker, parameter, checker.value(node), node, bindings)


def _bind_number(
    checker: ExpressionChecker,
    parameter: syntax.TemplateParameter,
    value: Value,
    node: syntax.Node,
    bindings: Bindings,
) -> bool:
    assert parameter.type is not None
    before, checker.context.scope = checker.context.scope, _inner(checker, bindings)
    type_ = checker.types.type_name(parameter.type).type
    checker.context.scope = before
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
        type_, const, parts = value.type, value.const, parts[1:]
    else:
        type_, const = rvalue(value).type, False
    base = written.specifiers.base
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
            const, type_ = type_.const, type_.to
    if not generic:
        return True
    assert isinstance(base, syntax.Name)
    meaning = TypeMeaning(type_, const and not written.specifiers.const)
    return _same(bindings, base.name, meaning, names, fixed)


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
        return ("value", meaning.value)
    assert isinstance(meaning, TypeMeaning)
    return ("type", meaning.type, meaning.const)


def spelled(name: str, bindings: Bindings) -> str:
    """ "scale<float, 4>" """
    texts = []
    for meaning in bindings.values():
        if isinstance(meaning, ConstantName):
            texts.append(str(meaning.value).lower())
        else:
            texts.append(f"{'const ' if meaning.const else ''}{meaning.type}")
    return f"{name}<{', '.join(texts)}>"
