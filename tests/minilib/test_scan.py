"""The selective scan: four ways that agree, gradients, a state that continues, and its kernels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from thinned import slow_where

from minilib import reference
from minilib.cuda import RawModule, cp, profile, simulate
from minilib.functional import scan
from minilib.functional.scan import scan_associative, scan_loop, selective_scan
from minilib.tensor import no_grad, tensor
from minilib.tensor.derivatives import gradcheck

LENGTHS = [1, 2, 31, 33, 128]
WAYS = ["loop", "chunked", "associative"]
NAMES = ["x", "delta", "A", "B", "C", "D"]


def drawn(batch=2, length=33, width=5, n=3, dtype=np.float64):
    rng = np.random.default_rng(length)
    shapes = [(batch, length, width), (batch, length, n), (batch, length, n), (width,)]
    x, B, C, D = (rng.standard_normal(shape) for shape in shapes)
    delta = np.log1p(np.exp(rng.standard_normal(x.shape) - 2))
    A = -np.exp(rng.standard_normal((width, n)))
    return [array.astype(dtype) for array in (x, delta, A, B, C, D)]


def by_definition(x, delta, A, B, C, D, state=None):
    """y and the last state, number by number."""
    y, last = np.zeros(x.shape), np.zeros((len(x), *A.shape))
    for i in range(len(x)):
        h = np.zeros(A.shape) if state is None else state[i].astype(np.float64)
        for t in range(x.shape[1]):
            h = np.exp(delta[i, t][:, None] * A) * h + np.outer(delta[i, t] * x[i, t], B[i, t])
            y[i, t] = h @ C[i, t] + D * x[i, t]
        last[i] = h
    return y, last


def run(arrays, method, seed=0):
    """y and the gradients of all inputs."""
    inputs = [tensor(array, requires_grad=True) for array in arrays]
    y = selective_scan(*inputs, method=method)
    y.backward(tensor(np.random.default_rng(seed).standard_normal(y.shape).astype(y.dtype)))
    return [y.numpy(), *(t.grad.numpy() for t in inputs)]


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("method", WAYS)
def test_each_way_gives_what_the_definition_says(method, length):
    arrays = drawn(length=length)
    with no_grad():
        y = selective_scan(*map(tensor, arrays), method=method)
    np.testing.assert_allclose(y.numpy(), by_definition(*arrays)[0], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize(("dtype", "rtol", "atol"), [("float32", 6e-4, 2e-3), ("float64", 1e-10, 1e-10)])
def test_all_ways_agree_in_value_and_gradients(length, dtype, rtol, atol):
    arrays = drawn(length=length, dtype=dtype)
    first, *others = (run(arrays, method) for method in WAYS)
    for other in others:
        for name, one, two in zip(["y", *NAMES], first, other):
            assert two.dtype == dtype
            np.testing.assert_allclose(two, one, rtol, atol, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "rtol", "atol"), [("float32", 6e-4, 2e-3), ("float64", 1e-10, 1e-10)])
def test_4096_tokens_agree_and_nothing_is_nan(dtype, rtol, atol):
    arrays = drawn(1, 4096, 8, 16, dtype)
    first, *others = (run(arrays, method) for method in WAYS)
    assert all(np.isfinite(array).all() for array in first)
    for other in others:
        for name, one, two in zip(["y", *NAMES], first, other):
            np.testing.assert_allclose(two, one, rtol, atol * max(1, np.abs(one).max()), err_msg=name)


@pytest.mark.parametrize("method", WAYS)
@pytest.mark.parametrize("length", slow_where([1, 5, 34], lambda length: length > 5))
def test_gradients_are_difference_quotients(method, length):
    inputs = [tensor(array, requires_grad=True) for array in drawn(2, length, 2, 2)]
    assert gradcheck(lambda *args: selective_scan(*args, method=method), inputs)


@pytest.mark.parametrize("numbers", [1, 64 * 3 * 4, 64 * 3 * 7 * 2, 64 * 3 * 7 * 4])
def test_pieces_of_channels_and_of_samples_change_nothing(monkeypatch, numbers):
    """Single channels, four of seven, two samples, four of nine: the last piece is the smaller one."""
    monkeypatch.setattr(scan, "BLOCK", numbers)
    arrays = drawn(9, 150, 7, 3)
    for one, two in zip(run(arrays, "chunked"), run(arrays, "loop")):
        np.testing.assert_allclose(one, two, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("method", WAYS)
@pytest.mark.parametrize("cut", [0, 1, 20, 32, 50])
def test_a_sequence_continued_in_two_halves_equals_the_whole(method, cut):
    x, delta, A, B, C, D = drawn(length=50)
    state = np.zeros((2, 5, 3))
    halves = []
    with no_grad():
        for part in (slice(0, cut), slice(cut, None)):
            pieces = (x[:, part], delta[:, part], A, B[:, part], C[:, part], D)
            halves.append(selective_scan(*map(tensor, pieces), state=state, method=method).numpy())
    y, last = by_definition(x, delta, A, B, C, D)
    np.testing.assert_allclose(np.concatenate(halves, 1), y, rtol=1e-10)
    np.testing.assert_allclose(state, last, rtol=1e-10)


@pytest.mark.parametrize("method", [*WAYS, "kernel"])
@pytest.mark.parametrize("shape", [(2, 0), (0, 4)])
def test_no_tokens_or_no_samples_give_empty_arrays_and_gradients(method, shape):
    found = run(drawn(*shape, dtype="float32"), method)
    assert found[0].shape == (*shape, 5)
    assert [array.shape for array in found[1:]] == [array.shape for array in drawn(*shape)]
    assert not any(array.any() for array in found)


@pytest.mark.parametrize("method", WAYS)
def test_without_D_nothing_passes_by_the_state(method):
    x, delta, A, B, C, D = drawn()
    inputs = [tensor(array, requires_grad=True) for array in (x, delta, A, B, C)]
    y = selective_scan(*inputs, None, method=method)
    np.testing.assert_allclose(y.numpy(), by_definition(x, delta, A, B, C, 0 * D)[0], rtol=1e-10, atol=1e-12)
    y.sum().backward()
    assert all(t.grad is not None for t in inputs)


@pytest.mark.parametrize("size", [1, 7, 32, 100])
@pytest.mark.parametrize("method", WAYS)
def test_samples_side_by_side_equal_one_after_the_other_by_the_reference(method, size):
    x, delta, A, B, C, _ = drawn(3, 70)
    dy, before = np.random.default_rng(1).standard_normal(x.shape), np.zeros(A.shape)
    inputs = [tensor(array, requires_grad=True) for array in (x, delta, A, B, C)]
    y = selective_scan(*inputs, method=method)
    y.backward(tensor(dy))
    grads = []
    for i, one in enumerate(zip(x, delta, [A] * 3, B, C)):
        right, carried = reference.sample_forward(*one, before, size)
        np.testing.assert_allclose(y.numpy()[i], right, rtol=1e-10, atol=1e-12)
        grads.append(reference.sample_backward(dy[i], *one, carried, size))
    for k, (t, parts) in enumerate(zip(inputs, zip(*grads), strict=True)):
        summed = sum(parts) if NAMES[k] == "A" else np.stack(parts)  # A is the same for all samples
        np.testing.assert_allclose(t.grad.numpy(), summed, rtol=1e-9, atol=1e-10, err_msg=NAMES[k])


def test_what_is_kept_for_backward_is_no_array_of_all_states():
    inputs = [tensor(array, requires_grad=True) for array in drawn(2, 256, 64, 16)]
    for method in WAYS:
        kept = selective_scan(*inputs, method=method).function.saved
        assert max(array.size for array in kept) <= 2 * 256 * 64 * 16 / 16


def test_inputs_that_lie_otherwise_in_memory_give_the_same():
    arrays = drawn()
    turned = [np.asfortranarray(array) for array in arrays]
    for one, two in zip(run(arrays, "chunked"), run(turned, "chunked")):
        np.testing.assert_allclose(one, two, rtol=1e-12)


def test_inputs_are_left_as_they_were():
    arrays = drawn()
    kept = [array.copy() for array in arrays]
    for method in WAYS:
        run(arrays, method)
    assert all((one == two).all() for one, two in zip(kept, arrays))


@pytest.mark.parametrize("length", [0, 1, 2, 7, 8, 100])
def test_the_tree_equals_the_loop_and_leaves_a_alone(length):
    rng = np.random.default_rng(length)
    a, b, before = rng.uniform(-1, 1, (length, 3)), rng.standard_normal((length, 3)), rng.standard_normal(3)
    kept = a.copy()
    np.testing.assert_allclose(scan_associative(a, b.copy(), before), scan_loop(a, b.copy(), before))
    assert (a == kept).all()


def test_plain_numbers_are_scanned_too():
    a, b = np.array([5.0, 2, 0, 1]), np.array([1.0, 1, 1, 1])
    assert scan_loop(a, b.copy()).tolist() == scan_associative(a, b.copy()).tolist() == [1, 3, 1, 2]
    assert scan_loop(a, b, 2.0).tolist() == [11, 23, 1, 2] == b.tolist()


# What does not fit


def refused(match, *replaced, error=RuntimeError, **options):
    inputs = [tensor(array) for array in drawn()]
    for i, made in replaced:
        inputs[i] = made(inputs[i]) if callable(made) else made
    with pytest.raises(error, match=match) as caught:
        selective_scan(*inputs, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("i", range(6))
def test_a_shape_that_does_not_fit_is_told_with_all_shapes(i):
    refused(r"needs x and delta \(B, T, E\), A \(E, N\).*, not ", (i, lambda t: t[..., :-1]))
    refused(r"needs x and delta \(B, T, E\), A \(E, N\).*, not ", (i, lambda t: t.unsqueeze(0)))


def test_dtypes_that_differ_or_are_no_floats_are_told():
    refused("needs floats of one dtype, not float64, float32", (1, lambda t: t.float()))
    refused("needs floats of one dtype, not int64, float64", (0, lambda t: t.long()))


def test_a_method_that_does_not_exist_is_told_with_those_that_do():
    refused("method is one of .*'kernel'.* not 'fast'", error=ValueError, method="fast")


def test_a_state_that_does_not_fit_or_that_would_need_a_gradient_is_told():
    refused(r"state must be \(2, 5, 3\) of float64, not \(2, 3, 5\)", state=np.zeros((2, 3, 5)))
    refused(r"state must be .* of float32", state=np.zeros((2, 5, 3), np.float32))
    state = np.zeros((2, 5, 3))
    refused("no gradient flows into `state`", (0, lambda t: t.requires_grad_()), state=state)


def test_the_kernel_says_which_dtypes_and_sizes_it_takes():
    refused("the kernel takes float32 and at most 32 numbers a state, not float64 and 3", method="kernel")


# The kernels


@pytest.mark.thorough
@pytest.mark.parametrize(
    "sizes",
    [(1, 1, 1, 1), (2, 2, 9, 3), (1, 31, 3, 2), (1, 33, 5, 3), (1, 128, 3, 2), (1, 4096, 1, 2)],
    ids=str,
)
def test_the_kernels_give_the_loops_values_and_gradients(sizes):
    arrays = drawn(*sizes, dtype="float32")
    for name, one, two in zip(["y", *NAMES], run(arrays, "loop"), run(arrays, "kernel")):
        np.testing.assert_allclose(two, one, 6e-4, 2e-3, err_msg=name)


@pytest.mark.slow
def test_the_kernel_continues_a_sequence():
    x, delta, A, B, C, D = drawn(length=40, dtype="float32")
    state, halves = np.zeros((2, 5, 3), np.float32), []
    with no_grad():
        for part in (slice(0, 33), slice(33, None)):
            pieces = (x[:, part], delta[:, part], A, B[:, part], C[:, part], D)
            halves.append(selective_scan(*map(tensor, pieces), state=state, method="kernel").numpy())
    y, last = by_definition(x, delta, A, B, C, D)
    np.testing.assert_allclose(np.concatenate(halves, 1), y, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(state, last, rtol=1e-4, atol=1e-4)


def launches(batch=1, length=40, width=9, n=4):
    """Both kernels with their arguments, and what they should have made, by place."""
    arrays = drawn(batch, length, width, n, "float32")[:5]
    module = RawModule(code=(Path(scan.__file__).parents[1] / "kernels" / "scan.cu").read_text())
    inputs, sizes = [cp.asarray(array) for array in arrays], tuple(np.int32([length, width, n]))
    chunks = -(-length // 32)
    y, carried = (
        cp.zeros((batch, length, width), np.float32),
        cp.zeros((batch, chunks + 1, width, n), np.float32),
    )
    grid, block = (-(-width // 8), batch), (32, 8)
    yield (
        module.get_function("scan_forward"),
        grid,
        block,
        (*inputs, y, carried, *sizes),
        128 * (18 + 2 * (n + 1)),
    )
    tensors = [tensor(array, requires_grad=True) for array in arrays]
    selective_scan(*tensors, None).sum().backward()
    grads = [cp.zeros(array.shape, np.float32) for array in inputs]
    args = (cp.ones_like(y), *inputs, carried, *grads, *sizes)
    yield module.get_function("scan_backward"), grid, block, args, 128 * (27 + 4 * (n + 1))
    for grad, t in zip(grads, tensors):
        np.testing.assert_allclose(cp.asnumpy(grad), t.grad.numpy(), 6e-4, 2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("schedule", ["lockstep", "forward", "reverse"])
def test_the_kernels_are_right_in_every_order_of_their_warps(schedule):
    for kernel, grid, block, args, shared in launches():
        simulate(kernel, grid, block, args, shared_mem=shared, schedule=schedule)


@pytest.mark.slow
def test_the_kernels_have_no_finding():
    for kernel, grid, block, args, shared in launches():
        report = profile(kernel, grid, block, args, shared_mem=shared)
        assert report.ok, report
        for array, after in zip(args, report.outputs):
            if hasattr(array, "shape") and np.ndim(after):
                array[...] = cp.asarray(after)
