"""Types as they are written become types."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from warplens.errors import Fault, unsupported
from warplens.language import bfloat, groups, half, syntax
from warplens.language.check_context import Context
from warplens.language.check_hints import first_at
from warplens.language.conversion import Value, has_call, known
from warplens.language.parse_tokens import BUILT_IN_TYPES, REFUSED_TYPES
from warplens.language.scope import ClassTemplate, Meaning, NamespaceName, TypeMeaning
from warplens.language.types import Array, Enum, FunctionType, Group, Pointer, Record, Scalar, Type, Void

if TYPE_CHECKING:
    from warplens.language.check_expressions import ExpressionChecker


@dataclass(frozen=True)
class Written:
    """A type as declared: `const` and `volatile` are those of the thing itself, `reference` "", "&" or "&&".

    With `auto` the initial value gives the type: `type` is Void, or the pointer around it.
    """

    type: Type
    const: bool
    reference: str = ""
    auto: bool = False
    volatile: bool = False


class TypeChecker:
    """Needs expressions for the lengths of arrays."""

    def __init__(self, context: Context, expressions: ExpressionChecker) -> None:
        self.context, self.expressions = context, expressions

    def base(self, specifiers: syntax.Specifiers) -> Written:
        base = specifiers.base
        if base == "auto":
            return Written(Void(), specifiers.const, auto=True, volatile=specifiers.volatile)
        if isinstance(base, syntax.Name):
            if base.name.startswith(groups.PREFIX):
                return Written(self.expressions.calls.groups.type_named(base), specifiers.const)
            meaning = self.found_type(base)
            if isinstance(meaning, TypeMeaning):
                const, volatile = specifiers.const or meaning.const, specifiers.volatile or meaning.volatile
                return Written(meaning.type, const, volatile=volatile)
            if meaning is None and base.name in BUILT_IN_TYPES:
                kind = BUILT_IN_TYPES[base.name]
                return Written(kind, specifiers.const, volatile=specifiers.volatile)
            if meaning is None and base.name in REFUSED_TYPES:
                raise unsupported(base.at, f"{REFUSED_TYPES[base.name]} ('{base.name}')")
            if meaning is None and base.name in (*half.OTHER_TYPES, *bfloat.OTHER_TYPES):
                raise unsupported(base.at, base.name, "take half or __nv_bfloat16, one by one")
            raise Fault(base.at, f"'{base.name}' is not the name of a type")
        assert isinstance(base, Scalar | Void)
        return Written(base, specifiers.const, volatile=specifiers.volatile)

    def find(self, node: syntax.Name) -> Meaning | None:
        """What a name means, with what stands before it."""
        if node.of is None:
            return self.context.scope.find(node.name)
        if not node.of.name:
            return self.context.file.scope.member(node.name)
        outer = self.found_type(node.of)
        if isinstance(outer, NamespaceName):
            return outer.scope.member(node.name)
        if isinstance(outer, TypeMeaning) and isinstance(outer.type, Enum):
            return outer.type.constants.get(node.name)
        if isinstance(outer, TypeMeaning) and isinstance(outer.type, Record) and outer.type.members:
            if not outer.type.complete and node.name not in outer.type.members.scope.names:
                raise Fault(node.at, f"incomplete type '{outer.type}' is not allowed")
            found: Meaning | None = outer.type.members.scope.member(node.name)
            return found
        return None

    def found_type(self, node: syntax.Name) -> Meaning | None:
        """What a name means where a type stands: of a template, its instance."""
        meaning = self.find(node)
        if isinstance(meaning, ClassTemplate):
            if node.arguments is None:
                message = f"argument list for class template '{node.name}' is missing"
                raise Fault(node.at, message, f"write {node.name}<...>")
            declarations = self.context.file.declarations(self.context.scope, self.context.function)
            return declarations.classes.instance(meaning, node.arguments, node.at)
        if node.arguments is not None and isinstance(meaning, TypeMeaning):  # within the template itself
            template = meaning.type.members.template if isinstance(meaning.type, Record) else None
            if template is None:
                raise Fault(node.at, f"'{node.name}' is not a template")
            declarations = self.context.file.declarations(self.context.scope, self.context.function)
            return declarations.classes.instance(template, node.arguments, node.at)
        return meaning

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
        if isinstance(part, syntax.PointerPart) and isinstance(inner.type, Group):
            raise unsupported(at, "pointers to groups")
        if isinstance(part, syntax.PointerPart):
            pointer = Pointer(inner.type, inner.const, inner.volatile)
            return Written(pointer, part.const, auto=inner.auto, volatile=part.volatile)
        if isinstance(part, syntax.ReferencePart):
            if isinstance(inner.type, Void) and not inner.auto:
                raise Fault(at, "a reference to void is not allowed")
            return replace(inner, reference="&&" if part.rvalue else "&")
        if isinstance(part, syntax.FunctionPart):
            kinds = [self.written(p.specifiers, p.declarator) for p in part.parameters]
            if inner.auto or any(kind.reference or isinstance(kind.type, Array) for kind in kinds):
                raise unsupported(part.at, "pointers to functions of this kind")
            return Written(FunctionType(inner.type, tuple(kind.type for kind in kinds)), False)
        if isinstance(inner.type, Group):
            raise unsupported(part.at, "arrays of groups")
        if inner.auto:
            raise Fault(part.at, "an array of auto is not allowed", "write the type of the elements")
        if isinstance(inner.type, Void):
            raise Fault(part.at, "an array of void is not allowed")
        if isinstance(inner.type, Array) and inner.type.length is None:
            raise Fault(part.at, "only the first dimension of an array may be left out")
        length = None if part.length is None else self._length(part.length)
        return replace(inner, type=Array(inner.type, length))

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
