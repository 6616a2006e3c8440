"""Activations: curves between the layers, and softmax, which makes probabilities of scores.

Taught in chapters/03a_losses.ipynb and solutions/03a_losses.ipynb: what they export is edited there, then
`make promote`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from minilib.functional.rows import along, in_float32, pointwise, row_dot, row_max, row_sum, rowwise
from minilib.parallel import elementwise
from minilib.tensor import Array, Function, Tensor, apply, array_module, where

__all__ = [
    "ERF",
    "GELU",
    "Erf",
    "Gated",
    "LogSoftmax",
    "SiLU",
    "Softmax",
    "Softplus",
    "TanhGELU",
    "erf",
    "erf_array",
    "gelu",
    "log_softmax",
    "log_softmax_backward",
    "log_softmax_rows",
    "logistic",
    "logsumexp",
    "odd_tanh",
    "relu",
    "sigmoid",
    "silu",
    "softmax",
    "softmax_backward",
    "softmax_rows",
    "softplus",
    "tanh",
]  # fmt: skip

# Curves that tensors have as methods


def relu(input: Tensor) -> Tensor:
    """max(x, 0)"""
    return input.relu()


def tanh(input: Tensor) -> Tensor:
    return input.tanh()


def sigmoid(input: Tensor) -> Tensor:
    return input.sigmoid()


# The error function


# erf(x) = tanh(x q(x²)): the coefficients of q, lowest first (a minimax fit; the first is
# 2 / sqrt(pi)), and the largest x² that they are made for: beyond it erf is 1 to the last bit.
_FLOAT32 = """
1.12837927 0.102769056 -1.91831253e-4 -6.19784296e-4 8.76371992e-5 -5.66845589e-6 1.41851157e-7"""


_FLOAT64 = """
1.1283791670955128e+00 1.0277260330192117e-01 -2.0919463981640261e-04 -5.9012306126089958e-04
6.4518369922657144e-05 3.4886588139399962e-06 -1.6770833722928102e-06 1.1088548209932662e-07
2.5811709451752879e-08 -5.7891120288310724e-09 2.0826426053608706e-10 3.4055548225014134e-11
2.5275163125668482e-11 -1.5333121069684922e-11 4.3235021074711437e-12 -8.3680611466419763e-13
1.2411272931087609e-13 -1.4794365299766490e-14 1.4520721879653468e-15 -1.1889182216752783e-16
8.1752936878846651e-18 -4.7334203474480024e-19 2.3065649843735539e-20 -9.4301249674186577e-22
3.2159996288990880e-23 -9.0684803125573720e-25 2.0878177316406947e-26 -3.8550784819006552e-28
5.5640515109850469e-30 -6.0394877899261968e-32 4.6312950128767652e-34 -2.2342687046213860e-36
5.0941913120471297e-39"""


ERF = {
    "float32": (12.25, [float(c) for c in _FLOAT32.split()]),
    "float64": (32.49, [float(c) for c in _FLOAT64.split()]),
}


class Erf(Function):
    """The error function."""

    def forward(self, x: Array) -> Array:
        self.saved = (x,)
        return pointwise(lambda x, out: self.xp.copyto(out, erf_array(x)), x)

    def backward(self, grad: Array) -> Array:
        (x,) = self.saved
        return grad * (2 / math.sqrt(math.pi)) * self.xp.exp(-x * x)


@in_float32
def erf(input: Tensor) -> Tensor:
    """The error function: the normal distribution's cdf is (1 + erf(x / sqrt(2))) / 2."""
    return apply(Erf(), input)


def erf_array(x: Array) -> Array:
    """The error function; the error is that of the last bits."""
    top, coefficients = ERF[x.dtype.name]
    return odd_tanh(x, coefficients, top)


