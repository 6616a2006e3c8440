"""Through which parameters a kernel presumably writes, from its tree.

Who skips work for arrays that are only read must still look: a pointer may take a way that is not followed.
"""

from __future__ import annotations

from typing import Any

from warplens.analysis.traversal import reachable, walk
from warplens.language.tree import (
    AddressOf,
    Assign,
    Call,
    Comma,
    Conditional,
    Convert,
    Decay,
    Declare,
    Deref,
    Function,
    Increment,
    Intrinsic,
    Load,
    MakeRecord,
    Member,
    MemberPlace,
    PointerAdd,
    Reinterpret,
    Variable,
    VariablePlace,
)
from warplens.language.types import Pointer

# Of each node, the parts that hand on a pointer.
_PARTS: dict[type, tuple[str, ...]] = {
    Load: ("place",), Deref: ("pointer",), Member: ("record",), MemberPlace: ("record",),
    PointerAdd: ("pointer",), AddressOf: ("place",), Decay: ("place",), Convert: ("operand",),
    Reinterpret: ("operand",), Conditional: ("yes", "no"), Comma: ("right",), Assign: ("place", "value"),
    Increment: ("place",),
}  # fmt: skip


def roots(node: Any) -> set[Variable]:
    """The variables that a pointer, or a place, comes from."""
    if isinstance(node, VariablePlace):
        return {node.variable}
    if isinstance(node, MakeRecord):
        parts = node.parts
    elif isinstance(node, Call):
        parts = node.arguments
    else:
        parts = [getattr(node, name) for name in _PARTS.get(type(node), ())]
    return set().union(*map(roots, parts))


def _behind_pointer(place: Any) -> bool:
    while isinstance(place, MemberPlace):
        place = place.record
    return isinstance(place, Deref)


def written_variables(kernel: Function) -> frozenset[Variable]:
    """The variables through which a kernel, or what it calls, writes to memory."""
    written: set[Variable] = set()
    sources: list[tuple[Variable, set[Variable]]] = []
    for function in reachable(kernel):
        for node in walk(function.body):
            if isinstance(node, Assign | Increment) and _behind_pointer(node.place):
                written |= roots(node.place)
            if isinstance(node, Intrinsic) and not node.name.startswith("__ld"):
                for argument in node.arguments:
                    if isinstance(argument.type, Pointer):
                        written |= roots(argument)
            if isinstance(node, Assign) and isinstance(node.place, VariablePlace | MemberPlace):
                sources += [(variable, roots(node.value)) for variable in roots(node.place)]
            elif isinstance(node, Declare) and node.initial is not None:
                sources.append((node.variable, roots(node.initial)))
            elif isinstance(node, Call):
                sources += [(p, roots(a)) for p, a in zip(node.function.parameters, node.arguments)]
    before = -1
    while before != len(written):
        before = len(written)
        for variable, origins in sources:
            if variable in written:
                written |= origins
    return frozenset(written)
