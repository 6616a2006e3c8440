"""TensorFlow's names: of what functions make, of dtypes, and those that are not here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import wraps
from inspect import signature
from typing import Any, NoReturn

import numpy as np

from minilib.graph import kinds
from minilib.graph.nodes import Node, make

_SHORT = {"float": "float32", "double": "float64", "int": "int32"}


def dtype_called(name: Any) -> Any:
    short: Any = _SHORT.get(name, name) if isinstance(name, str) else name
    return np.dtype(short)


def named(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, and what it makes is called by its argument `name`, at TensorFlow's place."""
    arguments = list(signature(function).parameters.values())
    (place,) = (i for i, one in enumerate(arguments) if one.name == "name")

    @wraps(function)
    def with_name(*operands: Any, **options: Any) -> Any:
        name = [*operands[place:], options.get("name", arguments[place].default)][0]
        made = function(*operands, **options)
        if name is None or not isinstance(made, Node):
            return made
        if any(made is x for x in (*operands, *options.values())):  # what was given keeps its name
            made = make(kinds.Identity(), made)
        made.graph.rename(made, name)
        return made

    return with_name


def absent(module: str, names: Sequence[str]) -> Callable[[str], NoReturn]:
    """The `__getattr__` of a module: names that are not there are refused, with those that are near."""

    def refuse(name: str) -> NoReturn:
        near = ", ".join(get_close_matches(name, names, cutoff=0.8))
        hint = f", but {near}" if near else ""
        raise AttributeError(f"{module} has no {name!r}{hint}: {module}.__all__ names what there is")

    return refuse
