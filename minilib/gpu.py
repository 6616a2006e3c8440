"""Tensors on a GPU: `x.to("cuda")`, and operations that run kernels of our own, forward and backward.

To import this module is to turn it on. Arrays are CuPy's where there is a GPU, and elsewhere the simulator's,
exact and slow; `MINILIB_CUDA` decides. An operation runs our pair of kernels where one is registered and fits
its inputs, and otherwise what the array module has: `coverage()` says which.
"""

from __future__ import annotations

import functools
import inspect
import math
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from minilib.cuda import RawKernel, backend, cp
from minilib.engine import Pair
from minilib.operations import (
    Abs,
    Add,
    Cos,
    Div,
    Exp,
    Expm1,
    Log,
    Log1p,
    Mul,
    Neg,
    ReLU,
    Sigmoid,
    Sin,
    Sqrt,
    Sub,
    Tanh,
)
from minilib.tensor import DEVICES, Array, Device, Function, Shape

THREADS = 256  # of a block, where each thread has an element


# The device


def take(array: Array) -> Array:
    """An array of NumPy's as one on the device. Says once where that device is simulated."""
    if backend() != "gpu":
        said_once()
    return cp.asarray(array)


@functools.cache
def said_once() -> None:
    warnings.warn('there is no GPU here: "cuda" is the simulator, exact and slow', stacklevel=2)


DEVICE = DEVICES.setdefault(cp.ndarray, Device("cuda", cp, take, cp.asnumpy))


# Pairs of kernels


def pair(kind: type[Function]) -> Callable[[type[Pair]], type[Pair]]:
    """Register a class with `forward(f, *arrays)` and `backward(f, grad)` as the kernels of `kind`.

    Its forward returns NotImplemented for arrays that do not fit; then the array module takes over.
    """

    def register(kernels: type[Pair]) -> type[Pair]:
        DEVICE.pairs[kind] = kernels()
        return kernels

    return register


@contextmanager
def without(*kinds: type[Function]) -> Iterator[None]:
    """In this block the operations `kinds`, all where none is named, run by the array module."""
    before = dict(DEVICE.pairs)
    for kind in kinds or before:
        DEVICE.pairs.pop(kind, None)
    try:
        yield
    finally:
        DEVICE.pairs.clear()
        DEVICE.pairs.update(before)


def coverage() -> str:
    """A table of all operations: which run our kernels, which the array module's."""
    kinds = sorted(operations(Function), key=lambda kind: kind.__name__)
    rows = [(kind.__name__, "ours" if kind in DEVICE.pairs else cp.__name__) for kind in kinds]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {where}" for name, where in rows)


def operations(kind: type[Function]) -> Iterator[type[Function]]:
    """All operations of the library that have been imported: subclasses of `kind`."""
    for one in kind.__subclasses__():
        if one.__module__.startswith("minilib."):
            yield one
        yield from operations(one)


def fits(*arrays: Array) -> bool:
    """Whether our kernels take them: float32, and places that an int can count."""
    return all(array.dtype == np.float32 and array.size < 2**31 for array in arrays)


