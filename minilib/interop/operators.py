"""Six operators with their backward operators, in one source for two frameworks.

Taught in solutions/08b_contracts.ipynb: what it exports is edited there, then `make promote`.

Each function defines `minilib::NAME` and `minilib::NAME_backward` on `library`, which is `minilib.library` or
`torch.library`, over the tensors of `t`, `minilib.tensor` or `torch`, and returns the operator. Its kernels
are the library's Functions, on the memory of the tensors, which is not copied. An operator has no memory:
what backward needs of forward is a result of forward.
"""

# No `from __future__ import annotations` here: schemas are read from annotations, and `t` is a local name.

import re
from functools import cache
from typing import Any

import numpy as np

from minilib.functional.activations import Softmax
from minilib.functional.attention import CausalAttention
from minilib.functional.layers import Conv, places, tap_slices
from minilib.functional.norms import LayerNorm, RMSNorm
from minilib.functional.scan import SelectiveScan
from minilib.tensor import Array, Tensor

# What all of them share


def fresh(t: Any, *arrays: Array) -> Any:
    """Arrays as tensors of `t`; strided ones are copied, since the fakes promise contiguous ones."""
    made = tuple(t.from_numpy(np.ascontiguousarray(array)) for array in arrays)
    return made if len(made) > 1 else made[0]


def sizes_of(name: str, wanted: str, *tensors: Any) -> dict[str, int]:
    """The sizes of the axes that `wanted` names, as "x (B, T, E), A (E, N)"; "..." stands for any axes.

    Raises RuntimeError unless the shapes fit, and all are float32 or all float64, on one device. None fits.
    """
    sizes: dict[str, int] = {}
    given = [(x, axes) for x, axes in zip(tensors, axes_of(wanted)) if x is not None]
    first = given[0][0]
    for x, axes in given:
        shape = tuple(x.shape)
        if axes[0] == "...":
            axes, shape = axes[1:], shape[max(len(shape) - len(axes) + 1, 0) :]
        fits = len(shape) == len(axes) and all(sizes.setdefault(a, n) == n for a, n in zip(axes, shape))
        alike = x.dtype == first.dtype and x.device == first.device
        if not (fits and alike and str(x.dtype).removeprefix("torch.") in ("float32", "float64")):
            found = ", ".join(f"{tuple(x.shape)} of {x.dtype} on {x.device}" for x, _ in given)
            raise RuntimeError(
                f"minilib::{name}: needs {wanted}, all float32 or all float64 on one device, not {found}"
            )
    return sizes


@cache
def axes_of(wanted: str) -> list[list[str]]:
    return [axes.split(", ") for axes in re.findall(r"\((.*?)\)", wanted)]


# Softmax


def softmax(library: Any, t: Any) -> Any:
    """softmax(x, dim=-1) -> y: positive numbers that add up to 1 along `dim`."""

    @library.custom_op("minilib::softmax", mutates_args=(), device_types="cpu")
    def forward(x: t.Tensor, dim: int = -1) -> t.Tensor:
        sizes_of("softmax", "x (..., C)", x)
        y = Softmax().forward(np.moveaxis(x.numpy(), dim, -1))
        return fresh(t, np.moveaxis(y, -1, dim))

    @library.custom_op("minilib::softmax_backward", mutates_args=(), device_types="cpu")
    def backward(grad: t.Tensor, y: t.Tensor, dim: int) -> t.Tensor:
        f = Softmax()
        f.saved = (np.moveaxis(y.numpy(), dim, -1),)
        dx = f.backward(np.moveaxis(grad.numpy(), dim, -1))
        return fresh(t, np.moveaxis(dx, -1, dim))

    @forward.register_fake
    def _(x: Any, dim: int = -1) -> Any:
        sizes_of("softmax", "x (..., C)", x)
        return x.new_empty(x.shape)

    @backward.register_fake
    def _(grad: Any, y: Any, dim: int) -> Any:
        return y.new_empty(y.shape)

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(output)
        ctx.dim = inputs[1]

    def formula(ctx: Any, grad: Any) -> Any:
        return backward(grad, *ctx.saved_tensors, ctx.dim), None

    forward.register_autograd(formula, setup_context=setup_context)
    return forward


