"""Types as they are written become types; of templates of classes, their instances."""

from __future__ import annotations

from dataclasses import dataclass, replace

from warplens.errors import At, Fault, unsupported
from warplens.language import bfloat, groups, half, syntax
from warplens.language.check_context import Context
from warplens.language.constant import in_type
from warplens.language.conversion import Value, has_call, known
from warplens.language.function_pointers import is_kind, target_of, wants_function
from warplens.language.groups import PREFIX
from warplens.language.parse_tokens import BUILT_IN_TYPES, REFUSED_TYPES
from warplens.language.scope import (
    ClassTemplate,
    ConstantName,
    Meaning,
    Members,
    NamespaceName,
    Scope,
    TypeMeaning,
)
from warplens.language.syntax import first_at
from warplens.language.types import (
    VOID,
    Array,
    Enum,
    FunctionType,
    Group,
    Pointer,
    Record,
    Scalar,
    Type,
    Void,
)

Bindings = dict[str, TypeMeaning | ConstantName]  # of the parameters of a template


@dataclass(frozen=True)
class Written:
    """A type as declared: `const` and `volatile` are those of the thing itself, `reference` "", "&" or "&&".

    With `auto` the initial value gives the type: `type` is Void, or the pointer around it.
    """

    type: Type
    const: bool
    reference: str = ""
    auto: bool = False
    volatile: bool = False


def base_type(context: Context, specifiers: syntax.Specifiers) -> Written:
    """The type that the words before a declarator name."""
    base = specifiers.base
    if base == "auto":
        return Written(Void(), specifiers.const, auto=True, volatile=specifiers.volatile)
    if isinstance(base, syntax.Name):
        if base.name.startswith(groups.PREFIX):
            return Written(_group_type(context, base), specifiers.const)
        meaning = type_meaning(context, base)
        if isinstance(meaning, TypeMeaning):
            const, volatile = specifiers.const or meaning.const, specifiers.volatile or meaning.volatile
            return Written(meaning.type, const, volatile=volatile)
        if meaning is None and base.name in BUILT_IN_TYPES:
            kind = BUILT_IN_TYPES[base.name]
            return Written(kind, specifiers.const, volatile=specifiers.volatile)
        if meaning is None and base.name in REFUSED_TYPES:
            raise unsupported(base.at, f"{REFUSED_TYPES[base.name]} ('{base.name}')")
        if meaning is None and base.name in (*half.OTHER_TYPES, *bfloat.OTHER_TYPES):
            raise unsupported(base.at, base.name, "take half or __nv_bfloat16, one by one")
        raise Fault(base.at, f"'{base.name}' is not the name of a type")
    assert isinstance(base, Scalar | Void)
    return Written(base, specifiers.const, volatile=specifiers.volatile)


def meaning_of(context: Context, node: syntax.Name) -> Meaning | None:
    """What a name means, with what stands before it."""
    if node.of is None:
        return context.scope.find(node.name)
    if not node.of.name:
        return context.file.scope.member(node.name)
    outer = type_meaning(context, node.of)
    if isinstance(outer, NamespaceName):
        return outer.scope.member(node.name)
    if isinstance(outer, TypeMeaning) and isinstance(outer.type, Enum):
        return outer.type.constants.get(node.name)
    if isinstance(outer, TypeMeaning) and isinstance(outer.type, Record) and outer.type.members:
        if not outer.type.complete and node.name not in outer.type.members.scope.names:
            raise Fault(node.at, f"incomplete type '{outer.type}' is not allowed")
        found: Meaning | None = outer.type.members.scope.member(node.name)
        return found
    return None


def type_meaning(context: Context, node: syntax.Name) -> Meaning | None:
    """What a name means where a type stands: of a template, its instance."""
    meaning = meaning_of(context, node)
    if isinstance(meaning, ClassTemplate):
        if node.arguments is None:
            message = f"argument list for class template '{node.name}' is missing"
            raise Fault(node.at, message, f"write {node.name}<...>")
        return _class_instance(context, meaning, node.arguments, node.at)
    if node.arguments is not None and isinstance(meaning, TypeMeaning):  # within the template itself
        template = meaning.type.members.template if isinstance(meaning.type, Record) else None
        if template is None:
            raise Fault(node.at, f"'{node.name}' is not a template")
        return _class_instance(context, template, node.arguments, node.at)
    return meaning


