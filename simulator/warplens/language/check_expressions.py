"""Expressions: which conversions happen, and what type the result has."""

from __future__ import annotations

from warplens.errors import Fault, unsupported
from warplens.language import bfloat, syntax, tree
from warplens.language.check_context import Context
from warplens.language.check_conversions import condition_of, plain_operand, truth_of
from warplens.language.check_initializers import braces_value, check_make
from warplens.language.check_instances import function_instance
from warplens.language.check_types import Written, explicit_only, named_type
from warplens.language.check_user_calls import call_member_operator, call_operator
from warplens.language.class_members import own_assignment
from warplens.language.conversion import (
    Value,
    address,
    as_bool,
    cast,
    index_value,
    loses_qualifier,
    number,
    only_copied,
    rvalue,
)
from warplens.language.function_pointers import pointer_to, target_of
from warplens.language.operators import (
    arithmetic,
    as_pointer,
    assigned,
    binary,
    composite,
    compound,
    dereferenced,
    modifiable,
    no_volatile_class,
)
from warplens.language.syntax import first_at
from warplens.language.types import (
    BFLOAT2,
    BOOL,
    INT,
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
    Void,
    common,
    is_scoped,
    promoted,
)


def check_number(context: Context, node: syntax.Number) -> Value:
    null = node.value == 0 and node.type.is_integer and node.type != BOOL
    return Value(tree.Literal(node.at, node.type, node.value), null=null)


def check_null(context: Context, node: syntax.Null) -> Value:
    pointer = tree.Reinterpret(node.at, Pointer(VOID), tree.Literal(node.at, ULONG, 0))
    return Value(pointer, null=True, name="nullptr")


def check_text(context: Context, node: syntax.Text) -> Value:
    raise unsupported(node.at, "strings", "only printf and assert take them, as they are written")


def check_braces(context: Context, node: syntax.Braces) -> Value:
    raise Fault(node.at, "expected an expression", "braces stand only where a variable gets its first value")


def check_typename(context: Context, node: syntax.TypeName) -> Value:
    raise Fault(node.at, "type name is not allowed", "a value is expected here")


# ------------------------------------------------------------------------------------------------ operators


def check_prefix(context: Context, node: syntax.Prefix) -> Value:
    op, at = node.op, node.at
    if op in ("++", "--"):
        return check_increment(context, node)
    if op == "&":
        return _address_of(context, node)
    if op in ("!", "-", "+", "~", "*") and not isinstance(node.operand, syntax.Text):
        value = context.value(node.operand)
        if own := call_operator(context, op, [value], [node.operand], at):
            return own
        value = truth_of(context, value, at) if op == "!" else plain_operand(context, value, at)
        no_volatile_class(op, value, at)
        if op == "*" and value.function is None and target_of(value.type) is not None:
            return value
        if op == "!":
            return Value(tree.Unary(at, BOOL, "!", as_bool(value, first_at(node.operand))))
        operand = rvalue(
            function_pointer(context, value, node.operand) if value.function is not None else value
        )
    elif op == "!":
        return Value(tree.Unary(at, BOOL, "!", condition_of(context, node.operand)))
    else:
        operand = context.rvalue(node.operand)
    if op == "*":
        return dereferenced(operand, at)
    if op == "+" and isinstance(operand.type, Pointer):
        return Value(operand)
    if operand.type in NARROW and op in ("+", "-"):
        return Value(operand if op == "+" else tree.Unary(at, operand.type, op, operand))
    if operand.type in PAIRS and op in ("+", "-"):
        name = f"__hneg2{bfloat.MARK if operand.type == BFLOAT2 else ''}"
        return Value(operand if op == "+" else tree.Intrinsic(at, operand.type, name, [operand]))
    type_ = promoted(arithmetic(operand, at, op))
    if op == "~" and not type_.is_integer:
        raise Fault(at, f"expression must have integral type, and it has type '{type_}'")
    operand = number(operand, type_)
    return Value(operand if op == "+" else tree.Unary(at, type_, op, operand))


def _address_of(context: Context, node: syntax.Prefix) -> Value:
    value = context.value(node.operand)
    if value.function is not None:
        return function_pointer(context, value, node.operand)
    if isinstance(value.type, Group):
        raise unsupported(node.at, "pointers to groups")
    if value.place is None:
        if value.lost or value.special:
            raise unsupported(
                node.at, f"the address of {value.special or 'the result of an assignment or of ?:'}"
            )
        raise Fault(
            node.at,
            "expression must be an lvalue or a function designator",
            "only what is stored has an address",
        )
    return Value(address(value, node.at))


