"""Curves: each number by itself, and its derivative worked out while it is at hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minilib.compiled.loops import compiled, exp, loop
from minilib.compiled.pairs import Unary, flat, register
from minilib.functional.activations import ERF, GELU, SiLU, Softplus, TanhGELU
from minilib.operations import Clip, Exp, ReLU, Sigmoid, Tanh
from minilib.tensor import Array

ZERO, ONE, TWO = np.float32(0), np.float32(1), np.float32(2)
C0, C1 = np.float32(TanhGELU.c0), np.float32(TanhGELU.c1)
ROOT_HALF, DENSITY = np.float32(math.sqrt(0.5)), np.float32(1 / math.sqrt(2 * math.pi))
HALF, TOP = np.float32(0.5), np.float32(ERF["float32"][0])
E0, E1, E2, E3, E4, E5, E6 = (np.float32(c) for c in ERF["float32"][1])
# log(1 + t) = 2 (s + s^3 / 3 + s^5 / 5 + ...) with s = t / (2 + t), which is at most 1/3
L3, L5, L7, L9, L11, L13, L15 = (np.float32(1 / n) for n in range(3, 16, 2))

# tanh x = x + x^3 (T3 + T5 x^2 + ...) for x^2 < NEAR: a minimax fit, off by 5e-9 of it
NEAR = np.float32(0.4)
T3, T5, T7, T9, T11 = (np.float32(c) for c in (-0.33333276, 0.13331274, -0.05372513, 0.02058982, -0.00564831))


def _logistic(x: Any) -> Any:
    return ONE / (ONE + exp(-x))  # where exp is infinite, 1 / infinity is the 0 that it should be


def _log1p(t: Any) -> Any:
    s = t / (TWO + t)
    q = s * s
    return TWO * s * ((((((((L15 * q + L13) * q + L11) * q + L9) * q + L7) * q + L5) * q + L3) * q) + ONE)


logistic = compiled(_logistic, {"contract"})
log1p = compiled(_log1p, {"contract"})


# Gates: x times how far the gate is open, and gate + x * its slope for the way back


@loop
def gelu(x: Array, out: Array, derivative: Array) -> None:
    for i in range(len(x)):
        v = x[i]
        u = v * ROOT_HALF
        q = min(u * u, TOP)
        p = (((((E6 * q + E5) * q + E4) * q + E3) * q + E2) * q + E1) * q + E0
        gate = logistic(TWO * u * p)  # 1/2 + tanh(u p) / 2: the normal distribution's cdf
        out[i] = v * gate
        derivative[i] = gate + v * DENSITY * exp(-HALF * v * v)


@loop
def tanh_gelu(x: Array, out: Array, derivative: Array) -> None:
    for i in range(len(x)):
        v = x[i]
        gate = logistic(TWO * v * (C0 + C1 * v * v))  # 1/2 + tanh(...) / 2
        out[i] = v * gate
        slope = TWO * (C0 + np.float32(3) * C1 * v * v) * gate * (ONE - gate)
        derivative[i] = gate + v * slope


@loop
def silu(x: Array, out: Array, derivative: Array) -> None:
    for i in range(len(x)):
        gate = logistic(x[i])
        out[i] = x[i] * gate
        derivative[i] = gate + x[i] * gate * (ONE - gate)


@loop
def times(grad: Array, derivative: Array, dx: Array) -> None:
    for i in range(len(grad)):
        dx[i] = grad[i] * derivative[i]


register(Unary(gelu, times, flat, keeps="derivative"), GELU)
register(Unary(tanh_gelu, times, flat, keeps="derivative"), TanhGELU)
register(Unary(silu, times, flat, keeps="derivative"), SiLU)


# Curves with one exponential


@loop
def exponential(x: Array, y: Array) -> None:
    for i in range(len(x)):
        y[i] = exp(x[i])


@loop
def sigmoid(x: Array, y: Array) -> None:
    for i in range(len(x)):
        y[i] = logistic(x[i])


@loop
def sigmoid_backward(grad: Array, y: Array, dx: Array) -> None:
    for i in range(len(grad)):
        dx[i] = grad[i] * (y[i] * (ONE - y[i]))


@loop
def tanh(x: Array, y: Array) -> None:
    for i in range(len(x)):
        v = x[i]
        q = v * v
        near = v + v * q * ((((T11 * q + T9) * q + T7) * q + T5) * q + T3)  # a difference would lose digits
        far = ONE - TWO / (exp(np.abs(TWO * v)) + ONE)
        y[i] = near if q < NEAR else (far if v > ZERO else -far)


@loop
def tanh_backward(grad: Array, y: Array, dx: Array) -> None:
    for i in range(len(grad)):
        dx[i] = grad[i] * (ONE - y[i] * y[i])


register(Unary(exponential, times, flat), Exp)
register(Unary(sigmoid, sigmoid_backward, flat), Sigmoid)
register(Unary(tanh, tanh_backward, flat), Tanh)


# Softplus


@loop
def softplus(x: Array, y: Array, threshold: float) -> None:
    for i in range(len(x)):
        above = x[i] if x[i] > ZERO else ZERO
        curve = log1p(exp(-np.abs(x[i])))
        y[i] = above + (ZERO if x[i] > threshold else curve)


@loop
def softplus_backward(grad: Array, x: Array, dx: Array, threshold: float) -> None:
    for i in range(len(grad)):
        dx[i] = grad[i] * (ONE if x[i] > threshold else logistic(x[i]))


register(Unary(softplus, softplus_backward, flat, keeps="x", numbers=lambda f: (f.threshold,)), Softplus)


# Bounds


@loop
def relu(x: Array, y: Array) -> None:
    for i in range(len(x)):
        y[i] = ZERO if x[i] <= ZERO else x[i]  # not x > 0: a NaN should not vanish


@loop
def relu_backward(grad: Array, y: Array, dx: Array) -> None:
    for i in range(len(grad)):
        dx[i] = grad[i] * (ZERO if y[i] <= ZERO else ONE)


@loop
def clip(x: Array, y: Array, low: float, high: float) -> None:
    for i in range(len(x)):
        above = low if x[i] < low else x[i]
        y[i] = high if above > high else above


@loop
def clip_backward(grad: Array, x: Array, dx: Array, low: float, high: float) -> None:
    for i in range(len(grad)):
        dx[i] = grad[i] * (ONE if low <= x[i] <= high else ZERO)


register(Unary(relu, relu_backward, flat), ReLU)


def _bounds(f: Clip) -> tuple[float, float]:
    return -math.inf if f.low is None else f.low, math.inf if f.high is None else f.high


register(Unary(clip, clip_backward, flat, keeps="x", numbers=_bounds), Clip)
