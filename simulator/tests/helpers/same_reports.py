"""Two reports, field by field: the one that counts uniform blocks once, and the plain recorder's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any
from unittest import mock

import numpy as np

import warplens.simulation
from warplens import Report
from warplens.detect.recorder import Recorder


def plainly(*args: Any, only_read: object = None, **more: Any) -> Recorder:
    """A recorder that looks at every lane."""
    return Recorder(*args, **more)


@contextmanager
def every_lane() -> Iterator[None]:
    """`profile` as it is without short cuts."""
    with mock.patch.object(warplens.simulation, "UniformRecorder", plainly):
        yield


def difference(a: Any, b: Any, where: str = "report") -> str | None:
    """Where two reports differ, all that they hold included; None: nowhere."""
    if type(a) is not type(b):
        return f"{where}: {type(a).__name__} and {type(b).__name__}"
    if isinstance(a, np.ndarray):
        same = a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
        return None if same else f"{where}: {a!r} and {b!r}"
    if is_dataclass(a):
        parts = [(f".{f.name}", getattr(a, f.name), getattr(b, f.name)) for f in fields(a) if f.compare]
    elif isinstance(a, dict):
        if list(a) != list(b):
            return f"{where}: {list(a)} and {list(b)}"
        parts = [(f"[{key!r}]", a[key], b[key]) for key in a]
    elif isinstance(a, list | tuple):
        if len(a) != len(b):
            return f"{where}: {a!r} and {b!r}"
        parts = [(f"[{i}]", *pair) for i, pair in enumerate(zip(a, b))]
    else:
        return None if a == b else f"{where}: {a!r} and {b!r}"
    found = (difference(x, y, where + name) for name, x, y in parts)
    return next((text for text in found if text), None)


def assert_same(fast: Report, plain: Report) -> None:
    assert difference(fast, plain) is None, difference(fast, plain)
    assert str(fast) == str(plain)
    assert fast._repr_html_() == plain._repr_html_()
