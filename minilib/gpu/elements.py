"""Operations on each element alone: one kernel, with a hole for the expression.

Taught in chapters/05a_elements.ipynb and solutions/05a_elements.ipynb: what they export is edited there, then
`make promote`.
"""

from __future__ import annotations

import functools
import inspect
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minilib.cuda import RawKernel, cp
from minilib.functional.activations import GELU, Erf, SiLU, Softplus, TanhGELU
from minilib.gpu.device import DEVICE, THREADS, blocks, fits, launch
from minilib.operations import (
    Abs,
    Add,
    Cos,
    Div,
    Exp,
    Expm1,
    Log,
    Log1p,
    Maximum,
    Minimum,
    Mul,
    Neg,
    Pow,
    ReLU,
    Sigmoid,
    Sin,
    Sqrt,
    Sub,
    Tanh,
    Where,
)
from minilib.tensor import Array, Function, Shape

# A kernel with a hole

TEMPLATE = """
extern "C" __global__ void elementwise({parameters}) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
{lines}}}
"""


@dataclass(frozen=True)
class Read:
    """An array that a kernel reads: its name, its type in C, and along how many axes it has steps of its own.

    Without any it lies in order, and number i is at i.
    """

    name: str
    kind: str = "float"
    axes: int = 0

    @property
    def parameters(self) -> list[str]:
        """The pointer, and size and step of each axis."""
        steps = [f"int {self.name}_{what}{axis}" for axis in range(self.axes) for what in ("size", "step")]
        return [f"const {self.kind}* {self.name}_at", *steps]

    @property
    def lines(self) -> list[str]:
        """Lines of C that load number i, where its axes lead to."""
        x = self.name
        if not self.axes:
            return [f"{self.kind} {x} = {x}_at[i];"]
        return [*self.walk(), f"{self.kind} {x} = {x}_at[{x}_place];"]

    def walk(self) -> list[str]:
        """Lines of C that turn i into a place, from the last axis on."""
        x = self.name
        lines = [f"int {x}_rest = i, {x}_place = 0;"]
        for axis in reversed(range(self.axes)):
            lines += [f"{x}_place += {x}_rest % {x}_size{axis} * {x}_step{axis};"]
            lines += [f"{x}_rest /= {x}_size{axis};"]
        return lines


def elementwise_source(
    reads: Sequence[Read], writes: Sequence[str], statements: Sequence[str], numbers: Sequence[str] = ()
) -> str:
    """The template filled in: loads, `statements` such as "z = x * y", stores."""
    parameters = [parameter for read in reads for parameter in read.parameters]
    parameters += [f"float* {name}_at" for name in writes] + [f"float {name}" for name in numbers] + ["int n"]
    lines = [line for read in reads for line in read.lines]
    lines += [f"float {statement};" for statement in statements]
    lines += [f"{name}_at[i] = {name};" for name in writes]
    indented = "".join(f"    {line}\n" for line in lines)
    return TEMPLATE.format(parameters=", ".join(parameters), lines=indented)


@functools.cache
def elementwise_kernel(source: str) -> RawKernel:
    """The kernel of a source, compiled once."""
    return RawKernel(source, "elementwise")


# Arrays of one shape and many strides


