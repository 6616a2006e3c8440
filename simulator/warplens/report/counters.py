"""What was counted: over a whole launch, on one line of the source, or of one array."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from warplens.report.transactions import SECTOR


@dataclass(kw_only=True)
class Counters:
    """What was counted: over a whole launch, or on one line of the source. Atomics are in `atomics` alone."""

    global_load_requests: int = 0
    global_load_sectors: int = 0
    global_load_lines: int = 0
    global_load_sectors_ideal: int = 0
    global_store_requests: int = 0
    global_store_sectors: int = 0
    global_store_lines: int = 0
    global_store_sectors_ideal: int = 0
    shared_load_requests: int = 0
    shared_store_requests: int = 0
    shared_bytes_read: int = 0
    shared_bytes_written: int = 0
    bank_conflicts: int = 0
    shared_bytes: int = 0
    divergent_branches: int = 0
    barriers: int = 0
    atomics: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    unique_bytes: int = 0
    flops: int = 0
    int_ops: int = 0
    threads: int = 0
    warps: int = 0

    @property
    def bytes_moved(self) -> int:
        """Bytes between global memory and the chip: whole sectors."""
        return SECTOR * (self.global_load_sectors + self.global_store_sectors)

    @property
    def flops_per_byte(self) -> float:
        """Arithmetic intensity: flops for each byte that a lane reads or writes in global memory."""
        return _ratio(self.flops, self.bytes_read + self.bytes_written)

    @property
    def flops_per_shared_byte(self) -> float:
        """The same for each byte that a lane reads or writes in shared memory."""
        return _ratio(self.flops, self.shared_bytes_read + self.shared_bytes_written)

    def totals(self) -> dict[str, Any]:
        """Every counter by its name."""
        return {name: getattr(self, name) for name in _NAMES}

    def add(self, other: Counters) -> None:
        """Count what `other` has counted too."""
        mine, more = vars(self), vars(other)
        for name in _NAMES:
            if more[name]:
                mine[name] += more[name]


_NAMES = tuple(field.name for field in fields(Counters))


@dataclass(kw_only=True)
class ArrayCounters(Counters):
    """What was done to one array, on one line or in all. `space` is "global" or "shared", `shape` and `item`
    (the bytes of an element) are those of its declaration, where there is one."""

    array: str
    space: str
    shape: tuple[int, ...] = ()
    item: int = 0


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


def _ratio(flops: int, moved: int) -> float:
    return flops / moved if moved else float("inf") if flops else 0.0
