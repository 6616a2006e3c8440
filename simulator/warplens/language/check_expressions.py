"""Expressions: which conversions happen, and what type the result has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from warplens.errors import At, Fault, unsupported
from warplens.language import bfloat, syntax, tree
from warplens.language.check_calls import CallChecker
from warplens.language.check_context import Context
from warplens.language.check_hints import first_at
from warplens.language.check_initials import InitialChecker
from warplens.language.check_lambdas import LambdaChecker
from warplens.language.check_members import MemberChecker
from warplens.language.check_names import NameChecker
from warplens.language.check_objects import ObjectChecker, own_assignment
from warplens.language.check_pointers import target_of
from warplens.language.check_types import TypeChecker, Written
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


class ExpressionChecker:
    """Holds those that check what stands in expressions: types, calls, and values in braces."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.types = TypeChecker(context, self)
        self.calls = CallChecker(context, self)
        self.initials = InitialChecker(self)
        self.objects = ObjectChecker(context, self)
        self.members = MemberChecker(context, self)
        self.lambdas = LambdaChecker(context, self)
        self.names = NameChecker(context, self)
        self._by_node: dict[type[syntax.Node], Callable[[Any], Value]] = {
            syntax.Number: self._number,
            syntax.Null: self._null,
            syntax.Text: self._text,
            syntax.Braces: self._braces,
            syntax.TypeName: self._typename,
            syntax.Name: self.names.value,
            syntax.Prefix: self._prefix,
            syntax.Postfix: self._postfix,
            syntax.Infix: self._infix,
            syntax.Ternary: self._ternary,
            syntax.Assignment: self._assignment,
            syntax.Index: self._index,
            syntax.Dot: self.members.dot,
            syntax.Cast: self._cast,
            syntax.Make: self.initials.make,
            syntax.CallOf: self.calls.call,
            syntax.SizeOf: self._sizeof,
            syntax.This: self.members.this,
            syntax.Lambda: self.lambdas.value,
        }

    # ------------------------------------------------------------------------------------------- all of them

    def value(self, node: syntax.Node) -> Value:
        method = self._by_node.get(type(node))
        if method is None:
            raise Fault(node.at, "expected an expression")
        return method(node)

    def rvalue(self, node: syntax.Node) -> tree.Expression:
        return rvalue(self.operand(node))

    def no_function(self, value: Value, at: At) -> None:
        if value.function is not None:
            hint = "call it: write () behind its name"
            raise unsupported(at, f"the function '{value.name}' is used as a value", hint)

    def operand(self, node: syntax.Node) -> Value:
        value = self.value(node)
        if value.function is not None:
            return self.members.pointer_to(value, node)
        return value

    def condition(self, node: syntax.Node) -> tree.Expression:
        if isinstance(node, syntax.Text):  # assert(i < n && "a message")
            return tree.Literal(node.at, BOOL, True)
        return as_bool(self.objects.truth(self.value(node), node.at), first_at(node))

    # ------------------------------------------------------------------------------------------------ atoms

    def _number(self, node: syntax.Number) -> Value:
        null = node.value == 0 and node.type.is_integer and node.type != BOOL
        return Value(tree.Literal(node.at, node.type, node.value), null=null)

    def _null(self, node: syntax.Null) -> Value:
        pointer = tree.Reinterpret(node.at, Pointer(VOID), tree.Literal(node.at, ULONG, 0))
        return Value(pointer, null=True, name="nullptr")

    def _text(self, node: syntax.Text) -> Value:
        raise unsupported(node.at, "strings", "only printf and assert take them, as they are written")

    def _braces(self, node: syntax.Braces) -> Value:
        raise Fault(
            node.at, "expected an expression", "braces stand only where a variable gets its first value"
        )

    def _typename(self, node: syntax.TypeName) -> Value:
        raise Fault(node.at, "type name is not allowed", "a value is expected here")

    # --------------------------------------------------------------------------------------------- operators

    def _prefix(self, node: syntax.Prefix) -> Value:
        op, at = node.op, node.at
        if op in ("++", "--"):
            return self._increment(node, False)
        if op == "&":
            return self._address_of(node)
        if op in ("!", "-", "+", "~", "*") and not isinstance(node.operand, syntax.Text):
            value = self.value(node.operand)
            if own := self.calls.operator(op, [value], [node.operand], at):
                return own
            value = self.objects.truth(value, at) if op == "!" else self.objects.plain(value, at)
            no_volatile_class(op, value, at)
            if op == "*" and value.function is None and target_of(value.type) is not None:
                return value
            if op == "!":
                return Value(tree.Unary(at, BOOL, "!", as_bool(value, first_at(node.operand))))
            operand = rvalue(
                self.members.pointer_to(value, node.operand) if value.function is not None else value
            )
        elif op == "!":
            return Value(tree.Unary(at, BOOL, "!", self.condition(node.operand)))
        else:
            operand = self.rvalue(node.operand)
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

    def _address_of(self, node: syntax.Prefix) -> Value:
        value = self.value(node.operand)
        if value.function is not None:
            return self.members.pointer_to(value, node.operand)
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

    def _postfix(self, node: syntax.Postfix) -> Value:
        return self._increment(node, True)

    def _increment(self, node: syntax.Prefix | syntax.Postfix, postfix: bool) -> Value:
        value = self.operand(node.operand)
        extra = [Value(tree.Literal(node.at, INT, 0))] if postfix else []
        own = self.calls.operator(node.op, [value, *extra], [node.operand] * (1 + postfix), node.at)
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

    def _infix(self, node: syntax.Infix) -> Value:
        op, at = node.op, node.at
        if op == ",":
            first, value = self.rvalue(node.left), self.operand(node.right)
            second = rvalue(value)
            return Value(tree.Comma(at, second.type, first, second), lost=value.place is not None)
        if op in ("&&", "||"):
            return Value(tree.Logical(at, BOOL, op, self.condition(node.left), self.condition(node.right)))
        left, right = self.operand(node.left), self.operand(node.right)
        own = self.calls.operator(op, [left, right], [node.left, node.right], at)
        return own or binary(op, self.objects.plain(left, at), self.objects.plain(right, at), at)

    def _ternary(self, node: syntax.Ternary) -> Value:
        test = self.condition(node.test)
        yes, no = self.operand(node.yes), self.operand(node.no)
        a, b = rvalue(yes), rvalue(no)
        if target_of(a.type) is not None and target_of(b.type) is not None and a.type != b.type:
            raise unsupported(
                node.at, "a choice between functions", "choose with if, and call each by its name"
            )
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

    # ------------------------------------------------------------------------------------------- assignments

    def _assignment(self, node: syntax.Assignment) -> Value:
        value = self.operand(node.left)
        at = node.at
        if node.op and not isinstance(node.right, syntax.Braces):
            right = self.operand(node.right)
            own = self.calls.operator(f"{node.op}=", [value, right], [node.left, node.right], at)
            return own or self._compound(node, value, self.objects.plain(right, at))
        if isinstance(value.type, Record) and not isinstance(node.right, syntax.Braces):
            given = self.operand(node.right)
            if own := self.calls.operator("=", [value, given], [node.left, node.right], at):
                return own
            if any(own_assignment(field.type) for field in value.type.fields):
                raise unsupported(at, "copying an object with a member that has an operator = of its own")
        place = modifiable(value, first_at(node.left))
        if isinstance(node.right, syntax.Braces):
            if node.op:
                raise Fault(node.right.at, "expected an expression")
            return Value(
                tree.Assign(at, place.type, place, self.initials.braces_value(node.right, place.type)),
                lost=True,
            )
        right = self.operand(node.right)
        changed = self.objects.converted(right, place.type, at) if place.type not in NARROW else None
        return Value(
            tree.Assign(at, place.type, place, changed or assigned(right, place.type, at, place.volatile)),
            lost=True,
        )

    def _compound(self, node: syntax.Assignment, value: Value, right: Value) -> Value:
        """`place op= right`; or `place = place op right`, with an operator of the source's own."""
        place = modifiable(value, first_at(node.left))
        return Value(compound(node.op, place, right, node.at), lost=True)

    # ------------------------------------------------------------------------------------ indices and members

    def _index(self, node: syntax.Index) -> Value:
        base, index = self.operand(node.base), self.operand(node.index)
        written = syntax.CallOf(node.at, syntax.Name(node.at, "operator[]"), [node.index])
        if own := self.calls.member_operator("[]", base, [index], written):
            return own
        base, index = self.objects.plain(base, node.at), self.objects.plain(index, node.at)
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

    # ------------------------------------------------------------------------------------------ casts, sizeof

    def _cast(self, node: syntax.Cast) -> Value:
        written = self.types.type_name(node.type)
        if isinstance(node.operand, syntax.Braces):
            raise Fault(node.operand.at, "expected an expression")
        value = self.operand(node.operand)
        if written.auto:
            raise Fault(node.at, "'auto' is not allowed here")
        if written.reference:
            return self._cast_reference(value, written, node)
        if (
            isinstance(written.type, Record)
            and written.type.members is not None
            and value.type != written.type
        ):
            return self.initials.make(syntax.Make(node.at, node.type, [node.operand], False))
        if isinstance(value.type, Record) and not isinstance(written.type, Void):
            changed = self.objects.converted(value, written.type, node.at)
            value = Value(changed) if changed is not None else self.objects.plain(value, node.at)
        if isinstance(written.type, Array):
            raise Fault(node.at, f"invalid type conversion to the array type '{written.type}'")
        return Value(cast(value, written.type, node.style, node.at))

    def _cast_reference(self, value: Value, written: Written, node: syntax.Cast) -> Value:
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

    def _sizeof(self, node: syntax.SizeOf) -> Value:
        if isinstance(node.what, syntax.TypeName):
            type_ = self.types.type_name(node.what).type
        else:
            value = self.operand(node.what)
            type_ = value.type
        if isinstance(type_, Void) or (isinstance(type_, Array) and type_.length is None):
            raise Fault(node.at, "incomplete type is not allowed", f"'{type_}' has no size")
        return Value(tree.Literal(node.at, ULONG, type_.align if node.align else type_.size))
