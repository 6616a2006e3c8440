"""Of many cases of one test some are left to the slow tier."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def slow_where(cases: Iterable[Any], is_slow: Callable[[Any], bool]) -> list[Any]:
    """The cases, each one value, in their order; those for which `is_slow` holds are marked `slow`."""
    return [pytest.param(case, marks=pytest.mark.slow) if is_slow(case) else case for case in cases]


def slow_but(step: int, cases: Iterable[Any]) -> list[Any]:
    """The cases, all but each `step`-th of them marked `slow`."""
    return [pytest.param(c, marks=pytest.mark.slow if i % step else ()) for i, c in enumerate(cases)]


def check_each(cases: Iterable[Any], check: Callable[[Any], None]) -> None:
    """Check all cases of one test, and then fail with what each of those that failed has said."""
    failed = []
    for case in cases:
        try:
            check(case)
        except (Exception, pytest.fail.Exception) as error:
            failed.append(f"{getattr(case, 'id', case)}: {type(error).__name__}: {error}")
    assert not failed, f"{len(failed)} failed\n" + "\n".join(failed)
