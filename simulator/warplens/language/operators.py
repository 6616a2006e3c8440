"""Operators on values that have been checked: which types they take, what they give."""

from __future__ import annotations

from warplens.errors import At, Fault, unsupported
from warplens.language import bfloat, half, tree
from warplens.language.conversion import (
    Value,
    has_effect,
    implicit,
    index_value,
    number,
    only_copied,
    points_alike,
    rvalue,
    type_hint,
)
from warplens.language.function_pointers import target_of
from warplens.language.types import (
    BFLOAT2,
    BOOL,
    LONG,
    NARROW,
    PAIRS,
    ULONG,
    VOID,
    Array,
    Enum,
    Group,
    Pointer,
    Record,
    Scalar,
    Type,
    Void,
    common,
    is_scoped,
    promoted,
)

COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")


def arithmetic(node: tree.Expression, at: At, op: str) -> Scalar:
    """The type of an operand that is a number; raises Fault for all else."""
    if node.type in NARROW:
        raise half.arithmetic(at)
    if is_scoped(node.type):
        raise Fault(at, f"no operator '{op}' matches an operand of type '{node.type}'", "cast it: (int)x")
    if isinstance(node.type, Scalar):
        return node.type
    if target_of(node.type) is not None:
        raise unsupported(at, f"'{op}' of pointers to functions")
    if isinstance(node.type, Record):
        hint = "CUDA has no arithmetic on vectors; compute with each member: a.x, a.y, ..."
        raise Fault(at, f"no operator '{op}' matches an operand of type '{node.type}'", hint)
    hint = "write * or [...] to use what the pointer points to" if isinstance(node.type, Pointer) else ""
    raise Fault(at, f"expression must have arithmetic type, and it has type '{node.type}'", hint)


def root(place: tree.Place) -> str:
    """The storage of the variable that an element or a member belongs to."""
    node: object = place
    while not isinstance(node, tree.VariablePlace):
        if isinstance(node, tree.MemberPlace):
            node = node.record
        elif isinstance(node, tree.Deref | tree.PointerAdd):
            node = node.pointer
        elif isinstance(node, tree.Decay):
            node = node.place
        else:
            return ""
    return node.variable.storage


def dereferenced(pointer: tree.Expression, at: At) -> Value:
    """What a pointer points to, as a place."""
    if not isinstance(pointer.type, Pointer):
        message = f"operand of '*' must be a pointer, and it has type '{pointer.type}'"
        raise Fault(at, message)
    if isinstance(pointer.type.to, Void):
        raise Fault(
            at, "a pointer to void cannot be read or written", "cast it to a pointer to what it holds"
        )
    return Value(place=tree.Deref(at, pointer.type.to, pointer), const=pointer.type.const)


def modifiable(value: Value, at: At) -> tree.Place:
    """The place of a value that may be changed."""
    if value.place is None:
        if value.lost:
            raise unsupported(at, "changing the result of an assignment or of ?:")
        if not value.special and (value.type in NARROW or isinstance(value.type, Record)):
            raise unsupported(at, "changing a value that is not stored")  # C++ allows it of classes
        name = (
            f"'{value.name}' cannot be changed"
            if value.special or value.name
            else "a value that is not stored"
        )
        raise Fault(at, "expression must be a modifiable lvalue", name)
    if value.const:
        hint = f"'{value.name}' is const" if value.name else "it is const: it can only be read"
        raise Fault(at, "expression must be a modifiable lvalue", hint)
    if root(value.place) == "constant":
        raise unsupported(at, "writing to __constant__ memory in a kernel", "the host fills it")
    if isinstance(value.place.type, Array):
        raise Fault(at, "expression must be a modifiable lvalue", "an array is changed element by element")
    if isinstance(value.place.type, Group):
        raise unsupported(at, "a group that is changed", "declare another one")
    if isinstance(value.place.type, Record) and value.place.type.name.startswith("<lambda"):
        raise Fault(at, "a lambda cannot be changed: its operator= is a deleted function")
    if value.volatile and isinstance(value.place.type, Record):
        message = f"no operator \"=\" matches these operands: this '{value.type}' is volatile"
        raise Fault(at, message, "write its members one by one")
    return value.place