def function_pointer(context: Context, value: Value, node: syntax.Node) -> Value:
    """A function that is not called: a pointer to it."""
    assert value.function is not None
    found = value.function
    explicit = node.arguments if isinstance(node, syntax.Name) else None
    if explicit is not None and len(found.templates) == 1:
        template = found.templates[0]
        bindings = explicit_only(context, template.definition, explicit, template.scope)
        if bindings is not None:
            made = function_instance(context.file, template, bindings, node.at)
            return pointer_to(made, node.at)
    if len(found.functions) != 1 or found.templates or found.owner is not None or explicit is not None:
        hint = "call it: write () behind its name"
        raise unsupported(node.at, f"the function '{value.name}' is used as a value", hint)
    return pointer_to(found.functions[0], node.at)


def check_increment(context: Context, node: syntax.Prefix | syntax.Postfix) -> Value:
    postfix = isinstance(node, syntax.Postfix)
    value = context.operand(node.operand)
    extra = [Value(tree.Literal(node.at, INT, 0))] if postfix else []
    own = call_operator(context, node.op, [value, *extra], [node.operand] * (1 + postfix), node.at)
    if own is not None:
        return own
    place = modifiable(value, first_at(node.operand))
    no_volatile_class(node.op, value, node.at)
    if place.type == BOOL:
        raise Fault(node.at, f"'{node.op}' of a bool is not allowed")
    if place.type in PAIRS:
        raise unsupported(node.at, f"'{node.op}' of a {place.type}")
    counts = isinstance(place.type, Scalar | Pointer) and not isinstance(place.type, Enum)
    if not counts or place.type == Pointer(VOID):
        raise Fault(node.at, f"no operator '{node.op}' matches an operand of type '{place.type}'")
    step = 1 if node.op == "++" else -1
    return Value(tree.Increment(node.at, place.type, place, step, postfix), lost=not postfix)


def check_infix(context: Context, node: syntax.Infix) -> Value:
    op, at = node.op, node.at
    if op == ",":
        first, value = context.rvalue(node.left), context.operand(node.right)
        second = rvalue(value)
        return Value(tree.Comma(at, second.type, first, second), lost=value.place is not None)
    if op in ("&&", "||"):
        return Value(
            tree.Logical(at, BOOL, op, condition_of(context, node.left), condition_of(context, node.right))
        )
    left, right = context.operand(node.left), context.operand(node.right)
    own = call_operator(context, op, [left, right], [node.left, node.right], at)
    return own or binary(op, plain_operand(context, left, at), plain_operand(context, right, at), at)


def check_ternary(context: Context, node: syntax.Ternary) -> Value:
    test = condition_of(context, node.test)
    yes, no = context.operand(node.yes), context.operand(node.no)
    a, b = rvalue(yes), rvalue(no)
    if target_of(a.type) is not None and target_of(b.type) is not None and a.type != b.type:
        raise unsupported(node.at, "a choice between functions", "choose with if, and call each by its name")
    if (only_copied(yes) or only_copied(no)) and (yes.place is None or no.place is None):
        message = f'class "{a.type}" has no suitable copy constructor: one of these is volatile'
        raise Fault(node.at, message, f"copy it first: {a.type}(x)")
    lost = yes.place is not None and no.place is not None and a.type == b.type
    if a.type == b.type:
        null = yes.null and no.null
        return Value(
            tree.Conditional(node.at, a.type, test, a, b), lost=lost, null=null and yes.name == "nullptr"
        )
    if isinstance(a.type, Scalar) and isinstance(b.type, Scalar):
        if a.type in NARROW or b.type in NARROW:
            hint = "convert both to one type: (float)x"
            raise unsupported(node.at, f"?: of '{a.type}' and '{b.type}'", hint)
        if is_scoped(a.type) or is_scoped(b.type):
            raise Fault(node.at, f"operand types are incompatible ('{a.type}' and '{b.type}')")
        type_ = common(a.type, b.type)
        return Value(tree.Conditional(node.at, type_, test, number(a, type_), number(b, type_)))
    pointer = composite(yes, no)
    if pointer is None:
        raise Fault(
            node.at,
            f"operand types are incompatible ('{a.type}' and '{b.type}')",
            "both arms of ?: need one type",
        )
    left, right = as_pointer(yes, pointer), as_pointer(no, pointer)
    return Value(tree.Conditional(node.at, pointer, test, left, right))


# --------------------------------------------------------------------------------- assignments and elements


