"""Who must meet, and does not: threads at a barrier of their block, lanes at a function of their warp."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from warplens.detect.collector import Collector
from warplens.detect.geometry import Geometry
from warplens.report import messages
from warplens.report.transactions import LANES, Bools, Ints

Array = NDArray[Any]


class Convergence:
    """Looks at each meeting, and reports who is missing. All is (warps, 32)."""

    def __init__(self, geometry: Geometry, found: Collector) -> None:
        self._geometry, self._found = geometry, found

    def barrier(self, line: int, name: str, active: Bools, warps: Ints, exited: Bools) -> Ints:
        """The blocks with `active` lanes at a barrier, all whose threads must be there but for those that
        have `exited`."""
        geometry = self._geometry
        of_block = warps // geometry.per_block
        at_barrier = np.zeros(geometry.blocks, dtype=bool)
        at_barrier[of_block[active.any(axis=1)]] = True
        blocks = np.flatnonzero(at_barrier)
        if len(blocks):
            meeting = at_barrier[of_block][:, None]
            live = geometry.live(warps, exited)
            self._missing(line, name, active, live & meeting, warps, blocks)
            self._returned(line, name, geometry.exists[warps % geometry.per_block] & ~live & meeting, warps)
        return blocks

    def _missing(self, line: int, name: str, active: Bools, live: Bools, warps: Ints, blocks: Ints) -> None:
        """Every live thread of a block that has threads at a barrier must be there."""
        per_block = self._geometry.per_block
        missing = live & ~active
        absent = 0
        if len(warps) < len(blocks) * per_block:  # warps that did not even come
            there = np.zeros((self._geometry.blocks, per_block), dtype=bool)
            there.flat[warps] = True
            gone = (blocks[:, None] * per_block + np.arange(per_block))[~there[blocks]]
            if len(gone):
                warps = np.concatenate([warps, gone])
                exists = self._geometry.exists[gone % per_block]
                missing, live = np.concatenate([missing, exists]), np.concatenate([live, exists])
                absent = len(gone)
        if not missing.any():
            return
        _, who = self._found.example(missing, warps)
        mine = warps // per_block == self._found.number(who.block)
        arrived = int(active[mine[: len(mine) - absent]].sum())
        text = messages.barrier_divergence(who, name, arrived, int(live[mine].sum()))
        bad = np.zeros(self._geometry.blocks, dtype=bool)
        bad[warps[missing.any(axis=1)] // per_block] = True
        self._found.find("barrier_divergence", "barrier-divergence", line, text, who, bad)

    def _returned(self, line: int, name: str, returned: Bools, warps: Ints) -> None:
        if returned.any():
            _, who = self._found.example(returned, warps)
            mine = warps // self._geometry.per_block == self._found.number(who.block)
            text = messages.early_return(who, name, int(returned[mine].sum()))
            self._found.find("notes", "early-return", line, text, who, returned)

    def warp(self, line: int, name: str, masks: Array, active: Bools, warps: Ints, exited: Bools) -> None:
        """All live lanes of a mask must execute a function of warps, and whoever does must be in its mask."""
        named = np.bitwise_or.reduce(np.where(active, masks, np.uint32(0)), axis=1)
        missing = lane_bits(named[:, None]) & self._geometry.live(warps, exited) & ~active
        if missing.any():
            i, who = self._found.example(missing, warps)
            lanes = messages.lanes_text(np.flatnonzero(missing[i // LANES]).tolist())
            text = (
                f"the mask {int(named[i // LANES]):#010x} of {name} names lanes of warp "
                f"{who.warp % self._geometry.per_block} that do not execute it: {lanes}, such as "
                f"{who}. Call it where all lanes of the mask pass, or name only those that do."
            )
            self._found.find("warp_sync", "warp-sync", line, text, who, missing)
        outside = active & ~lane_bits(masks)
        if outside.any():
            i, who = self._found.example(outside, warps)
            text = (
                f"{who} calls {name} with the mask {int(masks.flat[i]):#010x}, which lacks its own lane "
                f"{i % LANES}. The mask must name every lane that calls."
            )
            self._found.find("warp_sync", "warp-sync", line, text, who, outside, other=1)

    def shuffle(self, line: int, name: str, source: Array, active: Bools, warps: Ints) -> None:
        """A lane that another one reads must execute the shuffle; `source` is -1 for the lane itself."""
        reads = active & (source >= 0)
        answers = np.take_along_axis(active, np.where(reads, source, 0) % LANES, axis=1)
        bad = reads & ~answers
        if bad.any():
            i, who = self._found.example(bad, warps)
            text = (
                f"{who} (lane {i % LANES}) reads lane {int(source.flat[i])} with {name}, but that lane does "
                "not execute it, so the value is undefined. Let the whole warp call it."
            )
            self._found.find("warp_sync", "warp-sync", line, text, who, bad, other=2)


def lane_bits(masks: Array) -> Bools:
    """Whether each lane is in a mask."""
    bit: Bools = (masks >> np.arange(LANES, dtype=np.uint32)) & np.uint32(1) != 0
    return bit
