"""minilib's tensors, layers and optimisers beside PyTorch on the CPU: the same lines, in one process each.

    python -m benchmarks.tensor                         # writes benchmarks/results/tensor.json and README.md
    python -m benchmarks.tensor --case mlp --rounds 1   # a part is only printed

minilib follows PyTorch's names: each case is written once, and `Library` says where the names are. Both get
the same numbers from NumPy, and the harness compares what they compute before their times count.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.sidebyside import Call, Case, Suite, main

CHAIN = 333  # times three operations
SIZE = (4096, 512)  # what layer norm and GELU work on: 2 million elements


class Library:
    """One library under the names that the cases use. Modules are imported when a case asks for them."""

    def __init__(self, tensors: str, functional: str, nn: str, optim: str) -> None:
        self.tensors = import_module(tensors)
        self._names = {"F": functional, "nn": nn, "optim": optim}

    def __getattr__(self, name: str) -> Any:
        return import_module(self._names[name])

    def tensor(self, array: Any) -> Any:
        return self.tensors.tensor(array)

    def leaf(self, array: Any) -> Any:
        """A tensor that wants its gradient."""
        return self.tensors.tensor(array, requires_grad=True)

    def numpy(self, result: Any) -> Any:
        return result.detach().numpy()


def minilib(threads: int) -> Library:
    threadpool_limits(threads)
    return Library("minilib.tensor", "minilib.functional", "minilib.nn", "minilib.optim")


def pytorch(threads: int) -> Library:
    try:
        import torch
    except ImportError:
        sys.exit("error: PyTorch is missing: `make test-all` installs it")
    torch.set_num_threads(threads)
    return Library("torch", "torch.nn.functional", "torch.nn", "torch.optim")


def draw(*shape: int, seed: int = 0) -> Any:
    """Standard normal numbers, the same in each process."""
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def labels(count: int, classes: int) -> Any:
    return np.random.default_rng(1).integers(0, classes, count)


def start(library: Library, parameters: Iterable[Any]) -> None:
    """Give a model the same start in each library: weights as He draws them, biases that are small."""
    for seed, parameter in enumerate(parameters):
        shape = tuple(parameter.shape)
        scale = np.sqrt(2 / np.prod(shape[1:])) if len(shape) > 1 else 0.01
        with library.tensors.no_grad():
            parameter.copy_(library.tensor(np.float32(scale) * draw(*shape, seed=seed)))


def forget(*tensors: Any) -> None:
    for tensor in tensors:
        tensor.grad = None


def small_operations(library: Library) -> Call:
    """A chain of multiplications, additions and tanh on arrays of one element, there and back."""
    x = library.tensor(np.ones(1, np.float32))
    weight, bias = library.leaf(np.array([0.9], np.float32)), library.leaf(np.array([0.1], np.float32))

    def call() -> Any:
        forget(weight, bias)
        y = x
        for _ in range(CHAIN):
            y = (y * weight + bias).tanh()
        y.sum().backward()
        return weight.grad

    return call


def train(library: Library, widths: Sequence[int], batch: int, optimizer: Callable[..., Any]) -> Call:
    """One training step of a network of ReLUs with cross-entropy."""
    layers: list[Any] = []
    for inputs, outputs in itertools.pairwise(widths):
        layers += [library.nn.Linear(inputs, outputs), library.nn.ReLU()]
    model = library.nn.Sequential(*layers[:-1])
    start(library, model.parameters())
    descent = optimizer(model.parameters(), lr=1e-3)
    x, y = library.tensor(draw(batch, widths[0])), library.tensor(labels(batch, widths[-1]))

    def call() -> Any:
        loss = library.F.cross_entropy(model(x), y)
        descent.zero_grad()
        loss.backward()
        descent.step()
        return loss

    return call


def with_adamw(*widths: int, batch: int) -> Callable[[Library], Call]:
    return lambda library: train(library, widths, batch, library.optim.AdamW)


def deep(library: Library) -> Call:
    """The step whose memory is measured: SGD keeps nothing, so what counts is the graph and the gradients."""
    train(library, (8, 8, 8), 8, library.optim.SGD)()  # what a library loads once is no part of a step
    return train(library, [512] * 50 + [10], 1024, library.optim.SGD)


def convolution(inputs: int, outputs: int) -> Callable[[Library], Call]:
    """3x3 over a batch of 64 images of 28x28. Images themselves (one channel) want no gradient."""

    def setup(library: Library) -> Call:
        layer = library.nn.Conv2d(inputs, outputs, 3, padding=1)
        start(library, layer.parameters())
        images = draw(64, inputs, 28, 28)
        x = library.leaf(images) if inputs > 1 else library.tensor(images)
        gradient = library.tensor(draw(64, outputs, 28, 28, seed=1))

        def call() -> Any:
            forget(x, *layer.parameters())
            layer(x).backward(gradient)
            return layer.weight.grad

        return call

    return setup


def layer_norm(library: Library) -> Call:
    x, weight, bias = (library.leaf(draw(*shape, seed=3)) for shape in (SIZE, SIZE[1:], SIZE[1:]))
    return there_and_back(library, lambda: library.F.layer_norm(x, SIZE[1:], weight, bias), x, weight, bias)


def gelu(library: Library) -> Call:
    x = library.leaf(draw(*SIZE))
    return there_and_back(library, lambda: library.F.gelu(x, approximate="tanh"), x)


def there_and_back(library: Library, function: Callable[[], Any], x: Any, *others: Any) -> Call:
    """`function` and its backward pass from a gradient of the shape of x."""
    gradient = library.tensor(draw(*x.shape, seed=2))

    def call() -> Any:
        forget(x, *others)
        function().backward(gradient)
        return x.grad

    return call


def cross_entropy(library: Library) -> Call:
    logits, y = library.leaf(draw(4096, 1000)), library.tensor(labels(4096, 1000))

    def call() -> Any:
        forget(logits)
        library.F.cross_entropy(logits, y).backward()
        return logits.grad

    return call


def adamw(library: Library) -> Call:
    """25 matrices and 25 vectors of 447 each: 5 million parameters. The gradients stay."""
    shapes = [(447, 447), (447,)] * 25
    parameters = [
        library.nn.Parameter(library.tensor(draw(*shape, seed=k))) for k, shape in enumerate(shapes)
    ]
    for k, (shape, parameter) in enumerate(zip(shapes, parameters)):
        parameter.grad = library.tensor(draw(*shape, seed=100 + k))
    optimizer = library.optim.AdamW(parameters, lr=1e-2)

    def call() -> Any:
        optimizer.step()
        return parameters[0]

    return call


SUITE = Suite(
    module="benchmarks.tensor",
    title="forward, backward and step, on 2 threads",
    libraries={"minilib": minilib, "torch": pytorch},
    names={"minilib": "`minilib`", "torch": "PyTorch"},
    versions=("numpy", "torch"),
    cases=(
        Case("small", "one operation on one element, there and back", small_operations, 1.0, per=3 * CHAIN),
        Case("mlp_small", "training step, 64-64-10, batch 64, AdamW", with_adamw(64, 64, 10, batch=64), 1.1),
        Case(
            "mlp",
            "training step, 784-256-256-10, batch 128, AdamW",
            with_adamw(784, 256, 256, 10, batch=128),
            1.1,
        ),
        Case("conv_1_16", "3x3 convolution, 1 to 16 channels, 64 images of 28x28", convolution(1, 16), 2.0),
        Case("conv_16_32", "3x3 convolution, 16 to 32 channels, the same", convolution(16, 32), 3.0),
        Case("layer_norm", "layer norm, 4096 x 512", layer_norm),
        Case("gelu", "GELU (tanh), 4096 x 512", gelu),
        Case("cross_entropy", "cross-entropy, 4096 x 1000", cross_entropy),
        Case("adamw", "AdamW step, 5 million parameters in 50 tensors", adamw),
        Case(
            "memory", "memory of a training step, 50 layers of 512, batch 1024, SGD", deep, 1.15, memory=True
        ),
    ),
)

if __name__ == "__main__":
    main(SUITE)
