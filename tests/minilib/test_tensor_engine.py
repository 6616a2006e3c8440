"""minilib.tensor's engine: gradients add up, memory comes back, writes are noticed, arrays live elsewhere."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import copy
import gc
import math
import operator
import pickle
import threading
import time
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from tensor_cases import CASES, Case

import minilib.tensor as lib
from minilib import reference
from minilib.tensor import (
    DEVICES,
    Device,
    Function,
    GradcheckError,
    Tensor,
    apply,
    enable_grad,
    grad,
    gradcheck,
    is_grad_enabled,
    no_grad,
    record,
    set_grad_enabled,
    tensor,
    where,
)


def leaf(*numbers: float) -> Tensor:
    return tensor([*numbers], dtype=np.float64, requires_grad=True)


# ---------------------------------------------------------------- gradients add up


def test_a_tensor_times_itself() -> None:
    x = leaf(3.0)
    (x * x).backward()
    assert x.grad.tolist() == [6.0]


@pytest.mark.parametrize("seed", range(20))
def test_the_engine_of_the_lesson_finds_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shapes = [(3, 4), (4,), (3, 1), (3, 4), ()]
    leaves = [tensor(rng.uniform(0.5, 1.5, size=s), requires_grad=i > 0) for i, s in enumerate(shapes)]

    def out() -> Tensor:
        draw, values = np.random.default_rng(seed), list(leaves)
        for _ in range(15):
            one, other = (values[k] for k in draw.integers(0, len(values), size=2))
            values.append([one + other, one * other, (one - other).tanh()][draw.integers(3)])
        return sum(values[5:], values[-1])

    first = rng.uniform(0.5, 1.5, size=out().shape)
    expected = lib.propagate(out().function, first)
    found = reference.walk(out().function, first)
    assert set(found) == {node for node in expected if node.requires_grad}
    for node, array in found.items():
        np.testing.assert_allclose(array, expected[node][0], rtol=1e-12)


def test_a_diamond() -> None:
    x = leaf(2.0)
    y = x * 3
    (y * y + y).backward()
    assert x.grad.tolist() == [39.0]


def test_a_diamond_whose_arms_differ_in_length() -> None:
    """Depth-first order without a topological one would send y's gradient on before all of it is there."""
    x = leaf(1.0)
    y = x * 2
    z = y * 1 * 1 * 1 * 1 + y
    (z * y).backward()
    assert x.grad.tolist() == [2 * 2 * 2 * 2.0]


def test_a_thousand_diamonds_take_no_time() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(1000):
        y = y * y * 0.5 + y * 0.5
    y.backward()
    assert x.grad.item() == pytest.approx(1.5**1000)


def test_a_tensor_used_a_thousand_times_needs_two_gradients_of_memory() -> None:
    x = Tensor(np.ones(10_000), requires_grad=True)
    total = x * 0
    for _ in range(1000):
        total = total + x
    loss = total.sum()
    gc.collect()
    tracemalloc.start()
    loss.backward()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert x.grad.tolist() == [1000.0] * 10_000
    assert peak < 10 * x.data.nbytes


def test_a_thousand_pieces_of_a_tensor_need_few_gradients_of_memory() -> None:
    x = Tensor(np.ones(1000), requires_grad=True)
    loss = sum((piece * 2 for piece in x), tensor(0.0))
    tracemalloc.start()
    loss.backward()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert x.grad.tolist() == [2.0] * 1000
    assert peak < 200 * x.data.nbytes  # a gradient of x for each piece at once would be 1,000 times as much


def test_twice_the_loss_gives_twice_the_gradient() -> None:
    x = leaf(1.0, 2.0)
    loss = (x * x).sum()
    (2 * loss).backward()
    assert x.grad.tolist() == [4.0, 8.0]


def test_two_calls_of_backward_add_up() -> None:
    x = leaf(1.0, 2.0)
    (x * x).sum().backward()
    (x * 10).sum().backward()
    assert x.grad.tolist() == [12.0, 14.0]
    x.zero_grad()
    assert x.grad is None


def test_backward_adds_to_a_gradient_that_the_user_has_set() -> None:
    x = leaf(1.0)
    x.grad = tensor([5.0], dtype=np.float64)
    mine = x.grad
    (x * 2).backward()
    assert x.grad is mine and mine.tolist() == [7.0]


def test_backward_through_views_of_views() -> None:
    x = Tensor(np.arange(24.0).reshape(2, 3, 4), requires_grad=True)
    y = x.permute(2, 0, 1)[1:, :, None].reshape(3, 6)[::2].T[1]
    (y * tensor([1.0, 10.0], dtype=np.float64)).sum().backward()
    assert x.grad.data.nonzero()[0].size == 2
    assert (x.grad.data[0, 1, 1], x.grad.data[0, 1, 3]) == (1.0, 10.0)


def test_backward_of_a_leaf_is_the_gradient_itself() -> None:
    x = tensor(3.0, requires_grad=True)
    x.backward()
    assert x.grad.item() == 1.0


def test_a_result_with_one_element_and_axes_starts_from_one() -> None:
    x = Tensor(np.full((1, 1), 3.0), requires_grad=True)
    (x * x).backward()
    assert x.grad.tolist() == [[6.0]]


def test_inputs_that_want_no_gradient_get_none() -> None:
    x, w = leaf(1.0), tensor([2.0], dtype=np.float64)
    (x * w).backward()
    assert w.grad is None and x.grad.tolist() == [2.0]


def test_gradients_have_the_dtype_of_their_leaf() -> None:
    x = tensor([1.0, 2.0], requires_grad=True)
    y = tensor([1.0, 2.0], dtype=np.float64, requires_grad=True)
    (x * y).sum().backward()
    assert (x.grad.dtype, y.grad.dtype) == (np.float32, np.float64)


# ---------------------------------------------------------------- whose memory is it


def test_the_gradients_of_a_sum_do_not_share_memory() -> None:
    a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
    (a + b).sum().backward()
    a.grad += 100
    assert (a.grad.tolist(), b.grad.tolist()) == ([101.0, 101.0], [1.0, 1.0])


@pytest.mark.parametrize(
    "f",
    [
        lambda a, b: a + b,
        lambda a, b: a.reshape(2, 1) + b.view(2, 1),
        lambda a, b: a[:] + b.flip(0),
        lambda a, b: a.clone() + b.double(),
        lambda a, b: a.expand(3, 2) + b,
        lambda a, b: lib.cat([a, b]),
    ],
)
def test_a_gradient_that_the_user_passes_in_is_neither_kept_nor_changed(f: Callable[..., Tensor]) -> None:
    a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
    y = f(a, b)
    seed = tensor(np.ones(y.shape))
    y.backward(seed, retain_graph=True)
    y.backward(seed)
    for x in (a, b):
        assert not np.shares_memory(x.grad.data, seed.data)
        x.grad += 7
    assert (seed.data == 1).all()
    assert not np.shares_memory(a.grad.data, b.grad.data)


