"""Our operators inside PyTorch: `torch.ops.minilib.softmax`, `layer_norm`, `rms_norm`, `conv2d`,
`causal_attention` and `selective_scan`, with backward operators. To import this module defines them.

On CPU tensors they are the library's Functions, on the tensors' own memory; on CUDA tensors our kernels of
minilib/kernels, on PyTorch's current stream. `with through_kernels():` sends CPU tensors through the same
code and the same kernels, on the simulator where there is no GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from minilib.cuda import backend, cp
from minilib.functional.activations import Softmax
from minilib.functional.attention import CausalAttention
from minilib.functional.layers import Conv
from minilib.functional.norms import LayerNorm, RMSNorm
from minilib.functional.scan import SelectiveScan
from minilib.gpu.attention import LaunchedScan
from minilib.gpu.copies import contiguous
from minilib.gpu.device import DEVICE
from minilib.interop import operators
from minilib.tensor import Array, Function, Tensor

__all__ = ["from_torch", "through_kernels", "to_torch"]

Kernel = Callable[..., Any]

# Tensors in one memory


def to_torch(x: Tensor) -> torch.Tensor:
    """A PyTorch tensor in the memory of `x`: what is written to one is seen in the other.

    Raises RuntimeError for what cannot be shared: a history, an expanded view, an array without numbers.
    """
    if x.requires_grad:
        raise RuntimeError("to_torch: no gradient passes from one framework to the other: x.detach() first")
    if x.device == "cuda" and backend() == "gpu":
        return torch.from_dlpack(x.data)
    if x.device != "cpu":
        where = "a simulated GPU" if x.device == "cuda" else f"the device {x.device!r}"
        raise RuntimeError(f"to_torch: PyTorch cannot see the memory of {where}: x.cpu() first")
    if min(x.data.strides, default=0) < 0 or not x.data.flags.writeable:
        raise RuntimeError(
            "to_torch: PyTorch has no flipped and no read-only or expanded tensors: x.clone() first"
        )
    return torch.from_numpy(x.data)


def from_torch(x: torch.Tensor) -> Tensor:
    """A tensor in the memory of a PyTorch tensor. Raises RuntimeError for what cannot be shared."""
    if x.requires_grad:
        raise RuntimeError("from_torch: no gradient passes from one framework to the other: x.detach() first")
    if x.is_cuda and backend() == "gpu":
        return Tensor(cp.from_dlpack(x))
    if x.layout != torch.strided or x.is_conj() or x.is_neg():
        raise RuntimeError(f"from_torch: the numbers of a {x.layout} tensor do not lie in memory as they are")
    if x.device.type != "cpu":
        raise RuntimeError(f"from_torch: NumPy cannot see the memory of {x.device}: x.cpu() first")
    if x.dtype == torch.bfloat16 or x.is_complex():
        raise RuntimeError(f"from_torch: our tensors have no {x.dtype}: x.float() first")
    return Tensor(x.numpy())


# Kernels on arrays of the device: what operators.py says of forward and backward holds here too


def run(f: Function, *arrays: Array) -> Array:
    """What our pair for `f` makes of arrays, and saves in `f`. Raises RuntimeError for misfits."""
    f.xp = cp
    made = DEVICE.pairs[type(f)].forward(f, *arrays)
    if made is NotImplemented:
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise RuntimeError(f"minilib: our kernels of {f.name} are not made for shapes as large as {shapes}")
    return made


def back(f: Function, grad: Array, *saved: Array) -> Any:
    """The gradients of `f` by our pair, from that of its result and what the pair's forward has saved."""
    f.xp, f.saved = cp, saved
    return DEVICE.pairs[type(f)].backward(f, grad)


def softmax(x: Array, dim: int = -1) -> Array:
    operators.sizes_of("softmax", "x (..., C)", x)
    return cp.moveaxis(run(Softmax(), cp.moveaxis(x, dim, -1)), -1, dim)


def softmax_backward(grad: Array, y: Array, dim: int) -> Array:
    dx = back(Softmax(), cp.moveaxis(grad, dim, -1), contiguous(cp.moveaxis(y, dim, -1)))
    return cp.moveaxis(dx, -1, dim)


def layer_norm(x: Array, weight: Array, bias: Array, eps: float = 1e-5) -> tuple[Array, ...]:
    operators.sizes_of("layer_norm", "x (..., C), weight (C), bias (C)", x, weight, bias)
    f = LayerNorm(eps)
    out = run(f, x, weight, bias)
    *_, mean, rstd = f.saved
    return out, mean.reshape(*x.shape[:-1], 1), rstd.reshape(*x.shape[:-1], 1)