def odd_tanh(x: Array, coefficients: Sequence[float], top: float = math.inf) -> Array:
    """tanh(x q(x²)), the polynomial q by Horner's rule; x² above `top` counts as `top`."""
    xp = array_module(x)
    square = x * x  # and q *= square: NumPy's power, as in x ** 3, is slow
    if top < math.inf:
        xp.minimum(square, top, out=square)
    q = square * coefficients[-1]
    for c in coefficients[-2:0:-1]:  # Horner: one multiplication and one addition for each
        q += c
        q *= square
    q += coefficients[0]
    q *= x
    return xp.tanh(q, out=q)  # tanh levels off by itself: nothing overflows


# Gates


class Gated(Function):
    """x times a gate, which opens from 0 to 1 as x grows. Saves gate + x * gate_derivative for backward."""

    def gate(self, x: Array) -> Array:
        """How far the gate is open at x."""
        raise NotImplementedError

    def gate_derivative(self, x: Array, gate: Array) -> Array:
        """How fast it opens there."""
        raise NotImplementedError

    def forward(self, x: Array) -> Array:
        out = self.xp.empty_like(x, order="C")
        derivative = self.xp.empty_like(out) if self.needs(0) else None

        def kernel(x: Array, out: Array, derivative: Array | None) -> None:
            gate = self.gate(x)
            self.xp.multiply(x, gate, out=out)
            if derivative is not None:
                self.xp.multiply(x, self.gate_derivative(x, gate), out=derivative)  # x g'(x) ...
                derivative += gate  # ... + g(x): the derivative of x g(x)

        elementwise(kernel, x, out, derivative)  # in pieces: whole, they would leave the cache
        self.saved = (derivative,)  # one array: backward is a single product
        return out

    def backward(self, grad: Array) -> Array:
        return pointwise(self.xp.multiply, grad, *self.saved)


# GELU


class GELU(Gated):
    """x times the probability that a normal number lies below x."""

    def gate(self, x: Array) -> Array:
        return 0.5 + 0.5 * erf_array(x * math.sqrt(0.5))  # the normal distribution's cdf, arXiv:1606.08415

    def gate_derivative(self, x: Array, gate: Array) -> Array:
        return self.xp.exp(-0.5 * x * x) * (1 / math.sqrt(2 * math.pi))  # its density, the cdf's derivative


class TanhGELU(Gated):
    """GELU by two coefficients: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x³))), as GPT-2 has it."""

    c0, c1 = math.sqrt(2 / math.pi), math.sqrt(2 / math.pi) * 0.044715

    def gate(self, x: Array) -> Array:
        gate = odd_tanh(x, (self.c0, self.c1))
        gate *= 0.5
        gate += 0.5
        return gate

    def gate_derivative(self, x: Array, gate: Array) -> Array:
        """(2 c0 + 6 c1 x²) gate (1 - gate), in one array: each further one would leave the cache."""
        slope = x * x
        slope *= 6 * self.c1
        slope += 2 * self.c0
        slope *= gate
        slope *= 1 - gate
        return slope


@in_float32
def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x times the normal distribution's cdf at x; "tanh" is a near formula."""
    if approximate not in ("none", "tanh"):
        raise RuntimeError(f"gelu: approximate is 'none' or 'tanh', not {approximate!r}")
    return apply(TanhGELU() if approximate == "tanh" else GELU(), input)


# SiLU


class SiLU(Gated):
    """x times the logistic curve, which is PyTorch's sigmoid."""

    def gate(self, x: Array) -> Array:
        return logistic(x)

    def gate_derivative(self, x: Array, gate: Array) -> Array:
        return gate * (1 - gate)  # the derivative of the logistic curve, by its value


@in_float32
def silu(input: Tensor) -> Tensor:
    """x * sigmoid(x); also known as swish."""
    return apply(SiLU(), input)


def logistic(x: Array) -> Array:
    """1 / (1 + exp(-x)): where exp overflows, 1 / inf is the 0 that it should be."""
    xp = array_module(x)
    out = xp.negative(x)
    with np.errstate(over="ignore"):  # exp(-x) may become inf, and 1 / inf is the 0 wanted
        xp.exp(out, out=out)
    out += 1
    return xp.reciprocal(out, out=out)


# Softplus


