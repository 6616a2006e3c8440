"""Of many cases of one test some are left to `make test`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def slow_where(cases: Iterable[Any], is_slow: Callable[[Any], bool]) -> list[Any]:
    """The cases, each one value, in their order; those for which `is_slow` holds are marked `slow`."""
    return [pytest.param(case, marks=pytest.mark.slow) if is_slow(case) else case for case in cases]