def layer_norm_backward(grad: Array, x: Array, weight: Array, mean: Array, rstd: Array) -> tuple[Array, ...]:
    rows = contiguous(x).reshape(-1, x.shape[-1])
    return back(LayerNorm(), contiguous(grad), rows, weight, *(contiguous(one) for one in (mean, rstd)))


def rms_norm(x: Array, weight: Array, eps: float | None = None) -> tuple[Array, ...]:
    operators.sizes_of("rms_norm", "x (..., C), weight (C)", x, weight)
    f = RMSNorm(float(np.finfo(np.float32).eps) if eps is None else eps)
    out = run(f, contiguous(x).reshape(-1, x.shape[-1]), weight)
    *_, rstd = f.saved
    return out.reshape(x.shape), rstd.reshape(*x.shape[:-1], 1)


def rms_norm_backward(grad: Array, x: Array, weight: Array, rstd: Array) -> tuple[Array, ...]:
    rows, grads = (contiguous(one).reshape(-1, x.shape[-1]) for one in (x, grad))
    dx, dw = back(RMSNorm(), grads, rows, contiguous(weight).reshape(1, -1), contiguous(rstd))
    return dx.reshape(x.shape), dw


def conv_of(settings: tuple[int, ...], *arrays: Array) -> Conv:
    """A convolution all of whose gradients are wanted."""
    stride, padding, dilation, groups = settings
    f = Conv((stride,) * 2, (padding,) * 2, (dilation,) * 2, groups)
    f.inputs = tuple(Tensor(array).requires_grad_() for array in arrays)
    return f


def conv2d(
    x: Array, weight: Array, bias: Array | None = None,
    stride: int = 1, padding: int = 0, dilation: int = 1, groups: int = 1,
) -> Array:  # fmt: skip
    settings = (stride, padding, dilation, groups)
    operators.out_shape(x, weight, bias, *settings)
    arrays = (x, weight) if bias is None else (x, weight, bias)
    return run(conv_of(settings, *arrays), *arrays)


def conv2d_backward(grad: Array, x: Array, weight: Array, *settings: int) -> tuple[Array, ...]:
    return back(conv_of(settings, x, weight, weight[:, 0, 0, 0]), grad, x, weight)


def causal_attention(q: Array, k: Array, v: Array, n_head: int) -> tuple[Array, Array]:
    """The second result is not the weights but the log-sum-exp of each row, (B, n_head, T): see flash.cu."""
    kept = operators.weights_shape(q, k, v, n_head)[:3]
    if not q.size:
        return cp.empty(q.shape, np.float32), cp.empty(kept, np.float32)
    f = CausalAttention(n_head)
    out = run(f, q, k, v)
    return out, f.saved[-1]


def causal_attention_backward(
    grad: Array, q: Array, k: Array, v: Array, out: Array, lse: Array, n_head: int
) -> tuple[Array, ...]:
    if not q.size:
        return tuple(cp.zeros(one.shape, np.float32) for one in (q, k, v))
    return back(CausalAttention(n_head), grad, *(contiguous(one) for one in (q, k, v, out, lse)))


def selective_scan(
    x: Array, delta: Array, A: Array, B: Array, C: Array, D: Array | None = None
) -> tuple[Array, ...]:
    operators.carried_shape(x, delta, A, B, C, D)
    f = SelectiveScan()
    y = run(f, x, delta, A, B, C, *([] if D is None else [D]))
    return y, f.saved[-1].swapaxes(2, 3)  # the kernels keep states as (E, N)


def selective_scan_backward(
    grad: Array, x: Array, delta: Array, A: Array, B: Array, C: Array, D: Array | None, carried: Array
) -> tuple[Array, ...]:
    f: Any = SelectiveScan()
    f.by_kernel = LaunchedScan()
    f.by_kernel.xp = cp
    skip = cp.zeros(len(A), np.float32) if D is None else D
    return back(f, grad, x, delta, A, B, C, skip, contiguous(carried.swapaxes(2, 3)))


# From PyTorch's tensors to arrays, and back


def array_of(x: Any) -> Any:
    """A tensor as an array of the device: a CUDA tensor in its own memory, a CPU tensor as a copy."""
    if not isinstance(x, torch.Tensor):
        return x
    return cp.from_dlpack(x.detach()) if x.is_cuda else cp.asarray(x.detach().numpy())


