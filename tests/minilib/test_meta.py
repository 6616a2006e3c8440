"""The device "meta": what it tells of a result is what NumPy makes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import functional_cases
import numpy as np
import pytest
import tensor_cases
from hypothesis import HealthCheck, Phase, given, settings

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


# What asks for numbers: it raises, and so it may.
ASK = {
    "2 ** x": "whether the exponent is 2",
    "pow": "whether the exponent is 2",
    "one_hot": "how many classes there are",
    "x[arrays]": "how many are picked by a mask",
    "x[arrays] = value": "how many are picked by a mask",
    "x[arrays and others]": "how many are picked by a mask",
    "embedding": "how often an index occurs, in backward",
    "embedding of nothing": "how often an index occurs, in backward",
}


@pytest.mark.parametrize(
    "case", [*tensor_cases.CASES, *functional_cases.CASES, *functional_cases.OURS], ids=lambda case: case.name
)
def test_every_operation_tells_what_it_makes_and_so_does_its_backward(case: tensor_cases.Case) -> None:
    @settings(
        max_examples=10, database=None, deadline=None, derandomize=True, phases=[Phase.generate],
        suppress_health_check=[*HealthCheck],
    )  # fmt: skip
    @given(case.inputs)
    def told(drawn: tensor_cases.Drawn) -> None:
        real = told_of(case, drawn, "cpu")
        try:
            assert real is None or told_of(case, drawn, "meta") == real
        except TypeError as error:
            assert case.name in ASK and "meta" in str(error)

    told()


def told_of(case: tensor_cases.Case, drawn: tensor_cases.Drawn, device: str) -> Any:
    """Shapes, dtypes and strides of results, shapes and dtypes of gradients; None where the CPU refuses."""
    inputs = [t.from_numpy(array.copy(order="K")).to(device) for array in drawn[0]]
    inputs = [x.detach().requires_grad_(x.dtype.kind == "f") for x in inputs]
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            made = case.function(t, *inputs, **drawn[1])
            made = made if isinstance(made, tuple) else (made,)
            losses = [x.sum() for x in made if x.requires_grad]
            if losses:
                sum(losses).backward()
    except (RuntimeError, ValueError, IndexError):
        if device == "meta":
            raise
        return None
    grads = [None if x.grad is None else (x.grad.shape, x.grad.dtype) for x in inputs]
    return [described(x) for x in made], grads


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("ij,jk", [(2, 3), (3, 4)]),
        ("ij->ji", [(2, 3)]),
        ("...ij,jk->...ik", [(5, 2, 3), (3, 4)]),
        ("b...,...->b...", [(2, 3, 4), (3, 4)]),
        ("i,i", [(3,), (1,)]),
        ("...a,a", [(5, 1, 3), (3,)]),
    ],
)
def test_einsum_has_numpys_shape(subscripts: str, shapes: Any) -> None:
    made = np.einsum(subscripts, *[MetaArray(shape, np.float32) for shape in shapes])
    right = np.einsum(subscripts, *[np.zeros(shape, np.float32) for shape in shapes])
    assert (made.shape, made.dtype) == (right.shape, right.dtype)


def test_einsum_refuses_lengths_that_differ() -> None:
    with pytest.raises(ValueError, match="long"):
        np.einsum("ij,jk", MetaArray((2, 3), np.float32), MetaArray((2, 3), np.float32))


@pytest.mark.parametrize(
    "index",
    [
        lambda i: (i,),
        lambda i: (slice(None), i),
        lambda i: (i, slice(1, None), i),
        lambda i: (..., i),
        lambda i: (None, i, 1),
        lambda i: (slice(None), i, i),
    ],
)
def test_arrays_of_integers_pick_where_numpy_puts_it(index: Callable[[Any], Any]) -> None:
    x, i = np.zeros((4, 3, 5), np.float32), np.zeros((2, 6), np.int64)
    made, right = MetaArray(x.shape, x.dtype)[index(MetaArray(i.shape, i.dtype))], x[index(i)]
    assert described(t.Tensor(made)) == described(t.Tensor(right))


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


def test_new_empty_takes_its_room_on_the_device_that_it_is_for():
    x = t.tensor([1.0]).new_empty(10**6, 10**6, device="meta")  # 4 TB, if there were numbers
    assert (x.device, x.shape) == ("meta", (10**6, 10**6))


def test_empty_on_meta_takes_no_room() -> None:
    assert t.empty(1_000_000, 1_000_000, device="meta").shape == (1_000_000, 1_000_000)
