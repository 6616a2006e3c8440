"""The operators of minilib/interop on `minilib.library`; for PyTorch see tests/parity/test_interop.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from interop_cases import LAYOUTS, NAMES, arguments

import minilib.library as library
import minilib.tensor as t
from minilib.functional import activations
from minilib.interop import operators


def on_meta(op: Any) -> Any:
    """`op`, whose tensors are brought to the device meta: its fake."""
    return lambda *args: op(*(x.to("meta") if isinstance(x, t.Tensor) else x for x in args))


OPERATORS = {name: getattr(operators, name)(library, t) for name in NAMES}
ON_META = {name: on_meta(op) for name, op in OPERATORS.items()}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", NAMES)
def test_opcheck_passes_each_operator(name: str, layout: str, dtype: Any) -> None:
    found = library.opcheck(OPERATORS[name], arguments(name, t, layout, dtype))
    assert set(found.values()) == {"SUCCESS"}


def test_all_of_them_are_listed() -> None:
    assert tuple(make.__name__ for make in operators.ALL) == NAMES


def test_a_kernel_reads_and_writes_the_tensors_own_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def forward(self: Any, x: Any) -> Any:
        seen.append(x)
        seen.append(softmax(self, x))
        return seen[-1]

    softmax = activations.Softmax.forward
    monkeypatch.setattr(activations.Softmax, "forward", forward)
    x = t.randn(3, 4)
    y = OPERATORS["softmax"](x)
    assert np.shares_memory(seen[0], x.numpy())
    assert np.shares_memory(seen[1], y.numpy())


def test_without_D_nothing_passes_by_the_state() -> None:
    *tensors, D = arguments("selective_scan", t)
    with_zeros = OPERATORS["selective_scan"](*tensors, D.detach() * 0)
    without = OPERATORS["selective_scan"](*tensors)
    assert np.array_equal(without[0].numpy(), with_zeros[0].numpy())
    assert set(library.opcheck(OPERATORS["selective_scan"], tensors).values()) == {"SUCCESS"}


def ones(*shape: int, dtype: str = "float32") -> t.Tensor:
    return t.ones(*shape, dtype=dtype)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda op: op["softmax"](t.tensor([1, 2])), "float32 or all float64"),
        (lambda op: op["softmax"](ones(2, dtype="float16")), "not (2,) of float16"),
        (lambda op: op["softmax"](ones(())), "needs x (..., C)"),
        (lambda op: op["layer_norm"](ones(2, 6), ones(3), ones(3)), "not (2, 6) of float32"),
        (lambda op: op["rms_norm"](ones(2, 6), ones(6, dtype="float64")), "(6,) of float64"),
        (lambda op: op["conv2d"](ones(1, 4, 5, 5), ones(2, 3, 3, 3)), "groups do not fit"),
        (lambda op: op["conv2d"](ones(1, 4, 2, 5), ones(2, 4, 3, 3)), "larger than the padded input"),
        (lambda op: op["conv2d"](ones(1, 4, 5, 5), ones(2, 4, 3, 3), None, 0), "start at 1"),
        (lambda op: op["causal_attention"](ones(1, 4, 6), ones(1, 3, 6), ones(1, 3, 6), 2), "T <= S"),
        (lambda op: op["causal_attention"](ones(1, 3, 6), ones(1, 3, 6), ones(1, 3, 6), 4), "4 heads"),
        (lambda op: op["selective_scan"](*[ones(2, 3, 4)] * 5), "A (E, N)"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_in_one_line(call: Callable[[Any], Any], words: str) -> None:
    for found in (OPERATORS, ON_META):
        with pytest.raises(RuntimeError) as caught:
            call(found)
        assert str(caught.value).startswith("minilib::")
        assert words in str(caught.value)
        assert "\n" not in str(caught.value)
