"""Exercise 6.17 may draw in any order: spreads are worked out here. 6.18 counts matrix products.

At most as many as the reference makes, and fewer are welcome.
"""

from __future__ import annotations

import math
from typing import Any

from coursekit.grading.compare import difference
from coursekit.grading.plain import floats, items, plain

SMALL = ("attention's projection", "the MLP's projection")
FAR = 6.5  # standard errors: by chance once in ten thousand million draws
HEAVY = 3  # so much more than a bell curve's 3 is the mean fourth power of no such draw


def judge_first_hidden(name: str, expected: Any, got: Any) -> str | None:
    """Numbers that N(0, 0.02²) could have given, or N(0, 0.02² / (2 n_layer)); 0 and 1 elsewhere."""
    if name == "biases and norms":
        return difference(expected, got, 0)
    try:
        (layers, *_), (shapes, numbers, spread) = items(expected), items(got)
        if difference(layers, shapes, 0):
            return "the weights have other shapes now"
        found, (count, fourth) = floats(numbers), plain(spread)
        wanted = len(floats(items(expected)[1]))
    except (TypeError, KeyError, ValueError):
        return "expected an array of numbers"
    if len(found) != wanted or not all(map(math.isfinite, found)):
        return "expected a finite number for each weight"
    depth = len(items(layers)) if name in SMALL else 0
    wrong = _normal(found, 0.02 / math.sqrt(2 * depth) if depth else 0.02)
    if wrong or -FAR * math.sqrt(24 / count) < fourth - 3 < HEAVY:
        return wrong
    return "mean and spread are right, but not the shape: is that the bell curve?"


def _normal(found: list[float], spread: float) -> str | None:
    """What is wrong with numbers that N(0, spread²) should have given."""
    mean = math.fsum(found) / len(found)
    measured = math.sqrt(math.fsum((x - mean) ** 2 for x in found) / len(found))
    error = 1 / math.sqrt(len(found))
    if not abs(measured / spread - 1) <= FAR * error / math.sqrt(2) + 1e-3:
        return "the spread is too large" if measured > spread else "the spread is too small"
    if abs(mean) > FAR * error * spread:
        return "the mean is not 0"
    if max(map(abs, found)) < 2 * spread:
        return "none is further from 0 than twice the spread: is that the bell curve?"
    return None


def judge_first_hidden_2(name: str, expected: Any, got: Any) -> str | None:
    """One seed makes one model, another one makes another; the gradients are those of the reference."""
    if name == "gradients afterwards":
        return difference(expected, got, 1e-9)
    try:
        wanted = [_shapes(model) for model in items(expected)]
        if [_shapes(model) for model in items(got)] != wanted:
            return "the weights have other shapes now"
        one, same, other = ([floats(items(matrix)[1]) for matrix in items(model)] for model in items(got))
    except (TypeError, KeyError, ValueError):
        return "expected arrays of numbers"
    if one != same:
        return "the same seed makes another model"
    if any(a == b for a, b in zip(one, other, strict=True)):
        return "another seed makes the same numbers"
    return None


def _shapes(model: Any) -> list[Any]:
    """The shape of each matrix of a model, and how many of its numbers are shown."""
    return [[items(matrix)[0], len(floats(items(matrix)[1]))] for matrix in items(model)]


def judge_hand_hidden_2(name: str, expected: Any, got: Any) -> str | None:
    """The gradients as the reference has them; at most as many products."""
    if name != "matrix products":
        return difference(expected, got, 1e-6)
    try:
        bound, products = len(items(expected)), len(items(got))
    except (TypeError, KeyError):
        return "expected a list of products"
    if not products:
        return "no product was seen: multiply the arrays as they come, without np.array or np.asarray"
    return f"{min(products, 999)} products; {bound} are enough" if products > bound else None
