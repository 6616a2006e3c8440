"""The device "meta": what it tells of a result is what NumPy makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minilib.meta
import minilib.tensor as t
from minilib.meta import MetaArray

NUMBERS = np.arange(1, 25, dtype=np.float32).reshape(2, 3, 4)

LAYOUTS = {
    "contiguous": NUMBERS,
    "transposed": NUMBERS.transpose(2, 0, 1),
    "sliced": NUMBERS[:, ::2, 1:],
    "expanded": np.broadcast_to(NUMBERS[:1], NUMBERS.shape),
    "expanded at the end": np.broadcast_to(NUMBERS[..., :1], NUMBERS.shape),
    "one long": NUMBERS[:, :1].transpose(1, 2, 0),
    "empty": NUMBERS[:0],
}

OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "arithmetic": lambda x: (x * 2 - 1) / (x + x),
    "power": lambda x: x**2,
    "exp": lambda x: x.exp(),
    "sigmoid": lambda x: x.sigmoid(),
    "relu": lambda x: x.relu(),
    "clip": lambda x: x.clip(0, 2),
    "compare": lambda x: x < 2,
    "where": lambda x: t.where(x < 2, x, x * 2),
    "sum": lambda x: x.sum(1),
    "sum of all": lambda x: x.sum(),
    "mean, kept": lambda x: x.mean((0, 2), keepdim=True),
    "var": lambda x: x.var(-1),
    "amax": lambda x: x.amax(-1),
    "argmax": lambda x: x.argmax(-1),
    "whole numbers": lambda x: x.long().sum(1),
    "cumsum": lambda x: x.cumsum(1),
    "flat": lambda x: x.reshape(-1),
    "reshape": lambda x: x.reshape(x.shape[0] * x.shape[1], x.shape[2]),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "transpose": lambda x: x.mT,
    "slice": lambda x: x[:, 1:, ::2],
    "expand": lambda x: x.unsqueeze(0).expand(3, *x.shape),
    "flip": lambda x: x.flip(0),
    "cat": lambda x: t.cat([x, x], 1),
    "product": lambda x: x @ x.mT,
    "double": lambda x: x.double(),
    "clone": lambda x: x.clone(),
    "like": lambda x: t.empty_like(x),
    "new": lambda x: x.new_empty(x.shape),
}


def described(x: t.Tensor) -> Any:
    steps = [step for step, n in zip(x.stride(), x.shape) if n > 1] if x.numel() else []
    return x.shape, x.dtype, steps


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_shape_dtype_and_strides_are_those_of_numpy(operation: str, layout: str) -> None:
    run, x = OPERATIONS[operation], t.from_numpy(LAYOUTS[layout])
    try:
        real = run(x)
    except (RuntimeError, ValueError) as error:  # the largest of none
        with pytest.raises(type(error)):
            run(x.to("meta"))
        return
    made = run(x.to("meta"))
    assert made.device == "meta"
    assert described(made) == described(real)


@pytest.mark.parametrize(
    "operation", ["arithmetic", "sum", "mean, kept", "transpose", "slice", "cat", "product"]
)
def test_backward_runs_without_numbers(operation: str) -> None:
    x = t.empty(2, 3, 4, device="meta", requires_grad=True)
    OPERATIONS[operation](x).sum().backward()
    assert x.grad is not None and x.grad.shape == x.shape and x.grad.device == "meta"


def test_nothing_is_allocated() -> None:
    x = t.Tensor(MetaArray((10**7, 10**7), np.float32))  # 400 TB
    assert ((x @ x.T).exp() + x.reshape(-1, 1)[:1]).sum(0).shape == (10**7,)


@pytest.mark.parametrize(
    "read", [t.Tensor.item, t.Tensor.tolist, t.Tensor.numpy, t.Tensor.cpu, bool, np.asarray]
)
def test_numbers_are_refused(read: Callable[[t.Tensor], Any]) -> None:
    with pytest.raises(TypeError, match="meta"):
        read(t.empty((), device="meta"))


def test_shapes_that_do_not_fit_are_refused() -> None:
    x = t.empty(2, 3, device="meta")
    for wrong in (
        lambda: x + t.empty(4, device="meta"),
        lambda: x @ x,
        lambda: x.reshape(5),
        lambda: x[:, 7],
    ):
        with pytest.raises((RuntimeError, IndexError)):
            wrong()


def test_it_does_not_mix_with_the_cpu() -> None:
    with pytest.raises(TypeError, match="meta and"):
        t.empty(2, device="meta") + t.ones(2)


def test_it_is_shown_by_its_size() -> None:
    assert repr(t.empty(2, 3, device="meta")) == "tensor(..., size=(2, 3), device='meta')"
    assert minilib.meta.META.name == "meta"


def test_empty_on_meta_takes_no_room() -> None:
    assert t.empty(1_000_000, 1_000_000, device="meta").shape == (1_000_000, 1_000_000)
