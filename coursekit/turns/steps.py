"""Chapter 03e: one step of momentum, and one of Adam."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from coursekit.turns.lending import judged, tried


def judge_roll(names: dict[str, Any]) -> None:
    """Say which mistake the notebook's `roll` makes; one that is not right is replaced."""
    right = "right: the velocity fades and grows, and moves x"
    judged(_roll(names["roll"]), right, names, "roll", _lent_roll)


def judge_adam_step(names: dict[str, Any]) -> None:
    """Say which mistake the notebook's `adam_step` makes; one that is not right is replaced."""
    right = "right: both means, both corrections, and the share of signal"
    judged(_adam(names["adam_step"]), right, names, "adam_step", _lent_adam)


def _lent_roll(x: Any, velocity: Any, grad: Any, lr: float, momentum: float) -> Any:
    velocity = momentum * velocity + grad
    return x - lr * velocity, velocity


def _lent_adam(x: Any, mean: Any, square: Any, grad: Any, t: int, lr: float, **options: Any) -> Any:
    b1, b2 = options.get("betas", (0.9, 0.999))
    mean, square = b1 * mean + (1 - b1) * grad, b2 * square + (1 - b2) * grad**2
    m, s = mean / (1 - b1**t), square / (1 - b2**t)
    return x - lr * m / (np.sqrt(s) + options.get("eps", 1e-8)), mean, square


def _roll(roll: Callable[..., Any]) -> str | None:
    x, velocity, grad = np.array([1.0, 2.0]), np.array([0.5, -1.0]), np.array([3.0, 4.0])
    before = [array.copy() for array in (x, velocity, grad)]
    found, trouble = tried(roll, x, velocity, grad, 0.1, 0.5)
    if trouble:
        return trouble
    if not isinstance(found, tuple) or len(found) != 2:
        return "not yet: return two things, the new x and the new velocity"
    if any((was != now).any() for was, now in zip(before, (x, velocity, grad))):
        return "not yet: what came in has changed. `v = v * 0.5` makes a new array, `v *= 0.5` does not"
    new, moved = (np.asarray(array) for array in found)
    if np.allclose(moved, 0.5 * velocity + 0.5 * grad):
        return "not yet: the gradient joins the velocity whole, not by 1 - momentum of it"
    if np.allclose(moved, 0.5 * velocity + 0.1 * grad):
        return "not yet: the rate stands at the step, and not in the velocity"
    if not np.allclose(moved, 0.5 * velocity + grad):
        return f"not yet: the velocity should be half the old one plus the gradient, and is {moved}"
    if np.allclose(new, x + 0.1 * moved):
        return "the velocity is right. But a step goes against it"
    if np.allclose(new, x - 0.1 * velocity):
        return "the velocity is right. But x moves by the new one, and yours by the old"
    if not np.allclose(new, x - 0.1 * moved):
        return f"the velocity is right. x should move by the rate times it, to {x - 0.1 * moved}: {new}"
    return None


def _adam(step: Callable[..., Any]) -> str | None:
    rng = np.random.default_rng(0)
    x, mean, grad = rng.normal(size=(3, 4))
    square = rng.uniform(0.1, 1, size=4)
    before = [array.copy() for array in (x, mean, square, grad)]
    found, trouble = tried(step, x, mean, square, grad, 3, 0.1)
    if trouble:
        return trouble
    if not isinstance(found, tuple) or len(found) != 3:
        return "not yet: return three things, the new x, mean and square"
    if any((was != now).any() for was, now in zip(before, (x, mean, square, grad))):
        return "not yet: one of the arrays that came in has changed; make new ones"
    want = _lent_adam(x, mean, square, grad, 3, 0.1)
    new, m, s = (np.asarray(array) for array in found)
    if np.allclose(m, want[1] / (1 - 0.9**3)) or np.allclose(s, want[2] / (1 - 0.999**3)):
        return "not yet: what is remembered is the mean without its correction, which is for the step alone"
    if not np.allclose(m, want[1]):
        return "not yet: the mean keeps 0.9 of itself and takes 0.1 of the gradient"
    if np.allclose(s, 0.999 * square + 0.001 * grad):
        return "the mean is right. The other one is of squares: grad**2"
    if not np.allclose(s, want[2]):
        return "the mean is right. The square keeps 0.999 of itself and takes 0.001 of the gradient's"
    if np.allclose(new, x - 0.1 * m / (np.sqrt(s) + 1e-8)):
        return "both means are right. Their corrections are missing: divide by 1 - beta**t"
    if np.allclose(new, x - 0.1 * (m / (1 - 0.9**3)) / (np.sqrt(s) + 1e-8)):
        return "both means are right, but you correct the first alone"
    if np.allclose(new, x - 0.1 * (m / (1 - 0.9)) / np.sqrt(s / (1 - 0.999))):
        return "both means are right. The corrections depend on the step: 1 - beta**t"
    if np.allclose(new, 2 * x - want[0]):
        return "all right but for the sign: a step goes against the mean"
    if not np.allclose(new, want[0], atol=1e-7):
        return "both means are right. The step: corrected mean over the root of the corrected square"
    tiny = np.full(1, 1e-6)  # the root of its square is as small, and far below that of 1e-8
    small, _ = tried(step, np.zeros(1), np.zeros(1), np.zeros(1), tiny, 1, 0.1)
    if small is not None and abs(small[0][0]) < 0.05:
        return "all right but for one place: eps stands outside of the root, beside it"
    zero = np.zeros(1)
    with np.errstate(all="ignore"):
        still, _ = tried(step, zero, zero, zero, zero, 1, 0.1)
    if still is None or not np.isfinite(still[0]).all():
        return "all right, but 0 over 0 is no number: where does eps stand?"
    return None
