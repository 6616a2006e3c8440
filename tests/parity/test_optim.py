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
}


def rates(make: Any, optimizer: Any) -> list[list[float]]:
    scheduler, found = make(optimizer), []
    for _ in range(STEPS):
        found.append([group["lr"] for group in optimizer.param_groups])
        optimizer.step()
        scheduler.step()
    return found


def both(make: Any) -> tuple[list[list[float]], list[list[float]]]:
    groups = [[{"params": each[:1]}, {"params": each[1:], "lr": 0.02}] for each in parameters("float64")]
    ours = rates(lambda o: make(optim, o), optim.SGD(groups[0], lr=0.1))
    return ours, rates(lambda o: make(torch.optim.lr_scheduler, o), torch.optim.SGD(groups[1], lr=0.1))


@pytest.mark.parametrize("name", SCHEDULES)
def test_rates_equal(name: str) -> None:
    ours, theirs = both(SCHEDULES[name])
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-12)


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
