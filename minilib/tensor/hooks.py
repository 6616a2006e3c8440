"""The handle that registering a hook returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

__all__ = [
    "RemovableHandle",
]  # fmt: skip


class RemovableHandle:
    """`remove()`, a call, or the end of a `with` takes the hook away again; twice is once."""

    def __init__(self, remove: Callable[[], None]) -> None:
        self._remove: Callable[[], None] | None = remove

    def remove(self) -> None:
        """Take the hook away, if it is still there."""
        remove, self._remove = self._remove, None
        if remove is not None:
            remove()

    def __call__(self) -> None:
        self.remove()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()