def test_a_gradient_can_be_written_to_though_it_was_broadcast() -> None:
    x = leaf(1.0, 2.0, 3.0)
    x.sum().backward()
    x.grad[0] = 9.0
    assert x.grad.tolist() == [9.0, 1.0, 1.0]


def test_the_gradient_of_a_leaf_alone_is_a_copy() -> None:
    x = leaf(1.0, 2.0)
    seed = tensor([1.0, 1.0], dtype=np.float64)
    x.backward(seed)
    x.backward(seed)
    assert (x.grad.tolist(), seed.tolist()) == ([2.0, 2.0], [1.0, 1.0])


@pytest.mark.parametrize("seed", [np.ones(2), 1.0, [1.0, 1.0]], ids=["array", "number", "list"])
def test_a_gradient_that_is_no_tensor_is_refused_in_one_line(seed: Any) -> None:
    """As PyTorch does, with a TypeError; nothing has gone back by then."""
    x = leaf(1.0, 2.0)
    for start in ((x * 2).backward, lambda seed: grad(x * 2, x, seed)):
        with pytest.raises(TypeError, match=r"^(backward|grad): .* a tensor is expected"):
            start(seed)
    assert x.grad is None


class Telling(Function):
    """Twice each input, whose backward answers with what `answer(self, grad)` makes of the gradient."""

    def __init__(self, answer: Callable[[Telling, np.ndarray], Any]) -> None:
        self.answer = answer

    def forward(self, *arrays: np.ndarray) -> np.ndarray:
        self.saved = (2 * sum(arrays),)
        return self.saved[0].copy()

    def backward(self, grad: np.ndarray) -> Any:
        return self.answer(self, grad)


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("way", ["alone", "then a sum", "with a hook", "twice"])
def test_a_gradient_that_nobody_else_holds_is_taken_over(way: str) -> None:
    x, given = leaf(*range(1000)), []

    def answer(f: Telling, grad: np.ndarray) -> np.ndarray:
        dx = 2 * grad
        given.append(address(dx))
        return dx

    y = apply(Telling(answer), x)
    if way == "then a sum":
        y = y.sum()
    if way == "with a hook":
        x.register_hook(lambda dx: None)
    y.backward(None if way == "then a sum" else tensor(np.ones(1000)), retain_graph=way == "twice")
    assert [address(x.grad.data)] == given
    if way == "twice":
        first = x.grad.data
        y.backward(tensor(np.ones(1000)))
        assert x.grad.data is first and x.grad.tolist() == [4.0] * 1000


kept: list[Any] = []
HOLDERS: dict[str, Callable[[Telling, np.ndarray], Any]] = {
    "kept": lambda f, grad: kept.append(2 * grad) or kept[-1],
    "a view of it kept": lambda f, grad: kept.append((dx := 2 * grad)[1:]) or dx,
    "its memory kept": lambda f, grad: kept.append(memoryview(dx := 2 * grad)) or dx,
    "saved": lambda f, grad: kept.append(f) or f.saved[0],
    "a view": lambda f, grad: kept.append(np.zeros(6)) or kept[-1][::2],
    "broadcast": lambda f, grad: np.broadcast_to(kept.append(np.zeros(1)) or kept[-1], 3),
    "read-only": lambda f, grad: kept.append(np.frombuffer(bytes(24))) or kept[-1],
    "the gradient itself": lambda f, grad: kept.append(grad) or grad,
}


@pytest.mark.parametrize("name", HOLDERS)
def test_a_gradient_that_somebody_holds_is_copied(name: str) -> None:
    kept.clear()
    x = leaf(1.0, 2.0, 3.0)
    y = apply(Telling(HOLDERS[name]), x)
    seed = tensor([1.0, 1.0, 1.0], dtype=np.float64)
    y.backward(seed, retain_graph=True)
    held = kept[-1].saved[0] if name == "saved" else np.asarray(kept[-1])
    before, gradient = held.copy(), x.grad.numpy().copy()
    x.grad += 7
    assert (held == before).all() and (seed.data == 1).all()
    x.grad = None
    y.backward(seed)
    assert (x.grad.numpy() == gradient).all()


@pytest.mark.parametrize("answer", [
    lambda f, grad: (dx := 2 * grad, dx),
    lambda f, grad: (dx := 2 * grad, dx[:]),
    lambda f, grad: ((dx := 2 * grad)[:], dx),
], ids=["one array", "a view second", "a view first"])  # fmt: skip
@pytest.mark.parametrize("twice", [False, True])
def test_one_array_for_two_inputs_becomes_two_gradients(answer: Callable[..., Any], twice: bool) -> None:
    a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
    y = apply(Telling(answer), a, b)
    if twice:
        y = y + apply(Telling(answer), b, a)
    y.sum().backward()
    a.grad += 100
    assert b.grad.tolist() == [4.0 if twice else 2.0] * 2


def test_one_array_for_both_places_of_an_input_is_added_once_each() -> None:
    x = leaf(1.0, 2.0)
    apply(Telling(lambda f, grad: (dx := 3 * grad, dx)), x, x).sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]


def test_the_sum_of_two_gradients_takes_the_first_ones_memory_where_nobody_holds_it() -> None:
    x, given = leaf(1.0, 2.0), []

    def answer(f: Telling, grad: np.ndarray) -> np.ndarray:
        dx = (len(given) + 1) * grad
        given.append(address(dx))
        return dx

    (apply(Telling(answer), x) + apply(Telling(answer), x)).sum().backward()
    assert (address(x.grad.data), x.grad.tolist()) == (given[0], [3.0, 3.0])


def test_what_a_hook_keeps_is_not_the_gradient() -> None:
    x, seen = leaf(1.0, 2.0), []
    y = x * 2
    for watched in (x, y):
        watched.register_hook(lambda grad: seen.append(grad) or grad)
    (y * 3).clone().sum().backward()
    x.grad += 100
    assert [grad.tolist() for grad in seen] == [[3.0, 3.0], [6.0, 6.0]]


def test_derivatives_of_derivatives_are_left_as_they_are() -> None:
    x = leaf(1.0, 2.0)
    made = grad(x * x * x, [x], tensor([1.0, 1.0], dtype=np.float64))
    (x * x).sum().backward()
    before = made[0].tolist()
    x.grad += 100
    assert made[0].tolist() == before == [3.0, 12.0]


