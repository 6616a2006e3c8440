"""What networks need beside arithmetic. `tf.nn`."""

from __future__ import annotations

from typing import Any

from minilib import operations as ops
from minilib.graph.functions import (
    add,
    convert_to_tensor,
    either,
    exp,
    gather,
    log,
    matmul,
    one_hot,
    reduce_max,
    reduce_sum,
    sigmoid,
    stop_gradient,
    tanh,
)
from minilib.graph.names import absent
from minilib.graph.nodes import Node, make

__all__ = [
    "embedding_lookup", "log_softmax", "relu", "sigmoid", "sigmoid_cross_entropy_with_logits", "softmax",
    "softmax_cross_entropy_with_logits", "softmax_cross_entropy_with_logits_v2",
    "sparse_softmax_cross_entropy_with_logits", "tanh", "xw_plus_b",
]  # fmt: skip
__getattr__ = absent(__name__, __all__)


def embedding_lookup(params: Any, ids: Any, partition_strategy: str = "mod", name: str | None = None) -> Node:
    return gather(params, ids, name=name)


def xw_plus_b(x: Any, weights: Any, biases: Any, name: str | None = None) -> Node:
    return add(matmul(x, weights), biases, name)


def relu(features: Any, name: str | None = None) -> Node:
    return make(ops.ReLU(), features, name=name)


def log_softmax(
    logits: Any, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Node:
    """The logarithm of softmax; the largest number is taken out first, so that nothing overflows."""
    logits, axis = convert_to_tensor(logits), either(axis, dim, -1)
    shifted = logits - stop_gradient(reduce_max(logits, axis, True))  # a shift changes nothing: no gradient
    return make(ops.Sub(), shifted, log(reduce_sum(exp(shifted), axis, True)), name=name)


def softmax(logits: Any, axis: int | None = None, name: str | None = None, dim: int | None = None) -> Node:
    """Positive numbers that add up to 1 along `axis`, or the last."""
    logits, axis = convert_to_tensor(logits), either(axis, dim, -1)
    weights = exp(logits - stop_gradient(reduce_max(logits, axis, True)))
    return make(ops.Div(), weights, reduce_sum(weights, axis, True), name=name)


def _pair(labels: Any, logits: Any, fewer: int = 0) -> tuple[Node, Node]:
    """Both as nodes. Raises ValueError where the labels have not so many axes fewer than the logits."""
    labels, logits = convert_to_tensor(labels), convert_to_tensor(logits)
    if None not in (labels.known_shape, logits.known_shape) and labels.ndim != logits.ndim - fewer:
        raise ValueError(f"labels of shape {labels.shape} do not fit logits of shape {logits.shape}")
    return labels if fewer else labels.astype(logits.dtype), logits


def softmax_cross_entropy_with_logits_v2(
    *, labels: Any, logits: Any, dim: int = -1, name: str | None = None
) -> Node:
    """-sum(labels * log softmax(logits)) along an axis: one loss a row."""
    labels, logits = _pair(labels, logits)
    return make(ops.Neg(), reduce_sum(labels * log_softmax(logits, dim), dim), name=name)


def softmax_cross_entropy_with_logits(
    *, labels: Any, logits: Any, dim: int = -1, name: str | None = None
) -> Node:
    """The same, where the labels count as constants: no gradient flows to them."""
    labels = stop_gradient(labels)
    return softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits, dim=dim, name=name)


def sparse_softmax_cross_entropy_with_logits(*, labels: Any, logits: Any, name: str | None = None) -> Node:
    """The same where each label is the number of a class."""
    labels, logits = _pair(labels, logits, fewer=1)
    classes = logits.lengths()[-1].__index__()
    return softmax_cross_entropy_with_logits(
        labels=one_hot(labels, classes, dtype=logits.dtype), logits=logits, name=name
    )


def sigmoid_cross_entropy_with_logits(*, labels: Any, logits: Any, name: str | None = None) -> Node:
    """max(x, 0) - x * labels + log(1 + exp(-|x|)), for each number: nothing overflows."""
    labels, logits = _pair(labels, logits)
    soft = make(ops.Log1p(), exp(-abs(logits)))
    return make(ops.Add(), relu(logits) - logits * labels, soft, name=name)