# Layer norm


def layer_norm(library: Any, t: Any) -> Any:
    """layer_norm(x, weight, bias, eps=1e-5) -> out, mean, rstd, for rows along the last axis.

    Mean and 1 / standard deviation, (..., 1), are for backward: of each row two numbers are kept, as in
    PyTorch's native_layer_norm.
    """

    @library.custom_op("minilib::layer_norm", mutates_args=(), device_types="cpu")
    def forward(
        x: t.Tensor, weight: t.Tensor, bias: t.Tensor, eps: float = 1e-5
    ) -> tuple[t.Tensor, t.Tensor, t.Tensor]:
        sizes_of("layer_norm", "x (..., C), weight (C), bias (C)", x, weight, bias)
        f = LayerNorm(eps)
        out = f.forward(x.numpy(), weight.numpy(), bias.numpy())
        y, rstd, _ = f.saved
        y, rstd = y.reshape(x.shape), rstd.reshape(*x.shape[:-1], 1)
        mean = x.numpy()[..., :1] - y[..., :1] / rstd  # since y = (x - mean) * rstd
        return fresh(t, out, mean, rstd)

    @library.custom_op("minilib::layer_norm_backward", mutates_args=(), device_types="cpu")
    def backward(
        grad: t.Tensor, x: t.Tensor, weight: t.Tensor, mean: t.Tensor, rstd: t.Tensor
    ) -> tuple[t.Tensor, t.Tensor, t.Tensor]:
        y = (x.numpy() - mean.numpy()) * rstd.numpy()  # once more: kept, it would be as large as x
        f = LayerNorm()
        f.saved = y.reshape(-1, y.shape[-1]), rstd.numpy().reshape(-1, 1), weight.numpy()
        dx, dw, db = f.backward(grad.numpy())
        return fresh(t, dx, dw, db.copy())  # dw and db are rows of one array, and results share no memory

    @forward.register_fake
    def _(x: Any, weight: Any, bias: Any, eps: float = 1e-5) -> Any:
        sizes_of("layer_norm", "x (..., C), weight (C), bias (C)", x, weight, bias)
        return x.new_empty(x.shape), *(x.new_empty((*x.shape[:-1], 1)) for _ in range(2))

    @backward.register_fake
    def _(grad: Any, x: Any, weight: Any, mean: Any, rstd: Any) -> Any:
        return x.new_empty(x.shape), *(x.new_empty(weight.shape) for _ in range(2))

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        x, weight, *_ = inputs
        _, mean, rstd = output
        ctx.mark_non_differentiable(mean, rstd)
        ctx.save_for_backward(x, weight, mean, rstd)

    def formula(ctx: Any, grad: Any, *_: Any) -> Any:
        return *backward(grad, *ctx.saved_tensors), None

    forward.register_autograd(formula, setup_context=setup_context)
    return forward


# RMS norm


