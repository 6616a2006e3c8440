"""Lanes of one block that write down what some of its threads do, value by value, for `Report.trace`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from warplens.detect.recorder import Recorder
from warplens.engine.access import Access
from warplens.engine.generate import Code
from warplens.engine.launch import Launch, Triple
from warplens.engine.memory import LanePointer, Value
from warplens.engine.printing import Format
from warplens.engine.values import Mask
from warplens.engine.watched import Watched
from warplens.language.types import Record, Scalar, Type
from warplens.report.messages import element
from warplens.report.trace import MORE, WAITS, Happening, Step, by_lane
from warplens.report.transactions import alignment

__all__ = ["run_traced"]


class _Enough(Exception):
    """So many steps were asked for."""


def run_traced(
    code: Code, launch: Launch, arguments: Sequence[Any], at: Triple, threads: list[int], most: int
) -> tuple[list[Step], str]:
    """The steps of some threads of block `at`, which runs alone; and why these are not all, or ""."""
    launch.recorder = Recorder(launch.name, launch.source, (1, 1, 1), launch.block)
    launch.recorder.chunk(0, 1)
    lanes = Traced(launch, at, code.facts.shares, threads, most)
    try:
        with np.errstate(all="ignore"):
            run = code.run(lanes, True, *arguments)
            waits = code.suspends and next(run, None) is not None
    except _Enough:
        return lanes.steps, MORE
    return lanes.steps, WAITS if waits else ""


class Traced(Watched):
    """One block in lockstep; `threads` are the numbers of those that are followed."""

    def __init__(self, launch: Launch, at: Triple, sharing: bool, threads: list[int], most: int) -> None:
        super().__init__(launch, at, (1, 1, 1), sharing)
        self.first_block = 0  # for the recorder, which knows of one block
        self.steps: list[Step] = []
        self._most, self._text = most, launch.source.splitlines()
        self._single = len(threads) == 1
        self._awaited: tuple[int, Mask, str] | None = None  # a step that is none unless something happens
        x, y, _ = launch.block
        self._places: dict[int, tuple[int, ...]] = {}
        for t in threads:
            self._places[t] = self.axes.place((0, 0, 0, t // (x * y), t // x % y, t % x))

    # ------------------------------------------------------------------------------- called by traced code

    def at(self, line: int, mask: Mask, function: str) -> None:
        """The statement on `line` begins."""
        self._awaited = None
        taking = self._taking(mask)
        if taking:
            if len(self.steps) == self._most:
                raise _Enough
            source = self._text[line - 1] if 0 < line <= len(self._text) else ""
            self.steps.append(Step(len(self.steps) + 1, line, source, function, tuple(taking)))

    def back_at(self, line: int, mask: Mask, function: str) -> None:
        """A function has been called from `line`; what follows is another step there."""
        self._awaited = line, mask, function

    def assigned(self, name: str, value: Value, mask: Mask, kind: Type) -> None:
        """A variable gets a value; or `name` says what else a value is for."""
        what = (name, "") if name in ("return", "switch") else ("set", name)
        self._note(mask, lambda place: ("", None, _of(value, kind, self._value(place))), *what)

    def goes(self, kind: str, name: str, mask: Mask) -> None:
        """Threads call a function, or leave a loop by break or continue."""
        self._note(mask, _nothing, kind, name)

    # ------------------------------------------------------------------------------------------- what happens

    def access(self, access: Access) -> Value:
        found = super().access(access)
        kind = {"load": "read", "store": "write", "atomic": access.operation}[access.action]
        if access.action == "load":
            self._note_access(kind, access, found)
        else:
            values, old = access.values, found if access.action == "atomic" else None
            self._note_access(kind, access, values[0] if len(values) == 1 else values, old)
        return found

    def branch(self, condition: Value, mask: Mask, line: int) -> None:
        super().branch(condition, mask, line)
        self._note(mask, lambda place: ("", None, bool(self._value(place)(condition))), "test")

    def barrier(self, name: str, mask: Mask, line: int) -> None:
        super().barrier(name, mask, line)
        self._note(mask, _nothing, "barrier", name)

    def syncwarp(self, lanes: Value, mask: Mask, line: int) -> None:
        super().syncwarp(lanes, mask, line)
        self._note(mask, _nothing, "barrier", "__syncwarp")

    def shuffle(
        self,
        name: str,
        lanes: Value,
        value: Value,
        by: Value,
        width: Value,
        kind: Scalar,
        mask: Mask,
        line: int,
    ) -> Value:
        found = super().shuffle(name, lanes, value, by, width, kind, mask, line)
        self._note(mask, lambda place: ("", None, _of(found, kind, self._value(place))), "call", name)
        return found

    def vote(self, name: str, lanes: Value, value: Value, mask: Mask, line: int) -> Value:
        found = super().vote(name, lanes, value, mask, line)
        self._note(mask, lambda place: ("", None, _plain(self._value(place)(found))), "call", name)
        return found

    def block_vote(self, name: str, value: Value, mask: Mask) -> Value:
        found = super().block_vote(name, value, mask)
        self._note(mask, lambda place: ("", None, _plain(self._value(place)(found))), "call", name)
        return found

    def printf(self, text: Format, values: tuple[Value, ...], mask: Mask) -> None:
        super().printf(text, values, mask)

        def said(place: tuple[int, ...]) -> tuple[str, None, str]:
            return "", None, text.fill(tuple([self._value(place)(value) for value in values]))

        self._note(mask, said, "print")

    # --------------------------------------------------------------------------------------------------- how

    def _value(self, place: tuple[int, ...]) -> Callable[[Value], Any]:
        """Takes a value of all lanes; gives that of the lane at `place`."""
        return lambda value: (
            np.broadcast_to(value, self.axes.shape)[place] if isinstance(value, np.ndarray) else value
        )

    def _taking(self, mask: Mask) -> list[int]:
        """Those of the threads that are in a mask."""
        if mask is True or mask is False:
            return list(self._places) if mask else []
        return [t for t, place in self._places.items() if self._value(place)(mask)]

    def _note_access(self, kind: str, access: Access, value: Value, old: Value = None) -> None:
        memory, of, size = access.memory, access.kind, access.kind.size
        item, name, atomic = memory.dtype.itemsize, memory.name, access.action == "atomic"

        def there(place: tuple[int, ...]) -> tuple[Any, ...]:
            pick = self._value(place)
            offset = int(pick(access.pointer.offset)) + int(pick(access.index)) * size
            wrong = ""
            if not memory.low <= offset <= memory.high - size:
                wrong = "a null pointer" if memory.space == "null" else "out of bounds"
            elif (offset + memory.base) % alignment(size):
                wrong = "misaligned"
            number = (offset - memory.low) // item
            shape = getattr(memory, "shape", None)
            where = name if memory.single and number == 0 else element(name, number, shape)
            told = _plain(pick(value)) if atomic and type(value) is not tuple else _of(value, of, pick)
            return where, number, told, None if old is None else _plain(pick(old)), wrong

        self._note(access.mask, there, "atomic" if atomic else kind, kind if atomic else name)

    def _note(
        self,
        mask: Mask,
        there: Callable[[tuple[int, ...]], tuple[Any, ...]],
        kind: str,
        name: str = "",
    ) -> None:
        """An event: `there` gives the element, its number and the value of the lane at a place; of an access
        what was there before as well, and what is wrong with it."""
        taking = self._taking(mask)
        if not taking:
            return
        if self._awaited is not None:
            self.at(*self._awaited)
        found = [there(self._places[t]) for t in taking]
        where, index, value, *more = found[0]
        old, wrong = more or (None, "")
        if not self._single:
            lanes = [t % 32 for t in taking]
            columns = [by_lane(zip(lanes, column)) for column in zip(*found)]
            index = columns[1] if index is not None else None
            where, value = columns[0] if where else "", columns[2]
            old = columns[3] if old is not None else None
            wrong = columns[4] if more else ""
        if there is _nothing:
            value = None
        self.steps[-1].events.append(Happening(kind, name, index, value, old, where, wrong))


def _nothing(place: tuple[int, ...]) -> tuple[str, None, None]:
    return "", None, None


def _of(value: Value, kind: Type, pick: Callable[[Value], Any]) -> Any:
    """The value of a lane: integers and doubles as Python has them, other floats as NumPy has them."""
    if isinstance(value, LanePointer):
        return _pointer(value, pick)
    if isinstance(value, tuple):
        if not isinstance(kind, Record):
            return tuple([_plain(pick(part)) for part in value])
        return {f.name: _of(part, f.type, pick) for f, part in zip(kind.fields, value)}
    found = pick(value)
    if isinstance(kind, Scalar) and kind.is_float and isinstance(found, np.number):
        return _plain(found.astype(kind.dtype))
    return bool(found) if isinstance(kind, Scalar) and kind.dtype == np.bool_ else _plain(found)


def _pointer(p: LanePointer, pick: Callable[[Value], Any]) -> str:
    which = getattr(p, "which", None)
    memory: Any = p.memory if which is None else p.memories[int(pick(which))]  # type: ignore[attr-defined]
    if memory.space == "null":
        return "nullptr"
    number = (int(pick(p.offset)) - memory.low) // memory.dtype.itemsize
    return f"&{element(memory.name, number, getattr(memory, 'shape', None))}"


def _plain(value: Any) -> Any:
    if (isinstance(value, np.generic) and value.dtype.kind != "f") or isinstance(value, np.float64):
        return value.item()
    return value