def blocks(count: int, size: int = THREADS) -> int:
    """How many blocks of `size` hold `count` threads."""
    return -(-count // size)


# Operations on each element alone: one kernel, with a hole for the expression

TEMPLATE = """
extern "C" __global__ void elementwise({parameters}) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
{places}{loads}{statements}{stores}}}
"""


def elementwise(kind: type[Function], forward: str, backward: str, numbers: str = "") -> None:
    """Register kernels for `kind`, which works on each element alone, made of expressions in C.

    forward, such as "z = x * y", has the arguments of `kind.forward` by their names. backward, such as
    "dx = dz * y; dy = dz * x", has their gradients in order, made of dz and what it names of x, y and z; that
    is what forward saves. `numbers` names attributes of the operation that are numbers.
    """
    DEVICE.pairs[kind] = Elementwise(kind, forward, backward, numbers)


class Elementwise:
    """The pair of kernels of one operation on each element; see `elementwise`."""

    def __init__(self, kind: type[Function], forward: str, backward: str, numbers: str) -> None:
        self.inputs = list(inspect.signature(kind.forward).parameters)[1:]
        self.output, self.expression = forward.split(" = ", 1)
        self.shares = dict(part.strip().split(" = ", 1) for part in backward.split(";"))
        self.numbers = numbers.split()

    def forward(self, f: Function, *arrays: Array) -> Array:
        if not fits(*arrays):
            return NotImplemented
        out = cp.empty(np.broadcast_shapes(*[array.shape for array in arrays]), np.float32)
        values = dict(zip(self.inputs, arrays, strict=True))
        run_elementwise(values, {self.output: out}, [f"{self.output} = {self.expression}"], self._numbers(f))
        values[self.output] = out
        wanted = [share for i, share in enumerate(self.shares.values()) if f.needs(i)]
        f.saved = tuple(value if mentioned(name, wanted) else None for name, value in values.items())
        return out

    def backward(self, f: Function, grad: Array) -> tuple[Array | None, ...]:
        coming = f"d{self.output}"
        values = dict(zip([*self.inputs, self.output], f.saved, strict=True)) | {coming: grad}
        wanted = {
            name: share
            for i, (name, share) in enumerate(self.shares.items())
            if f.needs(i) and share != coming
        }
        outs = {name: cp.empty(grad.shape, np.float32) for name in wanted}
        if outs:
            reads = {name: x for name, x in values.items() if mentioned(name, list(wanted.values()))}
            statements = [f"{name} = {share}" for name, share in wanted.items()]
            run_elementwise(reads, outs, statements, self._numbers(f))
        passed = {name: grad for name, share in self.shares.items() if share == coming}
        return tuple((outs | passed).get(name) for name in self.shares)

    def _numbers(self, f: Function) -> dict[str, float]:
        return {name: float(getattr(f, name)) for name in self.numbers}


def mentioned(name: str, expressions: Sequence[str]) -> bool:
    return any(re.search(rf"\b{name}\b", expression) for expression in expressions)


def run_elementwise(
    reads: Mapping[str, Array],
    writes: Mapping[str, Array],
    statements: Sequence[str],
    numbers: Mapping[str, float],
) -> None:
    """Run `statements` for each element of the arrays `writes`, contiguous and of one shape.

    `reads` have that shape or one that broadcasts to it, and any strides.
    """
    shape = next(iter(writes.values())).shape
    count = math.prod(shape)
    if not count:
        return
    wide = [cp.broadcast_to(array, shape) for array in reads.values()]
    sizes, steps = collapsed(shape, [[s // 4 for s in array.strides] for array in wide])
    strided = tuple(step != whole_steps(sizes) for step in steps)
    kernel = elementwise_kernel(
        tuple(reads), tuple(writes), tuple(statements), tuple(numbers), len(sizes), strided
    )
    places = [n for step, odd in zip(steps, strided, strict=True) if odd for n in (*sizes, *step)]
    kernel(
        (blocks(count),),
        (THREADS,),
        (
            *[array.data for array in (*wide, *writes.values())],
            *map(np.float32, numbers.values()),
            *map(np.int32, (count, *places)),
        ),
    )


def collapsed(shape: Shape, strides: Sequence[Sequence[int]]) -> tuple[list[int], list[list[int]]]:
    """Fewer axes for the same places: those of length 1 go, neighbours that lie in one row become one."""
    sizes: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    for axis, size in enumerate(shape):
        if size == 1:
            continue
        if sizes and all(s[-1] == stride[axis] * size for s, stride in zip(steps, strides, strict=True)):
            sizes[-1] *= size
            for s, stride in zip(steps, strides, strict=True):
                s[-1] = stride[axis]
            continue
        sizes.append(size)
        for s, stride in zip(steps, strides, strict=True):
            s.append(stride[axis])
    return sizes, steps


def whole_steps(sizes: Sequence[int]) -> list[int]:
    """The strides of a contiguous array, in elements."""
    return [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]


@functools.cache
def elementwise_kernel(
    reads: tuple[str, ...],
    writes: tuple[str, ...],
    statements: tuple[str, ...],
    numbers: tuple[str, ...],
    axes: int,
    strided: tuple[bool, ...],
) -> RawKernel:
    """The template filled in. An array that is `strided` has the sizes and its steps along all `axes`."""
    odd = [name for name, one in zip(reads, strided, strict=True) if one]
    steps = [f"int {name}_{what}{axis}" for name in odd for what in ("size", "step") for axis in range(axes)]
    parameters = [
        *[f"const float* {name}_at" for name in reads],
        *[f"float* {name}_at" for name in writes],
        *[f"float {name}" for name in numbers],
        "int n",
        *steps,
    ]
    return RawKernel(
        TEMPLATE.format(
            parameters=", ".join(parameters),
            places="".join(place_of(name, axes) for name in odd),
            loads="".join(f"    float {x} = {x}_at[{x + '_place' if x in odd else 'i'}];\n" for x in reads),
            statements="".join(f"    float {statement};\n" for statement in statements),
            stores="".join(f"    {name}_at[i] = {name};\n" for name in writes),
        ),
        "elementwise",
    )


def place_of(name: str, axes: int) -> str:
    """Lines of C that find where element i of the result lies in the array `name`, from the last axis on."""
    lines = [f"    int {name}_rest = i, {name}_place = 0;\n"]
    for axis in reversed(range(axes)):
        lines.append(f"    {name}_place += {name}_rest % {name}_size{axis} * {name}_step{axis};\n")
        lines.append(f"    {name}_rest /= {name}_size{axis};\n")
    return "".join(lines[:-1] if axes else lines)


elementwise(Add, "z = x + y", "dx = dz; dy = dz")
elementwise(Sub, "z = x - y", "dx = dz; dy = -dz")
elementwise(Mul, "z = x * y", "dx = dz * y; dy = dz * x")
elementwise(Div, "z = x / y", "dx = dz / y; dy = -dz / y * z")
elementwise(Neg, "y = -x", "dx = -dy")
elementwise(Sqrt, "y = sqrtf(x)", "dx = dy / (2.0f * y)")
elementwise(Exp, "y = expf(x)", "dx = dy * y")
elementwise(Log, "y = logf(x)", "dx = dy / x")
elementwise(Expm1, "y = expm1f(x)", "dx = dy * (y + 1.0f)")
elementwise(Log1p, "y = log1pf(x)", "dx = dy / (x + 1.0f)")
elementwise(Sin, "y = sinf(x)", "dx = dy * cosf(x)")
elementwise(Cos, "y = cosf(x)", "dx = -dy * sinf(x)")
elementwise(Tanh, "y = tanhf(x)", "dx = dy * (1.0f - y * y)")
elementwise(Sigmoid, "y = 1.0f / (1.0f + expf(-x))", "dx = dy * (y * (1.0f - y))")
elementwise(ReLU, "y = x < 0.0f ? 0.0f : x", "dx = y <= 0.0f ? 0.0f : dy")
elementwise(Abs, "y = fabsf(x)", "dx = x > 0.0f ? dy : x < 0.0f ? -dy : 0.0f")
