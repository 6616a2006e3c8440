"""Text of the Python that a kernel becomes: lines, names, constants, masks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from warplens.analysis.facts import Facts
from warplens.analysis.traversal import has_barriers
from warplens.device.allocation import poison
from warplens.engine import values
from warplens.errors import CompileError
from warplens.language.tree import (
    Expression,
    Function,
    Program,
    Variable,
)
from warplens.language.types import BFLOAT, BOOL, Array, Record, Scalar, Type
from warplens.language.types import Pointer as PointerType

WRAPS = {("i", 4): "i32", ("u", 4): "u32", ("i", 8): "i64", ("u", 8): "u64"}


class Emitter:
    """Lines of Python: names, constants, indentation, and the mask under which a line stands."""

    def __init__(self, program: Program, facts: Facts, mode: str) -> None:
        self.program, self.facts, self.mode = program, facts, mode
        self.function = facts.kernel  # the one that is being written
        self.traced = mode == "traced"
        self.watched = self.traced or mode in ("watched", "watched warps")
        self.lines: list[str] = []
        self.depth = 0
        self.number = 0
        self.names: dict[Variable | Function, str] = {}
        self.constants: dict[str, Any] = {}
        self.counts: dict[int, list[int]] = {}
        self.regions: dict[Variable, int] = {}
        self.unset: set[Variable] = set()
        self.region = 0
        self.mask = "m"
        self.loop = {"done": "", "continued": ""}
        self.methods = False  # whether objects are given to methods that may change them
        self.local_bytes = 0  # of the variables that are memory, in all functions
        self.by_warp = mode in ("warps", "watched warps")  # one by one, from barrier to barrier

    def suspends(self, function: Function) -> bool:
        """Whether a function gives way to other threads: it is a generator."""
        return function in self.facts.spin_waits.functions or (self.by_warp and has_barriers(function))

    # ----------------------------------------------------------------------------------------------- tools

    def emit(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    @contextmanager
    def indented(self, head: str) -> Iterator[None]:
        self.emit(head)
        self.depth += 1
        before = len(self.lines)
        yield
        if len(self.lines) == before:
            self.emit("pass")
        self.depth -= 1

    def fresh(self, stem: str = "t") -> str:
        self.number += 1
        return f"{stem}{self.number}"

    def temp(self, text: str) -> str:
        """A value in a variable of its own, so that it is computed once, now."""
        if text.isidentifier() and text.startswith("t"):
            return text
        name = self.fresh()
        self.emit(f"{name} = {text}")
        return name

    def constant(self, value: Any, stem: str) -> str:
        """A name for an object that generated code needs."""
        for name, known in self.constants.items():
            if known is value:
                return name
        name = f"{stem}_{len(self.constants)}"
        self.constants[name] = value
        return name

    def name(self, item: Variable | Function) -> str:
        found = self.names.get(item)
        if found is None:
            stem = "".join(c if c.isascii() and c.isalnum() else "_" for c in item.name[:40])
            self.number += 1
            found = self.names[item] = f"{'f' if isinstance(item, Function) else 'v'}_{stem}_{self.number}"
        return found

    def unsupported(self, what: str, node: Any) -> CompileError:
        return CompileError(
            "unsupported", f"unsupported: {what}", node.at, self.program.name, self.program.source
        )

    def step(self, line: int, mask: str = "") -> None:
        """Where threads are followed: a statement begins."""
        if self.traced:
            self.emit(f"L.at({line}, {mask or self.mask}, {self.constant(self.function.name, 's')})")

    def follow(self, label: str, value: str, kind: Type) -> None:
        """Where threads are followed: a variable has got a value."""
        if self.traced:
            self.emit(
                f"L.assigned({self.constant(label, 's')}, {value}, {self.mask}, {self.constant(kind, 'k')})"
            )

    def tell(self, kind: str, name: str) -> None:
        """Where threads are followed: they call a function, or leave a loop."""
        if self.traced:
            self.emit(f"L.goes({kind!r}, {self.constant(name, 's')}, {self.mask})")

    # -------------------------------------------------------------------------------------------- counting

    def tally(self, node: Expression, flops: int = 0, ints: int = 0) -> None:
        """Remember operations of the present mask; `flush` writes them down."""
        if self.watched and (flops or ints):
            counts = self.counts.setdefault(node.at.line, [0, 0])
            counts[0] += flops
            counts[1] += ints

    def flush(self) -> None:
        for line, (flops, ints) in self.counts.items():
            self.emit(f"L.count({line}, {flops}, {ints}, {self.mask})")
        self.counts = {}

    @contextmanager
    def under(self, mask: str) -> Iterator[None]:
        """Code for the lanes of a mask, skipped where there are none; a region of its own."""
        self.flush()
        before, region = self.mask, self.region
        self.mask = mask
        self.region = self.new_region()
        with self.indented(f"if {mask} is not False:"):
            yield
            self.flush()
        self.mask, self.region = before, region

    def new_region(self) -> int:
        """The number of a part of the program that fewer lanes may run through than what is around it."""
        self.number += 1
        return self.number

    # ---------------------------------------------------------------------------------------------- values

    def dtype(self, kind: Type) -> str:
        if isinstance(kind, Scalar):
            return self.constant(kind.dtype, "d_" + kind.dtype.name)
        raise TypeError(f"{kind} is no scalar")

    def selector(self, kind: Type) -> str:
        """The text of a function (mask, new, old) for values of a type."""
        if isinstance(kind, PointerType):
            return "select_pointer"
        if isinstance(kind, Record):
            parts = "".join(self.selector(part) + ", " for part, _ in kind.pieces)
            return f"(lambda m, a, b: select_record(m, a, b, ({parts})))"
        if isinstance(kind, Array):
            part = self.selector(kind.of)
            return f"(lambda m, a, b: select_record(m, a, b, ({part},) * {kind.length}))"
        return f"(lambda m, a, b: select(m, a, b, {self.dtype(kind)}))"

    def select(self, mask: str, new: str, old: str, kind: Type) -> str:
        if isinstance(kind, Scalar):
            return f"select({mask}, {new}, {old}, {self.dtype(kind)})"
        return f"{self.selector(kind)}({mask}, {new}, {old})"

    def poison(self, kind: Type) -> str:
        if isinstance(kind, Record):
            return "(" + "".join(self.poison(part) + ", " for part, _ in kind.pieces) + ")"
        if isinstance(kind, Array):
            return f"({self.poison(kind.of)},) * {kind.length}"
        if isinstance(kind, Scalar):
            value = poison(kind.dtype)
            return self.constant(value, "poison") if kind.is_float else repr(value.item())
        return "NULL"

    def zero(self, kind: Type) -> str:
        if isinstance(kind, Record):
            return "(" + "".join(self.zero(part) + ", " for part, _ in kind.pieces) + ")"
        if isinstance(kind, Array):
            return f"({self.zero(kind.of)},) * {kind.length}"
        if isinstance(kind, Scalar):
            return self.number_text(0, kind)
        return "NULL"

    def number_text(self, value: Any, kind: Scalar) -> str:
        if kind == BOOL:
            return repr(bool(value))
        if not kind.is_float:
            return repr(values.to_integer(int(value), kind.dtype))
        with np.errstate(over="ignore"):
            number = kind.dtype.type(value)
        for name, known in self.constants.items():
            if type(known) is type(number) and known.tobytes() == number.tobytes():
                return name
        return self.constant(number, "c")

    def wrapped(self, text: str, kind: Type) -> str:
        if isinstance(kind, Scalar) and not kind.is_float:
            wrap = WRAPS.get((kind.kind, kind.size))
            return f"{wrap}({text})" if wrap else f"to_integer({text}, {self.dtype(kind)})"
        return f"rounded_bfloat({text})" if kind == BFLOAT else f"({text})"
