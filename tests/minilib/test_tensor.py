"""minilib.tensor, operation by operation: against NumPy, difference quotients and facts of PyTorch's."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tensor_cases import CASES, LAYOUTS, Case, laid_out

import minilib.tensor as lib
from minilib.tensor import Function, Tensor, no_grad, record

quick = settings(
    max_examples=15,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
one_of_each = settings(quick, max_examples=5, phases=[Phase.generate])


def each(cases: list[Case], **bugs: str) -> pytest.MarkDecorator:
    """Run a test over `cases`; `bugs` names those that fail until they are mended."""
    marks = {name: [pytest.mark.xfail(strict=True, reason=why)] for name, why in bugs.items()}
    return pytest.mark.parametrize(
        "case", [pytest.param(case, id=case.name, marks=marks.get(case.name, [])) for case in cases]
    )


every_case = each(CASES)


def results(case: Case, tensors: list[Tensor], options: dict[str, Any]) -> tuple[Tensor, ...]:
    out = case.function(lib, *tensors, **options)
    return out if isinstance(out, tuple) else (out,)


def leaves(arrays: list[np.ndarray]) -> list[Tensor]:
    """The arrays themselves, not copies, as tensors; numbers want gradients, indices and masks cannot."""
    return [Tensor(x, requires_grad=x.dtype.kind == "f") for x in arrays]


# ---------------------------------------------------------------- every operation


# The others have rules that NumPy does not share; tests/parity compares them with PyTorch.
in_numpy = [case for case in CASES if case.plain is not None]


@each(in_numpy)
def test_forward_equals_numpy(case: Case) -> None:
    @quick
    @given(case.inputs)
    def check(drawn: Any) -> None:
        arrays, options = drawn
        expected = case.plain(*arrays, **options)
        got = results(case, [Tensor(x) for x in arrays], options)
        expected = expected if isinstance(expected, tuple) else (expected,)
        assert len(got) == len(expected)
        for g, e in zip(got, expected):
            assert type(g.data) is np.ndarray
            assert g.shape == np.shape(e)
            np.testing.assert_allclose(g.data, e, rtol=1e-6 if g.dtype == np.float32 else 1e-12, atol=1e-12)

    check()


def slopes(f: Callable[[], float], array: np.ndarray, h: float) -> np.ndarray:
    """The difference quotients of `f` by each number of `array`, which it reads."""
    out = np.empty(array.shape)
    for index in np.ndindex(array.shape):
        before = array[index]
        array[index] = before + h
        above = f()
        array[index] = before - h
        below = f()
        array[index] = before
        out[index] = (above - below) / (2 * h)
    return out


@every_case
def test_gradients_equal_difference_quotients(case: Case) -> None:
    """Also: neither inputs nor incoming gradients are written to, whatever their layout."""

    @quick
    @given(case.inputs, st.sampled_from(LAYOUTS), st.integers(0, 99))
    def check(drawn: Any, layout: str, seed: int) -> None:
        arrays, options = drawn
        inputs = leaves(arrays)
        with no_grad():
            outputs = results(case, inputs, options)
        rng = np.random.default_rng(seed)
        weights = [laid_out(rng.uniform(0.5, 1.5, out.shape), layout) for out in outputs]

        def loss() -> float:
            with no_grad():
                outs = results(case, [Tensor(x) for x in arrays], options)
            pairs = zip(outs, weights)
            return float(sum((out.data * w).sum() for out, w in pairs if out.dtype.kind == "f"))

        for array in (*arrays, *weights):
            array.flags.writeable = False
        got = results(case, inputs, options)
        for out, weight in zip(got, weights):
            assert out.requires_grad == (out.function is not None)
            if out.requires_grad:
                out.backward(Tensor(weight), retain_graph=True)
        for array in arrays:
            array.flags.writeable = True
        for x in inputs:
            if not x.requires_grad:
                assert x.grad is None
                continue
            expected = slopes(loss, x.data, case.step)
            if x.grad is None:
                np.testing.assert_array_equal(expected, 0)
                continue
            assert (x.grad.shape, x.grad.dtype) == (x.shape, np.float64)
            np.testing.assert_allclose(x.grad.data, expected, rtol=case.tolerance, atol=case.tolerance)

    check()


def operations_of(case: Case) -> set[type[Function]]:
    seen: set[type[Function]] = set()

    @settings(one_of_each, max_examples=12)  # some draws leave an operation out: no axis to flip
    @given(case.inputs)
    def run(drawn: Any) -> None:
        arrays, options = drawn
        with record() as records:
            results(case, leaves(arrays), options)
        seen.update(type(f) for f, _, _ in records)

    run()
    return seen


@pytest.mark.slow
def test_every_operation_is_in_the_table() -> None:
    seen = set().union(*[operations_of(case) for case in CASES])
    operations = {
        item
        for _, item in inspect.getmembers(lib, inspect.isclass)
        if issubclass(item, Function) and "forward" in vars(item)
    } - {Function}
    assert operations - seen == set()


@pytest.mark.slow
@every_case
def test_float32_stays_float32_forward_and_backward(case: Case) -> None:
    """Looks at what `backward` itself returns: the engine would cast it."""

    @one_of_each
    @given(case.inputs)
    def check(drawn: Any) -> None:
        arrays, options = drawn
        arrays = [x.astype(np.float32) if x.dtype.kind == "f" else x for x in arrays]
        with record() as records:
            results(case, leaves(arrays), options)
        for f, inputs, out in records:
            if out.dtype.kind == "f":
                assert out.dtype == np.float32, f.name
            if out.requires_grad and f.saved is not lib.FREED:
                shares = f.backward(np.ones(out.shape, np.float32))
                for x, share in zip(inputs, shares if isinstance(shares, tuple) else (shares,)):
                    if share is not None and x.requires_grad:
                        assert share.dtype == np.float32, f.name

    check()


@pytest.mark.slow
@every_case
def test_no_operation_gives_an_input_away_as_its_own_memory(case: Case) -> None:
    """What shares memory with an input says so (`view`), or is a write in place."""

    @one_of_each
    @given(case.inputs)
    def check(drawn: Any) -> None:
        arrays, options = drawn
        with record() as records:
            results(case, leaves(arrays), options)
        for f, inputs, out in records:
            if not f.view and f.name != "Write" and out.data.size:
                shared = [x for x in inputs if np.shares_memory(x.data, out.data)]
                assert not shared, f.name

    check()


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_of_a_tensor_is_that_of_functional(name: str) -> None:
    x = Tensor(np.random.default_rng(0).normal(size=(3, 4, 2)).astype(np.float32))
    shifted = np.exp(x.numpy() - x.numpy().max(1, keepdims=True))
    expected = shifted / shifted.sum(1, keepdims=True)
    found = getattr(x, name)(1).numpy()
    assert np.allclose(found if name == "softmax" else np.exp(found), expected, atol=1e-6)
