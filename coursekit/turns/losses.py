"""Chapter 03a: softmax with cross-entropy, both ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from coursekit.turns.lending import judged, tried


def judge_both_ways(names: dict[str, Any]) -> None:
    """Say which mistake the notebook's `both_ways` makes; one that is not right is replaced."""
    right = "right: small scores and large ones, the mean loss and its gradient"
    judged(_both_ways(names["both_ways"]), right, names, "both_ways", _lent)


def _lent(x: Any, target: Any) -> Any:
    rows = np.arange(len(x))
    shifted = x - x.max(axis=1, keepdims=True)
    sums = np.exp(shifted).sum(axis=1, keepdims=True)
    dx = np.exp(shifted) / sums
    dx[rows, target] -= 1
    return (np.log(sums[:, 0]) - shifted[rows, target]).mean(), dx / len(x)


def _both_ways(both_ways: Callable[..., Any]) -> str | None:
    rng = np.random.default_rng(0)
    x, target = rng.normal(size=(4, 3)), np.array([2, 0, 0, 1])
    found, trouble = tried(both_ways, x.copy(), target)
    if trouble:
        return trouble
    if not isinstance(found, tuple) or len(found) != 2:
        return "not yet: return two things, the mean loss and the gradient of the scores"
    losses = np.logaddexp.reduce(x, axis=1) - x[np.arange(4), target]
    loss, dx = found[0], np.asarray(found[1])
    if np.ndim(loss):
        return "not yet: that is a loss for each row; return their mean, one number"
    shifted = x - x.max(axis=1, keepdims=True)
    over_all = (np.log(np.exp(rows).sum()) - rows[np.arange(4), target] for rows in (x, shifted))
    if any(np.isclose(loss, wrong.mean()) for wrong in over_all):
        return "not yet: your exponentials are added up over all rows. Each has a sum of its own: axis=1"
    if not np.isclose(loss, losses.mean()):
        yours = (
            "the sum"
            if np.isclose(loss, losses.sum())
            else f"{loss:.4f}: from each row one number, [row, target]"
        )
        return f"not yet: the mean loss is {losses.mean():.4f}, and yours is {yours}"
    if dx.shape != x.shape:
        return f"the loss is right; its gradient has the shape of the scores, (4, 3), and yours {dx.shape}"
    want = _nudged(x, target)
    if np.allclose(dx, 4 * want, atol=1e-6):
        return "the loss is right; this is the gradient of the sum: that of the mean is a quarter of it"
    if not np.allclose(dx, want, atol=1e-6):
        return "the loss is right, and its gradient disagrees with the nudge. p, minus 1 at the target?"
    with np.errstate(all="ignore"):
        large, _ = tried(both_ways, 1000 * x, target)
        behind, _ = tried(both_ways, np.array([[0.0, 1000.0]]), np.array([0]))
    if large is None or not np.isfinite(large[1]).all():
        return "all right for small scores, but large ones overflow: what can you subtract first?"
    if behind is None or not np.isclose(behind[0], 1000):
        return "all right, but a score 1000 behind should cost 1000: no logarithm of a probability"
    return None


def _nudged(x: Any, target: Any, h: float = 1e-6) -> Any:
    def mean(x: Any) -> Any:
        return (np.logaddexp.reduce(x, axis=1) - x[np.arange(len(x)), target]).mean()

    found = np.empty_like(x)
    for place in np.ndindex(*x.shape):
        up, down = x.copy(), x.copy()
        up[place] += h
        down[place] -= h
        found[place] = (mean(up) - mean(down)) / (2 * h)
    return found
