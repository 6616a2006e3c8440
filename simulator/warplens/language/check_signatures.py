"""Signatures of functions: what they return and take, and which words may stand before them."""

from __future__ import annotations

from dataclasses import replace

from warplens.errors import At, Fault, unsupported
from warplens.language import syntax, tree
from warplens.language.check_context import Context, File
from warplens.language.check_types import Written, constant_integer, meaning_of, written_type
from warplens.language.function_pointers import wants_function
from warplens.language.scope import FunctionName, ParameterType, Scope, TypeMeaning
from warplens.language.tree import Variable
from warplens.language.types import Array, Enum, Group, Pointer, Record, Type, Void

MOST_PARAMETER = 4096  # bytes
_OF_VARIABLES = (
    "__shared__", "__constant__", "typedef", "__restrict__", "__restrict", "alignas", "__align__",
)  # fmt: skip


def head(file: File, node: syntax.FunctionDefinition, scope: Scope, name: str) -> FunctionName:
    """A function whose body is not checked yet; `name` is what it is called in messages."""
    context = Context(file, scope)
    words, at = node.specifiers.words, node.declarator.at
    check_words(node)
    kernel = "__global__" in words
    returned = _returned(context, node, kernel)
    part = node.declarator.parts[0]
    assert isinstance(part, syntax.FunctionPart)
    parameters: list[ParameterType] = []
    variables: list[Variable] = []
    for written in part.parameters:
        kind = _parameter(context, written, kernel)
        stored = Pointer(kind.type, kind.const, kind.volatile) if kind.by_address else kind.type
        parameters.append(kind)
        declarator, volatile = written.declarator, kind.volatile and not kind.by_address
        variables.append(
            Variable(declarator.name, stored, "param", declarator.at, kind.const, volatile=volatile)
        )
    result: Type = returned.type
    if returned.reference:
        result = Pointer(returned.type, returned.const, returned.volatile)
    function = tree.Function(name, result, variables, at, kernel)
    function.external_c = node.external_c
    function.max_threads = _bounds(context, node, kernel)
    defaults = _defaults(context, part.parameters, parameters)
    device = kernel or "__device__" in words
    made = FunctionName(name, returned.type, parameters, at, kernel, device, node, defaults, function, scope)
    made.reference, made.returns_const = bool(returned.reference), returned.const
    made.auto = returned.auto
    return made


def _returned(context: Context, node: syntax.FunctionDefinition, kernel: bool) -> Written:
    """What it returns; nothing so far where its first return gives the type."""
    if node.form == "constructor":
        return Written(Void(), False)
    at = node.declarator.at
    returned = written_type(context, node.specifiers, node.declarator)
    if returned.auto and (not isinstance(returned.type, Void) or returned.reference or kernel):
        raise unsupported(node.specifiers.at, "functions that return auto * or auto &", "write the type")
    if returned.auto and node.body is None:
        raise unsupported(node.specifiers.at, "functions that return auto and are only declared")
    if kernel and not isinstance(returned.type, Void):
        hint = "a kernel writes its results into arrays: __global__ void"
        raise Fault(at, "a __global__ function must have a void return type", hint)
    if returned.reference == "&&":
        raise unsupported(at, "functions that return a reference with &&")
    if isinstance(returned.type, Array) and not returned.reference:
        raise Fault(at, "a function cannot return an array")
    return returned


def check_words(node: syntax.FunctionDefinition) -> None:
    """Raise where a function has a word before it that it cannot have, or lacks one that it must have."""
    words = node.specifiers.words
    for word in _OF_VARIABLES:
        if word in words:
            raise Fault(words[word], f"'{word}' is not allowed on a function")
    if not words.keys() & {"__global__", "__device__"}:
        message = f"'{node.declarator.name}' is a host function, and a kernel's source has none"
        raise Fault(
            node.declarator.at, message, "write __global__ before a kernel, __device__ before a helper"
        )
    if "__global__" in words:
        for word in ("__device__", "__host__"):
            if word in words:
                raise Fault(words[word], f"a __global__ function cannot be {word} as well")
        if "constexpr" in words:
            raise Fault(words["constexpr"], "a __global__ function cannot be constexpr")
    if node.specifiers.bounds and "__global__" not in words:
        message = "the __launch_bounds__ qualifier is only allowed on a __global__ function"
        raise Fault(words["__launch_bounds__"], message)