def written_type(context: Context, specifiers: syntax.Specifiers, declarator: syntax.Declarator) -> Written:
    """The type of a declarator without what makes it a function."""
    parts = declarator.parts
    if parts and isinstance(parts[0], syntax.FunctionPart):
        parts = parts[1:]
    result = base_type(context, specifiers)
    for part in reversed(parts):
        result = _with_part(context, result, part, declarator)
    return result


def named_type(context: Context, node: syntax.TypeName) -> Written:
    """A type that is written without a name behind it, as in a cast."""
    return written_type(context, node.specifiers, node.declarator)


def _with_part(context: Context, inner: Written, part: syntax.Part, declarator: syntax.Declarator) -> Written:
    at = declarator.at
    if inner.reference:
        raise Fault(at, "a pointer to a reference, or an array of references, is not allowed")
    if isinstance(part, syntax.PointerPart) and isinstance(inner.type, Group):
        raise unsupported(at, "pointers to groups")
    if isinstance(part, syntax.PointerPart):
        pointer = Pointer(inner.type, inner.const, inner.volatile)
        return Written(pointer, part.const, auto=inner.auto, volatile=part.volatile)
    if isinstance(part, syntax.ReferencePart):
        if isinstance(inner.type, Void) and not inner.auto:
            raise Fault(at, "a reference to void is not allowed")
        return replace(inner, reference="&&" if part.rvalue else "&")
    if isinstance(part, syntax.FunctionPart):
        kinds = [written_type(context, p.specifiers, p.declarator) for p in part.parameters]
        if inner.auto or any(kind.reference or isinstance(kind.type, Array) for kind in kinds):
            raise unsupported(part.at, "pointers to functions of this kind")
        return Written(FunctionType(inner.type, tuple(kind.type for kind in kinds)), False)
    if isinstance(inner.type, Group):
        raise unsupported(part.at, "arrays of groups")
    if inner.auto:
        raise Fault(part.at, "an array of auto is not allowed", "write the type of the elements")
    if isinstance(inner.type, Void):
        raise Fault(part.at, "an array of void is not allowed")
    if isinstance(inner.type, Array) and inner.type.length is None:
        raise Fault(part.at, "only the first dimension of an array may be left out")
    length = None if part.length is None else _array_length(context, part.length)
    return replace(inner, type=Array(inner.type, length))


def _array_length(context: Context, node: syntax.Node) -> int:
    length = constant_integer(
        context, node, "the length of an array is a number that is known when compiling"
    )
    if length <= 0:
        raise Fault(node.at, "the size of an array must be greater than zero", f"it is {length}")
    if length >= 1 << 40:
        raise Fault(node.at, "array is too large")
    return length


def constant_integer(context: Context, node: syntax.Node, hint: str) -> int:
    """An integer that is known when compiling; `hint` says what it is needed for."""
    value = context.value(node)
    number = known(value)
    if number is None:
        no_calls(value, node)
        raise Fault(first_at(node), "expression must have a constant value", hint)
    if isinstance(number, float):
        raise Fault(first_at(node), "expression must have integral type", f"it has type '{value.type}'")
    return int(number)


def no_calls(value: Value, node: syntax.Node) -> None:
    """Raise where a constant is wanted, and a function is called."""
    if value.expression is not None and has_call(value.expression):
        raise unsupported(first_at(node), "calling a function in a constant expression")


# --------------------------------------------------------------------------------------------------- groups


def _group_type(context: Context, node: syntax.Name) -> Group:
    """A type of the namespace, as it is written."""
    name = node.name.removeprefix(PREFIX)
    if name in groups.TYPES:
        return groups.TYPES[name]
    if name != "thread_block_tile":
        raise unsupported(node.at, f"{PREFIX}{name}")
    arguments = node.arguments or []
    if not 1 <= len(arguments) <= 2 or isinstance(arguments[0], syntax.TypeName):
        raise Fault(node.at, "thread_block_tile needs its number of threads: thread_block_tile<32>")
    size = tile_size(context, arguments[0])
    if len(arguments) == 1:
        return groups.tile(size)
    parent = arguments[1]
    kind = named_type(context, parent).type if isinstance(parent, syntax.TypeName) else None
    if isinstance(kind, Group) and kind.kind in ("block", "tile"):
        return groups.tile(size, kind)
    if kind == VOID:
        return groups.tile(size)
    raise unsupported(node.at, "a thread_block_tile of other groups than blocks and tiles")


