"""What one graded notebook showed, as plain data that survives a trip through JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Probe:
    """One value that a hidden test showed, as `coursekit.box.probe.encode` wrote it."""

    name: str
    value: Any
    tolerance: float = 1e-9


@dataclass(frozen=True)
class CellRun:
    """What happened when one hidden test ran after the answer of its exercise.

    `status` is "ok", "error" (the hidden test or the answer cell raised), "unsolved" (the answer raised
    NotImplementedError), "timeout", "died" (the kernel went away), "flood" (too much output) or "missing".
    `error` is one line, such as "NameError: name 'helper' is not defined", "" when there was none.
    """

    grade_id: str
    exercise: str
    status: str
    probes: tuple[Probe, ...] = ()
    error: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class NotebookRun:
    """All hidden tests of one notebook, in the order of the notebook."""

    name: str
    cells: tuple[CellRun, ...] = field(default_factory=tuple)


def to_json(run: NotebookRun) -> dict[str, Any]:
    return {
        "name": run.name,
        "cells": [{**vars(cell), "probes": [vars(probe) for probe in cell.probes]} for cell in run.cells],
    }


def from_json(data: dict[str, Any]) -> NotebookRun:
    return NotebookRun(
        data["name"],
        tuple(
            CellRun(**{**cell, "probes": tuple(Probe(**probe) for probe in cell["probes"])})
            for cell in data["cells"]
        ),
    )
