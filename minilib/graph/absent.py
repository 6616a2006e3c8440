"""What is said of TensorFlow's names that are not here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import NoReturn


def absent(module: str, names: Sequence[str]) -> Callable[[str], NoReturn]:
    """The `__getattr__` of a module: names that are not there are refused, with those that are near."""

    def refuse(name: str) -> NoReturn:
        near = ", ".join(get_close_matches(name, names, cutoff=0.8))
        hint = f", but {near}" if near else ""
        raise AttributeError(f"{module} has no {name!r}{hint}: {module}.__all__ names what there is")

    return refuse
