"""Operators: functions that the framework finds by device, knows by their shapes and can differentiate.

`custom_op` makes one of a kernel, and its methods register what else it owes its callers: kernels for other
devices, a fake, which tells the result without computing it, and a formula for backward. `opcheck` looks
whether it keeps its promises. Names, arguments and meaning are those of `torch.library`, so that the same
source runs there with `torch` in the place of `minilib.tensor`. Here an operator returns nothing, a tensor or
a tuple of tensors, and the shape of a result may not depend on numbers.
"""

from __future__ import annotations

from minilib.library.check import OpCheckError, opcheck
from minilib.library.operators import (
    Context,
    CustomOpDef,
    custom_op,
    register_autograd,
    register_fake,
    register_kernel,
)
from minilib.library.schema import infer_schema

__all__ = [
    "Context", "CustomOpDef", "OpCheckError", "custom_op", "infer_schema", "opcheck", "register_autograd",
    "register_fake", "register_kernel",
]  # fmt: skip
