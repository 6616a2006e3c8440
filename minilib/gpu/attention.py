"""Causal attention whose scores never leave the chip, and the selective scan."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from minilib.cuda import cp
from minilib.functional.attention import CausalAttention
from minilib.functional.scan import ScanKernel, SelectiveScan
from minilib.gpu.copies import contiguous
from minilib.gpu.device import MOST, blocks, fits, kernels, launch, pair
from minilib.gpu.elements import run_elementwise
from minilib.gpu.reductions import reduce_rows
from minilib.gpu.steps import draws
from minilib.tensor import Array

TILE, WIDEST = 16, 64  # as in flash.cu


@cache
def flash_kernels() -> Any:
    return kernels("flash")


@pair(CausalAttention)
class FlashKernels:
    """Takes heads of at most 64 numbers, and dropout that is counted."""

    def forward(self, f: Any, *arrays: Array) -> Array:
        heads, x = f.n_head, arrays[0]
        channels = x.shape[2] // (3 if f.packed else 1)
        masked, narrow = len(arrays) == (2 if f.packed else 4), channels <= WIDEST * heads
        if masked or not (narrow and fits(*arrays)) or not x.size or max(len(x), heads) > MOST:
            return NotImplemented
        if f.dropped is not None and len(x) * heads * x.shape[1] * arrays[-1].shape[1] >= 2**34:
            return NotImplemented  # four draws to each number of 32 bits
        arrays = tuple(contiguous(array) for array in arrays)
        q, k, v = self.parts(f, arrays)
        batch, time = x.shape[:2]
        out, lse = cp.empty((batch, time, channels), np.float32), cp.empty((batch, heads, time), np.float32)
        self.run(f, "flash", (q, k, v, out, lse), (q, k, heads))
        f.saved = *arrays, out, lse
        return out

    def backward(self, f: Any, grad: Array) -> Any:
        *arrays, out, lse = f.saved
        q, k, v = self.parts(f, arrays)
        grad = contiguous(grad)
        grads = [cp.empty(array.shape, np.float32) for array in arrays]
        dq, dk, dv = self.parts(f, grads)
        product = cp.empty(out.shape, np.float32)
        run_elementwise({"x": grad, "y": out}, {"z": product}, ["z = x * y"])
        by_head = product.reshape(*out.shape[:2], f.n_head, -1).swapaxes(1, 2)
        # Rows of grad * out: arXiv:2205.14135, eq. 4.
        dots = reduce_rows(contiguous(by_head).reshape(lse.size, -1))
        self.run(f, "flash_dq", (grad, q, k, v, lse, dots, dq), (q, k, f.n_head))
        # Scores again: none are kept.
        self.run(f, "flash_dkv", (grad, q, k, v, lse, dots, dk, dv), (q, k, f.n_head))
        return tuple(grads)

    def parts(self, f: Any, arrays: Any) -> list[Array]:
        """q, k and v: the arrays, or the three parts of a packed one."""
        if not f.packed:
            return list(arrays)
        width = arrays[0].shape[2] // 3
        return [arrays[0][:, :, i * width : (i + 1) * width] for i in range(3)]

    def run(self, f: Any, name: str, arrays: Any, sizes: tuple[Array, Array, int]) -> None:
        q, k, heads = sizes
        (batch, time, channels), seen = q.shape, k.shape[1]
        tiles = blocks(seen if name == "flash_dkv" else time, TILE)
        steps = [array.strides[1] // array.itemsize for array in (q, k)]
        numbers = map(np.int32, (time, seen, channels // heads, *steps))
        args = (*[array.data for array in arrays], *numbers, *draws(f.dropped))
        launch(flash_kernels()(name), (tiles, heads, batch), (TILE, TILE), args)


class LaunchedScan(ScanKernel):
    """One whose launches `reports()` sees."""

    name = "ScanKernel"

    def run(self, *args: Any) -> None:
        launch(*args)


@pair(ScanKernel)
@pair(SelectiveScan)
class ScanKernels:
    """kernels/scan.cu, whatever way of scanning was asked for; states of at most 32 numbers."""

    def forward(self, f: Any, *arrays: Array) -> Array:
        if not fits(*arrays) or arrays[2].shape[1] > 32:
            return NotImplemented
        f.by_kernel = LaunchedScan(f.state)
        f.by_kernel.xp = f.xp
        out = f.by_kernel.forward(*arrays)
        f.saved, f.by_kernel.saved = f.by_kernel.saved, ()  # the engine lets go of the one
        return out

    def backward(self, f: Any, grad: Array) -> Any:
        f.by_kernel.saved = f.saved
        grads = f.by_kernel.backward(grad)
        f.by_kernel.saved = ()
        return grads
