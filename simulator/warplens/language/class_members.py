"""What classes of the source have beside their fields: constructors, first values, conversions."""

from __future__ import annotations

from warplens.language import tree
from warplens.language.conversion import Value, implicit
from warplens.language.scope import FunctionName, Members, Overloads
from warplens.language.types import Array, Record, Type


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


def converts(value: Value, to: Type) -> bool:
    """Whether one of the source's own conversions makes a value one of another type."""
    if value.function is not None or (value.place is None and value.expression is None):
        return False
    if conversion_operators(value, to):
        return True
    members = members_of(to)
    return members is not None and to != value.type and takes(members.constructors, value)


def takes(constructors: Overloads, value: Value) -> bool:
    """Whether one of these constructors makes an object of this value, unasked."""
    return any(
        not f.explicit
        and f.parameters
        and len(f.parameters) - f.defaults <= 1
        and (f.parameters[0].reference != "plain" and implicit(value, f.parameters[0].type) is not None)
        for f in constructors.functions
    )


def conversion_operators(value: Value, to: Type | None, explicit: bool = False) -> list[FunctionName]:
    """The operators of the value's class that fit best to make a `to` of it; None: anything."""
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
