"""The kernels of `kernels/real` with launches, arguments and what NumPy says comes out.

`CASES` is made once, from a seeded generator, over sizes that do not fit blocks. In a `Case`, `args` are
NumPy arrays and scalars; whoever runs it makes them what its device takes, and leaves them as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parents[1] / "kernels" / "real"
SIZES = (1, 31, 33, 1000)
f16, f32, f64, i32 = np.float16, np.float32, np.float64, np.int32


@dataclass(frozen=True)
class Case:
    """`expected`: argument -> what it holds afterwards; the other arrays stay as they were.

    `unordered`: arguments whose elements may come in any order. Results equal `expected` where
    abs(result - expected) <= atol + rtol * abs(expected); integers exactly.
    """

    id: str
    file: str
    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    args: tuple[Any, ...]
    expected: dict[int, np.ndarray]
    shared_mem: int = 0
    rtol: float = 1e-5
    atol: float = 1e-6
    unordered: frozenset[int] = field(default_factory=frozenset)

    @property
    def source(self) -> str:
        return (FOLDER / self.file).read_text()

    def check(self, outputs: list[np.ndarray | None]) -> None:
        """Assert that a run's arrays are as expected."""
        for i, (arg, got) in enumerate(zip(self.args, outputs, strict=True)):
            if not isinstance(arg, np.ndarray):
                assert got is None, f"{self.id}: argument {i} is a scalar, got {got!r}"
                continue
            want = self.expected.get(i, arg)
            assert got is not None and got.dtype == want.dtype and got.shape == want.shape, f"{self.id}: {i}"
            if i in self.unordered:
                got, want = np.sort(got), np.sort(want)
            message = f"{self.id}: argument {i}"
            if want.dtype.kind == "f" and i in self.expected:
                np.testing.assert_allclose(got, want, rtol=self.rtol, atol=self.atol, err_msg=message)
            else:
                np.testing.assert_array_equal(got, want, err_msg=message)


Builder = Callable[[np.random.Generator], Iterator[Case]]
BUILDERS: list[Builder] = []


def builder(function: Builder) -> Builder:
    BUILDERS.append(function)
    return function


