"""Expressions as Python: the text of a value, and lines for what has effects or may fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cudasim.engine import mathematics, values
from cudasim.engine.places import Places
from cudasim.engine.printing import Format
from cudasim.engine.survey import BARRIERS, suspends, walk
from cudasim.language import half
from cudasim.language.tree import (
    AddressOf,
    Assign,
    Binary,
    Call,
    Comma,
    Conditional,
    Convert,
    Decay,
    Expression,
    Function,
    Increment,
    Intrinsic,
    Literal,
    Load,
    Logical,
    MakeRecord,
    Member,
    Place,
    PointerAdd,
    PointerDifference,
    Reinterpret,
    Special,
    Text,
    Unary,
    VariablePlace,
)
from cudasim.language.types import BOOL, Record, Scalar, Void
from cudasim.language.types import Pointer as PointerType

SPECIAL = {"threadIdx": "tid", "blockIdx": "bid", "blockDim": "bdim", "gridDim": "gdim"}
MOST_BRACKETS = 40  # in one Python expression: its parser takes 200 within each other
SHUFFLES = {"__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync"}
VOTES = {"__ballot_sync", "__any_sync", "__all_sync", "__activemask"}
FENCES = {"__threadfence", "__threadfence_block", "__threadfence_system"}


def told_of(function: Function, condition: str) -> tuple[str, str]:
    """Of an assert: the function as a compiler calls it, and the text of the condition."""
    parameters = ", ".join(str(p.type).replace(" *", "*") for p in function.parameters)
    return f"{function.returns} {function.name}({parameters})", condition


class Expressions(Places):
    """The text of values under the present mask."""

    function: Function

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
        left, right = (self.temp(text) if text.count("(") > MOST_BRACKETS else text for text in (left, right))
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
        return self.converted(operand, source, target)

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
        return f"distance({left}, {right}) // {node.left.type.to.size}"

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
        """A number of one type in another."""
        if source.dtype == target.dtype:
            return text
        dtype = "" if target == BOOL else f", {self.dtype(target)}"
        return f"{values.conversion(source, target).__name__}({text}{dtype})"

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
        if self.mode == "warps" and suspends(node.function):
            call = f"(yield from {call})"
        out = self.fresh()
        self.emit(f"{out} = {call}")
        return out

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

    # ------------------------------------------------------------------------------------------ intrinsics

    def _intrinsic(self, node: Intrinsic) -> str:
        name, line, mask = node.name, node.at.line, self.mask
        if name in BARRIERS:
            return self.barrier(node)
        if name == "printf":
            return self.printf(node)
        if name == "assert":
            told = self.constant(told_of(self.function, node.text), "s")
            self.emit(f"L.assertion({self.expression(node.arguments[0])}, {told}, {mask}, {line})")
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
        flops = 2 if name.strip("_").partition("_")[0] in ("fma", "fmaf") else 1  # and __fmaf_rn, its like
        if name not in half.FUNCTIONS:  # conversions cost nothing
            self.tally(node, *((flops, 0) if floating else (0, 1)))
        call = f"{self.constant(function, 'math_' + name.strip('_'))}({', '.join(arguments)})"
        return self.wrapped(call, node.type)

    def barrier(self, node: Intrinsic) -> str:
        """__syncthreads, and its like that count the threads for which something holds."""
        test = self.temp(self.expression(node.arguments[0])) if node.arguments else ""
        self.flush()
        if self.watched:
            self.emit(f"L.barrier({node.name!r}, {self.mask}, {node.at.line})")
        if not test:
            if self.mode == "warps":
                self.emit("yield")
            return "None"
        out = self.fresh()
        if self.mode == "warps":
            self.emit(f"{out} = L.vote_in_block({test}, {self.mask})")
            self.emit("yield")
            self.emit(f"{out} = L.outcome({node.name!r}, {out})")
        else:
            self.emit(f"{out} = L.block_vote({node.name!r}, {test}, {self.mask})")
        return out

    def printf(self, node: Intrinsic) -> str:
        """Texts stand in the table of constants, and never in the source that is made."""
        values = []
        for argument in node.arguments:
            if isinstance(argument, Text):
                values.append(self.constant(argument.value, "s"))
            elif isinstance(argument.type, PointerType):
                values.append(f"shown_address({self.expression(argument)})")
            else:
                values.append(self.expression(argument))
        given = "".join([value + ", " for value in values])
        self.emit(f"L.printf({self.constant(Format(node.text), 's')}, ({given}), {self.mask})")
        return str(len(values))

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
