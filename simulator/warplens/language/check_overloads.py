"""Overloads: which functions a call may mean, and which of them fits its arguments best."""

from __future__ import annotations

from dataclasses import dataclass

from warplens.errors import At, Fault, unsupported
from warplens.language import syntax
from warplens.language.check_context import Context
from warplens.language.check_deduction import deduced
from warplens.language.check_instances import instance_head
from warplens.language.class_members import converts
from warplens.language.conversion import Value, decayed, quality, rvalue, type_hint
from warplens.language.intrinsics import INTRINSICS, Signature
from warplens.language.scope import FunctionName, ParameterType
from warplens.language.types import NARROW, PAIRS, Pointer


@dataclass(eq=False)
class Candidate:
    parameters: list[ParameterType]
    least: int
    target: FunctionName | Signature
    template: bool = False
    object: int | None = 0  # how well it fits the object whose method it is; None: not at all


def candidates_of(
    context: Context, callee: Value, function: syntax.Node, arguments: list[Value]
) -> list[Candidate]:
    """All that `callee` may stand for, whether the arguments fit or not."""
    assert callee.function is not None
    explicit = function.arguments if isinstance(function, syntax.Name | syntax.Dot) else None
    result: list[Candidate] = []
    if explicit is None:
        result = [
            Candidate(f.parameters, len(f.parameters) - f.defaults, f) for f in callee.function.functions
        ]
        own = [[parameter.type for parameter in one.parameters] for one in result]
        built_in = _built_in_candidates(context, callee.name, callee.function.owner is not None)
        result += [one for one in built_in if [p.type for p in one.parameters] not in own]
    for template in callee.function.templates:
        given = explicit or []
        bindings = deduced(context, template.definition, given, arguments, template.scope)
        if bindings is not None:
            f = instance_head(context.file, template, bindings, function.at)
            result.append(Candidate(f.parameters, len(f.parameters) - f.defaults, f, True))
    for one in result:
        if isinstance(one.target, FunctionName) and one.target.owner and not one.target.static:
            const = callee.object is not None and callee.object.const
            one.object = int(one.target.const) if not const else 0 if one.target.const else None
            if one.target.definition.form == "constructor":
                one.object = 0
            elif callee.object is not None and callee.object.volatile:
                message = "the object has type qualifiers that are not compatible with the member function"
                raise Fault(function.at, f"{message} '{callee.name}'", "it is volatile")
    return result


def _built_in_candidates(context: Context, name: str, of_class: bool) -> list[Candidate]:
    signatures = INTRINSICS.get(name, ()) if not of_class else ()
    if not context.file.has_bfloat:
        signatures = tuple(s for s in signatures if not s.of_bfloat)
    return [
        Candidate([ParameterType(type_) for type_ in s.parameters], len(s.parameters) - len(s.defaults), s)
        for s in signatures
    ]


def choose(
    context: Context, name: str, candidates: list[Candidate], arguments: list[Value], node: syntax.CallOf
) -> Candidate:
    """The candidate that fits best. Raises Fault where none does, or several do alike."""
    at = node.at
    if len(candidates) == 1:
        check_single(context, name, candidates[0], arguments, node)
        return candidates[0]
    fitting: list[tuple[Candidate, list[int]]] = []
    for candidate in candidates:
        ranks = ranked(candidate, arguments)
        if ranks is not None:
            fitting.append((candidate, ranks))
    best = [one for one in fitting if all(_beats(one, other) for other in fitting if other is not one)]
    types = [decayed(argument) for argument in arguments]
    if len(best) == 1 and not any(type_ in NARROW and rank for type_, rank in zip(types, best[0][1][1:])):
        return best[0][0]
    for of in (*NARROW, *PAIRS):
        if any(of in (type_, getattr(type_, "to", None)) for type_ in types):
            hint = "convert it first: (float)x"
            raise unsupported(at, f"'{name}', which is overloaded, of a {of}", hint)
    given = ", ".join(f"'{type_}'" for type_ in types)
    if fitting:
        rivals = [one for one in fitting if not any(_beats(other, one) for other in fitting)]
        if all(candidate.template for candidate, _ in rivals):
            hint = f"of the templates '{name}' more than one fits: give one of them another name"
            raise unsupported(at, "a choice between templates by which is the more special one", hint)
        message = f"more than one instance of overloaded function '{name}' matches the argument list"
        raise Fault(at, message, f"the argument types are ({given}); cast them to one type")
    counts = {count for c in candidates for count in range(c.least, len(c.parameters) + 1)}
    if counts and len(arguments) not in counts:
        wanted = " or ".join(str(count) for count in sorted(counts))
        hint = f"'{name}' takes {wanted}, and here are {len(arguments)}"
        raise wrong_count(len(arguments), min(counts), at, hint)
    what = "overloaded function" if candidates else "function template"
    raise Fault(
        at,
        f"no instance of {what} '{name}' matches the argument list",
        f"the argument types are ({given})",
    )


