"""Where a mistake is shown, and what a beginner may have meant."""

from __future__ import annotations

from warplens.errors import At
from warplens.language import syntax
from warplens.language.types import Pointer, Record, Type, Void


def first_at(node: syntax.Node) -> At:
    """Where an expression begins."""
    while True:
        if isinstance(node, syntax.Infix | syntax.Assignment):
            node = node.left
        elif isinstance(node, syntax.Ternary):
            node = node.test
        elif isinstance(node, syntax.Index | syntax.Dot):
            node = node.base
        elif isinstance(node, syntax.Postfix):
            node = node.operand
        elif isinstance(node, syntax.CallOf):
            node = node.function
        else:
            return node.at


def type_hint(source: Type, to: Type) -> str:
    """What a beginner may have meant where `source` does not become `to`."""
    if isinstance(source, Void):
        return "the function returns nothing"
    if isinstance(source, Pointer) and isinstance(to, Pointer):
        if source.to == to.to and source.volatile > to.volatile:
            return f"it points to something volatile; where that does not matter, cast it: ({to})"
        if source.to == to.to:
            return "it points to something const; declare the other const as well"
        return f"reinterpret_cast<{to}>(...) if the same bytes are meant"
    if isinstance(source, Pointer) and source.to == to:
        return "write * or [...] to read what the pointer points to"
    if isinstance(to, Pointer) and to.to == source:
        return "write & before it to take its address"
    if isinstance(to, Record) and to.vector:
        return f"make_{to.name}(...) makes one"
    return ""
