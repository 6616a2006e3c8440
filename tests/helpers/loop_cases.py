"""Planned programs whose loops are run as kernels."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np

import minilib.graph as tf


def gelu(rows: int = 16, columns: int = 256) -> Any:
    """A plan of GELU by its formula, forward and backward, in which all runs in one loop."""
    x = tf.placeholder(tf.float32, (rows, columns))
    y = 0.5 * x * (1.0 + tf.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
    return tf.compile([y, *tf.gradients(y, [x], grad_ys=[x])], [x])


def adamw(rows: int = 16, columns: int = 256) -> Any:
    """A plan of one step of AdamW: a loop of float64 for the corrections, and one over the variable."""
    v = tf.Variable(tf.random_normal((rows, columns)))
    grad = tf.placeholder(tf.float32, (rows, columns))
    return tf.compile(tf.train.AdamWOptimizer(0.01).apply_gradients([(grad, v)]), [grad])


def gated_norm(rows: int | None = 16, columns: int = 256) -> Any:
    """A plan of lesson 9c's: loops between sums, with columns that broadcast."""
    x = tf.placeholder(tf.float32, (rows, columns))

    def centred() -> Any:
        return x - tf.reduce_mean(x, 1, keepdims=True)

    h = centred() / tf.sqrt(tf.reduce_mean(centred() ** 2.0, 1, keepdims=True) + 1e-5)
    y = h * tf.sigmoid(1.702 * h)
    return tf.compile([y, *tf.gradients(y, [x], grad_ys=[x])], [x])


KINDS: list[Callable[[Any, Any, Any], Any]] = [
    *(lambda x, y, z, f=f: f(x, y) for f in (tf.add, tf.subtract, tf.multiply, tf.divide, tf.maximum)),
    *(lambda x, y, z, f=f: f(x) for f in (tf.negative, tf.tanh, tf.sigmoid, tf.nn.relu, tf.sin, abs)),
    *(lambda x, y, z, n=n: x**n for n in (2.0, 3.0)),
    lambda x, y, z: tf.where(tf.logical_and(x < y, tf.logical_not(tf.equal(y, z))), y, z),
    lambda x, y, z: tf.cast(tf.logical_or(x > y, y >= z), tf.float32) + y,
    lambda x, y, z: tf.cast(tf.cast(x, tf.bool), tf.float32),
]


def drawn(rng: random.Random) -> Any:
    """A plan of elementwise operations on two arrays, a row, a column and constants."""
    feeds = [tf.placeholder(tf.float32, shape) for shape in ((6, 5), (6, 5), (5,), (6, 1))]
    made: list[Any] = [*feeds, *map(tf.constant, (0.5, -1.5, np.inf, -np.inf))]
    for _ in range(rng.randint(6, 20)):
        made.append(rng.choice(KINDS)(*(rng.choice(made) for _ in range(3))))
    return tf.compile(rng.sample(made[8:], 3), feeds)


def inputs_of(loop: Any) -> list[np.ndarray]:
    """Numbers for the inputs of a loop."""
    rng = np.random.default_rng(0)
    return [rng.uniform(0.1, 1, tuple(x.shape)).astype(x.dtype) for x in loop.inputs]
