"""Values, and what one type may become: implicitly, by a cast, and how well that fits an overload."""

from __future__ import annotations

from dataclasses import dataclass

from warplens.errors import At, Fault, unsupported
from warplens.language import groups, tree
from warplens.language.constant import fold, in_type
from warplens.language.scope import Overloads
from warplens.language.types import (
    BOOL,
    DIM3,
    DOUBLE,
    FLOAT,
    NARROW,
    UINT,
    ULLONG,
    VECTORS,
    VOID,
    Array,
    Enum,
    Group,
    Pointer,
    Record,
    Scalar,
    Type,
    Void,
    is_scoped,
    promoted,
)


@dataclass(eq=False)
class Value:
    """What an expression stands for: a value, a place, a function, or threadIdx and its like (`special`).

    `const`: the place must not be written. `constant`: the place holds a number that is known. `null`: it
    is 0 or nullptr as written. `lost`: C++ could write to it, the tree cannot.
    """

    expression: tree.Expression | None = None
    place: tree.Place | None = None
    const: bool = False
    constant: bool | int | float | None = None
    null: bool = False
    function: Overloads | None = None
    name: str = ""
    special: str = ""
    lost: bool = False
    object: Value | None = None  # of a method: whose

    @property
    def type(self) -> Type:
        if self.place is not None:
            return self.place.type
        assert self.expression is not None
        return self.expression.type

    @property
    def volatile(self) -> bool:
        return self.place is not None and self.place.volatile


def rvalue(value: Value) -> tree.Expression:
    """The value itself; an array becomes a pointer to its first element."""
    if value.place is None:
        assert value.expression is not None
        return value.expression
    if value.function is not None:
        raise AssertionError("a function is no value")
    at, type_ = value.place.at, value.place.type
    if isinstance(type_, Array):
        kind = decayed(value)
        assert isinstance(kind, Pointer)
        return tree.Decay(at, kind, value.place)
    if value.constant is not None:
        return tree.Literal(at, type_, value.constant)
    if value.volatile and isinstance(type_, Record):
        message = f'class "{type_}" has no suitable copy constructor: this one is volatile'
        raise Fault(at, message, "read its members one by one")
    if isinstance(type_, Record) and _has_volatile_object(type_):
        raise unsupported(at, f"a copy of a '{type_}', which has a volatile object", "copy its members")
    return tree.Load(at, type_, value.place)


def _has_volatile_object(record: Record) -> bool:
    """Whether a class has a volatile member of a class, so that C++ does not copy it."""
    for field in record.fields:
        kind = field.type.element if isinstance(field.type, Array) else field.type
        volatile = record.members is not None and field.name in record.members.volatile
        if (volatile and kind in NARROW) or (
            isinstance(kind, Record) and (volatile or _has_volatile_object(kind))
        ):
            return True
    return False


def decayed(value: Value) -> Type:
    """The type of the value itself, which is not copied."""
    type_ = value.type
    return Pointer(type_.of, value.const, value.volatile) if isinstance(type_, Array) else type_


def only_copied(value: Value) -> bool:
    """Whether it is a volatile half or __nv_bfloat16, whose class has no other operators for it."""
    return value.volatile and value.type in NARROW


def take(place: tree.Place) -> None:
    """Somebody wants the address of `place`: its variable must live in memory."""
    while isinstance(place, tree.MemberPlace):
        place = place.record
    if isinstance(place, tree.VariablePlace):
        place.variable.taken = True


def address(value: Value, at: At) -> tree.Expression:
    assert value.place is not None
    take(value.place)
    kind = Pointer(value.type, value.const, value.volatile)
    if isinstance(value.place, tree.Deref) and value.place.pointer.type == kind:
        return value.place.pointer
    return tree.AddressOf(at, kind, value.place)


def number(node: tree.Expression, to: Type) -> tree.Expression:
    """A number in another type; known numbers stay literals."""
    if node.type == to:
        return node
    if isinstance(node, tree.Literal) and isinstance(to, Scalar):
        value = in_type(node.value, to)
        if value is not None and not (isinstance(node.value, float) and to.is_integer):
            return tree.Literal(node.at, to, value)
    return tree.Convert(node.at, to, node)


def null_pointer(at: At, to: Type) -> tree.Expression:
    return tree.Reinterpret(at, to, tree.Literal(at, ULLONG, 0))


NULL_TYPE = Void()


def points_alike(source: Pointer, to: Pointer) -> bool:
    """Whether a pointer becomes the other by adding const or volatile, or by forgetting what it points to."""
    return (isinstance(to.to, Void) and not loses_qualifier(source, to)) or _more_qualified(source, to)


def _more_qualified(source: Type, to: Type) -> bool:
    """Whether two types are one but for const and volatile, of which the other has no less."""
    if isinstance(source, Pointer) and isinstance(to, Pointer):
        return not loses_qualifier(source, to) and _more_qualified(source.to, to.to)
    if isinstance(source, Array) and isinstance(to, Array) and source.length == to.length:
        return _more_qualified(source.of, to.of)
    return source == to


