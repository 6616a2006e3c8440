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
    start: int, stop: int, x: Array, delta: Array, A: Array, B: Array, C: Array, D: Array,
    kept: Array, y: Array,
) -> None:  # fmt: skip
    """`A` (N, E) and `kept` (batch, pieces + 1, N, E); a job is a sample and a block of channels.

    What a job works on is copied into arrays of the block's own width: there the compiler does eight channels
    at once, in slices of larger arrays one.
    """
    _, length, width = x.shape
    n_state = len(A)
    blocks = -(-width // CHANNELS)
    h, rates = np.empty((2, n_state, CHANNELS), np.float32)
    d, written, out = np.empty((3, CHANNELS), np.float32)
    for job in range(start, stop):
        b, first = job // blocks, job % blocks * CHANNELS
        many = min(CHANNELS, width - first)
        for n in range(n_state):
            for e in range(many):
                h[n, e], rates[n, e] = kept[b, 0, n, first + e], A[n, first + e]
        for t in range(length):
            for e in range(many):
                d[e] = delta[b, t, first + e]
                written[e] = d[e] * x[b, t, first + e]
                out[e] = D[first + e] * x[b, t, first + e]
            for n in range(n_state):
                into, read = B[b, t, n], C[b, t, n]
                for e in range(many):
                    s = exp(d[e] * rates[n, e]) * h[n, e] + into * written[e]
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
    """`dA` (batch, N, E), `dB` and `dC` (batch, blocks, T, N): each job has a part of its own."""
    _, length, width = x.shape
    n_state = len(A)
    blocks = -(-width // CHANNELS)
    states = np.empty((PIECE + 1, n_state, CHANNELS), np.float32)
    fades = np.empty((PIECE, n_state, CHANNELS), np.float32)
    later, rates, of_rates = np.empty((3, n_state, CHANNELS), np.float32)  # later: what later tokens tell h
    d, written, grad, g, of_written, of_exponent, of_d = np.empty((7, CHANNELS), np.float32)
    for job in range(start, stop):
        b, block = job // blocks, job % blocks
        first = block * CHANNELS
        many = min(CHANNELS, width - first)
        later[:], of_rates[:] = ZERO, ZERO
        for n in range(n_state):
            for e in range(many):
                rates[n, e] = A[n, first + e]
        for piece in range((length - 1) // PIECE, -1, -1):
            begin = piece * PIECE
            many_tokens = min(PIECE, length - begin)
            for n in range(n_state):  # the states of this piece once more
                for e in range(many):
                    states[0, n, e] = kept[b, piece, n, first + e]
            for k in range(many_tokens):
                for e in range(many):
                    d[e] = delta[b, begin + k, first + e]
                    written[e] = d[e] * x[b, begin + k, first + e]
                for n in range(n_state):
                    into = B[b, begin + k, n]
                    for e in range(many):
                        a = exp(d[e] * rates[n, e])
                        fades[k, n, e] = a
                        states[k + 1, n, e] = a * states[k, n, e] + into * written[e]
            for k in range(many_tokens - 1, -1, -1):
                t = begin + k
                for e in range(many):
                    d[e], grad[e] = delta[b, t, first + e], dy[b, t, first + e]
                    written[e] = d[e] * x[b, t, first + e]
                    of_written[e], of_d[e] = ZERO, ZERO
                for n in range(n_state):
                    into, read = B[b, t, n], C[b, t, n]
                    to_B, to_C = ZERO, ZERO
                    # Short loops: where many arrays are read and written, the compiler would have to rule out
                    # for too many pairs of them that they overlap, and does one number at a time.
                    for e in range(many):
                        g[e] = later[n, e] + read * grad[e]  # by its own y, and by all later ones
                        to_C += states[k + 1, n, e] * grad[e]
                        to_B += g[e] * written[e]
                    for e in range(many):
                        of_written[e] += g[e] * into
                        later[n, e] = g[e] * fades[k, n, e]
                    for e in range(many):
                        of_exponent[e] = later[n, e] * states[k, n, e]
                        of_d[e] += of_exponent[e] * rates[n, e]
                    for e in range(many):
                        of_rates[n, e] += of_exponent[e] * d[e]
                    dB[b, block, t, n], dC[b, block, t, n] = to_B, to_C
                for e in range(many):
                    dx[b, t, first + e] = of_written[e] * d[e] + D[first + e] * grad[e]
                    ddelta[b, t, first + e] = of_written[e] * x[b, t, first + e] + of_d[e]
        for n in range(n_state):
            for e in range(many):
                dA[b, n, first + e] = of_rates[n, e]


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
        dA = np.empty((len(x), *rates.shape), np.float32)
        dB, dC = (np.empty((len(x), blocks, *B.shape[1:]), np.float32) for _ in range(2))
        args = grad, x, delta, rates, B, C, passed, kept, dx, ddelta, dA, dB, dC
        parallel(lambda start, stop: scan_backward(start, stop, *args), len(x) * blocks)
        grads = dx, ddelta, dA.sum(0).T, dB.sum(1), dC.sum(1)
        return grads if len(f.inputs) == 5 else (*grads, np.einsum("bte,bte->e", grad, x))