def rms_norm(library: Any, t: Any) -> Any:
    """rms_norm(x, weight, eps=None) -> out, rstd, for rows along the last axis; `eps` None: the dtype's.

    1 / root mean square, (..., 1), is for backward.
    """

    @library.custom_op("minilib::rms_norm", mutates_args=(), device_types="cpu")
    def forward(x: t.Tensor, weight: t.Tensor, eps: float | None = None) -> tuple[t.Tensor, t.Tensor]:
        sizes_of("rms_norm", "x (..., C), weight (C)", x, weight)
        rows = x.numpy().reshape(-1, x.shape[-1])
        f = RMSNorm(float(np.finfo(rows.dtype).eps) if eps is None else eps)
        out = f.forward(rows, weight.numpy())
        _, rstd, _ = f.saved
        return fresh(t, out.reshape(x.shape), rstd.reshape(*x.shape[:-1], 1))

    @library.custom_op("minilib::rms_norm_backward", mutates_args=(), device_types="cpu")
    def backward(grad: t.Tensor, x: t.Tensor, weight: t.Tensor, rstd: t.Tensor) -> tuple[t.Tensor, t.Tensor]:
        y = (x.numpy() * rstd.numpy()).reshape(-1, x.shape[-1])
        f = RMSNorm()
        f.saved = y, rstd.numpy().reshape(-1, 1), weight.numpy()
        dx, dw = f.backward(grad.numpy().reshape(y.shape))
        return fresh(t, dx.reshape(x.shape), dw)

    @forward.register_fake
    def _(x: Any, weight: Any, eps: float | None = None) -> Any:
        sizes_of("rms_norm", "x (..., C), weight (C)", x, weight)
        return x.new_empty(x.shape), x.new_empty((*x.shape[:-1], 1))

    @backward.register_fake
    def _(grad: Any, x: Any, weight: Any, rstd: Any) -> Any:
        return x.new_empty(x.shape), x.new_empty(weight.shape)

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        x, weight, _ = inputs
        _, rstd = output
        ctx.mark_non_differentiable(rstd)
        ctx.save_for_backward(x, weight, rstd)

    def formula(ctx: Any, grad: Any, *_: Any) -> Any:
        return *backward(grad, *ctx.saved_tensors), None

    forward.register_autograd(formula, setup_context=setup_context)
    return forward


# Convolution


def conv2d(library: Any, t: Any) -> Any:
    """conv2d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1) -> out.

    Settings are numbers for both axes. Backward needs nothing of forward but its inputs.
    """

    @library.custom_op("minilib::conv2d", mutates_args=(), device_types="cpu")
    def forward(
        x: t.Tensor, weight: t.Tensor, bias: t.Tensor | None = None,
        stride: int = 1, padding: int = 0, dilation: int = 1, groups: int = 1,
    ) -> t.Tensor:  # fmt: skip
        out_shape(x, weight, bias, stride, padding, dilation, groups)
        f = Conv((stride,) * 2, (padding,) * 2, (dilation,) * 2, groups)
        return fresh(t, f.forward(*(one.numpy() for one in (x, weight, bias) if one is not None)))

    @library.custom_op("minilib::conv2d_backward", mutates_args=(), device_types="cpu")
    def backward(
        grad: t.Tensor, x: t.Tensor, weight: t.Tensor, stride: int, padding: int, dilation: int, groups: int
    ) -> tuple[t.Tensor, t.Tensor, t.Tensor]:
        f = Conv((stride,) * 2, (padding,) * 2, (dilation,) * 2, groups)
        f.saved = x.numpy(), weight.numpy()
        f.inputs = tuple(Tensor(array).requires_grad_() for array in f.saved)  # which gradients to make
        f.places = grad.shape[2:]
        f.taps = list(tap_slices(weight.shape[2:], f.stride, f.dilation, f.places))
        return fresh(t, *f.backward(grad.numpy()))

    @forward.register_fake
    def _(
        x: Any, weight: Any, bias: Any = None,
        stride: int = 1, padding: int = 0, dilation: int = 1, groups: int = 1,
    ) -> Any:  # fmt: skip
        return x.new_empty(out_shape(x, weight, bias, stride, padding, dilation, groups))

    @backward.register_fake
    def _(grad: Any, x: Any, weight: Any, *_: int) -> Any:
        return x.new_empty(x.shape), x.new_empty(weight.shape), x.new_empty(weight.shape[:1])

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        x, weight, bias, *ctx.settings = inputs
        ctx.save_for_backward(x, weight)
        ctx.biased = bias is not None

    def formula(ctx: Any, grad: Any) -> Any:
        dx, dw, db = backward(grad, *ctx.saved_tensors, *ctx.settings)
        return dx, dw, db if ctx.biased else None, *(None for _ in ctx.settings)

    forward.register_autograd(formula, setup_context=setup_context)
    return forward


