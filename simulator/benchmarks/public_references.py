"""What public kernels must give, in NumPy and float64, where that takes more than a line of the table."""

from __future__ import annotations

from collections.abc import Callable
from math import erf
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

Array = np.ndarray[Any, Any]


# ------------------------------------------------------------------------------------------------ elementwise


def add(a: Array, b: Array) -> Array:
    return a + b


def matmul(a: Array, b: Array) -> Array:
    return a @ b


def transposed(x: Array) -> Array:
    return x.T


def repeated(f: Callable[[Array], Array], x: Array, times: int) -> Array:
    for _ in range(times):
        x = f(x)
    return x


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def relu(x: Array) -> Array:
    return np.maximum(x, 0)


def elu(x: Array) -> Array:
    return np.where(x > 0, x, np.exp(x) - 1)


def silu(x: Array) -> Array:
    return x * sigmoid(x)


def gelu(x: Array) -> Array:
    """The tanh form."""
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def gelu_of_erf(x: Array) -> Array:
    return 0.5 * x * (1 + np.vectorize(erf)(x / np.sqrt(2)))


def hardswish(x: Array) -> Array:
    return x * np.clip(x + 3, 0, 6) / 6


def hardshrink(x: Array) -> Array:
    return np.where(np.abs(x) > 0.5, x, 0)


# ------------------------------------------------------------------------------------------------- reductions


def sums_of(n: int) -> Callable[[Array], Array]:
    """The sum of each n neighbours."""
    return lambda x: x.reshape(-1, n).sum(1)


def padded_sums(x: Array, n: int) -> Array:
    """The sum of each n neighbours; the last ones may be fewer."""
    return np.add.reduceat(x, range(0, x.size, n))


def counts(x: Array, bins: int) -> Array:
    return np.bincount(x.reshape(-1), minlength=bins)


def running(x: Array, n: int) -> Array:
    """The sums up to each element, within each n neighbours."""
    return np.cumsum(x.reshape(-1, n), axis=1)


def last_only(value: Any, size: int) -> Array:
    """The first element matters, the rest does not."""
    out = np.full(size, np.nan)
    out[0] = value
    return out


# ------------------------------------------------------------------------------------------------- neighbours


