"""First numbers drawn anyhow: what 3.40 asks for."""

from __future__ import annotations

from typing import Any

import numpy as np

from coursekit.grading.compare import telling
from coursekit.grading.plain import numbers, plain

ALIKE = 0.99  # the cosine of two units' weights
BENDS = {"Tanh": np.tanh, "ReLU": lambda x: np.maximum(x, 0)}


@telling
def judge_heal_hidden(name: str, expected: Any, got: Any) -> str | None:
    """Run the healed network on a batch that is new to it: each layer of size 1, no units alike."""
    (kinds, batch, right), (found, _, layers) = plain(expected), plain(got)
    if found != kinds or len(layers) != len(right):
        return "the layers are not those that there were"
    x, rest = numbers(batch), list(zip(layers, right, strict=True))
    for kind in kinds:
        if kind != "Linear":
            x = BENDS[kind](x)
            continue
        (weight, bias), (as_weight, as_bias) = ([numbers(part) for part in pair] for pair in rest.pop(0))
        if weight.shape != as_weight.shape or bias.shape != as_bias.shape:
            return "a layer's weights have another shape"
        if not (np.isfinite(weight).all() and np.isfinite(bias).all()):
            return "not all of the weights are finite numbers"
        x = x @ weight.T + bias
        if not 0.8 < x.std() < 1.25:
            return "a layer's numbers do not have the standard deviation 1"
        units = weight / np.maximum(np.linalg.norm(weight, axis=1, keepdims=True), 1e-30)
        if (units @ units.T > ALIKE).sum() != len(units):
            return "a layer has units that are alike"
    return None
