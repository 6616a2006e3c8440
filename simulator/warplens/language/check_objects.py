"""Objects of classes: their constructors, what they hold at first, and those without a name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warplens.errors import At, Fault, unsupported
from warplens.language import syntax, tree
from warplens.language.check_context import Context
from warplens.language.check_pointers import target_of
from warplens.language.conversion import Value, implicit, rvalue
from warplens.language.scope import FunctionName, Members, Overloads
from warplens.language.types import BOOL, INT, Array, Pointer, Record, Type

if TYPE_CHECKING:
    from warplens.language.check_expressions import ExpressionChecker

MOST_CONSTRUCTED = 256  # elements of one array


def members_of(type_: Type) -> Members | None:
    """What stands in a class of the source beside its fields."""
    return type_.members if isinstance(type_, Record) else None


def has_constructors(type_: Type) -> bool:
    """Whether a value of this type is made by a constructor of the source's own."""
    members = members_of(type_)
    return members is not None and bool(members.constructors.functions or members.constructors.templates)


def needs_making(type_: Type) -> bool:
    """Whether something must be done where no first value is given."""
    if isinstance(type_, Array):
        return needs_making(type_.element)
    members = members_of(type_)
    if members is None or not isinstance(type_, Record):
        return False
    return (
        (has_constructors(type_) and not members.default)
        or bool(members.defaults)
        or (not type_.union and any(needs_making(field.type) for field in type_.fields))
    )


def own_assignment(type_: Type) -> bool:
    """Whether objects of a class are assigned by an operator of its own, or a part of them."""
    members = members_of(type_)
    if members is None or not isinstance(type_, Record):
        return False
    return "operator=" in members.scope.names or any(own_assignment(field.type) for field in type_.fields)