def around(x: Array, m: Array) -> Array:
    """Each place with its neighbours weighed by m, zeros beyond the edge."""
    pads = [(n // 2, n - 1 - n // 2) for n in m.shape]
    return inside(np.pad(x, pads), m)


def inside(x: Array, m: Array) -> Array:
    """The same where m fits inside."""
    windows = sliding_window_view(x, m.shape)
    return (windows * m).sum(axis=tuple(range(x.ndim, 2 * x.ndim)))


def blur(x: Array, radius: int) -> Array:
    """The mean of those neighbours that are there, cut to an integer."""
    ones = np.ones((2 * radius + 1,) * 2)
    return np.floor(around(x, ones) / around(np.ones_like(x), ones))


def images(x: Array, w: Array) -> Array:
    """x (N, C, H, W), w (K, C, R, R): as many places out as in."""
    r = w.shape[-1] // 2
    windows = sliding_window_view(np.pad(x, ((0, 0), (0, 0), (r, r), (r, r))), w.shape[2:], axis=(2, 3))
    return np.einsum("nchwij,kcij->nkhw", windows, w)


# ----------------------------------------------------------------------------------------------------- models


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def causal(x: Array) -> Array:
    """softmax over what is not later: x (..., T, T)."""
    t = x.shape[-1]
    seen = np.tril(np.ones((t, t), bool))
    e = np.where(seen, np.exp(x - np.where(seen, x, -np.inf).max(-1, keepdims=True)), 0)
    return e / e.sum(-1, keepdims=True)


def heads(x: Array, h: int) -> tuple[Array, Array, Array]:
    """q, k and v as (B, h, T, d), of x (B, T, 3 h d)."""
    b, t, c3 = x.shape
    q, k, v = np.moveaxis(x.reshape(b, t, 3, h, c3 // 3 // h), 2, 0)
    return q.swapaxes(1, 2), k.swapaxes(1, 2), v.swapaxes(1, 2)


def joined(q: Array, k: Array, v: Array) -> Array:
    """`heads` the other way round."""
    return np.stack([q, k, v], 2).transpose(0, 3, 2, 1, 4)


def scores(q: Array, k: Array) -> Array:
    """Products of queries and keys, over the root of their length; minus infinity for what is later."""
    t = q.shape[-2]
    return np.where(np.tril(np.ones((t, t), bool)), q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]), -np.inf)


def causal_backward(d: Array, a: Array) -> Array:
    """The gradient of the scores (of heads of 4 numbers), of that of the weights; NaN for what is later."""
    d, a = np.tril(d), np.tril(a)
    t = a.shape[-1]
    return np.where(np.tril(np.ones((t, t), bool)), (a * d - a * (a * d).sum(-1, keepdims=True)) / 2, np.nan)


def flash(Q: Array, K: Array, V: Array) -> tuple[Array, Array, Array]:
    """Sums, maxima and outputs of attention with the scale 0.5."""
    s = Q @ K.swapaxes(-1, -2) / 2
    return np.exp(s - s.max(-1, keepdims=True)).sum(-1), s.max(-1), softmax(s) @ V


def flash_with_logs(Q: Array, K: Array, V: Array, scale: float = 0.25) -> tuple[Array, Array]:
    s = scale * (Q @ K.T)
    return softmax(s) @ V, np.log(np.exp(s).sum(-1))


def embedding_backward(d: Array, t: Array) -> tuple[Array, Array]:
    """The gradients of 20 words and of the positions."""
    return np.eye(20)[t.reshape(-1)].T @ d.reshape(-1, d.shape[-1]), d.sum(0)


def gelu_backward(x: Array, d: Array) -> Array:
    u = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)
    inner = np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * x * x)
    return d * (0.5 * (1 + np.tanh(u)) + 0.5 * x * inner / np.cosh(u) ** 2)


def layer_norm(x: Array, weight: Array, bias: Array) -> tuple[Array, Array, Array]:
    """The output, the means and the reciprocal deviations."""
    mean = x.mean(-1)
    rstd = 1 / np.sqrt(x.var(-1) + 1e-5)
    return (x - mean[:, None]) * rstd[:, None] * weight + bias, mean, rstd


def layer_norm_backward(
    dout: Array, x: Array, weight: Array, mean: Array, rstd: Array
) -> tuple[Array, Array, Array]:
    """The gradients of x, weight and bias."""
    norm = (x - mean[..., None]) * rstd[..., None]
    dnorm = dout * weight
    dx = dnorm - dnorm.mean(-1, keepdims=True) - norm * (dnorm * norm).mean(-1, keepdims=True)
    return dx * rstd[..., None], (dout * norm).sum((0, 1)), dout.sum((0, 1))


def adamw(p: Array, g: Array, m: Array, v: Array) -> tuple[Array, Array, Array]:
    """One step with rate 1e-3, betas 0.9 and 0.999 (corrections 0.1, 0.001), eps 1e-8, decay 0.01."""
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    return p - 1e-3 * (m / 0.1 / (np.sqrt(v / 0.001) + 1e-8) + 0.01 * p), m, v


def rope(x: Array) -> Array:
    """x (positions, pairs, 2) turned by the angles of its position."""
    t, n, _ = x.shape
    angle = np.arange(t)[:, None] / 10000.0 ** (np.arange(n) / n)
    cos, sin = np.cos(angle), np.sin(angle)
    return np.stack([x[..., 0] * cos - x[..., 1] * sin, x[..., 0] * sin + x[..., 1] * cos], -1)


# --------------------------------------------------------------------------------------------- sparse, sorted


def sparse(rows: int, cols: int, dtype: str = "f4") -> Callable[[np.random.Generator], dict[str, Array]]:
    """A matrix `dense`, and as CSR: `start`, `index`, `value`."""

    def made(g: np.random.Generator) -> dict[str, Array]:
        dense = np.where(g.random((rows, cols)) < 0.2, g.integers(1, 9, (rows, cols)), 0)
        start = np.concatenate([[0], np.cumsum((dense != 0).sum(1))])
        return {
            "dense": dense.astype(dtype),
            "start": start.astype("i4"),
            "index": np.nonzero(dense)[1].astype("i4"),
            "value": dense[dense != 0].astype(dtype),
        }

    return made


