"""Convolution, max-pooling and causal convolution by kernels/conv.cu, forward and backward."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from minilib.cuda import cp
from minilib.functional.layers import CausalConv, Conv, MaxPool, places
from minilib.gpu.copies import contiguous
from minilib.gpu.device import blocks, fits, kernels, launch, pair
from minilib.gpu.reductions import reduce, reduce_columns
from minilib.tensor import Array, Function, Shape

OUT, LONGEST, TIME = 8, 8, 64  # as in conv.cu
PIXELS = 256  # of a tile at most
ROOM = 12_000  # floats in a block's shared memory, at most
SOME = 4_096  # floats that leave room for other blocks
BUSY = 256  # blocks that keep a GPU busy


# Windows: how a tile of the result finds its pixels of the source


@dataclass(frozen=True)
class Windows:
    """The numbers that conv.cu calls PLANES, but for the tile: each a pair, of y and x."""

    source: Shape
    result: Shape
    kernel: Shape
    up: Shape
    down: Shape
    step: Shape
    shift: Shape

    @property
    def taps(self) -> int:
        return math.prod(self.kernel)

    def turned(self) -> Windows:
        """The way back: from the result's gradient to the source's."""
        step, shift = ((-y, -x) for y, x in (self.step, self.shift))
        return Windows(self.result, self.source, self.kernel, self.down, self.up, step, shift)


@dataclass(frozen=True)
class Tile:
    """A tile of the result, and the patch of the source that it needs: rows of `wide` pixels, `row` apart."""

    windows: Windows
    sides: Shape
    tall: int
    wide: int
    row: int

    @property
    def pixels(self) -> int:
        return math.prod(self.sides)

    @property
    def patch(self) -> int:
        """Floats of one plane's patch."""
        return self.tall * self.row

    @property
    def count(self) -> int:
        """Tiles in a plane of the result."""
        return math.prod(map(blocks, self.windows.result, self.sides))

    @property
    def numbers(self) -> list[int]:
        w = self.windows
        shapes = (w.source, w.result, w.kernel, w.up, w.down, w.step, w.shift, self.sides)
        return [*(n for shape in shapes for n in shape), self.tall, self.wide, self.row]


