"""Blocks whose threads wait for each other take turns: a warp that waits gives way to all others.

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

__all__ = ["Arrival", "Resident", "Wait", "take_turns"]

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


class _Turn:
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


class Resident:
    """A block of a launch that is on its way; `turns` are its warps, in the order in which they run, or all
    its threads in lockstep."""

    def __init__(self, launch: Launch, warps: Iterable[tuple[Lanes, Iterator[Any]]]) -> None:
        self.launch = launch
        self.turns = [_Turn(*warp) for warp in warps]
        self._kept: Any = None

    @property
    def ended(self) -> bool:
        return all(turn.ended for turn in self.turns)

    @property
    def waits(self) -> list[Wait]:
        return [turn.at for turn in self.turns if turn.waits]

    def go_on(self) -> bool:
        """Each warp as far as it comes; whether any came further."""
        recorder = self.launch.recorder
        if all(wait.still and wait.changes == self.launch.changes for wait in self.waits) and self.waits:
            return False  # and all others are at a barrier, or have ended
        if recorder is not None:
            recorder.chunk(self.turns[0].lanes.first_block, 1, self._kept)
        further = False
        tried: set[_Turn] = set()
        while self._round(tried):
            further = True
        if recorder is not None:
            self._kept = None if self.ended else recorder.leave()
        return further

    def _round(self, tried: set[_Turn]) -> bool:
        launch, further = self.launch, False
        for turn in self.turns:
            if turn.ended or turn.at_barrier:
                continue
            if turn.waits:
                if turn.at.changes == launch.changes if turn.at.still else turn in tried:
                    continue
                tried.add(turn)
            before = launch.changes
            turn.go_on()
            further |= not turn.waits or launch.changes != before
        if not self.ended and all(turn.ended or turn.at_barrier for turn in self.turns):
            self._meet()
            further = True
        return further

    def _meet(self) -> None:
        """All warps that have not ended are at a barrier: they may go on."""
        recorder = self.launch.recorder
        if recorder is not None:
            warps = np.concatenate([turn.lanes.warp_numbers() for turn in self.turns])
            arrivals = [turn.at for turn in self.turns if turn.at_barrier]
            exited = np.concatenate(
                [np.ones((1, 32), bool) if turn.ended else turn.at.exited for turn in self.turns]
            )
            for line, name in dict.fromkeys((arrival.line, arrival.name) for arrival in arrivals):
                active = [
                    turn.at.active
                    if turn.at_barrier and (turn.at.line, turn.at.name) == (line, name)
                    else np.zeros((1, 32), bool)
                    for turn in self.turns
                ]
                recorder.barrier(line, np.concatenate(active), warps, exited, name)
        for turn in self.turns:
            if turn.at_barrier:
                turn.at = None


def take_turns(launch: Launch, blocks: Iterable[Resident]) -> None:
    """Begin each block in its order, and then let those that wait go on in turn, until all have ended."""
    held: list[Resident] = []
    last = 0
    for block in blocks:
        last = block.turns[0].lanes.first_block
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