def _parameter(context: Context, node: syntax.Parameter, kernel: bool) -> ParameterType:
    at = node.declarator.at
    for word, place in node.specifiers.words.items():
        hint = "it stands behind the *: float* __restrict__ x" if "restrict" in word else ""
        raise Fault(place, f"'{word}' is not allowed here", hint)
    written = written_type(context, node.specifiers, node.declarator)
    type_: Type = written.type
    if written.auto:
        raise Fault(at, "'auto' is not allowed here", "write template <typename T> and T")
    if isinstance(type_, Void):
        raise Fault(at, "a parameter cannot have type void")
    if isinstance(type_, Array) and not written.reference:
        return ParameterType(Pointer(type_.of, written.const, written.volatile))
    if isinstance(type_, Group) and kernel:
        raise unsupported(at, "groups as parameters of a kernel")
    if written.reference == "&&":
        raise unsupported(at, "references with &&")
    if written.reference and kernel:
        raise unsupported(at, "parameters of a kernel that are references", "take a pointer or a value")
    if kernel and type_.size > MOST_PARAMETER:
        raise unsupported(
            at, f"a parameter of a kernel of more than {MOST_PARAMETER:,} bytes", "take a pointer"
        )
    reference = "" if not written.reference else "const" if written.const else "plain"
    return ParameterType(type_, written.const, reference, written.volatile)


def _bounds(context: Context, node: syntax.FunctionDefinition, kernel: bool) -> int | None:
    values = [constant_integer(context, n, "__launch_bounds__ takes numbers") for n in node.specifiers.bounds]
    return values[0] or None if values else None


def _defaults(context: Context, written: list[syntax.Parameter], kinds: list[ParameterType]) -> int:
    count = 0
    for parameter, kind in zip(written, kinds):
        if parameter.default is not None:
            count += 1
            value = context.operand(parameter.default)
            context.initializer(value, kind.type, parameter.default.at)
        elif count:
            raise Fault(parameter.declarator.at, "default argument not at end of parameter list")
    return count


def operator_takes(name: str, kinds: list[Type], at: At) -> None:
    """Raise where an operator that is no method has other parameters than it may have."""
    mark = name.removeprefix("operator")
    wanted = {"!": (1,), "~": (1,), "+": (1, 2), "-": (1, 2)}.get(mark, (2,))
    if len(kinds) not in wanted:
        few = "few" if len(kinds) < wanted[0] else "many"
        raise Fault(at, f"too {few} parameters for this operator function")
    if not any(isinstance(kind, Record | Enum) for kind in kinds):
        hint = "what an operator does to numbers cannot be changed"
        raise Fault(at, "nonmember operator requires a parameter with class or enum type", hint)


def method_operator_takes(name: str, count: int, at: At) -> None:
    """Raise where an operator that is a method has too few or too many parameters."""
    mark = name.removeprefix("operator")
    either = {"+": (0, 1), "-": (0, 1), "*": (0, 1), "++": (0, 1), "--": (0, 1)}
    wanted = either.get(mark, (0,) if mark in ("!", "~", "->") else (1,))
    if mark != "()" and count not in wanted:
        raise Fault(at, f"too {'few' if count < wanted[0] else 'many'} parameters for this operator function")


def make_method(made: FunctionName, owner: Record) -> None:
    """A function becomes a method."""
    node, function = made.definition, made.function
    assert function is not None
    made.owner, made.const = owner, node.const
    made.static = "static" in node.specifiers.words
    made.explicit = "explicit" in node.specifiers.words
    if made.static:
        return
    kind = Pointer(owner, made.const) if owner.in_memory else owner
    function.this = tree.Variable("this", kind, "param", made.at, made.const)


def as_template(context: Context, node: syntax.FunctionDefinition) -> syntax.FunctionDefinition:
    """A function that takes pointers to functions, as a template of their types."""
    part = node.declarator.parts[0]
    assert isinstance(part, syntax.FunctionPart)
    found: list[syntax.TemplateParameter] = []
    parameters: list[syntax.Parameter] = []
    for parameter in part.parameters:
        if not _is_pointer(context, parameter):
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


def _is_pointer(context: Context, parameter: syntax.Parameter) -> bool:
    parts = parameter.declarator.parts
    if len(parts) > 1 and isinstance(parts[0], syntax.PointerPart):
        return isinstance(parts[1], syntax.FunctionPart)
    base = parameter.specifiers.base
    if parts or not isinstance(base, syntax.Name) or base.arguments or base.of:
        return False
    meaning = meaning_of(context, base)
    return isinstance(meaning, TypeMeaning) and wants_function(meaning.type) is not None
