"""Statements as Python, under masks: branches, loops, and who leaves them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from warplens.analysis.spin_waits import hoistable_loads
from warplens.analysis.traversal import BARRIERS, has_barriers, leaves, leaves_loop, own, walk
from warplens.engine.emitter import Emitter
from warplens.engine.endless import READ_ONCE, compared, decisions
from warplens.engine.expressions import ExpressionWriter
from warplens.engine.memory import element_of
from warplens.engine.places import in_memory
from warplens.language.tree import (
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
from warplens.language.types import Array, Pointer, Record, Type, Void


class StatementWriter:
    """Statements, each for all lanes of its mask."""

    def __init__(self, code: Emitter) -> None:
        self.code, self.expressions = code, ExpressionWriter(code)
        self.places = self.expressions.places
        self._by_node: dict[type[Statement], Callable[[Any], None]] = {
            Block: self._do_block,
            Evaluate: self._do_evaluate,
            Declare: self._do_declare,
            If: self._do_if,
            Loop: self._do_loop,
            Break: self._do_break,
            Continue: self._do_continue,
            Return: self._do_return,
            Switch: self._do_switch,
        }

    def statement(self, node: Statement) -> None:
        """Emit a statement; afterwards `code.mask` is the mask of those who go on."""
        if not isinstance(node, Block | Loop) and not (isinstance(node, Declare) and node.initial is None):
            self.code.step(node.at.line)
        self._by_node[type(node)](node)
        self.code.flush()

    def _do_block(self, node: Block) -> None:
        self.sequence(node.statements)

    def sequence(self, nodes: list[Statement]) -> None:
        """Statements whose remaining lanes are in a variable of their own where some may leave."""
        code = self.code
        if not any(leaves(n) for n in nodes):
            for node in nodes:
                self.statement(node)
            return
        live = code.fresh("m")
        code.emit(f"{live} = {code.mask}")
        code.mask = live
        depth = code.depth
        for i, node in enumerate(nodes):
            self.statement(node)
            if code.mask != live:
                code.emit(f"{live} = {code.mask}")
                code.mask = live
            if leaves(node) and i + 1 < len(nodes):
                code.emit(f"if {live} is not False:")
                code.depth += 1
        if code.lines[-1].endswith(" is not False:"):
            code.emit("pass")
        code.depth = depth

    def _do_evaluate(self, node: Evaluate) -> None:
        self.expressions.evaluate(node.expression)

    def _do_declare(self, node: Declare) -> None:
        code = self.code
        variable, kind = node.variable, node.variable.type
        name = code.name(variable)
        if variable.storage in ("shared", "dynamic"):
            return  # at the head of the function
        code.regions[variable] = code.region
        if in_memory(variable):
            dtype = code.constant(element_of(kind), "d")
            key = code.constant(variable, "s")
            code.emit(f"{name} = L.local({key}, {kind.size}, {dtype})")
            code.local_bytes += kind.size
            if isinstance(kind, Array):
                if node.initial is not None:
                    assert isinstance(node.initial, list)
                    self.fill(name, kind, node.initial, 0, node.at.line)
            elif node.initial is not None:
                assert isinstance(node.initial, Expression)
                self.places.write(VariablePlace(node.at, kind, variable), self.expressions.text(node.initial))
            return
        itself = node.initial is not None and any(
            isinstance(n, VariablePlace) and n.variable is variable for n in walk(node.initial)
        )
        if node.initial is None or itself:
            if code.watched:
                code.unset.add(variable)
                for mark in self.places.marks(variable, []):
                    code.emit(f"{mark} = False")
            code.emit(f"{name} = {code.poison(kind)}")
        if node.initial is None:
            return
        assert isinstance(node.initial, Expression)
        if itself:
            self.places.write(VariablePlace(node.at, kind, variable), self.expressions.text(node.initial))
            return
        code.emit(f"{name} = {self.expressions.text(node.initial)}")
        code.follow(variable.name, name, kind)

    def fill(self, name: str, kind: Type, initial: Any, offset: int, line: int) -> None:
        """Initialise an array: what is given, and zeros."""
        code = self.code
        if isinstance(kind, Array):
            given = initial if isinstance(initial, list) else []
            for i, part in enumerate(given):
                self.fill(name, kind.of, part, offset + i * kind.of.size, line)
            start = offset + len(given) * kind.of.size
            self.zeros(name, kind.element, start, offset + kind.size, line)
            return
        value = self.expressions.text(initial)
        if isinstance(kind, Record | Pointer):
            self.places.store_field(name, code.temp(value), kind, offset, line)
            return
        index = offset // kind.size
        code.emit(f"L.store({name}, {index}, {value}, {code.constant(kind, 'k')}, {code.mask}, {line})")

    def zeros(self, name: str, kind: Type, start: int, end: int, line: int) -> None:
        """Elements of an array, from byte `start` to `end`, that become 0."""
        code = self.code
        if start == end:
            return
        place, at = code.fresh(), code.fresh("n")
        with code.indented(f"for {at} in range({start}, {end}, {kind.size}):"):
            code.emit(f"{place} = advance({name}, {at})")
            if isinstance(kind, Record | Pointer):
                self.places.store_field(place, code.temp(code.zero(kind)), kind, 0, line)
            else:
                zero, scalar = code.zero(kind), code.constant(kind, "k")
                code.emit(f"L.store({place}, 0, {zero}, {scalar}, {code.mask}, {line})")

    def _do_if(self, node: If) -> None:
        code = self.code
        test = self.expressions.text(node.test)
        if code.watched:
            test = code.temp(test)
            code.emit(f"L.branch({test}, {code.mask}, {node.at.line})")
        code.flush()
        yes, no = code.fresh("m"), code.fresh("m")
        code.emit(f"{yes}, {no} = split({code.mask}, {test})")
        before = code.mask
        for mask, part in ((yes, node.yes), (no, node.no)):
            if part is not None:
                with code.under(mask):
                    self.statement(part)
                    end = code.mask
                    if end not in (mask, "False"):
                        code.emit(f"{mask} = {end}")
                    elif end == "False":
                        code.emit(f"{mask} = False")
                    code.flush()
                    code.mask = mask
        code.mask = before
        if leaves(node):
            after = code.fresh("m")
            code.emit(f"{after} = join({yes}, {no})")
            code.mask = after

    def _do_loop(self, node: Loop) -> None:
        code = self.code
        for statement in node.initial:
            self.statement(statement)
        returns = any(isinstance(n, Return) for n in walk(node.body))
        before, region = code.mask, code.region
        live, done, steps = code.fresh("m"), code.fresh("m"), code.fresh("n")
        inside = code.new_region()
        continues = any(isinstance(n, Continue) for n in own(node.body, Continue))
        code.emit(f"{live} = {before}")
        next_look, seen = code.fresh("n"), code.fresh("t")
        code.emit(f"{steps}, {next_look}, {seen} = 0, L.first_look, None")
        if returns:
            code.emit(f"{done} = False")
        for statement in node.initial:
            if isinstance(statement, Declare):
                code.regions[statement.variable] = inside
        outer = code.loop
        code.loop = {"done": done if returns else "", "continued": ""}
        still = not self.changes(node)
        gives_way = id(node) in code.facts.spin_waits.loops
        found = decisions(node, self.places) if gives_way and not still else None
        registers = ", ".join([live, *(code.name(v) for v in found.registers)]) if found else ""
        code.region, code.mask = inside, live
        with code.indented("while True:"):
            if still or gives_way:
                changes = code.fresh("n")
                code.emit(f"{changes} = L.launch.changes")
            if registers:
                began = code.fresh("t")
                code.emit(f"{began} = ({registers},)")
            if node.test_comes == "before":
                self.loop_test(node, live, done if returns else "")
            continued = code.fresh("m")
            code.loop["continued"] = continued
            if continues:
                code.emit(f"{continued} = False")
                code.region = code.new_region()
            self.statement(node.body)
            end = code.mask
            if end != live:
                code.emit(f"{live} = {end}")
            code.mask = live
            code.region = inside
            if continues:
                code.emit(f"{live} = join({live}, {continued})")
            if leaves_loop(node.body):
                with code.indented(f"if {live} is False:"):
                    code.emit("break")
            if node.step is not None:
                code.step(node.at.line)
                self.expressions.evaluate(node.step)
                code.flush()
            if node.test_comes == "after":
                self.loop_test(node, live, done if returns else "")
            if gives_way:
                with code.indented(f"if L.launch.changes == {changes}:"):
                    unmoved = code.temp(f"same({began}, ({registers},))" if registers else str(still))
                    code.emit(f"yield L.waits({node.at.line}, {live}, {unmoved})")
                    with code.indented(f"if {unmoved}:"):  # others decide, however long it takes
                        code.emit("continue")
            code.emit(f"{steps} += 1")
            if still and not gives_way:
                why = f", {code.constant(READ_ONCE, 's')}" if hoistable_loads(node) else ""
                with code.indented(f"if L.launch.changes == {changes}:"):
                    code.emit(f"L.stop_loop({node.at.line}, {live}{why})")
            with code.indented(f"if {steps} >= {next_look}:"):
                looked = self.looked_at(node)
                if gives_way:  # its registers prove nothing
                    looked[:2] = "None", "0"
                known = ", ".join([str(node.at.line), steps, seen, live, *looked])
                code.emit(f"{next_look}, {seen} = L.look({known})")
                if gives_way:
                    code.emit(f"yield L.waits({node.at.line}, {live}, False)")
        code.loop = outer
        code.region, code.mask = region, before
        if returns:
            code.mask = done

    def looked_at(self, node: Loop) -> list[str]:
        """What a look at a running loop is given: the registers that decide about its end, how often memory
        was changed if that does as well, and the two sides of its test."""
        code = self.code
        found = decisions(node, self.places)
        state = "None" if found is None else f"({''.join(f'{code.name(v)}, ' for v in found.registers)})"
        sides = compared(node.test, self.places)
        test = "None"
        if sides is not None:
            told = [str(s) if isinstance(s, int) else code.name(s) for s in sides]
            test = f"({', '.join(told)})"
        return [state, "L.launch.changes" if found is not None and found.memory else "0", test]

    def changes(self, node: Loop) -> bool:
        """Whether an iteration may change a Python variable that is not its own, or wait for somebody."""
        inner = {n.variable for n in walk(node.body) if isinstance(n, Declare)}
        for n in walk(node):
            if isinstance(n, Assign | Increment):
                found = self.places.register(n.place)
                if found and found[0] not in inner:
                    return True
            if isinstance(n, Call) and (n.object is not None or has_barriers(n.function)):
                return True
            if isinstance(n, Intrinsic) and n.name in BARRIERS:
                return True
            if isinstance(n, Break | Return):
                continue
        return False

    def loop_test(self, node: Loop, live: str, done: str) -> None:
        """Send away the lanes for which the loop is over."""
        code = self.code
        if node.test is None:
            return
        code.step(node.at.line, live)
        test = self.expressions.text(node.test)
        if code.watched:
            test = code.temp(test)
            code.emit(f"L.branch({test}, {live}, {node.at.line})")
        code.flush()
        out = code.fresh("m")
        code.emit(f"{live}, {out} = split({live}, {test})")
        if done:
            code.emit(f"{done} = join({done}, {out})")
        with code.indented(f"if {live} is False:"):
            code.emit("break")

    def _do_break(self, node: Break) -> None:
        code = self.code
        code.tell("leave", "break")
        code.flush()
        if code.loop["done"]:
            code.emit(f"{code.loop['done']} = join({code.loop['done']}, {code.mask})")
        code.mask = "False"

    def _do_continue(self, node: Continue) -> None:
        code = self.code
        code.tell("leave", "continue")
        code.flush()
        name = code.loop["continued"]
        code.emit(f"{name} = join({name}, {code.mask})")
        code.mask = "False"

    def _do_return(self, node: Return) -> None:
        code = self.code
        if node.value is not None:
            value = self.expressions.text(node.value)
            if isinstance(node.value.type, Void):
                code.emit(value)
            else:
                code.emit(f"result = {code.select(code.mask, value, 'result', node.value.type)}")
                code.follow("return", "result", node.value.type)
        code.flush()
        if code.function.kernel and code.watched:
            code.emit(f"L.exit({code.mask})")
        code.mask = "False"

    def _do_switch(self, node: Switch) -> None:
        """Cases in order; lanes fall from one into the next until a break sends them to the end."""
        code = self.code
        value = code.temp(self.expressions.text(node.value))
        code.follow("switch", value, node.value.type)
        code.flush()
        before = code.mask
        rest, inside, done = code.fresh("m"), code.fresh("m"), code.fresh("m")
        code.emit(f"{rest} = {before}")
        code.emit(f"{done} = False")
        entries = []
        for case in node.cases:
            entry = code.fresh("m")
            entries.append(entry)
            code.emit(f"{entry} = False")
            for number in case.values:
                hit = code.fresh("m")
                code.emit(f"{hit}, {rest} = split({rest}, {value} == {number})")
                code.emit(f"{entry} = join({entry}, {hit})")
            if code.watched and not code.traced and case.values:
                tests = " | ".join(f"({value} == {number})" for number in case.values)
                code.emit(f"L.branch({tests}, {before}, {node.at.line})")
        for case, entry in zip(node.cases, entries):
            if case.default:
                code.emit(f"{entry} = join({entry}, {rest})")
                code.emit(f"{rest} = False")
        code.emit(f"{done} = {rest}")
        code.emit(f"{inside} = False")
        outer = code.loop
        code.loop = {"done": done, "continued": outer["continued"]}
        for case, entry in zip(node.cases, entries):
            code.emit(f"{inside} = join({inside}, {entry})")
            with code.under(inside):
                self.sequence(case.statements)
                if code.mask != inside:
                    code.emit(f"{inside} = {code.mask}")
                code.mask = inside
        code.loop = outer
        code.emit(f"{done} = join({done}, {inside})")
        code.mask = done if leaves(node) else before
