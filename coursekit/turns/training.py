"""Chapter 03f: the loop of an epoch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from coursekit.turns.lending import judged, tried


def judge_epoch(names: dict[str, Any]) -> None:
    """Say which mistake the notebook's `train_epoch` makes; one that is not right is replaced."""
    right = "right: for each batch the old gradients are cleared, new ones found, and a step is taken"
    judged(_epoch(names["train_epoch"]), right, names, "train_epoch", _lent)


def _lent(model: Any, optimizer: Any, batches: Any) -> list[float]:
    from minilib import functional as F

    losses = []
    for images, labels in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def _epoch(train_epoch: Callable[..., Any]) -> str | None:
    found, weights, trouble = _run(train_epoch)
    if trouble:
        return trouble
    want, right, _ = _run(_lent)
    start = _run(lambda *_: [0.0])[1]
    if not isinstance(found, list | tuple) or len(found) != 3:
        return "not yet: return a list with one loss for each of the three batches"
    if not all(np.ndim(loss) == 0 and isinstance(loss, float | np.floating) for loss in found):
        return "not yet: a loss as a float, not as a tensor, which would keep its graph: loss.item()"
    if np.allclose(weights, start):
        return "not yet: no weight has moved. Is there a backward, and a step after it?"
    if np.allclose(weights, _run(_hoarding)[1], atol=1e-5):
        return "not yet: the gradients of all batches add up. Forget the old ones before each backward"
    if not np.allclose(found, want, atol=1e-5):
        if np.isclose(found[0], want[0], atol=1e-5):
            return "the first loss is right, the others are not: forget, backward, one step, after each batch"
        first = f"the first loss is {want[0]:.4f}, and yours {found[0]:.4f}"
        return f"not yet: {first}: cross_entropy(scores, labels)"
    if not np.allclose(weights, right, atol=1e-5):
        return "the losses are right, but the weights are not where the optimiser would put them"
    return None


def _run(train_epoch: Callable[..., Any]) -> tuple[Any, Any, str | None]:
    """What it returns for three batches, where the weights are then, and what to say if it stops."""
    from minilib import nn, optim
    from minilib.tensor import tensor

    rng = np.random.default_rng(0)
    model = nn.Linear(5, 3)
    model.weight.data[...] = rng.normal(size=(3, 5))
    assert model.bias is not None
    model.bias.data[...] = 0
    batches = [(tensor(rng.normal(size=(4, 5)), "float32"), tensor(rng.integers(0, 3, 4))) for _ in range(3)]
    found, trouble = tried(train_epoch, model, optim.SGD(model.parameters(), lr=0.5), batches)
    return found, model.weight.numpy().copy(), trouble


def _hoarding(model: Any, optimizer: Any, batches: Any) -> list[float]:
    from minilib import functional as F

    for images, labels in batches:
        F.cross_entropy(model(images), labels).backward()
        optimizer.step()
    return []