def tile_size(context: Context, node: syntax.Node) -> int:
    """The template argument that says how many threads a tile has."""
    hint = "the size of a tile is a number that is known when compiling"
    size = constant_integer(context, node, hint)
    if size > 32 and not size & size - 1 and size <= 1024:
        raise unsupported(node.at, f"tiles of more than a warp ({size} threads)")
    if size not in groups.TILES:
        raise Fault(node.at, "Size must be one of 1/2/4/8/16/32", f"it is {size}")
    return size


# ------------------------------------------------------------------------------------------------ templates


def _class_instance(
    context: Context, template: ClassTemplate, arguments: list[syntax.Node], at: At
) -> TypeMeaning:
    """The class, or the type, that a template stands for with some arguments; made at first use."""
    node = template.definition
    bindings = explicit_only(context, node, arguments, template.scope)
    if bindings is None:
        names = ", ".join(parameter.name for parameter in node.template or [])
        message = f"these are no arguments for the template '{node.name}'"
        raise Fault(at, message, f"it takes <{names}>")
    identity = identity_of(bindings)
    if identity in template.instances:
        return template.instances[identity]
    file = context.file
    file.one_more_instance(node.name, at)
    scope = scope_with(template.scope, bindings)
    scope.parameters = set(bindings)
    inner = Context(file, scope)
    if isinstance(node, syntax.Alias):
        written = named_type(inner, node.type)
        meaning = template.instances[identity] = TypeMeaning(written.type, written.const, written.volatile)
        return meaning
    special = template.special.get(identity)
    chosen = special or node
    if chosen.members is None:
        raise Fault(at, f"incomplete type '{spelled(node.name, bindings)}' is not allowed")
    members = Members(Scope(scope), template=template, arguments=list(bindings.values()))
    record = Record(
        spelled(node.name, bindings), (), 1, 1, union=chosen.union, complete=False, members=members
    )
    meaning = template.instances[identity] = TypeMeaning(record)
    # its name is declared, and stands for the class that is defined now
    scope.names[node.name] = meaning
    file.depth += 1
    inner.statement(replace(chosen, template=None, arguments=None))
    file.depth -= 1
    return meaning


def explicit_only(
    context: Context,
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
        if not bind_argument(context, parameter, node, bindings, home):
            return None
    return with_defaults(context, template, bindings, home)


def bind_argument(
    context: Context,
    parameter: syntax.TemplateParameter,
    node: syntax.Node,
    bindings: Bindings,
    home: Scope,
) -> bool:
    """Whether an argument fits a parameter of a template, which then stands for it."""
    if parameter.type is None:
        if not isinstance(node, syntax.TypeName):
            return False
        written = named_type(context, node)
        bindings[parameter.name] = TypeMeaning(written.type, written.const, written.volatile)
        return not written.reference
    if isinstance(node, syntax.TypeName):
        return False
    return _bind_number(context, parameter, context.operand(node), node, bindings, home)


def _bind_number(
    context: Context,
    parameter: syntax.TemplateParameter,
    value: Value,
    node: syntax.Node,
    bindings: Bindings,
    home: Scope,
) -> bool:
    assert parameter.type is not None
    with context.inside(scope_with(home, bindings)):
        type_ = named_type(context, parameter.type).type
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


def with_defaults(
    context: Context, template: list[syntax.TemplateParameter], bindings: Bindings, home: Scope
) -> Bindings | None:
    """All parameters of a template, those that are not given by their defaults; None where one has none."""
    for parameter in template:
        if parameter.name in bindings:
            continue
        if parameter.default is None:
            return None
        with context.inside(scope_with(home, bindings)):
            fits = bind_argument(context, parameter, parameter.default, bindings, home)
        if not fits:
            return None
    return {parameter.name: bindings[parameter.name] for parameter in template}


def scope_with(home: Scope, bindings: Bindings) -> Scope:
    """A scope within that of a template, in which its parameters have a meaning."""
    scope = Scope(home)
    scope.names.update(bindings)
    return scope


def key(meaning: Meaning) -> tuple[object, ...]:
    """What tells one argument of a template from another."""
    if isinstance(meaning, ConstantName):
        return ("value", meaning.type if isinstance(meaning.type, Record) else meaning.value)
    assert isinstance(meaning, TypeMeaning)
    return ("type", meaning.type, meaning.const, meaning.volatile)


def identity_of(bindings: Bindings) -> tuple[object, ...]:
    """What tells one instance of a template from another."""
    return tuple(key(meaning) for meaning in bindings.values())


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
