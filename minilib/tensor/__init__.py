"""Arrays that know their gradient: what to import from `minilib.tensor`, whatever file holds it."""

from __future__ import annotations

from minilib.engine import (
    DEVICES,
    FREED,
    Array,
    Device,
    Function,
    Mode,
    Node,
    Number,
    Record,
    Shape,
    WriteLog,
    Writes,
    array_module,
    enable_grad,
    first_gradient,
    hand_out,
    is_grad_enabled,
    mode,
    no_grad,
    owner_of,
    propagate,
    record,
    refuse_overwritten,
    refuse_unusable,
    run_hooks,
    set_grad_enabled,
    sum_to,
    wrote,
)
from minilib.engine import _backward_on_device as _backward_on_device
from minilib.engine import _clock as _clock
from minilib.engine import _on_device as _on_device
from minilib.engine import _refuse_stale_views as _refuse_stale_views
from minilib.engine import _rewritten as _rewritten
from minilib.engine import _writes as _writes
from minilib.operations import (
    Abs,
    Add,
    ArgExtreme,
    Cast,
    Cat,
    Clip,
    Clone,
    Compare,
    Cos,
    CumSum,
    Dim,
    Div,
    Exp,
    Expand,
    Extreme,
    Flip,
    Invert,
    Log,
    MatMul,
    Maximum,
    Minimum,
    Mul,
    Neg,
    Permute,
    Pow,
    Reduction,
    ReLU,
    Reshape,
    Select,
    Sigmoid,
    Sin,
    Slice,
    Sqrt,
    Sub,
    Sum,
    TakeAlongDim,
    Tanh,
    Triangle,
    Truth,
    Where,
    Write,
    add_at,
    axes,
    fill,
    power,
)
from minilib.tensor.core import Float, Tensor, apply, as_array, binary, matmul, weak
from minilib.tensor.creation import (
    arange,
    eye,
    full,
    linspace,
    ones,
    ones_like,
    rand,
    randint,
    randn,
    randperm,
    tensor,
    zeros,
    zeros_like,
)
from minilib.tensor.derivatives import GradcheckError, grad, gradcheck, quotient
from minilib.tensor.functions import cat, concatenate, maximum, minimum, stack, where
from minilib.tensor.hooks import RemovableHandle
from minilib.tensor.random import Generator, default_generator, manual_seed
from minilib.tensor.rules import _CATEGORY as _CATEGORY
from minilib.tensor.rules import Best, Index, all_slices, full_shape, result_type, split_index
from minilib.tensor.rules import _sizes as _sizes

__all__ = [  # noqa: RUF022 (as they stand in the files above)
    "Array", "DEVICES", "Device", "FREED", "Function", "Mode", "Node", "Number", "Record", "Shape",
    "WriteLog", "Writes", "array_module", "enable_grad", "first_gradient", "hand_out", "is_grad_enabled",
    "mode", "no_grad", "owner_of", "propagate", "record", "refuse_overwritten", "refuse_unusable",
    "run_hooks", "set_grad_enabled", "sum_to", "wrote",
    "Abs", "Add", "ArgExtreme", "Cast", "Cat", "Clip", "Clone", "Compare", "Cos", "CumSum", "Dim", "Div",
    "Exp", "Expand", "Extreme", "Flip", "Invert", "Log", "MatMul", "Maximum", "Minimum", "Mul", "Neg",
    "Permute", "Pow", "ReLU", "Reduction", "Reshape", "Select", "Sigmoid", "Sin", "Slice", "Sqrt", "Sub",
    "Sum", "TakeAlongDim", "Tanh", "Triangle", "Truth", "Where", "Write", "add_at", "axes", "fill",
    "power",
    "Index", "all_slices", "full_shape", "result_type", "split_index",
    "RemovableHandle", "Generator", "default_generator", "manual_seed",
    "Best", "Float", "Tensor", "apply", "as_array", "binary", "matmul", "tensor", "weak",
    "cat", "concatenate", "maximum", "minimum", "stack", "where",
    "arange", "eye", "full", "linspace", "ones", "ones_like", "rand", "randint", "randn", "randperm",
    "zeros", "zeros_like",
    "GradcheckError", "grad", "gradcheck", "quotient",
]  # fmt: skip
