"""What a hidden test has shown, as a judge wants it: numbers, lists and arrays again."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

MOST = 200_000  # numbers of one array: what a judge computes with comes from a stranger


def plain(value: Any) -> Any:
    """What `encode` in `box.probe` made into `value`: numbers, text, lists, tuples and NumPy's arrays.

    Raises TypeError, KeyError or ValueError for what is not its form, and for an array beyond `MOST` numbers;
    other objects come as `Other`. A judge may let these pass: the answer then "is not of the expected form".
    """
    if value is None or isinstance(value, bool | str):
        return value
    if "array" in value:
        return _array(value)
    ((kind, content),) = value.items()
    return _READ[kind](content)


class Other:
    """What is no data."""


def items(value: Any) -> list[Any]:
    """What an encoded list or tuple holds, each item encoded. Raises TypeError or KeyError for all else."""
    found = value["list"] if "list" in value else value["tuple"]
    if not isinstance(found, list):
        raise TypeError("not a list")
    return found


def floats(value: Any) -> list[float]:
    """The numbers of an encoded array of floats, in order. Raises TypeError or KeyError for all else."""
    return [float.fromhex(number["float"]) for number in value["array"]]


def numbers(value: Any) -> np.ndarray[Any, Any]:
    """`value`, as `plain` gives it, as one array of numbers. Raises ValueError where it is none."""
    made = np.asarray(value)
    if made.dtype.kind not in "iuf":
        raise ValueError("not numbers")
    return made


def written(arrays: Any) -> list[np.ndarray[Any, Any]]:
    """The numbers of each array of a list that `launched` in `box.kernels` has shown, as `plain` gives it.

    Raises TypeError, KeyError or ValueError for what is not its form.
    """
    packed = [(base64.b64decode(one["packed"], validate=True), str(one["dtype"])) for one in arrays]
    return [np.frombuffer(content, dtype).astype(np.float64) for content, dtype in packed]


def among(
    wanted: Iterable[np.ndarray[Any, Any]], made: Iterable[np.ndarray[Any, Any]], tolerance: float = 1e-5
) -> bool:
    """Whether each number that is wanted stands, in whatever order, among those that were made."""
    found = np.sort(np.concatenate([np.zeros(0), *made]))
    numbers = np.concatenate([np.zeros(0), *wanted])
    if not len(found):
        return not len(numbers)
    after = np.searchsorted(found, numbers).clip(0, len(found) - 1)
    away = np.minimum(abs(found[after] - numbers), abs(found[after - 1] - numbers))
    return bool((away <= tolerance * (1 + abs(numbers))).all())


def _array(value: dict[str, Any]) -> np.ndarray[Any, Any]:
    if len(value["array"]) > MOST:
        raise ValueError("a large array")
    return np.array([plain(item) for item in value["array"]]).reshape([int(n) for n in value["shape"]])


_READ: dict[str, Callable[[Any], Any]] = {
    "int": int,
    "float": float.fromhex,
    "list": lambda content: [plain(item) for item in content],
    "tuple": lambda content: tuple(plain(item) for item in content),
    "dict": lambda content: {plain(key): plain(item) for key, item in content},
    "object": lambda _: Other(),
}
