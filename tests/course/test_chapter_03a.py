"""Chapter 03a, graded: wrong answers earn their hints, other right answers earn all points."""

from __future__ import annotations

import numpy as np
import pytest
from graded import Exercises, ExerciseTests

from minilib import functional as F
from minilib import reference
from minilib.tensor import Tensor


class TestExercises(ExerciseTests):
    exercises = Exercises("03a_losses")


@pytest.mark.parametrize(
    ("simple", "fast", "shapes", "whole"),
    [
        (reference.chain_cross_entropy, F.cross_entropy, [(300, 700)], [np.arange(300)]),
        (
            reference.chain_layer_norm,
            lambda x, w, b: F.layer_norm(x, (500,), w, b),
            [(700, 500), (500,), (500,)],
            [],
        ),
    ],
    ids=["cross_entropy", "layer_norm"],
)
def test_the_fused_operation_equals_the_chain(simple, fast, shapes, whole):
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=shape) for shape in shapes]
    results = []
    for f in (simple, fast):
        inputs = [Tensor(array, requires_grad=True) for array in arrays]
        out = f(*inputs, *map(Tensor, whole))
        weights = np.cos(np.arange(out.numel())).reshape(out.shape)
        (out * Tensor(weights)).sum().backward()
        results.append([out.data, *[x.grad.data for x in inputs]])
    for a, b in zip(*results):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_the_loss_and_its_gradient_equal_the_library_s():
    rng = np.random.default_rng(0)
    scores, target = 30 * rng.normal(size=(40, 9)), rng.integers(0, 9, 40)
    target[::7] = -100  # missing
    x = Tensor(scores, requires_grad=True)
    loss = F.cross_entropy(x, Tensor(target))
    loss.backward()
    found, gradient = reference.loss_and_gradient(scores, target)
    np.testing.assert_allclose(found, loss.item(), atol=1e-12)
    np.testing.assert_allclose(gradient, x.grad.data, atol=1e-12)