def test_grad_gives_copies_and_leaves_dot_grad_alone() -> None:
    a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
    seed = tensor([1.0, 1.0], dtype=np.float64)
    ga, gb = grad(a + b, [a, b], seed)
    assert a.grad is None and b.grad is None
    ga += 1
    assert (gb.tolist(), seed.tolist()) == ([1.0, 1.0], [1.0, 1.0])


def test_grad_adds_nothing_to_a_gradient_that_is_there() -> None:
    x = leaf(1.0)
    (x * 2).backward()
    assert [g.tolist() for g in grad(x * 5, x)] == [[5.0]]
    assert x.grad.tolist() == [2.0]


def test_grad_of_an_intermediate_and_of_what_comes_before_it() -> None:
    x = leaf(2.0)
    y = x * 3
    assert [g.item() for g in grad(y * y, [y, x])] == [12.0, 36.0]


# ---------------------------------------------------------------- freeing, twice, deep


def test_a_second_backward_is_refused_and_says_what_to_do() -> None:
    x = leaf(1.0)
    y = x * x
    y.backward()
    with pytest.raises(RuntimeError, match=r"Mul: .*freed.*retain_graph=True"):
        y.backward()


def test_retain_graph_allows_a_second_backward() -> None:
    x = leaf(3.0)
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [12.0]
    with pytest.raises(RuntimeError, match="freed"):
        y.backward()


def test_two_losses_share_a_part_that_only_the_last_may_free() -> None:
    x = leaf(2.0)
    y = x * x
    a, b = y * 3, y * 5
    a.backward(retain_graph=True)
    b.backward()
    assert x.grad.tolist() == [32.0]


@pytest.mark.slow
def test_a_hundred_thousand_operations_go_backward_and_away() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(100_000):
        y = y + 1
    y.backward()
    assert x.grad.tolist() == [1.0]
    alive = weakref.ref(y)
    del y
    assert alive() is None


@pytest.mark.slow
def test_a_hundred_thousand_operations_that_nobody_sent_back_go_away_too() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(100_000):
        y = y * x
    first = weakref.ref(y.function)
    del y
    assert first() is None


@contextlib.contextmanager
def without_collector() -> Iterator[None]:
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_results_die_at_once_without_the_garbage_collector(case: Case) -> None:
    def run(back: bool, arrays: list[np.ndarray], options: dict[str, Any]) -> list[weakref.ref[Any]]:
        inputs = [Tensor(x, requires_grad=x.dtype.kind == "f") for x in arrays]
        with record() as records:
            out = case.function(lib, *inputs, **options)
        for o in (out if isinstance(out, tuple) else [out]) if back else []:
            if o.requires_grad:
                o.backward(lib.ones_like(o), retain_graph=True)
        return [weakref.ref(item) for f, tensors, made in records for item in (f, made, *tensors)]

    @settings(max_examples=2, derandomize=True, deadline=None, database=None, phases=[Phase.generate])
    @given(case.inputs)
    def check(drawn: Any) -> None:
        for back in (False, True):
            assert all(ref() is None for ref in run(back, *drawn))

    with without_collector():
        check()


def test_hooks_and_retain_grad_make_no_cycles() -> None:
    with without_collector():
        x = leaf(1.0)
        y = x * 2
        y.retain_grad()
        y.register_hook(lambda g: g * 2)
        (y * y).backward(retain_graph=True)
        alive = [weakref.ref(item) for item in (x, y, y.function, y.grad)]
        del x, y
        assert [ref() for ref in alive] == [None] * 4


def arrays_alive(make: Callable[[], Any]) -> tuple[Any, int]:
    """What `make` returns, and the bytes that arrays of its hold; other threads may hold what they like."""
    make()
    gc.collect()
    tracemalloc.start()
    made = make()
    gc.collect()
    traces = tracemalloc.take_snapshot().traces
    tracemalloc.stop()
    return made, sum(trace.size for trace in traces if trace.domain == np.lib.tracemalloc_domain)


BLOCK = 80_000  # bytes of the arrays below


def layers(n: int, *weights: Tensor) -> Callable[[], Tensor]:
    x = Tensor(np.full((100, 100), 0.01))

    def run() -> Tensor:
        y = x
        for w in weights:
            for _ in range(n):
                y = (y @ w + 1).relu()
        return y.sum()

    return run


def test_a_chain_of_layers_keeps_only_what_backward_needs() -> None:
    """Of matmul, plus one and relu, the result of relu alone is saved: by relu, and by the next matmul."""
    w = Tensor(np.eye(100), requires_grad=True)
    _, size = arrays_alive(layers(10, w))
    assert size < 10.5 * BLOCK


def test_no_grad_keeps_nothing() -> None:
    w = Tensor(np.eye(100), requires_grad=True)
    with no_grad():
        _, size = arrays_alive(layers(10, w))
    assert size < 0.1 * BLOCK


@pytest.mark.slow
def test_without_leaves_that_want_gradients_nothing_is_kept() -> None:
    _, size = arrays_alive(layers(10, Tensor(np.eye(100))))
    assert size < 0.1 * BLOCK


@pytest.mark.slow
def test_backward_gives_the_memory_back_though_the_loss_lives_on() -> None:
    w = Tensor(np.eye(100), requires_grad=True)
    run = layers(10, w)

    def step() -> Tensor:
        loss = run()
        loss.backward()
        w.grad = None
        return loss

    _, size = arrays_alive(step)
    assert size < 0.2 * BLOCK


@pytest.mark.slow
def test_backward_frees_on_the_way() -> None:
    """The peak of backward is that of forward and a few gradients, not twice forward."""
    w = Tensor(np.eye(100), requires_grad=True)
    loss = layers(30, w)()
    tracemalloc.start()
    loss.backward()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * BLOCK


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x + 1,
        lambda x: x.sum(),
        lambda x: -x,
        lambda x: x - x,
        lambda x: x * 2,
        lambda x: x.mean(),
    ],
)
def test_linear_operations_do_not_keep_their_input(f: Callable[[Tensor], Tensor]) -> None:
    x = Tensor(np.ones((10, 10)), requires_grad=True)
    middle = x.clone()
    array = weakref.ref(middle.data)
    y = f(middle)
    del middle
    assert array() is None
    y.sum().backward()
    assert x.grad.shape == (10, 10)


# ---------------------------------------------------------------- hooks


def test_a_hook_on_a_leaf_sees_its_whole_gradient_and_may_replace_it() -> None:
    x = leaf(1.0, 2.0)
    seen = []
    x.register_hook(lambda g: seen.append(g.tolist()))
    x.register_hook(lambda g: g * 10)
    (x * x + x).sum().backward()
    assert seen == [[3.0, 5.0]]
    assert x.grad.tolist() == [30.0, 50.0]


