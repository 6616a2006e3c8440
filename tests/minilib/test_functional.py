"""minilib.functional: against NumPy and difference quotients, at its edges, in pieces; random masks."""

from __future__ import annotations

import inspect
import itertools
import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import test_tensor as shared
from functional_cases import CASES, OURS, each
from hypothesis import given
from tensor_cases import Case
from test_tensor import operations_of

import minilib.functional as F
from minilib import parallel
from minilib.functional import layers, norms
from minilib.tensor import Function, Generator, Tensor, manual_seed, tensor

# ---------------------------------------------------------------- every operation


@each([case for case in CASES if case.plain is not None])
def test_forward_equals_numpy(case: Case) -> None:
    shared.test_forward_equals_numpy(case)


@each([*CASES, *OURS])
def test_gradients_equal_difference_quotients(case: Case) -> None:
    shared.test_gradients_equal_difference_quotients(case)


@pytest.mark.slow
@each([*CASES, *OURS])
def test_float32_stays_float32_forward_and_backward(case: Case) -> None:
    shared.test_float32_stays_float32_forward_and_backward(case)


@pytest.mark.slow
@each([*CASES, *OURS])
def test_no_operation_gives_an_input_away_as_its_own_memory(case: Case) -> None:
    shared.test_no_operation_gives_an_input_away_as_its_own_memory(case)


@pytest.mark.slow
def test_every_operation_is_in_the_table() -> None:
    """A class that others derive from counts as seen where one of them is."""
    seen = set().union(*[operations_of(case) for case in (*CASES, *OURS)])
    seen = {base for cls in seen for base in cls.__mro__}
    operations = {
        item
        for _, item in inspect.getmembers(F, inspect.isclass)
        if issubclass(item, Function) and item.__module__.startswith(F.__name__ + ".")
    }
    assert operations - seen == set()
    assert len(operations) >= 15


@pytest.mark.slow
@each([*CASES, *OURS])
def test_pieces_of_a_few_numbers_on_three_threads_change_nothing(case: Case) -> None:
    """The whole table again, cut into pieces of three numbers."""
    before = parallel.get_num_threads()
    seen = []

    def run(arrays: Any, options: Any) -> list[np.ndarray]:
        inputs = shared.leaves(arrays)
        found = []
        for y in shared.results(case, inputs, options):
            found.append(y.data)
            if y.requires_grad:
                y.backward(Tensor(np.linspace(1, 2, y.data.size).reshape(y.shape)))
        return [*found, *[x.grad.data for x in inputs if x.grad is not None]]

    @shared.one_of_each
    @given(case.inputs)
    def check(drawn: Any) -> None:
        whole = run(*drawn)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(parallel, "CHUNK", 3)
            patch.setattr(layers, "CHUNK", 3)
            for a, b in zip(run(*drawn), whole, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)
        seen.append(1)

    try:
        parallel.set_num_threads(3)
        check()
    finally:
        parallel.set_num_threads(before)
    assert seen


# ---------------------------------------------------------------- accuracy


@pytest.mark.parametrize(("dtype", "most"), [("float32", 3e-7), ("float64", 7e-16)])
def test_erf_is_right_to_the_last_bits(dtype: str, most: float) -> None:
    x = np.concatenate([np.linspace(-7, 7, 40_001), np.geomspace(1e-30, 7, 20_000)]).astype(dtype)
    exact = np.array([math.erf(v) for v in x.tolist()])
    got = F.erf(Tensor(x)).data
    assert got.dtype == dtype
    nonzero = exact != 0
    error = abs(got.astype(np.float64)[nonzero] / exact[nonzero] - 1).max()
    assert error <= most
    assert got[~nonzero].tolist() == [0.0] * (~nonzero).sum()


def test_gelu_has_tails() -> None:
    """x Phi(x) by erfc, which does not cancel; and x itself or 0 far out."""
    x = np.linspace(-6, 6, 2001)
    exact = np.array([v * math.erfc(-v / math.sqrt(2)) / 2 for v in x])
    np.testing.assert_allclose(F.gelu(Tensor(x)).data, exact, rtol=1e-12, atol=2e-15)
    np.testing.assert_allclose(F.gelu(Tensor(x.astype(np.float32))).data, exact, rtol=1e-6, atol=8e-7)
    far = np.array([-1e4, -40.0, 40.0, 1e4])
    for approximate in ("none", "tanh"):
        for dtype in (np.float32, np.float64):
            assert F.gelu(Tensor(far.astype(dtype)), approximate).tolist() == [0.0, 0.0, 40.0, 1e4]


