"""Which tests stand guard over a line: conditions that compare sizes, and let it through."""

from __future__ import annotations

from warplens.analysis.traversal import leaves, reachable, walk
from warplens.language.tree import Binary, Block, Function, If, Loop, Return, Statement, Switch

__all__ = ["guard_lines"]

Lines = tuple[int, ...]


def guard_lines(kernel: Function) -> dict[int, Lines]:
    """By line, the lines of its guards, the innermost first: `if`, and loops over what they repeat."""
    found: dict[int, Lines] = {}
    for function in reachable(kernel):
        if function.body is not None:
            _visit(function.body, (), found)
    return found


def _visit(node: Statement, outer: Lines, found: dict[int, Lines]) -> None:
    if isinstance(node, Block):
        _sequence(node.statements, outer, found)
    elif isinstance(node, If):
        inner = _and(node, outer)
        _mark(node.test, outer, found)
        _visit(node.yes, inner, found)
        if node.no is not None:
            _visit(node.no, inner, found)
    elif isinstance(node, Loop):
        for part in node.initial:
            _visit(part, outer, found)
        _visit(node.body, _and(node, outer), found)
    elif isinstance(node, Switch):
        _mark(node.value, outer, found)
        for case in node.cases:
            _sequence(case.statements, outer, found)
    else:
        _mark(node, outer, found)


def _sequence(nodes: list[Statement], outer: Lines, found: dict[int, Lines]) -> None:
    """`if (i >= n) return;` guards what comes after it."""
    for node in nodes:
        _visit(node, outer, found)
        if isinstance(node, If) and node.no is None and leaves(node.yes) and _returns(node.yes):
            outer = _and(node, outer)


def _returns(node: Statement) -> bool:
    return any(isinstance(n, Return) for n in walk(node))


def _and(node: If | Loop, outer: Lines) -> Lines:
    if isinstance(node, If) and node.no is not None:  # it chooses between two ways, and guards neither
        return outer
    compares = any(isinstance(n, Binary) and n.op in ("<", "<=", ">", ">=") for n in walk(node.test))
    return (node.at.line, *outer) if compares else outer


def _mark(node: object, outer: Lines, found: dict[int, Lines]) -> None:
    for n in walk(node):
        if outer and hasattr(n, "at"):
            found[n.at.line] = outer
