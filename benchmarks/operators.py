"""Our selective scan as an operator in PyTorch, beside a loop there; and what a call of an operator costs.

    python -m benchmarks.operators                            # writes results/operators.json, README.md
    python -m benchmarks.operators --case forward --rounds 1  # a part is only printed

The scan has one thread, and both processes keep memory that was freed, as in a training by `Trainer`. The
loop is that of benchmarks/scan.py. Calls are of an operator that returns an empty tensor: what is left is
the way to it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.scan import loop_over_unbind
from benchmarks.sidebyside import Call, Case, Suite, main

TOKENS, WIDTH, STATE = 512, 512, 16
CALLS = 1000


@dataclass(frozen=True)
class Library:
    """A scan of PyTorch's tensors, and operators by the names of one library over the tensors of another."""

    scan: Callable[..., Any]
    library: Any
    tensors: Any
    kept: Any  # what must not be let go of

    def numpy(self, result: Any) -> Any:
        return np.asarray(result)


def minilib(threads: int) -> Library:
    import minilib.library
    import minilib.tensor

    torch_of(threads)
    return Library(ours, minilib.library, minilib.tensor, kept())


def pytorch(threads: int) -> Library:
    torch = torch_of(threads)
    return Library(loop_over_unbind, torch.library, torch, kept())


def kept() -> Any:
    from minilib.parallel import memory_kept

    block = memory_kept()
    block.__enter__()
    return block


def torch_of(threads: int) -> Any:
    """PyTorch, with as many threads for it and for NumPy."""
    try:
        import torch
    except ImportError:
        sys.exit("error: PyTorch is missing: `pip install -e '.[torch]'`")
    from minilib.parallel import set_num_threads

    torch.set_num_threads(threads)
    set_num_threads(threads)
    threadpool_limits(threads)
    return torch


def ours(*tensors: Any) -> Any:
    import torch

    import minilib.interop.torch  # noqa: F401 (it defines the operator)

    y, _ = torch.ops.minilib.selective_scan(*tensors)
    return y


def inputs() -> list[Any]:
    """x, delta, A, B, C and D as a Mamba begins with them, tensors of PyTorch."""
    import torch

    rng = np.random.default_rng(0)
    x, step = (rng.standard_normal((1, TOKENS, WIDTH), np.float32) for _ in range(2))
    B, C = (rng.standard_normal((1, TOKENS, STATE), np.float32) for _ in range(2))
    A = -np.tile(np.arange(1, STATE + 1, dtype=np.float32), (WIDTH, 1))
    arrays = [x, np.log1p(np.exp(step - 4)), A, B, C, np.ones(WIDTH, np.float32)]
    return [torch.from_numpy(array) for array in arrays]


def forward(library: Library) -> Call:
    import torch

    tensors, scan = inputs(), library.scan

    def call() -> Any:
        with torch.no_grad():
            return scan(*tensors)

    return call


def both(library: Library) -> Call:
    import torch

    tensors, scan = [x.requires_grad_() for x in inputs()], library.scan
    one = torch.ones(1, TOKENS, WIDTH)

    def call() -> Any:
        for each in tensors:
            each.grad = None
        scan(*tensors).backward(one)
        return torch.cat([each.grad.flatten() for each in tensors])

    return call


def called(library: Library, grad: bool = False) -> Call:
    """A thousand calls of an operator that computes nothing."""
    t = library.tensors

    def nothing(x: Any) -> Any:
        return t.empty(0)

    nothing.__annotations__ = {"x": t.Tensor, "return": t.Tensor}
    op = library.library.custom_op("bench::nothing", nothing, mutates_args=())
    op.register_fake(nothing)
    op.register_autograd(lambda ctx, grad: grad)
    x = t.ones(3, requires_grad=grad)

    def call() -> Any:
        for _ in range(CALLS):
            op(x)
        return np.zeros(1)

    return call


def called_with_grad(library: Library) -> Call:
    return called(library, grad=True)


SUITE = Suite(
    module="benchmarks.operators",
    title=f"operators, on one thread; the scan of {TOKENS} tokens, {WIDTH} channels of {STATE} numbers",
    libraries={"minilib": minilib, "torch": pytorch},
    names={"minilib": "ours", "torch": "PyTorch's"},
    versions=("numpy", "torch"),
    cases=(
        Case("forward", "selective scan in PyTorch: our operator, a loop over `unbind`", forward, 0.5),
        Case("both", "the same, forward and backward", both, 0.5),
        Case("call", "a call of a Python operator: `minilib.library`, `torch.library`", called, per=CALLS),
        Case("call-grad", "the same where a gradient is wanted", called_with_grad, per=CALLS),
    ),
    threads=1,
)

if __name__ == "__main__":
    main(SUITE)
