"""While an answer runs, the finished code that would do its work for it rests.

Runs in the grader's box: imports nothing of the course. A function rests by its code, so that a name that an
answer has taken before, or a class made of one that rests, rests as well.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import Any


@contextmanager
def resting(*names: str) -> Iterator[None]:
    """Functions of minilib that raise for as long as the block runs.

    A name is that of a module, `"functional.layers"`, of a package, which stands for its modules, or of a
    function in a module, `"tensor.core.apply"`, without which there is no engine.
    """
    functions = [function for name in names for function in _named(f"minilib.{name}")]
    codes = [function.__code__ for function in functions]
    try:
        for function in functions:
            function.__code__ = _REFUSALS[len(function.__code__.co_freevars)]
        yield
    finally:
        for function, code in zip(functions, codes, strict=True):
            function.__code__ = code


def _named(name: str) -> list[FunctionType]:
    """The functions that stand in a module and in its classes, or the one of that name."""
    modules = [m for key, m in sys.modules.items() if key == name or key.startswith(f"{name}.")]
    if modules:
        found = {id(one): one for module in modules for one in _functions(module)}
        return list(found.values())
    module, _, last = name.rpartition(".")
    one = getattr(sys.modules.get(module), last, None)
    return [one] if isinstance(one, FunctionType) else []


def _functions(module: ModuleType) -> Iterator[FunctionType]:
    for value in vars(module).values():
        members = vars(value).values() if isinstance(value, type) else (value,)
        for member in members:
            own = isinstance(member, FunctionType) and member.__module__ == module.__name__
            if own and len(member.__code__.co_freevars) < len(_REFUSALS):
                yield member


def _refusal(count: int) -> Any:
    """The code of a function that refuses, with as many variables from outside as the one that rests."""
    outside = [f"v{i}" for i in range(count)]
    lines = [
        "def outer():",
        *(f"    {name} = None" for name in outside),
        "    def inner(*args, **named):",
        f"        ({' '.join(f'{name},' for name in outside)})",
        f"        raise RuntimeError({REFUSAL!r})",
        "    return inner",
    ]
    made: dict[str, Any] = {}
    exec("\n".join(lines), made)
    return made["outer"]().__code__


REFUSAL = "the library rests here: the exercise asks you to work this out yourself, on arrays"
_REFUSALS = [_refusal(count) for count in range(4)]
