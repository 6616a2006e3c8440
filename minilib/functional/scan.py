"""A state that takes in one number after another, for each channel apart, and forgets: h = a h + b x."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from minilib.parallel import chunked
from minilib.tensor import Array, Function, Tensor, apply, array_module, mode

# The scan: h[t] = a[t] h[t-1] + b[t]

Scan: TypeAlias = Callable[[Array, Array, Array], Array]


def scan_loop(a: Array, b: Array, before: Array | float = 0.0) -> Array:
    """h[t] = a[t] h[t-1] + b[t] along axis 0, one step after the other; h takes the place of b (T, ...).

    `before` is h[-1], the state that came before.
    """
    xp = array_module(b)
    kept = xp.empty_like(b[:1])[0] if len(b) else b
    for now, h in zip(a, b):  # views from zip cost half of what a[t] and b[t] do
        xp.multiply(now, before, kept)
        xp.add(h, kept, h)
        before = h
    return b


def scan_associative(a: Array, b: Array, before: Array | float = 0.0) -> Array:
    """`scan_loop` as a tree: a step is a pair (a, b), and two steps are again one; a is left as it was."""
    if len(b):
        b[0] += a[0] * before
        _tree(a.copy(), b)
    return b


def _tree(a: Array, b: Array) -> None:
    """Up: each second pair takes in the one on its left. Down: those between get the state on their left."""
    if len(b) < 2:
        return
    odd = slice(1, None, 2)
    even = slice(0, len(b) // 2 * 2, 2)
    b[odd] += a[odd] * b[even]
    a[odd] *= a[even]
    _tree(a[odd], b[odd])
    b[2::2] += a[2::2] * b[1:-1:2]


# One chunk of one sample, both ways. The channels come last: x, delta and y (T, E), A (N, E), B and C (T, N),
# and the states (N, E), so that NumPy's innermost loop runs over E numbers and not over N.


def chunk_states(
    x: Array, delta: Array, A: Array, B: Array, before: Array, scan: Scan = scan_loop
) -> tuple[Array, Array]:
    """exp(Δ A), with a 1 for the step after the last, (T + 1, N, E), and the states (T, N, E)."""
    xp = array_module(x)
    a = xp.empty((len(x) + 1, *A.shape), x.dtype)
    xp.multiply(delta[:, None], A, out=a[:-1])
    xp.exp(a[:-1], out=a[:-1])
    a[-1] = 1
    b = (delta * x)[:, None] * B[:, :, None]
    return a, scan(a[:-1], b, before)


def chunk_forward(
    x: Array, delta: Array, A: Array, B: Array, C: Array, before: Array, scan: Scan = scan_loop
) -> tuple[Array, Array]:
    """y (T, E) of a chunk, and its last state (N, E), the carry. arXiv:2312.00752, eq. 2 to 4."""
    _, h = chunk_states(x, delta, A, B, before, scan)
    return (C[:, None] @ h)[:, 0], h[-1]


def chunk_backward(
    dy: Array, dlast: Array, x: Array, delta: Array, A: Array, B: Array, C: Array, before: Array,
    scan: Scan = scan_loop,
) -> tuple[Array, ...]:  # fmt: skip
    """Gradients of x, delta, A, B, C and before, from those of y and of the last state."""
    xp = array_module(x)
    a, h = chunk_states(x, delta, A, B, before, scan)
    dC = (h @ dy[:, :, None])[:, :, 0]
    g = scan(a[:0:-1], (dy[:, None] * C[:, :, None])[::-1], dlast)[::-1]  # of each state: (T, N, E)
    dbx = (B[:, None] @ g)[:, 0]  # of delta x
    dB = (g @ (delta * x)[:, :, None])[:, :, 0]
    g *= a[:-1]
    dbefore = g[0].copy()
    g[0] *= before
    g[1:] *= h[:-1]  # now of delta A
    ddelta = dbx * x + xp.einsum("tne,ne->te", g, A)
    return dbx * delta, ddelta, xp.einsum("tne,te->ne", g, delta), dB, dC, dbefore


# The selective scan
#
#     x   (B, T, E)   what comes in              A   (E, N)      how fast each number of the state fades, below 0
#     Δ   (B, T, E)   how long each step lasts   B   (B, T, N)   how x is written into the state
#     h   (E, N)      the state of one sample    C   (B, T, N)   how y is read from it
#     y   (B, T, E)   what goes out              D   (E,)        how much of x passes by the state


CHUNK = 65_536  # numbers in the states of a chunk: with what is made of them, they stay in a core's cache

METHODS: dict[str, tuple[Scan, int | None]] = {
    "loop": (scan_loop, None),
    "chunked": (scan_loop, 32),
    "associative": (scan_associative, None),
}  # how states are worked out, and of how many tokens at once


class SelectiveScan(Function):
    """y[t] = C[t] h[t] + D x[t] with h[t] = exp(Δ[t] A) h[t-1] + Δ[t] B[t] x[t]. arXiv:2312.00752, eq. 2 to 4.

    Each sample goes through in chunks of tokens, and the last state of one is carried into the next. Only
    these carried states are kept, (B, chunks + 1, N, E); backward works out anew those between them.
    """

    def __init__(self, method: str, state: Array | None = None) -> None:
        self.scan, self.size = METHODS[method]
        self.state = state

    def forward(self, x: Array, delta: Array, A: Array, B: Array, C: Array, *D: Array) -> Array:
        xp, (batch, length, width) = self.xp, x.shape
        chunks = len(self.chunks(length))
        carried = xp.zeros((batch, chunks + 1, A.shape[1], width), x.dtype)
        if self.state is not None:
            carried[:, 0] = self.state.swapaxes(1, 2)
        y = xp.empty_like(x, order="C")

        def work(y: Array, x: Array, delta: Array, B: Array, C: Array, carried: Array) -> None:
            for i, block in self.pieces(x, A):
                fades = xp.ascontiguousarray(A[block].T)
                before = carried[i, 0, :, block]
                for j, now in enumerate(self.chunks(length), 1):
                    piece = x[i, now, block], delta[i, now, block], fades, B[i, now], C[i, now]
                    y[i, now, block], before = chunk_forward(*piece, before, self.scan)
                    carried[i, j, :, block] = before

        chunked(work, y, x, delta, B, C, carried, rows=1)
        if D:
            y += D[0] * x
        if self.state is not None:
            self.state[...] = carried[:, -1].swapaxes(1, 2)
        self.saved = x, delta, A, B, C, *D, carried
        return y

    def backward(self, grad: Array) -> Any:
        x, delta, A, B, C, *D, carried = self.saved
        xp, length = self.xp, x.shape[1]
        dx, ddelta = xp.empty_like(x, order="C"), xp.empty_like(x, order="C")
        dB, dC = xp.zeros_like(B, order="C"), xp.zeros_like(B, order="C")

        def work(
            dy: Array, x: Array, delta: Array, B: Array, C: Array, carried: Array, *grads: Array
        ) -> Array:
            dx, ddelta, dB, dC = grads
            dA = xp.zeros_like(A)
            for i, block in self.pieces(x, A):
                fades = xp.ascontiguousarray(A[block].T)
                dlast = xp.zeros_like(fades)
                for j, now in reversed(list(enumerate(self.chunks(length)))):
                    piece = x[i, now, block], delta[i, now, block], fades, B[i, now], C[i, now]
                    made = chunk_backward(
                        dy[i, now, block], dlast, *piece, carried[i, j, :, block], self.scan
                    )
                    dx[i, now, block], ddelta[i, now, block] = made[:2]
                    dA[block] += made[2].T
                    dB[i, now] += made[3]
                    dC[i, now] += made[4]
                    dlast = made[5]
            return dA

        dA = chunked(work, grad, x, delta, B, C, carried, dx, ddelta, dB, dC, rows=1)
        if not D:
            return dx, ddelta, dA, dB, dC
        dx += D[0] * grad
        return dx, ddelta, dA, dB, dC, xp.einsum("bte,bte->e", grad, x)

    def chunks(self, length: int) -> list[slice]:
        """The tokens that are worked on at once."""
        size = self.size or max(length, 1)
        return [slice(start, start + size) for start in range(0, length, size)]

    def pieces(self, x: Array, A: Array) -> list[tuple[int, slice]]:
        """Samples and blocks of channels: so few that the states of a chunk stay in the cache."""
        batch, _, width = x.shape
        block = max(16, CHUNK // (32 * A.shape[1])) if self.size else max(width, 1)
        return [(i, slice(e, e + block)) for i in range(batch) for e in range(0, width, block)]


def selective_scan(
    x: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor | None,
    state: Array | None = None, method: str | None = None,
) -> Tensor:  # fmt: skip
    """x (B, T, E) with delta (B, T, E), A (E, N), B and C (B, T, N), D (E,) or None give y (B, T, E).

    `state` (B, E, N) is what came before, and becomes the last state: only where no gradient is asked for.
    `method` is "loop", "chunked", "associative" or "kernel"; None is the fastest here.
    """
    tensors = (x, delta, A, B, C) if D is None else (x, delta, A, B, C, D)
    if state is not None and mode.grad_enabled and any(t.requires_grad for t in tensors):
        raise RuntimeError("selective_scan: no gradient flows through `state`: use it within no_grad()")
    return apply(SelectiveScan(method or "chunked", state), *tensors)
