"""What values are made of: through variables, back to what these are set to."""

from __future__ import annotations

from typing import Any

from warplens.analysis.traversal import leaves, walk
from warplens.language.tree import (
    Assign,
    Declare,
    Expression,
    If,
    Increment,
    Loop,
    Switch,
    Variable,
    VariablePlace,
)


def termination_slice(loop: Loop) -> list[Any]:
    """What a loop's tests are made of, what the variables in them are set to within it, and whether."""
    inside = list(walk(loop.body))
    branches = [node for node in inside if isinstance(node, If | Switch)]
    tests = [loop.test] if loop.test is not None else []
    tests += [_condition(node) for node in branches if leaves(node)]
    while True:
        found = backward_slice(list(tests), inside)
        variables = {node.variable for node in found if isinstance(node, VariablePlace)}
        more = [_condition(n) for n in branches if _condition(n) not in tests and _set_in(n) & variables]
        if not more:
            return found
        tests += more


def _condition(node: If | Switch) -> Expression:
    return node.test if isinstance(node, If) else node.value


def _set_in(node: If | Switch) -> set[Variable]:
    return {n.place.variable for n in walk(node) if sets_variable(n)}


def backward_slice(todo: list[Any], nodes: list[Any]) -> list[Any]:
    """What some expressions are made of, and what `nodes` set the variables in them to."""
    given: dict[Variable, list[Expression]] = {}
    for node in nodes:
        if isinstance(node, Declare) and isinstance(node.initial, Expression):
            given.setdefault(node.variable, []).append(node.initial)
        elif isinstance(node, Assign) and isinstance(node.place, VariablePlace):
            given.setdefault(node.place.variable, []).append(node.value)
    found: list[Any] = []
    while todo:
        for node in walk(todo.pop()):
            found.append(node)
            if isinstance(node, VariablePlace):
                todo += given.pop(node.variable, [])
    return found


def sets_variable(node: Any) -> bool:
    return isinstance(node, Assign | Increment) and isinstance(node.place, VariablePlace)
