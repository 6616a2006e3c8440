"""Generators of random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

__all__ = [
    "Generator", "default_generator", "manual_seed",
]  # fmt: skip


class Generator:
    """A source of random numbers: the same seed, the same numbers (not PyTorch's)."""

    def __init__(self, seed: int | None = None) -> None:
        self.numbers = np.random.default_rng(seed)

    def manual_seed(self, seed: int) -> Generator:
        """Start again from `seed`."""
        self.numbers = np.random.default_rng(seed)
        return self

    def get_state(self) -> dict[str, Any]:
        """Where it stands, as plain Python values that JSON can hold."""
        return dict(self.numbers.bit_generator.state)

    def set_state(self, state: dict[str, Any]) -> None:
        """Go back to where `get_state` was called."""
        self.numbers.bit_generator.state = state


default_generator = Generator()


def manual_seed(seed: int) -> Generator:
    """Start the default generator from `seed`."""
    return default_generator.manual_seed(seed)


def _float_type(dtype: DTypeLike) -> Any:
    """float32 or float64, which is what NumPy's generators can draw."""
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise TypeError(
            f"random numbers are drawn in float32 or float64, not {np.dtype(dtype)}: cast with .to"
        )
    return np.dtype(dtype).type
