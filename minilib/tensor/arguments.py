"""What is said where an array or a list was given for a tensor: the newcomer's first mistake."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from types import FunctionType
from typing import Any

import numpy as np

from minilib.engine import DEVICES, TENSORS

__all__ = ["explain", "explained", "refuse_arrays"]


def explain(module: dict[str, Any], names: Iterable[str]) -> None:
    """Let the functions of these names in `module` (its `globals()`) name an array given for a tensor."""
    for name in names:
        if isinstance(module[name], FunctionType):
            module[name] = explained(module[name])


def explained(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, which where it fails raises TypeError for an array that was given for a tensor.

    Arguments are looked at only when a call has failed: one that works costs nothing.
    """
    if "Tensor" not in f"{function.__qualname__} {function.__annotations__}":
        return function

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        try:
            made = function(*args, **options)
        except Exception:
            refuse_arrays(function.__name__, function, args, options)
            raise
        # An operator refuses by NotImplemented, and methods that arrays have as well return an array.
        if made is NotImplemented or type(made) is np.ndarray:
            refuse_arrays(function.__name__, function, args, options)
        return made

    return call


def refuse_arrays(
    name: str, function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]
) -> None:
    """Raise TypeError where an argument that should hold tensors is or holds an array, a list or a tuple.

    `name` is what the message calls the function. Which arguments those are is read from its annotations.
    """
    wanted = _for_tensors(function)
    try:
        given = inspect.signature(function).bind(*args, **options).arguments
    except TypeError:  # the call itself was wrong, and its error says how
        return
    for parameter, several in wanted.items():
        value = given.get(parameter)
        wrong = _array_in(value, several)
        if wrong is not None:
            where, what = wrong
            called = "input" if parameter == "self" else parameter  # a method, called as a function
            raise TypeError(f"{name}: {called}{where} is {what}") from None


def _for_tensors(function: Callable[..., Any]) -> dict[str, bool]:
    """The parameters of `function` that are annotated as tensors, and whether as several in one."""
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        annotation = str(parameter.annotation)
        if "Tensor" in annotation or (name == "self" and "Tensor." in function.__qualname__):
            several = "[Tensor" in annotation or parameter.kind is parameter.VAR_POSITIONAL
            found[name] = several
    return found


def _array_in(value: Any, several: bool) -> tuple[str, str] | None:
    """Where in `value` an array or a list stands, as "[1]" or "", what it is and what to do."""
    if several and isinstance(value, list | tuple):
        items = [(f"[{i}]", one) for i, one in enumerate(value)]
    else:
        items = [("", value)]
    for where, one in items:
        if type(one) in DEVICES or isinstance(one, np.ndarray):
            return where, f"an array of shape {one.shape}, and a tensor is expected: wrap it in tensor(...)"
        if isinstance(one, list | tuple) and any(isinstance(inner, TENSORS[0]) for inner in one):
            return (
                where,
                f"a {type(one).__name__} of tensors, and one tensor is expected: take the one you mean",
            )
        if isinstance(one, list | tuple):
            return where, f"a {type(one).__name__}, and a tensor is expected: wrap it in tensor(...)"
    return None
