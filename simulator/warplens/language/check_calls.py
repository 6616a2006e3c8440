"""Calls: of what, and with the arguments in the types of the parameters."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from warplens.errors import At, Fault, unsupported
from warplens.language import syntax, tree
from warplens.language.check_context import Context
from warplens.language.check_groups import GroupChecker
from warplens.language.check_objects import members_of
from warplens.language.check_output import OutputChecker
from warplens.language.check_overloads import Candidate, OverloadChecker
from warplens.language.conversion import Value, address, implicit, number, rvalue
from warplens.language.intrinsics import (
    CACHED_LOADS,
    CACHED_STORES,
    COPIES,
    SAME_TYPE,
    Signature,
)
from warplens.language.preprocess import ASSERT
from warplens.language.scope import FunctionName, Overloads, ParameterType, Scope
from warplens.language.types import (
    FLOAT,
    INT,
    ULONG,
    VECTORS,
    VOID,
    Enum,
    Pointer,
    Record,
    Scalar,
    Void,
)

if TYPE_CHECKING:
    from warplens.language.check_expressions import ExpressionChecker


class CallChecker:
    """Calls of functions, the source's own and those that are built in."""

    def __init__(self, context: Context, expressions: ExpressionChecker) -> None:
        self.context, self.expressions = context, expressions
        self.overloads = OverloadChecker(context, expressions)
        self.output = OutputChecker(context, expressions)
        self.groups = GroupChecker(context, expressions)

    def call(self, node: syntax.CallOf) -> Value:
        """A call of any kind."""
        at = node.at
        if found := self.groups.call(node):
            return found
        callee = self.expressions.value(node.function)
        if callee.function is None and isinstance(callee.type, Record):
            return self._object(callee, node)
        if callee.function is None:
            hint = f"'{callee.name}' is no function" if callee.name else "a function's name stands before ("
            raise Fault(at, "expression preceding parentheses of apparent call must have function type", hint)
        if callee.name == ASSERT:
            return self.output.assertion(node)
        if callee.name == "printf":
            if callee.function.functions or callee.function.templates:
                raise unsupported(at, "functions of your own that are called printf", "take another name")
            return self.output.printf(node)
        if callee.name in CACHED_LOADS:
            return self._cached_load(callee.name, [self._argument(part) for part in node.arguments], at)
        if callee.name in CACHED_STORES:
            return self._cached_store(callee.name, [self._argument(part) for part in node.arguments], at)
        if callee.name in COPIES:
            return self._copy(callee.name, [self._argument(part) for part in node.arguments], at)
        arguments = [self._argument(argument) for argument in node.arguments]
        candidates = self.overloads.candidates(callee, node.function, arguments)
        vector = VECTORS.get(callee.name.removeprefix("make_")) if callee.name.startswith("make_") else None
        if vector and all(self.overloads.ranks(one, arguments) is None for one in candidates):
            return self._make_vector(vector, arguments, node)
        chosen = self.overloads.choose(callee.name, candidates, arguments, node)
        if isinstance(chosen.target, Signature):
            return Value(self._intrinsic(chosen.target, arguments, at))
        return self._user_call(chosen, arguments, at, callee.object)

    def _object(self, callee: Value, node: syntax.CallOf) -> Value:
        """A call of a pointer to a function, or of an object with an operator ()."""
        arguments = [self._argument(argument) for argument in node.arguments]
        members = members_of(callee.type)
        if members is not None and members.target is not None:
            target = members.target
            candidate = Candidate(target.parameters, len(target.parameters), target)
            self.overloads.check_single(target.name, candidate, arguments, node)
            return self._user_call(candidate, arguments, node.at)
        own = self.member_operator("()", callee, arguments, node)
        if own is None:
            message = (
                "call of an object of a class type without appropriate operator() or conversion functions"
            )
            raise Fault(node.at, f"{message} to pointer-to-function type", f"'{callee.type}' has none")
        return own

    def member_operator(
        self, op: str, value: Value, arguments: list[Value], node: syntax.CallOf
    ) -> Value | None:
        """A call of an operator that is a method; None where the class has none of that name."""
        members = members_of(value.type) if value.function is None else None
        meaning = members.scope.member(f"operator{op}") if members else None
        if not isinstance(meaning, Overloads):
            return None
        callee = Value(function=meaning, name=f"operator{op}", object=value)
        candidates = self.overloads.candidates(callee, syntax.Name(node.at, callee.name), arguments)
        chosen = self.overloads.choose(callee.name, candidates, arguments, node)
        return self._user_call(chosen, arguments, node.at, value)

    def of_method(self, method: FunctionName, value: Value, at: At) -> Value:
        """A call without arguments."""
        return self._user_call(Candidate([], 0, method), [], at, value)

    def constructor(self, callee: Value, node: syntax.CallOf, explicit: bool) -> Value:
        """A call of the constructor that fits."""
        arguments = [self._argument(part) for part in node.arguments]
        candidates = self.overloads.candidates(callee, node.function, arguments)
        if not any(self.overloads.ranks(one, arguments) is not None for one in candidates):
            given = ", ".join(f"'{self._shown(value)}'" for value in arguments)
            message = f"no instance of constructor '{callee.name}' matches the argument list"
            raise Fault(node.at, message, f"the argument types are ({given})")
        chosen = self.overloads.choose(callee.name, candidates, arguments, node)
        target = chosen.target
        if not explicit and isinstance(target, FunctionName) and target.explicit:
            raise Fault(node.at, f"the constructor '{callee.name}' is explicit", "leave out the =")
        return self._user_call(chosen, arguments, node.at, callee.object)

    def construct_from(self, callee: Value, value: Value, at: At) -> Value:
        """A call of a constructor that is no explicit one, with one value."""
        node = syntax.CallOf(at, syntax.Name(at, callee.name), [syntax.Null(at)])
        candidates = [
            one
            for one in self.overloads.candidates(callee, node.function, [value])
            if isinstance(one.target, FunctionName) and not one.target.explicit
        ]
        return self._user_call(
            self.overloads.choose(callee.name, candidates, [value], node), [value], at, callee.object
        )

    def _shown(self, value: Value) -> str:
        return value.name if value.function is not None else str(rvalue(value).type)

    def operator(self, op: str, values: list[Value], operands: list[syntax.Node], at: At) -> Value | None:
        """A call of an operator of the source's own; None where there is none that takes these operands."""
        name = f"operator{op}"
        if not any(value.function is None and isinstance(value.type, Record | Enum) for value in values):
            return None
        members = members_of(values[0].type) if values[0].function is None else None
        own = members.scope.member(name) if members else None
        if isinstance(own, Overloads):
            method = Value(function=own, name=name, object=values[0])
            candidates = self.overloads.candidates(method, syntax.Name(at, name), values[1:])
            if any(self.overloads.ranks(one, values[1:]) is not None for one in candidates):
                node = syntax.CallOf(at, syntax.Name(at, name), operands[1:])
                chosen = self.overloads.choose(name, candidates, values[1:], node)
                return self._user_call(chosen, values[1:], at, values[0])
        node = syntax.CallOf(at, syntax.Name(at, name), operands)
        candidates = []
        for scope in self._scopes(values):
            meaning = scope.find(name)
            if isinstance(meaning, Overloads) and meaning.owner is None:
                candidates = self.overloads.candidates(
                    Value(function=meaning, name=name), node.function, values
                )
                candidates = [one for one in candidates if self.overloads.ranks(one, values) is not None]
            if candidates:
                break
        if not candidates:
            return None
        return self._user_call(self.overloads.choose(name, candidates, values, node), values, at)

    def _scopes(self, values: list[Value]) -> list[Scope]:
        """Where an operator is looked for: here, and around the classes of its operands."""
        found = [self.context.scope]
        for value in values:
            members = members_of(value.type) if value.function is None else None
            if members is not None:
                found.append(members.scope)
        return found

    def _argument(self, node: syntax.Node) -> Value:
        if isinstance(node, syntax.Braces):
            raise unsupported(node.at, "braces as an argument", "name the type: float4{...}")
        return self.expressions.operand(node)

    # ----------------------------------------------------------------------------------------------- the call

    def _user_call(self, chosen: Candidate, arguments: list[Value], at: At, of: Value | None = None) -> Value:
        target, functions = chosen.target, self.context.file.functions
        assert isinstance(target, FunctionName) and target.function is not None
        functions.finish(target)
        method = target.owner is not None and not target.static
        if not method or self.context.function is None:
            functions.may_call(self.context.function, target, at)
        passed = [self.passed(value, parameter) for value, parameter in zip(arguments, target.parameters)]
        for parameter in target.definition_parameters()[len(arguments) :]:
            assert parameter.default is not None
            passed.append(self.context.file.functions.default_argument(target, parameter))
        call = tree.Call(at, target.function.returns, target.function, passed)
        result: tree.Expression = call
        if method:
            result = self._with_object(call, target, of, at)
        if target.reference:
            return Value(place=tree.Deref(at, target.returns, result), const=target.returns_const)
        return Value(result)

    def _with_object(
        self, call: tree.Call, target: FunctionName, of: Value | None, at: At
    ) -> tree.Expression:
        """A call of a method; a value that lies nowhere is put somewhere first."""
        assert self.context.function is not None
        if of is None:
            message = "a nonstatic member reference must be relative to a specific object"
            raise Fault(at, message, f"as in object.{target.definition.declarator.name}(...)")
        if of.place is not None:
            self.context.function.waiting.append((call, of.place, target))
            return call
        first, place = self.expressions.objects.stored(of, at)
        self.context.function.waiting.append((call, place, target))
        return tree.Comma(at, call.type, first, call)

    def passed(self, value: Value, parameter: ParameterType) -> tree.Expression:
        """An argument as the function gets it."""
        at = (value.place or value.expression).at  # type: ignore[union-attr]
        if parameter.by_address:
            assert value.place is not None
            const = value.const or parameter.reference == "const"
            return address(Value(place=value.place, const=const), at)
        result = self.expressions.objects.converted(value, parameter.type, at)
        assert result is not None
        return result

    def _intrinsic(self, signature: Signature, arguments: list[Value], at: At) -> tree.Expression:
        self.context.needs_function(signature.name, at)
        passed: list[tree.Expression] = []
        for value, type_ in zip(arguments, signature.parameters):
            node = self.expressions.objects.converted(value, type_, at)
            assert node is not None
            passed.append(number(node, signature.returns) if signature.name in SAME_TYPE else node)
        if signature.name == "sincos":
            return self._sincos(passed, at)
        for default in signature.defaults[
            len(signature.defaults) - len(signature.parameters) + len(arguments) :
        ]:
            type_ = signature.parameters[len(passed)]
            passed.append(tree.Literal(at, type_, default))
        return tree.Intrinsic(at, signature.returns, signature.name, passed)

    def _sincos(self, arguments: list[tree.Expression], at: At) -> tree.Expression:
        """`*s = sin(x), *c = cos(x)`, with the arguments worked out once and before that."""
        kept = [self.expressions.objects.stored(Value(argument), at) for argument in arguments]
        steps = [first for first, _ in kept]
        x, *pointers = [tree.Load(at, place.type, place) for _, place in kept]
        for name, pointer in zip(("sin", "cos"), pointers):
            assert isinstance(x.type, Scalar)
            called = tree.Intrinsic(at, x.type, name + ("f" if x.type == FLOAT else ""), [x])
            steps.append(tree.Assign(at, x.type, tree.Deref(at, x.type, pointer), called))
        result = steps[0]
        for step in steps[1:]:
            result = tree.Comma(at, step.type, result, step)
        return tree.Convert(at, VOID, result)

    # --------------------------------------------------------------------------- reads and writes of memory

    def _count(self, name: str, arguments: list[Value], want: int, takes: str, at: At) -> None:
        if len(arguments) != want:
            few = "few" if len(arguments) < want else "many"
            raise Fault(at, f"too {few} arguments in function call", f"{name} takes {takes}")

    def _cached_place(self, name: str, pointer: tree.Expression, at: At) -> tree.Place:
        """What a pointer to a number or to a vector points to."""
        hint = "it takes a pointer"
        if isinstance(pointer.type, Pointer) and pointer.type.volatile:
            hint = "it takes a pointer to what is not volatile"
        elif isinstance(pointer.type, Pointer):
            to = pointer.type.to
            if isinstance(to, Scalar) or (isinstance(to, Record) and to.vector):
                return tree.Deref(at, to, pointer)
            hint = "it takes a pointer to a number, or to a vector such as float4"
        message = f"no instance of overloaded function '{name}' matches the argument list"
        raise Fault(at, message, hint)

    def _cached_load(self, name: str, arguments: list[Value], at: At) -> Value:
        """A read that says which cache it means, which has no effect on its value."""
        self._count(name, arguments, 1, "a pointer", at)
        pointer = rvalue(arguments[0])
        place = self._cached_place(name, pointer, at)
        if name == "__ldcv":  # which fetches it again each time
            assert isinstance(pointer.type, Pointer)
            again = tree.Reinterpret(at, replace(pointer.type, volatile=True), pointer)
            place = tree.Deref(at, place.type, again)
        return Value(tree.Load(at, place.type, place))

    def _cached_store(self, name: str, arguments: list[Value], at: At) -> Value:
        self._count(name, arguments, 2, "a pointer and a value", at)
        pointer = rvalue(arguments[0])
        place = self._cached_place(name, pointer, at)
        value = implicit(arguments[1], place.type)
        if value is None or (isinstance(pointer.type, Pointer) and pointer.type.const):
            message = f"no instance of overloaded function '{name}' matches the argument list"
            raise Fault(at, message, "it takes a pointer to what may be changed, and a value of that type")
        return Value(tree.Convert(at, VOID, tree.Assign(at, place.type, place, value)))

    def _copy(self, name: str, arguments: list[Value], at: At) -> Value:
        """memcpy and memset, byte by byte or in the elements that both sides have."""
        self.context.needs_function(name, at)
        takes = "two pointers" if name == "memcpy" else "a pointer, a byte"
        self._count(name, arguments, 3, f"{takes} and a number of bytes", at)
        passed: list[tree.Expression] = []
        sizes = [8]
        second = Pointer(VOID, True) if name == "memcpy" else INT
        for value, kind in zip(arguments, (Pointer(VOID), second, ULONG)):
            node, source = implicit(value, kind), rvalue(value).type
            if node is None:
                raise self.overloads.misfit(value, ParameterType(kind), at)
            passed.append(node)
            if isinstance(source, Pointer):
                sizes.append(1 if isinstance(source.to, Void) else source.to.align)
        return Value(tree.Intrinsic(at, Pointer(VOID), name, passed, step=min(sizes)))

    # ------------------------------------------------------------------------------------------------ records

    def _make_vector(self, record: Record, values: list[Value], node: syntax.CallOf) -> Value:
        if len(values) != len(record.fields):
            few = "few" if len(values) < len(record.fields) else "many"
            hint = f"make_{record.name} takes {len(record.fields)} numbers, and here are {len(values)}"
            raise Fault(node.at, f"too {few} arguments in function call", hint)
        parts = []
        for value, field, written in zip(values, record.fields, node.arguments):
            part = implicit(value, field.type)
            if part is None:
                raise self.overloads.misfit(value, ParameterType(field.type), written.at)
            parts.append(part)
        return Value(tree.MakeRecord(node.at, record, parts))