def no_volatile_class(op: str, value: Value, at: At) -> None:
    """Raise where an operator gets a volatile half, which its class has none for."""
    if only_copied(value):
        message = f"no operator '{op}' matches these operands: this '{value.type}' is volatile"
        raise Fault(at, message, f"copy it first: {value.type}(x)")


def binary(op: str, left: Value, right: Value, at: At) -> Value:
    """`left op right`, for all operators but `,` `&&` and `||`."""
    no_volatile_class(op, left, at)
    no_volatile_class(op, right, at)
    a, b = rvalue(left), rvalue(right)
    if isinstance(a.type, Pointer) or isinstance(b.type, Pointer):
        if op in COMPARISONS:
            return Value(_compare_pointers(op, left, right, at))
        if op in ("+", "-"):
            return Value(_pointer_arithmetic(op, a, b, at))
    if op in COMPARISONS and isinstance(a.type, Enum) and a.type == b.type:
        base = a.type.base
        return Value(tree.Binary(at, BOOL, op, number(a, base), number(b, base)))
    if a.type == b.type and a.type in NARROW and op in ("+", "-", "*", "/", *COMPARISONS):
        return Value(tree.Binary(at, BOOL if op in COMPARISONS else a.type, op, a, b))
    if a.type == b.type and a.type in PAIRS and op in COMPARISONS:
        raise unsupported(at, f"a comparison of two {a.type}", "compare their parts: a.x < b.x")
    if a.type == b.type and a.type in PAIRS and op in half.OPERATORS:
        return Value(tree.Intrinsic(at, a.type, _of_pairs(op, a.type), [a, b]))
    x, y = arithmetic(a, at, op), arithmetic(b, at, op)
    if op in ("<<", ">>"):
        _integers(op, x, y, at)
        return Value(tree.Binary(at, promoted(x), op, number(a, promoted(x)), number(b, promoted(y))))
    if op in ("%", "&", "|", "^"):
        _integers(op, x, y, at)
    type_ = common(x, y)
    result: Type = BOOL if op in COMPARISONS else type_
    return Value(tree.Binary(at, result, op, number(a, type_), number(b, type_)))


def _of_pairs(op: str, kind: Type) -> str:
    """The function that works out an operator of two half2 or two __nv_bfloat162."""
    return half.OPERATORS[op] + (bfloat.MARK if kind == BFLOAT2 else "")


def _integers(op: str, x: Scalar, y: Scalar, at: At) -> None:
    for type_ in (x, y):
        if not type_.is_integer:
            hint = "use fmodf(x, y) for the remainder of floats" if op == "%" else ""
            message = f"expression must have integral type, and an operand of '{op}' has type '{type_}'"
            raise Fault(at, message, hint)


def _compare_pointers(op: str, left: Value, right: Value, at: At) -> tree.Expression:
    a, b = rvalue(left), rvalue(right)
    if op not in ("==", "!=") and (left.null or right.null):
        raise unsupported(at, f"a pointer compared with 0 by '{op}'", "compare with == or !=")
    type_ = composite(left, right)
    if type_ is None:
        hint = "write * or [...] to compare what a pointer points to"
        raise Fault(at, f"operand types are incompatible ('{a.type}' and '{b.type}')", hint)
    return tree.Binary(at, BOOL, op, as_pointer(left, type_), as_pointer(right, type_))


def as_pointer(value: Value, type_: Pointer) -> tree.Expression:
    """A pointer, or 0, as a pointer of a type that `composite` gave."""
    result = implicit(value, type_)
    assert result is not None
    return result