def loses_qualifier(source: Type, to: Type) -> bool:
    """Whether one pointer knows of a const or volatile that the other does not."""
    if not (isinstance(source, Pointer) and isinstance(to, Pointer)):
        return False
    return source.const > to.const or source.volatile > to.volatile


def implicit(value: Value, to: Type) -> tree.Expression | None:
    """The value in the type `to` where C++ converts without a cast, else None."""
    node = rvalue(value)
    source = node.type
    if isinstance(source, Group):
        return groups.converted(node, to)
    if isinstance(to, Enum) or is_scoped(source):
        return node if source == to else None
    if source != to and source in NARROW and (to in NARROW or value.volatile):
        return None  # one of the other: by a cast; a volatile one is only copied
    if isinstance(to, Scalar) and isinstance(source, Scalar) and not (value.null and value.name == "nullptr"):
        return number(node, to)
    if isinstance(to, Pointer):
        if value.null:
            return null_pointer(node.at, to)
        if isinstance(source, Pointer) and points_alike(source, to):
            return node if source == to else tree.Reinterpret(node.at, to, node)
        return None
    if to == BOOL and isinstance(source, Pointer) and value.name != "nullptr":
        return tree.Convert(node.at, BOOL, node)
    if to == DIM3 and isinstance(source, Scalar):
        x = number(node, UINT)
        return tree.MakeRecord(node.at, DIM3, [x, *(tree.Literal(node.at, UINT, 1) for _ in "yz")])
    if {source, to} == {DIM3, VECTORS["uint3"]}:
        return _same_parts(node, to)
    return node if source == to and not isinstance(to, Void) else None


def _same_parts(node: tree.Expression, to: Type) -> tree.Expression:
    """A uint3 as a dim3, or the other way round."""
    if isinstance(node, tree.MakeRecord):
        return tree.MakeRecord(node.at, to, node.parts)
    return tree.MakeRecord(node.at, to, [tree.Member(node.at, UINT, node, axis) for axis in "xyz"])


def quality(value: Value, to: Type, reference: str = "") -> int | None:
    """How well an argument fits a parameter: 0 exactly, 1 by const or volatile, 2 by promotion, 3 to 5 by
    conversion, None never."""
    if reference == "plain" and isinstance(to, Group) and isinstance(value.type, Group):
        base = value.type == to or (to == groups.ANY and value.type.parent is None)
        return 0 if base and value.place is not None and not value.const else None
    if reference == "plain":
        return 0 if value.place is not None and value.type == to and not value.const else None
    if reference == "const" and value.place is not None and value.type == to:
        return 0
    if value.function is not None or implicit(value, to) is None:
        return None
    source = rvalue(value).type
    if source == to:
        return 0
    if isinstance(source, Pointer) and isinstance(to, Pointer) and source.to == to.to:
        return 1
    if isinstance(source, Scalar) and isinstance(to, Scalar):
        if source in NARROW or to in NARROW:  # by a constructor, or an operator of the class
            return 5
        return 2 if (promoted(source) == to and source != to) or (source, to) == (FLOAT, DOUBLE) else 3
    return 4 if isinstance(source, Pointer) and to == BOOL else 3


def as_bool(value: Value, at: At) -> tree.Expression:
    """The condition of an if, of a loop, of ! && || ?:"""
    if value.function is not None:
        hint = "call it: write () behind its name"
        raise unsupported(at, f"the function '{value.name}' is used as a condition", hint)
    node = rvalue(value)
    if node.type == BOOL:
        return node
    if isinstance(node.type, Scalar) and not is_scoped(node.type) and not only_copied(value):
        return number(node, BOOL) if isinstance(node, tree.Literal) else tree.Convert(node.at, BOOL, node)
    if isinstance(node.type, Pointer):
        return tree.Convert(node.at, BOOL, node)
    raise Fault(
        at, "expression must have bool type (or be convertible to bool)", f"its type is '{node.type}'"
    )


# ------------------------------------------------------------------------------------------------------ casts


def cast(value: Value, to: Type, style: str, at: At) -> tree.Expression:
    """(T)x, T(x), static_cast<T>(x), reinterpret_cast<T>(x), const_cast<T>(x)."""
    if isinstance(to, Void) and style in ("c", "call", "static"):
        return tree.Convert(at, VOID, rvalue(value)) if value.type != VOID else rvalue(value)
    node = rvalue(value)
    result = _cast(value, node, to, style)
    if result is None:
        words = {"reinterpret": "reinterpret_cast", "static": "static_cast", "const": "const_cast"}
        if loses_qualifier(node.type, to) and style in ("static", "reinterpret"):
            assert isinstance(node.type, Pointer) and isinstance(to, Pointer)
            kept = Pointer(to.to, to.const or node.type.const, to.volatile or node.type.volatile)
            away = "const" if node.type.const > to.const else "volatile"
            raise Fault(at, f"{words[style]} cannot cast away {away}", f"cast to '{kept}'")
        name = words.get(style, "a cast")
        raise Fault(
            at, f"invalid type conversion: {name} from '{node.type}' to '{to}'", _cast_hint(node.type, to)
        )
    result.at = at
    return result


