"""minilib.optim and PyTorch's optimisers, schedules and clipping, over 20 steps on the same gradients."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from minilib import optim
from minilib.tensor import Tensor, tensor
from parity.peer import torch

SHAPES = [(3, 4), (5,), ()]
STEPS = 20
SGD_OPTIONS = [
    {"momentum": momentum, "dampening": dampening, "weight_decay": decay, "nesterov": nesterov}
    for momentum, dampening, decay, nesterov in itertools.product((0, 0.9), (0, 0.3), (0, 0.1), (False, True))
    if not nesterov or (momentum and not dampening)
]
ADAM_OPTIONS = [
    {"betas": betas, "eps": eps, "weight_decay": decay}
    for betas, eps, decay in itertools.product(((0.9, 0.999), (0.5, 0.8)), (1e-8, 1e-2), (0, 0.1))
]
CASES = [
    *(("SGD", options) for options in SGD_OPTIONS),
    *((name, options) for name in ("Adam", "AdamW") for options in ADAM_OPTIONS),
]
cases = pytest.mark.parametrize(("name", "options"), CASES)
dtypes = pytest.mark.parametrize("dtype", ["float32", "float64"])


def starts(dtype: str) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=shape).astype(dtype) for shape in SHAPES]


def gradients(step: int, dtype: str) -> list[np.ndarray | None]:
    """One for each parameter; in some steps the second has none."""
    rng = np.random.default_rng(100 + step)
    made: list[Any] = [rng.normal(size=shape).astype(dtype) for shape in SHAPES]
    return [made[0], None if step % 5 == 3 else made[1], made[2]]


def parameters(dtype: str) -> tuple[list[Tensor], list[Any]]:
    ours = [tensor(x, requires_grad=True) for x in starts(dtype)]
    return ours, [torch.tensor(x, requires_grad=True) for x in starts(dtype)]


def run(ours: Any, theirs: Any, params: Any, numbers: range, dtype: str) -> None:
    """Steps of both, which must agree after each."""
    for step in numbers:
        for mine, peer, grad in zip(*params, gradients(step, dtype)):
            mine.grad = None if grad is None else tensor(grad)
            peer.grad = None if grad is None else torch.tensor(grad)
        ours.step()
        theirs.step()
        assert_same(params)


def assert_same(params: Any) -> None:
    for mine, peer in zip(*params):
        np.testing.assert_allclose(mine.data, peer.detach().numpy(), rtol=1e-6, atol=1e-6)


@cases
@dtypes
def test_twenty_steps_equal(name: str, options: dict[str, Any], dtype: str) -> None:
    params = parameters(dtype)
    ours, theirs = (
        getattr(library, name)(each, lr=0.05, **options)
        for library, each in zip((optim, torch.optim), params)
    )
    run(ours, theirs, params, range(STEPS), dtype)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_defaults_equal(name: str) -> None:
    params = parameters("float64")
    ours, theirs = (getattr(library, name)(each) for library, each in zip((optim, torch.optim), params))
    run(ours, theirs, params, range(STEPS), "float64")


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_groups_equal(name: str) -> None:
    params = parameters("float64")
    ours, theirs = (
        getattr(library, name)(
            [{"params": each[:1], "weight_decay": 0.2}, {"params": each[1:], "lr": 0.01}], lr=0.1
        )
        for library, each in zip((optim, torch.optim), params)
    )
    run(ours, theirs, params, range(STEPS), "float64")


@cases
def test_a_state_of_pytorch_is_gone_on_with_here(name: str, options: dict[str, Any]) -> None:
    params = parameters("float64")
    ours, theirs = (
        getattr(library, name)(each, lr=0.05, **options)
        for library, each in zip((optim, torch.optim), params)
    )
    run(ours, theirs, params, range(5), "float64")
    fresh = getattr(optim, name)(params[0], lr=9.0)
    fresh.load_state_dict(theirs.state_dict())
    run(fresh, theirs, params, range(5, 10), "float64")


@cases
def test_a_state_from_here_is_gone_on_with_in_pytorch(name: str, options: dict[str, Any]) -> None:
    params = parameters("float64")
    ours, theirs = (
        getattr(library, name)(each, lr=0.05, **options)
        for library, each in zip((optim, torch.optim), params)
    )
    run(ours, theirs, params, range(5), "float64")
    fresh = getattr(torch.optim, name)(params[1], lr=9.0)
    fresh.load_state_dict(as_torch(ours.state_dict()))
    run(ours, fresh, params, range(5, 10), "float64")


def as_torch(state: dict[str, Any]) -> dict[str, Any]:
    """The same layout with tensors for numbers and arrays."""
    return {
        "state": {
            i: {key: torch.tensor(value, dtype=torch.float64) for key, value in values.items()}
            for i, values in state["state"].items()
        },
        "param_groups": state["param_groups"],
    }


def test_state_dicts_have_the_same_keys() -> None:
    params = parameters("float64")
    for name, options in (("SGD", {"momentum": 0.9}), ("SGD", {}), ("AdamW", {})):
        ours, theirs = (
            getattr(library, name)(each, lr=0.05, **options)
            for library, each in zip((optim, torch.optim), params)
        )
        run(ours, theirs, parameters("float64"), range(0), "float64")
        for mine, peer, grad in zip(*params, gradients(0, "float64")):
            mine.grad, peer.grad = tensor(grad), torch.tensor(grad)
        ours.step()
        theirs.step()
        mine, peer = ours.state_dict(), theirs.state_dict()
        assert {i: set(v) for i, v in mine["state"].items()} == {i: set(v) for i, v in peer["state"].items()}
        assert set(mine["param_groups"][0]) <= set(peer["param_groups"][0])


def warm_up_in_pytorch(optimizer: Any, warmup: int, total: int, low: float) -> Any:
    schedule = torch.optim.lr_scheduler
    up = schedule.LinearLR(optimizer, start_factor=1 / (warmup + 1), total_iters=warmup)
    down = schedule.CosineAnnealingLR(optimizer, total - warmup, low)
    return schedule.SequentialLR(optimizer, [up, down], milestones=[warmup])


SCHEDULES = {
    "LambdaLR": (lambda lib, o: lib.LambdaLR(o, lambda step: 0.9**step)),
    "StepLR": (lambda lib, o: lib.StepLR(o, 3, 0.5)),
    "StepLR, default": (lambda lib, o: lib.StepLR(o, step_size=7)),
    "LinearLR": (lambda lib, o: lib.LinearLR(o)),
    "LinearLR down": (lambda lib, o: lib.LinearLR(o, 1.0, 0.25, 12)),
    "CosineAnnealingLR": (lambda lib, o: lib.CosineAnnealingLR(o, 20)),
    "CosineAnnealingLR, past its end": (lambda lib, o: lib.CosineAnnealingLR(o, 8, 0.01)),
    "a line and steps": lambda lib, o: [lib.LinearLR(o, 0.25, 1.0, 6), lib.StepLR(o, 4, 0.5)],
    "a cosine and steps": lambda lib, o: [lib.CosineAnnealingLR(o, 30), lib.StepLR(o, 4, 0.5)],
    "a warm-up and a cosine above 0": lambda lib, o: [
        lib.LinearLR(o, 0.1, 1.0, 5),
        lib.CosineAnnealingLR(o, 30, 0.001),
    ],
    "a cosine beyond its end and steps": lambda lib, o: [lib.CosineAnnealingLR(o, 5), lib.StepLR(o, 9, 0.5)],
    "steps and a function, which overrules": lambda lib, o: [
        lib.StepLR(o, 4, 0.5),
        lib.LambdaLR(o, lambda step: 0.9**step),
    ],
    "the same twice": lambda lib, o: [lib.StepLR(o, 4, 0.5), lib.StepLR(o, 3, 0.5)],
}


def listed(made: Any) -> list[Any]:
    return made if isinstance(made, list) else [made]


def advanced(optimizer: Any, schedulers: list[Any]) -> list[float]:
    """The rates of a step, which is then done."""
    found = [float(group["lr"]) for group in optimizer.param_groups]
    optimizer.step()
    for scheduler in schedulers:
        scheduler.step()
    return found


def rates(make: Any, optimizer: Any) -> list[list[float]]:
    schedulers = listed(make(optimizer))
    return [advanced(optimizer, schedulers) for _ in range(STEPS)]


def both(make: Any, rates: Any = rates) -> tuple[list[list[float]], list[list[float]]]:
    groups = [[{"params": each[:1]}, {"params": each[1:], "lr": 0.02}] for each in parameters("float64")]
    ours = rates(lambda o: make(optim, o), optim.SGD(groups[0], lr=0.1))
    return ours, rates(lambda o: make(torch.optim.lr_scheduler, o), torch.optim.SGD(groups[1], lr=0.1))


@pytest.mark.parametrize("name", SCHEDULES)
def test_rates_equal(name: str) -> None:
    ours, theirs = both(SCHEDULES[name])
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("name", SCHEDULES)
def test_rates_equal_after_one_was_set_by_hand(name: str) -> None:
    def by_hand(make: Any, optimizer: Any) -> list[list[float]]:
        schedulers, found = listed(make(optimizer)), []
        for step in range(STEPS):
            if step in (6, 13):
                optimizer.param_groups[0]["lr"] = 0.03 * step
            found.append(advanced(optimizer, schedulers))
        return found

    ours, theirs = both(SCHEDULES[name], by_hand)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-12)


JOINABLE = [name for name in SCHEDULES if not any(word in name for word in ("Lambda", "overrules", "end"))]


@pytest.mark.parametrize("name", JOINABLE)  # PyTorch's cosine cannot take a group at its end, LambdaLR never
def test_rates_equal_after_a_group_has_joined(name: str) -> None:

    def joined(make: Any, optimizer: Any) -> list[list[float]]:
        schedulers, found = listed(make(optimizer)), []
        for step in range(STEPS):
            if step == 5:
                fresh = torch.zeros(2) if isinstance(optimizer, torch.optim.Optimizer) else tensor([0.0, 0.0])
                optimizer.add_param_group({"params": [fresh.requires_grad_()], "lr": 0.07})
            found.append(advanced(optimizer, schedulers))
        return found

    ours, theirs = both(SCHEDULES[name], joined)
    for mine, peer in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, peer, rtol=1e-6, atol=1e-12)


def test_a_group_that_joins_a_lambda_is_refused() -> None:
    for library, schedules in ((optim, optim), (torch.optim, torch.optim.lr_scheduler)):
        leaves = parameters("float64")[library is torch.optim]
        optimizer = library.SGD(leaves[:1], lr=0.1)
        scheduler = schedules.LambdaLR(optimizer, lambda step: 0.5)
        optimizer.add_param_group({"params": leaves[1:]})
        optimizer.step()
        with pytest.raises((ValueError, KeyError)):
            scheduler.step()


def test_a_schedule_that_comes_after_another_goes_on_from_its_rate() -> None:
    def one_after_the_other(make: Any, optimizer: Any) -> list[list[float]]:
        library = optim if isinstance(optimizer, optim.Optimizer) else torch.optim.lr_scheduler
        first = [library.StepLR(optimizer, 2, 0.5)]
        found = [advanced(optimizer, first) for _ in range(5)]
        second = [library.CosineAnnealingLR(optimizer, 6)]
        return found + [advanced(optimizer, second) for _ in range(6)]

    ours, theirs = both(None, one_after_the_other)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("factors", [(0.0, 1.0), (1.5, 1.0), (0.5, -0.1), (0.5, 1.1)])
def test_factors_of_a_line_are_refused_alike(factors: tuple[float, float]) -> None:
    for library, schedules in ((optim, optim), (torch.optim, torch.optim.lr_scheduler)):
        optimizer = library.SGD(parameters("float64")[library is torch.optim], lr=0.1)
        with pytest.raises(ValueError):
            schedules.LinearLR(optimizer, *factors)


def test_zero_grad_may_fill_with_zeros() -> None:
    params = parameters("float64")
    for library, each in zip((optim, torch.optim), params):
        make = tensor if library is optim else torch.tensor
        each[0].grad, kept = make(np.ones((3, 4))), each[0].grad
        kept = each[0].grad
        library.SGD(each, lr=0.1).zero_grad(set_to_none=False)
        assert each[0].grad is kept and not np.asarray(kept.tolist()).any() and each[1].grad is None
        library.SGD(each, lr=0.1).zero_grad(set_to_none=True)
        assert each[0].grad is None


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_warm_up_and_cosine_is_a_line_and_then_a_cosine() -> None:
    ours, theirs = both(
        lambda lib, o: (
            optim.WarmupCosine(o, 4, 19, 0.001) if lib is optim else warm_up_in_pytorch(o, 4, 19, 0.001)
        )
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-12)


@dtypes
@pytest.mark.parametrize("max_norm", [0.5, 1e3, 0.0])
@pytest.mark.parametrize("special", [None, math.inf, math.nan])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_clipped_norms_equal(dtype: str, max_norm: float, special: float | None) -> None:
    params = parameters(dtype)
    for mine, peer, grad in zip(*params, gradients(3, dtype)):
        if grad is not None:
            grad.reshape(-1)[0] = grad.reshape(-1)[0] if special is None else special
            mine.grad, peer.grad = tensor(grad), torch.tensor(grad)
    norm = optim.clip_grad_norm_(params[0], max_norm)
    expected = torch.nn.utils.clip_grad_norm_(params[1], max_norm)
    np.testing.assert_allclose(norm.item(), expected.item(), rtol=1e-6)
    assert str(expected.dtype) == f"torch.{norm.dtype}"
    assert_same_gradients(params)


@dtypes
def test_clipped_values_equal(dtype: str) -> None:
    params = parameters(dtype)
    for mine, peer, grad in zip(*params, gradients(3, dtype)):
        if grad is not None:
            mine.grad, peer.grad = tensor(grad), torch.tensor(grad)
    optim.clip_grad_value_(params[0], 0.5)
    torch.nn.utils.clip_grad_value_(params[1], 0.5)
    assert_same_gradients(params)


def assert_same_gradients(params: Any) -> None:
    for mine, peer in zip(*params):
        assert (mine.grad is None) == (peer.grad is None)
        if mine.grad is not None:
            np.testing.assert_allclose(mine.grad.data, peer.grad.numpy(), rtol=1e-6, atol=1e-6)
