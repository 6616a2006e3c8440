"""Choosing the next token from its scores: the likeliest, or one drawn at random.

Taught in chapters/06d_generating.ipynb and solutions/06d_generating.ipynb: what they export is edited there,
then `make promote`.
"""

from __future__ import annotations

import numpy as np

from minilib.tensor import Array, Generator, Tensor, default_generator

# Choosing a token


def choose(
    logits: Tensor,
    temperature: float = 1.0,
    do_sample: bool = False,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: Generator | None = None,
) -> Tensor:
    """A token for each row of scores (B, V), as (B, 1): the likeliest, or one drawn by its probability."""
    if not do_sample:
        return logits.argmax(-1, keepdim=True)
    scores = logits.numpy().astype(np.float64)
    # The largest is taken out first: a small temperature would make infinities of large scores.
    p = probabilities((scores - scores.max(-1, keepdims=True)) / temperature, top_k, top_p)
    sums = p.cumsum(-1)  # (B, V)
    # Rounding: the last is not 1.
    draws = (generator or default_generator).numbers.random((len(p), 1)) * sums[:, -1:]
    return Tensor((sums <= draws).sum(-1, keepdims=True))  # the first token whose running sum is larger


def probabilities(scores: Array, top_k: int | None = None, top_p: float | None = None) -> Array:
    """Softmax of the scores (B, V) over those that may be chosen, in float64.

    `top_k`: the k largest, and what equals them. `top_p`: the fewest whose probabilities add up to at least
    that much (arXiv:1904.09751).
    """
    if top_k is not None:
        least = np.partition(scores, -top_k, axis=-1)[:, -top_k, None]  # (B, 1), without a sort
        scores = np.where(scores < least, -np.inf, scores)
    p = np.exp(scores.astype(np.float64) - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    if top_p is not None:
        order = np.argsort(-p, axis=-1, kind="stable")
        ordered = np.take_along_axis(p, order, -1)
        before = ordered.cumsum(-1) - ordered  # the sum of all that are likelier
        np.put_along_axis(p, order, np.where(before < top_p, ordered, 0), -1)
        p /= p.sum(-1, keepdims=True)
    return p


# What may be asked for


def check_dials(
    vocab_size: int, new: int, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> None:
    """Raise ValueError where `new` tokens of so many cannot be chosen by these."""
    if new < 0:
        raise ValueError(f"max_new_tokens must be 0 or more, not {new}")
    if not temperature > 0:
        raise ValueError(f"temperature must be above 0, not {temperature}; greedy is do_sample=False")
    if top_k is not None and not 1 <= top_k <= vocab_size:
        raise ValueError(f"top_k must be from 1 to {vocab_size}, the tokens, not {top_k}")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p must be above 0 and at most 1, not {top_p}")
