"""Initializers: the first values of variables and members, values in braces, objects that are made."""

from __future__ import annotations

from warplens.errors import At, Fault, unsupported
from warplens.language import syntax, tree
from warplens.language.check_context import Context
from warplens.language.check_methods import this_object
from warplens.language.check_types import named_type
from warplens.language.check_user_calls import call_constructor
from warplens.language.class_members import converts, has_constructors, members_of, needs_making
from warplens.language.conversion import Value, implicit, only_copied, rvalue
from warplens.language.scope import FunctionName, Members
from warplens.language.syntax import first_at
from warplens.language.types import DIM3, INT, PAIRS, UINT, Array, Group, Pointer, Record, Type, Void

Initial = tree.Expression | list[object]

MOST_CONSTRUCTED = 256  # elements of one array


def initial_value(context: Context, type_: Type, one: syntax.One) -> Initial:
    """The first value of a variable; of an array, the list of its elements' values."""
    node = one.initial
    assert node is not None
    if isinstance(node, syntax.Braces):
        if one.style == "(":
            return _constructed(context, type_, node)
        if isinstance(type_, Array):
            return _array_parts(context, type_, node)
        return braces_value(context, node, type_)
    if isinstance(type_, Array):
        if isinstance(node, syntax.Text):
            raise unsupported(node.at, "strings")
        hint = "the values of an array stand in braces: {1, 2, 3}"
        raise Fault(first_at(node), "an array is initialized with values in braces", hint)
    return context.initializer(context.operand(node), type_, first_at(node))


def check_make(context: Context, node: syntax.Make) -> Value:
    """`type{...}` and `type(...)`."""
    written = named_type(context, node.type)
    braces = syntax.Braces(node.at, node.parts)
    if isinstance(written.type, Void) and not node.parts:
        raise Fault(node.at, "a value of type void has no use")
    if isinstance(written.type, Record) and not written.type.complete:
        raise Fault(node.at, f"incomplete type '{written.type}' is not allowed")
    if not node.braces and node.parts:
        return Value(_constructed(context, written.type, braces))
    if has_constructors(written.type) or (not node.parts and needs_making(written.type)):
        return Value(_object_in_braces(context, written.type, braces, "{"))
    return Value(braces_value(context, braces, written.type))


def _constructed(context: Context, type_: Type, node: syntax.Braces) -> tree.Expression:
    if type_ == DIM3:
        return _dim3(context, node)
    if type_ in PAIRS and len(node.parts) == 2:
        return braces_value(context, node, type_)
    if has_constructors(type_) or (len(node.parts) == 1 and members_of(type_) is not None):
        return _object_in_braces(context, type_, node, "(")
    raise Fault(node.at, f"no constructor of '{type_}' takes {len(node.parts)} values", "use braces: {a, b}")


def _dim3(context: Context, node: syntax.Braces) -> tree.Expression:
    if len(node.parts) > 3:
        raise Fault(node.at, "too many values: a dim3 has x, y and z")
    parts = [context.initializer(context.operand(part), UINT, part.at) for part in node.parts]
    parts += [tree.Literal(node.at, UINT, 1) for _ in range(3 - len(parts))]
    return tree.MakeRecord(node.at, DIM3, parts)


# --------------------------------------------------------------------------------------------------- braces


def braces_value(context: Context, node: syntax.Braces, to: Type) -> tree.Expression:
    """What stands in braces, as one value."""
    if to == DIM3:
        return _dim3(context, node)
    if has_constructors(to) and (node.parts or needs_making(to)):
        return _object_in_braces(context, to, node, "=")
    if isinstance(to, Group) and len(node.parts) != 1:
        raise unsupported(node.at, f"a {to} in braces")
    if isinstance(to, Record):
        parts = list(node.parts)
        if len(parts) == 1 and not isinstance(parts[0], syntax.Braces):
            value = context.operand(parts[0])
            if value.type == to:
                return rvalue(value)
        written = [part for part in parts if to in PAIRS and not isinstance(part, syntax.Braces)]
        if any(only_copied(context.operand(part)) for part in written):
            message = f"no instance of constructor '{to}' matches: one of its parts is volatile"
            raise Fault(node.at, message, "copy it first")
        result = _record(context, to, parts, node.at)
        _none_left(parts)
        return result
    if len(node.parts) > 1:
        raise Fault(node.parts[1].at, "too many initializer values", f"a variable of type '{to}' has one")
    if not node.parts:
        return _zero(to, node.at)
    if isinstance(node.parts[0], syntax.Braces):
        raise unsupported(node.at, "braces within braces for a single value")
    return _element(context, to, node.parts[0])


