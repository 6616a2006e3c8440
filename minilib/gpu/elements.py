"""Operations on each element alone: one kernel, with a hole for the expression."""

from __future__ import annotations

import functools
import inspect
import math
import re
from collections.abc import Mapping, Sequence

import numpy as np

from minilib.cuda import RawKernel, cp
from minilib.functional.activations import GELU, Erf, SiLU, Softplus, TanhGELU
from minilib.gpu.device import DEVICE, THREADS, blocks, fits, launch
from minilib.operations import (
    Abs,
    Add,
    Clone,
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

TEMPLATE = """
extern "C" __global__ void elementwise({parameters}) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
{places}{loads}{statements}{stores}}}
"""


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
        self.output, self.expression = forward.split(" = ", 1)
        lines = dict(part.strip().split(" = ", 1) for part in backward.split(";"))
        gradients = [f"d{name}" for name in self.inputs]
        self.shares = {name: lines[name] for name in gradients}
        self.before = {name: line for name, line in lines.items() if name not in gradients}
        self.numbers = numbers.split()

    def forward(self, f: Function, *arrays: Array) -> Array:
        numbers = [array for array in arrays if array.dtype != bool]
        if not numbers or not fits(*numbers):
            return NotImplemented
        out = cp.empty(np.broadcast_shapes(*[array.shape for array in arrays]), np.float32)
        values = dict(zip(self.inputs, arrays, strict=True))
        run_elementwise(values, {self.output: out}, [f"{self.output} = {self.expression}"], self._numbers(f))
        values[self.output] = out
        wanted = [
            *self.before.values(),
            *[share for i, share in enumerate(self.shares.values()) if f.needs(i)],
        ]
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
            lines = self.before | wanted
            reads = {name: x for name, x in values.items() if mentioned(name, list(lines.values()))}
            statements = [f"{name} = {line}" for name, line in lines.items()]
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
    sizes, steps = collapsed(shape, [[s // array.itemsize for s in array.strides] for array in wide])
    strided = tuple(step != whole_steps(sizes) for step in steps)
    types = tuple("bool" if array.dtype == bool else "float" for array in wide)
    kernel = elementwise_kernel(
        tuple(reads), types, tuple(writes), tuple(statements), tuple(numbers), len(sizes), strided
    )
    places = [n for step, odd in zip(steps, strided, strict=True) if odd for n in (*sizes, *step)]
    pointers = [array.data for array in (*wide, *writes.values())]
    sizes32 = map(np.int32, (count, *places))
    launch(kernel, (blocks(count),), (THREADS,), (*pointers, *map(np.float32, numbers.values()), *sizes32))


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
    types: tuple[str, ...],
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
        *[f"const {kind}* {name}_at" for kind, name in zip(types, reads, strict=True)],
        *[f"float* {name}_at" for name in writes],
        *[f"float {name}" for name in numbers],
        "int n",
        *steps,
    ]
    return RawKernel(
        TEMPLATE.format(
            parameters=", ".join(parameters),
            places="".join(place_of(name, axes) for name in odd),
            loads="".join(
                f"    {kind} {name} = {name}_at[{name + '_place' if name in odd else 'i'}];\n"
                for kind, name in zip(types, reads, strict=True)
            ),
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
elementwise(Clone, "y = x", "dx = dy")
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