EXTREMES = [-math.inf, -1e4, -89.0, 0.0, 89.0, 1e4, math.inf]
TAILS: dict[str, tuple[Any, list[float], list[float]]] = {
    "sigmoid": (F.sigmoid, [0, 0, 0, 0.5, 1, 1, 1], [0, 0, 0, 0.25, 0, 0, 0]),
    "softplus": (F.softplus, [0, 0, 0, math.log(2), 89, 1e4, math.inf], [0, 0, 0, 0.5, 1, 1, 1]),
    "tanh": (F.tanh, [-1, -1, -1, 0, 1, 1, 1], [0, 0, 0, 1, 0, 0, 0]),
    "erf": (F.erf, [-1, -1, -1, 0, 1, 1, 1], [0, 0, 0, 2 / math.sqrt(math.pi), 0, 0, 0]),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", TAILS)
def test_tails_are_right_and_silent(name: str, dtype: str) -> None:
    f, values, slopes = TAILS[name]
    x = Tensor(np.array(EXTREMES, dtype), requires_grad=True)
    y = f(x)
    y.sum().backward()
    np.testing.assert_allclose(y.data, values, rtol=1e-6, atol=1e-30)
    np.testing.assert_allclose(x.grad.data, slopes, rtol=1e-6, atol=1e-30)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_large_scores_are_silent(dtype: str) -> None:
    scores = np.array([[1e4, -1e4, 0.0], [-1e4, -1e4, -1e4], [0.0, -math.inf, 1.0]], dtype)
    for f in (F.softmax, F.log_softmax, F.logsumexp):
        x = Tensor(scores, requires_grad=True)
        y = f(x, 1)
        y.backward(Tensor(np.where(np.isfinite(y.data), 1, 0).astype(dtype)))
        assert not np.isnan(y.data).any() and not np.isnan(x.grad.data).any()
    for smoothing in (0.0, 0.1):
        rows = scores if smoothing == 0 else scores[:2]  # smoothed, -inf is a loss of inf
        x = Tensor(rows, requires_grad=True)
        loss = F.cross_entropy(x, tensor([1, 2, 2][: len(rows)]), label_smoothing=smoothing)
        loss.backward()
        assert np.isfinite(loss.data) and np.isfinite(x.grad.data).all()
    assert F.logsumexp(tensor([math.inf, 1.0]), 0).item() == math.inf


@pytest.mark.filterwarnings("error")
def test_logsumexp_of_minus_infinities_is_silent() -> None:
    assert F.logsumexp(tensor([-math.inf, -math.inf]), 0).item() == -math.inf


@pytest.mark.filterwarnings("error")
def test_a_batch_of_ignored_targets_is_silent() -> None:
    for options in ({}, {"label_smoothing": 0.1}):
        loss = F.cross_entropy(tensor([[1.0, 2.0]]), tensor([-100]), **options)
        assert math.isnan(loss.item())


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("options", [{}, {"label_smoothing": 0.1}, {"weight": [1.0, 2.0, 3.0]}])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_an_ignored_row_may_hold_minus_infinity(options: dict[str, Any], reduction: str) -> None:
    if "weight" in options:
        options = {"weight": tensor(options["weight"])}
    x = tensor([[-math.inf, 0.0, -1.0], [-0.1, -0.2, -0.3]], requires_grad=True)
    losses = [F.cross_entropy(x, tensor([-100, 1]), reduction=reduction, **options)]
    alone = [F.cross_entropy(x[1:], tensor([1]), reduction=reduction, **options)]
    if "label_smoothing" not in options:
        losses.append(F.nll_loss(x, tensor([-100, 1]), reduction=reduction, **options))
        alone.append(F.nll_loss(x[1:], tensor([1]), reduction=reduction, **options))
    for loss, other in zip(losses, alone):
        assert loss.data.reshape(-1)[-1] == pytest.approx(other.item())
        assert reduction != "none" or loss.tolist()[0] == 0
        x.zero_grad()
        loss.sum().backward()
        assert x.grad.data[0].tolist() == [0, 0, 0] and np.isfinite(x.grad.data).all()


@pytest.mark.parametrize("smoothing", [-0.1, 1.5, math.nan])
def test_label_smoothing_is_a_share(smoothing: float) -> None:
    with pytest.raises(RuntimeError, match="label_smoothing is between 0 and 1"):
        F.cross_entropy(tensor([[1.0, 2.0]]), tensor([1]), label_smoothing=smoothing)


class RowsOnly(Function):
    """RMS norm as an exercise asks for it: x (n, C) and weight (C,), no other axes."""

    def __init__(self, eps: float) -> None:
        self.eps = eps

    def forward(self, x: Any, weight: Any) -> Any:
        (_, width), (same,) = x.shape, weight.shape
        assert width == same
        self.saved = x, weight
        return weight * x / np.sqrt((x * x).mean(1, keepdims=True) + self.eps)

    def backward(self, grad: Any) -> Any:
        x, weight = self.saved
        square = (x * x).mean(1, keepdims=True) + self.eps
        g = grad * weight
        dx = (g - x * (g * x).mean(1, keepdims=True) / square) / np.sqrt(square)
        return dx, (grad * x / np.sqrt(square)).sum(0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("far", [0, 1e4])
def test_layer_norm_of_one_row_is_that_row_among_others(dtype: Any, far: float) -> None:
    rng = np.random.default_rng(0)
    rows, grad = ((rng.normal(size=(3, 50)) + start).astype(dtype) for start in (far, 0))
    weight, bias = rng.normal(size=(2, 50)).astype(dtype)
    results = []
    for n in (1, 3):
        inputs = [Tensor(x, requires_grad=True) for x in (rows[:n], weight, bias)]
        (F.layer_norm(inputs[0], (50,), *inputs[1:])[0] * Tensor(grad[0])).sum().backward()
        results.append([F.layer_norm(*inputs[:1], (50,), *inputs[1:]), *[x.grad for x in inputs]])
    for one, three in zip(*results):
        assert one.dtype == dtype
        tolerance = 2e-6 if dtype == np.float32 else 1e-13
        np.testing.assert_allclose(one.numpy(), three.numpy()[: len(one)], atol=tolerance * (1 + far / 10))


@pytest.mark.parametrize(
    ("shape", "last"), [((2, 3, 4), (4,)), ((2, 3, 4), (3, 4)), ((4,), (4,)), ((0, 4), (4,))]
)
def test_rms_norm_of_any_axes_needs_an_operation_on_rows_only(
    shape: tuple[int, ...], last: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    found = []
    arrays = [rng.normal(size=s) for s in (shape, last, shape)]
    for operation in (F.RMSNorm, RowsOnly):
        monkeypatch.setattr(norms, "RMSNorm", operation)
        x, weight = (Tensor(a, requires_grad=True) for a in arrays[:2])
        y = F.rms_norm(x, last, weight, 1e-3)
        (y * Tensor(arrays[2])).sum().backward()
        assert (y.shape, x.grad.shape, weight.grad.shape) == (shape, shape, last)
        found.append([y.data, x.grad.data, weight.grad.data])
    for a, b in zip(*found):
        np.testing.assert_allclose(a, b, atol=1e-12)


# ---------------------------------------------------------------- dropout


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout_drops_its_share_and_scales_the_rest(p: float) -> None:
    x = Tensor(np.full((400, 500), 3.0, np.float32), requires_grad=True)
    y = F.dropout(x, p, generator=Generator(0))
    zero = y.data == 0
    assert abs(zero.mean() - p) < 5 * math.sqrt(p * (1 - p) / zero.size)
    np.testing.assert_allclose(y.data[~zero], 3 / (1 - p), rtol=1e-6)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.data, y.data / 3, rtol=1e-6)
    assert y.dtype == np.float32


def test_dropout_of_none_of_all_and_in_evaluation() -> None:
    x = tensor([1.0, 2.0])
    assert F.dropout(x, 0.0) is x and F.dropout(x, 0.7, training=False) is x
    assert F.dropout(x, 1.0).tolist() == [0.0, 0.0]


def test_dropout_draws_from_its_generator_and_else_from_the_default_one() -> None:
    x = Tensor(np.ones(100))
    a, b = (F.dropout(x, generator=Generator(3)).tolist() for _ in range(2))
    assert a == b != F.dropout(x, generator=Generator(4)).tolist()
    masks = []
    for _ in range(2):
        manual_seed(5)
        masks.append([F.dropout(x).tolist(), F.dropout(x).tolist()])
    assert masks[0] == masks[1] and masks[0][0] != masks[0][1]


def keyed(first: int, count: int, seed: int = 1, step: int = 2, width: int = 13) -> list[np.ndarray]:
    """The masks of two layers for some samples."""
    with F.keyed_dropout(seed, step, first):
        return [F.dropout(Tensor(np.ones((count, width, 2)))).data for _ in range(2)]


def test_keyed_masks_are_the_same_in_any_shards() -> None:
    whole = keyed(0, 10)
    for cuts in ([0, 5, 10], [0, 1, 4, 10], list(range(11))):
        shards = [keyed(a, b - a) for a, b in itertools.pairwise(cuts)]
        for layer in range(2):
            np.testing.assert_array_equal(np.concatenate([s[layer] for s in shards]), whole[layer])


def test_keyed_masks_differ_by_seed_step_layer_and_sample() -> None:
    a, b = keyed(0, 4)
    others = [b, keyed(0, 4, seed=2)[0], keyed(0, 4, step=3)[0], keyed(4, 4)[0], a[::-1]]
    assert all((a != other).any() for other in others)
    assert abs((np.array(keyed(0, 500)) == 0).mean() - 0.5) < 0.02


def test_keyed_dropout_ends_is_per_thread_and_yields_to_a_generator() -> None:
    x = Tensor(np.ones((4, 30)))
    with F.keyed_dropout(1, 2, 0):
        inside = F.dropout(x).tolist()
        with F.keyed_dropout(9, 9, 9):
            F.dropout(x)
        second = F.dropout(x).tolist()
        own = F.dropout(x, generator=Generator(0)).tolist()
        with ThreadPoolExecutor(1) as pool:
            manual_seed(0)
            other = pool.submit(lambda: F.dropout(x).tolist()).result()
    with F.keyed_dropout(1, 2, 0):
        assert [F.dropout(x).tolist(), F.dropout(x).tolist()] == [inside, second]
    manual_seed(0)
    assert F.dropout(x).tolist() == other
    assert own == F.dropout(x, generator=Generator(0)).tolist()
