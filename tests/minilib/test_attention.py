"""Causal attention: what it says of the past, what it must not know, and how it says no.

That it equals loops in float64, and difference quotients, is held by its lines in `functional_cases`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from functional_cases import np_attention

from minilib import functional as F
from minilib import reference
from minilib.functional.attention import attend, attend_backward, future
from minilib.tensor import Generator, Tensor, gradcheck, manual_seed

rng = np.random.default_rng(0)


def drawn(*shape: int, dtype: Any = np.float64) -> Any:
    return rng.normal(size=shape).astype(dtype)


def three(t: int, s: int, d: int = 4, lead: tuple[int, ...] = (), dtype: Any = np.float64) -> list[Any]:
    """Queries (.., t, d), keys and values (.., s, d)."""
    return [drawn(*lead, n, d, dtype=dtype) for n in (t, s, s)]


def by_loops(q: Any, k: Any, v: Any, mask: Any = None) -> tuple[Any, Any]:
    """Outputs and weights of one head, a number at a time, in float64."""
    (t, d), s = q.shape, len(k)
    weights = np.zeros((t, s))
    for i in range(t):
        seen = range(s - t + i + 1)
        scores = [sum(float(q[i, c]) * float(k[j, c]) for c in range(d)) / math.sqrt(d) for j in seen]
        shares = [math.exp(x - max(scores)) for x in scores]
        for j in seen:
            weights[i, j] = shares[j] / sum(shares)
    kept = weights if mask is None else weights * mask
    return np.array([[sum(kept[i] * v[:, c]) for c in range(v.shape[1])] for i in range(t)]), weights


def slopes(f: Any, arrays: list[Any], grad: Any, step: float = 1e-6) -> list[Any]:
    """The gradient of sum(f(*arrays) * grad) by difference quotients."""
    found = []
    for array in arrays:
        slope = np.zeros_like(array)
        for place in np.ndindex(array.shape):
            kept, ends = array[place], []
            for sign in (1, -1):
                array[place] = kept + sign * step
                ends.append((f(*arrays) * grad).sum())
            array[place], slope[place] = kept, (ends[0] - ends[1]) / (2 * step)
        found.append(slope)
    return found


SIZES = [(1, 1), (5, 5), (1, 6), (3, 7), (64, 64)]


@pytest.mark.parametrize(("t", "s"), SIZES)
@pytest.mark.parametrize("dropped", [False, True], ids=["", "dropped"])
def test_attend_equals_loops(t: int, s: int, dropped: bool) -> None:
    q, k, v = three(t, s)
    mask = (rng.random((t, s)) < 0.7) / 0.7 if dropped else None
    for got, expected in zip(attend(q, k, v, mask), by_loops(q, k, v, mask)):
        np.testing.assert_allclose(got, expected, atol=1e-12)


def test_attend_in_float32_is_near_the_loops_and_stays_float32() -> None:
    q, k, v = three(9, 12, dtype=np.float32)
    out, weights = attend(q, k, v)
    assert (out.dtype, weights.dtype) == (np.float32, np.float32)
    np.testing.assert_allclose(out, by_loops(q, k, v)[0], atol=1e-6)


@pytest.mark.parametrize(("t", "s"), [(1, 1), (4, 4), (2, 5)])
@pytest.mark.parametrize("dropped", [False, True], ids=["", "dropped"])
def test_attend_backward_equals_difference_quotients(t: int, s: int, dropped: bool) -> None:
    qkv, grad = three(t, s, 3), drawn(t, 3)
    mask = (rng.random((t, s)) < 0.5) / 0.5 if dropped else None
    got = attend_backward(grad, *qkv, *attend(*qkv, mask), mask)
    expected = slopes(lambda q, k, v: by_loops(q, k, v, mask)[0], qkv, grad)
    for a, b in zip(got, expected):
        np.testing.assert_allclose(a, b, atol=1e-8)


@pytest.mark.parametrize("lead", [(3,), (2, 3)], ids=["heads", "samples and heads"])
def test_many_heads_at_once_are_each_head_alone(lead: tuple[int, ...]) -> None:
    qkv, grad = three(4, 6, lead=lead), drawn(*lead, 4, 4)
    out, weights = attend(*qkv)
    together = [out, weights, *attend_backward(grad, *qkv, out, weights)]
    for at in np.ndindex(lead):
        one = [x[at] for x in qkv]
        alone = attend(*one)
        for a, b in zip(together, [*alone, *attend_backward(grad[at], *one, *alone)]):
            np.testing.assert_allclose(a[at], b, atol=1e-12)


def test_inputs_are_left_as_they_are() -> None:
    qkv, grad, mask = three(3, 5), drawn(3, 4), np.ones((3, 5))
    given = [*qkv, grad, mask]
    kept = [x.copy() for x in given]
    out, weights = attend(*qkv, mask)
    results = [out.copy(), weights.copy()]
    attend_backward(grad, *qkv, out, weights, mask)
    for before, after in zip([*kept, *results], [*given, out, weights]):
        assert (before == after).all()


def test_arrays_that_lie_otherwise_in_memory_give_the_same() -> None:
    qkv, grad = three(4, 6, 8), drawn(4, 8)
    expected = [*attend(*qkv), *attend_backward(grad, *qkv, *attend(*qkv))]
    laid = [np.asfortranarray(qkv[0]), np.repeat(qkv[1], 2, 0)[::2], qkv[2][::-1].copy()[::-1]]
    got = [*attend(*laid), *attend_backward(np.asfortranarray(grad), *laid, *attend(*laid))]
    for a, b in zip(got, expected):
        np.testing.assert_allclose(a, b, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_scores_do_not_overflow(dtype: Any) -> None:
    q, k, v = three(4, 4, dtype=dtype)
    with np.errstate(all="raise", under="ignore"):
        out, weights = attend(q * 1e4, k, v)
        grads = attend_backward(np.ones_like(out), q * 1e4, k, v, out, weights)
    np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-6)
    assert all(np.isfinite(grad).all() for grad in grads)


def test_one_position_says_what_it_holds() -> None:
    q, k, v = three(1, 1)
    out, weights = attend(q, k, v)
    assert (out == v).all() and weights == 1


def test_equal_scores_give_the_mean_of_all_so_far() -> None:
    v = drawn(5, 3)
    out, _ = attend(np.zeros((5, 3)), drawn(5, 3), v)
    np.testing.assert_allclose(out, v.cumsum(0) / np.arange(1, 6)[:, None], atol=1e-12)


@pytest.mark.parametrize(("t", "s"), [(1, 1), (3, 3), (2, 5)])
def test_future_is_minus_infinity_where_one_would_look_ahead(t: int, s: int) -> None:
    table = future(t, s, np.dtype(np.float64))
    for i, j in np.ndindex(t, s):
        assert table[i, j] == (-math.inf if j > s - t + i else 0)


# As one operation


@pytest.mark.parametrize("packed", [False, True], ids=["apart", "packed"])
def test_what_comes_later_changes_nothing_before(packed: bool) -> None:
    x = drawn(2, 6, 12)
    other = x.copy()
    other[:, 4:] = 1e3 * drawn(2, 2, 12)

    def look(x: Any) -> Any:
        parts = [Tensor(x)] if packed else [Tensor(part) for part in np.split(x, 3, 2)]
        return (F.causal_self_attention if packed else F.causal_attention)(*parts, 2).data

    before, after = look(x), look(other)
    assert (before[:, :4] == after[:, :4]).all()
    assert not np.allclose(before[:, 4:], after[:, 4:])


def test_nothing_flows_back_from_the_past_to_the_future() -> None:
    x = Tensor(drawn(1, 5, 6), requires_grad=True)
    (F.causal_self_attention(x, 1)[:, :3] ** 2).sum().backward()
    assert (x.grad.data[:, 3:] == 0).all() and (x.grad.data[:, :3] != 0).any()


def test_packed_and_apart_are_the_same() -> None:
    packed = Tensor(drawn(2, 5, 12), requires_grad=True)
    parts = [Tensor(part.copy(), requires_grad=True) for part in np.split(packed.data, 3, 2)]
    grad = Tensor(drawn(2, 5, 4))
    outs = [F.causal_self_attention(packed, 2), F.causal_attention(*parts, 2)]
    for out in outs:
        (out * grad).sum().backward()
    np.testing.assert_allclose(outs[0].data, outs[1].data, atol=1e-12)
    np.testing.assert_allclose(packed.grad.data, np.concatenate([p.grad.data for p in parts], 2), atol=1e-12)


@pytest.mark.parametrize("n_head", [1, 2, 4])
def test_a_batch_is_its_samples_and_a_sequence_its_last_positions(n_head: int) -> None:
    q, k, v = three(6, 6, 8, lead=(3,))
    whole = F.causal_attention(Tensor(q), Tensor(k), Tensor(v), n_head).data
    np.testing.assert_allclose(whole, np_attention(q, k, v, n_head), atol=1e-12)
    for b in range(3):
        last = [Tensor(x[b : b + 1]) for x in (q[:, 4:], k, v)]
        np.testing.assert_allclose(F.causal_attention(*last, n_head).data, whole[b : b + 1, 4:], atol=1e-12)


def test_tensors_that_are_no_block_of_memory_are_welcome() -> None:
    q, k, v = (Tensor(drawn(4, 2, 6).swapaxes(0, 1), requires_grad=True) for _ in range(3))
    assert gradcheck(lambda q, k, v: F.causal_attention(q, k, v, 3), (q, k, v))


def test_with_dropout_the_gradient_is_that_of_the_weights_that_were_kept() -> None:
    def look(x: Tensor) -> Tensor:
        return F.causal_self_attention(x, 2, 0.5, True, Generator().manual_seed(3))

    assert gradcheck(look, (Tensor(drawn(2, 4, 12), requires_grad=True),))


def test_dropout_drops_weights_in_training_alone_and_keeps_the_mean() -> None:
    ones = [Tensor(np.zeros((1, 400, 1))), Tensor(np.zeros((1, 400, 1))), Tensor(np.ones((1, 400, 1)))]
    manual_seed(0)
    dropped = F.causal_attention(*ones, 1, 0.5).data
    assert abs(dropped.mean() - 1) < 0.05 and dropped.std() > 0.05
    assert (F.causal_attention(*ones, 1, 0.5, training=False).data.round(12) == 1).all()
    assert (F.causal_attention(*ones, 1, 1.0).data == 0).all()


WRONG: dict[str, Any] = {
    "(B, T, 3 C)": lambda: F.causal_self_attention(Tensor(drawn(4, 6)), 1),
    "a multiple of 4 heads": lambda: F.causal_self_attention(Tensor(drawn(1, 4, 18)), 4),
    "a multiple of 2 heads": lambda: F.causal_attention(*[Tensor(drawn(1, 4, 3))] * 3, 2),
    "T <= S": lambda: F.causal_attention(Tensor(drawn(1, 4, 2)), *[Tensor(drawn(1, 3, 2))] * 2, 1),
    "not (1, 3, 2), (2, 3, 2)": lambda: F.causal_attention(
        Tensor(drawn(1, 3, 2)), *[Tensor(drawn(2, 3, 2))] * 2, 1
    ),
    "not (3, 2), (3, 2), (3, 2)": lambda: F.causal_attention(*[Tensor(drawn(3, 2))] * 3, 1),
    "not int64": lambda: F.causal_self_attention(Tensor(np.zeros((1, 2, 3), np.int64)), 1),
    "not float32, float64": lambda: F.causal_attention(
        *[Tensor(drawn(1, 3, 2).astype(dtype)) for dtype in ("float32", "float64", "float64")], 1
    ),
}


@pytest.mark.parametrize("said", WRONG)
def test_wrong_shapes_are_told(said: str) -> None:
    with pytest.raises(RuntimeError) as error:
        WRONG[said]()
    assert said in str(error.value) and "\n" not in str(error.value)


def test_no_head_is_told() -> None:
    with pytest.raises(ValueError, match="n_head must be at least 1, and is 0"):
        F.causal_self_attention(Tensor(drawn(1, 2, 3)), 0)


@pytest.mark.parametrize("shape", [(0, 3, 6), (2, 0, 6)])
def test_nothing_gives_nothing(shape: tuple[int, ...]) -> None:
    x = Tensor(np.zeros(shape), requires_grad=True)
    y = F.causal_self_attention(x, 2)
    y.sum().backward()
    assert (y.shape, x.grad.shape) == ((*shape[:2], 2), shape)


@pytest.mark.parametrize("p", [-0.1, 1.5])
def test_a_probability_that_is_none_is_told(p: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        F.causal_self_attention(Tensor(drawn(1, 2, 3)), 1, p)


# The simple version


@pytest.mark.parametrize(("t", "s"), [(1, 1), (1, 7), (6, 6), (3, 7)])
def test_one_operation_equals_the_chain(t: int, s: int) -> None:
    grad, results = drawn(2, t, 4), []
    arrays = three(t, s, lead=(2,))
    mask = Tensor(future(t, s, np.dtype(np.float64)))
    for f in (
        lambda q, k, v: F.causal_attention(q, k, v, 1),
        lambda q, k, v: reference.chain_attention(q, k, v, mask),
    ):
        inputs = [Tensor(x, requires_grad=True) for x in arrays]
        out = f(*inputs)
        (out * Tensor(grad)).sum().backward()
        results.append([out.data, *[x.grad.data for x in inputs]])
    for a, b in zip(*results):
        np.testing.assert_allclose(a, b, atol=1e-12)
