"""What a function uses: nodes, intrinsics, functions that it calls; and which statements lanes may leave."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from warplens.language.tree import (
    Block,
    Break,
    Call,
    Case,
    Continue,
    Declare,
    Expression,
    Function,
    If,
    Intrinsic,
    Loop,
    Place,
    Return,
    Statement,
    Switch,
    Variable,
    VariablePlace,
)

_NODES = (Expression, Place, Statement, Case)


def walk(node: Any) -> Iterator[Any]:
    """All nodes below one, it included (not the bodies of functions that are called)."""
    yield node
    if isinstance(node, Function | Variable) or not hasattr(node, "__dict__"):
        return
    stack = [*reversed(vars(node).values())]
    while stack:  # no recursion: a tree of many levels would pass each node through a generator a level
        top = stack.pop()
        if isinstance(top, list):
            stack.extend(reversed(top))
        elif isinstance(top, _NODES):
            yield top
            stack.extend(reversed(vars(top).values()))


# A tree is complete when it is surveyed, and several programs are made of one.
_once = lru_cache(maxsize=256)


@_once
def used_intrinsics(function: Function) -> frozenset[str]:
    """The names of all intrinsics that a function uses, itself or by what it calls."""
    seen: set[int] = set()
    names: set[str] = set()
    stack = [function]
    while stack:
        f = stack.pop()
        if id(f) in seen or f.body is None:
            continue
        seen.add(id(f))
        for node in walk(f.body):
            if isinstance(node, Intrinsic):
                names.add(node.name)
            elif isinstance(node, Call):
                stack.append(node.function)
    return frozenset(names)


@_once
def reachable(function: Function) -> tuple[Function, ...]:
    """A kernel and all functions that it calls."""
    found: list[Function] = []
    stack = [function]
    while stack:
        f = stack.pop()
        if f in found or f.body is None:
            continue
        found.append(f)
        stack += [node.function for node in walk(f.body) if isinstance(node, Call)]
    return tuple(found)


@_once
def shared_in(function: Function) -> tuple[Variable, ...]:
    """The __shared__ variables that a function declares or uses."""
    found: list[Variable] = []
    for node in walk(function.body):
        if isinstance(node, Declare | VariablePlace) and node.variable.storage in ("shared", "dynamic"):
            found.append(node.variable)
    return tuple(dict.fromkeys(found))


BARRIERS = {"__syncthreads", "__syncthreads_count", "__syncthreads_and", "__syncthreads_or"}


def has_barriers(f: Function) -> bool:
    """Whether its warps wait for each other."""
    return not BARRIERS.isdisjoint(used_intrinsics(f))


def leaves(node: Any) -> bool:
    """Whether lanes may leave a statement by return, break or continue that lead out of it."""
    if isinstance(node, Return | Break | Continue):
        return True
    if isinstance(node, Loop | Switch):
        inner = [n for n in walk(node) if isinstance(n, Return)]
        if inner:
            return True
        return isinstance(node, Switch) and any(isinstance(n, Continue) for n in walk(node))
    if isinstance(node, Block):
        return any(leaves(n) for n in node.statements)
    if isinstance(node, If):
        return leaves(node.yes) or (node.no is not None and leaves(node.no))
    return False


def own(node: Any, kind: type) -> Iterator[Any]:
    """The break or continue statements that mean this loop, and not one within it."""
    if isinstance(node, kind):
        yield node
    elif isinstance(node, Block):
        for n in node.statements:
            yield from own(n, kind)
    elif isinstance(node, If):
        yield from own(node.yes, kind)
        if node.no is not None:
            yield from own(node.no, kind)
    elif isinstance(node, Switch) and kind is Continue:
        for case in node.cases:
            for n in case.statements:
                yield from own(n, kind)


def leaves_loop(body: Statement) -> bool:
    """Whether lanes may leave a loop, or an iteration of it, from within its body."""
    return any(isinstance(n, Return) for n in walk(body)) or any(
        True for kind in (Break, Continue) for _ in own(body, kind)
    )
