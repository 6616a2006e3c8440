"""Exercise 3.26 counts arrays: a trace is replayed on the judge's own numbers, so it must be a step of Lion.
And it measures: what plain arrays take at a time, as the test has seen it from outside.

A trace arrives as plain data: a list of operations `(name, operands, target)`. An operand is the name of an
array (x, grad, mean, new 1, new 2, ...) or a number; the target is the array that holds the result.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from coursekit.grading.compare import difference

START = ("x", "grad", "mean")
ALLOWED = {
    *("add", "subtract", "multiply", "divide", "negative", "positive", "sign", "absolute", "copysign"),
    *("maximum", "minimum", "square", "sqrt", "reciprocal", "power", "float_power", "clip", "fmax", "fmin"),
    *("greater", "greater_equal", "less", "less_equal", "equal", "not_equal", "logical_not"),
}


def judge_lion_hidden_2(name: str, expected: Any, got: Any) -> str | None:
    """At most two new arrays."""
    return _judged(name, expected, got, 2)


def judge_lion_hidden_3(name: str, expected: Any, got: Any) -> str | None:
    """A single one."""
    return _judged(name, expected, got, 1)


def _judged(name: str, expected: Any, got: Any, bound: int) -> str | None:
    return _memory(expected, got, bound) if name == "memory" else _trace(expected, got, bound)


def _memory(expected: Any, got: Any, bound: int) -> str | None:
    """On plain arrays, whatever the trace says: the most bytes at a time."""
    (_, size, x), (most, _, found) = expected["list"], got["list"]
    if int(most["int"]) > (bound + 0.2) * int(size["int"]):
        return "takes more memory at a time than the new arrays that are allowed"
    return difference(x, found, 1e-9)


def _trace(expected: Any, got: Any, bound: int) -> str | None:
    try:
        arrays = _replayed(got)
    except (TypeError, KeyError, ValueError, IndexError):
        return "uses more than NumPy's elementwise operations, which alone are counted"
    right = _replayed(expected)
    if not all(np.allclose(arrays[each], right[each], rtol=1e-6, atol=1e-9) for each in START):
        return "is not a step of Lion"
    made = len(arrays) - len(START)
    return f"makes {made} new arrays; fewer will do" if made > bound else None


def _replayed(trace: Any) -> dict[str, Any]:
    """All arrays of a trace after its operations. Raises ValueError for what cannot be replayed."""
    rng = np.random.default_rng(3)
    arrays: dict[str, Any] = {each: rng.normal(size=40) for each in START}
    for line in trace["list"]:
        name, operands, target = line["tuple"]
        if name not in ALLOWED or not isinstance(target, str):
            raise ValueError(f"cannot replay {name}")
        values = [_value(operand, arrays) for operand in operands["list"]]
        with np.errstate(all="ignore"):
            arrays[target] = np.array(np.broadcast_to(getattr(np, name)(*values), 40), np.float64)
    return arrays


def _value(operand: Any, arrays: dict[str, Any]) -> Any:
    if isinstance(operand, str):
        return arrays.setdefault(operand, np.zeros(40))
    return float.fromhex(operand["float"])