def test_a_hook_on_a_result_changes_what_flows_on() -> None:
    x = leaf(1.0)
    y = x * 2
    y.register_hook(lambda g: g * 100)
    (y + y * 3).backward()
    assert x.grad.tolist() == [800.0]


def test_a_hook_is_taken_away_again() -> None:
    x = leaf(1.0)
    seen = []
    remove = x.register_hook(seen.append)
    (x * 2).backward()
    remove()
    (x * 2).backward()
    assert len(seen) == 1


def test_what_a_hook_writes_into_its_argument_harms_nobody() -> None:
    a, b = leaf(1.0), leaf(2.0)
    y = a + b
    y.register_hook(lambda g: [g.zero_()].clear())
    y.backward()
    assert (a.grad.tolist(), b.grad.tolist()) == ([1.0], [1.0])


def test_hooks_run_in_grad_too() -> None:
    x = leaf(1.0)
    y = x * 2
    y.register_hook(lambda g: g * 3)
    assert [g.item() for g in grad(y * 1, [y, x])] == [3.0, 6.0]


def test_a_hook_on_a_leaf_runs_in_grad_too() -> None:
    x = leaf(1.0)
    x.register_hook(lambda g: g * 3)
    assert grad(x * 2, x)[0].item() == 6.0


def test_retain_grad_keeps_the_gradient_of_a_result() -> None:
    x = leaf(2.0)
    y = x * 3
    y.retain_grad()
    (y * y).backward()
    assert (y.grad.tolist(), x.grad.tolist()) == ([12.0], [36.0])


def test_without_retain_grad_a_result_has_none() -> None:
    x = leaf(2.0)
    y = x * 3
    (y * y).backward()
    assert y.grad is None


def test_a_retained_gradient_is_what_earlier_hooks_made_of_it() -> None:
    """PyTorch counts later hooks as well."""
    x = leaf(2.0)
    y = x * 3
    y.register_hook(lambda g: g * 10)
    y.retain_grad()
    (y * y).backward()
    assert (y.grad.tolist(), x.grad.tolist()) == ([120.0], [360.0])


def test_retain_grad_twice_is_retain_grad_once() -> None:
    x = leaf(2.0)
    y = x * 3
    y.retain_grad()
    y.retain_grad()
    (y * y).backward()
    assert y.grad.tolist() == [12.0]


def test_a_hook_may_not_change_the_shape() -> None:
    x = leaf(1.0, 2.0)
    x.register_hook(lambda g: g.sum())
    with pytest.raises(RuntimeError, match="hook"):
        (x * 2).sum().backward()


# ---------------------------------------------------------------- writes are noticed


def test_a_saved_array_that_changed_stops_backward_by_the_name_of_its_operation() -> None:
    x = leaf(1.0, 2.0)
    y = x * 1
    loss = (y.exp() * y).sum()
    y += 1
    with pytest.raises(RuntimeError, match=r"Mul: an array of shape \(2,\) .*changed in place"):
        loss.backward()


def test_a_write_after_backward_harms_nobody() -> None:
    x = leaf(1.0)
    y = x * 1
    (y * y).backward()
    y += 1
    assert x.grad.tolist() == [2.0]


def test_a_write_before_the_operation_is_no_concern_of_it() -> None:
    x = leaf(1.0)
    y = x * 1
    y += 1
    (y * y).backward()
    assert x.grad.tolist() == [4.0]


def test_versions_are_shared_by_views() -> None:
    x = tensor([1.0, 2.0, 3.0, 4.0])
    view = x[1:].reshape(3, 1)
    x += 1
    view *= 2
    x[0] = 5
    assert (x._version, view._version, x.detach()._version, x.clone()._version) == (3, 3, 3, 0)
    assert x.tolist() == [5.0, 6.0, 8.0, 10.0]


def test_versions_do_not_outlive_their_array() -> None:
    x = tensor([1.0])
    x += 1
    before = len(lib._writes)
    del x
    assert len(lib._writes) == before - 1


def test_a_write_through_a_view_is_noticed_by_who_saved_the_whole() -> None:
    x, w = leaf(1.0, 2.0), tensor([3.0, 4.0], dtype=np.float64)
    loss = (x * w).sum()
    w[1:].fill_(0)
    with pytest.raises(RuntimeError, match="changed in place"):
        loss.backward()


def test_a_write_to_another_part_of_the_memory_is_refused_as_pytorch_does() -> None:
    x, w = leaf(1.0), tensor([3.0, 4.0], dtype=np.float64)
    loss = x * w[:1]
    w[1:] = 0.0
    with pytest.raises(RuntimeError, match="changed in place"):
        loss.backward()


def test_a_write_through_numpy_is_not_seen() -> None:
    x, w = leaf(1.0), tensor([3.0], dtype=np.float64)
    y = x * w
    w.numpy()[0] = 5.0
    y.backward()
    assert x.grad.tolist() == [5.0]


def test_plus_equals_on_a_result_keeps_its_history() -> None:
    x = leaf(1.0, 2.0)
    y = x * 2
    alias = y
    y += x
    y *= 3
    y.sum().backward()
    assert alias is y and x.grad.tolist() == [9.0, 9.0]


def test_plus_equals_gives_a_tensor_without_history_that_of_the_other() -> None:
    x = leaf(1.0)
    total = tensor([0.0], dtype=np.float64)
    for _ in range(3):
        total += x * x
    assert not total.is_leaf
    total.backward()
    assert x.grad.tolist() == [6.0]


def test_a_view_taken_before_a_write_follows_it() -> None:
    x, w = leaf(1.0, 2.0), leaf(5.0)
    y = x * 1
    view = y[:1]
    y[0] = w[0]
    assert (view * 2).tolist() == [10.0]
    (view * 2).backward()
    assert (x.grad.tolist(), w.grad.tolist()) == ([0.0, 0.0], [2.0])


def test_a_write_to_a_view_is_one_to_its_base() -> None:
    x = leaf(1.0, 2.0)
    y = x * 1
    view = y[:1]
    view *= 3
    y.sum().backward()
    assert (y.tolist(), view.tolist(), x.grad.tolist()) == ([3.0, 2.0], [3.0], [3.0, 1.0])


def test_a_thousand_views_written_one_by_one_take_no_time() -> None:
    """Each write gives all of them another history, which only those that are used again ask for."""
    x, started = leaf(*range(2000)), time.process_time()
    y = x * 1
    for view in [y[i] for i in range(2000)]:
        view *= 2
    y.sum().backward()
    assert x.grad.tolist() == [2.0] * 2000
    assert time.process_time() - started < 5


