"""The machinery of the course. In notebooks: `from coursekit import add_to`."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import TypeVar

__all__ = ["add_to"]

Member = TypeVar("Member")


def add_to(cls: type) -> Callable[[Member], Member]:
    """Decorate a function or property so that it becomes a member of `cls`.

    A class grows through a chapter this way; in the promoted module the member stands inside the class body.
    A method named like a builtin (`sum`, `max`) leaves that name to Python outside of the class.
    """

    def add(member: Member) -> Member:
        name = getattr(member, "__name__", None) or getattr(getattr(member, "fget", None), "__name__", None)
        if not name:
            raise TypeError(f"add_to({cls.__name__}) decorates a function or a property, not {member!r}")
        setattr(cls, name, member)
        builtin: Member = getattr(builtins, name, member)
        return builtin

    return add
