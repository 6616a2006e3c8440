"""Calls: which function is meant, and its arguments in the types of its parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cudasim.errors import At, Fault, unsupported
from cudasim.language import syntax, tree
from cudasim.language.check_context import Context
from cudasim.language.check_hints import type_hint
from cudasim.language.check_output import OutputChecker
from cudasim.language.conversion import Value, address, implicit, number, quality, rvalue
from cudasim.language.intrinsics import INTRINSICS, SAME_TYPE, Signature
from cudasim.language.preprocess import ASSERT
from cudasim.language.scope import FunctionName, Overloads, ParameterType
from cudasim.language.templates import deduced
from cudasim.language.types import HALF, VECTORS, Array, Pointer, Record, Void

if TYPE_CHECKING:
    from cudasim.language.check_expressions import ExpressionChecker


@dataclass(eq=False)
class Candidate:
    parameters: list[ParameterType]
    least: int
    target: FunctionName | Signature
    template: bool = False


class CallChecker:
    """Calls of functions, the source's own and those that are built in."""

    def __init__(self, context: Context, expressions: ExpressionChecker) -> None:
        self.context, self.expressions = context, expressions
        self.output = OutputChecker(context, expressions)

    def call(self, node: syntax.CallOf) -> Value:
        """A call of any kind."""
        at = node.at
        callee = self.expressions.value(node.function)
        if callee.function is None:
            hint = f"'{callee.name}' is no function" if callee.name else "a function's name stands before ("
            raise Fault(at, "expression preceding parentheses of apparent call must have function type", hint)
        if callee.name == ASSERT:
            return self.output.assertion(node)
        if callee.name == "printf":
            if callee.function.functions or callee.function.templates:
                raise unsupported(at, "functions of your own that are called printf", "take another name")
            return self.output.printf(node)
        if callee.name == "__ldg":
            return self._ldg([self._argument(argument) for argument in node.arguments], at)
        if (
            callee.name.startswith("make_")
            and not callee.function.functions
            and not callee.function.templates
        ):
            return self._make_vector(VECTORS[callee.name[5:]], node)
        arguments = [self._argument(argument) for argument in node.arguments]
        candidates = self._candidates(callee, node.function, arguments)
        chosen = self._choose(callee.name, candidates, arguments, node)
        if isinstance(chosen.target, Signature):
            return Value(self._intrinsic(chosen.target, arguments, at))
        return self._user_call(chosen, arguments, at)

    def _argument(self, node: syntax.Node) -> Value:
        if isinstance(node, syntax.Braces):
            raise unsupported(node.at, "braces as an argument", "name the type: float4{...}")
        return self.expressions.operand(node)

    # -------------------------------------------------------------------------------------------- candidates

    def _candidates(self, callee: Value, function: syntax.Node, arguments: list[Value]) -> list[Candidate]:
        assert callee.function is not None
        explicit = function.arguments if isinstance(function, syntax.Name) else None
        result: list[Candidate] = []
        if explicit is None:
            result = [
                Candidate(f.parameters, len(f.parameters) - f.defaults, f) for f in callee.function.functions
            ]
            own = [[parameter.type for parameter in one.parameters] for one in result]
            built_in = self._built_in_candidates(callee.name)
            result += [one for one in built_in if [p.type for p in one.parameters] not in own]
        for template in callee.function.templates:
            bindings = deduced(self.expressions, template.definition, explicit or [], arguments)
            if bindings is not None:
                f = self.context.file.functions.instance(template, bindings, function.at)
                result.append(Candidate(f.parameters, len(f.parameters) - f.defaults, f, True))
        return result

    def _built_in_candidates(self, name: str) -> list[Candidate]:
        signatures = INTRINSICS.get(name, ())
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
            if not candidate.least <= len(arguments) <= len(candidate.parameters):
                continue
            ranks = [quality(a, p.type, p.reference) for a, p in zip(arguments, candidate.parameters)]
            if None not in ranks:
                fitting.append((candidate, [rank or 0 for rank in ranks]))
        best = [
            one for one in fitting if all(self._beats(one, other) for other in fitting if other is not one)
        ]
        types = [rvalue(argument).type for argument in arguments]
        if len(best) == 1 and not any(type_ == HALF and rank for type_, rank in zip(types, best[0][1])):
            return best[0][0]
        if any(HALF in (type_, getattr(type_, "to", None)) for type_ in types):
            hint = "convert it first: __half2float(x) gives a float"
            raise unsupported(at, f"'{name}', which is overloaded, of a half", hint)
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

    def _beats(self, one: tuple[Candidate, list[int]], other: tuple[Candidate, list[int]]) -> bool:
        if any(a > b for a, b in zip(one[1], other[1])):
            return False
        return one[1] != other[1] or (other[0].template and not one[0].template)

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
            if quality(value, parameter.type, parameter.reference) is None:
                raise self._misfit(value, parameter, written.at)

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

    def _user_call(self, chosen: Candidate, arguments: list[Value], at: At) -> Value:
        target = chosen.target
        assert isinstance(target, FunctionName)
        self.context.file.functions.may_call(self.context.function, target, at)
        passed = [self.passed(value, parameter) for value, parameter in zip(arguments, target.parameters)]
        for parameter in target.definition_parameters()[len(arguments) :]:
            assert parameter.default is not None
            passed.append(self.context.file.functions.default_argument(target, parameter))
        assert target.function is not None
        return Value(tree.Call(at, target.returns, target.function, passed))

    def passed(self, value: Value, parameter: ParameterType) -> tree.Expression:
        """An argument as the function gets it."""
        at = (value.place or value.expression).at  # type: ignore[union-attr]
        if parameter.reference == "plain":
            return address(value, at)
        if parameter.reference == "const" and isinstance(parameter.type, Array):
            assert value.place is not None
            return address(Value(place=value.place, const=True), at)
        result = implicit(value, parameter.type)
        assert result is not None
        return result

    def _intrinsic(self, signature: Signature, arguments: list[Value], at: At) -> tree.Expression:
        self.context.needs_function(signature.name, at)
        passed: list[tree.Expression] = []
        for value, type_ in zip(arguments, signature.parameters):
            node = implicit(value, type_)
            assert node is not None
            passed.append(number(node, signature.returns) if signature.name in SAME_TYPE else node)
        for default in signature.defaults[
            len(signature.defaults) - len(signature.parameters) + len(arguments) :
        ]:
            type_ = signature.parameters[len(passed)]
            passed.append(tree.Literal(at, type_, default))
        return tree.Intrinsic(at, signature.returns, signature.name, passed)

    def _ldg(self, arguments: list[Value], at: At) -> Value:
        if len(arguments) != 1:
            raise Fault(
                at,
                f"too {'many' if arguments else 'few'} arguments in function call",
                "__ldg takes a pointer",
            )
        pointer = rvalue(arguments[0])
        if not isinstance(pointer.type, Pointer) or isinstance(pointer.type.to, Void | Pointer):
            raise Fault(
                at,
                "no instance of overloaded function '__ldg' matches the argument list",
                "it takes a pointer",
            )
        if isinstance(pointer.type.to, Record) and not pointer.type.to.vector:
            raise Fault(at, "no instance of overloaded function '__ldg' matches the argument list")
        return Value(tree.Load(at, pointer.type.to, tree.Deref(at, pointer.type.to, pointer)))

    # ------------------------------------------------------------------------------------------------ records

    def _make_vector(self, record: Record, node: syntax.CallOf) -> Value:
        values = [self._argument(argument) for argument in node.arguments]
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
        meaning = self.context.scope.find(node.name)
        if not isinstance(meaning, Overloads) or not meaning.templates:
            raise Fault(node.at, f"'{node.name}' is not a template")
        return Value(function=meaning, name=node.name)
