"""Exercise 6.2 may take any of several commonest pairs, 6.6 may cut a text in any way: both are replayed.

What is replayed, words and texts, is the reference's own; of an answer only its merges and its tokens count.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

from coursekit.grading.compare import difference
from coursekit.grading.plain import items


def judge_train_hidden(name: str, expected: Any, got: Any) -> str | None:
    """Each merge joins a commonest pair, to the limit or until no pair is left."""
    if name == "few tokens":
        return difference(expected, got, 0)
    try:
        words = {tuple(items(tokens)): int(n["int"]) for tokens, n in map(items, items(items(expected)[0]))}
        limit = int(items(expected)[1]["int"])
        merges = [_pair(merge) for merge in items(items(got)[2])]
    except (TypeError, KeyError, ValueError, IndexError):
        return "expected a list of pairs of strings"
    return _replayed(words, limit, merges)


def _replayed(words: dict[tuple[str, ...], int], limit: int, merges: list[tuple[str, str]]) -> str | None:
    """What is wrong with these merges, if anything."""
    if len(merges) > limit:
        surplus = len(merges) - limit
        return f"{surplus} merge{'s' * (surplus > 1)} too many"
    for i, pair in enumerate(merges):
        counts = _counts(words)
        if not counts:
            return f"merge {i} comes when no pair is left"
        if counts[pair] < max(counts.values()):
            return f"merge {i} does not join a commonest pair"
        words = {key: n for key, n in _merged(words, pair).items()}
    if len(merges) < limit and _counts(words):
        return f"stops after {len(merges)} merges, though pairs are left"
    return None


def _counts(words: dict[tuple[str, ...], int]) -> Counter[tuple[str, str]]:
    counts: Counter[tuple[str, str]] = Counter()
    for word, times in words.items():
        for pair in pairwise(word):
            counts[pair] += times
    return counts


def _merged(words: dict[tuple[str, ...], int], pair: tuple[str, str]) -> Counter[tuple[str, ...]]:
    """The words with this pair joined, from left to right."""
    after: Counter[tuple[str, ...]] = Counter()
    for word, times in words.items():
        new: list[str] = []
        i = 0
        while i < len(word):
            both = word[i : i + 2] == pair
            new.append(pair[0] + pair[1] if both else word[i])
            i += 2 if both else 1
        after[tuple(new)] += times
    return after


def judge_fewest_hidden(name: str, expected: Any, got: Any) -> str | None:
    """Any right cut."""
    return _cut(expected, got, None)


def judge_fewest_hidden_2(name: str, expected: Any, got: Any) -> str | None:
    """At most as many tokens as the longest match from left to right takes."""
    text, vocabulary, _ = items(expected)
    return _cut(expected, got, _longest_match(text, set(items(vocabulary))))


def judge_fewest_hidden_3(name: str, expected: Any, got: Any) -> str | None:
    """The fewest: as many as the reference."""
    return _cut(expected, got, len(items(items(expected)[2])))


def _longest_match(text: str, vocabulary: set[str]) -> int:
    """How many tokens it takes to cut off the longest one again and again."""
    count = i = 0
    longest = max(map(len, vocabulary))
    while i < len(text):
        i += next(n for n in range(longest, 0, -1) if text[i : i + n] in vocabulary)
        count += 1
    return count


def _cut(expected: Any, got: Any, bound: int | None) -> str | None:
    text, vocabulary, _ = items(expected)
    try:
        tokens = items(items(got)[2])
        if "".join(tokens) != text:
            return "joined, the tokens are not the text"
    except (TypeError, KeyError, ValueError, IndexError):
        return "expected a list of strings"
    if not set(tokens) <= set(items(vocabulary)):
        return "a token does not stand in the vocabulary"
    if bound is not None and len(tokens) > bound:
        return f"{len(tokens)} tokens; {bound} are enough"
    return None


def _pair(merge: Any) -> tuple[str, str]:
    a, b = items(merge)
    if not isinstance(a, str) or not isinstance(b, str):
        raise TypeError("not strings")
    return a, b