@pytest.mark.parametrize("change", [lambda v: v.fill_(1), lambda v: operator.imul(v, leaf(1.0))])
def test_an_expanded_view_or_read_only_memory_is_not_written_to(change: Callable[[Tensor], Any]) -> None:
    fixed = np.zeros(1)
    fixed.flags.writeable = False
    for view in (tensor([0.0], dtype=np.float64).expand(3), Tensor(fixed)):
        with pytest.raises(RuntimeError, match="clone it"):
            change(view)


def test_parts_of_one_tensor_may_overlap_in_a_write() -> None:
    """PyTorch refuses; ours reads everything first."""
    x = leaf(1.0, 2.0, 4.0)
    y = x * 1
    y[1:] += y[:-1]
    y[:2] = y[1:]
    y.sum().backward()
    assert (y.tolist(), x.grad.tolist()) == ([3.0, 6.0, 6.0], [1.0, 3.0, 2.0])


def test_a_view_without_gradients_does_not_keep_what_its_base_was_made_of() -> None:
    x = leaf(1.0, 2.0)
    y = x * 1
    watched = weakref.ref(y)
    row = y[0].detach()
    del y
    assert watched() is None and row.tolist() == 1.0


def test_a_failed_write_changes_nothing() -> None:
    x = tensor([1, 2])
    with pytest.raises(RuntimeError):
        x += 0.5
    with pytest.raises((RuntimeError, ValueError)):
        x += tensor([[1], [2]])
    assert (x.tolist(), x._version) == ([1, 2], 0)


@pytest.mark.parametrize("change", [operator.iadd, operator.isub, operator.imul])
def test_integers_refuse_a_fraction_in_place_and_stay_as_they_are(change: Callable[..., Any]) -> None:
    x = tensor([1, 2])
    with pytest.raises(RuntimeError, match=r"float32 does not fit in place into int64"):
        change(x, 0.5)
    assert x.tolist() == [1, 2]


def test_a_leaf_can_be_stepped_under_no_grad_and_stays_a_leaf() -> None:
    x = leaf(1.0)
    (x * x).backward()
    with no_grad():
        x -= 0.1 * x.grad
    assert x.is_leaf and x.requires_grad and x.tolist() == [0.8]


# ---------------------------------------------------------------- modes


def test_no_grad_is_undone_by_an_error_and_can_be_nested() -> None:
    x = leaf(1.0)
    with contextlib.suppress(ZeroDivisionError), no_grad():
        with enable_grad():
            assert (x * 2).requires_grad
        assert not (x * 2).requires_grad
        raise ZeroDivisionError
    assert is_grad_enabled()


def test_no_grad_decorates_functions_and_may_be_used_again_inside_itself() -> None:
    off = no_grad()

    @off
    def depth(n: int) -> list[bool]:
        return [is_grad_enabled()] + (depth(n - 1) if n else [])

    assert depth(3) == [False] * 4
    assert is_grad_enabled()


def test_set_grad_enabled_for_a_block_and_from_now_on() -> None:
    with set_grad_enabled(False):
        assert not is_grad_enabled()
    assert is_grad_enabled()
    try:
        set_grad_enabled(False)
        assert not is_grad_enabled()
    finally:
        set_grad_enabled(True)
    assert is_grad_enabled()


def test_set_grad_enabled_as_a_decorator_holds_in_the_function_alone() -> None:
    try:

        @set_grad_enabled(False)
        def inside() -> bool:
            return is_grad_enabled()

        assert is_grad_enabled()
        assert not inside()
        assert is_grad_enabled()
    finally:
        lib.mode.grad_enabled = True


def test_a_thread_has_its_own_mode() -> None:
    seen: list[bool] = []
    with no_grad():
        thread = threading.Thread(target=lambda: seen.append(is_grad_enabled()))
        thread.start()
        thread.join()
        assert not is_grad_enabled()
    assert seen == [True]


def test_no_grad_decorates_coroutines_step_by_step() -> None:
    seen: list[bool] = []

    @no_grad()
    async def predict(n: int) -> int:
        for _ in range(n):
            seen.append(is_grad_enabled())
            await asyncio.sleep(0)
        return n

    async def main() -> int:
        running = asyncio.create_task(predict(3))
        while not running.done():
            await asyncio.sleep(0)
            assert is_grad_enabled()
        return await running

    assert asyncio.run(main()) == 3 and seen == [False] * 3
    with pytest.raises(TypeError, match="asynchronous generator"):

        @no_grad()
        async def stream() -> Any:
            yield 1


def test_what_a_generator_is_thrown_arrives_without_gradients() -> None:
    @no_grad()
    def steps() -> Any:
        try:
            yield 1
        except KeyError:
            yield is_grad_enabled()

    run = steps()
    next(run)
    assert run.throw(KeyError("x")) is False and is_grad_enabled()


