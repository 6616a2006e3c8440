"""Loops that never end: what decides whether a loop is left, and a look at it now and then while it runs.

`decisions` finds, before a run, the registers on which the end of a loop depends. Where an iteration leaves
these as they were, the same lanes go round and what is read of memory has not changed, the next iteration is
the same again, and the loop has no end. That is a proof. Where there is none, a loop that comes nearer to its
end is left alone, and another one is stopped by the clock (`Launch.patience`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from warplens.analysis.traversal import BARRIERS, has_barriers, own, walk
from warplens.engine.memory import LanePointer, Value
from warplens.engine.places import PlaceWriter, in_memory
from warplens.language.tree import (
    AddressOf,
    Assign,
    Binary,
    Block,
    Break,
    Call,
    Case,
    Comma,
    Conditional,
    Continue,
    Convert,
    Decay,
    Declare,
    Evaluate,
    Expression,
    If,
    Increment,
    Intrinsic,
    Literal,
    Load,
    Logical,
    Loop,
    MakeRecord,
    Member,
    MemberPlace,
    PointerAdd,
    PointerDifference,
    Reinterpret,
    Return,
    Special,
    Statement,
    Switch,
    Unary,
    Variable,
    VariablePlace,
)
from warplens.language.types import Scalar

READ_ONCE = (
    "the compiler may read this memory once, as nothing says that another thread changes it, and then it "
    "never ends: wait by an atomic, or read it through a volatile pointer"
)
FIRST, EACH = 64, 256  # iterations until the first look (those of a tile are fewer), and between later ones
UNHURRIED = 256  # so many iterations the clock leaves alone


# What hangs on registers alone; and the statements whose conditions `_conditions` knows.
_OF_REGISTERS = (
    AddressOf, Assign, Binary, Case, Comma, Conditional, Convert, Decay, Increment, Literal, Load, Logical,
    MakeRecord, Member, MemberPlace, PointerAdd, PointerDifference, Reinterpret, Special, Unary,
    VariablePlace,
)  # fmt: skip
_STATEMENTS = (Block, Break, Continue, Declare, Evaluate, If, Loop, Return, Switch)


# ------------------------------------------------------------------------------------------- before a run


@dataclass
class Decisions:
    """What the end of a loop hangs on: registers from outside of it that it changes, and maybe memory."""

    registers: list[Variable]
    memory: bool


def decisions(node: Loop, places: PlaceWriter) -> Decisions | None:
    """What decides about a loop; None where that cannot be told, as where warps wait for each other."""
    parts = [part for part in (node.test, node.step, node.body) if part is not None]
    nodes = [n for part in parts for n in walk(part)]
    if not all(isinstance(n, _STATEMENTS) for n in nodes if isinstance(n, Statement)):
        return None
    leaves = any(isinstance(n, Return) for n in nodes) or any(True for _ in own(node.body, Break))
    asked = _conditions(nodes)
    inner = {n.variable for n in nodes if isinstance(n, Declare)}
    written: dict[Variable, list[Any]] = {}
    for n in nodes:
        if isinstance(n, Assign | Increment) and (found := places.register(n.place)):
            written.setdefault(found[0], []).append(n)
        elif isinstance(n, Call) and n.object is not None and (found := places.register(n.object)):
            written.setdefault(found[0], []).append(n)  # a method may change its object
        elif isinstance(n, Declare):
            written.setdefault(n.variable, []).append(n.initial)
    todo: list[Any] = [*([] if always(node.test) else [node.test]), *(asked if leaves else [])]
    seen: set[int] = set()
    reached: dict[Variable, None] = {}
    memory = False
    while todo:
        part = todo.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        for n in _expressions(part):
            memory |= not isinstance(n, _OF_REGISTERS)  # calls, intrinsics, what a pointer points to
            if isinstance(n, VariablePlace):
                memory |= in_memory(n.variable)
                if n.variable in written:
                    reached[n.variable] = None
                    todo += [*written[n.variable], *asked]  # who writes it, and whether it does
    if memory and any(_waits(n) for n in nodes):
        return None
    return Decisions([v for v in reached if v not in inner], memory)


def always(test: Expression | None) -> bool:
    """Whether a test holds whatever its values are: none at all, and `i >= 0` of an unsigned i."""
    if isinstance(test, Binary) and test.op == ">=" and isinstance(test.left.type, Scalar):
        return test.left.type.kind == "u" and isinstance(test.right, Literal) and test.right.value == 0
    return test is None


def _conditions(nodes: Iterable[Any]) -> list[Expression]:
    """All that is asked within a loop."""
    asked: list[Expression] = []
    for n in nodes:
        if isinstance(n, If | Conditional) or (isinstance(n, Loop) and n.test is not None):
            assert n.test is not None
            asked.append(n.test)
        elif isinstance(n, Logical):
            asked.append(n.left)
        elif isinstance(n, Switch):
            asked.append(n.value)
    return asked


def _expressions(part: Any) -> Iterable[Any]:
    for one in part if isinstance(part, list) else [part]:
        if one is not None:
            yield from walk(one)


def _waits(node: Any) -> bool:
    return (isinstance(node, Intrinsic) and node.name in BARRIERS) or (
        isinstance(node, Call) and has_barriers(node.function)
    )


def compared(test: Expression | None, places: PlaceWriter) -> tuple[Variable | int, Variable | int] | None:
    """The two sides of a loop's test, where it compares registers and numbers: `i < n`."""
    while isinstance(test, Convert):
        test = test.operand
    if isinstance(test, Logical) and test.op == "&&":
        return compared(test.left, places) or compared(test.right, places)
    if not isinstance(test, Binary) or test.op not in ("<", "<=", ">", ">=", "!="):
        return None
    left, right = (_side(side, places) for side in (test.left, test.right))
    return None if left is None or right is None else (left, right)