def ordered(n: int, m: int, dtype: str = "f4") -> Callable[[np.random.Generator], dict[str, Array]]:
    """Two sorted arrays, `a` and `b`."""

    def made(g: np.random.Generator) -> dict[str, Array]:
        return {name: np.sort(g.integers(0, 100, size)).astype(dtype) for name, size in (("a", n), ("b", m))}

    return made


def spd(n: int) -> Callable[[np.random.Generator], dict[str, Array]]:
    """A symmetric positive definite matrix, and its Cholesky factor `low`."""

    def made(g: np.random.Generator) -> dict[str, Array]:
        x = g.uniform(-1, 1, (n, n))
        matrix = (x @ x.T + n * np.eye(n)).astype("f4")
        return {"spd": matrix, "low": np.linalg.cholesky(matrix.astype("f8")).astype("f4")}

    return made


def nearest(x: Array) -> Array:
    """The point nearest to each, but itself."""
    apart = ((x[:, None] - x) ** 2).sum(-1)
    np.fill_diagonal(apart, np.inf)
    return apart.argmin(1)


def clusters(x: Array, y: Array, cx: Array, cy: Array) -> tuple[Array, Array, Array, Array]:
    """The nearest centre of each point; the sums and the numbers of the points of each."""
    label = ((x[:, None] - cx) ** 2 + (y[:, None] - cy) ** 2).argmin(1)
    of = [np.bincount(label, weights, cx.size) for weights in (x, y)]
    return label, of[0], of[1], np.bincount(label, minlength=cx.size)


# ---------------------------------------------------------------------------------------------------- signals


def bit_reversed(bits: int) -> Array:
    order = np.zeros(1, int)
    for _ in range(bits):
        order = np.concatenate([2 * order, 2 * order + 1])
    return order


def turned(x: Array, angle: Array) -> Array:
    """Complex numbers, as pairs, times those of length 1."""
    return complex_product(x, np.stack([np.cos(angle), np.sin(angle)], -1))


def complex_product(a: Array, b: Array) -> Array:
    c = (a[..., 0] + 1j * a[..., 1]) * (b[..., 0] + 1j * b[..., 1])
    return np.stack([c.real, c.imag], -1)


def jacobi(x: Array) -> Array:
    """The mean of four neighbours; the edge stays."""
    out = x.copy()
    out[1:-1, 1:-1] = (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]) / 4
    return out


def recurrence(a: Array, x: Array) -> Array:
    """h[t] = a[t] h[t-1] + x[t]."""
    h = x.copy()
    for t in range(1, x.shape[1]):
        h[:, t] += a[:, t] * h[:, t - 1]
    return h


def by_head(x: Array, heads: int) -> Array:
    """(N, h d) as (h, N, d)."""
    return x.reshape(x.shape[0], heads, -1).swapaxes(0, 1)


def fnv1a(x: Array, rounds: int) -> Array:
    """The hash of each 32-bit number, of its hash, and so on."""
    for _ in range(rounds):
        state = np.full(x.shape, 2166136261, np.uint64)
        for byte in range(4):
            state = (
                (state ^ ((x.astype(np.uint64) >> np.uint64(8 * byte)) & np.uint64(255)))
                * np.uint64(16777619)
            ) % np.uint64(2**32)
        x = state
    return x


def grey(x: Array) -> Array:
    """Bytes of red, green and blue as bytes of grey. A sum next to an integer may be cut either way."""
    exact = x @ [0.21, 0.71, 0.07]
    return np.where(np.abs(exact - np.rint(exact)) < 1e-4, np.nan, np.floor(exact))