def test_one_no_grad_for_two_threads_leaves_both_as_they_were() -> None:
    off, both_in = no_grad(), threading.Barrier(2)
    after: list[bool] = []

    def enter(enabled: bool) -> None:
        set_grad_enabled(enabled)
        if not enabled:
            both_in.wait()
        with off:
            if enabled:
                both_in.wait()
                time.sleep(0.05)
            else:
                time.sleep(0.1)
        after.append(is_grad_enabled() == enabled)

    threads = [threading.Thread(target=enter, args=(enabled,)) for enabled in (True, False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert after == [True, True]


def test_what_no_grad_makes_wants_none_but_its_leaves_still_do() -> None:
    x = leaf(1.0)
    with no_grad():
        y = x * 2
    assert (y.requires_grad, y.is_leaf, x.requires_grad) == (False, True, True)
    (x * y).backward()
    assert x.grad.tolist() == [2.0]


def test_detach_shares_the_memory_and_forgets_the_history() -> None:
    x = leaf(1.0)
    y = (x * 2).detach()
    assert (y.requires_grad, y.function) == (False, None)
    z = x.detach()
    assert np.shares_memory(z.data, x.data)


def test_record_lists_every_operation_also_under_no_grad() -> None:
    x = leaf(1.0, 2.0)
    with no_grad(), record() as records:
        y = (x * 2).relu().sum()
        z = x > 1
    assert [f.name for f, _, _ in records] == ["Mul", "ReLU", "Sum", "Compare"]
    assert records[0][1][0] is x and records[2][2] is y and records[3][2] is z
    x * 2
    assert len(records) == 4


def test_records_can_be_nested_and_are_per_thread() -> None:
    x = leaf(1.0)
    with record() as outer:
        x * 1
        with record() as inner:
            x.exp()
        with ThreadPoolExecutor(1) as pool:
            pool.submit(lambda: x.tanh()).result()
        x.sin()
    assert [f.name for f, _, _ in inner] == ["Exp"]
    assert [f.name for f, _, _ in outer] == ["Mul", "Sin"]


# ---------------------------------------------------------------- threads


def test_threads_send_their_own_graphs_back_to_shared_leaves() -> None:
    w = Tensor(np.random.default_rng(0).normal(size=(20, 20)), requires_grad=True)
    parts = [Tensor(np.random.default_rng(i).normal(size=(5, 20))) for i in range(40)]

    def work(x: Tensor) -> np.ndarray:
        y = x
        for _ in range(20):
            y = (y @ w).tanh() + y * 0.5
            y *= 0.9
        (g,) = grad((y * y).sum(), w)
        return g.data

    expected = [work(x) for x in parts]
    with ThreadPoolExecutor(4) as pool:
        got = list(pool.map(work, parts))
    for a, b in zip(got, expected):
        np.testing.assert_array_equal(a, b)
    assert w.grad is None


# ---------------------------------------------------------------- copies


def test_a_leaf_is_copied_deeply_with_its_gradient() -> None:
    x = leaf(1.0, 2.0)
    (x * x).sum().backward()
    y = copy.deepcopy(x)
    y.data += 1
    y.grad.data += 1
    assert (x.tolist(), x.grad.tolist(), y.requires_grad, y.is_leaf) == ([1.0, 2.0], [2.0, 4.0], True, True)


def test_copies_that_were_one_stay_one() -> None:
    x = leaf(1.0)
    a, b = copy.deepcopy([x, x])
    assert a is b


def test_a_leaf_is_pickled() -> None:
    x = leaf(1.0, 2.0)
    y = pickle.loads(pickle.dumps(x))
    assert (y.tolist(), y.dtype, y.requires_grad, y.is_leaf) == ([1.0, 2.0], np.float64, True, True)
    (y * y).sum().backward()
    assert y.grad.tolist() == [2.0, 4.0] and x.grad is None


@pytest.mark.parametrize("make", [copy.deepcopy, pickle.dumps])
def test_a_result_with_a_history_is_not_copied(make: Callable[[Tensor], Any]) -> None:
    """The copy would bring copies of its leaves along, which get its gradients."""
    with pytest.raises(RuntimeError, match="detach"):
        make(leaf(1.0) * 2)


def test_tensors_are_found_in_sets_and_dicts_by_identity() -> None:
    a, b = leaf(1.0), leaf(1.0)
    assert len({a, b, a}) == 2 and {a: 1}.get(b) is None


# ---------------------------------------------------------------- what an own Function may do


class Swap(Function):
    """x, y -> x - 2 y, whose backward returns its argument itself, twice."""

    def forward(self, x: Any, y: Any) -> Any:
        return x - 2 * y

    def backward(self, grad: Any) -> Any:
        return grad, grad


class Scalar(Function):
    """Returns NumPy scalars."""

    def forward(self, x: Any) -> Any:
        return x.sum()

    def backward(self, grad: Any) -> Any:
        return np.broadcast_to(grad, self.inputs[0].shape)


class Silent(Function):
    def forward(self, x: Any) -> Any:
        return x * 2


def test_what_backward_returns_may_be_its_argument() -> None:
    a, b = leaf(1.0), leaf(1.0)
    y = apply(Swap(), a, b)
    (y + apply(Swap(), b, a)).backward()
    a.grad += 1
    assert (a.grad.tolist(), b.grad.tolist()) == ([3.0], [2.0])


def test_a_scalar_result_becomes_an_array() -> None:
    x = leaf(1.0, 2.0)
    y = apply(Scalar(), x)
    assert type(y.data) is np.ndarray and y.shape == ()
    y.backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_a_function_without_backward_says_so_by_name() -> None:
    with pytest.raises(NotImplementedError, match="Silent has no backward"):
        apply(Silent(), leaf(1.0)).backward()


def test_broadcast_gradients_are_summed_by_the_engine() -> None:
    a, b = Tensor(np.ones((3, 1)), requires_grad=True), leaf(1.0, 1.0)
    apply(Swap(), a, b).backward(tensor(np.arange(6.0).reshape(3, 2)))
    assert (a.grad.tolist(), b.grad.tolist()) == ([[1.0], [5.0], [9.0]], [6.0, 9.0])


# ---------------------------------------------------------------- messages


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (lambda: tensor([1, 2], requires_grad=True), "int64.*float"),
        (lambda: (leaf(1.0, 2.0) * 2).backward(), r"shape \(2,\).*sum\(\)"),
        (lambda: tensor([1.0]).backward(), "requires_grad"),
        (lambda: leaf(1.0).__iadd__(1), "leaf.*no_grad"),
        (lambda: tensor([1.0, 2.0]).item(), "2"),
        (lambda: bool(tensor([1.0, 2.0])), r"all\(\).*any\(\)"),
        (lambda: tensor([1, 2]).mean(), r"int64.*float\(\)"),
        (lambda: tensor([1.0]) @ tensor([1.0], dtype=np.float64), "float32.*float64"),
        (lambda: lib.zeros(2, 3) @ lib.zeros(2, 3), r"\(2, 3\).*\(2, 3\).*transpose the second"),
        (lambda: lib.zeros(2, 3).reshape(4), r"\(2, 3\).*6.*\(4,\)"),
        (lambda: tensor([1.0, 2.0])[::-1], "flip"),
        (lambda: lib.zeros(2, 3).T.view(6), "reshape"),
        (lambda: lib.cat([lib.zeros(2, 3), lib.zeros(2, 2)]), r"\(2, 3\).*\(2, 2\)"),
        (lambda: lib.zeros(2).sum(1), "-1 to 0"),
        (lambda: tensor([1.0]) + np.ones(1), r"tensor\("),
        (lambda: lib.zeros(2) + lib.zeros(3), r"Add.*\(2,\).*\(3,\)"),
        (lambda: lib.zeros(0).amax(), "Extreme|amax"),
        (lambda: tensor([1.0]).to("cuda:7"), "no device .cuda"),
        (lambda: where(tensor([1]), 1, 2), "booleans.*int64"),
        (lambda: lib.rand(2, dtype=np.float16), "float32 or float64"),
    ],
)
def test_errors_name_what_was_wrong_and_what_to_do(action: Callable[[], Any], words: str) -> None:
    with pytest.raises((RuntimeError, IndexError, TypeError, ValueError), match=words):
        action()


# ---------------------------------------------------------------- gradcheck


class Planted(Function):
    """x * x, whose gradient is wrong at one place."""

    def __init__(self, place: int) -> None:
        self.place = place

    def forward(self, x: Any) -> Any:
        self.saved = (x,)
        return x * x

    def backward(self, grad: Any) -> Any:
        (x,) = self.saved
        out = 2 * x * grad
        out.reshape(-1)[self.place] += 0.5
        return out


