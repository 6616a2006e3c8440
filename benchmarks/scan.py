"""Mamba's scan beside PyTorch's on the CPU, forward and with backward; the same inputs, a process each.

    python -m benchmarks.scan                            # writes benchmarks/results/scan.json and README.md
    python -m benchmarks.scan --case forward --rounds 1  # a part is only printed

Two sizes, each of 4.2 million numbers of state: few long samples, and many short ones as in training on
selective copying. Ours keeps its memory, as in a training by `Trainer`. The peer is the fair form of what is
written in PyTorch: exp and products for all tokens at once, a loop over `unbind` (an index a step would
make backward quadratic), one einsum at the end. The other form that we tried, `addcmul` and a product with C
in the loop, was slower at both sizes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.sidebyside import Call, Case, Suite, main

WIDTH, STATE = 128, 16
LONG, SHORT = (4, 512), (32, 64)  # samples and tokens


@dataclass(frozen=True)
class Library:
    """How one library scans."""

    forward: Callable[[list[Any]], Call]
    both: Callable[[list[Any]], Call]
    kept: Any = None  # what must not be let go of

    def numpy(self, result: Any) -> Any:
        return np.asarray(result)


def inputs(batch: int, tokens: int) -> list[Any]:
    """x, delta, A, B, C and D as a Mamba begins with them."""
    rng = np.random.default_rng(0)
    x, step = (rng.standard_normal((batch, tokens, WIDTH), np.float32) for _ in range(2))
    B, C = (rng.standard_normal((batch, tokens, STATE), np.float32) for _ in range(2))
    A = -np.tile(np.arange(1, STATE + 1, dtype=np.float32), (WIDTH, 1))
    return [x, np.log1p(np.exp(step - 4)), A, B, C, np.ones(WIDTH, np.float32)]


def minilib(threads: int) -> Library:
    threadpool_limits(threads)
    from minilib.functional.scan import selective_scan
    from minilib.parallel import memory_kept
    from minilib.tensor import no_grad, tensor

    kept = memory_kept()  # as in a training
    kept.__enter__()

    def forward(arrays: list[Any]) -> Call:
        tensors: Any = [tensor(array) for array in arrays]

        def call() -> Any:
            with no_grad():
                return selective_scan(*tensors).numpy()

        return call

    def both(arrays: list[Any]) -> Call:
        tensors: Any = [tensor(array, requires_grad=True) for array in arrays]
        one = tensor(np.ones_like(arrays[0]))

        def call() -> Any:
            for each in tensors:
                each.grad = None
            selective_scan(*tensors).backward(one)
            return np.concatenate([each.grad.numpy().ravel() for each in tensors])

        return call

    return Library(forward, both, kept)


def loop_over_unbind(x: Any, delta: Any, A: Any, B: Any, C: Any, D: Any) -> Any:
    """The scan in PyTorch: all tokens' exp and products at once, then a step after the other."""
    import torch

    a = torch.exp(delta.unsqueeze(-1) * A)  # (B, T, E, N)
    b = (delta * x).unsqueeze(-1) * B.unsqueeze(2)
    h, states = torch.zeros_like(b[:, 0]), []
    for now, come in zip(a.unbind(1), b.unbind(1)):
        h = now * h + come
        states.append(h)
    return torch.einsum("bten,btn->bte", torch.stack(states, 1), C) + D * x


def pytorch(threads: int) -> Library:
    try:
        import torch
    except ImportError:
        sys.exit("error: PyTorch is missing: `make test-all` installs it")
    torch.set_num_threads(threads)

    def forward(arrays: list[Any]) -> Call:
        tensors = [torch.from_numpy(array) for array in arrays]

        def call() -> Any:
            with torch.no_grad():
                return loop_over_unbind(*tensors).numpy()

        return call

    def both(arrays: list[Any]) -> Call:
        tensors: Any = [torch.from_numpy(array).requires_grad_() for array in arrays]
        one = torch.ones_like(tensors[0])

        def call() -> Any:
            for each in tensors:
                each.grad = None
            loop_over_unbind(*tensors).backward(one)
            return np.concatenate([each.grad.numpy().ravel() for each in tensors])

        return call

    return Library(forward, both)


def forward(library: Library, size: tuple[int, int] = LONG) -> Call:
    return library.forward(inputs(*size))


def both(library: Library, size: tuple[int, int] = LONG) -> Call:
    return library.both(inputs(*size))


SUITE = Suite(
    module="benchmarks.scan",
    title=f"selective scan, {WIDTH} channels of {STATE} numbers, on 2 threads",
    libraries={"minilib": minilib, "torch": pytorch},
    names={"minilib": "`minilib`", "torch": "PyTorch"},
    versions=("numpy", "torch"),
    cases=(
        Case("forward", "forward, 4 samples of 512 tokens", forward, 0.4),
        Case("both", "forward and backward, 4 samples of 512 tokens", both, 0.45),
        Case("forward-short", "forward, 32 samples of 64 tokens", partial(forward, size=SHORT), 0.4),
        Case("both-short", "forward and backward, 32 samples of 64 tokens", partial(both, size=SHORT), 0.45),
    ),
)

if __name__ == "__main__":
    main(SUITE)