def _zero(to: Type, at: At) -> tree.Expression:
    """What empty braces stand for."""
    if isinstance(to, Array):
        return tree.MakeArray(at, to, [_zero(to.of, at) for _ in range(to.length or 0)])
    if isinstance(to, Group):
        raise Fault(at, f"no default constructor exists for class '{to}'")
    if isinstance(to, Record):
        fields = to.fields[:1] if to.union else to.fields
        return tree.MakeRecord(at, to, [_zero(field.type, at) for field in fields])
    value = implicit(Value(tree.Literal(at, UINT, 0), null=True), to)
    if value is None:
        raise Fault(at, f"a value of type '{to}' cannot be made of nothing")
    return value


def _record(context: Context, record: Record, parts: list[syntax.Node], at: At) -> tree.Expression:
    values: list[tree.Expression] = []
    members = members_of(record)
    for field in record.fields[:1] if record.union else record.fields:
        if parts:
            values.append(_filled(context, field.type, _next(context, field.type, parts), at))
        elif members is not None and field.name in members.defaults:
            with context.inside(members.scope):
                given = initial_value(context, field.type, members.defaults[field.name])
            values.append(_filled(context, field.type, given, at))
        elif needs_making(field.type) and has_constructors(field.type):
            values.append(_object_in_braces(context, field.type, syntax.Braces(at, []), "{"))
        else:
            values.append(_zero(field.type, at))
    return tree.MakeRecord(at, record, values)


def _object_in_braces(context: Context, type_: Type, node: syntax.Braces, style: str) -> tree.Expression:
    """A value of a class that something must be done for."""
    one = syntax.One(syntax.Declarator(node.at, "", []), node, style)
    if style == "(" and len(node.parts) == 1:
        one.initial = node.parts[0]
    return rvalue(_made(context, type_, one, node.at))


def _filled(context: Context, type_: Type, given: Initial, at: At) -> tree.Expression:
    """A first value as one value, with zeros for the elements that are not given."""
    if not isinstance(given, list):
        return given
    assert isinstance(type_, Array)
    parts = [_filled(context, type_.of, part, at) for part in given]  # type: ignore[arg-type]
    parts += [_zero(type_.of, at) for _ in range((type_.length or 0) - len(parts))]
    return tree.MakeArray(at, type_, parts)


def _array_parts(context: Context, type_: Array, node: syntax.Braces) -> list[object]:
    parts = list(node.parts)
    if type_.length is None and not parts:
        raise Fault(node.at, "an array of unknown length needs at least one value")
    result = _elements(context, type_, parts)
    _none_left(parts)
    return result


def _none_left(parts: list[syntax.Node]) -> None:
    if parts:
        raise Fault(first_at(parts[0]), "too many initializer values")


def _elements(context: Context, type_: Array, parts: list[syntax.Node]) -> list[object]:
    result: list[object] = []
    while parts and (type_.length is None or len(result) < type_.length):
        result.append(_next(context, type_.of, parts))
    return result


def _next(context: Context, type_: Type, parts: list[syntax.Node]) -> Initial:
    """Takes what the next element needs off `parts`: braces of its own may be left out."""
    if isinstance(parts[0], syntax.Braces):
        part = parts.pop(0)
        assert isinstance(part, syntax.Braces)
        return (
            _array_parts(context, type_, part)
            if isinstance(type_, Array)
            else braces_value(context, part, type_)
        )
    if isinstance(type_, Array):
        return _elements(context, type_, parts)
    if isinstance(type_, Record):
        value = context.operand(parts[0])
        if implicit(value, type_) is None and not converts(value, type_):
            return _record(context, type_, parts, parts[0].at)
    return _element(context, type_, parts.pop(0))


def _element(context: Context, to: Type, node: syntax.Node) -> tree.Expression:
    # NVRTC lets braces narrow, with a warning
    return context.initializer(context.operand(node), to, first_at(node))


# -------------------------------------------------------------------------------------------------- objects


def _made(context: Context, type_: Type, one: syntax.One, at: At) -> Value:
    """`Type(a, b)` and `Type{a, b}` of a class whose values something must be done for."""
    place = context.temporary(type_, at)
    result: tree.Expression = tree.Load(at, type_, place)
    for step in reversed(first_steps(context, place, one, at)):
        result = tree.Comma(at, type_, step, result)
    return Value(result)


