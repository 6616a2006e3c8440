"""Operators: found by device, remembered for backward, checked."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from operator_cases import Case, cases

import minilib.library as library
import minilib.tensor as t
from minilib.engine import DEVICES, Device

CASES = cases(library, t)


def refused(error: type[Exception], words: str, call: Callable[[], Any]) -> None:
    """`call` raises, in one line that holds `words`."""
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def scale(x: t.Tensor, by: float = 2.0) -> t.Tensor:
    return t.from_numpy(np.ascontiguousarray(x.numpy()) * np.float32(by))


def matmul(x: t.Tensor, y: t.Tensor) -> t.Tensor:
    return t.from_numpy(x.numpy() @ y.numpy())


def made(name: str = "test::scale") -> Any:
    return library.custom_op(name, scale, mutates_args=())


# The shortest way to an operator


def test_an_operator_is_defined_checked_and_taken_back() -> None:
    op = made()
    with pytest.raises(library.OpCheckError, match="fake"):
        library.opcheck(op, (t.randn(2, 3),))
    op.register_fake(lambda x, by=2.0: x.new_empty(x.shape))

    def keep(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.by = inputs[1]

    op.register_autograd(lambda ctx, g: (g * ctx.by, None), setup_context=keep)
    x = t.randn(3, 2, requires_grad=True)
    op(x.transpose(0, 1), 3.0).sum().backward()
    assert (x.grad.numpy() == 3).all()
    assert set(library.opcheck(op, (x.transpose(0, 1),)).values()) == {"SUCCESS"}


# The check


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.fails])
def test_opcheck_passes_a_right_operator(name: str) -> None:
    case = CASES[name]
    found = library.opcheck(case.op, case.args, case.kwargs)
    assert set(found.values()) == {"SUCCESS"}


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.fails])
def test_opcheck_condemns_a_broken_operator(name: str) -> None:
    case = CASES[name]
    found = library.opcheck(case.op, case.args, case.kwargs, raise_exception=False)
    condemning = {test for test, verdict in found.items() if verdict != "SUCCESS"}
    assert condemning >= set(case.fails.split())
    with pytest.raises(library.OpCheckError):
        library.opcheck(case.op, case.args, case.kwargs)


def test_at_least_twenty_of_thirty_operators_are_broken() -> None:
    assert len(CASES) >= 30
    assert sum(bool(case.fails) for case in CASES.values()) >= 20


def test_opcheck_leaves_its_arguments_as_they_are() -> None:
    case: Case = CASES["writes unseen"]
    before = case.args[0].numpy().copy()
    library.opcheck(case.op, case.args, raise_exception=False)
    assert (case.args[0].numpy() == before).all()
    assert case.args[0].grad is None


def test_a_kernel_for_float32_alone_is_no_mistake() -> None:
    @library.custom_op("test::narrow", mutates_args=())
    def narrow(x: t.Tensor) -> t.Tensor:
        if x.dtype != np.float32:
            raise TypeError(f"needs float32, not {x.dtype}")
        return t.from_numpy(np.tanh(x.numpy()).copy(order="C"))

    def keep(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(output)

    narrow.register_fake(lambda x: x.new_empty(x.shape))
    narrow.register_autograd(lambda ctx, g: g * (1 - ctx.saved_tensors[0] ** 2), setup_context=keep)
    assert set(library.opcheck(narrow, (t.randn(3, 4, requires_grad=True),)).values()) == {"SUCCESS"}
    narrow.register_autograd(lambda ctx, g: g * (1 - ctx.saved_tensors[0]), setup_context=keep)
    with pytest.raises(library.OpCheckError, match="test_gradients"):
        library.opcheck(narrow, (t.randn(3, 4, requires_grad=True),))


# Calls


def test_a_second_result_sends_its_gradient_back() -> None:
    x = t.randn(3, 4, requires_grad=True)
    y, size = CASES["two results"].op(x)
    (y.sum() + (size * 3).sum()).backward()
    copy = x.detach().requires_grad_()
    centred = copy - copy.mean(-1, keepdim=True)
    scale = ((centred**2).mean(-1, keepdim=True) + 1e-5) ** -0.5
    ((centred * scale).sum() + (scale * 3).sum()).backward()
    np.testing.assert_allclose(x.grad.numpy(), copy.grad.numpy(), rtol=1e-3, atol=1e-5)


def test_each_result_alone_sends_its_gradient_back() -> None:
    x = t.randn(3, 4, requires_grad=True)
    y, size = CASES["two results"].op(x)
    (from_size,) = t.grad(size.sum(), x, retain_graph=True)
    (from_y,) = t.grad((y * y * y).sum(), x)
    assert from_size.numpy().any() and from_y.numpy().any()


def test_a_result_of_whole_numbers_has_no_gradient() -> None:
    values, index = CASES["a whole-number result"].op(t.randn(3, 4, requires_grad=True))
    assert values.requires_grad and not index.requires_grad


def test_a_result_for_backward_alone_has_no_gradient() -> None:
    case = CASES["a result for backward alone"]
    y, scale = case.op(*case.args)
    assert y.requires_grad and not scale.requires_grad


def test_under_no_grad_nothing_is_remembered() -> None:
    with t.no_grad():
        y = CASES["scale"].op(t.randn(2, requires_grad=True))
    assert not y.requires_grad and y.function is None


def test_a_record_shows_an_operator_as_one_operation() -> None:
    with t.record() as records:
        CASES["two results"].op(t.randn(2, 3))
    assert [f.name for f, _, _ in records] == ["cases::normalise"] * 2


def test_a_declared_write_is_seen_by_backward() -> None:
    x = t.ones(3, requires_grad=True)
    y = x * 2
    z = y * y
    with t.no_grad():
        CASES["a declared write"].op(y, t.ones(3))
    with pytest.raises(RuntimeError, match="changed in place"):
        z.sum().backward()


def test_a_second_backward_needs_the_graph() -> None:
    y = CASES["matmul"].op(t.randn(2, 2, requires_grad=True), t.randn(2, 2)).sum()
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match="freed"):
        y.backward()


def test_needs_input_grad_tells_which_gradients_are_wanted() -> None:
    seen = []
    op = library.custom_op("test::needs", matmul, mutates_args=())
    op.register_autograd(lambda ctx, g: (seen.append(ctx.needs_input_grad), (None, None))[1])
    op(t.randn(2, 2, requires_grad=True), t.randn(2, 2)).sum().backward()
    assert seen == [(True, False)]


def test_needs_input_grad_is_false_for_what_is_no_tensor() -> None:
    seen = []
    op = made("test::needs_number")
    op.register_autograd(lambda ctx, g: (seen.append(ctx.needs_input_grad), (None, None))[1])
    op(t.randn(2, requires_grad=True), 3.0).sum().backward()
    assert seen == [(True, False)]


def test_arguments_come_by_position_by_name_or_by_default() -> None:
    def f(x: t.Tensor, by: float = 2.0, *, shift: int = 1) -> t.Tensor:
        return x * by + shift

    op, x = made(), t.ones(2)
    for call in (lambda: op(x, 3.0), lambda: op(x, by=3.0), lambda: op(by=3.0, x=x)):
        assert call().tolist() == [3, 3]
    assert op(x).tolist() == [2, 2]
    op = library.custom_op("test::by_name_alone", f, mutates_args=())
    assert op(x, shift=5).tolist() == op(x, 2.0, shift=5).tolist() == [7, 7]
    refused(TypeError, "too many", lambda: op(x, 2.0, 5))
    refused(TypeError, "missing", lambda: op())


def test_the_schema_is_written_as_pytorch_writes_it() -> None:
    def f(
        x: t.Tensor, y: t.Tensor | None = None, n: int = 3, by: float = 2.0, s: str = "a", *, k: list[int]
    ) -> tuple[t.Tensor, t.Tensor]:
        raise NotImplementedError

    def g(x: t.Tensor, out: t.Tensor) -> None:
        raise NotImplementedError

    wanted = (
        '(Tensor x, Tensor? y=None, SymInt n=3, float by=2.0, str s="a", *, SymInt[] k) -> (Tensor, Tensor)'
    )
    assert library.infer_schema(f, mutates_args=()) == wanted
    assert library.infer_schema(g, mutates_args={"out"}) == "(Tensor x, Tensor(a1!) out) -> ()"


# Devices


@pytest.fixture
def elsewhere() -> Any:
    """A second device, whose arrays are NumPy's under another name."""

    class Away(np.ndarray):
        pass

    DEVICES[Away] = Device("away", np, lambda x: x.view(Away), lambda x: x.view(np.ndarray))
    yield
    del DEVICES[Away]


