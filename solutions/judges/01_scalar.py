"""Where many answers are right: messages in any words, graphs of any order.

A graph arrives as plain data, inputs first: of each value its number, its operation, its inputs' places.
"""

from __future__ import annotations

import re
from typing import Any

from coursekit.grading.compare import difference
from coursekit.grading.plain import plain

# 1.1: where f was called


def judge_derivative_hidden(name: str, expected: Any, got: Any) -> str | None:
    """At the same places, whichever comes first."""
    if name != "where f was called":
        return difference(expected, got, 1e-8 if name == "small h" else 1e-9)
    wanted, called = sorted(plain(expected)), sorted(plain(got))
    right = len(wanted) == len(called) and _close(called, wanted)
    return None if right else "should be x + h and x - h, once each"


# 1.5: what log refuses


def judge_exp_log_hidden(name: str, expected: Any, got: Any) -> str | None:
    """A message names its operation and its number, in words of its own."""
    if name != "what log refuses":
        return difference(expected, got, 1e-9)
    shown = zip(plain(expected), plain(got), strict=True)
    return next(filter(None, (_refused(number, *have[1:]) for (number, *_), have in shown)), None)


def _refused(number: float, kind: Any, message: Any) -> str | None:
    if kind != "ValueError":
        return f"the logarithm of {number:.3g} should raise a ValueError"
    if "log" not in message.lower():
        return f"the message for {number:.3g} does not name the operation, log"
    named = re.findall(r"-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?", message)
    if not any(abs(float(one) - number) <= 0.01 for one in named):  # as many digits as one likes
        return f"the message for {number:.3g} does not name that number"
    return None


# 1.6: the edges of a power


def judge_power_hidden_3(name: str, expected: Any, got: Any) -> str | None:
    """Row by row: x, n, the slope in x, the slope in n."""
    for want, have in zip(expected["list"], got["list"], strict=True):
        x, n = plain(want)[:2]
        for k, slope in ((2, "x"), (3, "n")):
            if wrong := difference(want["list"][k], have["list"][k], 1e-9):
                sign = "=" if x == 0 else ">" if x > 0 else "<"
                return f"at x {sign} 0, n = {n:.3g}: the one in {slope} {wrong}"
    return None


# 1.8: x to the power of n, by multiplications


def judge_fewest_hidden(name: str, expected: Any, got: Any) -> str | None:
    """The value as the reference has it; the graph multiplies x up to the right power."""
    return _wrong(expected, got) if name.startswith("graph") else difference(expected, got, 1e-9)


def judge_fewest_hidden_2(name: str, expected: Any, got: Any) -> str | None:
    n = _power(expected)
    return _wrong(expected, got) or _more_than(2 * (n.bit_length() - 1), n, got)


def judge_fewest_hidden_3(name: str, expected: Any, got: Any) -> str | None:
    """The reference searches for the shortest chain, so its length is the bound."""
    return _wrong(expected, got) or _more_than(len(expected["list"]) - 1, _power(expected), got)


def _wrong(expected: Any, got: Any) -> str | None:
    try:
        power = _power(got)
    except (TypeError, KeyError, ValueError, IndexError):
        return "is not made of multiplications of x alone"
    if power != _power(expected):
        return f"multiplies x to the power of {power}" if power < 10_000 else "multiplies x to a huge power"
    x = plain(expected)[0][0]
    values = [value for value, *_ in plain(got)]
    right = [x**power for power in _powers(got)]
    return None if _close(values, right) else "holds values that are no powers of x"


def _more_than(bound: int, n: int, got: Any) -> str | None:
    made = len(got["list"]) - 1
    return f"has {made} multiplications; there is a way with fewer" if made > bound else None


def _power(graph: Any) -> int:
    return _powers(graph)[-1]


def _powers(graph: Any) -> list[int]:
    """Which power of x each value is. Raises ValueError where the graph is not one of products of x."""
    _, *made = plain(graph)
    powers = [1]
    for _, name, inputs in made:
        if name != "*" or len(inputs) != 2:
            raise ValueError("not a product")
        if not all(0 <= i < len(powers) for i in inputs):
            raise ValueError("not in order")
        powers.append(powers[inputs[0]] + powers[inputs[1]])
    return powers


def _close(values: list[float], right: list[float]) -> bool:
    pairs = zip(values, right, strict=True)
    return all(abs(one - other) <= 1e-9 * (1 + abs(other)) for one, other in pairs)


# 1.10: a neuron in one node


def judge_weighted_sum_hidden_2(name: str, expected: Any, got: Any) -> str | None:
    """One operation of any name, made of the reference's leaves in any order."""
    right, answer = plain(expected), plain(got)
    made = [inputs for _, _, inputs in answer if inputs]
    if len(made) != 1:
        return f"is made of {min(len(made), 1000)} operations; expected one"
    leaves, wanted = (
        sorted(number for number, _, inputs in graph if not inputs) for graph in (answer, right)
    )
    if len(leaves) != len(wanted) or sorted(made[0]) != list(range(len(leaves))):
        return f"has {min(len(made[0]), 1000)} inputs; expected {len(wanted)}, each of them once"
    return None if _close(leaves, wanted) else "has other inputs than expected"
