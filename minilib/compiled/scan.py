"""The selective scan: h = exp(delta A) h + delta B x and y = C h + D x, one token after the other.

The states of one channel are sixteen numbers that stay in registers while time goes by. Backward goes through
each piece of time twice: forwards to work out its states again, then backwards. arXiv:2312.00752.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minilib.compiled.loops import exp, loop, plain
from minilib.compiled.pairs import pair
from minilib.functional.scan import SelectiveScan
from minilib.parallel import parallel
from minilib.tensor import Array

ZERO = np.float32(0)
PIECE = 32  # tokens between two states that are kept for backward
CHANNELS = 64  # of a block, whose states lie side by side, (N, CHANNELS): the inner loop runs over them


@loop
def scan(
    start: int,
    stop: int,
    x: Array,
    delta: Array,
    A: Array,
    B: Array,
    C: Array,
    D: Array,
    kept: Array,
    y: Array,
) -> None:
    """`A` (N, E) and `kept` (batch, pieces + 1, N, E); a job is a sample and a block of channels."""
    _, length, width = x.shape
    n_state = len(A)
    blocks = -(-width // CHANNELS)
    h = np.empty((n_state, CHANNELS), np.float32)
    written, out = np.empty(CHANNELS, np.float32), np.empty(CHANNELS, np.float32)
    for job in range(start, stop):
        b, first = job // blocks, job % blocks * CHANNELS
        many = min(CHANNELS, width - first)
        for n in range(n_state):
            for e in range(many):
                h[n, e] = kept[b, 0, n, first + e]
        for t in range(length):
            for e in range(many):
                written[e] = delta[b, t, first + e] * x[b, t, first + e]
                out[e] = D[first + e] * x[b, t, first + e]
            for n in range(n_state):
                into, read = B[b, t, n], C[b, t, n]
                for e in range(many):
                    s = exp(delta[b, t, first + e] * A[n, first + e]) * h[n, e] + into * written[e]
                    h[n, e] = s
                    out[e] += read * s
            for e in range(many):
                y[b, t, first + e] = out[e]
            if (t + 1) % PIECE == 0 or t + 1 == length:
                for n in range(n_state):
                    for e in range(many):
                        kept[b, t // PIECE + 1, n, first + e] = h[n, e]


@loop
def scan_backward(
    start: int, stop: int, dy: Array, x: Array, delta: Array, A: Array, B: Array, C: Array, D: Array,
    kept: Array, dx: Array, ddelta: Array, dA: Array, dB: Array, dC: Array,
) -> None:  # fmt: skip
    """`dA` (batch, N, E), `dB` and `dC` (batch, blocks, T, N): each job adds into a part of its own."""
    _, length, width = x.shape
    n_state = len(A)
    blocks = -(-width // CHANNELS)
    states = np.empty((PIECE + 1, n_state, CHANNELS), np.float32)
    fades = np.empty((PIECE, n_state, CHANNELS), np.float32)
    later = np.empty((n_state, CHANNELS), np.float32)  # what later tokens tell the state
    of_written, of_delta = np.empty(CHANNELS, np.float32), np.empty(CHANNELS, np.float32)
    for job in range(start, stop):
        b, block = job // blocks, job % blocks
        first = block * CHANNELS
        many = min(CHANNELS, width - first)
        later[:] = ZERO
        for piece in range((length - 1) // PIECE, -1, -1):
            begin = piece * PIECE
            end = min(begin + PIECE, length)
            for n in range(n_state):  # the states of this piece once more
                for e in range(many):
                    states[0, n, e] = kept[b, piece, n, first + e]
            for t in range(begin, end):
                for n in range(n_state):
                    into = B[b, t, n]
                    for e in range(many):
                        d = delta[b, t, first + e]
                        a = exp(d * A[n, first + e])
                        fades[t - begin, n, e] = a
                        states[t - begin + 1, n, e] = (
                            a * states[t - begin, n, e] + into * d * x[b, t, first + e]
                        )
            for t in range(end - 1, begin - 1, -1):
                for e in range(many):
                    of_written[e], of_delta[e] = ZERO, ZERO
                for n in range(n_state):
                    into, read = B[b, t, n], C[b, t, n]
                    to_B, to_C = ZERO, ZERO
                    for e in range(many):
                        grad = dy[b, t, first + e]
                        g = later[n, e] + read * grad  # by its own y, and by all later ones
                        to_C += states[t - begin + 1, n, e] * grad
                        to_B += g * delta[b, t, first + e] * x[b, t, first + e]
                        of_written[e] += g * into
                        back = g * fades[t - begin, n, e]
                        later[n, e] = back
                        of_exponent = back * states[t - begin, n, e]
                        of_delta[e] += of_exponent * A[n, first + e]
                        dA[b, n, first + e] += of_exponent * delta[b, t, first + e]
                    dB[b, block, t, n], dC[b, block, t, n] = to_B, to_C
                for e in range(many):
                    dx[b, t, first + e] = (
                        of_written[e] * delta[b, t, first + e] + D[first + e] * dy[b, t, first + e]
                    )
                    ddelta[b, t, first + e] = of_written[e] * x[b, t, first + e] + of_delta[e]


@pair(SelectiveScan)
class ScanLoops:
    def forward(self, f: Any, x: Array, delta: Array, A: Array, B: Array, C: Array, *D: Array) -> Array:
        state = [] if f.state is None else [f.state]
        if f.size is None or not plain(x, A, *D, *state):  # a method asked for by name stays NumPy's
            return NotImplemented
        if any(a.dtype != np.float32 for a in (delta, B, C)):
            return NotImplemented
        delta, B, C = map(np.ascontiguousarray, (delta, B, C))  # slices of one projection, often
        rates = np.ascontiguousarray(A.T)
        passed = D[0] if D else np.zeros(x.shape[2], np.float32)
        y = np.empty_like(x)
        kept = np.zeros((len(x), -(-x.shape[1] // PIECE) + 1, *rates.shape), np.float32)
        if f.state is not None:
            kept[:, 0] = f.state.swapaxes(1, 2)
        args = x, delta, rates, B, C, passed, kept, y
        jobs = len(x) * -(-x.shape[2] // CHANNELS)
        parallel(lambda start, stop: scan(start, stop, *args), jobs)
        if f.state is not None:
            f.state[...] = kept[:, -1].swapaxes(1, 2)
        f.saved = x, delta, rates, B, C, passed, kept
        return y

    def backward(self, f: Any, grad: Array) -> Any:
        x, delta, rates, B, C, passed, kept = f.saved
        grad = np.ascontiguousarray(grad)
        blocks = -(-x.shape[2] // CHANNELS)
        dx, ddelta = np.empty_like(x), np.empty_like(x)
        dA = np.zeros((len(x), *rates.shape), np.float32)
        dB, dC = (np.empty((len(x), blocks, *B.shape[1:]), np.float32) for _ in range(2))
        args = grad, x, delta, rates, B, C, passed, kept, dx, ddelta, dA, dB, dC
        parallel(lambda start, stop: scan_backward(start, stop, *args), len(x) * blocks)
        grads = dx, ddelta, dA.sum(0).T, dB.sum(1), dC.sum(1)
        return grads if len(f.inputs) == 5 else (*grads, np.einsum("bte,bte->e", grad, x))
