"""A state that takes in one number after another, for each channel apart, and forgets: h = a h + b x.

Taught in chapters/07a_state_spaces.ipynb and solutions/07a_state_spaces.ipynb: what they export is edited
there, then `make promote`.

x   (B, T, E)   what comes in              A   (E, N)      how fast each number of the state fades, below 0
Δ   (B, T, E)   how long each step lasts   B   (B, T, N)   how x is written into the state
h   (E, N)      the state of one sample    C   (B, T, N)   how y is read from it
y   (B, T, E)   what goes out              D   (E,)        how much of x passes by the state
"""

from __future__ import annotations

from typing import Any

from minilib.parallel import chunked
from minilib.tensor import Array, Function, Tensor, apply, array_module

# A linear state space


def discretize(delta: Any, A: Array, B: Array, euler: bool = False) -> tuple[Array, Array]:
    """h' = A h + B x in steps of length delta: h[t] = a h[t-1] + b x[t], where x stays as it is for a step.

    delta (...) or a number; A, what stands on the diagonal, and B (..., N), real or complex. Returns a and b,
    (..., N) and of A's dtype: exp(delta A) and (exp(delta A) - 1) / A B, the zero-order hold. With `euler`
    b is delta B, as in Mamba. arXiv:2312.00752, eq. 4.
    """
    xp = array_module(A)
    delta = xp.asarray(delta, dtype=A.real.dtype)[..., None]
    z = delta * A
    if euler:
        return xp.exp(z), delta * B
    still = z == 0  # (exp(z) - 1) / z is 1 there
    mean = xp.where(still, 1, xp.expm1(z) / xp.where(still, 1, z))
    return xp.exp(z), delta * mean * B


def ssm_recurrence(x: Array, a: Array, b: Array, C: Array, state: Array | None = None) -> Array:
    """y[t] = C h[t] with h[t] = a h[t-1] + b x[t], one step after the other: x (T, E) gives y (T, E).

    a, b and C are (E, N). `state` (E, N) is what came before, and becomes the last state.
    """
    h = array_module(x).zeros_like(a) if state is None else state
    y = array_module(x).empty_like(x)
    for t in range(len(x)):
        h *= a
        h += b * x[t][:, None]
        y[t] = (C * h).sum(-1).real
    return y


def ssm_kernel(a: Array, b: Array, C: Array, length: int) -> Array:
    """What y answers to a single 1: C a^k b for k = 0 ... length - 1. a, b, C (E, N) give (length, E)."""
    xp = array_module(a)
    steps = xp.arange(length, dtype=a.real.dtype)[:, None, None]
    return (a**steps * (b * C)).sum(-1).real


def fft_convolve(x: Array, kernel: Array) -> Array:
    """y[t] = sum of kernel[k] x[t-k] over k = 0 ... t: x (..., T, E) and kernel (..., L, E) give (..., T, E).

    By FFT, in T log T operations. Zeros behind both keep the end from coming round to the beginning.
    """
    fft, time = array_module(x).fft, x.shape[-2]
    n = 1 << (time + kernel.shape[-2] - 2).bit_length()  # a power of two, at least T + L - 1
    product = fft.rfft(x, n, axis=-2) * fft.rfft(kernel, n, axis=-2)
    return fft.irfft(product, n, axis=-2)[..., :time, :].astype(x.dtype)


def fft_convolve_backward(grad: Array, x: Array, kernel: Array) -> tuple[Array, Array]:
    """Gradients of x (..., T, E) and of kernel (L, E) from that of y (..., T, E): correlations."""
    fft, time, length = array_module(x).fft, x.shape[-2], kernel.shape[-2]
    n = 1 << (time + length - 2).bit_length()
    g, fx, fk = (fft.rfft(array, n, axis=-2) for array in (grad, x, kernel))
    dx = fft.irfft(g * fk.conj(), n, axis=-2)[..., :time, :]
    both = (g * fx.conj()).reshape(-1, *g.shape[-2:]).sum(0)  # of all samples
    return dx.astype(x.dtype), fft.irfft(both, n, axis=-2)[:length].astype(kernel.dtype)


class LongConvolution(Function):
    """y[t] = sum of kernel[k] x[t-k] over all k up to t."""

    def forward(self, x: Array, kernel: Array) -> Array:
        self.saved = x, kernel
        return fft_convolve(x, kernel)

    def backward(self, grad: Array) -> Any:
        return fft_convolve_backward(grad, *self.saved)


def long_convolution(x: Tensor, kernel: Tensor) -> Tensor:
    """x (..., T, E) with a kernel (L, E), one for each channel, as long as x itself if need be: (..., T, E).

    Raises ValueError where x and the kernel differ in E.
    """
    if x.ndim < 2 or kernel.ndim != 2 or x.shape[-1] != kernel.shape[1]:
        raise ValueError(
            f"long_convolution: x is (..., T, E) and the kernel (L, E), with the same E; "
            f"got {tuple(x.shape)} and {tuple(kernel.shape)}"
        )
    return apply(LongConvolution(), x, kernel)


# The scan


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


def _states(x: Array, delta: Array, A: Array, B: Array, before: Array | None = None) -> tuple[Array, Array]:
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
