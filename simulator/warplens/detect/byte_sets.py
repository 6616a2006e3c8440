"""Marks on the bytes of a memory, one byte for each, set and asked for in the words of an access."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from warplens.report.transactions import Bools, Ints, alignment

Array = NDArray[Any]
_ONES = {
    1: (np.uint8, 0x01),
    2: (np.uint16, 0x0101),
    4: (np.uint32, 0x01010101),
    8: (np.uint64, 0x0101010101010101),
}


def _words(marked: NDArray[np.uint8], at: Ints, size: int) -> tuple[Array, Ints, int]:
    """The bytes `marked` in the widest words that fit accesses of `size` bytes, and which words those are."""
    width = min(8, alignment(size))
    kind, ones = _ONES[width]
    words = at // width
    if size > width:
        words = words[:, None] + np.arange(size // width)
    return marked.view(kind), words, ones


def set_bytes(marked: NDArray[np.uint8], at: Ints, size: int) -> None:
    words, where, ones = _words(marked, at, size)
    words[where] = ones


def all_set(marked: NDArray[np.uint8], at: Ints, size: int) -> Bools:
    words, where, ones = _words(marked, at, size)
    full: Bools = words[where] == ones
    if full.ndim == 2:
        full = np.all(full, axis=1)
    return full