def out_shape(
    x: Any, weight: Any, bias: Any, stride: int, padding: int, dilation: int, groups: int
) -> tuple[int, ...]:
    """The shape of what conv2d makes. Raises RuntimeError where there is none."""
    n = sizes_of("conv2d", "x (N, C, H, W), weight (O, I, kH, kW), bias (O)", x, weight, bias)
    if n["C"] != n["I"] * groups or n["O"] % groups:
        raise RuntimeError(
            f"minilib::conv2d: {groups} groups do not fit x {tuple(x.shape)} and weight {tuple(weight.shape)}"
        )
    if min(stride, dilation, padding + 1) < 1:
        raise RuntimeError(
            f"minilib::conv2d: stride {stride} and dilation {dilation} start at 1, padding {padding} at 0"
        )
    pairs = [(one, one) for one in (stride, padding, dilation)]
    made = places(x.shape[2:], weight.shape[2:], *pairs)
    if min(made) < 1:
        raise RuntimeError(
            f"minilib::conv2d: the kernel {tuple(weight.shape[2:])} is larger than the padded input"
        )
    return (n["N"], n["O"], *made)


# Causal attention


def causal_attention(library: Any, t: Any) -> Any:
    """causal_attention(q, k, v, n_head) -> out, weights: the queries are the last T of S positions.

    q (B, T, C), k and v (B, S, C), each head with C / n_head of the channels. The weights, (B, n_head, T, S),
    are for backward.
    """

    @library.custom_op("minilib::causal_attention", mutates_args=(), device_types="cpu")
    def forward(q: t.Tensor, k: t.Tensor, v: t.Tensor, n_head: int) -> tuple[t.Tensor, t.Tensor]:
        weights_shape(q, k, v, n_head)
        f = CausalAttention(n_head)
        out = f.forward(q.numpy(), k.numpy(), v.numpy())
        *_, weights = f.saved
        return fresh(t, out, weights)

    @library.custom_op("minilib::causal_attention_backward", mutates_args=(), device_types="cpu")
    def backward(
        grad: t.Tensor, q: t.Tensor, k: t.Tensor, v: t.Tensor, out: t.Tensor, weights: t.Tensor, n_head: int
    ) -> tuple[t.Tensor, t.Tensor, t.Tensor]:
        f = CausalAttention(n_head)
        heads = out.numpy().reshape(*out.shape[:2], n_head, out.shape[2] // n_head)  # (B, T, n_head, d)
        f.saved = q.numpy(), k.numpy(), v.numpy(), heads, weights.numpy()
        return fresh(t, *f.backward(grad.numpy()))

    @forward.register_fake
    def _(q: Any, k: Any, v: Any, n_head: int) -> Any:
        return q.new_empty(q.shape), q.new_empty(weights_shape(q, k, v, n_head))

    @backward.register_fake
    def _(grad: Any, q: Any, k: Any, v: Any, out: Any, weights: Any, n_head: int) -> Any:
        return q.new_empty(q.shape), k.new_empty(k.shape), v.new_empty(v.shape)

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        q, k, v, ctx.n_head = inputs
        out, weights = output
        ctx.mark_non_differentiable(weights)
        ctx.save_for_backward(q, k, v, out, weights)

    def formula(ctx: Any, grad: Any, _: Any) -> Any:
        return *backward(grad, *ctx.saved_tensors, ctx.n_head), None

    forward.register_autograd(formula, setup_context=setup_context)
    return forward


def weights_shape(q: Any, k: Any, v: Any, n_head: int) -> tuple[int, ...]:
    """(B, n_head, T, S). Raises RuntimeError where there is no such attention."""
    n = sizes_of("causal_attention", "q (B, T, C), k (B, S, C), v (B, S, C)", q, k, v)
    if n["T"] > n["S"] or n_head < 1 or n["C"] % n_head or not n["C"]:
        raise RuntimeError(
            f"minilib::causal_attention: needs T <= S and channels for {n_head} heads, "
            f"not {n['T']} queries, {n['S']} keys and {n['C']} channels"
        )
    return n["B"], n_head, n["T"], n["S"]


# The selective scan


def selective_scan(library: Any, t: Any) -> Any:
    """selective_scan(x, delta, A, B, C, D=None) -> y, carried: a state that forgets, arXiv:2312.00752.

    x and delta (B, T, E), A (E, N), B and C (B, T, N), D (E,). What is carried, the states before each chunk
    of 32 tokens and after the last, (B, chunks + 1, N, E), is for backward.
    """

    @library.custom_op("minilib::selective_scan", mutates_args=(), device_types="cpu")
    def forward(
        x: t.Tensor, delta: t.Tensor, A: t.Tensor, B: t.Tensor, C: t.Tensor, D: t.Tensor | None = None
    ) -> tuple[t.Tensor, t.Tensor]:
        carried_shape(x, delta, A, B, C, D)
        f = SelectiveScan()
        y = f.forward(*(one.numpy() for one in (x, delta, A, B, C, D) if one is not None))
        *_, carried = f.saved
        return fresh(t, y, carried)

    @library.custom_op("minilib::selective_scan_backward", mutates_args=(), device_types="cpu")
    def backward(
        grad: t.Tensor, x: t.Tensor, delta: t.Tensor, A: t.Tensor, B: t.Tensor, C: t.Tensor,
        D: t.Tensor | None, carried: t.Tensor,
    ) -> tuple[t.Tensor, t.Tensor, t.Tensor, t.Tensor, t.Tensor, t.Tensor]:  # fmt: skip
        f = SelectiveScan()
        arrays = [one.numpy() for one in (x, delta, A, B, C)]
        skip = np.zeros(A.shape[0], arrays[0].dtype) if D is None else D.numpy()
        f.saved = *arrays, skip, carried.numpy()
        return fresh(t, *f.backward(grad.numpy()))

    @forward.register_fake
    def _(x: Any, delta: Any, A: Any, B: Any, C: Any, D: Any = None) -> Any:
        return x.new_empty(x.shape), x.new_empty(carried_shape(x, delta, A, B, C, D))

    @backward.register_fake
    def _(grad: Any, x: Any, delta: Any, A: Any, B: Any, C: Any, D: Any, carried: Any) -> Any:
        return *(one.new_empty(one.shape) for one in (x, delta, A, B, C)), A.new_empty(A.shape[:1])

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        _, carried = output
        ctx.mark_non_differentiable(carried)
        ctx.save_for_backward(*inputs, carried)

    def formula(ctx: Any, grad: Any, _: Any) -> Any:
        *grads, dD = backward(grad, *ctx.saved_tensors)
        return *grads, dD if ctx.saved_tensors[5] is not None else None

    forward.register_autograd(formula, setup_context=setup_context)
    return forward


def carried_shape(x: Any, delta: Any, A: Any, B: Any, C: Any, D: Any) -> tuple[int, ...]:
    """(B, chunks + 1, N, E). Raises RuntimeError where there is no such scan."""
    wanted = "x (B, T, E), delta (B, T, E), A (E, N), B (B, T, N), C (B, T, N), D (E)"
    n = sizes_of("selective_scan", wanted, x, delta, A, B, C, D)
    if n["N"] < 1:
        raise RuntimeError("minilib::selective_scan: a state needs at least one number, and A has no columns")
    return n["B"], (n["T"] + 31) // 32 + 1, n["N"], n["E"]


ALL = (softmax, layer_norm, rms_norm, conv2d, causal_attention, selective_scan)
