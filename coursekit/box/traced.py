"""Arrays that write down what is done to them, for exercise 3.26, which counts new arrays.

`trace` calls a rule with such arrays, and returns its operations one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Line = tuple[str, list[Any], str]  # an operation: name, what went in, where the result went


class Traced(np.ndarray[Any, Any]):
    """An array that writes down each operation on it."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = (), **options: Any) -> Any:
        plain = [np.asarray(i) if isinstance(i, Traced) else i for i in inputs]
        target = out[0] if out else None
        result = getattr(ufunc, method)(*plain, out=None if target is None else np.asarray(target), **options)
        target = result.view(Traced) if target is None else target
        known = method == "__call__" and not options
        operands = [_log.name(i) if isinstance(i, np.ndarray) and i.ndim else float(i) for i in inputs]
        _log.lines.append((ufunc.__name__ if known else "other", operands, _log.name(target)))
        return target

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        if function is np.copyto and not options:
            args[0][...] = args[1]
            return None
        return super().__array_function__(function, types, args, options)

    def __setitem__(self, key: Any, value: Any) -> None:
        if key is Ellipsis or key == slice(None):
            np.positive(np.broadcast_to(value, self.shape) if np.ndim(value) == 0 else value, out=self)
        else:
            _log.lines.append(("other", [], _log.name(self)))
            super().__setitem__(key, value)

    def copy(self, order: Any = "C") -> Any:
        return np.positive(self)


class Log:
    """The lines of a trace; arrays are called as they came in, and new 1, new 2, ..."""

    def __init__(self, **arrays: Any) -> None:
        self.lines: list[Line] = []
        self.arrays = [*arrays.items()]
        self.came_in = len(arrays)

    def name(self, array: Any) -> str:
        for name, known in self.arrays:
            if known is array:
                return name
        self.arrays.append((f"new {len(self.arrays) - self.came_in + 1}", array))
        return self.arrays[-1][0]


_log = Log()


def trace(rule: Callable[..., Any], **options: Any) -> list[Line]:
    """What `rule` does to x, grad and mean, eight numbers each, operation by operation."""
    global _log
    numbers = np.random.default_rng(0)
    x, grad, mean = (numbers.normal(size=8).view(Traced) for _ in range(3))
    _log = Log(x=x, grad=grad, mean=mean)
    rule(x, grad, mean, **options)
    return _log.lines