class Softplus(Function):
    """log(1 + exp(x)), and x itself above `threshold`."""

    def __init__(self, threshold: float = 20.0) -> None:
        self.threshold = threshold

    def forward(self, x: Array) -> Array:
        self.saved = (x,)

        def kernel(x: Array, out: Array) -> None:
            self.xp.abs(x, out=out)
            self.xp.negative(out, out=out)
            self.xp.exp(out, out=out)
            self.xp.log1p(out, out=out)
            out *= x <= self.threshold
            out += self.xp.maximum(x, 0)

        return pointwise(kernel, x)

    def backward(self, grad: Array) -> Array:
        def kernel(grad: Array, x: Array, out: Array) -> None:
            self.xp.multiply(grad, self.xp.where(x > self.threshold, 1, logistic(x)), out=out)

        return pointwise(kernel, grad, *self.saved)


@in_float32
def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta x)) / beta, a smooth relu; x itself where beta x > threshold."""
    if beta == 1:
        return apply(Softplus(threshold), input)
    return apply(Softplus(threshold), input * beta) / beta


# Softmax


class Softmax(Function):
    """Positive numbers that add up to 1 along the last axis."""

    def forward(self, x: Array) -> Array:
        y = rowwise(softmax_rows, x)
        self.saved = (y,)
        return y

    def backward(self, grad: Array) -> Array:
        return rowwise(softmax_backward, grad, *self.saved)


@in_float32
def softmax(input: Tensor, dim: int) -> Tensor:
    """exp(x) over their sum along `dim`: positive numbers that add up to 1. PyTorch guesses a `dim`."""
    return along(dim, Softmax(), input)


def softmax_rows(x: Array, out: Array) -> None:
    """exp(x) over their sum, for each row; nothing overflows, since the largest exponent is 0."""
    xp = array_module(x)
    xp.subtract(x, row_max(x), out=out)
    xp.exp(out, out=out)
    out *= 1 / row_sum(out)  # one division a row, then products: the obvious out /= sum divides C times


def softmax_backward(grad: Array, y: Array, out: Array) -> None:
    """The gradient of the scores, from `grad`, that of their softmax `y`. Rows (n, C); writes into `out`."""
    array_module(y).subtract(grad, row_dot(grad, y), out=out)  # (n, C) - (n, 1)
    out *= y


# Logarithms of softmax, and of sums of exponentials


class LogSoftmax(Function):
    """The logarithm of softmax along the last axis."""

    def forward(self, x: Array) -> Array:
        y = rowwise(log_softmax_rows, x)
        self.saved = (y,)
        return y

    def backward(self, grad: Array) -> Array:
        return rowwise(log_softmax_backward, grad, *self.saved)


@in_float32
def log_softmax(input: Tensor, dim: int) -> Tensor:
    """log(softmax(x)), without the overflow and the log of 0."""
    return along(dim, LogSoftmax(), input)


def log_softmax_rows(x: Array, out: Array) -> None:
    """x minus its log-sum-exp, for each row."""
    xp = array_module(x)
    xp.subtract(x, row_max(x), out=out)
    out -= xp.log(row_sum(xp.exp(out)))


def log_softmax_backward(grad: Array, y: Array, out: Array) -> None:
    """The gradient of the scores: grad - softmax * (the row's sum of grad), with softmax = exp(y)."""
    xp = array_module(y)
    xp.exp(y, out=out)  # softmax again, of its logarithm
    out *= row_sum(grad)
    xp.subtract(grad, out, out=out)


def logsumexp(input: Tensor, dim: int | tuple[int, ...], keepdim: bool = False) -> Tensor:
    """log(sum(exp(x))) along `dim`; the largest number is taken out first, so nothing overflows."""
    top = input.amax(dim, keepdim=True).detach()  # a shift changes nothing, so no gradient through it
    top = where(abs(top) < math.inf, top, 0.0)  # inf - inf would be nan
    with np.errstate(divide="ignore"):  # of nothing but -inf the sum is 0, whose logarithm is -inf
        out = (input - top).exp().sum(dim, keepdim=True).log() + top
    return out if keepdim else out.squeeze(dim)