def test_gradcheck_passes_what_is_right() -> None:
    x, y = leaf(0.3, -0.7), leaf(1.5)
    assert gradcheck(lambda x, y: (x * y).tanh() / y, [x, y]) is True
    assert gradcheck(lambda x: x.sum(), x)
    assert x.grad is None and y.grad is None
    assert (x.tolist(), y.tolist()) == ([0.3, -0.7], [1.5])


def test_gradcheck_finds_a_planted_error_and_says_where() -> None:
    x, constant = Tensor(np.full((2, 3), 1.0), requires_grad=True), tensor([1.0], dtype=np.float64)
    with pytest.raises(GradcheckError) as error:
        gradcheck(lambda c, x: apply(Planted(4), x) * c, [constant, x])
    words = str(error.value)
    assert "argument 1, index (1, 1)" in words
    got, expected = (float(part.split()[0]) for part in (words.split("got ")[1], words.split("expected ")[1]))
    assert got - expected == pytest.approx(0.5, abs=1e-4)
    assert 1.0 <= expected <= 3.0  # 2 x times a weight between 0.5 and 1.5


def test_gradcheck_finds_a_gradient_that_is_missing() -> None:
    x = leaf(1.0)
    with pytest.raises(GradcheckError, match=r"got 0 .*expected"):
        gradcheck(lambda x: x.detach() * 2 + x * 0, [x])
    with pytest.raises(GradcheckError, match="got 0 "):
        gradcheck(lambda x: x.detach() * 2, [x])


def test_gradcheck_sees_outputs_that_cancel_each_other() -> None:
    """Weighing all outputs the same would not see that two gradients are exchanged."""

    class Exchanged(Function):
        def forward(self, x: Any) -> Any:
            return x * np.array([1.0, 2.0])

        def backward(self, grad: Any) -> Any:
            return grad[::-1] * np.array([1.0, 2.0])

    with pytest.raises(GradcheckError):
        gradcheck(lambda x: apply(Exchanged(), x), [leaf(1.0, 1.0)])


def test_gradcheck_finds_nan() -> None:
    class Nan(Function):
        def forward(self, x: Any) -> Any:
            return x * 1

        def backward(self, grad: Any) -> Any:
            return grad * math.nan

    with pytest.raises(GradcheckError):
        gradcheck(lambda x: apply(Nan(), x), [leaf(1.0)])


@pytest.mark.parametrize("x", [tensor([1.0], requires_grad=True), tensor([1.0], dtype=np.float64)])
def test_gradcheck_wants_float64_and_something_to_check(x: Tensor) -> None:
    with pytest.raises(ValueError, match="float64"):
        gradcheck(lambda x: x * 2, [x])


def test_gradcheck_takes_integers_views_and_nothing_at_all() -> None:
    x = Tensor(np.arange(6.0)[::-2] + 1, requires_grad=True)
    assert gradcheck(lambda x, i: x[i].log(), [x, tensor([0, 0, -1])])
    assert gradcheck(lambda x: x.exp().sum(), [Tensor(np.zeros((0, 3)), requires_grad=True)])
    assert gradcheck(lambda x: x * x, [tensor(2.0, dtype=np.float64, requires_grad=True)])


def test_gradcheck_leaves_the_numbers_as_they_were_after_an_error() -> None:
    x = leaf(1.0, 2.0)

    def fails(x: Tensor) -> Tensor:
        if x.tolist() != [1.0, 2.0]:
            raise ZeroDivisionError
        return x * 2

    with pytest.raises(ZeroDivisionError):
        gradcheck(fails, [x])
    assert x.tolist() == [1.0, 2.0]


# ---------------------------------------------------------------- another device


class Elsewhere:
    """An array on another device: wraps a NumPy array and, like CuPy's, refuses to meet one."""

    __slots__ = ("__weakref__", "array", "base")
    __array_ufunc__ = None

    def __init__(self, array: Any, base: Elsewhere | None = None) -> None:
        self.array, self.base = np.asarray(array), base

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        raise TypeError("an array from elsewhere does not become a NumPy array by itself")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # NumPy asks for __array_interface__ and others
            raise AttributeError(name)
        value = getattr(self.array, name)
        if not callable(value) or isinstance(value, np.dtype):
            return value
        return lambda *args, **kwargs: here_to_elsewhere(value(*there(args), **there(kwargs)), self)

    def __getitem__(self, index: Any) -> Elsewhere:
        return here_to_elsewhere(self.array[there(index)], self)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.array[there(index)] = there(value)

    def __bool__(self) -> bool:
        return bool(self.array)

    def __len__(self) -> int:
        return len(self.array)


def there(value: Any) -> Any:
    """The NumPy arrays inside of those from elsewhere; a NumPy array among them is an error."""
    if isinstance(value, Elsewhere):
        return value.array
    if isinstance(value, np.ndarray):
        raise TypeError("a NumPy array does not belong elsewhere")
    if isinstance(value, tuple | list):
        return type(value)(there(item) for item in value)
    return {key: there(item) for key, item in value.items()} if isinstance(value, dict) else value


def here_to_elsewhere(value: Any, source: Elsewhere | None = None) -> Any:
    """Results live elsewhere too, numbers as arrays without axes; a view knows what it is a view of."""
    if isinstance(value, tuple | list):
        return type(value)(here_to_elsewhere(item, source) for item in value)
    if not isinstance(value, np.ndarray | np.generic):
        return value
    shared = source is not None and np.may_share_memory(value, source.array)
    base = None if not shared else source if source.base is None else source.base
    return Elsewhere(value, base)


def operator_of(name: str) -> Callable[..., Any]:
    def method(self: Elsewhere, *others: Any) -> Any:
        result = getattr(self.array, name)(*there(others))
        if name.startswith("__i") and name not in ("__invert__",):
            return self
        return result if result is NotImplemented else here_to_elsewhere(result)

    return method


NAMES = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "matmul"]
for name in [f"__{p}{n}__" for n in NAMES for p in ("", "r", "i")] + [
    f"__{n}__" for n in ["neg", "abs", "invert", "eq", "ne", "lt", "le", "gt", "ge"]
]:
    setattr(Elsewhere, name, operator_of(name))


