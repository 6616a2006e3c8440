"""Errors in any words, layers of any kind: what 3.13, 3.16 and 3.17 ask for.

In 3.17 a layer arrives as plain data: class name, input and output channels, groups, then kernel, stride,
padding and dilation with two numbers each, then whether it has a bias. What an output can depend on follows
from these.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from coursekit.grading.compare import difference, telling
from coursekit.grading.plain import numbers, plain

Place = tuple[int, int, int]  # input channel, rows down, columns to the right


@telling
def judge_load_hidden_2(name: str, expected: Any, got: Any) -> str | None:
    """The right error, with the paths of all problems and no others, or what is returned; and the numbers."""
    paths, kind, told, lists, right = expected["list"]
    _, other, said, returned, found = got["list"]
    if other != kind:
        return "raises an error" if kind is None else "raises another error" if other else "raises no error"
    wanted = [_names(path, told) for path in plain(paths)]
    named = [_names(path, said) for path in plain(paths)]
    if any(want and not have for want, have in zip(wanted, named)):
        return "the message does not name every path with a problem"
    if wanted != named:
        return "the message names a path without a problem"
    if difference(right, found, 1e-6) is not None:
        return "the module has not got the numbers that fit" if kind is None else "something was changed"
    if returned == lists:
        return None
    wrong_way = returned["list"] == lists["list"][::-1]
    return "the two lists that are returned are exchanged" if wrong_way else "not both lists are returned"


@telling
def judge_tied_hidden(name: str, expected: Any, got: Any) -> str | None:
    """Whichever of the two matrices is kept, it is the only one."""
    if name != "read and written":
        return difference(expected, got, 1e-4)
    read, written = (numbers(each) for each in plain(got))
    return None if np.array_equal(read, written) else "are two matrices, before the model has run"


def _names(path: str, message: str) -> bool:
    """Whether the path stands in the message, and not as a part of another one."""
    return bool(re.search(rf"(?<![\w.]){re.escape(path)}(?!\w|\.\w)", message))


def judge_fewest_hidden(name: str, expected: Any, got: Any) -> str | None:
    """All channels of the neighbourhood are seen, nothing is squeezed; and the model runs."""
    if name.startswith("runs"):
        return None if got == expected else "is not the shape of the output that was asked for"
    return _wrong(expected, got)


def judge_fewest_hidden_2(name: str, expected: Any, got: Any) -> str | None:
    inputs, outputs = _channels(expected)
    return _wrong(expected, got) or _more_than(10 * inputs + outputs * (inputs + 1), got)


def judge_fewest_hidden_3(name: str, expected: Any, got: Any) -> str | None:
    inputs, outputs = _channels(expected)
    return _wrong(expected, got) or _more_than(6 * inputs + outputs * inputs, got)


@dataclass(frozen=True)
class Layer:
    inputs: int
    outputs: int
    groups: int
    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]
    bias: bool

    @property
    def parameters(self) -> int:
        return self.outputs * (self.inputs // self.groups * self.kernel[0] * self.kernel[1] + self.bias)

    @property
    def keeps_size(self) -> bool:
        taps = zip(self.padding, self.dilation, self.kernel, strict=True)
        return self.stride == (1, 1) and all(2 * p == d * (k - 1) for p, d, k in taps)

    def reach(self, seen: list[set[Place]]) -> list[set[Place]]:
        """What each output channel depends on, if each input channel depends on `seen`."""
        steps = list(product(range(self.kernel[0]), range(self.kernel[1])))
        size, made = self.inputs // self.groups, []
        down, right = self.dilation
        for channel in range(self.outputs):
            group = channel // (self.outputs // self.groups)
            sources = range(group * size, (group + 1) * size)
            made.append(
                {
                    (c, y + i * down - self.padding[0], x + j * right - self.padding[1])
                    for source in sources
                    for c, y, x in seen[source]
                    for i, j in steps
                }
            )
        return made


def _layers(data: Any) -> list[Layer]:
    """The probe's data as layers: see `encode` in box/probe.py. Raises ValueError for what is none."""
    found = []
    for kind, *sizes, bias in (item["list"] for item in data["list"]):
        n = [int(size["int"]) for size in sizes]
        if kind != "Conv2d" or len(n) != 11 or type(bias) is not bool or min(n[:7]) < 1 or max(n) > 1000:
            raise ValueError("not a convolution")
        pairs = [(n[i], n[i + 1]) for i in (3, 5, 7, 9)]
        if pairs[0][0] * pairs[0][1] > 100 or n[0] % n[2] or n[1] % n[2]:
            raise ValueError("not a convolution of ours")
        found.append(Layer(n[0], n[1], n[2], *pairs, bias))
    if not 0 < len(found) <= 12:
        raise ValueError("no layers, or too many to look at")
    return found


def _channels(data: Any) -> tuple[int, int]:
    layers = _layers(data)
    return layers[0].inputs, layers[-1].outputs


def _wrong(expected: Any, got: Any) -> str | None:
    inputs, outputs = _channels(expected)
    try:
        layers = _layers(got)
    except (TypeError, KeyError, ValueError, IndexError):
        return "is not a short Sequential of Conv2d layers"
    ends = [inputs, *(layer.outputs for layer in layers)]
    if ends[:-1] != [layer.inputs for layer in layers] or ends[-1] != outputs:
        return f"does not lead from {inputs} to {outputs} channels"
    if not all(layer.keeps_size for layer in layers):
        return "has a layer that changes the size of the picture, and each must leave it as it is"
    if min(ends[:-1]) < inputs:
        return f"squeezes {inputs} channels through {min(ends)}"
    return _blind(layers, inputs)


def _blind(layers: list[Layer], inputs: int) -> str | None:
    seen: list[set[Place]] = [{(channel, 0, 0)} for channel in range(inputs)]
    for layer in layers:
        seen = layer.reach(seen)
        if sum(map(len, seen)) > 2_000_000:
            return "looks at more than can be checked"
    wanted = set(product(range(inputs), (-1, 0, 1), (-1, 0, 1)))
    if any(wanted - places for places in seen):
        return "has an output that cannot depend on all channels of all nine pixels"
    return None


def _more_than(bound: int, got: Any) -> str | None:
    layers = _layers(got)
    inputs, outputs = layers[0].inputs, layers[-1].outputs
    count = sum(layer.parameters for layer in layers)
    if count <= bound:
        return None
    return f"has {count} parameters from {inputs} to {outputs} channels; there is a way with fewer"
