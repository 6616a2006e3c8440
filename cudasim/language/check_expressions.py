"""Expressions: what each name means, which conversions happen, what type the result has."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

from cudasim.errors import At, Fault, unsupported
from cudasim.language import half, syntax, tree
from cudasim.language.check_calls import CallChecker
from cudasim.language.check_context import Context
from cudasim.language.check_hints import first_at
from cudasim.language.check_initials import InitialChecker
from cudasim.language.check_types import TypeChecker
from cudasim.language.conversion import Value, address, as_bool, cast, index_value, number, rvalue, take
from cudasim.language.intrinsics import HOST_ONLY, INTRINSICS, UNSUPPORTED
from cudasim.language.operators import (
    arithmetic,
    as_pointer,
    assigned,
    binary,
    composite,
    compound,
    dereferenced,
    modifiable,
)
from cudasim.language.preprocess import ASSERT
from cudasim.language.scope import ConstantName, Overloads, TypeMeaning, VariableName
from cudasim.language.types import (
    BOOL,
    DIM3,
    HALF,
    INT,
    LONG,
    UINT,
    ULONG,
    VECTORS,
    VOID,
    Array,
    Pointer,
    Record,
    Scalar,
    Type,
    Void,
    common,
    promoted,
)

OTHERS = ("__ldg", "printf", ASSERT)  # built in, and not listed as functions with types
SPECIALS = {"threadIdx": VECTORS["uint3"], "blockIdx": VECTORS["uint3"], "blockDim": DIM3, "gridDim": DIM3}


class ExpressionChecker:
    """Holds those that check what stands in expressions: types, calls, and values in braces."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.types = TypeChecker(context, self)
        self.calls = CallChecker(context, self)
        self.initials = InitialChecker(self)
        self._by_node: dict[type[syntax.Node], Callable[[Any], Value]] = {
            syntax.Number: self._number,
            syntax.Null: self._null,
            syntax.Text: self._text,
            syntax.Braces: self._braces,
            syntax.TypeName: self._typename,
            syntax.Name: self._name,
            syntax.Prefix: self._prefix,
            syntax.Postfix: self._postfix,
            syntax.Infix: self._infix,
            syntax.Ternary: self._ternary,
            syntax.Assignment: self._assignment,
            syntax.Index: self._index,
            syntax.Dot: self._dot,
            syntax.Cast: self._cast,
            syntax.Make: self._make,
            syntax.CallOf: self._callof,
            syntax.SizeOf: self._sizeof,
        }

    # ------------------------------------------------------------------------------------------- all of them

    def value(self, node: syntax.Node) -> Value:
        method = self._by_node.get(type(node))
        if method is None:
            raise Fault(node.at, "expected an expression")
        return method(node)

    def rvalue(self, node: syntax.Node) -> tree.Expression:
        value = self.value(node)
        self._no_function(value, node.at)
        return rvalue(value)

    def _no_function(self, value: Value, at: At) -> None:
        if value.function is not None:
            hint = "call it: write () behind its name"
            raise unsupported(at, f"the function '{value.name}' is used as a value", hint)

    def operand(self, node: syntax.Node) -> Value:
        value = self.value(node)
        self._no_function(value, node.at)
        return value

    def condition(self, node: syntax.Node) -> tree.Expression:
        if isinstance(node, syntax.Text):  # assert(i < n && "a message")
            return tree.Literal(node.at, BOOL, True)
        return as_bool(self.value(node), first_at(node))

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

    def _name(self, node: syntax.Name) -> Value:
        if node.arguments is not None:
            return self.calls.template_name(node)
        meaning = self.context.scope.find(node.name)
        if isinstance(meaning, VariableName):
            return self._variable(meaning, node)
        if isinstance(meaning, ConstantName):
            assert isinstance(meaning.value, bool | int)
            return Value(tree.Literal(node.at, meaning.type, meaning.value))
        if isinstance(meaning, Overloads):
            return Value(function=meaning, name=node.name)
        if isinstance(meaning, TypeMeaning):
            raise Fault(
                node.at, "type name is not allowed", f"'{node.name}' is a type, and a value is expected"
            )
        return self._built_in(node)

    def _variable(self, meaning: VariableName, node: syntax.Name) -> Value:
        variable, at = meaning.variable, node.at
        place: tree.Place = tree.VariablePlace(at, variable.type, variable)
        if meaning.reference:
            place = tree.Deref(at, meaning.type, tree.Load(at, variable.type, place))
        return Value(place=place, const=meaning.const, constant=meaning.constant, name=node.name)

    def _built_in(self, node: syntax.Name) -> Value:
        name, at = node.name, node.at
        if name in SPECIALS:
            parts: list[tree.Expression] = [tree.Special(at, UINT, name, axis) for axis in "xyz"]
            return Value(tree.MakeRecord(at, SPECIALS[name], parts), special=name, name=name)
        if name == "NULL":
            return Value(tree.Literal(at, LONG, 0), null=True)
        if name == "warpSize":
            return Value(tree.Special(at, INT, "warpSize", ""), name=name)
        if name in half.FUNCTIONS and not self.context.file.has_half:
            raise Fault(at, f"identifier '{name}' is undefined", half.INCLUDE_IT)
        if name in INTRINSICS or name in OTHERS or (name.startswith("make_") and name[5:] in VECTORS):
            return Value(function=Overloads(), name=name)
        if name in UNSUPPORTED or (self.context.file.has_half and half.is_other_function(name)):
            raise unsupported(at, name)
        raise self._undefined(name, at)

    def _undefined(self, name: str, at: At) -> Fault:
        hint = HOST_ONLY.get(name, "")
        if not hint:
            known = self.context.scope.all_names() | {*SPECIALS, *INTRINSICS, "printf", "warpSize"}
            lower = {candidate.lower(): candidate for candidate in known}
            close = (
                [lower[name.lower()]] if name.lower() in lower else get_close_matches(name, known, 1, 0.75)
            )
            hint = f"did you mean '{close[0]}'?" if close else "declare it before it is used"
        if name == "std":
            hint = "the C++ standard library does not exist in a kernel"
        return Fault(at, f"identifier '{name}' is undefined", hint)

    # --------------------------------------------------------------------------------------------- operators

    def _prefix(self, node: syntax.Prefix) -> Value:
        op, at = node.op, node.at
        if op in ("++", "--"):
            return self._increment(node, False)
        if op == "&":
            return self._address_of(node)
        if op == "!":
            return Value(tree.Unary(at, BOOL, "!", self.condition(node.operand)))
        operand = self.rvalue(node.operand)
        if op == "*":
            return dereferenced(operand, at)
        if op == "+" and isinstance(operand.type, Pointer):
            return Value(operand)
        type_ = promoted(arithmetic(operand, at, op))
        if op == "~" and not type_.is_integer:
            raise Fault(at, f"expression must have integral type, and it has type '{type_}'")
        operand = number(operand, type_)
        return Value(operand if op == "+" else tree.Unary(at, type_, op, operand))

    def _address_of(self, node: syntax.Prefix) -> Value:
        value = self.value(node.operand)
        if value.function is not None:
            raise unsupported(node.at, "pointers to functions")
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
        place = modifiable(value, first_at(node.operand))
        if place.type == BOOL:
            raise Fault(node.at, f"'{node.op}' of a bool is not allowed")
        if not isinstance(place.type, Scalar | Pointer) or place.type == Pointer(VOID):
            raise Fault(node.at, f"no operator '{node.op}' matches an operand of type '{place.type}'")
        if place.type == HALF:
            raise half.arithmetic(node.at)
        step = 1 if node.op == "++" else -1
        return Value(tree.Increment(node.at, place.type, place, step, postfix), lost=not postfix)

    def _infix(self, node: syntax.Infix) -> Value:
        op, at = node.op, node.at
        if op == ",":
            left, value = self.rvalue(node.left), self.operand(node.right)
            right = rvalue(value)
            return Value(tree.Comma(at, right.type, left, right), lost=value.place is not None)
        if op in ("&&", "||"):
            return Value(tree.Logical(at, BOOL, op, self.condition(node.left), self.condition(node.right)))
        return binary(op, self.operand(node.left), self.operand(node.right), at)

    def _ternary(self, node: syntax.Ternary) -> Value:
        test = self.condition(node.test)
        yes, no = self.operand(node.yes), self.operand(node.no)
        a, b = rvalue(yes), rvalue(no)
        lost = yes.place is not None and no.place is not None and a.type == b.type
        if a.type == b.type:
            null = yes.null and no.null
            return Value(
                tree.Conditional(node.at, a.type, test, a, b), lost=lost, null=null and yes.name == "nullptr"
            )
        if isinstance(a.type, Scalar) and isinstance(b.type, Scalar):
            if HALF in (a.type, b.type):
                hint = "convert both to one type: __half2float(x) gives a float"
                raise unsupported(node.at, f"?: of '{a.type}' and '{b.type}'", hint)
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
        place = modifiable(value, first_at(node.left))
        if isinstance(node.right, syntax.Braces):
            if node.op:
                raise Fault(node.right.at, "expected an expression")
            return Value(
                tree.Assign(at, place.type, place, self.initials.braces_value(node.right, place.type)),
                lost=True,
            )
        right = self.operand(node.right)
        if not node.op:
            return Value(tree.Assign(at, place.type, place, assigned(right, place.type, at)), lost=True)
        return Value(compound(node.op, place, right, at), lost=True)

    # ------------------------------------------------------------------------------------ indices and members

    def _index(self, node: syntax.Index) -> Value:
        base, index = self.operand(node.base), self.operand(node.index)
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

    def _dot(self, node: syntax.Dot) -> Value:
        base = self.operand(node.base)
        if node.arrow:
            pointer = rvalue(base)
            if not isinstance(pointer.type, Pointer):
                hint = "write . instead of ->" if isinstance(pointer.type, Record) else ""
                raise Fault(
                    node.at, f"expression must have pointer type, and it has type '{pointer.type}'", hint
                )
            base = dereferenced(pointer, node.at)
        record = base.type
        if not isinstance(record, Record):
            hint = "write -> instead of ." if isinstance(record, Pointer) else "only structs have members"
            raise Fault(node.at, f"expression must have class type, and it has type '{record}'", hint)
        field = record.field(node.name)
        if field is None:
            hint = "its members are " + ", ".join(f.name for f in record.fields)
            raise Fault(node.at, f"'{record}' has no member '{node.name}'", hint)
        if base.special:
            return Value(
                tree.Special(node.at, UINT, base.special, node.name), name=f"{base.special}.{node.name}"
            )
        if base.place is None:
            assert base.expression is not None
            return Value(tree.Member(node.at, field.type, base.expression, node.name), lost=base.lost)
        place = tree.MemberPlace(node.at, field.type, base.place, node.name)
        return Value(place=place, const=base.const, name=base.name)

    # ------------------------------------------------------------------------------------------ casts, sizeof

    def _cast(self, node: syntax.Cast) -> Value:
        written = self.types.type_name(node.type)
        if isinstance(node.operand, syntax.Braces):
            raise Fault(node.operand.at, "expected an expression")
        value = self.operand(node.operand)
        if written.auto:
            raise Fault(node.at, "'auto' is not allowed here")
        if written.reference:
            return self._cast_reference(value, written.type, written.const, node)
        if isinstance(written.type, Array):
            raise Fault(node.at, f"invalid type conversion to the array type '{written.type}'")
        return Value(cast(value, written.type, node.style, node.at))

    def _cast_reference(self, value: Value, to: Type, const: bool, node: syntax.Cast) -> Value:
        if value.place is None:
            raise Fault(
                node.at, "expression must be an lvalue", "only what is stored can be seen as another type"
            )
        if node.style in ("static", "call", "const") and value.type != to:
            raise Fault(node.at, f"invalid type conversion from '{value.type}' to '{to} &'")
        if value.const and not const and node.style in ("static", "reinterpret"):
            raise Fault(node.at, f"{node.style}_cast cannot cast away const")
        take(value.place)
        pointer = tree.Reinterpret(node.at, Pointer(to, const), address(value, node.at))
        return Value(place=tree.Deref(node.at, to, pointer), const=const)

    def _make(self, node: syntax.Make) -> Value:
        return self.initials.make(node)

    def _callof(self, node: syntax.CallOf) -> Value:
        return self.calls.call(node)

    def _sizeof(self, node: syntax.SizeOf) -> Value:
        if isinstance(node.what, syntax.TypeName):
            type_ = self.types.type_name(node.what).type
        else:
            value = self.operand(node.what)
            type_ = value.type
        if isinstance(type_, Void) or (isinstance(type_, Array) and type_.length is None):
            raise Fault(node.at, "incomplete type is not allowed", f"'{type_}' has no size")
        return Value(tree.Literal(node.at, ULONG, type_.align if node.align else type_.size))
