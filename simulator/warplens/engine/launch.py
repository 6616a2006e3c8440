"""What all threads of a launch share."""

from __future__ import annotations

import math

from warplens.detect.recorder import Recorder
from warplens.engine.printing import Printed

Triple = tuple[int, int, int]


class Launch:
    """A run of a kernel: its shape, its limits, and what comes of it."""

    def __init__(
        self,
        name: str,
        source: str,
        grid: Triple,
        block: Triple,
        shared_bytes: int = 0,
        max_steps: int = 1_000_000,
        reverse: bool = False,
        patience: float | None = None,
        waits: bool = False,
    ) -> None:
        self.name, self.source = name, source
        self.grid, self.block = grid, block
        self.shared_bytes, self.max_steps, self.reverse = shared_bytes, max_steps, reverse
        self.patience = patience  # seconds, for a loop that does not seem to end
        self.threads = math.prod(block)
        self.warps = -(-self.threads // 32)  # of a block
        self.recorder: Recorder | None = None
        self.changes = 0  # how often memory was changed: a loop that changes nothing never ends
        self.waits = waits  # whether a thread may wait for what an atomic changes
        self.printed = Printed()
