"""A checked kernel as a Python function over NumPy arrays, each statement for all lanes at once.

Where lanes take different ways, both ways run, one after the other, under masks (see `values`). The same tree
gives three programs: "lockstep" (fast), "warps" (a generator that yields at barriers) and "watched" (every
access is recorded, operations are counted).
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from minilib.cuda import mathematics, values
from minilib.cuda.errors import CompileError
from minilib.cuda.memory import NULL, Pointer, element_of, poison
from minilib.cuda.tree import (
    AddressOf,
    Assign,
    Binary,
    Block,
    Break,
    Call,
    Comma,
    Conditional,
    Continue,
    Convert,
    Decay,
    Declare,
    Deref,
    Evaluate,
    Expression,
    Function,
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
    Place,
    PointerAdd,
    PointerDifference,
    Program,
    Reinterpret,
    Return,
    Special,
    Statement,
    Switch,
    Unary,
    Variable,
    VariablePlace,
)
from minilib.cuda.types import BOOL, Array, Record, Scalar, Type, Void
from minilib.cuda.types import Pointer as PointerType

WRAPS = {("i", 4): "i32", ("u", 4): "u32", ("i", 8): "i64", ("u", 8): "u64"}
SPECIAL = {"threadIdx": "tid", "blockIdx": "bid", "blockDim": "bdim", "gridDim": "gdim"}
SHUFFLES = {"__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync"}
VOTES = {"__ballot_sync", "__any_sync", "__all_sync", "__activemask"}
FENCES = {"__threadfence", "__threadfence_block", "__threadfence_system"}


def walk(node: Any) -> Iterator[Any]:
    """All nodes below one, it included (not the bodies of functions that are called)."""
    yield node
    if isinstance(node, Function | Variable):
        return
    for item in vars(node).values() if hasattr(node, "__dict__") else ():
        stack = [item]
        while stack:
            top = stack.pop()
            if isinstance(top, list):
                stack.extend(reversed(top))
            elif isinstance(top, Expression | Place | Statement) or type(top).__name__ == "Case":
                yield from walk(top)


def calls(function: Function) -> set[str]:
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
    return names


def reachable(function: Function) -> list[Function]:
    """A kernel and all functions that it calls."""
    found: list[Function] = []
    stack = [function]
    while stack:
        f = stack.pop()
        if f in found or f.body is None:
            continue
        found.append(f)
        stack += [node.function for node in walk(f.body) if isinstance(node, Call)]
    return found


def shared_variables(kernel: Function) -> list[Variable]:
    """The __shared__ declarations that a kernel needs, its callees' included."""
    found: list[Variable] = []
    for f in reachable(kernel):
        for node in walk(f.body):
            if isinstance(node, Declare) and node.variable.storage in ("shared", "dynamic"):
                found.append(node.variable)
    return found


def _suspends(f: Function) -> bool:
    return "__syncthreads" in calls(f)


