"""Pairs of kernels by shape of work: to import a module here is to register its pairs."""

from __future__ import annotations

import functools
from pathlib import Path

from minilib.cuda import RawModule

KERNELS = Path(__file__).parents[1] / "kernels"


@functools.cache
def kernels(name: str) -> RawModule:
    """The module of kernels/`name`.cu."""
    return RawModule(code=(KERNELS / f"{name}.cu").read_text(encoding="utf-8"))
