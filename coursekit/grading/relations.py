"""Relations between what was got and what was expected: each is one function of a pair, with its sentence.

A relation returns its sentence where it holds, else None. Several may hold; the first of `RELATIONS` is the
most specific. All of it is pure.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np

from coursekit.grading.pair import A_FLOAT, AS_IT_WAS, Array, Pair

ENOUGH = 24.0  # bits: one wrong answer in 16 million would look so by chance
A_FACTOR = 34.0  # bits: what a free factor costs


# Relations: (pair) -> the sentence where it holds


def zeros(p: Pair) -> str | None:
    if p.have.ndim and not p.have.any() and p.want.any() and p.want.shape == p.have.shape:
        whole = (p.want == np.round(p.want)).all()
        return "it is 0 everywhere" if whole else "it is 0 everywhere: was nothing added or written there?"
    return None


KEPT_AS_IT_WAS = "it should be as it was before: your answer changes what it was given"


def kept(p: Pair) -> str | None:
    """Of a value whose name says that nobody may have changed it."""
    if AS_IT_WAS.search(p.probe):
        return KEPT_AS_IT_WAS
    return None


def sign(p: Pair) -> str | None:
    return "the right numbers with the wrong sign" if p.same(-p.want, p.have) and p.want.any() else None


def wrapped(p: Pair) -> str | None:
    """Whole numbers that went around: by chance none is off by a multiple of 2**32."""
    if p.want.shape != p.have.shape or p.codes or (p.have != np.round(p.have)).any():
        return None
    away = (p.want - p.have)[p.want != p.have]
    for bits in (32, 64):
        turns = np.round(away / 2.0**bits)
        if not away.size or not np.allclose(away, turns * 2.0**bits, rtol=1e-12, atol=0):
            continue
        if (turns == -1).all() and p.want.min() < 0 <= p.have.min():
            return f"the right {bits} bits, read as a number without a sign: the first of them is the sign"
        if ((abs(turns) > 0) & (abs(turns) < 1000)).all():
            return f"too large for whole numbers of {bits} bits, which go around: Python's own have no end"
    return None


def _named_factors(p: Pair) -> Iterator[tuple[float, str]]:
    yield 2.0, "twice what it should be: is something counted twice, or a 2 to be divided by?"
    yield 0.5, "half of what it should be: is a factor 2 missing?"
    yield 180 / math.pi, "in degrees, where radians are wanted"
    yield math.pi / 180, "in radians, where degrees are wanted"
    yield math.log(2), "too small by the factor ln 2: another logarithm's base"
    yield 1 / math.log(2), "too large by the factor 1 / ln 2: another logarithm's base"
    yield 1 / math.log(10), "the logarithm to the base 10, where the natural one is wanted"
    yield math.log(10), "too large by the factor ln 10: another logarithm's base"
    yield math.sqrt(2), "too large by the root of 2"
    yield math.sqrt(0.5), "too small by the root of 2"


def factor(p: Pair) -> str | None:
    if p.want.shape != p.have.shape or not p.want.any() or p.codes:
        return None
    at = int(np.argmax(np.abs(np.where(np.isfinite(p.want), p.want, 0))))
    ratio = float(p.have.ravel()[at] / p.want.ravel()[at])
    if not math.isfinite(ratio) or not ratio or not p.same(p.want * ratio, p.have):
        return None
    for value, words in _named_factors(p):
        for turned, less in ((value, ""), (-value, ", and with the wrong sign")):
            if p.same(p.want * turned, p.have):
                return words + less
    return _by_size(p, ratio) or _by_number(p, ratio)


def _by_size(p: Pair, ratio: float) -> str | None:
    if p.want.size < 3 and float(p.want.ravel()[0]).is_integer():  # of whole numbers many are a multiple
        return None
    sizes = {n for x in (p.want, *p.others, *(x for _, x in p.inputs)) for n in (*x.shape, x.size) if n > 2}
    for value, words in (
        (ratio, "too large by the length of an axis: a sum where a mean is wanted?"),
        (1 / ratio, "too small by the length of an axis: a mean where a sum is wanted, or divided twice?"),
    ):
        if value > 2.5 and abs(value - round(value)) < 1e-6 * value and round(value) in sizes:
            return words
    return None


def _by_number(p: Pair, ratio: float) -> str | None:
    for name, x in p.inputs:
        if x.size == 1 and name and abs(float(x.ravel()[0])) not in (0.0, 1.0):
            number = float(x.ravel()[0])
            if math.isclose(ratio, number, rel_tol=1e-6):
                return f"too large by the factor `{name}`: it is multiplied in once too often"
            if math.isclose(ratio, 1 / number, rel_tol=1e-6):
                return f"too small by the factor `{name}`: it is missing, or divided by once too often"
    return "the right numbers, all multiplied by one and the same number" if _free(p) else None


def _free(p: Pair) -> bool:
    """Whether there are numbers enough for a constant that could be anything."""
    return len(np.unique(p.want[np.isfinite(p.want)])) >= 3 and p.bits >= A_FACTOR + 2 * ENOUGH


def whole_factor(p: Pair) -> str | None:
    """Several whole numbers, all too small by one whole factor, whichever it is in this case."""
    if p.want.shape != p.have.shape or p.codes or p.want.size < 2 or not p.have.all():
        return None
    whole = (p.want == np.round(p.want)).all() and np.isfinite(p.want).all()
    ratio = p.want.ravel()[0] / p.have.ravel()[0]
    if whole and ratio >= 2 and ratio == round(ratio) and p.same(p.have * ratio, p.want):
        return "too small by a whole factor: is one of the arguments left out?"
    return None


def offset(p: Pair) -> str | None:
    if p.want.shape != p.have.shape or p.want.size < 1 or p.codes or not np.isfinite(p.want).all():
        return None
    more = float((p.have - p.want).ravel()[0])
    # Back at what was expected: beside a large offset all differences between the numbers would be small.
    if not p.same(p.have - more, p.want) or not more:
        return None
    if abs(abs(more) - 1) < 1e-6:
        return "larger by 1 than it should be" if more > 0 else "smaller by 1 than it should be"
    return (
        "off by one and the same amount everywhere: something is added too much, or missing"
        if _free(p)
        else None
    )


def moved(p: Pair) -> str | None:
    want, have = p.want, p.have
    if want.size < 2 or len(np.unique(want)) < 2:
        return None
    if want.ndim >= 2:
        for axes in _turns(want.ndim):
            if want.transpose(axes).shape == have.shape and p.same(want.transpose(axes), have):
                apart = sum(axis != place for place, axis in enumerate(axes))
                what = (
                    "transposed: two axes are exchanged" if apart == 2 else "with its axes in another order"
                )
                return f"the expected, {what}"
    for axis in range(want.ndim if want.shape == have.shape else 0):
        if p.same(np.flip(want, axis), have):
            return "the expected in reverse order" + _along(axis, want.ndim)
        if want.shape[axis] > 2 and want.shape == have.shape:
            for step in (1, -1):
                later = tuple(slice(1, None) if k == axis else slice(None) for k in range(want.ndim))
                early = tuple(slice(None, -1) if k == axis else slice(None) for k in range(want.ndim))
                one, other = (later, early) if step == 1 else (early, later)
                if p.same(want[other], have[one]):
                    return f"the expected, shifted by one place towards the {'end' if step == 1 else 'start'}"
    return None


def _turns(ndim: int) -> Iterator[tuple[int, ...]]:
    as_it_is = tuple(range(ndim if ndim <= 4 else 0))
    return (axes for axes in itertools.permutations(as_it_is) if axes != as_it_is)


def _along(axis: int, ndim: int) -> str:
    return "" if ndim < 2 else f" along axis {axis}"


def lengths(p: Pair) -> str | None:
    want, have = p.want, p.have
    if want.ndim != have.ndim or want.ndim < 1 or want.shape == have.shape or not have.size:
        return None
    axis = next(k for k in range(want.ndim) if want.shape[k] != have.shape[k])
    fewer = want.shape[axis] - have.shape[axis]
    small, large = (have, want) if fewer > 0 else (want, have)
    if small.shape[:axis] + small.shape[axis + 1 :] != large.shape[:axis] + large.shape[axis + 1 :]:
        return None
    first = np.take(large, range(small.shape[axis]), axis)
    last = np.take(large, range(large.shape[axis] - small.shape[axis], large.shape[axis]), axis)
    count = "one" if abs(fewer) == 1 else "some"
    if p.same(first, small):
        return (
            ("the last one is missing" if count == "one" else "the last ones are missing")
            if fewer > 0
            else f"{count} too many at the end"
        )
    if p.same(last, small):
        return (
            ("the first one is missing" if count == "one" else "the first ones are missing")
            if fewer > 0
            else f"{count} too many at the start"
        )
    if want.ndim > 1 and axis == 0 and p.same(want[want.any(tuple(range(1, want.ndim)))], have):
        return "the rows of 0 are missing: what does not count has its place too"
    return None


KEPT = "missing: keepdims=True keeps it"


def shapes(p: Pair) -> str | None:
    want, have = p.want, p.have
    if want.shape == have.shape or p.codes:
        return None
    if want.size == have.size and p.same(want.ravel(), have.ravel()):
        if [n for n in want.shape if n > 1] == [n for n in have.shape if n > 1]:
            fewer = have.ndim < want.ndim
            return f"the right numbers, but an axis of length 1 is {KEPT if fewer else 'too many'}"
        return "the right numbers in another shape"
    with np.errstate(all="ignore"):
        for axis in range(have.ndim):
            for words, reduced in (("sum", have.sum), ("mean", have.mean)):
                if any(p.same(want, reduced(axis=axis, keepdims=keep)) for keep in (False, True)):
                    return f"the {words} over an axis is missing"
        for axis in range(want.ndim):
            for words, reduced in (
                ("summed", want.sum),
                ("averaged", want.mean),
                ("reduced to the largest", want.max),
            ):
                if any(p.same(reduced(axis=axis, keepdims=keep), have) for keep in (False, True)):
                    return f"{words} over an axis that should stay"
    return None


def of_another(p: Pair) -> str | None:
    telling = p.have.size > 1 or (p.have.size == 1 and not float(p.have.ravel()[0]).is_integer())
    if telling and any(p.same(x, p.have) for x in p.others):
        return "another one of the expected results: are two exchanged, or is one given back twice?"
    return None


def of_an_input(p: Pair) -> str | None:
    for name, x in p.inputs:
        if p.have.any() and (p.same(x, p.have) or (p.have.ndim > 1 and p.same(x.T, p.have))):
            return f"equal to the input{f' `{name}`' if name else ''}: was nothing done to it?"
    return None


FUNCTIONS: tuple[tuple[str, Callable[[Array], Array]], ...] = (
    ("the square of what is expected: is a root missing?", np.square),
    ("the root of what is expected: is a square missing, or one root too many?", np.sqrt),
    ("1 over what is expected: multiplied where it should be divided, or the other way", lambda x: 1 / x),
    ("the exponential of what is expected: is a logarithm missing?", np.exp),
    ("the logarithm of what is expected: is an exp missing?", np.log),
    ("the expected without its sign", np.abs),
    ("1 minus what is expected", lambda x: 1 - x),
    ("rounded: whole numbers where fractions are expected", np.round),
    ("cut down to whole numbers: `//` or int(...) where fractions are expected", np.floor),
    ("cut down to whole numbers: `//` or int(...) where fractions are expected", np.trunc),
    ("the expected without what is below 0", lambda x: np.maximum(x, 0)),
    ("added up from the start: each holds those before it as well", np.cumsum),
)


def function(p: Pair) -> str | None:
    if p.want.shape != p.have.shape or p.codes or not np.isfinite(p.want).all():
        return None
    with np.errstate(all="ignore"):
        for words, apply in FUNCTIONS:
            made = apply(p.want).reshape(p.want.shape) if p.want.size else p.want
            if p.same(made, p.have) and not p.same(made, p.want):
                return words
    return None


def by_an_input(p: Pair) -> str | None:
    """Off by an input or another result: added, taken away, multiplied in or divided by."""
    if p.want.shape != p.have.shape or p.codes or not np.isfinite(p.have).all() or p.bits < A_FLOAT:
        return None
    named = [
        *((f"`{name}`" if name else "an input", x) for name, x in p.inputs),
        *(("another of the results", x) for x in p.others),
    ]
    with np.errstate(all="ignore"):
        for name, x in named:
            if not (_fits(x, p.want) and x.any()) or not (p.bits >= 2 * A_FLOAT if x.size > 1 else _drawn(x)):
                continue
            if p.same(p.want + x, p.have) or p.same(p.want - x, p.have):
                return f"off by exactly {name}: it is added or taken away once too often, or missing"
            if not p.near(np.abs(x), 1).all() and p.same(p.want * x, p.have):
                return f"multiplied by {name} once too often"
            if not p.near(np.abs(x), 1).all() and p.same(p.have * x, p.want):
                return f"a factor is missing: {name}"
    return None


def _drawn(x: Array) -> bool:
    """Whether a number is none that anything could be off by."""
    return not float(x.ravel()[0] * 8).is_integer()


def _fits(x: Array, like: Array) -> bool:
    try:
        return bool(np.broadcast_shapes(x.shape, like.shape) == like.shape)
    except ValueError:
        return False


def by_rows(p: Pair) -> str | None:
    """A factor or an offset of its own for each row or column: what is worked out once for each is wrong."""
    want, have = p.want, p.have
    if want.shape != have.shape or want.ndim < 2 or p.codes or min(want.shape[-2:]) < 2:
        return None
    with np.errstate(all="ignore"):
        for axis, line in ((-1, "row"), (-2, "column")):
            if want.shape[axis] < 3:
                continue
            start = np.take(have / want, [0], axis)
            some = (~p.near(np.ones_like(start), start)).sum() > 1  # one wrong line has no rule
            if some and np.isfinite(start).all() and p.same(want * start, have):
                return (
                    f"each {line} is off by a factor of its own: what it is multiplied or divided by is wrong"
                )
            start = np.take(have - want, [0], axis)
            some = (~p.near(np.zeros_like(start), start)).sum() > 1
            if some and np.isfinite(start).all() and p.same(want + start, have):
                return f"each {line} is off by an amount of its own, the same in all of it"
    return None


def ordered(p: Pair) -> str | None:
    want, have = p.want.ravel(), p.have.ravel()
    if p.want.shape == p.have.shape and len(np.unique(want)) > 3 and p.same(np.sort(want), np.sort(have)):
        if any(p.same(p.want.transpose(axes).ravel(), have) for axes in _turns(p.want.ndim)):
            return (
                "the right values, counted off along other axes: `reshape` exchanges no axes, transpose does"
            )
        return "the right values in another order"
    return None


def precision(p: Pair) -> str | None:
    if p.want.shape != p.have.shape or p.codes or p.want.size < 4:
        return None
    with np.errstate(all="ignore"):
        away = np.abs(p.have - p.want) / np.maximum(np.abs(p.want), 1e-12)
    if 1e-9 < float(away.max()) < 4e-7 and p.tolerance <= 1e-8:
        return (
            "right to about seven digits: does something pass through float32, is an eps in another place, "
            "or are two numbers that are nearly equal taken from each other?"
        )
    return None


def invariant(p: Pair) -> str | None:
    """What holds of all that is expected, and not of what was got: true as it is, and the last to speak."""
    if p.codes or p.want.shape != p.have.shape or not np.isfinite(p.want).all():
        return None
    if np.isnan(p.have).any():
        return (
            "there is a nan: is it 0 / 0, infinity minus infinity, infinity times 0, or a logarithm of less "
            "than 0, or was nothing written there?"
        )
    if not np.isfinite(p.have).all():
        if (p.have[~np.isfinite(p.have)] == -np.inf).all():
            return "there is a minus infinity: a logarithm of 0, or a maximum or sum to which nothing came?"
        return "there is an infinity: is something divided by 0, or too large for exp?"
    if p.want.ndim and p.want.shape[-1] > 2 and (p.want != np.round(p.want)).mean() > 0.5:
        wanted, found = p.want.sum(-1), p.have.sum(-1)
        for total in (1.0, 0.0):
            near = [np.abs(x - total) < max(1e-6, p.tolerance) * p.want.shape[-1] for x in (wanted, found)]
            if near[0].all() and not near[1].any():
                return f"its rows should add up to {total:.0f}, and do not"
    return None


def emptied(p: Pair) -> str | None:
    if p.want.shape != p.have.shape or p.codes:
        return None
    wrong = ~p.near(p.want, p.have)
    if wrong.all() or p.have[wrong].any():
        return None
    return "where it is wrong it is 0"


RELATIONS: tuple[Callable[[Pair], str | None], ...] = (
    sign, factor, moved, lengths, shapes, of_another, of_an_input, function, whole_factor,
    offset, by_an_input, by_rows, ordered, precision,
)  # fmt: skip


# Kinds


def kinds(p: Pair) -> str | None:
    """Another kind of thing than is expected."""
    if p.have is None and p.want is not None:
        if p.place:  # one of several, which a `return` brought
            return "it is None, where a value is expected: was it not returned, or not handed on?"
        return "it is None: is a `return` missing, or is something printed instead of returned?"
    if p.want is None and p.have is not None:
        return "None is expected there, and something else came"
    return truths(p)


def truths(p: Pair) -> str | None:
    """Truths, as `codes` has them, that are wrong in one way alone."""
    if not p.codes or p.want.shape != p.have.shape or not np.isin([p.want, p.have], (1000.0, 1001.0)).all():
        return None
    away = set((p.have - p.want)[p.have != p.want])
    if len(away) != 1:
        return None
    yes, no = (True, False) if away.pop() > 0 else (False, True)
    return f"{yes} where {no} is expected, and never the other way"