class Generator:
    """Makes the source of one program: a kernel and what it calls."""

    def __init__(self, program: Program, kernel: Function, mode: str) -> None:
        self.program, self.kernel, self.mode = program, kernel, mode
        self.watched = mode == "watched"
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
            stem = "".join(c if c.isalnum() else "_" for c in item.name)
            self.number += 1
            found = self.names[item] = f"{'f' if isinstance(item, Function) else 'v'}_{stem}_{self.number}"
        return found

    def unsupported(self, what: str, node: Any) -> CompileError:
        return CompileError(
            "unsupported", f"unsupported: {what}", node.at, self.program.name, self.program.source
        )

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
        """Code for the lanes of a mask, skipped where there are none."""
        self.flush()
        before, self.mask = self.mask, mask
        with self.indented(f"if {mask} is not False:"):
            yield
            self.flush()
        self.mask = before

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
            parts = ", ".join(self.selector(f.type) for f in kind.fields)
            return f"(lambda m, a, b: select_record(m, a, b, ({parts},)))"
        return f"(lambda m, a, b: select(m, a, b, {self.dtype(kind)}))"

    def select(self, mask: str, new: str, old: str, kind: Type) -> str:
        if isinstance(kind, Scalar):
            return f"select({mask}, {new}, {old}, {self.dtype(kind)})"
        return f"{self.selector(kind)}({mask}, {new}, {old})"

    def poison(self, kind: Type) -> str:
        if isinstance(kind, Record):
            return "(" + "".join(self.poison(f.type) + ", " for f in kind.fields) + ")"
        if isinstance(kind, Scalar):
            value = poison(kind.dtype)
            return self.constant(value, "poison") if kind.is_float else repr(value.item())
        return "NULL"

    def zero(self, kind: Type) -> str:
        if isinstance(kind, Record):
            return "(" + "".join(self.zero(f.type) + ", " for f in kind.fields) + ")"
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
        return f"({text})"

    # ----------------------------------------------------------------------------------------- expressions

    def expression(self, node: Expression) -> str:
        """The text of a value under the present mask; what has effects or may fail is emitted on the way."""
        method: Callable[[Any], str] = getattr(self, "_" + type(node).__name__.lower())
        return method(node)

    def _literal(self, node: Literal) -> str:
        if isinstance(node.type, PointerType):
            return "NULL"
        assert isinstance(node.type, Scalar)
        return self.number_text(node.value, node.type)

    def _special(self, node: Special) -> str:
        return "32" if node.name == "warpSize" else f"L.{SPECIAL[node.name]}_{node.axis}"

    def _unary(self, node: Unary) -> str:
        operand = self.expression(node.operand)
        if node.op == "!":
            return f"lnot({operand})"
        kind = node.type
        assert isinstance(kind, Scalar)
        self.tally(node, 0, 0 if kind.is_float else 1)
        return self.wrapped(f"{node.op}{operand}", kind)

    def _binary(self, node: Binary) -> str:
        op, kind = node.op, node.left.type
        left = self.expression(node.left)
        right = self.expression(node.right)
        if op in ("==", "!=", "<", "<=", ">", ">="):
            if isinstance(kind, PointerType):
                return f"({left}.address {op} {right}.address)"
            return f"({left} {op} {right})"
        assert isinstance(node.type, Scalar)
        return self.operate(node, op, left, right, node.type)

    def operate(self, node: Expression, op: str, left: str, right: str, kind: Scalar) -> str:
        """left op right, both of type `kind` (of a shift only the left one)."""
        self.tally(node, *((1, 0) if kind.is_float else (0, 1)))
        if kind.is_float:
            return f"({left} {op} {right})"
        if op in ("/", "%"):
            if self.watched:
                right = self.temp(right)
                self.emit(f"L.divisor({right}, {self.mask}, {node.at.line})")
            return f"{'quotient' if op == '/' else 'remainder'}({left}, {right}, {self.dtype(kind)})"
        if op in ("<<", ">>"):
            return f"shift_{'left' if op == '<<' else 'right'}({left}, {right}, {self.dtype(kind)})"
        if op in ("&", "|", "^"):
            return f"({left} {op} {right})"
        return self.wrapped(f"{left} {op} {right}", kind)

    def simple(self, node: Expression) -> bool:
        """Whether it costs little and harms nobody to compute this for lanes that do not need it."""
        fine = (Literal, Special, Unary, Binary, Convert, Load, Logical, Member)
        for part in walk(node):
            if isinstance(part, Place):
                if not isinstance(part, VariablePlace) or self.in_memory(part.variable):
                    return False
                if self.watched and part.variable in self.unset:
                    return False
            elif not isinstance(part, fine):
                return False
            elif isinstance(part, Binary) and (part.op in ("/", "%") or self.watched):
                if part.op not in ("==", "!=", "<", "<=", ">", ">="):
                    return False
            elif isinstance(part, Unary) and self.watched and part.op != "!":
                return False
        return True

    def _logical(self, node: Logical) -> str:
        left = self.expression(node.left)
        if self.simple(node.right):
            return f"{'land' if node.op == '&&' else 'lor'}({left}, {self.expression(node.right)})"
        left = self.temp(left)
        yes, no = self.fresh("m"), self.fresh("m")
        self.flush()
        self.emit(f"{yes}, {no} = split({self.mask}, {left})")
        out = self.fresh()
        go = yes if node.op == "&&" else no
        self.emit(f"{out} = {node.op == '||'}")
        with self.under(go):
            right = self.expression(node.right)
            self.emit(f"{out} = {self.select(go, right, out, BOOL)}")
        return out

    def _conditional(self, node: Conditional) -> str:
        test = self.expression(node.test)
        if self.simple(node.yes) and self.simple(node.no) and isinstance(node.type, Scalar):
            yes, no = self.expression(node.yes), self.expression(node.no)
            return f"select(mask_of({test}), {yes}, {no}, {self.dtype(node.type)})"
        yes_mask, no_mask = self.fresh("m"), self.fresh("m")
        self.flush()
        self.emit(f"{yes_mask}, {no_mask} = split({self.mask}, {test})")
        out = self.fresh()
        self.emit(f"{out} = None")
        for mask, arm in ((yes_mask, node.yes), (no_mask, node.no)):
            with self.under(mask):
                value = self.expression(arm)
                if isinstance(node.type, Void):
                    self.emit(value)
                elif mask == yes_mask:
                    self.emit(f"{out} = {value}")
                else:
                    value = self.temp(value)
                    chosen = self.select(mask, value, out, node.type)
                    self.emit(f"{out} = {value} if {out} is None else {chosen}")
        return out

    def _comma(self, node: Comma) -> str:
        self.evaluate(node.left)
        return self.expression(node.right)

    def _convert(self, node: Convert) -> str:
        operand = self.expression(node.operand)
        source, target = node.operand.type, node.type
        if isinstance(target, Void):
            return operand
        if isinstance(source, PointerType):
            return f"pointer_to_bool({operand})"
        assert isinstance(source, Scalar) and isinstance(target, Scalar)
        if source.dtype == target.dtype:
            return operand
        if target == BOOL:
            return f"to_bool({operand})"
        if target.is_float:
            return f"to_float({operand}, {self.dtype(target)})"
        convert = "float_to_integer" if source.is_float else "to_integer"
        return f"{convert}({operand}, {self.dtype(target)})"

    def _reinterpret(self, node: Reinterpret) -> str:
        operand = self.expression(node.operand)
        source, target = node.operand.type, node.type
        if isinstance(source, PointerType) and isinstance(target, PointerType):
            return operand
        if isinstance(target, PointerType) and isinstance(node.operand, Literal):
            return "NULL"
        if isinstance(source, PointerType) and isinstance(target, Scalar):
            return f"to_integer(wide({operand}.address), {self.dtype(target)})"
        raise self.unsupported("a number as a pointer", node)

    def _pointeradd(self, node: PointerAdd) -> str:
        base, index, stride = self.path(node)
        return f"advance({base}, wide({index}) * {stride})" if index != "0" else base

    def _pointerdifference(self, node: PointerDifference) -> str:
        left, right = self.expression(node.left), self.expression(node.right)
        assert isinstance(node.left.type, PointerType)
        return f"same_memory({left}, {right}) // {node.left.type.to.size}"

    def _addressof(self, node: AddressOf) -> str:
        return self.pointer_to(node.place)

    def _decay(self, node: Decay) -> str:
        return self.pointer_to(node.place)

    def _load(self, node: Load) -> str:
        return self.read(node.place)

    def _makerecord(self, node: MakeRecord) -> str:
        return "(" + "".join(self.expression(part) + ", " for part in node.parts) + ")"

    def _member(self, node: Member) -> str:
        assert isinstance(node.record.type, Record)
        names = [f.name for f in node.record.type.fields]
        return f"{self.expression(node.record)}[{names.index(node.field)}]"

    def _assign(self, node: Assign) -> str:
        place, kind = node.place, node.place.type
        if not node.op:
            value = self.expression(node.value)
            if not isinstance(kind, Record):
                value = self.temp(value)
            self.write(place, value)
            return value
        right = self.temp(self.expression(node.value))
        at = self.prepared(place)
        old = self.read(place, at)
        new = self.compound(node, old, right)
        new = self.temp(new)
        self.write(place, new, at)
        return new

    def compound(self, node: Assign, old: str, right: str) -> str:
        """The new value of `place op= right`."""
        kind = node.place.type
        if isinstance(kind, PointerType):
            return f"advance({old}, wide({right}) * {kind.to.size if node.op == '+' else -kind.to.size})"
        assert isinstance(kind, Scalar) and isinstance(node.compute, Scalar)
        before = self.converted(old, kind, node.compute)
        return self.converted(self.operate(node, node.op, before, right, node.compute), node.compute, kind)

    def converted(self, text: str, source: Scalar, target: Scalar) -> str:
        if source.dtype == target.dtype:
            return text
        if target == BOOL:
            return f"to_bool({text})"
        if target.is_float:
            return f"to_float({text}, {self.dtype(target)})"
        return f"{'float_to_integer' if source.is_float else 'to_integer'}({text}, {self.dtype(target)})"

    def _increment(self, node: Increment) -> str:
        place, kind = node.place, node.place.type
        at = self.prepared(place)
        old = self.fresh()
        self.emit(f"{old} = {self.read(place, at)}")
        if isinstance(kind, PointerType):
            new = f"advance({old}, {node.step * kind.to.size})"
        else:
            assert isinstance(kind, Scalar)
            self.tally(node, *((1, 0) if kind.is_float else (0, 1)))
            step = self.number_text(1, kind)
            new = self.wrapped(f"{old} {'+' if node.step > 0 else '-'} {step}", kind)
        if node.postfix:
            self.write(place, new, at)
            return old
        new = self.temp(new)
        self.write(place, new, at)
        return new

    def _call(self, node: Call) -> str:
        arguments = [self.temp(self.expression(a)) for a in node.arguments]
        self.flush()
        call = f"{self.name(node.function)}({', '.join(['L', self.mask, *arguments])})"
        if self.mode == "warps" and _suspends(node.function):
            call = f"(yield from {call})"
        out = self.fresh()
        self.emit(f"{out} = {call}")
        return out

    # ------------------------------------------------------------------------------------------ intrinsics

    def _intrinsic(self, node: Intrinsic) -> str:
        name, line, mask = node.name, node.at.line, self.mask
        if name == "__syncthreads":
            self.flush()
            if self.watched:
                self.emit(f"L.barrier({mask}, {line})")
            elif self.mode == "warps":
                self.emit("yield")
            return "None"
        if name == "__syncwarp" or name in FENCES:
            lanes = [self.expression(a) for a in node.arguments]
            if self.watched and name == "__syncwarp":
                self.emit(f"L.syncwarp({lanes[0] if lanes else '0xffffffff'}, {mask}, {line})")
            elif self.watched and name != "__threadfence_block":
                self.emit(f"L.fence({mask}, {line})")
            return "None"
        if name.startswith("atomic"):
            return self.atomic(node, True)
        arguments = [self.expression(a) for a in node.arguments]
        if name in SHUFFLES:
            kind = node.type
            if not isinstance(kind, Scalar):
                raise self.unsupported(f"{name} of {kind}", node)
            rest = ", ".join(arguments)
            return self.temp(f"L.shuffle({name!r}, {rest}, {self.constant(kind, 'k')}, {mask}, {line})")
        if name in VOTES:
            rest = ", ".join(arguments) if arguments else "0xffffffff, True"
            return self.temp(f"L.vote({name!r}, {rest}, {mask}, {line})")
        function = mathematics.FUNCTIONS.get(name)
        if function is None:
            raise self.unsupported(name, node)
        assert isinstance(node.type, Scalar)
        operand = node.arguments[0].type if node.arguments else node.type
        floating = isinstance(operand, Scalar) and operand.is_float
        flops = 2 if name.lstrip("_").startswith("fma") else 1
        self.tally(node, *((flops, 0) if floating else (0, 1)))
        return f"{self.constant(function, 'math_' + name.strip('_'))}({', '.join(arguments)})"

    def atomic(self, node: Intrinsic, wanted: bool) -> str:
        kind = node.arguments[0].type
        assert isinstance(kind, PointerType)
        if not isinstance(kind.to, Scalar):
            raise self.unsupported(f"{node.name} of {kind.to}", node)
        base, index, unit = self.path(node.arguments[0])
        if unit != kind.to.size:
            base, index = f"advance({base}, wide({index}) * {unit})", "0"
        given = "".join([self.expression(a) + ", " for a in node.arguments[1:]])
        call = (
            f"L.atomic({node.name!r}, {base}, {index}, ({given}), {self.constant(kind.to, 'k')}, "
            f"{self.mask}, {wanted}, {node.at.line})"
        )
        if not wanted:
            self.emit(call)
            return "None"
        out = self.fresh()
        self.emit(f"{out} = {call}")
        return out

    # ---------------------------------------------------------------------------------------------- places

    def in_memory(self, variable: Variable) -> bool:
        """Whether a variable is memory that a pointer can point to, and no Python variable."""
        return variable.storage not in ("register", "param") or variable.taken

    def path(self, node: Expression) -> tuple[str, str, int]:
        """A pointer as (base pointer, index, stride in bytes): p[i][j] is one access to one index."""
        terms: list[tuple[str, int]] = []
        base = self._collect(node, terms)
        kind = node.type
        assert isinstance(kind, PointerType)
        return (base, *self._combined(terms, kind.to))

    def _combined(self, terms: list[tuple[str, int]], kind: Type) -> tuple[str, int]:
        unit = kind.element.size if isinstance(kind, Array) else 1 if isinstance(kind, Void) else kind.size
        if any(stride % unit for _, stride in terms):
            unit = 1
        parts = []
        for text, stride in terms:
            times = stride // unit
            if text == "1":
                parts.append(str(times))
            elif times == 1 and len(terms) == 1:
                parts.append(text)
            else:
                parts.append(f"wide({text})" if times == 1 else f"wide({text}) * {times}")
        return (" + ".join(parts) or "0"), unit

    def _collect(self, node: Expression, terms: list[tuple[str, int]]) -> str:
        if isinstance(node, PointerAdd):
            base = self._collect(node.pointer, terms)
            assert isinstance(node.pointer.type, PointerType)
            to = node.pointer.type.to
            stride = 1 if isinstance(to, Void) else to.size
            index = self.expression(node.index)
            if isinstance(node.index, Literal):
                if node.index.value:
                    terms.append(("1", (-1 if node.negative else 1) * stride * int(node.index.value)))
            else:
                terms.append((index, -stride if node.negative else stride))
            return base
        if isinstance(node, Decay | AddressOf):
            return self._collect_place(node.place, terms)
        return self.expression(node)

    def _collect_place(self, place: Place, terms: list[tuple[str, int]]) -> str:
        if isinstance(place, Deref):
            return self._collect(place.pointer, terms)
        if isinstance(place, MemberPlace):
            base = self._collect_place(place.record, terms)
            assert isinstance(place.record.type, Record)
            field = place.record.type.field(place.field)
            assert field is not None
            if field.offset:
                terms.append(("1", field.offset))
            return base
        assert isinstance(place, VariablePlace)
        return self.variable_name(place.variable)

    def variable_name(self, variable: Variable) -> str:
        if variable.storage in ("constant", "device"):
            return f"G[{self.constant(variable, 'g')}]"
        return self.name(variable)

    def pointer_to(self, place: Place) -> str:
        """A pointer to a place in memory, as a value."""
        terms: list[tuple[str, int]] = []
        base = self._collect_place(place, terms)
        if not terms:
            return base
        index, unit = self._combined(terms, place.type)
        return (
            f"advance({base}, ({index}) * {unit})"
            if len(terms) > 1 or terms[0][0] == "1"
            else (f"advance({base}, wide({index}) * {unit})")
        )

    def register(self, place: Place) -> tuple[Variable, list[int]] | None:
        """The Python variable that holds a place, and the numbers of the fields that lead to it."""
        if isinstance(place, VariablePlace):
            return None if self.in_memory(place.variable) else (place.variable, [])
        if isinstance(place, MemberPlace):
            found = self.register(place.record)
            if found is None:
                return None
            assert isinstance(place.record.type, Record)
            names = [f.name for f in place.record.type.fields]
            return found[0], [*found[1], names.index(place.field)]
        return None

    def prepared(self, place: Place) -> tuple[str, str, int] | None:
        """The address of a place that is used twice; None for a Python variable."""
        if self.register(place):
            return None
        terms: list[tuple[str, int]] = []
        base = self.temp(self._collect_place(place, terms))
        index, unit = self._combined(terms, place.type)
        return base, index if index.isdigit() else self.temp(f"wide({index})"), unit

    def access(self, place: Place, at: tuple[str, str, int] | None, kind: Type) -> tuple[str, str]:
        """Pointer and index, in elements of `kind`, of a place in memory."""
        if at is None:
            terms: list[tuple[str, int]] = []
            base = self._collect_place(place, terms)
            at = (base, *self._combined(terms, place.type))
        base, index, unit = at
        if unit == kind.size:
            return base, index
        if index == "0":
            return base, index
        return f"advance({base}, wide({index}) * {unit})", "0"

    def read(self, place: Place, at: tuple[str, str, int] | None = None) -> str:
        found = self.register(place)
        if found:
            variable, path = found
            if self.watched and variable in self.unset:
                self.emit(
                    f"L.unset({variable.name!r}, {self.name(variable)}_set, {self.mask}, {place.at.line})"
                )
            return self.name(variable) + "".join(f"[{i}]" for i in path)
        kind = place.type
        line = place.at.line
        if isinstance(kind, Record):
            base, index = self.access(place, at, kind)
            if kind.vector and kind.size == kind.align:
                record = self.constant(kind, "r")
                return self.temp(f"L.load_vector({base}, {index}, {record}, {self.mask}, {line})")
            pointer = self.temp(f"advance({base}, wide({index}) * {kind.size})" if index != "0" else base)
            parts = [self.load_field(pointer, f.type, f.offset, line) for f in kind.fields]
            return "(" + "".join(part + ", " for part in parts) + ")"
        base, index = self.access(place, at, kind)
        if isinstance(kind, PointerType):
            raise self.unsupported("a pointer that lies in memory", place)
        assert isinstance(kind, Scalar)
        return self.temp(f"L.load({base}, {index}, {self.constant(kind, 'k')}, {self.mask}, {line})")

    def load_field(self, pointer: str, kind: Type, offset: int, line: int) -> str:
        if isinstance(kind, Record):
            parts = [self.load_field(pointer, f.type, offset + f.offset, line) for f in kind.fields]
            return "(" + "".join(part + ", " for part in parts) + ")"
        to = f"advance({pointer}, {offset})" if offset else pointer
        return self.temp(f"L.load({to}, 0, {self.constant(kind, 'k')}, {self.mask}, {line})")

    def write(self, place: Place, value: str, at: tuple[str, str, int] | None = None) -> None:
        found = self.register(place)
        kind = place.type
        if found:
            variable, path = found
            self.set(variable, value, kind, path)
            return
        line = place.at.line
        base, index = self.access(place, at, kind)
        if isinstance(kind, Record):
            if kind.vector and kind.size == kind.align:
                record = self.constant(kind, "r")
                self.emit(f"L.store_vector({base}, {index}, {value}, {record}, {self.mask}, {line})")
                return
            pointer = self.temp(f"advance({base}, wide({index}) * {kind.size})" if index != "0" else base)
            self.store_fields(pointer, self.temp(value), kind, 0, line)
            return
        if isinstance(kind, PointerType):
            raise self.unsupported("a pointer that lies in memory", place)
        self.emit(f"L.store({base}, {index}, {value}, {self.constant(kind, 'k')}, {self.mask}, {line})")

    def store_fields(self, pointer: str, value: str, record: Record, offset: int, line: int) -> None:
        for i, f in enumerate(record.fields):
            part = f"{value}[{i}]"
            if isinstance(f.type, Record):
                self.store_fields(pointer, part, f.type, offset + f.offset, line)
                continue
            to = f"advance({pointer}, {offset + f.offset})"
            self.emit(f"L.store({to}, 0, {part}, {self.constant(f.type, 'k')}, {self.mask}, {line})")

    def set(self, variable: Variable, value: str, kind: Type, path: list[int]) -> None:
        """Assign to a Python variable, or a field of one.

        Lanes outside of the mask keep the old value, unless nobody can read it there any more.
        """
        name = self.name(variable)
        kept = self.regions.get(variable) != self.region
        if path:
            old = name + "".join(f"[{i}]" for i in path)
            new = self.select(self.mask, value, old, kind) if kept else value
            self.emit(f"{name} = {self.replaced(name, path, new)}")
        else:
            self.emit(f"{name} = {self.select(self.mask, value, name, kind) if kept else value}")
        if self.watched and variable in self.unset:
            self.emit(f"{name}_set = join({name}_set, {self.mask})")

    def replaced(self, text: str, path: list[int], new: str) -> str:
        first, *rest = path
        inner = self.replaced(f"{text}[{first}]", rest, new) if rest else new
        return f"(*{text}[:{first}], {inner}, *{text}[{first + 1}:])"

    # ------------------------------------------------------------------------------------------ statements

    def evaluate(self, node: Expression) -> None:
        """An expression for its effects."""
        if isinstance(node, Convert) and isinstance(node.type, Void):
            node = node.operand
        if isinstance(node, Intrinsic) and node.name.startswith("atomic"):
            self.atomic(node, False)
            return
        if isinstance(node, Assign) and not node.op and self.register(node.place):
            self.write(node.place, self.expression(node.value))
            return
        if isinstance(node, Assign) and node.op and (found := self.register(node.place)) and not found[1]:
            right = self.expression(node.value)
            self.write(node.place, self.compound(node, self.read(node.place), right))
            return
        if isinstance(node, Increment) and isinstance(node.place.type, Scalar) and self.register(node.place):
            kind = node.place.type
            self.tally(node, *((1, 0) if kind.is_float else (0, 1)))
            step = self.number_text(1, kind)
            old = self.read(node.place)
            self.write(node.place, self.wrapped(f"{old} {'+' if node.step > 0 else '-'} {step}", kind))
            return
        text = self.expression(node)
        if not text.isidentifier() and text != "None":
            self.emit(text)

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
            if isinstance(kind, Array):
                if node.initial is not None:
                    assert isinstance(node.initial, list)
                    self.fill(name, kind, node.initial, 0, node.at.line)
            elif node.initial is not None:
                assert isinstance(node.initial, Expression)
                self.write(VariablePlace(node.at, kind, variable), self.expression(node.initial))
            return
        if node.initial is None:
            if self.watched:
                self.unset.add(variable)
                self.emit(f"{name}_set = False")
            self.emit(f"{name} = {self.poison(kind)}")
            return
        assert isinstance(node.initial, Expression)
        self.emit(f"{name} = {self.expression(node.initial)}")

    def fill(self, name: str, kind: Type, initial: Any, offset: int, line: int) -> None:
        """Initialise an array: what is given, and zeros."""
        if isinstance(kind, Array):
            for i in range(kind.length or 0):
                part = initial[i] if isinstance(initial, list) and i < len(initial) else None
                self.fill(name, kind.of, part, offset + i * kind.of.size, line)
            return
        value = self.zero(kind) if initial is None else self.expression(initial)
        if isinstance(kind, Record):
            self.store_fields(name, self.temp(value), kind, offset, line)
            return
        index = offset // kind.size
        self.emit(f"L.store({name}, {index}, {value}, {self.constant(kind, 'k')}, {self.mask}, {line})")

    def _do_if(self, node: If) -> None:
        test = self.expression(node.test)
        if self.watched:
            test = self.temp(test)
            self.emit(f"L.branch({test}, {self.mask}, {node.at.line})")
        self.flush()
        yes, no = self.fresh("m"), self.fresh("m")
        self.emit(f"{yes}, {no} = split({self.mask}, {test})")
        before, region = self.mask, self.region
        for mask, part in ((yes, node.yes), (no, node.no)):
            if part is not None:
                with self.under(mask):
                    self.number += 1
                    self.region = self.number
                    self.statement(part)
                    end = self.mask
                    if end not in (mask, "False"):
                        self.emit(f"{mask} = {end}")
                    elif end == "False":
                        self.emit(f"{mask} = False")
                    self.flush()
                    self.mask = mask
                self.region = region
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
        self.number += 1
        inside = self.number
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
                self.number += 1
                self.region = self.number
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
            if isinstance(n, Call) or (isinstance(n, Intrinsic) and n.name == "__syncthreads"):
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
        before, region = self.mask, self.region
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
                self.number += 1
                self.region = self.number
                self.sequence(case.statements)
                if self.mask != inside:
                    self.emit(f"{inside} = {self.mask}")
                self.mask = inside
        self.loop = outer
        self.region = region
        self.emit(f"{done} = join({done}, {inside})")
        self.mask = done if self.leaves(node) else before

    # ------------------------------------------------------------------------------------------- functions

    function: Function

    def define(self, function: Function) -> None:
        self.function = function
        self.region, self.mask = 0, "m"
        self.unset = set()
        arguments = [self.name(p) for p in function.parameters]
        with self.indented(f"def {self.name(function)}({', '.join(['L', 'm', *arguments])}):"):
            for p in function.parameters:
                self.regions[p] = 0
                if p.taken:
                    dtype = self.constant(element_of(p.type), "d")
                    name = self.name(p)
                    self.emit(f"given = {name}")
                    self.emit(f"{name} = L.local({self.constant(p, 's')}, {p.type.size}, {dtype})")
                    self.write(VariablePlace(p.at, p.type, p), "given")
            assert function.body is not None
            for node in walk(function.body):
                if isinstance(node, Declare) and node.variable.storage in ("shared", "dynamic"):
                    self.declare_shared(node.variable)
            if not isinstance(function.returns, Void):
                self.emit(f"result = {self.poison(function.returns)}")
            self.statement(function.body)
            if not isinstance(function.returns, Void):
                self.emit("return result")
        self.emit("")

    def declare_shared(self, variable: Variable) -> None:
        dtype = self.constant(element_of(variable.type), "d")
        key = self.constant(variable, "s")
        if variable.storage == "dynamic":
            self.emit(f"{self.name(variable)} = L.dynamic({key}, {dtype})")
        else:
            self.emit(f"{self.name(variable)} = L.shared({key}, {variable.type.size}, {dtype})")

    def source(self) -> str:
        for function in reachable(self.kernel):
            self.define(function)
        return "\n".join(self.lines) + "\n"


class Code:
    """A kernel as Python: `run(L, mask, *arguments)`; a generator where it `suspends`."""

    def __init__(self, program: Program, kernel: Function, mode: str) -> None:
        generator = Generator(program, kernel, mode)
        self.text = generator.source()
        self.suspends = mode == "warps" and _suspends(kernel)
        self.sharing = bool(shared_variables(kernel))
        self.globals: dict[Variable, Pointer] = {}
        namespace: dict[str, Any] = {
            **{name: item for name, item in vars(values).items() if not name.startswith("_")},
            **generator.constants,
            "NULL": NULL,
            "G": self.globals,
        }
        file = f"<{program.name}: {kernel.name}, {mode}>"
        linecache.cache[file] = (len(self.text), None, self.text.splitlines(True), file)
        exec(compile(self.text, file, "exec"), namespace)
        self.run: Callable[..., Any] = namespace[generator.name(kernel)]
