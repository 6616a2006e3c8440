"""Exercises 7.17 and 7.19 count: tokens that go through the model."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np

from coursekit.grading.compare import difference
from coursekit.grading.plain import plain


def judge_endings_hidden(name: str, expected: Any, got: Any) -> str | None:
    """The endings as the reference has them, from a model that read no token more than it has to."""
    if not name.startswith("tokens read"):
        return difference(expected, got, 0)
    wanted, read = (_tokens(shown) for shown in (expected, got))
    if len(read) > len(wanted):
        return f"{min(len(read), 9999)} tokens were read; {len(wanted)} are enough: the prompt once"
    if len(read) < _fewest(name, wanted):
        return "the model read fewer tokens than there are in the prompt and the endings"
    return "the model read other tokens than those" if Counter(read) - Counter(wanted) else None


def _fewest(name: str, wanted: list[int]) -> int:
    """How many tokens have to be read where no beginning of an ending is read twice."""
    length, _, new = map(int, re.findall(r"\d+", name))
    starts = range(length, len(wanted), max(new, 1))
    return length + len({tuple(wanted[start : start + n]) for start in starts for n in range(1, new + 1)})


def judge_generate_hidden_2(name: str, expected: Any, got: Any) -> str | None:
    """The tokens as the reference has them, from a model that read each of them once."""
    if not name.startswith("went through"):
        return difference(expected, got, 0)
    wanted, read = (np.concatenate([np.zeros((2, 0)), *plain(shown)], 1) for shown in (expected, got))
    bound, count = wanted.shape[1], read.shape[1]
    if count < bound:
        return f"the model read fewer than {bound} tokens: each but the last has to go through it"
    if count > bound:
        return f"{min(count, 9999)} tokens went through the model; {bound} are enough"
    return None if np.array_equal(wanted, read) else "other tokens than the text's went through the model"


def _tokens(shown: Any) -> list[int]:
    return [int(token) for tokens in plain(shown) for token in np.ravel(tokens)]
