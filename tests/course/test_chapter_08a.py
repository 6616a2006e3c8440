"""Chapter 08a, graded; its pictures; and what it says of losses, tables and formulas."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from figures import tells
from graded import COURSE, Exercises, ExerciseTests

import minilib.library as library
from coursekit import notebooks
from coursekit.pictures import draw_calls, draw_dispatch, draw_fits, time_calls
from coursekit.pictures.described import chooser
from minilib import meta
from minilib.nn import Linear
from minilib.optim import Adam
from minilib.tensor import Tensor, from_numpy, linspace, manual_seed, ones, randn

TEXT = " ".join(
    " ".join(c.source for c in notebooks.read(COURSE.chapters / "08a_dispatch.ipynb").cells).split()
)


class TestExercises(ExerciseTests):
    exercises = Exercises("08a_dispatch")


# The operator of the lesson


def kernel(x: Tensor, limit: float = 1.0) -> Tensor:
    a = x.numpy()
    return from_numpy(a / (1 + np.abs(a) / np.float32(limit)))


def fake(x: Tensor, limit: float = 1.0) -> Tensor:
    return x.new_empty(x.shape)


def keep(ctx: Any, inputs: Any, output: Any) -> None:
    x, ctx.limit = inputs
    ctx.save_for_backward(x)


def softsign(formula: Any) -> Any:
    op = library.custom_op("tests::softsign", kernel, mutates_args=(), device_types="cpu")
    op.register_fake(fake)
    op.register_autograd(formula, setup_context=keep)
    return op


def right(ctx: Any, grad: Tensor) -> Any:
    return grad / (1 + ctx.saved_tensors[0].abs() / ctx.limit) ** 2, None


def without_bars(ctx: Any, grad: Tensor) -> Any:
    return grad / (1 + ctx.saved_tensors[0] / ctx.limit) ** 2, None


def loss_of(squash: Any, seed: int) -> float:
    manual_seed(seed)
    first, last = Linear(1, 8), Linear(8, 1)
    optimiser = Adam([*first.parameters(), *last.parameters()], lr=0.03)
    inputs = linspace(-3, 3, 61).unsqueeze(1)
    target = (inputs * 2).sin()
    for _ in range(600):
        loss = ((last(squash(first(inputs))) - target) ** 2).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return loss.item()


# What the lesson says


def test_a_network_learns_as_badly_and_as_well_as_the_lesson_says():
    by_hand = [loss_of(kernel, seed) for seed in range(3)]
    operator = [loss_of(softsign(right), seed) for seed in range(3)]
    assert tells(TEXT, *(f"{loss:.2g}" for loss in by_hand))
    assert tells(TEXT, f"{operator[0]:.1g}", *(f"{loss:.2g}" for loss in operator[1:]))


def test_a_formula_without_bars_is_no_better_than_no_gradient():
    """Near the pole a step depends on last digits, and these on the machine: one seed gives 0.09 or 0.17."""
    wrong = [loss_of(softsign(without_bars), seed) for seed in range(3)]
    assert min(wrong) > 10 * loss_of(softsign(right), 0)
    assert sum(wrong) > 0.75 * sum(loss_of(kernel, seed) for seed in range(3))


def test_the_formula_is_that_of_the_difference_quotient():
    x = np.linspace(-3, 3, 8)
    leaf = Tensor(x, requires_grad=True)
    softsign(right)(leaf, 2.0).sum().backward()
    h = 1e-6
    quotients = [(v + h) / (1 + abs(v + h) / 2) - (v - h) / (1 + abs(v - h) / 2) for v in x]
    np.testing.assert_allclose(leaf.grad.numpy(), np.divide(quotients, 2 * h), rtol=1e-5)


# Pictures


def test_a_call_to_click_through_has_a_picture_for_each_choice():
    picture = draw_dispatch(softsign(right), ("cpu", meta.META.name))
    data, metadata = picture._repr_mimebundle_()
    page = data["text/html"]
    assert page.count("<img") == 4 and page.count('type="radio"') == 4 and page.count("checked>") == 2
    for device, result in (("cpu", "numbers"), ("meta", "shape, no numbers")):
        assert f"x on {device}, grad mode on: " in page and f"y is on {device} with {result}" in page
    assert page.count("the call is remembered") == page.count("the call is not remembered") == 2
    assert "the call is remembered" in metadata["image/png"]["alt"]
    assert data["image/png"] in page and page.count("<script>") == 1


def test_the_first_of_several_choices_is_shown_where_no_script_runs():
    frames = {(name,): draw_calls([1], {name: [1e-6]}) for name in ("a", "b")}
    page = chooser(frames, {"which": ("a", "b")}, still=frames["b",]).page
    shown, hidden = page.index('data-chosen="b" style="display: block"'), page.index('style="display: none"')
    assert hidden < shown


def test_pictures_say_in_words_what_they_show():
    x = np.linspace(0, 1, 5)
    assert "flat, loss 0.25" in draw_fits(x, np.full(5, 0.5), {"flat": np.zeros(5)}).alt
    assert "by hand: 1 at 8, 2 at 64" in draw_calls((8, 64), {"by hand": (1e-6, 2e-6)}).alt


def test_a_call_takes_longer_on_more_numbers():
    small, large = time_calls(lambda x: x + 1, [ones(8), randn(1_000_000)], budget=0.002)
    assert 0 < small < large and math.isfinite(large)
