"""A report as plain data: what was found, what was counted, and what more can be asked of the launch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from warplens.report.counters import ArrayCounters, Counters, Lines
from warplens.report.findings import Finding, Limit, Race, at_their_guards, by_line, for_one_barrier
from warplens.report.samples import Seen

Triple = tuple[int, int, int]

SECTIONS = (
    ("endless", "Loops that never end"),
    ("races", "Races"),
    ("out_of_bounds", "Out of bounds"),
    ("uninitialised", "Read before written"),
    ("misaligned", "Misaligned"),
    ("barrier_divergence", "Barriers that not all threads reach"),
    ("warp_sync", "Warp functions without all their lanes"),
    ("arithmetic", "Arithmetic"),
    ("asserts", "Assertions"),
    ("notes", "Notes"),
)


class Reuse(NamedTuple):
    """Of an array, what a block asks for, and how much of it is different: sectors that it loads, or elements
    that it updates by atomics. Lanes that want the same sector in one access of a warp ask once; each atomic
    asks."""

    asked: int
    different: int
    by_itself: float  # how often a thread asks for the same element


class BlockMemory(Protocol):
    """What one block asks of memory when it runs once more, alone."""

    def reuse(self) -> dict[tuple[str, str], Reuse]:
        """By "load" or "atomic", and array, what was asked for."""

    def padded(self, array: str) -> int:
        """How many elements longer the rows of a shared array should be; 0 where that does not help much."""


class Rerun(Protocol):
    """Runs one block of a launch again."""

    limits: list[Limit]  # what could not be looked at when a block ran again

    def __call__(self, block: int, threads: list[int], most: int) -> tuple[list[Any], str]:
        """The first `most` steps (`trace.Step`) of some threads, and why these are not all, or ""."""

    def alone(self, block: int) -> BlockMemory | None:
        """What a block asks of memory; None where it cannot run alone."""


def _nobody() -> NDArray[np.int64]:
    return np.zeros((0, 0), dtype=np.int64)


@dataclass(kw_only=True, eq=False)
class ReportData(Counters):
    """The counters of a whole launch, its findings by section, and `lines`: the counters of each source line.

    `printed` is what printf said. `steps_by_thread` and `bytes_by_thread`, of shape (blocks, threads of a
    block), x fastest, say who did the work. A step is an access to memory, an atomic, the test of a branch or
    a loop, a barrier or a function of warps; the arithmetic between them is none. Bytes are those of global
    memory that a thread reads, writes, or changes by an atomic.
    """

    program: str
    source: str
    grid: Triple
    block: Triple
    outputs: list[NDArray[Any] | None] = field(default_factory=list)
    endless: list[Finding] = field(default_factory=list)
    races: list[Race] = field(default_factory=list)
    out_of_bounds: list[Finding] = field(default_factory=list)
    uninitialised: list[Finding] = field(default_factory=list)
    misaligned: list[Finding] = field(default_factory=list)
    barrier_divergence: list[Finding] = field(default_factory=list)
    warp_sync: list[Finding] = field(default_factory=list)
    arithmetic: list[Finding] = field(default_factory=list)
    asserts: list[Finding] = field(default_factory=list)
    notes: list[Finding] = field(default_factory=list)
    printed: str = ""
    steps_by_thread: NDArray[np.int64] = field(default_factory=_nobody)
    bytes_by_thread: NDArray[np.int64] = field(default_factory=_nobody)
    lines: Lines = field(default_factory=Lines)
    arrays: dict[str, ArrayCounters] = field(default_factory=dict)
    met: list[Limit] = field(default_factory=list, repr=False)  # while the launch ran
    seen: Seen = field(default_factory=Seen, repr=False)
    rerun: Rerun | None = field(default=None, repr=False, compare=False)

    @property
    def span(self) -> int:
        """The steps of the thread that takes the most: with threads without end, the launch takes so long."""
        return int(self.steps_by_thread.max(initial=0))

    @property
    def ok(self) -> bool:
        """Whether nothing was found. Notes, and races that write the same value, do no harm."""
        return not self.problems

    @property
    def findings(self) -> list[Finding]:
        """All findings, section by section."""
        return [finding for name, _ in SECTIONS for finding in getattr(self, name)]

    def shown(self, section: str) -> Sequence[Finding]:
        """The findings of a section as they are shown: what one guard lets through, one barrier would keep
        apart, or one line does with its warp, as one; races that do no harm are notes."""
        if section == "races":
            return for_one_barrier(self.races)
        if section == "notes":
            return [*self.notes, *(race for race in self.races if not race.is_harmful)]
        found: list[Finding] = getattr(self, section)
        if section == "warp_sync":
            return by_line(found)
        return at_their_guards(found, self.source.splitlines()) if section == "out_of_bounds" else found

    @property
    def problems(self) -> list[Finding]:
        """The findings that do harm, as they are shown, which is how they are counted in words."""
        return [found for name, _ in SECTIONS if name != "notes" for found in self.shown(name)]


def plain(value: Any) -> Any:
    """A value as json.dumps takes it: a dataclass as a dict of its fields and of what follows from them, an
    array as lists, what is kept by anything but a name as a list."""
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if is_dataclass(value):
        names, kinds = [one.name for one in fields(value)], type.mro(type(value))
        names += [name for kind in kinds for name, of in vars(kind).items() if isinstance(of, property)]
        return {name: plain(getattr(value, name)) for name in names if not name.startswith("_")}
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {key: plain(one) for key, one in value.items()}
        return [plain(one) for one in value.values()]
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value