def test_a_kernel_is_found_by_device(elsewhere: None) -> None:
    op = made()
    x = t.ones(2).to(device="away")
    op.register_kernel("away", lambda x, by=2.0: t.Tensor(x.data + 41))
    assert op(x).tolist() == [42, 42]
    assert op(t.ones(2)).tolist() == [2, 2]


def test_on_meta_a_call_runs_the_fake() -> None:
    op = made()
    op.register_fake(lambda x, by=2.0: x.new_empty((*x.shape, 7)))
    assert op(t.empty(2, 3, device="meta")).shape == (2, 3, 7)


def test_functions_find_an_operator_by_name() -> None:
    op = made("test::named")
    library.register_fake("test::named", lambda x, by: x.new_empty(x.shape))
    library.register_autograd("test::named", lambda ctx, g: (g * 2, None))
    x = t.ones(2, requires_grad=True)
    op(x).sum().backward()
    assert x.grad.tolist() == [2, 2]
    assert op(x.to("meta")).device == "meta"
    refused(RuntimeError, "no operator 'test::none'", lambda: library.register_fake("test::none", scale))


# Bad input: one clear line each


def test_a_name_needs_a_namespace() -> None:
    refused(ValueError, "namespace", lambda: made("scale"))


def test_two_kernels_for_one_device_are_refused() -> None:
    op = made()
    op.register_kernel("cuda", scale)
    refused(RuntimeError, "'cuda' already", lambda: op.register_kernel("cuda", scale))


