"""Variables at file scope, `__constant__` and `__device__`: memory that lives as long as its program."""

from __future__ import annotations

from typing import Any

import numpy as np

from warplens.device.allocation import Allocation
from warplens.engine.memory import Constant, Global, LanePointer, element_of
from warplens.language.constant import fold
from warplens.language.tree import Program, Variable
from warplens.language.types import Array, Record, Scalar, Type


def allocate(program: Program) -> dict[Variable, Allocation]:
    """Memory for each variable, with what it begins with: zeros where nothing is given."""
    made = {}
    for variable in program.variables:
        if variable.storage not in ("constant", "device"):
            continue
        content = np.zeros(variable.type.size, np.uint8)
        _fill(content, variable.type, variable.initial, 0)
        made[variable] = Allocation(content)
    return made


def _fill(content: np.ndarray[Any, Any], kind: Type, initial: Any, offset: int) -> None:
    if initial is None:
        return
    if isinstance(kind, Array):
        for i, part in enumerate(getattr(initial, "parts", initial)):
            _fill(content, kind.of, part, offset + i * kind.of.size)
    elif isinstance(kind, Record):
        for field, part in zip(kind.fields, getattr(initial, "parts", initial)):
            _fill(content, field.type, part, offset + field.offset)
    elif isinstance(kind, Scalar):
        number = np.array([fold(initial)])  # which the checker has seen to be known
        content[offset : offset + kind.size] = number.astype(kind.stored).view(np.uint8)


def pointers(
    allocations: dict[Variable, Allocation], copies: dict[int, np.ndarray[Any, Any]] | None = None
) -> dict[Variable, LanePointer]:
    """A pointer to each variable; with `copies`, to a copy of it, kept there."""
    made = {}
    for variable, allocation in allocations.items():
        content = allocation.bytes
        if copies is not None:
            content = copies.setdefault(id(allocation), content.copy())
        kind = Constant if variable.storage == "constant" else Global
        size = allocation.nbytes
        memory = kind(variable.name, content, element_of(variable.type), allocation.base, 0, size)
        made[variable] = LanePointer(memory)
    return made
