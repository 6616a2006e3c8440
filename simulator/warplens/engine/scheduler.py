"""Cooperative scheduling of blocks whose threads wait for each other: a warp that waits yields to the others.

Warps run one by one, each until it ends, comes to a barrier or waits. What waits goes on when memory has
changed. When all that are left wait, and nothing changes any more, they wait for ever. In a report a whole
block runs in lockstep, which is sooner, as long as its threads do not wait for each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from warplens.engine.launch import Launch
from warplens.engine.values import Mask
from warplens.errors import Deadlock

if TYPE_CHECKING:
    from warplens.engine.lanes import Lanes

__all__ = ["Arrival", "ResidentBlock", "Wait", "run_cooperatively"]

FOR_EVER = "every other thread has ended or waits as well, so it never ends"
IN_WARP = (
    ". If it waits for another lane of its own warp: the lanes of a warp wait for each other behind a loop "
    "and a branch, here and on GPUs before Volta, so what it waits for must be done within the loop or before"
)


@dataclass(frozen=True)
class Wait:
    """Lanes that have gone round a loop on `line` and found nothing new: they wait. `still`: nothing but
    memory can bring them out, and it had changed `changes` times when they looked."""

    lanes: Lanes
    line: int
    live: Mask
    still: bool
    changes: int

    @property
    def is_part(self) -> bool:
        """Whether other lanes of the warp are elsewhere."""
        axes = self.lanes.axes
        alive = axes.active(True) & ~axes.active(self.lanes.exited)
        return bool((alive & ~axes.active(self.live)).any())


@dataclass(frozen=True)
class Arrival:
    """A warp at a barrier, where it is recorded; `active` and `exited` are rows (1, 32)."""

    line: int
    name: str
    active: Any
    exited: Any


_END = object()


class _RunningWarp:
    """One warp on its way."""

    def __init__(self, lanes: Lanes, run: Iterator[Any]) -> None:
        self.lanes, self._run = lanes, run
        self.at: Any = None  # what it has stopped at: a wait, or a barrier

    @property
    def waits(self) -> bool:
        return isinstance(self.at, Wait)

    @property
    def ended(self) -> bool:
        return self.at is _END

    @property
    def at_barrier(self) -> bool:
        return not (self.at is None or self.waits or self.ended)

    def go_on(self) -> None:
        self.at = next(self._run, _END)


class ResidentBlock:
    """A block of a launch that is on its way; `warps` are its warps, in the order in which they run, or all
    its threads in lockstep, as one."""

    def __init__(self, launch: Launch, warps: Iterable[tuple[Lanes, Iterator[Any]]]) -> None:
        self.launch = launch
        self.warps = [_RunningWarp(*warp) for warp in warps]
        self._kept: Any = None

    @property
    def ended(self) -> bool:
        return all(warp.ended for warp in self.warps)

    @property
    def waits(self) -> list[Wait]:
        return [warp.at for warp in self.warps if warp.waits]

    def go_on(self) -> bool:
        """Each warp as far as it comes; whether any came further."""
        recorder = self.launch.recorder
        if all(wait.still and wait.changes == self.launch.changes for wait in self.waits) and self.waits:
            return False  # and all others are at a barrier, or have ended
        if recorder is not None:
            recorder.chunk(self.warps[0].lanes.first_block, 1, self._kept)
        further = False
        tried: set[_RunningWarp] = set()
        while self._run_warps(tried):
            further = True
        if recorder is not None:
            self._kept = None if self.ended else recorder.leave()
        return further

    def _run_warps(self, tried: set[_RunningWarp]) -> bool:
        launch, further = self.launch, False
        for warp in self.warps:
            if warp.ended or warp.at_barrier:
                continue
            if warp.waits:
                if warp.at.changes == launch.changes if warp.at.still else warp in tried:
                    continue
                tried.add(warp)
            before = launch.changes
            warp.go_on()
            further |= not warp.waits or launch.changes != before
        if not self.ended and all(warp.ended or warp.at_barrier for warp in self.warps):
            self._release_barrier()
            further = True
        return further

    def _release_barrier(self) -> None:
        """All warps that have not ended are at a barrier: they may go on."""
        recorder = self.launch.recorder
        if recorder is not None:
            warps = np.concatenate([warp.lanes.warp_numbers() for warp in self.warps])
            arrivals = [warp.at for warp in self.warps if warp.at_barrier]
            exited = np.concatenate(
                [np.ones((1, 32), bool) if warp.ended else warp.at.exited for warp in self.warps]
            )
            for line, name in dict.fromkeys((arrival.line, arrival.name) for arrival in arrivals):
                active = [
                    warp.at.active
                    if warp.at_barrier and (warp.at.line, warp.at.name) == (line, name)
                    else np.zeros((1, 32), bool)
                    for warp in self.warps
                ]
                recorder.barrier(line, np.concatenate(active), warps, exited, name)
        for warp in self.warps:
            if warp.at_barrier:
                warp.at = None


def run_cooperatively(launch: Launch, blocks: Iterable[ResidentBlock]) -> None:
    """Begin each block in its order, and then let those that wait go on in turn, until all have ended."""
    held: list[ResidentBlock] = []
    last = 0
    for block in blocks:
        last = block.warps[0].lanes.first_block
        block.go_on()
        if not block.ended:
            held.append(block)
    early = [wait for block in held for wait in block.waits if wait.lanes.first_block != last]
    while held:
        held.reverse()  # whoever waits for a neighbour gets what it waits for in one of two rounds
        further = any([block.go_on() for block in held])
        held = [block for block in held if not block.ended]
        waiting = [wait for block in held for wait in block.waits]
        if held and not further and all(wait.still for wait in waiting):
            first = min(waiting, key=lambda wait: wait.lanes.first_block)
            first.lanes.stop_loop(first.line, first.live, FOR_EVER + IN_WARP * first.is_part, Deadlock)
    if launch.recorder is not None:
        for wait in early:
            active = wait.lanes.axes.active(wait.live)
            launch.recorder.waits_for_later(wait.line, active, wait.lanes.warp_numbers())
