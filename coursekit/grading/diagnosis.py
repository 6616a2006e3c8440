"""What is wrong, said of the numbers alone: how what was got relates to what was expected, and to the inputs.

A relation is told only if it holds for all values that are wrong (or for all of one probe), and if chance
would not bring it about: its evidence, in bits, must exceed `ENOUGH`. Beside it stands where things are right
and where they are wrong. All of it is pure: data in, a sentence out.

`own` tells places, names and sizes. Without it, as where hidden tests are private, what is said is one of a
fixed list of sentences.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from coursekit.grading import launches
from coursekit.grading.model import CellRun
from coursekit.grading.pair import Array, Inputs, Pair
from coursekit.grading.plain import plain
from coursekit.grading.relations import (
    ENOUGH,
    RELATIONS,
    by_rows,
    emptied,
    invariant,
    kept,
    kinds,
    wrapped,
    zeros,
)

# The pairs of a test


def pairs_of(expected: CellRun, got: CellRun, inputs: Inputs = ()) -> list[Pair]:
    """All values of a hidden test beside those of the reference, as far as both were shown."""
    made: list[Pair] = []
    for want, have in zip(expected.probes, got.probes, strict=False):
        if want.name != have.name:
            break
        try:
            found = list(_walk(want.value, have.value, ""))
        except (TypeError, KeyError, ValueError, IndexError, AttributeError, OverflowError, RecursionError):
            continue  # forged, or of a form that is not compared
        others = [one for _, one, _, codes in found if isinstance(one, np.ndarray) and not codes]
        for place, one, other, codes in found:
            beside = [x for x in others if x is not one]
            made.append(Pair(want.name, place, one, other, want.tolerance, beside, inputs, codes))
    return made


def _walk(want: Any, have: Any, place: str) -> Iterator[tuple[str, Any, Any, bool]]:
    """Values that are compared: place, expected, got, and whether they are codes."""
    if isinstance(want, dict) and isinstance(have, dict) and "kernel" in want and "kernel" in have:
        yield from _outputs(want["kernel"], have["kernel"])
        return
    items, others = _items(want), _items(have)
    if items is not None and others is not None:
        if all(_is_number(x) for x in (*items, *others)) and items and others:
            yield place, _array(items), _array(others), False
        elif len(items) == len(others) and any(_items(x) is not None or _is_array(x) for x in items):
            for number, (one, other) in enumerate(zip(items, others), 1):
                inner = f"value {number} of {len(items)}" if len(items) > 1 else ""
                yield from _walk(one, other, ", ".join(filter(None, (place, inner))))
        elif len(items) == len(others) and any(_is_number(x) != _is_number(y) for x, y in zip(items, others)):
            for number, (one, other) in enumerate(zip(items, others), 1):
                yield f"value {number} of {len(items)}", *_value_pair(one, other)
        elif items and others:
            codes = {"false": 1000.0, "true": 1001.0}
            one, other = (
                [codes.setdefault(json.dumps(x), 1000.0 + len(codes)) for x in y] for y in (items, others)
            )
            yield place, np.array(one), np.array(other), True
        return
    yield place, *_value_pair(want, have)


def _value_pair(want: Any, have: Any) -> tuple[Any, Any, bool]:
    return _value(want), _value(have), False


def _outputs(want: Any, have: Any) -> Iterator[tuple[str, Any, Any, bool]]:
    """The arrays that a kernel leaves in lockstep, where both came to their end."""
    one, other = want["runs"].get("lockstep", {}), have["runs"].get("lockstep", {})
    if "outputs" in one and "outputs" in other:
        for name, a, b in zip(have["arrays"], one["outputs"], other["outputs"]):
            if a is not None and b is not None and (a["shape"], a["dtype"]) == (b["shape"], b["dtype"]):
                yield f"array {name}", launches.unpacked(a), launches.unpacked(b), False


def _items(value: Any) -> list[Any] | None:
    found = value.get("list", value.get("tuple")) if isinstance(value, dict) else None
    return found if isinstance(found, list) else None


def _is_array(value: Any) -> bool:
    return isinstance(value, dict) and "array" in value


def _is_number(value: Any) -> bool:
    return isinstance(value, dict) and ("int" in value or "float" in value or value.get("shape") == [])


def _array(items: Iterable[Any]) -> Array:
    return np.array([float(np.asarray(plain(x))) for x in items])


def _value(encoded: Any) -> Any:
    """A number or an array as an array of floats; of anything else its kind and what it holds."""
    if _is_number(encoded) or _is_array(encoded):
        found = np.asarray(plain(encoded))
        if found.dtype.kind in "iufb":
            return found.astype(np.float64)
    return encoded


# Where


def inside(p: Pair) -> Iterator[tuple[str, float]]:
    """Where in its array a pair is wrong, and how many bits say that this is no chance."""
    if not p.numeric or p.want.shape != p.have.shape or p.want.size < 3:
        return
    wrong: Any = ~p.near(p.want, p.have)
    if wrong.all():
        return
    lone = math.log2(max(2, wrong.shape[0] if wrong.ndim else 1)) + (wrong.size > 8)
    if wrong.ndim == 1 or (wrong.ndim > 1 and wrong.shape[0] > 1):
        unit = "value" if wrong.ndim == 1 else "row"
        rows = wrong.reshape(len(wrong), -1).any(1)
        if rows[-1] and not rows[:-1].any():
            yield f"only the last {unit} is wrong", lone
        if rows[0] and not rows[1:].any():
            yield f"only the first {unit} is wrong", lone
        if not rows[-1] and rows[:-1].all():
            yield f"only the last {unit} is right", lone
        if not rows[0] and rows[1:].all():
            yield f"only the first {unit} is right", lone
    if wrong.ndim >= 2 and wrong.shape[-1] > 1:
        columns = wrong.reshape(-1, wrong.shape[-1]).any(0)
        if columns[-1] and not columns[:-1].any():
            yield "only the last column is wrong", math.log2(len(columns))
        if columns[0] and not columns[1:].any():
            yield "only the first column is wrong", math.log2(len(columns))
    if wrong.ndim >= 2 and wrong.shape[-1] > 2 and wrong.shape[-2] > 2:
        upper = np.broadcast_to(np.triu(np.ones(wrong.shape[-2:], bool), 1), wrong.shape)
        if (wrong == upper).all():
            yield "only what is above the diagonal is wrong", 12.0
        eye = np.broadcast_to(np.eye(*wrong.shape[-2:]) == 1, wrong.shape)
        if (wrong == eye).all():
            yield "only the diagonal is wrong", 12.0
    for words, mask in (
        ("where 0 is expected", p.want == 0),
        ("where the expected is below 0", p.want < 0),
        ("where the expected is not 0", p.want != 0),
    ):
        if mask.any() and not mask.all() and (wrong == mask).all():
            yield f"wrong only {words}", float(min(20, wrong.size))
    for name, x in p.inputs:
        if not name or x.shape != wrong.shape:
            continue
        _, which, times = np.unique(x, return_inverse=True, return_counts=True)
        tied = (times > 1)[which].reshape(x.shape) & np.isfinite(x)
        for words, mask in ((f"`{name}` is below 0", x < 0), (f"numbers of `{name}` are equal", tied)):
            if mask.any() and not mask.all() and (wrong == mask).all():
                yield f"wrong only where {words}", float(min(20, wrong.size))


def _inside_all(wrong: Sequence[Pair]) -> str:
    """What holds of all pairs that are wrong in part."""
    found = [dict(inside(p)) for p in wrong]
    for words in found[0] if found else ():
        if all(words in one for one in found) and sum(one[words] for one in found) >= 4:
            return words
    return ""


def _names(names: Iterable[str]) -> str:
    quoted = [f"`{name}`" for name in dict.fromkeys(names)]
    return ", ".join(quoted[:2]) + (f" and {len(quoted) - 2} more" if len(quoted) > 2 else "")


def where(pairs: Sequence[Pair]) -> str:
    """In which cases it is right and in which wrong, in words; "" where all are wrong."""
    wrong = [p for p in pairs if not p.right]
    bad, good = {p.probe for p in wrong}, {p.probe for p in pairs} - {p.probe for p in wrong}
    said = []
    if good:
        rights, wrongs = ([p.probe for p in pairs if p.probe in some] for some in (good, bad))
        said.append(f"right in {_names(rights)}, wrong in {_names(wrongs)}")
    places = {p.place for p in wrong}
    if len(places) == 1 and "" not in places and any(p.place not in places for p in pairs if p.probe in bad):
        said.append(f"only {next(iter(places))} is wrong")
    if more := _inside_all(wrong):
        said.append(more)
    return "; ".join(said)


# The diagnosis


@np.errstate(all="ignore")  # infinities and NaN are what an answer may show: no warning for who reads it
def diagnosis(
    pairs: Sequence[Pair], *, own: bool = True, places: bool = True, lost: bool = True
) -> str | None:
    """What a teacher would say who sees these values side by side; None where nothing is sure.

    It is a sentence on all wrong values, or on those of the first probe that a relation explains. Without
    `places` it does not say where: other values than the reference's may be right too. Without `lost` it
    does not ask about a 0 or an infinity: that is for where nothing else tells why.
    """
    wrong = [p for p in pairs if not p.right]
    if not wrong:
        return None
    told = in_turn(pairs) or _related(wrong)
    place = where(pairs) if own and places else ""
    if told is None and own:
        for name, some in _parts(wrong):
            if (told := _related(some, alone=True)) and not _of_two_minds(told, wrong):
                return _sentence(f"in {name}: {told}", place)
    told = told or (_lost(wrong) if lost else None)
    if told is None and own and lost:
        told = next((f"in {name}: {words}" for name, some in _parts(wrong) if (words := _lost(some))), None)
    if told is None:
        return _sentence(place, "") if place else None
    return _sentence(told if own else _bare(told), place)


def _lost(wrong: Sequence[Pair]) -> str | None:
    """The property of what is expected that all of `wrong` have lost."""
    if not all(p.numeric for p in wrong):
        return None
    if words := _agreed(map(invariant, wrong)):
        return words
    words = _agreed(map(emptied, wrong))
    return words if words and sum(int((~p.near(p.want, p.have)).sum()) for p in wrong) > 2 else None


def in_turn(pairs: Sequence[Pair]) -> str | None:
    """What is left in one case of those before it: of values that are alike in their form and place."""
    some = [p for p in pairs if p.numeric and not p.codes]
    if (
        len(some) < 3
        or len(some) < len(pairs)
        or len({(p.place, p.want.shape, p.have.shape) for p in some}) > 1
    ):
        return None
    wants, haves = ([getattr(p, name) for p in some] for name in ("want", "have"))
    if wants[0].shape != haves[0].shape or sum(p.bits for p in some[1:]) < 2 * ENOUGH:
        return None
    for words, made in (
        (
            "each holds what came before it as well: something is not cleared between two cases",
            np.cumsum(wants, 0),
        ),
        ("each is that of the case before: is an old result given back?", [haves[0], *wants[:-1]]),
        ("each is that of the first case: something is kept from it", [wants[0]] * len(wants)),
    ):
        new = [p for p, one in zip(some, made) if not p.same(one, p.want)]
        if len(new) > 1 and all(p.same(one, p.have) for p, one in zip(some, made)):
            return words
    return None


def _parts(wrong: Sequence[Pair]) -> Iterator[tuple[str, list[Pair]]]:
    """The values that are wrong by probe, then by place in all probes, then the first of them alone.

    First what should be as it was: it may be why others are wrong.
    """
    yield from ((f"`{p.probe}`", [p]) for p in wrong if kept(p))
    for probe in dict.fromkeys(p.probe for p in wrong):
        yield f"`{probe}`", [p for p in wrong if p.probe == probe]
    for place in dict.fromkeys(p.place for p in wrong if p.place):
        yield place, [p for p in wrong if p.place == place]
    if wrong[0].place:  # of a gradient that is worked out from a wrong value there is nothing to say
        yield f"`{wrong[0].probe}`, {wrong[0].place}", [wrong[0]]


def _related(wrong: Sequence[Pair], *, alone: bool = False) -> str | None:
    """The first relation that all of `wrong` have, and that chance would not give them."""
    if words := _agreed(map(kept, wrong)):
        return words
    if words := _agreed([kinds(p) for p in wrong]):
        return words if not wrong[0].codes or sum(map(_differences, wrong)) >= (8 if alone else 1) else None
    if not all(p.numeric for p in wrong):
        return None
    if sum(p.have.size for p in wrong) > 3 and (words := _agreed(map(zeros, wrong))):
        return words
    if words := _agreed(map(wrapped, wrong)):
        return words
    bits = sum(p.bits for p in wrong)
    for relation in RELATIONS:
        if alone and relation is by_rows:  # so little explains no part of what is wrong
            continue
        try:
            words = _agreed(map(relation, wrong))
        except (ValueError, IndexError, TypeError, OverflowError, MemoryError):
            continue
        if words and bits >= ENOUGH * (2 if alone else 1):
            return words
    return None


def _of_two_minds(told: str, wrong: Sequence[Pair]) -> bool:
    """Whether a factor of one case is another in the next: of whole numbers one is soon half of another."""
    alone = [p for p in wrong if p.numeric and p.want.size == p.have.size == 1 and p.want.any()]
    ratios = {
        float(p.have.ravel()[0] / p.want.ravel()[0]) for p in alone if (p.want == np.round(p.want)).all()
    }
    return len(ratios) > 1 and "what it should be" in told


def _differences(p: Pair) -> int:
    return int((p.want != p.have).sum()) if p.numeric and p.want.shape == p.have.shape else 0


def _agreed(found: Iterable[str | None]) -> str | None:
    """The one sentence of all, None where they are not of one mind."""
    said = set(found)
    return said.pop() if len(said) == 1 else None


def _bare(words: str) -> str:
    """Without names of inputs."""
    return " ".join(
        "an input" if word.startswith("`") and word[1:2].isalpha() and "(" not in word else word
        for word in words.split()
    )


def _sentence(first: str, more: str) -> str:
    parts = [part[0].upper() + part[1:] for part in (first, more) if part]
    return " ".join(part if part.endswith("?") else f"{part}." for part in parts)
