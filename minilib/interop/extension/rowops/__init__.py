"""Softmax over rows as an operator of PyTorch, `torch.ops.rowops.softmax`, from a library in the stable ABI.

The library brings the schemas and a kernel for each device; what an operator owes its callers beside numbers,
its fakes and its gradients, stands here. Source of the formulas: dx = y (g - sum(g y)) for y = softmax(x).
"""

from pathlib import Path

import torch
from torch import Tensor

torch.ops.load_library(next(Path(__file__).parent.glob("_C.*")))

softmax = torch.ops.rowops.softmax
softmax_backward = torch.ops.rowops.softmax_backward


@torch.library.register_fake("rowops::softmax")
def _(x: Tensor) -> Tensor:
    return x.new_empty(x.shape)


@torch.library.register_fake("rowops::softmax_backward")
def _(grad: Tensor, y: Tensor) -> Tensor:
    return y.new_empty(y.shape)


def _save_result(ctx, inputs, output):
    ctx.save_for_backward(output)


def _backward(ctx, grad):
    (y,) = ctx.saved_tensors
    return softmax_backward(grad, y)


torch.library.register_autograd("rowops::softmax", _backward, setup_context=_save_result)


def _save_inputs(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def _backward_twice(ctx, w):
    grad, y = ctx.saved_tensors
    along_y = w * (grad - (grad * y).sum(-1, keepdim=True)) - grad * (w * y).sum(-1, keepdim=True)
    return softmax_backward(w, y), along_y  # the Jacobian of softmax is symmetric


torch.library.register_autograd("rowops::softmax_backward", _backward_twice, setup_context=_save_inputs)
