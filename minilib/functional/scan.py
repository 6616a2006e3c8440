"""A state that takes in one number after another, for each channel apart, and forgets: h = a h + b x.

Taught in chapters/07a_state_spaces.ipynb, solutions/07a_state_spaces.ipynb, chapters/07b_scan.ipynb and
solutions/07b_scan.ipynb: what they export is edited there, then `make promote`.

x   (B, T, E)   what comes in              A   (E, N)      how fast each number of the state fades, below 0
Δ   (B, T, E)   how long each step lasts   B   (B, T, N)   how x is written into the state
h   (E, N)      the state of one sample    C   (B, T, N)   how y is read from it
y   (B, T, E)   what goes out              D   (E,)        how much of x passes by the state
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from minilib.parallel import parallel
from minilib.tensor import Array, Function, Shape, Tensor, apply, array_module, mode

# A linear state space


def discretize(delta: Any, A: Array, B: Array, euler: bool = False) -> tuple[Array, Array]:
    """h' = A h + B x in steps of length delta: h[t] = a h[t-1] + b x[t], where x stays as it is for a step.

    delta (...) or a number; A, what stands on the diagonal, and B (..., N), real or complex as A is. Returns
    a and b, (..., N) and of A's dtype: exp(delta A) and (exp(delta A) - 1) / A B, the zero-order hold. With
    `euler` b is delta B, as in Mamba. arXiv:2312.00752, eq. 4.
    """
    xp = array_module(A)
    delta = xp.asarray(delta, dtype=A.real.dtype)[..., None]
    z = delta * A  # (..., N)
    if euler:
        return xp.exp(z), delta * B
    still = z == 0  # (exp(z) - 1) / z is 1 there
    mean = xp.where(still, 1, xp.expm1(z) / xp.where(still, 1, z))  # expm1: exp(z) - 1 loses digits near 0
    return xp.exp(z), delta * mean * B


def ssm_recurrence(x: Array, a: Array, b: Array, C: Array, state: Array | None = None) -> Array:
    """y[t] = C h[t] with h[t] = a h[t-1] + b x[t], one step after the other: x (T, E) gives y (T, E).

    a, b and C are (E, N). `state` (E, N) is what came before, and becomes the last state.
    """
    h = array_module(x).zeros_like(a) if state is None else state
    y = array_module(x).empty_like(x)
    for t in range(len(x)):
        h *= a  # in place: `state` is the caller's array
        h += b * x[t][:, None]
        y[t] = (C * h).sum(-1).real  # complex states come in conjugate pairs; half of them stands for both
    return y


def ssm_kernel(a: Array, b: Array, C: Array, length: int) -> Array:
    """What y answers to a single 1: C a^k b for k = 0 ... length - 1. a, b, C (E, N) give (length, E)."""
    xp = array_module(a)
    steps = xp.arange(length, dtype=a.real.dtype)[:, None, None]
    return (a**steps * (b * C)).sum(-1).real  # (L, E, N) summed to (L, E)


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


# A scan: h[t] = a[t] h[t-1] + b[t]

Scan: TypeAlias = Callable[[Array, Array, Array], Array]


def scan_loop(a: Array, b: Array, before: Array | float = 0.0) -> Array:
    """h[t] = a[t] h[t-1] + b[t] along axis 0, one step after the other; h takes the place of b (T, ...).

    `before` is h[-1], the state that came before.
    """
    if b.ndim == 1:  # zip would make numbers of it, not views
        return scan_loop(a[:, None], b[:, None], before)[:, 0]
    xp = array_module(b)
    multiply, add, kept = xp.multiply, xp.add, xp.empty(b.shape[1:], b.dtype)
    for now, h in zip(a, b):  # views that zip makes cost half of a[t] and b[t]
        multiply(now, before, kept)
        add(h, kept, h)
        before = h
    return b


def scan_associative(a: Array, b: Array, before: Array | float = 0.0) -> Array:
    """What `scan_loop` gives, in 2 log2(T) steps: a step is a pair (a, b), and two in a row are again one."""
    if len(b):
        b[0] += a[0] * before  # the state before is part of the first step
        tree(a.copy(), b)
    return b


def tree(a: Array, b: Array) -> None:
    """Scan the pairs (a, b) in place, b for good: up in pairs, then down to those in between."""
    if len(b) < 2:
        return
    left, right = slice(0, len(b) // 2 * 2, 2), slice(1, None, 2)
    b[right] += a[right] * b[left]  # two steps in a row: a = a2 a1, b = a2 b1 + b2
    a[right] *= a[left]
    tree(a[right], b[right])  # half as many, in place through the views
    b[2::2] += a[2::2] * b[1:-1:2]  # those in between: one step behind what is right already


# Samples side by side, both ways, in chunks of tokens: what `sample_forward` and `sample_backward` of
# minilib/reference.py do for one of them, with an axis S of samples after time: x, delta and y (T, S, E),
# B and C (T, S, N). A and the states come turned, (N, E) and (S, N, E): see `SelectiveScan.pieces`.


def batch_states(
    x: Array, delta: Array, A: Array, B: Array, before: Array, scan: Scan, room: Array
) -> tuple[Array, Array]:
    """exp(Δ A), with a 1 for the step after the last, (T + 1, S, N, E), and the states (T, S, N, E).

    They are written into `room` (2 or 3, T + 1 or more, S, N, E).
    """
    xp = array_module(x)
    a, b = room[0, : len(x) + 1], room[1, : len(x)]
    xp.multiply(delta[..., None, :], A, out=a[:-1])
    xp.exp(a[:-1], out=a[:-1])
    a[-1] = 1
    xp.multiply((delta * x)[..., None, :], B[..., None], out=b)
    return a, scan(a[:-1], b, before)


def batch_forward(
    x: Array, delta: Array, A: Array, B: Array, C: Array, carried: Array, size: int, scan: Scan, room: Array
) -> Array:
    """y (T, S, E). Chunk i begins with the state carried[i], and puts its last into carried[i + 1]."""
    y = array_module(x).empty_like(x, order="C")
    for i in range(len(carried) - 1):
        now = slice(i * size, (i + 1) * size)
        _, h = batch_states(x[now], delta[now], A, B[now], carried[i], scan, room)
        y[now] = (C[now][..., None, :] @ h)[..., 0, :]  # (1, N) @ (N, E) at each token: eq. 2b
        carried[i + 1] = h[-1]  # all that backward needs to work out the next chunk again
    return y


def batch_backward(
    dy: Array, x: Array, delta: Array, A: Array, B: Array, C: Array, carried: Array, size: int,
    scan: Scan, room: Array,
) -> tuple[Array, ...]:  # fmt: skip
    """Gradients of x, delta, A, B and C from that of y; `carried` is what `batch_forward` left."""
    xp = array_module(x)
    dx, ddelta, dB, dC = (xp.empty_like(array, order="C") for array in (x, delta, B, C))
    dA, later = xp.zeros_like(A), xp.zeros_like(carried[0])
    for i in reversed(range(len(carried) - 1)):
        now = slice(i * size, (i + 1) * size)
        a, h = batch_states(x[now], delta[now], A, B[now], carried[i], scan, room)  # once more
        dC[now] = (h @ dy[now][..., None])[..., 0]  # (N, E) @ (E, 1) at each token
        g = xp.multiply(dy[now][..., None, :], C[now][..., None], out=room[2, : len(h)])  # by its own y
        g = scan(a[:0:-1], g[::-1], later)[::-1]  # and by all later ones: g[t] += a[t+1] g[t+1]
        dB[now] = (g @ (delta[now] * x[now])[..., None])[..., 0]
        dbx = (B[now][..., None, :] @ g)[..., 0, :]  # of delta x: (T, S, E)
        g *= a[:-1]
        later = g[0].copy()  # what the next chunk to the left hears; g is written to below
        g[0] *= carried[i]  # d(a h)/da = the state before: of the first token the one carried here
        g[1:] *= h[:-1]  # now of delta A: (T, S, N, E)
        dx[now] = dbx * delta[now]
        ddelta[now] = dbx * x[now] + xp.einsum("...ne,ne->...e", g, A)
        dA += xp.einsum("tne,te->ne", g.reshape(-1, *A.shape), delta[now].reshape(-1, A.shape[1]))
    return dx, ddelta, dA, dB, dC


# The selective scan

METHODS: dict[str, tuple[Scan, int | None]] = {
    "loop": (scan_loop, None),
    "chunked": (scan_loop, 32),
    "associative": (scan_associative, None),
}  # how states are worked out, and of how many tokens at once
BLOCK = 524_288  # numbers in a piece's states: enough work for each call of NumPy, and they stay in the cache


class SelectiveScan(Function):
    """y[t] = C[t] h[t] + D x[t] with h[t] = exp(Δ[t] A) h[t-1] + Δ[t] B[t] x[t]. arXiv:2312.00752, eq. 2a.

    Samples and blocks of channels go through one after the other, in chunks of tokens. Of the states only
    those between chunks are kept, (B, chunks + 1, N, E): backward works out the others anew.
    """

    def __init__(self, method: str = "chunked", state: Array | None = None) -> None:
        self.scan, self.size = METHODS[method]
        self.state = state

    def forward(self, x: Array, delta: Array, A: Array, B: Array, C: Array, *D: Array) -> Array:
        xp, size = self.xp, self.size or max(x.shape[1], 1)
        y = xp.empty_like(x, order="C")
        carried = xp.zeros((len(x), -(-x.shape[1] // size) + 1, *A.T.shape), x.dtype)
        if self.state is not None:
            carried[:, 0] = self.state.swapaxes(1, 2)

        def work(start: int, stop: int) -> None:
            for i, e, rates, room in self.pieces(A, x.shape[1], start, stop):
                xs, ds = along_time(x[i, :, e], delta[i, :, e])
                bs, cs, between = along_time(B[i], C[i], carried[i, :, :, e])
                ys = batch_forward(xs, ds, rates, bs, cs, between, size, self.scan, room)
                if D:
                    ys += D[0][e] * xs
                (y[i, :, e],) = along_time(ys)

        self.in_parallel(work, len(x))
        if self.state is not None:
            self.state[...] = carried[:, -1].swapaxes(1, 2)
        self.saved = x, delta, A, B, C, *D, carried
        return y

    def backward(self, grad: Array) -> Any:
        x, delta, A, B, C, *D, carried = self.saved
        xp, size = self.xp, self.size or max(x.shape[1], 1)
        dx, ddelta = xp.empty_like(x, order="C"), xp.empty_like(x, order="C")
        dB, dC = xp.zeros_like(B, order="C"), xp.zeros_like(C, order="C")

        def work(start: int, stop: int) -> Array:
            dA = xp.zeros_like(A)
            for i, e, rates, room in self.pieces(A, x.shape[1], start, stop):
                dy, xs, ds = along_time(grad[i, :, e], x[i, :, e], delta[i, :, e])
                bs, cs, between = along_time(B[i], C[i], carried[i, :, :, e])
                grads = batch_backward(dy, xs, ds, rates, bs, cs, between, size, self.scan, room)
                if D:
                    grads[0][...] += D[0][e] * dy
                dA[e] += grads[2].T
                dx[i, :, e], ddelta[i, :, e], of_B, of_C = along_time(*grads[:2], *grads[3:])
                dB[i] += of_B
                dC[i] += of_C
            return dA

        dA = sum(self.in_parallel(work, len(x)))
        if not D:
            return dx, ddelta, dA, dB, dC
        return dx, ddelta, dA, dB, dC, xp.einsum("bte,bte->e", grad, x)

    def in_parallel(self, work: Callable[[int, int], Any], batch: int) -> list[Any]:
        """work(start, stop) on a part of the samples for each thread; on a GPU on all."""
        return parallel(work, batch) if self.xp is np else [work(0, batch)]

    def pieces(
        self, A: Array, length: int, start: int, stop: int
    ) -> Iterator[tuple[slice, slice, Array, Array]]:
        """Some samples, some of their channels, A of these as (N, channels), and room for three arrays.

        The room is the same for all: new memory would cost more than what is worked out in it.
        """
        width, n = A.shape
        many = max(BLOCK // (self.size * max(n, 1)), 1) if self.size else width  # channels in a piece
        samples, channels = max(many // max(width, 1), 1), min(many, max(width, 1))
        samples = min(samples, max(stop - start, 1))
        steps = min(self.size or length, length) + 1
        room = self.xp.empty((3, steps, samples, n, channels), A.dtype)
        for i, e in itertools.product(range(start, stop, samples), range(0, width, channels)):
            these, some = slice(i, min(i + samples, stop)), slice(e, e + channels)
            # A (E, N) is turned to (N, E), as all states are: NumPy's inner loop is over E, not over N.
            rates = self.xp.ascontiguousarray(A[some].T)
            yield these, some, rates, room[:, :, : these.stop - i, :, : rates.shape[1]]


def along_time(*arrays: Array) -> list[Array]:
    """Arrays (B, T, ...) as (T, B, ...), or back."""
    return [array.swapaxes(0, 1) for array in arrays]


# On a GPU, or on its simulator


class ScanKernel(Function):
    """`SelectiveScan` by kernels/scan.cu: a warp for each channel of each sample, a lane for each token."""

    def __init__(self, state: Array | None = None) -> None:
        self.state = state

    def forward(self, x: Array, delta: Array, A: Array, B: Array, C: Array, *D: Array) -> Array:
        from minilib.cuda import cp

        (batch, length, width), n = x.shape, A.shape[1]
        y = cp.empty(x.shape, cp.float32)
        carried = cp.zeros((batch, -(-length // 32) + 1, width, n), cp.float32)
        if self.state is not None:
            carried[:, 0] = cp.asarray(self.state)
        inputs = [cp.ascontiguousarray(cp.asarray(array)) for array in (x, delta, A, B, C)]
        self.launch("scan_forward", inputs, (y, carried), 2, 2)
        if self.state is not None:
            self.state[...] = self.home(carried[:, -1])
        self.saved = x, delta, A, B, C, *D, carried
        y = self.home(y)
        return y + D[0] * x if D else y

    def backward(self, grad: Array) -> Any:
        from minilib.cuda import cp

        x, delta, A, B, C, *D, carried = self.saved
        inputs = [cp.ascontiguousarray(cp.asarray(array)) for array in (grad, x, delta, A, B, C)]
        grads = [cp.zeros(array.shape, cp.float32) for array in inputs[1:]]
        self.launch("scan_backward", inputs, (carried, *grads), 3, 4)
        dx, ddelta, dA, dB, dC = map(self.home, grads)
        if not D:
            return dx, ddelta, dA, dB, dC
        return dx + D[0] * grad, ddelta, dA, dB, dC, self.xp.einsum("bte,bte->e", grad, x)

    def launch(self, name: str, inputs: Any, others: Any, wide: int, narrow: int) -> None:
        """Run a kernel with room for `wide` tiles of channels and `narrow` of the numbers of B and C."""
        *_, x, _, A, _, _ = inputs
        (batch, length, width), n = x.shape, A.shape[1]
        if x.size:
            room = 4 * 32 * (wide * 9 + narrow * (n + 1))
            sizes = np.int32(length), np.int32(width), np.int32(n)
            args = (*inputs, *others, *sizes)
            self.run(scan_kernels().get_function(name), (-(-width // 8), batch), (32, 8), args, room)

    def run(self, kernel: Any, grid: Shape, block: Shape, args: tuple[Any, ...], shared_mem: int) -> None:
        kernel(grid, block, args, shared_mem=shared_mem)

    def home(self, array: Array) -> Array:
        """Back to where the inputs are."""
        from minilib.cuda import cp

        return cp.asnumpy(array) if self.xp is np else array


@cache
def scan_kernels() -> Any:
    """The module of kernels/scan.cu: scan_forward and scan_backward."""
    from minilib.cuda import RawModule

    path = Path(__file__).parents[1] / "kernels" / "scan.cu"
    return RawModule(code=path.read_text(encoding="utf-8"))


def selective_scan(
    x: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor | None = None,
    state: Array | None = None, method: str | None = None,
) -> Tensor:  # fmt: skip
    """x (B, T, E) with delta (B, T, E), A (E, N), B and C (B, T, N), D (E,) or None give y (B, T, E).

    `state` (B, E, N) is what came before, and becomes the last state: only where no gradient is asked for.
    `method` is "loop", "chunked", "associative" or "kernel"; None is the fastest on this device. Raises
    RuntimeError for shapes and dtypes that do not fit, ValueError for another method.
    """
    tensors = (x, delta, A, B, C) if D is None else (x, delta, A, B, C, D)
    _check(tensors, state)
    if method is None:  # on a processor: chunks stay in its cache, and what is carried costs nothing
        method = "kernel" if x.device == "cuda" else "chunked"
    if method == "kernel":
        if x.dtype != np.float32 or A.shape[1] > 32:
            raise RuntimeError(
                "selective_scan: the kernel takes float32 and at most 32 numbers a state, not "
                f'{x.dtype.name} and {A.shape[1]}; use method="chunked"'
            )
        return apply(ScanKernel(state), *tensors)
    if method not in METHODS:
        raise ValueError(f"selective_scan: method is one of {[*METHODS, 'kernel']} or None, not {method!r}")
    return apply(SelectiveScan(method, state), *tensors)


def _check(tensors: tuple[Tensor, ...], state: Array | None) -> None:
    """Raise where shapes, dtypes or the state do not fit."""
    x, _, A, *_ = tensors
    shapes = [tensor.shape for tensor in tensors]
    b, t, e = x.shape if x.ndim == 3 else (-1, -1, -1)
    n = A.shape[1] if A.ndim == 2 else -1
    if shapes != [(b, t, e), (b, t, e), (e, n), (b, t, n), (b, t, n), (e,)][: len(shapes)]:
        raise RuntimeError(
            "selective_scan: needs x and delta (B, T, E), A (E, N), B and C (B, T, N), D (E,), not "
            + ", ".join(map(str, shapes))
        )
    dtypes = [tensor.dtype for tensor in tensors]
    if dtypes[0].kind != "f" or any(dtype != dtypes[0] for dtype in dtypes):
        names = ", ".join(dict.fromkeys(dtype.name for dtype in dtypes))
        raise RuntimeError(f"selective_scan: needs floats of one dtype, not {names}; cast with .to(...)")
    if state is None:
        return
    if state.shape != (b, e, n) or state.dtype != dtypes[0]:
        raise RuntimeError(
            f"selective_scan: state must be {(b, e, n)} of {dtypes[0].name}, "
            f"not {state.shape} of {state.dtype.name}"
        )
    if mode.grad_enabled and any(tensor.requires_grad for tensor in tensors):
        raise RuntimeError("selective_scan: no gradient flows into `state`: use it within no_grad()")
