"""One access of many lanes to memory, which `Lanes` carry out, and which others record, watch or trace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from warplens.engine.memory import Index, LanePointer, Value
from warplens.engine.values import Mask, wide
from warplens.language.bfloat import bits_of
from warplens.language.types import BFLOAT, Record, Scalar


@dataclass(slots=True)
class Access:
    """`action` is "load", "store" or "atomic". `pointer` points into one memory; `index` counts from there,
    in elements of `kind`, which may be a vector such as float4.

    `values` are what is stored, or the operands of the atomic `operation`; `wanted` says whether anybody
    needs what that finds.
    """

    action: str
    pointer: LanePointer
    index: Value
    kind: Scalar | Record
    mask: Mask
    line: int
    values: tuple[Value, ...] = ()
    operation: str = ""
    wanted: bool = True

    @property
    def memory(self) -> Any:
        return self.pointer.memory

    @property
    def offset(self) -> Index:
        """Where it begins, in bytes from the base of the memory."""
        return wide(self.index) * self.kind.size + self.pointer.offset

    @property
    def parts(self) -> list[Any]:
        """The scalars that it consists of."""
        return [field.type for field in self.kind.fields] if isinstance(self.kind, Record) else [self.kind]

    def part(self, element: Index, i: int) -> Index:
        """The number of its part `i` in memory, in elements of that part; `element` is the whole's."""
        kind = self.kind
        return element if isinstance(kind, Scalar) else element * len(kind.fields) + i

    @property
    def stored(self) -> list[tuple[Value, np.dtype[Any]]]:
        """What a store writes, part by part, as it lies in memory: bfloat16 as its bits."""
        (value,), kind = self.values, self.kind
        if isinstance(kind, Scalar) and kind is not BFLOAT:
            return [(value, kind.dtype)]
        values = [value] if isinstance(kind, Scalar) else value
        return [(bits_of(v) if k is BFLOAT else v, k.stored) for v, k in zip(values, self.parts)]

    @property
    def zero(self) -> Value:
        """What is loaded where there is nothing."""
        zeros = tuple([kind.dtype.type(0) if kind.is_float else 0 for kind in self.parts])
        return zeros if isinstance(self.kind, Record) else zeros[0]
