"""What one graded notebook showed, as plain data that survives a trip through JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coursekit.files import write_text

MALFORMED = "(malformed)"  # what a probe is called that cannot be read


@dataclass(frozen=True)
class Probe:
    """One value that a hidden test showed, as `coursekit.box.probe.encode` wrote it.

    `of` names what each item of a list is the result of. Only the reference's is looked at.
    """

    name: str
    value: Any
    tolerance: float = 1e-9
    of: Sequence[str] = ()


@dataclass(frozen=True)
class CellRun:
    """What happened when one hidden test ran after the answer of its exercise.

    `status` is "ok", "error" (the hidden test or the answer cell raised), "unsolved" (a stub did), "timeout",
    "died" (the kernel went away), "flood" (too much output) or "missing".
    `error` is one line, such as "NameError: name 'helper' is not defined", "" when there was none.
    Beside "ok" it is what ended the answer's cell after its definitions.
    `quoted` is what the first visible check that fails says, where somebody asked.
    """

    grade_id: str
    exercise: str
    status: str
    probes: tuple[Probe, ...] = ()
    error: str = ""
    seconds: float = 0.0
    quoted: str = ""


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


def save_run(path: Path, run: NotebookRun) -> None:
    """Write `run` for `load_run`, at once or not at all."""
    write_text(path, json.dumps(to_json(run)))


def load_run(path: Path) -> NotebookRun:
    return from_json(json.loads(path.read_text(encoding="utf-8")))
