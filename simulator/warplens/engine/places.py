"""Places that hold values: Python variables, and memory at an address that is worked out once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from warplens.engine.emitter import Emitter
from warplens.language.tree import (
    AddressOf,
    Decay,
    Deref,
    Expression,
    Literal,
    Load,
    MemberPlace,
    Place,
    PointerAdd,
    Variable,
    VariablePlace,
)
from warplens.language.types import Array, Record, Scalar, Type, Void, holds_array, holds_pointer
from warplens.language.types import Pointer as PointerType

if TYPE_CHECKING:
    from warplens.engine.expressions import ExpressionWriter


def in_memory(variable: Variable) -> bool:
    """Whether a variable is memory that a pointer can point to, and no Python variable."""
    return variable.storage not in ("register", "param") or variable.taken or holds_array(variable.type)


Rows = list[tuple[str, int, int]]  # an index, the length of the row that it counts in, its line


def _row_length(node: PointerAdd) -> int:
    """The length of the array that is indexed, where it is part of a larger one or of a record, and the index
    may be outside of it. Else 0."""
    pointer, index = node.pointer, node.index
    if not isinstance(pointer, Decay) or isinstance(pointer.place, VariablePlace) or node.negative:
        return 0
    assert isinstance(pointer.place.type, Array)
    length = pointer.place.type.length or 0
    return 0 if isinstance(index, Literal) and 0 <= index.value < length else length


class PlaceWriter:
    """Reading and writing places; their indices are expressions."""

    def __init__(self, code: Emitter, expressions: ExpressionWriter) -> None:
        self.code, self.expressions = code, expressions

    def path(self, node: Expression, used: bool = False) -> tuple[str, str, int]:
        """A pointer as (base pointer, index, stride in bytes): p[i][j] is one access to one index. `used`: to
        get at what it points to."""
        terms: list[tuple[str, int]] = []
        rows: Rows = []
        base = self._collect(node, terms, rows)
        if used:
            base = self._look_at(rows, base)
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

    def _collect(self, node: Expression, terms: list[tuple[str, int]], rows: Rows) -> str:
        """The base pointer; what is added to it goes to `terms`, what counts within a row also to `rows`."""
        if isinstance(node, PointerAdd):
            base = self._collect(node.pointer, terms, rows)
            assert isinstance(node.pointer.type, PointerType)
            to = node.pointer.type.to
            stride = 1 if isinstance(to, Void) else to.size
            index = self.expressions.text(node.index)
            if self.code.watched and (length := _row_length(node)):
                index = self.code.temp(index)
                rows.append((index, length, node.at.line))
            if isinstance(node.index, Literal):
                if node.index.value:
                    terms.append(("1", (-1 if node.negative else 1) * stride * int(node.index.value)))
            else:
                terms.append((index, -stride if node.negative else stride))
            return base
        if isinstance(node, Decay | AddressOf):
            return self._collect_place(node.place, terms, rows)
        return self.expressions.text(node)

    def _collect_place(self, place: Place, terms: list[tuple[str, int]], rows: Rows) -> str:
        if isinstance(place, Deref):
            return self._collect(place.pointer, terms, rows)
        if isinstance(place, MemberPlace):
            base = self._collect_place(place.record, terms, rows)
            assert isinstance(place.record.type, Record)
            field = place.record.type.field(place.field)
            assert field is not None
            if field.offset:
                terms.append(("1", field.offset))
            return base
        assert isinstance(place, VariablePlace)
        return self.variable_name(place.variable)

    def _look_at(self, rows: Rows, base: str) -> str:
        """Have indices within rows looked at; gives the base pointer again."""
        if rows:
            base = self.code.temp(base)
        for index, length, line in rows:
            self.code.emit(f"L.row({base}, {index}, {length}, {self.code.mask}, {line})")
        return base

    def variable_name(self, variable: Variable) -> str:
        if variable.storage in ("constant", "device"):
            return f"G[{self.code.constant(variable, 'g')}]"
        return self.code.name(variable)

    def pointer_to(self, place: Place) -> str:
        """A pointer to a place in memory, as a value."""
        terms: list[tuple[str, int]] = []
        base = self._collect_place(place, terms, [])
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
            return None if in_memory(place.variable) else (place.variable, [])
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
        rows: Rows = []
        base = self.code.temp(self._collect_place(place, terms, rows))
        self._look_at(rows, base)
        index, unit = self._combined(terms, place.type)
        return base, index if index.isdigit() else self.code.temp(f"wide({index})"), unit

    def access(self, place: Place, at: tuple[str, str, int] | None, kind: Type) -> tuple[str, str]:
        """Pointer and index, in elements of `kind`, of a place in memory."""
        if at is None:
            terms: list[tuple[str, int]] = []
            rows: Rows = []
            base = self._look_at(rows, self._collect_place(place, terms, rows))
            at = (base, *self._combined(terms, place.type))
        base, index, unit = at
        if unit == kind.size:
            return base, index
        if index == "0":
            return base, index
        return f"advance({base}, wide({index}) * {unit})", "0"

    def read(self, place: Place, at: tuple[str, str, int] | None = None) -> str:
        code = self.code
        found = self.register(place)
        if found:
            variable, path = found
            if code.watched and variable in code.unset and (given := self.marks(variable, path)):
                label = ".".join([variable.name, *self.field_names(variable.type, path)])
                joined = given[0]
                for mark in given[1:]:
                    joined = f"join({joined}, {mark})"
                code.emit(f"L.unset({label!r}, {joined}, {code.mask}, {place.at.line})")
            return code.name(variable) + "".join(f"[{i}]" for i in path)
        kind = place.type
        line = place.at.line
        if isinstance(kind, Record):
            base, index = self.access(place, at, kind)
            if kind.vector and kind.size == kind.align:
                record = code.constant(kind, "r")
                return code.temp(f"L.load({base}, {index}, {record}, {code.mask}, {line})")
            self.no_pointer(place)
            pointer = code.temp(f"advance({base}, wide({index}) * {kind.size})" if index != "0" else base)
            return self.load_field(pointer, kind, 0, line)
        base, index = self.access(place, at, kind)
        if isinstance(kind, Array):
            return self.load_field(code.temp(base), kind, 0, line)
        if isinstance(kind, PointerType):
            self.no_pointer(place)
            return code.temp(f"load_pointer(L, {base}, {index}, {code.mask}, {line})")
        assert isinstance(kind, Scalar)
        with self._marked(place):
            return code.temp(f"L.load({base}, {index}, {code.constant(kind, 'k')}, {code.mask}, {line})")

    @contextmanager
    def _marked(self, place: Place) -> Iterator[None]:
        """An access, which is marked where it is recorded and volatile: whether it polls."""
        code = self.code
        marked = f"with L.volatile({id(place) in code.facts.spin_waits.polls}):"
        with code.indented(marked) if code.watched and place.volatile else nullcontext():
            yield

    def load_field(self, pointer: str, kind: Type, offset: int, line: int) -> str:
        """What lies so many bytes behind a pointer: a value with all its parts."""
        code = self.code
        if isinstance(kind, Record):
            parts = [self.load_field(pointer, part, offset + place, line) for part, place in kind.pieces]
            return "(" + "".join(part + ", " for part in parts) + ")"
        if isinstance(kind, Array):
            if isinstance(kind.of, Scalar):
                to, scalar = f"advance({pointer}, {offset})", code.constant(kind.of, "k")
                each = f"[L.load({to}, i, {scalar}, {code.mask}, {line}) for i in range({kind.length})]"
                return code.temp(f"tuple({each})")
            places = range(offset, offset + kind.size, kind.of.size)
            parts = [self.load_field(pointer, kind.of, place, line) for place in places]
            return "(" + "".join(part + ", " for part in parts) + ")"
        to = f"advance({pointer}, {offset})" if offset else pointer
        if isinstance(kind, PointerType):
            return code.temp(f"load_pointer(L, {to}, 0, {code.mask}, {line})")
        return code.temp(f"L.load({to}, 0, {code.constant(kind, 'k')}, {code.mask}, {line})")

    def write(self, place: Place, value: str, at: tuple[str, str, int] | None = None) -> None:
        code = self.code
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
                record = code.constant(kind, "r")
                code.emit(f"L.store({base}, {index}, {value}, {record}, {code.mask}, {line})")
                return
            self.no_pointer(place)
        if isinstance(kind, Record | Array):
            pointer = code.temp(f"advance({base}, wide({index}) * {kind.size})" if index != "0" else base)
            self.store_field(pointer, code.temp(value), kind, 0, line)
            return
        if isinstance(kind, PointerType):
            self.no_pointer(place)
            code.emit(f"store_pointer(L, {base}, {index}, {value}, {code.mask}, {line})")
            return
        with self._marked(place):
            code.emit(f"L.store({base}, {index}, {value}, {code.constant(kind, 'k')}, {code.mask}, {line})")

    def no_pointer(self, place: Place) -> None:
        """Raise where a pointer surely lies in memory that is not the thread's own; a run decides else."""
        if not holds_pointer(place.type):
            return
        own: object = place
        while not isinstance(own, VariablePlace):
            if isinstance(own, MemberPlace):
                own = own.record
            elif isinstance(own, Deref | PointerAdd):
                own = own.pointer
            elif isinstance(own, Decay | AddressOf):
                own = own.place
            elif isinstance(own, Load):
                given = self.code.function.parameters if self.code.function.kernel else []
                found = self.register(own.place)
                if found is None or found[0] not in given:
                    return
                break
            else:
                return
        if isinstance(own, Load) or own.variable.storage not in ("local", "register", "param"):
            raise self.code.unsupported("a pointer that lies in memory", place)

    def store_field(self, pointer: str, value: str, kind: Type, offset: int, line: int) -> None:
        """Write a value with all its parts to so many bytes behind a pointer."""
        code = self.code
        to = f"advance({pointer}, {offset})"
        if isinstance(kind, Record):
            for i, (part, place) in enumerate(kind.pieces):
                self.store_field(pointer, f"{value}[{i}]", part, offset + place, line)
        elif isinstance(kind, Array) and isinstance(kind.of, Scalar):
            at, scalar = code.fresh("n"), code.constant(kind.of, "k")
            code.emit(f"for {at} in range({kind.length}):")
            code.emit(f"    L.store({to}, {at}, {value}[{at}], {scalar}, {code.mask}, {line})")
        elif isinstance(kind, Array):
            for i in range(kind.length or 0):
                self.store_field(pointer, f"{value}[{i}]", kind.of, offset + i * kind.of.size, line)
        elif isinstance(kind, PointerType):
            code.emit(f"store_pointer(L, {to}, 0, {value}, {code.mask}, {line})")
        else:
            code.emit(f"L.store({to}, 0, {value}, {code.constant(kind, 'k')}, {code.mask}, {line})")

    def whole(self, place: Place, fields: int) -> tuple[str, list[str]]:
        """An object as it is, and who has written to each of its fields: what nobody has is no finding."""
        code, found = self.code, self.register(place)
        assert found is not None
        variable, path = found
        text = code.name(variable) + "".join(f"[{i}]" for i in path)
        if not code.watched:
            return text, []
        if variable not in code.unset:
            return text, ["True"] * fields
        marks = self.marks(variable, path)
        return text, marks * fields if path else marks

    def give_back(self, place: Place, value: str, marks: str, fields: int) -> None:
        """What a method has made of an object that it was given."""
        code, found = self.code, self.register(place)
        assert found is not None
        variable, path = found
        before = self.marks(variable, path) if variable in code.unset else []
        self.set(variable, value, place.type, path)
        if code.watched and not path:
            for i, mark in enumerate(before):
                code.emit(f"{mark} = {marks}[{i}]")

    def set(self, variable: Variable, value: str, kind: Type, path: list[int]) -> None:
        """Assign to a Python variable, or a field of one.

        Lanes outside of the mask keep the old value, unless nobody can read it there any more.
        """
        code = self.code
        name = code.name(variable)
        kept = code.regions.get(variable) != code.region
        if path:
            old = name + "".join(f"[{i}]" for i in path)
            new = code.select(code.mask, value, old, kind) if kept else value
            code.emit(f"{name} = {self.replaced(name, path, new)}")
        else:
            code.emit(f"{name} = {code.select(code.mask, value, name, kind) if kept else value}")
        label = ".".join([variable.name, *self.field_names(variable.type, path)])
        code.follow(label, name + "".join(f"[{i}]" for i in path), kind)
        if code.watched and variable in code.unset:
            for mark in self.marks(variable, path):
                code.emit(f"{mark} = join({mark}, {code.mask})")

    def marks(self, variable: Variable, path: list[int]) -> list[str]:
        """The masks of those who have written to a variable: of a record, one for each field."""
        name = self.code.name(variable) + "_set"
        if not isinstance(variable.type, Record):
            return [name]
        return [f"{name}{i}" for i in (path[:1] or range(len(variable.type.fields)))]

    def field_names(self, kind: Type, path: list[int]) -> list[str]:
        """The names of the fields that a path leads through."""
        if not path or not isinstance(kind, Record):
            return []
        field = kind.fields[path[0]]
        return [field.name, *self.field_names(field.type, path[1:])]

    def replaced(self, text: str, path: list[int], new: str) -> str:
        first, *rest = path
        inner = self.replaced(f"{text}[{first}]", rest, new) if rest else new
        return f"(*{text}[:{first}], {inner}, *{text}[{first + 1}:])"
