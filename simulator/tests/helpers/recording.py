"""Drives a Recorder as a kernel would: one call is one instruction of all threads of the grid."""

from __future__ import annotations

import math

import numpy as np

from warplens.detect.recorder import Recorder

SOURCE = "\n".join(f"line {n};" for n in range(1, 41))


class FakeMemory:
    def __init__(
        self,
        name,
        count,
        dtype="float32",
        space="global",
        base=None,
        low=0,
        high=None,
        initialised=None,
        shape=None,
    ):
        self.name, self.space, self.dtype = name, space, np.dtype(dtype)
        self.nbytes = count * self.dtype.itemsize
        self.base = (0 if space == "shared" else 0x7000_0000_0000) if base is None else base
        self.low, self.high = low, self.nbytes if high is None else high
        self.initialised = space in ("global", "constant") if initialised is None else initialised
        if shape is not None:
            self.shape = shape


class Run:
    """A launch: `t` and `b` are thread and block numbers as (W, 32) matrices."""

    def __init__(self, grid=1, block=32):
        self.grid = (grid, 1, 1) if isinstance(grid, int) else grid
        self.block = (block, 1, 1) if isinstance(block, int) else block
        self.recorder = Recorder("kernel.cu", SOURCE, self.grid, self.block)
        blocks, threads = math.prod(self.grid), math.prod(self.block)
        per_block = -(-threads // 32)
        self.warps = np.arange(blocks * per_block, dtype=np.int64)
        lanes = (self.warps[:, None] % per_block) * 32 + np.arange(32)
        self.t = lanes.astype(np.int64)
        self.b = np.broadcast_to(self.warps[:, None] // per_block, lanes.shape).astype(np.int64)
        self.g = self.b * threads + self.t
        self.exists = lanes < threads
        self.exited = np.zeros(lanes.shape, dtype=bool)
        self.recorder.chunk(0, blocks)

    def _active(self, where):
        return self.exists & ~self.exited & np.broadcast_to(where, self.exists.shape)

    def access(self, kind, line, memory, index, where=True, size=None, value=None):
        size = size or memory.dtype.itemsize
        offset = np.broadcast_to(np.asarray(index), self.t.shape) * memory.dtype.itemsize + memory.low
        if kind == "store" and value is None:
            value = self.g.astype(memory.dtype)  # each thread another value
        if value is not None and not isinstance(value, list):
            value = np.broadcast_to(np.asarray(value, dtype=memory.dtype), self.t.shape)
        active = self._active(where)
        return self.recorder.access(
            line, kind, memory, offset.astype(np.int64), size, active, self.warps, value
        )

    def load(self, line, memory, index, where=True, size=None):
        return self.access("load", line, memory, index, where, size)

    def store(self, line, memory, index, where=True, size=None, value=None):
        return self.access("store", line, memory, index, where, size, value)

    def atomic(self, line, memory, index, where=True):
        return self.access("atomic", line, memory, index, where)

    def barrier(self, line, where=True):
        self.recorder.barrier(line, self._active(where), self.warps, self.exited)

    def syncwarp(self, line, mask=0xFFFFFFFF, where=True):
        masks = np.broadcast_to(np.asarray(mask, dtype=np.uint32), self.t.shape)
        self.recorder.syncwarp(line, masks, self._active(where), self.warps, self.exited)

    def shuffle(self, line, source, mask=0xFFFFFFFF, where=True):
        masks = np.broadcast_to(np.asarray(mask, dtype=np.uint32), self.t.shape)
        source = np.broadcast_to(np.asarray(source), self.t.shape)
        active = self._active(where)
        self.recorder.warp_intrinsic(line, "__shfl_sync", masks, active, self.warps, self.exited, source)

    def fence(self, line, where=True):
        self.recorder.fence(line, self._active(where), self.warps)

    def leave(self, where):
        self.exited = self.exited | np.broadcast_to(where, self.exited.shape)

    def report(self, outputs=()):
        return self.recorder.report(list(outputs))


def shared(name, count, dtype="float32", **options):
    options.setdefault("initialised", True)
    return FakeMemory(name, count, dtype, "shared", **options)
