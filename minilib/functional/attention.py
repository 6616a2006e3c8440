"""Causal attention: each position asks all that came before it, and takes the mean of what they say.

Taught in chapters/06b_attention.ipynb and solutions/06b_attention.ipynb: what they export is edited there,
then `make promote`.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from minilib.functional.activations import softmax
from minilib.functional.layers import counted_dropout, dropout, dropout_mask
from minilib.functional.rows import in_float32, row_max
from minilib.parallel import chunked
from minilib.tensor import Array, Function, Generator, Shape, Tensor, apply, array_module, ones

if TYPE_CHECKING:
    from minilib.functional.counted import CountedDropout

__all__ = [
    "CausalAttention", "attend", "attend_backward", "causal_attention", "causal_self_attention", "future",
    "scaled_dot_product_attention",
]  # fmt: skip

# One head, or many at once


def attend(q: Array, k: Array, v: Array, mask: Array | None = None) -> tuple[Array, Array]:
    """The mean of the values v, weighted by softmax(q kᵀ / sqrt(d)); nobody looks ahead.

    q (..., T, d), k and v (..., S, d): the queries are the last T of S positions. `mask` of dropout,
    (..., T, S), multiplies the weights. Returns out (..., T, d) and the weights before the mask.
    arXiv:1706.03762, eq. 1.
    """
    xp = array_module(q)
    weights = (q * q.dtype.type(1 / math.sqrt(q.shape[-1]))) @ k.swapaxes(-1, -2)  # (..., T, S)
    weights += future(*weights.shape[-2:], weights.dtype, xp)  # -inf becomes a weight of 0
    rows = weights.reshape(-1, weights.shape[-1])  # a view: what follows works in place, (rows, S)
    rows -= row_max(rows)
    xp.exp(rows, out=rows)
    rows *= 1 / xp.einsum("ij->i", rows)[:, None]  # einsum: faster than sum on short rows
    return (weights if mask is None else weights * mask) @ v, weights


def attend_backward(
    grad: Array, q: Array, k: Array, v: Array, out: Array, weights: Array, mask: Array | None = None
) -> tuple[Array, Array, Array]:
    """Gradients of q, k and v from that of out; `out` and `weights` are what `attend` returned."""
    scale = q.dtype.type(1 / math.sqrt(q.shape[-1]))
    dv = (weights if mask is None else weights * mask).swapaxes(-1, -2) @ grad  # (..., S, d)
    dscores = grad @ v.swapaxes(-1, -2)  # of the weights, then of the scores: (..., T, S)
    if mask is not None:
        dscores *= mask
    dscores -= (grad * out).sum(-1, keepdims=True)  # the same number as (weights * dscores).sum(-1)
    dscores *= weights
    dscores *= scale
    return dscores @ k, dscores.swapaxes(-1, -2) @ q, dv


@lru_cache(maxsize=16)  # training asks for the same one at each step
def future(t: int, s: int, dtype: DTypeLike, xp: Any = np) -> Array:
    """(t, s): -inf where one of the last t of s positions would look ahead, else 0."""
    return xp.triu(xp.full((t, s), -math.inf, dtype), s - t + 1)  # k = s - t + 1: the last query sees all


# As one operation


class CausalAttention(Function):
    """`attend` with n_head heads, one sample after the other, so that its weights stay in the cache.

    q (B, T, C), k and v (B, S, C), each head with C / n_head of the channels; or `packed`, all three side by
    side in one array (B, T, 3 C). A mask of dropout (B, n_head, T, S) may follow, or `dropped` counts which
    weights stay. Returns (B, T, C).
    """

    def __init__(self, n_head: int, packed: bool = False, dropped: CountedDropout | None = None) -> None:
        self.n_head, self.packed, self.dropped = n_head, packed, dropped

    def forward(self, *arrays: Array) -> Array:
        q, k, v, *mask = self.heads(arrays)
        mask = self.masks(mask, q, k)
        out = self.xp.empty(q.swapaxes(1, 2).shape, q.dtype)  # (B, T, n_head, d)
        weights = self.xp.empty((*q.shape[:3], k.shape[2]), q.dtype)  # (B, n_head, T, S)
        self.saved = (*arrays, out, weights)

        def kernel(out: Array, weights: Array, *qkv: Array) -> None:
            out[...], weights[...] = attend(*qkv)

        if out.size:
            # One sample: its T x S stay in cache.
            chunked(kernel, out.swapaxes(1, 2), weights, q, k, v, *mask, rows=1)
        return out.reshape(*out.shape[:2], math.prod(out.shape[2:]))

    def backward(self, grad: Array) -> Any:
        *arrays, out, weights = self.saved
        q, k, v, *mask = self.heads(arrays)
        made = self.xp.empty_like if out.size else self.xp.zeros_like  # keys that nobody asks get zeros
        grads = [made(array, order="C") for array in arrays[: len(arrays) - len(mask)]]
        dq, dk, dv = self.heads(grads)
        masks = self.masks(mask, q, k)

        def kernel(grad: Array, dq: Array, dk: Array, dv: Array, *saved: Array) -> None:
            dq[...], dk[...], dv[...] = attend_backward(grad, *saved)

        heads = grad.reshape(out.shape).swapaxes(1, 2)  # (B, n_head, T, d)
        if out.size:
            chunked(kernel, heads, dq, dk, dv, q, k, v, out.swapaxes(1, 2), weights, *masks, rows=1)
        return (*grads, *[None for _ in mask])  # no gradient for a mask

    def masks(self, mask: list[Array], q: Array, k: Array) -> list[Array]:
        """The mask that was given or is counted, if there is one."""
        if self.dropped is None:
            return mask
        return [self.dropped.mask(self.xp.empty((*q.shape[:3], k.shape[2]), q.dtype))]

    def heads(self, arrays: Any) -> list[Array]:
        """Views (B, n_head, T, d) of what lies side by side; what follows them stays as it is."""
        if self.packed:
            qkv, *rest = arrays
            # (B, T, 3 C) is (B, T, 3, n_head, d): views, nothing is copied.
            parts = qkv.reshape(*qkv.shape[:2], 3, self.n_head, qkv.shape[2] // (3 * self.n_head))
            return [*(parts[:, :, i].swapaxes(1, 2) for i in range(3)), *rest]
        d = arrays[0].shape[2] // self.n_head
        # (B, n_head, T, d).
        split = [x.reshape(*x.shape[:2], self.n_head, d).swapaxes(1, 2) for x in arrays[:3]]
        return [*split, *arrays[3:]]


def causal_self_attention(
    input: Tensor, n_head: int, p: float = 0.0, training: bool = True, generator: Generator | None = None
) -> Tensor:
    """Attention of a sequence to itself: queries, keys and values side by side (B, T, 3 C) give (B, T, C).

    In training each weight is dropped with probability `p`. Raises RuntimeError for a shape that is wrong.
    """
    _check_input("causal_self_attention", n_head, input)
    if input.ndim != 3 or input.shape[2] % (3 * n_head):
        raise RuntimeError(
            f"causal_self_attention: needs (B, T, 3 C) with C a multiple of {n_head} heads, not {input.shape}"
        )
    b, t, _ = input.shape
    dropped, mask = _dropped((b, n_head, t, t), p, training, input, generator)
    return apply(CausalAttention(n_head, True, dropped), input, *mask)


def causal_attention(
    query: Tensor, key: Tensor, value: Tensor, n_head: int,
    p: float = 0.0, training: bool = True, generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Attention of the last T of S positions to all up to them: (B, T, C), twice (B, S, C) give (B, T, C).

    In PyTorch: scaled_dot_product_attention with heads split off and a lower-right causal mask. Raises
    RuntimeError for shapes that do not fit.
    """
    _check_input("causal_attention", n_head, query, key, value)
    b, t, c = query.shape if query.ndim == 3 else (0, 0, 1)
    s = key.shape[1] if key.ndim == 3 else 0
    if not t <= s or key.shape != (b, s, c) or value.shape != key.shape or c % n_head:
        raise RuntimeError(
            "causal_attention: needs (B, T, C), (B, S, C), (B, S, C) with T <= S and C a multiple of "
            f"{n_head} heads, not {query.shape}, {key.shape}, {value.shape}"
        )
    dropped, mask = _dropped((b, n_head, t, s), p, training, query, generator)
    one_query = t == 1 and s and not mask and type(query.data) is np.ndarray  # as when text is generated
    kind = AttentionOfOneQuery if one_query else CausalAttention
    return apply(kind(n_head, False, dropped), query, key, value, *mask)


