"""A launch that was profiled, kept so that one of its blocks can be run again: see `Report.trace`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from warplens.arguments import Arguments
from warplens.detect.reuse import ReuseRecorder
from warplens.engine.file_scope import pointers
from warplens.engine.generate import Code
from warplens.engine.launch import Launch, Triple
from warplens.engine.run import run_alone
from warplens.engine.traced import run_traced
from warplens.errors import KernelFault
from warplens.language.tree import Variable
from warplens.report.findings import Limit
from warplens.report.messages import KEPT, WAITING
from warplens.report.samples import Instant
from warplens.report.trace import Step

KEPT_BYTES = 64 << 20  # of arguments, that a report keeps at most

Copies = dict[int, np.ndarray[Any, Any]]


class Replay:
    """What a block needs to run as it did the first time: code, launch, and the arguments as they were."""

    def __init__(
        self,
        code: Callable[[str], Code],
        make: Callable[[], Launch],
        arguments: Arguments,
        variables: dict[Variable, Any],
        copies: Copies,
    ) -> None:
        """`copies` are the allocations before the launch, which changes them; `make` makes a new launch."""
        self._code, self._make, self._arguments, self._variables = code, make, arguments, variables
        self.nbytes = sum(content.nbytes for content in copies.values())
        kept = self.nbytes <= KEPT_BYTES
        self._before = {key: content.copy() for key, content in copies.items()} if kept else None
        self.limits = [] if kept else [Limit("arguments", KEPT.format(self.nbytes, KEPT_BYTES))]

    def __call__(self, block: int, threads: list[int], most: int) -> tuple[list[Step], str]:
        """The first `most` steps of some threads of a block, and why these are not all, or ""."""
        if self._before is None:
            raise ValueError(
                f"trace: the arguments have {self.nbytes:,} bytes, and a report keeps at most {KEPT_BYTES:,} "
                "of them: profile a smaller launch"
            )
        code, launch, values, at = self._ready("traced", block)
        return run_traced(code, launch, values, at, threads, most)

    def events(self, block: int) -> list[Instant]:
        """What the warps of a block did, for a picture; nothing where it cannot run alone."""
        recorder = self.alone(block)
        return [] if recorder is None else recorder.seen.events

    def alone(self, block: int) -> ReuseRecorder | None:
        """What a block asks of memory; None where it cannot run alone."""
        if self._before is None:
            return None
        code, launch, values, at = self._ready("watched", block)
        launch.recorder = recorder = ReuseRecorder(launch.name, launch.source, (1, 1, 1), launch.block)
        try:
            run_alone(code, launch, values, at)
        except KernelFault:  # it waits for another block
            self._meet(Limit("waiting", WAITING.format(block)))
            return None
        for limit in recorder.limits:
            self._meet(limit)
        return recorder

    def _meet(self, limit: Limit) -> None:
        if limit not in self.limits:
            self.limits.append(limit)

    def _ready(self, mode: str, block: int) -> tuple[Code, Launch, list[Any], Triple]:
        assert self._before is not None
        copies = {key: content.copy() for key, content in self._before.items()}
        launch, code = self._make(), self._code(mode)
        values = self._arguments.values(copies)
        code.variables.update(pointers(self._variables, copies))
        x, y, _ = launch.grid
        return code, launch, values, (block % x, block // x % y, block // (x * y))
