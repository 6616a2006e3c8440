"""Expressions as Python: the text of a value, and lines for what has effects or may fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from warplens.analysis.traversal import walk
from warplens.engine import values
from warplens.engine.emitter import Emitter
from warplens.engine.intrinsic_calls import IntrinsicWriter
from warplens.engine.memory import element_of
from warplens.engine.places import PlaceWriter, in_memory
from warplens.language.tree import (
    AddressOf,
    Assign,
    Binary,
    Call,
    Comma,
    Conditional,
    Convert,
    Decay,
    Expression,
    Increment,
    Intrinsic,
    Literal,
    Load,
    Logical,
    MakeArray,
    MakeRecord,
    Member,
    Place,
    PointerAdd,
    PointerDifference,
    Reinterpret,
    Special,
    Unary,
    Variable,
    VariablePlace,
)
from warplens.language.types import BFLOAT, BOOL, Record, Scalar, Void
from warplens.language.types import Pointer as PointerType

ALONE = {"warpSize": "32", "blockRank": "L.rank", "blockSize": "L.launch.threads"}
SPECIAL = {"threadIdx": "tid", "blockIdx": "bid", "blockDim": "bdim", "gridDim": "gdim"}
MOST_BRACKETS = 40  # in one Python expression: its parser takes 200 within each other


class ExpressionWriter:
    """The text of values under the present mask."""

    def __init__(self, code: Emitter) -> None:
        self.code = code
        self.places = PlaceWriter(code, self)
        self.intrinsics = IntrinsicWriter(code, self)
        self._by_node: dict[type[Expression], Callable[[Any], str]] = {
            Literal: self._literal,
            Special: self._special,
            Unary: self._unary,
            Binary: self._binary,
            Logical: self._logical,
            Conditional: self._conditional,
            Comma: self._comma,
            Convert: self._convert,
            Reinterpret: self._reinterpret,
            PointerAdd: self._pointeradd,
            PointerDifference: self._pointerdifference,
            AddressOf: self._pointer,
            Decay: self._pointer,
            Load: self._load,
            MakeRecord: self._makerecord,
            MakeArray: self._tuple,
            Member: self._member,
            Assign: self._assign,
            Increment: self._increment,
            Call: self._call,
            Intrinsic: self.intrinsics.intrinsic,
        }

    def text(self, node: Expression) -> str:
        """The text of a value under the present mask; what has effects or may fail is emitted on the way."""
        return self._by_node[type(node)](node)

    def _literal(self, node: Literal) -> str:
        if isinstance(node.type, PointerType):
            return "NULL"
        assert isinstance(node.type, Scalar)
        return self.code.number_text(node.value, node.type)

    def _special(self, node: Special) -> str:
        return ALONE.get(node.name) or f"L.{SPECIAL[node.name]}_{node.axis}"

    def _unary(self, node: Unary) -> str:
        operand = self.text(node.operand)
        if node.op == "!":
            return f"lnot({operand})"
        kind = node.type
        assert isinstance(kind, Scalar)
        self.code.tally(node, 0, 0 if kind.is_float else 1)
        return self.code.wrapped(f"{node.op}{operand}", kind)

    def _binary(self, node: Binary) -> str:
        op, kind = node.op, node.left.type
        left = self.before(node.left, node.right)
        right = self.text(node.right)
        if op in ("==", "!=", "<", "<=", ">", ">="):
            if isinstance(kind, PointerType):
                return f"({left}.address {op} {right}.address)"
            return f"({left} {op} {right})"
        assert isinstance(node.type, Scalar)
        return self.operate(node, op, left, right, node.type)

    def operate(self, node: Expression, op: str, left: str, right: str, kind: Scalar) -> str:
        """left op right, both of type `kind` (of a shift only the left one)."""
        code = self.code
        left, right = (code.temp(text) if text.count("(") > MOST_BRACKETS else text for text in (left, right))
        code.tally(node, *((1, 0) if kind.is_float else (0, 1)))
        if kind.is_float:
            return code.wrapped(f"{left} {op} {right}", kind)
        if op in ("/", "%"):
            if code.watched:
                right = code.temp(right)
                code.emit(f"L.divisor({right}, {code.mask}, {node.at.line})")
            return f"{'quotient' if op == '/' else 'remainder'}({left}, {right}, {code.dtype(kind)})"
        if op in ("<<", ">>"):
            if code.watched and not (right.isdigit() and int(right) < 8 * kind.size):
                right = code.temp(right)
                code.emit(f"L.shift({right}, {8 * kind.size}, {code.mask}, {node.at.line})")
            return f"shift_{'left' if op == '<<' else 'right'}({left}, {right}, {code.dtype(kind)})"
        if op in ("&", "|", "^"):
            return f"({left} {op} {right})"
        return code.wrapped(f"{left} {op} {right}", kind)

    def simple(self, node: Expression) -> bool:
        """Whether it costs little and harms nobody to compute this for lanes that do not need it."""
        code = self.code
        fine = (Literal, Special, Unary, Binary, Convert, Load, Logical, Member)
        for part in walk(node):
            if isinstance(part, Place):
                if not isinstance(part, VariablePlace) or in_memory(part.variable):
                    return False
                if code.watched and part.variable in code.unset:
                    return False
            elif not isinstance(part, fine):
                return False
            elif isinstance(part, Binary) and (part.op in ("/", "%") or code.watched):
                if part.op not in ("==", "!=", "<", "<=", ">", ">="):
                    return False
            elif isinstance(part, Unary) and code.watched and part.op != "!":
                return False
        return True

    def _logical(self, node: Logical) -> str:
        code = self.code
        left = self.text(node.left)
        if self.simple(node.right):
            return f"{'land' if node.op == '&&' else 'lor'}({left}, {self.text(node.right)})"
        left = code.temp(left)
        yes, no = code.fresh("m"), code.fresh("m")
        code.flush()
        code.emit(f"{yes}, {no} = split({code.mask}, {left})")
        out = code.fresh()
        go = yes if node.op == "&&" else no
        code.emit(f"{out} = {node.op == '||'}")
        with code.under(go):
            right = self.text(node.right)
            code.emit(f"{out} = {code.select(go, right, out, BOOL)}")
        return out

    def _conditional(self, node: Conditional) -> str:
        code = self.code
        test = self.text(node.test)
        if self.simple(node.yes) and self.simple(node.no) and isinstance(node.type, Scalar):
            yes, no = self.text(node.yes), self.text(node.no)
            return f"select(mask_of({test}), {yes}, {no}, {code.dtype(node.type)})"
        yes_mask, no_mask = code.fresh("m"), code.fresh("m")
        code.flush()
        code.emit(f"{yes_mask}, {no_mask} = split({code.mask}, {test})")
        out = code.fresh()
        code.emit(f"{out} = None")
        for mask, arm in ((yes_mask, node.yes), (no_mask, node.no)):
            with code.under(mask):
                value = self.text(arm)
                if isinstance(node.type, Void):
                    code.emit(value)
                elif mask == yes_mask:
                    code.emit(f"{out} = {value}")
                else:
                    value = code.temp(value)
                    chosen = code.select(mask, value, out, node.type)
                    code.emit(f"{out} = {value} if {out} is None else {chosen}")
        return out

    def _comma(self, node: Comma) -> str:
        self.evaluate(node.left)
        return self.text(node.right)

    def _convert(self, node: Convert) -> str:
        operand = self.text(node.operand)
        source, target = node.operand.type, node.type
        if isinstance(target, Void):
            return operand
        if isinstance(source, PointerType):
            return f"pointer_to_bool({operand})"
        assert isinstance(source, Scalar) and isinstance(target, Scalar)
        return self.converted(operand, source, target)

    def _reinterpret(self, node: Reinterpret) -> str:
        operand = self.text(node.operand)
        source, target = node.operand.type, node.type
        if isinstance(source, PointerType) and isinstance(target, PointerType):
            return operand
        if isinstance(target, PointerType) and isinstance(node.operand, Literal):
            return "NULL"
        if isinstance(source, PointerType) and isinstance(target, Scalar):
            return f"to_integer(wide({operand}.address), {self.code.dtype(target)})"
        raise self.code.unsupported("a number as a pointer", node)

    def _pointeradd(self, node: PointerAdd) -> str:
        base, index, stride = self.places.path(node)
        return f"advance({base}, wide({index}) * {stride})" if index != "0" else base

    def _pointerdifference(self, node: PointerDifference) -> str:
        left, right = self.text(node.left), self.text(node.right)
        assert isinstance(node.left.type, PointerType)
        return f"distance({left}, {right}) // {node.left.type.to.size}"

    def _pointer(self, node: AddressOf | Decay) -> str:
        return self.places.pointer_to(node.place)

    def _load(self, node: Load) -> str:
        return self.places.read(node.place)

    def _makerecord(self, node: MakeRecord) -> str:
        kind = node.type
        assert isinstance(kind, Record)
        if not kind.union:
            return self._tuple(node)
        code, places = self.code, self.places
        value = code.temp(self.text(node.parts[0])) if node.parts else ""
        name, dtype = code.fresh(), code.constant(element_of(kind), "d")
        key = code.constant(Variable("<union>", kind, "local", node.at), "s")
        code.emit(f"{name} = L.local({key}, {kind.size}, {dtype})")
        places.store_field(name, code.temp(code.zero(kind)), kind, 0, node.at.line)
        if node.parts:
            places.store_field(name, value, node.parts[0].type, 0, node.at.line)
        return places.load_field(name, kind, 0, node.at.line)

    def _tuple(self, node: MakeRecord | MakeArray) -> str:
        parts = [self.before(part, *node.parts[i + 1 :]) for i, part in enumerate(node.parts)]
        return "(" + "".join(part + ", " for part in parts) + ")"

    def before(self, node: Expression, *others: Expression) -> str:
        """The text of a value that is worked out before others, which may call a method that changes it."""
        text = self.text(node)
        if self.code.methods and any(
            isinstance(n, Call) and n.object is not None for other in others for n in walk(other)
        ):
            return self.code.temp(text)
        return text

    def _member(self, node: Member) -> str:
        assert isinstance(node.record.type, Record)
        names = [f.name for f in node.record.type.fields]
        return f"{self.text(node.record)}[{names.index(node.field)}]"

    def _assign(self, node: Assign) -> str:
        code = self.code
        place, kind = node.place, node.place.type
        if not node.op:
            value = self.text(node.value)
            if not isinstance(kind, Record):
                value = code.temp(value)
            self.places.write(place, value)
            return value
        right = code.temp(self.text(node.value))
        at = self.places.prepared(place)
        old = self.places.read(place, at)
        new = self.compound(node, old, right)
        new = code.temp(new)
        self.places.write(place, new, at)
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
        if source.dtype == target.dtype and target != BFLOAT:
            return text
        dtype = "" if target == BOOL else f", {self.code.dtype(target)}"
        return f"{values.conversion(source, target).__name__}({text}{dtype})"

    def _increment(self, node: Increment) -> str:
        code = self.code
        place, kind = node.place, node.place.type
        at = self.places.prepared(place)
        old = code.fresh()
        code.emit(f"{old} = {self.places.read(place, at)}")
        if isinstance(kind, PointerType):
            new = f"advance({old}, {node.step * kind.to.size})"
        else:
            assert isinstance(kind, Scalar)
            code.tally(node, *((1, 0) if kind.is_float else (0, 1)))
            step = code.number_text(1, kind)
            new = code.wrapped(f"{old} {'+' if node.step > 0 else '-'} {step}", kind)
        if node.postfix:
            self.places.write(place, new, at)
            return old
        new = code.temp(new)
        self.places.write(place, new, at)
        return new

    def _call(self, node: Call) -> str:
        code, this = self.code, node.function.this
        given, fields = list(node.arguments), 0
        objects: list[str] = []
        marks: list[str] = []
        if this is not None and isinstance(this.type, Record):
            first, fields = given.pop(0), len(this.type.fields)
            assert isinstance(first, Load)
            text, marks = self.places.whole(first.place, fields)
            objects = [code.temp(text)]
        arguments = [*objects, *[code.temp(self.text(a)) for a in given], *marks]
        code.flush()
        code.tell("enter", node.function.name)
        call = f"{code.name(node.function)}({', '.join(['L', code.mask, *arguments])})"
        if code.suspends(node.function):
            call = f"(yield from {call})"
        out = code.fresh()
        if node.object is None:
            code.emit(f"{out} = {call}")
        else:
            back, written = code.fresh(), code.fresh()
            code.emit(f"{out}, {back}, {written} = {call}")
            self.places.give_back(node.object, back, written, fields)
        if code.traced:
            code.emit(f"L.back_at({node.at.line}, {code.mask}, {code.constant(code.function.name, 's')})")
        return out

    def evaluate(self, node: Expression) -> None:
        """An expression for its effects."""
        code = self.code
        if isinstance(node, Convert) and isinstance(node.type, Void):
            node = node.operand
        if isinstance(node, Intrinsic) and node.name.startswith("atomic"):
            self.intrinsics.atomic(node, False)
            return
        if isinstance(node, Assign) and not node.op and self.places.register(node.place):
            self.places.write(node.place, self.text(node.value))
            return
        if (
            isinstance(node, Assign)
            and node.op
            and (found := self.places.register(node.place))
            and not found[1]
        ):
            right = self.text(node.value)
            self.places.write(node.place, self.compound(node, self.places.read(node.place), right))
            return
        if (
            isinstance(node, Increment)
            and isinstance(node.place.type, Scalar)
            and self.places.register(node.place)
        ):
            kind = node.place.type
            code.tally(node, *((1, 0) if kind.is_float else (0, 1)))
            step = code.number_text(1, kind)
            old = self.places.read(node.place)
            self.places.write(node.place, code.wrapped(f"{old} {'+' if node.step > 0 else '-'} {step}", kind))
            return
        text = self.text(node)
        if not text.isidentifier() and text != "None":
            code.emit(text)