class ArrayModule:
    """NumPy's functions for arrays from elsewhere; `asarray` and `array` bring NumPy's there."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(np, name)
        if not callable(value) or isinstance(value, type):
            return value

        def call(*args: Any, **kwargs: Any) -> Any:
            source = next((item for item in args if isinstance(item, Elsewhere)), None)
            return here_to_elsewhere(value(*there(args), **there(kwargs)), source)

        return call

    def asarray(self, value: Any, dtype: Any = None) -> Elsewhere:
        if isinstance(value, Elsewhere) and (dtype is None or value.dtype == dtype):
            return value
        return Elsewhere(np.asarray(there(value) if isinstance(value, Elsewhere) else value, dtype))

    def array(self, value: Any, dtype: Any = None) -> Elsewhere:
        return Elsewhere(np.array(there(value) if isinstance(value, Elsewhere) else value, dtype))


@pytest.fixture
def elsewhere() -> Iterator[Device]:
    DEVICES[Elsewhere] = device = Device("elsewhere", ArrayModule())
    yield device
    del DEVICES[Elsewhere]


def moved(array: np.ndarray, requires_grad: bool = False) -> Tensor:
    return Tensor(Elsewhere(array.copy()), requires_grad=requires_grad)


@pytest.mark.parametrize(
    "mix",
    [
        lambda a, b: a + b,
        lambda a, b: b * a,
        lambda a, b: a @ b,
        lambda a, b: b @ a,
        lambda a, b: where(a > 0, b, b),
        lambda a, b: lib.cat([b, a]),
        lambda a, b: b[(a > 0).long()],
        lambda a, b: a[(b > 0).long()],
    ],
)
def test_tensors_of_two_devices_do_not_mix(mix: Callable[..., Tensor], elsewhere: Device) -> None:
    with pytest.raises(TypeError, match=r"cpu|elsewhere"):
        mix(tensor([1.0, 2.0]), moved(np.array([1.0, 2.0], np.float32)))


def test_grad_hooks_and_retain_grad_work_elsewhere(elsewhere: Device) -> None:
    x = moved(np.array([1.0, 2.0]), requires_grad=True)
    seen = []
    x.register_hook(lambda g: seen.append(g.device))
    y = x * 3
    y.retain_grad()
    y.sum().backward(retain_graph=True)
    assert (seen, x.grad.tolist(), y.grad.tolist()) == (["elsewhere"], [3.0, 3.0], [1.0, 1.0])
    assert grad(y.sum(), x)[0].device == "elsewhere"


def test_a_saved_array_elsewhere_is_watched_too(elsewhere: Device) -> None:
    x, w = moved(np.ones(2), requires_grad=True), moved(np.ones(2))
    y = (x * w).sum()
    w[1:] *= 2
    with pytest.raises(RuntimeError, match="changed in place"):
        y.backward()


def test_numbers_come_back_from_elsewhere_and_the_array_does_not_by_itself(elsewhere: Device) -> None:
    x = moved(np.array([1.5]))
    assert (x.item(), x.tolist(), bool(x > 1), float(x)) == (1.5, [1.5], True, 1.5)
    with pytest.raises(TypeError, match="elsewhere"):
        x.numpy()


def test_a_tensor_elsewhere_shows_itself(elsewhere: Device) -> None:
    assert "1.5" in repr(moved(np.array([1.5]))) and "elsewhere" in repr(moved(np.array([1.5])))


def test_a_list_of_indices_works_elsewhere(elsewhere: Device) -> None:
    assert moved(np.array([1.0, 2.0, 3.0]))[[0, -1]].tolist() == [1.0, 3.0]


def test_numbers_beside_a_tensor_go_where_it_is(elsewhere: Device) -> None:
    x = moved(np.array([1.0, -2.0]))
    assert where(x > 0, 1.5, x).tolist() == [1.5, -2.0]
    x[0] = 7.0
    x[1:] = 8
    assert x.masked_fill(x > 7, 0.0).tolist() == [7.0, 0.0]
    assert x.fill_(3).tolist() == [3.0, 3.0]


def test_a_copy_of_a_tensor_stays_elsewhere(elsewhere: Device) -> None:
    assert tensor(moved(np.array([1.0]))).device == "elsewhere"


class Hundreds:
    """A pair of kernels for Exp that shows itself; it has nothing for more than one number."""

    def forward(self, f: Function, x: Elsewhere) -> Any:
        if x.array.size > 1:
            return NotImplemented
        f.saved = ()
        return Elsewhere(x.array + 100)

    def backward(self, f: Function, grad: Elsewhere) -> Elsewhere:
        return Elsewhere(grad.array * 100)


def test_a_registered_pair_takes_the_place_of_forward_and_backward(elsewhere: Device) -> None:
    elsewhere.pairs[lib.Exp] = Hundreds()
    x, y = moved(np.array([1.0]), requires_grad=True), leaf(0.0)
    out, here = x.exp(), y.exp()
    out.backward()
    here.backward()
    assert (out.tolist(), here.tolist()) == ([101.0], [1.0])
    assert (x.grad.tolist(), y.grad.tolist()) == ([100.0], [1.0])


def test_where_a_pair_does_not_fit_the_operation_runs_itself_both_ways(elsewhere: Device) -> None:
    elsewhere.pairs[lib.Exp] = Hundreds()
    x = moved(np.array([0.0, 0.0]), requires_grad=True)
    out = x.exp()
    out.sum().backward()
    assert (out.tolist(), x.grad.tolist()) == ([1.0, 1.0], [1.0, 1.0])


def test_the_pair_that_ran_forward_runs_backward_though_it_has_left_since(elsewhere: Device) -> None:
    elsewhere.pairs[lib.Exp] = Hundreds()
    x = moved(np.array([1.0]), requires_grad=True)
    out = x.exp()
    del elsewhere.pairs[lib.Exp]
    out.backward()
    assert x.grad.tolist() == [100.0]


# ---------------------------------------------------------------- the functions of an array module


def nodes_of_the_library() -> Iterator[ast.AST]:
    """The syntax trees of the engine, the operations and the tensor, node by node."""
    folder = Path(lib.__file__).parent
    for path in [folder.parent / "engine.py", folder.parent / "operations.py", *sorted(folder.glob("*.py"))]:
        yield from ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def test_no_operation_calls_numpy_itself() -> None:
    """Inside of forward and backward only dtypes come from `np`: the arrays may live elsewhere."""
    found = []
    for node in nodes_of_the_library():
        if isinstance(node, ast.ClassDef) and any(
            isinstance(base, ast.Name) and base.id in ("Function", "Reduction") for base in node.bases
        ):
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and method.name != "__init__":
                    found += [
                        f"{node.name}.{method.name}: np.{item.attr}"
                        for statement in method.body
                        for item in ast.walk(statement)
                        if isinstance(item, ast.Attribute)
                        and isinstance(item.value, ast.Name)
                        and item.value.id == "np"
                        and item.attr not in ("int64", "float32", "float64")
                    ]
    assert found == []
