"""Weights drawn anyhow: what 3.14 asks for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from coursekit.grading.plain import numbers, plain


def judge_xavier_hidden(name: str, expected: Any, got: Any) -> str | None:
    return _judged_draws(name, expected, got, normal=True)


def judge_xavier_hidden_2(name: str, expected: Any, got: Any) -> str | None:
    return _judged_draws(name, expected, got, normal=False)


def _judged_draws(name: str, expected: Any, got: Any, normal: bool) -> str | None:
    """Weights with the right deviation and distribution; the bounds hold for at least 300 of them."""
    if name == "by the generator":
        one, same, other = (numbers(each) for each in plain(got))
        if not np.array_equal(one, same):
            return "one seed gives two kinds of weights"
        return "the weights are the same whatever the generator is" if np.array_equal(one, other) else None
    if name == "what is returned":
        weight, returned = plain(got)
        same = returned is not None and np.allclose(numbers(weight), numbers(returned))
        return None if same else "the tensor that was given is not returned"
    (gain, shape, _), (*_, text) = plain(expected), plain(got)
    weights = np.array([float(word) for word in text.split()])
    if weights.shape != (math.prod(shape),) or not np.isfinite(weights).all():
        return "are not as many finite numbers as the tensor has places"
    seen = math.prod(shape[2:])
    wanted = gain * math.sqrt(2 / (shape[0] * seen + shape[1] * seen))
    found, largest = float(weights.std()), float(abs(weights).max())
    if not found or abs(math.log(found / wanted)) > 0.22:
        return f"the standard deviation should be about {wanted:.2g}, and is not"
    if abs(weights.mean()) > 0.35 * wanted:
        return "the mean is not 0"
    bound = math.sqrt(3) * wanted
    if normal:
        return None if largest > 1.9 * wanted else "are not drawn from a normal distribution"
    return None if 0.95 * bound < largest < 1.01 * bound else "do not reach from -b to b evenly"
