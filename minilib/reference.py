"""Promoted from chapters/01_scalar.ipynb; edit there, then `make promote`."""

from __future__ import annotations

from typing import Any

# In which order?


def topological_order(root: Any) -> list[Any]:
    """The operations below `root`, each after those that it was made of. Leaves are left out."""
    order, seen, stack = [], set(), [root]
    while stack:
        value = stack.pop()
        if value is None:
            order.append(stack.pop())
        elif value.op and value not in seen:
            seen.add(value)
            stack += [value, None, *value.inputs]
    return order


def backward(root: Any) -> None:
    """Fill `grad` of every value below `root` with the derivative of `root` with respect to it."""
    order = topological_order(root)
    for value in order:
        value.grad = 0.0
    root.grad = 1.0
    for value in reversed(order):
        for i, derivative in zip(value.inputs, value.derivatives):
            i.grad += derivative * value.grad
