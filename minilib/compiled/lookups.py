"""Embedding's way back, and attention's weights: what lies between the products, in one pass."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minilib.compiled.loops import exp, loop, plain
from minilib.compiled.pairs import pair
from minilib.compiled.rows import largest
from minilib.functional.attention import CausalAttention
from minilib.functional.layers import Embedding
from minilib.parallel import parallel
from minilib.tensor import Array, Function

ZERO, ONE = np.float32(0), np.float32(1)


# Embedding: rows are looked up by NumPy; their gradients are added up where they came from


@loop
def add_rows(index: Array, grad: Array, dw: Array) -> None:
    for i in range(len(index)):
        row = index[i] if index[i] >= 0 else index[i] + len(dw)
        for j in range(grad.shape[1]):
            dw[row, j] += grad[i, j]


@pair(Embedding)
class EmbeddingLoops:
    def forward(self, f: Any, weight: Array, index: Array) -> Array:
        if not plain(weight) or index.dtype != np.int64 or not index.size:
            return NotImplemented
        f.saved = (index,)
        return np.take(weight, index, axis=0)

    def backward(self, f: Any, grad: Array) -> Array:
        index = np.ascontiguousarray(f.saved[0]).reshape(-1)
        dw = np.zeros(f.inputs[0].shape, np.float32)
        add_rows(index, np.ascontiguousarray(grad).reshape(len(index), -1), dw)
        if f.padding_idx is not None:
            dw[f.padding_idx] = 0
        return dw


# Causal attention: BLAS makes the scores and takes the means; the softmax between is one loop


@loop
def causal_softmax(scores: Array, scale: Any) -> None:
    """In place, scores (heads, T, S): query t of the last T of S positions sees no later one."""
    heads, queries, keys = scores.shape
    for h in range(heads):
        for t in range(queries):
            seen = keys - queries + t + 1
            row = scores[h, t]
            top = largest(row[:seen]) * scale
            total = ZERO
            for j in range(seen):
                row[j] = exp(row[j] * scale - top)
                total += row[j]
            share = ONE / total
            for j in range(seen):
                row[j] *= share
            for j in range(seen, keys):
                row[j] = ZERO


@loop
def causal_softmax_backward(grad: Array, weights: Array, scale: Any) -> None:
    """In place: `grad` is that of the weights, and becomes that of the scores."""
    heads, queries, keys = weights.shape
    for h in range(heads):
        for t in range(queries):
            seen = keys - queries + t + 1
            g, w = grad[h, t], weights[h, t]
            dot = ZERO
            for j in range(seen):
                dot += g[j] * w[j]
            for j in range(seen):
                g[j] = w[j] * (g[j] - dot) * scale
            for j in range(seen, keys):
                g[j] = ZERO


@pair(CausalAttention)
class AttentionLoops:
    def forward(self, f: Any, *arrays: Array) -> Array:
        if f.dropped is not None or len(arrays) != (1 if f.packed else 3) or not plain(*arrays):
            return NotImplemented
        q, k, v = f.heads(arrays)
        if q.shape[2] > k.shape[2] or not q.shape[3]:  # a query that sees nobody
            return NotImplemented
        out = np.empty(q.swapaxes(1, 2).shape, np.float32)  # (B, T, n_head, d)
        weights = np.empty((*q.shape[:3], k.shape[2]), np.float32)
        heads, scale = out.swapaxes(1, 2), np.float32(1 / math.sqrt(q.shape[3]))

        def work(start: int, stop: int) -> None:
            for b in range(start, stop):
                np.matmul(q[b], k[b].swapaxes(1, 2), out=weights[b])
                causal_softmax(weights[b], scale)
                np.matmul(weights[b], v[b], out=heads[b])

        parallel(work, len(q))
        f.saved = (*arrays, weights)
        return out.reshape(*out.shape[:2], -1)

    def backward(self, f: Function, grad: Array) -> Any:
        *arrays, weights = f.saved
        q, k, v = f.heads(arrays)  # type: ignore[attr-defined]
        grads = [np.empty_like(array) for array in arrays]
        dq, dk, dv = f.heads(grads)  # type: ignore[attr-defined]
        heads = np.ascontiguousarray(grad).reshape(*q.swapaxes(1, 2).shape).swapaxes(1, 2)
        scale = np.float32(1 / math.sqrt(q.shape[3]))

        def work(start: int, stop: int) -> None:
            scores = np.empty(weights.shape[1:], np.float32)
            for b in range(start, stop):
                np.matmul(weights[b].swapaxes(1, 2), heads[b], out=dv[b])
                np.matmul(heads[b], v[b].swapaxes(1, 2), out=scores)
                causal_softmax_backward(scores, weights[b], scale)
                np.matmul(scores, k[b], out=dq[b])
                np.matmul(scores.swapaxes(1, 2), q[b], out=dk[b])

        parallel(work, len(q))
        return tuple(grads)