def tensor_of(array: Array, like: torch.Tensor) -> torch.Tensor:
    """An array as a tensor beside `like`, contiguous, as the fakes promise."""
    array = contiguous(array)
    return torch.from_dlpack(array) if like.is_cuda else torch.from_numpy(cp.asnumpy(array))


@contextmanager
def stream_of(x: torch.Tensor) -> Iterator[None]:
    """CuPy's work in this block comes after PyTorch's of before, and before PyTorch's of later.

    CuPy has a current stream of its own: without this block a kernel could read what is not yet written.
    """
    if not x.is_cuda:
        yield
        return
    stream = torch.cuda.current_stream(x.device)
    with cp.cuda.Device(x.device.index), cp.cuda.ExternalStream(stream.cuda_stream, x.device.index):
        yield


def refuse(name: str, tensors: list[torch.Tensor]) -> None:
    """Raise RuntimeError where our kernels cannot run on these tensors."""
    if len({x.device for x in tensors}) > 1 or any(x.dtype != torch.float32 for x in tensors):
        found = ", ".join(f"{tuple(x.shape)} of {x.dtype} on {x.device}" for x in tensors)
        raise RuntimeError(f"{name}: our kernels need float32 tensors on one device, not {found}")
    if tensors[0].is_cuda and backend() != "gpu":
        raise RuntimeError(f"{name}: for CUDA tensors install CuPy: pip install cupy-cuda12x")


# The operators


def through_kernel(name: str, kernel: Kernel, numpy: Kernel) -> Kernel:
    """A kernel on arrays as one on PyTorch's tensors; `numpy` takes those that hold no number."""

    def launched(*args: Any) -> Any:
        tensors = [x for x in args if isinstance(x, torch.Tensor)]
        refuse(name, tensors)
        first = tensors[0]
        if not all(x.numel() for x in tensors) and "attention" not in name:  # which knows what to keep
            made = numpy(*(x.cpu() if isinstance(x, torch.Tensor) else x for x in args))
            return tuple(x.to(first) for x in made) if isinstance(made, tuple) else made.to(first)
        with stream_of(first):
            made = kernel(*map(array_of, args))
            if isinstance(made, tuple):
                return tuple(tensor_of(array, first) for array in made)
            return tensor_of(made, first)

    return launched


def refuse_device(name: str) -> Kernel:
    """What runs where no kernel is."""

    def refused(*args: Any) -> Any:
        found = ", ".join(f"{x.layout} on {x.device}" for x in args if isinstance(x, torch.Tensor))
        raise NotImplementedError(
            f"{name}: there are kernels for dense tensors on cpu and cuda, not for {found}"
        )

    return refused


road = SimpleNamespace(kernels=False)  # whether CPU tensors go through our kernels


@contextmanager
def through_kernels() -> Iterator[None]:
    """CPU tensors go through the kernels of CUDA tensors in this block, in all threads: float32 alone.

    What `torch.compile` has traced outside of it does not fit inside, since attention keeps other results.
    """
    before, road.kernels = road.kernels, True
    try:
        yield
    finally:
        road.kernels = before


def custom_op(name: str, *, mutates_args: Any, device_types: str) -> Callable[[Kernel], Any]:
    """`torch.library.custom_op`, with our kernel of the same name beside NumPy's."""

    def define(numpy: Kernel) -> Any:
        launched = through_kernel(name, globals()[name.removeprefix("minilib::")], numpy)

        def on_cpu(*args: Any) -> Any:
            kernels = road.kernels
            if (
                name == "minilib::causal_attention_backward"
            ):  # it goes back the way it came: what is kept tells
                kernels = args[5].ndim == 3
            return (launched if kernels else numpy)(*args)

        op = torch.library.custom_op(name, numpy, mutates_args=mutates_args, device_types=device_types)
        op.register_kernel("cpu", on_cpu)
        op.register_kernel("cuda", launched)
        op.register_kernel(None, refuse_device(name))
        return op

    return define


OPERATORS = {make.__name__: make(SimpleNamespace(custom_op=custom_op), torch) for make in operators.ALL}


@OPERATORS["causal_attention"].register_fake
def _(q: Any, k: Any, v: Any, n_head: int) -> Any:
    shape = operators.weights_shape(q, k, v, n_head)
    kept = shape[:3] if q.is_cuda or road.kernels else shape  # log-sum-exps of rows, or their weights
    return q.new_empty(q.shape), q.new_empty(kept)
