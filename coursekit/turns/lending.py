"""What all turns share: trying what a reader wrote, saying what it is, and lending what is not right yet."""

from __future__ import annotations

import dis
from collections.abc import Callable
from typing import Any

from coursekit.given import parts


def tried(f: Callable[..., Any], *arguments: Any) -> tuple[Any, str | None]:
    """What `f` returns, or what to say instead."""
    try:
        found = f(*arguments)
    except Exception as error:
        return None, f"not yet: it stops with {type(error).__name__}: {error}"
    return found, nothing_from(f) if found is None else None


def nothing_from(f: Any) -> str:
    """What to say of an `f` that gave nothing back: it is empty still, or its `return` is missing."""
    code = getattr(f, "__code__", None) or getattr(getattr(f, "__func__", None), "__code__", None)
    works = code and any(step.opname.startswith(("BINARY", "CALL")) for step in dis.get_instructions(code))
    return "not yet: it works, and nothing comes back. Is `return` missing?" if works else "not written yet"


def told(wrong: str | None, right: str) -> bool:
    """Say `wrong`, or `right` where nothing is wrong; whether all is right."""
    print(wrong or right)
    return wrong is None


def judged(wrong: str | None, right: str, names: dict[str, Any], name: str, lent: Callable[..., Any]) -> None:
    """Say `right`; or `wrong`, and put the course's own in the place of the notebook's `name`."""
    if not told(wrong, right):
        names[name] = lent
        tell_lent("course's own")


def lend(members: list[str], name: str, names: dict[str, Any]) -> None:
    """Put the course's own into the notebook, or into its class."""
    for part in parts(["reference"], only=members, known=names):
        part.run(names)
    tell_lent(f"{name} of minilib/reference.py")


def tell_lent(name: str) -> None:
    print(f"(the lesson goes on with the {name}; change yours, run both again)")