def _cast_hint(source: Type, to: Type) -> str:
    if isinstance(source, Record) or isinstance(to, Record):
        return "structs are not converted; take the members, or cast a pointer to them"
    if isinstance(source, Pointer) and isinstance(to, Pointer):
        return "between pointers to different types, use reinterpret_cast"
    if isinstance(source, Pointer):
        return "write * or [...] to read what the pointer points to"
    return ""


def _cast(value: Value, node: tree.Expression, to: Type, style: str) -> tree.Expression | None:
    source = node.type
    if style == "const":
        same = isinstance(source, Pointer) and isinstance(to, Pointer) and source.to == to.to
        return tree.Reinterpret(node.at, to, node) if same else None
    if style == "reinterpret":
        if isinstance(source, Scalar):
            if source == to and source.is_integer:
                return tree.Convert(node.at, to, node)
            return _pointer_from(node, to)
        return None if loses_qualifier(source, to) else _of_pointer(node, to)
    if source in NARROW and to in NARROW and style != "reinterpret":
        return tree.Convert(node.at, to, node)
    if isinstance(source, Scalar) and isinstance(to, Scalar) and Enum in (type(source), type(to)):
        return tree.Convert(node.at, to, node)
    known = implicit(value, to)
    if known is not None:
        return (
            known
            if known is not node
            else tree.Convert(node.at, to, node)
            if isinstance(to, Scalar)
            else node
        )
    if style == "static":
        from_void = isinstance(source, Pointer) and isinstance(source.to, Void) and isinstance(to, Pointer)
        return tree.Reinterpret(node.at, to, node) if from_void and not loses_qualifier(source, to) else None
    return _pointer_from(node, to) if isinstance(source, Scalar) else _of_pointer(node, to)


def _pointer_from(node: tree.Expression, to: Type) -> tree.Expression | None:
    if not (isinstance(to, Pointer) and isinstance(node.type, Scalar) and node.type.is_integer):
        return None
    return tree.Reinterpret(node.at, to, number(node, ULLONG))


def _of_pointer(node: tree.Expression, to: Type) -> tree.Expression | None:
    if not isinstance(node.type, Pointer):
        return None
    if isinstance(to, Pointer):
        return tree.Reinterpret(node.at, to, node)
    if isinstance(to, Scalar) and to.is_integer:
        if to.size < 8:
            raise unsupported(node.at, f"a pointer as '{to}'", "use unsigned long long")
        return number(tree.Reinterpret(node.at, ULLONG, node), to)
    return None


def index_value(value: Value, at: At) -> tree.Expression:
    """An index: any integer."""
    node = rvalue(value)
    if node.type in NARROW:
        raise unsupported(at, f"a {node.type} as an index", "convert it: (int)x")
    if isinstance(node.type, Scalar) and node.type.is_integer and not is_scoped(node.type):
        return number(node, promoted(node.type))
    hint = "convert it: (int)x" if isinstance(node.type, Scalar) else ""
    message = f"expression must have integral type, and it has type '{node.type}'"
    raise Fault(at, message, hint)


def known(value: Value) -> bool | int | float | None:
    if value.function is not None or (value.place is None and value.expression is None):
        return None
    return fold(rvalue(value))


def has_call(node: object) -> bool:
    """Whether a function is called in an expression."""
    if isinstance(node, tree.Call):
        return True
    if isinstance(node, list):
        return any(has_call(part) for part in node)
    if isinstance(node, tree.Expression | tree.Place):
        return any(has_call(part) for part in vars(node).values())
    return False


def has_effect(node: object) -> bool:
    """Whether an expression or a place changes something when it is worked out."""
    if isinstance(node, tree.Call | tree.Assign | tree.Increment | tree.Intrinsic):
        return True
    if isinstance(node, list):
        return any(has_effect(part) for part in node)
    if isinstance(node, tree.Expression | tree.Place):
        return any(has_effect(part) for part in vars(node).values())
    return False


def type_hint(source: Type, to: Type) -> str:
    """What a beginner may have meant where `source` does not become `to`."""
    if isinstance(source, Void):
        return "the function returns nothing"
    if isinstance(source, Pointer) and isinstance(to, Pointer):
        if source.to == to.to and source.volatile > to.volatile:
            return f"it points to something volatile; where that does not matter, cast it: ({to})"
        if source.to == to.to:
            return "it points to something const; declare the other const as well"
        return f"reinterpret_cast<{to}>(...) if the same bytes are meant"
    if isinstance(source, Pointer) and source.to == to:
        return "write * or [...] to read what the pointer points to"
    if isinstance(to, Pointer) and to.to == source:
        return "write & before it to take its address"
    if isinstance(to, Record) and to.vector:
        return f"make_{to.name}(...) makes one"
    return ""
