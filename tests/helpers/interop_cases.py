"""Arguments for the operators of minilib/interop, for either framework and however they lie in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

NAMES = ("softmax", "layer_norm", "rms_norm", "conv2d", "causal_attention", "selective_scan")
SHAPES: dict[str, tuple[tuple[int, ...], ...]] = {
    "softmax": ((3, 5),),
    "layer_norm": ((2, 3, 5), (5,), (5,)),
    "rms_norm": ((2, 3, 5), (5,)),
    "conv2d": ((2, 4, 5, 6), (6, 2, 3, 2), (6,)),
    "causal_attention": ((2, 3, 4), (2, 5, 4), (2, 5, 4)),
    "selective_scan": ((2, 35, 3), (2, 35, 3), (3, 4), (2, 35, 4), (2, 35, 4), (3,)),
}
SETTINGS: dict[str, tuple[Any, ...]] = {"softmax": (0,), "conv2d": (2, 1, 1, 2), "causal_attention": (2,)}
# One number in each tensor; then the first axis of those that are samples cut to nothing.
ONE = {name: tuple((1,) * len(shape) for shape in shapes) for name, shapes in SHAPES.items()}
EMPTY = {name: tuple((0, *s[1:]) if len(s) > 1 else s for s in shapes) for name, shapes in SHAPES.items()}
EMPTY["conv2d"] = ((0, 4, 5, 6), *SHAPES["conv2d"][1:])
EMPTY["selective_scan"] = tuple((0, *s[1:]) if len(s) == 3 else s for s in SHAPES["selective_scan"])
LAYOUTS = ("plain", "transposed", "sliced", "empty", "one")


def numbers(name: str, layout: str = "plain", dtype: Any = np.float32) -> list[Any]:
    """NumPy arrays for the operator `name`, of the same numbers in the first three layouts."""
    rng = np.random.default_rng(len(name))
    made = []
    for i, shape in enumerate({"one": ONE, "empty": EMPTY}.get(layout, SHAPES)[name]):
        array = rng.standard_normal(shape).astype(dtype)
        if name == "selective_scan" and i in (1, 2):  # steps last a while, and states fade
            array = abs(array) * dtype(0.3 if i == 1 else -1)
        if layout == "transposed":
            array = np.asfortranarray(array)
        if layout == "sliced":
            room = np.full([2 * n + 1 for n in shape], np.nan, dtype)
            part = room[tuple(slice(1, None, 2) for _ in shape)]
            part[...] = array
            array = part
        made.append(array)
    return made


def settings(name: str, layout: str = "plain") -> tuple[Any, ...]:
    """What follows the tensors."""
    if layout == "one" and name in ("conv2d", "causal_attention"):
        return (1, 0, 1, 1) if name == "conv2d" else (1,)
    return SETTINGS.get(name, ())


def arguments(name: str, t: Any, layout: str = "plain", dtype: Any = np.float32, grad: bool = True) -> Any:
    """All arguments of an operator, its tensors those of `t`."""
    tensors = [t.from_numpy(array).requires_grad_(grad) for array in numbers(name, layout, dtype)]
    return (*tensors, *settings(name, layout))
