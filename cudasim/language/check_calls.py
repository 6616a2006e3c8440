"""Calls: which function is meant, and its arguments in the types of its parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cudasim.errors import At, Fault, unsupported
from cudasim.language import syntax, tree
from cudasim.language.check_context import Context
from cudasim.language.check_groups import GroupChecker
from cudasim.language.check_hints import type_hint
from cudasim.language.check_objects import members_of
from cudasim.language.check_output import OutputChecker
from cudasim.language.conversion import Value, address, implicit, number, quality, rvalue
from cudasim.language.intrinsics import (
    CACHED_LOADS,
    CACHED_STORES,
    COPIES,
    INTRINSICS,
    SAME_TYPE,
    Signature,
)
from cudasim.language.parse_tokens import OF_TEXTURES
from cudasim.language.preprocess import ASSERT
from cudasim.language.scope import FunctionName, Overloads, ParameterType, Scope
from cudasim.language.templates import deduced
from cudasim.language.types import (
    INT,
    NARROW,
    PAIRS,
    ULONG,
    VECTORS,
    VOID,
    Array,
    Enum,
    Group,
    Pointer,
    Record,
    Scalar,
    Void,
)

if TYPE_CHECKING:
    from cudasim.language.check_expressions import ExpressionChecker


@dataclass(eq=False)
class Candidate:
    parameters: list[ParameterType]
    least: int
    target: FunctionName | Signature
    template: bool = False
    object: int | None = 0  # how well it fits the object whose method it is; None: not at all


class CallChecker:
    """Calls of functions, the source's own and those that are built in."""

    def __init__(self, context: Context, expressions: ExpressionChecker) -> None:
        self.context, self.expressions = context, expressions
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
        candidates = self._candidates(callee, node.function, arguments)
        vector = VECTORS.get(callee.name.removeprefix("make_")) if callee.name.startswith("make_") else None
        if vector and all(self._ranks(one, arguments) is None for one in candidates):
            return self._make_vector(vector, arguments, node)
        chosen = self._choose(callee.name, candidates, arguments, node)
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
            self._check_single(target.name, candidate, arguments, node)
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
        candidates = self._candidates(callee, syntax.Name(node.at, callee.name), arguments)
        chosen = self._choose(callee.name, candidates, arguments, node)
        return self._user_call(chosen, arguments, node.at, value)

    def of_method(self, method: FunctionName, value: Value, at: At) -> Value:
        """A call without arguments."""
        return self._user_call(Candidate([], 0, method), [], at, value)

    def constructor(self, callee: Value, node: syntax.CallOf, explicit: bool) -> Value:
        """A call of the constructor that fits."""
        arguments = [self._argument(part) for part in node.arguments]
        candidates = self._candidates(callee, node.function, arguments)
        if not any(self._ranks(one, arguments) is not None for one in candidates):
            given = ", ".join(f"'{self._shown(value)}'" for value in arguments)
            message = f"no instance of constructor '{callee.name}' matches the argument list"
            raise Fault(node.at, message, f"the argument types are ({given})")
        chosen = self._choose(callee.name, candidates, arguments, node)
        target = chosen.target
        if not explicit and isinstance(target, FunctionName) and target.explicit:
            raise Fault(node.at, f"the constructor '{callee.name}' is explicit", "leave out the =")
        return self._user_call(chosen, arguments, node.at, callee.object)

    def construct_from(self, callee: Value, value: Value, at: At) -> Value:
        """A call of a constructor that is no explicit one, with one value."""
        node = syntax.CallOf(at, syntax.Name(at, callee.name), [syntax.Null(at)])
        candidates = [
            one
            for one in self._candidates(callee, node.function, [value])
            if isinstance(one.target, FunctionName) and not one.target.explicit
        ]
        return self._user_call(
            self._choose(callee.name, candidates, [value], node), [value], at, callee.object
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
            candidates = self._candidates(method, syntax.Name(at, name), values[1:])
            if any(self._ranks(one, values[1:]) is not None for one in candidates):
                node = syntax.CallOf(at, syntax.Name(at, name), operands[1:])
                chosen = self._choose(name, candidates, values[1:], node)
                return self._user_call(chosen, values[1:], at, values[0])
        node = syntax.CallOf(at, syntax.Name(at, name), operands)
        candidates = []
        for scope in self._scopes(values):
            meaning = scope.find(name)
            if isinstance(meaning, Overloads) and meaning.owner is None:
                candidates = self._candidates(Value(function=meaning, name=name), node.function, values)
                candidates = [one for one in candidates if self._ranks(one, values) is not None]
            if candidates:
                break
        if not candidates:
            return None
        return self._user_call(self._choose(name, candidates, values, node), values, at)

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

    # -------------------------------------------------------------------------------------------- candidates

    def _candidates(self, callee: Value, function: syntax.Node, arguments: list[Value]) -> list[Candidate]:
        assert callee.function is not None
        explicit = function.arguments if isinstance(function, syntax.Name | syntax.Dot) else None
        result: list[Candidate] = []
        if explicit is None:
            result = [
                Candidate(f.parameters, len(f.parameters) - f.defaults, f) for f in callee.function.functions
            ]
            own = [[parameter.type for parameter in one.parameters] for one in result]
            built_in = self._built_in_candidates(callee.name, callee.function.owner is not None)
            result += [one for one in built_in if [p.type for p in one.parameters] not in own]
        for template in callee.function.templates:
            given = explicit or []
            bindings = deduced(self.expressions, template.definition, given, arguments, template.scope)
            if bindings is not None:
                f = self.context.file.functions.head_of_instance(template, bindings, function.at)
                result.append(Candidate(f.parameters, len(f.parameters) - f.defaults, f, True))
        for one in result:
            if isinstance(one.target, FunctionName) and one.target.owner and not one.target.static:
                const = callee.object is not None and callee.object.const
                one.object = int(one.target.const) if not const else 0 if one.target.const else None
                if one.target.definition.form == "constructor":
                    one.object = 0
        return result

    def _built_in_candidates(self, name: str, of_class: bool) -> list[Candidate]:
        signatures = INTRINSICS.get(name, ()) if not of_class else ()
        if not self.context.file.has_bfloat:
            signatures = tuple(s for s in signatures if not s.of_bfloat)
        return [
            Candidate(
                [ParameterType(type_) for type_ in s.parameters], len(s.parameters) - len(s.defaults), s
            )
            for s in signatures
        ]

    def _choose(
        self, name: str, candidates: list[Candidate], arguments: list[Value], node: syntax.CallOf
    ) -> Candidate:
        at = node.at
        if len(candidates) == 1:
            self._check_single(name, candidates[0], arguments, node)
            return candidates[0]
        fitting: list[tuple[Candidate, list[int]]] = []
        for candidate in candidates:
            ranks = self._ranks(candidate, arguments)
            if ranks is not None:
                fitting.append((candidate, ranks))
        best = [
            one for one in fitting if all(self._beats(one, other) for other in fitting if other is not one)
        ]
        types = [rvalue(argument).type for argument in arguments]
        if len(best) == 1 and not any(type_ in NARROW and rank for type_, rank in zip(types, best[0][1][1:])):
            return best[0][0]
        for of in (*NARROW, *PAIRS):
            if any(of in (type_, getattr(type_, "to", None)) for type_ in types):
                hint = "convert it first: (float)x"
                raise unsupported(at, f"'{name}', which is overloaded, of a {of}", hint)
        given = ", ".join(f"'{rvalue(argument).type}'" for argument in arguments)
        if fitting:
            message = f"more than one instance of overloaded function '{name}' matches the argument list"
            raise Fault(at, message, f"the argument types are ({given}); cast them to one type")
        counts = {count for c in candidates for count in range(c.least, len(c.parameters) + 1)}
        if counts and len(arguments) not in counts:
            few = len(arguments) < min(counts)
            wanted = " or ".join(str(count) for count in sorted(counts))
            hint = f"'{name}' takes {wanted}, and here are {len(arguments)}"
            raise Fault(at, f"too {'few' if few else 'many'} arguments in function call", hint)
        what = "overloaded function" if candidates else "function template"
        raise Fault(
            at,
            f"no instance of {what} '{name}' matches the argument list",
            f"the argument types are ({given})",
        )

    def _ranks(self, candidate: Candidate, arguments: list[Value]) -> list[int] | None:
        """How well each argument fits; None where one does not, or where they are too few or too many."""
        if not candidate.least <= len(arguments) <= len(candidate.parameters) or candidate.object is None:
            return None
        ranks = [self._rank(a, p) for a, p in zip(arguments, candidate.parameters)]
        return None if None in ranks else [candidate.object, *(rank or 0 for rank in ranks)]

    def _rank(self, value: Value, parameter: ParameterType) -> int | None:
        rank = quality(value, parameter.type, parameter.reference)
        if rank is None and parameter.reference != "plain":
            return 5 if self.expressions.objects.converts(value, parameter.type) else None
        return rank

    def _beats(self, one: tuple[Candidate, list[int]], other: tuple[Candidate, list[int]]) -> bool:
        if any(a > b for a, b in zip(one[1], other[1])):
            return False
        if one[1] != other[1]:
            return True
        kinds = [(a.reference, b.reference) for a, b in zip(one[0].parameters, other[0].parameters)]
        if ("plain", "const") in kinds and ("const", "plain") not in kinds:
            return True  # what may be changed goes to the one that may change it
        if ("const", "plain") in kinds:
            return False
        return other[0].template and not one[0].template

    def _check_single(
        self, name: str, candidate: Candidate, arguments: list[Value], node: syntax.CallOf
    ) -> None:
        count, want = len(arguments), len(candidate.parameters)
        if not candidate.least <= count <= want:
            few = "few" if count < want else "many"
            here = f"here {'is' if count == 1 else 'are'} {count}"
            hint = f"'{name}' takes {want} argument{'s' * (want != 1)}, and {here}"
            raise Fault(node.at, f"too {few} arguments in function call", hint)
        for value, parameter, written in zip(arguments, candidate.parameters, node.arguments):
            if self._rank(value, parameter) is None:
                raise self._misfit(value, parameter, written.at)
        if candidate.object is None:
            message = "the object has type qualifiers that are not compatible with the member function"
            raise Fault(node.at, f"{message} '{name}'", "write const behind its parameters")

    def _misfit(self, value: Value, parameter: ParameterType, at: At) -> Fault:
        source = value.type
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
        if parameter.reference == "plain" and not isinstance(parameter.type, Group):
            return address(value, at)
        if parameter.reference == "const" and isinstance(parameter.type, Array):
            assert value.place is not None
            return address(Value(place=value.place, const=True), at)
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
        for default in signature.defaults[
            len(signature.defaults) - len(signature.parameters) + len(arguments) :
        ]:
            type_ = signature.parameters[len(passed)]
            passed.append(tree.Literal(at, type_, default))
        return tree.Intrinsic(at, signature.returns, signature.name, passed)

    # --------------------------------------------------------------------------- reads and writes of memory

    def _count(self, name: str, arguments: list[Value], want: int, takes: str, at: At) -> None:
        if len(arguments) != want:
            few = "few" if len(arguments) < want else "many"
            raise Fault(at, f"too {few} arguments in function call", f"{name} takes {takes}")

    def _cached_place(self, name: str, pointer: tree.Expression, at: At) -> tree.Place:
        """What a pointer to a number or to a vector points to."""
        hint = "it takes a pointer"
        if isinstance(pointer.type, Pointer):
            to = pointer.type.to
            if isinstance(to, Scalar) or (isinstance(to, Record) and to.vector):
                return tree.Deref(at, to, pointer)
            hint = "it takes a pointer to a number, or to a vector such as float4"
        message = f"no instance of overloaded function '{name}' matches the argument list"
        raise Fault(at, message, hint)

    def _cached_load(self, name: str, arguments: list[Value], at: At) -> Value:
        """A read that says which cache it means, which has no effect on its value."""
        self._count(name, arguments, 1, "a pointer", at)
        place = self._cached_place(name, rvalue(arguments[0]), at)
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
                raise self._misfit(value, ParameterType(kind), at)
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
                raise self._misfit(value, ParameterType(field.type), written.at)
            parts.append(part)
        return Value(tree.MakeRecord(node.at, record, parts))

    def template_name(self, node: syntax.Name) -> Value:
        """A template with its arguments, before it is called."""
        meaning = self.expressions.types.find(node)
        if meaning is None and node.name.startswith(OF_TEXTURES):
            raise unsupported(node.at, node.name)
        if not isinstance(meaning, Overloads) or not meaning.templates:
            raise Fault(node.at, f"'{node.name}' is not a template")
        return Value(
            function=meaning, name=node.name, object=self.expressions.members.object_of(meaning, node.at)
        )
