"""What `profile` gives back: findings, counters in all and by source line, as text and as HTML."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warplens.reports.advice import Cost, costs
from warplens.reports.beside import Beside
from warplens.reports.counters import ArrayCounters, Counters
from warplens.reports.finding import Finding, Race, at_their_guards, by_line, for_one_barrier
from warplens.reports.messages import triple
from warplens.reports.occupancy import Occupancy, occupancy
from warplens.reports.page import page
from warplens.reports.pictures import Picture, Seen, sketches
from warplens.reports.steps import Rerun, Steps, place_of_block, threads_of
from warplens.reports.tables import SECTIONS
from warplens.reports.text import text

__all__ = ["Finding", "LineCounters", "Lines", "Race", "Report"]

Triple = tuple[int, int, int]


@dataclass(kw_only=True)
class LineCounters(Counters):
    """What one line of the source did. `threads` and `warps` are those that came there.

    `arrays` has the same for each array that it touches. `warp_steps` is how many steps its warps have taken,
    and `idle_steps` how many of their lanes' steps were none: both at least, as lanes that come to a line
    at different times may count as if they had come together.
    """

    line: int
    source: str
    arrays: dict[str, ArrayCounters] = field(default_factory=dict)
    warp_steps: int = 0
    idle_steps: int = 0


class Lines(dict[int, LineCounters]):
    """Counters by line number; a line that did nothing has zeros."""

    def __missing__(self, line: int) -> LineCounters:
        return LineCounters(line=line, source="")


def _nobody() -> NDArray[np.int64]:
    return np.zeros((0, 0), dtype=np.int64)


@dataclass(kw_only=True, eq=False)
class Report(Counters):
    """The counters of a whole launch, its findings, and `lines`: the counters of each source line.

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

    @cached_property
    def costs(self) -> list[Cost]:
        """What could be cheaper, the most expensive first: see `reports.advice`."""
        return costs(self)

    def occupancy(self, architecture: str = "sm_90") -> Occupancy:
        """How many of a multiprocessor's warps the launch can keep there, by threads and shared memory."""
        return occupancy(math.prod(self.block), self.shared_bytes, architecture)

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

    def picture(self, of: str, *, line: int | None = None, array: str | None = None) -> Picture:
        """One of the pictures: "access" (threads and addresses of global memory), "banks" (of shared memory;
        the worst warp) or "barriers" (a time line of the first block's warps).

        `line` and `array` choose among several. Raises ValueError where there is none.
        """
        there = sketches(self.seen)
        for one in there:
            if one.of == of and line in (None, one.line) and array in (None, one.array):
                return one.drawn(self.seen)
        names = [f'"{one.of}"' + (f" of line {one.line}, {one.array}" if one.line else "") for one in there]
        raise ValueError(f"the report has no such picture; there is: {'; '.join(names) or 'none'}")

    def trace(
        self, block: Any = 0, thread: Any = None, *, warp: int | None = None, steps: int = 200
    ) -> Steps:
        """What one thread did, or with `warp=` one warp: its first `steps` steps, with all values.

        `block` and `thread` are numbers or tuples. The block runs again, alone and in lockstep, with the
        arguments as they were before the launch, so that what it would read of other blocks is not there.
        """
        number, at = place_of_block(block, self.grid)
        threads, name = threads_of(self.block, thread, warp)
        if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
            raise ValueError(f"trace: steps must be an integer from 1 on, not {steps!r}")
        if self.rerun is None:
            raise ValueError("trace: only a report that `profile` has made can run a block again")
        found, more = self.rerun(number, threads, steps)
        return Steps(f"{self.program}: {name} of block {triple(at)}", found, more)

    # ------------------------------------------------------------------------------------- what it looks like

    def __str__(self) -> str:
        return text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return page(self)

    def __or__(self, other: Report | Beside) -> Beside:
        """Both side by side."""
        return Beside((self,)) | other
