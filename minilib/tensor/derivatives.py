"""`grad`, which returns derivatives, and `gradcheck`, which compares them with difference quotients.

Taught in solutions/02b_engine.ipynb: what it exports is edited there, then `make promote`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from minilib.engine import Array, first_gradient, propagate
from minilib.tensor.core import Tensor

__all__ = [
    "GradcheckError", "grad", "gradcheck", "quotient",
]  # fmt: skip

# Asked for


def grad(
    outputs: Tensor,
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | None = None,
    retain_graph: bool = False,
    allow_unused: bool = False,
) -> tuple[Tensor | None, ...]:
    """The derivatives of `outputs` with respect to each of `inputs`, which keep their own `grad` as it is.

    Raises RuntimeError for an input that plays no part, unless `allow_unused`: then its place holds None.
    """
    inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    nodes = [x.function or x for x in inputs]  # results are known by the operation that made them
    start = first_gradient(outputs, grad_outputs)
    found = propagate(outputs.function or outputs, start, retain_graph, wanted={*nodes})
    for i, node in enumerate(nodes):
        if node not in found and not allow_unused:
            raise RuntimeError(
                f"grad: input {i} plays no part in the output; give allow_unused=True to get None for it"
            )
    return tuple(Tensor(found[node][0].copy()) if node in found else None for node in nodes)


# Checked


class GradcheckError(RuntimeError):
    """A derivative that differs from the difference quotient."""


def gradcheck(
    func: Callable[..., Tensor],
    inputs: Tensor | Sequence[Tensor],
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
) -> bool:
    """Whether backward gives for `func` what the quotient (f(x + eps) - f(x - eps)) / (2 eps) gives.

    Inputs that want gradients must be float64: float32 has too few digits for a difference quotient. Raises
    GradcheckError with argument, index, got and expected at the first difference.
    """
    inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    asked = {i: x.function or x for i, x in enumerate(inputs) if x.requires_grad}
    if not asked or any(node.dtype != np.float64 for node in asked.values()):
        raise ValueError("gradcheck: needs at least one input with requires_grad=True, all of them float64")
    out = func(*inputs)
    weights = np.random.default_rng(0).uniform(0.5, 1.5, out.shape)  # so that each output counts differently
    found = propagate(out.function or out, weights, wanted={*asked.values()}) if out.requires_grad else {}

    def total() -> float:
        return float((func(*inputs).data * weights).sum())

    for argument, node in asked.items():
        for index in np.ndindex(node.shape):
            got = float(found[node][0][index]) if node in found else 0.0
            expected = quotient(total, inputs[argument].data, index, eps)
            if not abs(got - expected) <= atol + rtol * abs(expected):
                raise GradcheckError(
                    f"argument {argument}, index {index}: got {got:.6g} from backward, "
                    f"expected {expected:.6g} from the difference quotient"
                )
    return True


def quotient(f: Callable[[], float], array: Array, index: tuple[int, ...], eps: float) -> float:
    """The central difference quotient of f by array[index]; the array is left as it was."""
    before = array[index]
    try:
        array[index] = before + eps
        above = f()
        array[index] = before - eps
        return (above - f()) / (2 * eps)  # both sides: the error is O(eps²), of one side alone O(eps)
    finally:  # also where f raises
        array[index] = before
