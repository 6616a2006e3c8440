"""First values of variables, and values in braces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim.errors import At, Fault, unsupported
from cudasim.language import syntax, tree
from cudasim.language.check_hints import first_at, type_hint
from cudasim.language.conversion import Value, implicit, rvalue
from cudasim.language.types import DIM3, UINT, Array, Record, Type, Void

if TYPE_CHECKING:
    from cudasim.language.check_expressions import ExpressionChecker

Initial = tree.Expression | list[object]


class InitialChecker:
    """First values of variables, and values in braces."""

    def __init__(self, expressions: ExpressionChecker) -> None:
        self.expressions = expressions

    def initial(self, type_: Type, one: syntax.One) -> Initial:
        """The first value of a variable; of an array, the list of its elements' values."""
        node = one.initial
        assert node is not None
        if isinstance(node, syntax.Braces):
            if one.style == "(":
                return self._constructed(type_, node)
            if isinstance(type_, Array):
                return self._array(type_, node)
            return self.braces_value(node, type_)
        if isinstance(type_, Array):
            if isinstance(node, syntax.Text):
                raise unsupported(node.at, "strings")
            hint = "the values of an array stand in braces: {1, 2, 3}"
            raise Fault(first_at(node), "an array is initialized with values in braces", hint)
        return self.converted(self.expressions.operand(node), type_, first_at(node))

    def converted(self, value: Value, type_: Type, at: At) -> tree.Expression:
        """A value in the type of the variable that it is for."""
        result = implicit(value, type_)
        if result is None:
            source = rvalue(value).type
            message = f"a value of type '{source}' cannot be used to initialize an entity of type '{type_}'"
            raise Fault(at, message, type_hint(source, type_))
        return result

    def _constructed(self, type_: Type, node: syntax.Braces) -> tree.Expression:
        if type_ == DIM3:
            return self._dim3(node)
        raise Fault(
            node.at, f"no constructor of '{type_}' takes {len(node.parts)} values", "use braces: {a, b}"
        )

    def make(self, node: syntax.Make) -> Value:
        """`type{...}` and `type(...)`."""
        written = self.expressions.types.type_name(node.type)
        braces = syntax.Braces(node.at, node.parts)
        if isinstance(written.type, Void) and not node.parts:
            raise Fault(node.at, "a value of type void has no use")
        if not node.braces and node.parts:
            return Value(self._constructed(written.type, braces))
        return Value(self.braces_value(braces, written.type))

    def _dim3(self, node: syntax.Braces) -> tree.Expression:
        if len(node.parts) > 3:
            raise Fault(node.at, "too many values: a dim3 has x, y and z")
        parts: list[tree.Expression] = []
        for part in node.parts:
            parts.append(self.converted(self.expressions.operand(part), UINT, part.at))
        while len(parts) < 3:
            parts.append(tree.Literal(node.at, UINT, 1))
        return tree.MakeRecord(node.at, DIM3, parts)

    def braces_value(self, node: syntax.Braces, to: Type) -> tree.Expression:
        """What stands in braces, as one value."""
        if to == DIM3:
            return self._dim3(node)
        if isinstance(to, Record):
            parts = list(node.parts)
            if len(parts) == 1 and not isinstance(parts[0], syntax.Braces):
                value = self.expressions.operand(parts[0])
                if value.type == to:
                    return rvalue(value)
            result = self._record(to, parts, node.at)
            self._none_left(parts)
            return result
        if len(node.parts) > 1:
            raise Fault(node.parts[1].at, "too many initializer values", f"a variable of type '{to}' has one")
        if not node.parts:
            return self.zero(to, node.at)
        if isinstance(node.parts[0], syntax.Braces):
            raise unsupported(node.at, "braces within braces for a single value")
        return self._element(to, node.parts[0])

    def zero(self, to: Type, at: At) -> tree.Expression:
        """What empty braces stand for."""
        if isinstance(to, Record):
            return tree.MakeRecord(at, to, [self.zero(field.type, at) for field in to.fields])
        value = implicit(Value(tree.Literal(at, UINT, 0), null=True), to)
        if value is None:
            raise Fault(at, f"a value of type '{to}' cannot be made of nothing")
        return value

    def _record(self, record: Record, parts: list[syntax.Node], at: At) -> tree.Expression:
        values: list[tree.Expression] = []
        for field in record.fields:
            if not parts:
                values.append(self.zero(field.type, at))
            else:
                value = self._next(field.type, parts)
                assert isinstance(value, tree.Expression)
                values.append(value)
        return tree.MakeRecord(at, record, values)

    def _array(self, type_: Array, node: syntax.Braces) -> list[object]:
        parts = list(node.parts)
        if type_.length is None and not parts:
            raise Fault(node.at, "an array of unknown length needs at least one value")
        result = self._elements(type_, parts)
        self._none_left(parts)
        return result

    def _none_left(self, parts: list[syntax.Node]) -> None:
        if parts:
            raise Fault(first_at(parts[0]), "too many initializer values")

    def _elements(self, type_: Array, parts: list[syntax.Node]) -> list[object]:
        result: list[object] = []
        while parts and (type_.length is None or len(result) < type_.length):
            result.append(self._next(type_.of, parts))
        return result

    def _next(self, type_: Type, parts: list[syntax.Node]) -> Initial:
        """Takes what the next element needs off `parts`: braces of its own may be left out."""
        if isinstance(parts[0], syntax.Braces):
            part = parts.pop(0)
            assert isinstance(part, syntax.Braces)
            return self._array(type_, part) if isinstance(type_, Array) else self.braces_value(part, type_)
        if isinstance(type_, Array):
            return self._elements(type_, parts)
        if isinstance(type_, Record):
            value = self.expressions.operand(parts[0])
            if implicit(value, type_) is None:
                return self._record(type_, parts, parts[0].at)
        return self._element(type_, parts.pop(0))

    def _element(self, to: Type, node: syntax.Node) -> tree.Expression:
        # NVRTC lets braces narrow, with a warning
        value = self.expressions.operand(node)
        result = self.converted(value, to, first_at(node))
        return result
