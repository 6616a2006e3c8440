"""The loops of a planned graph as kernels: one for each, in the place of one for each operation.

`minilib.gpu` does not import this file, which brings all of `minilib.graph`: who wants its kernels does.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from minilib.cuda import cp
from minilib.engine import _on_device
from minilib.gpu.device import DEVICE, fits, pair
from minilib.gpu.elements import Elementwise, run_elementwise
from minilib.graph import kinds
from minilib.graph.nodes import Node
from minilib.operations import Cast, Clone, Compare, Invert, Pow
from minilib.tensor import Array

LOGICAL = {"&": "&&", "|": "||", "^": "!="}


@pair(kinds.Loop)
class LoopKernels:
    """A kernel that reads each input once and writes each result once; all between stays in registers."""

    def forward(self, f: Any, *arrays: Array) -> Any:
        names = [f"x{i}" for i in range(len(arrays))]
        lines = statements(f, names)
        floats = [f.dtypes[i - len(names)] == np.float32 for i in f.results]
        if lines is None or not all(floats) or not fits(*[x for x in arrays if x.dtype != bool]):
            return NotImplemented
        shape = np.broadcast_shapes(*[x.shape for x in arrays])
        writes = {f"t{i - len(names)}": cp.empty(shape, np.float32) for i in f.results}
        run_elementwise(dict(zip(names, arrays)), writes, lines)
        return tuple(writes.values())

    def backward(self, f: Any, grad: Array) -> Any:
        raise RuntimeError("Loop: has no derivative: take gradients before the program is planned")


def statements(f: kinds.Loop, inputs: Sequence[str]) -> list[str] | None:
    """The lines of C of a loop, of which step i makes t<i>; None where a step has no words in C."""
    names, lines = list(inputs), list[str]()
    for (step, operands), dtype in zip(f.steps, f.dtypes):
        said = expression(step, [names[x] if isinstance(x, int) else literal(x) for x in operands])
        if said is None or dtype not in (np.float32, bool):
            return None
        names.append(f"t{len(lines)}")
        lines.append(f"{names[-1]} = {said}")
    return lines


def expression(f: Any, operands: Sequence[str]) -> str | None:
    """What an operation makes of its operands, in C; true is 1, and false 0."""
    match f, *operands:
        case Compare(sign=sign), x, y:
            return f"{x} {LOGICAL.get(sign, sign)} {y} ? 1.0f : 0.0f"
        case Invert(), x:
            return f"{x} ? 0.0f : 1.0f"
        case Cast(to=to), x if to.kind == "b":
            return f"{x} != 0.0f ? 1.0f : 0.0f"
        case Cast() | Clone(), x:
            return x
        case Pow(), x, "2.0f" | "3.0f" as n:  # as a plan on a processor does it
            return " * ".join([x] * int(n[0]))
    kernels = DEVICE.pairs.get(type(f))
    if not isinstance(kernels, Elementwise) or kernels.numbers:
        return None
    called = dict(zip(kernels.inputs, operands))
    return re.sub(r"\b[a-z]+\b", lambda word: called.get(word[0], word[0]), kernels.line.split(" = ", 1)[1])


def literal(number: Array) -> str:
    """A constant of a loop in C. (NVRTC has no name for infinity.)"""
    said = str(np.float32(number))
    said = {"inf": "(1.0f / 0.0f)", "-inf": "(-1.0f / 0.0f)", "nan": "(0.0f / 0.0f)"}.get(said, f"{said}f")
    return f"({said})" if said.startswith("-") else said


def run(loop: Node, *arrays: Array) -> tuple[Array, ...]:
    """The results of one of `Plan.loops`, of arrays on the device in the order of its inputs.

    Where no kernel fits, or in a block `without(kinds.Loop)`, each of its operations runs alone.
    """
    kernels = DEVICE.pairs.get(kinds.Loop)
    made = NotImplemented if kernels is None else kernels.forward(loop.f, *arrays)
    return step_by_step(loop.f, arrays) if made is NotImplemented else made


def step_by_step(f: kinds.Loop, arrays: Sequence[Array]) -> tuple[Array, ...]:
    values = list(arrays)
    for step, operands in f.steps:
        given = [values[x] if isinstance(x, int) else cp.asarray(x) for x in operands]
        values.append(_on_device(copy.copy(step), given))
    return tuple(values[i] for i in f.results)
