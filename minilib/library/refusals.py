"""What an operator may not do, and what its caller is told: one line each."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from minilib.engine import Array, Function, array_module, owner_of, refuse_write
from minilib.meta import META
from minilib.tensor import Tensor

__all__ = ["fitting_gradients", "refuse_aliases", "refuse_device", "refuse_history", "refuse_mixture"]

# Before the kernel runs


def refuse_mixture(name: str, tensors: Sequence[Tensor]) -> NoReturn:
    where = ", ".join(f"{x.shape} on {x.device}" for x in tensors)
    raise RuntimeError(f"{name}: its tensors are {where}: bring them to one device with .to(...)")


def refuse_device(name: str, device: str, kernels: Collection[str | None]) -> NoReturn:
    if device == META.name:
        raise RuntimeError(f"{name} has no fake: tell its result's shape with .register_fake(...)")
    there = ", ".join(sorted(str(one) for one in kernels if one != META.name)) or "none"
    raise NotImplementedError(f"{name} has no kernel for {device!r}; there is: {there}")


def refuse_history(name: str, written: Sequence[Tensor]) -> NoReturn:
    for x in written:
        refuse_write(x)
    raise RuntimeError(
        f"{name}: writes into an argument, so no gradient can flow through it: call it in no_grad()"
    )


# After it


def refuse_aliases(name: str, results: Sequence[Tensor], tensors: Sequence[Tensor]) -> None:
    """Raise RuntimeError where a result looks at the memory of an argument or of another result."""
    others = list(tensors)
    for result in results:
        if any(shares_memory(result.data, other.data) for other in others):
            raise RuntimeError(
                f"{name}: a result lies in the memory of an argument or of another result: "
                "return a copy, x.clone()"
            )
        others.append(result)


def shares_memory(a: Array, b: Array) -> bool:
    near = type(a) is type(b) is np.ndarray and np.may_share_memory(a, b)  # also past a foreign buffer
    return near or owner_of(a) is owner_of(b)


# On the way back


def fitting_gradients(call: Function, wanted: Sequence[Any], found: Any) -> Iterator[Array | None]:
    """The gradients that a formula gave, one for each tensor. Raises RuntimeError for misfits.

    `wanted` has an entry for each argument: a list for a list, None for what is no tensor.
    """
    found = found if isinstance(found, tuple) else (found,)
    if len(found) != len(wanted):
        raise RuntimeError(
            f"{call.name}: its backward gave {len(found)} gradients for {len(wanted)} arguments: "
            "one each, None for what is no tensor"
        )
    nodes = iter(call.inputs)
    for i, (wants, gradient) in enumerate(zip(wanted, found)):
        if not isinstance(wants, list):
            wants, gradient = [wants], [gradient]
        elif gradient is None:
            gradient = [None] * len(wants)
        if len(gradient) != len(wants):
            raise RuntimeError(f"{call.name}: argument {i} is a list of {len(wants)}, its gradient is not")
        for one, part in zip(wants, gradient):
            if one is not None:
                yield fitting_gradient(call, i, next(nodes), part)
            elif part is not None:
                raise RuntimeError(
                    f"{call.name}: its backward gave argument {i}, no tensor, a gradient: None"
                )


def fitting_gradient(call: Function, i: int, node: Any, gradient: Tensor | None) -> Array | None:
    """The array of a gradient that fits the input `node`: on its device, in a shape that sums to its."""
    if gradient is None:
        return None
    if not isinstance(gradient, Tensor):
        raise RuntimeError(f"{call.name}: gradient {i} is a {type(gradient).__name__}, not a tensor")
    if array_module(gradient.data) is not call.xp:
        raise RuntimeError(f"{call.name}: gradient {i} is on {gradient.device}, and its argument is not")
    extra = gradient.ndim - len(node.shape)
    if extra < 0 or any(n not in (1, m) for n, m in zip(node.shape, gradient.shape[extra:])):
        raise RuntimeError(f"{call.name}: gradient {i} has shape {gradient.shape}, its argument {node.shape}")
    return gradient.data
