"""Random programs in TensorFlow 1's names, and what TensorFlow made of them.

    pip install tensorflow-cpu && python tests/helpers/tensorflow_programs.py

writes tensorflow_programs.npz beside this file, which tests/minilib/test_graph.py holds `minilib.graph` to.
TensorFlow is in no extra of this project: it is asked once.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np

VALUES = Path(__file__).with_suffix(".npz")
COUNT = 300
SHAPE = (3, 4)


def values_of(tf: Any, seed: int) -> list[Any]:
    """What the program of this number gives: results, gradients, second ones, variables after two steps."""
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float64, (None, 4), name="x")
        w = tf.Variable(numbers.standard_normal(SHAPE), name="w")
        made = [x, w, x * w]
        for _ in range(rng.randint(3, 10)):
            made.append(one(tf, rng, rng.choice(made), rng.choice(made), w))
        ends = [made[-1], rng.choice(made[2:])]
        loss = tf.reduce_mean(tf.square(ends[0])) + tf.reduce_sum(tf.tanh(ends[1] * w)) * 0.1
        first = gradients(tf, ends, [x, w])
        second = gradients(tf, [tf.reduce_sum(tf.sin(g)) for g in first], [x, w])
        optimizer = [
            lambda: tf.train.GradientDescentOptimizer(0.1),
            lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=seed % 2 == 0),
            lambda: tf.train.AdamOptimizer(0.1),
        ][seed % 3]()
        with tf.control_dependencies([tf.identity(loss)]):
            step = optimizer.minimize(loss)
        feeds = {x: numbers.standard_normal(SHAPE)}
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            found = session.run([*ends, loss, *first, *second], feeds)
            for _ in range(2):
                session.run(step, feeds)
            return [*found, session.run(w)]


def gradients(tf: Any, ys: list[Any], xs: list[Any]) -> list[Any]:
    """Zeros for None: TensorFlow has a gradient of 0 where a relu's slope is differentiated, we none."""
    return [tf.zeros_like(x) if g is None else g for g, x in zip(tf.gradients(ys, xs), xs)]


def one(tf: Any, rng: random.Random, a: Any, b: Any, w: Any) -> Any:
    """One more array of shape (n, 4), made of two."""
    kinds: list[Any] = [
        lambda: a + b,
        lambda: a - 0.5 * b,
        lambda: tf.tanh(a) * b,
        lambda: a / (1.5 + tf.square(b)),
        lambda: tf.sigmoid(a),
        lambda: tf.exp(tf.tanh(a)),
        lambda: tf.log(1.0 + tf.square(a)),
        lambda: tf.sin(a) + tf.cos(b),
        lambda: tf.sqrt(1.0 + tf.square(a)),
        lambda: tf.maximum(tf.tanh(a) + 0.0123, tf.sin(b)),
        lambda: tf.minimum(tf.tanh(a) - 0.0123, tf.sin(b)),
        lambda: tf.where(tf.greater(a, b), tf.square(tf.tanh(a)), b),
        lambda: tf.tanh(a) * tf.cast(tf.greater(b, 0.1), tf.float64),
        lambda: tf.nn.relu(a + 0.01),
        lambda: tf.nn.softmax(a),
        lambda: tf.matmul(tf.tanh(a), tf.matmul(tf.transpose(w), tf.tanh(w))),
        lambda: a - tf.reduce_mean(b, 1, keepdims=True),
        lambda: tf.tanh(a) * tf.reduce_sum(tf.tanh(b), 0, keepdims=True),
        lambda: tf.expand_dims(tf.reduce_max(a, 1), 1) * tf.tanh(b),
        lambda: tf.concat([a[:, 2:], tf.slice(b, [0, 0], [-1, 2])], 1),
        lambda: tf.reshape(tf.reshape(a, [-1, 2, 2]), tf.shape(b)) + tf.zeros_like(b),
        lambda: a * tf.stop_gradient(tf.tanh(b)),
        lambda: tf.tanh(a) ** 3,
        lambda: a * tf.reshape(tf.cast(tf.argmax(b, 1), tf.float64) + 1.0, [-1, 1]) * 0.3,
        lambda: tf.expand_dims(
            tf.nn.softmax_cross_entropy_with_logits(labels=tf.nn.softmax(b), logits=a), 1
        ) - a,
        lambda: tf.expand_dims(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.argmax(b, 1), logits=a), 1
        ) * tf.tanh(b),
        lambda: tf.cond(tf.reduce_sum(tf.tanh(a)) > 0.05, lambda: tf.sin(a), lambda: tf.cos(a) * 0.5),
    ]  # fmt: skip
    return rng.choice(kinds)()


def main() -> None:
    import tensorflow.compat.v1 as tf

    tf.disable_eager_execution()
    arrays = {f"{seed}_{i}": v for seed in range(COUNT) for i, v in enumerate(values_of(tf, seed))}
    flat = np.concatenate([np.ravel(v).astype(np.float32) for v in arrays.values()])
    counts = np.array([sum(key.startswith(f"{seed}_") for key in arrays) for seed in range(COUNT)], np.int8)
    np.savez_compressed(VALUES, flat=flat, counts=counts)


if __name__ == "__main__":
    main()
