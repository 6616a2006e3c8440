"""How one thread tells another one of what it has done: by an atomic or a volatile flag, between two fences.

What is kept here finds which of these fences is missing, for a message. Who is ordered, `HappensBefore` says.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from warplens.detect.happens_before import HappensBefore, Ints
from warplens.report.messages import Told

MOST = 1 << 18  # lanes that are kept; what is older is forgotten


@dataclass
class _Flag:
    """Atomics, or volatile accesses, of one instruction."""

    instant: int
    memory: Hashable
    lanes: Ints
    positions: Ints
    reads: bool
    writes: bool
    ticket: bool


class MissingFences:
    def __init__(self, order: HappensBefore) -> None:
        self._order = order
        self._flags: deque[_Flag] = deque()
        self._fences: deque[tuple[int, Ints, bool]] = deque()
        self._room = self._room_for_fences = MOST
        self._forgetful = False
        self.asked_in_vain = False  # about what may have been forgotten

    def flag(
        self, instant: int, memory: Hashable, lanes: Ints, positions: Ints, reads: bool, writes: bool,
        ticket: bool,
    ) -> None:  # fmt: skip
        """Atomics, or volatile loads and stores; a `ticket`'s result is compared with a count."""
        self._flags.append(_Flag(instant, memory, lanes, positions, reads, writes, ticket))
        self._room -= len(lanes)
        while self._room < 0:
            self._room += len(self._flags.popleft().lanes)
            self._forgetful = True

    def fence(self, instant: int, lanes: Ints, within_block: bool) -> None:
        self._fences.append((instant, lanes, within_block))
        self._room_for_fences -= len(lanes)
        while self._room_for_fences < 0:
            self._room_for_fences += len(self._fences.popleft()[1])
            self._forgetful = True

    def took_the_last(self, memory: Hashable, lanes: Ints, positions: Ints) -> list[bool]:
        """Whether the last atomic on a cell was a ticket of each lane, or of its block before a barrier: it
        knows by its number that all others have come."""
        self.asked_in_vain |= self._forgetful
        last: dict[int, tuple[int, int]] = {}  # by cell: whose, and when; no lane where it was no ticket
        for flag in self._flags:
            if flag.memory == memory and flag.writes:
                for lane, at in zip(flag.lanes.tolist(), flag.positions.tolist()):
                    last[at] = (lane if flag.ticket else -1), flag.instant
        blocks = self._order.block_of(lanes).tolist()
        epochs = (self._order.epoch[blocks] >> 32).tolist()
        result = []
        for lane, block, epoch, at in zip(lanes.tolist(), blocks, epochs, positions.tolist()):
            who, when = last.get(at, (-1, 0))
            near = who >= 0 and who // self._order.lanes_per_block == block and when < epoch
            result.append(who == lane or near)
        return result

    def told(self, lane: int, other: int, instant: int, now: int) -> Told | None:
        """How `other` told `lane`, before `now`, of what it had done at `instant`; None where it did not."""
        self.asked_in_vain |= self._forgetful
        near = self._order.block_of(np.array([lane])) == self._order.block_of(np.array([other]))
        if near.all():
            return self._told(lane, other, instant, now, 1)
        return self._told(lane, other, instant, now, self._order.lanes_per_block)

    def _told(self, lane: int, other: int, instant: int, now: int, width: int) -> Told | None:
        """Within a block threads speak for themselves, else for their whole block, of `width` lanes."""
        flags: dict[tuple[Hashable, int], int] = {}  # since when each is set
        found: tuple[int, int] | None = None
        for flag in self._flags:
            if not instant < flag.instant < now:
                continue
            if flag.writes:
                for at in flag.positions[flag.lanes // width == other // width].tolist():
                    flags.setdefault((flag.memory, at), flag.instant)
            if flag.reads:
                for at in flag.positions[flag.lanes // width == lane // width].tolist():
                    since = flags.get((flag.memory, at))
                    # Atomics of one instruction come in the order of their lanes.
                    if since is not None and (since < flag.instant or other < lane):
                        found = since, flag.instant
        if found is None:
            return None
        told, learnt = self._order.line(np.array(found) << 32).tolist()
        released = self._fenced(other, instant, found[0], width)
        return Told(told, learnt, released, self._fenced(lane, found[1], now, width))

    def _fenced(self, lane: int, since: int, until: int, width: int) -> bool:
        return any(
            since < instant < until and (lanes // width == lane // width).any()
            for instant, lanes, within_block in self._fences
            if width == 1 or not within_block
        )
