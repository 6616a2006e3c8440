"""Chapter 03a: softmax with cross-entropy, both ways, and layer norm on its way back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from coursekit.turns.lending import judged, tried


def judge_both_ways(names: dict[str, Any]) -> None:
    """Say which mistake the notebook's `both_ways` makes; one that is not right is replaced."""
    right = "right: small scores and large ones, the mean loss and its gradient"
    judged(_both_ways(names["both_ways"]), right, names, "both_ways", _lent)


def judge_norm_back(names: dict[str, Any]) -> None:
    """Say which mistake the notebook's `norm_back` makes; one that is not right is replaced."""
    right = "right: the gradient of x agrees with the nudge"
    judged(_norm_back(names["norm_back"]), right, names, "norm_back", _lent_back)


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


def _lent_back(g: Any, y: Any, sigma: Any) -> Any:
    return (g - g.mean(axis=1, keepdims=True) - y * (g * y).mean(axis=1, keepdims=True)) / sigma


def _norm_back(norm_back: Callable[..., Any]) -> str | None:
    x, g = np.random.default_rng(0).normal(size=(2, 3, 5))
    y, sigma = _normed(x)
    found, trouble = tried(norm_back, g.copy(), y.copy(), sigma.copy())
    if trouble:
        return trouble
    found, want = np.asarray(found), _nudged_norm(x, g)
    if found.shape != x.shape:
        return f"not yet: the gradient has the shape of x, (3, 5), and yours {found.shape}"
    if np.allclose(found, want, atol=1e-6):
        return None
    mean, along = g.mean(axis=1, keepdims=True), y * (g * y).mean(axis=1, keepdims=True)
    for wrong, said in (
        (want * sigma, "all is there but the division by sigma"),
        ((g - along) / sigma, "the mean of g is missing: subtract it as well"),
        ((g - mean) / sigma, "the part along y is missing: y times the mean of g y"),
        ((g - mean - along / y) / sigma, "the mean of g y is multiplied by y before it is subtracted"),
        ((g - g.mean() - y * (g * y).mean()) / sigma, "each row has means of its own: axis=1, keepdims=True"),
        ((g - mean - y * (g * y).sum(axis=1, keepdims=True)) / sigma, "of g y it is the mean, not the sum"),
        (g - mean - along / sigma, "all of it is divided by sigma: parentheses"),
    ):
        if np.allclose(found, wrong, atol=1e-6):
            return f"not yet: {said}"
    at = tuple(int(i) for i in np.argwhere(~np.isclose(found, want, atol=1e-6))[0])
    return f"not yet: nudge x at {at}, and the loss changes by {want[at]:.4f} a unit; yours: {found[at]:.4f}"


def _normed(x: Any) -> tuple[Any, Any]:
    centred = x - x.mean(axis=1, keepdims=True)
    sigma = np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)
    return centred / sigma, sigma


def _nudged_norm(x: Any, g: Any, h: float = 1e-6) -> Any:
    found = np.empty_like(x)
    for place in np.ndindex(*x.shape):
        up, down = x.copy(), x.copy()
        up[place] += h
        down[place] -= h
        found[place] = ((_normed(up)[0] - _normed(down)[0]) * g).sum() / (2 * h)
    return found