def tile_of(w: Windows, fixed: int = 0, planes: int = 1, most: int = PIXELS) -> Tile | None:
    """The largest tile up to `most` pixels, of whole rows if it may be, with room for `planes` patches.

    And for `fixed` floats beside them. None where there is none.
    """
    x = min(w.result[1], most)
    y = min(w.result[0], most // x)
    while True:
        tall, wide = (
            ((n - 1) * up + (k - 1) * abs(step)) // down + 1
            for n, up, k, step, down in zip((y, x), w.up, w.kernel, w.step, w.down, strict=True)
        )
        narrow = x < 32 and w.up[1] == w.down[1] == 1  # rows one after the other take banks so too
        row = wide + (x - wide) % 32 if narrow else wide  # padding, against bank conflicts
        if fixed + planes * tall * row <= ROOM:
            return Tile(w, (y, x), tall, wide, row)
        if x == y == 1:
            return None
        # Rows stay whole as long as they can: neighbours load together.
        x, y = (x, y // 2) if y > 1 else (x // 2, y)


def windows_of(f: Any, x: Shape, kernel: Shape) -> Windows:
    """Of a convolution or a pooling along one axis or two; one axis is a plane of height 1."""
    result = places(x[2:], kernel, f.stride, f.padding, f.dilation)
    flat = 2 - len(kernel)
    source, result, kernel, up, step = (
        (1,) * flat + tuple(one) for one in (x[2:], result, kernel, f.stride, f.dilation)
    )
    shift = (0,) * flat + tuple(-p for p in f.padding)
    return Windows(source, result, kernel, up, (1, 1), step, shift)


def run(name: str, grid: int, block: Shape, arrays: tuple[Array, ...], numbers: list[int], room: int) -> None:
    args = (*arrays, *map(np.int32, numbers))
    launch(conv_kernels()(name), (grid,), block, args, 4 * room)


@functools.cache
def conv_kernels() -> Callable[[str], Any]:
    return kernels("conv")


# Convolution


@dataclass(frozen=True)
class Plan:
    """The tiles of a convolution and of the two ways back; `channels` of x for a block of the weight's."""

    forward: Tile
    to_x: Tile
    to_weight: Tile
    channels: int


@functools.lru_cache(maxsize=256)
def planned(windows: Windows, sources: int) -> Plan | None:
    """None where a kernel or its steps are too large for shared memory or for a block."""
    weights = OUT * windows.taps
    forward, to_x = tile_of(windows, weights), tile_of(windows.turned(), weights)
    most = OUT * PIXELS + 1024  # numbers of dy, and one for each thread
    to_weight = tile_of(windows, most)
    if forward is None or to_x is None or to_weight is None or windows.taps >= 512:
        return None
    channels = min((ROOM - most) // to_weight.patch, max((PIXELS - 1) // windows.taps, 1), sources)
    return Plan(forward, to_x, to_weight, channels)


@pair(Conv)
class ConvKernels:
    def forward(self, f: Any, x: Array, weight: Array, bias: Array | None = None) -> Array:
        given = (x, weight) if bias is None else (x, weight, bias)
        if x.ndim > 4 or not fits(*given) or not x.size or not weight.size:
            return NotImplemented
        windows = windows_of(f, x.shape, weight.shape[2:])
        shape = (len(x), len(weight), *windows.result[4 - x.ndim :])
        plan = planned(windows, weight.shape[1])
        if plan is None or math.prod(shape) >= 2**31:
            return NotImplemented
        f.saved = x if f.needs(1) else None, weight if f.needs(0) else None
        y = cp.empty(shape, np.float32)
        outs = len(weight) // f.groups
        added = weight if bias is None else bias
        numbers = [f.groups, weight.shape[1], outs, int(bias is not None)]
        convolve("conv", plan.forward, (x, weight, added, y), numbers, weight.shape[1], outs)
        return y

    def backward(self, f: Any, grad: Array) -> tuple[Array | None, ...]:
        x, weight = f.saved
        grad, dx, dw, db = contiguous(grad), None, None, None
        x_shape, w_shape = (one.shape for one in f.inputs[:2])
        plan = planned(windows_of(f, x_shape, w_shape[2:]), w_shape[1])
        assert plan is not None  # forward has seen to it
        outs = w_shape[0] // f.groups
        if weight is not None:
            dx = cp.empty(x_shape, np.float32)
            numbers = [f.groups, outs, w_shape[1]]
            convolve("conv_backward_x", plan.to_x, (grad, weight, dx), numbers, outs, w_shape[1])
        if x is not None:
            dw, db = weight_gradient(plan, grad, x, w_shape, f.groups)
        elif len(f.inputs) == 3 and f.needs(2):
            db = reduce(grad, (0, *range(2, grad.ndim)))
        return (dx, dw, db) if len(f.inputs) == 3 else (dx, dw)


def convolve(
    name: str, tile: Tile, arrays: tuple[Array, ...], numbers: list[int], sources: int, outs: int
) -> None:
    """Run `conv` or `conv_backward_x`; the last of `arrays` is written."""
    each = tile.patch + OUT * tile.windows.taps
    chunk = min(max(SOME // each, 1), sources)
    inputs = map(contiguous, arrays[:-1])
    grid = len(arrays[-1]) * numbers[0] * blocks(outs, OUT) * tile.count
    threads = blocks(tile.pixels, 32) * 32
    run(name, grid, (threads,), (*inputs, arrays[-1]), [*numbers, chunk, *tile.numbers], chunk * each)


def weight_gradient(plan: Plan, grad: Array, x: Array, shape: Shape, groups: int) -> tuple[Array, Array]:
    """The gradients of weight and bias: of some images at a time, then added up."""
    tile, sources, outs = plan.to_weight, shape[1], shape[0] // groups
    shares = groups * blocks(outs, OUT) * blocks(sources, plan.channels)
    images = blocks(len(x), min(max(BUSY // shares, 1), len(x)))
    parts, size = blocks(len(x), images), math.prod(shape)
    pairs = plan.channels * tile.windows.taps + 1
    threads = blocks(pairs * max(PIXELS // pairs, 1), 32) * 32
    # Each part its own row: no atomics, a fixed order.
    partial = cp.empty((parts, size + shape[0]), np.float32)
    numbers = [groups, sources, outs, len(x), images, plan.channels, *tile.numbers]
    room = OUT * tile.pixels + plan.channels * tile.patch + threads
    run(
        "conv_backward_weight",
        parts * shares,
        (threads,),
        (grad, contiguous(x), partial),
        numbers,
        room,
    )
    total = partial[0] if parts == 1 else reduce_columns(partial)
    return total[:size].reshape(shape), total[size:]


# Max-pooling


@pair(MaxPool)
class MaxPoolKernels:
    def forward(self, f: Any, x: Array) -> Array:
        tile = pool_tile(f, x.shape, False) if x.ndim < 5 and x.size and fits(x) else None
        if tile is None or pool_tile(f, x.shape, True) is None or tile.windows.taps > 255:
            return NotImplemented
        y = cp.empty((*x.shape[:2], *tile.windows.result[4 - x.ndim :]), np.float32)
        winner = cp.empty(y.shape, np.uint8)  # hence at most 255 taps
        f.saved = (winner,)
        pool("max_pool", tile, (contiguous(x), y, winner), 1)
        return y

    def backward(self, f: Any, grad: Array) -> Array:
        (winner,), shape = f.saved, f.inputs[0].shape
        dx, tile = cp.empty(shape, np.float32), pool_tile(f, shape, True)
        assert tile is not None  # forward has seen to it
        pool("max_pool_backward", tile, (contiguous(grad), winner, dx), 2)
        return dx


def pool_tile(f: Any, shape: Shape, back: bool) -> Tile | None:
    windows = windows_of(f, shape, f.kernel)
    return tile_of(windows.turned() if back else windows, 0, 2 if back else 1, 4 * PIXELS)


def pool(name: str, tile: Tile, arrays: tuple[Array, ...], each: int) -> None:
    """Run a kernel with `each` patches for a plane, and planes enough for its threads."""
    count = math.prod(arrays[0].shape[:2])
    chunk = max(min(4 * PIXELS // tile.pixels, SOME // (each * tile.patch), count), 1)
    room = each * chunk * tile.patch
    run(name, blocks(count, chunk) * tile.count, (PIXELS,), arrays, [count, chunk, *tile.numbers], room)


# Causal convolution


@pair(CausalConv)
class CausalConvKernels:
    def forward(self, f: Function, x: Array, weight: Array, bias: Array | None = None) -> Array:
        given = (x, weight) if bias is None else (x, weight, bias)
        if not fits(*given) or not x.size or not 1 <= weight.shape[2] <= LONGEST:
            return NotImplemented
        f.saved = x, weight
        y = cp.empty(x.shape, np.float32)
        added = weight if bias is None else bias
        walk("causal_conv", (x, weight, added, y), x.shape, weight.shape[2], int(bias is not None))
        return y

    def backward(self, f: Function, grad: Array) -> tuple[Array, ...]:
        x, weight = f.saved
        dx, size = cp.empty(x.shape, np.float32), weight.size
        partial = cp.empty((len(x) * blocks(x.shape[1], TIME), size + x.shape[2]), np.float32)
        walk("causal_conv_backward", (grad, x, weight, dx, partial), x.shape, weight.shape[2])
        total = reduce_columns(partial)
        dw = total[:size].reshape(weight.shape)
        return (dx, dw, total[size:]) if len(f.inputs) == 3 else (dx, dw)


def walk(name: str, arrays: tuple[Array, ...], shape: Shape, taps: int, *more: int) -> None:
    """Run a kernel with a thread for each channel and TIME tokens of `shape` (B, T, E)."""
    batch, length, width = shape
    threads = min(128, blocks(width, 32) * 32)
    grid = blocks(width, threads) * blocks(length, TIME) * batch
    arrays = tuple(map(contiguous, arrays))
    run(name, grid, (threads,), arrays, [length, width, taps, *more], threads * taps)