def up(n: int, block: int) -> int:
    """How many blocks cover n."""
    return -(-n // block)


def normal(rng: np.random.Generator, *shape: int, dtype: Any = f32) -> np.ndarray:
    return rng.standard_normal(shape).astype(dtype)


def nothing(*shape: int, dtype: Any = f32) -> np.ndarray:
    """An output before the run: what stays in it was not written."""
    return np.full(shape, np.nan if np.dtype(dtype).kind == "f" else -77, dtype)


# ----------------------------------------------------------------------------------- element by element


@builder
def vector_add(rng: np.random.Generator) -> Iterator[Case]:
    for n, block in ((1, 32), (31, 32), (33, 32), (1000, 256), (1000, 96)):
        a, b = normal(rng, n), normal(rng, n)
        args = (a, b, nothing(n), n)
        yield Case(
            f"vector_add-{n}-{block}",
            "vector_add.cu",
            "vector_add",
            (up(n, block),),
            (block,),
            args,
            {2: a + b},
        )


@builder
def saxpy(rng: np.random.Generator) -> Iterator[Case]:
    for n, grid, block in ((1, 1, 1), (31, 2, 7), (33, 1, 32), (1000, 3, 64), (1000, 40, 33)):
        a, x, y = f32(1.7), normal(rng, n), normal(rng, n)
        yield Case(
            f"saxpy-{n}-{grid}x{block}", "saxpy.cu", "saxpy", (grid,), (block,), (a, x, y, n), {2: a * x + y}
        )


@builder
def fill_2d(rng: np.random.Generator) -> Iterator[Case]:
    for rows, cols, block in ((1, 1, (16, 16)), (31, 33, (16, 16)), (33, 7, (8, 4)), (5, 1000, (32, 2))):
        want = (1000 * np.arange(rows)[:, None] + np.arange(cols)).astype(i32)
        grid = (up(cols, block[0]), up(rows, block[1]))
        args = (nothing(rows, cols, dtype=i32), rows, cols)
        yield Case(f"fill_2d-{rows}x{cols}", "fill_2d.cu", "fill_2d", grid, block, args, {0: want})


@builder
def gelu(rng: np.random.Generator) -> Iterator[Case]:
    for n in SIZES:
        x, dy = normal(rng, n) * f32(2), normal(rng, n)
        v, k = x.astype(f64), math.sqrt(2 / math.pi)
        t = np.tanh(k * (v + 0.044715 * v**3))
        y = (0.5 * v * (1 + t)).astype(f32)
        slope = 0.5 * (1 + t) + 0.5 * v * (1 - t * t) * k * (1 + 3 * 0.044715 * v * v)
        grid, block = (up(n, 64),), (64,)
        args = (x, nothing(n), n)
        yield Case(f"gelu_forward-{n}", "gelu.cu", "gelu_forward", grid, block, args, {1: y})
        args, want = (x, dy, nothing(n), n), (dy * slope).astype(f32)
        yield Case(f"gelu_backward-{n}", "gelu.cu", "gelu_backward", grid, block, args, {2: want}, atol=1e-5)


@builder
def adamw(rng: np.random.Generator) -> Iterator[Case]:
    for n in SIZES:
        p, g, m, v = normal(rng, n), normal(rng, n), normal(rng, n), normal(rng, n) ** 2
        lr, b1, b2, eps, decay, step = 1e-2, 0.9, 0.999, 1e-8, 0.1, 3
        m1, v1 = b1 * m.astype(f64) + (1 - b1) * g, b2 * v.astype(f64) + (1 - b2) * g.astype(f64) ** 2
        c1, c2 = 1 - b1**step, 1 - b2**step
        p1 = p * (1 - lr * decay) - lr * (m1 / c1) / (np.sqrt(v1 / c2) + eps)
        scalars = tuple(f32(s) for s in (lr, b1, b2, eps, decay, c1, c2))
        want = {0: p1.astype(f32), 2: m1.astype(f32), 3: v1.astype(f32)}
        args = (p, g, m, v, n, *scalars)
        yield Case(f"adamw-{n}", "adamw.cu", "adamw", (up(n, 128),), (128,), args, want, rtol=1e-4, atol=1e-5)


@builder
def copy_strided(rng: np.random.Generator) -> Iterator[Case]:
    x = normal(rng, 40, 50, dtype=f64)
    flat = x.reshape(-1)
    for rows, cols, row_stride, col_stride in (
        (1, 1, 50, 1),
        (31, 33, 50, 1),
        (33, 20, 1, 50),
        (20, 25, 100, 2),
    ):
        at = np.arange(rows)[:, None] * row_stride + np.arange(cols) * col_stride
        args = (x, row_stride, col_stride, nothing(rows, cols, dtype=f64), rows, cols)
        name = f"copy_strided-{rows}x{cols}-{row_stride}-{col_stride}"
        yield Case(name, "copy_strided.cu", "copy_strided", (3,), (64,), args, {3: flat[at]})


@builder
def flip(rng: np.random.Generator) -> Iterator[Case]:
    kinds = (
        ("float", f32, 32),
        ("double", f64, 7),
        ("unsigned char", np.uint8, 64),
        ("long long", np.int64, 33),
    )
    for name, dtype, tile in kinds:
        for n in (1, 33, 1000):
            x = (normal(rng, n) * 50).astype(np.int16).astype(dtype)
            blocks = up(n, tile)
            padded = np.zeros(blocks * tile, dtype)
            padded[:n] = x
            want = padded.reshape(blocks, tile)[:, ::-1].reshape(-1)[:n].copy()
            args = (x, np.full(n, 99, dtype), n)
            kernel = f"flip<{name}, {tile}>"
            yield Case(
                f"flip-{name}-{tile}-{n}", "flip_template.cu", kernel, (blocks,), (tile,), args, {1: want}
            )


@builder
def horner(rng: np.random.Generator) -> Iterator[Case]:
    for n, degree in ((1, 0), (31, 1), (33, 5), (1000, 9)):
        c, x = normal(rng, degree + 1, dtype=f64), rng.uniform(-1, 1, n)
        args = (c, degree, x, nothing(n, dtype=f64), n)
        want = {3: np.polyval(c, x)}
        yield Case(
            f"horner-{n}-{degree}",
            "horner.cu",
            "horner",
            (up(n, 64),),
            (64,),
            args,
            want,
            rtol=1e-12,
            atol=1e-12,
        )


# ---------------------------------------------------------------------------------------------- matrices


@builder
def transpose(rng: np.random.Generator) -> Iterator[Case]:
    for rows, cols in ((1, 1), (31, 33), (33, 31), (1, 100), (70, 45)):
        x = normal(rng, rows, cols)
        args, want = (x, nothing(cols, rows), rows, cols), {1: x.T.copy()}
        name, grid = f"{rows}x{cols}", (up(cols, 32), up(rows, 32))
        yield Case(
            f"transpose_naive-{name}",
            "transpose_naive.cu",
            "transpose_naive",
            (up(cols, 16), up(rows, 8)),
            (16, 8),
            args,
            want,
        )
        for kernel in ("transpose_tiled_32", "transpose_tiled_33"):
            yield Case(f"{kernel}-{name}", "transpose_tiled.cu", kernel, grid, (32, 8), args, want)


@builder
def matmul(rng: np.random.Generator) -> Iterator[Case]:
    for m, k, n in ((1, 1, 1), (17, 5, 33), (33, 31, 18), (16, 48, 16), (3, 100, 2)):
        a, b = normal(rng, m, k), normal(rng, k, n)
        args = (a, b, nothing(m, n), m, n, k)
        want = {2: (a.astype(f64) @ b).astype(f32)}
        for kernel in ("matmul_naive", "matmul_tiled"):
            grid = (up(n, 16), up(m, 16))
            yield Case(
                f"{kernel}-{m}x{k}x{n}",
                f"{kernel}.cu",
                kernel,
                grid,
                (16, 16),
                args,
                want,
                rtol=1e-4,
                atol=1e-4,
            )


@builder
def matmul_registers(rng: np.random.Generator) -> Iterator[Case]:
    for m, k, n in ((1, 4, 4), (64, 16, 64), (67, 36, 72), (33, 20, 132)):
        a, b = normal(rng, m, k), normal(rng, k, n)
        args = (a, b, nothing(m, n), m, n, k)
        want = {2: (a.astype(f64) @ b).astype(f32)}
        yield Case(
            f"matmul_registers-{m}x{k}x{n}",
            "matmul_registers.cu",
            "matmul_registers",
            (up(n, 64), up(m, 64)),
            (16, 16),
            args,
            want,
            rtol=1e-4,
            atol=1e-4,
        )


@builder
def matvec_warp(rng: np.random.Generator) -> Iterator[Case]:
    for rows, cols in ((1, 1), (31, 33), (33, 100), (5, 1000)):
        a, x = normal(rng, rows, cols), normal(rng, cols)
        args, want = (a, x, nothing(rows), rows, cols), {2: (a.astype(f64) @ x).astype(f32)}
        yield Case(
            f"matvec_warp-{rows}x{cols}",
            "matvec_warp.cu",
            "matvec_warp",
            (up(rows, 4),),
            (32, 4),
            args,
            want,
            rtol=1e-4,
            atol=1e-4,
        )


# -------------------------------------------------------------------------------- reductions, scans, sorts


@builder
def reduce_tree(rng: np.random.Generator) -> Iterator[Case]:
    for n, block in ((1, 32), (31, 1), (33, 32), (1000, 256)):
        x, grid = normal(rng, n), up(n, block)
        padded = np.zeros(grid * block)
        padded[:n] = x
        args, want = (x, nothing(grid), n), {1: padded.reshape(grid, block).sum(1).astype(f32)}
        yield Case(
            f"reduce_tree-{n}-{block}",
            "reduce_tree.cu",
            "reduce_tree",
            (grid,),
            (block,),
            args,
            want,
            shared_mem=4 * block,
            atol=1e-5,
        )


@builder
def reduce_shuffle(rng: np.random.Generator) -> Iterator[Case]:
    for n, grid, block in ((1, 1, 32), (31, 2, 64), (33, 1, 1024), (1000, 3, 96)):
        x = normal(rng, n)
        args, want = (x, np.zeros(1, f32), n), {1: np.array([x.astype(f64).sum()], f32)}
        name = f"reduce_shuffle-{n}-{grid}x{block}"
        yield Case(
            name, "reduce_shuffle.cu", "reduce_shuffle", (grid,), (block,), args, want, rtol=1e-4, atol=1e-4
        )


@builder
def reduce_last_block(rng: np.random.Generator) -> Iterator[Case]:
    for n in SIZES:
        x, grid = normal(rng, n), up(n, 128)
        padded = np.zeros(grid * 128)
        padded[:n] = x
        sums = padded.reshape(grid, 128).sum(1)
        args = (x, nothing(grid), nothing(1), np.zeros(1, np.uint32), n)
        want = {1: sums.astype(f32), 2: np.array([sums.sum()], f32)}
        yield Case(
            f"reduce_last_block-{n}",
            "reduce_last_block.cu",
            "reduce_last_block",
            (grid,),
            (128,),
            args,
            want,
            rtol=1e-4,
            atol=1e-4,
        )


@builder
def dot(rng: np.random.Generator) -> Iterator[Case]:
    for n in SIZES:
        x, y = normal(rng, n), normal(rng, n)
        want = {2: np.array([x.astype(f64) @ y.astype(f64)])}
        args = (x, y, nothing(1, dtype=f64), n)
        yield Case(f"dot-{n}", "dot.cu", "dot", (1,), (256,), args, want, rtol=1e-12, atol=1e-12)


@builder
def scans(rng: np.random.Generator) -> Iterator[Case]:
    for n in SIZES:
        x, grid = rng.integers(-50, 50, n).astype(i32), up(n, 256)
        padded = np.zeros(grid * 256, i32)
        padded[:n] = x
        want = np.cumsum(padded.reshape(grid, 256), axis=1, dtype=i32).reshape(-1)[:n].copy()
        args = (x, nothing(n, dtype=i32), n)
        name = "scan_hillis_steele"
        yield Case(f"{name}-{n}", f"{name}.cu", name, (grid,), (256,), args, {1: want})
    for n, block in ((1, 1), (31, 16), (33, 32), (1000, 512)):
        x = rng.integers(-50, 50, n).astype(i32)
        args, want = (x, nothing(n, dtype=i32), n), {1: (np.cumsum(x) - x).astype(i32)}
        name = "scan_blelloch"
        yield Case(f"{name}-{n}", f"{name}.cu", name, (1,), (block,), args, want, shared_mem=8 * block)


@builder
def histogram(rng: np.random.Generator) -> Iterator[Case]:
    for n in SIZES:
        data = np.clip(rng.normal(100, 30, n), 0, 255).astype(np.uint8)
        before = rng.integers(0, 5, 256).astype(np.uint32)
        args, want = (data, before, n), {1: (before + np.bincount(data, minlength=256)).astype(np.uint32)}
        for kernel, grid in (("histogram_global", up(n, 128)), ("histogram_shared", 2)):
            yield Case(f"{kernel}-{n}", "histogram.cu", kernel, (grid,), (128,), args, want)


@builder
def argmax(rng: np.random.Generator) -> Iterator[Case]:
    for rows, cols in ((1, 1), (31, 33), (33, 31), (5, 1000)):
        x = rng.integers(-9, 9, (rows, cols)).astype(f32)  # with equals
        args, want = (x, nothing(rows, dtype=i32), rows, cols), {1: x.argmax(1).astype(i32)}
        yield Case(f"argmax-{rows}x{cols}", "argmax.cu", "argmax", (up(rows, 4),), (128,), args, want)


@builder
def compact(rng: np.random.Generator) -> Iterator[Case]:
    for n, block in ((1, 32), (31, 64), (33, 32), (1000, 128)):
        x = rng.integers(-50, 50, n).astype(i32)
        kept = x[x > 0]
        out = nothing(n, dtype=i32)
        want = out.copy()
        want[: len(kept)] = kept
        args = (x, out, np.zeros(1, i32), n)
        yield Case(
            f"compact-{n}-{block}",
            "compact.cu",
            "compact",
            (up(n, block),),
            (block,),
            args,
            {1: want, 2: np.array([len(kept)], i32)},
            unordered=frozenset({1}),
        )


@builder
def bitonic_sort(rng: np.random.Generator) -> Iterator[Case]:
    for n in SIZES:
        x = rng.integers(-1000, 1000, n).astype(i32)
        want = np.concatenate([np.sort(x[i : i + 256]) for i in range(0, n, 256)])
        yield Case(
            f"bitonic_sort-{n}", "bitonic_sort.cu", "bitonic_sort", (up(n, 256),), (256,), (x, n), {0: want}
        )


# ------------------------------------------------------------------------------------------- deep learning


def softmax_of(x: np.ndarray) -> np.ndarray:
    e = np.exp(x.astype(f64) - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


@builder
def softmax(rng: np.random.Generator) -> Iterator[Case]:
    for rows, cols in ((1, 1), (31, 33), (33, 31), (4, 1000)):
        x = normal(rng, rows, cols) * f32(5)
        want = {1: softmax_of(x).astype(f32)}
        yield Case(
            f"softmax_two_pass-{rows}x{cols}",
            "softmax.cu",
            "softmax_two_pass",
            (rows,),
            (64,),
            (x, nothing(rows, cols), cols),
            want,
            shared_mem=4 * 64,
            rtol=1e-4,
        )
        yield Case(
            f"softmax_online-{rows}x{cols}",
            "softmax.cu",
            "softmax_online",
            (up(rows, 4),),
            (32, 4),
            (x, nothing(rows, cols), rows, cols),
            want,
            rtol=1e-4,
        )


@builder
def layer_norm(rng: np.random.Generator) -> Iterator[Case]:
    for rows, cols in ((1, 2), (3, 31), (5, 33), (2, 1000)):
        x, weight, bias = normal(rng, rows, cols) + f32(3), normal(rng, cols), normal(rng, cols)
        mean = x.astype(f64).mean(1)
        rstd = 1 / np.sqrt(x.astype(f64).var(1) + 1e-5)
        y = (x - mean[:, None]) * rstd[:, None] * weight + bias
        args = (x, weight, bias, nothing(rows, cols), nothing(rows), nothing(rows), cols, f32(1e-5))
        want = {3: y.astype(f32), 4: mean.astype(f32), 5: rstd.astype(f32)}
        yield Case(
            f"layer_norm-{rows}x{cols}",
            "layer_norm.cu",
            "layer_norm",
            (rows,),
            (128,),
            args,
            want,
            rtol=1e-3,
            atol=1e-4,
        )


@builder
def cross_entropy(rng: np.random.Generator) -> Iterator[Case]:
    for rows, classes in ((1, 1), (31, 10), (33, 3), (200, 7)):
        z = normal(rng, rows, classes) * f32(3)
        targets = rng.integers(0, classes, rows)
        targets[rows // 2 :: 5] = -100
        p, kept = softmax_of(z), targets != -100
        at = np.where(kept, targets, 0)
        losses = np.where(kept, -np.log(p[np.arange(rows), at]), 0.0)
        p[np.arange(rows), at] -= 1
        args = (z, targets, nothing(rows), nothing(rows, classes), rows, classes)
        want = {2: losses.astype(f32), 3: (p * kept[:, None]).astype(f32)}
        yield Case(
            f"cross_entropy-{rows}x{classes}",
            "cross_entropy.cu",
            "cross_entropy",
            (up(rows, 32),),
            (32,),
            args,
            want,
            rtol=1e-4,
            atol=1e-5,
        )


@builder
def embedding(rng: np.random.Generator) -> Iterator[Case]:
    for tokens, width, block in ((1, 1, 32), (31, 33, 32), (33, 31, 64), (50, 100, 33)):
        table, which = normal(rng, 9, width), rng.integers(0, 9, tokens).astype(i32)
        name, launch = f"{tokens}x{width}", ((tokens,), (block,))
        args = (table, which, nothing(tokens, width), width)
        yield Case(
            f"embedding_gather-{name}", "embedding.cu", "embedding_gather", *launch, args, {2: table[which]}
        )
        dout, before = normal(rng, tokens, width), normal(rng, 9, width)
        want = before.astype(f64)
        np.add.at(want, which, dout)
        kernel, args = "embedding_scatter_add", (dout, which, before, width)
        yield Case(
            f"{kernel}-{name}", "embedding.cu", kernel, *launch, args, {2: want.astype(f32)}, atol=1e-5
        )


def conv2d_of(x: np.ndarray, w: np.ndarray, pad: int) -> np.ndarray:
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], axis=(2, 3))
    return np.einsum("nchwrs,kcrs->nkhw", windows, w)


@builder
def conv2d(rng: np.random.Generator) -> Iterator[Case]:
    for N, C, H, W, K, R, S, pad in (
        (1, 1, 1, 1, 1, 1, 1, 0),
        (2, 3, 7, 5, 4, 3, 3, 1),
        (1, 2, 9, 6, 3, 2, 3, 0),
        (3, 1, 4, 4, 2, 3, 1, 2),
    ):
        x, w = normal(rng, N, C, H, W), normal(rng, K, C, R, S)
        x64, w64, sizes = x.astype(f64), w.astype(f64), (N, C, H, W, K, R, S, pad)
        y = conv2d_of(x64, w64, pad)
        dy = normal(rng, *y.shape)
        # The gradients are linear in dy: one unit vector at a time would do; sums over windows are shorter.
        dx, dw = np.zeros((N, C, H + 2 * pad, W + 2 * pad)), np.zeros(w.shape)
        padded = np.pad(x64, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
        P, Q = y.shape[2:]
        for r in range(R):
            for s in range(S):
                dx[:, :, r : r + P, s : s + Q] += np.einsum("nkpq,kc->ncpq", dy, w64[:, :, r, s])
                dw[:, :, r, s] = np.einsum("nkpq,ncpq->kc", dy, padded[:, :, r : r + P, s : s + Q])
        dx = dx[:, :, pad : pad + H, pad : pad + W]
        name = "x".join(map(str, sizes))
        for kernel, args, want in (
            ("conv2d_forward", (x, w, nothing(*y.shape), *sizes), y),
            ("conv2d_input_gradient", (dy, w, nothing(*x.shape), *sizes), dx),
            ("conv2d_weight_gradient", (x, dy, nothing(*w.shape), *sizes), dw),
        ):
            grid, expected = (up(want.size, 64),), {2: np.ascontiguousarray(want, f32)}
            yield Case(
                f"{kernel}-{name}", "conv2d.cu", kernel, grid, (64,), args, expected, rtol=1e-4, atol=1e-4
            )


@builder
def stencil(rng: np.random.Generator) -> Iterator[Case]:
    for n in (*SIZES, 128):
        x = normal(rng, n)
        want = np.convolve(x.astype(f64), np.ones(7))[3 : 3 + n].astype(f32)
        args = (x, nothing(n), n)
        yield Case(f"stencil-{n}", "stencil.cu", "stencil", (up(n, 128),), (128,), args, {1: want}, atol=1e-5)


@builder
def conv1d_causal(rng: np.random.Generator) -> Iterator[Case]:
    for batch, channels, time in ((1, 1, 1), (2, 3, 31), (3, 2, 33), (1, 2, 1000)):
        x, w, bias = normal(rng, batch, channels, time), normal(rng, channels, 4), normal(rng, channels)
        padded = np.pad(x.astype(f64), ((0, 0), (0, 0), (3, 0)))
        v = bias[:, None] + sum(w[:, k, None] * padded[:, :, k : k + time] for k in range(4))
        args = (x, w, bias, nothing(*x.shape), channels, time)
        grid, want = (up(time, 64), channels, batch), {3: (v / (1 + np.exp(-v))).astype(f32)}
        name = f"conv1d_causal-{batch}x{channels}x{time}"
        yield Case(name, "conv1d_causal.cu", "conv1d_causal", grid, (64,), args, want, rtol=1e-4, atol=1e-5)


@builder
def selective_scan(rng: np.random.Generator) -> Iterator[Case]:
    for time, channels in ((1, 1), (31, 5), (7, 33), (40, 20)):
        u, D = normal(rng, time, channels), normal(rng, channels)
        delta = rng.uniform(0.01, 0.5, (time, channels)).astype(f32)
        A = -rng.uniform(0.1, 3, (channels, 8)).astype(f32)
        B, C = normal(rng, time, 8), normal(rng, time, 8)
        h, y = np.zeros((channels, 8)), np.zeros((time, channels))
        for t in range(time):
            step = delta[t].astype(f64)[:, None]
            h = np.exp(step * A) * h + step * B[t] * u[t][:, None]
            y[t] = h @ C[t] + D * u[t]
        args = (u, delta, A, B, C, D, nothing(time, channels), time, channels)
        yield Case(
            f"selective_scan-{time}x{channels}",
            "selective_scan.cu",
            "selective_scan",
            (up(channels, 16),),
            (16,),
            args,
            {6: y.astype(f32)},
            rtol=1e-4,
            atol=1e-4,
        )


# -------------------------------------------------------------- half as storage, barriers that count


@builder
def softmax_half(rng: np.random.Generator) -> Iterator[Case]:
    for rows, cols in ((1, 1), (3, 31), (2, 64), (5, 300)):
        x, scale = (normal(rng, rows, cols) * 4).astype(f16), f16(0.7)
        want = softmax_of(f32(scale) * x.astype(f32)).astype(f16)
        args = (x, nothing(rows, cols, dtype=f16), cols, scale)
        name = f"softmax_half-{rows}x{cols}"
        yield Case(
            name, "softmax_half.cu", "softmax_half", (rows,), (64,), args, {1: want}, rtol=2e-3, atol=1e-6
        )


@builder
def half_layout(rng: np.random.Generator) -> Iterator[Case]:
    for n in (1, 64, 200):
        x, bias, blocks = (normal(rng, n) * 30).astype(f16), f32(0.3), up(n, 64)
        x[::7] = 0
        padded = np.zeros(blocks * 64, f16)
        padded[:n] = x
        rows = padded.reshape(blocks, 64)
        one, other = rows[:, np.arange(64) ^ 1].reshape(-1)[:n], rows[:, ::-1].reshape(-1)[:n]
        value = (x.astype(f32) * f32(0.75) + other.astype(f32) * f32(0.25)).astype(f16)
        value = (f32(2) * value.astype(f32) + bias).astype(f16)
        want = {1: np.where(one != 0, value, x), 2: np.trunc(other).astype(i32) + (x != 0)}
        args = (x, nothing(n, dtype=f16), nothing(n, dtype=i32), bias, n)
        yield Case(
            f"half_layout-{n}",
            "half_layout.cu",
            "half_layout",
            (blocks,),
            (64,),
            args,
            want,
            rtol=2e-3,
            atol=1e-6,
        )
    x = normal(rng, 8 * 40).astype(f16)
    args = (x, nothing(8 * 41, dtype=f16), 40)
    want = {1: np.concatenate([x, nothing(8, dtype=f16)])}
    yield Case("half_copy", "half_layout.cu", "half_copy", (2,), (32,), args, want)


@builder
def nonzeros(rng: np.random.Generator) -> Iterator[Case]:
    for n, block in ((1, 32), (33, 33), (1000, 96), (256, 64)):
        x, blocks = rng.integers(0, 3, n).astype(i32), up(n, block)
        x[:block] = 0
        x[-block:] = 7
        padded = np.zeros(blocks * block, i32)
        padded[:n] = x
        rows, inside = (
            padded.reshape(blocks, block) != 0,
            np.arange(blocks * block).reshape(blocks, block) < n,
        )
        want = [rows.sum(1), rows.any(1), (rows | ~inside).all(1)]
        args = (x, *[nothing(blocks, dtype=i32) for _ in want], n)
        expected = {1 + i: part.astype(i32) for i, part in enumerate(want)}
        yield Case(f"nonzeros-{n}-{block}", "nonzeros.cu", "nonzeros", (blocks,), (block,), args, expected)


@builder
def jacobi(rng: np.random.Generator) -> Iterator[Case]:
    for systems, n, block, most in ((1, 1, 32, 50), (3, 20, 32, 50), (4, 33, 64, 50), (2, 10, 10, 3)):
        A, b = normal(rng, systems, n, n), normal(rng, systems, n)
        A[:, np.arange(n), np.arange(n)] = np.abs(A).sum(2) * 3 * (1 + np.arange(systems))[:, None]
        x, rounds = np.zeros((systems, n), f32), np.zeros(systems, i32)
        for s in range(systems):
            diagonal, moved = np.diag(A[s]), f32(1)
            while rounds[s] < most and moved > 1e-4:
                after = ((b[s] - (A[s] - np.diag(diagonal)) @ x[s]) / diagonal).astype(f32)
                moved, x[s] = np.abs(after - x[s]).max(), after
                rounds[s] += 1
        args = (A, b, nothing(systems, n), nothing(systems, dtype=i32), n, f32(1e-4), most)
        name = f"jacobi-{systems}x{n}-{block}"
        yield Case(
            name, "jacobi.cu", "jacobi", (systems,), (block,), args, {2: x, 3: rounds}, rtol=1e-3, atol=1e-4
        )


CASES = [case for number, make in enumerate(BUILDERS) for case in make(np.random.default_rng([2024, number]))]
FILES = {file: [case for case in CASES if case.file == file] for file in dict.fromkeys(c.file for c in CASES)}
