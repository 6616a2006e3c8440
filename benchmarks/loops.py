"""Compiled loops, `minilib.compiled`, beside PyTorch on the CPU: other benchmarks' cases, and some more.

    python -m benchmarks.loops                               # writes results/loops.json and README.md
    python -m benchmarks.loops --case layer_norm --rounds 1  # a part is only printed

Loops are compiled before the clock runs: the first call of a case is a warm-up.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks import gpt, mamba, scan, tensor
from benchmarks.sidebyside import Call, Case, Suite, main


class Library:
    """One side of a case that stands in another benchmark: its name there, `minilib`, `pytorch` or `peer`."""

    def __init__(self, names: tuple[str, ...], threads: int) -> None:
        self.names, self.threads = names, threads
        self.chosen: Any = None

    def of(self, module: Any) -> Any:
        name = next(name for name in self.names if hasattr(module, name))
        self.chosen = getattr(module, name)(self.threads)
        return self.chosen

    def numpy(self, result: Any) -> Any:
        return np.asarray(result) if isinstance(result, float | np.ndarray) else self.chosen.numpy(result)


def compiled(threads: int) -> Library:
    import minilib.compiled  # noqa: F401 (turns the loops on)

    return Library(("minilib",), threads)


def plain(threads: int) -> Library:
    return Library(("minilib",), threads)


def pytorch(threads: int) -> Library:
    return Library(("pytorch", "peer"), threads)


def case(module: Any, setup: Callable[[Any], Call]) -> Callable[[Library], Call]:
    return lambda library: setup(library.of(module))


def rms_norm(library: Any) -> Call:
    x, weight = library.leaf(tensor.draw(*tensor.SIZE)), library.leaf(tensor.draw(tensor.SIZE[1], seed=3))
    return tensor.there_and_back(library, lambda: library.F.rms_norm(x, tensor.SIZE[1:], weight), x, weight)


def curve(apply: Callable[[Any, Any], Any]) -> Callable[[Any], Call]:
    """Of each number by itself, or along the rows: apply(library, x), both ways."""

    def setup(library: Any) -> Call:
        x = library.leaf(tensor.draw(*tensor.SIZE))
        return tensor.there_and_back(library, lambda: apply(library, x), x)

    return setup


softmax = curve(lambda library, x: library.F.softmax(x, -1))
relu, tanh = curve(lambda _, x: x.relu()), curve(lambda _, x: x.tanh())
clip = curve(lambda _, x: x.clip(-1, 1))


one_channel, many = tensor.convolution(1, 16), tensor.convolution(16, 32)
mlp = tensor.with_adamw(784, 256, 256, 10, batch=128)
SUITE = Suite(
    module="benchmarks.loops",
    title="compiled loops, forward and backward, on 2 threads",
    libraries={"compiled": compiled, "plain": plain, "torch": pytorch},
    names={"compiled": "`minilib.compiled`", "plain": "plain", "torch": "PyTorch"},
    versions=("numpy", "numba", "torch"),
    cases=(
        Case("layer_norm", "layer norm, 4096 x 512", case(tensor, tensor.layer_norm), 0.6),
        Case("rms_norm", "RMS norm, 4096 x 512", case(tensor, rms_norm), 0.7),
        Case("softmax", "softmax, 4096 x 512", case(tensor, softmax), 0.7),
        Case("cross_entropy", "cross-entropy, 4096 x 1000", case(tensor, tensor.cross_entropy), 0.6),
        Case("gelu", "GELU (tanh), 4096 x 512", case(tensor, tensor.gelu), 1.0),
        Case("relu", "ReLU, 4096 x 512", case(tensor, relu), 1.0),
        Case("tanh", "tanh, 4096 x 512", case(tensor, tanh), 1.0),
        Case("clip", "clipping to -1 and 1, 4096 x 512", case(tensor, clip), 1.0),
        Case("adamw", "AdamW step, 5 million parameters in 50 tensors", case(tensor, tensor.adamw), 0.8),
        Case("conv_1_16", "3x3 convolution, 1 to 16 channels", case(tensor, one_channel), 0.8),
        Case("conv_16_32", "3x3 convolution, 16 to 32 channels", case(tensor, many), 1.5),
        Case("mlp", "training step, 784-256-256-10, batch 128, AdamW", case(tensor, mlp), 1.0),
        Case("gpt", "training step of gpt-micro, beside minGPT as it is written", case(gpt, gpt.step), 0.6),
        Case("gpt_tuned", "the same, beside the tuned one", case(gpt, partial(gpt.step, tuned=True)), 0.75),
        Case("scan", "selective scan, 4 samples of 512 tokens", case(scan, scan.both), 0.1),
        Case("mamba", "training step of a Mamba, beside a loop in PyTorch", case(mamba, mamba.step), 0.2),
    ),
)

if __name__ == "__main__":
    main(SUITE)
