"""A checked kernel as a Python function over NumPy arrays, each statement for all lanes at once.

Where lanes take different ways, both ways run, one after the other, under masks (see `values`). The same tree
gives five programs: "lockstep" (fast), "warps" (a generator that yields at barriers), "watched" (every
access is recorded, operations are counted), "watched warps" and "traced" (watched, and every value is told).
Where threads wait for each other, each is a generator that yields while they wait.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

from warplens.analysis.facts import Facts
from warplens.analysis.traversal import shared_in
from warplens.engine import values
from warplens.engine.emitter import Emitter
from warplens.engine.endless import same
from warplens.engine.memory import NULL, LanePointer, element_of
from warplens.engine.places import in_memory
from warplens.engine.pointers import load_pointer, store_pointer
from warplens.engine.statements import StatementWriter
from warplens.language.tree import Function, Program, Variable, VariablePlace
from warplens.language.types import Pointer, Record, Void

TOO_DEEP = "the source is nested too deeply"


class Generator:
    """Makes the source of one program: a kernel and what it calls."""

    def __init__(self, program: Program, facts: Facts, mode: str) -> None:
        self.code = Emitter(program, facts, mode)
        self.statements = StatementWriter(self.code)

    def define(self, function: Function) -> None:
        code = self.code
        code.function = function
        code.region, code.mask = 0, "m"
        code.unset = set()
        this, places = function.this, self.statements.places
        parameters = [*([this] if this else []), *function.parameters]
        arguments = [code.name(p) for p in parameters]
        gives = this is not None and isinstance(this.type, Record) and not this.const
        if this is not None and isinstance(this.type, Record) and code.watched:
            code.unset.add(this)
            arguments += places.marks(this, [])
        with code.indented(f"def {code.name(function)}({', '.join(['L', 'm', *arguments])}):"):
            for p in parameters:
                code.regions[p] = (
                    -1 if p is this else 0
                )  # an object is given back, by those who return early too
                if in_memory(p):
                    dtype = code.constant(element_of(p.type), "d")
                    name = code.name(p)
                    code.emit(f"given = {name}")
                    code.emit(f"{name} = L.local({code.constant(p, 's')}, {p.type.size}, {dtype})")
                    self.statements.places.write(VariablePlace(p.at, p.type, p), "given")
            assert function.body is not None
            for variable in shared_in(function):
                self.declare_shared(variable)
            code.step(function.at.line)
            for p in function.parameters:
                if not (p.taken or (function.kernel and isinstance(p.type, Pointer))):
                    code.follow(p.name, code.name(p), p.type)
            if not isinstance(function.returns, Void):
                code.emit(f"result = {code.poison(function.returns)}")
            self.statements.statement(function.body)
            result = "None" if isinstance(function.returns, Void) else "result"
            if gives:
                assert this is not None
                marks = "".join(mark + ", " for mark in places.marks(this, [])) if code.watched else ""
                code.emit(f"return {result}, {code.name(this)}, ({marks})")
            elif result != "None":
                code.emit("return result")
        code.emit("")

    def declare_shared(self, variable: Variable) -> None:
        code = self.code
        dtype = code.constant(element_of(variable.type), "d")
        key = code.constant(variable, "s")
        if variable.storage == "dynamic":
            code.emit(f"{code.name(variable)} = L.dynamic({key}, {dtype})")
        else:
            code.emit(f"{code.name(variable)} = L.shared({key}, {variable.type.size}, {dtype})")

    def source(self) -> str:
        self.code.methods = any(
            function.this is not None and not function.this.const for function in self.code.facts.functions
        )
        for function in self.code.facts.functions:
            self.define(function)
        return "\n".join(self.code.lines) + "\n"


class Code:
    """A kernel as Python: `run(L, mask, *arguments)`; a generator where it `suspends`."""

    def __init__(self, program: Program, facts: Facts, mode: str) -> None:
        self.facts, kernel = facts, facts.kernel
        generator = Generator(program, facts, mode)
        made = generator.code
        try:
            self.text = generator.source()
        except RecursionError:
            raise made.unsupported(TOO_DEEP, kernel) from None
        self.suspends, self.by_warp = made.suspends(kernel), made.by_warp
        self.local_bytes = made.local_bytes
        self.variables: dict[Variable, LanePointer] = {}  # at file scope; filled before a run
        namespace: dict[str, Any] = {
            **{name: item for name, item in vars(values).items() if not name.startswith("_")},
            **made.constants,
            "NULL": NULL,
            "same": same,
            "load_pointer": load_pointer,
            "store_pointer": store_pointer,
            "G": self.variables,
        }
        file = f"<{program.name}: {kernel.name}, {mode}>"
        linecache.cache[file] = (len(self.text), None, self.text.splitlines(True), file)
        try:
            exec(compile(self.text, file, "exec"), namespace)
        except SyntaxError as error:  # Python's limits: 20 loops and 100 blocks within each other
            why = f"loops or branches that are nested so deeply ({error.msg})"
            raise made.unsupported(why, kernel) from None
        except (RecursionError, MemoryError):
            raise made.unsupported(TOO_DEEP, kernel) from None
        self.run: Callable[..., Any] = namespace[made.name(kernel)]