def test_a_missing_kernel_names_the_devices_that_are_there() -> None:
    op = library.custom_op("test::cuda_only", scale, mutates_args=(), device_types="cuda")
    refused(NotImplementedError, "no kernel for 'cpu'; there is: cuda", lambda: op(t.ones(2)))


def test_mixed_devices_are_refused() -> None:
    x = t.ones(2, 2)
    refused(RuntimeError, "(2, 2) on cpu, (2, 2) on meta", lambda: CASES["matmul"].op(x, x.to("meta")))


def test_a_dtype_that_the_kernel_does_not_take_is_named() -> None:
    @library.custom_op("test::float32", mutates_args=())
    def narrow(x: t.Tensor) -> t.Tensor:
        if x.dtype != np.float32:
            raise TypeError("needs float32")
        return x.clone()

    refused(
        TypeError, "test::float32: needs float32 (its tensors: float64", lambda: narrow(t.ones(2).double())
    )


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        (lambda ctx, g: g, "1 gradients for 2 arguments"),
        (lambda ctx, g: (g, None, None), "3 gradients for 2 arguments"),
        (lambda ctx, g: (g, g), "argument 1, no tensor"),
        (lambda ctx, g: (g[:1], None), "shape (1,), its argument (2,)"),
        (lambda ctx, g: (g.numpy(), None), "is a ndarray"),
        (lambda ctx, g: (g.to("meta"), None), "is on meta"),
    ],
)
def test_gradients_that_do_not_fit_are_refused(formula: Any, words: str) -> None:
    op = made()
    op.register_autograd(formula)
    refused(RuntimeError, words, lambda: op(t.ones(2, requires_grad=True)).sum().backward())


def test_backward_without_a_formula_says_what_is_missing() -> None:
    refused(RuntimeError, "register_autograd", lambda: made()(t.ones(2, requires_grad=True)).sum().backward())


def test_an_operator_that_writes_cannot_have_a_gradient() -> None:
    op = CASES["a declared write"].op
    refused(RuntimeError, "writes into out", lambda: op.register_autograd(lambda ctx, g: None))
    refused(RuntimeError, "no_grad", lambda: op(t.ones(2), t.ones(2, requires_grad=True)))
    refused(RuntimeError, "leaf", lambda: op(t.ones(2, requires_grad=True), t.ones(2)))


def test_arguments_of_another_type_are_refused() -> None:
    refused(TypeError, "x is a ndarray, expected is Tensor", lambda: made()(np.ones(2)))
    refused(TypeError, "too many", lambda: made()(t.ones(2), 1.0, 2.0))


@pytest.mark.parametrize(
    ("annotations", "words"),
    [
        ({"return": t.Tensor}, "needs a type"),
        ({"x": t.Tensor}, "result is missing"),
        ({"x": dict, "return": t.Tensor}, "no type of a schema"),
        ({"x": t.Tensor, "return": int}, "returns Tensor"),
    ],
)
def test_what_a_schema_cannot_say_is_refused(annotations: Any, words: str) -> None:
    def f(x):  # type: ignore[no-untyped-def]
        return x

    f.__annotations__ = annotations
    refused(ValueError, words, lambda: library.custom_op("test::f", f, mutates_args=()))
    g = lambda x: x  # noqa: E731
    g.__annotations__ = {"x": t.Tensor, "return": t.Tensor}
    refused(ValueError, "no tensor among", lambda: library.infer_schema(g, mutates_args={"y"}))


def test_minilib_and_its_tensors_do_not_load_operators() -> None:
    code = "import sys, minilib, minilib.tensor; print([*sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "minilib.library" not in found and "minilib.meta" not in found
