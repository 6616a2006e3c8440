"""What pictures are drawn from: the first requests of each line, and the first events of one block."""

from __future__ import annotations

from dataclasses import dataclass, field

from warplens.report.transactions import Bools, Ints


@dataclass
class Request:
    """The first requests of a line: `offsets` (from the start of the allocation; the array begins at `low`)
    and `active` are (a few warps, 32). `item` is the size of an element."""

    line: int
    kind: str
    array: str
    space: str
    size: int
    item: int
    low: int
    offsets: Ints
    active: Bools
    warps: Ints
    conflicts: int = 0  # of the worst warp
    shape: tuple[int, ...] = ()  # of the array's declaration


@dataclass
class Instant:
    """What the warps of one block did at one instant: `lanes` (warps,) took part, of `live`."""

    kind: str
    line: int
    lanes: Ints
    live: Ints


@dataclass
class Seen:
    """What the pictures need: the first requests of each line, and the first events of one `block`."""

    requests: dict[tuple[int, str, str], Request] = field(default_factory=dict)
    events: list[Instant] = field(default_factory=list)
    block: tuple[int, int, int] = (0, 0, 0)
    MAX_EVENTS = 240
    MAX_WARPS = 4

    def wants(self, line: int, kind: str, array: str, conflicts: int = 0) -> bool:
        """Whether this request is the first of its sort, or worse than the one that is kept."""
        kept = self.requests.get((line, kind, array))
        return kept is None or conflicts > kept.conflicts

    def request(self, request: Request) -> None:
        self.requests[request.line, request.kind, request.array] = request

    def event(self, event: Instant) -> None:
        if len(self.events) < self.MAX_EVENTS:
            self.events.append(event)
