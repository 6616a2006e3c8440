"""Losses: how far scores and numbers are from their targets.

Taught in chapters/03a_losses.ipynb: what it exports is edited there, then `make promote`.
"""

from __future__ import annotations

import numpy as np

from minilib.functional.activations import log_softmax
from minilib.functional.rows import in_float32, row_max, row_sum
from minilib.parallel import chunked
from minilib.tensor import Array, Function, Tensor, apply, array_module, ones, where

__all__ = [
    "CrossEntropy", "cross_entropy", "mse_loss", "nll_loss",
]  # fmt: skip

# Cross-entropy


class CrossEntropy(Function):
    """share * -log softmax(x) at the target of each row: x (N, C), target and share (N, 1) give (N, 1).

    A row whose share is 0 has the loss 0, whatever it holds.
    """

    def forward(self, x: Array, target: Array, share: Array) -> Array:
        p, losses = self.xp.empty_like(x, order="C"), self.xp.empty_like(share)
        self.saved = p, target, share

        def kernel(x: Array, target: Array, share: Array, p: Array, losses: Array) -> None:
            self.xp.subtract(x, row_max(x), out=p)
            at_target = self.xp.take_along_axis(p, target, 1)  # before exp overwrites it
            self.xp.exp(p, out=p)
            sums = row_sum(p)
            p *= 1 / sums
            # -log softmax, without the log of a probability that may be 0.
            loss = self.xp.log(sums) - at_target
            losses[:] = share * self.xp.where(share != 0, loss, 0)  # 0 times infinity is nan

        chunked(kernel, x, target, share, p, losses)
        return losses

    def backward(self, grad: Array) -> Array:
        p, target, share = self.saved
        dx = self.xp.empty_like(p)

        def kernel(scale: Array, target: Array, p: Array, dx: Array) -> None:
            self.xp.multiply(p, scale, out=dx)
            # The gradient is share (softmax - one hot).
            dx[self.xp.arange(len(dx)), target[:, 0]] -= scale[:, 0]

        chunked(kernel, grad * share, target, p, dx)
        return dx


@in_float32
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """-log softmax(input) at the target classes: input (N, C, d1, ..) or (C,), target (N, d1, ..) or ().

    "mean" divides by the weights of the targets that count. Raises RuntimeError for shapes that do not
    fit and for a label_smoothing outside [0, 1], IndexError for a target that is no class. Only the CPU looks
    for one: where to look is to wait for the device, its loss is NaN.
    """
    here = type(target.data) is np.ndarray
    axis = _check_targets(input, target, weight, ignore_index, reduction, look=here)
    rows, targets = _class_rows(input, axis), target.data.reshape(-1, 1)
    xp = array_module(targets)
    weights = ones(rows.shape[1], device=input.device) if weight is None else weight
    weights = weights.to(input.dtype)
    wrong, counts = _no_class(target, rows.shape[1], ignore_index).reshape(-1, 1), targets != ignore_index
    classes = targets * (counts & ~wrong)  # class 0 for those that do not count
    share = weights.data[classes] * counts
    if not here:
        share = xp.where(wrong, share.dtype.type(np.nan), share)
    total = share.sum() if reduction == "mean" else xp.ones((), share.dtype)
    divisor = total + (total == 0)  # 1 where nothing counts: the nan of PyTorch comes at the end
    losses = apply(CrossEntropy(), rows, Tensor(classes), Tensor(share / divisor))
    if label_smoothing:
        losses = _smoothed(losses, rows, weights, Tensor(counts), Tensor(divisor), label_smoothing)
    if reduction == "none":
        return losses.reshape(target.shape)
    if reduction == "sum" or (here and total):
        return losses.sum()
    return losses.sum() + Tensor(xp.where(total == 0, np.nan, 0).astype(share.dtype))  # the mean of nothing


def _no_class(target: Tensor, classes: int, ignore_index: int) -> Array:
    """Where a target is neither a class nor to be ignored."""
    return (target.data != ignore_index) & ((target.data < 0) | (target.data >= classes))


def _class_rows(input: Tensor, axis: int) -> Tensor:
    """The classes, which lie along `axis`, in rows: (N d1 .., C)."""
    if input.ndim == 2:
        return input
    others = [i for i in range(input.ndim) if i != axis]
    return input.permute(*others, axis).reshape(-1, input.shape[axis])


def _smoothed(
    losses: Tensor, rows: Tensor, weights: Tensor, counts: Tensor, total: Tensor, smoothing: float
) -> Tensor:
    """The losses if the part `smoothing` of each target that counts went to all classes alike."""
    if not 0 <= smoothing <= 1:
        raise RuntimeError(f"cross_entropy: label_smoothing is between 0 and 1, not {smoothing}")
    even = -(log_softmax(rows, 1) * weights).mean(1, keepdim=True)  # all classes alike
    return losses * (1 - smoothing) + where(counts, even, 0.0) * (smoothing / total)


# Negative log-likelihood


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """-input (N, C, d1, ..) at the targets (N, d1, ..): the cross_entropy of what is log_softmax already."""
    _check_targets(input, target, weight, ignore_index, reduction)
    kept = target != ignore_index
    at = where(kept, target, 0)
    share = kept.to(input.dtype) if weight is None else where(kept, weight[at], 0.0)
    losses = where(kept, -input.gather(1, at.unsqueeze(1)).squeeze(1), 0.0) * share
    if reduction == "none":
        return losses
    return losses.sum() / share.sum() if reduction == "mean" else losses.sum()


# Squared errors


@in_float32
def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Squared differences of two tensors of one shape."""
    if input.shape != target.shape:
        raise RuntimeError(f"mse_loss: the shapes differ: {input.shape} and {target.shape}")
    _check_reduction(reduction)
    losses = (input - target).square()
    return losses if reduction == "none" else losses.mean() if reduction == "mean" else losses.sum()


# What a loss refuses


def _check_targets(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    reduction: str,
    look: bool = True,
) -> int:
    """The axis of the classes. Raises where a loss over them cannot be worked out; `look`: at targets too."""
    _check_reduction(reduction)
    axis = min(1, input.ndim - 1)
    expected = input.shape[:axis] + input.shape[axis + 1 :]
    if target.shape != expected or target.dtype.kind not in "iu":
        raise RuntimeError(
            f"cross_entropy: scores {input.shape} need integer targets of shape {expected}, "
            f"not {target.dtype} of {target.shape}"
        )
    classes = input.shape[axis]
    if weight is not None and weight.shape != (classes,):
        raise RuntimeError(f"cross_entropy: weight must have the shape ({classes},), not {weight.shape}")
    look = look and target.device != "meta"  # where there are no numbers
    if look and (wrong := _no_class(target, classes, ignore_index)).any():
        first = int(target.data[wrong][0])
        raise IndexError(f"cross_entropy: target {first} is no class; there are {classes}, from 0")
    return axis


def _check_reduction(reduction: str) -> None:
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"reduction is 'mean', 'sum' or 'none', not {reduction!r}")
