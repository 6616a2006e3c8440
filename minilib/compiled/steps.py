"""The optimisers' steps, each in one pass over its arrays, and dropout."""

from __future__ import annotations

from typing import Any

import numpy as np

from minilib.compiled.loops import compiled, loop, over, over_pieces, plain
from minilib.compiled.pairs import flat, pair, rule
from minilib.functional.counted import CountedDropout
from minilib.optim import adam, adam_numbers, sgd
from minilib.tensor import Array

ZERO = np.float32(0)


# Adam and AdamW


@loop
def adam_loop(
    x: Array, grad: Array, mean: Array, square: Array,
    shrink: float, decay: float, b1: float, c1: float, b2: float, c2: float, scale: float, eps: float,
) -> None:  # fmt: skip
    for i in range(len(x)):
        g = grad[i] + decay * x[i]  # Adam's decay is part of the gradient, AdamW's shrinks x itself
        m = b1 * mean[i] + c1 * g
        v = b2 * square[i] + c2 * (g * g)
        mean[i], square[i] = m, v
        x[i] = shrink * x[i] - scale * m / (np.sqrt(v) + eps)


@rule(adam)
def adam_compiled(x: Array, grad: Array, mean: Array, square: Array, **options: Any) -> Any:
    """`minilib.optim.adam` in one pass: x, mean and square change in place."""
    if not plain(x, grad, mean, square):
        return NotImplemented
    numbers = map(np.float32, adam_numbers(**options))
    over_pieces(adam_loop, map(flat, (x, grad, mean, square)), *numbers)
    return None


# Gradient descent


@loop
def sgd_loop(x: Array, grad: Array, lr: float, decay: float) -> None:
    for i in range(len(x)):
        x[i] -= lr * (grad[i] + decay * x[i])


@loop
def momentum_loop(
    x: Array, grad: Array, velocity: Array,
    lr: float, decay: float, momentum: float, taken: float, ahead: float,
) -> None:  # fmt: skip
    for i in range(len(x)):
        g = grad[i] + decay * x[i]
        v = momentum * velocity[i] + taken * g
        velocity[i] = v
        x[i] -= lr * (v if ahead == ZERO else g + momentum * v)


@rule(sgd)
def sgd_compiled(
    x: Array,
    grad: Array,
    velocity: Array | None = None,
    *,
    lr: float,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    look_ahead: bool = False,
) -> Any:
    """`minilib.optim.sgd` in one pass: x and velocity change in place."""
    arrays = (x, grad) if velocity is None else (x, grad, velocity)
    if not plain(*arrays):
        return NotImplemented
    if velocity is None:
        over_pieces(sgd_loop, map(flat, arrays), *map(np.float32, (lr, weight_decay)))
    else:
        taken = 1.0 if look_ahead else 1 - dampening
        numbers = lr, weight_decay, momentum, taken, float(look_ahead)
        over_pieces(momentum_loop, map(flat, arrays), *map(np.float32, numbers))
    return None


# Dropout by counting: what stays follows from a key and a place

M0, M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
W0, W1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
LOW, HIGH = np.uint64(2**32 - 1), np.uint64(32)


def _philox(counter: Any, key0: Any, key1: Any) -> Any:
    """Philox4x32-10: four numbers of 32 bits for a counter. Salmon et al. 2011."""
    x0, x1, x2, x3 = counter, np.uint64(0), np.uint64(0), np.uint64(0)
    for _ in range(10):
        first, second = x0 * M0, x2 * M1
        x0, x1, x2, x3 = (second >> HIGH) ^ x1 ^ key0, second & LOW, (first >> HIGH) ^ x3 ^ key1, first & LOW
        key0, key1 = (key0 + W0) & LOW, (key1 + W1) & LOW
    return x0, x1, x2, x3


philox = compiled(_philox, set())


@loop
def dropout(
    start: int, stop: int, x: Array, y: Array, key0: Any, key1: Any, limit: Any, scale: float
) -> None:
    for four in range(start, stop):
        drawn = philox(np.uint64(four), key0, key1)
        for k in range(min(4, len(x) - 4 * four)):
            i = 4 * four + k
            y[i] = x[i] * (scale if drawn[k] >= limit else ZERO)


@pair(CountedDropout)
class DropoutLoops:
    def forward(self, f: Any, x: Array) -> Array:
        return self.run(f, x) if plain(x) else NotImplemented

    def backward(self, f: Any, grad: Array) -> Array:
        return self.run(f, np.ascontiguousarray(grad))

    def run(self, f: Any, x: Array) -> Array:
        y = np.empty_like(x)
        numbers = np.uint64(f.key % 2**32), np.uint64(f.key >> 32), np.uint64(f.limit), np.float32(f.scale)
        over(dropout, -(-x.size // 4), x.size, flat(x), flat(y), *numbers)
        return y
