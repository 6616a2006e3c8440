"""A state that takes in one number after another, for each channel apart, and forgets: h = a h + b x.

    x   (B, T, E)   what comes in              A   (E, N)      how fast each number of the state fades, below 0
    Δ   (B, T, E)   how long each step lasts   B   (B, T, N)   how x is written into the state
    h   (E, N)      the state of one sample    C   (B, T, N)   how y is read from it
    y   (B, T, E)   what goes out              D   (E,)        how much of x passes by the state
"""

from __future__ import annotations

from typing import Any

from minilib.parallel import chunked
from minilib.tensor import Array, Function, Tensor, apply, array_module


def scan_loop(a: Array, b: Array) -> Array:
    """h[t] = a[t] h[t-1] + b[t] with h[-1] = 0, one step after the other: (T, ...); b becomes h."""
    xp = array_module(a)
    kept = xp.empty_like(b[0]) if len(b) else b
    for t in range(1, len(b)):
        xp.multiply(a[t], b[t - 1], out=kept)
        b[t] += kept
    return b


class SelectiveScan(Function):
    """y[t] = C[t] h[t] + D x[t] with h[t] = exp(Δ[t] A) h[t-1] + Δ[t] B[t] x[t]. arXiv:2312.00752, eq. 2 to 4.

    The states (T, E, N) of a sample are worked out anew in backward: kept, they would be N times as many
    numbers as x.
    """

    def __init__(self, state: Array | None = None) -> None:
        self.state = state

    def forward(self, x: Array, delta: Array, A: Array, B: Array, C: Array, D: Array) -> Array:
        self.saved = x, delta, A, B, C, D
        y = self.xp.empty_like(x, order="C")

        def kernel(y: Array, x: Array, delta: Array, B: Array, C: Array, state: Array | None) -> None:
            for i in range(len(x)):
                before = None if state is None else state[i]
                h = _states(x[i], delta[i], A, B[i], before)[1]
                self.xp.matmul(h, C[i][:, :, None], out=y[i][:, :, None])
                y[i] += D * x[i]
                if state is not None and len(h):
                    state[i] = h[-1]

        chunked(kernel, y, x, delta, B, C, self.state, rows=1)
        return y

    def backward(self, grad: Array) -> Any:
        x, delta, A, B, C, D = self.saved
        xp = self.xp
        dx, ddelta, dB, dC = (xp.empty_like(array, order="C") for array in (x, delta, B, C))

        def kernel(*arrays: Array) -> Array:
            dA = xp.zeros_like(A)
            for dy, x, delta, B, C, dx, ddelta, dB, dC in zip(*arrays, strict=True):
                a, h = _states(x, delta, A, B)
                xp.matmul(dy[:, None, :], h, out=dC[:, None, :])
                g = dy[:, :, None] * C[:, None, :]  # of h, here alone: (T, E, N)
                for t in range(len(g) - 2, -1, -1):
                    g[t] += a[t + 1] * g[t + 1]
                dbx = xp.matmul(g, B[:, :, None])[:, :, 0]  # of delta x: (T, E)
                xp.matmul((delta * x)[:, None, :], g, out=dB[:, None, :])
                xp.multiply(dbx, delta, out=dx)
                xp.multiply(dbx, x, out=ddelta)
                dx += D * dy
                g[0] = 0
                g[1:] *= a[1:]
                g[1:] *= h[:-1]  # of delta A: (T, E, N)
                ddelta += xp.einsum("ten,en->te", g, A)
                dA += xp.einsum("ten,te->en", g, delta)
            return dA

        dA = chunked(kernel, grad, x, delta, B, C, dx, ddelta, dB, dC, rows=1)
        dD = xp.einsum("bte,bte->e", grad, x)
        return dx, ddelta, dA, dB, dC, dD


def _states(
    x: Array, delta: Array, A: Array, B: Array, before: Array | None = None
) -> tuple[Array, Array]:
    """exp(Δ A) and the states (T, E, N) of one sample."""
    xp = array_module(x)
    a = delta[:, :, None] * A
    xp.exp(a, out=a)
    b = (delta * x)[:, :, None] * B[:, None, :]
    if before is not None and len(b):
        b[0] += a[0] * before
    return a, scan_loop(a, b)


def selective_scan(
    x: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor, state: Array | None = None
) -> Tensor:
    """x (B, T, E) with delta (B, T, E), A (E, N), B and C (B, T, N), D (E,) give y (B, T, E).

    `state` (B, E, N) is what came before, and becomes the last state: only where no gradient is asked for.
    """
    return apply(SelectiveScan(state), x, delta, A, B, C, D)
