"""Types as they are written become types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cudasim.errors import Fault, unsupported
from cudasim.language import half, syntax
from cudasim.language.check_context import Context
from cudasim.language.check_hints import first_at
from cudasim.language.conversion import Value, has_call, known
from cudasim.language.parse_tokens import BUILT_IN_TYPES
from cudasim.language.scope import TypeMeaning
from cudasim.language.types import Array, Pointer, Scalar, Type, Void

if TYPE_CHECKING:
    from cudasim.language.check_expressions import ExpressionChecker


@dataclass(frozen=True)
class Written:
    """A type as declared: `const` is that of the thing itself, `reference` "", "&" or "&&".

    With `auto` the initial value gives the type: `type` is Void, or the pointer around it.
    """

    type: Type
    const: bool
    reference: str = ""
    auto: bool = False


class TypeChecker:
    """Needs expressions for the lengths of arrays."""

    def __init__(self, context: Context, expressions: ExpressionChecker) -> None:
        self.context, self.expressions = context, expressions

    def base(self, specifiers: syntax.Specifiers) -> Written:
        base = specifiers.base
        if base == "auto":
            return Written(Void(), specifiers.const, auto=True)
        if isinstance(base, syntax.Name):
            meaning = self.context.scope.find(base.name)
            if isinstance(meaning, TypeMeaning):
                return Written(meaning.type, specifiers.const or meaning.const)
            if meaning is None and base.name in BUILT_IN_TYPES:
                return Written(BUILT_IN_TYPES[base.name], specifiers.const)
            if meaning is None and base.name in half.OTHER_TYPES:
                raise unsupported(base.at, base.name, "take half, one by one")
            if meaning is None:
                raise unsupported(base.at, f"the struct '{base.name}' within itself")
            raise Fault(base.at, f"'{base.name}' is not the name of a type")
        assert isinstance(base, Scalar | Void)
        return Written(base, specifiers.const)

    def written(self, specifiers: syntax.Specifiers, declarator: syntax.Declarator) -> Written:
        """The type of a declarator without what makes it a function."""
        parts = declarator.parts
        if parts and isinstance(parts[0], syntax.FunctionPart):
            parts = parts[1:]
        result = self.base(specifiers)
        for part in reversed(parts):
            result = self._part(result, part, declarator)
        return result

    def _part(self, inner: Written, part: syntax.Part, declarator: syntax.Declarator) -> Written:
        at = declarator.at
        if inner.reference:
            raise Fault(at, "a pointer to a reference, or an array of references, is not allowed")
        if isinstance(part, syntax.PointerPart):
            return Written(Pointer(inner.type, inner.const), part.const, auto=inner.auto)
        if isinstance(part, syntax.ReferencePart):
            if isinstance(inner.type, Void) and not inner.auto:
                raise Fault(at, "a reference to void is not allowed")
            return Written(inner.type, inner.const, "&&" if part.rvalue else "&", inner.auto)
        if isinstance(part, syntax.FunctionPart):
            raise unsupported(part.at, "pointers to functions")
        if inner.auto:
            raise Fault(part.at, "an array of auto is not allowed", "write the type of the elements")
        if isinstance(inner.type, Void):
            raise Fault(part.at, "an array of void is not allowed")
        if isinstance(inner.type, Array) and inner.type.length is None:
            raise Fault(part.at, "only the first dimension of an array may be left out")
        length = None if part.length is None else self._length(part.length)
        return Written(Array(inner.type, length), inner.const)

    def _length(self, node: syntax.Node) -> int:
        length = self.constant_integer(
            node, "the length of an array is a number that is known when compiling"
        )
        if length <= 0:
            raise Fault(node.at, "the size of an array must be greater than zero", f"it is {length}")
        if length >= 1 << 40:
            raise Fault(node.at, "array is too large")
        return length

    def constant_integer(self, node: syntax.Node, hint: str) -> int:
        value = self.expressions.value(node)
        number = known(value)
        if number is None:
            self.no_calls(value, node)
            raise Fault(first_at(node), "expression must have a constant value", hint)
        if isinstance(number, float):
            raise Fault(first_at(node), "expression must have integral type", f"it has type '{value.type}'")
        return int(number)

    def no_calls(self, value: Value, node: syntax.Node) -> None:
        if value.expression is not None and has_call(value.expression):
            raise unsupported(first_at(node), "calling a function in a constant expression")

    def type_name(self, node: syntax.TypeName) -> Written:
        return self.written(node.specifiers, node.declarator)
