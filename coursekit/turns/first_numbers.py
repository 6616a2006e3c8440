"""Chapter 03d: the size of first weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from coursekit.turns.lending import judged, tried


def judge_first_weights(names: dict[str, Any]) -> None:
    """Say which mistake the notebook's `first_weights` makes; one that is not right is replaced."""
    right = "right: wide layers and narrow ones keep the size of what goes through them"
    judged(_wrong(names["first_weights"]), right, names, "first_weights", _lent)


def _lent(outputs: int, inputs: int, rng: Any) -> Any:
    return rng.normal(size=(outputs, inputs)) / np.sqrt(inputs)


def _wrong(first_weights: Callable[..., Any]) -> str | None:
    for outputs, inputs in ((300, 100), (50, 400)):
        found, trouble = tried(first_weights, outputs, inputs, np.random.default_rng(0))
        if trouble:
            return trouble
        weights = np.asarray(found)
        if weights.shape != (outputs, inputs):
            return f"not yet: {outputs} outputs and {inputs} inputs, but your shape is {weights.shape}"
        std, want = float(weights.std()), inputs**-0.5
        if abs(weights.mean()) > 0.1 * max(want, std):
            return "not yet: the weights should have mean 0, or the mixed terms do not cancel"
        if abs(std / want - 1) < 0.05:
            continue
        if abs(std / outputs**-0.5 - 1) < 0.05:
            return "not yet: you divide by the root of the outputs; each sum runs over the inputs"
        if abs(std * inputs - 1) < 0.05:
            return "not yet: that is the variance. rng.normal takes the standard deviation, its root"
        if abs(std / inputs**0.5 - 1) < 0.05:
            return "not yet: you multiply by the root of the inputs. More of them make the sum larger: divide"
        times = (std / want) ** 2
        return f"not yet: with {inputs} inputs your layer multiplies the mean square by {times:.3g}, not by 1"
    return None
