"""What judges read: the data of a probe as Python's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def plain(value: Any) -> Any:
    """What `encode` in `box.probe` wrote, as numbers, text, lists and tuples; an array as nested lists.

    Raises TypeError, KeyError or ValueError for what is no such data: "is not of the expected form".
    """
    if value is None or isinstance(value, bool | str):
        return value
    if "array" in value:
        return _nested([plain(item) for item in value["array"]], value["shape"])
    ((kind, content),) = value.items()
    return _READ[kind](content)


def _nested(items: list[Any], shape: list[int]) -> Any:
    if not shape:
        (item,) = items
        return item
    size = len(items) // shape[0] if shape[0] else 0
    return [_nested(items[k * size : (k + 1) * size], shape[1:]) for k in range(shape[0])]


_READ: dict[str, Callable[[Any], Any]] = {
    "int": int,
    "float": float.fromhex,
    "list": lambda items: [plain(item) for item in items],
    "tuple": lambda items: tuple(plain(item) for item in items),
    "dict": lambda items: {plain(key): plain(item) for key, item in items},
}