def ranked(candidate: Candidate, arguments: list[Value]) -> list[int] | None:
    """How well each argument fits; None where one does not, or where they are too few or too many."""
    if not candidate.least <= len(arguments) <= len(candidate.parameters) or candidate.object is None:
        return None
    ranks = [_rank(a, p) for a, p in zip(arguments, candidate.parameters)]
    return None if None in ranks else [candidate.object, *(rank or 0 for rank in ranks)]


def _rank(value: Value, parameter: ParameterType) -> int | None:
    if parameter.reference and value.volatile and not parameter.volatile and value.type == parameter.type:
        return None
    if parameter.reference == "const" and parameter.volatile:
        return 0 if value.place is not None and value.type == parameter.type else None
    rank = quality(value, parameter.type, parameter.reference)
    if rank is None and parameter.reference != "plain":
        return 6 if converts(value, parameter.type) else None
    return rank


def _beats(one: tuple[Candidate, list[int]], other: tuple[Candidate, list[int]]) -> bool:
    pairs = zip(one[1][1:], other[1][1:], one[0].parameters, other[0].parameters)
    found = {_compared(*pair) for pair in pairs} | {(one[1][0] > other[1][0]) - (one[1][0] < other[1][0])}
    if found & {-1, 1}:
        return 1 not in found
    return other[0].template and not one[0].template


def _compared(one: int, other: int, to: ParameterType, to_other: ParameterType) -> int:
    """-1 where an argument fits the first parameter better, 1 the second one, 0 both alike: by rank, and by
    which of them points or refers to less of const and volatile."""
    if one != other:
        return -1 if one < other else 1
    few, more = _qualifiers(to), _qualifiers(to_other)
    if few is None or more is None:
        return 0
    return (more < few) - (few < more)


def _qualifiers(parameter: ParameterType) -> set[str] | None:
    """Of what a parameter points or refers to; None where it does neither."""
    kind: ParameterType | Pointer = parameter
    if not parameter.reference:
        if not isinstance(parameter.type, Pointer):
            return None
        kind = parameter.type
    return {word for word in ("const", "volatile") if getattr(kind, word)}


def check_single(
    context: Context, name: str, candidate: Candidate, arguments: list[Value], node: syntax.CallOf
) -> None:
    """Raise where the only candidate does not take these arguments."""
    count, want = len(arguments), len(candidate.parameters)
    if not candidate.least <= count <= want:
        here = f"here {'is' if count == 1 else 'are'} {count}"
        hint = f"'{name}' takes {want} argument{'s' * (want != 1)}, and {here}"
        raise wrong_count(count, want, node.at, hint)
    for value, parameter, written in zip(arguments, candidate.parameters, node.arguments):
        if _rank(value, parameter) is None:
            raise misfit(value, parameter, written.at)
    if candidate.object is None:
        message = "the object has type qualifiers that are not compatible with the member function"
        raise Fault(node.at, f"{message} '{name}'", "write const behind its parameters")


def wrong_count(given: int, wanted: int, at: At, hint: str) -> Fault:
    """What is said of a call that gives more or fewer arguments than are wanted."""
    return Fault(at, f"too {'few' if given < wanted else 'many'} arguments in function call", hint)


def misfit(value: Value, parameter: ParameterType, at: At) -> Fault:
    """What is said of an argument that does not fit its parameter."""
    source = value.type
    if parameter.reference and value.volatile and not parameter.volatile:
        message = f"qualifiers dropped in binding reference of type '{parameter.type} &'"
        return Fault(at, message, "it is volatile: copy its value into a variable")
    if parameter.reference == "const" and parameter.volatile:
        message = "initial value of reference to const volatile must be an lvalue"
        return Fault(at, message, "put it into a variable first")
    if parameter.reference == "plain":
        if value.type == parameter.type and (value.const or value.place is None):
            hint = "the function may change it, so it must be a variable that is not const"
            return Fault(at, "initial value of reference to non-const must be an lvalue", hint)
        wanted = f"a reference of type '{parameter.type} &'"
        message = f"{wanted} cannot be initialized with a value of type '{source}'"
        return Fault(at, message)
    source = rvalue(value).type
    message = f"argument of type '{source}' is incompatible with parameter of type '{parameter.type}'"
    return Fault(at, message, type_hint(source, parameter.type))
