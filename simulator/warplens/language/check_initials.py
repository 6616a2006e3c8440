"""First values of variables, and values in braces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warplens.errors import At, Fault, unsupported
from warplens.language import syntax, tree
from warplens.language.check_hints import first_at, type_hint
from warplens.language.check_objects import has_constructors, members_of, needs_making
from warplens.language.conversion import Value, implicit, only_copied, rvalue
from warplens.language.types import DIM3, PAIRS, UINT, Array, Group, Record, Type, Void

if TYPE_CHECKING:
    from warplens.language.check_expressions import ExpressionChecker

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
        result = self.expressions.objects.converted(value, type_, at)
        if result is None:
            if value.function is not None:
                raise unsupported(at, f"the function '{value.name}' as a value", "take auto, or a template")
            source = rvalue(value).type
            message = f"a value of type '{source}' cannot be used to initialize an entity of type '{type_}'"
            raise Fault(at, message, type_hint(source, type_))
        return result

    def _constructed(self, type_: Type, node: syntax.Braces) -> tree.Expression:
        if type_ == DIM3:
            return self._dim3(node)
        if type_ in PAIRS and len(node.parts) == 2:
            return self.braces_value(node, type_)
        if has_constructors(type_) or (len(node.parts) == 1 and members_of(type_) is not None):
            return self._object(type_, node, "(")
        raise Fault(
            node.at, f"no constructor of '{type_}' takes {len(node.parts)} values", "use braces: {a, b}"
        )

    def make(self, node: syntax.Make) -> Value:
        """`type{...}` and `type(...)`."""
        written = self.expressions.types.type_name(node.type)
        braces = syntax.Braces(node.at, node.parts)
        if isinstance(written.type, Void) and not node.parts:
            raise Fault(node.at, "a value of type void has no use")
        if isinstance(written.type, Record) and not written.type.complete:
            raise Fault(node.at, f"incomplete type '{written.type}' is not allowed")
        if not node.braces and node.parts:
            return Value(self._constructed(written.type, braces))
        if not node.parts and needs_making(written.type):
            return Value(self._object(written.type, braces, "{"))
        if has_constructors(written.type):
            return Value(self._object(written.type, braces, "{"))
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
        if has_constructors(to) and (node.parts or needs_making(to)):
            return self._object(to, node, "=")
        if isinstance(to, Group) and len(node.parts) != 1:
            raise unsupported(node.at, f"a {to} in braces")
        if isinstance(to, Record):
            parts = list(node.parts)
            if len(parts) == 1 and not isinstance(parts[0], syntax.Braces):
                value = self.expressions.operand(parts[0])
                if value.type == to:
                    return rvalue(value)
            written = [part for part in parts if to in PAIRS and not isinstance(part, syntax.Braces)]
            if any(only_copied(self.expressions.operand(part)) for part in written):
                message = f"no instance of constructor '{to}' matches: one of its parts is volatile"
                raise Fault(node.at, message, "copy it first")
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
        if isinstance(to, Array):
            return tree.MakeArray(at, to, [self.zero(to.of, at) for _ in range(to.length or 0)])
        if isinstance(to, Group):
            raise Fault(at, f"no default constructor exists for class '{to}'")
        if isinstance(to, Record):
            fields = to.fields[:1] if to.union else to.fields
            return tree.MakeRecord(at, to, [self.zero(field.type, at) for field in fields])
        value = implicit(Value(tree.Literal(at, UINT, 0), null=True), to)
        if value is None:
            raise Fault(at, f"a value of type '{to}' cannot be made of nothing")
        return value

    def _record(self, record: Record, parts: list[syntax.Node], at: At) -> tree.Expression:
        values: list[tree.Expression] = []
        members = members_of(record)
        for field in record.fields[:1] if record.union else record.fields:
            if parts:
                values.append(self._value(field.type, self._next(field.type, parts), at))
            elif members is not None and field.name in members.defaults:
                with self.expressions.context.inside(members.scope):
                    given = self.initial(field.type, members.defaults[field.name])
                values.append(self._value(field.type, given, at))
            elif needs_making(field.type) and has_constructors(field.type):
                values.append(self._object(field.type, syntax.Braces(at, []), "{"))
            else:
                values.append(self.zero(field.type, at))
        return tree.MakeRecord(at, record, values)

    def _object(self, type_: Type, node: syntax.Braces, style: str) -> tree.Expression:
        """A value of a class that something must be done for."""
        one = syntax.One(syntax.Declarator(node.at, "", []), node, style)
        if style == "(" and len(node.parts) == 1:
            one.initial = node.parts[0]
        return rvalue(self.expressions.objects.value(type_, one, node.at))

    def array_value(self, type_: Array, node: syntax.Braces) -> tree.Expression:
        """An array that is part of an object, from braces."""
        return self._value(type_, self._array(type_, node), node.at)

    def _value(self, type_: Type, given: Initial, at: At) -> tree.Expression:
        """The same with zeros for what is not given."""
        if not isinstance(given, list):
            return given
        assert isinstance(type_, Array)
        parts = [self._value(type_.of, part, at) for part in given]  # type: ignore[arg-type]
        parts += [self.zero(type_.of, at) for _ in range((type_.length or 0) - len(parts))]
        return tree.MakeArray(at, type_, parts)

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
            if implicit(value, type_) is None and not self.expressions.objects.converts(value, type_):
                return self._record(type_, parts, parts[0].at)
        return self._element(type_, parts.pop(0))

    def _element(self, to: Type, node: syntax.Node) -> tree.Expression:
        # NVRTC lets braces narrow, with a warning
        value = self.expressions.operand(node)
        result = self.converted(value, to, first_at(node))
        return result
