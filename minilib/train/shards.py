"""Shards: a batch in parts, worked out at the same time by threads or processes.

Taught in solutions/03f_training.ipynb: what it exports is edited there, then `make promote`.
"""

from __future__ import annotations

import itertools
import mmap
import multiprocessing
import signal
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, TypeAlias

import numpy as np

from minilib import functional as F
from minilib.nn import Module
from minilib.parallel import alone, memory_kept, one_blas_thread
from minilib.tensor import Array, Tensor, mode, propagate

__all__ = [
    "Batch", "Key", "Loss", "ProcessShards", "Share", "ThreadShards", "averaged", "cut", "first_tensor",
    "gradients", "parts", "shared",
]  # fmt: skip

Batch: TypeAlias = Any  # tensors, or tuples and dicts of tensors, whose axis 0 counts the samples
Loss: TypeAlias = Callable[[Module, Batch], tuple[Tensor, int]]
Key: TypeAlias = tuple[int, int, int]  # seed, step, number of the first sample; `keyed_dropout` counts layers
Share: TypeAlias = tuple[float, int, list[Array | None]]  # loss sum, count, gradient of each parameter


# The parts of a batch


def parts(batch: Batch, n: int) -> list[Batch]:
    """A batch cut along axis 0 into at most `n` parts that differ by one sample at most."""
    size = len(first_tensor(batch))
    cuts = [size * i // n for i in range(n + 1)]  # whole numbers: parts differ by one at most
    return [cut(batch, start, stop) for start, stop in itertools.pairwise(cuts) if stop > start]


def first_tensor(batch: Batch) -> Tensor:
    """A tensor of the batch, to count its samples by."""
    if isinstance(batch, Mapping):
        return first_tensor(next(iter(batch.values())))
    return first_tensor(batch[0]) if isinstance(batch, tuple | list) else batch


def cut(batch: Batch, start: int, stop: int) -> Batch:
    """The samples from `start` to `stop` of every tensor of the batch."""
    if isinstance(batch, Mapping):
        return {key: cut(value, start, stop) for key, value in batch.items()}
    if isinstance(batch, tuple | list):
        return tuple(cut(value, start, stop) for value in batch)
    return batch[start:stop]


# The gradients of one part, and of all


def gradients(loss: Loss, model: Module, batch: Batch, params: Sequence[Tensor], key: Key) -> Share:
    """Loss sum, count and the gradient of each parameter, whose own `grad` stays as it is.

    Dropout draws by `key`, so that a sample gets the same mask in whichever shard it is.
    """
    with F.keyed_dropout(*key):
        total, count = loss(model, batch)
    if total.function is None:
        raise RuntimeError("the loss does not depend on any parameter: is it under no_grad, or frozen?")
    # Not backward(): the threads share the parameters.
    found = propagate(total.function, np.ones_like(total.data))
    return float(total.item()), count, [found[p][0] if p in found else None for p in params]


def averaged(shares: Sequence[Share]) -> list[Array | None]:
    """The gradient of the mean loss for each parameter: summed gradients over summed counts."""
    count = max(sum(share[1] for share in shares), 1)  # divided once: parts may have unequal counts
    means: list[Array | None] = []
    for grads in zip(*(share[2] for share in shares)):
        there = [grad for grad in grads if grad is not None]
        means.append(sum(there[1:], there[0]) / there[0].dtype.type(count) if there else None)
    return means


# Threads


class ThreadShards:
    """One thread for each part, since NumPy lets go of Python's lock. BLAS keeps to one thread each."""

    def __init__(self, n: int, loss: Loss, model: Module, params: Sequence[Tensor]) -> None:
        self.loss, self.model, self.params = loss, model, params
        self.pool = ThreadPoolExecutor(n) if n > 1 else None

    def run(self, work: Sequence[tuple[Batch, Key]]) -> list[Share]:
        """The share of each part, in order."""
        if self.pool is None:
            return [self._one(batch, key, mode.grad_enabled) for batch, key in work]
        with one_blas_thread():
            found = [self.pool.submit(self._alone, batch, key, mode.grad_enabled) for batch, key in work]
            # In the order of the parts: sums of floats depend on it.
            return [future.result() for future in found]

    def _one(self, batch: Batch, key: Key, grad_enabled: bool) -> Share:
        mode.grad_enabled = grad_enabled  # each thread has its own
        return gradients(self.loss, self.model, batch, self.params, key)

    def _alone(self, batch: Batch, key: Key, grad_enabled: bool) -> Share:
        with alone():
            return self._one(batch, key, grad_enabled)

    def close(self) -> None:
        """End the threads."""
        if self.pool is not None:
            self.pool.shutdown(cancel_futures=True)


# Processes


class ProcessShards:
    """One process for each part. Parameters lie in memory that all of them see; gradients come back there.

    Each process has a copy of the model, made by `fork` (Linux, macOS). Buffers, such as batch norm's
    averages, stay with their process.
    """

    def __init__(self, n: int, loss: Loss, model: Module, params: Sequence[Tensor]) -> None:
        if "fork" not in multiprocessing.get_all_start_methods():
            raise RuntimeError("shards in processes need fork, which is missing here: use workers='threads'")
        context = multiprocessing.get_context("fork")
        self.loss, self.model, self.params = loss, model, params
        self.places = [shared(p.data) for p in params]
        self.grads = [[shared(p.data) for p in params] for _ in range(n)]
        self._share()
        self.pipes: list[Connection] = []
        self.processes = []
        for i in range(n):
            ours, theirs = context.Pipe()
            self.pipes.append(ours)
            self.processes.append(context.Process(target=self._serve, args=(i, theirs), daemon=True))
            self.processes[i].start()
            theirs.close()

    def _share(self) -> None:
        """Parameters that were put elsewhere come back into shared memory."""
        for p, place in zip(self.params, self.places):
            if p.data is not place:
                # Somebody has put another array there, such as load_state_dict on another dtype.
                place[...] = p.data
                p.data = place

    def _serve(self, i: int, pipe: Connection) -> None:
        """A worker: parts of batches in, loss sums, counts and gradients out, until the pipe is closed."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one who asks
        for theirs in self.pipes:
            theirs.close()  # a copy that was inherited would keep the pipe open when the other end is gone
        with suppress(EOFError, OSError), one_blas_thread(), alone(), memory_kept():
            while True:
                batch, key = pipe.recv()
                try:
                    total, count, grads = gradients(self.loss, self.model, batch, self.params, key)
                except Exception as error:
                    pipe.send(f"{type(error).__name__}: {error}")
                    continue
                for place, grad in zip(self.grads[i], grads):
                    if grad is not None:
                        place[...] = grad
                pipe.send((total, count, [grad is not None for grad in grads]))

    def run(self, work: Sequence[tuple[Batch, Key]]) -> list[Share]:
        """The share of each part, in order. Raises RuntimeError for an error in a process, or its death."""
        self._share()
        shares: list[Share] = []
        i = 0
        try:
            for i, item in enumerate(work):
                self.pipes[i].send(item)
            for i in range(len(work)):
                answer = self.pipes[i].recv()
                if isinstance(answer, str):
                    raise RuntimeError(f"shard {i} failed: {answer}")
                total, count, there = answer
                shares.append((total, count, [g if yes else None for g, yes in zip(self.grads[i], there)]))
        except (EOFError, OSError):
            self.processes[i].join(1)
            code = self.processes[i].exitcode
            raise RuntimeError(f"the process of shard {i} ended (exit code {code}): out of memory?") from None
        return shares

    def close(self) -> None:
        """End the processes; the parameters get memory of their own again."""
        for pipe in self.pipes:
            pipe.close()
        for process in self.processes:
            process.join(1)
            if process.is_alive():
                process.kill()
                process.join()
        for p in self.params:
            p.data = p.data.copy()


def shared(array: Array) -> Array:
    """An array like this one, in memory that processes forked from here see as well."""
    memory = mmap.mmap(-1, max(array.nbytes, 1))  # anonymous and shared: survives fork, needs no name or file
    made = np.frombuffer(memory, array.dtype, array.size).reshape(array.shape)
    made[...] = array
    return made
