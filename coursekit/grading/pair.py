"""A value of a test: what was expected, what was got, and how unlikely it is that both fit by chance."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from coursekit.grading.plain import MOST

A_FLOAT = 30.0  # bits of a drawn float that fits
# How a value is named that nobody may have changed.
AS_IT_WAS = re.compile(r"afterwards|came in|left alone|written to|^operands|^arguments$|streams begin")

Array = np.ndarray[Any, Any]
Inputs = Sequence[tuple[str, Array]]  # what the reference drew, by name where it has one


@dataclass(frozen=True)
class Pair:
    """One value of a probe: what was expected, what was got, and where it stands."""

    probe: str
    place: str  # "value 2 of 3", "" where it is the only one
    want: Any
    have: Any
    tolerance: float = 1e-9
    others: list[Array] = field(default_factory=list, compare=False)  # the probe's other expected values
    inputs: Inputs = field(default=(), compare=False)
    codes: bool = False  # the numbers stand for texts or other things: only their order means something

    @property
    def right(self) -> bool:
        if self.numeric:
            return self.want.shape == self.have.shape and bool(self.near(self.want, self.have).all())
        return type(self.want) is type(self.have) and json.dumps(self.want, default=str) == json.dumps(
            self.have, default=str
        )

    @property
    def numeric(self) -> bool:
        return isinstance(self.want, np.ndarray) and isinstance(self.have, np.ndarray)

    @property
    def cut(self) -> bool:
        """Whether what was got is the beginning of the expected, as it is where an answer stopped."""
        if not self.numeric or self.want.ndim != 1 or self.have.ndim != 1:
            return False
        shown = self.have.size
        return shown < self.want.size and bool(self.near(self.want[:shown], self.have).all())

    def near(self, one: Any, other: Any) -> Array:
        with np.errstate(all="ignore"):
            near = np.isclose(other, one, rtol=self.tolerance, atol=self.tolerance, equal_nan=True)
        return np.asarray(near)

    def same(self, one: Array, other: Array) -> bool:
        return one.shape == other.shape and one.size > 0 and bool(self.near(one, other).all())

    @property
    def bits(self) -> float:
        """How unlikely it is that what was got fits by chance: a drawn float has many bits, 3 has few."""
        found = (
            np.unique(self.have[np.isfinite(self.have)]) if self.have.size < MOST else self.have.ravel()[:99]
        )
        known = [A_FLOAT if x != np.round(x) else min(20.0, math.log2(2 + abs(x))) for x in found[:40] if x]
        if self.want.shape == self.have.shape and not self.codes:  # that many were cut down to whole numbers
            known += [1.5] * int(
                ((self.want != np.round(self.want)) & (self.have == np.round(self.have))).sum()
            )
        return sum(known)
