"""Statements as Python, under masks: branches, loops, and who leaves them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from cudasim.engine.expressions import Expressions
from cudasim.engine.memory import element_of
from cudasim.engine.survey import BARRIERS, walk
from cudasim.language.tree import (
    Assign,
    Block,
    Break,
    Call,
    Continue,
    Declare,
    Evaluate,
    Expression,
    If,
    Increment,
    Intrinsic,
    Loop,
    Return,
    Statement,
    Switch,
    VariablePlace,
)
from cudasim.language.types import Array, Record, Type, Void


class Statements(Expressions):
    """Statements, each for all lanes of its mask."""

    def statement(self, node: Statement) -> None:
        """Emit a statement; afterwards `self.mask` is the mask of those who go on."""
        method: Callable[[Any], None] = getattr(self, "_do_" + type(node).__name__.lower())
        method(node)
        self.flush()

    def leaves(self, node: Any) -> bool:
        """Whether lanes may leave a statement by return, break or continue that lead out of it."""
        if isinstance(node, Return | Break | Continue):
            return True
        if isinstance(node, Loop | Switch):
            inner = [n for n in walk(node) if isinstance(n, Return)]
            if inner:
                return True
            return isinstance(node, Switch) and any(isinstance(n, Continue) for n in walk(node))
        if isinstance(node, Block):
            return any(self.leaves(n) for n in node.statements)
        if isinstance(node, If):
            return self.leaves(node.yes) or (node.no is not None and self.leaves(node.no))
        return False

    def _do_block(self, node: Block) -> None:
        self.sequence(node.statements)

    def sequence(self, nodes: list[Statement]) -> None:
        """Statements whose remaining lanes are in a variable of their own where some may leave."""
        if not any(self.leaves(n) for n in nodes):
            for node in nodes:
                self.statement(node)
            return
        live = self.fresh("m")
        self.emit(f"{live} = {self.mask}")
        self.mask = live
        depth = self.depth
        for i, node in enumerate(nodes):
            self.statement(node)
            if self.mask != live:
                self.emit(f"{live} = {self.mask}")
                self.mask = live
            if self.leaves(node) and i + 1 < len(nodes):
                self.emit(f"if {live} is not False:")
                self.depth += 1
        if self.lines[-1].endswith(" is not False:"):
            self.emit("pass")
        self.depth = depth

    def _do_evaluate(self, node: Evaluate) -> None:
        self.evaluate(node.expression)

    def _do_declare(self, node: Declare) -> None:
        variable, kind = node.variable, node.variable.type
        name = self.name(variable)
        if variable.storage in ("shared", "dynamic"):
            return  # at the head of the function
        self.regions[variable] = self.region
        if self.in_memory(variable):
            dtype = self.constant(element_of(kind), "d")
            key = self.constant(variable, "s")
            self.emit(f"{name} = L.local({key}, {kind.size}, {dtype})")
            self.local_bytes += kind.size
            if isinstance(kind, Array):
                if node.initial is not None:
                    assert isinstance(node.initial, list)
                    self.fill(name, kind, node.initial, 0, node.at.line)
            elif node.initial is not None:
                assert isinstance(node.initial, Expression)
                self.write(VariablePlace(node.at, kind, variable), self.expression(node.initial))
            return
        itself = node.initial is not None and any(
            isinstance(n, VariablePlace) and n.variable is variable for n in walk(node.initial)
        )
        if node.initial is None or itself:
            if self.watched:
                self.unset.add(variable)
                for mark in self.marks(variable, []):
                    self.emit(f"{mark} = False")
            self.emit(f"{name} = {self.poison(kind)}")
        if node.initial is None:
            return
        assert isinstance(node.initial, Expression)
        if itself:
            self.write(VariablePlace(node.at, kind, variable), self.expression(node.initial))
            return
        self.emit(f"{name} = {self.expression(node.initial)}")

    def fill(self, name: str, kind: Type, initial: Any, offset: int, line: int) -> None:
        """Initialise an array: what is given, and zeros."""
        if isinstance(kind, Array):
            given = initial if isinstance(initial, list) else []
            for i, part in enumerate(given):
                self.fill(name, kind.of, part, offset + i * kind.of.size, line)
            start = offset + len(given) * kind.of.size
            self.zeros(name, kind.element, start, offset + kind.size, line)
            return
        value = self.expression(initial)
        if isinstance(kind, Record):
            self.store_fields(name, self.temp(value), kind, offset, line)
            return
        index = offset // kind.size
        self.emit(f"L.store({name}, {index}, {value}, {self.constant(kind, 'k')}, {self.mask}, {line})")

    def zeros(self, name: str, kind: Type, start: int, end: int, line: int) -> None:
        """Elements of an array, from byte `start` to `end`, that become 0."""
        if start == end:
            return
        place, at = self.fresh(), self.fresh("n")
        with self.indented(f"for {at} in range({start}, {end}, {kind.size}):"):
            self.emit(f"{place} = advance({name}, {at})")
            if isinstance(kind, Record):
                self.store_fields(place, self.temp(self.zero(kind)), kind, 0, line)
            else:
                zero, scalar = self.zero(kind), self.constant(kind, "k")
                self.emit(f"L.store({place}, 0, {zero}, {scalar}, {self.mask}, {line})")

    def _do_if(self, node: If) -> None:
        test = self.expression(node.test)
        if self.watched:
            test = self.temp(test)
            self.emit(f"L.branch({test}, {self.mask}, {node.at.line})")
        self.flush()
        yes, no = self.fresh("m"), self.fresh("m")
        self.emit(f"{yes}, {no} = split({self.mask}, {test})")
        before = self.mask
        for mask, part in ((yes, node.yes), (no, node.no)):
            if part is not None:
                with self.under(mask):
                    self.statement(part)
                    end = self.mask
                    if end not in (mask, "False"):
                        self.emit(f"{mask} = {end}")
                    elif end == "False":
                        self.emit(f"{mask} = False")
                    self.flush()
                    self.mask = mask
        self.mask = before
        if self.leaves(node):
            after = self.fresh("m")
            self.emit(f"{after} = join({yes}, {no})")
            self.mask = after

    def _do_loop(self, node: Loop) -> None:
        for statement in node.initial:
            self.statement(statement)
        returns = any(isinstance(n, Return) for n in walk(node.body))
        before, region = self.mask, self.region
        live, done, steps = self.fresh("m"), self.fresh("m"), self.fresh("n")
        inside = self.new_region()
        continues = any(isinstance(n, Continue) for n in self.own(node.body, Continue))
        self.emit(f"{live} = {before}")
        self.emit(f"{steps} = 0")
        if returns:
            self.emit(f"{done} = False")
        for statement in node.initial:
            if isinstance(statement, Declare):
                self.regions[statement.variable] = inside
        outer = self.loop
        self.loop = {"done": done if returns else "", "continued": ""}
        still = not self.changes(node)
        self.waits |= still and any(
            isinstance(n, Intrinsic) and n.name.startswith("atomic") for n in walk(node)
        )
        self.region, self.mask = inside, live
        with self.indented("while True:"):
            if still:
                changes = self.fresh("n")
                self.emit(f"{changes} = L.launch.changes")
            if node.test_comes == "before":
                self.loop_test(node, live, done if returns else "")
            continued = self.fresh("m")
            self.loop["continued"] = continued
            if continues:
                self.emit(f"{continued} = False")
                self.region = self.new_region()
            self.statement(node.body)
            end = self.mask
            if end != live:
                self.emit(f"{live} = {end}")
            self.mask = live
            self.region = inside
            if continues:
                self.emit(f"{live} = join({live}, {continued})")
            if self.leaves_loop(node.body):
                with self.indented(f"if {live} is False:"):
                    self.emit("break")
            if node.step is not None:
                self.evaluate(node.step)
                self.flush()
            if node.test_comes == "after":
                self.loop_test(node, live, done if returns else "")
            self.emit(f"{steps} += 1")
            limit = f"{steps} >= L.launch.max_steps"
            if still:
                with self.indented(f"if L.launch.changes == {changes}:"):
                    self.emit(f"L.endless({node.at.line}, True)")
            with self.indented(f"if {limit}:"):
                self.emit(f"L.endless({node.at.line}, False)")
        self.loop = outer
        self.region, self.mask = region, before
        if returns:
            self.mask = done

    def own(self, node: Any, kind: type) -> Iterator[Any]:
        """The break or continue statements that mean this loop, and not one within it."""
        if isinstance(node, kind):
            yield node
        elif isinstance(node, Block):
            for n in node.statements:
                yield from self.own(n, kind)
        elif isinstance(node, If):
            yield from self.own(node.yes, kind)
            if node.no is not None:
                yield from self.own(node.no, kind)
        elif isinstance(node, Switch) and kind is Continue:
            for case in node.cases:
                for n in case.statements:
                    yield from self.own(n, kind)

    def leaves_loop(self, body: Statement) -> bool:
        return any(isinstance(n, Return) for n in walk(body)) or any(
            True for kind in (Break, Continue) for _ in self.own(body, kind)
        )

    def changes(self, node: Loop) -> bool:
        """Whether an iteration may change a Python variable that is not its own, or wait for somebody."""
        inner = {n.variable for n in walk(node.body) if isinstance(n, Declare)}
        for n in walk(node):
            if isinstance(n, Assign | Increment):
                found = self.register(n.place)
                if found and found[0] not in inner:
                    return True
            if isinstance(n, Call) or (isinstance(n, Intrinsic) and n.name in BARRIERS):
                return True
            if isinstance(n, Break | Return):
                continue
        return False

    def loop_test(self, node: Loop, live: str, done: str) -> None:
        """Send away the lanes for which the loop is over."""
        if node.test is None:
            return
        test = self.expression(node.test)
        if self.watched:
            test = self.temp(test)
            self.emit(f"L.branch({test}, {live}, {node.at.line})")
        self.flush()
        out = self.fresh("m")
        self.emit(f"{live}, {out} = split({live}, {test})")
        if done:
            self.emit(f"{done} = join({done}, {out})")
        with self.indented(f"if {live} is False:"):
            self.emit("break")

    def _do_break(self, node: Break) -> None:
        self.flush()
        if self.loop["done"]:
            self.emit(f"{self.loop['done']} = join({self.loop['done']}, {self.mask})")
        self.mask = "False"

    def _do_continue(self, node: Continue) -> None:
        self.flush()
        name = self.loop["continued"]
        self.emit(f"{name} = join({name}, {self.mask})")
        self.mask = "False"

    def _do_return(self, node: Return) -> None:
        if node.value is not None:
            value = self.expression(node.value)
            if isinstance(node.value.type, Void):
                self.emit(value)
            else:
                self.emit(f"result = {self.select(self.mask, value, 'result', node.value.type)}")
        self.flush()
        if self.function.kernel and self.watched:
            self.emit(f"L.exit({self.mask})")
        self.mask = "False"

    def _do_switch(self, node: Switch) -> None:
        """Cases in order; lanes fall from one into the next until a break sends them to the end."""
        value = self.temp(self.expression(node.value))
        self.flush()
        before = self.mask
        rest, inside, done = self.fresh("m"), self.fresh("m"), self.fresh("m")
        self.emit(f"{rest} = {before}")
        self.emit(f"{done} = False")
        entries = []
        for case in node.cases:
            entry = self.fresh("m")
            entries.append(entry)
            self.emit(f"{entry} = False")
            for number in case.values:
                hit = self.fresh("m")
                self.emit(f"{hit}, {rest} = split({rest}, {value} == {number})")
                self.emit(f"{entry} = join({entry}, {hit})")
            if self.watched and case.values:
                tests = " | ".join(f"({value} == {number})" for number in case.values)
                self.emit(f"L.branch({tests}, {before}, {node.at.line})")
        for case, entry in zip(node.cases, entries):
            if case.default:
                self.emit(f"{entry} = join({entry}, {rest})")
                self.emit(f"{rest} = False")
        self.emit(f"{done} = {rest}")
        self.emit(f"{inside} = False")
        outer = self.loop
        self.loop = {"done": done, "continued": outer["continued"]}
        for case, entry in zip(node.cases, entries):
            self.emit(f"{inside} = join({inside}, {entry})")
            with self.under(inside):
                self.sequence(case.statements)
                if self.mask != inside:
                    self.emit(f"{inside} = {self.mask}")
                self.mask = inside
        self.loop = outer
        self.emit(f"{done} = join({done}, {inside})")
        self.mask = done if self.leaves(node) else before