def seven_points(x: Array) -> Array:
    """Each inner point and its neighbours along x, y, z, weighed by 1 to 7; the edge does not matter."""
    out = np.full(x.shape, np.nan)
    inner = slice(1, -1)
    out[inner, inner, inner] = (
        x[inner, inner, inner]
        + 2 * x[inner, inner, :-2]
        + 3 * x[inner, inner, 2:]
        + 4 * x[inner, :-2, inner]
        + 5 * x[inner, 2:, inner]
        + 6 * x[:-2, inner, inner]
        + 7 * x[2:, inner, inner]
    )
    return out


def ranks(bits: Array, n: int) -> tuple[Array, Array]:
    """The ones before each element, within each n neighbours; and the ones of each n."""
    bits = bits.reshape(-1, n)
    return np.cumsum(bits, 1) - bits, bits.sum(1)


def pooled(x: Array) -> Array:
    """(N, C, H, W) as (N, C, H / 2, 2, W / 2, 2)."""
    n, c, h, w = x.shape
    return x.reshape(n, c, h // 2, 2, w // 2, 2)


def pooled_with_places(x: Array) -> tuple[Array, Array]:
    """The largest of each 2 x 2, and which of the four it is."""
    fours = pooled(x).swapaxes(-2, -3).reshape(2, 3, 4, 5, 4)
    return fours.max(-1), fours.argmax(-1)


def fhd(
    r: Array, i: Array, kx: Array, ky: Array, kz: Array, x: Array, y: Array, z: Array
) -> tuple[Array, Array]:
    """Real and imaginary part of the sum over k of (r + i i) exp(2 pi i k x)."""
    angle = 2 * np.pi * (np.outer(x, kx) + np.outer(y, ky) + np.outer(z, kz))
    return np.cos(angle) @ r - np.sin(angle) @ i, np.cos(angle) @ i + np.sin(angle) @ r


def xyy(r: Array, g: Array, b: Array) -> tuple[Array, Array, Array]:
    """x, y and the logarithm of Y + 0.5 of colours."""
    X, Y, Z = np.tensordot(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]], [r, g, b], 1
    )
    return X / (X + Y + Z), Y / (X + Y + Z), np.log10(0.5 + Y)


def bodies(p: Array, v: Array) -> Array:
    """The speeds after half a second of gravity."""
    d = p[None, :, :3] - p[:, None, :3]
    pull = (d / ((d**2).sum(-1, keepdims=True) + 1e-9) ** 1.5).sum(1)
    return np.concatenate([v[:, :3] + pull / 2, v[:, 3:]], 1)


def all_atomics() -> Array:
    """What 128 threads leave behind in eleven places; NaN where their order decides."""
    t = np.arange(128)
    same, bits = np.nan, np.bitwise_or.reduce(1 << (t % 32))
    ands, xors = np.bitwise_and.reduce(2 * t + 7) & 0, np.bitwise_xor.reduce(t)
    return np.array([1280, -1280, same, 127, 0, 128 % 18, same, same, ands, np.int32(np.uint32(bits)), xors])


def ends(next: Array) -> Array:
    """Where one comes from each place by going on to `next`."""
    while (next[next] != next).any():
        next = next[next]
    return next


def bitonic_half(x: Array, y: Array) -> tuple[Array, Array]:
    """The first step of a merge upwards: keys that are 128 apart are put in order, their values with them."""
    swap = np.tile(x[:128] > x[128:], 2)
    return np.where(swap, np.roll(x, 128), x), np.where(swap, np.roll(y, 128), y)


def walsh_step(x: Array) -> Array:
    """Two steps of the Walsh-Hadamard transform of (batches, 4 n), over quarters."""
    a, b, c, d = np.moveaxis(x.reshape(x.shape[0], 4, -1), 1, 0)
    return np.stack([a + b + c + d, a - b + c - d, a + b - c - d, a - b - c + d], 1)


def slopes(h: Array) -> Array:
    """The differences of the neighbours along x and y; none at the edge."""
    out = np.zeros((*h.shape, 2))
    out[1:-1, 1:-1, 0] = h[1:-1, 2:] - h[1:-1, :-2]
    out[1:-1, 1:-1, 1] = h[2:, 1:-1] - h[:-2, 1:-1]
    return out
