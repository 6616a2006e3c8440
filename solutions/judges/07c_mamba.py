"""Exercise 7.14 may draw in any order, and 7.15 has many right programs: their numbers are judged here."""

from __future__ import annotations

import math
from typing import Any

from coursekit.grading.compare import difference, telling
from coursekit.grading.plain import floats, items

FAR = 6.5  # standard errors: by chance once in ten thousand million draws


def judge_first_hidden(name: str, expected: Any, got: Any) -> str | None:
    """Numbers that the bell curve, an even draw, or one that is even by its logarithm could have given."""
    if name == "unchanged":
        return difference(expected, got, 0)
    try:
        (wanted, like), (shapes, numbers) = items(expected), items(got)
        if difference(wanted, shapes, 0):
            return "the parameters have other shapes now"
        found, count = floats(numbers), len(floats(like))
        rows = [[int(n["int"]) for n in items(shape)] for shape in items(wanted)]
    except (TypeError, KeyError, ValueError):
        return "expected an array of numbers"
    if len(found) != count or not all(math.isfinite(x) and abs(x) < 100 for x in found):
        return "expected a finite number for each weight"
    if name == "embedding":
        return _normal(found, 0.02)
    if name == "out_proj":
        bound = 1 / math.sqrt(rows[0][1] * len(rows))
        return _even(found, -bound, bound, 20 / count)
    lengths = [math.log10(math.log1p(math.exp(x))) for x in found]  # 0.015 is less than ln(1 + 0.1) lacks
    return _even(lengths, -3.0, -1.0, 0.0075)


def _normal(found: list[float], spread: float) -> str | None:
    """What is wrong with numbers that N(0, spread²) should have given."""
    mean, measured, error = _moments(found)
    if abs(measured / spread - 1) > FAR * error / math.sqrt(2):
        return "the spread is too large" if measured > spread else "the spread is too small"
    if abs(mean) > FAR * error * spread:
        return "the mean is not 0"
    for spreads in (0.5, 1, 2):  # the bell curve has 38%, 68% and 95% within so many
        share = math.erf(spreads / math.sqrt(2))
        within = sum(abs(x) < spreads * spread for x in found) / len(found)
        if abs(within - share) > FAR * error * math.sqrt(share * (1 - share)):
            return "they do not lie on a bell curve"
    return None


def _even(found: list[float], low: float, high: float, gap: float) -> str | None:
    """What is wrong with numbers that should lie evenly between two bounds, up to a part `gap` from these."""
    width = high - low
    if min(found) < low - 1e-4 * width or max(found) > high + 1e-4 * width:
        return "some lie beyond the bounds"
    if min(found) > low + gap * width or max(found) < high - gap * width:
        return "none comes near one of the bounds"
    mean, measured, error = _moments(found)
    if abs(measured / width * math.sqrt(12) - 1) > FAR * error * math.sqrt(0.2):
        return "they do not lie evenly between the bounds"
    middle = (low + high) / 2
    return (
        "they do not lie evenly between the bounds" if abs(mean - middle) > FAR * error * measured else None
    )


def _moments(found: list[float]) -> tuple[float, float, float]:
    """The mean, the spread, and one over the root of how many there are."""
    mean = math.fsum(found) / len(found)
    spread = math.sqrt(math.fsum((x - mean) ** 2 for x in found) / len(found))
    return mean, spread, 1 / math.sqrt(len(found))


def judge_first_hidden_2(name: str, expected: Any, got: Any) -> str | None:
    """One seed makes one model, another one makes another; the gradients are those of the reference."""
    if name == "gradients afterwards":
        return difference(expected, got, 1e-9)
    try:
        wanted = [_shapes(model) for model in items(expected)]
        if [_shapes(model) for model in items(got)] != wanted:
            return "the parameters have other shapes now"
        one, same, other = ([floats(items(each)[1]) for each in items(model)] for model in items(got))
    except (TypeError, KeyError, ValueError):
        return "expected arrays of numbers"
    if one != same:
        return "the same seed makes another model"
    if any(a == b for a, b in zip(one, other, strict=True)):
        return "another seed makes the same numbers"
    return None


def _shapes(model: Any) -> list[Any]:
    """The shape of each parameter of a model, and how many of its numbers are shown."""
    return [[items(each)[0], len(floats(items(each)[1]))] for each in items(model)]


@telling
def judge_bank_hidden(name: str, expected: Any, got: Any) -> str | None:
    """The balances, by the recurrence with what the program says."""
    message = _balances(expected, got)[0]
    if message and "lists are read" in name:  # at once they were right
        return "a list that one token got says something else after the others were asked"
    return message


def judge_bank_hidden_2(name: str, expected: Any, got: Any) -> str | None:
    """The balances as the reference has them; at most as many states."""
    message, bound, states = _balances(expected, got)
    return message or (f"{min(states, 999)} states; {bound} are enough" if states > bound else None)


def _balances(expected: Any, got: Any) -> tuple[str | None, int, int]:
    """What is wrong with a program, and how many states the reference and the program have."""
    kinds = [str(kind) for kind in items(items(expected)[0])]
    right, bound = _run(kinds, expected)
    assert right is not None
    try:
        said, states = _run(kinds, got)
    except (TypeError, KeyError, ValueError):
        return "expected numbers, and lists of N of them", bound, 0
    if said is None:
        return "a step lasts less than 0, or a rate is not below 0", bound, states
    if len(said) != len(right):
        return "a token lacks its numbers", bound, states
    off = [abs(a - b) / (1 + abs(a)) for a, b in zip(right, said, strict=True)]
    if 1e-6 < max(off) < 1e-4:
        return "balances are off by a little: what should stay loses something with each token", bound, states
    good = [one <= 1e-6 for one in off]
    return (None if all(good) else _which(kinds, good)), bound, states


def _which(kinds: list[str], good: list[bool]) -> str:
    """Which of the balances that are asked are not right, where these have something in common."""
    asked = [at for at, kind in enumerate(kinds) if kind.startswith("ask")]
    wrong = [at for at, right in zip(asked, good, strict=True) if not right]
    if len({kinds[at] for at in wrong}) == 1 < len({kinds[at] for at in asked}):
        return f"what `{kinds[wrong[0]]}` wants is not right, the other balances are"
    return f"{len(wrong)} of {len(good)} balances are not right"


def _run(kinds: list[str], shown: Any) -> tuple[list[float] | None, int]:
    """What a program says where it is asked, or None where time would run backwards; and its states."""
    _, rates, tokens = items(shown)
    A, said = floats(rates), []
    state = [0.0] * len(A)
    for kind, token in zip(kinds, items(tokens), strict=True):
        (x, delta), (B, C) = (
            (float.fromhex(n["float"]) for n in items(token)[:2]),
            map(floats, items(token)[2:]),
        )
        if not delta >= 0 or not all(rate < 0 for rate in A):
            return None, len(A)
        state = [math.exp(delta * a) * h + delta * b * x for a, h, b in zip(A, state, B, strict=True)]
        if kind.startswith("ask"):
            said.append(math.fsum(c * h for c, h in zip(C, state, strict=True)))
    return said, len(A)