class AttentionOfOneQuery(CausalAttention):
    """The same where only the last position asks: it sees all, and few numbers need no piece of a cache."""

    name = "CausalAttention"

    def forward(self, *arrays: Array) -> Array:
        q, k, v = arrays
        b, s, c = k.shape
        heads, d = self.n_head, c // self.n_head
        k, v = k.reshape(b, s, heads, d).transpose(0, 2, 3, 1), v.reshape(b, s, heads, d).swapaxes(1, 2)
        weights = (q * q.dtype.type(1 / math.sqrt(d))).reshape(b, heads, 1, d) @ k  # (B, n_head, 1, S)
        # What weights.max calls, without its detours.
        weights -= np.maximum.reduce(weights, -1, keepdims=True)
        np.exp(weights, out=weights)
        weights /= np.add.reduce(weights, -1, keepdims=True)  # the same of weights.sum
        out = weights @ v  # (B, n_head, 1, d)
        self.saved = (*arrays, out.swapaxes(1, 2), weights)
        return out.reshape(b, 1, c)


@in_float32
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,
) -> Tensor:  # fmt: skip
    """softmax(scale query keyᵀ) value: (..., T, d), (..., S, d) and (..., S, e) are (..., T, e).

    `scale` None is 1 / sqrt(d). `attn_mask`, (..., T, S), says by booleans which of the S count, or is added
    to the scores. `is_causal` masks what lies ahead; with 4 axes and T = S it is `causal_attention`. As in
    PyTorch, dropout does not ask whether a model trains. `enable_gqa` is not here: repeat the heads first.
    """
    if is_causal and attn_mask is not None:
        raise RuntimeError("scaled_dot_product_attention: give attn_mask or is_causal, not both")
    same = query.ndim == 4 and query.shape == key.shape == value.shape
    if is_causal and same and scale is None and query.numel():
        heads, length, d = query.shape[1:]
        q, k, v = (x.transpose(1, 2).reshape(-1, length, heads * d) for x in (query, key, value))
        out = causal_attention(q, k, v, heads, dropout_p)  # as one operation: faster than the chain below
        return out.reshape(-1, length, heads, d).transpose(1, 2)
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)  # (..., T, S)
    if is_causal:
        attn_mask = ones(scores.shape[-2:], dtype=bool, device=scores.device).tril()
    if attn_mask is not None:
        hidden = attn_mask.dtype == bool
        scores = scores.masked_fill(~attn_mask, -math.inf) if hidden else scores + attn_mask
    return dropout(softmax(scores, -1), dropout_p) @ value


def _check_input(name: str, n_head: int, *tensors: Tensor) -> None:
    """Raise where there is no head, or where the tensors are no floats of one dtype."""
    if n_head < 1:
        raise ValueError(f"{name}: n_head must be at least 1, and is {n_head}")
    dtypes = {tensor.dtype for tensor in tensors}
    if len(dtypes) > 1 or tensors[0].dtype.kind != "f":
        names = ", ".join(dict.fromkeys(tensor.dtype.name for tensor in tensors))
        raise RuntimeError(f"{name}: needs floats of one dtype, not {names}; cast with .to(...)")


def _dropped(
    shape: Shape, p: float, training: bool, like: Tensor, generator: Generator | None
) -> tuple[CountedDropout | None, list[Tensor]]:
    """What drops weights, if anything does: a count on the device, or a mask."""
    if not 0 <= p <= 1:
        raise ValueError(f"dropout: p is a probability between 0 and 1, not {p}")
    if not training or p == 0:
        return None, []
    counted = counted_dropout(like, p, generator)
    if counted is not None:
        return counted, []
    mask = dropout_mask(shape, p, like.dtype, generator)
    return None, [Tensor(array_module(like.data).asarray(mask))]
