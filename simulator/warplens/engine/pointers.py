"""Pointers that lie in the memory of their own thread: in an array, or an object whose address is taken."""

from __future__ import annotations

from typing import Any

import numpy as np

from warplens.engine.lanes import Lanes
from warplens.engine.memory import NULL, Choice, Index, LanePointer, Value
from warplens.engine.values import Mask, select_pointer, wide
from warplens.errors import KernelFault
from warplens.language.types import ULLONG


def _slots(lanes: Lanes, p: LanePointer, index: Value, line: int) -> tuple[dict[int, LanePointer], Index]:
    """The pointers of a memory, by their places, and the place that is meant."""
    if isinstance(p, Choice) or p.memory.space != "local":
        raise KernelFault(
            f"{lanes.launch.name}:{line}: unsupported: a pointer that lies in memory. "
            "Keep pointers in variables, or in a struct that is one.",
            None,
        )
    memory: Any = p.memory
    return memory.pointers, p.offset + wide(index) * 8


def store_pointer(
    lanes: Lanes, p: LanePointer, index: Value, value: LanePointer, mask: Mask, line: int
) -> None:
    """Write a pointer: its address, as bytes, and what it points into."""
    slots, offset = _slots(lanes, p, index, line)
    lanes.store(p, index, value.address, ULLONG, mask, line)
    if type(offset) is int:
        slots[offset] = select_pointer(mask, value, slots.get(offset, NULL))
        return
    for place in np.unique(offset):
        here = offset == place if mask is True else mask & (offset == place)
        if here.any():
            chosen = True if here.all() else here
            slots[int(place)] = select_pointer(chosen, value, slots.get(int(place), NULL))


def load_pointer(lanes: Lanes, p: LanePointer, index: Value, mask: Mask, line: int) -> LanePointer:
    """Read a pointer that was written before; the null pointer where none was."""
    slots, offset = _slots(lanes, p, index, line)
    lanes.load(p, index, ULLONG, mask, line)
    if type(offset) is int:
        return slots.get(offset, NULL)
    result: LanePointer = NULL
    for place, pointer in slots.items():
        here = offset == place
        if here.any():
            result = select_pointer(True if here.all() else here, pointer, result)
    return result