def _side(node: Expression, places: PlaceWriter) -> Variable | int | None:
    while isinstance(node, Convert):
        node = node.operand
    if isinstance(node, Literal) and isinstance(node.value, int):
        return node.value
    if isinstance(node, Load) and (found := places.register(node.place)) and not found[1]:
        return found[0]
    return None


# ------------------------------------------------------------------------------------------ during a run


@dataclass
class Look:
    """A loop at one look."""

    begun: float  # when it was first looked at
    steps: int
    live: Any
    state: Any
    changes: int
    distance: Any = None  # from the end, of each lane, and when that was
    measured: int = 0


@dataclass(frozen=True)
class Stop:
    """Why a loop is stopped. `limit` names the setting that does it, "max_steps" or "patience"; it is ""
    where the loop surely never ends."""

    why: str
    limit: str = ""


def next_look(steps: int, max_steps: int) -> int:
    """When a loop that has run so often is looked at again: at 64, 65, 128, 129, 256, 257, 512, 513, ..."""
    if steps & (steps - 1) == 0 or steps % EACH == 0:
        return min(steps + 1, max_steps)
    steps -= 1
    return min(2 * steps if steps < EACH else steps + EACH, max_steps)


def same(a: Any, b: Any) -> bool:
    """Whether two values of registers, of all lanes, are the same."""
    if isinstance(a, LanePointer) or isinstance(b, LanePointer):
        return isinstance(a, LanePointer) and isinstance(b, LanePointer) and same(a.address, b.address)
    if isinstance(a, tuple) or isinstance(b, tuple):
        return type(a) is type(b) and len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    if a is b:
        return True
    a, b = np.asarray(a), np.asarray(b)
    return bool(a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes())


def distance(test: tuple[Value, Value] | None) -> Any:
    """How far the two sides of a test are apart."""
    if test is None or any(isinstance(side, LanePointer | tuple) for side in test):
        return None
    left, right = (np.asarray(side, np.float64) for side in test)
    return np.abs(left - right)


def hopeful(before: Look, apart: Any, steps: int, live: Any, max_steps: int) -> bool:
    """Whether each lane comes nearer to the end, fast enough to get there."""
    if before.distance is None or apart is None or steps == before.measured:
        return False
    nearer = before.distance - apart
    with np.errstate(all="ignore"):
        more = np.where(nearer > 0, apart / nearer * (steps - before.measured), math.inf)
    if live is not True:
        more, chosen = np.broadcast_arrays(more, live)
        more = more[chosen]
    return bool(np.max(more, initial=0.0) <= max_steps)


def look(
    seen: Look | None, steps: int, live: Any, state: Any, test: Any, changes: int, max_steps: int,
    patience: float | None,
) -> tuple[Look, Stop | None]:  # fmt: skip
    """A look at a loop: what to remember of it, and why it has to be stopped (None: it goes on).

    `state` are its registers (`Decisions`), None where nothing can be proved; `changes` how often memory was
    changed that it depends on; `test` the two sides of its test; `patience` are seconds (None: no end).
    """
    if seen is None:
        seen, hope = Look(time.perf_counter(), steps, live, state, changes, distance(test), steps), True
    elif steps == seen.steps + 1:
        hope = True
        if state is not None and seen.changes == changes and same((seen.live, seen.state), (live, state)):
            return seen, Stop("nothing that its end depends on changes any more: it seems never to end")
    else:
        apart = distance(test)
        hope = hopeful(seen, apart, steps, live, max_steps)
        seen = Look(seen.begun, steps, live, state, changes, apart, steps)
    if steps >= max_steps:
        why = f"it has run {max_steps:,} times (max_steps): it seems never to end"
        return seen, Stop(why, "max_steps")
    if patience is None or hope or steps < UNHURRIED or time.perf_counter() - seen.begun < patience:
        return seen, None
    why = f"it has run {steps:,} times in more than {patience:g} s (patience): it seems never to end"
    return seen, Stop(why, "patience")
