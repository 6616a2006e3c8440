"""Exercise 1.8 has many right answers: judge the graph, not its likeness to the reference.

A graph arrives as plain data: a list of operations, each `(name, positions of its inputs)`; position 0
is x.
"""

from __future__ import annotations

from typing import Any


def judge_fewest_hidden(name: str, expected: Any, got: Any) -> str | None:
    """The value as the reference has it; the graph multiplies x up to the right power."""
    return _wrong(expected, got) if name.startswith("graph") else _differs(expected, got)


def judge_fewest_hidden_2(name: str, expected: Any, got: Any) -> str | None:
    n = _power(expected)
    return _wrong(expected, got) or _more_than(2 * (n.bit_length() - 1), n, got)


def judge_fewest_hidden_3(name: str, expected: Any, got: Any) -> str | None:
    """The reference searches for the shortest chain, so its length is the bound."""
    return _wrong(expected, got) or _more_than(len(_operations(expected)), _power(expected), got)


def _differs(expected: Any, got: Any) -> str | None:
    try:
        right, answer = float.fromhex(expected["float"]), float.fromhex(got["float"])
    except (TypeError, KeyError, ValueError):
        return "expected a float"
    return None if abs(answer - right) <= 1e-9 * abs(right) else "is not x to the power of n"


def _wrong(expected: Any, got: Any) -> str | None:
    try:
        power = _power(got)
    except (TypeError, KeyError, ValueError, IndexError):
        return "is not made of multiplications of x alone"
    if power == _power(expected):
        return None
    return f"multiplies x to the power of {power}" if power < 10_000 else "multiplies x to a huge power"


def _more_than(bound: int, n: int, got: Any) -> str | None:
    made = len(_operations(got))
    return f"has {made} multiplications; there is a way with fewer" if made > bound else None


def _operations(graph: Any) -> list[tuple[str, list[int]]]:
    """The probe's data as Python's: see `encode` in coursekit/box/probe.py."""
    pairs = [item["tuple"] for item in graph["list"]]
    return [(name, [int(position["int"]) for position in inputs["list"]]) for name, inputs in pairs]


def _power(graph: Any) -> int:
    """Which power of x the last operation is. Raises ValueError where the graph is not one of products."""
    powers = [1]
    for name, inputs in _operations(graph):
        if name != "*" or len(inputs) != 2:
            raise ValueError("not a product")
        if not all(0 <= i < len(powers) for i in inputs):
            raise ValueError("not in order")
        powers.append(powers[inputs[0]] + powers[inputs[1]])
    return powers[-1]