def first_steps(context: Context, place: tree.Place, one: syntax.One | None, at: At) -> list[tree.Expression]:
    """What gives a place its first value, as `one` says; without it, its default."""
    type_ = place.type
    if one is None or not one.style:
        return _default(context, place, at)
    node = one.initial
    assert node is not None
    parts = node.parts if isinstance(node, syntax.Braces) else [node]
    if has_constructors(type_) and (parts or not members_of(type_).default):  # type: ignore[union-attr]
        if len(parts) == 1 and not isinstance(parts[0], syntax.Braces):
            value = context.operand(parts[0])
            if value.type == type_:
                return [tree.Assign(at, type_, place, rvalue(value))]
            if one.style == "=" and not isinstance(node, syntax.Braces):
                result = context.initializer(value, type_, parts[0].at)
                return [tree.Assign(at, type_, place, result)]
        explicit = not (one.style == "=" and isinstance(node, syntax.Braces))
        return [_construct(context, place, parts, at, explicit)]
    if isinstance(type_, Array):
        if not isinstance(node, syntax.Braces):
            raise Fault(at, "an array is initialized with values in braces")
        filled = _filled(context, type_, _array_parts(context, type_, node), node.at)
        return [tree.Assign(at, type_, place, filled)]
    if not parts and isinstance(type_, Record):
        return [
            tree.Assign(at, type_, place, _zero(type_, at)),
            *_default(context, place, at),
        ]
    value_ = initial_value(context, type_, one)
    assert isinstance(value_, tree.Expression)
    return [tree.Assign(at, type_, place, value_)]


def _default(context: Context, place: tree.Place, at: At) -> list[tree.Expression]:
    type_ = place.type
    if not needs_making(type_):
        return []
    if isinstance(type_, Array):
        return _each(context, place, type_, at)
    assert isinstance(type_, Record)
    members: Members = type_.members
    if has_constructors(type_) and not members.default:
        return [_construct(context, place, [], at)]
    result: list[tree.Expression] = []
    for field in type_.fields:
        part = tree.MemberPlace(at, field.type, place, field.name)
        one = members.defaults.get(field.name)
        if one is None:
            result += _default(context, part, at)
        else:
            with context.inside(members.scope):
                result += first_steps(context, part, one, at)
    return result


def _each(context: Context, place: tree.Place, type_: Array, at: At) -> list[tree.Expression]:
    """The elements of an array, one after the other."""
    length = type_.length or 0
    if length * (type_.size // type_.element.size) // length > MOST_CONSTRUCTED:
        raise unsupported(at, f"an array of more than {MOST_CONSTRUCTED} objects with constructors")
    result: list[tree.Expression] = []
    for i in range(length):
        result += _default(context, element(place, type_, i, at), at)
    return result


def element(place: tree.Place, type_: Array, i: int, at: At) -> tree.Place:
    """An element of an array."""
    pointer = tree.Decay(at, Pointer(type_.of), place)
    index = tree.PointerAdd(at, pointer.type, pointer, tree.Literal(at, INT, i))
    return tree.Deref(at, type_.of, index)


def _construct(
    context: Context, place: tree.Place, parts: list[syntax.Node], at: At, explicit: bool = True
) -> tree.Expression:
    """A call of the constructor that takes these values."""
    members = members_of(place.type)
    assert members is not None
    if (
        not parts
        and not members.constructors.templates
        and not any(len(f.parameters) == f.defaults for f in members.constructors.functions)
    ):
        message = f"no default constructor exists for class '{place.type}'"
        raise Fault(at, message, "give it values, or write a constructor without parameters")
    function = Value(function=members.constructors, name=str(place.type), object=Value(place=place))
    call = syntax.CallOf(at, syntax.Name(at, str(place.type)), parts)
    return rvalue(call_constructor(context, function, call, explicit))


def first_values(context: Context, name: FunctionName) -> list[tree.Statement]:
    """What a constructor does before its body: `: x(1), y{2}`, and the first values of other fields."""
    assert name.owner is not None
    members: Members = name.owner.members
    written = {one.declarator.name: one for one in name.definition.initials}
    for field_name, one in written.items():
        if name.owner.field(field_name) is None:
            message = f"'{field_name}' is not a nonstatic data member of class '{name.owner}'"
            raise Fault(one.declarator.at, message)
    this = this_object(name, name.at)
    assert this.place is not None
    result: list[tree.Statement] = []
    for field in name.owner.fields:
        place = tree.MemberPlace(name.at, field.type, this.place, field.name)
        given = written.get(field.name)
        default = members.defaults.get(field.name)
        if given is not None:
            at = given.declarator.at
            steps = first_steps(context, place, _simple(given), at)
        elif name.owner.union:
            steps = []
        elif default is not None:
            with context.inside(members.scope):
                steps = first_steps(context, place, default, name.at)
        else:
            steps = _default(context, place, name.at)
        result += [tree.Evaluate(step.at, step) for step in steps]
    return result


def _simple(one: syntax.One) -> syntax.One:
    """`x(1)` as x = 1 would be read; more values stay together."""
    node = one.initial
    if one.style == "(" and isinstance(node, syntax.Braces) and len(node.parts) == 1:
        return syntax.One(one.declarator, node.parts[0], "(")
    if one.style == "(" and isinstance(node, syntax.Braces) and not node.parts:
        return syntax.One(one.declarator, node, "{")
    return one
