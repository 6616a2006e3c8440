"""The simple version of what has a fast one: tests prove that both give the same.

Taught in chapters/01_scalar.ipynb, solutions/01_scalar.ipynb, chapters/02a_arrays.ipynb,
chapters/03a_losses.ipynb, chapters/03c_optimisers.ipynb and chapters/06b_attention.ipynb: what they export is
edited there, then `make promote`.
"""

from __future__ import annotations

import math
from typing import Any

from numpy.lib.stride_tricks import sliding_window_view

from minilib.engine import Array, Shape

# Scalars: a number that knows its derivative


class Value:
    def __init__(self, data, op="", inputs=(), derivatives=()):
        self.data, self.grad, self.op = data, 0.0, op
        self.inputs, self.derivatives = inputs, derivatives

    def __add__(self, other):
        if not isinstance(other, Value):
            other = Value(other)
        return Value(self.data + other.data, "+", (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.data * other.data, "*", (self, other), (other.data, self.data))

    def relu(self):
        return Value(max(self.data, 0.0), "ReLU", (self,), (float(self.data > 0),))

    def tanh(self):
        """Hyperbolic tangent; derivative 1 - tanh(x)**2."""
        t = math.tanh(self.data)
        return Value(t, "tanh", (self,), (1 - t * t,))  # by the result, which spares a second tanh

    def exp(self):
        """e**x. Raises OverflowError above 709.78, where a float ends."""
        e = math.exp(self.data)  # its own derivative, so it is worked out once
        return Value(e, "exp", (self,), (e,))

    def log(self):
        """Natural logarithm. Raises ValueError for a number that is not positive."""
        if self.data <= 0:
            raise ValueError(f"log: expected a positive number, got {self.data}")
        return Value(math.log(self.data), "log", (self,), (1 / self.data,))

    def backward(self):
        """Add to the `grad` of each leaf the derivative of this value; set that of each operation to it."""
        order = topological_order(self)
        for value in order:
            value.grad = 0.0
        self.grad = 1.0
        for value in reversed(order):  # the newest first: all that use its result have spoken
            for i, derivative in zip(value.inputs, value.derivatives):
                i.grad += derivative * value.grad


def topological_order(root):
    """The operations below `root`, each after those that it was made of. Leaves are left out."""
    order, seen, stack = [], set(), [root]
    while stack:
        value = stack.pop()
        if value is None:  # the inputs of the next one are in the order by now
            order.append(stack.pop())
        elif value.op and value not in seen:
            seen.add(value)
            stack += [value, None, *value.inputs]
    return order


def weighted_sum(weights, inputs, bias):
    """bias + w[0]*x[0] + w[1]*x[1] + ..., as one node. Inputs that are plain numbers get no gradient."""
    x = [v.data if isinstance(v, Value) else v for v in inputs]
    total = bias.data
    for weight, value in zip(weights, x, strict=True):  # strict: one input for each weight
        total += weight.data * value
    made_of, derivatives = [bias, *weights], [1.0, *x]  # d/d bias = 1, d/d w[i] = x[i]
    for weight, v in zip(weights, inputs):
        if isinstance(v, Value):
            made_of.append(v)
            derivatives.append(weight.data)  # d/d x[i] = w[i]
    return Value(total, "weighted_sum", tuple(made_of), tuple(derivatives))


# Losses: cross-entropy


def chain_cross_entropy(scores: Any, target: Any) -> Any:
    """Mean of -log softmax(scores) at the targets, operation by operation: tensors (N, C) and (N,)."""
    shifted = scores - scores.amax(1, keepdim=True).detach()
    log_sums = shifted.exp().sum(1).log()
    picked = shifted.gather(1, target.unsqueeze(1)).squeeze(1)
    return (log_sums - picked).mean()


# Norms: layer norm


def chain_layer_norm(x: Any, weight: Any, bias: Any, eps: float = 1e-5) -> Any:
    """Rows of mean 0 and variance 1, times weight plus bias, operation by operation."""
    centred = x - x.mean(-1, keepdim=True)
    return centred / ((centred * centred).mean(-1, keepdim=True) + eps).sqrt() * weight + bias


# Layers: convolution


def column_conv2d(x: Any, weight: Any) -> Any:
    """Windows as columns, then one matrix product: x (N, C, H, W), weight (O, C, kH, kW)."""
    windows = sliding_window_view(x, weight.shape[2:], axis=(2, 3))
    n, _, h, w = windows.shape[:4]
    columns = windows.transpose(0, 1, 4, 5, 2, 3).reshape(n, -1, h * w)  # (N, C kH kW, H' W')
    return (weight.reshape(len(weight), -1) @ columns).reshape(n, -1, h, w)


# Optimisers: Adam


def adam(x: Any, grad: Any, mean: Any, square: Any, step: int, lr: float, betas: Any, eps: float) -> Any:
    """Step number `step` (from 1) of Adam: the new x, mean and square. arXiv:1412.6980, algorithm 1."""
    beta1, beta2 = betas
    mean = beta1 * mean + (1 - beta1) * grad
    square = beta2 * square + (1 - beta2) * grad**2
    corrected = mean / (1 - beta1**step), square / (1 - beta2**step)
    return x - lr * corrected[0] / (corrected[1] ** 0.5 + eps), mean, square


# Attention


def chain_attention(q: Any, k: Any, v: Any, mask: Any) -> Any:
    """Attention, operation by operation: q (..., T, d), k and v (..., S, d), mask (T, S) of 0 and -inf."""
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5 + mask  # (..., T, S)
    exps = (scores - scores.amax(-1, keepdim=True).detach()).exp()
    return (exps / exps.sum(-1, keepdim=True)) @ v


# Gradients: what broadcasting had repeated


def sum_to(array: Array, shape: Shape) -> Array:
    """The sum of `array` over the axes that broadcasting from `shape` had added or repeated."""
    extra = array.ndim - len(shape)
    repeated = tuple(extra + i for i, n in enumerate(shape) if n == 1 and array.shape[extra + i] != 1)
    summed = array.sum(axis=(*range(extra), *repeated), keepdims=True)
    return summed.reshape(shape)