def check_assignment(context: Context, node: syntax.Assignment) -> Value:
    value = context.operand(node.left)
    at = node.at
    if node.op and not isinstance(node.right, syntax.Braces):
        right = context.operand(node.right)
        own = call_operator(context, f"{node.op}=", [value, right], [node.left, node.right], at)
        if own is not None:
            return own
        right = plain_operand(context, right, at)
        return Value(compound(node.op, modifiable(value, first_at(node.left)), right, at), lost=True)
    if isinstance(value.type, Record) and not isinstance(node.right, syntax.Braces):
        given = context.operand(node.right)
        if own := call_operator(context, "=", [value, given], [node.left, node.right], at):
            return own
        if any(own_assignment(field.type) for field in value.type.fields):
            raise unsupported(at, "copying an object with a member that has an operator = of its own")
    place = modifiable(value, first_at(node.left))
    if isinstance(node.right, syntax.Braces):
        if node.op:
            raise Fault(node.right.at, "expected an expression")
        return Value(
            tree.Assign(at, place.type, place, braces_value(context, node.right, place.type)),
            lost=True,
        )
    right = context.operand(node.right)
    changed = context.converted(right, place.type, at) if place.type not in NARROW else None
    return Value(
        tree.Assign(at, place.type, place, changed or assigned(right, place.type, at, place.volatile)),
        lost=True,
    )


def check_index(context: Context, node: syntax.Index) -> Value:
    base, index = context.operand(node.base), context.operand(node.index)
    written = syntax.CallOf(node.at, syntax.Name(node.at, "operator[]"), [node.index])
    if own := call_member_operator(context, "[]", base, [index], written):
        return own
    base, index = plain_operand(context, base, node.at), plain_operand(context, index, node.at)
    a, b = rvalue(base), rvalue(index)
    if not isinstance(a.type, Pointer) and isinstance(b.type, Pointer):
        a, index = b, base
    if not isinstance(a.type, Pointer):
        hint = "only arrays and pointers have elements"
        if isinstance(a.type, Record):
            hint = "its members are " + ", ".join("." + field.name for field in a.type.fields)
            raise Fault(node.at, f"no operator '[]' matches an operand of type '{a.type}'", hint)
        raise Fault(
            first_at(node.base),
            f"expression must have pointer-to-object type, and it has type '{a.type}'",
            hint,
        )
    if isinstance(a.type.to, Void):
        raise Fault(node.at, "a pointer to void has no elements", "cast it to a pointer to what it holds")
    pointer = tree.PointerAdd(node.at, a.type, a, index_value(index, node.index.at))
    value = dereferenced(pointer, node.at)
    value.name = base.name
    return value


# -------------------------------------------------------------------------------------------- casts, sizeof


def check_cast(context: Context, node: syntax.Cast) -> Value:
    written = named_type(context, node.type)
    if isinstance(node.operand, syntax.Braces):
        raise Fault(node.operand.at, "expected an expression")
    value = context.operand(node.operand)
    if written.auto:
        raise Fault(node.at, "'auto' is not allowed here")
    if written.reference:
        return _cast_reference(value, written, node)
    if isinstance(written.type, Record) and written.type.members is not None and value.type != written.type:
        return check_make(context, syntax.Make(node.at, node.type, [node.operand], False))
    if isinstance(value.type, Record) and not isinstance(written.type, Void):
        changed = context.converted(value, written.type, node.at)
        value = Value(changed) if changed is not None else plain_operand(context, value, node.at)
    if isinstance(written.type, Array):
        raise Fault(node.at, f"invalid type conversion to the array type '{written.type}'")
    return Value(cast(value, written.type, node.style, node.at))


def _cast_reference(value: Value, written: Written, node: syntax.Cast) -> Value:
    to, kind = written.type, Pointer(written.type, written.const, written.volatile)
    if value.place is None:
        raise Fault(
            node.at, "expression must be an lvalue", "only what is stored can be seen as another type"
        )
    if node.style in ("static", "call", "const") and value.type != to:
        raise Fault(node.at, f"invalid type conversion from '{value.type}' to '{to} &'")
    pointer = address(value, node.at)
    if loses_qualifier(pointer.type, kind) and node.style in ("static", "reinterpret"):
        away = "const" if value.const > kind.const else "volatile"
        raise Fault(node.at, f"{node.style}_cast cannot cast away {away}")
    place = tree.Deref(node.at, to, tree.Reinterpret(node.at, kind, pointer))
    return Value(place=place, const=kind.const)


def check_sizeof(context: Context, node: syntax.SizeOf) -> Value:
    if isinstance(node.what, syntax.TypeName):
        type_ = named_type(context, node.what).type
    else:
        value = context.operand(node.what)
        type_ = value.type
    if isinstance(type_, Void) or (isinstance(type_, Array) and type_.length is None):
        raise Fault(node.at, "incomplete type is not allowed", f"'{type_}' has no size")
    return Value(tree.Literal(node.at, ULONG, type_.align if node.align else type_.size))