def run_elementwise(
    reads: Mapping[str, Array],
    writes: Mapping[str, Array],
    statements: Sequence[str],
    numbers: Mapping[str, float] | None = None,
) -> None:
    """Run `statements` for each element of the arrays `writes`, contiguous and of one shape.

    `reads` have that shape or one that broadcasts to it, and any strides.
    """
    shape, numbers = next(iter(writes.values())).shape, numbers or {}
    count = math.prod(shape)
    if not count:  # a grid of no blocks is an error in CUDA
        return
    wide = [cp.broadcast_to(array, shape) for array in reads.values()]  # strides of 0: nothing is copied
    sizes, steps = collapsed(shape, [[s // array.itemsize for s in array.strides] for array in wide])
    in_order = [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]  # the steps of a contiguous array
    sheet, args = [], []
    for name, array, step in zip(reads, wide, steps, strict=True):
        walk = [n for pair in zip(sizes, step, strict=True) for n in pair] if step != in_order else []
        sheet.append(Read(name, "bool" if array.dtype == bool else "float", len(walk) // 2))
        args += [array.data, *map(np.int32, walk)]
    args += [*writes.values(), *map(np.float32, numbers.values()), np.int32(count)]
    source = elementwise_source(sheet, list(writes), statements, list(numbers))
    launch(elementwise_kernel(source), (blocks(count),), (THREADS,), args)


def collapsed(shape: Shape, strides: Sequence[Sequence[int]]) -> tuple[list[int], list[list[int]]]:
    """Fewer axes for the same places: those of length 1 go, neighbours that lie in one row become one."""
    sizes: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    for axis, size in enumerate(shape):
        if size == 1:
            continue
        if sizes and all(s[-1] == stride[axis] * size for s, stride in zip(steps, strides, strict=True)):
            sizes[-1] *= size  # fewer divisions by sizes for each element: the slow part of `walk`
            for s, stride in zip(steps, strides, strict=True):
                s[-1] = stride[axis]
            continue
        sizes.append(size)
        for s, stride in zip(steps, strides, strict=True):
            s.append(stride[axis])
    return sizes, steps


# Forward and backward


def elementwise(kind: type[Function], forward: str, backward: str, numbers: str = "") -> None:
    """Register kernels for `kind`, which works on each element alone, made of expressions in C.

    forward, such as "z = x * y", has the arguments of `kind.forward` by their names. backward, such as
    "dx = dz * y; dy = dz * x", has their gradients, made of dz and what it names of x, y and z, which is what
    forward saves; other names may be given a value before. `numbers` names attributes of the operation.
    """
    DEVICE.pairs[kind] = Elementwise(kind, forward, backward, numbers)


class Elementwise:
    """The pair of kernels of one operation on each element; see `elementwise`."""

    def __init__(self, kind: type[Function], forward: str, backward: str, numbers: str) -> None:
        self.inputs = list(inspect.signature(kind.forward).parameters)[1:]
        self.line, self.output = forward, forward.split(" = ")[0]
        lines = dict(part.strip().split(" = ", 1) for part in backward.split(";"))
        gradients = [f"d{name}" for name in self.inputs]
        self.shares = {name: lines[name] for name in gradients}
        self.before = {name: line for name, line in lines.items() if name not in gradients}
        self.numbers = numbers.split()

    def lines(self, f: Function) -> dict[str, str]:
        """What backward works out, by name: no gradient that nobody asks for, or that passes as it comes."""
        wanted = {
            name: share
            for i, (name, share) in enumerate(self.shares.items())
            if f.needs(i) and share != f"d{self.output}"
        }
        return self.before | wanted if wanted else {}

    def forward(self, f: Any, *arrays: Array) -> Array:
        if not fits(*[array for array in arrays if array.dtype != bool]):
            return NotImplemented
        reads = dict(zip(self.inputs, arrays, strict=True))
        out = cp.empty(np.broadcast_shapes(*[array.shape for array in arrays]), np.float32)
        run_elementwise(reads, {self.output: out}, [self.line], self._numbers(f))
        f.lines = self.lines(f)
        values = reads | {self.output: out}
        # Only what the expressions of backward name is kept alive.
        f.saved = tuple(x if mentioned(name, f.lines.values()) else None for name, x in values.items())
        return out

    def backward(self, f: Any, grad: Array) -> tuple[Array | None, ...]:
        coming = f"d{self.output}"
        values = dict(zip([*self.inputs, self.output], f.saved, strict=True)) | {coming: grad}
        made = {name: cp.empty(grad.shape, np.float32) for name in self.shares if name in f.lines}
        if made:
            reads = {name: x for name, x in values.items() if mentioned(name, f.lines.values())}
            run_elementwise(reads, made, [f"{x} = {line}" for x, line in f.lines.items()], self._numbers(f))
        return tuple(grad if share == coming else made.get(x) for x, share in self.shares.items())

    def _numbers(self, f: Function) -> dict[str, float]:
        return {name: float(getattr(f, name)) for name in self.numbers}


def mentioned(name: str, lines: Iterable[str]) -> bool:
    return any(re.search(rf"\b{name}\b", line) for line in lines)


# The operations

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
# Not fmaxf, which loses nan.
elementwise(ReLU, "y = x < 0.0f ? 0.0f : x", "dx = y <= 0.0f ? 0.0f : dy")
elementwise(Abs, "y = fabsf(x)", "dx = x > 0.0f ? dy : x < 0.0f ? -dy : 0.0f")
elementwise(
    Pow,
    "z = powf(x, y)",
    "dx = y == 0.0f ? 0.0f : dz * y * powf(x, y - 1.0f); "
    "dy = x == 0.0f && y >= 0.0f ? 0.0f : dz * z * logf(x)",
)
elementwise(
    Maximum,
    "z = x != x || x > y ? x : y",
    "dx = x < y ? 0.0f : x == y ? 0.5f * dz : dz; dy = x > y ? 0.0f : x == y ? 0.5f * dz : dz",
)
elementwise(
    Minimum,
    "z = x != x || x < y ? x : y",
    "dx = x > y ? 0.0f : x == y ? 0.5f * dz : dz; dy = x < y ? 0.0f : x == y ? 0.5f * dz : dz",
)
elementwise(
    Where,
    "z = condition ? x : y",
    "dcondition = 0.0f; dx = condition ? dz : 0.0f; dy = condition ? 0.0f : dz",
)
elementwise(Erf, "y = erff(x)", "dx = dy * 1.12837917f * expf(-x * x)")
elementwise(
    GELU,
    "y = 0.5f * x * (1.0f + erff(0.70710678f * x))",
    "dx = dy * (0.5f + 0.5f * erff(0.70710678f * x) + 0.39894228f * x * expf(-0.5f * x * x))",
)
# The gate of the other GELU is a logistic curve of 2 u, so its slope is 2 u' gate (1 - gate).
GATE = "1.0f / (1.0f + expf(-1.59576912f * (x + 0.044715f * x * x * x)))"
elementwise(
    TanhGELU,
    f"y = x * ({GATE})",
    f"g = {GATE}; dx = dy * (g + x * g * (1.0f - g) * 1.59576912f * (1.0f + 0.134145f * x * x))",
)
elementwise(
    SiLU, "y = x / (1.0f + expf(-x))", "g = 1.0f / (1.0f + expf(-x)); dx = dy * (g + x * g * (1.0f - g))"
)
elementwise(
    Softplus,
    "y = x > threshold ? x : fmaxf(x, 0.0f) + log1pf(expf(-fabsf(x)))",
    "dx = x > threshold ? dy : dy / (1.0f + expf(-x))",
    numbers="threshold",
)