class ObjectChecker:
    """First values of objects, as expressions that write to them."""

    def __init__(self, context: Context, expressions: ExpressionChecker) -> None:
        self.context, self.expressions = context, expressions

    # ------------------------------------------------------------------------------------------- first values

    def made(self, place: tree.Place, one: syntax.One | None, at: At) -> list[tree.Expression]:
        """What gives a place its first value, as `one` says; without it, its default."""
        type_ = place.type
        if one is None or not one.style:
            return self._default(place, at)
        node = one.initial
        assert node is not None
        parts = node.parts if isinstance(node, syntax.Braces) else [node]
        if has_constructors(type_) and (parts or not members_of(type_).default):  # type: ignore[union-attr]
            if len(parts) == 1 and not isinstance(parts[0], syntax.Braces):
                value = self.expressions.operand(parts[0])
                if value.type == type_:
                    return [tree.Assign(at, type_, place, rvalue(value))]
                if one.style == "=" and not isinstance(node, syntax.Braces):
                    result = self.expressions.initials.converted(value, type_, parts[0].at)
                    return [tree.Assign(at, type_, place, result)]
            explicit = not (one.style == "=" and isinstance(node, syntax.Braces))
            return [self._construct(place, parts, at, explicit)]
        if isinstance(type_, Array):
            return self._array(place, node, at)
        if not parts and isinstance(type_, Record):
            return [
                tree.Assign(at, type_, place, self.expressions.initials.zero(type_, at)),
                *self._default(place, at),
            ]
        value_ = self.expressions.initials.initial(type_, one)
        assert isinstance(value_, tree.Expression)
        return [tree.Assign(at, type_, place, value_)]

    def _array(self, place: tree.Place, node: syntax.Node, at: At) -> list[tree.Expression]:
        """An array within an object, from braces."""
        type_ = place.type
        assert isinstance(type_, Array)
        if not isinstance(node, syntax.Braces):
            raise Fault(at, "an array is initialized with values in braces")
        value = self.expressions.initials.array_value(type_, node)
        return [tree.Assign(at, type_, place, value)]

    def _default(self, place: tree.Place, at: At) -> list[tree.Expression]:
        type_ = place.type
        if not needs_making(type_):
            return []
        if isinstance(type_, Array):
            return self._each(place, type_, at)
        assert isinstance(type_, Record)
        members: Members = type_.members
        if has_constructors(type_) and not members.default:
            return [self._construct(place, [], at)]
        result: list[tree.Expression] = []
        for field in type_.fields:
            part = tree.MemberPlace(at, field.type, place, field.name)
            one = members.defaults.get(field.name)
            if one is None:
                result += self._default(part, at)
            else:
                with self.context.inside(members.scope):
                    result += self.made(part, one, at)
        return result

    def _each(self, place: tree.Place, type_: Array, at: At) -> list[tree.Expression]:
        """The elements of an array, one after the other."""
        length = type_.length or 0
        if length * (type_.size // type_.element.size) // length > MOST_CONSTRUCTED:
            raise unsupported(at, f"an array of more than {MOST_CONSTRUCTED} objects with constructors")
        result: list[tree.Expression] = []
        for i in range(length):
            result += self._default(element(place, type_, i, at), at)
        return result

    def _construct(
        self, place: tree.Place, parts: list[syntax.Node], at: At, explicit: bool = True
    ) -> tree.Expression:
        """A call of the constructor that takes these values."""
        members = members_of(place.type)
        assert members is not None
        if (
            not parts
            and not members.constructors.templates
            and not any(len(f.parameters) == f.defaults for f in members.constructors.functions)
        ):
            message = f"no default constructor exists for class '{place.type}'"
            raise Fault(at, message, "give it values, or write a constructor without parameters")
        function = Value(function=members.constructors, name=str(place.type), object=Value(place=place))
        call = syntax.CallOf(at, syntax.Name(at, str(place.type)), parts)
        return rvalue(self.expressions.calls.constructor(function, call, explicit))

    def first_values(self, name: FunctionName) -> list[tree.Statement]:
        """What a constructor does before its body: `: x(1), y{2}`, and the first values of other fields."""
        assert name.owner is not None
        members: Members = name.owner.members
        written = {one.declarator.name: one for one in name.definition.initials}
        for field_name, one in written.items():
            if name.owner.field(field_name) is None:
                message = f"'{field_name}' is not a nonstatic data member of class '{name.owner}'"
                raise Fault(one.declarator.at, message)
        this = self.context.file.methods.this(name, name.at)
        assert this.place is not None
        result: list[tree.Statement] = []
        for field in name.owner.fields:
            place = tree.MemberPlace(name.at, field.type, this.place, field.name)
            given = written.get(field.name)
            default = members.defaults.get(field.name)
            if given is not None:
                at = given.declarator.at
                steps = self.made(place, _simple(given), at)
            elif name.owner.union:
                steps = []
            elif default is not None:
                with self.context.inside(members.scope):
                    steps = self.made(place, default, name.at)
            else:
                steps = self._default(place, name.at)
            result += [tree.Evaluate(step.at, step) for step in steps]
        return result

    # --------------------------------------------------------------------------------------- without a name

    def temporary(self, type_: Type, at: At) -> tree.VariablePlace:
        """A place for a value without a name."""
        function = self.context.function
        if function is None:
            raise unsupported(at, "an object that is made outside of functions")
        variable = tree.Variable("<temporary>", type_, "register", at)
        function.temporaries.append(variable)
        return tree.VariablePlace(at, type_, variable)

    def value(self, type_: Type, one: syntax.One, at: At) -> Value:
        """`Type(a, b)` and `Type{a, b}` of a class whose values something must be done for."""
        place = self.temporary(type_, at)
        result: tree.Expression = tree.Load(at, type_, place)
        for step in reversed(self.made(place, one, at)):
            result = tree.Comma(at, type_, step, result)
        return Value(result)

    def stored(self, value: Value, at: At) -> tuple[tree.Expression, tree.Place]:
        """A value in a place, and what puts it there."""
        place = self.temporary(value.type, at)
        return tree.Assign(at, value.type, place, rvalue(value)), place

    # ------------------------------------------------------------------------------------------- conversions

    def converted(self, value: Value, to: Type, at: At) -> tree.Expression | None:
        """By a rule of the language, an operator of the value's class, or a constructor of the other."""
        if value.function is not None:
            return None
        result = implicit(value, to)
        if result is not None:
            return result
        if target_of(value.type) is not None and target_of(to) is not None:
            raise unsupported(
                at, "a pointer to a function that changes", "choose with if, and call each by its name"
            )
        found = self._conversion(value, to, at)
        if found is not None:
            return implicit(found, to)
        members = members_of(to)
        if members is None or not self._takes(members.constructors, value):
            return None
        place = self.temporary(to, at)
        function = Value(function=members.constructors, name=str(to), object=Value(place=place))
        call = rvalue(self.expressions.calls.construct_from(function, value, at))
        return tree.Comma(at, to, call, tree.Load(at, to, place))

    def converts(self, value: Value, to: Type) -> bool:
        """Whether one of the source's own conversions makes a value one of another type."""
        if value.function is not None or (value.place is None and value.expression is None):
            return False
        if self._operators(value, to):
            return True
        members = members_of(to)
        return members is not None and to != value.type and self._takes(members.constructors, value)

    def _takes(self, constructors: Overloads, value: Value) -> bool:
        return any(
            not f.explicit
            and f.parameters
            and len(f.parameters) - f.defaults <= 1
            and (f.parameters[0].reference != "plain" and implicit(value, f.parameters[0].type) is not None)
            for f in constructors.functions
        )

    def truth(self, value: Value, at: At) -> Value:
        """A condition: operators that are explicit count too."""
        if value.function is not None or not isinstance(value.type, Record):
            return value
        found = self._operators(value, BOOL, explicit=True)
        return self.expressions.calls.of_method(found[0], value, at) if len(found) == 1 else value

    def _operators(self, value: Value, to: Type | None, explicit: bool = False) -> list[FunctionName]:
        members = members_of(value.type)
        fitting: list[tuple[int, FunctionName]] = []
        for operator in members.conversions if members else []:
            if (operator.explicit and not explicit) or (value.const and not operator.const):
                continue
            made = Value(tree.Literal(operator.at, operator.returns, 0))
            if to is None or operator.returns == to or implicit(made, to) is not None:
                fitting.append((0 if operator.returns == to else 1, operator))
        best = min((rank for rank, _ in fitting), default=0)
        chosen = [operator for rank, operator in fitting if rank == best]
        if len(chosen) > 1 and not value.const:
            chosen = [operator for operator in chosen if not operator.const] or chosen
        return chosen

    def _conversion(self, value: Value, to: Type | None, at: At) -> Value | None:
        found = self._operators(value, to)
        if len(found) != 1:
            return None
        return self.expressions.calls.of_method(found[0], value, at)

    def plain(self, value: Value, at: At) -> Value:
        """An operand of a built-in operator: of a class with one conversion, what that gives."""
        if value.function is not None or not isinstance(value.type, Record):
            return value
        return self._conversion(value, None, at) or value


def element(place: tree.Place, type_: Array, i: int, at: At) -> tree.Place:
    """An element of an array."""
    pointer = tree.Decay(at, Pointer(type_.of), place)
    index = tree.PointerAdd(at, pointer.type, pointer, tree.Literal(at, INT, i))
    return tree.Deref(at, type_.of, index)


def _simple(one: syntax.One) -> syntax.One:
    """`x(1)` as x = 1 would be read; more values stay together."""
    node = one.initial
    if one.style == "(" and isinstance(node, syntax.Braces) and len(node.parts) == 1:
        return syntax.One(one.declarator, node.parts[0], "(")
    if one.style == "(" and isinstance(node, syntax.Braces) and not node.parts:
        return syntax.One(one.declarator, node, "{")
    return one
