"""Optimisers, schedules and clipping against sums worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from minilib import nn, optim, reference
from minilib.parallel import CHUNK
from minilib.tensor import Tensor, tensor

KINDS = [
    (optim.SGD, {}),
    (optim.SGD, {"momentum": 0.9}),
    (optim.SGD, {"momentum": 0.9, "nesterov": True}),
    (optim.SGD, {"momentum": 0.9, "dampening": 0.5}),
    (optim.Adam, {}),
    (optim.AdamW, {}),
]
kinds = pytest.mark.parametrize(("kind", "options"), KINDS)


def leaf(*numbers, dtype=np.float64):
    return tensor(np.array(numbers), dtype=dtype, requires_grad=True)


def steps(optimizer, parameter, gradients):
    """The parameter after a step by each of the gradients."""
    found = []
    for gradient in gradients:
        parameter.grad = tensor(np.full(parameter.shape, gradient), dtype=parameter.dtype)
        optimizer.step()
        found.append(parameter.data.copy())
    return np.array(found)


# ---------------------------------------------------------------- rules


def test_sgd_subtracts_rate_times_gradient():
    x = leaf(1.0)
    assert steps(optim.SGD([x], lr=0.1), x, [2, -1])[:, 0] == pytest.approx([0.8, 0.9])


def test_first_velocity_is_the_gradient_undampened():
    x = leaf(0.0)
    made = steps(optim.SGD([x], lr=1, momentum=0.5, dampening=0.25), x, [1, 1, 0])
    assert made[:, 0] == pytest.approx([-1, -1 - 1.25, -1 - 1.25 - 0.625])


def test_nesterov_adds_momentum_times_the_new_velocity():
    x = leaf(0.0)
    made = steps(optim.SGD([x], lr=1, momentum=0.5, nesterov=True), x, [1, 1])
    assert made[:, 0] == pytest.approx([-1.5, -1.5 - 1.75])


def test_sgd_decays_through_the_gradient():
    x = leaf(2.0)
    assert steps(optim.SGD([x], lr=0.1, weight_decay=0.5), x, [0])[0, 0] == pytest.approx(1.9)


@pytest.mark.parametrize("gradient", [1e-4, 1, -1e4])
def test_first_step_of_adam_is_the_rate_against_the_sign(gradient):
    x = leaf(0.0)
    made = steps(optim.Adam([x], lr=0.01, eps=0), x, [gradient])
    assert made[0, 0] == pytest.approx(-math.copysign(0.01, gradient))


def test_second_step_of_adam():
    x = leaf(0.0)
    made = steps(optim.Adam([x], lr=1, betas=(0.5, 0.75), eps=0.5), x, [1, -1])
    mean, square = (0.5 * 0.5 - 0.5) / 0.75, 1.0
    assert made[:, 0] == pytest.approx([-1 / 1.5, -1 / 1.5 - mean / (square + 0.5)])


def test_adamw_decays_by_rate_times_decay_whatever_the_gradient():
    small, large = leaf(1.0), leaf(1.0)
    for x, gradient in ((small, 0.0), (large, 1e6)):
        steps(optim.AdamW([x], lr=0.1, weight_decay=0.5), x, [gradient])
    assert (small.item(), large.item()) == pytest.approx((0.95, 0.85))


def test_adam_decays_through_the_gradient():
    x = leaf(1.0)
    assert steps(optim.Adam([x], lr=0.1, weight_decay=0.5), x, [0])[0, 0] == pytest.approx(0.9)


def test_descent_on_a_quadratic_multiplies_by_one_minus_rate_times_curvature():
    x = leaf(1.0, 1.0)
    optimizer = optim.SGD([x], lr=0.07)
    for _ in range(10):
        optimizer.zero_grad()
        ((x[0] ** 2 + 25 * x[1] ** 2) / 2).backward()
        optimizer.step()
    assert x.data == pytest.approx([0.93**10, (-0.75) ** 10])


def test_the_rule_in_place_is_the_formula_of_the_reference():
    rng = np.random.default_rng(0)
    expected = rng.normal(size=7)
    x, mean, square = leaf(*expected), np.zeros(7), np.zeros(7)
    optimizer = optim.Adam([x], lr=0.01, betas=(0.8, 0.95), eps=1e-4)
    for k in range(1, 21):
        grad = rng.normal(size=7)
        expected, mean, square = reference.adam(expected, grad, mean, square, k, 0.01, (0.8, 0.95), 1e-4)
        x.grad = tensor(grad)
        optimizer.step()
    np.testing.assert_allclose(x.data, expected, rtol=1e-13)


@kinds
def test_large_parameters_in_pieces_equal_small_ones(kind, options):
    rng = np.random.default_rng(1)
    start, size = rng.normal(size=5 * CHUNK + 3).astype(np.float32), 1000
    large, small = (tensor(each, requires_grad=True) for each in (start, start[-size:]))
    both = [kind([x], lr=0.01, weight_decay=0.1, **options) for x in (large, small)]
    for _ in range(3):
        grad = rng.normal(size=start.size).astype(np.float32)
        for optimizer, x, each in zip(both, (large, small), (grad, grad[-size:])):
            x.grad = tensor(each)
            optimizer.step()
    np.testing.assert_allclose(large.data[-size:], small.data, rtol=1e-6)
    assert np.mean(large.data == start) < 0.01


@kinds
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 3)])
def test_shapes_and_dtypes_stay_and_memory_too(kind, options, dtype, shape):
    x = tensor(np.ones(shape), dtype=dtype, requires_grad=True)
    memory, gradient = x.data, tensor(np.ones(shape), dtype=dtype)
    x.grad = gradient
    kind([x], lr=0.1, weight_decay=0.1, **options).step()
    assert x.data is memory and x.shape == shape and x.dtype == dtype
    assert np.all(x.data < 1)
    assert np.all(gradient.data == 1)


@kinds
def test_transposed_memory_is_written_to(kind, options):
    memory = np.arange(6.0).reshape(2, 3)
    x, y = Tensor(memory.T, requires_grad=True), leaf(*memory.T.ravel())
    for each in (x, y):
        optimizer = kind([each], lr=0.1, **options)
        steps(optimizer, each, [1, -2, 3])
    np.testing.assert_array_equal(memory.T.ravel(), y.data)


# ---------------------------------------------------------------- parameters, groups, gradients


@kinds
def test_a_parameter_without_gradient_keeps_value_and_has_no_state(kind, options):
    x, y = leaf(1.0), leaf(1.0)
    optimizer = kind([x, y], lr=0.1, weight_decay=0.5, **options)
    steps(optimizer, y, [1, 1, 1])
    assert x.item() == 1 and y.item() < 1
    assert x not in optimizer.state


def test_state_waits_while_there_is_no_gradient():
    x = leaf(1.0)
    optimizer = optim.Adam([x])
    steps(optimizer, x, [1])
    optimizer.zero_grad()
    optimizer.step()
    assert x.grad is None and optimizer.state[x]["step"] == 1


def test_groups_have_options_of_their_own():
    x, y = leaf(1.0), leaf(1.0)
    groups = [{"params": [x], "weight_decay": 0.5}, {"params": y, "lr": 1.0}]
    optimizer = optim.AdamW(groups, lr=0.1, weight_decay=0)
    x.grad, y.grad = (tensor([g], dtype=np.float64) for g in (0.0, 1.0))
    optimizer.step()
    assert (x.item(), y.item()) == pytest.approx((0.95, 0.0), abs=1e-7)


def test_a_group_can_join_later():
    x, y = leaf(1.0), leaf(1.0)
    optimizer = optim.SGD([x], lr=0.1)
    optimizer.add_param_group({"params": [y], "lr": 0.5})
    steps(optimizer, y, [1])
    assert y.item() == 0.5


def test_a_generator_of_parameters_will_do():
    x = leaf(1.0)
    assert optim.SGD(p for p in (x,)).param_groups[0]["params"] == [x]


def test_backward_through_a_weight_that_a_step_has_changed_is_refused():
    weight, x = leaf(2.0), leaf(3.0)
    y = (weight * x).sum()
    weight.grad = tensor([1.0], dtype=np.float64)
    optim.SGD([weight], lr=0.1).step()
    with pytest.raises(RuntimeError, match="in place"):
        y.backward()


def test_new_memory_under_a_parameter_is_followed():
    x = leaf(1.0)
    optimizer = optim.SGD([x], lr=1, momentum=0.5)
    steps(optimizer, x, [1])
    x.data = np.array([10.0])
    assert steps(optimizer, x, [1])[0, 0] == pytest.approx(8.5)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda x: optim.SGD([], lr=0.1), ValueError, "at least one parameter"),
        (lambda x: optim.SGD([x], lr=-1), ValueError, "lr must not be negative"),
        (lambda x: optim.SGD([x], lr=math.nan), ValueError, "lr must not be negative"),
        (lambda x: optim.SGD([x], momentum=-1), ValueError, "momentum must not be negative"),
        (lambda x: optim.AdamW([x], weight_decay=-1), ValueError, "weight_decay must not be negative"),
        (lambda x: optim.Adam([x], eps=-1), ValueError, "eps must not be negative"),
        (lambda x: optim.Adam([x], betas=(0.9, 1.0)), ValueError, "betas must be"),
        (lambda x: optim.SGD([x], nesterov=True), ValueError, "Nesterov"),
        (lambda x: optim.SGD([x], momentum=0.5, dampening=0.5, nesterov=True), ValueError, "Nesterov"),
        (lambda x: optim.SGD([x, x]), ValueError, "twice"),
        (lambda x: optim.SGD([{"params": x}, {"params": [x]}]), ValueError, "two groups"),
        (lambda x: optim.SGD([{"lr": 1}]), ValueError, "'params'"),
        (lambda x: optim.SGD([x * 2]), TypeError, "not a result of Mul"),
        (lambda x: optim.SGD([np.ones(3)]), TypeError, "not ndarray"),
        (lambda x: optim.SGD(["weight"]), TypeError, "not str"),
    ],
)
def test_what_cannot_work_is_refused_in_one_line(make, error, words):
    with pytest.raises(error, match=words) as caught:
        make(leaf(1.0))
    assert "\n" not in str(caught.value)


def test_a_gradient_of_another_shape_is_refused():
    x = leaf(1.0, 2.0)
    x.grad = tensor([1.0, 2.0], dtype=np.float64)
    x.grad.data = np.ones(1)
    with pytest.raises(ValueError, match=r"shape \(2,\) has a gradient of \(1,\)"):
        optim.SGD([x]).step()
    assert x.data.tolist() == [1, 2]


# ---------------------------------------------------------------- state


@kinds
def test_a_loaded_state_goes_on_as_if_nothing_had_been(kind, options):
    gradients = np.random.default_rng(2).normal(size=8)
    whole, first = leaf(1.0, 2.0), leaf(1.0, 2.0)
    expected = steps(kind([whole], lr=0.1, **options), whole, gradients)[-1]
    before = kind([first], lr=0.1, **options)
    steps(before, first, gradients[:4])
    second = leaf(*first.data)
    after = kind([second], lr=7.0, **options)
    after.load_state_dict(before.state_dict())
    np.testing.assert_array_equal(steps(after, second, gradients[4:])[-1], expected)


def test_a_loaded_state_is_a_copy():
    x, y = leaf(1.0), leaf(1.0)
    one, other = optim.Adam([x]), optim.Adam([y])
    steps(one, x, [1])
    other.load_state_dict(one.state_dict())
    steps(one, x, [1])
    assert other.state[y]["exp_avg"] == pytest.approx([0.1]) and other.state[y]["step"] == 1


def test_state_dict_numbers_parameters_over_groups_and_holds_nothing_else():
    x, y, z = leaf(1.0), leaf(1.0), leaf(1.0)
    optimizer = optim.SGD([{"params": [x, y]}, {"params": [z], "lr": 0.5}], lr=0.1, momentum=0.9)
    steps(optimizer, z, [1])
    state = optimizer.state_dict()
    assert [group["params"] for group in state["param_groups"]] == [[0, 1], [2]]
    assert list(state["state"]) == [2] and list(state["state"][2]) == ["momentum_buffer"]
    options = {"params", "lr", "momentum", "dampening", "weight_decay", "nesterov"}
    assert set(state["param_groups"][0]) == options


def test_sgd_without_momentum_remembers_nothing():
    x = leaf(1.0)
    optimizer = optim.SGD([x], lr=0.1)
    steps(optimizer, x, [1])
    assert optimizer.state_dict()["state"] == {}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda state: state["param_groups"].append({"params": [1]}), "groups"),
        (lambda state: state["state"][0].update(exp_avg=np.zeros(5)), "exp_avg has shape"),
        (lambda state: state["param_groups"][0].update(amsgrad=True), "amsgrad"),
        (lambda state: state["state"].update({3: {}}), r"has parameters \[0, 3\]"),
    ],
)
def test_a_state_that_does_not_fit_changes_nothing(change, words):
    x = leaf(1.0)
    optimizer = optim.Adam([x], lr=0.1)
    steps(optimizer, x, [1])
    state = optim.Adam([leaf(1.0)], lr=9.0).state_dict()
    state["state"] = {0: {"step": 5, "exp_avg": np.zeros(1), "exp_avg_sq": np.zeros(1)}}
    change(state)
    with pytest.raises(ValueError, match=words):
        optimizer.load_state_dict(state)
    assert optimizer.state[x]["step"] == 1 and optimizer.param_groups[0]["lr"] == 0.1


# ---------------------------------------------------------------- schedules


def rates(make, count, lr=1.0):
    optimizer = optim.SGD([leaf(0.0)], lr=lr)
    scheduler, found = make(optimizer), []
    for _ in range(count):
        found.append(optimizer.param_groups[0]["lr"])
        scheduler.step()
    return found


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda o: optim.LambdaLR(o, lambda step: 1 / (step + 1)), [1, 1 / 2, 1 / 3, 1 / 4]),
        (lambda o: optim.StepLR(o, 2, 0.1), [1, 1, 0.1, 0.1, 0.01]),
        (lambda o: optim.LinearLR(o, 0.5, 1.0, 2), [0.5, 0.75, 1, 1]),
        (lambda o: optim.CosineAnnealingLR(o, 4), [1, 0.5 + 0.125**0.5, 0.5, 0.5 - 0.125**0.5, 0]),
        (lambda o: optim.CosineAnnealingLR(o, 2, 0.2), [1, 0.6, 0.2]),
        (lambda o: optim.WarmupCosine(o, 3, 7), [0.25, 0.5, 0.75, 1, 0.5 + 0.125**0.5, 0.5]),
        (lambda o: optim.WarmupCosine(o, 0, 2, 0.2), [1, 0.6, 0.2, 0.2, 0.2]),
    ],
)
def test_rates_of_schedules(make, expected):
    assert rates(make, len(expected)) == pytest.approx(expected, abs=1e-12)


def test_each_group_follows_the_schedule_from_its_own_rate():
    optimizer = optim.SGD([{"params": [leaf(0.0)]}, {"params": [leaf(0.0)], "lr": 0.1}], lr=1)
    scheduler = optim.CosineAnnealingLR(optimizer, 2)
    scheduler.step()
    assert scheduler.get_last_lr() == pytest.approx([0.5, 0.05])


def test_a_schedule_goes_on_where_it_stood():
    optimizer = optim.SGD([leaf(0.0)], lr=1)
    scheduler = optim.WarmupCosine(optimizer, 2, 10)
    for _ in range(5):
        scheduler.step()
    other = optim.SGD([leaf(0.0)], lr=1)
    resumed = optim.WarmupCosine(other, 2, 10)
    other.load_state_dict(optimizer.state_dict())
    resumed.load_state_dict(scheduler.state_dict())
    for each in (scheduler, resumed):
        each.step()
    assert resumed.get_last_lr() == scheduler.get_last_lr()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda o: optim.WarmupCosine(o, 5, 5), "must end before"),
        (lambda o: optim.CosineAnnealingLR(o, 0), "at least 1"),
        (lambda o: optim.LinearLR(o, total_iters=0), "at least 1"),
        (lambda o: optim.StepLR(o, 0), "at least 1"),
    ],
)
def test_a_schedule_without_steps_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make(optim.SGD([leaf(0.0)], lr=1))


# ---------------------------------------------------------------- clipping


def with_gradients(*gradients, dtype=np.float64):
    made = [tensor(np.zeros(np.shape(g)), dtype=dtype, requires_grad=True) for g in gradients]
    for p, g in zip(made, gradients):
        p.grad = None if g is None else tensor(np.array(g), dtype=dtype)
    return made


def test_the_norm_is_of_all_gradients_as_one_vector():
    assert optim.grad_norm(with_gradients([[3.0]], None, [0.0, 4.0])) == 5


def test_clipping_shortens_all_by_one_factor_in_place_and_returns_the_norm_before():
    x, y, z = with_gradients([3.0], None, [0.0, 4.0])
    memory = z.grad.data
    assert optim.clip_grad_norm_((p for p in (x, y, z)), 1.0).item() == 5
    assert x.grad.data == pytest.approx([0.6]) and memory == pytest.approx([0, 0.8])


def test_short_gradients_stay_to_the_last_bit():
    (x,) = with_gradients([0.1, 0.2])
    optim.clip_grad_norm_(x, 1.0)
    assert x.grad.data.tolist() == [0.1, 0.2]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_norm_has_the_dtype_of_the_gradients(dtype):
    assert optim.clip_grad_norm_(with_gradients([1.0], dtype=dtype), 1.0).dtype == dtype
    assert optim.clip_grad_norm_(with_gradients(None), 1.0).item() == 0


@pytest.mark.filterwarnings("ignore:invalid value")
def test_norms_that_are_not_finite():
    x, y = with_gradients([math.inf, 1.0], [2.0])
    assert optim.clip_grad_norm_([x, y], 1.0).item() == math.inf
    assert np.isnan(x.grad.data[0]) and x.grad.data[1] == 0 and y.grad.item() == 0
    x, y = with_gradients([math.nan, 1.0], [2.0])
    assert math.isnan(optim.clip_grad_norm_([x, y], 1.0).item())
    assert np.isnan([*x.grad.data, *y.grad.data]).all()


def test_clipping_by_value_holds_each_number_in_place():
    x, y = with_gradients([-3.0, 0.5, 3.0], None)
    memory = x.grad.data
    optim.clip_grad_value_([x, y], 1.0)
    assert memory.tolist() == [-1, 0.5, 1]


def test_an_optimizer_of_a_module_says_to_take_its_parameters() -> None:
    with pytest.raises(TypeError, match=r"model\.parameters\(\)"):
        optim.SGD(nn.Linear(2, 2), lr=0.1)  # type: ignore[arg-type]