def composite(left: Value, right: Value) -> Pointer | None:
    """The type that both pointers become, or a pointer and 0."""
    a, b = rvalue(left).type, rvalue(right).type
    if left.null and right.null:
        return Pointer(VOID)
    if left.null or right.null:
        other = b if left.null else a
        return other if isinstance(other, Pointer) else None
    if not (isinstance(a, Pointer) and isinstance(b, Pointer)):
        return None
    const, volatile = a.const or b.const, a.volatile or b.volatile
    for to in (Pointer(a.to, const, volatile), Pointer(b.to, const, volatile)):
        if points_alike(a, to) and points_alike(b, to):
            return to
    return None


def _pointer_arithmetic(op: str, a: tree.Expression, b: tree.Expression, at: At) -> tree.Expression:
    if isinstance(a.type, Pointer) and isinstance(b.type, Pointer):
        if op == "-" and a.type.to == b.type.to and not isinstance(a.type.to, Void):
            return tree.PointerDifference(at, LONG, a, b)
        if op == "-":
            raise Fault(at, f"operand types are incompatible ('{a.type}' and '{b.type}')")
        raise Fault(at, "two pointers cannot be added", "a pointer and a number can")
    if isinstance(b.type, Pointer):
        if op == "-":
            raise Fault(at, f"expression must have arithmetic type, and it has type '{b.type}'")
        a, b = b, a
    assert isinstance(a.type, Pointer)
    if isinstance(a.type.to, Void):
        raise Fault(
            at, "arithmetic with a pointer to void is not allowed", "cast it to a pointer to what it holds"
        )
    return tree.PointerAdd(at, a.type, a, index_value(Value(b), b.at), op == "-")


def assigned(value: Value, to: Type, at: At, volatile: bool = False) -> tree.Expression:
    """A value in the type of what it is assigned to."""
    result = implicit(value, to)
    if volatile and to in NARROW and rvalue(value).type != to:
        message = f"no operator '=' matches these operands: this '{to}' is volatile"
        raise Fault(at, message, f"convert it: {to}(x)")
    if result is not None and to in NARROW and rvalue(value).type in (LONG, ULONG):
        message = f"more than one operator '=' matches: {to} is not made of a long"
        raise Fault(at, message, "convert it: (float)n")
    if result is None:
        source = rvalue(value).type
        message = f"a value of type '{source}' cannot be assigned to an entity of type '{to}'"
        raise Fault(at, message, type_hint(source, to))
    return result


def compound(op: str, place: tree.Place, right: Value, at: At) -> tree.Expression:
    """`place op= right`."""
    no_volatile_class(f"{op}=", Value(place=place), at)
    no_volatile_class(f"{op}=", right, at)
    type_ = place.type
    if isinstance(type_, Pointer):
        if op not in ("+", "-") or isinstance(type_.to, Void):
            raise Fault(at, f"'{op}=' of a pointer of type '{type_}' is not allowed")
        return tree.Assign(at, type_, place, index_value(right, at), op, type_)
    if isinstance(type_, Enum):
        message = f"a value of type 'int' cannot be assigned to an entity of type '{type_}'"
        raise Fault(at, message, "compute with an int, and cast the result to the enum")
    left = tree.Load(at, type_, place)
    if type_ in PAIRS and rvalue(right).type == type_ and op in half.OPERATORS:
        return _compound_pair(op, place, left, right, at)
    if type_ in NARROW and (made := implicit(right, type_)) is not None:
        right = Value(made)
    result = binary(op, Value(left), right, at).expression
    if not isinstance(result, tree.Binary):
        source = result.type if result else type_
        raise Fault(at, f"a value of type '{source}' cannot be assigned to an entity of type '{type_}'")
    return tree.Assign(at, type_, place, result.right, op, result.type)


def _compound_pair(
    op: str, place: tree.Place, left: tree.Expression, right: Value, at: At
) -> tree.Expression:
    """`place op= right` of two half2 or __nv_bfloat162: the place is read, and then written."""
    if has_effect(place):
        raise unsupported(
            at, f"'{op}=' of a {place.type} whose place changes something", "write it in two statements"
        )
    result = tree.Intrinsic(at, place.type, _of_pairs(op, place.type), [left, rvalue(right)])
    return tree.Assign(at, place.type, place, result)
